/* SPDX-License-Identifier: MIT
 *
 * A hash table with open addressing, which doubles when it is half full.
 */
#include "rules/rule-names.h"

#include <string.h>
#include "core/alloc.h"
#include "core/intern.h"

enum { FIRST_SLOTS = 64 };

static size_t slot_of(const gemel__rule_names *names, const char *name) {
  size_t slot = (size_t)gemel__hash_bytes(0, name, strlen(name)) & (names->capacity - 1);
  while (names->slots[slot] != NULL && strcmp(names->slots[slot]->info.name, name) != 0) {
    slot = (slot + 1) & (names->capacity - 1);
  }
  return slot;
}

const struct gemel_rule *gemel__rule_names_find(const gemel__rule_names *names, const char *name) {
  return names->count > 0 ? names->slots[slot_of(names, name)] : NULL;
}

static int reserve(gemel__rule_names *names) {
  gemel__rule_names more = {NULL, names->count, names->capacity * 2};
  if (names->count * 2 < names->capacity) {
    return 0;
  }
  more.capacity = names->capacity > 0 ? more.capacity : FIRST_SLOTS;
  more.slots = gemel__alloc_array(more.capacity, sizeof *more.slots);
  if (more.slots == NULL) {
    return -1;
  }
  for (size_t k = 0; k < names->capacity; k++) {
    if (names->slots[k] != NULL) {
      more.slots[slot_of(&more, names->slots[k]->info.name)] = names->slots[k];
    }
  }
  gemel__rule_names_clear(names);
  *names = more;
  return 0;
}

int gemel__rule_names_add(gemel__rule_names *names, const struct gemel_rule *rule) {
  if (reserve(names) != 0) {
    return -1;
  }
  names->slots[slot_of(names, rule->info.name)] = rule;
  names->count++;
  return 0;
}

void gemel__rule_names_clear(gemel__rule_names *names) {
  gemel__free(names->slots, names->capacity * sizeof *names->slots);
  memset(names, 0, sizeof *names);
}
