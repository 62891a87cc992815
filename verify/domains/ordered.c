/* SPDX-License-Identifier: MIT
 *
 * Domain O: see ordered.h. An element is a rational (FLINT's fmpq) while it can be, else an
 * interval. An infinity is the interval with both ends equal to it. An interval with one infinite
 * end also says whether that end is included, which happens where a number and an infinity are
 * covered. Each operation first handles states, then tries exact arithmetic, which declines if
 * operands are intervals or the result would be too large, and then uses intervals. A result whose
 * two endpoints are equal becomes a rational again.
 */
#include "domains/ordered.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "domains/functions.h"
#include "domains/ordered-interval.h"

/* GCC 12 takes the first member of an array-of-one type for all of it, and then warns of reading
 * beyond. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

typedef struct ordered {
  gemel__state state;
  int exact; /* the value is in q, else in interval */
  int reach; /* REACH_LOW, REACH_HIGH: the interval includes that infinite end */
  fmpq_t q;
  gemel__interval interval;
} ordered;

enum { REACH_LOW = 1, REACH_HIGH = 2 };

static gemel__ordered *self(gemel__domain *d) {
  return (gemel__ordered *)d;
}

/* ---- Elements ---- */

static void ordered_init(gemel__domain *d, void *e) {
  (void)d;
  ordered *x = e;
  x->state = GEMEL__DEFINED;
  x->exact = 1;
  x->reach = 0;
  fmpq_init(x->q);
  gemel__interval_init(&x->interval);
}

static void ordered_clear(gemel__domain *d, void *e) {
  (void)d;
  ordered *x = e;
  fmpq_clear(x->q);
  gemel__interval_clear(&x->interval);
}

static void ordered_set(gemel__domain *d, void *e, const void *a) {
  (void)d;
  ordered *x = e;
  const ordered *y = a;
  if (x == y)
    return;
  x->state = y->state;
  x->exact = y->exact;
  x->reach = y->reach;
  if (y->exact)
    fmpq_set(x->q, y->q);
  else
    gemel__interval_set(&x->interval, &y->interval);
}

static gemel__state ordered_state(gemel__domain *d, const void *e) {
  (void)d;
  return ((const ordered *)e)->state;
}

static void ordered_set_state(gemel__domain *d, void *e, gemel__state state) {
  (void)d;
  ordered *x = e;
  x->state = state;
  if (state != GEMEL__DEFINED && !x->exact) {
    x->exact = 1;
    fmpq_zero(x->q);
  }
}

/* Makes E UNDECIDED and counts it. */
static void leave_undecided(gemel__domain *d, ordered *e) {
  self(d)->undecided++;
  ordered_set_state(d, e, GEMEL__UNDECIDED);
}

static void set_small(ordered *e, slong x) {
  e->state = GEMEL__DEFINED;
  e->exact = 1;
  fmpq_set_si(e->q, x, 1);
}

static int is_number(const ordered *e, slong x) {
  return e->exact && fmpz_is_one(fmpq_denref(e->q)) && fmpz_equal_si(fmpq_numref(e->q), x);
}

static slong size_of(const fmpq_t q) {
  return (slong)fmpz_bits(fmpq_numref(q)) + (slong)fmpz_bits(fmpq_denref(q));
}

/* Finishes E, whose exact value is in q: if it is too large it becomes an interval. */
static void settle_exact(gemel__domain *d, ordered *e) {
  e->state = GEMEL__DEFINED;
  e->exact = 1;
  if (size_of(e->q) > GEMEL__ORDERED_BITS) {
    gemel__interval_set_fmpq(&e->interval, e->q, self(d)->precision);
    e->exact = 0;
    fmpq_zero(e->q);
  }
}

/* Finishes E, whose value is an interval: a single number of reasonable size becomes exact.
 * REACHES: an operand includes an infinite end, so the result may include one. */
static void settle_interval(ordered *e, int reaches) {
  int low = arf_is_neg_inf(e->interval.lo) ? REACH_LOW : 0;
  e->state = GEMEL__DEFINED;
  e->exact = 0;
  e->reach = reaches ? low | (arf_is_pos_inf(e->interval.hi) ? REACH_HIGH : 0) : 0;
  const arf_struct *x = e->interval.lo;
  if (arf_is_special(x) ? !arf_is_zero(x)
                        : COEFF_IS_MPZ(*ARF_EXPREF(x)) ||
                              labs(*ARF_EXPREF(x)) + arf_bits(x) > GEMEL__ORDERED_BITS / 2)
    return;
  if (gemel__interval_is_point(&e->interval)) {
    arf_get_fmpq(e->q, x);
    e->exact = 1;
  }
}

static int reach_of(const ordered *a) {
  return a->exact ? 0 : a->reach;
}

/* −1 or 1 if A, which has a value, is that infinity; else 0. */
static int infinity_of(const ordered *a) {
  return a->exact ? 0 : gemel__interval_infinity(&a->interval);
}

static void set_infinity(ordered *e, int sign) {
  gemel__interval_set_infinity(&e->interval, sign);
  settle_interval(e, 1);
}

/* A's interval: its own, or that of its rational, made in *TEMP. */
static const gemel__interval *interval_of(gemel__domain *d, const ordered *a,
                                          gemel__interval *temp) {
  if (!a->exact)
    return &a->interval;
  gemel__interval_set_fmpq(temp, a->q, self(d)->precision);
  return temp;
}

/* 1 if both are defined; else E gets the worse state. B may be NULL. */
static int both_defined(gemel__domain *d, ordered *e, const ordered *a, const ordered *b) {
  gemel__state state = a->state;
  if (b && b->state > state)
    state = b->state;
  if (state == GEMEL__DEFINED)
    return 1;
  ordered_set_state(d, e, state);
  return 0;
}

/* ---- Conversions ---- */

static void ordered_from_double(gemel__domain *d, void *e, double x) {
  ordered *r = e;
  set_small(r, 0);
  if (isnan(x)) {
    ordered_set_state(d, e, GEMEL__UNDEFINED);
    return;
  }
  if (isinf(x)) {
    set_infinity(r, x > 0 ? 1 : -1);
    return;
  }
  int exponent;
  double mantissa = frexp(x, &exponent);
  fmpz_set_si(fmpq_numref(r->q), (slong)ldexp(mantissa, 53));
  exponent -= 53;
  if (exponent >= 0)
    fmpz_mul_2exp(fmpq_numref(r->q), fmpq_numref(r->q), (ulong)exponent);
  else
    fmpq_div_2exp(r->q, r->q, (flint_bitcnt_t)-exponent);
}

static void ordered_from_integer(gemel__domain *d, void *e, int64_t x) {
  (void)d;
  set_small(e, x);
}

static void ordered_from_unsigned(gemel__domain *d, void *e, uint64_t x) {
  (void)d;
  ordered *r = e;
  set_small(r, 0);
  fmpz_set_ui(fmpq_numref(r->q), x);
}

static int ordered_to_integer(gemel__domain *d, const void *e, int64_t *x) {
  (void)d;
  const ordered *a = e;
  if (a->state != GEMEL__DEFINED || !a->exact || !fmpz_is_one(fmpq_denref(a->q)) ||
      !fmpz_fits_si(fmpq_numref(a->q)))
    return 0;
  *x = fmpz_get_si(fmpq_numref(a->q));
  return 1;
}

/* ---- Arithmetic ---- */

typedef void exact_function(fmpq_t, const fmpq_t, const fmpq_t);
typedef void interval_function(gemel__interval *, const gemel__interval *, const gemel__interval *,
                               slong);

static void by_intervals(gemel__domain *d, ordered *e, const ordered *a, const ordered *b,
                         interval_function *function) {
  gemel__interval s, t;
  int reach = reach_of(a) | reach_of(b);
  gemel__interval_init(&s);
  gemel__interval_init(&t);
  function(&e->interval, interval_of(d, a, &s), interval_of(d, b, &t), self(d)->precision);
  settle_interval(e, reach);
  gemel__interval_clear(&s);
  gemel__interval_clear(&t);
}

static void arithmetic(gemel__domain *d, ordered *e, const ordered *a, const ordered *b,
                       exact_function *exact, interval_function *function) {
  if (a->exact && b->exact && size_of(a->q) + size_of(b->q) <= 4 * GEMEL__ORDERED_BITS) {
    exact(e->q, a->q, b->q);
    settle_exact(d, e);
  } else {
    by_intervals(d, e, a, b, function);
  }
}

/* E = a + SIGN b if either is infinite: 1, else 0. */
static int add_infinities(gemel__domain *d, ordered *e, const ordered *a, const ordered *b,
                          int sign) {
  int x = infinity_of(a), y = infinity_of(b) * sign;
  if (x && y && x != y)
    ordered_set_state(d, e, GEMEL__UNDEFINED);
  else if (x || y)
    set_infinity(e, x ? x : y);
  return x || y;
}

static void ordered_add(gemel__domain *d, void *e, const void *a, const void *b) {
  if (!both_defined(d, e, a, b) || add_infinities(d, e, a, b, 1))
    return;
  if (is_number(a, 0))
    ordered_set(d, e, b);
  else if (is_number(b, 0))
    ordered_set(d, e, a);
  else
    arithmetic(d, e, a, b, fmpq_add, gemel__interval_add);
}

static void ordered_neg(gemel__domain *d, void *e, const void *a) {
  ordered_set(d, e, a);
  ordered *x = e;
  if (x->exact) {
    fmpq_neg(x->q, x->q);
  } else {
    gemel__interval_neg(&x->interval, &x->interval);
    settle_interval(x, x->reach);
  }
}

static void ordered_sub(gemel__domain *d, void *e, const void *a, const void *b) {
  if (!both_defined(d, e, a, b) || add_infinities(d, e, a, b, -1))
    return;
  if (a == b)
    set_small(e, 0);
  else if (is_number(a, 0))
    ordered_neg(d, e, b);
  else if (is_number(b, 0))
    ordered_set(d, e, a);
  else
    arithmetic(d, e, a, b, fmpq_sub, gemel__interval_sub);
}

/* Sets E to the interval from 0 to the infinity of this SIGN, included. */
static void zero_or_infinity(ordered *e, int sign) {
  gemel__interval_set_infinity(&e->interval, sign);
  arf_zero(sign > 0 ? e->interval.lo : e->interval.hi);
  settle_interval(e, 1);
}

static void ordered_difference(gemel__domain *d, void *e, const void *a, const void *b) {
  if (!both_defined(d, e, a, b))
    return;
  int x = infinity_of(a), y = infinity_of(b);
  if (x && x == y)
    set_small(e, 0);
  else if (x && !y && reach_of(b) & (x > 0 ? REACH_HIGH : REACH_LOW))
    zero_or_infinity(e, x);
  else if (y && !x && reach_of(a) & (y > 0 ? REACH_HIGH : REACH_LOW))
    zero_or_infinity(e, -y);
  else
    ordered_sub(d, e, a, b);
}

static void square_interval(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                            slong prec) {
  (void)b;
  fmpz_t two;
  fmpz_init_set_ui(two, 2);
  gemel__interval_pow(e, a, two, prec);
  fmpz_clear(two);
}

static int sign_of(const ordered *a) {
  return a->exact ? fmpq_sgn(a->q) : gemel__interval_sign(&a->interval);
}

/* E = ∞ · a, or with SIGN = −1 its negative. In interval evaluation the 0 in A is ignored, as 0 · ∞
 * has no value. */
static void scale_infinity(gemel__domain *d, ordered *e, const ordered *a, int sign) {
  int other = sign_of(a);
  if (other == 0) {
    ordered_set_state(d, e, GEMEL__UNDEFINED);
  } else if (other != 2) {
    set_infinity(e, sign * other);
  } else if (!d->hull) {
    leave_undecided(d, e);
  } else if (arf_sgn(a->interval.lo) >= 0 || arf_sgn(a->interval.hi) <= 0) {
    set_infinity(e, arf_sgn(a->interval.lo) >= 0 ? sign : -sign);
  } else {
    arf_neg_inf(e->interval.lo);
    arf_pos_inf(e->interval.hi);
    settle_interval(e, 1);
  }
}

static void ordered_mul(gemel__domain *d, void *e, const void *a, const void *b) {
  if (!both_defined(d, e, a, b))
    return;
  int x = infinity_of(a), y = infinity_of(b);
  if (x || y)
    scale_infinity(d, e, x ? b : a, x ? x : y);
  else if (is_number(a, 0) || is_number(b, 0))
    set_small(e, 0);
  else
    arithmetic(d, e, a, b, fmpq_mul, a == b ? square_interval : gemel__interval_mul);
}

static void ordered_div(gemel__domain *d, void *e, const void *a, const void *b) {
  if (self(d)->watch && self(d)->divisors)
    self(d)->watch(self(d)->watcher, d, b);
  if (!both_defined(d, e, a, b))
    return;
  int sign = sign_of(b), x = infinity_of(a), y = infinity_of(b);
  if (sign == 0 || (x && y))
    ordered_set_state(d, e, GEMEL__UNDEFINED);
  else if (sign == 2)
    leave_undecided(d, e);
  else if (x)
    set_infinity(e, x * sign);
  else if (y)
    set_small(e, 0);
  else if (a == b)
    set_small(e, 1);
  else if (is_number(a, 0))
    set_small(e, 0);
  else
    arithmetic(d, e, a, b, fmpq_div, gemel__interval_div);
}

static void ordered_sum(gemel__domain *d, void *e, size_t n, const void *const *addends) {
  ordered sum;
  ordered_init(d, &sum);
  for (size_t i = 0; i < n; i++)
    ordered_add(d, &sum, &sum, addends[i]);
  ordered_set(d, e, &sum);
  ordered_clear(d, &sum);
}

/* ---- Functions ---- */

static void apply(gemel__domain *d, ordered *e, const ordered *a,
                  void (*function)(gemel__interval *, const gemel__interval *, slong)) {
  gemel__interval t;
  int reach = reach_of(a);
  gemel__interval_init(&t);
  function(&e->interval, interval_of(d, a, &t), self(d)->precision);
  settle_interval(e, reach);
  gemel__interval_clear(&t);
}

static void ordered_exp(gemel__domain *d, void *e, const void *a) {
  if (!both_defined(d, e, a, NULL))
    return;
  if (is_number(a, 0))
    set_small(e, 1);
  else
    apply(d, e, a, gemel__interval_exp);
}

static void ordered_apply(gemel__domain *d, void *e, gemel__real_function f, const void *a) {
  if (!both_defined(d, e, a, NULL))
    return;
  ordered *r = e;
  gemel__interval t;
  int infinity = infinity_of(a), reach = reach_of(a);
  gemel__interval_init(&t);
  if (infinity)
    ordered_from_double(d, e, gemel__real_limit(f, infinity));
  else if (gemel__interval_ball(&r->interval, interval_of(d, a, &t), gemel__real_functions[f].ball,
                                self(d)->precision))
    settle_interval(r, reach);
  else
    leave_undecided(d, r);
  gemel__interval_clear(&t);
}

/* For functions defined on A ≥ 0: 1 if A is inside, else E gets its state. */
static int inside_positive(gemel__domain *d, ordered *e, const ordered *a) {
  int sign = sign_of(a);
  if (sign == 1 || sign == 0 || (sign == 2 && arf_sgn(a->interval.lo) >= 0))
    return 1;
  if (sign != 2)
    ordered_set_state(d, e, GEMEL__UNDEFINED);
  else
    leave_undecided(d, e);
  return 0;
}

/* If it is undecided whether A is 0, only interval evaluation has an element for log A. */
static void ordered_log(gemel__domain *d, void *e, const void *a) {
  if (!both_defined(d, e, a, NULL) || !inside_positive(d, e, a))
    return;
  ordered *r = e;
  int sign = sign_of(a);
  if (is_number(a, 1)) {
    set_small(e, 0);
  } else if (sign == 0 && self(d)->finite) {
    ordered_set_state(d, e, GEMEL__UNDEFINED);
  } else if (sign == 2 && !d->hull) {
    leave_undecided(d, e);
  } else {
    apply(d, e, a, gemel__interval_log);
    r->reach |= sign == 0 || sign == 2 ? REACH_LOW : 0;
  }
}

/* E = the K-th root of A ≥ 0, if both are rational: 1. Else 0, and E is left alone. */
static int exact_root(ordered *e, const ordered *a, slong k) {
  if (!a->exact)
    return 0;
  fmpq_t root;
  fmpq_init(root);
  int exact = fmpz_root(fmpq_numref(root), fmpq_numref(a->q), k) &&
              fmpz_root(fmpq_denref(root), fmpq_denref(a->q), k);
  if (exact) {
    fmpq_set(e->q, root);
    e->state = GEMEL__DEFINED;
    e->exact = 1;
  }
  fmpq_clear(root);
  return exact;
}

static void ordered_sqrt(gemel__domain *d, void *e, const void *a) {
  if (!both_defined(d, e, a, NULL) || !inside_positive(d, e, a))
    return;
  if (!exact_root(e, a, 2))
    apply(d, e, a, gemel__interval_sqrt);
}

/* 1 if a to the integer N is a rational of reasonable size. */
static int is_small_power(const ordered *a, const fmpz_t n) {
  return a->exact && fmpz_bits(n) < 32 && /* excludes the least word, which has no absolute value */
         labs(fmpz_get_si(n)) <= 2 * GEMEL__ORDERED_BITS / size_of(a->q);
}

/* a to the integer n, which is neither 0 nor 1. */
static void integer_power(gemel__domain *d, ordered *e, const ordered *a, const fmpz_t n) {
  int sign = sign_of(a);
  if (fmpz_bits(n) > 128) {
    leave_undecided(d, e);
  } else if (fmpz_sgn(n) < 0 && sign == 0) {
    ordered_set_state(d, e, GEMEL__UNDEFINED);
  } else if (fmpz_sgn(n) < 0 && sign == 2) {
    leave_undecided(d, e);
  } else if (is_small_power(a, n)) {
    fmpq_pow_si(e->q, a->q, fmpz_get_si(n));
    settle_exact(d, e);
  } else {
    gemel__interval t;
    int reach = reach_of(a);
    gemel__interval_init(&t);
    gemel__interval_pow(&e->interval, interval_of(d, a, &t), n, self(d)->precision);
    settle_interval(e, reach);
    gemel__interval_clear(&t);
  }
}

/* a^b = exp(b log a) for a > 0, with enough extra bits for the size of the exponent. */
static void power_interval(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                           slong prec) {
  gemel__interval t;
  gemel__interval_init(&t);
  gemel__interval_log(&t, a, prec + 64);
  gemel__interval_mul(&t, &t, b, prec + 64);
  gemel__interval_exp(e, &t, prec);
  gemel__interval_clear(&t);
}

/* a^b where b isn't a known integer. */
static void general_power(gemel__domain *d, ordered *e, const ordered *a, const ordered *b) {
  int sign = sign_of(a), power = sign_of(b);
  if (sign == 2 || (sign == -1 && !b->exact) || (sign == 0 && power == 2))
    leave_undecided(d, e);
  else if (sign == -1 || (sign == 0 && power < 0))
    ordered_set_state(d, e, GEMEL__UNDEFINED);
  else if (sign == 0)
    set_small(e, 0);
  else
    by_intervals(d, e, a, b, power_interval);
}

/* a^(p/q) for a ≥ 0 if its q-th root is rational. */
static int exact_general_power(gemel__domain *d, ordered *e, const ordered *a, const ordered *b) {
  if (!a->exact || !b->exact || fmpq_sgn(a->q) <= 0 ||
      fmpz_cmp_si(fmpq_denref(b->q), GEMEL__ORDERED_BITS) > 0)
    return 0;
  ordered root;
  fmpz_t power;
  ordered_init(d, &root);
  fmpz_init_set(power, fmpq_numref(b->q));
  int exact = exact_root(&root, a, fmpz_get_si(fmpq_denref(b->q)));
  if (exact)
    integer_power(d, e, &root, power);
  fmpz_clear(power);
  ordered_clear(d, &root);
  return exact;
}

/* The sign of |a| − 1; 2: undecided. */
static int compare_with_one(gemel__domain *d, const ordered *a) {
  ordered t, one;
  ordered_init(d, &t);
  ordered_init(d, &one);
  set_small(&one, 1);
  gemel__ordered_abs(d, &t, a);
  ordered_sub(d, &t, &t, &one);
  int sign = sign_of(&t);
  ordered_clear(d, &t);
  ordered_clear(d, &one);
  return sign;
}

/* a^b where either is infinite, as C's pow has it: an infinite power is even. */
static void infinite_power(gemel__domain *d, ordered *e, const ordered *a, const ordered *b) {
  int x = infinity_of(a), y = infinity_of(b), power = sign_of(b);
  int size = !y ? 0 : x ? 1 : compare_with_one(d, a);
  int odd = !y && b->exact && fmpz_is_one(fmpq_denref(b->q)) && fmpz_is_odd(fmpq_numref(b->q));
  if (size == 2 || power == 2 || (!y && x < 0 && !b->exact))
    leave_undecided(d, e);
  else if (y && size == 0)
    set_small(e, 1);
  else if ((y ? size * y : power) < 0)
    set_small(e, 0);
  else
    set_infinity(e, x < 0 && odd ? -1 : 1);
}

static void ordered_pow(gemel__domain *d, void *e, const void *a, const void *b) {
  const ordered *x = a, *y = b;
  if (!both_defined(d, e, a, b))
    return;
  if (is_number(y, 0) || is_number(x, 1)) {
    set_small(e, 1);
  } else if (is_number(y, 1)) {
    ordered_set(d, e, a);
  } else if (infinity_of(x) || infinity_of(y)) {
    infinite_power(d, e, x, y);
  } else if (y->exact && fmpz_is_one(fmpq_denref(y->q))) {
    fmpz_t n;
    fmpz_init_set(n, fmpq_numref(y->q));
    integer_power(d, e, x, n);
    fmpz_clear(n);
  } else if (!exact_general_power(d, e, x, y)) {
    general_power(d, e, x, y);
  }
}

/* ---- Decisions ---- */

static void record(gemel__domain *d, int64_t decision) {
  if (self(d)->tape)
    gemel__tape_push(self(d)->tape, decision);
}

static int possible_signs(gemel__domain *d, const void *e) {
  const ordered *a = e;
  (void)d;
  if (a->state != GEMEL__DEFINED)
    return 7;
  return (arf_sgn(a->interval.lo) < 0) | 2 | (arf_sgn(a->interval.hi) > 0) << 2;
}

static int ordered_sign(gemel__domain *d, const void *a) {
  const ordered *x = a;
  int sign = x->state == GEMEL__DEFINED ? sign_of(x) : GEMEL__UNORDERED;
  if (sign == GEMEL__UNORDERED && x->state == GEMEL__DEFINED)
    self(d)->undecided++;
  if (self(d)->watch)
    self(d)->watch(self(d)->watcher, d, a);
  record(d, sign == GEMEL__UNORDERED && d->hull ? GEMEL__ORDERED_POSSIBLE + possible_signs(d, x)
                                                : sign);
  return sign;
}

static void ordered_floor(gemel__domain *d, void *e, const void *a) {
  ordered *r = e;
  const ordered *x = a;
  int64_t decision = INT64_MIN;
  if (both_defined(d, e, a, NULL)) {
    if (x->exact) {
      fmpz_fdiv_q(fmpq_numref(r->q), fmpq_numref(x->q), fmpq_denref(x->q));
      fmpz_one(fmpq_denref(r->q));
      settle_exact(d, r);
    } else {
      int reach = x->reach;
      gemel__interval_floor(&r->interval, &x->interval);
      settle_interval(r, reach);
      if (!r->exact && !d->hull && !infinity_of(r))
        leave_undecided(d, r);
    }
    if (!ordered_to_integer(d, e, &decision))
      decision = r->state || !infinity_of(r) ? INT64_MIN : infinity_of(r) * GEMEL__FLOOR_INFINITE;
  }
  record(d, decision);
}

static void ordered_hull(gemel__domain *d, void *e, const void *a, const void *b) {
  if (!both_defined(d, e, a, b))
    return;
  ordered *r = e;
  gemel__interval s, t;
  int reach = reach_of(a) | reach_of(b);
  gemel__interval_init(&s);
  gemel__interval_init(&t);
  gemel__interval_union(&r->interval, interval_of(d, a, &s), interval_of(d, b, &t));
  settle_interval(r, reach);
  gemel__interval_clear(&s);
  gemel__interval_clear(&t);
}

void gemel__ordered_max(gemel__domain *d, void *e, const void *a, const void *b) {
  const ordered *x = a, *y = b;
  ordered *r = e;
  if (!both_defined(d, r, x, y))
    return;
  if (x->exact && y->exact) {
    ordered_set(d, r, fmpq_cmp(x->q, y->q) >= 0 ? x : y);
    return;
  }
  gemel__interval s, t;
  int reach = reach_of(x) | reach_of(y);
  gemel__interval_init(&s);
  gemel__interval_init(&t);
  gemel__interval_max(&r->interval, interval_of(d, x, &s), interval_of(d, y, &t));
  settle_interval(r, reach);
  gemel__interval_clear(&s);
  gemel__interval_clear(&t);
}

void gemel__ordered_abs(gemel__domain *d, void *e, const void *a) {
  ordered_set(d, e, a);
  ordered *x = e;
  if (x->exact) {
    fmpq_abs(x->q, x->q);
  } else {
    gemel__interval_abs(&x->interval, &x->interval);
    settle_interval(x, x->reach);
  }
}

/* ---- Storing in a dtype ---- */

/* X modulo 2^BITS, in the dtype's range. */
static void wrap(fmpz_t x, int bits, int is_signed) {
  fmpz_fdiv_r_2exp(x, x, (ulong)bits);
  if (is_signed && fmpz_tstbit(x, (ulong)bits - 1)) {
    fmpz_t modulus;
    fmpz_init(modulus);
    fmpz_one(modulus);
    fmpz_mul_2exp(modulus, modulus, (ulong)bits);
    fmpz_sub(x, x, modulus);
    fmpz_clear(modulus);
  }
}

/* An interval of integers that reaches beyond the dtype's range becomes all of the range. */
static void wrap_interval(ordered *e, gemel_dtype dtype) {
  int bits = 8 * (int)gemel_dtype_size(dtype), is_signed;
  gemel__interval range;
  is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  gemel__interval_init(&range);
  arf_set_si_2exp_si(range.lo, is_signed ? -1 : 0, bits - 1);
  arf_set_si_2exp_si(range.hi, 1, bits - is_signed);
  arf_sub_ui(range.hi, range.hi, 1, ARF_PREC_EXACT, ARF_RND_DOWN);
  if (arf_cmp(e->interval.lo, range.lo) < 0 || arf_cmp(e->interval.hi, range.hi) > 0) {
    gemel__interval_set(&e->interval, &range);
    settle_interval(e, 0);
  }
  gemel__interval_clear(&range);
}

static void ordered_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  (void)ulps;
  ordered *x = e;
  gemel_kind kind = gemel_dtype_kind(dtype);
  if (kind == GEMEL_KIND_FLOAT || x->state != GEMEL__DEFINED)
    return;
  if (kind == GEMEL_KIND_BOOL) {
    int sign = sign_of(x);
    if (sign == GEMEL__UNORDERED)
      leave_undecided(d, x);
    else
      set_small(x, sign != 0);
  } else if (infinity_of(x)) {
    ordered_set_state(d, x, GEMEL__GAP);
  } else if (!x->exact && d->hull) {
    wrap_interval(x, dtype);
  } else if (!x->exact) {
    leave_undecided(d, x);
  } else if (!fmpz_is_one(fmpq_denref(x->q))) {
    ordered_set_state(d, x, GEMEL__GAP);
  } else {
    wrap(fmpq_numref(x->q), 8 * (int)gemel_dtype_size(dtype), kind == GEMEL_KIND_SIGNED);
  }
}

/* ---- Comparison and text ---- */

static int overlap(gemel__domain *d, const ordered *a, const ordered *b) {
  if (a->exact && b->exact)
    return fmpq_equal(a->q, b->q);
  gemel__interval s, t;
  gemel__interval_init(&s);
  gemel__interval_init(&t);
  int yes = gemel__interval_overlaps(interval_of(d, a, &s), interval_of(d, b, &t));
  gemel__interval_clear(&s);
  gemel__interval_clear(&t);
  return yes;
}

static int ordered_equal(gemel__domain *d, const void *a, const void *b) {
  const ordered *x = a, *y = b;
  if (x->state != GEMEL__DEFINED || y->state != GEMEL__DEFINED)
    return -1;
  if (x->exact && y->exact)
    return fmpq_equal(x->q, y->q);
  if (infinity_of(x) && infinity_of(x) == infinity_of(y))
    return 1;
  return overlap(d, x, y) ? -1 : 0;
}

int gemel__ordered_overlap(gemel__domain *d, const void *a, const void *b) {
  const ordered *x = a, *y = b;
  if (x->state >= GEMEL__UNDECIDED || y->state >= GEMEL__UNDECIDED)
    return 1;
  if (x->state != y->state)
    return 0;
  return x->state == GEMEL__UNDEFINED || overlap(d, x, y);
}

void gemel__ordered_bounds(gemel__domain *d, const void *e, double *low, double *high) {
  const ordered *x = e;
  if (x->state != GEMEL__DEFINED) {
    *low = -INFINITY;
    *high = INFINITY;
    return;
  }
  gemel__interval t;
  gemel__interval_init(&t);
  const gemel__interval *i = interval_of(d, x, &t);
  *low = arf_get_d(i->lo, ARF_RND_FLOOR);
  *high = arf_get_d(i->hi, ARF_RND_CEIL);
  gemel__interval_clear(&t);
}

int gemel__ordered_infinity(gemel__domain *d, const void *e) {
  return ordered_state(d, e) == GEMEL__DEFINED ? infinity_of(e) : 0;
}

int gemel__ordered_is_exact(gemel__domain *d, const void *e) {
  return ordered_state(d, e) == GEMEL__DEFINED && ((const ordered *)e)->exact;
}

static void ordered_format(gemel__domain *d, const void *e, char *text, size_t bytes) {
  static const char *const states[] = {"", "undefined", "undecided", "gap"};
  const ordered *x = e;
  if (x->state != GEMEL__DEFINED) {
    snprintf(text, bytes, "%s", states[x->state]);
  } else if (infinity_of(x)) {
    snprintf(text, bytes, "%s", infinity_of(x) > 0 ? "inf" : "-inf");
  } else if (x->exact && size_of(x->q) <= 200) {
    char *digits = fmpq_get_str(NULL, 10, x->q);
    snprintf(text, bytes, "%s", digits);
    flint_free(digits);
  } else {
    gemel__interval t;
    gemel__interval_init(&t);
    gemel__interval_format(interval_of(d, x, &t), text, bytes);
    gemel__interval_clear(&t);
  }
}

/* ---- The domain ---- */

void gemel__ordered_set_interval(gemel__domain *d, void *e, double low, double high) {
  ordered *x = e;
  if (low == high) {
    ordered_from_double(d, e, low);
  } else if (low < high) {
    arf_set_d(x->interval.lo, low);
    arf_set_d(x->interval.hi, high);
    settle_interval(x, 0);
  } else {
    ordered_set_state(d, e, GEMEL__UNDECIDED);
  }
}

void gemel__ordered_intervals(gemel__ordered *o, int on) {
  o->domain.hull = on ? ordered_hull : NULL;
  o->domain.larger = on ? gemel__ordered_max : NULL;
  o->domain.signs = on ? possible_signs : NULL;
}

int gemel__ordered_raise(gemel__ordered *o) {
  if (o->precision >= GEMEL__ORDERED_MAX_PRECISION)
    return 0;
  o->precision *= 2;
  if (o->precision > GEMEL__ORDERED_MAX_PRECISION)
    o->precision = GEMEL__ORDERED_MAX_PRECISION;
  o->undecided = 0;
  return 1;
}

static const gemel__domain table = {
    .name = "ordered",
    .bytes = (sizeof(ordered) + 15) / 16 * 16,
    .init = ordered_init,
    .clear = ordered_clear,
    .set = ordered_set,
    .from_double = ordered_from_double,
    .from_integer = ordered_from_integer,
    .from_unsigned = ordered_from_unsigned,
    .add = ordered_add,
    .sub = ordered_sub,
    .mul = ordered_mul,
    .div = ordered_div,
    .neg = ordered_neg,
    .difference = ordered_difference,
    .exp = ordered_exp,
    .log = ordered_log,
    .sqrt = ordered_sqrt,
    .apply = ordered_apply,
    .pow = ordered_pow,
    .floor = ordered_floor,
    .sum = ordered_sum,
    .between = ordered_hull,
    .sign = ordered_sign,
    .round = ordered_round,
    .to_integer = ordered_to_integer,
    .state = ordered_state,
    .set_state = ordered_set_state,
    .equal = ordered_equal,
    .format = ordered_format,
    .bounds = gemel__ordered_bounds,
};

gemel__ordered *gemel__ordered_new(long precision) {
  gemel__ordered *o = gemel__alloc_zeroed(sizeof *o);
  if (!o)
    return NULL;
  o->domain = table;
  o->precision = precision < 64                             ? 64
                 : precision > GEMEL__ORDERED_MAX_PRECISION ? GEMEL__ORDERED_MAX_PRECISION
                                                            : precision;
  return o;
}

void gemel__ordered_free(gemel__ordered *o) {
  gemel__free(o, sizeof *o);
}
