/* SPDX-License-Identifier: MIT
 *
 * Convolutions and pooling of ONNX: images [batch, channels, spatial axes...]. Paddings are
 * attributes, or follow from auto_pad and the sizes, which must then be numbers.
 */
#include <string.h>

#include "onnx/operators.h"

static const gemel_value null_value = {NULL, 0, 0};

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
  return read_list(c, "strides", w->axes, 1, w->stride) &&
         read_list(c, "dilations", w->axes, 1, w->dilation) &&
         read_pads(c, w, gemel__onnx_dims(x) + 2);
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

gemel_value gemel__onnx_conv(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), weights = gemel__onnx_input(c, 1);
  onnx_window w;
  if (!spatial_axes(c, x, &w.axes) || !kernel_of(c, weights, &w) || !read_window(c, x, &w)) {
    return null_value;
  }
  gemel_corr_options options = {.stride = list_of(&w, w.stride),
                                .dilation = list_of(&w, w.dilation),
                                .low = list_of(&w, w.low),
                                .high = list_of(&w, w.high),
                                .padding = "valid",
                                .groups = gemel__onnx_int(c, "group", 1)};
  return with_bias(c, gemel_corr_at(x, weights, &options, c->where), 2, w.axes);
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
  if (!spatial_axes(c, x, &w.axes) || !kernel_of(c, weights, &w) ||
      !read_list(c, "strides", w.axes, 1, w.stride) ||
      !read_list(c, "dilations", w.axes, 1, w.dilation)) {
    return null_value;
  }
  memset(w.low, 0, sizeof w.low);
  memset(w.high, 0, sizeof w.high);
  if ((!same && !read_pads(c, &w, NULL)) || !transposed_sizes(c, x, &w, image)) {
    return null_value;
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

gemel_value gemel__onnx_max_pool(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t extra[MOST_AXES];
  onnx_window w;
  if (!read_pool(c, x, &w, extra)) {
    return null_value;
  }
  gemel_max_pool_options options = {.stride = list_of(&w, w.stride),
                                    .dilation = list_of(&w, w.dilation),
                                    .low = list_of(&w, w.low),
                                    .high = list_of(&w, w.high)};
  return gemel_max_pool_at(x, (size_t)w.axes, w.kernel, &options, c->where);
}

gemel_value gemel__onnx_average_pool(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t extra[MOST_AXES], counted = gemel__onnx_int(c, "count_include_pad", 0);
  onnx_window w;
  if (!read_pool(c, x, &w, extra)) {
    return null_value;
  }
  for (int k = 0; k < w.axes; k++) {
    if (counted && extra[k] > 0) {
      return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                                "count_include_pad with ceil_mode and windows that end outside");
    }
  }
  gemel_avg_pool_options options = {.stride = list_of(&w, w.stride),
                                    .dilation = list_of(&w, w.dilation),
                                    .low = list_of(&w, w.low),
                                    .high = list_of(&w, w.high),
                                    .count_padding = counted};
  return gemel_avg_pool_at(x, (size_t)w.axes, w.kernel, &options, c->where);
}

gemel_value gemel__onnx_global_pool(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t axes[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(x);
  for (int k = 2; k < rank; k++) {
    axes[k - 2] = k;
  }
  gemel_ints spatial = {rank > 2 ? (size_t)rank - 2 : 0, axes};
  if (c->row->as[1] == 'e') {
    gemel_sum_options mean = {.axes = spatial, .keepdims = 1};
    return gemel_mean_at(x, &mean, c->where);
  }
  gemel_max_options largest = {.axes = spatial, .keepdims = 1};
  return gemel_max_at(x, &largest, c->where);
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
