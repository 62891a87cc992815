/* SPDX-License-Identifier: MIT
 *
 * Sources of points (source.h) for the shipped code: numbers at which rounding, counting and signs
 * of zeros show.
 */
#include <math.h>
#include "core/dtype.h"
#include "instances/assumed.h"
#include "instances/source.h"
#include "sample/ordinal.h"

/* Calls PUT on each float input. */
static void each_float(const gemel__drawn *p,
                       void (*put)(gemel_tensor *tensor, gemel__random *random)) {
  for (size_t k = 0; k < p->instance->n_leaves; k++) {
    if (gemel__is_float(p->instance->leaves[k].dtype)) {
      put(p->values[k], p->random);
    }
  }
}

/* Most numbers are −0, so that −0 meets −0. */
static void put_minus(gemel_tensor *tensor, gemel__random *random) {
  static const double minus[] = {-0.0, -0.0, -0.0, 0.0, -0.0, 1, -1};
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  for (size_t i = 0; i < (size_t)gemel_tensor_elements(tensor); i++) {
    gemel__store_real(dtype, minus[gemel__random_below(random, sizeof minus / sizeof *minus)],
                      (char *)gemel_tensor_data(tensor) + i * gemel_dtype_size(dtype));
  }
}

void gemel__put_minus(const gemel__drawn *point) {
  each_float(point, put_minus);
}

/* ---- What is rounded twice ---- */

/* Take a number slightly above the midpoint of two numbers of a narrow dtype: it is rounded up. If
 * it is rounded to a dtype in between first, it may become the midpoint, which is rounded to the
 * even neighbour. Such numbers are rare (one f64 in 2^13, for f32 and then f16), so they are
 * constructed, also as sums of a midpoint and a small number, and as products with powers of two.
 */
enum rounding_kind { MIDPOINT, LITTLE, POWER, KINDS };

/* Half way between two numbers of DIGITS digits: an odd number of one digit more. */
static int64_t midpoint(int digits, gemel__random *random) {
  int64_t low = (int64_t)1 << (digits - 1);
  return 2 * gemel__random_between(random, low, 2 * low - 1) + 1;
}

static void put_midpoints(gemel_tensor *tensor, gemel__random *random) {
  static const gemel_dtype narrower[] = {GEMEL_F16, GEMEL_BF16, GEMEL_F32};
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  size_t n = (size_t)gemel_tensor_elements(tensor), size = gemel_dtype_size(dtype);
  int p = gemel__dtype_format(dtype)->digits, digits;
  enum rounding_kind kind = gemel__random_chance(random, 1, 2)
                                ? MIDPOINT
                                : (enum rounding_kind)gemel__random_below(random, KINDS);
  digits = gemel__dtype_format(narrower[gemel__random_below(random, 3)])->digits;
  digits = digits < p ? digits : p / 2;
  for (size_t i = 0; i < n; i++) {
    double sign = gemel__random_sign(random), x = sign;
    if (kind == MIDPOINT) {
      double beside = (double)gemel__random_between(random, -1, 1) * ldexp(1, digits + 1 - p);
      x = ldexp(sign * ((double)midpoint(digits, random) + beside),
                (int)gemel__random_between(random, -2, 2) - digits);
    } else if (kind == LITTLE) {
      x = ldexp(sign, -(int)gemel__random_between(random, digits + 2, p - 1));
    } else {
      x = ldexp(sign, (int)gemel__random_between(random, -2, 2));
    }
    gemel__store_real(dtype, x, (char *)gemel_tensor_data(tensor) + i * size);
  }
}

/* The same in integers, as large as they can be, so that what is beside the midpoint is lost in the
 * dtype in between. */
static void put_whole_midpoints(const gemel__leaf *leaf, gemel_tensor *tensor,
                                gemel__random *random) {
  static const int narrower[] = {8, 11, 24};
  int bits = 8 * (int)gemel_dtype_size(leaf->dtype) - 1;
  int is_signed =
      leaf->range == GEMEL_RANGE_ANY && gemel_dtype_kind(leaf->dtype) == GEMEL_KIND_SIGNED;
  for (size_t i = 0; i < leaf->count; i++) {
    int digits = narrower[gemel__random_below(random, bits < 24 ? 2 : 3)];
    int shift = bits - digits - 1 - (int)gemel__random_below(random, 3);
    int64_t x = (midpoint(digits, random) << shift) + gemel__random_between(random, -1, 1);
    x = is_signed && gemel__random_chance(random, 1, 2) ? -x : x;
    gemel__leaf_put(leaf, gemel__leaf_at(leaf, tensor, i), x);
  }
}

void gemel__put_midpoints(const gemel__drawn *point) {
  enum { WIDE = 2 }; /* bytes; numbers of fewer aren't rounded twice */
  each_float(point, put_midpoints);
  for (size_t k = 0; k < point->instance->n_leaves; k++) {
    const gemel__leaf *leaf = &point->instance->leaves[k];
    if (!gemel__is_float(leaf->dtype) && gemel_dtype_size(leaf->dtype) >= WIDE &&
        leaf->range != GEMEL_RANGE_INDEX && leaf->range != GEMEL_RANGE_MODERATE) {
      put_whole_midpoints(leaf, point->values[k], point->random);
    }
  }
}

/* ---- Neighbours, counts, powers of two ---- */

/* Draws a number, often just below a power of two: there a dtype's numbers are closest relative to
 * their size, so that a quotient or product easily rounds two of them to one. */
static double draw_crowded(gemel__random *random) {
  double x = gemel__random_magnitude(random, -4, 3);
  int exponent;
  frexp(x, &exponent);
  return gemel__random_chance(random, 2, 3) ? ldexp(1, exponent) - x * 0x1p-5 : x;
}

/* Adjacent floats, which a function that rounds may make equal. */
void gemel__put_neighbours(const gemel__drawn *point) {
  double base = draw_crowded(point->random);
  for (size_t k = 0; k < point->instance->n_leaves; k++) {
    const gemel__leaf *leaf = &point->instance->leaves[k];
    for (size_t i = 0; gemel__is_float(leaf->dtype) && i < leaf->count; i++) {
      double x = base;
      for (int64_t n = gemel__random_between(point->random, -2, 2); n != 0; n += n < 0 ? 1 : -1) {
        x = gemel__ordinal_beside(leaf->dtype, x, n < 0 ? -1 : 1);
      }
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, point->values[k], i), x);
    }
  }
}

/* Numbers of one sign at one end of a dtype's range: of the largest binade, which are infinite when
 * doubled, or few times the smallest subnormal, which become equal when halved. */
void gemel__put_ends(const gemel__drawn *point) {
  enum { MULTIPLES = 8 };
  int largest = gemel__random_chance(point->random, 1, 2);
  double sign = gemel__random_sign(point->random);
  for (size_t k = 0; k < point->instance->n_leaves; k++) {
    const gemel__leaf *leaf = &point->instance->leaves[k];
    for (size_t i = 0; gemel__is_float(leaf->dtype) && i < leaf->count; i++) {
      int64_t binade = (int64_t)1 << gemel__ordinal_fraction(leaf->dtype);
      int64_t ordinal =
          (int64_t)gemel__random_below(point->random, largest ? (uint64_t)binade : MULTIPLES);
      ordinal += largest ? gemel__ordinal_infinity(leaf->dtype) - binade : 0;
      double x = gemel__ordinal_value(leaf->dtype, gemel__ordinal_bits(leaf->dtype, ordinal));
      gemel__leaf_put(leaf, gemel__leaf_at(leaf, point->values[k], i), sign * x);
    }
  }
}

/* The largest element stands last, and counts are as large as possible. */
void gemel__put_late(const gemel__drawn *point) {
  for (size_t k = 0; k < point->instance->n_leaves; k++) {
    gemel__leaf_fill_late(&point->instance->leaves[k], point->random,
                          gemel_tensor_data(point->values[k]));
  }
}

/* Fills inputs that may be any number, or any of one sign, with numbers beside powers of two. In
 * some runs they are negative. */
void gemel__put_powers(const gemel__drawn *point) {
  const gemel__instance *in = point->instance;
  size_t run = point->turn;
  for (size_t k = 0; k < in->n_leaves; k++) {
    const gemel__leaf *leaf = &in->leaves[k];
    int is_signed = leaf->range == GEMEL_RANGE_ANY || leaf->range == GEMEL_RANGE_NONZERO;
    int bits = 8 * (int)gemel_dtype_size(leaf->dtype) - 1;
    char *at = gemel_tensor_data(point->values[k]);
    if (leaf->range == GEMEL_RANGE_INDEX || leaf->range == GEMEL_RANGE_MODERATE) {
      continue;
    }
    for (size_t i = 0; i < leaf->count; i++, at += gemel_dtype_size(leaf->dtype)) {
      int power = (int)(8 + (7 * i + 3 * run) % 51);
      int64_t n = ((int64_t)1 << power) + (int64_t)i + gemel__random_between(point->random, -1, 1);
      n = is_signed && (run >> (k % 4)) % 2 != 0 ? -n : n;
      if (gemel__is_float(leaf->dtype) || power < bits) {
        gemel__leaf_put(leaf, at, n);
      }
    }
  }
}
