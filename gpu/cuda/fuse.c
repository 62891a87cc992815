/* SPDX-License-Identifier: MIT
 *
 * Elementwise operations as one kernel, written when they are met (fuse-text.c): a cluster, or one
 * operation on many elements. Its argument is a list of words of 8 bytes: the number of elements
 * and of groups; of each axis but the first its size and what divides by it; the addresses of
 * operands and results; and for each strided operand its strides.
 */
#include <stdlib.h>
#include <string.h>
#include "cuda/compile.h"
#include "cuda/cuda.h"
#include "cuda/fuse.h"

/* Elements below which one operation has its kernel of kernels/elementwise.cu: the launch takes
 * longer than the work, so there is nothing to gain. */
enum { LEAST_ALONE = 1 << 16 };

typedef struct cluster_plan {
  const void *kernel;
  int several;      /* elements of a group; 1: there are none */
  uint64_t aligned; /* a bit for each address that must be a multiple of ALIGNMENT for groups */
  size_t addresses; /* where they begin */
  size_t n_words;
  uint64_t *words;
} cluster_plan;

static void release_plan(void *prepared) {
  free(((cluster_plan *)prepared)->words);
}

/* ---- Arguments ---- */

void gemel__cuda_divisor(int64_t size, unsigned *magic, unsigned *shift) {
  *magic = *shift = 0;
  while (*shift < 31 && (int64_t)1 << *shift < size) {
    *shift += 1;
  }
  if (size > 0 && size <= INT32_MAX) {
    uint64_t above = ((uint64_t)1 << *shift) - (uint64_t)size;
    *magic = (unsigned)((above << 32) / (uint64_t)size + 1);
  }
}

uint64_t gemel__fuse_divisor(int64_t size) {
  unsigned magic, shift;
  gemel__cuda_divisor(size, &magic, &shift);
  return magic | (uint64_t)shift << 32;
}

static size_t words_of(const gemel__fuse *f) {
  size_t divisors = f->indexed && f->axes > 1 ? 2 * (size_t)(f->axes - 1) : 0;
  size_t n = 2 + divisors + f->call->n_inputs + f->call->n_outputs;
  for (size_t k = 0; k < f->call->n_inputs; k++) {
    n += f->kinds[k] >= GEMEL__FUSE_ROWS ? (size_t)f->axes : 0;
  }
  return n;
}

/* All but the number of groups and the addresses, which are known at a call. */
static void fill_words(const gemel__fuse *f, cluster_plan *p) {
  size_t at = 2;
  p->words[0] = (uint64_t)f->elements;
  for (int axis = 1; axis < f->axes && f->indexed; axis++) {
    p->words[at++] = (uint64_t)f->sizes[axis];
    p->words[at++] = gemel__fuse_divisor(f->sizes[axis]);
  }
  p->addresses = at;
  at += f->call->n_inputs + f->call->n_outputs;
  for (size_t k = 0; k < f->call->n_inputs; k++) {
    if (f->kinds[k] >= GEMEL__FUSE_ROWS) {
      memcpy(p->words + at, f->strides + (k + 1) * GEMEL_MAX_RANK,
             (size_t)f->axes * sizeof *p->words);
      at += (size_t)f->axes;
    }
  }
}

static gemel_status fill_plan(const gemel__fuse *f, cluster_plan *p) {
  p->several = f->several;
  p->n_words = words_of(f);
  if (p->n_words > GEMEL__FUSE_MOST_WORDS) {
    return GEMEL_DECLINED;
  }
  p->words = calloc(p->n_words, sizeof *p->words);
  if (p->words == NULL) {
    return GEMEL_NO_MEMORY;
  }
  fill_words(f, p);
  for (size_t k = 0; k < f->call->n_inputs && f->several > 1; k++) {
    int grouped = f->kinds[k] == GEMEL__FUSE_IN_ORDER || f->kinds[k] == GEMEL__FUSE_ROWS;
    p->aligned |= (uint64_t)grouped << k;
  }
  return GEMEL_OK;
}

/* ---- Kernels ---- */

int gemel__has_rows(const gemel_kernel_call *call) {
  size_t k = 0;
  while (k < call->n_steps && !call->steps[k].by_row) {
    k++;
  }
  return k < call->n_steps;
}

static gemel_status make_plan(gemel__fuse *f, cluster_plan *p, gemel_error *error) {
  gemel__fuse_write(f);
  if (f->text.failed) {
    return gemel__cuda_fail(error, GEMEL_NO_MEMORY, "out of memory for a kernel");
  }
  gemel_status status =
      gemel__cuda_compile(gemel__cuda_of(f->call), f->text.data, "cluster", &p->kernel, error);
  return status == GEMEL_OK ? fill_plan(f, p) : status;
}

static gemel_status prepare(gemel_kernel_call *call) {
  gemel__fuse f = {.call = call};
  memset(call->prepared, 0, sizeof(cluster_plan));
  f.strides = malloc((call->n_inputs + 1) * GEMEL_MAX_RANK * sizeof *f.strides);
  f.kinds = malloc(call->n_inputs + 1);
  gemel_status status =
      f.strides != NULL && f.kinds != NULL
          ? make_plan(&f, call->prepared, call->error)
          : gemel__cuda_fail(call->error, GEMEL_NO_MEMORY, "out of memory for a kernel");
  if (status == GEMEL_OK) {
    call->release = release_plan;
  }
  free(f.strides);
  free(f.kinds);
  free(f.text.data);
  return status;
}

static gemel_status prepare_cluster(gemel_kernel_call *call) {
  int64_t elements = 1;
  if (gemel__has_rows(call)) {
    return GEMEL_DECLINED;
  }
  for (int axis = 0; axis < call->outputs[0].rank; axis++) {
    elements *= call->outputs[0].shape[axis];
  }
  return call->n_steps < 2 && elements < LEAST_ALONE ? GEMEL_DECLINED : prepare(call);
}

static int is_aligned(const cluster_plan *p, const gemel_view *view) {
  size_t bytes = (size_t)p->several * gemel_dtype_size(view->dtype);
  return (uintptr_t)view->data % (bytes < 16 ? bytes : 16) == 0;
}

/* Fills in the addresses; 1 if elements can be read and written in groups. */
static int fill_addresses(const cluster_plan *p, const gemel_kernel_call *call) {
  uint64_t *addresses = p->words + p->addresses;
  int grouped = p->several > 1;
  for (size_t k = 0; k < call->n_inputs; k++) {
    addresses[k] = (uint64_t)(uintptr_t)call->inputs[k].data;
    grouped = grouped && ((p->aligned >> k & 1) == 0 || is_aligned(p, &call->inputs[k]));
  }
  for (size_t k = 0; k < call->n_outputs; k++) {
    addresses[call->n_inputs + k] = (uint64_t)(uintptr_t)call->outputs[k].data;
    grouped = grouped && is_aligned(p, &call->outputs[k]);
  }
  return grouped;
}

static gemel_status run_cluster(const gemel_kernel_call *call) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  const cluster_plan *p = call->prepared;
  void *arguments[] = {p->words};
  uint64_t elements = p->words[0];
  p->words[1] = fill_addresses(p, call) ? elements / (uint64_t)p->several : 0;
  uint64_t items = p->words[1] > 0 ? p->words[1] : elements;
  unsigned threads = items < 256 ? ((unsigned)items + 31) / 32 * 32 : 256;
  size_t blocks = (size_t)((items + threads - 1) / threads);
  size_t most = 4 * (size_t)cuda->blocks_at_once;
  return gemel__cuda_launch(cuda, p->kernel, blocks < most ? blocks : most, threads, 0, arguments,
                            call->error);
}

const gemel_kernel gemel__cuda_clusters[] = {
    {"fused", prepare_cluster, run_cluster},
    {"fused by rows", gemel__cuda_prepare_rows, gemel__cuda_run_rows},
    {"step by step", gemel__cuda_prepare_steps, gemel__cuda_run_steps},
    {NULL, NULL, NULL}};
