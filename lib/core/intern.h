/* SPDX-License-Identifier: MIT
 *
 * Hashing; a map from numbers to numbers; and the variant of string interning for callers that hold
 * the lock.
 */
#ifndef GEMEL__CORE_INTERN_H
#define GEMEL__CORE_INTERN_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/context.h>

/* A 64-bit permutation with good avalanche. Source: D. Stafford's variant 13 of MurmurHash3's
 * finaliser, as SplitMix64 uses it. */
static inline uint64_t gemel__mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Hash of BYTES bytes of data, started from SEED. */
uint64_t gemel__hash_bytes(uint64_t seed, const void *data, size_t bytes);

/* A map from keys of 64 bits (an address, say) to values that are not 0. Zeroed: empty. */
typedef struct gemel__map {
  struct gemel__map_slot {
    uint64_t key;
    uint32_t value; /* 0: an empty slot */
  } * slots;
  size_t used, capacity;
} gemel__map;

/* The value of KEY; 0 if there is none. */
uint32_t gemel__map_find(const gemel__map *map, uint64_t key);

/* The value of KEY, which gets VALUE if there was none; good until something is added. NULL when
 * memory is out. */
uint32_t *gemel__map_at(gemel__map *map, uint64_t key, uint32_t value);

/* KEY has VALUE from now on: 0, or -1 when memory is out. */
int gemel__map_put(gemel__map *map, uint64_t key, uint32_t value);

/* Forgets all keys; EMPTY keeps a small table's memory for the next ones. */
void gemel__map_clear(gemel__map *map);
void gemel__map_empty(gemel__map *map);

/* gemel__intern_string for a caller that holds the context's lock. */
const char *gemel__intern_string_locked(gemel_context *context, const char *text);

#endif
