/* SPDX-License-Identifier: MIT
 *
 * What samplers share: small random numbers, shapes with sizes 0 and 1 among them, and attributes
 * whose lists lie in the sample's storage.
 */
#ifndef GEMEL__OPS_SAMPLING_H
#define GEMEL__OPS_SAMPLING_H

#include "ops/ops.h"

/* Beyond so many elements an instance isn't held against a reference, but by the way in which it is
 * computed: what works in blocks is given several. */
enum { GEMEL__LONG_ELEMENTS = 100000 };

/* From so many on, but below that, matrix products come in batches of several axes that don't lie
 * one in the other. */
enum { GEMEL__BATCHES_ELEMENTS = 20000 };

/* A number in LOW..HIGH, both included. */
int64_t gemel__sample_int(gemel_sample *sample, int64_t low, int64_t high);

/* A rank in LOW..HIGH, or the one that the harness wants. */
int gemel__sample_rank(gemel_sample *sample, int low, int high);

/* 1 if axis AXIS of the AXES that there is a choice of shall have the wanted length. */
int gemel__sample_wants(const gemel_sample *sample, int axis, int axes);

/* 1 in one of N cases. */
int gemel__sample_chance(gemel_sample *sample, int n);

/* A shape of RANK axes with at most MAX_ELEMENTS elements: mostly 2..6, often 1, sometimes 0. Of
 * high rank, few axes, but any of them, are longer than 1. */
void gemel__sample_shape(gemel_sample *sample, int rank, int64_t *shape);

/* Of instances with a high limit on elements three of four are made large: one axis takes most of
 * the room. An axis has the length that the harness wants, if it wants one.
 */
void gemel__sample_grow(gemel_sample *sample, int64_t limit, int rank, int64_t *shape);

/* A random permutation of 0..N - 1. */
void gemel__sample_permutation(gemel_sample *sample, int n, int64_t *order);

/* Adds an input of this type; a scalar size in LOW..HIGH - 1, which comes as the returned dim. */
void gemel__sample_input(gemel_sample *sample, gemel_dtype dtype, int rank, const int64_t *shape,
                         gemel_range range);
gemel_dim gemel__sample_size(gemel_sample *sample, int64_t low, int64_t high);

/* Adds an attribute; lists are copied into the storage. */
void gemel__sample_attr(gemel_sample *sample, gemel_attr attr);
void gemel__sample_ints(gemel_sample *sample, const char *name, size_t count,
                        const int64_t *values);
void gemel__sample_dims(gemel_sample *sample, const char *name, size_t count,
                        const gemel_dim *values);
/* The same for dims that are constants. */
void gemel__sample_sizes(gemel_sample *sample, const char *name, size_t count,
                         const int64_t *values);

/* GEMEL_OK, or GEMEL_NO_MEMORY if a type or dim could not be made. */
gemel_status gemel__sample_status(const gemel_sample *sample);

#endif
