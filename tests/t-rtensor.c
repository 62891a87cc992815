/*
 * Tensors of domain elements: conversion from views of every dtype and any strides, limits of size,
 * refused memory. The elements are those of domain O, whose values can be read exactly.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "dtypes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "domains/ordered.h"
#include "reference/reference.h"
#include "base/random.h"

/* A domain and an element of it, which every test here wants. */
typedef struct bench {
  gemel__ordered *o;
  gemel__domain *d;
  void *a;
} bench;

static int set_up(bench *t) {
  *t = (bench){0};
  t->o = gemel__ordered_new(128);
  if (!t->o)
    return 0;
  t->d = &t->o->domain;
  t->a = gemel__elements_new(t->d, 1);
  return 1;
}

static void tear_down(bench *t) {
  gemel__elements_free(t->d, t->a, 1);
  gemel__ordered_free(t->o);
  gemel__domains_cleanup();
}

static void tensors_decode(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  unsigned char bytes[13 * 8];
  gemel__random r;
  gemel__random_seed(&r, 9);
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (unsigned char)gemel__random_bits(&r);
  int64_t size = (int64_t)gemel_dtype_size(dtype), shape[] = {2, 3}, strides[] = {-size, 2 * size};
  gemel_view view = {dtype, 2, shape, strides, bytes + size};
  gemel__rtensor tensor;
  CT_EQ_INT(gemel__rtensor_from_view(&tensor, t.d, &view, NULL), GEMEL_OK);
  CT_EQ_UINT(tensor.count, 6);
  CT_EQ_INT(tensor.dtype, dtype);
  for (int64_t i = 0; i < 2; i++)
    for (int64_t j = 0; j < 3; j++) {
      int64_t index[] = {i, j};
      unsigned char *at = bytes + size - i * size + 2 * j * size;
      uint64_t bits = 0;
      memcpy(&bits, at, (size_t)size); /* little-endian, like the rest of the project */
      float single;
      double wide;
      memcpy(&single, at, sizeof single);
      memcpy(&wide, at, sizeof wide);
      uint32_t upper = (uint32_t)bits << 16;
      if (dtype == GEMEL_BF16) /* the upper half of an f32 */
        memcpy(&single, &upper, sizeof single);
      int64_t number = wrapped(dtype, (int64_t)bits);
      if (dtype == GEMEL_F64)
        t.d->from_double(t.d, t.a, wide);
      else if (dtype == GEMEL_F32 || dtype == GEMEL_BF16)
        t.d->from_double(t.d, t.a, single);
      else if (dtype == GEMEL_U64)
        t.d->from_unsigned(t.d, t.a, bits);
      else
        t.d->from_integer(t.d, t.a, number);
      if (dtype != GEMEL_F16)
        CT_CHECK(gemel__ordered_overlap(t.d, t.a, gemel__rtensor_index(&tensor, index)));
    }
  gemel__rtensor_clear(&tensor);
  CT_CHECK(tensor.domain == NULL);
  tear_down(&t);
}

/* All finite binary16 numbers, in order of their bits: differences must double at each binade. */
static void halves_decode(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  static uint16_t bits[0x7c00];
  for (int i = 0; i < 0x7c00; i++)
    bits[i] = (uint16_t)i;
  int64_t shape[] = {0x7c00}, strides[] = {2};
  gemel_view view = {GEMEL_F16, 1, shape, strides, bits};
  gemel__rtensor tensor;
  CT_REQUIRE(gemel__rtensor_from_view(&tensor, t.d, &view, NULL) == GEMEL_OK);
  double value = 0;
  for (int i = 0; i < 0x7c00; i++) {
    double low, high;
    gemel__ordered_bounds(t.d, gemel__rtensor_at(&tensor, (size_t)i), &low, &high);
    if (low != value || high != value)
      CT_FAIL("%04x is [%a, %a], not %a", (unsigned)i, low, high, value);
    value += ldexp(0x1p-24, i < 0x400 ? 0 : i / 0x400 - 1);
  }
  CT_CHECK(value == 65536);
  gemel__rtensor_clear(&tensor);
  tear_down(&t);
}

static void tensors_are_limited(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__rtensor tensor;
  const int64_t much[] = {4096, 4097}, huge[] = {INT64_MAX, INT64_MAX, 2}, negative[] = {-1},
                empty[] = {INT64_MAX, 0, INT64_MAX};
  CT_EQ_INT(gemel__rtensor_init(&tensor, t.d, GEMEL_F32, 2, much, NULL), GEMEL_BAD_VALUE);
  CT_EQ_INT(gemel__rtensor_init(&tensor, t.d, GEMEL_F32, 3, huge, NULL), GEMEL_BAD_VALUE);
  CT_EQ_INT(gemel__rtensor_init(&tensor, t.d, GEMEL_F32, 1, negative, NULL), GEMEL_BAD_VALUE);
  CT_EQ_INT(gemel__rtensor_init(&tensor, t.d, GEMEL_F32, 17, huge, NULL), GEMEL_BAD_VALUE);
  CT_EQ_INT(gemel__rtensor_init(&tensor, t.d, GEMEL_F32, 3, empty, NULL), GEMEL_OK);
  CT_EQ_UINT(tensor.count, 0);
  gemel__rtensor_clear(&tensor);
  CT_EQ_INT(gemel__rtensor_init(&tensor, t.d, GEMEL_F32, 0, NULL, NULL), GEMEL_OK);
  CT_EQ_UINT(tensor.count, 1);
  CT_EQ_INT(t.d->sign(t.d, gemel__rtensor_at(&tensor, 0)), 0);
  gemel__rtensor_clear(&tensor);
  gemel__rtensor_clear(&tensor);
  tear_down(&t);
}

static int memory_runs_out(void *data) {
  (void)data;
  gemel__ordered *o = gemel__ordered_new(128);
  if (!o)
    return GEMEL_NO_MEMORY;
  const int64_t shape[] = {5};
  gemel__rtensor tensor;
  gemel_status status = gemel__rtensor_init(&tensor, &o->domain, GEMEL_F32, 1, shape, NULL);
  gemel__rtensor_clear(&tensor);
  gemel__ordered_free(o);
  return status;
}

static void refusals_are_survived(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(memory_runs_out, NULL) >= 2);
}

static const ct_test tests[] = {
    CT_TEST("f16", halves_decode, NULL),
    CT_TEST("limits", tensors_are_limited, NULL),
    CT_TEST("memory", refusals_are_survived, NULL),
};

void ct_register(void) {
  ct_suite("rtensor", tests, CT_COUNT(tests));
  for (size_t i = 0; i < CT_COUNT(dtypes); i++) {
    char text[40];
    snprintf(text, sizeof text, "decode/%s", gemel_dtype_name(dtypes[i]));
    CT_ADD("rtensor", text, tensors_decode, &dtypes[i]);
  }
}
