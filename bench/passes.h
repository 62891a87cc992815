/* SPDX-License-Identifier: MIT
 *
 * Passes over memory that do nothing but read it, or copy it: what memory-bound functions are
 * measured against. Several ways of each; which one is the fastest differs by machine.
 */
#ifndef GEMEL__BENCH_PASSES_H
#define GEMEL__BENCH_PASSES_H

#include <stddef.h>
#include "bench.h"

/* What a pass works on. BYTES is a multiple of 64 and both blocks are aligned to that; TO is not
 * touched by reading passes. */
typedef struct gemel__pass {
  const char *from;
  char *to;
  size_t bytes;
  int threads; /* each takes one contiguous part */
} gemel__pass;

enum { GEMEL__MAX_PASSES = 8 };

/* Fills in contenders for all ways that this machine knows; returns how many. */
size_t gemel__pass_readers(const gemel__pass *pass, gemel__bench_contender *contenders);
size_t gemel__pass_copiers(const gemel__pass *pass, gemel__bench_contender *contenders);

#endif
