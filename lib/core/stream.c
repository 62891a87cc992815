/* SPDX-License-Identifier: MIT
 *
 * Non-temporal copies, one cache line at a time with the widest stores there are: a line that is
 * written by one instruction takes one place in the queue of stores, which is what lets the writing
 * go on behind computation.
 */
#include "core/stream.h"

#include <string.h>
#include <unistd.h>
#include "core/isa.h"

enum { LINE = 64, LEAST = 4 << 20, MOST = 16 << 20 };

static int64_t known; /* the same value whoever writes it */

void gemel__stream_from(int64_t bytes) {
  __atomic_store_n(&known, bytes, __ATOMIC_RELAXED);
}

int64_t gemel__stream_bytes(void) {
  int64_t bytes = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (bytes == 0) {
#ifdef _SC_LEVEL3_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE) / 2;
#endif
    /* systems name the cache of a whole socket, of which a core may reach a small part */
    bytes = bytes < LEAST ? LEAST : bytes > MOST ? MOST : bytes;
    __atomic_store_n(&known, bytes, __ATOMIC_RELAXED);
  }
  return bytes;
}

#if GEMEL__X86
#include <immintrin.h>

/* Copies up to the first full line of TO plainly; returns how many bytes that were. */
static size_t copy_head(char *to, const char *from, size_t bytes) {
  size_t head = (size_t)(-(uintptr_t)to & (LINE - 1));
  head = head < bytes ? head : bytes;
  memcpy(to, from, head);
  return head;
}

#define STREAM(name, target, vector, load, store)                                                  \
  target static void name(char *to, const char *from, size_t bytes) {                              \
    size_t k = copy_head(to, from, bytes), part;                                                   \
    for (; k + LINE <= bytes; k += LINE) {                                                         \
      for (part = 0; part < LINE; part += sizeof(vector)) {                                        \
        store((vector *)(to + k + part), load((const vector *)(from + k + part)));                 \
      }                                                                                            \
    }                                                                                              \
    memcpy(to + k, from + k, bytes - k);                                                           \
  }

#define LOAD_512(p) _mm512_loadu_si512((const void *)(p))
#define STORE_512(p, v) _mm512_stream_si512((void *)(p), v)
STREAM(stream_base, , __m128i, _mm_loadu_si128, _mm_stream_si128)
STREAM(stream_avx2, __attribute__((target("avx2"))), __m256i, _mm256_loadu_si256,
       _mm256_stream_si256)
STREAM(stream_avx512, __attribute__((target("avx512f"))), __m512i, LOAD_512, STORE_512)

gemel__stream gemel__stream_best(void) {
  static const gemel__stream all[GEMEL__ISA_COUNT] = {stream_base, stream_avx2, stream_avx512};
  return all[gemel__isa_best()];
}

void gemel__stream_end(void) {
  _mm_sfence();
}

#else

static void stream_plain(char *to, const char *from, size_t bytes) {
  memcpy(to, from, bytes);
}

gemel__stream gemel__stream_best(void) {
  return stream_plain;
}

void gemel__stream_end(void) {
}

#endif
