/* SPDX-License-Identifier: MIT
 *
 * Estimates of a kernel's time on a card; see gpu-model.h. All constants of the model stand here.
 */
#if GEMEL__SIM
#include "gpu-model.h"
#include <string.h>

/* NVIDIA's figures: "H100 Tensor Core GPU" data sheet and "H100 Tensor Core GPU Architecture"
 * (SXM5), "A100 80GB PCIe/SXM" data sheet and "A100 Tensor Core GPU Architecture", "Ada GPU
 * Architecture" (RTX 4090); clocks are boost clocks. A processor holds 64 warps, of compute
 * capability 8.9 48 (CUDA C++ Programming Guide). */
typedef struct card {
  const char *name;
  double bandwidth, clock; /* bytes and cycles a second */
  int processors, warps;   /* warps: that a processor can hold */
} card;
static const card cards[] = {{"H100", 3.35e12, 1.98e9, 132, 64},
                             {"A100", 2.04e12, 1.41e9, 108, 64},
                             {"RTX 4090", 1.01e12, 2.52e9, 128, 48}};

static const struct {
  double dram;      /* of the bandwidth, what a copy reaches */
  double l2;        /* bytes a cycle that L2 gives to a processor */
  double line;      /* cycles of a processor's L1 for a line of a request */
  double latency;   /* seconds until memory answers */
  double in_flight; /* requests of a warp that wait for it at the same time */
  double launch;    /* seconds */
  int schedulers, registers;
  double busy;      /* warps that a scheduler needs to issue in each cycle */
  double thread;    /* of the host's instructions: what a thread takes without doing anything, */
  double hook;      /* and what each call of a hook takes */
  double expansion; /* the GPU's instructions for another one of the host's, */
  double division, wide_division, access; /* the last one where none were counted */
  double onesweep; /* of the time that its bytes would take, what a pass of a radix sort does */
} model = {.dram = 0.92,
           .l2 = 24,
           .line = 2,
           .latency = 600e-9,
           .in_flight = 2,
           .launch = 2e-6,
           .schedulers = 4,
           .registers = 65536,
           .busy = 6,
           .thread = 40,
           .hook = 3,
           .expansion = 0.6,
           .division = 25,
           .wide_division = 60,
           .access = 12,
           .onesweep = 1.35};

/* "Onesweep" (gpu/sim/sort.c) sorts 29.4e9 keys of 32 bits a second on an A100; if it is that of
 * 1.555e12 bytes a second, 36 bytes each are 0.68 of it. */
static double slowness(const gemel__sim_cost *cost) {
  return strcmp(cost->kernel, "cub_onesweep") == 0 ? model.onesweep : 1;
}

static const struct {
  const char *kernel;
  int registers;
} known[] = {
#define KERNEL(name, registers, ...) {#name, registers},
#include "kernels.def"
#undef KERNEL
};

static int registers_of(const char *kernel) {
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    if (strcmp(known[k].kernel, kernel) == 0) {
      return known[k].registers;
    }
  }
  return 0;
}

/* Warps that a processor holds. Registers are given out by eights. */
static double warps_at_once(const card *on, const gemel__sim_cost *cost) {
  int registers = (registers_of(cost->kernel) + 7) / 8 * 8, warps = (cost->threads + 31) / 32;
  int blocks = registers > 0 ? model.registers / (registers * 32 * warps) : on->warps / warps;
  blocks = blocks * warps > on->warps ? on->warps / warps : blocks;
  return blocks > 0 ? blocks * warps : warps;
}

/* The GPU's instructions of a warp, which makes so many REQUESTS. */
static double instructions(const gemel__sim_cost *cost, double requests) {
  if (cost->steps == 0) { /* on another processor */
    return model.access * requests;
  }
  double threads = (double)cost->stepped, wide = (double)cost->wide_divisions;
  double others = (double)(cost->steps - cost->divisions) / threads;
  double plain = others - model.thread - model.hook * (double)cost->hooks / threads;
  double divisions = model.wide_division * wide + model.division * ((double)cost->divisions - wide);
  return requests + divisions / threads + (plain > 0 ? model.expansion * plain : 0);
}

/* Requests of a launch that L1 doesn't answer. */
static double waits(const gemel__sim_traffic *reads) {
  return reads->sectors > 0 ? (double)reads->requests * (double)reads->far / (double)reads->sectors
                            : 0;
}

typedef enum bound { DRAM, L2, L1, ISSUE, LATENCY, BOUNDS } bound;
static const char *const bound_names[BOUNDS] = {"memory", "L2", "L1", "instructions", "latency"};

/* The seconds that each bound alone would let a launch take that is SCALE times as large. */
static void find_bounds(const card *on, const gemel__sim_cost *cost, double scale, double *bounds) {
  double warps = (double)cost->blocks * ((cost->threads + 31) / 32);
  double held = warps_at_once(on, cost) * on->processors;
  double there = warps * scale < held ? warps * scale : held; /* at the same time */
  double requests = (double)(cost->reads.requests + cost->writes.requests + cost->shared_requests);
  double l1 = model.line * (double)(cost->reads.lines + cost->writes.lines) +
              (double)(cost->shared_requests + cost->conflicts);
  double cycles = on->processors * on->clock;
  double rate = there / (on->processors * model.schedulers * model.busy);
  bounds[DRAM] = 32 * (double)(cost->reads.dram + cost->writes.dram) * scale * slowness(cost) /
                 (model.dram * on->bandwidth);
  bounds[L2] = 32 * (double)(cost->reads.far + cost->writes.far) * scale / (model.l2 * cycles);
  bounds[L1] = l1 * scale / cycles;
  bounds[ISSUE] = instructions(cost, requests / warps) * warps * scale /
                  (cycles * model.schedulers * (rate < 1 ? rate : 1));
  double waiting = waits(&cost->reads) * scale / there; /* of a warp, one after another */
  waiting = waiting > (double)cost->longest ? waiting : (double)cost->longest;
  bounds[LATENCY] = model.latency / model.in_flight * waiting;
}

/* Seconds of a call, and what most of them are due to. */
static double estimate(const card *on, const gemel__seen *seen, bound *due) {
  double seconds = 0, share[BOUNDS] = {0};
  for (size_t k = 0; k < seen->count; k++) {
    double bounds[BOUNDS];
    find_bounds(on, &seen->costs[k], seen->scale, bounds);
    int most = 0;
    for (int i = 0; i < BOUNDS; i++) {
      most = bounds[i] > bounds[most] ? i : most;
    }
    share[most] += bounds[most];
    seconds += bounds[most] + model.launch;
  }
  for (int i = *due = 0; i < BOUNDS; i++) {
    *due = share[i] > share[*due] ? (bound)i : *due;
  }
  return seconds;
}

static void report_counts(gemel__bench *b, const char *what, const gemel__seen *seen) {
  double requests = 0, bytes = 0, sectors = 0, far = 0, dram = 0, least = 0, conflicts = 0;
  for (size_t k = 0; k < seen->count; k++) {
    const gemel__sim_traffic *all[] = {&seen->costs[k].reads, &seen->costs[k].writes};
    for (int i = 0; i < 2; i++) {
      requests += (double)all[i]->requests;
      bytes += (double)all[i]->bytes;
      sectors += (double)all[i]->sectors;
      far += (double)all[i]->far;
      dram += (double)all[i]->dram;
      least += (double)all[i]->least / 32;
    }
    conflicts += (double)seen->costs[k].conflicts;
  }
  gemel__bench_report(b, what, "requests", requests, "a call", NULL);
  gemel__bench_report(b, what, "bytes a request", bytes / requests, "B", NULL);
  gemel__bench_report(b, what, "sectors/least", sectors / least, "ratio", NULL);
  gemel__bench_report(b, what, "L2/least", far / least, "ratio", NULL);
  gemel__bench_report(b, what, "memory/least", dram / least, "ratio", NULL);
  gemel__bench_report(b, what, "bank conflicts", conflicts, "a call", NULL);
}

void gemel__report_estimates(gemel__bench *b, const char *what, const gemel__seen *seen) {
  report_counts(b, what, seen);
  for (size_t k = 0; k < sizeof cards / sizeof *cards; k++) {
    char metric[40], unit[40];
    bound due;
    double seconds = estimate(&cards[k], seen, &due);
    snprintf(metric, sizeof metric, "%s, estimate", cards[k].name);
    gemel__bench_report(b, what, metric, seconds, "s", NULL);
    snprintf(metric, sizeof metric, "%s, of peak", cards[k].name);
    snprintf(unit, sizeof unit, "%%, by %s", bound_names[due]);
    gemel__bench_report(b, what, metric, 100 * seen->least / (seconds * cards[k].bandwidth), unit,
                        NULL);
    if (k == 0 && seen->measured > 0) {
      gemel__bench_report(b, what, "H100, before", seen->measured, "s", NULL);
    }
  }
}
#endif
