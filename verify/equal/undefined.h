/* SPDX-License-Identifier: MIT
 *
 * Asks where a pair of graphs is undefined by the format that they come from (pairs/undefined.h):
 * whether the second graph is so at elements where the first isn't, and the other way round.
 */
#ifndef GEMEL__EQUAL_UNDEFINED_H
#define GEMEL__EQUAL_UNDEFINED_H

#include "harness/run.h"
#include "pairs/pair.h"
#include "pairs/undefined.h"

struct gemel__point;

/* What was found. */
typedef struct gemel__undefinedness {
  unsigned words;        /* GEMEL_PAIR_BIT(NARROWS), GEMEL_PAIR_BIT(WIDENS) */
  int unsure;            /* 1: it isn't known whether it narrows */
  gemel__pair pair;      /* if it narrows: both graphs at the sizes of an example, */
  gemel_tensor **values; /* its inputs, NULL: there is no example; */
  char place[160];       /* which element of which output is undefined, */
  char cause[300];       /* and why */
} gemel__undefinedness;

/* Compares the masks U of A and B, a question called NAME. GEMEL_NO_MEMORY. Release FOUND with
 * gemel__undefinedness_clear whatever the status. */
gemel_status gemel__undefined_compare(gemel__run *run, const gemel_graph *a, const gemel_graph *b,
                                      const char *name, const gemel__undefined *u,
                                      gemel__undefinedness *found, gemel_error *error);
void gemel__undefinedness_clear(gemel__undefinedness *found);

/* 1 if an element of an output is undefined at POINT in a graph, or that isn't known. */
int gemel__undefined_some(gemel__run *run, const char *name, const gemel__undefined *u,
                          const struct gemel__point *point);

/* 1 if usual inputs leave enough elements of the outputs defined in both graphs for a comparison to
 * say something. */
int gemel__undefined_leaves_enough(gemel__run *run, const char *name, const gemel__undefined *u);

#endif
