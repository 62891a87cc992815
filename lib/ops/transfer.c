/* SPDX-License-Identifier: MIT
 *
 * transfer: the same elements in another memory space, and the only operation whose result lies in
 * another than its input. Between two devices the plan moves the bytes (run/plan-move.c), and no
 * kernel is asked; within one the result is the input's memory, seen as it is.
 */
#include <string.h>
#include <gemel/ops.h>
#include "core/strided.h"
#include "ops/rule.h"

static gemel_status infer_transfer(gemel_infer *call) {
  int rank;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  int64_t space = call->attrs[0].u.i;
  if (space < 0 || space > 255) {
    return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT, "memory space %lld is outside 0..255",
                            (long long)space);
  }
  call->n_outputs = 1;
  call->outputs[0] =
      gemel_type_new(call->context, gemel__rule_dtype(call, 0), rank, dims, (int)space);
  return gemel_type_is_none(call->outputs[0]) ? gemel__no_memory(call->error, "a type") : GEMEL_OK;
}

static int64_t space_of(gemel_value value) {
  return gemel_type_space(gemel_graph_context(value.graph), gemel_value_type(value));
}

static gemel_status grad_transfer(gemel_derive *call) {
  if (!gemel_is_null(call->d_outputs[0])) {
    call->d_inputs[0] =
        gemel_transfer_at(call->d_outputs[0], space_of(call->inputs[0]), call->where);
  }
  return gemel__grad_done(call);
}

static gemel_status jvp_transfer(gemel_derive *call) {
  if (!gemel_is_null(call->d_inputs[0])) {
    call->d_outputs[0] = gemel_transfer_at(call->d_inputs[0], call->attrs[0].u.i, call->where);
  }
  return gemel__jvp_done(call);
}

static gemel_status view_transfer(const gemel_kernel_call *call, int64_t *shape, int64_t *strides,
                                  int64_t *offset) {
  const gemel_view *x = &call->inputs[0];
  memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
  memcpy(strides, x->strides, (size_t)x->rank * sizeof *strides);
  *offset = 0;
  return GEMEL_OK;
}

static gemel_status run_transfer(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  gemel__copy_strided((size_t)gemel__view_item(x), out->rank, out->shape, out->data, out->strides,
                      x->data, x->strides);
  return GEMEL_OK;
}

static const gemel_kernel kernels[] = {{"plain", NULL, run_transfer}, {NULL, NULL, NULL}};

const gemel__hooks gemel__hooks_transfer = {.infer = infer_transfer,
                                            .grad = grad_transfer,
                                            .jvp = jvp_transfer,
                                            .kernels = kernels,
                                            .view = view_transfer,
                                            .cost = gemel__cost_move,
                                            .moves = 1};
