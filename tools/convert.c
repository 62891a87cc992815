/* SPDX-License-Identifier: MIT
 *
 * gemel convert: graph text to binary and back, NPY, NPZ and safetensors to each other. What IN is
 * decides its first bytes (graphs) or its extension (tensors); what OUT shall be decides its
 * extension.
 */
#include <stdlib.h>
#include <string.h>
#include "tool.h"

static const gemel__option options[] = {GEMEL__MODEL_OPTIONS, {NULL, 0, NULL, NULL}};

/* A set of named tensors. */
typedef struct tensors {
  char **names;
  gemel_tensor **values;
  size_t count;
} tensors;

static int is_tensor_file(const char *path) {
  return gemel__ends_in(path, ".npy") || gemel__is_tensors_file(path);
}

/* ---- Tensors ---- */

/* "a/b.npy" -> "b" */
static char *stem(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  return gemel__need_text("%.*s", (int)(strlen(base) - strlen(".npy")), base);
}

static int write_tensors(const tensors *t, const char *in, const char *out) {
  gemel_error error;
  gemel_status status;
  if (gemel__is_tensors_file(out)) {
    status = gemel__tensors_save(t->count, (const char *const *)t->names, t->values, out, &error);
  } else if (t->count == 1) {
    gemel_view view = gemel_tensor_view(t->values[0]);
    status = gemel_npy_save(&view, out, &error);
  } else {
    return gemel__complain("%s: holds %zu tensors, %s can hold only one", in, t->count, out);
  }
  return status == GEMEL_OK ? GEMEL__GOOD : gemel__complain_error(out, &error);
}

static int convert_named(const char *in, const char *out) {
  gemel_error error;
  tensors t;
  if (gemel__tensors_load(in, &t.count, &t.names, &t.values, &error) != GEMEL_OK) {
    return gemel__complain_unread(in, &error);
  }
  int status = write_tensors(&t, in, out);
  gemel_npz_free(t.count, t.names, t.values);
  return status;
}

static int convert_npy(const char *in, const char *out) {
  gemel_error error;
  gemel_tensor *tensor = gemel_npy_load(in, &error);
  if (tensor == NULL) {
    return gemel__complain_unread(in, &error);
  }
  char *name = stem(in);
  tensors t = {&name, &tensor, 1};
  int status = write_tensors(&t, in, out);
  free(name);
  gemel_tensor_unref(tensor);
  return status;
}

static int convert_tensors(const char *in, const char *out) {
  if (!gemel__readable(in)) {
    return GEMEL__BAD;
  }
  return gemel__is_tensors_file(in) ? convert_named(in, out) : convert_npy(in, out);
}

/* ---- Graphs ---- */

static int convert_graph(const char *in, const char *out, const gemel__args *args) {
  gemel_context *context = gemel__context_for(args);
  gemel_graph *graph = NULL;
  char *name = NULL;
  int status = GEMEL__BAD;
  if (context != NULL) {
    status = gemel__graph_read(context, in, &graph, &name, args);
  }
  if (graph != NULL) {
    status = gemel__graph_write(graph, name, out);
  }
  gemel_text_free(name);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status;
}

static int run(const gemel__args *args) {
  const char *in = args->operands[0], *out = args->operands[1];
  if (!is_tensor_file(out) && !gemel__ends_in(out, ".gmt") && !gemel__ends_in(out, ".gemel")) {
    return gemel__complain("%s: what to convert to is said by the extension: .gmt (graph text), "
                           ".gemel (binary graph), .npy, .npz or .safetensors",
                           out);
  }
  if (is_tensor_file(in) != is_tensor_file(out)) {
    return gemel__complain("%s to %s: a graph can't become a tensor, nor a tensor a graph", in,
                           out);
  }
  return is_tensor_file(in) ? convert_tensors(in, out) : convert_graph(in, out, args);
}

const gemel__command gemel__command_convert = {
    "convert",
    "IN OUT",
    "Convert graphs between text (.gmt) and binary (.gemel), or from ONNX; tensors between .npy, "
    ".npz and .safetensors.",
    "A graph IN may be either, whatever it is called, or a model in ONNX (.onnx). An NPY file "
    "becomes the entry of its own name in an NPZ or safetensors file, and such a file with a "
    "single "
    "entry an NPY file.",
    options,
    2,
    2,
    run};
