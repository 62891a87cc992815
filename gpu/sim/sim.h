/* SPDX-License-Identifier: MIT
 *
 * What a test may ask of the sim. Nothing here exists on a GPU.
 *
 * What the sim finds is a report: a kind and a text with file, line, thread and allocation. Reports
 * are printed to stderr as they come, unless gemel__sim_quiet(1), and kept. The same mistake at the
 * same line of the same kernel is one report.
 *
 * A kernel that leaves its memory, diverges or fails an assertion ends there, as on a GPU, and then
 * every call returns the error. After other reports ("race", "uninitialised", "missing wait", some
 * of "warp") everything goes on, but calls that wait for the device return cudaErrorLaunchFailure.
 * This lasts until a test takes the reports by gemel__sim_forget(). For "parameter" the call itself
 * fails. A process that exits with reports that nobody took exits with status 97.
 *
 * All may be called from any thread.
 */
#ifndef GEMEL__SIM_SIM_H
#define GEMEL__SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  GEMEL__SIM_RACE,          /* "race" */
  GEMEL__SIM_BOUNDS,        /* "bounds" */
  GEMEL__SIM_UNINITIALISED, /* "uninitialised" */
  GEMEL__SIM_DIVERGENCE,    /* "divergence" */
  GEMEL__SIM_WARP,          /* "warp" */
  GEMEL__SIM_UNDEFINED,     /* "undefined": division by zero, a shift by too much, assert() */
  GEMEL__SIM_HOST_MEMORY,   /* "host memory" */
  GEMEL__SIM_DEVICE_MEMORY, /* "device memory" */
  GEMEL__SIM_MISSING_WAIT,  /* "missing wait" */
  GEMEL__SIM_PARAMETER,     /* "parameter" */
  GEMEL__SIM_KINDS
} gemel__sim_kind;
const char *gemel__sim_kind_name(gemel__sim_kind kind);

/* How many different reports there are, of all kinds and of one. */
int gemel__sim_reports(void);
int gemel__sim_reports_of(gemel__sim_kind kind);
/* The text of report INDEX, in the order in which they came: "kind: file:line: ...". Belongs to the
   sim, until the reports are forgotten. NULL if there is none. */
const char *gemel__sim_report(int index);
/* Whether a report of this kind holds PART in its text. */
bool gemel__sim_reported(gemel__sim_kind kind, const char *part);
/* Drops the reports, and the device works again. Returns how many there were. */
int gemel__sim_forget(void);
/* Whether reports are only kept, not printed. */
void gemel__sim_quiet(bool quiet);

/* Chooses the order of everything anew: blocks, threads, streams. Without it the seed is that of
   the environment variable GEMEL_SIM_SEED, or 0. */
void gemel__sim_seed(uint64_t seed);

/* Runs FN(DATA). If it touches memory of the device that the host may not touch, it is left where
   it is, by a jump; there is a report, and the result is true. Without this a program ends at such
   an access. FN should call nothing that must not be left. */
bool gemel__sim_caught(void (*fn)(void *data), void *data);

/* What has been done since the start or gemel__sim_count_from_here(). */
typedef struct {
  long kernels;
  long copies_in;  /* from the host to the device */
  long copies_out; /* from the device to the host */
  long copies_on;  /* on the device */
  long memsets;
  long products;     /* calls of cuBLAS */
  long convolutions; /* of cuDNN */
  long sorts;        /* of CUB */
  long factors;      /* of cuSOLVER */
  long waits;        /* of the host for the device */
  long mallocs;
  long graphs; /* launches */
} gemel__sim_counts;
gemel__sim_counts gemel__sim_counted(void);
void gemel__sim_count_from_here(void);

/* What the reads, or the writes, of a launch ask of global memory. A request is an instruction of a
   warp: the k-th access of its lanes at one place of the program. */
typedef struct {
  long requests;
  long bytes;   /* that lanes asked for */
  long sectors; /* of 32 bytes: the different ones of each request, added up */
  long lines;   /* of 128 bytes, likewise */
  long least;   /* bytes that the launch touches, each counted once */
  long far;     /* sectors that the block's L1 didn't have; all that are written */
  long dram;    /* those that L2 didn't have either */
} gemel__sim_traffic;

typedef struct {
  char kernel[64];
  long blocks;
  int threads; /* of a block */
  gemel__sim_traffic reads, writes;
  long atomics; /* updates of lanes, which are writes as well */
  long shared_requests;
  long conflicts; /* how often a bank of shared memory had to be asked again */
  long longest;   /* the requests of the warp that made most, to global memory */
  /* Of the threads whose instructions were counted, one by one, with the processor of this machine:
     how many there were, all that they took, integer divisions among these, of 64 bits or any, and
     calls of the sim's hooks, before each of which there are a few instructions more. */
  long stepped, steps, wide_divisions, divisions, hooks;
  long left_out; /* accesses that weren't counted, for want of memory */
} gemel__sim_cost;

/* Bytes of the caches, of L1 what a block has of it; and how many instructions are counted of a
   launch, or some more, which takes some microseconds each. */
typedef struct {
  size_t l1, l2;
  long steps;
} gemel__sim_watch;

/* Counts what each kernel costs that runs from here on, with WATCH; NULL: counts no more, as
   at first. What was counted before is forgotten by the former only. Blocks run in their order
   meanwhile. */
void gemel__sim_count_costs(const gemel__sim_watch *watch);
/* The kernels that have run since, in their order: *COUNT of them. Belongs to the sim, until the
   next kernel runs. A launch runs when it has been waited for. */
const gemel__sim_cost *gemel__sim_costs(size_t *count);

/* What is there now and has not been freed: to find leaks. */
typedef struct {
  long allocations, bytes, pinned, streams, events, graphs, libraries, handles, programs;
} gemel__sim_alive;
gemel__sim_alive gemel__sim_living(void);

/* How many devices there are, from 1 to 4; at first as many as GEMEL_SIM_DEVICES says, or 2. */
void gemel__sim_devices(int count);
/* How many multiprocessors DEVICE says that it has, 4 at first. */
void gemel__sim_processors(int device, int count);

/* The architectures that NVRTC compiles for, 80 for compute capability 8.0; at first, and with
   NULL, those of CUDA 13. The sim's devices are of 80. LIST isn't copied. */
void gemel__sim_architectures(int count, const int *list);

/* How many bytes cudaMalloc has to give on each device, 1 GiB at first. */
void gemel__sim_memory(size_t bytes);

/* Refuses, from here on, the COUNTth call of CUDA, cuBLAS or NVRTC that may fail for want of memory
   (0 is the next one), once; a negative COUNT: none. Returns whether the last one that was asked
   for was refused. For tests: for (k = 0; ; k++) { refuse(k); run; if (!refuse(-1)) break; } */
bool gemel__sim_refuse(long count);

/* Has the COUNTth call from here on fail with ERROR, one of CUDA's, once; a negative COUNT: none.
   Any call but those that ask for the last error. What frees something, or chooses a device, does
   it all the same; the libraries have codes of their own for it. Returns whether the last one that
   was asked for has failed. */
bool gemel__sim_fail(long count, int error);

#ifdef __cplusplus
}
#endif

#endif
