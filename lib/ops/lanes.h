/* SPDX-License-Identifier: MIT
 *
 * The loops of the softmax family. A lane is what lies along one axis; lanes are numbered in
 * row-major order of the other axes, and each is one thread's, so results don't depend on how many
 * threads there are (0 or 1: none but the caller's).
 */
#ifndef GEMEL__OPS_LANES_H
#define GEMEL__OPS_LANES_H

#include <stdint.h>
#include <gemel/tensor.h>

/* OUT = softmax of X along AXIS, both of one shape and float dtype. */
void gemel__softmax_lanes(const gemel_view *x, const gemel_view *out, int axis, int threads);

/* OUT[lane] = -sum(t log softmax(x)); OUT is row-major. */
void gemel__loss_lanes(const gemel_view *x, const gemel_view *targets, const gemel_view *out,
                       int axis, int threads);

/* OUT[lane] = -log softmax(x)[target] for targets that fit. */
void gemel__index_loss_lanes(const gemel_view *x, const gemel_view *targets, const gemel_view *out,
                             int axis, int threads);

/* 1 if all TARGETS (of an integer dtype) lie in 0..CLASSES - 1; else the first that doesn't, and
 * which element it is. */
int gemel__targets_fit(const gemel_view *targets, int64_t classes, int64_t *element,
                       int64_t *target);

#endif
