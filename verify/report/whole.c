/* SPDX-License-Identifier: MIT
 *
 * Counterexamples as folders, see whole.h. The records show the smallest graphs that differ; who
 * wants to see the difference in another system needs the whole ones, and numbers in files.
 */
#include "report/whole.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "instances/assumed.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"

gemel_status gemel__whole_take(gemel__whole *whole, const gemel__instance *instance,
                               gemel_tensor *const *values, gemel_error *error) {
  size_t n = instance->n_leaves, k;
  gemel__whole_clear(whole);
  whole->names = gemel__alloc_array(n, sizeof *whole->names);
  whole->tensors = gemel__alloc_array(n, sizeof *whole->tensors);
  if (whole->names == NULL || whole->tensors == NULL) {
    gemel__free(whole->names, n * sizeof *whole->names);
    gemel__free(whole->tensors, n * sizeof *whole->tensors);
    memset(whole, 0, sizeof *whole);
    return gemel__no_memory(error, "a counterexample");
  }
  whole->n = n;
  whole->taken = 1;
  for (k = 0; k < n; k++) {
    whole->names[k] = gemel_graph_input_name(instance->graph, k);
    whole->tensors[k] = gemel_tensor_ref(values[k]);
  }
  return GEMEL_OK;
}

void gemel__whole_clear(gemel__whole *whole) {
  if (whole->tensors != NULL) {
    gemel__tensors_release(whole->n, whole->tensors);
  }
  gemel__free(whole->names, whole->n * sizeof *whole->names);
  gemel__free(whole->tensors, whole->n * sizeof *whole->tensors);
  memset(whole, 0, sizeof *whole);
}

/* ---- Inputs ---- */

static gemel_tensor *find(const gemel__whole *whole, const char *name) {
  size_t k = 0;
  while (k < whole->n && whole->names[k] != name) { /* interned */
    k++;
  }
  return k < whole->n ? whole->tensors[k] : NULL;
}

struct symbols {
  const gemel__whole *whole;
  const gemel_graph *graph;
};

/* The size of a symbol: where it is an axis of an input that there is. */
static int size_of(void *user, const gemel__atom *atom, int64_t *value) {
  const struct symbols *s = user;
  gemel_context *context = gemel_graph_context(s->graph);
  if (atom->kind != GEMEL__ATOM_SYMBOL) {
    return -1;
  }
  *value = 1;
  gemel_dim symbol = gemel_dim_symbol(context, atom->name);
  for (size_t k = 0; k < gemel_graph_input_count(s->graph); k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(s->graph, k));
    const gemel_tensor *tensor = find(s->whole, gemel_graph_input_name(s->graph, k));
    int rank = gemel_type_rank(context, type), j;
    for (j = 0; tensor != NULL && j < rank; j++) {
      if (gemel_type_dims(context, type)[j] == symbol) {
        *value = gemel_tensor_shape(tensor)[j];
        return 0;
      }
    }
  }
  return 0;
}

/* For an input that takes no part: zeros, or what its facts allow. */
static gemel_tensor *zeros(const gemel__whole *whole, const gemel_graph *graph, size_t k,
                           gemel_error *error) {
  struct symbols s = {whole, graph};
  gemel_context *context = gemel_graph_context(graph);
  gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
  int64_t shape[GEMEL_MAX_RANK];
  gemel__leaf leaf = {.dtype = gemel_type_dtype(context, type),
                      .facts = gemel_assumed(gemel_graph_input(graph, k))};
  int rank = gemel_type_rank(context, type), j;
  gemel_tensor *tensor;
  for (j = 0; j < rank; j++) {
    if (gemel__dim_evaluate(context, gemel_type_dims(context, type)[j], size_of, &s, &shape[j],
                            error) != GEMEL_OK) {
      return NULL;
    }
  }
  tensor = gemel_tensor_new(gemel_type_dtype(context, type), rank, shape, error);
  if (tensor != NULL) {
    memset(gemel_tensor_data(tensor), 0,
           (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(gemel_tensor_dtype(tensor)));
    gemel__tensor_settle(&leaf, tensor);
  }
  return tensor;
}

/* ---- Files ---- */

enum { MOST_PATH = 1200 };

static gemel_status make_folder(const char *folder, const char *name, gemel_error *error) {
  char path[MOST_PATH];
  snprintf(path, sizeof path, "%s%s%s", folder, name[0] != '\0' ? "/" : "", name);
  if (mkdir(path, 0777) != 0 && errno != EEXIST) {
    return gemel__fail(error, GEMEL_IO, "%s: %s", path, strerror(errno));
  }
  return GEMEL_OK;
}

static gemel_status save_tensor(const char *folder, const char *part, const char *name,
                                const gemel_tensor *tensor, gemel_error *error) {
  char path[MOST_PATH];
  gemel_view view = gemel_tensor_view(tensor);
  if (snprintf(path, sizeof path, "%s/%s/%s.npy", folder, part, name) >= (int)sizeof path) {
    return gemel__fail(error, GEMEL_IO, "%s: the path is too long", folder);
  }
  return gemel_npy_save(path, &view, error);
}

static gemel_status save_graph(const char *folder, const char *name, const gemel_graph *graph,
                               gemel_error *error) {
  char path[MOST_PATH];
  if (snprintf(path, sizeof path, "%s/%s.gmt", folder, name) >= (int)sizeof path) {
    return gemel__fail(error, GEMEL_IO, "%s: the path is too long", folder);
  }
  return gemel_save(graph, name, path, error);
}

/* GRAPH, at WHOLE, with its inputs in the order of its own, and its results. */
static gemel_status save_side(const gemel__whole *whole, const char *folder, const char *side,
                              const gemel_graph *graph, gemel_error *error) {
  size_t n_in = gemel_graph_input_count(graph), n_out = gemel_graph_output_count(graph), k;
  gemel_tensor **room = gemel__alloc_array(n_in + n_out, sizeof *room);
  gemel_status status =
      room == NULL ? gemel__no_memory(error, "a counterexample") : make_folder(folder, side, error);
  for (k = 0; k < n_in && status == GEMEL_OK; k++) {
    const char *name = gemel_graph_input_name(graph, k);
    gemel_tensor *known = find(whole, name);
    room[k] = known != NULL ? gemel_tensor_ref(known) : zeros(whole, graph, k, error);
    status =
        room[k] == NULL ? GEMEL_BAD_SHAPE : save_tensor(folder, "inputs", name, room[k], error);
  }
  if (status == GEMEL_OK) {
    status = save_graph(folder, side, graph, error);
  }
  if (status == GEMEL_OK) {
    status = gemel_evaluate(graph, n_in, room, n_out, room + n_in, error);
  }
  for (k = 0; k < n_out && status == GEMEL_OK; k++) {
    status = save_tensor(folder, side, gemel_graph_output_name(graph, k), room[n_in + k], error);
  }
  if (room != NULL) {
    gemel__tensors_release(n_in + n_out, room);
  }
  gemel__free(room, (n_in + n_out) * sizeof *room);
  return status;
}

gemel_status gemel__whole_write(const gemel__whole *whole, const char *folder, const gemel_graph *a,
                                const gemel_graph *b, gemel_error *error) {
  gemel_status status = make_folder(folder, "", error);
  if (status == GEMEL_OK) {
    status = make_folder(folder, "inputs", error);
  }
  if (status == GEMEL_OK) {
    status = save_side(whole, folder, "first", a, error);
  }
  return status == GEMEL_OK ? save_side(whole, folder, "second", b, error) : status;
}
