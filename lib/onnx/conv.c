/* SPDX-License-Identifier: MIT
 *
 * Convolutions and pooling of ONNX: images [batch, channels, spatial axes...]. Paddings are
 * attributes, or follow from auto_pad and the sizes, which must then be numbers.
 */
#include <math.h>
#include <string.h>

#include "onnx/operators.h"
#include "core/value.h"

enum { MOST_AXES = 3 };

/* How a window moves over the spatial axes. */
typedef struct onnx_window {
  int axes;
  int64_t kernel[MOST_AXES], stride[MOST_AXES], dilation[MOST_AXES];
  int64_t low[MOST_AXES], high[MOST_AXES];
} onnx_window;

static gemel_ints list_of(const onnx_window *w, const int64_t *values) {
  return (gemel_ints){(size_t)w->axes, values};
}

/* 1 if N is as large as a stride, a kernel or a padding may be, so that what is computed of several
 * fits 64 bits; else 0 and the error. */
static int is_moderate(gemel__onnx_call *c, const char *name, int64_t n) {
  if (n < -(1 << 30) || n > 1 << 30) {
    gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "%s: %lld", name, (long long)n);
    return 0;
  }
  return 1;
}

/* Reads the list NAME into VALUES, all FALLBACK if it is absent: 1, or 0 on failure. */
static int read_list(gemel__onnx_call *c, const char *name, int axes, int64_t fallback,
                     int64_t *values) {
  gemel__int_list list;
  int found = gemel__onnx_ints(c, name, &list);
  if (found > 0 && list.count != (size_t)axes) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "%s has %zu numbers, and there are %d spatial axes",
                       name, list.count, axes);
    return 0;
  }
  for (int k = 0; k < axes; k++) {
    values[k] = found > 0 ? list.values[k] : fallback;
    if (!is_moderate(c, name, values[k])) {
      return 0;
    }
  }
  return found >= 0;
}

/* Strides and dilations, none below 1: 1, or 0 on failure. */
static int read_steps(gemel__onnx_call *c, onnx_window *w) {
  if (!read_list(c, "strides", w->axes, 1, w->stride) ||
      !read_list(c, "dilations", w->axes, 1, w->dilation)) {
    return 0;
  }
  for (int k = 0; k < w->axes; k++) {
    if (w->stride[k] < 1 || w->dilation[k] < 1) {
      gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "strides and dilations are 1 at least");
      return 0;
    }
  }
  return 1;
}

/* The padding for a result of ceil(size / stride), the odd one behind (SAME_UPPER) or before. */
static int pad_same(gemel__onnx_call *c, onnx_window *w, const gemel_dim *image, int upper) {
  for (int k = 0; k < w->axes; k++) {
    int64_t size;
    if (!gemel_dim_is_constant(c->context, image[k], &size) || w->stride[k] < 1) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "auto_pad with a size that is a symbol");
      return 0;
    }
    int64_t result = (size + w->stride[k] - 1) / w->stride[k];
    int64_t needed = (result - 1) * w->stride[k] + (w->kernel[k] - 1) * w->dilation[k] + 1 - size;
    needed = needed < 0 ? 0 : needed;
    w->low[k] = upper ? needed / 2 : needed - needed / 2;
    w->high[k] = needed - w->low[k];
  }
  return 1;
}

static int read_pads(gemel__onnx_call *c, onnx_window *w, const gemel_dim *image) {
  gemel__wire_span automatic = gemel__onnx_text(c, "auto_pad");
  gemel__int_list pads;
  int found = gemel__onnx_ints(c, "pads", &pads);
  memset(w->low, 0, sizeof w->low);
  memset(w->high, 0, sizeof w->high);
  if (gemel__wire_is(automatic, "SAME_UPPER") || gemel__wire_is(automatic, "SAME_LOWER")) {
    return pad_same(c, w, image, automatic.bytes[5] == 'U');
  }
  if (automatic.length > 0 && !gemel__wire_is(automatic, "NOTSET") &&
      !gemel__wire_is(automatic, "VALID")) {
    gemel__onnx_refuse(c, GEMEL_BAD_FILE, "auto_pad %.*s", (int)automatic.length,
                       (const char *)automatic.bytes);
    return 0;
  }
  if (found > 0 && pads.count != 2 * (size_t)w->axes) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "%zu pads for %d spatial axes", pads.count, w->axes);
    return 0;
  }
  for (int k = 0; found > 0 && !gemel__wire_is(automatic, "VALID") && k < w->axes; k++) {
    w->low[k] = pads.values[k];
    w->high[k] = pads.values[w->axes + k];
    if (!is_moderate(c, "pads", w->low[k]) || !is_moderate(c, "pads", w->high[k])) {
      return 0;
    }
  }
  return found >= 0;
}

/* Stride, dilation and padding of a window over X, whose kernel sizes are set: 1, or 0 on failure.
 */
static int read_window(gemel__onnx_call *c, gemel_value x, onnx_window *w) {
  if (gemel__onnx_int(c, "group", 1) < 1) {
    gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "group is below 1");
    return 0;
  }
  return read_steps(c, w) && read_pads(c, w, gemel__onnx_dims(x) + 2);
}

/* 1 and the number of spatial axes of X, else 0 and the error. */
static int spatial_axes(gemel__onnx_call *c, gemel_value x, int *axes) {
  *axes = gemel__onnx_rank(x) - 2;
  if (*axes < 1 || *axes > MOST_AXES) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                       "it takes images of 1 to %d spatial axes, and has %d axes", MOST_AXES,
                       *axes + 2);
    return 0;
  }
  return 1;
}

/* ---- Convolution ---- */

/* 1 and the kernel's sizes, which must be numbers, from the weights. */
static int kernel_of(gemel__onnx_call *c, gemel_value w, onnx_window *window_) {
  gemel__int_list said;
  int found = gemel__onnx_ints(c, "kernel_shape", &said);
  if (found < 0) {
    return 0;
  }
  if (gemel__onnx_rank(w) != window_->axes + 2) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "weights of %d axes for %d spatial axes",
                       gemel__onnx_rank(w), window_->axes);
    return 0;
  }
  for (int k = 0; k < window_->axes; k++) {
    if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(w)[k + 2], &window_->kernel[k])) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a kernel whose size is a symbol");
      return 0;
    }
    if (!is_moderate(c, "a kernel's size", window_->kernel[k])) {
      return 0;
    }
    if (found > 0 && ((int)said.count != window_->axes || said.values[k] != window_->kernel[k])) {
      gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "kernel_shape isn't that of the weights");
      return 0;
    }
  }
  return 1;
}

/* X with the bias BIAS[channels]. */
static gemel_value with_bias(gemel__onnx_call *c, gemel_value x, size_t k, int axes) {
  static const int64_t order[MOST_AXES + 1] = {0, -1, -1, -1};
  if (!gemel__onnx_given(c, k)) {
    return x;
  }
  gemel_value bias =
      gemel_dimshuffle_at(gemel__onnx_input(c, k), (size_t)axes + 1, order, c->where);
  return gemel_add_at(x, bias, c->where);
}

gemel_value gemel__onnx_correlate(gemel__onnx_call *c, gemel_value x, gemel_value weights) {
  return gemel__onnx_correlate_groups(c, x, weights, gemel__onnx_int(c, "group", 1));
}

gemel_value gemel__onnx_correlate_groups(gemel__onnx_call *c, gemel_value x, gemel_value weights,
                                         int64_t groups) {
  onnx_window w;
  if (!spatial_axes(c, x, &w.axes) || !kernel_of(c, weights, &w) || !read_window(c, x, &w)) {
    return gemel__no_value;
  }
  gemel_corr_options options = {.stride = list_of(&w, w.stride),
                                .dilation = list_of(&w, w.dilation),
                                .low = list_of(&w, w.low),
                                .high = list_of(&w, w.high),
                                .padding = "valid",
                                .groups = groups};
  return gemel_corr_at(x, weights, &options, c->where);
}

/* The sizes of a transposed convolution's result, and its paddings where only those sizes are
 * given. */
static int transposed_sizes(gemel__onnx_call *c, gemel_value x, onnx_window *w, gemel_dim *image) {
  int64_t extra[MOST_AXES], wanted[MOST_AXES], size;
  gemel__wire_span automatic = gemel__onnx_text(c, "auto_pad");
  int same = gemel__wire_is(automatic, "SAME_UPPER") || gemel__wire_is(automatic, "SAME_LOWER");
  int given = gemel__onnx_attribute(c, "output_shape").bytes != NULL;
  if (!read_list(c, "output_padding", w->axes, 0, extra) ||
      !read_list(c, "output_shape", w->axes, 0, wanted)) {
    return 0;
  }
  for (int k = 0; k < w->axes; k++) {
    if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[k + 2], &size)) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a size that is a symbol");
      return 0;
    }
    if (!is_moderate(c, "an image's size", size)) {
      return 0;
    }
    int64_t whole = (size - 1) * w->stride[k] + extra[k] + (w->kernel[k] - 1) * w->dilation[k] + 1;
    if (given || same) {
      int64_t total = whole - (given ? wanted[k] : size * w->stride[k]);
      total = total < 0 ? 0 : total;
      w->low[k] = gemel__wire_is(automatic, "SAME_UPPER") ? total / 2 : total - total / 2;
      w->high[k] = total - w->low[k];
    }
    image[k] = gemel_dim_constant(c->context, given ? wanted[k] : whole - w->low[k] - w->high[k]);
  }
  return 1;
}

gemel_value gemel__onnx_conv_transpose(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), weights = gemel__onnx_input(c, 1);
  gemel_dim image[MOST_AXES];
  onnx_window w;
  int same = gemel__wire_is(gemel__onnx_text(c, "auto_pad"), "SAME_UPPER") ||
             gemel__wire_is(gemel__onnx_text(c, "auto_pad"), "SAME_LOWER");
  if (!spatial_axes(c, x, &w.axes) || !kernel_of(c, weights, &w) || !read_steps(c, &w)) {
    return gemel__no_value;
  }
  memset(w.low, 0, sizeof w.low);
  memset(w.high, 0, sizeof w.high);
  if ((!same && !read_pads(c, &w, NULL)) || !transposed_sizes(c, x, &w, image)) {
    return gemel__no_value;
  }
  gemel_corr_grad_inputs_options options = {.stride = list_of(&w, w.stride),
                                            .dilation = list_of(&w, w.dilation),
                                            .low = list_of(&w, w.low),
                                            .high = list_of(&w, w.high),
                                            .padding = "valid",
                                            .groups = gemel__onnx_int(c, "group", 1)};
  gemel_value y = gemel_corr_grad_inputs_at(weights, x, (size_t)w.axes, image, &options, c->where);
  return with_bias(c, y, 2, w.axes);
}

/* ---- Pooling ---- */

/* With ceil_mode a last window that begins in the image is taken though it ends outside: the
 * padding behind is as much larger, and EXTRA says by how much. */
static int pad_ceil(gemel__onnx_call *c, gemel_value x, onnx_window *w, int64_t *extra) {
  memset(extra, 0, MOST_AXES * sizeof *extra);
  for (int k = 0; gemel__onnx_int(c, "ceil_mode", 0) && k < w->axes; k++) {
    int64_t size;
    if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[k + 2], &size) || w->stride[k] < 1) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "ceil_mode with a size that is a symbol");
      return 0;
    }
    int64_t span = (w->kernel[k] - 1) * w->dilation[k] + 1;
    int64_t over = (size + w->low[k] + w->high[k] - span) % w->stride[k];
    int64_t last = size + w->low[k] + w->high[k] - span - over + w->stride[k];
    if (over > 0 && last < size + w->low[k]) {
      extra[k] = w->stride[k] - over;
      w->high[k] += extra[k];
    }
  }
  return 1;
}

static int read_pool(gemel__onnx_call *c, gemel_value x, onnx_window *w, int64_t *extra) {
  return spatial_axes(c, x, &w->axes) && read_list(c, "kernel_shape", w->axes, 0, w->kernel) &&
         read_window(c, x, w) && pad_ceil(c, x, w, extra);
}

/* ---- Where the largest is ---- */

enum { MOST_OFFSETS = 256 };

/* Of X, padded by VALUE as W says, the element of each window that is OFFSET from its first. */
static gemel_value window_part(gemel__onnx_call *c, const onnx_window *w, gemel_value x,
                               gemel_value value, const int64_t *image, int64_t offset) {
  int64_t low[MOST_AXES + 2] = {0}, high[MOST_AXES + 2] = {0}, steps[MOST_AXES + 2] = {1, 1};
  gemel_dim starts[MOST_AXES + 2], sizes[MOST_AXES + 2];
  size_t rank = (size_t)w->axes + 2;
  const gemel_dim *dims = gemel__onnx_dims(x);
  for (int k = w->axes - 1; k >= 0 && dims != NULL; k--) {
    int64_t span = (w->kernel[k] - 1) * w->dilation[k] + 1;
    low[k + 2] = w->low[k];
    high[k + 2] = w->high[k];
    steps[k + 2] = w->stride[k];
    starts[k + 2] = gemel_dim_constant(c->context, offset % w->kernel[k] * w->dilation[k]);
    sizes[k + 2] = gemel_dim_constant(
        c->context, (image[k] + w->low[k] + w->high[k] - span) / w->stride[k] + 1);
    offset /= w->kernel[k];
  }
  for (int k = 0; k < 2 && dims != NULL; k++) {
    starts[k] = gemel_dim_constant(c->context, 0);
    sizes[k] = dims[k];
  }
  gemel_subtensor_options options = {.step = {rank, steps}};
  gemel_value padded = gemel_pad_at(x, value, rank, low, rank, high, NULL, c->where);
  return gemel_subtensor_at(padded, rank, starts, rank, sizes, &options, c->where);
}

/* The numbers 0, 1, ... of the elements of an image [1, 1, spatial...], in row-major order or, for
 * storage_order 1, in column-major order. */
static gemel_value element_numbers(gemel__onnx_call *c, int axes, const int64_t *image) {
  int64_t order[MOST_AXES + 2] = {-1, -1};
  int columns = gemel__onnx_int(c, "storage_order", 0) != 0;
  gemel_dim shape[MOST_AXES], all = gemel_dim_constant(c->context, 1);
  for (int k = 0; k < axes; k++) {
    shape[columns ? axes - 1 - k : k] = gemel_dim_constant(c->context, image[k]);
    order[k + 2] = columns ? axes - 1 - k : k;
    all = gemel_dim_mul(c->context, all, gemel_dim_constant(c->context, image[k]));
  }
  gemel_value numbers = gemel_arange_at(c->graph, all, NULL, c->where);
  numbers = gemel_reshape_at(numbers, (size_t)axes, shape, c->where);
  return gemel_dimshuffle_at(numbers, (size_t)axes + 2, order, c->where);
}

/* The number of the first element of each image of X [N, C, spatial...], as [N, C, 1...]. */
static gemel_value image_begins(gemel__onnx_call *c, gemel_value x, int axes,
                                const int64_t *image) {
  gemel_dim shape[MOST_AXES + 2];
  double elements = 1;
  for (int k = 0; k < axes; k++) {
    shape[k + 2] = gemel_dim_constant(c->context, 1);
    elements *= (double)image[k];
  }
  shape[0] = gemel__onnx_dims(x)[0];
  shape[1] = gemel__onnx_dims(x)[1];
  gemel_value n =
      gemel_arange_at(c->graph, gemel_dim_mul(c->context, shape[0], shape[1]), NULL, c->where);
  n = gemel_mul_at(n, gemel_scalar_like_at(n, elements, c->where), c->where);
  return gemel_reshape_at(n, (size_t)axes + 2, shape, c->where);
}

/* Sizes of X's spatial axes as numbers: 1, or 0 and the error. */
static int image_sizes(gemel__onnx_call *c, gemel_value x, int axes, int64_t *image) {
  for (int k = 0; k < axes; k++) {
    if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[k + 2], &image[k])) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "numbers of elements in a size that is a symbol");
      return 0;
    }
  }
  return 1;
}

/* The number of the first largest element of each window: its elements are compared one after the
 * other. What is padding has number -1, and gives way to any. */
static gemel_value largest_at(gemel__onnx_call *c, gemel_value x, const onnx_window *w) {
  int64_t image[MOST_AXES], offsets = 1;
  gemel_dtype dtype = gemel__onnx_dtype_of(x);
  double least = gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT ? (double)-INFINITY
                 : dtype == GEMEL_I8                         ? -128
                                                             : 0;
  gemel_value best = gemel__no_value, at = gemel__no_value;
  if (!image_sizes(c, x, w->axes, image)) {
    return gemel__no_value;
  }
  for (int k = 0; k < w->axes && offsets <= MOST_OFFSETS; k++) {
    offsets *= w->kernel[k];
  }
  if (offsets < 1 || offsets > MOST_OFFSETS) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "indices in windows of more than %d elements",
                              MOST_OFFSETS);
  }
  gemel_value numbers = element_numbers(c, w->axes, image);
  gemel_value none = gemel_scalar_like_at(numbers, -1, c->where);
  for (int64_t k = 0; k < offsets; k++) {
    gemel_value part = window_part(c, w, x, gemel_scalar_like_at(x, least, c->where), image, k);
    gemel_value number = window_part(c, w, numbers, none, image, k);
    gemel_value better =
        k == 0
            ? gemel__no_value
            : gemel_logical_or_at(gemel_gt_at(part, best, c->where),
                                  gemel_lt_at(at, gemel_scalar_like_at(at, 0, c->where), c->where),
                                  c->where);
    best = k == 0 ? part : gemel_where_at(better, part, best, c->where);
    at = k == 0 ? number : gemel_where_at(better, number, at, c->where);
  }
  return gemel_add_at(at, image_begins(c, x, w->axes, image), c->where);
}

gemel_value gemel__onnx_max_pool(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t extra[MOST_AXES];
  onnx_window w;
  if (!read_pool(c, x, &w, extra)) {
    return gemel__no_value;
  }
  if (c->n_outputs > 1) {
    c->outputs[1] = largest_at(c, x, &w);
  }
  gemel_max_pool_options options = {.stride = list_of(&w, w.stride),
                                    .dilation = list_of(&w, w.dilation),
                                    .low = list_of(&w, w.low),
                                    .high = list_of(&w, w.high)};
  return gemel_max_pool_at(x, (size_t)w.axes, w.kernel, &options, c->where);
}

/* Elements of x where the indices say, in an image of zeros that MaxPool would have made x of; with
 * an output_shape that is larger, more zeros behind them. */
gemel_value gemel__onnx_max_unpool(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), at = gemel__onnx_input(c, 1);
  int64_t image[MOST_AXES], none[MOST_AXES + 2] = {0}, more[MOST_AXES + 2] = {0};
  gemel_dim shape[MOST_AXES + 2], all;
  gemel__int_list wanted = {0, NULL};
  onnx_window w;
  if (!spatial_axes(c, x, &w.axes) || !read_list(c, "kernel_shape", w.axes, 0, w.kernel) ||
      !read_window(c, x, &w) || !image_sizes(c, x, w.axes, image) ||
      (gemel__onnx_given(c, 2) && !gemel__onnx_integers(c, 2, &wanted))) {
    return gemel__no_value;
  }
  size_t rank = (size_t)w.axes + 2;
  shape[0] = gemel__onnx_dims(x)[0];
  shape[1] = gemel__onnx_dims(x)[1];
  all = gemel_dim_mul(c->context, shape[0], shape[1]);
  for (int k = 0; k < w.axes; k++) {
    int64_t size = (image[k] - 1) * w.stride[k] - w.low[k] - w.high[k] + w.kernel[k];
    shape[k + 2] = gemel_dim_constant(c->context, size);
    all = gemel_dim_mul(c->context, all, shape[k + 2]);
    more[k + 2] = wanted.count == rank ? wanted.values[k + 2] - size : 0;
  }
  gemel_value zero = gemel_scalar_like_at(x, 0, c->where);
  gemel_put_options options = {.axis = 0, .mode = "set"};
  gemel_value y =
      gemel_put_at(gemel_broadcast_to_at(zero, 1, &all, c->where), gemel_flatten_at(at, c->where),
                   gemel_flatten_at(x, c->where), &options, c->where);
  y = gemel_reshape_at(y, rank, shape, c->where);
  return wanted.count == rank ? gemel_pad_at(y, zero, rank, none, rank, more, NULL, c->where) : y;
}

/* ---- Means and norms ---- */

static gemel_value mean_of_windows(gemel__onnx_call *c, gemel_value x, const onnx_window *w,
                                   int64_t counted) {
  gemel_avg_pool_options options = {.stride = list_of(w, w->stride),
                                    .dilation = list_of(w, w->dilation),
                                    .low = list_of(w, w->low),
                                    .high = list_of(w, w->high),
                                    .count_padding = counted};
  return gemel_avg_pool_at(x, (size_t)w->axes, w->kernel, &options, c->where);
}

/* The part of each window that isn't behind the padded image, where ceil_mode lets some end there,
 * EXTRA behind it; null if none does. */
static gemel_value part_inside(gemel__onnx_call *c, gemel_value x, const onnx_window *w,
                               const int64_t *extra) {
  int64_t image[MOST_AXES], shape[MOST_AXES + 2] = {1, 1}, all = 0;
  onnx_window inside = *w;
  for (int k = 0; k < w->axes; k++) {
    all += extra[k];
  }
  if (all == 0 || !image_sizes(c, x, w->axes, image)) {
    return gemel__no_value;
  }
  for (int k = 0; k < w->axes; k++) {
    shape[k + 2] = image[k] + w->low[k] + w->high[k] - extra[k];
    inside.low[k] = 0;
    inside.high[k] = extra[k];
  }
  gemel_value ones =
      gemel_full_at(c->graph, gemel__onnx_dtype_of(x), 1, (size_t)w->axes + 2, shape, c->where);
  return mean_of_windows(c, ones, &inside, 1);
}

gemel_value gemel__onnx_average_pool(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t extra[MOST_AXES], counted = gemel__onnx_int(c, "count_include_pad", 0);
  onnx_window w;
  if (!read_pool(c, x, &w, extra)) {
    return gemel__no_value;
  }
  gemel_value mean = mean_of_windows(c, x, &w, counted);
  gemel_value inside = counted ? part_inside(c, x, &w, extra) : gemel__no_value;
  return gemel_is_null(inside) ? mean : gemel_div_at(mean, inside, c->where);
}

/* |x| to the power p, and the other way for POWER 1 / p. */
static gemel_value to_power(gemel__onnx_call *c, gemel_value x, double power) {
  return power == 1     ? x
         : power == 2   ? gemel_sqr_at(x, c->where)
         : power == 0.5 ? gemel_sqrt_at(x, c->where)
                        : gemel_pow_at(x, gemel_scalar_like_at(x, power, c->where), c->where);
}

/* Attribute p: a number of either kind, as opsets have it; 0, and the error, if it isn't above 0.
 */
static double norm_power(gemel__onnx_call *c) {
  double p = c->opset < 2 ? gemel__onnx_float(c, "p", 2) : (double)gemel__onnx_int(c, "p", 2);
  if (!(p > 0)) {
    gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "p must be above 0");
    return 0;
  }
  return p;
}

/* (sum of |x|^p) ^ (1 / p) of each window: the sum is a mean times the window's size. */
gemel_value gemel__onnx_lp_pool(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  double p = norm_power(c), elements = 1;
  int64_t extra[MOST_AXES];
  onnx_window w;
  if (p == 0 || !read_pool(c, x, &w, extra)) {
    return gemel__no_value;
  }
  for (int k = 0; k < w.axes; k++) {
    elements *= (double)w.kernel[k];
  }
  gemel_value mean = mean_of_windows(c, to_power(c, gemel_abs_at(x, c->where), p), &w, 1);
  gemel_value sum = gemel_mul_at(mean, gemel_scalar_like_at(x, elements, c->where), c->where);
  return to_power(c, sum, 1 / p);
}

gemel_value gemel__onnx_global_pool(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t axes[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(x);
  for (int k = 2; k < rank; k++) {
    axes[k - 2] = k;
  }
  gemel_ints spatial = {rank > 2 ? (size_t)rank - 2 : 0, axes};
  gemel_sum_options all = {.axes = spatial, .keepdims = 1};
  if (c->row->as[1] == 'e') {
    return gemel_mean_at(x, &all, c->where);
  }
  if (c->row->as[1] == 'p') {
    double p = norm_power(c);
    gemel_value powers = p > 0 ? to_power(c, gemel_abs_at(x, c->where), p) : gemel__no_value;
    return gemel_is_null(powers) ? powers
                                 : to_power(c, gemel_sum_at(powers, &all, c->where), 1 / p);
  }
  gemel_max_options largest = {.axes = spatial, .keepdims = 1};
  return gemel_max_at(x, &largest, c->where);
}

/* ---- Columns ---- */

/* Weights [C x K, 1, block...] that put element k of a column at place k of the block. */
static gemel_value placing_weights(gemel__onnx_call *c, gemel_value x, gemel_dim channels,
                                   const onnx_window *w) {
  gemel_dim one = gemel_dim_constant(c->context, 1), k = one, shape[MOST_AXES + 2];
  for (int axis = 0; axis < w->axes; axis++) {
    shape[axis + 2] = gemel_dim_constant(c->context, w->kernel[axis]);
    k = gemel_dim_mul(c->context, k, shape[axis + 2]);
  }
  gemel_dim square[3] = {channels, k, k};
  shape[0] = gemel_dim_mul(c->context, channels, k);
  shape[1] = one;
  gemel_value places = gemel_arange_at(c->graph, k, NULL, c->where);
  gemel_value same = gemel_eq_at(gemel_expand_dims_at(places, 1, c->where), places, c->where);
  same = gemel_cast_at(same, gemel__onnx_dtype_of(x), c->where);
  return gemel_reshape_at(gemel_broadcast_to_at(same, 3, square, c->where), (size_t)w->axes + 2,
                          shape, c->where);
}

/* The window of Col2Im and the sizes of its image: 1, or 0 on failure. */
static int read_columns(gemel__onnx_call *c, onnx_window *w, gemel_dim *image) {
  gemel__int_list sizes, block;
  if (!gemel__onnx_integers(c, 1, &sizes) || !gemel__onnx_integers(c, 2, &block)) {
    return 0;
  }
  w->axes = (int)sizes.count;
  if (sizes.count < 1 || sizes.count > MOST_AXES || block.count != sizes.count) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "images of %zu axes, and blocks of %zu", sizes.count,
                       block.count);
    return 0;
  }
  for (int k = 0; k < w->axes; k++) {
    image[k] = gemel_dim_constant(c->context, sizes.values[k]);
    w->kernel[k] = block.values[k];
    if (!is_moderate(c, "image_shape", sizes.values[k]) ||
        !is_moderate(c, "block_shape", block.values[k])) {
      return 0;
    }
  }
  return read_steps(c, w) && read_pads(c, w, image);
}

/* Sums of columns where blocks overlap: what a convolution's derivative does with weights that
 * place each element. */
gemel_value gemel__onnx_col2im(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel_dim image[MOST_AXES], shape[MOST_AXES + 2];
  int64_t elements = 1, rows, size;
  onnx_window w;
  if (!read_columns(c, &w, image)) {
    return gemel__no_value;
  }
  if (gemel__onnx_rank(x) != 3 ||
      !gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[1], &rows)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "it takes [N, C x block, L], where the middle one is a number");
  }
  for (int k = 0; k < w.axes; k++) {
    elements *= w.kernel[k] > 0 && w.kernel[k] <= rows ? w.kernel[k] : rows + 1;
    gemel_dim_is_constant(c->context, image[k], &size);
    int64_t room = size + w.low[k] + w.high[k] - (w.kernel[k] - 1) * w.dilation[k] - 1;
    if (elements > rows || w.stride[k] < 1 || room < 0) {
      return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE,
                                "blocks that don't fit the image or its columns");
    }
    shape[k + 2] = gemel_dim_constant(c->context, room / w.stride[k] + 1);
  }
  shape[0] = gemel__onnx_dims(x)[0];
  shape[1] = gemel__onnx_dims(x)[1];
  gemel_corr_grad_inputs_options options = {.stride = list_of(&w, w.stride),
                                            .dilation = list_of(&w, w.dilation),
                                            .low = list_of(&w, w.low),
                                            .high = list_of(&w, w.high),
                                            .padding = "valid",
                                            .groups = rows / elements};
  gemel_value y = gemel_reshape_at(x, (size_t)w.axes + 2, shape, c->where);
  gemel_value weights = placing_weights(c, x, gemel_dim_constant(c->context, rows / elements), &w);
  return gemel_corr_grad_inputs_at(weights, y, (size_t)w.axes, image, &options, c->where);
}

/* ---- Local response ---- */

/* x / (bias + alpha / size * (sum of squares over SIZE channels about its own)) ^ beta: the sum is
 * a mean of windows over the channels, times their size. */
gemel_value gemel__onnx_lrn(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t size = gemel__onnx_int(c, "size", 0), low = (size - 1) / 2, high = size - 1 - low;
  int rank = gemel__onnx_rank(x);
  const gemel_dim *dims = gemel__onnx_dims(x);
  if (rank < 3 || size < 1) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes images and a size above 0");
  }
  gemel_dim rest = gemel_dim_constant(c->context, 1);
  for (int k = 2; k < rank; k++) {
    rest = gemel_dim_mul(c->context, rest, dims[k]);
  }
  int64_t kernel[2] = {size, 1}, before[2] = {low, 0}, behind[2] = {high, 0}, single[2] = {1, 1};
  gemel_dim as_image[4] = {dims[0], gemel_dim_constant(c->context, 1), dims[1], rest};
  gemel_avg_pool_options options = {.stride = {2, single},
                                    .dilation = {2, single},
                                    .low = {2, before},
                                    .high = {2, behind},
                                    .count_padding = 1};
  gemel_value squares = gemel_reshape_at(gemel_sqr_at(x, c->where), 4, as_image, c->where);
  gemel_value mean = gemel_avg_pool_at(squares, 2, kernel, &options, c->where);
  mean = gemel_reshape_at(mean, (size_t)rank, dims, c->where);
  gemel_value scaled = gemel_mul_at(
      mean, gemel_scalar_like_at(x, gemel__onnx_float(c, "alpha", (double)1e-4F), c->where),
      c->where);
  gemel_value base = gemel_add_at(
      scaled, gemel_scalar_like_at(x, gemel__onnx_float(c, "bias", 1), c->where), c->where);
  gemel_value power = gemel_pow_at(
      base, gemel_scalar_like_at(x, gemel__onnx_float(c, "beta", 0.75), c->where), c->where);
  return gemel_div_at(x, power, c->where);
}
