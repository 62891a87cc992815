/*
 * The graphs of bench/graphs and what the optimiser makes of them are the same functions over the
 * reals, by gemel_verify_pair, which knows nothing of rules. Constants that the optimiser folded
 * are rounded numbers there; what of them is refuted, t-equal asks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "graphs.h"

#include <gemel/gemel.h>
#include <gemel/verify.h>

/* Keeps what tier real says. */
static void keep(void *user, const gemel_record *record) {
  if (record->tier == GEMEL_TIER_REAL) {
    snprintf(user, 600, "%s: %.400s", gemel_verdict_name(record->verdict), record->detail);
  }
}

static void is_equal(const void *data) {
  const corpus_file *file = data;
  gemel_context *context;
  gemel_graph *graph, *optimized = NULL;
  gemel_verify_options options = {0};
  gemel_pair_result result = {.size = sizeof result};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  char said[600] = "";
  CT_SKIP_IF_QUICK();
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("minutes of exact arithmetic");
  }
  context = gemel_context_new(NULL);
  graph = load_graph(context, file, NULL);
  if (graph != NULL) {
    optimized = gemel_rewrite(graph, NULL, &error);
  }
  if (CT_CHECK(optimized != NULL)) {
    options.size = sizeof options;
    options.instances = 2;
    options.tiers = 1u << GEMEL_TIER_REAL;
    options.sink = keep;
    options.user = said;
    CT_EQ_INT(
        gemel_verify_pair(graph, optimized, file->name, GEMEL_NEEDS_ALL, &options, &result, &error),
        GEMEL_OK);
    ct_context("%s", said);
    CT_EQ_INT(result.verdict, GEMEL_VERDICT_PASSED);
  }
  gemel_graph_unref(optimized);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

void ct_register(void) {
  corpus_add(&graph_files, "optimized", "graphs", is_equal);
}
