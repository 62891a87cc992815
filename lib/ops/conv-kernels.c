/* SPDX-License-Identifier: MIT
 *
 * The kernels of the three convolutions, made from the rows of conv.def.
 */
#include "ops/conv.h"

/* 1 if a call asks for at least so many multiplications, and SUITS; where timing decides, always.
 */
static int asks_for(const gemel_kernel_call *call, gemel__conv_kind kind, double least,
                    int (*suits)(const gemel__conv *g, const gemel_view *const operands[3])) {
  const gemel_view *operands[3];
  gemel__conv g;
  gemel__conv_of(call, kind, &g, operands);
  return call->timed || (gemel__conv_work(&g) >= least && suits(&g, operands));
}

#define KERNEL(name, least, operation, kind)                                                       \
  static gemel_status prepare_##operation##_by_##name(gemel_kernel_call *call) {                   \
    return asks_for(call, kind, least, gemel__conv_##name##_suits)                                 \
               ? gemel__conv_##name##_prepare(call, kind)                                          \
               : GEMEL_DECLINED;                                                                   \
  }                                                                                                \
  static gemel_status run_##operation##_by_##name(const gemel_kernel_call *call) {                 \
    return gemel__conv_##name##_run(call, kind);                                                   \
  }
#define ALGORITHM(name, least, channels_last)                                                      \
  KERNEL(name, least, corr, GEMEL__CONV_FORWARD)                                                   \
  KERNEL(name, least, corr_grad_weights, GEMEL__CONV_WEIGHTS)                                      \
  KERNEL(name, least, corr_grad_inputs, GEMEL__CONV_INPUTS)
#include "ops/conv.def"
#undef ALGORITHM

#define ALGORITHM(name, least, channels_last) {#name, prepare_corr_by_##name, run_corr_by_##name},
const gemel_kernel gemel__corr_kernels[] = {
#include "ops/conv.def"
    {NULL, NULL, NULL}};
#undef ALGORITHM

#define ALGORITHM(name, least, channels_last)                                                      \
  {#name, prepare_corr_grad_weights_by_##name, run_corr_grad_weights_by_##name},
const gemel_kernel gemel__corr_grad_weights_kernels[] = {
#include "ops/conv.def"
    {NULL, NULL, NULL}};
#undef ALGORITHM

#define ALGORITHM(name, least, channels_last)                                                      \
  {#name, prepare_corr_grad_inputs_by_##name, run_corr_grad_inputs_by_##name},
const gemel_kernel gemel__corr_grad_inputs_kernels[] = {
#include "ops/conv.def"
    {NULL, NULL, NULL}};
#undef ALGORITHM

/* Half types are brought to f32 in row-major order. */
static int prefers_channels_last(const gemel_kernel_call *call, gemel__conv_kind kind) {
  if (call->outputs[0].dtype == GEMEL_F16 || call->outputs[0].dtype == GEMEL_BF16) {
    return 0;
  }
#define ALGORITHM(name, least, channels_last)                                                      \
  if (asks_for(call, kind, least, gemel__conv_##name##_suits)) {                                   \
    return channels_last;                                                                          \
  }
#include "ops/conv.def"
#undef ALGORITHM
  return 0;
}

int gemel__corr_channels_last(const gemel_kernel_call *call) {
  return prefers_channels_last(call, GEMEL__CONV_FORWARD);
}
int gemel__corr_grad_inputs_channels_last(const gemel_kernel_call *call) {
  return prefers_channels_last(call, GEMEL__CONV_INPUTS);
}
