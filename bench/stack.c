/* SPDX-License-Identifier: MIT
 *
 * Threads with little stack, on which a function that recurses on the depth of a graph ends the
 * program; see bench.h.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

enum { STACK_BYTES = 256 * 1024 };

int gemel__bench_on_small_stack(void *(*run)(void *state), void *state) {
  pthread_attr_t attributes;
  pthread_t thread;
  int cause = pthread_attr_init(&attributes);
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
