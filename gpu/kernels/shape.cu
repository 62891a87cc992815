/* SPDX-License-Identifier: MIT
 *
 * Operations that put elements elsewhere: all of them are copies from one layout to another, of
 * words of 1 to 16 bytes: of several elements where these lie side by side in both. Where they lie
 * side by side along another axis in one than in the other, tiles go through shared memory. A view
 * operation is a copy of the view that its record describes; pads and joins are copies into a part
 * of the result.
 */
#include "kernels/host.h"

/* ---- Device ---- */

template <class Word>
static __global__ void copy_words(quick_walk<2> walk, char *to, const char *from) {
  const unsigned size = (unsigned)walk.sizes[0].size;
  const long long ahead[2] = {walk.pace * walk.strides[0][0], walk.pace * walk.strides[1][0]};
  for (unsigned item = (unsigned)first_element(); item < walk.items;
       item += (unsigned)element_step()) {
    long long at[2];
    unsigned index = find_offsets(walk, item, at);
    const char *source = from + at[1];
    char *target = to + at[0];
    Word words[AT_ONCE];
    for (unsigned k = 0; k < AT_ONCE; k++, source += ahead[1]) {
      if (index + k * walk.pace < size) {
        words[k] = *(const Word *)source;
      }
    }
    for (unsigned k = 0; k < AT_ONCE; k++, target += ahead[0]) {
      if (index + k * walk.pace < size) {
        *(Word *)target = words[k];
      }
    }
  }
}
GEMEL_KERNEL(copy_1, copy_words<uint8_t>)
GEMEL_KERNEL(copy_2, copy_words<uint16_t>)
GEMEL_KERNEL(copy_4, copy_words<uint32_t>)
GEMEL_KERNEL(copy_8, copy_words<uint64_t>)
GEMEL_KERNEL(copy_16, copy_words<sixteen_bytes>)

/* A transposition goes by tiles of SIDE x SIDE words, which a block reads by rows, along the axis
 * that is dense in FROM, and writes by columns, along the one that is dense in TO. TILES leads to
 * the first word of each in both, and to its indices along the two axes, of so many SIZES. */
enum { TO, FROM, COLUMN, ROW, TILE_SIDES, LINE = 32, LINES = MOST_JOB_THREADS / LINE };
struct tiling {
  quick_walk<TILE_SIDES> tiles;
  long long columns, rows;
  long long by_column[2], by_row[2]; /* strides in TO and FROM */
};

/* Of a table with such rows each bank of shared memory has as many words of a column. */
template <class Word> struct tile_of {
  enum {
    SIDE = sizeof(Word) < 4 ? 64 : 32,
    PADDED = SIDE + (sizeof(Word) < 4 ? 4 / (int)sizeof(Word) : 1)
  };
};

template <class Word> static __global__ void transpose_words(tiling t, char *to, const char *from) {
  enum { SIDE = tile_of<Word>::SIDE, PADDED = tile_of<Word>::PADDED };
  GEMEL_SHARED(Word, tile, [SIDE][PADDED]);
  const int lane = (int)threadIdx.x % LINE, line = (int)threadIdx.x / LINE;
  for (unsigned number = blockIdx.x; number < t.tiles.items; number += gridDim.x) {
    long long at[TILE_SIDES];
    find_offsets(t.tiles, number, at);
    const int columns = (int)min(t.columns - at[COLUMN], (long long)SIDE);
    const int rows = (int)min(t.rows - at[ROW], (long long)SIDE);
    const char *source = from + at[FROM] + line * t.by_row[FROM] + lane * t.by_column[FROM];
    for (int row = line; row < rows; row += LINES, source += LINES * t.by_row[FROM]) {
      for (int k = 0; k < SIDE; k += LINE) {
        if (lane + k < columns) {
          tile[row][lane + k] = *(const Word *)(source + k * t.by_column[FROM]);
        }
      }
    }
    __syncthreads();
    char *target = to + at[TO] + lane * t.by_row[TO] + line * t.by_column[TO];
    for (int column = line; column < columns; column += LINES, target += LINES * t.by_column[TO]) {
      for (int k = 0; k < SIDE; k += LINE) {
        if (lane + k < rows) {
          *(Word *)(target + k * t.by_row[TO]) = tile[lane + k][column];
        }
      }
    }
    __syncthreads();
  }
}
GEMEL_KERNEL(transpose_1, transpose_words<uint8_t>)
GEMEL_KERNEL(transpose_2, transpose_words<uint16_t>)
GEMEL_KERNEL(transpose_4, transpose_words<uint32_t>)
GEMEL_KERNEL(transpose_8, transpose_words<uint64_t>)
GEMEL_KERNEL(transpose_16, transpose_words<sixteen_bytes>)

/* ---- Host ---- */

static long long magnitude(long long x) {
  return x < 0 ? -x : x;
}

/* The walk over two views, with axes in the order in which TO lies, forwards. */
static strided_walk<2> walk_as_it_lies(gemel_view *to, gemel_view *from) {
  int64_t shape[GEMEL_MAX_RANK], strides[2][GEMEL_MAX_RANK];
  gemel_view views[2] = {*to, *from};
  for (int axis = 0; axis < to->rank; axis++) {
    int64_t step = to->strides[axis], before = to->shape[axis] - 1;
    bool backwards = step < 0 && before >= 0;
    int at = axis;
    while (at > 0 && magnitude(strides[0][at - 1]) < magnitude(step)) {
      at--;
    }
    for (int k = axis; k > at; k--) {
      shape[k] = shape[k - 1];
      strides[0][k] = strides[0][k - 1];
      strides[1][k] = strides[1][k - 1];
    }
    shape[at] = to->shape[axis];
    strides[0][at] = backwards ? -step : step;
    strides[1][at] = backwards ? -from->strides[axis] : from->strides[axis];
    to->data = (char *)to->data + (backwards ? before * step : 0);
    from->data = (char *)from->data + (backwards ? before * from->strides[axis] : 0);
  }
  for (int k = 0; k < 2; k++) {
    views[k].shape = shape;
    views[k].strides = strides[k];
  }
  const gemel_view *const both[2] = {&views[0], &views[1]};
  return walk_over(both);
}

/* The axis along which words lie close in FROM, if that isn't the last one, and both are long
 * enough for tiles; else -1. */
static int axis_to_transpose(const strided_walk<2> &walk) {
  enum { LEAST_SIDE = 8, CLOSE = 32, APART = 4 };
  const int last = walk.axes - 1;
  int least = last;
  for (int axis = 0; axis < last; axis++) {
    long long stride = magnitude(walk.strides[FROM][axis]);
    least = stride > 0 && stride < magnitude(walk.strides[FROM][least]) ? axis : least;
  }
  return least != last && walk.sizes[least] >= LEAST_SIDE && walk.sizes[last] >= LEAST_SIDE &&
                 magnitude(walk.strides[FROM][least]) <= CLOSE &&
                 magnitude(walk.strides[FROM][least]) * APART <= magnitude(walk.strides[FROM][last])
             ? least
             : -1;
}

/* WALK by tiles of SIDE x SIDE, whose columns are along axis COLUMN and whose rows are along the
 * last one; these two come last among the axes of tiles. */
static tiling tiling_of(const strided_walk<2> &walk, int column, long long side) {
  strided_walk<TILE_SIDES> tiles = {};
  const int last = walk.axes - 1;
  tiling t = {};
  tiles.elements = 1;
  for (int axis = 0; axis <= last; axis++) {
    const int to = axis == last ? last : axis == column ? last - 1 : axis - (axis > column);
    const bool cut = axis == last || axis == column;
    const long long by = cut ? side : 1;
    tiles.sizes[to] = (walk.sizes[axis] + by - 1) / by;
    tiles.elements *= tiles.sizes[to];
    for (int k = 0; k < 2; k++) {
      tiles.strides[k][to] = walk.strides[k][axis] * by;
      t.by_row[k] = walk.strides[k][last];
      t.by_column[k] = walk.strides[k][column];
    }
  }
  tiles.axes = walk.axes;
  tiles.strides[COLUMN][last - 1] = tiles.strides[ROW][last] = side;
  t.columns = walk.sizes[column];
  t.rows = walk.sizes[last];
  t.tiles = quick_walk_of(tiles, 1);
  return t;
}

static gemel_status copy_walk(gemel_cuda *cuda, strided_walk<2> walk, size_t word, char *to,
                              char *from, gemel_error *error) {
  static const kernel_getter copies[] = {gemel__kernel_copy_1, gemel__kernel_copy_2,
                                         gemel__kernel_copy_4, gemel__kernel_copy_8,
                                         gemel__kernel_copy_16};
  static const kernel_getter transposes[] = {gemel__kernel_transpose_1, gemel__kernel_transpose_2,
                                             gemel__kernel_transpose_4, gemel__kernel_transpose_8,
                                             gemel__kernel_transpose_16};
  strided_walk<2> rest;
  long long offsets[2];
  if (halve_long(&walk, &rest, offsets)) {
    gemel_status status = copy_walk(cuda, walk, word, to, from, error);
    return status == GEMEL_OK
               ? copy_walk(cuda, rest, word, to + offsets[TO], from + offsets[FROM], error)
               : status;
  }
  const int column = axis_to_transpose(walk);
  if (column >= 0) {
    tiling t = tiling_of(walk, column, word < 4 ? 64 : 32);
    void *arguments[] = {&t, &to, &from};
    return launch_jobs(cuda, kernel_for(transposes, word), t.tiles.items, MOST_JOB_THREADS,
                       arguments, error);
  }
  quick_walk<2> quick = quick_walk_of(walk);
  void *arguments[] = {&quick, &to, &from};
  return launch_over(cuda, kernel_for(copies, word), quick.items, arguments, error);
}

extern "C" gemel_status gemel__cuda_copy(gemel_cuda *cuda, const gemel_view *to,
                                         const gemel_view *from, gemel_error *error) {
  gemel_view target = *to, source = *from;
  strided_walk<2> walk = walk_as_it_lies(&target, &source);
  uintptr_t places = (uintptr_t)target.data | (uintptr_t)source.data;
  size_t word = widen_words(&walk, gemel_dtype_size(to->dtype), places);
  return copy_walk(cuda, walk, word, (char *)target.data, (char *)source.data, error);
}

static gemel_status copy_for(const gemel_kernel_call *call, const gemel_view *to,
                             const gemel_view *from) {
  return gemel__cuda_copy(gemel__cuda_of(call), to, from, call->error);
}

/* VIEW with other sizes, strides and place. */
static gemel_view part_of(const gemel_view *view, const int64_t *shape, const int64_t *strides,
                          int64_t offset) {
  gemel_view part = *view;
  part.shape = shape;
  part.strides = strides;
  part.data = (char *)view->data + offset;
  return part;
}

/* One element at DATA, in the shape of LIKE. */
static gemel_view repeated(const gemel_view *like, const gemel_view *value) {
  static const int64_t zeros[GEMEL_MAX_RANK] = {0};
  gemel_view view = *like;
  view.strides = zeros;
  view.data = value->data;
  return view;
}

/* ---- Views ---- */

static gemel_status run_view(const gemel_kernel_call *call) {
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], offset;
  gemel_status status = call->operation->view(call, shape, strides, &offset);
  if (status == GEMEL_OK) {
    gemel_view from = part_of(&call->inputs[0], shape, strides, offset);
    from.rank = call->outputs[0].rank;
    status = copy_for(call, &call->outputs[0], &from);
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_view[] = {{"copy", NULL, run_view}, {NULL, NULL, NULL}};

/* The elements in row-major order, which is all that a reshape keeps. */
static gemel_status run_reshape(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int64_t strides[GEMEL_MAX_RANK], step = (int64_t)gemel_dtype_size(x->dtype);
  for (int axis = x->rank - 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= x->shape[axis];
  }
  gemel_view to = part_of(x, x->shape, strides, 0);
  to.data = call->outputs[0].data;
  return copy_for(call, &to, x);
}

extern "C" const gemel_kernel gemel__cuda_reshape[] = {{"copy", NULL, run_reshape},
                                                       {NULL, NULL, NULL}};

/* ---- fill and pad ---- */

static gemel_status run_fill(const gemel_kernel_call *call) {
  const gemel_view *out = &call->outputs[0], *value = &call->inputs[1];
  int64_t strides[GEMEL_MAX_RANK];
  int shift = out->rank - value->rank;
  for (int axis = 0; axis < out->rank; axis++) {
    int fixed = axis < shift || (value->shape[axis - shift] == 1);
    strides[axis] = fixed ? 0 : value->strides[axis - shift];
  }
  gemel_view from = *out;
  from.strides = strides;
  from.data = value->data;
  return copy_for(call, out, &from);
}

extern "C" const gemel_kernel gemel__cuda_fill[] = {{"copy", NULL, run_fill}, {NULL, NULL, NULL}};

/* Along one axis of N elements: how many land inside OUT when they are LOW behind its beginning and
 * STEP apart, and which is the *FIRST. */
static int64_t landing(int64_t n, int64_t low, int64_t step, int64_t out, int64_t *first) {
  int64_t begin = low >= 0 ? 0 : (-low + step - 1) / step;
  int64_t end = out > low ? (out - low + step - 1) / step : 0;
  end = end < n ? end : n;
  *first = begin;
  return end > begin ? end - begin : 0;
}

static gemel_status run_pad(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  const gemel_attr *interior = &call->attrs[2];
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], from = 0, to = 0;
  gemel_view value = repeated(out, &call->inputs[1]);
  gemel_status status = copy_for(call, out, &value);
  for (int axis = 0; axis < x->rank && status == GEMEL_OK; axis++) {
    int64_t low = call->attrs[0].u.ints[axis], first;
    int64_t step = 1 + (interior->kind == GEMEL_ATTR_NONE ? 0 : interior->u.ints[axis]);
    shape[axis] = landing(x->shape[axis], low, step, out->shape[axis], &first);
    if (shape[axis] == 0) {
      return GEMEL_OK;
    }
    strides[axis] = out->strides[axis] * step;
    from += first * x->strides[axis];
    to += (low + first * step) * out->strides[axis];
  }
  if (status == GEMEL_OK) {
    gemel_view target = part_of(out, shape, strides, to);
    gemel_view source = part_of(x, shape, x->strides, from);
    status = copy_for(call, &target, &source);
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_pad[] = {{"copy", NULL, run_pad}, {NULL, NULL, NULL}};

/* ---- join and split ---- */

static gemel_status run_join(const gemel_kernel_call *call) {
  const gemel_view *out = &call->outputs[0];
  int axis = axis_of(call);
  int64_t offset = 0;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < call->n_inputs && status == GEMEL_OK; k++) {
    const gemel_view *x = &call->inputs[k];
    gemel_view to = part_of(out, x->shape, out->strides, offset);
    status = copy_for(call, &to, x);
    offset = offset + x->shape[axis] * out->strides[axis];
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_join[] = {{"copy", NULL, run_join}, {NULL, NULL, NULL}};

static gemel_status run_split(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int axis = axis_of(call, 1);
  int64_t offset = 0;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < call->n_outputs && status == GEMEL_OK; k++) {
    const gemel_view *out = &call->outputs[k];
    gemel_view from = part_of(x, out->shape, x->strides, offset);
    status = copy_for(call, out, &from);
    offset += out->shape[axis] * x->strides[axis];
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_split[] = {{"copy", NULL, run_split}, {NULL, NULL, NULL}};
