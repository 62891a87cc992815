/* SPDX-License-Identifier: MIT
 *
 * The loops of a plain matrix product for one element type: included by gemm-plain.c many times,
 * with T        what memory holds ACC      what is added up GET(x)   an element as ACC, PUT(s) a
 * sum as an element, MAC(s, x, y) s with x y added NAME     the function's name
 *
 * A panel of four rows of A goes against a strip of columns of B; the panel's sums stay in the
 * nearest cache. Each sum runs over k in order, so it doesn't depend on how the rows are shared
 * out. Not a header of declarations: no guard.
 */
static void NAME(const gemel__gemm *p, const void *a_data, const void *b_data, void *c_data,
                 int64_t row, int64_t row_end) {
  const T *a = a_data, *b = b_data;
  T *c = c_data;
  ACC sum[PANEL][STRIP], b_row[STRIP];
  for (int64_t j0 = 0; j0 < p->n; j0 += STRIP) {
    int64_t width = p->n - j0 < STRIP ? p->n - j0 : STRIP;
    for (int64_t i0 = row; i0 < row_end; i0 += PANEL) {
      int64_t height = row_end - i0 < PANEL ? row_end - i0 : PANEL;
      for (int64_t r = 0; r < height; r++) {
        for (int64_t j = 0; j < width; j++) {
          T before = p->accumulate ? c[(i0 + r) * p->n + j0 + j] : 0;
          sum[r][j] = GET(before);
        }
      }
      for (int64_t q = 0; q < p->k; q++) {
        const T *from = b + q * p->b_row + j0 * p->b_col;
        for (int64_t j = 0; j < width; j++) {
          T element = from[j * p->b_col];
          b_row[j] = GET(element);
        }
        for (int64_t r = 0; r < height; r++) {
          T element = a[(i0 + r) * p->a_row + q * p->a_col];
          ACC x = GET(element);
          for (int64_t j = 0; j < width; j++) {
            sum[r][j] = MAC(sum[r][j], x, b_row[j]);
          }
        }
      }
      for (int64_t r = 0; r < height; r++) {
        for (int64_t j = 0; j < width; j++) {
          c[(i0 + r) * p->n + j0 + j] = (T)PUT(sum[r][j]);
        }
      }
    }
  }
}
#undef T
#undef ACC
#undef GET
#undef PUT
#undef MAC
#undef NAME
