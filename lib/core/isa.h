/* SPDX-License-Identifier: MIT
 *
 * Kernels compiled several times, for more and less capable machines, with the choice made at run
 * time. A file of kernels stands between GEMEL__BEGIN_x and GEMEL__END_x once for each x and uses
 * different names each time (function multiversioning by hand: it needs no ifunc, so it works under
 * Valgrind, with sanitizers, in static programs, and with GCC and Clang alike). What the variants
 * compute is the same to the last bit: no contraction, no reassociation, only wider registers.
 *
 * A file that includes this with GEMEL__KERNELS defined is optimised for loops whatever CFLAGS say.
 */
#ifndef GEMEL__CORE_ISA_H
#define GEMEL__CORE_ISA_H

typedef enum gemel__isa {
  GEMEL__ISA_BASE,
  GEMEL__ISA_AVX2,
  GEMEL__ISA_AVX512,
  GEMEL__ISA_COUNT
} gemel__isa;

/* The best that this machine has and this build knows. Thread-safe. */
gemel__isa gemel__isa_best(void);

#if defined(__x86_64__) && defined(__GNUC__)
#define GEMEL__X86 1
#else
#define GEMEL__X86 0
#endif

#define GEMEL__PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define GEMEL__TARGET(list)                                                                        \
  GEMEL__PRAGMA(clang attribute push(__attribute__((target(list))), apply_to = function))
#define GEMEL__BEGIN_AVX2 GEMEL__TARGET("avx2")
#define GEMEL__BEGIN_AVX512 GEMEL__TARGET("avx512f,avx512bw,avx512dq,avx512vl")
#define GEMEL__END_VARIANT _Pragma("clang attribute pop")
/* Nothing is carried from one iteration to the next, though arrays may be one and the same. */
#define GEMEL__INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define GEMEL__BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2\")")
#define GEMEL__BEGIN_AVX512                                                                        \
  _Pragma("GCC push_options")                                                                      \
      _Pragma("GCC target(\"avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512\")")
#define GEMEL__END_VARIANT _Pragma("GCC pop_options")
#define GEMEL__INDEPENDENT _Pragma("GCC ivdep")
#else
#define GEMEL__INDEPENDENT
#endif

#ifdef GEMEL__KERNELS
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#pragma clang diagnostic ignored "-Wtautological-compare"
#elif defined(__GNUC__)
#pragma GCC optimize("O3,no-trapping-math,no-math-errno,no-thread-jumps")
#pragma GCC diagnostic ignored "-Wtype-limits"
#endif
#endif

#define GEMEL__PASTE2(a, b) GEMEL__PASTE2_(a, b)
#define GEMEL__PASTE2_(a, b) a##_##b
#define GEMEL__PASTE3(a, b, c) GEMEL__PASTE3_(a, b, c)
#define GEMEL__PASTE3_(a, b, c) a##_##b##_##c

#endif
