/*
 * What the device "cuda" asks of cuDNN, asked of NVIDIA's own library, which plans for a GPU that
 * isn't there: it takes every descriptor, for operands in all layouts, and has an engine for nearly
 * every convolution. This program has cuDNN's functions itself, in place of the sim's; they hand on
 * what they are told, but for the handle, which there isn't without a GPU. Skipped where NVIDIA's
 * library isn't.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/cuda.h>
#include "kernels/conv-algorithms.h"

static gemel_error error;

#include "support/conv-grid.h"
#include "support/random.h"
#include "support/real-cudnn.h"

static cudnn_library real;
static long refused; /* descriptors that are wrong */

/* ---- cuDNN's functions ---- */

static cudnnStatus_t note(cudnnStatus_t status) {
  refused += status >= CUDNN_STATUS_BAD_PARAM && status < CUDNN_STATUS_NOT_SUPPORTED;
  return status;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  *handle = (cudnnHandle_t)(void *)&real;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  (void)handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  (void)handle, (void)stream;
  return CUDNN_STATUS_NOT_SUPPORTED;
}

const char *cudnnGetErrorString(cudnnStatus_t status) {
  return real.text(status);
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind,
                                           cudnnBackendDescriptor_t *descriptor) {
  return note(real.create(kind, descriptor));
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return note(real.destroy(descriptor));
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return note(real.finish(descriptor));
}

static cudnnStatus_t set_device(cudnnBackendDescriptor_t descriptor, int name) {
  return note(real.set(descriptor, (cudnnBackendAttributeName_t)name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                       1, &real.no_device));
}

/* The GPU's properties stand for the handle. */
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values) {
  if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE) {
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE) {
    return set_device(descriptor, PLAN_DEVICEPROP);
  }
  if (name == CUDNN_ATTR_ENGINEHEUR_MODE) {
    set_device(descriptor, ENGINEHEUR_DEVICEPROP);
  }
  return note(real.set(descriptor, name, type, count, values));
}

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room,
                                       int64_t *count, void *values) {
  return note(real.get(descriptor, name, type, room, count, values));
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  (void)handle, (void)plan, (void)pack;
  return CUDNN_STATUS_NOT_SUPPORTED;
}

/* ---- Plans ---- */

enum { CASES = 400, LEAST_PERCENT = 98 };

/* Another layout for OPERAND: its axes in another order, perhaps with gaps, backwards or broadcast.
 */
static void lay_out(grid_operand *operand) {
  int rank = operand->view.rank, gaps = bits64() % 3 == 0, from = (int)(bits64() % (unsigned)rank);
  int64_t step = (int64_t)gemel_dtype_size(operand->view.dtype);
  for (int n = 0; n < rank; n++) {
    int k = (from + n) % rank;
    operand->strides[k] = step;
    step *= operand->shape[k] + (gaps ? (int64_t)(bits64() % 3) : 0);
  }
  int64_t *one = &operand->strides[bits64() % (unsigned)rank];
  *one *= bits64() % 5 == 0 ? -1 : bits64() % 5 == 0 ? 0 : 1;
}

/* Whether a convolution of P's shapes is planned. */
static int is_planned(grid_problem *p, gemel__conv_kind kind, const gemel_device *device) {
  char kept[GEMEL_KERNEL_PREPARED_BYTES] = {0};
  gemel_attr attrs[GEMEL__CONV_SIZES + 1];
  gemel_view inputs[2];
  gemel_kernel_call call = {.size = sizeof call,
                            .n_inputs = 2,
                            .inputs = inputs,
                            .n_outputs = 1,
                            .outputs = &p->operand[kind].view,
                            .attrs = attrs,
                            .threads = 1,
                            .deterministic = (int)(bits64() % 2),
                            .prepared = kept,
                            .device = device,
                            .error = &error};
  for (int k = 0; k < 2; k++) {
    lay_out(&p->operand[operands_of[kind][k]]);
    inputs[k] = p->operand[operands_of[kind][k]].view;
  }
  attributes(&p->c, kind, attrs);
  gemel_status status = gemel__cuda_conv_cudnn_prepare(&call, kind);
  if (status == GEMEL_OK) {
    call.release(kept);
  }
  CT_CHECK(status == GEMEL_OK || status == GEMEL_DECLINED);
  return status == GEMEL_OK;
}

/* Whether cuDNN is to be asked: not for halves, nor for gradients by weights of uneven padding. */
static int is_wanted(const grid_problem *p, gemel__conv_kind kind) {
  return p->operand[0].view.dtype == GEMEL_F32 &&
         !(kind == GEMEL__CONV_WEIGHTS && p->c.padding == 3);
}

static void plans(const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_F32, GEMEL_F32, GEMEL_F32, GEMEL_F16, GEMEL_BF16};
  static grid_problem p;
  int asked = 0, planned = 0;
  (void)data;
  if (!open_real(&real)) {
    CT_SKIP("NVIDIA's cuDNN, 9.8 or later, is not beside the toolkit, or sanitizers are");
  }
  gemel_cuda *cuda = gemel_cuda_open(0, &error);
  CT_REQUIRE(cuda != NULL);
  for (int cases = 0; cases < CASES;) {
    uint64_t number = bits64() % whole_grid, random = number;
    if (!draw_case(number, &p.c)) {
      continue;
    }
    for (int kind = 0; kind < 3; kind++) {
      draw_operands(&p, dtypes[bits64() % CT_COUNT(dtypes)], &random);
      int was = is_planned(&p, (gemel__conv_kind)kind, gemel_cuda_device(cuda));
      ct_context("%s", describe(&p.c, was ? "cudnn" : "none", (gemel__conv_kind)kind,
                                p.operand[0].view.dtype));
      CT_EQ_INT(refused, 0);
      refused = 0;
      if (is_wanted(&p, (gemel__conv_kind)kind)) {
        planned += was;
        asked++;
      } else if (p.operand[0].view.dtype != GEMEL_F32) {
        CT_CHECK(!was);
      }
    }
    cases++;
  }
  gemel_cuda_close(cuda);
  real.destroy(real.no_device);
  printf("  %d of %d planned\n", planned, asked);
  CT_CHECK(100 * planned >= LEAST_PERCENT * asked);
}

void ct_register(void) {
  CT_ADD("cudnn_plans", "plans", plans, NULL);
}
