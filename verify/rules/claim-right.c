/* SPDX-License-Identifier: MIT
 *
 * Right sides, see right.h. The library's matcher binds the rule's variables in a copy of the left
 * side, and its template is built behind it. The engine would go on and rewrite what comes of it.
 */
#include "rules/claim-right.h"

#include "core/alloc.h"
#include "core/error.h"
#include "core/value.h"
#include "rewrite/build.h"

static const gemel_location nowhere = {NULL, 0};

/* Copies LEFT to GRAPH: *ROOT is its output there. */
static gemel_status copy(const gemel_graph *left, gemel_graph *graph, gemel_value *root,
                         gemel_error *error) {
  size_t n = gemel_graph_input_count(left);
  gemel_value *inputs = gemel__alloc_array(n + 1, sizeof *inputs);
  if (inputs == NULL) {
    return gemel__no_memory(error, "a right side");
  }
  for (size_t k = 0; k < n; k++) {
    gemel_value input = gemel_graph_input(left, k);
    inputs[k] =
        gemel__input_like(graph, gemel_graph_input_name(left, k), gemel_value_type(input), input);
  }
  gemel_status status = gemel__graph_inline(graph, left, inputs, root, error);
  gemel__free(inputs, (n + 1) * sizeof *inputs);
  return status;
}

/* VALUE in the type of ROOT: broadcast, where its shape is smaller. */
static gemel_status settle_type(gemel_graph *graph, gemel_value root, gemel_value *value,
                                gemel_error *problem) {
  gemel_context *context = graph->context;
  gemel_type type = gemel_value_type(root), made = gemel_value_type(*value);
  char types[200];
  gemel_type both[2] = {type, made};
  if (!gemel_type_equal(made, type) &&
      gemel_type_dtype(context, made) == gemel_type_dtype(context, type)) {
    gemel_attr shape = gemel_attr_dims("shape", (size_t)gemel_type_rank(context, type),
                                       gemel_type_dims(context, type));
    *value = gemel_apply_at(graph, "broadcast_to", 1, value, 1, &shape, nowhere);
    made = gemel_is_null(*value) ? GEMEL_TYPE_NONE : gemel_value_type(*value);
  }
  if (gemel_type_equal(made, type)) {
    return GEMEL_OK;
  }
  gemel__format_types(context, 2, both, types, sizeof types);
  gemel__fail(problem, GEMEL_WRONG_RULE, "both sides have other types: %s", types);
  return GEMEL_DECLINED;
}

/* Matches at ROOT in any order of operands, and builds the right side: *VALUE. */
static gemel_status build(const gemel_rule *rule, gemel__scene *scene, gemel_value root,
                          gemel_value *value, gemel_error *problem) {
  gemel__binding binding;
  gemel__ref at = {root.node, root.output};
  gemel_status status = GEMEL_DECLINED;
  for (uint32_t order = 0; order < gemel__rule_orders(rule) && status == GEMEL_DECLINED; order++) {
    status = gemel__rule_match(rule, order, scene, at, &binding);
  }
  if (status != GEMEL_OK) {
    return status;
  }
  scene->variables = binding.terms;
  *value = gemel__side_build(&rule->right, scene, gemel__value_dtype(root), nowhere, &status);
  if (status == GEMEL_OK) {
    return settle_type(scene->graph, root, value, problem);
  }
  if (status != GEMEL_DECLINED && status != GEMEL_NO_MEMORY) {
    *problem = *gemel_graph_error(scene->graph);
    status = GEMEL_DECLINED;
  }
  return status;
}

/* How often each node of GRAPH is used: in half of the cases once, in the others often twice. In
 * ARENA; NULL: memory is out. */
static const uint32_t *draw_uses(const gemel_graph *graph, gemel__random *random,
                                 gemel__arena *arena) {
  uint32_t *uses = gemel__arena_alloc(arena, (graph->n_nodes + 1) * sizeof *uses);
  int again = gemel__random_chance(random, 1, 2);
  for (size_t k = 0; uses != NULL && k < graph->n_nodes; k++) {
    uses[k] = 1 + (again && gemel__random_chance(random, 1, 2));
  }
  return uses;
}

gemel_status gemel__claim_right(const gemel_rule *rule, const gemel_graph *left,
                                gemel__random *random, gemel_graph **right, gemel_error *problem,
                                gemel_error *error) {
  gemel__arena arena = {NULL, 0};
  gemel_value root, value;
  gemel_graph *graph = gemel_graph_new(left->context, error);
  gemel__scene scene = {graph, NULL, &arena, NULL, error};
  *right = NULL;
  *problem = (gemel_error){GEMEL_OK, 0, 0, ""};
  gemel_status status = graph != NULL ? copy(left, graph, &root, error) : GEMEL_NO_MEMORY;
  if (status == GEMEL_OK) {
    scene.uses = draw_uses(graph, random, &arena);
    status = scene.uses != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  }
  status = status ? status : build(rule, &scene, root, &value, problem);
  status = status ? status : gemel_output(value, gemel_graph_output_name(left, 0));
  gemel__arena_clear(&arena);
  if (status == GEMEL_OK) {
    *right = graph;
    return GEMEL_OK;
  }
  gemel_graph_unref(graph);
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a right side") : GEMEL_OK;
}
