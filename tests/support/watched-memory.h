/*
 * Memory that is counted, and refused once where a test wants it (ct_oom does so for each
 * allocation in turn). All threads of the process go through it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_WATCHED_MEMORY_H
#define GEMEL_TESTS_WATCHED_MEMORY_H

#include <gemel/alloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "../ct.h"

static struct {
  atomic_long asked;   /* how often a block was asked for, or for one of another size */
  atomic_long refuse;  /* which of these is refused, from 1; 0: none */
  atomic_long held;    /* bytes */
  atomic_long largest; /* bytes that were asked for at once */
} watched;

static inline int may_have(size_t bytes) {
  long largest = atomic_load(&watched.largest);
  while ((long)bytes > largest &&
         !atomic_compare_exchange_weak(&watched.largest, &largest, (long)bytes)) {
  }
  return atomic_fetch_add(&watched.asked, 1) + 1 != atomic_load(&watched.refuse);
}

static inline void *watched_allocate(void *user, size_t bytes) {
  void *block = may_have(bytes) ? malloc(bytes) : NULL;
  (void)user;
  atomic_fetch_add(&watched.held, block != NULL ? (long)bytes : 0);
  return block;
}

static inline void *watched_reallocate(void *user, void *block, size_t old, size_t bytes) {
  void *moved = may_have(bytes) ? realloc(block, bytes) : NULL;
  (void)user;
  atomic_fetch_add(&watched.held, moved != NULL ? (long)bytes - (long)old : 0);
  return moved;
}

static inline void watched_release(void *user, void *block, size_t bytes) {
  (void)user;
  atomic_fetch_sub(&watched.held, block != NULL ? (long)bytes : 0);
  free(block);
}

/* From now on memory is counted, from nothing on; the allocation with the number REFUSE is refused
 * (0: none). */
static inline void watch_memory(long refuse) {
  const gemel_allocator hooks = {sizeof hooks, watched_allocate, watched_reallocate,
                                 watched_release, NULL};
  atomic_store(&watched.asked, 0);
  atomic_store(&watched.refuse, refuse);
  atomic_store(&watched.held, 0);
  atomic_store(&watched.largest, 0);
  CT_EQ_INT(gemel_set_allocator(&hooks), GEMEL_OK);
}

/* No longer; 1 if one was refused. All that was allocated must be free. */
static inline int unwatch_memory(void) {
  long refuse = atomic_load(&watched.refuse);
  CT_EQ_INT(gemel_set_allocator(NULL), GEMEL_OK);
  CT_EQ_INT(atomic_load(&watched.held), 0);
  return refuse != 0 && atomic_load(&watched.asked) >= refuse;
}

#endif
