/* SPDX-License-Identifier: MIT
 *
 * Matrix products of ONNX, determinants, and grids that matrices turn.
 */
#include <string.h>

#include "onnx/operators.h"
#include "core/value.h"

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
    return gemel__no_value;
  }
  memcpy(equation, text.length > 0 ? (const char *)text.bytes : "", text.length);
  equation[text.length] = '\0';
  for (size_t k = 0; k < c->n_inputs; k++) {
    xs[k] = gemel__onnx_input(c, k);
  }
  return gemel_einsum_at(equation, c->n_inputs, xs, c->where);
}

/* ---- Determinants ---- */

gemel_value gemel__onnx_det(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel_dtype dtype = gemel__onnx_dtype_of(x);
  int is_half = dtype == GEMEL_F16 || dtype == GEMEL_BF16;
  x = is_half ? gemel_cast_at(x, GEMEL_F32, c->where) : x;
  x = gemel_det_at(x, c->where);
  return is_half ? gemel_cast_at(x, dtype, c->where) : x;
}

/* ---- Grids ---- */

/* SIZE places from -1 to 1: of the outer centres if CORNERS, else of the outer edges. */
static gemel_value places(gemel__onnx_call *c, gemel_value like, int64_t size, int corners) {
  gemel_arange_options options = {.dtype = gemel__onnx_dtype_of(like)};
  double step = corners ? 2 / (double)(size - 1) : 2 / (double)size;
  gemel_value k =
      gemel_arange_at(c->graph, gemel_dim_constant(c->context, size), &options, c->where);
  if (corners && size == 1) {
    return gemel_zeros_like(k);
  }
  gemel_value from = gemel_scalar_like_at(k, corners ? -1 : step / 2 - 1, c->where);
  k = gemel_mul_at(k, gemel_scalar_like_at(k, step, c->where), c->where);
  return gemel_add_at(k, from, c->where);
}

/* The places of images of SIZES as rows x, y (z), 1: [sizes..., axes + 1]. */
static gemel_value grid_of(gemel__onnx_call *c, gemel_value like, int axes, const int64_t *sizes) {
  int corners = gemel__onnx_int(c, "align_corners", 0) != 0;
  gemel_dim shape[3];
  gemel_value rows[4];
  for (int k = 0; k < axes; k++) {
    shape[k] = gemel_dim_constant(c->context, sizes[k]);
  }
  for (int k = 0; k < axes; k++) {
    int64_t order[3] = {-1, -1, -1};
    order[axes - 1 - k] = 0;
    gemel_value along = places(c, like, sizes[axes - 1 - k], corners);
    along = gemel_dimshuffle_at(along, (size_t)axes, order, c->where);
    rows[k] = gemel_broadcast_to_at(along, (size_t)axes, shape, c->where);
  }
  rows[axes] = gemel_ones_like(rows[0]);
  return gemel_stack_at((size_t)axes + 1, rows, -1, c->where);
}

/* Each place of a grid, turned by the matrices THETA [batch, axes, axes + 1]. */
gemel_value gemel__onnx_affine_grid(gemel__onnx_call *c) {
  gemel_value theta = gemel__onnx_input(c, 0);
  gemel__int_list size;
  static const int64_t last[1] = {2}, order[4][5] = {{0}, {0}, {0, 2, 3, 1}, {0, 2, 3, 4, 1}};
  if (!gemel__onnx_integers(c, 1, &size)) {
    return gemel__no_value;
  }
  if (gemel__onnx_rank(theta) != 3 || size.count < 4 || size.count > 5) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes matrices and 4 or 5 sizes");
  }
  int axes = (int)size.count - 2;
  int64_t own = axes;
  for (int k = 0; k < axes; k++) {
    if (size.values[k + 2] < 1 || size.values[k + 2] > 1 << 30) {
      return gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "a size of %lld",
                                (long long)size.values[k + 2]);
    }
  }
  gemel_dot_options options = {.contract_x = {1, last}, .contract_y = {1, &own}};
  gemel_value turned =
      gemel_dot_at(theta, grid_of(c, theta, axes, size.values + 2), &options, c->where);
  return gemel_permute_at(turned, size.count, order[axes], c->where);
}
