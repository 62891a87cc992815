/* SPDX-License-Identifier: MIT
 *
 * The allocator hooks and the few functions through which all of gemel allocates.
 */
#include "core/alloc.h"

#include <stdlib.h>
#include <string.h>
#include "core/pages.h"

/* ---- malloc ----
 * Where addresses are limited, what is kept of big blocks may be all that malloc lacks. */

static void *small_block(size_t bytes) {
  void *block = malloc(bytes);
  return block == NULL && gemel__pages_release() ? malloc(bytes) : block;
}

static void *small_zeroed(size_t bytes) {
  void *block = calloc(1, bytes);
  return block == NULL && gemel__pages_release() ? calloc(1, bytes) : block;
}

static void *small_resized(void *block, size_t bytes) {
  void *moved = realloc(block, bytes);
  return moved == NULL && gemel__pages_release() ? realloc(block, bytes) : moved;
}

/* ---- The hooks ---- */

static void *default_allocate(void *state, size_t bytes) {
  (void)state;
  return gemel__pages_wanted(bytes) ? gemel__pages_new(bytes) : small_block(bytes);
}

static void default_release(void *state, void *block, size_t bytes) {
  (void)state;
  if (gemel__pages_wanted(bytes)) {
    gemel__pages_free(block, bytes);
  } else {
    free(block);
  }
}

static void *default_reallocate(void *state, void *block, size_t old_bytes, size_t bytes) {
  int old_paged = gemel__pages_wanted(old_bytes), paged = gemel__pages_wanted(bytes);
  void *moved;
  if (!old_paged && !paged) {
    return small_resized(block, bytes);
  }
  if (old_paged && paged) {
    return gemel__pages_resize(block, old_bytes, bytes);
  }
  moved = default_allocate(state, bytes);
  if (moved != NULL) {
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    default_release(state, block, old_bytes);
  }
  return moved;
}

static const gemel_allocator default_allocator = {sizeof(gemel_allocator), default_allocate,
                                                  default_reallocate, default_release, NULL};
static gemel_allocator hooks = {sizeof(gemel_allocator), default_allocate, default_reallocate,
                                default_release, NULL};

gemel_status gemel_set_allocator(const gemel_allocator *allocator) {
  if (allocator == NULL) {
    hooks = default_allocator;
    return GEMEL_OK;
  }
  if (allocator->size < sizeof(gemel_allocator) || allocator->allocate == NULL ||
      allocator->reallocate == NULL || allocator->release == NULL) {
    return GEMEL_BAD_ARGUMENT;
  }
  hooks = *allocator;
  return GEMEL_OK;
}

gemel_allocator gemel_get_allocator(void) {
  return hooks;
}

void *gemel__alloc(size_t bytes) {
  return hooks.allocate(hooks.state, bytes > 0 ? bytes : 1);
}

void *gemel__alloc_zeroed(size_t bytes) {
  void *block;
  /* calloc leaves fresh pages untouched, which matters for arrays of a byte a node */
  if (hooks.allocate == default_allocate) {
    return gemel__pages_wanted(bytes) ? gemel__pages_new_zeroed(bytes)
                                      : small_zeroed(bytes > 0 ? bytes : 1);
  }
  block = gemel__alloc(bytes);
  if (block != NULL) {
    memset(block, 0, bytes > 0 ? bytes : 1);
  }
  return block;
}

void *gemel__alloc_array(size_t count, size_t bytes) {
  if (bytes != 0 && count > SIZE_MAX / bytes) {
    return NULL;
  }
  return gemel__alloc_zeroed(count * bytes);
}

void *gemel__realloc(void *block, size_t old_bytes, size_t bytes) {
  if (block == NULL) {
    return gemel__alloc(bytes);
  }
  return hooks.reallocate(hooks.state, block, old_bytes > 0 ? old_bytes : 1, bytes > 0 ? bytes : 1);
}

void gemel__free(void *block, size_t bytes) {
  if (block != NULL) {
    hooks.release(hooks.state, block, bytes > 0 ? bytes : 1);
  }
}

/* The most that glibc's malloc ever keeps to itself when it is freed. */
static const size_t most_kept = (size_t)32 << 20;

/* 1 if a tensor of so many bytes is malloc's. */
static int is_kept(size_t bytes) {
  return hooks.allocate == default_allocate && bytes < most_kept;
}

void *gemel__alloc_tensor(size_t bytes) {
  return is_kept(bytes) ? small_block(bytes > 0 ? bytes : 1) : gemel__alloc(bytes);
}

void gemel__free_tensor(void *block, size_t bytes) {
  if (is_kept(bytes)) {
    free(block);
  } else {
    gemel__free(block, bytes);
  }
}

int gemel__grow_to(void *array_pointer, size_t *capacity, size_t need, size_t bytes) {
  void **array = array_pointer;
  size_t wanted = *capacity + *capacity / 2 + 8;
  void *grown;
  if (wanted < need) {
    wanted = need;
  }
  if (wanted > SIZE_MAX / 2 / bytes) {
    return -1;
  }
  grown = gemel__realloc(*array, *capacity * bytes, wanted * bytes);
  if (grown == NULL) {
    return -1;
  }
  *array = grown;
  *capacity = wanted;
  return 0;
}

void gemel__shrink_to(void *array_pointer, size_t *capacity, size_t need, size_t bytes) {
  void **array = array_pointer;
  void *shrunk = need < *capacity ? gemel__realloc(*array, *capacity * bytes, need * bytes) : NULL;
  if (shrunk != NULL) {
    *array = shrunk;
    *capacity = need;
  }
}

char *gemel__copy_string(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = gemel__alloc(bytes);
  if (copy != NULL) {
    memcpy(copy, text, bytes);
  }
  return copy;
}

void gemel__free_string(char *text) {
  if (text != NULL) {
    gemel__free(text, strlen(text) + 1);
  }
}
