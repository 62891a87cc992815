/* SPDX-License-Identifier: MIT
 *
 * Lifted graphs on the device "cuda", run by the sim: random graphs by both strategies do nothing
 * there that the sim reports, and give what the host gives, bit for bit where everything is exact.
 */
#include <gemel/cuda.h>
#include <gemel/lift.h>
#include "core/graph.h"
#include "fuzz/random-graph.h"
#include "instances/instance.h"
#include "run.h"
#include "support/lifted.h"
#include "support/on-gpu.h"

/* 1 if results of GRAPH may round: then the host's and the device's may differ. */
static int rounds(const gemel_graph *graph) {
  int found = 0;
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    const gemel_operation *op = &gemel__node_op(graph, k)->record;
    found |= (op->flags & GEMEL_OP_INEXACT) != 0 || strcmp(op->name, "div") == 0 ||
             strcmp(op->name, "pow") == 0;
  }
  return found;
}

/* 1 if GRAPH, lifted by STRATEGY with its inputs on the device if THERE, is wrong on VALUES. */
static int is_wrong_lifted(const gemel_graph *graph, int strategy, int there,
                           gemel_tensor *const *values, char *what, size_t bytes) {
  gemel_lift_options options = {.size = sizeof options,
                                .space = 1,
                                .strategy = (gemel_lift_strategy)strategy,
                                .inputs = there ? "*" : NULL};
  gemel_graph *lifted = gemel_lift(graph, &options, &error);
  char *text = lifted != NULL ? gemel_print_string(lifted, "g", NULL) : NULL;
  snprintf(what, bytes, "%s", error.text);
  int wrong = lifted == NULL || is_wrong(graph, lifted, values, 0, !rounds(graph), what, bytes);
  size_t used = strlen(what);
  snprintf(what + used, bytes - used, "\n%s", text != NULL ? text : "");
  gemel_text_free(text);
  gemel_graph_unref(lifted);
  return wrong || sim_reports() != 0;
}

/* How many of the lifts of random graphs were tried; *EXACT: of which bits were compared. */
static int try_random(gemel_context *context, int n, int *exact) {
  const gemel_rules *rules = gemel_rules_builtin(context, &error);
  gemel__random random;
  int tried = 0;
  char what[2000] = "";
  *exact = 0;
  gemel__random_seed(&random, 13);
  for (int k = 0; k < n; k++) {
    gemel_graph *graph = gemel__random_graph(context, &rules, 1, 2 + k % 6, &random, &error);
    gemel__instance instance;
    gemel_tensor **values;
    if (graph == NULL || !all_on_host(graph) || graph->n_outputs > MOST_VALUES ||
        gemel__instance_of_graph(&instance, graph, NULL, &error) != GEMEL_OK) {
      gemel_graph_unref(graph);
      continue;
    }
    if (gemel__values_draw(&instance, GEMEL__FILL_INTEGERS, &random, &values, &error) == GEMEL_OK) {
      int there = graph->n_inputs > 0 && k % 2;
      for (int s = 0; s < GEMEL_LIFT_STRATEGY_COUNT; s++, tried++) {
        int wrong = is_wrong_lifted(graph, s, there, values, what, sizeof what);
        ct_context("graph %d: %s", k, what);
        CT_EQ_INT(wrong, 0);
      }
      *exact += !rounds(graph);
      gemel__values_free(&instance, values);
    }
    gemel__instance_clear(&instance);
    gemel_graph_unref(graph);
  }
  gemel_rules_unref((gemel_rules *)rules);
  return tried;
}

static void random_lifts(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_cuda *cuda = gemel_cuda_open(0, &error);
  int exact = 0, n = 40;
  (void)data;
  CT_REQUIRE(context != NULL && cuda != NULL);
  CT_EQ_INT(gemel_register_device(context, 1, gemel_cuda_device(cuda), &error), GEMEL_OK);
  int tried = try_random(context, n, &exact);
  printf("  %d lifts of random graphs, %d graphs compared bit for bit\n", tried, exact);
  CT_CHECK(tried > n && exact > n / 4);
  gemel_context_unref(context);
  gemel_cuda_close(cuda);
  CT_EQ_INT(sim_reports(), 0);
  sim_forget();
}

void ct_register(void) {
  static const ct_test tests[] = {CT_TEST("random", random_lifts, NULL)};
  need_gpu();
  ct_suite("cuda_lifted", tests, CT_COUNT(tests));
}
