/* SPDX-License-Identifier: MIT
 *
 * The rows of scalar.def as functions of one dtype: TAG is its name, T what is calculated with, U
 * (of integers) the unsigned type in which arithmetic wraps; FLOATS or BOOLS is defined if it is
 * such. What a row is for a dtype that it doesn't take, nothing is made of. Meant to be included
 * many times; `where` and casts aren't among them, being expressions of values of any type.
 */
#define M(function) GEMEL__PASTE2(TAG, function)
#define FUNCTION(name, R, expression)                                                              \
  DEVICE R GEMEL__PASTE2(name, TAG)([[maybe_unused]] T x, [[maybe_unused]] T y,                    \
                                    [[maybe_unused]] T z) {                                        \
    return (R)(expression);                                                                        \
  }
#define NOTHING(name, ...)

#ifdef FLOATS
#define ROW_C(float_c, integer_c) float_c
#define MADE_ARITH(name, c) FUNCTION(name, T, c)
#define MADE_NUMBER(name, c) FUNCTION(name, T, c)
#define MADE_INTEGER NOTHING
#define MADE_REAL(name, c) FUNCTION(name, T, c)
#define MADE_QUOTIENT(name, c) FUNCTION(name, T, c)
#define MADE_LOGIC NOTHING
#else
#define ROW_C(float_c, integer_c) integer_c
#define MADE_REAL NOTHING
#define MADE_QUOTIENT NOTHING
#ifdef BOOLS
#define MADE_ARITH(name, c) FUNCTION(name, T, (c) != 0)
#define MADE_NUMBER NOTHING
#define MADE_INTEGER NOTHING
#define MADE_LOGIC(name, c) FUNCTION(name, uint8_t, c)
#else
#define MADE_ARITH(name, c) FUNCTION(name, T, c)
#define MADE_NUMBER(name, c) FUNCTION(name, T, c)
#define MADE_INTEGER(name, c) FUNCTION(name, T, c)
#define MADE_LOGIC NOTHING
#endif
#endif
#define MADE_COMPARE(name, c) FUNCTION(name, uint8_t, c)
#define MADE_SELECT NOTHING
#define MADE_CAST NOTHING

#define SCALAR(name, inputs, attrs, code, float_c, integer_c, ...)                                 \
  MADE_##code(name, ROW_C(float_c, integer_c))
#include "ops/scalar.def"
#undef SCALAR

#undef M
#undef FUNCTION
#undef NOTHING
#undef ROW_C
#undef MADE_ARITH
#undef MADE_NUMBER
#undef MADE_INTEGER
#undef MADE_REAL
#undef MADE_QUOTIENT
#undef MADE_LOGIC
#undef MADE_COMPARE
#undef MADE_SELECT
#undef MADE_CAST
#undef T
#undef U
#undef TAG
#undef FLOATS
#undef BOOLS
