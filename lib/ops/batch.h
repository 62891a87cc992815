/* SPDX-License-Identifier: MIT
 *
 * One operation for all rows at once. What a loop applies to row t of some operands, and to others
 * that are the same in each step, a hook BATCH applies to all rows: row t of the result is what the
 * operation gives for row t of its operands.
 */
#ifndef GEMEL__OPS_BATCH_H
#define GEMEL__OPS_BATCH_H

#include "ops/ops.h"

struct gemel__batch {
  gemel_graph *graph;
  uint32_t op, attrs; /* of the operation on one row, and the attributes as they were given */
  const gemel_attr *values;
  gemel_dim rows; /* how many there are */
  size_t n_inputs;
  const gemel_value *inputs;
  const unsigned char *has_rows; /* by operand: axis 0 is that of the rows */
  gemel_location where;
  gemel_value output; /* the result, with axis 0 for the rows */
};

/* Operand K with axes of size 1 put before those of a row, so that these are RANK; the operand as
 * it is, if it has no rows. */
gemel_value gemel__batch_operand(const gemel__batch *call, size_t k, int rank);

/* The rank of operand K for one row. */
int gemel__batch_rank(const gemel__batch *call, size_t k);

/* X with AXIS as its first one. */
gemel_value gemel__batch_first(gemel_value x, int axis, gemel_location where);

#endif
