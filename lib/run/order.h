/* SPDX-License-Identifier: MIT
 *
 * A topological order of nodes 0..n-1 that stays one while constraints are added: "A before B". A
 * constraint that would close a circle is refused, and nothing changes.
 */
#ifndef GEMEL__RUN_ORDER_H
#define GEMEL__RUN_ORDER_H

#include <stdint.h>
#include <gemel/status.h>

/* Edges of the graph that is ordered: node K's successors are TO[begin[K]..begin[K + 1]). */
typedef struct gemel__edges {
  const uint32_t *begin;
  const uint32_t *to;
} gemel__edges;

typedef struct gemel__order gemel__order;

/* The order 0, 1, …, N - 1, which must be one for the edges AFTER; BEFORE are the same edges the
 * other way round. Both are borrowed. NULL when memory is out. */
gemel__order *gemel__order_new(uint32_t n, gemel__edges after, gemel__edges before);
void gemel__order_free(gemel__order *order);

/* Adds "A before B". GEMEL_OK; GEMEL_DECLINED: B comes before A whatever the order;
 * GEMEL_NO_MEMORY. */
gemel_status gemel__order_add(gemel__order *order, uint32_t a, uint32_t b);

/* Forgets the last COUNT constraints that were added. */
void gemel__order_drop(gemel__order *order, uint32_t count);

/* The node that comes first, and the one behind NODE; N behind the last. */
uint32_t gemel__order_first(const gemel__order *order);
uint32_t gemel__order_next(const gemel__order *order, uint32_t node);

#endif
