/* SPDX-License-Identifier: MIT
 *
 * Remembers which parts of two graphs have been asked about, with the answers: a layer that a
 * network repeats is asked about once. Two parts are the same question only if their graphs are the
 * same node for node, since an answer counts as a proof. The hash only finds candidates.
 */
#ifndef GEMEL__EQUAL_ASKED_H
#define GEMEL__EQUAL_ASKED_H

#include "core/context.h"
#include "pairs/joint.h"

typedef struct gemel__asked_part {
  gemel_graph *a, *b; /* frozen copies, with no spare capacity */
  uint64_t hash;
  int passed;
} gemel__asked_part;

/* Begins as zeros. All parts are of one context, which must outlive it. */
typedef struct gemel__asked {
  gemel__asked_part *parts;
  size_t n, capacity;
  size_t passed; /* how many of them passed */
  gemel__idtable known;
} gemel__asked;

uint64_t gemel__asked_hash(const gemel__part_graphs *part);

/* The answer to the same question: 1 if it passed, 0 if not; −1 if it is new. HASH is
 * gemel__asked_hash(part). */
int gemel__asked_answer(const gemel__asked *asked, const gemel__part_graphs *part, uint64_t hash);

/* Remembers the answer to a new question. Returns 0, or −1 when memory is out. */
int gemel__asked_keep(gemel__asked *asked, const gemel__part_graphs *part, uint64_t hash,
                      int passed);

void gemel__asked_clear(gemel__asked *asked);

#endif
