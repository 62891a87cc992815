/* SPDX-License-Identifier: MIT
 *
 * The states of a graph as shared variables, and in one file: <gemel/train.h>.
 */
#include <gemel/train.h>

#include <stdlib.h>
#include <string.h>
#include <gemel/tensor.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "run/execution.h"

static size_t state_count(const gemel_graph *graph) {
  size_t n = 0;
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    n += gemel_is_state(gemel_graph_input(graph, k)) != 0;
  }
  return n;
}

/* The names of GRAPH's N states, to be freed with names_bytes. */
static const char **state_names(const gemel_graph *graph, size_t n, gemel_error *error) {
  const char **names = gemel__alloc_array(n + 1, sizeof *names);
  size_t i = 0;
  if (names == NULL) {
    gemel__no_memory(error, "names of states");
    return NULL;
  }
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    if (gemel_is_state(gemel_graph_input(graph, k))) {
      names[i++] = gemel_graph_input_name(graph, k);
    }
  }
  return names;
}

static gemel_status check(const gemel_graph *graph, size_t n, gemel_shared *const *states,
                          const char *path, gemel_error *error) {
  if (graph == NULL || path == NULL || (n > 0 && states == NULL)) {
    return gemel__null(error, graph == NULL  ? "the graph"
                              : path == NULL ? "the path"
                                             : "the states");
  }
  size_t wanted = state_count(graph);
  return n == wanted ? GEMEL_OK : gemel__wrong_count(error, "the graph", "state", n, wanted);
}

void gemel_states_free(size_t n, gemel_shared **states) {
  for (size_t k = 0; states != NULL && k < n; k++) {
    gemel_shared_unref(states[k]);
  }
  gemel__free(states, states != NULL ? (n + 1) * sizeof(gemel_shared *) : 0);
}

/* A variable of zeros for STATE, called NAME. */
static gemel_shared *zeros(gemel_value state, const char *name, gemel_error *error) {
  gemel_context *context = gemel_graph_context(state.graph);
  gemel_type type = gemel_value_type(state);
  int rank = gemel_type_rank(context, type);
  const gemel_dim *dims = gemel_type_dims(context, type);
  int64_t shape[GEMEL_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    if (!gemel_dim_is_constant(context, dims[k], &shape[k])) {
      gemel__fail(error, GEMEL_BAD_SHAPE, "state %s has a size that is a symbol", name);
      return NULL;
    }
  }
  gemel_tensor *tensor = gemel_tensor_new(gemel_type_dtype(context, type), rank, shape, error);
  gemel_shared *shared = tensor != NULL ? gemel_shared_new(tensor, error) : NULL;
  gemel_tensor_unref(tensor);
  return shared;
}

gemel_status gemel_states_new(const gemel_graph *graph, size_t *n, gemel_shared ***states,
                              gemel_error *error) {
  gemel_error mine = {0};
  if (graph == NULL || n == NULL || states == NULL) {
    return gemel__null(error, graph == NULL ? "the graph" : "what is to receive the states");
  }
  size_t count = state_count(graph), i = 0;
  gemel_shared **made = gemel__alloc_array(count + 1, sizeof *made);
  if (made == NULL) {
    return gemel__no_memory(error, "states");
  }
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    gemel_value state = gemel_graph_input(graph, k);
    if (gemel_is_state(state) &&
        (made[i++] = zeros(state, gemel_graph_input_name(graph, k), &mine)) == NULL) {
      gemel_states_free(count, made);
      return gemel__fail(error, mine.status, "%s", mine.text);
    }
  }
  *n = count;
  *states = made;
  return GEMEL_OK;
}

gemel_shared *gemel_states_find(const gemel_graph *graph, size_t n, gemel_shared *const *states,
                                const char *name) {
  size_t i = 0;
  for (size_t k = 0; name != NULL && states != NULL && k < gemel_graph_input_count(graph); k++) {
    if (gemel_is_state(gemel_graph_input(graph, k))) {
      if (i < n && strcmp(gemel_graph_input_name(graph, k), name) == 0) {
        return states[i];
      }
      i++;
    }
  }
  return NULL;
}

gemel_status gemel_states_save(const gemel_graph *graph, size_t n, gemel_shared *const *states,
                               const char *path, gemel_error *error) {
  GEMEL__TRY(check(graph, n, states, path, error));
  const char **names = state_names(graph, n, error);
  gemel_tensor **values = gemel__alloc_array(n + 1, sizeof *values);
  gemel_status status = GEMEL_NO_MEMORY;
  if (names != NULL && values != NULL) {
    for (size_t k = 0; k < n; k++) {
      values[k] = gemel_shared_get(states[k]);
    }
    status = gemel_safetensors_save(n, names, values, path, error);
    for (size_t k = 0; k < n; k++) {
      gemel_tensor_unref(values[k]);
    }
  } else {
    gemel__no_memory(error, "states");
  }
  gemel__free(names, names != NULL ? (n + 1) * sizeof *names : 0);
  gemel__free(values, values != NULL ? (n + 1) * sizeof *values : 0);
  return status;
}

/* ---- Loading ---- */

/* A file's tensors, and which of them each state becomes. */
typedef struct states_file {
  size_t n;
  char **names;
  gemel_tensor **tensors;
} states_file;

static gemel_status fits(const gemel_tensor *there, const gemel_shared *state, const char *name,
                         gemel_error *error) {
  gemel_tensor *now = gemel_shared_get(state);
  gemel_view a = gemel_tensor_view(there), b = gemel_tensor_view(now);
  gemel_status status = GEMEL_OK;
  if (a.dtype != b.dtype) {
    status = gemel__fail(error, GEMEL_BAD_TYPE, "state %s is %s, and %s in the file", name,
                         gemel_dtype_name(b.dtype), gemel_dtype_name(a.dtype));
  } else if (a.rank != b.rank ||
             (a.rank > 0 && memcmp(a.shape, b.shape, (size_t)a.rank * sizeof *a.shape) != 0)) {
    status = gemel__fail(error, GEMEL_BAD_SHAPE, "state %s has another shape in the file", name);
  }
  gemel_tensor_unref(now);
  return status;
}

static int by_name(const void *a, const void *b) {
  return strcmp(**(char *const *const *)a, **(char *const *const *)b);
}

/* FOUND[k] = the file's tensor for NAMES[k]. */
static gemel_status find_all(const states_file *f, size_t n, gemel_shared *const *states,
                             const char *const *names, gemel_tensor **found, gemel_error *error) {
  char ***sorted = gemel__alloc_array(f->n + 1, sizeof *sorted);
  gemel_status status = sorted != NULL ? GEMEL_OK : gemel__no_memory(error, "states");
  for (size_t k = 0; status == GEMEL_OK && k < f->n; k++) {
    sorted[k] = &f->names[k];
  }
  if (status == GEMEL_OK && f->n > 0) {
    qsort(sorted, f->n, sizeof *sorted, by_name);
  }
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    char *name = (char *)(uintptr_t)names[k], **key = &name;
    char ***at = f->n > 0 ? bsearch(&key, sorted, f->n, sizeof *sorted, by_name) : NULL;
    if (at == NULL) {
      status = gemel__fail(error, GEMEL_NOT_FOUND, "state %s isn't in the file", names[k]);
    } else {
      found[k] = f->tensors[*at - f->names];
      status = fits(found[k], states[k], names[k], error);
    }
  }
  gemel__free(sorted, sorted != NULL ? (f->n + 1) * sizeof *sorted : 0);
  return status;
}

/* Sets all, once there is memory for all. */
static gemel_status set_all(size_t n, gemel_shared *const *states, gemel_tensor *const *found,
                            gemel_error *error) {
  gemel_status status = GEMEL_OK;
  gemel_tensor **copies = gemel__alloc_array(n + 1, sizeof *copies);
  if (copies == NULL) {
    return gemel__no_memory(error, "states");
  }
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    copies[k] = gemel__tensor_clone(found[k], error);
    status = copies[k] != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  }
  for (size_t k = 0; k < n; k++) {
    if (status == GEMEL_OK) {
      gemel__shared_give(states[k], copies[k]);
    } else {
      gemel_tensor_unref(copies[k]);
    }
  }
  gemel__free(copies, (n + 1) * sizeof *copies);
  return status;
}

gemel_status gemel_states_load(const gemel_graph *graph, size_t n, gemel_shared *const *states,
                               const char *path, gemel_error *error) {
  states_file f = {0};
  GEMEL__TRY(check(graph, n, states, path, error));
  GEMEL__TRY(gemel_safetensors_load(path, &f.n, &f.names, &f.tensors, error));
  const char **names = state_names(graph, n, error);
  gemel_tensor **found = gemel__alloc_array(n + 1, sizeof *found);
  gemel_status status =
      names != NULL && found != NULL ? GEMEL_OK : gemel__no_memory(error, "states");
  status = status == GEMEL_OK ? find_all(&f, n, states, names, found, error) : status;
  status = status == GEMEL_OK ? set_all(n, states, found, error) : status;
  gemel__free(names, names != NULL ? (n + 1) * sizeof *names : 0);
  gemel__free(found, found != NULL ? (n + 1) * sizeof *found : 0);
  gemel_npz_free(f.n, f.names, f.tensors);
  return status;
}
