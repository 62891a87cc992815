/* SPDX-License-Identifier: MIT
 *
 * The three convolutions of f32 and f64 as matrix products. For one image and group, what kernel
 * elements meet at places is a matrix, the columns: a row for each channel and kernel element, a
 * column for each place. With the weights as a matrix W of filters by kernel elements and the
 * result as Y, of filters by places,
 *
 *   corr                Y = W columns(x)
 *   corr_grad_weights   W = sum over images of Y columns(x)'
 *   corr_grad_inputs    columns = W' Y, added up to x where they belong
 *
 * The columns are made for a block of places at a time, so that they stay in a cache and the
 * memory for them is bounded. A kernel of one element that steps over nothing needs none: its
 * columns are the image.
 */
#define GEMEL__KERNELS
#include <limits.h>
#include <string.h>
#include "core/dtype.h"
#include "core/tensor.h"
#include "core/strided.h"
#include "cpu/gemm.h"
#include "cpu/walk.h"
#include "ops/conv.h"
#include "core/isa.h"
#include "ops/rule.h"

enum {
  AXES = GEMEL__SPATIAL_AXES,
  BLOCK_BYTES = 1 << 20,  /* of columns */
  LEAST_PLACES = 256,     /* in a block, or products become too narrow */
  WORTH_THREADS = 1 << 14 /* elements that are moved */
};

/* One call. Strides in elements of ITEM bytes. */
typedef struct gemm_conv {
  gemel__conv g;
  const gemel_view *x, *w, *y;
  gemel_dtype dtype;
  int64_t item;
  int64_t rows;   /* of the columns: channels of a group by kernel elements */
  int64_t places; /* of an image */
  int64_t line;   /* places along the last axis; a block is some lines */
  int64_t block;  /* most places of a block */
  int pointwise;  /* the columns are the image as it lies */
  int threads;
  gemel__gemm gemm;
  char *columns, *weights, *result; /* in scratch memory; NULL: as the operand lies */
  int64_t x_axis[AXES];             /* in bytes */
} gemm_conv;

static int64_t volume(const int64_t *sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

/* The one stride, in elements, with which the axes of VIEW from FIRST on are walked; 0 if there
 * is none. */
static int64_t one_stride(const gemel_view *view, int first) {
  int64_t sizes[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], item = gemel__view_item(view);
  int n = view->rank - first;
  memcpy(sizes, view->shape + first, (size_t)n * sizeof *sizes);
  memcpy(strides, view->strides + first, (size_t)n * sizeof *strides);
  int rank = gemel__collapse(n, sizes, 1, strides, GEMEL_MAX_RANK);
  return rank > 1 || (rank == 1 && strides[0] % item != 0) ? 0 : rank == 0 ? 1 : strides[0] / item;
}

/* 1 if a matrix of ROWS by what VIEW has from FIRST on goes to a library as it lies. */
static int lies_well(const gemel_view *view, int first, int64_t rows, int64_t columns) {
  int64_t stride = one_stride(view, first), item = gemel__view_item(view);
  int64_t row = view->strides[first == 2 ? 1 : 0];
  return stride != 0 && row % item == 0 && gemel__gemm_takes(rows, columns, row / item, stride);
}

static int64_t rounded(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/* What the shapes decide, and the scratch memory that it takes. */
static void shape_of(const gemel_kernel_call *call, gemel__conv_kind kind, gemm_conv *c,
                     size_t *scratch) {
  const gemel_view *operands[3];
  memset(c, 0, sizeof *c);
  gemel__conv_of(call, kind, &c->g, operands);
  c->x = operands[0], c->w = operands[1], c->y = operands[2];
  c->dtype = c->x->dtype;
  c->item = gemel__view_item(c->x);
  c->rows = c->g.channels * volume(c->g.kernel);
  c->places = volume(c->g.out);
  c->line = c->g.out[2];
  c->pointwise = gemel__conv_pointwise(&c->g) && lies_well(c->x, 2, c->g.channels, c->places);
  c->threads = call->threads;
  int64_t most = BLOCK_BYTES / (c->item * (c->rows > 0 ? c->rows : 1));
  most = most < LEAST_PLACES ? LEAST_PLACES : most;
  c->block = most < c->line ? c->line : most / c->line * c->line;
  c->block = c->block < c->places ? c->block : c->places;
  int64_t columns = c->pointwise ? 0 : c->rows * c->block * c->item;
  int64_t weights = lies_well(c->w, 1, c->g.filters, c->rows)
                        ? 0
                        : c->g.filters * c->g.groups * c->rows * c->item;
  int64_t result =
      lies_well(c->y, 2, c->g.filters, c->places) ? 0 : c->g.filters * c->places * c->item;
  int64_t weights_at = rounded(columns), result_at = weights_at + rounded(weights);
  *scratch = gemel__bytes(result_at + rounded(result));
  c->columns = columns > 0 ? call->scratch : NULL;
  c->weights = weights > 0 ? (char *)call->scratch + weights_at : NULL;
  c->result = result > 0 ? (char *)call->scratch + result_at : NULL;
  memcpy(c->x_axis + AXES - c->g.axes, c->x->strides + 2, (size_t)c->g.axes * sizeof *c->x_axis);
}

/* ---- Columns ---- */

/* Places of a line, from 0 to LINE, at which kernel element REACH along the last axis meets the
 * image: those from *BEGIN to *END. */
static void meeting(const gemel__conv *g, int64_t reach, int64_t *begin, int64_t *end) {
  int64_t from = g->low[2] - reach, to = g->image[2] + from, stride = g->stride[2];
  *begin = from > 0 ? (from + stride - 1) / stride : 0;
  *end = to > 0 ? (to + (stride - 1)) / stride : 0;
  *end = *end < g->out[2] ? *end : g->out[2];
  *begin = *begin < *end ? *begin : *end;
}

static int64_t reach(const gemel__conv *g, int axis, int64_t kernel) {
  return (g->flip ? g->kernel[axis] - 1 - kernel : kernel) * g->dilation[axis];
}

/* The element of the image that kernel element KERNEL meets at the beginning of line LINE; NULL if
 * the line is all padding. */
static char *line_in_image(const gemm_conv *c, char *image, const int64_t *kernel, int64_t line) {
  const gemel__conv *g = &c->g;
  int64_t at[2] = {line / g->out[1], line % g->out[1]};
  for (int k = 0; k < 2; k++) {
    int64_t where = at[k] * g->stride[k] + reach(g, k, kernel[k]) - g->low[k];
    if (where < 0 || where >= g->image[k]) {
      return NULL;
    }
    image += where * c->x_axis[k];
  }
  return image;
}

static void kernel_index(const gemel__conv *g, int64_t row, int64_t *channel, int64_t *kernel) {
  kernel[2] = row % g->kernel[2];
  kernel[1] = row / g->kernel[2] % g->kernel[1];
  kernel[0] = row / g->kernel[2] / g->kernel[1] % g->kernel[0];
  *channel = row / volume(g->kernel);
}

/* Row ROW of the columns of a block: copied from the image, 0 where that is padding. */
static void gather_row(const gemm_conv *c, char *image, int64_t row, int64_t first, int64_t count) {
  const gemel__conv *g = &c->g;
  int64_t channel, kernel[AXES], begin, end, item = c->item;
  kernel_index(g, row, &channel, kernel);
  char *to = c->columns + row * count * item;
  int64_t offset = reach(g, 2, kernel[2]) - g->low[2];
  meeting(g, reach(g, 2, kernel[2]), &begin, &end);
  for (int64_t line = first / c->line; line < (first + count) / c->line; line++) {
    const char *from = line_in_image(c, image + channel * c->x->strides[1], kernel, line);
    int64_t low = from != NULL ? begin : c->line, high = from != NULL ? end : c->line;
    memset(to, 0, (size_t)(low * item));
    if (high > low) {
      gemel__copy_row((size_t)item, high - low, to + low * item, item,
                      from + (low * g->stride[2] + offset) * c->x_axis[2],
                      g->stride[2] * c->x_axis[2]);
    }
    memset(to + high * item, 0, (size_t)((c->line - high) * item));
    to += c->line * item;
  }
}

#define ADD_ROW(name, T)                                                                           \
  static void add_##name(int64_t n, char *to, int64_t step, const char *from) {                    \
    const T *x = (const T *)from;                                                                  \
    if (step == sizeof(T)) {                                                                       \
      T *y = (T *)to;                                                                              \
      GEMEL__INDEPENDENT                                                                           \
      for (int64_t i = 0; i < n; i++) {                                                            \
        y[i] += x[i];                                                                              \
      }                                                                                            \
      return;                                                                                      \
    }                                                                                              \
    for (int64_t i = 0; i < n; i++, to += step) {                                                  \
      *(T *)to = *(T *)to + x[i];                                                                  \
    }                                                                                              \
  }
ADD_ROW(f32, float)
ADD_ROW(f64, double)

/* The opposite: adds row ROW of the columns to the image. */
static void scatter_row(const gemm_conv *c, char *image, int64_t row, int64_t first,
                        int64_t count) {
  const gemel__conv *g = &c->g;
  int64_t channel, kernel[AXES], begin, end, item = c->item;
  kernel_index(g, row, &channel, kernel);
  const char *from = c->columns + row * count * item;
  int64_t offset = reach(g, 2, kernel[2]) - g->low[2], step = g->stride[2] * c->x_axis[2];
  meeting(g, reach(g, 2, kernel[2]), &begin, &end);
  for (int64_t line = first / c->line; line < (first + count) / c->line; line++) {
    char *to = line_in_image(c, image + channel * c->x->strides[1], kernel, line);
    if (to != NULL && end > begin) {
      to += (begin * g->stride[2] + offset) * c->x_axis[2];
      (item == 4 ? add_f32 : add_f64)(end - begin, to, step, from + begin * item);
    }
    from += c->line * item;
  }
}

/* A thread adds all kernel elements of a channel, so that no two write to one place. */
static void move_columns(const gemm_conv *c, char *image, int64_t first, int64_t count,
                         void (*move)(const gemm_conv *c, char *image, int64_t row, int64_t first,
                                      int64_t count)) {
  int64_t of_channel = volume(c->g.kernel);
  int threads = c->rows * count > WORTH_THREADS ? c->threads : 1;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
#else
  (void)threads;
#endif
  for (int64_t channel = 0; channel < c->g.channels; channel++) {
    for (int64_t k = 0; k < of_channel; k++) {
      move(c, image, channel * of_channel + k, first, count);
    }
  }
}

/* ---- Matrices ---- */

typedef struct conv_matrix {
  char *data;
  int64_t row, column; /* strides in elements */
} conv_matrix;

/* The weights of group G, filters by rows of the columns. */
static conv_matrix weights_of(const gemm_conv *c, int64_t g) {
  if (c->weights != NULL) {
    return (conv_matrix){c->weights + g * c->g.filters * c->rows * c->item, c->rows, 1};
  }
  return (conv_matrix){(char *)c->w->data + g * c->g.filters * c->w->strides[0],
                       c->w->strides[0] / c->item, one_stride(c->w, 1)};
}

/* COUNT places from FIRST on of the result for one image and group, filters by places. */
static conv_matrix result_of(const gemm_conv *c, int64_t n, int64_t g, int64_t first) {
  if (c->result != NULL) {
    return (conv_matrix){c->result + first * c->item, c->places, 1};
  }
  int64_t step = one_stride(c->y, 2);
  return (conv_matrix){(char *)c->y->data + n * c->y->strides[0] +
                           g * c->g.filters * c->y->strides[1] + first * step * c->item,
                       c->y->strides[1] / c->item, step};
}

static conv_matrix columns_of(const gemm_conv *c, char *image, int64_t first, int64_t count) {
  if (c->pointwise) {
    int64_t step = one_stride(c->x, 2);
    return (conv_matrix){image + first * step * c->item, c->x->strides[1] / c->item, step};
  }
  return (conv_matrix){c->columns, count, 1};
}

static conv_matrix transposed(conv_matrix a) {
  return (conv_matrix){a.data, a.column, a.row};
}

/* C = A B, or C += A B. Where the columns of C lie together (images with channels last), it is its
 * transpose that a library can write. */
static void multiply(const gemm_conv *c, int64_t m, int64_t n, int64_t k, conv_matrix a,
                     conv_matrix b, conv_matrix to, int accumulate) {
  gemel__gemm gemm = c->gemm;
  if (to.column != 1) {
    conv_matrix left = transposed(b);
    int64_t rows = n;
    n = m, m = rows;
    b = transposed(a), a = left, to = transposed(to);
  }
  gemm.m = m, gemm.n = n, gemm.k = k;
  gemm.a_row = a.row, gemm.a_col = a.column;
  gemm.b_row = b.row, gemm.b_col = b.column;
  gemm.c_row = to.row;
  gemm.accumulate = accumulate;
  gemel__gemm_library(&gemm, a.data, b.data, to.data);
}

/* Copies between VIEW and PACKED, which is row-major. */
static void pack(const gemel_view *view, char *packed, int to_packed) {
  int64_t strides[GEMEL_MAX_RANK];
  size_t item = (size_t)gemel__view_item(view);
  gemel__packed_strides((int64_t)item, view->rank, view->shape, strides);
  if (to_packed) {
    gemel__copy_strided(item, view->rank, view->shape, packed, strides, view->data, view->strides);
  } else {
    gemel__copy_strided(item, view->rank, view->shape, view->data, view->strides, packed, strides);
  }
}

/* The result of one image and group as a view. */
static gemel_view part_of_result(const gemm_conv *c, int64_t n, int64_t g, int64_t *shape) {
  gemel_view part = *c->y;
  memcpy(shape, c->y->shape, (size_t)part.rank * sizeof *shape);
  shape[1] = c->g.filters;
  part.data = (char *)part.data + n * part.strides[0] + g * c->g.filters * part.strides[1];
  part.rank--;
  part.shape = shape + 1;
  part.strides = c->y->strides + 1;
  return part;
}

/* ---- One block of places ---- */

static void forward(const gemm_conv *c, char *image, int64_t n, int64_t g, int64_t first,
                    int64_t count) {
  if (!c->pointwise) {
    move_columns(c, image, first, count, gather_row);
  }
  multiply(c, c->g.filters, count, c->rows, weights_of(c, g), columns_of(c, image, first, count),
           result_of(c, n, g, first), 0);
}

static void grad_weights(const gemm_conv *c, char *image, int64_t n, int64_t g, int64_t first,
                         int64_t count) {
  if (!c->pointwise) {
    move_columns(c, image, first, count, gather_row);
  }
  multiply(c, c->g.filters, c->rows, count, result_of(c, n, g, first),
           transposed(columns_of(c, image, first, count)), weights_of(c, g), n > 0 || first > 0);
}

static void grad_inputs(const gemm_conv *c, char *image, int64_t n, int64_t g, int64_t first,
                        int64_t count) {
  multiply(c, c->rows, count, c->g.filters, transposed(weights_of(c, g)), result_of(c, n, g, first),
           columns_of(c, image, first, count), 0);
  if (!c->pointwise) {
    move_columns(c, image, first, count, scatter_row);
  }
}

/* ---- The call ---- */

typedef void (*conv_block)(const gemm_conv *c, char *image, int64_t n, int64_t g, int64_t first,
                           int64_t count);

static void run_blocks(const gemm_conv *c, conv_block block) {
  for (int64_t n = 0; n < c->g.batch; n++) {
    for (int64_t g = 0; g < c->g.groups; g++) {
      char *image =
          (char *)c->x->data + n * c->x->strides[0] + g * c->g.channels * c->x->strides[1];
      if (c->result != NULL) {
        int64_t shape[GEMEL_MAX_RANK];
        gemel_view part = part_of_result(c, n, g, shape);
        pack(&part, c->result, 1);
      }
      for (int64_t first = 0; first < c->places; first += c->block) {
        int64_t left = c->places - first;
        block(c, image, n, g, first, left < c->block ? left : c->block);
      }
    }
  }
}

gemel_status gemel__conv_gemm_run(const gemel_kernel_call *call, gemel__conv_kind kind) {
  static const conv_block blocks[] = {forward, grad_weights, grad_inputs};
  gemm_conv c;
  size_t scratch;
  shape_of(call, kind, &c, &scratch);
  c.gemm = (gemel__gemm){
      .dtype = c.dtype, .threads = call->threads, .deterministic = call->deterministic};
  if (c.weights != NULL && kind != GEMEL__CONV_WEIGHTS) {
    pack(c.w, c.weights, 1);
  }
  if (kind == GEMEL__CONV_INPUTS && !c.pointwise) {
    memset(c.x->data, 0, (size_t)(gemel__view_elements(c.x) * c.item));
  }
  run_blocks(&c, blocks[kind]);
  if (c.weights != NULL && kind == GEMEL__CONV_WEIGHTS) {
    pack(c.w, c.weights, 0);
  }
  return GEMEL_OK;
}

gemel_status gemel__conv_gemm_prepare(gemel_kernel_call *call, gemel__conv_kind kind) {
  gemm_conv c;
  shape_of(call, kind, &c, &call->scratch_bytes);
  int depthwise = c.g.groups > 1 && (c.g.filters < 2 || c.rows < 2);
  return !gemel__gemm_has_library(c.dtype) || c.g.unshared || depthwise || volume(c.g.image) == 0 ||
                 c.rows > INT_MAX || c.places > INT_MAX || c.g.filters > INT_MAX
             ? GEMEL_DECLINED
             : GEMEL_OK;
}

int gemel__conv_gemm_suits(const gemel__conv *g, const gemel_view *const operands[3]) {
  (void)g, (void)operands;
  return 1;
}
