/* SPDX-License-Identifier: MIT
 *
 * Random instances of dimshuffle, reshape, broadcast_to, fill and reverse.
 */
#include "sample/sampling.h"

gemel_status gemel__sampler_dimshuffle(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK], permutation[GEMEL_MAX_RANK], order[2 * GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 0, 4);
  size_t count = 0;
  gemel__sample_shape(sample, rank, shape);
  gemel__sample_permutation(sample, rank, permutation);
  for (int k = 0; k < rank; k++) {
    if (gemel__sample_chance(sample, 4) && count + (size_t)(rank - k) < GEMEL_MAX_RANK) {
      order[count++] = -1;
    }
    if (shape[permutation[k]] != 1 || gemel__sample_chance(sample, 2)) {
      order[count++] = permutation[k];
    }
  }
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  gemel__sample_ints(sample, "order", count, order);
  return gemel__sample_status(sample);
}

/* Cuts a random shape into prime factors and puts them together anew. */
gemel_status gemel__sampler_reshape(gemel_sample *sample) {
  int64_t from[GEMEL_MAX_RANK], to[GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 0, 4), to_rank = gemel__sample_rank(sample, 1, 4);
  gemel__sample_shape(sample, rank, from);
  int64_t count = gemel__sample_elements(rank, from);
  for (int k = 0; k < to_rank; k++) {
    to[k] = 1;
  }
  for (int64_t p = 2; p <= count; p++) {
    for (; count % p == 0 && count > 1; count /= p) {
      to[gemel__sample_int(sample, 0, to_rank - 1)] *= p;
    }
  }
  if (count == 0) {
    gemel__sample_shape(sample, to_rank, to);
    to[gemel__sample_int(sample, 0, to_rank - 1)] = 0;
  }
  if (count == 1 && to_rank == 1 && to[0] == 1 && gemel__sample_chance(sample, 2)) {
    to_rank = 0;
  }
  gemel__sample_input(sample, sample->dtype, rank, from, GEMEL_RANGE_ANY);
  gemel__sample_sizes(sample, "shape", (size_t)to_rank, to);
  return gemel__sample_status(sample);
}

/* Fills FROM with a shape that broadcasts to SHAPE; returns its rank. */
static int sample_broadcastable(gemel_sample *sample, int rank, const int64_t *shape,
                                int64_t *from) {
  int from_rank = (int)gemel__sample_int(sample, 0, rank);
  for (int k = 0; k < from_rank; k++) {
    from[k] = gemel__sample_chance(sample, 3) ? 1 : shape[rank - from_rank + k];
  }
  return from_rank;
}

gemel_status gemel__sampler_broadcast_to(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK], from[GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 0, 4), from_rank;
  gemel__sample_shape(sample, rank, shape);
  from_rank = sample_broadcastable(sample, rank, shape, from);
  gemel__sample_input(sample, sample->dtype, from_rank, from, GEMEL_RANGE_ANY);
  gemel__sample_sizes(sample, "shape", (size_t)rank, shape);
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_fill(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK], from[GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 0, 4), from_rank;
  gemel__sample_shape(sample, rank, shape);
  from_rank = sample_broadcastable(sample, rank, shape, from);
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  gemel__sample_input(sample, sample->dtype, from_rank, from, GEMEL_RANGE_ANY);
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_reverse(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK], axes[GEMEL_MAX_RANK];
  int rank = gemel__sample_rank(sample, 0, 4);
  size_t count = 0;
  gemel__sample_shape(sample, rank, shape);
  for (int k = 0; k < rank; k++) {
    if (gemel__sample_chance(sample, 2)) {
      axes[count++] = gemel__sample_chance(sample, 4) ? k - rank : k;
    }
  }
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  gemel__sample_ints(sample, "axes", count, axes);
  return gemel__sample_status(sample);
}
