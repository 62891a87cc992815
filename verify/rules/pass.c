/* SPDX-License-Identifier: MIT
 *
 * Instances of a pass: a graph that its generator makes is the left side, and what the pass makes
 * of it the right side. A graph with symbolic sizes is given to the pass as it is, and then both
 * sides get the same random sizes. A pass may take symbolic sizes for large; so a pass for large
 * tensors can be verified on small ones.
 */
#include <stdio.h>
#include "core/error.h"
#include "core/graph.h"
#include "passes/edit.h"
#include "pairs/pair.h"
#include "rules/judge.h"
#include "sample/generators.h"

/* The number of elements of the largest input. */
static int64_t most_elements(const gemel_graph *graph) {
  int64_t most = 0;
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
    const gemel_dim *dims = gemel_type_dims(graph->context, type);
    int64_t count = 1, size = 1;
    for (int axis = 0; axis < gemel_type_rank(graph->context, type); axis++) {
      count *= gemel_dim_is_constant(graph->context, dims[axis], &size) ? size : 1;
    }
    most = count > most ? count : most;
  }
  return most;
}

/* GRAPH after PASS. NULL: ERROR says why, or is GEMEL_OK if the pass changes nothing. */
static gemel_graph *after(const gemel_pass *pass, const gemel_graph *graph, gemel_error *error) {
  gemel_graph *result = gemel_graph_ref((gemel_graph *)graph);
  gemel__pass_run run = {0};
  if (gemel__pass_apply(pass, &result, &run, error) != GEMEL_OK || run.applied == 0) {
    gemel_graph_unref(result);
    return NULL;
  }
  return result;
}

static int has_symbols(const gemel_graph *graph) {
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
    const gemel_dim *dims = gemel_type_dims(graph->context, type);
    for (int axis = 0; axis < gemel_type_rank(graph->context, type); axis++) {
      if (!gemel_dim_is_constant(graph->context, dims[axis], NULL)) {
        return 1;
      }
    }
  }
  return 0;
}

/* Makes instances of LEFT and RIGHT (NULL: only LEFT) at random sizes. */
static gemel_status give_sizes(gemel_graph *left, gemel_graph *right, gemel__random *random,
                               gemel__rule_instance *instance, gemel_error *error) {
  gemel__pair pair;
  gemel_status status = gemel__pair_draw(&pair, left, right != NULL ? right : left, random, error);
  if (status == GEMEL_OK) {
    instance->left = gemel_graph_ref(pair.a.graph);
    instance->right = right != NULL ? gemel_graph_ref(pair.b.graph) : NULL;
    gemel__pair_clear(&pair);
  }
  return status;
}

/* Runs the pass on the left side, which has symbols, and makes both sides at random sizes. */
static gemel_status rewrite_symbolic(const gemel_pass *pass, gemel__random *random,
                                     gemel__rule_instance *instance, gemel__rule_draws *draws,
                                     gemel_error *error) {
  gemel_error *problem = &instance->problem;
  gemel_graph *left = instance->left, *right = after(pass, left, problem);
  gemel_status status = GEMEL_DECLINED;
  instance->left = NULL;
  if (right != NULL || problem->status != GEMEL_OK) {
    status = problem->status == GEMEL_NO_MEMORY ? GEMEL_NO_MEMORY
                                                : give_sizes(left, right, random, instance, error);
  } else {
    draws->unfired++;
  }
  if (status != GEMEL_OK || right == NULL) {
    gemel_graph_unref(left);
    gemel_graph_unref(right);
    return status;
  }
  instance->symbolic_left = left;
  instance->symbolic_right = right;
  return GEMEL_OK;
}

static gemel_status rewrite_instance(const gemel_pass *pass, gemel__rule_instance *instance,
                                     gemel__rule_draws *draws) {
  gemel_error *problem = &instance->problem;
  gemel_status status = GEMEL_OK;
  instance->right = after(pass, instance->left, problem);
  if (instance->right == NULL && problem->status == GEMEL_OK) {
    draws->unfired++;
    return GEMEL_DECLINED;
  }
  if (instance->right != NULL) {
    status = gemel__rule_symbolic(instance->left, &instance->symbolic_left);
  }
  if (instance->symbolic_left != NULL) {
    instance->symbolic_right = after(pass, instance->symbolic_left, problem);
  }
  if (instance->symbolic_right == NULL && problem->status == GEMEL_OK) {
    gemel_graph_unref(instance->symbolic_left);
    instance->symbolic_left = NULL;
  }
  return problem->status == GEMEL_NO_MEMORY ? GEMEL_NO_MEMORY : status;
}

static gemel_status draw_pass(const struct gemel__rule_subject *p, int64_t most,
                              gemel__random *random, gemel__rule_instance *instance,
                              gemel__rule_draws *draws, gemel_error *error) {
  gemel_status status;
  int symbolic;
  *instance = (gemel__rule_instance){.left = gemel_graph_new(p->run->context, error)};
  if (instance->left == NULL) {
    return GEMEL_NO_MEMORY;
  }
  draws->tried++;
  status =
      gemel__generator_of(p->pass)(instance->left, gemel__random_source, random, p->pass->data);
  if (status != GEMEL_OK || gemel_graph_output_count(instance->left) == 0) {
    draws->unbuilt++;
    snprintf(draws->reason, sizeof draws->reason, "%.150s",
             gemel_graph_error(instance->left)->text);
    return status == GEMEL_NO_MEMORY ? status : GEMEL_DECLINED;
  }
  symbolic = has_symbols(instance->left);
  status = symbolic ? rewrite_symbolic(p->pass, random, instance, draws, error) : GEMEL_OK;
  if (status == GEMEL_OK && most_elements(instance->left) > most) {
    status = GEMEL_DECLINED;
  }
  if (status == GEMEL_OK) {
    status = gemel__rule_describe_instance(instance);
  }
  if (status == GEMEL_OK && !symbolic) {
    status = rewrite_instance(p->pass, instance, draws);
  }
  return status;
}

gemel_status gemel__rule_draw_again(const struct gemel__rule_subject *p,
                                    const gemel__rule_wish *wish, gemel__random *random,
                                    gemel__rule_instance *instance, gemel__rule_draws *draws,
                                    gemel_error *error) {
  if (p->pass == NULL) {
    gemel__rule_wish how = *wish;
    how.far = p->far;
    return gemel__rule_draw(p->engine, &how, random, instance, draws, error);
  }
  gemel_status status = draw_pass(p, wish->max_elements, random, instance, draws, error);
  if (status != GEMEL_OK) {
    gemel__rule_instance_clear(instance);
  }
  return status;
}
