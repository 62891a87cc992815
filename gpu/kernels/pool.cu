/* SPDX-License-Identifier: MIT
 *
 * Pooling by its definition: a thread computes an element of the result, going through the elements
 * of its window, or for what is put into an image through the windows that the element lies in. Any
 * dtype and any strides; padding is never read.
 */
#include "kernels/host.h"
#include "kernels/scalar.h"
#include "kernels/types.h"

extern "C" {
#include "ops/pool.h"
}

/* ---- Device ---- */

enum { AXES = GEMEL__SPATIAL_AXES };

/* Strides in bytes. */
struct pool_operand {
  long long first, second, axis[AXES];
};

struct pool_shape {
  int count_padding;
  bool narrow;                   /* sizes and numbers of elements are below 2^31 */
  long long elements;            /* of the result */
  divisor channels, sizes[AXES]; /* of the result */
  divisor stride[AXES];
  long long image[AXES], size[AXES], out[AXES], dilation[AXES], low[AXES];
  pool_operand x, other, result; /* other: y or t of the definitions */
};

/* An element of an image or of the results. */
struct pool_index {
  long long first, second, axis[AXES];
};

/* An element of a window. */
struct pool_step {
  long long axis[AXES];
};

/* The result's element NUMBER. */
DEVICE pool_index index_of(const pool_shape &s, long long number) {
  pool_index i;
  for (int k = AXES - 1; k >= 0; k--) {
    long long rest = quotient(s.narrow, number, s.sizes[k]);
    i.axis[k] = number - rest * s.sizes[k].size;
    number = rest;
  }
  i.first = quotient(s.narrow, number, s.channels);
  i.second = number - i.first * s.channels.size;
  return i;
}

DEVICE long long offset(const pool_operand &o, const pool_index &i) {
  long long at = i.first * o.first + i.second * o.second;
  for (int k = 0; k < AXES; k++) {
    at += i.axis[k] * o.axis[k];
  }
  return at;
}

/* The next element of the window in row-major order; false behind the last one, which the first
 * follows. */
DEVICE bool next_step(const pool_shape &s, pool_step *step) {
  for (int k = AXES - 1; k >= 0; k--) {
    if (++step->axis[k] < s.size[k]) {
      return true;
    }
    step->axis[k] = 0;
  }
  return false;
}

/* The element of the image that element STEP of the window at PLACE is; false if it is padding. */
DEVICE bool element_of(const pool_shape &s, const pool_index &place, const pool_step &step,
                       pool_index *image) {
  bool inside = true;
  *image = place;
  for (int k = 0; k < AXES; k++) {
    image->axis[k] = place.axis[k] * s.stride[k].size + step.axis[k] * s.dilation[k] - s.low[k];
    inside = inside && image->axis[k] >= 0 && image->axis[k] < s.image[k];
  }
  return inside;
}

/* The place at which IMAGE is the element of the window that is STEP from its end; false if there
 * is none. So places come in order, which is the order in which the host adds. */
DEVICE bool place_of(const pool_shape &s, const pool_index &image, const pool_step &step,
                     pool_index *place) {
  *place = image;
  for (int k = 0; k < AXES; k++) {
    long long from = image.axis[k] + s.low[k] - (s.size[k] - 1 - step.axis[k]) * s.dilation[k];
    place->axis[k] = from < 0 ? s.out[k] : quotient(s.narrow, from, s.stride[k]);
    if (place->axis[k] * s.stride[k].size != from || place->axis[k] >= s.out[k]) {
      return false;
    }
  }
  return true;
}

/* How many elements a mean at PLACE is divided by. */
DEVICE long long elements_of_mean(const pool_shape &s, const pool_index &place) {
  long long count = 0;
  pool_index image;
  pool_step step = {};
  do {
    count += s.count_padding || element_of(s, place, step, &image);
  } while (next_step(s, &step));
  return count;
}

#define MAX_POOL(T, N, LEAST, LARGER)                                                              \
  DEVICE N largest_##T(const pool_shape &s, const char *x, const pool_index &place) {              \
    N best = LEAST;                                                                                \
    pool_index image;                                                                              \
    pool_step step = {};                                                                           \
    do {                                                                                           \
      if (element_of(s, place, step, &image)) {                                                    \
        N a = best, b = load_##T(x + offset(s.x, image));                                          \
        best = LARGER;                                                                             \
      }                                                                                            \
    } while (next_step(s, &step));                                                                 \
    return best;                                                                                   \
  }                                                                                                \
  static __global__ void max_pool_##T(pool_shape s, char *to, const char *x, const char *) {       \
    for (long long e = first_element(); e < s.elements; e += element_step()) {                     \
      pool_index place = index_of(s, e);                                                           \
      store_##T(to + offset(s.result, place), largest_##T(s, x, place));                           \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(max_pool_##T, max_pool_##T)
MAX_POOL(bool, uint8_t, 0, a > b ? a : b)
MAX_POOL(i8, int8_t, INT8_MIN, a > b ? a : b)
MAX_POOL(i16, int16_t, INT16_MIN, a > b ? a : b)
MAX_POOL(i32, int32_t, INT32_MIN, a > b ? a : b)
MAX_POOL(i64, int64_t, INT64_MIN, a > b ? a : b)
MAX_POOL(u8, uint8_t, 0, a > b ? a : b)
MAX_POOL(u16, uint16_t, 0, a > b ? a : b)
MAX_POOL(u32, uint32_t, 0, a > b ? a : b)
MAX_POOL(u64, uint64_t, 0, a > b ? a : b)
MAX_POOL(f16, float, -INFINITY, maximum_f32(a, b, 0))
MAX_POOL(bf16, float, -INFINITY, maximum_f32(a, b, 0))
MAX_POOL(f32, float, -INFINITY, maximum_f32(a, b, 0))
MAX_POOL(f64, double, -(double)INFINITY, maximum_f64(a, b, 0))

/* Of a window with NaN no element is equal to the largest, which is NaN. */
#define FLOAT_POOLS(T, N, ROUND)                                                                   \
  DEVICE long long ties_##T(const pool_shape &s, const char *x, const pool_index &place, N best) { \
    long long count = 0;                                                                           \
    pool_index image;                                                                              \
    pool_step step = {};                                                                           \
    do {                                                                                           \
      count += element_of(s, place, step, &image) && load_##T(x + offset(s.x, image)) == best;     \
    } while (next_step(s, &step));                                                                 \
    return count;                                                                                  \
  }                                                                                                \
  static __global__ void max_pool_grad_##T(pool_shape s, char *to, const char *x, const char *y) { \
    for (long long e = first_element(); e < s.elements; e += element_step()) {                     \
      pool_index image = index_of(s, e), place;                                                    \
      N sum = 0, own = load_##T(x + offset(s.x, image));                                           \
      pool_step step = {};                                                                         \
      do {                                                                                         \
        if (place_of(s, image, step, &place) && own == largest_##T(s, x, place)) {                 \
          long long ties = ties_##T(s, x, place, own);                                             \
          sum += load_##T(y + offset(s.other, place)) / (N)ties;                                   \
        }                                                                                          \
      } while (next_step(s, &step));                                                               \
      store_##T(to + offset(s.result, image), ROUND(sum));                                         \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(max_pool_grad_##T, max_pool_grad_##T)                                               \
  static __global__ void max_pool_pick_##T(pool_shape s, char *to, const char *x, const char *t) { \
    for (long long e = first_element(); e < s.elements; e += element_step()) {                     \
      pool_index place = index_of(s, e), image;                                                    \
      N sum = 0, best = largest_##T(s, x, place);                                                  \
      long long count = 0;                                                                         \
      pool_step step = {};                                                                         \
      do {                                                                                         \
        if (element_of(s, place, step, &image) && load_##T(x + offset(s.x, image)) == best) {      \
          sum += load_##T(t + offset(s.other, image));                                             \
          count++;                                                                                 \
        }                                                                                          \
      } while (next_step(s, &step));                                                               \
      store_##T(to + offset(s.result, place), ROUND(count > 0 ? sum / (N)count : sum));            \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(max_pool_pick_##T, max_pool_pick_##T)                                               \
  static __global__ void avg_pool_##T(pool_shape s, char *to, const char *x, const char *) {       \
    for (long long e = first_element(); e < s.elements; e += element_step()) {                     \
      pool_index place = index_of(s, e), image;                                                    \
      N sum = 0;                                                                                   \
      pool_step step = {};                                                                         \
      do {                                                                                         \
        if (element_of(s, place, step, &image)) {                                                  \
          sum += load_##T(x + offset(s.x, image));                                                 \
        }                                                                                          \
      } while (next_step(s, &step));                                                               \
      store_##T(to + offset(s.result, place), ROUND(sum / (N)elements_of_mean(s, place)));         \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(avg_pool_##T, avg_pool_##T)                                                         \
  static __global__ void avg_pool_grad_##T(pool_shape s, char *to, const char *, const char *y) {  \
    for (long long e = first_element(); e < s.elements; e += element_step()) {                     \
      pool_index image = index_of(s, e), place;                                                    \
      N sum = 0;                                                                                   \
      pool_step step = {};                                                                         \
      do {                                                                                         \
        if (place_of(s, image, step, &place)) {                                                    \
          sum += load_##T(y + offset(s.other, place)) / (N)elements_of_mean(s, place);             \
        }                                                                                          \
      } while (next_step(s, &step));                                                               \
      store_##T(to + offset(s.result, image), ROUND(sum));                                         \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(avg_pool_grad_##T, avg_pool_grad_##T)
#define SAME(x) (x)
FLOAT_POOLS(f16, float, round_f16)
FLOAT_POOLS(bf16, float, round_bf16)
FLOAT_POOLS(f32, float, SAME)
FLOAT_POOLS(f64, double, SAME)

/* ---- Host ---- */

/* The type rules of all but max_pool refuse other dtypes than floats. */
static kernel_getter kernel_of(gemel__pool_kind kind, gemel_dtype dtype) {
  static const kernel_getter largest[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, dtype_kind, ctype) gemel__kernel_max_pool_##name,
      GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
  };
#define FLOATS(what)                                                                               \
  dtype == GEMEL_F16    ? gemel__kernel_##what##_f16                                               \
  : dtype == GEMEL_BF16 ? gemel__kernel_##what##_bf16                                              \
  : dtype == GEMEL_F32  ? gemel__kernel_##what##_f32                                               \
                        : gemel__kernel_##what##_f64
  switch (kind) {
  case GEMEL__POOL_MAX_GRAD:
    return FLOATS(max_pool_grad);
  case GEMEL__POOL_MAX_PICK:
    return FLOATS(max_pool_pick);
  case GEMEL__POOL_AVG:
    return FLOATS(avg_pool);
  case GEMEL__POOL_AVG_GRAD:
    return FLOATS(avg_pool_grad);
  default:
    return largest[dtype];
  }
}

static pool_operand operand_of(const gemel_view *view) {
  pool_operand o = {view->strides[0], view->strides[1], {0, 0, 0}};
  int axes = view->rank - 2;
  for (int k = 0; k < axes; k++) {
    o.axis[AXES - axes + k] = view->strides[2 + k];
  }
  return o;
}

/* The geometry but for the operands. Gradients have the image's sizes. */
static pool_shape shape_of(const gemel__pooling &g, bool is_image, long long elements) {
  pool_shape s = {};
  const long long most = 1ll << 30;
  s.count_padding = g.count_padding;
  s.elements = elements;
  s.narrow = elements < most;
  s.channels = divisor_of(g.channels);
  for (int k = 0; k < AXES; k++) {
    s.image[k] = g.image[k];
    s.size[k] = g.size[k];
    s.out[k] = g.out[k];
    s.dilation[k] = g.dilation[k];
    s.low[k] = g.low[k];
    s.stride[k] = divisor_of(g.stride[k]);
    s.sizes[k] = divisor_of(is_image ? g.image[k] : g.out[k]);
    s.narrow = s.narrow && g.image[k] < most && g.low[k] < most && g.stride[k] < most;
  }
  return s;
}

static gemel_status run_pool(const gemel_kernel_call *call, gemel__pool_kind kind) {
  gemel__pooling g = gemel__pool_of(call, kind);
  int two = kind == GEMEL__POOL_MAX_GRAD || kind == GEMEL__POOL_MAX_PICK;
  bool is_image = kind == GEMEL__POOL_MAX_GRAD || kind == GEMEL__POOL_AVG_GRAD;
  long long elements = 1;
  for (int k = 0; k < call->outputs[0].rank; k++) {
    elements *= call->outputs[0].shape[k];
  }
  if (elements == 0) {
    return GEMEL_OK;
  }
  pool_shape s = shape_of(g, is_image, elements);
  s.x = operand_of(&call->inputs[0]);
  s.other = operand_of(&call->inputs[two]);
  s.result = operand_of(&call->outputs[0]);
  void *to = call->outputs[0].data, *x = call->inputs[0].data, *other = call->inputs[two].data;
  void *arguments[] = {&s, &to, &x, &other};
  return launch_over(gemel__cuda_of(call), kernel_of(kind, call->outputs[0].dtype)(), elements,
                     arguments, call->error);
}

#define DEFINE_KERNEL(name, KIND)                                                                  \
  static gemel_status run_##name(const gemel_kernel_call *call) {                                  \
    return run_pool(call, GEMEL__POOL_##KIND);                                                     \
  }                                                                                                \
  extern "C" const gemel_kernel gemel__cuda_##name[] = {{"direct", NULL, run_##name},              \
                                                        {NULL, NULL, NULL}};
DEFINE_KERNEL(max_pool, MAX)
DEFINE_KERNEL(max_pool_grad, MAX_GRAD)
DEFINE_KERNEL(max_pool_pick, MAX_PICK)
DEFINE_KERNEL(avg_pool, AVG)
DEFINE_KERNEL(avg_pool_grad, AVG_GRAD)
