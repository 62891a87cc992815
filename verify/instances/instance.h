/* SPDX-License-Identifier: MIT
 *
 * An instance: a graph of constant shapes, and the range of values of each input. Whatever the
 * harness judges is made an instance first: an operation applied to inputs, a derivative, one side
 * of a pair.
 */
#ifndef GEMEL__INSTANCES_INSTANCE_H
#define GEMEL__INSTANCES_INSTANCE_H

#include <gemel/verify.h>
#include "reference/reference.h"
#include "sample/points.h"
#include "base/random.h"

/* An input of an instance. */
typedef struct gemel__leaf {
  gemel_dtype dtype;
  int rank;
  int64_t shape[GEMEL_MAX_RANK];
  size_t count;
  gemel_range range;
  int64_t low, high; /* for GEMEL_RANGE_INDEX: LOW … HIGH − 1 */
  unsigned facts;    /* GEMEL_FACT_…: what is assumed of every element */
} gemel__leaf;

typedef struct gemel__instance {
  gemel_graph *graph;
  size_t n_leaves;
  gemel__leaf *leaves;
  int elementwise; /* each result element depends on one element of each operand */
  double ulp;      /* a scalar operation's claimed accuracy in ULPs; −1: none, the bound is
                    * propagated */
  gemel_function *compiled;       /* NULL, or GRAPH compiled, to be run often; see tiers/tiers.h */
  gemel_function *compiled_plain; /* the same, with plain kernels */
  size_t calls; /* 0: one call, in which states are ordinary inputs. Else GRAPH is called so often,
                 * and each call reads the states as the last one updated them */
  int in_sequence; /* 1: it is also run in a sequence of calls, with its operands as shared
                    * variables */
  const struct gemel__variant *variants; /* the variants that it is run in; NULL: the usual ones
                                          * (tiers/tiers.h) */
} gemel__instance;

/* 1 if STATUS is that of an index out of range or of an impossible size, which show only when a
 * graph runs. */
static inline int gemel__is_no_result(gemel_status status) {
  return status == GEMEL_BAD_VALUE || status == GEMEL_BAD_SHAPE;
}

/* 1 if there is nothing to compare: a graph has no result, or isn't followed to its end. */
static inline int gemel__is_no_point(gemel_status status) {
  return gemel__is_no_result(status) || status == GEMEL_TOO_LONG;
}

/* Ways of drawing values. */
typedef enum gemel__fill {
  GEMEL__FILL_INTEGERS, /* small integers in floats; integer dtypes at their extremes */
  GEMEL__FILL_FULL,     /* full significands */
  GEMEL__FILL_SPECIAL,  /* NaN, infinities, zeros, subnormals among small numbers */
  GEMEL__FILL_ZEROS,    /* the same with finite numbers only */
  GEMEL__FILL_INFINITE, /* FILL_SPECIAL without NaN */
  GEMEL__FILL_NAN,      /* FILL_SPECIAL without infinities */
  GEMEL__FILL_SIGNS,    /* zeros of both signs, beside numbers of one sign */
  GEMEL__FILL_MEETING,  /* 0 · ∞, ∞ − ∞ and the like (meeting.h) */
  GEMEL__FILL_POWERS,   /* powers of two */
  GEMEL__FILL_LEAST,    /* all elements of the first operand, and of some others, are the dtype's
                         * least number, in floats −∞ */
  GEMEL__FILL_GREATEST, /* the same with the greatest number */
  GEMEL__FILL_LATE,     /* small numbers, and a larger one as the last element; truths are all 1 */
  GEMEL__FILL_SMALL,    /* small integers in every dtype */
  GEMEL__FILL_MASKED, /* GEMEL__FILL_FULL; of logits (GEMEL_RANGE_MODERATE), one in three is −∞ */
  GEMEL__FILL_LARGE, /* GEMEL__FILL_FULL; logits lie about a number of which exp overflows, numbers
                      * without a range are a million times as large, or more */
  GEMEL__FILL_POINTS /* points for domain O: ties, constants, magnitudes (points.h) */
} gemel__fill;

/* Draws an instance of the operation RECORD in DTYPE, with operands of at most MAX_ELEMENTS.
 * GEMEL_DECLINED if there is none. Release instances with gemel__instance_clear. */
gemel_status gemel__instance_draw(gemel__instance *instance, gemel_context *context,
                                  const gemel_operation *record, gemel_dtype dtype,
                                  int64_t max_elements, gemel__random *random, gemel_error *error);

/* Requirements on the first operand, as in gemel_sample. All 0: none. */
typedef struct gemel__wanted {
  int rank;
  int64_t length;
  int axis;
} gemel__wanted;

/* The same with the first operand as WANTED, if the operation allows it. */
gemel_status gemel__instance_draw_ranked(gemel__instance *instance, gemel_context *context,
                                         const gemel_operation *record, gemel_dtype dtype,
                                         int64_t max_elements, gemel__wanted wanted,
                                         gemel__random *random, gemel_error *error);

/* Makes an instance of GRAPH, whose input types must be constant, and takes a reference to it.
 * RANGES has one entry an input; NULL: by what is assumed of the inputs. */
gemel_status gemel__instance_of_graph(gemel__instance *instance, gemel_graph *graph,
                                      const gemel_range *ranges, gemel_error *error);

/* Makes the instance of INSTANCE's reverse derivative. Its inputs are those of INSTANCE, then a
 * cotangent ("u0", …) for each output of float dtype; its outputs are the cotangents of the inputs
 * of float dtype. GEMEL_DECLINED if nothing is differentiable. */
gemel_status gemel__instance_gradient(gemel__instance *gradient, const gemel__instance *instance,
                                      gemel_error *error);

/* Part of a derivative: of one output by one input. Both are counted from 1, and 0 stands for all.
 * A derivative rule is told which ones are asked for, and may be wrong for some only. */
typedef struct gemel__partial {
  size_t input, output;
} gemel__partial;

/* 1 if PART asks for input K, for output K. */
static inline int gemel__partial_takes_input(gemel__partial part, size_t k) {
  return part.input == 0 || part.input == k + 1;
}
static inline int gemel__partial_takes_output(gemel__partial part, size_t k) {
  return part.output == 0 || part.output == k + 1;
}

/* Lists the parts of one input or one output each, where there are several. PARTS has room for
 * GEMEL__MOST_PARTIALS. Returns their number. */
enum { GEMEL__MOST_PARTIALS = 2 * GEMEL_SAMPLE_MAX_INPUTS };
size_t gemel__instance_partials(const gemel__instance *instance, gemel__partial *parts);

/* Like gemel__instance_gradient, for PART of the derivative. With UNDERIVED the derivative rule
 * isn't called, and the outputs are the inputs themselves: a graph with the inputs of a reverse
 * derivative that doesn't exist. */
gemel_status gemel__instance_gradient_part(gemel__instance *gradient,
                                           const gemel__instance *instance, gemel__partial part,
                                           int underived, gemel_error *error);

/* Puts the instance into a larger graph, so that the executor makes more than one kernel of it.
 * STATEFUL: some inputs are states, and there are more states, which its results update. */
gemel_status gemel__instance_embed(gemel__instance *embedded, const gemel__instance *base,
                                   int stateful, gemel__random *random, gemel_error *error);

/* Writes where ELEMENT of OUTPUT stands: "y[2, 0]", "y" of a scalar. Where a size isn't known it is
 * "y, element 5". */
void gemel__place_text(const gemel_graph *graph, size_t output, size_t element, char *text,
                       size_t bytes);

/* The number of results: the outputs of all calls, updates included. */
size_t gemel__instance_results(const gemel__instance *instance);

void gemel__instance_clear(gemel__instance *instance);

/* Draws a value for each leaf. VALUES, an array of n_leaves, gets new row-major tensors. */
gemel_status gemel__instance_values(const gemel__instance *instance, gemel__fill fill,
                                    gemel__random *random, gemel_tensor **values,
                                    gemel_error *error);
/* The same, with values around CONSTANTS among them (GEMEL__FILL_POINTS). */
gemel_status gemel__instance_points(const gemel__instance *instance, gemel__fill fill,
                                    const double *constants, size_t n_constants,
                                    gemel__random *random, gemel_tensor **values,
                                    gemel_error *error);
/* Fills elements of LEAF by GEMEL__FILL_LATE; indices are the last ones. */
void gemel__leaf_fill_late(const gemel__leaf *leaf, gemel__random *random, void *data);

/* Makes all elements of each integer or bool leaf that is no index the least or the greatest of its
 * dtype: products and sums of many are at their ends. TURN says whether all leaves get the least,
 * the greatest, or each either of them. */
void gemel__values_put_ends(const gemel__instance *instance, size_t turn, gemel__random *random,
                            gemel_tensor *const *values);
/* Releases N tensors, which become NULL; and frees the array too (may be NULL). */
void gemel__tensors_release(size_t n, gemel_tensor **tensors);
void gemel__tensors_free(size_t n, gemel_tensor **tensors);

/* The same in a new array *VALUES; NULL if that fails. Release it with gemel__values_free. */
gemel_status gemel__values_draw(const gemel__instance *instance, gemel__fill fill,
                                gemel__random *random, gemel_tensor ***values, gemel_error *error);
/* The same, with values around CONSTANTS among them, as gemel__instance_points. */
gemel_status gemel__values_around(const gemel__instance *instance, gemel__fill fill,
                                  const double *constants, size_t n_constants,
                                  gemel__random *random, gemel_tensor ***values,
                                  gemel_error *error);
void gemel__values_free(const gemel__instance *instance, gemel_tensor **values);
/* A copy of VALUES in a new array; NULL if memory is out. */
gemel_tensor **gemel__values_copy(const gemel__instance *instance, gemel_tensor *const *values,
                                  gemel_error *error);

/* Replaces NaNs and infinities by moderate numbers; the sign of an infinity stays. */
void gemel__values_tame(const gemel__instance *instance, gemel_tensor **values);

/* A copy of TENSOR in an odd layout: permuted axes, gaps, negative strides, an offset. The memory
 * around its elements is NaN. */
gemel_tensor *gemel__tensor_scattered(const gemel_tensor *tensor, gemel__random *random,
                                      gemel_error *error);

/* Copies the elements of FROM, row-major, to TO, with other strides. */
void gemel__put_elements(const gemel_view *from, char *to, const int64_t *strides);

/* Makes the same instance, called once, with operands that are views of larger inputs: permuted,
 * with gaps, reversed, at an offset, broadcast where elements of VALUES are equal. *STORED gets the
 * values of these inputs; release them with gemel__values_free. */
gemel_status gemel__instance_in_views(gemel__instance *made, const gemel__instance *base,
                                      gemel_tensor *const *values, gemel__random *random,
                                      gemel_tensor ***stored, gemel_error *error);

/* Evaluates the instance's graph by references in D at VALUES; OUTPUTS gets the results. The second
 * asks EXTRA for a reference first, as gemel__reference_graph does. */
gemel_status gemel__instance_reference(const gemel__instance *instance, gemel__domain *d,
                                       gemel_tensor *const *values, gemel__rtensor *outputs,
                                       gemel_error *error);
gemel_status gemel__instance_reference_by(const gemel__instance *instance, gemel__domain *d,
                                          gemel_tensor *const *values, gemel__rtensor *outputs,
                                          gemel__reference_lookup extra, void *user,
                                          gemel_error *error);

/* Sets LEAF to the type of output K of GRAPH. GEMEL_DECLINED if a size is known only at run
 * time. */
gemel_status gemel__leaf_of_output(const gemel_graph *graph, size_t k, gemel__leaf *leaf);

#endif
