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
#include "text/lex.h"

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
  uint32_t run_number, run_node; /* while numbers count up as nodes do, no array is needed: the */
  size_t run_count;              /* first number, its node, and how many there are */
  gemel__ref *dense;             /* else; node UINT32_MAX: undefined */
  size_t dense_count, dense_capacity;
  size_t defined; /* names in all */
  gemel__name_slot *slots;
  size_t slot_count, slots_used; /* a power of two */
  size_t far;                    /* numbered names among them */
} gemel__names;

/* Reads decimal digits from P on into *NUMBER, which wraps if there are too many; where they end,
 * which is at END at the latest. Names of a big graph are mostly digits, and one name has as many
 * of them as chance will have it, so eight are read at once. */
static GEMEL__INLINE const char *gemel__digits_read(const char *p, const char *end,
                                                    uint64_t *number) {
  *number = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (end - p >= 8) {
    uint64_t bytes, others;
    unsigned n;
    memcpy(&bytes, p, sizeof bytes);
    bytes ^= 0x3030303030303030u; /* now digits are 0 … 9; OTHERS marks what is no digit */
    others = ((bytes + 0x7676767676767676u) | bytes) & 0x8080808080808080u;
    n = others != 0 ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    if (n == 0) {
      return p;
    }
    bytes <<= 64 - 8 * n; /* the digits at the end, zeros before; then pairs, fours, all */
    bytes = (bytes * 10 + (bytes >> 8)) & 0x00ff00ff00ff00ffu;
    bytes = (bytes * 100 + (bytes >> 16)) & 0x0000ffff0000ffffu;
    *number = (bytes * 10000 + (bytes >> 32)) & UINT32_MAX;
    p += n;
    if (n < 8) {
      return p;
    }
  }
#endif
  for (; p < end && (unsigned char)(*p - '0') < 10; p++) {
    *number = *number * 10 + (unsigned char)(*p - '0');
  }
  return p;
}

/* Reads the name that begins at P and returns its end, which is at END at the latest. */
static GEMEL__INLINE const char *gemel__name_read(const char *p, const char *end,
                                                  gemel__name *name) {
  const char *digits;
  uint64_t number;
  size_t n;
  name->text = p;
  do {
    while (p < end && gemel__char_class(*p) == GEMEL__CHAR_LETTER) {
      p++;
    }
    digits = p;
    p = gemel__digits_read(p, end, &number);
  } while (p > digits && p < end && gemel__char_class(*p) == GEMEL__CHAR_LETTER);
  n = (size_t)(p - digits);
  name->length = (uint32_t)(p - name->text);
  name->number = (uint32_t)number;
  name->letters = n > 0 && n <= GEMEL__NAME_DIGITS && (n == 1 || *digits != '0')
                      ? name->length - (uint32_t)n
                      : 0;
  return p;
}

/* The name of LENGTH characters at TEXT. */
gemel__name gemel__name_of(const char *text, size_t length);

/* 1 and *REF if NAME is defined. */
int gemel__names_find(const gemel__names *names, const gemel__name *name, gemel__ref *ref);

/* 1 if NAME has a number where the other names with numbers have theirs. */
static inline int gemel__names_numbered(const gemel__names *names, const gemel__name *name) {
  return name->letters > 0 && name->letters == names->prefix_length;
}

/* What the name with NUMBER stands for; node UINT32_MAX: nothing, or it is in the hash table. */
static inline gemel__ref gemel__names_at(const gemel__names *names, uint32_t number) {
  uint32_t k = number - names->run_number;
  if (k < names->run_count) {
    return (gemel__ref){names->run_node + k, 0};
  }
  return number < names->dense_count ? names->dense[number] : (gemel__ref){UINT32_MAX, 0};
}

/* Has the memory fetched that gemel__names_at will look at. */
static inline void gemel__names_fetch(const gemel__names *names, uint32_t number) {
  if (number < names->dense_count) {
    gemel__prefetch(&names->dense[number]);
  }
}

/* Defines NAME: 0; 1 if it is defined already, -1 when memory is out. */
int gemel__names_add(gemel__names *names, const gemel__name *name, gemel__ref ref);

/* Zeroed: empty. */
void gemel__names_clear(gemel__names *names);

#endif
