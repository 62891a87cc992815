/* SPDX-License-Identifier: MIT
 *
 * Processor time: see clock.h.
 */
#include "core/clock.h"

#include <time.h>

double gemel__thread_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
