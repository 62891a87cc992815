/* SPDX-License-Identifier: MIT
 *
 * An arena: objects that die together. Objects are never freed one by one. In debug builds
 * (GEMEL_DEBUG) each object is a block of its own, or else the arena would hide overruns and stale
 * pointers from Valgrind and the sanitizers.
 */
#ifndef GEMEL__CORE_ARENA_H
#define GEMEL__CORE_ARENA_H

#include <stddef.h>

struct gemel__arena_block;

typedef struct gemel__arena {
  struct gemel__arena_block *last; /* the block in use; blocks chain backwards */
  size_t bytes;                    /* reserved in all */
} gemel__arena;

/* BYTES bytes aligned to 16, or NULL. A zeroed struct is an empty arena. */
void *gemel__arena_alloc(gemel__arena *arena, size_t bytes);

/* Copies BYTES bytes / a string into the arena; NULL when memory is out. */
void *gemel__arena_copy(gemel__arena *arena, const void *data, size_t bytes);
char *gemel__arena_string(gemel__arena *arena, const char *text);

/* Frees everything; the arena is empty again. */
void gemel__arena_clear(gemel__arena *arena);

#endif
