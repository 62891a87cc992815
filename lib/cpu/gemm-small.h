/* SPDX-License-Identifier: MIT
 *
 * The loops of a small matrix product for one element type: included by gemm-small.c for each
 * instruction set, with
 * T        the elements
 * NAME(n)  the name of function n
 * Sums don't depend on the instruction set. Not a header of declarations: no guard.
 */
#define VECTOR NAME(vector)
#define LANES (VECTOR_BYTES / (int)sizeof(T))
#define AT(p) (*(VECTOR *)(uintptr_t)(p))

typedef T VECTOR __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));

/* c = from + a B in VECTORS (at most 8) times LANES columns, sums in the order of k. */
static inline __attribute__((always_inline)) void
NAME(columns)(int vectors, const gemel__gemm *p, const T *a, const T *b, const T *from, T *c) {
  VECTOR sum[8];
  for (int v = 0; v < vectors; v++) {
    sum[v] = from != NULL ? AT(from + v * LANES) : (VECTOR){0};
  }
  for (int64_t q = 0; q < p->k; q++, a += p->a_col, b += p->b_row) {
    for (int v = 0; v < vectors; v++) {
      sum[v] += *a * AT(b + v * LANES);
    }
  }
  for (int v = 0; v < vectors; v++) {
    AT(c + v * LANES) = sum[v];
  }
}

/* One row of A against a B whose rows are contiguous. */
static void NAME(by_rows)(const gemel__gemm *p, const T *a, const T *b, const T *from, T *c) {
  int64_t j = 0, n = p->n;
#define COLUMNS(vectors)                                                                           \
  for (; j + (vectors)*LANES <= n; j += (vectors)*LANES) {                                         \
    NAME(columns)(vectors, p, a, b + j, from != NULL ? from + j : NULL, c + j);                    \
  }
  COLUMNS(8)
  COLUMNS(4)
  COLUMNS(1)
#undef COLUMNS
  for (; j < n; j++) {
    T sum = from != NULL ? from[j] : 0;
    for (int64_t q = 0; q < p->k; q++) {
      sum += a[q * p->a_col] * b[q * p->b_row + j];
    }
    c[j] = sum;
  }
}

/* *SUM, the sums of K products of A with each of COLUMNS (at most LANES) columns of B. */
static inline __attribute__((always_inline)) void NAME(sums)(int columns, const gemel__gemm *p,
                                                             const T *a, const T *b, VECTOR *sum) {
  VECTOR part[LANES], rest = {0};
  int64_t q = 0;
  for (int j = 0; j < LANES; j++) {
    part[j] = (VECTOR){0};
  }
  for (; q + LANES <= p->k; q += LANES) {
    for (int j = 0; j < columns; j++) {
      part[j] += AT(a + q) * AT(b + j * p->b_col + q);
    }
  }
  for (; q < p->k; q++) {
    for (int j = 0; j < columns; j++) {
      rest[j] += a[q] * b[j * p->b_col + q];
    }
  }
  ADD_UP(part)
  *sum = part[0] + rest;
}

/* One row of A, contiguous, against a B whose columns are. */
static void NAME(by_columns)(const gemel__gemm *p, const T *a, const T *b, const T *from, T *c) {
  int64_t j = 0;
  VECTOR sum;
  for (; j + LANES <= p->n; j += LANES) {
    NAME(sums)(LANES, p, a, b + j * p->b_col, &sum);
    if (from != NULL) {
      sum += AT(from + j);
    }
    AT(c + j) = sum;
  }
  for (; j < p->n; j++) {
    NAME(sums)(1, p, a, b + j * p->b_col, &sum);
    c[j] = from != NULL ? sum[0] + from[j] : sum[0];
  }
}

static void NAME(product)(const gemel__gemm *p, const void *a, const void *b, const void *from,
                          void *c) {
  for (int64_t i = 0; i < p->m; i++) {
    const T *row = (const T *)a + i * p->a_row;
    const T *before = from != NULL ? (const T *)from + i * p->n : NULL;
    (p->b_col == 1 ? NAME(by_rows) : NAME(by_columns))(p, row, b, before, (T *)c + i * p->n);
  }
}

#undef VECTOR
#undef LANES
#undef AT
#undef T
#undef NAME
#undef ADD_UP
