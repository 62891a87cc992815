/* SPDX-License-Identifier: MIT
 *
 * Random instances of searchsorted. What is to be sorted mostly isn't: then a place is found all
 * the same.
 */
#include "sample/sampling.h"

gemel_status gemel__sampler_searchsorted(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK];
  gemel__sample_shape(sample, 1, shape);
  gemel__sample_input(sample, sample->dtype, 1, shape, GEMEL_RANGE_ANY);
  int rank = gemel__sample_rank(sample, 0, 4);
  gemel__sample_shape(sample, rank, shape);
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  if (gemel__sample_chance(sample, 2)) {
    const char *side = gemel__sample_chance(sample, 4) ? "left" : "right";
    gemel__sample_attr(sample, gemel_attr_string("side", side));
  }
  return gemel__sample_status(sample);
}
