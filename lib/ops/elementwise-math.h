/* SPDX-License-Identifier: MIT
 *
 * Functions that the C expressions of scalar.def call through M, for f32 and f64: this file sets
 * the constants, elementwise-function.h has the code. Each is straight-line arithmetic without
 * calls, so that compilers make vectors of it; the result for an element depends on that element
 * alone, and is the same on every machine. The polynomials are the best ones of their degree
 * (computed in 60 to 70 digits, rounded), so their errors are a small part of a unit in the last
 * place; ln 2 is cut in two, the upper part with so few bits that its products with exponents are
 * exact.
 */
#ifndef GEMEL__OPS_ELEMENTWISE_MATH_H
#define GEMEL__OPS_ELEMENTWISE_MATH_H

#ifndef GEMEL__FUNCTION /* what device code declares functions by, which also has the rest */
#define GEMEL__FUNCTION static inline
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "core/isa.h"
#endif
#include "ops/elementwise-normal.h"

/* (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2, (log(1 + f) / s - 2) / s^2 for s = f / (2 + f), and
 * (tanh(x) - x) / x^3 for |x| < 0.63, a quotient, of z = s^2 and z = x^2; erf(x) / x - 1 for
 * |x| < 3/4, of z = x^2, and log(1 - erf(3/4 + u)) to where erf is 1, with an error that may grow
 * as 1 - erf shrinks. */
#define GEMEL__EXP_F32(r)                                                                          \
  (0x1.fffffcp-2f +                                                                                \
   r * (0x1.55548cp-3f + r * (0x1.55585ap-5f + r * (0x1.123d76p-7f + r * 0x1.6ab8b4p-10f))))
#define GEMEL__LOG_F32(z) (0x1.55557ap-1f + z * (0x1.995ed4p-2f + z * 0x1.31e0d8p-2f))
#define GEMEL__TANH_TOP_F32(z) (0x1.b075b8p+7f + z)
#define GEMEL__TANH_BOTTOM_F32(z) (-0x1.44585ap+9f + z * -0x1.0677dp+8f)
#define GEMEL__ERF_F32(z)                                                                          \
  (0x1.06eba8p-3f + z * (-0x1.81273ap-2f +                                                         \
                         z * (0x1.ce2af4p-4f + z * (-0x1.b7abfap-6f +                              \
                                                    z * (0x1.4f47fp-8f + z * -0x1.6279e6p-11f)))))
#define GEMEL__ERFC_F32(u)                                                                         \
  (-0x1.3deb04p+0f +                                                                               \
   u * (-0x1.1ce96ep+1f +                                                                          \
        u * (-0x1.9d9e5ap-1f +                                                                     \
             u * (-0x1.b18792p-5f +                                                                \
                  u * (0x1.a2d6c6p-7f +                                                            \
                       u * (-0x1.3d618ep-9f + u * (0x1.3f85a4p-12f + u * -0x1.2c060ep-16f)))))))

#define GEMEL__EXP_F64(r) (0x1p-1 + r * GEMEL__EXP_REST_F64(r))
#define GEMEL__EXP_REST_F64(r)                                                                     \
  (0x1.555555555555bp-3 +                                                                          \
   r * (0x1.5555555555502p-5 +                                                                     \
        r * (0x1.111111110ec1cp-7 +                                                                \
             r * (0x1.6c16c16c306e8p-10 +                                                          \
                  r * (0x1.a01a01b397fefp-13 +                                                     \
                       r * (0x1.a01a013627e5ep-16 +                                                \
                            r * (0x1.71ddefdeeaf89p-19 +                                           \
                                 r * (0x1.27e5b49b3db4ep-22 +                                      \
                                      r * (0x1.af6c5d24c5cd3p-26 +                                 \
                                           r * 0x1.1e3d5a4594014p-29)))))))))
#define GEMEL__LOG_F64(z)                                                                          \
  (0x1.5555555555592p-1 +                                                                          \
   z * (0x1.999999997ff06p-2 +                                                                     \
        z * (0x1.24924941e30bcp-2 +                                                                \
             z * (0x1.c71c521287192p-3 +                                                           \
                  z * (0x1.74663d5ccd148p-3 +                                                      \
                       z * (0x1.39a1dc1614e1ap-3 + z * 0x1.2f044682ea6b1p-3))))))
#define GEMEL__TANH_TOP_F64(z) (0x1.a292cf99feee6p+10 + z * (0x1.9bcfcd6236ddcp+6 + z))
#define GEMEL__TANH_BOTTOM_F64(z)                                                                  \
  (-0x1.39ee1bb37f32ep+12 +                                                                        \
   z * (-0x1.21c05e3734765p+11 + z * (-0x1.d3e78d2be2bbdp+6 + z * -0x1.0973435c8e656p+0)))
#define GEMEL__ERF_F64(z)                                                                          \
  (0x1.06eba8214db69p-3 +                                                                          \
   z * (-0x1.812746b0379e7p-2 +                                                                    \
        z * (0x1.ce2f21a042bc6p-4 +                                                                \
             z * (-0x1.b82ce31287d1p-6 +                                                           \
                  z * (0x1.565bcd0e2cff8p-8 +                                                      \
                       z * (-0x1.c02db3ecc735cp-11 +                                               \
                            z * (0x1.f9a3230d3bd7cp-14 +                                           \
                                 z * (-0x1.f4d1d6d12edd7p-17 +                                     \
                                      z * (0x1.b9daef9fc8221p-20 +                                 \
                                           z * (-0x1.5ec157d8dfc44p-23 +                           \
                                                z * (0x1.ef47647718373p-27 +                       \
                                                     z * -0x1.0544b18dc9fb6p-30)))))))))))
#define GEMEL__ERFC_F64(u)                                                                                           \
  (-0x1.3deb034696c3ep+0 +                                                                                           \
   u * (-0x1.1ce96da880971p+1 +                                                                                      \
        u * (-0x1.9d9eb7a12232cp-1 +                                                                                 \
             u * (-0x1.b15b51a653b3cp-5 +                                                                            \
                  u * (0x1.a056826da47dap-7 +                                                                        \
                       u * (-0x1.29978fe39a9p-9 +                                                                    \
                            u * (0x1.0fd47345e2fa3p-13 +                                                             \
                                 u * (0x1.bc2052447930ap-14 +                                                        \
                                      u * (-0x1.c75e8c47bdb04p-15 +                                                  \
                                           u * (0x1.dfe3e9170270ep-17 +                                              \
                                                u * (-0x1.70298d8fc21bp-20 +                                         \
                                                     u * (-0x1.9a9e193f9b7eap-21 +                                   \
                                                          u * (0x1.13f8d323df01ep-21 +                               \
                                                               u * (-0x1.8ca7055d9a311p-23 +                         \
                                                                    u * (0x1.96d3e42d425a9p-25 +                     \
                                                                         u * (-0x1.37b73156e453fp-27 +               \
                                                                              u * (0x1.5ff165b62a91ap-30 +           \
                                                                                   u * (-0x1.1595dfdfa5a11p-33 +     \
                                                                                        u * (0x1.1142bb16bd771p-37 + \
                                                                                             u * -0x1.f8cc81754c20bp-43)))))))))))))))))))

#define TAG f32
#define T float
#define WORD uint32_t
#define SUFFIX(name) name##f
#define MANTISSA 23
#define ONE_BITS 0x3f800000u
#define ROOT_HALF_BITS 0x3f3504f3u /* of the square root of 1/2 */
#define LEAST_NORMAL 0x1p-126f
#define TINY 0x1p-26f
#define LOG2_E 0x1.715476p+0f
#define LN2_HIGH 0x1.62e4p-1f
#define LN2_LOW 0x1.7f7d1cp-20f
#define EXP_HIGH 89.0f                /* exp is infinite */
#define EXP_LOW -104.0f               /* exp is 0 */
#define EXPM1_LOW -25.0f              /* expm1 is -1 */
#define FOUR_INVERSE_BITS 0x7ff311c3u /* less bits of x: about those of 4 / x */
#define EXP_POLYNOMIAL GEMEL__EXP_F32
#define LOG_POLYNOMIAL GEMEL__LOG_F32
#define TANH_TOP GEMEL__TANH_TOP_F32
#define TANH_BOTTOM GEMEL__TANH_BOTTOM_F32
#define TANH_HIGH 10.0f /* tanh is 1 */
#define ERF_HIGH 4.0f   /* erf is 1 */
#define ERF_POLYNOMIAL GEMEL__ERF_F32
#define ERFC_POLYNOMIAL GEMEL__ERFC_F32
#define SQRT_EIGHTH 0x1.6a09e6p-2f
#define NORMAL_INVERSE(w)                                                                          \
  (f32_polynomial(f32_top, F32_TOP, w) / f32_polynomial(f32_bottom, F32_BOTTOM, w))
#include "ops/elementwise-function.h"

#define TAG f64
#define T double
#define WORD uint64_t
#define SUFFIX(name) name
#define MANTISSA 52
#define ONE_BITS 0x3ff0000000000000u
#define ROOT_HALF_BITS 0x3fe6a09e667f3bcdu
#define LEAST_NORMAL 0x1p-1022
#define TINY 0x1p-55
#define LOG2_E 0x1.71547652b82fep+0
#define LN2_HIGH 0x1.62e42fefp-1
#define LN2_LOW 0x1.473de6af278edp-34
#define EXP_HIGH 710.0
#define EXP_LOW -746.0
#define EXPM1_LOW -45.0
#define FOUR_INVERSE_BITS 0x7ffe623822fc16e6u
#define EXP_POLYNOMIAL GEMEL__EXP_F64
#define LOG_POLYNOMIAL GEMEL__LOG_F64
#define TANH_TOP GEMEL__TANH_TOP_F64
#define TANH_BOTTOM GEMEL__TANH_BOTTOM_F64
#define TANH_HIGH 20.0
#define ERF_HIGH 6.0
#define ERF_POLYNOMIAL GEMEL__ERF_F64
#define ERFC_POLYNOMIAL GEMEL__ERFC_F64
#define SQRT_EIGHTH 0x1.6a09e667f3bcdp-2
#define NORMAL_INVERSE(w)                                                                          \
  (f64_polynomial(f64_top, F64_TOP, w) / f64_polynomial(f64_bottom, F64_BOTTOM, w))
#include "ops/elementwise-function.h"

#include "ops/elementwise-pow.h"
#include "ops/elementwise-gamma.h"

#endif
