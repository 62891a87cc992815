/* SPDX-License-Identifier: MIT
 *
 * References of the reduce family. For each index of the kept axes there is a group: the elements
 * along the other axes, in row-major order.
 */
#include "reference/common.h"
#include "reference/twin.h"

/* A reduction that is being computed. */
typedef struct reduction {
  gemel__rcall *call;
  gemel__decider w;
  gemel__groups groups;
  const void **tied; /* room for a group; for max */
  void *best;
} reduction;

/* Outer shape without the reduced axes. */
static int kept_shape(const gemel__groups *groups, const unsigned char *reduced, int64_t *shape) {
  int rank = 0;
  for (int k = 0; k < groups->tensor->rank; k++) {
    if (!reduced[k]) {
      shape[rank++] = groups->outer[k];
    }
  }
  return rank;
}

/* Initialises R: attribute 0 lists the axes, attribute KEEP says whether they stay with size 1. */
static gemel_status begin(reduction *r, gemel__rcall *call, const unsigned char *reduced, int keep,
                          gemel_dtype dtype) {
  const gemel__rtensor *x = call->inputs[0];
  int64_t shape[GEMEL_MAX_RANK];
  r->call = call;
  GEMEL__TRY(gemel__groups_init(&r->groups, x, reduced, call->error));
  int rank = kept_shape(&r->groups, reduced, shape);
  gemel_status status = gemel__reference_output(call, 0, dtype, keep ? x->rank : rank,
                                                keep ? r->groups.outer : shape);
  status = status ? status : gemel__decider_init(&r->w, call->domain, call->error);
  if (status != GEMEL_OK) {
    gemel__groups_clear(&r->groups);
  }
  return status;
}

static void end(reduction *r) {
  gemel__decider_clear(&r->w);
  gemel__groups_clear(&r->groups);
}

static gemel_status begin_with_axes(reduction *r, gemel__rcall *call, gemel_dtype dtype) {
  unsigned char reduced[GEMEL_MAX_RANK];
  GEMEL__TRY(gemel__reference_axes(call, 0, call->inputs[0]->rank, reduced));
  return begin(r, call, reduced, call->attrs[1].u.i != 0, dtype);
}

/* NumPy's rule: bools and integers are summed in 64 bits. */
static gemel_dtype sum_dtype(gemel_dtype dtype) {
  switch (gemel_dtype_kind(dtype)) {
  case GEMEL_KIND_FLOAT:
    return dtype;
  case GEMEL_KIND_UNSIGNED:
    return GEMEL_U64;
  default:
    return GEMEL_I64;
  }
}

static gemel_status reference_sum(gemel__rcall *call) {
  reduction r;
  gemel_dtype dtype = sum_dtype(call->inputs[0]->dtype);
  GEMEL__TRY(begin_with_axes(&r, call, dtype));
  for (size_t i = 0; i < r.groups.count; i++) {
    gemel__groups_next(&r.groups);
    gemel__store_sum(&r.w, gemel__rtensor_at(&call->outputs[0], i), dtype, r.groups.size,
                     (const void *const *)r.groups.members);
  }
  end(&r);
  return GEMEL_OK;
}

const gemel__twin gemel__twin_sum = {.reference = reference_sum,
                                     .sample = gemel__sampler_sum,
                                     .propose = gemel__propose_reduction,
                                     .arithmetic = GEMEL__SUMS,
                                     .linear = GEMEL__LINEAR_REDUCTION};

static gemel_status reference_prod(gemel__rcall *call) {
  reduction r;
  gemel_dtype dtype = sum_dtype(call->inputs[0]->dtype);
  GEMEL__TRY(begin_with_axes(&r, call, dtype));
  for (size_t i = 0; i < r.groups.count; i++) {
    gemel__groups_next(&r.groups);
    gemel__store_product(&r.w, gemel__rtensor_at(&call->outputs[0], i), dtype, r.groups.size,
                         (const void *const *)r.groups.members);
  }
  end(&r);
  return GEMEL_OK;
}

const gemel__twin gemel__twin_prod = {.reference = reference_prod,
                                      .sample = gemel__sampler_prod,
                                      .propose = gemel__propose_reduction,
                                      .arithmetic = GEMEL__PRODUCTS};

/* ---- max ---- */

static gemel_status refuse_empty(const gemel__rcall *call, const gemel__groups *groups) {
  return groups->size > 0 ? GEMEL_OK
                          : gemel__fail(call->error, GEMEL_BAD_SHAPE, "the largest of no elements");
}

static gemel_status reference_max(gemel__rcall *call) {
  reduction r;
  GEMEL__TRY(begin_with_axes(&r, call, call->inputs[0]->dtype));
  r.tied = gemel__alloc_array(r.groups.size, sizeof *r.tied);
  r.best = gemel__elements_new(call->domain, 1);
  gemel_status status = r.tied && r.best ? refuse_empty(call, &r.groups)
                                         : gemel__no_memory(call->error, "a reduction");
  for (size_t i = 0; status == GEMEL_OK && i < r.groups.count; i++) {
    gemel__groups_next(&r.groups);
    gemel__store_largest(&r.w, gemel__rtensor_at(&call->outputs[0], i), r.groups.size,
                         (const void *const *)r.groups.members, r.tied, r.best);
  }
  gemel__elements_free(call->domain, r.best, 1);
  gemel__free(r.tied, r.groups.size * sizeof *r.tied);
  end(&r);
  return status;
}

const gemel__twin gemel__twin_max = {.reference = reference_max,
                                     .sample = gemel__sampler_max,
                                     .propose = gemel__propose_largest,
                                     .arithmetic = GEMEL__EXACT};

/* ---- argmax ---- */

static int is_nan(gemel__domain *d, const void *e) {
  return d->ieee && d->sign(d, e) == GEMEL__UNORDERED;
}

/* e = the index of the first largest element; NaN counts as the largest. If undecided, E covers all
 * possible indices, and BEST the elements. */
static void first_largest(reduction *r, void *e) {
  gemel__domain *d = r->call->domain;
  void *const *members = r->groups.members;
  d->from_integer(d, e, 0);
  d->set(d, r->best, members[0]);
  for (size_t k = 1; k < r->groups.size && !is_nan(d, r->best); k++) {
    int order = is_nan(d, members[k]) ? 1 : gemel__compare(&r->w, members[k], r->best);
    if (order == 1) {
      d->from_integer(d, e, (int64_t)k);
      d->set(d, r->best, members[k]);
    } else if (order == GEMEL__UNORDERED) {
      d->from_integer(d, r->w.spare, (int64_t)k);
      gemel__cover(d, e, r->w.difference, GEMEL__IF_POSITIVE, r->w.spare, e);
      gemel__cover(d, r->best, r->w.difference, GEMEL__IF_POSITIVE, members[k], r->best);
    }
  }
}

static gemel_status reference_argmax(gemel__rcall *call) {
  reduction r;
  const gemel__rtensor *x = call->inputs[0];
  unsigned char reduced[GEMEL_MAX_RANK] = {0};
  int axis = gemel__reference_axis(call->attrs[0].u.i, x->rank);
  if (axis < 0) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "no axis %lld", (long long)call->attrs[0].u.i);
  }
  reduced[axis] = 1;
  GEMEL__TRY(begin(&r, call, reduced, 0, GEMEL_I64));
  r.best = gemel__elements_new(call->domain, 1);
  gemel_status status =
      r.best ? refuse_empty(call, &r.groups) : gemel__no_memory(call->error, "a reduction");
  for (size_t i = 0; status == GEMEL_OK && i < r.groups.count; i++) {
    gemel__groups_next(&r.groups);
    first_largest(&r, gemel__rtensor_at(&call->outputs[0], i));
  }
  gemel__elements_free(call->domain, r.best, 1);
  end(&r);
  return status;
}

const gemel__twin gemel__twin_argmax = {.reference = reference_argmax,
                                        .sample = gemel__sampler_argmax,
                                        .propose = gemel__propose_argmax,
                                        .arithmetic = GEMEL__EXACT};
