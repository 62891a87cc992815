/* SPDX-License-Identifier: MIT
 *
 * One loop for several, or for one with less in it: what the passes scan_prune and merge_scans
 * share.
 */
#ifndef GEMEL__PASSES_SCAN_JOIN_H
#define GEMEL__PASSES_SCAN_JOIN_H

#include "passes/loop.h"

/* Replaces the loops NODES of EDIT's graph, N of them, by one that does only what is read of their
 * results, if N is more than one or that is less than what the one does. They have the same length,
 * direction, limit, `truncate` and `recompute`, don't depend on each other, and none has `until` if
 * there are several. */
gemel_status gemel__scan_join(gemel_edit *edit, size_t n, const uint32_t *nodes,
                              gemel_error *error);

#endif
