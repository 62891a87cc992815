/* SPDX-License-Identifier: MIT
 *
 * solve, triangular_solve, cholesky and determinants. Matrices of up to MANY_ROWS plainly: a block
 * factors one, step by step, its threads sharing what a step changes; a thread solves for a column
 * of a right side; one for each matrix multiplies the pivots. Bigger ones, one after another, by
 * cuSOLVER and cuBLAS: kernels bring them to scratch memory, stored by columns, see what became of
 * them, and write the results. What isn't finite makes these NaN, as lib/ops/solve-run.c says.
 */
#include <limits.h>
#include <string.h>
#include "kernels/host.h"
#include "kernels/scalar.h"

extern "C" {
#include "core/error.h"
}

/* ---- Device ---- */

/* A batch of matrices of N rows: WALK leads to the first element of each, of operands a, b and
 * result; strides from row to row and from column to column are in bytes. */
struct matrices {
  divided_walk<3> walk;
  long long n, columns;
  long long row[3], column[3];
  int lower, trans, unit_diagonal;
};

/* What became of a matrix. */
enum { FACTORED, SINGULAR, NOT_FINITE };

template <class T> static __device__ T *at(char *x, long long row, long long column) {
  return (T *)(x + row + column);
}
template <class T> static __device__ T get(const char *x, long long row, long long column) {
  return *(const T *)(x + row + column);
}
template <class T> static __device__ bool is_finite(T x) {
  return x - x == 0;
}

/* The row at or below K with the largest number in column K; -1 if that is 0. */
template <class T> static __device__ long long find_pivot(const T *w, long long n, long long k) {
  long long p = k;
  for (long long i = k + 1; i < n; i++) {
    p = fabs(w[i * n + k]) > fabs(w[p * n + k]) ? i : p;
  }
  return w[p * n + k] == 0 ? -1 : p;
}

/* Elimination of the N × N matrix W, in place. PIVOTS[k]: the row that row k was exchanged with,
 * from 1, as libraries count them. */
template <class T> static __device__ int eliminate(long long n, T *w, int *pivots) {
  GEMEL_SHARED(long long, chosen, [1]);
  for (long long k = 0; k < n; k++) {
    if (threadIdx.x == 0) {
      chosen[0] = find_pivot(w, n, k);
      pivots[k] = (int)chosen[0] + 1;
    }
    __syncthreads();
    long long p = chosen[0];
    if (p < 0) {
      return SINGULAR;
    }
    for (long long j = threadIdx.x; p != k && j < n; j += blockDim.x) {
      T kept = w[k * n + j];
      w[k * n + j] = w[p * n + j];
      w[p * n + j] = kept;
    }
    __syncthreads();
    for (long long i = k + 1 + threadIdx.x; i < n; i += blockDim.x) {
      w[i * n + k] /= w[k * n + k];
    }
    __syncthreads();
    long long rest = n - k - 1;
    for (long long e = threadIdx.x; e < rest * rest; e += blockDim.x) {
      long long i = k + 1 + e / rest, j = k + 1 + e % rest;
      w[i * n + j] -= w[i * n + k] * w[k * n + j];
    }
    __syncthreads();
  }
  return FACTORED;
}

/* W = the matrices and then their factors, one behind the other. */
template <class T>
static __global__ void factor_matrices(matrices m, const char *a, T *w, int *pivots, int *became) {
  for (long long number = blockIdx.x; number < m.walk.elements; number += gridDim.x) {
    long long offsets[3], size = m.n * m.n;
    find_offsets(m.walk, number, offsets);
    T *own = w + number * size;
    bool spoiled = false;
    for (long long e = threadIdx.x; e < size; e += blockDim.x) {
      own[e] = get<T>(a + offsets[0], e / m.n * m.row[0], e % m.n * m.column[0]);
      spoiled |= !is_finite(own[e]);
    }
    int is = __syncthreads_or(spoiled) ? NOT_FINITE : eliminate(m.n, own, pivots + number * m.n);
    for (long long e = threadIdx.x; is == FACTORED && e < size; e += blockDim.x) {
      spoiled |= !is_finite(own[e]);
    }
    is = __syncthreads_or(spoiled) ? NOT_FINITE : is;
    if (threadIdx.x == 0) {
      became[number] = is;
    }
  }
}

/* Column X of a right side: STEP bytes from row to row. */
template <class T>
static __device__ void substitute(const matrices &m, const char *a, long long row, long long column,
                                  bool lower, bool unit, char *x, long long step) {
  for (long long done = 0; done < m.n; done++) {
    long long i = lower ? done : m.n - 1 - done;
    T sum = get<T>(x, i * step, 0);
    for (long long before = 0; before < done; before++) {
      long long k = lower ? before : m.n - 1 - before;
      sum -= get<T>(a, i * row, k * column) * get<T>(x, k * step, 0);
    }
    *at<T>(x, i * step, 0) = unit ? sum : sum / get<T>(a, i * row, i * column);
  }
}

/* Copies a column; makes the whole of it NaN behind that if it isn't finite. */
template <class T>
static __device__ void copy_column(long long n, const char *b, long long b_step, char *x,
                                   long long x_step) {
  for (long long i = 0; i < n; i++) {
    *at<T>(x, i * x_step, 0) = get<T>(b, i * b_step, 0);
  }
}
template <class T>
static __device__ void spoil_column(long long n, bool spoiled, char *x, long long step) {
  for (long long i = 0; i < n; i++) {
    spoiled |= !is_finite(get<T>(x, i * step, 0));
  }
  for (long long i = 0; spoiled && i < n; i++) {
    *at<T>(x, i * step, 0) = (T)NAN;
  }
}

template <class T>
static __global__ void solve_columns(matrices m, const T *w, const int *pivots, const int *became,
                                     const char *b, char *out) {
  for (long long job = first_element(); job < m.walk.elements * m.columns; job += element_step()) {
    long long offsets[3], number = job / m.columns, column = job % m.columns;
    find_offsets(m.walk, number, offsets);
    const char *factors = (const char *)(w + number * m.n * m.n);
    char *x = out + offsets[2] + column * m.column[2];
    copy_column<T>(m.n, b + offsets[1] + column * m.column[1], m.row[1], x, m.row[2]);
    for (long long k = 0; became[number] == FACTORED && k < m.n; k++) {
      long long p = pivots[number * m.n + k] - 1;
      T kept = get<T>(x, p * m.row[2], 0);
      *at<T>(x, p * m.row[2], 0) = get<T>(x, k * m.row[2], 0);
      *at<T>(x, k * m.row[2], 0) = kept;
    }
    long long item = sizeof(T), row = m.n * item;
    if (became[number] == FACTORED) {
      substitute<T>(m, factors, row, item, true, true, x, m.row[2]);
      substitute<T>(m, factors, row, item, false, false, x, m.row[2]);
    }
    spoil_column<T>(m.n, became[number] != FACTORED, x, m.row[2]);
  }
}

template <class T> static __device__ bool triangle_finite(const matrices &m, const char *a) {
  bool finite = true;
  for (long long i = 0; i < m.n; i++) {
    long long from = m.lower ? 0 : i + m.unit_diagonal;
    long long to = m.lower ? i + 1 - m.unit_diagonal : m.n;
    for (long long j = from; j < to; j++) {
      finite &= is_finite(get<T>(a, i * m.row[0], j * m.column[0]));
    }
  }
  return finite;
}

template <class T>
static __global__ void triangular_columns(matrices m, const char *a, const char *b, char *out) {
  for (long long job = first_element(); job < m.walk.elements * m.columns; job += element_step()) {
    long long offsets[3], column = job % m.columns;
    find_offsets(m.walk, job / m.columns, offsets);
    const char *from = a + offsets[0];
    char *x = out + offsets[2] + column * m.column[2];
    bool finite = triangle_finite<T>(m, from), lower = (m.lower != 0) != (m.trans != 0);
    copy_column<T>(m.n, b + offsets[1] + column * m.column[1], m.row[1], x, m.row[2]);
    if (finite) {
      substitute<T>(m, from, m.trans ? m.column[0] : m.row[0], m.trans ? m.row[0] : m.column[0],
                    lower, m.unit_diagonal != 0, x, m.row[2]);
    }
    spoil_column<T>(m.n, !finite, x, m.row[2]);
  }
}

/* The lower triangle of OUT becomes its factor; false if it has none. */
template <class T> static __device__ bool factor_lower(const matrices &m, char *out) {
  for (long long k = 0; k < m.n; k++) {
    T pivot = get<T>(out, k * m.row[2], k * m.column[2]);
    __syncthreads();
    if (!(pivot > 0)) {
      return false;
    }
    T root = sqrt(pivot);
    for (long long i = k + threadIdx.x; i < m.n; i += blockDim.x) {
      T *e = at<T>(out, i * m.row[2], k * m.column[2]);
      *e = i == k ? root : *e / root;
    }
    __syncthreads();
    long long rest = m.n - k - 1;
    for (long long e = threadIdx.x; e < rest * rest; e += blockDim.x) {
      long long i = k + 1 + e / rest, j = k + 1 + e % rest;
      if (j <= i) {
        *at<T>(out, i * m.row[2], j * m.column[2]) -=
            get<T>(out, i * m.row[2], k * m.column[2]) * get<T>(out, j * m.row[2], k * m.column[2]);
      }
    }
    __syncthreads();
  }
  return true;
}

template <class T> static __global__ void cholesky_matrices(matrices m, const char *a, char *out) {
  for (long long number = blockIdx.x; number < m.walk.elements; number += gridDim.x) {
    long long offsets[3], size = m.n * m.n;
    find_offsets(m.walk, number, offsets);
    char *to = out + offsets[2];
    bool spoiled = false;
    for (long long e = threadIdx.x; e < size; e += blockDim.x) {
      long long i = e / m.n, j = e % m.n;
      T x = j > i ? (T)0 : get<T>(a + offsets[0], i * m.row[0], j * m.column[0]);
      *at<T>(to, i * m.row[2], j * m.column[2]) = x;
      spoiled |= !is_finite(x);
    }
    bool good = !__syncthreads_or(spoiled) && factor_lower<T>(m, to);
    for (long long e = threadIdx.x; good && e < size; e += blockDim.x) {
      spoiled |= !is_finite(get<T>(to, e / m.n * m.row[2], e % m.n * m.column[2]));
    }
    good = !__syncthreads_or(spoiled) && good;
    for (long long e = threadIdx.x; !good && e < size; e += blockDim.x) {
      if (e % m.n <= e / m.n) {
        *at<T>(to, e / m.n * m.row[2], e % m.n * m.column[2]) = (T)NAN;
      }
    }
  }
}

/* The determinant of factors W, or the logarithm of its magnitude. It is a number of [1/2, 1) times
 * a power of two, so that only one that is too large by itself becomes infinite. */
template <class T, bool log_abs>
static __global__ void multiply_pivots(matrices m, const T *w, const int *pivots, const int *became,
                                       char *out) {
  for (long long number = first_element(); number < m.walk.elements; number += element_step()) {
    long long offsets[3], exponent = 0;
    bool factored = became[number] == FACTORED;
    double product = became[number] == SINGULAR ? 0 : factored ? 1 : (double)NAN;
    find_offsets(m.walk, number, offsets);
    for (long long k = 0; factored && k < m.n; k++) {
      double pivot = (double)w[(number * m.n + k) * m.n + k];
      int part;
      product = frexp(product * (pivots[number * m.n + k] == k + 1 ? pivot : -pivot), &part);
      exponent += part;
    }
    int within = (int)(exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : exponent);
    bool usual = exponent > -1000 && exponent < 1000;
    double result = !log_abs ? ldexp(product, within)
                    : usual  ? log_f64(ldexp(fabs(product), within), 0, 0)
                             : log_f64(fabs(product), 0, 0) + (double)exponent * log_f64(2, 0, 0);
    *(T *)(out + offsets[2]) = (T)result;
  }
}

/* ---- Device, around libraries ---- */

/* What is known of a matrix while a library works: bits. */
enum { CAME_SPOILED = 1, LEFT_SPOILED = 2 };

/* Sets BIT of SEEN of each of COUNT matrices with an element that isn't finite: of all elements,
 * or, with SIDE 1 or -1, of the lower or upper triangle, without its diagonal if UNIT. */
template <class T>
static __global__ void look_at_matrices(long long count, long long n, int side, int unit,
                                        const T *w, int bit, int *seen) {
  for (long long e = first_element(); e < count * n * n; e += element_step()) {
    long long i = e % n, j = e / n % n;
    if (side * (i - j) >= (side != 0 && unit) && !is_finite(w[e])) {
      atomicOr(&seen[e / n / n], bit);
    }
  }
}

/* What became of the matrices, in place of what was seen of them. INFO: the library's; or NULL. */
static __global__ void judge_matrices(long long count, const int *info, int *became) {
  for (long long number = first_element(); number < count; number += element_step()) {
    int seen = became[number];
    became[number] = (seen & CAME_SPOILED) != 0          ? NOT_FINITE
                     : info != NULL && info[number] != 0 ? SINGULAR
                     : (seen & LEFT_SPOILED) != 0        ? NOT_FINITE
                                                         : FACTORED;
  }
}
GEMEL_KERNEL(judge, judge_matrices)

/* Right sides to X, by columns, with rows exchanged if there are PIVOTS. Where row I comes from is
 * found by going back through the exchanges; so many columns are worth that. */
enum { COLUMNS_AT_ONCE = 64 };
template <class T>
static __global__ void fetch_columns(matrices m, const char *b, const int *pivots,
                                     const int *became, T *x) {
  long long parts = (m.columns + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE;
  for (long long job = first_element(); job < m.walk.elements * parts * m.n;
       job += element_step()) {
    long long offsets[3], row = job % m.n, from = row, number = job / m.n / parts;
    long long first = job / m.n % parts * COLUMNS_AT_ONCE;
    find_offsets(m.walk, number, offsets);
    for (long long k = m.n - 1; pivots != NULL && became[number] == FACTORED && k >= 0; k--) {
      long long p = pivots[number * m.n + k] - 1;
      from = from == k ? p : from == p ? k : from;
    }
    for (long long j = first; j < first + COLUMNS_AT_ONCE && j < m.columns; j++) {
      x[(number * m.columns + j) * m.n + row] =
          get<T>(b + offsets[1], from * m.row[1], j * m.column[1]);
    }
  }
}

/* A block writes a column of X, or NaN. */
template <class T>
static __global__ void put_columns(matrices m, const T *x, const int *became, char *out) {
  for (long long job = blockIdx.x; job < m.walk.elements * m.columns; job += gridDim.x) {
    long long offsets[3], number = job / m.columns;
    const T *column = x + job * m.n;
    bool spoiled = became[number] != FACTORED;
    find_offsets(m.walk, number, offsets);
    for (long long i = threadIdx.x; i < m.n; i += blockDim.x) {
      spoiled |= !is_finite(column[i]);
    }
    spoiled = __syncthreads_or(spoiled) != 0;
    for (long long i = threadIdx.x; i < m.n; i += blockDim.x) {
      *at<T>(out + offsets[2], i * m.row[2], job % m.columns * m.column[2]) =
          spoiled ? (T)NAN : column[i];
    }
  }
}

template <class T>
static __global__ void put_triangles(matrices m, const T *w, const int *became, char *out) {
  for (long long e = first_element(); e < m.walk.elements * m.n * m.n; e += element_step()) {
    long long offsets[3], i = e % m.n, j = e / m.n % m.n, number = e / m.n / m.n;
    find_offsets(m.walk, number, offsets);
    *at<T>(out + offsets[2], i * m.row[2], j * m.column[2]) = j > i                        ? (T)0
                                                              : became[number] == FACTORED ? w[e]
                                                                                           : (T)NAN;
  }
}

#define KERNELS(name, T)                                                                           \
  GEMEL_KERNEL(factor_##name, factor_matrices<T>)                                                  \
  GEMEL_KERNEL(solve_##name, solve_columns<T>)                                                     \
  GEMEL_KERNEL(triangular_##name, triangular_columns<T>)                                           \
  GEMEL_KERNEL(cholesky_##name, cholesky_matrices<T>)                                              \
  GEMEL_KERNEL(look_at_##name, look_at_matrices<T>)                                                \
  GEMEL_KERNEL(fetch_columns_##name, fetch_columns<T>)                                             \
  GEMEL_KERNEL(put_columns_##name, put_columns<T>)                                                 \
  GEMEL_KERNEL(put_triangles_##name, put_triangles<T>)                                             \
  GEMEL_KERNEL(det_##name, multiply_pivots<T, false>)                                              \
  GEMEL_KERNEL(log_abs_det_##name, multiply_pivots<T, true>)
KERNELS(f32, float)
KERNELS(f64, double)

/* ---- Host ---- */

#define BY_DTYPE(name, dtype)                                                                      \
  ((dtype) == GEMEL_F32 ? gemel__kernel_##name##_f32() : gemel__kernel_##name##_f64())

/* VIEW without its last two axes, if it has as many as RANK. */
static gemel_view batch_of(const gemel_view *view, int rank) {
  gemel_view made = *view;
  made.rank = view->rank == rank ? rank - 2 : view->rank;
  return made;
}

/* b, where there is none, is the result; a determinant has no rows. */
static matrices make_matrices(const gemel_kernel_call *call) {
  const gemel_view *a = &call->inputs[0], *out = &call->outputs[0];
  const gemel_view *given[3] = {a, call->n_inputs > 1 ? &call->inputs[1] : out, out};
  const gemel_view batches[3] = {batch_of(given[0], a->rank), batch_of(given[1], a->rank),
                                 batch_of(given[2], a->rank)};
  const gemel_view *const views[3] = {&batches[0], &batches[1], &batches[2]};
  matrices m = {};
  m.walk = divided_walk_of(walk_over(views));
  m.n = a->shape[a->rank - 1];
  for (int k = 0; k < 3; k++) {
    int last = given[k]->rank - 1;
    bool rows = given[k]->rank == a->rank;
    m.columns = rows ? given[k]->shape[last] : 0;
    m.row[k] = rows ? given[k]->strides[last - 1] : 0;
    m.column[k] = rows ? given[k]->strides[last] : 0;
  }
  return m;
}

/* Scratch memory: factors, pivots, what became of each. */
struct factors {
  void *w, *pivots, *became;
  size_t bytes;
};

static factors make_factors(const gemel_kernel_call *call) {
  matrices m = make_matrices(call);
  size_t count = (size_t)m.walk.elements, n = (size_t)m.n;
  size_t w = (count * n * n * gemel_dtype_size(call->inputs[0].dtype) + 63) / 64 * 64;
  char *scratch = (char *)call->scratch;
  size_t pivots = (count * n * sizeof(int) + 63) / 64 * 64;
  if (scratch == NULL) {
    return factors{NULL, NULL, NULL, w + pivots + count * sizeof(int)};
  }
  return factors{scratch, scratch + w, scratch + w + pivots, w + pivots + count * sizeof(int)};
}

static gemel_status prepare_factors(gemel_kernel_call *call) {
  call->scratch_bytes = make_factors(call).bytes;
  return GEMEL_OK;
}

static gemel_status factor(const gemel_kernel_call *call, matrices *m, factors *f) {
  const gemel_view *a = &call->inputs[0];
  void *from = a->data, *arguments[] = {m, &from, &f->w, &f->pivots, &f->became};
  return launch_jobs(gemel__cuda_of(call), BY_DTYPE(factor, a->dtype), m->walk.elements,
                     m->n * m->n, arguments, call->error);
}

static gemel_status run_solve(const gemel_kernel_call *call) {
  matrices m = make_matrices(call);
  factors f = make_factors(call);
  void *b = call->inputs[1].data, *to = call->outputs[0].data;
  void *arguments[] = {&m, &f.w, &f.pivots, &f.became, &b, &to};
  gemel_status status = factor(call, &m, &f);
  return status == GEMEL_OK
             ? launch_over(gemel__cuda_of(call), BY_DTYPE(solve, call->inputs[0].dtype),
                           m.n > 0 ? m.walk.elements * m.columns : 0, arguments, call->error)
             : status;
}

static gemel_status determinant(const gemel_kernel_call *call, const void *kernel) {
  matrices m = make_matrices(call);
  factors f = make_factors(call);
  void *to = call->outputs[0].data, *arguments[] = {&m, &f.w, &f.pivots, &f.became, &to};
  gemel_status status = factor(call, &m, &f);
  return status == GEMEL_OK
             ? launch_over(gemel__cuda_of(call), kernel, m.walk.elements, arguments, call->error)
             : status;
}

static gemel_status run_det(const gemel_kernel_call *call) {
  return determinant(call, BY_DTYPE(det, call->inputs[0].dtype));
}

static gemel_status run_log_abs_det(const gemel_kernel_call *call) {
  return determinant(call, BY_DTYPE(log_abs_det, call->inputs[0].dtype));
}

static gemel_status run_triangular_solve(const gemel_kernel_call *call) {
  matrices m = make_matrices(call);
  void *a = call->inputs[0].data, *b = call->inputs[1].data, *to = call->outputs[0].data;
  void *arguments[] = {&m, &a, &b, &to};
  m.lower = call->attrs[0].u.i != 0;
  m.trans = call->attrs[1].u.i != 0;
  m.unit_diagonal = call->attrs[2].u.i != 0;
  return launch_over(gemel__cuda_of(call), BY_DTYPE(triangular, call->inputs[0].dtype),
                     m.n > 0 ? m.walk.elements * m.columns : 0, arguments, call->error);
}

static gemel_status run_cholesky(const gemel_kernel_call *call) {
  matrices m = make_matrices(call);
  void *a = call->inputs[0].data, *to = call->outputs[0].data, *arguments[] = {&m, &a, &to};
  return launch_jobs(gemel__cuda_of(call), BY_DTYPE(cholesky, call->inputs[0].dtype),
                     m.n > 0 ? m.walk.elements : 0, m.n * m.n, arguments, call->error);
}

/* ---- Host: libraries ---- */

/* More rows than these go to libraries. */
enum { MANY_ROWS = 128 };

enum library_task { SUBSTITUTES, FACTORS_LU, FACTORS_CHOLESKY };

/* A call, and its scratch memory: matrices, right sides and the others. */
struct library_work {
  gemel_cuda *cuda;
  matrices m;
  gemel__cuda_factors factors;
  long long count; /* of matrices */
  size_t item, bytes;
  char *w, *x;
  int *pivots, *info, *became;
  void *workspace;
};

static void *place(library_work *l, char *scratch, size_t bytes) {
  void *at = scratch == NULL ? NULL : scratch + l->bytes;
  l->bytes += (bytes + 255) / 256 * 256;
  return at;
}

/* Libraries are given memory as cudaMalloc gives it. */
static library_work make_work(const gemel_kernel_call *call) {
  char *scratch = (char *)(((uintptr_t)call->scratch + 255) / 256 * 256);
  library_work l = {};
  l.cuda = gemel__cuda_of(call);
  l.m = make_matrices(call);
  memcpy(&l.factors, call->prepared, sizeof l.factors);
  l.count = l.m.walk.elements;
  l.item = gemel_dtype_size(call->inputs[0].dtype);
  l.bytes = scratch == NULL ? 256 : 0; /* to round the address */
  size_t count = (size_t)l.count, rows = count * (size_t)l.m.n, n = (size_t)l.m.n;
  l.w = (char *)place(&l, scratch, rows * n * l.item);
  l.x = (char *)place(&l, scratch, call->n_inputs > 1 ? rows * (size_t)l.m.columns * l.item : 0);
  l.pivots = (int *)place(&l, scratch, rows * sizeof(int));
  l.info = (int *)place(&l, scratch, count * sizeof(int));
  l.became = (int *)place(&l, scratch, count * sizeof(int));
  l.workspace = place(&l, scratch, (size_t)l.factors.workspace * l.item);
  return l;
}

/* The one place that says which matrices go to libraries: those of more than MANY_ROWS, unless they
 * should have right sides and don't. */
static bool suits_libraries(const gemel_kernel_call *call) {
  matrices m = make_matrices(call);
  return m.n > MANY_ROWS && m.n <= INT_MAX && m.columns <= INT_MAX &&
         (call->n_inputs == 1 || m.columns > 0);
}

static gemel_status prepare_library(gemel_kernel_call *call, library_task task) {
  const gemel_view *a = &call->inputs[0];
  gemel__cuda_factors f = {a->dtype == GEMEL_F64, task == FACTORS_CHOLESKY, 0, 0};
  if (!suits_libraries(call)) {
    return GEMEL_DECLINED;
  }
  f.n = (int)a->shape[a->rank - 1];
  if (task != SUBSTITUTES) {
    GEMEL__TRY(gemel__cuda_factor_prepare(gemel__cuda_of(call), &f, call->error));
  }
  memcpy(call->prepared, &f, sizeof f);
  call->scratch_bytes = make_work(call).bytes;
  return GEMEL_OK;
}

/* Copies the matrices to W, by columns; by rows if TURNED. */
static gemel_status fetch_matrices(const gemel_kernel_call *call, const library_work *l,
                                   bool turned) {
  const gemel_view *a = &call->inputs[0];
  int64_t strides[GEMEL_MAX_RANK], step = (int64_t)l->item;
  int rows = a->rank - 2 + turned, columns = a->rank - 1 - turned;
  strides[rows] = step;
  strides[columns] = step * l->m.n;
  step *= l->m.n * l->m.n;
  for (int axis = a->rank - 3; axis >= 0; axis--) {
    strides[axis] = step;
    step *= a->shape[axis];
  }
  const gemel_view to = {a->dtype, a->rank, a->shape, strides, l->w};
  return gemel__cuda_copy(l->cuda, &to, a, call->error);
}

static gemel_status look_at(const gemel_kernel_call *call, library_work *l, int side, int unit,
                            int bit) {
  void *arguments[] = {&l->count, &l->m.n, &side, &unit, &l->w, &bit, &l->became};
  return launch_over(l->cuda, BY_DTYPE(look_at, call->inputs[0].dtype), l->count * l->m.n * l->m.n,
                     arguments, call->error);
}

static gemel_status factor_all(const gemel_kernel_call *call, const library_work *l) {
  const long long n = l->m.n;
  for (long long k = 0; k < l->count; k++) {
    const gemel__cuda_factored at = {l->w + k * n * n * (long long)l->item, l->workspace,
                                     l->pivots + k * n, l->info + k};
    GEMEL__TRY(gemel__cuda_factor(l->cuda, &l->factors, &at, call->error));
  }
  return GEMEL_OK;
}

/* The matrices come to W, are factored, and judged. SIDE, UNIT: what of them is read. */
static gemel_status begin_work(const gemel_kernel_call *call, library_work *l, library_task task,
                               int side, int unit, bool turned) {
  *l = make_work(call);
  void *arguments[] = {&l->count, &l->info, &l->became};
  GEMEL__TRY(call->device->fill(call->device->user, l->became, 0, (size_t)l->count * sizeof(int),
                                call->error));
  GEMEL__TRY(fetch_matrices(call, l, turned));
  GEMEL__TRY(look_at(call, l, side, unit, CAME_SPOILED));
  if (task == SUBSTITUTES) {
    l->info = l->pivots = NULL;
  } else {
    GEMEL__TRY(factor_all(call, l));
    GEMEL__TRY(look_at(call, l, side, unit, LEFT_SPOILED));
  }
  return launch_over(l->cuda, gemel__kernel_judge(), l->count, arguments, call->error);
}

static gemel_status fetch_right_sides(const gemel_kernel_call *call, library_work *l) {
  void *b = call->inputs[1].data;
  void *arguments[] = {&l->m, &b, &l->pivots, &l->became, &l->x};
  return launch_over(l->cuda, BY_DTYPE(fetch_columns, call->inputs[0].dtype),
                     l->count * l->m.n * ((l->m.columns + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE),
                     arguments, call->error);
}

static gemel_status substitute_all(const gemel_kernel_call *call, const library_work *l, int lower,
                                   int unit) {
  const long long n = l->m.n, item = (long long)l->item;
  const gemel__cuda_triangle t = {l->factors.wide, lower, unit, (int)n, (int)l->m.columns};
  for (long long k = 0; k < l->count; k++) {
    GEMEL__TRY(gemel__cuda_substitute(l->cuda, &t, l->w + k * n * n * item,
                                      l->x + k * n * l->m.columns * item, call->error));
  }
  return GEMEL_OK;
}

static gemel_status put_right_sides(const gemel_kernel_call *call, library_work *l) {
  void *out = call->outputs[0].data, *arguments[] = {&l->m, &l->x, &l->became, &out};
  return launch_jobs(l->cuda, BY_DTYPE(put_columns, call->inputs[0].dtype), l->count * l->m.columns,
                     l->m.n, arguments, call->error);
}

static gemel_status run_library_solve(const gemel_kernel_call *call) {
  library_work l;
  GEMEL__TRY(begin_work(call, &l, FACTORS_LU, 0, 0, false));
  GEMEL__TRY(fetch_right_sides(call, &l));
  GEMEL__TRY(substitute_all(call, &l, 1, 1));
  GEMEL__TRY(substitute_all(call, &l, 0, 0));
  return put_right_sides(call, &l);
}

/* A transposed triangle is copied as the other one: so it gives the bits that that gives. */
static gemel_status run_library_triangular_solve(const gemel_kernel_call *call) {
  library_work l;
  bool trans = call->attrs[1].u.i != 0;
  int lower = (call->attrs[0].u.i != 0) != trans, unit = call->attrs[2].u.i != 0;
  GEMEL__TRY(begin_work(call, &l, SUBSTITUTES, lower ? 1 : -1, unit, trans));
  GEMEL__TRY(fetch_right_sides(call, &l));
  GEMEL__TRY(substitute_all(call, &l, lower, unit));
  return put_right_sides(call, &l);
}

static gemel_status run_library_cholesky(const gemel_kernel_call *call) {
  library_work l;
  GEMEL__TRY(begin_work(call, &l, FACTORS_CHOLESKY, 1, 0, false));
  void *out = call->outputs[0].data, *arguments[] = {&l.m, &l.w, &l.became, &out};
  return launch_over(l.cuda, BY_DTYPE(put_triangles, call->inputs[0].dtype),
                     l.count * l.m.n * l.m.n, arguments, call->error);
}

static gemel_status library_determinant(const gemel_kernel_call *call, const void *kernel) {
  library_work l;
  GEMEL__TRY(begin_work(call, &l, FACTORS_LU, 0, 0, false));
  void *out = call->outputs[0].data;
  void *arguments[] = {&l.m, &l.w, &l.pivots, &l.became, &out};
  return launch_over(l.cuda, kernel, l.count, arguments, call->error);
}

static gemel_status run_library_det(const gemel_kernel_call *call) {
  return library_determinant(call, BY_DTYPE(det, call->inputs[0].dtype));
}

static gemel_status run_library_log_abs_det(const gemel_kernel_call *call) {
  return library_determinant(call, BY_DTYPE(log_abs_det, call->inputs[0].dtype));
}

#define LISTED(name, task, prepare_plain)                                                          \
  static gemel_status prepare_##name(gemel_kernel_call *call) {                                    \
    return prepare_library(call, task);                                                            \
  }                                                                                                \
  extern "C" const gemel_kernel gemel__cuda_##name[] = {                                           \
      {"library", prepare_##name, run_library_##name},                                             \
      {"plain", prepare_plain, run_##name},                                                        \
      {NULL, NULL, NULL}};
LISTED(solve, FACTORS_LU, prepare_factors)
LISTED(det, FACTORS_LU, prepare_factors)
LISTED(log_abs_det, FACTORS_LU, prepare_factors)
LISTED(triangular_solve, SUBSTITUTES, NULL)
LISTED(cholesky, FACTORS_CHOLESKY, NULL)
