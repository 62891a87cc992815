/* SPDX-License-Identifier: MIT
 *
 * How cholesky, triangular_solve, solve and determinants run: matrix by matrix. Each is copied to
 * scratch memory, column-major, and goes from there to LAPACK if it is big, else to loops. What
 * those make of NaN, infinities and zero pivots differs from one library to the next, so it is
 * looked for before and behind them, and results are NaN as a whole. Threads share the matrices, or
 * LAPACK's work on one.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <limits.h>
#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "core/strided.h"
#include "cpu/factor.h"
#include "cpu/gemm.h"
#include "ops/elementwise-math.h"
#include "ops/rule.h"
#include "ops/solve.h"

/* Up to so many rows loops are faster than a library's call. On several threads from so much work
 * on. */
enum { FEW = 8, WORTH_THREADS = 1 << 15 };

/* What prepare finds out; kept in the call's state. */
typedef struct solve_plan {
  gemel__factoring factoring;
  int64_t count, columns; /* matrices, and columns of a right side */
  int64_t parts;          /* that many threads, each with its own scratch memory */
  size_t right_at, pivots_at, bytes;
} solve_plan;

_Static_assert(sizeof(solve_plan) <= GEMEL_KERNEL_PREPARED_BYTES,
               "the plan must fit the kernel's state");

/* One matrix at work: A, the right side B, room for pivots. */
typedef struct work {
  const gemel_kernel_call *call;
  const solve_plan *plan;
  int64_t number;
  void *a, *b;
  int *pivots;
} work;

/* ---- The plan ---- */

static size_t rounded_up(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

static double work_of(const solve_plan *p) {
  double n = (double)p->factoring.n;
  return (double)p->count * n * n * (n / 3 + (double)p->columns);
}

static gemel_status prepare(gemel_kernel_call *call, int library) {
  const gemel_view *a = &call->inputs[0];
  solve_plan p = {{a->dtype, a->shape[a->rank - 1], library}, 1, 0, 1, 0, 0, 0};
  size_t item = gemel_dtype_size(a->dtype), n = (size_t)p.factoring.n;
  for (int k = 0; k < a->rank - 2; k++) {
    p.count *= a->shape[k];
  }
  p.columns = call->n_inputs > 1 ? call->inputs[1].shape[a->rank - 1] : 0;
  if (library && (!gemel__factor_has_library() || (p.factoring.n <= FEW && !call->timed) ||
                  p.factoring.n == 0 || p.columns > INT_MAX)) {
    return GEMEL_DECLINED;
  }
  if (p.factoring.n > INT_MAX) {
    return gemel__fail(call->error, GEMEL_UNSUPPORTED, "matrices of more than 2^31 - 1 rows");
  }
  p.parts = library || work_of(&p) < WORTH_THREADS ? 1 : call->threads;
  p.parts = p.parts > p.count ? p.count : p.parts;
  p.parts = p.parts < 1 ? 1 : p.parts;
  p.right_at = rounded_up(n * n * item);
  p.pivots_at = p.right_at + rounded_up(n * (size_t)p.columns * item);
  p.bytes = p.pivots_at + rounded_up(n * sizeof(int));
  call->scratch_bytes = (size_t)p.parts * p.bytes;
  memcpy(call->prepared, &p, sizeof p);
  return GEMEL_OK;
}

static gemel_status prepare_library(gemel_kernel_call *call) {
  return prepare(call, 1);
}

static gemel_status prepare_plain(gemel_kernel_call *call) {
  return prepare(call, 0);
}

/* ---- Matrices in and out ---- */

/* Where matrix NUMBER of X begins. */
static char *matrix_of(const gemel_view *x, int64_t number) {
  return (char *)x->data + gemel__view_offset(x, x->rank - 2, number);
}

/* Copies matrix NUMBER of X, column-major. */
static void fetch(const gemel_view *x, int64_t number, void *to) {
  const int64_t *shape = x->shape + x->rank - 2, item = gemel__view_item(x);
  int64_t columns[2] = {item, item * shape[0]};
  gemel__copy_strided((size_t)item, 2, shape, to, columns, matrix_of(x, number),
                      x->strides + x->rank - 2);
}

static void put_back(const gemel_view *x, int64_t number, const void *from) {
  const int64_t *shape = x->shape + x->rank - 2, item = gemel__view_item(x);
  int64_t columns[2] = {item, item * shape[0]};
  gemel__copy_strided((size_t)item, 2, shape, matrix_of(x, number), x->strides + x->rank - 2, from,
                      columns);
}

static double get(gemel_dtype dtype, const void *x, int64_t k) {
  return dtype == GEMEL_F32 ? (double)((const float *)x)[k] : ((const double *)x)[k];
}

static void set(gemel_dtype dtype, void *x, int64_t k, double value) {
  if (dtype == GEMEL_F32) {
    ((float *)x)[k] = (float)value;
  } else {
    ((double *)x)[k] = value;
  }
}

/* 1 if elements FROM..TO - 1 are numbers: each times 0 is 0, a NaN or an infinity makes NaN. */
static int all_finite(gemel_dtype dtype, const void *x, int64_t from, int64_t to) {
  double sum = 0;
  for (int64_t k = from; k < to; k++) {
    sum += 0 * get(dtype, x, k);
  }
  return sum == 0;
}

/* The same of a triangle of the matrix, without its diagonal if that isn't read. */
static int triangle_finite(const gemel__factoring *f, int lower, int unit, const void *a) {
  int finite = 1;
  for (int64_t j = 0; j < f->n; j++) {
    int64_t from = lower ? j + unit : 0, to = lower ? f->n : j + 1 - unit;
    finite &= all_finite(f->dtype, a, j * f->n + from, j * f->n + to);
  }
  return finite;
}

/* Makes each column of B that isn't finite NaN; all if SPOILED. */
static void spoil(const work *w, int spoiled) {
  const gemel__factoring *f = &w->plan->factoring;
  for (int64_t j = 0; j < w->plan->columns; j++) {
    int64_t at = j * f->n;
    for (int64_t i = spoiled || !all_finite(f->dtype, w->b, at, at + f->n) ? 0 : f->n; i < f->n;
         i++) {
      set(f->dtype, w->b, at + i, NAN);
    }
  }
}

/* ---- Jobs ---- */

/* The matrix with its last two axes exchanged; SHAPE and STRIDES have room for its axes. */
static gemel_view transposed(const gemel_view *x, int64_t *shape, int64_t *strides) {
  gemel_view made = *x;
  for (int k = 0; k < x->rank; k++) {
    int from = k < x->rank - 2 ? k : 2 * x->rank - 3 - k;
    shape[k] = x->shape[from];
    strides[k] = x->strides[from];
  }
  made.shape = shape;
  made.strides = strides;
  return made;
}

/* A transposed triangle is copied as the other one: so it gives the bits that that gives. */
static void job_triangular(const work *w) {
  const gemel_attr *attrs = w->call->attrs;
  const gemel__factoring *f = &w->plan->factoring;
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  int trans = attrs[GEMEL__TRANS].u.i != 0;
  gemel_view turned = transposed(&w->call->inputs[0], shape, strides);
  gemel__triangle t = {(attrs[GEMEL__LOWER].u.i != 0) != trans,
                       attrs[GEMEL__UNIT_DIAGONAL].u.i != 0};
  fetch(trans ? &turned : &w->call->inputs[0], w->number, w->a);
  fetch(&w->call->inputs[1], w->number, w->b);
  int finite = triangle_finite(f, t.lower, t.unit, w->a);
  if (finite) {
    gemel__factor_triangular(f, t, w->plan->columns, w->a, w->b);
  }
  spoil(w, !finite);
  put_back(&w->call->outputs[0], w->number, w->b);
}

/* What became of a matrix. */
typedef enum factored { FACTORED, SINGULAR, NOT_FINITE } factored;

static factored factor(const work *w) {
  const gemel__factoring *f = &w->plan->factoring;
  fetch(&w->call->inputs[0], w->number, w->a);
  if (!all_finite(f->dtype, w->a, 0, f->n * f->n)) {
    return NOT_FINITE;
  }
  if (!gemel__factor_lu(f, w->a, w->pivots)) {
    return SINGULAR;
  }
  return all_finite(f->dtype, w->a, 0, f->n * f->n) ? FACTORED : NOT_FINITE;
}

static void job_solve(const work *w) {
  const solve_plan *p = w->plan;
  factored is = factor(w);
  fetch(&w->call->inputs[1], w->number, w->b);
  if (is == FACTORED) {
    gemel__factor_solve(&p->factoring, p->columns, w->a, w->pivots, w->b);
  }
  spoil(w, is != FACTORED);
  put_back(&w->call->outputs[0], w->number, w->b);
}

static void job_cholesky(const work *w) {
  const gemel__factoring *f = &w->plan->factoring;
  fetch(&w->call->inputs[0], w->number, w->a);
  int good = triangle_finite(f, 1, 0, w->a) && gemel__factor_cholesky(f, w->a) &&
             triangle_finite(f, 1, 0, w->a);
  for (int64_t j = 0; j < f->n; j++) {
    for (int64_t i = 0; i < f->n; i++) {
      if (i < j || !good) {
        set(f->dtype, w->a, j * f->n + i, i < j ? 0 : NAN);
      }
    }
  }
  put_back(&w->call->outputs[0], w->number, w->a);
}

static void *result_of(const work *w) {
  const gemel_view *out = &w->call->outputs[0];
  return (char *)out->data + w->number * gemel__view_item(out);
}

/* The determinant is MANTISSA, 0 or of [1/2, 1) in magnitude, times 2^EXPONENT, so that only one
 * that is too large by itself becomes infinite. */
typedef struct determinant {
  double mantissa;
  int64_t exponent;
} determinant;

static determinant determinant_of(const work *w) {
  const gemel__factoring *f = &w->plan->factoring;
  factored is = factor(w);
  determinant d = {is == NOT_FINITE ? NAN : is == SINGULAR ? 0 : 1, 0};
  for (int64_t k = 0; k < f->n && is == FACTORED; k++) {
    int part;
    double pivot = get(f->dtype, w->a, k * f->n + k);
    int odd = w->pivots[k] != k + 1;
    d.mantissa = frexp(d.mantissa * (odd ? -pivot : pivot), &part);
    d.exponent += part;
  }
  return d;
}

/* Beyond 2^±BEYOND a number is no double. */
enum { BEYOND = 5000 };

static void job_det(const work *w) {
  determinant d = determinant_of(w);
  int64_t exponent = d.exponent > BEYOND ? BEYOND : d.exponent < -BEYOND ? -BEYOND : d.exponent;
  set(w->plan->factoring.dtype, result_of(w), 0, ldexp(d.mantissa, (int)exponent));
}

static void job_log_abs_det(const work *w) {
  determinant d = determinant_of(w);
  int usual = d.exponent > -1000 && d.exponent < 1000;
  double log_abs = usual ? f64_log(ldexp(fabs(d.mantissa), (int)d.exponent))
                         : f64_log(fabs(d.mantissa)) + (double)d.exponent * f64_log(2);
  set(w->plan->factoring.dtype, result_of(w), 0, log_abs);
}

/* ---- Running ---- */

static void run_part(const gemel_kernel_call *call, void (*job)(const work *w), int64_t part) {
  const solve_plan *p = call->prepared;
  char *scratch = (char *)call->scratch + (size_t)part * p->bytes;
  work w = {call, p, part, scratch, scratch + p->right_at, (int *)(void *)(scratch + p->pivots_at)};
  for (; w.number < p->count; w.number += p->parts) {
    job(&w);
  }
}

static gemel_status run_each(const gemel_kernel_call *call, void (*job)(const work *w)) {
  const solve_plan *p = call->prepared;
  int threads = call->deterministic || call->threads < 1 ? 1 : call->threads;
  gemel__thread_counts before = gemel__threads_now(), wanted = before;
  wanted.blas = work_of(p) / (double)(p->count + !p->count) < WORTH_THREADS ? 1 : threads;
  if (p->factoring.library) {
    gemel__threads_set(before, wanted);
    run_part(call, job, 0);
    gemel__threads_set(wanted, before);
    return GEMEL_OK;
  }
#pragma omp parallel for num_threads((int)p->parts) schedule(static)
  for (int64_t part = 0; part < p->parts; part++) {
    run_part(call, job, part);
  }
  return GEMEL_OK;
}

#define KERNELS(name, job)                                                                         \
  static gemel_status run_##name(const gemel_kernel_call *call) {                                  \
    return run_each(call, job);                                                                    \
  }                                                                                                \
  const gemel_kernel gemel__##name##_kernels[] = {{"library", prepare_library, run_##name},        \
                                                  {"plain", prepare_plain, run_##name},            \
                                                  {NULL, NULL, NULL}};
KERNELS(solve, job_solve)
KERNELS(triangular_solve, job_triangular)
KERNELS(cholesky, job_cholesky)
KERNELS(det, job_det)
KERNELS(log_abs_det, job_log_abs_det)

void gemel__solve_cost(const gemel_kernel_call *call, double *flops, double *bytes) {
  const gemel_view *a = &call->inputs[0];
  double n = (double)a->shape[a->rank - 1], elements = (double)gemel__view_elements(a);
  double right = call->n_inputs > 1 ? (double)gemel__view_elements(&call->inputs[1]) : 0;
  *flops = 2 * n * (elements / 3 + right);
  *bytes = (double)gemel__view_item(a) *
           (elements + right + (double)gemel__view_elements(&call->outputs[0]));
}
