/*
 * Tests of what the sim counts of launches (gpu/sim/count.c), with kernels whose cost follows from
 * their text (tests/kernels/counted.cu): 8 blocks of 128 threads, that is 32 warps, which read
 * and write numbers of 4 bytes, 32 of them in 4 sectors of one line.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <stdlib.h>
#include <cuda_runtime_api.h>
#include "ct.h"
#include "sim/sim.h"

enum { N = 1024, IN = (4 * N + 32) * sizeof(float), ROOMY = 1 << 16, SEEDS = 5, LAUNCHES = 2 };

#define OK(call) CT_EQ_INT((call), cudaSuccess)

typedef const void *kernel_getter(void);
kernel_getter gemel__kernel_counted_copy, gemel__kernel_counted_strided,
    gemel__kernel_counted_transposed, gemel__kernel_counted_broadcast,
    gemel__kernel_counted_every_block, gemel__kernel_counted_shifted, gemel__kernel_counted_twice,
    gemel__kernel_counted_updates, gemel__kernel_counted_in_place, gemel__kernel_counted_divided,
    gemel__kernel_counted_divergent, gemel__kernel_counted_columns_32,
    gemel__kernel_counted_columns_33, gemel__kernel_counted_pairs, gemel__kernel_counted_rounds,
    gemel__kernel_counted_vectors;

typedef struct {
  kernel_getter *kernel;
  const char *name;
  size_t l2;
  gemel__sim_traffic reads, writes;
  long longest, shared_requests, conflicts, atomics;
} counted_case;

/* Each with a bug of the counting that it is for. */
#define OF(name) gemel__kernel_counted_##name, "counted_" #name
#define PLAIN                                                                                      \
  { 32, 4096, 128, 32, 4096, 128, 128 } /* a request of each warp, of lanes in a row */
#define QUADS                                                                                      \
  { 8, 4096, 128, 32, 4096, 128, 128 }
static const counted_case cases[] = {
    {OF(copy), ROOMY, PLAIN, PLAIN, 2, 0, 0, 0},
    /* bytes that nobody wants are among those that must be read */
    {OF(strided), ROOMY, {32, 4096, 256, 64, 4096, 256, 256}, PLAIN, 2, 0, 0, 0},
    /* writes are merged before they reach L2; or not there, either */
    {OF(transposed), ROOMY, PLAIN, {32, 4096, 1024, 1024, 4096, 1024, 128}, 2, 0, 0, 0},
    /* L2 has room for everything */
    {OF(transposed), 512, PLAIN, {32, 4096, 1024, 1024, 4096, 1024, 1024}, 2, 0, 0, 0},
    /* a sector counts for each lane */
    {OF(broadcast), ROOMY, {32, 4096, 32, 32, 4, 8, 1}, PLAIN, 2, 0, 0, 0},
    /* L1 is there for the next block, or L2 isn't */
    {OF(every_block), ROOMY, {32, 4096, 128, 32, 512, 128, 16}, PLAIN, 2, 0, 0, 0},
    {OF(shifted), ROOMY, {32, 4096, 160, 64, 4096, 136, 129}, PLAIN, 2, 0, 0, 0},
    /* two accesses in one statement are one; there is no L1 */
    {OF(twice), ROOMY, {64, 8192, 256, 64, 4096, 128, 128}, PLAIN, 3, 0, 0, 0},
    {OF(updates), ROOMY, {0, 0, 0, 0, 0, 0, 0}, {32, 4096, 32, 32, 4, 32, 1}, 1, 0, 0, 1024},
    /* accesses are matched by where they stand in the lanes' logs, not in the program */
    {OF(divergent), ROOMY, {160, 14336, 640, 160, 10240, 512, 512}, PLAIN, 6, 0, 0, 0},
    /* banks are not of 4 bytes; lanes that read the same word are in conflict */
    {OF(columns_32), ROOMY, PLAIN, PLAIN, 2, 288, 992, 0},
    {OF(columns_33), ROOMY, PLAIN, PLAIN, 2, 288, 0, 0},
    /* a request of 8 bytes a lane is not made in two parts */
    {OF(pairs), ROOMY, PLAIN, PLAIN, 2, 64, 0, 0},
    /* a barrier forgets what was before it, or has that counted twice */
    {OF(rounds),
     ROOMY,
     {128, 16384, 512, 128, 16384, 512, 512},
     {128, 16384, 512, 128, 4096, 512, 128},
     8,
     0,
     0,
     0},
#ifndef __clang__ /* whose hooks aren't told of reads before a write, nor of whole structures */
    /* what is read and written counts once */
    {OF(in_place), ROOMY, {64, 8192, 256, 64, 8192, 256, 256}, PLAIN, 3, 0, 0, 0},
    {OF(vectors), ROOMY, QUADS, QUADS, 2, 0, 0, 0},
#endif
};

static void run(const counted_case *c) {
  float *in = NULL, *out = NULL;
  OK(cudaMalloc((void **)&in, IN));
  OK(cudaMalloc((void **)&out, N * sizeof *out));
  OK(cudaMemset(in, 0, IN));
  OK(cudaMemset(out, 0, N * sizeof *out));
  for (int k = 0; k < LAUNCHES; k++)
    OK(cudaLaunchKernel(c->kernel(), (dim3){8, 1, 1}, (dim3){N / 8, 1, 1}, (void *[]){&in, &out}, 0,
                        NULL));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(in));
  OK(cudaFree(out));
}

static void same_traffic(gemel__sim_traffic got, gemel__sim_traffic want) {
  CT_EQ_INT(got.requests, want.requests);
  CT_EQ_INT(got.bytes, want.bytes);
  CT_EQ_INT(got.sectors, want.sectors);
  CT_EQ_INT(got.lines, want.lines);
  CT_EQ_INT(got.least, want.least);
  CT_EQ_INT(got.far, want.far);
  CT_EQ_INT(got.dram, want.dram);
}

static void same_cost(const gemel__sim_cost *got, const counted_case *want) {
  CT_EQ_STR(got->kernel, want->name);
  CT_EQ_INT(got->blocks, 8);
  CT_EQ_INT(got->threads, N / 8);
  same_traffic(got->reads, want->reads);
  same_traffic(got->writes, want->writes);
  CT_EQ_INT(got->longest, want->longest);
  CT_EQ_INT(got->shared_requests, want->shared_requests);
  CT_EQ_INT(got->conflicts, want->conflicts);
  CT_EQ_INT(got->atomics, want->atomics);
  CT_EQ_INT(got->left_out, 0);
}

/* A launch costs the same after another one, and whatever the order of threads. */
static void costs_as_written(const void *data) {
  const counted_case *c = data;
  for (int seed = 0; seed < SEEDS; seed++) {
    size_t count = 0;
    gemel__sim_seed((uint64_t)seed);
    gemel__sim_count_costs(&(gemel__sim_watch){1 << 14, c->l2, 0});
    run(c);
    gemel__sim_count_costs(NULL);
    const gemel__sim_cost *got = gemel__sim_costs(&count);
    CT_EQ_INT(count, LAUNCHES);
    for (size_t k = 0; k < count; k++)
      same_cost(&got[k], c);
  }
}

static void only_when_asked(const void *data) {
  size_t count = 0;
  (void)data;
  gemel__sim_count_costs(&(gemel__sim_watch){1 << 14, ROOMY, 0});
  run(&cases[0]);
  gemel__sim_count_costs(NULL);
  run(&cases[1]);
  same_cost(gemel__sim_costs(&count), &cases[0]);
  CT_EQ_INT(count, LAUNCHES);
  gemel__sim_count_costs(&(gemel__sim_watch){1 << 14, ROOMY, 0});
  gemel__sim_costs(&count);
  CT_EQ_INT(count, 0);
  gemel__sim_count_costs(NULL);
}

/* A division is told from a multiplication; the checker's instructions are not the thread's. */
static void instructions(const void *data) {
  static const counted_case divided = {OF(divided), ROOMY, PLAIN, PLAIN, 2, 0, 0, 0};
  size_t count = 0;
  (void)data;
#ifndef __x86_64__
  CT_SKIP("instructions are counted on x86-64 only");
#endif
  if (getenv("GEMEL_VALGRIND") != NULL)
    CT_SKIP("Valgrind has no trap flag");
  gemel__sim_count_costs(&(gemel__sim_watch){1 << 14, ROOMY, 100000});
  run(&cases[0]);
  run(&divided);
  gemel__sim_count_costs(NULL);
  const gemel__sim_cost *got = gemel__sim_costs(&count);
  CT_REQUIRE(count == 2 * LAUNCHES);
  CT_EQ_INT(got[0].stepped, 12);
  CT_CHECK(got[0].steps >= 12 * 5 && got[0].steps <= 12 * 300);
  CT_EQ_INT(got[0].divisions, 0);
  CT_EQ_INT(got[2].stepped, 12);
  CT_CHECK(got[2].steps >= 12 * 300 && got[2].steps <= 12 * 3000);
  CT_EQ_INT(got[2].divisions, 24);
  CT_EQ_INT(got[2].wide_divisions, 12);
}

void ct_register(void) {
  static const ct_test tests[] = {CT_TEST("only_when_asked", only_when_asked, NULL),
                                  CT_TEST("instructions", instructions, NULL)};
  ct_suite("sim-counts", tests, CT_COUNT(tests));
  for (size_t i = 0; i < CT_COUNT(cases); i++)
    CT_ADD_TO("sim-counts", i == 3 ? "small_cache" : "costs", cases[i].name, costs_as_written,
              &cases[i]);
}
