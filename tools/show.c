/* SPDX-License-Identifier: MIT
 *
 * gemel show: a graph file as text, as a list of nodes, or as a picture for Graphviz.
 */
#include <string.h>
#include "tool.h"

static const gemel__option options[] = {
    GEMEL__MODEL_OPTIONS,
    {"format", 'f', "FORMAT",
     "text: graph text (the default); debug: every node with its number, type and the line that "
     "made it; dot: for Graphviz"},
    {"out", 'o', gemel__written_file, "write to F (default: stdout)"},
    {NULL, 0, NULL, NULL}};

static const struct {
  const char *name;
  void (*print)(FILE *file, const gemel_graph *graph, const char *name); /* NULL: gemel_print */
} formats[] = {{"text", NULL}, {"debug", gemel__show_debug}, {"dot", gemel__show_dot}};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

static int show(const gemel_graph *graph, const char *name, size_t format, const char *out) {
  gemel__output output;
  gemel_error error;
  gemel_status status = GEMEL_OK;
  if (gemel__output_open(&output, out) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  if (formats[format].print != NULL) {
    formats[format].print(output.file, graph, name);
  } else {
    status = gemel_print(graph, name, gemel__output_write, &output, &error);
  }
  if (status != GEMEL_OK && status != GEMEL_IO) {
    gemel__output_close(&output, 0);
    return gemel__complain_error(out, &error);
  }
  return gemel__output_close(&output, 1);
}

static int run(const gemel__args *args) {
  const char *format = gemel__arg(args, "format"), *out = gemel__arg(args, "out");
  gemel_graph *graph = NULL;
  char *name = NULL;
  size_t k = 0;
  int status = GEMEL__BAD;
  while (format != NULL && k < FORMAT_COUNT && strcmp(formats[k].name, format) != 0) {
    k++;
  }
  if (k == FORMAT_COUNT) {
    return gemel__complain("--format: there is no format '%s'; see gemel show --help", format);
  }
  gemel_context *context = gemel__context_for(args);
  if (context != NULL) {
    status = gemel__graph_read(context, args->operands[0], &graph, &name, args);
  }
  if (graph != NULL) {
    status = show(graph, name, k, out != NULL ? out : "-");
  }
  gemel_text_free(name);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status;
}

const gemel__command gemel__command_show = {
    "show", "FILE", "Print a graph file, text or binary.", NULL, options, 1, 1, run};
