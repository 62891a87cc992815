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

/* loss = mean(log(1 + exp(-s))) with s = ±x w; w becomes w - 4 dloss/dw. */
static gemel_status build(gemel_context *context, gemel_graph *graph, gemel_error *error) {
  int64_t x_shape[] = {ROWS, FEATURES}, t_shape[] = {ROWS}, w_shape[] = {FEATURES};
  gemel_value x = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 2, x_shape));
  gemel_value t = gemel_input(graph, "t", gemel_type_of_shape(context, GEMEL_F32, 1, t_shape));
  gemel_value w = gemel_state(graph, "w", gemel_type_of_shape(context, GEMEL_F32, 1, w_shape));
  gemel_value two = gemel_scalar(graph, GEMEL_F32, 2), one = gemel_scalar(graph, GEMEL_F32, 1);
  gemel_value sign = gemel_sub(gemel_mul(two, t), one);
  gemel_value s = gemel_mul(sign, gemel_dot(x, w));
  gemel_value losses = gemel_log1p(gemel_exp(gemel_neg(s)));
  gemel_value rows = gemel_scalar(graph, GEMEL_F32, ROWS);
  gemel_value loss = gemel_div(gemel_sum(losses), rows), slope = {0};
  gemel_status status = gemel_grad(1, &loss, NULL, 1, &w, &slope, error);
  if (status == GEMEL_OK) {
    gemel_value rate = gemel_scalar(graph, GEMEL_F32, 4);
    gemel_output(loss, "loss");
    gemel_update(w, gemel_sub(w, gemel_mul(rate, slope)));
    *error = *gemel_graph_error(graph);
    status = error->status;
  }
  return status;
}

/* The loop. Returns the last loss in *LOSS. */
static gemel_status train(gemel_function *function, gemel_tensor *const *inputs, double *loss,
                          gemel_error *error) {
  gemel_tensor *output = NULL;
  gemel_status status = GEMEL_OK;
  for (int step = 0; step < STEPS && status == GEMEL_OK; step++) {
    status = gemel_call(function, inputs, &output, error);
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
  int64_t x_shape[] = {ROWS, FEATURES}, t_shape[] = {ROWS};
  gemel_tensor *inputs[] = {
      gemel_tensor_wrap(GEMEL_F32, 2, x_shape, NULL, data, NULL, NULL, error),
      gemel_tensor_wrap(GEMEL_F32, 1, t_shape, NULL, labels, NULL, NULL, error)};
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
  int64_t shape[] = {FEATURES};
  gemel_tensor *zeros = gemel_tensor_new(GEMEL_F32, 1, shape, error);
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
  if (weights != NULL && graph != NULL && build(context, graph, &error) == GEMEL_OK) {
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
