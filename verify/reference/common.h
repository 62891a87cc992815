/* SPDX-License-Identifier: MIT
 *
 * What the references share: walking over index vectors, reading attributes, the decisions that
 * every domain takes in the same way, and the rounding that a straightforward algorithm has. It is
 * private to verify/reference.
 */
#ifndef GEMEL__REFERENCE_COMMON_H
#define GEMEL__REFERENCE_COMMON_H

#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "reference/reference.h"

/* ---- Indices ---- */

/* Steps INDEX to the next one in row-major order; from the last it wraps to the first. */
static inline void gemel__index_next(int rank, const int64_t *shape, int64_t *index) {
  for (int k = rank - 1; k >= 0; k--) {
    if (++index[k] < shape[k]) {
      return;
    }
    index[k] = 0;
  }
}

/* Axis of 0..rank-1 that AXIS (which may count from the end) means; -1 if there is none. */
static inline int gemel__reference_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return -1;
  }
  return (int)(axis < 0 ? axis + rank : axis);
}

/* ---- Calls ---- */

/* Allocates output K with this dtype and shape and counts it. Output 0's dtype is also what domain
 * B takes the operation to be computed in: its sums have to know. */
gemel_status gemel__reference_output(gemel__rcall *call, size_t k, gemel_dtype dtype, int rank,
                                     const int64_t *shape);

/* 1 if attribute K was left out. */
static inline int gemel__reference_absent(const gemel__rcall *call, size_t k) {
  return call->attrs[k].kind == GEMEL_ATTR_NONE;
}

/* Flags the axes that list attribute K names (all of them if it was left out). GEMEL_BAD_SHAPE for
 * an axis out of range or named twice. */
gemel_status gemel__reference_axes(const gemel__rcall *call, size_t k, int rank,
                                   unsigned char *chosen);

/* ---- Groups: the elements that one element of a reduction is made of ---- */

/* OUTER has size 1 along the chosen axes, INNER along all the others. Group i belongs to index i of
 * OUTER in row-major order; MEMBERS has room for one pointer for each element of a group. */
typedef struct gemel__groups {
  const gemel__rtensor *tensor;
  int64_t outer[GEMEL_MAX_RANK], inner[GEMEL_MAX_RANK];
  size_t count, size;
  int64_t at[GEMEL_MAX_RANK]; /* outer index of the group that comes next */
  void **members;
} gemel__groups;

gemel_status gemel__groups_init(gemel__groups *groups, const gemel__rtensor *tensor,
                                const unsigned char *chosen, gemel_error *error);
/* Points MEMBERS at the next group's elements, in row-major order. */
void gemel__groups_next(gemel__groups *groups);
void gemel__groups_clear(gemel__groups *groups);

/* ---- Decisions ---- */

/* Elements that decisions need beside their operands. */
typedef struct gemel__decider {
  gemel__domain *domain;
  void *block;
  void *zero, *one; /* constants */
  void *difference; /* of the last comparison */
  void *spare;
} gemel__decider;

gemel_status gemel__decider_init(gemel__decider *w, gemel__domain *d, gemel_error *error);
void gemel__decider_clear(gemel__decider *w);

/* Sign of a - b, or GEMEL__UNORDERED; infinities of one sign are equal (their difference is NaN).
 * The difference stays in W, for gemel__cover. */
int gemel__compare(gemel__decider *w, const void *a, const void *b);

/* The result E of a choice that could not be made because of CAUSE, of A where its sign is one of
 * WHEN, else of B: something that says so or covers both, if the domain has such a thing and CAUSE
 * has a value, else a state. */
void gemel__cover(gemel__domain *d, void *e, const void *cause, unsigned when, const void *a,
                  const void *b);

/* The same where what is chosen is the larger of A and B. */
void gemel__cover_larger(gemel__domain *d, void *e, const void *cause, unsigned when, const void *a,
                         const void *b);

/* e = 1 if A differs from 0 (a NaN does), else 0. */
void gemel__truth(gemel__decider *w, void *e, const void *a);

/* e = the larger of A and B. At a tie the domain's `tie`, but of zeros the positive one (IEEE
 * 754-2019 maximum); NaN if either is. */
void gemel__larger(gemel__decider *w, void *e, const void *a, const void *b);

/* e = the element chosen from N equal ones. */
void gemel__tied(gemel__decider *w, void *e, size_t n, const void *const *tied);

/* e = the largest of N ≥ 1 MEMBERS, of those that are equal the tied one; NaN if any is. What can't
 * be decided is covered. TIED has room for N, BEST is one more element; E is none of the members.
 */
void gemel__store_largest(gemel__decider *w, void *e, size_t n, const void *const *members,
                          const void **tied, void *best);

/* ---- Rounding ---- */

/* The dtype in which values of DTYPE are computed: f32 for the half types. */
static inline gemel_dtype gemel__compute_dtype(gemel_dtype dtype) {
  return gemel__dtype_format(dtype)->computed_in;
}

/* What storing the last step of a computation costs: ULPS units of the dtype computed in and, for
 * half types, one correct rounding more. Bools become 0 or 1. */
void gemel__store(gemel__decider *w, void *e, gemel_dtype dtype, double ulps);

/* e = the sum of N ADDENDS in DTYPE, 0 if there are none. Domain B's sum holds the error of N - 1
 * additions in any order already, so what is stored adds none, but for the rounding of a half type,
 * which is summed in f32. */
void gemel__store_sum(gemel__decider *w, void *e, gemel_dtype dtype, size_t n,
                      const void *const *addends);

/* e = the product of N FACTORS in DTYPE, 1 if there are none; domain B's holds the error of any
 * order. Integers wrap after each multiplication, so they stay small. */
void gemel__store_product(gemel__decider *w, void *e, gemel_dtype dtype, size_t n,
                          const void *const *factors);

/* ---- Nested graphs ---- */

/* How an evaluation of a graph goes on inside a body: what references it has, how deep it is.
 * Handed to the references of gemel's own operations as their DATA. */
typedef struct gemel__evaluation {
  gemel__reference_lookup extra;
  void *user;
  int depth;
  const char *own; /* the program's operation whose reference this is, or NULL */
  const struct gemel__evaluation *outer; /* in whose reference or body this is */
} gemel__evaluation;

/* As gemel__reference_graph, inside the evaluation WITHIN. */
gemel_status gemel__reference_body(const gemel_graph *graph, gemel__domain *d,
                                   const gemel__rtensor *const *inputs, gemel__rtensor *outputs,
                                   const gemel__evaluation *within, gemel_error *error);

/* Makes RESULTS, one for each output of GRAPH, tensors of zeros with the dtypes and shapes that the
 * graph's types give for INPUTS; nothing is evaluated. */
gemel_status gemel__reference_body_types(const gemel_graph *graph, gemel__domain *d,
                                         const gemel__rtensor *const *inputs,
                                         gemel__rtensor *results, const gemel__evaluation *within,
                                         gemel_error *error);

#endif
