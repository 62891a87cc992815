/* SPDX-License-Identifier: MIT
 *
 * Loops for passes. A pass reads a loop of the graph as it was, decides what enters and leaves the
 * body of a new one, has nodes of the old body copied there, and applies the new loop in the graph
 * that is being made. Names in the new body tell places and nothing else, so that equal bodies are
 * one: inputs s0, s1, … (states), x0, … (rows), c0, … (constants), outputs n0, … (next states), y0,
 * … (what is stacked), stop.
 *
 * Everything about sizes is said in those of the old graph until the loop is applied.
 */
#ifndef GEMEL__PASSES_LOOP_H
#define GEMEL__PASSES_LOOP_H

#include "ops/body.h"
#include "ops/scan.h"
#include "passes/edit.h"

/* A loop of a graph. */
typedef struct gemel__scan_node {
  const gemel_graph *graph;
  uint32_t node;
  gemel__scan scan;
  const gemel__ref
      *operands; /* in the order of the body's inputs; steps, if limited, before them */
  gemel_dim length, truncate; /* sizes of GRAPH; GEMEL_DIM_NONE: there is none */
} gemel__scan_node;

/* Reads NODE of GRAPH. GEMEL_DECLINED: it is no loop, one whose length no type tells, or one with
 * sizes that only a call can check. */
gemel_status gemel__scan_node_read(const gemel_graph *graph, uint32_t node, gemel__scan_node *loop);

/* 1 if no call can refuse LOOP's number of steps, so that LOOP may go without a trace. */
int gemel__scan_node_steps_hold(const gemel__scan_node *loop);

/* DIM, in an attribute of NODE, as a size of GRAPH; GEMEL_DIM_NONE when memory is out. */
gemel_dim gemel__attr_size(const gemel_graph *graph, uint32_t node, gemel_dim dim);

/* Result K of LOOP, and its type. */
static inline gemel__ref gemel__scan_node_result(const gemel__scan_node *loop, size_t k) {
  return (gemel__ref){loop->node, (uint32_t)k};
}
static inline gemel_type gemel__scan_node_type(const gemel__scan_node *loop, size_t k) {
  return gemel__node_type(loop->graph, loop->node, (uint32_t)k);
}

enum { GEMEL__STATE_INPUT, GEMEL__ROW_INPUT, GEMEL__CONSTANT_INPUT, GEMEL__INPUT_KINDS };

/* Which of these input K of LOOP's body is. */
static inline int gemel__scan_node_kind(const gemel__scan_node *loop, size_t k) {
  size_t rows = loop->scan.states + loop->scan.sequences;
  return k < loop->scan.states ? GEMEL__STATE_INPUT
         : k < rows            ? GEMEL__ROW_INPUT
                               : GEMEL__CONSTANT_INPUT;
}

/* Sizes of what takes the place of input K of LOOP's body; a sequence's rows stand before them. */
static inline const gemel_dim *gemel__scan_node_argument(const gemel__scan_node *loop, size_t k) {
  gemel__ref at = loop->operands[k];
  return gemel_type_dims(loop->graph->context, gemel__node_type(loop->graph, at.node, at.output)) +
         (gemel__scan_node_kind(loop, k) == GEMEL__ROW_INPUT);
}

/* What the symbols in an old body's sizes are in the new body. */
typedef struct gemel__scan_symbols {
  const char **names;
  gemel_dim *sizes;
  size_t count, name_room, size_room;
} gemel__scan_symbols;

void gemel__scan_symbols_clear(gemel__scan_symbols *symbols);

/* DIM, or TYPE, of the old body in the new one; *_NONE when memory is out. */
gemel_dim gemel__scan_inner_dim(gemel_context *context, const gemel__scan_symbols *symbols,
                                gemel_dim dim);
gemel_type gemel__scan_inner_type(gemel_context *context, const gemel__scan_symbols *symbols,
                                  gemel_type type);

/* A loop under construction. Zeroed, then begun, perhaps anew: sizes stay then. To be cleared in
 * any case. */
typedef struct gemel__new_scan {
  gemel_graph *body;
  gemel__body_sizes sizes; /* of the old graph, in the body: the same for all old loops */
  size_t inputs[GEMEL__INPUT_KINDS];
} gemel__new_scan;

gemel_status gemel__new_scan_begin(gemel__new_scan *scan, gemel_context *context,
                                   gemel_error *error);
void gemel__new_scan_clear(gemel__new_scan *scan);

/* Finds the SYMBOLS of OLD's body in SCAN's; sizes that are equal outside are one. */
gemel_status gemel__new_scan_bind(gemel__new_scan *scan, const gemel__scan_node *old,
                                  gemel__scan_symbols *symbols, gemel_error *error);

/* A new input of the body, of which FACTS are assumed; those of a kind get numbers in the order in
 * which they are made. States come first, then rows, then constants. */
gemel_value gemel__new_scan_enter(gemel__new_scan *scan, int kind, gemel_type type, unsigned facts,
                                  gemel_location where);

/* Copies the values REFS of OLD's body, N of them, and what they are made of: they are OUTPUTS.
 * INPUTS are what the old body's are; one may be null if nothing that is copied reads it. */
gemel_status gemel__new_scan_copy(gemel__new_scan *scan, const gemel__scan_node *old,
                                  const gemel__scan_symbols *symbols, const gemel_value *inputs,
                                  size_t n, const gemel__ref *refs, gemel_value *outputs,
                                  gemel_error *error);

/* DIM, a size of the graph as it was, in the graph that EDIT makes: what it depends on is asked
 * for. GEMEL_DIM_NONE stays what it is; it comes with the edit's error too. */
gemel_dim gemel__edit_size(gemel_edit *edit, gemel_dim dim);

/* Sizes that can't be told make a pass leave a loop alone: but if there was no memory for one since
 * there had been so many FAILURES (gemel__dim_memory_failures), GEMEL_NO_MEMORY. */
gemel_status gemel__scan_sizes_status(gemel_context *context, unsigned failures,
                                      gemel_error *error);

/* The new loop: its first result. OPERANDS are of the new graph, the steps first if OLD is limited;
 * all attributes but the numbers are OLD's. */
gemel_value gemel__new_scan_apply(gemel__new_scan *scan, gemel_edit *edit,
                                  const gemel__scan_node *old, size_t n,
                                  const gemel_value *operands);

#endif
