/* SPDX-License-Identifier: MIT
 *
 * A program's own kernel on trial. Nothing of it is trusted: it is called in a process of its own,
 * on operands between pages that nobody may touch, in many variants (layouts, places in memory,
 * threads), and what it does is looked at by the process that started it.
 *
 *   case.c     an operation with its types, attributes and values, ready to be called
 *   share.c    operands that lie in one piece of memory
 *   memory.c   operands, results and scratch memory between guard pages, in any layout
 *   process.c  a function in a process of its own, with limits
 *   kernel.c   one instance in all variants
 *   offers.c   what it was offered, and what it declined
 *   shrink.c   shorter axes for what refutes it
 *   series.c   many calls on a few states, on two threads too, and leaks
 *
 * Which instances that is done with: operations/verify.c and operations/kernel-extent.c.
 */
#ifndef GEMEL__KERNELS_KERNEL_H
#define GEMEL__KERNELS_KERNEL_H

#include "instances/trial.h"

/* ---- Cases (case.c) ---- */

/* An operation's one application, as a kernel sees it. */
typedef struct gemel__kernel_case {
  const gemel_kernel *kernel;
  const char *operation;
  const gemel_operation *record;
  size_t n_in, n_out, n_attrs;
  gemel__leaf in[GEMEL_SAMPLE_MAX_INPUTS];
  const void *values[GEMEL_SAMPLE_MAX_INPUTS]; /* row-major; borrowed */
  gemel__leaf out[GEMEL_SAMPLE_MAX_INPUTS];
  size_t out_at[GEMEL_SAMPLE_MAX_INPUTS]; /* where results stand in a row of all results */
  size_t out_bytes;                       /* of such a row */
  gemel_attr attrs[GEMEL_SAMPLE_MAX_ATTRS * 2];
  int64_t sizes[512]; /* dims in attributes, evaluated */
  size_t used;
} gemel__kernel_case;

/* Fills in *C; GEMEL_DECLINED if a size is known at run time only. VALUES may be NULL, where the
 * kernel isn't called. */
gemel_status gemel__kernel_case_init(gemel__kernel_case *c, const gemel__instance *instance,
                                     const gemel_kernel *kernel, gemel_tensor *const *values);

/* The results that stand in ROW, as new tensors on that memory, which must outlive them. */
gemel_status gemel__kernel_case_tensors(const gemel__kernel_case *c, char *row,
                                        gemel_tensor **outputs, gemel_error *error);

/* 1 if rows A and B hold the same bits, all NaNs being equal; else the first *OUTPUT and *ELEMENT
 * that differ. */
int gemel__kernel_case_same(const gemel__kernel_case *c, const char *a, const char *b,
                            size_t *output, size_t *element);

/* ---- Variants ---- */

typedef enum gemel__lie {
  GEMEL__LIE_DENSE,     /* row-major */
  GEMEL__LIE_SCATTERED, /* axes in random order, gaps, some axes backwards */
  GEMEL__LIE_BACKWARDS, /* row-major, all strides negative */
  GEMEL__LIE_PERMUTED,  /* column-major */
  GEMEL__LIE_REPEATED,  /* stride 0 along axes along which nothing changes */
  GEMEL__LIE_ROWS,      /* row-major with gaps between rows, as a part of a matrix */
  GEMEL__LIE_COLUMNS,   /* column-major with gaps between columns */
  GEMEL__LIE_CHANNELS,  /* images with their channels last, and results as the operation asks */
  GEMEL__LIE_SHARED,    /* row-major; two operands in one piece of memory, where values allow it */
  GEMEL__LIE_IN_PLACE /* row-major; a result in the memory of the operand that may be overwritten */
} gemel__lie;

typedef enum gemel__at {
  GEMEL__AT_END,   /* the last byte stands before a page that nobody may touch */
  GEMEL__AT_START, /* the first one behind such a page */
  GEMEL__AT_ODD    /* one element beyond a multiple of 64 bytes */
} gemel__at;

/* How a kernel is called. Variants of one GROUP lie alike and ask for `deterministic`: their
 * results must be the same in every bit. */
typedef struct gemel__kernel_variant {
  const char *name;
  gemel__lie lie;
  gemel__at at;
  int threads, deterministic;
  unsigned char garbage; /* what results and scratch memory hold before the call */
  int group;             /* 0: none */
  unsigned versions;     /* bit 1 << input: it has a version */
} gemel__kernel_variant;

#define GEMEL__KERNEL_VARIANTS 22
extern const gemel__kernel_variant gemel__kernel_variants[GEMEL__KERNEL_VARIANTS];

/* Strides in bytes of input K of C in a layout; SEED chooses among those that are random. Returns
 * the bytes from the first to the last element; *OFFSET is where element 0 stands in them. */
size_t gemel__kernel_strides(const gemel__kernel_case *c, size_t k, gemel__lie lie, uint64_t seed,
                             int64_t *strides, size_t *offset);

/* 1 if LIE is another layout than the dense one for some input of C. */
int gemel__kernel_lie_differs(const gemel__kernel_case *c, gemel__lie lie);

/* How input WITH lies in the memory of input OF: by columns, or SHIFT elements behind it. */
typedef struct gemel__sharing {
  size_t of, with, shift;
  int by_columns;
} gemel__sharing;

/* 1 if the values of C allow it: the first such pair (share.c). */
int gemel__kernel_sharing(const gemel__kernel_case *c, gemel__sharing *sharing);

/* 1 + the input in whose memory output 0 may be made, by its operation and its type; 0: none. */
size_t gemel__kernel_in_place(const gemel__kernel_case *c);

/* Strides with axis 1 the smallest, the others row-major around it; or row-major. */
void gemel__kernel_result_strides(const gemel__leaf *leaf, int channels_last, int64_t *strides);

/* "3 threads; x0: f32[3, 4], strides 16 4, …": how variant V calls the kernel. */
void gemel__kernel_describe(const gemel__kernel_case *c, const gemel__kernel_variant *v,
                            uint64_t seed, char *text, size_t bytes);

/* ---- Memory (memory.c) ---- */

/* BYTES bytes of memory with pages around them that nobody may touch. */
typedef struct gemel__block {
  char name[16];
  char *map, *page, *page_end, *data;
  size_t map_bytes, bytes;
  unsigned char garbage;
  int is_input;
} gemel__block;

/* Operands, results and scratch memory of a call. */
typedef struct gemel__kernel_memory {
  gemel__block in[GEMEL_SAMPLE_MAX_INPUTS];
  gemel__block out[GEMEL_SAMPLE_MAX_INPUTS];
  gemel__block scratch;
  char *
      at[GEMEL_SAMPLE_MAX_INPUTS]; /* element 0 of each input, which may have no block of its own */
  size_t in_place;                 /* 1 + the input whose block is that of output 0; 0: none */
} gemel__kernel_memory;

/* A kernel that has been prepared: its state, and the views, shapes, strides and attributes that it
 * sees, which it can't write to. */
typedef struct gemel__kernel_prepared {
  const gemel__kernel_case *c;
  const gemel__kernel_variant *v;
  uint64_t seed;
  gemel_kernel_call call;
  gemel_error error;
  gemel__block prepared, seen;
  uint64_t version[GEMEL_SAMPLE_MAX_INPUTS]; /* of each input, at the next call */
} gemel__kernel_prepared;

/* Asks the kernel to prepare itself; the data pointers are NULL. What it says is returned, in
 * *STATUS; the return value is −1 when memory is out. Release with gemel__kernel_release, whatever
 * *STATUS is. */
int gemel__kernel_prepare(gemel__kernel_prepared *p, const gemel__kernel_case *c,
                          const gemel__kernel_variant *v, uint64_t seed, gemel_status *status);
void gemel__kernel_release(gemel__kernel_prepared *p);

/* Memory for calls of P with VALUES (one for each input, row-major), inputs read-only. 0, or −1
 * when memory is out. */
int gemel__kernel_memory_new(gemel__kernel_memory *m, gemel__kernel_prepared *p,
                             const void *const *values);
void gemel__kernel_memory_free(gemel__kernel_memory *m);

/* Puts other VALUES in the place of those in M. */
void gemel__kernel_memory_fill(gemel__kernel_memory *m, const gemel__kernel_prepared *p,
                               const void *const *values);

/* Calls the kernel on M, with GARBAGE in results and scratch memory. */
gemel_status gemel__kernel_call(gemel__kernel_prepared *p, gemel__kernel_memory *m,
                                unsigned char garbage);

/* NULL if every byte beside results and scratch memory is as it was; else the block. */
const gemel__block *gemel__kernel_memory_spoilt(const gemel__kernel_prepared *p,
                                                const gemel__kernel_memory *m);

/* Copies the results in M into ROW. */
void gemel__kernel_memory_results(const gemel__kernel_prepared *p, const gemel__kernel_memory *m,
                                  char *row);

/* What a signal at ADDRESS means for P and M (either may be NULL). 0 if neither has it. */
int gemel__kernel_memory_explain(const gemel__kernel_prepared *p, const gemel__kernel_memory *m,
                                 const void *address, char *text, size_t bytes);

/* ---- Processes (process.c) ---- */

/* What the process that calls the kernel says of itself, in memory that both see. */
typedef struct gemel__report {
  volatile uint64_t calls; /* begun so far: the other process looks whether they go on */
  volatile uint64_t runs;  /* of these, of the kernel's function run */
  volatile int doing;      /* which variant or phase; the kernel's business */
  volatile int finished;   /* BODY has come to its end */
  volatile int left;       /* exit() was called before that */
  volatile int stage;      /* gemel__stage */
  char fault[110];         /* what a signal's address means; "" */
} gemel__report;

typedef enum gemel__stage {
  GEMEL__STAGE_NONE,
  GEMEL__STAGE_PREPARE,
  GEMEL__STAGE_RUN,
  GEMEL__STAGE_RELEASE
} gemel__stage;

/* How it ended. */
typedef struct gemel__end {
  int good;       /* BODY has come to its end */
  int hung;       /* it took too long */
  char text[160]; /* if it isn't good: why, and in which of the kernel's functions */
} gemel__end;

/* Memory that both processes see, of BYTES bytes, zeroed; NULL when there is none. */
void *gemel__process_memory(size_t bytes);
void gemel__process_memory_free(void *memory, size_t bytes);

/* Calls BODY(USER) in a process of its own, a copy of this one with a thread of its own (or here
 * and now, if IN_PROCESS is 1). No call of the kernel may take more than SECONDS of CPU time, or
 * three times as long without any. GEMEL_NO_MEMORY or GEMEL_UNSUPPORTED: none can be started. */
gemel_status gemel__process_run(void (*body)(void *), void *user, gemel__report *report,
                                double seconds, int in_process, gemel__end *end,
                                gemel_error *error);

/* Says, in the process, what is at hand when a signal comes; NULL: nothing. */
void gemel__process_at(gemel__report *report, const gemel__kernel_prepared *p,
                       const gemel__kernel_memory *m, gemel__stage stage);

/* ---- The trial (kernel.c, series.c) ---- */

enum { GEMEL__KERNEL_REASONS = 4 };

/* Why it declined, in its own words. */
typedef struct gemel__kernel_reasons {
  char text[100];
  size_t count;
} gemel__kernel_reasons;

/* What a kernel was offered in a tier, and took; by dtype and rank of its first operand. */
typedef struct gemel__kernel_offers {
  size_t calls; /* of run */
  size_t offered[GEMEL_DTYPE_COUNT][GEMEL_MAX_RANK + 1],
      taken[GEMEL_DTYPE_COUNT][GEMEL_MAX_RANK + 1];
  size_t asked[GEMEL__KERNEL_VARIANTS], declined[GEMEL__KERNEL_VARIANTS];
  size_t n_reasons;
  gemel__kernel_reasons reasons[GEMEL__KERNEL_REASONS];
} gemel__kernel_offers;

typedef struct gemel__kernel_trial {
  const gemel_kernel *kernel;
  int in_process;
  double seconds;              /* of CPU time that a call may take */
  int hung;                    /* it took longer once: it isn't called again */
  int slow;                    /* an instance took so long that smaller ones aren't looked for */
  int narrowing;               /* a counterexample is being made small */
  gemel__kernel_offers offers; /* in the tier at hand */
  size_t patience;             /* instances that it may still decline before it takes one */
  unsigned few;                /* not 0: that variant and the first alone are tried */
  int fruitless;               /* the tier before this one had none that it takes */
  int only;                    /* while a counterexample is made small: the variant; else −1 */
  gemel_tensor *const *given;  /* not NULL: results to be judged, in place of the kernel's */
  const char *given_as;        /* what they are */
} gemel__kernel_trial;

/* Results of an instance, in the order of variants. */
typedef struct gemel__kernel_results {
  size_t n, n_out;
  const char *names[GEMEL__KERNEL_VARIANTS];
  int variants[GEMEL__KERNEL_VARIANTS];
  gemel_tensor *outputs[GEMEL__KERNEL_VARIANTS][GEMEL_SAMPLE_MAX_INPUTS];
  void *memory;
  size_t memory_bytes;
  uint64_t seed;
  gemel__kernel_case *c;
  gemel__outcome apart; /* refuted: variants that must agree in every bit don't */
} gemel__kernel_results;

/* Runs the kernel of TRIAL in all variants. RESULTS gets those that differ from each other, for the
 * reference to judge. A crash, a call without end, a touch of what isn't its own and an error are
 * in OUTCOME, as a refutation. GEMEL_DECLINED: it takes none of the variants. */
gemel_status gemel__kernel_run(const gemel__instance *instance, gemel__kernel_trial *trial,
                               gemel_tensor *const *values, gemel__random *random,
                               gemel__kernel_results *results, gemel__outcome *outcome,
                               gemel_error *error);
void gemel__kernel_results_clear(gemel__kernel_results *results);

/* Has OUTCOME, which refutes results K, say how the kernel was called. */
void gemel__kernel_say(const gemel__kernel_results *results, size_t k, gemel__outcome *outcome);

/* Makes OUTCOME the refutation that RESULTS->apart is, if it is one. */
void gemel__kernel_hold(const gemel__kernel_results *results, gemel__outcome *outcome);

/* From now on TRIAL is about a smaller counterexample to what OUTCOME says; and no more. */
void gemel__kernel_narrow(gemel__kernel_trial *trial, const gemel__outcome *outcome);
void gemel__kernel_widen(gemel__kernel_trial *trial);

/* Makes the values of a random input the same along a random axis, so that it may have stride 0. */
void gemel__kernel_repeat(const gemel__instance *instance, gemel__random *random,
                          gemel_tensor *const *values);

/* The same for two inputs, so that they may lie in one piece of memory (share.c). */
void gemel__kernel_share(const gemel__instance *instance, gemel__random *random,
                         gemel_tensor *const *values);

/* Makes the axes of INSTANCE, which CHECK refutes, as short as it is still refuted (shrink.c).
 * INSTANCE and VALUES are replaced; OUTCOME is that of the result. Narrows the trial. */
gemel_status gemel__kernel_shrink(gemel__instance *instance, gemel_tensor ***values,
                                  gemel__check check, const gemel__trial *trial,
                                  gemel__outcome *outcome, gemel_error *error);

/* ---- Offers (offers.c) ---- */

/* Notes that an instance was offered, and taken or not; and a reason for declining, which may be
 * "". */
void gemel__kernel_offered(gemel__kernel_offers *offers, const gemel__kernel_case *c, int taken);
void gemel__kernel_reason(gemel__kernel_offers *offers, const char *reason);

/* How many instances were taken. */
size_t gemel__kernel_taken(const gemel__kernel_offers *offers);

/* What was offered, taken and declined, in words. */
void gemel__kernel_offers_text(const gemel__kernel_offers *offers, char *text, size_t bytes);

enum { GEMEL__KERNEL_PROBES = 64 };

/* Asks the kernel of TRIAL, by `prepare` alone and in all variants, which of N cases (at most
 * GEMEL__KERNEL_PROBES, values may be NULL) it takes: *FIRST is the first one, or one that it
 * crashes on, else N. Those before it are noted in the offers. */
gemel_status gemel__kernel_probe(gemel__kernel_trial *trial, const gemel__kernel_case *cases,
                                 size_t n, uint64_t seed, size_t *first, gemel_error *error);

/* ---- Many calls (series.c) ---- */

#define GEMEL__SERIES_CASES 4
#define GEMEL__SERIES_SETS 3

/* An instance with sets of values. The last one is the first with one element changed. */
typedef struct gemel__series_case {
  gemel__instance instance;
  gemel_tensor **values[GEMEL__SERIES_SETS];
} gemel__series_case;

/* Calls the kernel of TRIAL thousands of times on states for N CASES (at most
 * GEMEL__SERIES_CASES). CHECK judges the first results. A refutation is in OUTCOME, and is about
 * the values *SET of case *GUILTY. GEMEL_DECLINED: the kernel takes none of the cases. */
gemel_status gemel__kernel_series(size_t n, gemel__series_case *cases, const gemel__trial *trial,
                                  gemel__check check, size_t *guilty, int *set,
                                  gemel__outcome *outcome, gemel_error *error);

#endif
