/*
 * Operations that only a program knows, with a reference: right kernels and derivatives pass in all
 * five tiers, first and second order; wrong ones (another formula, a misplaced epsilon, a missing
 * mean, a wrong axis, a lost term, a derivative that is off by 1e-6) are refuted. All for
 * GEMEL_CORPUS_SEEDS seeds (default 1).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include "own.h"
#include "support/heard.h"

/* ---- Wrong kernels and wrong derivatives ---- */

static double gelu_erf(double x, double y) { /* another function of this name */
  (void)y;
  return 0.5 * x * (1 + erf(x / sqrt(2)));
}
static double gelu_sigmoid(double x, double y) {
  return gelu(x, y) == gelu(x, y) ? x / (1 + exp(-1.702 * x)) : NAN;
}
static double gelu_square(double x, double y) {
  (void)y;
  return 0.5 * x * (1 + tanh(GELU_C * (x + 0.044715 * x * x)));
}
static double gelu_off(double x, double y) {
  return gelu(x, y) * (1 + 1e-6);
}
static double swish_sign(double x, double y) {
  (void)y;
  return x / (1 + exp(x));
}
static double swish_far(double x, double y) { /* wrong where few look */
  return x < -3 ? 0 : swish(x, y);
}
static double hard_swish_relu(double x, double y) {
  return x < 3 ? hard_swish(x, y) : 3;
}
static double hard_swish_bound(double x, double y) {
  return x > -2.5 ? hard_swish(x, y) : 0;
}
static double log_add_exp_no_correction(double x, double y) {
  return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
}
static double log_add_exp_lost_tie(double x, double y) {
  return x == y ? x : log_add_exp(x, y);
}
static double log_add_exp_naive(double x, double y) { /* overflows */
  return log(exp(x) + exp(y));
}
static void norm_outside(int64_t n, double *x) { /* epsilon beside the root */
  layer_norm_of(n, x, 1, 0, EPSILON);
}
static void norm_no_epsilon(int64_t n, double *x) {
  layer_norm_of(n, x, 1, 0, 0);
}
static void norm_no_mean(int64_t n, double *x) {
  layer_norm_of(n, x, 0, EPSILON, 0);
}
static void norm_sample(int64_t n, double *x) { /* n − 1 in the variance */
  double c = n > 1 ? sqrt((double)(n - 1) / (double)n) : 1;
  int64_t i;
  layer_norm_of(n, x, 1, EPSILON * (n > 1 ? (double)(n - 1) / (double)n : 1), 0);
  for (i = 0; i < n; i++) {
    x[i] *= c;
  }
}
static void norm_last(int64_t n, double *x) { /* forgets the last one */
  layer_norm_of(n > 1 ? n - 1 : n, x, 1, EPSILON, 0);
}
static void norm_reversed(int64_t n, double *x) {
  int64_t i;
  layer_norm(n, x);
  for (i = 0; i < n / 2; i++) {
    double t = x[i];
    x[i] = x[n - 1 - i];
    x[n - 1 - i] = t;
  }
}
static void cumulative_from_behind(int64_t n, double *x) {
  for (; n > 1; n--) {
    x[n - 2] += x[n - 1];
  }
}
static void cumulative_exclusive(int64_t n, double *x) {
  double sum = 0;
  int64_t i;
  for (i = 0; i < n; i++) {
    double t = x[i];
    x[i] = sum;
    sum += t;
  }
}
static void attention_causal(int64_t n, double *x) {
  for (; n > 0; n--) {
    double out[8];
    memcpy(out, x, (size_t)n * sizeof *x);
    attention(n, out);
    x[n - 1] = out[n - 1];
  }
}
static void attention_scaled(int64_t n, double *x) {
  int64_t i;
  for (i = 0; i < n; i++) {
    x[i] *= 0.5;
  }
  attention(n, x);
  for (i = 0; i < n; i++) {
    x[i] *= 2;
  }
}

#define WRONG_SLOPE(name, expression)                                                              \
  static gemel_value name(gemel_value x, gemel_value y) {                                          \
    (void)x, (void)y;                                                                              \
    return expression;                                                                             \
  }
WRONG_SLOPE(gelu_slope_scaled, times(gelu_slope(x, y), 1 + 1e-6))
WRONG_SLOPE(gelu_slope_constant, gelu_slope_of(x, 0.1341, 1))
WRONG_SLOPE(gelu_slope_lost, gelu_slope_of(x, 0.134145, 0))
WRONG_SLOPE(gelu_slope_sign, gemel_neg(gelu_slope(x, y)))
WRONG_SLOPE(gelu_slope_near, gelu_slope_of(x, 0.134145 + 1e-9, 1))
WRONG_SLOPE(swish_slope_scaled, times(swish_slope(x, y), 1 - 1e-6))
WRONG_SLOPE(swish_slope_lost, gemel_sigmoid(x))
WRONG_SLOPE(hard_swish_slope_kink,
            gemel_where(gemel_lt(x, number(x, 3)), hard_swish_slope(x, y), number(x, 1)))
WRONG_SLOPE(log_add_exp_other, log_add_exp_y(x, y))
static gemel_value norm_pull_no_mean(gemel_value x, gemel_value g) {
  return layer_norm_pull_of(x, g, 0, 1);
}
static gemel_value norm_pull_no_product(gemel_value x, gemel_value g) {
  return layer_norm_pull_of(x, g, 1, 0);
}
static gemel_value norm_pull_scaled(gemel_value x, gemel_value g) {
  return times(layer_norm_pull(x, g), 1 + 1e-6);
}

#define GELU(name, f, slope)                                                                       \
  { name, 1, f, NULL, {slope}, NULL, gelu_formula, NULL, GEMEL_RANGE_MODERATE }
#define SWISH(name, f, slope)                                                                      \
  { name, 1, f, NULL, {slope}, NULL, swish_formula, NULL, GEMEL_RANGE_MODERATE }
#define HARD(name, f, slope)                                                                       \
  { name, 1, f, NULL, {slope}, NULL, NULL, hard_swish_function, GEMEL_RANGE_ANY }
#define LOG_ADD(name, f, x, y)                                                                     \
  { name, 2, f, NULL, {x, y}, NULL, NULL, log_add_exp_function, GEMEL_RANGE_MODERATE }
#define NORM(name, line, pull)                                                                     \
  { name, 0, NULL, line, {NULL}, pull, NULL, layer_norm_function, GEMEL_RANGE_ANY }
static const own wrong[] = {
    GELU("gelu/erf", gelu_erf, gelu_slope),
    GELU("gelu/sigmoid", gelu_sigmoid, gelu_slope),
    GELU("gelu/square", gelu_square, gelu_slope),
    GELU("gelu/off", gelu_off, gelu_slope),
    GELU("gelu/slope/scaled", gelu, gelu_slope_scaled),
    GELU("gelu/slope/constant", gelu, gelu_slope_constant),
    GELU("gelu/slope/lost", gelu, gelu_slope_lost),
    GELU("gelu/slope/sign", gelu, gelu_slope_sign),
    GELU("gelu/slope/near", gelu, gelu_slope_near),
    SWISH("swish/sign", swish_sign, swish_slope),
    SWISH("swish/far", swish_far, swish_slope),
    SWISH("swish/slope/scaled", swish, swish_slope_scaled),
    SWISH("swish/slope/lost", swish, swish_slope_lost),
    HARD("hard_swish/relu", hard_swish_relu, hard_swish_slope),
    HARD("hard_swish/bound", hard_swish_bound, hard_swish_slope),
    HARD("hard_swish/slope/kink", hard_swish, hard_swish_slope_kink),
    LOG_ADD("log_add_exp/no_correction", log_add_exp_no_correction, log_add_exp_x, log_add_exp_y),
    LOG_ADD("log_add_exp/lost_tie", log_add_exp_lost_tie, log_add_exp_x, log_add_exp_y),
    LOG_ADD("log_add_exp/naive", log_add_exp_naive, log_add_exp_x, log_add_exp_y),
    LOG_ADD("log_add_exp/slope/other", log_add_exp, log_add_exp_other, log_add_exp_y),
    NORM("layer_norm/outside", norm_outside, layer_norm_pull),
    NORM("layer_norm/no_epsilon", norm_no_epsilon, layer_norm_pull),
    NORM("layer_norm/no_mean", norm_no_mean, layer_norm_pull),
    NORM("layer_norm/sample", norm_sample, layer_norm_pull),
    NORM("layer_norm/last", norm_last, layer_norm_pull),
    NORM("layer_norm/reversed", norm_reversed, layer_norm_pull),
    NORM("layer_norm/pull/no_mean", layer_norm, norm_pull_no_mean),
    NORM("layer_norm/pull/no_product", layer_norm, norm_pull_no_product),
    NORM("layer_norm/pull/scaled", layer_norm, norm_pull_scaled),
    {"cumulative/from_behind",
     0,
     NULL,
     cumulative_from_behind,
     {NULL},
     NULL,
     NULL,
     cumulative_function,
     GEMEL_RANGE_ANY},
    {"cumulative/exclusive",
     0,
     NULL,
     cumulative_exclusive,
     {NULL},
     NULL,
     NULL,
     cumulative_function,
     GEMEL_RANGE_ANY},
    {"attention/causal",
     0,
     NULL,
     attention_causal,
     {NULL},
     NULL,
     attention_formula,
     NULL,
     GEMEL_RANGE_MODERATE},
    {"attention/scaled",
     0,
     NULL,
     attention_scaled,
     {NULL},
     NULL,
     attention_formula,
     NULL,
     GEMEL_RANGE_MODERATE},
};

/* ---- Asking ---- */

static heard ask(const own *o, uint64_t seed) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  CT_EQ_INT(register_as(context, o, "own", &error), GEMEL_OK);
  CT_EQ_INT(give_reference(context, o, "own", &error), GEMEL_OK);
  heard h = hear_operations(context, o->name, (gemel_verify_options){.seed = seed, .ops = "own"});
  gemel_context_unref(context);
  return h;
}

static void right_one(const void *data) {
  const own *o = data;
  int derivatives = o->slope[0] != NULL || o->pull != NULL;
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    heard h = ask(o, seed);
    CT_EQ_UINT(h.records, derivatives ? 2 * GEMEL_TIER_COUNT : GEMEL_TIER_COUNT);
    CT_EQ_UINT(h.good, h.records);
    CT_CHECK(h.passed >= (derivatives ? 5 : 2));
  }
}

static void wrong_one(const void *data) {
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    heard h = ask(data, seed);
    CT_CHECK(h.refuted > 0);
  }
}

void ct_register(void) {
  size_t k;
  for (k = 0; k < CT_COUNT(wrong); k++) {
    CT_ADD_TO("operation", "wrong", wrong[k].name, wrong_one, &wrong[k]);
  }
  for (k = 0; k < CT_COUNT(right); k++) {
    CT_ADD_TO("operation", "right", right[k].name, right_one, &right[k]);
  }
}
