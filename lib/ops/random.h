/* SPDX-License-Identifier: MIT
 *
 * The generator behind random_bits, random_uniform and random_normal, compiled for one instruction
 * set: Philox4x32-10, and what makes floats of its words. See random-kernels.c for the method.
 */
#ifndef GEMEL__OPS_RANDOM_H
#define GEMEL__OPS_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include "core/isa.h"

enum { GEMEL__PHILOX_WORDS = 4 }; /* u32 in a block */

typedef struct gemel__philox {
  /* The words of N blocks from number FIRST on (which wraps), of the stream KEY[1] of Philox's key
   * KEY[0]: word w of block b is WORDS[4 b + w]. */
  void (*blocks)(const uint64_t *key, uint64_t first, size_t n, uint32_t *words);
  /* N numbers of BITS bits in [0, 1), the upper bits of a word (f32: at most 24), or of two words,
   * the first of which is the lower half (f64: at most 53). */
  void (*uniform_f32)(size_t n, int bits, const uint32_t *words, void *out);
  void (*uniform_f64)(size_t n, int bits, const uint32_t *words, void *out);
  /* N normal numbers, likewise. */
  void (*normal_f32)(size_t n, const uint32_t *words, void *out);
  void (*normal_f64)(size_t n, const uint32_t *words, void *out);
} gemel__philox;

/* The kernels for a machine that has ISA; all give the same bits. */
const gemel__philox *gemel__philox_for(gemel__isa isa);

#endif
