/*
 * Derivatives: both modes against literal values, against each other, of each other; what can't be
 * differentiated; conventions at ties and kinks; chains deeper than any stack. (That each
 * operation's rule is right is for the harness to say, tier gradient.)
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include "ops/ops.h"
#include "text/expr.h"

#include "shared.h"
#include "support/near.h"
#include "support/small-stack.h"
#include "support/operation.h"

static gemel_value input(gemel_graph *g, const char *name, int64_t n) {
  return gemel_input(g, name, gemel_type_of_shape(shared(), GEMEL_F64, n >= 0, &n));
}

/* Evaluates the graph's outputs at NUMBERS, given one after another; results into RESULTS. */
static int evaluate(gemel_graph *g, const double *numbers, double *results) {
  gemel_tensor *in[8], *out[8] = {NULL};
  size_t n = gemel_graph_input_count(g), m = gemel_graph_output_count(g), k;
  gemel_error error;
  int good;
  for (k = 0; k < n; k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(g, k));
    int64_t shape[1] = {0}, count = 1;
    if (gemel_type_rank(shared(), type) == 1) {
      gemel_dim_is_constant(shared(), gemel_type_dims(shared(), type)[0], &shape[0]);
      count = shape[0];
    }
    in[k] = gemel_tensor_wrap(GEMEL_F64, gemel_type_rank(shared(), type), shape, NULL,
                              (void *)(uintptr_t)numbers, NULL, NULL, NULL);
    numbers += count;
  }
  good = gemel_evaluate(g, gemel_graph_input_count(g), in, gemel_graph_output_count(g), out,
                        &error) == GEMEL_OK;
  if (!good) {
    CT_FAIL("%s", error.text);
  }
  for (k = 0; k < m && good; k++) {
    size_t count = (size_t)gemel_tensor_elements(out[k]);
    memcpy(results, gemel_tensor_data(out[k]), count * sizeof *results);
    results += count;
  }
  for (k = 0; k < n; k++) {
    gemel_tensor_unref(in[k]);
  }
  for (k = 0; k < m; k++) {
    gemel_tensor_unref(out[k]);
  }
  return good;
}

/* f(x, y) = x² y + exp(y): gradient, gradient of the gradient, and the tangent. */
static void orders(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", -1), y = input(g, "y", -1);
  gemel_value f = gemel_add(gemel_mul(gemel_mul(x, x), y), gemel_exp(y));
  gemel_value wrt[2], first[2], second[2], tangents[2], tangent;
  double at[2] = {3, 0}, r[8];
  (void)data;
  wrt[0] = x;
  wrt[1] = y;
  CT_REQUIRE(gemel_grad(1, &f, NULL, 2, wrt, first, NULL) == GEMEL_OK);
  CT_REQUIRE(gemel_grad(1, &first[0], NULL, 2, wrt, second, NULL) == GEMEL_OK);
  tangents[0] = gemel_scalar(g, GEMEL_F64, 1);
  tangents[1] = gemel_scalar(g, GEMEL_F64, 2);
  CT_REQUIRE(gemel_jvp(1, &f, 2, wrt, tangents, &tangent, NULL) == GEMEL_OK);
  gemel_output(first[0], "dx");
  gemel_output(first[1], "dy");
  gemel_output(second[0], "dxx");
  gemel_output(second[1], "dxy");
  gemel_output(tangent, "t");
  CT_REQUIRE(evaluate(g, at, r));
  CT_CHECK(r[0] == 0);          /* 2 x y */
  CT_CHECK(r[1] == 10);         /* x² + e^y */
  CT_CHECK(r[2] == 0);          /* 2 y */
  CT_CHECK(r[3] == 6);          /* 2 x */
  CT_CHECK(r[4] == 0 + 2 * 10); /* J · (1, 2) */
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
}

/* Forward over reverse equals reverse over reverse: (H v) of Σ tanh(x)². */
static void mixed_modes(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", 3), v = input(g, "v", 3);
  gemel_value f = gemel_sum(gemel_sqr(gemel_tanh(x))), d, hv, hv2;
  double at[6] = {0.5, -1, 2, 1, 2, 3}, r[6];
  int k;
  (void)data;
  CT_REQUIRE(gemel_grad(1, &f, NULL, 1, &x, &d, NULL) == GEMEL_OK);
  CT_REQUIRE(gemel_jvp(1, &d, 1, &x, &v, &hv, NULL) == GEMEL_OK);
  CT_REQUIRE(gemel_grad(1, &d, &v, 1, &x, &hv2, NULL) == GEMEL_OK);
  gemel_output(hv, "forward");
  gemel_output(hv2, "reverse");
  CT_REQUIRE(evaluate(g, at, r));
  for (k = 0; k < 3; k++) {
    CT_CHECK(r[k] != 0);
    CT_CHECK(is_near(r[k], r[k + 3], 1e-14 * fabs(r[k])));
  }
  gemel_graph_unref(g);
}

/* A value used many times adds up; one that isn't used gets zeros of its own shape. */
static void accumulation(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", 2), unused = input(g, "unused", 3), f = x, wrt[2], d[2];
  double at[5] = {1, 2, 0, 0, 0}, r[5];
  int k;
  (void)data;
  for (k = 0; k < 9; k++) {
    f = gemel_add(f, x);
  }
  f = gemel_sum(f);
  wrt[0] = x;
  wrt[1] = unused;
  CT_REQUIRE(gemel_grad(1, &f, NULL, 2, wrt, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "d");
  gemel_output(d[1], "zeros");
  CT_REQUIRE(evaluate(g, at, r));
  CT_CHECK(r[0] == 10 && r[1] == 10 && r[2] == 0 && r[4] == 0);
  gemel_graph_unref(g);
}

/* By a value in the middle: what is before it plays no part. */
static void intermediate(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", -1), m = gemel_mul(x, x), f = gemel_mul(m, x), d[2], wrt[2];
  double at[1] = {3}, r[2];
  (void)data;
  wrt[0] = m;
  wrt[1] = x;
  CT_REQUIRE(gemel_grad(1, &f, NULL, 2, wrt, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "by_m");
  gemel_output(d[1], "by_x");
  CT_REQUIRE(evaluate(g, at, r));
  CT_CHECK(r[0] == 3);
  CT_CHECK(r[1] == 27);
  gemel_graph_unref(g);
}

/* Several outputs of one node, of which one is used. */
static void several_outputs(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", 5), part, f, d;
  gemel_dim sizes[2];
  double at[5] = {1, 2, 3, 4, 5}, r[5];
  (void)data;
  sizes[0] = gemel_dim_constant(shared(), 2);
  sizes[1] = gemel_dim_constant(shared(), 3);
  part = gemel_value_output(gemel_split(x, 2, sizes), 1);
  f = gemel_sum(gemel_mul(part, part));
  CT_REQUIRE(gemel_grad(1, &f, NULL, 1, &x, &d, NULL) == GEMEL_OK);
  gemel_output(d, "d");
  CT_REQUIRE(evaluate(g, at, r));
  CT_CHECK(r[0] == 0 && r[1] == 0 && r[2] == 6 && r[4] == 10);
  gemel_graph_unref(g);
}

/* Cotangents that are outputs of one node, by themselves and with others to be added to them; the
 * tangents of such outputs. */
static void from_several(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value a = input(g, "a", 2), b = input(g, "b", 2), u = input(g, "u", 4), both[2], f, d[2];
  double at[8] = {3, 4, 1, 2, 5, 6, 7, 8}, r[7];
  (void)data;
  both[0] = a;
  both[1] = f = b;
  for (int k = 0; k < 4; k++) {
    f = gemel_mul(f, f);
  }
  f = gemel_add(gemel_sum(gemel_mul(gemel_join(2, both), u)), gemel_sum(f));
  CT_REQUIRE(gemel_grad(1, &f, NULL, 2, both, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "da");
  gemel_output(d[1], "db");
  CT_REQUIRE(gemel_jvp(1, &f, 2, both, both, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "t");
  f = gemel_sum(gemel_mul(gemel_join(2, both), u));
  CT_REQUIRE(gemel_grad(1, &f, NULL, 1, &b, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "part");
  CT_REQUIRE(evaluate(g, at, r));
  CT_CHECK(r[0] == 5 && r[1] == 6 && r[2] == 7 + 16 && r[3] == 8 + 16 * 0x1p15);
  CT_CHECK(r[4] == 3 * 5 + 4 * 6 + 1 * 7 + 2 * 8 + 16 + 16 * 0x1p16);
  CT_CHECK(r[5] == 7 && r[6] == 8);
  gemel_graph_unref(g);
}

/* x^y at exponent 0 and base 0, to second order: d²/dxdy is 1/x at y = 0, and what isn't selected
 * makes no NaN. */
static void powers(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", 4), y = input(g, "y", 4), first[2], second[2], wrt[2], f;
  double at[8] = {2, 0, 0, 0, 0, 0, 2, 1}, r[16];
  (void)data;
  wrt[0] = x;
  wrt[1] = y;
  f = gemel_sum(gemel_pow(x, y));
  CT_REQUIRE(gemel_grad(1, &f, NULL, 2, wrt, first, NULL) == GEMEL_OK);
  f = gemel_sum(first[0]);
  CT_REQUIRE(gemel_grad(1, &f, NULL, 2, wrt, second, NULL) == GEMEL_OK);
  gemel_output(first[0], "dx");
  gemel_output(first[1], "dy");
  gemel_output(second[0], "dxx");
  gemel_output(second[1], "dxy");
  CT_REQUIRE(evaluate(g, at, r));
  CT_CHECK(r[0] == 0 && r[1] == 0 && r[2] == 0 && r[3] == 1);
  CT_LE_DOUBLE(fabs(r[4] - log(2)), 1e-15);
  CT_CHECK(r[5] == 0 && r[6] == 0 && r[7] == 0);
  CT_CHECK(r[8] == 0 && r[10] == 2 && r[11] == 0);
  CT_CHECK(r[12] == 0.5 && isfinite(r[13]) && r[14] == 0 && r[15] == 1);
  gemel_graph_unref(g);
}

/* At ties and kinks, as doc/conventions.md says. */
static void kinks(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", 3), y = input(g, "y", 3), d[2], wrt[2], f;
  gemel_value zero = gemel_scalar(g, GEMEL_F64, 0), one = gemel_scalar(g, GEMEL_F64, 1);
  double at[6] = {0, 1, 2, 0, 1, 1}, r[15];
  (void)data;
  wrt[0] = x;
  wrt[1] = y;
  f = gemel_sum(gemel_maximum(x, y));
  CT_REQUIRE(gemel_grad(1, &f, NULL, 2, wrt, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "max_x");
  f = gemel_sum(gemel_relu(x));
  CT_REQUIRE(gemel_grad(1, &f, NULL, 1, &x, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "relu");
  f = gemel_sum(gemel_abs(x));
  CT_REQUIRE(gemel_grad(1, &f, NULL, 1, &x, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "abs");
  f = gemel_sum(gemel_clip(x, zero, one));
  CT_REQUIRE(gemel_grad(1, &f, NULL, 1, &x, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "clip");
  f = gemel_max(y);
  CT_REQUIRE(gemel_grad(1, &f, NULL, 1, &y, d, NULL) == GEMEL_OK);
  gemel_output(d[0], "reduced_max");
  CT_REQUIRE(evaluate(g, at, r));
  CT_CHECK(r[0] == 0.5 && r[1] == 0.5 && r[2] == 1);
  CT_CHECK(r[3] == 0 && r[4] == 1 && r[5] == 1);
  CT_CHECK(r[6] == 0 && r[7] == 1 && r[8] == 1);
  CT_CHECK(r[9] == 1 && r[10] == 1 && r[11] == 0);
  CT_CHECK(r[12] == 0 && r[13] == 0.5 && r[14] == 0.5);
  gemel_graph_unref(g);
}

static void refusals(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL), *h = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", 3), other = input(h, "x", 3), none = {NULL, 0, 0}, d;
  gemel_value i = gemel_input(g, "i", gemel_type_of_shape(shared(), GEMEL_I32, 0, NULL));
  gemel_value f = gemel_sum(x);
  size_t before = gemel_graph_node_count(g);
  gemel_error error;
  (void)data;
  CT_EQ_INT(gemel_grad(1, &x, NULL, 1, &x, &d, &error), GEMEL_BAD_TYPE); /* no seed */
  CT_EQ_INT(gemel_grad(1, &f, NULL, 1, &i, &d, &error), GEMEL_BAD_TYPE); /* by an integer */
  CT_EQ_INT(gemel_grad(1, &i, NULL, 1, &x, &d, &error), GEMEL_BAD_TYPE); /* of an integer */
  CT_EQ_INT(gemel_grad(1, &f, &x, 1, &x, &d, &error), GEMEL_BAD_TYPE);   /* a seed's type */
  CT_EQ_INT(gemel_grad(1, &f, NULL, 1, &other, &d, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_grad(1, &none, NULL, 1, &x, &d, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_grad(0, NULL, NULL, 0, NULL, &d, NULL), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_jvp(1, &f, 1, &x, &f, &d, &error), GEMEL_BAD_TYPE);
  CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_OK);
  CT_EQ_INT(gemel_graph_node_count(g), before);
  gemel_graph_unref(g);
  gemel_graph_unref(h);
}

/* The message names the operation and the line that made the node. */
static void not_differentiable(const void *data) {
  static const gemel_kernel kernels[] = {{"none", NULL, no_run}, {NULL, NULL, NULL}};
  gemel_operation op;
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", -1), y, d;
  gemel_error error;
  char place[40];
  int line;
  (void)data;
  memset(&op, 0, sizeof op);
  op.size = sizeof op;
  op.name = "opaque";
  op.min_inputs = op.max_inputs = op.version = 1;
  op.infer = same_type;
  op.kernels = kernels;
  CT_REQUIRE(gemel_register_operation(shared(), &op, NULL) == GEMEL_OK);
  line = __LINE__ + 1;
  y = gemel_exp(gemel_apply(g, "opaque", 1, &x, 0, NULL));
  snprintf(place, sizeof place, "t-grad.c:%d", line);
  CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &d, &error), GEMEL_NOT_DIFFERENTIABLE);
  CT_HAS_STR(error.text, "opaque");
  CT_HAS_STR(error.text, place);
  CT_EQ_INT(gemel_jvp(1, &y, 1, &x, &x, &d, &error), GEMEL_NOT_DIFFERENTIABLE);
  CT_HAS_STR(error.text, "opaque");
  /* nothing flows through it: no error */
  y = gemel_add(gemel_mul(x, x), gemel_cast(gemel_apply(g, "opaque", 1, &x, 0, NULL), GEMEL_I32));
  CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &d, &error), GEMEL_OK);
  gemel_graph_unref(g);
}

/* ---- Many nodes of one kind ----
 * What a sweep makes of each must be what a sweep over it alone makes: the same node, equal nodes
 * being one. */

enum { LIKE = 5, OPERANDS = 3 };

typedef struct alike {
  gemel_value y[LIKE], seeds[LIKE], x[LIKE][OPERANDS], alone[LIKE][OPERANDS];
  size_t n;
} alike;

/* LIKE nodes of ROW on inputs of these types; 0: the row won't have them, or gives no floats. */
static int make_alike(alike *a, gemel_graph *g, const gemel__scalar_row *row,
                      const gemel_type types[OPERANDS]) {
  gemel_attr attr = gemel_attr_dtype("dtype", GEMEL_F16);
  char name[16];
  a->n = (size_t)row->n_inputs;
  for (size_t k = 0; k < LIKE; k++) {
    for (size_t j = 0; j < a->n; j++) {
      snprintf(name, sizeof name, "x%zu_%zu", k, j);
      a->x[k][j] = gemel_input(g, name, types[j]);
    }
    a->y[k] = gemel_apply(g, row->name, a->n, a->x[k], row->code == GEMEL__TYPE_CAST, &attr);
    if (gemel_is_null(a->y[k]) || gemel_dtype_kind(gemel_type_dtype(
                                      shared(), gemel_value_type(a->y[k]))) != GEMEL_KIND_FLOAT) {
      return 0;
    }
    snprintf(name, sizeof name, "g%zu", k);
    a->seeds[k] = gemel_input(g, name, gemel_value_type(a->y[k]));
  }
  return 1;
}

static int carries(gemel_value x) {
  return gemel_dtype_kind(gemel_type_dtype(shared(), gemel_value_type(x))) == GEMEL_KIND_FLOAT;
}

/* Differentiates all of them in one sweep, by operands FIRST … of the upper half (which comes
 * first) and by all of the others. */
static void compare_alike(alike *a, size_t first) {
  gemel_value wrt[LIKE * OPERANDS], together[LIKE * OPERANDS], wanted[LIKE * OPERANDS];
  size_t n = 0;
  for (size_t k = 0; k < LIKE; k++) {
    for (size_t j = k > LIKE / 2 ? first : 0; j < a->n; j++) {
      if (carries(a->x[k][j])) {
        wanted[n] = a->alone[k][j];
        wrt[n++] = a->x[k][j];
      }
    }
  }
  CT_REQUIRE(gemel_grad(LIKE, a->y, a->seeds, n, wrt, together, NULL) == GEMEL_OK);
  for (size_t k = 0; k < n; k++) {
    ct_context("%zu of %zu, from operand %zu on", k, n, first);
    CT_CHECK(together[k].node == wanted[k].node && together[k].output == wanted[k].output);
  }
}

static void check_alike(const gemel__scalar_row *row, const gemel_type types[OPERANDS]) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  alike a;
  if (make_alike(&a, g, row, types)) {
    for (size_t k = 0; k < LIKE; k++) {
      for (size_t j = 0; j < a.n; j++) {
        CT_REQUIRE(!carries(a.x[k][j]) || gemel_grad(1, &a.y[k], &a.seeds[k], 1, &a.x[k][j],
                                                     &a.alone[k][j], NULL) == GEMEL_OK);
      }
    }
    for (size_t first = 0; first < a.n; first++) {
      compare_alike(&a, first);
    }
    CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  }
  gemel_graph_unref(g);
}

typedef struct operand {
  gemel_dtype dtype;
  int rank;
  int64_t shape[2];
} operand;

/* Operands in one type, promoted, broadcast, and those that carry no derivative. */
static const operand alike_operands[][OPERANDS] = {
    {{GEMEL_F64, 2, {4, 3}}, {GEMEL_F64, 2, {4, 3}}, {GEMEL_F64, 2, {4, 3}}},
    {{GEMEL_F32, 0, {0}}, {GEMEL_F32, 0, {0}}, {GEMEL_F32, 0, {0}}},
    {{GEMEL_F32, 2, {4, 3}}, {GEMEL_F32, 1, {3}}, {GEMEL_F32, 2, {4, 1}}},
    {{GEMEL_F32, 1, {2}}, {GEMEL_F64, 1, {2}}, {GEMEL_F16, 0, {0}}},
    {{GEMEL_I32, 1, {3}}, {GEMEL_F32, 1, {3}}, {GEMEL_F32, 0, {0}}},
    {{GEMEL_BOOL, 1, {3}}, {GEMEL_BF16, 1, {3}}, {GEMEL_BF16, 1, {3}}}};

static void alike_nodes(const void *data) {
  for (size_t t = 0; t < CT_COUNT(alike_operands); t++) {
    gemel_type types[OPERANDS];
    for (size_t j = 0; j < OPERANDS; j++) {
      const operand *o = &alike_operands[t][j];
      types[j] = gemel_type_of_shape(shared(), o->dtype, o->rank, o->shape);
    }
    check_alike(data, types);
  }
}

/* More kinds than a sweep keeps, which differ in one operand's type: where a node's kind is not
 * kept, or another is where it would be, its rule is asked. */
static void many_kinds(const void *data) {
  enum { KINDS = 160, EACH = 5 };
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value y[KINDS * EACH], together[KINDS * EACH], s[KINDS * EACH], alone;
  (void)data;
  for (int64_t k = 0; k < KINDS * EACH; k++) {
    char name[20];
    snprintf(name, sizeof name, "v%d", (int)k);
    gemel_value v = input(g, name, k / EACH + 1);
    snprintf(name, sizeof name, "s%d", (int)k);
    s[k] = input(g, name, k % EACH == 0 ? -1 : k / EACH + 1);
    y[k] = gemel_mul(v, s[k]);
  }
  CT_REQUIRE(gemel_grad(KINDS * EACH, y, y, KINDS * EACH, s, together, NULL) == GEMEL_OK);
  for (size_t k = 0; k < KINDS * EACH; k++) {
    CT_REQUIRE(gemel_grad(1, &y[k], &y[k], 1, &s[k], &alone, NULL) == GEMEL_OK);
    CT_EQ_UINT(together[k].node, alone.node);
  }
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
}

/* Cotangents of what nobody asked for aren't made, also where it is known how. */
static void no_others(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", 2), y = x, seed = input(g, "seed", 2), d;
  size_t before;
  (void)data;
  for (int k = 0; k < 9; k++) {
    char name[8];
    snprintf(name, sizeof name, "c%d", k);
    y = gemel_mul(input(g, name, 2), y);
  }
  for (int k = 0; k < 3; k++) {
    y = gemel_mul(x, y);
  }
  before = gemel_graph_node_count(g);
  CT_REQUIRE(gemel_grad(1, &y, &seed, 1, &x, &d, NULL) == GEMEL_OK);
  /* 9 with one operand that counts and 3 with two; 4 cotangents of x added */
  CT_EQ_UINT(gemel_graph_node_count(g), before + 9 + 6 + 3);
  gemel_graph_unref(g);
}

/* Its derivative fails in a builder, at the place that is its node's. */
static gemel_status failing(gemel_derive *call) {
  gemel_value two[] = {call->inputs[0], gemel_graph_input(call->graph, 1)};
  call->d_inputs[0] = gemel_apply_at(call->graph, "add", 2, two, 0, NULL, call->where);
  return GEMEL_OK;
}

/* How often TEXT has PART in it. */
static int count_of(const char *text, const char *part) {
  int n = 0;
  while ((text = strstr(text, part)) != NULL) {
    text++;
    n++;
  }
  return n;
}

/* A message has its place once, at its beginning, however many functions it comes through. */
static void places(const void *data) {
  static const gemel_kernel kernels[] = {{"none", NULL, no_run}, {NULL, NULL, NULL}};
  gemel_operation op = {.size = sizeof op,
                        .name = "failing",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .version = 1,
                        .infer = same_type,
                        .kernels = kernels,
                        .grad = failing};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *g = gemel_graph_new(context, NULL);
  gemel_error error;
  gemel_value d;
  char place[100];
  (void)data;
  CT_REQUIRE(gemel_register_operation(context, &op, NULL) == GEMEL_OK);
  gemel_value x = gemel_declare(g, "x: f64[2]");
  gemel_declare(g, "w: f64[3]");
  snprintf(place, sizeof place, "t-grad.c:%d: ", __LINE__ + 1);
  CT_CHECK(gemel_is_null(gemel_gradient(gemel_exp(x), x)));
  CT_EQ_INT(count_of(gemel_graph_error(g)->text, place), 1);
  CT_HAS_STR(gemel_graph_error(g)->text, "is not a scalar and has no seed");
  gemel_graph_clear_error(g);
  snprintf(place, sizeof place, "t-grad.c:%d: ", __LINE__ + 1);
  gemel_value y = gemel_sum(gemel_apply(g, "failing", 1, &x, 0, NULL));
  CT_CHECK(gemel_grad(1, &y, NULL, 1, &x, &d, &error) == GEMEL_BAD_SHAPE);
  ct_context("%s", error.text);
  CT_EQ_INT(count_of(error.text, place), 1);
  CT_HAS_STR(error.text, "derivative of failing (node ");
  CT_HAS_STR(error.text, "): add(f64[2], f64[3]): ");
  ct_context(NULL);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}

/* Its derivative is a value in another type than its input's, of which it can't be told whether it
 * is the same size. */
static gemel_status other_size(gemel_derive *call) {
  call->d_inputs[0] = gemel_graph_input(call->graph, 0);
  return GEMEL_OK;
}

/* A sum of cotangents whose types differ has the type that the type rule gives it. */
static void unlike_sizes(const void *data) {
  static const gemel_kernel kernels[] = {{"none", NULL, no_run}, {NULL, NULL, NULL}};
  gemel_operation op = {.size = sizeof op,
                        .name = "resized",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .version = 1,
                        .infer = same_type,
                        .kernels = kernels,
                        .grad = other_size};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *g = gemel_graph_new(context, NULL);
  gemel_dim m = gemel_dim_symbol(context, "M"), n = gemel_dim_symbol(context, "N");
  gemel_type mine = gemel_type_new(context, GEMEL_F64, 1, &n, GEMEL_SPACE_HOST);
  gemel_value x, w, y[6], wrt[2], d[2];
  (void)data;
  CT_REQUIRE(gemel_register_operation(context, &op, NULL) == GEMEL_OK);
  gemel_input(g, "m", gemel_type_new(context, GEMEL_F64, 1, &m, GEMEL_SPACE_HOST));
  wrt[0] = x = gemel_input(g, "x", mine);
  wrt[1] = w = gemel_input(g, "w", mine);
  y[0] = gemel_mul(x, w);
  y[1] = gemel_apply(g, "resized", 1, &x, 0, NULL);
  for (int k = 2; k < 6; k++) {
    y[k] = gemel_mul(w, y[k - 2]);
  }
  CT_REQUIRE(gemel_grad(6, y, y, 2, wrt, d, NULL) == GEMEL_OK);
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}

/* A longer chain of several kinds, against forward mode. */
static void against_forward(const void *data) {
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", -1), y = x, one = gemel_scalar(g, GEMEL_F64, 1), reverse, forward;
  double at[1] = {1.25}, r[2];
  (void)data;
  for (int k = 0; k < 60; k++) {
    y = gemel_add(gemel_sqrt(gemel_sigmoid(gemel_mul(y, x))), gemel_div(x, gemel_exp(y)));
    y = gemel_where(gemel_gt(y, x), gemel_sub(y, gemel_neg(gemel_sqr(y))), gemel_tanh(y));
    y = gemel_add(gemel_maximum(y, x), gemel_sub(x, gemel_pow(x, y)));
  }
  CT_REQUIRE(gemel_grad(1, &y, NULL, 1, &x, &reverse, NULL) == GEMEL_OK);
  CT_REQUIRE(gemel_jvp(1, &y, 1, &x, &one, &forward, NULL) == GEMEL_OK);
  gemel_output(reverse, "reverse");
  gemel_output(forward, "forward");
  CT_REQUIRE(evaluate(g, at, r));
  CT_CHECK(r[0] != 0 && isfinite(r[0]));
  CT_CHECK(is_near(r[0], r[1], 1e-9 * fabs(r[1])));
  gemel_graph_unref(g);
}

/* ---- Depth ---- */

enum { DEEP = 1000000 };

static void *deep_chain(void *user) {
  int *good = user;
  gemel_graph *g = gemel_graph_new(shared(), NULL);
  gemel_value x = input(g, "x", -1), y = x, d = x;
  double at[1] = {1}, r[1] = {0};
  int k;
  for (k = 0; k < DEEP; k++) {
    y = k % 2 ? gemel_mul(y, x) : gemel_add(y, x);
  }
  *good = gemel_grad(1, &y, NULL, 1, &x, &d, NULL) == GEMEL_OK &&
          gemel_output(d, "d") == GEMEL_OK && gemel_graph_check(g, NULL) == GEMEL_OK &&
          evaluate(g, at, r) && r[0] == r[0];
  gemel_graph_unref(g);
  return NULL;
}

static void depth(const void *data) {
  int good = 0;
  (void)data;
  on_small_stack(deep_chain, &good);
  CT_CHECK(good);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("orders", orders, NULL),
      CT_TEST("mixed_modes", mixed_modes, NULL),
      CT_TEST("accumulation", accumulation, NULL),
      CT_TEST("intermediate", intermediate, NULL),
      CT_TEST("several_outputs", several_outputs, NULL),
      CT_TEST("from_several", from_several, NULL),
      CT_TEST("powers", powers, NULL),
      CT_TEST("kinks", kinks, NULL),
      CT_TEST("refusals", refusals, NULL),
      CT_TEST("not_differentiable", not_differentiable, NULL),
      CT_TEST("many_kinds", many_kinds, NULL),
      CT_TEST("no_others", no_others, NULL),
      CT_TEST("unlike_sizes", unlike_sizes, NULL),
      CT_TEST("places", places, NULL),
      CT_TEST("against_forward", against_forward, NULL),
      CT_TEST("depth", depth, NULL),
  };
  ct_suite("grad", tests, CT_COUNT(tests));
  for (int k = 0; k < GEMEL__SCALAR_COUNT; k++) {
    gemel__type_code code = gemel__scalar_rows[k].code;
    if (code != GEMEL__TYPE_INTEGER && code != GEMEL__TYPE_COMPARE && code != GEMEL__TYPE_LOGIC) {
      CT_ADD_TO("grad", "alike", gemel__scalar_rows[k].name, alike_nodes, &gemel__scalar_rows[k]);
    }
  }
}
