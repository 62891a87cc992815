/* SPDX-License-Identifier: MIT
 *
 * Names with values: entries in a list, and a map from the hash of a name to the newest of its
 * entries, which knows the one before it.
 */
#include "onnx/names.h"

#include <string.h>

#include "core/alloc.h"

static uint64_t hash_of(gemel__wire_span name) {
  return gemel__hash_bytes(0x6f6e6e78, name.bytes, name.length);
}

/* The newest entry of HASH, counted from 1; 0: none. The map may still have one that was forgotten.
 */
static uint32_t head_of(const gemel__onnx_names *names, uint64_t hash) {
  uint32_t at = gemel__map_find(&names->heads, hash);
  return at <= names->count ? at : 0;
}

gemel__onnx_value *gemel__onnx_names_find(const gemel__onnx_names *names, gemel__wire_span name,
                                          size_t floor) {
  uint32_t at = head_of(names, hash_of(name));
  while (at > floor) {
    gemel__onnx_entry *entry = names->entries[at - 1];
    if (gemel__wire_same(entry->name, name)) {
      return &entry->value;
    }
    at = entry->next;
  }
  return NULL;
}

gemel__onnx_value *gemel__onnx_names_add(gemel__onnx_names *names, gemel__arena *arena,
                                         gemel__wire_span name, gemel__onnx_value value) {
  uint64_t hash = hash_of(name);
  gemel__onnx_entry *entry = gemel__arena_alloc(arena, sizeof *entry);
  if (entry == NULL || names->count >= UINT32_MAX ||
      gemel__grow(&names->entries, &names->capacity, names->count + 1, sizeof *names->entries) <
          0) {
    return NULL;
  }
  *entry = (gemel__onnx_entry){name, hash, value, head_of(names, hash)};
  if (gemel__map_put(&names->heads, hash, (uint32_t)names->count + 1) < 0) {
    return NULL;
  }
  names->entries[names->count++] = entry;
  return &entry->value;
}

void gemel__onnx_names_forget(gemel__onnx_names *names, size_t from) {
  while (names->count > from) {
    const gemel__onnx_entry *entry = names->entries[--names->count];
    if (entry->next > 0) {
      gemel__map_put(&names->heads, entry->hash, entry->next); /* can't fail: the key is there */
    }
  }
}

void gemel__onnx_names_clear(gemel__onnx_names *names) {
  gemel__map_clear(&names->heads);
  gemel__free(names->entries, names->capacity * sizeof *names->entries);
  memset(names, 0, sizeof *names);
}
