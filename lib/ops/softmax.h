/* SPDX-License-Identifier: MIT
 *
 * The loops of the softmax family. A lane is what lies along one axis; lanes are numbered in
 * row-major order of the other axes, and each is one thread's, so results don't depend on how many
 * threads there are (0 or 1: none but the caller's).
 */
#ifndef GEMEL__OPS_SOFTMAX_H
#define GEMEL__OPS_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/tensor.h>
#include "core/isa.h"

/* A sum's term k is added to lane k % GEMEL__SUM_LANES of f64, and then the second half of the
 * lanes to the first, again and again: in this order wherever terms lie. */
enum { GEMEL__SUM_LANES = 16 };

/* Loops over N contiguous f32 or f64; OUT may be X. */
typedef struct gemel__softmax_kernels {
  /* OUT[k] = exp(X[k] - MAX). */
  void (*exp)(size_t n, const void *x, double max, void *out);
  /* OUT[k] = X[k] / BY. */
  void (*divide)(size_t n, const void *x, double by, void *out);
  double (*sum)(size_t n, const void *x);
  /* The sum of T[k] (MAX - X[k] + LOG_TOTAL). */
  double (*weigh)(size_t n, const void *x, const void *t, double max, double log_total);
  /* OUT[k] = exp(X[k] - MAX[k]), which TOTAL[k] grows by. MAX has the numbers' dtype. */
  void (*exp_row)(size_t n, const void *x, const void *max, void *out, double *total);
  /* Each number k of rows STEP bytes apart is divided by TOTAL[k]. */
  void (*divide_rows)(size_t rows, size_t n, void *out, int64_t step, const double *total);
} gemel__softmax_kernels;

/* DTYPE is f32 or f64; ISA must be one that the machine has. */
const gemel__softmax_kernels *gemel__softmax_kernels_for(gemel_dtype dtype, gemel__isa isa);

/* OUT = softmax of X along AXIS, both of one shape and float dtype. */
void gemel__softmax_run(const gemel_view *x, const gemel_view *out, int axis, int threads);

/* OUT[lane] = -sum(t log softmax(x)); OUT is row-major. */
void gemel__softmax_loss(const gemel_view *x, const gemel_view *targets, const gemel_view *out,
                         int axis, int threads);

/* OUT[lane] = -log softmax(x)[target] for targets that fit. */
void gemel__softmax_index_loss(const gemel_view *x, const gemel_view *targets,
                               const gemel_view *out, int axis, int threads);

/* 1 if all TARGETS (of an integer dtype) lie in 0..CLASSES - 1; else the first that doesn't, and
 * which element it is. */
int gemel__targets_fit(const gemel_view *targets, int64_t classes, int64_t *element,
                       int64_t *target);

#endif
