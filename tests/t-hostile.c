/*
 * Arguments that no program should pass, to every function of the graph and its context: null
 * pointers, ids and values that don't exist, counts that lie, records of operations that don't hold
 * together, type rules and derivatives that break their word. All of it must come back as an error
 * that says where, and leave the graph well-formed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>
#include "shared.h"
#include "support/question.h"
#include "support/operation.h"

static const gemel_value none = {NULL, 0, 0};

static gemel_type vector(gemel_dtype dtype, int64_t n) {
  return gemel_type_of_shape(c, dtype, 1, &n);
}

/* The graph has an error with this status and (if not NULL) words; it is then cleared. */
static void failed(gemel_graph *g, gemel_status status, const char *words) {
  const gemel_error *error = gemel_graph_error(g);
  CT_EQ_INT(error->status, status);
  if (words != NULL) {
    CT_HAS_STR(error->text, words);
  }
  gemel_graph_clear_error(g);
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
}

/* ---- Contexts, dims, types ---- */

static void contexts(const void *data) {
  gemel_dim one = gemel_dim_constant(c, 1);
  gemel_error error;
  int64_t value = 7;
  (void)data;
  CT_CHECK(gemel_context_ref(NULL) == NULL);
  gemel_context_unref(NULL);
  CT_CHECK(gemel_graph_new(NULL, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_dim_is_none(gemel_dim_constant(NULL, 3)));
  CT_CHECK(gemel_dim_is_none(gemel_dim_symbol(NULL, "N")));
  CT_CHECK(gemel_dim_is_none(gemel_dim_symbol(c, NULL)));
  CT_CHECK(gemel_dim_is_none(gemel_dim_add(NULL, one, one)));
  CT_EQ_INT(gemel_dim_is_constant(NULL, one, &value), 0);
  CT_CHECK(gemel_type_is_none(gemel_type_new(NULL, GEMEL_F32, 0, NULL, 0)));
  CT_CHECK(gemel_type_is_none(gemel_type_of_shape(NULL, GEMEL_F32, 0, NULL)));
  CT_CHECK(gemel_operation_find(c, NULL) == NULL);
  CT_CHECK(gemel_operation_find(NULL, "add") == NULL);
  CT_EQ_INT(gemel_operation_count(NULL), 0);
  CT_CHECK(gemel_operation_at(c, (size_t)-1) == NULL);
  CT_CHECK(gemel_operation_at(c, gemel_operation_count(c)) == NULL);
}

static void strange_dims(const void *data) {
  static const gemel_dim ids[] = {{0}, {4000000000u}, {5000}, {0x80000000u}};
  gemel_dim n = gemel_dim_symbol(c, "N");
  int64_t value = 7;
  char text[8];
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(ids); k++) {
    ct_context("id %u", ids[k].id);
    CT_CHECK(gemel_dim_is_none(gemel_dim_add(c, n, ids[k])));
    CT_CHECK(gemel_dim_is_none(gemel_dim_mul(c, ids[k], n)));
    CT_CHECK(gemel_dim_is_none(gemel_dim_floordiv(c, ids[k], ids[k])));
    CT_CHECK(gemel_dim_is_none(gemel_dim_max(c, n, ids[k])));
    CT_EQ_INT(gemel_dim_is_constant(c, ids[k], &value), 0);
    CT_EQ_INT(gemel_dim_format(c, ids[k], text, sizeof text), 1);
    CT_CHECK(gemel_type_is_none(gemel_type_new(c, GEMEL_F32, 1, &ids[k], 0)));
  }
  CT_EQ_INT(value, 7);
}

static void strange_types(const void *data) {
  static const gemel_type ids[] = {{0}, {4000000000u}, {5000}};
  gemel_dim minus = gemel_dim_constant(c, -1), one = gemel_dim_constant(c, 1), many[17];
  int64_t size = -1;
  char text[16];
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(many); k++) {
    many[k] = one;
  }
  CT_CHECK(!gemel_type_is_none(gemel_type_new(c, GEMEL_F32, 16, many, 255)));
  CT_CHECK(gemel_type_is_none(gemel_type_new(c, GEMEL_F32, 17, many, 0)));
  CT_CHECK(gemel_type_is_none(gemel_type_new(c, GEMEL_F32, -1, many, 0)));
  CT_CHECK(gemel_type_is_none(gemel_type_new(c, GEMEL_F32, 1, NULL, 0)));
  CT_CHECK(gemel_type_is_none(gemel_type_new(c, GEMEL_F32, 1, &minus, 0)));
  CT_CHECK(gemel_type_is_none(gemel_type_new(c, GEMEL_F32, 0, NULL, 256)));
  CT_CHECK(gemel_type_is_none(gemel_type_new(c, GEMEL_F32, 0, NULL, -1)));
  CT_CHECK(gemel_type_is_none(gemel_type_new(c, GEMEL_DTYPE_COUNT, 0, NULL, 0)));
  CT_CHECK(gemel_type_is_none(gemel_type_new(c, (gemel_dtype)-1, 0, NULL, 0)));
  CT_CHECK(gemel_type_is_none(gemel_type_of_shape(c, GEMEL_F32, 1, NULL)));
  CT_CHECK(gemel_type_is_none(gemel_type_of_shape(c, GEMEL_F32, 1, &size)));
  for (k = 0; k < CT_COUNT(ids); k++) {
    CT_EQ_INT(gemel_type_rank(c, ids[k]), 0);
    CT_EQ_INT(gemel_type_space(c, ids[k]), 0);
    CT_EQ_INT(gemel_type_dtype(c, ids[k]), GEMEL_BOOL);
    CT_CHECK(gemel_type_dims(c, ids[k]) != NULL);
    CT_EQ_INT(gemel_type_format(c, ids[k], text, sizeof text), 7);
  }
}

/* The length is that of the whole text, however little of it fits. */
static void long_types(const void *data) {
  enum { LONG = 900 };
  char name[LONG + 1], whole[LONG * 2 + 32], part[10];
  gemel_dim dims[2];
  gemel_type type;
  size_t length;
  (void)data;
  memset(name, 'a', LONG);
  name[LONG] = '\0';
  dims[0] = gemel_dim_symbol(c, name);
  name[0] = 'b';
  dims[1] = gemel_dim_symbol(c, name);
  type = gemel_type_new(c, GEMEL_F32, 2, dims, GEMEL_SPACE_HOST);
  CT_REQUIRE(!gemel_type_is_none(type));
  length = gemel_type_format(c, type, whole, sizeof whole);
  CT_EQ_INT(length, 2 * LONG + strlen("f32[, ]"));
  CT_EQ_INT(strlen(whole), length);
  CT_HAS_STR(whole, name);
  CT_EQ_INT(gemel_type_format(c, type, part, sizeof part), length);
  CT_EQ_STR(part, "f32[aaaaa");
  CT_EQ_INT(gemel_type_format(c, type, NULL, 0), length);
}

/* ---- Graphs and values ---- */

static void null_graphs(const void *data) {
  gemel_location where = {NULL, 0};
  gemel_attr attr;
  (void)data;
  CT_CHECK(gemel_graph_ref(NULL) == NULL);
  gemel_graph_unref(NULL);
  gemel_graph_clear_error(NULL);
  CT_EQ_INT(gemel_graph_error(NULL)->status, GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_graph_context(NULL) == NULL);
  CT_EQ_INT(gemel_graph_check(NULL, NULL), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_graph_node_count(NULL), 0);
  CT_EQ_INT(gemel_graph_input_count(NULL), 0);
  CT_EQ_INT(gemel_graph_output_count(NULL), 0);
  CT_EQ_INT(gemel_graph_bytes(NULL), 0);
  CT_CHECK(gemel_is_null(gemel_graph_input(NULL, 0)));
  CT_CHECK(gemel_is_null(gemel_graph_output(NULL, 0)));
  CT_CHECK(gemel_graph_input_name(NULL, 0) == NULL);
  CT_CHECK(gemel_graph_output_name(NULL, 0) == NULL);
  CT_CHECK(gemel_is_null(gemel_input_at(NULL, "x", vector(GEMEL_F32, 1), where)));
  CT_CHECK(gemel_is_null(gemel_apply_at(NULL, "add", 0, NULL, 0, NULL, where)));
  CT_CHECK(gemel_is_null(gemel_scalar_at(NULL, GEMEL_F32, 1, where)));
  CT_CHECK(gemel_is_null(gemel_constant_at(NULL, NULL, where)));
  CT_CHECK(gemel_type_is_none(gemel_value_type(none)));
  CT_EQ_STR(gemel_value_operation(none), "");
  CT_EQ_INT(gemel_value_input_count(none), 0);
  CT_EQ_INT(gemel_value_attr(none, "axis", &attr), GEMEL_NOT_FOUND);
  CT_CHECK(gemel_dim_is_none(gemel_dim_of(none)));
}

/* Values made up, or kept after their graph could ever have had them. */
static void made_up_values(const void *data) {
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3)), bad[3], d;
  gemel_attr attr;
  size_t k;
  (void)data;
  bad[0] = bad[1] = bad[2] = x;
  bad[0].node = 1;
  bad[1].node = UINT32_MAX;
  bad[2].output = 1;
  for (k = 0; k < CT_COUNT(bad); k++) {
    ct_context("value %zu", k);
    CT_CHECK(gemel_type_is_none(gemel_value_type(bad[k])));
    CT_EQ_STR(gemel_value_operation(bad[k]), "");
    CT_EQ_STR(gemel_value_where(bad[k]).file, "");
    CT_EQ_INT(gemel_value_input_count(bad[k]), 0);
    CT_CHECK(gemel_is_null(gemel_value_input(bad[k], 0)));
    CT_EQ_INT(gemel_value_attr(bad[k], "name", &attr), GEMEL_NOT_FOUND);
    CT_CHECK(gemel_dim_is_none(gemel_dim_of(bad[k])));
    CT_EQ_INT(gemel_output(bad[k], "y"), GEMEL_BAD_ARGUMENT);
    failed(g, GEMEL_BAD_ARGUMENT, "no such value");
    CT_CHECK(gemel_is_null(gemel_add(x, bad[k])));
    failed(g, GEMEL_BAD_ARGUMENT, "t-hostile.c");
    CT_EQ_INT(gemel_grad(1, &x, &x, 1, &bad[k], &d, NULL), GEMEL_BAD_ARGUMENT);
    CT_EQ_INT(gemel_grad(1, &bad[k], &x, 1, &x, &d, NULL), GEMEL_BAD_ARGUMENT);
    CT_EQ_INT(gemel_grad(1, &x, &bad[k], 1, &x, &d, NULL), GEMEL_BAD_ARGUMENT);
    CT_EQ_INT(gemel_jvp(1, &x, 1, &x, &bad[k], &d, NULL), GEMEL_BAD_ARGUMENT);
  }
  CT_EQ_INT(gemel_value_attr(x, NULL, &attr), GEMEL_NOT_FOUND);
  CT_EQ_INT(gemel_graph_output_count(g), 0);
  gemel_graph_unref(g);
}

static void null_arrays(const void *data) {
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3)), d;
  gemel_location nowhere = {NULL, 0};
  (void)data;
  CT_CHECK(gemel_is_null(gemel_apply(g, "add", 2, NULL, 0, NULL)));
  failed(g, GEMEL_BAD_ARGUMENT, "t-hostile.c");
  CT_CHECK(gemel_is_null(gemel_apply(g, "exp", 1, &x, 1, NULL)));
  failed(g, GEMEL_BAD_ARGUMENT, "exp");
  CT_CHECK(gemel_is_null(gemel_apply(g, NULL, 1, NULL, 0, NULL)));
  failed(g, GEMEL_BAD_ARGUMENT, NULL);
  CT_CHECK(gemel_is_null(gemel_apply_at(g, "nothing", 1, &x, 0, NULL, nowhere)));
  CT_CHECK(strncmp(gemel_graph_error(g)->text, "there is", 8) == 0); /* no "(null):0: " */
  failed(g, GEMEL_NOT_FOUND, "nothing");
  CT_CHECK(gemel_is_null(gemel_constant(g, NULL)));
  failed(g, GEMEL_BAD_ARGUMENT, "t-hostile.c");
  CT_EQ_INT(gemel_output(x, NULL), GEMEL_BAD_ARGUMENT);
  failed(g, GEMEL_BAD_ARGUMENT, "t-hostile.c");
  CT_CHECK(gemel_is_null(gemel_add(x, none)));
  failed(g, GEMEL_BAD_ARGUMENT, "add");
  CT_EQ_INT(gemel_grad(1, NULL, NULL, 1, &x, &d, NULL), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_grad(1, &x, &x, 1, NULL, &d, NULL), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_grad(1, &x, &x, 1, &x, NULL, NULL), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_jvp(1, &x, 1, &x, NULL, &d, NULL), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_jvp(1, &x, 1, &x, &x, NULL, NULL), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_jvp(1, &x, 0, NULL, NULL, &d, NULL), GEMEL_OK);
  CT_EQ_INT(gemel_jvp(0, NULL, 1, &x, &x, NULL, NULL), GEMEL_OK);
  CT_EQ_INT(gemel_grad(0, NULL, &none, 1, &x, &d, NULL), GEMEL_OK);
  gemel_graph_unref(g);
}

/* An input that the graph doesn't list would be filled in by nobody. */
static void input_by_name(const void *data) {
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_attr attrs[3];
  (void)data;
  attrs[0] = gemel_attr_string("name", "x");
  attrs[1] = gemel_attr_dtype("dtype", GEMEL_F32);
  attrs[2] = gemel_attr_dims("shape", 0, NULL);
  CT_CHECK(gemel_is_null(gemel_apply(g, "input", 0, NULL, 3, attrs)));
  failed(g, GEMEL_BAD_ARGUMENT, "an input is declared, not applied");
  gemel_graph_unref(g);
}

/* A size belongs to the graph whose node produces it. */
static void size_of_another_graph(const void *data) {
  gemel_graph *g = gemel_graph_new(c, NULL), *h = gemel_graph_new(c, NULL);
  gemel_value n = gemel_input(g, "n", gemel_type_of_shape(c, GEMEL_I64, 0, NULL));
  gemel_dim dim = gemel_dim_of(gemel_add(n, n));
  (void)data;
  CT_REQUIRE(!gemel_dim_is_none(dim));
  CT_CHECK(gemel_is_null(gemel_arange(h, dim)));
  failed(h, GEMEL_BAD_ARGUMENT, "t-hostile.c");
  gemel_graph_unref(g);
  gemel_graph_unref(h);
}

/* ---- Attributes ---- */

static void strange_attributes(const void *data) {
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3));
  static const int64_t axis = 0;
  static const gemel_dim dims[] = {{1}, {3000000000u}};
  gemel_attr a[2];
  (void)data;
#define REFUSED(operation, n, words)                                                               \
  do {                                                                                             \
    CT_CHECK(gemel_is_null(gemel_apply(g, operation, 1, &x, n, a)));                               \
    failed(g, GEMEL_BAD_ARGUMENT, words);                                                          \
  } while (0)
  a[0] = gemel_attr_ints("axis", 0, &axis); /* an empty list where a number must be */
  REFUSED("softmax", 1, "must be int");
  a[0] = gemel_attr_int("axis", 0);
  a[0].kind = -1;
  REFUSED("softmax", 1, "axis");
  a[0].kind = 0x7fffffff;
  REFUSED("softmax", 1, "axis");
  a[0] = a[1] = gemel_attr_int("axis", 0);
  REFUSED("softmax", 2, "twice");
  a[0].name = NULL;
  REFUSED("softmax", 1, "softmax");
  a[0] = gemel_attr_ints("axes", 3, NULL);
  REFUSED("reverse", 1, "null");
  a[0] = gemel_attr_dtype("dtype", (gemel_dtype)99);
  REFUSED("cast", 1, "attribute dtype holds 99, which is no dtype");
  a[0] = gemel_attr_dims("shape", 2, dims);
  REFUSED("broadcast_to", 1, "no dim");
  a[0] = gemel_attr_dims("shape", 2, NULL);
  REFUSED("broadcast_to", 1, "null");
#undef REFUSED
  CT_EQ_INT(gemel_graph_node_count(g), 1);
  gemel_graph_unref(g);
}

static const gemel_kernel kernels[] = {{"none", NULL, no_run}, {NULL, NULL, NULL}};

static gemel_operation operation(const char *name) {
  gemel_operation op;
  memset(&op, 0, sizeof op);
  op.size = sizeof op;
  op.name = name;
  op.min_inputs = op.max_inputs = op.version = 1;
  op.infer = same_type;
  op.kernels = kernels;
  return op;
}

/* Registers OP and applies it to a vector of a graph G; the result. */
static gemel_value apply_own(gemel_graph *g, const gemel_operation *op, size_t n_attrs,
                             const gemel_attr *attrs) {
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3));
  CT_EQ_INT(gemel_register_operation(c, op, NULL), GEMEL_OK);
  return gemel_apply(g, op->name, 1, &x, n_attrs, attrs);
}

/* Tensors in a list are copied as they are seen, like a tensor by itself: strides of any kind, and
 * the program may change its memory afterwards. */
static void lists_of_tensors(const void *data) {
  static const gemel_attr_spec schema[] = {{"list", GEMEL_ATTR_LIST | GEMEL_ATTR_TENSOR, NULL},
                                           {NULL, 0, NULL}};
  gemel_operation op = operation("tensor_list");
  gemel_graph *g = gemel_graph_new(c, NULL);
  float numbers[2] = {1, 2};
  int64_t two = 2, back = -4, still = 0;
  gemel_tensor *list[2] = {
      gemel_tensor_wrap(GEMEL_F32, 1, &two, &back, numbers + 1, NULL, NULL, NULL),
      gemel_tensor_wrap(GEMEL_F32, 1, &two, &still, numbers + 1, NULL, NULL, NULL)};
  gemel_attr a = gemel_attr_ints("list", 2, NULL), got;
  gemel_value y, z, x;
  (void)data;
  a.kind = GEMEL_ATTR_LIST | GEMEL_ATTR_TENSOR;
  a.u.tensors = list;
  op.attrs = schema;
  y = apply_own(g, &op, 1, &a);
  CT_REQUIRE(!gemel_is_null(y));
  numbers[0] = 5;
  x = gemel_graph_input(g, 0);
  z = gemel_apply(g, "tensor_list", 1, &x, 1, &a);
  CT_CHECK(z.node != y.node);
  CT_REQUIRE(gemel_value_attr(y, "list", &got) == GEMEL_OK && got.count == 2);
  CT_CHECK(((float *)gemel_tensor_data(got.u.tensors[0]))[1] == 1);
  CT_CHECK(((float *)gemel_tensor_data(got.u.tensors[1]))[1] == 2);
  gemel_tensor_unref(list[1]);
  list[1] = NULL;
  CT_CHECK(gemel_is_null(gemel_apply(g, "tensor_list", 1, &x, 1, &a)));
  failed(g, GEMEL_BAD_ARGUMENT, "null");
  gemel_tensor_unref(list[0]);
  gemel_graph_unref(g);
}

static void body_of_another_context(const void *data) {
  static const gemel_attr_spec schema[] = {{"body", GEMEL_ATTR_GRAPH, NULL}, {NULL, 0, NULL}};
  gemel_operation op = operation("foreign_body");
  gemel_context *other = gemel_context_new(NULL);
  gemel_graph *g = gemel_graph_new(c, NULL), *h = gemel_graph_new(other, NULL);
  gemel_attr a = gemel_attr_graph("body", h);
  (void)data;
  op.attrs = schema;
  CT_CHECK(gemel_is_null(apply_own(g, &op, 1, &a)));
  gemel_graph_unref(h);
  gemel_context_unref(other);
  failed(g, GEMEL_BAD_ARGUMENT, "another context");
  gemel_graph_unref(g);
}

/* ---- Records of operations ---- */

static void refused(const gemel_operation *op, const char *words) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  size_t before = gemel_operation_count(c);
  CT_EQ_INT(gemel_register_operation(c, op, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, words);
  CT_EQ_INT(gemel_operation_count(c), before);
}

static void strange_records(const void *data) {
  static const gemel_kernel no_code[] = {{"none", NULL, NULL}, {NULL, NULL, NULL}};
  static const gemel_attr_spec bad[][3] = {
      {{"a", 99, NULL}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_NONE, NULL}, {NULL, 0, NULL}},
      {{"a", -1, NULL}, {NULL, 0, NULL}},
      {{"a b", GEMEL_ATTR_INT, NULL}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_INT, NULL}, {"a", GEMEL_ATTR_INT, NULL}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_INT, "many"}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_INT, "99999999999999999999"}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_FLOAT, "0.5 or so"}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_DTYPE, "f31"}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_DIM, "3"}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_TENSOR, "zeros"}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_GRAPH, ""}, {NULL, 0, NULL}},
      {{"a", GEMEL_ATTR_LIST | GEMEL_ATTR_INT, "[1]"}, {NULL, 0, NULL}}};
  gemel_operation op = operation("strange");
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(bad); k++) {
    ct_context("schema %zu", k);
    op.attrs = bad[k];
    refused(&op, "attribute");
  }
  op = operation("strange");
  op.min_inputs = -1;
  refused(&op, "inputs");
  op.min_inputs = 3;
  op.max_inputs = 2;
  refused(&op, "inputs");
  op = operation("strange");
  op.kernels = no_code;
  refused(&op, "kernel");
  CT_EQ_INT(gemel_register_operation(c, NULL, NULL), GEMEL_BAD_ARGUMENT);
  op = operation("strange");
  CT_EQ_INT(gemel_register_operation(NULL, &op, NULL), GEMEL_BAD_ARGUMENT);
}

/* Words for truth, and numbers that read alike in every locale. */
static void fallbacks(const void *data) {
  static const gemel_attr_spec schema[] = {{"yes", GEMEL_ATTR_INT, "true"},
                                           {"no", GEMEL_ATTR_INT, "false"},
                                           {"half", GEMEL_ATTR_FLOAT, "-0.5"},
                                           {"big", GEMEL_ATTR_INT, "-9223372036854775808"},
                                           {NULL, 0, NULL}};
  gemel_operation op = operation("fallbacks");
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_value y;
  gemel_attr got;
  (void)data;
  setlocale(LC_ALL, "de_DE.UTF-8");
  op.attrs = schema;
  y = apply_own(g, &op, 0, NULL);
  CT_REQUIRE(gemel_value_attr(y, "yes", &got) == GEMEL_OK);
  CT_EQ_INT(got.u.i, 1);
  CT_REQUIRE(gemel_value_attr(y, "no", &got) == GEMEL_OK);
  CT_EQ_INT(got.u.i, 0);
  CT_REQUIRE(gemel_value_attr(y, "half", &got) == GEMEL_OK);
  CT_CHECK(got.u.f == -0.5);
  CT_REQUIRE(gemel_value_attr(y, "big", &got) == GEMEL_OK);
  CT_CHECK(got.u.i == INT64_MIN);
  setlocale(LC_ALL, "C");
  gemel_graph_unref(g);
}

/* ---- Hooks that break their word ---- */

static gemel_status no_outputs(gemel_infer *call) {
  call->n_outputs = 0;
  return GEMEL_OK;
}

static gemel_status ever_more(gemel_infer *call) {
  call->n_outputs = call->max_outputs + 1;
  return GEMEL_OK;
}

static gemel_status too_many(gemel_infer *call) {
  call->n_outputs = (size_t)-1;
  return GEMEL_OK;
}

static gemel_status no_type(gemel_infer *call) {
  call->n_outputs = 1;
  call->outputs[0].id = call->inputs[0].id + 1000000;
  return GEMEL_OK;
}

static gemel_status silent(gemel_infer *call) {
  (void)call;
  return GEMEL_BAD_SHAPE;
}

static void type_rules(const void *data) {
  static const struct {
    const char *name;
    gemel_status (*infer)(gemel_infer *call);
    gemel_status status;
  } rules[] = {{"no_outputs", no_outputs, GEMEL_BAD_TYPE},
               {"ever_more", ever_more, GEMEL_BAD_TYPE},
               {"too_many", too_many, GEMEL_BAD_TYPE},
               {"no_type", no_type, GEMEL_BAD_TYPE},
               {"silent", silent, GEMEL_BAD_SHAPE}};
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(rules); k++) {
    gemel_graph *g = gemel_graph_new(c, NULL);
    gemel_operation op = operation(rules[k].name);
    ct_context("%s", rules[k].name);
    op.infer = rules[k].infer;
    CT_CHECK(gemel_is_null(apply_own(g, &op, 0, NULL)));
    CT_HAS_STR(gemel_graph_error(g)->text, "f32[3]");
    failed(g, rules[k].status, rules[k].name);
    CT_EQ_INT(gemel_graph_node_count(g), 1);
    gemel_graph_unref(g);
  }
}

/* The result's size is what input 1, a constant, holds: more than its type says. */
static gemel_status sized_by_constant(gemel_infer *call) {
  gemel_attr held;
  int64_t size;
  if (call->input_values == NULL ||
      gemel_value_attr(call->input_values[1], "value", &held) != GEMEL_OK) {
    return GEMEL_BAD_VALUE;
  }
  size = *(const int64_t *)gemel_tensor_data(held.u.tensor);
  call->n_outputs = 1;
  call->outputs[0] = gemel_type_of_shape(call->context, GEMEL_F32, 1, &size);
  return GEMEL_OK;
}

/* A type that follows from what an input holds is not taken from another node of the same types. */
static void types_by_content(const void *data) {
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_operation op = operation("sized_by_constant");
  gemel_value in[2], y;
  (void)data;
  op.min_inputs = op.max_inputs = 2;
  op.infer = sized_by_constant;
  CT_REQUIRE(gemel_register_operation(c, &op, NULL) == GEMEL_OK);
  in[0] = gemel_input(g, "x", vector(GEMEL_F32, 3));
  in[1] = gemel_scalar(g, GEMEL_I64, 4);
  y = gemel_apply(g, "sized_by_constant", 2, in, 0, NULL);
  CT_CHECK(gemel_type_equal(gemel_value_type(y), vector(GEMEL_F32, 4)));
  in[1] = gemel_scalar(g, GEMEL_I64, 5);
  y = gemel_apply(g, "sized_by_constant", 2, in, 0, NULL);
  CT_CHECK(gemel_type_equal(gemel_value_type(y), vector(GEMEL_F32, 5)));
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
}

static gemel_graph *elsewhere;

static gemel_status silent_rule(gemel_derive *call) {
  (void)call;
  return GEMEL_UNSUPPORTED;
}

static gemel_status foreign_rule(gemel_derive *call) {
  call->d_inputs[0] = gemel_scalar(elsewhere, GEMEL_F32, 1);
  call->d_outputs[0] = call->d_inputs[0];
  return GEMEL_OK;
}

static gemel_status wrong_dtype_rule(gemel_derive *call) {
  gemel_value wrong = gemel_cast(call->inputs[0], GEMEL_F64);
  call->d_inputs[0] = call->d_outputs[0] = wrong;
  return GEMEL_OK;
}

static gemel_status wrong_shape_rule(gemel_derive *call) {
  int64_t axis = 0;
  gemel_value wrong = gemel_sum_with(call->inputs[0], .axes = {1, &axis}, .keepdims = 1);
  call->d_inputs[0] = call->d_outputs[0] = wrong;
  return GEMEL_OK;
}

static void derivative_rules(const void *data) {
  static const struct {
    const char *name;
    gemel_status (*rule)(gemel_derive *call);
    gemel_status status;
  } rules[] = {{"silent_rule", silent_rule, GEMEL_UNSUPPORTED},
               {"foreign_rule", foreign_rule, GEMEL_BAD_TYPE},
               {"wrong_dtype_rule", wrong_dtype_rule, GEMEL_BAD_TYPE},
               {"wrong_shape_rule", wrong_shape_rule, GEMEL_BAD_TYPE}};
  size_t k;
  (void)data;
  elsewhere = gemel_graph_new(c, NULL);
  for (k = 0; k < CT_COUNT(rules); k++) {
    gemel_graph *g = gemel_graph_new(c, NULL);
    gemel_operation op = operation(rules[k].name);
    gemel_value x, y, d;
    gemel_error error;
    ct_context("%s", rules[k].name);
    op.grad = op.jvp = rules[k].rule;
    y = apply_own(g, &op, 0, NULL);
    x = gemel_graph_input(g, 0);
    memset(&error, 0x55, sizeof error);
    CT_EQ_INT(gemel_grad(1, &y, &x, 1, &x, &d, &error), rules[k].status);
    CT_EQ_INT(error.status, rules[k].status);
    CT_HAS_STR(error.text, rules[k].name);
    CT_HAS_STR(error.text, "t-hostile.c");
    memset(&error, 0x55, sizeof error);
    CT_EQ_INT(gemel_jvp(1, &y, 1, &x, &x, &d, &error), rules[k].status);
    CT_HAS_STR(error.text, rules[k].name);
    CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
    gemel_graph_unref(g);
  }
  gemel_graph_unref(elsewhere);
}

/* What success leaves of an error struct, and what a value given twice means. */
static void derivatives(const void *data) {
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3)), twice[2], t[2], d, sum;
  gemel_value i = gemel_input(g, "i", vector(GEMEL_I32, 3));
  gemel_value y = gemel_mul(x, x);
  gemel_error error, before;
  (void)data;
  memset(&error, 0x55, sizeof error);
  before = error;
  twice[0] = twice[1] = x;
  t[0] = gemel_exp(x);
  t[1] = gemel_tanh(x);
  CT_EQ_INT(gemel_grad(1, &y, &x, 1, &x, &d, &error), GEMEL_OK);
  CT_EQ_INT(gemel_jvp(1, &x, 2, twice, t, &sum, &error), GEMEL_OK);
  CT_EQ_MEM(&error, &before, sizeof error);
  CT_CHECK(sum.node == gemel_add(t[0], t[1]).node);
  CT_EQ_INT(gemel_grad(1, &y, &x, 1, &i, &d, &error), GEMEL_BAD_TYPE);
  CT_HAS_STR(error.text, "i32[3]");
  CT_HAS_STR(error.text, "t-hostile.c");
  gemel_graph_unref(g);
}

/* ---- Replays ---- */

/* Two graphs that aren't a pair: the values are those of the first. */
static void replays(const void *data) {
  static const char first[] =
      "graph first(x: f64[]) {\n  n0 = broadcast_to(x, shape = [2])\n  return y = n0\n}\n";
  static const char *const tiers[] = {"real", "integer", "float", "special"};
  static const char *const others[] = {
      "x: f64[], w: f64[]) {\n  n0 = broadcast_to(w, shape = [2])\n  return y = n0",
      ") {\n  n0 = tensor(f64[2], [1, 2])\n  return y = n0",
      "x: f64[2]) {\n  n0 = neg(x)\n  return y = n0",
      ("x: f32[]) {\n  n0 = cast(x, dtype = f64)\n"
       "  n1 = broadcast_to(n0, shape = [2])\n  return y = n1"),
      "x: f64[]) {\n  n0 = broadcast_to(x, shape = [2])\n  return y = n0, z = n0",
      "x: f64[]) {\n  n0 = lt(x, x)\n  n1 = broadcast_to(n0, shape = [2])\n  return y = n1",
      "x: f64[]) {\n  n0 = neg(x)\n  return y = n0",
      "x: f64[]) {\n  n0 = broadcast_to(x, shape = [3])\n  return y = n0"};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(others) * CT_COUNT(tiers); k++) {
    const char *other = others[k / CT_COUNT(tiers)], *tier = tiers[k % CT_COUNT(tiers)];
    char path[300], second[300];
    gemel_verify_summary summary = {.size = sizeof summary};
    gemel_error error;
    snprintf(path, sizeof path, "%s/hostile-%zu", ct_scratch(), k);
    snprintf(second, sizeof second, "graph second(%s\n}\n", other);
    ct_question(c, path, tier, 1, first, second);
    ct_context("tier %s, other(%s", tier, other);
    if (k == (CT_COUNT(others) - 1) * CT_COUNT(tiers)) { /* tier real refutes other shapes */
      CT_EQ_INT(gemel_verify_replay(c, path, NULL, &summary, &error), GEMEL_OK);
      CT_EQ_UINT(summary.verdicts[GEMEL_VERDICT_REFUTED], 1);
      continue;
    }
    CT_EQ_INT(gemel_verify_replay(c, path, NULL, &summary, &error), GEMEL_BAD_FILE);
    CT_HAS_STR(error.text, "other inputs or outputs");
  }
}

/* A folder that asks TIER about one graph, its input X in these STRIDES. */
static void ask_with_strides(const char *path, const char *tier, const int64_t *strides) {
  static const int64_t shape[] = {30, 40};
  static float values[4800];
  char name[320];
  gemel_graph *graph = parse(c, "graph g(x: f32[30, 40]) {\n  return y = x + x\n}\n");
  for (size_t k = 0; k < CT_COUNT(values); k++) {
    values[k] = (float)(k % 97);
  }
  gemel_tensor *x =
      gemel_tensor_wrap(GEMEL_F32, 2, shape, strides, values + 2400, NULL, NULL, NULL);
  CT_EQ_INT(mkdir(path, 0777), 0);
  snprintf(name, sizeof name, "%s/first", path);
  CT_EQ_INT(gemel_dump(graph, NULL, 1, &x, 0, NULL, name, NULL), GEMEL_OK);
  snprintf(name, sizeof name, "%s/question", path);
  FILE *file = fopen(name, "w");
  CT_REQUIRE(file != NULL);
  fprintf(file, "kind = operation\nname = asked\ntier = %s\nseed = 1\nvalues = 1\n", tier);
  fclose(file);
  gemel_tensor_unref(x);
  gemel_graph_unref(graph);
}

/* Inputs that lie in other orders, some elements at one place, are read where they are. */
static void replays_with_strides(const void *data) {
  static const int64_t strides[][2] = {{4, 120}, {0, 0}, {-160, 4}, {8, 240}};
  static const char *const tiers[] = {"integer", "float", "special"};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(strides) * CT_COUNT(tiers); k++) {
    char path[300];
    gemel_verify_summary summary = {.size = sizeof summary};
    snprintf(path, sizeof path, "%s/strides-%zu", ct_scratch(), k);
    ask_with_strides(path, tiers[k % CT_COUNT(tiers)], strides[k / CT_COUNT(tiers)]);
    ct_context("%s", path);
    CT_EQ_INT(gemel_verify_replay(c, path, NULL, &summary, NULL), GEMEL_OK);
    CT_EQ_UINT(summary.verdicts[GEMEL_VERDICT_PASSED], 1);
  }
}

/* Sizes of many symbols are looked for in little time, though none fits; one that does is found. */
static void replays_with_symbols(const void *data) {
  static const char fits[] = "graph g(x: f32[N * 2]) {\n  return y = x\n}\n";
  enum { SYMBOLS = 32 };
  char graph[1000] = "graph g(", path[300];
  gemel_verify_summary summary = {.size = sizeof summary};
  size_t used = strlen(graph);
  clock_t before = clock();
  (void)data;
  for (int k = 0; k < SYMBOLS; k++) {
    const char *head = k == 0 ? "x: f32[" : k == SYMBOLS / 2 ? "], y: f32[" : ", ";
    used += (size_t)snprintf(graph + used, sizeof graph - used, "%sN%d * 2 + 1", head, k);
  }
  snprintf(graph + used, sizeof graph - used, "]) {\n  return y = x\n}\n");
  snprintf(path, sizeof path, "%s/symbols", ct_scratch());
  ct_question(c, path, "real", 1, graph, graph);
  CT_EQ_INT(gemel_verify_replay(c, path, NULL, &summary, NULL), GEMEL_BAD_FILE);
  CT_CHECK(clock() - before < 15 * CLOCKS_PER_SEC);
  snprintf(path, sizeof path, "%s/fitting", ct_scratch());
  ct_question(c, path, "real", 1, fits, fits);
  CT_EQ_INT(gemel_verify_replay(c, path, NULL, &summary, NULL), GEMEL_OK);
  CT_EQ_UINT(summary.verdicts[GEMEL_VERDICT_PASSED], 1);
}

/* What is wrong with options is said. */
static void bad_options(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_rewrite_options rewrite = {.allow = GEMEL_FASTMATH_NONE, .has_allow = 1};
  struct {
    gemel_options options;
    const char *says;
  } cases[] = {
      {{.threads = 2}, "the size of gemel_options is 0"},
      {{.size = sizeof(gemel_options), .threads = -5}, "-5 threads"},
      {{.size = sizeof(gemel_options), .rewrite = &rewrite}, "gemel_rewrite_options is 0"}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    gemel_error error = {0};
    CT_CHECK(gemel_compile(graph, &cases[k].options, &error) == NULL);
    CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
    CT_HAS_STR(error.text, cases[k].says);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("contexts", contexts, NULL),
      CT_TEST("dims", strange_dims, NULL),
      CT_TEST("types", strange_types, NULL),
      CT_TEST("types/long", long_types, NULL),
      CT_TEST("null_graphs", null_graphs, NULL),
      CT_TEST("made_up_values", made_up_values, NULL),
      CT_TEST("null_arrays", null_arrays, NULL),
      CT_TEST("input_by_name", input_by_name, NULL),
      CT_TEST("size_of_another_graph", size_of_another_graph, NULL),
      CT_TEST("attributes", strange_attributes, NULL),
      CT_TEST("attributes/lists_of_tensors", lists_of_tensors, NULL),
      CT_TEST("attributes/body_of_another_context", body_of_another_context, NULL),
      CT_TEST("records", strange_records, NULL),
      CT_TEST("records/fallbacks", fallbacks, NULL),
      CT_TEST("type_rules", type_rules, NULL),
      CT_TEST("type_rules/by_content", types_by_content, NULL),
      CT_TEST("options", bad_options, NULL),
      CT_TEST("derivative_rules", derivative_rules, NULL),
      CT_TEST("derivatives", derivatives, NULL),
      CT_TEST("replays", replays, NULL),
      CT_TEST("replays_with_strides", replays_with_strides, NULL),
      CT_TEST("replays_with_symbols", replays_with_symbols, NULL),
  };
  shared();
  ct_suite("hostile", tests, CT_COUNT(tests));
}
