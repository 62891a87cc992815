/* SPDX-License-Identifier: MIT
 *
 * What a tier's loop over instances is about, for the files that draw instances of their own.
 */
#ifndef GEMEL__OPERATIONS_SUBJECT_H
#define GEMEL__OPERATIONS_SUBJECT_H

#include "kernels/kernel.h"
#include "harness/run.h"

/* Most elements of an operand of most instances, and of some. */
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
  gemel__wanted wanted;        /* of instances */
  gemel_dtype taken;           /* of an instance that the kernel took last */
  int took;                    /* it took one in this tier */
  int embedded;                /* the instance at hand stands inside a graph */
  int stateful;                /* which has states, too */
  int in_sequence;             /* instances are run in a sequence of calls, too */
  gemel__fill fill;            /* how its values are drawn */
  int decides;                 /* also beside the numbers that its reference names */
  int own;                     /* the operation is the program's, and has a reference from it */
};

struct tier_plan {
  gemel_tier tier;
  gemel__fill fill;
  gemel__check check;
  const gemel_dtype *dtypes;
  size_t n_dtypes;
  gemel_evidence how;
  int64_t elements; /* of the largest operand; 0: some of two usual numbers */
};

/* Draws an instance; tries dtypes from the K-th on until the sampler accepts one. */
gemel_status gemel__subject_draw(struct subject *s, const gemel_dtype *dtypes, size_t n, size_t k,
                                 int64_t max_elements, gemel__random *random,
                                 gemel__instance *instance, gemel_error *error);

/* Draws values and has CHECK judge them; a refutation is made small and reported (*DONE). */
gemel_status gemel__subject_judge(struct subject *s, const struct tier_plan *plan,
                                  gemel__check check, gemel__instance *instance,
                                  gemel__random *random, gemel_record *record, gemel__evidence *e,
                                  int *done, gemel_error *error);

/* Reports TIER with VERDICT for REASON, without instances. */
void gemel__subject_reason(struct subject *s, gemel_tier tier, gemel_verdict verdict,
                           const char *reason);

/* The library refuses to build the graph of an instance, which is a fault of its own; unless memory
 * is out. *DONE: it was reported. */
gemel_status gemel__subject_refuse(struct subject *s, gemel_record *record, gemel_status status,
                                   int *done, const gemel_error *error);

/* How many instances are wanted: an operation with a dtype among its attributes is as many
 * operations. */
size_t gemel__subject_instances(const struct subject *s);

/* Has values, now and then, allow an operand to have stride 0, or two of a kernel's to share
 * memory. */
void gemel__subject_relate(const struct subject *s, const gemel__instance *instance,
                           gemel__random *random, gemel_tensor *const *values);

/* 1 if the row says that no result is exact, on integers either. */
int gemel__subject_inexact(const struct subject *s);

/* Where OUTCOME found the difference, in words. */
void gemel__subject_place(const struct subject *s, const gemel__outcome *outcome, char *place,
                          size_t bytes);

/* Adds ONE's counts to TOTAL, which takes over the rest. */
void gemel__outcome_add(gemel__outcome *total, const gemel__outcome *one);

/* What a program's kernel is tried on beside the usual instances (kernel-extent.c): many calls on
 * a few states, empty operands, and large ones. */
gemel_status gemel__subject_kernel(struct subject *s, const struct tier_plan *plan,
                                   gemel_record *record, gemel__evidence *e, int *done,
                                   gemel_error *error);

/* Tier gradient (gradient.c). */
gemel_status gemel__verify_gradient(struct subject *s, gemel_error *error);

/* All tiers of an operation without a reference. Only its derivatives can be judged: against its
 * own kernel. */
gemel_status gemel__verify_unknown(struct subject *s, gemel_error *error);

#endif
