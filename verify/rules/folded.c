/* SPDX-License-Identifier: MIT
 *
 * Literals that are roundings of one number, see folded.h.
 */
#include "rules/folded.h"

#include <string.h>
#include "base/status.h"
#include "core/apply.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "equal/constants.h"
#include "ops/ops.h"
#include "rules/term.h"
#include "tiers/tiers.h"

struct agreeing {
  gemel__random *random;
  int starved; /* 1: memory is out */
};

/* 1 if A and B are equal over the reals at a few points. */
static int agree(void *user, const gemel_graph *a, const gemel_graph *b) {
  enum { POINTS = 4 };
  struct agreeing *s = user;
  int same = 1;
  for (int k = 0; k < POINTS && same; k++) {
    gemel__pair pair;
    gemel_tensor **values;
    gemel__trial trial = {NULL, s->random, &pair.b};
    gemel__outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    gemel_status status = gemel__pair_draw(&pair, a, b, s->random, NULL);
    if (status == GEMEL_OK) {
      status = gemel__values_draw(&pair.a, GEMEL__FILL_FULL, s->random, &values, NULL);
      if (status == GEMEL_OK) {
        status = gemel__check_pair(&pair.a, values, &trial, &outcome, NULL);
        gemel__values_free(&pair.a, values);
      }
      gemel__pair_clear(&pair);
    }
    s->starved |= status == GEMEL_NO_MEMORY;
    same = (status == GEMEL_OK || gemel__is_no_point(status)) && !outcome.refuted;
  }
  return same;
}

/* NODE's value in a copy INTO of its graph: a scalar that is broadcast if it is a constant of one
 * number, so that numbers are compared and not shapes. MAP has the copies of the nodes before it.
 */
static gemel_value copy_node(const gemel_graph *from, uint32_t k, gemel_graph *into,
                             const gemel_value *map) {
  enum { ROOM = 32 };
  const gemel_location nowhere = {NULL, 0};
  const gemel__node *node = gemel__node_at(from, k);
  const gemel_tensor *number = NULL;
  gemel_type type = gemel__node_type(from, k, 0);
  gemel_value inputs[ROOM], value;
  uint32_t count;
  const gemel__ref *refs = gemel__node_inputs(from, k, &count);
  if (node->op == GEMEL__OP_constant && gemel_type_rank(from->context, type) > 0 &&
      gemel__uniform_constant(from, (gemel__ref){k, 0}, &number)) {
    gemel_view view = {gemel_tensor_dtype(number), 0, NULL, NULL, gemel_tensor_data(number)};
    gemel_tensor *scalar = gemel_tensor_copy(&view, NULL);
    gemel_attr shape = gemel_attr_dims("shape", (size_t)gemel_type_rank(from->context, type),
                                       gemel_type_dims(from->context, type));
    value = scalar != NULL ? gemel_constant_at(into, scalar, nowhere)
                           : gemel__graph_fail_at(into, nowhere, GEMEL_NO_MEMORY, "out of memory");
    gemel_tensor_unref(scalar);
    return gemel_apply_at(into, "broadcast_to", 1, &value, 1, &shape, nowhere);
  }
  if (count > ROOM) {
    return (gemel_value){NULL, 0, 0};
  }
  for (uint32_t j = 0; j < count; j++) {
    inputs[j] = map[refs[j].node];
    inputs[j].output += refs[j].output;
  }
  return gemel__apply(into, node->op, node->attrs, count, inputs, nowhere);
}

/* *COPY: GRAPH with scalars in the place of constants of one number; NULL: there is no such graph.
 * GEMEL_NO_MEMORY. */
static gemel_status with_scalars(const gemel_graph *graph, gemel_graph **copy) {
  enum { NODES = 128 };
  gemel_value map[NODES];
  size_t n = gemel_graph_input_count(graph);
  *copy = NULL;
  if (graph->n_nodes > NODES) {
    return GEMEL_OK;
  }
  gemel_graph *into = gemel_graph_new(graph->context, NULL);
  if (into == NULL) {
    return GEMEL_NO_MEMORY;
  }
  for (size_t k = 0; k < n; k++) {
    gemel_value input = gemel_graph_input(graph, k);
    map[input.node] =
        gemel__input_like(into, gemel_graph_input_name(graph, k), gemel_value_type(input), input);
  }
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    if (gemel__node_at(graph, k)->op != GEMEL__OP_input) {
      map[k] = copy_node(graph, k, into, map);
    }
  }
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    gemel_value output = gemel_graph_output(graph, k), made = map[output.node];
    made.output += output.output;
    gemel_output(made, gemel_graph_output_name(graph, k));
  }
  gemel_status status = gemel_graph_error(into)->status;
  if (status != GEMEL_OK) {
    gemel_graph_unref(into);
  } else {
    *copy = into;
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* 1 if GRAPH has a constant of a float dtype. */
static int has_float_constant(const gemel_graph *graph) {
  uint32_t k = 0;
  while (k < graph->n_nodes &&
         (gemel__node_at(graph, k)->op != GEMEL__OP_constant ||
          !gemel__is_float(gemel_type_dtype(graph->context, gemel__node_type(graph, k, 0))))) {
    k++;
  }
  return k < graph->n_nodes;
}

gemel_status gemel__instance_fold(const gemel__rule_instance *drawn, gemel__random *random,
                                  gemel__pair *pair, int *folds, gemel_error *error) {
  struct agreeing s = {random, 0};
  gemel__folded folded = {NULL, NULL, 0};
  *folds = 0;
  if (drawn->right == NULL || drawn->special != 0 || !has_float_constant(drawn->left) ||
      !has_float_constant(drawn->right)) {
    return GEMEL_OK;
  }
  gemel_graph *left, *right = NULL;
  gemel_status copied = with_scalars(drawn->left, &left);
  copied = copied ? copied : with_scalars(drawn->right, &right);
  s.starved |= copied == GEMEL_NO_MEMORY;
  gemel_status status = left == NULL || right == NULL
                            ? GEMEL_OK
                            : gemel__constants_fold(left, right, agree, &s, NULL, &folded, error);
  status = status == GEMEL_OK && s.starved ? gemel__no_memory(error, "constants") : status;
  if (status == GEMEL_OK && folded.count > 0) {
    *folds = 1;
    status = gemel__pair_draw(pair, folded.a != NULL ? folded.a : left,
                              folded.b != NULL ? folded.b : right, random, error);
  }
  *folds &= status == GEMEL_OK;
  gemel__folded_clear(&folded);
  gemel_graph_unref(left);
  gemel_graph_unref(right);
  return status;
}

gemel_status gemel__example_fold(struct gemel__rule_subject *p, struct gemel__example *e,
                                 int *folds, gemel_error *error) {
  gemel__random random;
  *folds = 0;
  if (e->folded) {
    return GEMEL_OK;
  }
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_FOLDED),
                    &random);
  gemel_status status = gemel__instance_fold(&e->drawn, &random, &e->reals, folds, error);
  e->folded = *folds;
  p->folds |= *folds;
  return status;
}
