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
#include "support/heard.h"

static void is_equal(const void *data) {
  const corpus_file *file = data;
  gemel_context *context;
  gemel_graph *graph, *optimized = NULL;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
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
    heard h = hear_pair(graph, optimized, GEMEL_NEEDS_ALL, file->name,
                        (gemel_verify_options){.instances = 2, .tiers = 1u << GEMEL_TIER_REAL});
    CT_EQ_INT(h.result.verdict, GEMEL_VERDICT_PASSED);
  }
  gemel_graph_unref(optimized);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

void ct_register(void) {
  corpus_add(&graph_files, "optimized", "graphs", is_equal);
}
