/*
 * Graphs: building, hash-consing, errors as values, provenance, attributes, sizes known only at run
 * time, operations of a program's own, contexts shared by threads, refused allocations.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/graph.h"
#include "shared.h"
#include "support/operation.h"

static gemel_type f32(int rank, const int64_t *shape) {
  return gemel_type_of_shape(shared(), GEMEL_F32, rank, shape);
}

static gemel_type vector(gemel_dtype dtype, int64_t n) {
  return gemel_type_of_shape(shared(), dtype, 1, &n);
}

static gemel_type symbolic(gemel_dtype dtype, const char *name) {
  gemel_dim dim = gemel_dim_symbol(shared(), name);
  return gemel_type_new(shared(), dtype, 1, &dim, GEMEL_SPACE_HOST);
}

/* ---- Equal nodes are one node ---- */

static void consing(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3));
  gemel_value y = gemel_input(g, "y", vector(GEMEL_F32, 3));
  gemel_value a = gemel_add(x, y), b = gemel_add(x, y), turned = gemel_add(y, x);
  static const int64_t axis0[] = {0};
  (void)data;
  CT_EQ_INT(a.node, b.node);
  CT_CHECK(a.node != turned.node);
  CT_CHECK(gemel_sum_with(x, .axes = {1, axis0}).node ==
           gemel_sum_with(x, .axes = {1, axis0}).node);
  CT_CHECK(gemel_sum_with(x, .axes = {1, axis0}).node !=
           gemel_sum_with(x, .axes = {1, axis0}, .keepdims = 1).node);
  CT_CHECK(gemel_scalar(g, GEMEL_F32, 2).node == gemel_scalar(g, GEMEL_F32, 2).node);
  CT_CHECK(gemel_scalar(g, GEMEL_F32, 0.0).node != gemel_scalar(g, GEMEL_F32, -0.0).node);
  CT_CHECK(gemel_scalar(g, GEMEL_F32, 2).node != gemel_scalar(g, GEMEL_F64, 2).node);
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
}

/* Many nodes on one input overflow the window of the table; none may be lost or doubled. */
static void consing_star(const void *data) {
  enum { N = 3000 };
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 4));
  size_t before;
  int64_t k;
  (void)data;
  for (k = 0; k < N; k++) {
    gemel_attr attr = gemel_attr_dims(
        "shape", 2,
        (gemel_dim[]){gemel_dim_constant(shared(), k), gemel_dim_constant(shared(), 4)});
    CT_REQUIRE(!gemel_is_null(gemel_apply(g, "broadcast_to", 1, &x, 1, &attr)));
  }
  before = gemel_graph_node_count(g);
  CT_EQ_INT(before, N + 1);
  for (k = N - 1; k >= 0; k--) {
    gemel_attr attr = gemel_attr_dims(
        "shape", 2,
        (gemel_dim[]){gemel_dim_constant(shared(), k), gemel_dim_constant(shared(), 4)});
    gemel_value v = gemel_apply(g, "broadcast_to", 1, &x, 1, &attr);
    CT_REQUIRE(v.node == (uint32_t)k + 1);
  }
  CT_EQ_INT(gemel_graph_node_count(g), before);
  gemel_graph_unref(g);
}

/* Nodes on one late constant: past the first few they lie near their other input, and only those
 * that have two such constants go to the overflow. */
static void consing_late_constant(const void *data) {
  enum { N = 500, KINDS = 4 };
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x[N], made[KINDS * N], factor, d;
  size_t k, round, before;
  (void)data;
  x[0] = gemel_input(g, "x", vector(GEMEL_F32, 4));
  for (k = 1; k < N; k++) {
    x[k] = gemel_neg(gemel_exp(x[k - 1]));
  }
  factor = gemel_scalar(g, GEMEL_F32, 2.5);
  d = gemel_scalar(g, GEMEL_F32, 3.5);
  for (round = 0; round < 2; round++) {
    before = gemel_graph_node_count(g);
    for (k = 0; k < N; k++) {
      gemel_value now[KINDS] = {gemel_mul(factor, x[k]), gemel_sub(x[k], factor),
                                gemel_sub(factor, x[k]), gemel_clip(x[k], factor, d)};
      size_t j;
      for (j = 0; j < KINDS; j++) {
        CT_REQUIRE(!gemel_is_null(now[j]));
        CT_CHECK(round == 0 || now[j].node == made[KINDS * k + j].node);
        made[KINDS * k + j] = now[j];
      }
    }
  }
  CT_EQ_INT(gemel_graph_node_count(g), before);
  CT_EQ_INT(before, 2 * N - 1 + 2 + KINDS * N);
  CT_CHECK(g->overflow.used >= N / 2 && g->overflow.used < N + 10);
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
}

/* ---- Errors are values ---- */

static void null_values(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = gemel_input(g, "x", f32(1, (int64_t[]){3}));
  gemel_value y = gemel_input(g, "y", f32(1, (int64_t[]){4}));
  int line = __LINE__ + 1;
  gemel_value bad = gemel_add(x, y);
  char place[40];
  (void)data;
  snprintf(place, sizeof place, "t-graph.c:%d", line);
  CT_CHECK(gemel_is_null(bad));
  CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_BAD_SHAPE);
  CT_CHECK(strstr(gemel_graph_error(g)->text, place) != NULL);
  CT_CHECK(strstr(gemel_graph_error(g)->text, "add") != NULL);
  CT_CHECK(strstr(gemel_graph_error(g)->text, "f32[3]") != NULL);
  CT_CHECK(strstr(gemel_graph_error(g)->text, "f32[4]") != NULL);
  CT_EQ_INT(gemel_output(bad, "bad"), GEMEL_NULL_VALUE);
  CT_EQ_INT(gemel_assume(bad, 1), GEMEL_NULL_VALUE);
  CT_HAS_STR(gemel_status_text(GEMEL_NULL_VALUE), "its graph may say why");
  /* what follows is null, and the first error stays */
  CT_CHECK(gemel_is_null(gemel_exp(bad)));
  CT_CHECK(gemel_is_null(gemel_mul(x, gemel_exp(bad))));
  CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_BAD_SHAPE);
  CT_EQ_INT(gemel_graph_node_count(g), 2);
  gemel_graph_clear_error(g);
  CT_CHECK(!gemel_is_null(gemel_exp(x)));
  CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_OK);
  gemel_graph_unref(g);
}

static void bad_arguments(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL), *h = gemel_graph_new(shared(), NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3));
  gemel_value other = gemel_input(h, "x", vector(GEMEL_F32, 3));
  gemel_value none = {NULL, 0, 0};
  gemel_attr stray = gemel_attr_int("axis", 1), wrong = gemel_attr_float("axis", 1);
  (void)data;
#define REFUSED(expression, code)                                                                  \
  do {                                                                                             \
    CT_CHECK(gemel_is_null(expression));                                                           \
    CT_EQ_INT(gemel_graph_error(g)->status, code);                                                 \
    gemel_graph_clear_error(g);                                                                    \
  } while (0)
  REFUSED(gemel_input(g, "x", vector(GEMEL_F32, 2)), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_input(g, "2x", vector(GEMEL_F32, 2)), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_input(g, NULL, vector(GEMEL_F32, 2)), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_input(g, "z", GEMEL_TYPE_NONE), GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_is_null(gemel_input(g, "z", vector(GEMEL_F32, -3))));
  CT_HAS_STR(gemel_graph_error(g)->text, "a size was negative");
  gemel_graph_clear_error(g);
  REFUSED(gemel_input(g, "z", (gemel_type){123456789}), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_add(x, other), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_add(x, none), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_apply(g, "add", GEMEL_LIST(gemel_value, x, x, x), 0, NULL), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_apply(g, "no_such", 1, &x, 0, NULL), GEMEL_NOT_FOUND);
  REFUSED(gemel_apply(g, NULL, 1, &x, 0, NULL), GEMEL_NOT_FOUND);
  REFUSED(gemel_apply(g, "exp", 0, NULL, 0, NULL), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_apply(g, "exp", 1, &x, 1, &stray), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_apply(g, "softmax", 1, &x, 1, &wrong), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_apply(g, "reverse", 1, &x, 0, NULL), GEMEL_BAD_ARGUMENT);
  REFUSED(gemel_scalar(g, GEMEL_I8, 200), GEMEL_BAD_VALUE);
  REFUSED(gemel_scalar(g, GEMEL_I32, 0.5), GEMEL_BAD_VALUE);
#undef REFUSED
  CT_CHECK(gemel_is_null(gemel_apply(g, "sgimoid", 1, &x, 0, NULL)));
  CT_HAS_STR(gemel_graph_error(g)->text,
             "there is no operation called sgimoid; did you mean sigmoid?");
  gemel_graph_clear_error(g);
  stray.name = "axes";
  CT_CHECK(gemel_is_null(gemel_apply(g, "softmax", 1, &x, 1, &stray)));
  CT_HAS_STR(gemel_graph_error(g)->text,
             "softmax has no attribute called axes; did you mean axis?");
  gemel_graph_clear_error(g);
  CT_EQ_INT(gemel_output(none, "r"), GEMEL_NULL_VALUE);
  CT_EQ_INT(gemel_output(x, "r"), GEMEL_OK);
  CT_EQ_INT(gemel_output(x, "r"), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_graph_output_count(g), 1);
  gemel_graph_unref(g);
  gemel_graph_unref(h);
}

static void provenance(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3));
  gemel_location there = {"model.py", 77};
  gemel_value y = gemel_exp_at(x, there);
  int line = __LINE__ + 1;
  gemel_value z = gemel_log(y);
  (void)data;
  CT_EQ_STR(gemel_value_where(y).file, "model.py");
  CT_EQ_INT(gemel_value_where(y).line, 77);
  CT_EQ_INT(gemel_value_where(z).line, line);
  CT_CHECK(strstr(gemel_value_where(z).file, "t-graph.c") != NULL);
  CT_EQ_STR(gemel_value_operation(z), "log");
  CT_EQ_INT(gemel_value_input(z, 0).node, y.node);
  CT_CHECK(gemel_is_null(gemel_value_input(z, 1)));
  gemel_graph_unref(g);
}

/* ---- Types ---- */

static void promotion_by_casts(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value i = gemel_input(g, "i", vector(GEMEL_I32, 3));
  gemel_value f = gemel_input(g, "f", vector(GEMEL_F32, 3));
  gemel_value s = gemel_add(i, f);
  (void)data;
  CT_EQ_INT(gemel_type_dtype(shared(), gemel_value_type(s)), GEMEL_F64);
  CT_EQ_STR(gemel_value_operation(gemel_value_input(s, 0)), "cast");
  CT_EQ_STR(gemel_value_operation(gemel_value_input(s, 1)), "cast");
  CT_EQ_INT(gemel_type_dtype(shared(), gemel_value_type(gemel_lt(i, f))), GEMEL_BOOL);
  CT_EQ_INT(gemel_type_dtype(shared(), gemel_value_type(gemel_div(i, i))), GEMEL_F64);
  gemel_graph_unref(g);
}

/* A literal 1 broadcasts, a symbol doesn't; what can't be proved is left to run time. */
static void symbols(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value n = gemel_input(g, "n", symbolic(GEMEL_F32, "N"));
  gemel_value m = gemel_input(g, "m", symbolic(GEMEL_F32, "M"));
  gemel_value one = gemel_input(g, "one", vector(GEMEL_F32, 1));
  gemel_dim np1 =
      gemel_dim_add(shared(), gemel_dim_symbol(shared(), "N"), gemel_dim_constant(shared(), 1));
  gemel_value longer = gemel_input(g, "longer", gemel_type_new(shared(), GEMEL_F32, 1, &np1, 0));
  (void)data;
  CT_CHECK(!gemel_is_null(gemel_add(n, m)));
  CT_CHECK(gemel_type_equal(gemel_value_type(gemel_add(n, one)), gemel_value_type(n)));
  CT_CHECK(gemel_is_null(gemel_add(n, longer)));
  CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_BAD_SHAPE);
  gemel_graph_unref(g);
}

/* The size becomes an explicit input of the node that uses it. */
static void runtime_sizes(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value n = gemel_input(g, "n", gemel_type_of_shape(shared(), GEMEL_I64, 0, NULL));
  gemel_value count = gemel_add(n, gemel_scalar(g, GEMEL_I64, 1));
  gemel_value r = gemel_arange(g, gemel_dim_of(count));
  gemel_value f = gemel_input(g, "f", gemel_type_of_shape(shared(), GEMEL_F32, 0, NULL));
  gemel_tensor *in[2], *out[1] = {NULL};
  int64_t four = 4;
  float half = 0.5f;
  (void)data;
  CT_REQUIRE(!gemel_is_null(r));
  CT_EQ_INT(gemel_value_input_count(r), 1);
  CT_EQ_INT(gemel_value_input(r, 0).node, count.node);
  CT_CHECK(gemel_dim_is_none(gemel_dim_of(f)));
  CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_BAD_TYPE);
  gemel_graph_clear_error(g);
  CT_EQ_INT(gemel_output(gemel_mul(r, r), "squares"), GEMEL_OK);
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  in[0] = gemel_tensor_wrap(GEMEL_I64, 0, NULL, NULL, &four, NULL, NULL, NULL);
  in[1] = gemel_tensor_wrap(GEMEL_F32, 0, NULL, NULL, &half, NULL, NULL, NULL);
  CT_REQUIRE(gemel_evaluate(g, 2, in, 1, out, NULL) == GEMEL_OK);
  CT_EQ_INT(gemel_tensor_shape(out[0])[0], 5);
  CT_EQ_INT(((int64_t *)gemel_tensor_data(out[0]))[4], 16);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_tensor_unref(out[0]);
  gemel_graph_unref(g);
}

/* ---- Attributes of every kind, in an operation of the program's own ---- */

static const gemel_attr_spec every_kind[] = {{"i", GEMEL_ATTR_INT, "7"},
                                             {"d", GEMEL_ATTR_DIM, NULL},
                                             {"f", GEMEL_ATTR_FLOAT, "0.25"},
                                             {"t", GEMEL_ATTR_DTYPE, "i32"},
                                             {"s", GEMEL_ATTR_STRING, "word"},
                                             {"x", GEMEL_ATTR_TENSOR, "none"},
                                             {"g", GEMEL_ATTR_GRAPH, "none"},
                                             {"li", GEMEL_ATTR_LIST | GEMEL_ATTR_INT, "[]"},
                                             {"ld", GEMEL_ATTR_LIST | GEMEL_ATTR_DIM, "none"},
                                             {"lf", GEMEL_ATTR_LIST | GEMEL_ATTR_FLOAT, "none"},
                                             {"lt", GEMEL_ATTR_LIST | GEMEL_ATTR_DTYPE, "none"},
                                             {"ls", GEMEL_ATTR_LIST | GEMEL_ATTR_STRING, "none"},
                                             {"lg", GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH, "none"},
                                             {NULL, 0, NULL}};

static gemel_status copy_run(const gemel_kernel_call *call) {
  const gemel_view *in = &call->inputs[0], *out = &call->outputs[0];
  int64_t k;
  for (k = 0; k < in->shape[0]; k++) {
    float x;
    memcpy(&x, (char *)in->data + k * in->strides[0], sizeof x);
    x += 1;
    memcpy((char *)out->data + k * out->strides[0], &x, sizeof x);
  }
  return GEMEL_OK;
}

static const gemel_kernel copy_kernels[] = {{"copy", NULL, copy_run}, {NULL, NULL, NULL}};

static gemel_operation own_operation(const char *name) {
  gemel_operation op;
  memset(&op, 0, sizeof op);
  op.size = sizeof op;
  op.name = name;
  op.summary = "adds one";
  op.min_inputs = op.max_inputs = 1;
  op.version = 1;
  op.attrs = every_kind;
  op.infer = same_type;
  op.kernels = copy_kernels;
  return op;
}

static gemel_graph *body(double number) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 2));
  gemel_output(gemel_mul(x, gemel_scalar(g, GEMEL_F32, number)), "r");
  return g;
}

static size_t all_attrs(gemel_attr *a, gemel_graph *const *graphs, gemel_tensor *tensor) {
  static const int64_t ints[] = {1, -2};
  static const double floats[] = {0.5, -0.0};
  static const gemel_dtype dtypes[] = {GEMEL_F16, GEMEL_BOOL};
  static const char *const words[] = {"a", "b c"};
  size_t n = 0;
  a[n++] = gemel_attr_dim("d", gemel_dim_symbol(shared(), "N"));
  a[n++] = gemel_attr_string("s", "other");
  a[n++] = gemel_attr_tensor("x", tensor);
  a[n++] = gemel_attr_graph("g", graphs[0]);
  a[n++] = gemel_attr_ints("li", 2, ints);
  a[n] = gemel_attr_ints("lf", 2, NULL);
  a[n].kind = GEMEL_ATTR_LIST | GEMEL_ATTR_FLOAT;
  a[n++].u.floats = floats;
  a[n] = gemel_attr_ints("lt", 2, NULL);
  a[n].kind = GEMEL_ATTR_LIST | GEMEL_ATTR_DTYPE;
  a[n++].u.dtypes = dtypes;
  a[n] = gemel_attr_ints("ls", 2, NULL);
  a[n].kind = GEMEL_ATTR_LIST | GEMEL_ATTR_STRING;
  a[n++].u.texts = words;
  a[n] = gemel_attr_ints("lg", 2, NULL);
  a[n].kind = GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH;
  a[n++].u.graphs = graphs;
  return n;
}

static void attributes_of_every_kind(const void *data) {
  gemel_context *own = shared();
  gemel_operation op = own_operation("every_kind");
  gemel_graph *g = gemel_graph_new(own, NULL), *bodies[2];
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 2)), y, z;
  gemel_attr a[16], got;
  float numbers[2] = {1, 2};
  int64_t two = 2;
  gemel_tensor *t = gemel_tensor_wrap(GEMEL_F32, 1, &two, NULL, numbers, NULL, NULL, NULL);
  size_t n;
  (void)data;
  CT_REQUIRE(gemel_register_operation(own, &op, NULL) == GEMEL_OK);
  CT_EQ_INT(gemel_register_operation(own, &op, NULL), GEMEL_BAD_ARGUMENT); /* the name is taken */
  bodies[0] = body(2);
  bodies[1] = body(3);
  n = all_attrs(a, bodies, t);
  y = gemel_apply(g, "every_kind", 1, &x, n, a);
  CT_REQUIRE(!gemel_is_null(y));
  /* the same again, from other objects of equal content, is the same node */
  gemel_graph_unref(bodies[0]);
  bodies[0] = body(2);
  n = all_attrs(a, bodies, t);
  z = gemel_apply(g, "every_kind", 1, &x, n, a);
  CT_EQ_INT(z.node, y.node);
  /* the body is a copy: its graph may still grow, and then it is another attribute */
  gemel_output(gemel_graph_input(bodies[0], 0), "more");
  CT_EQ_INT(gemel_graph_error(bodies[0])->status, GEMEL_OK);
  z = gemel_apply(g, "every_kind", 1, &x, n, a);
  CT_CHECK(z.node != y.node);
  CT_EQ_INT(gemel_value_attr(y, "i", &got), GEMEL_OK);
  CT_EQ_INT(got.u.i, 7);
  CT_EQ_INT(gemel_value_attr(y, "f", &got), GEMEL_OK);
  CT_CHECK(got.u.f == 0.25);
  CT_EQ_INT(gemel_value_attr(y, "g", &got), GEMEL_OK);
  CT_EQ_INT(gemel_graph_output_count(got.u.graph), 1);
  CT_CHECK(gemel_is_null(gemel_exp(gemel_graph_input(got.u.graph, 0)))); /* frozen */
  CT_EQ_INT(gemel_value_attr(y, "nothing", &got), GEMEL_NOT_FOUND);
  CT_CHECK(gemel_is_null(gemel_apply(g, "every_kind", 1, &x, 0, NULL))); /* d is missing */
  gemel_graph_unref(bodies[0]);
  gemel_graph_unref(bodies[1]);
  gemel_tensor_unref(t);
  gemel_graph_unref(g);
}

static void own_operation_runs(const void *data) {
  gemel_operation op = own_operation("plus_one");
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3));
  gemel_attr d = gemel_attr_dim("d", gemel_dim_constant(shared(), 1));
  gemel_tensor *in, *out[1] = {NULL};
  float numbers[3] = {1, 2, 3};
  int64_t three = 3;
  (void)data;
  CT_REQUIRE(gemel_register_operation(shared(), &op, NULL) == GEMEL_OK);
  gemel_output(gemel_apply(g, "plus_one", 1, &x, 1, &d), "y");
  in = gemel_tensor_wrap(GEMEL_F32, 1, &three, NULL, numbers, NULL, NULL, NULL);
  CT_REQUIRE(gemel_evaluate(g, 1, &in, 1, out, NULL) == GEMEL_OK);
  CT_CHECK(((float *)gemel_tensor_data(out[0]))[2] == 4);
  gemel_tensor_unref(in);
  gemel_tensor_unref(out[0]);
  gemel_graph_unref(g);
}

static void bad_operations(const void *data) {
  gemel_operation op = own_operation("bad op");
  (void)data;
  CT_EQ_INT(gemel_register_operation(shared(), &op, NULL), GEMEL_BAD_ARGUMENT);
  op = own_operation("bad1");
  op.infer = NULL;
  CT_EQ_INT(gemel_register_operation(shared(), &op, NULL), GEMEL_BAD_ARGUMENT);
  op = own_operation("bad2");
  op.kernels = NULL;
  CT_EQ_INT(gemel_register_operation(shared(), &op, NULL), GEMEL_BAD_ARGUMENT);
  op = own_operation("bad3");
  op.size = 8;
  CT_EQ_INT(gemel_register_operation(shared(), &op, NULL), GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_operation_find(shared(), "bad2") == NULL);
}

/* ---- Memory spaces ---- */

/* The operands of a node lie in one space: gemel's operations and a program's own refuse others,
 * whichever operand it is, by an error that names the spaces, the operation and the line. */
static void mixed_spaces(const void *data) {
  static const gemel_attr_spec none[] = {{NULL, 0, NULL}};
  gemel_operation op = own_operation("first_of_many");
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_dim three = gemel_dim_constant(shared(), 3);
  gemel_type there = gemel_type_new(shared(), GEMEL_F32, 1, &three, 1);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 3)), y = gemel_input(g, "y", there);
  const char *const names[] = {"add", "maximum", "dot", "join", "where", "first_of_many"};
  (void)data;
  op.max_inputs = -1;
  op.attrs = none;
  CT_REQUIRE(gemel_register_operation(shared(), &op, NULL) == GEMEL_OK);
  for (size_t k = 0; k < CT_COUNT(names); k++) {
    int axis = strcmp(names[k], "join") == 0, dot = strcmp(names[k], "dot") == 0;
    size_t n = strcmp(names[k], "where") == 0 ? 3 : 2;
    int64_t zero = 0;
    gemel_attr attrs[2] = {gemel_attr_int("axis", 0)};
    if (dot) {
      attrs[0] = gemel_attr_ints("contract_x", 1, &zero);
      attrs[1] = gemel_attr_ints("contract_y", 1, &zero);
    }
    for (int turned = 0; turned < 2; turned++) {
      gemel_value in[3] = {turned ? y : x, turned ? x : y, x};
      int line = __LINE__ + 1;
      gemel_value z = gemel_apply(g, names[k], n, in, (size_t)(dot ? 2 : axis), attrs);
      const char *text = gemel_graph_error(g)->text;
      char place[40], spaces[80];
      snprintf(place, sizeof place, "t-graph.c:%d: %s(", line, names[k]);
      snprintf(spaces, sizeof spaces, "input 0 lies in memory space %d, input 1 in memory space %d",
               turned, !turned);
      CT_CHECK(gemel_is_null(z));
      CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_BAD_TYPE);
      CT_CHECK(strstr(text, place) != NULL && strstr(text, spaces) != NULL);
      gemel_graph_clear_error(g);
    }
  }
  gemel_graph_unref(g);
}

/* What lies on a device stays there, and isn't run on the host. */
static void one_space(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_dim three = gemel_dim_constant(shared(), 3);
  gemel_type there = gemel_type_new(shared(), GEMEL_F32, 1, &three, 1);
  gemel_value x = gemel_input(g, "x", there), y = gemel_input(g, "y", there);
  gemel_value z = gemel_mul(gemel_add(x, y), x);
  gemel_error error = {0};
  (void)data;
  CT_EQ_INT(gemel_type_space(shared(), gemel_value_type(z)), 1);
  CT_EQ_INT(gemel_output(z, "z"), GEMEL_OK);
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  CT_CHECK(gemel_compile(g, NULL, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_UNSUPPORTED);
  CT_CHECK(strstr(error.text, "memory space 1") != NULL);
  gemel_graph_unref(g);
}

/* ---- Threads ---- */

struct job {
  gemel_context *own;
  int good;
};

static void *build_one(void *user) {
  struct job *job = user;
  gemel_graph *g = gemel_graph_new(job->own, NULL);
  int64_t k;
  gemel_value sum;
  job->good = g != NULL;
  sum = gemel_scalar(g, GEMEL_F32, 0);
  for (k = 0; k < 2000; k++) {
    char name[24];
    int64_t shape[2] = {k % 37 + 1, 5};
    gemel_value x;
    snprintf(name, sizeof name, "input_%d", (int)k);
    x = gemel_input(g, name, gemel_type_of_shape(job->own, GEMEL_F32, 2, shape));
    sum = gemel_add(sum, gemel_sum(gemel_mul(x, gemel_scalar(g, GEMEL_F32, (double)k))));
  }
  gemel_output(sum, "sum");
  job->good = job->good && gemel_graph_error(g)->status == GEMEL_OK &&
              gemel_graph_check(g, NULL) == GEMEL_OK;
  gemel_graph_unref(g);
  return NULL;
}

static void graphs_on_threads(const void *data) {
  enum { THREADS = 4 };
  gemel_context *own = gemel_context_new(NULL);
  pthread_t threads[THREADS];
  struct job jobs[THREADS];
  int k;
  (void)data;
  for (k = 0; k < THREADS; k++) {
    jobs[k].own = own;
    CT_REQUIRE(pthread_create(&threads[k], NULL, build_one, &jobs[k]) == 0);
  }
  for (k = 0; k < THREADS; k++) {
    pthread_join(threads[k], NULL);
    CT_CHECK(jobs[k].good);
  }
  gemel_context_unref(own);
}

/* ---- Refused allocations ---- */

static int build_refused(void *user) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *own = gemel_context_new(&error);
  gemel_graph *g = NULL;
  gemel_status status;
  int64_t shape[1] = {3};
  (void)user;
  if (own == NULL) {
    return error.status;
  }
  g = gemel_graph_new(own, &error);
  if (g == NULL) {
    gemel_context_unref(own);
    return error.status;
  }
  {
    gemel_value x = gemel_input(g, "x", gemel_type_of_shape(own, GEMEL_F32, 1, shape));
    gemel_value y = gemel_tanh(gemel_mul(x, gemel_scalar(g, GEMEL_F32, 3)));
    gemel_value loss = gemel_sum(gemel_softmax(y, -1)), d;
    gemel_output(loss, "loss");
    status = gemel_graph_error(g)->status;
    /* a null type or dim is what a refused allocation gives to the builder that needs it */
    if (status == GEMEL_BAD_ARGUMENT && gemel_is_null(x)) {
      status = GEMEL_NO_MEMORY;
    }
    if (status == GEMEL_OK) {
      status = gemel_grad(1, &loss, NULL, 1, &x, &d, &error);
    }
    if (status == GEMEL_OK) {
      gemel_output(d, "d");
      status = gemel_graph_error(g)->status;
    }
  }
  /* whatever was refused, what is there is a graph */
  {
    gemel_status checked = gemel_graph_check(g, &error);
    status = checked != GEMEL_OK ? checked : status;
  }
  gemel_graph_unref(g);
  gemel_context_unref(own);
  return status;
}

static void refused_allocations(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(build_refused, NULL) > 50);
}

/* A reference keeps what it refers to; names, sizes and spaces of parts. */
static void references(const void *data) {
  gemel_context *own = gemel_context_new(NULL);
  gemel_graph *g = gemel_graph_new(own, NULL);
  int64_t size = 3;
  gemel_value x = gemel_input(g, "x", gemel_type_of_shape(own, GEMEL_F32, 1, &size)), y = x;
  size_t bytes = gemel_graph_bytes(g);
  (void)data;
  CT_CHECK(gemel_context_ref(own) == own);
  gemel_context_unref(own);
  CT_CHECK(gemel_graph_ref(g) == g);
  gemel_graph_unref(g);
  for (int k = 0; k < 5000; k++) {
    y = gemel_add(y, x);
  }
  CT_EQ_INT(gemel_output(y, "sum"), GEMEL_OK);
  CT_EQ_STR(gemel_graph_input_name(g, 0), "x");
  CT_EQ_STR(gemel_graph_output_name(g, 0), "sum");
  CT_CHECK(!gemel_graph_input_name(g, 1) && !gemel_graph_output_name(g, 1));
  CT_EQ_INT(gemel_type_space(own, gemel_value_type(y)), GEMEL_SPACE_HOST);
  /* the record of a node alone is more than 16 bytes */
  CT_CHECK(gemel_graph_bytes(g) > bytes + 5000 * 16);
  gemel_graph_unref(g);
  gemel_context_unref(own);
}

/* Options that are all zero are as good as none. */
#define ZERO_IS_NONE(name, ...)                                                                    \
  do {                                                                                             \
    gemel_##name##_options zero = {0};                                                             \
    gemel_value without = gemel_##name##_at(__VA_ARGS__, NULL, GEMEL_HERE);                        \
    gemel_value with = gemel_##name##_at(__VA_ARGS__, &zero, GEMEL_HERE);                          \
    ct_context("%s: %s", #name, gemel_graph_error(g)->text);                                       \
    CT_CHECK(!gemel_is_null(without) && without.node == with.node);                                \
  } while (0)

static void zero_options(const void *data) {
  gemel_context *own = gemel_context_new(NULL);
  gemel_graph *g = gemel_graph_new(own, NULL);
  gemel_value v = gemel_declare(g, "v: f32[6]"), m = gemel_declare(g, "m: f32[6, 6]");
  gemel_value x = gemel_declare(g, "x: f32[1, 1, 6, 6]"), i = gemel_declare(g, "i: i64[6]");
  gemel_value two[2] = {v, v};
  gemel_dim sizes[2] = {gemel_dim_constant(own, 2), gemel_dim_constant(own, 4)};
  int64_t window[2] = {2, 2};
  (void)data;
  ZERO_IS_NONE(sum, m);
  ZERO_IS_NONE(prod, m);
  ZERO_IS_NONE(max, m);
  ZERO_IS_NONE(cumsum, m);
  ZERO_IS_NONE(argsort, m, 1);
  ZERO_IS_NONE(take, m, i);
  ZERO_IS_NONE(put, v, i, v);
  ZERO_IS_NONE(searchsorted, v, v);
  ZERO_IS_NONE(triangular_solve, m, m);
  ZERO_IS_NONE(join, 2, two);
  ZERO_IS_NONE(split, v, 2, sizes);
  ZERO_IS_NONE(subtensor, v, 1, sizes, 1, sizes);
  ZERO_IS_NONE(corr, x, x);
  ZERO_IS_NONE(max_pool, x, 2, window);
  ZERO_IS_NONE(avg_pool, x, 2, window);
  gemel_sum_options nowhere = {.axes = {1, NULL}};
  gemel_var_options nor = {.size = sizeof nor, .axes = {1, NULL}};
  CT_CHECK(gemel_is_null(gemel_sum_at(m, &nowhere, GEMEL_HERE)));
  CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(gemel_graph_error(g)->text, "axes is null");
  CT_CHECK(gemel_is_null(gemel_mean_at(m, &nowhere, GEMEL_HERE)));
  CT_CHECK(gemel_is_null(gemel_any_at(m, &nowhere, GEMEL_HERE)));
  CT_CHECK(gemel_is_null(gemel_var_at(m, &nor, GEMEL_HERE)));
  gemel_graph_unref(g);
  gemel_context_unref(own);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("consing", consing, NULL),
      CT_TEST("consing/star", consing_star, NULL),
      CT_TEST("consing/late_constant", consing_late_constant, NULL),
      CT_TEST("null_values", null_values, NULL),
      CT_TEST("bad_arguments", bad_arguments, NULL),
      CT_TEST("provenance", provenance, NULL),
      CT_TEST("promotion", promotion_by_casts, NULL),
      CT_TEST("symbols", symbols, NULL),
      CT_TEST("runtime_sizes", runtime_sizes, NULL),
      CT_TEST("attributes", attributes_of_every_kind, NULL),
      CT_TEST("own_operation", own_operation_runs, NULL),
      CT_TEST("bad_operations", bad_operations, NULL),
      CT_TEST("mixed_spaces", mixed_spaces, NULL),
      CT_TEST("one_space", one_space, NULL),
      CT_TEST("threads", graphs_on_threads, NULL),
      CT_TEST("refused_allocations", refused_allocations, NULL),
      CT_TEST("references", references, NULL),
      CT_TEST("zero_options", zero_options, NULL),
  };
  ct_suite("graph", tests, CT_COUNT(tests));
}
