/* SPDX-License-Identifier: MIT
 *
 * A monotonic clock, see clock.h.
 */
#include "base/clock.h"

#include <time.h>

double gemel__clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
