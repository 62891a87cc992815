/*
 * The graphs of bench/graphs, for the tests that go through all of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_GRAPHS_H
#define GEMEL_TESTS_GRAPHS_H

#include <gemel/text.h>
#include "support/corpus.h"

static corpus graph_files = {.folder = "bench/graphs", .end = ".gmt", .least = 52};

/* The graph of FILE and, unless NULL, its *NAME (gemel_text_free); a test fails without. */
static inline gemel_graph *load_graph(gemel_context *context, const corpus_file *file,
                                      char **name) {
  gemel_error error = {0};
  gemel_graph *graph = gemel_load(context, file->path, name, &error);
  if (graph == NULL) {
    CT_FAIL("%s", error.text);
  }
  return graph;
}

#endif
