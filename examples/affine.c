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
static void build(gemel_context *context, gemel_graph *graph, gemel_error *error) {
  gemel_dim rows = gemel_dim_symbol(context, "N");
  gemel_dim dims[] = {rows, gemel_dim_constant(context, 3)};
  int64_t m_shape[] = {3, 2}, b_shape[] = {2};

  gemel_value x = gemel_input(graph, "x", gemel_type_new(context, GEMEL_F32, 2, dims, 0));
  gemel_value m = gemel_input(graph, "m", gemel_type_of_shape(context, GEMEL_F32, 2, m_shape));
  gemel_value b = gemel_input(graph, "b", gemel_type_of_shape(context, GEMEL_F32, 1, b_shape));

  gemel_value t = gemel_add(gemel_dot(x, m), b);
  gemel_value y = gemel_sum(gemel_mul(t, t));
  gemel_value d_m = {0};
  if (gemel_grad(1, &y, NULL, 1, &m, &d_m, error) == GEMEL_OK) {
    gemel_output(y, "y");
    gemel_output(d_m, "d_m");
  }
}

/* Calls the function with so many rows of ones. */
static gemel_status call(gemel_function *function, int64_t rows, gemel_error *error) {
  float ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  float m[6] = {0, 1, 2, 3, 4, 5}, b[2] = {1, -1};
  int64_t x_shape[] = {rows, 3}, m_shape[] = {3, 2}, b_shape[] = {2};
  gemel_tensor *inputs[] = {gemel_tensor_wrap(GEMEL_F32, 2, x_shape, NULL, ones, NULL, NULL, error),
                            gemel_tensor_wrap(GEMEL_F32, 2, m_shape, NULL, m, NULL, NULL, error),
                            gemel_tensor_wrap(GEMEL_F32, 1, b_shape, NULL, b, NULL, NULL, error)};
  gemel_tensor *outputs[2] = {NULL, NULL};
  gemel_status status = GEMEL_NO_MEMORY;
  if (inputs[0] != NULL && inputs[1] != NULL && inputs[2] != NULL) {
    status = gemel_call(function, inputs, outputs, error);
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
    build(context, graph, &error);
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
