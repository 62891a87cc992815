/* SPDX-License-Identifier: MIT
 *
 * convolution, as gemel's correlation: operands are brought to its order of axes, padding that cuts
 * and elements that are apart are made beforehand, and groups of the batch become groups of
 * channels.
 */
#include "hlo/window.h"

#include <string.h>
#include "core/value.h"

/* Where the axes of an array are: of "b01f", 0 for b, 3 for f, 1 and 2 for the spatial ones. */
typedef struct labels {
  int64_t first, second; /* b and f, or o and i */
  int64_t spatial[GEMEL_MAX_RANK];
} labels;

/* Reads N labels at TEXT, of which FIRST and SECOND are letters. */
static int take_labels(const char *text, int n, char first, char second, labels *l) {
  uint32_t seen = 0;
  l->first = l->second = -1;
  for (int k = 0; k < n; k++) {
    int digit = text[k] - '0';
    if (text[k] == first && l->first < 0) {
      l->first = k;
    } else if (text[k] == second && l->second < 0) {
      l->second = k;
    } else if (digit >= 0 && digit < n - 2 && digit < 10 && (seen >> digit & 1) == 0) {
      l->spatial[digit] = k;
      seen |= 1u << digit;
    } else {
      return 0;
    }
  }
  return l->first >= 0 && l->second >= 0;
}

/* dim_labels=b01f_01io->b01f of arrays of N axes. */
static int all_labels(gemel__hlo_call *c, int n, labels l[3]) {
  gemel__hlo_span text = gemel__hlo_attr_of(c->instr, "dim_labels");
  size_t each = (size_t)n;
  return (text.length == 3 * each + 3 && text.text[each] == '_' &&
          memcmp(text.text + 2 * each + 1, "->", 2) == 0 &&
          take_labels(text.text, n, 'b', 'f', &l[0]) &&
          take_labels(text.text + each + 1, n, 'o', 'i', &l[1]) &&
          take_labels(text.text + 2 * each + 3, n, 'b', 'f', &l[2])) ||
         gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its dim_labels aren't those of %d axes", n);
}

/* X with its axes as gemel has them: FIRST, SECOND, the spatial ones. */
static gemel_value ordered(gemel__hlo_call *c, gemel_value x, int n, const labels *l) {
  int64_t order[GEMEL_MAX_RANK] = {l->first, l->second};
  memcpy(order + 2, l->spatial, (size_t)(n - 2) * sizeof *order);
  return gemel__hlo_order(c, x, n, order);
}

/* X in the result's dtype. */
static gemel_value widened(gemel__hlo_call *c, gemel_value x) {
  gemel_dtype dtype = (gemel_dtype)c->instr->shape.dtype;
  return gemel__value_dtype(x) == dtype ? x : gemel_cast_at(x, dtype, c->where);
}

/* X padded, cut and with zeros between its elements, as W says. */
static gemel_value padded(gemel__hlo_call *c, const gemel__hlo_window *w, gemel_value x) {
  int64_t low[GEMEL_MAX_RANK] = {0}, high[GEMEL_MAX_RANK] = {0}, inner[GEMEL_MAX_RANK] = {0};
  for (int k = 0; k < w->rank; k++) {
    low[k + 2] = w->low[k];
    high[k + 2] = w->high[k];
    inner[k + 2] = w->apart[k] - 1;
  }
  gemel_value zero = gemel__hlo_number(c, gemel__value_dtype(x), 0);
  return gemel__hlo_pad(c, x, zero, low, high, inner);
}

/* Images [GROUPS * n, c, ...] as [n, GROUPS * c, ...]. */
static gemel_value regrouped(gemel__hlo_call *c, gemel_value x, int64_t groups) {
  int64_t sizes[GEMEL_MAX_RANK + 1], order[GEMEL_MAX_RANK + 1], last[GEMEL_MAX_RANK];
  int rank = gemel__hlo_sizes(c, x, sizes + 1);
  sizes[0] = groups;
  sizes[1] /= groups;
  for (int k = 0; k <= rank; k++) {
    order[k] = k;
  }
  order[0] = 1;
  order[1] = 0;
  memcpy(last, sizes + 1, (size_t)rank * sizeof *last);
  last[1] *= groups;
  x = gemel__hlo_reshape(c, x, rank + 1, sizes);
  x = gemel_is_null(x) ? x : gemel__hlo_order(c, x, rank + 1, order);
  return gemel_is_null(x) ? x : gemel__hlo_reshape(c, x, rank, last);
}

/* The axes of W that are reversed, of weights [o, i, ...]. */
static gemel_value turned(gemel__hlo_call *c, const gemel__hlo_window *w, gemel_value x) {
  int64_t axes[GEMEL_MAX_RANK];
  size_t n = 0;
  for (int k = 0; k < w->rank; k++) {
    if (w->reversed[k] != 0) {
      axes[n++] = k + 2;
    }
  }
  return n == 0 ? x : gemel_reverse_at(x, n, axes, c->where);
}

/* The correlation of images X and WEIGHTS, in gemel's order of axes. */
static gemel_value correlated(gemel__hlo_call *c, const gemel__hlo_window *w, int64_t groups,
                              gemel_value x, gemel_value weights) {
  int64_t zeros[GEMEL_MAX_RANK] = {0};
  size_t n = (size_t)w->rank;
  int pads = 1;
  for (int k = 0; k < w->rank; k++) {
    pads = pads && w->low[k] >= 0 && w->high[k] >= 0 && w->apart[k] == 1;
  }
  gemel_corr_options o = {.stride = {n, w->stride},
                          .dilation = {n, w->dilation},
                          .low = {n, pads ? w->low : zeros},
                          .high = {n, pads ? w->high : zeros},
                          .groups = groups};
  x = pads ? x : padded(c, w, x);
  return gemel_is_null(x) || gemel_is_null(weights) ? gemel__no_value
                                                    : gemel_corr_at(x, weights, &o, c->where);
}

/* The result is as large as the module says: that there is one for each window. */
static int check_sizes(gemel__hlo_call *c, const gemel__hlo_window *w, const labels l[3]) {
  const gemel__hlo_shape *x = gemel__hlo_shape_of(c, 0), *weights = gemel__hlo_shape_of(c, 1);
  for (int k = 0; k < w->rank; k++) {
    int64_t n = gemel__hlo_window_count(w, k, x->dims[l[0].spatial[k]]);
    if (weights->dims[l[1].spatial[k]] != w->size[k] ||
        c->instr->shape.dims[l[2].spatial[k]] != n) {
      return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its window doesn't fit its operands");
    }
    if (n == 0) {
      return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a convolution without windows");
    }
  }
  return 1;
}

int gemel__hlo_convolution(gemel__hlo_call *c, gemel__hlo_value *result) {
  gemel_value x = gemel__hlo_operand(c, 0), weights = gemel__hlo_operand(c, 1);
  int rank = c->instr->shape.rank;
  int64_t groups, batches, back[GEMEL_MAX_RANK];
  labels l[3];
  gemel__hlo_window w;
  if (gemel_is_null(x) || gemel_is_null(weights)) {
    return 0;
  }
  if (rank < 3 || rank > 5 || gemel__hlo_shape_of(c, 0)->rank != rank ||
      gemel__hlo_shape_of(c, 1)->rank != rank) {
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a convolution of other than 1 to 3 axes");
  }
  if (!all_labels(c, rank, l) || !gemel__hlo_window_of(c, rank - 2, &w) || !check_sizes(c, &w, l) ||
      !gemel__hlo_int(c, "feature_group_count", 1, &groups) ||
      !gemel__hlo_int(c, "batch_group_count", 1, &batches)) {
    return 0;
  }
  if (batches < 1 || groups < 1 || gemel__hlo_shape_of(c, 0)->dims[l[0].first] % batches != 0 ||
      (batches > 1 && groups > 1)) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its groups don't fit its operands");
  }
  x = ordered(c, widened(c, x), rank, &l[0]);
  x = batches > 1 ? regrouped(c, x, batches) : x;
  weights = turned(c, &w, ordered(c, widened(c, weights), rank, &l[1]));
  gemel_value y = correlated(c, &w, groups * batches, x, weights);
  back[l[2].first] = 0;
  back[l[2].second] = 1;
  for (int k = 0; k < rank - 2; k++) {
    back[l[2].spatial[k]] = k + 2;
  }
  return !gemel_is_null(y) && gemel__hlo_give(result, gemel__hlo_order(c, y, rank, back));
}
