/* SPDX-License-Identifier: MIT
 *
 * Draws instances, see draw.h. A left side is built (left.c), the library's matcher must match it,
 * and the library's engine rewrites it with this rule alone. So a defect of the matcher or the
 * engine shows in the right side.
 */
#include "rules/draw.h"

#include <stdio.h>
#include <string.h>
#include <gemel/text.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/value.h"
#include "ops/ops.h"
#include "pairs/pair.h"
#include "rewrite/engine.h"
#include "rules/functions.h"
#include "rules/left.h"
#include "sample/symbolize.h"

/* ---- By the engine ---- */

struct gemel__rule_engine {
  const gemel_rule *rule;
  gemel__selection only; /* the rule */
  gemel__selection none; /* no rules: drops unused nodes */
  gemel__arms arms;
};

gemel__rule_engine *gemel__rule_engine_new(gemel_context *context, const gemel_rule *rule,
                                           gemel_error *error) {
  gemel__rule_engine *engine = gemel__alloc_zeroed(sizeof *engine);
  if (engine == NULL) {
    gemel__no_memory(error, "a rule");
    return NULL;
  }
  engine->rule = rule;
  if (gemel__selection_start(&engine->only, context, error) != GEMEL_OK ||
      gemel__selection_add(&engine->only, rule, 0, error) != GEMEL_OK ||
      gemel__selection_finish(&engine->only, error) != GEMEL_OK ||
      gemel__selection_start(&engine->none, context, error) != GEMEL_OK ||
      gemel__selection_finish(&engine->none, error) != GEMEL_OK ||
      gemel__arms_of(rule, &engine->arms, error) != GEMEL_OK) {
    gemel__rule_engine_free(engine);
    return NULL;
  }
  return engine;
}

void gemel__rule_engine_free(gemel__rule_engine *engine) {
  if (engine != NULL) {
    gemel__selection_clear(&engine->only);
    gemel__selection_clear(&engine->none);
    gemel__arms_clear(&engine->arms);
    gemel__free(engine, sizeof *engine);
  }
}

const gemel__arms *gemel__rule_arms(const gemel__rule_engine *engine) {
  return &engine->arms;
}

gemel_graph *gemel__rule_apply(gemel__rule_engine *engine, const gemel_graph *graph,
                               gemel_error *error) {
  gemel__pass_options with = {.selection = &engine->only};
  gemel__pass_options without = {.selection = &engine->none};
  gemel__selection_reset(&engine->only);
  gemel_graph *full = gemel__rewrite_phase(graph, &with, error), *live = NULL;
  if (full != NULL && engine->only.tallies[0].applied > 0) {
    live = gemel__rewrite_phase(full, &without, error);
  }
  gemel_graph_unref(full);
  return live;
}

/* ---- Symbols for sizes ---- */

static gemel_status symbolic_inputs(const gemel_graph *from, gemel_graph *into,
                                    gemel__symbols *symbols) {
  gemel_context *context = from->context;
  for (size_t k = 0; k < gemel_graph_input_count(from); k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(from, k)), symbolic;
    gemel_status status = gemel__symbolize(context, 1, &type, &symbolic, symbols, NULL);
    if (status != GEMEL_OK) {
      return status;
    }
    gemel__input_like(into, gemel_graph_input_name(from, k), symbolic, gemel_graph_input(from, k));
  }
  return gemel_graph_error(into)->status;
}

/* Adds a symbol for the length of each arange: a rule without inputs has no other sizes. */
static gemel_status add_lengths(const gemel_graph *from, gemel__symbols *symbols) {
  for (uint32_t k = 0; k < from->n_nodes; k++) {
    gemel_type type = gemel__node_type(from, k, 0), symbolic;
    if (gemel__node_at(from, k)->op == GEMEL__OP_arange) {
      GEMEL__TRY(gemel__symbolize(from->context, 1, &type, &symbolic, symbols, NULL));
    }
  }
  return GEMEL_OK;
}

/* Copies node K of FROM to INTO. MAP has the copies of the nodes before it. */
static gemel_status symbolic_node(const gemel_graph *from, uint32_t k, gemel_graph *into,
                                  const gemel__symbols *symbols, uint32_t *map) {
  enum { ROOM = 32 };
  const gemel_location nowhere = {NULL, 0};
  const gemel__node *node = gemel__node_at(from, k);
  gemel_value inputs[ROOM], made;
  uint32_t count, attrs;
  const gemel__ref *refs = gemel__node_inputs(from, k, &count);
  gemel_status status =
      count > ROOM ? GEMEL_DECLINED
                   : gemel__symbolize_attrs(from->context, node->attrs, symbols, &attrs, NULL);
  if (status != GEMEL_OK) {
    return status;
  }
  for (uint32_t j = 0; j < count; j++) {
    gemel__ref ref = {map[refs[j].node], refs[j].output};
    inputs[j] = gemel__value(into, ref);
  }
  made = gemel__apply(into, node->op, attrs, count, inputs, nowhere);
  map[k] = made.node;
  return gemel_graph_error(into)->status;
}

static gemel_status symbolic_outputs(const gemel_graph *from, gemel_graph *into,
                                     const uint32_t *map) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < gemel_graph_output_count(from) && status == GEMEL_OK; k++) {
    gemel_value old = gemel_graph_output(from, k);
    gemel__ref ref = {map[old.node], old.output};
    status = gemel_output(gemel__value(into, ref), gemel_graph_output_name(from, k));
  }
  return status;
}

static int is_input(const gemel_graph *graph, uint32_t node, size_t *which) {
  size_t n = gemel_graph_input_count(graph);
  for (*which = 0; *which < n && gemel_graph_input(graph, *which).node != node; ++*which) {
  }
  return *which < n;
}

static gemel_status symbolic_copy(const gemel_graph *left, gemel_graph *into,
                                  gemel__symbols *symbols, uint32_t *map) {
  gemel_status status = symbolic_inputs(left, into, symbols);
  status = status ? status : add_lengths(left, symbols);
  for (uint32_t k = 0; k < left->n_nodes && status == GEMEL_OK; k++) {
    size_t which;
    if (is_input(left, k, &which)) {
      map[k] = gemel_graph_input(into, which).node;
    } else {
      status = symbolic_node(left, k, into, symbols, map);
    }
  }
  if (status == GEMEL_OK) {
    status = symbols->count > 0 ? symbolic_outputs(left, into, map) : GEMEL_DECLINED;
  }
  return status;
}

gemel_status gemel__rule_symbolic(const gemel_graph *left, gemel_graph **symbolic) {
  enum { ROOM = 128 };
  gemel__symbols symbols;
  uint32_t map[ROOM];
  *symbolic = NULL;
  if (left->n_nodes > ROOM) {
    return GEMEL_OK;
  }
  memset(&symbols, 0, sizeof symbols);
  *symbolic = gemel_graph_new(left->context, NULL);
  gemel_status status =
      *symbolic != NULL ? symbolic_copy(left, *symbolic, &symbols, map) : GEMEL_NO_MEMORY;
  if (status != GEMEL_OK) {
    gemel_graph_unref(*symbolic);
    *symbolic = NULL;
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* ---- An instance ---- */

static uint64_t hash_types(const gemel_graph *graph) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    hash = (hash ^ gemel_value_type(gemel_graph_input(graph, k)).id) * 0x100000001b3u;
  }
  return hash;
}

static gemel_status hash_text(const gemel_graph *graph, uint64_t *hash) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  char *text = gemel_print_string(graph, "left", &error);
  *hash = text != NULL ? gemel__hash_bytes(0, text, strlen(text)) : 0;
  gemel_text_free(text);
  return error.status;
}

/* 1 if equal attributes have equal ids, which tensors and graphs don't. */
static int attrs_tell(const gemel_context *context, uint32_t attrs) {
  const struct gemel__attrs *stored = gemel__attrs_at(context, attrs);
  size_t k = 0;
  while (k < stored->count && (stored->values[k].kind & ~GEMEL_ATTR_LIST) < GEMEL_ATTR_TENSOR) {
    k++;
  }
  return k == stored->count;
}

/* Hashes the nodes, outputs and assumptions of GRAPH, or its text if it has attributes whose ids
 * don't tell them. */
static gemel_status hash_graph(const gemel_graph *graph, uint64_t *hash) {
  *hash = graph->n_nodes;
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    const gemel__node *node = gemel__node_at(graph, k);
    uint64_t type = gemel__has_output(graph, k, 0) ? gemel__node_type(graph, k, 0).id : 0;
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
    if (node->attrs != 0 && !attrs_tell(graph->context, node->attrs)) {
      return hash_text(graph, hash);
    }
    *hash = gemel__mix(*hash ^ ((uint64_t)node->op << 32 | node->attrs));
    *hash = gemel__mix(*hash ^ type);
    *hash = gemel__hash_bytes(*hash, inputs, count * sizeof *inputs);
  }
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    *hash = gemel__mix(*hash ^ gemel__input_facts(graph, k));
  }
  *hash = gemel__hash_bytes(*hash, graph->outputs, graph->n_outputs * sizeof *graph->outputs);
  return GEMEL_OK;
}

int gemel__rule_asks_uses(const gemel_rule *rule) {
  return rule->asks_uses;
}

int gemel__rule_asks_constants(const gemel_rule *rule) {
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    for (uint32_t j = 0; j < rule->conditions[k].count; j++) {
      const gemel__termcode *code = &rule->conditions[k].code[j];
      if (code->kind == GEMEL__TERMCODE_FUNCTION && gemel__rule_wants_constant(code->index)) {
        return 1;
      }
    }
  }
  return 0;
}

int gemel__type_is_empty(gemel_context *context, gemel_type type) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  int64_t size;
  int k = gemel_type_rank(context, type);
  while (k-- > 0) {
    if (gemel_dim_is_constant(context, dims[k], &size) && size == 0) {
      return 1;
    }
  }
  return 0;
}

int gemel__rule_has_elements(const gemel_graph *graph) {
  size_t k = 0, n = gemel_graph_output_count(graph);
  while (k < n &&
         gemel__type_is_empty(graph->context, gemel_value_type(gemel_graph_output(graph, k)))) {
    k++;
  }
  return k < n;
}

gemel_status gemel__rule_describe_instance(gemel__rule_instance *instance) {
  gemel_graph *graph = instance->left;
  instance->dtype = gemel__value_dtype(gemel_graph_output(graph, 0));
  instance->shapes = hash_types(graph);
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    int rank = gemel_type_rank(graph->context, gemel_value_type(gemel_graph_input(graph, k)));
    instance->rank = rank > instance->rank ? rank : instance->rank;
  }
  return hash_graph(graph, &instance->content);
}

/* Rewrites the left side, and its symbolic version. GEMEL_WRONG_RULE from the engine is what the
 * instance shows (PROBLEM); other errors are returned. */
static gemel_status rewrite_instance(gemel__rule_instance *instance, gemel__rule_engine *engine,
                                     const gemel__rule_wish *wish, gemel__rule_draws *draws) {
  gemel_status status = GEMEL_OK;
  instance->right = gemel__rule_apply(engine, instance->left, &instance->problem);
  if (instance->right == NULL) {
    draws->unfired += instance->problem.status == GEMEL_OK;
    return instance->problem.status == GEMEL_NO_MEMORY ? GEMEL_NO_MEMORY
           : instance->problem.status == GEMEL_OK      ? GEMEL_DECLINED
                                                       : GEMEL_OK;
  }
  if (!wish->plain) {
    status = gemel__rule_symbolic(instance->left, &instance->symbolic_left);
  }
  if (instance->symbolic_left != NULL) {
    instance->symbolic_right =
        gemel__rule_apply(engine, instance->symbolic_left, &instance->problem);
  }
  if (instance->symbolic_right == NULL && instance->problem.status == GEMEL_OK) {
    gemel_graph_unref(instance->symbolic_left);
    instance->symbolic_left = NULL;
  }
  return instance->problem.status == GEMEL_NO_MEMORY ? GEMEL_NO_MEMORY : status;
}

/* Makes some of the values that the left side names outputs of the graph. */
static gemel_status use_again(const struct gemel_rule *rule, const gemel__binding *binding,
                              gemel_graph *graph, gemel__random *random) {
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 0; k < rule->left.count && status == GEMEL_OK; k++) {
    uint32_t named = rule->left.nodes[k].named;
    if (named != 0 && gemel__random_chance(random, 1, 2)) {
      char name[80];
      snprintf(name, sizeof name, "again_%.60s", rule->variables[named - 1].name);
      status = gemel_output(gemel__value(graph, binding->terms[named - 1].u.tensor), name);
    }
  }
  return status;
}

/* Matches the left side at ROOT, in any order of operands. */
static gemel_status match(const struct gemel_rule *rule, gemel__scene *scene, gemel__ref root,
                          gemel__binding *binding, gemel__rule_draws *draws) {
  gemel_status status = GEMEL_DECLINED;
  uint32_t asked = 0;
  for (uint32_t k = 0; k < gemel__rule_orders(rule) && status == GEMEL_DECLINED; k++) {
    status = gemel__rule_match(rule, k, scene, root, binding);
    asked = binding->asked > asked ? binding->asked : asked;
  }
  asked = status == GEMEL_OK ? UINT32_MAX : asked;
  draws->came = asked > draws->asked ? 1 : draws->came + (asked == draws->asked);
  draws->asked = asked > draws->asked ? asked : draws->asked;
  draws->unmatched += status == GEMEL_DECLINED;
  return status;
}

/* Builds the left side of INSTANCE. GEMEL_DECLINED if the matcher doesn't match it. */
static gemel_status try_left(gemel__rule_instance *instance, const gemel__arms *arms,
                             const gemel__rule_wish *wish, gemel__random *random,
                             const gemel__goal *goal, gemel__rule_draws *draws,
                             gemel__left_constants *constants, gemel_error *error) {
  const struct gemel_rule *rule = arms->rule;
  gemel_graph *graph = instance->left;
  gemel__arena arena = {NULL, 0};
  gemel__scene scene = {graph, NULL, &arena, NULL, error};
  gemel__binding binding;
  gemel__ref root;
  gemel_error reason = {GEMEL_OK, 0, 0, ""};
  gemel_status status =
      gemel__rule_left(rule, wish, goal, random, &scene, &root, constants, &reason);
  if (status != GEMEL_OK) {
    draws->unbuilt++;
    snprintf(draws->reason, sizeof draws->reason, "%.150s", reason.text);
  } else {
    status = match(rule, &scene, root, &binding, draws);
    if (status == GEMEL_OK) {
      scene.variables = binding.terms;
      status = gemel__arms_taken(arms, &scene, &instance->taken, &instance->alone);
    }
  }
  status = status ? status : gemel_output(gemel__value(graph, root), "y");
  if (status == GEMEL_OK && wish->reused) {
    status = use_again(rule, &binding, graph, random);
  }
  gemel__arena_clear(&arena);
  return status;
}

/* The arm to aim at: the one that WISH names, or a random one; NULL: the rule has none, or a hint
 * says which are taken. */
static const gemel__arm *aim(const gemel__arms *arms, const gemel__rule_wish *wish,
                             gemel__random *random) {
  size_t arm = wish->arm > 0       ? wish->arm - 1
               : arms->n_arms == 0 ? 0
                                   : gemel__random_below(random, arms->n_arms);
  return wish->hint == NULL && (wish->arm > 0 || arms->n_arms > 0) ? &arms->at[arm] : NULL;
}

/* 1 if INSTANCE has so many elements that references take long. */
static int is_too_large(const gemel__rule_instance *instance, const gemel__rule_wish *wish) {
  enum { MOST_ELEMENTS = 10000 };
  return (wish->arm > 0 || wish->hint != NULL) && wish->length == 0 &&
         gemel__graph_elements(instance->left, 1) > MOST_ELEMENTS;
}

/* 1 if try K is good enough although it doesn't take ARM alone: after half of the tries it may take
 * it beside another; after three quarters any will do, unless the arm is wished for. */
static int suffices(const gemel__rule_instance *instance, const gemel__rule_wish *wish, size_t arm,
                    int k) {
  return (instance->alone >> arm & 1) || (2 * k >= wish->tries && (instance->taken >> arm & 1)) ||
         (4 * k >= 3 * wish->tries && wish->arm == 0);
}

gemel_status gemel__rule_draw(gemel__rule_engine *engine, const gemel__rule_wish *wish,
                              gemel__random *random, gemel__rule_instance *instance,
                              gemel__rule_draws *draws, gemel_error *error) {
  enum { GOAL_TRIES = 8 };
  gemel_status status = GEMEL_DECLINED;
  gemel__rule_wish how = *wish;
  gemel__goal goal;
  const gemel__arm *arm = aim(&engine->arms, wish, random);
  memset(instance, 0, sizeof *instance);
  for (int k = 0; k < wish->tries && status == GEMEL_DECLINED; k++) {
    gemel__left_constants constants;
    gemel__rule_instance_clear(instance);
    how.eager = 4 * k >= wish->tries;
    if (k % GOAL_TRIES == 0) {
      gemel__goal_draw(engine->rule, arm, random, &goal);
    }
    instance->left = gemel_graph_new(engine->only.context, error);
    if (instance->left == NULL) {
      return GEMEL_NO_MEMORY;
    }
    draws->tried++;
    status = try_left(instance, &engine->arms, &how, random, &goal, draws, &constants, error);
    if (status == GEMEL_OK &&
        (is_too_large(instance, wish) ||
         (arm != NULL && !suffices(instance, wish, (size_t)(arm - engine->arms.at), k)))) {
      draws->unmatched++;
      status = GEMEL_DECLINED;
    }
    if (status == GEMEL_OK) {
      instance->floats = constants.floats;
      instance->wide = wish->constants == GEMEL__CONSTANTS_WIDE;
      instance->special = constants.nan        ? GEMEL__CONSTANTS_NAN
                          : constants.infinite ? GEMEL__CONSTANTS_INFINITE
                                               : 0;
      status = gemel__rule_describe_instance(instance);
      status = status ? status : rewrite_instance(instance, engine, wish, draws);
    }
  }
  if (status == GEMEL_NO_MEMORY && instance->problem.status == status && error != NULL) {
    *error = instance->problem;
  }
  if (status != GEMEL_OK) {
    gemel__rule_instance_clear(instance);
  }
  return status;
}

void gemel__rule_instance_clear(gemel__rule_instance *instance) {
  gemel_graph_unref(instance->left);
  gemel_graph_unref(instance->right);
  gemel_graph_unref(instance->symbolic_left);
  gemel_graph_unref(instance->symbolic_right);
  memset(instance, 0, sizeof *instance);
}
