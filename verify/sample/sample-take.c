/* SPDX-License-Identifier: MIT
 *
 * Random instances of take and put: indices of any integer dtype, of rank 0 to 2, none at all, and
 * negative ones.
 */
#include "ops/take.h"
#include "sample/sampling.h"

static const char *const modes[] = {
#define NAME(name) #name,
    GEMEL__PUT_TABLE(NAME)
#undef NAME
};

/* Of indices into N elements, of at most LIMIT of them: their dtype and shape; their rank. */
static int sample_indices(gemel_sample *sample, int most_rank, int64_t n, int64_t limit,
                          gemel_dtype *dtype, int64_t *shape) {
  static const gemel_dtype wide[] = {GEMEL_I64, GEMEL_I32, GEMEL_U64, GEMEL_U32};
  static const gemel_dtype narrow[] = {GEMEL_I64, GEMEL_I32, GEMEL_U64, GEMEL_U32,
                                       GEMEL_I8,  GEMEL_I16, GEMEL_U8,  GEMEL_U16};
  gemel_sample small = *sample;
  int rank = (int)gemel__sample_int(sample, 0, most_rank < 2 ? most_rank : 2);
  *dtype =
      n < 128 ? narrow[gemel__sample_int(sample, 0, 7)] : wide[gemel__sample_int(sample, 0, 3)];
  small.max_elements = limit;
  small.length = 0;
  gemel__sample_shape(&small, rank, shape);
  if (n == 0 && rank > 0) {
    shape[gemel__sample_int(sample, 0, rank - 1)] = 0;
  }
  return rank;
}

/* x, and indices into an axis of it, along which there is at least one element unless there are no
 * indices. *TAKEN: the shape at the indices; its rank. */
static int sample_place(gemel_sample *sample, int *axis, int64_t *taken) {
  int64_t shape[GEMEL_MAX_RANK], indices[GEMEL_MAX_RANK], n;
  int rank = gemel__sample_rank(sample, 1, 4), index_rank, count = 0;
  gemel_dtype dtype;
  gemel__sample_shape(sample, rank, shape);
  *axis = (int)gemel__sample_int(sample, 0, rank - 1);
  n = shape[*axis];
  shape[*axis] = 1;
  int64_t rest = gemel__sample_elements(rank, shape);
  shape[*axis] = n;
  index_rank = sample_indices(sample, GEMEL_MAX_RANK - rank + 1, n,
                              rest > 0 ? sample->max_elements / rest : 64, &dtype, indices);
  if (gemel__sample_elements(index_rank, indices) > 0 && n == 0) {
    n = shape[*axis] = 1;
  }
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  gemel__sample_input(sample, dtype, index_rank, indices, GEMEL_RANGE_INDEX);
  sample->low[1] = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED ? -n : 0;
  sample->high[1] = n > 0 ? n : 1;
  for (int k = 0; k < rank; k++) {
    for (int j = 0; k == *axis && j < index_rank; j++) {
      taken[count++] = indices[j];
    }
    if (k != *axis) {
      taken[count++] = shape[k];
    }
  }
  *axis -= gemel__sample_chance(sample, 3) ? rank : 0;
  return count;
}

gemel_status gemel__sampler_take(gemel_sample *sample) {
  int64_t taken[GEMEL_MAX_RANK];
  int axis;
  sample_place(sample, &axis, taken);
  gemel__sample_axis(sample, axis, 0);
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_put(gemel_sample *sample) {
  int64_t taken[GEMEL_MAX_RANK];
  int axis, rank = sample_place(sample, &axis, taken);
  gemel__sample_input(sample, sample->dtype, rank, taken, GEMEL_RANGE_ANY);
  gemel__sample_axis(sample, axis, 0);
  gemel__sample_attr(
      sample, gemel_attr_string("mode", modes[gemel__sample_int(sample, 0, GEMEL__PUT_MODES - 1)]));
  return gemel__sample_status(sample);
}
