/*
 * Big blocks, which come from the system and are kept for the next ones when they are given back:
 * contents stay what they were, blocks don't overlap, zeroed ones are zero, and what is kept is in
 * nobody's way.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/alloc.h"
#include "core/kept.h"
#include "ct.h"

/* Empties the table. */
static void forget(void) {
  size_t bytes;
  char *at;
  while ((at = gemel__kept_any(&bytes)) != NULL) {
    munmap(at, bytes);
  }
}

/* ---- Blocks ----
 * Blocks of some huge pages come, grow, shrink and go, on two threads. Each holds marks of its own,
 * which stay; zeroed ones come zeroed, also in addresses that were used before. */

enum { BLOCKS = 12, STEP = 1 << 20, ROUNDS = 400 };

typedef struct block {
  unsigned char *at;
  size_t bytes, stamp;
} block;

/* A mark in the first and the last word of each STEP of [FROM, TO). */
static void stamp(block *b, size_t from) {
  for (size_t k = from; k < b->bytes; k += STEP) {
    size_t mark = b->stamp + k;
    memcpy(b->at + k, &mark, sizeof mark);
    memcpy(b->at + k + STEP - sizeof mark, &mark, sizeof mark);
  }
}

static int stamped(const block *b, size_t bytes) {
  for (size_t k = 0; k < bytes; k += STEP) {
    size_t mark = b->stamp + k;
    if (memcmp(b->at + k, &mark, sizeof mark) != 0 ||
        memcmp(b->at + k + STEP - sizeof mark, &mark, sizeof mark) != 0) {
      return 0;
    }
  }
  return 1;
}

static int is_zero(const block *b) {
  static const unsigned char zeros[4096];
  for (size_t k = 0; k < b->bytes; k += sizeof zeros) {
    if (memcmp(b->at + k, zeros, sizeof zeros) != 0) {
      return 0;
    }
  }
  return 1;
}

/* Does something with the block; 0 if that went wrong. */
static int step_of(block *b, size_t random) {
  size_t bytes = (9 + random / 8 % 24) * STEP, before = b->bytes;
  void *at;
  if (b->at == NULL) {
    b->bytes = bytes;
    b->at = random % 2 ? gemel__alloc(bytes) : gemel__alloc_zeroed(bytes);
    if (b->at == NULL || (random % 2 == 0 && !is_zero(b))) {
      return 0;
    }
    stamp(b, 0);
  } else if (random % 8 == 0) {
    gemel__free(b->at, b->bytes);
    b->at = NULL;
  } else {
    at = gemel__realloc(b->at, before, bytes);
    if (at == NULL) {
      return 0;
    }
    b->at = at;
    b->bytes = bytes;
    if (bytes > before) {
      stamp(b, before);
    }
  }
  return b->at == NULL || stamped(b, b->bytes);
}

static void *rounds(void *user) {
  block blocks[BLOCKS] = {{NULL, 0, 0}};
  uint64_t random = *(uint64_t *)user;
  int good = 1;
  for (int k = 0; k < ROUNDS && good; k++) {
    block *b;
    random = random * 6364136223846793005u + 1442695040888963407u;
    b = &blocks[(random >> 33) % BLOCKS];
    b->stamp = b->at == NULL ? (size_t)random : b->stamp;
    good = step_of(b, (size_t)(random >> 40));
  }
  for (int k = 0; k < BLOCKS; k++) {
    good = good && (blocks[k].at == NULL || stamped(&blocks[k], blocks[k].bytes));
    if (blocks[k].at != NULL) {
      gemel__free(blocks[k].at, blocks[k].bytes);
    }
  }
  return good ? user : NULL;
}

static void come_and_go(const void *data) {
  uint64_t seeds[2] = {1, 2};
  pthread_t threads[2];
  void *result;
  (void)data;
  for (int k = 0; k < 2; k++) {
    CT_REQUIRE(pthread_create(&threads[k], NULL, rounds, &seeds[k]) == 0);
  }
  for (int k = 0; k < 2; k++) {
    pthread_join(threads[k], &result);
    CT_CHECK(result != NULL);
  }
}

/* Bytes of addresses that this process has; 0: not known. */
static size_t address_bytes(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (file != NULL) {
    if (fscanf(file, "%lu", &pages) != 1) {
      pages = 0;
    }
    fclose(file);
  }
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What is kept for later makes room where addresses are limited. */
static void kept_blocks(const void *data) {
  enum { MANY = 6 };
  const size_t bytes = (size_t)64 << 20;
  struct rlimit old, tight;
  void *blocks[MANY], *large;
  (void)data;
#ifdef GEMEL_SANITIZED
  CT_SKIP("sanitizers need all addresses");
#endif
  forget();
  CT_REQUIRE(getrlimit(RLIMIT_AS, &old) == 0);
  for (int k = 0; k < MANY; k++) {
    CT_REQUIRE((blocks[k] = gemel__alloc(bytes)) != NULL);
  }
  tight = old;
  tight.rlim_cur = address_bytes() + bytes / 2;
  for (int k = 0; k < MANY; k++) {
    gemel__free(blocks[k], bytes);
  }
  if (tight.rlim_cur < MANY * bytes || setrlimit(RLIMIT_AS, &tight) != 0) {
    CT_SKIP("addresses can't be limited");
  }
  large = gemel__alloc((MANY - 1) * bytes);
  setrlimit(RLIMIT_AS, &old);
  CT_CHECK(large != NULL);
  gemel__free(large, (MANY - 1) * bytes);
}

/* ---- What else needs addresses ---- */

enum { SMALL_BLOCKS = 12, SMALL_BYTES = 6 << 20 };

/* Blocks of less than eight MiB, which are malloc's: each is made in another way. 0: none was
 * there.
 */
static int small_block(size_t k, void **at) {
  if (k % 4 == 3) {
    void *moved = gemel__realloc(*at = gemel__alloc(1000), 1000, SMALL_BYTES);
    *at = moved;
  } else {
    *at = k % 4 == 0   ? gemel__alloc(SMALL_BYTES)
          : k % 4 == 1 ? gemel__alloc_zeroed(SMALL_BYTES)
                       : gemel__alloc_tensor(SMALL_BYTES);
  }
  return *at != NULL;
}

/* Big blocks of BYTES bytes in all come and go; then addresses are limited to what is there. 0:
 * that can't be done. */
static int keep_and_limit(size_t bytes, struct rlimit *old) {
  struct rlimit tight;
  void *big = gemel__alloc(bytes);
  if (big == NULL || getrlimit(RLIMIT_AS, old) != 0) {
    return 0;
  }
  tight = *old;
  tight.rlim_cur = address_bytes();
  gemel__free(big, bytes);
  return tight.rlim_cur >= bytes && setrlimit(RLIMIT_AS, &tight) == 0;
}

/* malloc gets the addresses that big blocks have left, in whichever way it is asked first. */
static void small_blocks(const void *data) {
  (void)data;
#ifdef GEMEL_SANITIZED
  CT_SKIP("sanitizers need all addresses");
#endif
  for (size_t way = 0; way < 4; way++) {
    void *blocks[SMALL_BLOCKS];
    struct rlimit old;
    size_t n = 0;
    forget();
    if (!keep_and_limit((size_t)256 << 20, &old)) {
      CT_SKIP("addresses can't be limited");
    }
    while (n < SMALL_BLOCKS && small_block(way, &blocks[n])) {
      n++;
    }
    setrlimit(RLIMIT_AS, &old);
    CT_EQ_UINT(n, SMALL_BLOCKS);
    while (n-- > 0) {
      gemel__free(blocks[n], SMALL_BYTES);
    }
  }
}

/* A block that the system can't have back while it is kept goes at once, and what is behind it is
 * nobody's to grow into. */
static void locked(const void *data) {
  const size_t bytes = (size_t)64 << 20, part = (size_t)16 << 20;
  char *held;
  (void)data;
#ifdef GEMEL_SANITIZED
  CT_SKIP("sanitizers have an allocator of their own");
#endif
  forget();
  gemel__free(gemel__alloc(bytes), bytes);
  held = gemel__alloc(part);
  CT_REQUIRE(held != NULL);
  if (mlock(held, 1) != 0) {
    CT_SKIP("memory can't be locked");
  }
  gemel__free(held, part);
  CT_EQ_UINT(gemel__kept_extend(held + part, GEMEL__KEPT_UNIT), 0);
  forget();
}

static atomic_int forked;

static void *ask_always(void *user) {
  while (!atomic_load(&forked)) {
    gemel__kept_leave(user);
  }
  return NULL;
}

/* A child finds the table unlocked, whatever other threads did as it was made. */
static void child(const void *data) {
  pthread_t thread;
  int status = 0;
  (void)data;
  CT_REQUIRE(pthread_create(&thread, NULL, ask_always, NULL) == 0);
  for (int k = 0; k < 200 && status == 0; k++) {
    pid_t pid = fork();
    CT_REQUIRE(pid >= 0);
    if (pid == 0) {
      alarm(10);
      gemel__kept_leave(NULL);
      _exit(0);
    }
    CT_REQUIRE(waitpid(pid, &status, 0) == pid);
  }
  atomic_store(&forked, 1);
  pthread_join(thread, NULL);
  CT_EQ_INT(status, 0);
}

/* ---- The table ---- */

static char *nowhere(void) {
  return (char *)((uintptr_t)1 << 30);
}

/* A block grows into what was mapped with it, and into nothing else; when it comes back, it is one
 * with what is behind it. Only addresses are looked at here, not what is there. */
static void table(const void *data) {
  const size_t unit = GEMEL__KEPT_UNIT;
  char *base = nowhere(), *first, *second;
  size_t bytes;
  (void)data;
  forget();
  CT_CHECK(gemel__kept_take(unit) == NULL);
  bytes = 100 * unit;
  CT_CHECK(gemel__kept_add(base, &bytes, 0));
  CT_CHECK(gemel__kept_take(101 * unit) == NULL);
  first = gemel__kept_take(10 * unit);
  CT_CHECK(first == base);
  second = gemel__kept_take(10 * unit);
  CT_CHECK(second == base + 55 * unit);
  CT_EQ_UINT(gemel__kept_extend(first + 10 * unit, 5 * unit), 5 * unit);
  CT_EQ_UINT(gemel__kept_extend(first + 10 * unit, 5 * unit), 0);
  CT_EQ_UINT(gemel__kept_extend(first + 15 * unit, 500 * unit), 40 * unit);
  CT_EQ_UINT(gemel__kept_extend(first + 55 * unit, unit), 0);
  bytes = 10 * unit;
  CT_CHECK(gemel__kept_add(second, &bytes, 0));
  CT_EQ_UINT(bytes, 45 * unit);
  CT_EQ_UINT(gemel__kept_extend(first + 55 * unit, unit), 0); /* a neighbour by chance */
  CT_CHECK(gemel__kept_take(unit) == second);
  gemel__kept_leave(second + unit);
  CT_EQ_UINT(gemel__kept_extend(second + unit, unit), 0);
  bytes = 0;
  CT_CHECK(gemel__kept_any(&bytes) == second + unit);
  CT_EQ_UINT(bytes, 44 * unit);
  CT_CHECK(gemel__kept_any(&bytes) == NULL);
  bytes = 4 * unit;
  CT_CHECK(gemel__kept_add(base, &bytes, 1)); /* the end of a block that has shrunk */
  CT_EQ_UINT(gemel__kept_extend(base, unit), unit);
  CT_CHECK(gemel__kept_any(&bytes) == base + unit);
  CT_EQ_UINT(bytes, 3 * unit);
}

/* There is an end to what is kept: the rest goes to the system. */
static void enough(const void *data) {
  size_t unit = GEMEL__KEPT_UNIT, bytes, all = 0, ranges = 0;
  char *at = nowhere();
  (void)data;
  forget();
  for (bytes = unit; gemel__kept_add(at, &bytes, 0); at += 2 * unit) {
    CT_REQUIRE(++ranges < 10000);
  }
  CT_EQ_UINT(bytes, unit);
  while (gemel__kept_any(&bytes) != NULL) {
    all += bytes;
  }
  CT_EQ_UINT(all, ranges * unit);
  bytes = (size_t)3 << 30;
  CT_CHECK(gemel__kept_add(nowhere(), &bytes, 0));
  CT_CHECK(!gemel__kept_add(nowhere() + bytes, &bytes, 0));
  CT_CHECK(gemel__kept_any(&bytes) == nowhere());
  CT_CHECK(gemel__kept_any(&bytes) == NULL);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("come_and_go", come_and_go, NULL),
      CT_TEST("kept_blocks", kept_blocks, NULL),
      CT_TEST("small_blocks", small_blocks, NULL),
      CT_TEST("locked", locked, NULL),
      CT_TEST("child", child, NULL),
      CT_TEST("table", table, NULL),
      CT_TEST("enough", enough, NULL),
  };
  ct_suite("pages", tests, CT_COUNT(tests));
}
