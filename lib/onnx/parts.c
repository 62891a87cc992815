/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that take parts of tensors and put tensors together.
 */
#include <string.h>

#include "onnx/operators.h"
#include "core/value.h"

/* ---- Together ---- */

gemel_value gemel__onnx_concat(gemel__onnx_call *c) {
  gemel_value *xs = gemel__onnx_room(c, c->n_inputs * sizeof *xs);
  if (c->opset >= 4 && gemel__onnx_attribute(c, "axis").bytes == NULL) {
    return gemel__onnx_refuse(c, GEMEL_BAD_FILE, "it has no attribute axis");
  }
  for (size_t k = 0; xs != NULL && k < c->n_inputs; k++) {
    xs[k] = gemel__onnx_input(c, k);
  }
  /* opsets before 4 have axis 1 by default */
  return xs != NULL ? gemel_concatenate_at(c->n_inputs, xs, gemel__onnx_int(c, "axis", 1), c->where)
                    : gemel__no_value;
}

/* ---- Split ---- */

/* Where part K of PARTS equal ones, but for smaller last ones, of SIZE elements begins. */
static gemel_dim part_begins(gemel_context *context, gemel_dim size, int64_t parts, int64_t k) {
  gemel_dim part = gemel_dim_add(context, size, gemel_dim_constant(context, parts - 1));
  part = gemel_dim_floordiv(context, part, gemel_dim_constant(context, parts));
  return k <= 1       ? gemel_dim_mul(context, part, gemel_dim_constant(context, k))
         : k == parts ? size
                      : gemel_dim_min(context, size,
                                      gemel_dim_mul(context, part, gemel_dim_constant(context, k)));
}

/* The sizes of C's N parts of axis AXIS: given, or equal but for smaller last ones. */
static const gemel_dim *split_sizes(gemel__onnx_call *c, gemel_value x, int axis, size_t *n) {
  const gemel__sizes *given = gemel__onnx_sizes(c, 1);
  gemel__int_list list = {0, NULL};
  int64_t parts = (int64_t)c->n_outputs;
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
  gemel_dim size = gemel__onnx_dims(x)[axis];
  for (size_t k = 0; k < *n; k++) {
    dims[k] = found > 0
                  ? gemel_dim_constant(c->context, list.values[k])
                  : gemel_dim_sub(c->context, part_begins(c->context, size, parts, (int64_t)k + 1),
                                  part_begins(c->context, size, parts, (int64_t)k));
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
  if (c->opset >= 18 &&
      gemel__onnx_given(c, 1) == (gemel__onnx_attribute(c, "num_outputs").bytes != NULL)) {
    return gemel__onnx_refuse(c, GEMEL_BAD_FILE, "it has to have one of split and num_outputs");
  }
  const gemel_dim *sizes = axis >= 0 ? split_sizes(c, x, axis, &n) : NULL;
  if (sizes == NULL) {
    return gemel__no_value;
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
static int slice_list(gemel__onnx_call *c, size_t k, gemel__sizes *list) {
  static const char *const names[] = {"starts", "ends", "axes", "steps"};
  const gemel__sizes *sizes = c->opset < 10 ? NULL : gemel__onnx_sizes(c, k + 1);
  gemel__int_list integers;
  if (sizes != NULL) {
    *list = *sizes;
    return 1;
  }
  int found = c->opset < 10                               ? gemel__onnx_ints(c, names[k], &integers)
              : !gemel__onnx_given(c, k + 1)              ? 0
              : gemel__onnx_integers(c, k + 1, &integers) ? 1
                                                          : -1;
  gemel_dim *dims = found > 0 ? gemel__onnx_room(c, (integers.count + 1) * sizeof *dims) : NULL;
  for (size_t i = 0; dims != NULL && i < integers.count; i++) {
    dims[i] = gemel_dim_constant(c->context, integers.values[i]);
  }
  *list = (gemel__sizes){GEMEL_I64, 1, dims != NULL ? integers.count : 0, dims};
  return found > 0 && dims == NULL ? -1 : found;
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

/* An axis that is sliced. The size, or a bound, may depend on symbols. */
typedef struct slice {
  int axis;
  gemel_dim size, start, end;
  int64_t step;
} slice;

static gemel_dim limited(gemel_context *context, gemel_dim least, gemel_dim at, gemel_dim most) {
  return gemel_dim_max(context, least, gemel_dim_min(context, at, most));
}

/* AT counted from the front: where it is negative, the axis's size is added. */
static gemel_dim from_front(gemel_context *context, gemel_dim at, gemel_dim size) {
  gemel_dim zero = gemel_dim_constant(context, 0), one = gemel_dim_constant(context, 1);
  gemel_dim below = gemel_dim_max(context, zero, gemel_dim_sub(context, zero, at));
  gemel_dim is_below = gemel_dim_min(context, one, below);
  return gemel_dim_equal(gemel_dim_add(context, at, size), zero)
             ? zero
             : gemel_dim_add(context, at, gemel_dim_mul(context, is_below, size));
}

/* What lies in FROM to before TO, STEP apart (above 0). */
static gemel_dim count_of(gemel_context *context, gemel_dim from, gemel_dim to, int64_t step) {
  gemel_dim span = gemel_dim_add(context, gemel_dim_sub(context, to, from),
                                 gemel_dim_constant(context, step - 1));
  return gemel_dim_max(context, gemel_dim_constant(context, 0),
                       gemel_dim_floordiv(context, span, gemel_dim_constant(context, step)));
}

/* 1 if AT is beyond all sizes on the side of STEP, as exporters write "to the end": 2^31 - 1 or
 * more. */
static int is_far(gemel_context *context, gemel_dim at, int64_t step) {
  int64_t number;
  return gemel_dim_is_constant(context, at, &number) &&
         (step > 0 ? number >= INT32_MAX : number <= -INT32_MAX);
}

/* *START and the number of elements of S with a step above 0. The number is written without the
 * start where it can be: min(2, N), say, of the last two. Where it is one, it stays so, and an axis
 * of size 0 is an error of the call: an axis of min(1, N) elements wouldn't be broadcast. */
static gemel_dim forwards(gemel_context *context, const slice *s, gemel_dim *start) {
  gemel_dim zero = gemel_dim_constant(context, 0), one = gemel_dim_constant(context, 1);
  int to_end = gemel_dim_equal(s->end, s->size) || is_far(context, s->end, 1);
  gemel_dim from = is_far(context, s->start, -1)  ? zero
                   : is_far(context, s->start, 1) ? s->size
                                                  : from_front(context, s->start, s->size);
  gemel_dim to = to_end                        ? s->size
                 : is_far(context, s->end, -1) ? zero
                                               : from_front(context, s->end, s->size);
  if (s->step == 1 && gemel_dim_equal(gemel_dim_sub(context, to, from), one)) {
    *start = from;
    return one;
  }
  *start = limited(context, zero, from, s->size);
  gemel_dim last = limited(context, zero, to, s->size);
  gemel_dim rest = gemel_dim_sub(context, s->size, from);
  return to_end && s->step == 1 ? limited(context, zero, rest, s->size)
                                : count_of(context, *start, last, s->step);
}

/* The same with a step below 0: from the last element at most, to before the first. */
static gemel_dim backwards(gemel_context *context, const slice *s, gemel_dim *start) {
  gemel_dim zero = gemel_dim_constant(context, 0), before = gemel_dim_constant(context, -1);
  gemel_dim last = gemel_dim_add(context, s->size, before);
  gemel_dim to = is_far(context, s->end, -1)  ? before
                 : is_far(context, s->end, 1) ? last
                                              : from_front(context, s->end, s->size);
  if (is_far(context, s->start, 1) || gemel_dim_equal(s->start, before)) {
    *start = last;
    return count_of(context, limited(context, before, to, last), last, -s->step);
  }
  gemel_dim from = is_far(context, s->start, -1) ? zero : from_front(context, s->start, s->size);
  from = gemel_dim_min(context, gemel_dim_max(context, zero, from), last);
  *start = gemel_dim_max(context, zero, from);
  return count_of(context, limited(context, before, to, last), from, -s->step);
}

static gemel_value slice_symbols(gemel__onnx_call *c, gemel_value x, const slice *s) {
  gemel_dim starts[GEMEL_MAX_RANK], sizes[GEMEL_MAX_RANK];
  int64_t steps[GEMEL_MAX_RANK];
  size_t rank = (size_t)gemel__onnx_rank(x);
  for (size_t k = 0; k < rank; k++) {
    starts[k] = gemel_dim_constant(c->context, 0);
    sizes[k] = gemel__onnx_dims(x)[k];
    steps[k] = 1;
  }
  steps[s->axis] = s->step;
  sizes[s->axis] = s->step > 0 ? forwards(c->context, s, &starts[s->axis])
                               : backwards(c->context, s, &starts[s->axis]);
  gemel_subtensor_options options = {.step = {rank, steps}};
  return gemel_subtensor_at(x, rank, starts, rank, sizes, s->step != 1 ? &options : NULL, c->where);
}

static gemel_value slice_axis(gemel__onnx_call *c, gemel_value x, const slice *s) {
  int64_t size, start, end;
  if (s->step == 0 || s->step == INT64_MIN) {
    return gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "a step of %lld", (long long)s->step);
  }
  return gemel_dim_is_constant(c->context, s->size, &size) &&
                 gemel_dim_is_constant(c->context, s->start, &start) &&
                 gemel_dim_is_constant(c->context, s->end, &end)
             ? slice_known(c, x, s->axis, size, start, end, s->step)
             : slice_symbols(c, x, s);
}

/* Number K of a list that may be left out; *NUMBER stays then. 0 and the error if it isn't known.
 */
static int slice_number(gemel__onnx_call *c, const gemel__sizes *list, size_t k, int64_t *number) {
  if (list->count > 0 && !gemel_dim_is_constant(c->context, list->dims[k], number)) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "an axis or a step that depends on symbols");
    return 0;
  }
  return 1;
}

gemel_value gemel__onnx_slice(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__sizes lists[4];
  for (size_t k = 0; k < 4; k++) {
    int found = slice_list(c, k, &lists[k]);
    if (found < 0 || (k < 2 && found == 0) || (found > 0 && lists[k].count != lists[0].count)) {
      return found < 0 ? gemel__no_value
                       : gemel__onnx_refuse(c, GEMEL_BAD_FILE,
                                            "starts, ends, axes and steps don't belong together");
    }
  }
  for (size_t k = 0; k < lists[0].count && !gemel_is_null(x); k++) {
    int64_t axis = (int64_t)k, step = 1;
    slice s = {-1, GEMEL_DIM_NONE, lists[0].dims[k], lists[1].dims[k], 1};
    if (slice_number(c, &lists[2], k, &axis) && slice_number(c, &lists[3], k, &step)) {
      s.axis = gemel__onnx_axis(c, axis, gemel__onnx_rank(x));
    }
    s.size = s.axis >= 0 ? gemel__onnx_dims(x)[s.axis] : GEMEL_DIM_NONE;
    s.step = step;
    x = s.axis >= 0 ? slice_axis(c, x, &s) : gemel__no_value;
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
    return gemel__no_value;
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
  return n == 1 ? x : gemel_concatenate_at(n, parts, axis, c->where);
}

gemel_value gemel__onnx_pad(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__wire_span mode = gemel__onnx_text(c, "mode");
  int64_t low[GEMEL_MAX_RANK] = {0}, high[GEMEL_MAX_RANK] = {0};
  int rank = gemel__onnx_rank(x);
  if (!read_pads(c, rank, low, high)) {
    return gemel__no_value;
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
