/* SPDX-License-Identifier: MIT
 *
 * A walk goes through all axes but the last like an odometer, and hands each row of the last one to
 * a function.
 */
#include "cpu/walk.h"

#include <gemel/context.h>
#include "core/strided.h"

typedef struct walk_layout {
  int rank;
  int64_t sizes[GEMEL_MAX_RANK];
  int64_t strides[2][GEMEL_MAX_RANK]; /* to, from */
} walk_layout;

/* Steps INDEX over all axes but the last and both pointers with it; 0 when it is through. */
static int advance(const walk_layout *l, int64_t *index, char **to, const char **from) {
  for (int k = l->rank - 2; k >= 0; k--) {
    *to += l->strides[0][k];
    *from += l->strides[1][k];
    if (++index[k] < l->sizes[k]) {
      return 1;
    }
    *to -= l->strides[0][k] * l->sizes[k];
    *from -= l->strides[1][k] * l->sizes[k];
    index[k] = 0;
  }
  return 0;
}

void gemel__walk(gemel__row_function row, int rank, const int64_t *shape, char *to,
                 const int64_t *to_strides, const char *from, const int64_t *from_strides) {
  walk_layout l;
  int64_t index[GEMEL_MAX_RANK] = {0};
  for (int k = 0; k < rank; k++) {
    if (shape[k] == 0) {
      return;
    }
    l.sizes[k] = shape[k];
    l.strides[0][k] = to_strides[k];
    l.strides[1][k] = from_strides[k];
  }
  l.rank = gemel__collapse(rank, l.sizes, 2, &l.strides[0][0], GEMEL_MAX_RANK);
  if (l.rank == 0) {
    row(1, to, 0, from, 0);
    return;
  }
  do {
    row(l.sizes[l.rank - 1], to, l.strides[0][l.rank - 1], from, l.strides[1][l.rank - 1]);
  } while (advance(&l, index, &to, &from));
}

void gemel__copy_view(const gemel_view *to, const gemel_view *from) {
  gemel__copy_strided(gemel_dtype_size(to->dtype), to->rank, to->shape, to->data, to->strides,
                      from->data, from->strides);
}

void gemel__fill_view(const gemel_view *to, const void *value) {
  static const int64_t zeros[GEMEL_MAX_RANK] = {0};
  gemel__copy_strided(gemel_dtype_size(to->dtype), to->rank, to->shape, to->data, to->strides,
                      value, zeros);
}

void gemel__packed_strides(int64_t item, int rank, const int64_t *shape, int64_t *strides) {
  for (int k = rank - 1; k >= 0; k--) {
    strides[k] = item;
    item *= shape[k];
  }
}
