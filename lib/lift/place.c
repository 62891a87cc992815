/* SPDX-License-Identifier: MIT
 *
 * Where nodes can be computed: one walk in the order of ids. What the program has put on a device
 * stays there; what the device has no kernel for, what runs a body and what reads run-time sizes as
 * operands is the host's; what is made of attributes alone, and views of that, is at home on both
 * sides; all else is free.
 */
#include "core/alloc.h"
#include "lift/lift.h"
#include "ops/ids.h"
#include "ops/ops.h"

/* What the device can do, by operation: 0: not asked yet. */
enum { CAN = 1, CANNOT = 2 };

static int can_do(const gemel__lifting *l, unsigned char *known, const gemel__op *op) {
  if (known[op->id] == 0) {
    const gemel_kernel *kernels = l->device->kernels(l->device->state, &op->record);
    known[op->id] = kernels != NULL && kernels[0].name != NULL ? CAN : CANNOT;
  }
  return known[op->id] == CAN;
}

static int space_of(const gemel_graph *graph, gemel__ref value) {
  return gemel__type_at(graph->context, gemel__node_type(graph, value.node, value.output))->space;
}

/* 1 if a value of TYPE may be a run-time size. */
static int is_like_size(const gemel_context *context, gemel_type type) {
  const struct gemel__type *t = gemel__type_at(context, type);
  return t->rank == 0 && gemel_dtype_kind((gemel_dtype)t->dtype) != GEMEL_KIND_FLOAT;
}

/* 1 if an operand of NODE, N of which IN are, may be a size among its attributes, too. */
static int reads_size(const gemel_graph *graph, const gemel__ref *in, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    if (is_like_size(graph->context, gemel__node_type(graph, in[k].node, in[k].output))) {
      return 1;
    }
  }
  return 0;
}

/* 1 if NODE looks at what is at home on both sides in another way. */
static int is_view_of_both(const gemel__lifting *l, uint32_t node, const gemel__ref *in,
                           uint32_t n) {
  int both = (gemel__node_op(l->from, node)->record.flags & GEMEL_OP_VIEW) != 0;
  for (uint32_t k = 0; k < n; k++) {
    both &= l->places[in[k].node] == GEMEL__LIFT_BOTH;
  }
  return both;
}

/* Where a node goes that the host computes in the graph as it is; *REASON: why it stays. */
static gemel__lift_place place_of_hosts(const gemel__lifting *l, uint32_t node,
                                        unsigned char *known, unsigned char *reason) {
  const gemel__op *op = gemel__node_op(l->from, node);
  const struct gemel__attrs *attrs =
      gemel__attrs_at(l->from->context, gemel__node_at(l->from, node)->attrs);
  uint32_t count, n = gemel__lift_operands(l->from, node);
  const gemel__ref *in = gemel__node_inputs(l->from, node, &count);
  if (count == 0) {
    return GEMEL__LIFT_BOTH;
  }
  if (attrs->nesting > 0) {
    *reason = GEMEL_LIFT_BODY;
  } else if (!can_do(l, known, op)) {
    *reason = op->id > l->from->context->n_builtins ? GEMEL_LIFT_OWN : GEMEL_LIFT_NO_KERNEL;
  } else if (n == 0 || (attrs->has_runtime && reads_size(l->from, in, n))) {
    *reason = GEMEL_LIFT_READS_SIZE;
  } else {
    return !attrs->has_runtime && is_view_of_both(l, node, in, n) ? GEMEL__LIFT_BOTH
                                                                  : GEMEL__LIFT_FREE;
  }
  return GEMEL__LIFT_HOST;
}

static gemel__lift_place place_of(const gemel__lifting *l, uint32_t node, unsigned char *known,
                                  unsigned char *reason) {
  const gemel__ref value = {node, 0};
  int space = space_of(l->from, value);
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(l->from, node, &count);
  if (space != GEMEL_SPACE_HOST && space != l->options.space) {
    return GEMEL__LIFT_OTHER;
  }
  if (gemel__node_op(l->from, node)->id == GEMEL__OP_transfer) {
    int from = space_of(l->from, in[0]);
    return from == GEMEL_SPACE_HOST || from == l->options.space ? GEMEL__LIFT_SAME
           : space == GEMEL_SPACE_HOST                          ? GEMEL__LIFT_HOST
                                                                : GEMEL__LIFT_DEVICE;
  }
  return space != GEMEL_SPACE_HOST ? GEMEL__LIFT_DEVICE : place_of_hosts(l, node, known, reason);
}

gemel_status gemel__lift_find_places(gemel__lifting *l) {
  size_t n_ops = gemel__stable_count(&l->from->context->ops);
  unsigned char *known = gemel__alloc_array(n_ops, 1);
  if (known == NULL) {
    return gemel__no_memory(l->error, "a lift");
  }
  for (uint32_t node = 0; node < l->from->n_nodes; node++) {
    if (l->places[node] == GEMEL__LIFT_FREE) {
      l->places[node] = (unsigned char)place_of(l, node, known, &l->reasons[node]);
    }
  }
  gemel__free(known, n_ops);
  return GEMEL_OK;
}

/* ---- Aggressively ---- */

/* 1 if operands and results of NODE are scalars. */
static int is_scalar(const gemel_graph *graph, uint32_t node) {
  uint32_t count, n = gemel__lift_operands(graph, node);
  const gemel__ref *in = gemel__node_inputs(graph, node, &count);
  int rank = 0;
  for (uint32_t k = 0; k < n; k++) {
    rank |= gemel__type_at(graph->context, gemel__node_type(graph, in[k].node, in[k].output))->rank;
  }
  for (uint32_t k = 0; k < gemel__node_at(graph, node)->n_outputs; k++) {
    rank |= gemel__type_at(graph->context, gemel__node_type(graph, node, k))->rank;
  }
  return rank == 0;
}

gemel_status gemel__lift_aggressively(gemel__lifting *l) {
  const gemel_graph *from = l->from;
  unsigned char *read = gemel__alloc_array(from->n_nodes, 1); /* as more than a size */
  if (read == NULL) {
    return gemel__no_memory(l->error, "a lift");
  }
  for (size_t k = 0; k < from->n_outputs; k++) {
    read[from->outputs[k].node] = 1;
  }
  for (uint32_t node = (uint32_t)from->n_nodes; node-- > 0;) {
    uint32_t count, n = gemel__lift_operands(from, node);
    const gemel__ref *in = gemel__node_inputs(from, node, &count);
    if (l->places[node] == GEMEL__LIFT_FREE) {
      int sizes = !read[node] && is_scalar(from, node);
      l->places[node] = sizes ? GEMEL__LIFT_HOST : GEMEL__LIFT_DEVICE;
      l->reasons[node] = sizes ? GEMEL_LIFT_MAKES_SIZE : l->reasons[node];
      read[node] = !sizes;
    } else if (l->places[node] != GEMEL__LIFT_SAME) {
      read[node] = l->places[node] != GEMEL__LIFT_UNUSED;
    }
    for (uint32_t k = 0; k < n; k++) {
      read[in[k].node] |= read[node];
    }
  }
  gemel__free(read, from->n_nodes);
  return GEMEL_OK;
}
