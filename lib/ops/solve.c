/* SPDX-License-Identifier: MIT
 *
 * Linear systems of square matrices a[..., n, n], each with a right side b[..., n, k]: solve,
 * triangular_solve, and cholesky, det and log_abs_det of the matrices alone. How they are computed
 * is in solve-run.c. Derivatives are those of M. Giles, "An extended collection of matrix
 * derivative results for forward and reverse mode algorithmic differentiation" (2008), that of
 * cholesky as in I. Murray, "Differentiation of the Cholesky decomposition" (arXiv 1602.07527,
 * 2016); they are made of the same operations and of products, so they can be differentiated again.
 */
#include "ops/solve.h"

#include <gemel/composite.h>
#include <gemel/ops.h>
#include "core/error.h"
#include "core/value.h"
#include "ops/rule.h"

/* ---- Type rules ---- */

/* Checks that input 0 is a matrix, or several, square and of f32 or f64. */
static gemel_status check_square(const gemel_infer *call, int *rank) {
  gemel_dtype dtype = gemel__rule_dtype(call, 0);
  const gemel_dim *dims = gemel__infer_dims(call, 0, rank);
  char rows[128], columns[128];
  if (dtype != GEMEL_F32 && dtype != GEMEL_F64) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "matrices of %s; f32 and f64 are supported",
                            gemel_dtype_name(dtype));
  }
  if (*rank < 2) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "rank %d: a matrix has two axes", *rank);
  }
  if (gemel__dim_compare(call->context, dims[*rank - 2], dims[*rank - 1]) == GEMEL__DIFFERENT) {
    gemel_dim_format(call->context, dims[*rank - 2], rows, sizeof rows);
    gemel_dim_format(call->context, dims[*rank - 1], columns, sizeof columns);
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                            "a matrix of %s rows and %s columns isn't square", rows, columns);
  }
  return GEMEL_OK;
}

static gemel_status infer_solve(gemel_infer *call) {
  int rank, b_rank;
  GEMEL__TRY(check_square(call, &rank));
  GEMEL__TRY(gemel__rule_same_dtype(call, 0, 1));
  const gemel_dim *a = gemel__infer_dims(call, 0, &rank), *b = gemel__infer_dims(call, 1, &b_rank);
  if (b_rank != rank) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                            "b has rank %d and a has rank %d; a vector b needs an axis for columns",
                            b_rank, rank);
  }
  for (int k = 0; k < rank - 1; k++) {
    if (gemel__dim_compare(call->context, a[k], b[k]) == GEMEL__DIFFERENT) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "a and b differ along axis %d", k);
    }
  }
  return gemel__rule_result(call, gemel__rule_dtype(call, 1), rank, b);
}

static gemel_status infer_cholesky(gemel_infer *call) {
  int rank;
  GEMEL__TRY(check_square(call, &rank));
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), rank,
                            gemel__infer_dims(call, 0, &rank));
}

static gemel_status infer_det(gemel_infer *call) {
  int rank;
  GEMEL__TRY(check_square(call, &rank));
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), rank - 2, dims);
}

/* ---- Pieces ---- */

static gemel_value transposed(gemel_value x, gemel_location where) {
  return gemel_is_null(x) ? x : gemel_swapaxes_at(x, -2, -1, where);
}

static gemel_value product(gemel_value x, gemel_value y, gemel_location where) {
  return gemel_dot_at(x, y, NULL, where);
}

/* What is above 0 in each place below the diagonal, 0 on it, and below 0 above: the number of the
 * row less that of the column. */
static gemel_value below(gemel_value x, gemel_location where) {
  int rank;
  gemel_value ones = gemel__filled_like(x, 1, where);
  gemel__value_dims(x, &rank);
  gemel_value rows = gemel_cumsum_at(ones, &(gemel_cumsum_options){.axis = rank - 2}, where);
  gemel_value columns = gemel_cumsum_at(ones, &(gemel_cumsum_options){.axis = rank - 1}, where);
  return gemel_sub_at(rows, columns, where);
}

/* X in the places that COMPARE, of BELOW and 0, chooses, else 0. */
static gemel_value part_of(gemel_value x, const char *compare, gemel_location where) {
  if (gemel_is_null(x)) {
    return x;
  }
  gemel_value zero = gemel__filled_like(x, 0, where);
  gemel_value both[2] = {below(x, where), zero};
  return gemel_where_at(gemel_apply_at(x.graph, compare, 2, both, 0, NULL, where), x, zero, where);
}

/* The lower triangle of X, with half the diagonal. */
static gemel_value lower_half(gemel_value x, gemel_location where) {
  if (gemel_is_null(x)) {
    return x;
  }
  gemel_value half = gemel__filled_like(x, 0.5, where);
  gemel_value diagonal = gemel_mul_at(part_of(x, "eq", where), half, where);
  return gemel_add_at(part_of(x, "gt", where), diagonal, where);
}

gemel_value gemel_inv_at(gemel_value a, gemel_location where) {
  int rank;
  if (gemel_is_null(a)) {
    return a;
  }
  gemel__value_dims(a, &rank);
  gemel_value ones = gemel__filled_like(a, 1, where);
  return gemel_solve_at(a, rank < 2 ? a : part_of(ones, "eq", where), where);
}

/* ---- solve: a x = b, so a dx = db - da x ---- */

static gemel_status grad_solve(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = call->d_inputs[1] = gemel__no_value;
  if (gemel_is_null(g)) {
    return GEMEL_OK;
  }
  gemel_value back = gemel_solve_at(transposed(call->inputs[0], call->where), g, call->where);
  call->d_inputs[1] = back;
  if (call->wanted[0]) {
    gemel_value outer = product(back, transposed(call->outputs[0], call->where), call->where);
    call->d_inputs[0] = gemel_neg_at(outer, call->where);
  }
  return gemel__grad_done(call);
}

/* db - M x, where null is 0. */
static gemel_value less_product(const gemel_derive *call, gemel_value db, gemel_value m) {
  if (gemel_is_null(m)) {
    return db;
  }
  gemel_value taken = product(m, call->outputs[0], call->where);
  return gemel_is_null(db) ? gemel_neg_at(taken, call->where)
                           : gemel_sub_at(db, taken, call->where);
}

static gemel_status jvp_solve(gemel_derive *call) {
  gemel_value right = less_product(call, call->d_inputs[1], call->d_inputs[0]);
  call->d_outputs[0] =
      gemel_is_null(right) ? right : gemel_solve_at(call->inputs[0], right, call->where);
  return gemel__jvp_done(call);
}

/* ---- triangular_solve: the same, of a triangle ---- */

static gemel_value solve_again(const gemel_derive *call, gemel_value b, int turned) {
  gemel_triangular_solve_options options = {.lower = call->attrs[GEMEL__LOWER].u.i,
                                            .trans = (call->attrs[GEMEL__TRANS].u.i != 0) != turned,
                                            .unit_diagonal = call->attrs[GEMEL__UNIT_DIAGONAL].u.i};
  return gemel_triangular_solve_at(call->inputs[0], b, &options, call->where);
}

/* What of X stands where a is read. */
static gemel_value read_part(const gemel_derive *call, gemel_value x) {
  int unit = call->attrs[GEMEL__UNIT_DIAGONAL].u.i != 0;
  const char *compare =
      call->attrs[GEMEL__LOWER].u.i != 0 ? (unit ? "gt" : "ge") : (unit ? "lt" : "le");
  return part_of(x, compare, call->where);
}

static gemel_status grad_triangular_solve(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  int trans = call->attrs[GEMEL__TRANS].u.i != 0;
  call->d_inputs[0] = call->d_inputs[1] = gemel__no_value;
  if (gemel_is_null(g)) {
    return GEMEL_OK;
  }
  gemel_value back = solve_again(call, g, 1), x = call->outputs[0];
  call->d_inputs[1] = back;
  if (call->wanted[0]) {
    gemel_value outer = trans ? product(x, transposed(back, call->where), call->where)
                              : product(back, transposed(x, call->where), call->where);
    call->d_inputs[0] = read_part(call, gemel_neg_at(outer, call->where));
  }
  return gemel__grad_done(call);
}

static gemel_status jvp_triangular_solve(gemel_derive *call) {
  gemel_value da = call->d_inputs[0];
  da = gemel_is_null(da) ? da : read_part(call, da);
  da = call->attrs[GEMEL__TRANS].u.i != 0 ? transposed(da, call->where) : da;
  gemel_value right = less_product(call, call->d_inputs[1], da);
  call->d_outputs[0] = gemel_is_null(right) ? right : solve_again(call, right, 0);
  return gemel__jvp_done(call);
}

/* ---- cholesky ---- */

/* L^-1 B, or L^-T B. */
static gemel_value by_factor(const gemel_derive *call, gemel_value b, int trans) {
  gemel_triangular_solve_options options = {.lower = 1, .trans = trans};
  return gemel_triangular_solve_at(call->outputs[0], b, &options, call->where);
}

/* dl = l H(l^-1 da l^-T), where H is the lower half, and da is symmetric, as its lower triangle
 * says. */
static gemel_status jvp_cholesky(gemel_derive *call) {
  gemel_value da = call->d_inputs[0];
  if (gemel_is_null(da)) {
    call->d_outputs[0] = gemel__no_value;
    return GEMEL_OK;
  }
  da = gemel_add_at(part_of(da, "ge", call->where),
                    transposed(part_of(da, "gt", call->where), call->where), call->where);
  gemel_value left = by_factor(call, da, 0);
  gemel_value both = by_factor(call, transposed(left, call->where), 0);
  call->d_outputs[0] = product(call->outputs[0], lower_half(both, call->where), call->where);
  return gemel__jvp_done(call);
}

/* With s = l^-T H(l^T g) l^-1: an element below the diagonal stands for two, so its cotangent is
 * that of both. */
static gemel_status grad_cholesky(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = gemel__no_value;
  if (gemel_is_null(g)) {
    return GEMEL_OK;
  }
  g = product(transposed(call->outputs[0], call->where), part_of(g, "ge", call->where),
              call->where);
  g = lower_half(g, call->where);
  gemel_value left = by_factor(call, g, 1);
  gemel_value s = by_factor(call, transposed(left, call->where), 1);
  call->d_inputs[0] =
      lower_half(gemel_add_at(s, transposed(s, call->where), call->where), call->where);
  return gemel__grad_done(call);
}

/* ---- Determinants: the derivative of log |det a| is a^-T ---- */

/* X, one number for each matrix, with two axes of size 1 behind its own. */
static gemel_value with_matrix_axes(gemel_value x, gemel_location where) {
  return gemel_expand_dims_at(gemel_expand_dims_at(x, -1, where), -1, where);
}

static gemel_status grad_of_log(gemel_derive *call, gemel_value g) {
  call->d_inputs[0] = gemel__no_value;
  if (!gemel_is_null(g)) {
    call->d_inputs[0] = gemel_mul_at(
        with_matrix_axes(g, call->where),
        gemel_inv_at(transposed(call->inputs[0], call->where), call->where), call->where);
  }
  return gemel__grad_done(call);
}

static gemel_value times_det(const gemel_derive *call, gemel_value x) {
  return gemel_is_null(x) ? x : gemel_mul_at(x, call->outputs[0], call->where);
}

static gemel_status grad_det(gemel_derive *call) {
  return grad_of_log(call, times_det(call, call->d_outputs[0]));
}

static gemel_status grad_log_abs_det(gemel_derive *call) {
  return grad_of_log(call, call->d_outputs[0]);
}

/* The trace of a^-1 da. */
static gemel_value trace_of(const gemel_derive *call) {
  gemel_value da = call->d_inputs[0];
  int rank;
  if (gemel_is_null(da)) {
    return da;
  }
  gemel__value_dims(da, &rank);
  int64_t axes[2] = {rank - 2, rank - 1};
  da = part_of(gemel_solve_at(call->inputs[0], da, call->where), "eq", call->where);
  return gemel_sum_at(da, &(gemel_sum_options){.axes = {2, axes}}, call->where);
}

static gemel_status jvp_det(gemel_derive *call) {
  call->d_outputs[0] = times_det(call, trace_of(call));
  return gemel__jvp_done(call);
}

static gemel_status jvp_log_abs_det(gemel_derive *call) {
  call->d_outputs[0] = trace_of(call);
  return gemel__jvp_done(call);
}

/* ---- Hooks ---- */

static gemel_status normalize_flags(gemel_normalize *call) {
  for (size_t k = 0; k < call->n_attrs; k++) {
    call->attrs[k].u.i = call->attrs[k].u.i != 0;
  }
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_solve = {.infer = infer_solve,
                                         .grad = grad_solve,
                                         .jvp = jvp_solve,
                                         .kernels = gemel__solve_kernels,
                                         .cost = gemel__solve_cost};
const gemel__hooks gemel__hooks_triangular_solve = {.infer = infer_solve,
                                                    .grad = grad_triangular_solve,
                                                    .jvp = jvp_triangular_solve,
                                                    .kernels = gemel__triangular_solve_kernels,
                                                    .cost = gemel__solve_cost,
                                                    .normalize = normalize_flags};
const gemel__hooks gemel__hooks_cholesky = {.infer = infer_cholesky,
                                            .grad = grad_cholesky,
                                            .jvp = jvp_cholesky,
                                            .kernels = gemel__cholesky_kernels,
                                            .cost = gemel__solve_cost};
const gemel__hooks gemel__hooks_det = {.infer = infer_det,
                                       .grad = grad_det,
                                       .jvp = jvp_det,
                                       .kernels = gemel__det_kernels,
                                       .cost = gemel__solve_cost};
const gemel__hooks gemel__hooks_log_abs_det = {.infer = infer_det,
                                               .grad = grad_log_abs_det,
                                               .jvp = jvp_log_abs_det,
                                               .kernels = gemel__log_abs_det_kernels,
                                               .cost = gemel__solve_cost};
