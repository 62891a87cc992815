/* SPDX-License-Identifier: MIT
 *
 * Domain B with wider bounds: see bound-loose.h. It is domain B with other functions in front of
 * its own: they call these, and then widen the computed ball. An element is one of domain B with
 * the magnitude of its terms behind it.
 */
#include "domains/bound-loose.h"

#include <gemel/rewrite.h>
#include "core/dtype.h"
#include "domains/bound-element.h"

/* GCC 12 takes the first member of an array-of-one type for all of it, and then warns of reading
 * beyond. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { ORDERS = 4 }; /* how many roundings of its terms' magnitude an element is widened by */

typedef struct loose_element {
  gemel__bounded base; /* first, so a pointer to it is a pointer to the whole */
  mag_t terms;
} loose_element;

static gemel__bound *self(gemel__domain *d) {
  return (gemel__bound *)(void *)d;
}

static int allows(gemel__domain *d, unsigned word) {
  return (self(d)->allow & word) != 0;
}

static int is_number(const gemel__bounded *e) {
  return e->state == GEMEL__DEFINED && !e->infinite;
}

/* M = the largest magnitude in E's computed ball. */
static void magnitude(mag_t m, const void *e) {
  arb_get_mag(m, gemel__bounded_computed(e));
}

/* M = that of E's terms, which is no less. */
static void terms_of(mag_t m, const void *e) {
  magnitude(m, e);
  mag_max(m, m, ((const loose_element *)e)->terms);
}

/* E, which was just computed, is a single term. */
static void make_term(void *e) {
  magnitude(((loose_element *)e)->terms, e);
}

static void widen(gemel__bounded *e, const mag_t error) {
  if (mag_is_zero(error)) {
    return;
  }
  if (e->same) {
    arb_set(e->computed, e->exact);
  }
  e->same = 0;
  arb_add_error_mag(e->computed, error);
}

/* ---- Elements ---- */

static void loose_init(gemel__domain *d, void *e) {
  self(d)->strict.init(d, e);
  mag_init(((loose_element *)e)->terms);
}

static void loose_clear(gemel__domain *d, void *e) {
  self(d)->strict.clear(d, e);
  mag_clear(((loose_element *)e)->terms);
}

static void loose_set(gemel__domain *d, void *e, const void *a) {
  self(d)->strict.set(d, e, a);
  mag_set(((loose_element *)e)->terms, ((const loose_element *)a)->terms);
}

static void loose_from_double(gemel__domain *d, void *e, double x) {
  self(d)->strict.from_double(d, e, x);
  make_term(e);
}

static void loose_from_integer(gemel__domain *d, void *e, int64_t x) {
  self(d)->strict.from_integer(d, e, x);
  make_term(e);
}

static void loose_from_unsigned(gemel__domain *d, void *e, uint64_t x) {
  self(d)->strict.from_unsigned(d, e, x);
  make_term(e);
}

/* ---- Functions, whose results are single terms ---- */

#define UNARY(name)                                                                                \
  static void loose_##name(gemel__domain *d, void *e, const void *a) {                             \
    self(d)->strict.name(d, e, a);                                                                 \
    make_term(e);                                                                                  \
  }
UNARY(exp)
UNARY(log)
UNARY(floor)
#undef UNARY

static void loose_sqrt(gemel__domain *d, void *e, const void *a) {
  self(d)->strict.sqrt(d, e, a);
  make_term(e);
  self(d)->root = 1;
}

static void loose_apply(gemel__domain *d, void *e, gemel__real_function f, const void *a) {
  self(d)->strict.apply(d, e, f, a);
  make_term(e);
}

/* A square is a product, too. */
static void loose_pow(gemel__domain *d, void *e, const void *a, const void *b) {
  mag_t terms;
  int64_t n = 0;
  int is_square = self(d)->strict.to_integer(d, b, &n) && n == 2;
  mag_init(terms);
  terms_of(terms, a);
  mag_mul(terms, terms, terms);
  self(d)->strict.pow(d, e, a, b);
  make_term(e);
  if (is_square) {
    mag_max(((loose_element *)e)->terms, ((loose_element *)e)->terms, terms);
  }
  mag_clear(terms);
}

/* ---- Sums and products ---- */

static void loose_neg(gemel__domain *d, void *e, const void *a) {
  mag_t terms;
  mag_init(terms);
  terms_of(terms, a);
  self(d)->strict.neg(d, e, a);
  mag_set(((loose_element *)e)->terms, terms);
  mag_clear(terms);
}

typedef void strict_binary(gemel__domain *d, void *e, const void *a, const void *b);

/* E by FUNCTION, with the terms of both operands added or (PRODUCT) multiplied. */
static void combine(gemel__domain *d, void *e, const void *a, const void *b,
                    strict_binary *function, int product) {
  mag_t terms, more;
  mag_init(terms);
  mag_init(more);
  terms_of(terms, a);
  terms_of(more, b);
  if (product) {
    mag_mul(terms, terms, more);
  } else {
    mag_add(terms, terms, more);
  }
  function(d, e, a, b);
  mag_set(((loose_element *)e)->terms, terms);
  mag_clear(terms);
  mag_clear(more);
}

static void loose_add(gemel__domain *d, void *e, const void *a, const void *b) {
  combine(d, e, a, b, self(d)->strict.add, 0);
}

static void loose_sub(gemel__domain *d, void *e, const void *a, const void *b) {
  combine(d, e, a, b, self(d)->strict.sub, 0);
}

static void loose_difference(gemel__domain *d, void *e, const void *a, const void *b) {
  combine(d, e, a, b, self(d)->strict.difference, 0);
}

static void loose_mul(gemel__domain *d, void *e, const void *a, const void *b) {
  combine(d, e, a, b, self(d)->strict.mul, 1);
}

static void loose_hull(gemel__domain *d, void *e, const void *a, const void *b) {
  combine(d, e, a, b, self(d)->strict.hull, 0);
}

/* What the rounding of a sum of N terms of magnitude TERMS may lose, in all orders: what domain B
 * takes for it, where every term is itself a sum. */
static void widen_all(gemel__domain *d, void *e, size_t n, const mag_t terms) {
  const gemel__format *f = gemel__dtype_format(self(d)->dtype == GEMEL_F64 ? GEMEL_F64 : GEMEL_F32);
  gemel__bounded *x = e;
  mag_t error;
  if (!is_number(x) || x->same || !gemel__is_float(self(d)->dtype)) {
    return;
  }
  mag_init(error);
  mag_mul_ui(error, terms, n);
  mag_mul_2exp_si(error, error, -f->digits);
  widen(x, error);
  mag_clear(error);
}

/* By FUNCTION, which is sum or product. */
static void loose_all(gemel__domain *d, void *e, size_t n, const void *const *members,
                      void (*function)(gemel__domain *, void *, size_t, const void *const *),
                      int product) {
  mag_t terms, one;
  mag_init(terms);
  mag_init(one);
  mag_set_ui(terms, product != 0);
  for (size_t k = 0; k < n; k++) {
    terms_of(one, members[k]);
    if (product) {
      mag_mul(terms, terms, one);
    } else {
      mag_add(terms, terms, one);
    }
  }
  function(d, e, n, members);
  if (allows(d, GEMEL_NEEDS_BIT(REASSOC))) {
    widen_all(d, e, n, terms);
  }
  mag_set(((loose_element *)e)->terms, terms);
  mag_clear(terms);
  mag_clear(one);
}

static void loose_sum(gemel__domain *d, void *e, size_t n, const void *const *addends) {
  loose_all(d, e, n, addends, self(d)->strict.sum, 0);
}

static void loose_product(gemel__domain *d, void *e, size_t n, const void *const *factors) {
  loose_all(d, e, n, factors, self(d)->strict.product, 1);
}

/* ---- Quotients ---- */

static int is_power_of_two(const gemel__bounded *e) {
  return arb_is_exact(gemel__bounded_computed(e)) &&
         arf_bits(arb_midref(gemel__bounded_computed(e))) <= 1;
}

/* ERROR = what a · (1 ÷ b) is off by before it is rounded: |a| (|1 ÷ b| u + half the least number),
 * nothing if 1 ÷ b is exact. 0: the reciprocal may overflow. */
static int reciprocal_error(gemel__domain *d, mag_t error, const void *a, const void *b) {
  gemel_dtype dtype = gemel__dtype_format(self(d)->dtype)->computed_in;
  const gemel__format *f = gemel__dtype_format(dtype);
  mag_t part;
  mag_init(part);
  arb_get_mag_lower(part, gemel__bounded_computed(b));
  mag_inv(error, part);
  int fits = mag_cmp_2exp_si(error, f->highest) < 0;
  if (is_power_of_two(b)) {
    mag_zero(error);
  } else {
    mag_mul_2exp_si(error, error, -f->digits);
    mag_set_ui_2exp_si(part, 1, gemel__format_unit(f) - 1);
    mag_add(error, error, part);
    magnitude(part, a);
    mag_mul(error, error, part);
  }
  mag_clear(part);
  return fits;
}

/* TERMS = those of a ÷ b: |a| / |b|, each with its terms. */
static void quotient_terms(mag_t terms, const void *a, const void *b) {
  mag_t low, other;
  mag_init(low);
  mag_init(other);
  arb_get_mag_lower(low, gemel__bounded_computed(b));
  terms_of(terms, a);
  terms_of(other, b);
  mag_div(terms, terms, low);
  mag_div(other, other, low);
  mag_mul(terms, terms, other);
  mag_clear(low);
  mag_clear(other);
}

static void loose_div(gemel__domain *d, void *e, const void *a, const void *b) {
  mag_t terms, error;
  int numbers = is_number(a) && is_number(b) && gemel__is_float(self(d)->dtype), fits = 1;
  int by_reciprocal = numbers && allows(d, GEMEL_NEEDS_BIT(ARCP));
  mag_init(terms);
  mag_init(error);
  if (numbers) {
    quotient_terms(terms, a, b);
  }
  if (by_reciprocal) {
    fits = reciprocal_error(d, error, a, b);
  }
  self(d)->strict.div(d, e, a, b);
  make_term(e);
  if (is_number(e) && numbers) {
    mag_max(((loose_element *)e)->terms, ((loose_element *)e)->terms, terms);
    widen(e, error);
  }
  if (is_number(e) && !fits) {
    self(d)->strict.set_state(d, e, GEMEL__UNDECIDED);
  }
  mag_clear(terms);
  mag_clear(error);
}

/* ---- Rounding ---- */

/* 1 if E is an exact integer, and so is every sum of its terms in every order. */
static int sums_to_integer(const loose_element *e, const gemel__format *f) {
  const arb_struct *x = gemel__bounded_computed(&e->base);
  return arb_is_exact(x) && arf_is_int(arb_midref(x)) && mag_cmp_2exp_si(e->terms, f->digits) <= 0;
}

/* Widens E, which was rounded by ULPS to DTYPE, by what the words allow. */
static void loosen(gemel__domain *d, loose_element *e, gemel_dtype dtype, double ulps) {
  const gemel__format *f = gemel__dtype_format(gemel__dtype_format(dtype)->computed_in);
  int function = ulps > 0.5 || self(d)->root;
  mag_t error;
  mag_init(error);
  if (function && allows(d, GEMEL_NEEDS_BIT(AFN))) {
    magnitude(error, e);
    mag_mul_2exp_si(error, error, 1 - f->digits / 2);
    widen(&e->base, error);
  }
  if (!function && allows(d, GEMEL_NEEDS_BIT(REASSOC)) && !sums_to_integer(e, f)) {
    mag_mul_ui(error, e->terms, ORDERS);
    mag_mul_2exp_si(error, error, -f->digits);
    widen(&e->base, error);
  }
  mag_clear(error);
}

static void loose_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  self(d)->strict.round(d, e, dtype, ulps);
  if (gemel__is_float(dtype) && is_number(e) && ulps != 0 && !self(d)->exact) {
    dtype = self(d)->dtype;
    loosen(d, e, dtype, ulps);
    self(d)->strict.round(d, e, dtype, 0); /* it may overflow now */
  }
  self(d)->root = 0;
}

/* ---- The domain ---- */

int gemel__is_loose(unsigned allow) {
  return (allow & (GEMEL_NEEDS_BIT(ARCP) | GEMEL_NEEDS_BIT(AFN) | GEMEL_NEEDS_BIT(REASSOC))) != 0;
}

static void replace(gemel__domain *d) {
  d->bytes = (sizeof(loose_element) + 15) / 16 * 16;
  d->init = loose_init;
  d->clear = loose_clear;
  d->set = loose_set;
  d->from_double = loose_from_double;
  d->from_integer = loose_from_integer;
  d->from_unsigned = loose_from_unsigned;
  d->add = loose_add;
  d->sub = loose_sub;
  d->mul = loose_mul;
  d->div = loose_div;
  d->neg = loose_neg;
  d->difference = loose_difference;
  d->exp = loose_exp;
  d->log = loose_log;
  d->sqrt = loose_sqrt;
  d->apply = loose_apply;
  d->pow = loose_pow;
  d->floor = loose_floor;
  d->sum = loose_sum;
  d->product = loose_product;
  d->hull = d->between = loose_hull;
  d->round = loose_round;
}

gemel__bound *gemel__bound_new_loose(long precision, unsigned allow) {
  gemel__bound *b = gemel__bound_new(precision);
  if (b != NULL && gemel__is_loose(allow)) {
    b->strict = b->domain;
    b->allow = allow;
    replace(&b->domain);
  }
  return b;
}
