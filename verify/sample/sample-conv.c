/* SPDX-License-Identifier: MIT
 *
 * Random instances of the three convolutions: a geometry is drawn, and each operation takes the
 * two operands of it that it needs. All kinds of padding, strides that don't divide the image,
 * kernels larger than it, groups down to single channels, and sizes 0 and 1 come up. Where
 * there is room for the kernels of libraries, kernels of one element, for which these have code of
 * their own, are drawn more often.
 */
#include <string.h>
#include "ops/conv.h"
#include "sample/sampling.h"

enum { LARGE = 1024 }; /* elements of an operand, where there is room for libraries */

typedef struct drawn {
  int axes, unshared, pointwise;
  const char *padding; /* NULL: low and high */
  int64_t batch, groups, channels, filters;
  int64_t image[GEMEL__SPATIAL_AXES], kernel[GEMEL__SPATIAL_AXES], out[GEMEL__SPATIAL_AXES];
  int64_t stride[GEMEL__SPATIAL_AXES], dilation[GEMEL__SPATIAL_AXES];
  int64_t low[GEMEL__SPATIAL_AXES], high[GEMEL__SPATIAL_AXES];
} drawn;

static void draw_axis(gemel_sample *sample, drawn *d, int k, int64_t most) {
  int64_t span;
  d->image[k] = gemel__sample_chance(sample, 16) ? 0 : gemel__sample_int(sample, 1, most);
  d->image[k] = gemel__sample_wants(sample, 0, 3) ? sample->length : d->image[k];
  d->kernel[k] = d->pointwise ? 1 : gemel__sample_int(sample, 1, most < 4 ? most : 4);
  d->stride[k] = d->pointwise ? gemel__sample_int(sample, 1, 3) : gemel__sample_step(sample, 3);
  d->dilation[k] = gemel__sample_step(sample, 3);
  d->low[k] = d->high[k] = 0;
  span = (d->kernel[k] - 1) * d->dilation[k] + 1;
  if (d->padding == NULL) {
    d->low[k] = gemel__sample_int(sample, 0, 3);
    d->high[k] = gemel__sample_int(sample, 0, 3);
  } else if (strcmp(d->padding, "valid") != 0) {
    d->low[k] = d->high[k] = strcmp(d->padding, "full") == 0 ? span - 1 : span / 2;
  }
  if (d->image[k] + d->low[k] + d->high[k] < span) {
    d->image[k] = span;
  }
  d->out[k] = (d->image[k] + d->low[k] + d->high[k] - span) / d->stride[k] + 1;
}

/* A number of channels, filters or images. */
static int64_t draw_count(gemel_sample *sample, int64_t most) {
  int64_t pick = gemel__sample_int(sample, 0, 15);
  return pick == 0 ? 0 : pick < 5 ? 1 : gemel__sample_int(sample, 1, most);
}

/* The largest operand. */
static int64_t elements_of(const drawn *d) {
  int64_t x = d->batch * d->channels * d->groups * gemel__sample_elements(d->axes, d->image);
  int64_t y = d->batch * d->filters * d->groups * gemel__sample_elements(d->axes, d->out);
  int64_t w = d->filters * d->groups * d->channels * gemel__sample_elements(d->axes, d->kernel);
  w *= d->unshared ? gemel__sample_elements(d->axes, d->out) : 1;
  return x > y ? (x > w ? x : w) : y > w ? y : w;
}

/* Makes counts smaller until all operands have at most as many elements as are wanted. Two groups
 * are left where there are several, or small instances would have but one. */
static void limit(gemel_sample *sample, drawn *d) {
  int64_t *counts[] = {&d->batch, &d->channels, &d->filters};
  d->groups = d->groups > 2 && elements_of(d) > sample->max_elements ? 2 : d->groups;
  for (int k = 0; elements_of(d) > sample->max_elements && k < 24; k++) {
    *counts[k % 3] = *counts[k % 3] > 2 ? *counts[k % 3] / 2 : *counts[k % 3] > 0;
  }
}

static void draw_counts(gemel_sample *sample, drawn *d, int large) {
  d->groups = gemel__sample_chance(sample, 2) ? 1 : gemel__sample_int(sample, 2, large ? 4 : 3);
  d->batch = draw_count(sample, 3);
  d->channels = large ? gemel__sample_int(sample, 1, 20) : draw_count(sample, 3);
  d->filters = large ? gemel__sample_int(sample, 1, 20) : draw_count(sample, 3);
  if (d->pointwise) {
    d->groups = d->batch = 1;
    d->channels = gemel__sample_int(sample, 12, 24);
    d->filters = gemel__sample_int(sample, 12, 24);
  }
}

/* So many kernel elements and places that kernels work in several blocks, the last of them smaller:
 * of matrix products' columns a block has at least 256 places and some 130000 numbers. */
static void draw_blocks(gemel_sample *sample, drawn *d) {
  int64_t rows = gemel__sample_int(sample, 520, 700);
  memset(d, 0, sizeof *d);
  d->axes = 2;
  d->batch = gemel__sample_int(sample, 1, 2);
  d->groups = 1 + gemel__sample_chance(sample, 4);
  d->filters = gemel__sample_int(sample, 1, 3);
  for (int k = 0; k < 2; k++) {
    d->kernel[k] = gemel__sample_int(sample, 3, 5);
    d->out[k] = gemel__sample_int(sample, 17, 24);
    d->stride[k] = k == 1 ? gemel__sample_step(sample, 2) : 1;
    d->dilation[k] = gemel__sample_step(sample, 2);
    d->low[k] = gemel__sample_int(sample, 0, 2);
    d->high[k] = gemel__sample_int(sample, 0, 2);
    d->image[k] = (d->out[k] - 1) * d->stride[k] + (d->kernel[k] - 1) * d->dilation[k] + 1 -
                  d->low[k] - d->high[k];
  }
  d->channels = rows / (d->kernel[0] * d->kernel[1]) + 1;
}

/* Where there is room, channels enough for the kernels of libraries, or larger images. */
static void draw(gemel_sample *sample, drawn *d) {
  static const char *const paddings[] = {"valid", "full", "half", NULL, NULL};
  int large = sample->max_elements > LARGE && !gemel__sample_chance(sample, 4);
  int64_t most = large && gemel__sample_chance(sample, 2) ? 12 : 5;
  if (sample->max_elements > GEMEL__LONG_ELEMENTS && !gemel__sample_chance(sample, 4)) {
    draw_blocks(sample, d);
    return;
  }
  d->axes = gemel__sample_spatial_axes(sample);
  most = d->axes == 3 && most > 5 ? 5 : most;
  d->unshared = gemel__sample_chance(sample, large ? 8 : 4);
  d->pointwise = large && gemel__sample_chance(sample, 6);
  d->padding = paddings[gemel__sample_int(sample, 0, d->pointwise ? 3 : 4)];
  for (int k = 0; k < d->axes; k++) {
    draw_axis(sample, d, k, most);
  }
  draw_counts(sample, d, large);
  if (sample->length > 0) {
    d->groups = d->batch = 1;
    d->channels = gemel__sample_wants(sample, 1, 3) ? sample->length : 2;
    d->filters = gemel__sample_wants(sample, 2, 3) ? sample->length : 2;
    return;
  }
  limit(sample, d);
}

/* ---- Operands ---- */

static void add_spatial(gemel_sample *sample, const drawn *d, int64_t channels,
                        const int64_t *sizes) {
  int64_t shape[2 + GEMEL__SPATIAL_AXES] = {d->batch, channels * d->groups};
  memcpy(shape + 2, sizes, (size_t)d->axes * sizeof *sizes);
  gemel__sample_input(sample, sample->dtype, 2 + d->axes, shape, GEMEL_RANGE_ANY);
}

static void add_weights(gemel_sample *sample, const drawn *d) {
  int64_t shape[2 + 2 * GEMEL__SPATIAL_AXES] = {d->filters * d->groups};
  int rank = 1;
  if (d->unshared) {
    memcpy(shape + rank, d->out, (size_t)d->axes * sizeof *shape);
    rank += d->axes;
  }
  shape[rank++] = d->channels;
  memcpy(shape + rank, d->kernel, (size_t)d->axes * sizeof *shape);
  gemel__sample_input(sample, sample->dtype, rank + d->axes, shape, GEMEL_RANGE_ANY);
}

static void add_attrs(gemel_sample *sample, const drawn *d) {
  size_t axes = (size_t)d->axes;
  gemel__sample_ints(sample, "stride", axes, d->stride);
  gemel__sample_ints(sample, "dilation", axes, d->dilation);
  if (d->padding == NULL) {
    gemel__sample_ints(sample, "low", axes, d->low);
    gemel__sample_ints(sample, "high", axes, d->high);
  } else {
    gemel__sample_attr(sample, gemel_attr_string("padding", d->padding));
  }
  gemel__sample_attr(sample, gemel_attr_int("groups", d->groups));
  /* of these two, derivatives may forget one where the other is asked for */
  int flip = d->groups > 1 ? !gemel__sample_chance(sample, 4) : gemel__sample_chance(sample, 2);
  gemel__sample_attr(sample, gemel_attr_int("flip", flip));
  gemel__sample_attr(sample, gemel_attr_int("unshared", d->unshared));
}

gemel_status gemel__sampler_corr(gemel_sample *sample) {
  drawn d;
  draw(sample, &d);
  add_spatial(sample, &d, d.channels, d.image);
  add_weights(sample, &d);
  add_attrs(sample, &d);
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_corr_grad_weights(gemel_sample *sample) {
  drawn d;
  draw(sample, &d);
  add_spatial(sample, &d, d.channels, d.image);
  add_spatial(sample, &d, d.filters, d.out);
  add_attrs(sample, &d);
  gemel__sample_image(sample, "kernel", d.axes, d.kernel);
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_corr_grad_inputs(gemel_sample *sample) {
  drawn d;
  draw(sample, &d);
  add_weights(sample, &d);
  add_spatial(sample, &d, d.filters, d.out);
  add_attrs(sample, &d);
  gemel__sample_image(sample, "image", d.axes, d.image);
  return gemel__sample_status(sample);
}
