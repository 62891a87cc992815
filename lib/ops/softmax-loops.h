/* SPDX-License-Identifier: MIT
 *
 * The loops of softmax-run.c on contiguous f32 or f64 for one instruction set. The includer defines
 * T, TAG, ISA and REGISTER, the bytes of a vector register; NAME(kernels) is what it gets. Sums are
 * made in 16 lanes of f64 whatever the registers' width, so every instruction set adds in the same
 * order. No include guard: included many times.
 */
#define NAME(what) GEMEL__PASTE3(what, TAG, ISA)
#define f64_vector NAME(f64_vector)
#define narrow NAME(narrow)

/* As many numbers of the dtype as a register holds of f64. */
typedef double f64_vector __attribute__((vector_size(REGISTER), aligned(8), may_alias));
typedef T narrow
    __attribute__((vector_size(REGISTER / 8 * sizeof(T)), aligned(sizeof(T)), may_alias));

static void NAME(exp)(size_t n, const void *x, double max, void *out) {
  const T *const p = x;
  T *const r = out;
  const T largest = (T)max;
  GEMEL__INDEPENDENT
  for (size_t k = 0; k < n; k++) {
    const T away = p[k] - largest;
    r[k] = GEMEL__PASTE2(TAG, exp_falling)(away);
  }
}

static void NAME(divide)(size_t n, const void *x, double by, void *out) {
  const T *const p = x;
  T *const r = out;
  const T divisor = (T)by;
  GEMEL__INDEPENDENT
  for (size_t k = 0; k < n; k++) {
    r[k] = p[k] / divisor;
  }
}

/* Joins the lanes of A and what is left of the terms. */
static double NAME(fold)(const f64_vector *a, const double *rest) {
  double lanes[GEMEL__SUM_LANES];
  size_t k, j;
  memcpy(lanes, a, sizeof lanes);
  for (k = 0; k < GEMEL__SUM_LANES; k++) {
    lanes[k] += rest[k];
  }
  for (k = GEMEL__SUM_LANES / 2; k > 0; k /= 2) {
    for (j = 0; j < k; j++) {
      lanes[j] += lanes[j + k];
    }
  }
  return lanes[0];
}

#define WIDEN(from) __builtin_convertvector(*(const narrow *)(from), f64_vector)
enum { NAME(STEP) = REGISTER / 8, NAME(VECTORS) = GEMEL__SUM_LANES / NAME(STEP) };

static double NAME(sum)(size_t n, const void *x) {
  const T *p = x;
  f64_vector a[NAME(VECTORS)] = {{0}};
  double rest[GEMEL__SUM_LANES] = {0};
  size_t k;
  for (; n >= GEMEL__SUM_LANES; n -= GEMEL__SUM_LANES, p += GEMEL__SUM_LANES) {
    for (k = 0; k < NAME(VECTORS); k++) {
      a[k] += WIDEN(p + k * NAME(STEP));
    }
  }
  for (k = 0; k < n; k++) {
    rest[k] = (double)p[k];
  }
  return NAME(fold)(a, rest);
}

static double NAME(weigh)(size_t n, const void *x, const void *t, double max, double log_total) {
  const T *p = x, *q = t;
  f64_vector a[NAME(VECTORS)] = {{0}};
  double rest[GEMEL__SUM_LANES] = {0};
  size_t k;
  for (; n >= GEMEL__SUM_LANES;
       n -= GEMEL__SUM_LANES, p += GEMEL__SUM_LANES, q += GEMEL__SUM_LANES) {
    for (k = 0; k < NAME(VECTORS); k++) {
      a[k] += WIDEN(q + k * NAME(STEP)) * ((max - WIDEN(p + k * NAME(STEP))) + log_total);
    }
  }
  for (k = 0; k < n; k++) {
    rest[k] = (double)q[k] * ((max - (double)p[k]) + log_total);
  }
  return NAME(fold)(a, rest);
}

static void NAME(exp_row)(size_t n, const void *x, const void *max, void *out, double *total) {
  const T *const p = x, *const largest = max;
  T *const r = out;
  GEMEL__INDEPENDENT
  for (size_t k = 0; k < n; k++) {
    const T away = p[k] - largest[k];
    const T power = GEMEL__PASTE2(TAG, exp_falling)(away);
    r[k] = power;
    total[k] += (double)power;
  }
}

static void NAME(divide_rows)(size_t rows, size_t n, void *out, int64_t step, const double *total) {
  char *at = out;
  for (; rows > 0; rows--, at += step) {
    T *const r = (T *)(void *)at;
    GEMEL__INDEPENDENT
    for (size_t k = 0; k < n; k++) {
      r[k] = r[k] / (T)total[k];
    }
  }
}

static const gemel__softmax_kernels NAME(kernels) = {NAME(exp),   NAME(divide),  NAME(sum),
                                                     NAME(weigh), NAME(exp_row), NAME(divide_rows)};

#undef WIDEN
#undef wide
#undef narrow
#undef NAME
#undef T
#undef TAG
