/* SPDX-License-Identifier: MIT
 *
 * Domain B: see bound.h. Both parts of an element are Arb balls. Until something is rounded they
 * are equal, and only one is kept (the flag `same`), which halves the work on inputs and integers.
 * An infinity is a flag for both parts. Overflow, which only the computed part has, makes an
 * element undecided. bound-verdict.c compares computed numbers with the bound.
 */
#include <math.h>
#include <stdio.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "domains/bound-element.h"
#include "domains/functions.h"

/* GCC 12 takes the first member of an array-of-one type for all of it, and then warns of reading
 * beyond. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

#define INTEGER_PRECISION 512
#define MAX_PRECISION 2048

static gemel__bound *self(gemel__domain *d) {
  return (gemel__bound *)d;
}

static slong precision(gemel__domain *d) {
  slong bits = self(d)->precision;
  if (!gemel__is_float(self(d)->dtype) && bits < INTEGER_PRECISION)
    return INTEGER_PRECISION;
  return bits;
}

/* ---- Elements ---- */

static void bound_init(gemel__domain *d, void *e) {
  (void)d;
  gemel__bounded *x = e;
  x->state = GEMEL__DEFINED;
  x->infinite = 0;
  x->same = 1;
  arb_init(x->exact);
  arb_init(x->computed);
}

static void bound_clear(gemel__domain *d, void *e) {
  (void)d;
  gemel__bounded *x = e;
  arb_clear(x->exact);
  arb_clear(x->computed);
}

static void bound_set(gemel__domain *d, void *e, const void *a) {
  (void)d;
  gemel__bounded *x = e;
  const gemel__bounded *y = a;
  if (x == y)
    return;
  x->state = y->state;
  x->infinite = y->infinite;
  x->same = y->same;
  arb_set(x->exact, y->exact);
  if (!y->same)
    arb_set(x->computed, y->computed);
}

static gemel__state bound_state(gemel__domain *d, const void *e) {
  (void)d;
  return ((const gemel__bounded *)e)->state;
}

static void bound_set_state(gemel__domain *d, void *e, gemel__state state) {
  (void)d;
  gemel__bounded *x = e;
  x->state = state;
  if (state != GEMEL__DEFINED) {
    x->infinite = 0;
    x->same = 1;
    arb_zero(x->exact);
  }
}

static void leave_undecided(gemel__domain *d, gemel__bounded *e) {
  self(d)->undecided++;
  bound_set_state(d, e, GEMEL__UNDECIDED);
}

static int both_defined(gemel__domain *d, gemel__bounded *e, const gemel__bounded *a,
                        const gemel__bounded *b) {
  gemel__state state = a->state;
  if (b && b->state > state)
    state = b->state;
  if (state == GEMEL__DEFINED)
    return 1;
  bound_set_state(d, e, state);
  return 0;
}

static int is_usable(const arb_t x) {
  return arb_is_finite(x) && !COEFF_IS_MPZ(*ARF_EXPREF(arb_midref(x))) &&
         !COEFF_IS_MPZ(*MAG_EXPREF(arb_radref(x)));
}

/* Sets the state of E, both parts of which were just computed; numbers of absurd size become
 * UNDECIDED. */
static void settle(gemel__domain *d, gemel__bounded *e, int same) {
  e->state = GEMEL__DEFINED;
  e->infinite = 0;
  e->same = same;
  if (!is_usable(e->exact) || (!same && !is_usable(e->computed)))
    bound_set_state(d, e, GEMEL__UNDECIDED);
}

static void set_integer(gemel__bounded *e, slong x) {
  e->state = GEMEL__DEFINED;
  e->infinite = 0;
  e->same = 1;
  arb_set_si(e->exact, x);
}

static void set_infinity(gemel__bounded *e, int sign) {
  set_integer(e, 0);
  e->infinite = sign;
}

/* −1, 0 or 1 if all of X has that sign. */
static int sign_of(const arb_t x) {
  if (arb_is_positive(x))
    return 1;
  if (arb_is_negative(x))
    return -1;
  return arb_is_zero(x) ? 0 : GEMEL__UNORDERED;
}

/* ---- Conversions ---- */

static void round_float(gemel__domain *d, gemel__bounded *e, gemel_dtype dtype, double ulps);

static void bound_from_double(gemel__domain *d, void *e, double x) {
  gemel__bounded *r = e;
  set_integer(r, 0);
  if (isfinite(x)) {
    arb_set_d(r->exact, x);
    if (self(d)->rounded)
      round_float(d, r, self(d)->dtype, 1);
  } else if (isinf(x))
    set_infinity(r, x > 0 ? 1 : -1);
  else
    bound_set_state(d, e, GEMEL__UNDEFINED);
}

static void bound_from_integer(gemel__domain *d, void *e, int64_t x) {
  (void)d;
  set_integer(e, x);
}

static void bound_from_unsigned(gemel__domain *d, void *e, uint64_t x) {
  (void)d;
  gemel__bounded *r = e;
  set_integer(r, 0);
  arb_set_ui(r->exact, x);
}

static int bound_to_integer(gemel__domain *d, const void *e, int64_t *x) {
  (void)d;
  const gemel__bounded *a = e;
  const arf_struct *m = arb_midref(gemel__bounded_computed(a));
  if (a->state != GEMEL__DEFINED || a->infinite || !arb_is_exact(gemel__bounded_computed(a)) ||
      !arb_is_exact(a->exact) || !arf_is_int(m) || arf_cmpabs_2exp_si(m, 64) >= 0)
    return 0;
  fmpz_t n;
  fmpz_init(n);
  arf_get_fmpz(n, m, ARF_RND_DOWN);
  int fits = fmpz_fits_si(n);
  if (fits)
    *x = fmpz_get_si(n);
  fmpz_clear(n);
  return fits;
}

/* ---- Arithmetic ---- */

typedef void arb_binary(arb_t, const arb_t, const arb_t, slong);
typedef void arb_unary(arb_t, const arb_t, slong);

/* The computed part is done first: E may be A or B, whose exact part may be both parts. */
static void binary(gemel__domain *d, gemel__bounded *e, const gemel__bounded *a,
                   const gemel__bounded *b, arb_binary *function) {
  int same = a->same && b->same;
  slong bits = precision(d);
  if (!same)
    function(e->computed, gemel__bounded_computed(a), gemel__bounded_computed(b), bits);
  function(e->exact, a->exact, b->exact, bits);
  settle(d, e, same);
}

static void unary(gemel__domain *d, gemel__bounded *e, const gemel__bounded *a,
                  arb_unary *function) {
  int same = a->same;
  slong bits = precision(d);
  if (!same)
    function(e->computed, a->computed, bits);
  function(e->exact, a->exact, bits);
  settle(d, e, same);
}

/* The sign that A has both exactly and computed, or GEMEL__UNORDERED. */
static int sure_sign(const gemel__bounded *a) {
  if (a->infinite)
    return a->infinite;
  int sign = sign_of(gemel__bounded_computed(a));
  return sign == sign_of(a->exact) ? sign : GEMEL__UNORDERED;
}

/* E = a + SIGN b if either is infinite: 1, else 0. */
static int add_infinities(gemel__domain *d, gemel__bounded *e, const gemel__bounded *a,
                          const gemel__bounded *b, int sign) {
  int x = a->infinite, y = b->infinite * sign;
  if (x && y && x != y)
    bound_set_state(d, e, GEMEL__UNDEFINED);
  else if (x || y)
    set_infinity(e, x ? x : y);
  return x || y;
}

static void bound_add(gemel__domain *d, void *e, const void *a, const void *b) {
  if (both_defined(d, e, a, b) && !add_infinities(d, e, a, b, 1))
    binary(d, e, a, b, arb_add);
}

static void bound_sub(gemel__domain *d, void *e, const void *a, const void *b) {
  if (both_defined(d, e, a, b) && !add_infinities(d, e, a, b, -1))
    binary(d, e, a, b, arb_sub);
}

static void bound_difference(gemel__domain *d, void *e, const void *a, const void *b) {
  const gemel__bounded *x = a, *y = b;
  if (x->state == GEMEL__DEFINED && y->state == GEMEL__DEFINED && x->infinite &&
      x->infinite == y->infinite)
    set_integer(e, 0);
  else
    bound_sub(d, e, a, b);
}

/* E = ∞ · a, or with SIGN = −1 its negative. */
static void scale_infinity(gemel__domain *d, gemel__bounded *e, const gemel__bounded *a, int sign) {
  int other = sure_sign(a);
  if (other == GEMEL__UNORDERED)
    leave_undecided(d, e);
  else if (other == 0)
    bound_set_state(d, e, GEMEL__UNDEFINED);
  else
    set_infinity(e, sign * other);
}

static void bound_mul(gemel__domain *d, void *e, const void *a, const void *b) {
  const gemel__bounded *x = a, *y = b;
  if (!both_defined(d, e, a, b))
    return;
  if (x->infinite || y->infinite)
    scale_infinity(d, e, x->infinite ? b : a, x->infinite ? x->infinite : y->infinite);
  else
    binary(d, e, a, b, arb_mul);
}

static void bound_div(gemel__domain *d, void *e, const void *a, const void *b) {
  const gemel__bounded *y = b;
  const gemel__bounded *x = a;
  if (!both_defined(d, e, a, b))
    return;
  if (x->infinite && y->infinite)
    bound_set_state(d, e, GEMEL__UNDEFINED);
  else if (y->infinite)
    set_integer(e, 0);
  else if (x->infinite)
    scale_infinity(d, e, y, x->infinite);
  else if (arb_is_zero(gemel__bounded_computed(y)))
    bound_set_state(d, e, GEMEL__UNDEFINED);
  else if (arb_contains_zero(y->exact) || arb_contains_zero(gemel__bounded_computed(y)))
    leave_undecided(d, e);
  else
    binary(d, e, a, b, arb_div);
}

static void bound_neg(gemel__domain *d, void *e, const void *a) {
  bound_set(d, e, a);
  gemel__bounded *x = e;
  x->infinite = -x->infinite;
  arb_neg(x->exact, x->exact);
  if (!x->same)
    arb_neg(x->computed, x->computed);
}

static void bound_exp(gemel__domain *d, void *e, const void *a) {
  const gemel__bounded *x = a;
  if (!both_defined(d, e, a, NULL))
    return;
  if (x->infinite > 0)
    set_infinity(e, 1);
  else if (x->infinite < 0)
    set_integer(e, 0);
  else
    unary(d, e, a, arb_exp);
}

static void bound_log(gemel__domain *d, void *e, const void *a) {
  const gemel__bounded *x = a;
  if (!both_defined(d, e, a, NULL))
    return;
  if (x->infinite > 0)
    set_infinity(e, 1);
  else if (!x->infinite && sure_sign(x) == 0)
    set_infinity(e, -1);
  else if (x->infinite || arb_is_negative(gemel__bounded_computed(x)))
    bound_set_state(d, e, GEMEL__UNDEFINED);
  else if (!arb_is_positive(x->exact) || !arb_is_positive(gemel__bounded_computed(x)))
    leave_undecided(d, e);
  else
    unary(d, e, a, arb_log);
}

static void bound_sqrt(gemel__domain *d, void *e, const void *a) {
  const gemel__bounded *x = a;
  if (!both_defined(d, e, a, NULL))
    return;
  if (x->infinite > 0)
    set_infinity(e, 1);
  else if (x->infinite || arb_is_negative(gemel__bounded_computed(x)))
    bound_set_state(d, e, GEMEL__UNDEFINED);
  else if (!arb_is_nonnegative(x->exact) || !arb_is_nonnegative(gemel__bounded_computed(x)))
    leave_undecided(d, e);
  else
    unary(d, e, a, arb_sqrt);
}

static void bound_apply(gemel__domain *d, void *e, gemel__real_function f, const void *a) {
  const gemel__bounded *x = a;
  if (!both_defined(d, e, a, NULL))
    return;
  if (x->infinite)
    bound_from_double(d, e, gemel__real_limit(f, x->infinite));
  else
    unary(d, e, a, gemel__real_functions[f].ball);
}

/* a^n. */
static void integer_power(gemel__domain *d, gemel__bounded *e, const gemel__bounded *a,
                          const fmpz_t n) {
  if (fmpz_sgn(n) < 0 && arb_is_zero(gemel__bounded_computed(a))) {
    bound_set_state(d, e, GEMEL__UNDEFINED);
  } else if (fmpz_sgn(n) < 0 &&
             (arb_contains_zero(a->exact) || arb_contains_zero(gemel__bounded_computed(a)))) {
    leave_undecided(d, e);
  } else {
    int same = a->same;
    slong bits = precision(d) + (slong)fmpz_bits(n);
    if (!same)
      arb_pow_fmpz(e->computed, a->computed, n, bits);
    arb_pow_fmpz(e->exact, a->exact, n, bits);
    settle(d, e, same);
  }
}

/* 1 and *N if B is exactly an integer that isn't huge. */
static int exact_integer(const gemel__bounded *b, fmpz_t n) {
  const arf_struct *m = arb_midref(b->exact);
  if (!b->same || !arb_is_exact(b->exact) || !arf_is_int(m) || arf_cmpabs_2exp_si(m, 64) >= 0)
    return 0;
  arf_get_fmpz(n, m, ARF_RND_DOWN);
  return 1;
}

/* a^b where b isn't a known integer. */
static void general_power(gemel__domain *d, gemel__bounded *e, const gemel__bounded *a,
                          const gemel__bounded *b) {
  int base = sign_of(gemel__bounded_computed(a)), power = sign_of(gemel__bounded_computed(b));
  int known = b->same && arb_is_exact(b->exact); /* known, and not an integer */
  if (base == 1 && arb_is_positive(a->exact))
    binary(d, e, a, b, arb_pow);
  else if (base == 0 && power == 1)
    set_integer(e, 0);
  else if ((base == -1 && known) || (base == 0 && power == -1))
    bound_set_state(d, e, GEMEL__UNDEFINED);
  else
    leave_undecided(d, e);
}

/* The sign of |a| − 1 for all of A, or GEMEL__UNORDERED. */
static int compare_with_one(const gemel__bounded *a) {
  const arb_struct *parts[] = {a->exact, gemel__bounded_computed(a)};
  int signs[2];
  arb_t t;
  arb_init(t);
  for (int k = 0; k < 2; k++) {
    arb_abs(t, parts[k]);
    arb_sub_ui(t, t, 1, MAX_PRECISION);
    signs[k] = sign_of(t);
  }
  arb_clear(t);
  return a->infinite ? 1 : signs[0] == signs[1] ? signs[0] : GEMEL__UNORDERED;
}

/* a^b where either is infinite, as C's pow has it: an infinite power is even. */
static void infinite_power(gemel__domain *d, gemel__bounded *e, const gemel__bounded *a,
                           const gemel__bounded *b) {
  int64_t n = 0;
  int whole = bound_to_integer(d, b, &n), power = sure_sign(b);
  int size = b->infinite ? compare_with_one(a) : 1, below = a->infinite < 0 && !b->infinite;
  if (size == GEMEL__UNORDERED || power == GEMEL__UNORDERED ||
      (below && !whole && !arb_is_exact(gemel__bounded_computed(b))))
    leave_undecided(d, e);
  else if (size * power == 0)
    set_integer(e, 1);
  else if (size * power < 0)
    set_integer(e, 0);
  else
    set_infinity(e, below && n % 2 != 0 ? -1 : 1);
}

static void bound_pow(gemel__domain *d, void *e, const void *a, const void *b) {
  const gemel__bounded *x = a, *y = b;
  if (!both_defined(d, e, a, b))
    return;
  if ((x->infinite || y->infinite) && !(y->same && arb_is_zero(y->exact) && !y->infinite) &&
      !(x->same && arb_is_one(x->exact) && !x->infinite)) {
    infinite_power(d, e, x, y);
    return;
  }
  fmpz_t n;
  fmpz_init(n);
  if (exact_integer(b, n))
    integer_power(d, e, a, n);
  else
    general_power(d, e, a, b);
  fmpz_clear(n);
}

/* ---- Sums ---- */

/* What sum() gathers of its terms: the sum of the magnitudes, rounded up; of exact terms, the
 * largest 2^k that divides them all. */
typedef struct terms {
  arf_t magnitude;
  int exact;
  slong unit;
} terms;

static void add_term(terms *t, const gemel__bounded *a) {
  const arb_struct *x = gemel__bounded_computed(a);
  const arf_struct *m = arb_midref(x);
  if (arf_sgn(m) >= 0)
    arf_add(t->magnitude, t->magnitude, m, 64, ARF_RND_UP);
  else
    arf_sub(t->magnitude, t->magnitude, m, 64, ARF_RND_UP);
  if (!arb_is_exact(x)) {
    arf_t radius;
    arf_init_set_mag_shallow(radius, arb_radref(x));
    arf_add(t->magnitude, t->magnitude, radius, 64, ARF_RND_UP);
    t->exact = 0;
  } else if (!arf_is_zero(m)) {
    slong unit = ARF_EXP(m) - arf_bits(m);
    if (unit < t->unit)
      t->unit = unit;
  }
}

/* 1 if every partial sum in every order is a number of the format. */
static int sums_exactly(const terms *t, const gemel__format *f) {
  return t->exact && t->unit >= gemel__format_unit(f) &&
         (t->unit == WORD_MAX || arf_cmp_2exp_si(t->magnitude, t->unit + f->digits) <= 0);
}

/* Widens E by γ of N − 1 additions, or as many as are LIKELY to count. 0: there is no bound, as N
 * is too large or a partial sum may overflow. */
static int widen_sum(gemel__bounded *e, size_t n, int likely, const terms *t,
                     const gemel__format *f) {
  double all = (double)(n - 1), most = likely ? fmax(64, sqrt(all)) : all;
  double nu = fmin(all, most) * ldexp(0.5, 1 - f->digits);
  if (nu >= 0.5 || arf_cmp_2exp_si(t->magnitude, f->highest) > 0)
    return 0;
  mag_t error, gamma;
  mag_init(error);
  mag_init(gamma);
  mag_set_d(gamma, nu / (1 - nu) * (1 + 0x1p-50));
  arf_get_mag(error, t->magnitude);
  mag_mul(error, error, gamma);
  if (e->same)
    arb_set(e->computed, e->exact);
  e->same = 0;
  arb_add_error_mag(e->computed, error);
  mag_clear(error);
  mag_clear(gamma);
  return 1;
}

static void bound_sum(gemel__domain *d, void *e, size_t n, const void *const *addends) {
  gemel__bounded sum;
  terms t = {.exact = 1, .unit = WORD_MAX};
  bound_init(d, &sum);
  arf_init(t.magnitude);
  for (size_t i = 0; i < n; i++) {
    bound_add(d, &sum, &sum, addends[i]);
    if (sum.state == GEMEL__DEFINED && !sum.infinite)
      add_term(&t, addends[i]);
  }
  gemel_dtype dtype = self(d)->dtype;
  const gemel__format *f =
      dtype == GEMEL_F64 ? gemel__dtype_format(GEMEL_F64) : gemel__dtype_format(GEMEL_F32);
  if (!self(d)->exact && sum.state == GEMEL__DEFINED && !sum.infinite && n > 1 &&
      gemel__is_float(dtype) && !sums_exactly(&t, f) && !widen_sum(&sum, n, d->likely, &t, f))
    bound_set_state(d, &sum, GEMEL__UNDECIDED);
  arf_clear(t.magnitude);
  bound_set(d, e, &sum);
  bound_clear(d, &sum);
}

/* ---- Decisions ---- */

static int bound_sign(gemel__domain *d, const void *a) {
  const gemel__bounded *x = a;
  if (x->state != GEMEL__DEFINED)
    return GEMEL__UNORDERED;
  int sign = x->infinite ? x->infinite : sign_of(gemel__bounded_computed(x));
  if (sign == 0 && sign_of(x->exact) != 0)
    sign = GEMEL__UNORDERED;
  if (sign == GEMEL__UNORDERED)
    self(d)->undecided++;
  return sign;
}

/* The ends of X, rounded outward. An exact end could have as many bits as the exponents of midpoint
 * and radius are apart, which may be more than there is memory. */
static void get_ends(arf_t low, arf_t high, const arb_t x, slong bits) {
  if (arb_is_exact(x)) {
    arf_set(low, arb_midref(x));
    arf_set(high, arb_midref(x));
  } else {
    arb_get_lbound_arf(low, x, bits);
    arb_get_ubound_arf(high, x, bits);
  }
}

static void bound_floor(gemel__domain *d, void *e, const void *a) {
  gemel__bounded *r = e;
  if (!both_defined(d, e, a, NULL))
    return;
  if (((const gemel__bounded *)a)->infinite) {
    bound_set(d, e, a);
    return;
  }
  arf_t low, high;
  arf_init(low);
  arf_init(high);
  get_ends(low, high, gemel__bounded_computed(a), MAX_PRECISION);
  arf_floor(low, low);
  arf_floor(high, high);
  if (arf_equal(low, high)) {
    arb_set_arf(r->exact, low);
    settle(d, r, 1);
  } else {
    leave_undecided(d, r);
  }
  arf_clear(low);
  arf_clear(high);
}

static void bound_hull(gemel__domain *d, void *e, const void *a, const void *b) {
  const gemel__bounded *x = a, *y = b;
  if (!both_defined(d, e, a, b)) {
    return;
  }
  if (x->infinite != y->infinite) {
    leave_undecided(d, e);
  } else if (x->infinite) {
    bound_set(d, e, a);
  } else {
    binary(d, e, a, b, arb_union);
  }
}

/* ---- Rounding ---- */

/* 1 if X is exactly a number of the format. */
static int is_representable(const arb_t x, const gemel__format *f) {
  const arf_struct *m = arb_midref(x);
  if (!arb_is_exact(x))
    return 0;
  return arf_is_zero(m) ||
         (arf_bits(m) <= f->digits && ARF_EXP(m) - arf_bits(m) >= gemel__format_unit(f));
}

/* 1 if X reaches beyond the largest finite number, 2^overflow − 2^(overflow − precision). */
static int overflows(const arb_t x, const gemel__format *f) {
  mag_t m;
  mag_init(m);
  arb_get_mag(m, x);
  int beyond = mag_cmp_2exp_si(m, f->highest) > 0;
  mag_clear(m);
  if (beyond) {
    arf_t top, largest;
    arf_init(top);
    arf_init(largest);
    arb_get_abs_ubound_arf(top, x, 128);
    arf_set_si_2exp_si(largest, 1, f->digits);
    arf_sub_ui(largest, largest, 1, 64, ARF_RND_DOWN);
    arf_mul_2exp_si(largest, largest, f->highest + 1 - f->digits);
    beyond = arf_cmp(top, largest) > 0;
    arf_clear(top);
    arf_clear(largest);
  }
  return beyond;
}

/* Exponent of the unit in the last place of the format at the largest magnitude of X. */
static slong ulp_exponent(const arb_t x, const gemel__format *f) {
  slong exponent = gemel__format_unit(f) + f->digits;
  if (arb_is_exact(x)) {
    if (!arf_is_zero(arb_midref(x)))
      exponent = ARF_EXP(arb_midref(x));
  } else {
    mag_t m;
    mag_init(m);
    arb_get_mag(m, x);
    exponent = MAG_EXP(m);
    mag_clear(m);
  }
  exponent -= f->digits;
  return exponent < gemel__format_unit(f) ? gemel__format_unit(f) : exponent;
}

static void widen(arb_t x, double ulps, slong unit) {
  mag_t error;
  mag_init(error);
  mag_set_d(error, ulps);
  mag_mul_2exp_si(error, error, unit);
  arb_add_error_mag(x, error);
  mag_clear(error);
}

static void round_float(gemel__domain *d, gemel__bounded *e, gemel_dtype dtype, double ulps) {
  const gemel__format *f = gemel__dtype_format(dtype);
  int correct = ulps < 0 || ulps == 0.5;
  if (ulps != 0 && !(correct && is_representable(gemel__bounded_computed(e), f))) {
    if (e->same)
      arb_set(e->computed, e->exact);
    e->same = 0;
    slong unit = ulp_exponent(e->computed, f);
    slong inner = ulp_exponent(e->computed, gemel__dtype_format(GEMEL_F32));
    widen(e->computed, correct ? 0.5 : ulps, unit);
    widen(e->computed, 0.5, gemel__format_unit(f));
    if (gemel__dtype_format(dtype)->computed_in != dtype)
      widen(e->computed, 0.5, inner);
  }
  if (overflows(gemel__bounded_computed(e), f))
    bound_set_state(d, e, GEMEL__UNDECIDED);
}

static void round_integer(gemel__domain *d, gemel__bounded *e, gemel_dtype dtype) {
  const arf_struct *m = arb_midref(gemel__bounded_computed(e));
  if (e->infinite || !arb_is_exact(e->exact) || !arb_is_exact(gemel__bounded_computed(e)) ||
      !arf_is_int(m) || arf_cmpabs_2exp_si(m, 2 * MAX_PRECISION) >= 0) {
    leave_undecided(d, e);
    return;
  }
  ulong bits = 8 * gemel_dtype_size(dtype);
  fmpz_t n, modulus;
  fmpz_init(n);
  fmpz_init(modulus);
  arf_get_fmpz(n, m, ARF_RND_DOWN);
  fmpz_fdiv_r_2exp(n, n, bits);
  fmpz_one(modulus);
  fmpz_mul_2exp(modulus, modulus, bits);
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED && fmpz_tstbit(n, bits - 1))
    fmpz_sub(n, n, modulus);
  set_integer(e, 0);
  arb_set_fmpz(e->exact, n);
  fmpz_clear(n);
  fmpz_clear(modulus);
}

static void bound_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  gemel__bounded *x = e;
  gemel_kind kind = gemel_dtype_kind(dtype);
  if (kind == GEMEL_KIND_FLOAT)
    self(d)->dtype = dtype = self(d)->in_f64 ? GEMEL_F64 : dtype;
  if (x->state != GEMEL__DEFINED || ((x->infinite || self(d)->exact) && kind == GEMEL_KIND_FLOAT))
    return;
  if (kind == GEMEL_KIND_FLOAT) {
    round_float(d, x, dtype, ulps);
  } else if (kind == GEMEL_KIND_BOOL) {
    int sign = bound_sign(d, x);
    if (sign == GEMEL__UNORDERED)
      bound_set_state(d, e, GEMEL__UNDECIDED);
    else
      set_integer(x, sign != 0);
  } else {
    round_integer(d, x, dtype);
  }
}

/* ---- Products ---- */

/* What product() gathers of its factors. A partial product is the product of some of them. */
typedef struct factors {
  mag_t largest;  /* no partial product is larger */
  mag_t smallest; /* no partial product is smaller, unless it has a factor that is exactly 0 */
  slong unit;     /* exact factors: every partial product is a multiple of 2^unit */
  int exact;
  size_t significant; /* factors that aren't exact powers of two: the others round nothing */
} factors;

static void add_factor(factors *t, const gemel__bounded *a) {
  const arb_struct *x = gemel__bounded_computed(a);
  mag_t m;
  mag_init(m);
  arb_get_mag(m, x);
  if (mag_cmp_2exp_si(m, 0) > 0)
    mag_mul(t->largest, t->largest, m);
  arb_get_mag_lower(m, x);
  if (mag_cmp_2exp_si(m, 0) < 0 && !arb_is_zero(x))
    mag_mul_lower(t->smallest, t->smallest, m);
  mag_clear(m);
  slong bits = arf_bits(arb_midref(x));
  t->exact &= arb_is_exact(x);
  t->significant += !arb_is_exact(x) || bits > 1;
  if (arb_is_exact(x) && bits > 0 && ARF_EXP(arb_midref(x)) < bits)
    t->unit += ARF_EXP(arb_midref(x)) - bits;
}

/* 1 if no partial product in any order is rounded, or the product X is 0. The odd part of a partial
 * product divides that of X. */
static int multiplies_exactly(const factors *t, const arb_t x, const gemel__format *f) {
  return arb_is_zero(x) || (t->exact && arb_is_exact(x) && arf_bits(arb_midref(x)) <= f->digits &&
                            t->unit >= gemel__format_unit(f));
}

/* Widens E by what may be lost before the last of N − 1 multiplications: γ of the roundings and,
 * where partial products may be subnormal, half the smallest number for each multiplication times
 * what may multiply it later. 0: γ doesn't exist. */
static int widen_product(gemel__bounded *e, size_t n, const factors *t, const gemel__format *f) {
  size_t roundings = t->significant > 2 ? t->significant - 2 : 0;
  double nu = (double)roundings * ldexp(0.5, 1 - f->digits);
  if (nu >= 0.5)
    return 0;
  mag_t error, gamma;
  mag_init(error);
  mag_init(gamma);
  mag_set_d(gamma, nu / (1 - nu) * (1 + 0x1p-50));
  if (e->same)
    arb_set(e->computed, e->exact);
  e->same = 0;
  arb_get_mag(error, e->computed);
  mag_mul(error, error, gamma);
  arb_add_error_mag(e->computed, error);
  if (mag_cmp_2exp_si(t->smallest, gemel__format_unit(f) + f->digits) < 0) {
    mag_mul_ui(error, t->largest, n - 1);
    mag_mul_2exp_si(error, error,
                    gemel__format_unit(f)); /* half the smallest number, doubled for γ, as 1 + γ <
                                             * 2 */
    arb_add_error_mag(e->computed, error);
  }
  mag_clear(error);
  mag_clear(gamma);
  return 1;
}

/* Rounds E as the product of these factors. */
static void round_product(gemel__domain *d, gemel__bounded *e, size_t n, const factors *t) {
  gemel_dtype dtype = self(d)->dtype == GEMEL_F64 ? GEMEL_F64 : GEMEL_F32;
  const gemel__format *f = gemel__dtype_format(dtype);
  if (mag_cmp_2exp_si(t->largest, f->highest) > 0)
    bound_set_state(d, e, GEMEL__UNDECIDED);
  else if (!multiplies_exactly(t, gemel__bounded_computed(e), f) && !widen_product(e, n, t, f))
    bound_set_state(d, e, GEMEL__UNDECIDED);
  else if (t->significant > 1)
    round_float(d, e, dtype, 0.5);
}

static void bound_product(gemel__domain *d, void *e, size_t n, const void *const *members) {
  gemel__bounded product;
  factors t = {.exact = 1};
  bound_init(d, &product);
  set_integer(&product, 1);
  mag_init(t.largest);
  mag_init(t.smallest);
  mag_one(t.largest);
  mag_one(t.smallest);
  for (size_t i = 0; i < n; i++) {
    bound_mul(d, &product, &product, members[i]);
    if (product.state == GEMEL__DEFINED && !product.infinite)
      add_factor(&t, members[i]);
  }
  if (product.state == GEMEL__DEFINED && !product.infinite && n > 1 &&
      gemel__is_float(self(d)->dtype))
    round_product(d, &product, n, &t);
  mag_clear(t.largest);
  mag_clear(t.smallest);
  bound_set(d, e, &product);
  bound_clear(d, &product);
}

/* ---- Comparison, verdicts, text ---- */

static int bound_equal(gemel__domain *d, const void *a, const void *b) {
  (void)d;
  const gemel__bounded *x = a, *y = b;
  if (x->state != GEMEL__DEFINED || y->state != GEMEL__DEFINED)
    return -1;
  if (x->infinite || y->infinite)
    return x->infinite == y->infinite;
  if (!arb_overlaps(gemel__bounded_computed(x), gemel__bounded_computed(y)))
    return 0;
  return x->same && y->same && arb_is_exact(x->exact) && arb_is_exact(y->exact) ? 1 : -1;
}

/* Integers are written with all digits, more than a double has. */
static void format_element(gemel__domain *d, const void *e, char *text, size_t bytes) {
  static const char *const states[] = {"", "undefined", "undecided", "gap"};
  const gemel__bounded *x = e;
  fmpz_t n;
  fmpz_init(n);
  if (x->state != GEMEL__DEFINED) {
    snprintf(text, bytes, "%s", states[x->state]);
  } else if (x->infinite) {
    snprintf(text, bytes, "%s", x->infinite > 0 ? "inf" : "-inf");
  } else if (exact_integer(x, n)) {
    char *digits = fmpz_get_str(NULL, 10, n);
    snprintf(text, bytes, "%s", digits);
    flint_free(digits);
  } else {
    snprintf(text, bytes, "%.17g ± %.3g", gemel__bound_value(d, e), gemel__bound_radius(d, e));
  }
  fmpz_clear(n);
}

/* ---- The domain ---- */

static void bound_work_in(gemel__domain *d, gemel_dtype dtype) {
  self(d)->dtype = self(d)->in_f64 && gemel__is_float(dtype) ? GEMEL_F64 : dtype;
}

static void bound_bounds(gemel__domain *d, const void *e, double *low, double *high) {
  double value = gemel__bound_value(d, e), radius = gemel__bound_radius(d, e);
  *low = value - radius;
  *high = value + radius;
}

static const gemel__domain table = {
    .name = "bound",
    .bytes = (sizeof(gemel__bounded) + 15) / 16 * 16,
    .init = bound_init,
    .clear = bound_clear,
    .set = bound_set,
    .from_double = bound_from_double,
    .from_integer = bound_from_integer,
    .from_unsigned = bound_from_unsigned,
    .add = bound_add,
    .sub = bound_sub,
    .mul = bound_mul,
    .div = bound_div,
    .neg = bound_neg,
    .difference = bound_difference,
    .exp = bound_exp,
    .log = bound_log,
    .sqrt = bound_sqrt,
    .apply = bound_apply,
    .pow = bound_pow,
    .floor = bound_floor,
    .sum = bound_sum,
    .product = bound_product,
    .sign = bound_sign,
    .hull = bound_hull,
    .between = bound_hull,
    .round = bound_round,
    .to_integer = bound_to_integer,
    .state = bound_state,
    .set_state = bound_set_state,
    .equal = bound_equal,
    .format = format_element,
    .rounds = 1,
    .work_in = bound_work_in,
    .bounds = bound_bounds,
};

gemel__bound *gemel__bound_new(long bits) {
  gemel__bound *b = gemel__alloc_zeroed(sizeof *b);
  if (!b)
    return NULL;
  b->domain = table;
  b->precision = bits < 128 ? 128 : bits > MAX_PRECISION ? MAX_PRECISION : bits;
  b->dtype = GEMEL_F32;
  return b;
}

void gemel__bound_free(gemel__bound *b) {
  gemel__free(b, sizeof *b);
}
