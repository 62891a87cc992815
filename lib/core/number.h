/* SPDX-License-Identifier: MIT
 *
 * Numbers as text, exactly and in any locale: integers of 64 bits, floats as the shortest decimal
 * that reads back to the same bits, NaNs with their bits where they are not the usual one.
 */
#ifndef GEMEL__CORE_NUMBER_H
#define GEMEL__CORE_NUMBER_H

#include <gemel/dtype.h>
#include "core/lex.h"

/* A number as it was written. */
typedef struct gemel__number {
  int is_float;
  int negative;
  uint64_t magnitude; /* of an integer */
  double real;        /* of a float, sign included */
  uint64_t nan_bits;  /* nan(0x…): the bits of the element; 0: none */
  const char *text;   /* where its digits stand, for rounding to f32 without rounding twice */
  size_t length;
} gemel__number;

/* Reads the number at the token: [-] integer or float, inf, nan, nan(0xBITS). Leaves the lexer
 * behind it. */
gemel_status gemel__number_read(gemel__lex *lex, gemel__number *number, gemel_error *error);

/* Stores NUMBER as one element of DTYPE: GEMEL_BAD_VALUE if an integer dtype can't hold it. */
gemel_status gemel__number_store(const gemel__number *number, gemel_dtype dtype, void *element);

/* As a double; integers beyond 2^53 are rounded. */
double gemel__number_double(const gemel__number *number);

/* As an int64_t; 0, or -1 if it is none. */
int gemel__number_int(const gemel__number *number, int64_t *value);

/* Writes one element of DTYPE (at most GEMEL__NUMBER_TEXT bytes with the NUL); returns the length.
 */
enum { GEMEL__NUMBER_TEXT = 48 };
size_t gemel__number_format(gemel_dtype dtype, const void *element, char *text);

#endif
