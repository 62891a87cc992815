/* SPDX-License-Identifier: MIT
 *
 * A table of hashes, by open addressing.
 */
#include "certify/memo.h"

#include <string.h>
#include "core/alloc.h"

enum { FIRST = 256 };

static size_t slot_of(const gemel__certify_memo *m, uint64_t key) {
  size_t k = (size_t)key & (m->capacity - 1);
  while (m->keys[k] != 0 && m->keys[k] != key) {
    k = (k + 1) & (m->capacity - 1);
  }
  return k;
}

static int grow(gemel__certify_memo *m) {
  gemel__certify_memo next = {NULL, NULL, m->count, m->capacity == 0 ? FIRST : m->capacity * 2};
  next.keys = gemel__alloc_array(next.capacity, sizeof *next.keys);
  next.states = gemel__alloc_array(next.capacity, 1);
  if (next.keys == NULL || next.states == NULL) {
    gemel__free(next.keys, next.capacity * sizeof *next.keys);
    gemel__free(next.states, next.capacity);
    return -1;
  }
  for (size_t k = 0; k < m->capacity; k++) {
    if (m->keys[k] != 0) {
      size_t slot = slot_of(&next, m->keys[k]);
      next.keys[slot] = m->keys[k];
      next.states[slot] = m->states[k];
    }
  }
  gemel__free(m->keys, m->capacity * sizeof *m->keys);
  gemel__free(m->states, m->capacity);
  *m = next;
  return 0;
}

unsigned char *gemel__memo_at(gemel__certify_memo *m, uint64_t key) {
  key = key != 0 ? key : 1;
  if (m->count * 2 >= m->capacity && grow(m) != 0) {
    return NULL;
  }
  size_t slot = slot_of(m, key);
  if (m->keys[slot] == 0) {
    m->keys[slot] = key;
    m->states[slot] = 1;
    m->count++;
  }
  return &m->states[slot];
}

void gemel__memo_clear(gemel__certify_memo *m) {
  gemel__free(m->keys, m->capacity * sizeof *m->keys);
  gemel__free(m->states, m->capacity);
  memset(m, 0, sizeof *m);
}
