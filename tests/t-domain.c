/*
 * Scalar operations are judged over their whole domain: kernels that are wrong in one binade alone,
 * in the middle or at an end of the range, beyond a threshold, for subnormal numbers, for one
 * number of a half type or for large integers are refuted, for each seed, and right ones pass. A
 * wrong interval of exp is planted in each binade in turn. GEMEL_CORPUS_SEEDS=50 asks for all
 * binades, and for fifty seeds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>
#include "support/heard.h"

enum { SEEDS = 2, FEW = 24 /* instances, and so a quarter of the numbers */, FULL = 96 };

/* ---- Kernels ---- */

/* A function on one element: operands and result are in memory, of the case's dtypes. */
typedef void element_fn(void *result, const void *const *x);

typedef struct planted {
  const char *name, *op;
  gemel_dtype from, to; /* of the last operand and of the result; others are declined */
  element_fn *element;
  size_t instances;
} planted;

static const planted *active; /* kernels have no data of their own */

static gemel_status prepare(gemel_kernel_call *call) {
  return call->inputs[call->n_inputs - 1].dtype == active->from &&
                 call->outputs[0].dtype == active->to
             ? GEMEL_OK
             : GEMEL_DECLINED;
}

/* Where element INDEX of the result finds its operand, which is broadcast to it. */
static const char *operand_at(const gemel_view *x, int rank, const int64_t *index) {
  const char *at = x->data;
  int k;
  for (k = 0; k < x->rank; k++) {
    at += x->shape[k] == 1 ? 0 : index[rank - x->rank + k] * x->strides[k];
  }
  return at;
}

static gemel_status run(const gemel_kernel_call *call) {
  const gemel_view *out = &call->outputs[0];
  int64_t index[GEMEL_MAX_RANK] = {0}, total = 1, n;
  int k;
  for (k = 0; k < out->rank; k++) {
    total *= out->shape[k];
  }
  for (n = 0; n < total; n++) {
    const void *x[3];
    size_t j;
    for (j = 0; j < call->n_inputs; j++) {
      x[j] = operand_at(&call->inputs[j], out->rank, index);
    }
    active->element((char *)operand_at(out, out->rank, index), x);
    for (k = out->rank; k-- > 0 && ++index[k] == out->shape[k];) {
      index[k] = 0;
    }
  }
  return GEMEL_OK;
}

/* What the tiers that a scalar operation is surveyed in say of the kernel. */
static heard judge(const planted *p, uint64_t seed) {
  static const gemel_kernel kernel = {"planted", prepare, run};
  gemel_context *context = gemel_context_new(NULL);
  int floats =
      gemel_dtype_kind(p->from) == GEMEL_KIND_FLOAT || gemel_dtype_kind(p->to) == GEMEL_KIND_FLOAT;
  active = p;
  heard h = hear_kernel(
      context, p->name, p->op, &kernel,
      (gemel_verify_options){.seed = seed,
                             .instances = p->instances > 0 ? p->instances : FEW,
                             .in_process = 1, /* they don't crash */
                             .tiers = 1u << (floats ? GEMEL_TIER_SPECIAL : GEMEL_TIER_INTEGER)});
  gemel_context_unref(context);
  return h;
}

/* ---- A wrong interval of exp, in each binade in turn ---- */

static double wrong_from, wrong_to; /* where the results are three units off */

static int is_wrong(double x) {
  return x >= wrong_from && x < wrong_to;
}

static void exp_f32(void *result, const void *const *x) {
  float in = *(const float *)x[0], y = (float)exp((double)in);
  uint32_t bits;
  memcpy(&bits, &y, sizeof bits);
  bits += is_wrong(in) ? 3 : 0;
  memcpy(result, &bits, sizeof bits);
}

static void exp_f64(void *result, const void *const *x) {
  double in = *(const double *)x[0], y = exp(in);
  uint64_t bits;
  memcpy(&bits, &y, sizeof bits);
  bits += is_wrong(in) ? 3 : 0;
  memcpy(result, &bits, sizeof bits);
}

/* The interval is a third of what the binade has where the function is neither 0 nor infinite. */
static void plant(int exponent, int sign, double highest, double lowest, uint64_t seed) {
  double low = ldexp(1, exponent), high = ldexp(2, exponent);
  double most = sign > 0 ? highest : lowest;
  double part = (double)(seed % 3);
  high = high > most ? most : high;
  wrong_from = low + part * (high - low) / 3;
  wrong_to = low + (part + 1) * (high - low) / 3;
  if (sign < 0) {
    double swapped = -wrong_from;
    wrong_from = -wrong_to;
    wrong_to = swapped;
  }
}

/* From the binade below the one where exp is 1 after rounding up to the last. */
static size_t plant_each(const planted *p, int first, double highest, double lowest,
                         uint64_t seed) {
  int last = (int)floor(log2(lowest)), e, sign;
  int all = ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS) >= 50;
  size_t tried = 0;
  for (e = first; e <= last; e++) {
    for (sign = -1; sign <= 1; sign += 2) {
      if ((all || (unsigned)(e - first) % 3 == seed % 3) &&
          ldexp(1, e) < (sign > 0 ? highest : lowest)) {
        heard h;
        plant(e, sign, highest, lowest, seed / 3);
        h = judge(p, seed);
        ct_context("%s, seed %llu, wrong from %g to %g: %s", p->name, (unsigned long long)seed,
                   wrong_from, wrong_to, h.bad);
        CT_CHECK(h.refuted == 1);
        tried++;
      }
    }
  }
  wrong_from = wrong_to = 0;
  return tried;
}

static void each_binade(const void *data) {
  static const planted single = {"exp of f32", "exp", GEMEL_F32, GEMEL_F32, exp_f32, FEW};
  static const planted twice = {"exp of f64", "exp", GEMEL_F64, GEMEL_F64, exp_f64, FEW};
  uint64_t seed;
  size_t tried = 0;
  (void)data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("takes long under Valgrind");
  }
  for (seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    tried += plant_each(&single, -26, 88.7, 103.9, seed);
    tried += plant_each(&twice, -55, 709.7, 745.1, seed);
  }
  printf("  %zu wrong intervals of exp\n", tried);
  ct_property("intervals", (long long)tried);
}

/* ---- Other wrong kernels, and right ones ---- */

#define UNARY(name, T, expression)                                                                 \
  static void name(void *result, const void *const *p) {                                           \
    T x = *(const T *)p[0], y = (expression);                                                      \
    memcpy(result, &y, sizeof y);                                                                  \
  }
#define BINARY(name, T, R, expression)                                                             \
  static void name(void *result, const void *const *p) {                                           \
    T x = *(const T *)p[0], y = *(const T *)p[1];                                                  \
    R r = (expression);                                                                            \
    memcpy(result, &r, sizeof r);                                                                  \
  }
#define CONVERT(name, T, R, expression)                                                            \
  static void name(void *result, const void *const *p) {                                           \
    T x = *(const T *)p[0];                                                                        \
    R r = (expression);                                                                            \
    memcpy(result, &r, sizeof r);                                                                  \
  }

UNARY(exp_5_80, float, (float)exp(x) * (x > 5 && x < 80 ? 1.000001f : 1))
UNARY(exp_saturates, float, (float)exp(x > 85 ? 85 : x))
UNARY(exp_no_subnormal, float, exp(x) < (double)FLT_MIN ? 0 : (float)exp(x))
UNARY(exp_early_infinity, double, x > 709 ? INFINITY : exp(x))
UNARY(log_no_subnormal, float, x != 0 && fabsf(x) < FLT_MIN ? -87.33655f : (float)log(x))
UNARY(log_large, double, x > 0x1p1000 ? log(x) * (1 + 0x1p-40) : log(x))
UNARY(tanh_saturates, float, fabsf(x) > 8 ? copysignf(1, x) : (float)tanh(x))
UNARY(tanh_tiny, double, fabs(x) < 0x1p-300 ? 0 : tanh(x))
UNARY(sqrt_tiny, double, x > 0 && x < 0x1p-1000 ? sqrt(x) * (1 + 0x1p-50) : sqrt(x))
UNARY(sqr_flushes, float, fabsf(x *x) < FLT_MIN ? 0 : x * x)
UNARY(sigmoid_far, float, x < -80 ? 0 : (float)(1 / (1 + exp(-(double)x))))
UNARY(expm1_cancels, double, fabs(x) < 0x1p-20 ? exp(x) - 1 : expm1(x))
BINARY(mod_by_quotient, float, float, (float)(x - (double)y * floor((double)x / y)))
BINARY(div_by_inverse, float, float, x *(1 / y))
BINARY(less_flushes, float, uint8_t, fabsf(x - y) < FLT_MIN ? 0 : x < y)
BINARY(equal_nearly, double, uint8_t, fabs(x - y) <= 1e-300)
BINARY(add_flushes, double, double, fabs(x + y) < DBL_MIN ? 0 : x + y)
BINARY(pow_no_odd, double, double,
       x<0 && fabs(y)> 0x1p31 && fabs(y) < 0x1p53 ? pow(-x, y) : pow(x, y))
BINARY(pow_saturates, float, float, (float)pow(x, y) > 1e38f ? 1e38f : (float)pow(x, y))
BINARY(mul_through_f64, int64_t, int64_t, (int64_t)(uint64_t)((__int128)((double)x * 1) * y))
BINARY(max_by_difference, int32_t, int32_t, (int32_t)((uint32_t)x - (uint32_t)y) > 0 ? x : y)
CONVERT(to_i32_wraps, float, int32_t,
        (int32_t)(uint32_t)(int64_t)(x != x         ? 0
                                     : x > 0x1p62f  ? 0x1p62f
                                     : x < -0x1p62f ? -0x1p62f
                                                    : x))
CONVERT(twice_rounded, int64_t, float, (float)(double)x)
CONVERT(unsigned_as_signed, uint64_t, double, (double)(int64_t)x)

/* IEEE binary16, by its definition. */
static double half_value(uint16_t h) {
  int exponent = h >> 10 & 31, fraction = h & 1023;
  double sign = h >> 15 ? -1 : 1;
  return exponent == 31
             ? (fraction ? NAN : sign * INFINITY)
             : sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static uint16_t half_of(double x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  int exponent;
  double units;
  if (isnan(x)) {
    return 0x7e00;
  }
  x = fabs(x);
  frexp(x, &exponent);
  exponent = exponent < -13 ? -13 : exponent;
  units = isinf(x) || x >= 65520 ? 0 : nearbyint(ldexp(x, 11 - exponent));
  if (isinf(x) || x >= 65520) {
    return sign | 0x7c00;
  }
  return (uint16_t)(sign | (units < 1024 ? (int)units : ((exponent + 13) << 10) + (int)units));
}

static void exp_f16(void *result, const void *const *p) {
  uint16_t x, y;
  memcpy(&x, p[0], sizeof x);
  y = half_of(exp(half_value(x)));
  memcpy(result, &y, sizeof y);
}

static void exp_f16_one_wrong(void *result, const void *const *p) {
  uint16_t x;
  exp_f16(result, p);
  memcpy(&x, p[0], sizeof x);
  if (x == 0xc2a7) {
    ((uint8_t *)result)[0] ^= 1;
  }
}

CONVERT(half_through_single, double, uint16_t, half_of((float)x))
UNARY(exp_right, float, (float)exp(x))
UNARY(log_right, double, log(x))
UNARY(tanh_right, float, (float)tanh(x))
BINARY(mod_right, double, double,
       fmod(x, y) == 0               ? copysign(fmod(x, y), y)
       : (fmod(x, y) < 0) != (y < 0) ? fmod(x, y) + y
                                     : fmod(x, y))
BINARY(less_by_difference, float, uint8_t, x - y < 0) /* differences are subnormal if need be */
BINARY(mul_right, int64_t, int64_t, (int64_t)((uint64_t)x *(uint64_t)y))
CONVERT(to_i32_right, float, int32_t,
        x != x         ? 0
        : x >= 0x1p31f ? INT32_MAX
        : x < -0x1p31f ? INT32_MIN
                       : (int32_t)x)
CONVERT(once_rounded, int64_t, float, (float)x)

#define OF(function, op, from, to)                                                                 \
  { #function, op, GEMEL_##from, GEMEL_##to, function, 0 }

static const planted wrong[] = {
    OF(exp_5_80, "exp", F32, F32),
    OF(exp_saturates, "exp", F32, F32),
    OF(exp_no_subnormal, "exp", F32, F32),
    OF(exp_early_infinity, "exp", F64, F64),
    OF(log_no_subnormal, "log", F32, F32),
    OF(log_large, "log", F64, F64),
    OF(tanh_saturates, "tanh", F32, F32),
    OF(tanh_tiny, "tanh", F64, F64),
    OF(sqrt_tiny, "sqrt", F64, F64),
    OF(sqr_flushes, "sqr", F32, F32),
    OF(sigmoid_far, "sigmoid", F32, F32),
    OF(expm1_cancels, "expm1", F64, F64),
    OF(mod_by_quotient, "mod", F32, F32),
    OF(div_by_inverse, "div", F32, F32),
    OF(less_flushes, "lt", F32, BOOL),
    OF(equal_nearly, "eq", F64, BOOL),
    OF(add_flushes, "add", F64, F64),
    OF(pow_no_odd, "pow", F64, F64),
    OF(pow_saturates, "pow", F32, F32),
    OF(mul_through_f64, "mul", I64, I64),
    OF(max_by_difference, "maximum", I32, I32),
    OF(to_i32_wraps, "cast", F32, I32),
    OF(twice_rounded, "cast", I64, F32),
    OF(unsigned_as_signed, "cast", U64, F64),
    OF(half_through_single, "cast", F64, F16),
    {"exp_f16_one_wrong", "exp", GEMEL_F16, GEMEL_F16, exp_f16_one_wrong, FULL},
};

static const planted right[] = {
    OF(exp_right, "exp", F32, F32),
    OF(log_right, "log", F64, F64),
    OF(tanh_right, "tanh", F32, F32),
    OF(mod_right, "mod", F64, F64),
    OF(less_by_difference, "lt", F32, BOOL),
    OF(mul_right, "mul", I64, I64),
    OF(to_i32_right, "cast", F32, I32),
    OF(once_rounded, "cast", I64, F32),
    {"exp_f16", "exp", GEMEL_F16, GEMEL_F16, exp_f16, FULL},
};

/* Valgrind takes long over what only tells right from wrong: for it, the cases of exp will do. */
static int too_slow(const planted *p) {
  return getenv("GEMEL_VALGRIND") != NULL && strcmp(p->op, "exp") != 0;
}

static void refuted(const void *data) {
  uint64_t seed;
  if (too_slow(data)) {
    CT_SKIP("takes long under Valgrind");
  }
  for (seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    CT_CHECK(judge(data, seed).refuted == 1);
  }
}

static void accepted(const void *data) {
  uint64_t seed;
  if (too_slow(data)) {
    CT_SKIP("takes long under Valgrind");
  }
  for (seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    CT_CHECK(judge(data, seed).passed == 1);
  }
}

/* ---- Records ---- */

static void keep_ulps(void *user, const gemel_record *r) {
  char *text = user;
  if (r->tier == GEMEL_TIER_SPECIAL && r->ulps != NULL) {
    snprintf(text, 100000, "%s", r->ulps);
    CT_CHECK(r->ulp > 0.5 && r->ulp <= 1);
    CT_HAS_STR(r->detail, "f32");
  }
}

/* The record of exp says how far off it is, in every binade of every dtype. */
static void recorded(const void *data) {
  char *text = calloc(1, 100000);
  gemel_context *context = gemel_context_new(NULL);
  gemel_verify_options options = {0};
  (void)data;
  options.size = sizeof options;
  options.seed = 1;
  options.ops = "exp";
  options.instances = 8;
  options.tiers = 1u << GEMEL_TIER_SPECIAL;
  options.sink = keep_ulps;
  options.user = text;
  CT_EQ_INT(gemel_verify_operations(context, &options, NULL, NULL), GEMEL_OK);
  CT_HAS_STR(text, "\"f64\": {\"-\": [[-1074, ");
  CT_HAS_STR(text, "\"bf16\": {\"-\": [[-133, ");
  CT_HAS_STR(text, ", 127, 0.00]]}"); /* infinite there */
  gemel_context_unref(context);
  free(text);
}

/* ---- Memory ---- */

static int small_survey(void *data) {
  static const gemel_kernel kernel = {"planted", prepare, run};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_verify_options options = {0};
  gemel_status status = error.status;
  active = data;
  if (context != NULL) {
    options.size = sizeof options;
    options.instances = 4;
    options.tiers = 1u << GEMEL_TIER_SPECIAL;
    status = gemel_verify_kernel(context, active->op, &kernel, &options, NULL, &error);
    gemel_context_unref(context);
  }
  return status;
}

static void out_of_memory(const void *data) {
  static const planted one = OF(less_by_difference, "lt", F32, BOOL);
  (void)data;
  if (ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS) < 50) {
    CT_SKIP("takes minutes; GEMEL_CORPUS_SEEDS=50 asks for it");
  }
  CT_CHECK(ct_oom(small_survey, (void *)&one) > 200);
}

static const ct_test tests[] = {CT_TEST("each_binade_of_exp", each_binade, NULL),
                                CT_TEST("recorded", recorded, NULL),
                                CT_TEST("out_of_memory", out_of_memory, NULL)};

void ct_register(void) {
  size_t k;
  ct_suite("domain", tests, CT_COUNT(tests));
  for (k = 0; k < CT_COUNT(wrong); k++) {
    CT_ADD_TO("domain", "wrong", wrong[k].name, refuted, &wrong[k]);
  }
  for (k = 0; k < CT_COUNT(right); k++) {
    CT_ADD_TO("domain", "right", right[k].name, accepted, &right[k]);
  }
}
