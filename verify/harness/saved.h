/* SPDX-License-Identifier: MIT
 *
 * A saved question: a folder that --replay-dir and --counterexample write, and --replay asks again.
 * It has
 *
 * - first/: a call of the graph, or of the first graph of two, as gemel_dump writes it;
 *   `gemel run FOLDER/first` repeats it, and any reader of NPZ files can read the numbers;
 * - second/: the same for the second graph, if there is one;
 * - question: tier, subject, seed and how it is run, one a line.
 */
#ifndef GEMEL__HARNESS_SAVED_H
#define GEMEL__HARNESS_SAVED_H

#include <gemel/dump.h>
#include "pairs/pair.h"

/* Inputs that refute something: a tensor for each that matters. */
typedef struct gemel__point {
  int taken; /* 1: POINT holds one */
  gemel_tier tier;
  int compared; /* 1: the results of two graphs differ; 0: those of one and its reference */
  size_t n;
  struct {
    const char *name; /* of an input; owned by the context */
    gemel_tensor *tensor;
  } * given;
} gemel__point;

/* POINT = VALUES of the inputs of INSTANCE's graph. GEMEL_NO_MEMORY. */
gemel_status gemel__point_take(gemel__point *point, const gemel__instance *instance,
                               gemel_tensor *const *values, gemel_error *error);
void gemel__point_clear(gemel__point *point);

/* A reference to the tensor of the input called NAME, a graph's own string; NULL if POINT has none.
 */
gemel_tensor *gemel__point_find(const gemel__point *point, const char *name);

/* Writes to FOLDER, which is made if it doesn't exist: RECORD's kind, name and tier, SEED, graph A,
 * graph B if it isn't NULL, and their inputs at POINT. Inputs that POINT doesn't have are zeros.
 * INSTANCE (may be NULL) says how A is run and which values its inputs may have; without it each
 * graph must run, or refuse these values. GEMEL_IO (a question is there already), GEMEL_NO_MEMORY,
 * and what running the graphs reports. */
gemel_status gemel__saved_write(const char *folder, const gemel_record *record, uint64_t seed,
                                const gemel__point *point, const gemel__instance *instance,
                                const gemel_graph *a, const gemel_graph *b, gemel_error *error);

/* GEMEL_IO if gemel__saved_write can't write to FOLDER because a question is there already. */
gemel_status gemel__saved_check(const char *folder, gemel_error *error);

typedef struct gemel__saved {
  char kind[32], name[1000];
  gemel_tier tier;
  uint64_t seed;
  int compared;
  int has_values;               /* 0: a model refuted it without values; the inputs mean nothing */
  gemel_dumped *first, *second; /* SECOND may be NULL */
  gemel__pair pair;             /* instances of both, for FIRST's inputs. B's graph may be NULL */
} gemel__saved;

/* Reads FOLDER. Release SAVED with gemel__saved_clear whatever the status. GEMEL_BAD_FILE (with
 * what is wrong in which file), GEMEL_UNSUPPORTED (the question is about a program's own kernel),
 * and what gemel_dump_load reports. */
gemel_status gemel__saved_read(gemel__saved *saved, gemel_context *context, const char *folder,
                               gemel_error *error);
void gemel__saved_clear(gemel__saved *saved);

#endif
