/* SPDX-License-Identifier: MIT
 *
 * See lanes.h. One set of loops, written as a macro, for the four float dtypes: T is what memory
 * holds, A what is computed in.
 */
#include "ops/lanes.h"

#include <math.h>
#include "core/dtype.h"
#include "core/fault.h"
#include <gemel/context.h>

enum { WORTH_THREADS = 1 << 15 };

/* A view taken apart into lanes. */
typedef struct lanes {
  char *data;
  int64_t stride; /* along the axis */
  int rank;
  int64_t sizes[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK]; /* of the other axes */
} lanes;

/* AXIS -1: every element is a lane. */
static lanes take_apart(const gemel_view *x, int axis) {
  lanes l = {x->data, axis >= 0 ? x->strides[axis] : 0, 0, {0}, {0}};
  for (int k = 0; k < x->rank; k++) {
    if (k != axis) {
      l.sizes[l.rank] = x->shape[k];
      l.strides[l.rank++] = x->strides[k];
    }
  }
  return l;
}

static int64_t count_lanes(const lanes *l) {
  int64_t count = 1;
  for (int k = 0; k < l->rank; k++) {
    count *= l->sizes[k];
  }
  return count;
}

static char *lane_at(const lanes *l, int64_t lane) {
  char *at = l->data;
  for (int k = l->rank - 1; k >= 0; k--) {
    at += lane % l->sizes[k] * l->strides[k];
    lane /= l->sizes[k];
  }
  return at;
}

static int threads_for(int64_t count, int64_t n, int threads) {
  return threads > 1 && count > 1 && (double)count * (double)n > WORTH_THREADS ? threads : 1;
}

#ifdef _OPENMP
#define PARALLEL(threads) GEMEL__LANES_PRAGMA(omp parallel for num_threads(threads))
#else
#define PARALLEL(threads)
#endif
#define GEMEL__LANES_PRAGMA(text) _Pragma(#text)

#define AT(T, base, i, stride) (*(T *)((base) + (i) * (stride)))
#define ROUND_F32(x) ((float)(x))
#define PLAIN(x) (x)

/* The largest element (NaN if there is one, -inf if there is none) and the sum of exp(x - max). */
#define LANES(name, T, A, GET, PUT, EXP)                                                           \
  static A largest_##name(const char *x, int64_t n, int64_t stride) {                              \
    A max = -(A)INFINITY;                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                              \
      A v = GET(AT(const T, x, i, stride));                                                        \
      max = v > max || v != v ? v : max;                                                           \
    }                                                                                              \
    max = GEMEL__FAULT(softmax_no_max) ? 0 : max;                                                  \
    return max;                                                                                    \
  }                                                                                                \
  static double total_##name(const char *x, int64_t n, int64_t stride, A max) {                    \
    double total = 0;                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                              \
      total += EXP(GET(AT(const T, x, i, stride)) - max);                                          \
    }                                                                                              \
    return total;                                                                                  \
  }                                                                                                \
  static void softmax_##name(const char *x, int64_t xs, char *out, int64_t os, int64_t n) {        \
    A max = largest_##name(x, n, xs);                                                              \
    A total = (A)total_##name(x, n, xs, max);                                                      \
    for (int64_t i = 0; i < n; i++) {                                                              \
      A e = EXP(GET(AT(const T, x, i, xs)) - max);                                                 \
      AT(T, out, i, os) = PUT(e / total);                                                          \
    }                                                                                              \
  }                                                                                                \
  static void loss_##name(const char *x, int64_t xs, const char *t, int64_t ts, int64_t n,         \
                          char *out) {                                                             \
    A max = largest_##name(x, n, xs);                                                              \
    double sum = 0, log_total = log(total_##name(x, n, xs, max));                                  \
    for (int64_t i = 0; i < n; i++) {                                                              \
      double away = (double)max - (double)GET(AT(const T, x, i, xs));                              \
      sum += (double)GET(AT(const T, t, i, ts)) * (away + log_total);                              \
    }                                                                                              \
    *(T *)out = PUT((A)sum);                                                                       \
  }                                                                                                \
  static void index_loss_##name(const char *x, int64_t xs, int64_t target, int64_t n, char *out) { \
    A max = largest_##name(x, n, xs);                                                              \
    double away = (double)max - (double)GET(AT(const T, x, target, xs));                           \
    *(T *)out = PUT((A)(away + log(total_##name(x, n, xs, max))));                                 \
  }
LANES(f16, uint16_t, float, gemel__f16_to_f32, gemel__f32_to_f16, expf)
LANES(bf16, uint16_t, float, gemel__bf16_to_f32, gemel__f32_to_bf16, expf)
LANES(f32, float, float, PLAIN, PLAIN, expf)
LANES(f64, double, double, PLAIN, PLAIN, exp)

typedef struct lane_functions {
  void (*softmax)(const char *x, int64_t xs, char *out, int64_t os, int64_t n);
  void (*loss)(const char *x, int64_t xs, const char *t, int64_t ts, int64_t n, char *out);
  void (*index_loss)(const char *x, int64_t xs, int64_t target, int64_t n, char *out);
} lane_functions;

static lane_functions functions_of(gemel_dtype dtype) {
#define FUNCTIONS(name)                                                                            \
  { softmax_##name, loss_##name, index_loss_##name }
  static const lane_functions by_dtype[4] = {FUNCTIONS(f16), FUNCTIONS(bf16), FUNCTIONS(f32),
                                             FUNCTIONS(f64)};
  return by_dtype[dtype - GEMEL_F16];
}

void gemel__softmax_lanes(const gemel_view *x, const gemel_view *out, int axis, int threads) {
  lanes from = take_apart(x, axis), to = take_apart(out, axis);
  int64_t count = count_lanes(&from), n = x->shape[axis];
  lane_functions f = functions_of(x->dtype);
  threads = threads_for(count, n, threads);
  PARALLEL(threads)
  for (int64_t lane = 0; lane < count; lane++) {
    f.softmax(lane_at(&from, lane), from.stride, lane_at(&to, lane), to.stride, n);
  }
}

void gemel__loss_lanes(const gemel_view *x, const gemel_view *targets, const gemel_view *out,
                       int axis, int threads) {
  lanes from = take_apart(x, axis), with = take_apart(targets, axis);
  int64_t count = count_lanes(&from), n = x->shape[axis];
  int64_t item = (int64_t)gemel_dtype_size(out->dtype);
  lane_functions f = functions_of(x->dtype);
  threads = threads_for(count, n, threads);
  PARALLEL(threads)
  for (int64_t lane = 0; lane < count; lane++) {
    f.loss(lane_at(&from, lane), from.stride, lane_at(&with, lane), with.stride, n,
           (char *)out->data + lane * item);
  }
}

/* An integer of any dtype; a u64 beyond int64_t becomes negative, which is out of range as well. */
static int64_t load_integer(gemel_dtype dtype, const void *at) {
  switch (dtype) {
#define LOAD_CASE(E, name, bytes, kind, ctype)                                                     \
  case GEMEL_##E:                                                                                  \
    return (int64_t) * (const ctype *)at;
    GEMEL_DTYPE_TABLE(LOAD_CASE)
#undef LOAD_CASE
  default:
    return -1;
  }
}

void gemel__index_loss_lanes(const gemel_view *x, const gemel_view *targets, const gemel_view *out,
                             int axis, int threads) {
  lanes from = take_apart(x, axis), with = take_apart(targets, -1);
  int64_t count = count_lanes(&from), n = x->shape[axis];
  int64_t item = (int64_t)gemel_dtype_size(out->dtype);
  lane_functions f = functions_of(x->dtype);
  threads = threads_for(count, n, threads);
  PARALLEL(threads)
  for (int64_t lane = 0; lane < count; lane++) {
    f.index_loss(lane_at(&from, lane), from.stride,
                 load_integer(targets->dtype, lane_at(&with, lane)), n,
                 (char *)out->data + lane * item);
  }
}

int gemel__targets_fit(const gemel_view *targets, int64_t classes, int64_t *element,
                       int64_t *target) {
  lanes l = take_apart(targets, -1);
  int64_t count = count_lanes(&l);
  for (*element = 0; *element < count; ++*element) {
    *target = load_integer(targets->dtype, lane_at(&l, *element));
    if (*target < 0 || *target >= classes) {
      return 0;
    }
  }
  return 1;
}
