/* SPDX-License-Identifier: MIT
 *
 * GridSample: elements of x at places that a grid names, which runs from -1 to 1 along each axis. A
 * place between elements is a sum of those around it, its taps, times weights: the products of one
 * weight an axis. Formulas: ONNX's GridSample; the cubic one is Keys', "Cubic convolution
 * interpolation for digital image processing", 1981.
 */
#include "onnx/operators.h"
#include "core/value.h"

enum { MOST_TAPS = 4, MOST_AXES = 3 };

typedef enum sample_padding { ZEROS, BORDER, REFLECTION } sample_padding;

/* One spatial axis of x: for each tap its index, its weight, and whether it lies in x (null: it
 * does). All [batch, places...]. */
typedef struct axis_taps {
  int64_t size;
  gemel_value index[MOST_TAPS], weight[MOST_TAPS], inside[MOST_TAPS];
} axis_taps;

typedef struct sampling {
  int axes, taps; /* TAPS 1: the nearest element alone */
  int corners;    /* -1 and 1 are the middles of the outermost elements, else their outer borders */
  sample_padding padding;
  axis_taps axis[MOST_AXES];
} sampling;

/* ---- Arithmetic ---- */

static gemel_value number(gemel__onnx_call *c, gemel_value x, double value) {
  return gemel_scalar_like_at(x, value, c->where);
}

/* FACTOR x + SUMMAND */
static gemel_value linear(gemel__onnx_call *c, gemel_value x, double factor, double summand) {
  return gemel_add_at(gemel_mul_at(x, number(c, x, factor), c->where), number(c, x, summand),
                      c->where);
}

/* A polynomial of X: COEFFICIENTS of the third power down to the constant. */
static gemel_value cubic(gemel__onnx_call *c, gemel_value x, const double coefficients[4]) {
  gemel_value y = number(c, x, coefficients[0]);
  for (int k = 1; k < 4; k++) {
    y = gemel_add_at(gemel_mul_at(y, x, c->where), number(c, x, coefficients[k]), c->where);
  }
  return y;
}

/* X thrown back at the ends of an axis of SIZE elements, as often as need be. */
static gemel_value reflected(gemel__onnx_call *c, gemel_value x, int64_t size, int corners) {
  double low = corners ? 0 : -0.5, range = corners ? (double)(size - 1) : (double)size;
  if (range == 0) {
    return gemel_full_like_at(x, 0, c->where);
  }
  gemel_value way = gemel_mod_at(linear(c, x, 1, -low), number(c, x, 2 * range), c->where);
  gemel_value back = gemel_minimum_at(way, linear(c, way, -1, 2 * range), c->where);
  return linear(c, back, 1, low);
}

/* X in 0 to SIZE - 1, as the padding has it; zeros are looked at by whether it lies in x. */
static gemel_value padded(gemel__onnx_call *c, const sampling *s, gemel_value x, int64_t size) {
  gemel_value y = s->padding == REFLECTION ? reflected(c, x, size, s->corners) : x;
  return gemel_clip_at(y, number(c, y, 0), number(c, y, (double)(size - 1)), c->where);
}

/* ---- The taps of an axis ---- */

/* The weight of tap K of a place that lies T behind the element before it. */
static gemel_value weight_of(gemel__onnx_call *c, const sampling *s, int k, gemel_value t) {
  static const double a = -0.75;
  static const double near[4] = {a + 2, -(a + 3), 0, 1}, far[4] = {a, -5 * a, 8 * a, -4 * a};
  if (s->taps == 2) {
    return k == 0 ? linear(c, t, -1, 1) : t;
  }
  return k == 0   ? cubic(c, linear(c, t, 1, 1), far)
         : k == 1 ? cubic(c, t, near)
         : k == 2 ? cubic(c, linear(c, t, -1, 1), near)
                  : cubic(c, linear(c, t, -1, 2), far);
}

/* Tap K at X, whole numbers. */
static void put_tap(gemel__onnx_call *c, const sampling *s, axis_taps *axis, int k, gemel_value x) {
  double last = (double)(axis->size - 1);
  axis->index[k] = gemel_cast_at(padded(c, s, x, axis->size), GEMEL_I64, c->where);
  axis->inside[k] =
      s->padding != ZEROS
          ? gemel__no_value
          : gemel_logical_and_at(gemel_ge_at(x, number(c, x, 0), c->where),
                                 gemel_le_at(x, number(c, x, last), c->where), c->where);
}

/* The taps of an axis for places at X, of -1 to 1. */
static void find_taps(gemel__onnx_call *c, const sampling *s, axis_taps *axis, gemel_value x) {
  double size = (double)axis->size;
  x = s->corners ? linear(c, x, (size - 1) / 2, (size - 1) / 2)
                 : linear(c, x, size / 2, (size - 1) / 2);
  if (s->taps == 1) {
    put_tap(c, s, axis, 0, gemel_round_at(x, c->where));
    axis->weight[0] = gemel__no_value;
    return;
  }
  x = s->padding == ZEROS ? x : padded(c, s, x, axis->size);
  gemel_value low = gemel_floor_at(x, c->where), t = gemel_sub_at(x, low, c->where);
  for (int k = 0; k < s->taps; k++) {
    axis->weight[k] = weight_of(c, s, k, t);
    put_tap(c, s, axis, k, linear(c, low, 1, s->taps == 2 ? k : k - 1));
  }
}

/* ---- Sums over taps ---- */

static gemel_value product(gemel__onnx_call *c, gemel_value x, gemel_value y) {
  return gemel_is_null(x) ? y : gemel_is_null(y) ? x : gemel_mul_at(x, y, c->where);
}

static gemel_value both(gemel__onnx_call *c, gemel_value x, gemel_value y) {
  return gemel_is_null(x) ? y : gemel_is_null(y) ? x : gemel_logical_and_at(x, y, c->where);
}

/* The term of the taps TAP, one an axis: elements of ROWS [batch * elements, channels] times their
 * weight. SAMPLE has the row at which each sample of the batch begins. */
static gemel_value term(gemel__onnx_call *c, const sampling *s, const int *tap, gemel_value rows,
                        gemel_value sample) {
  gemel_value at = gemel__no_value, weight = gemel__no_value, inside = gemel__no_value;
  for (int k = 0; k < s->axes; k++) {
    const axis_taps *axis = &s->axis[k];
    gemel_value index = axis->index[tap[k]];
    at = gemel_is_null(at) ? index
                           : gemel_add_at(linear(c, at, (double)axis->size, 0), index, c->where);
    weight = product(c, weight, axis->weight[tap[k]]);
    inside = both(c, inside, axis->inside[tap[k]]);
  }
  gemel_value x = gemel_take_at(rows, gemel_add_at(at, sample, c->where), NULL, c->where);
  if (!gemel_is_null(inside)) {
    x = gemel_where_at(gemel_expand_dims_at(inside, -1, c->where), x, number(c, x, 0), c->where);
  }
  return gemel_is_null(weight)
             ? x
             : gemel_mul_at(x, gemel_expand_dims_at(weight, -1, c->where), c->where);
}

static gemel_value sum_of_taps(gemel__onnx_call *c, const sampling *s, gemel_value rows,
                               gemel_value sample) {
  int tap[MOST_AXES] = {0}, k;
  gemel_value sum = gemel__no_value;
  do {
    gemel_value one = term(c, s, tap, rows, sample);
    sum = gemel_is_null(sum) ? one : gemel_add_at(sum, one, c->where);
    for (k = 0; k < s->axes && ++tap[k] == s->taps; k++) {
      tap[k] = 0;
    }
  } while (k < s->axes);
  return sum;
}

/* ---- The operator ---- */

static int read_sampling(gemel__onnx_call *c, gemel_value x, sampling *s) {
  gemel__wire_span mode = gemel__onnx_text(c, "mode"), pad = gemel__onnx_text(c, "padding_mode");
  s->axes = gemel__onnx_rank(x) - 2;
  s->taps = gemel__wire_is(mode, "nearest")                                    ? 1
            : gemel__wire_is(mode, "cubic") || gemel__wire_is(mode, "bicubic") ? 4
                                                                               : 2;
  s->corners = gemel__onnx_int(c, "align_corners", 0) != 0;
  s->padding = gemel__wire_is(pad, "border")       ? BORDER
               : gemel__wire_is(pad, "reflection") ? REFLECTION
                                                   : ZEROS;
  if (s->axes < 1 || s->axes > MOST_AXES) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "images of %d axes", s->axes);
    return 0;
  }
  for (int k = 0; k < s->axes; k++) {
    if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[k + 2], &s->axis[k].size) ||
        s->axis[k].size == 0) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "axis %d has no size that is known", k + 2);
      return 0;
    }
  }
  return 1;
}

/* X [batch, channels, ...] as [batch * elements, channels]; *BEGIN the row of each sample, for
 * places of RANK axes with the batch first. */
static gemel_value as_rows(gemel__onnx_call *c, const sampling *s, gemel_value x, int rank,
                           gemel_value *begin) {
  static const int64_t order[3] = {0, 2, 1};
  int64_t elements = 1, first[GEMEL_MAX_RANK];
  gemel_context *context = c->context;
  const gemel_dim *d = gemel__onnx_dims(x);
  for (int k = 0; k < s->axes; k++) {
    elements *= s->axis[k].size;
  }
  gemel_dim p = gemel_dim_constant(context, elements), shape[3] = {d[0], d[1], p},
            rows[2] = {gemel_dim_mul(context, d[0], p), d[1]};
  for (int k = 0; k < rank; k++) {
    first[k] = k == 0 ? 0 : -1;
  }
  gemel_value sample = gemel_arange_at(c->graph, d[0], NULL, c->where);
  *begin =
      gemel_dimshuffle_at(linear(c, sample, (double)elements, 0), (size_t)rank, first, c->where);
  gemel_value y = gemel_permute_at(gemel_reshape_at(x, 3, shape, c->where), 3, order, c->where);
  return gemel_reshape_at(y, 2, rows, c->where);
}

gemel_value gemel__onnx_grid_sample(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), grid = gemel__onnx_input(c, 1), begin;
  int64_t order[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(x);
  sampling s;
  if (gemel_is_null(x) || gemel_is_null(grid) ||
      !gemel__onnx_is_one_of(c, "mode", "linear bilinear nearest cubic bicubic") ||
      !gemel__onnx_is_one_of(c, "padding_mode", "zeros border reflection") ||
      !read_sampling(c, x, &s)) {
    return gemel__no_value;
  }
  if (gemel__onnx_rank(grid) != rank) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "a grid of %d axes for %d",
                              gemel__onnx_rank(grid), rank);
  }
  gemel_value places = gemel__onnx_widened(c, grid);
  for (int k = 0; k < s.axes; k++) { /* the grid has the last axis first */
    find_taps(c, &s, &s.axis[k], gemel_index_at(places, -1, s.axes - 1 - k, c->where));
  }
  gemel_value rows = as_rows(c, &s, gemel__onnx_widened(c, x), rank - 1, &begin);
  gemel_value y = sum_of_taps(c, &s, rows, begin);
  for (int k = 0; k < rank; k++) {
    order[k] = k == 0 ? 0 : k == 1 ? rank - 1 : k - 1;
  }
  return gemel_cast_at(gemel_permute_at(y, (size_t)rank, order, c->where), gemel__onnx_dtype_of(x),
                       c->where);
}
