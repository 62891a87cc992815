/*
 * Graphs from text, and as text, for tests.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_GRAPH_TEXT_H
#define GEMEL_TESTS_GRAPH_TEXT_H

#include <gemel/rewrite.h>
#include <gemel/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../ct.h"

/* The graph that TEXT says, in a file called "test"; NULL, and a failure, if it can't be parsed. */
static inline gemel_graph *parse(gemel_context *context, const char *text) {
  gemel_error problem = {0};
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "test", NULL, &problem);
  CT_EQ_STR(problem.text, "");
  return graph;
}

/* The same of what follows "graph g": inputs and a body. */
static inline gemel_graph *graph_of(gemel_context *context, const char *text) {
  size_t room = strlen(text) + sizeof "graph g";
  char *whole = malloc(room);
  snprintf(whole, room, "graph g%s", text);
  gemel_graph *graph = parse(context, whole);
  free(whole);
  return graph;
}

/* A graph with these INPUTS whose one result is RESULT. */
static inline gemel_graph *graph_returning(gemel_context *context, const char *inputs,
                                           const char *result) {
  size_t room = strlen(inputs) + strlen(result) + 40;
  char *whole = malloc(room);
  snprintf(whole, room, "graph f(%s) {\n  return r = %s\n}\n", inputs, result);
  gemel_graph *graph = parse(context, whole);
  free(whole);
  return graph;
}

/* Two texts of graphs are one; frees both. */
static inline void same_texts(char *a, char *b) {
  CT_EQ_STR(a, b);
  gemel_text_free(a);
  gemel_text_free(b);
}

/* Two graphs print alike. */
static inline void same_text(const gemel_graph *a, const gemel_graph *b) {
  same_texts(gemel_print_string(a, "g", NULL), gemel_print_string(b, "g", NULL));
}

/* GRAPH with what is common to all rewriting done and nothing else. */
static inline gemel_graph *rewritten_plainly(const gemel_graph *graph) {
  gemel_rewrite_options options = {.size = sizeof options, .include = "slow"};
  gemel_error problem = {0};
  gemel_graph *plain = gemel_rewrite(graph, &options, &problem);
  CT_EQ_STR(problem.text, "");
  CT_EQ_INT(gemel_graph_check(graph, &problem), GEMEL_OK);
  return plain;
}

/* Two graphs print alike after that. */
static inline void same_plain_text(const gemel_graph *a, const gemel_graph *b) {
  gemel_graph *x = rewritten_plainly(a), *y = rewritten_plainly(b);
  same_text(x, y);
  gemel_graph_unref(x);
  gemel_graph_unref(y);
}

#endif
