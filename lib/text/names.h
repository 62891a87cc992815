/* SPDX-License-Identifier: MIT
 *
 * Names of values while a graph is being read. Printed graphs name their nodes n0, n1, …, so names
 * of the form letters + number, with the letters of the first such name, are found in an array
 * indexed by the number; all others in a hash table. Names are not copied: they point into the
 * text.
 */
#ifndef GEMEL__TEXT_NAMES_H
#define GEMEL__TEXT_NAMES_H

#include <string.h>
#include "core/graph.h"
#include "core/lex.h"
#include "core/suggest.h"

/* A name as it is looked up: how many characters stand before its number, and that number. */
typedef struct gemel__name {
  const char *text;
  uint32_t length;
  uint32_t letters; /* 0: it has no such form */
  uint32_t number;
} gemel__name;

enum { GEMEL__NAME_DIGITS = 9 };

typedef struct gemel__name_slot {
  const char *name; /* NULL: empty */
  uint32_t length;
  uint32_t hash;
  gemel__ref ref;
} gemel__name_slot;

typedef struct gemel__names {
  const char *prefix;
  size_t prefix_length;
  gemel__ref *dense; /* by number; node UINT32_MAX: undefined */
  size_t dense_count, dense_capacity;
  size_t defined; /* names in all */
  gemel__name_slot *slots;
  size_t slot_count, slots_used; /* a power of two */
  size_t far;                    /* numbered names among them */
} gemel__names;

/* The name of LENGTH characters at TEXT. */
gemel__name gemel__name_of(const char *text, size_t length);

/* 1 and *REF if NAME is defined. */
int gemel__names_find(const gemel__names *names, const gemel__name *name, gemel__ref *ref);

/* Defines NAME: 0; 1 if it is defined already, -1 when memory is out. */
int gemel__names_add(gemel__names *names, const gemel__name *name, gemel__ref ref);

/* Offers the names that aren't numbered to NEAR, and those numbers that are far from others'. */
void gemel__names_offer(const gemel__names *names, gemel__suggestion *near);

/* Zeroed: empty. */
void gemel__names_clear(gemel__names *names);

#endif
