/* SPDX-License-Identifier: MIT
 *
 * Random instances of size and arange: numbers that are constant, or known only at run time.
 */
#include "sample/sampling.h"

gemel_status gemel__sampler_size(gemel_sample *sample) {
  if (sample->dtype != GEMEL_I64) {
    return GEMEL_DECLINED;
  }
  if (gemel__sample_chance(sample, 2)) {
    gemel_dim dim = gemel__sample_size(sample, -3, 9);
    gemel_dim two = gemel_dim_constant(sample->context, 2);
    gemel__sample_attr(sample, gemel_attr_dim("value", gemel_dim_mul(sample->context, dim, two)));
  } else {
    gemel_dim dim = gemel_dim_constant(sample->context, gemel__sample_int(sample, -3, 9));
    gemel__sample_attr(sample, gemel_attr_dim("value", dim));
  }
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_arange(gemel_sample *sample) {
  int64_t top = sample->max_elements < 12 ? sample->max_elements : 12;
  if (sample->dtype == GEMEL_BOOL) {
    return GEMEL_DECLINED;
  }
  gemel_dim n = gemel__sample_chance(sample, 3)
                    ? gemel__sample_size(sample, 0, top + 1)
                    : gemel_dim_constant(sample->context, gemel__sample_int(sample, 0, top));
  gemel__sample_attr(sample, gemel_attr_dim("n", n));
  gemel__sample_attr(sample, gemel_attr_dtype("dtype", sample->dtype));
  return gemel__sample_status(sample);
}
