/* SPDX-License-Identifier: MIT
 *
 * Domain M: see machine.h. What can't be exact gets a state, and what is computed from it inherits
 * that, so no error has to be followed.
 */
#include "domains/machine.h"

#include <math.h>
#include <stdio.h>
#include "core/dtype.h"

typedef struct machine_number {
  double x;
  gemel__state state;
} machine_number;

/* Multiples of 1/128 of up to MOST have the 24 digits of f32, in which the half types are summed.
 */
static const double most = 0x1p17, parts = 0x1p7;

/* E = X, unless a correct implementation might have rounded it. */
static void settle(machine_number *e, double x, gemel__state state) {
  int exact = fabs(x) <= most && x * parts == rint(x * parts);
  e->x = exact ? x : 0;
  e->state = exact || state > GEMEL__UNDECIDED ? state : GEMEL__UNDECIDED;
}

static gemel__state worse(const machine_number *a, const machine_number *b) {
  return a->state > b->state ? a->state : b->state;
}

/* ---- Elements ---- */

static void machine_init(gemel__domain *d, void *e) {
  (void)d;
  *(machine_number *)e = (machine_number){0, GEMEL__DEFINED};
}

static void machine_clear(gemel__domain *d, void *e) {
  (void)d;
  (void)e;
}

static void machine_set(gemel__domain *d, void *e, const void *a) {
  (void)d;
  *(machine_number *)e = *(const machine_number *)a;
}

static gemel__state machine_state(gemel__domain *d, const void *e) {
  (void)d;
  return ((const machine_number *)e)->state;
}

static void machine_set_state(gemel__domain *d, void *e, gemel__state state) {
  (void)d;
  ((machine_number *)e)->state = state;
}

static void from_double(gemel__domain *d, void *e, double x) {
  (void)d;
  settle(e, x, isnan(x) ? GEMEL__UNDEFINED : GEMEL__DEFINED);
}

static void from_integer(gemel__domain *d, void *e, int64_t x) {
  from_double(d, e, (double)x);
}

static void from_unsigned(gemel__domain *d, void *e, uint64_t x) {
  from_double(d, e, (double)x);
}

static int to_integer(gemel__domain *d, const void *e, int64_t *x) {
  const machine_number *a = e;
  (void)d;
  if (a->state != GEMEL__DEFINED || a->x != rint(a->x)) {
    return 0;
  }
  *x = (int64_t)a->x;
  return 1;
}

/* ---- Arithmetic ---- */

#define BINARY(name, value)                                                                        \
  static void machine_##name(gemel__domain *d, void *e, const void *left, const void *right) {     \
    const machine_number *a = left, *b = right;                                                    \
    (void)d;                                                                                       \
    settle(e, value, worse(a, b));                                                                 \
  }
BINARY(add, a->x + b->x)
BINARY(sub, a->x - b->x)
BINARY(mul, a->x * b->x)

static void machine_neg(gemel__domain *d, void *e, const void *operand) {
  const machine_number *a = operand;
  (void)d;
  settle(e, -a->x, a->state);
}

/* By a power of two: a kernel may multiply by a rounded inverse of other numbers. */
static void machine_div(gemel__domain *d, void *e, const void *left, const void *right) {
  const machine_number *a = left, *b = right;
  int exponent;
  int exact = fabs(frexp(b->x, &exponent)) == 0.5;
  gemel__state state = worse(a, b);
  (void)d;
  settle(e, exact ? a->x / b->x : 0, exact || state > GEMEL__UNDECIDED ? state : GEMEL__UNDECIDED);
}

static void machine_floor(gemel__domain *d, void *e, const void *operand) {
  const machine_number *a = operand;
  (void)d;
  settle(e, floor(a->x), a->state);
}

/* Exact in every order if the magnitudes together are. */
static void machine_sum(gemel__domain *d, void *e, size_t n, const void *const *addends) {
  double x = 0, magnitudes = 0;
  gemel__state state = GEMEL__DEFINED;
  (void)d;
  for (size_t k = 0; k < n; k++) {
    const machine_number *a = addends[k];
    x += a->x;
    magnitudes += fabs(a->x);
    state = a->state > state ? a->state : state;
  }
  settle(e, magnitudes <= most ? x : NAN, state);
}

/* ---- Functions, of which no value is known to be exact ---- */

static void unknown(void *e, const machine_number *a, const machine_number *b) {
  settle(e, 0, b != NULL ? worse(a, b) : a->state);
  ((machine_number *)e)->state = ((machine_number *)e)->state > GEMEL__UNDECIDED
                                     ? ((machine_number *)e)->state
                                     : GEMEL__UNDECIDED;
}

static void function(gemel__domain *d, void *e, const void *a) {
  (void)d;
  unknown(e, a, NULL);
}

static void apply(gemel__domain *d, void *e, gemel__real_function f, const void *a) {
  (void)d;
  (void)f;
  unknown(e, a, NULL);
}

static void machine_pow(gemel__domain *d, void *e, const void *a, const void *b) {
  (void)d;
  unknown(e, a, b);
}

/* ---- Decisions, storing ---- */

static int machine_sign(gemel__domain *d, const void *e) {
  const machine_number *a = e;
  (void)d;
  return a->state != GEMEL__DEFINED ? GEMEL__UNORDERED : (a->x > 0) - (a->x < 0);
}

/* X modulo 2^BITS, in the range of a dtype of so many bits. */
static double wrapped(double x, int bits, int is_signed) {
  double all = ldexp(1, bits), r = x - floor(x / all) * all;
  return is_signed && r >= all / 2 ? r - all : r;
}

static void machine_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  machine_number *a = e;
  int bits = 8 * (int)gemel_dtype_size(dtype), exponent;
  (void)d;
  (void)ulps;
  if (a->state != GEMEL__DEFINED) {
    return;
  }
  if (gemel__is_float(dtype)) {
    double digits = ldexp(frexp(a->x, &exponent), gemel__dtype_format(dtype)->digits);
    a->state = digits == rint(digits) && fabs(a->x) <= gemel__largest(dtype) ? GEMEL__DEFINED
                                                                             : GEMEL__UNDECIDED;
  } else if (dtype == GEMEL_BOOL) {
    a->x = a->x != 0;
  } else if (a->x != rint(a->x) || (bits == 64 && dtype == GEMEL_U64 && a->x < 0)) {
    a->state = GEMEL__UNDECIDED;
  } else if (bits < 64) {
    a->x = wrapped(a->x, bits, gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED);
  }
}

static int machine_equal(gemel__domain *d, const void *left, const void *right) {
  const machine_number *a = left, *b = right;
  (void)d;
  return worse(a, b) != GEMEL__DEFINED ? -1 : a->x == b->x;
}

static void format(gemel__domain *d, const void *e, char *text, size_t bytes) {
  const machine_number *a = e;
  (void)d;
  snprintf(text, bytes, a->state == GEMEL__DEFINED ? "%.17g" : "undecided", a->x);
}

double gemel__machine_value(const void *e) {
  return ((const machine_number *)e)->x;
}

gemel__domain *gemel__machine(void) {
  static gemel__domain domain = {.name = "machine",
                                 .bytes = sizeof(machine_number),
                                 .init = machine_init,
                                 .clear = machine_clear,
                                 .set = machine_set,
                                 .from_double = from_double,
                                 .from_integer = from_integer,
                                 .from_unsigned = from_unsigned,
                                 .add = machine_add,
                                 .sub = machine_sub,
                                 .mul = machine_mul,
                                 .div = machine_div,
                                 .neg = machine_neg,
                                 .exp = function,
                                 .log = function,
                                 .sqrt = function,
                                 .apply = apply,
                                 .pow = machine_pow,
                                 .floor = machine_floor,
                                 .sum = machine_sum,
                                 .sign = machine_sign,
                                 .round = machine_round,
                                 .to_integer = to_integer,
                                 .state = machine_state,
                                 .set_state = machine_set_state,
                                 .equal = machine_equal,
                                 .format = format};
  return &domain;
}
