/* SPDX-License-Identifier: MIT
 *
 * What fuzzing a rewriting asks of one graph.
 */
#ifndef GEMEL__FUZZ_FUZZ_H
#define GEMEL__FUZZ_FUZZ_H

#include <gemel/verify.h>
#include "sample/random.h"

enum { GEMEL__FUZZ_SETS = 64, GEMEL__FUZZ_SPACE = 1 /* of the device that graphs are lifted to */ };

/* The rules, in two guises: for gemel_rewrite's options as a program has them, and as one set a
 * file, to be put in any order. */
typedef struct gemel__fuzz {
  gemel_context *context;
  gemel_fuzz_options options;
  gemel_rules *sets[GEMEL__FUZZ_SETS]; /* gemel's own, a file each, then the program's */
  size_t n_sets;
} gemel__fuzz;

/* What was found wrong, and how it shows. KIND is GEMEL_FUZZ_KIND_COUNT if nothing was. */
typedef struct gemel__fault {
  gemel_fuzz_kind kind;
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
