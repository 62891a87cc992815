/* SPDX-License-Identifier: MIT
 *
 * The three convolutions by their definition: a thread computes an element of the result as a sum,
 * over all elements of the kernel or all places that meet it, of sums over channels, filters or
 * images. Any dtype and any strides; padding is never read. Behind that, the kernels of the three
 * operations are made from the rows of conv.def.
 */
#include "kernels/conv.h"
#include "kernels/host.h"
#include "kernels/types.h"

/* ---- Device ---- */

enum { AXES = GEMEL__SPATIAL_AXES };

/* Strides in bytes; `place` is that of weights that aren't shared, else 0. */
struct conv_operand {
  long long first, second, axis[AXES], place[AXES];
};

/* A convolution, with what its kind makes of it: the result, and the box of kernel elements or
 * places that its elements go through. */
struct conv_shape {
  int kind, flip;
  long long channels, filters; /* of a group */
  long long image[AXES], kernel[AXES], out[AXES], stride[AXES], dilation[AXES], low[AXES];
  conv_operand x, w, y;
  long long elements, seconds, axis[AXES], places[AXES]; /* of the result */
  long long box[AXES];
  long long terms, a_step, b_step; /* of one meeting */
};

/* An element of the result. */
struct conv_index {
  long long first, second, axis[AXES], place[AXES];
};

DEVICE conv_index index_of(const conv_shape &s, long long number) {
  conv_index i;
  number = split_index(number, s.axis, i.axis);
  number = split_index(number, s.places, i.place);
  i.second = number % s.seconds;
  i.first = number / s.seconds;
  return i;
}

DEVICE long long offset(const conv_operand &o, long long first, long long second,
                        const long long *axis, const long long *place) {
  long long at = first * o.first + second * o.second;
  for (int k = 0; k < AXES; k++) {
    at += axis[k] * o.axis[k] + place[k] * o.place[k];
  }
  return at;
}

/* Completes the triple of kernel element, place and element of the image that meet, of which two
 * are given; false where the third is none. */
DEVICE bool meet(const conv_shape &s, const long long *kernel, long long *out, long long *image) {
  for (int k = 0; k < AXES; k++) {
    long long reach = (s.flip ? s.kernel[k] - 1 - kernel[k] : kernel[k]) * s.dilation[k];
    if (s.kind == GEMEL__CONV_INPUTS) {
      long long from = image[k] + s.low[k] - reach;
      out[k] = from / s.stride[k];
      if (from < 0 || from % s.stride[k] != 0 || out[k] >= s.out[k]) {
        return false;
      }
    } else {
      image[k] = out[k] * s.stride[k] + reach - s.low[k];
      if (image[k] < 0 || image[k] >= s.image[k]) {
        return false;
      }
    }
  }
  return true;
}

/* Where the first factors lie that meet element I at STEP of the box: A of x, or of y for the
 * gradient by x; B of w, or of y for the gradient by w. */
DEVICE bool factors(const conv_shape &s, const conv_index &i, long long step, long long *a,
                    long long *b) {
  long long t[AXES], image[AXES], out[AXES], none[AXES] = {0, 0, 0};
  split_index(step, s.box, t);
  bool weights = s.kind == GEMEL__CONV_WEIGHTS, inputs = s.kind == GEMEL__CONV_INPUTS;
  for (int k = 0; k < AXES; k++) {
    image[k] = i.axis[k];
    out[k] = weights ? t[k] + i.place[k] : i.axis[k];
  }
  const long long *kernel = weights ? i.axis : t;
  if (!meet(s, kernel, out, image)) {
    return false;
  }
  if (weights) {
    *a = offset(s.x, 0, i.first / s.filters * s.channels + i.second, image, none);
    *b = offset(s.y, 0, i.first, out, none);
  } else if (inputs) {
    long long filter = i.second / s.channels * s.filters;
    *a = offset(s.y, i.first, filter, out, none);
    *b = offset(s.w, filter, i.second % s.channels, kernel, out);
  } else {
    *a = offset(s.x, i.first, i.second / s.filters * s.channels, image, none);
    *b = offset(s.w, i.second, 0, kernel, out);
  }
  return true;
}

#define CONV_KERNEL(T, Sum, ADD, FINISH)                                                           \
  static __global__ void conv_##T(conv_shape s, char *to, const char *a, const char *b) {          \
    for (long long e = first_element(); e < s.elements; e += element_step()) {                     \
      conv_index i = index_of(s, e);                                                               \
      const conv_operand &result = s.kind == GEMEL__CONV_FORWARD   ? s.y                           \
                                   : s.kind == GEMEL__CONV_WEIGHTS ? s.w                           \
                                                                   : s.x;                          \
      Sum sum = 0;                                                                                 \
      for (long long step = 0; step < s.box[0] * s.box[1] * s.box[2]; step++) {                    \
        long long u_at, v_at;                                                                      \
        if (!factors(s, i, step, &u_at, &v_at)) {                                                  \
          continue;                                                                                \
        }                                                                                          \
        for (long long k = 0; k < s.terms; k++, u_at += s.a_step, v_at += s.b_step) {              \
          value_##T u = load_##T(a + u_at), v = load_##T(b + v_at);                                \
          sum = ADD(sum, u, v);                                                                    \
        }                                                                                          \
      }                                                                                            \
      store_##T(to + offset(result, i.first, i.second, i.axis, i.place), FINISH(sum));             \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(conv_##T, conv_##T)
CONV_KERNEL(bool, uint8_t, OR_OF_ANDS, SAME)
CONV_KERNEL(i8, uint64_t, WRAPPING, (int8_t))
CONV_KERNEL(i16, uint64_t, WRAPPING, (int16_t))
CONV_KERNEL(i32, uint64_t, WRAPPING, (int32_t))
CONV_KERNEL(i64, uint64_t, WRAPPING, (int64_t))
CONV_KERNEL(u8, uint64_t, WRAPPING, (uint8_t))
CONV_KERNEL(u16, uint64_t, WRAPPING, (uint16_t))
CONV_KERNEL(u32, uint64_t, WRAPPING, (uint32_t))
CONV_KERNEL(u64, uint64_t, WRAPPING, (uint64_t))
CONV_KERNEL(f16, float, ROUNDED, round_f16)
CONV_KERNEL(bf16, float, ROUNDED, round_bf16)
CONV_KERNEL(f32, float, ROUNDED, SAME)
CONV_KERNEL(f64, double, ROUNDED, SAME)

/* ---- Host ---- */

static const kernel_getter kernels[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_conv_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};

/* The strides of VIEW, whose second axis is SECOND and whose spatial ones are the last. */
static conv_operand operand_of(const gemel_view *view, int axes, int second) {
  conv_operand o = {view->strides[0], view->strides[second], {0, 0, 0}, {0, 0, 0}};
  for (int k = 0; k < axes; k++) {
    o.axis[AXES - axes + k] = view->strides[view->rank - axes + k];
    o.place[AXES - axes + k] = second > 1 ? view->strides[1 + k] : 0;
  }
  return o;
}

static void copy_sizes(long long *to, const int64_t *from) {
  for (int k = 0; k < AXES; k++) {
    to[k] = from[k];
  }
}

/* What of the shape goes by the kind. */
static void set_result(conv_shape *s, const gemel__conv *g) {
  bool weights = s->kind == GEMEL__CONV_WEIGHTS, forward = s->kind == GEMEL__CONV_FORWARD;
  copy_sizes(s->axis, weights ? g->kernel : forward ? g->out : g->image);
  copy_sizes(s->box, weights ? g->out : g->kernel);
  for (int k = 0; k < AXES; k++) {
    s->places[k] = 1;
    if (weights && g->unshared) {
      s->places[k] = g->out[k];
      s->box[k] = 1;
    }
  }
  s->seconds = weights ? g->channels : (forward ? g->filters : g->channels) * g->groups;
  s->terms = weights ? g->batch : forward ? g->channels : g->filters;
  s->a_step = weights ? s->x.first : forward ? s->x.second : s->y.second;
  s->b_step = weights ? s->y.first : forward ? s->w.second : s->w.first;
}

int gemel__cuda_conv_direct_suits(const gemel__conv *g) {
  (void)g;
  return 1;
}

gemel_status gemel__cuda_conv_direct_prepare(gemel_kernel_call *call, gemel__conv_kind kind) {
  (void)call, (void)kind;
  return GEMEL_OK;
}

gemel_status gemel__cuda_conv_direct_run(const gemel_kernel_call *call, gemel__conv_kind kind) {
  const gemel_view *operands[3];
  gemel__conv g;
  conv_shape s;
  gemel__conv_of(call, kind, &g, operands);
  s.kind = kind;
  s.flip = g.flip;
  s.channels = g.channels;
  s.filters = g.filters;
  copy_sizes(s.image, g.image);
  copy_sizes(s.kernel, g.kernel);
  copy_sizes(s.out, g.out);
  copy_sizes(s.stride, g.stride);
  copy_sizes(s.dilation, g.dilation);
  copy_sizes(s.low, g.low);
  s.x = operand_of(operands[0], g.axes, 1);
  s.w = operand_of(operands[1], g.axes, g.unshared ? 1 + g.axes : 1);
  s.y = operand_of(operands[2], g.axes, 1);
  set_result(&s, &g);
  s.elements = 1;
  for (int k = 0; k < call->outputs[0].rank; k++) {
    s.elements *= call->outputs[0].shape[k];
  }
  void *to = call->outputs[0].data;
  void *a = kind == GEMEL__CONV_INPUTS ? call->inputs[1].data : call->inputs[0].data;
  void *b = kind == GEMEL__CONV_INPUTS ? call->inputs[0].data : call->inputs[1].data;
  void *arguments[] = {&s, &to, &a, &b};
  return launch_over(gemel__cuda_of(call), kernels[call->outputs[0].dtype](), s.elements, arguments,
                     call->error);
}

/* ---- The rows of conv.def ---- */

/* 1 if a call asks for at least so many multiplications, and SUITS. */
static bool asks_for(const gemel_kernel_call *call, gemel__conv_kind kind, double least,
                     int (*suits)(const gemel__conv *g)) {
  const gemel_view *operands[3];
  gemel__conv g;
  gemel__conv_of(call, kind, &g, operands);
  return gemel__conv_work(&g) >= least && suits(&g);
}

#define KERNEL(name, least, operation, kind)                                                       \
  static gemel_status prepare_##operation##_by_##name(gemel_kernel_call *call) {                   \
    return asks_for(call, kind, least, gemel__cuda_conv_##name##_suits)                            \
               ? gemel__cuda_conv_##name##_prepare(call, kind)                                     \
               : GEMEL_DECLINED;                                                                   \
  }                                                                                                \
  static gemel_status run_##operation##_by_##name(const gemel_kernel_call *call) {                 \
    return gemel__cuda_conv_##name##_run(call, kind);                                              \
  }
#define ALGORITHM(name, least)                                                                     \
  KERNEL(name, least, corr, GEMEL__CONV_FORWARD)                                                   \
  KERNEL(name, least, corr_grad_weights, GEMEL__CONV_WEIGHTS)                                      \
  KERNEL(name, least, corr_grad_inputs, GEMEL__CONV_INPUTS)
#include "kernels/conv.def"
#undef ALGORITHM

#define ALGORITHM(name, least) {#name, prepare_corr_by_##name, run_corr_by_##name},
extern "C" const gemel_kernel gemel__cuda_corr[] = {
#include "kernels/conv.def"
    {NULL, NULL, NULL}};
#undef ALGORITHM

#define ALGORITHM(name, least)                                                                     \
  {#name, prepare_corr_grad_weights_by_##name, run_corr_grad_weights_by_##name},
extern "C" const gemel_kernel gemel__cuda_corr_grad_weights[] = {
#include "kernels/conv.def"
    {NULL, NULL, NULL}};
#undef ALGORITHM

#define ALGORITHM(name, least)                                                                     \
  {#name, prepare_corr_grad_inputs_by_##name, run_corr_grad_inputs_by_##name},
extern "C" const gemel_kernel gemel__cuda_corr_grad_inputs[] = {
#include "kernels/conv.def"
    {NULL, NULL, NULL}};
#undef ALGORITHM
