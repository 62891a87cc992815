/* SPDX-License-Identifier: MIT
 *
 * What is verified in a tier's loop over instances, shared by the files that try instances:
 * verify.c, besides.c, gradient.c, kernel-extent.c.
 */
#ifndef GEMEL__OPERATIONS_SUBJECT_H
#define GEMEL__OPERATIONS_SUBJECT_H

#include "tiers/kernel.h"
#include "harness/run.h"

/* Most elements of an operand: of two instances in three, and of the third. */
enum { GEMEL__SMALL_ELEMENTS = 40, GEMEL__LARGE_ELEMENTS = 2000 };

/* What is being verified: an operation or its derivative, the library's code or a program's kernel.
 */
struct subject {
  gemel__run *run;
  const gemel_operation *op;
  const char *kind;
  char name[160];
  int derivative;              /* 0: the operation, 1: the graph of its gradient */
  gemel__kernel_trial *kernel; /* NULL: the library's code */
  gemel_dtype dtype;           /* of the instance at hand */
  gemel__wanted wanted;        /* rank, axis and length that the sampler is to give */
  gemel_dtype taken;           /* the dtype of the instance that the kernel took last */
  int took;                    /* 1: the kernel took an instance in this tier */
  int embedded;                /* 1: the operation stands inside a larger graph */
  int stateful;                /* 1: that graph has states, too */
  int arranged;                /* 1: the instance at hand is none of the sampler's (besides.c) */
  int in_sequence;             /* 1: each instance is also run in a sequence of calls */
  gemel__fill fill;            /* how its values are drawn */
  int decides;                 /* 1: half of the values lie at or beside numbers of the reference */
  int own;                     /* 1: a program's operation to which the program gave a reference */
};

struct tier_plan {
  gemel_tier tier;
  gemel__fill fill;
  gemel__check check;
  const gemel_dtype *dtypes;
  size_t n_dtypes;
  gemel_evidence how;
  int64_t elements; /* most of an operand; 0: GEMEL__SMALL_ or LARGE_ELEMENTS */
};

/* Draws an instance; tries dtypes from the K-th on until the sampler accepts one. */
gemel_status gemel__subject_draw(struct subject *s, const gemel_dtype *dtypes, size_t n, size_t k,
                                 int64_t max_elements, gemel__random *random,
                                 gemel__instance *instance, gemel_error *error);

/* Draws values and judges them by CHECK. A refutation is shrunk and reported.
 * GEMEL_DECLINED: the kernel declines the instance, or the reference doesn't take it. */
gemel_status gemel__subject_judge(struct subject *s, const struct tier_plan *plan,
                                  gemel__check check, gemel__instance *instance,
                                  gemel__random *random, gemel__inquiry *q, gemel_error *error);

/* Shrinks INSTANCE with VALUES, which CHECK refutes, and reports it. AGAIN draws smaller instances;
 * NULL: it stays. */
gemel_status gemel__subject_refute(struct subject *s, const struct tier_plan *plan,
                                   gemel__check check, gemel__redraw again,
                                   gemel__instance *instance, gemel_tensor ***values,
                                   const gemel__trial *trial, gemel__inquiry *q,
                                   gemel_error *error);

/* Reports TIER with VERDICT for REASON, without instances. */
void gemel__subject_reason(struct subject *s, gemel_tier tier, gemel_verdict verdict,
                           const char *reason);

/* Reports that the library fails to build the graph of an instance (STATUS, ERROR), which is a
 * refutation. GEMEL_DECLINED and GEMEL_NOT_DIFFERENTIABLE are no failures; GEMEL_NO_MEMORY is
 * returned. */
gemel_status gemel__subject_refuse(gemel__inquiry *q, gemel_status status,
                                   const gemel_error *error);

/* How many instances are wanted: eight times as many for an operation with a dtype among its
 * attributes, such as cast. */
size_t gemel__subject_instances(const struct subject *s);

/* Now and then makes values repeat along an axis, so that an operand may have stride 0, or makes
 * two operands overlap, so that a program's kernel may get them in one piece of memory. */
void gemel__subject_relate(const struct subject *s, const gemel__instance *instance,
                           gemel__random *random, gemel_tensor *const *values);

/* 1 if the row says that results may be rounded even on integers (exp). */
int gemel__subject_inexact(const struct subject *s);

/* Where OUTCOME found the difference, in words. */
void gemel__subject_place(const struct subject *s, const gemel__outcome *outcome, char *place,
                          size_t bytes);

/* The plan of the instances in PLAN's tier that are larger than the usual ones, and their *COUNT
 * (besides.c). */
const struct tier_plan *gemel__subject_larger(const struct subject *s, const struct tier_plan *plan,
                                              size_t *count);

/* Tries what chance gives too rarely: every remainder of a block, chains, many operands, indices
 * that meet, batches that can't be merged, logits that are −∞ (besides.c). */
gemel_status gemel__subject_besides(struct subject *s, const struct tier_plan *plan,
                                    gemel__inquiry *q, gemel_error *error);

/* Tries a program's kernel on more than the usual instances (kernel-extent.c): many calls on a few
 * states, empty operands, axes of every length, large operands. */
gemel_status gemel__subject_kernel(struct subject *s, const struct tier_plan *plan,
                                   gemel__inquiry *q, gemel_error *error);

/* Tier real of an operation: its row's law (operations/law.c). */
gemel_status gemel__verify_law(gemel__run *run, const gemel_operation *op, const char *name,
                               gemel_error *error);

/* Tier gradient (gradient.c). */
gemel_status gemel__verify_gradient(struct subject *s, gemel_error *error);

/* All tiers of an operation without a reference. Only its derivative can be judged: by Taylor's
 * theorem, on the results of its own kernel. */
gemel_status gemel__verify_unknown(struct subject *s, gemel_error *error);

#endif
