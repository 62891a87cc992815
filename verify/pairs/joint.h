/* SPDX-License-Identifier: MIT
 *
 * The joint graph of a pair: both graphs in one, where equal nodes are one node. What differs is
 * cut into regions: the nodes between a value of each graph and the values that both have in
 * common.
 */
#ifndef GEMEL__PAIRS_JOINT_H
#define GEMEL__PAIRS_JOINT_H

#include "core/graph.h"
#include "pairs/scale.h"

typedef struct gemel__joint {
  gemel_graph *graph; /* the first graph's inputs, its nodes, then what only the second has */
  size_t n_nodes;
  size_t n_outputs;     /* outputs of either graph, in the first graph's order */
  gemel__ref *left;     /* the first graph's outputs */
  gemel__ref *right;    /* the second's */
  uint32_t *stands_for; /* for each node the node that replaces it, with equal results, or itself */
  unsigned char *second; /* a byte a node: only the second graph has it */
  gemel__idtable known;  /* nodes that replace themselves, by operation, attributes and inputs */
  uint32_t *slot;        /* scratch space of a region: where a node is in it, plus 1, or 0 */
  const unsigned char *facts; /* by node: what an input in its place assumes; NULL: nothing */
} gemel__joint;

/* Makes the joint graph of A and B, which have the same inputs and outputs by name (pair.h).
 * Linear. GEMEL_NO_MEMORY, or what inlining reports. */
gemel_status gemel__joint_make(gemel__joint *joint, const gemel_graph *a, const gemel_graph *b,
                               gemel_error *error);
void gemel__joint_clear(gemel__joint *joint);

/* The value that replaces REF. */
gemel__ref gemel__joint_value(const gemel__joint *joint, gemel__ref ref);

/* 1 if output K of both graphs is the same value. */
int gemel__joint_same(const gemel__joint *joint, size_t k);

/* Visits NODE, after all nodes before it: if an earlier node applies the same operation to equal
 * values, that node replaces NODE from now on. Returns 1 if so, 0 if not, −1 when memory is out. */
int gemel__joint_meet(gemel__joint *joint, uint32_t node);

/* From now on U replaces V. Their results have the same types, and U is the smaller id. */
void gemel__joint_merge(gemel__joint *joint, uint32_t u, uint32_t v);

/* A pair of graphs. */
typedef struct gemel__part_graphs {
  gemel_graph *a, *b;
  size_t nodes;  /* of both */
  size_t leaves; /* values in common that became inputs */
  int whole;     /* 1: its inputs are those of the graphs, so a counterexample to it is one to the
                    graphs */
  int bodies;    /* 1: the graphs are bodies of two loops (equal/loops.h) */
  char scaled[GEMEL__MOST_SCALED_TEXT]; /* which sizes were scaled; "" if none */
} gemel__part_graphs;

/* The region between N values U of the first graph, N values V of the second, and what they have in
 * common: the nearest values that both depend on become inputs "v<id>", after DEPTH layers of such
 * values have been opened up. Outputs are called NAMES (NULL: r0, r1, …). GEMEL_DECLINED: there
 * would be more than MOST nodes, or a run-time size is among them. Release with
 * gemel__part_clear. */
gemel_status gemel__joint_part(gemel__joint *joint, size_t n, const gemel__ref *u,
                               const gemel__ref *v, const char *const *names, int depth,
                               size_t most, gemel__part_graphs *region, gemel_error *error);
void gemel__part_clear(gemel__part_graphs *region);

#endif
