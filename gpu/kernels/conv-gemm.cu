/* SPDX-License-Identifier: MIT
 *
 * The three convolutions of floats as matrix products by cuBLAS. For one image and group, what
 * kernel elements meet at places is a matrix, the columns: a row for each channel and kernel
 * element, a column for each place. A block of images is taken at a time, as many as have columns
 * that stay in a GPU's cache, or one; gradients by the weights are added up in the order of the
 * images. An image is made of
 * columns by a thread for each of its elements, which adds up what belongs there: no two threads
 * write to one place, and the order is fixed. Halves are widened to f32 first, and what is made of
 * them is rounded once, at the end.
 */
#include "kernels/conv.h"
#include "kernels/host.h"
#include "kernels/types.h"

/* ---- Device ---- */

enum { AXES = GEMEL__SPATIAL_AXES };

/* The geometry of a block of images and one group; strides of the images in bytes. */
struct columns_shape {
  int flip;
  bool narrow; /* sizes and numbers of elements are below 2^31 */
  long long kernel_elements, places, dilation[AXES], low[AXES];
  divisor channels, image[AXES], kernel[AXES], out[AXES], stride[AXES];
  long long images, image_step, channel_step, step[AXES];
};

/* Where a channel of an image lies; LAYER counts the channels of all images. */
DEVICE long long find_layer(const columns_shape &s, long long layer) {
  long long image = quotient(s.narrow, layer, s.channels);
  return image * s.image_step + (layer - image * s.channels.size) * s.channel_step;
}

DEVICE long long reach(const columns_shape &s, int k, long long kernel) {
  return (s.flip ? s.kernel[k].size - 1 - kernel : kernel) * s.dilation[k];
}

/* Where in the image lies what kernel element KERNEL meets at OUT, if that isn't padding (*MET). */
DEVICE long long find_met(const columns_shape &s, const long long *kernel, const long long *out,
                          bool *met) {
  long long at = 0;
  *met = true;
  for (int k = 0; k < AXES; k++) {
    long long where = out[k] * s.stride[k].size + reach(s, k, kernel[k]) - s.low[k];
    *met = *met && where >= 0 && where < s.image[k].size;
    at += where * s.step[k];
  }
  return at;
}

/* The place at which KERNEL meets IMAGE; negative if there is none. */
DEVICE long long find_place(const columns_shape &s, const long long *kernel,
                            const long long *image) {
  long long place = 0;
  for (int k = 0; k < AXES; k++) {
    long long from = image[k] + s.low[k] - reach(s, k, kernel[k]);
    long long out = from < 0 ? s.out[k].size : quotient(s.narrow, from, s.stride[k]);
    if (out * s.stride[k].size != from || out >= s.out[k].size) {
      return -1;
    }
    place = place * s.out[k].size + out;
  }
  return place;
}

/* The next element of the kernel in row-major order. */
DEVICE void next_element(const columns_shape &s, long long *kernel) {
  for (int k = AXES - 1; k >= 0 && ++kernel[k] == s.kernel[k].size; k--) {
    kernel[k] = 0;
  }
}

#define COLUMN_KERNELS(T, V, FINISH)                                                               \
  static __global__ void gather_##T(columns_shape s, V *columns, const char *image) {              \
    const long long elements = s.images * s.channels.size * s.kernel_elements * s.places;          \
    for (long long e = first_element(); e < elements; e += element_step()) {                       \
      long long kernel[AXES], out[AXES];                                                           \
      long long row = split_index(s.narrow, e, s.out, out);                                        \
      long long layer = split_index(s.narrow, row, s.kernel, kernel);                              \
      bool met;                                                                                    \
      long long at = find_met(s, kernel, out, &met);                                               \
      columns[e] = met ? (V)load_##T(image + find_layer(s, layer) + at) : (V)0;                    \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(conv_gather_##T, gather_##T)                                                        \
  static __global__ void add_up_##T(columns_shape s, char *image, const V *columns) {              \
    const long long elements =                                                                     \
        s.images * s.channels.size * s.image[0].size * s.image[1].size * s.image[2].size;          \
    for (long long e = first_element(); e < elements; e += element_step()) {                       \
      long long kernel[AXES] = {}, where[AXES], at = 0;                                            \
      long long layer = split_index(s.narrow, e, s.image, where);                                  \
      V sum = 0;                                                                                   \
      for (long long k = 0; k < s.kernel_elements; k++, next_element(s, kernel)) {                 \
        long long place = find_place(s, kernel, where);                                            \
        if (place >= 0) {                                                                          \
          sum += columns[(layer * s.kernel_elements + k) * s.places + place];                      \
        }                                                                                          \
      }                                                                                            \
      for (int k = 0; k < AXES; k++) {                                                             \
        at += where[k] * s.step[k];                                                                \
      }                                                                                            \
      store_##T(image + find_layer(s, layer) + at, FINISH(sum));                                   \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(conv_add_up_##T, add_up_##T)                                                        \
  static __global__ void pack_##T(divided_walk<1> walk, V *to, const char *from) {                 \
    for (long long e = first_element(); e < walk.elements; e += element_step()) {                  \
      long long offsets[1];                                                                        \
      find_offsets(walk, e, offsets);                                                              \
      to[e] = (V)load_##T(from + offsets[0]);                                                      \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(conv_pack_##T, pack_##T)                                                            \
  static __global__ void unpack_##T(long long elements, char *to, const V *from) {                 \
    for (long long e = first_element(); e < elements; e += element_step()) {                       \
      store_##T(to + e * (long long)sizeof(stored_##T), FINISH(from[e]));                          \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(conv_unpack_##T, unpack_##T)
COLUMN_KERNELS(f16, float, round_f16)
COLUMN_KERNELS(bf16, float, round_bf16)
COLUMN_KERNELS(f32, float, SAME)
COLUMN_KERNELS(f64, double, SAME)

/* ---- The plan ---- */

static const int64_t most_columns = 1ll << 28;  /* elements */
static const int64_t block_columns = 1ll << 20; /* of a block of several images */

struct column_kernels {
  kernel_getter gather, add_up, widen, narrow;
};

#define COLUMN_ROW(T)                                                                              \
  {                                                                                                \
    gemel__kernel_conv_gather_##T, gemel__kernel_conv_add_up_##T, gemel__kernel_conv_pack_##T,     \
        gemel__kernel_conv_unpack_##T                                                              \
  }
static const column_kernels *kernels_of(gemel_dtype dtype) {
  static const column_kernels f16 = COLUMN_ROW(f16), bf16 = COLUMN_ROW(bf16), f32 = COLUMN_ROW(f32),
                              f64 = COLUMN_ROW(f64);
  return dtype == GEMEL_F16 ? &f16 : dtype == GEMEL_BF16 ? &bf16 : dtype == GEMEL_F32 ? &f32 : &f64;
}

/* A call: X lies as it lies, W and Y densely in the dtype WIDE of the products, where they are
 * not in scratch memory. */
struct gemm_conv {
  gemel__conv g;
  const gemel_view *x, *w, *y;
  const column_kernels *kernels;
  int64_t item, rows, places; /* ITEM: bytes of WIDE */
  int64_t block;              /* images at a time */
  cudaDataType wide;
  bool w_apart, y_apart; /* in scratch memory */
  size_t w_at, y_at, scratch_bytes;
};

static int64_t volume(const int64_t *sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

static int64_t elements_of(const gemel_view *view) {
  int64_t elements = 1;
  for (int k = 0; k < view->rank; k++) {
    elements *= view->shape[k];
  }
  return elements;
}

static bool is_dense(const gemel_view *view) {
  int64_t step = (int64_t)gemel_dtype_size(view->dtype);
  for (int k = view->rank - 1; k >= 0; k--) {
    if (view->shape[k] != 1 && view->strides[k] != step) {
      return false;
    }
    step *= view->shape[k];
  }
  return true;
}

static size_t rounded(int64_t bytes) {
  return ((size_t)bytes + 255) / 256 * 256;
}

static gemm_conv plan_of(const gemel_kernel_call *call, gemel__conv_kind kind) {
  gemm_conv c = {};
  const gemel_view *operands[3];
  gemel__conv_of(call, kind, &c.g, operands);
  c.x = operands[0];
  c.w = operands[1];
  c.y = operands[2];
  gemel_dtype dtype = c.x->dtype;
  bool half = dtype == GEMEL_F16 || dtype == GEMEL_BF16;
  c.kernels = kernels_of(dtype);
  c.wide = dtype == GEMEL_F64 ? CUDA_R_64F : CUDA_R_32F;
  c.item = dtype == GEMEL_F64 ? 8 : 4;
  c.rows = c.g.channels * volume(c.g.kernel);
  c.places = volume(c.g.out);
  c.w_apart = half || !is_dense(c.w);
  c.y_apart = half || !is_dense(c.y);
  int64_t most = c.rows * c.places > 0 ? block_columns / (c.rows * c.places) : 1;
  c.block = most < 1 ? 1 : most < c.g.batch ? most : c.g.batch;
  c.w_at = rounded(c.block * c.rows * c.places * c.item);
  c.y_at = c.w_at + (c.w_apart ? rounded(elements_of(c.w) * c.item) : 0);
  c.scratch_bytes = c.y_at + (c.y_apart ? rounded(elements_of(c.y) * c.item) : 0);
  return c;
}

/* Where a group has one channel or one filter, the matrix products are those of vectors. */
int gemel__cuda_conv_gemm_suits(const gemel__conv *g) {
  return g->filters > 1 && (g->channels > 1 || g->groups == 1);
}

/* Declines dtypes that aren't floats, weights that aren't shared, and what has a size of 0. */
gemel_status gemel__cuda_conv_gemm_prepare(gemel_kernel_call *call, gemel__conv_kind kind) {
  if (gemel_dtype_kind(call->outputs[0].dtype) != GEMEL_KIND_FLOAT) {
    return GEMEL_DECLINED;
  }
  gemm_conv c = plan_of(call, kind);
  if (c.g.unshared || gemel__conv_work(&c.g) < 1 || volume(c.g.image) == 0 ||
      c.rows > most_columns / c.places || c.g.filters > INT32_MAX) {
    return GEMEL_DECLINED;
  }
  call->scratch_bytes = c.scratch_bytes;
  return GEMEL_OK;
}

/* ---- Running ---- */

static columns_shape shape_of(const gemm_conv &c) {
  columns_shape s = {};
  s.flip = c.g.flip;
  s.channels = divisor_of(c.g.channels);
  s.places = c.places;
  s.kernel_elements = volume(c.g.kernel);
  s.image_step = c.x->strides[0];
  s.channel_step = c.x->strides[1];
  for (int k = 0; k < AXES; k++) {
    s.image[k] = divisor_of(c.g.image[k]);
    s.kernel[k] = divisor_of(c.g.kernel[k]);
    s.out[k] = divisor_of(c.g.out[k]);
    s.stride[k] = divisor_of(c.g.stride[k]);
    s.dilation[k] = c.g.dilation[k];
    s.low[k] = c.g.low[k];
  }
  for (int k = 0; k < c.g.axes; k++) {
    s.step[AXES - c.g.axes + k] = c.x->strides[2 + k];
  }
  return s;
}

/* Brings VIEW to scratch memory, row-major and wide. */
static gemel_status widen(const gemel_kernel_call *call, const gemm_conv &c, const gemel_view *view,
                          char *to) {
  const gemel_view *const views[] = {view};
  divided_walk<1> walk = divided_walk_of(walk_over(views));
  void *from = view->data, *target = to;
  void *arguments[] = {&walk, &target, &from};
  return launch_over(gemel__cuda_of(call), c.kernels->widen(), walk.elements, arguments,
                     call->error);
}

static gemel_status narrow(const gemel_kernel_call *call, const gemm_conv &c,
                           const gemel_view *view, char *from) {
  long long elements = elements_of(view);
  void *to = view->data, *source = from;
  void *arguments[] = {&elements, &to, &source};
  return launch_over(gemel__cuda_of(call), c.kernels->narrow(), elements, arguments, call->error);
}

static gemel_status move_columns(const gemel_kernel_call *call, const gemm_conv &c,
                                 const columns_shape &shape, char *image, gemel__conv_kind kind) {
  columns_shape s = shape;
  void *columns = call->scratch, *data = image;
  void *to_columns[] = {&s, &columns, &data}, *to_image[] = {&s, &data, &columns};
  bool back = kind == GEMEL__CONV_INPUTS;
  int64_t of_image = s.images * c.g.channels * volume(c.g.image);
  int64_t of_columns = s.images * c.rows * c.places;
  s.narrow = of_image < 1 << 30 && of_columns < 1 << 30;
  return launch_over(gemel__cuda_of(call), (back ? c.kernels->add_up : c.kernels->gather)(),
                     back ? of_image : of_columns, back ? to_image : to_columns, call->error);
}

/* The products of COUNT images and one group; gradients by the weights are those of one image. To
 * cuBLAS, matrices that are stored by rows are their transposes. */
static gemel_status multiply(const gemel_kernel_call *call, const gemm_conv &c, int64_t count,
                             char *columns, char *w, char *y, int adds, gemel__conv_kind kind) {
  int rows = (int)c.rows, places = (int)c.places, filters = (int)c.g.filters;
  long long of_columns = c.rows * c.places, of_y = c.g.groups * c.g.filters * c.places;
  gemel__cuda_product p = {};
  const void *a = columns, *b = w;
  void *result = y;
  p.dtype = c.wide;
  p.count = (int)count;
  p.adds = adds;
  p.precision = call->inputs[0].dtype == GEMEL_F32 ? call->matmul_precision : 0;
  p.operation[0] = p.operation[1] = CUBLAS_OP_N;
  p.m = places, p.n = filters, p.k = rows;
  p.leading[0] = places, p.leading[1] = rows, p.leading[2] = places;
  p.batch[0] = of_columns, p.batch[2] = of_y;
  if (kind == GEMEL__CONV_WEIGHTS) {
    b = y, result = w;
    p.operation[0] = CUBLAS_OP_T;
    p.m = rows, p.n = filters, p.k = places;
    p.leading[1] = places, p.leading[2] = rows;
  } else if (kind == GEMEL__CONV_INPUTS) {
    a = y, result = columns;
    p.operation[1] = CUBLAS_OP_T;
    p.m = places, p.n = rows, p.k = filters;
    p.batch[0] = of_y, p.batch[2] = of_columns;
  }
  return gemel__cuda_multiply(gemel__cuda_of(call), &p, a, b, result, call->error);
}

/* Adds up the gradients by W of the images from FIRST on whose columns there are. */
static gemel_status add_gradients(const gemel_kernel_call *call, const gemm_conv &c, int64_t first,
                                  int64_t images, char *w, char *y) {
  gemel_status status = GEMEL_OK;
  for (int64_t n = 0; n < images && status == GEMEL_OK; n++) {
    status = multiply(call, c, 1, (char *)call->scratch + n * c.rows * c.places * c.item, w,
                      y + n * c.g.groups * c.g.filters * c.places * c.item, first + n > 0,
                      GEMEL__CONV_WEIGHTS);
  }
  return status;
}

/* Group G of a block of images from FIRST on. */
static gemel_status run_block(const gemel_kernel_call *call, const gemm_conv &c, int64_t first,
                              int64_t g, char *w, char *y, gemel__conv_kind kind) {
  columns_shape s = shape_of(c);
  int64_t left = c.g.batch - first;
  s.images = left < c.block ? left : c.block;
  char *image = (char *)c.x->data + first * c.x->strides[0] + g * c.g.channels * c.x->strides[1];
  char *weights = w + g * c.g.filters * c.rows * c.item;
  char *results = y + (first * c.g.groups + g) * c.g.filters * c.places * c.item;
  char *columns = (char *)call->scratch;
  bool back = kind == GEMEL__CONV_INPUTS;
  gemel_status status = back ? GEMEL_OK : move_columns(call, c, s, image, kind);
  if (status == GEMEL_OK) {
    status = kind == GEMEL__CONV_WEIGHTS
                 ? add_gradients(call, c, first, s.images, weights, results)
                 : multiply(call, c, s.images, columns, weights, results, 0, kind);
  }
  return back && status == GEMEL_OK ? move_columns(call, c, s, image, kind) : status;
}

static gemel_status run_images(const gemel_kernel_call *call, const gemm_conv &c, char *w, char *y,
                               gemel__conv_kind kind) {
  gemel_status status = GEMEL_OK;
  for (int64_t n = 0; n < c.g.batch && status == GEMEL_OK; n += c.block) {
    for (int64_t g = 0; g < c.g.groups && status == GEMEL_OK; g++) {
      status = run_block(call, c, n, g, w, y, kind);
    }
  }
  return status;
}

gemel_status gemel__cuda_conv_gemm_run(const gemel_kernel_call *call, gemel__conv_kind kind) {
  gemm_conv c = plan_of(call, kind);
  char *w = c.w_apart ? (char *)call->scratch + c.w_at : (char *)c.w->data;
  char *y = c.y_apart ? (char *)call->scratch + c.y_at : (char *)c.y->data;
  gemel_status status = GEMEL_OK;
  if (c.w_apart && kind != GEMEL__CONV_WEIGHTS) {
    status = widen(call, c, c.w, w);
  }
  if (c.y_apart && kind != GEMEL__CONV_FORWARD && status == GEMEL_OK) {
    status = widen(call, c, c.y, y);
  }
  if (status == GEMEL_OK) {
    status = run_images(call, c, w, y, kind);
  }
  if (c.w_apart && kind == GEMEL__CONV_WEIGHTS && status == GEMEL_OK) {
    status = narrow(call, c, c.w, w);
  }
  if (c.y_apart && kind == GEMEL__CONV_FORWARD && status == GEMEL_OK) {
    status = narrow(call, c, c.y, y);
  }
  return status;
}
