/* SPDX-License-Identifier: MIT
 *
 * Keys of random numbers (a seed and a count) with which a number that few keys give comes first or
 * second. Philox can't be solved for a key, so keys are searched for: some ten million of them for
 * 24 bits, once for each number and thread.
 */
#ifndef GEMEL__SAMPLE_KEYS_H
#define GEMEL__SAMPLE_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum { GEMEL__KEY_BITS = 24, GEMEL__KEYS = 2, GEMEL__KEY_SEED = 1 };

/* COUNTS, and how many there are: of keys whose seed is GEMEL__KEY_SEED and whose first, or second,
 * 32 bits begin with the GEMEL__KEY_BITS bits UPPER. The first ones are an f32, the second ones,
 * being the upper half of 64 bits, begin an f64. */
size_t gemel__keys_of(uint32_t upper, uint64_t counts[GEMEL__KEYS]);

/* 1 and *COUNT, if a key with the seed GEMEL__KEY_SEED is known whose first 32 bits are WORD: for
 * the least and the greatest numbers, signed and unsigned. Such a key is one of some 2^32, so these
 * were searched for once. */
int gemel__key_of_word(uint32_t word, uint64_t *count);

#endif
