/* SPDX-License-Identifier: MIT
 *
 * CUDA graphs. A capture notes what a stream is given, and what streams are given that wait for it;
 * each of these streams is a lane. To launch a graph is to queue the same again, lane 0 in the
 * stream of the launch, the others in streams of their own that wait for it and that it waits for
 * in the end. So what runs in a graph is checked as everything else is, and a graph whose memory
 * has been freed is caught when it runs.
 */
#include <stdlib.h>
#include <string.h>
#include "sim/inside.h"

enum { LANES = 16 };

typedef enum { RUN, MARK, WAIT } kind;

typedef struct {
  kind kind;
  int lane, mark;        /* of MARK and WAIT: the how-manieth mark */
  gemel__sim_task *task; /* of RUN */
} graph_node;

typedef struct {
  graph_node *nodes;
  size_t count, capacity;
  int lanes, marks, device;
} nodes;

struct gemel__sim_capture {
  long number;
  nodes nodes;
  cudaStream_t lanes[LANES];
  bool spoiled;
  enum cudaStreamCaptureMode mode;
  pthread_t owner; /* the thread that began it */
};

struct CUgraph_st {
  nodes nodes;
};

struct CUgraphExec_st {
  nodes nodes;
  cudaStream_t stream; /* of the last launch, and its place there */
  uint32_t position;
  gemel__sim_clock clock;
};

static long captures;

/* Lists of nodes. */

static bool add(nodes *list, graph_node added) {
  if (list->count == list->capacity) {
    size_t larger = list->capacity * 2 + 16;
    void *more = realloc(list->nodes, larger * sizeof added);
    if (more == NULL)
      return false;
    list->nodes = more;
    list->capacity = larger;
  }
  list->nodes[list->count++] = added;
  return true;
}

static void drop(nodes *list) {
  for (size_t i = 0; i < list->count; i++)
    gemel__sim_task_unref(list->nodes[i].task);
  free(list->nodes);
  *list = (nodes){0};
}

static bool copy(nodes *to, const nodes *from) {
  *to = *from;
  to->capacity = from->count;
  to->nodes = malloc((from->count + 1) * sizeof *to->nodes);
  if (to->nodes == NULL)
    return false;
  for (size_t i = 0; i < from->count; i++) {
    to->nodes[i] = from->nodes[i];
    if (to->nodes[i].task != NULL)
      to->nodes[i].task->references++;
  }
  return true;
}

/* Whether all that the lanes do comes before the end of lane 0. */
static bool joined(const nodes *list) {
  uint32_t clocks[LANES][LANES] = {{0}};
  uint32_t(*marks)[LANES] = calloc((size_t)list->marks + 1, sizeof *marks);
  bool all = marks != NULL;
  for (size_t i = 0; all && i < list->count; i++) {
    const graph_node *n = &list->nodes[i];
    clocks[n->lane][n->lane] += n->kind == RUN;
    if (n->kind == MARK)
      memcpy(marks[n->mark], clocks[n->lane], sizeof *marks);
    for (int lane = 0; n->kind == WAIT && lane < LANES; lane++)
      if (clocks[n->lane][lane] < marks[n->mark][lane])
        clocks[n->lane][lane] = marks[n->mark][lane];
  }
  for (int lane = 0; all && lane < list->lanes; lane++)
    all = clocks[0][lane] == clocks[lane][lane];
  free(marks);
  return all;
}

/* Capturing. */

void gemel__sim_capture_spoil(struct gemel__sim_capture *capture) {
  capture->spoiled = true;
}

static cudaError_t note(struct gemel__sim_capture *capture, graph_node added) {
  if (capture->spoiled)
    return cudaErrorStreamCaptureInvalidated;
  return add(&capture->nodes, added) ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t gemel__sim_capture_task(cudaStream_t stream, gemel__sim_task *task) {
  cudaError_t error =
      note(stream->capture, (graph_node){.kind = RUN, .lane = stream->capture_lane, .task = task});
  if (error != cudaSuccess)
    gemel__sim_task_unref(task);
  return error;
}

cudaError_t gemel__sim_capture_record(cudaStream_t stream, cudaEvent_t event) {
  struct gemel__sim_capture *capture = stream->capture;
  int mark = capture->nodes.marks;
  cudaError_t error =
      note(capture, (graph_node){.kind = MARK, .lane = stream->capture_lane, .mark = mark});
  if (error != cudaSuccess)
    return error;
  capture->nodes.marks++;
  event->capture = capture->number;
  event->mark = mark;
  return cudaSuccess;
}

static struct gemel__sim_capture *current[GEMEL__SIM_STREAMS]; /* that are under way */

static struct gemel__sim_capture **slot_of(long number) {
  for (int i = 0; i < GEMEL__SIM_STREAMS; i++)
    if (number == 0 ? current[i] == NULL : current[i] != NULL && current[i]->number == number)
      return &current[i];
  return NULL;
}

bool gemel__sim_capturing(void) {
  for (int i = 0; i < GEMEL__SIM_STREAMS; i++)
    if (current[i] != NULL)
      return true;
  return false;
}

/* Whether CAPTURE minds an unsafe call of this thread: a global one minds those of all threads. */
static bool minds(const struct gemel__sim_capture *capture) {
  return capture->mode == cudaStreamCaptureModeGlobal ||
         (capture->mode == cudaStreamCaptureModeThreadLocal &&
          pthread_equal(capture->owner, pthread_self()));
}

bool gemel__sim_unsafe(void) {
  bool any = false;
  for (int i = 0; i < GEMEL__SIM_STREAMS; i++)
    if (current[i] != NULL && minds(current[i]))
      any = current[i]->spoiled = true;
  return any;
}

static cudaError_t join_capture(cudaStream_t stream, struct gemel__sim_capture *capture) {
  if (capture->nodes.lanes == LANES || stream->device != capture->nodes.device)
    return cudaErrorNotSupported;
  stream->capture = capture;
  stream->capture_lane = capture->nodes.lanes;
  capture->lanes[capture->nodes.lanes++] = stream;
  return cudaSuccess;
}

/* STREAM or EVENT or both belong to a capture. */
cudaError_t gemel__sim_capture_wait(cudaStream_t stream, cudaEvent_t event) {
  struct gemel__sim_capture **slot = event->capture != 0 ? slot_of(event->capture) : NULL;
  if (slot == NULL) { /* an event from outside the capture, or of one that has ended */
    if (stream->capture != NULL)
      gemel__sim_capture_spoil(stream->capture);
    return stream->capture != NULL ? cudaErrorStreamCaptureIsolation : cudaErrorCapturedEvent;
  }
  if (stream->capture != NULL && stream->capture != *slot)
    return cudaErrorStreamCaptureMerge;
  cudaError_t error = stream->capture == NULL ? join_capture(stream, *slot) : cudaSuccess;
  if (error != cudaSuccess)
    return error;
  return note(*slot, (graph_node){.kind = WAIT, .lane = stream->capture_lane, .mark = event->mark});
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  cudaStream_t origin = gemel__sim_stream(stream);
  struct gemel__sim_capture *capture = NULL, **slot = slot_of(0);
  if (error == cudaSuccess &&
      (origin == NULL || gemel__sim_is_legacy(origin) || origin->capture != NULL))
    error = origin == NULL ? cudaErrorInvalidResourceHandle : cudaErrorStreamCaptureUnsupported;
  if (error == cudaSuccess) {
    capture = slot != NULL ? calloc(1, sizeof *capture) : NULL;
    error = capture == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
  }
  if (error == cudaSuccess) {
    capture->number = ++captures;
    capture->nodes.device = origin->device;
    capture->mode = mode;
    capture->owner = pthread_self();
    *slot = capture;
    join_capture(origin, capture);
  }
  return gemel__sim_leave(error);
}

/* Takes the nodes out of a capture, which is gone then. */
static cudaError_t finish(struct gemel__sim_capture *capture, cudaGraph_t *graph) {
  cudaError_t error = capture->spoiled           ? cudaErrorStreamCaptureInvalidated
                      : !joined(&capture->nodes) ? cudaErrorStreamCaptureUnjoined
                                                 : cudaSuccess;
  for (int lane = 0; lane < capture->nodes.lanes; lane++)
    capture->lanes[lane]->capture = NULL;
  *graph = error == cudaSuccess ? malloc(sizeof **graph) : NULL;
  if (*graph != NULL) {
    (*graph)->nodes = capture->nodes;
    gemel__sim_here.graphs++;
  } else {
    error = error == cudaSuccess ? cudaErrorMemoryAllocation : error;
    drop(&capture->nodes);
  }
  *slot_of(capture->number) = NULL;
  free(capture);
  return error;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  cudaStream_t origin = gemel__sim_stream(stream);
  if (origin == NULL || origin->capture == NULL)
    error = error != cudaSuccess ? error : cudaErrorInvalidValue;
  else if (origin->capture_lane != 0)
    error = cudaErrorStreamCaptureUnmatched;
  else { /* ends even where the device is broken */
    cudaError_t ended = finish(origin->capture, graph);
    error = error != cudaSuccess ? error : ended;
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_ASKS);
  cudaStream_t found = gemel__sim_stream(stream);
  if (found == NULL)
    error = cudaErrorInvalidResourceHandle;
  else if (found->capture == NULL)
    *status = cudaStreamCaptureStatusNone;
  else
    *status = found->capture->spoiled ? cudaStreamCaptureStatusInvalidated
                                      : cudaStreamCaptureStatusActive;
  return gemel__sim_leave(error);
}

/* Launching. */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  cudaGraphExec_t made = NULL;
  if (error == cudaSuccess && (graph == NULL || flags != 0))
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess) {
    made = calloc(1, sizeof *made);
    if (made == NULL || !copy(&made->nodes, &graph->nodes)) {
      free(made);
      error = cudaErrorMemoryAllocation;
    }
  }
  if (error == cudaSuccess) {
    gemel__sim_here.graphs++;
    *exec = made;
  }
  return gemel__sim_leave(error);
}

typedef struct {
  uint32_t position;
  gemel__sim_clock clock;
} mark;

static cudaError_t wait_for(cudaStream_t stream, cudaStream_t other, const mark *at) {
  return gemel__sim_queue_wait(stream, other->number, at->position, &at->clock);
}

static cudaError_t queue_node(const graph_node *n, cudaStream_t *lanes, mark *marks, int *lane_of) {
  cudaStream_t stream = lanes[n->lane];
  switch (n->kind) {
  case RUN:
    n->task->references++;
    return gemel__sim_queue(stream, n->task, NULL);
  case MARK:
    marks[n->mark] = (mark){stream->queued, stream->clock};
    lane_of[n->mark] = n->lane;
    return cudaSuccess;
  default:
    return wait_for(stream, lanes[lane_of[n->mark]], &marks[n->mark]);
  }
}

/* Lane 0 waits for the last launch of the same graph, the others for lane 0. */
static cudaError_t fork_lanes(cudaGraphExec_t exec, cudaStream_t *lanes) {
  cudaError_t error = cudaSuccess;
  if (exec->stream != NULL && exec->stream != lanes[0])
    error = gemel__sim_queue_wait(lanes[0], exec->stream->number, exec->position, &exec->clock);
  mark start = {lanes[0]->queued, lanes[0]->clock};
  for (int i = 1; i < exec->nodes.lanes && error == cudaSuccess; i++) {
    lanes[i] = gemel__sim_stream_new(exec->nodes.device, false, true);
    error = lanes[i] == NULL ? cudaErrorMemoryAllocation : wait_for(lanes[i], lanes[0], &start);
  }
  return error;
}

static cudaError_t replay(cudaGraphExec_t exec, cudaStream_t stream) {
  cudaStream_t lanes[LANES] = {stream};
  size_t count = (size_t)exec->nodes.marks + 1;
  mark *marks = malloc(count * sizeof *marks);
  int *lane_of = malloc(count * sizeof *lane_of);
  cudaError_t error = cudaErrorMemoryAllocation;
  if (marks != NULL && lane_of != NULL)
    error = fork_lanes(exec, lanes);
  for (size_t i = 0; i < exec->nodes.count && error == cudaSuccess; i++)
    error = queue_node(&exec->nodes.nodes[i], lanes, marks, lane_of);
  for (int i = 1; i < exec->nodes.lanes && error == cudaSuccess; i++)
    error = wait_for(stream, lanes[i], &(mark){lanes[i]->queued, lanes[i]->clock});
  exec->stream = stream;
  exec->position = stream->queued;
  exec->clock = stream->clock;
  free(marks);
  free(lane_of);
  return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  cudaStream_t found = gemel__sim_stream(stream);
  if (error == cudaSuccess && (found == NULL || exec == NULL))
    error = cudaErrorInvalidResourceHandle;
  if (error == cudaSuccess && found->capture != NULL)
    error = cudaErrorNotSupported; /* a graph within a graph */
  if (error == cudaSuccess && exec->nodes.device != found->device)
    error = gemel__sim_elsewhere("cudaGraphLaunch: the graph", exec->nodes.device, found->device);
  if (error == cudaSuccess) {
    gemel__sim_count.graphs++;
    error = replay(exec, found);
    gemel__sim_drift();
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_FREES);
  if (exec == NULL)
    error = cudaErrorInvalidValue;
  else {
    drop(&exec->nodes);
    free(exec);
    gemel__sim_here.graphs--;
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_FREES);
  if (graph == NULL)
    error = cudaErrorInvalidValue;
  else {
    drop(&graph->nodes);
    free(graph);
    gemel__sim_here.graphs--;
  }
  return gemel__sim_leave(error);
}
