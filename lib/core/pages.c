/* SPDX-License-Identifier: MIT
 *
 * Big blocks. The arrays of a graph of ten million nodes are hundreds of megabytes; in pages of
 * 4 KiB each costs the system's attention a hundred thousand times, and a look at a random node
 * misses the processor's table of pages as well as its caches. So such blocks begin at a multiple
 * of the size of huge pages and ask for these (which the system may or may not give). They grow by
 * moving pages, not bytes: to another such multiple, or else huge pages would be torn apart on the
 * way.
 *
 * Clearing a fresh page takes as long as filling it, so blocks that are given back are kept for the
 * next ones (kept.c). The system is told that it may have their memory whenever it needs some
 * (MADV_FREE); what was in them is lost then, or is still there when they are used again.
 *
 * Only on Linux, and not where memory is watched (debug builds, AddressSanitizer): there malloc
 * sees to all sizes.
 */
#include "core/pages.h"

#include <string.h>
#include "core/kept.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED
#endif
#endif
#if defined(GEMEL_DEBUG) || defined(__SANITIZE_ADDRESS__)
#define WATCHED
#endif

#if defined(__linux__) && defined(MADV_HUGEPAGE) && defined(MADV_FREE) && defined(MREMAP_FIXED) && \
    !defined(WATCHED)

#include <stdint.h>

enum { HUGE_PAGE = GEMEL__KEPT_UNIT };

/* Four huge pages. The arrays of a large graph are written once, from front to back, and then read:
 * fresh huge pages serve that better than small ones that malloc may have kept. Smaller blocks are
 * left to malloc, which keeps the more to itself the larger the blocks are that it is given back.
 */
static const size_t smallest = 4 * HUGE_PAGE;

int gemel__pages_wanted(size_t bytes) {
  return bytes >= smallest && bytes <= SIZE_MAX / 4;
}

static size_t whole(size_t bytes) {
  return (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

int gemel__pages_release(void) {
  size_t bytes;
  char *at;
  int any = 0;
  while ((at = gemel__kept_any(&bytes)) != NULL) {
    munmap(at, bytes);
    any = 1;
  }
  return any;
}

static char *map_somewhere(size_t bytes, int protection) {
  return mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* BYTES bytes of addresses that begin at a huge page, with this PROTECTION; MAP_FAILED. */
static void *map(size_t bytes, int protection) {
  char *at = map_somewhere(bytes + HUGE_PAGE, protection);
  size_t before;
  if (at == MAP_FAILED && gemel__pages_release()) {
    at = map_somewhere(bytes + HUGE_PAGE, protection);
  }
  if (at == MAP_FAILED) {
    return MAP_FAILED;
  }
  before = -(uintptr_t)at & (HUGE_PAGE - 1);
  if (before > 0) {
    munmap(at, before);
  }
  munmap(at + before + bytes, HUGE_PAGE - before);
  return at + before;
}

static void *map_fresh(size_t bytes) {
  void *block = map(bytes, PROT_READ | PROT_WRITE);
  if (block == MAP_FAILED) {
    return NULL;
  }
  (void)madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

void *gemel__pages_new(size_t bytes) {
  void *block = gemel__kept_take(whole(bytes));
  return block != NULL ? block : map_fresh(whole(bytes));
}

void *gemel__pages_new_zeroed(size_t bytes) {
  void *block = gemel__kept_take(whole(bytes));
  return block != NULL ? memset(block, 0, bytes) : map_fresh(whole(bytes));
}

/* FROM bytes at BLOCK, one to the system, become TO; MAP_FAILED. */
static void *remap(void *block, size_t from, size_t to) {
  void *moved = mremap(block, from, to, 0), *place;
  if (moved != MAP_FAILED) {
    return moved;
  }
  /* addresses for both places at once may be too much where they are limited */
  place = map(to, PROT_NONE);
  if (place != MAP_FAILED) {
    moved = mremap(block, from, to, MREMAP_MAYMOVE | MREMAP_FIXED, place);
  }
  if (moved == MAP_FAILED) {
    moved = mremap(block, from, to, MREMAP_MAYMOVE);
  }
  return moved;
}

static void give_back(char *block, size_t bytes, int is_behind) {
  if (madvise(block, bytes, MADV_FREE) != 0) { /* it is locked, say */
    gemel__kept_leave(block + bytes);
    munmap(block, bytes);
  } else if (!gemel__kept_add(block, &bytes, is_behind)) {
    munmap(block, bytes);
  }
}

void gemel__pages_free(void *block, size_t bytes) {
  give_back(block, whole(bytes), 0);
}

/* A block of FROM bytes grows to TO, both whole pages; NULL. */
static void *extend(void *block, size_t from, size_t to) {
  size_t more = gemel__kept_extend((char *)block + from, to - from);
  void *moved = from + more == to ? block : remap(block, from + more, to);
  if (moved == MAP_FAILED && more > 0) {
    munmap((char *)block + from, more);
  }
  return moved != MAP_FAILED ? moved : NULL;
}

void *gemel__pages_resize(void *block, size_t old_bytes, size_t bytes) {
  size_t from = whole(old_bytes), to = whole(bytes);
  if (from < to) {
    return extend(block, from, to);
  }
  if (from > to) {
    give_back((char *)block + to, from - to, 1);
  }
  return block;
}

#else

int gemel__pages_wanted(size_t bytes) {
  (void)bytes;
  return 0;
}

void *gemel__pages_new(size_t bytes) {
  (void)bytes;
  return NULL;
}

void *gemel__pages_new_zeroed(size_t bytes) {
  (void)bytes;
  return NULL;
}

void *gemel__pages_resize(void *block, size_t old_bytes, size_t bytes) {
  (void)block, (void)old_bytes, (void)bytes;
  return NULL;
}

void gemel__pages_free(void *block, size_t bytes) {
  (void)block, (void)bytes;
}

int gemel__pages_release(void) {
  return 0;
}

#endif
