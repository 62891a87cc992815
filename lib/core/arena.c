/* SPDX-License-Identifier: MIT
 *
 * Arena allocation: bump a pointer in a block, chain blocks. With GEMEL_DEBUG every object is its
 * own block, so that memory checkers see each one.
 */
#include "core/arena.h"

#include <string.h>
#include "core/alloc.h"

struct gemel__arena_block {
  struct gemel__arena_block *previous;
  size_t used, bytes; /* of the payload, which follows the header */
};

#define HEADER ((sizeof(struct gemel__arena_block) + 15) / 16 * 16)

#ifdef GEMEL_DEBUG
static const size_t block_bytes = 0;
#else
static const size_t block_bytes = 16384;
#endif

static struct gemel__arena_block *new_block(gemel__arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX / 2) {
    return NULL;
  }
  struct gemel__arena_block *block = gemel__alloc(HEADER + bytes);
  if (block != NULL) {
    block->previous = arena->last;
    block->used = 0;
    block->bytes = bytes;
    arena->last = block;
    arena->bytes += HEADER + bytes;
  }
  return block;
}

void *gemel__arena_alloc(gemel__arena *arena, size_t bytes) {
  struct gemel__arena_block *block = arena->last;
#ifndef GEMEL_DEBUG
  if (bytes > SIZE_MAX / 2) {
    return NULL;
  }
  bytes = (bytes + 15) / 16 * 16;
#endif
  if (block_bytes == 0 || block == NULL || block->bytes - block->used < bytes) {
    block = new_block(arena, bytes > block_bytes ? bytes : block_bytes);
    if (block == NULL) {
      return NULL;
    }
  }
  block->used += bytes;
  return (char *)block + HEADER + block->used - bytes;
}

void *gemel__arena_copy(gemel__arena *arena, const void *data, size_t bytes) {
  void *copy = gemel__arena_alloc(arena, bytes);
  if (copy != NULL && bytes > 0) {
    memcpy(copy, data, bytes);
  }
  return copy;
}

char *gemel__arena_string(gemel__arena *arena, const char *text) {
  return gemel__arena_copy(arena, text, strlen(text) + 1);
}

void gemel__arena_clear(gemel__arena *arena) {
  while (arena->last != NULL) {
    struct gemel__arena_block *block = arena->last;
    arena->last = block->previous;
    gemel__free(block, HEADER + block->bytes);
  }
  arena->bytes = 0;
}
