/* SPDX-License-Identifier: MIT
 *
 * Random instances of pooling. An instance has a geometry (drawn_pool), the sizes of image and
 * result and the attributes, which is drawn alike for all operations; each then adds the operands
 * that it takes. Among the geometries are padding on one side and on both, strides that don't
 * divide the image, windows as large as the padded image, images of one element, and batches
 * without images or channels.
 */
#include <string.h>
#include "ops/pool.h"
#include "sample/sampling.h"

typedef struct drawn_pool {
  int axes;
  int64_t batch, channels;
  int64_t image[GEMEL__SPATIAL_AXES], out[GEMEL__SPATIAL_AXES];
  int64_t lists[GEMEL__POOL_HIGH + 1][GEMEL__SPATIAL_AXES]; /* the attributes */
} drawn_pool;

static int64_t draw_padding(gemel_sample *sample, int64_t reach) {
  return gemel__sample_chance(sample, 2) ? 0 : gemel__sample_int(sample, 0, reach < 3 ? reach : 3);
}

static void draw_axis(gemel_sample *sample, drawn_pool *d, int k, int64_t most) {
  int64_t size = gemel__sample_int(sample, 1, most < 4 ? most : 4),
          dilation = gemel__sample_step(sample, 3);
  int64_t stride = gemel__sample_step(sample, 3), reach = (size - 1) * dilation, room;
  int64_t low = draw_padding(sample, reach), high = draw_padding(sample, reach);
  int64_t image = gemel__sample_int(sample, 1, most);
  image = gemel__sample_wants(sample, 0, 3) ? sample->length : image;
  if (low + high > 0 && image < dilation) {
    image = dilation;
  }
  if (image + low + high <= reach) {
    image = reach + 1 - low - high > dilation ? reach + 1 - low - high : dilation;
  }
  room = image + low + high - reach - 1;
  d->image[k] = image;
  d->out[k] = room / stride + 1;
  d->lists[GEMEL__POOL_SIZE][k] = size;
  d->lists[GEMEL__POOL_STRIDE][k] = stride;
  d->lists[GEMEL__POOL_DILATION][k] = dilation;
  d->lists[GEMEL__POOL_LOW][k] = low;
  d->lists[GEMEL__POOL_HIGH][k] = high;
}

static int64_t elements_of(const drawn_pool *d) {
  int64_t image = d->batch * d->channels, out = image;
  for (int k = 0; k < d->axes; k++) {
    image *= d->image[k];
    out *= d->out[k];
  }
  return image > out ? image : out;
}

static int64_t draw_count(gemel_sample *sample, int64_t most) {
  return gemel__sample_chance(sample, 16) ? 0 : gemel__sample_int(sample, 1, most);
}

/* Draws the geometry; the images are larger if the sample allows many elements. */
static void draw(gemel_sample *sample, drawn_pool *d) {
  int large = sample->max_elements > 1024 && gemel__sample_chance(sample, 2);
  d->axes = gemel__sample_spatial_axes(sample);
  for (int k = 0; k < d->axes; k++) {
    draw_axis(sample, d, k, !large ? 6 : d->axes == 3 ? 9 : 24);
  }
  d->batch = draw_count(sample, 3);
  d->channels = draw_count(sample, large ? 8 : 3);
  if (sample->length > 0) {
    d->channels = gemel__sample_wants(sample, 1, 3) ? sample->length : 1;
    d->batch = gemel__sample_wants(sample, 2, 3) ? sample->length : 1;
    return;
  }
  while (elements_of(d) > sample->max_elements && d->batch * d->channels > 1) {
    d->batch -= d->batch > 1;
    d->channels -= d->channels > 1;
  }
}

/* An operand of a dtype that the operation takes. */
static void add_operand(gemel_sample *sample, const drawn_pool *d, const int64_t *sizes) {
  int64_t shape[2 + GEMEL__SPATIAL_AXES] = {d->batch, d->channels};
  memcpy(shape + 2, sizes, (size_t)d->axes * sizeof *sizes);
  gemel__sample_input(sample, sample->dtype, 2 + d->axes, shape, GEMEL_RANGE_ANY);
}

static int is_default(const drawn_pool *d, int which) {
  int same = which != GEMEL__POOL_SIZE;
  for (int k = 0; k < d->axes; k++) {
    same &= d->lists[which][k] == (which <= GEMEL__POOL_DILATION);
  }
  return same;
}

/* A list that has its default value is left out half of the time. */
static void add_attrs(gemel_sample *sample, const drawn_pool *d) {
  static const char *const names[] = {"size", "stride", "dilation", "low", "high"};
  for (int k = 0; k <= GEMEL__POOL_HIGH; k++) {
    if (!is_default(d, k) || gemel__sample_chance(sample, 2)) {
      gemel__sample_ints(sample, names[k], (size_t)d->axes, d->lists[k]);
    }
  }
}

static gemel_status sample_kind(gemel_sample *sample, gemel__pool_kind kind) {
  drawn_pool d;
  if (kind != GEMEL__POOL_MAX && gemel_dtype_kind(sample->dtype) != GEMEL_KIND_FLOAT) {
    return GEMEL_DECLINED;
  }
  draw(sample, &d);
  add_operand(sample, &d, kind == GEMEL__POOL_AVG_GRAD ? d.out : d.image);
  if (kind == GEMEL__POOL_MAX_GRAD || kind == GEMEL__POOL_MAX_PICK) {
    add_operand(sample, &d, kind == GEMEL__POOL_MAX_GRAD ? d.out : d.image);
  }
  add_attrs(sample, &d);
  if (kind >= GEMEL__POOL_AVG) {
    gemel__sample_attr(sample, gemel_attr_int("count_padding", gemel__sample_chance(sample, 2)));
  }
  if (kind == GEMEL__POOL_AVG_GRAD) {
    gemel__sample_image(sample, "image", d.axes, d.image);
  }
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_max_pool(gemel_sample *sample) {
  return sample_kind(sample, GEMEL__POOL_MAX);
}
gemel_status gemel__sampler_max_pool_grad(gemel_sample *sample) {
  return sample_kind(sample, GEMEL__POOL_MAX_GRAD);
}
gemel_status gemel__sampler_max_pool_pick(gemel_sample *sample) {
  return sample_kind(sample, GEMEL__POOL_MAX_PICK);
}
gemel_status gemel__sampler_avg_pool(gemel_sample *sample) {
  return sample_kind(sample, GEMEL__POOL_AVG);
}
gemel_status gemel__sampler_avg_pool_grad(gemel_sample *sample) {
  return sample_kind(sample, GEMEL__POOL_AVG_GRAD);
}
