/* SPDX-License-Identifier: MIT
 *
 * Copies of strided elements. The two layouts are collapsed together, axes are put in the order of
 * the target's strides, so that it is written in sequence, and rows are walked with an odometer. A
 * transposition (the source's unit stride on another axis than the target's) is done in square
 * blocks, so that each cache line is used whole while it is there.
 */
#include "cpu/copy.h"

#include <string.h>
#include <gemel/context.h>

/* The loop for one size of element; memcpy's of constant size become plain moves. */
#define COPY_LOOP(bytes)                                                                           \
  for (k = 0; k < n; k++) {                                                                        \
    memcpy(to + k * to_step, from + k * from_step, bytes);                                         \
  }                                                                                                \
  break

void gemel__copy_row(size_t bytes, int64_t n, char *to, int64_t to_step, const char *from,
                     int64_t from_step) {
  int64_t k;
  if (to_step == (int64_t)bytes && from_step == (int64_t)bytes) {
    memcpy(to, from, (size_t)n * bytes);
    return;
  }
  switch (bytes) {
  case 1:
    COPY_LOOP(1);
  case 2:
    COPY_LOOP(2);
  case 4:
    COPY_LOOP(4);
  default:
    COPY_LOOP(8);
  }
}

static int mergeable(const int64_t *sizes, int axis, int n, const int64_t *strides, int step) {
  int k;
  for (k = 0; k < n; k++) {
    if (strides[k * step + axis] != strides[k * step + axis + 1] * sizes[axis + 1]) {
      return 0;
    }
  }
  return 1;
}

int gemel__collapse(int rank, int64_t *sizes, int n, int64_t *strides, int step) {
  int kept = 0, axis, k;
  for (axis = 0; axis < rank; axis++) {
    if (sizes[axis] != 1) {
      sizes[kept] = sizes[axis];
      for (k = 0; k < n; k++) {
        strides[k * step + kept] = strides[k * step + axis];
      }
      kept++;
      /* Merge the axis just kept into the one before it. */
      if (kept > 1 && mergeable(sizes, kept - 2, n, strides, step)) {
        sizes[kept - 2] *= sizes[kept - 1];
        for (k = 0; k < n; k++) {
          strides[k * step + kept - 2] = strides[k * step + kept - 1];
        }
        kept--;
      }
    }
  }
  return kept;
}

enum { TO, FROM, BLOCK = 32, PARALLEL_BYTES = 512 << 10 };

typedef struct layout {
  int rank;
  int64_t sizes[GEMEL_MAX_RANK];
  int64_t strides[2][GEMEL_MAX_RANK];
} layout;

static int64_t magnitude(int64_t x) {
  return x < 0 ? -x : x;
}

static void swap_axes(layout *l, int a, int b) {
  int64_t size = l->sizes[a];
  int k;
  l->sizes[a] = l->sizes[b];
  l->sizes[b] = size;
  for (k = 0; k < 2; k++) {
    int64_t stride = l->strides[k][a];
    l->strides[k][a] = l->strides[k][b];
    l->strides[k][b] = stride;
  }
}

/* Largest stride of the target outermost; ranks are small, so by insertion. */
static void sort_axes(layout *l) {
  int k, j;
  for (k = 1; k < l->rank; k++) {
    for (j = k; j > 0 && magnitude(l->strides[TO][j - 1]) < magnitude(l->strides[TO][j]); j--) {
      swap_axes(l, j - 1, j);
    }
  }
}

/* One block of ROWS x COLUMNS elements of the target: source lines, which run along the rows' axis,
 * are read whole, one after another, and taken apart in a buffer. Strides of lines are often powers
 * of two, so that going back and forth between them would throw them out of the cache. */
#define TURN_BLOCK(bytes)                                                                          \
  for (j = 0; j < columns; j++) {                                                                  \
    const char *line = from + j * from_strides[1];                                                 \
    for (i = 0; i < rows; i++) {                                                                   \
      memcpy(buffer + (i * BLOCK + j) * bytes, line + i * from_strides[0], bytes);                 \
    }                                                                                              \
  }                                                                                                \
  break

static void turn_block(size_t bytes, int64_t rows, int64_t columns, char *buffer, const char *from,
                       const int64_t *from_strides) {
  int64_t i, j;
  switch (bytes) {
  case 1:
    TURN_BLOCK(1);
  case 2:
    TURN_BLOCK(2);
  case 4:
    TURN_BLOCK(4);
  default:
    TURN_BLOCK(8);
  }
}

/* Two innermost axes in blocks. */
static void copy_plane(size_t bytes, const int64_t *sizes, char *to, const int64_t *to_strides,
                       const char *from, const int64_t *from_strides) {
  char buffer[BLOCK * BLOCK * 8];
  int64_t i, j, k;
  for (i = 0; i < sizes[0]; i += BLOCK) {
    int64_t rows = sizes[0] - i < BLOCK ? sizes[0] - i : BLOCK;
    for (j = 0; j < sizes[1]; j += BLOCK) {
      int64_t columns = sizes[1] - j < BLOCK ? sizes[1] - j : BLOCK;
      turn_block(bytes, rows, columns, buffer, from + i * from_strides[0] + j * from_strides[1],
                 from_strides);
      for (k = 0; k < rows; k++) {
        gemel__copy_row(bytes, columns, to + (i + k) * to_strides[0] + j * to_strides[1],
                        to_strides[1], buffer + k * BLOCK * (int64_t)bytes, (int64_t)bytes);
      }
    }
  }
}

/* Steps INDEX over the OUTER first axes; 0 when it is back at the start. */
static int advance(const layout *l, int outer, int64_t *index, char **to, const char **from) {
  int k;
  for (k = outer - 1; k >= 0; k--) {
    *to += l->strides[TO][k];
    *from += l->strides[FROM][k];
    if (++index[k] < l->sizes[k]) {
      return 1;
    }
    *to -= l->strides[TO][k] * l->sizes[k];
    *from -= l->strides[FROM][k] * l->sizes[k];
    index[k] = 0;
  }
  return 0;
}

static void copy_rows(size_t bytes, const layout *l, char *to, const char *from) {
  int64_t index[GEMEL_MAX_RANK] = {0};
  int last = l->rank - 1;
  int plane =
      l->rank > 1 && magnitude(l->strides[FROM][last - 1]) < magnitude(l->strides[FROM][last]);
  int outer = plane ? last - 1 : last;
  do {
    if (plane) {
      copy_plane(bytes, l->sizes + outer, to, l->strides[TO] + outer, from,
                 l->strides[FROM] + outer);
    } else {
      gemel__copy_row(bytes, l->sizes[last], to, l->strides[TO][last], from,
                      l->strides[FROM][last]);
    }
  } while (advance(l, outer, index, &to, &from));
}

/* The layouts, axes merged and in the target's order. -1 if there is nothing to copy. */
static int make_layout(layout *l, int rank, const int64_t *shape, const int64_t *to_strides,
                       const int64_t *from_strides) {
  int k;
  for (k = 0; k < rank; k++) {
    if (shape[k] == 0) {
      return -1;
    }
    l->sizes[k] = shape[k];
    l->strides[TO][k] = to_strides[k];
    l->strides[FROM][k] = from_strides[k];
  }
  l->rank = gemel__collapse(rank, l->sizes, 2, &l->strides[0][0], GEMEL_MAX_RANK);
  sort_axes(l);
  l->rank = gemel__collapse(l->rank, l->sizes, 2, &l->strides[0][0], GEMEL_MAX_RANK);
  return 0;
}

static void copy_all(size_t bytes, const layout *l, char *to, const char *from) {
  if (l->rank == 0) {
    memcpy(to, from, bytes);
  } else {
    copy_rows(bytes, l, to, from);
  }
}

void gemel__copy_strided(size_t element_bytes, int rank, const int64_t *shape, void *to,
                         const int64_t *to_strides, const void *from, const int64_t *from_strides) {
  layout l;
  if (make_layout(&l, rank, shape, to_strides, from_strides) == 0) {
    copy_all(element_bytes, &l, to, from);
  }
}

static int64_t count(const layout *l) {
  int64_t n = 1;
  int k;
  for (k = 0; k < l->rank; k++) {
    n *= l->sizes[k];
  }
  return n;
}

void gemel__copy_parallel(int threads, size_t element_bytes, int rank, const int64_t *shape,
                          void *to, const int64_t *to_strides, const void *from,
                          const int64_t *from_strides) {
  layout l;
  int64_t part, parts;
  if (make_layout(&l, rank, shape, to_strides, from_strides) != 0) {
    return;
  }
  parts = l.rank > 0 && l.sizes[0] < threads ? l.sizes[0] : threads;
  if (l.rank == 0 || parts < 2 || count(&l) * (int64_t)element_bytes < PARALLEL_BYTES) {
    copy_all(element_bytes, &l, to, from);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (part = 0; part < parts; part++) {
    layout mine = l;
    int64_t begin = l.sizes[0] / parts * part + l.sizes[0] % parts * part / parts;
    int64_t end = l.sizes[0] / parts * (part + 1) + l.sizes[0] % parts * (part + 1) / parts;
    mine.sizes[0] = end - begin;
    copy_rows(element_bytes, &mine, (char *)to + begin * l.strides[TO][0],
              (const char *)from + begin * l.strides[FROM][0]);
  }
}
