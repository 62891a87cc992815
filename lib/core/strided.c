/* SPDX-License-Identifier: MIT
 *
 * Copies of strided elements. The two layouts are collapsed together, axes are put in the order of
 * the target's strides, so that it is written in sequence, and rows are walked with an odometer. A
 * transposition (the source's smallest stride on another axis than the target's) is done in planes
 * of these two axes, a plane in square blocks, so that each cache line is used whole while it is
 * there, and a block in small squares that are turned in registers.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is optimised for loops */
#include "core/strided.h"

#include <string.h>
#include <gemel/context.h>
#include "core/stream.h"
#include "core/turn.h"

/* The loop for one size of element; memcpy's of constant size become plain moves. */
#define COPY_LOOP(bytes)                                                                           \
  for (k = 0; k < n; k++) {                                                                        \
    memcpy(to + k * to_step, from + k * from_step, bytes);                                         \
  }                                                                                                \
  break

/* Elements that lie one before the other, those that lie two apart, and one that is taken again and
 * again: with steps that are constants vectors can take them. */
#define COPY_STEPS(T, step)                                                                        \
  static void copy_##T##_##step(int64_t n, char *to, const char *from) {                           \
    typedef T element __attribute__((aligned(1), may_alias));                                      \
    element *restrict t = (element *)to;                                                           \
    const element *restrict f = (const element *)from;                                             \
    for (int64_t k = 0; k < n; k++) {                                                              \
      t[k] = f[step_##step(k)];                                                                    \
    }                                                                                              \
  }
#define step_backwards(k) (-(k))
#define step_double(k) (2 * (k))
#define step_none(k) (0 * (k))
COPY_STEPS(uint8_t, backwards)
COPY_STEPS(uint16_t, backwards)
COPY_STEPS(uint32_t, backwards)
COPY_STEPS(uint64_t, backwards)
COPY_STEPS(uint8_t, double)
COPY_STEPS(uint16_t, double)
COPY_STEPS(uint32_t, double)
COPY_STEPS(uint64_t, double)
COPY_STEPS(uint8_t, none)
COPY_STEPS(uint16_t, none)
COPY_STEPS(uint32_t, none)
COPY_STEPS(uint64_t, none)

/* The row to contiguous memory by such a loop; 0 if there is none for this step. */
static int copy_by_steps(size_t bytes, int64_t n, char *to, const char *from, int64_t step) {
  static void (*const loops[3][4])(int64_t n, char *to, const char *from) = {
      {copy_uint8_t_backwards, copy_uint16_t_backwards, copy_uint32_t_backwards,
       copy_uint64_t_backwards},
      {copy_uint8_t_double, copy_uint16_t_double, copy_uint32_t_double, copy_uint64_t_double},
      {copy_uint8_t_none, copy_uint16_t_none, copy_uint32_t_none, copy_uint64_t_none}};
  int size = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  if (step != -(int64_t)bytes && step != 2 * (int64_t)bytes && step != 0) {
    return 0;
  }
  loops[step == 0 ? 2 : step > 0][size](n, to, from);
  return 1;
}

void gemel__copy_row(size_t bytes, int64_t n, char *to, int64_t to_step, const char *from,
                     int64_t from_step) {
  int64_t k;
  if (to_step == (int64_t)bytes && from_step == (int64_t)bytes) {
    memcpy(to, from, (size_t)n * bytes);
    return;
  }
  if (to_step == (int64_t)bytes && copy_by_steps(bytes, n, to, from, from_step)) {
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
  for (int k = 0; k < n; k++) {
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

enum {
  TO,
  FROM,
  BLOCK = 32,
  BLOCK_BYTES = 16 * BLOCK * BLOCK,
  FEW_BYTES = 4 << 10, /* which are copied at once, where they lie alike */
  PARALLEL_BYTES = 512 << 10,
  THIN = 8,
  STRETCH = 512,
  LONG_ROW = 1024,
  FETCHED = 4096
};

typedef struct copy_layout {
  int rank;
  int64_t sizes[GEMEL_MAX_RANK];
  int64_t strides[2][GEMEL_MAX_RANK];
  gemel__stream stream; /* for a copy that no cache holds, else NULL */
} copy_layout;

static int64_t magnitude(int64_t x) {
  return x < 0 ? -x : x;
}

static void swap_axes(copy_layout *l, int a, int b) {
  int64_t size = l->sizes[a];
  l->sizes[a] = l->sizes[b];
  l->sizes[b] = size;
  for (int k = 0; k < 2; k++) {
    int64_t stride = l->strides[k][a];
    l->strides[k][a] = l->strides[k][b];
    l->strides[k][b] = stride;
  }
}

/* Largest stride of the target outermost; ranks are small, so by insertion. */
static void sort_axes(copy_layout *l) {
  for (int k = 1; k < l->rank; k++) {
    for (int j = k; j > 0 && magnitude(l->strides[TO][j - 1]) < magnitude(l->strides[TO][j]); j--) {
      swap_axes(l, j - 1, j);
    }
  }
}

/* Puts the axis along which the source lies closest, if that isn't the innermost one, next to it:
 * the two are copied as a plane, and both sides are read and written a cache line at a time. */
static void choose_plane(copy_layout *l) {
  int last = l->rank - 1, closest = last;
  for (int k = last - 1; k >= 0; k--) {
    int64_t stride = magnitude(l->strides[FROM][k]);
    closest = stride > 0 && stride < magnitude(l->strides[FROM][closest]) ? k : closest;
  }
  for (; closest < last - 1; closest++) {
    swap_axes(l, closest, closest + 1);
  }
}

/* ---- Turning ---- */

/* One block of ROWS x COLUMNS elements of the target: source lines, which run along the rows' axis,
 * are read whole, one after another, and taken apart in a buffer whose rows are SIDE elements
 * apart. Strides of lines are often powers of two, so that going back and forth between them would
 * throw them out of the cache. */
#define TURN_BLOCK(bytes)                                                                          \
  for (j = 0; j < columns; j++) {                                                                  \
    const char *line = from + j * from_strides[1];                                                 \
    for (i = 0; i < rows; i++) {                                                                   \
      memcpy(buffer + (i * side + j) * bytes, line + i * from_strides[0], bytes);                  \
    }                                                                                              \
  }                                                                                                \
  break

static void turn_plainly(size_t bytes, int64_t rows, int64_t columns, char *buffer, int64_t side,
                         const char *from, const int64_t *from_strides) {
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

#if defined(__GNUC__)

/* Whole squares of N x N elements. */
#define TURN_SQUARES(bytes, N, T)                                                                  \
  typedef T square_##bytes __attribute__((vector_size(16), aligned(1), may_alias));                \
  static void turn_squares_##bytes(int64_t rows, int64_t columns, char *buffer, int64_t side,      \
                                   const char *from, int64_t line) {                               \
    for (int64_t j = 0; j + N <= columns; j += N) {                                                \
      for (int64_t i = 0; i + N <= rows; i += N) {                                                 \
        square_##bytes a[N];                                                                       \
        for (int k = 0; k < N; k++) {                                                              \
          a[k] = *(const square_##bytes *)(from + (j + k) * line + i * bytes);                     \
        }                                                                                          \
        GEMEL__TURN(square_##bytes, N, a)                                                          \
        for (int k = 0; k < N; k++) {                                                              \
          *(square_##bytes *)(buffer + ((i + k) * side + j) * bytes) = a[k];                       \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }
TURN_SQUARES(1, 16, uint8_t)
TURN_SQUARES(2, 8, uint16_t)
TURN_SQUARES(4, 4, uint32_t)
TURN_SQUARES(8, 2, uint64_t)

/* Whole squares by registers; returns their side. */
static int64_t turn_squares(size_t bytes, int64_t rows, int64_t columns, char *buffer, int64_t side,
                            const char *from, int64_t line) {
  switch (bytes) {
  case 1:
    turn_squares_1(rows, columns, buffer, side, from, line);
    break;
  case 2:
    turn_squares_2(rows, columns, buffer, side, from, line);
    break;
  case 4:
    turn_squares_4(rows, columns, buffer, side, from, line);
    break;
  default:
    turn_squares_8(rows, columns, buffer, side, from, line);
  }
  return 16 / (int64_t)bytes;
}

#else

static int64_t turn_squares(size_t bytes, int64_t rows, int64_t columns, char *buffer, int64_t side,
                            const char *from, int64_t line) {
  (void)bytes, (void)buffer, (void)side, (void)from, (void)line;
  return rows + columns + 1; /* there are none */
}

#endif

/* Lines without gaps in squares, what is left at two edges and all others element by element. */
static void turn_block(size_t bytes, int64_t rows, int64_t columns, char *buffer, int64_t side,
                       const char *from, const int64_t *from_strides) {
  int64_t n, i = 0, j = 0, item = (int64_t)bytes;
  if (from_strides[0] == item) {
    n = turn_squares(bytes, rows, columns, buffer, side, from, from_strides[1]);
    i = rows - rows % n;
    j = columns - columns % n;
  }
  turn_plainly(bytes, rows - i, j, buffer + i * side * item, side, from + i * from_strides[0],
               from_strides);
  turn_plainly(bytes, rows, columns - j, buffer + j * item, side, from + j * from_strides[1],
               from_strides);
}

/* Asks for the source's part of the next block, in the second-level cache: with strides of powers
 * of two it would displace itself in the first. */
static void fetch_block(size_t bytes, int64_t rows, int64_t columns, const char *from,
                        const int64_t *from_strides) {
  int64_t i, j, line = 64 / (int64_t)bytes;
  if (from_strides[0] == (int64_t)bytes) {
    for (j = 0; j < columns; j++) {
      for (i = 0; i < rows; i += line) {
        __builtin_prefetch(from + j * from_strides[1] + i * (int64_t)bytes, 0, 2);
      }
    }
  }
}

static void put_row(size_t bytes, int64_t n, char *to, int64_t step, const char *from,
                    gemel__stream stream) {
  if (stream != NULL && step == (int64_t)bytes) {
    stream(to, from, (size_t)n * bytes);
  } else {
    gemel__copy_row(bytes, n, to, step, from, (int64_t)bytes);
  }
}

/* 1 if the plane of axes OUTER and the next can be turned where it is to be: lines without gaps on
 * both sides, and at least a square wide. */
static int turns_in_place(size_t bytes, const copy_layout *l, int outer) {
  int64_t item = (int64_t)bytes, side = 16 / item, step = l->strides[TO][outer];
  return l->sizes[outer] >= side && l->sizes[outer + 1] >= side &&
         l->strides[FROM][outer] == item && l->strides[TO][outer + 1] == item && step > 0 &&
         step % item == 0;
}

/* A plane that is only a few elements wide one way, a stretch at a time, which the nearest cache
 * keeps: turned, or the rows, or columns, that there are. */
static void copy_thin(size_t bytes, const copy_layout *l, int outer, char *to, const char *from) {
  int along = l->sizes[outer] < l->sizes[outer + 1] ? outer + 1 : outer;
  int across = along == outer ? outer + 1 : outer, turns = turns_in_place(bytes, l, outer);
  const int64_t *to_strides = l->strides[TO], *from_strides = l->strides[FROM];
  for (int64_t i = 0; i < l->sizes[along]; i += STRETCH) {
    int64_t left = l->sizes[along] - i, n = left < STRETCH ? left : STRETCH;
    char *there = to + i * to_strides[along];
    const char *here = from + i * from_strides[along];
    if (turns) {
      turn_block(bytes, along == outer ? n : l->sizes[outer],
                 along == outer ? l->sizes[outer + 1] : n, there,
                 to_strides[outer] / (int64_t)bytes, here, from_strides + outer);
    }
    for (int64_t j = 0; j < l->sizes[across] && !turns; j++) {
      gemel__copy_row(bytes, n, there + j * to_strides[across], to_strides[along],
                      here + j * from_strides[across], from_strides[along]);
    }
  }
}

/* The two innermost axes, from axis OUTER on, in blocks. */
static void copy_plane(size_t bytes, const copy_layout *l, int outer, char *to, const char *from) {
  _Alignas(64) char buffer[BLOCK_BYTES];
  const int64_t *sizes = l->sizes + outer, *to_strides = l->strides[TO] + outer;
  const int64_t *from_strides = l->strides[FROM] + outer;
  int64_t i, j, k, side = bytes == 1 ? 4 * BLOCK : bytes == 2 ? 2 * BLOCK : BLOCK;
  for (i = 0; i < sizes[0]; i += side) {
    int64_t rows = sizes[0] - i < side ? sizes[0] - i : side;
    for (j = 0; j < sizes[1]; j += side) {
      int64_t left = sizes[1] - j, columns = left < side ? left : side;
      int64_t next = left - columns < side ? left - columns : side;
      const char *block = from + i * from_strides[0] + j * from_strides[1];
      fetch_block(bytes, rows, next, block + columns * from_strides[1], from_strides);
      turn_block(bytes, rows, columns, buffer, side, block, from_strides);
      for (k = 0; k < rows; k++) {
        put_row(bytes, columns, to + (i + k) * to_strides[0] + j * to_strides[1], to_strides[1],
                buffer + k * side * (int64_t)bytes, l->stream);
      }
    }
  }
}

/* Steps INDEX over the OUTER first axes; 0 when it is back at the start. */
static int advance(const copy_layout *l, int outer, int64_t *index, char **to, const char **from) {
  for (int k = outer - 1; k >= 0; k--) {
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

/* Asks for the row after the next, which lies elsewhere: processors' own prefetching begins anew
 * with each row. */
static void fetch_line(const copy_layout *l, int64_t bytes, const char *from) {
  if (l->rank > 1 && bytes <= FETCHED) {
    uintptr_t next = (uintptr_t)from + (uintptr_t)(2 * l->strides[FROM][l->rank - 2]);
    for (int64_t k = 0; k < bytes; k += 64) { /* behind the last row there may be no memory */
      __builtin_prefetch((const void *)(next + (uintptr_t)k), 0, 2);
    }
  }
}

/* 1 if rows of BYTES bytes are long enough to be written past the caches: shorter ones are if the
 * source goes on where a row ends, so that its lines are read whole. */
static int is_long(const copy_layout *l, int64_t bytes) {
  return bytes >= LONG_ROW ||
         (2 * bytes >= LONG_ROW && l->rank > 1 && l->strides[FROM][l->rank - 2] == bytes);
}

/* The innermost axis alone. Long rows that no cache holds go past it, those that don't lie together
 * by way of a buffer. */
static void copy_line(size_t bytes, const copy_layout *l, char *to, const char *from) {
  _Alignas(64) char buffer[LONG_ROW];
  int64_t item = (int64_t)bytes, n = l->sizes[l->rank - 1], step = l->strides[FROM][l->rank - 1];
  int64_t some = LONG_ROW / item;
  if (l->stream == NULL || l->strides[TO][l->rank - 1] != item || !is_long(l, n * item)) {
    gemel__copy_row(bytes, n, to, l->strides[TO][l->rank - 1], from, step);
    return;
  }
  if (step == item) {
    fetch_line(l, n * item, from);
    l->stream(to, from, (size_t)(n * item));
    return;
  }
  if (step == -item) {
    fetch_line(l, n * item, from - (n - 1) * item);
  }
  for (; n > 0; n -= some, to += some * item, from += some * step) {
    some = n < some ? n : some;
    gemel__copy_row(bytes, some, buffer, item, from, step);
    l->stream(to, buffer, (size_t)(some * item));
  }
}

static void copy_rows(size_t bytes, const copy_layout *l, char *to, const char *from) {
  int64_t index[GEMEL_MAX_RANK] = {0};
  int last = l->rank - 1;
  int plane =
      l->rank > 1 && magnitude(l->strides[FROM][last - 1]) < magnitude(l->strides[FROM][last]);
  int outer = plane ? last - 1 : last;
  do {
    if (plane && (l->sizes[outer] < THIN || l->sizes[last] < THIN)) {
      copy_thin(bytes, l, outer, to, from);
    } else if (plane) {
      copy_plane(bytes, l, outer, to, from);
    } else {
      copy_line(bytes, l, to, from);
    }
  } while (advance(l, outer, index, &to, &from));
  if (l->stream != NULL) {
    gemel__stream_end();
  }
}

static int64_t count(const copy_layout *l) {
  int64_t n = 1;
  for (int k = 0; k < l->rank; k++) {
    n *= l->sizes[k];
  }
  return n;
}

/* The layouts, axes merged and in the target's order. -1 if there is nothing to copy. */
static int make_layout(copy_layout *l, size_t bytes, int rank, const int64_t *shape,
                       const int64_t *to_strides, const int64_t *from_strides) {
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
  choose_plane(l);
  l->stream = count(l) * (int64_t)bytes > gemel__stream_bytes() ? gemel__stream_best() : NULL;
  return 0;
}

static void copy_all(size_t bytes, const copy_layout *l, char *to, const char *from) {
  if (l->rank == 0) {
    memcpy(to, from, bytes);
  } else {
    copy_rows(bytes, l, to, from);
  }
}

/* What lies alike in both, without gaps, and isn't much: done, and 1. */
static int copy_few(size_t bytes, int rank, const int64_t *shape, void *to,
                    const int64_t *to_strides, const void *from, const int64_t *from_strides) {
  int64_t all = (int64_t)bytes;
  for (int k = rank - 1; k >= 0; k--) {
    if (shape[k] == 0 || shape[k] > FEW_BYTES / all ||
        (shape[k] > 1 && (to_strides[k] != all || from_strides[k] != all))) {
      return 0;
    }
    all *= shape[k];
  }
  memcpy(to, from, (size_t)all);
  return 1;
}

void gemel__copy_strided(size_t element_bytes, int rank, const int64_t *shape, void *to,
                         const int64_t *to_strides, const void *from, const int64_t *from_strides) {
  copy_layout l;
  if (!copy_few(element_bytes, rank, shape, to, to_strides, from, from_strides) &&
      make_layout(&l, element_bytes, rank, shape, to_strides, from_strides) == 0) {
    copy_all(element_bytes, &l, to, from);
  }
}

void gemel__copy_parallel(int threads, size_t element_bytes, int rank, const int64_t *shape,
                          void *to, const int64_t *to_strides, const void *from,
                          const int64_t *from_strides) {
  copy_layout l;
  int64_t part, parts;
  if (copy_few(element_bytes, rank, shape, to, to_strides, from, from_strides) ||
      make_layout(&l, element_bytes, rank, shape, to_strides, from_strides) != 0) {
    return;
  }
  parts = l.rank > 0 && l.sizes[0] < threads ? l.sizes[0] : threads;
  if (l.rank == 0 || parts < 2 || count(&l) * (int64_t)element_bytes < PARALLEL_BYTES) {
    copy_all(element_bytes, &l, to, from);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (part = 0; part < parts; part++) {
    copy_layout mine = l;
    int64_t begin = l.sizes[0] / parts * part + l.sizes[0] % parts * part / parts;
    int64_t end = l.sizes[0] / parts * (part + 1) + l.sizes[0] % parts * (part + 1) / parts;
    mine.sizes[0] = end - begin;
    copy_rows(element_bytes, &mine, (char *)to + begin * l.strides[TO][0],
              (const char *)from + begin * l.strides[FROM][0]);
  }
}
