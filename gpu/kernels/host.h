/* SPDX-License-Identifier: MIT
 *
 * What the host's half of a kernel file uses: walks made from views, launches over elements, tables
 * of kernels by dtype.
 */
#ifndef GEMEL__KERNELS_HOST_H
#define GEMEL__KERNELS_HOST_H

#include "cuda/cuda.h"
#include "kernels/strided.h"

extern "C" int gemel__collapse(int rank, int64_t *sizes, int n, int64_t *strides, int step);

/* gemel__kernel_<id>, in a table by dtype. */
typedef const void *(*kernel_getter)(void);

/* The walk over VIEWS, of one shape. */
template <int N> static inline strided_walk<N> walk_over(const gemel_view *const (&views)[N]) {
  strided_walk<N> walk;
  int64_t sizes[GEMEL_MAX_RANK], strides[N][GEMEL_MAX_RANK];
  int rank = views[0]->rank;
  walk.elements = 1;
  for (int axis = 0; axis < rank; axis++) {
    sizes[axis] = views[0]->shape[axis];
    walk.elements *= sizes[axis];
    for (int k = 0; k < N; k++) {
      strides[k][axis] = views[k]->strides[axis];
    }
  }
  walk.axes =
      walk.elements == 0 ? 0 : gemel__collapse(rank, sizes, N, &strides[0][0], GEMEL_MAX_RANK);
  for (int axis = 0; axis < walk.axes; axis++) {
    walk.sizes[axis] = sizes[axis];
    for (int k = 0; k < N; k++) {
      walk.strides[k][axis] = strides[k][axis];
    }
  }
  return walk;
}

/* The axes of X that are CHOSEN, or those that are not. */
static inline gemel_view some_axes(const gemel_view *x, const bool *chosen, bool wanted,
                                   int64_t *shape, int64_t *strides) {
  gemel_view made = *x;
  made.rank = 0;
  for (int axis = 0; axis < x->rank; axis++) {
    if (chosen[axis] == wanted) {
      shape[made.rank] = x->shape[axis];
      strides[made.rank++] = x->strides[axis];
    }
  }
  made.shape = shape;
  made.strides = strides;
  return made;
}

/* Launches KERNEL with a thread for each of COUNT items, or for several where they are many. */
static inline gemel_status launch_over(gemel_cuda *cuda, const void *kernel, long long count,
                                       void **arguments, gemel_error *error) {
  unsigned threads = count >= 256 ? 256 : ((unsigned)count + 31) / 32 * 32;
  long long blocks = threads == 0 ? 0 : (count + (threads - 1)) / threads;
  long long most = 4ll * cuda->blocks_at_once;
  return count == 0 ? GEMEL_OK
                    : gemel__cuda_launch(cuda, kernel, (size_t)(blocks < most ? blocks : most),
                                         threads, 0, arguments, error);
}

/* Launches KERNEL with a block for each of JOBS, or for several where they are many, of a power of
 * two of threads: as many as a job has ITEMS, from 32 to MOST_JOB_THREADS. */
enum { MOST_JOB_THREADS = 256 };
static inline gemel_status launch_jobs(gemel_cuda *cuda, const void *kernel, long long jobs,
                                       long long items, void **arguments, gemel_error *error) {
  long long most = 4ll * cuda->blocks_at_once;
  unsigned threads = 32;
  while (threads < MOST_JOB_THREADS && threads < items) {
    threads = 2 * threads;
  }
  return jobs == 0 ? GEMEL_OK
                   : gemel__cuda_launch(cuda, kernel, (size_t)(jobs < most ? jobs : most), threads,
                                        0, arguments, error);
}

#endif
