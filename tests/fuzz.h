/* SPDX-License-Identifier: MIT
 *
 * What those of libFuzzer's targets share that go on into the harness (ci/fuzz): they look at each
 * record, and end an input after a second. Included once by each.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gemel/verify.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static double fuzz_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Reads all of RECORD, so that a sanitizer sees what isn't there any more. */
static void fuzz_take(void *user, const gemel_record *record) {
  char text[2000];
  (void)user;
  size_t length = gemel_record_json(record, text, sizeof text);
  if (length == 0 || gemel_verdict_severity(record->verdict) > 5 ||
      record->verdict == GEMEL_VERDICT_COUNT) {
    abort();
  }
}

/* USER is when to stop, by fuzz_clock. */
static int fuzz_tick(void *user, const char *doing) {
  (void)doing;
  return fuzz_clock() > *(const double *)user;
}

/* Few instances of the tier that DIGIT says, or of all, until UNTIL. */
static gemel_verify_options fuzz_options(char digit, double *until) {
  *until = fuzz_clock() + 1;
  return (gemel_verify_options){.size = sizeof(gemel_verify_options),
                                .quick = 1,
                                .instances = 3,
                                .tiers = digit >= '0' && digit <= '4' ? 1u << (digit - '0') : 0,
                                .sink = fuzz_take,
                                .tick = fuzz_tick,
                                .user = until};
}

#endif
