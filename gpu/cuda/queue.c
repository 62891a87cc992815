/* SPDX-License-Identifier: MIT
 *
 * The stream, and recordings of what is asked for. A recording is a CUDA graph: while a thread
 * records, its work goes to a stream of its own that captures it, so other threads' work is not
 * disturbed; replaying launches the graph in the one stream, in its turn.
 */
#include <stdlib.h>
#include "cuda/cuda.h"

typedef struct recording {
  cudaGraphExec_t graph;
  cudaStream_t stream; /* while it is made */
  gemel_cuda_counts counts;
  int may_fail;
} recording;

/* What this thread records, and for whom. */
static _Thread_local struct {
  const gemel_cuda *cuda;
  recording *made;
} current;

cudaStream_t gemel__cuda_stream(const gemel_cuda *cuda) {
  return current.cuda == cuda ? current.made->stream : cuda->stream;
}

void gemel__cuda_count_one(gemel_cuda *cuda, size_t *count) {
  if (current.cuda == cuda) {
    size_t offset = (size_t)((char *)count - (char *)&cuda->counts);
    ++*(size_t *)((char *)&current.made->counts + offset);
  } else {
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
  }
}

/* ---- Waiting ---- */

/* What this thread has asked for and not waited for may fail: whose it is, and how many problems
 * had been read before. */
static _Thread_local struct {
  const gemel_cuda *cuda;
  size_t problems;
} pending;

void gemel__cuda_may_fail(gemel_cuda *cuda) {
  if (current.cuda == cuda) {
    current.made->may_fail = 1;
    return;
  }
  if (pending.cuda != cuda) {
    pending.cuda = cuda;
    pending.problems = __atomic_load_n(&cuda->problems, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&cuda->may_fail, 1, __ATOMIC_RELAXED);
}

/* Reads the problem, and puts it back to none. */
static cudaError_t read_problem(gemel_cuda *cuda, int *problem) {
  cudaError_t result = cudaMemcpyAsync(cuda->problem_seen, cuda->problem, sizeof *problem,
                                       cudaMemcpyDeviceToHost, cuda->stream);
  if (result == cudaSuccess) {
    result = cudaStreamSynchronize(cuda->stream);
  }
  *problem = result == cudaSuccess ? *cuda->problem_seen : GEMEL__CUDA_NO_PROBLEM;
  if (*problem != GEMEL__CUDA_NO_PROBLEM) {
    result = cudaMemsetAsync(cuda->problem, 0, sizeof *problem, cuda->stream);
  }
  return result;
}

/* Waits, and says whether there is a problem that concerns this thread: what it asked for may have
 * been the cause of any that was read since, by whichever thread. */
static cudaError_t look_for_problem(gemel_cuda *cuda, int *problem) {
  pthread_mutex_lock(&cuda->problem_lock);
  cudaError_t result = read_problem(cuda, problem);
  if (*problem != GEMEL__CUDA_NO_PROBLEM) {
    cuda->last_problem = *problem;
    __atomic_fetch_add(&cuda->problems, 1, __ATOMIC_RELAXED);
  }
  if (pending.cuda == cuda && cuda->problems > pending.problems) {
    *problem = cuda->last_problem;
  }
  pthread_mutex_unlock(&cuda->problem_lock);
  if (result != cudaSuccess) { /* it may still be there */
    __atomic_store_n(&cuda->may_fail, 1, __ATOMIC_RELAXED);
  } else if (pending.cuda == cuda) {
    pending.cuda = NULL;
  }
  return result;
}

static gemel_status wait(gemel_cuda *cuda, gemel_error *error) {
#define TEXT(name, text) [GEMEL__CUDA_BAD_##name] = text,
  static const char *const problem_texts[] = {GEMEL__CUDA_PROBLEM_TABLE(TEXT)};
#undef TEXT
  int problem = GEMEL__CUDA_NO_PROBLEM;
  cudaError_t result;
  if (__atomic_exchange_n(&cuda->may_fail, 0, __ATOMIC_RELAXED) || pending.cuda == cuda) {
    result = look_for_problem(cuda, &problem);
  } else {
    result = cudaStreamSynchronize(cuda->stream);
  }
  return problem != GEMEL__CUDA_NO_PROBLEM
             ? gemel__cuda_fail(error, GEMEL_BAD_VALUE, "%s", problem_texts[problem])
             : gemel__cuda_check(error, result, "waiting for the GPU");
}

gemel_status gemel__cuda_synchronize(void *user, gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(user, &before, error);
  status = status == GEMEL_OK ? wait(user, error) : status;
  gemel__cuda_leave(user, before);
  return status;
}

/* ---- Recordings ---- */

static void discard(recording *r) {
  if (r->graph != NULL) {
    gemel__cuda_freed(cudaGraphExecDestroy(r->graph));
  }
  if (r->stream != NULL) {
    gemel__cuda_freed(cudaStreamDestroy(r->stream));
  }
  free(r);
}

static gemel_status begin(gemel_cuda *cuda, recording *r, gemel_error *error) {
  cudaError_t result = cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking);
  if (result == cudaSuccess) {
    result = cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal);
  }
  if (result != cudaSuccess) {
    discard(r);
    return gemel__cuda_check(error, result, "a recording");
  }
  current.cuda = cuda;
  current.made = r;
  return GEMEL_OK;
}

gemel_status gemel__cuda_begin(void *user, gemel_error *error) {
  recording *r = calloc(1, sizeof *r);
  int before;
  gemel_status status;
  if (r == NULL) {
    return gemel__cuda_fail(error, GEMEL_NO_MEMORY, "out of memory for a recording");
  }
  status = gemel__cuda_enter(user, &before, error);
  if (status == GEMEL_OK) {
    status = begin(user, r, error);
  } else {
    discard(r);
  }
  gemel__cuda_leave(user, before);
  return status;
}

static gemel_status end(recording *r, gemel_error *error) {
  cudaGraph_t graph = NULL;
  cudaError_t result = cudaStreamEndCapture(r->stream, &graph);
  if (result == cudaSuccess) {
    result = cudaGraphInstantiate(&r->graph, graph, 0);
  }
  if (graph != NULL) {
    gemel__cuda_freed(cudaGraphDestroy(graph));
  }
  if (result != cudaSuccess) {
    discard(r);
    return gemel__cuda_check(error, result, "a recording");
  }
  gemel__cuda_freed(cudaStreamDestroy(r->stream));
  r->stream = NULL;
  return GEMEL_OK;
}

/* The capture ends also where the GPU can't be chosen: its stream is known. */
gemel_status gemel__cuda_end(void *user, void **made, gemel_error *error) {
  recording *r = current.made;
  int before;
  gemel_status status;
  current.cuda = NULL;
  current.made = NULL;
  gemel__cuda_enter(user, &before, NULL);
  status = end(r, error);
  gemel__cuda_leave(user, before);
  *made = status == GEMEL_OK ? r : NULL;
  return status;
}

gemel_status gemel__cuda_replay(void *user, void *made, gemel_error *error) {
  gemel_cuda *cuda = user;
  const recording *r = made;
  if (r->may_fail) {
    gemel__cuda_may_fail(cuda);
  }
  __atomic_fetch_add(&cuda->counts.graphs, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&cuda->counts.uploads, r->counts.uploads, __ATOMIC_RELAXED);
  __atomic_fetch_add(&cuda->counts.downloads, r->counts.downloads, __ATOMIC_RELAXED);
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, error);
  if (status == GEMEL_OK) {
    status = gemel__cuda_check(error, cudaGraphLaunch(r->graph, cuda->stream), "a recording");
  }
  gemel__cuda_leave(cuda, before);
  return status;
}

void gemel__cuda_forget(void *user, void *made) {
  gemel_cuda *cuda = user;
  int before;
  gemel__cuda_enter(cuda, &before, NULL);
  gemel__cuda_freed(cudaStreamSynchronize(cuda->stream));
  discard(made);
  gemel__cuda_leave(cuda, before);
}
