/* SPDX-License-Identifier: MIT
 *
 * Passes at work. A pass looks at a graph and says which values are to be replaced by which, in the
 * order of their ids; everything else about making the new graph is here. The new graph begins when
 * the pass first asks what an old value has become: that value is copied then, with what it is made
 * of, by an explicit stack. What was replaced is never copied, so a pass need not care for what it
 * leaves unused, and what no replacement touched is copied at the end, in the order of ids. A pass
 * that replaces nothing costs no copy.
 *
 * Each replacement rests on the values that were asked for since the last one. So what a pass did
 * can be checked piece by piece, whatever it is: certified compilation hangs on that (see
 * gemel__change).
 */
#include "passes/edit.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/copy.h"
#include "rewrite/engine.h"
#include "passes/passes.h"

#define NOWHERE UINT32_MAX

/* What one round leaves unused may give the next one something to do. */
enum { MOST_ROUNDS = 8 };

typedef struct visit { /* of the stack: a node, and whether its inputs are on their way */
  uint32_t node, opened;
} visit;

struct gemel_edit {
  const gemel_pass *pass;
  const gemel_graph *from;
  gemel_graph *to;
  gemel__pass_run *run;
  gemel__rewrite_bodies *bodies; /* NULL: there are none */
  gemel_error *error;
  gemel__uses uses; /* of FROM, once they were asked for */
  gemel__ref *map;  /* by the number of an old value: what it became, or NOWHERE; by the id of a
                       node of several outputs: its copy, or NOWHERE */
  visit *stack;
  size_t depth, stack_capacity;
  gemel_value *operands;
  size_t operand_capacity;
  gemel__ref *leaves, *images; /* asked for since the last replacement */
  size_t n_leaves, leaf_capacity, image_capacity;
  size_t mark; /* nodes of TO at the last replacement, or the last value that was asked for */
  uint64_t replaced, rewritten; /* values; nodes whose bodies changed */
};

static gemel_status no_memory(const gemel_edit *e) {
  return e->error->status ? e->error->status : gemel__no_memory(e->error, "a pass");
}

/* The first error, be it the new graph's. */
static gemel_status error_of(const gemel_edit *e) {
  if (e->error->status == GEMEL_OK && e->to != NULL) {
    *e->error = *gemel_graph_error(e->to);
  }
  return e->error->status;
}

/* ---- Uses ---- */

const uint32_t *gemel__edit_uses(gemel_edit *e) {
  if (e->uses.of == NULL && gemel__uses_find(&e->uses, e->from, e->error) != GEMEL_OK) {
    return NULL;
  }
  return e->uses.of;
}

size_t gemel_edit_uses(gemel_edit *e, gemel_value old) {
  const uint32_t *uses =
      e != NULL && old.graph == e->from && gemel__is_value(old) ? gemel__edit_uses(e) : NULL;
  return uses != NULL ? uses[gemel__value_number(e->from, (gemel__ref){old.node, old.output})] : 0;
}

/* ---- Copying ---- */

static gemel__ref *place_of(const gemel_edit *e, gemel__ref old) {
  return &e->map[gemel__value_number(e->from, old)];
}

/* 1 if OLD is replaced, or its node copied. */
static int is_there(const gemel_edit *e, gemel__ref old) {
  return place_of(e, old)->node != NOWHERE || e->map[old.node].node != NOWHERE;
}

/* What OLD, which is there, became. From now on something is made of it, so it can't be replaced
 * any more; other outputs of its node can. */
static gemel__ref take(gemel_edit *e, gemel__ref old) {
  gemel__ref *to = place_of(e, old);
  if (to->node == NOWHERE) {
    *to = (gemel__ref){e->map[old.node].node, old.output};
  }
  return *to;
}

static int copy_inputs(gemel_edit *e) {
  for (size_t k = 0; k < e->from->n_inputs; k++) {
    uint32_t made;
    if (gemel__copy_input(e->to, e->from, k, &made) != GEMEL_OK) {
      return -1;
    }
    e->map[e->from->inputs[k].node] = (gemel__ref){made, 0};
  }
  return 0;
}

gemel_graph *gemel__edit_target(gemel_edit *e) {
  size_t n = gemel__value_count(e->from);
  if (e->to != NULL || e->error->status != GEMEL_OK) {
    return e->error->status == GEMEL_OK ? e->to : NULL;
  }
  e->map = gemel__alloc_array(n, sizeof *e->map);
  if (e->map == NULL) {
    no_memory(e);
    return NULL;
  }
  memset(e->map, 0xff, n * sizeof *e->map);
  e->to = gemel_graph_new(e->from->context, e->error);
  if (e->to == NULL || copy_inputs(e) != 0) {
    error_of(e);
    return NULL;
  }
  e->mark = e->to->n_nodes;
  return e->to;
}

/* Copies NODE, whose inputs are copied. */
static gemel_status copy_node(gemel_edit *e, uint32_t node) {
  const gemel__node *record = gemel__node_at(e->from, node);
  uint32_t count, attrs = record->attrs;
  const gemel__ref *in = gemel__node_inputs(e->from, node, &count);
  if (gemel__grow(&e->operands, &e->operand_capacity, count, sizeof *e->operands) != 0) {
    return no_memory(e);
  }
  for (uint32_t k = 0; k < count; k++) {
    e->operands[k] = gemel__value(e->to, take(e, in[k]));
  }
  if (e->bodies != NULL && gemel__attrs_at(e->from->context, attrs)->nesting > 0) {
    gemel_status status = gemel__bodies_rewrite(e->bodies, e->from->context,
                                                gemel__node_op(e->from, node), &attrs, e->error);
    if (status != GEMEL_OK) {
      return status;
    }
    e->rewritten += attrs != record->attrs;
  }
  gemel_value made =
      gemel__apply(e->to, record->op, attrs, count, e->operands, gemel__node_where(e->from, node));
  if (gemel_is_null(made)) {
    return error_of(e);
  }
  e->map[node] = (gemel__ref){made.node, made.output};
  return GEMEL_OK;
}

static int push(gemel_edit *e, uint32_t node) {
  if (gemel__grow(&e->stack, &e->stack_capacity, e->depth + 1, sizeof *e->stack) != 0) {
    return -1;
  }
  e->stack[e->depth++] = (visit){node, 0};
  return 0;
}

/* Copies NODE and what it is made of. */
static gemel_status copy_cone(gemel_edit *e, uint32_t node) {
  e->depth = 0;
  if (push(e, node) != 0) {
    return no_memory(e);
  }
  while (e->depth > 0) {
    visit *top = &e->stack[e->depth - 1];
    uint32_t k = top->node, count;
    const gemel__ref *in = gemel__node_inputs(e->from, k, &count);
    if (e->map[k].node != NOWHERE || top->opened) {
      gemel_status status = e->map[k].node != NOWHERE ? GEMEL_OK : copy_node(e, k);
      if (status != GEMEL_OK) {
        return status;
      }
      e->depth--;
      continue;
    }
    top->opened = 1;
    for (uint32_t j = count; j-- > 0;) { /* the first lies on top */
      if (!is_there(e, in[j]) && push(e, in[j].node) != 0) {
        return no_memory(e);
      }
    }
  }
  return GEMEL_OK;
}

/* ---- What a pass calls ---- */

const gemel_graph *gemel_edit_graph(const gemel_edit *e) {
  return e != NULL ? e->from : NULL;
}

gemel_value gemel__edit_value(gemel_edit *e, gemel__ref old) {
  const gemel_value none = {NULL, 0, 0};
  if (gemel__edit_target(e) == NULL || (!is_there(e, old) && copy_cone(e, old.node) != GEMEL_OK)) {
    return none;
  }
  if (gemel__grow(&e->leaves, &e->leaf_capacity, e->n_leaves + 1, sizeof *e->leaves) != 0 ||
      gemel__grow(&e->images, &e->image_capacity, e->n_leaves + 1, sizeof *e->images) != 0) {
    no_memory(e);
    return none;
  }
  e->leaves[e->n_leaves] = old;
  e->images[e->n_leaves++] = take(e, old);
  e->mark = e->to->n_nodes > e->mark ? e->to->n_nodes : e->mark;
  return gemel__value(e->to, take(e, old));
}

void gemel__edit_anew(gemel_edit *e) {
  e->n_leaves = 0;
}

gemel_value gemel_edit_value(gemel_edit *e, gemel_value old) {
  const gemel_value none = {NULL, 0, 0};
  if (e == NULL || gemel_is_null(old)) {
    return none;
  }
  if (old.graph != e->from || !gemel__is_value(old)) {
    gemel__fail(e->error, GEMEL_BAD_ARGUMENT, "a value of another graph is asked for");
    return none;
  }
  return gemel__edit_value(e, (gemel__ref){old.node, old.output});
}

/* Sizes that a run tells are named by nodes, which have other numbers in another graph. */
int gemel__edit_fits(const gemel_edit *e, gemel__ref old, gemel_value by) {
  gemel_context *context = e->from->context;
  gemel_type a = gemel__node_type(e->from, old.node, old.output), b = gemel_value_type(by);
  return gemel_type_equal(a, b) || (gemel__type_at(context, a)->has_runtime &&
                                    gemel_type_dtype(context, a) == gemel_type_dtype(context, b) &&
                                    gemel_type_rank(context, a) == gemel_type_rank(context, b));
}

static gemel_status refuse(const gemel_edit *e, gemel__ref old, const char *why) {
  char output[32] = "";
  if (e->from->nodes[old.node].n_outputs != 1) {
    snprintf(output, sizeof output, "output %u of ", (unsigned)old.output);
  }
  return gemel__fail(e->error, GEMEL_BAD_ARGUMENT, "replaces %snode %u%s", output,
                     (unsigned)old.node, why);
}

static gemel_status refuse_type(const gemel_edit *e, gemel__ref old, gemel_value by) {
  char a[100], b[100];
  gemel_type_format(e->from->context, gemel__node_type(e->from, old.node, old.output), a, sizeof a);
  gemel_type_format(e->from->context, gemel_value_type(by), b, sizeof b);
  return gemel__fail(e->error, GEMEL_WRONG_RULE, "replaces %s (node %u) by %s", a,
                     (unsigned)old.node, b);
}

gemel_status gemel__edit_replace(gemel_edit *e, gemel__ref old, gemel_value by) {
  if (error_of(e) != GEMEL_OK || gemel_is_null(by)) {
    return e->error->status ? e->error->status
                            : gemel__fail(e->error, GEMEL_BAD_ARGUMENT, "replaces by nothing");
  }
  if (by.graph != e->to || place_of(e, old)->node != NOWHERE) {
    return refuse(e, old,
                  by.graph != e->to ? " by a value of another graph"
                                    : ", which is copied or replaced already");
  }
  if (!gemel__edit_fits(e, old, by)) {
    return refuse_type(e, old, by);
  }
  *place_of(e, old) = (gemel__ref){by.node, by.output};
  e->run->created += e->to->n_nodes - e->mark;
  e->mark = e->to->n_nodes;
  e->replaced++;
  if (e->run->witness != NULL) {
    gemel__change change = {e->pass,   e->from,   e->to,       old,   *place_of(e, old),
                            e->leaves, e->images, e->n_leaves, e->map};
    gemel_error said = {GEMEL_OK, 0, 0, ""}; /* also of attempts that came to nothing */
    gemel_status status = e->run->witness(e->run->user, &change, &said);
    if (status != GEMEL_OK) {
      *e->error = said;
      return status;
    }
  }
  e->n_leaves = 0;
  return GEMEL_OK;
}

gemel_status gemel_edit_replace(gemel_edit *e, gemel_value old, gemel_value by) {
  if (e == NULL) {
    return GEMEL_BAD_ARGUMENT;
  }
  if (old.graph != e->from || !gemel__is_value(old)) {
    return gemel__fail(e->error, GEMEL_BAD_ARGUMENT, "replaces a value of another graph");
  }
  return gemel__edit_replace(e, (gemel__ref){old.node, old.output}, by);
}

/* ---- Running ---- */

/* Marks in NEEDED the nodes that are still to be copied. */
static void find_needed(const gemel_edit *e, unsigned char *needed) {
  for (size_t k = 0; k < e->from->n_outputs; k++) {
    needed[e->from->outputs[k].node] |= !is_there(e, e->from->outputs[k]);
  }
  for (size_t k = e->from->n_nodes; k-- > 0;) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(e->from, (uint32_t)k, &count);
    for (uint32_t j = 0; needed[k] && j < count; j++) {
      needed[in[j].node] |= !is_there(e, in[j]);
    }
  }
}

/* Copies what no replacement touched. */
static gemel_status copy_rest(gemel_edit *e) {
  size_t n = e->from->n_nodes;
  unsigned char *needed = gemel__edit_target(e) != NULL ? gemel__alloc_array(n, 1) : NULL;
  gemel_status status = GEMEL_OK;
  if (needed == NULL) {
    return no_memory(e);
  }
  find_needed(e, needed);
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    status = needed[k] ? copy_node(e, (uint32_t)k) : GEMEL_OK;
  }
  gemel__free(needed, n);
  for (size_t k = 0; k < e->from->n_outputs && status == GEMEL_OK; k++) {
    gemel_output(gemel__value(e->to, take(e, e->from->outputs[k])), e->from->output_names[k]);
  }
  return status ? status : error_of(e);
}

/* 1 if a node of GRAPH has a graph among its attributes. */
static int has_bodies(const gemel_graph *graph) {
  size_t k = 0;
  while (k < graph->n_nodes &&
         (graph->nodes[k].attrs == 0 ||
          gemel__attrs_at(graph->context, graph->nodes[k].attrs)->nesting == 0)) {
    k++;
  }
  return k < graph->n_nodes;
}

static gemel_graph *edit_graph(const gemel_pass *pass, const gemel_graph *from,
                               gemel__rewrite_bodies *bodies, gemel__pass_run *run,
                               gemel_error *error) {
  gemel_edit e = {.pass = pass, .from = from, .run = run, .error = error};
  size_t n = gemel__value_count(from);
  gemel_error said = {GEMEL_OK, 0, 0, ""};
  gemel_status status;
  error->status = GEMEL_OK;
  e.bodies = has_bodies(from) ? bodies : NULL;
  status = pass->rewrite(&e, pass->data, &said);
  error_of(&e);
  if (said.status != GEMEL_OK) {
    *error = said;
  } else if (error->status == GEMEL_OK && status != GEMEL_OK) {
    gemel__fail(error, status, "it fails and says nothing");
  }
  status = error->status;
  if (status == GEMEL_OK && (e.replaced > 0 || e.bodies != NULL)) {
    status = copy_rest(&e);
  }
  run->applied += e.replaced;
  gemel__uses_clear(&e.uses);
  gemel__free(e.map, n * sizeof *e.map);
  gemel__free(e.stack, e.stack_capacity * sizeof *e.stack);
  gemel__free(e.operands, e.operand_capacity * sizeof *e.operands);
  gemel__free(e.leaves, e.leaf_capacity * sizeof *e.leaves);
  gemel__free(e.images, e.image_capacity * sizeof *e.images);
  if (status != GEMEL_OK || (e.replaced == 0 && e.rewritten == 0)) {
    gemel_graph_unref(e.to);
    return status != GEMEL_OK ? NULL : gemel_graph_ref((gemel_graph *)from);
  }
  return e.to;
}

/* What goes along into bodies. */
struct descent {
  const gemel_pass *pass;
  gemel__rewrite_bodies *bodies;
  gemel__pass_run *run;
};

static gemel_graph *edit_body(void *user, const gemel_graph *body, gemel_error *error) {
  struct descent *d = user;
  gemel_graph *next = edit_graph(d->pass, body, d->bodies, d->run, error), *whole;
  if (next == NULL || next == body) {
    return next;
  }
  whole = gemel__rewrite_copy(next, error);
  gemel_graph_unref(next);
  return whole;
}

/* One round over *GRAPH. */
static gemel_status apply_once(const gemel_pass *pass, gemel_graph **graph, gemel__pass_run *run,
                               gemel_error *error) {
  struct descent d = {pass, NULL, run};
  d.bodies = gemel__bodies_new(edit_body, &d);
  if (d.bodies == NULL) {
    return gemel__no_memory(error, "bodies");
  }
  gemel_graph *next = edit_graph(pass, *graph, d.bodies, run, error);
  gemel__bodies_free(d.bodies);
  if (next == NULL) {
    gemel__error_prefix(error, "pass %s", pass->name);
    return error->status;
  }
  gemel_graph_unref(*graph);
  *graph = next;
  return GEMEL_OK;
}

gemel_status gemel__pass_apply(const gemel_pass *pass, gemel_graph **graph, gemel__pass_run *run,
                               gemel_error *error) {
  uint64_t before = 0;
  gemel_status status = GEMEL_OK;
  for (int round = 0; status == GEMEL_OK && round < MOST_ROUNDS; round++) {
    before = run->applied;
    status = apply_once(pass, graph, run, error);
    if (run->applied == before) {
      break;
    }
  }
  return status;
}
