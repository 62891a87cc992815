/* SPDX-License-Identifier: MIT
 *
 * Domain F: making a domain, leaves, arithmetic, comparison and reports. exp, log, roots and
 * decisions are in field-function.c; known numbers and facts are in field-element.c.
 */
#include "domains/field.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "domains/field-element.h"
#include "domains/functions.h"

static gemel__field *field(gemel__domain *d) {
  return (gemel__field *)d;
}

static const gemel__field *field_of(const gemel__domain *d) {
  return (const gemel__field *)d;
}

/* ---- Making elements ---- */

static void f_init(gemel__domain *d, void *e) {
  gemel__residues_known(field(d), e, gemel__known_integer(0));
}

static void f_clear(gemel__domain *d, void *e) {
  (void)d;
  (void)e;
}

static void f_set(gemel__domain *d, void *e, const void *a) {
  (void)d;
  if (e != a)
    memcpy(e, a, sizeof(gemel__residues));
}

static void f_from_integer(gemel__domain *d, void *e, int64_t x) {
  gemel__residues_known(field(d), e, gemel__known_integer(x));
}

static void f_from_unsigned(gemel__domain *d, void *e, uint64_t x) {
  gemel__residues_known(field(d), e, gemel__known_integer(x));
}

static void f_from_double(gemel__domain *d, void *e, double x) {
  gemel__field *f = field(d);
  gemel__residues *y = e;
  if (isnan(x)) {
    gemel__residues_lose(f, e, GEMEL__UNDEFINED);
    return;
  }
  if (isinf(x)) {
    gemel__residues_infinity(f, e, x > 0 ? 1 : -1, 0);
    return;
  }
  gemel__known k = gemel__known_double(x);
  if (k.d) {
    gemel__residues_known(f, e, k);
    return;
  }
  int exponent;
  gemel__known m = gemel__known_integer((int64_t)ldexp(frexp(x, &exponent), 53));
  gemel__residues_known(f, e, m); /* x = m · 2^(exponent − 53), too large or small to be a known
                                   * number */
  y->known.d = 0;
  for (int i = 0; i < f->chain.length; i++) {
    const gemel__ring *r = &f->chain.ring[i];
    y->r[i] = gemel__ring_mul(r, y->r[i], gemel__ring_power_of_two(r, exponent - 53));
  }
}

/* ---- Arithmetic ---- */

/* Sets the members of E = x ∘ y except residues, known number, sign and degree. 0 if E has no
 * value. */
static int combine(gemel__field *f, gemel__residues *e, const gemel__residues *x,
                   const gemel__residues *y) {
  gemel__state state = gemel__worst(x->state, y->state);
  e->depends = x->depends | y->depends;
  e->flags = x->flags | y->flags;
  e->rings = x->rings & y->rings;
  e->state = (uint8_t)state;
  e->infinite = 0;
  if (state) {
    e->rings = 0;
    e->known.d = 0;
    e->may = GEMEL__MAY_ANY;
  } else if (!e->rings) {
    gemel__residues_lose(f, e, GEMEL__GAP);
  }
  return e->state == GEMEL__DEFINED;
}

static void set_known(gemel__residues *e, gemel__known k, uint8_t may) {
  e->known = k;
  e->may = k.d ? (uint8_t)(1 << (gemel__known_sign(k) + 1)) : may;
}

/* 1 if both have values and at least one is infinite. */
static int any_infinite(const gemel__residues *x, const gemel__residues *y) {
  return !x->state && !y->state && (x->infinite || y->infinite);
}

static void add_infinities(gemel__field *f, gemel__residues *e, const gemel__residues *x,
                           const gemel__residues *y) {
  if (x->infinite && y->infinite && x->infinite != y->infinite)
    gemel__residues_lose(f, e, GEMEL__UNDEFINED);
  else
    gemel__residues_infinity(f, e, x->infinite ? x->infinite : y->infinite, x->flags | y->flags);
}

/* E = ∞ · x, or with SIGN = −1 its negative. */
static void scale_infinity(gemel__field *f, gemel__residues *e, const gemel__residues *x, int sign,
                           unsigned flags) {
  int other = gemel__residues_sign(x);
  if (other == 0 || other == GEMEL__UNORDERED)
    gemel__residues_lose(f, e, other == 0 ? GEMEL__UNDEFINED : GEMEL__GAP);
  else
    gemel__residues_infinity(f, e, sign * other, flags | x->flags);
}

static void f_add(gemel__domain *d, void *e, const void *a, const void *b) {
  gemel__field *f = field(d);
  const gemel__residues *x = a, *y = b;
  gemel__residues *z = e;
  if (any_infinite(x, y)) {
    add_infinities(f, z, x, y);
    return;
  }
  double above = fmax(x->above + y->below, y->above + x->below), below = x->below + y->below;
  gemel__known k = gemel__known_add(x->known, y->known);
  uint8_t may = gemel__may_add(x->may, y->may);
  for (int i = 0; i < f->chain.length; i++)
    z->r[i] = gemel__ring_add(&f->chain.ring[i], x->r[i], y->r[i]);
  if (!combine(f, z, x, y))
    return;
  set_known(z, k, may);
  z->above = above, z->below = below;
}

static void f_neg(gemel__domain *d, void *e, const void *a) {
  gemel__field *f = field(d);
  gemel__residues *z = e;
  f_set(d, e, a);
  for (int i = 0; i < f->chain.length; i++)
    z->r[i] = gemel__ring_neg(&f->chain.ring[i], z->r[i]);
  z->known = gemel__known_neg(z->known);
  z->may = gemel__may_neg(z->may);
  z->infinite = (int8_t)-z->infinite;
}

static void f_sub(gemel__domain *d, void *e, const void *a, const void *b) {
  gemel__residues minus;
  f_neg(d, &minus, b);
  f_add(d, e, a, &minus);
}

static void f_difference(gemel__domain *d, void *e, const void *a, const void *b) {
  const gemel__residues *x = a, *y = b;
  if (any_infinite(x, y) && x->infinite == y->infinite)
    gemel__residues_known(field(d), e, gemel__known_integer(0));
  else
    f_sub(d, e, a, b);
}

/* 1 if both have equal residues in all common rings. */
static int same_residues(const gemel__residues *x, const gemel__residues *y) {
  for (int i = 0; i < GEMEL__MAX_RINGS; i++)
    if (x->rings & y->rings & 1u << i && x->r[i] != y->r[i])
      return 0;
  return x->rings == y->rings;
}

static void f_mul(gemel__domain *d, void *e, const void *a, const void *b) {
  gemel__field *f = field(d);
  const gemel__residues *x = a, *y = b;
  gemel__residues *z = e;
  if (any_infinite(x, y)) {
    scale_infinity(f, z, x->infinite ? y : x, x->infinite ? x->infinite : y->infinite,
                   x->flags | y->flags);
    return;
  }
  double above = x->above + y->above, below = x->below + y->below;
  gemel__known k = gemel__known_mul(x->known, y->known);
  uint8_t may = gemel__may_mul(x->may, y->may);
  if (gemel__known_is_zero(x->known) || gemel__known_is_zero(y->known))
    k = gemel__known_integer(0), above = below = 0;
  if (same_residues(x, y))
    may &= GEMEL__MAY_ZERO | GEMEL__MAY_POSITIVE;
  for (int i = 0; i < f->chain.length; i++)
    z->r[i] = gemel__ring_mul(&f->chain.ring[i], x->r[i], y->r[i]);
  if (!combine(f, z, x, y))
    return;
  set_known(z, k, may);
  z->above = above, z->below = below;
}

/* E = 1 ÷ Y in every ring where Y isn't 0. */
static void invert(gemel__field *f, gemel__residues *e, const gemel__residues *y) {
  unsigned lost = 0;
  for (int i = 0; i < f->chain.length; i++) {
    if (!(y->rings >> i & 1))
      continue;
    e->r[i] = gemel__ring_inverse(&f->chain.ring[i], y->r[i]);
    if (!y->r[i] && !(f->faults & GEMEL__FIELD_INVERSE_OF_ZERO))
      lost |= 1u << i;
  }
  e->rings &= (uint8_t)~lost;
  f->report.zero_inverses += (unsigned)__builtin_popcount(lost);
  gemel__residues_settle(f, e, lost);
}

static void f_div(gemel__domain *d, void *e, const void *a, const void *b) {
  gemel__field *f = field(d);
  const gemel__residues *x = a, *y = b;
  gemel__residues inverse = *y;
  if (any_infinite(x, y)) {
    if (!y->infinite)
      scale_infinity(f, e, y, x->infinite, x->flags);
    else if (x->infinite)
      gemel__residues_lose(f, e, GEMEL__UNDEFINED);
    else
      gemel__residues_known(f, e, gemel__known_integer(0));
    return;
  }
  if (gemel__known_is_zero(y->known) && f->faults & GEMEL__FIELD_INVERSE_OF_ZERO) {
    f_set(d, e, b);
    return;
  }
  f->report.inverses += !y->known.d;
  if (y->state == GEMEL__DEFINED)
    invert(f, &inverse, y);
  inverse.known = gemel__known_div(gemel__known_integer(1), y->known);
  inverse.may = y->may & ~GEMEL__MAY_ZERO;
  inverse.above = y->below, inverse.below = y->above;
  gemel__known k = gemel__known_div(x->known, y->known);
  f_mul(d, e, a, &inverse);
  if (k.d && ((gemel__residues *)e)->state == GEMEL__DEFINED)
    set_known(e, k, 0);
}

static void f_sum(gemel__domain *d, void *e, size_t n, const void *const *addends) {
  gemel__residues sum;
  if (n == 0) {
    f_init(d, e);
    return;
  }
  f_set(d, &sum, addends[0]);
  for (size_t i = 1; i < n; i++)
    f_add(d, &sum, &sum, addends[i]);
  f_set(d, e, &sum);
}

/* ---- Questions ---- */

static int f_to_integer(gemel__domain *d, const void *e, int64_t *x) {
  (void)d;
  const gemel__residues *a = e;
  if (a->state || a->known.d != 1 || a->known.high != (int64_t)a->known.low >> 63)
    return 0;
  *x = (int64_t)a->known.low;
  return 1;
}

static gemel__state f_state(gemel__domain *d, const void *e) {
  (void)d;
  return ((const gemel__residues *)e)->state;
}

static void f_set_state(gemel__domain *d, void *e, gemel__state state) {
  gemel__residues *a = e;
  gemel__field_report kept = field(d)->report; /* a state set by the caller isn't counted in the
                                                * report */
  if (state)
    gemel__residues_lose(field(d), a, state);
  a->state = (uint8_t)state;
  field(d)->report = kept;
}

/* The rings in which A and B are to be compared. */
static unsigned comparable(const gemel__field *f, const gemel__residues *a,
                           const gemel__residues *b) {
  unsigned rings = a->rings & b->rings, usable = 0;
  const gemel__field_report *r = &f->report;
  if (!r->roots || f->faults & GEMEL__FIELD_NO_COHERENCE)
    return rings;
  for (int i = 0; i < f->chain.length; i++) {
    unsigned on = (unsigned)((a->depends | b->depends) >> (8 * i)) & 0xff;
    if (rings >> i & 1 && !(on & ~r->coherent))
      usable |= 1u << i;
  }
  return usable;
}

static double difference_degree(const gemel__residues *a, const gemel__residues *b) {
  return fmax(a->above + b->below, b->above + a->below);
}

static int f_equal(gemel__domain *d, const void *a, const void *b) {
  gemel__field *f = field(d);
  const gemel__residues *x = a, *y = b;
  if (x->state || y->state)
    return -1;
  if (x->infinite || y->infinite)
    return x->infinite == y->infinite;
  f->report.degree = fmax(f->report.degree, difference_degree(x, y));
  unsigned rings = comparable(f, x, y);
  if (!rings) {
    f->report.gaps += !(x->rings & y->rings);
    return f->faults & GEMEL__FIELD_NO_RING_EQUAL ? 1 : -1;
  }
  for (int i = 0; i < f->chain.length; i++)
    if (rings >> i & 1 && x->r[i] != y->r[i])
      return 0;
  return 1;
}

static void format_known(gemel__known k, char *text, size_t bytes) {
  char digits[48], *p = digits + sizeof digits;
  gemel__wide n = gemel__known_numerator(k);
  int negative = n < 0;
  *--p = 0;
  do {
    int digit = (int)(n % 10);
    *--p = (char)('0' + (digit < 0 ? -digit : digit));
  } while (n /= 10);
  if (k.d == 1)
    snprintf(text, bytes, "%s%s", negative ? "-" : "", p);
  else
    snprintf(text, bytes, "%s%s/%" PRId64, negative ? "-" : "", p, k.d);
}

static void f_format(gemel__domain *d, const void *e, char *text, size_t bytes) {
  static const char *const states[] = {"", "undefined", "undecided", "gap"};
  const gemel__field *f = field(d);
  const gemel__residues *a = e;
  if (a->state) {
    snprintf(text, bytes, "%s", states[a->state]);
    return;
  }
  if (a->infinite) {
    snprintf(text, bytes, "%s", a->infinite > 0 ? "inf" : "-inf");
    return;
  }
  if (a->known.d) {
    format_known(a->known, text, bytes);
    return;
  }
  size_t at = 0;
  for (int i = 0; i < f->chain.length && at < bytes; i++)
    if (a->rings >> i & 1) {
      int n = snprintf(text + at, bytes - at, "%s%" PRIu64 " mod %" PRIu64, at ? ", " : "",
                       gemel__field_residue(d, e, i), f->chain.ring[i].p);
      at += n > 0 ? (size_t)n : 0;
    }
}

/* ---- Leaves and keyed functions ---- */

/* A random square ≠ 0 of ring R. */
static uint64_t random_square(gemel__field *f, const gemel__ring *r) {
  uint64_t x = 1 + gemel__random_below(&f->random, r->p - 1);
  return gemel__ring_mul(r, x, x);
}

/* A residue of ring R for a leaf of this kind. */
static uint64_t leaf_residue(gemel__field *f, const gemel__ring *r, gemel__field_leaf kind) {
  uint64_t x = random_square(f, r);
  switch (kind) {
  case GEMEL__LEAF_NEGATIVE:
    return gemel__ring_neg(r, x);
  case GEMEL__LEAF_ABOVE_MINUS_ONE:
    return gemel__ring_sub(r, x, r->one);
  case GEMEL__LEAF_BELOW_ONE:
    return gemel__ring_sub(r, r->one, x);
  case GEMEL__LEAF_UNIT: /* leaf = 1 − x for a square x, and 1 + leaf = 2 − x must be a square
                          * too */
    while (gemel__ring_character(r, gemel__ring_sub(r, gemel__ring_add(r, r->one, r->one), x)) < 1)
      x = random_square(f, r);
    return gemel__ring_sub(r, r->one, x);
  default:
    return x;
  }
}

void gemel__field_random(gemel__domain *d, void *e, gemel__field_leaf kind) {
  gemel__field *f = field(d);
  gemel__residues *a = e;
  uint8_t may = GEMEL__MAY_ANY;
  if (kind == GEMEL__LEAF_POSITIVE || kind == GEMEL__LEAF_NEGATIVE)
    may = kind == GEMEL__LEAF_POSITIVE ? GEMEL__MAY_POSITIVE : GEMEL__MAY_NEGATIVE;
  if (kind == GEMEL__LEAF_ANY)
    kind = gemel__random_bits(&f->random) >> 63 ? GEMEL__LEAF_NEGATIVE : GEMEL__LEAF_POSITIVE;
  memset(a, 0, sizeof *a);
  a->may = may;
  a->above = kind == GEMEL__LEAF_UNIT ? 8 : 2; /* a square has degree 2; only half of the draws fit
                                                * UNIT */
  a->rings = (uint8_t)((1u << f->chain.length) - 1);
  for (int i = 0; i < f->chain.length; i++) {
    a->r[i] = leaf_residue(f, &f->chain.ring[i], kind);
    a->depends |= UINT64_C(1) << (9 * i); /* bit i of byte i */
  }
}

static uint64_t key_of(const char *name) {
  uint64_t key = UINT64_C(0xcbf29ce484222325);
  for (; *name; name++)
    key = (key ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return key;
}

void gemel__field_keyed(gemel__domain *d, void *e, const char *name, size_t n,
                        const void *const *args) {
  gemel__field *f = field(d);
  gemel__residues z = {.rings = (uint8_t)((1u << f->chain.length) - 1), .above = 1};
  z.may = GEMEL__MAY_ANY;
  gemel__state state = GEMEL__DEFINED;
  f->report.keyed_name = f->report.keyed++ ? f->report.keyed_name : name;
  for (size_t k = 0; k < n; k++) {
    const gemel__residues *a = args[k];
    state = gemel__worst(state, a->state);
    z.rings &= a->rings;
    z.depends |= a->depends;
    z.flags |= a->flags;
    z.above += a->above + a->below;
  }
  for (int i = 0; i < f->chain.length; i++) {
    uint64_t mix = f->key ^ key_of(name), hash = gemel__splitmix(&mix);
    for (size_t k = 0; k < n; k++) {
      const gemel__residues *a = args[k];
      mix = hash ^ (a->infinite ? (uint64_t)a->infinite : a->r[i]);
      hash = gemel__splitmix(&mix);
    }
    z.r[i] = hash % f->chain.ring[i].p;
  }
  z.flags |= GEMEL__FIELD_IS_KEYED;
  if (state)
    gemel__residues_lose(f, &z, state);
  else
    gemel__residues_settle(f, &z, 0);
  f_set(d, e, &z);
}

/* ---- Making a domain ---- */

static void field_apply(gemel__domain *d, void *e, gemel__real_function f, const void *a) {
  gemel__field_keyed(d, e, gemel__real_functions[f].name, 1, &a);
}

static const gemel__domain functions = {
    .name = "F",
    .bytes = sizeof(gemel__residues),
    .init = f_init,
    .clear = f_clear,
    .set = f_set,
    .from_double = f_from_double,
    .from_integer = f_from_integer,
    .from_unsigned = f_from_unsigned,
    .add = f_add,
    .sub = f_sub,
    .mul = f_mul,
    .div = f_div,
    .neg = f_neg,
    .difference = f_difference,
    .exp = gemel__field_exp,
    .log = gemel__field_log,
    .sqrt = gemel__field_sqrt,
    .apply = field_apply,
    .keyed = gemel__field_keyed,
    .pow = gemel__field_pow,
    .floor = gemel__field_floor,
    .sum = f_sum,
    .sign = gemel__field_sign,
    .round = gemel__field_round,
    .to_integer = f_to_integer,
    .state = f_state,
    .set_state = f_set_state,
    .equal = f_equal,
    .format = f_format,
};

gemel_status gemel__field_trial(gemel__domain *d, uint64_t seed, gemel_error *error) {
  gemel__field *f = field(d);
  gemel__random random;
  gemel__random_seed(&random, seed);
  gemel_status status = gemel__chains_draw(f->chains, &random, &f->chain);
  if (status == GEMEL_NO_MEMORY)
    return gemel__no_memory(error, "tables of a prime field");
  if (status)
    return gemel__fail(error, status, "no chain of prime fields of this size was found");
  f->random = random;
  f->key = gemel__random_bits(&f->random);
  f->forced = f->record = NULL;
  gemel__field_reset(d);
  return GEMEL_OK;
}

gemel__domain *gemel__field_new(const gemel__field_options *options, uint64_t seed,
                                gemel_error *error) {
  static const gemel__field_options usual = {.bits = GEMEL__FIELD_MEDIUM, .length = 2};
  const gemel__field_options *o = options ? options : &usual;
  gemel__field *f = gemel__alloc_zeroed(sizeof *f);
  if (!f) {
    gemel__no_memory(error, "a prime field domain");
    return NULL;
  }
  f->domain = functions;
  f->faults = o->faults;
  unsigned faults = (o->faults & GEMEL__FIELD_ANY_PRIMES ? GEMEL__CHAIN_ANY_PRIMES : 0) |
                    (o->faults & GEMEL__FIELD_GENERATOR_4 ? GEMEL__CHAIN_GENERATOR_4 : 0);
  gemel__chain_options c = {o->bits, o->length, o->constants, o->n_constants, faults};
  gemel_status status = gemel__chains_new(&f->chains, &c);
  if (status == GEMEL_OK)
    status = gemel__field_trial(&f->domain, seed, error);
  else
    gemel__fail(error, status, "no chain of %d prime fields of %d bits", o->length, o->bits);
  if (status == GEMEL_OK)
    return &f->domain;
  gemel__field_free(&f->domain);
  return NULL;
}

void gemel__field_free(gemel__domain *d) {
  if (!d)
    return;
  gemel__chains_free(field(d)->chains);
  gemel__free(d, sizeof(gemel__field));
}

/* ---- Reports ---- */

void gemel__field_reset(gemel__domain *d) {
  gemel__field *f = field(d);
  memset(&f->report, 0, sizeof f->report);
  memset(f->undecided, 0, sizeof f->undecided);
  f->report.coherent = (1u << f->chain.length) - 1;
}

const gemel__field_report *gemel__field_get_report(const gemel__domain *d) {
  return &field_of(d)->report;
}

void gemel__field_force(gemel__domain *d, gemel__tape *tape) {
  field(d)->forced = tape;
}

void gemel__field_record(gemel__domain *d, gemel__tape *tape) {
  field(d)->record = tape;
}

unsigned gemel__field_flags(const gemel__domain *d, const void *e) {
  (void)d;
  return ((const gemel__residues *)e)->flags;
}

unsigned gemel__field_rings(const gemel__domain *d, const void *e) {
  (void)d;
  return ((const gemel__residues *)e)->rings;
}

uint64_t gemel__field_residue(const gemel__domain *d, const void *e, int i) {
  return gemel__ring_leave(&field_of(d)->chain.ring[i], ((const gemel__residues *)e)->r[i]);
}

uint64_t gemel__field_prime(const gemel__domain *d, int i) {
  return field_of(d)->chain.ring[i].p;
}

double gemel__field_error_bound(const gemel__domain *d, const void *a, const void *b) {
  const gemel__field *f = field_of(d);
  unsigned rings = comparable(f, a, b);
  if (!rings)
    return 1;
  double p = (double)f->chain.ring[__builtin_ctz(rings)].p;
  return fmin(1, difference_degree(a, b) / p * (1 + 0x1p-20));
}

double gemel__field_trials(int k, double delta) {
  return k > 1000 ? INFINITY : ceil(ldexp(-log(delta), k));
}

size_t gemel__field_unmet(const gemel__domain *d) {
  return gemel__chains_unmet(field_of(d)->chains);
}
