/* SPDX-License-Identifier: MIT
 *
 * Products of matrices, plainly.
 */
#include <math.h>
#include <string.h>
#include "sim/gemm.h"
#include "sim/inside.h"

size_t gemel__sim_size_of(cudaDataType type) {
  switch (type) {
  case CUDA_R_64F:
    return 8;
  case CUDA_R_32F:
    return 4;
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return 2;
  }
  return 0;
}

/* An f16 has 5 bits of exponent and 10 of fraction; a bf16 is the upper half of an f32. */

static float from_f16(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float size = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
               : exponent == 0 ? ldexpf((float)fraction, -24)
                               : ldexpf((float)(fraction + 1024), exponent - 25);
  return bits & 0x8000 ? -size : size;
}

static uint16_t to_f16(float x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  float size = fabsf(x);
  int exponent;
  if (isnan(x))
    return sign | 0x7e00;
  if (size >= 65520) /* half way from the largest number to the next power of two */
    return sign | 0x7c00;
  frexpf(size, &exponent); /* size < 2^exponent */
  exponent = size == 0 || exponent < -13 ? -13 : exponent;
  uint16_t units = (uint16_t)rintf(ldexpf(size, 11 - exponent)); /* of the last place; to even */
  return (uint16_t)(sign | ((exponent + 13) * 1024 + units));
}

static float from_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float x;
  memcpy(&x, &wide, sizeof x);
  return x;
}

static uint16_t to_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (isnan(x))
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); /* ties to even */
}

double gemel__sim_load(const void *at, cudaDataType type, int64_t index) {
  switch (type) {
  case CUDA_R_64F:
    return ((const double *)at)[index];
  case CUDA_R_32F:
    return ((const float *)at)[index];
  case CUDA_R_16F:
    return from_f16(((const uint16_t *)at)[index]);
  case CUDA_R_16BF:
    return from_bf16(((const uint16_t *)at)[index]);
  }
  return NAN;
}

void gemel__sim_store(void *at, cudaDataType type, int64_t index, double x) {
  switch (type) {
  case CUDA_R_64F:
    ((double *)at)[index] = x;
    break;
  case CUDA_R_32F:
    ((float *)at)[index] = (float)x;
    break;
  case CUDA_R_16F:
    ((uint16_t *)at)[index] = to_f16((float)x);
    break;
  case CUDA_R_16BF:
    ((uint16_t *)at)[index] = to_bf16((float)x);
    break;
  }
}

float gemel__sim_with_digits(float x, int digits) {
  int exponent;
  float fraction = frexpf(x, &exponent);
  return isfinite(x) ? ldexpf(rintf(ldexpf(fraction, digits)), exponent - digits) : x;
}

/* Where op(matrix)[i, j] lies. */
static int64_t place(const gemel__sim_matrix *m, int batch, int64_t i, int64_t j) {
  return batch * m->stride + (m->transposed ? j + i * m->leading : i + j * m->leading);
}

static double dot(const gemel__sim_product *p, int batch, int64_t i, int64_t j, bool backwards) {
  bool wide = p->a.type == CUDA_R_64F;
  float narrow_sum = 0;
  double wide_sum = 0;
  for (int64_t l = 0; l < p->k; l++) {
    int64_t e = backwards ? p->k - 1 - l : l;
    double x = gemel__sim_load(p->a.at, p->a.type, place(&p->a, batch, i, e));
    double y = gemel__sim_load(p->b.at, p->b.type, place(&p->b, batch, e, j));
    if (wide)
      wide_sum += x * y;
    else if (p->digits > 0)
      narrow_sum +=
          gemel__sim_with_digits((float)x, p->digits) * gemel__sim_with_digits((float)y, p->digits);
    else
      narrow_sum += (float)x * (float)y;
  }
  return wide ? wide_sum : narrow_sum;
}

static double combined(const gemel__sim_product *p, double sum, double old) {
  if (p->a.type == CUDA_R_64F)
    return p->alpha * sum + (p->beta != 0 ? p->beta * old : 0);
  float scaled = (float)p->alpha * (float)sum;
  return p->beta != 0 ? scaled + (float)p->beta * (float)old : scaled;
}

void gemel__sim_multiply(const gemel__sim_product *p) {
  bool backwards =
      gemel__sim_choice((uint64_t)p->c.rows << 40 ^ (uint64_t)p->c.columns << 20 ^ (uint64_t)p->k);
  for (int batch = 0; batch < p->count; batch++)
    for (int64_t j = 0; j < p->c.columns; j++)
      for (int64_t i = 0; i < p->c.rows; i++) {
        int64_t at = place(&p->c, batch, i, j);
        double old = p->beta != 0 ? gemel__sim_load(p->c.at, p->c.type, at) : 0;
        gemel__sim_store(p->c.at, p->c.type, at, combined(p, dot(p, batch, i, j, backwards), old));
      }
}
