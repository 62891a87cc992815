/* SPDX-License-Identifier: MIT
 *
 * cumsum adds up along an axis, argsort says in which order elements are along it. An element of x
 * is in all sums from its own on, so its cotangent is the sum of theirs from the other end. An
 * order is constant but where it jumps.
 */
#include <gemel/ops.h>
#include "core/error.h"
#include "core/value.h"
#include "ops/along.h"
#include "ops/facts.h"
#include "ops/rule.h"

/* ---- Type rules ---- */

static gemel_status infer_along(gemel_infer *call, gemel_dtype dtype) {
  int rank;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  if (gemel__axis(call->attrs[0].u.i, rank) < 0) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "axis %lld is out of range for rank %d",
                            (long long)call->attrs[0].u.i, rank);
  }
  return gemel__rule_result(call, dtype, rank, dims);
}

static gemel_status infer_cumsum(gemel_infer *call) {
  gemel_dtype dtype = gemel__rule_dtype(call, 0);
  gemel_kind kind = gemel_dtype_kind(dtype);
  return infer_along(call, kind == GEMEL_KIND_FLOAT      ? dtype
                           : kind == GEMEL_KIND_UNSIGNED ? GEMEL_U64
                                                         : GEMEL_I64);
}

static gemel_status infer_argsort(gemel_infer *call) {
  return infer_along(call, GEMEL_I64);
}

/* ---- Derivatives ---- */

static gemel_value add_up(const gemel_derive *call, gemel_value x, int turned) {
  gemel_cumsum_options options = {.axis = call->attrs[0].u.i,
                                  .exclusive = call->attrs[1].u.i,
                                  .reverse = (call->attrs[2].u.i != 0) != turned};
  return gemel_is_null(x) ? x : gemel_cumsum_at(x, &options, call->where);
}

static int is_float(gemel_value x) {
  return !gemel_is_null(x) && gemel_dtype_kind(gemel__value_dtype(x)) == GEMEL_KIND_FLOAT;
}

static gemel_status grad_cumsum(gemel_derive *call) {
  call->d_inputs[0] =
      is_float(call->d_outputs[0]) ? add_up(call, call->d_outputs[0], 1) : gemel__no_value;
  return gemel__grad_done(call);
}

static gemel_status jvp_cumsum(gemel_derive *call) {
  call->d_outputs[0] =
      is_float(call->d_inputs[0]) ? add_up(call, call->d_inputs[0], 0) : gemel__no_value;
  return gemel__jvp_done(call);
}

/* ---- Hooks ---- */

static gemel_status normalize_cumsum(gemel_normalize *call) {
  gemel__normal_axis(call, 0);
  call->attrs[1].u.i = call->attrs[1].u.i != 0;
  call->attrs[2].u.i = call->attrs[2].u.i != 0;
  return GEMEL_OK;
}

static gemel_status normalize_argsort(gemel_normalize *call) {
  gemel__normal_axis(call, 0);
  call->attrs[1].u.i = call->attrs[1].u.i != 0;
  return GEMEL_OK;
}

/* Sums of what isn't below 0, as sum has them. */
static unsigned cumsum_facts(const gemel__fact_call *call) {
  unsigned x = call->of[0];
  return gemel__facts_if(call->from == GEMEL_BOOL, GEMEL__NONNEGATIVE) |
         gemel__facts_if(call->is_float && (x & GEMEL__NONNEGATIVE),
                         x & (GEMEL__NONNEGATIVE | GEMEL__NOT_NAN));
}

static void cost_cumsum(const gemel_kernel_call *call, double *flops, double *bytes) {
  gemel__cost_move(call, flops, bytes);
  *flops = (double)gemel__view_elements(&call->outputs[0]);
}

/* About 16 comparisons for each element. */
static void cost_argsort(const gemel_kernel_call *call, double *flops, double *bytes) {
  gemel__cost_move(call, flops, bytes);
  *flops = 16 * (double)gemel__view_elements(&call->outputs[0]);
}

const gemel__hooks gemel__hooks_cumsum = {.infer = infer_cumsum,
                                          .grad = grad_cumsum,
                                          .jvp = jvp_cumsum,
                                          .kernels = gemel__cumsum_kernels,
                                          .cost = cost_cumsum,
                                          .normalize = normalize_cumsum,
                                          .facts = cumsum_facts};
const gemel__hooks gemel__hooks_argsort = {.infer = infer_argsort,
                                           .grad = gemel__grad_nothing,
                                           .jvp = gemel__jvp_nothing,
                                           .kernels = gemel__argsort_kernels,
                                           .cost = cost_argsort,
                                           .normalize = normalize_argsort,
                                           .facts = gemel__facts_nonnegative};
