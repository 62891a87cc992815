/* SPDX-License-Identifier: MIT
 *
 * Convolutions whose filters are stored for blocks of channels, as ONNX Runtime's optimiser writes
 * them: a model with filters in that order, put there by the twin below, gives what the same model
 * with Conv and usual filters gives.
 */
#include <string.h>
#include "support/onnx-text.h"

enum { BLOCK = 8, MOST = 8 * 16 * 2, TEXT = 8000 };

/* A convolution: M filters of C channels, of two pixels. */
typedef struct shape {
  int m, filled, c, c_filled, groups; /* FILLED up to whole blocks */
} shape;

/* Channels that fill up a block are 0 but where each has its filter, which may be anything. */
static double weight(const shape *s, int m, int c, int p) {
  return m < s->m && c < s->c ? (double)((m * 5 + c * 3 + p * 7) % 11 - 5) / 4 : s->groups > 1;
}

/* Where the element of the usual filters stands: blocks of output channels, of input channels if
 * there are so many, pixels, then the channels within the blocks. */
static size_t place(const shape *s, int m, int c, int p) {
  if (s->groups == 1 && s->c_filled >= BLOCK) {
    return (
        size_t)((((m / BLOCK * (s->c_filled / BLOCK) + c / BLOCK) * 2 + p) * BLOCK + c % BLOCK) *
                    BLOCK +
                m % BLOCK);
  }
  return (size_t)(((m / BLOCK * s->c_filled + c) * 2 + p) * BLOCK + m % BLOCK);
}

static int print_numbers(char *text, const double *values, int n) {
  int used = 0;
  for (int k = 0; k < n; k++) {
    used += sprintf(text + used, "%s%g", k > 0 ? ", " : "", values[k]);
  }
  return used;
}

/* The model with filters in blocks, or with usual ones. */
static message model_of(const shape *s, int in_blocks) {
  static char text[TEXT], numbers[TEXT];
  double values[MOST] = {0};
  int m_all = in_blocks ? s->filled : s->m, c_all = in_blocks ? s->c_filled : s->c;
  int channels = s->groups == 1 ? s->c : s->groups;
  for (int m = 0; m < m_all; m++) {
    for (int c = 0; c < c_all; c++) {
      for (int p = 0; p < 2; p++) {
        size_t usual = (size_t)((m * s->c + c) * 2 + p);
        values[in_blocks ? place(s, m, c, p) : usual] = weight(s, m, c, p);
      }
    }
  }
  print_numbers(numbers, values, m_all * c_all * 2);
  sprintf(text,
          in_blocks
              ? "(float[1, %d, 1, 3] x) => (float[1, %d, 1, 2] y) <float[%d, %d, 1, 2] w = {%s}> {"
                "  a = com.microsoft.nchwc.ReorderInput (x)"
                "  b = com.microsoft.nchwc.Conv <group = %d> (a, w)"
                "  y = com.microsoft.nchwc.ReorderOutput <channels = %d> (b) }"
              : "(float[1, %d, 1, 3] x) => (float[1, %d, 1, 2] y) <float[%d, %d, 1, 2] w = {%s}> {"
                "  y = Conv <group = %d> (x, w) }",
          channels, s->m, m_all, c_all, numbers,
          s->groups == 1 ? 1
          : in_blocks    ? s->filled
                         : s->groups,
          s->m);
  return onnx_model(text);
}

static gemel_tensor *result_of(const shape *s, int in_blocks) {
  message model = model_of(s, in_blocks);
  int64_t sizes[] = {1, s->groups == 1 ? s->c : s->groups, 1, 3};
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = onnx_graph_of(&model, context, NULL, NULL, &error);
  gemel_tensor *x = gemel_tensor_new(GEMEL_F32, 4, sizes, NULL), *y = NULL;
  CT_EQ_STR(error.text, "");
  for (int64_t k = 0; k < gemel_tensor_elements(x); k++) {
    ((float *)gemel_tensor_data(x))[k] = (float)(k * k % 13 - 6);
  }
  CT_CHECK(graph != NULL && gemel_evaluate(graph, 1, &x, 1, &y, &error) == GEMEL_OK);
  gemel_tensor_unref(x);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return y;
}

/* Numbers are small multiples of powers of two, so both are exact. */
static void as_usual(const void *data) {
  const shape *s = data;
  gemel_tensor *is = result_of(s, 1), *should = result_of(s, 0);
  CT_REQUIRE(is != NULL && should != NULL && gemel_tensor_elements(is) == 2 * s->m &&
             gemel_tensor_elements(should) == 2 * s->m);
  CT_CHECK(memcmp(gemel_tensor_data(is), gemel_tensor_data(should),
                  2 * (size_t)s->m * sizeof(float)) == 0);
  gemel_tensor_unref(is);
  gemel_tensor_unref(should);
}

static void is_refused(const void *data) {
  const char *text = data;
  message model = onnx_model(text);
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  CT_CHECK(onnx_graph_of(&model, context, NULL, NULL, &error) == NULL);
  CT_EQ_STR(gemel_status_text(error.status), gemel_status_text(GEMEL_UNSUPPORTED));
  gemel_context_unref(context);
}

/* Blocks of 8 on any machine: 16 would need M a multiple of 16. */
static const shape few = {5, 8, 3, 3, 1}, one = {1, 8, 3, 3, 1}, whole = {8, 8, 8, 8, 1},
                   filled = {6, 8, 12, 16, 1}, each = {5, 8, 1, 1, 5}, several = {8, 8, 16, 16, 1};

static const ct_test tests[] = {
    CT_TEST("few_channels", as_usual, &few),
    CT_TEST("one_filter", as_usual, &one),
    CT_TEST("whole_blocks", as_usual, &whole),
    CT_TEST("filled_blocks", as_usual, &filled),
    CT_TEST("a_filter_a_channel", as_usual, &each),
    CT_TEST("several_blocks", as_usual, &several),
    CT_TEST("unknown_filters", is_refused,
            "(float[1, 3, 1, 3] x, float[8, 3, 1, 2] w) => (float[1, 8, 1, 2] y) {"
            "  y = com.microsoft.nchwc.Conv (x, w) }"),
    CT_TEST("unknown_channels", is_refused,
            "(float[1, N, 1, 3] x) => (float[1, 8, 1, 2] y) <float[8, 1, 1, 2] w = {1, 1, 1, 1, 1, "
            "1, 1, 1,"
            " 1, 1, 1, 1, 1, 1, 1, 1}> { y = com.microsoft.nchwc.Conv <group = 8> (x, w) }"),
    CT_TEST("no_blocks", is_refused,
            "(float[1, 1, 1, 2] x) => (float[1, 3, 1, 2] y) <float[3, 1, 1, 1] w = {1, 2, 3}> {"
            "  y = com.microsoft.nchwc.Conv (x, w) }"),
};

void ct_register(void) {
  ct_suite("onnx_blocked", tests, CT_COUNT(tests));
}
