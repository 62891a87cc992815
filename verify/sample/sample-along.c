/* SPDX-License-Identifier: MIT
 *
 * Random instances of cumsum and argsort: any axis, counted from either end, and flags that are
 * often left out.
 */
#include "sample/sampling.h"

/* x, and the attribute axis, which may be left out if it is FALLBACK. */
static void sample_along(gemel_sample *sample, int64_t fallback) {
  int64_t shape[GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 1, 4);
  gemel__sample_shape(sample, rank, shape);
  int64_t axis = gemel__sample_int(sample, -rank, rank - 1);
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  if (fallback >= -rank && gemel__sample_chance(sample, 4)) {
    axis = fallback;
  }
  gemel__sample_axis(sample, axis, fallback);
}

static void sample_flag(gemel_sample *sample, const char *name) {
  if (gemel__sample_chance(sample, 2)) {
    gemel__sample_attr(sample, gemel_attr_int(name, gemel__sample_chance(sample, 4) ? 0 : 1));
  }
}

gemel_status gemel__sampler_cumsum(gemel_sample *sample) {
  sample_along(sample, 0);
  sample_flag(sample, "exclusive");
  sample_flag(sample, "reverse");
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_argsort(gemel_sample *sample) {
  sample_along(sample, INT64_MIN);
  sample_flag(sample, "descending");
  return gemel__sample_status(sample);
}
