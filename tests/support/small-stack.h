/*
 * Work on a thread with little stack: nothing may recurse on the depth of a graph.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_SMALL_STACK_H
#define GEMEL_TESTS_SMALL_STACK_H

#include <pthread.h>
#include "../ct.h"

/* WORK(DATA) on a stack of 256 KiB; of 2 MiB with sanitizers, whose frames are several times as
 * big. */
static inline void on_small_stack(void *(*work)(void *), const void *data) {
#ifdef GEMEL_SANITIZED
  size_t bytes = 2 << 20;
#else
  size_t bytes = 256 << 10;
#endif
  pthread_attr_t attr;
  pthread_t thread;
  CT_REQUIRE(pthread_attr_init(&attr) == 0);
  CT_REQUIRE(pthread_attr_setstacksize(&attr, bytes) == 0);
  CT_REQUIRE(pthread_create(&thread, &attr, work, (void *)data) == 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
}

#endif
