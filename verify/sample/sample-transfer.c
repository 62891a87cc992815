/* SPDX-License-Identifier: MIT
 *
 * Random instances of transfer.
 */
#include "sample/sampling.h"

/* From the host to the host: there are no others that every program has. */
gemel_status gemel__sampler_transfer(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 0, 4);
  gemel__sample_shape(sample, rank, shape);
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  gemel__sample_attr(sample, gemel_attr_int("space", GEMEL_SPACE_HOST));
  return gemel__sample_status(sample);
}
