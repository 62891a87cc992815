/* SPDX-License-Identifier: MIT
 *
 * What the references share (common.h): outputs and axes, groups of elements, decisions, rounding.
 *
 * A decision that a domain can't take is never guessed. A domain with intervals gives an element
 * that covers both answers. Any other domain gives a state: that of the element that can't be
 * compared if it has no value, else UNDECIDED. A domain with NaN (`ieee`) decides everything: a
 * comparison with NaN is false, and the larger of a NaN and anything is NaN.
 */
#include "reference/common.h"

#include <math.h>
#include "core/dtype.h"

/* ---- Calls ---- */

gemel_status gemel__reference_output(gemel__rcall *call, size_t k, gemel_dtype dtype, int rank,
                                     const int64_t *shape) {
  if (k >= call->max_outputs) {
    return gemel__fail(call->error, GEMEL_INTERNAL, "the reference has more outputs than the node");
  }
  if (k == 0) {
    gemel__work_in(call->domain, dtype);
  }
  GEMEL__TRY(gemel__rtensor_init(&call->outputs[k], call->domain, dtype, rank, shape, call->error));
  if (call->n_outputs <= k) {
    call->n_outputs = k + 1;
  }
  return GEMEL_OK;
}

gemel_status gemel__reference_axes(const gemel__rcall *call, size_t k, int rank,
                                   unsigned char *chosen) {
  int absent = gemel__reference_absent(call, k);
  for (int axis = 0; axis < rank; axis++) {
    chosen[axis] = (unsigned char)absent;
  }
  for (size_t i = 0; !absent && i < call->attrs[k].count; i++) {
    int axis = gemel__reference_axis(call->attrs[k].u.ints[i], rank);
    if (axis < 0 || chosen[axis]) {
      return gemel__fail(call->error, GEMEL_BAD_SHAPE, "axis %lld is out of range or named twice",
                         (long long)call->attrs[k].u.ints[i]);
    }
    chosen[axis] = 1;
  }
  return GEMEL_OK;
}

/* ---- Groups ---- */

gemel_status gemel__groups_init(gemel__groups *groups, const gemel__rtensor *tensor,
                                const unsigned char *chosen, gemel_error *error) {
  groups->tensor = tensor;
  groups->count = groups->size = 1;
  for (int k = 0; k < tensor->rank; k++) {
    groups->outer[k] = chosen[k] ? 1 : tensor->shape[k];
    groups->inner[k] = chosen[k] ? tensor->shape[k] : 1;
    groups->count *= (size_t)groups->outer[k];
    groups->size *= (size_t)groups->inner[k];
    groups->at[k] = 0;
  }
  groups->members = gemel__alloc_array(groups->size, sizeof *groups->members);
  return groups->members ? GEMEL_OK : gemel__no_memory(error, "a reduction");
}

void gemel__groups_next(gemel__groups *groups) {
  int rank = groups->tensor->rank;
  int64_t inside[GEMEL_MAX_RANK] = {0}, index[GEMEL_MAX_RANK];
  for (size_t i = 0; i < groups->size; i++) {
    for (int k = 0; k < rank; k++) {
      index[k] = groups->at[k] + inside[k];
    }
    groups->members[i] = gemel__rtensor_index(groups->tensor, index);
    gemel__index_next(rank, groups->inner, inside);
  }
  gemel__index_next(rank, groups->outer, groups->at);
}

void gemel__groups_clear(gemel__groups *groups) {
  gemel__free(groups->members, groups->size * sizeof *groups->members);
}

/* ---- Decisions ---- */

enum { DECIDER_ELEMENTS = 4 };

gemel_status gemel__decider_init(gemel__decider *w, gemel__domain *d, gemel_error *error) {
  w->domain = d;
  w->block = gemel__elements_new(d, DECIDER_ELEMENTS);
  if (!w->block) {
    return gemel__no_memory(error, "elements of a reference");
  }
  w->zero = gemel__element(d, w->block, 0);
  w->one = gemel__element(d, w->block, 1);
  w->difference = gemel__element(d, w->block, 2);
  w->spare = gemel__element(d, w->block, 3);
  d->from_integer(d, w->zero, 0);
  d->from_integer(d, w->one, 1);
  return GEMEL_OK;
}

void gemel__decider_clear(gemel__decider *w) {
  gemel__elements_free(w->domain, w->block, DECIDER_ELEMENTS);
}

int gemel__compare(gemel__decider *w, const void *a, const void *b) {
  gemel__domain *d = w->domain;
  (d->difference ? d->difference : d->sub)(d, w->difference, a, b);
  int sign = d->sign(d, w->difference);
  if (sign == GEMEL__UNORDERED && d->ieee) {
    int nan = d->sign(d, a) == GEMEL__UNORDERED || d->sign(d, b) == GEMEL__UNORDERED;
    return nan ? GEMEL__UNORDERED : 0;
  }
  return sign;
}

void gemel__cover(gemel__domain *d, void *e, const void *cause, unsigned when, const void *a,
                  const void *b) {
  gemel__state state = d->state(d, cause);
  if (state == GEMEL__DEFINED && d->choose) {
    d->choose(d, e, cause, when, a, b);
  } else if (state == GEMEL__DEFINED && d->hull) {
    d->hull(d, e, a, b);
  } else {
    d->set_state(d, e, state == GEMEL__DEFINED ? GEMEL__UNDECIDED : state);
  }
}

void gemel__cover_larger(gemel__domain *d, void *e, const void *cause, unsigned when, const void *a,
                         const void *b) {
  if (d->state(d, cause) == GEMEL__DEFINED && d->larger) {
    d->larger(d, e, a, b);
  } else {
    gemel__cover(d, e, cause, when, a, b);
  }
}

void gemel__truth(gemel__decider *w, void *e, const void *a) {
  gemel__domain *d = w->domain;
  int sign = d->sign(d, a);
  if (sign == GEMEL__UNORDERED && !d->ieee) {
    gemel__cover(d, e, a, GEMEL__IF_ZERO, w->zero, w->one);
  } else {
    d->set(d, e, sign == 0 ? w->zero : w->one);
  }
}

/* Ties between zeros: E = the mean of the tied elements. It is +0 unless all are −0, and its
 * tangent is the one that `tie` gives. */
static void tied_zeros(gemel__decider *w, void *e, size_t n, const void *const *tied) {
  gemel__domain *d = w->domain;
  d->set(d, w->spare, tied[0]);
  for (size_t i = 1; i < n; i++) {
    d->add(d, w->spare, w->spare, tied[i]);
  }
  d->from_integer(d, w->difference, (int64_t)n);
  d->div(d, e, w->spare, w->difference);
}

void gemel__tied(gemel__decider *w, void *e, size_t n, const void *const *tied) {
  gemel__domain *d = w->domain;
  if (n == 1) {
    d->set(d, e, tied[0]);
  } else if (d->ieee && d->sign(d, tied[0]) == 0) {
    tied_zeros(w, e, n, tied);
  } else if (d->tie) {
    d->tie(d, e, n, tied);
  } else {
    d->set(d, e, tied[0]);
  }
}

void gemel__larger(gemel__decider *w, void *e, const void *a, const void *b) {
  gemel__domain *d = w->domain;
  int order = gemel__compare(w, a, b);
  if (order == 0) {
    gemel__tied(w, e, 2, (const void *const[]){a, b});
  } else if (order != GEMEL__UNORDERED) {
    d->set(d, e, order > 0 ? a : b);
  } else if (d->ieee) {
    d->add(d, e, a, b);
  } else {
    gemel__cover_larger(d, e, w->difference, GEMEL__IF_ZERO | GEMEL__IF_POSITIVE, a, b);
  }
}

void gemel__store_largest(gemel__decider *w, void *e, size_t n, const void *const *members,
                          const void **tied, void *best) {
  gemel__domain *d = w->domain;
  size_t n_tied = 1;
  tied[0] = members[0];
  for (size_t k = 1; k < n; k++) {
    int order = gemel__compare(w, members[k], tied[0]);
    if (order == 1) {
      n_tied = 1;
      tied[0] = members[k];
    } else if (order == 0) {
      tied[n_tied++] = members[k];
    } else if (order == GEMEL__UNORDERED && d->ieee) {
      d->add(d, e, members[k], tied[0]);
      return;
    } else if (order == GEMEL__UNORDERED) {
      gemel__cover(d, best, w->difference, GEMEL__IF_POSITIVE, members[k], tied[0]);
      n_tied = 1;
      tied[0] = best;
    }
  }
  gemel__tied(w, e, n_tied, tied);
}

/* ---- Rounding ---- */

/* e = X, rounded to the digits that the domain says, unless it has no more than a bf16, the fewest.
 * Half a unit of 11 digits is 2^12 units of an f32. */
static void reduce(gemel__domain *d, void *e, const void *x) {
  enum { DIGITS_OF_BF16 = 8 };
  d->set(d, e, x);
  d->round(d, e, GEMEL_BF16, 0.5);
  if (d->product_digits > DIGITS_OF_BF16 && d->equal(d, e, x) != 1) {
    d->set(d, e, x);
    d->round(d, e, GEMEL_F32, ldexp(1, 23 - d->product_digits));
  }
}

void gemel__multiply(gemel__domain *d, void *e, const void *a, const void *b, gemel_dtype dtype) {
  int reduces = d->product_digits > 0 && dtype == GEMEL_F32;
  void *reduced = reduces ? gemel__elements_new(d, 2) : NULL;
  if (reduces && reduced == NULL) { /* memory is out */
    d->set_state(d, e, GEMEL__UNDECIDED);
    return;
  }
  if (reduces) {
    reduce(d, gemel__element(d, reduced, 0), a);
    reduce(d, gemel__element(d, reduced, 1), b);
    d->mul(d, e, gemel__element(d, reduced, 0), gemel__element(d, reduced, 1));
    gemel__elements_free(d, reduced, 2);
  } else {
    d->mul(d, e, a, b);
  }
  if (dtype != GEMEL_BOOL) {
    d->round(d, e, gemel__compute_dtype(dtype), 0.5);
  }
}

void gemel__store(gemel__decider *w, void *e, gemel_dtype dtype, double ulps) {
  gemel__domain *d = w->domain;
  gemel_dtype computed = gemel__compute_dtype(dtype);
  if (dtype == GEMEL_BOOL) {
    gemel__truth(w, e, e);
    return;
  }
  d->round(d, e, computed, ulps);
  if (computed != dtype) {
    d->round(d, e, dtype, 0.5);
  }
}

void gemel__store_sum(gemel__decider *w, void *e, gemel_dtype dtype, size_t n,
                      const void *const *addends) {
  gemel__domain *d = w->domain;
  if (n == 0) {
    d->from_integer(d, e, 0);
    return;
  }
  d->sum(d, e, n, addends);
  gemel__store(w, e, dtype, 0);
}

void gemel__store_product(gemel__decider *w, void *e, gemel_dtype dtype, size_t n,
                          const void *const *factors) {
  gemel__domain *d = w->domain;
  if (d->product && gemel__is_float(dtype)) {
    d->product(d, e, n, factors);
  } else {
    d->set(d, e, n > 0 ? factors[0] : w->one);
    for (size_t k = 1; k < n; k++) {
      d->mul(d, e, e, factors[k]);
      d->round(d, e, gemel__compute_dtype(dtype), 0.5);
    }
  }
  gemel__store(w, e, dtype, 0);
}
