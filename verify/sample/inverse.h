/* SPDX-License-Identifier: MIT
 *
 * Lists of numbers that a value should take (aims.h), and how such a number passes from the result
 * of an operation to an operand: there is an inverse for each operation that has one, named in the
 * operation's record (reference/twin.h). Nothing here need be exact or complete.
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

/* Adds X to a list of numbers of DTYPE: a float is rounded, an integer (as int64_t bits) is left
 * out if DTYPE doesn't have it. */
void gemel__aim_add_real(gemel__aim_list *list, gemel_dtype dtype, double x);
void gemel__aim_add_whole(gemel__aim_list *list, gemel_dtype dtype, int64_t x);
/* Adds X in DTYPE; for an integer dtype, the integers on both sides of it. */
void gemel__aim_add(gemel__aim_list *list, gemel_dtype dtype, const gemel__aim_number *x);

/* Adds to LIST, of an operand of DTYPE, the solutions x of op(x) = T. If the operation has two
 * operands: of op(x, C) = T, or of op(C, x) = T if FIRST. */
typedef void gemel__inverse(gemel__aim_list *list, gemel_dtype dtype, const gemel__aim_number *t,
                            const gemel__aim_number *c, int first);

/* Only some of these exist: scalar.def of the references says which. */
#define SCALAR(name, ...) gemel__inverse gemel__invert_##name;
#include "ops/scalar.def"
#undef SCALAR

/* Of random numbers: adds the second numbers of keys with the seed GEMEL__KEY_SEED (keys.h) whose
 * first or second number begins like T. LIST is that of the key. */
gemel__inverse gemel__invert_random_bits;
gemel__inverse gemel__invert_random_uniform;
gemel__inverse gemel__invert_random_normal;

#endif
