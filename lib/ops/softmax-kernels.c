/* SPDX-License-Identifier: MIT
 *
 * The loops of softmax and cross_entropy on contiguous elements, for three instruction sets.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <stdint.h>
#include <string.h>
#include "ops/elementwise-math.h"
#include "ops/softmax.h"

#define ISA base
#define REGISTER 16
#define T float
#define TAG f32
#include "ops/softmax-loops.h"
#define T double
#define TAG f64
#include "ops/softmax-loops.h"
#undef REGISTER
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#define REGISTER 32
#define T float
#define TAG f32
#include "ops/softmax-loops.h"
#define T double
#define TAG f64
#include "ops/softmax-loops.h"
#undef REGISTER
#undef ISA
GEMEL__END_VARIANT
GEMEL__BEGIN_AVX512
#define ISA avx512
#define REGISTER 64
#define T float
#define TAG f32
#include "ops/softmax-loops.h"
#define T double
#define TAG f64
#include "ops/softmax-loops.h"
#undef REGISTER
#undef ISA
GEMEL__END_VARIANT
#else
#define kernels_f32_avx2 kernels_f32_base
#define kernels_f64_avx2 kernels_f64_base
#define kernels_f32_avx512 kernels_f32_base
#define kernels_f64_avx512 kernels_f64_base
#endif

const gemel__softmax_kernels *gemel__softmax_kernels_for(gemel_dtype dtype, gemel__isa isa) {
  static const gemel__softmax_kernels *const all[GEMEL__ISA_COUNT][2] = {
      {&kernels_f32_base, &kernels_f64_base},
      {&kernels_f32_avx2, &kernels_f64_avx2},
      {&kernels_f32_avx512, &kernels_f64_avx512}};
  return all[isa][dtype == GEMEL_F64];
}
