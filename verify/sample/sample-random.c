/* SPDX-License-Identifier: MIT
 *
 * Random instances of random_bits, random_uniform and random_normal: any key, and shapes of which a
 * size may be known only at run time.
 */
#include "core/dtype.h"
#include "sample/sampling.h"

static gemel_status sample_numbers(gemel_sample *sample) {
  static const int64_t two = 2;
  int64_t shape[GEMEL_MAX_RANK];
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank = (int)gemel__sample_int(sample, 0, 4);
  gemel__sample_shape(sample, rank, shape);
  gemel__sample_input(sample, GEMEL_U64, 1, &two, GEMEL_RANGE_ANY);
  for (int k = 0; k < rank; k++) {
    dims[k] = k == 0 && gemel__sample_chance(sample, 3)
                  ? gemel__sample_size(sample, 0, shape[k] + 1)
                  : gemel_dim_constant(sample->context, shape[k]);
  }
  gemel__sample_dims(sample, "shape", (size_t)rank, dims);
  gemel__sample_attr(sample, gemel_attr_dtype("dtype", sample->dtype));
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_random_bits(gemel_sample *sample) {
  return gemel_dtype_kind(sample->dtype) == GEMEL_KIND_UNSIGNED ? sample_numbers(sample)
                                                                : GEMEL_DECLINED;
}

gemel_status gemel__sampler_random_uniform(gemel_sample *sample) {
  return gemel_dtype_kind(sample->dtype) == GEMEL_KIND_FLOAT ? sample_numbers(sample)
                                                             : GEMEL_DECLINED;
}

/* A reference takes a while for each: there are no more than make two pieces, but where nothing is
 * compared but bits of several threads. */
gemel_status gemel__sampler_random_normal(gemel_sample *sample) {
  enum { FEW = 600, WITH_REFERENCE = 1 << 14 };
  int64_t limit = sample->max_elements;
  gemel_status status;
  sample->max_elements = limit > FEW && limit < WITH_REFERENCE ? FEW : limit;
  status = gemel__sampler_random_uniform(sample);
  sample->max_elements = limit;
  return status;
}
