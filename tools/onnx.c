/* SPDX-License-Identifier: MIT
 *
 * ONNX models as graphs for the commands: sizes of symbols by --dim, and pairs of models.
 */
#include <stdlib.h>
#include <string.h>
#include "onnx.h"

int gemel__is_model(const char *path) {
  return gemel__ends_in(path, ".onnx");
}

/* ---- Options ---- */

typedef struct symbols {
  size_t count;
  const char **names;
  int64_t *sizes;
  char **texts; /* owned: the names */
} symbols;

static void clear_symbols(symbols *s) {
  for (size_t k = 0; k < s->count; k++) {
    free(s->texts[k]);
  }
  free(s->names);
  free(s->sizes);
  free(s->texts);
}

/* One --dim NAME=SIZE. */
static int add_symbol(symbols *s, const char *text) {
  const char *equals = strchr(text, '=');
  char *end = NULL;
  long long size = equals != NULL ? strtoll(equals + 1, &end, 10) : -1;
  if (equals == NULL || equals == text || end == equals + 1 || *end != '\0' || size < 0) {
    return gemel__complain("--dim: '%s' should be NAME=SIZE, as in N=4", text);
  }
  size_t n = s->count + 1;
  s->names = gemel__need(s->names, n * sizeof *s->names);
  s->sizes = gemel__need(s->sizes, n * sizeof *s->sizes);
  s->texts = gemel__need(s->texts, n * sizeof *s->texts);
  s->texts[s->count] = gemel__need_text("%.*s", (int)(equals - text), text);
  s->names[s->count] = s->texts[s->count];
  s->sizes[s->count++] = size;
  return GEMEL__GOOD;
}

static int read_symbols(const gemel__args *args, symbols *s) {
  int status = GEMEL__GOOD;
  memset(s, 0, sizeof *s);
  for (int k = 0; args != NULL && k < args->n_given && status == GEMEL__GOOD; k++) {
    if (strcmp(args->given[k].option->name, "dim") == 0) {
      status = add_symbol(s, args->given[k].value);
    }
  }
  return status;
}

int gemel__model_sizes_check(const gemel__args *args) {
  symbols s;
  int status = read_symbols(args, &s);
  clear_symbols(&s);
  return status;
}

/* ---- One model ---- */

/* *GRAPH = that of the model in the file PATH, NULL on failure (said). */
static int read_model(gemel_context *context, const char *path, const symbols *s,
                      gemel_graph **graph, char **name, gemel_status *why) {
  gemel_onnx_options options = {
      .size = sizeof options, .n_symbols = s->count, .symbols = s->names, .sizes = s->sizes};
  gemel_error error;
  *graph = NULL;
  *why = GEMEL_IO;
  if (!gemel__readable(path)) {
    return GEMEL__BAD;
  }
  gemel_onnx *model = gemel_onnx_load(path, &error);
  *graph = model != NULL ? gemel_onnx_graph(model, context, &options, name, &error) : NULL;
  gemel_onnx_free(model);
  *why = *graph != NULL ? GEMEL_OK : error.status;
  return *graph != NULL ? GEMEL__GOOD : gemel__complain_unread(NULL, &error);
}

int gemel__model_read(gemel_context *context, const char *path, gemel_graph **graph, char **name,
                      const gemel__args *args) {
  symbols s;
  gemel_status why;
  int status = read_symbols(args, &s);
  *graph = NULL;
  status = status == GEMEL__GOOD ? read_model(context, path, &s, graph, name, &why) : status;
  clear_symbols(&s);
  return status;
}

/* ---- A pair of models ---- */

int gemel__models_read(gemel_context *context, const gemel__args *args, gemel_graph *graphs[2],
                       char **name, gemel_status *why) {
  symbols s;
  int status = read_symbols(args, &s);
  *why = GEMEL_OK;
  graphs[0] = graphs[1] = NULL;
  for (int k = 0; k < 2 && status == GEMEL__GOOD; k++) {
    status = read_model(context, args->operands[k], &s, &graphs[k], k == 0 ? name : NULL, why);
  }
  clear_symbols(&s);
  return status;
}
