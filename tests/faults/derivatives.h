/* SPDX-License-Identifier: MIT
 *
 * Planted faults of derivatives of scalar operations: wrong texts that are compiled in the place of
 * right ones. Included by the copy of elementwise.c.
 */
/* The K-th derivative text of ROW, perhaps a wrong one. */
static const char *derivative_text(const gemel__scalar_row *row, int k) {
#define PLANT(fault, op, input, text)                                                              \
  if (GEMEL__FAULT(fault) && row->index == GEMEL__SCALAR_##op && k == (input)) {                   \
    return text;                                                                                   \
  }
  PLANT(sub_grad_sign, sub, 1, "g")
  PLANT(tanh_grad_scale, tanh, 0, "g * (1 - sqr(r)) * 1.000001")
  PLANT(relu_grad_mask, relu, 0, "g")
  PLANT(maximum_grad_tie, maximum, 0, "where(x >= y, g, 0)")
  PLANT(pow_grad_factor, pow, 0, "g * pow(x, y - 1)")
#undef PLANT
  return row->grads[k];
}
