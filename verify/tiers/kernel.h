/* SPDX-License-Identifier: MIT
 *
 * A program's own kernel on trial. A child process calls it, on operands between pages that can't
 * be touched, in many variants (layouts, places in memory, threads). The process that started the
 * child judges the results.
 *
 *   kernel-case.c     an operation with its types, attributes and values, ready to be called
 *   kernel-share.c    operands that overlap in memory
 *   kernel-memory.c   operands, results and scratch memory between guard pages, in any layout
 *   kernel-process.c  a function in a process of its own, with limits
 *   kernel.c          one instance in all variants
 *   kernel-offers.c   what the kernel was offered, and what it declined
 *   kernel-shrink.c   shortens the axes of a counterexample
 *   kernel-series.c   many calls on a few states, on two threads too, and leaks
 *
 * operations/verify.c and operations/kernel-extent.c draw the instances.
 */
#ifndef GEMEL__TIERS_KERNEL_H
#define GEMEL__TIERS_KERNEL_H

#include "instances/trial.h"

/* ---- Cases (kernel-case.c) ---- */

/* One application of an operation, as a kernel sees it. */
typedef struct gemel__kernel_case {
  const gemel_kernel *kernel;
  const char *operation;
  const gemel_operation *record;
  size_t n_in, n_out, n_attrs;
  gemel__leaf in[GEMEL_SAMPLE_MAX_INPUTS];
  const void *values[GEMEL_SAMPLE_MAX_INPUTS]; /* row-major; borrowed */
  gemel__leaf out[GEMEL_SAMPLE_MAX_INPUTS];
  /* byte offset of each result in a row of all results */
  size_t out_at[GEMEL_SAMPLE_MAX_INPUTS];
  size_t out_bytes; /* size of such a row */
  gemel_attr attrs[GEMEL_SAMPLE_MAX_ATTRS * 2];
  int64_t sizes[512]; /* dims in attributes, evaluated */
  size_t used;
} gemel__kernel_case;

/* Fills in *C. VALUES may be NULL if only `prepare` is called. GEMEL_DECLINED: a size is known at
 * run time only. */
gemel_status gemel__kernel_case_init(gemel__kernel_case *c, const gemel__instance *instance,
                                     const gemel_kernel *kernel, gemel_tensor *const *values);

/* OUTPUTS = tensors of the results in ROW. They use ROW's memory, which must outlive them. */
gemel_status gemel__kernel_case_tensors(const gemel__kernel_case *c, char *row,
                                        gemel_tensor **outputs, gemel_error *error);

/* 1 if rows A and B hold the same bits (all NaNs being equal); else 0, and *OUTPUT and *ELEMENT are
 * the first that differ. */
int gemel__kernel_case_same(const gemel__kernel_case *c, const char *a, const char *b,
                            size_t *output, size_t *element);

/* ---- Variants ---- */

typedef enum gemel__lie {
  GEMEL__LIE_DENSE,     /* row-major */
  GEMEL__LIE_SCATTERED, /* axes in random order, gaps, some axes backwards */
  GEMEL__LIE_BACKWARDS, /* row-major, all strides negative */
  GEMEL__LIE_PERMUTED,  /* column-major */
  GEMEL__LIE_REPEATED,  /* stride 0 along axes along which values repeat */
  GEMEL__LIE_ROWS,      /* row-major with gaps between rows, as a slice of a matrix */
  GEMEL__LIE_COLUMNS,   /* column-major with gaps between columns */
  GEMEL__LIE_CHANNELS,  /* images with their channels last, and results as the operation asks */
  GEMEL__LIE_SHARED,    /* row-major; two operands that overlap in memory, where values allow it */
  /* row-major; result 0 in the memory of the operand that may be overwritten */
  GEMEL__LIE_IN_PLACE
} gemel__lie;

typedef enum gemel__at {
  GEMEL__AT_END,   /* the last byte is before a guard page */
  GEMEL__AT_START, /* the first byte is behind a guard page */
  GEMEL__AT_ODD    /* starts one element behind a multiple of 64 bytes */
} gemel__at;

/* How a kernel is called. Variants of one GROUP (not 0) have the same layout and ask for
 * `deterministic`: their results must agree in every bit. */
typedef struct gemel__kernel_variant {
  const char *name;
  gemel__lie lie;
  gemel__at at;
  int threads, deterministic;
  unsigned char garbage; /* byte that fills results and scratch memory before the call */
  int group;             /* 0: none */
  unsigned versions;     /* bit 1 << input: the input has a version */
} gemel__kernel_variant;

#define GEMEL__KERNEL_VARIANTS 22
extern const gemel__kernel_variant gemel__kernel_variants[GEMEL__KERNEL_VARIANTS];

/* STRIDES = those of input K in layout LIE, in bytes. SEED chooses where the layout is random.
 * Returns the bytes from the first to the last element; *OFFSET is that of element 0 in them. */
size_t gemel__kernel_strides(const gemel__kernel_case *c, size_t k, gemel__lie lie, uint64_t seed,
                             int64_t *strides, size_t *offset);

/* 1 if LIE is the dense layout, or gives some operand of C other strides or another place. */
int gemel__kernel_lie_differs(const gemel__kernel_case *c, gemel__lie lie);

/* How input WITH lies in the memory of input OF: column-major, or SHIFT elements behind its start.
 */
typedef struct gemel__sharing {
  size_t of, with, shift;
  int by_columns;
} gemel__sharing;

/* 1 if the values of C allow two inputs to overlap: *SHARING is the first such pair
 * (kernel-share.c). */
int gemel__kernel_sharing(const gemel__kernel_case *c, gemel__sharing *sharing);

/* 1 + the input whose memory output 0 may overwrite, by the operation's record and its type; 0:
 * none. */
size_t gemel__kernel_in_place(const gemel__kernel_case *c);

/* STRIDES of a result, in bytes: row-major or, CHANNELS_LAST, with axis 1 innermost. */
void gemel__kernel_result_strides(const gemel__leaf *leaf, int channels_last, int64_t *strides);

/* Writes how a variant calls the kernel: "3 threads; x0: f32[3, 4], strides 16 4, …". */
void gemel__kernel_describe(const gemel__kernel_case *c, const gemel__kernel_variant *v,
                            uint64_t seed, char *text, size_t bytes);

/* Writes what C is an application of, row-major: "x0: f32[3, 4], strides 16 4; axis = 1". */
void gemel__kernel_case_text(const gemel__kernel_case *c, char *text, size_t bytes);

/* ---- Memory (kernel-memory.c) ---- */

/* BYTES bytes of memory between two guard pages, which can't be touched. */
typedef struct gemel__block {
  char name[16];
  char *map, *page, *page_end, *data;
  size_t map_bytes, bytes;
  unsigned char garbage;
  int is_input;
} gemel__block;

/* Operands, results and scratch memory for calls. */
typedef struct gemel__kernel_memory {
  gemel__block in[GEMEL_SAMPLE_MAX_INPUTS];
  gemel__block out[GEMEL_SAMPLE_MAX_INPUTS];
  gemel__block scratch;
  char *
      /* element 0 of each input; one that overlaps another has no block */
      at[GEMEL_SAMPLE_MAX_INPUTS];
  size_t in_place; /* 1 + the input whose block output 0 uses; 0: none */
} gemel__kernel_memory;

/* A prepared kernel: its state, and what it is shown (views, shapes, strides, attributes), which is
 * read-only. */
typedef struct gemel__kernel_prepared {
  const gemel__kernel_case *c;
  const gemel__kernel_variant *v;
  uint64_t seed;
  gemel_kernel_call call;
  gemel_error error;
  gemel__block prepared, seen;
  uint64_t version[GEMEL_SAMPLE_MAX_INPUTS]; /* of each input, for the next call */
} gemel__kernel_prepared;

/* Calls the kernel's `prepare`, with NULL data pointers; *STATUS is what it returns. Returns −1
 * when memory is out. Release with gemel__kernel_release, whatever *STATUS is. */
int gemel__kernel_prepare(gemel__kernel_prepared *p, const gemel__kernel_case *c,
                          const gemel__kernel_variant *v, uint64_t seed, gemel_status *status);
void gemel__kernel_release(gemel__kernel_prepared *p);

/* Makes memory for calls of P on VALUES (row-major, one for each input), inputs read-only. 0, or −1
 * when memory is out. */
int gemel__kernel_memory_new(gemel__kernel_memory *m, gemel__kernel_prepared *p,
                             const void *const *values);
void gemel__kernel_memory_free(gemel__kernel_memory *m);

/* Replaces the values in M by VALUES. */
void gemel__kernel_memory_fill(gemel__kernel_memory *m, const gemel__kernel_prepared *p,
                               const void *const *values);

/* Calls the kernel on M, after filling results and scratch memory with GARBAGE. */
gemel_status gemel__kernel_call(gemel__kernel_prepared *p, gemel__kernel_memory *m,
                                unsigned char garbage);

/* NULL if every byte of M beside results and scratch memory is unchanged; else the block in which
 * one isn't. */
const gemel__block *gemel__kernel_memory_spoilt(const gemel__kernel_prepared *p,
                                                const gemel__kernel_memory *m);

/* Copies the results in M into ROW. */
void gemel__kernel_memory_results(const gemel__kernel_prepared *p, const gemel__kernel_memory *m,
                                  char *row);

/* Describes the ADDRESS of a signal, such as "0 bytes behind the end of y0". P and M may be NULL. 0
 * if it belongs to neither. */
int gemel__kernel_memory_explain(const gemel__kernel_prepared *p, const gemel__kernel_memory *m,
                                 const void *address, char *text, size_t bytes);

/* ---- Processes (kernel-process.c) ---- */

/* The child's report on itself, in memory that both processes share. */
typedef struct gemel__report {
  volatile uint64_t calls; /* calls begun; the parent watches whether the number grows */
  volatile uint64_t runs;  /* of these, calls of `run` */
  volatile int doing;      /* number of the variant or phase, for the caller's use */
  volatile int finished;   /* the body has returned */
  volatile int left;       /* exit() was called before that */
  volatile int stage;      /* gemel__stage */
  char fault[110];         /* description of a signal's address, or "" */
} gemel__report;

typedef enum gemel__stage {
  GEMEL__STAGE_NONE,
  GEMEL__STAGE_PREPARE,
  GEMEL__STAGE_RUN,
  GEMEL__STAGE_RELEASE
} gemel__stage;

/* How the child ended. */
typedef struct gemel__end {
  int good;       /* 1: the body returned */
  int hung;       /* 1: a call took too long */
  char text[160]; /* if not good: why, and in which of the kernel's functions */
} gemel__end;

/* BYTES zeroed bytes that a child process shares; NULL when memory is out. */
void *gemel__process_memory(size_t bytes);
void gemel__process_memory_free(void *memory, size_t bytes);

/* Calls BODY(USER) in a child process, a copy of this one, on a new thread of it; IN_PROCESS: in
 * this process. A call of the kernel may take SECONDS of CPU time, or wait three times as long
 * without using any; then the child is killed. GEMEL_NO_MEMORY or GEMEL_UNSUPPORTED: no child can
 * be started. */
gemel_status gemel__process_run(void (*body)(void *), void *user, gemel__report *report,
                                double seconds, int in_process, gemel__end *end,
                                gemel_error *error);

/* Tells, in the child, which stage begins and what is in use, for the handlers of signals. P and M
 * may be NULL. */
void gemel__process_at(gemel__report *report, const gemel__kernel_prepared *p,
                       const gemel__kernel_memory *m, gemel__stage stage);

/* ---- The trial (kernel.c, kernel-series.c) ---- */

enum { GEMEL__KERNEL_REASONS = 4 };

/* A reason for declining, in the kernel's words, and how often it was given. */
typedef struct gemel__kernel_reasons {
  char text[100];
  size_t count;
} gemel__kernel_reasons;

/* Declined instances that are shown, and how long each may be. */
enum { GEMEL__KERNEL_SHOWN = 3, GEMEL__KERNEL_SHOWN_BYTES = 200 };

/* What a kernel was offered in a tier and what it took, by dtype and rank of its first operand. */
typedef struct gemel__kernel_offers {
  size_t calls; /* of run */
  size_t offered[GEMEL_DTYPE_COUNT][GEMEL_MAX_RANK + 1],
      taken[GEMEL_DTYPE_COUNT][GEMEL_MAX_RANK + 1];
  size_t asked[GEMEL__KERNEL_VARIANTS], declined[GEMEL__KERNEL_VARIANTS];
  size_t n_reasons;
  gemel__kernel_reasons reasons[GEMEL__KERNEL_REASONS];
  size_t n_shown; /* declined instances, of different dtypes or ranks: types, strides, attributes */
  struct {
    gemel_dtype dtype;
    int rank;
    char text[GEMEL__KERNEL_SHOWN_BYTES];
  } shown[GEMEL__KERNEL_SHOWN];
} gemel__kernel_offers;

typedef struct gemel__kernel_trial {
  const gemel_kernel *kernel;
  unsigned allow; /* what it may give up (allowed.h) */
  int in_process;
  double seconds;              /* CPU seconds that a call may take */
  int hung;                    /* a call took longer: the kernel isn't called any more */
  int slow;                    /* an instance took so long that its counterexample isn't shrunk */
  int narrowing;               /* a counterexample is being shrunk */
  gemel__kernel_offers offers; /* in the tier at hand */
  size_t patience;             /* how many more instances it may decline as long as it takes none */
  unsigned few;                /* not 0: only this variant and the first are tried */
  int fruitless;               /* it took no instance in the tier before */
  int only;                    /* while shrinking: the refuted variant; else −1 */
  gemel_tensor *const *given;  /* not NULL: results to be judged, in place of the kernel's */
  const char *given_as;        /* how these are named in a refutation */
} gemel__kernel_trial;

/* The differing results of an instance, in the order of variants. */
typedef struct gemel__kernel_results {
  size_t n, n_out;
  const char *names[GEMEL__KERNEL_VARIANTS];
  int variants[GEMEL__KERNEL_VARIANTS];
  gemel_tensor *outputs[GEMEL__KERNEL_VARIANTS][GEMEL_SAMPLE_MAX_INPUTS];
  void *memory;
  size_t memory_bytes;
  uint64_t seed;
  gemel__kernel_case *c;
  gemel__outcome apart; /* a refutation if variants of a group differ in a bit */
} gemel__kernel_results;

/* Runs the kernel of TRIAL in all variants. RESULTS gets the results that differ from each other,
 * for the reference to judge. A crash, a call that doesn't end, a write outside its results and an
 * error are refutations, in OUTCOME. GEMEL_DECLINED: it takes none of the variants. */
gemel_status gemel__kernel_run(const gemel__instance *instance, gemel__kernel_trial *trial,
                               gemel_tensor *const *values, gemel__random *random,
                               gemel__kernel_results *results, gemel__outcome *outcome,
                               gemel_error *error);
void gemel__kernel_results_clear(gemel__kernel_results *results);

/* Describes in OUTCOME how the kernel was called for results K. */
void gemel__kernel_say(const gemel__kernel_results *results, size_t k, gemel__outcome *outcome);

/* Copies RESULTS->apart to OUTCOME if it is a refutation. */
void gemel__kernel_hold(const gemel__kernel_results *results, gemel__outcome *outcome);

/* While a counterexample is shrunk, only the variant that OUTCOME refutes is tried;
 * gemel__kernel_widen ends that. */
void gemel__kernel_narrow(gemel__kernel_trial *trial, const gemel__outcome *outcome);
void gemel__kernel_widen(gemel__kernel_trial *trial);

/* Makes the values of a random input repeat along a random axis, so that its stride may be 0. */
void gemel__kernel_repeat(const gemel__instance *instance, gemel__random *random,
                          gemel_tensor *const *values);

/* Makes the values of two inputs such that they may overlap in memory (kernel-share.c). */
void gemel__kernel_share(const gemel__instance *instance, gemel__random *random,
                         gemel_tensor *const *values);

/* Shortens the axes of INSTANCE, which CHECK refutes, as long as it stays refuted
 * (kernel-shrink.c). Replaces INSTANCE and VALUES; OUTCOME is that of the smaller instance. Narrows
 * the trial. */
gemel_status gemel__kernel_shrink(gemel__instance *instance, gemel_tensor ***values,
                                  gemel__check check, const gemel__trial *trial,
                                  gemel__outcome *outcome, gemel_error *error);

/* ---- Offers (kernel-offers.c) ---- */

/* Notes that an instance was offered and whether it was TAKEN; and a reason for declining, which
 * may be "". */
void gemel__kernel_offered(gemel__kernel_offers *offers, const gemel__kernel_case *c, int taken);
void gemel__kernel_reason(gemel__kernel_offers *offers, const char *reason);

/* The number of instances taken. */
size_t gemel__kernel_taken(const gemel__kernel_offers *offers);

/* Writes what was offered, taken and declined; where more than half was declined, with examples. */
void gemel__kernel_offers_text(const gemel__kernel_offers *offers, char *text, size_t bytes);

enum { GEMEL__KERNEL_PROBES = 64 };

/* Shows N cases (at most GEMEL__KERNEL_PROBES; values may be NULL) to the kernel's `prepare` in all
 * variants, in one child process. *FIRST is the first case that it takes or doesn't return from,
 * else N. Cases before it are noted as declined. */
gemel_status gemel__kernel_probe(gemel__kernel_trial *trial, const gemel__kernel_case *cases,
                                 size_t n, uint64_t seed, size_t *first, gemel_error *error);

/* ---- Many calls (kernel-series.c) ---- */

#define GEMEL__SERIES_CASES 4
#define GEMEL__SERIES_SETS 3

/* An instance with three sets of values. The last set is the first with one element changed. */
typedef struct gemel__series_case {
  gemel__instance instance;
  gemel_tensor **values[GEMEL__SERIES_SETS];
} gemel__series_case;

/* Calls the kernel of TRIAL thousands of times on states for N CASES (at most GEMEL__SERIES_CASES).
 * CHECK judges the first result of each set. A refutation is in OUTCOME; it concerns values *SET of
 * case *GUILTY. GEMEL_DECLINED: the kernel takes none of the cases. */
gemel_status gemel__kernel_series(size_t n, gemel__series_case *cases, const gemel__trial *trial,
                                  gemel__check check, size_t *guilty, int *set,
                                  gemel__outcome *outcome, gemel_error *error);

#endif
