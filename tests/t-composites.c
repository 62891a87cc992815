/*
 * Composites: their language on its own, texts that are wrong or hostile, what memory that is
 * refused leaves behind, and gemel's own as gemel_apply and the builders of <gemel/nn.h> know them.
 * (tests/python/test_composites.py compares what they compute with NumPy.)
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "composites/composites.h"
#include "ct.h"
#include "support/graph-text.h"

/* The text of a graph with inputs x: f32[N, 3], i: i64[4] and m: bool[4], and as output what TEXT's
 * last composite computes of these; or the error. To be freed with gemel_text_free. */
static char *expanded(const char *text, gemel_error *error) {
  gemel_context *context = gemel_context_new(error);
  gemel_graph *graph = gemel_graph_new(context, error);
  gemel_value inputs[3] = {gemel_declare(graph, "x: f32[N, 3]"), gemel_declare(graph, "i: i64[4]"),
                           gemel_declare(graph, "m: bool[4]")};
  gemel__arena arena = {0};
  const gemel__composite *c = NULL;
  char *printed = NULL;
  gemel_value result;
  error->text[0] = '\0';
  if (gemel__composites_parse(&arena, text, strlen(text), "t", &c, error) == GEMEL_OK) {
    while (c->next != NULL) {
      c = c->next;
    }
    gemel__composite_expand(graph, c, NULL, c->n_operands < 3 ? c->n_operands : 3, inputs, 0, NULL,
                            1, &result, (gemel_location){"here", 7});
    *error = *gemel_graph_error(graph);
    if (!gemel_is_null(result)) {
      gemel_output(result, "r");
      printed = gemel_print_string(graph, NULL, error);
    }
  }
  gemel__arena_clear(&arena);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return printed;
}

/* ---- The language ---- */

typedef struct phrase {
  const char *name, *text;
  const char *gives; /* a part of the graph's text, or of the error */
} phrase;

#define OF_X(body) "composite c(x) {" body "}"
#define OF_ALL(body) "composite c(x, i, m) {" body "}"

static const phrase phrases[] = {
    {"number_beside_float", OF_X("return x * 2"), "2:f32"},
    {"number_beside_integer", OF_ALL("return i + 2"), "2:i64"},
    {"real_beside_integer", OF_ALL("return i + 2.5"), "2.5:f64"},
    {"truth_beside_bool", OF_ALL("return m and true"), "1:bool"},
    {"number_in_where", OF_ALL("return where(m, i, 0)"), "0:i64"},
    {"known_arithmetic", OF_X("return x * (2 + 3 * 4 - 7 // 2)"), "11:f32"},
    {"floor_of_negatives", OF_X("return x * ((-7) // 2) + (-7) % 3"), "-4:f32"},
    {"reals", OF_X("return x * (1 / 4)"), "0.25:f32"},
    {"size_as_number", OF_X("return x / shape(x)[0]"), "size(value = N)"},
    {"size_arithmetic", OF_X("return arange(n = 2 * shape(x)[0] + shape(x)[1])"), "n = 2*N + 3"},
    {"negative_index", OF_X("return arange(n = shape(x)[-1])"), "n = 3"},
    {"slices", OF_X("return reshape(x, shape = shape(x)[1:] + shape(x)[:1])"), "shape = [3, N]"},
    {"repeated_list", OF_X("return reshape(x, shape = [1] * 2 + shape(x))"), "[1, 1, N, 3]"},
    {"comprehension", OF_X("return dimshuffle(x, order = [1 - k for k in range(rank(x))])"),
     "order = [1, 0]"},
    {"filtered",
     OF_X("return sum(x, axes = [k for k in range(4) if k > 2 or k == 0 and rank(x) == 2][:1])"),
     "axes = [0]"},
    {"choice_is_lazy", OF_X("return choose(rank(x) == 2, x + 1, x @@)"), "expected"},
    {"choice", OF_X("return choose(rank(x) == 2, x + 1, nothing)"), "1:f32"},
    {"lazy_and", OF_X("if rank(x) == 3 and nothing { return x } return x + 5"), "5:f32"},
    {"else", OF_X("if rank(x) == 3 { y = x } else { y = x * 3 } return y"), "3:f32"},
    {"dtypes", OF_X("return cast(x, dtype = choose(bytes(x) == 4, f64, f16))"), "dtype = f64"},
    {"promoted", OF_ALL("return cast(i, dtype = promote(x, i))"), "dtype = f64"},
    {"two_results", OF_X("a, b = split(x, sizes = [1, shape(x)[0] - 1]) return b"), "split"},
    {"none_is_absent", OF_X("return sum(x, axes = none)"), "sum(x)"},
    {"composite_in_composite", "composite d(x, k: int = 4) { return x * k }" OF_X("return d(x)"),
     "x"},
    {"infinity", OF_X("return minimum(x, -inf)"), "-inf:f32"},
    {"unary", OF_ALL("return not m"), "logical_not"},
    {"numbers_of_numbers", OF_X("return x * sqrt(16) + maximum(2, 3)"), "4:f32"},
    /* errors */
    {"no_name", OF_X("return y"), "here:7: c: t:1: there is nothing called y"},
    {"no_operation", OF_X("return foo(x)"), "there is no operation called foo"},
    {"no_attribute", OF_X("return sum(x, axis = 1)"), "sum has no attribute axis"},
    {"wrong_attribute", OF_X("return sum(x, axes = 1.5)"), "axes can't be a number"},
    {"inner_error", OF_X("return sum(x, axes = [5])"), "here:7: in c: sum(f32[N, 3])"},
    {"required", OF_X("require rank(x) == 1, \"a vector\" return x"), "here:7: c: a vector"},
    {"no_return", OF_X("y = x"), "ends without a return"},
    {"no_element", OF_X("return reshape(x, shape = [shape(x)[2]])"), "no such element of 2"},
    {"no_list", OF_X("return x[0]"), "a value is no list"},
    {"unknown_size", OF_X("if shape(x)[0] > 2 { return x } return x"), "a size must be known"},
    {"neither", OF_X("if x { return x } return x"), "a value is neither true nor false"},
    {"by_zero", OF_X("return x * (1 // 0)"), "quotient by 0"},
    {"beyond", OF_X("return x * (9223372036854775807 + 1)"), "beyond 64 bits"},
    {"too_many_names", OF_X("a, b = sum(x) return a"), "more names than results"},
    {"too_many_operands", "composite d(x) { return x }" OF_X("return d(x, x)"), "d"},
    {"missing", "composite d(x, y) { return x }" OF_X("return d(x)"), ""},
    {"text_as_operand", OF_X("return x + \"a\""), "a text is no operand"},
    {"no_text", OF_X("return \"a\""), "a text is no operand"},
    /* texts */
    {"no_composite", "operation c(x) { return x }", "expected 'composite'"},
    {"no_brace", "composite c(x) return x", "expected '{'"},
    {"open", "composite c(x) { return x", "expected"},
    {"attribute_first", "composite c(k: int, x) { return x }", "operands come first"},
    {"optional_first", "composite c(y = none, x) { return x }", "operands come first"},
    {"other_default", "composite c(x, y = 3) { return x }", "expected none"},
    {"no_kind", "composite c(x, k: thing) { return x }", "'thing' is no kind"},
    {"twice", "composite c(x, x) { return x }", "two parameters called x"},
    {"escape", OF_X("require true, \"\\n\" return x"), "without escapes"},
    {"nonsense", "composite c(x) { return x + ? }", "expected an expression"}};

static void phrase_gives(const void *data) {
  const phrase *p = data;
  gemel_error error = {0};
  char *printed = expanded(p->text, &error);
  const char *said = printed != NULL ? printed : error.text;
  ct_context("%s gives: %s", p->text, said);
  CT_CHECK(strstr(said, p->gives) != NULL);
  gemel_text_free(printed);
}

/* ---- Hostile texts ---- */

/* HEAD, N times PART, then TAIL: refused, or expanded, soon. */
static void long_text(const char *head, const char *part, size_t n, const char *tail,
                      const char *says) {
  size_t bytes = strlen(head) + n * strlen(part) + strlen(tail) + 1;
  char *text = malloc(bytes), *at = text;
  gemel_error error = {0};
  CT_REQUIRE(text != NULL);
  at += sprintf(at, "%s", head);
  for (size_t k = 0; k < n; k++) {
    at += sprintf(at, "%s", part);
  }
  sprintf(at, "%s", tail);
  char *printed = expanded(text, &error);
  ct_context("%.40s ...: %s", head, printed != NULL ? printed : error.text);
  CT_CHECK(strstr(printed != NULL ? printed : error.text, says) != NULL);
  gemel_text_free(printed);
  free(text);
}

static void hostile_texts(const void *unused) {
  (void)unused;
  long_text("composite c(x) { return ", "(", 100000, "x", "nested deeper");
  long_text("composite c(x) { return ", "-", 100000, "x }", "nested deeper");
  long_text("composite c(x) { return ", "not ", 100000, "x }", "nested deeper");
  long_text("composite c(x) { return ", "[", 100000, "x", "nested deeper");
  long_text("composite c(x) { return ", "sum(", 100000, "x", "nested deeper");
  long_text("composite c(x) { ", "if true {", 100000, "}", "nested deeper");
  long_text("composite c(x) { return x", " + 1", 100000, "}", "nested deeper");
  long_text("composite c(x) { return x", "[0]", 100000, "}", "nested deeper");
  long_text("composite c(x", ", y: int = 1", 100000, ") { return x }", "two parameters");
  long_text("composite ", "c", 100000, "(x) { return x }", "expected the composite's name");
  long_text("composite c(x) { y = range(4000) return x * length([a for a in y if length([b for b "
            "in y]) > 0]) }",
            "", 0, "", "steps");
  long_text("composite c(x) { return c(x) }", "", 0, "", "");
  long_text("composite c(x) { y = [1] * 64 z = y * 64 w = z * 64 return x }", "", 0, "",
            "a list of more than");
  long_text("composite c(x) { y = range(9223372036854775807) return x }", "", 0, "",
            "a list of more than");
}

/* ---- gemel's own ---- */

static void applied_by_name(const void *unused) {
  (void)unused;
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value x = gemel_declare(graph, "x: f32[N, 4]"), s = gemel_declare(graph, "s: f32[4]");
  gemel_value none = {NULL, 0, 0}, with[3] = {x, s, none};
  gemel_value by_name = gemel_apply(graph, "layer_norm", 3, with, 0, NULL);
  gemel_value built = gemel_layer_norm_with(x, -1, .scale = s);
  CT_CHECK(!gemel_is_null(built) && built.node == by_name.node);
  CT_CHECK(gemel_layer_norm(x, -1).node != built.node);
  CT_CHECK(gemel_is_null(gemel_layer_norm(none, -1)));
  CT_CHECK(gemel_graph_error(graph)->status == GEMEL_OK);
  CT_CHECK(gemel_is_null(gemel_layer_norm(x, 7)));
  CT_CHECK(strstr(gemel_graph_error(graph)->text,
                  "layer_norm: axis 7 is out of range for rank 2") != NULL);
  CT_CHECK(strstr(gemel_graph_error(graph)->text, "t-composites.c:") != NULL);
  gemel_graph_clear_error(graph);
  CT_CHECK(
      gemel_is_null(gemel_apply(graph, "layer_norm", 3, with, 1, &(gemel_attr){.name = NULL})));
  gemel_graph_clear_error(graph);
  CT_CHECK(gemel_is_null(gemel_apply(graph, "layer_nrm", 1, &x, 0, NULL)));
  CT_CHECK(gemel_graph_error(graph)->status == GEMEL_NOT_FOUND);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- A program's own ---- */

static gemel_status define(gemel_context *context, const char *text, gemel_error *error) {
  return gemel_define_composites(context, text, strlen(text), "own", error);
}

/* TEXT is refused for REASON, and nothing of it is known. */
static void refused(gemel_context *context, const char *text, const char *reason) {
  gemel_error error = {0};
  CT_CHECK(define(context, text, &error) != GEMEL_OK);
  CT_HAS_STR(error.text, reason);
  CT_CHECK(gemel__composite_find(context, "new_one", NULL) == NULL);
}

static void defined_by_a_program(const void *unused) {
  static const char text[] = "graph g(x: f32[3]) { return y = twice(x) + thrice(x) }";
  (void)unused;
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  CT_EQ_INT(define(context, "composite thrice(x) { return x * 3 }", &error), GEMEL_OK);
  CT_EQ_INT(define(context, "", &error), GEMEL_OK);
  CT_EQ_INT(define(context,
                   "composite twice(x) { return x * of_it() }\n"
                   "composite of_it() { return 2 } operator Thrice(x) { return x }",
                   &error),
            GEMEL_OK);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "t", NULL, &error);
  char *printed = graph != NULL ? gemel_print_string(graph, "g", &error) : NULL;
  CT_HAS_STR(printed != NULL ? printed : error.text, "n2 = 3:f32");
  gemel_text_free(printed);
  gemel_graph_unref(graph);
  CT_EQ_INT(define(context, "composite two(x) { return x + 1, x - 1 }", &error), GEMEL_OK);
  gemel_graph *other = gemel_graph_new(context, &error);
  gemel_value x = gemel_declare(other, "x: f32[3]"), both[3] = {x, x, x};
  CT_CHECK(!gemel_is_null(gemel_apply_all(other, "two", 1, &x, 0, NULL, 3, both)));
  CT_EQ_STR(gemel_value_operation(both[0]), "add");
  CT_EQ_STR(gemel_value_operation(both[1]), "sub");
  CT_CHECK(gemel_is_null(both[2]));
  gemel_value key = gemel_declare(other, "key: u64[2]");
  gemel_value drawn =
      gemel_random_uniform(key, GEMEL_LIST(gemel_dim, gemel_dim_constant(context, 3)));
  CT_CHECK(!gemel_is_null(gemel_apply_all(other, "exp", 1, &drawn, 0, NULL, 2, both)));
  CT_CHECK(gemel_is_null(both[1]));
  CT_EQ_INT(define(context, "composite open_one(x) { return partial(x) }", &error), GEMEL_OK);
  CT_CHECK(!gemel_is_null(gemel_apply(other, "open_one", 1, &x, 0, NULL)));
  gemel_graph *third = gemel_graph_new(context, &error);
  CT_CHECK(gemel_is_null(gemel_apply(third, "open_one", 1, &key, 0, NULL)));
  CT_HAS_STR(gemel_graph_error(third)->text, "another graph");
  gemel_graph_unref(third);
  CT_CHECK(gemel_is_null(gemel_apply_all(other, "two", 1, &x, 0, NULL, 0, NULL)));
  gemel_graph_unref(other);
#define NEW_ONE "composite new_one(x) { return x } "
  refused(context, NEW_ONE "composite twice(x) { return x }", "called twice already");
  refused(context, NEW_ONE "composite gelu(x) { return x }", "called gelu already");
  refused(context, NEW_ONE "composite exp(x) { return x }", "called exp already");
  refused(context, NEW_ONE "composite new_one(x) { return x }", "two composites called new_one");
  refused(context, NEW_ONE "operator Relu(x) { return x }", "an operator called Relu already");
  refused(context, NEW_ONE "operator \"ai.onnx\" Relu(x) { return x }", "called Relu already");
  refused(context, NEW_ONE "composite b(x, k: int = 1.5) { return x }", "'1.5' is no int");
  refused(context, NEW_ONE "composite b(x, d: dtype = 3) { return x }", "'3' is no dtype");
  refused(context, NEW_ONE "operator Concat(x) { return x }", "an operator called Concat already");
  refused(context, NEW_ONE "operator Thrice(x) { return x }", "an operator called Thrice already");
  refused(context, NEW_ONE "operator \"a\" B(x) { return x } operator \"a\" B(y) { return y }",
          "two operators called B");
  refused(context, NEW_ONE "operator \"a\" B(x, y: int at -1) { return x }", "the number of an");
  refused(context, NEW_ONE "operator \"a\" B(x, y: int at 1000) { return x }", "no such input");
  refused(context, NEW_ONE "composite b(x, y: int at 1) { return x }", "own:1:");
  CT_EQ_INT(define(context, NEW_ONE "operator \"other\" Relu(x) { return x }", &error), GEMEL_OK);
  CT_CHECK(gemel__composite_find(context, "new_one", NULL) != NULL);
  CT_EQ_INT(gemel_define_composites(NULL, "", 0, NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_define_composites(context, NULL, 0, NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_define_composites(context, "composite (", 11, NULL, NULL), GEMEL_BAD_TEXT);
  CT_EQ_INT(gemel_load_composites(context, "/nowhere/at all", &error), GEMEL_IO);
  CT_EQ_INT(gemel_load_composites(context, NULL, NULL), GEMEL_BAD_ARGUMENT);
  gemel_context_unref(context);
}

/* All of them parse, and each is made in a context of its own, whatever memory is refused. */
static int without_memory(void *unused) {
  (void)unused;
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = context != NULL ? gemel_graph_new(context, &error) : NULL;
  gemel_status status = GEMEL_NO_MEMORY;
  if (graph != NULL) {
    status = define(context, "composite twice(x) { return x + x }", &error);
    CT_CHECK(status == GEMEL_OK || gemel__composite_find(context, "twice", NULL) == NULL);
  }
  if (status == GEMEL_OK) {
    gemel_value x = gemel_declare(graph, "x: f32[2, 4, 3]");
    gemel_value s = gemel_index(gemel_index(x, 0, 0), 1, 0);
    gemel_value y = gemel_group_norm_with(x, 2, .scale = s);
    y = gemel_attention_with(y, y, y, .causal = 1);
    y = gemel_tile(y, GEMEL_LIST(int64_t, 2, 1));
    y = gemel_apply(graph, "twice", 1, &y, 0, NULL);
    status = gemel_graph_error(graph)->status;
    CT_CHECK(gemel_is_null(y) == (status != GEMEL_OK));
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return (int)status;
}

static void memory_refused(const void *unused) {
  (void)unused;
  CT_CHECK(ct_oom(without_memory, NULL) > 100);
}

static const ct_test tests[] = {CT_TEST("hostile_texts", hostile_texts, NULL),
                                CT_TEST("applied_by_name", applied_by_name, NULL),
                                CT_TEST("defined_by_a_program", defined_by_a_program, NULL),
                                CT_TEST("memory_refused", memory_refused, NULL)};

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(phrases); k++) {
    CT_ADD("language", phrases[k].name, phrase_gives, &phrases[k]);
  }
  ct_suite("composites", tests, CT_COUNT(tests));
}
