/* SPDX-License-Identifier: MIT
 *
 * Elimination by loops, included once for each type: T is the type, F(name) a function's name for
 * it. Inner loops run down columns.
 */

/* Exchanges rows P and Q of COLUMNS columns of N rows. */
static void F(exchange)(int64_t n, int64_t columns, T *a, int64_t p, int64_t q) {
  for (int64_t j = 0; p != q && j < columns; j++, a += n) {
    T kept = a[p];
    a[p] = a[q];
    a[q] = kept;
  }
}

/* A column less TIMES another, from row FROM on. */
static void F(take_away)(int64_t from, int64_t n, T *column, T times, const T *other) {
  for (int64_t i = from; i < n; i++) {
    column[i] -= times * other[i];
  }
}

static int F(lu)(int64_t n, T *a, int *pivots) {
  for (int64_t k = 0; k < n; k++) {
    T *column = a + k * n;
    int64_t p = k;
    for (int64_t i = k + 1; i < n; i++) {
      int larger = M(fabs)(column[i]) > M(fabs)(column[p]);
      p = larger ? i : p;
    }
    pivots[k] = (int)p + 1;
    if (column[p] == 0) {
      return 0;
    }
    F(exchange)(n, n, a, k, p);
    for (int64_t i = k + 1; i < n; i++) {
      column[i] /= column[k];
    }
    for (int64_t j = k + 1; j < n; j++) {
      F(take_away)(k + 1, n, a + j * n, a[j * n + k], column);
    }
  }
  return 1;
}

static void F(triangular)(int64_t n, gemel__triangle t, int64_t columns, const T *a, T *b) {
  for (int64_t j = 0; j < columns; j++, b += n) {
    for (int64_t step = 0; step < n; step++) {
      int64_t i = t.lower ? step : n - 1 - step;
      const T *column = a + i * n;
      b[i] = t.unit ? b[i] : b[i] / column[i];
      F(take_away)(t.lower ? i + 1 : 0, t.lower ? n : i, b, b[i], column);
    }
  }
}

static void F(solve)(int64_t n, int64_t columns, const T *lu, const int *pivots, T *b) {
  for (int64_t k = 0; k < n; k++) {
    F(exchange)(n, columns, b, k, pivots[k] - 1);
  }
  F(triangular)(n, (gemel__triangle){1, 1}, columns, lu, b);
  F(triangular)(n, (gemel__triangle){0, 0}, columns, lu, b);
}

static int F(cholesky)(int64_t n, T *a) {
  for (int64_t k = 0; k < n; k++) {
    T *column = a + k * n;
    if (!(column[k] > 0)) {
      return 0;
    }
    column[k] = M(sqrt)(column[k]);
    for (int64_t i = k + 1; i < n; i++) {
      column[i] /= column[k];
    }
    for (int64_t j = k + 1; j < n; j++) {
      F(take_away)(j, n, a + j * n, column[j], column);
    }
  }
  return 1;
}
