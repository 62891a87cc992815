/* SPDX-License-Identifier: MIT
 *
 * Matrix products of ONNX.
 */
#include <string.h>

#include "onnx/operators.h"

gemel_value gemel__onnx_matmul(gemel__onnx_call *c) {
  return gemel_matmul_at(gemel__onnx_input(c, 0), gemel__onnx_input(c, 1), c->where);
}

/* FACTOR x, which is x for 1. */
static gemel_value scaled(gemel__onnx_call *c, gemel_value x, double factor) {
  return factor == 1 ? x : gemel_mul_at(x, gemel_scalar_like_at(x, factor, c->where), c->where);
}

/* alpha A B + beta C, A and B transposed where the attributes say so. */
gemel_value gemel__onnx_gemm(gemel__onnx_call *c) {
  gemel_value a = gemel__onnx_input(c, 0), b = gemel__onnx_input(c, 1);
  if (gemel__onnx_rank(a) != 2 || gemel__onnx_rank(b) != 2) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes matrices");
  }
  a = gemel__onnx_int(c, "transA", 0) ? gemel_transpose_at(a, c->where) : a;
  b = gemel__onnx_int(c, "transB", 0) ? gemel_transpose_at(b, c->where) : b;
  gemel_value product =
      scaled(c, gemel_dot_at(a, b, NULL, c->where), gemel__onnx_float(c, "alpha", 1));
  double beta = gemel__onnx_float(c, "beta", 1);
  if (!gemel__onnx_given(c, 2) || beta == 0) {
    return product;
  }
  return gemel_add_at(product, scaled(c, gemel__onnx_input(c, 2), beta), c->where);
}

gemel_value gemel__onnx_einsum(gemel__onnx_call *c) {
  gemel__wire_span text = gemel__onnx_text(c, "equation");
  char *equation = gemel__onnx_room(c, text.length + 1);
  gemel_value *xs = gemel__onnx_room(c, c->n_inputs * sizeof *xs);
  if (equation == NULL || xs == NULL) {
    return (gemel_value){NULL, 0, 0};
  }
  memcpy(equation, text.length > 0 ? (const char *)text.bytes : "", text.length);
  equation[text.length] = '\0';
  for (size_t k = 0; k < c->n_inputs; k++) {
    xs[k] = gemel__onnx_input(c, k);
  }
  return gemel_einsum_at(equation, c->n_inputs, xs, c->where);
}
