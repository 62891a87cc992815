/* SPDX-License-Identifier: MIT
 *
 * Clocks, and races between ways to do the same work; see bench.h.
 */
#include <time.h>
#include "bench.h"

enum { ROUNDS = 3, MEASURED = 2 };

double gemel__bench_thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void one_turn(gemel__bench_contender *c) {
  int k;
  c->run(c->state);
  for (k = 0; k < MEASURED; k++) {
    double start = gemel__now(), time;
    c->run(c->state);
    time = gemel__now() - start;
    if (time < c->best) {
      c->best = time;
    }
  }
}

void gemel__bench_race(gemel__bench_contender *contenders, size_t n, double seconds) {
  double start = gemel__now();
  size_t k;
  int round;
  for (k = 0; k < n; k++) {
    contenders[k].best = 1e30;
  }
  for (round = 0; round < ROUNDS || gemel__now() - start < seconds; round++) {
    for (k = 0; k < n; k++) {
      one_turn(&contenders[k]);
    }
  }
}
