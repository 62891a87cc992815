/* SPDX-License-Identifier: MIT
 *
 * The rewrite engine. Its contract:
 *
 * One pass over the old graph in the order of ids, which is a topological order. Each live node is
 * made again in the new graph, on what its inputs became, and settled. To settle a node is to bring
 * its attributes and the operands of a commutative operation into their normal order, to fold it if
 * its inputs are constants, and to try the rules that have its operation as their root, the most
 * specific first. If none fires the node is settled for good. If one fires, its right side is made
 * operation by operation, each of them settled in turn, so whatever a rule makes is as if it had
 * been in the graph from the start, and nothing is looked at twice. What the right side becomes
 * stands for the node from then on; when the same node is asked for again, that is what is given.
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
 * - Use counts, for `single_use`, are those of the old graph (the last phase is repeated until it
 *   does nothing, so they are right in the end): a node of the new one is used as
 * often as all that it stands for.
 * - Where a node is as a pass has left it, only rules that weren't tried then are tried at it, and
 *   those that ask for use counts: all else that a match depends on is below the node. (What was
 *   tried at each is noted beside the graph, from pass to pass and from phase to phase, and by the
 *   look that says whether a pass has anything to do.)
 * - Nodes that were replaced stay in the new graph, unused: the next pass leaves them out.
 * - Where nobody else has the old graph it is the new one as well: what changes is made behind it,
 *   with all that rests on it, and all else stays, used or not. (So it is with every pass but the
 *   first, and most change little.)
 * - The order of everything depends on the old graph, with what is unused in it, and the names of
 *   rules alone. (So a rewriting without shortcuts makes the passes that one with them makes.)
 */
#include "passes/funnel.h"

#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/copy.h"
#include "passes/uses.h"

enum { FUEL = 32, GROWTH = 4, SLACK = 10000, STALL = 1000 };
enum { MOST_UNUSED = 3 }; /* of a graph that stays, all but one in so many nodes */

static const double SPARE = 0.25; /* how much larger the new graph gets without moving */

/* A pass over the old graph. */
struct walk {
  const gemel_graph *from;
  size_t n;                    /* its nodes */
  int in_place;                /* it is the new graph, too */
  const unsigned char *before; /* by old node: phases whose rules were tried at it; or NULL */
  gemel__ref *map; /* by old node; several outputs: output is SEVERAL, node the first in MULTI */
  gemel__ref *multi;
  unsigned char *wanted; /* 1: something reads this output; as MULTI */
  size_t n_multi, multi_capacity, wanted_capacity;
  const gemel__use_counts *counts; /* of the old graph */
  gemel__use_counts own_counts;    /* the same if they are to be freed */
  const uint32_t *old_uses;
  unsigned char *changed; /* by old node: it isn't remade as it was */
  gemel_type static_type; /* one that holds no size that a node produces */
  gemel__ref *refs;       /* what the inputs of the node at hand became */
  size_t ref_capacity;
  gemel__engine e;
};

#define SEVERAL UINT32_MAX

static gemel__ref mapped(const struct walk *w, gemel__ref old) {
  gemel__ref to = w->map[old.node];
  return to.output == SEVERAL ? w->multi[to.node + old.output] : to;
}

static gemel_status keep_single(struct walk *w, uint32_t old, gemel__ref value) {
  w->map[old] = value;
  w->e.uses[value.node] += w->old_uses[old];
  return GEMEL_OK;
}

/* A node of several outputs: each that is read is settled by itself. */
static gemel_status keep_several(struct walk *w, uint32_t old, gemel__ref value,
                                 gemel_location where) {
  uint32_t n = gemel__node_at(w->e.to, value.node)->n_outputs;
  size_t first = w->map[old].node;
  w->e.uses[value.node] += w->old_uses[old];
  for (uint32_t k = 0; k < n; k++) {
    gemel__ref one = {value.node, k};
    gemel_status status =
        w->wanted[first + k] ? gemel__engine_resolve(&w->e, &one, where) : GEMEL_OK;
    if (status != GEMEL_OK) {
      return status;
    }
    w->changed[old] |= one.node != value.node;
    w->multi[first + k] = one;
  }
  return GEMEL_OK;
}

/* The operands of node OLD, which are what its inputs became, in W->refs; *FRESH: one of them isn't
 * as it was. */
static gemel_status map_inputs(struct walk *w, uint32_t old, uint32_t *count, int *fresh) {
  const gemel__ref *inputs = gemel__node_inputs(w->from, old, count);
  *fresh = 0;
  if (*count > w->ref_capacity &&
      gemel__grow(&w->refs, &w->ref_capacity, *count, sizeof *w->refs) != 0) {
    return gemel__engine_no_memory(&w->e);
  }
  for (uint32_t k = 0; k < *count; k++) {
    w->refs[k] = mapped(w, inputs[k]);
    *fresh |= w->changed[inputs[k].node];
  }
  return GEMEL_OK;
}

/* Brings the attributes and operands of node OLD, which were a normal form if it isn't FRESH and
 * some rules were TRIED at it, to their normal form. */
static gemel_status normalize_old(struct walk *w, uint32_t old, uint32_t count, int fresh,
                                  unsigned tried, uint32_t *attrs) {
  const gemel__op *op = gemel__op_at(w->e.to->context, gemel__node_at(w->from, old)->op);
  gemel_status status = GEMEL_OK;
  if (w->e.options->bodies != NULL && gemel__attrs_at(w->e.to->context, *attrs)->nesting > 0) {
    status = gemel__bodies_rewrite(w->e.options->bodies, w->e.to->context, op, attrs, w->e.error);
    tried = 0;
  }
  gemel__engine_sort(&w->e, op, count, w->refs);
  return status != GEMEL_OK || (tried != 0 && !fresh)
             ? status
             : gemel__engine_normal_attrs(&w->e, op, attrs, count, w->refs);
}

/* Makes node OLD again, with ATTRS on W->refs: *VALUE. */
static gemel_status make_again(struct walk *w, uint32_t old, uint32_t attrs, uint32_t count,
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

/* Makes node OLD again, which some rules were TRIED at, with its COUNT inputs in W->refs, of which
 * one may be FRESH; and settles it. */
static gemel_status remake_as(struct walk *w, uint32_t old, uint32_t count, int fresh,
                              unsigned tried) {
  const gemel__node *node = gemel__node_at(w->from, old);
  gemel_location where = gemel__node_where(w->from, old);
  uint32_t attrs = node->attrs;
  gemel__ref value, leading = count > 0 ? w->refs[0] : (gemel__ref){0, 0};
  gemel_status status = normalize_old(w, old, count, fresh, tried, &attrs);
  if (status != GEMEL_OK) {
    return status;
  }
  fresh |= attrs != node->attrs || (count > 0 && !gemel__same_ref(w->refs[0], leading));
  w->e.tried = fresh ? 0 : (unsigned char)tried;
  status = make_again(w, old, attrs, count, &value);
  if (status != GEMEL_OK || gemel__engine_reserve(&w->e) != 0) {
    return status ? status : gemel__engine_no_memory(&w->e);
  }
  uint32_t made = value.node;
  w->changed[old] = (unsigned char)fresh;
  w->e.tried = 0;
  if (gemel__node_at(w->e.to, made)->n_outputs != 1) {
    return keep_several(w, old, value, where);
  }
  status = gemel__engine_resolve(&w->e, &value, where);
  w->changed[old] |= value.node != made;
  return status ? status : keep_single(w, old, value);
}

/* 1 if attributes ATTRS are the same wherever the node that has them goes: no graph is among them,
 * nor a size that an input holds. */
static inline int is_static(const gemel_context *context, uint32_t attrs) {
  return attrs == 0 || (gemel__attrs_at(context, attrs)->nesting == 0 &&
                        !gemel__attrs_at(context, attrs)->has_runtime);
}

/* 1 if no type that holds such a size is output 0 of NODE's, and TYPE is it. */
static inline int has_static_type(struct walk *w, uint32_t node, gemel_type type) {
  if (type != w->static_type && gemel__node_at(w->from, node)->n_outputs == 1 &&
      !gemel__type_at(w->from->context, type)->has_runtime) {
    w->static_type = type;
  }
  return type == w->static_type;
}

/* 1 if node OLD, whose COUNT inputs, in W->refs, are as they were, is settled as it is: the rules
 * TRIED at it are all that there are for it. Its type, then, is what it was. */
static int is_settled(struct walk *w, uint32_t old, uint32_t count, unsigned tried) {
  const gemel__selection *s = w->e.selection;
  const gemel__node *node = gemel__node_at(w->from, old);
  return tried != 0 && count > 0 && node->op <= s->context->n_builtins && node->op < s->n_ops &&
         !gemel__selection_has(s, w->from, old, tried) && is_static(s->context, node->attrs) &&
         has_static_type(w, old, w->from->node_types[old]) &&
         !(count == 2 && (s->roots[node->op] & GEMEL__OP_COMMUTATIVE) &&
           gemel__engine_out_of_order(&w->e, w->refs[0], w->refs[1]));
}

/* Makes node OLD, which is settled, again on the COUNT inputs in W->refs. */
static gemel_status carry_over(struct walk *w, uint32_t old, uint32_t count, unsigned tried) {
  gemel__ref value = {old, 0};
  gemel__engine *e = &w->e;
  if (!w->in_place &&
      gemel__copy_settled(e->to, w->from, old, count, w->refs, &value.node) != GEMEL_OK) {
    return gemel__engine_take_error(e);
  }
  e->tried = (unsigned char)tried;
  if (gemel__engine_reserve(e) != 0) {
    return gemel__engine_no_memory(e);
  }
  e->tried = 0;
  struct gemel__fate *fate = &e->fates[value.node];
  if (fate->state == GEMEL__UNSEEN) {
    fate->state = GEMEL__SETTLED;
    fate->by = value;
    return keep_single(w, old, value);
  }
  uint32_t made = value.node; /* a rule has made it before */
  gemel_status status = gemel__engine_resolve(e, &value, gemel__node_where(w->from, old));
  w->changed[old] = value.node != made;
  return status ? status : keep_single(w, old, value);
}

/* Makes node OLD again, and settles it. */
static gemel_status remake(struct walk *w, uint32_t old) {
  unsigned tried = w->before != NULL ? w->before[old] : 0;
  uint32_t count;
  int fresh;
  gemel_status status = map_inputs(w, old, &count, &fresh);
  if (status != GEMEL_OK) {
    return status;
  }
  return !fresh && is_settled(w, old, count, tried) ? carry_over(w, old, count, tried)
                                                    : remake_as(w, old, count, fresh, tried);
}

static gemel_status copy_inputs(struct walk *w) {
  const gemel_graph *from = w->from;
  for (size_t k = 0; k < from->n_inputs; k++) {
    uint32_t old = from->inputs[k].node, made;
    if (gemel__copy_input(w->e.to, from, k, &made) != GEMEL_OK) {
      return gemel__engine_take_error(&w->e);
    }
    w->map[old] = (gemel__ref){made, 0};
    if (gemel__engine_reserve(&w->e) != 0) {
      return gemel__engine_no_memory(&w->e);
    }
    w->e.fates[made].state = GEMEL__SETTLED;
    w->e.uses[made] = w->old_uses[old];
  }
  return GEMEL_OK;
}

static gemel_status copy_outputs(struct walk *w) {
  for (size_t k = 0; k < w->from->n_outputs; k++) {
    gemel__ref value = mapped(w, w->from->outputs[k]);
    if (w->in_place) {
      w->e.to->outputs[k] = value;
    } else if (gemel__copy_output(w->e.to, w->from, k, value) != GEMEL_OK) {
      return gemel__engine_take_error(&w->e);
    }
  }
  return GEMEL_OK;
}

/* Places for the outputs of node OLD, of which there are several. */
static gemel_status lay_out(struct walk *w, uint32_t old, uint32_t n) {
  size_t first = w->n_multi;
  if (gemel__grow(&w->multi, &w->multi_capacity, first + n, sizeof *w->multi) ||
      gemel__grow(&w->wanted, &w->wanted_capacity, first + n, 1)) {
    return gemel__engine_no_memory(&w->e);
  }
  memset(w->wanted + first, 0, n);
  w->map[old].node = (uint32_t)first;
  w->map[old].output = SEVERAL;
  w->n_multi += n;
  return GEMEL_OK;
}

static void want(struct walk *w, gemel__ref old) {
  gemel__ref to = w->map[old.node];
  if (to.output == SEVERAL) {
    w->wanted[to.node + old.output] = 1;
  }
}

/* Notes which of several outputs are used. */
static gemel_status find_wanted(struct walk *w) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < w->n && status == GEMEL_OK; k++) {
    uint32_t count, n_outputs = w->from->nodes[k].n_outputs;
    const gemel__ref *inputs = gemel__node_inputs(w->from, (uint32_t)k, &count);
    if (w->old_uses[k] == 0) {
      continue;
    }
    status = n_outputs != 1 ? lay_out(w, (uint32_t)k, n_outputs) : GEMEL_OK;
    for (uint32_t j = 0; j < count; j++) {
      want(w, inputs[j]);
    }
  }
  for (size_t k = 0; k < w->from->n_outputs; k++) {
    want(w, w->from->outputs[k]);
  }
  return status;
}

/* Notes of which phases the rules have been tried at the new nodes: not where one was declined,
 * which another phase may apply. */
static gemel_status note_tried(struct walk *w) {
  gemel__tried *tried = w->e.options->tried;
  if (tried == NULL) {
    return GEMEL_OK;
  }
  gemel__tried_clear(tried);
  if (w->e.declined) {
    return GEMEL_OK;
  }
  if (gemel__engine_reserve(&w->e) != 0 ||
      (tried->phases = gemel__alloc_array(w->e.to->n_nodes, 1)) == NULL) {
    return gemel__engine_no_memory(&w->e);
  }
  tried->graph = gemel_graph_ref(w->e.to);
  tried->n = w->e.to->n_nodes;
  for (size_t k = 0; k < w->e.to->n_nodes; k++) {
    tried->phases[k] =
        w->e.fates[k].state == GEMEL__UNSEEN
            ? 0
            : (unsigned char)((w->e.fates[k].tried & ~GEMEL__ASKS_USES) | w->e.selection->phases);
  }
  return GEMEL_OK;
}

void gemel__tried_clear(gemel__tried *tried) {
  if (tried->graph != NULL) {
    gemel__free(tried->phases, tried->n);
    gemel_graph_unref(tried->graph);
  }
  *tried = (gemel__tried){NULL, NULL, 0};
}

/* Room in a graph that is empty yet; and the inputs. */
static gemel_status begin_anew(struct walk *w) {
  double share = (double)w->counts->live / (double)(w->n + 1);
  if (gemel__copy_reserve(w->e.to, w->from, share * (1 + SPARE)) != GEMEL_OK ||
      gemel__engine_room(&w->e, w->e.to->node_room) != 0) {
    return gemel__engine_no_memory(&w->e);
  }
  return copy_inputs(w);
}

/* Fates of what is there; and the inputs, which are what they were. What is unused was replaced, or
 * never seen. */
static gemel_status begin_in_place(struct walk *w) {
  gemel__engine *e = &w->e;
  if (gemel__engine_reserve(e) != 0) {
    return gemel__engine_no_memory(e);
  }
  for (size_t k = 0; k < w->n; k++) {
    e->fates[k].tried = w->before != NULL && w->old_uses[k] > 0 ? w->before[k] : 0;
  }
  for (size_t k = 0; k < w->from->n_inputs; k++) {
    uint32_t node = w->from->inputs[k].node;
    w->map[node] = (gemel__ref){node, 0};
    e->fates[node].state = GEMEL__SETTLED;
    e->uses[node] = w->old_uses[node];
  }
  return GEMEL_OK;
}

static gemel_status run(struct walk *w) {
  uint32_t input_op = w->from->context->input_op;
  uint64_t live = w->counts->used;
  gemel_status status = w->counts->has_several ? find_wanted(w) : GEMEL_OK;
  status = status ? status : w->in_place ? begin_in_place(w) : begin_anew(w);
  w->e.stall = w->counts->widest + STALL; /* an operation may be taken apart by its operands */
  w->e.fuel = live * FUEL + SLACK;
  w->e.growth = w->e.options->tight ? 0 : live * GROWTH + SLACK;
  for (size_t k = 0; k < w->n && status == GEMEL_OK; k++) {
    if (w->old_uses[k] > 0 && w->from->nodes[k].op != input_op) {
      status = remake(w, (uint32_t)k);
    }
  }
  status = status ? status : copy_outputs(w);
  return status ? status : note_tried(w);
}

static gemel_status find_counts(struct walk *w) {
  gemel__use_counts *counts = w->e.options->counts != NULL ? w->e.options->counts : &w->own_counts;
  w->counts = counts;
  gemel_status status = gemel__use_counts_find(counts, w->from, w->e.error);
  w->old_uses = counts->uses;
  return status;
}

/* 1 if the old graph may be the new one: where most of it is used, and each node's outputs are of
 * one fate. */
static int may_stay(const struct walk *w) {
  return w->e.options->owned && w->e.options->counts != NULL &&
         w->counts->live >= w->n / MOST_UNUSED && !w->counts->has_several && !w->counts->has_bodies;
}

/* The new graph: GEMEL_OK. */
static gemel_status find_target(struct walk *w) {
  w->in_place = may_stay(w);
  w->e.to = w->in_place ? gemel_graph_ref((gemel_graph *)w->from)
                        : gemel_graph_new(w->from->context, w->e.error);
  w->e.search.scene = (gemel__scene){w->e.to, NULL, &w->e.arena, NULL, w->e.error};
  return w->e.to != NULL ? GEMEL_OK : w->e.error->status;
}

static void release(struct walk *w) {
  if (w->in_place) {
    gemel__use_counts_stale(w->e.options->counts);
  }
  gemel__free(w->map, w->n * sizeof *w->map);
  gemel__use_counts_clear(&w->own_counts);
  gemel__free(w->changed, w->n);
  gemel__free(w->multi, w->multi_capacity * sizeof *w->multi);
  gemel__free(w->wanted, w->wanted_capacity);
  gemel__free(w->refs, w->ref_capacity * sizeof *w->refs);
  gemel__engine_release(&w->e);
}

static gemel_status walk_through(struct walk *w, gemel__pass_options *options) {
  gemel__engine *e = &w->e;
  gemel_status status;
  e->options = options;
  e->selection = options->selection;
  w->before = !options->thorough && options->tried != NULL && options->tried->graph == w->from
                  ? options->tried->phases
                  : NULL;
  e->search.selection = options->selection;
  e->search.timed = options->timed;
  e->search.whole = options->witness != NULL;
  e->search.thorough = options->thorough;
  w->map = gemel__alloc_array(w->n, sizeof *w->map);
  w->changed = gemel__alloc_array(w->n, 1);
  status = w->map != NULL && w->changed != NULL ? find_counts(w) : gemel__engine_no_memory(e);
  status = status ? status : find_target(w);
  status = status ? status : run(w);
  release(w);
  return status;
}

/* A walk takes kilobytes, and bodies are walked through within the walk of what they stand in: so
 * it isn't on the stack. */
gemel_graph *gemel__rewrite_phase(const gemel_graph *from, gemel__pass_options *options,
                                  gemel_error *error) {
  struct {
    struct walk walk;
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

gemel_graph *gemel__rewrite_compact(const gemel_graph *graph, gemel_error *error) {
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
  gemel__pass_options *options = user;
  gemel__pass_options outer = *options; /* what is known is of the graph that has the body */
  gemel_graph *next, *whole = NULL;
  options->tried = NULL;
  options->counts = NULL;
  next = gemel__rewrite_phase(body, options, error);
  options->tried = outer.tried;
  options->counts = outer.counts;
  if (next != NULL) {
    whole = gemel__rewrite_trim(next, NULL, error);
    gemel_graph_unref(next);
  }
  return whole;
}
