/* SPDX-License-Identifier: MIT
 *
 * What the suites of `gemel bench` share: their settings, clocks, races between contenders, and the
 * reporting of measurements. A suite is a function that measures and reports; a measurement with a
 * target is judged when it is reported.
 */
#ifndef GEMEL__BENCH_H
#define GEMEL__BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "../tools/tool.h"

/* The suites, in the order in which `all` runs them, but for gpu, which needs a device. */
#ifdef HAVE_VERIFY
#define GEMEL__BENCH_HARNESS(X) X(verify, "the time of gemel verify over all operations")
#else
#define GEMEL__BENCH_HARNESS(X)
#endif
#define GEMEL__BENCH_TABLE(X)                                                                      \
  X(graph, "building, differentiating, printing, ... of big graphs")                               \
  X(cpu, "functions on the CPU against raw library calls and copies, and the cost of a call")      \
  X(conv, "convolutions against oneDNN called by hand")                                            \
  X(scan, "loops beside the instructions and the products in them")                                \
  X(gpu, "functions on a GPU against cuBLAS, copies and launches, and what a call asks for")       \
  X(optimizer, "rewriting and compiling the graphs of training steps")                             \
  GEMEL__BENCH_HARNESS(X)

typedef struct gemel__bench {
  uint64_t nodes;    /* of a big graph, or steps of a long loop; 0: the suite's own number */
  uint64_t elements; /* of a big vector */
  uint64_t columns;  /* of a matrix with as many; 0: a power of two near the root */
  uint64_t matrix;   /* rows and columns of a square matrix */
  uint64_t time_ms;  /* at least this long for each race and each small graph */
  uint64_t seed;
  const char *graphs;             /* of scan: a folder for the graphs that are measured, or NULL */
  const char *only;               /* a glob over cases; NULL: all */
  const struct gemel__args *args; /* of the command */
  int threads;
  int autotune;           /* kernels of graphs are chosen by timing them */
  gemel_context *context; /* of gpu, in which memory space SPACE is the device; else NULL and 0 */
  int space;
  int on_host; /* inputs and outputs of calls on the device */
  const char *suite;
  FILE *table; /* where text for people goes: stdout, or stderr if JSON takes that */
  int has_json;
  gemel__output json;
  size_t measured, judged, missed;
} gemel__bench;

/* What a measurement is held to. */
typedef enum gemel__bench_sense {
  GEMEL__BENCH_FREE, /* no target: information */
  GEMEL__BENCH_AT_MOST,
  GEMEL__BENCH_AT_LEAST
} gemel__bench_sense;

typedef struct gemel__bench_target {
  gemel__bench_sense sense;
  double value;
} gemel__bench_target;

/* ---- Reporting (report.c) ---- */

/* Prints a row of the table and a line of JSON: METRIC of CASE (one of b->suite) is VALUE UNIT.
 * TARGET may be NULL. NaN misses every target. */
void gemel__bench_report(gemel__bench *b, const char *what, const char *metric, double value,
                         const char *unit, const gemel__bench_target *target);

/* 1 if the case is to be measured. */
int gemel__bench_wanted(const gemel__bench *b, const char *what);

/* Prints the table's head; its last line, how many targets were missed. */
void gemel__bench_head(gemel__bench *b);
void gemel__bench_summary(gemel__bench *b);

/* ---- Clocks and races (race.c) ---- */

/* Seconds of processor time that the calling thread has used. */
double gemel__bench_thread_seconds(void);

/* The median of N > 0 numbers, which it sorts. */
double gemel__bench_median(double *x, int n);

/* One of several ways to do the same work. RUN does it once. The race sets BEST, the shortest time
 * in seconds, and RELATIVE, the median over the rounds of its time ÷ that of the first contender.
 */
typedef struct gemel__bench_contender {
  void (*run)(void *state);
  void *state;
  double best, relative;
} gemel__bench_contender;

enum { GEMEL__BENCH_CONTENDERS = 16 };

/* Runs N <= GEMEL__BENCH_CONTENDERS contenders in turns until SECONDS have passed, at least three
 * rounds, each in another order: threads of a library may wait busily after its turn, at the cost
 * of whoever is next. In each round each contender runs once unmeasured, so that it finds threads
 * and caches as it leaves them itself, and then twice measured, by the wall clock; the shorter one
 * counts. Figures of time are the best of all rounds, since a disturbance makes a run longer, never
 * shorter. Who is faster is told by the median: on a machine that is fast at one time and slow at
 * another the best of each would be from different times, while a round is over before much
 * changes. */
void gemel__bench_race(gemel__bench_contender *contenders, size_t n, double seconds);

/* RELATIVE of that among N contenders of a race whose RELATIVE is least. */
double gemel__bench_fastest(const gemel__bench_contender *others, size_t n);

/* ---- A thread with little stack (stack.c) ---- */

/* Runs RUN(STATE) on a thread with a stack of 256 KiB. GEMEL__BAD (said) if there is no such
 * thread.
 */
int gemel__bench_on_small_stack(void *(*run)(void *state), void *state);

/* ---- Suites, one a file. GEMEL__GOOD, or GEMEL__BAD (said) if something failed. ---- */

#define BENCH_DECLARE(name, summary) int gemel__bench_##name(gemel__bench *b);
GEMEL__BENCH_TABLE(BENCH_DECLARE)
#undef BENCH_DECLARE

/* Times calls of the graph in the file at PATH (file.c). */
int gemel__bench_file(gemel__bench *b, const char *path);

#endif
