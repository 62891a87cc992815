/* SPDX-License-Identifier: MIT
 *
 * Elements of tensors, see element.h. Every dtype is decoded here, f16 and bf16 from their bits, so
 * that references don't depend on the library's conversions.
 */
#include "base/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/dtype.h"
#include "core/tensor.h"

/* Decodes f16 or bf16 by definition: sign, exponent, fraction. */
static double decode_half(const gemel__format *f, uint16_t bits) {
  int fraction_bits = f->digits - 1, last = 2 * f->highest + 1;
  int exponent = bits >> fraction_bits & last;
  double fraction = bits & ((1 << fraction_bits) - 1);
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == last) {
    return fraction != 0 ? NAN : sign * INFINITY;
  }
  if (exponent == 0) {
    return sign * ldexp(fraction, gemel__format_unit(f));
  }
  return sign * ldexp(fraction + (1 << fraction_bits), exponent - 1 + gemel__format_unit(f));
}

double gemel__decode(gemel_dtype dtype, const void *data) {
  uint16_t half;
  switch (dtype) {
  case GEMEL_F16:
  case GEMEL_BF16:
    memcpy(&half, data, sizeof half);
    return decode_half(gemel__dtype_format(dtype), half);
#define DECODE_CASE(E, ctype)                                                                      \
  case GEMEL_##E: {                                                                                \
    ctype x;                                                                                       \
    memcpy(&x, data, sizeof x);                                                                    \
    return (double)x;                                                                              \
  }
    DECODE_CASE(BOOL, uint8_t)
    DECODE_CASE(I8, int8_t)
    DECODE_CASE(I16, int16_t)
    DECODE_CASE(I32, int32_t)
    DECODE_CASE(I64, int64_t)
    DECODE_CASE(U8, uint8_t)
    DECODE_CASE(U16, uint16_t)
    DECODE_CASE(U32, uint32_t)
    DECODE_CASE(U64, uint64_t)
    DECODE_CASE(F32, float)
    DECODE_CASE(F64, double)
#undef DECODE_CASE
  default:
    return NAN;
  }
}

void gemel__element_format(gemel_dtype dtype, const void *data, char *text, size_t bytes) {
  uint64_t whole;
  memcpy(&whole, data, gemel_dtype_size(dtype) == sizeof whole ? sizeof whole : 0);
  if (dtype == GEMEL_I64) {
    snprintf(text, bytes, "%" PRId64, (int64_t)whole);
  } else if (dtype == GEMEL_U64) {
    snprintf(text, bytes, "%" PRIu64, whole);
  } else {
    snprintf(text, bytes, "%.17g", gemel__decode(dtype, data));
  }
}

const void *gemel__tensor_element(const gemel_tensor *tensor, size_t i) {
  gemel_view v = gemel_tensor_view(tensor);
  const char *at = v.data;
  if (gemel__is_row_major(gemel_dtype_size(v.dtype), v.rank, v.shape, v.strides)) {
    return at + i * gemel_dtype_size(v.dtype); /* the common case, without slow divisions */
  }
  for (int k = v.rank; k-- > 0;) {
    at += (int64_t)(i % (size_t)v.shape[k]) * v.strides[k];
    i /= (size_t)v.shape[k];
  }
  return at;
}

gemel__walk gemel__walk_start(const gemel_tensor *tensor) {
  return (gemel__walk){.view = gemel_tensor_view(tensor)};
}

const void *gemel__tensor_plain(const gemel_tensor *tensor) {
  gemel_view v = gemel_tensor_view(tensor);
  return gemel__is_row_major(gemel_dtype_size(v.dtype), v.rank, v.shape, v.strides) ? v.data : NULL;
}

double gemel__type_elements(gemel_context *context, gemel_type type, int64_t unknown) {
  double count = 1;
  for (int j = 0; j < gemel_type_rank(context, type); j++) {
    int64_t size = unknown;
    gemel_dim_is_constant(context, gemel_type_dims(context, type)[j], &size);
    count *= (double)size;
  }
  return count;
}
