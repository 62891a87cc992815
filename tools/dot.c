/* SPDX-License-Identifier: MIT
 *
 * gemel show --format dot: a graph for Graphviz. A box for each node that an output needs, an arrow
 * for each input, labelled with the type that flows, and with its position where there are several.
 */
#include <stdlib.h>
#include <string.h>
#include "tool.h"

/* TEXT inside double quotes. */
static void put_quoted(FILE *file, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') {
      fputc('\\', file);
    }
    fputc(*text, file);
  }
}

/* Marks what outputs need: ids are a topological order, so one sweep down is enough. */
static unsigned char *mark_live(const gemel_graph *graph) {
  size_t n = gemel_graph_node_count(graph), k, j;
  unsigned char *live = gemel__need(NULL, n);
  gemel_value v = {(gemel_graph *)graph, 0, 0};
  memset(live, 0, n);
  for (k = 0; k < gemel_graph_output_count(graph); k++) {
    live[gemel_graph_output(graph, k).node] = 1;
  }
  for (k = 0; k < gemel_graph_input_count(graph); k++) {
    live[gemel_graph_input(graph, k).node] = 1;
  }
  for (k = n; k-- > 0;) {
    v.node = (uint32_t)k;
    for (j = 0; live[k] && j < gemel_value_input_count(v); j++) {
      live[gemel_value_input(v, j).node] = 1;
    }
  }
  return live;
}

static void put_node(FILE *file, gemel_value v) {
  char attributes[256];
  const char *op = gemel_value_operation(v);
  gemel__print_attributes(v, attributes, sizeof attributes);
  fprintf(file, "  n%u [label=\"%s", (unsigned)v.node, op);
  put_quoted(file, attributes);
  fprintf(file, "\"%s];\n",
          strcmp(op, "input") == 0      ? ", shape=ellipse, style=filled"
          : strcmp(op, "constant") == 0 ? ", shape=plaintext"
                                        : "");
}

static void put_edges(FILE *file, gemel_value v) {
  size_t n = gemel_value_input_count(v), k;
  char type[256];
  for (k = 0; k < n; k++) {
    gemel_value input = gemel_value_input(v, k);
    gemel_type_format(gemel_graph_context(v.graph), gemel_value_type(input), type, sizeof type);
    fprintf(file, "  n%u -> n%u [label=\"", (unsigned)input.node, (unsigned)v.node);
    if (n > 1) {
      fprintf(file, "%zu: ", k);
    }
    put_quoted(file, type);
    fputs("\"];\n", file);
  }
}

static void put_outputs(FILE *file, const gemel_graph *graph) {
  char type[256];
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    gemel_value v = gemel_graph_output(graph, k);
    gemel_type_format(gemel_graph_context(graph), gemel_value_type(v), type, sizeof type);
    fprintf(file, "  o%zu [label=\"", k);
    put_quoted(file, gemel_graph_output_name(graph, k));
    fprintf(file, "\", shape=ellipse, style=bold];\n  n%u -> o%zu [label=\"", (unsigned)v.node, k);
    put_quoted(file, type);
    fputs("\"];\n", file);
  }
}

void gemel__show_dot(FILE *file, const gemel_graph *graph, const char *name) {
  size_t n = gemel_graph_node_count(graph), k;
  unsigned char *live = mark_live(graph);
  gemel_value v = {(gemel_graph *)graph, 0, 0};
  fputs("digraph \"", file);
  put_quoted(file, name);
  fputs("\" {\n  node [shape=box];\n", file);
  for (k = 0; k < n; k++) {
    v.node = (uint32_t)k;
    if (live[k]) {
      put_node(file, v);
      put_edges(file, v);
    }
  }
  put_outputs(file, graph);
  fputs("}\n", file);
  free(live);
}
