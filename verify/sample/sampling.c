/* SPDX-License-Identifier: MIT
 *
 * Random numbers, shapes, types and attributes for samplers. All of it comes from the random bits
 * of the sample, so the same bits give the same instance.
 */
#include "sample/sampling.h"

#include "core/attrs.h"
#include "core/context.h"

int64_t gemel__sample_int(gemel_sample *sample, int64_t low, int64_t high) {
  uint64_t span = (uint64_t)high - (uint64_t)low + 1;
  return low + (int64_t)(sample->random(sample->user) % span);
}

int64_t gemel__sample_below(gemel_sample *sample, uint64_t bound) {
  return (int64_t)(sample->random(sample->user) % bound);
}

int gemel__sample_rank(gemel_sample *sample, int low, int high) {
  return sample->rank > 0 ? sample->rank : (int)gemel__sample_int(sample, low, high);
}

int gemel__sample_chance(gemel_sample *sample, int n) {
  return gemel__sample_int(sample, 0, n - 1) == 0;
}

int gemel__sample_wants(const gemel_sample *sample, int axis, int axes) {
  return sample->length > 0 && (sample->axis < 0 || sample->axis % axes == axis);
}

int64_t gemel__sample_step(gemel_sample *sample, int64_t most) {
  return gemel__sample_chance(sample, 2) ? 1 : gemel__sample_int(sample, 1, most);
}

int gemel__sample_spatial_axes(gemel_sample *sample) {
  enum { MOST = 3, NOT_SPATIAL = 2 };
  int axes = sample->rank - NOT_SPATIAL;
  return sample->length > 0          ? 1
         : axes >= 1 && axes <= MOST ? axes
                                     : (int)gemel__sample_int(sample, 1, MOST);
}

/* ---- Shapes ---- */

enum { LARGE = 1024, USUAL_RANK = 4 };

int64_t gemel__sample_elements(int rank, const int64_t *shape) {
  int64_t n = 1;
  for (int k = 0; k < rank; k++) {
    n *= shape[k];
  }
  return n;
}

/* The size that is wanted, where it is; the other axes so short that there is room. */
static void sample_length(gemel_sample *sample, int64_t limit, int rank, int64_t *shape) {
  int wanted = sample->axis < 0 ? 0 : sample->axis % rank;
  int64_t left = limit;
  for (int k = 0; k < rank; k++) {
    int axis = (wanted + rank - k) % rank; /* the wanted one first, then those before it */
    int64_t size = k == 0 || sample->axis < 0 ? sample->length : shape[axis];
    shape[axis] = size <= left ? size : 1;
    left /= shape[axis] > 0 ? shape[axis] : 1;
  }
}

void gemel__sample_grow(gemel_sample *sample, int64_t limit, int rank, int64_t *shape) {
  if (sample->length > 0 && sample->length <= limit && rank > 0) {
    sample_length(sample, limit, rank, shape);
    return;
  }
  int64_t elements = gemel__sample_elements(rank, shape), room;
  if (limit < LARGE || rank == 0 || elements == 0 || gemel__sample_chance(sample, 4)) {
    return;
  }
  int axis = (int)gemel__sample_int(sample, 0, rank - 1);
  room = shape[axis] * (limit / elements);
  shape[axis] = gemel__sample_int(sample, room - room / 4, room);
}

/* Sizes 2 and 3 in random places, as long as there is room, and now and then a 0. */
static void sample_high_rank(gemel_sample *sample, int rank, int64_t *shape) {
  int64_t order[GEMEL_MAX_RANK], left = sample->max_elements;
  gemel__sample_permutation(sample, rank, order);
  for (int k = 0; k < rank; k++) {
    int64_t size = gemel__sample_int(sample, 2, 3);
    size = size <= left ? size : 1;
    shape[order[k]] = size;
    left /= size;
  }
  if (gemel__sample_chance(sample, 16)) {
    shape[order[0]] = 0;
  }
}

void gemel__sample_shape(gemel_sample *sample, int rank, int64_t *shape) {
  int64_t left = sample->max_elements;
  if (rank > USUAL_RANK) {
    sample_high_rank(sample, rank, shape);
    return;
  }
  for (int k = 0; k < rank; k++) {
    int64_t size = gemel__sample_int(sample, 2, 6);
    int64_t pick = gemel__sample_int(sample, 0, 19);
    if (pick == 0) {
      size = 0;
    } else if (pick < 5) {
      size = 1;
    }
    if (size > left) {
      size = 1;
    }
    shape[k] = size;
    left /= size > 0 ? size : 1;
  }
  gemel__sample_grow(sample, sample->max_elements, rank, shape);
}

int gemel__sample_wide_shape(gemel_sample *sample, int least, int64_t limit, int ones, int64_t far,
                             int64_t *shape) {
  int rank = gemel__sample_rank(sample, least, USUAL_RANK);
  int64_t room = limit > 1 ? limit : 1;
  if (rank > USUAL_RANK) {
    gemel__sample_shape(sample, rank, shape);
    return rank;
  }
  for (int axis = 0; axis < rank; axis++) {
    int64_t die = gemel__sample_below(sample, 16);
    int64_t size = die == 0      ? 0
                   : die <= ones ? 1
                                 : 2 + gemel__sample_below(sample, die < 13 ? 4 : (uint64_t)far);
    shape[axis] = size > room ? room : size;
    room /= shape[axis] > 0 ? shape[axis] : 1;
  }
  gemel__sample_grow(sample, limit, rank, shape);
  return rank;
}

void gemel__sample_permutation(gemel_sample *sample, int n, int64_t *order) {
  for (int k = 0; k < n; k++) {
    int64_t j = gemel__sample_int(sample, 0, k);
    order[k] = order[j];
    order[j] = k;
  }
}

/* ---- Operands and attributes ---- */

void gemel__sample_input(gemel_sample *sample, gemel_dtype dtype, int rank, const int64_t *shape,
                         gemel_range range) {
  size_t k = sample->n_inputs++;
  sample->inputs[k] = gemel_type_of_shape(sample->context, dtype, rank, shape);
  sample->ranges[k] = range;
}

gemel_dim gemel__sample_size(gemel_sample *sample, int64_t low, int64_t high) {
  size_t k = sample->n_inputs;
  gemel__sample_input(sample, GEMEL_I64, 0, NULL, GEMEL_RANGE_INDEX);
  sample->low[k] = low;
  sample->high[k] = high;
  return gemel__dim_input(sample->context, (uint32_t)k);
}

void gemel__sample_attr(gemel_sample *sample, gemel_attr attr) {
  sample->attrs[sample->n_attrs++] = attr;
}

/* Room for BYTES bytes in the storage, which is ample for the lists of any one operation. */
static void *room(gemel_sample *sample, size_t bytes) {
  void *at = &sample->storage.ints[sample->storage_used];
  sample->storage_used += (bytes + 7) / 8;
  return at;
}

void gemel__sample_ints(gemel_sample *sample, const char *name, size_t count,
                        const int64_t *values) {
  int64_t *copy = room(sample, count * sizeof *copy);
  for (size_t k = 0; k < count; k++) {
    copy[k] = values[k];
  }
  gemel__sample_attr(sample, gemel_attr_ints(name, count, copy));
}

void gemel__sample_dims(gemel_sample *sample, const char *name, size_t count,
                        const gemel_dim *values) {
  gemel_dim *copy = room(sample, count * sizeof *copy);
  for (size_t k = 0; k < count; k++) {
    copy[k] = values[k];
  }
  gemel__sample_attr(sample, gemel_attr_dims(name, count, copy));
}

void gemel__sample_sizes(gemel_sample *sample, const char *name, size_t count,
                         const int64_t *values) {
  gemel_dim dims[GEMEL_MAX_RANK];
  for (size_t k = 0; k < count; k++) {
    dims[k] = gemel_dim_constant(sample->context, values[k]);
  }
  gemel__sample_dims(sample, name, count, dims);
}

void gemel__sample_image(gemel_sample *sample, const char *name, int axes, const int64_t *sizes) {
  gemel_dim dims[GEMEL_MAX_RANK];
  for (int k = 0; k < axes; k++) {
    dims[k] = gemel__sample_chance(sample, 8) ? gemel__sample_size(sample, sizes[k], sizes[k] + 1)
                                              : gemel_dim_constant(sample->context, sizes[k]);
  }
  gemel__sample_dims(sample, name, (size_t)axes, dims);
}

void gemel__sample_axis(gemel_sample *sample, int64_t axis, int64_t fallback) {
  if (axis != fallback || gemel__sample_chance(sample, 2)) {
    gemel__sample_attr(sample, gemel_attr_int("axis", axis));
  }
}

gemel_status gemel__sample_body(gemel_sample *sample, const char *op, gemel_graph *body) {
  const gemel__op *record = gemel__op_at(sample->context, gemel__op_find(sample->context, op));
  gemel_attr attr = gemel_attr_graph("body", body);
  uint32_t id;
  gemel_status status = gemel__attrs_intern(sample->context, record, 1, &attr, &id, NULL);
  if (status == GEMEL_OK) {
    gemel__sample_attr(sample, gemel__attrs_at(sample->context, id)->values[0]);
  }
  return status;
}

gemel_status gemel__sample_status(const gemel_sample *sample) {
  for (size_t k = 0; k < sample->n_inputs; k++) {
    if (gemel_type_is_none(sample->inputs[k])) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}
