/* SPDX-License-Identifier: MIT
 *
 * What the inverses of the normal distribution function and of erf have in common: a rational
 * function R without zeros or poles near the range of w, all of whose coefficients are positive.
 * (They are a least squares fit of relative errors at Chebyshev points, weighted to be nearly
 * minimax, computed in 70 digits: R is right to 2^-29 and 2^-55.) With h = p - 1/2 and
 * w = -log(4 p (1 - p)) the normal number of probability p is h R(w), up to a w of 44. So, of
 * w = -log(1 - x^2), erfinv(x) is x R(w) / sqrt(8).
 *
 * Of a device, whose code includes this too, GEMEL__CONSTANT is how it declares tables.
 */
#ifndef GEMEL__OPS_ELEMENTWISE_NORMAL_H
#define GEMEL__OPS_ELEMENTWISE_NORMAL_H

#ifndef GEMEL__CONSTANT
#define GEMEL__CONSTANT static const
#endif

/* Even and odd powers apart, so that two sums are made at a time. */
#define POLYNOMIAL(T, name)                                                                        \
  GEMEL__FUNCTION T name(const T *c, int degree, T w) {                                            \
    const T square = w * w;                                                                        \
    T y = c[degree], z = c[degree - 1];                                                            \
    for (int k = degree - 2; k > 0; k -= 2) {                                                      \
      y = y * square + c[k];                                                                       \
      z = z * square + c[k - 1];                                                                   \
    }                                                                                              \
    return degree % 2 != 0 ? y * w + z : (y * square + c[0]) + z * w;                              \
  }
POLYNOMIAL(float, f32_polynomial)
POLYNOMIAL(double, f64_polynomial)

/* R's numerator and denominator, the constant terms first. */
enum { F32_TOP = 7, F32_BOTTOM = 6, F64_TOP = 15, F64_BOTTOM = 15 }; /* degrees */
GEMEL__CONSTANT float f32_top[] = {0x1.40d932p+1f,  0x1.faf898p-1f, 0x1.b7c63ap-3f,
                                   0x1.037f5cp-5f,  0x1.a2fee4p-9f, 0x1.a6a3aep-13f,
                                   0x1.accec8p-18f, 0x1.a49c1ep-26f};
GEMEL__CONSTANT float f32_bottom[] = {0x1p+0f,        0x1.10d7fcp-3f,  0x1.354c30p-5f,
                                      0x1.dea462p-9f, 0x1.521062p-12f, 0x1.eeb866p-17f,
                                      0x1.c9eb0ap-23f};

GEMEL__CONSTANT double f64_top[] = {
    0x1.40d931ff62706p+1,  0x1.4140a1049af38p+0,  0x1.a4589269b656ap-2,  0x1.8aac7ecd7ea75p-4,
    0x1.210ea22063f5bp-6,  0x1.52ed6f3486571p-9,  0x1.445e60b987724p-12, 0x1.ff0fb94f89af9p-16,
    0x1.4cf5a3819a011p-19, 0x1.68e55d904efc3p-23, 0x1.462e73bdd6571p-27, 0x1.e049180054eaep-32,
    0x1.0e8707188097cp-36, 0x1.1ee889a7d72a4p-41, 0x1.76ada6999e8d2p-48, 0x1.5b971457453eep-57};
GEMEL__CONSTANT double f64_bottom[] = {0x1p+0,
                                       0x1.e91fd5c8b69a0p-3,
                                       0x1.694a7f474bd79p-4,
                                       0x1.e74817918dac9p-7,
                                       0x1.6b02526788d88p-9,
                                       0x1.56f0d2ede0188p-12,
                                       0x1.454fe3e64e114p-15,
                                       0x1.a5c80d3b023c1p-19,
                                       0x1.12134e08163fep-22,
                                       0x1.e9ab9f145009fp-27,
                                       0x1.bba313905c56cp-31,
                                       0x1.f7f0bc946c21ep-36,
                                       0x1.3920e6081d4a9p-40,
                                       0x1.8c6b5fbbfe5fap-46,
                                       0x1.d54875d11f364p-54,
                                       0x1.d05e9826b5d0bp-65};

#endif
