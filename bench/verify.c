/* SPDX-License-Identifier: MIT
 *
 * Suite verify: how long `gemel verify` takes for all operations, with its default settings.
 */
#include <gemel/verify.h>
#include <time.h>
#include "bench.h"

static void count(void *user, const gemel_record *record) {
  size_t *records = user;
  ++*records;
  gemel__progress("gemel bench: verify, %s, %zu verdicts", record->name, *records);
}

int gemel__bench_verify(gemel__bench *b) {
  static const gemel__bench_target target = {GEMEL__BENCH_AT_MOST, 60};
  gemel_verify_options options = {0};
  gemel_context *context = gemel__context_need();
  gemel_error error;
  size_t records = 0;
  double start = gemel__now(), seconds;
  clock_t before = clock();
  if (context == NULL) {
    return GEMEL__BAD;
  }
  options.size = sizeof options;
  options.seed = b->seed;
  options.jobs = (size_t)b->threads; /* as the command does */
  options.sink = count;
  options.user = &records;
  gemel_status status = gemel_verify_operations(context, &options, NULL, &error);
  gemel_context_unref(context);
  if (status != GEMEL_OK) {
    return gemel__complain_error("verify", &error);
  }
  seconds = gemel__now() - start;
  gemel__bench_report(b, "all operations", "wall clock", seconds, "s", &target);
  gemel__bench_report(b, "all operations", "processor time",
                      (double)(clock() - before) / CLOCKS_PER_SEC, "s", NULL);
  gemel__bench_report(b, "all operations", "verdicts", (double)records, "verdicts", NULL);
  return GEMEL__GOOD;
}
