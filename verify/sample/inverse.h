/* SPDX-License-Identifier: MIT
 *
 * Lists of numbers that a value should be (aims.h), and how such a number passes from the result
 * of an operation to an operand: one inverse for each operation that has one, which the operation's
 * record names (reference/twin.h). Nothing here need be exact or complete.
 */
#ifndef GEMEL__SAMPLE_INVERSE_H
#define GEMEL__SAMPLE_INVERSE_H

#include "sample/aims.h"

enum { GEMEL__AIM_LIST = 32 };

typedef struct gemel__aim_list {
  size_t count;
  gemel__aim at[GEMEL__AIM_LIST];
} gemel__aim_list;

typedef struct gemel__aim_number {
  int is_float;
  double real;
  int64_t whole;
} gemel__aim_number;

/* Adds X to a list of numbers of DTYPE, if DTYPE has it: a float rounded, an integer as int64_t
 * bits. */
void gemel__aim_add_real(gemel__aim_list *list, gemel_dtype dtype, double x);
void gemel__aim_add_whole(gemel__aim_list *list, gemel_dtype dtype, int64_t x);
/* X as numbers of DTYPE: an integer dtype gets those on both sides of it. */
void gemel__aim_add(gemel__aim_list *list, gemel_dtype dtype, const gemel__aim_number *x);

/* Adds to LIST, of an operand of DTYPE, those x with op(x) = T, or where the operation has two
 * operands, op(x, C) = T, or op(C, x) = T if FIRST. */
typedef void gemel__inverse(gemel__aim_list *list, gemel_dtype dtype, const gemel__aim_number *t,
                            const gemel__aim_number *c, int first);

/* Not all of them are there: scalar.def of the references says which. */
#define SCALAR(name, ...) gemel__inverse gemel__invert_##name;
#include "ops/scalar.def"
#undef SCALAR

#endif
