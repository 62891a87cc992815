/* SPDX-License-Identifier: MIT
 *
 * See walk.h. A walk is an odometer over all axes but the last, whose rows go to a row function; the
 * tiled form takes two axes out of the odometer and goes over them by squares.
 */
#include "cpu/walk.h"

#include <string.h>

enum { TILE = 32 };

typedef struct axis {
  int64_t size, to, from;
} axis;

/* Drops axes of size 1 and merges neighbours that both sides step through alike. Returns how many
 * axes are left, or -1 if there is no element. */
static int merge_axes(int rank, const int64_t *shape, const int64_t *to, const int64_t *from,
                      axis *axes) {
  int count = 0;
  for (int k = 0; k < rank; k++) {
    axis next = {shape[k], to[k], from[k]};
    axis *last = count > 0 ? &axes[count - 1] : NULL;
    if (next.size == 0) {
      return -1;
    }
    if (next.size == 1) {
      continue;
    }
    if (last != NULL && last->to == next.size * next.to && last->from == next.size * next.from) {
      last->size *= next.size;
      last->to = next.to;
      last->from = next.from;
    } else {
      axes[count++] = next;
    }
  }
  return count;
}

/* Advances the odometer INDEX over COUNT axes and with it both pointers; 0 when it is through. */
static int advance(int count, const axis *axes, int64_t *index, char **to, const char **from) {
  for (int k = count - 1; k >= 0; k--) {
    *to += axes[k].to;
    *from += axes[k].from;
    if (++index[k] < axes[k].size) {
      return 1;
    }
    *to -= axes[k].size * axes[k].to;
    *from -= axes[k].size * axes[k].from;
    index[k] = 0;
  }
  return 0;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void walk_tiles(gemel__row_function row, const axis *outer, const axis *inner, char *to,
                       const char *from) {
  for (int64_t i = 0; i < outer->size; i += TILE) {
    int64_t i_end = smaller(i + TILE, outer->size);
    for (int64_t j = 0; j < inner->size; j += TILE) {
      int64_t n = smaller(TILE, inner->size - j);
      for (int64_t r = i; r < i_end; r++) {
        row(n, to + r * outer->to + j * inner->to, inner->to,
            from + r * outer->from + j * inner->from, inner->from);
      }
    }
  }
}

/* The axis, other than the last, along which FROM is contiguous while the last is not; -1: none. */
static int crossing_axis(int count, const axis *axes, int64_t item) {
  if (count < 2 || axes[count - 1].from == item || axes[count - 1].from == 0) {
    return -1;
  }
  for (int k = 0; k < count - 1; k++) {
    if (axes[k].from == item) {
      return k;
    }
  }
  return -1;
}

void gemel__walk(gemel__row_function row, int64_t item, int rank, const int64_t *shape, char *to,
                 const int64_t *to_strides, const char *from, const int64_t *from_strides) {
  axis axes[GEMEL_MAX_RANK], inner = {1, item, item}, crossed = {1, 0, 0};
  int64_t index[GEMEL_MAX_RANK] = {0};
  int count = merge_axes(rank, shape, to_strides, from_strides, axes);
  int cross = count < 0 ? -1 : crossing_axis(count, axes, item);
  if (count < 0) {
    return;
  }
  if (cross >= 0) {
    crossed = axes[cross];
    memmove(&axes[cross], &axes[cross + 1], (size_t)(count - cross - 1) * sizeof *axes);
    count--;
  }
  if (count > 0) {
    inner = axes[--count];
  }
  do {
    if (cross >= 0) {
      walk_tiles(row, &crossed, &inner, to, from);
    } else {
      row(inner.size, to, inner.to, from, inner.from);
    }
  } while (advance(count, axes, index, &to, &from));
}

#define COPY_ROW(bits)                                                                             \
  static void copy_row_##bits(int64_t n, char *to, int64_t ts, const char *from, int64_t fs) {     \
    if (ts == bits / 8 && fs == bits / 8) {                                                        \
      memcpy(to, from, (size_t)n * (bits / 8));                                                    \
      return;                                                                                      \
    }                                                                                              \
    for (int64_t i = 0; i < n; i++, to += ts, from += fs) {                                        \
      uint##bits##_t value;                                                                        \
      memcpy(&value, from, sizeof value);                                                          \
      memcpy(to, &value, sizeof value);                                                            \
    }                                                                                              \
  }
COPY_ROW(8)
COPY_ROW(16)
COPY_ROW(32)
COPY_ROW(64)

void gemel__copy_strided(int64_t item, int rank, const int64_t *shape, void *to,
                         const int64_t *to_strides, const void *from, const int64_t *from_strides) {
  gemel__row_function row = item == 1   ? copy_row_8
                            : item == 2 ? copy_row_16
                            : item == 4 ? copy_row_32
                                        : copy_row_64;
  gemel__walk(row, item, rank, shape, to, to_strides, from, from_strides);
}

void gemel__copy_view(const gemel_view *to, const gemel_view *from) {
  gemel__copy_strided((int64_t)gemel_dtype_size(to->dtype), to->rank, to->shape, to->data,
                      to->strides, from->data, from->strides);
}

void gemel__fill(int64_t item, int64_t count, void *to, const void *value) {
  const int64_t zero = 0;
  gemel__copy_strided(item, 1, &count, to, &item, value, &zero);
}

void gemel__row_major(int64_t item, int rank, const int64_t *shape, int64_t *strides) {
  for (int k = rank - 1; k >= 0; k--) {
    strides[k] = item;
    item *= shape[k];
  }
}

int gemel__is_row_major(const gemel_view *view) {
  int64_t expected = (int64_t)gemel_dtype_size(view->dtype);
  int packed = 1;
  for (int k = view->rank - 1; k >= 0; k--) {
    if (view->shape[k] == 0) {
      return 1;
    }
    if (view->shape[k] != 1 && view->strides[k] != expected) {
      packed = 0;
    }
    expected *= view->shape[k];
  }
  return packed;
}
