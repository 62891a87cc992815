/* SPDX-License-Identifier: MIT
 *
 * Computes a pair in f64: a difference that is only rounding becomes 2^29 times smaller than in
 * f32.
 */
#ifndef GEMEL__PAIRS_WIDEN_H
#define GEMEL__PAIRS_WIDEN_H

#include "pairs/contrast.h"

/* GRAPH with all floats in f64; NULL with the error for which it can't be built. */
gemel_graph *gemel__graph_widen(const gemel_graph *graph, gemel_error *error);

/* N tensors with floats in f64, to be freed as gemel__values_free does; NULL: GEMEL_NO_MEMORY. */
gemel_tensor **gemel__tensors_widen(size_t n, gemel_tensor *const *values, gemel_error *error);

/* Makes WIDE, PAIR with all floats in f64, and *WIDE_VALUES, the same VALUES. Release them with
 * gemel__values_free and gemel__pair_clear. GEMEL_DECLINED: no float is narrower than f64.
 * Otherwise the error for which a graph can't be built: an operation may not take f64. */
gemel_status gemel__pair_widen(gemel__pair *wide, const gemel__pair *pair,
                               gemel_tensor *const *values, gemel_tensor ***wide_values,
                               gemel_error *error);

/* Runs both graphs in f64 at VALUES: FAST as gemel__both_run_fast, else as gemel__both_run.
 * GEMEL_OK and BOTH empty (n is 0) if they can't be; GEMEL_NO_MEMORY. */
gemel_status gemel__both_run_wide(const gemel__pair *pair, gemel_tensor *const *values, int fast,
                                  gemel__random *random, gemel__both *both, gemel_error *error);

#endif
