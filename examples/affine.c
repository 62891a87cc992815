/* SPDX-License-Identifier: MIT
 *
 * The first steps: build y = sum((x m + b)²) for any number of rows, differentiate it, compile it
 * once and call it with one and with three rows.
 *
 *   cc -std=c11 affine.c $(pkg-config --cflags --libs gemel) && ./a.out
 */
#include <stdio.h>
#include <gemel/gemel.h>

/* Adds outputs "y" and "d_m" to the graph; what went wrong, if anything, is on the graph. */
static void build(gemel_graph *graph) {
  gemel_value x = gemel_declare(graph, "x: f32[N, 3]"); /* N: any number of rows */
  gemel_value m = gemel_declare(graph, "m: f32[3, 2]"), b = gemel_declare(graph, "b: f32[2]");
  gemel_value y = gemel_sum(gemel_sqr(gemel_add(gemel_matmul(x, m), b)));
  gemel_output(y, "y");
  gemel_output(gemel_gradient(y, m), "d_m");
}

/* Calls the function with so many rows of ones. */
static gemel_status call(gemel_function *function, int64_t rows, gemel_error *error) {
  float ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  float m[6] = {0, 1, 2, 3, 4, 5}, b[2] = {1, -1};
  gemel_tensor *inputs[] = {
      gemel_tensor_wrap(GEMEL_F32, GEMEL_LIST(int64_t, rows, 3), NULL, ones, NULL, NULL, error),
      gemel_tensor_wrap(GEMEL_F32, GEMEL_LIST(int64_t, 3, 2), NULL, m, NULL, NULL, error),
      gemel_tensor_wrap(GEMEL_F32, GEMEL_LIST(int64_t, 2), NULL, b, NULL, NULL, error)};
  gemel_tensor *outputs[2] = {NULL, NULL};
  gemel_status status = GEMEL_NO_MEMORY;
  if (inputs[0] != NULL && inputs[1] != NULL && inputs[2] != NULL) {
    status = gemel_call(function, 3, inputs, 2, outputs, error);
  }
  if (status == GEMEL_OK) {
    const float *y = gemel_tensor_data(outputs[0]), *d_m = gemel_tensor_data(outputs[1]);
    printf("%lld rows: y = %g, d_m = %g %g ...\n", (long long)rows, y[0], d_m[0], d_m[1]);
  }
  for (int k = 0; k < 3; k++) {
    gemel_tensor_unref(inputs[k]);
  }
  gemel_tensor_unref(outputs[0]);
  gemel_tensor_unref(outputs[1]);
  return status;
}

int main(void) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = context != NULL ? gemel_graph_new(context, &error) : NULL;
  gemel_function *function = NULL;
  gemel_status status = GEMEL_NO_MEMORY;
  if (graph != NULL) {
    build(graph);
    error = *gemel_graph_error(graph);
    function = error.status == GEMEL_OK ? gemel_compile(graph, NULL, &error) : NULL;
  }
  if (function != NULL) {
    status = call(function, 1, &error);
  }
  if (function != NULL && status == GEMEL_OK) {
    status = call(function, 3, &error);
  }
  if (status != GEMEL_OK) {
    fprintf(stderr, "%s\n", error.text); /* names the operation and the line that made it */
  }
  gemel_function_free(function);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status != GEMEL_OK;
}
