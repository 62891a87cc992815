/* SPDX-License-Identifier: MIT
 *
 * The tiers integer, float and special judge shipped code on one instance with one set of values.
 * Each runs every variant (fused, plain, one thread, odd layout, or a program's own kernel) and
 * compares each element of each result with the reference on the tier's domain.
 */
#ifndef GEMEL__TIERS_TIERS_H
#define GEMEL__TIERS_TIERS_H

#include "instances/trial.h"

/* The tiers that run the shipped code beside a reference. X(enum, fill, check, dtypes, evidence):
 * how values are drawn, what judges an instance at them, all_dtypes or float_dtypes, and what
 * carries a passed verdict. `gemel verify` asks each of every operation, its gradient and a
 * program's kernel. */
#define GEMEL__TIER_CHECKS(X)                                                                      \
  X(INTEGER, INTEGERS, gemel__check_integer, all_dtypes, BITS)                                     \
  X(FLOAT, FULL, gemel__check_float, float_dtypes, BOUND)                                          \
  X(SPECIAL, SPECIAL, gemel__check_special, float_dtypes, BITS)

/* GEMEL_DECLINED: the kernel on trial declines the instance. */
gemel_status gemel__check_integer(const gemel__instance *instance, gemel_tensor *const *values,
                                  const gemel__trial *trial, gemel__outcome *outcome,
                                  gemel_error *error);
gemel_status gemel__check_float(const gemel__instance *instance, gemel_tensor *const *values,
                                const gemel__trial *trial, gemel__outcome *outcome,
                                gemel_error *error);
gemel_status gemel__check_special(const gemel__instance *instance, gemel_tensor *const *values,
                                  const gemel__trial *trial, gemel__outcome *outcome,
                                  gemel_error *error);

/* Checks only that the variants agree in every bit where they must. For instances on which threads
 * share the work, which are too large for references. */
gemel_status gemel__check_agreement(const gemel__instance *instance, gemel_tensor *const *values,
                                    const gemel__trial *trial, gemel__outcome *outcome,
                                    gemel_error *error);

/* The same for values that are integers so small that nothing is rounded: then all variants must
 * agree, plain kernels too. */
gemel_status gemel__check_exact_agreement(const gemel__instance *instance,
                                          gemel_tensor *const *values, const gemel__trial *trial,
                                          gemel__outcome *outcome, gemel_error *error);

/* Compares with the reference on domain M: for small integers, and fast, so that many sizes and
 * large ones can be tried. */
gemel_status gemel__check_machine(const gemel__instance *instance, gemel_tensor *const *values,
                                  const gemel__trial *trial, gemel__outcome *outcome,
                                  gemel_error *error);

/* Checks that the outputs 2 k and 2 k + 1 are the same in every bit, and that variants agree as in
 * gemel__check_agreement. For arrangements that compute one thing in two ways
 * (operations/arrange.h). (twofold.c) */
gemel_status gemel__check_twofold(const gemel__instance *instance, gemel_tensor *const *values,
                                  const gemel__trial *trial, gemel__outcome *outcome,
                                  gemel_error *error);

/* A run as VARIANT failed with STATUS, as PROBLEM says: a refutation, which goes to OUTCOME, unless
 * memory is out or a kernel declined, which is returned and goes to ERROR. (check.c) */
gemel_status gemel__judge_failure(gemel_status status, const char *variant,
                                  const gemel_error *problem, gemel__outcome *outcome,
                                  gemel_error *error);

/* Check of a pair: does domain O tell the instance from TRIAL->other at VALUES? (pair.c) */
gemel_status gemel__check_pair(const gemel__instance *instance, gemel_tensor *const *values,
                               const gemel__trial *trial, gemel__outcome *outcome,
                               gemel_error *error);

/* The same for the derivatives of a pair. They may differ at a kink, where an input equals another
 * or a constant, so a difference must show at points beside it too. (gradient.c) */
gemel_status gemel__check_derivatives(const gemel__instance *instance, gemel_tensor *const *values,
                                      const gemel__trial *trial, gemel__outcome *outcome,
                                      gemel_error *error);

/* Check of the derivatives of A and B, an instance of which is INSTANCE, where A and B have values:
 * nothing says what the derivatives of log(sqrt(x)) and log(x) / 2 are at -1. If the derivatives
 * differ where A and B lack a value, all numbers of A's float leaves, which come first in VALUES,
 * become positive. GEMEL_DECLINED: that doesn't help. */
gemel_status gemel__check_derivatives_of(const gemel__instance *a, const gemel__instance *b,
                                         const gemel__instance *instance, gemel_tensor **values,
                                         const gemel__trial *trial, gemel__outcome *outcome,
                                         gemel_error *error);

/* Check of two graphs that `gemel equal` was given: as gemel__check_pair, but where only one has a
 * real value, IEEE's values decide (poles.h). The second: if 128 bits leave a comparison undecided
 * and MORE is 1, more are used, as in the others. */
gemel_status gemel__check_equal(const gemel__instance *instance, gemel_tensor *const *values,
                                const gemel__trial *trial, gemel__outcome *outcome,
                                gemel_error *error);
gemel_status gemel__check_equal_digits(const gemel__instance *instance, gemel_tensor *const *values,
                                       const gemel__trial *trial, int more, gemel__outcome *outcome,
                                       gemel_error *error);

/* ---- Derivatives (gradient.c) ---- */

/* Makes the instance of INSTANCE's forward derivative. Its inputs are those of INSTANCE, then a
 * tangent for each one of float dtype; its outputs are the tangents of the outputs of float dtype.
 */
gemel_status gemel__instance_forward(gemel__instance *forward, const gemel__instance *instance,
                                     gemel_error *error);

/* The same for PART of the derivative. */
gemel_status gemel__instance_forward_part(gemel__instance *forward, const gemel__instance *instance,
                                          gemel__partial part, gemel_error *error);

/* Changes the first thousand elements of the first N leaves, those of float dtypes, so that none is
 * 0 and no two are equal: beside the kinks of abs, relu and maximum. At a kink both sides of a rule
 * may have different derivatives. */
void gemel__values_part(const gemel__instance *instance, size_t n, gemel_tensor **values);

/* ---- Numbers that a reference names (constants.c) ---- */

/* Appends to CONSTANTS the numbers (but 0) in INSTANCE's graph and in the references of the
 * program's own operations in it. *N are there already; ROOM is for how many. GEMEL_NO_MEMORY; a
 * reference that fails adds the numbers up to its failure. */
gemel_status gemel__instance_constants(const gemel__instance *instance, double *constants,
                                       size_t room, size_t *n, gemel_error *error);

/* 1 if the reference fails at VALUES because an index is out of range. */
int gemel__reference_refuses(const gemel__instance *instance, gemel_tensor *const *values);

/* Sets half of VALUES to one of N constants or one more or less; if not INTEGRAL, also to numbers
 * nearer to it. */
void gemel__values_beside(const gemel__instance *instance, const double *constants, size_t n,
                          int integral, gemel__random *random, gemel_tensor *const *values);

/* ---- Running (execute.c) ---- */

/* How the library is run. */
typedef struct gemel__variant {
  const char *name;
  int threads;
  int plain; /* 1: plain kernels, as gemel_options.plain */
  /* 1: memory is overwritten before it is written and once nothing reads it any more */
  int poison;
  int scattered; /* 1: inputs and results in odd layouts */
  int overlaps;  /* 1: a result may overlap an input */
  int lifted;    /* 0, or 1 + the gemel_lift_strategy for the device in memory space 1 */
  int there;     /* 1: inputs lie on the device, too */
  int in_views;  /* 1: operands are views of larger inputs; only for a single operation */
  /* 1: only some results are asked for, if an operation spares those that nobody reads */
  int some;
  int sequence; /* 1: in a sequence of calls (sequence.c), for instances with in_sequence */
  int one_in;   /* lifted: one in so many instances is run like that; of large ones fewer */
} gemel__variant;

/* The variants, ending with a NULL name. */
extern const gemel__variant gemel__variants[];

/* For instances of which many are tried: three threads, plain kernels, odd layouts. For those whose
 * threads may meet at a place: three threads time and again, and one. */
extern const gemel__variant gemel__few_variants[];
extern const gemel__variant gemel__repeated_variants[];

/* The variants of an instance for a device: the first one, and lifted by each strategy. */
extern const gemel__variant gemel__lifted_variants[];

enum { GEMEL__DEVICE_SPACE = 1 }; /* the memory space of the device on which lifted variants run */

/* 1 if there is a device for lifted variants. */
int gemel__has_device(gemel_context *context);

/* 1 if INSTANCE is run as VARIANT: it applies to the instance and its context, and chance says so.
 */
int gemel__variant_runs(const gemel__instance *instance, const gemel__variant *variant,
                        gemel__random *random);

/* Compiles INSTANCE for the first variant or, PLAIN, for the plain one, once for runs on many
 * values. Reports no error: running it does. */
void gemel__instance_compile(gemel__instance *instance, int plain);

/* Runs the instance's graph at VALUES, as many calls as it says. OUTPUTS gets a new tensor for each
 * of gemel__instance_results, NULL for those that the variant leaves out. A write outside a result
 * or to an input is reported as GEMEL_INTERNAL. */
gemel_status gemel__execute(const gemel__instance *instance, const gemel__variant *variant,
                            gemel_tensor *const *values, gemel__random *random,
                            gemel_tensor **outputs, gemel_error *error);

/* Runs INSTANCE at VALUES by the first variant, for its status alone. */
gemel_status gemel__instance_run(const gemel__instance *instance, gemel_tensor *const *values,
                                 gemel__random *random, gemel_error *error);

/* The same for a variant with `sequence`, which has one set of results (sequence.c). */
gemel_status gemel__execute_sequence(const gemel__instance *instance, const gemel__variant *variant,
                                     gemel_tensor *const *values, gemel_tensor **outputs,
                                     gemel_error *error);

/* Compiles GRAPH as VARIANT is to be run, with its N states bound to VARIABLES. */
gemel_function *gemel__variant_compile(const gemel__variant *variant, const gemel_graph *graph,
                                       size_t n, gemel_shared *const *variables,
                                       gemel_error *error);

/* 1 if A and B have the same bits in every element, whatever their layouts; 0 if B can't be read.
 */
int gemel__tensors_equal(const gemel_tensor *a, const gemel_tensor *b);

/* 1 if two elements of DTYPE have the same bits, or both are NaN. */
int gemel__same_bits(gemel_dtype dtype, const void *a, const void *b);

#endif
