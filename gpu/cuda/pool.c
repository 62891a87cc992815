/* SPDX-License-Identifier: MIT
 *
 * Memory of the GPU. cudaMalloc and cudaFree wait for the GPU and take long, so what is released is
 * kept and given out again: sizes are rounded up to classes, four to a power of two, and each class
 * has a list. Work in the one stream may still use what is released; who gets it next asks for work
 * behind that. Only when CUDA has no more memory is what nobody uses given back to it.
 */
#include <stdlib.h>
#include "cuda/cuda.h"

/* A piece of memory that nobody uses. */
struct gemel__cuda_idle {
  gemel__cuda_idle *next;
  void *data;
};

enum { LEAST = 512 };

/* The bytes of pieces of class K: 4, 5, 6 and 7 quarters of each power of two. */
static size_t bytes_of(int k) {
  return ((size_t)LEAST / 4 << k / 4) * (size_t)(4 + k % 4);
}

/* The class of BYTES, and in *ROUNDED how many bytes its pieces have. */
static int class_of(size_t bytes, size_t *rounded) {
  int k = 0;
  while (bytes_of(k) < bytes && k < GEMEL__CUDA_CLASSES - 1) {
    k++;
  }
  *rounded = bytes_of(k) < bytes ? bytes : bytes_of(k);
  return k;
}

static void *take(gemel_cuda *cuda, int k) {
  gemel__cuda_idle *idle;
  void *data = NULL;
  pthread_mutex_lock(&cuda->pool_lock);
  idle = cuda->idle[k];
  if (idle != NULL) {
    cuda->idle[k] = idle->next;
    data = idle->data;
  }
  pthread_mutex_unlock(&cuda->pool_lock);
  free(idle);
  return data;
}

static void give_back(gemel_cuda *cuda, void *data, size_t rounded) {
  int before;
  gemel__cuda_enter(cuda, &before, NULL);
  gemel__cuda_freed(cudaFree(data));
  gemel__cuda_leave(cuda, before);
  __atomic_fetch_sub(&cuda->counts.allocations, 1, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&cuda->counts.bytes, rounded, __ATOMIC_RELAXED);
}

void gemel__cuda_pool_clear(gemel_cuda *cuda) {
  for (int k = 0; k < GEMEL__CUDA_CLASSES; k++) {
    void *data;
    while ((data = take(cuda, k)) != NULL) {
      give_back(cuda, data, bytes_of(k));
    }
  }
}

static gemel_status allocate_new(gemel_cuda *cuda, size_t bytes, void **data, gemel_error *error) {
  gemel_status status = gemel__cuda_check(error, cudaMalloc(data, bytes), "memory of the GPU");
  if (status == GEMEL_NO_MEMORY) {
    gemel__cuda_pool_clear(cuda);
    status = gemel__cuda_check(error, cudaMalloc(data, bytes), "memory of the GPU");
  }
  if (status != GEMEL_OK) {
    return status;
  }
  __atomic_fetch_add(&cuda->counts.allocations, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&cuda->counts.bytes, bytes, __ATOMIC_RELAXED);
  return GEMEL_OK;
}

gemel_status gemel__cuda_allocate(void *user, size_t bytes, void **data, gemel_error *error) {
  gemel_cuda *cuda = user;
  size_t rounded;
  int k = class_of(bytes, &rounded);
  int before;
  gemel_status status;
  *data = take(cuda, k);
  if (*data != NULL) {
    return GEMEL_OK;
  }
  status = gemel__cuda_enter(cuda, &before, error);
  status = status == GEMEL_OK ? allocate_new(cuda, rounded, data, error) : status;
  gemel__cuda_leave(cuda, before);
  return status;
}

void gemel__cuda_release(void *user, void *data, size_t bytes) {
  gemel_cuda *cuda = user;
  gemel__cuda_idle *idle = malloc(sizeof *idle);
  size_t rounded;
  int k = class_of(bytes, &rounded);
  if (idle == NULL) {
    give_back(cuda, data, rounded);
    return;
  }
  idle->data = data;
  pthread_mutex_lock(&cuda->pool_lock);
  idle->next = cuda->idle[k];
  cuda->idle[k] = idle;
  pthread_mutex_unlock(&cuda->pool_lock);
}
