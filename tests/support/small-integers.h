/* SPDX-License-Identifier: MIT
 *
 * Tensors of small integers, on which floats calculate exactly in whatever order. Whoever includes
 * this has an error called `error`.
 */
#ifndef GEMEL_TESTS_SMALL_INTEGERS_H
#define GEMEL_TESTS_SMALL_INTEGERS_H

#include <gemel/tensor.h>
#include <string.h>
#include "core/dtype.h"
#include "base/random.h"

/* Of -4 to 4; floats, or i32. */
static inline gemel_tensor *small_integers(gemel_dtype dtype, int rank, const int64_t *shape,
                                           gemel__random *random) {
  gemel_tensor *made = gemel_tensor_new(dtype, rank, shape, &error);
  CT_CHECK(made != NULL);
  for (int64_t k = 0; made != NULL && k < gemel_tensor_elements(made); k++) {
    int32_t n = (int32_t)gemel__random_between(random, -4, 4);
    float x = (float)n;
    double wide = (double)n;
    char *to = (char *)gemel_tensor_data(made) + (size_t)k * gemel_dtype_size(dtype);
    if (dtype == GEMEL_F16 || dtype == GEMEL_BF16) {
      gemel__half_from_f32(dtype, 1, (uint16_t *)(void *)to, &x);
    } else {
      const void *from = dtype == GEMEL_F64 ? (void *)&wide : dtype == GEMEL_F32 ? (void *)&x : &n;
      memcpy(to, from, gemel_dtype_size(dtype));
    }
  }
  return made;
}

static inline void drop(gemel_tensor **tensors, size_t n) {
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(tensors[k]);
    tensors[k] = NULL;
  }
}

#endif
