/* SPDX-License-Identifier: MIT
 *
 * Operations that make values from their attributes alone: input, constant, size and arange. None
 * has anything to differentiate.
 */
#include "core/dtype.h"
#include "core/error.h"
#include "cpu/walk.h"
#include "ops/facts.h"
#include "ops/rule.h"

/* ---- input ---- */

static gemel_status infer_input(gemel_infer *call) {
  gemel_dim dims[GEMEL_MAX_RANK];
  const gemel_attr *shape = &call->attrs[2];
  GEMEL__TRY(gemel__rule_dims(call, shape, dims));
  call->n_outputs = 1;
  call->outputs[0] = gemel_type_new(call->context, call->attrs[1].u.dtype, (int)shape->count, dims,
                                    (int)call->attrs[3].u.i);
  if (gemel_type_is_none(call->outputs[0])) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "malformed shape or memory space");
  }
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_input = {
    .infer = infer_input, .grad = gemel__grad_nothing, .jvp = gemel__jvp_nothing};

/* ---- constant ---- */

static gemel_status infer_constant(gemel_infer *call) {
  gemel_tensor *tensor = call->attrs[0].u.tensor;
  call->n_outputs = 1;
  call->outputs[0] = gemel_type_of_shape(call->context, gemel_tensor_dtype(tensor),
                                         gemel_tensor_rank(tensor), gemel_tensor_shape(tensor));
  return gemel_type_is_none(call->outputs[0]) ? gemel__no_memory(call->error, "a type") : GEMEL_OK;
}

static gemel_status run_constant(const gemel_kernel_call *call) {
  gemel_view value = gemel_tensor_view(call->attrs[0].u.tensor);
  gemel__copy_view(&call->outputs[0], &value);
  return GEMEL_OK;
}

static const gemel_kernel constant_kernels[] = {{"plain", NULL, run_constant}, {NULL, NULL, NULL}};

const gemel__hooks gemel__hooks_constant = {.infer = infer_constant,
                                            .grad = gemel__grad_nothing,
                                            .jvp = gemel__jvp_nothing,
                                            .kernels = constant_kernels,
                                            .cost = gemel__cost_move};

/* ---- size ---- */

static gemel_status infer_size(gemel_infer *call) {
  gemel_status status = gemel__rule_sizes(call, 0);
  return status != GEMEL_OK ? status : gemel__rule_result(call, GEMEL_I64, 0, NULL);
}

static gemel_status run_size(const gemel_kernel_call *call) {
  *(int64_t *)call->outputs[0].data = gemel__attr_int_at(&call->attrs[0], 0);
  return GEMEL_OK;
}

static const gemel_kernel size_kernels[] = {{"plain", NULL, run_size}, {NULL, NULL, NULL}};

const gemel__hooks gemel__hooks_size = {.infer = infer_size,
                                        .grad = gemel__grad_nothing,
                                        .jvp = gemel__jvp_nothing,
                                        .kernels = size_kernels};

/* ---- arange ---- */

static gemel_status infer_arange(gemel_infer *call) {
  gemel_dim n;
  gemel_dtype dtype = call->attrs[1].u.dtype;
  GEMEL__TRY(gemel__rule_sizes(call, 0));
  GEMEL__TRY(gemel__rule_dims(call, &call->attrs[0], &n));
  if (dtype == GEMEL_BOOL) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "there is no arange of dtype bool");
  }
  return gemel__rule_result(call, dtype, 1, &n);
}

#define COUNT_UP(T, convert)                                                                       \
  do {                                                                                             \
    T *out = output->data;                                                                         \
    for (int64_t i = 0; i < output->shape[0]; i++) {                                               \
      out[i] = convert(i);                                                                         \
    }                                                                                              \
  } while (0)

static gemel_status run_arange(const gemel_kernel_call *call) {
  const gemel_view *output = &call->outputs[0];
  switch (output->dtype) {
  case GEMEL_F16:
    COUNT_UP(uint16_t, gemel__f64_to_f16);
    break;
  case GEMEL_BF16:
    COUNT_UP(uint16_t, gemel__f64_to_bf16);
    break;
  case GEMEL_F32:
    COUNT_UP(float, (float));
    break;
  case GEMEL_F64:
    COUNT_UP(double, (double));
    break;
  default:
    switch (gemel_dtype_size(output->dtype)) {
    case 1:
      COUNT_UP(uint8_t, (uint8_t));
      break;
    case 2:
      COUNT_UP(uint16_t, (uint16_t));
      break;
    case 4:
      COUNT_UP(uint32_t, (uint32_t));
      break;
    default:
      COUNT_UP(uint64_t, (uint64_t));
    }
  }
  return GEMEL_OK;
}

/* 0, 1, ... in a dtype that doesn't wrap; too large for f16 it is inf. */
static unsigned arange_facts(const gemel__fact_call *call) {
  return GEMEL__NOT_NAN |
         gemel__facts_if(call->is_float || call->to == GEMEL_I64, GEMEL__NONNEGATIVE);
}

static const gemel_kernel arange_kernels[] = {{"plain", NULL, run_arange}, {NULL, NULL, NULL}};

const gemel__hooks gemel__hooks_arange = {.infer = infer_arange,
                                          .grad = gemel__grad_nothing,
                                          .jvp = gemel__jvp_nothing,
                                          .kernels = arange_kernels,
                                          .cost = gemel__cost_move,
                                          .facts = arange_facts};
