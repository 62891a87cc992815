/* SPDX-License-Identifier: MIT
 *
 * What the files of the reduce family share: reduce.c (types, derivatives), reduce-run.c (how a
 * reduction is cut into blocks and threads), reduce-argmax.c (the same for argmax) and
 * reduce-kernels.c (the loops on contiguous elements).
 */
#ifndef GEMEL__OPS_REDUCE_H
#define GEMEL__OPS_REDUCE_H

#include "core/isa.h"
#include "ops/ops.h"

typedef enum gemel__reduction {
  GEMEL__REDUCE_SUM,
  GEMEL__REDUCE_PROD,
  GEMEL__REDUCE_MAX,
  GEMEL__REDUCE_ARGMAX, /* uses the reducer of MAX, where equal zeros are one key */
  GEMEL__REDUCE_COUNT
} gemel__reduction;

/* An accumulator: one number of the reducer's own type. */
typedef union gemel__acc {
  float f32;
  double f64;
  int32_t i32;
  int64_t i64;
  uint64_t u64;
} gemel__acc;

enum {
  GEMEL__REDUCE_BLOCK = 4096, /* elements of a line that are reduced at once */
  GEMEL__REDUCE_ABREAST = 4   /* blocks that are read abreast */
};

/* How one reduction works on one dtype (half types come as f32). Accumulators have ACC_BYTES each
 * and stand side by side. The order of operations depends on the arguments alone. */
typedef struct gemel__reducer {
  size_t acc_bytes;
  /* N accumulators of nothing. */
  void (*init)(size_t n, void *acc);
  /* One accumulator of N contiguous elements. */
  void (*block)(size_t n, const void *data, void *acc);
  /* The same of each of GEMEL__REDUCE_ABREAST whole blocks that follow each other, to as many
   * accumulators; several places of memory are read in turns, which is faster where no cache holds
   * them. NULL: not for this dtype. */
  void (*abreast)(const void *data, void *acc);
  /* COUNT accumulators, each as BLOCK makes it of N contiguous elements, STRIDE bytes from one's
   * first to the next's. */
  void (*lines)(size_t count, int64_t stride, size_t n, const void *data, void *acc);
  /* N accumulators take ROWS rows of N contiguous elements, STRIDE bytes from row to row. */
  void (*rows)(size_t rows, int64_t stride, size_t n, const void *data, void *acc);
  /* A[k] joined with B[k]. */
  void (*merge)(size_t n, void *a, const void *b);
  /* N accumulators as numbers of the result's dtype (f32 for half types). */
  void (*finish)(size_t n, const void *acc, void *out);
  /* As ROWS, where ROW is the number of the first: PLACES[k] becomes that of the row in which
   * accumulator k grew. Of argmax only. */
  void (*places)(size_t rows, int64_t stride, size_t n, const void *data, int32_t row, void *acc,
                 int32_t *places);
  /* The first of N contiguous elements that makes the accumulator ACC, N if none does; N is at most
   * GEMEL__REDUCE_BLOCK. Of argmax only. */
  size_t (*first)(size_t n, const void *data, const void *acc);
} gemel__reducer;

/* DTYPE is no half type. ISA must be one that the machine has. */
const gemel__reducer *gemel__reducer_for(gemel__reduction what, gemel_dtype dtype, gemel__isa isa);

/* Which axes are reduced: fills MASK[0..rank). GEMEL_BAD_ARGUMENT if one is out of range or named
 * twice. ATTR of kind GEMEL_ATTR_NONE means all. */
gemel_status gemel__reduced_axes(const gemel_attr *attr, int rank, unsigned char *mask,
                                 gemel_error *error);

extern const gemel_kernel gemel__sum_kernels[], gemel__prod_kernels[], gemel__max_kernels[],
    gemel__argmax_kernels[];

#endif
