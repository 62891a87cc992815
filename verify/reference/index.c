/* SPDX-License-Identifier: MIT
 *
 * References of the index family: reading and writing x[start + i * step]. Indices outside of x are
 * an error: they are never clamped and never count from the end.
 */
#include "reference/common.h"
#include "reference/twin.h"

/* Which part of X: SIZE elements along each axis, from START, STEP apart. */
typedef struct region {
  int rank;
  const int64_t *start, *size;
  int64_t step[GEMEL_MAX_RANK];
} region;

/* Reads START and STEP from attributes A and B; checks that the region lies in X. */
static gemel_status read_region(const gemel__rcall *call, const gemel__rtensor *x, size_t a,
                                size_t b, const int64_t *size, region *r) {
  const gemel_attr *start = &call->attrs[a], *step = &call->attrs[b];
  int steps = !gemel__reference_absent(call, b);
  if (start->count != (size_t)x->rank || (steps && step->count != (size_t)x->rank)) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "one number for each axis is wanted");
  }
  r->rank = x->rank;
  r->start = start->u.ints;
  r->size = size;
  for (int k = 0; k < x->rank; k++) {
    int64_t first = start->u.ints[k], last, n = size[k];
    r->step[k] = steps ? step->u.ints[k] : 1;
    if (n < 0 || r->step[k] == 0) {
      return gemel__fail(call->error, GEMEL_BAD_VALUE, "a negative size or a step of 0");
    }
    if (n > 0 && (__builtin_mul_overflow(n - 1, r->step[k], &last) ||
                  __builtin_add_overflow(first, last, &last) || first < 0 || first >= x->shape[k] ||
                  last < 0 || last >= x->shape[k])) {
      return gemel__fail(call->error, GEMEL_BAD_VALUE,
                         "axis %d: start %lld, size %lld, step %lld lie outside of size %lld", k,
                         (long long)first, (long long)n, (long long)r->step[k],
                         (long long)x->shape[k]);
    }
  }
  return GEMEL_OK;
}

/* AT = the index of X for index I of the region. */
static void locate(const region *r, const int64_t *i, int64_t *at) {
  for (int k = 0; k < r->rank; k++) {
    at[k] = r->start[k] + i[k] * r->step[k];
  }
}

static gemel_status reference_subtensor(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  const gemel_attr *size = &call->attrs[1];
  int64_t index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  region r;
  if (size->count != (size_t)x->rank) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "one size for each axis is wanted");
  }
  GEMEL__TRY(read_region(call, x, 0, 2, size->u.ints, &r));
  GEMEL__TRY(gemel__reference_output(call, 0, x->dtype, x->rank, r.size));
  for (size_t i = 0; i < call->outputs[0].count; i++) {
    locate(&r, index, at);
    call->domain->set(call->domain, gemel__rtensor_at(&call->outputs[0], i),
                      gemel__rtensor_index(x, at));
    gemel__index_next(r.rank, r.size, index);
  }
  return GEMEL_OK;
}

const gemel__twin gemel__twin_subtensor = {.reference = reference_subtensor,
                                           .sample = gemel__sampler_subtensor,
                                           .propose = gemel__propose_subtensor,
                                           .arithmetic = GEMEL__EXACT,
                                           .linear = GEMEL__LINEAR_PART,
                                           .refuses_with = 2};

/* Makes the output a copy of x, and R the region that y is written to. */
static gemel_status copy_and_locate(gemel__rcall *call, region *r) {
  const gemel__rtensor *x = call->inputs[0], *y = call->inputs[1];
  if (y->rank != x->rank || y->dtype != x->dtype) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "x and y differ in rank or dtype");
  }
  GEMEL__TRY(read_region(call, x, 0, 1, y->shape, r));
  GEMEL__TRY(gemel__reference_output(call, 0, x->dtype, x->rank, x->shape));
  for (size_t i = 0; i < x->count; i++) {
    call->domain->set(call->domain, gemel__rtensor_at(&call->outputs[0], i),
                      gemel__rtensor_at(x, i));
  }
  return GEMEL_OK;
}

static gemel_status reference_set_subtensor(gemel__rcall *call) {
  const gemel__rtensor *y = call->inputs[1];
  int64_t index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  region r;
  GEMEL__TRY(copy_and_locate(call, &r));
  for (size_t i = 0; i < y->count; i++) {
    locate(&r, index, at);
    call->domain->set(call->domain, gemel__rtensor_index(&call->outputs[0], at),
                      gemel__rtensor_at(y, i));
    gemel__index_next(r.rank, r.size, index);
  }
  return GEMEL_OK;
}

const gemel__twin gemel__twin_set_subtensor = {.reference = reference_set_subtensor,
                                               .sample = gemel__sampler_set_subtensor,
                                               .propose = gemel__propose_write,
                                               .arithmetic = GEMEL__EXACT,
                                               .linear = GEMEL__LINEAR_WRITE,
                                               .refuses_with = 3};

static gemel_status reference_inc_subtensor(gemel__rcall *call) {
  const gemel__rtensor *y = call->inputs[1];
  int64_t index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  region r;
  gemel__decider w;
  GEMEL__TRY(copy_and_locate(call, &r));
  GEMEL__TRY(gemel__decider_init(&w, call->domain, call->error));
  for (size_t i = 0; i < y->count; i++) {
    locate(&r, index, at);
    void *e = gemel__rtensor_index(&call->outputs[0], at);
    call->domain->add(call->domain, e, e, gemel__rtensor_at(y, i));
    gemel__store(&w, e, y->dtype, 0.5);
    gemel__index_next(r.rank, r.size, index);
  }
  gemel__decider_clear(&w);
  return GEMEL_OK;
}

const gemel__twin gemel__twin_inc_subtensor = {.reference = reference_inc_subtensor,
                                               .sample = gemel__sampler_inc_subtensor,
                                               .propose = gemel__propose_write,
                                               .arithmetic = GEMEL__SUMS,
                                               .linear = GEMEL__LINEAR_WRITE,
                                               .refuses_with = 3};
