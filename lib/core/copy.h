/* SPDX-License-Identifier: MIT
 *
 * Copying nodes from one graph to another of the same context: the one way beside gemel__apply in
 * which nodes enter a graph. A node that was well-typed there is well-typed here if its inputs have
 * the same types, which is checked; so a copy takes no more than looking for an equal node and
 * appending.
 */
#ifndef GEMEL__CORE_COPY_H
#define GEMEL__CORE_COPY_H

#include "core/graph.h"

/* Applies the operation of node OLD of FROM, with its attributes, to INPUTS, values of TO, as many
 * as OLD has: the node is *NODE. GEMEL_DECLINED, and nothing is done, where that takes
 * gemel__apply: INPUTS are of other types than OLD's, or the types of the results depend on more.
 * Other errors are recorded on TO. */
gemel_status gemel__copy_node(gemel_graph *to, const gemel_graph *from, uint32_t old,
                              const gemel__ref *inputs, uint32_t *node);

/* Copies the nodes of FROM whose MARKS have a bit of MARK, but for inputs, in the order of ids.
 * MAP, by gemel__value_number, says what values of FROM are in TO (node UINT32_MAX: nothing so
 * far): inputs, and what else is to be read in the place of a node's value; it is filled in for the
 * copies. Errors are recorded on TO. */
gemel_status gemel__copy_marked(gemel_graph *to, const gemel_graph *from,
                                const unsigned char *marks, unsigned mark, gemel__ref *map);

/* Room in TO for a SHARE of the nodes that FROM has. GEMEL_NO_MEMORY. */
gemel_status gemel__copy_reserve(gemel_graph *to, const gemel_graph *from, double share);

/* Input K of FROM becomes the next one of TO, which has none of that name: *NODE. Errors are
 * recorded on TO. */
gemel_status gemel__copy_input(gemel_graph *to, const gemel_graph *from, size_t k, uint32_t *node);

/* VALUE, of TO, becomes the next output, called as output K of FROM is; TO has none of that name.
 * Errors are recorded on TO. */
gemel_status gemel__copy_output(gemel_graph *to, const gemel_graph *from, size_t k,
                                gemel__ref value);

#endif
