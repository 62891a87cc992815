/* SPDX-License-Identifier: MIT
 *
 * Fuzzing: does rewriting by all rules end, always with the same graph, and keep results? It judges
 * gemel's rules and a program's; users run it as `gemel fuzz`.
 */
#ifndef GEMEL__RULES_FUZZ_H
#define GEMEL__RULES_FUZZ_H

#include <gemel/verify.h>
#include "base/random.h"

/* ---- A run ---- */

/* What is checked of a graph and its rewriting. X(enum, name, what a finding means). */
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

/* A finding. Strings are borrowed for the duration of the sink's call. */
typedef struct gemel__fuzz_finding {
  gemel__fuzz_kind kind;
  uint64_t seed;
  uint64_t number;    /* number of the random graph; 0 from gemel__fuzz_graph */
  const char *graph;  /* text of the smallest graph that was found to show it */
  const char *detail; /* the error, or what becomes of the graph */
} gemel__fuzz_finding;

typedef void (*gemel__fuzz_sink)(void *user, const gemel__fuzz_finding *finding);

typedef struct gemel__fuzz_options {
  uint64_t seed;
  uint64_t first;  /* number of the first graph: graph K of a seed doesn't depend on the others */
  uint64_t graphs; /* how many graphs; 0: 1000 */
  /* results are compared for graphs whose number is a multiple of this; 0: for none */
  uint64_t evaluate;
  const gemel_rules *const *rules; /* N_RULES sets of CONTEXT, besides gemel's own */
  size_t n_rules;
  gemel__fuzz_sink sink; /* called for each finding, on the calling thread */
  void *user;
} gemel__fuzz_options;

/* Counts of a run. */
typedef struct gemel__fuzz_summary {
  uint64_t graphs;       /* rewritten graphs */
  uint64_t nodes, left;  /* total nodes before and after */
  uint64_t evaluated;    /* graphs whose results were compared */
  uint64_t inconclusive; /* of these, graphs for which nothing could be said */
  uint64_t findings[GEMEL__FUZZ_KIND_COUNT];
} gemel__fuzz_summary;

/* Makes random graphs of left sides of rules and other operations, applied to each other's results,
 * and rewrites each by all rules. It is checked that the rewriting ends; that the result stays the
 * same when it is rewritten again; and that another order of the files of rules gives the same
 * graph, node for node.
 *
 * Where OPTIONS->evaluate says so, every application of a rule is certified (gemel_certify_enable
 * is called for CONTEXT), and results must be the same where everything is exact. Where CONTEXT has
 * a device in memory space 1, every graph is lifted to it by each strategy, before or after
 * rewriting, and computed there. The results must be those of references, exactly or within bounds,
 * and those of the host, bit for bit, where both do the same arithmetic in the same order.
 *
 * Findings are shrunk and passed to the sink. Errors are of the run itself: GEMEL_NO_MEMORY,
 * GEMEL_BAD_ARGUMENT. SUMMARY (may be NULL) is added to. Thread-safe for different contexts. */
gemel_status gemel__fuzz_graphs(gemel_context *context, const gemel__fuzz_options *options,
                                gemel__fuzz_summary *summary, gemel_error *error);

/* Checks GRAPH in the same way. Results are compared if OPTIONS->evaluate isn't 0. */
gemel_status gemel__fuzz_graph(const gemel_graph *graph, const gemel__fuzz_options *options,
                               gemel__fuzz_summary *summary, gemel_error *error);

/* ---- One graph ---- */

enum { GEMEL__FUZZ_SETS = 64, GEMEL__FUZZ_SPACE = 1 /* memory space of the device */ };

/* The rules in two forms: as gemel_rewrite's options, and as sets, one for each file, to be put in
 * any order. */
typedef struct gemel__fuzz {
  gemel_context *context;
  gemel__fuzz_options options;
  gemel_rules *sets[GEMEL__FUZZ_SETS]; /* gemel's own, a file each, then the program's */
  size_t n_sets;
} gemel__fuzz;

/* What was found wrong, with details. KIND is GEMEL__FUZZ_KIND_COUNT if nothing was. */
typedef struct gemel__fault {
  gemel__fuzz_kind kind;
  size_t left; /* nodes of the rewritten graph */
  char detail[2000];
} gemel__fault;

/* Makes the checks whose bits (1 << kind) are in ASKED, until one finds something. The same SEED
 * gives the same answer. GEMEL_NO_MEMORY. */
gemel_status gemel__fuzz_check(const gemel__fuzz *fuzz, const gemel_graph *graph, unsigned asked,
                               uint64_t seed, gemel__fault *fault, gemel_error *error);

/* Computes GRAPH, lifted by each strategy, on the device (fuzz-lifted.c), and notes what is wrong.
 * GEMEL_NO_MEMORY; GEMEL_UNSUPPORTED: nothing can be said. */
gemel_status gemel__fuzz_lifted(const gemel_graph *graph, uint64_t seed, gemel__fault *fault,
                                gemel_error *error);

/* Returns a small graph in which the check that found *fault still finds something, which *fault
 * becomes. NULL: GEMEL_NO_MEMORY. */
gemel_graph *gemel__fuzz_shrink(const gemel__fuzz *fuzz, const gemel_graph *graph, uint64_t seed,
                                gemel__fault *fault, gemel_error *error);

#endif
