/* SPDX-License-Identifier: MIT
 *
 * Models of ONNX: what becomes of them, and that what is damaged, lies, or asks for what gemel
 * doesn't have is refused with a reason. Models are written here byte by byte (onnx-writer.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <gemel/gemel.h>
#include "ct.h"
#include "onnx-writer.h"

/* ---- Models ---- */

static const float weights[6] = {1, 2, 3, 4, 5, 6};
static const int64_t shape_n3[2] = {-1, 3}, shape_n2[2] = {-1, 2}, shape_32[2] = {3, 2};

/* y = relu(x w), x: f32[N, 3], w: f32[3, 2]. */
static void put_layer(message *graph) {
  message tensor = {0};
  put_node(graph, "MatMul", "x w", "p", NULL);
  put_node(graph, "Relu", "p", "y", NULL);
  put_text(graph, 2, "layer");
  raw_tensor(&tensor, "w", ONNX_FLOAT, 2, shape_32, weights, sizeof weights);
  put_message(graph, 5, &tensor);
  put_value(graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(graph, 12, "y", ONNX_FLOAT, 2, shape_n2);
}

static void layer(message *model) {
  message graph = {0};
  put_layer(&graph);
  put_model(model, &graph);
}

/* The graph of MODEL as text, to be freed with gemel_text_free; NULL and *ERROR on failure. */
static char *text_of(const message *model, const gemel_onnx_options *options, gemel_error *error) {
  gemel_context *context = gemel_context_new(error);
  gemel_onnx *read =
      context != NULL ? gemel_onnx_parse(model->bytes, model->length, "m.onnx", NULL, error) : NULL;
  char *name = NULL, *text = NULL;
  gemel_graph *graph = read != NULL ? gemel_onnx_graph(read, context, options, &name, error) : NULL;
  if (graph != NULL && gemel_graph_check(graph, error) == GEMEL_OK) {
    text = gemel_print_string(graph, name, error);
  }
  gemel_text_free(name);
  gemel_graph_unref(graph);
  gemel_onnx_free(read);
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

static void weights_are_constants(const void *data) {
  message model = {0};
  (void)data;
  layer(&model);
  becomes(&model, NULL,
          "graph layer(x: f32[N, 3]) {\n  n0 = tensor(f32[3, 2], [1, 2, 3, 4, 5, 6])\n"
          "  n1 = dot(x, n0)\n  n2 = relu(n1)\n  return y = n2\n}\n");
}

static void weights_are_inputs(const void *data) {
  message model = {0};
  const char *const inputs[1] = {"weight"}, *const symbols[1] = {"N"};
  const int64_t sizes[1] = {7};
  gemel_onnx_options options = {
      .size = sizeof options, .n_symbols = 1, .symbols = symbols, .sizes = sizes, .inputs = inputs};
  (void)data;
  layer(&model);
  becomes(&model, &options,
          "graph layer(weight: f32[3, 2], x: f32[7, 3]) {\n  n0 = dot(x, weight)\n"
          "  n1 = relu(n0)\n  return y = n1\n}\n");
}

static void unknown_symbol(const void *data) {
  message model = {0};
  const char *const symbols[1] = {"M"};
  const int64_t sizes[1] = {7};
  gemel_onnx_options options = {
      .size = sizeof options, .n_symbols = 1, .symbols = symbols, .sizes = sizes};
  gemel_error error = {0};
  (void)data;
  layer(&model);
  CT_CHECK(text_of(&model, &options, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_NOT_FOUND);
  CT_HAS_STR(error.text, "no input has a size called M");
}

/* reshape(x, [shape(x)[0] * 3, -1]): what is computed of the shape leaves no node. */
static void shapes_are_folded(const void *data) {
  static const int64_t zero[1] = {0}, three[1] = {3}, rest[1] = {-1}, one[1] = {1};
  message graph = {0}, model = {0}, tensor = {0}, attributes = {0};
  static const char *const names[3] = {"zero", "three", "rest"};
  const int64_t *const values[3] = {zero, three, rest};
  (void)data;
  put_node(&graph, "Shape", "x", "s", NULL);
  put_node(&graph, "Gather", "s zero", "n", NULL);
  put_node(&graph, "Mul", "n three", "m", NULL);
  put_int_attribute(&attributes, "axis", 0);
  put_node(&graph, "Concat", "m rest", "t", &attributes);
  put_node(&graph, "Reshape", "x t", "y", NULL);
  put_text(&graph, 2, "flat");
  for (int k = 0; k < 3; k++) {
    raw_tensor(&tensor, names[k], ONNX_INT64, 1, one, values[k], sizeof(int64_t));
    put_message(&graph, 5, &tensor);
  }
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n2);
  put_model(&model, &graph);
  becomes(&model, NULL,
          "graph flat(x: f32[N, 3]) {\n  n0 = reshape(x, shape = [3*N, 1])\n  return y = n0\n}\n");
}

static void what_a_model_lists(const void *data) {
  message model = {0};
  gemel_error error = {0};
  const char *domain = NULL;
  size_t k = 0;
  (void)data;
  layer(&model);
  gemel_onnx *read = gemel_onnx_parse(model.bytes, model.length, "m.onnx", NULL, &error);
  CT_REQUIRE(read != NULL);
  CT_EQ_INT(gemel_onnx_weight_count(read), 1);
  CT_EQ_STR(gemel_onnx_weight_name(read, 0), "w");
  CT_CHECK(gemel_onnx_weight_name(read, 1) == NULL);
  CT_EQ_INT(gemel_onnx_input_count(read), 1);
  CT_EQ_STR(gemel_onnx_input_name(read, 0), "x");
  while (gemel_onnx_operator(k, &domain) != NULL &&
         strcmp(gemel_onnx_operator(k, &domain), "MatMul") != 0) {
    k++;
  }
  CT_EQ_STR(gemel_onnx_operator(k, &domain), "MatMul");
  CT_EQ_STR(domain, "");
  gemel_onnx_free(read);
}

/* Parameters of an activation that ONNX Runtime fuses into a product. */
static void fused_activation(const void *data) {
  const float alpha = 0.25F;
  uint32_t bits;
  message graph = {0}, model = {0}, opset = {0}, node = {0}, attribute = {0};
  (void)data;
  memcpy(&bits, &alpha, sizeof bits);
  put_text(&node, 1, "x");
  put_text(&node, 1, "w");
  put_text(&node, 2, "y");
  put_text(&node, 4, "FusedGemm");
  put_text(&node, 7, "com.microsoft");
  put_text(&attribute, 1, "activation");
  put_text(&attribute, 4, "LeakyRelu");
  put_message(&node, 5, &attribute);
  put_text(&attribute, 1, "activation_alpha");
  put_varint(&attribute, 2 << 3 | 5);
  put_bytes(&attribute, &bits, sizeof bits);
  put_message(&node, 5, &attribute);
  put_message(&graph, 1, &node);
  put_text(&graph, 2, "fused");
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 11, "w", ONNX_FLOAT, 2, shape_32);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n2);
  put_text(&opset, 1, "com.microsoft");
  put_int(&opset, 2, 1);
  put_message(&model, 8, &opset);
  put_model(&model, &graph);
  becomes(&model, NULL,
          "graph fused(x: f32[N, 3], w: f32[3, 2]) {\n  n0 = dot(x, w)\n  n1 = 0.25:f32\n"
          "  n2 = mul(n0, n1)\n  n3 = 0:f32\n  n4 = lt(n0, n3)\n  n5 = where(n4, n2, n0)\n"
          "  return y = n5\n}\n");
}

/* A vector of two integers. */
static void put_integers(message *graph, const char *name, int64_t a, int64_t b) {
  message tensor = {0};
  const int64_t values[2] = {a, b}, two = 2;
  raw_tensor(&tensor, name, ONNX_INT64, 1, &two, values, sizeof values);
  put_message(graph, 5, &tensor);
}

/* PyTorch's expand: where a size is -1, the tensor's own is taken. No size of x is. */
static void expand_of_pytorch(const void *data) {
  static const int64_t shape_13[2] = {1, 3};
  message graph = {0}, model = {0};
  (void)data;
  put_integers(&graph, "minus", -1, -1);
  put_integers(&graph, "ones", 1, 1);
  put_node(&graph, "Shape", "x", "s", NULL);
  put_node(&graph, "Equal", "s minus", "own", NULL);
  put_node(&graph, "Where", "own ones s", "t", NULL);
  put_node(&graph, "Expand", "b t", "y", NULL);
  put_text(&graph, 2, "g");
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 11, "b", ONNX_FLOAT, 2, shape_13);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
  becomes(&model, NULL,
          "graph g(x: f32[N, 3], b: f32[1, 3]) {\n  n0 = broadcast_to(b, shape = [N, 3])\n"
          "  return y = n0\n}\n");
}

/* reshape(x, [shape(x)[0], -1]) by way of DTYPE; f16 doesn't hold all sizes. */
static void put_cast_shape(message *model, int dtype) {
  static const int64_t zero = 0, rest = -1, one = 1;
  message graph = {0}, tensor = {0}, attributes = {0};
  put_node(&graph, "Shape", "x", "s", NULL);
  put_int_attribute(&attributes, "to", dtype);
  put_node(&graph, "Cast", "s", "t", &attributes);
  put_node(&graph, "Gather", "t zero", "n", NULL);
  put_int_attribute(&attributes, "to", ONNX_INT64);
  put_node(&graph, "Cast", "n", "m", &attributes);
  put_int_attribute(&attributes, "axis", 0);
  put_node(&graph, "Concat", "m rest", "to", &attributes);
  put_node(&graph, "Reshape", "x to", "y", NULL);
  put_text(&graph, 2, "g");
  raw_tensor(&tensor, "zero", ONNX_INT64, 1, &one, &zero, sizeof zero);
  put_message(&graph, 5, &tensor);
  raw_tensor(&tensor, "rest", ONNX_INT64, 1, &one, &rest, sizeof rest);
  put_message(&graph, 5, &tensor);
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(model, &graph);
}

static void casts_of_shapes(const void *data) {
  static const int kept[3] = {6, ONNX_FLOAT, 11}; /* i32, f32, f64 */
  message model = {0};
  (void)data;
  for (int k = 0; k < 3; k++, model.length = 0) {
    put_cast_shape(&model, kept[k]);
    becomes(&model, NULL,
            "graph g(x: f32[N, 3]) {\n  n0 = reshape(x, shape = [N, 3])\n  return y = n0\n}\n");
  }
  put_cast_shape(&model, 10);
  is_refused(&model, GEMEL_UNSUPPORTED, "a shape that isn't known");
}

/* Of x: f32[N, 3], what integers a and b are bounds of, along the first axis; "s" is [N]. */
static void slice_becomes(const char *start, const char *end, const char *expected) {
  static const int64_t shape_m3[2] = {7, 3}, one = 1, zero = 0, numbers[3] = {1, 2, -1};
  static const char *const names[3] = {"one", "two", "last"};
  message graph = {0}, model = {0}, tensor = {0};
  char inputs[40], text[300];
  raw_tensor(&tensor, "zero", ONNX_INT64, 1, &one, &zero, sizeof zero);
  put_message(&graph, 5, &tensor);
  for (int k = 0; k < 3; k++) {
    raw_tensor(&tensor, names[k], ONNX_INT64, 1, &one, &numbers[k], sizeof *numbers);
    put_message(&graph, 5, &tensor);
  }
  put_int_attribute(&tensor, "end", 1);
  put_node(&graph, "Shape", "x", "s", &tensor);
  put_node(&graph, "Neg", "s", "minus", NULL);
  snprintf(inputs, sizeof inputs, "%s %s %s zero", expected[0] == 'w' ? "w" : "x", start, end);
  put_node(&graph, "Slice", inputs, "y", NULL);
  put_text(&graph, 2, "g");
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 11, "w", ONNX_FLOAT, 2, shape_m3);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
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

/* Parts of an axis of N. */
static void split_of_symbols(const void *data) {
  message graph = {0}, model = {0};
  (void)data;
  put_node(&graph, "Split", "x", "y z", NULL);
  put_text(&graph, 2, "g");
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "z", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
  becomes(&model, NULL,
          "graph g(x: f32[N, 3]) {\n"
          "  n0, n1 = split(x, sizes = [(N + 1)//2, -((N + 1)//2) + N])\n"
          "  return y = n0, z = n1\n}\n");
}

/* x: f32[N, 3] resized along N by SCALE, of opset 13 to the nearest element, half a one from the
 * edge, or of opset 10. */
static void put_resize(message *model, float scale, int64_t opset, int rows) {
  static const int64_t two = 2;
  const float scales[2] = {scale, 1};
  message graph = {0}, tensor = {0};
  raw_tensor(&tensor, "scales", ONNX_FLOAT, 1, &two, scales, sizeof scales);
  put_message(&graph, 5, &tensor);
  put_node(&graph, "Resize", opset < 11 ? "x scales" : "x  scales", "y", NULL);
  put_text(&graph, 2, "g");
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, (const int64_t[]){rows, 3});
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_int(&tensor, 2, opset);
  put_message(model, 8, &tensor);
  put_int(model, 1, 8);
  put_message(model, 7, &graph);
}

static void resize_of_symbols(const void *data) {
  message model = {0};
  (void)data;
  put_resize(&model, 3, 13, -1);
  becomes(&model, NULL,
          "graph g(x: f32[N, 3]) {\n  n0 = dimshuffle(x, order = [0, -1, 1])\n"
          "  n1 = broadcast_to(n0, shape = [N, 3, 3])\n"
          "  n2 = reshape(n1, shape = [3*N, 3])\n  return y = n2\n}\n");
  model.length = 0;
  put_resize(&model, 2.5F, 13, -1);
  is_refused(&model, GEMEL_UNSUPPORTED, "node 1 (Resize): axis 0 has a size that is a symbol");
}

/* A smaller result of opset 10 takes the element behind. */
static void resize_of_opset_10(const void *data) {
  message model = {0};
  (void)data;
  put_resize(&model, 0.6F, 10, 5);
  becomes(&model, NULL,
          "graph g(x: f32[5, 3]) {\n  n0 = tensor(i64[3], [0, 2, 4])\n  n1 = take(x, n0)\n"
          "  return y = n1\n}\n");
}

/* w reshaped to the square roots of 9 and 4. */
static void put_roots(message *model) {
  message graph = {0}, attributes = {0};
  put_integers(&graph, "squares", 9, 4);
  put_int_attribute(&attributes, "to", ONNX_FLOAT);
  put_node(&graph, "Cast", "squares", "f", &attributes);
  put_node(&graph, "Sqrt", "f", "r", NULL);
  put_int_attribute(&attributes, "to", ONNX_INT64);
  put_node(&graph, "Cast", "r", "s", &attributes);
  put_node(&graph, "Reshape", "w s", "y", NULL);
  put_text(&graph, 2, "g");
  put_value(&graph, 11, "w", ONNX_FLOAT, 2, (const int64_t[]){2, 3});
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_32);
  put_model(model, &graph);
}

/* What is computed of constants is computed when the model is read, whatever the operator. */
static void constants_are_folded(const void *data) {
  message model = {0};
  (void)data;
  put_roots(&model);
  becomes(&model, NULL,
          "graph g(w: f32[2, 3]) {\n  n0 = reshape(w, shape = [3, 2])\n  return y = n0\n}\n");
}

/* A float that is computed of constants is no number yet: another program rounds it otherwise. */
static void floats_stay_computed(const void *data) {
  static const float c[2] = {1, 2};
  static const int64_t shape_2 = 2;
  message graph = {0}, model = {0}, tensor = {0};
  (void)data;
  raw_tensor(&tensor, "c", ONNX_FLOAT, 1, &shape_2, c, sizeof c);
  put_message(&graph, 5, &tensor);
  put_node(&graph, "Exp", "c", "e", NULL);
  put_node(&graph, "Mul", "w e", "y", NULL);
  put_text(&graph, 2, "g");
  put_value(&graph, 11, "w", ONNX_FLOAT, 2, shape_32);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_32);
  put_model(&model, &graph);
  becomes(&model, NULL,
          "graph g(w: f32[3, 2]) {\n  n0 = tensor(f32[2], [1, 2])\n  n1 = exp(n0)\n"
          "  n2 = mul(w, n1)\n  return y = n2\n}\n");
}

/* Attention of ONNX Runtime with scores of 0 and values x: means of those x that a query sees. */
static void attention_gives(const char *operator_, const char *inputs, const int32_t *mask,
                            int rank, const int64_t *of_mask, const float expected[3]) {
  static const float x[3] = {1, 2, 6}, w[3] = {0, 0, 1}, none[3] = {0}, past = 5;
  static const int64_t shape_1[4] = {1, 1, 1, 1};
  static const int64_t shape[3] = {1, 3, 1}, shape_13[2] = {1, 3};
  message graph = {0}, model = {0}, attributes = {0}, tensor = {0};
  gemel_error error = {0};
  put_int_attribute(&attributes, "num_heads", 1);
  put_int_attribute(&attributes, "unidirectional", 1);
  put_text(&attributes, 7, "com.microsoft");
  raw_tensor(&tensor, "w", ONNX_FLOAT, 2, shape_13, w, sizeof w);
  put_message(&graph, 5, &tensor);
  raw_tensor(&tensor, "m", 6, rank, of_mask, mask, (size_t)of_mask[rank - 1] * sizeof *mask);
  put_message(&graph, 5, &tensor);
  raw_tensor(&tensor, "x", ONNX_FLOAT, 3, shape, x, sizeof x);
  put_message(&graph, 5, &tensor);
  raw_tensor(&tensor, "q", ONNX_FLOAT, 3, shape, none, sizeof none);
  put_message(&graph, 5, &tensor);
  raw_tensor(&tensor, "b", ONNX_FLOAT, 1, shape + 1, w, sizeof w);
  put_message(&graph, 5, &tensor);
  raw_tensor(&tensor, "k", ONNX_FLOAT, 4, shape_1, none, sizeof *none);
  put_message(&graph, 5, &tensor);
  raw_tensor(&tensor, "v", ONNX_FLOAT, 4, shape_1, &past, sizeof past);
  put_message(&graph, 5, &tensor);
  put_node(&graph, operator_, inputs, "y", &attributes);
  put_value(&graph, 12, "y", ONNX_FLOAT, 3, shape);
  put_model(&model, &graph);
  gemel_context *context = gemel_context_new(&error);
  gemel_onnx *read = gemel_onnx_parse(model.bytes, model.length, "m.onnx", NULL, &error);
  gemel_graph *made = read != NULL ? gemel_onnx_graph(read, context, NULL, NULL, &error) : NULL;
  gemel_tensor *y = NULL;
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(made != NULL);
  CT_EQ_INT(gemel_evaluate(made, 0, NULL, 1, &y, &error), GEMEL_OK);
  for (int k = 0; y != NULL && k < 3; k++) {
    CT_CHECK(((const float *)gemel_tensor_data(y))[k] == expected[k]);
  }
  gemel_tensor_unref(y);
  gemel_graph_unref(made);
  gemel_onnx_free(read);
  gemel_context_unref(context);
}

/* Masks by keys, by lengths, and by ends and starts; a query that sees none is as without. */
static void packed_attention(const void *data) {
  static const int64_t by_key[2] = {1, 3}, one = 1, two = 2;
  static const float expected[3] = {1, 1.5F, 1.5F}, behind[3] = {1, 2, 4};
  (void)data;
  attention_gives("Attention", "x w  m", (const int32_t[]){1, 1, 0}, 2, by_key, expected);
  attention_gives("Attention", "x w  m", (const int32_t[]){2}, 1, &one, expected);
  attention_gives("Attention", "x w  m", (const int32_t[]){2, 0}, 1, &two, expected);
  attention_gives("Attention", "x w  m", (const int32_t[]){3, 1}, 1, &two, behind);
}

/* Queries and keys of 0, values x + 1 of a bias, behind one of 5. */
static void multi_head_attention(const void *data) {
  static const int64_t by_key[2] = {1, 4};
  static const float expected[3] = {5, 4, 4};
  (void)data;
  attention_gives("MultiHeadAttention", "q q x b m  k v", (const int32_t[]){1, 0, 1, 0}, 2, by_key,
                  expected);
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

static void skip_rms_normalization(const void *data) {
  message graph = {0}, model = {0}, opset = {0}, domain = {0};
  static const int64_t three = 3;
  (void)data;
  put_text(&domain, 7, "com.microsoft");
  put_node(&graph, "SkipSimplifiedLayerNormalization", "x x s b", "y   z", &domain);
  put_text(&graph, 2, "g");
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 11, "s", ONNX_FLOAT, 1, &three);
  put_value(&graph, 11, "b", ONNX_FLOAT, 1, &three);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "z", ONNX_FLOAT, 2, shape_n3);
  put_text(&opset, 1, "com.microsoft");
  put_int(&opset, 2, 1);
  put_message(&model, 8, &opset);
  put_model(&model, &graph);
  becomes(&model, NULL,
          "graph g(x: f32[N, 3], s: f32[3], b: f32[3]) {\n  n0 = add(x, x)\n  n1 = add(n0, b)\n"
          "  n2 = 1e-12:f32\n  n3 = sqr(n1)\n  n4 = sum(n3, axes = [-1], keepdims = 1)\n"
          "  n5 = 3:f32\n  n6 = div(n4, n5)\n  n7 = add(n6, n2)\n  n8 = sqrt(n7)\n"
          "  n9 = div(n1, n8)\n  n10 = cast(n9, dtype = f32)\n  n11 = mul(n10, s)\n"
          "  return y = n11, z = n1\n}\n");
}

/* GELU by erf, and its approximation behind a bias. */
static void forms_of_gelu(const void *data) {
  message graph = {0}, model = {0}, opset = {0}, domain = {0};
  static const char *const inputs[2] = {"x", "x b"}, *const names[2] = {"Gelu", "FastGelu"};
  static const char *const texts[2] = {
      "graph g(x: f32[N, 3], b: f32[N, 3]) {\n  n0 = 1.4142135:f32\n  n1 = div(x, n0)\n"
      "  n2 = erf(n1)\n  n3 = 1:f32\n  n4 = add(n2, n3)\n  n5 = 0.5:f32\n  n6 = mul(x, n4)\n"
      "  n7 = mul(n6, n5)\n  return y = n7\n}\n",
      "graph g(x: f32[N, 3], b: f32[N, 3]) {\n  n0 = add(x, b)\n  n1 = sqr(n0)\n  n2 = mul(n0, "
      "n1)\n"
      "  n3 = 0.044715:f32\n  n4 = mul(n2, n3)\n  n5 = add(n0, n4)\n  n6 = 0.7978846:f32\n"
      "  n7 = mul(n5, n6)\n  n8 = tanh(n7)\n  n9 = 1:f32\n  n10 = add(n8, n9)\n  n11 = 0.5:f32\n"
      "  n12 = mul(n0, n10)\n  n13 = mul(n12, n11)\n  return y = n13\n}\n"};
  (void)data;
  for (int k = 0; k < 2; k++) {
    put_text(&domain, 7, "com.microsoft");
    put_node(&graph, names[k], inputs[k], "y", &domain);
    put_text(&graph, 2, "g");
    put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
    put_value(&graph, 11, "b", ONNX_FLOAT, 2, shape_n3);
    put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
    put_text(&opset, 1, "com.microsoft");
    put_int(&opset, 2, 1);
    put_message(&model, 8, &opset);
    put_model(&model, &graph);
    becomes(&model, NULL, texts[k]);
    model.length = 0;
  }
}

/* ---- What is refused ---- */

/* Whether an axis of a symbol's size goes isn't known. */
static void squeeze_of_symbols(const void *data) {
  message graph = {0}, model = {0};
  (void)data;
  put_node(&graph, "Squeeze", "x", "y", NULL);
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
  is_refused(&model, GEMEL_UNSUPPORTED,
             "node 1 (Squeeze): no axes are given, and whether size 0 is 1 isn't known");
}

static void inputs_of_one_name(const void *data) {
  message graph = {0}, model = {0};
  (void)data;
  put_node(&graph, "Relu", "x", "y", NULL);
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n2);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
  is_refused(&model, GEMEL_BAD_FILE, "two inputs are called 'x'");
}

static void unknown_operator(const void *data) {
  message graph = {0}, model = {0};
  (void)data;
  put_node(&graph, "Relu", "x", "a", NULL);
  put_node(&graph, "Frobnicate", "a", "b", NULL);
  put_node(&graph, "Frobnicate", "b", "y", NULL);
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
  is_refused(&model, GEMEL_UNSUPPORTED,
             "m.onnx: node 2 (Frobnicate): gemel doesn't know this operator, of which the model "
             "has 2");
}

static void name_that_nothing_makes(const void *data) {
  message graph = {0}, model = {0};
  (void)data;
  put_node(&graph, "Relu", "z", "y", NULL);
  put_node(&graph, "Relu", "y", "z", NULL);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
  is_refused(&model, GEMEL_BAD_FILE, "node 1 (Relu): nothing before it makes its input 'z'");
}

static void name_made_twice(const void *data) {
  message graph = {0}, model = {0};
  (void)data;
  put_node(&graph, "Relu", "x", "y", NULL);
  put_node(&graph, "Abs", "x", "y", NULL);
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
  is_refused(&model, GEMEL_BAD_FILE, "node 2 (Abs): 'y' is made twice");
}

static void function_that_calls_itself(const void *data) {
  message graph = {0}, model = {0}, function = {0}, node = {0};
  (void)data;
  put_text(&function, 1, "Loopy");
  put_text(&function, 10, "own");
  put_text(&function, 4, "x");
  put_text(&function, 5, "y");
  for (int k = 0; k < 2; k++) {
    put_text(&node, 1, "x");
    put_text(&node, 2, "y");
    put_text(&node, 4, "Loopy");
    put_text(&node, 7, "own");
    put_message(k == 0 ? &function : &graph, k == 0 ? 7 : 1, &node);
  }
  put_message(&model, 25, &function);
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
  is_refused(&model, GEMEL_BAD_FILE, "functions and branches are nested more than 32 deep");
}

/* Function "k" of 24 applies function "k - 1" twice: some 16 million nodes from 2 KB. */
static void functions_that_double(const void *data) {
  message graph = {0}, model = {0}, function = {0}, node = {0};
  char name[2] = "a", before[2] = "a";
  (void)data;
  for (int k = 0; k < 24; k++) {
    name[0] = (char)('a' + k);
    before[0] = (char)(name[0] - 1);
    for (int twice = 0; twice < 2; twice++) {
      put_text(&node, 1, twice ? "t" : "x");
      put_text(&node, 2, twice ? "y" : "t");
      put_text(&node, 4, k == 0 ? "Relu" : before);
      if (k > 0) {
        put_text(&node, 7, "own");
      }
      put_message(&function, 7, &node);
    }
    put_text(&function, 1, name);
    put_text(&function, 4, "x");
    put_text(&function, 5, "y");
    put_text(&function, 10, "own");
    put_message(&model, 25, &function);
  }
  put_text(&node, 1, "x");
  put_text(&node, 2, "y");
  put_text(&node, 4, name);
  put_text(&node, 7, "own");
  put_message(&graph, 1, &node);
  put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
  put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n3);
  put_model(&model, &graph);
  is_refused(&model, GEMEL_BAD_FILE, "functions and branches are applied more than 65536 times");
}

/* A weight whose shape is SHAPE and that has 24 bytes. */
static void shape_that_lies(const void *data) {
  static const int64_t shapes[][2] = {
      {3, 3}, {(int64_t)1 << 40, (int64_t)1 << 20}, {-1, 2}, {1, (int64_t)1 << 33}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(shapes); k++) {
    message graph = {0}, model = {0}, tensor = {0};
    gemel_error error = {0};
    put_node(&graph, "MatMul", "x w", "y", NULL);
    raw_tensor(&tensor, "w", ONNX_FLOAT, 2, shapes[k], weights, sizeof weights);
    put_message(&graph, 5, &tensor);
    put_value(&graph, 11, "x", ONNX_FLOAT, 2, shape_n3);
    put_value(&graph, 12, "y", ONNX_FLOAT, 2, shape_n2);
    put_model(&model, &graph);
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
  put_int(&tensor, 2, ONNX_FLOAT);
  put_int(&tensor, 14, 1);
  for (int k = 0; k < 2; k++) {
    put_text(&entry, 1, entries[k][0]);
    put_text(&entry, 2, entries[k][1]);
    put_message(&tensor, 13, &entry);
  }
  put_message(&graph, 5, &tensor);
  put_model(&model, &graph);
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
      CT_EQ_INT(memcmp(gemel_tensor_data(weight), weights, sizeof weights), 0);
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
  message whole = {0};
  (void)data;
  layer(&whole);
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
  message whole = {0};
  size_t read = 0, refused = 0;
  (void)data;
  layer(&whole);
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
  message model = {0};
  (void)data;
  layer(&model);
  CT_CHECK(ct_oom(everything, &model) > 10);
  model.length = 0;
  put_roots(&model);
  CT_CHECK(ct_oom(everything, &model) > 10);
}

static const ct_test tests[] = {
    CT_TEST("weights_are_constants", weights_are_constants, NULL),
    CT_TEST("weights_are_inputs", weights_are_inputs, NULL),
    CT_TEST("what_a_model_lists", what_a_model_lists, NULL),
    CT_TEST("unknown_symbol", unknown_symbol, NULL),
    CT_TEST("shapes_are_folded", shapes_are_folded, NULL),
    CT_TEST("expand_of_pytorch", expand_of_pytorch, NULL),
    CT_TEST("casts_of_shapes", casts_of_shapes, NULL),
    CT_TEST("slices_of_symbols", slices_of_symbols, NULL),
    CT_TEST("split_of_symbols", split_of_symbols, NULL),
    CT_TEST("resize_of_symbols", resize_of_symbols, NULL),
    CT_TEST("resize_of_opset_10", resize_of_opset_10, NULL),
    CT_TEST("constants_are_folded", constants_are_folded, NULL),
    CT_TEST("floats_stay_computed", floats_stay_computed, NULL),
    CT_TEST("packed_attention", packed_attention, NULL),
    CT_TEST("multi_head_attention", multi_head_attention, NULL),
    CT_TEST("tensors_as_files", tensors_as_files, NULL),
    CT_TEST("fused_activation", fused_activation, NULL),
    CT_TEST("skip_rms_normalization", skip_rms_normalization, NULL),
    CT_TEST("forms_of_gelu", forms_of_gelu, NULL),
    CT_TEST("squeeze_of_symbols", squeeze_of_symbols, NULL),
    CT_TEST("inputs_of_one_name", inputs_of_one_name, NULL),
    CT_TEST("unknown_operator", unknown_operator, NULL),
    CT_TEST("name_that_nothing_makes", name_that_nothing_makes, NULL),
    CT_TEST("name_made_twice", name_made_twice, NULL),
    CT_TEST("function_that_calls_itself", function_that_calls_itself, NULL),
    CT_TEST("functions_that_double", functions_that_double, NULL),
    CT_TEST("shape_that_lies", shape_that_lies, NULL),
    CT_TEST("external_data", external_data, NULL),
    CT_TEST("cut_off", cut_off, NULL),
    CT_TEST("each_byte_changed", each_byte_changed, NULL),
    CT_TEST("memory_runs_out", memory_runs_out, NULL),
};

void ct_register(void) {
  ct_suite("onnx", tests, CT_COUNT(tests));
}
