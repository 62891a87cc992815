/* SPDX-License-Identifier: MIT
 *
 * An instance: a graph of concrete shapes, with what values its inputs may take. Everything that
 * the harness judges is turned into one: an operation applied to inputs, a derivative, a side of a
 * pair.
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
  int64_t low, high; /* GEMEL_RANGE_INDEX */
  unsigned facts;    /* GEMEL_FACT_…: what is assumed of the input, and every element keeps */
} gemel__leaf;

typedef struct gemel__instance {
  gemel_graph *graph;
  size_t n_leaves;
  gemel__leaf *leaves;
  int elementwise;          /* each result element depends on one element of each operand */
  double ulp;               /* a scalar operation's claim; −1: none, the bound is propagated */
  gemel_function *compiled; /* NULL, or GRAPH made ready to be run often; see tiers/tiers.h */
  gemel_function *compiled_plain; /* the same, by plain kernels */
  size_t calls; /* 0: one, of which states are inputs as all others. Else GRAPH is called so often,
                   and what a call makes of the states the next one reads */
  int in_sequence; /* 1: it is also run in a sequence of calls on its operands as shared variables
                    */
  const struct gemel__variant *variants; /* how it is run; NULL: as all are (tiers/tiers.h) */
} gemel__instance;

/* What a graph says of an index out of range, or of a size that can't be, which only a run tells:
 * values at which there is nothing to compare. */
static inline int gemel__is_no_point(gemel_status status) {
  return status == GEMEL_BAD_VALUE || status == GEMEL_BAD_SHAPE;
}

/* How values are drawn. */
typedef enum gemel__fill {
  GEMEL__FILL_INTEGERS, /* small integers in floats; integer dtypes at their extremes */
  GEMEL__FILL_FULL,     /* full significands */
  GEMEL__FILL_SPECIAL,  /* NaN, infinities, zeros, subnormals among small numbers */
  GEMEL__FILL_ZEROS,    /* of these, only finite numbers */
  GEMEL__FILL_INFINITE, /* no NaN */
  GEMEL__FILL_NAN,      /* no infinities */
  GEMEL__FILL_SIGNS,    /* zeros of both signs, beside numbers of one sign */
  GEMEL__FILL_MEETING,  /* zeros and infinities or NaNs that meet (meeting.h) */
  GEMEL__FILL_POWERS,   /* powers of two */
  GEMEL__FILL_LEAST,    /* the dtype's least number, in floats −infinity, is the only value of the
                           first operand, and of some others */
  GEMEL__FILL_GREATEST, /* the same with the greatest one */
  GEMEL__FILL_LATE,     /* small numbers, and as the last element a larger one; all truths hold */
  GEMEL__FILL_POINTS    /* as domain O wants them: ties, constants, magnitudes */
} gemel__fill;

/* Draws an instance of the operation RECORD in DTYPE. GEMEL_DECLINED if it has none there. */
gemel_status gemel__instance_draw(gemel__instance *instance, gemel_context *context,
                                  const gemel_operation *record, gemel_dtype dtype,
                                  int64_t max_elements, gemel__random *random, gemel_error *error);

/* What is wanted of the first operand, as in gemel_sample; all 0: nothing. */
typedef struct gemel__wanted {
  int rank;
  int64_t length;
  int axis;
} gemel__wanted;

/* The same with a first operand as WANTED, if the operation leaves that open. */
gemel_status gemel__instance_draw_ranked(gemel__instance *instance, gemel_context *context,
                                         const gemel_operation *record, gemel_dtype dtype,
                                         int64_t max_elements, gemel__wanted wanted,
                                         gemel__random *random, gemel_error *error);

/* Makes an instance of GRAPH, whose input types must be constant: GRAPH is referenced, DOMAINS (may
 * be NULL: what is assumed of the inputs) has one entry an input. */
gemel_status gemel__instance_of_graph(gemel__instance *instance, gemel_graph *graph,
                                      const gemel_range *ranges, gemel_error *error);

/* The instance of its derivative: a graph with INSTANCE's inputs, then one cotangent an output of
 * float dtype ("u0", …), whose outputs are the cotangents of the inputs of float dtype.
 * GEMEL_DECLINED if nothing is differentiable. */
gemel_status gemel__instance_gradient(gemel__instance *gradient, const gemel__instance *instance,
                                      gemel_error *error);

/* The instance of its forward derivative: INSTANCE's inputs, then a tangent for each of float
 * dtype; its outputs are the tangents of the outputs of float dtype (tiers/gradient.c). */
gemel_status gemel__instance_forward(gemel__instance *forward, const gemel__instance *instance,
                                     gemel_error *error);

/* Part of a derivative: by one of the inputs, of one of the outputs; both are counted from 1, and 0
 * stands for all. A rule is told which of them are asked for, and may be wrong for some only. */
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

/* The parts of one input or output, if there are several; PARTS has room for GEMEL__MOST_PARTIALS.
 * Returns how many they are. */
enum { GEMEL__MOST_PARTIALS = 2 * GEMEL_SAMPLE_MAX_INPUTS };
size_t gemel__instance_partials(const gemel__instance *instance, gemel__partial *parts);

/* As the two above, of PART. With UNDERIVED the rule isn't asked, and inputs stand for their
 * cotangents: so the graph has the inputs of a reverse derivative that doesn't exist. */
gemel_status gemel__instance_gradient_part(gemel__instance *gradient,
                                           const gemel__instance *instance, gemel__partial part,
                                           int underived, gemel_error *error);
gemel_status gemel__instance_forward_part(gemel__instance *forward, const gemel__instance *instance,
                                          gemel__partial part, gemel_error *error);

/* The instance inside a larger graph: what the executor makes of it is then more than one kernel.
 * STATEFUL: some of its inputs are states, and there are more, which its results update. */
gemel_status gemel__instance_embed(gemel__instance *embedded, const gemel__instance *base,
                                   int stateful, gemel__random *random, gemel_error *error);

/* How many results it has: the outputs of each call, updates among them. */
size_t gemel__instance_results(const gemel__instance *instance);

void gemel__instance_clear(gemel__instance *instance);

/* Draws a value for each leaf into new row-major tensors (an array of n_leaves). */
gemel_status gemel__instance_values(const gemel__instance *instance, gemel__fill fill,
                                    gemel__random *random, gemel_tensor **values,
                                    gemel_error *error);
/* The same with values around these constants among them (GEMEL__FILL_POINTS). */
gemel_status gemel__instance_points(const gemel__instance *instance, gemel__fill fill,
                                    const double *constants, size_t n_constants,
                                    gemel__random *random, gemel_tensor **values,
                                    gemel_error *error);
void gemel__tensors_release(size_t n, gemel_tensor **tensors);

/* The same in an array of its own, *VALUES; NULL if that fails. Release it with
 * gemel__values_free. */
gemel_status gemel__values_draw(const gemel__instance *instance, gemel__fill fill,
                                gemel__random *random, gemel_tensor ***values, gemel_error *error);
void gemel__values_free(const gemel__instance *instance, gemel_tensor **values);

/* Moves elements of the first N leaves, of float dtypes, so that none is 0 and no two are equal,
 * for the first thousand of them: beside the kinks of abs, relu, maximum and their kin, where each
 * side of a rule may have a derivative of its own. */
void gemel__values_part(const gemel__instance *instance, size_t n, gemel_tensor **values);

/* Puts moderate numbers, of the sign of an infinity, in the place of NaNs and infinities. */
void gemel__values_tame(const gemel__instance *instance, gemel_tensor **values);

/* The same tensor in an odd layout: permuted axes, gaps, negative strides, an offset; the elements
 * around it are NaN. */
gemel_tensor *gemel__tensor_scattered(const gemel_tensor *tensor, gemel__random *random,
                                      gemel_error *error);

/* Stores the elements of FROM, row-major, at TO, with other strides. */
void gemel__put_elements(const gemel_view *from, char *to, const int64_t *strides);

/* The same instance, called once, on operands that are views of larger inputs: permuted, with gaps,
 * backwards, at an offset, broadcast where elements of VALUES are alike. STORED are the values of
 * these inputs, as many; release them with gemel__values_free. */
gemel_status gemel__instance_in_views(gemel__instance *made, const gemel__instance *base,
                                      gemel_tensor *const *values, gemel__random *random,
                                      gemel_tensor ***stored, gemel_error *error);

/* Evaluates the instance's graph by references on D at VALUES; OUTPUTS gets its results.
 * The second asks EXTRA first, as gemel__reference_graph does. */
gemel_status gemel__instance_reference(const gemel__instance *instance, gemel__domain *d,
                                       gemel_tensor *const *values, gemel__rtensor *outputs,
                                       gemel_error *error);
gemel_status gemel__instance_reference_by(const gemel__instance *instance, gemel__domain *d,
                                          gemel_tensor *const *values, gemel__rtensor *outputs,
                                          gemel__reference_lookup extra, void *user,
                                          gemel_error *error);

/* The type of output K of GRAPH; GEMEL_DECLINED if a size is known at run time only. */
gemel_status gemel__leaf_of_output(const gemel_graph *graph, size_t k, gemel__leaf *leaf);

#endif
