/* SPDX-License-Identifier: MIT
 *
 * Where decisions are taken. A site is a node of a side's graph at which domain O decided a sign or
 * a floor. It is undecided if it may go either way, as far as intervals tell: leaves that are all
 * the numbers of one sign or another don't prove it. If such a site went one way only at every
 * point that was tried, nothing is known of the other branch, whatever the results were.
 */
#ifndef GEMEL__MODELS_SITES_H
#define GEMEL__MODELS_SITES_H

#include <gemel/graph.h>
#include "domains/domain.h"

typedef struct gemel__site {
  const gemel_graph *graph; /* of the side at hand; NULL once sites of several questions merged */
  uint32_t node;
  int side;          /* 0 left, 1 right */
  int role;          /* which of the side's graphs, in the order in which they were met */
  int boolean;       /* an operand is of dtype bool: its zero is a way of its own */
  int truth;         /* the result is of dtype bool: which way it goes shows where it is used */
  unsigned possible; /* over all numbers of given signs: bit s + 1 for each sign s */
  unsigned seen;     /* at points: bit s + 1 for each sign s */
  int floors;        /* 1: floors are undecided here too */
  int64_t first;     /* the first decision at a point */
  int differs;       /* another decision than that was seen */
  char label[40];    /* "relu 2": the second relu of its graph */
} gemel__site;

/* The sites of one question, in the order in which they were met. */
typedef struct gemel__sites {
  gemel__observer observer; /* first */
  gemel__site *sites;
  size_t count, capacity, at; /* AT: where the one that comes next is likely to be */
  /* While one side is evaluated: */
  const gemel__tape *tape;
  int side, whole;
  const gemel_graph *graph; /* the node at hand; NULL: none yet */
  uint32_t node;
  size_t begin; /* of its decisions on the tape */
  int failed;   /* memory is out */
} gemel__sites;

void gemel__sites_init(gemel__sites *sites);
void gemel__sites_clear(gemel__sites *sites);

/* From here on what is recorded on TAPE, which is empty, belongs to SIDE; WHOLE: leaves are
 * intervals. The domain's observer must be &sites->observer. */
void gemel__sites_begin(gemel__sites *sites, int side, int whole, const gemel__tape *tape);
/* The side was evaluated (or that failed: the rest isn't counted). */
void gemel__sites_end(gemel__sites *sites);

/* Adds what FROM, the sites of another instance of the same question, saw: sites are the same if
 * their labels and sides are. −1: memory is out. */
int gemel__sites_merge(gemel__sites *sites, const gemel__sites *from);

/* 1 if each undecided site that was reached saw a tie, a sign of 0. */
int gemel__sites_tied(const gemel__sites *sites);

/* An undecided site that went one way only, or NULL. Sites that were never reached don't count. */
const gemel__site *gemel__sites_one_way(const gemel__sites *sites);

#endif
