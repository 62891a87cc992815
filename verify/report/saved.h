/* SPDX-License-Identifier: MIT
 *
 * A question with its inputs, in a folder: what --replay-dir and --counterexample write, and what
 * --replay asks again. It holds
 *
 * - first/: a call of the graph, or of the first one of two, as gemel_dump writes it, so that
 * `gemel run FOLDER/first` does it and any reader of NPZ files has the numbers;
 * - second/: the same of the second graph; missing where there is one alone;
 * - question: which tier asks, of whom, with which seed and how, a line each.
 */
#ifndef GEMEL__REPORT_SAVED_H
#define GEMEL__REPORT_SAVED_H

#include <gemel/dump.h>
#include "pairs/pair.h"

/* Inputs at which something is refuted: a tensor for each that matters. */
typedef struct gemel__point {
  int taken; /* 1: there is such a point */
  gemel_tier tier;
  int compared; /* 1: the results of two graphs differ; 0: those of one and its reference */
  size_t n;
  struct {
    const char *name; /* of an input; the context's */
    gemel_tensor *tensor;
  } * given;
} gemel__point;

/* POINT becomes VALUES, of the inputs of INSTANCE's graph. GEMEL_NO_MEMORY. */
gemel_status gemel__point_take(gemel__point *point, const gemel__instance *instance,
                               gemel_tensor *const *values, gemel_error *error);
void gemel__point_clear(gemel__point *point);

/* Writes into FOLDER, made if it isn't there, what RECORD says (kind, name and tier; SEED), A, and
 * B if it isn't NULL, at POINT. An input that POINT doesn't have is zeros. INSTANCE (may be NULL)
 * is A's: it says how it is run, and which values its inputs may take; without one, A and B must
 * run. GEMEL_IO (one is there already), what running the graphs reports, GEMEL_NO_MEMORY. */
gemel_status gemel__saved_write(const char *folder, const gemel_record *record, uint64_t seed,
                                const gemel__point *point, const gemel__instance *instance,
                                const gemel_graph *a, const gemel_graph *b, gemel_error *error);

/* GEMEL_IO if gemel__saved_write can't write into FOLDER because one is there. */
gemel_status gemel__saved_check(const char *folder, gemel_error *error);

typedef struct gemel__saved {
  char kind[32], name[1000];
  gemel_tier tier;
  uint64_t seed;
  int compared;
  int has_values;               /* 0: a model refuted without, and the inputs mean nothing */
  gemel_dumped *first, *second; /* SECOND may be NULL */
  gemel__pair pair; /* of both; their values are FIRST's inputs. B's graph may be NULL */
} gemel__saved;

/* Reads FOLDER. Release SAVED with gemel__saved_clear whatever the status. GEMEL_BAD_FILE (what is
 * wrong in which file), GEMEL_UNSUPPORTED (the question is about a program's own kernel), what
 * gemel_dump_load reports. */
gemel_status gemel__saved_read(gemel__saved *saved, gemel_context *context, const char *folder,
                               gemel_error *error);
void gemel__saved_clear(gemel__saved *saved);

#endif
