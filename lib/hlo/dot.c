/* SPDX-License-Identifier: MIT
 *
 * dot: products summed over contracted axes, for each index of the batch axes. Operands narrower
 * than the result are widened first, as XLA accumulates in the result's type.
 */
#include "hlo/call.h"

#include "core/value.h"

/* The axes of operand K that attribute NAME lists. */
static int take_axes(gemel__hlo_call *c, size_t k, const char *name, gemel_ints *list) {
  int64_t *axes = gemel__hlo_room(c, GEMEL_MAX_RANK * sizeof *axes);
  int n;
  if (axes == NULL || !gemel__hlo_axes(c, name, gemel__hlo_shape_of(c, k)->rank, &n, axes)) {
    return 0;
  }
  *list = (gemel_ints){(size_t)n, axes};
  return 1;
}

/* Operand K in the result's dtype. */
static gemel_value take_operand(gemel__hlo_call *c, size_t k) {
  gemel_value x = gemel__hlo_operand(c, k);
  gemel_dtype dtype = (gemel_dtype)c->instr->shape.dtype;
  return gemel_is_null(x) || gemel__value_dtype(x) == dtype ? x : gemel_cast_at(x, dtype, c->where);
}

int gemel__hlo_dot(gemel__hlo_call *c, gemel__hlo_value *result) {
  gemel_dot_options o = {{0, NULL}, {0, NULL}, {0, NULL}, {0, NULL}};
  if (c->instr->n_operands != 2) {
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "it has other than two operands");
  }
  gemel_value x = take_operand(c, 0), y = take_operand(c, 1);
  return !gemel_is_null(x) && !gemel_is_null(y) &&
         take_axes(c, 0, "lhs_contracting_dims", &o.contract_x) &&
         take_axes(c, 1, "rhs_contracting_dims", &o.contract_y) &&
         take_axes(c, 0, "lhs_batch_dims", &o.batch_x) &&
         take_axes(c, 1, "rhs_batch_dims", &o.batch_y) &&
         gemel__hlo_give(result, gemel_dot_at(x, y, &o, c->where));
}
