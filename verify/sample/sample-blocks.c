/* SPDX-License-Identifier: MIT
 *
 * Random instances of pad, join and split: padding that cuts off, none, many and empty parts.
 */
#include "sample/sampling.h"

static int64_t spread_size(int64_t n, int64_t interior) {
  return n > 0 ? n + (n - 1) * interior : 0;
}

gemel_status gemel__sampler_pad(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK], low[GEMEL_MAX_RANK], high[GEMEL_MAX_RANK];
  int64_t interior[GEMEL_MAX_RANK], left = sample->max_elements;
  int rank = gemel__sample_rank(sample, 0, 4);
  int with_interior = gemel__sample_chance(sample, 2);
  gemel__sample_shape(sample, rank, shape);
  for (int k = 0; k < rank; k++) {
    int64_t out;
    interior[k] = with_interior ? gemel__sample_int(sample, 0, 2) : 0;
    low[k] = gemel__sample_int(sample, -2, 3);
    high[k] = gemel__sample_int(sample, -2, 3);
    out = spread_size(shape[k], interior[k]) + low[k] + high[k];
    if (out < 0 || out > left) {
      low[k] = high[k] = interior[k] = 0;
      out = shape[k];
    }
    left /= out > 0 ? out : 1;
  }
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  gemel__sample_input(sample, sample->dtype, 0, NULL, GEMEL_RANGE_ANY);
  gemel__sample_ints(sample, "low", (size_t)rank, low);
  gemel__sample_ints(sample, "high", (size_t)rank, high);
  if (with_interior) {
    gemel__sample_ints(sample, "interior", (size_t)rank, interior);
  }
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_join(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 1, 4);
  int axis = (int)gemel__sample_int(sample, 0, rank - 1);
  int count = (int)gemel__sample_int(sample, 1, 4);
  int64_t limit = sample->max_elements;
  sample->max_elements = limit >= 4 ? limit / 4 : limit;
  gemel__sample_shape(sample, rank, shape);
  sample->max_elements = limit;
  for (int k = 0; k < count; k++) {
    shape[axis] = shape[axis] > 0 ? gemel__sample_int(sample, 0, shape[axis]) : 0;
    gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  }
  if (gemel__sample_chance(sample, 3)) {
    axis -= rank;
  }
  gemel__sample_attr(sample, gemel_attr_int("axis", axis));
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_split(gemel_sample *sample) {
  enum { FEW = 4, MANY = 12 };
  int64_t shape[GEMEL_MAX_RANK], sizes[MANY], left;
  int rank = gemel__sample_rank(sample, 1, 4);
  int axis = (int)gemel__sample_int(sample, 0, rank - 1);
  int count = gemel__sample_chance(sample, 4) ? (int)gemel__sample_int(sample, FEW + 1, MANY)
                                              : (int)gemel__sample_int(sample, 1, FEW);
  gemel__sample_shape(sample, rank, shape);
  left = shape[axis];
  for (int k = 0; k < count - 1; k++) {
    sizes[k] = gemel__sample_int(sample, 0, left);
    left -= sizes[k];
  }
  sizes[count - 1] = left;
  if (gemel__sample_chance(sample, 3)) {
    axis -= rank;
  }
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  gemel__sample_sizes(sample, "sizes", (size_t)count, sizes);
  gemel__sample_attr(sample, gemel_attr_int("axis", axis));
  return gemel__sample_status(sample);
}
