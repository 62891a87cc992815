/* SPDX-License-Identifier: MIT
 *
 * A pair computed in f64: what is told apart by rounding alone is then 2^29 times nearer.
 */
#ifndef GEMEL__PAIRS_WIDEN_H
#define GEMEL__PAIRS_WIDEN_H

#include "pairs/pair.h"

/* WIDE is PAIR with all floats in f64, *WIDE_VALUES the same VALUES. Release them with
 * gemel__values_free and gemel__pair_clear. GEMEL_DECLINED: nothing would be wider. Else what keeps
 * the graphs from being built so: an operation may not take f64. */
gemel_status gemel__pair_widen(gemel__pair *wide, const gemel__pair *pair,
                               gemel_tensor *const *values, gemel_tensor ***wide_values,
                               gemel_error *error);

#endif
