/* SPDX-License-Identifier: MIT
 *
 * Offers: the constants that an optimiser may have folded out of a graph's constants. The graph
 * computes them from constants, or they arise when a factor or a term is moved through linear
 * operations into another constant.
 */
#ifndef GEMEL__EQUAL_OFFERS_H
#define GEMEL__EQUAL_OFFERS_H

#include <gemel/graph.h>

/* The offers of a graph, as values of a graph without inputs. */
typedef struct gemel__offers {
  gemel_graph *graph;
  gemel_value *all; /* N of them, of float dtypes and constant sizes */
  size_t n, capacity;
} gemel__offers;

/* Collects the offers of BY. WANTED says whether offers of a dtype with so many elements are of
 * use. Time is linear in the graph. GEMEL_NO_MEMORY. Release with gemel__offers_clear, also after
 * an error. */
gemel_status gemel__offers_collect(gemel__offers *offers, const gemel_graph *by,
                                   int (*wanted)(void *user, gemel_dtype dtype, int64_t elements),
                                   void *user, gemel_error *error);
/* Adds X, a value of OFFERS' graph. Nonzero if memory is out. */
int gemel__offers_add(gemel__offers *offers, gemel_value x);
void gemel__offers_clear(gemel__offers *offers);

/* Applies an operation within the offers' graph. Floats are cast to the widest of their dtypes
 * first. Null if an operand is null, or the operation can't be applied. */
gemel_value gemel__offer_make(gemel_graph *graph, const char *name, size_t n,
                              const gemel_value *operands, size_t n_attrs, const gemel_attr *attrs);

/* X cast to DTYPE; X itself if it has that dtype. */
gemel_value gemel__offer_cast(gemel_value x, gemel_dtype dtype);

/* For X of constant sizes: its rank, with its shape written to SHAPE; X broadcast to a shape; X
 * reshaped; X with its axes as dimshuffle orders them. The last three return X itself if nothing
 * changes. */
int gemel__offer_shape(gemel_value x, int64_t *shape);
gemel_value gemel__offer_broadcast(gemel_value x, int rank, const int64_t *shape);
gemel_value gemel__offer_reshape(gemel_value x, int rank, const int64_t *shape);
gemel_value gemel__offer_shuffle(gemel_value x, int rank, const int64_t *order);

#endif
