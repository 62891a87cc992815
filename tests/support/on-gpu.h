/*
 * What tests of the device "cuda" ask of the sim. The same programs are linked with NVIDIA's
 * libraries for `make gpu-check`, with GEMEL_ON_GPU defined: there is no sim to ask, and so nothing
 * is reported and nothing seen to be left behind.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_ON_GPU_H
#define GEMEL_TESTS_ON_GPU_H

#include <gemel/cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include "sim/sim.h"

#ifdef GEMEL_ON_GPU
enum { NO_GPU = 77 };
static inline int sim_reports(void) {
  return 0;
}
static inline gemel__sim_alive sim_living(void) {
  return (gemel__sim_alive){0};
}
static inline void sim_forget(void) {
}
#else
enum { NO_GPU = 1 };
static inline int sim_reports(void) {
  return gemel__sim_reports();
}
static inline gemel__sim_alive sim_living(void) {
  return gemel__sim_living();
}
static inline void sim_forget(void) {
  gemel__sim_forget();
}
#endif

/* Ends the program where there is no GPU: as one that is skipped, or with the sim, which always has
 * one, as one that failed. For ct_register. */
static inline void need_gpu(void) {
  gemel_error problem;
  gemel_cuda *cuda = gemel_cuda_open(0, &problem);
  if (cuda == NULL && problem.status == GEMEL_UNSUPPORTED) {
    fprintf(stderr, "there is no GPU, so nothing is checked: %s\n", problem.text);
    exit(NO_GPU);
  }
  gemel_cuda_close(cuda);
}

#endif
