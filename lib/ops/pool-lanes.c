/* SPDX-License-Identifier: MIT
 *
 * Pooling of f32 and f64 in lanes: as many images of one channel as a vector register has elements
 * are pooled together, each element of a window with one instruction, so that no loop depends on
 * how wide an image, a window or its border is. Where the channels of an operand lie together that
 * is how its memory is; else (row-major images) it is gathered in scratch memory, lane by lane,
 * square by square in registers, and results are scattered from there.
 *
 * Channels that lie together in all operands are taken an image at a time. Sums are made in the
 * order of pool-plain.c, so that results are the same in every bit.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <string.h>
#if GEMEL__X86
#include <immintrin.h>
#endif
#include "core/tensor.h"
#include "core/turn.h"
#include "ops/pool.h"

#ifdef _OPENMP
#include <omp.h>
#endif

enum {
  AXES = GEMEL__SPATIAL_AXES,
  LANES_MOST = 16,
  WINDOW_MOST = 256, /* elements */
  LANES_LEAST = 4,   /* with fewer lanes most of a register would go to waste */
  WORTH_THREADS = 1 << 14
};
#define SCRATCH_MOST ((int64_t)16 << 20) /* of a thread: images that no cache holds are refused */

/* ---- Loops ---- */

/* PLACES of a row whose windows have N elements: number e is at X_AT[e] in the image, and at
 * D_AT[e] in the other image (a gradient, or what is picked from); Y has an element a place. Steps
 * lead to the next place. Each place has BLOCKS registers of lanes that lie together. */
typedef struct place_row {
  int64_t places, blocks, n;
  const int64_t *x_at, *d_at;
  char *x, *y, *d;
  int64_t x_step, y_step, d_step;
  int64_t divisor;
  int overwrites; /* windows don't overlap: what they give needn't be added */
} place_row;

typedef struct lane_loops {
  int64_t lanes, item;
  void (*run[GEMEL__POOL_KINDS])(const place_row *row);
  void (*gather)(int64_t n, char *const *lanes, char *to);
  void (*scatter)(int64_t n, char *const *lanes, const char *from, int count);
} lane_loops;

#define ISA base
#define T float
#define BITS uint32_t
#define TAG f32
#define LANES 4
#include "ops/pool-lanes-loops.h"
#define T double
#define BITS uint64_t
#define TAG f64
#define LANES 2
#include "ops/pool-lanes-loops.h"
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#define T float
#define BITS uint32_t
#define TAG f32
#define LANES 8
#include "ops/pool-lanes-loops.h"
#define T double
#define BITS uint64_t
#define TAG f64
#define LANES 4
#include "ops/pool-lanes-loops.h"
#undef ISA
GEMEL__END_VARIANT
GEMEL__BEGIN_AVX512
#define ISA avx512
#define MM _mm512
#define T float
#define BITS uint32_t
#define TAG f32
#define LANES 16
#define SUFFIX ps
#define MASK __mmask16
#define COMPARE(a, b, how) _mm512_cmp_ps_mask(a, b, how)
#include "ops/pool-lanes-loops.h"
#define T double
#define BITS uint64_t
#define TAG f64
#define LANES 8
#define SUFFIX pd
#define MASK __mmask8
#define COMPARE(a, b, how) _mm512_cmp_pd_mask(a, b, how)
#include "ops/pool-lanes-loops.h"
#undef MM
#undef ISA
GEMEL__END_VARIANT
#else
#define loops_f32_avx2 loops_f32_base
#define loops_f64_avx2 loops_f64_base
#define loops_f32_avx512 loops_f32_base
#define loops_f64_avx512 loops_f64_base
#endif

static const lane_loops *loops_for(gemel_dtype dtype, gemel__isa isa) {
  static const lane_loops *const all[GEMEL__ISA_COUNT][2] = {
      {&loops_f32_base, &loops_f64_base},
      {&loops_f32_avx2, &loops_f64_avx2},
      {&loops_f32_avx512, &loops_f64_avx512}};
  return all[isa][dtype == GEMEL_F64];
}

/* ---- Operands ---- */

/* An image, or a number for each place; strides in bytes. */
typedef struct pool_lanes_operand {
  char *data;
  int64_t first, second, axis[AXES];
  const int64_t *sizes;
  int64_t elements; /* of an image */
  int flat;         /* these lie together */
} pool_lanes_operand;

typedef struct lane_pooling {
  gemel__pooling g;
  const lane_loops *loops;
  pool_lanes_operand x, y, d; /* as in place_row; without data where there is none */
  int threads;
  int64_t wide;  /* blocks that an image has where channels lie together; 0: lanes are gathered */
  int64_t parts; /* tasks */
  int overwrites;
} lane_pooling;

static int gives(const gemel__pooling *g) {
  return g->kind == GEMEL__POOL_MAX_GRAD || g->kind == GEMEL__POOL_AVG_GRAD;
}

static pool_lanes_operand operand_of(const lane_pooling *p, const gemel_view *view,
                                     const int64_t *sizes) {
  pool_lanes_operand o = {view->data, view->strides[0], view->strides[1], {0}, sizes, 1, 1};
  int axes = view->rank - 2;
  memcpy(o.axis + AXES - axes, view->strides + 2, (size_t)axes * sizeof *o.axis);
  for (int k = AXES - 1; k >= 0; k--) {
    o.flat &= sizes[k] == 1 || o.axis[k] == o.elements * p->loops->item;
    o.elements *= sizes[k];
  }
  return o;
}

static int is_wide(const lane_pooling *p, const pool_lanes_operand *o) {
  return o->sizes == NULL || o->second == p->loops->item;
}

/* 1 if each element of the image is in one window. */
static int is_tiled(const gemel__pooling *g) {
  int tiled = 1;
  for (int k = 0; k < AXES; k++) {
    tiled &= g->low[k] == 0 && (g->dilation[k] == 1 || g->size[k] == 1) &&
             g->size[k] == g->stride[k] && g->out[k] * g->stride[k] == g->image[k];
  }
  return tiled;
}

static lane_pooling pooling_of(const gemel_kernel_call *call, gemel__pool_kind kind,
                               gemel__isa isa) {
  lane_pooling p = {.g = gemel__pool_of(call, kind),
                    .loops = loops_for(call->outputs[0].dtype, isa)};
  return p;
}

/* P->g stays where it is: operands point to its sizes. */
static void set_operands(lane_pooling *p, const gemel_kernel_call *call) {
  const gemel_view *in = call->inputs, *out = call->outputs;
  gemel__pool_kind kind = p->g.kind;
  int64_t lanes = p->g.batch * p->g.channels, count = p->loops->lanes;
  if (kind != GEMEL__POOL_AVG_GRAD) {
    p->x = operand_of(p, &in[0], p->g.image);
  }
  p->y = operand_of(p, !gives(&p->g) ? &out[0] : &in[kind == GEMEL__POOL_MAX_GRAD], p->g.out);
  if (gives(&p->g) || kind == GEMEL__POOL_MAX_PICK) {
    p->d = operand_of(p, gives(&p->g) ? &out[0] : &in[1], p->g.image);
  }
  p->threads = gemel__pool_work(&p->g) > WORTH_THREADS ? call->threads : 1;
  p->wide = is_wide(p, &p->x) && is_wide(p, &p->y) && is_wide(p, &p->d) && p->g.batch >= p->threads
                ? p->g.channels / count
                : 0;
  p->parts =
      p->wide > 0 ? p->g.batch * (1 + (p->g.channels % count > 0)) : (lanes + count - 1) / count;
  p->overwrites = is_tiled(&p->g);
}

/* ---- Lanes ---- */

/* An operand of a task: how its lanes lie, gathered or in its own memory. */
typedef struct lane_place {
  char *data;
  int64_t axis[AXES];
} lane_place;

/* COUNT lanes, the first of them number FIRST, or BLOCKS registers full of them. */
typedef struct lane_task {
  const lane_pooling *p;
  int64_t first, blocks;
  int count;
  lane_place x, y, d;
} lane_task;

/* Where lanes begin; there are always enough, the last one standing for more. */
static void lanes_of(const lane_task *t, const pool_lanes_operand *o, char **lanes) {
  for (int64_t k = 0; k < t->p->loops->lanes; k++) {
    int64_t lane = t->first + (k < t->count ? k : t->count - 1), channels = t->p->g.channels;
    lanes[k] = o->data + lane / channels * o->first + lane % channels * o->second;
  }
}

static int together(const lane_task *t, char *const *lanes) {
  int64_t n = t->p->loops->lanes, k = 1;
  while (k < n && t->count == n && lanes[k] == lanes[0] + k * t->p->loops->item) {
    k++;
  }
  return k == n;
}

static void move(int64_t item, char *to, const char *from) {
  if (item == 4) {
    memcpy(to, from, 4);
  } else {
    memcpy(to, from, 8);
  }
}

/* Elements of any strides one by one, TO where lanes are gathered or, BACK, from there. */
static void move_elements(const lane_task *t, const pool_lanes_operand *o, char *const *lanes,
                          char *to, int back) {
  int64_t i[AXES], item = t->p->loops->item, n = back ? t->count : t->p->loops->lanes;
  for (i[0] = 0; i[0] < o->sizes[0]; i[0]++) {
    for (i[1] = 0; i[1] < o->sizes[1]; i[1]++) {
      for (i[2] = 0; i[2] < o->sizes[2]; i[2]++, to += t->p->loops->lanes * item) {
        int64_t at = i[0] * o->axis[0] + i[1] * o->axis[1] + i[2] * o->axis[2];
        for (int64_t k = 0; k < n; k++) {
          move(item, back ? lanes[k] + at : to + k * item, back ? to + k * item : lanes[k] + at);
        }
      }
    }
  }
}

static int in_squares(const lane_task *t, const pool_lanes_operand *o) {
  return o->flat && o->elements >= t->p->loops->lanes;
}

/* Finds the lanes of O, or gathers them in *SCRATCH, which goes on behind them. */
static lane_place enter(const lane_task *t, const pool_lanes_operand *o, int reads,
                        char **scratch) {
  char *lanes[LANES_MOST];
  lane_place made = {NULL, {0}};
  if (o->sizes == NULL) {
    return made;
  }
  lanes_of(t, o, lanes);
  if (t->blocks > 1 || together(t, lanes)) {
    made.data = lanes[0];
    memcpy(made.axis, o->axis, sizeof made.axis);
    return made;
  }
  made.data = *scratch;
  made.axis[2] = t->p->loops->lanes * t->p->loops->item;
  made.axis[1] = made.axis[2] * o->sizes[2];
  made.axis[0] = made.axis[1] * o->sizes[1];
  *scratch += made.axis[0] * o->sizes[0];
  if (reads && in_squares(t, o)) {
    t->p->loops->gather(o->elements, lanes, made.data);
  } else if (reads) {
    move_elements(t, o, lanes, made.data, 0);
  }
  return made;
}

/* Puts a result that was made in scratch memory where it belongs. */
static void leave(const lane_task *t, const pool_lanes_operand *o, const lane_place *made) {
  char *lanes[LANES_MOST];
  lanes_of(t, o, lanes);
  if (made->data == lanes[0]) {
    return;
  }
  if (in_squares(t, o)) {
    t->p->loops->scatter(o->elements, lanes, made->data, t->count);
  } else {
    move_elements(t, o, lanes, made->data, 1);
  }
}

/* ---- Windows ---- */

static int64_t divide_up(int64_t a, int64_t b) {
  return a > 0 ? (a + b - 1) / b : 0;
}

/* The elements [*FROM, *END) of the window at PLACE along an axis are no padding. */
static void elements_along(const gemel__pooling *g, int k, int64_t place, int64_t *from,
                           int64_t *end) {
  int64_t start = place * g->stride[k] - g->low[k];
  int64_t inside = divide_up(g->image[k] - start, g->dilation[k]);
  *from = divide_up(-start, g->dilation[k]);
  *end = inside < g->size[k] ? inside : g->size[k];
}

/* COUNT places from PLACE on along the last axis, all windows of which are alike. */
static void run_places(const lane_task *t, const int64_t *place, int64_t count) {
  const gemel__pooling *g = &t->p->g;
  int64_t x_at[WINDOW_MOST], d_at[WINDOW_MOST], n = 0, from[AXES], end[AXES], i[AXES];
  const int64_t *x = t->x.axis, *y = t->y.axis, *d = t->d.axis;
  for (int k = 0; k < AXES; k++) {
    elements_along(g, k, place[k], &from[k], &end[k]);
  }
  for (int64_t a = from[0]; a < end[0]; a++) {
    i[0] = place[0] * g->stride[0] + a * g->dilation[0] - g->low[0];
    for (int64_t b = from[1]; b < end[1]; b++) {
      i[1] = place[1] * g->stride[1] + b * g->dilation[1] - g->low[1];
      for (int64_t c = from[2]; c < end[2]; c++, n++) {
        i[2] = place[2] * g->stride[2] + c * g->dilation[2] - g->low[2];
        x_at[n] = i[0] * x[0] + i[1] * x[1] + i[2] * x[2];
        d_at[n] = i[0] * d[0] + i[1] * d[1] + i[2] * d[2];
      }
    }
  }
  t->p->loops->run[g->kind](
      &(place_row){count, t->blocks, n, x_at, d_at, t->x.data,
                   t->y.data + place[0] * y[0] + place[1] * y[1] + place[2] * y[2], t->d.data,
                   g->stride[2] * x[2], y[2], g->stride[2] * d[2],
                   g->count_padding ? g->size[0] * g->size[1] * g->size[2] : n, t->p->overwrites});
}

/* A row of places: those at its ends, whose windows have padding, and those between. */
static void run_row(const lane_task *t, int64_t *place) {
  const gemel__pooling *g = &t->p->g;
  int64_t reach = (g->size[2] - 1) * g->dilation[2], out = g->out[2];
  int64_t from = divide_up(g->low[2], g->stride[2]);
  int64_t end = divide_up(g->image[2] - reach + g->low[2], g->stride[2]);
  end = end < out ? end : out;
  for (place[2] = 0; place[2] < out;) {
    int64_t count = place[2] == from && end > from ? end - from : 1;
    run_places(t, place, count);
    place[2] += count;
  }
}

/* Zeroes rows [*DONE, END) of the image that is given to. */
static void zero_rows(const lane_task *t, int64_t *done, int64_t end) {
  const int64_t *sizes = t->p->g.image, *axis = t->d.axis;
  int64_t bytes = t->blocks * t->p->loops->lanes * t->p->loops->item;
  for (; *done < end; ++*done) {
    char *row = t->d.data + *done / sizes[1] * axis[0] + *done % sizes[1] * axis[1];
    if (axis[2] == bytes) {
      memset(row, 0, (size_t)(sizes[2] * bytes));
    } else {
      for (int64_t k = 0; k < sizes[2]; k++) {
        memset(row + k * axis[2], 0, (size_t)bytes);
      }
    }
  }
}

static int64_t last_row(const gemel__pooling *g, const int64_t *place) {
  int64_t last[2], from, end;
  for (int k = 0; k < 2; k++) {
    elements_along(g, k, place[k], &from, &end);
    last[k] = place[k] * g->stride[k] + (end - 1) * g->dilation[k] - g->low[k];
  }
  return last[0] * g->image[1] + last[1];
}

static void run_task(const lane_task *given, char *scratch) {
  lane_task t = *given;
  const lane_pooling *p = t.p;
  const gemel__pooling *g = &p->g;
  int64_t place[AXES], zeroed = 0;
  int zeroes = gives(g) && !p->overwrites;
  t.x = enter(&t, &p->x, 1, &scratch);
  t.y = enter(&t, &p->y, gives(g), &scratch);
  t.d = enter(&t, &p->d, !gives(g), &scratch);
  for (place[0] = 0; place[0] < g->out[0]; place[0]++) {
    for (place[1] = 0; place[1] < g->out[1]; place[1]++) {
      if (zeroes) {
        zero_rows(&t, &zeroed, last_row(g, place) + 1);
      }
      run_row(&t, place);
    }
  }
  if (zeroes) {
    zero_rows(&t, &zeroed, g->image[0] * g->image[1]);
  }
  leave(&t, gives(g) ? &p->d : &p->y, gives(g) ? &t.d : &t.y);
}

/* ---- Kernels ---- */

/* Task number INDEX: where channels lie together an image's full registers, or what is left of it.
 */
static lane_task task_of(const lane_pooling *p, int64_t index) {
  int64_t lanes = p->loops->lanes, channels = p->g.channels, left;
  lane_task t = {.p = p, .first = index * lanes, .blocks = 1, .count = (int)lanes};
  if (p->wide > 0) {
    int64_t whole = index < p->g.batch, image = whole ? index : index - p->g.batch;
    t.first = image * channels + (whole ? 0 : p->wide * lanes);
    t.blocks = whole ? p->wide : 1;
    left = whole ? lanes : channels - p->wide * lanes;
  } else {
    left = p->g.batch * channels - t.first;
  }
  t.count = left < lanes ? (int)left : (int)lanes;
  return t;
}

static int64_t gathered_bytes(const lane_pooling *p, const pool_lanes_operand *o) {
  return o->elements * p->loops->lanes * p->loops->item;
}

/* Of a thread; in which no channel is left over where they lie together, there is nothing to
 * gather. */
static int64_t scratch_of(const lane_pooling *p) {
  return p->wide > 0 && p->g.channels % p->loops->lanes == 0
             ? 64
             : gathered_bytes(p, &p->x) + gathered_bytes(p, &p->y) + gathered_bytes(p, &p->d) + 64;
}

gemel_status gemel__pool_lanes_prepare(gemel_kernel_call *call, gemel__pool_kind kind,
                                       gemel__isa isa) {
  gemel_dtype dtype = call->outputs[0].dtype;
  lane_pooling p = pooling_of(call, kind, isa);
  double window = 1;
  for (int k = 0; k < AXES; k++) {
    window *= (double)p.g.size[k];
  }
  if ((dtype != GEMEL_F32 && dtype != GEMEL_F64) || window > WINDOW_MOST ||
      p.g.batch * p.g.channels < LANES_LEAST) {
    return GEMEL_DECLINED;
  }
  set_operands(&p, call);
  if (scratch_of(&p) > SCRATCH_MOST) {
    return GEMEL_DECLINED;
  }
  call->scratch_bytes = gemel__bytes(scratch_of(&p) * call->threads);
  return GEMEL_OK;
}

gemel_status gemel__pool_lanes_run(const gemel_kernel_call *call, gemel__pool_kind kind,
                                   gemel__isa isa) {
  lane_pooling p = pooling_of(call, kind, isa);
  set_operands(&p, call);
  uintptr_t scratch = ((uintptr_t)call->scratch + 63) / 64 * 64;
#ifdef _OPENMP
#pragma omp parallel for num_threads(p.threads) schedule(static) if (p.threads > 1)
#endif
  for (int64_t k = 0; k < p.parts; k++) {
#ifdef _OPENMP
    size_t thread = (size_t)omp_get_thread_num();
#else
    size_t thread = 0;
#endif
    lane_task t = task_of(&p, k);
    run_task(&t, (char *)scratch + thread * (size_t)(scratch_of(&p) - 64));
  }
  return GEMEL_OK;
}
