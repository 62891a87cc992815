/* SPDX-License-Identifier: MIT
 *
 * The tables of kernels, and the plain one: pooling for every dtype and any strides. The places of
 * a row of results are taken together, up to CHUNK of them: for each element of a window in turn,
 * those of its meetings with the row that are no padding are a run of places and, a stride apart,
 * of elements of an image's row, and one loop does what is to be done at them. Loops over elements
 * that lie together, or with one between them, are compiled for that, so that compilers can make
 * them vectors.
 *
 * What a derivative puts into an image is added up in scratch memory, in the dtype that is computed
 * in (f32 for half types). A thread has a whole image of one channel, so each sum is one thread's,
 * in an order that the shapes alone decide.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <string.h>
#include "core/dtype.h"
#include "core/tensor.h"
#include "ops/pool.h"
#include "ops/rule.h"

#ifdef _OPENMP
#include <omp.h>
#endif

enum { AXES = GEMEL__SPATIAL_AXES, CHUNK = 256, WORTH_THREADS = 1 << 14 };

/* ---- Loops ---- */

/* A number for each place of a chunk, or for each element of an image. */
typedef union pool_number {
  int64_t i;
  uint64_t u;
  float f;
  double d;
} pool_number;

/* What the loops of a dtype do at N places; a step is in bytes, but that of an image in scratch
 * memory (give's) in numbers. */
typedef struct loops {
  size_t number_bytes;
  void (*begin)(int64_t n, void *best);
  void (*larger)(int64_t n, const char *x, int64_t x_step, void *best);
  void (*put)(int64_t n, const void *from, char *to, int64_t to_step);
  void (*count)(int64_t n, const char *x, int64_t x_step, const void *best, void *counts);
  void (*pick)(int64_t n, const char *x, int64_t x_step, const void *best, const char *t,
               int64_t t_step, void *sums);
  void (*add)(int64_t n, const char *x, int64_t x_step, void *sums);
  void (*divide)(int64_t n, void *sums, const void *counts);
  void (*share)(int64_t n, const char *y, int64_t y_step, const void *counts, void *shares);
  void (*keep)(int64_t n, const char *x, int64_t x_step, const void *best, const void *shares,
               void *kept);
  void (*give)(int64_t n, const void *shares, char *to, int64_t to_step);
  void (*set_divisors)(int64_t n, const int64_t *counts, void *divisors);
} loops;

/* BODY(n, x, a constant step, …) for elements that lie together or have one between them. */
#define BY_STEP(T, step, BODY, ...)                                                                \
  if (step == (int64_t)sizeof(T)) {                                                                \
    BODY((int64_t)sizeof(T), __VA_ARGS__)                                                          \
  } else if (step == 2 * (int64_t)sizeof(T)) {                                                     \
    BODY(2 * (int64_t)sizeof(T), __VA_ARGS__)                                                      \
  } else {                                                                                         \
    BODY(step, __VA_ARGS__)                                                                        \
  }

#define LARGER_LOOP(STEP, T, N, GET, LARGER)                                                       \
  GEMEL__INDEPENDENT                                                                               \
  for (int64_t i = 0; i < n; i++) {                                                                \
    N v = (N)GET(*(const T *)(const void *)(x + i * (STEP)));                                      \
    b[i] = LARGER(b[i], v);                                                                        \
  }

#define PUT_LOOP(STEP, T, PUT)                                                                     \
  GEMEL__INDEPENDENT                                                                               \
  for (int64_t i = 0; i < n; i++) {                                                                \
    *(T *)(void *)(to + i * (STEP)) = (T)PUT(from[i]);                                             \
  }

/* What max_pool needs: T lies in memory, N is computed with. */
#define ORDER(name, T, N, LEAST, GET, PUT, LARGER)                                                 \
  static void begin_##name(int64_t n, void *best) {                                                \
    for (int64_t i = 0; i < n; i++) {                                                              \
      ((N *)best)[i] = LEAST;                                                                      \
    }                                                                                              \
  }                                                                                                \
  static void larger_##name(int64_t n, const char *x, int64_t step, void *best) {                  \
    N *b = best;                                                                                   \
    BY_STEP(T, step, LARGER_LOOP, T, N, GET, LARGER)                                               \
  }                                                                                                \
  static void put_##name(int64_t n, const void *given, char *to, int64_t step) {                   \
    const N *from = given;                                                                         \
    BY_STEP(T, step, PUT_LOOP, T, PUT)                                                             \
  }

#define COUNT_LOOP(STEP, T, N, GET)                                                                \
  GEMEL__INDEPENDENT                                                                               \
  for (int64_t i = 0; i < n; i++) {                                                                \
    N v = (N)GET(*(const T *)(const void *)(x + i * (STEP)));                                      \
    c[i] = c[i] + (v == b[i] ? (N)1 : (N)0);                                                       \
  }

#define ADD_LOOP(STEP, T, N, GET)                                                                  \
  GEMEL__INDEPENDENT                                                                               \
  for (int64_t i = 0; i < n; i++) {                                                                \
    s[i] += (N)GET(*(const T *)(const void *)(x + i * (STEP)));                                    \
  }

/* A share is read whether it is kept or not: or else compilers make a branch of it, which is
 * mispredicted often. */
#define KEEP_LOOP(STEP, T, N, GET)                                                                 \
  GEMEL__INDEPENDENT                                                                               \
  for (int64_t i = 0; i < n; i++) {                                                                \
    N v = (N)GET(*(const T *)(const void *)(x + i * (STEP)));                                      \
    N share = s[i];                                                                                \
    k[i] = v == b[i] ? share : (N)0;                                                               \
  }

#define GIVE_LOOP(STEP)                                                                            \
  GEMEL__INDEPENDENT                                                                               \
  for (int64_t i = 0; i < n; i++) {                                                                \
    t[i * (STEP)] = t[i * (STEP)] + s[i];                                                          \
  }

/* What the others need, of floats alone. */
#define ARITHMETIC(name, T, N, GET)                                                                \
  static void count_##name(int64_t n, const char *x, int64_t step, const void *best,               \
                           void *counts) {                                                         \
    const N *b = best;                                                                             \
    N *c = counts;                                                                                 \
    BY_STEP(T, step, COUNT_LOOP, T, N, GET)                                                        \
  }                                                                                                \
  static void pick_##name(int64_t n, const char *x, int64_t x_step, const void *best,              \
                          const char *t, int64_t t_step, void *sums) {                             \
    const N *b = best;                                                                             \
    N *s = sums;                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                              \
      N v = (N)GET(*(const T *)(const void *)(x + i * x_step));                                    \
      N u = (N)GET(*(const T *)(const void *)(t + i * t_step));                                    \
      s[i] += v == b[i] ? u : (N)0;                                                                \
    }                                                                                              \
  }                                                                                                \
  static void add_##name(int64_t n, const char *x, int64_t step, void *sums) {                     \
    N *s = sums;                                                                                   \
    BY_STEP(T, step, ADD_LOOP, T, N, GET)                                                          \
  }                                                                                                \
  /* A count of 0: the window has a NaN, and nothing is largest. */                                \
  static void divide_##name(int64_t n, void *sums, const void *counts) {                           \
    N *s = sums;                                                                                   \
    const N *c = counts;                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                              \
      s[i] = s[i] / (c[i] > (N)0 ? c[i] : (N)1);                                                   \
    }                                                                                              \
  }                                                                                                \
  static void share_##name(int64_t n, const char *y, int64_t step, const void *counts,             \
                           void *shares) {                                                         \
    const N *c = counts;                                                                           \
    N *s = shares;                                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                              \
      s[i] = (N)GET(*(const T *)(const void *)(y + i * step)) / c[i];                              \
    }                                                                                              \
  }                                                                                                \
  static void keep_##name(int64_t n, const char *x, int64_t step, const void *best,                \
                          const void *shares, void *kept) {                                        \
    const N *b = best, *s = shares;                                                                \
    N *k = kept;                                                                                   \
    BY_STEP(T, step, KEEP_LOOP, T, N, GET)                                                         \
  }                                                                                                \
  static void give_##name(int64_t n, const void *shares, char *to, int64_t step) {                 \
    const N *s = shares;                                                                           \
    N *t = (N *)(void *)to;                                                                        \
    if (step == 1) {                                                                               \
      GIVE_LOOP(1)                                                                                 \
    } else {                                                                                       \
      GIVE_LOOP(step)                                                                              \
    }                                                                                              \
  }                                                                                                \
  static void set_divisors_##name(int64_t n, const int64_t *counts, void *divisors) {              \
    N *d = divisors;                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                              \
      d[i] = (N)counts[i];                                                                         \
    }                                                                                              \
  }

#define SAME(x) (x)
#define MORE(a, b) ((b) > (a) ? (b) : (a))

/* NaN if either is, and of zeros the positive one: equal numbers differ in the sign of zero alone.
 * Written without a branch, or else compilers make one that vectors can't take. */
#define LARGER_FLOAT(F, I, bits)                                                                   \
  static inline F larger_of_##bits(F a, F b) {                                                     \
    F most = ((b > a) | (b != b)) ? b : a;                                                         \
    I most_bits, b_bits, keep = -(I)(a != b);                                                      \
    memcpy(&most_bits, &most, sizeof most);                                                        \
    memcpy(&b_bits, &b, sizeof b);                                                                 \
    most_bits &= b_bits | keep;                                                                    \
    memcpy(&most, &most_bits, sizeof most);                                                        \
    return most;                                                                                   \
  }
LARGER_FLOAT(float, int32_t, 32)
LARGER_FLOAT(double, int64_t, 64)

#define INTEGER(name, T, N, LEAST) ORDER(name, T, N, LEAST, SAME, SAME, MORE)
INTEGER(i8, int8_t, int64_t, INT64_MIN)
INTEGER(i16, int16_t, int64_t, INT64_MIN)
INTEGER(i32, int32_t, int64_t, INT64_MIN)
INTEGER(i64, int64_t, int64_t, INT64_MIN)
INTEGER(u8, uint8_t, uint64_t, 0) /* bools too */
INTEGER(u16, uint16_t, uint64_t, 0)
INTEGER(u32, uint32_t, uint64_t, 0)
INTEGER(u64, uint64_t, uint64_t, 0)
#define FLOAT(name, T, N, GET, PUT, LARGER)                                                        \
  ORDER(name, T, N, (N)-__builtin_inff(), GET, PUT, LARGER)                                        \
  ARITHMETIC(name, T, N, GET)
FLOAT(f16, uint16_t, float, gemel__f16_to_f32, gemel__f32_to_f16, larger_of_32)
FLOAT(bf16, uint16_t, float, gemel__bf16_to_f32, gemel__f32_to_bf16, larger_of_32)
FLOAT(f32, float, float, SAME, SAME, larger_of_32)
FLOAT(f64, double, double, SAME, SAME, larger_of_64)

#define ORDER_LOOPS(name, N)                                                                       \
  .number_bytes = sizeof(N), .begin = begin_##name, .larger = larger_##name, .put = put_##name
#define INTEGER_LOOPS(name)                                                                        \
  { ORDER_LOOPS(name, int64_t) }
#define FLOAT_LOOPS(name, N)                                                                       \
  {                                                                                                \
    ORDER_LOOPS(name, N), .count = count_##name, .pick = pick_##name, .add = add_##name,           \
                          .divide = divide_##name, .share = share_##name, .keep = keep_##name,     \
                          .give = give_##name, .set_divisors = set_divisors_##name                 \
  }
static const loops loops_of[GEMEL_DTYPE_COUNT] = {
    [GEMEL_BOOL] = INTEGER_LOOPS(u8),        [GEMEL_I8] = INTEGER_LOOPS(i8),
    [GEMEL_I16] = INTEGER_LOOPS(i16),        [GEMEL_I32] = INTEGER_LOOPS(i32),
    [GEMEL_I64] = INTEGER_LOOPS(i64),        [GEMEL_U8] = INTEGER_LOOPS(u8),
    [GEMEL_U16] = INTEGER_LOOPS(u16),        [GEMEL_U32] = INTEGER_LOOPS(u32),
    [GEMEL_U64] = INTEGER_LOOPS(u64),        [GEMEL_F16] = FLOAT_LOOPS(f16, float),
    [GEMEL_BF16] = FLOAT_LOOPS(bf16, float), [GEMEL_F32] = FLOAT_LOOPS(f32, float),
    [GEMEL_F64] = FLOAT_LOOPS(f64, double),
};

/* ---- Operands ---- */

/* Strides in bytes; axes that there aren't are not walked along. */
typedef struct pool_operand {
  char *data;
  int64_t first, second, axis[AXES];
} pool_operand;

typedef struct pooling {
  gemel__pooling g;
  loops loops;
  pool_operand image, other, out; /* other: y or t of the definitions */
} pooling;

static pool_operand operand_of(const gemel_view *view) {
  pool_operand o = {view->data, view->strides[0], view->strides[1], {0}};
  int axes = view->rank - 2;
  memcpy(o.axis + AXES - axes, view->strides + 2, (size_t)axes * sizeof *o.axis);
  return o;
}

/* A chunk of places: N from PLACE on, along the last axis, of image I and channel J. */
typedef struct pool_chunk {
  const pooling *p;
  int64_t i, j, place[AXES], n;
  char *sums; /* an image, to which shares are given */
  pool_number best[CHUNK], counts[CHUNK], values[CHUNK], kept[CHUNK];
} pool_chunk;

static char *at(const pool_operand *o, const pool_chunk *c, const int64_t *index) {
  char *data = o->data + c->i * o->first + c->j * o->second;
  for (int k = 0; k < AXES; k++) {
    data += index[k] * o->axis[k];
  }
  return data;
}

static void *number_at(void *first, const pool_chunk *c, int64_t k) {
  return (char *)first + (size_t)k * c->p->loops.number_bytes;
}

static char *sum_at(const pool_chunk *c, const int64_t *image) {
  const int64_t *sizes = c->p->g.image;
  return number_at(c->sums, c, (image[0] * sizes[1] + image[1]) * sizes[2] + image[2]);
}

/* ---- Windows ---- */

/* Does something at N places from number FROM of a chunk, the first of which meets IMAGE. */
typedef void (*pool_visitor)(pool_chunk *c, int64_t from, int64_t n, const int64_t *image);

static int64_t divide_up(int64_t a, int64_t b) {
  return a > 0 ? (a + b - 1) / b : 0;
}

/* Visits what element REACH of a window along the last axis meets; IMAGE has the other axes. */
static void visit_run(pool_chunk *c, int64_t reach, int64_t *image, pool_visitor visit) {
  const gemel__pooling *g = &c->p->g;
  int64_t s = g->stride[2], start = c->place[2] * s + reach - g->low[2];
  int64_t from = divide_up(-start, s), end = divide_up(g->image[2] - start, s);
  end = end < c->n ? end : c->n;
  if (from < end) {
    image[2] = start + from * s;
    visit(c, from, end - from, image);
  }
}

static int meet(const gemel__pooling *g, int k, int64_t place, int64_t element, int64_t *image) {
  image[k] = place * g->stride[k] + element * g->dilation[k] - g->low[k];
  return image[k] >= 0 && image[k] < g->image[k];
}

static int gives(gemel__pool_kind kind) {
  return kind == GEMEL__POOL_MAX_GRAD || kind == GEMEL__POOL_AVG_GRAD;
}

/* Where windows give to an image it is visited backwards along a row: then what an element is given
 * is added in the order of places. */
static void visit_windows(pool_chunk *c, pool_visitor visit) {
  const gemel__pooling *g = &c->p->g;
  int64_t image[AXES];
  int64_t size = g->size[2];
  for (int64_t a = 0; a < g->size[0]; a++) {
    for (int64_t b = 0; b < g->size[1]; b++) {
      if (meet(g, 0, c->place[0], a, image) && meet(g, 1, c->place[1], b, image)) {
        for (int64_t k = 0; k < size; k++) {
          visit_run(c, (gives(g->kind) ? size - 1 - k : k) * g->dilation[2], image, visit);
        }
      }
    }
  }
}

static void visit_larger(pool_chunk *c, int64_t from, int64_t n, const int64_t *image) {
  const pool_operand *x = &c->p->image;
  c->p->loops.larger(n, at(x, c, image), x->axis[2] * c->p->g.stride[2],
                     number_at(c->best, c, from));
}

static void visit_count(pool_chunk *c, int64_t from, int64_t n, const int64_t *image) {
  const pool_operand *x = &c->p->image;
  c->p->loops.count(n, at(x, c, image), x->axis[2] * c->p->g.stride[2], number_at(c->best, c, from),
                    number_at(c->counts, c, from));
}

static void visit_pick(pool_chunk *c, int64_t from, int64_t n, const int64_t *image) {
  const pool_operand *x = &c->p->image, *t = &c->p->other;
  int64_t s = c->p->g.stride[2];
  c->p->loops.pick(n, at(x, c, image), x->axis[2] * s, number_at(c->best, c, from), at(t, c, image),
                   t->axis[2] * s, number_at(c->values, c, from));
}

static void visit_add(pool_chunk *c, int64_t from, int64_t n, const int64_t *image) {
  const pool_operand *x = &c->p->image;
  c->p->loops.add(n, at(x, c, image), x->axis[2] * c->p->g.stride[2],
                  number_at(c->values, c, from));
}

static void give(pool_chunk *c, int64_t n, const void *shares, const int64_t *image) {
  c->p->loops.give(n, shares, sum_at(c, image), c->p->g.stride[2]);
}

static void visit_give_largest(pool_chunk *c, int64_t from, int64_t n, const int64_t *image) {
  const pool_operand *x = &c->p->image;
  c->p->loops.keep(n, at(x, c, image), x->axis[2] * c->p->g.stride[2], number_at(c->best, c, from),
                   number_at(c->values, c, from), c->kept);
  give(c, n, c->kept, image);
}

static void visit_give(pool_chunk *c, int64_t from, int64_t n, const int64_t *image) {
  give(c, n, number_at(c->values, c, from), image);
}

/* ---- Chunks ---- */

/* How many elements of the window at PLACE along an axis are no padding. */
static int64_t elements_along(const gemel__pooling *g, int k, int64_t place) {
  int64_t start = place * g->stride[k] - g->low[k], d = g->dilation[k];
  int64_t end = divide_up(g->image[k] - start, d);
  end = end < g->size[k] ? end : g->size[k];
  return g->count_padding ? g->size[k] : end - divide_up(-start, d);
}

static void find_divisors(pool_chunk *c) {
  const gemel__pooling *g = &c->p->g;
  int64_t counts[CHUNK];
  int64_t others = elements_along(g, 0, c->place[0]) * elements_along(g, 1, c->place[1]);
  for (int64_t k = 0; k < c->n; k++) {
    counts[k] = others * elements_along(g, 2, c->place[2] + k);
  }
  c->p->loops.set_divisors(c->n, counts, c->counts);
}

static void find_largest(pool_chunk *c) {
  c->p->loops.begin(c->n, c->best);
  visit_windows(c, visit_larger);
}

static void count_largest(pool_chunk *c) {
  find_largest(c);
  memset(c->counts, 0, (size_t)c->n * sizeof *c->counts);
  visit_windows(c, visit_count);
}

static void put(const pool_chunk *c, const void *from) {
  c->p->loops.put(c->n, from, at(&c->p->out, c, c->place), c->p->out.axis[2]);
}

static void run_max(pool_chunk *c) {
  find_largest(c);
  put(c, c->best);
}

static void run_pick(pool_chunk *c) {
  count_largest(c);
  memset(c->values, 0, (size_t)c->n * sizeof *c->values);
  visit_windows(c, visit_pick);
  c->p->loops.divide(c->n, c->values, c->counts);
  put(c, c->values);
}

static void run_avg(pool_chunk *c) {
  memset(c->values, 0, (size_t)c->n * sizeof *c->values);
  visit_windows(c, visit_add);
  find_divisors(c);
  c->p->loops.divide(c->n, c->values, c->counts);
  put(c, c->values);
}

static void find_shares(pool_chunk *c) {
  const pool_operand *y = &c->p->other;
  c->p->loops.share(c->n, at(y, c, c->place), y->axis[2], c->counts, c->values);
}

static void run_max_grad(pool_chunk *c) {
  count_largest(c);
  find_shares(c);
  visit_windows(c, visit_give_largest);
}

static void run_avg_grad(pool_chunk *c) {
  find_divisors(c);
  find_shares(c);
  visit_windows(c, visit_give);
}

/* ---- Images ---- */

static void (*const chunk_runs[GEMEL__POOL_KINDS])(pool_chunk *c) = {
    [GEMEL__POOL_MAX] = run_max,
    [GEMEL__POOL_MAX_GRAD] = run_max_grad,
    [GEMEL__POOL_MAX_PICK] = run_pick,
    [GEMEL__POOL_AVG] = run_avg,
    [GEMEL__POOL_AVG_GRAD] = run_avg_grad};

static int64_t image_bytes(const gemel__pooling *g, gemel_dtype dtype) {
  int64_t bytes = (int64_t)loops_of[dtype].number_bytes;
  return gives(g->kind) ? bytes * (g->image[0] * g->image[1] * g->image[2]) : 0;
}

static void put_image(const pool_chunk *c) {
  const gemel__pooling *g = &c->p->g;
  int64_t row[AXES] = {0};
  for (row[0] = 0; row[0] < g->image[0]; row[0]++) {
    for (row[1] = 0; row[1] < g->image[1]; row[1]++) {
      c->p->loops.put(g->image[2], sum_at(c, row), at(&c->p->out, c, row), c->p->out.axis[2]);
    }
  }
}

/* The image and channel of number INDEX. SUMS: scratch memory of BYTES. */
static void run_image(const pooling *p, int64_t index, char *sums, size_t bytes) {
  const gemel__pooling *g = &p->g;
  pool_chunk c;
  c.p = p;
  c.i = index / g->channels;
  c.j = index % g->channels;
  c.sums = sums;
  if (bytes > 0) {
    memset(sums, 0, bytes);
  }
  for (int64_t row = 0; row < g->out[0] * g->out[1]; row++) {
    c.place[0] = row / g->out[1];
    c.place[1] = row % g->out[1];
    for (c.place[2] = 0; c.place[2] < g->out[2]; c.place[2] += CHUNK) {
      c.n = g->out[2] - c.place[2] < CHUNK ? g->out[2] - c.place[2] : CHUNK;
      chunk_runs[g->kind](&c);
    }
  }
  if (bytes > 0) {
    put_image(&c);
  }
}

static gemel_status prepare(gemel_kernel_call *call, gemel__pool_kind kind) {
  gemel__pooling g = gemel__pool_of(call, kind);
  call->scratch_bytes = gemel__bytes(image_bytes(&g, call->outputs[0].dtype) * call->threads);
  return GEMEL_OK;
}

static gemel_status run(const gemel_kernel_call *call, gemel__pool_kind kind) {
  gemel_dtype dtype = call->outputs[0].dtype;
  pooling p = {.g = gemel__pool_of(call, kind), .loops = loops_of[dtype]};
  size_t bytes = (size_t)image_bytes(&p.g, dtype);
  int two = kind == GEMEL__POOL_MAX_GRAD || kind == GEMEL__POOL_MAX_PICK;
  int threads = gemel__pool_work(&p.g) > WORTH_THREADS ? call->threads : 1;
  p.image = operand_of(&call->inputs[0]);
  p.other = operand_of(&call->inputs[two]);
  p.out = operand_of(&call->outputs[0]);
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
#else
  (void)threads;
#endif
  for (int64_t k = 0; k < p.g.batch * p.g.channels; k++) {
#ifdef _OPENMP
    size_t thread = (size_t)omp_get_thread_num();
#else
    size_t thread = 0;
#endif
    run_image(&p, k, bytes > 0 ? (char *)call->scratch + thread * bytes : NULL, bytes);
  }
  return GEMEL_OK;
}

#define DEFINE_KERNEL(name, KIND)                                                                  \
  static gemel_status prepare_##name(gemel_kernel_call *call) {                                    \
    return prepare(call, GEMEL__POOL_##KIND);                                                      \
  }                                                                                                \
  static gemel_status run_##name(const gemel_kernel_call *call) {                                  \
    return run(call, GEMEL__POOL_##KIND);                                                          \
  }                                                                                                \
  static gemel_status prepare_lanes_##name(gemel_kernel_call *call) {                              \
    return gemel__pool_lanes_prepare(call, GEMEL__POOL_##KIND, gemel__isa_best());                 \
  }                                                                                                \
  static gemel_status run_lanes_##name(const gemel_kernel_call *call) {                            \
    return gemel__pool_lanes_run(call, GEMEL__POOL_##KIND, gemel__isa_best());                     \
  }                                                                                                \
  const gemel_kernel gemel__##name##_kernels[] = {                                                 \
      {"lanes", prepare_lanes_##name, run_lanes_##name},                                           \
      {"plain", prepare_##name, run_##name},                                                       \
      {NULL, NULL, NULL}};
DEFINE_KERNEL(max_pool, MAX)
DEFINE_KERNEL(max_pool_grad, MAX_GRAD)
DEFINE_KERNEL(max_pool_pick, MAX_PICK)
DEFINE_KERNEL(avg_pool, AVG)
DEFINE_KERNEL(avg_pool_grad, AVG_GRAD)
