/* SPDX-License-Identifier: MIT
 *
 * Scalar kernels of f32 and f64, for three instruction sets.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <stdint.h>
#include "ops/elementwise.h"
#include "ops/elementwise-math.h"

#define ELEMENT_C(float_c, integer_c) float_c
#define FINISH(value) value
#define HAVE_ARITH SAME
#define HAVE_NUMBER SAME
#define HAVE_INTEGER(...)
#define HAVE_REAL SAME
#define HAVE_QUOTIENT SAME
#define HAVE_COMPARE TRUTH
#define HAVE_LOGIC(...)
#define HAVE_SELECT(...)
#define HAVE_CAST(...)
#define LIST_ARITH LISTED
#define LIST_NUMBER LISTED
#define LIST_INTEGER(name)
#define LIST_REAL LISTED
#define LIST_QUOTIENT LISTED
#define LIST_COMPARE LISTED
#define LIST_LOGIC(name)
#define LIST_SELECT(name)
#define LIST_CAST(name)

#define ISA base
#define T float
#define TAG f32
#include "ops/elementwise-loops.h"
#define T double
#define TAG f64
#include "ops/elementwise-loops.h"
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#define T float
#define TAG f32
#include "ops/elementwise-loops.h"
#define T double
#define TAG f64
#include "ops/elementwise-loops.h"
#undef ISA
GEMEL__END_VARIANT

GEMEL__BEGIN_AVX512
#define ISA avx512
#define T float
#define TAG f32
#include "ops/elementwise-loops.h"
#define T double
#define TAG f64
#include "ops/elementwise-loops.h"
#undef ISA
GEMEL__END_VARIANT
#else
#define table_f32_avx2 table_f32_base
#define table_f64_avx2 table_f64_base
#define table_f32_avx512 table_f32_base
#define table_f64_avx512 table_f64_base
#endif

const gemel__scalar_kernel *gemel__float_kernels(gemel_dtype dtype, gemel__isa isa) {
  static const gemel__scalar_kernel *const tables[GEMEL__ISA_COUNT][2] = {
      {table_f32_base, table_f64_base},
      {table_f32_avx2, table_f64_avx2},
      {table_f32_avx512, table_f64_avx512},
  };
  return tables[isa][dtype == GEMEL_F64];
}
