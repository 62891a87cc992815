/* SPDX-License-Identifier: MIT
 *
 * reduce-window and select-and-scatter: over the places of a window, of which each is a strided
 * part of the padded operand. A window as long as its axis, padded to one side, is a running sum.
 */
#include "hlo/window.h"

#include <string.h>
#include "core/value.h"

enum { MOST_PLACES = 1024 };

/* The places of a window, and what has one element for each window. */
typedef struct windowed {
  gemel__hlo_call *c;
  gemel__hlo_window w;
  int64_t n;                      /* places in a window */
  int64_t padded[GEMEL_MAX_RANK]; /* sizes of the padded operand */
  int64_t out[GEMEL_MAX_RANK];    /* how many windows */
} windowed;

/* Reads C's window for its operand X. */
static int describe(gemel__hlo_call *c, gemel_value x, windowed *p) {
  int64_t sizes[GEMEL_MAX_RANK];
  int rank = gemel__hlo_sizes(c, x, sizes);
  *p = (windowed){.c = c, .n = 1};
  if (!gemel__hlo_window_of(c, rank, &p->w)) {
    return 0;
  }
  for (int k = 0; k < rank; k++) {
    if (p->w.size[k] == 0 || __builtin_mul_overflow(p->n, p->w.size[k], &p->n)) {
      return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a window of no or too many places");
    }
    int64_t longer = sizes[k] > 0 ? (sizes[k] - 1) * p->w.apart[k] + 1 : 0;
    p->padded[k] = longer + p->w.low[k] + p->w.high[k];
    p->out[k] = gemel__hlo_window_count(&p->w, k, sizes[k]);
    if (p->w.reversed[k] != 0 || p->padded[k] < 0) {
      return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a window that is reversed, or beyond it");
    }
  }
  return 1;
}

static int check_number(windowed *p) {
  return p->n <= MOST_PLACES ||
         gemel__hlo_refuse(p->c, GEMEL_UNSUPPORTED, "a window of more than %d places", MOST_PLACES);
}

/* Where in a window place K is, times its dilation. */
static void offsets(const windowed *p, int64_t k, int64_t *offset) {
  for (int axis = p->w.rank; axis-- > 0;) {
    offset[axis] = k % p->w.size[axis] * p->w.dilation[axis];
    k /= p->w.size[axis];
  }
}

/* X padded with VALUE as the window says. */
static gemel_value padded(windowed *p, gemel_value x, gemel_value value) {
  int64_t inner[GEMEL_MAX_RANK];
  for (int k = 0; k < p->w.rank; k++) {
    inner[k] = p->w.apart[k] - 1;
  }
  return gemel__hlo_pad(p->c, x, value, p->w.low, p->w.high, inner);
}

/* Of all windows, the element of X, which is padded, at place K. */
static gemel_value at_place(windowed *p, gemel_value x, int64_t k) {
  int64_t offset[GEMEL_MAX_RANK];
  offsets(p, k, offset);
  return gemel__hlo_part(p->c, x, offset, p->out, p->w.stride);
}

static int is_empty(const windowed *p) {
  for (int k = 0; k < p->w.rank; k++) {
    if (p->out[k] == 0) {
      return 1;
    }
  }
  return 0;
}

/* ---- reduce-window ---- */

/* The axis along which each window begins, or (*REVERSE) ends, with its axis, and has one more
 * element than the one before; -1: they aren't such. */
static int running_axis(const windowed *p, const gemel__hlo_shape *x, int *reverse) {
  int axis = -1;
  for (int k = 0; k < p->w.rank; k++) {
    int64_t n = x->dims[k], low = p->w.low[k], high = p->w.high[k];
    if (p->w.stride[k] != 1 || p->w.apart[k] != 1) {
      return -1;
    }
    if (p->w.size[k] == 1 && low == 0 && high == 0) {
      continue;
    }
    if (axis >= 0 || p->w.size[k] != n || p->w.dilation[k] != 1 || low + high != n - 1 ||
        (low != 0 && high != 0)) {
      return -1;
    }
    axis = k;
    *reverse = high != 0;
  }
  return axis;
}

/* The running sum that the window is; null without an error: it is none. */
static gemel_value running_sum(windowed *p, const gemel__hlo_computation *computation,
                               gemel_value x, gemel_value init) {
  const char *kind = gemel__hlo_kind(computation);
  int reverse = 0, axis = running_axis(p, gemel__hlo_shape_of(p->c, 0), &reverse);
  gemel_dtype dtype = gemel__value_dtype(x);
  if (axis < 0 || kind == NULL || strcmp(kind, "add") != 0 || dtype == GEMEL_BOOL) {
    return gemel__no_value;
  }
  gemel_cumsum_options o = {.axis = axis, .reverse = reverse};
  gemel_value sum = gemel_cast_at(gemel_cumsum_at(x, &o, p->c->where), dtype, p->c->where);
  return gemel__hlo_is_number(init, 0) ? sum : gemel_add_at(init, sum, p->c->where);
}

/* N operands, padded, combined place after place from their initial values on: RESULTS. */
static int fold(windowed *p, const gemel__hlo_computation *computation, size_t n,
                gemel_value *results) {
  gemel__hlo_call *c = p->c;
  gemel_value *x = gemel__hlo_room(c, n * sizeof *x), *both = gemel__hlo_room(c, 2 * n * sizeof *x);
  const char *kind = n == 1 ? gemel__hlo_kind(computation) : NULL;
  for (size_t k = 0; k < n && x != NULL && both != NULL; k++) {
    gemel_value init = gemel__hlo_operand(c, n + k), whole = gemel__hlo_operand(c, k);
    if (gemel_is_null(init) || gemel_is_null(whole)) {
      return 0;
    }
    x[k] = padded(p, whole, init);
    results[k] = gemel__hlo_spread(c, init, p->w.rank, p->out);
  }
  int starts = kind != NULL && gemel__hlo_is_neutral(kind, gemel__hlo_operand(c, 1));
  for (int64_t place = 0; place < p->n && x != NULL && both != NULL; place++) {
    for (size_t k = 0; k < n; k++) {
      both[k] = results[k];
      both[n + k] = at_place(p, x[k], place);
      if (gemel_is_null(both[k]) || gemel_is_null(both[n + k])) {
        return 0;
      }
    }
    if (starts && place == 0) {
      results[0] = both[1];
    } else if (!gemel__hlo_map(c, computation, 2 * n, both, p->w.rank, p->out, n, results)) {
      return 0;
    }
  }
  return x != NULL && both != NULL;
}

int gemel__hlo_reduce_window(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__hlo_computation *computation = gemel__hlo_called(c, "to_apply");
  size_t n = c->instr->n_operands / 2;
  gemel_value *results = gemel__hlo_room(c, (n + 1) * sizeof *results);
  windowed p;
  if (computation == NULL || results == NULL) {
    return 0;
  }
  if (n == 0 || c->instr->n_operands % 2 != 0) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it has no initial value for each operand");
  }
  gemel_value x = gemel__hlo_operand(c, 0), init = gemel__hlo_operand(c, 1);
  if (gemel_is_null(x) || gemel_is_null(init) || !describe(c, x, &p)) {
    return 0;
  }
  gemel_value sum = n == 1 ? running_sum(&p, computation, x, init) : gemel__no_value;
  if (!gemel_is_null(sum)) {
    return gemel__hlo_give(result, sum);
  }
  if (!check_number(&p) || !fold(&p, computation, n, results)) {
    return 0;
  }
  return n == 1 && !c->instr->shape.is_tuple ? gemel__hlo_give(result, results[0])
                                             : gemel__hlo_give_tuple(c, result, n, results);
}

/* ---- select-and-scatter ---- */

/* The place that each window selects, i64, of the padded X; -1 where no element is inside. A place
 * that is selected is kept where SELECT says so. */
static gemel_value selected(windowed *p, const gemel__hlo_computation *select, gemel_value x,
                            gemel_value inside) {
  gemel__hlo_call *c = p->c;
  gemel_location where = c->where;
  gemel_value best = at_place(p, x, 0), have = at_place(p, inside, 0);
  gemel_value none = gemel__hlo_number(c, GEMEL_I64, -1);
  gemel_value which = gemel_where_at(have, gemel__hlo_number(c, GEMEL_I64, 0), none, where);
  for (int64_t k = 1; k < p->n; k++) {
    gemel_value other = at_place(p, x, k), is_in = at_place(p, inside, k), keeps;
    gemel_value both[2] = {best, other};
    if (gemel_is_null(best) || gemel_is_null(other) ||
        !gemel__hlo_map(c, select, 2, both, p->w.rank, p->out, 1, &keeps)) {
      return gemel__no_value;
    }
    keeps = gemel_logical_and_at(have, keeps, where);
    gemel_value takes = gemel_logical_and_at(is_in, gemel_logical_not_at(keeps, where), where);
    best = gemel_where_at(takes, other, best, where);
    which = gemel_where_at(takes, gemel__hlo_number(c, GEMEL_I64, (double)k), which, where);
    have = gemel_logical_or_at(have, is_in, where);
  }
  return which;
}

/* The sum, for each element of the padded operand, of SOURCE where WHICH is its place. */
static gemel_value scattered(windowed *p, gemel_value which, gemel_value source) {
  gemel__hlo_call *c = p->c;
  gemel_value zero = gemel__hlo_number(c, gemel__value_dtype(source), 0), sum = gemel__no_value;
  for (int64_t k = 0; k < p->n; k++) {
    int64_t low[GEMEL_MAX_RANK], high[GEMEL_MAX_RANK], inner[GEMEL_MAX_RANK];
    gemel_value place = gemel__hlo_number(c, GEMEL_I64, (double)k);
    gemel_value own = gemel_where_at(gemel_eq_at(which, place, c->where), source, zero, c->where);
    offsets(p, k, low);
    for (int axis = 0; axis < p->w.rank; axis++) {
      inner[axis] = p->w.stride[axis] - 1;
      high[axis] = p->padded[axis] - low[axis] - ((p->out[axis] - 1) * p->w.stride[axis] + 1);
    }
    own = gemel_is_null(own) ? own : gemel__hlo_pad(c, own, zero, low, high, inner);
    sum = gemel_is_null(sum) || gemel_is_null(own) ? own : gemel_add_at(sum, own, c->where);
    if (gemel_is_null(sum)) {
      return sum;
    }
  }
  return sum;
}

/* What lies inside: true, with the padding false. */
static gemel_value inside_of(windowed *p, int rank, const int64_t *sizes) {
  gemel_value truth = gemel__hlo_number(p->c, GEMEL_BOOL, 1);
  gemel_value whole = gemel__hlo_spread(p->c, truth, rank, sizes);
  return gemel_is_null(whole) ? whole : padded(p, whole, gemel__hlo_number(p->c, GEMEL_BOOL, 0));
}

/* The part of SUM, which is padded, that the operand is; with the initial value added. */
static int give_inner(windowed *p, gemel_value sum, gemel_value init, gemel__hlo_value *result) {
  int64_t low[GEMEL_MAX_RANK], high[GEMEL_MAX_RANK];
  for (int k = 0; k < p->w.rank; k++) {
    low[k] = -p->w.low[k];
    high[k] = -p->w.high[k];
  }
  gemel_value zero = gemel__hlo_number(p->c, gemel__value_dtype(sum), 0);
  sum = gemel__hlo_pad(p->c, sum, zero, low, high, NULL);
  return gemel__hlo_give(
      result, gemel__hlo_is_number(init, 0) ? sum : gemel_add_at(init, sum, p->c->where));
}

int gemel__hlo_select_and_scatter(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__hlo_computation *select = gemel__hlo_called(c, "select");
  const gemel__hlo_computation *scatter = select != NULL ? gemel__hlo_called(c, "scatter") : NULL;
  gemel_value x = gemel__hlo_operand(c, 0), source = gemel__hlo_operand(c, 1),
              init = gemel__hlo_operand(c, 2);
  int64_t sizes[GEMEL_MAX_RANK];
  windowed p;
  if (scatter == NULL || gemel_is_null(x) || gemel_is_null(source) || gemel_is_null(init) ||
      !describe(c, x, &p) || !check_number(&p)) {
    return 0;
  }
  const char *kind = gemel__hlo_kind(scatter);
  int rank = gemel__hlo_sizes(c, source, sizes);
  if (kind == NULL || strcmp(kind, "add") != 0 || gemel__value_dtype(source) == GEMEL_BOOL) {
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "it scatters by other than add");
  }
  if (rank != p.w.rank || memcmp(sizes, p.out, (size_t)rank * sizeof *sizes) != 0) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its source has other sizes than windows");
  }
  rank = gemel__hlo_sizes(c, x, sizes);
  if (is_empty(&p)) {
    return gemel__hlo_give(result, gemel__hlo_spread(c, init, rank, sizes));
  }
  gemel_value inside = inside_of(&p, rank, sizes);
  x = padded(&p, x, gemel__hlo_number(c, gemel__value_dtype(x), 0));
  gemel_value which =
      gemel_is_null(x) || gemel_is_null(inside) ? gemel__no_value : selected(&p, select, x, inside);
  gemel_value sum = gemel_is_null(which) ? which : scattered(&p, which, source);
  return !gemel_is_null(sum) && give_inner(&p, sum, init, result);
}
