/* SPDX-License-Identifier: MIT
 *
 * Reading and writing numbers. The C library does the rounding; here stands what it leaves open:
 * the locale's decimal point, f32 read without going through f64, and how many digits are enough. A
 * float that is a small integer, as most constants of graphs are, never gets to the C library.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/dtype.h"
#include "core/number.h"

enum { LONGEST = 400 }; /* characters of a number */

/* ---- Reading ---- */

/* TEXT with the decimal point of the C library's present locale. */
static void localise(char *text, size_t bytes) {
  const char *point = localeconv()->decimal_point;
  char *dot = strchr(text, '.');
  size_t n = strlen(point), rest;
  if (dot && strcmp(point, ".") != 0 && strlen(text) + n < bytes) {
    rest = strlen(dot + 1) + 1;
    memmove(dot + n, dot + 1, rest);
    memcpy(dot, point, n);
  }
}

/* Rounds the digits of LENGTH characters at TEXT to an f32 or f64. -1 if they are malformed. */
static int convert(const char *text, size_t length, int single, double *value) {
  char copy[LONGEST + 8], *stop;
  if (length > LONGEST) {
    return -1;
  }
  memcpy(copy, text, length);
  copy[length] = 0;
  localise(copy, sizeof copy);
  *value = single ? (double)strtof(copy, &stop) : strtod(copy, &stop);
  return *stop ? -1 : 0;
}

/* Decimal or hexadecimal digits; -1 if they don't fit. */
static int read_magnitude(const char *text, size_t length, uint64_t *value) {
  uint64_t base = length > 1 && (text[1] | 32) == 'x' ? 16 : 10, result = 0;
  if (base == 16 && length == 2) {
    return -1;
  }
  for (size_t k = base == 16 ? 2 : 0; k < length; k++) {
    uint64_t digit = (uint64_t)(text[k] <= '9' ? text[k] - '0' : (text[k] | 32) - 'a' + 10);
    if (digit >= base || __builtin_mul_overflow(result, base, &result) ||
        __builtin_add_overflow(result, digit, &result)) {
      return -1;
    }
  }
  *value = result;
  return 0;
}

/* nan, or nan(0xBITS). */
static gemel_status read_nan(gemel__lex *lex, gemel__number *number, gemel_error *error) {
  number->real = (double)NAN;
  gemel__lex_next(lex);
  if (!gemel__lex_accept(lex, '(')) {
    return GEMEL_OK;
  }
  if (lex->kind != GEMEL__TOKEN_INT || read_magnitude(lex->token, lex->length, &number->nan_bits) ||
      number->nan_bits == 0) {
    return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected the bits of a NaN");
  }
  gemel__lex_next(lex);
  return gemel__lex_expect(lex, ')', "')'", error);
}

gemel_status gemel__number_read(gemel__lex *lex, gemel__number *number, gemel_error *error) {
  char found[64];
  memset(number, 0, sizeof *number);
  number->negative = gemel__lex_accept(lex, '-');
  number->text = lex->token;
  number->length = lex->length;
  number->is_float = lex->kind != GEMEL__TOKEN_INT;
  if (lex->kind == GEMEL__TOKEN_INT) {
    if (read_magnitude(lex->token, lex->length, &number->magnitude)) {
      return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "malformed or too large a number");
    }
  } else if (lex->kind == GEMEL__TOKEN_FLOAT) {
    if (convert(lex->token, lex->length, 0, &number->real)) {
      return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "malformed number");
    }
  } else if (gemel__lex_is(lex, "inf")) {
    number->real = (double)INFINITY;
  } else if (gemel__lex_is(lex, "nan")) {
    return read_nan(lex, number, error);
  } else {
    return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected a number, found %s",
                           gemel__lex_describe(lex, found));
  }
  if (number->negative) {
    number->real = -number->real;
  }
  gemel__lex_next(lex);
  return GEMEL_OK;
}

double gemel__number_double(const gemel__number *number) {
  double size = (double)number->magnitude;
  return number->is_float ? number->real : number->negative ? -size : size;
}

int gemel__number_int(const gemel__number *number, int64_t *value) {
  if (number->is_float || number->magnitude > (uint64_t)INT64_MAX + (uint64_t)number->negative) {
    return -1;
  }
  *value = (int64_t)(number->negative ? 0 - number->magnitude : number->magnitude);
  return 0;
}

static gemel_status store_integer(const gemel__number *number, gemel_dtype dtype, void *element) {
  size_t bytes = gemel_dtype_size(dtype);
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  uint64_t limit = UINT64_MAX >> (64 - 8 * bytes), bits = number->magnitude;
  limit = dtype == GEMEL_BOOL ? 1 : is_signed ? (limit >> 1) + (uint64_t)number->negative : limit;
  if (bits > limit || (number->negative && !is_signed && bits != 0)) {
    return GEMEL_BAD_VALUE;
  }
  bits = number->negative ? 0 - bits : bits;
#define STORE(E, name, size, kind, ctype)                                                          \
  if (dtype == GEMEL_##E) {                                                                        \
    ctype narrow = (ctype)bits;                                                                    \
    memcpy(element, &narrow, sizeof narrow);                                                       \
  }
  GEMEL_DTYPE_TABLE(STORE)
#undef STORE
  return GEMEL_OK;
}

/* A NaN: the bits given, or the usual quiet one. */
static gemel_status store_nan(const gemel__number *number, gemel_dtype dtype, void *element) {
  static const uint64_t quiet[GEMEL_DTYPE_COUNT] = {[GEMEL_F16] = 0x7e00,
                                                    [GEMEL_BF16] = 0x7fc0,
                                                    [GEMEL_F32] = 0x7fc00000,
                                                    [GEMEL_F64] = 0x7ff8000000000000};
  uint64_t bits = number->nan_bits ? number->nan_bits : quiet[dtype];
  size_t bytes = gemel_dtype_size(dtype);
  if (bits > UINT64_MAX >> (64 - 8 * bytes)) {
    return GEMEL_BAD_VALUE;
  }
  for (size_t k = 0; k < bytes; k++) { /* the element is little-endian, as gemel's hosts are */
    ((unsigned char *)element)[k] = (unsigned char)(bits >> 8 * k);
  }
  return gemel__dtype_load(dtype, element) == gemel__dtype_load(dtype, element) ? GEMEL_BAD_VALUE
                                                                                : GEMEL_OK;
}

gemel_status gemel__number_store(const gemel__number *number, gemel_dtype dtype, void *element) {
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    double value = gemel__number_double(number);
    if (value != value) {
      return store_nan(number, dtype, element);
    }
    if (dtype == GEMEL_F32 && number->is_float && isfinite(value)) {
      convert(number->text, number->length, 1, &value);
      value = number->negative ? -value : value;
    }
    return gemel__dtype_store(dtype, value, element);
  }
  return number->is_float ? gemel__dtype_store(dtype, number->real, element)
                          : store_integer(number, dtype, element);
}

/* ---- Writing ---- */

static size_t put_unsigned(char *text, uint64_t value, int negative) {
  char digits[24];
  size_t n = 0, length;
  do {
    digits[n++] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  if (negative) {
    digits[n++] = '-';
  }
  length = n;
  while (n) {
    *text++ = digits[--n];
  }
  *text = 0;
  return length;
}

/* The element's bits as a number. */
static uint64_t load_bits(gemel_dtype dtype, const void *element) {
  uint64_t bits = 0;
  for (size_t k = gemel_dtype_size(dtype); k-- > 0;) {
    bits = bits << 8 | ((const unsigned char *)element)[k];
  }
  return bits;
}

static size_t put_nan(gemel_dtype dtype, const void *element, char *text) {
  gemel__number usual = {.is_float = 1};
  unsigned char bytes[8] = {0};
  store_nan(&usual, dtype, bytes);
  if (memcmp(bytes, element, gemel_dtype_size(dtype)) == 0) {
    return (size_t)snprintf(text, GEMEL__NUMBER_TEXT, "nan");
  }
  return (size_t)snprintf(text, GEMEL__NUMBER_TEXT, "nan(0x%" PRIx64 ")",
                          load_bits(dtype, element));
}

/* Puts a point in place of the locale's decimal point, which may be several bytes. */
static size_t unlocalise(char *text) {
  char *odd = text + strspn(text, "0123456789eE+-");
  if (*odd) {
    char *behind = odd + 1;
    while (*behind && !(*behind >= '0' && *behind <= '9')) {
      behind++;
    }
    *odd = '.';
    memmove(odd + 1, behind, strlen(behind) + 1);
  }
  return strlen(text);
}

/* 1 if the exponent's bits are all 0. */
static int is_subnormal(gemel_dtype dtype, const void *element) {
  static const unsigned char fraction[GEMEL_DTYPE_COUNT] = {
      [GEMEL_F16] = 10, [GEMEL_BF16] = 7, [GEMEL_F32] = 23, [GEMEL_F64] = 52};
  uint64_t bits = load_bits(dtype, element);
  uint64_t magnitude = bits & UINT64_MAX >> (65 - 8 * gemel_dtype_size(dtype));
  return magnitude >> fraction[dtype] == 0;
}

static size_t put_float(gemel_dtype dtype, const void *element, char *text) {
  static const signed char enough[GEMEL_DTYPE_COUNT] = {
      [GEMEL_F16] = 3, [GEMEL_BF16] = 2, [GEMEL_F32] = 6, [GEMEL_F64] = 15};
  double value = gemel__dtype_load(dtype, element);
  if (value != value) {
    return put_nan(dtype, element, text);
  }
  if (isinf(value)) {
    return (size_t)snprintf(text, GEMEL__NUMBER_TEXT, value < 0 ? "-inf" : "inf");
  }
  if (fabs(value) < 1e6 && value == (double)(int64_t)value) {
    return put_unsigned(text, (uint64_t)fabs(value), signbit(value) != 0);
  }
  /* So many digits are never too many, but for subnormal numbers. */
  for (int digits = is_subnormal(dtype, element) ? 1 : enough[dtype];; digits++) {
    unsigned char back[8];
    gemel__number number = {.is_float = 1, .negative = value < 0};
    snprintf(text, GEMEL__NUMBER_TEXT, "%.*g", digits, value);
    size_t n = unlocalise(text);
    number.text = text + number.negative;
    number.length = n - (size_t)number.negative;
    convert(number.text, number.length, 0, &number.real);
    number.real = number.negative ? -number.real : number.real;
    gemel__number_store(&number, dtype, back);
    if (digits == 17 || memcmp(back, element, gemel_dtype_size(dtype)) == 0) {
      return n;
    }
  }
}

size_t gemel__number_format(gemel_dtype dtype, const void *element, char *text) {
  size_t bytes = gemel_dtype_size(dtype);
  int below = 0;
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    return put_float(dtype, element, text);
  }
  uint64_t bits = load_bits(dtype, element);
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED && bits >> (8 * bytes - 1)) {
    below = 1;
    bits = (UINT64_MAX >> (64 - 8 * bytes)) + 1 - bits; /* for 8 bytes it wraps, as it should */
  }
  return put_unsigned(text, bits, below);
}
