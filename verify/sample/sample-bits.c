/* SPDX-License-Identifier: MIT
 *
 * Random instances of bitcast: to any dtype of as many bits, but to bool from bool alone.
 */
#include "sample/sampling.h"

gemel_status gemel__sampler_bitcast(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK];
  gemel_dtype to[GEMEL_DTYPE_COUNT];
  int rank = gemel__sample_rank(sample, 0, 4), count = 0;
  for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
    if (gemel_dtype_size((gemel_dtype)dtype) == gemel_dtype_size(sample->dtype) &&
        (dtype != GEMEL_BOOL || sample->dtype == GEMEL_BOOL)) {
      to[count++] = (gemel_dtype)dtype;
    }
  }
  gemel__sample_shape(sample, rank, shape);
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  gemel__sample_attr(sample,
                     gemel_attr_dtype("dtype", to[gemel__sample_int(sample, 0, count - 1)]));
  return gemel__sample_status(sample);
}
