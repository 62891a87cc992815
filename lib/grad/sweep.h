/* SPDX-License-Identifier: MIT
 *
 * What both modes of differentiation share: one slot for each value of the graph that holds its
 * derivative, and the arrays that a node's rule is called with.
 */
#ifndef GEMEL__GRAD_SWEEP_H
#define GEMEL__GRAD_SWEEP_H

#include <gemel/operation.h>
#include "core/graph.h"

typedef struct gemel__sweep {
  gemel_graph *graph;
  size_t n_nodes;   /* of the graph before the sweep appends to it */
  uint64_t *active; /* a bit a node: a derivative can flow through it */
  uint32_t *slots;  /* a derivative a value: its node + 1; 0: none (zero); or, where that is not
                       the only output of its node, GEMEL__SEVERAL | its place in OTHERS */
  size_t n_slots;
  gemel__ref *others;
  size_t n_others, other_capacity;
  uint32_t *first_slot; /* of each node; NULL when every node has one output */
  /* room for one node's rule */
  gemel_value *room;
  unsigned char *wanted;
  size_t room_capacity, wanted_capacity;
  const gemel__op *op; /* of the node that CALL is for */
  gemel_derive call;
} gemel__sweep;

/* Prepares a sweep over GRAPH; all slots empty, nothing active. GEMEL_NO_MEMORY. */
gemel_status gemel__sweep_init(gemel__sweep *sweep, gemel_graph *graph, gemel_error *error);
void gemel__sweep_clear(gemel__sweep *sweep);

static inline int gemel__sweep_active(const gemel__sweep *s, uint32_t node) {
  return (int)(s->active[node / 64] >> node % 64 & 1);
}

static inline void gemel__sweep_activate(gemel__sweep *s, uint32_t node) {
  s->active[node / 64] |= (uint64_t)1 << node % 64;
}

/* The slot of a value. */
static inline uint32_t *gemel__sweep_slot(gemel__sweep *s, uint32_t node, uint32_t output) {
  return &s->slots[s->first_slot != NULL ? s->first_slot[node] + output : node];
}

/* The derivative in a slot that isn't empty. */
static inline gemel__ref gemel__sweep_ref(const gemel__sweep *s, uint32_t slot) {
  return slot & GEMEL__SEVERAL ? s->others[slot & ~GEMEL__SEVERAL] : (gemel__ref){slot - 1, 0};
}

/* The derivative in a slot, or the null value. */
static inline gemel_value gemel__sweep_get(const gemel__sweep *s, const uint32_t *slot) {
  gemel_value none = {NULL, 0, 0};
  return *slot != 0 ? gemel__value(s->graph, gemel__sweep_ref(s, *slot)) : none;
}

/* Puts DERIVATIVE into a slot; 0, or -1 when memory is out. */
int gemel__sweep_set(gemel__sweep *sweep, uint32_t *slot, gemel_value derivative);

/* Sets up OP and CALL for NODE: inputs, outputs, attributes, place; wanted, d_inputs and
 * d_outputs are zeroed. GEMEL_NO_MEMORY. */
gemel_status gemel__sweep_call(gemel__sweep *sweep, uint32_t node, gemel_error *error);

/* 1 if a value of this type has a derivative: a float dtype. */
int gemel__differentiable(const gemel_graph *graph, uint32_t node, uint32_t output);

/* The error of a rule that failed: what it wrote or the graph's own, with the node named. */
gemel_status gemel__sweep_fail(gemel__sweep *sweep, uint32_t node, gemel_status status,
                               gemel_error *error);

/* Before a rule is called: forgets what ERROR says, for rules that fail without a word. */
static inline void gemel__sweep_hush(gemel_error *error) {
  error->status = GEMEL_OK;
  error->text[0] = '\0';
}

/* 1 if what the rule of NODE gives need not be looked at: gemel's own, outside debug builds. */
static inline int gemel__sweep_trusts(const gemel__sweep *s, uint32_t node) {
#ifdef GEMEL_DEBUG
  (void)s, (void)node;
  return 0;
#else
  return gemel__node_at(s->graph, node)->op <= s->graph->context->n_builtins;
#endif
}

/* 1 if DERIVATIVE, which a rule made for VALUE, is a value of the graph with the dtype and rank of
 * VALUE and no size that differs; null values are not looked at. */
int gemel__sweep_fits(const gemel__sweep *sweep, gemel_value derivative, gemel_value value);

/* GEMEL_BAD_TYPE: derivative K of NODE's rule does not fit VALUE. */
gemel_status gemel__sweep_misfit(gemel__sweep *sweep, uint32_t node, size_t k,
                                 gemel_value derivative, gemel_value value, gemel_error *error);

/* Checks that the N VALUES are values of one graph, *GRAPH if that is not NULL yet, and sets it.
 * WHAT names them in messages. GEMEL_BAD_ARGUMENT. */
gemel_status gemel__same_graph(size_t n, const gemel_value *values, const char *what,
                               gemel_graph **graph, gemel_error *error);

/* Checks that a derivative with respect to the N values of WRT can be appended to GRAPH: it is
 * there and may change, it has no error, and WRT are of float dtypes. */
gemel_status gemel__sweep_ready(const gemel_graph *graph, size_t n, const gemel_value *wrt,
                                gemel_error *error);

/* GEMEL_BAD_TYPE with the value's operation, type and place. */
gemel_status gemel__bad_value(gemel_value value, const char *what, size_t k, const char *fault,
                              gemel_error *error);

#endif
