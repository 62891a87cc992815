/* SPDX-License-Identifier: MIT
 *
 * Which values of two graphs may be equal: those that come out alike when the shipped code runs
 * both once. A guess that costs little, for proofs to be tried on; nothing rests on it.
 */
#ifndef GEMEL__EQUAL_CANDIDATES_H
#define GEMEL__EQUAL_CANDIDATES_H

#include "pairs/joint.h"
#include "base/random.h"

enum { GEMEL__DIGEST_RUNS = 2 };

/* A value in short, at the inputs of each run: a sum of its elements with random weights, and of
 * their magnitudes. */
typedef struct gemel__digest {
  uint32_t node;
  gemel_type type;
  double sum[GEMEL__DIGEST_RUNS], scale[GEMEL__DIGEST_RUNS]; /* SCALE[0] 0: nothing is known */
  int first;                                                 /* the first graph has it */
} gemel__digest;

typedef struct gemel__candidates {
  gemel__digest *of;     /* a node each */
  gemel__digest *sorted; /* by type and sum: nodes of the first graph with a digest */
  size_t n, n_sorted;
} gemel__candidates;

/* Runs all of JOINT's values, at sizes and inputs drawn from RANDOM as for the pair A and B.
 * What can't be run leaves all digests empty. GEMEL_NO_MEMORY. Release with
 * gemel__candidates_clear. */
gemel_status gemel__candidates_make(gemel__candidates *candidates, gemel__joint *joint,
                                    const gemel_graph *a, const gemel_graph *b,
                                    gemel__random *random, gemel_error *error);
void gemel__candidates_clear(gemel__candidates *candidates);

/* 1 if both are known and alike, 0 if both are known and not, else −1. */
int gemel__digests_agree(const gemel__digest *x, const gemel__digest *y);

/* Nodes of the first graph whose values are like NODE's, at most ROOM: those that come next behind
 * ANCHOR, a node of the first graph, then those of the nearest values. (In a deep graph that comes
 * to a fixed point, thousands have one value.) */
size_t gemel__candidates_for(const gemel__candidates *candidates, uint32_t node, uint32_t anchor,
                             uint32_t *nodes, size_t room);

#endif
