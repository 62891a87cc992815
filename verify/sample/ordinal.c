/* SPDX-License-Identifier: MIT
 *
 * Numbers by their ordinal, see ordinal.h.
 */
#include "sample/ordinal.h"

#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "base/element.h"
#include "sample/points.h"

int gemel__ordinal_fraction(gemel_dtype dtype) {
  return gemel__dtype_format(dtype)->digits - 1;
}

static int width_of(gemel_dtype dtype) {
  return 8 * (int)gemel_dtype_size(dtype);
}

int64_t gemel__ordinal_infinity(gemel_dtype dtype) {
  int fraction = gemel__ordinal_fraction(dtype);
  int64_t exponents = ((int64_t)1 << (width_of(dtype) - 1 - fraction)) - 1;
  return exponents << fraction;
}

uint64_t gemel__ordinal_bits(gemel_dtype dtype, int64_t ordinal) {
  int64_t most = gemel__ordinal_infinity(dtype);
  uint64_t sign = (uint64_t)1 << (width_of(dtype) - 1);
  if (ordinal < 0) {
    return sign | (uint64_t)(ordinal < -most ? most : -ordinal);
  }
  return (uint64_t)(ordinal > most ? most : ordinal);
}

int64_t gemel__ordinal_of(gemel_dtype dtype, uint64_t bits) {
  uint64_t sign = (uint64_t)1 << (width_of(dtype) - 1);
  int64_t size = (int64_t)(bits & (sign - 1));
  return bits & sign ? -size : size;
}

void gemel__ordinal_put(gemel_dtype dtype, uint64_t bits, void *at) {
  uint8_t one = (uint8_t)bits;
  uint16_t two = (uint16_t)bits;
  uint32_t four = (uint32_t)bits;
  size_t size = gemel_dtype_size(dtype);
  memcpy(at,
         size == 1   ? (void *)&one
         : size == 2 ? (void *)&two
         : size == 4 ? (void *)&four
                     : (void *)&bits,
         size);
}

static uint64_t get(gemel_dtype dtype, const void *at) {
  uint16_t two;
  uint32_t four;
  uint64_t eight;
  switch (gemel_dtype_size(dtype)) {
  case 1:
    return *(const uint8_t *)at;
  case 2:
    memcpy(&two, at, sizeof two);
    return two;
  case 4:
    memcpy(&four, at, sizeof four);
    return four;
  default:
    memcpy(&eight, at, sizeof eight);
    return eight;
  }
}

uint64_t gemel__ordinal_nearest(gemel_dtype dtype, double x) {
  uint64_t room = 0;
  gemel__store_real(dtype, x, &room);
  return get(dtype, &room);
}

double gemel__ordinal_value(gemel_dtype dtype, uint64_t bits) {
  uint64_t room = 0;
  gemel__ordinal_put(dtype, bits, &room);
  return gemel__decode(dtype, &room);
}

double gemel__ordinal_beside(gemel_dtype dtype, double x, int up) {
  int64_t ordinal = gemel__ordinal_of(dtype, gemel__ordinal_nearest(dtype, x)) + up;
  return gemel__ordinal_value(dtype, gemel__ordinal_bits(dtype, ordinal));
}

int gemel__ordinal_binades(gemel_dtype dtype) {
  int fraction = gemel__ordinal_fraction(dtype);
  return fraction + (int)(gemel__ordinal_infinity(dtype) >> fraction) - 1;
}

int64_t gemel__ordinal_binade(gemel_dtype dtype, int k, int64_t *first) {
  int fraction = gemel__ordinal_fraction(dtype);
  if (k < fraction) {
    *first = (int64_t)1 << k;
    return *first;
  }
  *first = (int64_t)(k - fraction + 1) << fraction;
  return (int64_t)1 << fraction;
}

int gemel__ordinal_exponent(gemel_dtype dtype, int k) {
  int64_t first;
  int exponent;
  gemel__ordinal_binade(dtype, k, &first);
  frexp(gemel__ordinal_value(dtype, (uint64_t)first), &exponent);
  return exponent - 1;
}
