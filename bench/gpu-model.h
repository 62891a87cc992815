/* SPDX-License-Identifier: MIT
 *
 * How long kernels would take on cards that aren't there, from what the sim has counted of them: a
 * roofline. doc/gpu.md has the formulas, and how far off they are.
 */
#ifndef GEMEL__BENCH_GPU_MODEL_H
#define GEMEL__BENCH_GPU_MODEL_H

#include "bench.h"
#include "sim/sim.h"

/* What a call was seen to do, COUNT launches, and what it is asked about: a call SCALE times as
 * large, of which LEAST bytes must be read or written, and which took MEASURED seconds on an H100,
 * or 0. */
typedef struct gemel__seen {
  const gemel__sim_cost *costs;
  size_t count;
  double scale, least, measured;
} gemel__seen;

/* Reports the counts of CASE, and for each card an estimate. */
void gemel__report_estimates(gemel__bench *b, const char *what, const gemel__seen *seen);

#endif
