/* SPDX-License-Identifier: MIT
 *
 * ONNX models as graphs for the commands: sizes of symbols by --dim, and for a pair of models the
 * weights that both have. Those become inputs of one name in both, so that the two graphs are
 * compared for any weights there, and nobody has to look at the numbers; a weight that only one
 * file has stays a constant, as do single numbers, integers, and tensors of one number repeated.
 */
#include <stdlib.h>
#include <string.h>
#include "models.h"

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

/* ---- One model ---- */

static gemel_onnx *open_model(const char *path) {
  gemel_error error;
  if (!gemel__readable(path)) {
    return NULL;
  }
  gemel_onnx *model = gemel_onnx_load(path, &error);
  if (model == NULL) {
    gemel__complain_error(NULL, &error);
  }
  return model;
}

/* The graph of MODEL, with weights as inputs called INPUTS (NULL: none). */
static gemel_graph *make_graph(gemel_context *context, const gemel_onnx *model, const symbols *s,
                               const char *const *inputs, char **name) {
  gemel_onnx_options options = {.size = sizeof options,
                                .n_symbols = s->count,
                                .symbols = s->names,
                                .sizes = s->sizes,
                                .inputs = inputs};
  gemel_error error;
  gemel_graph *graph = gemel_onnx_graph(model, context, &options, name, &error);
  if (graph == NULL) {
    gemel__complain_error(NULL, &error);
  }
  return graph;
}

gemel_graph *gemel__model_read(gemel_context *context, const char *path, char **name,
                               const gemel__args *args) {
  gemel_graph *graph = NULL;
  symbols s;
  gemel_onnx *model = read_symbols(args, &s) == GEMEL__GOOD ? open_model(path) : NULL;
  if (model != NULL) {
    graph = make_graph(context, model, &s, NULL, name);
  }
  gemel_onnx_free(model);
  clear_symbols(&s);
  return graph;
}

/* ---- A pair of models ---- */

/* A weight of the first model that may become an input. */
typedef struct shared_weight {
  uint64_t hash;
  size_t k;
  gemel_tensor *tensor;
} shared_weight;

/* 1 if T is floats, and not all the same number. */
static int has_content(const gemel_tensor *t) {
  size_t width = gemel_dtype_size(gemel_tensor_dtype(t));
  const char *first = gemel_tensor_data(t);
  for (int64_t k = 1; k < gemel_tensor_elements(t); k++) {
    if (memcmp(first, first + (size_t)k * width, width) != 0) {
      return gemel_dtype_kind(gemel_tensor_dtype(t)) == GEMEL_KIND_FLOAT;
    }
  }
  return 0;
}

static size_t bytes_of(const gemel_tensor *t) {
  return (size_t)gemel_tensor_elements(t) * gemel_dtype_size(gemel_tensor_dtype(t));
}

/* FNV-1a over words of 8 bytes: equal weights are looked for by it, and then compared. */
static uint64_t hash_of(const gemel_tensor *t) {
  const unsigned char *data = gemel_tensor_data(t);
  uint64_t hash = 0xcbf29ce484222325u, word;
  size_t bytes = bytes_of(t), k = 0;
  for (; k + sizeof word <= bytes; k += sizeof word) {
    memcpy(&word, data + k, sizeof word);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  for (; k < bytes; k++) {
    hash = (hash ^ data[k]) * 0x100000001b3u;
  }
  return hash;
}

static int same_tensor(const gemel_tensor *a, const gemel_tensor *b) {
  return gemel_tensor_dtype(a) == gemel_tensor_dtype(b) &&
         gemel_tensor_rank(a) == gemel_tensor_rank(b) &&
         memcmp(gemel_tensor_shape(a), gemel_tensor_shape(b),
                (size_t)gemel_tensor_rank(a) * sizeof(int64_t)) == 0 &&
         memcmp(gemel_tensor_data(a), gemel_tensor_data(b), bytes_of(a)) == 0;
}

static int by_hash(const void *a, const void *b) {
  const shared_weight *x = a, *y = b;
  return x->hash < y->hash ? -1 : x->hash > y->hash ? 1 : x->k < y->k ? -1 : x->k > y->k;
}

/* The weights of MODEL that have content, sorted by hash; *COUNT of them. NULL (said) on failure.
 */
static shared_weight *list_weights(const gemel_onnx *model, size_t *count) {
  size_t n = gemel_onnx_weight_count(model);
  shared_weight *list = gemel__need(NULL, n * sizeof *list);
  gemel_error error;
  *count = 0;
  for (size_t k = 0; k < n; k++) {
    gemel_tensor *tensor = gemel_onnx_weight(model, k, &error);
    if (tensor != NULL && has_content(tensor)) {
      list[(*count)++] = (shared_weight){hash_of(tensor), k, tensor};
    } else {
      gemel_tensor_unref(tensor); /* one that can't be read is an error where a node needs it */
    }
  }
  qsort(list, *count, sizeof *list, by_hash);
  return list;
}

static void free_weights(shared_weight *list, size_t count) {
  for (size_t k = 0; k < count; k++) {
    gemel_tensor_unref(list[k].tensor);
  }
  free(list);
}

/* Names, in both models, the inputs that equal weights become: that of the first model's first. How
 * many weights of the second have one. */
static size_t name_shared(const gemel_onnx *const models[2], const char **inputs[2]) {
  size_t counts[2], shared = 0;
  shared_weight *a = list_weights(models[0], &counts[0]), *b = list_weights(models[1], &counts[1]);
  for (size_t j = 0, from = 0; j < counts[1]; j++) {
    while (from < counts[0] && a[from].hash < b[j].hash) {
      from++;
    }
    const char *name = NULL;
    for (size_t i = from; i < counts[0] && a[i].hash == b[j].hash; i++) {
      if (same_tensor(a[i].tensor, b[j].tensor)) {
        name = name != NULL ? name : gemel_onnx_weight_name(models[0], a[i].k);
        inputs[0][a[i].k] = name;
      }
    }
    inputs[1][b[j].k] = name;
    shared += name != NULL;
  }
  free_weights(a, counts[0]);
  free_weights(b, counts[1]);
  return shared;
}

static const char **no_names(const gemel_onnx *model) {
  size_t bytes = (gemel_onnx_weight_count(model) + 1) * sizeof(char *);
  const char **names = gemel__need(NULL, bytes);
  memset(names, 0, bytes);
  return names;
}

/* Of each node of GRAPH, 1 if a node reads it; to be freed. */
static unsigned char *read_nodes(const gemel_graph *graph) {
  size_t n = gemel_graph_node_count(graph);
  unsigned char *read = gemel__need(NULL, n + 1);
  memset(read, 0, n + 1);
  for (size_t k = 0; k < n; k++) {
    gemel_value value = {(gemel_graph *)(uintptr_t)graph, (uint32_t)k, 0};
    for (size_t i = 0; i < gemel_value_input_count(value); i++) {
      read[gemel_value_input(value, i).node] = 1;
    }
  }
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    read[gemel_graph_output(graph, k).node] = 1;
  }
  return read;
}

static int has_input(const gemel_graph *graph, const char *name) {
  size_t k = 0;
  while (k < gemel_graph_input_count(graph) &&
         strcmp(gemel_graph_input_name(graph, k), name) != 0) {
    k++;
  }
  return k < gemel_graph_input_count(graph);
}

/* Gives INTO the inputs that FROM lists and nothing there reads: an optimiser may have dropped
 * them, or folded a constant that is listed among the inputs. */
static void add_unread(const gemel_graph *from, gemel_graph *into) {
  unsigned char *read = read_nodes(from);
  for (size_t k = 0; k < gemel_graph_input_count(from); k++) {
    gemel_value input = gemel_graph_input(from, k);
    const char *name = gemel_graph_input_name(from, k);
    if (!read[input.node] && !has_input(into, name)) {
      gemel_input(into, name, gemel_value_type(input));
    }
  }
  free(read);
}

static size_t read_pair(gemel_context *context, const gemel_onnx *const models[2], const symbols *s,
                        int share, gemel_graph *graphs[2], char **name) {
  const char **inputs[2] = {no_names(models[0]), no_names(models[1])};
  size_t shared = share ? name_shared(models, inputs) : 0;
  graphs[0] = make_graph(context, models[0], s, inputs[0], name);
  graphs[1] = graphs[0] != NULL ? make_graph(context, models[1], s, inputs[1], NULL) : NULL;
  if (graphs[1] != NULL) {
    add_unread(graphs[0], graphs[1]);
    add_unread(graphs[1], graphs[0]);
  }
  free(inputs[0]);
  free(inputs[1]);
  return shared;
}

int gemel__models_read(gemel_context *context, const gemel__args *args, int share,
                       gemel_graph *graphs[2], char **name, size_t *shared) {
  gemel_onnx *models[2] = {NULL, NULL};
  symbols s;
  graphs[0] = graphs[1] = NULL;
  if (read_symbols(args, &s) == GEMEL__GOOD &&
      (models[0] = open_model(args->operands[0])) != NULL &&
      (models[1] = open_model(args->operands[1])) != NULL) {
    const gemel_onnx *const both[2] = {models[0], models[1]};
    *shared = read_pair(context, both, &s, share, graphs, name);
  }
  gemel_onnx_free(models[0]);
  gemel_onnx_free(models[1]);
  clear_symbols(&s);
  return graphs[1] != NULL ? GEMEL__GOOD : GEMEL__BAD;
}
