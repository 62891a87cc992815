/*
 * The dtypes, and how their integers wrap, by the rows of the table and the compiler's own casts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_DTYPES_H
#define GEMEL_TESTS_DTYPES_H

#include <gemel/dtype.h>
#include <stdint.h>

static const gemel_dtype dtypes[] = {
#define DTYPE(E, name, bytes, kind, type) GEMEL_##E,
    GEMEL_DTYPE_TABLE(DTYPE)};
#undef DTYPE

static inline int64_t wrapped(gemel_dtype dtype, int64_t x) {
  switch (dtype) {
#define WRAP(E, name, bytes, kind, type)                                                           \
  case GEMEL_##E:                                                                                  \
    return (int64_t)(kind == GEMEL_KIND_BOOL ? x != 0 : (type)x);
    GEMEL_DTYPE_TABLE(WRAP)
#undef WRAP
  default:
    return 0;
  }
}

#endif
