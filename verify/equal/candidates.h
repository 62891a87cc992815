/* SPDX-License-Identifier: MIT
 *
 * Guesses which values of two graphs may be equal: those that agree when the shipped code runs
 * both. A wrong guess costs time only, as each is proved afterwards.
 */
#ifndef GEMEL__EQUAL_CANDIDATES_H
#define GEMEL__EQUAL_CANDIDATES_H

#include "pairs/joint.h"
#include "base/random.h"

enum { GEMEL__DIGEST_RUNS = 2 };

/* A digest of a value: for each run the sum of its elements with pseudo-random weights, and that of
 * their magnitudes with the same weights. */
typedef struct gemel__digest {
  uint32_t node;
  gemel_type type;
  double sum[GEMEL__DIGEST_RUNS], scale[GEMEL__DIGEST_RUNS]; /* SCALE[0] 0: there is no digest */
  int first;                                                 /* the first graph has it */
} gemel__digest;

typedef struct gemel__candidates {
  gemel__digest *of;     /* a digest a node */
  gemel__digest *sorted; /* digests of the first graph's nodes, by type and sum */
  size_t n, n_sorted;
} gemel__candidates;

/* Runs all of JOINT's values, at sizes and inputs drawn from RANDOM as for the pair A and B. If
 * they can't be run, all digests are empty. GEMEL_NO_MEMORY. Release with
 * gemel__candidates_clear. */
gemel_status gemel__candidates_make(gemel__candidates *candidates, gemel__joint *joint,
                                    const gemel_graph *a, const gemel_graph *b,
                                    gemel__random *random, gemel_error *error);
void gemel__candidates_clear(gemel__candidates *candidates);

/* 1 if the digests agree, 0 if not, −1 if one is empty. */
int gemel__digests_agree(const gemel__digest *x, const gemel__digest *y);

/* Nodes of the first graph whose digests agree with NODE's, at most ROOM: first those that follow
 * ANCHOR, a node of the first graph, then the one with the nearest sum. (In a deep graph that
 * converges to a fixed point, thousands of nodes have the same value.) */
size_t gemel__candidates_for(const gemel__candidates *candidates, uint32_t node, uint32_t anchor,
                             uint32_t *nodes, size_t room);

#endif
