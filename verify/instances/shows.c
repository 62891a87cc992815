/* SPDX-License-Identifier: MIT
 *
 * What points could show something in a graph, see source.h: what its operations round, count and
 * compare.
 */
#include "core/dtype.h"
#include "core/graph.h"
#include "instances/source.h"
#include "ops/ops.h"
#include "reference/twin.h"

int gemel__shows_always(const gemel_graph *graph) {
  (void)graph;
  return 1;
}

/* The graph among the attributes of NODE; NULL: there is none. */
static const gemel_graph *body_of(const gemel_graph *graph, uint32_t node) {
  uint32_t id = gemel__node_at(graph, node)->attrs;
  const struct gemel__attrs *attrs = id != 0 ? gemel__attrs_at(graph->context, id) : NULL;
  for (size_t k = 0; attrs != NULL && k < attrs->count; k++) {
    if (attrs->values[k].kind == GEMEL_ATTR_GRAPH) {
      return attrs->values[k].u.graph;
    }
  }
  return NULL;
}

int gemel__may_refuse(const gemel_graph *graph) {
  int found = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph) && !found; k++) {
    unsigned with = gemel__twin_of(gemel__node_at(graph, k)->op)->refuses_with;
    uint32_t count;
    gemel__node_inputs(graph, k, &count);
    found = gemel__node_op(graph, k)->row == NULL || (with > 0 && count >= with);
  }
  return found;
}

/* The kinds of arithmetic of all nodes of BODY, and of bodies in it (whose depth the runtime
 * limits). */
static unsigned arithmetic_of_body(const gemel_graph *body) {
  unsigned kinds = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(body); k++) {
    kinds |= gemel__arithmetic(body, k);
  }
  return kinds;
}

unsigned gemel__arithmetic(const gemel_graph *graph, uint32_t node) {
  const gemel_graph *body = body_of(graph, node);
  if (body != NULL) {
    return arithmetic_of_body(body);
  }
  gemel__ref self = {node, 0};
  unsigned kinds = gemel__twin_of(gemel__node_at(graph, node)->op)->arithmetic;
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, node, &count);
  if (!gemel__has_output(graph, node, 0) || !gemel__is_float(gemel__ref_dtype(graph, self))) {
    return 0;
  }
  if (kinds & GEMEL__NARROWS &&
      gemel__dtype_format(gemel__ref_dtype(graph, self))->digits >=
          gemel__dtype_format(gemel__ref_dtype(graph, inputs[0]))->digits) {
    return 0;
  }
  return (kinds != 0 ? kinds : GEMEL__FUNCTIONS) & ~(unsigned)GEMEL__EXACT;
}

int gemel__rounds_twice(const gemel_graph *graph) {
  unsigned seen = 0;
  for (size_t k = 0; k < graph->n_nodes; k++) {
    gemel_dtype dtype = gemel_type_dtype(graph->context, gemel__node_type(graph, (uint32_t)k, 0));
    seen |= gemel__is_float(dtype) ? 1u << dtype : 0;
  }
  return (seen & (seen - 1)) != 0;
}

/* 1 if OP takes a float to a whole number of that dtype, or to what is left of it. */
static int makes_whole(uint32_t op) {
  return op == GEMEL__OP_floor || op == GEMEL__OP_ceil || op == GEMEL__OP_trunc ||
         op == GEMEL__OP_round || op == GEMEL__OP_mod || op == GEMEL__OP_fmod;
}

/* How NODE itself jumps. */
static gemel__jump jump_of(const gemel_graph *graph, uint32_t node, gemel__ref operand) {
  uint32_t op = gemel__node_at(graph, node)->op;
  gemel_dtype to = gemel_type_dtype(graph->context, gemel__node_type(graph, node, 0));
  if (!gemel__is_float(gemel__ref_dtype(graph, operand))) {
    return GEMEL__NO_JUMP;
  }
  if (!gemel__is_float(to)) {
    return to == GEMEL_BOOL ? GEMEL__JUMP_CHOICE : GEMEL__JUMP_WHOLE;
  }
  return makes_whole(op) ? GEMEL__JUMP_WHOLE
         : op == GEMEL__OP_sign || op == GEMEL__OP_max_pool_grad || op == GEMEL__OP_max_pool_pick
             ? GEMEL__JUMP_CHOICE
             : GEMEL__NO_JUMP;
}

/* The largest jump of all nodes of BODY. */
static gemel__jump jumps_of_body(const gemel_graph *body) {
  gemel__jump most = GEMEL__NO_JUMP;
  for (uint32_t k = 0; k < gemel_graph_node_count(body); k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(body, k, &count);
    for (uint32_t j = 0; j < count; j++) {
      gemel__jump jump = jump_of(body, k, inputs[j]);
      most = jump > most ? jump : most;
    }
  }
  return most;
}

gemel__jump gemel__jumps(const gemel_graph *graph, uint32_t node, gemel__ref operand) {
  const gemel_graph *body = body_of(graph, node);
  return body != NULL ? jumps_of_body(body) : jump_of(graph, node, operand);
}

/* 1 if NODE's result is an order, or depends on one, of numbers such as OPERAND. */
static int is_order(const gemel_graph *graph, uint32_t node, gemel__ref operand) {
  return jump_of(graph, node, operand) != GEMEL__NO_JUMP &&
         !makes_whole(gemel__node_at(graph, node)->op);
}

/* 1 if NODE is a sum or a difference of two. */
static int is_sum(const gemel_graph *graph, uint32_t node, gemel__ref operand) {
  uint32_t op = gemel__node_at(graph, node)->op;
  (void)operand;
  return op == GEMEL__OP_add || op == GEMEL__OP_sub;
}

/* 1 if something rounded is an operand of a node for which MEETS holds. */
static int any_meets(const gemel_graph *graph,
                     int (*meets)(const gemel_graph *graph, uint32_t node, gemel__ref operand)) {
  enum { MOST = 400 };
  unsigned char rounded[MOST];
  int found = 0;
  for (uint32_t k = 0; k < graph->n_nodes && graph->n_nodes <= MOST && !found; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
    rounded[k] = gemel__arithmetic(graph, k) != 0;
    for (uint32_t j = 0; j < count; j++) {
      found |= rounded[inputs[j].node] && meets(graph, k, inputs[j]);
      rounded[k] |= rounded[inputs[j].node];
    }
  }
  return found;
}

int gemel__orders_rounded(const gemel_graph *graph) {
  return any_meets(graph, is_order);
}

int gemel__meets_rounded(const gemel_graph *graph) {
  return any_meets(graph, is_order) || any_meets(graph, is_sum);
}

/* Flags of a node's results: all are whole numbers; a count or an index went into them. */
enum { WHOLE = 1, COUNT = 2 };

/* Dtypes of four bytes, as bits, in which sums of many small integers end. */
#define FOUR_BYTES (1u << GEMEL_F32 | 1u << GEMEL_I32 | 1u << GEMEL_U32)

static unsigned counts(const gemel_graph *graph, uint32_t node, unsigned of_inputs) {
  uint32_t op = gemel__node_at(graph, node)->op;
  switch (op) {
  case GEMEL__OP_input:
  case GEMEL__OP_constant:
    return 0;
  case GEMEL__OP_argmax:
  case GEMEL__OP_arange:
  case GEMEL__OP_argsort:
  case GEMEL__OP_searchsorted:
  case GEMEL__OP_size:
    return WHOLE | COUNT;
  case GEMEL__OP_sum:
  case GEMEL__OP_dot:
  case GEMEL__OP_cumsum:
    return of_inputs & WHOLE ? of_inputs | COUNT : of_inputs;
  default:
    return of_inputs;
  }
}

/* The bits of the dtypes of a graph in which a count is: of one or two bytes, or one of FOUR_BYTES.
 */
static unsigned count_dtypes(const gemel_graph *graph) {
  enum { MOST = 400 };
  unsigned char flags[MOST];
  unsigned found = 0;
  for (uint32_t k = 0; k < graph->n_nodes && graph->n_nodes <= MOST; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
    unsigned any = 0, all = WHOLE;
    for (uint32_t j = 0; j < count; j++) {
      any |= flags[inputs[j].node];
      all &= flags[inputs[j].node];
    }
    gemel_dtype dtype = gemel_type_dtype(graph->context, gemel__node_type(graph, k, 0));
    flags[k] = (unsigned char)(counts(graph, k, (any & COUNT) | all) |
                               (gemel__is_float(dtype) ? 0 : WHOLE));
    int narrow = dtype != GEMEL_BOOL && gemel_dtype_size(dtype) <= 2;
    found |= flags[k] & COUNT && (narrow || ((1u << dtype) & FOUR_BYTES)) ? 1u << dtype : 0;
  }
  return found;
}

unsigned gemel__narrow_counts(const gemel_graph *graph) {
  return count_dtypes(graph) & ~FOUR_BYTES;
}

int gemel__narrows_counts(const gemel_graph *graph) {
  return gemel__narrow_counts(graph) != 0;
}

int gemel__counts_in_32_bits(const gemel_graph *graph) {
  return (count_dtypes(graph) & FOUR_BYTES) != 0;
}
