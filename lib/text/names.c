/* SPDX-License-Identifier: MIT
 *
 * The table of names that names.h describes. The array holds a number only while it is not much
 * larger than the count of names so far, so that no text can make it huge.
 */
#include <string.h>
#include "core/alloc.h"
#include "text/names.h"

enum { SLACK = 1024 };

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

gemel__name gemel__name_of(const char *text, size_t length) {
  gemel__name name = {text, (uint32_t)length, 0, 0};
  size_t letters = length;
  while (letters > 0 && is_digit(text[letters - 1])) {
    letters--;
  }
  if (letters == 0 || length - letters > GEMEL__NAME_DIGITS || letters == length ||
      (text[letters] == '0' && length - letters > 1)) {
    return name;
  }
  name.letters = (uint32_t)letters;
  for (size_t k = letters; k < length; k++) {
    name.number = name.number * 10 + (uint32_t)(text[k] - '0');
  }
  return name;
}

/* 1 if NAME is the prefix and a number. */
static int is_dense(const gemel__names *names, const gemel__name *name) {
  return name->letters > 0 && name->letters == names->prefix_length &&
         memcmp(name->text, names->prefix, name->letters) == 0;
}

/* 1 and *REF if NAME is found by its number. */
static int find_dense(const gemel__names *names, const gemel__name *name, gemel__ref *ref) {
  if (name->number >= names->dense_count || !is_dense(names, name)) {
    return 0;
  }
  *ref = names->dense[name->number];
  return ref->node != UINT32_MAX;
}

static uint32_t hash_name(const char *name, size_t length) {
  uint64_t hash = length;
  for (size_t k = 0; k < length; k++) {
    hash = (hash ^ (unsigned char)name[k]) * 0x100000001b3u;
  }
  hash *= 0x9e3779b97f4a7c15u;
  return (uint32_t)(hash >> 32);
}

/* The slot of NAME, or the empty one where it would go. */
static gemel__name_slot *find_slot(const gemel__names *names, const char *name, size_t length,
                                   uint32_t hash) {
  size_t mask = names->slot_count - 1;
  for (size_t k = hash & mask;; k = (k + 1) & mask) {
    gemel__name_slot *slot = &names->slots[k];
    if (!slot->name ||
        (slot->hash == hash && slot->length == length && memcmp(slot->name, name, length) == 0)) {
      return slot;
    }
  }
}

/* What the hash table holds for NAME, or NULL. */
static gemel__ref *find_hashed(const gemel__names *names, const gemel__name *name) {
  if (names->slots_used == 0 || (names->far == 0 && is_dense(names, name))) {
    return NULL;
  }
  gemel__name_slot *slot =
      find_slot(names, name->text, name->length, hash_name(name->text, name->length));
  return slot->name ? &slot->ref : NULL;
}

int gemel__names_find(const gemel__names *names, const gemel__name *name, gemel__ref *ref) {
  if (find_dense(names, name, ref)) {
    return 1;
  }
  const gemel__ref *hashed = find_hashed(names, name);
  if (hashed) {
    *ref = *hashed;
  }
  return hashed != NULL;
}

static int grow_slots(gemel__names *names) {
  gemel__names bigger = *names;
  bigger.slot_count = names->slot_count ? names->slot_count * 2 : 16;
  bigger.slots = (gemel__name_slot *)gemel__alloc_array(bigger.slot_count, sizeof *bigger.slots);
  if (!bigger.slots) {
    return -1;
  }
  for (size_t k = 0; k < names->slot_count; k++) {
    const gemel__name_slot *slot = &names->slots[k];
    if (slot->name) {
      *find_slot(&bigger, slot->name, slot->length, slot->hash) = *slot;
    }
  }
  gemel__free(names->slots, names->slot_count * sizeof *names->slots);
  *names = bigger;
  return 0;
}

/* Room in the array for NUMBER, what is new being undefined; 0, or -1. */
static int reach(gemel__names *names, size_t number) {
  if (gemel__grow(&names->dense, &names->dense_capacity, number + 1, sizeof *names->dense)) {
    return -1;
  }
  while (names->dense_count <= number) {
    names->dense[names->dense_count++] = (gemel__ref){UINT32_MAX, 0};
  }
  return 0;
}

static int add_dense(gemel__names *names, uint32_t number, gemel__ref ref) {
  if (reach(names, number)) {
    return -1;
  }
  names->dense[number] = ref;
  return 0;
}

static int add_hashed(gemel__names *names, const gemel__name *name, gemel__ref ref) {
  uint32_t hash = hash_name(name->text, name->length);
  if (names->slots_used * 2 >= names->slot_count && grow_slots(names)) {
    return -1;
  }
  *find_slot(names, name->text, name->length, hash) =
      (gemel__name_slot){name->text, name->length, hash, ref};
  names->slots_used++;
  names->far += is_dense(names, name);
  return 0;
}

int gemel__names_add(gemel__names *names, const gemel__name *name, gemel__ref ref) {
  if (names->prefix_length == 0) {
    names->prefix_length = name->letters;
    names->prefix = name->text;
  }
  if (find_dense(names, name, &(gemel__ref){0, 0}) || find_hashed(names, name)) {
    return 1;
  }
  names->defined++;
  return is_dense(names, name) && name->number < 2 * names->defined + SLACK
             ? add_dense(names, name->number, ref)
             : add_hashed(names, name, ref);
}

void gemel__names_clear(gemel__names *names) {
  gemel__free(names->dense, names->dense_capacity * sizeof *names->dense);
  gemel__free(names->slots, names->slot_count * sizeof *names->slots);
  memset(names, 0, sizeof *names);
}

void gemel__names_offer(const gemel__names *names, gemel__suggestion *near) {
  for (size_t k = 0; k < names->slot_count; k++) {
    if (names->slots[k].name != NULL) {
      gemel__suggestion_offer(near, names->slots[k].name, names->slots[k].length);
    }
  }
}
