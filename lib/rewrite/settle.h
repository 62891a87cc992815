/* SPDX-License-Identifier: MIT
 *
 * What the rewrite engine knows of the new graph, and how a node of it is settled. The engine's
 * contract, which says what that means, is at the top of engine.c.
 */
#ifndef GEMEL__REWRITE_SETTLE_H
#define GEMEL__REWRITE_SETTLE_H

#include "rewrite/engine.h"
#include "rewrite/dispatch.h"
#include "rewrite/build.h"

enum { GEMEL__UNSEEN, GEMEL__SETTLED, GEMEL__REPLACING, GEMEL__REPLACED, GEMEL__APART };

/* What is known of a value of the new graph. */
struct gemel__node_state {
  gemel__ref by; /* of a REPLACED one; APART: its outputs' states begin at by.node */
  unsigned char state;
};

/* A right side that is being made. */
struct gemel__settle_frame {
  const gemel__candidate *candidate;
  const gemel__template_attrs *attrs;
  uint32_t next;     /* node of the right side to be made */
  int has_broadcast; /* the implicit broadcast of the result has been made */
  uint32_t oldest;   /* the least id that it or a frame below it has matched */
  uint32_t stalled;  /* how many in a row, with this one, have matched nothing older */
  size_t values;     /* first in the stack of values: one for each node of the right side */
  size_t terms;      /* first in the stack of terms: one for each variable */
  gemel__ref before;
  gemel__ref bare, broadcast; /* as in gemel__application */
  gemel_location where;
};

/* All about the new graph. */
typedef struct gemel__engine {
  gemel_graph *to;
  gemel__pass_options *options;
  gemel__selection *selection;
  gemel_error *error;
  struct gemel__node_state *states; /* by new node, as are uses */
  struct gemel__node_state *apart;  /* by output, of nodes that have several */
  size_t n_apart, apart_capacity;
  uint32_t *uses;
  size_t n_states, state_capacity, use_capacity;
  struct gemel__settle_frame *frames;
  size_t n_frames, frame_capacity;
  gemel__ref *values, *made; /* MADE: what VALUES were before they were settled */
  size_t n_values, value_capacity, made_capacity;
  gemel__term *terms;
  size_t n_terms, term_capacity;
  gemel__arena arena;
  gemel_value *operands;
  size_t operand_capacity;
  uint64_t fired, fuel, grown, growth;
  int declined; /* a rule was, for growth */
  uint32_t stall;
  gemel__scene scene; /* of matching */
} gemel__engine;

gemel_status gemel__engine_no_memory(const gemel__engine *e);

/* The new graph's error becomes the pass's. */
gemel_status gemel__engine_take_error(const gemel__engine *e);

/* States for all nodes that there are. GEMEL_NO_MEMORY. */
gemel_status gemel__engine_reserve(gemel__engine *e);

/* Constants stand behind others; else the older value stands first. */
static inline int gemel__engine_out_of_order(const gemel__engine *e, gemel__ref a, gemel__ref b) {
  int ca = e->to->nodes[a.node].op == GEMEL__OP_constant;
  int cb = e->to->nodes[b.node].op == GEMEL__OP_constant;
  return ca != cb ? ca : a.node > b.node || (a.node == b.node && a.output > b.output);
}

/* Puts the operands of the operation OP, if it is commutative, into their order. */
void gemel__engine_sort(const gemel__engine *e, const gemel__op *op, size_t n, gemel__ref *inputs);

/* The normal form of the attributes of the operation OP on INPUTS, as the record's hook has them.
 */
gemel_status gemel__engine_normal_attrs(gemel__engine *e, const gemel__op *op, uint32_t *attrs,
                                        size_t n, const gemel__ref *inputs);

/* Applies operation OP with ATTRS to INPUTS: *NODE. */
gemel_status gemel__engine_apply(gemel__engine *e, uint32_t op, uint32_t attrs, size_t n,
                                 const gemel__ref *inputs, gemel_location where, uint32_t *node);

/* Brings *VALUE, a node just made, to what it is to be. */
gemel_status gemel__engine_resolve(gemel__engine *e, gemel__ref *value, gemel_location where);

/* Frees what the engine has, but for the new graph. */
void gemel__engine_release(gemel__engine *e);

#endif
