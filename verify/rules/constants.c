/* SPDX-License-Identifier: MIT
 *
 * Draws constants, see constants.h. A rule that asks about constants may be wrong for those that
 * its author didn't think of: infinities, NaN, −0, numbers that overflow, numbers that a narrower
 * dtype can't hold, and those at and beside the numbers in the rule.
 */
#include "rules/constants.h"

#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "rules/functions.h"
#include "instances/instance.h"
#include "sample/points.h"

/* ---- The numbers in a rule ---- */

static void name(gemel__rule_numbers *numbers, double x) {
  size_t k = 0;
  while (k < numbers->count && numbers->at[k] != x) {
    k++;
  }
  if (k == numbers->count && k < sizeof numbers->at / sizeof *numbers->at && x == x) {
    numbers->at[numbers->count++] = x;
  }
}

void gemel__rule_numbers_in(const gemel__termexpr *expr, gemel__rule_numbers *numbers) {
  for (uint32_t k = 0; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k];
    if (code->kind == GEMEL__TERMCODE_NUMBER) {
      name(numbers, (double)code->value);
    } else if (code->kind == GEMEL__TERMCODE_REAL) {
      name(numbers, code->real);
    } else if (code->kind == GEMEL__TERMCODE_FUNCTION &&
               code->index == GEMEL__FUNCTION_power_of_two) {
      numbers->powers = 1;
    }
  }
}

static void name_side(gemel__rule_numbers *numbers, const gemel__rule_side *side) {
  for (uint32_t k = 0; k < side->count; k++) {
    gemel__rule_numbers_in(&side->nodes[k].output, numbers);
    if (side->nodes[k].kind == GEMEL__PATTERN_LITERAL) {
      name(numbers, gemel__number_double(&side->nodes[k].number));
    }
    for (uint32_t j = 0; j < side->nodes[k].n_attrs; j++) {
      gemel__rule_numbers_in(&side->nodes[k].attrs[j], numbers);
    }
  }
}

void gemel__rule_numbers_of(const struct gemel_rule *rule, gemel__rule_numbers *numbers) {
  memset(numbers, 0, sizeof *numbers);
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    gemel__rule_numbers_in(&rule->conditions[k], numbers);
  }
  name_side(numbers, &rule->left);
  name_side(numbers, &rule->right);
}

/* ---- Floats ---- */

/* 1 if X has at most five binary digits and a small exponent. */
static int is_short(double x) {
  int exponent;
  double digits = ldexp(frexp(x, &exponent), 5);
  return digits == trunc(digits) && fabs(x) < 0x1p10 && (x == 0 || fabs(x) > 0x1p-10);
}

static double short_number(gemel__random *random) {
  static const double values[] = {0, 1, -1, 2, 0.5, 3, -0.0, -2, 4, 10, 0.25, -0.5, 0.125, 7};
  return values[gemel__random_below(random, sizeof values / sizeof *values)];
}

/* A number at or beside one in the rule. */
static double named_number(const gemel__rule_numbers *numbers, gemel__random *random) {
  double c = numbers->at[gemel__random_below(random, numbers->count)];
  double single = (double)nextafterf((float)c, c > 0 ? 0 : INFINITY);
  double above = (double)nextafterf((float)c, INFINITY);
  const double around[] = {c,      c,     c + 1, c - 1,
                           -c,     2 * c, c / 2, nextafter(c, INFINITY),
                           single, above, c,     nextafter(c, -INFINITY)};
  return around[gemel__random_below(random, sizeof around / sizeof *around)];
}

/* A power of two from the range of a float DTYPE, often near one of its ends. */
static double draw_power(gemel_dtype dtype, gemel__random *random) {
  enum { NEAR = 7 };
  const gemel__format *format = gemel__dtype_format(dtype);
  int lowest = gemel__format_unit(format), highest = format->highest;
  switch (gemel__random_below(random, 3)) {
  case 0:
    highest = lowest + NEAR;
    break;
  case 1:
    lowest = highest - NEAR;
    break;
  default:
    break;
  }
  return ldexp(1, (int)gemel__random_between(random, lowest, highest));
}

/* A number at an end of the range or precision of DTYPE or of a narrower dtype, a power of two, or
 * an ordinary number. If POWERS, half are powers of two. */
static double wide_number(gemel_dtype dtype, int powers, gemel__random *random) {
  static const gemel_dtype narrower[] = {GEMEL_F16, GEMEL_BF16, GEMEL_F32};
  static const double ordinary[] = {1.0 / 3, 0.1, 300, 127.5, 1e10, 0x1p31, 0x1p63, 0x1p64};
  gemel_dtype of =
      gemel__random_chance(random, 1, 2) ? dtype : narrower[gemel__random_below(random, 3)];
  double top = ldexp(1, gemel__dtype_format(of)->digits), largest = gemel__largest(of);
  const double ends[] = {largest,
                         largest + largest / 2 / top,
                         gemel__least_normal(of),
                         gemel__least_subnormal(of),
                         top,
                         top + 1,
                         1 + 2 / top,
                         1 - 1 / top};
  double sign = gemel__random_sign(random);
  if (powers && gemel__random_chance(random, 1, 2)) {
    return sign * draw_power(dtype, random);
  }
  switch (gemel__random_below(random, 4)) {
  case 0:
    return sign * gemel__random_magnitude(random, -3, 3);
  case 1:
    return sign * draw_power(of, random);
  case 2:
    return sign * ordinary[gemel__random_below(random, sizeof ordinary / sizeof *ordinary)];
  default:
    return sign * ends[gemel__random_below(random, sizeof ends / sizeof *ends)];
  }
}

static double real_constant(const gemel__rule_numbers *numbers, gemel__constants_kind kind,
                            gemel_dtype dtype, gemel__random *random) {
  int wide = kind == GEMEL__CONSTANTS_WIDE;
  double x;
  if (numbers->length > 0 && gemel__random_chance(random, 1, 2)) {
    return (double)(numbers->length + gemel__random_between(random, -1, 1));
  }
  if (kind == GEMEL__CONSTANTS_ZERO && gemel__random_chance(random, 3, 4)) {
    return gemel__random_sign(random) * 0.0;
  }
  if (kind == GEMEL__CONSTANTS_NAN && gemel__random_chance(random, 1, 2)) {
    return NAN;
  }
  if (kind == GEMEL__CONSTANTS_INFINITE && gemel__random_chance(random, 1, 2)) {
    return gemel__random_sign(random) * INFINITY;
  }
  if (numbers->count > 0 && gemel__random_chance(random, 1, wide ? 4 : 3)) {
    x = named_number(numbers, random);
    if (isfinite(x) && (wide || is_short(x))) {
      return x;
    }
  }
  return !wide || gemel__random_chance(random, 1, 6) ? short_number(random)
                                                     : wide_number(dtype, numbers->powers, random);
}

/* ---- Integers ---- */

static int64_t wide_integer(gemel_dtype dtype, gemel__random *random) {
  static const int64_t values[] = {127,
                                   128,
                                   255,
                                   256,
                                   300,
                                   32767,
                                   32768,
                                   65535,
                                   65536,
                                   16777217,
                                   INT32_MAX,
                                   (int64_t)INT32_MAX + 1,
                                   ((int64_t)1 << 53) + 1};
  unsigned bits = 8 * (unsigned)gemel_dtype_size(dtype);
  uint64_t extreme = (UINT64_C(1) << (bits - 1)) - gemel__random_below(random, 2);
  int64_t sign = gemel__random_chance(random, 1, 2) ? 1 : -1;
  switch (gemel__random_below(random, 6)) {
  case 0:
  case 3:
  case 4:
    return (int64_t)(extreme + (gemel__random_chance(random, 1, 2) ? extreme : 0));
  case 1:
    return (int64_t)gemel__random_bits(random);
  case 2:
    return sign * (int64_t)(UINT64_C(1) << gemel__random_below(random, bits - 1));
  default:
    return sign * values[gemel__random_below(random, sizeof values / sizeof *values)];
  }
}

static int64_t whole_constant(const gemel__rule_numbers *numbers, gemel__constants_kind kind,
                              gemel_dtype dtype, gemel__random *random) {
  double x = short_number(random);
  if (numbers->length > 0 && gemel__random_chance(random, 1, 2)) {
    return numbers->length + gemel__random_between(random, -1, 1);
  }
  if (kind == GEMEL__CONSTANTS_ZERO && gemel__random_chance(random, 3, 4)) {
    return 0;
  }
  if (numbers->count > 0 && gemel__random_chance(random, 1, 3)) {
    double c = numbers->at[gemel__random_below(random, numbers->count)];
    c = fabs(c) < 0x1p62 ? floor(c) : 0;
    return (int64_t)c + gemel__random_between(random, -1, 1);
  }
  if (kind > GEMEL__CONSTANTS_ZERO && gemel__random_chance(random, 3, 4)) {
    return wide_integer(dtype, random);
  }
  return (int64_t)(gemel_dtype_kind(dtype) == GEMEL_KIND_UNSIGNED ? fabs(x) : x);
}

void gemel__rule_constant(const gemel__rule_numbers *numbers, gemel__constants_kind kind,
                          gemel_dtype dtype, gemel__random *random, void *at) {
  if (gemel__is_float(dtype)) {
    gemel__store_real(dtype, real_constant(numbers, kind, dtype, random), at);
  } else if (dtype == GEMEL_BOOL) {
    int64_t truth = gemel__random_chance(random, 1, 2);
    gemel__points_store(dtype, 1, NULL, &truth, at);
  } else {
    int64_t x = whole_constant(numbers, kind, dtype, random);
    gemel__points_store(dtype, 1, NULL, &x, at);
  }
}

void gemel__rule_beside(const gemel__rule_numbers *numbers, gemel__constants_kind kind,
                        gemel_dtype dtype, gemel__random *random, void *at) {
  if (gemel__is_float(dtype)) {
    double x = named_number(numbers, random);
    int fits =
        isfinite(x) ? kind == GEMEL__CONSTANTS_WIDE || is_short(x) : kind > GEMEL__CONSTANTS_WIDE;
    gemel__store_real(dtype, fits ? x : real_constant(numbers, kind, dtype, random), at);
  } else {
    int64_t x = (fabs(numbers->at[0]) < 0x1p62 ? (int64_t)floor(numbers->at[0]) : 0) +
                gemel__random_between(random, -1, 1);
    x = dtype == GEMEL_BOOL ? x & 1 : x;
    gemel__points_store(dtype, 1, NULL, &x, at);
  }
}
