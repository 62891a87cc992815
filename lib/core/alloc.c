/* SPDX-License-Identifier: MIT
 *
 * The allocator hooks and the few functions through which all of gemel allocates.
 */
#include "core/alloc.h"

#include <stdlib.h>
#include <string.h>

static void *default_allocate(void *user, size_t bytes) {
  (void)user;
  return malloc(bytes);
}

static void default_release(void *user, void *block, size_t bytes) {
  (void)user, (void)bytes;
  free(block);
}

static void *default_reallocate(void *user, void *block, size_t old_bytes, size_t bytes) {
  (void)user, (void)old_bytes;
  return realloc(block, bytes);
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
  return hooks.allocate(hooks.user, bytes > 0 ? bytes : 1);
}

void *gemel__alloc_zeroed(size_t bytes) {
  /* calloc leaves fresh pages untouched, which matters for arrays of a byte a node */
  if (hooks.allocate == default_allocate) {
    return calloc(1, bytes > 0 ? bytes : 1);
  }
  void *block = gemel__alloc(bytes);
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
  return hooks.reallocate(hooks.user, block, old_bytes > 0 ? old_bytes : 1, bytes > 0 ? bytes : 1);
}

void gemel__free(void *block, size_t bytes) {
  if (block != NULL) {
    hooks.release(hooks.user, block, bytes > 0 ? bytes : 1);
  }
}

int gemel__grow_to(void *array_pointer, size_t *capacity, size_t need, size_t bytes) {
  void **array = array_pointer;
  size_t wanted = *capacity + *capacity / 2 + 8;
  if (wanted < need) {
    wanted = need;
  }
  if (wanted > SIZE_MAX / 2 / bytes) {
    return -1;
  }
  void *grown = gemel__realloc(*array, *capacity * bytes, wanted * bytes);
  if (grown == NULL) {
    return -1;
  }
  *array = grown;
  *capacity = wanted;
  return 0;
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
