/*
 * Tests of the sim (gpu/sim) beyond one kernel: streams, events, graphs, who may touch which
 * memory, tensors within a pool. One program in many variants, of which one is right: the others
 * leave out a wait, or touch what they may not, and must be reported for each of SEEDS seeds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>
#include "ct.h"
#include "sim/extent.h"
#include "sim/sim.h"

enum { SEEDS = 20, RIGHT_SEEDS = 60, N = 500, BYTES = N * sizeof(float) };

const void *gemel__kernel_stream_add(void);
const void *gemel__kernel_stream_scale(void);

#define OK(call) CT_EQ_INT((call), cudaSuccess)

/* Under Valgrind a seed takes a hundred times as long. */
static int seeds(int usual) {
  return getenv("GEMEL_VALGRIND") != NULL ? 2 : usual;
}

static const dim3 grid = {4, 1, 1}, block = {64, 1, 1};

typedef enum {
  RIGHT,
  NO_WAIT,         /* cudaStreamWaitEvent left out */
  NO_EVENT,        /* waits for an event that was recorded too early */
  NO_SYNC,         /* the host reads before it has waited */
  REUSED_SOURCE,   /* the host writes the source of a copy */
  HOST_ARGUMENT,   /* a pointer to the host as argument */
  DEFAULT_COPY,    /* cudaMemcpy doesn't wait for a non-blocking stream */
  NO_COPY,         /* y is never written */
  HOST_READS,      /* the host reads device memory */
  HOST_WRITES,     /* and writes it */
  CALL_READS,      /* so does a function of the host that a stream calls */
  WRONG_KIND,      /* a copy in the wrong direction */
  TOO_LONG,        /* a copy of more than there is */
  MEMSET_UNWAITED, /* a memset on another stream, while the sum is computed */
  BUGS
} bug;

typedef struct {
  const char *name;
  gemel__sim_kind kind;
  const char *part;
} expected;

static const expected expectations[BUGS] = {
    [NO_WAIT] = {"no-wait", GEMEL__SIM_MISSING_WAIT, "does not wait for"},
    [NO_EVENT] = {"event-too-early", GEMEL__SIM_MISSING_WAIT, "does not wait for"},
    [NO_SYNC] = {"no-sync", GEMEL__SIM_DEVICE_MEMORY, "pinned buffer"},
    [REUSED_SOURCE] = {"reused-source", GEMEL__SIM_DEVICE_MEMORY, "pinned buffer"},
    [HOST_ARGUMENT] = {"host-argument", GEMEL__SIM_HOST_MEMORY, "of the host's memory"},
    [DEFAULT_COPY] = {"default-copy", GEMEL__SIM_MISSING_WAIT, "a copy to the host"},
    [NO_COPY] = {"no-copy", GEMEL__SIM_UNINITIALISED, "which nothing has written"},
    [HOST_READS] = {"host-reads", GEMEL__SIM_DEVICE_MEMORY, "byte 40 of allocation"},
    [HOST_WRITES] = {"host-writes", GEMEL__SIM_DEVICE_MEMORY, "byte 40 of allocation"},
    [CALL_READS] = {"call-reads", GEMEL__SIM_DEVICE_MEMORY, "byte 40 of allocation"},
    [WRONG_KIND] = {"wrong-kind", GEMEL__SIM_PARAMETER, "cudaMemcpy of kind 1"},
    [TOO_LONG] = {"too-long", GEMEL__SIM_BOUNDS, "reads 2004 bytes at byte 0"},
    [MEMSET_UNWAITED] = {"memset-unwaited", GEMEL__SIM_MISSING_WAIT, "does not wait for"},
};

/* x and y are copied on one stream, added on another, the sum is copied back. */
typedef struct {
  bug bug;
  float *pinned, *back, *x, *y, *z;
  cudaStream_t copies, sums;
  cudaEvent_t early, copied;
  int wrong; /* results */
} program;

static void open_program(program *p) {
  memset(&p->pinned, 0, sizeof *p - offsetof(program, pinned));
  OK(cudaStreamCreateWithFlags(&p->copies, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&p->sums, cudaStreamNonBlocking));
  OK(cudaEventCreateWithFlags(&p->early, cudaEventDisableTiming));
  OK(cudaEventCreateWithFlags(&p->copied, cudaEventDisableTiming));
  OK(cudaHostAlloc((void **)&p->pinned, BYTES, cudaHostAllocDefault));
  OK(cudaMallocHost((void **)&p->back, BYTES));
  OK(cudaMalloc((void **)&p->x, BYTES));
  OK(cudaMalloc((void **)&p->y, BYTES));
  OK(cudaMalloc((void **)&p->z, BYTES));
}

static void close_program(program *p) {
  cudaDeviceSynchronize();
  cudaFree(p->x);
  cudaFree(p->y);
  cudaFree(p->z);
  cudaFreeHost(p->pinned);
  cudaFreeHost(p->back);
  cudaEventDestroy(p->early);
  cudaEventDestroy(p->copied);
  cudaStreamDestroy(p->copies);
  cudaStreamDestroy(p->sums);
}

static void copy_in(program *p) {
  for (int i = 0; i < N; i++)
    p->pinned[i] = (float)i;
  cudaEventRecord(p->early, p->copies);
  cudaMemcpyAsync(p->x, p->pinned, BYTES, cudaMemcpyHostToDevice, p->copies);
  if (p->bug == REUSED_SOURCE)
    p->pinned[0] = 5;
  if (p->bug != NO_COPY)
    cudaMemcpyAsync(p->y, p->pinned, BYTES, cudaMemcpyHostToDevice, p->copies);
  cudaEventRecord(p->copied, p->copies);
}

static void add(program *p) {
  int n = N;
  void *first = p->bug == HOST_ARGUMENT ? p->pinned : p->x;
  if (p->bug != NO_WAIT)
    cudaStreamWaitEvent(p->sums, p->bug == NO_EVENT ? p->early : p->copied, 0);
  cudaLaunchKernel(gemel__kernel_stream_add(), grid, block, (void *[]){&first, &p->y, &p->z, &n}, 0,
                   p->sums);
  if (p->bug == MEMSET_UNWAITED)
    cudaMemsetAsync(p->x, 0, BYTES, p->copies);
}

static void read_one(void *data) {
  volatile float seen = ((program *)data)->x[10];
  (void)seen;
}

static void read_caught(void *data) {
  gemel__sim_caught(read_one, data);
}

static void copy_out(program *p) {
  float plain[N + 1];
  size_t bytes = p->bug == TOO_LONG ? BYTES + 4 : BYTES;
  enum cudaMemcpyKind kind = p->bug == WRONG_KIND ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  if (p->bug == DEFAULT_COPY || p->bug == TOO_LONG)
    cudaMemcpy(plain, p->z, bytes, kind);
  else
    cudaMemcpyAsync(p->back, p->z, bytes, kind, p->sums);
  if (p->bug != NO_SYNC && p->bug != DEFAULT_COPY)
    cudaStreamSynchronize(p->sums);
  const float *result = p->bug == DEFAULT_COPY || p->bug == TOO_LONG ? plain : p->back;
  for (int i = 0; i < N; i++)
    p->wrong += result[i] != 2 * (float)i;
}

static void run_program(void *data) {
  program *p = data;
  volatile float seen = 0;
  copy_in(p);
  add(p);
  if (p->bug == HOST_READS)
    seen = p->x[10];
  if (p->bug == CALL_READS)
    cudaLaunchHostFunc(p->sums, read_caught, p);
  if (p->bug == HOST_WRITES)
    p->x[10] = seen;
  copy_out(p);
}

static void right_program(const void *data) {
  (void)data;
  gemel__sim_quiet(true);
  for (int seed = 0; seed < seeds(RIGHT_SEEDS); seed++) {
    program p = {.bug = RIGHT};
    gemel__sim_seed((uint64_t)seed);
    open_program(&p);
    CT_CHECK(!gemel__sim_caught(run_program, &p));
    CT_EQ_INT(p.wrong, 0);
    close_program(&p);
    ct_context("seed %d: %s", seed, gemel__sim_reports() > 0 ? gemel__sim_report(0) : "");
    CT_EQ_INT(gemel__sim_forget(), 0);
  }
  ct_context(NULL);
  gemel__sim_alive alive = gemel__sim_living();
  CT_EQ_INT(alive.allocations + alive.pinned + alive.events + alive.streams, 0);
}

static void wrong_program(const void *data) {
  const expected *e = data;
  gemel__sim_quiet(true);
  for (int seed = 0; seed < seeds(SEEDS); seed++) {
    program p = {.bug = (bug)(e - expectations)};
    gemel__sim_seed((uint64_t)seed);
    open_program(&p);
    gemel__sim_caught(run_program, &p);
    cudaDeviceSynchronize();
    ct_context("seed %d, reported: %s", seed,
               gemel__sim_reports() > 0 ? gemel__sim_report(0) : "nothing");
    CT_CHECK(gemel__sim_reported(e->kind, e->part));
    gemel__sim_forget();
    close_program(&p);
    gemel__sim_forget();
  }
  ct_context(NULL);
}

/* What has been done is counted. */
static void counts(const void *data) {
  program p = {.bug = RIGHT};
  (void)data;
  open_program(&p);
  gemel__sim_count_from_here();
  run_program(&p);
  gemel__sim_counts c = gemel__sim_counted();
  CT_EQ_INT(c.kernels, 1);
  CT_EQ_INT(c.copies_in, 2);
  CT_EQ_INT(c.copies_out, 1);
  CT_EQ_INT(c.copies_on, 0);
  CT_EQ_INT(c.waits, 1);
  CT_EQ_INT(c.mallocs, 0);
  close_program(&p);
}

/* Streams that wait for each other by turns, with an event that is recorded again. */
static void turns(const void *data) {
  (void)data;
  for (int seed = 0; seed < seeds(RIGHT_SEEDS); seed++) {
    cudaStream_t s[3];
    cudaEvent_t event;
    float *x, back[N], two = 2;
    int n = N;
    gemel__sim_seed((uint64_t)seed);
    for (int i = 0; i < 3; i++)
      OK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaMalloc((void **)&x, BYTES));
    for (int i = 0; i < N; i++)
      back[i] = 1;
    OK(cudaMemcpyAsync(x, back, BYTES, cudaMemcpyHostToDevice, s[0]));
    for (int turn = 0; turn < 6; turn++) {
      OK(cudaEventRecord(event, s[turn % 3]));
      OK(cudaStreamWaitEvent(s[(turn + 1) % 3], event, 0));
      OK(cudaLaunchKernel(gemel__kernel_stream_scale(), grid, block, (void *[]){&x, &two, &n}, 0,
                          s[(turn + 1) % 3]));
    }
    OK(cudaMemcpyAsync(back, x, BYTES, cudaMemcpyDeviceToHost, s[0]));
    for (int i = 0; i < N; i++)
      CT_CHECK(back[i] == 64);
    OK(cudaFree(x));
    OK(cudaEventDestroy(event));
    for (int i = 0; i < 3; i++)
      OK(cudaStreamDestroy(s[i]));
    CT_EQ_INT(gemel__sim_forget(), 0);
  }
}

/* Graphs: a step x = 2 (x + y), captured in one stream or, FORKED, in two. */

typedef struct {
  cudaStream_t stream, other;
  cudaEvent_t fork, join;
  float *x, *y;
  cudaGraphExec_t exec;
} graph_test;

typedef enum { ONE_STREAM, FORKED, UNJOINED, CONFLICT } graph_shape;

static void scale_on(cudaStream_t stream, float *x, float by) {
  int n = N;
  cudaLaunchKernel(gemel__kernel_stream_scale(), grid, block, (void *[]){&x, &by, &n}, 0, stream);
}

static void record_step(graph_test *t, graph_shape shape) {
  int n = N;
  cudaLaunchKernel(gemel__kernel_stream_add(), grid, block, (void *[]){&t->x, &t->y, &t->x, &n}, 0,
                   t->stream);
  if (shape == ONE_STREAM) {
    scale_on(t->stream, t->x, 2);
    return;
  }
  OK(cudaEventRecord(t->fork, t->stream));
  OK(cudaStreamWaitEvent(t->other, t->fork, 0));
  scale_on(t->other, t->x, 2);
  if (shape == CONFLICT)
    scale_on(t->stream, t->x, 1);
  OK(cudaEventRecord(t->join, t->other));
  if (shape != UNJOINED)
    OK(cudaStreamWaitEvent(t->stream, t->join, 0));
}

static cudaError_t capture(graph_test *t, graph_shape shape) {
  cudaGraph_t graph = NULL;
  OK(cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeThreadLocal));
  record_step(t, shape);
  cudaError_t error = cudaStreamEndCapture(t->stream, &graph);
  if (error != cudaSuccess)
    return error;
  OK(cudaGraphInstantiate(&t->exec, graph, 0));
  OK(cudaGraphDestroy(graph));
  return cudaSuccess;
}

static void open_graph_test(graph_test *t, int seed) {
  float start[N];
  gemel__sim_quiet(true);
  gemel__sim_seed((uint64_t)seed);
  memset(t, 0, sizeof *t);
  OK(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&t->other, cudaStreamNonBlocking));
  OK(cudaEventCreateWithFlags(&t->fork, cudaEventDisableTiming));
  OK(cudaEventCreateWithFlags(&t->join, cudaEventDisableTiming));
  OK(cudaMalloc((void **)&t->x, BYTES));
  OK(cudaMalloc((void **)&t->y, BYTES));
  for (int i = 0; i < N; i++)
    start[i] = 1;
  OK(cudaMemcpyAsync(t->x, start, BYTES, cudaMemcpyHostToDevice, t->stream));
  OK(cudaMemcpyAsync(t->y, start, BYTES, cudaMemcpyHostToDevice, t->stream));
}

static void close_graph_test(graph_test *t) {
  if (t->exec != NULL)
    cudaGraphExecDestroy(t->exec);
  cudaFree(t->x);
  cudaFree(t->y);
  cudaEventDestroy(t->fork);
  cudaEventDestroy(t->join);
  cudaStreamDestroy(t->stream);
  cudaStreamDestroy(t->other);
}

static void graphs_run(const void *data) {
  const graph_shape *shape = data;
  for (int seed = 0; seed < seeds(RIGHT_SEEDS); seed++) {
    graph_test t;
    float back[N];
    open_graph_test(&t, seed);
    OK(capture(&t, *shape));
    gemel__sim_count_from_here();
    for (int i = 0; i < 3; i++)
      OK(cudaGraphLaunch(t.exec, i == 1 ? t.other : t.stream)); /* one after the other anyway */
    OK(cudaStreamSynchronize(t.other));
    OK(cudaMemcpyAsync(back, t.x, BYTES, cudaMemcpyDeviceToHost, t.stream));
    for (int i = 0; i < N; i++)
      CT_CHECK(back[i] == 22); /* 1, 4, 10, 22 */
    CT_EQ_INT(gemel__sim_counted().kernels, 6);
    CT_EQ_INT(gemel__sim_counted().graphs, 3);
    close_graph_test(&t);
    ct_context("seed %d: %s", seed, gemel__sim_reports() > 0 ? gemel__sim_report(0) : "");
    CT_EQ_INT(gemel__sim_forget(), 0);
  }
  ct_context(NULL);
  CT_EQ_INT(gemel__sim_living().graphs, 0);
}

static void graph_conflict(const void *data) {
  (void)data;
  for (int seed = 0; seed < seeds(SEEDS); seed++) {
    graph_test t;
    open_graph_test(&t, seed);
    OK(capture(&t, CONFLICT));
    OK(cudaGraphLaunch(t.exec, t.stream));
    CT_EQ_INT(cudaStreamSynchronize(t.stream), cudaErrorLaunchFailure);
    CT_CHECK(gemel__sim_reported(GEMEL__SIM_MISSING_WAIT, "stream_scale"));
    gemel__sim_forget();
    close_graph_test(&t);
  }
}

/* A graph whose memory has been freed. */
static void graph_stale(const void *data) {
  (void)data;
  for (int seed = 0; seed < seeds(SEEDS); seed++) {
    graph_test t;
    open_graph_test(&t, seed);
    OK(capture(&t, ONE_STREAM));
    OK(cudaFree(t.y));
    OK(cudaMalloc((void **)&t.y, BYTES)); /* not where it was */
    OK(cudaGraphLaunch(t.exec, t.stream));
    CT_EQ_INT(cudaStreamSynchronize(t.stream), cudaErrorIllegalAddress);
    CT_CHECK(gemel__sim_reported(GEMEL__SIM_BOUNDS, "of the freed allocation"));
    gemel__sim_forget();
    close_graph_test(&t);
  }
}

static void graph_refused(const void *data) {
  graph_test t;
  cudaGraph_t graph = NULL;
  (void)data;
  open_graph_test(&t, 1);
  CT_EQ_INT(capture(&t, UNJOINED), cudaErrorStreamCaptureUnjoined);
  OK(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeGlobal));
  CT_EQ_INT(cudaStreamSynchronize(t.stream), cudaErrorStreamCaptureUnsupported);
  CT_EQ_INT(cudaStreamEndCapture(t.stream, &graph), cudaErrorStreamCaptureInvalidated);
  CT_CHECK(graph == NULL);
  OK(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeGlobal));
  void *more = NULL;
  CT_EQ_INT(cudaMalloc(&more, 4), cudaErrorStreamCaptureUnsupported);
  CT_EQ_INT(cudaStreamEndCapture(t.stream, &graph), cudaErrorStreamCaptureInvalidated);
  OK(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeRelaxed));
  OK(cudaMalloc(&more, 4));
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  OK(cudaStreamIsCapturing(t.stream, &status));
  CT_EQ_INT(status, cudaStreamCaptureStatusActive);
  CT_EQ_INT(cudaMemcpy(more, &status, 4, cudaMemcpyHostToDevice), cudaErrorStreamCaptureImplicit);
  OK(cudaEventRecord(t.fork, t.other)); /* outside the capture */
  CT_EQ_INT(cudaStreamWaitEvent(t.stream, t.fork, 0), cudaErrorStreamCaptureIsolation);
  CT_EQ_INT(cudaStreamEndCapture(t.stream, &graph), cudaErrorStreamCaptureInvalidated);
  CT_EQ_INT(cudaStreamEndCapture(t.stream, &graph), cudaErrorInvalidValue);
  OK(cudaFree(more));
  close_graph_test(&t);
  CT_EQ_INT(gemel__sim_forget(), 0);
}

/* Tensors in a pool. */

typedef struct {
  const char *name;
  int from, count; /* of what is set, in bytes from the second tensor's start */
  const char *part;
} pool_case;

static const pool_case pool_cases[] = {
    {"inside", 0, 100, NULL},
    {"one-past", 0, 101, "byte 0 of tensor"},
    {"before", -1, 4, "in no tensor"},
    {"far", 300, 4, "byte 300 of tensor"},
};

static void pool(const void *data) {
  const pool_case *c = data;
  char *room;
  cudaStream_t stream;
  gemel__sim_quiet(true);
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaMalloc((void **)&room, 4096));
  CT_CHECK(gemel__extent_gap() > 0);
  OK(gemel__extent_begin(room + 512, 100, stream));
  OK(gemel__extent_begin(room + 1024, 100, stream));
  OK(cudaMemsetAsync(room + 512 + c->from, 0, (size_t)c->count, stream));
  cudaError_t error = cudaStreamSynchronize(stream);
  CT_EQ_INT(error, c->part == NULL ? cudaSuccess : cudaErrorIllegalAddress);
  CT_CHECK(c->part == NULL || gemel__sim_reported(GEMEL__SIM_BOUNDS, c->part));
  gemel__sim_forget();
  OK(cudaFree(room));
  OK(cudaStreamDestroy(stream));
}

/* A tensor is given back while it is still in use, which is fine on its stream; its bytes are those
   of another tensor then, and aren't written yet. */
static void pool_reuse(const void *data) {
  (void)data;
  for (int seed = 0; seed < seeds(SEEDS); seed++)
    for (int waits = 0; waits < 2; waits++) {
      char *room, word[4];
      cudaStream_t a, b;
      cudaEvent_t event;
      gemel__sim_seed((uint64_t)seed);
      OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
      OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
      OK(cudaEventCreate(&event));
      OK(cudaMalloc((void **)&room, 4096));
      OK(gemel__extent_begin(room, 100, a));
      OK(cudaMemsetAsync(room, 1, 100, a));
      OK(gemel__extent_end(room, a));
      OK(cudaEventRecord(event, a));
      if (waits)
        OK(cudaStreamWaitEvent(b, event, 0));
      OK(gemel__extent_begin(room, 50, b));
      cudaMemsetAsync(room, 2, 40, b);
      cudaMemcpyAsync(word, room + (waits ? 36 : 0), 4, cudaMemcpyDeviceToHost, b);
      cudaError_t error = cudaDeviceSynchronize();
      CT_CHECK((error == cudaSuccess) == waits);
      CT_CHECK(!waits || word[0] == 2);
      CT_CHECK((gemel__sim_forget() > 0) == !waits);
      if (waits) {
        CT_CHECK(cudaMemcpy(word, room + 40, 4, cudaMemcpyDeviceToHost) != cudaSuccess);
        CT_CHECK(gemel__sim_reported(GEMEL__SIM_UNINITIALISED, "byte 40 of tensor"));
        gemel__sim_forget();
      }
      cudaFree(room);
      cudaEventDestroy(event);
      cudaStreamDestroy(a);
      cudaStreamDestroy(b);
      gemel__sim_forget();
    }
}

/* A kernel uses a tensor, and the next one uses it once more, after it has been given back. */
static void pool_ended(const void *data) {
  (void)data;
  for (int seed = 0; seed < seeds(SEEDS); seed++) {
    float *room, by = 2;
    int n = 1;
    cudaStream_t stream;
    gemel__sim_seed((uint64_t)seed);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&room, 4096));
    OK(gemel__extent_begin(room, 4, stream));
    OK(cudaMemsetAsync(room, 0, 4, stream));
    for (int i = 0; i < 2; i++) {
      cudaLaunchKernel(gemel__kernel_stream_scale(), grid, block, (void *[]){&room, &by, &n}, 0,
                       stream);
      gemel__extent_end(room, stream);
      CT_EQ_INT(cudaStreamSynchronize(stream), i == 0 ? cudaSuccess : cudaErrorIllegalAddress);
    }
    CT_CHECK(gemel__sim_reported(GEMEL__SIM_BOUNDS, "in no tensor"));
    gemel__sim_forget();
    OK(cudaFree(room));
    OK(cudaStreamDestroy(stream));
    gemel__sim_forget();
  }
}

/* Memory that is freed twice, is not there, is not enough. */
static void memory(const void *data) {
  void *p = NULL;
  size_t left = 0, total = 0, before = 0;
  struct cudaPointerAttributes attributes;
  (void)data;
  gemel__sim_quiet(true);
  OK(cudaMemGetInfo(&before, &total));
  gemel__sim_memory(1000);
  CT_EQ_INT(cudaMalloc(&p, 1001), cudaErrorMemoryAllocation);
  CT_EQ_INT(cudaGetLastError(), cudaErrorMemoryAllocation);
  CT_EQ_INT(cudaGetLastError(), cudaSuccess);
  OK(cudaMalloc(&p, 1000));
  OK(cudaMemGetInfo(&left, &total));
  CT_EQ_INT(left, 0);
  OK(cudaPointerGetAttributes(&attributes, p));
  CT_EQ_INT(attributes.type, cudaMemoryTypeDevice);
  OK(cudaPointerGetAttributes(&attributes, &p));
  CT_EQ_INT(attributes.type, cudaMemoryTypeUnregistered);
  OK(cudaFree(p));
  CT_EQ_INT(cudaFree(p), cudaErrorInvalidValue);
  CT_CHECK(gemel__sim_reported(GEMEL__SIM_PARAMETER, "has been freed before"));
  CT_EQ_INT(cudaFree(&p), cudaErrorInvalidValue);
  CT_CHECK(gemel__sim_reported(GEMEL__SIM_PARAMETER, "is not what cudaMalloc gave"));
  CT_EQ_INT(cudaFreeHost(&p), cudaErrorInvalidValue);
  OK(cudaFree(NULL));
  gemel__sim_memory(before);
  gemel__sim_forget();
}

/* Each call that may fail is refused in turn: the whole program then ends in an error, and leaves
   nothing. */
static cudaError_t small_program(void) {
  void *x = NULL;
  cudaStream_t stream = NULL;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaMalloc(&x, 400);
  if (error == cudaSuccess)
    error = cudaMemsetAsync(x, 0, 400, stream);
  if (error == cudaSuccess)
    error = cudaStreamSynchronize(stream);
  cudaFree(x);
  if (stream != NULL)
    cudaStreamDestroy(stream);
  return error;
}

static void refused(const void *data) {
  (void)data;
  for (int k = 0; k < 5; k++) {
    gemel__sim_alive before = gemel__sim_living();
    gemel__sim_refuse(k);
    cudaError_t error = small_program();
    bool was = gemel__sim_refuse(-1);
    CT_CHECK(was == (k < 4));
    CT_EQ_INT(error, was ? cudaErrorMemoryAllocation : cudaSuccess);
    gemel__sim_alive after = gemel__sim_living();
    CT_EQ_MEM(&before, &after, sizeof before);
  }
}

/* The same for calls that fail; those that free something do so all the same. */
static void failed(const void *data) {
  gemel__sim_alive before = gemel__sim_living();
  (void)data;
  for (int k = 0; k < 7; k++) {
    cudaGetLastError();
    gemel__sim_fail(k, cudaErrorNotSupported);
    cudaError_t error = small_program();
    bool was = gemel__sim_fail(-1, cudaSuccess);
    CT_CHECK(was == (k < 6));
    CT_EQ_INT(error, k < 4 ? cudaErrorNotSupported : cudaSuccess);
    CT_EQ_INT(cudaGetLastError(), was ? cudaErrorNotSupported : cudaSuccess);
    gemel__sim_alive after = gemel__sim_living();
    CT_EQ_MEM(&before, &after, sizeof before);
  }
}

/* What a device that is broken answers, until the reports are taken. */
static void broken(const void *data) {
  float *x;
  float by = 2;
  int n = N + 1;
  (void)data;
  gemel__sim_quiet(true);
  OK(cudaMalloc((void **)&x, BYTES));
  OK(cudaMemset(x, 0, BYTES));
  cudaLaunchKernel(gemel__kernel_stream_scale(), grid, block, (void *[]){&x, &by, &n}, 0, NULL);
  CT_EQ_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  CT_EQ_INT(cudaMemset(x, 0, BYTES), cudaErrorIllegalAddress);
  CT_EQ_INT(cudaGetLastError(), cudaErrorIllegalAddress);
  CT_EQ_INT(cudaGetLastError(), cudaErrorIllegalAddress);
  CT_EQ_STR(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  CT_EQ_INT(gemel__sim_reports(), 1);
  CT_EQ_INT(gemel__sim_reports_of(GEMEL__SIM_BOUNDS), 1);
  CT_HAS_STR(gemel__sim_report(0), "stream.cu:17: kernel stream_scale: thread ");
  CT_EQ_INT(gemel__sim_forget(), 1);
  OK(cudaMemset(x, 0, BYTES));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
}

/* Handles that are none, geometries that no device takes. */
static void parameters(const void *data) {
  float *x = NULL;
  float by = 2;
  int n = 0, word = 0;
  void *arguments[] = {&x, &by, &n};
  const void *kernel = gemel__kernel_stream_scale();
  cudaStream_t none = (cudaStream_t)&word, stream;
  (void)data;
  gemel__sim_quiet(true);
  OK(cudaStreamCreate(&stream));
  CT_EQ_INT(cudaStreamSynchronize(none), cudaErrorInvalidResourceHandle);
  CT_EQ_INT(cudaStreamDestroy(none), cudaErrorInvalidResourceHandle);
  CT_EQ_INT(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
  CT_EQ_INT(cudaEventRecord((cudaEvent_t)&word, stream), cudaErrorInvalidResourceHandle);
  CT_EQ_INT(cudaLaunchKernel(&word, grid, block, arguments, 0, stream),
            cudaErrorInvalidDeviceFunction);
  CT_EQ_INT(cudaLaunchKernel(kernel, (dim3){0, 1, 1}, block, arguments, 0, stream),
            cudaErrorInvalidConfiguration);
  CT_EQ_INT(cudaLaunchKernel(kernel, grid, (dim3){1025, 1, 1}, arguments, 0, stream),
            cudaErrorInvalidConfiguration);
  CT_EQ_INT(cudaLaunchKernel(kernel, grid, (dim3){1, 1, 65}, arguments, 0, stream),
            cudaErrorInvalidConfiguration);
  CT_EQ_INT(cudaLaunchKernel(kernel, (dim3){1, 65536, 1}, block, arguments, 0, stream),
            cudaErrorInvalidConfiguration);
  CT_EQ_INT(cudaLaunchKernel(kernel, grid, block, arguments, 49153, stream),
            cudaErrorInvalidConfiguration);
  OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 49153));
  OK(cudaLaunchKernel(kernel, grid, block, arguments, 49153, stream));
  CT_EQ_INT(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
            cudaErrorInvalidValue);
  CT_EQ_INT(cudaStreamGetDevice(stream, NULL), cudaErrorInvalidValue);
  OK(cudaStreamDestroy(stream));
  CT_EQ_INT(cudaStreamQuery(stream), cudaErrorInvalidResourceHandle);
  CT_EQ_INT(cudaStreamGetDevice(stream, (int *)&grid), cudaErrorInvalidResourceHandle);
  gemel__sim_forget();
  cudaGetLastError();
}

/* A stream calls the host in its turn. */
static void note_call(void *data) {
  *(int *)data += 1;
}

static void host_function(const void *data) {
  int calls = 0;
  cudaStream_t stream;
  (void)data;
  OK(cudaStreamCreate(&stream));
  OK(cudaLaunchHostFunc(stream, note_call, &calls));
  OK(cudaStreamSynchronize(stream));
  CT_EQ_INT(calls, 1);
  OK(cudaStreamDestroy(stream));
}

static const graph_shape one_stream = ONE_STREAM, forked = FORKED;
static const ct_test tests[] = {
    CT_TEST("program/right", right_program, NULL),
    CT_TEST("program/counts", counts, NULL),
    CT_TEST("turns", turns, NULL),
    CT_TEST("graph/one-stream", graphs_run, &one_stream),
    CT_TEST("graph/forked", graphs_run, &forked),
    CT_TEST("graph/conflict", graph_conflict, NULL),
    CT_TEST("graph/stale", graph_stale, NULL),
    CT_TEST("graph/refused", graph_refused, NULL),
    CT_TEST("pool/reuse", pool_reuse, NULL),
    CT_TEST("pool/ended", pool_ended, NULL),
    CT_TEST("memory", memory, NULL),
    CT_TEST("refused", refused, NULL),
    CT_TEST("failed", failed, NULL),
    CT_TEST("broken", broken, NULL),
    CT_TEST("parameters", parameters, NULL),
    CT_TEST("host-function", host_function, NULL),
};

void ct_register(void) {
  ct_suite("sim-streams", tests, CT_COUNT(tests));
  for (int i = RIGHT + 1; i < BUGS; i++)
    CT_ADD_TO("sim-streams", "program", expectations[i].name, wrong_program, &expectations[i]);
  for (size_t i = 0; i < CT_COUNT(pool_cases); i++)
    CT_ADD_TO("sim-streams", "pool", pool_cases[i].name, pool, &pool_cases[i]);
}
