/*
 * What the tests of the executor share: random numbers, and short ways to make contexts, functions,
 * inputs and tensors. Each program has its own copy.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_RUN_H
#define GEMEL_TESTS_RUN_H

#include "ct.h"

#include <gemel/gemel.h>
#include <gemel/ops.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GEMEL_SANITIZED
enum { sanitized = 1 };
#else
enum { sanitized = 0 };
#endif

/* Under Valgrind there is less of everything, and no operation that compiles to the comparison
 * "equal or unordered", which Valgrind 3.19 takes for "equal". */
static inline int valgrind(void) {
  return getenv("GEMEL_VALGRIND") != NULL;
}

static uint64_t state;

static inline int64_t pick(int64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((state >> 33) % (uint64_t)n);
}

static _Thread_local gemel_error error;

static inline gemel_context *context_new(void) {
  gemel_context *context = gemel_context_new(&error);
  CT_CHECK(context != NULL);
  return context;
}

static inline gemel_function *compile(gemel_graph *graph, int threads, int plain) {
  gemel_options options = {
      .size = sizeof options, .threads = threads, .plain = plain, .as_written = 1};
  gemel_function *f = NULL;
  if (CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_OK))
    f = gemel_compile(graph, &options, &error);
  else
    CT_FAIL("%s", gemel_graph_error(graph)->text);
  CT_CHECK(f != NULL);
  return f;
}

static inline gemel_tensor *vector_of(gemel_dtype dtype, int64_t n, double first) {
  gemel_tensor *t = gemel_tensor_new(dtype, 1, &n, &error);
  int64_t k;
  for (k = 0; k < n; k++) {
    if (dtype == GEMEL_F32)
      ((float *)gemel_tensor_data(t))[k] = (float)(first + (double)k);
    else if (dtype == GEMEL_I64)
      ((int64_t *)gemel_tensor_data(t))[k] = (int64_t)first + k;
  }
  return t;
}

static inline gemel_value f32_input(gemel_graph *g, const char *name, const char *symbol,
                                    int64_t size) {
  gemel_context *c = gemel_graph_context(g);
  gemel_dim dim = symbol ? gemel_dim_symbol(c, symbol) : gemel_dim_constant(c, size);
  return gemel_input(g, name, gemel_type_new(c, GEMEL_F32, 1, &dim, GEMEL_SPACE_HOST));
}

static inline float float_at(const gemel_tensor *t, int64_t k) {
  return ((const float *)gemel_tensor_data(t))[k];
}

/* Makes every NaN the same one: which of two NaNs an addition hands on is nobody's promise. */
static inline void unify_nans(gemel_tensor *t) {
  gemel_dtype dtype = gemel_tensor_dtype(t);
  size_t bytes = gemel_dtype_size(dtype), n = (size_t)gemel_tensor_elements(t), k;
  unsigned exponent = dtype == GEMEL_F16 ? 5 : dtype == GEMEL_F64 ? 11 : 8;
  if (gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT)
    return;
  for (k = 0; k < n; k++) {
    char *at = (char *)gemel_tensor_data(t) + k * bytes;
    uint64_t bits = 0, magnitude, infinity;
    memcpy(&bits, at, bytes);
    magnitude = bits & ~(1ull << (8 * bytes - 1));
    infinity = ((1ull << exponent) - 1) << (8 * bytes - 1 - exponent);
    if (magnitude > infinity)
      memset(at, 0xff, bytes);
  }
}

#endif
