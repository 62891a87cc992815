/* SPDX-License-Identifier: MIT
 *
 * Graphs of small integers, whose sums are the same in every order, called as they are written:
 * what an optimised plan gives, bit for bit, is what the plain function gives. Whoever includes
 * this has run.h's `error`.
 */
#ifndef GEMEL_TESTS_SUPPORT_NETWORK_H
#define GEMEL_TESTS_SUPPORT_NETWORK_H

#include <string.h>
#include <gemel/text.h>
#include "../run.h"
#include "listing.h"

enum { MAX_INPUTS = 6, MAX_OUTPUTS = 4 };

typedef struct program {
  gemel_graph *graph;
  gemel_tensor *inputs[MAX_INPUTS], *wanted[MAX_OUTPUTS];
} program;

/* For input K of GRAPH: integers from −3 to 3 where it is f32, else 2; named sizes are 3 + K. */
static inline gemel_tensor *integers(gemel_graph *graph, size_t k) {
  gemel_context *c = gemel_graph_context(graph);
  gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
  gemel_dtype dtype = gemel_type_dtype(c, type);
  int64_t shape[GEMEL_MAX_RANK], n = 1;
  int rank = gemel_type_rank(c, type);
  for (int axis = 0; axis < rank; axis++) {
    if (!gemel_dim_is_constant(c, gemel_type_dims(c, type)[axis], &shape[axis])) {
      shape[axis] = 3 + (int64_t)k;
    }
    n *= shape[axis];
  }
  gemel_tensor *t = gemel_tensor_new(dtype, rank, shape, &error);
  for (int64_t i = 0; t != NULL && i < n; i++) {
    if (dtype == GEMEL_F32) {
      ((float *)gemel_tensor_data(t))[i] = (float)(pick(7) - 3);
    } else {
      ((int64_t *)gemel_tensor_data(t))[i] = 2;
    }
  }
  return t;
}

static inline int same_tensor(const gemel_tensor *a, const gemel_tensor *b) {
  gemel_view x = gemel_tensor_view(a), y = gemel_tensor_view(b);
  size_t bytes = (size_t)gemel_tensor_elements(a) * gemel_dtype_size(x.dtype);
  return x.dtype == y.dtype && gemel_tensor_elements(a) == gemel_tensor_elements(b) &&
         memcmp(x.data, y.data, bytes) == 0;
}

static inline void drop(gemel_tensor **tensors, size_t n) {
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(tensors[k]);
  }
}

static inline gemel_options as_written(int threads, int plain, int poison) {
  return (gemel_options){.size = sizeof(gemel_options),
                         .threads = threads,
                         .plain = plain,
                         .poison = poison,
                         .as_written = 1};
}

/* OUTPUTS, NULL after a failure, and the function's listing, if LISTING isn't NULL. */
static inline gemel_status run_call(program *c, gemel_options options, gemel_tensor **outputs,
                                    const char **listing) {
  gemel_function *f = gemel_compile(c->graph, &options, &error);
  memset(outputs, 0, MAX_OUTPUTS * sizeof *outputs);
  gemel_status status = f != NULL ? gemel_call(f, gemel_graph_input_count(c->graph), c->inputs,
                                               gemel_graph_output_count(c->graph), outputs, &error)
                                  : error.status;
  if (status == GEMEL_OK && listing != NULL) {
    *listing = listing_of(f);
  }
  gemel_function_free(f);
  return status;
}

/* The graph that TEXT is, and its inputs: whether there are all. */
static inline int begin_call(program *c, gemel_context *context, const char *name,
                             const char *text) {
  memset(c, 0, sizeof *c);
  c->graph = gemel_parse(context, text, strlen(text), name, NULL, &error);
  int good = c->graph != NULL;
  for (size_t k = 0; good && k < gemel_graph_input_count(c->graph); k++) {
    c->inputs[k] = integers(c->graph, k);
    good = c->inputs[k] != NULL;
  }
  return good;
}

/* The same, and what the plain function makes of them. */
static inline int open_call(program *c, gemel_context *context, const char *name,
                            const char *text) {
  int good = begin_call(c, context, name, text) &&
             run_call(c, as_written(1, 1, 0), c->wanted, NULL) == GEMEL_OK;
  if (!good) {
    CT_FAIL("%s: %s\n%s", name, error.text, text);
  }
  return good;
}

static inline void close_call(program *c) {
  drop(c->inputs, MAX_INPUTS);
  drop(c->wanted, MAX_OUTPUTS);
  gemel_graph_unref(c->graph);
}

/* How many outputs are other than the plain function's. */
static inline size_t wrong(program *c, gemel_options options, const char **listing) {
  gemel_tensor *outputs[MAX_OUTPUTS];
  size_t bad = 0;
  CT_EQ_INT(run_call(c, options, outputs, listing), GEMEL_OK);
  for (size_t k = 0; k < gemel_graph_output_count(c->graph); k++) {
    bad += outputs[k] == NULL || !same_tensor(outputs[k], c->wanted[k]);
  }
  drop(outputs, MAX_OUTPUTS);
  return bad;
}

/* All of a call, for ct_oom. */
static inline gemel_status call_once(const char *name, const char *text, gemel_options options) {
  gemel_context *context = gemel_context_new(&error);
  gemel_tensor *outputs[MAX_OUTPUTS] = {NULL};
  program c = {.graph = NULL};
  gemel_status status = GEMEL_NO_MEMORY;
  if (context != NULL && begin_call(&c, context, name, text)) {
    status = run_call(&c, options, outputs, NULL);
  }
  drop(outputs, MAX_OUTPUTS);
  close_call(&c);
  gemel_context_unref(context);
  return status;
}

#endif
