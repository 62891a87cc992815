/* SPDX-License-Identifier: MIT
 *
 * Logistic regression on 200 points of two classes, by gradient descent.
 *
 *   cc -std=c11 logistic.c $(pkg-config --cflags --libs gemel) -lm && ./a.out
 */
#include <math.h>
#include <stdio.h>
#include <gemel/gemel.h>

int main(void) {
  static double points[200][2], labels[200], loss;
  for (int k = 0; k < 200; k++) {
    labels[k] = (points[k][0] = sin(7 * k)) + 0.5 * (points[k][1] = cos(11 * k)) > 0.1;
  }
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *g = gemel_graph_new(context, &error);
  gemel_value x = gemel_declare(g, "x: f64[200, 2]"), y = gemel_declare(g, "y: f64[200]");
  gemel_value w = gemel_declare(g, "state w: f64[2]"), b = gemel_declare(g, "state b: f64[]");
  gemel_value cost = gemel_binary_cross_entropy(gemel_add(gemel_matmul(x, w), b), y);
  gemel_output(cost, "loss");
  gemel_sgd_with(cost, .rate = 1);
  gemel_function *train = gemel_compile_with(g, &error, .make_states = 1);
  for (int k = 0; k < 200 && error.status == GEMEL_OK; k++) {
    gemel_call_arrays(train, GEMEL_LIST(void *, points, labels), GEMEL_LIST(void *, &loss), &error);
  }
  printf("%s %.6f\n", error.status == GEMEL_OK ? "loss" : error.text, loss);
  gemel_function_free(train);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}
