/* SPDX-License-Identifier: MIT
 *
 * Samplers for usual shapes, to be the `sample` of a program's own operation (gemel_operation):
 *
 *   .sample = gemel_sample_rows
 *
 * They draw operands of the dtype that the harness asks for, as many as the operation's record says
 * (where it leaves a choice, one or two beyond the least), with sizes 0 and 1 among others, the
 * lengths and ranks that the harness wants, and values so small that exp doesn't overflow
 * (GEMEL_RANGE_MODERATE). What the operation's type rule doesn't take is drawn again, up to sixteen
 * times, and then declined: so the type rule says which dtypes, ranks and sizes there are, and a
 * rule that refuses too much shows only in what was tried.
 *
 * A sampler of a program's own may call one of them, and change ranges or add attributes then; if
 * the operation needs attributes that they don't know, it draws what it likes.
 *
 * All return GEMEL_OK, GEMEL_DECLINED, GEMEL_BAD_ARGUMENT (NULL) or GEMEL_NO_MEMORY, and may be
 * called on several threads at once, each with a sample of its own. They are in libgemel-verify: a
 * program that is linked without the harness leaves `sample` NULL.
 */
#ifndef GEMEL_SAMPLE_H
#define GEMEL_SAMPLE_H

#include <gemel/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All operands of one shape, of rank 0 to 4, sometimes more. Errors: see above. */
gemel_status gemel_sample_elementwise(gemel_sample *sample);

/* Operands that broadcast to one shape: axes of some are 1, or leading ones left out. Errors: see
 * above. */
gemel_status gemel_sample_broadcast(gemel_sample *sample);

/* An operand of rank 1 and more, whose last axis isn't empty; the others are vectors of its length:
 * the scale and bias of a normalisation. Errors: see above. */
gemel_status gemel_sample_rows(gemel_sample *sample);

/* Operands of one shape, of rank 1 and more, and an axis that isn't empty: the attribute `axis`, or
 * `axes` with some axes, whichever the schema has, counted from either end; with `keepdims`, if the
 * schema has that, 0 or 1. Errors: see above. */
gemel_status gemel_sample_along(gemel_sample *sample);

/* Matrices x[m, k] and y[k, n]; a third operand is a vector of n. Errors: see above. */
gemel_status gemel_sample_matmul(gemel_sample *sample);

/* Square matrices of one size, not empty. Errors: see above. */
gemel_status gemel_sample_square(gemel_sample *sample);

/* q[..., m, d], k[..., n, d] and v[..., n, e], with up to two axes in front; n and d aren't 0. A
 * fourth operand is a mask [m, n] to be added. Errors: see above. */
gemel_status gemel_sample_attention(gemel_sample *sample);

/* x[batch, channels, one to three spatial axes]; the others are vectors of channels. Errors: see
 * above. */
gemel_status gemel_sample_images(gemel_sample *sample);

#ifdef __cplusplus
}
#endif
#endif
