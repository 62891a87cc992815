/* SPDX-License-Identifier: MIT
 *
 * gemel show --format debug: every node of a graph in the order of ids, dead ones too, with inputs,
 * attributes, types and the place in the file that made it.
 */
#include "tool.h"

static void print_inputs(FILE *file, gemel_value v) {
  size_t n = gemel_value_input_count(v), k;
  for (k = 0; k < n; k++) {
    gemel_value input = gemel_value_input(v, k);
    fprintf(file, "%s%%%u", k > 0 ? ", " : "", (unsigned)input.node);
    if (input.output > 0) {
      fprintf(file, ":%u", (unsigned)input.output);
    }
  }
}

static void print_types(FILE *file, gemel_value v) {
  char type[512];
  gemel_value output;
  for (uint32_t k = 0; !gemel_is_null(output = gemel_value_output(v, k)); k++) {
    gemel_type_format(gemel_graph_context(v.graph), gemel_value_type(output), type, sizeof type);
    fprintf(file, "%s%s", k > 0 ? ", " : "", type);
  }
}

static void print_node(FILE *file, gemel_value v) {
  char attributes[512];
  gemel_location where = gemel_value_where(v);
  int inputs = gemel_value_input_count(v) > 0;
  gemel__print_attributes(v, attributes, sizeof attributes);
  fprintf(file, "  %%%u = %s(", (unsigned)v.node, gemel_value_operation(v));
  print_inputs(file, v);
  fprintf(file, "%s): ", inputs || attributes[0] == '\0' ? attributes : attributes + 2);
  print_types(file, v);
  if (where.file != NULL && where.file[0] != '\0') {
    fprintf(file, "  # %s:%d", where.file, where.line);
  }
  fputc('\n', file);
}

void gemel__show_debug(FILE *file, const gemel_graph *graph, const char *name) {
  gemel_value v = {(gemel_graph *)graph, 0, 0};
  size_t n = gemel_graph_node_count(graph), k;
  fprintf(file, "graph %s: %zu nodes, %zu bytes\n", name, n, gemel_graph_bytes(graph));
  for (k = 0; k < n; k++) {
    v.node = (uint32_t)k;
    print_node(file, v);
  }
  for (k = 0; k < gemel_graph_output_count(graph); k++) {
    gemel_value output = gemel_graph_output(graph, k);
    fprintf(file, "  output %s = %%%u", gemel_graph_output_name(graph, k), (unsigned)output.node);
    fprintf(file, output.output > 0 ? ":%u\n" : "\n", (unsigned)output.output);
  }
}
