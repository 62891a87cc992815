/* SPDX-License-Identifier: MIT
 *
 * An allocator that counts, and hands on to gemel's own; see memory.h. A block that grows counts
 * with its new size only: malloc moves big blocks by remapping pages, so that the old and the new
 * one don't exist side by side.
 */
#include "memory.h"

#include <stdatomic.h>
#include <gemel/alloc.h>

static atomic_size_t held, peak;
static gemel_allocator below;

static void add(size_t bytes) {
  size_t now = atomic_fetch_add(&held, bytes) + bytes, most = atomic_load(&peak);
  while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
  }
}

static void *allocate(void *user, size_t bytes) {
  void *block = below.allocate(below.user, bytes);
  (void)user;
  if (block != NULL) {
    add(bytes);
  }
  return block;
}

static void *reallocate(void *user, void *block, size_t old_bytes, size_t bytes) {
  void *moved = below.reallocate(below.user, block, old_bytes, bytes);
  (void)user;
  if (moved != NULL) {
    atomic_fetch_sub(&held, old_bytes);
    add(bytes);
  }
  return moved;
}

static void release(void *user, void *block, size_t bytes) {
  (void)user;
  below.release(below.user, block, bytes);
  atomic_fetch_sub(&held, bytes);
}

void gemel__bench_count_start(void) {
  gemel_allocator hooks = {sizeof hooks, allocate, reallocate, release, NULL};
  below = gemel_get_allocator();
  atomic_store(&held, 0);
  atomic_store(&peak, 0);
  gemel_set_allocator(&hooks);
}

void gemel__bench_count_stop(void) {
  gemel_set_allocator(NULL);
}

size_t gemel__bench_held(void) {
  return atomic_load(&held);
}

size_t gemel__bench_peak(void) {
  return atomic_load(&peak);
}

void gemel__bench_forget_peak(void) {
  atomic_store(&peak, atomic_load(&held));
}
