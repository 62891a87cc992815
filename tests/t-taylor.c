/*
 * Tier gradient of operations that only the program knows: registered with a kernel and no
 * reference. Right derivatives pass, first and second, with an order of about 2; wrong ones (a
 * scale of 1 + 1e-6, a lost term, a sign, the wrong operand, and so on) are refuted for every seed,
 * also where one of the two rules is missing, and where a rule is wrong only for one operand by
 * itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/ops.h>
#include <gemel/verify.h>
#include "support/heard.h"
#include "support/operation.h"

enum { SEEDS = 5 };

/* ---- A family of operations: of two operands, elementwise, in f64 ---- */

struct own {
  const char *name;
  double (*f)(double x, double y);
  /* The derivatives, times what flows in. */
  gemel_value (*dx)(gemel_value x, gemel_value y, gemel_value g);
  gemel_value (*dy)(gemel_value x, gemel_value y, gemel_value g);
  /* What there is besides, or isn't. */
  enum { USUAL = 0, NO_GRAD = 1, NO_JVP = 2, IN_F32 = 4, WRONG_ALONE = 8 } how;
};

static gemel_value number(gemel_value like, double x) {
  gemel_dtype dtype = gemel_type_dtype(gemel_graph_context(like.graph), gemel_value_type(like));
  return gemel_scalar(like.graph, dtype, x);
}

static gemel_value times(gemel_value x, double c) {
  return gemel_mul(x, number(x, c));
}

static gemel_status run_own(const gemel_kernel_call *call) {
  const struct own *own = call->data;
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1], *out = &call->outputs[0];
  int64_t k;
  for (k = 0; k < x->shape[0]; k++) {
    const void *a = (const char *)x->data + k * x->strides[0];
    const void *b = (const char *)y->data + k * y->strides[0];
    void *to = (char *)out->data + k * out->strides[0];
    *(double *)to = own->f(*(const double *)a, *(const double *)b);
  }
  return GEMEL_OK;
}

static gemel_status grad_own(gemel_derive *call) {
  const struct own *own = call->data;
  gemel_value g = call->d_outputs[0];
  if (own->how & WRONG_ALONE && call->wanted[0] + call->wanted[1] == 1) {
    g = times(g, 2);
  }
  call->d_inputs[0] = own->dx(call->inputs[0], call->inputs[1], g);
  call->d_inputs[1] = own->dy(call->inputs[0], call->inputs[1], g);
  return gemel_graph_error(call->graph)->status;
}

static gemel_status jvp_own(gemel_derive *call) {
  const struct own *own = call->data;
  gemel_value sum = {NULL, 0, 0};
  int k;
  for (k = 0; k < 2; k++) {
    if (!gemel_is_null(call->d_inputs[k])) {
      gemel_value part =
          (k == 0 ? own->dx : own->dy)(call->inputs[0], call->inputs[1], call->d_inputs[k]);
      sum = gemel_is_null(sum) ? part : gemel_add(sum, part);
    }
  }
  call->d_outputs[0] = sum;
  return gemel_graph_error(call->graph)->status;
}

static gemel_status sample_own(gemel_sample *call) {
  int64_t n = 1 + (int64_t)(call->random(call->user) % 4);
  const struct own *own = call->data;
  gemel_dtype dtype = own->how & IN_F32 ? GEMEL_F32 : GEMEL_F64;
  int k;
  if (call->dtype != dtype) {
    return GEMEL_DECLINED;
  }
  for (k = 0; k < 2; k++) {
    call->inputs[k] = gemel_type_of_shape(call->context, dtype, 1, &n);
    call->ranges[k] = GEMEL_RANGE_ANY;
  }
  call->n_inputs = 2;
  return GEMEL_OK;
}

/* ---- Functions, right derivatives, wrong ones ---- */

static double f_erf(double x, double y) {
  return erf(x) * y;
}
static double f_atan(double x, double y) {
  return atan(x) + x * y;
}
static double f_sin(double x, double y) {
  return sin(x * y);
}
static double f_log(double x, double y) {
  return log(x) + y; /* NaN for half of what is drawn */
}
static double f_linear(double x, double y) {
  return 3 * x - y;
}

static gemel_value bell(gemel_value x) {
  return times(gemel_exp(gemel_neg(gemel_mul(x, x))), 1.1283791670955126);
}
static gemel_value erf_x(gemel_value x, gemel_value y, gemel_value g) {
  return gemel_mul(gemel_mul(g, y), bell(x));
}
/* erf x by the operation itself: y = 1 */
static gemel_value erf_y(gemel_value x, gemel_value y, gemel_value g) {
  gemel_value in[2];
  in[0] = x;
  in[1] = gemel_add(gemel_sub(y, y), number(y, 1));
  return gemel_mul(g, gemel_apply(x.graph, "own", 2, in, 0, NULL));
}
static gemel_value atan_slope(gemel_value x) {
  return gemel_div(number(x, 1), gemel_add(number(x, 1), gemel_mul(x, x)));
}
static gemel_value atan_x(gemel_value x, gemel_value y, gemel_value g) {
  return gemel_mul(g, gemel_add(atan_slope(x), y));
}
static gemel_value g_times_x(gemel_value x, gemel_value y, gemel_value g) {
  (void)y;
  return gemel_mul(g, x);
}
static gemel_value three(gemel_value x, gemel_value y, gemel_value g) {
  (void)x;
  (void)y;
  return times(g, 3);
}
static gemel_value minus(gemel_value x, gemel_value y, gemel_value g) {
  (void)x;
  (void)y;
  return gemel_neg(g);
}

/* cos(x y) = 1 − 2 sin²(x y / 2), by the operation itself */
static gemel_value cosine(gemel_value x, gemel_value y) {
  gemel_value in[2], half;
  in[0] = times(x, 0.5);
  in[1] = y;
  half = gemel_apply(x.graph, "own", 2, in, 0, NULL);
  return gemel_sub(number(x, 1), times(gemel_mul(half, half), 2));
}
static gemel_value sin_x(gemel_value x, gemel_value y, gemel_value g) {
  return gemel_mul(gemel_mul(g, y), cosine(x, y));
}
static gemel_value sin_y(gemel_value x, gemel_value y, gemel_value g) {
  return gemel_mul(gemel_mul(g, x), cosine(x, y));
}

static gemel_value log_x(gemel_value x, gemel_value y, gemel_value g) {
  (void)y;
  return gemel_div(g, x);
}
static gemel_value just_g(gemel_value x, gemel_value y, gemel_value g) {
  (void)x;
  (void)y;
  return g;
}

#define WRONG(name, expression)                                                                    \
  static gemel_value name(gemel_value x, gemel_value y, gemel_value g) {                           \
    (void)x, (void)y, (void)g;                                                                     \
    return expression;                                                                             \
  }
WRONG(erf_scaled, times(erf_x(x, y, g), 1 + 1e-6))
WRONG(erf_sign, gemel_neg(erf_x(x, y, g)))
WRONG(erf_constant, times(erf_x(x, y, g), 0.8862269254527580 * 1.1283791))
WRONG(erf_lost_factor, gemel_mul(g, bell(x)))
WRONG(erf_no_square, gemel_mul(gemel_mul(g, y), times(gemel_exp(gemel_neg(x)), 1.1283791670955126)))
WRONG(erf_other, gemel_mul(gemel_mul(g, x), bell(y)))
WRONG(erf_y_scaled, times(erf_y(x, y, g), 1 - 1e-6))
WRONG(erf_y_zero, gemel_sub(g, g))
WRONG(atan_scaled, times(atan_x(x, y, g), 1 + 1e-6))
WRONG(atan_lost_term, gemel_mul(g, atan_slope(x)))
WRONG(atan_lost_square,
      gemel_mul(g, gemel_add(gemel_div(number(x, 1), gemel_add(number(x, 1), x)), y)))
WRONG(atan_sign, gemel_mul(g, gemel_sub(y, atan_slope(x))))
WRONG(atan_y_other, gemel_mul(g, y))
WRONG(atan_offset, gemel_add(atan_x(x, y, g), times(g, 1e-6)))
WRONG(linear_scaled, times(g, 3 + 3e-6))
WRONG(linear_sign, g)
WRONG(sin_scaled, times(sin_x(x, y, g), 1 + 1e-6))

static const struct own right[] = {{"own", f_erf, erf_x, erf_y, USUAL},
                                   {"own", f_atan, atan_x, g_times_x, USUAL},
                                   {"own", f_linear, three, minus, USUAL},
                                   {"own", f_sin, sin_x, sin_y, USUAL},
                                   {"own", f_log, log_x, just_g, USUAL}};

static const struct own wrong[] = {{"erf_scaled", f_erf, erf_scaled, erf_y, USUAL},
                                   {"erf_sign", f_erf, erf_sign, erf_y, USUAL},
                                   {"erf_constant", f_erf, erf_constant, erf_y, USUAL},
                                   {"erf_lost_factor", f_erf, erf_lost_factor, erf_y, USUAL},
                                   {"erf_no_square", f_erf, erf_no_square, erf_y, USUAL},
                                   {"erf_other", f_erf, erf_other, erf_y, USUAL},
                                   {"erf_y_scaled", f_erf, erf_x, erf_y_scaled, USUAL},
                                   {"erf_y_zero", f_erf, erf_x, erf_y_zero, USUAL},
                                   {"atan_scaled", f_atan, atan_scaled, g_times_x, USUAL},
                                   {"atan_lost_term", f_atan, atan_lost_term, g_times_x, USUAL},
                                   {"atan_lost_square", f_atan, atan_lost_square, g_times_x, USUAL},
                                   {"atan_sign", f_atan, atan_sign, g_times_x, USUAL},
                                   {"atan_y_other", f_atan, atan_x, atan_y_other, USUAL},
                                   {"atan_offset", f_atan, atan_offset, g_times_x, USUAL},
                                   {"linear_scaled", f_linear, linear_scaled, minus, USUAL},
                                   {"linear_sign", f_linear, three, linear_sign, USUAL},
                                   {"sin_scaled", f_sin, sin_scaled, sin_y, USUAL},
                                   {"sin_swapped", f_sin, sin_y, sin_x, USUAL}};

/* One rule alone. */
static const struct own partly_right[] = {{"erf", f_erf, erf_x, erf_y, NO_JVP},
                                          {"sin", f_sin, sin_x, sin_y, NO_GRAD},
                                          {"linear", f_linear, three, minus, NO_JVP}};
static const struct own partly_wrong[] = {
    {"atan_scaled", f_atan, atan_scaled, g_times_x, NO_JVP},
    {"atan_scaled forward", f_atan, atan_scaled, g_times_x, NO_GRAD},
    {"linear_sign", f_linear, three, linear_sign, NO_JVP},
    {"linear_sign forward", f_linear, three, linear_sign, NO_GRAD},
    {"alone", f_atan, atan_x, g_times_x, WRONG_ALONE}};

/* ---- Asking ---- */

static size_t elsewhere; /* records of other tiers that say that nothing was run */

/* What tier gradient says; its passes are by Taylor's theorem. */
static void take(void *user, const gemel_record *r) {
  if (r->tier != GEMEL_TIER_GRADIENT) {
    elsewhere += r->verdict == GEMEL_VERDICT_NOT_RUN;
    return;
  }
  CT_CHECK(r->verdict != GEMEL_VERDICT_PASSED || r->how == GEMEL_EVIDENCE_TAYLOR);
  hear(user, r);
}

static heard ask(const struct own *own, uint64_t seed) {
  static const gemel_kernel kernels[] = {{"plain", NULL, run_own}, {NULL, NULL, NULL}};
  gemel_context *context = gemel_context_new(NULL);
  gemel_operation op = {.size = sizeof op, .name = "own", .version = 1};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  heard h;
  gemel_verify_options options = heard_by(&h, (gemel_verify_options){.seed = seed, .ops = "own"});
  options.sink = take;
  op.min_inputs = op.max_inputs = 2;
  op.infer = same_type;
  op.grad = own->how & NO_GRAD ? NULL : grad_own;
  op.jvp = own->how & NO_JVP ? NULL : jvp_own;
  op.sample = sample_own;
  op.kernels = kernels;
  op.data = own;
  elsewhere = 0;
  CT_EQ_INT(gemel_register_operation(context, &op, &error), GEMEL_OK);
  gemel_status status = gemel_verify_operations(context, &options, NULL, &error);
  heard_of(&h, own->name, seed, status, &error);
  gemel_context_unref(context);
  return h;
}

/* Both orders pass; the other tiers say that there is nothing to compare with. */
static void right_ones(const void *data) {
  size_t k;
  uint64_t seed;
  (void)data;
  for (k = 0; k < CT_COUNT(right); k++) {
    for (seed = 1; seed <= SEEDS; seed++) {
      heard h = ask(&right[k], seed);
      CT_EQ_UINT(h.refuted, 0);
      CT_EQ_UINT(h.passed, 2);
      CT_EQ_UINT(elsewhere, 2 * (GEMEL_TIER_COUNT - 1));
      CT_HAS_STR(h.all, k == 2 ? "no remainder" : "least order");
      CT_HAS_STR(strchr(h.all, '\n'), k == 2 ? "no remainder" : "least order");
    }
  }
}

static void wrong_ones(const void *data) {
  size_t k, refuted = 0;
  uint64_t seed;
  (void)data;
  for (k = 0; k < CT_COUNT(wrong); k++) {
    for (seed = 1; seed <= SEEDS; seed++) {
      heard h = ask(&wrong[k], seed);
      refuted += (size_t)CT_CHECK(h.refuted > 0);
      CT_HAS_STR(h.bad, "order");
    }
  }
  printf("  %zu of %zu wrong derivatives refuted\n", refuted, CT_COUNT(wrong) * SEEDS);
}

static void partly(const void *data) {
  size_t k;
  uint64_t seed;
  (void)data;
  for (seed = 1; seed <= SEEDS; seed++) {
    for (k = 0; k < CT_COUNT(partly_right); k++) {
      heard h = ask(&partly_right[k], seed);
      CT_EQ_UINT(h.refuted, 0);
      CT_EQ_UINT(h.passed, 2);
    }
    for (k = 0; k < CT_COUNT(partly_wrong); k++) {
      CT_CHECK(ask(&partly_wrong[k], seed).refuted > 0);
    }
  }
}

/* f32 has too few digits for an order: that isn't said to be good. */
static void in_f32(const void *data) {
  static const struct own linear = {"own", f_linear, three, linear_sign, IN_F32};
  heard h = ask(&linear, 1);
  (void)data;
  CT_EQ_UINT(h.verdicts[GEMEL_VERDICT_NOT_RUN], 2);
  CT_HAS_STR(h.bad, "gemel_verify_reference");
}

static const ct_test tests[] = {CT_TEST("right", right_ones, NULL),
                                CT_TEST("wrong", wrong_ones, NULL), CT_TEST("partly", partly, NULL),
                                CT_TEST("f32", in_f32, NULL)};

void ct_register(void) {
  ct_suite("taylor", tests, CT_COUNT(tests));
}
