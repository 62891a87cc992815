/* SPDX-License-Identifier: MIT
 *
 * Searches for keys, see keys.h.
 */
#include "sample/keys.h"

#include <string.h>

enum { CACHED = 16, MOST_KEYS = 1 << 25, WORD_BITS = 32, ROUNDS = 10 };

/* The first two words of block 0 of a key's stream: Philox4x32-10. */
static void first_words(uint64_t count, uint32_t words[2]) {
  uint32_t l0 = 0, r0 = 0, l1 = (uint32_t)(count >> WORD_BITS), r1 = (uint32_t)count;
  uint32_t k0 = GEMEL__KEY_SEED, k1 = 0;
  for (int round = 0; round < ROUNDS; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    uint64_t a = (uint64_t)r0 * 0xD2511F53u, b = (uint64_t)r1 * 0xCD9E8D57u;
    r0 = (uint32_t)(b >> WORD_BITS) ^ l0 ^ k0;
    r1 = (uint32_t)(a >> WORD_BITS) ^ l1 ^ k1;
    l0 = (uint32_t)b;
    l1 = (uint32_t)a;
  }
  words[0] = r0;
  words[1] = l0;
}

struct found_keys {
  uint32_t upper;
  int known;
  size_t n;
  uint64_t counts[GEMEL__KEYS];
};

static void search(struct found_keys *f) {
  unsigned sought = (1u << GEMEL__KEYS) - 1;
  for (uint64_t count = 0; count < MOST_KEYS && sought != 0; count++) {
    uint32_t words[2];
    first_words(count, words);
    for (size_t k = 0; k < GEMEL__KEYS; k++) {
      if (sought >> k & 1 && words[k] >> (WORD_BITS - GEMEL__KEY_BITS) == f->upper) {
        f->counts[f->n++] = count;
        sought &= ~(1u << k);
      }
    }
  }
}

size_t gemel__keys_of(uint32_t upper, uint64_t counts[GEMEL__KEYS]) {
  static _Thread_local struct found_keys cache[CACHED];
  static _Thread_local size_t next;
  size_t k = 0;
  while (k < CACHED && !(cache[k].known && cache[k].upper == upper)) {
    k++;
  }
  if (k == CACHED) {
    k = next++ % CACHED;
    cache[k] = (struct found_keys){.upper = upper, .known = 1};
    search(&cache[k]);
  }
  memcpy(counts, cache[k].counts, sizeof cache[k].counts);
  return cache[k].n;
}

int gemel__key_of_word(uint32_t word, uint64_t *count) {
  static const struct {
    uint32_t word;
    uint64_t count;
  } known[] = {{0, 3797258575},
               {INT32_MAX, 707475870},
               {UINT32_C(1) << 31, 1173043993},
               {UINT32_MAX, 1205451635}};
  size_t k = 0, n = sizeof known / sizeof *known;
  while (k < n && known[k].word != word) {
    k++;
  }
  *count = k < n ? known[k].count : 0;
  return k < n;
}
