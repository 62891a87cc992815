/* SPDX-License-Identifier: MIT
 *
 * The rewrite engine. Its contract:
 *
 * One pass over the old graph in the order of ids, which is a topological order. Each node that an
 * output needs is made again in the new graph, on what its inputs became, and settled. To settle a
 * node is to bring its attributes and the operands of a commutative operation into their normal
 * order, to fold it if its inputs are constants, and to try the rules that have its operation as
 * their root, the most specific first. If none fires the node is settled for good. If one fires,
 * its right side is made operation by operation, each of them settled in turn, so whatever a rule
 * makes is as if it had been in the graph from the start, and nothing is looked at twice. What the
 * right side becomes stands for the node from then on; when the same node is asked for again, that
 * is what is given.
 *
 * - Nothing recurses: a right side that is being made is a frame on an explicit stack, and so a
 *   slice may be pushed down a chain of a million operations. (Bodies do, to GEMEL_MAX_NESTING:
 *   the graphs among a node's attributes go through the phase before the node, see bodies.c.)
 * - A result of another dtype than the node is an error; one of another shape is broadcast to the
 *   node's (x * 0 => 0).
 * - Rules go in circles if a right side asks for a node that is just being replaced; if they fire
 *   more often than FUEL for each node of the old graph; or if they stall: STALL applications, each
 *   to what the one before it made, of which none matches an operation older than all that those
 *   before it matched. (A slice that is pushed down a long chain meets an older operation at each
 *   step, so it ends; what feeds on itself doesn't.) These are errors that name the rules, and
 *   there is no new graph.
 * - A rule that makes more operations than it replaces is declined, and counted, once such rules
 *   have made GROWTH nodes for each of the old graph; but not where it has stalled, so that a loop
 *   is told as one.
 * - Use counts, for `single_use`, are those of the old graph: a node of the new one is used as
 * often as all that it stands for. The last phase is repeated until it does nothing, so they are
 * right in the end.
 * - Nodes that were replaced stay in the new graph, unused: the next pass leaves them out.
 * - The order of everything depends on the old graph and the names of rules alone.
 */
#include "rewrite/settle.h"

#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/copy.h"
#include "core/error.h"
#include "rewrite/uses.h"

enum { FUEL = 32, GROWTH = 4, SLACK = 10000, STALL = 1000 };

static const double SPARE = 0.25; /* how much larger the new graph gets without moving */

/* A pass over the old graph. */
struct engine_walk {
  const gemel_graph *from;
  size_t n;         /* its nodes */
  gemel__ref *map;  /* by the number of an old value */
  gemel__uses uses; /* of the old graph */
  gemel__ref *refs; /* what the inputs of the node at hand became */
  size_t ref_capacity;
  gemel__engine e;
};

static gemel__ref mapped(const struct engine_walk *w, gemel__ref old) {
  return w->map[gemel__value_number(w->from, old)];
}

/* ---- Nodes ---- */

/* A node of several outputs: each that is read is settled by itself. */
static gemel_status settle_several(struct engine_walk *w, uint32_t old, gemel__ref value,
                                   gemel_location where) {
  for (uint32_t k = 0; k < w->from->nodes[old].n_outputs; k++) {
    size_t number = gemel__value_number(w->from, (gemel__ref){old, k});
    gemel__ref one = {value.node, k};
    gemel_status status =
        w->uses.of[number] > 0 ? gemel__engine_resolve(&w->e, &one, where) : GEMEL_OK;
    if (status != GEMEL_OK) {
      return status;
    }
    w->map[number] = one;
  }
  return GEMEL_OK;
}

/* The operands of node OLD, which are what its inputs became, in W->refs. */
static gemel_status map_inputs(struct engine_walk *w, uint32_t old, uint32_t *count) {
  const gemel__ref *inputs = gemel__node_inputs(w->from, old, count);
  if (gemel__grow(&w->refs, &w->ref_capacity, *count, sizeof *w->refs) != 0) {
    return gemel__engine_no_memory(&w->e);
  }
  for (uint32_t k = 0; k < *count; k++) {
    w->refs[k] = mapped(w, inputs[k]);
  }
  return GEMEL_OK;
}

/* Brings ATTRS, the attributes of OP, and its COUNT operands in W->refs to their normal form. */
static gemel_status normalize_old(struct engine_walk *w, const gemel__op *op, uint32_t count,
                                  uint32_t *attrs) {
  gemel_context *context = w->e.to->context;
  gemel_status status = GEMEL_OK;
  if (w->e.options->bodies != NULL && gemel__attrs_at(context, *attrs)->nesting > 0) {
    status = gemel__bodies_rewrite(w->e.options->bodies, context, op, attrs, w->e.error);
  }
  gemel__engine_sort(&w->e, op, count, w->refs);
  return status ? status : gemel__engine_normal_attrs(&w->e, op, attrs, count, w->refs);
}

/* Makes node OLD again, with ATTRS on W->refs: *VALUE. */
static gemel_status make_again(struct engine_walk *w, uint32_t old, uint32_t attrs, uint32_t count,
                               gemel__ref *value) {
  const gemel__node *node = gemel__node_at(w->from, old);
  gemel_status status = attrs == node->attrs
                            ? gemel__copy_node(w->e.to, w->from, old, w->refs, &value->node)
                            : GEMEL_DECLINED;
  value->output = 0;
  if (status == GEMEL_DECLINED) {
    gemel_location where = gemel__node_where(w->from, old);
    return gemel__engine_apply(&w->e, node->op, attrs, count, w->refs, where, &value->node);
  }
  return status == GEMEL_OK ? GEMEL_OK : gemel__engine_take_error(&w->e);
}

/* Makes node OLD again, and settles it. */
static gemel_status remake(struct engine_walk *w, uint32_t old) {
  const gemel__node *node = gemel__node_at(w->from, old);
  gemel_location where = gemel__node_where(w->from, old);
  uint32_t attrs = node->attrs, count;
  gemel__ref value;
  GEMEL__TRY(map_inputs(w, old, &count));
  GEMEL__TRY(normalize_old(w, gemel__node_op(w->from, old), count, &attrs));
  GEMEL__TRY(make_again(w, old, attrs, count, &value));
  GEMEL__TRY(gemel__engine_reserve(&w->e));
  if (node->n_outputs != 1) {
    w->e.uses[value.node] += w->uses.of[old];
    return settle_several(w, old, value, where);
  }
  GEMEL__TRY(gemel__engine_resolve(&w->e, &value, where));
  w->map[old] = value;
  w->e.uses[value.node] += w->uses.of[old];
  return GEMEL_OK;
}

/* ---- The rest of the graph ---- */

static gemel_status copy_inputs(struct engine_walk *w) {
  const gemel_graph *from = w->from;
  for (size_t k = 0; k < from->n_inputs; k++) {
    uint32_t old = from->inputs[k].node, made;
    if (gemel__copy_input(w->e.to, from, k, &made) != GEMEL_OK) {
      return gemel__engine_take_error(&w->e);
    }
    w->map[old] = (gemel__ref){made, 0};
    if (gemel__engine_reserve(&w->e) != GEMEL_OK) {
      return GEMEL_NO_MEMORY;
    }
    w->e.states[made].state = GEMEL__SETTLED;
    w->e.uses[made] = w->uses.of[old];
  }
  return GEMEL_OK;
}

static gemel_status copy_outputs(struct engine_walk *w) {
  for (size_t k = 0; k < w->from->n_outputs; k++) {
    gemel__ref value = mapped(w, w->from->outputs[k]);
    if (gemel__copy_output(w->e.to, w->from, k, value) != GEMEL_OK) {
      return gemel__engine_take_error(&w->e);
    }
  }
  return GEMEL_OK;
}

static gemel_status run(struct engine_walk *w) {
  uint64_t live = w->uses.used;
  double share = (double)w->uses.live / (double)(w->n + 1);
  gemel_status status = gemel__copy_reserve(w->e.to, w->from, share * (1 + SPARE)) == GEMEL_OK
                            ? copy_inputs(w)
                            : gemel__engine_no_memory(&w->e);
  w->e.stall = w->uses.widest + STALL; /* an operation may be taken apart by its operands */
  w->e.fuel = live * FUEL + SLACK;
  w->e.growth = w->e.options->tight ? 0 : live * GROWTH + SLACK;
  for (size_t k = 0; k < w->n && status == GEMEL_OK; k++) {
    if (w->uses.of[k] > 0 && w->from->nodes[k].op != GEMEL__OP_input) {
      status = remake(w, (uint32_t)k);
    }
  }
  return status ? status : copy_outputs(w);
}

static void release(struct engine_walk *w) {
  gemel__free(w->map, gemel__value_count(w->from) * sizeof *w->map);
  gemel__uses_clear(&w->uses);
  gemel__free(w->refs, w->ref_capacity * sizeof *w->refs);
  gemel__engine_release(&w->e);
}

static gemel_status walk_through(struct engine_walk *w, gemel__pass_options *options) {
  gemel__engine *e = &w->e;
  e->options = options;
  e->selection = options->selection;
  e->to = gemel_graph_new(w->from->context, e->error);
  e->scene = (gemel__scene){e->to, NULL, &e->arena, NULL, e->error};
  w->map = gemel__alloc_array(gemel__value_count(w->from), sizeof *w->map);
  gemel_status status = e->to == NULL    ? e->error->status
                        : w->map == NULL ? gemel__engine_no_memory(e)
                                         : gemel__uses_find(&w->uses, w->from, e->error);
  status = status ? status : run(w);
  release(w);
  return status;
}

/* A walk takes kilobytes, and bodies are walked through within the walk of what they stand in: so
 * it isn't on the stack. */
gemel_graph *gemel__rewrite_phase(const gemel_graph *from, gemel__pass_options *options,
                                  gemel_error *error) {
  struct {
    struct engine_walk walk;
    gemel_error local;
  } *room = gemel__alloc_zeroed(sizeof *room);
  gemel_graph *to;
  if (room == NULL) {
    gemel__no_memory(error, "a rewriting");
    return NULL;
  }
  room->walk.from = from;
  room->walk.n = from->n_nodes;
  room->walk.e.error = error != NULL ? error : &room->local;
  if (walk_through(&room->walk, options) != GEMEL_OK) {
    gemel_graph_unref(room->walk.e.to);
    room->walk.e.to = NULL;
  }
  to = room->walk.e.to;
  gemel__free(room, sizeof *room);
  return to;
}

gemel_graph *gemel__rewrite_copy(const gemel_graph *graph, gemel_error *error) {
  gemel__selection none;
  gemel__pass_options pass;
  gemel_graph *copy = NULL;
  memset(&pass, 0, sizeof pass);
  pass.selection = &none;
  if (gemel__selection_start(&none, graph->context, error) == GEMEL_OK &&
      gemel__selection_finish(&none, error) == GEMEL_OK) {
    copy = gemel__rewrite_phase(graph, &pass, error);
  }
  gemel__selection_clear(&none);
  return copy;
}

gemel_graph *gemel__rewrite_body(void *user, const gemel_graph *body, gemel_error *error) {
  gemel_graph *next = gemel__rewrite_phase(body, user, error), *whole = NULL;
  if (next != NULL) {
    whole = gemel__rewrite_copy(next, error);
    gemel_graph_unref(next);
  }
  return whole;
}
