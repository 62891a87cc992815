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

/* *GRAPH = that of the model in the file PATH: 1; or 0, *ERROR, and *GRAPH is NULL. */
static int load(gemel_context *context, const char *path, const symbols *s, const gemel_graph *like,
                gemel_graph **graph, char **name, gemel_error *error) {
  gemel_onnx_options options = {.size = sizeof options,
                                .n_symbols = s->count,
                                .symbols = s->names,
                                .sizes = s->sizes,
                                .like = like};
  gemel_onnx *model = gemel_onnx_load(path, error);
  *graph = model != NULL ? gemel_onnx_graph(model, context, &options, name, error) : NULL;
  gemel_onnx_free(model);
  return *graph != NULL;
}

/* The same, and nothing is said; *WHY is the status. */
static int try_model(gemel_context *context, const char *path, const symbols *s,
                     const gemel_graph *like, gemel_graph **graph, gemel_status *why) {
  gemel_error error;
  int good = load(context, path, s, like, graph, NULL, &error);
  *why = good ? GEMEL_OK : error.status;
  return good;
}

static int read_model(gemel_context *context, const char *path, const symbols *s,
                      const gemel_graph *like, gemel_graph **graph, char **name,
                      gemel_status *why) {
  gemel_error error;
  *graph = NULL;
  *why = GEMEL_IO;
  if (!gemel__readable(path)) {
    return GEMEL__BAD;
  }
  int good = load(context, path, s, like, graph, name, &error);
  *why = good ? GEMEL_OK : error.status;
  return good ? GEMEL__GOOD : gemel__complain_unread(NULL, &error);
}

int gemel__model_read(gemel_context *context, const char *path, gemel_graph **graph, char **name,
                      const gemel__args *args) {
  symbols s;
  gemel_status why;
  int status = read_symbols(args, &s);
  *graph = NULL;
  status = status == GEMEL__GOOD ? read_model(context, path, &s, NULL, graph, name, &why) : status;
  clear_symbols(&s);
  return status;
}

/* ---- A pair of models ---- */

/* Number of the input of GRAPH called NAME; -1: there is none. */
static long find_input(const gemel_graph *graph, const char *name) {
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    if (strcmp(gemel_graph_input_name(graph, k), name) == 0) {
      return (long)k;
    }
  }
  return -1;
}

/* The sizes that MODEL, which was read as FIRST, has where SECOND has numbers. */
typedef struct narrowed {
  gemel_context *context;
  const gemel_graph *first, *second;
  gemel_dim symbol; /* of FIRST, which gets another number than SECOND has; none: all as there */
  int is_one;       /* 1: that is 1, which may be broadcast; else it is one more */
  size_t n;         /* symbols that SECOND has numbers for */
  gemel_dim symbols[16];
} narrowed;

/* The dim that axis K of input I of FIRST gets, of which SECOND has OTHER. */
static gemel_dim dim_for(narrowed *w, gemel_dim own, gemel_dim other) {
  int64_t number;
  if (gemel_dim_is_constant(w->context, own, NULL) ||
      !gemel_dim_is_constant(w->context, other, &number)) {
    return own;
  }
  size_t k = 0;
  while (k < w->n && !gemel_dim_equal(w->symbols[k], own)) {
    k++;
  }
  if (k == w->n && w->n < sizeof w->symbols / sizeof *w->symbols) {
    w->symbols[w->n++] = own;
  }
  int64_t wrong = w->is_one && number != 1 ? 1 : number + 1;
  return gemel_dim_equal(w->symbol, own) ? gemel_dim_constant(w->context, wrong) : other;
}

/* A graph with the inputs of FIRST, at these sizes; NULL: out of memory. */
static gemel_graph *with_sizes(narrowed *w) {
  gemel_graph *graph = gemel_graph_new(w->context, NULL);
  for (size_t i = 0; graph != NULL && i < gemel_graph_input_count(w->first); i++) {
    const char *name = gemel_graph_input_name(w->first, i);
    gemel_type type = gemel_value_type(gemel_graph_input(w->first, i));
    gemel_dim dims[GEMEL_MAX_RANK];
    int rank = gemel_type_rank(w->context, type);
    long at = find_input(w->second, name);
    gemel_type other = at >= 0 ? gemel_value_type(gemel_graph_input(w->second, (size_t)at)) : type;
    int fits = gemel_type_rank(w->context, other) == rank;
    for (int k = 0; k < rank; k++) {
      gemel_dim own = gemel_type_dims(w->context, type)[k];
      dims[k] = fits ? dim_for(w, own, gemel_type_dims(w->context, other)[k]) : own;
    }
    gemel_input(graph, name,
                gemel_type_new(w->context, gemel_type_dtype(w->context, type), rank, dims,
                               gemel_type_space(w->context, type)));
  }
  return graph;
}

/* Reads the first model again where the second has numbers for its symbols, if it runs at no
 * others: the optimiser has said what follows from the model. Else GRAPHS stay as they are. */
static void read_narrowed(gemel_context *context, const char *path, const symbols *s,
                          gemel_graph *graphs[2]) {
  narrowed w = {.context = context, .first = graphs[0], .second = graphs[1]};
  gemel_graph *like = with_sizes(&w), *again = NULL;
  gemel_status why;
  int follows = w.n > 0;
  for (size_t k = 0; k < 2 * w.n && follows; k++) {
    narrowed other = w;
    other.symbol = w.symbols[k / 2];
    other.is_one = k % 2;
    gemel_graph *wrong = with_sizes(&other);
    follows = wrong != NULL && !try_model(context, path, s, wrong, &again, &why) &&
              why == GEMEL_BAD_SHAPE;
    gemel_graph_unref(again);
    gemel_graph_unref(wrong);
    again = NULL;
  }
  if (follows && like != NULL && try_model(context, path, s, like, &again, &why)) {
    gemel_graph_unref(graphs[0]);
    graphs[0] = again;
  }
  gemel_graph_unref(like);
}

int gemel__models_read(gemel_context *context, const gemel__args *args, gemel_graph *graphs[2],
                       char **name, gemel_status *why) {
  symbols s;
  int status = read_symbols(args, &s);
  *why = GEMEL_OK;
  graphs[0] = graphs[1] = NULL;
  for (int k = 0; k < 2 && status == GEMEL__GOOD; k++) {
    status = read_model(context, args->operands[k], &s, graphs[0], &graphs[k], k == 0 ? name : NULL,
                        why);
  }
  if (status == GEMEL__GOOD) {
    read_narrowed(context, args->operands[0], &s, graphs);
  }
  clear_symbols(&s);
  return status;
}
