/* SPDX-License-Identifier: MIT
 *
 * Fuzzing: do the rules together come to an end, and to the same one? That judges gemel and not the
 * work of its users, who have it as `gemel fuzz`.
 */
#ifndef GEMEL__FUZZ_FUZZ_H
#define GEMEL__FUZZ_FUZZ_H

#include <gemel/verify.h>
#include "base/random.h"

/* ---- A run ---- */

/* What is asked of a graph and what the rewriting makes of it. X(enum, name, meaning). */
#define GEMEL__FUZZ_TABLE(X)                                                                       \
  X(FAILS, "fails", "the rewriting ends with an error, or with a graph that isn't well-formed")    \
  X(UNSETTLED, "unsettled", "what was rewritten is changed when it is rewritten once more")        \
  X(ORDER, "order", "another order of the files of rules gives another graph")                     \
  X(DIFFERS, "differs", "a rewrite doesn't hold, or exact results aren't the same")                \
  X(LIFTED, "lifted", "lifted to a device, it gives a wrong result there, or a mistake is found")

typedef enum gemel__fuzz_kind {
#define GEMEL__FUZZ_ENUM(E, name, meaning) GEMEL__FUZZ_##E,
  GEMEL__FUZZ_TABLE(GEMEL__FUZZ_ENUM)
#undef GEMEL__FUZZ_ENUM
      GEMEL__FUZZ_KIND_COUNT
} gemel__fuzz_kind;

/* Name of a kind; NULL out of range. Thread-safe. */
const char *gemel__fuzz_kind_name(gemel__fuzz_kind kind);

/* Something found. Strings are borrowed for the duration of the call that hands it over. */
typedef struct gemel__fuzz_finding {
  gemel__fuzz_kind kind;
  uint64_t seed;
  uint64_t number;    /* of the graph; 0 from gemel__fuzz_graph */
  const char *graph;  /* text of the smallest graph found that shows the same */
  const char *detail; /* how it shows: the error, or what becomes of the graph */
} gemel__fuzz_finding;

typedef void (*gemel__fuzz_sink)(void *user, const gemel__fuzz_finding *finding);

typedef struct gemel__fuzz_options {
  uint64_t seed;
  uint64_t first;    /* number of the first graph: graph K of a seed doesn't depend on the others */
  uint64_t graphs;   /* how many; 0: 1000 */
  uint64_t evaluate; /* the results of every graph whose number it divides are compared; 0: none */
  const gemel_rules *const *rules; /* N_RULES sets of CONTEXT, beside gemel's own */
  size_t n_rules;
  gemel__fuzz_sink sink; /* called for each finding, on the calling thread */
  void *user;
} gemel__fuzz_options;

/* Counts of a run. */
typedef struct gemel__fuzz_summary {
  uint64_t graphs;       /* that were rewritten */
  uint64_t nodes, left;  /* in all, before and after */
  uint64_t evaluated;    /* whose results were compared */
  uint64_t inconclusive; /* of these, those for which that says nothing, or can't be done */
  uint64_t findings[GEMEL__FUZZ_KIND_COUNT];
} gemel__fuzz_summary;

/* Makes random graphs of left sides of rules and other operations, applied to each other's
 * results, and rewrites each with all rules: it must come to an end; what comes out must stay as it
 * is when it is rewritten again; the files of rules in another order must give the same graph, node
 * for node; and, where OPTIONS->evaluate says so, every application must be certified
 * (gemel_certify_enable is called for CONTEXT) and the results must be the same where everything is
 * exact. Where CONTEXT has a device in memory space 1, every graph is lifted to it by each
 * strategy, as it is or as it was rewritten, and computed there: the results must be what
 * references say, exactly or within the bounds that they give, and where both do the same
 * arithmetic in the same order what the host has, bit for bit. What is found goes to the sink,
 * shrunk; the return value is about the run itself: GEMEL_NO_MEMORY, GEMEL_BAD_ARGUMENT. SUMMARY
 * (may be NULL) is added to. Thread-safe for different contexts. */
gemel_status gemel__fuzz_graphs(gemel_context *context, const gemel__fuzz_options *options,
                                gemel__fuzz_summary *summary, gemel_error *error);

/* Asks the same of GRAPH; its results are compared if OPTIONS->evaluate isn't 0. */
gemel_status gemel__fuzz_graph(const gemel_graph *graph, const gemel__fuzz_options *options,
                               gemel__fuzz_summary *summary, gemel_error *error);

/* ---- One graph ---- */

enum { GEMEL__FUZZ_SETS = 64, GEMEL__FUZZ_SPACE = 1 /* of the device that graphs are lifted to */ };

/* The rules, in two guises: for gemel_rewrite's options as a program has them, and as one set a
 * file, to be put in any order. */
typedef struct gemel__fuzz {
  gemel_context *context;
  gemel__fuzz_options options;
  gemel_rules *sets[GEMEL__FUZZ_SETS]; /* gemel's own, a file each, then the program's */
  size_t n_sets;
} gemel__fuzz;

/* What was found wrong, and how it shows. KIND is GEMEL__FUZZ_KIND_COUNT if nothing was. */
typedef struct gemel__fault {
  gemel__fuzz_kind kind;
  size_t left; /* nodes of the rewritten graph */
  char detail[2000];
} gemel__fault;

/* Asks all questions that ASKED has bits (1 << kind) of, until one finds something. The same SEED
 * gives the same answer. GEMEL_NO_MEMORY. */
gemel_status gemel__fuzz_check(const gemel__fuzz *fuzz, const gemel_graph *graph, unsigned asked,
                               uint64_t seed, gemel__fault *fault, gemel_error *error);

/* Computes GRAPH, lifted by each strategy, on the device: FAULT says what is wrong there
 * (lifted.c). GEMEL_NO_MEMORY; GEMEL_UNSUPPORTED: nothing can be said. */
gemel_status gemel__fuzz_lifted(const gemel_graph *graph, uint64_t seed, gemel__fault *fault,
                                gemel_error *error);

/* A graph as small as one was found in which the same question as FAULT's finds something; FAULT
 * becomes that. NULL: GEMEL_NO_MEMORY. */
gemel_graph *gemel__fuzz_shrink(const gemel__fuzz *fuzz, const gemel_graph *graph, uint64_t seed,
                                gemel__fault *fault, gemel_error *error);

#endif
