/* SPDX-License-Identifier: MIT
 *
 * gemel grad: a graph file with its gradient appended, as a graph file.
 */
#include <stdlib.h>
#include <string.h>
#include "tool.h"

static const gemel__option options[] = {
    GEMEL__MODEL_OPTIONS,
    {"wrt", 'w', "X[,Y]...", "the inputs to differentiate by (default: all of a float dtype)"},
    {"output", 'y', "NAME",
     "the output to differentiate, a scalar (may be left out if there is only one)"},
    {"out", 'o', gemel__written_file,
     "write to F, binary if it ends in .gemel (default: text to stdout)"},
    {NULL, 0, NULL, NULL}};

/* The output called NAME, the only one if NAME is NULL; null (said) otherwise. */
static gemel_value find_output(const gemel_graph *graph, const char *path, const char *name) {
  gemel_value none = {NULL, 0, 0};
  size_t n = gemel_graph_output_count(graph), k;
  if (name == NULL) {
    if (n == 1) {
      return gemel_graph_output(graph, 0);
    }
    gemel__complain("%s: the graph has %zu outputs: choose one with --output", path, n);
    return none;
  }
  for (k = 0; k < n; k++) {
    if (strcmp(gemel_graph_output_name(graph, k), name) == 0) {
      return gemel_graph_output(graph, k);
    }
  }
  gemel__complain("%s: the graph has no output called '%s'", path, name);
  return none;
}

/* A gradient is one of a number. */
static int check_scalar(gemel_value output, const char *path) {
  gemel_context *context = gemel_graph_context(output.graph);
  gemel_type type = gemel_value_type(output);
  char text[512];
  if (gemel_type_rank(context, type) == 0 &&
      gemel_dtype_kind(gemel_type_dtype(context, type)) == GEMEL_KIND_FLOAT) {
    return GEMEL__GOOD;
  }
  gemel_type_format(context, type, text, sizeof text);
  return gemel__complain(
      "%s: the output to differentiate is %s, not a scalar of a float dtype: sum "
      "it in the graph",
      path, text);
}

/* The inputs to differentiate by. */
typedef struct chosen {
  gemel_value *values, *gradients;
  size_t *inputs; /* their numbers */
  size_t count;
} chosen;

static int choose(chosen *c, const gemel_graph *graph, const char *path, const char *name,
                  size_t length) {
  size_t k, j;
  for (k = 0; k < gemel_graph_input_count(graph); k++) {
    const char *input = gemel_graph_input_name(graph, k);
    if (strlen(input) != length || memcmp(input, name, length) != 0) {
      continue;
    }
    for (j = 0; j < c->count; j++) {
      if (c->inputs[j] == k) {
        return gemel__complain("--wrt: input %s is named twice", input);
      }
    }
    c->inputs[c->count] = k;
    c->values[c->count++] = gemel_graph_input(graph, k);
    return GEMEL__GOOD;
  }
  return gemel__complain("%s: the graph has no input called '%.*s'", path, (int)length, name);
}

static int choose_named(chosen *c, const gemel_graph *graph, const char *path, const char *names) {
  int status;
  do {
    size_t length = strcspn(names, ",");
    status = choose(c, graph, path, names, length);
    names += length;
  } while (status == GEMEL__GOOD && *names++ == ',');
  return status;
}

static int choose_floats(chosen *c, const gemel_graph *graph, const char *path) {
  gemel_context *context = gemel_graph_context(graph);
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    gemel_value input = gemel_graph_input(graph, k);
    gemel_dtype dtype = gemel_type_dtype(context, gemel_value_type(input));
    if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
      c->inputs[c->count] = k;
      c->values[c->count++] = input;
    }
  }
  return c->count > 0 ? GEMEL__GOOD
                      : gemel__complain("%s: the graph has no input of a float dtype", path);
}

static int append_gradients(chosen *c, gemel_graph *graph, gemel_value output, const char *path) {
  gemel_error error;
  if (gemel_grad(1, &output, NULL, c->count, c->values, c->gradients, &error) != GEMEL_OK) {
    return gemel__complain_error(path, &error);
  }
  for (size_t k = 0; k < c->count; k++) {
    char *name = gemel__need_text("d_%s", gemel_graph_input_name(graph, c->inputs[k]));
    gemel_status status = gemel_output(c->gradients[k], name);
    free(name);
    if (status != GEMEL_OK) {
      return gemel__complain_error(path, gemel_graph_error(graph));
    }
  }
  return GEMEL__GOOD;
}

static int differentiate(gemel_graph *graph, const gemel__args *args) {
  const char *path = args->operands[0], *names = gemel__arg(args, "wrt");
  gemel_value output = find_output(graph, path, gemel__arg(args, "output"));
  size_t n = gemel_graph_input_count(graph) + 1;
  chosen c = {NULL, NULL, NULL, 0};
  if (gemel_is_null(output) || check_scalar(output, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  c.values = gemel__need(NULL, n * sizeof *c.values);
  c.gradients = gemel__need(NULL, n * sizeof *c.gradients);
  c.inputs = gemel__need(NULL, n * sizeof *c.inputs);
  int status =
      names != NULL ? choose_named(&c, graph, path, names) : choose_floats(&c, graph, path);
  if (status == GEMEL__GOOD) {
    status = append_gradients(&c, graph, output, path);
  }
  free(c.values);
  free(c.gradients);
  free(c.inputs);
  return status;
}

static int run(const gemel__args *args) {
  const char *out = gemel__arg(args, "out");
  gemel_context *context = gemel__context_for(args);
  gemel_graph *graph = NULL;
  char *name = NULL;
  int status = GEMEL__BAD;
  if (context != NULL) {
    status = gemel__graph_read(context, args->operands[0], &graph, &name, args);
  }
  if (graph != NULL) {
    status = differentiate(graph, args);
  }
  if (status == GEMEL__GOOD) {
    status = gemel__graph_write(graph, name, out != NULL ? out : "-");
  }
  gemel_text_free(name);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status;
}

const gemel__command gemel__command_grad = {
    "grad",
    "FILE",
    "Append the gradient of an output by inputs to a graph.",
    "The result has the outputs of FILE and then, for each input X, the gradient d_X of X's type; "
    "zeros where nothing depends on X.",
    options,
    1,
    1,
    run};
