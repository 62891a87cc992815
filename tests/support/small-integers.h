/* SPDX-License-Identifier: MIT
 *
 * Tensors of small integers, on which floats calculate exactly in whatever order, and a call with
 * them. Whoever includes this has an error called `error`.
 */
#ifndef GEMEL_TESTS_SMALL_INTEGERS_H
#define GEMEL_TESTS_SMALL_INTEGERS_H

#include <gemel/function.h>
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

/* The results OUT of GRAPH, compiled with OPTIONS, for IN. */
static inline void call_once(const gemel_graph *graph, const gemel_options *options, size_t n_in,
                             gemel_tensor *const *in, size_t n_out, gemel_tensor **out) {
  gemel_function *f = gemel_compile(graph, options, &error);
  ct_context("%s", error.text);
  CT_REQUIRE(f != NULL);
  CT_EQ_INT(gemel_call(f, n_in, in, n_out, out, &error), GEMEL_OK);
  gemel_function_free(f);
}

static inline void drop(gemel_tensor **tensors, size_t n) {
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(tensors[k]);
    tensors[k] = NULL;
  }
}

#endif
