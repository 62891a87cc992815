/* SPDX-License-Identifier: MIT
 *
 * Big blocks. The arrays of a graph of ten million nodes are hundreds of megabytes; in pages of
 * 4 KiB each costs the system's attention a hundred thousand times, and a look at a random node
 * misses the processor's table of pages as well as its caches. So such blocks begin at a multiple
 * of the size of huge pages and ask for these (which the system may or may not give). They grow by
 * moving pages, not bytes: to another such multiple, or else huge pages would be torn apart on the
 * way.
 *
 * Only on Linux, and not where memory is watched (debug builds, AddressSanitizer): there malloc
 * sees to all sizes.
 */
#include "core/pages.h"

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

#if defined(__linux__) && defined(MADV_HUGEPAGE) && defined(MREMAP_FIXED) && !defined(WATCHED)

#include <stdint.h>

enum { HUGE_PAGE = 2 << 20 };

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

/* BYTES bytes of addresses that begin at a huge page, with this PROTECTION; MAP_FAILED. */
static void *map(size_t bytes, int protection) {
  char *at =
      mmap(NULL, bytes + HUGE_PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  size_t before = -(uintptr_t)at & (HUGE_PAGE - 1);
  if (at == MAP_FAILED) {
    return MAP_FAILED;
  }
  if (before > 0) {
    munmap(at, before);
  }
  munmap(at + before + bytes, HUGE_PAGE - before);
  return at + before;
}

void *gemel__pages_new(size_t bytes) {
  void *block = map(whole(bytes), PROT_READ | PROT_WRITE);
  if (block == MAP_FAILED) {
    return NULL;
  }
  (void)madvise(block, whole(bytes), MADV_HUGEPAGE);
  return block;
}

void *gemel__pages_resize(void *block, size_t old_bytes, size_t bytes) {
  size_t from = whole(old_bytes), to = whole(bytes);
  void *moved = from == to ? block : mremap(block, from, to, 0), *place;
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
  return moved != MAP_FAILED ? moved : NULL;
}

void gemel__pages_free(void *block, size_t bytes) {
  munmap(block, whole(bytes));
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

void *gemel__pages_resize(void *block, size_t old_bytes, size_t bytes) {
  (void)block, (void)old_bytes, (void)bytes;
  return NULL;
}

void gemel__pages_free(void *block, size_t bytes) {
  (void)block, (void)bytes;
}

#endif
