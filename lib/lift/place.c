/* SPDX-License-Identifier: MIT
 *
 * Where nodes can be computed: one walk in the order of ids. What the program has put on a device
 * stays there; what the device has no kernel for, what runs a body that doesn't fit there whole,
 * and what reads run-time sizes as operands is the host's; what is made of attributes alone, and
 * views of a whole, are at home on both sides; all else is free.
 */
#include "core/alloc.h"
#include "device/kernels.h"
#include "lift/lift.h"
#include "ops/body.h"
#include "core/ids.h"
#include "ops/ops.h"

/* What the device can do, by operation: 0: not asked yet. */
enum { CAN = 1, CANNOT = 2 };

static int can_do(const gemel__lifting *l, unsigned char *known, const gemel__op *op) {
  if (known[op->id] == 0) {
    known[op->id] =
        gemel__kernels_of(l->from->context, l->device, &op->record) != NULL ? CAN : CANNOT;
  }
  return known[op->id] == CAN;
}

static int space_of(const gemel_graph *graph, gemel__ref value) {
  return gemel__ref_type(graph, value)->space;
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

/* 1 if NODE, N of whose inputs IN are operands, looks at its operand's memory in another way and is
 * at home where it is read: what crosses then is the operand, which is no larger, and serves its
 * other readers too. A part of something that isn't made of attributes alone may be worth a
 * transfer of its own. */
static int is_free_view(const gemel__lifting *l, uint32_t node, const gemel__ref *in, uint32_t n) {
  const gemel_graph *g = l->from;
  const gemel_operation *op = &gemel__node_op(g, node)->record;
  if ((op->flags & GEMEL_OP_VIEW) == 0 || n != 1 || op->min_inputs != 1 ||
      gemel__attrs_at(g->context, gemel__node_at(g, node)->attrs)->has_runtime) {
    return 0;
  }
  return l->alone[in[0].node] ||
         gemel__lift_transfer_cost(g->context, gemel__node_type(g, node, 0)) >=
             gemel__lift_transfer_cost(g->context, gemel__node_type(g, in[0].node, in[0].output));
}

/* 1 in *FIT if NODE, one with bodies, runs them wherever it is, and they fit on the device whole.
 */
static gemel_status bodies_fit(const gemel__lifting *l, uint32_t node, int *fit) {
  const struct gemel__row *row = gemel__node_op(l->from, node)->row;
  const struct gemel__attrs *attrs =
      gemel__attrs_at(l->from->context, gemel__node_at(l->from, node)->attrs);
  gemel_status status = GEMEL_OK;
  *fit = row != NULL && row->hooks->follows != NULL && row->hooks->follows(attrs->values);
  for (size_t k = 0; k < attrs->count && *fit; k++) {
    if (attrs->values[k].kind == GEMEL_ATTR_GRAPH) {
      gemel_graph *there;
      status = gemel__body_lift(attrs->values[k].u.graph, l->options.space, &there, l->error);
      *fit = status == GEMEL_OK;
      gemel_graph_unref(there);
    }
  }
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* Where a node goes that the host computes in the graph as it is; *REASON: why it stays. */
static gemel_status place_of_hosts(const gemel__lifting *l, uint32_t node, unsigned char *known,
                                   unsigned char *reason, gemel__lift_place *place) {
  const gemel__op *op = gemel__node_op(l->from, node);
  const struct gemel__attrs *attrs =
      gemel__attrs_at(l->from->context, gemel__node_at(l->from, node)->attrs);
  uint32_t count, n = gemel__lift_operands(l->from, node);
  const gemel__ref *in = gemel__node_inputs(l->from, node, &count);
  int fits = 1;
  if (count == 0) {
    *place = GEMEL__LIFT_BOTH;
    return GEMEL_OK;
  }
  gemel_status status = attrs->nesting > 0 ? bodies_fit(l, node, &fits) : GEMEL_OK;
  *place = GEMEL__LIFT_HOST;
  if (!fits) {
    *reason = GEMEL_LIFT_BODY;
  } else if (!can_do(l, known, op)) {
    *reason = op->id > l->from->context->n_builtins ? GEMEL_LIFT_OWN : GEMEL_LIFT_NO_KERNEL;
  } else if (n == 0 || (attrs->has_runtime && reads_size(l->from, in, n))) {
    *reason = GEMEL_LIFT_READS_SIZE;
  } else {
    *place = is_free_view(l, node, in, n) ? GEMEL__LIFT_BOTH : GEMEL__LIFT_FREE;
  }
  return status;
}

/* Where a node goes that is on a device in the graph, or a transfer. */
static gemel__lift_place place_of_others(const gemel__lifting *l, uint32_t node) {
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
  return is_free_view(l, node, in, gemel__lift_operands(l->from, node)) ? GEMEL__LIFT_BOTH
                                                                        : GEMEL__LIFT_DEVICE;
}

/* 1 if NODE, which has its place, is made of attributes alone. */
static unsigned char is_alone(const gemel__lifting *l, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(l->from, node, &count);
  return l->places[node] == GEMEL__LIFT_BOTH && (count == 0 || l->alone[in[0].node]);
}

/* Finds the place of NODE, which is used. */
static gemel_status place_node(gemel__lifting *l, uint32_t node, unsigned char *known) {
  int hosts = gemel__node_op(l->from, node)->id != GEMEL__OP_transfer &&
              space_of(l->from, (gemel__ref){node, 0}) == GEMEL_SPACE_HOST;
  gemel__lift_place place = hosts ? GEMEL__LIFT_HOST : place_of_others(l, node);
  gemel_status status =
      hosts ? place_of_hosts(l, node, known, &l->reasons[node], &place) : GEMEL_OK;
  l->places[node] = (unsigned char)place;
  l->alone[node] = is_alone(l, node);
  return status;
}

gemel_status gemel__lift_find_places(gemel__lifting *l) {
  size_t n_ops = gemel__stable_count(&l->from->context->ops);
  unsigned char *known = gemel__alloc_array(n_ops, 1);
  if (known == NULL) {
    return gemel__no_memory(l->error, "a lift");
  }
  gemel_status status = GEMEL_OK;
  for (uint32_t node = 0; node < l->from->n_nodes && status == GEMEL_OK; node++) {
    if (l->places[node] == GEMEL__LIFT_FREE) {
      status = place_node(l, node, known);
    }
  }
  gemel__free(known, n_ops);
  return status;
}

/* ---- Aggressively ---- */

/* 1 if operands and results of NODE are scalars. */
static int is_scalar(const gemel_graph *graph, uint32_t node) {
  uint32_t count, n = gemel__lift_operands(graph, node);
  const gemel__ref *in = gemel__node_inputs(graph, node, &count);
  int rank = 0;
  for (uint32_t k = 0; k < n; k++) {
    rank |= gemel__ref_type(graph, in[k])->rank;
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
    } else if (l->places[node] != GEMEL__LIFT_SAME && l->places[node] != GEMEL__LIFT_BOTH) {
      read[node] = l->places[node] != GEMEL__LIFT_UNUSED;
    }
    for (uint32_t k = 0; k < n; k++) {
      read[in[k].node] |= read[node];
    }
  }
  gemel__free(read, from->n_nodes);
  return GEMEL_OK;
}
