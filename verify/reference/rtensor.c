/* SPDX-License-Identifier: MIT
 *
 * Tensors of domain elements: dense, row-major, each element initialised in its domain. Conversion
 * from stored numbers decodes every dtype here, f16 and bf16 from their bits, so that nothing of
 * the library's own conversions takes part in a reference.
 */
#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "core/error.h"

#define MAX_ELEMENTS ((size_t)1 << 24)

/* Product of the sizes, or −1 if it is more than MAX_ELEMENTS or a size is negative. */
static int64_t count_of(int rank, const int64_t *shape) {
  int64_t count = 1;
  int empty = 0;
  for (int i = 0; i < rank; i++) {
    if (shape[i] < 0)
      return -1;
    empty |= shape[i] == 0;
  }
  if (empty)
    return 0;
  for (int i = 0; i < rank; i++) {
    if (shape[i] > (int64_t)MAX_ELEMENTS / count)
      return -1;
    count *= shape[i];
  }
  return count;
}

gemel_status gemel__rtensor_init(gemel__rtensor *t, gemel__domain *d, gemel_dtype dtype, int rank,
                                 const int64_t *shape, gemel_error *error) {
  *t = (gemel__rtensor){0};
  if (rank < 0 || rank > GEMEL_MAX_RANK)
    return gemel__fail(error, GEMEL_BAD_VALUE, "reference: a tensor of rank %d", rank);
  int64_t count = count_of(rank, shape);
  if (count < 0)
    return gemel__fail(error, GEMEL_BAD_VALUE,
                       "reference: a negative size, or more than %zu elements", MAX_ELEMENTS);
  void *elements = gemel__elements_new(d, (size_t)count);
  if (!elements)
    return gemel__no_memory(error, "a tensor of the reference");
  t->domain = d;
  t->dtype = dtype;
  t->rank = rank;
  for (int i = 0; i < rank; i++)
    t->shape[i] = shape[i];
  t->count = (size_t)count;
  t->elements = elements;
  return GEMEL_OK;
}

void gemel__rtensor_clear(gemel__rtensor *t) {
  if (t->domain)
    gemel__elements_free(t->domain, t->elements, t->count);
  *t = (gemel__rtensor){0};
}

void *gemel__rtensor_index(const gemel__rtensor *t, const int64_t *index) {
  int64_t at = 0;
  for (int i = 0; i < t->rank; i++)
    at = at * t->shape[i] + index[i];
  return gemel__rtensor_at(t, (size_t)at);
}

/* The number that these 16 bits are in IEEE binary16: 1 sign, 5 exponent (bias 15), 10 fraction. */
static double decode_f16(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* bfloat16: 1 sign, 8 exponent (bias 127), 7 fraction. */
static double decode_bf16(uint16_t bits) {
  int exponent = bits >> 7 & 255, fraction = bits & 127;
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == 255)
    return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexp(128 + fraction, exponent - 134) : ldexp(fraction, -133));
}

/* Sets E to the number of DTYPE that is stored (aligned or not) at FROM. */
static void read_element(gemel__domain *d, void *e, gemel_dtype dtype, const char *from) {
  union {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
  } x;
  memcpy(&x, from, gemel_dtype_size(dtype));
  switch (dtype) {
  case GEMEL_BOOL:
    d->from_integer(d, e, x.u8 != 0);
    break;
  case GEMEL_I8:
    d->from_integer(d, e, x.i8);
    break;
  case GEMEL_I16:
    d->from_integer(d, e, x.i16);
    break;
  case GEMEL_I32:
    d->from_integer(d, e, x.i32);
    break;
  case GEMEL_I64:
    d->from_integer(d, e, x.i64);
    break;
  case GEMEL_U8:
    d->from_unsigned(d, e, x.u8);
    break;
  case GEMEL_U16:
    d->from_unsigned(d, e, x.u16);
    break;
  case GEMEL_U32:
    d->from_unsigned(d, e, x.u32);
    break;
  case GEMEL_U64:
    d->from_unsigned(d, e, x.u64);
    break;
  case GEMEL_F16:
    d->from_double(d, e, decode_f16(x.u16));
    break;
  case GEMEL_BF16:
    d->from_double(d, e, decode_bf16(x.u16));
    break;
  case GEMEL_F32:
    d->from_double(d, e, x.f32);
    break;
  default:
    d->from_double(d, e, x.f64);
  }
}

gemel_status gemel__rtensor_from_view(gemel__rtensor *t, gemel__domain *d, const gemel_view *view,
                                      gemel_error *error) {
  gemel_status status = gemel__rtensor_init(t, d, view->dtype, view->rank, view->shape, error);
  if (status != GEMEL_OK)
    return status;
  int64_t index[GEMEL_MAX_RANK] = {0};
  const char *at = view->data;
  for (size_t i = 0; i < t->count; i++) {
    read_element(d, gemel__rtensor_at(t, i), view->dtype, at);
    for (int axis = view->rank - 1; axis >= 0; axis--) {
      at += view->strides[axis];
      if (++index[axis] < view->shape[axis])
        break;
      at -= view->strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return GEMEL_OK;
}
