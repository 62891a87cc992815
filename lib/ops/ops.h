/* SPDX-License-Identifier: MIT
 *
 * How an operation's row finds its code. A row of ops.def `OP(sum, …)` takes its hooks from
 * `gemel__hooks_sum`, defined in lib/ops/<family>.c; a row without hooks doesn't link. Rows of
 * scalar.def share one set of hooks (elementwise.c), which read the row's columns. Whoever asks
 * what holds for an operation asks its row; nobody else lists operations by name.
 */
#ifndef GEMEL__OPS_OPS_H
#define GEMEL__OPS_OPS_H

#include <gemel/operation.h>
#include "core/context.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/rows.h"
#include "core/sizes.h"

/* By number (core/ids.h). */
extern const struct gemel__row gemel__rows[GEMEL__OP_COUNT];

/* The hooks that all scalar rows share. */
extern const gemel__hooks gemel__scalar_hooks;

/* The hook for facts of each row of scalar.def. */
extern const gemel__fact_rule gemel__scalar_facts[GEMEL__SCALAR_COUNT];

/* The kernel of ROW for these dtypes; NULL: there is none. */
gemel__scalar_kernel gemel__scalar_kernel_for(const gemel__scalar_row *row, gemel_dtype operand,
                                              gemel_dtype result);

/* Dims of operands broadcast together, NumPy's rule with one line drawn for symbols: only a literal
 * 1 broadcasts, sizes that can't be proved equal are taken as equal and checked at run time. */
gemel_status gemel__broadcast(gemel_context *context, size_t n, const gemel_type *types, int *rank,
                              gemel_dim *dims, gemel_error *error);

/* Sums COTANGENT (of a broadcast result) back to the shape of LIKE. */
gemel_value gemel__unbroadcast(gemel_value cotangent, gemel_value like, gemel_location where);

/* Normalises an axis (−rank ≤ axis < rank) to 0..rank; −1 if out of range. */
static inline int gemel__axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return -1;
  }
  return (int)(axis < 0 ? axis + rank : axis);
}

/* Type shorthands for rules: rank and dims of input K; sets output 0 and N_OUTPUTS = 1. */
const gemel_dim *gemel__infer_dims(const gemel_infer *call, size_t k, int *rank);
gemel_status gemel__infer_result(gemel_infer *call, gemel_dtype dtype, int rank,
                                 const gemel_dim *dims);

/* Registers gemel's own rows (table.c). */
gemel_status gemel__register_builtins(gemel_context *context, gemel_error *error);

#endif
