/* SPDX-License-Identifier: MIT
 *
 * Random instances of softmax and cross_entropy: the last axis mostly, targets that are classes or
 * weights.
 */
#include "sample/sampling.h"

static int sample_logits(gemel_sample *sample, int64_t *shape, int *axis) {
  int rank = gemel__sample_rank(sample, 1, 4);
  gemel__sample_shape(sample, rank, shape);
  *axis = (int)gemel__sample_int(sample, 0, rank - 1);
  if (gemel__sample_chance(sample, 2)) {
    *axis = rank - 1;
  }
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_MODERATE);
  return rank;
}

static void sample_axis(gemel_sample *sample, int axis, int rank) {
  if (axis != rank - 1 || gemel__sample_chance(sample, 2)) {
    gemel__sample_attr(
        sample, gemel_attr_int("axis", gemel__sample_chance(sample, 3) ? axis - rank : axis));
  }
}

gemel_status gemel__sampler_softmax(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK];
  int axis, rank;
  if (gemel_dtype_kind(sample->dtype) != GEMEL_KIND_FLOAT) {
    return GEMEL_DECLINED;
  }
  rank = sample_logits(sample, shape, &axis);
  sample_axis(sample, axis, rank);
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_cross_entropy(gemel_sample *sample) {
  int64_t shape[GEMEL_MAX_RANK];
  int axis, rank;
  if (gemel_dtype_kind(sample->dtype) != GEMEL_KIND_FLOAT) {
    return GEMEL_DECLINED;
  }
  rank = sample_logits(sample, shape, &axis);
  if (gemel__sample_chance(sample, 2)) {
    static const gemel_dtype integers[] = {GEMEL_I64, GEMEL_I32, GEMEL_U8, GEMEL_U64};
    int64_t classes = shape[axis], rest[GEMEL_MAX_RANK];
    if (classes == 0) {
      classes = shape[axis] = 1;
      sample->inputs[0] = gemel_type_of_shape(sample->context, sample->dtype, rank, shape);
    }
    for (int k = 0, j = 0; k < rank; k++) {
      if (k != axis) {
        rest[j++] = shape[k];
      }
    }
    gemel__sample_input(sample, integers[gemel__sample_int(sample, 0, 3)], rank - 1, rest,
                        GEMEL_RANGE_INDEX);
    sample->low[1] = 0;
    sample->high[1] = classes;
  } else {
    gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
  }
  sample_axis(sample, axis, rank);
  return gemel__sample_status(sample);
}
