/* SPDX-License-Identifier: MIT
 *
 * Names of values while a graph is being read. Printed graphs name their nodes n0, n1, …, so names
 * of the form letters + number, with the letters of the first such name, are found in an array
 * indexed by the number; all others in a hash table. Names are not copied: they point into the
 * text.
 */
#ifndef GEMEL__TEXT_NAMES_H
#define GEMEL__TEXT_NAMES_H

#include "core/graph.h"

typedef struct gemel__name_slot {
  const char *name; /* NULL: empty */
  uint32_t length;
  uint32_t hash;
  gemel__ref ref;
} gemel__name_slot;

typedef struct gemel__names {
  const char *prefix;
  size_t prefix_length;
  gemel__ref *dense; /* node UINT32_MAX: undefined */
  size_t dense_count, dense_capacity;
  size_t defined; /* names in all */
  uint32_t shift; /* node - number of the last numbered name: a guess at others' */
  gemel__name_slot *slots;
  size_t slot_count, slots_used; /* a power of two */
} gemel__names;

/* 1 and *REF if NAME is defined. */
int gemel__names_find(const gemel__names *names, const char *name, size_t length, gemel__ref *ref);

/* Looking ahead in a big graph: has the memory fetched that says what NAME stands for. The node
 * that it stands for as far as can be guessed without looking there, or UINT32_MAX. */
uint32_t gemel__names_fetch(const gemel__names *names, const char *name, size_t length);

/* Defines NAME: 0; 1 if it is defined already, -1 when memory is out. */
int gemel__names_add(gemel__names *names, const char *name, size_t length, gemel__ref ref);

/* Zeroed: empty. */
void gemel__names_clear(gemel__names *names);

#endif
