/*
 * What one graph gives up against another: pairs of expressions whose class was written by hand,
 * each measured for many seeds. A class that is too large is as wrong as one that is too small.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>
#include "pairs/needs.h"
#include "support/graph-text.h"

enum { SEEDS = 4, POINTS = 192, IMPROVES = 1 << 30 };

#define NNAN GEMEL__NEED(NNAN)
#define NINF GEMEL__NEED(NINF)
#define NSZ GEMEL__NEED(NSZ)
#define CONTRACT GEMEL__NEED(CONTRACT)
#define ARCP GEMEL__NEED(ARCP)
#define AFN GEMEL__NEED(AFN)
#define REASSOC GEMEL__NEED(REASSOC)
#define WORSENS GEMEL__NEED(WORSENS)

typedef struct expressions {
  const char *inputs, *left, *right;
  unsigned class; /* words, and IMPROVES */
} expressions;

#define VECTORS "x: f32[4], y: f32[4], z: f32[4]"
#define DOUBLES "x: f64[4], y: f64[4], z: f64[4]"
#define SYMBOLIC "x: f32[N, M], y: f32[N, M], c: f32"

static const expressions all[] = {
    /* bitwise */
    {VECTORS, "x * 1:f32", "x", 0},
    {VECTORS, "x / 1:f32", "x", 0},
    {VECTORS, "x - 0:f32", "x", 0},
    {VECTORS, "x + -0:f32", "x", 0},
    {VECTORS, "-(-x)", "x", 0},
    {VECTORS, "x - y", "x + -y", 0},
    {VECTORS, "x * 2:f32", "x + x", 0},
    {VECTORS, "x / 4:f32", "x * 0.25:f32", 0},
    {VECTORS, "sqr(x)", "x * x", 0},
    {VECTORS, "(-x) * (-y)", "x * y", 0},
    {VECTORS, "abs(-x)", "abs(x)", 0},
    {VECTORS, "maximum(x, x)", "x", 0},
    {VECTORS, "maximum(x, y)", "maximum(y, x)", 0},
    {VECTORS, "-maximum(x, y)", "minimum(-x, -y)", 0},
    {VECTORS, "relu(relu(x))", "relu(x)", 0},
    {VECTORS, "where(gt(x, y), z, z)", "z", 0},
    {VECTORS, "where(logical_not(gt(x, y)), x, z)", "where(gt(x, y), z, x)", 0},
    {VECTORS, "cast(cast(x, dtype = f64), dtype = f32)", "x", 0},
    {VECTORS, "cast(cast(x, dtype = f64) * cast(y, dtype = f64), dtype = f32)", "x * y", 0},
    {"x: f16[4]", "cast(cast(x, dtype = f32), dtype = f16)", "x", 0},
    {SYMBOLIC, "reshape(x, shape = [N*M])", "reshape(x * 1:f32, shape = [N*M])", 0},
    {SYMBOLIC, "dimshuffle(x + y, order = [1, 0])",
     "dimshuffle(x, order = [1, 0]) + dimshuffle(y, order = [1, 0])", 0},
    {SYMBOLIC, "max(-x, axes = [0]) ", "max(-(x * 1:f32), axes = [0])", 0},
    /* one word of the special ones, or several */
    {VECTORS, "x + 0:f32", "x", NSZ},
    {VECTORS, "0:f32 - x", "-x", NSZ},
    {VECTORS, "x - y", "-(y - x)", NSZ},
    {VECTORS, "x - x", "0:f32 * sqr(y * 0:f32)", NNAN | NINF},
    {VECTORS, "x * 0:f32", "x - x", NSZ},
    {VECTORS, "where(eq(x, x), x, 0:f32)", "x", NINF},
    {VECTORS, "x", "where(eq(x, x), x, 0:f32)", NNAN},
    {VECTORS, "x + where(gt(abs(x), 1e38:f32), 0:f32 * x, -0:f32)", "x", NINF},
    {VECTORS, "where(lt(x, y), x, y)", "minimum(x, y)", NINF | NSZ},
    {VECTORS, "where(gt(x, 0:f32), x, 0:f32)", "relu(x)", NINF},
    /* rounding */
    {VECTORS, "(x + y) + z", "x + (y + z)", REASSOC},
    {DOUBLES, "(x + y) + z", "x + (y + z)", REASSOC},
    {VECTORS, "(x * y) * z", "x * (y * z)", REASSOC},
    {VECTORS, "x * y + x * z", "x * (y + z)", NINF | NSZ | REASSOC},
    {VECTORS, "x * y + z",
     "cast(cast(x, dtype = f64) * cast(y, dtype = f64) + cast(z, dtype = f64), dtype = f32)",
     CONTRACT | IMPROVES},
    {VECTORS, "x / y", "x * (1:f32 / y)", ARCP},
    {DOUBLES, "x / y", "x * (1:f64 / y)", ARCP},
    {VECTORS, "x / 3:f32", "x * (1:f32 / 3:f32)", ARCP},
    {VECTORS, "x / y + z / y", "(x + z) / y", NINF | NSZ | ARCP},
    {VECTORS, "((x + y) + z) / 3:f32", "(x + (y + z)) / 3:f32", REASSOC},
    {VECTORS, "exp((x + y) + z)", "exp(x + (y + z))", REASSOC},
    {VECTORS, "(exp(x) + exp(y)) + exp(z)", "exp(x) + (exp(y) + exp(z))", REASSOC},
    {VECTORS, "(x / z + y / z) + 1:f32", "x / z + (y / z + 1:f32)", REASSOC},
    {VECTORS, "((x + y) + z) / x", "(x + (y + z)) * (1:f32 / x)", ARCP | REASSOC},
    {SYMBOLIC, "sum(x, axes = [0, 1])", "sum(sum(x, axes = [0]), axes = [0])", REASSOC},
    {SYMBOLIC, "sum(c * x)", "c * sum(x)", REASSOC | NINF | NSZ},
    {SYMBOLIC, "sum(x + y)", "sum(x) + sum(y)", REASSOC},
    {"x: f32[4, 5], y: f32[5, 3], z: f32[3, 2]", "dot(dot(x, y), z)", "dot(x, dot(y, z))",
     REASSOC | NINF},
    /* functions */
    {VECTORS, "log(1:f32 + exp(x))", "log1p(exp(x))", AFN | IMPROVES},
    {VECTORS, "exp(x) - 1:f32", "expm1(x)", AFN | NSZ | IMPROVES},
    {VECTORS, "log1p(x)", "log(1:f32 + x)", AFN | NSZ | WORSENS},
    {VECTORS, "exp(x) * exp(y)", "exp(x + y)", AFN},
    {VECTORS, "log(exp(x))", "x", AFN | NSZ | IMPROVES},
    {DOUBLES, "log(exp(x))", "x", AFN | NSZ | IMPROVES},
    {VECTORS, "sqrt(sqr(x))", "abs(x)", AFN | IMPROVES},
    {DOUBLES, "sqrt(sqr(x))", "abs(x)", AFN | IMPROVES},
    {VECTORS, "1:f32 / (1:f32 + exp(-x))", "sigmoid(x)", AFN | IMPROVES},
    {VECTORS, "exp(-x)", "1:f32 / exp(x)", AFN},
    {VECTORS, "(sqrt(sqr(x)) + y) + z", "abs(x) + (y + z)", REASSOC},

    {"x: f32[4]", "cast(cast(x, dtype = f16), dtype = f32)", "x", AFN | IMPROVES},
};

static void class_text(unsigned class, char *text, size_t bytes) {
  gemel__needs_text(class & ~(unsigned)IMPROVES, text, bytes - 12);
  strcat(text, class & IMPROVES ? " improves" : "");
}

static void is_measured(const void *data) {
  const expressions *e = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *left = graph_returning(context, e->inputs, e->left);
  gemel_graph *right = graph_returning(context, e->inputs, e->right);
  uint64_t seed;
  for (seed = 1; left != NULL && right != NULL && seed <= ct_seeds("GEMEL_PAIR_SEEDS", SEEDS);
       seed++) {
    gemel__needs needs;
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    char want[120], got[120];
    size_t k;
    const gemel__needs_plan plan = {
        .points = POINTS, .rounding = 4 * POINTS, .losses = 2 * POINTS, .improvement = 1};
    ct_context("%s and %s, seed %llu", e->left, e->right, (unsigned long long)seed);
    if (!CT_EQ_INT(gemel__needs_measure(left, right, seed, &plan, &needs, &error), GEMEL_OK)) {
      CT_FAIL("%s", error.text);
    }
    class_text(e->class, want, sizeof want);
    class_text(needs.needs | (needs.improves ? IMPROVES : 0), got, sizeof got);
    CT_EQ_STR(got, want);
    for (k = 0; k < GEMEL_NEEDS_COUNT; k++) { /* each word that is needed has its instance */
      CT_EQ_INT(needs.witness[k].values != NULL, needs.needs >> k & 1);
    }
    CT_EQ_INT(needs.improvement.values != NULL || !needs.improves, 1);
    CT_CHECK(needs.tried[GEMEL_NEEDS_INDEX_NSZ] > 0 && needs.tried[GEMEL_NEEDS_INDEX_NNAN] > 0);
    gemel__needs_clear(&needs);
  }
  gemel_graph_unref(left);
  gemel_graph_unref(right);
  gemel_context_unref(context);
}

void ct_register(void) {
  size_t k;
  char name[32];
  for (k = 0; k < CT_COUNT(all); k++) {
    snprintf(name, sizeof name, "pair_%02zu", k);
    CT_ADD("needs", name, is_measured, &all[k]);
  }
}
