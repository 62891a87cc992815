/* SPDX-License-Identifier: MIT
 *
 * The table of functions, made of functions.def.
 */
#include "domains/functions.h"

/* ---- What Arb and MPFR have in other forms, or not ---- */

/* Below 0 by log(pi / |sin(pi x)|) - lgamma(1 - x). */
static void ball_lgamma(arb_t y, const arb_t x, slong precision) {
  arb_t t, u;
  if (!arb_is_negative(x)) {
    arb_lgamma(y, x, precision);
    return;
  }
  arb_init(t);
  arb_init(u);
  arb_sin_pi(t, x, precision);
  arb_abs(t, t);
  arb_const_pi(u, precision);
  arb_div(t, u, t, precision);
  arb_log(t, t, precision);
  arb_sub_ui(u, x, 1, precision);
  arb_neg(u, u);
  arb_lgamma(u, u, precision);
  arb_sub(y, t, u, precision);
  arb_clear(t);
  arb_clear(u);
}

static int number_lgamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding) {
  int sign;
  return mpfr_lgamma(y, &sign, x, rounding);
}

/* The derivative of this ORDER of digamma at X, from the series in h of digamma(x + h). */
static void polygamma_series(arb_t y, ulong order, const arb_t x, slong precision) {
  slong length = (slong)order + 1;
  arb_ptr from = _arb_vec_init(2), series = _arb_vec_init(length);
  arb_set(from, x);
  arb_one(from + 1);
  _arb_poly_digamma_series(series, from, 2, length, precision + 32);
  arb_set(y, series + order);
  for (ulong k = 2; k <= order; k++) {
    arb_mul_ui(y, y, k, precision);
  }
  _arb_vec_clear(from, 2);
  _arb_vec_clear(series, length);
}

/* Above 0 it rises or falls throughout, so what it is at both ends encloses the rest. */
static void ball_polygamma(arb_t y, ulong order, const arb_t x, slong precision) {
  arb_t low, high;
  if (arb_is_exact(x) || !arb_is_positive(x)) {
    polygamma_series(y, order, x, precision);
    return;
  }
  arb_init(low);
  arb_init(high);
  arb_get_lbound_arf(arb_midref(low), x, precision + 32);
  arb_get_ubound_arf(arb_midref(high), x, precision + 32);
  polygamma_series(low, order, low, precision);
  polygamma_series(high, order, high, precision);
  arb_union(y, low, high, precision);
  arb_clear(low);
  arb_clear(high);
}

/* Y = BALL at X, computed to many more digits; of ORDER, if it asks for one. */
static int middle(mpfr_t y, void (*ball)(arb_t y, ulong order, const arb_t x, slong precision),
                  ulong order, const mpfr_t x, mpfr_rnd_t rounding) {
  slong wanted = (slong)mpfr_get_prec(y) + 50, precision = wanted + 50;
  arb_t t, at;
  int ternary;
  arb_init(t);
  arb_init(at);
  arf_set_mpfr(arb_midref(at), x);
  do {
    ball(t, order, at, precision);
    precision *= 2;
  } while (arb_rel_accuracy_bits(t) < wanted && precision < 100 * wanted);
  ternary = arf_get_mpfr(y, arb_midref(t), rounding);
  arb_clear(t);
  arb_clear(at);
  return ternary;
}

static void ball_erfinv(arb_t y, ulong order, const arb_t x, slong precision) {
  (void)order;
  arb_hypgeom_erfinv(y, x, precision);
}

static int number_erfinv(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding) {
  int order = mpfr_nan_p(x) ? 1 : mpfr_cmpabs_ui(x, 1), sign = mpfr_signbit(x) ? -1 : 1;
  if (order > 0) {
    mpfr_set_nan(y);
  } else if (order == 0) {
    mpfr_set_inf(y, sign);
  } else if (mpfr_zero_p(x)) {
    mpfr_set_zero(y, sign);
  } else {
    return middle(y, ball_erfinv, 0, x, rounding);
  }
  return 0;
}

/* The sign of a derivative is (-1)^(order + 1) above 0; at a pole it goes to infinity on both sides
 * for an odd order, and 0 has a side. */
int gemel__number_polygamma(mpfr_t y, unsigned long order, const mpfr_t x, mpfr_rnd_t rounding) {
  int odd = order % 2 != 0, above = odd ? 1 : -1;
  if (order == 0) {
    return mpfr_digamma(y, x, rounding);
  }
  if (mpfr_nan_p(x) || (mpfr_inf_p(x) && mpfr_sgn(x) < 0)) {
    mpfr_set_nan(y);
  } else if (mpfr_inf_p(x)) {
    mpfr_set_zero(y, above);
  } else if (mpfr_zero_p(x)) {
    mpfr_set_inf(y, odd || !mpfr_signbit(x) ? above : -above);
  } else if (mpfr_sgn(x) < 0 && mpfr_integer_p(x)) {
    odd ? mpfr_set_inf(y, 1) : mpfr_set_nan(y);
  } else {
    return middle(y, ball_polygamma, order, x, rounding);
  }
  return 0;
}

#define POLYGAMMA(order)                                                                           \
  static void ball_polygamma_##order(arb_t y, const arb_t x, slong precision) {                    \
    ball_polygamma(y, order, x, precision);                                                        \
  }                                                                                                \
  static int number_polygamma_##order(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding) {             \
    return gemel__number_polygamma(y, order, x, rounding);                                         \
  }
POLYGAMMA(0)
POLYGAMMA(1)
POLYGAMMA(2)
POLYGAMMA(3)
POLYGAMMA(4)
POLYGAMMA(5)
POLYGAMMA(6)

/* ---- The table ---- */

#define APPLY(word) b->apply(b, e, GEMEL__REAL_##word, x)
#define FUNCTION(word, name, ball, number, derivative)                                             \
  static void derivative_##word(gemel__domain *b, void *e, const void *x, const void *one,         \
                                void *t) {                                                         \
    (void)x, (void)one, (void)t;                                                                   \
    derivative;                                                                                    \
  }
#include "domains/functions.def"
#undef FUNCTION

const gemel__real_row gemel__real_functions[GEMEL__REAL_COUNT] = {
#define FUNCTION(word, name, ball, number, derivative) {name, ball, number, derivative_##word},
#include "domains/functions.def"
#undef FUNCTION
};

double gemel__real_limit(gemel__real_function f, int sign) {
  mpfr_t x;
  mpfr_init2(x, 53);
  mpfr_set_inf(x, sign);
  gemel__real_functions[f].number(x, x, MPFR_RNDN);
  double limit = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clear(x);
  return limit;
}

void gemel__domains_cleanup(void) {
  flint_cleanup();
  mpfr_free_cache();
}
