/* SPDX-License-Identifier: MIT
 *
 * Random instances of solve, triangular_solve, cholesky, det and log_abs_det: some matrices, or
 * none, mostly with few rows.
 */
#include "sample/sampling.h"

/* Matrices a, and with RIGHT a right side b, of few rows: references take time for the third
 * power, and bounds grow with the number of rows. Some have enough of them for LAPACK. */
static gemel_status sample_matrices(gemel_sample *sample, int right, gemel_range range) {
  enum { USUAL = 5, MANY = 8, MOST = 12, MOST_BATCH = 8 };
  int64_t shape[GEMEL_MAX_RANK], batch = 1;
  int rank = sample->rank > 2 ? sample->rank : 2 + (int)gemel__sample_int(sample, 0, 2);
  int big = sample->max_elements > MOST * MOST && !gemel__sample_chance(sample, 3);
  int64_t n = gemel__sample_int(sample, big ? MANY : 1, big ? MOST : USUAL);
  if (sample->dtype != GEMEL_F32 && sample->dtype != GEMEL_F64) {
    return GEMEL_DECLINED;
  }
  n = gemel__sample_chance(sample, 16) ? 0 : n;
  while (n * n > sample->max_elements) {
    n--;
  }
  for (int k = 0; k < rank - 2; k++) {
    int64_t size = gemel__sample_chance(sample, 16) ? 0 : gemel__sample_int(sample, 1, 3);
    shape[k] =
        batch * size * n * n <= sample->max_elements && batch * size <= MOST_BATCH ? size : 1;
    batch *= shape[k];
  }
  shape[rank - 2] = shape[rank - 1] = n;
  gemel__sample_input(sample, sample->dtype, rank, shape, range);
  if (right) {
    int64_t most = n > 0 && batch > 0 ? sample->max_elements / (n * batch) : 3;
    shape[rank - 1] =
        gemel__sample_chance(sample, 16) ? 0 : gemel__sample_int(sample, 1, most < 4 ? most : 4);
    gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  }
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_solve(gemel_sample *sample) {
  return sample_matrices(sample, 1, GEMEL_RANGE_ANY);
}

gemel_status gemel__sampler_triangular_solve(gemel_sample *sample) {
  static const char *const names[] = {"lower", "trans", "unit_diagonal"};
  gemel_status status = sample_matrices(sample, 1, GEMEL_RANGE_ANY);
  for (int k = 0; k < 3; k++) {
    if (gemel__sample_chance(sample, 2)) {
      int yes = gemel__sample_chance(sample, 4) ? 2 : 1; /* anything but 0 is */
      gemel__sample_attr(sample,
                         gemel_attr_int(names[k], gemel__sample_chance(sample, 4) ? 0 : yes));
    }
  }
  return status;
}

gemel_status gemel__sampler_cholesky(gemel_sample *sample) {
  return sample_matrices(sample, 0, GEMEL_RANGE_DEFINITE);
}

gemel_status gemel__sampler_det(gemel_sample *sample) {
  return sample_matrices(sample, 0, GEMEL_RANGE_ANY);
}

gemel_status gemel__sampler_log_abs_det(gemel_sample *sample) {
  return gemel__sampler_det(sample);
}
