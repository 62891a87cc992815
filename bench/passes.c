/* SPDX-License-Identifier: MIT
 *
 * Reading and copying passes; see passes.h. The readers add up whole vectors of integers, which
 * takes less time than the memory; one reads a part from front to back, the other one reads four
 * places of it at once. The copiers are memcpy, a loop of vectors, and a loop that writes past the
 * cache (non-temporal stores). With AVX-512 the vectors are of 64 bytes, otherwise what the
 * compiler makes of them.
 */
#include "passes.h"

#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define X86 1
#else
#define X86 0
#endif

typedef uint64_t lanes __attribute__((vector_size(64)));
#define INLINE static inline __attribute__((always_inline))

/* What readers found goes here, so that no compiler leaves the reading out. */
static volatile uint64_t sink;

/* ---- One thread's part ---- */

INLINE uint64_t fold(const lanes *sums, int n) {
  uint64_t total = 0;
  for (int k = 0; k < n; k++) {
    for (int j = 0; j < 8; j++) {
      total += sums[k][j];
    }
  }
  return total;
}

INLINE void read_one_stream(const char *from, size_t bytes) {
  const lanes *p = (const lanes *)from;
  size_t n = bytes / sizeof *p, k;
  lanes s[4] = {{0}, {0}, {0}, {0}};
  for (k = 0; k + 4 <= n; k += 4) {
    s[0] += p[k];
    s[1] += p[k + 1];
    s[2] += p[k + 2];
    s[3] += p[k + 3];
  }
  for (; k < n; k++) {
    s[0] += p[k];
  }
  sink = fold(s, 4);
}

INLINE void read_four_streams(const char *from, size_t bytes) {
  const lanes *p = (const lanes *)from;
  size_t n = bytes / sizeof *p, quarter = n / 4, k;
  lanes s[4] = {{0}, {0}, {0}, {0}};
  for (k = 0; k < quarter; k++) {
    s[0] += p[k];
    s[1] += p[k + quarter];
    s[2] += p[k + 2 * quarter];
    s[3] += p[k + 3 * quarter];
  }
  for (k = 4 * quarter; k < n; k++) {
    s[0] += p[k];
  }
  sink = fold(s, 4);
}

INLINE void copy_vectors(char *to, const char *from, size_t bytes) {
  const lanes *p = (const lanes *)from;
  lanes *q = (lanes *)to;
  size_t n = bytes / sizeof *p, k;
  for (k = 0; k < n; k++) {
    q[k] = p[k];
  }
}

typedef void (*part_pass)(char *to, const char *from, size_t bytes);

static void part_read_one(char *to, const char *from, size_t bytes) {
  (void)to;
  read_one_stream(from, bytes);
}

static void part_read_four(char *to, const char *from, size_t bytes) {
  (void)to;
  read_four_streams(from, bytes);
}

static void part_memcpy(char *to, const char *from, size_t bytes) {
  memcpy(to, from, bytes);
}

static void part_copy(char *to, const char *from, size_t bytes) {
  copy_vectors(to, from, bytes);
}

#if X86
#ifdef __clang__
#define AVX512 __attribute__((target("avx512f"), min_vector_width(512)))
#else
#define AVX512 __attribute__((target("avx512f,prefer-vector-width=512")))
#endif

AVX512 static void part_read_one_512(char *to, const char *from, size_t bytes) {
  (void)to;
  read_one_stream(from, bytes);
}

AVX512 static void part_read_four_512(char *to, const char *from, size_t bytes) {
  (void)to;
  read_four_streams(from, bytes);
}

AVX512 static void part_copy_512(char *to, const char *from, size_t bytes) {
  copy_vectors(to, from, bytes);
}

AVX512 static void part_stream_512(char *to, const char *from, size_t bytes) {
  for (size_t k = 0; k < bytes; k += 64) {
    _mm512_stream_si512((void *)(to + k), _mm512_load_si512(from + k));
  }
  _mm_sfence();
}

static void part_stream(char *to, const char *from, size_t bytes) {
  for (size_t k = 0; k < bytes; k += 16) {
    _mm_stream_si128((__m128i *)(to + k), _mm_load_si128((const __m128i *)(from + k)));
  }
  _mm_sfence();
}
#endif

/* ---- All threads ---- */

static void share_out(const gemel__pass *pass, part_pass part) {
  size_t lines = pass->bytes / 64, threads = (size_t)pass->threads;
#ifdef _OPENMP
#pragma omp parallel for num_threads(pass->threads) schedule(static, 1)
#endif
  for (int t = 0; t < pass->threads; t++) {
    size_t begin = lines * (size_t)t / threads * 64, end = lines * ((size_t)t + 1) / threads * 64;
    part(pass->to + (pass->to != NULL ? begin : 0), pass->from + begin, end - begin);
  }
}

/* A function for each way, since a contender takes no more than one pointer. */
#define PASS(part)                                                                                 \
  static void run_##part(void *state) {                                                            \
    share_out(state, part);                                                                        \
  }
PASS(part_read_one)
PASS(part_read_four)
PASS(part_memcpy)
PASS(part_copy)
#if X86
PASS(part_read_one_512)
PASS(part_read_four_512)
PASS(part_copy_512)
PASS(part_stream_512)
PASS(part_stream)
#endif

static int has_avx512(void) {
#if X86
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return 0;
#endif
}

static size_t fill(gemel__bench_contender *contenders, const gemel__pass *pass, size_t n,
                   void (*const *ways)(void *)) {
  size_t k;
  for (k = 0; k < n; k++) {
    contenders[k].run = ways[k];
    contenders[k].state = (void *)pass;
  }
  return n;
}

/* The ways with wider vectors stand last. */
size_t gemel__pass_readers(const gemel__pass *pass, gemel__bench_contender *contenders) {
  static void (*const ways[])(void *) = {
    run_part_read_one,
    run_part_read_four,
#if X86
    run_part_read_one_512,
    run_part_read_four_512
#endif
  };
  return fill(contenders, pass, has_avx512() ? sizeof ways / sizeof *ways : 2, ways);
}

size_t gemel__pass_copiers(const gemel__pass *pass, gemel__bench_contender *contenders) {
  static void (*const ways[])(void *) = {
    run_part_memcpy,
    run_part_copy,
#if X86
    run_part_stream,
    run_part_copy_512,
    run_part_stream_512
#endif
  };
  return fill(contenders, pass, has_avx512() ? sizeof ways / sizeof *ways : 2 + X86, ways);
}
