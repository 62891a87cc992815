/* SPDX-License-Identifier: MIT
 *
 * What the builders of a graph have to say, as the status of a step that may fail: builders keep
 * their first error in the graph and go on.
 */
#ifndef GEMEL__BASE_STATUS_H
#define GEMEL__BASE_STATUS_H

#include <gemel/graph.h>

/* The first failure of GRAPH's builders, which ERROR (may be NULL) becomes; GEMEL_OK if none
 * failed, and ERROR is left alone. */
static inline gemel_status gemel__graph_status(const gemel_graph *graph, gemel_error *error) {
  const gemel_error *problem = gemel_graph_error(graph);
  if (problem->status != GEMEL_OK && error != NULL) {
    *error = *problem;
  }
  return problem->status;
}

#endif
