/* SPDX-License-Identifier: MIT
 *
 * Planted faults of scalar kernels: wrong kernels that are handed out in the place of right ones.
 * Included by the copy of elementwise-kernels.c.
 */
#include <math.h>
#include <stdint.h>

/* -x as 0 - x: right but for -(+0). */
static void neg_by_subtraction(size_t n, void *out, const void *const *in) {
  size_t k;
  for (k = 0; k < n; k++) {
    ((float *)out)[k] = 0 - ((const float *)in[0])[k];
  }
}

static void mul_slightly_off(size_t n, void *out, const void *const *in) {
  size_t k;
  for (k = 0; k < n; k++) {
    ((double *)out)[k] = ((const double *)in[0])[k] * ((const double *)in[1])[k] * (1 + 1e-6);
  }
}

static void add_saturating(size_t n, void *out, const void *const *in) {
  size_t k;
  for (k = 0; k < n; k++) {
    int64_t sum = (int64_t)((const int32_t *)in[0])[k] + ((const int32_t *)in[1])[k];
    ((int32_t *)out)[k] = (int32_t)(sum > INT32_MAX   ? INT32_MAX
                                    : sum < INT32_MIN ? INT32_MIN
                                                      : sum);
  }
}

static void cast_to_nearest(size_t n, void *out, const void *const *in) {
  size_t k;
  for (k = 0; k < n; k++) {
    float x = ((const float *)in[0])[k];
    double y = x == x ? rint(x) : 0;
    y = y < INT32_MIN ? INT32_MIN : y > INT32_MAX ? INT32_MAX : y;
    ((int32_t *)out)[k] = (int32_t)y;
  }
}

/* A loop over vectors of eight whose rest takes the operand before: one element in more than 64. */
static void sqrt_wrong_tail(size_t n, void *out, const void *const *in) {
  size_t k;
  for (k = 0; k < n; k++) {
    size_t from = n > 64 && n % 8 != 0 && k == n - 1 ? k - 1 : k;
    ((float *)out)[k] = sqrtf(((const float *)in[0])[from]);
  }
}

/* The last element of a block is never written. */
static void sub_unwritten(size_t n, void *out, const void *const *in) {
  size_t k;
  for (k = 0; k + 1 < n; k++) {
    ((double *)out)[k] = ((const double *)in[0])[k] - ((const double *)in[1])[k];
  }
}

static void relu_copies_zeros(size_t n, void *out, const void *const *in) {
  for (size_t k = 0; k < n; k++) {
    float x = ((const float *)in[0])[k];
    ((float *)out)[k] = x < 0 ? 0 : x;
  }
}

static void sign_by_comparing(size_t n, void *out, const void *const *in) {
  for (size_t k = 0; k < n; k++) {
    double x = ((const double *)in[0])[k];
    ((double *)out)[k] = x != x ? x : (double)((x > 0) - (x < 0));
  }
}

static gemel__scalar_kernel plant(const gemel__scalar_row *row, gemel_dtype operand,
                                  gemel_dtype result, gemel__scalar_kernel kernel) {
#define PLANT(fault, op, from, to, wrong)                                                          \
  if (GEMEL__FAULT(fault) && row->index == GEMEL__SCALAR_##op && operand == (from) &&              \
      result == (to)) {                                                                            \
    return wrong;                                                                                  \
  }
  PLANT(neg_zero, neg, GEMEL_F32, GEMEL_F32, neg_by_subtraction)
  PLANT(relu_zero_sign, relu, GEMEL_F32, GEMEL_F32, relu_copies_zeros)
  PLANT(sign_zero, sign, GEMEL_F64, GEMEL_F64, sign_by_comparing)
  PLANT(mul_scale, mul, GEMEL_F64, GEMEL_F64, mul_slightly_off)
  PLANT(add_saturates, add, GEMEL_I32, GEMEL_I32, add_saturating)
  PLANT(cast_rounds, cast, GEMEL_F32, GEMEL_I32, cast_to_nearest)
  PLANT(sqrt_tail, sqrt, GEMEL_F32, GEMEL_F32, sqrt_wrong_tail)
  PLANT(sub_unwritten, sub, GEMEL_F64, GEMEL_F64, sub_unwritten)
#undef PLANT
  return kernel;
}
