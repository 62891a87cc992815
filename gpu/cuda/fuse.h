/* SPDX-License-Identifier: MIT
 *
 * Elementwise operations as one generated kernel: how its text is written (fuse-text.c), and how it
 * is prepared and launched (fuse.c); and with reductions of rows (rows.c).
 */
#ifndef GEMEL__CUDA_FUSE_H
#define GEMEL__CUDA_FUSE_H

#include "core/strided.h"
#include "cuda/text.h"
#include "ops/ops.h"

/* How an operand lies, beside the results, which are row-major: the same element for all; in the
 * results' order; in rows that can be read like theirs; one element a row; or anyhow. */
typedef enum gemel__fuse_kind {
  GEMEL__FUSE_FIXED,
  GEMEL__FUSE_IN_ORDER,
  GEMEL__FUSE_ROWS,
  GEMEL__FUSE_STEADY,
  GEMEL__FUSE_STRIDED
} gemel__fuse_kind;

/* A cluster while its text is written. Axes that all operands walk alike are merged. */
typedef struct gemel__fuse {
  const gemel_kernel_call *call;
  gemel__cuda_text text;
  int axes;
  int64_t elements;
  int64_t sizes[GEMEL_MAX_RANK];
  int64_t *strides;     /* of each operand GEMEL_MAX_RANK, behind those of the result */
  unsigned char *kinds; /* gemel__fuse_kind of each operand */
  int several;          /* elements that a thread takes at a time */
  int indexed;          /* an operand's place depends on indices along the axes */
} gemel__fuse;

/* Fills in what follows from the views of F->call, and F->text. */
void gemel__fuse_write(gemel__fuse *f);

/* Writes step K, which is elementwise, as a constant sK of the operands' x0, x1… and earlier steps'
 * s0, s1…. */
void gemel__fuse_write_step(gemel__fuse *f, size_t k);

/* Elements of the longest rows that have clusters: a group of threads goes through one, several
 * times, and longer ones neither lie in a cache nor leave much to be done side by side. */
enum { GEMEL__CUDA_LONGEST_ROW = 16384 };

/* What divides by SIZE, as a word of the arguments (divisor of kernels/several.h). */
uint64_t gemel__fuse_divisor(int64_t size);

/* Clusters step by step (steps.c). */
gemel_status gemel__cuda_prepare_steps(gemel_kernel_call *call);
gemel_status gemel__cuda_run_steps(const gemel_kernel_call *call);

/* Writes the name of operand IN of a step: xK, or the sK of an earlier step. */
void gemel__fuse_write_operand(gemel__fuse *f, int in);

/* CUDA of any version and GPU takes that many bytes of arguments. */
enum { GEMEL__FUSE_MOST_WORDS = 4000 / 8 };

/* 1 if STEP is a sum or maximum of rows, not elementwise. */
static inline int gemel__reduces(const gemel_step *step) {
  return step->by_row && gemel__scalar_row_of(step->operation) == NULL;
}

/* 1 if CALL has steps by row. */
int gemel__has_rows(const gemel_kernel_call *call);

/* Clusters that have some (rows.c). */
gemel_status gemel__cuda_prepare_rows(gemel_kernel_call *call);
gemel_status gemel__cuda_run_rows(const gemel_kernel_call *call);

/* Bytes of a group of F's elements of SIZE bytes that must be aligned. */
static inline int64_t gemel__fuse_alignment(const gemel__fuse *f, size_t size) {
  int64_t bytes = f->several * (int64_t)size;
  return bytes < 16 ? bytes : 16;
}

#endif
