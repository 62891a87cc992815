/* SPDX-License-Identifier: MIT
 *
 * Logistic regression by gradient descent: the loss, its gradient and the step are one graph. The
 * weights are a state of it, which lives in a shared variable; each call replaces its value, so the
 * loop copies and allocates nothing.
 *
 *   cc -std=c11 train.c $(pkg-config --cflags --libs gemel) && ./a.out
 */
#include <stdio.h>
#include <gemel/gemel.h>

enum { ROWS = 400, FEATURES = 8, STEPS = 200 };

static float data[ROWS][FEATURES], labels[ROWS];

/* A small generator of our own, so that the example prints the same everywhere. */
static double uniform(void) {
  static uint64_t state = 42;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) / 9007199254740992.0;
}

/* Points labelled by which side of a plane they lie on. */
static void make_data(void) {
  for (int i = 0; i < ROWS; i++) {
    double side = 0;
    for (int j = 0; j < FEATURES; j++) {
      data[i][j] = (float)(2 * uniform() - 1);
      side += data[i][j] * (j % 3 - 0.8);
    }
    labels[i] = side > 0;
  }
}

/* The loss of sigmoid(x w) against the labels t; w becomes w - 4 dloss/dw. */
static gemel_status build(gemel_graph *graph, gemel_error *error) {
  gemel_value x = gemel_declare(graph, "x: f32[N, 8]"), t = gemel_declare(graph, "t: f32[N]");
  gemel_value w = gemel_declare(graph, "state w: f32[8]");
  gemel_value loss = gemel_binary_cross_entropy(gemel_matmul(x, w), t);
  gemel_value step = gemel_mul(gemel_scalar_like(w, 4), gemel_gradient(loss, w));
  gemel_output(loss, "loss");
  gemel_update(w, gemel_sub(w, step));
  *error = *gemel_graph_error(graph);
  return error->status;
}

/* The loop. Returns the last loss in *LOSS. */
static gemel_status train(gemel_function *function, gemel_tensor *const *inputs, double *loss,
                          gemel_error *error) {
  gemel_tensor *output = NULL;
  gemel_status status = GEMEL_OK;
  for (int step = 0; step < STEPS && status == GEMEL_OK; step++) {
    status = gemel_call(function, 2, inputs, 1, &output, error);
    if (status == GEMEL_OK) {
      *loss = *(const float *)gemel_tensor_data(output);
      if (step % 50 == 0) {
        printf("step %3d: loss %.4f\n", step, *loss);
      }
    }
  }
  gemel_tensor_unref(output);
  return status;
}

static gemel_status run(gemel_function *function, double *loss, gemel_error *error) {
  gemel_tensor *inputs[] = {
      gemel_tensor_wrap(GEMEL_F32, GEMEL_LIST(int64_t, ROWS, FEATURES), NULL, data, NULL, NULL,
                        error),
      gemel_tensor_wrap(GEMEL_F32, GEMEL_LIST(int64_t, ROWS), NULL, labels, NULL, NULL, error)};
  gemel_status status = GEMEL_NO_MEMORY;
  if (inputs[0] != NULL && inputs[1] != NULL) {
    status = train(function, inputs, loss, error);
  }
  gemel_tensor_unref(inputs[0]);
  gemel_tensor_unref(inputs[1]);
  return status;
}

/* The weights, which begin as zeros. */
static gemel_shared *make_weights(gemel_error *error) {
  gemel_tensor *zeros = gemel_tensor_new(GEMEL_F32, GEMEL_LIST(int64_t, FEATURES), error);
  gemel_shared *weights = zeros != NULL ? gemel_shared_new(zeros, error) : NULL;
  gemel_tensor_unref(zeros);
  return weights;
}

int main(void) {
  gemel_error error = {0};
  double loss = 1;
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = context != NULL ? gemel_graph_new(context, &error) : NULL;
  gemel_function *function = NULL;
  gemel_status status = GEMEL_NO_MEMORY;
  gemel_shared *weights = make_weights(&error);
  gemel_options options = {.size = sizeof options, .states = &weights, .n_states = 1};
  make_data();
  if (weights != NULL && graph != NULL && build(graph, &error) == GEMEL_OK) {
    function = gemel_compile(graph, &options, &error);
  }
  if (function != NULL) {
    status = run(function, &loss, &error);
  }
  if (status == GEMEL_OK) {
    printf("step %3d: loss %.4f\n", STEPS, loss);
  } else {
    fprintf(stderr, "%s\n", error.text);
  }
  gemel_function_free(function);
  gemel_shared_unref(weights);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status != GEMEL_OK || !(loss < 0.2);
}
