/* SPDX-License-Identifier: MIT
 *
 * dot and dot_add: cuBLAS for the float dtypes, a plain kernel for the others. The axes of an
 * operand fall into batch, rows and columns; where each group can be walked with one stride the
 * operand is a batch of matrices as it lies, else it is copied to scratch memory as one. cuBLAS's
 * matrices are stored by columns: ours, stored by rows, are their transposes to it, so it is asked
 * for yᵀxᵀ. dot_add puts z where the result goes, if it isn't there, and adds to that.
 */
#include "kernels/host.h"
#include "kernels/scalar.h"

extern "C" {
#include "ops/linalg.h"
}

/* ---- Device ---- */

/* Strides count elements. */
struct plain_product {
  long long batch, m, n, k;
  long long x_batch, x_row, x_column, y_batch, y_row, y_column;
  int adds; /* to what the result holds */
};

#define DOT_KERNEL(T, Sum, START, ADD, FINISH)                                                     \
  static __global__ void dot_##T(plain_product p, char *out, const char *x, const char *y) {       \
    const long long item = sizeof(stored_##T);                                                     \
    for (long long e = first_element(); e < p.batch * p.m * p.n; e += element_step()) {            \
      long long column = e % p.n, row = e / p.n % p.m, batch = e / p.n / p.m;                      \
      const char *a = x + (batch * p.x_batch + row * p.x_row) * item;                              \
      const char *b = y + (batch * p.y_batch + column * p.y_column) * item;                        \
      Sum sum = p.adds ? (Sum)load_##T(out + e * item) : (Sum)START;                               \
      for (long long k = 0; k < p.k; k++) {                                                        \
        value_##T u = load_##T(a + k * p.x_column * item);                                         \
        value_##T v = load_##T(b + k * p.y_row * item);                                            \
        sum = ADD(sum, u, v);                                                                      \
      }                                                                                            \
      store_##T(out + e * item, FINISH(sum));                                                      \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(dot_##T, dot_##T)
DOT_KERNEL(bool, uint8_t, 0, OR_OF_ANDS, SAME)
DOT_KERNEL(i8, uint64_t, 0, WRAPPING, (int8_t))
DOT_KERNEL(i16, uint64_t, 0, WRAPPING, (int16_t))
DOT_KERNEL(i32, uint64_t, 0, WRAPPING, (int32_t))
DOT_KERNEL(i64, uint64_t, 0, WRAPPING, (int64_t))
DOT_KERNEL(u8, uint64_t, 0, WRAPPING, (uint8_t))
DOT_KERNEL(u16, uint64_t, 0, WRAPPING, (uint16_t))
DOT_KERNEL(u32, uint64_t, 0, WRAPPING, (uint32_t))
DOT_KERNEL(u64, uint64_t, 0, WRAPPING, (uint64_t))
DOT_KERNEL(f16, float, 0, ROUNDED, round_f16)
DOT_KERNEL(bf16, float, 0, ROUNDED, round_bf16)
DOT_KERNEL(f32, float, 0, ROUNDED, SAME)
DOT_KERNEL(f64, double, 0, ROUNDED, SAME)

/* ---- The plan ---- */

/* An operand as a batch of matrices: how many bytes from one to the next, from row to row, and from
 * column to column. x's rows are its free axes, y's the contracted ones. */
struct matrices {
  int64_t batch, row, column;
  int packed;
  size_t scratch_at;
};

struct dot_plan {
  int64_t n_batch, m, n, k;
  matrices x, y;
};
static_assert(sizeof(dot_plan) <= GEMEL_KERNEL_PREPARED_BYTES,
              "the plan must fit what a kernel may keep");

/* The axes of one operand in the order batch, rows, columns; COUNTS of each. */
static void grouped_axes(const gemel__dot_axes *axes, int side, int *order, int counts[3]) {
  const int *rows = side == 0 ? axes->free[0] : axes->contract[1];
  const int *columns = side == 0 ? axes->contract[0] : axes->free[1];
  counts[0] = axes->n_batch;
  counts[1] = side == 0 ? axes->n_free[0] : axes->n_contract;
  counts[2] = side == 0 ? axes->n_contract : axes->n_free[1];
  for (int k = 0; k < counts[0]; k++) {
    *order++ = axes->batch[side][k];
  }
  for (int k = 0; k < counts[1]; k++) {
    *order++ = rows[k];
  }
  for (int k = 0; k < counts[2]; k++) {
    *order++ = columns[k];
  }
}

static int64_t size_of(const gemel_view *x, const int *axes, int count) {
  int64_t size = 1;
  for (int k = 0; k < count; k++) {
    size *= x->shape[axes[k]];
  }
  return size;
}

/* 1 and *STRIDE if COUNT axes of X can be walked in their order with one stride. */
static int one_stride(const gemel_view *x, const int *axes, int count, int64_t *stride) {
  int64_t sizes[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  for (int k = 0; k < count; k++) {
    sizes[k] = x->shape[axes[k]];
    strides[k] = x->strides[axes[k]];
  }
  int rank = gemel__collapse(count, sizes, 1, strides, GEMEL_MAX_RANK);
  *stride = rank == 0 ? 0 : strides[0];
  return rank <= 1;
}

/* The strides of X as it lies; 0 if that is not a batch of matrices. */
static int lies_well(const gemel_view *x, const int *order, const int *counts, matrices *made) {
  int64_t item = (int64_t)gemel_dtype_size(x->dtype);
  return one_stride(x, order, counts[0], &made->batch) &&
         one_stride(x, order + counts[0], counts[1], &made->row) &&
         one_stride(x, order + counts[0] + counts[1], counts[2], &made->column) &&
         made->batch % item == 0 && made->row % item == 0 && made->column % item == 0;
}

/* 1 if cuBLAS takes ROWS × COLUMNS matrices with such strides: one of them is an element, the other
 * no less than what it skips. An axis of one element may have any. */
static int blas_takes(const matrices *a, int64_t rows, int64_t columns, int64_t item) {
  int by_rows = (a->column == item || columns <= 1) && (a->row >= columns * item || rows <= 1);
  int by_columns = (a->row == item || rows <= 1) && (a->column >= rows * item || columns <= 1);
  return (by_rows || by_columns) && a->batch >= 0 && a->row / item <= INT32_MAX &&
         a->column / item <= INT32_MAX;
}

static void pack(matrices *a, int64_t rows, int64_t columns, int64_t item, size_t elements,
                 gemel_kernel_call *call) {
  a->packed = 1;
  a->column = item;
  a->row = columns * item;
  a->batch = rows * columns * item;
  a->scratch_at = call->scratch_bytes;
  call->scratch_bytes += (elements * (size_t)item + 255) / 256 * 256;
}

static void make_plan(gemel_kernel_call *call, int blas) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1];
  int64_t item = (int64_t)gemel_dtype_size(x->dtype);
  int x_order[GEMEL_MAX_RANK], y_order[GEMEL_MAX_RANK], xc[3], yc[3];
  gemel__dot_axes axes;
  dot_plan *p = (dot_plan *)call->prepared;
  gemel__dot_axes_of(call->attrs, x->rank, y->rank, &axes);
  grouped_axes(&axes, 0, x_order, xc);
  grouped_axes(&axes, 1, y_order, yc);
  p->n_batch = size_of(x, x_order, xc[0]);
  p->m = size_of(x, x_order + xc[0], xc[1]);
  p->k = size_of(x, x_order + xc[0] + xc[1], xc[2]);
  p->n = size_of(y, y_order + yc[0] + yc[1], yc[2]);
  if (!lies_well(x, x_order, xc, &p->x) || (blas && !blas_takes(&p->x, p->m, p->k, item))) {
    pack(&p->x, p->m, p->k, item, (size_t)(p->n_batch * p->m * p->k), call);
  }
  if (!lies_well(y, y_order, yc, &p->y) || (blas && !blas_takes(&p->y, p->k, p->n, item))) {
    pack(&p->y, p->k, p->n, item, (size_t)(p->n_batch * p->k * p->n), call);
  }
}

static int is_float(gemel_dtype dtype) {
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
}

static gemel_status prepare_blas(gemel_kernel_call *call) {
  const dot_plan *p = (const dot_plan *)call->prepared;
  if (!is_float(call->inputs[0].dtype)) {
    return GEMEL_DECLINED;
  }
  make_plan(call, 1);
  return p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX || p->n_batch > INT32_MAX
             ? GEMEL_DECLINED
             : GEMEL_OK;
}

static gemel_status prepare_plain(gemel_kernel_call *call) {
  make_plan(call, 0);
  return GEMEL_OK;
}

/* ---- Running ---- */

/* Copies operand SIDE to its scratch memory, if that is where it is wanted; *DATA: where it is. */
static gemel_status packed_operand(const gemel_kernel_call *call, int side, const matrices *a,
                                   void **data) {
  const gemel_view *x = &call->inputs[side];
  int64_t shape[GEMEL_MAX_RANK], from[GEMEL_MAX_RANK], to[GEMEL_MAX_RANK];
  int64_t step = (int64_t)gemel_dtype_size(x->dtype);
  int order[GEMEL_MAX_RANK], counts[3];
  gemel__dot_axes axes;
  *data = x->data;
  if (!a->packed) {
    return GEMEL_OK;
  }
  *data = (char *)call->scratch + a->scratch_at;
  gemel__dot_axes_of(call->attrs, call->inputs[0].rank, call->inputs[1].rank, &axes);
  grouped_axes(&axes, side, order, counts);
  for (int k = x->rank - 1; k >= 0; k--) {
    shape[k] = x->shape[order[k]];
    from[k] = x->strides[order[k]];
    to[k] = step;
    step *= shape[k];
  }
  const gemel_view source = {x->dtype, x->rank, shape, from, x->data};
  const gemel_view target = {x->dtype, x->rank, shape, to, *data};
  return gemel__cuda_copy(gemel__cuda_of(call), &target, &source, call->error);
}

static gemel_status packed_operands(const gemel_kernel_call *call, void **x, void **y) {
  const dot_plan *p = (const dot_plan *)call->prepared;
  gemel_status status = packed_operand(call, 0, &p->x, x);
  return status == GEMEL_OK ? packed_operand(call, 1, &p->y, y) : status;
}

/* Of dot_add z goes to the result, of dot without any products zeros do. */
static gemel_status begin_result(const gemel_kernel_call *call, const dot_plan *p) {
  const gemel_view *out = &call->outputs[0];
  size_t bytes = (size_t)(p->n_batch * p->m * p->n) * gemel_dtype_size(out->dtype);
  if (call->n_inputs > 2) {
    return out->data == call->inputs[2].data
               ? GEMEL_OK
               : gemel__cuda_copy(gemel__cuda_of(call), out, &call->inputs[2], call->error);
  }
  return bytes == 0 || p->k > 0
             ? GEMEL_OK
             : call->device->fill(call->device->user, out->data, 0, bytes, call->error);
}

/* A matrix as cuBLAS sees it: stored by columns, so ours by rows is its transpose. */
struct blas_matrix {
  cublasOperation_t operation;
  int leading;
  long long batch;
};

static blas_matrix as_blas(const matrices *a, int64_t rows, int64_t columns, int64_t item) {
  int by_rows = (a->column == item || columns <= 1) && (a->row >= columns * item || rows <= 1);
  int64_t leading =
      by_rows ? rows <= 1 ? columns : a->row / item : (columns <= 1 ? rows : a->column / item);
  return {by_rows ? CUBLAS_OP_N : CUBLAS_OP_T, (int)(leading > 0 ? leading : 1), a->batch / item};
}

static cudaDataType blas_dtype(gemel_dtype dtype) {
  return dtype == GEMEL_F16    ? CUDA_R_16F
         : dtype == GEMEL_BF16 ? CUDA_R_16BF
         : dtype == GEMEL_F32  ? CUDA_R_32F
                               : CUDA_R_64F;
}

static gemel_status run_blas(const gemel_kernel_call *call) {
  const dot_plan *p = (const dot_plan *)call->prepared;
  gemel_dtype dtype = call->inputs[0].dtype;
  int64_t item = (int64_t)gemel_dtype_size(dtype);
  gemel__cuda_product product = {};
  void *x, *y;
  gemel_status status = begin_result(call, p);
  if (status != GEMEL_OK || p->n_batch * p->m * p->n == 0 || p->k == 0) {
    return status;
  }
  status = packed_operands(call, &x, &y);
  if (status != GEMEL_OK) {
    return status;
  }
  blas_matrix a = as_blas(&p->y, p->k, p->n, item), b = as_blas(&p->x, p->m, p->k, item);
  product.dtype = blas_dtype(dtype);
  product.operation[0] = a.operation;
  product.operation[1] = b.operation;
  product.m = (int)p->n;
  product.n = (int)p->m;
  product.k = (int)p->k;
  product.leading[0] = a.leading;
  product.leading[1] = b.leading;
  product.leading[2] = (int)p->n;
  product.batch[0] = a.batch;
  product.batch[1] = b.batch;
  product.batch[2] = p->m * p->n;
  product.count = (int)p->n_batch;
  product.adds = call->n_inputs > 2;
  product.precision = call->matmul_precision;
  return gemel__cuda_multiply(gemel__cuda_of(call), &product, y, x, call->outputs[0].data,
                              call->error);
}

static const kernel_getter plain_kernels[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_dot_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};

static gemel_status run_plain(const gemel_kernel_call *call) {
  const dot_plan *p = (const dot_plan *)call->prepared;
  int64_t item = (int64_t)gemel_dtype_size(call->inputs[0].dtype);
  plain_product product = {p->n_batch,
                           p->m,
                           p->n,
                           p->k,
                           p->x.batch / item,
                           p->x.row / item,
                           p->x.column / item,
                           p->y.batch / item,
                           p->y.row / item,
                           p->y.column / item,
                           call->n_inputs > 2};
  void *x, *y, *out = call->outputs[0].data;
  gemel_status status = begin_result(call, p);
  status = status == GEMEL_OK ? packed_operands(call, &x, &y) : status;
  void *arguments[] = {&product, &out, &x, &y};
  return status == GEMEL_OK
             ? launch_over(gemel__cuda_of(call), plain_kernels[call->inputs[0].dtype](),
                           product.batch * product.m * product.n, arguments, call->error)
             : status;
}

extern "C" const gemel_kernel gemel__cuda_dot[] = {
    {"cublas", prepare_blas, run_blas}, {"plain", prepare_plain, run_plain}, {NULL, NULL, NULL}};
