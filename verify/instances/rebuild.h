/* SPDX-License-Identifier: MIT
 *
 * A copy of a graph with edits: a node becomes one of the values before it, or a new input.
 */
#ifndef GEMEL__INSTANCES_REBUILD_H
#define GEMEL__INSTANCES_REBUILD_H

#include <gemel/graph.h>
#include "core/graph.h"

/* What becomes of a node. Only nodes with exactly one output are edited. */
typedef struct gemel__edit {
  enum { GEMEL__EDIT_KEEP, GEMEL__EDIT_VALUE, GEMEL__EDIT_LEAF } kind;
  gemel__ref value; /* VALUE: of a smaller node, of the same type */
  size_t leaf;      /* LEAF: the number of an extra input */
} gemel__edit;

typedef struct gemel__rebuild {
  const gemel_graph *from;
  const gemel__edit *edits;         /* a node each; NULL: none */
  const unsigned char *keep_inputs; /* a byte an input; NULL: all are kept, read or not */
  size_t n_leaves;                  /* inputs that come after the graph's own */
  const char *const *leaf_names;
  const gemel_type *leaf_types;
  size_t n_outputs;
  const gemel__ref *outputs; /* values of FROM */
  const char *const *output_names;
} gemel__rebuild;

/* The new graph, or NULL. GEMEL_DECLINED if a type of the graph has a size that only a run tells:
 * such sizes name nodes. */
gemel_graph *gemel__rebuild_graph(const gemel__rebuild *rebuild, gemel_error *error);

/* 1 if a type in GRAPH has a size that only a run tells. */
int gemel__graph_has_runtime_sizes(const gemel_graph *graph);

#endif
