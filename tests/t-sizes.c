/*
 * Sizes of inputs that are expressions: solved where they determine a symbol, taken as they are
 * where they leave symbols open, refused where nothing fits.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <gemel/gemel.h>
#include "ct.h"

/* Runs the graph TEXT on zeros of these shapes (rank 1 or 2 each; −1 ends a shape); 0 and the first
 * output's shape, or the status with the message in ERROR. */
static gemel_status run(const char *text, size_t n, const int64_t (*shapes)[3], int64_t *result,
                        gemel_error *error) {
  gemel_context *c = gemel_context_new(error);
  gemel_graph *g = gemel_parse(c, text, strlen(text), "text", NULL, error);
  gemel_tensor *in[4], *out[4] = {NULL};
  gemel_status status;
  size_t k;
  if (!CT_CHECK(g != NULL)) {
    gemel_context_unref(c);
    return GEMEL_INTERNAL;
  }
  for (k = 0; k < n; k++) {
    int rank = shapes[k][0] < 0 ? 0 : shapes[k][1] < 0 ? 1 : 2;
    in[k] = gemel_tensor_new(GEMEL_F32, rank, shapes[k], NULL);
  }
  status = gemel_evaluate(g, in, out, error);
  if (status == GEMEL_OK) {
    memcpy(result, gemel_tensor_shape(out[0]), (size_t)gemel_tensor_rank(out[0]) * sizeof *result);
  }
  for (k = 0; k < n; k++) {
    gemel_tensor_unref(in[k]);
  }
  gemel_tensor_unref(out[0]);
  gemel_graph_unref(g);
  gemel_context_unref(c);
  return status;
}

static void solved(const void *data) {
  static const char text[] =
      "graph f(x: f32[N, 2*T]) { y = reshape(x, shape = [N, T, 2]) return y }";
  static const int64_t good[1][3] = {{2, 6, -1}}, odd[1][3] = {{2, 7, -1}};
  int64_t shape[3] = {0};
  gemel_error error;
  (void)data;
  CT_EQ_INT(run(text, 1, good, shape, &error), GEMEL_OK);
  CT_CHECK(shape[0] == 2 && shape[1] == 3 && shape[2] == 2);
  CT_EQ_INT(run(text, 1, odd, shape, &error), GEMEL_BAD_SHAPE);
  CT_HAS_STR(error.text, "2*T");
}

/* N + M is solved for M once the second input tells N, though it comes later. */
static void second_round(const void *data) {
  static const char text[] = "graph f(x: f32[N + M], y: f32[N]) {\n"
                             "  z = broadcast_to(1:f32, shape = [M])  return z, y = y + 0, x = x }";
  static const int64_t shapes[2][3] = {{7, -1, -1}, {3, -1, -1}};
  static const int64_t short_one[2][3] = {{2, -1, -1}, {3, -1, -1}};
  int64_t shape[1] = {0};
  gemel_error error;
  (void)data;
  CT_EQ_INT(run(text, 2, shapes, shape, &error), GEMEL_OK);
  CT_EQ_INT(shape[0], 4);
  CT_EQ_INT(run(text, 2, short_one, shape, &error), GEMEL_BAD_SHAPE);
}

/* The size of a convolution's output: four symbols that nothing tells. */
static void open_expression(const void *data) {
  static const char text[] =
      "graph f(x: f32[N, (H + 2*p - k)//s + 1], b: f32[(H + 2*p - k)//s + 1])"
      " { y = x * 2 + b return y }";
  static const int64_t good[2][3] = {{2, 5, -1}, {5, -1, -1}},
                       bad[2][3] = {{2, 5, -1}, {4, -1, -1}};
  int64_t shape[2] = {0};
  gemel_error error;
  (void)data;
  CT_EQ_INT(run(text, 2, good, shape, &error), GEMEL_OK);
  CT_CHECK(shape[0] == 2 && shape[1] == 5);
  CT_EQ_INT(run(text, 2, bad, shape, &error), GEMEL_BAD_SHAPE);
  CT_HAS_STR(error.text, "input b");
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("solved", solved, NULL),
      CT_TEST("second_round", second_round, NULL),
      CT_TEST("open_expression", open_expression, NULL),
  };
  ct_suite("sizes", tests, CT_COUNT(tests));
}
