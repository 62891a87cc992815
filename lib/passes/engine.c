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
 *   tried at each is noted beside the graph, from pass to pass and from phase to phase.)
 * - Nodes that were replaced stay in the new graph, unused: the next pass leaves them out.
 * - The order of everything depends on the old graph and the names of rules alone.
 */
#include "passes/engine.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/cons.h"
#include "passes/normals.h"
#include "passes/profile.h"
#include "passes/search.h"
#include "passes/template.h"
#include "passes/uses.h"

enum {
  FUEL = 32,
  GROWTH = 4,
  SLACK = 10000,
  LOCAL = 64,
  ARENA_BYTES = 1 << 18,
  LOOP_NAMES = 6,
  STALL = 1000
};

enum { UNSEEN, SETTLED, REPLACING, REPLACED, APART };

/* What is known of a value of the new graph. */
struct fate {
  gemel__ref by; /* of a REPLACED one; APART: its outputs' fates begin at by.node */
  unsigned char state;
  unsigned char tried; /* by node, whatever is APART: phases whose rules were tried at it, before */
};

/* A right side on its way. */
struct frame {
  const gemel__candidate *candidate;
  const gemel__template_attrs *attrs;
  uint32_t next; /* node of the right side to be made */
  int repaired;
  uint32_t oldest;  /* the least id that it or a frame below it has matched */
  uint32_t stalled; /* how many in a row, with this one, have matched nothing older */
  size_t values;    /* first in the stack of values: one for each node of the right side */
  size_t terms;     /* first in the stack of terms: one for each variable */
  gemel__ref before;
  gemel__ref bare, mended; /* as in gemel__application */
  gemel_location where;
};

struct engine {
  gemel__normals normals;
  const gemel_graph *from;
  gemel_graph *to;
  gemel__pass_options *options;
  gemel__selection *selection;
  gemel_error *error;
  const unsigned char *before; /* by old node: phases whose rules were tried at it; or NULL */
  gemel__ref *map; /* by old node; several outputs: output is SEVERAL, node the first in MULTI */
  gemel__ref *multi;
  unsigned char *wanted; /* 1: something reads this output; as MULTI */
  size_t n_multi, multi_capacity, wanted_capacity;
  uint32_t *old_uses;
  unsigned char *changed; /* by old node: it isn't remade as it was */
  struct fate *fates;     /* by new node, as are uses */
  struct fate *apart;     /* by output, of nodes that have several */
  size_t n_apart, apart_capacity;
  uint32_t *uses;
  size_t n_fates, fate_capacity, use_capacity;
  struct frame *frames;
  size_t n_frames, frame_capacity;
  gemel__ref *values, *made; /* MADE: what VALUES were before they were settled */
  size_t n_values, value_capacity, made_capacity;
  gemel__term *terms;
  size_t n_terms, term_capacity;
  gemel__arena arena;
  gemel_value *operands; /* of wide operations */
  size_t operand_capacity;
  uint64_t fired, fuel, grown, growth;
  int declined; /* a rule was, for growth */
  uint32_t stall;
  unsigned char tried; /* phases whose rules were tried, in the graph before, at what is made now */
  gemel__search search;
};

#define SEVERAL UINT32_MAX

static gemel_status no_memory(const struct engine *e) {
  return gemel__no_memory(e->error, "rewriting");
}

/* The new graph's error becomes the pass's. */
static gemel_status take_error(const struct engine *e) {
  *e->error = *gemel_graph_error(e->to);
  return e->error->status != GEMEL_OK ? e->error->status
                                      : gemel__fail(e->error, GEMEL_INTERNAL, "a rewrite failed");
}

static const struct gemel_rule *rule_of(const struct frame *f) {
  return f->candidate->rule;
}

/* ---- Fates ---- */

static int reserve_fates(struct engine *e) {
  size_t n = e->to->n_nodes, known = e->n_fates;
  if (n <= known) {
    return 0;
  }
  if ((n > e->fate_capacity && gemel__grow(&e->fates, &e->fate_capacity, n, sizeof *e->fates)) ||
      (n > e->use_capacity && gemel__grow(&e->uses, &e->use_capacity, n, sizeof *e->uses))) {
    return -1;
  }
  memset(e->fates + known, 0, (n - known) * sizeof *e->fates);
  for (; known < n; known++) {
    e->fates[known].tried = e->tried;
  }
  known = e->n_fates;
  memset(e->uses + known, 0, (n - known) * sizeof *e->uses);
  e->n_fates = n;
  return 0;
}

/* The fate of VALUE, whose node fates are reserved for; NULL: memory is out. */
static struct fate *fate_of(struct engine *e, gemel__ref value) {
  uint32_t n = gemel__node_at(e->to, value.node)->n_outputs;
  struct fate *fate = &e->fates[value.node];
  if (n == 1) {
    return fate;
  }
  if (fate->state != APART) {
    if (gemel__grow(&e->apart, &e->apart_capacity, e->n_apart + n, sizeof *e->apart)) {
      return NULL;
    }
    memset(e->apart + e->n_apart, 0, n * sizeof *e->apart);
    fate->state = APART;
    fate->by.node = (uint32_t)e->n_apart;
    e->n_apart += n;
  }
  return &e->apart[fate->by.node + value.output];
}

static gemel_type type_of(const struct engine *e, gemel__ref value) {
  return gemel__node_type(e->to, value.node, value.output);
}

/* ---- Loops ---- */

/* Names the rules that are at work, from frame FIRST on. */
static gemel_status circle(const struct engine *e, size_t first, const char *what) {
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
  return gemel__fail(e->error, GEMEL_INTERNAL, "rules go in circles (%s): %s", what, names);
}

static size_t frame_replacing(const struct engine *e, gemel__ref value) {
  size_t k = e->n_frames;
  while (k > 0 && (e->frames[k - 1].before.node != value.node ||
                   e->frames[k - 1].before.output != value.output)) {
    k--;
  }
  return k > 0 ? k - 1 : 0;
}

/* ---- Normal forms ---- */

static int is_constant(const struct engine *e, gemel__ref ref) {
  return e->to->nodes[ref.node].op == e->selection->constant_op;
}

/* Constants stand behind others; else the older value stands first. */
static int out_of_order(const struct engine *e, gemel__ref a, gemel__ref b) {
  int ca = is_constant(e, a), cb = is_constant(e, b);
  if (ca != cb) {
    return ca;
  }
  return a.node > b.node || (a.node == b.node && a.output > b.output);
}

/* The normal form of the operation OP on INPUTS: operands in order, attributes as the record's hook
 * has them. */
static gemel_status normal_form(struct engine *e, const gemel__op *op, uint32_t *attrs, size_t n,
                                gemel_value *inputs) {
  gemel_type local[LOCAL];
  if ((op->record.flags & GEMEL_OP_COMMUTATIVE) && n == 2) {
    gemel__ref a = {inputs[0].node, inputs[0].output}, b = {inputs[1].node, inputs[1].output};
    if (out_of_order(e, a, b)) {
      gemel_value first = inputs[0];
      inputs[0] = inputs[1];
      inputs[1] = first;
    }
  }
  if (op->record.normalize == NULL || n > LOCAL) {
    return GEMEL_OK;
  }
  for (size_t k = 0; k < n; k++) {
    local[k] = gemel__node_type(e->to, inputs[k].node, inputs[k].output);
  }
  return gemel__normals_find(&e->normals, e->to->context, op, attrs, n, local, e->error);
}

/* Makes a node that a template made, in its normal form, if it isn't in it. */
static gemel_status normalize(struct engine *e, gemel_location where, gemel__ref *value) {
  const gemel__node *node = gemel__node_at(e->to, value->node);
  const gemel__op *op = gemel__op_at(e->to->context, node->op);
  uint32_t count, attrs = node->attrs;
  const gemel__ref *inputs = gemel__node_inputs(e->to, value->node, &count);
  gemel_value operands[LOCAL], made;
  int same = 1;
  if (count > LOCAL ||
      (op->record.normalize == NULL && !(op->record.flags & GEMEL_OP_COMMUTATIVE))) {
    return GEMEL_OK;
  }
  for (uint32_t k = 0; k < count; k++) {
    operands[k] = gemel__value(e->to, inputs[k]);
  }
  gemel_status status = normal_form(e, op, &attrs, count, operands);
  if (status != GEMEL_OK) {
    return status;
  }
  for (uint32_t k = 0; k < count; k++) {
    same &= operands[k].node == inputs[k].node && operands[k].output == inputs[k].output;
  }
  if (same && attrs == node->attrs) {
    return GEMEL_OK;
  }
  made = gemel__apply(e->to, op->id, attrs, count, operands, where);
  if (gemel_is_null(made)) {
    return take_error(e);
  }
  value->node = made.node;
  return GEMEL_OK;
}

/* ---- Firing ---- */

/* How many applications in a row, with the one about to be made of a match whose oldest operation
 * is OLDEST, have met nothing older than the ones before. */
static uint32_t stalled(const struct engine *e, uint32_t oldest) {
  const struct frame *f = e->n_frames > 0 ? &e->frames[e->n_frames - 1] : NULL;
  return f != NULL && oldest >= f->oldest ? f->stalled + 1 : 0;
}

static gemel_status push_frame(struct engine *e, const gemel__candidate *c,
                               const gemel__binding *binding, const gemel__template_attrs *attrs,
                               gemel__ref before, gemel_location where) {
  const struct gemel_rule *rule = c->rule;
  struct frame *f;
  if (gemel__grow(&e->frames, &e->frame_capacity, e->n_frames + 1, sizeof *e->frames) ||
      gemel__grow(&e->values, &e->value_capacity, e->n_values + rule->right.count,
                  sizeof *e->values) ||
      gemel__grow(&e->made, &e->made_capacity, e->n_values + rule->right.count, sizeof *e->made) ||
      gemel__grow(&e->terms, &e->term_capacity, e->n_terms + rule->n_variables + 1,
                  sizeof *e->terms)) {
    return no_memory(e);
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
  f->mended.node = GEMEL__NOT_MENDED;
  f->where = where;
  memcpy(e->terms + e->n_terms, binding->terms, rule->n_variables * sizeof *e->terms);
  e->n_values += rule->right.count;
  e->n_terms += rule->n_variables;
  return GEMEL_OK;
}

/* Fires candidate C, which matches at VALUE: GEMEL_OK (a frame is on the stack), GEMEL_DECLINED. */
static gemel_status fire(struct engine *e, const gemel__candidate *c, const gemel__binding *binding,
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
  e->search.scene.variables = binding->terms;
  gemel_status status = gemel__template_evaluate(&c->rule->right, &e->search.scene, &attrs);
  if (status != GEMEL_OK) {
    return status;
  }
  if (++e->fired > e->fuel) {
    return circle(e, e->n_frames > 64 ? e->n_frames - 64 : 0, c->rule->info.name);
  }
  tally->applied++;
  return push_frame(e, c, binding, attrs, value, where);
}

static gemel_status try_rules(struct engine *e, gemel__ref value, gemel_location where) {
  const gemel__candidate *c;
  gemel__binding binding;
  e->search.scene.uses = e->uses;
  gemel_status status = gemel__search_start(&e->search, value, e->fates[value.node].tried);
  if (status != GEMEL_OK) {
    return status;
  }
  do {
    status = gemel__search_next(&e->search, &c, &binding);
    if (status != GEMEL_OK) {
      return status;
    }
    double start = e->options->timed ? gemel__profile_now() : 0;
    status = fire(e, c, &binding, value, where);
    if (e->options->timed) {
      e->selection->tallies[c->row].seconds += gemel__profile_now() - start;
    }
  } while (status == GEMEL_DECLINED);
  return status;
}

/* ---- Settling ---- */

/* 1 if the first input is a constant: most nodes are told apart by that. */
static int may_fold(const struct engine *e, uint32_t node) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(e->to, node, &count);
  return e->options->fold && count > 0 && is_constant(e, inputs[0]);
}

static gemel_status fold(struct engine *e, gemel__ref value, gemel__ref *by) {
  int folded = may_fold(e, value.node) ? gemel__fold(e->to, value.node, by) : 0;
  if (folded < 0 || reserve_fates(e) != 0) {
    return no_memory(e);
  }
  if (folded == 0) {
    return GEMEL_DECLINED;
  }
  e->options->folded++;
  e->fates[by->node].state = SETTLED;
  if (e->options->witness != NULL) {
    gemel__application a = {.graph = e->to, .before = value, .after = *by};
    return e->options->witness(e->options->user, &a, e->error);
  }
  return GEMEL_OK;
}

/* Says what has become of *VALUE: BY if it isn't STATE only. */
static gemel_status decide(struct engine *e, gemel__ref value, unsigned char state, gemel__ref by) {
  struct fate *fate = fate_of(e, value);
  if (fate == NULL) {
    return no_memory(e);
  }
  fate->state = state;
  fate->by = by;
  return GEMEL_OK;
}

/* Folds *VALUE, which is new, or tries the rules at it. */
static gemel_status transform(struct engine *e, gemel__ref *value, gemel_location where,
                              int *done) {
  gemel__ref by, old = *value;
  gemel_status status = fold(e, old, &by);
  if (status == GEMEL_OK) {
    *value = by;
    return decide(e, old, REPLACED, by);
  }
  status = status == GEMEL_DECLINED ? try_rules(e, old, where) : status;
  *done = status != GEMEL_OK;
  return status == GEMEL_OK         ? decide(e, old, REPLACING, old)
         : status == GEMEL_DECLINED ? decide(e, old, SETTLED, old)
                                    : status;
}

/* Settles *VALUE. *DONE: *VALUE is what it came to; else a frame is on the stack that will say. */
static gemel_status settle(struct engine *e, gemel__ref *value, gemel_location where, int *done) {
  struct fate *fate;
  *done = 1;
  if (reserve_fates(e) != 0 || (fate = fate_of(e, *value)) == NULL) {
    return no_memory(e);
  }
  switch (fate->state) {
  case REPLACED:
    *value = fate->by;
    return GEMEL_OK;
  case SETTLED:
    return GEMEL_OK;
  case REPLACING:
    return circle(e, frame_replacing(e, *value), "a right side asks for what it replaces");
  default:
    return transform(e, value, where, done);
  }
}

/* ---- Frames ---- */

/* The right side of RULE can't be made: the rule is at fault, unless memory is out. */
static gemel_status ill_typed(const struct engine *e, const struct gemel_rule *rule) {
  take_error(e);
  gemel__error_prefix(e->error, "rule %s: its right side", rule->info.name);
  e->error->status = e->error->status == GEMEL_NO_MEMORY ? GEMEL_NO_MEMORY : GEMEL_INTERNAL;
  return e->error->status;
}

/* The right side is made, up to its shape: what it became, or, where that has another shape, a
 * broadcast of it that has yet to be settled. */
static gemel_status repair(struct engine *e, struct frame *f, gemel__ref *value, int *finished) {
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
      return take_error(e);
    }
    value->node = made.node;
    value->output = 0;
  }
  have = type_of(e, *value);
  if (have == want) {
    return reserve_fates(e) == 0 ? GEMEL_OK : no_memory(e);
  }
  if (f->repaired || gemel_type_dtype(context, have) != gemel_type_dtype(context, want)) {
    gemel_type both[2] = {want, have};
    gemel__format_types(context, 2, both, types, sizeof types);
    return gemel__fail(e->error, GEMEL_INTERNAL, "rule %s: the two sides have different types (%s)",
                       rule->info.name, types);
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
  f->mended = *value;
  f->repaired = 1;
  *finished = 0;
  return GEMEL_OK;
}

static gemel_status grow_operands(struct engine *e, size_t count) {
  return gemel__grow(&e->operands, &e->operand_capacity, count, sizeof *e->operands) == 0
             ? GEMEL_OK
             : no_memory(e);
}

/* Makes the operation that is next in frame F. */
static gemel_status make(struct engine *e, struct frame *f, gemel__ref *value) {
  const gemel__side *side = &rule_of(f)->right;
  size_t count, room = e->operand_capacity, nodes = e->to->n_nodes;
  gemel_dtype want = gemel_type_dtype(e->to->context, type_of(e, f->before));
  gemel_value made;
  gemel_status status =
      gemel__template_operands(side, f->next, e->to, e->values + f->values, e->terms + f->terms,
                               want, f->where, e->operands, room, &count);
  if (status == GEMEL_DECLINED) {
    status = grow_operands(e, count);
    return status ? status : make(e, f, value); /* once: now there is room */
  }
  if (status != GEMEL_OK) {
    return take_error(e);
  }
  made = gemel__template_apply(side, f->next, e->to, f->attrs, count, e->operands, f->where);
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
  if (status == GEMEL_OK && reserve_fates(e) != 0) {
    return no_memory(e);
  }
  e->uses[value->node]++;
  e->made[f->values + f->next] = *value;
  return status;
}

static gemel_status testify(const struct engine *e, const struct frame *f, gemel__ref after) {
  gemel__application a = {.rule = rule_of(f),
                          .order = f->candidate->order,
                          .graph = e->to,
                          .before = f->before,
                          .after = after,
                          .terms = e->terms + f->terms,
                          .made = e->made + f->values,
                          .values = e->values + f->values,
                          .bare = f->bare,
                          .mended = f->mended};
  return e->options->witness(e->options->user, &a, e->error);
}

/* The topmost frame is done, with VALUE as its result. */
static gemel_status finish(struct engine *e, gemel__ref value) {
  struct frame *f = &e->frames[e->n_frames - 1];
  gemel_status status = decide(e, f->before, REPLACED, value);
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
static gemel_status advance(struct engine *e, gemel__ref *value, int *done) {
  struct frame *f = &e->frames[e->n_frames - 1];
  const gemel__side *side = &rule_of(f)->right;
  gemel_status status;
  int finished;
  while (f->next < side->count && side->nodes[f->next].kind != GEMEL__PATTERN_APPLY) {
    e->values[f->values + f->next] = gemel__template_leaf(side, f->next, e->terms + f->terms);
    f->next++;
  }
  if (f->next == side->count) {
    *value = e->values[f->values + side->count - 1];
    status = repair(e, f, value, &finished);
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

/* Brings *VALUE, a node just made, to what it is to be. */
static gemel_status resolve(struct engine *e, gemel__ref *value, gemel_location where) {
  int done;
  gemel_status status = settle(e, value, where, &done);
  while (status == GEMEL_OK && e->n_frames > 0) {
    status = advance(e, value, &done);
    if (status == GEMEL_OK && done && e->n_frames > 0) {
      struct frame *f = &e->frames[e->n_frames - 1];
      e->values[f->values + f->next++] = *value;
    }
  }
  if (e->arena.bytes > ARENA_BYTES) {
    gemel__arena_clear(&e->arena);
  }
  return status;
}

/* ---- The old graph ---- */

static gemel__ref mapped(const struct engine *e, gemel__ref old) {
  gemel__ref to = e->map[old.node];
  return to.output == SEVERAL ? e->multi[to.node + old.output] : to;
}

static gemel_status keep_single(struct engine *e, uint32_t old, gemel__ref value) {
  e->map[old] = value;
  e->uses[value.node] += e->old_uses[old];
  return GEMEL_OK;
}

/* A node of several outputs: each that is read is settled by itself. */
static gemel_status keep_several(struct engine *e, uint32_t old, gemel__ref value,
                                 gemel_location where) {
  uint32_t n = gemel__node_at(e->to, value.node)->n_outputs;
  size_t first = e->map[old].node;
  e->uses[value.node] += e->old_uses[old];
  for (uint32_t k = 0; k < n; k++) {
    gemel__ref one = {value.node, k};
    gemel_status status = e->wanted[first + k] ? resolve(e, &one, where) : GEMEL_OK;
    if (status != GEMEL_OK) {
      return status;
    }
    e->changed[old] |= one.node != value.node;
    e->multi[first + k] = one;
  }
  return GEMEL_OK;
}

/* Makes node OLD again. */
static gemel_status remake(struct engine *e, uint32_t old) {
  const gemel__node *node = gemel__node_at(e->from, old);
  const gemel__op *op = gemel__op_at(e->to->context, node->op);
  gemel_location where = {e->from->files[node->file], (int)node->line};
  uint32_t count, attrs = node->attrs;
  const gemel__ref *inputs = gemel__node_inputs(e->from, old, &count);
  gemel_value made;
  int fresh = 0; /* it isn't as it was */
  if (count > e->operand_capacity && grow_operands(e, count) != GEMEL_OK) {
    return GEMEL_NO_MEMORY;
  }
  for (uint32_t k = 0; k < count; k++) {
    e->operands[k] = gemel__value(e->to, mapped(e, inputs[k]));
    fresh |= e->changed[inputs[k].node];
  }
  gemel_value leading = count > 0 ? e->operands[0] : (gemel_value){NULL, 0, 0};
  gemel_status status = GEMEL_OK;
  if (e->options->bodies != NULL && gemel__attrs_at(e->to->context, attrs)->nesting > 0) {
    status = gemel__bodies_rewrite(e->options->bodies, e->to->context, op, &attrs, e->error);
  }
  status = status ? status : normal_form(e, op, &attrs, count, e->operands);
  if (status != GEMEL_OK) {
    return status;
  }
  fresh |= attrs != node->attrs || (count > 0 && e->operands[0].node != leading.node);
  e->tried = fresh || e->before == NULL ? 0 : e->before[old];
  made = gemel__apply(e->to, op->id, attrs, count, e->operands, where);
  if (gemel_is_null(made)) {
    return take_error(e);
  }
  if (reserve_fates(e) != 0) {
    return no_memory(e);
  }
  e->changed[old] = (unsigned char)fresh;
  e->tried = 0;
  gemel__ref value = {made.node, made.output};
  if (gemel__node_at(e->to, value.node)->n_outputs != 1) {
    return keep_several(e, old, value, where);
  }
  status = resolve(e, &value, where);
  e->changed[old] |= value.node != made.node;
  return status ? status : keep_single(e, old, value);
}

static gemel_status copy_inputs(struct engine *e) {
  const gemel_graph *from = e->from;
  for (size_t k = 0; k < from->n_inputs; k++) {
    uint32_t old = from->inputs[k].node;
    const gemel__node *node = gemel__node_at(from, old);
    gemel_location where = {from->files[node->file], (int)node->line};
    gemel_value made =
        gemel_input_at(e->to, from->input_names[k], gemel__node_type(from, old, 0), where);
    if (gemel_is_null(made)) {
      return take_error(e);
    }
    e->map[old].node = made.node;
    e->map[old].output = 0;
    if (reserve_fates(e) != 0) {
      return no_memory(e);
    }
    e->fates[made.node].state = SETTLED;
    e->uses[made.node] = e->old_uses[old];
  }
  return GEMEL_OK;
}

static gemel_status copy_outputs(struct engine *e) {
  for (size_t k = 0; k < e->from->n_outputs; k++) {
    gemel__ref value = mapped(e, e->from->outputs[k]);
    if (gemel_output(gemel__value(e->to, value), e->from->output_names[k]) != GEMEL_OK) {
      return take_error(e);
    }
  }
  return GEMEL_OK;
}

/* Places for the outputs of node OLD, of which there are several. */
static gemel_status lay_out(struct engine *e, uint32_t old, uint32_t n) {
  size_t first = e->n_multi;
  if (gemel__grow(&e->multi, &e->multi_capacity, first + n, sizeof *e->multi) ||
      gemel__grow(&e->wanted, &e->wanted_capacity, first + n, 1)) {
    return no_memory(e);
  }
  memset(e->wanted + first, 0, n);
  e->map[old].node = (uint32_t)first;
  e->map[old].output = SEVERAL;
  e->n_multi += n;
  return GEMEL_OK;
}

static void want(struct engine *e, gemel__ref old) {
  gemel__ref to = e->map[old.node];
  if (to.output == SEVERAL) {
    e->wanted[to.node + old.output] = 1;
  }
}

/* Counts the nodes that are used, and notes which of several outputs are; an operation may be taken
 * apart operand by operand, so the widest adds to what counts as stalled. */
static gemel_status find_wanted(struct engine *e, uint64_t *live) {
  gemel_status status = GEMEL_OK;
  *live = 0;
  for (size_t k = 0; k < e->from->n_nodes && status == GEMEL_OK; k++) {
    uint32_t count, n_outputs = e->from->nodes[k].n_outputs;
    const gemel__ref *inputs = gemel__node_inputs(e->from, (uint32_t)k, &count);
    if (e->old_uses[k] == 0) {
      continue;
    }
    ++*live;
    status = n_outputs != 1 ? lay_out(e, (uint32_t)k, n_outputs) : GEMEL_OK;
    e->stall = count > e->stall ? count : e->stall;
    for (uint32_t j = 0; j < count; j++) {
      want(e, inputs[j]);
    }
  }
  for (size_t k = 0; k < e->from->n_outputs; k++) {
    want(e, e->from->outputs[k]);
  }
  return status;
}

/* Notes of which phases the rules have been tried at the new nodes: not where one was declined,
 * which another phase may apply. */
static gemel_status note_tried(struct engine *e) {
  gemel__tried *tried = e->options->tried;
  if (tried == NULL) {
    return GEMEL_OK;
  }
  gemel__tried_clear(tried);
  if (e->declined) {
    return GEMEL_OK;
  }
  if (reserve_fates(e) != 0 || (tried->phases = gemel__alloc_array(e->to->n_nodes, 1)) == NULL) {
    return no_memory(e);
  }
  tried->graph = gemel_graph_ref(e->to);
  for (size_t k = 0; k < e->to->n_nodes; k++) {
    tried->phases[k] =
        e->fates[k].state == UNSEEN ? 0 : (unsigned char)(e->fates[k].tried | e->selection->phases);
  }
  return GEMEL_OK;
}

void gemel__tried_clear(gemel__tried *tried) {
  if (tried->graph != NULL) {
    gemel__free(tried->phases, tried->graph->n_nodes);
    gemel_graph_unref(tried->graph);
  }
  *tried = (gemel__tried){NULL, NULL};
}

static gemel_status run(struct engine *e) {
  uint32_t input_op = e->from->context->input_op;
  uint64_t live;
  gemel_status status = find_wanted(e, &live);
  status = status ? status : copy_inputs(e);
  e->stall += STALL;
  e->fuel = live * FUEL + SLACK;
  e->growth = e->options->tight ? 0 : live * GROWTH + SLACK;
  for (size_t k = 0; k < e->from->n_nodes && status == GEMEL_OK; k++) {
    if (e->old_uses[k] > 0 && e->from->nodes[k].op != input_op) {
      status = remake(e, (uint32_t)k);
    }
  }
  status = status ? status : copy_outputs(e);
  return status ? status : note_tried(e);
}

static void release(struct engine *e) {
  size_t n = e->from->n_nodes;
  gemel__free(e->map, n * sizeof *e->map);
  gemel__free(e->old_uses, n * sizeof *e->old_uses);
  gemel__free(e->changed, n);
  gemel__free(e->multi, e->multi_capacity * sizeof *e->multi);
  gemel__free(e->wanted, e->wanted_capacity);
  gemel__free(e->fates, e->fate_capacity * sizeof *e->fates);
  gemel__free(e->apart, e->apart_capacity * sizeof *e->apart);
  gemel__free(e->uses, e->use_capacity * sizeof *e->uses);
  gemel__free(e->frames, e->frame_capacity * sizeof *e->frames);
  gemel__free(e->values, e->value_capacity * sizeof *e->values);
  gemel__free(e->made, e->made_capacity * sizeof *e->made);
  gemel__free(e->terms, e->term_capacity * sizeof *e->terms);
  gemel__free(e->operands, e->operand_capacity * sizeof *e->operands);
  gemel__arena_clear(&e->arena);
}

gemel_graph *gemel__rewrite_phase(const gemel_graph *from, gemel__pass_options *options,
                                  gemel_error *error) {
  struct engine e;
  gemel_error local;
  gemel_status status;
  memset(&e, 0, sizeof e);
  e.from = from;
  e.options = options;
  e.selection = options->selection;
  e.error = error != NULL ? error : &local;
  e.to = gemel_graph_new(from->context, e.error);
  if (e.to == NULL) {
    return NULL;
  }
  e.before =
      options->tried != NULL && options->tried->graph == from ? options->tried->phases : NULL;
  e.search = (gemel__search){.selection = options->selection,
                             .scene = {e.to, NULL, &e.arena, NULL, e.error},
                             .timed = options->timed};
  e.map = gemel__alloc_array(from->n_nodes, sizeof *e.map);
  e.old_uses = gemel__graph_uses(from);
  e.changed = gemel__alloc_array(from->n_nodes, 1);
  status = e.map != NULL && e.old_uses != NULL && e.changed != NULL ? run(&e) : no_memory(&e);
  release(&e);
  if (status != GEMEL_OK) {
    gemel_graph_unref(e.to);
    return NULL;
  }
  return e.to;
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
  gemel__tried *tried = options->tried; /* of the graph that has the body */
  gemel_graph *next, *whole = NULL;
  options->tried = NULL;
  next = gemel__rewrite_phase(body, options, error);
  options->tried = tried;
  if (next != NULL) {
    whole = gemel__rewrite_compact(next, error);
    gemel_graph_unref(next);
  }
  return whole;
}
