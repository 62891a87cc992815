/* SPDX-License-Identifier: MIT
 *
 * Facts of elements, as rows say them: from what is known of an operation's operands, what is known
 * of its result. A fact holds for the arithmetic as it is done, not for the reals: floats
 * underflow, so a product of positive numbers may be 0; -0 counts as not below 0, so 1 divided by
 * what is only "not below 0" may be -inf; integers wrap, so their squares, sums and even absolute
 * values may be negative. That floats are rounded doesn't matter, since rounding keeps signs and
 * order. rules/facts.c asks the rows.
 */
#ifndef GEMEL__OPS_FACTS_H
#define GEMEL__OPS_FACTS_H

#include <gemel/dtype.h>

enum {
  GEMEL__NONNEGATIVE = 1 << 0, /* no element < 0 (NaN and -0 may be among them) */
  GEMEL__NONZERO = 1 << 1,     /* no element == 0 (NaN may be) */
  GEMEL__NOT_NAN = 1 << 2,     /* no element is NaN */
  GEMEL__FINITE = 1 << 3,      /* no element is NaN or infinite; comes with NOT_NAN */
  /* no element <= 0 (NaN may be) */
  GEMEL__POSITIVE = GEMEL__NONNEGATIVE | GEMEL__NONZERO
};

struct gemel__fact_call {
  unsigned of[3];       /* what is known of the first operands, of those that there are */
  unsigned all;         /* what is known of all operands */
  gemel_dtype from, to; /* of operand 0 and of the result */
  int is_float;         /* the result is of a float dtype */
  int twice;            /* operands 0 and 1 are the same value */
};

/* FACTS if CONDITION. */
static inline unsigned gemel__facts_if(int condition, unsigned facts) {
  return condition ? facts : 0;
}

/* Of operations that take elements from their first two operands, and of those that give none below
 * 0 whatever they are given. */
unsigned gemel__facts_first_two(const struct gemel__fact_call *call);
unsigned gemel__facts_nonnegative(const struct gemel__fact_call *call);

#endif
