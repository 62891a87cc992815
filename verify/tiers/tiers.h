/* SPDX-License-Identifier: MIT
 *
 * The tiers that judge shipped code on one instance at one set of values: integer, float, special.
 * Each runs every variant (fused, plain, one thread, odd layouts, or a program's own kernel) and
 * compares each element of each result with what the reference says on the tier's domain.
 */
#ifndef GEMEL__TIERS_TIERS_H
#define GEMEL__TIERS_TIERS_H

#include "instances/trial.h"

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

/* Only that the variants agree in every bit where they must; for instances so large that threads
 * share them, on which references would take too long. */
gemel_status gemel__check_agreement(const gemel__instance *instance, gemel_tensor *const *values,
                                    const gemel__trial *trial, gemel__outcome *outcome,
                                    gemel_error *error);

/* The same where all values are integers so small that nothing is rounded: then every variant gives
 * the same, plain kernels too. */
gemel_status gemel__check_exact_agreement(const gemel__instance *instance,
                                          gemel_tensor *const *values, const gemel__trial *trial,
                                          gemel__outcome *outcome, gemel_error *error);

/* For a pair: does domain O tell the instance from TRIAL->other at VALUES? (pair.c) */
gemel_status gemel__check_pair(const gemel__instance *instance, gemel_tensor *const *values,
                               const gemel__trial *trial, gemel__outcome *outcome,
                               gemel_error *error);

/* The same of the derivatives of a pair: they may differ on a kink, where an input ties with
 * another or with a constant, so a difference has to show at points beside, too. (gradient.c) */
gemel_status gemel__check_derivatives(const gemel__instance *instance, gemel_tensor *const *values,
                                      const gemel__trial *trial, gemel__outcome *outcome,
                                      gemel_error *error);

/* As gemel__check_pair; with MORE digits where the first ones leave something open. */
gemel_status gemel__check_pair_digits(const gemel__instance *instance, gemel_tensor *const *values,
                                      const gemel__trial *trial, int more, gemel__outcome *outcome,
                                      gemel_error *error);

/* For a pair: does the shipped code's result for the instance differ in any bit from that for
 * TRIAL->other? The second runs plain kernels where fused ones agree. (pairs/contrast.c) */
gemel_status gemel__check_contrast(const gemel__instance *instance, gemel_tensor *const *values,
                                   const gemel__trial *trial, gemel__outcome *outcome,
                                   gemel_error *error);
gemel_status gemel__check_contrast_ways(const gemel__instance *instance,
                                        gemel_tensor *const *values, const gemel__trial *trial,
                                        gemel__outcome *outcome, gemel_error *error);

/* ---- Numbers that a reference names (constants.c) ---- */

/* Appends to CONSTANTS, which has room for ROOM and *N already, the numbers (but 0) in the
 * references of the program's own operations in INSTANCE, and in its graph. No error but memory: a
 * reference that fails names what it has come to. */
gemel_status gemel__instance_constants(const gemel__instance *instance, double *constants,
                                       size_t room, size_t *n, gemel_error *error);

/* 1 if the reference has no result at VALUES: an index among them is out of range. */
int gemel__reference_refuses(const gemel__instance *instance, gemel_tensor *const *values);

/* Half of VALUES become one of N constants, or one more or less; if they needn't be INTEGRAL also
 * what is nearer. */
void gemel__values_beside(const gemel__instance *instance, const double *constants, size_t n,
                          int integral, gemel__random *random, gemel_tensor *const *values);

/* ---- Running (execute.c) ---- */

/* How the library is run. */
typedef struct gemel__variant {
  const char *name;
  int threads;
  int plain;     /* as gemel_options.plain */
  int poison;    /* memory that nothing reads any more is overwritten */
  int scattered; /* inputs and results in odd layouts */
  int overlaps;  /* a result may overlap an input */
  int lifted;    /* on the device of memory space 1: 1 + a gemel_lift_strategy */
  int there;     /* inputs lie there, too */
  int in_views;  /* operands are views of larger inputs; one operation alone */
  int some;      /* some results alone, where an operation spares those that nobody reads */
  int sequence;  /* in a sequence of calls (sequence.c), of instances that ask for it */
  int one_in;    /* so many instances are run like that, drawn at random; of large ones fewer */
} gemel__variant;

/* The variants, ending with a NULL name. */
extern const gemel__variant gemel__variants[];

/* Those of an instance that is to try the device: the first one, and lifted by each strategy. */
extern const gemel__variant gemel__lifted_variants[];

/* 1 if there is a device for lifted variants. */
int gemel__has_device(gemel_context *context);

/* 1 if INSTANCE is run as VARIANT: its context has what that runs on, and it is drawn. */
int gemel__variant_runs(const gemel__instance *instance, const gemel__variant *variant,
                        gemel__random *random);

/* Makes an instance that will be run at many values ready for the first variant or, PLAIN, for the
 * plain one, once for all of them. No error: what can't be compiled says so when it is run. */
void gemel__instance_compile(gemel__instance *instance, int plain);

/* Runs the instance's graph at VALUES, as often as it says; OUTPUTS gets new tensors
 * (gemel__instance_results), NULL for results that the variant leaves out. Writing outside a
 * result, or to an input, is reported as GEMEL_INTERNAL. */
gemel_status gemel__execute(const gemel__instance *instance, const gemel__variant *variant,
                            gemel_tensor *const *values, gemel__random *random,
                            gemel_tensor **outputs, gemel_error *error);

/* The same as VARIANT->sequence has it, with one set of results (sequence.c). */
gemel_status gemel__execute_sequence(const gemel__instance *instance, const gemel__variant *variant,
                                     gemel_tensor *const *values, gemel_tensor **outputs,
                                     gemel_error *error);

/* GRAPH, whose N states are VARIABLES, compiled to be run as VARIANT. */
gemel_function *gemel__variant_compile(const gemel__variant *variant, const gemel_graph *graph,
                                       size_t n, gemel_shared *const *variables,
                                       gemel_error *error);

/* 1 if elements are the same in every bit, wherever they lie; 0 if B can't be read. */
int gemel__tensors_equal(const gemel_tensor *a, const gemel_tensor *b);

/* 1 if two elements of DTYPE have the same bits, or both are NaN. */
int gemel__same_bits(gemel_dtype dtype, const void *a, const void *b);

#endif
