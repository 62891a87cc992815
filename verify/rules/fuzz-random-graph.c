/* SPDX-License-Identifier: MIT
 *
 * Makes random graphs (random-graph.h), step by step. A step adds the left side of a rule (built by
 * rules/left.c, with values of the graph in place of its inputs) or a single operation on values of
 * the graph (propose.c). Where the graph has no value of the type that is needed, one is made by a
 * cast, reshape, broadcast or sum, or there is a new input. So left sides are applied to each
 * other's results, with those operations in between that other rules move. Conditions are left to
 * chance: many are nearly met.
 *
 * With passes, a step may also add a graph that a pass's generator makes (mostly loops), or the
 * derivative of one value by another.
 */
#include "rules/fuzz-random-graph.h"

#include <stdio.h>
#include <string.h>
#include <gemel/grad.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "pairs/pair.h"
#include "rules/left.h"
#include "sample/generators.h"
#include "instances/propose.h"

enum { MAX_ELEMENTS = 30, LEFT_TRIES = 4, LATE = 8, MOST_INPUTS = 40, MOST_OUTPUTS = 40 };

typedef struct graph_maker {
  gemel_graph *graph;
  gemel_context *context;
  gemel__random *random;
  const gemel_rules *const *sets;
  size_t n_sets, n_rules;
  gemel_dtype dtype;
  int empty;
} graph_maker;

static const gemel_location nowhere = {NULL, 0};

static int one_in(graph_maker *m, uint64_t n) {
  return gemel__random_below(m->random, n) == 0;
}

/* Returns and clears the graph's error: what can't be built is left out. GEMEL_NO_MEMORY isn't
 * cleared. */
static gemel_status failed(graph_maker *m) {
  gemel_status status = m->graph->error.status;
  if (status != GEMEL_NO_MEMORY) {
    memset(&m->graph->error, 0, sizeof m->graph->error);
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_DECLINED;
}

/* ---- Values ---- */

/* A new input. LIKE: the input whose facts are assumed of it; null: none are. */
static gemel_value new_input(graph_maker *m, gemel_type type, gemel_value like) {
  char name[24];
  snprintf(name, sizeof name, "x%zu", m->graph->n_inputs);
  return gemel__input_like(m->graph, name, type, like);
}

/* A random value of the graph, more often one of the latest. */
static gemel_value any_value(graph_maker *m) {
  size_t n = m->graph->n_nodes, late = n < LATE ? n : LATE;
  size_t node = one_in(m, 2) ? n - 1 - gemel__random_below(m->random, late)
                             : gemel__random_below(m->random, n);
  uint32_t outputs = m->graph->nodes[node].n_outputs;
  gemel__ref ref = {(uint32_t)node, (uint32_t)gemel__random_below(m->random, outputs)};
  return gemel__value(m->graph, ref);
}

/* The graph's value of TYPE that is found first from a random place on; null: none. */
static gemel_value value_of_type(graph_maker *m, gemel_type type) {
  size_t n = m->graph->n_nodes, start = gemel__random_below(m->random, n);
  for (size_t k = 0; k < n; k++) {
    gemel__ref ref = {(uint32_t)((start + n - k) % n), 0};
    if (gemel_type_equal(gemel__node_type(m->graph, ref.node, 0), type)) {
      return gemel__value(m->graph, ref);
    }
  }
  return (gemel_value){NULL, 0, 0};
}

static gemel_value cast(gemel_value x, gemel_dtype dtype) {
  gemel_attr attr = gemel_attr_dtype("dtype", dtype);
  return gemel_is_null(x) || gemel__value_dtype(x) == dtype
             ? x
             : gemel_apply(x.graph, "cast", 1, &x, 1, &attr);
}

/* X with the dims of TYPE: reshaped, else broadcast, else its sum is broadcast. */
static gemel_value shaped(graph_maker *m, gemel_value x, gemel_type type) {
  gemel_attr shape = gemel_attr_dims("shape", (size_t)gemel_type_rank(m->context, type),
                                     gemel_type_dims(m->context, type));
  gemel_value made = {NULL, 0, 0};
  if (one_in(m, 2)) {
    made = gemel_apply(m->graph, "reshape", 1, &x, 1, &shape);
  }
  if (gemel_is_null(made) && failed(m) != GEMEL_NO_MEMORY) {
    made = gemel_apply(m->graph, "broadcast_to", 1, &x, 1, &shape);
  }
  if (gemel_is_null(made) && failed(m) != GEMEL_NO_MEMORY) {
    gemel_value total = gemel_apply(m->graph, "sum", 1, &x, 0, NULL);
    made = gemel_apply(m->graph, "broadcast_to", 1, &total, 1, &shape);
  }
  return made;
}

/* A value of TYPE: one of the graph, one made of another value, or a new input. Null: memory is
 * out. */
static gemel_value take(graph_maker *m, gemel_type type) {
  gemel_value found = {NULL, 0, 0};
  if (m->graph->n_nodes > 0 && !one_in(m, 6)) {
    found = value_of_type(m, type);
  }
  if (gemel_is_null(found) && m->graph->n_nodes > 0 && one_in(m, 2)) {
    found = cast(shaped(m, any_value(m), type), gemel_type_dtype(m->context, type));
    if (gemel_is_null(found) || !gemel_type_equal(gemel_value_type(found), type)) {
      failed(m);
      found.graph = NULL;
    }
  }
  return gemel_is_null(found) ? new_input(m, type, found) : found;
}

/* ---- Left sides ---- */

/* A value for INPUT of a left side. If facts are assumed of INPUT, it is mostly a new input with
 * the same facts, since values of the graph rarely have any. Null: memory is out. */
static gemel_value take_like(graph_maker *m, gemel_value input) {
  gemel_type type = gemel_value_type(input);
  return gemel_assumed(input) == 0 || one_in(m, 4) ? take(m, type) : new_input(m, type, input);
}

static const gemel_rule *any_rule(graph_maker *m) {
  size_t k = gemel__random_below(m->random, m->n_rules), set = 0;
  while (k >= gemel_rules_count(m->sets[set])) {
    k -= gemel_rules_count(m->sets[set++]);
  }
  return gemel_rules_at(m->sets[set], k);
}

/* The left side of RULE as a graph with the output y. NULL: GEMEL_DECLINED or GEMEL_NO_MEMORY in
 * *STATUS. */
static gemel_graph *left_side(graph_maker *m, const gemel_rule *rule, gemel_status *status) {
  gemel__arena arena = {NULL, 0};
  gemel_error reason = {GEMEL_OK, 0, 0, ""};
  gemel_graph *graph = gemel_graph_new(m->context, NULL);
  gemel__scene scene = {graph, NULL, &arena, NULL, &reason};
  gemel__ref root;
  if (graph == NULL) {
    *status = GEMEL_NO_MEMORY;
    return NULL;
  }
  gemel__goal goal;
  gemel__left_constants constants;
  gemel__goal_draw(rule, NULL, m->random, &goal);
  gemel__rule_wish wish = {.dtype = m->dtype, .max_elements = MAX_ELEMENTS, .empty = m->empty};
  *status = gemel__rule_left(rule, &wish, &goal, m->random, &scene, &root, &constants, &reason);
  if (*status == GEMEL_OK) {
    *status = gemel_output(gemel__value(graph, root), "y");
  }
  gemel__arena_clear(&arena);
  if (*status == GEMEL_OK) {
    return graph;
  }
  gemel_graph_unref(graph);
  return NULL;
}

static gemel_status put_in(graph_maker *m, const gemel_graph *left) {
  gemel_value inputs[MOST_INPUTS], outputs[MOST_OUTPUTS];
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  if (left->n_inputs > MOST_INPUTS || left->n_outputs > MOST_OUTPUTS) {
    return GEMEL_DECLINED;
  }
  for (size_t k = 0; k < left->n_inputs; k++) {
    inputs[k] = take_like(m, gemel_graph_input(left, k));
    if (gemel_is_null(inputs[k])) {
      return failed(m);
    }
  }
  gemel_status status = gemel__graph_inline(m->graph, left, inputs, outputs, &error);
  return status == GEMEL_OK || status == GEMEL_NO_MEMORY ? status : failed(m);
}

static gemel_status add_left_side(graph_maker *m) {
  const gemel_rule *rule = any_rule(m);
  gemel_status status = GEMEL_DECLINED;
  gemel_graph *left = NULL;
  for (int k = 0; k < LEFT_TRIES && left == NULL && status == GEMEL_DECLINED; k++) {
    left = left_side(m, rule, &status);
  }
  status = left != NULL ? put_in(m, left) : status;
  gemel_graph_unref(left);
  return status;
}

/* ---- Passes and derivatives ---- */

static gemel_status add_pass(graph_maker *m) {
  size_t k = gemel__random_below(m->random, gemel_pass_count(m->context));
  const gemel_pass *pass = gemel_pass_at(m->context, k);
  gemel_graph *graph = gemel_graph_new(m->context, NULL);
  gemel_status status =
      graph == NULL ? GEMEL_NO_MEMORY
                    : gemel__generator_of(pass)(graph, gemel__random_source, m->random, pass->data);
  gemel__pair pair = {0};
  /* with its symbols replaced by numbers, as sizes here are numbers */
  status = status ? status : gemel__pair_draw(&pair, graph, graph, m->random, NULL);
  status = status ? status : put_in(m, pair.a.graph);
  gemel__pair_clear(&pair);
  gemel_graph_unref(graph);
  return status;
}

/* Adds the derivative of the sum of a value by another value. */
static gemel_status add_derivative(graph_maker *m) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_value value = any_value(m), by = any_value(m), made;
  gemel_value total = gemel_apply(m->graph, "sum", 1, &value, 0, NULL);
  if (gemel_is_null(total)) {
    return failed(m);
  }
  gemel_status status = gemel_grad(1, &total, NULL, 1, &by, &made, &error);
  return status == GEMEL_OK || status == GEMEL_NO_MEMORY ? status : failed(m);
}

/* ---- Operations ---- */

/* Chooses operands among the values of the graph: the first one, and sometimes others. */
static void know_some(graph_maker *m, gemel__proposal *p, gemel_value *operands) {
  size_t n = p->n_inputs > 0 ? p->n_inputs : (size_t)p->op->record.min_inputs;
  for (size_t k = 0; k < n && k < GEMEL__PROPOSAL_INPUTS && m->graph->n_nodes > 0; k++) {
    if (one_in(m, k == 0 ? 1 : 3)) {
      operands[k] = any_value(m);
      p->inputs[k] = gemel_value_type(operands[k]);
      p->known_input[k] = 1;
    }
  }
}

static gemel_status apply(graph_maker *m, const gemel__proposal *p, gemel_value *operands) {
  for (size_t k = 0; k < p->n_inputs; k++) {
    if (gemel_is_null(operands[k])) {
      operands[k] = take(m, p->inputs[k]);
    }
    if (gemel_is_null(operands[k])) {
      return failed(m);
    }
  }
  gemel_value made = gemel__apply(m->graph, p->op->id, p->attrs_id, p->n_inputs, operands, nowhere);
  return gemel_is_null(made) ? failed(m) : GEMEL_OK;
}

static gemel_status add_operation(graph_maker *m) {
  uint32_t n = gemel__stable_count(&m->context->ops);
  uint32_t op = 1 + (uint32_t)gemel__random_below(m->random, n - 1);
  gemel_value operands[GEMEL__PROPOSAL_INPUTS];
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel__proposal p;
  memset(operands, 0, sizeof operands);
  memset(&p, 0, sizeof p);
  p.context = m->context;
  p.random = m->random;
  p.op = gemel__op_at(m->context, op);
  p.dtype = m->dtype;
  p.max_elements = MAX_ELEMENTS;
  p.empty = m->empty;
  if (op == GEMEL__OP_input || p.op->n_attrs > GEMEL__PROPOSAL_ATTRS) {
    return GEMEL_DECLINED;
  }
  know_some(m, &p, operands);
  GEMEL__TRY(gemel__propose(&p, &error));
  return apply(m, &p, operands);
}

/* ---- Outputs ---- */

static gemel_status name_outputs(graph_maker *m) {
  unsigned char *used = gemel__alloc_array(m->graph->n_nodes + 1, 1);
  char name[24];
  gemel_status status = used != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  for (uint32_t k = 0; used != NULL && k < m->graph->n_nodes; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(m->graph, k, &count);
    for (uint32_t j = 0; j < count; j++) {
      used[inputs[j].node] = 1;
    }
  }
  for (uint32_t k = 0; k < m->graph->n_nodes && status == GEMEL_OK; k++) {
    int is_input = m->graph->nodes[k].op == GEMEL__OP_input;
    for (uint32_t j = 0; j < m->graph->nodes[k].n_outputs && status == GEMEL_OK; j++) {
      gemel__ref ref = {k, j};
      if (!is_input && (!used[k] || one_in(m, 8))) {
        snprintf(name, sizeof name, "y%zu", m->graph->n_outputs);
        status = gemel_output(gemel__value(m->graph, ref), name);
      }
    }
  }
  gemel__free(used, m->graph->n_nodes + 1);
  return status;
}

/* ---- Graphs ---- */

static gemel_status add_step(graph_maker *m, int passes) {
  if (passes && one_in(m, 3)) {
    return add_pass(m);
  }
  if (passes && m->graph->n_nodes > 0 && one_in(m, 6)) {
    return add_derivative(m);
  }
  return m->n_rules > 0 && !one_in(m, 3) ? add_left_side(m) : add_operation(m);
}

static void choose_dtype(graph_maker *m) {
  static const gemel_dtype dtypes[] = {GEMEL_F32,  GEMEL_F32, GEMEL_F32, GEMEL_F64, GEMEL_F16,
                                       GEMEL_BF16, GEMEL_I32, GEMEL_I64, GEMEL_U8,  GEMEL_BOOL};
  m->dtype = dtypes[gemel__random_below(m->random, sizeof dtypes / sizeof *dtypes)];
  m->empty = one_in(m, 10);
}

gemel_graph *gemel__random_graph(gemel_context *context, const gemel_rules *const *sets,
                                 size_t n_sets, int steps, int passes, gemel__random *random,
                                 gemel_error *error) {
  graph_maker m = {.context = context, .random = random, .sets = sets, .n_sets = n_sets};
  gemel_status status = GEMEL_OK;
  m.graph = gemel_graph_new(context, error);
  if (m.graph == NULL) {
    return NULL;
  }
  for (size_t k = 0; k < n_sets; k++) {
    m.n_rules += gemel_rules_count(sets[k]);
  }
  choose_dtype(&m);
  for (int k = 0; k < steps && status != GEMEL_NO_MEMORY; k++) {
    status = add_step(&m, passes);
  }
  status = status == GEMEL_NO_MEMORY ? status : name_outputs(&m);
  if (status != GEMEL_OK || m.graph->n_outputs == 0) {
    gemel_graph_unref(m.graph);
    gemel__fail(error, status == GEMEL_NO_MEMORY ? status : GEMEL_DECLINED, "no random graph");
    return NULL;
  }
  return m.graph;
}
