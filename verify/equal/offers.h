/* SPDX-License-Identifier: MIT
 *
 * What an optimiser may have folded: constants that the constants of a graph come to, be it that
 * the graph computes them, or that they arise where a factor or a term is moved through linear
 * operations to another constant.
 */
#ifndef GEMEL__EQUAL_OFFERS_H
#define GEMEL__EQUAL_OFFERS_H

#include <gemel/graph.h>

/* Offers of a graph, as values of a graph without inputs. */
typedef struct gemel__offers {
  gemel_graph *graph;
  gemel_value *all; /* N of them, each of a float dtype and constant sizes */
  size_t n, capacity;
} gemel__offers;

/* Collects the offers of BY, each in those dtypes in which WANTED wants so many elements. Time is
 * linear in the graph. GEMEL_NO_MEMORY. Release with gemel__offers_clear, also after an error. */
gemel_status gemel__offers_collect(gemel__offers *offers, const gemel_graph *by,
                                   int (*wanted)(void *user, gemel_dtype dtype, int64_t elements),
                                   void *user, gemel_error *error);
void gemel__offers_clear(gemel__offers *offers);

/* An operation applied within the offers' graph, to floats in the widest of their dtypes; null if
 * an operand is, or if it can't be. */
gemel_value gemel__offer_make(gemel_graph *graph, const char *name, size_t n,
                              const gemel_value *operands, size_t n_attrs, const gemel_attr *attrs);

/* X in DTYPE; X itself where that is nothing to do. */
gemel_value gemel__offer_cast(gemel_value x, gemel_dtype dtype);

/* X, of constant sizes: its rank, with SHAPE filled in. X broadcast to a shape, reshaped, with its
 * axes as dimshuffle puts them; X itself where that is nothing to do. */
int gemel__offer_shape(gemel_value x, int64_t *shape);
gemel_value gemel__offer_broadcast(gemel_value x, int rank, const int64_t *shape);
gemel_value gemel__offer_reshape(gemel_value x, int rank, const int64_t *shape);
gemel_value gemel__offer_shuffle(gemel_value x, int rank, const int64_t *order);

#endif
