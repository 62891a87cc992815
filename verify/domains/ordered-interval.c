/* SPDX-License-Identifier: MIT
 *
 * Intervals with outward rounding: see ordered-interval.h. Sums, products, quotients and roots
 * round each endpoint in its direction; signs tell which endpoints a product combines. exp, log and
 * powers, which are monotone, are evaluated by Arb at each endpoint, as a ball whose lower or upper
 * end is taken. The functions of functions.def are evaluated on the whole interval as a ball.
 */
#include "domains/ordered-interval.h"

#include <stdio.h>
#include <stdlib.h>

#define EXPONENT_BITS 80

enum { DOWN = 0, UP = 1 };

static arf_rnd_t direction(int up) {
  return up ? ARF_RND_CEIL : ARF_RND_FLOOR;
}

void gemel__interval_init(gemel__interval *e) {
  arf_init(e->lo);
  arf_init(e->hi);
}

void gemel__interval_clear(gemel__interval *e) {
  arf_clear(e->lo);
  arf_clear(e->hi);
}

void gemel__interval_set(gemel__interval *e, const gemel__interval *a) {
  arf_set(e->lo, a->lo);
  arf_set(e->hi, a->hi);
}

void gemel__interval_set_infinity(gemel__interval *e, int sign) {
  (sign > 0 ? arf_pos_inf : arf_neg_inf)(e->lo);
  arf_set(e->hi, e->lo);
}

void gemel__interval_swap(gemel__interval *a, gemel__interval *b) {
  arf_swap(a->lo, b->lo);
  arf_swap(a->hi, b->hi);
}

/* x = SIGN · 2^(2^|BITS|), or with BITS < 0 its inverse. */
static void set_power(arf_t x, int sign, int bits) {
  fmpz_t exponent;
  fmpz_init(exponent);
  fmpz_set_si(exponent, bits < 0 ? -1 : 1);
  fmpz_mul_2exp(exponent, exponent, (ulong)abs(bits));
  arf_set_si(x, sign);
  arf_mul_2exp_fmpz(x, x, exponent);
  fmpz_clear(exponent);
}

/* Limits an endpoint with an exponent beyond ±2^80. Outward that is infinity or zero; if outward is
 * the other way, it is ±2^±(2^79). */
static void limit_end(arf_t x, int up) {
  if (arf_is_special(x) || fmpz_bits(ARF_EXPREF(x)) <= EXPONENT_BITS)
    return;
  int huge = fmpz_sgn(ARF_EXPREF(x)) > 0, sign = arf_sgn(x), away = up == (sign > 0);
  if (!huge && !away)
    arf_zero(x);
  else if (!(huge && away))
    set_power(x, sign, huge ? EXPONENT_BITS - 1 : 1 - EXPONENT_BITS);
  else if (sign > 0)
    arf_pos_inf(x);
  else
    arf_neg_inf(x);
}

static void limit(gemel__interval *e) {
  limit_end(e->lo, DOWN);
  limit_end(e->hi, UP);
}

void gemel__interval_set_fmpq(gemel__interval *e, const fmpq_t q, slong prec) {
  ulong twos = fmpz_val2(fmpq_denref(q));
  if (fmpz_bits(fmpq_denref(q)) == twos + 1) {
    arf_set_fmpz(e->lo, fmpq_numref(q));
    arf_mul_2exp_si(e->lo, e->lo, -(slong)twos);
    arf_set(e->hi, e->lo);
    return;
  }
  arf_fmpz_div_fmpz(e->lo, fmpq_numref(q), fmpq_denref(q), prec, ARF_RND_FLOOR);
  arf_fmpz_div_fmpz(e->hi, fmpq_numref(q), fmpq_denref(q), prec, ARF_RND_CEIL);
}

int gemel__interval_sign(const gemel__interval *a) {
  if (arf_sgn(a->lo) > 0)
    return 1;
  if (arf_sgn(a->hi) < 0)
    return -1;
  return arf_is_zero(a->lo) && arf_is_zero(a->hi) ? 0 : 2;
}

int gemel__interval_is_point(const gemel__interval *a) {
  return arf_equal(a->lo, a->hi);
}

int gemel__interval_infinity(const gemel__interval *a) {
  return arf_is_pos_inf(a->lo) ? 1 : arf_is_neg_inf(a->hi) ? -1 : 0;
}

int gemel__interval_overlaps(const gemel__interval *a, const gemel__interval *b) {
  return arf_cmp(a->lo, b->hi) <= 0 && arf_cmp(b->lo, a->hi) <= 0;
}

void gemel__interval_neg(gemel__interval *e, const gemel__interval *a) {
  if (e != a)
    gemel__interval_set(e, a);
  arf_swap(e->lo, e->hi);
  arf_neg(e->lo, e->lo);
  arf_neg(e->hi, e->hi);
}

void gemel__interval_abs(gemel__interval *e, const gemel__interval *a) {
  if (arf_sgn(a->lo) >= 0) {
    gemel__interval_set(e, a);
  } else if (arf_sgn(a->hi) <= 0) {
    gemel__interval_neg(e, a);
  } else {
    arf_t lo;
    arf_init(lo);
    arf_neg(lo, a->lo);
    arf_max(e->hi, lo, a->hi);
    arf_zero(e->lo);
    arf_clear(lo);
  }
}

void gemel__interval_add(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                         slong prec) {
  arf_add(e->lo, a->lo, b->lo, prec, ARF_RND_FLOOR);
  arf_add(e->hi, a->hi, b->hi, prec, ARF_RND_CEIL);
  limit(e);
}

void gemel__interval_sub(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                         slong prec) {
  gemel__interval t;
  gemel__interval_init(&t);
  arf_sub(t.lo, a->lo, b->hi, prec, ARF_RND_FLOOR);
  arf_sub(t.hi, a->hi, b->lo, prec, ARF_RND_CEIL);
  gemel__interval_swap(e, &t);
  gemel__interval_clear(&t);
  limit(e);
}

/* x · y with 0 · ∞ = 0: an infinite end stands for numbers of any size, and 0 times these is 0. */
static void mul_end(arf_t z, const arf_t x, const arf_t y, slong prec, int up) {
  if (arf_is_zero(x) || arf_is_zero(y))
    arf_zero(z);
  else
    arf_mul(z, x, y, prec, direction(up));
}

/* The product of two intervals that both hold numbers of both signs. */
static void mul_straddling(gemel__interval *t, const gemel__interval *a, const gemel__interval *b,
                           slong prec) {
  arf_t other;
  arf_init(other);
  mul_end(t->lo, a->lo, b->hi, prec, DOWN);
  mul_end(other, a->hi, b->lo, prec, DOWN);
  arf_min(t->lo, t->lo, other);
  mul_end(t->hi, a->lo, b->lo, prec, UP);
  mul_end(other, a->hi, b->hi, prec, UP);
  arf_max(t->hi, t->hi, other);
  arf_clear(other);
}

void gemel__interval_mul(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                         slong prec) {
  gemel__interval t;
  gemel__interval_init(&t);
  int b_low = arf_sgn(b->lo) >= 0, b_high = arf_sgn(b->hi) >= 0;
  if (arf_sgn(a->lo) >= 0) {
    mul_end(t.lo, b_low ? a->lo : a->hi, b->lo, prec, DOWN);
    mul_end(t.hi, b_high ? a->hi : a->lo, b->hi, prec, UP);
  } else if (arf_sgn(a->hi) <= 0) {
    mul_end(t.lo, b_high ? a->lo : a->hi, b->hi, prec, DOWN);
    mul_end(t.hi, b_low ? a->hi : a->lo, b->lo, prec, UP);
  } else if (b_low) {
    mul_end(t.lo, a->lo, b->hi, prec, DOWN);
    mul_end(t.hi, a->hi, b->hi, prec, UP);
  } else if (arf_sgn(b->hi) <= 0) {
    mul_end(t.lo, a->hi, b->lo, prec, DOWN);
    mul_end(t.hi, a->lo, b->lo, prec, UP);
  } else {
    mul_straddling(&t, a, b, prec);
  }
  gemel__interval_swap(e, &t);
  gemel__interval_clear(&t);
  limit(e);
}

/* a ÷ b for b > 0. */
static void div_positive(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                         slong prec) {
  gemel__interval t;
  gemel__interval_init(&t);
  arf_div(t.lo, a->lo, arf_sgn(a->lo) >= 0 ? b->hi : b->lo, prec, ARF_RND_FLOOR);
  arf_div(t.hi, a->hi, arf_sgn(a->hi) >= 0 ? b->lo : b->hi, prec, ARF_RND_CEIL);
  gemel__interval_swap(e, &t);
  gemel__interval_clear(&t);
  limit(e);
}

void gemel__interval_div(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                         slong prec) {
  if (arf_sgn(b->lo) > 0) {
    div_positive(e, a, b, prec);
    return;
  }
  gemel__interval t;
  gemel__interval_init(&t);
  gemel__interval_neg(&t, b);
  div_positive(e, a, &t, prec);
  gemel__interval_neg(e, e);
  gemel__interval_clear(&t);
}

void gemel__interval_sqrt(gemel__interval *e, const gemel__interval *a, slong prec) {
  arf_sqrt(e->lo, a->lo, prec, ARF_RND_FLOOR);
  arf_sqrt(e->hi, a->hi, prec, ARF_RND_CEIL);
}

/* The end of Arb's ball for a function of one number, in direction UP. */
static void function_end(arf_t z, const arf_t x, gemel__ball_function *function, slong prec,
                         int up) {
  arb_t t;
  arb_init(t);
  arf_set(arb_midref(t), x);
  function(t, t, prec + 8);
  if (up)
    arb_get_ubound_arf(z, t, prec);
  else
    arb_get_lbound_arf(z, t, prec);
  arb_clear(t);
}

/* exp of an endpoint. Beyond ±2^100 the result is past every limit, so any number that is too will
 * do. */
static void exp_end(arf_t z, const arf_t x, slong prec, int up) {
  if (arf_is_neg_inf(x))
    arf_zero(z);
  else if (arf_is_pos_inf(x))
    arf_pos_inf(z);
  else if (arf_cmpabs_2exp_si(x, 100) >= 0)
    set_power(z, 1, arf_sgn(x) * (EXPONENT_BITS + 1));
  else
    function_end(z, x, arb_exp, prec, up);
  if (arf_sgn(z) < 0)
    arf_zero(z);
}

void gemel__interval_exp(gemel__interval *e, const gemel__interval *a, slong prec) {
  exp_end(e->lo, a->lo, prec, DOWN);
  exp_end(e->hi, a->hi, prec, UP);
  limit(e);
}

static void log_end(arf_t z, const arf_t x, slong prec, int up) {
  if (arf_is_zero(x))
    arf_neg_inf(z);
  else if (arf_is_pos_inf(x))
    arf_pos_inf(z);
  else
    function_end(z, x, arb_log, prec, up);
}

void gemel__interval_log(gemel__interval *e, const gemel__interval *a, slong prec) {
  log_end(e->lo, a->lo, prec, DOWN);
  log_end(e->hi, a->hi, prec, UP);
}

int gemel__interval_ball(gemel__interval *e, const gemel__interval *a,
                         gemel__ball_function *function, slong prec) {
  arb_t t;
  arb_init(t);
  arb_set_interval_arf(t, a->lo, a->hi, prec + 8);
  function(t, t, prec + 8);
  int finite = arb_is_finite(t);
  if (finite)
    arb_get_interval_arf(e->lo, e->hi, t, prec);
  arb_clear(t);
  limit(e);
  return finite;
}

/* x^n for n > 0. */
static void pow_end(arf_t z, const arf_t x, const fmpz_t n, slong prec, int up) {
  if (arf_is_special(x)) {
    arf_set(z, x);
    return;
  }
  arb_t t;
  arb_init(t);
  arf_set(arb_midref(t), x);
  arb_pow_fmpz(t, t, n, prec + 8 + (slong)fmpz_bits(n));
  if (up)
    arb_get_ubound_arf(z, t, prec);
  else
    arb_get_lbound_arf(z, t, prec);
  arb_clear(t);
}

void gemel__interval_pow(gemel__interval *e, const gemel__interval *a, const fmpz_t n, slong prec) {
  fmpz_t m;
  gemel__interval t;
  fmpz_init(m);
  gemel__interval_init(&t);
  fmpz_abs(m, n);
  if (fmpz_is_even(m))
    gemel__interval_abs(&t, a);
  else
    gemel__interval_set(&t, a);
  int low = arf_sgn(t.lo), high = arf_sgn(t.hi);
  pow_end(t.lo, t.lo, m, prec, DOWN);
  pow_end(t.hi, t.hi, m, prec, UP);
  if (low >= 0 && arf_sgn(t.lo) < 0)
    arf_zero(t.lo);
  if (high <= 0 && arf_sgn(t.hi) > 0)
    arf_zero(t.hi);
  limit(&t);
  if (fmpz_sgn(n) < 0) {
    gemel__interval one;
    gemel__interval_init(&one);
    arf_one(one.lo);
    arf_one(one.hi);
    if (gemel__interval_sign(&t) == 2) {
      arf_neg_inf(t.lo);
      arf_pos_inf(t.hi);
    } else {
      gemel__interval_div(&t, &one, &t, prec);
    }
    gemel__interval_clear(&one);
  }
  gemel__interval_swap(e, &t);
  gemel__interval_clear(&t);
  fmpz_clear(m);
}

void gemel__interval_floor(gemel__interval *e, const gemel__interval *a) {
  arf_floor(e->lo, a->lo);
  arf_floor(e->hi, a->hi);
}

void gemel__interval_union(gemel__interval *e, const gemel__interval *a, const gemel__interval *b) {
  arf_min(e->lo, a->lo, b->lo);
  arf_max(e->hi, a->hi, b->hi);
}

void gemel__interval_max(gemel__interval *e, const gemel__interval *a, const gemel__interval *b) {
  arf_max(e->lo, a->lo, b->lo);
  arf_max(e->hi, a->hi, b->hi);
}

/* ---- Text ---- */

/* 1 if X is 0, infinite, or a normal number as a double. */
static int fits_double(const arf_t x) {
  return arf_is_special(x) || (arf_cmpabs_2exp_si(x, -1000) > 0 && arf_cmpabs_2exp_si(x, 1000) < 0);
}

void gemel__interval_format(const gemel__interval *a, char *text, size_t bytes) {
  if (fits_double(a->lo) && fits_double(a->hi)) {
    snprintf(text, bytes, "[%.17g, %.17g]", arf_get_d(a->lo, ARF_RND_FLOOR),
             arf_get_d(a->hi, ARF_RND_CEIL));
    return;
  }
  mpfr_t low, high;
  mpfr_init2(low, 64);
  mpfr_init2(high, 64);
  arf_get_mpfr(low, a->lo, MPFR_RNDD);
  arf_get_mpfr(high, a->hi, MPFR_RNDU);
  mpfr_snprintf(text, bytes, "[%.17RDg, %.17RUg]", low, high);
  mpfr_clear(low);
  mpfr_clear(high);
}
