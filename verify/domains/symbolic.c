/* SPDX-License-Identifier: MIT
 *
 * The functions of the domain of formulas. Elements hold no memory of their own: two terms and a
 * flag.
 */
#include "domains/symbolic.h"

#include <math.h>
#include <stdio.h>
#include "core/alloc.h"
#include "core/dtype.h"

enum { MOST_POWER = 16 };

typedef struct symbolic_element {
  gemel__formula value, defined;
  int gap;
} symbolic_element;

static gemel__symbolic *symbolic(gemel__domain *d) {
  return (gemel__symbolic *)d;
}

static gemel__formulas *terms(gemel__domain *d) {
  return symbolic(d)->terms;
}

static symbolic_element made(gemel__formula value, gemel__formula defined) {
  symbolic_element e = {value, defined, 0};
  return e;
}

static const symbolic_element gap = {GEMEL__FORMULA_ZERO, GEMEL__FORMULA_FALSE, 1};

/* ---- Setting ---- */

static void s_init(gemel__domain *d, void *e) {
  (void)d;
  *(symbolic_element *)e = made(GEMEL__FORMULA_ZERO, GEMEL__FORMULA_TRUE);
}

static void s_clear(gemel__domain *d, void *e) {
  (void)d;
  (void)e;
}

static void s_set(gemel__domain *d, void *e, const void *a) {
  (void)d;
  *(symbolic_element *)e = *(const symbolic_element *)a;
}

static void set_number(gemel__domain *d, void *e, const fmpq_t x) {
  *(symbolic_element *)e = made(gemel__formula_number(terms(d), x), GEMEL__FORMULA_TRUE);
}

static void s_from_double(gemel__domain *d, void *e, double x) {
  fmpq_t q;
  int exponent;
  if (!isfinite(x)) {
    *(symbolic_element *)e = gap;
    return;
  }
  double fraction = frexp(x, &exponent);
  fmpq_init(q);
  fmpz_set_si(fmpq_numref(q), (slong)ldexp(fraction, 53));
  if (exponent >= 53) {
    fmpq_mul_2exp(q, q, (flint_bitcnt_t)(exponent - 53));
  } else {
    fmpq_div_2exp(q, q, (flint_bitcnt_t)(53 - exponent));
  }
  set_number(d, e, q);
  fmpq_clear(q);
}

static void s_from_integer(gemel__domain *d, void *e, int64_t x) {
  fmpq_t q;
  fmpq_init(q);
  fmpz_set_si(fmpq_numref(q), x);
  set_number(d, e, q);
  fmpq_clear(q);
}

static void s_from_unsigned(gemel__domain *d, void *e, uint64_t x) {
  fmpq_t q;
  fmpq_init(q);
  fmpz_set_ui(fmpq_numref(q), x);
  set_number(d, e, q);
  fmpq_clear(q);
}

/* ---- Arithmetic ---- */

static gemel__formula both(gemel__domain *d, const symbolic_element *x, const symbolic_element *y) {
  return gemel__formula_and(terms(d), x->defined, y->defined);
}

#define OPERATION(name, make)                                                                      \
  static void name(gemel__domain *d, void *e, const void *a, const void *b) {                      \
    const symbolic_element *x = a, *y = b;                                                         \
    symbolic_element result = {make(terms(d), x->value, y->value), both(d, x, y),                  \
                               x->gap || y->gap};                                                  \
    *(symbolic_element *)e = result;                                                               \
  }
OPERATION(s_add, gemel__formula_add)
OPERATION(s_mul, gemel__formula_mul)

static void s_neg(gemel__domain *d, void *e, const void *a) {
  symbolic_element x = *(const symbolic_element *)a;
  x.value = gemel__formula_neg(terms(d), x.value);
  *(symbolic_element *)e = x;
}

static void s_sub(gemel__domain *d, void *e, const void *a, const void *b) {
  symbolic_element negative;
  s_neg(d, &negative, b);
  s_add(d, e, a, &negative);
}

static void demand(gemel__domain *d, symbolic_element *e, unsigned signs, gemel__formula of) {
  gemel__formula holds = gemel__formula_sign(terms(d), signs, of);
  e->defined = gemel__formula_and(terms(d), e->defined, holds);
}

static void s_div(gemel__domain *d, void *e, const void *a, const void *b) {
  const symbolic_element *x = a, *y = b;
  symbolic_element result = {GEMEL__FORMULA_ZERO, both(d, x, y), x->gap || y->gap};
  result.value = gemel__formula_div(terms(d), x->value, y->value);
  demand(d, &result, GEMEL__IF_NONZERO, y->value);
  *(symbolic_element *)e = result;
}

static void s_exp(gemel__domain *d, void *e, const void *a) {
  symbolic_element x = *(const symbolic_element *)a;
  x.value = gemel__formula_apply(terms(d), GEMEL__FORMULA_EXP, x.value);
  *(symbolic_element *)e = x;
}

/* log 0 is −∞, which has no formula. */
static void s_log(gemel__domain *d, void *e, const void *a) {
  symbolic_element x = *(const symbolic_element *)a;
  x.gap |= (terms(d)->nodes[x.value].signs & GEMEL__IF_ZERO) != 0;
  demand(d, &x, GEMEL__IF_POSITIVE, x.value);
  x.value = gemel__formula_apply(terms(d), GEMEL__FORMULA_LOG, x.value);
  *(symbolic_element *)e = x;
}

static void s_sqrt(gemel__domain *d, void *e, const void *a) {
  symbolic_element x = *(const symbolic_element *)a;
  demand(d, &x, GEMEL__IF_ZERO | GEMEL__IF_POSITIVE, x.value);
  x.value = gemel__formula_root(terms(d), x.value);
  *(symbolic_element *)e = x;
}

static void s_apply(gemel__domain *d, void *e, gemel__real_function f, const void *a) {
  (void)d;
  (void)f;
  (void)a;
  *(symbolic_element *)e = gap;
}

/* a^b for a small constant integer b; any other b gives a GAP. */
static void s_pow(gemel__domain *d, void *e, const void *a, const void *b) {
  symbolic_element base = *(const symbolic_element *)a,
                   result = made(GEMEL__FORMULA_ONE, GEMEL__FORMULA_TRUE);
  int64_t n, k;
  if (!d->to_integer(d, b, &n) || n > MOST_POWER || n < -MOST_POWER) {
    *(symbolic_element *)e = gap;
    return;
  }
  result.defined = base.defined;
  result.gap = base.gap;
  for (k = 0; k < (n < 0 ? -n : n); k++) {
    s_mul(d, &result, &result, &base);
  }
  if (n < 0) {
    symbolic_element one = made(GEMEL__FORMULA_ONE, GEMEL__FORMULA_TRUE);
    s_div(d, &result, &one, &result);
  }
  *(symbolic_element *)e = result;
}

static void s_sum(gemel__domain *d, void *e, size_t n, const void *const *addends) {
  symbolic_element total = made(GEMEL__FORMULA_ZERO, GEMEL__FORMULA_TRUE);
  for (size_t k = 0; k < n; k++) {
    s_add(d, &total, &total, addends[k]);
  }
  *(symbolic_element *)e = total;
}

/* ---- Decisions ---- */

static void note(gemel__symbolic *s, const symbolic_element *x, int floor) {
  if (gemel__formula_value(s->terms, x->value) != NULL) {
    return;
  }
  if (gemel__grow(&s->decisions, &s->capacity, s->n_decisions + 1, sizeof *s->decisions) != 0) {
    s->failed = 1;
    return;
  }
  gemel__symbolic_decision *decision = &s->decisions[s->n_decisions++];
  decision->graph = s->graph;
  decision->node = s->node;
  decision->side = s->side;
  decision->floor = floor;
  decision->term = x->value;
  decision->defined = x->defined;
}

static int s_sign(gemel__domain *d, const void *a) {
  gemel__symbolic *s = symbolic(d);
  const symbolic_element *x = a;
  s->failed |= s->open != 0;
  s->open = 0;
  if (x->gap || x->defined == GEMEL__FORMULA_FALSE) {
    return GEMEL__UNORDERED;
  }
  note(s, x, 0);
  switch (s->terms->nodes[x->value].signs) {
  case GEMEL__IF_NEGATIVE:
    return -1;
  case GEMEL__IF_ZERO:
    return 0;
  case GEMEL__IF_POSITIVE:
    return 1;
  default:
    s->open = x->value;
    return GEMEL__UNORDERED;
  }
}

static void s_choose(gemel__domain *d, void *e, const void *cause, unsigned when, const void *a,
                     const void *b) {
  gemel__symbolic *s = symbolic(d);
  const symbolic_element *c = cause, *x = a, *y = b;
  gemel__formula holds = gemel__formula_sign(s->terms, when, c->value);
  symbolic_element result = {gemel__formula_choose(s->terms, holds, x->value, y->value),
                             gemel__formula_choose(s->terms, holds, x->defined, y->defined),
                             c->gap || x->gap || y->gap};
  result.defined = gemel__formula_and(s->terms, result.defined, c->defined);
  s->open = s->open == c->value ? 0 : s->open;
  *(symbolic_element *)e = result;
}

static void s_floor(gemel__domain *d, void *e, const void *a) {
  symbolic_element x = *(const symbolic_element *)a;
  note(symbolic(d), &x, 1);
  x.value = gemel__formula_floor(terms(d), x.value);
  *(symbolic_element *)e = x;
}

static void s_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  symbolic_element *x = e;
  gemel_kind kind = gemel_dtype_kind(dtype);
  (void)ulps;
  if (kind == GEMEL_KIND_FLOAT) {
    return;
  }
  if (kind == GEMEL_KIND_BOOL) {
    gemel__formula holds = gemel__formula_sign(terms(d), GEMEL__IF_NONZERO, x->value);
    x->value = gemel__formula_choose(terms(d), holds, GEMEL__FORMULA_ONE, GEMEL__FORMULA_ZERO);
  } else if (terms(d)->nodes[x->value].whole) {
    x->value = gemel__formula_wrap(terms(d), dtype, x->value);
  } else {
    *x = gap;
  }
}

/* ---- Looking ---- */

static int s_to_integer(gemel__domain *d, const void *e, int64_t *x) {
  const symbolic_element *a = e;
  const fmpq *value = gemel__formula_value(terms(d), a->value);
  if (a->gap || a->defined != GEMEL__FORMULA_TRUE || value == NULL ||
      !fmpz_is_one(fmpq_denref(value)) || !fmpz_fits_si(fmpq_numref(value))) {
    return 0;
  }
  *x = fmpz_get_si(fmpq_numref(value));
  return 1;
}

static gemel__state s_state(gemel__domain *d, const void *e) {
  const symbolic_element *x = e;
  (void)d;
  return x->gap                               ? GEMEL__GAP
         : x->defined == GEMEL__FORMULA_FALSE ? GEMEL__UNDEFINED
                                              : GEMEL__DEFINED;
}

static void s_set_state(gemel__domain *d, void *e, gemel__state state) {
  symbolic_element *x = e;
  (void)d;
  if (state == GEMEL__UNDEFINED) {
    x->defined = GEMEL__FORMULA_FALSE;
  } else if (state != GEMEL__DEFINED) {
    *x = gap;
  }
}

static int s_equal(gemel__domain *d, const void *a, const void *b) {
  const symbolic_element *x = a, *y = b;
  (void)d;
  return !x->gap && !y->gap && x->defined == GEMEL__FORMULA_TRUE &&
                 y->defined == GEMEL__FORMULA_TRUE && x->value == y->value
             ? 1
             : -1;
}

static void s_format(gemel__domain *d, const void *e, char *text, size_t bytes) {
  (void)d;
  snprintf(text, bytes, "term %u", (unsigned)((const symbolic_element *)e)->value);
}

static void observe(gemel__observer *observer, const void *graph, uint32_t node) {
  gemel__symbolic *s =
      (gemel__symbolic *)(void *)((char *)observer - offsetof(gemel__symbolic, observer));
  s->graph = graph;
  s->node = node;
}

/* ---- From outside ---- */

gemel__symbolic *gemel__symbolic_new(size_t limit) {
  static const gemel__domain functions = {.name = "formulas",
                                          .bytes = sizeof(symbolic_element),
                                          .init = s_init,
                                          .clear = s_clear,
                                          .set = s_set,
                                          .from_double = s_from_double,
                                          .from_integer = s_from_integer,
                                          .from_unsigned = s_from_unsigned,
                                          .add = s_add,
                                          .sub = s_sub,
                                          .mul = s_mul,
                                          .div = s_div,
                                          .neg = s_neg,
                                          .exp = s_exp,
                                          .log = s_log,
                                          .sqrt = s_sqrt,
                                          .apply = s_apply,
                                          .pow = s_pow,
                                          .floor = s_floor,
                                          .sum = s_sum,
                                          .sign = s_sign,
                                          .choose = s_choose,
                                          .round = s_round,
                                          .to_integer = s_to_integer,
                                          .state = s_state,
                                          .set_state = s_set_state,
                                          .equal = s_equal,
                                          .format = s_format};
  gemel__symbolic *s = gemel__alloc_zeroed(sizeof *s);
  if (s == NULL) {
    return NULL;
  }
  s->domain = functions;
  s->observer.node = observe;
  s->domain.observer = &s->observer;
  s->terms = gemel__formulas_new(limit);
  if (s->terms == NULL) {
    gemel__free(s, sizeof *s);
    return NULL;
  }
  return s;
}

void gemel__symbolic_free(gemel__symbolic *s) {
  if (s != NULL) {
    gemel__formulas_free(s->terms);
    gemel__free(s->decisions, s->capacity * sizeof *s->decisions);
    gemel__free(s, sizeof *s);
  }
}

/* LOW ≤ E (BELOW < 0), or E ≤ HIGH. */
static gemel__formula within(gemel__domain *d, gemel__formula x, int64_t bound, unsigned signs) {
  symbolic_element limit;
  s_from_integer(d, &limit, -bound);
  gemel__formula difference = gemel__formula_add(terms(d), x, limit.value);
  return gemel__formula_sign(terms(d), signs, difference);
}

static unsigned leaf_signs(gemel_range range) {
  switch (range) {
  case GEMEL_RANGE_POSITIVE:
    return GEMEL__IF_POSITIVE;
  case GEMEL_RANGE_NONNEGATIVE:
    return GEMEL__IF_ZERO | GEMEL__IF_POSITIVE;
  case GEMEL_RANGE_NONZERO:
    return GEMEL__IF_NONZERO;
  default:
    return GEMEL__IF_ANY;
  }
}

gemel__formula gemel__symbolic_leaf(gemel__symbolic *s, void *e, gemel_dtype dtype,
                                    gemel_range range, gemel__formula *demands) {
  gemel__domain *d = &s->domain;
  gemel__formulas *t = s->terms;
  gemel__formula x;
  if (!gemel__is_float(dtype)) {
    gemel__formula_wide low, high;
    gemel__formula_range(dtype, &low, &high);
    x = gemel__formula_leaf_whole(t, low, high);
    *demands = gemel__formula_and(t, *demands, gemel__formula_sign(t, leaf_signs(range), x));
  } else {
    x = gemel__formula_leaf_real(t, leaf_signs(range));
  }
  if (range == GEMEL_RANGE_MODERATE) {
    gemel__formula low = within(d, x, -16, GEMEL__IF_ZERO | GEMEL__IF_POSITIVE);
    *demands = gemel__formula_and(t, *demands, low);
    *demands =
        gemel__formula_and(t, *demands, within(d, x, 16, GEMEL__IF_ZERO | GEMEL__IF_NEGATIVE));
  } else if (range == GEMEL_RANGE_ABOVE_MINUS_ONE) {
    *demands = gemel__formula_and(t, *demands, within(d, x, -1, GEMEL__IF_POSITIVE));
  }
  *(symbolic_element *)e = made(x, GEMEL__FORMULA_TRUE);
  return x;
}

int gemel__symbolic_terms(const void *e, gemel__formula *value, gemel__formula *defined) {
  const symbolic_element *x = e;
  *value = x->value;
  *defined = x->defined;
  return !x->gap;
}
