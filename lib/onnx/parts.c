/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that take parts of tensors and put tensors together.
 */
#include <string.h>

#include "onnx/operators.h"

static const gemel_value null_value = {NULL, 0, 0};

/* ---- Together ---- */

gemel_value gemel__onnx_concat(gemel__onnx_call *c) {
  gemel_value *xs = gemel__onnx_room(c, c->n_inputs * sizeof *xs);
  for (size_t k = 0; xs != NULL && k < c->n_inputs; k++) {
    xs[k] = gemel__onnx_input(c, k);
  }
  /* opsets before 4 have axis 1 by default */
  return xs != NULL ? gemel_concatenate_at(gemel__onnx_int(c, "axis", 1), c->n_inputs, xs, c->where)
                    : null_value;
}

/* ---- Split ---- */

/* The sizes of C's N parts of axis AXIS: given, or equal but for a smaller last one. */
static const gemel_dim *split_sizes(gemel__onnx_call *c, gemel_value x, int axis, size_t *n) {
  const gemel__sizes *given = gemel__onnx_sizes(c, 1);
  gemel__int_list list = {0, NULL};
  int64_t size, parts = (int64_t)c->n_outputs;
  int found = given != NULL ? 0 : gemel__onnx_ints(c, "split", &list);
  *n = given != NULL ? given->count : found > 0 ? list.count : (size_t)parts;
  gemel_dim *dims = gemel__onnx_room(c, (*n + 1) * sizeof *dims);
  if (given == NULL && gemel__onnx_given(c, 1)) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "sizes of parts that aren't known");
    return NULL;
  }
  if (given != NULL || dims == NULL || found < 0) {
    return given != NULL ? given->dims : NULL;
  }
  if (found == 0 &&
      (!gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[axis], &size) || parts <= 0)) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "equal parts of a size that isn't known");
    return NULL;
  }
  int64_t part = found == 0 ? (size + parts - 1) / parts : 0;
  for (size_t k = 0; k < *n; k++) {
    int64_t left = found == 0 ? size - part * (int64_t)k : 0;
    dims[k] = gemel_dim_constant(c->context, found > 0     ? list.values[k]
                                             : left < 0    ? 0
                                             : left < part ? left
                                                           : part);
  }
  return dims;
}

gemel_value gemel__onnx_split(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int axis = gemel__onnx_axis(c, gemel__onnx_int(c, "axis", 0), gemel__onnx_rank(x));
  size_t n;
  if (gemel__onnx_int(c, "num_outputs", (int64_t)c->n_outputs) != (int64_t)c->n_outputs) {
    return gemel__onnx_refuse(c, GEMEL_BAD_FILE, "num_outputs isn't the number of outputs");
  }
  const gemel_dim *sizes = axis >= 0 ? split_sizes(c, x, axis, &n) : NULL;
  if (sizes == NULL) {
    return null_value;
  }
  if (n < c->n_outputs) {
    return gemel__onnx_refuse(c, GEMEL_BAD_FILE, "%zu sizes for %zu outputs", n, c->n_outputs);
  }
  gemel_split_options options = {.axis = axis};
  gemel_value all = gemel_split_at(x, n, sizes, &options, c->where);
  for (size_t k = 1; k < c->n_outputs; k++) {
    c->outputs[k] = gemel_value_output(all, (uint32_t)k);
  }
  return all;
}

/* ---- Slices ---- */

/* List K of starts (0), ends (1), axes (2), steps (3), from an attribute before opset 10 or an
 * input: 1; 0 if it is left out; -1 on failure. */
static int slice_list(gemel__onnx_call *c, size_t k, gemel__int_list *list) {
  static const char *const names[] = {"starts", "ends", "axes", "steps"};
  if (c->opset < 10) {
    return gemel__onnx_ints(c, names[k], list);
  }
  if (!gemel__onnx_given(c, k + 1)) {
    return 0;
  }
  return gemel__onnx_integers(c, k + 1, list) ? 1 : -1;
}

/* START to END of an axis of SIZE elements, as NumPy has it: cut off at the ends. */
static gemel_value slice_known(gemel__onnx_call *c, gemel_value x, int axis, int64_t size,
                               int64_t start, int64_t end, int64_t step) {
  int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  start = start < 0 ? (start < -size ? 0 : start + size) : start;
  end = end < 0 ? (end < -size ? least : end + size) : end;
  start = start < least ? least : start > most ? most : start;
  end = end < least ? least : end > most ? most : end;
  int64_t count = step > 0 ? (end > start ? (end - start - 1) / step + 1 : 0)
                           : (start > end ? (start - end - 1) / -step + 1 : 0);
  gemel_dim starts[GEMEL_MAX_RANK], sizes[GEMEL_MAX_RANK];
  int64_t steps[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(x);
  for (int k = 0; k < rank; k++) {
    starts[k] = gemel_dim_constant(c->context, k == axis && count > 0 ? start : 0);
    sizes[k] = k == axis ? gemel_dim_constant(c->context, count) : gemel__onnx_dims(x)[k];
    steps[k] = k == axis ? step : 1;
  }
  gemel_subtensor_options options = {.step = {(size_t)rank, steps}};
  return gemel_subtensor_at(x, (size_t)rank, starts, (size_t)rank, sizes, &options, c->where);
}

static gemel_value slice_axis(gemel__onnx_call *c, gemel_value x, int axis, int64_t start,
                              int64_t end, int64_t step) {
  int64_t size;
  if (step == 0 || step == INT64_MIN) {
    return gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "a step of %lld", (long long)step);
  }
  if (gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[axis], &size)) {
    return slice_known(c, x, axis, size, start, end, step);
  }
  int64_t far = INT32_MAX; /* what exporters write for "to the end" is that or more */
  int64_t stop = (step > 0 && end >= far) || (step < 0 && end <= -far) ? GEMEL_TO_END : end;
  if (step < 0 && start >= far) {
    start = -1;
  }
  return gemel_slice_step_at(x, axis, start, stop, step, c->where);
}

gemel_value gemel__onnx_slice(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__int_list lists[4] = {{0, NULL}, {0, NULL}, {0, NULL}, {0, NULL}};
  int found[4];
  for (size_t k = 0; k < 4; k++) {
    found[k] = slice_list(c, k, &lists[k]);
    if (found[k] < 0 || (k < 2 && found[k] == 0) ||
        (found[k] > 0 && lists[k].count != lists[0].count)) {
      return found[k] < 0
                 ? null_value
                 : gemel__onnx_refuse(c, GEMEL_BAD_FILE,
                                      "starts, ends, axes and steps don't belong together");
    }
  }
  for (size_t k = 0; k < lists[0].count && !gemel_is_null(x); k++) {
    int axis = gemel__onnx_axis(c, found[2] ? lists[2].values[k] : (int64_t)k, gemel__onnx_rank(x));
    x = axis < 0 ? null_value
                 : slice_axis(c, x, axis, lists[0].values[k], lists[1].values[k],
                              found[3] ? lists[3].values[k] : 1);
  }
  return x;
}

/* ---- Padding and cropping ---- */

/* Each axis cut off, or padded by zeros, to the size that is wanted, the odd one behind. */
gemel_value gemel__onnx_center_crop_pad(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t low[GEMEL_MAX_RANK] = {0}, high[GEMEL_MAX_RANK] = {0}, size;
  int rank = gemel__onnx_rank(x);
  gemel__int_list axes, wanted;
  int found = gemel__onnx_axes(c, c->n_inputs, rank, &axes);
  if (found < 0 || !gemel__onnx_integers(c, 1, &wanted)) {
    return null_value;
  }
  if (wanted.count != (found > 0 ? axes.count : (size_t)rank)) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "%zu sizes for other axes", wanted.count);
  }
  for (size_t k = 0; k < wanted.count; k++) {
    size_t axis = found > 0 ? (size_t)axes.values[k] : k;
    if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[axis], &size)) {
      return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "axis %zu, whose size is a symbol", axis);
    }
    if (wanted.values[k] < 0 || wanted.values[k] > INT32_MAX) {
      return gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "a size of %lld", (long long)wanted.values[k]);
    }
    low[axis] = (wanted.values[k] - size) / 2;
    high[axis] = wanted.values[k] - size - low[axis];
  }
  return gemel_pad_at(x, gemel_scalar_like_at(x, 0, c->where), (size_t)rank, low, (size_t)rank,
                      high, NULL, c->where);
}

/* *PADS = 2 x RANK of them, for the axes of input 3 if it is there: 1, or 0 on failure. */
static int read_pads(gemel__onnx_call *c, int rank, int64_t low[], int64_t high[]) {
  gemel__int_list pads = {0, NULL}, axes = {0, NULL};
  int found = gemel__onnx_ints(c, c->opset < 2 ? "paddings" : "pads", &pads);
  if (found < 0 || (found == 0 && !gemel__onnx_integers(c, 1, &pads))) {
    return 0;
  }
  if (gemel__onnx_axes(c, 3, rank, &axes) < 0) {
    return 0;
  }
  size_t n = gemel__onnx_given(c, 3) ? axes.count : (size_t)rank;
  if (pads.count != 2 * n) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "%zu pads for %zu axes", pads.count, n);
    return 0;
  }
  for (size_t k = 0; k < n; k++) {
    size_t axis = gemel__onnx_given(c, 3) ? (size_t)axes.values[k] : k;
    low[axis] = pads.values[k];
    high[axis] = pads.values[n + k];
  }
  return 1;
}

/* The N elements at an end of AXIS that padding by reflection puts behind it (AT_END) or before. */
static gemel_value reflected(gemel__onnx_call *c, gemel_value x, int64_t axis, int64_t n,
                             int at_end) {
  gemel_value part = at_end ? gemel_slice_at(x, axis, -1 - n, -1, c->where)
                            : gemel_slice_at(x, axis, 1, 1 + n, c->where);
  return gemel_reverse_at(part, 1, &axis, c->where);
}

/* The last or first element of AXIS, N times. */
static gemel_value repeated(gemel__onnx_call *c, gemel_value x, int64_t axis, int64_t n,
                            int at_end) {
  gemel_value edge = at_end ? gemel_slice_at(x, axis, -1, GEMEL_TO_END, c->where)
                            : gemel_slice_at(x, axis, 0, 1, c->where);
  gemel_dim shape[GEMEL_MAX_RANK];
  for (int k = 0; k < gemel__onnx_rank(x); k++) {
    shape[k] = k == axis ? gemel_dim_constant(c->context, n) : gemel__onnx_dims(x)[k];
  }
  return gemel_broadcast_to_at(edge, (size_t)gemel__onnx_rank(x), shape, c->where);
}

static gemel_value wrapped(gemel__onnx_call *c, gemel_value x, int64_t axis, int64_t n,
                           int at_end) {
  return at_end ? gemel_slice_at(x, axis, 0, n, c->where)
                : gemel_slice_at(x, axis, -n, GEMEL_TO_END, c->where);
}

/* x with what MODE repeats of it on both sides of AXIS. */
static gemel_value pad_axis(gemel__onnx_call *c, gemel_value x, int64_t axis, int64_t low,
                            int64_t high, gemel__wire_span mode) {
  gemel_value parts[3];
  size_t n = 0;
  gemel_value (*side)(gemel__onnx_call *, gemel_value, int64_t, int64_t, int) =
      gemel__wire_is(mode, "reflect") ? reflected
      : gemel__wire_is(mode, "edge")  ? repeated
                                      : wrapped;
  if (low < 0 || high < 0 || low > INT32_MAX || high > INT32_MAX) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "padding below 0, or above 2^31, that isn't constant");
  }
  if (low > 0) {
    parts[n++] = side(c, x, axis, low, 0);
  }
  parts[n++] = x;
  if (high > 0) {
    parts[n++] = side(c, x, axis, high, 1);
  }
  return n == 1 ? x : gemel_concatenate_at(axis, n, parts, c->where);
}

gemel_value gemel__onnx_pad(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__wire_span mode = gemel__onnx_text(c, "mode");
  int64_t low[GEMEL_MAX_RANK] = {0}, high[GEMEL_MAX_RANK] = {0};
  int rank = gemel__onnx_rank(x);
  if (!read_pads(c, rank, low, high)) {
    return null_value;
  }
  if (gemel__wire_is(mode, "reflect") || gemel__wire_is(mode, "edge") ||
      gemel__wire_is(mode, "wrap")) {
    for (int k = 0; k < rank; k++) {
      x = pad_axis(c, x, k, low[k], high[k], mode);
    }
    return x;
  }
  if (mode.length > 0 && !gemel__wire_is(mode, "constant")) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "mode %.*s", (int)mode.length,
                              (const char *)mode.bytes);
  }
  gemel_value value = gemel__onnx_given(c, 2)
                          ? gemel__onnx_scalar(c, gemel__onnx_input(c, 2))
                          : gemel_scalar_like_at(x, gemel__onnx_float(c, "value", 0), c->where);
  return gemel_pad_at(x, value, (size_t)rank, low, (size_t)rank, high, NULL, c->where);
}
