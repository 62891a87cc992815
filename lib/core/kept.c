/* SPDX-License-Identifier: MIT
 *
 * A small table of address ranges. A block is taken from the beginning of the largest one, and the
 * rest stays here as what is behind it: big blocks are arrays that grow, and so they grow without
 * moving, into memory that the program has had before. Where every range is behind some block, the
 * new one begins in the middle of it. When a block comes back, it is joined with what is behind it.
 *
 * What is behind a block was always mapped together with it, so that the two are one to the system;
 * a block never grows into a neighbour that merely happens to lie there.
 *
 * A process may fork while another of its threads is in here; the child has that thread no more,
 * but would find the table as it left it, and locked. So whoever forks waits until it has the lock.
 */
#include "core/kept.h"

#include <pthread.h>

enum { RANGES = 32 };

/* What is kept at most. The system may take it at any time. */
static const size_t most = (size_t)4 << 30;

typedef struct range {
  char *at;
  size_t bytes;
  int behind; /* a block in use ends where it begins */
} range;

static struct {
  pthread_mutex_t lock;
  range ranges[RANGES];
  size_t n, bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void take_lock(void) {
  pthread_mutex_lock(&kept.lock);
}

static void give_lock(void) {
  pthread_mutex_unlock(&kept.lock);
}

static void prepare(void) {
  (void)pthread_atfork(take_lock, give_lock, give_lock);
}

static void enter(void) {
  static pthread_once_t prepared = PTHREAD_ONCE_INIT;
  pthread_once(&prepared, prepare);
  take_lock();
}

/* The range behind a block that ends at END, or NULL. */
static range *behind(const char *end) {
  size_t k;
  for (k = 0; k < kept.n; k++) {
    if (kept.ranges[k].behind && kept.ranges[k].at == end) {
      return &kept.ranges[k];
    }
  }
  return NULL;
}

/* Takes BYTES from the beginning of R. */
static void shorten(range *r, size_t bytes) {
  kept.bytes -= bytes;
  r->at += bytes;
  r->bytes -= bytes;
  if (r->bytes == 0) {
    *r = kept.ranges[--kept.n];
  }
}

static void add(char *at, size_t bytes, int is_behind) {
  if (bytes > 0) {
    kept.ranges[kept.n++] = (range){at, bytes, is_behind};
    kept.bytes += bytes;
  }
}

int gemel__kept_add(char *block, size_t *bytes, int is_behind) {
  range *rest;
  int good;
  enter();
  rest = behind(block + *bytes);
  if (rest != NULL) {
    *bytes += rest->bytes;
    shorten(rest, rest->bytes);
  }
  good = kept.n < RANGES && *bytes <= most && kept.bytes <= most - *bytes;
  if (good) {
    add(block, *bytes, is_behind);
  }
  give_lock();
  return good;
}

/* The range to take BYTES from: the largest that is behind nothing, else the largest. */
static range *choose(size_t bytes) {
  range *best = NULL;
  size_t k;
  for (k = 0; k < kept.n; k++) {
    range *r = &kept.ranges[k];
    size_t room = r->behind ? r->bytes / 2 : r->bytes;
    if (room >= bytes && (best == NULL || r->behind < best->behind ||
                          (r->behind == best->behind && r->bytes > best->bytes))) {
      best = r;
    }
  }
  return best;
}

char *gemel__kept_take(size_t bytes) {
  char *at = NULL;
  range *r;
  enter();
  r = choose(bytes);
  if (r != NULL && !r->behind) {
    at = r->at;
    r->behind = 1;
    shorten(r, bytes);
  } else if (r != NULL && kept.n < RANGES) {
    size_t half = r->bytes / 2 / GEMEL__KEPT_UNIT * GEMEL__KEPT_UNIT, rest = r->bytes - half;
    at = r->at + half;
    r->bytes = half;
    kept.bytes -= rest;
    add(at + bytes, rest - bytes, 1);
  }
  give_lock();
  return at;
}

size_t gemel__kept_extend(char *end, size_t bytes) {
  range *r;
  enter();
  r = behind(end);
  if (r == NULL) {
    bytes = 0;
  } else {
    bytes = r->bytes < bytes ? r->bytes : bytes;
    shorten(r, bytes);
  }
  give_lock();
  return bytes;
}

void gemel__kept_leave(char *end) {
  range *r;
  enter();
  r = behind(end);
  if (r != NULL) {
    r->behind = 0;
  }
  give_lock();
}

char *gemel__kept_any(size_t *bytes) {
  char *at = NULL;
  enter();
  if (kept.n > 0) {
    range *r = &kept.ranges[kept.n - 1];
    at = r->at;
    *bytes = r->bytes;
    shorten(r, r->bytes);
  }
  give_lock();
  return at;
}
