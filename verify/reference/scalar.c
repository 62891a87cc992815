/* SPDX-License-Identifier: MIT
 *
 * References of the scalar operations: a stack machine that runs the programs of scalar.def on one
 * element at a time, over any domain. Broadcasting is NumPy's: shapes are aligned at their last
 * axes, and an axis of size 1 is repeated.
 *
 * The program is followed by one rounding, `round(dtype, ulp)`, with the ULP column of
 * lib/ops/scalar.def, so production is held to what it claims. For f16 and bf16 an operation is
 * computed in f32 and rounded once more: ULP units of f32, then half a unit of the half type. A
 * cast is one rounding, or none if the target has every number of the source. An integer dtype
 * wraps, a bool becomes (value ≠ 0).
 *
 * SELECT copies only the chosen operand, so a NaN or a missing value in the other one has no
 * effect.
 */
#include <math.h>
#include "core/dtype.h"
#include "reference/common.h"
#include "reference/twin.h"

#define STACK_DEPTH 8
#define MAX_OPERANDS 3
#define MOST_ORDER 170 /* of a derivative of digamma */

typedef struct machine {
  gemel__domain *domain;
  gemel__decider decider;
  void *block;
  void *stack[STACK_DEPTH];
  const void *operands[MAX_OPERANDS];
  gemel_dtype from, to; /* dtype of the last operand, and of the result */
  unsigned char last;   /* the program's last opcode */
  double ulp;           /* of the row */
} machine;

/* ---- Opcodes: S points at the operands, the deepest first; the result replaces it ---- */

#define PUSH_OPERAND(name, k)                                                                      \
  static void name(machine *m, void *const *s) {                                                   \
    m->domain->set(m->domain, s[0], m->operands[k]);                                               \
  }
PUSH_OPERAND(do_x, 0)
PUSH_OPERAND(do_y, 1)
PUSH_OPERAND(do_z, 2)

#define PUSH_CONSTANT(name, value)                                                                 \
  static void name(machine *m, void *const *s) {                                                   \
    m->domain->from_integer(m->domain, s[0], value);                                               \
  }
PUSH_CONSTANT(do_zero, 0)
PUSH_CONSTANT(do_one, 1)
PUSH_CONSTANT(do_two, 2)

#define UNARY(name, function)                                                                      \
  static void name(machine *m, void *const *s) {                                                   \
    m->domain->function(m->domain, s[0], s[0]);                                                    \
  }
UNARY(do_neg, neg)
UNARY(do_exp, exp)
UNARY(do_log, log)
UNARY(do_sqrt, sqrt)
UNARY(do_floor, floor)

#define BINARY(name, function)                                                                     \
  static void name(machine *m, void *const *s) {                                                   \
    m->domain->function(m->domain, s[0], s[0], s[1]);                                              \
  }
BINARY(do_add, add)
BINARY(do_sub, sub)
BINARY(do_mul, mul)
BINARY(do_div, div)
BINARY(do_pow, pow)

/* The operands are the same pointer, so a domain knows that the result isn't negative. */
static void do_square(machine *m, void *const *s) {
  m->domain->mul(m->domain, s[0], s[0], s[0]);
}

/* At 0 the result is the constant 0: +0, with derivative 0. */
static void do_abs(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  int sign = d->sign(d, s[0]);
  if (sign == 0) {
    d->set(d, s[0], m->decider.zero);
  } else if (sign == -1) {
    d->neg(d, s[0], s[0]);
  } else if (sign == GEMEL__UNORDERED && !d->ieee) {
    d->neg(d, m->decider.spare, s[0]);
    gemel__cover_larger(d, s[0], s[0], GEMEL__IF_ZERO | GEMEL__IF_POSITIVE, s[0], m->decider.spare);
    if (d->larger) {
      d->larger(d, s[0], s[0], m->decider.zero);
    }
  }
}

/* At 0 the result is the operand times 0, which keeps the sign of zero and has derivative 0. NaN
 * stays NaN. */
static void do_sign(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  int sign = d->sign(d, s[0]);
  if (sign == 0) {
    d->mul(d, s[0], s[0], m->decider.zero);
  } else if (sign != GEMEL__UNORDERED) {
    d->from_integer(d, s[0], sign);
  } else if (!d->ieee) {
    void *rest = m->decider.difference;
    d->neg(d, m->decider.spare, m->decider.one);
    d->set(d, rest, m->decider.one);
    if (d->choose) {
      d->choose(d, rest, s[0], GEMEL__IF_ZERO, m->decider.zero, rest);
    }
    gemel__cover(d, s[0], s[0], GEMEL__IF_NEGATIVE, m->decider.spare, rest);
  }
}

static void do_max(machine *m, void *const *s) {
  gemel__larger(&m->decider, s[0], s[0], s[1]);
}

static void do_min(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  d->neg(d, s[0], s[0]);
  d->neg(d, s[1], s[1]);
  gemel__larger(&m->decider, s[0], s[0], s[1]);
  d->neg(d, s[0], s[0]);
}

/* s[0] = an element that covers the larger (SIDE −1: the smaller) of s[0] and s[1], where that is
 * undecided. */
static void cover_bounded(machine *m, void *const *s, int side) {
  gemel__domain *d = m->domain;
  if (side < 0) {
    d->neg(d, s[0], s[0]);
    d->neg(d, s[1], s[1]);
  }
  gemel__cover_larger(d, s[0], m->decider.difference,
                      side < 0 ? GEMEL__IF_NEGATIVE : GEMEL__IF_POSITIVE, s[1], s[0]);
  if (side < 0) {
    d->neg(d, s[0], s[0]);
  }
}

/* s[0] = s[1] if that is larger (SIDE 1) or smaller (SIDE −1) than s[0]; NaN if either is. */
static void bounded(machine *m, void *const *s, int side) {
  gemel__domain *d = m->domain;
  int order = gemel__compare(&m->decider, s[1], s[0]);
  if (order == side) {
    d->set(d, s[0], s[1]);
  } else if (order == GEMEL__UNORDERED && d->ieee) {
    d->add(d, s[0], s[0], s[1]);
  } else if (order == GEMEL__UNORDERED) {
    cover_bounded(m, s, side);
  }
}

static void do_atleast(machine *m, void *const *s) {
  bounded(m, s, 1);
}

static void do_atmost(machine *m, void *const *s) {
  bounded(m, s, -1);
}

/* For an undecided comparison: if every possible order gives the same answer, one such order; else
 * GEMEL__UNORDERED. */
static int settled_order(machine *m, int or_less, int or_equal) {
  gemel__domain *d = m->domain;
  int signs = d->signs ? d->signs(d, m->decider.difference) : 7;
  int yes = (signs & 1 && or_less) || (signs & 2 && or_equal);
  int no = (signs & 1 && !or_less) || (signs & 2 && !or_equal) || signs & 4;
  if (yes && no) {
    return GEMEL__UNORDERED;
  }
  return no ? 1 : or_less ? -1 : 0;
}

/* s[0] = 1 or 0 by the order of s[0] and s[1]. Comparisons with NaN are false. */
static void compared(machine *m, void *const *s, int or_less, int or_equal) {
  gemel__domain *d = m->domain;
  int order = gemel__compare(&m->decider, s[0], s[1]);
  if (order == GEMEL__UNORDERED && d->signs) {
    order = settled_order(m, or_less, or_equal);
  }
  if (order == GEMEL__UNORDERED && !d->ieee) {
    unsigned when = (or_less ? 0u : GEMEL__IF_NEGATIVE) | (or_equal ? 0u : GEMEL__IF_ZERO);
    gemel__cover(d, s[0], m->decider.difference, when | GEMEL__IF_POSITIVE, m->decider.zero,
                 m->decider.one);
  } else {
    d->from_integer(d, s[0], (order == -1 && or_less) || (order == 0 && or_equal));
  }
}

static void do_lt(machine *m, void *const *s) {
  compared(m, s, 1, 0);
}

static void do_le(machine *m, void *const *s) {
  compared(m, s, 1, 1);
}

static void do_eq(machine *m, void *const *s) {
  compared(m, s, 0, 1);
}

/* A truth is 0, 1 or an element that covers both. AND is the product, OR the truth of the sum, NOT
 * 1 − a. */
static void do_and(machine *m, void *const *s) {
  gemel__truth(&m->decider, s[0], s[0]);
  gemel__truth(&m->decider, s[1], s[1]);
  m->domain->mul(m->domain, s[0], s[0], s[1]);
}

static void do_or(machine *m, void *const *s) {
  gemel__truth(&m->decider, s[0], s[0]);
  gemel__truth(&m->decider, s[1], s[1]);
  m->domain->add(m->domain, s[0], s[0], s[1]);
  gemel__truth(&m->decider, s[0], s[0]);
}

static void do_not(machine *m, void *const *s) {
  gemel__truth(&m->decider, s[0], s[0]);
  m->domain->sub(m->domain, s[0], m->decider.one, s[0]);
}

static void do_select(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  int sign = d->sign(d, s[0]);
  if (sign == GEMEL__UNORDERED && !d->ieee) {
    gemel__cover(d, s[0], s[0], GEMEL__IF_NONZERO, s[1], s[2]);
  } else {
    d->set(d, s[0], sign == 0 ? s[2] : s[1]);
  }
}

/* s[0] is a remainder by s[1]. An interval for it may be wider than what a remainder can be, so it
 * is cut to 0 … n for a known n > 0 (n … 0 for n < 0). */
static void do_remainder(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  int64_t n;
  if (!d->larger || d->state(d, s[0]) != GEMEL__DEFINED || !d->to_integer(d, s[1], &n) || n == 0) {
    return;
  }
  if (n < 0) {
    d->neg(d, s[0], s[0]);
    d->neg(d, s[1], s[1]);
  }
  if (!gemel__is_float(m->to)) {
    d->sub(d, s[1], s[1], m->decider.one);
  }
  d->larger(d, s[0], s[0], m->decider.zero);
  d->neg(d, s[0], s[0]);
  d->neg(d, s[1], s[1]);
  d->larger(d, s[0], s[0], s[1]);
  if (n > 0) {
    d->neg(d, s[0], s[0]);
  }
}

/* ---- Integer powers: by squaring, wrapping at each step ---- */

/* e = base^exponent, 0 ≤ EXPONENT. SQUARE (which holds the base) is overwritten. */
static void wrapped_power(machine *m, void *e, void *square, uint64_t exponent) {
  gemel__domain *d = m->domain;
  d->from_integer(d, e, 1);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) {
      d->mul(d, e, e, square);
      d->round(d, e, m->to, 0);
    }
    d->mul(d, square, square, square);
    d->round(d, square, m->to, 0);
  }
}

/* base^EXPONENT for a negative exponent: 1 of 1, ±1 of −1, 0 of everything else. */
static void negative_power(machine *m, void *base, int64_t exponent) {
  gemel__domain *d = m->domain;
  gemel__decider *w = &m->decider;
  d->neg(d, w->spare, w->one);
  int64_t result = 0;
  if (gemel__compare(w, base, w->one) == 0) {
    result = 1;
  } else if (gemel__compare(w, base, w->spare) == 0) {
    result = exponent % 2 == 0 ? 1 : -1;
  }
  d->from_integer(d, base, result);
}

/* *EXPONENT = the exponent, if it is known. *LOW is the same as an int64_t; for a u64 of 2^63 or
 * more, less 2^63. */
static int read_exponent(machine *m, const void *e, int64_t *low, uint64_t *exponent) {
  gemel__domain *d = m->domain;
  if (d->to_integer(d, e, low)) {
    *exponent = (uint64_t)*low;
    return 1;
  }
  if (m->to != GEMEL_U64) {
    return 0;
  }
  d->from_unsigned(d, m->decider.spare, (uint64_t)1 << 63);
  d->sub(d, m->decider.spare, e, m->decider.spare);
  if (!d->to_integer(d, m->decider.spare, low) || *low < 0) {
    return 0;
  }
  *exponent = (uint64_t)*low + ((uint64_t)1 << 63);
  return 1;
}

static void do_intpow(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  int64_t low;
  uint64_t exponent;
  if (!read_exponent(m, s[1], &low, &exponent)) {
    d->pow(d, s[0], s[0], s[1]);
  } else if (gemel_dtype_kind(m->to) == GEMEL_KIND_SIGNED && low < 0) {
    negative_power(m, s[0], low);
  } else {
    d->set(d, m->decider.spare, s[0]);
    wrapped_power(m, s[0], m->decider.spare, exponent);
  }
}

/* ---- Bits ---- */

/* s[0] = the integer whose bits TABLE gives for those of s[0] and s[1], bit by bit: bit 2 a + b of
 * it for a and b. */
static void combined(machine *m, void *const *s, unsigned table) {
  gemel__domain *d = m->domain;
  int64_t low;
  uint64_t a, b, sum = 0;
  if (!read_exponent(m, s[0], &low, &a) || !read_exponent(m, s[1], &low, &b)) {
    d->set_state(d, s[0], GEMEL__UNDECIDED);
    return;
  }
  for (unsigned k = 0; k < 64; k++, a /= 2, b /= 2) {
    sum += (uint64_t)(table >> (2 * (a % 2) + b % 2) & 1) << k;
  }
  if (gemel_dtype_kind(m->to) == GEMEL_KIND_SIGNED) {
    d->from_integer(d, s[0], (int64_t)sum);
  } else {
    d->from_unsigned(d, s[0], sum);
  }
}

static void do_bits_and(machine *m, void *const *s) {
  combined(m, s, 8);
}

static void do_bits_or(machine *m, void *const *s) {
  combined(m, s, 14);
}

static void do_bits_xor(machine *m, void *const *s) {
  combined(m, s, 6);
}

/* s[0] = 2 to the power s[0], or, if that is negative or more than its bits, to their number. */
static void do_shift(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  uint64_t bits = 8 * gemel_dtype_size(m->to), by;
  int64_t low;
  if (!read_exponent(m, s[0], &low, &by)) {
    d->set_state(d, s[0], GEMEL__UNDECIDED);
    return;
  }
  d->from_integer(d, s[0], 1);
  for (uint64_t k = 0; k < (by < bits ? by : bits); k++) {
    d->add(d, s[0], s[0], s[0]);
  }
}

/* ---- Casts ---- */

/* e = e rounded towards 0. */
static void truncate(machine *m, void *e) {
  gemel__domain *d = m->domain;
  void *up = m->decider.spare;
  int sign = d->sign(d, e);
  if (sign == 0 || sign == 1) {
    d->floor(d, e, e);
    return;
  }
  d->neg(d, up, e);
  d->floor(d, up, up);
  d->neg(d, up, up);
  if (sign == -1) {
    d->set(d, e, up);
    return;
  }
  d->set(d, m->decider.difference, e);
  d->floor(d, e, e);
  gemel__cover(d, e, m->decider.difference, GEMEL__IF_ZERO | GEMEL__IF_POSITIVE, e, up);
}

static void do_trunc(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  if (!d->ieee || d->sign(d, s[0]) != GEMEL__UNORDERED) {
    truncate(m, s[0]);
  }
}

/* 1 if e is an even integer. HALF is overwritten. */
static int is_even(machine *m, const void *e, void *half) {
  gemel__domain *d = m->domain;
  d->add(d, half, m->decider.one, m->decider.one);
  d->div(d, half, e, half);
  d->floor(d, m->decider.spare, half);
  return gemel__compare(&m->decider, half, m->decider.spare) == 0;
}

/* s[0] rounded to the nearer one of its floor and its ceiling, of equal distances to the even one.
 * Overwrites s[1] to s[4]. What is an integer, or infinite, is its own floor. */
static void do_round(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  void *low = s[1], *high = s[2];
  d->floor(d, low, s[0]);
  int order = gemel__compare(&m->decider, s[0], low);
  d->neg(d, high, s[0]);
  d->floor(d, high, high);
  d->neg(d, high, high);
  if (order == 0 || (order == GEMEL__UNORDERED && d->ieee)) {
    d->set(d, s[0], low);
    return;
  }
  d->sub(d, s[3], s[0], low);
  d->sub(d, s[4], high, s[0]);
  order = gemel__compare(&m->decider, s[3], s[4]);
  if (order == GEMEL__UNORDERED) {
    gemel__cover(d, s[0], m->decider.difference, GEMEL__IF_NEGATIVE | GEMEL__IF_ZERO, low, high);
  } else {
    d->set(d, s[0], order < 0 || (order == 0 && is_even(m, low, s[3])) ? low : high);
  }
}

/* LOW and HIGH = the least and the greatest number of an integer dtype. */
static void limits(gemel__domain *d, gemel_dtype dtype, void *low, void *high) {
  int bits = 8 * (int)gemel_dtype_size(dtype);
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_UNSIGNED) {
    d->from_integer(d, low, 0);
    d->from_unsigned(d, high, UINT64_MAX >> (64 - bits));
  } else {
    d->from_integer(d, low, INT64_MIN >> (64 - bits));
    d->from_integer(d, high, INT64_MAX >> (64 - bits));
  }
}

/* Casts a float to an integer dtype: NaN becomes 0, the rest is truncated and clamped to the
 * dtype's range. Overwrites s[1] and s[2]. */
static void saturate(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  if (d->ieee && d->sign(d, s[0]) == GEMEL__UNORDERED) {
    d->from_integer(d, s[0], 0);
    return;
  }
  truncate(m, s[0]);
  limits(d, m->to, s[1], s[2]);
  bounded(m, s, 1);
  d->set(d, s[1], s[2]);
  bounded(m, s, -1);
}

static void do_convert(machine *m, void *const *s) {
  gemel_kind to = gemel_dtype_kind(m->to);
  int from_float = gemel__is_float(m->from);
  if (to == GEMEL_KIND_BOOL) {
    gemel__truth(&m->decider, s[0], s[0]);
  } else if (from_float && to != GEMEL_KIND_FLOAT) {
    saturate(m, s);
  }
}

/* ---- Functions that domains have by a table ---- */

#define FUNCTION(word, ...)                                                                        \
  static void do_##word(machine *m, void *const *s) {                                              \
    m->domain->apply(m->domain, s[0], GEMEL__REAL_##word, s[0]);                                   \
  }
#include "domains/functions.def"
#undef FUNCTION

/* ---- Derivatives of digamma ---- */

/* s[0] = that of order s[0] at s[1]. In domain S of all orders that there are; else of those in the
 * table. */
static void do_polygamma(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  int64_t order;
  int known = d->to_integer(d, s[0], &order);
  if (d->state(d, s[0]) != GEMEL__DEFINED) {
    return;
  }
  if (known ? order < 0 || order > MOST_ORDER : d->ieee) {
    d->from_double(d, s[0], NAN);
  } else if (d->polygamma != NULL) {
    d->polygamma(d, s[0], (unsigned long)order, s[1]);
  } else if (known && order < GEMEL__POLYGAMMAS) {
    d->apply(d, s[0], (gemel__real_function)(GEMEL__REAL_POLYGAMMA0 + order), s[1]);
  } else {
    d->set_state(d, s[0], GEMEL__UNDECIDED);
  }
}

/* s[0], unless it is less than four times s[1]: a term that it is made of, whose rounding then
 * tells. */
static void do_prevailing(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  for (int k = 0; k < 2; k++) {
    d->add(d, s[1], s[1], s[1]);
  }
  d->mul(d, m->decider.spare, s[0], s[0]);
  d->mul(d, s[1], s[1], s[1]);
  if (gemel__compare(&m->decider, m->decider.spare, s[1]) == -1) {
    d->set_state(d, s[0], GEMEL__UNDECIDED);
  }
}

/* s[0] = s[1], which depends on what side of 0 s[0] is: a 0 may have either sign. */
static void do_beside(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  int sign = d->sign(d, s[0]);
  d->set(d, s[0], s[1]);
  if (sign == 0) {
    d->set_state(d, s[0], GEMEL__UNDECIDED);
  }
}

/* A result on the way, as the last one is. */
static void do_rounded(machine *m, void *const *s) {
  gemel__store(&m->decider, s[0], m->to, m->ulp);
}

/* ---- In domain S alone ---- */

/* Python's % from fmod, which is exact. If the remainder's sign differs from the divisor's, the
 * divisor is added (so −1 % inf is inf). A zero remainder gets the divisor's sign. */
static void do_ieee_mod(machine *m, void *const *s) {
  gemel__domain *d = m->domain;
  d->fmod(d, s[0], s[0], s[1]);
  int sign = d->sign(d, s[0]);
  if (sign == 0) {
    d->from_double(d, s[0], d->sign(d, s[1]) < 0 ? -0.0 : 0.0);
  } else if (sign != GEMEL__UNORDERED && sign != d->sign(d, s[1])) {
    d->add(d, s[0], s[0], s[1]);
  }
}

static void do_ieee_fmod(machine *m, void *const *s) {
  m->domain->fmod(m->domain, s[0], s[0], s[1]);
}

static void do_ieee_atan2(machine *m, void *const *s) {
  m->domain->atan2(m->domain, s[0], s[0], s[1]);
}

/* ---- The machine ---- */

/* T(opcode, operands, function) */
#define OPCODES(T)                                                                                 \
  T(X, 0, do_x)                                                                                    \
  T(Y, 0, do_y)                                                                                    \
  T(Z, 0, do_z)                                                                                    \
  T(ZERO, 0, do_zero)                                                                              \
  T(ONE, 0, do_one)                                                                                \
  T(TWO, 0, do_two)                                                                                \
  T(ADD, 2, do_add)                                                                                \
  T(SUB, 2, do_sub)                                                                                \
  T(MUL, 2, do_mul)                                                                                \
  T(DIV, 2, do_div)                                                                                \
  T(POW, 2, do_pow)                                                                                \
  T(INTPOW, 2, do_intpow)                                                                          \
  T(NEG, 1, do_neg)                                                                                \
  T(EXP, 1, do_exp)                                                                                \
  T(LOG, 1, do_log)                                                                                \
  T(SQRT, 1, do_sqrt)                                                                              \
  T(FLOOR, 1, do_floor)                                                                            \
  T(TRUNC, 1, do_trunc)                                                                            \
  T(ROUND, 1, do_round)                                                                            \
  T(SQUARE, 1, do_square)                                                                          \
  T(REMAINDER, 2, do_remainder)                                                                    \
  T(IEEE_MOD, 2, do_ieee_mod)                                                                      \
  T(IEEE_FMOD, 2, do_ieee_fmod)                                                                    \
  T(IEEE_ATAN2, 2, do_ieee_atan2)                                                                  \
  T(POLYGAMMA, 2, do_polygamma)                                                                    \
  T(ROUNDED, 1, do_rounded)                                                                        \
  T(BESIDE, 2, do_beside)                                                                          \
  T(PREVAILING, 2, do_prevailing)                                                                  \
  T(BITS_AND, 2, do_bits_and)                                                                      \
  T(BITS_OR, 2, do_bits_or)                                                                        \
  T(BITS_XOR, 2, do_bits_xor)                                                                      \
  T(SHIFT, 1, do_shift)                                                                            \
  T(ABS, 1, do_abs)                                                                                \
  T(SIGN, 1, do_sign)                                                                              \
  T(MAX, 2, do_max)                                                                                \
  T(MIN, 2, do_min)                                                                                \
  T(ATLEAST, 2, do_atleast)                                                                        \
  T(ATMOST, 2, do_atmost)                                                                          \
  T(SELECT, 3, do_select)                                                                          \
  T(CONVERT, 1, do_convert)                                                                        \
  T(LT, 2, do_lt)                                                                                  \
  T(LE, 2, do_le)                                                                                  \
  T(EQ, 2, do_eq)                                                                                  \
  T(AND, 2, do_and)                                                                                \
  T(OR, 2, do_or)                                                                                  \
  T(NOT, 1, do_not)

enum {
#define OPCODE_ENUM(opcode, operands, function) opcode,
  OPCODES(OPCODE_ENUM)
#undef OPCODE_ENUM
#define FUNCTION(word, ...) word,
#include "domains/functions.def"
#undef FUNCTION
      END, /* ends every program */
  SAME     /* "as the first program" */
};

static const struct {
  unsigned char operands;
  void (*run)(machine *m, void *const *s);
} opcodes[] = {
#define OPCODE_ENTRY(opcode, operands, function) {operands, function},
    OPCODES(OPCODE_ENTRY)
#undef OPCODE_ENTRY
#define FUNCTION(word, ...) {1, do_##word},
#include "domains/functions.def"
#undef FUNCTION
};

typedef struct twin {
  int arity;
  double ulp;
  const unsigned char *program, *integers, *ieee;
} twin;

static gemel_status check_program(const unsigned char *program, gemel_error *error) {
  int depth = 0;
  for (; *program != END; program++) {
    depth -= opcodes[*program].operands;
    if (depth < 0 || ++depth > STACK_DEPTH) {
      return gemel__fail(error, GEMEL_INTERNAL,
                         "a program of verify/reference/scalar.def "
                         "runs over its stack");
    }
  }
  return depth == 1 ? GEMEL_OK
                    : gemel__fail(error, GEMEL_INTERNAL,
                                  "a program of verify/reference/scalar.def leaves no result");
}

/* Runs PROGRAM; the result is in stack[0]. */
static void run(machine *m, const unsigned char *program) {
  void *const *top = m->stack;
  for (; *program != END; program++) {
    top -= opcodes[*program].operands;
    opcodes[*program].run(m, top);
    top++;
  }
}

static gemel_status machine_init(machine *m, gemel__domain *d, gemel_error *error) {
  m->domain = d;
  m->block = gemel__elements_new(d, STACK_DEPTH);
  if (!m->block) {
    return gemel__no_memory(error, "elements of a reference");
  }
  for (size_t i = 0; i < STACK_DEPTH; i++) {
    m->stack[i] = gemel__element(d, m->block, i);
  }
  gemel_status status = gemel__decider_init(&m->decider, d, error);
  if (status != GEMEL_OK) {
    gemel__elements_free(d, m->block, STACK_DEPTH);
  }
  return status;
}

static void machine_clear(machine *m) {
  gemel__decider_clear(&m->decider);
  gemel__elements_free(m->domain, m->block, STACK_DEPTH);
}

/* ---- Rows ---- */

static const unsigned char *choose_program(const gemel__rcall *call, const twin *t) {
  gemel_dtype dtype = call->inputs[call->n_inputs - 1]->dtype;
  if (!gemel__is_float(dtype)) {
    return t->integers[0] == SAME ? t->program : t->integers;
  }
  return call->domain->fmod != NULL && t->ieee[0] != SAME ? t->ieee : t->program;
}

static unsigned char last_opcode(const unsigned char *program) {
  unsigned char last = END;
  for (; *program != END; program++) {
    last = *program;
  }
  return last;
}

/* 1 if OPCODE's result is a truth. */
static int gives_truth(unsigned char opcode) {
  return opcode >= LT && opcode <= NOT;
}

static gemel_dtype result_dtype(const gemel__rcall *call, unsigned char last) {
  if (last == CONVERT) {
    return call->attrs[0].u.dtype;
  }
  return gives_truth(last) ? GEMEL_BOOL : call->inputs[call->n_inputs - 1]->dtype;
}

/* *RANK and SHAPE = those to which the operands broadcast, by NumPy's rule. */
static gemel_status broadcast(const gemel__rcall *call, int *rank, int64_t *shape) {
  *rank = 0;
  for (size_t i = 0; i < call->n_inputs; i++) {
    *rank = call->inputs[i]->rank > *rank ? call->inputs[i]->rank : *rank;
  }
  for (int k = 0; k < *rank; k++) {
    shape[k] = 1;
    for (size_t i = 0; i < call->n_inputs; i++) {
      int axis = k - (*rank - call->inputs[i]->rank);
      int64_t size = axis < 0 ? 1 : call->inputs[i]->shape[axis];
      if (size != 1 && shape[k] != 1 && size != shape[k]) {
        return gemel__fail(call->error, GEMEL_BAD_SHAPE, "sizes %lld and %lld don't broadcast",
                           (long long)shape[k], (long long)size);
      }
      shape[k] = size != 1 ? size : shape[k];
    }
  }
  return GEMEL_OK;
}

static const void *broadcast_element(const gemel__rtensor *t, int rank, const int64_t *index) {
  int64_t own[GEMEL_MAX_RANK];
  for (int k = 0; k < t->rank; k++) {
    own[k] = t->shape[k] == 1 ? 0 : index[rank - t->rank + k];
  }
  return gemel__rtensor_index(t, own);
}

/* Rounds the result, in stack[0]. */
static void store(machine *m, const twin *t) {
  gemel__domain *d = m->domain;
  if (gives_truth(m->last) || (m->to == GEMEL_BOOL && m->last == CONVERT)) {
    return;
  }
  if (m->last == CONVERT) {
    d->round(d, m->stack[0], m->to, gemel__exact_cast(m->from, m->to) ? 0 : t->ulp);
  } else if (t->ulp == 0 && m->to != GEMEL_BOOL) {
    d->round(d, m->stack[0], m->to, 0);
  } else {
    gemel__store(&m->decider, m->stack[0], m->to, t->ulp);
  }
}

static void fill_output(machine *m, gemel__rcall *call, const twin *t,
                        const unsigned char *program) {
  gemel__rtensor *out = &call->outputs[0];
  int64_t index[GEMEL_MAX_RANK] = {0};
  for (size_t i = 0; i < out->count; i++) {
    for (size_t k = 0; k < call->n_inputs; k++) {
      m->operands[k] = broadcast_element(call->inputs[k], out->rank, index);
    }
    run(m, program);
    store(m, t);
    call->domain->set(call->domain, gemel__rtensor_at(out, i), m->stack[0]);
    gemel__index_next(out->rank, out->shape, index);
  }
}

/* Fails unless all operands have one dtype, except the condition of `where`. */
static gemel_status check_operands(const gemel__rcall *call, const twin *t) {
  if (call->n_inputs != (size_t)t->arity) {
    return gemel__fail(call->error, GEMEL_INTERNAL, "%d operands wanted, %zu given", t->arity,
                       call->n_inputs);
  }
  for (size_t k = 1; k + 1 < call->n_inputs; k++) {
    if (call->inputs[k]->dtype != call->inputs[k + 1]->dtype) {
      return gemel__fail(call->error, GEMEL_BAD_TYPE, "operands of different dtypes");
    }
  }
  return GEMEL_OK;
}

static gemel_status evaluate(gemel__rcall *call, const twin *t) {
  machine m;
  int rank;
  int64_t shape[GEMEL_MAX_RANK];
  GEMEL__TRY(check_operands(call, t));
  const unsigned char *program = choose_program(call, t);
  m.from = call->inputs[call->n_inputs - 1]->dtype;
  m.last = last_opcode(program);
  m.ulp = t->ulp;
  m.to = result_dtype(call, m.last);
  GEMEL__TRY(check_program(program, call->error));
  GEMEL__TRY(broadcast(call, &rank, shape));
  GEMEL__TRY(gemel__reference_output(call, 0, m.to, rank, shape));
  GEMEL__TRY(machine_init(&m, call->domain, call->error));
  fill_output(&m, call, t, program);
  machine_clear(&m);
  return GEMEL_OK;
}

/* The ULPs that production claims, and is held to. */
#define SCALAR(name, inputs, attributes, code, floats, integers, derivatives, domains, ulp, ...)   \
  static const double ulp_##name = ulp;
#include "ops/scalar.def"
#undef SCALAR

#define LIST(...) __VA_ARGS__
#define TWIN(name, arity, kind, linearity, program, integers, ieee, inverse)                       \
  static gemel_status reference_##name(gemel__rcall *call) {                                       \
    static const unsigned char first[] = {LIST program, END}, second[] = {LIST integers, END},     \
                               third[] = {LIST ieee, END};                                         \
    const twin t = {arity, ulp_##name, first, second, third};                                      \
    return evaluate(call, &t);                                                                     \
  }                                                                                                \
  const gemel__twin gemel__twin_##name = {.reference = reference_##name,                           \
                                          .sample = gemel__sampler_scalar,                         \
                                          .propose = gemel__propose_elementwise,                   \
                                          .invert = inverse,                                       \
                                          .arithmetic = GEMEL__##kind,                             \
                                          .linear = GEMEL__##linearity};
#include "reference/scalar.def"
#undef TWIN
