/* SPDX-License-Identifier: MIT
 *
 * Graph text: that what is parsed prints, what is printed parses back to the same graph and prints
 * the same, that errors say where they are, and that no text, however long, deep or damaged, does
 * harm.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/graph.h"
#include "text/expr.h"
#include "text/file.h"
#include "text/names.h"
#include "text/write.h"
#include "ops/ops.h"
#include "ct.h"
#include "support/corpus.h"
#include "support/graph-text.h"
#include "support/small-stack.h"
#include "support/random.h"

static gemel_context *begin(void) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  CT_EQ_STR(error.text, "");
  return context;
}

/* ---- Expressions ---- */

#define HEAD "graph t(x: f32[N], y: f32[N], h: f16[N], i: i32[], b: bool[N], z: f64[]) {\n"

/* An expression, and the lines that its graph prints as. */
static const struct {
  const char *text, *lines;
} expressions[] = {
    {"x + y * x", "n0 = mul(y, x)|n1 = add(x, n0)|return r = n1"},
    {"(x + y) * x", "n0 = add(x, y)|n1 = mul(n0, x)|return r = n1"},
    {"x - y - x", "n0 = sub(x, y)|n1 = sub(n0, x)|return r = n1"},
    {"x - (y - x)", "n0 = sub(y, x)|n1 = sub(x, n0)|return r = n1"},
    {"x / y % x", "n0 = div(x, y)|n1 = mod(n0, x)|return r = n1"},
    {"-x * y", "n0 = neg(x)|n1 = mul(n0, y)|return r = n1"},
    {"x - -y", "n0 = neg(y)|n1 = sub(x, n0)|return r = n1"},
    {"- -x", "n0 = neg(x)|n1 = neg(n0)|return r = n1"},
    {"not x < y", "n0 = lt(x, y)|n1 = logical_not(n0)|return r = n1"},
    {"b or b and not b", "n0 = logical_not(b)|n1 = logical_and(b, n0)|n2 = logical_or(b, n1)|"
                         "return r = n2"},
    {"x + y <= x * y", "n0 = add(x, y)|n1 = mul(x, y)|n2 = le(n0, n1)|return r = n2"},
    {"maximum(x, minimum(y, x + y))", "n0 = add(x, y)|n1 = minimum(y, n0)|n2 = maximum(x, n1)|"
                                      "return r = n2"},
    {"x", "return r = x"},
    {"((((x))))", "return r = x"},
    /* literals */
    {"2 * x", "n0 = 2:f32|n1 = mul(n0, x)|return r = n1"},
    {"h * 2", "n0 = 2:f16|n1 = mul(h, n0)|return r = n1"},
    {"h * 0.1", "n0 = 0.1:f16|n1 = mul(h, n0)|return r = n1"},
    {"z * 0.1", "n0 = 0.1:f64|n1 = mul(z, n0)|return r = n1"},
    {"i + 2", "n0 = 2:i32|n1 = add(i, n0)|return r = n1"},
    {"i + 2.5", "n0 = 2.5:f64|n1 = cast(i, dtype = f64)|n2 = add(n1, n0)|return r = n2"},
    {"b + 1", "n0 = 1:i64|n1 = cast(b, dtype = i64)|n2 = add(n1, n0)|return r = n2"},
    {"x - 1", "n0 = 1:f32|n1 = sub(x, n0)|return r = n1"},
    {"x -1", "n0 = 1:f32|n1 = sub(x, n0)|return r = n1"},
    {"x + -1", "n0 = -1:f32|n1 = add(x, n0)|return r = n1"},
    {"-1.5 + x", "n0 = -1.5:f32|n1 = add(n0, x)|return r = n1"},
    {"x + -inf", "n0 = -inf:f32|n1 = add(x, n0)|return r = n1"},
    {"x * (1 / 3)", "n0 = 1:f32|n1 = 3:f32|n2 = div(n0, n1)|n3 = mul(x, n2)|return r = n3"},
    {"(2 + 3) * x", "n0 = 2:f32|n1 = 3:f32|n2 = add(n0, n1)|n3 = mul(n2, x)|return r = n3"},
    {"i * exp(1)", "n0 = 1:f64|n1 = exp(n0)|n2 = cast(i, dtype = f64)|n3 = mul(n2, n1)|"
                   "return r = n3"},
    {"2 + 3", "n0 = 2:i64|n1 = 3:i64|n2 = add(n0, n1)|return r = n2"},
    {"2 + 0.5", "n0 = 2:f64|n1 = 0.5:f64|n2 = add(n0, n1)|return r = n2"},
    {"7", "n0 = 7:i64|return r = n0"},
    {"7.0", "n0 = 7:f64|return r = n0"},
    {"2 < 3", "n0 = 2:i64|n1 = 3:i64|n2 = lt(n0, n1)|return r = n2"},
    {"2 < 3.5", "n0 = 2:f64|n1 = 3.5:f64|n2 = lt(n0, n1)|return r = n2"},
    {"x * where(x > y, 1, where(x == y, 0.5, 0))",
     "n0 = gt(x, y)|n1 = eq(x, y)|n2 = 1:f32|n3 = 0.5:f32|n4 = 0:f32|n5 = where(n1, n3, n4)|"
     "n6 = where(n0, n2, n5)|n7 = mul(x, n6)|return r = n7"},
    {"where(b, 1, x)", "n0 = 1:f32|n1 = where(b, n0, x)|return r = n1"},
    {"where(b, 1, 2)", "n0 = 1:i64|n1 = 2:i64|n2 = where(b, n0, n1)|return r = n2"},
    {"x * 2:f64", "n0 = 2:f64|n1 = cast(x, dtype = f64)|n2 = mul(n1, n0)|return r = n2"},
    {"-2:f64 + 1", "n0 = -2:f64|n1 = 1:f64|n2 = add(n0, n1)|return r = n2"},
    {"i + 2147483647", "n0 = 2147483647:i32|n1 = add(i, n0)|return r = n1"},
    {"9007199254740993 - 1:i64",
     "n0 = 1:i64|n1 = 9007199254740993:i64|n2 = sub(n1, n0)|return r = n2"},
    {"true", "n0 = 1:bool|return r = n0"},
    {"cast(i, dtype = u8) + 255",
     "n0 = cast(i, dtype = u8)|n1 = 255:u8|n2 = add(n0, n1)|return r = n2"},
    {"1e3 * x", "n0 = 1000:f32|n1 = mul(n0, x)|return r = n1"},
    {".5 * x", "n0 = 0.5:f32|n1 = mul(n0, x)|return r = n1"},
};

static void check_lines(const char *printed, const char *lines) {
  char got[2000];
  size_t n = 0;
  const char *p = strchr(printed, '\n') + 1;
  while (*p && *p != '}') {
    p += strspn(p, " ");
    while (*p != '\n') {
      got[n++] = *p++;
    }
    got[n++] = '|';
    p++;
  }
  got[n - 1] = 0;
  CT_EQ_STR(got, lines);
}

static void expression(const void *data) {
  (void)data;
  gemel_context *context = begin();
  for (size_t k = 0; k < CT_COUNT(expressions); k++) {
    char text[1000];
    snprintf(text, sizeof text, HEAD "return r = %s }", expressions[k].text);
    ct_context("%s", expressions[k].text);
    gemel_graph *graph = parse(context, text);
    char *printed = graph ? gemel_print_string(graph, "t", NULL) : NULL;
    if (CT_CHECK(printed != NULL)) {
      check_lines(printed, expressions[k].lines);
    }
    gemel_text_free(printed);
    gemel_graph_unref(graph);
  }
  gemel_context_unref(context);
}

/* Derivative texts of every scalar row compile, and give the dtype of the operands. */
static void derivatives(const void *data) {
  (void)data;
  const char *const names[] = {"x", "y", "z", "r", "g"}, *const attr_names[] = {"dtype"};
  gemel_context *context = begin();
  gemel_error error = {0};
  int built = 0;
  for (int row = 0; row < GEMEL__SCALAR_COUNT; row++) {
    for (int k = 0; k < gemel__scalar_rows[row].n_inputs; k++) {
      const char *text = gemel__scalar_rows[row].grads[k];
      gemel_attr attr = gemel_attr_dtype("other", GEMEL_BF16);
      gemel_value values[5], out;
      if (!*text) {
        continue;
      }
      ct_context("%s: %s", gemel__scalar_rows[row].name, text);
      gemel__expr *expr = gemel__expr_compile_attrs(context, text, 5, names, 1, attr_names, &error);
      CT_REQUIRE(expr != NULL);
      gemel_graph *graph = gemel_graph_new(context, &error);
      for (int i = 0; i < 5; i++) {
        values[i] = gemel_input(graph, names[i], gemel_type_of_shape(context, GEMEL_BF16, 0, NULL));
      }
      out = gemel__expr_build_attrs(expr, graph, values, &attr, GEMEL_HERE);
      CT_EQ_STR(gemel_graph_error(graph)->text, "");
      CT_EQ_INT(gemel_type_dtype(context, gemel_value_type(out)), GEMEL_BF16);
      built++;
      gemel_graph_unref(graph);
      gemel__expr_free(expr);
    }
  }
  CT_CHECK(built > 20);
  gemel_context_unref(context);
}

static void expr_errors(const void *data) {
  (void)data;
  static const struct {
    const char *text;
    int column;
    const char *part;
  } bad[] = {
      {"", 1, "expected a value"},     {"x +", 4, "the end of the text"},
      {"x y", 3, "expected the end"},  {"(x", 3, "expected ')'"},
      {"x)", 2, "expected the end"},   {"f(x)", 1, "no operation"},
      {"add(x y)", 7, "expected ','"}, {"sum(x, axes = q)", 15, "'['"},
      {"x < y == x", 7, "chain"},      {"cast(x, dtype = dtype, dtype = f32)", 24, "given twice"},
      {"1.2.3 + x", 1, "malformed"},   {"add(x, x, y, axis = 1)", 14, "no attribute"},
      {"0x", 1, "malformed"},          {"99999999999999999999", 1, "too large"},
  };
  const char *const names[] = {"x", "y"}, *const attr_names[] = {"dtype"};
  gemel_context *context = begin();
  for (size_t k = 0; k < CT_COUNT(bad); k++) {
    gemel_error error = {0};
    ct_context("%s", bad[k].text);
    CT_CHECK(!gemel__expr_compile_attrs(context, bad[k].text, 2, names, 1, attr_names, &error));
    CT_EQ_INT(error.status, GEMEL_BAD_TEXT);
    CT_EQ_INT(error.line, 1);
    CT_EQ_INT(error.column, bad[k].column);
    CT_HAS_STR(error.text, bad[k].part);
  }
  gemel_context_unref(context);
}

/* ---- Round trips ---- */

static void check_trip(gemel_context *context, const gemel_graph *graph) {
  gemel_error error = {0};
  char *first = gemel_print_string(graph, "again", &error);
  CT_REQUIRE(first != NULL);
  gemel_graph *back = gemel_parse(context, first, strlen(first), "again", NULL, &error);
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(back != NULL);
  char *second = gemel_print_string(back, "again", &error);
  CT_EQ_STR(second, first);
  gemel_graph *third = gemel_parse(context, second, strlen(second), "again", NULL, &error);
  CT_CHECK(third && gemel__graph_same(back, third)); /* a printed graph is parsed in one order */
  CT_EQ_UINT(gemel_graph_output_count(back), gemel_graph_output_count(graph));
  CT_EQ_UINT(gemel_graph_input_count(back), gemel_graph_input_count(graph));
  CT_CHECK(gemel_graph_node_count(back) <= gemel_graph_node_count(graph));
  CT_EQ_INT(gemel_graph_check(back, &error), GEMEL_OK);
  gemel_text_free(first);
  gemel_text_free(second);
  gemel_graph_unref(back);
  gemel_graph_unref(third);
}

static void corpus_graph(const void *data) {
  const corpus_file *file = data;
  gemel_context *context = begin();
  gemel_error error = {0};
  char *name = NULL;
  gemel_graph *graph = gemel_load(context, file->path, &name, &error);
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(graph != NULL);
  CT_CHECK(name && (strstr(file->path, name) || strcmp(name, "graph") == 0));
  check_trip(context, graph);
  gemel_text_free(name);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A broken text's first line says where the error is and what it is about: # error LINE COLUMN PART
 */
static void corpus_broken(const void *data) {
  const corpus_file *file = data;
  gemel_context *context = begin();
  gemel_error error = {0};
  char *bytes, part[200] = "";
  size_t length;
  int line = 0, column = 0;
  CT_REQUIRE(!gemel__file_read(file->path, GEMEL__MOST_BYTES, &bytes, &length, &error));
  CT_EQ_INT(sscanf(bytes, "# error %d %d %199[^\n]", &line, &column, part), 3);
  for (char *p = part; *p; p++) { /* a full stop stands for a quotation mark */
    *p = *p == '.' ? '\'' : *p;
  }
  CT_CHECK(!gemel_parse(context, bytes, length, "broken", NULL, &error));
  CT_CHECK(error.status != GEMEL_OK && error.status != GEMEL_INTERNAL);
  CT_EQ_INT(error.line, line);
  CT_EQ_INT(error.column, column);
  CT_HAS_STR(error.text, part);
  CT_HAS_STR(error.text, "broken:");
  gemel__free(bytes, length + 1);
  gemel_context_unref(context);
}

/* The graphs in the documentation are graphs. */
static void documentation(const void *data) {
  (void)data;
  const char *source = getenv("GEMEL_SRCDIR");
  char path[500], *bytes;
  size_t length;
  int found = 0;
  gemel_error error = {0};
  gemel_context *context = begin();
  snprintf(path, sizeof path, "%s/doc/text.md", source ? source : ".");
  CT_REQUIRE(!gemel__file_read(path, GEMEL__MOST_BYTES, &bytes, &length, &error));
  for (char *p = bytes; (p = strstr(p, "```\ngraph ")) != NULL; p++) {
    char *end = strstr(p + 4, "```");
    gemel_graph *graph = gemel_parse(context, p + 4, (size_t)(end - p - 4), path, NULL, &error);
    CT_EQ_STR(error.text, "");
    if (graph) {
      check_trip(context, graph);
    }
    gemel_graph_unref(graph);
    found++;
    p = end;
  }
  CT_EQ_INT(found, 4);
  gemel__free(bytes, length + 1);
  gemel_context_unref(context);
}

static void message(const void *data) {
  (void)data;
  gemel_context *context = begin();
  gemel_error error = {0};
  const char *text = "graph g(x: f32[3]) {\n\ty = x + \xc3\xa9 foo\n  return y\n}\n";
  CT_CHECK(!gemel_parse(context, text, strlen(text), "dir/g.gmt", NULL, &error));
  CT_EQ_STR(error.text,
            "dir/g.gmt:2:10: expected a value, found '\xc3\xa9'\n\ty = x + \xc3\xa9 foo\n"
            "\t        ^");
  text = "graph g(x: f32[3]) { y = x +\n}";
  CT_CHECK(!gemel_parse(context, text, strlen(text), NULL, NULL, &error));
  CT_EQ_STR(error.text, "line 2, column 1: expected a value, found '}'\n}\n^");
  CT_CHECK(!gemel_parse(context, text, strlen(text), NULL, NULL, NULL));
  text = "graph g(x: f32[3]) {\n  return y = x, y = x\n}";
  CT_CHECK(!gemel_parse(context, text, strlen(text), "g.gmt", NULL, &error));
  CT_EQ_STR(error.text, "g.gmt:2:17: there is an output called y already\n  return y = x, y = x\n"
                        "                ^");
  CT_CHECK(!gemel_parse(context, text, strlen(text), NULL, NULL, NULL));
  text = "graph g(x: f32[3]) {\n  y = x\n  return z = softmax(y, axis = 4)\n}";
  CT_CHECK(!gemel_parse(context, text, strlen(text), NULL, NULL, &error));
  CT_HAS_STR(error.text, "line 3: softmax(f32[3]): axis 4 is out of range");
  CT_CHECK(!gemel_parse(context, text, strlen(text), "g.gmt", NULL, &error));
  CT_HAS_STR(error.text, "g.gmt:3: softmax(f32[3]): axis 4 is out of range");
  gemel_context_unref(context);
}

/* One random node on values V[0..N). */
static gemel_value random_node(gemel_graph *graph, const gemel_value *v, size_t n) {
  gemel_context *context = gemel_graph_context(graph);
  static const char *const binary[] = {"add", "mul", "sub", "maximum", "lt", "where"};
  const char *op = binary[rnd(6)];
  gemel_value in[3] = {v[rnd(n)], v[rnd(n)], v[rnd(n)]};
  int64_t axes[1] = {-1};
  gemel_dim shape[2];
  gemel_attr attr;
  switch (rnd(8)) {
  case 0:
    return gemel_scalar(graph, (gemel_dtype)(GEMEL_F16 + rnd(4)), (double)rnd(1000) / 7 - 50);
  case 1:
    attr = gemel_attr_ints("axes", 1, axes);
    return gemel_apply(graph, "sum", 1, in, gemel_type_rank(context, gemel_value_type(in[0])) > 0,
                       &attr);
  case 2:
    attr = gemel_attr_dtype("dtype", (gemel_dtype)rnd(GEMEL_DTYPE_COUNT));
    return gemel_apply(graph, "cast", 1, in, 1, &attr);
  case 3:
    shape[0] = gemel_dim_symbol(context, rnd(2) ? "N" : "n1");
    shape[1] = gemel_dim_constant(context, 5);
    attr = gemel_attr_dims("shape", 2, shape);
    return gemel_apply(graph, "broadcast_to", 1, in, 1, &attr);
  default:
    return gemel_apply(graph, op, op[0] == 'w' ? 3 : 2, in, 0, NULL);
  }
}

static gemel_graph *random_graph(gemel_context *context) {
  gemel_value v[64];
  size_t n = 0;
  gemel_graph *graph = gemel_graph_new(context, NULL);
  while (n < 60) {
    char name[16];
    gemel_dim shape[2] = {gemel_dim_symbol(context, "N"), gemel_dim_constant(context, 5)};
    if (n < 2 || rnd(12) == 0) { /* inputs come in between */
      snprintf(name, sizeof name, "%s%zu", rnd(2) ? "n" : "in", n);
      v[n++] = gemel_input(
          graph, name,
          gemel_type_new(context, (gemel_dtype)rnd(GEMEL_DTYPE_COUNT), (int)rnd(3), shape, 0));
      continue;
    }
    v[n] = random_node(graph, v, n);
    if (gemel_is_null(v[n])) { /* types that don't fit */
      gemel_graph_clear_error(graph);
    } else {
      n++;
    }
  }
  for (int k = 0; k < 3; k++) {
    char name[16];
    snprintf(name, sizeof name, "o%d", k);
    gemel_output(v[n - 1 - rnd(20)], name);
  }
  return graph;
}

static void random_graphs(const void *data) {
  (void)data;
  gemel_context *context = begin();
  state = 42;
  for (int round = 0; round < 300; round++) {
    ct_context("round %d", round);
    gemel_graph *graph = random_graph(context);
    check_trip(context, graph);
    gemel_graph_unref(graph);
  }
  gemel_context_unref(context);
}

/* The same text in another context, where other things were interned before. */
static void other_context(const void *data) {
  (void)data;
  const char *text = "graph g(x: f32[B + A, 2*C*A + 1, max(D, A)]) {\n  return x\n}\n";
  gemel_context *first = begin(), *second = begin();
  gemel_dim_symbol(second, "D");
  gemel_dim_mul(second, gemel_dim_symbol(second, "C"), gemel_dim_symbol(second, "B"));
  gemel_graph *a = parse(first, text), *b = parse(second, text);
  char *p = gemel_print_string(a, "g", NULL), *q = gemel_print_string(b, "g", NULL);
  CT_EQ_STR(p, q);
  CT_HAS_STR(p, "f32[A + B, 2*A*C + 1, max(A, D)]");
  gemel_text_free(p);
  gemel_text_free(q);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(first);
  gemel_context_unref(second);
}

/* ---- Constants ---- */

static void check_constants(gemel_context *context, gemel_dtype dtype, int64_t n,
                            const void *elements) {
  gemel_error error = {0};
  gemel_attr attr;
  gemel_view view = {dtype, 1, &n, NULL, NULL};
  int64_t stride = (int64_t)gemel_dtype_size(dtype);
  view.strides = &stride;
  view.data = (void *)elements;
  gemel_tensor *tensor = gemel_tensor_copy(&view, &error);
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_output(gemel_constant(graph, tensor), "c");
  char *text = gemel_print_string(graph, "g", &error);
  gemel_graph *back = parse(context, text);
  CT_REQUIRE(back != NULL);
  CT_EQ_INT(gemel_value_attr(gemel_graph_output(back, 0), "value", &attr), GEMEL_OK);
  CT_EQ_MEM(gemel_tensor_data(attr.u.tensor), elements, (size_t)n * gemel_dtype_size(dtype));
  gemel_text_free(text);
  gemel_tensor_unref(tensor);
  gemel_graph_unref(graph);
  gemel_graph_unref(back);
}

/* Every bit pattern of 8 and 16 bits, many of 32 and 64, NaNs with their bits. */
static void constants(const void *data) {
  (void)data;
  enum { N = 65536 };
  gemel_context *context = begin();
  uint64_t *bits = (uint64_t *)calloc(N, 8);
  state = 7;
  for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
    size_t size = gemel_dtype_size((gemel_dtype)dtype);
    int64_t n = dtype == GEMEL_BOOL ? 2 : size == 1 ? 256 : N;
    for (int64_t k = 0; k < n; k++) {
      uint64_t x =
          size <= 2 ? (uint64_t)k : rnd(1u << 31) << 33 ^ rnd(1u << 31) << 20 ^ rnd(1 << 20);
      /* in wide types also numbers near powers of two, and small ones */
      x = size > 2 && k % 4 == 0 ? ((uint64_t)1 << k % (8 * (int64_t)size)) - (uint64_t)(k / 64 % 3)
                                 : x;
      memcpy((char *)bits + (size_t)k * size, &x, size);
    }
    ct_context("%s", gemel_dtype_name((gemel_dtype)dtype));
    check_constants(context, (gemel_dtype)dtype, n, bits);
  }
  free(bits);
  gemel_context_unref(context);
}

/* A locale whose decimal point is a comma must change nothing. */
static void locale(const void *data) {
  (void)data;
  if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "de_DE") &&
      !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) {
    CT_SKIP("no locale with a decimal comma is installed");
  }
  gemel_context *context = begin();
  double values[3] = {0.1, 1e-300, -123456.75};
  check_constants(context, GEMEL_F64, 3, values);
  gemel_context_unref(context);
  setlocale(LC_NUMERIC, "C");
}

/* ---- Size and depth, on a small stack ---- */

/* HEAD, then N times PART, then TAIL. */
static char *repeat(const char *head, const char *part, size_t n, const char *tail) {
  size_t h = strlen(head), p = strlen(part), t = strlen(tail);
  char *text = (char *)malloc(h + n * p + t + 1);
  memcpy(text, head, h);
  for (size_t k = 0; k < n; k++) {
    memcpy(text + h + k * p, part, p);
  }
  memcpy(text + h + n * p, tail, t + 1);
  return text;
}

static gemel_status parse_repeated(const char *head, const char *part, size_t n, const char *tail) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  char *text = repeat(head, part, n, tail);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "deep", NULL, &error);
  free(text);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return graph ? GEMEL_OK : error.status;
}

/* A million calls, one in the other, are read, differentiated, printed and read again. */
static void *deep_calls(void *data) {
  enum { N = 1000000 };
  gemel_context *context = begin();
  char *closed = repeat("x", ")", N, " }");
  char *text = repeat("graph g(x: f32[]) { return y = ", "neg(", N, closed);
  gemel_graph *graph = parse(context, text);
  (void)data;
  if (CT_CHECK(graph != NULL)) {
    gemel_value x = gemel_graph_input(graph, 0), y = gemel_graph_output(graph, 0), dx;
    CT_EQ_UINT(gemel_graph_node_count(graph), N + 1);
    check_trip(context, graph);
    CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &dx, NULL), GEMEL_OK);
  }
  gemel_graph_unref(graph);
  free(text);
  free(closed);
  gemel_context_unref(context);
  return NULL;
}

static void *deep_texts(void *data) {
  (void)data;
  const char *g = "graph g(x: f32[]) { return y = ", *const shut = "x }";
  CT_EQ_INT(parse_repeated(g, "(", 1000000, shut), GEMEL_BAD_TEXT);
  CT_EQ_INT(parse_repeated(g, "not ", 1000000, shut), GEMEL_OK);
  CT_EQ_INT(parse_repeated(g, "neg(", 1000000, shut), GEMEL_BAD_TEXT);
  CT_EQ_INT(parse_repeated(g, "1 - (", 1000000, shut), GEMEL_BAD_TEXT);
  CT_EQ_INT(parse_repeated(g, "x + 1 + ", 300000, shut), GEMEL_OK);
  CT_EQ_INT(parse_repeated(g, "-", 1000000, shut), GEMEL_OK);
  CT_EQ_INT(parse_repeated(g, "1 + x * (", 4000, "x"), GEMEL_BAD_TEXT);
  CT_EQ_INT(parse_repeated("graph g(x: f32[", "(", 1000000, "1]) { return x }"), GEMEL_BAD_TEXT);
  CT_EQ_INT(parse_repeated("graph g(x: f32[", "min(", 1000000, "1]) { return x }"), GEMEL_BAD_TEXT);
  CT_EQ_INT(parse_repeated("graph g(x: f32[", "1 + ", 1000000, "1]) { return x }"), GEMEL_OK);
  CT_EQ_INT(parse_repeated("graph g(x: f32[]) { return y = ",
                           "invoke(x, body = graph (x: f32[]) "
                           "{ return y = ",
                           100000, shut),
            GEMEL_BAD_TEXT);
  CT_EQ_INT(parse_repeated("graph g() { return y = tensor(f32[100000], [0", ", 1", 99999, "]) }"),
            GEMEL_OK);
  return NULL;
}

static void deep(const void *data) {
  (void)data;
  on_small_stack(deep_texts, NULL);
  on_small_stack(deep_calls, NULL);
}

static void *long_chain(void *data) {
  enum { N = 300000 };
  gemel_context *context = begin();
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value x = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 0, NULL)), v = x;
  (void)data;
  for (int k = 0; k < N; k++) {
    gemel_value in[2] = {v, x};
    v = k % 3 ? gemel_apply(graph, "add", 2, in, 0, NULL)
              : gemel_apply(graph, "tanh", 1, in, 0, NULL);
  }
  gemel_output(v, "y");
  check_trip(context, graph);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return NULL;
}

static void chain(const void *data) {
  (void)data;
  on_small_stack(long_chain, NULL);
}

/* Graphs inside graphs inside graphs, one defined before the other. */
static void *nested_bodies(void *data) {
  enum { N = 2000 };
  gemel_context *context = begin();
  char *text = (char *)malloc(N * 100 + 100), *p = text;
  (void)data;
  p += sprintf(p, "graph b0(x: f32[]) { return y = -x }\n");
  for (int k = 1; k < N; k++) {
    p += sprintf(p, "graph b%d(x: f32[]) { return y = invoke(x, body = b%d) }\n", k, k - 1);
  }
  gemel_graph *graph = parse(context, text);
  if (CT_CHECK(graph != NULL)) {
    check_trip(context, graph);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  free(text);
  return NULL;
}

static void nested(const void *data) {
  (void)data;
  on_small_stack(nested_bodies, NULL);
}

/* ---- Names ---- */

/* Forty lines with FAULT in place of line AT (none: 40); TAIL ends each, a comment sends it the
 * general way. */
static size_t write_lines(char *text, size_t bytes, int at, const char *fault, const char *tail) {
  size_t used = (size_t)snprintf(text, bytes, "graph g(x: f32[3]) {\n");
  for (int k = 0; k < 40; k++) {
    char line[80];
    if (k % 3) {
      snprintf(line, sizeof line, "n%d = add(n%d, x)", k, k - 1);
    } else {
      snprintf(line, sizeof line, "n%d = tanh(%s)", k, k ? "n0" : "x");
    }
    used += (size_t)snprintf(text + used, bytes - used, "  %s%s\n", k == at ? fault : line, tail);
  }
  used += (size_t)snprintf(text + used, bytes - used, "  return n39\n}\n");
  return used;
}

/* Lines that are read some ahead and without tokens give what the same lines give by the general
 * path: the graph, or the message and its place, wherever among them the fault is. */
static void plain_lines(const void *data) {
  static const char *const faults[] = {"n77 = add(x, y)",
                                       "n0 = tanh(x)",
                                       "n77 = wobble(x)",
                                       "n77 = add(x)",
                                       "n77 = add(x, x",
                                       "n77 = add(x,, x)",
                                       "n77 = cast(x)",
                                       "x = tanh(x)",
                                       "n77, n78 = tanh(x)",
                                       "n77 = tanh(x) x",
                                       "= tanh(x)",
                                       "n77 = tanh(n039)",
                                       "n77 = tanh(n40)",
                                       "n77 tanh(x)",
                                       "n77 = tanh(x) * 2",
                                       "and = tanh(x)",
                                       "* x",
                                       "n77 = not(x)",
                                       "n77 = tanh(n7777)",
                                       "n9999999 = neg(x)"};
  char plain[4000], general[4000];
  gemel_context *context = begin();
  (void)data;
  for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
    for (int at = 1; at <= 40; at++) {
      gemel_error one = {0}, other = {0};
      size_t n = write_lines(plain, sizeof plain, at, faults[f], "");
      size_t m = write_lines(general, sizeof general, at, faults[f], " #");
      gemel_graph *a = gemel_parse(context, plain, n, "f", NULL, &one);
      gemel_graph *b = gemel_parse(context, general, m, "f", NULL, &other);
      CT_CHECK((a == NULL) == (b == NULL));
      CT_EQ_INT(one.status, other.status);
      CT_EQ_INT(one.line, other.line);
      CT_EQ_INT(one.column, other.column);
      if (a && b) {
        char *s = gemel_print_string(a, "g", NULL), *t = gemel_print_string(b, "g", NULL);
        CT_EQ_STR(s, t);
        for (size_t k = 0; k < gemel_graph_node_count(a); k++) {
          CT_EQ_INT(a->nodes[k].line, b->nodes[k].line);
        }
        gemel_text_free(s);
        gemel_text_free(t);
      }
      gemel_graph_unref(a);
      gemel_graph_unref(b);
    }
  }
  gemel_context_unref(context);
}

/* Numbers of all lengths, as printf writes them, wherever in the buffer they come to stand. */
static void numbers(const void *data) {
  static char wanted[30000 * 21];
  char *at = wanted;
  gemel__text_memory memory = {NULL, 0, 0};
  gemel__writer writer;
  (void)data;
  CT_REQUIRE(!gemel__writer_open(&writer, gemel__memory_write, &memory, NULL));
  for (uint64_t k = 0, v = 0; k < 30000; k++, v = k % 20 ? v * 10 + k % 11 % 10 : k) {
    at += sprintf(at, "%llu", (unsigned long long)v);
    gemel__put_number(&writer, v);
  }
  CT_CHECK(!gemel__writer_close(&writer, NULL) && memory.count == (size_t)(at - wanted));
  CT_EQ_MEM(memory.bytes, wanted, memory.count);
  gemel__free(memory.bytes, memory.capacity);
}

static void names(const void *data) {
  (void)data;
  gemel_context *context = begin();
  gemel_graph *graph = parse(context, "graph g(n7: f32[], n_: f32[], n_3: f32[]) {\n"
                                      "  x2000000000 = n7 + n_\n  x2 = x2000000000 * n_3\n"
                                      "  x02 = x2 - x2000000000\n  y7 = -x02  z = y7\n"
                                      "  return n0 = z, x02\n}\n");
  CT_REQUIRE(graph != NULL);
  char *text = gemel_print_string(graph, "g", NULL);
  CT_HAS_STR(text, "n__0 = add(n7, n_)");
  CT_HAS_STR(text, "return n0 = n__3, x02 = n__2");
  check_trip(context, graph);
  gemel_text_free(text);
  text = gemel_print_string(graph, "not a name", NULL);
  CT_CHECK(text == NULL);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Damage ---- */

static const char sample[] =
    "graph body(a: f32[N]) { return s = a * a }\n"
    "graph g(x: f32[N, (H+2*p-k)//s+1], b: f32[500], n7: i64[], N: i64[]) {\n"
    "  t = tanh(x * 2.5) + 0.1 + -inf  # a comment\n"
    "  q = where(b > 0 and not (b == 2), 1, 0.5 * b)\n"
    "  r = reshape(q, shape = [n7, 500 // n7])\n"
    "  s1, s2 = split(q, sizes = [N, 500 - N])\n"
    "  c = tensor(f64[2, 3], [1, 2.5, nan, -inf, 1e300, 0.1])\n"
    "  d = sum(invoke(b, body = body), axes = [0], keepdims = 1) + nan(0x7fc00001):f32\n"
    "  return t, z = q, r, s2, c, d, i = n7\n"
    "}\n";

static void cut_texts(const void *data) {
  (void)data;
  gemel_context *context = begin();
  gemel_error error;
  size_t n = sizeof sample - 1;
  for (size_t k = 0; k < n; k++) {
    char *exact = (char *)malloc(k + 1); /* the text need not end with a NUL */
    memcpy(exact, sample, k);
    gemel_graph *graph = gemel_parse(context, exact, k, "cut", NULL, &error);
    CT_CHECK(!graph || k == 43 || k == 42 || k >= n - 1);
    gemel_graph_unref(graph);
    free(exact);
  }
  gemel_context_unref(context);
}

static void damaged_texts(const void *data) {
  static const char *const pieces[] = {"(",
                                       ")",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       ",",
                                       "=",
                                       "-",
                                       "//",
                                       "$1",
                                       "$9",
                                       "$N",
                                       "nan",
                                       "inf",
                                       ":f32",
                                       "99999999999999999999",
                                       "1e999",
                                       "graph",
                                       "return",
                                       "split(",
                                       "x",
                                       "b",
                                       "\"",
                                       "#",
                                       "\n",
                                       "min(",
                                       "tensor(",
                                       "@1",
                                       "0",
                                       "not ",
                                       "and",
                                       "body",
                                       "\x80",
                                       "\0"};
  (void)data;
  gemel_context *context = begin();
  int accepted = 0;
  state = 99;
  for (int round = 0; round < 20000; round++) {
    char text[2 * sizeof sample];
    size_t n = sizeof sample - 1;
    gemel_error error = {0};
    memcpy(text, sample, n);
    for (uint64_t k = 1 + rnd(3); k > 0; k--) {
      const char *piece = pieces[rnd(CT_COUNT(pieces))];
      size_t at = rnd(n), length = strlen(piece), gone = rnd(3) ? rnd(8) : 0;
      gone = at + gone > n ? n - at : gone;
      memmove(text + at + length, text + at + gone, n - at - gone);
      memcpy(text + at, piece, length);
      n += length - gone;
    }
    gemel_graph *graph = gemel_parse(context, text, n, "damaged", NULL, &error);
    if (graph) {
      accepted++;
      if (round % 16 == 0) {
        check_trip(context, graph);
      }
    } else {
      CT_CHECK(error.status != GEMEL_OK && error.status != GEMEL_INTERNAL && error.text[0]);
    }
    gemel_graph_unref(graph);
  }
  CT_CHECK(accepted > 100 && accepted < 15000);
  ct_property("accepted", accepted);
  gemel_context_unref(context);
}

static int refuse(void *budget, const void *bytes, size_t count) {
  (void)bytes;
  size_t *left = (size_t *)budget;
  if (count > *left) {
    return 1;
  }
  *left -= count;
  return 0;
}

static void full_disk(const void *data) {
  (void)data;
  gemel_context *context = begin();
  gemel_graph *graph = parse(context, sample);
  gemel_error error = {0};
  size_t budget = 100;
  CT_EQ_INT(gemel_print(graph, "g", refuse, &budget, &error), GEMEL_IO);
  CT_EQ_INT(error.status, GEMEL_IO);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static int parse_and_print(void *data) {
  gemel_error error = {0};
  char *name = NULL, *text = NULL;
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = context ? gemel_parse(context, (const char *)data,
                                             strlen((const char *)data), NULL, &name, &error)
                               : NULL;
  gemel_status status = graph ? GEMEL_OK : error.status;
  if (graph && !(text = gemel_print_string(graph, name, &error))) {
    status = error.status;
  }
  gemel_text_free(text);
  gemel_text_free(name);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(parse_and_print, (void *)sample) > 50);
}

static const ct_test tests[] = {
    CT_TEST("expressions", expression, NULL),
    CT_TEST("derivatives", derivatives, NULL),
    CT_TEST("expressions/errors", expr_errors, NULL),
    CT_TEST("documentation", documentation, NULL),
    CT_TEST("message", message, NULL),
    CT_TEST("random", random_graphs, NULL),
    CT_TEST("other_context", other_context, NULL),
    CT_TEST("constants", constants, NULL),
    CT_TEST("locale", locale, NULL),
    CT_TEST("names", names, NULL),
    CT_TEST("numbers", numbers, NULL),
    CT_TEST("plain_lines", plain_lines, NULL),
    CT_TEST("deep", deep, NULL),
    CT_TEST("chain", chain, NULL),
    CT_TEST("nested", nested, NULL),
    CT_TEST("cut_off", cut_texts, NULL),
    CT_TEST("damaged", damaged_texts, NULL),
    CT_TEST("full_disk", full_disk, NULL),
    CT_TEST("memory", memory, NULL),
};

void ct_register(void) {
  static corpus graphs = {.folder = "tests/corpus/graphs", .end = ".gmt", .least = 8};
  static corpus broken = {.folder = "tests/corpus/broken", .end = ".gmt", .least = 33};
  ct_suite("text", tests, CT_COUNT(tests));
  corpus_add(&graphs, "text", "graphs", corpus_graph);
  corpus_add(&broken, "text", "broken", corpus_broken);
}
