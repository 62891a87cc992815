/* SPDX-License-Identifier: MIT
 *
 * The three convolutions by their definition, for every dtype and any strides: for each element of
 * the result, the places of image, kernel and output that meet there, and for each of them a sum
 * over channels, filters or images. Padding is never read. Threads share out the first two axes of
 * the result; each sum is one thread's, in an order that the shapes alone decide.
 */
#define GEMEL__KERNELS
#include <string.h>
#include "core/dtype.h"
#include "ops/conv.h"
#include "core/isa.h"
#include "ops/rule.h"

enum { AXES = GEMEL__SPATIAL_AXES, WORTH_THREADS = 1 << 16 };

/* ---- Sums ---- */

typedef union sum {
  uint64_t u;
  float f;
  double d;
} sum;

/* Adds N products of elements A_STEP and B_STEP bytes apart to S. */
typedef void (*add_products)(int64_t n, const char *a, int64_t a_step, const char *b,
                             int64_t b_step, sum *s);
typedef void (*put_sum)(char *to, const sum *s);

/* MEMBER of the sum; GET and PUT make it of an element and an element of it. */
#define SUMS(name, T, MEMBER, ACC, GET, PUT, MAC)                                                  \
  static void add_##name(int64_t n, const char *a, int64_t a_step, const char *b, int64_t b_step,  \
                         sum *s) {                                                                 \
    ACC total = (ACC)s->MEMBER;                                                                    \
    for (int64_t i = 0; i < n; i++, a += a_step, b += b_step) {                                    \
      ACC x = (ACC)GET(*(const T *)a), y = (ACC)GET(*(const T *)b);                                \
      total = MAC(total, x, y);                                                                    \
    }                                                                                              \
    s->MEMBER = total;                                                                             \
  }                                                                                                \
  static void put_##name(char *to, const sum *s) {                                                 \
    *(T *)to = (T)PUT(s->MEMBER);                                                                  \
  }
#define SAME(x) (x)
#define TIMES_PLUS(s, x, y) ((s) + (x) * (y))
#define OR_AND(s, x, y) ((s) | ((x) & (y)))
SUMS(bool, uint8_t, u, uint64_t, SAME, SAME, OR_AND)
SUMS(u8, uint8_t, u, uint64_t, SAME, SAME, TIMES_PLUS)
SUMS(u16, uint16_t, u, uint64_t, SAME, SAME, TIMES_PLUS)
SUMS(u32, uint32_t, u, uint64_t, SAME, SAME, TIMES_PLUS)
SUMS(u64, uint64_t, u, uint64_t, SAME, SAME, TIMES_PLUS)
SUMS(f16, uint16_t, f, float, gemel__f16_to_f32, gemel__f32_to_f16, TIMES_PLUS)
SUMS(bf16, uint16_t, f, float, gemel__bf16_to_f32, gemel__f32_to_bf16, TIMES_PLUS)
SUMS(f32, float, f, float, SAME, SAME, TIMES_PLUS)
SUMS(f64, double, d, double, SAME, SAME, TIMES_PLUS)

/* Signed integers wrap as unsigned ones do. */
static const struct arithmetic {
  add_products add;
  put_sum put;
} arithmetics[GEMEL_DTYPE_COUNT] = {
    [GEMEL_BOOL] = {add_bool, put_bool}, [GEMEL_I8] = {add_u8, put_u8},
    [GEMEL_I16] = {add_u16, put_u16},    [GEMEL_I32] = {add_u32, put_u32},
    [GEMEL_I64] = {add_u64, put_u64},    [GEMEL_U8] = {add_u8, put_u8},
    [GEMEL_U16] = {add_u16, put_u16},    [GEMEL_U32] = {add_u32, put_u32},
    [GEMEL_U64] = {add_u64, put_u64},    [GEMEL_F16] = {add_f16, put_f16},
    [GEMEL_BF16] = {add_bf16, put_bf16}, [GEMEL_F32] = {add_f32, put_f32},
    [GEMEL_F64] = {add_f64, put_f64}};

/* ---- Operands ---- */

/* Strides in bytes: of the first two axes (weights: filters and a group's channels), the spatial
 * ones, and the places of weights that aren't shared (else 0). */
typedef struct conv_operand {
  char *data;
  int64_t first, second, axis[AXES], place[AXES];
} conv_operand;

typedef struct convolution {
  gemel__conv g;
  conv_operand x, w, y;
  struct arithmetic arithmetic;
} convolution;

static conv_operand spatial(const gemel_view *view) {
  conv_operand o = {view->data, view->strides[0], view->strides[1], {0}, {0}};
  int axes = view->rank - 2;
  memcpy(o.axis + AXES - axes, view->strides + 2, (size_t)axes * sizeof *o.axis);
  return o;
}

static conv_operand weights(const gemel_view *view, const gemel__conv *g) {
  conv_operand o = {
      view->data, view->strides[0], view->strides[view->rank - g->axes - 1], {0}, {0}};
  size_t bytes = (size_t)g->axes * sizeof *o.axis;
  memcpy(o.axis + AXES - g->axes, view->strides + view->rank - g->axes, bytes);
  if (g->unshared) {
    memcpy(o.place + AXES - g->axes, view->strides + 1, bytes);
  }
  return o;
}

static const char *at(const conv_operand *o, int64_t first, int64_t second, const int64_t *axis,
                      const int64_t *place) {
  const char *data = o->data + first * o->first + second * o->second;
  for (int k = 0; k < AXES; k++) {
    data += axis[k] * o->axis[k] + place[k] * o->place[k];
  }
  return data;
}

/* Steps an index of AXES numbers; 0 behind the last. */
static int next(const int64_t *sizes, int64_t *index) {
  for (int k = AXES - 1; k >= 0; k--) {
    if (++index[k] < sizes[k]) {
      return 1;
    }
    index[k] = 0;
  }
  return 0;
}

static int empty(const int64_t *sizes) {
  return sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0;
}

/* ---- One element of each ---- */

/* How far element KERNEL lies from where a kernel begins. */
static int64_t reach(const gemel__conv *g, int k, const int64_t *kernel) {
  int64_t step = g->dilation[k];
  return (g->flip ? g->kernel[k] - 1 - kernel[k] : kernel[k]) * step;
}

/* The element of the image that KERNEL meets at OUT; 0 if that is padding. */
static int meet(const gemel__conv *g, const int64_t *out, const int64_t *kernel, int64_t *image) {
  for (int k = 0; k < AXES; k++) {
    image[k] = out[k] * g->stride[k] + reach(g, k, kernel) - g->low[k];
    if (image[k] < 0 || image[k] >= g->image[k]) {
      return 0;
    }
  }
  return 1;
}

/* The place at which KERNEL meets IMAGE; 0 if there is none. */
static int meet_back(const gemel__conv *g, const int64_t *image, const int64_t *kernel,
                     int64_t *out) {
  for (int k = 0; k < AXES; k++) {
    int64_t from = image[k] + g->low[k] - reach(g, k, kernel);
    out[k] = from / g->stride[k];
    if (from < 0 || from % g->stride[k] != 0 || out[k] >= g->out[k]) {
      return 0;
    }
  }
  return 1;
}

static void one_output(const convolution *c, int64_t image, int64_t filter, const int64_t *out,
                       sum *s) {
  const gemel__conv *g = &c->g;
  int64_t kernel[AXES] = {0}, where[AXES], none[AXES] = {0};
  int64_t channel = filter / g->filters * g->channels;
  do {
    if (meet(g, out, kernel, where)) {
      c->arithmetic.add(g->channels, at(&c->x, image, channel, where, none), c->x.second,
                        at(&c->w, filter, 0, kernel, out), c->w.second, s);
    }
  } while (next(g->kernel, kernel));
}

/* PLACE is the only one where weights aren't shared. */
static void one_weight(const convolution *c, int64_t filter, int64_t channel, const int64_t *kernel,
                       const int64_t *place, sum *s) {
  const gemel__conv *g = &c->g;
  int64_t out[AXES], where[AXES], none[AXES] = {0};
  int64_t from = filter / g->filters * g->channels + channel;
  memcpy(out, place, sizeof out);
  if (empty(g->out)) {
    return;
  }
  do {
    if (meet(g, out, kernel, where)) {
      c->arithmetic.add(g->batch, at(&c->x, 0, from, where, none), c->x.first,
                        at(&c->y, 0, filter, out, none), c->y.first, s);
    }
  } while (!g->unshared && next(g->out, out));
}

static void one_input(const convolution *c, int64_t image, int64_t channel, const int64_t *where,
                      sum *s) {
  const gemel__conv *g = &c->g;
  int64_t kernel[AXES] = {0}, out[AXES], none[AXES] = {0};
  int64_t filter = channel / g->channels * g->filters;
  do {
    if (meet_back(g, where, kernel, out)) {
      c->arithmetic.add(g->filters, at(&c->y, image, filter, out, none), c->y.second,
                        at(&c->w, filter, channel % g->channels, kernel, out), c->w.first, s);
    }
  } while (next(g->kernel, kernel));
}

/* ---- All elements that have the first two indices I and J ---- */

static void outputs_of(const convolution *c, int64_t i, int64_t j) {
  int64_t out[AXES] = {0}, none[AXES] = {0};
  do {
    sum s = {0};
    one_output(c, i, j, out, &s);
    c->arithmetic.put((char *)at(&c->y, i, j, out, none), &s);
  } while (next(c->g.out, out));
}

static void weights_of(const convolution *c, int64_t i, int64_t j) {
  int64_t kernel[AXES] = {0}, place[AXES] = {0};
  do {
    do {
      sum s = {0};
      one_weight(c, i, j, kernel, place, &s);
      c->arithmetic.put((char *)at(&c->w, i, j, kernel, place), &s);
    } while (next(c->g.kernel, kernel));
  } while (c->g.unshared && next(c->g.out, place));
}

static void inputs_of(const convolution *c, int64_t i, int64_t j) {
  int64_t where[AXES] = {0}, none[AXES] = {0};
  do {
    sum s = {0};
    one_input(c, i, j, where, &s);
    c->arithmetic.put((char *)at(&c->x, i, j, where, none), &s);
  } while (next(c->g.image, where));
}

/* ---- The call ---- */

gemel_status gemel__conv_plain_run(const gemel_kernel_call *call, gemel__conv_kind kind) {
  static void (*const parts[])(const convolution *c, int64_t i,
                               int64_t j) = {outputs_of, weights_of, inputs_of};
  const gemel_view *operands[3];
  convolution c;
  gemel__conv_of(call, kind, &c.g, operands);
  c.x = spatial(operands[0]);
  c.w = weights(operands[1], &c.g);
  c.y = spatial(operands[2]);
  c.arithmetic = arithmetics[operands[0]->dtype];
  int64_t rows = kind == GEMEL__CONV_WEIGHTS ? c.g.filters * c.g.groups : c.g.batch;
  int64_t columns = kind == GEMEL__CONV_FORWARD   ? c.g.filters * c.g.groups
                    : kind == GEMEL__CONV_WEIGHTS ? c.g.channels
                                                  : c.g.channels * c.g.groups;
  int threads = gemel__conv_work(&c.g) > WORTH_THREADS ? call->threads : 1;
  if (gemel__view_elements(&call->outputs[0]) == 0) {
    return GEMEL_OK;
  }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
#else
  (void)threads;
#endif
  for (int64_t i = 0; i < rows * columns; i++) {
    parts[kind](&c, i / columns, i % columns);
  }
  return GEMEL_OK;
}

gemel_status gemel__conv_plain_prepare(gemel_kernel_call *call, gemel__conv_kind kind) {
  (void)call, (void)kind;
  return GEMEL_OK;
}

int gemel__conv_plain_suits(const gemel__conv *g, const gemel_view *const operands[3]) {
  (void)g, (void)operands;
  return 1;
}
