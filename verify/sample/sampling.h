/* SPDX-License-Identifier: MIT
 *
 * Samplers of gemel's own operations: they draw instances as gemel_operation.sample does for a
 * program's. An operation's twin names its sampler (reference/twin.h), which stands in the file of
 * the operation's family, sample-<family>.c, or beside the twin. What samplers share is here: small
 * random numbers, shapes with sizes 0 and 1 among them, and attributes whose lists lie in the
 * sample's storage.
 */
#ifndef GEMEL__SAMPLE_SAMPLING_H
#define GEMEL__SAMPLE_SAMPLING_H

#include <gemel/operation.h>

typedef gemel_status (*gemel__sampler)(gemel_sample *sample);

/* Fill in SAMPLE; GEMEL_DECLINED if its dtype makes no sense, GEMEL_NO_MEMORY. The one of scalar
 * operations reads the row that DATA is. */
#define OP(name, ...) gemel_status gemel__sampler_##name(gemel_sample *sample);
#include "ops/ops.def"
#undef OP
gemel_status gemel__sampler_scalar(gemel_sample *sample);

/* ---- Limits ---- */

/* Beyond so many elements an instance isn't held against a reference, but by the way in which it is
 * computed: what works in blocks is given several. */
enum { GEMEL__LONG_ELEMENTS = 100000 };

/* From so many on, but below that, matrix products come in batches of several axes that don't lie
 * one in the other. */
enum { GEMEL__BATCHES_ELEMENTS = 20000 };

/* ---- Numbers ---- */

/* A number in LOW..HIGH, both included; in 0..BOUND - 1. */
int64_t gemel__sample_int(gemel_sample *sample, int64_t low, int64_t high);
int64_t gemel__sample_below(gemel_sample *sample, uint64_t bound);

/* A rank in LOW..HIGH, or the one that the harness wants. */
int gemel__sample_rank(gemel_sample *sample, int low, int high);

/* 1 if axis AXIS of the AXES that there is a choice of shall have the wanted length. */
int gemel__sample_wants(const gemel_sample *sample, int axis, int axes);

/* 1 in one of N cases. */
int gemel__sample_chance(gemel_sample *sample, int n);

/* A stride or dilation: mostly 1, else up to MOST. */
int64_t gemel__sample_step(gemel_sample *sample, int64_t most);

/* How many axes of images are spatial, 1 to 3: one where a length is wanted, or as many as the
 * wanted rank leaves. */
int gemel__sample_spatial_axes(gemel_sample *sample);

/* ---- Shapes ---- */

/* The product of RANK sizes. */
int64_t gemel__sample_elements(int rank, const int64_t *shape);

/* A shape of RANK axes with at most MAX_ELEMENTS elements: mostly 2..6, often 1, sometimes 0. Of
 * high rank, few axes, but any of them, are longer than 1. */
void gemel__sample_shape(gemel_sample *sample, int rank, int64_t *shape);

/* The same with longer axes: a rank in LEAST..4, or the wanted one, and at most LIMIT elements. Of
 * sixteen sizes one is 0, ONES are 1, three may be as long as FAR + 1, the others are 2..5. Returns
 * the rank. */
int gemel__sample_wide_shape(gemel_sample *sample, int least, int64_t limit, int ones, int64_t far,
                             int64_t *shape);

/* Of instances with a high limit on elements three of four are made large: one axis takes most of
 * the room. An axis has the length that the harness wants, if it wants one. */
void gemel__sample_grow(gemel_sample *sample, int64_t limit, int rank, int64_t *shape);

/* A random permutation of 0..N - 1. */
void gemel__sample_permutation(gemel_sample *sample, int n, int64_t *order);

/* ---- Operands and attributes ---- */

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

/* The sizes of AXES spatial axes; now and then one is known only at run time. */
void gemel__sample_image(gemel_sample *sample, const char *name, int axes, const int64_t *sizes);
/* The attribute axis, which is left out half of the time if it is FALLBACK. */
void gemel__sample_axis(gemel_sample *sample, int64_t axis, int64_t fallback);
/* The attribute body of operation OP: the context's own copy of BODY, so nobody has to release it.
 * A status as of the check of attributes. */
gemel_status gemel__sample_body(gemel_sample *sample, const char *op, gemel_graph *body);

/* GEMEL_OK, or GEMEL_NO_MEMORY if a type or dim could not be made. */
gemel_status gemel__sample_status(const gemel_sample *sample);

#endif
