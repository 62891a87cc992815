/*
 * Tests of the sim's devices (gpu/sim/devices.c): each thread has a current one, each device its
 * own memory and streams, and what belongs to one is refused on another.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include "ct.h"
#include "sim/extent.h"
#include "sim/sim.h"

enum { DEVICES = 2, SEEDS = 20, N = 100, BYTES = N * sizeof(float) };

const void *gemel__kernel_stream_scale(void);

#define OK(call) CT_EQ_INT((call), cudaSuccess)

static const dim3 grid = {2, 1, 1}, block = {64, 1, 1};

/* Numbers on each device, and what works on them. */
static struct {
  float *x;
  cudaStream_t stream;
  cudaEvent_t event;
  cublasHandle_t blas;
} on[DEVICES];

static void open_devices(int seed) {
  gemel__sim_quiet(true);
  gemel__sim_seed((uint64_t)seed);
  for (int d = 0; d < DEVICES; d++) {
    OK(cudaSetDevice(d));
    OK(cudaMalloc((void **)&on[d].x, BYTES));
    OK(cudaStreamCreateWithFlags(&on[d].stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&on[d].event));
    OK(cublasCreate(&on[d].blas));
    OK(cudaMemsetAsync(on[d].x, 0, BYTES, on[d].stream));
  }
  OK(cudaSetDevice(0));
}

static void close_devices(void) {
  for (int d = 0; d < DEVICES; d++) {
    OK(cudaSetDevice(d));
    OK(cublasDestroy(on[d].blas));
    OK(cudaEventDestroy(on[d].event));
    OK(cudaStreamDestroy(on[d].stream));
    OK(cudaFree(on[d].x));
  }
  OK(cudaSetDevice(0));
}

static cudaError_t scale(float *x, cudaStream_t stream) {
  float by = 2;
  int n = N;
  return cudaLaunchKernel(gemel__kernel_stream_scale(), grid, block, (void *[]){&x, &by, &n}, 0,
                          stream);
}

static void *look_at_current(void *device) {
  cudaGetDevice(device);
  return NULL;
}

/* Which is current, how many there are, what they say. */
static void current(const void *data) {
  int device = -1, count = 0, processors = 0;
  pthread_t thread;
  struct cudaDeviceProp properties;
  (void)data;
  gemel__sim_quiet(true);
  OK(cudaGetDeviceCount(&count));
  CT_EQ_INT(count, DEVICES);
  OK(cudaSetDevice(1));
  CT_EQ_INT(cudaSetDevice(DEVICES), cudaErrorInvalidDevice);
  CT_EQ_INT(cudaSetDevice(-1), cudaErrorInvalidDevice);
  OK(cudaGetDevice(&device));
  CT_EQ_INT(device, 1);
  CT_EQ_INT(pthread_create(&thread, NULL, look_at_current, &device), 0);
  pthread_join(thread, NULL);
  CT_EQ_INT(device, 0);
  gemel__sim_devices(3);
  OK(cudaSetDevice(2));
  OK(cudaGetDeviceProperties(&properties, 2));
  gemel__sim_devices(DEVICES);
  CT_EQ_INT(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
  gemel__sim_processors(1, 7);
  OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 1));
  CT_EQ_INT(processors, 7);
  OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  CT_EQ_INT(processors, 4);
  gemel__sim_processors(1, 4);
  OK(cudaSetDevice(0));
  CT_EQ_INT(cudaGetLastError(), cudaErrorInvalidDevice);
}

/* What may be done: each device by its own, copies, waits and events also from another. */
static void right(const void *data) {
  (void)data;
  for (int seed = 0; seed < SEEDS; seed++) {
    float seen[DEVICES][N];
    size_t left[DEVICES], total;
    struct cudaPointerAttributes attributes;
    open_devices(seed);
    for (int d = 0; d < DEVICES; d++) {
      OK(cudaSetDevice(d));
      OK(cudaMemGetInfo(&left[d], &total));
      CT_EQ_INT(total - left[d], BYTES);
      OK(scale(on[d].x, on[d].stream));
      OK(cudaPointerGetAttributes(&attributes, on[d].x));
      CT_EQ_INT(attributes.device, d);
      OK(cudaEventRecord(on[d].event, on[d].stream));
    }
    OK(cudaStreamWaitEvent(on[1].stream, on[0].event, 0));
    OK(cudaMemcpyAsync(seen[0], on[0].x, BYTES, cudaMemcpyDeviceToHost, on[0].stream));
    OK(cudaStreamSynchronize(on[0].stream));
    OK(cudaMemcpyAsync(seen[1], on[1].x, BYTES, cudaMemcpyDeviceToHost, on[1].stream));
    OK(cudaDeviceSynchronize());
    OK(cudaEventSynchronize(on[0].event));
    CT_CHECK(seen[0][N - 1] == 0 && seen[1][0] == 0);
    close_devices();
    CT_EQ_INT(gemel__sim_reports(), 0);
  }
}

/* cudaDeviceSynchronize waits for its own device alone. */
static void waits(const void *data) {
  int late = 0;
  (void)data;
  for (int seed = 0; seed < SEEDS; seed++) {
    open_devices(seed);
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    OK(cudaDeviceSynchronize());
    OK(scale(on[1].x, on[1].stream));
    OK(cudaSetDevice(0));
    OK(cudaDeviceSynchronize());
    late += cudaStreamQuery(on[1].stream) == cudaErrorNotReady;
    close_devices();
  }
  CT_CHECK(late > SEEDS / 4);
}

/* What each device is told that is the other's. */
static cudaError_t launch_elsewhere(void) {
  return scale(on[1].x, on[1].stream);
}
static cudaError_t other_memory(void) {
  OK(scale(on[1].x, on[0].stream));
  return cudaStreamSynchronize(on[0].stream);
}
static cudaError_t other_fill(void) {
  OK(cudaMemsetAsync(on[1].x, 0, BYTES, on[0].stream));
  return cudaStreamSynchronize(on[0].stream);
}
static cudaError_t other_copy(void) {
  float word = 0;
  return cudaMemcpyAsync(&word, on[1].x, sizeof word, cudaMemcpyDeviceToHost, on[0].stream);
}
static cudaError_t other_event(void) {
  return cudaEventRecord(on[1].event, on[0].stream);
}
static cudaError_t other_times(void) {
  float time;
  OK(cudaEventRecord(on[0].event, on[0].stream));
  OK(cudaEventRecord(on[1].event, on[1].stream));
  return cudaEventElapsedTime(&time, on[0].event, on[1].event);
}
static cudaError_t other_extent(void) {
  OK((cudaError_t)gemel__extent_begin(on[1].x, 4, on[0].stream));
  OK(cudaStreamSynchronize(on[0].stream));
  return gemel__sim_reports() > 0 ? cudaErrorInvalidResourceHandle : cudaSuccess;
}
static cudaError_t other_handle(void) {
  return cublasSetStream(on[1].blas, on[1].stream) == CUBLAS_STATUS_INVALID_VALUE
             ? cudaErrorInvalidResourceHandle
             : cudaSuccess;
}
static cudaError_t handle_stream(void) {
  return cublasSetStream(on[0].blas, on[1].stream) == CUBLAS_STATUS_INVALID_VALUE
             ? cudaErrorInvalidResourceHandle
             : cudaSuccess;
}
static cudaError_t other_graph(void) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(on[0].stream, cudaStreamCaptureModeThreadLocal));
  OK(scale(on[0].x, on[0].stream));
  OK(cudaStreamEndCapture(on[0].stream, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  cudaError_t error = cudaGraphLaunch(exec, on[1].stream);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  return error;
}

static const struct wrong_use {
  const char *name;
  cudaError_t (*use)(void);
  cudaError_t error;
  const char *report; /* part of it; NULL: none */
} wrong_uses[] = {
    {"launch", launch_elsewhere, cudaErrorInvalidResourceHandle,
     "a launch: the stream is device 1"},
    {"memory", other_memory, cudaErrorIllegalAddress, "on device 1"},
    {"fill", other_fill, cudaErrorIllegalAddress, "on device 1"},
    {"copy", other_copy, cudaErrorIllegalAddress, "on device 1"},
    {"event", other_event, cudaErrorInvalidResourceHandle, "the event is device 1's"},
    {"times", other_times, cudaErrorInvalidResourceHandle, NULL},
    {"extent", other_extent, cudaErrorInvalidResourceHandle, "another device's stream"},
    {"handle", other_handle, cudaErrorInvalidResourceHandle, "the handle is device 1's"},
    {"handle-stream", handle_stream, cudaErrorInvalidResourceHandle, "not a stream of this device"},
    {"graph", other_graph, cudaErrorInvalidResourceHandle, "the graph is device 0's"},
};

static void wrong(const void *data) {
  const struct wrong_use *w = data;
  for (int seed = 0; seed < SEEDS; seed++) {
    open_devices(seed);
    CT_EQ_INT(w->use(), w->error);
    CT_EQ_INT(gemel__sim_reports(), w->report != NULL);
    if (w->report != NULL && gemel__sim_reports() > 0) {
      CT_HAS_STR(gemel__sim_report(0), w->report);
    }
    gemel__sim_forget();
    close_devices();
  }
  cudaGetLastError();
}

void ct_register(void) {
  static const ct_test tests[] = {CT_TEST("current", current, NULL), CT_TEST("right", right, NULL),
                                  CT_TEST("waits", waits, NULL)};
  ct_suite("sim-devices", tests, CT_COUNT(tests));
  for (size_t i = 0; i < CT_COUNT(wrong_uses); i++) {
    CT_ADD_TO("sim-devices", "wrong", wrong_uses[i].name, wrong, &wrong_uses[i]);
  }
}
