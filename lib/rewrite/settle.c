/* SPDX-License-Identifier: MIT
 *
 * How a node of the new graph is settled, see engine.c. A right side that is being made is a frame
 * on a stack. While one of its operations is being settled, the frames of the rules that fire there
 * lie above it.
 */
#include "rewrite/settle.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/clock.h"
#include "core/attrs.h"
#include "rewrite/profile.h"

enum { LOCAL = 64, ARENA_BYTES = 1 << 18, LOOP_NAMES = 6 };

gemel_status gemel__engine_no_memory(const gemel__engine *e) {
  return gemel__no_memory(e->error, "rewriting");
}

gemel_status gemel__engine_take_error(const gemel__engine *e) {
  *e->error = *gemel_graph_error(e->to);
  return e->error->status != GEMEL_OK ? e->error->status
                                      : gemel__fail(e->error, GEMEL_INTERNAL, "a rewrite failed");
}

static const struct gemel_rule *rule_of(const struct gemel__settle_frame *f) {
  return f->candidate->rule;
}

/* ---- States ---- */

gemel_status gemel__engine_reserve(gemel__engine *e) {
  size_t n = e->to->n_nodes;
  if (gemel__grow(&e->states, &e->state_capacity, n, sizeof *e->states) != 0 ||
      gemel__grow(&e->uses, &e->use_capacity, n, sizeof *e->uses) != 0) {
    return gemel__engine_no_memory(e);
  }
  for (; e->n_states < n; e->n_states++) {
    e->states[e->n_states] = (struct gemel__node_state){.state = GEMEL__UNSEEN};
    e->uses[e->n_states] = 0;
  }
  return GEMEL_OK;
}

/* The state of VALUE, one of several outputs of its node; NULL: memory is out. */
static struct gemel__node_state *state_apart(gemel__engine *e, gemel__ref value) {
  uint32_t n = gemel__node_at(e->to, value.node)->n_outputs;
  struct gemel__node_state *state = &e->states[value.node];
  if (state->state != GEMEL__APART) {
    if (gemel__grow(&e->apart, &e->apart_capacity, e->n_apart + n, sizeof *e->apart)) {
      return NULL;
    }
    memset(e->apart + e->n_apart, 0, n * sizeof *e->apart);
    state->state = GEMEL__APART;
    state->by.node = (uint32_t)e->n_apart;
    e->n_apart += n;
  }
  return &e->apart[state->by.node + value.output];
}

/* The state of VALUE, whose node states are reserved for; NULL: memory is out. */
static inline struct gemel__node_state *state_of(gemel__engine *e, gemel__ref value) {
  return gemel__node_at(e->to, value.node)->n_outputs == 1 ? &e->states[value.node]
                                                           : state_apart(e, value);
}

static gemel_type type_of(const gemel__engine *e, gemel__ref value) {
  return gemel__node_type(e->to, value.node, value.output);
}

/* ---- Loops ---- */

/* Names the rules that are at work, from frame FIRST on. */
static gemel_status circle(const gemel__engine *e, size_t first, const char *what) {
  char names[400];
  size_t used = 0, named = 0;
  names[0] = '\0';
  for (size_t k = e->n_frames; k-- > first && named < LOOP_NAMES && used < sizeof names - 1;) {
    const struct gemel_rule *rule = rule_of(&e->frames[k]);
    int known = 0;
    for (size_t j = k + 1; j < e->n_frames && !known && j < k + 1 + LOOP_NAMES; j++) {
      known = rule_of(&e->frames[j]) == rule;
    }
    if (!known) {
      int n = snprintf(names + used, sizeof names - used, "%s%s", named > 0 ? ", " : "",
                       rule->info.name);
      used += n > 0 ? (size_t)n : 0;
      named++;
    }
  }
  return gemel__fail(e->error, GEMEL_WRONG_RULE, "rules go in circles (%s): %s", what, names);
}

static size_t frame_replacing(const gemel__engine *e, gemel__ref value) {
  size_t k = e->n_frames;
  while (k > 0 && (e->frames[k - 1].before.node != value.node ||
                   e->frames[k - 1].before.output != value.output)) {
    k--;
  }
  return k > 0 ? k - 1 : 0;
}

/* ---- Normal forms ---- */

static int is_constant(const gemel__engine *e, gemel__ref ref) {
  return e->to->nodes[ref.node].op == GEMEL__OP_constant;
}

static inline int is_unsorted(const gemel__engine *e, const gemel__op *op, size_t n,
                              const gemel__ref *inputs) {
  return (op->record.flags & GEMEL_OP_COMMUTATIVE) && n == 2 &&
         gemel__engine_out_of_order(e, inputs[0], inputs[1]);
}

void gemel__engine_sort(const gemel__engine *e, const gemel__op *op, size_t n, gemel__ref *inputs) {
  if (is_unsorted(e, op, n, inputs)) {
    gemel__ref first = inputs[0];
    inputs[0] = inputs[1];
    inputs[1] = first;
  }
}

gemel_status gemel__engine_normal_attrs(gemel__engine *e, const gemel__op *op, uint32_t *attrs,
                                        size_t n, const gemel__ref *inputs) {
  gemel_type types[LOCAL];
  if (op->record.normalize == NULL || n > LOCAL) {
    return GEMEL_OK;
  }
  for (size_t k = 0; k < n; k++) {
    types[k] = gemel__node_type(e->to, inputs[k].node, inputs[k].output);
  }
  return gemel__normal_attrs(e->to->context, op, *attrs, n, types, attrs, e->error);
}

static gemel_status grow_operands(gemel__engine *e, size_t count) {
  return gemel__grow(&e->operands, &e->operand_capacity, count, sizeof *e->operands) == 0
             ? GEMEL_OK
             : gemel__engine_no_memory(e);
}

gemel_status gemel__engine_apply(gemel__engine *e, uint32_t op, uint32_t attrs, size_t n,
                                 const gemel__ref *inputs, gemel_location where, uint32_t *node) {
  gemel_value made;
  if (n > e->operand_capacity && grow_operands(e, n) != GEMEL_OK) {
    return GEMEL_NO_MEMORY;
  }
  for (size_t k = 0; k < n; k++) {
    e->operands[k] = gemel__value(e->to, inputs[k]);
  }
  made = gemel__apply(e->to, op, attrs, n, e->operands, where);
  *node = made.node;
  return gemel_is_null(made) ? gemel__engine_take_error(e) : GEMEL_OK;
}

/* Makes a node that a template made, in its normal form, if it isn't in it. */
static gemel_status normalize(gemel__engine *e, gemel_location where, gemel__ref *value) {
  const gemel__node *node = gemel__node_at(e->to, value->node);
  const gemel__op *op = gemel__op_at(e->to->context, node->op);
  uint32_t count, attrs = node->attrs;
  const gemel__ref *inputs = gemel__node_inputs(e->to, value->node, &count);
  gemel__ref operands[LOCAL];
  if (count > LOCAL || (op->record.normalize == NULL && !is_unsorted(e, op, count, inputs))) {
    return GEMEL_OK;
  }
  memcpy(operands, inputs, count * sizeof *operands);
  gemel__engine_sort(e, op, count, operands);
  gemel_status status = gemel__engine_normal_attrs(e, op, &attrs, count, operands);
  return status != GEMEL_OK ||
                 (attrs == node->attrs && (count == 0 || gemel__same_ref(operands[0], inputs[0])))
             ? status
             : gemel__engine_apply(e, op->id, attrs, count, operands, where, &value->node);
}

/* ---- Firing ---- */

/* How many applications in a row, with the one about to be made of a match whose oldest operation
 * is OLDEST, have met nothing older than the ones before. */
static uint32_t stalled(const gemel__engine *e, uint32_t oldest) {
  const struct gemel__settle_frame *f = e->n_frames > 0 ? &e->frames[e->n_frames - 1] : NULL;
  return f != NULL && oldest >= f->oldest ? f->stalled + 1 : 0;
}

static gemel_status push_frame(gemel__engine *e, const gemel__candidate *c,
                               const gemel__binding *binding, const gemel__template_attrs *attrs,
                               gemel__ref before, gemel_location where) {
  const struct gemel_rule *rule = c->rule;
  struct gemel__settle_frame *f;
  if (gemel__grow(&e->frames, &e->frame_capacity, e->n_frames + 1, sizeof *e->frames) ||
      gemel__grow(&e->values, &e->value_capacity, e->n_values + rule->right.count,
                  sizeof *e->values) ||
      gemel__grow(&e->made, &e->made_capacity, e->n_values + rule->right.count, sizeof *e->made) ||
      gemel__grow(&e->terms, &e->term_capacity, e->n_terms + rule->n_variables + 1,
                  sizeof *e->terms)) {
    return gemel__engine_no_memory(e);
  }
  uint32_t stale = stalled(e, binding->oldest);
  f = &e->frames[e->n_frames++];
  memset(f, 0, sizeof *f);
  f->stalled = stale;
  f->oldest = stale > 0 ? f[-1].oldest : binding->oldest;
  f->candidate = c;
  f->attrs = attrs;
  f->values = e->n_values;
  f->terms = e->n_terms;
  f->before = before;
  f->broadcast.node = GEMEL__NO_BROADCAST;
  f->where = where;
  memcpy(e->terms + e->n_terms, binding->terms, rule->n_variables * sizeof *e->terms);
  e->n_values += rule->right.count;
  e->n_terms += rule->n_variables;
  return GEMEL_OK;
}

/* Fires candidate C, which matches at VALUE: GEMEL_OK (a frame is on the stack), GEMEL_DECLINED. */
static gemel_status fire(gemel__engine *e, const gemel__candidate *c, const gemel__binding *binding,
                         gemel__ref value, gemel_location where) {
  const gemel__template_attrs *attrs;
  gemel__tally *tally = &e->selection->tallies[c->row];
  uint32_t stale = stalled(e, binding->oldest);
  if (stale > e->stall) {
    return circle(e, e->n_frames - LOOP_NAMES, "each makes the next one fire");
  }
  if (c->rule->grows && e->grown >= e->growth && stale == 0) {
    tally->declined++;
    e->declined = 1;
    return GEMEL_DECLINED;
  }
  e->scene.variables = binding->terms;
  gemel_status status = gemel__template_evaluate(&c->rule->right, &e->scene, &attrs);
  if (status != GEMEL_OK) {
    return status;
  }
  if (++e->fired > e->fuel) {
    return circle(e, e->n_frames > 64 ? e->n_frames - 64 : 0, c->rule->info.name);
  }
  tally->applied++;
  return push_frame(e, c, binding, attrs, value, where);
}

/* Matches candidate C at VALUE, and fires it. */
static gemel_status try_rule(gemel__engine *e, const gemel__candidate *c, gemel__ref value,
                             gemel_location where) {
  gemel__binding binding;
  double start = e->options->timed ? gemel__thread_seconds() : 0;
  gemel_status status = gemel__rule_match(c->rule, c->order, &e->scene, value, &binding);
  status = status ? status : fire(e, c, &binding, value, where);
  if (e->options->timed) {
    e->selection->tallies[c->row].seconds += gemel__thread_seconds() - start;
  }
  return status;
}

static gemel_status try_rules(gemel__engine *e, gemel__ref value, gemel_location where) {
  const uint32_t *list;
  uint32_t count;
  e->scene.uses = e->uses;
  gemel_status status =
      gemel__selection_candidates(e->selection, e->to, value.node, &list, &count, e->error);
  status = status ? status : GEMEL_DECLINED;
  for (uint32_t k = 0; k < count && status == GEMEL_DECLINED; k++) {
    status = try_rule(e, &e->selection->candidates[list[k]], value, where);
  }
  return status;
}

/* ---- Settling ---- */

/* 1 if the first input is a constant: most nodes are told apart by that. */
static int may_fold(const gemel__engine *e, uint32_t node) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(e->to, node, &count);
  return e->options->fold && count > 0 && is_constant(e, inputs[0]);
}

static gemel_status fold(gemel__engine *e, gemel__ref value, gemel__ref *by) {
  int folded = may_fold(e, value.node) ? gemel__fold(e->to, value.node, by) : 0;
  if (folded < 0 || gemel__engine_reserve(e) != GEMEL_OK) {
    return gemel__engine_no_memory(e);
  }
  if (folded == 0) {
    return GEMEL_DECLINED;
  }
  e->options->folded++;
  e->states[by->node].state = GEMEL__SETTLED;
  if (e->options->witness != NULL) {
    gemel__application a = {.graph = e->to, .before = value, .after = *by};
    return e->options->witness(e->options->user, &a, e->error);
  }
  return GEMEL_OK;
}

/* VALUE's state is WHAT from now on; BY if it is replaced. */
static gemel_status decide(gemel__engine *e, gemel__ref value, unsigned char what, gemel__ref by) {
  struct gemel__node_state *state = state_of(e, value);
  if (state == NULL) {
    return gemel__engine_no_memory(e);
  }
  *state = (struct gemel__node_state){by, what};
  return GEMEL_OK;
}

/* Folds *VALUE, which is new, or tries the rules at it. */
static gemel_status transform(gemel__engine *e, gemel__ref *value, gemel_location where,
                              int *done) {
  gemel__ref by, old = *value;
  gemel_status status = fold(e, old, &by);
  if (status == GEMEL_OK) {
    *value = by;
    return decide(e, old, GEMEL__REPLACED, by);
  }
  status = status == GEMEL_DECLINED ? try_rules(e, old, where) : status;
  *done = status != GEMEL_OK;
  return status == GEMEL_OK         ? decide(e, old, GEMEL__REPLACING, old)
         : status == GEMEL_DECLINED ? decide(e, old, GEMEL__SETTLED, old)
                                    : status;
}

/* Settles *VALUE. *DONE: *VALUE is what it came to; else a frame is on the stack that will say. */
static gemel_status settle(gemel__engine *e, gemel__ref *value, gemel_location where, int *done) {
  struct gemel__node_state *state;
  *done = 1;
  gemel_status status = gemel__engine_reserve(e);
  if (status != GEMEL_OK || (state = state_of(e, *value)) == NULL) {
    return status ? status : gemel__engine_no_memory(e);
  }
  switch (state->state) {
  case GEMEL__REPLACED:
    *value = state->by;
    return GEMEL_OK;
  case GEMEL__SETTLED:
    return GEMEL_OK;
  case GEMEL__REPLACING:
    return circle(e, frame_replacing(e, *value), "a right side asks for what it replaces");
  default:
    return transform(e, value, where, done);
  }
}

/* ---- Frames ---- */

/* The right side of RULE can't be made: the rule is at fault, unless memory is out. */
static gemel_status ill_typed(const gemel__engine *e, const struct gemel_rule *rule) {
  gemel__engine_take_error(e);
  gemel__error_prefix(e->error, "rule %s: its right side", rule->info.name);
  e->error->status = e->error->status == GEMEL_NO_MEMORY ? GEMEL_NO_MEMORY : GEMEL_WRONG_RULE;
  return e->error->status;
}

/* The right side is made, up to its shape: what it became, or, where that has another shape, a
 * broadcast of it that has yet to be settled. */
static gemel_status match_shape(gemel__engine *e, struct gemel__settle_frame *f, gemel__ref *value,
                                int *finished) {
  const struct gemel_rule *rule = rule_of(f);
  gemel_context *context = e->to->context;
  gemel_type want = type_of(e, f->before), have;
  gemel_value made;
  char types[200];
  *finished = 1;
  if (value->node == GEMEL__LITERAL_NODE) {
    made = gemel__template_literal(&rule->right, rule->right.count - 1, e->to,
                                   gemel_type_dtype(context, want), f->where);
    if (gemel_is_null(made)) {
      return gemel__engine_take_error(e);
    }
    value->node = made.node;
    value->output = 0;
  }
  have = type_of(e, *value);
  if (gemel_type_equal(have, want)) {
    return gemel__engine_reserve(e);
  }
  if (f->has_broadcast || gemel_type_dtype(context, have) != gemel_type_dtype(context, want)) {
    gemel_type both[2] = {want, have};
    gemel__format_types(context, 2, both, types, sizeof types);
    return gemel__fail(e->error, GEMEL_WRONG_RULE,
                       "rule %s: the two sides have different types (%s)", rule->info.name, types);
  }
  gemel_attr shape = gemel_attr_dims("shape", (size_t)gemel_type_rank(context, want),
                                     gemel_type_dims(context, want));
  gemel_value small = gemel__value(e->to, *value);
  made = gemel_apply_at(e->to, "broadcast_to", 1, &small, 1, &shape, f->where);
  if (gemel_is_null(made)) {
    return ill_typed(e, rule);
  }
  f->bare = *value;
  value->node = made.node;
  value->output = made.output;
  f->broadcast = *value;
  f->has_broadcast = 1;
  *finished = 0;
  return GEMEL_OK;
}

/* Makes the operation that is next in frame F. */
static gemel_status make(gemel__engine *e, struct gemel__settle_frame *f, gemel__ref *value) {
  const gemel__rule_side *side = &rule_of(f)->right;
  size_t count, room = e->operand_capacity, nodes = e->to->n_nodes;
  gemel_dtype want = gemel_type_dtype(e->to->context, type_of(e, f->before));
  gemel_status status =
      gemel__template_operands(side, f->next, e->to, e->values + f->values, e->terms + f->terms,
                               want, f->where, e->operands, room, &count);
  if (status == GEMEL_DECLINED) {
    status = grow_operands(e, count);
    return status ? status : make(e, f, value); /* once: now there is room */
  }
  if (status != GEMEL_OK) {
    return gemel__engine_take_error(e);
  }
  gemel_value made =
      gemel__template_apply(side, f->next, e->to, f->attrs, count, e->operands, f->where);
  if (gemel_is_null(made)) {
    return ill_typed(e, rule_of(f));
  }
  value->node = made.node;
  value->output = made.output;
  status = normalize(e, f->where, value);
  nodes = e->to->n_nodes - nodes;
  e->selection->tallies[f->candidate->row].created += nodes;
  e->options->created += nodes;
  e->grown += rule_of(f)->grows ? nodes : 0;
  status = status ? status : gemel__engine_reserve(e);
  if (status == GEMEL_OK) {
    e->uses[value->node]++;
    e->made[f->values + f->next] = *value;
  }
  return status;
}

static gemel_status testify(const gemel__engine *e, const struct gemel__settle_frame *f,
                            gemel__ref after) {
  gemel__application a = {.rule = rule_of(f),
                          .order = f->candidate->order,
                          .graph = e->to,
                          .before = f->before,
                          .after = after,
                          .terms = e->terms + f->terms,
                          .made = e->made + f->values,
                          .values = e->values + f->values,
                          .bare = f->bare,
                          .broadcast = f->broadcast};
  return e->options->witness(e->options->user, &a, e->error);
}

/* The topmost frame is done, with VALUE as its result. */
static gemel_status finish(gemel__engine *e, gemel__ref value) {
  struct gemel__settle_frame *f = &e->frames[e->n_frames - 1];
  gemel_status status = decide(e, f->before, GEMEL__REPLACED, value);
  if (status == GEMEL_OK && e->options->witness != NULL) {
    status = testify(e, f, value);
  }
  e->n_values = f->values;
  e->n_terms = f->terms;
  e->n_frames--;
  return status;
}

/* Goes on with the topmost frame until it needs a value settled (*DONE 0: another frame is on top)
 * or has its own (*DONE 1, *VALUE). */
static gemel_status advance(gemel__engine *e, gemel__ref *value, int *done) {
  struct gemel__settle_frame *f = &e->frames[e->n_frames - 1];
  const gemel__rule_side *side = &rule_of(f)->right;
  gemel_status status;
  int finished;
  while (f->next < side->count && side->nodes[f->next].kind != GEMEL__PATTERN_APPLY) {
    e->values[f->values + f->next] = gemel__template_leaf(side, f->next, e->terms + f->terms);
    f->next++;
  }
  if (f->next == side->count) {
    *value = e->values[f->values + side->count - 1];
    status = match_shape(e, f, value, &finished);
    if (status != GEMEL_OK || finished) {
      *done = 1;
      return status ? status : finish(e, *value);
    }
    f->next = side->count - 1; /* the broadcast stands for the root */
  } else {
    status = make(e, f, value);
  }
  gemel_location where = f->where;
  status = status ? status : settle(e, value, where, done);
  if (status == GEMEL_OK && *done) {
    e->values[f->values + f->next++] = *value;
    *done = 0;
  }
  return status;
}

gemel_status gemel__engine_resolve(gemel__engine *e, gemel__ref *value, gemel_location where) {
  int done;
  gemel_status status = settle(e, value, where, &done);
  while (status == GEMEL_OK && e->n_frames > 0) {
    status = advance(e, value, &done);
    if (status == GEMEL_OK && done && e->n_frames > 0) {
      struct gemel__settle_frame *f = &e->frames[e->n_frames - 1];
      e->values[f->values + f->next++] = *value;
    }
  }
  if (e->arena.bytes > ARENA_BYTES) {
    gemel__arena_clear(&e->arena);
  }
  return status;
}

void gemel__engine_release(gemel__engine *e) {
  gemel__free(e->states, e->state_capacity * sizeof *e->states);
  gemel__free(e->apart, e->apart_capacity * sizeof *e->apart);
  gemel__free(e->uses, e->use_capacity * sizeof *e->uses);
  gemel__free(e->frames, e->frame_capacity * sizeof *e->frames);
  gemel__free(e->values, e->value_capacity * sizeof *e->values);
  gemel__free(e->made, e->made_capacity * sizeof *e->made);
  gemel__free(e->terms, e->term_capacity * sizeof *e->terms);
  gemel__free(e->operands, e->operand_capacity * sizeof *e->operands);
  gemel__arena_clear(&e->arena);
}
