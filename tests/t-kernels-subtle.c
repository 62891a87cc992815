/*
 * Kernels of a program's own that err where such kernels do: in the rest of a vector, at the border
 * of a block, where operands share memory, in what is kept from call to call, in few layouts, for
 * few values. Each must be refuted for each of GEMEL_CORPUS_SEEDS seeds (2), and the right ones,
 * which do the same things well, must pass. A wrong kernel is a right one with one fault, as in
 * t-kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "judged.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>

/* X(fault, what it is, operation, kernel, tiers, in the refutation). */
#define FAULTS(X)                                                                                  \
  X(REST_63_OF_64, "the rest 63 of 64 elements", "mul", mul, I, "")                                \
  X(REST_63_BEYOND, "the rest 63 of 64 beyond 500 elements", "mul", mul, I, "")                    \
  X(TAIL_7_OF_8, "seven of eight in the last axis", "mul", mul, I, "")                             \
  X(TAIL_15_OF_16, "fifteen of sixteen in a sum", "sum", sum, I, "")                               \
  X(TAIL_31_OF_32, "31 of 32 beyond 64 in a sum", "sum", sum, I, "")                               \
  X(PRIME_LENGTH, "lengths without divisors", "sum", sum, I, "")                                   \
  X(BORDER_1024, "1024 exactly", "sum", sum, I, "")                                                \
  X(BEYOND_1024, "one more than a multiple of 1024", "sum", sum, I, "")                            \
  X(BORDER_128, "a contracted axis of 128", "dot", dot, I, "")                                     \
  X(BORDER_257, "a contracted axis of 256 k + 1", "dot", dot, I, "")                               \
  X(ROWS_256, "rows beyond the first 256", "dot", dot, I, "")                                      \
  X(COLUMNS_REST, "a rest of 3 of 4 columns beyond 16", "dot", dot, I, "")                         \
  X(SQUARE, "square matrices transposed", "dot", dot, I, "")                                       \
  X(SQUARE_LARGE, "square matrices of 16 and more", "dot", dot, I, "")                             \
  X(LEADING_DIMENSION, "rows taken to be dense", "dot", dot, I, "strides")                         \
  X(ONE_COLUMN_STRIDE, "the stride of a vector", "dot", dot, I, "strides")                         \
  X(NOTHING_SUMMED, "nothing to add up", "dot", dot, I, "")                                        \
  X(SAME_POINTER, "operands at one place taken for one", "mul", mul, I, "share")                   \
  X(SYRK, "x y taken for x times its transpose", "dot", dot, I, "share")                           \
  X(WITHIN, "an operand within the other", "mul", mul, I, "share")                                 \
  X(CLEARS_FIRST, "a result in place of an operand cleared first", "dot_add", dot_add, I, "place") \
  X(CHANNELS_IGNORED, "results with channels last", "pad", pad, I, "channels last")                \
  X(KEPT_FOREVER, "an operand kept whatever its version", "dot", dot, I, "many calls")             \
  X(KEPT_UNVERSIONED, "an operand kept that has no version", "dot", dot, I, "many calls")          \
  X(KEPT_BY_NUMBER, "operands kept in common by version", "dot", dot, I, "")                       \
  X(KEPT_POINTER, "a pointer kept by version", "dot", dot, I, "many calls")                        \
  X(KEPT_BY_POINTER, "an operand kept by its address", "dot", dot, I, "many calls")                \
  X(KEPT_IN_COMMON, "results kept in common by address and size", "mul", mul, I, "")               \
  X(KEPT_BY_FIRST, "results kept by their first element", "mul", mul, I, "")                       \
  X(KEPT_BY_SAMPLE, "results kept by three elements", "mul", mul, I, "")                           \
  X(SCALAR_BY_STRIDE, "stride 0 taken for a scalar", "mul", mul, I, "strides")                     \
  X(BACKWARDS_INNER, "backwards in the last of two axes", "mul", mul, I, "strides")                \
  X(ALIGNED, "an address rounded down to 32 bytes", "mul", mul, I, "")                             \
  X(READS_VECTOR, "reads whole vectors", "mul", mul, I, "touched memory")                          \
  X(WRITES_VECTOR, "writes whole vectors", "mul", mul, I, "y0")                                    \
  X(READS_RESULT, "adds to what was in the result", "mul", mul, I, "")                             \
  X(NEGATIVE_ZERO, "loses -0", "mul", mul, S, "")                                                  \
  X(FLUSHES, "flushes subnormal numbers", "mul", mul, S, "")                                       \
  X(ZERO_WINS, "0 times anything is 0", "mul", mul, S, "")                                         \
  X(NAN_LOST, "NaN against 0", "mul", mul, S, "")                                                  \
  X(THROUGH_F32, "through f32 beyond 256 elements", "sum", sum, F, "")                             \
  X(LARGE_LOST, "terms beyond a million left out", "sum", sum, F, "")                              \
  X(HALF_SUM, "f16 added up in f16", "sum", sum_f16, I | F, "")                                    \
  X(HALF_TRUNCATED, "f16 cut off, not rounded", "sum", sum_f16, F, "")                             \
  X(INT_MIN_KEPT, "the least integer", "sum", sum_i32, I, "")                                      \
  X(INT_AS_FLOAT, "integers through f32", "sum", sum_i32, I, "")                                   \
  X(FEW_ROWS, "fewer rows than threads", "mul", mul, I, "threads")

typedef enum fault {
  NONE,
#define AS_FAULT(name, what, operation, kernel, tiers, says) name,
  FAULTS(AS_FAULT)
} fault;

static fault planted;

static int is(fault which) {
  return planted == which;
}

/* ---- Views ---- */

/* The strides of V against those of RESULT: 0 where it is broadcast. */
static void against(const gemel_view *result, const gemel_view *v, int64_t *strides) {
  int lead = result->rank - v->rank;
  for (int k = 0; k < result->rank; k++) {
    strides[k] = k < lead || v->shape[k - lead] == 1 ? 0 : v->strides[k - lead];
  }
}

/* Where element I of RESULT has its own in an operand with STRIDES. */
static int64_t offset(const gemel_view *result, const int64_t *strides, int64_t i) {
  int64_t at = 0;
  for (int k = result->rank; k-- > 0; i /= result->shape[k]) {
    at += i % result->shape[k] * strides[k];
  }
  return at;
}

static double get(const void *at) {
  double x;
  memcpy(&x, at, sizeof x);
  return x;
}

static void put(void *at, double x) {
  memcpy(at, &x, sizeof x);
}

/* ---- mul of f64 ---- */

static struct {
  const void *from;
  int64_t n;
  double *results;
  double first[3];
} memo;

static gemel_status prepare_f64(gemel_kernel_call *call) {
  return call->inputs[0].dtype == GEMEL_F64 ? GEMEL_OK : GEMEL_DECLINED;
}

static double product(double x, double y) {
  double z = x * y;
  z = is(NEGATIVE_ZERO) ? z + 0.0 : z;
  z = is(FLUSHES) && fabs(z) < 0x1p-1022 ? copysign(0, z) : z;
  z = is(ZERO_WINS) && (x == 0 || y == 0) ? 0 : z;
  return is(NAN_LOST) && z != z && (x == 0 || y == 0) ? 0 : z;
}

/* Element I is skipped, or taken from a place that isn't its own. */
static int lost(const gemel_kernel_call *call, int64_t i, int64_t n) {
  const gemel_view *z = &call->outputs[0];
  int64_t last = z->rank > 0 ? z->shape[z->rank - 1] : 1;
  return (is(REST_63_OF_64) && n % 64 == 63 && i == n - 1) ||
         (is(REST_63_BEYOND) && n > 500 && n % 64 == 63 && i == n - 1) ||
         (is(TAIL_7_OF_8) && last > 8 && last % 8 == 7 && i % last == last - 1) ||
         (is(FEW_ROWS) && call->threads > n && i == n - 1);
}

static int64_t vector_end(fault which, int64_t n) {
  return is(which) && n > 4 ? (n + 3) / 4 * 4 : n;
}

/* Results that were kept from an earlier call, where a kernel believes that they may be. */
static int kept(const gemel_kernel_call *call, int64_t n, const double *first) {
  double *z = call->outputs[0].data;
  if (n == 0 || n != memo.n || memo.results == NULL ||
      (!is(KEPT_IN_COMMON) && memo.first[0] != first[0]) ||
      (!is(KEPT_IN_COMMON) && !is(KEPT_BY_FIRST) && memcmp(memo.first, first, 3 * sizeof *first)) ||
      (is(KEPT_IN_COMMON) && memo.from != call->inputs[0].data)) {
    return 0;
  }
  memcpy(z, memo.results, (size_t)n * sizeof *z);
  return 1;
}

static void keep(const gemel_kernel_call *call, int64_t n, const double *first) {
  double *room = realloc(memo.results, (size_t)(n > 0 ? n : 1) * sizeof *room);
  if (room != NULL) {
    memcpy(room, call->outputs[0].data, (size_t)n * sizeof *room);
    memo.results = room;
    memo.n = n;
    memo.from = call->inputs[0].data;
    memcpy(memo.first, first, sizeof memo.first);
  }
}

static void change_strides(const gemel_kernel_call *call, int64_t *sx, int64_t *sy) {
  const gemel_view *z = &call->outputs[0], *x = &call->inputs[0], *y = &call->inputs[1];
  int rank = z->rank;
  uintptr_t low = (uintptr_t)x->data, at = (uintptr_t)y->data;
  if (rank == 0) {
    return;
  }
  if ((is(SAME_POINTER) && low == at) ||
      (is(WITHIN) && at > low && at < low + (size_t)count(x) * sizeof(double))) {
    memcpy(sy, sx, (size_t)rank * sizeof *sy);
  }
  if (is(SCALAR_BY_STRIDE) && sx[rank - 1] == 0 && z->shape[rank - 1] > 1) {
    memset(sx, 0, (size_t)rank * sizeof *sx);
  }
  if (is(BACKWARDS_INNER) && rank == 2 && sx[1] < 0 && sx[0] > 0) {
    sx[1] = -sx[1];
  }
}

static gemel_status run_mul(const gemel_kernel_call *call) {
  const gemel_view *z = &call->outputs[0];
  const char *x = call->inputs[0].data, *y = call->inputs[1].data;
  int64_t sx[GEMEL_MAX_RANK], sy[GEMEL_MAX_RANK], n = count(z);
  int memoizes = is(KEPT_IN_COMMON) || is(KEPT_BY_FIRST) || is(KEPT_BY_SAMPLE);
  against(z, &call->inputs[0], sx);
  against(z, &call->inputs[1], sy);
  change_strides(call, sx, sy);
  x = is(ALIGNED) && n >= 4 ? (const char *)((uintptr_t)x & ~(uintptr_t)31) : x;
  double first[3] = {0, 0, 0};
  for (int64_t k = 0; k < 3 && n > 0 && memoizes; k++) {
    int64_t i = k * (n - 1) / 2;
    first[k] = get(x + offset(z, sx, i)) * 8 + get(y + offset(z, sy, i));
  }
  if (memoizes && kept(call, n, first)) {
    return GEMEL_OK;
  }
  for (int64_t i = 0; i < vector_end(READS_VECTOR, n) || i < vector_end(WRITES_VECTOR, n); i++) {
    int dense = z->rank == 1;
    if (i >= n && !dense) {
      break;
    }
    int64_t from = i < n ? offset(z, sx, i) : i * (int64_t)sizeof(double);
    double v = is(WRITES_VECTOR) && i >= n
                   ? 0
                   : product(get(x + from), get(y + (i < n ? offset(z, sy, i) : 0)));
    if ((i < n && !lost(call, i, n)) || is(WRITES_VECTOR)) {
      double *at = (double *)z->data + i;
      put(at, is(READS_RESULT) ? 0 * get(at) + v : v);
    }
  }
  if (memoizes) {
    keep(call, n, first);
  }
  return GEMEL_OK;
}

/* ---- sum of all ---- */

static int64_t element(const gemel_view *x, int64_t i) {
  return offset(x, x->strides, i);
}

static int is_prime(int64_t n) {
  for (int64_t k = 2; k * k <= n; k++) {
    if (n % k == 0) {
      return 0;
    }
  }
  return n > 1;
}

static int64_t summed(int64_t n) {
  int cut = (is(TAIL_15_OF_16) && n > 16 && n % 16 == 15) ||
            (is(TAIL_31_OF_32) && n > 64 && n % 32 == 31) ||
            (is(PRIME_LENGTH) && n > 50 && is_prime(n)) || (is(BORDER_1024) && n == 1024) ||
            (is(BEYOND_1024) && n > 1024 && n % 1024 == 1);
  return n - cut;
}

static gemel_status take_all(gemel_kernel_call *call, gemel_dtype dtype) {
  return call->inputs[0].dtype == dtype && count(&call->outputs[0]) == 1 ? GEMEL_OK
                                                                         : GEMEL_DECLINED;
}

static gemel_status prepare_sum(gemel_kernel_call *call) {
  return take_all(call, GEMEL_F64);
}

static gemel_status run_sum(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  const char *from = x->data;
  int64_t n = count(x);
  double total = 0;
  for (int64_t i = 0; i < summed(n); i++) {
    double v = get(from + element(x, i));
    v = is(LARGE_LOST) && fabs(v) > 1e6 && !isinf(v) ? 0 : v;
    total = is(THROUGH_F32) && n > 256 ? (double)((float)total + (float)v) : total + v;
  }
  put(call->outputs[0].data, total);
  return GEMEL_OK;
}

static gemel_status prepare_sum_f16(gemel_kernel_call *call) {
  return take_all(call, GEMEL_F16);
}

/* Finite halves and the others alike; the reverse rounds to nearest, or cuts off. */
static double from_half(const char *at) {
  uint16_t h;
  memcpy(&h, at, sizeof h);
  int e = h >> 10 & 31, m = h & 1023;
  double x = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h >> 15 ? -x : x;
}

static double to_half(double x) {
  int e;
  if (x == 0 || !isfinite(x)) {
    return x;
  }
  frexp(x, &e);
  double unit = ldexp(1, e - 11 < -24 ? -24 : e - 11);
  double y = (is(HALF_TRUNCATED) ? trunc(x / unit) : rint(x / unit)) * unit;
  return fabs(y) > 65504 ? copysign(INFINITY, y) : y;
}

static void put_half(char *at, double x) {
  int e = 0;
  double m = frexp(fabs(x), &e);
  uint16_t h = x != x                    ? 0x7e00
               : isinf(x)                ? 0x7c00
               : fabs(x) < ldexp(1, -14) ? (uint16_t)ldexp(fabs(x), 24)
                                         : (uint16_t)(((e + 14) << 10) + (int)ldexp(m, 11) - 1024);
  h = (uint16_t)(h | (signbit(x) ? 0x8000 : 0));
  memcpy(at, &h, sizeof h);
}

static gemel_status run_sum_f16(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  double total = 0;
  for (int64_t i = 0, n = count(x); i < n; i++) {
    total += from_half((const char *)x->data + element(x, i));
    total = is(HALF_SUM) ? to_half(total) : (float)total;
  }
  put_half(call->outputs[0].data, to_half(total));
  return GEMEL_OK;
}

static gemel_status prepare_sum_i32(gemel_kernel_call *call) {
  return take_all(call, GEMEL_I32);
}

static gemel_status run_sum_i32(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int64_t bytes = (int64_t)gemel_dtype_size(call->outputs[0].dtype), total = 0;
  for (int64_t i = 0, n = count(x); i < n; i++) {
    int32_t v;
    memcpy(&v, (const char *)x->data + element(x, i), sizeof v);
    v = is(INT_MIN_KEPT) && v == INT32_MIN ? -INT32_MAX : v;
    total += is(INT_AS_FLOAT) ? (int64_t)(float)v : v;
  }
  memcpy(call->outputs[0].data, &total, (size_t)bytes);
  return GEMEL_OK;
}

/* ---- dot and dot_add of matrices of f64 ---- */

/* What is kept of the second operand. */
struct packed {
  double *y;
  const char *from;
  uint64_t version;
};

static struct packed in_common;

static void release_dot(void *prepared) {
  free(((struct packed *)prepared)->y);
}

static gemel_status prepare_dot(gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1];
  const gemel_attr *a = call->attrs;
  int plain = a[0].count == 1 && a[1].count == 1 && a[0].u.ints[0] == 1 && a[1].u.ints[0] == 0;
  if (x->dtype != GEMEL_F64 || x->rank != 2 || y->rank != 2 ||
      (!plain && a[0].kind != GEMEL_ATTR_NONE) || a[2].count + a[3].count > 0) {
    return GEMEL_DECLINED;
  }
  call->release = release_dot;
  return GEMEL_OK;
}

static void pack(struct packed *p, const gemel_kernel_call *call, const int64_t *strides) {
  const gemel_view *y = &call->inputs[1];
  int64_t n = y->shape[1];
  free(p->y);
  p->y = malloc((size_t)(count(y) > 0 ? count(y) : 1) * sizeof *p->y);
  p->from = y->data;
  for (int64_t i = 0, all = count(y); i < all && p->y != NULL; i++) {
    p->y[i] = get(p->from + i / n * strides[0] + i % n * strides[1]);
  }
}

/* The second operand, dense: packed anew unless what was kept is known to be the same. */
static const double *second(const gemel_kernel_call *call, const int64_t *strides) {
  struct packed *p = is(KEPT_BY_NUMBER) ? &in_common : call->prepared;
  const uint64_t *at = call->versions != NULL ? call->versions[1] : NULL;
  uint64_t version = at != NULL ? *at : is(KEPT_UNVERSIONED) && call->versions != NULL ? 1 : 0;
  int same = p->y != NULL && version != 0 && p->version == version;
  same |= is(KEPT_FOREVER) && p->y != NULL && version != 0;
  same |= is(KEPT_BY_POINTER) && p->y != NULL && p->from == call->inputs[1].data;
  if (!same) {
    pack(p, call, strides);
  } else if (is(KEPT_POINTER)) {
    struct packed now = {NULL, NULL, 0};
    gemel_kernel_call then = *call;
    gemel_view views[2] = {call->inputs[0], call->inputs[1]};
    views[1].data = (void *)(uintptr_t)p->from;
    then.inputs = views;
    pack(&now, &then, strides);
    free(p->y);
    p->y = now.y;
  }
  p->version = version;
  return p->y;
}

static int64_t last_summed(int64_t n) {
  int cut = (is(BORDER_128) && n == 128) || (is(BORDER_257) && n > 256 && n % 256 == 1);
  return n - cut;
}

/* The strides by which the kernel reads: where it believes that it knows better, its own. */
static void dot_strides(const gemel_kernel_call *call, int64_t *sx, int64_t *sy) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1];
  int64_t m = x->shape[0], inner = x->shape[1], n = y->shape[1], item = sizeof(double);
  memcpy(sx, x->strides, 2 * sizeof *sx);
  memcpy(sy, y->strides, 2 * sizeof *sy);
  if ((is(SQUARE) || (is(SQUARE_LARGE) && m >= 16)) && m == inner && m == n) {
    sy[0] = y->strides[1];
    sy[1] = y->strides[0];
  }
  if (is(LEADING_DIMENSION) && sx[1] == item && sx[0] > 0) {
    sx[0] = inner * item;
  }
  if (is(ONE_COLUMN_STRIDE) && n == 1) {
    sy[0] = item;
  }
  if (is(SYRK) && x->data == y->data && m == n) {
    sy[0] = sx[1];
    sy[1] = sx[0];
  }
}

static int forgotten(const gemel_kernel_call *call, int64_t i, int64_t j) {
  int64_t n = call->inputs[1].shape[1];
  return (is(ROWS_256) && i >= 256) || (is(COLUMNS_REST) && n > 16 && n % 4 == 3 && j == n - 1) ||
         (is(NOTHING_SUMMED) && call->inputs[0].shape[1] == 0);
}

static gemel_status product_of(const gemel_kernel_call *call, const gemel_view *added) {
  const gemel_view *x = &call->inputs[0];
  int64_t m = x->shape[0], inner = x->shape[1], n = call->inputs[1].shape[1], sx[2], sy[2];
  double *z = call->outputs[0].data;
  dot_strides(call, sx, sy);
  const double *y = second(call, sy);
  if (y == NULL) {
    return GEMEL_NO_MEMORY;
  }
  if (is(CLEARS_FIRST)) {
    memset(z, 0, (size_t)(m * n) * sizeof *z);
  }
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double total = 0;
      for (int64_t k = 0; k < last_summed(inner); k++) {
        total += get((const char *)x->data + i * sx[0] + k * sx[1]) * y[k * n + j];
      }
      if (added != NULL) {
        total += get((const char *)added->data + i * added->strides[0] + j * added->strides[1]);
      }
      if (!forgotten(call, i, j)) {
        put(z + i * n + j, total);
      }
    }
  }
  return GEMEL_OK;
}

static gemel_status run_dot(const gemel_kernel_call *call) {
  return product_of(call, NULL);
}

static gemel_status prepare_dot_add(gemel_kernel_call *call) {
  return prepare_dot(call);
}

static gemel_status run_dot_add(const gemel_kernel_call *call) {
  return product_of(call, &call->inputs[2]);
}

/* ---- pad of f64 ---- */

static gemel_status prepare_pad(gemel_kernel_call *call) {
  return prepare_f64(call);
}

static gemel_status prepare_packed_pad(gemel_kernel_call *call) {
  gemel_status status = prepare_pad(call);
  return status == GEMEL_OK ? gemel_prepare_packed(call) : status;
}

static gemel_status run_pad(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *z = &call->outputs[0];
  const int64_t *low = call->attrs[0].u.ints;
  const gemel_attr *interior = &call->attrs[2];
  for (int64_t i = 0, n = count(z); i < n; i++) {
    int64_t from = 0, to = 0, rest = i;
    int inside = 1;
    for (int k = z->rank; k-- > 0; rest /= z->shape[k]) {
      int64_t step = 1 + (interior->count > 0 ? interior->u.ints[k] : 0);
      int64_t at = rest % z->shape[k] - low[k];
      inside = inside && at >= 0 && at % step == 0 && at / step < x->shape[k];
      from += at / step * x->strides[k];
      to += rest % z->shape[k] * z->strides[k];
    }
    to = is(CHANNELS_IGNORED) ? i * (int64_t)sizeof(double) : to;
    put((char *)z->data + to, get(inside ? (const char *)x->data + from : call->inputs[1].data));
  }
  return GEMEL_OK;
}

/* ---- The corpus ---- */

typedef struct candidate {
  const char *name, *operation;
  fault fault;
  unsigned tiers;
  gemel_kernel kernel;
  const char *says; /* in the refutation */
} candidate;

static gemel_status prepare_mul(gemel_kernel_call *call) {
  return prepare_f64(call);
}

#define AS_CANDIDATE(name, what, operation, kernel, tiers, says)                                   \
  {what, operation, name, tiers, {"mine", prepare_##kernel, run_##kernel}, says},

static const candidate wrong[] = {FAULTS(AS_CANDIDATE)};

static const candidate right[] = {
    AS_CANDIDATE(NONE, "mul", "mul", mul, I | F | S, "")
        AS_CANDIDATE(NONE, "sum", "sum", sum, I | F, "")
            AS_CANDIDATE(NONE, "sum of f16", "sum", sum_f16, I | F, "")
                AS_CANDIDATE(NONE, "sum of i32", "sum", sum_i32, I, "") AS_CANDIDATE(
                    NONE, "dot that keeps an operand by its version", "dot", dot, I | F, "")
                    AS_CANDIDATE(NONE, "dot_add in place", "dot_add", dot_add, I | F, "")
                        AS_CANDIDATE(NONE, "pad with channels last", "pad", pad, I | S,
                                     ""){/* results that aren't packed are copied */
                                         "pad with channels ignored, packed",
                                         "pad",
                                         CHANNELS_IGNORED,
                                         I,
                                         {"mine", prepare_packed_pad, run_pad},
                                         ""}};

static heard judge(const candidate *c, uint64_t seed) {
  const gemel_verify_options options = {.seed = seed, .instances = 24, .tiers = c->tiers};
  planted = c->fault;
  heard h = judge_kernel(c->name, c->operation, &c->kernel, options);
  planted = NONE;
  return h;
}

static void passes(const void *data) {
  const candidate *c = data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    heard h = judge(c, seed);
    CT_CHECK(h.passed > 0 && h.passed == h.records);
  }
}

static void is_refuted(const void *data) {
  const candidate *c = data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    heard h = judge(c, seed);
    CT_CHECK(h.refuted > 0);
    CT_CHECK(strstr(h.bad, c->says) != NULL);
  }
}

/* ---- Small counterexamples ---- */

/* The only axis longer than 3 of what refutes it, or the only length that is. */
typedef struct smallest {
  const char *operation;
  fault fault;
  gemel_kernel kernel;
  long length;
} smallest;

static const smallest lengths[] = {
    {"mul", REST_63_OF_64, {"mine", prepare_mul, run_mul}, 63},
    {"mul", REST_63_BEYOND, {"mine", prepare_mul, run_mul}, 511},
    {"mul", TAIL_7_OF_8, {"mine", prepare_mul, run_mul}, 15},
    {"sum", TAIL_31_OF_32, {"mine", prepare_sum, run_sum}, 95},
    {"sum", BEYOND_1024, {"mine", prepare_sum, run_sum}, 1025},
    {"dot", BORDER_257, {"mine", prepare_dot, run_dot}, 257},
    {"dot", ROWS_256, {"mine", prepare_dot, run_dot}, 257},
    {"dot", COLUMNS_REST, {"mine", prepare_dot, run_dot}, 19},
    {"dot", SQUARE_LARGE, {"mine", prepare_dot, run_dot}, 16},
};

static void shrinks(const void *data) {
  (void)data;
  if (getenv("GEMEL_VALGRIND") != NULL) {
    CT_SKIP("child processes by the thousand");
  }
  for (size_t k = 0; k < CT_COUNT(lengths); k++) {
    const smallest *l = &lengths[k];
    const candidate c = {"small", l->operation, l->fault, I, l->kernel, ""};
    heard h = judge(&c, 1);
    const char *at = strstr(h.counterexample, "counterexample("),
               *end = at != NULL ? strchr(at, ')') : NULL;
    int found = 0;
    for (at = at != NULL ? strchr(at, '[') : NULL; end != NULL && at != NULL && at < end;) {
      char *next;
      long length = strtol(at + 1, &next, 10);
      CT_CHECK(length <= 3 || length == l->length);
      found |= length == l->length;
      at = *next == ',' ? next : strchr(next, '[');
    }
    CT_CHECK(found);
  }
}

static const ct_test small[] = {CT_TEST("small counterexamples", shrinks, NULL)};

void ct_register(void) {
  ct_suite("kernels-subtle", small, CT_COUNT(small));
  for (size_t k = 0; k < CT_COUNT(right); k++) {
    CT_ADD_TO("kernels-subtle", "right", right[k].name, passes, &right[k]);
  }
  for (size_t k = 0; k < CT_COUNT(wrong); k++) {
    CT_ADD_TO("kernels-subtle", "wrong", wrong[k].name, is_refuted, &wrong[k]);
  }
}
