/* SPDX-License-Identifier: MIT
 *
 * How OpenMP's threads wait. libgomp, GCC's runtime, lets a thread that has nothing to do spin for
 * some milliseconds before it sleeps, at the end of a loop as between two. Beside another process
 * that wants a core this is ruinous: whoever waits keeps the core that the last worker needs. On
 * two processors, beside a compiler, examples/digits.c takes 13 s with libgomp's own spin
 * (GOMP_SPINCOUNT=300000) and 0.2 s like this.
 *
 * The length of the spin is read from the environment before any program begins, but libgomp spins
 * for some microseconds only once it has more threads than there are processors. So a thread that
 * does nothing but sleep starts a team of its own: that makes one more. What GOMP_SPINCOUNT or
 * OMP_WAIT_POLICY say is respected.
 */
#include "cpu/waits.h"

#ifdef _OPENMP
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *sleep_with_a_team(void *unused) {
  static volatile int ready; /* so that the compiler keeps the region */
#pragma omp parallel num_threads(2)
#pragma omp atomic
  ready++;
  for (;;) {
    pause();
  }
  return unused;
}

static void start_sleeper(void) {
  sigset_t all, before;
  pthread_t thread;
  if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL) {
    return;
  }
  sigfillset(&all); /* the program's signals are for its own threads */
  if (pthread_sigmask(SIG_SETMASK, &all, &before) == 0) {
    if (pthread_create(&thread, NULL, sleep_with_a_team, NULL) == 0) {
      pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
}

void gemel__wait_asleep(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_sleeper);
}
#else
void gemel__wait_asleep(void) {
}
#endif
