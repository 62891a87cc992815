/* SPDX-License-Identifier: MIT
 *
 * The table of names that names.h describes. The array holds a number only while it is not much
 * larger than the count of names so far, so that no text can make it huge.
 */
#include <string.h>
#include "core/alloc.h"
#include "text/names.h"

enum { SLACK = 1024, MAX_DIGITS = 9 };

/* Splits NAME into letters and a number without leading zeros; 0 if it has no such form. */
static size_t split_name(const char *name, size_t length, size_t *number) {
  size_t k = length, value = 0;
  while (k > 0 && name[k - 1] >= '0' && name[k - 1] <= '9') {
    k--;
  }
  if (k == length || k == 0 || length - k > MAX_DIGITS || (name[k] == '0' && length - k > 1)) {
    return 0;
  }
  for (size_t i = k; i < length; i++) {
    value = value * 10 + (size_t)(name[i] - '0');
  }
  *number = value;
  return k;
}

/* 1 and the number if NAME is the prefix and a number. */
static int is_dense(const gemel__names *names, const char *name, size_t length, size_t *number) {
  size_t n = names->prefix_length, value = 0;
  if (n == 0 || length <= n || length - n > MAX_DIGITS || memcmp(name, names->prefix, n) != 0 ||
      (name[n] == '0' && length > n + 1)) {
    return 0;
  }
  for (size_t i = n; i < length; i++) {
    if (name[i] < '0' || name[i] > '9') {
      return 0;
    }
    value = value * 10 + (size_t)(name[i] - '0');
  }
  *number = value;
  return 1;
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

int gemel__names_find(const gemel__names *names, const char *name, size_t length, gemel__ref *ref) {
  size_t number;
  if (is_dense(names, name, length, &number) && number < names->dense_count &&
      names->dense[number].node != UINT32_MAX) {
    *ref = names->dense[number];
    return 1;
  }
  if (names->slots_used == 0) {
    return 0;
  }
  const gemel__name_slot *slot = find_slot(names, name, length, hash_name(name, length));
  if (!slot->name) {
    return 0;
  }
  *ref = slot->ref;
  return 1;
}

uint32_t gemel__names_fetch(const gemel__names *names, const char *name, size_t length) {
  size_t number;
  if (!is_dense(names, name, length, &number) || number >= names->dense_count) {
    return UINT32_MAX;
  }
  gemel__prefetch(&names->dense[number]);
  return (uint32_t)number + names->shift;
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

static int add_dense(gemel__names *names, size_t number, gemel__ref ref) {
  if (number >= names->dense_count) {
    if (number >= names->dense_capacity &&
        gemel__grow(&names->dense, &names->dense_capacity, number + 1, sizeof *names->dense)) {
      return -1;
    }
    while (names->dense_count <= number) {
      names->dense[names->dense_count++].node = UINT32_MAX;
    }
  }
  names->dense[number] = ref;
  names->shift = ref.node - (uint32_t)number;
  return 0;
}

static int add_hashed(gemel__names *names, const char *name, size_t length, gemel__ref ref) {
  uint32_t hash = hash_name(name, length);
  if (names->slots_used * 2 >= names->slot_count && grow_slots(names)) {
    return -1;
  }
  *find_slot(names, name, length, hash) = (gemel__name_slot){name, (uint32_t)length, hash, ref};
  names->slots_used++;
  return 0;
}

int gemel__names_add(gemel__names *names, const char *name, size_t length, gemel__ref ref) {
  size_t number;
  int dense;
  if (names->prefix_length == 0) {
    names->prefix_length = split_name(name, length, &number);
    names->prefix = name;
  }
  dense = is_dense(names, name, length, &number);
  if ((dense && number < names->dense_count && names->dense[number].node != UINT32_MAX) ||
      (names->slots_used && find_slot(names, name, length, hash_name(name, length))->name)) {
    return 1;
  }
  names->defined++;
  return dense && number < 2 * names->defined + SLACK ? add_dense(names, number, ref)
                                                      : add_hashed(names, name, length, ref);
}

void gemel__names_clear(gemel__names *names) {
  gemel__free(names->dense, names->dense_capacity * sizeof *names->dense);
  gemel__free(names->slots, names->slot_count * sizeof *names->slots);
  memset(names, 0, sizeof *names);
}
