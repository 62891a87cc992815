/* SPDX-License-Identifier: MIT
 *
 * The containers of a context: stable arrays, whose elements never move (so they are read without
 * the lock), tables of ids, and interned strings.
 */
#include "core/intern.h"

#include <string.h>
#include "core/alloc.h"
#include "core/context.h"

enum { SMALL_MAP = 256 };

void *gemel__stable_push(gemel__stable *array) {
  uint32_t offset;
  unsigned chunk = gemel__stable_chunk(array->count, &offset);
  if (chunk >= sizeof array->chunks / sizeof *array->chunks) {
    return NULL;
  }
  if (array->chunks[chunk] == NULL) {
    array->chunks[chunk] =
        gemel__alloc_zeroed(((size_t)GEMEL__FIRST_CHUNK << chunk) * array->element_bytes);
    if (array->chunks[chunk] == NULL) {
      return NULL;
    }
  }
  /* whoever sees the new count also sees the chunk */
  __atomic_store_n(&array->count, array->count + 1, __ATOMIC_RELEASE);
  return (char *)array->chunks[chunk] + offset * array->element_bytes;
}

void gemel__stable_pop(gemel__stable *array) {
  __atomic_store_n(&array->count, array->count - 1, __ATOMIC_RELEASE);
}

void gemel__stable_clear(gemel__stable *array) {
  for (size_t k = 0; k < sizeof array->chunks / sizeof *array->chunks; k++) {
    gemel__free(array->chunks[k], ((size_t)GEMEL__FIRST_CHUNK << k) * array->element_bytes);
    array->chunks[k] = NULL;
  }
  array->count = 0;
}

uint32_t gemel__idtable_find(const gemel__idtable *table, uint64_t hash,
                             int (*same)(const void *user, uint32_t id), const void *user) {
  size_t mask = table->capacity - 1;
  size_t slot;
  if (table->capacity == 0) {
    return 0;
  }
  for (slot = hash & mask; table->slots[slot] != 0; slot = (slot + 1) & mask) {
    if (same(user, table->slots[slot])) {
      return table->slots[slot];
    }
  }
  return 0;
}

static void place(uint32_t *slots, size_t capacity, uint64_t hash, uint32_t id) {
  size_t slot = hash & (capacity - 1);
  while (slots[slot] != 0) {
    slot = (slot + 1) & (capacity - 1);
  }
  slots[slot] = id;
}

static int grow_table(gemel__idtable *table, uint64_t (*hash_of)(const void *, uint32_t),
                      const void *user) {
  size_t capacity = table->capacity == 0 ? 64 : table->capacity * 2;
  uint32_t *slots = gemel__alloc_array(capacity, sizeof *slots);
  size_t k;
  if (slots == NULL) {
    return -1;
  }
  for (k = 0; k < table->capacity; k++) {
    if (table->slots[k] != 0) {
      place(slots, capacity, hash_of(user, table->slots[k]), table->slots[k]);
    }
  }
  gemel__free(table->slots, table->capacity * sizeof *slots);
  table->slots = slots;
  table->capacity = capacity;
  return 0;
}

int gemel__idtable_add(gemel__idtable *table, uint64_t hash, uint32_t id,
                       uint64_t (*hash_of)(const void *user, uint32_t id), const void *user) {
  if (table->used * 2 >= table->capacity && grow_table(table, hash_of, user) != 0) {
    return -1;
  }
  place(table->slots, table->capacity, hash, id);
  table->used++;
  return 0;
}

void gemel__idtable_remove_last(gemel__idtable *table, uint64_t hash, uint32_t id) {
  size_t mask = table->capacity - 1;
  if (table->capacity == 0) {
    return;
  }
  for (size_t slot = hash & mask; table->slots[slot] != 0; slot = (slot + 1) & mask) {
    if (table->slots[slot] == id) {
      table->slots[slot] = 0;
      table->used--;
      return;
    }
  }
}

void gemel__idtable_clear(gemel__idtable *table) {
  gemel__free(table->slots, table->capacity * sizeof *table->slots);
  memset(table, 0, sizeof *table);
}

/* ---- Maps ---- */

/* The slot of KEY, or the empty one where it would go. */
static struct gemel__map_slot *map_slot(const gemel__map *map, uint64_t key) {
  size_t mask = map->capacity - 1, k = (size_t)gemel__mix(key) & mask;
  while (map->slots[k].value != 0 && map->slots[k].key != key) {
    k = (k + 1) & mask;
  }
  return &map->slots[k];
}

uint32_t gemel__map_find(const gemel__map *map, uint64_t key) {
  return map->used > 0 ? map_slot(map, key)->value : 0;
}

static int grow_map(gemel__map *map) {
  gemel__map more = {NULL, map->used, map->capacity > 0 ? map->capacity * 2 : 16};
  more.slots = gemel__alloc_array(more.capacity, sizeof *more.slots);
  if (more.slots == NULL) {
    return -1;
  }
  for (size_t k = 0; k < map->capacity; k++) {
    if (map->slots[k].value != 0) {
      *map_slot(&more, map->slots[k].key) = map->slots[k];
    }
  }
  gemel__free(map->slots, map->capacity * sizeof *map->slots);
  *map = more;
  return 0;
}

uint32_t *gemel__map_at(gemel__map *map, uint64_t key, uint32_t value) {
  if (map->used * 2 >= map->capacity && grow_map(map) != 0) {
    return NULL;
  }
  struct gemel__map_slot *slot = map_slot(map, key);
  if (slot->value == 0) {
    *slot = (struct gemel__map_slot){key, value};
    map->used++;
  }
  return &slot->value;
}

int gemel__map_put(gemel__map *map, uint64_t key, uint32_t value) {
  uint32_t *at = gemel__map_at(map, key, value);
  if (at == NULL) {
    return -1;
  }
  *at = value;
  return 0;
}

void gemel__map_clear(gemel__map *map) {
  gemel__free(map->slots, map->capacity * sizeof *map->slots);
  memset(map, 0, sizeof *map);
}

void gemel__map_empty(gemel__map *map) {
  if (map->capacity > SMALL_MAP) {
    gemel__map_clear(map);
  } else if (map->used > 0) {
    memset(map->slots, 0, map->capacity * sizeof *map->slots);
    map->used = 0;
  }
}

/* ---- Strings ---- */

struct string_key {
  const gemel_context *context;
  const char *text;
};

static const char *string_at(const gemel_context *context, uint32_t id) {
  return *(const char **)gemel__stable_at(&context->strings, id);
}

static int same_string(const void *user, uint32_t id) {
  const struct string_key *key = user;
  return strcmp(string_at(key->context, id), key->text) == 0;
}

static uint64_t string_hash(const void *user, uint32_t id) {
  const struct string_key *key = user;
  const char *text = string_at(key->context, id);
  return gemel__hash_bytes(0, text, strlen(text));
}

static const char *add_string(gemel_context *context, const char *text, uint64_t hash) {
  struct string_key key = {context, text};
  uint32_t id = context->strings.count;
  char *copy = gemel__arena_string(&context->arena, text);
  const char **slot;
  if (copy == NULL || (slot = gemel__stable_push(&context->strings)) == NULL) {
    return NULL;
  }
  *slot = copy;
  if (gemel__idtable_add(&context->string_table, hash, id, string_hash, &key) != 0) {
    gemel__stable_pop(&context->strings);
    return NULL;
  }
  return copy;
}

const char *gemel__intern_string_locked(gemel_context *context, const char *text) {
  struct string_key key = {context, text};
  uint64_t hash = gemel__hash_bytes(0, text, strlen(text));
  uint32_t id = gemel__idtable_find(&context->string_table, hash, same_string, &key);
  return id != 0 ? string_at(context, id) : add_string(context, text, hash);
}

const char *gemel__intern_string(gemel_context *context, const char *text) {
  pthread_mutex_lock(&context->lock);
  const char *result = gemel__intern_string_locked(context, text);
  pthread_mutex_unlock(&context->lock);
  return result;
}

uint64_t gemel__hash_bytes(uint64_t seed, const void *data, size_t bytes) {
  const unsigned char *p = data;
  uint64_t hash = gemel__mix(seed ^ bytes);
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    hash = gemel__mix(hash ^ word);
  }
  if (bytes > 0) {
    uint64_t word = 0;
    memcpy(&word, p, bytes);
    hash = gemel__mix(hash ^ word);
  }
  return hash;
}
