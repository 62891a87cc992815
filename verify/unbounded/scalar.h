/* SPDX-License-Identifier: MIT
 *
 * What elements of a known dtype are to the solver: its sorts, numbers and operations as SMT-LIB
 * text. Floats are real numbers, or with BITS those of their format, in which all NaNs are one.
 */
#ifndef GEMEL__UNBOUNDED_SCALAR_H
#define GEMEL__UNBOUNDED_SCALAR_H

#include "base/buffer.h"
#include "unbounded/term.h"

/* What elements of DTYPE are called as a sort. */
const char *gemel__scalar_sort(gemel_dtype dtype);

/* Names for the dtypes whose bit is in DTYPES, before anything else is said of them. */
void gemel__scalar_say_dtypes(gemel__buffer *b, unsigned dtypes, int bits);

/* What number over the reals an integer is, and what a cast makes of a number: functions for the
 * dtypes whose bit is in DTYPES, for casts that may round. */
void gemel__scalar_say_rounding(gemel__buffer *b, unsigned dtypes);

/* The number TEXT, which is decimal, as an element of DTYPE that can hold it. */
void gemel__scalar_say_number(gemel__buffer *b, gemel_dtype dtype, const char *text, int bits);

/* What the operation that A calls is called. */
void gemel__scalar_say_name(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a);

/* Its definition. The truth "defined:NAME" says where operation NAME is a number. */
void gemel__scalar_say_meaning(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a, int bits);

/* The operation of row K of scalar.def; NULL: there are no more. */
const char *gemel__scalar_operation(size_t k);

/* The row's text for operation NAME of DTYPE; "defined:NAME": where it is a number. NULL: there is
 * none. */
const char *gemel__scalar_text(const char *name, gemel_dtype dtype, int bits);

/* 1 if operation NAME of reals isn't a number everywhere. */
int gemel__scalar_is_partial(const char *name);

/* 1 if a cast from FROM to TO loses no number. */
int gemel__scalar_is_exact(gemel_dtype from, gemel_dtype to);

#endif
