/* SPDX-License-Identifier: MIT
 *
 * What hooks BATCH have in common.
 */
#include "ops/batch.h"

#include <gemel/ops.h>
#include "ops/rule.h"

int gemel__batch_rank(const gemel__batch *call, size_t k) {
  int rank;
  gemel__value_dims(call->inputs[k], &rank);
  return rank - call->has_rows[k];
}

gemel_value gemel__batch_operand(const gemel__batch *call, size_t k, int rank) {
  int64_t order[GEMEL_MAX_RANK] = {0};
  int own = gemel__batch_rank(call, k);
  if (!call->has_rows[k] || own == rank) {
    return call->inputs[k];
  }
  for (int axis = 0; axis < rank; axis++) {
    order[axis + 1] = axis < rank - own ? -1 : axis - (rank - own) + 1;
  }
  return gemel_dimshuffle_at(call->inputs[k], (size_t)rank + 1, order, call->where);
}

gemel_value gemel__batch_first(gemel_value x, int axis, gemel_location where) {
  int64_t order[GEMEL_MAX_RANK];
  int rank;
  gemel__value_dims(x, &rank);
  order[0] = axis;
  for (int k = 0, at = 1; k < rank; k++) {
    if (k != axis) {
      order[at++] = k;
    }
  }
  return axis == 0 ? x : gemel_dimshuffle_at(x, (size_t)rank, order, where);
}
