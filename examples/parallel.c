/* SPDX-License-Identifier: MIT
 *
 * Training on several GPUs: each has a copy of the weights and a part of the data. The gradients
 * are added up by an all-reduce, so that all copies stay the same, and are those that one GPU would
 * have, but for rounding.
 *
 *   cc -std=c11 parallel.c $(pkg-config --cflags --libs gemel-gpu) -lm && ./a.out [GPUS [STEPS]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <gemel/cuda.h>
#include <gemel/gemel.h>

enum { MOST = 8, POINTS = 64, INPUTS = 3, HIDDEN = 5, WEIGHTS = 2 };
static const char *const names[WEIGHTS] = {"v", "w"}; /* tanh(x v) w is to be the label */
static const int64_t shapes[WEIGHTS][2] = {{INPUTS, HIDDEN}, {HIDDEN, 1}};

/* The loss of part K of N of the data, on the GPU of memory space K + 1, whose states are W. */
static gemel_value part_loss(gemel_value x, gemel_value y, int k, int n, gemel_value w[WEIGHTS]) {
  gemel_context *context = gemel_graph_context(x.graph);
  for (int i = 0; i < WEIGHTS; i++) {
    char text[64];
    snprintf(text, sizeof text, "state %s%d: f64[%d, %d]@%d", names[i], k, (int)shapes[i][0],
             (int)shapes[i][1], k + 1);
    w[i] = gemel_declare(x.graph, text);
  }
  gemel_dim size = gemel_dim_constant(context, POINTS / n), none = gemel_dim_constant(context, 0);
  gemel_dim start[2] = {gemel_dim_constant(context, (int64_t)k * POINTS / n), none};
  gemel_dim sizes[2] = {size, gemel_dim_constant(context, INPUTS)};
  gemel_dim labels[2] = {size, gemel_dim_constant(context, 1)};
  x = gemel_transfer(gemel_subtensor(x, 2, start, 2, sizes), k + 1);
  y = gemel_transfer(gemel_subtensor(y, 2, start, 2, labels), k + 1);
  gemel_value miss = gemel_sub(gemel_matmul(gemel_tanh(gemel_matmul(x, w[0])), w[1]), y);
  return gemel_div(gemel_sum(gemel_mul(miss, miss)), gemel_scalar_like(miss, POINTS));
}

/* A step of training on N GPUs: inputs x and y, output loss, a copy of each weight on each GPU. */
static gemel_graph *build(gemel_context *context, int n, gemel_error *error) {
  gemel_graph *g = gemel_graph_new(context, error);
  gemel_value x = gemel_declare(g, "x: f64[64, 3]"), y = gemel_declare(g, "y: f64[64, 1]");
  gemel_value w[MOST][WEIGHTS], slopes[MOST][WEIGHTS], losses[MOST];
  for (int k = 0; k < n; k++) {
    losses[k] = part_loss(x, y, k, n, w[k]);
    gemel_grad(1, &losses[k], NULL, WEIGHTS, w[k], slopes[k], error);
  }
  gemel_all_reduce((size_t)n, losses, losses);
  gemel_output(gemel_transfer(losses[0], 0), "loss");
  for (int i = 0; i < WEIGHTS; i++) {
    gemel_value of_all[MOST];
    for (int k = 0; k < n; k++) {
      of_all[k] = slopes[k][i];
    }
    gemel_all_reduce((size_t)n, of_all, of_all);
    for (int k = 0; k < n; k++) {
      gemel_value step = gemel_mul(gemel_scalar_like(of_all[k], 0.2), of_all[k]);
      gemel_update(w[k][i], gemel_sub(w[k][i], step));
    }
  }
  *error = *gemel_graph_error(g);
  return g;
}

/* The weights that training begins with, the same for each copy. */
static gemel_status begin(const gemel_graph *g, gemel_function *f, int n, gemel_error *error) {
  double values[INPUTS * HIDDEN];
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < WEIGHTS; i++) {
      char name[8];
      snprintf(name, sizeof name, "%s%d", names[i], k);
      for (int j = 0; j < INPUTS * HIDDEN; j++) {
        values[j] = sin(3 * j + i);
      }
      gemel_tensor *first =
          gemel_tensor_wrap(GEMEL_F64, 2, shapes[i], NULL, values, NULL, NULL, error);
      gemel_shared *weight = gemel_function_state(f, name);
      gemel_status status = gemel_shared_set(weight, first, error);
      gemel_tensor_unref(first);
      if (status != GEMEL_OK) {
        return status;
      }
    }
  }
  return gemel_graph_error(g)->status;
}

/* Opens N GPUs as memory spaces 1 to N. */
static gemel_status open_gpus(gemel_context *context, int n, gemel_cuda **gpus,
                              gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (int k = 0; k < n && status == GEMEL_OK; k++) {
    gpus[k] = gemel_cuda_open(k, error);
    status = gpus[k] == NULL
                 ? error->status
                 : gemel_register_device(context, k + 1, gemel_cuda_device(gpus[k]), error);
  }
  return status;
}

/* The loss after each of STEPS steps on N GPUs goes to LOSSES. */
static gemel_status train(gemel_context *context, int n, int steps, double *losses,
                          gemel_error *error) {
  static double x[POINTS][INPUTS], y[POINTS];
  for (int k = 0; k < POINTS; k++) {
    for (int j = 0; j < INPUTS; j++) {
      x[k][j] = cos(5 * k + 2 * j);
    }
    y[k] = x[k][0] * x[k][1] - 0.5 * x[k][2];
  }
  gemel_graph *g = build(context, n, error);
  gemel_function *f =
      error->status == GEMEL_OK ? gemel_compile_with(g, error, .make_states = 1) : NULL;
  gemel_status status = f != NULL ? begin(g, f, n, error) : error->status;
  for (int k = 0; k < steps && status == GEMEL_OK; k++) {
    status = gemel_call_arrays(f, GEMEL_LIST(void *, x, y), GEMEL_LIST(void *, &losses[k]), error);
  }
  gemel_function_free(f);
  gemel_graph_unref(g);
  return status;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1, steps = argc > 2 ? atoi(argv[2]) : 100;
  gemel_error error = {0};
  gemel_cuda *gpus[MOST] = {NULL};
  if (n < 1 || n > MOST || POINTS % n != 0 || steps < 1) {
    fprintf(stderr, "parallel: 1, 2, 4 or 8 GPUs, and some steps\n");
    return 2;
  }
  double *losses = calloc((size_t)steps, sizeof *losses);
  gemel_context *context = gemel_context_new(&error);
  if (losses != NULL && context != NULL && open_gpus(context, n, gpus, &error) == GEMEL_OK &&
      train(context, n, steps, losses, &error) == GEMEL_OK) {
    printf("loss %.15g before, %.15g after %d steps\n", losses[0], losses[steps - 1], steps - 1);
  } else {
    fprintf(stderr, "parallel: %s\n", error.text);
  }
  free(losses);
  gemel_context_unref(context);
  for (int k = 0; k < n; k++) {
    gemel_cuda_close(gpus[k]);
  }
  return error.status == GEMEL_OK ? 0 : error.status == GEMEL_UNSUPPORTED ? 77 : 1; /* 77: no GPU */
}
