/* SPDX-License-Identifier: MIT
 *
 * Threads with little stack, on which a function that recurses on the depth of a graph ends the
 * program; see bench.h.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include "bench.h"

enum { STACK_BYTES = 256 * 1024 };

/* Blocks of 128 KiB or more come from the system and go back to it, at every size of graph. (By
 * default malloc keeps them once some have been freed; then small graphs live in memory whose pages
 * are there already, and freeing them costs nothing. Blocks of 8 MiB or more gemel keeps itself,
 * whatever malloc does: of graphs of millions of nodes the first one pays for its pages.) */
static void even_terms(void) {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

int gemel__bench_on_small_stack(void *(*run)(void *state), void *state) {
  pthread_attr_t attributes;
  pthread_t thread;
  int cause = pthread_attr_init(&attributes);
  even_terms();
  if (cause == 0) {
    cause = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    cause = cause != 0 ? cause : pthread_create(&thread, &attributes, run, state);
    pthread_attr_destroy(&attributes);
  }
  if (cause != 0) {
    return gemel__complain("bench: no thread with a stack of 256 KiB: %s", strerror(cause));
  }
  pthread_join(thread, NULL);
  return GEMEL__GOOD;
}
