/* SPDX-License-Identifier: MIT
 *
 * Computing dot and dot_add: a batch of matrix products. dot_add puts z where the result goes, if
 * it doesn't lie there, and adds the products to it. Each group of axes of an operand is merged
 * into one axis where its strides allow it; then the operand is a matrix (for each batch index) as
 * it lies, with a stride for rows and one for columns, and goes to the product without a copy. An
 * operand whose groups don't merge, or whose strides the chosen product can't take, is first copied
 * to scratch memory, batch × rows × columns in row-major order; loops for small products decline
 * it.
 */
#include <limits.h>
#include <string.h>
#include "core/dtype.h"
#include "core/tensor.h"
#include "core/strided.h"
#include "cpu/gemm.h"
#include "cpu/walk.h"
#include "ops/linalg.h"
#include "ops/rule.h"

/* Products of so few multiplications are done by loops: a library's call costs more. */
enum { FEW = 216 };

/* One operand as a batch of matrices; strides in bytes. X's rows are its free axes, y's the
 * contracted ones. */
typedef struct gemm_operand {
  int64_t row, column, batch[2];
  int packed;
  size_t scratch_at;
} gemm_operand;

/* By plain loops, by loops for small products, by a library. */
typedef enum dot_way { PLAIN, SMALL, LIBRARY } dot_way;

/* What prepare finds out; kept in the call's state. */
typedef struct gemm_plan {
  int64_t m, n, k;
  int64_t batch[2];
  gemm_operand x, y;
  gemel__gemm gemm;
  dot_way way;
  int adds_in_place; /* z lies as the result does, and needn't be copied there */
} gemm_plan;

_Static_assert(sizeof(gemm_plan) <= GEMEL_KERNEL_PREPARED_BYTES,
               "the plan must fit the kernel's state");

/* ---- Groups of axes ---- */

static int64_t group_size(const gemel_view *x, int count, const int *axes) {
  int64_t size = 1;
  for (int k = 0; k < count; k++) {
    size *= x->shape[axes[k]];
  }
  return size;
}

/* The one stride with which COUNT axes of X can be walked in order; 0 returned if there is none. */
static int merged_stride(const gemel_view *x, int count, const int *axes, int64_t *stride) {
  int64_t sizes[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  for (int k = 0; k < count; k++) {
    sizes[k] = x->shape[axes[k]];
    strides[k] = x->strides[axes[k]];
  }
  int rank = gemel__collapse(count, sizes, 1, strides, GEMEL_MAX_RANK);
  *stride = rank == 0 ? (int64_t)gemel_dtype_size(x->dtype) : strides[0];
  return rank <= 1;
}

/* Row and column groups of an operand: SIDE 0 is x. */
static void groups(const gemel__dot_axes *axes, int side, int *n_rows, const int **rows,
                   int *n_columns, const int **columns) {
  *n_rows = side == 0 ? axes->n_free[0] : axes->n_contract;
  *rows = side == 0 ? axes->free[0] : axes->contract[1];
  *n_columns = side == 0 ? axes->n_contract : axes->n_free[1];
  *columns = side == 0 ? axes->contract[0] : axes->free[1];
}

/* 1 if operand X can be used as it lies, with the row and column strides then filled in. */
static int lies_well(const gemel_view *x, const gemel__dot_axes *axes, int side, dot_way way,
                     gemm_operand *o) {
  int n_rows, n_columns;
  const int *rows, *columns;
  int64_t item = (int64_t)gemel_dtype_size(x->dtype);
  groups(axes, side, &n_rows, &rows, &n_columns, &columns);
  if (!merged_stride(x, n_rows, rows, &o->row) ||
      !merged_stride(x, n_columns, columns, &o->column) || o->row % item != 0 ||
      o->column % item != 0) {
    return 0;
  }
  return way != LIBRARY ||
         gemel__gemm_takes(group_size(x, n_rows, rows), group_size(x, n_columns, columns),
                           o->row / item, o->column / item);
}

/* ---- The plan ---- */

/* Batch axes of both operands merged together; 0 if more than two are left. */
static int merge_batch(const gemel_kernel_call *call, const gemel__dot_axes *axes, gemm_plan *p) {
  int64_t sizes[GEMEL_MAX_RANK], strides[2][GEMEL_MAX_RANK];
  gemm_operand *operands[2] = {&p->x, &p->y};
  for (int side = 0; side < 2; side++) {
    int64_t packed = p->m * p->k * gemel__view_item(&call->inputs[0]);
    packed = side == 0 ? packed : p->k * p->n * gemel__view_item(&call->inputs[0]);
    for (int k = axes->n_batch - 1; k >= 0; k--) {
      int axis = axes->batch[side][k];
      sizes[k] = call->inputs[side].shape[axis];
      strides[side][k] = operands[side]->packed ? packed : call->inputs[side].strides[axis];
      packed *= sizes[k];
    }
  }
  int rank = gemel__collapse(axes->n_batch, sizes, 2, &strides[0][0], GEMEL_MAX_RANK);
  for (int k = 0; k < 2; k++) {
    int from = rank - 2 + k;
    p->batch[k] = from < 0 ? 1 : sizes[from];
    p->x.batch[k] = from < 0 ? 0 : strides[0][from];
    p->y.batch[k] = from < 0 ? 0 : strides[1][from];
  }
  return rank <= 2;
}

static void pack_shape(gemm_operand *o, int64_t columns, int64_t item) {
  o->packed = 1;
  o->row = columns * item;
  o->column = item;
}

static size_t packed_bytes(const gemel_view *x) {
  return ((size_t)(gemel__view_elements(x) * gemel__view_item(x)) + 63) / 64 * 64;
}

/* Gives packed operands their places in the scratch memory. */
static void place_packed(gemel_kernel_call *call, gemm_plan *p) {
  call->scratch_bytes = 0;
  if (p->x.packed) {
    p->x.scratch_at = 0;
    call->scratch_bytes = packed_bytes(&call->inputs[0]);
  }
  if (p->y.packed) {
    p->y.scratch_at = call->scratch_bytes;
    call->scratch_bytes += packed_bytes(&call->inputs[1]);
  }
}

/* The loops read rows of y over and over: unless it is small they should be contiguous. */
static int loops_want_packed(const gemm_plan *p, int64_t item) {
  return p->way == PLAIN && p->y.column != item && p->n > 1 && p->m > 4 && p->m * p->n > FEW;
}

static void make_plan(gemel_kernel_call *call, dot_way way) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1];
  int64_t item = gemel__view_item(x);
  gemel__dot_axes axes;
  gemm_plan p;
  memset(&p, 0, sizeof p);
  gemel__dot_axes_of(call->attrs, x->rank, y->rank, &axes);
  p.m = group_size(x, axes.n_free[0], axes.free[0]);
  p.k = group_size(x, axes.n_contract, axes.contract[0]);
  p.n = group_size(y, axes.n_free[1], axes.free[1]);
  p.way = way;
  p.adds_in_place = way == SMALL && call->n_inputs > 2 &&
                    gemel__is_row_major((size_t)item, call->inputs[2].rank, call->inputs[2].shape,
                                        call->inputs[2].strides);
  if (!lies_well(x, &axes, 0, way, &p.x)) {
    pack_shape(&p.x, p.k, item);
  }
  if (!lies_well(y, &axes, 1, way, &p.y) || loops_want_packed(&p, item)) {
    pack_shape(&p.y, p.n, item);
  }
  if (!merge_batch(call, &axes, &p)) {
    pack_shape(&p.x, p.k, item);
    pack_shape(&p.y, p.n, item);
    merge_batch(call, &axes, &p);
  }
  place_packed(call, &p);
  p.gemm = (gemel__gemm){x->dtype,
                         call->threads,
                         call->deterministic,
                         p.m,
                         p.n,
                         p.k,
                         p.x.row / item,
                         p.x.column / item,
                         p.y.row / item,
                         p.y.column / item,
                         call->n_inputs > 2,
                         0};
  memcpy(call->prepared, &p, sizeof p);
}

static gemel_status prepare_plain(gemel_kernel_call *call) {
  make_plan(call, PLAIN);
  return GEMEL_OK;
}

static gemel_status prepare_small(gemel_kernel_call *call) {
  const gemm_plan *p = call->prepared;
  make_plan(call, SMALL);
  return !p->x.packed && !p->y.packed && gemel__gemm_small_takes(&p->gemm) &&
                 (call->timed || gemel__gemm_is_small(&p->gemm))
             ? GEMEL_OK
             : GEMEL_DECLINED;
}

static gemel_status prepare_library(gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1];
  gemel__dot_axes axes;
  if (!gemel__gemm_has_library(x->dtype)) {
    return GEMEL_DECLINED;
  }
  gemel__dot_axes_of(call->attrs, x->rank, y->rank, &axes);
  int64_t m = group_size(x, axes.n_free[0], axes.free[0]);
  int64_t k = group_size(x, axes.n_contract, axes.contract[0]);
  int64_t n = group_size(y, axes.n_free[1], axes.free[1]);
  if ((double)m * (double)n * (double)k <= FEW || m > INT_MAX || n > INT_MAX || k > INT_MAX) {
    return GEMEL_DECLINED;
  }
  make_plan(call, LIBRARY);
  return GEMEL_OK;
}

/* ---- Running ---- */

/* Copies an operand to its scratch memory, axes in the order batch, rows, columns. */
static void pack(const gemel_kernel_call *call, const gemel__dot_axes *axes, int side, char *to) {
  const gemel_view *x = &call->inputs[side];
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], packed[GEMEL_MAX_RANK];
  int order[GEMEL_MAX_RANK], n_rows, n_columns;
  const int *rows, *columns;
  groups(axes, side, &n_rows, &rows, &n_columns, &columns);
  memcpy(order, axes->batch[side], (size_t)axes->n_batch * sizeof *order);
  memcpy(order + axes->n_batch, rows, (size_t)n_rows * sizeof *order);
  memcpy(order + axes->n_batch + n_rows, columns, (size_t)n_columns * sizeof *order);
  for (int k = 0; k < x->rank; k++) {
    shape[k] = x->shape[order[k]];
    strides[k] = x->strides[order[k]];
  }
  gemel__packed_strides(gemel__view_item(x), x->rank, shape, packed);
  gemel__copy_strided((size_t)gemel__view_item(x), x->rank, shape, to, packed, x->data, strides);
}

static void pack_operands(const gemel_kernel_call *call, const gemm_plan *p, const char **x,
                          const char **y) {
  gemel__dot_axes axes;
  if (!p->x.packed && !p->y.packed) {
    return;
  }
  gemel__dot_axes_of(call->attrs, call->inputs[0].rank, call->inputs[1].rank, &axes);
  if (p->x.packed) {
    char *to = (char *)call->scratch + p->x.scratch_at;
    pack(call, &axes, 0, to);
    *x = to;
  }
  if (p->y.packed) {
    char *to = (char *)call->scratch + p->y.scratch_at;
    pack(call, &axes, 1, to);
    *y = to;
  }
}

/* One product, to which FROM is added (small products) or what OUT holds (others). */
static void multiply(const gemm_plan *p, const char *a, const char *b, const char *from,
                     char *out) {
  if (p->way == SMALL) {
    gemel__gemm_small(&p->gemm, a, b, from, out);
  } else if (p->way == LIBRARY) {
    gemel__gemm_library(&p->gemm, a, b, out);
  } else {
    gemel__gemm_plain(&p->gemm, a, b, out);
  }
}

static gemel_status run_dot(const gemel_kernel_call *call) {
  const gemm_plan *p = call->prepared;
  const char *x = call->inputs[0].data, *y = call->inputs[1].data;
  char *out = call->outputs[0].data;
  const char *from = p->adds_in_place ? call->inputs[2].data : p->gemm.accumulate ? out : NULL;
  int64_t bytes = p->m * p->n * gemel__view_item(&call->outputs[0]);
  if (from == out && call->inputs[2].data != call->outputs[0].data) {
    gemel__copy_parallel(call->threads, (size_t)gemel__view_item(&call->outputs[0]),
                         call->outputs[0].rank, call->outputs[0].shape, out,
                         call->outputs[0].strides, call->inputs[2].data, call->inputs[2].strides);
  }
  if (bytes == 0 || (p->k == 0 && from == out)) {
    return GEMEL_OK;
  }
  if (p->k == 0 && from == NULL) {
    memset(out, 0, (size_t)(bytes * p->batch[0] * p->batch[1]));
    return GEMEL_OK;
  }
  pack_operands(call, p, &x, &y);
  for (int64_t i = 0; i < p->batch[0]; i++) {
    for (int64_t j = 0; j < p->batch[1]; j++, out += bytes, from += from != NULL ? bytes : 0) {
      const char *a = x + i * p->x.batch[0] + j * p->x.batch[1];
      const char *b = y + (i * p->y.batch[0] + j * p->y.batch[1]);
      multiply(p, a, b, from, out);
    }
  }
  return GEMEL_OK;
}

const gemel_kernel gemel__dot_kernels[] = {{"small", prepare_small, run_dot},
                                           {"library", prepare_library, run_dot},
                                           {"plain", prepare_plain, run_dot},
                                           {NULL, NULL, NULL}};

void gemel__dot_cost(const gemel_kernel_call *call, double *flops, double *bytes) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1], *out = &call->outputs[0];
  gemel__dot_axes axes;
  gemel__dot_axes_of(call->attrs, x->rank, y->rank, &axes);
  *flops = 2 * (double)gemel__view_elements(out) *
           (double)group_size(x, axes.n_contract, axes.contract[0]);
  *bytes = (double)gemel__view_item(out) *
           ((double)gemel__view_elements(x) + (double)gemel__view_elements(y) +
            (double)gemel__view_elements(out) * (call->n_inputs > 2 ? 2 : 1));
}
