/* SPDX-License-Identifier: MIT
 *
 * Clocks, and races between ways to do the same work; see bench.h.
 */
#include <stdlib.h>
#include <time.h>
#include "bench.h"

/* Of more than MOST_ROUNDS the last ones are looked at. */
enum { ROUNDS = 3, MEASURED = 2, MOST_ROUNDS = 256 };

double gemel__bench_thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The time of the better of the measured runs. */
static double one_turn(gemel__bench_contender *c) {
  double least = 1e30;
  c->run(c->state);
  for (int k = 0; k < MEASURED; k++) {
    double start = gemel__now(), time;
    c->run(c->state);
    time = gemel__now() - start;
    least = time < least ? time : least;
  }
  c->best = least < c->best ? least : c->best;
  return least;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double gemel__bench_median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, by_size);
  return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

/* Puts ORDER into another one (Fisher and Yates), by xorshift64 (Marsaglia 2003). */
static void shuffle(size_t n, size_t *order, uint64_t *state) {
  for (size_t k = n; k-- > 1;) {
    size_t other, was = order[k];
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    other = (size_t)(*state >> 32) % (k + 1);
    order[k] = order[other];
    order[other] = was;
  }
}

void gemel__bench_race(gemel__bench_contender *contenders, size_t n, double seconds) {
  int round;
  double start = gemel__now(), ratios[GEMEL__BENCH_CONTENDERS][MOST_ROUNDS];
  size_t order[GEMEL__BENCH_CONTENDERS];
  uint64_t state = 88172645463325252u;
  for (size_t k = 0; k < n; k++) {
    contenders[k].best = 1e30;
    order[k] = k;
  }
  for (round = 0; round < ROUNDS || gemel__now() - start < seconds; round++) {
    double times[GEMEL__BENCH_CONTENDERS];
    for (size_t k = 0; k < n; k++) {
      times[order[k]] = one_turn(&contenders[order[k]]);
    }
    for (size_t k = 0; k < n; k++) {
      ratios[k][round % MOST_ROUNDS] = times[k] / times[0];
    }
    shuffle(n, order, &state);
  }
  for (size_t k = 0; k < n; k++) {
    contenders[k].relative =
        gemel__bench_median(ratios[k], round < MOST_ROUNDS ? round : MOST_ROUNDS);
  }
}

double gemel__bench_fastest(const gemel__bench_contender *others, size_t n) {
  double least = 1e30;
  for (size_t k = 0; k < n; k++) {
    least = others[k].relative < least ? others[k].relative : least;
  }
  return least;
}
