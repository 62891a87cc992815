/* SPDX-License-Identifier: MIT
 *
 * Random instances of subtensor, set_subtensor and inc_subtensor: windows with steps of either
 * sign, empty ones among them; starts, and a size, that are known only at run time.
 */
#include "sample/sampling.h"

/* A window inside SHAPE: sizes, steps of either sign, starts that fit. */
static void sample_window(gemel_sample *sample, int rank, const int64_t *shape, int64_t *start,
                          int64_t *size, int64_t *step) {
  for (int k = 0; k < rank; k++) {
    int64_t n = shape[k], reach;
    step[k] = gemel__sample_int(sample, 1, 3) * (gemel__sample_chance(sample, 2) ? -1 : 1);
    if (n == 0 || gemel__sample_chance(sample, 12)) {
      size[k] = 0;
      start[k] = gemel__sample_int(sample, 0, n);
      continue;
    }
    size[k] = gemel__sample_int(sample, 1, (n - 1) / (step[k] < 0 ? -step[k] : step[k]) + 1);
    reach = (size[k] - 1) * (step[k] < 0 ? -step[k] : step[k]);
    start[k] = gemel__sample_int(sample, 0, n - 1 - reach);
    if (step[k] < 0) {
      start[k] += reach;
    }
  }
}

/* Adds the attribute start; some of the starts become run-time sizes that may only take the value
 * that fits, or any that fits. */
static void sample_starts(gemel_sample *sample, int rank, const int64_t *shape,
                          const int64_t *start, const int64_t *size, const int64_t *step) {
  gemel_dim dims[GEMEL_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    int64_t reach = size[k] > 0 ? (size[k] - 1) * step[k] : 0;
    int64_t low = reach < 0 ? -reach : 0, high = reach > 0 ? shape[k] - reach : shape[k];
    if (shape[k] > 0 && sample->n_inputs < 4 && gemel__sample_chance(sample, 4)) {
      dims[k] = gemel__sample_size(sample, low, high);
    } else {
      dims[k] = gemel_dim_constant(sample->context, start[k]);
    }
  }
  gemel__sample_dims(sample, "start", (size_t)rank, dims);
}

static void sample_steps(gemel_sample *sample, int rank, int64_t *step) {
  int all_ones = 1;
  for (int k = 0; k < rank; k++) {
    all_ones &= step[k] == 1;
  }
  if (!all_ones || gemel__sample_chance(sample, 2)) {
    gemel__sample_ints(sample, "step", (size_t)rank, step);
  }
}

gemel_status gemel__sampler_subtensor(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK], start[GEMEL_MAX_RANK], size[GEMEL_MAX_RANK];
  int64_t step[GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 0, 4);
  gemel__sample_shape(sample, rank, shape);
  sample_window(sample, rank, shape, start, size, step);
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  if (rank > 0 && gemel__sample_chance(sample, 6)) {
    /* a size known only at run time: axis 0 forwards from where it started */
    gemel_dim dims[GEMEL_MAX_RANK], starts[GEMEL_MAX_RANK];
    int64_t most = shape[0];
    for (int k = 0; k < rank; k++) {
      dims[k] = gemel_dim_constant(sample->context, size[k]);
      starts[k] = gemel_dim_constant(sample->context, k == 0 ? 0 : start[k]);
    }
    step[0] = 1;
    dims[0] = gemel__sample_size(sample, 0, most + 1);
    gemel__sample_dims(sample, "start", (size_t)rank, starts);
    gemel__sample_dims(sample, "size", (size_t)rank, dims);
  } else {
    sample_starts(sample, rank, shape, start, size, step);
    gemel__sample_sizes(sample, "size", (size_t)rank, size);
  }
  sample_steps(sample, rank, step);
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_set_subtensor(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK], start[GEMEL_MAX_RANK], size[GEMEL_MAX_RANK];
  int64_t step[GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 0, 4);
  gemel__sample_shape(sample, rank, shape);
  sample_window(sample, rank, shape, start, size, step);
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  gemel__sample_input(sample, sample->dtype, rank, size, GEMEL_RANGE_ANY);
  sample_starts(sample, rank, shape, start, size, step);
  sample_steps(sample, rank, step);
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_inc_subtensor(gemel_sample *sample) {
  return gemel__sampler_set_subtensor(sample);
}
