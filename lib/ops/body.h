/* SPDX-License-Identifier: MIT
 *
 * Graphs that operations hold as attributes, their bodies: what the type rules and kernels of
 * invoke and scan have in common.
 */
#ifndef GEMEL__OPS_BODY_H
#define GEMEL__OPS_BODY_H

#include <gemel/function.h>
#include "ops/ops.h"

/* What takes the place of a body's input: a value of TYPE without its first SKIP axes. */
typedef struct gemel__body_argument {
  gemel_type type;
  int skip;
} gemel__body_argument;

/* Types of input and output K of BODY. */
gemel_type gemel__body_input(const gemel_graph *body, size_t k);
gemel_type gemel__body_output(const gemel_graph *body, size_t k);

/* Matches the symbols of BODY with the sizes of ARGUMENTS, one for each of its inputs, and sets
 * RESULTS, one for each of its outputs, to the types that it gives for them, where the operands
 * lie. Errors: GEMEL_BAD_TYPE (dtype or rank of an argument, a symbol that no argument tells),
 * GEMEL_BAD_SHAPE (a size), GEMEL_UNSUPPORTED (a result whose size is known only inside the body),
 * GEMEL_NO_MEMORY. */
gemel_status gemel__body_infer(const gemel_infer *call, const gemel_graph *body,
                               const gemel__body_argument *arguments, gemel_type *results);

/* What sizes of a graph are in a body under construction: types of its inputs can't have sizes that
 * nodes produce, nor such as the axes of the inputs alone would not tell (2*N where there is no N),
 * so these are symbols there. Zeroed: nothing is known. */
typedef struct gemel__body_pair {
  gemel_dim outer, inner;
} gemel__body_pair;

typedef struct gemel__body_sizes {
  gemel__body_pair *pairs;
  size_t count, room;
} gemel__body_sizes;

/* DIM, a size of the graph, in the body; GEMEL_DIM_NONE when memory is out. */
gemel_dim gemel__body_size(gemel_context *context, gemel__body_sizes *sizes, gemel_dim dim);
void gemel__body_sizes_clear(gemel__body_sizes *sizes);

/* GEMEL_UNSUPPORTED if BODY is nested too deep to be differentiated or run: both are recursions,
 * the only ones, of a few kilobytes of stack for each level. And each place where a body is used
 * has a function of its own, so two uses in each of thirty bodies would be a billion. */
gemel_status gemel__body_nesting(const gemel_graph *body, gemel_error *error);

/* The status of what is built on BODY and has come to STATUS: the body's own error, if it has one,
 * which ERROR then is. BODY may be NULL. */
gemel_status gemel__body_status(const gemel_graph *body, gemel_status status, gemel_error *error);

/* Makes VALUE the output "<group><k>" of its graph. */
gemel_status gemel__body_add_output(gemel_value value, char group, size_t k);

/* 1 if VALUE is of a float dtype, so that it can have a derivative. */
int gemel__body_is_float(gemel_value value);

#endif
