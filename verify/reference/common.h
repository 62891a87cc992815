/* SPDX-License-Identifier: MIT
 *
 * What the references share: walking over index vectors, reading attributes, decisions, and the
 * rounding of a straightforward algorithm. Private to verify/reference.
 */
#ifndef GEMEL__REFERENCE_COMMON_H
#define GEMEL__REFERENCE_COMMON_H

#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "reference/reference.h"

/* ---- Indices ---- */

/* Steps INDEX to the next one in row-major order; the last one becomes the first. */
static inline void gemel__index_next(int rank, const int64_t *shape, int64_t *index) {
  for (int k = rank - 1; k >= 0; k--) {
    if (++index[k] < shape[k]) {
      return;
    }
    index[k] = 0;
  }
}

/* The axis, 0 to RANK − 1, that AXIS means; negative ones count from the end. −1 if there is none.
 */
static inline int gemel__reference_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return -1;
  }
  return (int)(axis < 0 ? axis + rank : axis);
}

/* ---- Calls ---- */

/* Allocates output K with this dtype and shape and counts it. Domain B takes output 0's dtype for
 * the one in which the operation computes its sums. */
gemel_status gemel__reference_output(gemel__rcall *call, size_t k, gemel_dtype dtype, int rank,
                                     const int64_t *shape);

/* 1 if attribute K was left out. */
static inline int gemel__reference_absent(const gemel__rcall *call, size_t k) {
  return call->attrs[k].kind == GEMEL_ATTR_NONE;
}

/* Flags the axes in list attribute K; if it was left out, all axes. GEMEL_BAD_SHAPE for an axis
 * that is out of range or named twice. */
gemel_status gemel__reference_axes(const gemel__rcall *call, size_t k, int rank,
                                   unsigned char *chosen);

/* ---- Groups: the elements that one element of a reduction is made of ---- */

/* Groups of elements along the chosen axes. OUTER has size 1 along these, INNER along all others.
 * Group i belongs to index i of OUTER in row-major order. MEMBERS has room for one pointer to each
 * element of a group. */
typedef struct gemel__groups {
  const gemel__rtensor *tensor;
  int64_t outer[GEMEL_MAX_RANK], inner[GEMEL_MAX_RANK];
  size_t count, size;
  int64_t at[GEMEL_MAX_RANK]; /* index in OUTER of the next group */
  void **members;
} gemel__groups;

gemel_status gemel__groups_init(gemel__groups *groups, const gemel__rtensor *tensor,
                                const unsigned char *chosen, gemel_error *error);
/* Points MEMBERS at the next group's elements, in row-major order. */
void gemel__groups_next(gemel__groups *groups);
void gemel__groups_clear(gemel__groups *groups);

/* ---- Decisions ---- */

/* Elements that decisions need besides their operands. */
typedef struct gemel__decider {
  gemel__domain *domain;
  void *block;
  void *zero, *one; /* constants */
  void *difference; /* result of the last comparison's subtraction */
  void *spare;
} gemel__decider;

gemel_status gemel__decider_init(gemel__decider *w, gemel__domain *d, gemel_error *error);
void gemel__decider_clear(gemel__decider *w);

/* The sign of a − b, or GEMEL__UNORDERED. Infinities of one sign are equal, though their difference
 * is NaN. The difference stays in W, for gemel__cover. */
int gemel__compare(gemel__decider *w, const void *a, const void *b);

/* E = the result of an undecided choice: of A if the sign of CAUSE is one of WHEN, else of B. If
 * CAUSE has a value and the domain can represent it, E records the choice or covers both; else E
 * gets a state. */
void gemel__cover(gemel__domain *d, void *e, const void *cause, unsigned when, const void *a,
                  const void *b);

/* The same where the choice is the larger of A and B. */
void gemel__cover_larger(gemel__domain *d, void *e, const void *cause, unsigned when, const void *a,
                         const void *b);

/* e = 1 if A differs from 0 (a NaN does), else 0. */
void gemel__truth(gemel__decider *w, void *e, const void *a);

/* e = the larger of A and B; NaN if either is. Equal operands: the domain's `tie`, but +0 of +0 and
 * −0 (IEEE 754-2019 maximum). */
void gemel__larger(gemel__decider *w, void *e, const void *a, const void *b);

/* e = the result for N ≥ 1 elements that are equal. */
void gemel__tied(gemel__decider *w, void *e, size_t n, const void *const *tied);

/* e = the largest of N ≥ 1 MEMBERS; NaN if one is. Equal largest ones are a tie (gemel__tied); an
 * undecided comparison is covered. TIED has room for N pointers, BEST for one element. E is none of
 * the members. */
void gemel__store_largest(gemel__decider *w, void *e, size_t n, const void *const *members,
                          const void **tied, void *best);

/* ---- Rounding ---- */

/* The dtype in which values of DTYPE are computed: f32 for the half types. */
static inline gemel_dtype gemel__compute_dtype(gemel_dtype dtype) {
  return gemel__dtype_format(dtype)->computed_in;
}

/* e = A times B, a term of a sum of products in DTYPE, rounded. Where the domain has
 * `product_digits`, operands of f32 that have more may be rounded to that many first. */
void gemel__multiply(gemel__domain *d, void *e, const void *a, const void *b, gemel_dtype dtype);

/* Rounds the result of a computation: by ULPS units of the dtype that is computed in, and for half
 * types once more, correctly. A bool becomes 0 or 1. */
void gemel__store(gemel__decider *w, void *e, gemel_dtype dtype, double ulps);

/* e = the sum of N ADDENDS in DTYPE; 0 if there are none. Domain B's `sum` includes the error of N
 * − 1 additions in any order, so only a half type, which is summed in f32, is rounded besides. */
void gemel__store_sum(gemel__decider *w, void *e, gemel_dtype dtype, size_t n,
                      const void *const *addends);

/* e = the product of N FACTORS in DTYPE; 1 if there are none. Domain B's `product` includes the
 * error of any order. Integers wrap after each multiplication, so they stay small. */
void gemel__store_product(gemel__decider *w, void *e, gemel_dtype dtype, size_t n,
                          const void *const *factors);

/* ---- Nested graphs ---- */

/* What an evaluation hands on to the evaluation of a body: additional references, and the depth of
 * nesting. The references of gemel's own operations get it as their DATA. */
typedef struct gemel__evaluation {
  gemel__reference_lookup extra;
  void *user;
  int depth;
  const char *own; /* the program's operation whose reference is being evaluated, or NULL */
  const struct gemel__evaluation *outer; /* the evaluation around this one */
} gemel__evaluation;

/* As gemel__reference_graph, for a body or a formula inside the evaluation WITHIN. */
gemel_status gemel__reference_body(const gemel_graph *graph, gemel__domain *d,
                                   const gemel__rtensor *const *inputs, gemel__rtensor *outputs,
                                   const gemel__evaluation *within, gemel_error *error);

/* RESULTS = tensors of zeros, one for each output of GRAPH, with the dtypes and shapes that the
 * graph's types give for INPUTS. Nothing is evaluated. */
gemel_status gemel__reference_body_types(const gemel_graph *graph, gemel__domain *d,
                                         const gemel__rtensor *const *inputs,
                                         gemel__rtensor *results, const gemel__evaluation *within,
                                         gemel_error *error);

#endif
