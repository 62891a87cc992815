/* SPDX-License-Identifier: MIT
 *
 * bitcast: the bits of an element taken for another dtype's, of as many bits. The result is the
 * input's memory, seen otherwise. Bits are no function of the numbers that could have a slope, so
 * derivatives are none. A bool can't be a result, for of its byte only 0 and 1 are bools.
 */
#include <string.h>
#include <gemel/ops.h>
#include "core/error.h"
#include "core/strided.h"
#include "ops/batch.h"
#include "ops/rule.h"

static gemel_status infer_bitcast(gemel_infer *call) {
  int rank;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  gemel_dtype from = gemel__rule_dtype(call, 0), to = call->attrs[0].u.dtype;
  if ((unsigned)to >= GEMEL_DTYPE_COUNT) {
    return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT, "there is no dtype %d", (int)to);
  }
  if (gemel_dtype_size(from) != gemel_dtype_size(to)) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "%s has %d bits, %s has %d",
                            gemel_dtype_name(from), 8 * (int)gemel_dtype_size(from),
                            gemel_dtype_name(to), 8 * (int)gemel_dtype_size(to));
  }
  if (to == GEMEL_BOOL && from != GEMEL_BOOL) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE,
                            "the bits of %s may be none of a bool; ne(x, 0) makes bools",
                            gemel_dtype_name(from));
  }
  return gemel__rule_result(call, to, rank, dims);
}

static gemel_status view_bitcast(const gemel_kernel_call *call, int64_t *shape, int64_t *strides,
                                 int64_t *offset) {
  const gemel_view *x = &call->inputs[0];
  memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
  memcpy(strides, x->strides, (size_t)x->rank * sizeof *strides);
  *offset = 0;
  return GEMEL_OK;
}

static gemel_status run_bitcast(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  gemel__copy_strided((size_t)gemel__view_item(x), out->rank, out->shape, out->data, out->strides,
                      x->data, x->strides);
  return GEMEL_OK;
}

static gemel_status batch_bitcast(gemel__batch *call) {
  call->output = gemel_bitcast_at(call->inputs[0], call->values[0].u.dtype, call->where);
  return GEMEL_OK;
}

static const gemel_kernel kernels[] = {{"plain", NULL, run_bitcast}, {NULL, NULL, NULL}};

const gemel__hooks gemel__hooks_bitcast = {.infer = infer_bitcast,
                                           .grad = gemel__grad_nothing,
                                           .jvp = gemel__jvp_nothing,
                                           .kernels = kernels,
                                           .view = view_bitcast,
                                           .cost = gemel__cost_move,
                                           .batch = batch_bitcast};
