/* SPDX-License-Identifier: MIT
 *
 * y = m x + b on a GPU, many times, in three ways: all three passed to each call; m and b shared
 * variables, which move to the GPU once; and x shared too, becoming m x + b by each call. It tells
 * how many transfers each way takes, and how many launches: from the third call on, a call is one
 * launch of a CUDA graph.
 *
 *   cc -std=c11 affine_gpu.c $(pkg-config --cflags --libs gemel-gpu) && ./a.out [SIZE [STEPS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <gemel/cuda.h>
#include <gemel/gemel.h>

enum { M, B, X, OPERANDS };
enum { WARM_UP = 2 }; /* calls; a state with an update lies at two addresses in turn */
static const char *const names[OPERANDS] = {"m", "b", "x"};

typedef struct machine {
  gemel_context *context;
  gemel_cuda *cuda;
  gemel_tensor *values[OPERANDS];
  int64_t size;
  int steps;
} machine;

/* The graph, with the first SHARED operands as states; where all are, x has an update, and there is
 * nothing to return. */
static gemel_graph *build(const machine *m, int shared, gemel_error *error) {
  gemel_graph *graph = gemel_graph_new(m->context, error);
  gemel_value in[OPERANDS], y;
  for (int k = 0; graph != NULL && k < OPERANDS; k++) {
    const int64_t shape[2] = {m->size, m->size};
    gemel_type type = gemel_type_of_shape(m->context, GEMEL_F32, 2, shape);
    in[k] = k < shared ? gemel_state(graph, names[k], type) : gemel_input(graph, names[k], type);
  }
  if (graph != NULL) {
    y = gemel_add(gemel_matmul(in[M], in[X]), in[B]);
    if (shared == OPERANDS) {
      gemel_update(in[X], y);
    } else {
      gemel_output(y, "y");
    }
    *error = *gemel_graph_error(graph);
  }
  return graph;
}

/* The function of GRAPH on the GPU, bound to shared variables that begin with M's values. */
static gemel_function *compile(const machine *m, const gemel_graph *graph, int shared,
                               gemel_shared **variables, gemel_error *error) {
  gemel_lift_options lift = {.size = sizeof lift, .space = 1, .states = 1};
  gemel_options options = {.size = sizeof options,
                           .lift = &lift,
                           .states = shared > 0 ? variables : NULL,
                           .n_states = (size_t)shared};
  for (int k = 0; k < shared; k++) {
    variables[k] = gemel_shared_new(m->values[k], error);
    if (variables[k] == NULL) {
      return NULL;
    }
  }
  return gemel_compile(graph, &options, error);
}

/* One call, with the operands that aren't shared; y is an output where x is passed. */
static gemel_status call(const machine *m, gemel_function *f, int shared, gemel_tensor **y,
                         gemel_error *error) {
  const size_t inputs = (size_t)(OPERANDS - shared), outputs = shared < OPERANDS ? 1 : 0;
  return gemel_call(f, inputs, m->values + shared, outputs, y, error);
}

/* All steps. The last value of x is looked at, if it is on the GPU, so that there is something to
 * wait for. */
static gemel_status run(const machine *m, gemel_function *f, int shared, gemel_shared *x,
                        gemel_error *error) {
  gemel_tensor *y = NULL, *last = NULL;
  gemel_status status = GEMEL_OK;
  for (int k = 0; k < m->steps && status == GEMEL_OK; k++) {
    status = call(m, f, shared, &y, error);
  }
  if (status == GEMEL_OK && shared == OPERANDS) {
    gemel_tensor *there = gemel_shared_get(x);
    last = gemel_tensor_transfer(there, gemel_host(), error);
    status = last != NULL ? GEMEL_OK : error->status;
    gemel_tensor_unref(there);
  }
  gemel_tensor_unref(y);
  gemel_tensor_unref(last);
  return status;
}

/* One of the ways; the first calls, by which shared variables move to the GPU, aren't counted. */
static gemel_status try_way(const machine *m, const char *name, int shared, gemel_error *error) {
  gemel_shared *variables[OPERANDS] = {NULL};
  gemel_cuda_counts before = {.size = sizeof before}, after = {.size = sizeof after};
  gemel_graph *graph = build(m, shared, error);
  gemel_function *f = graph != NULL && error->status == GEMEL_OK
                          ? compile(m, graph, shared, variables, error)
                          : NULL;
  gemel_status status = f != NULL ? GEMEL_OK : error->status;
  gemel_tensor *y = NULL;
  for (int k = 0; k < WARM_UP && status == GEMEL_OK; k++) {
    status = call(m, f, shared, &y, error);
  }
  gemel_cuda_counted(m->cuda, &before);
  status = status == GEMEL_OK ? run(m, f, shared, variables[X], error) : status;
  gemel_cuda_counted(m->cuda, &after);
  if (status == GEMEL_OK) {
    printf("%-10s %zu transfers to the GPU, %zu from it, %zu graphs and %zu kernels launched\n",
           name, after.uploads - before.uploads, after.downloads - before.downloads,
           after.graphs - before.graphs, after.kernels - before.kernels);
  }
  gemel_tensor_unref(y);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  for (int k = 0; k < OPERANDS; k++) {
    gemel_shared_unref(variables[k]);
  }
  return status;
}

/* Matrices whose product doesn't grow. */
static gemel_status fill_values(machine *m, gemel_error *error) {
  for (int k = 0; k < OPERANDS; k++) {
    m->values[k] = gemel_tensor_new(GEMEL_F32, 2, (const int64_t[]){m->size, m->size}, error);
    if (m->values[k] == NULL) {
      return error->status;
    }
    float *data = gemel_tensor_data(m->values[k]);
    for (int64_t i = 0; i < m->size * m->size; i++) {
      data[i] = k == M ? 0.5f / (float)m->size : (float)(i % 7) - 3;
    }
  }
  return GEMEL_OK;
}

static gemel_status try_all(machine *m, gemel_error *error) {
  gemel_status status = gemel_register_device(m->context, 1, gemel_cuda_device(m->cuda), error);
  status = status == GEMEL_OK ? fill_values(m, error) : status;
  status = status == GEMEL_OK ? try_way(m, "passed", 0, error) : status;
  status = status == GEMEL_OK ? try_way(m, "two shared", 2, error) : status;
  return status == GEMEL_OK ? try_way(m, "all shared", 3, error) : status;
}

int main(int argc, char **argv) {
  gemel_error error = {0};
  machine m = {.size = argc > 1 ? atoll(argv[1]) : 1000, .steps = argc > 2 ? atoi(argv[2]) : 500};
  gemel_status status = GEMEL_NO_MEMORY;
  m.cuda = gemel_cuda_open(0, &error);
  if (m.cuda == NULL) {
    fprintf(stderr, "%s\n", error.text);
    return 77; /* there is no GPU: nothing was wrong, and nothing was tried */
  }
  m.context = gemel_context_new(&error);
  status = m.context != NULL ? try_all(&m, &error) : status;
  if (status != GEMEL_OK) {
    fprintf(stderr, "%s\n", error.text);
  }
  for (int k = 0; k < OPERANDS; k++) {
    gemel_tensor_unref(m.values[k]);
  }
  gemel_context_unref(m.context);
  gemel_cuda_close(m.cuda);
  return status != GEMEL_OK;
}
