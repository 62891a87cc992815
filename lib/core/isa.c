/* SPDX-License-Identifier: MIT
 *
 * Finds out what the machine can do. AVX-512 means the parts that all machines since Skylake-SP
 * have in common. Valgrind (which knows no AVX-512) says so itself, by the CPUID that it emulates.
 */
#include "core/isa.h"

gemel__isa gemel__isa_best(void) {
#if GEMEL__X86
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return GEMEL__ISA_AVX512;
  }
  if (__builtin_cpu_supports("avx2")) {
    return GEMEL__ISA_AVX2;
  }
#endif
  return GEMEL__ISA_BASE;
}
