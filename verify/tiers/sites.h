/* SPDX-License-Identifier: MIT
 *
 * Sites: the nodes of both sides' graphs at which domain O decided a sign or a floor, and which way
 * these went. For relu(x) the ways are x < 0, x = 0 and x > 0. A site is undecided if interval
 * evaluation (gemel__models_signs) shows that it may go either way. If an undecided site went
 * one way at every point, nothing is known of the other branch.
 */
#ifndef GEMEL__TIERS_SITES_H
#define GEMEL__TIERS_SITES_H

#include <gemel/graph.h>
#include "domains/domain.h"

/* Of a node with few elements each has ways of its own: the unit of a hidden layer that is zero at
 * every point hides its weights. */
enum { GEMEL__SITE_ELEMENTS = 8 };

typedef struct gemel__site {
  const gemel_graph *graph; /* NULL for a site that was merged from another answer */
  uint32_t node;
  int side;          /* 0 left, 1 right */
  int role;          /* number of the graph within the side (bodies have graphs of their own), in
                      * order of evaluation */
  int boolean;       /* an operand is of dtype bool, whose two ways are 0 and 1 */
  int truth;         /* the result is of dtype bool */
  unsigned possible; /* by interval evaluation: bit s + 1 for each possible sign s */
  unsigned seen;     /* at points: bit s + 1 for each sign s */
  int floors;        /* 1: interval evaluation left a floor undecided */
  int64_t first;     /* the first decision at a point */
  int differs;       /* 1: another decision than FIRST was seen at a point */
  double of_result;  /* elements of the node's result */
  /* Of each element, if all evaluations decided these few once each; else N_ELEMENTS is 0: */
  size_t n_elements;
  int uneven; /* 1: there were others */
  unsigned char element_possible[GEMEL__SITE_ELEMENTS], element_seen[GEMEL__SITE_ELEMENTS];
  char label[40]; /* "relu 2": the second relu of its graph */
} gemel__site;

/* The sites of one question, in order of evaluation. */
typedef struct gemel__sites {
  gemel__observer observer; /* first */
  gemel__site *sites;
  size_t count, capacity, at; /* AT: index at which the next site is looked for first */
  /* While one side is evaluated: */
  const gemel__tape *tape;
  int side, whole;
  const gemel_graph *graph; /* the current node; NULL: none yet */
  uint32_t node;
  size_t begin; /* where the current node's decisions begin on the tape */
  int failed;   /* memory is out */
} gemel__sites;

void gemel__sites_init(gemel__sites *sites);
void gemel__sites_clear(gemel__sites *sites);

/* Decisions recorded on TAPE, now empty, belong to SIDE from here on. WHOLE: this is an interval
 * evaluation. The domain's observer must be &sites->observer. */
void gemel__sites_begin(gemel__sites *sites, int side, int whole, const gemel__tape *tape);
/* Ends the evaluation of a side, complete or not. */
void gemel__sites_end(gemel__sites *sites);

/* Merges FROM, the sites of another instance of the same question. Sites are the same if side, role
 * and label are. −1: memory is out. */
int gemel__sites_merge(gemel__sites *sites, const gemel__sites *from);

/* 1 if each site that was reached, and where a sign of 0 is possible, saw a 0 at some point. */
int gemel__sites_tied(const gemel__sites *sites);

/* The first undecided site that went one way at all points, or NULL. Sites that were never reached
 * don't count. */
const gemel__site *gemel__sites_one_way(const gemel__sites *sites);

#endif
