/* SPDX-License-Identifier: MIT
 *
 * The three convolutions of f32 by cuDNN's backend API. A plan keeps a graph of one
 * operation with the engine that cuDNN likes best among those that round nothing but products and
 * sums in f32 (no TF32, no Winograd, no FFT), once for operands at multiples of 16 bytes and once
 * for others, since where a call's operands lie isn't known when it is planned. Operands that
 * overlap themselves or go backwards are copied first. All memory is the call's scratch memory.
 * Where cuDNN isn't there, or has no engine, the convolution is declined. So are halves: on an H100
 * some of its engines (9.19) take more than one rounding to f16, and lose infinities.
 */
#include <limits.h>
#include <string.h>
#include "cuda/cuda.h"
#include "kernels/conv-algorithms.h"

/* Its choice of engines is better than ours, whatever the shape. */
int gemel__cuda_conv_cudnn_suits(const gemel__conv *g) {
  (void)g;
  return 1;
}

#ifndef GEMEL__CUDNN

gemel_status gemel__cuda_conv_cudnn_prepare(gemel_kernel_call *call, gemel__conv_kind kind) {
  (void)call, (void)kind;
  return GEMEL_DECLINED;
}
gemel_status gemel__cuda_conv_cudnn_run(const gemel_kernel_call *call, gemel__conv_kind kind) {
  (void)call, (void)kind;
  return GEMEL_DECLINED;
}
void gemel__cuda_cudnn_close(gemel_cuda *cuda) {
  (void)cuda;
}

#else

#include <cudnn.h>

enum { X, W, Y, OPERANDS, ALIGNMENTS = 2, MOST_AXES = GEMEL__SPATIAL_AXES, MOST_CONFIGS = 64 };
enum { NOWHERE = -1, LEAST_AXES = 2, LOAD_BYTES = 16, PLACE = 256 };
static const int64_t most_workspace = 1ll << 30; /* bytes */

/* What a plan of cuDNN's refers to, all of it kept until the end. */
typedef struct graph_plan {
  cudnnBackendDescriptor_t tensors[OPERANDS], convolution, operation, graph, config, plan;
  int64_t workspace; /* bytes */
} graph_plan;

typedef struct cudnn_plan {
  const gemel_cuda *cuda;
  graph_plan graphs[ALIGNMENTS]; /* for operands that are aligned, and for any */
  int32_t packed_at[OPERANDS];   /* in scratch memory, in PLACEs; NOWHERE: the operand serves */
  int32_t workspace_at;
} cudnn_plan;

_Static_assert(sizeof(cudnn_plan) <= GEMEL_KERNEL_PREPARED_BYTES,
               "the plan must fit what a kernel may keep");

/* ---- Statuses ---- */

/* For want of memory a call fails; all else means that another algorithm must do it. */
static gemel_status check(gemel_error *error, cudnnStatus_t result) {
  if (result == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      result == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    gemel__cuda_forget_error();
    return gemel__cuda_fail(error, GEMEL_NO_MEMORY, "out of memory for a convolution by cuDNN");
  }
  if (result >= CUDNN_STATUS_INTERNAL_ERROR) { /* those below are cuDNN's opinion, not CUDA's */
    gemel__cuda_forget_error();
  }
  return result == CUDNN_STATUS_SUCCESS ? GEMEL_OK : GEMEL_DECLINED;
}

/* ---- The handle ---- */

/* The device's handle, made when it is first wanted: cuDNN takes long to load. */
static gemel_status open_handle(gemel_cuda *cuda, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  pthread_mutex_lock(&cuda->cudnn_lock);
  if (cuda->cudnn == NULL && !cuda->no_cudnn) {
    cudnnHandle_t handle = NULL;
    status = check(error, cudnnCreate(&handle));
    cuda->cudnn = handle;
    cuda->no_cudnn = status == GEMEL_DECLINED;
  }
  status = cuda->no_cudnn ? GEMEL_DECLINED : status;
  pthread_mutex_unlock(&cuda->cudnn_lock);
  return status;
}

void gemel__cuda_cudnn_close(gemel_cuda *cuda) {
  if (cuda->cudnn != NULL) {
    check(NULL, cudnnDestroy(cuda->cudnn));
  }
}

/* ---- Descriptors ---- */

/* Sets an attribute of D, unless *RESULT tells of an earlier failure. */
static void set(cudnnStatus_t *result, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  if (*result == CUDNN_STATUS_SUCCESS) {
    *result = cudnnBackendSetAttribute(d, name, type, count, values);
  }
}

static void begin(cudnnStatus_t *result, cudnnBackendDescriptor_t *d,
                  cudnnBackendDescriptorType_t kind) {
  if (*result == CUDNN_STATUS_SUCCESS) {
    *result = cudnnBackendCreateDescriptor(kind, d);
  }
}

static void finish(cudnnStatus_t *result, cudnnBackendDescriptor_t d) {
  if (*result == CUDNN_STATUS_SUCCESS) {
    *result = cudnnBackendFinalize(d);
  }
}

static void destroy(cudnnBackendDescriptor_t d) {
  if (d != NULL) {
    check(NULL, cudnnBackendDestroyDescriptor(d));
  }
}

static void destroy_graph(graph_plan *g) {
  cudnnBackendDescriptor_t all[] = {g->plan, g->config, g->graph, g->operation, g->convolution};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    destroy(all[k]);
  }
  for (int k = 0; k < OPERANDS; k++) {
    destroy(g->tensors[k]);
  }
  memset(g, 0, sizeof *g);
}

/* ---- Layouts ---- */

static int64_t bytes_of(const gemel_view *view) {
  int64_t bytes = (int64_t)gemel_dtype_size(view->dtype);
  for (int k = 0; k < view->rank; k++) {
    bytes *= view->shape[k];
  }
  return bytes;
}

/* Whether cuDNN can address VIEW: going by strides, each axis steps over all of the one before, and
 * between weights there are no gaps. */
static int addressable(const gemel_view *view, int is_weights) {
  int64_t item = (int64_t)gemel_dtype_size(view->dtype), reach = item;
  unsigned done = 0;
  for (int n = 0; n < view->rank; n++) {
    int least = -1;
    for (int k = 0; k < view->rank; k++) {
      if (!(done >> k & 1) && (least < 0 || view->strides[k] < view->strides[least])) {
        least = k;
      }
    }
    done |= 1u << least;
    if (view->shape[least] > 1) {
      if (view->strides[least] % item != 0 || view->strides[least] < reach) {
        return 0;
      }
      reach = view->shape[least] * view->strides[least];
    }
  }
  return !is_weights || reach == bytes_of(view);
}

/* Dimensions and strides, in elements, of an operand with one more axis of size 1 where it has a
 * single spatial one, since engines are made for two or three. Returns the rank. */
static int layout_of(const gemel_view *view, int packed, int64_t *dims, int64_t *strides) {
  int64_t item = (int64_t)gemel_dtype_size(view->dtype), dense = 1;
  int more = view->rank - 2 < LEAST_AXES, rank = view->rank + more;
  for (int k = rank - 1; k >= 0; k--) {
    int from = k < 2 ? k : k - more;
    int is_new = more && k == 2;
    dims[k] = is_new ? 1 : view->shape[from];
    strides[k] = packed || dims[k] == 1 ? dense : view->strides[from] / item;
    dense = packed ? dense * dims[k] : dims[k] == 1 ? dense : strides[k] * dims[k];
  }
  return rank;
}

static void describe_tensor(cudnnStatus_t *result, const gemel_view *view, int packed, int which,
                            int64_t alignment, cudnnBackendDescriptor_t *made) {
  int64_t dims[GEMEL_MAX_RANK + 1], strides[GEMEL_MAX_RANK + 1], id = 1 + which;
  int rank = layout_of(view, packed, dims, strides);
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  begin(result, made, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(result, *made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(result, *made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, dims);
  set(result, *made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, strides);
  set(result, *made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  set(result, *made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  finish(result, *made);
}

/* ---- The graph ---- */

static void describe_convolution(cudnnStatus_t *result, const gemel__conv *g,
                                 cudnnBackendDescriptor_t *made) {
  int64_t axes = g->axes < LEAST_AXES ? LEAST_AXES : g->axes;
  int from = MOST_AXES - (int)axes;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = g->flip ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION;
  const int64_t *low = g->low;
  const int64_t *high = g->high;
  const int64_t *stride = g->stride;
  const int64_t *dilation = g->dilation;
  begin(result, made, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(result, *made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &axes);
  set(result, *made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(result, *made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  set(result, *made, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, axes, dilation + from);
  set(result, *made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, axes, stride + from);
  set(result, *made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, axes, low + from);
  set(result, *made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, axes, high + from);
  finish(result, *made);
}

/* What cuDNN calls the operation of each kind, and its operands x, w, y. */
typedef struct operation_names {
  cudnnBackendDescriptorType_t kind;
  cudnnBackendAttributeName_t operands[OPERANDS], convolution, alpha, beta;
} operation_names;

#define NAMES(kind, prefix, x, w, y)                                                               \
  {                                                                                                \
    CUDNN_BACKEND_OPERATION_CONVOLUTION_##kind##_DESCRIPTOR,                                       \
        {CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##x,                                          \
         CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##w,                                          \
         CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##y},                                         \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_CONV_DESC,                                     \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_ALPHA,                                         \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_BETA                                           \
  }
static const operation_names names[] = {
    [GEMEL__CONV_FORWARD] = NAMES(FORWARD, FORWARD, X, W, Y),
    [GEMEL__CONV_WEIGHTS] = NAMES(BACKWARD_FILTER, BWD_FILTER, X, DW, DY),
    [GEMEL__CONV_INPUTS] = NAMES(BACKWARD_DATA, BWD_DATA, DX, W, DY),
};

static void describe_graph(cudnnStatus_t *result, cudnnHandle_t handle, gemel__conv_kind kind,
                           graph_plan *g) {
  const operation_names *n = &names[kind];
  const float alpha = 1, beta = 0;
  begin(result, &g->operation, n->kind);
  for (int k = 0; k < OPERANDS; k++) {
    set(result, g->operation, n->operands[k], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g->tensors[k]);
  }
  set(result, g->operation, n->convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g->convolution);
  set(result, g->operation, n->alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
  set(result, g->operation, n->beta, CUDNN_TYPE_FLOAT, 1, &beta);
  finish(result, g->operation);
  begin(result, &g->graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(result, g->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
      &g->operation);
  set(result, g->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  finish(result, g->graph);
}

/* ---- Engines ---- */

/* Whether an engine with this note computes what is meant: products and sums in f32, rounded once.
 * An f32 that tensor cores take loses bits, as a TF32; transforms round on their way. */
static int note_fits(cudnnBackendNumericalNote_t note, const gemel_kernel_call *call) {
  switch (note) {
  case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
    return call->matmul_precision != GEMEL_PRECISION_IEEE;
  case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
    return 1;
  case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
    return !call->deterministic;
  default:
    return 0;
  }
}

static int engine_fits(cudnnBackendDescriptor_t config, const gemel_kernel_call *call) {
  enum { MOST_NOTES = 32 };
  cudnnStatus_t result = CUDNN_STATUS_SUCCESS;
  cudnnBackendDescriptor_t engine = NULL;
  cudnnBackendNumericalNote_t notes[MOST_NOTES];
  int64_t count = 0;
  int fits;
  begin(&result, &engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  if (result == CUDNN_STATUS_SUCCESS) {
    result = cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
  }
  if (result == CUDNN_STATUS_SUCCESS) {
    result = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                      CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, &count, notes);
  }
  fits = check(NULL, result) == GEMEL_OK;
  for (int64_t k = 0; k < count && fits; k++) {
    fits = note_fits(notes[k], call);
  }
  destroy(engine);
  return fits;
}

/* Makes the plan of CONFIG, whose workspace must not be too large. */
static cudnnStatus_t make_plan(cudnnHandle_t handle, cudnnBackendDescriptor_t config,
                               graph_plan *g) {
  cudnnStatus_t result = CUDNN_STATUS_SUCCESS;
  int64_t count = 0;
  begin(&result, &g->plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set(&result, g->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  set(&result, g->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
      &config);
  finish(&result, g->plan);
  if (result == CUDNN_STATUS_SUCCESS) {
    result = cudnnBackendGetAttribute(g->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                      CUDNN_TYPE_INT64, 1, &count, &g->workspace);
  }
  if (result == CUDNN_STATUS_SUCCESS && g->workspace > most_workspace) {
    result = CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (result != CUDNN_STATUS_SUCCESS) {
    destroy(g->plan);
    g->plan = NULL;
  }
  return result;
}

/* Tries what the heuristics offer, the best first. */
static cudnnStatus_t choose(const gemel_kernel_call *call, cudnnHandle_t handle, int64_t count,
                            cudnnBackendDescriptor_t *configs, graph_plan *g) {
  cudnnStatus_t result = CUDNN_STATUS_NOT_SUPPORTED;
  for (int64_t k = 0; k < count && g->plan == NULL; k++) {
    if (!engine_fits(configs[k], call)) {
      continue;
    }
    result = make_plan(handle, configs[k], g);
    if (result == CUDNN_STATUS_SUCCESS) {
      g->config = configs[k];
      configs[k] = NULL;
    } else if (check(NULL, result) == GEMEL_NO_MEMORY) {
      break;
    }
  }
  return result;
}

/* A plan of what the heuristics of MODE offer, if there is one that fits. */
static void ask_heuristics(cudnnStatus_t *result, const gemel_kernel_call *call,
                           cudnnHandle_t handle, cudnnBackendHeurMode_t mode, graph_plan *g) {
  cudnnBackendDescriptor_t heuristic = NULL, configs[MOST_CONFIGS] = {NULL};
  int64_t count = 0;
  begin(result, &heuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(result, heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
      &g->graph);
  set(result, heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  finish(result, heuristic);
  for (int k = 0; k < MOST_CONFIGS; k++) {
    begin(result, &configs[k], CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  }
  if (*result == CUDNN_STATUS_SUCCESS) {
    *result =
        cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST_CONFIGS, &count, configs);
  }
  if (*result == CUDNN_STATUS_SUCCESS) {
    *result = choose(call, handle, count, configs, g);
  }
  for (int k = 0; k < MOST_CONFIGS; k++) {
    destroy(configs[k]);
  }
  destroy(heuristic);
}

/* Where the heuristics know no engine that fits, those of cuDNN's list for that. */
static void find_plan(cudnnStatus_t *result, const gemel_kernel_call *call, cudnnHandle_t handle,
                      graph_plan *g) {
  cudnnStatus_t before = *result;
  ask_heuristics(result, call, handle, CUDNN_HEUR_MODE_A, g);
  if (before == CUDNN_STATUS_SUCCESS && g->plan == NULL && check(NULL, *result) == GEMEL_DECLINED) {
    *result = CUDNN_STATUS_SUCCESS;
    ask_heuristics(result, call, handle, CUDNN_HEUR_MODE_FALLBACK, g);
  }
}

/* ---- The plan ---- */

static void release(void *prepared) {
  cudnn_plan plan;
  int before;
  memcpy(&plan, prepared, sizeof plan);
  gemel__cuda_enter(plan.cuda, &before, NULL);
  for (int k = 0; k < ALIGNMENTS; k++) {
    destroy_graph(&plan.graphs[k]);
  }
  gemel__cuda_leave(plan.cuda, before);
}

/* PLACEs of scratch memory for BYTES, behind those that the call has. */
static int32_t place(gemel_kernel_call *call, int64_t bytes) {
  int32_t at = (int32_t)(call->scratch_bytes / PLACE);
  call->scratch_bytes += ((size_t)bytes + PLACE - 1) / PLACE * PLACE;
  return at;
}

static int result_of(gemel__conv_kind kind) {
  return kind == GEMEL__CONV_FORWARD ? Y : kind == GEMEL__CONV_WEIGHTS ? W : X;
}

/* Whether cuDNN is to be asked. It counts elements in 32 bits, and knows no padding that cuts. Its
 * gradients by weights are wrong for some paddings that differ at both ends of an axis (9.19 on an
 * H100: NaN for zeros, where engines without tensor cores go by strides). */
static int suits(const gemel__conv *g, const gemel_view *const operands[OPERANDS],
                 gemel__conv_kind kind) {
  if (operands[X]->dtype != GEMEL_F32 || g->unshared ||
      !addressable(operands[result_of(kind)], result_of(kind) == W)) {
    return 0;
  }
  for (int k = 0; k < OPERANDS; k++) {
    if (bytes_of(operands[k]) == 0 || bytes_of(operands[k]) > INT_MAX) {
      return 0;
    }
  }
  for (int k = 0; k < MOST_AXES; k++) {
    if (g->low[k] < 0 || g->high[k] < 0 ||
        (kind == GEMEL__CONV_WEIGHTS && g->low[k] != g->high[k])) {
      return 0;
    }
  }
  return 1;
}

static void make_graphs(cudnnStatus_t *result, const gemel_kernel_call *call, const gemel__conv *g,
                        const gemel_view *const operands[OPERANDS], cudnn_plan *plan) {
  const gemel_cuda *cuda = gemel__cuda_of(call);
  for (int k = 0; k < ALIGNMENTS; k++) {
    graph_plan *made = &plan->graphs[k];
    int64_t alignment = k == 0 ? LOAD_BYTES : (int64_t)gemel_dtype_size(operands[X]->dtype);
    for (int i = 0; i < OPERANDS; i++) {
      describe_tensor(result, operands[i], plan->packed_at[i] != NOWHERE, i, alignment,
                      &made->tensors[i]);
    }
    describe_convolution(result, g, &made->convolution);
    describe_graph(result, cuda->cudnn, g->kind, made);
    find_plan(result, call, cuda->cudnn, made);
  }
}

/* Bytes for either graph's workspace, wherever scratch memory begins. */
static int64_t workspace_of(const cudnn_plan *plan) {
  int64_t aligned = plan->graphs[0].workspace, any = plan->graphs[1].workspace;
  int64_t bytes = aligned > any ? aligned : any;
  return bytes + PLACE;
}

static gemel_status prepare(gemel_kernel_call *call, gemel__conv_kind kind) {
  const gemel_view *operands[OPERANDS];
  gemel__conv g;
  cudnn_plan plan = {.cuda = gemel__cuda_of(call)};
  cudnnStatus_t result = CUDNN_STATUS_SUCCESS;
  size_t scratch = call->scratch_bytes;
  gemel__conv_of(call, kind, &g, operands);
  gemel_status status =
      suits(&g, operands, kind) ? open_handle(gemel__cuda_of(call), call->error) : GEMEL_DECLINED;
  if (status != GEMEL_OK) {
    return status;
  }
  for (int k = 0; k < OPERANDS; k++) {
    plan.packed_at[k] =
        addressable(operands[k], k == W) ? NOWHERE : place(call, bytes_of(operands[k]));
  }
  pthread_mutex_lock(&gemel__cuda_of(call)->cudnn_lock); /* threads may not share a handle */
  make_graphs(&result, call, &g, operands, &plan);
  pthread_mutex_unlock(&gemel__cuda_of(call)->cudnn_lock);
  plan.workspace_at = place(call, workspace_of(&plan));
  if (result == CUDNN_STATUS_SUCCESS) {
    memcpy(call->prepared, &plan, sizeof plan);
    call->release = release;
    return GEMEL_OK;
  }
  release(&plan);
  call->scratch_bytes = scratch;
  return check(call->error, result);
}

gemel_status gemel__cuda_conv_cudnn_prepare(gemel_kernel_call *call, gemel__conv_kind kind) {
  const gemel_cuda *cuda = gemel__cuda_of(call);
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, call->error);
  status = status == GEMEL_OK ? prepare(call, kind) : status;
  gemel__cuda_leave(cuda, before);
  return status;
}

/* ---- Running ---- */

/* Copies an operand that cuDNN can't address to scratch memory, row-major. */
static gemel_status pack(const gemel_kernel_call *call, const gemel_view *view, void *to) {
  int64_t strides[GEMEL_MAX_RANK], step = (int64_t)gemel_dtype_size(view->dtype);
  gemel_view packed = *view;
  for (int k = view->rank - 1; k >= 0; k--) {
    strides[k] = step;
    step *= view->shape[k];
  }
  packed.strides = strides;
  packed.data = to;
  return gemel__cuda_copy(gemel__cuda_of(call), &packed, view, call->error);
}

static cudnnStatus_t execute_here(gemel_cuda *cuda, const graph_plan *g, void **data,
                                  void *workspace) {
  static const int64_t ids[OPERANDS] = {1 + X, 1 + W, 1 + Y};
  cudnnBackendDescriptor_t variants = NULL;
  cudnnStatus_t result = CUDNN_STATUS_SUCCESS;
  begin(&result, &variants, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(&result, variants, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, OPERANDS, ids);
  set(&result, variants, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, OPERANDS,
      data);
  set(&result, variants, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  finish(&result, variants);
  if (result == CUDNN_STATUS_SUCCESS) {
    pthread_mutex_lock(&cuda->cudnn_lock);
    result = cudnnSetStream(cuda->cudnn, gemel__cuda_stream(cuda));
    if (result == CUDNN_STATUS_SUCCESS) {
      result = cudnnBackendExecute(cuda->cudnn, g->plan, variants);
    }
    pthread_mutex_unlock(&cuda->cudnn_lock);
  }
  destroy(variants);
  return result;
}

static gemel_status execute(const gemel_kernel_call *call, const graph_plan *g, void **data,
                            void *workspace) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, call->error);
  gemel__cuda_count_one(cuda, &cuda->counts.kernels);
  if (status == GEMEL_OK) {
    cudnnStatus_t result = execute_here(cuda, g, data, workspace);
    status = check(call->error, result);
    if (status == GEMEL_DECLINED) {
      status = gemel__cuda_fail(call->error, GEMEL_DEVICE, "a convolution: cuDNN says %s (%d)",
                                cudnnGetErrorString(result), (int)result);
    }
  }
  gemel__cuda_leave(cuda, before);
  return status;
}

gemel_status gemel__cuda_conv_cudnn_run(const gemel_kernel_call *call, gemel__conv_kind kind) {
  const gemel_view *operands[OPERANDS];
  gemel_status status = GEMEL_OK;
  gemel__conv g;
  cudnn_plan plan;
  void *data[OPERANDS];
  int aligned = 1;
  char *scratch = call->scratch;
  memcpy(&plan, call->prepared, sizeof plan);
  gemel__conv_of(call, kind, &g, operands);
  for (int k = 0; k < OPERANDS && status == GEMEL_OK; k++) {
    data[k] = operands[k]->data;
    if (plan.packed_at[k] != NOWHERE) {
      data[k] = scratch + (int64_t)plan.packed_at[k] * PLACE;
      status = pack(call, operands[k], data[k]);
    }
    aligned &= (uintptr_t)data[k] % LOAD_BYTES == 0;
  }
  /* cuDNN wants what cudaMalloc gives */
  uintptr_t workspace = (uintptr_t)(scratch + (int64_t)plan.workspace_at * PLACE);
  workspace = (workspace + PLACE - 1) / PLACE * PLACE;
  return status == GEMEL_OK ? execute(call, &plan.graphs[aligned ? 0 : 1], data, (void *)workspace)
                            : status;
}

#endif
