/* SPDX-License-Identifier: MIT
 *
 * Both graphs of a pair in one graph, where nodes that are alike are one node. What differs is then
 * told by ids, and cut into regions: the nodes between one value of each graph and the values that
 * both have in common.
 */
#ifndef GEMEL__PAIRS_JOINT_H
#define GEMEL__PAIRS_JOINT_H

#include "core/graph.h"

typedef struct gemel__joint {
  gemel_graph *graph; /* the first graph's inputs, its nodes, then what only the second has */
  size_t n_nodes;
  size_t n_outputs;     /* of either, in the order of the first */
  gemel__ref *left;     /* the first graph's outputs */
  gemel__ref *right;    /* the second's */
  uint32_t *stands_for; /* a node each: the node with equal results that stands for it, or itself */
  unsigned char *second; /* a byte a node: only the second graph has it */
  gemel__idtable known;  /* nodes that stand for themselves, by operation, attributes and inputs */
  uint32_t *slot;        /* room for a region: what became of a node, or 0 */
} gemel__joint;

/* Makes the joint graph of A and B, which have the same inputs and outputs by name (pair.h).
 * Linear. GEMEL_NO_MEMORY, or what inlining reports. */
gemel_status gemel__joint_make(gemel__joint *joint, const gemel_graph *a, const gemel_graph *b,
                               gemel_error *error);
void gemel__joint_clear(gemel__joint *joint);

/* The value that stands for REF. */
gemel__ref gemel__joint_value(const gemel__joint *joint, gemel__ref ref);

/* 1 if output K of both graphs is one value. */
int gemel__joint_same(const gemel__joint *joint, size_t k);

/* Goes over NODE, all nodes before it having been gone over: if a node before it applies the same
 * operation to equal values, that one stands for it from now on. Returns 1 if so, 0 if not, −1 when
 * memory is out. */
int gemel__joint_meet(gemel__joint *joint, uint32_t node);

/* From now on U stands for V (with results of the same types, U the smaller id). */
void gemel__joint_merge(gemel__joint *joint, uint32_t u, uint32_t v);

/* A pair of graphs. */
typedef struct gemel__part_graphs {
  gemel_graph *a, *b;
  size_t nodes;  /* of both */
  size_t leaves; /* values in common that became inputs */
  int whole;     /* 1: its inputs are those of the graphs, so what it shows, they show */
  int bodies;    /* 1: of two loops (equal/loops.h) */
} gemel__part_graphs;

/* The region between N values of the first graph, of the second, and what they have in common: the
 * nearest values that both depend on become inputs "v<id>", after the common values themselves have
 * been opened up DEPTH times. Outputs are called NAMES (NULL: r0, r1, …). GEMEL_DECLINED: there
 * would be more than MOST nodes, or a size that only a run tells is among them. Release with
 * gemel__part_clear. */
gemel_status gemel__joint_part(gemel__joint *joint, size_t n, const gemel__ref *u,
                               const gemel__ref *v, const char *const *names, int depth,
                               size_t most, gemel__part_graphs *region, gemel_error *error);
void gemel__part_clear(gemel__part_graphs *region);

#endif
