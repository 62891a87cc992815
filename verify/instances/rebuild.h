/* SPDX-License-Identifier: MIT
 *
 * A copy of a graph with edits: a node is replaced by a value before it, by a new input or by a
 * constant.
 */
#ifndef GEMEL__INSTANCES_REBUILD_H
#define GEMEL__INSTANCES_REBUILD_H

#include <gemel/graph.h>
#include "core/graph.h"

/* What replaces a node. Only nodes with exactly one output can be replaced. */
typedef struct gemel__edit {
  enum { GEMEL__EDIT_KEEP, GEMEL__EDIT_VALUE, GEMEL__EDIT_LEAF, GEMEL__EDIT_CONSTANT } kind;
  gemel__ref value;     /* for VALUE: a value of a node before it, of the same type */
  size_t leaf;          /* for LEAF: the number of a new input */
  gemel_tensor *tensor; /* for CONSTANT: of the same type */
} gemel__edit;

typedef struct gemel__rebuild {
  const gemel_graph *from;
  const gemel__edit *edits;         /* one for each node; NULL: none */
  const unsigned char *keep_inputs; /* a byte for each input; NULL: all are kept, even unused
                                     * ones */
  size_t n_leaves;                  /* new inputs, which come after the graph's own */
  const char *const *leaf_names;
  const gemel_type *leaf_types;
  size_t n_outputs;
  const gemel__ref *outputs; /* values of FROM */
  const char *const *output_names;
} gemel__rebuild;

/* The new graph, or NULL. GEMEL_DECLINED if a type of the graph has a size known only at run time,
 * as such sizes refer to nodes. */
gemel_graph *gemel__rebuild_graph(const gemel__rebuild *rebuild, gemel_error *error);

/* 1 if a type in GRAPH has a size known only at run time. */
int gemel__graph_has_runtime_sizes(const gemel_graph *graph);

#endif
