/* SPDX-License-Identifier: MIT
 *
 * The functions of elementwise-math.h for one float type; included once for each. Choices are made
 * between computed values, never between ways of computing, and special values are put right at the
 * end. Sources: the reduction of exp by multiples of ln 2 and of log by powers of 2, and the
 * correction terms carried along, are W. Kahan's and K. C. Ng's, as described in Muller, Elementary
 * Functions (2016), chapters 5 and 11.
 */
#define F(name) GEMEL__PASTE2(TAG, name)

/* By unions, which stay in registers in the sim too: it sees what memcpy does as accesses. */
GEMEL__FUNCTION T F(from_bits)(WORD bits) {
  union {
    WORD bits;
    T value;
  } both = {bits};
  return both.value;
}

GEMEL__FUNCTION WORD F(bits)(T value) {
  union {
    T value;
    WORD bits;
  } both = {value};
  return both.bits;
}

/* maximum and minimum of IEEE 754-2019. Equal numbers have equal bits but for zeros, of which `and`
 * keeps +0 and `or` -0; where there is a NaN, the sum is one. (`x == y` would be the same, but of
 * the compare that compilers make of it, "equal or unordered", Valgrind 3.19 forgets "unordered".)
 */
GEMEL__FUNCTION T F(max)(T x, T y) {
  T same = F(from_bits)(F(bits)(x) & F(bits)(y));
  T lost = x + y;
  return x > y ? x : y > x ? y : isunordered(x, y) ? lost : same;
}

GEMEL__FUNCTION T F(min)(T x, T y) {
  T same = F(from_bits)(F(bits)(x) | F(bits)(y));
  return x < y ? x : y < x ? y : isunordered(x, y) ? x + y : same;
}

/* fmod is exact, so the result is rounded once; a zero takes the sign of y. */
GEMEL__FUNCTION T F(mod)(T x, T y) {
  T r = SUFFIX(fmod)(x, y);
  return r == 0 ? SUFFIX(copysign)((T)0, y) : (r < 0) != (y < 0) ? r + y : r;
}

GEMEL__FUNCTION T F(fmod)(T x, T y) {
  return SUFFIX(fmod)(x, y);
}

GEMEL__FUNCTION T F(fabs)(T x) {
  return SUFFIX(fabs)(x);
}

GEMEL__FUNCTION T F(copysign)(T x, T y) {
  return SUFFIX(copysign)(x, y);
}

GEMEL__FUNCTION T F(sqrt)(T x) {
  return SUFFIX(sqrt)(x);
}

GEMEL__FUNCTION T F(floor)(T x) {
  return SUFFIX(floor)(x);
}

GEMEL__FUNCTION T F(ceil)(T x) {
  return SUFFIX(ceil)(x);
}

GEMEL__FUNCTION T F(trunc)(T x) {
  return SUFFIX(trunc)(x);
}

GEMEL__FUNCTION T F(rint)(T x) {
  return SUFFIX(rint)(x);
}

/* The C library's for f64, and of f32 too, which are then all but correctly rounded. */
#define LIBRARY(name)                                                                              \
  GEMEL__FUNCTION T F(name)(T x) {                                                                 \
    return (T)name((double)x);                                                                     \
  }
LIBRARY(sin)
LIBRARY(cos)
LIBRARY(tan)
LIBRARY(asin)
LIBRARY(acos)
LIBRARY(atan)
LIBRARY(sinh)
LIBRARY(cosh)
#undef LIBRARY

GEMEL__FUNCTION T F(atan2)(T x, T y) {
  return (T)atan2((double)x, (double)y);
}

/* Adding MAGIC rounds a small number to an integer, which then stands in the low bits, increased by
 * BIAS, what exponents are stored with. */
#define BIAS (ONE_BITS >> MANTISSA)
#define MAGIC ((T)(3ull << (MANTISSA - 1)) + (T)BIAS)

/* 2^n for an integer N, given as N + MAGIC. */
GEMEL__FUNCTION T F(power_of_two)(T n_magic) {
  return F(from_bits)(F(bits)(n_magic) << MANTISSA);
}

/* x = n ln 2 + r, but for what of r is rounded away; |r| <= ln 2 / 2: exp(x) = 2^n exp(r). */
GEMEL__FUNCTION T F(reduce)(T x, T n) {
  return (x - n * LN2_HIGH) - n * LN2_LOW;
}

GEMEL__FUNCTION T F(exp_reduced)(T r) {
  return 1 + (r + r * r * EXP_POLYNOMIAL(r));
}

GEMEL__FUNCTION T F(clamp)(T x, T low) {
  T y = x > EXP_HIGH ? EXP_HIGH : x;
  return y < low ? low : y;
}

/* exp of what is no larger than EXP_HIGH and no less than EXP_LOW. The power of two is applied in
 * two steps, so that results may be subnormal or reach the top: its exponent, increased by twice
 * the bias, is cut in halves, each of which has its bias. */
GEMEL__FUNCTION T F(exp_clamped)(T x) {
  T n_magic = x * LOG2_E + (MAGIC + (T)BIAS);
  WORD both = F(bits)(n_magic), half = both >> 1;
  T y = F(exp_reduced)(F(reduce)(x, n_magic - (MAGIC + (T)BIAS)));
  return y * F(from_bits)(half << MANTISSA) * F(from_bits)((both - half) << MANTISSA);
}

GEMEL__FUNCTION T F(exp)(T x) {
  return F(exp_clamped)(F(clamp)(x, EXP_LOW));
}

/* exp of what is 0 at most, or NaN. Until the end it is 2^(BIAS / 2 + 1) times too large, so that a
 * subnormal result is rounded once. */
GEMEL__FUNCTION T F(exp_falling)(T x) {
  const T more = (T)(BIAS / 2 + 1), magic = MAGIC + more;
  T clamped = x < EXP_LOW ? EXP_LOW : x, n_magic = clamped * LOG2_E + magic;
  T y = F(exp_reduced)(F(reduce)(clamped, n_magic - magic)) * F(power_of_two)(n_magic);
  return y * F(power_of_two)(MAGIC - more);
}

/* exp where it is far from where numbers end. */
GEMEL__FUNCTION T F(exp_inside)(T x) {
  T n_magic = x * LOG2_E + MAGIC;
  return F(exp_reduced)(F(reduce)(x, n_magic - MAGIC)) * F(power_of_two)(n_magic);
}

/* 2^n (1 + r + tail) - 1, halved until the end, for 2^n itself may overflow. */
GEMEL__FUNCTION T F(expm1)(T x) {
  T clamped = F(clamp)(x, EXPM1_LOW);
  T n_magic = clamped * LOG2_E + MAGIC, n = n_magic - MAGIC;
  T high = clamped - n * LN2_HIGH, low = n * LN2_LOW, r = high - low;
  T tail = r * r * EXP_POLYNOMIAL(r) + ((high - r) - low);
  T scale = F(power_of_two)(n_magic - 1);
  T y = ((scale - (T)0.5) + scale * r) + scale * tail;
  return F(fabs)(x) < TINY ? x : y + y;
}

/* log((1 + f) / 2^k), where LOW is -k times the lower part of ln 2, and what else there is to add.
 */
GEMEL__FUNCTION T F(log_near)(T k, T f, T low) {
  T s = f / (2 + f), z = s * s, half = (T)0.5 * f * f;
  T series = z * LOG_POLYNOMIAL(z);
  return (f - (half - (s * (half + series) + low))) - k * LN2_HIGH;
}

GEMEL__FUNCTION T F(log_of)(T k, T f) {
  return F(log_near)(k, f, -(k * LN2_LOW));
}

/* x = m / 2^k with sqrt(1/2) <= m < sqrt(2), for a positive normal x; k and MORE. */
GEMEL__FUNCTION T F(split)(T x, T more, T *k) {
  WORD shifted = F(bits)(x) + (ONE_BITS - ROOT_HALF_BITS);
  T two = F(from_bits)((ONE_BITS + ((WORD)MANTISSA << MANTISSA))); /* 2^MANTISSA */
  *k = (two + (T)BIAS + more) - F(from_bits)(F(bits)(two) | shifted >> MANTISSA);
  return F(from_bits)((shifted & (((WORD)1 << MANTISSA) - 1)) + ROOT_HALF_BITS);
}

GEMEL__FUNCTION T F(log)(T x) {
  const int subnormal = x < LEAST_NORMAL;
  T scale = (T)(1ull << MANTISSA), k, y;
  T more = subnormal ? (T)MANTISSA : (T)0;
  T m = F(split)(subnormal ? x * scale : x, more, &k);
  y = F(log_of)(k, m - 1);
  y = x < INFINITY ? y : x;
  return x > 0 ? y : x == 0 ? -(T)INFINITY : (T)NAN;
}

/* u = 1 + x is rounded; what was lost, relative to u, is added to the logarithm. It is so little
 * that a rough reciprocal does, 4 / u by its bits subtracted. Near 0 the fraction is x itself. */
GEMEL__FUNCTION T F(log1p)(T x) {
  T u = 1 + x, back = u - 1, k, y;
  T m = F(split)(u, 0, &k);
  T lost = ((x - back) + (1 - (u - back))) * (T)0.25 * F(from_bits)(FOUR_INVERSE_BITS - F(bits)(u));
  T f = k == 0 ? x : m - 1;
  y = F(log_near)(k, f, (k == 0 ? 0 : lost) - k * LN2_LOW);
  y = x < INFINITY ? y : x;
  return x > -1 ? y : x == -1 ? -(T)INFINITY : (T)NAN;
}

/* x + x^3 R(x^2) near 0, and beyond 1 - 2 / (exp(2 |x|) + 1), by one division. */
GEMEL__FUNCTION T F(tanh)(T x) {
  T size = F(fabs)(x), z = x * x, near = size > TANH_HIGH ? TANH_HIGH : size;
  T power = F(exp_inside)(near + near);
  const int small = size < (T)0.625;
  T top = small ? x * (z * TANH_TOP(z)) : (T)-2;
  T bottom = small ? TANH_BOTTOM(z) : power + 1;
  return SUFFIX(copysign)((small ? x : (T)1) + top / bottom, x); /* of -0 too */
}

GEMEL__FUNCTION T F(sigmoid)(T x) {
  T y = F(exp_falling)(-F(fabs)(x));
  return (x < 0 ? y : (T)1) / (1 + y);
}

/* What is 1 beyond ERF_HIGH, and NaN for NaN, which no comparison changes. */
GEMEL__FUNCTION T F(erf)(T x) {
  T size = F(fabs)(x), z = x * x;
  T small = x + x * ERF_POLYNOMIAL(z);
  T u = (size > ERF_HIGH ? ERF_HIGH : size) - (T)0.75;
  T large = 1 - F(exp_inside)(ERFC_POLYNOMIAL(u));
  return SUFFIX(copysign)(size < (T)0.75 ? small : large, x); /* of -0 too */
}

/* elementwise-normal.h says how; 1 - |x| is exact where it matters. */
GEMEL__FUNCTION T F(erfinv)(T x) {
  T size = F(fabs)(x), k;
  T m = F(split)((1 - size) * (1 + size), 0, &k);
  T y = x * (SQRT_EIGHTH * NORMAL_INVERSE(-F(log_of)(k, m - 1)));
  y = size < 1 ? y : SUFFIX(copysign)((T)INFINITY, x);
  return size <= 1 ? y : (T)NAN;
}

#undef F
#undef TAG
#undef T
#undef WORD
#undef SUFFIX
#undef BIAS
#undef MAGIC
#undef MANTISSA
#undef ONE_BITS
#undef ROOT_HALF_BITS
#undef LEAST_NORMAL
#undef TINY
#undef LOG2_E
#undef LN2_HIGH
#undef LN2_LOW
#undef EXP_HIGH
#undef EXP_LOW
#undef EXPM1_LOW
#undef FOUR_INVERSE_BITS
#undef EXP_POLYNOMIAL
#undef LOG_POLYNOMIAL
#undef TANH_TOP
#undef TANH_BOTTOM
#undef TANH_HIGH
#undef ERF_HIGH
#undef ERF_POLYNOMIAL
#undef ERFC_POLYNOMIAL
#undef SQRT_EIGHTH
#undef NORMAL_INVERSE
