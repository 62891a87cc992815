/*
 * The graphs of bench/graphs and what the optimiser makes of them are the same functions over the
 * reals, by gemel_verify_pair, which knows nothing of rules. Constants that the optimiser folded
 * are rounded numbers there; what of them is refuted, t-equal asks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>

static char names[100][64];
static size_t n_names;

static gemel_graph *load(gemel_context *context, const char *name) {
  const char *root = getenv("GEMEL_SRCDIR");
  char path[600];
  gemel_error error;
  gemel_graph *graph;
  snprintf(path, sizeof path, "%s/bench/graphs/%s", root != NULL ? root : ".", name);
  graph = gemel_load(context, path, NULL, &error);
  if (graph == NULL) {
    CT_FAIL("%s", error.text);
  }
  return graph;
}

/* Keeps what tier real says. */
static void keep(void *user, const gemel_record *record) {
  if (record->tier == GEMEL_TIER_REAL) {
    snprintf(user, 600, "%s: %.400s", gemel_verdict_name(record->verdict), record->detail);
  }
}

static void is_equal(const void *data) {
  gemel_context *context;
  gemel_graph *graph, *optimized = NULL;
  gemel_verify_options options = {0};
  gemel_pair_result result = {0};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  char said[600] = "";
  CT_SKIP_IF_QUICK();
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("minutes of exact arithmetic");
  }
  context = gemel_context_new(NULL);
  graph = load(context, data);
  if (graph != NULL) {
    optimized = gemel_rewrite(graph, NULL, &error);
  }
  if (CT_CHECK(optimized != NULL)) {
    options.size = sizeof options;
    options.instances = 2;
    options.tiers = 1u << GEMEL_TIER_REAL;
    options.sink = keep;
    options.user = said;
    CT_EQ_INT(gemel_verify_pair(graph, optimized, data, GEMEL_NEEDS_ALL, &options, &result, &error),
              GEMEL_OK);
    ct_context("%s", said);
    /* at two points a sign may be seen one way only, which passes nothing and refutes nothing */
    CT_CHECK(result.verdict == GEMEL_PASSED || result.verdict == GEMEL_UNINFORMATIVE);
  }
  gemel_graph_unref(optimized);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void find_graphs(void) {
  const char *root = getenv("GEMEL_SRCDIR");
  char path[600];
  struct dirent *entry;
  snprintf(path, sizeof path, "%s/bench/graphs", root != NULL ? root : ".");
  DIR *folder = opendir(path);
  while (folder != NULL && (entry = readdir(folder)) != NULL && n_names < CT_COUNT(names)) {
    const char *end = strrchr(entry->d_name, '.');
    if (end != NULL && strcmp(end, ".gmt") == 0 && strlen(entry->d_name) < sizeof *names) {
      strcpy(names[n_names++], entry->d_name);
    }
  }
  if (folder != NULL) {
    closedir(folder);
  }
}

void ct_register(void) {
  find_graphs();
  for (size_t k = 0; k < n_names; k++) {
    CT_ADD("optimized", names[k], is_equal, names[k]);
  }
}
