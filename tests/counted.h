/*
 * The numbers that tests/corpus/make-npy.py and make-safetensors.py put into the files there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_COUNTED_H
#define GEMEL_TESTS_COUNTED_H

#include <gemel/tensor.h>
#include <string.h>
#include "core/dtype.h"

/* Whether element K is what was put there: 3 k - 4, wrapped if unsigned; of bools, k odd. */
static inline int is_expected(const gemel_tensor *t, int64_t k) {
  gemel_dtype dtype = gemel_tensor_dtype(t);
  size_t bytes = gemel_dtype_size(dtype);
  const char *p = (const char *)gemel_tensor_data(t) + (size_t)k * bytes;
  int64_t want = dtype == GEMEL_BOOL ? k % 2 : 3 * k - 4;
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    return gemel__dtype_load(dtype, p) == (double)want;
  }
  return memcmp(p, &want, bytes) == 0; /* little-endian: the lowest bytes come first */
}

#endif
