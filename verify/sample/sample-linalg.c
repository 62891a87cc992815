/* SPDX-License-Identifier: MIT
 *
 * Random instances of dot and dot_add: products of matrices and vectors, also of sizes at which
 * libraries and blocks are used; products with any axes contracted and shared; and batches whose
 * axes don't lie one in the other.
 */
#include <string.h>
#include "ops/linalg.h"
#include "sample/sampling.h"

/* A size for the matrix product: now and then so big that the library kernels are asked. */
static int64_t sample_side(gemel_sample *sample, int big) {
  int64_t size;
  if (big) {
    return sample->max_elements > 1024 ? gemel__sample_int(sample, 9, 40)
                                       : gemel__sample_int(sample, 5, 9);
  }
  gemel__sample_shape(sample, 1, &size);
  return size;
}

/* One side, any of the three, takes the room that the others leave; the one that is summed over is
 * always longer than a block, and so are the columns, half of the time. */
static void sample_long_sides(gemel_sample *sample, int64_t *sides) {
  enum { BLOCK = 256, SUMMED = 1 };
  int grown = gemel__sample_chance(sample, 2) ? 2 : (int)gemel__sample_int(sample, 0, 1), i;
  int64_t longest = 1;
  for (i = 0; i < 3; i++) {
    sides[i] =
        i == SUMMED ? BLOCK + gemel__sample_int(sample, 1, 100) : gemel__sample_int(sample, 1, 4);
    longest = i != grown && sides[i] > longest ? sides[i] : longest;
  }
  sides[grown] = sample->max_elements / longest;
}

/* The side that the harness wants long, or all. */
static void sample_wanted_sides(gemel_sample *sample, int64_t *sides) {
  for (int i = 0; i < 3; i++) {
    sides[i] = gemel__sample_wants(sample, i, 3) ? sample->length : gemel__sample_int(sample, 1, 5);
  }
}

static gemel_status sample_matmul(gemel_sample *sample) {
  int64_t batch[GEMEL_MAX_RANK], x[GEMEL_MAX_RANK], y[GEMEL_MAX_RANK], sides[3];
  int big = gemel__sample_chance(sample, 3);
  int n_batch = gemel__sample_chance(sample, 3) ? (int)gemel__sample_int(sample, 1, 2) : 0;
  int is_long = sample->max_elements > GEMEL__LONG_ELEMENTS;
  n_batch = sample->length > 0 ? 0 : sample->rank > 2 ? sample->rank - 2 : is_long ? 0 : n_batch;
  int x_rank, y_rank;
  int64_t limit = sample->max_elements;
  gemel__sample_shape(sample, n_batch, batch);
  for (int i = 0; i < 3; i++) {
    sides[i] = sample_side(sample, big);
  }
  if (is_long && n_batch == 0) {
    sample_long_sides(sample, sides);
  }
  if (sample->length > 0) {
    sample_wanted_sides(sample, sides);
  }
  int64_t m = sides[0], k = sides[1], n = sides[2];
  for (int i = 0; i < n_batch; i++) {
    x[i] = y[i] = batch[i];
    limit /= batch[i] > 0 ? batch[i] : 1;
  }
  if (m * k > limit || k * n > limit || m * n > limit) {
    m = n = k = 1;
  }
  x_rank = y_rank = n_batch;
  if (n_batch > 0 || !gemel__sample_chance(sample, 4)) {
    x[x_rank++] = m;
  }
  x[x_rank++] = k;
  y[y_rank++] = k;
  if (n_batch > 0 || is_long || !gemel__sample_chance(sample, 4)) {
    y[y_rank++] = n;
  }
  gemel__sample_input(sample, sample->dtype, x_rank, x, GEMEL_RANGE_ANY);
  gemel__sample_input(sample, sample->dtype, y_rank, y, GEMEL_RANGE_ANY);
  return gemel__sample_status(sample);
}

/* Shuffles PLACE[0..RANK), the role of each axis of one operand, and writes its shape and lists:
 * roles 0.. are batch axes, 10.. contracted ones, 20.. free. */
static void place_axes(gemel_sample *sample, int rank, const int *role, const int64_t *size,
                       int64_t *shape, int64_t *contract, int64_t *batch) {
  int64_t order[GEMEL_MAX_RANK];
  gemel__sample_permutation(sample, rank, order);
  for (int k = 0; k < rank; k++) {
    int64_t axis = order[k], named = gemel__sample_chance(sample, 5) ? axis - rank : axis;
    shape[axis] = size[k];
    if (role[k] < 10) {
      batch[role[k]] = named;
    } else if (role[k] < 20) {
      contract[role[k] - 10] = named;
    }
  }
}

/* Two or three batch axes and a matrix on each side, in any order of axes: batches that don't lie
 * one in the other, and matrices that are turned. Large enough for the kernels of libraries, or
 * small. */
static gemel_status sample_batches(gemel_sample *sample) {
  static const char *const names[2][2] = {{"contract_x", "batch_x"}, {"contract_y", "batch_y"}};
  int n_batch = (int)gemel__sample_int(sample, 2, 3);
  int64_t most = gemel__sample_chance(sample, 2) ? 40 : 6,
          summed = gemel__sample_int(sample, 2, most);
  int64_t size[5], shape[5], contract[1], batch[3];
  int role[5];
  for (int k = 0; k < n_batch; k++) {
    role[k] = k;
    size[k] = 2 + (k == 0 && gemel__sample_chance(sample, 2));
  }
  role[n_batch] = 10;
  role[n_batch + 1] = 20;
  for (int side = 0; side < 2; side++) {
    size[n_batch] = summed;
    size[n_batch + 1] = gemel__sample_int(sample, 2, most);
    place_axes(sample, n_batch + 2, role, size, shape, contract, batch);
    gemel__sample_input(sample, sample->dtype, n_batch + 2, shape, GEMEL_RANGE_ANY);
    gemel__sample_ints(sample, names[side][0], 1, contract);
    gemel__sample_ints(sample, names[side][1], (size_t)n_batch, batch);
  }
  return gemel__sample_status(sample);
}

static gemel_status sample_general(gemel_sample *sample) {
  int counts[3] = {(int)gemel__sample_int(sample, 0, 1), (int)gemel__sample_int(sample, 0, 2), 0};
  int64_t shared[3], own[2], shape[4], contract[2], batch[1], size[4];
  static const char *const names[2][2] = {{"contract_x", "batch_x"}, {"contract_y", "batch_y"}};
  int64_t limit = sample->max_elements;
  int role[4];
  sample->max_elements = limit > 64 ? 8 : 2;
  gemel__sample_shape(sample, counts[0] + counts[1], shared);
  for (int side = 0; side < 2; side++) {
    int rank = counts[0] + counts[1];
    counts[2] = (int)gemel__sample_int(sample, 0, 4 - rank > 2 ? 2 : 4 - rank);
    gemel__sample_shape(sample, counts[2], own);
    for (int k = 0; k < rank + counts[2]; k++) {
      role[k] = k < counts[0] ? k : k < rank ? 10 + k - counts[0] : 20;
      size[k] = k < rank ? shared[k] : own[k - rank];
    }
    rank += counts[2];
    place_axes(sample, rank, role, size, shape, contract, batch);
    gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_ANY);
    gemel__sample_ints(sample, names[side][0], (size_t)counts[1], contract);
    if (counts[0] > 0) {
      gemel__sample_ints(sample, names[side][1], (size_t)counts[0], batch);
    }
  }
  sample->max_elements = limit;
  return gemel__sample_status(sample);
}

gemel_status gemel__sampler_dot(gemel_sample *sample) {
  if (sample->length == 0 && sample->rank == 0 && sample->max_elements >= GEMEL__BATCHES_ELEMENTS &&
      sample->max_elements <= GEMEL__LONG_ELEMENTS) {
    return sample_batches(sample);
  }
  return sample->length > 0 || sample->rank > 4 || sample->max_elements > GEMEL__LONG_ELEMENTS ||
                 gemel__sample_chance(sample, 2)
             ? sample_matmul(sample)
             : sample_general(sample);
}

/* Attributes as a node has them: in the order of the schema. */
static void schema_attrs(const gemel_sample *sample, gemel_attr *attrs) {
  static const char *const names[4] = {"contract_x", "contract_y", "batch_x", "batch_y"};
  for (size_t k = 0; k < 4; k++) {
    attrs[k] = (gemel_attr){.name = names[k], .kind = GEMEL_ATTR_NONE};
    for (size_t j = 0; j < sample->n_attrs; j++) {
      attrs[k] = strcmp(sample->attrs[j].name, names[k]) == 0 ? sample->attrs[j] : attrs[k];
    }
  }
}

gemel_status gemel__sampler_dot_add(gemel_sample *sample) {
  gemel_status status = gemel__sampler_dot(sample);
  gemel_attr attrs[4];
  gemel__dot_axes axes;
  int64_t shape[2 * GEMEL_MAX_RANK];
  int count = 0;
  if (status != GEMEL_OK) {
    return status;
  }
  schema_attrs(sample, attrs);
  gemel__dot_axes_of(attrs, gemel_type_rank(sample->context, sample->inputs[0]),
                     gemel_type_rank(sample->context, sample->inputs[1]), &axes);
  for (int side = 0; side < 2; side++) {
    const gemel_dim *dims = gemel_type_dims(sample->context, sample->inputs[side]);
    for (int k = 0; side == 0 && k < axes.n_batch; k++) {
      gemel_dim_is_constant(sample->context, dims[axes.batch[0][k]], &shape[count++]);
    }
    for (int k = 0; k < axes.n_free[side]; k++) {
      gemel_dim_is_constant(sample->context, dims[axes.free[side][k]], &shape[count++]);
    }
  }
  gemel__sample_input(sample, sample->dtype, count, shape, GEMEL_RANGE_ANY);
  return gemel__sample_status(sample);
}
