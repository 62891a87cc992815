/* SPDX-License-Identifier: MIT
 *
 * Models of ONNX: what becomes of them, and that what is damaged, lies, or asks for what gemel
 * doesn't have is refused with a reason. Models are written here in text (support/onnx-text.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <gemel/gemel.h>
#include "ct.h"
#include "support/onnx-text.h"

/* y = relu(x w) */
#define LAYER                                                                                      \
  "layer (float[N, 3] x) => (float[N, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {"                \
  "  p = MatMul(x, w)"                                                                             \
  "  y = Relu(p)"                                                                                  \
  "}"

/* w reshaped to the square roots of 9 and 4. */
#define ROOTS                                                                                      \
  "g (float[2, 3] w) => (float[3, 2] y) <int64[2] squares = {9, 4}> {"                             \
  "  f = Cast<to = 1>(squares)"                                                                    \
  "  r = Sqrt(f)"                                                                                  \
  "  s = Cast<to = 7>(r)"                                                                          \
  "  y = Reshape(w, s)"                                                                            \
  "}"

/* The graph of MODEL as text, to be freed with gemel_text_free; NULL and *ERROR on failure. */
static char *text_of(const message *model, const gemel_onnx_options *options, gemel_error *error) {
  gemel_context *context = gemel_context_new(error);
  char *name = NULL, *text = NULL;
  gemel_graph *graph =
      context != NULL ? onnx_graph_of(model, context, options, &name, error) : NULL;
  if (graph != NULL && gemel_graph_check(graph, error) == GEMEL_OK) {
    text = gemel_print_string(graph, name, error);
  }
  gemel_text_free(name);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return text;
}

static void becomes(const message *model, const gemel_onnx_options *options, const char *expected) {
  gemel_error error = {0};
  char *text = text_of(model, options, &error);
  CT_EQ_STR(error.text, "");
  CT_EQ_STR(text != NULL ? text : "", expected);
  gemel_text_free(text);
}

static void is_refused(const message *model, gemel_status status, const char *reason) {
  gemel_error error = {0};
  char *text = text_of(model, NULL, &error);
  CT_CHECK(text == NULL);
  CT_EQ_INT(error.status, status);
  CT_HAS_STR(error.text, reason);
  gemel_text_free(text);
}

/* ---- What becomes of a model ---- */

/* A model and its graph. */
typedef struct becoming {
  const char *name, *model, *graph;
} becoming;

static const becoming becomings[] = {
    {"weights_are_constants", LAYER,
     "graph layer(x: f32[N, 3]) {\n  n0 = tensor(f32[3, 2], [1, 2, 3, 4, 5, 6])\n"
     "  n1 = dot(x, n0)\n  n2 = relu(n1)\n  return y = n2\n}\n"},
    /* what is computed of the shape leaves no node */
    {"shapes_are_folded",
     "flat (float[N, 3] x) => (float[N, 2] y)"
     "<int64[1] zero = {0}, int64[1] three = {3}, int64[1] rest = {-1}> {"
     "  s = Shape(x)"
     "  n = Gather(s, zero)"
     "  m = Mul(n, three)"
     "  t = Concat<axis = 0>(m, rest)"
     "  y = Reshape(x, t)"
     "}",
     "graph flat(x: f32[N, 3]) {\n  n0 = reshape(x, shape = [3*N, 1])\n  return y = n0\n}\n"},
    /* PyTorch's expand: where a size is -1, the tensor's own is taken. No size of x is. */
    {"expand_of_pytorch",
     "g (float[N, 3] x, float[1, 3] b) => (float[N, 3] y)"
     "<int64[2] minus = {-1, -1}, int64[2] ones = {1, 1}> {"
     "  s = Shape(x)"
     "  own = Equal(s, minus)"
     "  t = Where(own, ones, s)"
     "  y = Expand(b, t)"
     "}",
     "graph g(x: f32[N, 3], b: f32[1, 3]) {\n  n0 = broadcast_to(b, shape = [N, 3])\n"
     "  return y = n0\n}\n"},
    {"split_of_symbols", "g (float[N, 3] x) => (float[N, 3] y, float[N, 3] z) {y, z = Split(x)}",
     "graph g(x: f32[N, 3]) {\n"
     "  n0, n1 = split(x, sizes = [(N + 1)//2, -((N + 1)//2) + N])\n"
     "  return y = n0, z = n1\n}\n"},
    /* a smaller result of opset 10 takes the element behind */
    {"resize_of_opset_10",
     "<ai.onnx: 10> g (float[5, 3] x) => (float[N, 3] y) <float[2] scales = {0.6, 1}> {"
     "  y = Resize(x, scales)"
     "}",
     "graph g(x: f32[5, 3]) {\n  n0 = tensor(i64[3], [0, 2, 4])\n  n1 = take(x, n0)\n"
     "  return y = n1\n}\n"},
    /* what is computed of constants is computed when the model is read, whatever the operator */
    {"constants_are_folded", ROOTS,
     "graph g(w: f32[2, 3]) {\n  n0 = reshape(w, shape = [3, 2])\n  return y = n0\n}\n"},
    /* but a float isn't: another program rounds it otherwise */
    {"floats_stay_computed",
     "g (float[3, 2] w) => (float[3, 2] y) <float[2] c = {1, 2}> {e = Exp(c) y = Mul(w, e)}",
     "graph g(w: f32[3, 2]) {\n  n0 = tensor(f32[2], [1, 2])\n  n1 = exp(n0)\n"
     "  n2 = mul(w, n1)\n  return y = n2\n}\n"},
    /* parameters of an activation that ONNX Runtime fuses into a product */
    {"fused_activation",
     "<com.microsoft: 1, ai.onnx: 13>"
     "fused (float[N, 3] x, float[3, 2] w) => (float[N, 2] y) {"
     "  y = com.microsoft.FusedGemm<activation = LeakyRelu, activation_alpha = 0.25>(x, w)"
     "}",
     "graph fused(x: f32[N, 3], w: f32[3, 2]) {\n  n0 = dot(x, w)\n  n1 = 0.25:f32\n"
     "  n2 = mul(n0, n1)\n  n3 = 0:f32\n  n4 = lt(n0, n3)\n  n5 = where(n4, n2, n0)\n"
     "  return y = n5\n}\n"},
    {"skip_rms_normalization",
     "<com.microsoft: 1, ai.onnx: 13>"
     "g (float[N, 3] x, float[3] s, float[3] b) => (float[N, 3] y, float[N, 3] z) {"
     "  y, , , z = com.microsoft.SkipSimplifiedLayerNormalization(x, x, s, b)"
     "}",
     "graph g(x: f32[N, 3], s: f32[3], b: f32[3]) {\n  n0 = add(x, x)\n  n1 = add(n0, b)\n"
     "  n2 = sqr(n1)\n  n3 = sum(n2, axes = [-1], keepdims = 1)\n  n4 = 3:f32\n"
     "  n5 = div(n3, n4)\n  n6 = 1e-12:f32\n  n7 = add(n5, n6)\n  n8 = sqrt(n7)\n"
     "  n9 = div(n1, n8)\n  n10 = mul(n9, s)\n"
     "  return y = n10, z = n1\n}\n"},
};

static void as_it_should(const void *data) {
  const becoming *of = data;
  message model = onnx_model(of->model);
  becomes(&model, NULL, of->graph);
}

static void weights_are_inputs(const void *data) {
  message model = onnx_model(LAYER);
  const char *const inputs[1] = {"weight"}, *const symbols[1] = {"N"};
  const int64_t sizes[1] = {7};
  gemel_onnx_options options = {
      .size = sizeof options, .n_symbols = 1, .symbols = symbols, .sizes = sizes, .inputs = inputs};
  (void)data;
  becomes(&model, &options,
          "graph layer(weight: f32[3, 2], x: f32[7, 3]) {\n  n0 = dot(x, weight)\n"
          "  n1 = relu(n0)\n  return y = n1\n}\n");
}

/* Symbols of other names become those of the graph that a model is to be like: each wherever it
 * stands, numbers stay, and a name that only one has is nothing. */
static void symbols_like(const void *data) {
  static const struct {
    const char *first, *second, *inputs;
  } cases[] = {{"(float[N, 3] x) => (float[N, 3] y) { y = Neg (x) }",
                "(float[M, 3] x) => (float[M, 3] y) { y = Neg (x) }", "x: f32[N, 3]"},
               {"(float[A, B] x, float[B, A] z) => (float[A, B] y) { y = Neg (x) }",
                "(float[B, A] x, float[A, B] z) => (float[B, A] y) { y = Neg (x) }",
                "x: f32[A, B], z: f32[B, A]"},
               {"(float[A] x, float[B] z) => (float[A] y) { y = Neg (x) }",
                "(float[M] x, float[M] z) => (float[M] y) { y = Neg (x) }", "x: f32[A], z: f32[A]"},
               {"(float[4] x) => (float[4] y) { y = Neg (x) }",
                "(float[M] x) => (float[M] y) { y = Neg (x) }", "x: f32[4]"},
               {"(float[N] x) => (float[N] y) { y = Neg (x) }",
                "(float[5] x) => (float[5] y) { y = Neg (x) }", "x: f32[5]"},
               {"(float[N] w) => (float[N] y) { y = Neg (w) }",
                "(float[M] x) => (float[M] y) { y = Neg (x) }", "x: f32[M]"}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    message first = onnx_model(cases[k].first), second = onnx_model(cases[k].second);
    gemel_error error = {0};
    gemel_context *context = gemel_context_new(&error), *other = gemel_context_new(&error);
    gemel_graph *like = onnx_graph_of(&first, context, NULL, NULL, &error);
    gemel_onnx_options options = {.size = sizeof options, .like = like};
    gemel_graph *graph = onnx_graph_of(&second, context, &options, NULL, &error);
    char *text = graph != NULL ? gemel_print_string(graph, "g", &error) : NULL;
    CT_HAS_STR(text, cases[k].inputs);
    CT_CHECK(onnx_graph_of(&second, other, &options, NULL, &error) == NULL);
    CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
    gemel_text_free(text);
    gemel_graph_unref(graph);
    gemel_graph_unref(like);
    gemel_context_unref(context);
    gemel_context_unref(other);
  }
}

static void unknown_symbol(const void *data) {
  message model = onnx_model(LAYER);
  const char *const symbols[1] = {"M"};
  const int64_t sizes[1] = {7};
  gemel_onnx_options options = {
      .size = sizeof options, .n_symbols = 1, .symbols = symbols, .sizes = sizes};
  gemel_error error = {0};
  (void)data;
  CT_CHECK(text_of(&model, &options, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_NOT_FOUND);
  CT_HAS_STR(error.text, "no input has a size called M");
}

static void what_a_model_lists(const void *data) {
  message model = onnx_model(LAYER);
  gemel_error error = {0};
  const char *domain = NULL;
  size_t k = 0;
  (void)data;
  gemel_onnx *read = gemel_onnx_parse(model.bytes, model.length, "m.onnx", NULL, &error);
  CT_REQUIRE(read != NULL);
  CT_EQ_INT(gemel_onnx_weight_count(read), 1);
  CT_EQ_STR(gemel_onnx_weight_name(read, 0), "w");
  CT_CHECK(gemel_onnx_weight_name(read, 1) == NULL);
  CT_EQ_INT(gemel_onnx_input_count(read), 1);
  CT_EQ_STR(gemel_onnx_input_name(read, 0), "x");
  CT_EQ_STR(gemel_onnx_input_spelled(read, 0), "x");
  CT_CHECK(gemel_onnx_input_spelled(read, 1) == NULL);
  while (gemel_onnx_operator(k, &domain) != NULL &&
         strcmp(gemel_onnx_operator(k, &domain), "MatMul") != 0) {
    k++;
  }
  CT_EQ_STR(gemel_onnx_operator(k, &domain), "MatMul");
  CT_EQ_STR(domain, "");
  gemel_onnx_free(read);
}

/* reshape(x, [shape(x)[0], -1]) by way of DTYPE; f16 doesn't hold all sizes. */
static message cast_shape(int dtype) {
  return onnx_format("g (float[N, 3] x) => (float[N, 3] y)"
                     "<int64[1] zero = {0}, int64[1] rest = {-1}> {"
                     "  s = Shape(x)"
                     "  t = Cast<to = %d>(s)"
                     "  n = Gather(t, zero)"
                     "  m = Cast<to = 7>(n)"
                     "  to = Concat<axis = 0>(m, rest)"
                     "  y = Reshape(x, to)"
                     "}",
                     dtype);
}

static void casts_of_shapes(const void *data) {
  static const int kept[3] = {6, 1, 11}; /* i32, f32, f64 */
  message model;
  (void)data;
  for (int k = 0; k < 3; k++) {
    model = cast_shape(kept[k]);
    becomes(&model, NULL,
            "graph g(x: f32[N, 3]) {\n  n0 = reshape(x, shape = [N, 3])\n  return y = n0\n}\n");
  }
  model = cast_shape(10);
  is_refused(&model, GEMEL_UNSUPPORTED, "a shape that isn't known");
}

/* Of x: f32[N, 3], what integers a and b are bounds of, along the first axis; "s" is [N]. */
static void slice_becomes(const char *start, const char *end, const char *expected) {
  char text[300];
  message model = onnx_format("g (float[N, 3] x, float[7, 3] w) => (float[N, 3] y)"
                              "<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2},"
                              " int64[1] last = {-1}> {"
                              "  s = Shape<end = 1>(x)"
                              "  minus = Neg(s)"
                              "  y = Slice(%c, %s, %s, zero)"
                              "}",
                              expected[0], start, end);
  snprintf(text, sizeof text,
           "graph g(x: f32[N, 3], w: f32[7, 3]) {\n  n0 = subtensor(%s)\n  return y = n0\n}\n",
           expected);
  becomes(&model, NULL, text);
}

/* What lies beyond an axis is cut off. -N is 0 where N is 0, and counts from the front then. */
static void slices_of_symbols(const void *data) {
  (void)data;
  slice_becomes("zero", "two", "x, start = [0, 0], size = [min(2, N), 3]");
  slice_becomes("one", "s", "x, start = [min(1, N), 0], size = [max(0, N - 1), 3]");
  slice_becomes("one", "two", "x, start = [1, 0], size = [1, 3]");
  slice_becomes("last", "s", "x, start = [N - 1, 0], size = [1, 3]");
  slice_becomes("zero", "s", "w, start = [0, 0], size = [min(7, N), 3]");
  slice_becomes("zero", "minus", "x, start = [0, 0], size = [0, 3]");
  slice_becomes("minus", "last",
                "w, start = [max(-N + 7*min(1, N), 0), 0], "
                "size = [max(-max(-N + 7*min(1, N), 0) + 6, 0), 3]");
}

/* x resized along N to the nearest element, half a one from the edge. */
static void resize_of_symbols(const void *data) {
  static const char text[] =
      "g (float[N, 3] x) => (float[N, 3] y) <float[2] scales = {%s, 1}> {y = Resize(x, , scales)}";
  message model = onnx_format(text, "3");
  (void)data;
  becomes(&model, NULL,
          "graph g(x: f32[N, 3]) {\n  n0 = dimshuffle(x, order = [0, -1, 1])\n"
          "  n1 = broadcast_to(n0, shape = [N, 3, 3])\n"
          "  n2 = reshape(n1, shape = [3*N, 3])\n  return y = n2\n}\n");
  model = onnx_format(text, "2.5");
  is_refused(&model, GEMEL_UNSUPPORTED, "node 1 (Resize): axis 0 has a size that is a symbol");
}

/* Attention of ONNX Runtime with scores of 0 and values x: means of those x that a query sees. */
static void attention_gives(const char *call, const char *mask, const float expected[3]) {
  gemel_error error = {0};
  gemel_tensor *y = NULL;
  message model = onnx_format("() => (float[1, 3, 1] y)"
                              "<float[1, 3] w = {0, 0, 1}, int32%s, float[1, 3, 1] x = {1, 2, 6},"
                              " float[1, 3, 1] q = {0, 0, 0}, float[3] b = {0, 0, 1},"
                              " float[1, 1, 1, 1] k = {0}, float[1, 1, 1, 1] v = {5}> {"
                              "  y = com.microsoft.%s"
                              "}",
                              mask, call);
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = onnx_graph_of(&model, context, NULL, NULL, &error);
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(graph != NULL);
  CT_EQ_INT(gemel_evaluate(graph, 0, NULL, 1, &y, &error), GEMEL_OK);
  for (int k = 0; y != NULL && k < 3; k++) {
    CT_CHECK(((const float *)gemel_tensor_data(y))[k] == expected[k]);
  }
  gemel_tensor_unref(y);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Masks by keys, by lengths, and by ends and starts; a query that sees none is as without. */
static void packed_attention(const void *data) {
  static const float expected[3] = {1, 1.5F, 1.5F}, behind[3] = {1, 2, 4};
  static const char call[] = "Attention<num_heads = 1, unidirectional = 1>(x, w, , m)";
  (void)data;
  attention_gives(call, "[1, 3] m = {1, 1, 0}", expected);
  attention_gives(call, "[1] m = {2}", expected);
  attention_gives(call, "[2] m = {2, 0}", expected);
  attention_gives(call, "[2] m = {3, 1}", behind);
}

/* Queries and keys of 0, values x + 1 of a bias, behind one of 5. */
static void multi_head_attention(const void *data) {
  static const float expected[3] = {5, 4, 4};
  (void)data;
  attention_gives("MultiHeadAttention<num_heads = 1, unidirectional = 1>(q, q, x, b, m, , k, v)",
                  "[1, 4] m = {1, 0, 1, 0}", expected);
}

/* A tensor written and read again, transposed on the way, of each dtype. */
static void tensors_as_files(const void *data) {
  const int64_t shape[2] = {2, 3};
  char folder[] = "/tmp/gemel-onnx-XXXXXX", path[64];
  gemel_error error = {0};
  (void)data;
  CT_REQUIRE(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/x.pb", folder);
  for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
    int64_t width = (int64_t)gemel_dtype_size((gemel_dtype)dtype);
    const int64_t strides[2] = {width, 2 * width};
    uint8_t bytes[48];
    for (size_t k = 0; k < sizeof bytes; k++) {
      bytes[k] = (uint8_t)(dtype == GEMEL_BOOL ? k % 2 : k);
    }
    ct_context("%s", gemel_dtype_name((gemel_dtype)dtype));
    gemel_tensor *x =
        gemel_tensor_wrap((gemel_dtype)dtype, 2, shape, strides, bytes, NULL, NULL, &error);
    CT_EQ_INT(gemel_onnx_tensor_save(x, "x", path, &error), GEMEL_OK);
    gemel_tensor *y = gemel_onnx_tensor_load(path, &error);
    CT_EQ_STR(error.text, "");
    CT_CHECK(y != NULL && gemel_tensor_dtype(y) == (gemel_dtype)dtype &&
             gemel_tensor_rank(y) == 2 && gemel_tensor_shape(y)[0] == 2 &&
             gemel_tensor_shape(y)[1] == 3);
    for (int64_t k = 0; y != NULL && k < 6; k++) {
      const char *read = gemel_tensor_data(y);
      CT_CHECK(memcmp(read + k * width, bytes + (k / 3 + k % 3 * 2) * width, (size_t)width) == 0);
    }
    gemel_tensor_unref(x);
    gemel_tensor_unref(y);
  }
  CT_EQ_INT(gemel_onnx_tensor_save(NULL, "x", path, &error), GEMEL_BAD_ARGUMENT);
  unlink(path);
  rmdir(folder);
}

/* GELU by erf, and its approximation behind a bias. */
static void forms_of_gelu(const void *data) {
  static const char model[] = "<com.microsoft: 1, ai.onnx: 13>"
                              "g (float[N, 3] x, float[N, 3] b) => (float[N, 3] y) {"
                              "  y = com.microsoft.%s"
                              "}";
  message exact = onnx_format(model, "Gelu(x)"), fast = onnx_format(model, "FastGelu(x, b)");
  (void)data;
  becomes(&exact, NULL,
          "graph g(x: f32[N, 3], b: f32[N, 3]) {\n  n0 = 1.4142135:f32\n  n1 = div(x, n0)\n"
          "  n2 = erf(n1)\n  n3 = 1:f32\n  n4 = add(n2, n3)\n  n5 = mul(x, n4)\n  n6 = 0.5:f32\n"
          "  n7 = mul(n5, n6)\n  return y = n7\n}\n");
  becomes(&fast, NULL,
          "graph g(x: f32[N, 3], b: f32[N, 3]) {\n  n0 = add(x, b)\n  n1 = sqr(n0)\n"
          "  n2 = mul(n0, n1)\n  n3 = 0.044715:f32\n  n4 = mul(n2, n3)\n  n5 = add(n0, n4)\n"
          "  n6 = 0.7978846:f32\n  n7 = mul(n5, n6)\n  n8 = tanh(n7)\n  n9 = 1:f32\n"
          "  n10 = add(n8, n9)\n  n11 = mul(n0, n10)\n  n12 = 0.5:f32\n  n13 = mul(n11, n12)\n"
          "  return y = n13\n}\n");
}

/* ---- A program's own operators ---- */

#define OWN_OPERATORS                                                                              \
  "composite double(x) { return x + x }\n"                                                         \
  "operator \"my.domain\" Scaled(x, _, y = none, axes: ints = none at 1, factor: float = 0.1,\n"   \
  "                              mode: string = plain) {\n"                                        \
  "  require mode == \"plain\", \"mode = {mode}\"\n"                                               \
  "  s = double(sum(x, axes = axes, keepdims = 1) * factor)\n"                                     \
  "  return choose(given(y), s + y, s), opset * x, results * x\n"                                  \
  "}\n"

/* MODEL, of operators in OWN_OPERATORS, becomes the graph, or is refused with the reason. */
static void own_operator(const char *model, const char *expected) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  message m = onnx_format("<my.domain: 1, ai.onnx: 13> %s", model);
  char *text = NULL;
  CT_EQ_INT(gemel_define_composites(context, OWN_OPERATORS, strlen(OWN_OPERATORS), "own", &error),
            GEMEL_OK);
  gemel_graph *graph = onnx_graph_of(&m, context, NULL, NULL, &error);
  text = graph != NULL ? gemel_print_string(graph, "g", &error) : NULL;
  CT_HAS_STR(text != NULL ? text : error.text, expected);
  gemel_text_free(text);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void own_operators(const void *data) {
  (void)data;
  own_operator("g (float[N, 3] x) => (float[N, 1] y) <int64[1] a = {1}> {"
               "  y = my.domain.Scaled<factor = 3.0>(x, a)}",
               "n0 = sum(x, axes = [1], keepdims = 1)\n  n1 = 3:f32\n  n2 = mul(n0, n1)\n"
               "  n3 = add(n2, n2)\n  return y = n3\n");
  own_operator("g (float[N, 3] x) => (float[1, 1] y, float[N, 3] z, float[N, 3] w) {"
               "  y, z, w = my.domain.Scaled(x)}",
               "n1 = 0.1:f32\n  n2 = mul(n0, n1)\n  n3 = add(n2, n2)\n  n4 = 13:f32\n"
               "  n5 = mul(n4, x)\n  n6 = 3:f32\n  n7 = mul(n6, x)\n");
  own_operator("g (float[N, 3] x) => (float[N, 3] y) { y = my.domain.Scaled(x, , x)}",
               "add(n3, x)");
  own_operator("g (float[N, 3] x) => (float[N, 3] y) { y = my.domain.Scaled<mode = odd>(x)}",
               "(Scaled): mode = odd");
  own_operator("g (float[N, 3] x, int64[1] a) => (float[N, 3] y) { y = my.domain.Scaled(x, a)}",
               "(Scaled): input 1 must be integers that are known");
  own_operator("g (float[N, 3] x) => (float[N, 3] y) { y = my.domain.Scaled(x, x, x, x)}",
               "it has 4 inputs");
  own_operator("g (float[N, 3] x) => (float[N, 3] y) { y = my.domain.Scaled<factor = 3>(x)}",
               "attribute factor isn't a float");
  own_operator("g (float[N, 3] x) => (float[N, 3] y) { y = my.domain.Scaled<faktor = 3.0>(x)}",
               "an attribute faktor, which isn't known");
  own_operator("g (float[N, 3] x) => (float[N, 3] y) { y = my.domain.Scald(x)}",
               "doesn't know this operator");
}

/* ---- What is refused ---- */

typedef struct refusal {
  const char *name, *model;
  gemel_status status;
  const char *reason;
} refusal;

static const refusal refusals[] = {
    /* whether an axis of a symbol's size goes isn't known */
    {"squeeze_of_symbols", "(float[N, 3] x) => (float[N, 3] y) {y = Squeeze(x)}", GEMEL_UNSUPPORTED,
     "node 1 (Squeeze): no axes are given, and whether size 0 is 1 isn't known"},
    /* where sizes are computed, operators are as strict as elsewhere */
    {"sizes_joined_along_axis_1",
     "(float[N, 3] x) => (int64[K] y) {s = Shape(x) y = Concat<axis = 1>(s, s)}", GEMEL_BAD_SHAPE,
     "node 2 (Concat): join(i64[2], i64[2]): axis 1 is out of range"},
    {"sizes_joined_along_no_axis",
     "(float[N, 3] x) => (int64[K] y) {s = Shape(x) y = Concat(s, s)}", GEMEL_BAD_FILE,
     "node 2 (Concat): it has no attribute axis"},
    {"size_of_axis_3",
     "(float[N, 3] x) => (int64[1] y) <int64[1] i = {0}> {s = Shape(x) y = Gather<axis = 3>(s, i)}",
     GEMEL_BAD_SHAPE, "node 2 (Gather): axis 3 of 1 axes"},
    {"sizes_cut_along_axis_1",
     "(float[N, 3] x) => (int64[K] y) <int64[1] i = {0}, int64[1] j = {1}>"
     "{s = Shape(x) y = Slice(s, i, j, j)}",
     GEMEL_BAD_SHAPE, "node 2 (Slice)"},
    {"product_along_axis_1",
     "(float[N, 3] x) => (int64[K] y) {s = Shape(x) y = ReduceProd<axes = [1]>(s)}",
     GEMEL_BAD_SHAPE, "node 2 (ReduceProd)"},
    {"clip_by_a_vector", "(float[N, 3] x, float[3] l) => (float[N, 3] y) {y = Clip(x, l)}",
     GEMEL_BAD_FILE, "node 1 (Clip): input 2 is no scalar"},
    {"inputs_of_one_name", "(float[N, 3] x, float[N, 2] x) => (float[N, 3] y) {y = Relu(x)}",
     GEMEL_BAD_FILE, "two inputs are called 'x'"},
    {"unknown_operator",
     "(float[N, 3] x) => (float[N, 3] y) {a = Relu(x) b = Frobnicate(a) y = Frobnicate(b)}",
     GEMEL_UNSUPPORTED,
     "m.onnx: node 2 (Frobnicate): gemel doesn't know this operator, of which the model has 2"},
    {"name_that_nothing_makes", "() => (float[N, 3] y) {y = Relu(z) z = Relu(y)}", GEMEL_BAD_FILE,
     "node 1 (Relu): nothing before it makes its input 'z'"},
    {"name_made_twice", "(float[N, 3] x) => (float[N, 3] y) {y = Relu(x) y = Abs(x)}",
     GEMEL_BAD_FILE, "node 2 (Abs): 'y' is made twice"},
    {"function_that_calls_itself",
     "(float[N, 3] x) => (float[N, 3] y) {y = own.Loopy(x)}"
     "own.Loopy (x) => (y) {y = own.Loopy(x)}",
     GEMEL_BAD_FILE, "functions and branches are nested more than 32 deep"},
};

static void refused_as_it_should(const void *data) {
  const refusal *of = data;
  message model = onnx_model(of->model);
  is_refused(&model, of->status, of->reason);
}

/* Function "k" of 24 applies function "k - 1" twice: some 16 million nodes from 2 KB. */
static void functions_that_double(const void *data) {
  char functions[2000] = "own.a (x) => (y) {t = Relu(x) y = Relu(t)}";
  (void)data;
  for (int k = 'b'; k < 'a' + 24; k++) {
    size_t length = strlen(functions);
    snprintf(functions + length, sizeof functions - length,
             "own.%c (x) => (y) {t = own.%c(x) y = own.%c(t)}", k, k - 1, k - 1);
  }
  message model = onnx_format("(float[N, 3] x) => (float[N, 3] y) {y = own.x(x)} %s", functions);
  is_refused(&model, GEMEL_BAD_FILE, "functions and branches are applied more than 65536 times");
}

/* A weight whose shape is SHAPE and that has 24 bytes. */
static void shape_that_lies(const void *data) {
  static const char *const shapes[] = {"3, 3", "1099511627776, 1048576", "-1, 2", "1, 8589934592"};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(shapes); k++) {
    gemel_error error = {0};
    message model = onnx_format("(float[N, 3] x) => (float[N, 2] y)"
                                "<float[%s] w = {1, 2, 3, 4, 5, 6}> {y = MatMul(x, w)}",
                                shapes[k]);
    CT_CHECK(text_of(&model, NULL, &error) == NULL);
    CT_CHECK(error.status == GEMEL_BAD_FILE || error.status == GEMEL_BAD_SHAPE);
    CT_HAS_STR(error.text, "node 1 (MatMul): ");
  }
}

/* ---- External data ---- */

/* A scratch file of this name with CONTENTS. */
static void write_file(const char *name, const void *contents, size_t bytes) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", ct_scratch(), name);
  FILE *file = fopen(path, "wb");
  CT_REQUIRE(file != NULL);
  CT_EQ_INT(fwrite(contents, 1, bytes, file), bytes);
  fclose(file);
}

/* The first weight of a model whose only tensor lies at LOCATION; NULL and *ERROR. */
static gemel_tensor *external(const char *location, const char *offset, gemel_error *error) {
  const char *const entries[2][2] = {{"location", location}, {"offset", offset}};
  message graph = {0}, model = {0}, tensor = {0}, entry = {0};
  char folder[600];
  put_int(&tensor, 1, 3);
  put_int(&tensor, 1, 2);
  put_int(&tensor, 2, 1);
  put_int(&tensor, 14, 1);
  for (int k = 0; k < 2; k++) {
    put_text(&entry, 1, entries[k][0]);
    put_text(&entry, 2, entries[k][1]);
    put_message(&tensor, 13, &entry);
  }
  put_message(&graph, 5, &tensor);
  put_int(&model, 1, 8);
  put_message(&model, 7, &graph);
  snprintf(folder, sizeof folder, "%s/inside", ct_scratch());
  gemel_onnx *read = gemel_onnx_parse(model.bytes, model.length, "m.onnx", folder, error);
  gemel_tensor *weight = read != NULL ? gemel_onnx_weight(read, 0, error) : NULL;
  gemel_onnx_free(read);
  return weight;
}

static void external_data(const void *data) {
  static const struct {
    const char *location, *offset, *reason; /* NULL: it is read */
  } cases[] = {{"data.bin", "4", NULL},
               {"./data.bin", "4", NULL},
               {"data.bin", "5", "bytes 5 to 29 of a file that has 28"},
               {"data.bin", "18446744073709551615", "of a file that has 28"},
               {"data.bin", "18446744073709551616", "offset or length is no number"},
               {"data.bin", "x", "offset or length is no number"},
               {"none.bin", "0", "No such file"},
               {"../outside.bin", "0", "is outside of the model's folder"},
               {"link.bin", "0", "is outside of the model's folder"},
               {"/etc/passwd", "0", "is no path in the model's folder"},
               {"", "0", "is no path in the model's folder"},
               {".", "0", "is outside of the model's folder"}};
  float file[7] = {0, 1, 2, 3, 4, 5, 6};
  char path[600], target[600];
  (void)data;
  snprintf(path, sizeof path, "%s/inside", ct_scratch());
  mkdir(path, 0777);
  write_file("outside.bin", file, sizeof file);
  write_file("inside/data.bin", file, sizeof file);
  snprintf(path, sizeof path, "%s/inside/link.bin", ct_scratch());
  snprintf(target, sizeof target, "%s/outside.bin", ct_scratch());
  CT_EQ_INT(symlink(target, path), 0);
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    gemel_error error = {0};
    ct_context("%s at %s", cases[k].location, cases[k].offset);
    gemel_tensor *weight = external(cases[k].location, cases[k].offset, &error);
    if (cases[k].reason == NULL) {
      CT_REQUIRE(weight != NULL);
      CT_EQ_MEM(gemel_tensor_data(weight), file + 1, 6 * sizeof *file);
    } else {
      CT_CHECK(weight == NULL);
      CT_HAS_STR(error.text, cases[k].reason);
    }
    gemel_tensor_unref(weight);
  }
}

/* ---- Damage ---- */

/* A model cut off at each byte is refused, or is another model that is whole (its last field was
 * cut off as a whole). */
static void cut_off(const void *data) {
  message whole = onnx_model(LAYER);
  (void)data;
  for (size_t k = 0; k < whole.length; k++) {
    message model = {.length = k};
    gemel_error error = {0};
    memcpy(model.bytes, whole.bytes, k);
    char *text = text_of(&model, NULL, &error);
    ct_context("cut off at %zu of %zu", k, whole.length);
    CT_CHECK(text == NULL);
    CT_CHECK(error.status == GEMEL_BAD_FILE);
    CT_HAS_STR(error.text, "m.onnx");
    gemel_text_free(text);
  }
}

/* Each byte of a model in turn is each other byte: it is read or refused with a reason, and nothing
 * else happens. */
static void each_byte_changed(const void *data) {
  message whole = onnx_model(LAYER);
  size_t read = 0, refused = 0;
  (void)data;
  for (size_t k = 0; k < whole.length; k++) {
    for (int byte = 1; byte < 256; byte += 2) {
      message model = whole;
      gemel_error error = {0};
      model.bytes[k] ^= (unsigned char)byte;
      char *text = text_of(&model, NULL, &error);
      CT_CHECK((text != NULL) == (error.status == GEMEL_OK));
      CT_CHECK(error.status != GEMEL_NO_MEMORY && error.status != GEMEL_INTERNAL);
      read += text != NULL;
      refused += text == NULL;
      gemel_text_free(text);
    }
  }
  CT_CHECK(read > 0 && refused > read);
}

static int everything(void *data) {
  gemel_error error = {0};
  char *text = text_of(data, NULL, &error);
  gemel_text_free(text);
  return (int)error.status;
}

static void memory_runs_out(const void *data) {
  message layer = onnx_model(LAYER), roots = onnx_model(ROOTS);
  (void)data;
  CT_CHECK(ct_oom(everything, &layer) > 10);
  CT_CHECK(ct_oom(everything, &roots) > 10);
}

static const ct_test tests[] = {
    CT_TEST("weights_are_inputs", weights_are_inputs, NULL),
    CT_TEST("what_a_model_lists", what_a_model_lists, NULL),
    CT_TEST("unknown_symbol", unknown_symbol, NULL),
    CT_TEST("symbols_like", symbols_like, NULL),
    CT_TEST("casts_of_shapes", casts_of_shapes, NULL),
    CT_TEST("slices_of_symbols", slices_of_symbols, NULL),
    CT_TEST("resize_of_symbols", resize_of_symbols, NULL),
    CT_TEST("packed_attention", packed_attention, NULL),
    CT_TEST("multi_head_attention", multi_head_attention, NULL),
    CT_TEST("tensors_as_files", tensors_as_files, NULL),
    CT_TEST("forms_of_gelu", forms_of_gelu, NULL),
    CT_TEST("own_operators", own_operators, NULL),
    CT_TEST("functions_that_double", functions_that_double, NULL),
    CT_TEST("shape_that_lies", shape_that_lies, NULL),
    CT_TEST("external_data", external_data, NULL),
    CT_TEST("cut_off", cut_off, NULL),
    CT_TEST("each_byte_changed", each_byte_changed, NULL),
    CT_TEST("memory_runs_out", memory_runs_out, NULL),
};

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(becomings); k++) {
    CT_ADD("onnx", becomings[k].name, as_it_should, &becomings[k]);
  }
  for (size_t k = 0; k < CT_COUNT(refusals); k++) {
    CT_ADD("onnx", refusals[k].name, refused_as_it_should, &refusals[k]);
  }
  ct_suite("onnx", tests, CT_COUNT(tests));
}
