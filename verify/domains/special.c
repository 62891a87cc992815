/* SPDX-License-Identifier: MIT
 *
 * Domain S: see special.h. MPFR treats NaN, infinities and signed zeros as IEEE 754 does, so most
 * functions are one call with rounding towards zero, after which the last bit is made odd if the
 * result was not exact. round() has more to do: MPFR has neither subnormals nor a small largest
 * number, so the precision is first cut to what the format has at that exponent.
 */
#include "domains/special.h"

#include <gmp.h>
#include <math.h>
#include <stdio.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "domains/functions.h"

#define BITS 200

typedef struct special_element {
  gemel__state state;
  mpfr_t x;
} special_element;

/* ---- Elements ---- */

static void special_init(gemel__domain *d, void *e) {
  (void)d;
  special_element *r = e;
  r->state = GEMEL__DEFINED;
  mpfr_init2(r->x, BITS);
  mpfr_set_zero(r->x, 1);
}

static void special_clear(gemel__domain *d, void *e) {
  (void)d;
  mpfr_clear(((special_element *)e)->x);
}

static void special_set(gemel__domain *d, void *e, const void *a) {
  (void)d;
  special_element *r = e;
  const special_element *s = a;
  r->state = s->state;
  mpfr_set(r->x, s->x, MPFR_RNDN);
}

static gemel__state special_state(gemel__domain *d, const void *e) {
  (void)d;
  return ((const special_element *)e)->state;
}

static void special_set_state(gemel__domain *d, void *e, gemel__state state) {
  (void)d;
  ((special_element *)e)->state = state;
}

/* Sets E's state to the worse of two (B may be NULL). */
static void join(special_element *e, const special_element *a, const special_element *b) {
  e->state = b && b->state > a->state ? b->state : a->state;
}

/* Makes the last bit odd after rounding towards zero. TERNARY is MPFR's return value: the sign of
 * result − true value. */
static void make_odd(mpfr_t x, int ternary) {
  if (ternary == 0 || mpfr_nan_p(x) || mpfr_inf_p(x))
    return;
  if (!mpfr_zero_p(x) && mpfr_min_prec(x) == BITS)
    return;
  if (ternary < 0)
    mpfr_nextabove(x);
  else
    mpfr_nextbelow(x);
}

/* ---- Conversions ---- */

static void special_from_double(gemel__domain *d, void *e, double x) {
  (void)d;
  special_element *r = e;
  r->state = GEMEL__DEFINED;
  mpfr_set_d(r->x, x, MPFR_RNDN);
}

static void special_from_integer(gemel__domain *d, void *e, int64_t x) {
  (void)d;
  special_element *r = e;
  r->state = GEMEL__DEFINED;
  mpfr_set_si(r->x, x, MPFR_RNDN);
}

static void special_from_unsigned(gemel__domain *d, void *e, uint64_t x) {
  (void)d;
  special_element *r = e;
  r->state = GEMEL__DEFINED;
  mpfr_set_ui(r->x, x, MPFR_RNDN);
}

static int special_to_integer(gemel__domain *d, const void *e, int64_t *x) {
  (void)d;
  const special_element *a = e;
  if (a->state != GEMEL__DEFINED || !mpfr_integer_p(a->x) || !mpfr_fits_slong_p(a->x, MPFR_RNDZ))
    return 0;
  *x = mpfr_get_si(a->x, MPFR_RNDZ);
  return 1;
}

/* ---- Arithmetic ---- */

typedef int mpfr_binary(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int mpfr_unary(mpfr_t, const mpfr_t, mpfr_rnd_t);

static void binary(void *e, const void *a, const void *b, mpfr_binary *function) {
  special_element *r = e;
  const special_element *s = a, *t = b;
  join(r, s, t);
  make_odd(r->x, function(r->x, s->x, t->x, MPFR_RNDZ));
}

/* R is a result of operands of which none, or ONE, is NaN. */
static void note_invalid(gemel__domain *d, const special_element *r, int one) {
  ((gemel__special *)d)->invalid += !one && mpfr_nan_p(r->x);
}

static void unary(gemel__domain *d, void *e, const void *a, mpfr_unary *function) {
  special_element *r = e;
  const special_element *s = a;
  int nan = mpfr_nan_p(s->x) != 0;
  join(r, s, NULL);
  make_odd(r->x, function(r->x, s->x, MPFR_RNDZ));
  note_invalid(d, r, nan);
}

#define BINARY(name, function)                                                                     \
  static void special_##name(gemel__domain *d, void *e, const void *a, const void *b) {            \
    (void)d;                                                                                       \
    binary(e, a, b, function);                                                                     \
  }
#define UNARY(name, function)                                                                      \
  static void special_##name(gemel__domain *d, void *e, const void *a) {                           \
    unary(d, e, a, function);                                                                      \
  }

BINARY(add, mpfr_add)
BINARY(sub, mpfr_sub)
BINARY(mul, mpfr_mul)
BINARY(div, mpfr_div)
/* clang-format off */
UNARY(exp, mpfr_exp)
UNARY(log, mpfr_log)
UNARY(sqrt, mpfr_sqrt)
/* clang-format on */

static void special_apply(gemel__domain *d, void *e, gemel__real_function f, const void *a) {
  unary(d, e, a, gemel__real_functions[f].number);
}

static void special_pow(gemel__domain *d, void *e, const void *a, const void *b) {
  const special_element *s = a, *t = b;
  int nan = mpfr_nan_p(s->x) || mpfr_nan_p(t->x);
  binary(e, a, b, mpfr_pow);
  note_invalid(d, e, nan);
}

static void special_neg(gemel__domain *d, void *e, const void *a) {
  (void)d;
  special_element *r = e;
  const special_element *s = a;
  join(r, s, NULL);
  mpfr_neg(r->x, s->x, MPFR_RNDN);
}

static void special_floor(gemel__domain *d, void *e, const void *a) {
  (void)d;
  special_element *r = e;
  const special_element *s = a;
  join(r, s, NULL);
  mpfr_rint(r->x, s->x, MPFR_RNDD);
}

static void special_sum(gemel__domain *d, void *e, size_t n, const void *const *addends) {
  (void)d;
  special_element *r = e;
  if (n == 0) {
    special_from_integer(d, e, 0);
    return;
  }
  special_element sum;
  special_init(d, &sum);
  special_set(d, &sum, addends[0]);
  for (size_t i = 1; i < n; i++)
    special_add(d, &sum, &sum, addends[i]);
  special_set(d, r, &sum);
  special_clear(d, &sum);
}

static void special_fmod(gemel__domain *d, void *e, const void *a, const void *b) {
  (void)d;
  binary(e, a, b, mpfr_fmod);
}

static void special_atan2(gemel__domain *d, void *e, const void *a, const void *b) {
  (void)d;
  binary(e, a, b, mpfr_atan2);
}

static void special_polygamma(gemel__domain *d, void *e, unsigned long order, const void *a) {
  special_element *r = e;
  const special_element *s = a;
  int nan = mpfr_nan_p(s->x) != 0;
  join(r, s, NULL);
  make_odd(r->x, gemel__number_polygamma(r->x, order, s->x, MPFR_RNDZ));
  note_invalid(d, r, nan);
}

static int special_sign(gemel__domain *d, const void *a) {
  const special_element *s = a;
  ((gemel__special *)d)->unknown += s->state != GEMEL__DEFINED;
  if (s->state != GEMEL__DEFINED || mpfr_nan_p(s->x))
    return GEMEL__UNORDERED;
  int sign = mpfr_sgn(s->x);
  return (sign > 0) - (sign < 0);
}

/* ---- Rounding ---- */

/* X, rounded to nearest even, into the numbers of the format. */
static void round_float(mpfr_t x, const gemel__format *f) {
  if (!mpfr_regular_p(x))
    return;
  mpfr_exp_t exponent = mpfr_get_exp(x); /* 2^(exponent − 1) ≤ |x| < 2^exponent */
  mpfr_exp_t left =
      exponent - gemel__format_unit(f); /* significand bits that the format has at that exponent */
  int sign = mpfr_sgn(x);
  if (left < 1) {
    /* Below the smallest subnormal: that number if x is more than half of it, else zero. */
    int up = left == 0 && mpfr_min_prec(x) > 1;
    if (up)
      mpfr_set_si_2exp(x, sign, gemel__format_unit(f), MPFR_RNDN);
    else
      mpfr_set_zero(x, sign);
    return;
  }
  mpfr_t t;
  mpfr_init2(t, left < f->digits ? (mpfr_prec_t)left : f->digits);
  mpfr_set(t, x, MPFR_RNDN);
  mpfr_set(x, t, MPFR_RNDN);
  mpfr_clear(t);
  if (mpfr_get_exp(x) > f->highest + 1)
    mpfr_set_inf(x, sign);
}

/* X modulo 2^w, in the range of the dtype; NaN is 0, infinities are the extremes. */
static void round_integer(mpfr_t x, gemel_dtype dtype) {
  mp_bitcnt_t bits = 8 * gemel_dtype_size(dtype);
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  mpz_t n, modulus;
  mpz_init(n);
  mpz_init_set_ui(modulus, 1);
  mpz_mul_2exp(modulus, modulus, bits);
  if (mpfr_inf_p(x)) {
    if (mpfr_sgn(x) > 0)
      mpz_sub_ui(n, modulus, 1);
    if (is_signed)
      mpz_fdiv_q_2exp(n, mpfr_sgn(x) > 0 ? n : modulus, 1);
    if (is_signed && mpfr_sgn(x) < 0)
      mpz_neg(n, n);
  } else if (mpfr_regular_p(x) && mpfr_get_exp(x) <= 4096) {
    mpfr_get_z(n, x, MPFR_RNDZ);
    mpz_fdiv_r_2exp(n, n, bits);
    if (is_signed && mpz_tstbit(n, bits - 1))
      mpz_sub(n, n, modulus);
  }
  mpfr_set_z(x, n, MPFR_RNDN);
  mpz_clear(n);
  mpz_clear(modulus);
}

static void store(mpfr_t x, gemel_dtype dtype) {
  switch (gemel_dtype_kind(dtype)) {
  case GEMEL_KIND_FLOAT:
    round_float(x, gemel__dtype_format(dtype));
    break;
  case GEMEL_KIND_BOOL:
    mpfr_set_si(x, mpfr_zero_p(x) ? 0 : 1, MPFR_RNDN);
    break;
  default:
    round_integer(x, dtype);
  }
}

static void special_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  (void)ulps;
  if (!((const gemel__special *)d)->unrounded || !gemel__is_float(dtype))
    store(((special_element *)e)->x, dtype);
}

/* ---- Comparison and text ---- */

static int special_equal(gemel__domain *d, const void *a, const void *b) {
  (void)d;
  const special_element *s = a, *t = b;
  if (s->state != GEMEL__DEFINED || t->state != GEMEL__DEFINED)
    return -1;
  if (mpfr_nan_p(s->x) || mpfr_nan_p(t->x))
    return mpfr_nan_p(s->x) && mpfr_nan_p(t->x);
  return mpfr_equal_p(s->x, t->x) && !mpfr_signbit(s->x) == !mpfr_signbit(t->x);
}

int gemel__special_is_nan(gemel__domain *d, const void *e) {
  (void)d;
  return mpfr_nan_p(((const special_element *)e)->x) != 0;
}

int gemel__special_is_infinite(gemel__domain *d, const void *e) {
  (void)d;
  return mpfr_inf_p(((const special_element *)e)->x) != 0;
}

int gemel__special_sign_bit(gemel__domain *d, const void *e) {
  (void)d;
  return mpfr_signbit(((const special_element *)e)->x) != 0;
}

int gemel__special_alike(gemel__domain *d, const void *a, const void *b) {
  const special_element *s = a, *t = b;
  mpfr_t apart;
  int alike;
  (void)d;
  if (s->state != GEMEL__DEFINED || t->state != GEMEL__DEFINED)
    return 0;
  if (!mpfr_regular_p(s->x) || !mpfr_regular_p(t->x))
    return mpfr_nan_p(s->x) ? mpfr_nan_p(t->x) != 0 : mpfr_equal_p(s->x, t->x) != 0;
  mpfr_init2(apart, BITS);
  mpfr_sub(apart, s->x, t->x, MPFR_RNDN);
  alike = mpfr_zero_p(apart) || mpfr_get_exp(apart) <= mpfr_get_exp(s->x) - BITS / 2;
  mpfr_clear(apart);
  return alike;
}

double gemel__special_value(gemel__domain *d, const void *e) {
  (void)d;
  return mpfr_get_d(((const special_element *)e)->x, MPFR_RNDN);
}

static int same_sign(const mpfr_t x, double value) {
  return !mpfr_signbit(x) == !signbit(value);
}

/* 1 if VALUE is X, which is the only allowed result. */
static int is_exactly(const gemel__special *s, const mpfr_t x, double value) {
  if (mpfr_nan_p(x) || isnan(value))
    return mpfr_nan_p(x) && isnan(value);
  if (mpfr_zero_p(x))
    return value == 0 && (!s->zero_signs || same_sign(x, value));
  return mpfr_cmp_d(x, value) == 0 && (value != 0);
}

/* The exponent of a unit in the last place of the format at X. */
static mpfr_exp_t unit_of(const mpfr_t x, const gemel__format *f) {
  mpfr_exp_t unit = mpfr_get_exp(x) - f->digits;
  return unit < gemel__format_unit(f) ? gemel__format_unit(f) : unit;
}

/* X moved by ULPS units in the last place of the format, away from zero (OUT) or towards it. */
static void shift(mpfr_t r, const mpfr_t x, const gemel__format *f, double ulps, int out) {
  mpfr_set_d(r, ulps, MPFR_RNDN);
  mpfr_mul_2si(r, r, unit_of(x, f), MPFR_RNDN);
  if ((mpfr_sgn(x) > 0) == out)
    mpfr_add(r, x, r, MPFR_RNDN);
  else
    mpfr_sub(r, x, r, MPFR_RNDN);
}

/* 1 if VALUE lies within ULPS of the regular number X, overflow and underflow taken into account.
 */
static int is_near(const gemel__special *s, const mpfr_t x, const gemel__format *f, double value,
                   double ulps) {
  mpfr_t near, far;
  if (isnan(value) || (value != 0 && !same_sign(x, value)))
    return 0;
  mpfr_init2(near, BITS);
  mpfr_init2(far, BITS);
  shift(near, x, f, ulps, 0);
  shift(far, x, f, ulps, 1);
  int ok;
  if (isinf(value)) {
    round_float(far, f);
    ok = mpfr_inf_p(far) != 0;
  } else if (value == 0) {
    round_float(near, f);
    int crossed = mpfr_zero_p(near) || mpfr_sgn(near) != mpfr_sgn(x);
    ok = crossed && (!s->zero_signs || same_sign(x, value));
  } else {
    int low = mpfr_cmp_d(near, value), high = mpfr_cmp_d(far, value);
    ok = mpfr_sgn(x) > 0 ? low <= 0 && high >= 0 : low >= 0 && high <= 0;
  }
  mpfr_clear(near);
  mpfr_clear(far);
  return ok;
}

int gemel__special_agrees(gemel__domain *d, const void *e, gemel_dtype dtype, double value,
                          double ulps) {
  const gemel__special *s = (const gemel__special *)d;
  const special_element *a = e;
  int is_float = gemel__is_float(dtype), ok;
  if (is_float && ulps > 0.5 && mpfr_regular_p(a->x) &&
      is_near(s, a->x, gemel__dtype_format(dtype), value, ulps))
    return 1;
  mpfr_t t;
  mpfr_init2(t, BITS);
  mpfr_set(t, a->x, MPFR_RNDN);
  store(t, dtype);
  if (is_float)
    ok = is_exactly(s, t, value);
  else
    ok = mpfr_get_d(t, MPFR_RNDN) == value;
  mpfr_clear(t);
  return ok;
}

double gemel__special_ulps(gemel__domain *d, const void *e, gemel_dtype dtype, double value) {
  (void)d;
  const special_element *a = e;
  const gemel__format *f = gemel__dtype_format(dtype);
  double error;
  mpfr_t t;
  if (!gemel__is_float(dtype) || !mpfr_regular_p(a->x) || isnan(value))
    return 0;
  mpfr_init2(t, BITS);
  mpfr_set(t, a->x, MPFR_RNDN);
  round_float(t, f);
  if (mpfr_inf_p(t) && isinf(value) && same_sign(a->x, value)) {
    error = 0;
  } else {
    if (isinf(value))
      mpfr_set_si_2exp(t, value > 0 ? 1 : -1, f->highest + 1, MPFR_RNDN);
    else
      mpfr_set_d(t, value, MPFR_RNDN);
    mpfr_sub(t, t, a->x, MPFR_RNDN);
    mpfr_mul_2si(t, t, -unit_of(a->x, f), MPFR_RNDN);
    error = fabs(mpfr_get_d(t, MPFR_RNDN));
  }
  mpfr_clear(t);
  return error;
}

/* 1 if X is the least or the largest number of an integer dtype. */
static int at_limit(const mpfr_t x, gemel_dtype dtype) {
  int bits = 8 * (int)gemel_dtype_size(dtype);
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  mpfr_t limit;
  mpfr_init2(limit, BITS);
  mpfr_set_si_2exp(limit, is_signed && mpfr_sgn(x) < 0 ? -1 : 1, bits - is_signed, MPFR_RNDN);
  if (mpfr_sgn(x) > 0)
    mpfr_sub_ui(limit, limit, 1, MPFR_RNDN);
  int equal = mpfr_equal_p(x, limit);
  mpfr_clear(limit);
  return equal;
}

static gemel__landmark landmark_of(const mpfr_t x, gemel_dtype dtype) {
  if (mpfr_nan_p(x))
    return GEMEL__MARK_NAN;
  if (mpfr_inf_p(x))
    return GEMEL__MARK_LIMIT;
  if (mpfr_zero_p(x))
    return GEMEL__MARK_ZERO;
  if (mpfr_cmpabs_ui(x, 1) == 0)
    return GEMEL__MARK_ONE;
  if (gemel__is_float(dtype))
    return mpfr_get_exp(x) <= gemel__dtype_format(dtype)->lowest ? GEMEL__MARK_SUBNORMAL
                                                                 : GEMEL__MARK_NORMAL;
  return at_limit(x, dtype) ? GEMEL__MARK_LIMIT : GEMEL__MARK_NORMAL;
}

int gemel__special_landmark(gemel__domain *d, const void *e, gemel_dtype dtype) {
  (void)d;
  const special_element *a = e;
  mpfr_t t;
  mpfr_init2(t, BITS);
  mpfr_set(t, a->x, MPFR_RNDN);
  store(t, dtype);
  gemel__landmark mark = landmark_of(t, dtype);
  int negative = mark != GEMEL__MARK_NAN && mpfr_signbit(t);
  mpfr_clear(t);
  return negative ? -(int)mark : (int)mark;
}

/* 1 if X is an integer of at most 65 bits, to be written with all its digits. */
static int is_long_whole(mpfr_srcptr x) {
  return mpfr_integer_p(x) && !mpfr_zero_p(x) && mpfr_get_exp(x) <= 65;
}

static void format_element(gemel__domain *d, const void *e, char *text, size_t bytes) {
  static const char *const states[] = {"", "undefined", "undecided", "gap"};
  const special_element *a = e;
  if (a->state != GEMEL__DEFINED)
    snprintf(text, bytes, "%s", states[a->state]);
  else if (mpfr_nan_p(a->x))
    snprintf(text, bytes, "nan");
  else
    mpfr_snprintf(text, bytes, is_long_whole(a->x) ? "%.0Rf" : "%.17Rg", a->x);
  (void)d;
}

/* ---- The domain ---- */

static void special_bounds(gemel__domain *d, const void *e, double *low, double *high) {
  *low = *high = gemel__special_value(d, e);
}

static const gemel__domain table = {
    .name = "special",
    .bytes = (sizeof(special_element) + 15) / 16 * 16,
    .init = special_init,
    .clear = special_clear,
    .set = special_set,
    .from_double = special_from_double,
    .from_integer = special_from_integer,
    .from_unsigned = special_from_unsigned,
    .add = special_add,
    .sub = special_sub,
    .mul = special_mul,
    .div = special_div,
    .neg = special_neg,
    .exp = special_exp,
    .log = special_log,
    .sqrt = special_sqrt,
    .apply = special_apply,
    .pow = special_pow,
    .floor = special_floor,
    .sum = special_sum,
    .sign = special_sign,
    .round = special_round,
    .to_integer = special_to_integer,
    .state = special_state,
    .set_state = special_set_state,
    .equal = special_equal,
    .format = format_element,
    .ieee = 1,
    .rounds = 1,
    .fmod = special_fmod,
    .atan2 = special_atan2,
    .polygamma = special_polygamma,
    .bounds = special_bounds,
};

gemel__special *gemel__special_new(void) {
  gemel__special *s = gemel__alloc_zeroed(sizeof *s);
  if (!s)
    return NULL;
  s->domain = table;
  s->zero_signs = 1;
  return s;
}

void gemel__special_free(gemel__special *s) {
  gemel__free(s, sizeof *s);
}
