/* SPDX-License-Identifier: MIT
 *
 * How softmax and cross_entropy go through operands of any strides. Lanes (see softmax.h) are done
 * in groups, those of a group side by side in memory, and a group in chunks of elements that the
 * first-level cache holds: f32 and f64 that lie in order are read and written where they are,
 * anything else is copied into a buffer, half types as f32. Where a lane is one chunk, it is read
 * once; a longer one is gone through once for the largest element, once for the sum, and once for
 * the results. Where it is neighbouring lanes that are contiguous, softmax goes through many of
 * them at once, row by row. The vector loops are in softmax-kernels.c.
 */
#include "ops/softmax.h"

#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "core/strided.h"
#include "ops/reduce.h"
#include <gemel/context.h>

enum {
  WORTH_THREADS = 1 << 15, /* elements from which a second thread pays */
  CHUNK = 2048,            /* elements of a buffer */
  GROUP = 64,              /* lanes of a group at most */
  ABREAST = 16,            /* lanes that lie abreast and use the same cache lines */
  STRIP = 128,             /* lanes side by side of which sums are held */
  COLUMNS = 1024           /* lanes that are gone through row by row, at most */
};

#ifdef _OPENMP
#define PARALLEL(threads) GEMEL__LANES_PRAGMA(omp parallel for num_threads(threads) schedule(static))
#else
#define PARALLEL(threads)
#endif
#define GEMEL__LANES_PRAGMA(text) _Pragma(#text)

/* ---- Groups ---- */

/* An operand with the logits' shape, or softmax's result. */
typedef struct lane_operand {
  char *data;
  int64_t step, across;          /* bytes from element to element and from lane to lane */
  int64_t outer[GEMEL_MAX_RANK]; /* strides of the other axes */
  int direct;                    /* read or written where it is */
} lane_operand;

typedef struct lane_job {
  const gemel__softmax_kernels *kernels;
  const gemel__reducer *max;
  gemel_dtype dtype;
  size_t item, bytes; /* of an element in memory and in a buffer */
  int64_t n, lanes;   /* elements of a lane, lanes that lie evenly apart */
  int64_t chunk, group, groups;
  int rank; /* of the axes outside those lanes */
  int64_t sizes[GEMEL_MAX_RANK];
  lane_operand x, other;
} lane_job;

/* Some lanes of a job, in chunks. */
typedef struct lane_group {
  int64_t number, count; /* of the first lane; of lanes */
  char *x, *other;
  double max[GROUP], total[GROUP];
} lane_group;

/* Elements as the kernels take them: lanes STEP bytes apart. */
typedef struct chunk {
  char *data;
  int64_t step;
} chunk;

static int is_half(gemel_dtype dtype) {
  return dtype == GEMEL_F16 || dtype == GEMEL_BF16;
}

/* The axes of both views but AXIS, merged where they continue each other; the last is that of the
 * groups. */
static void set_operands(lane_job *j, const gemel_view *x, const gemel_view *other, int axis) {
  int64_t strides[2][GEMEL_MAX_RANK];
  const gemel_view *views[2] = {x, other};
  lane_operand *operands[2] = {&j->x, &j->other};
  int k, v, rank = 0;
  for (k = 0; k < x->rank; k++) {
    if (k != axis) {
      j->sizes[rank] = x->shape[k];
      strides[0][rank] = x->strides[k];
      strides[1][rank++] = other->strides[k];
    }
  }
  rank = gemel__collapse(rank, j->sizes, 2, strides[0], GEMEL_MAX_RANK);
  j->lanes = rank > 0 ? j->sizes[rank - 1] : 1;
  j->rank = rank > 0 ? rank - 1 : 0;
  for (v = 0; v < 2; v++) {
    operands[v]->data = views[v]->data;
    operands[v]->step = views[v]->strides[axis];
    operands[v]->across = rank > 0 ? strides[v][rank - 1] : 0;
    operands[v]->direct =
        !is_half(x->dtype) && (operands[v]->step == (int64_t)j->item || j->n == 1);
    memcpy(operands[v]->outer, strides[v], sizeof operands[v]->outer);
  }
}

/* 0 if there are no lanes. */
static int make_job(lane_job *j, const gemel_view *x, const gemel_view *other, int axis) {
  gemel_dtype dtype = is_half(x->dtype) ? GEMEL_F32 : x->dtype;
  int64_t outer = 1, fit;
  memset(j, 0, sizeof *j);
  j->kernels = gemel__softmax_kernels_for(dtype, gemel__isa_best());
  j->max = gemel__reducer_for(GEMEL__REDUCE_MAX, dtype, gemel__isa_best());
  j->dtype = x->dtype;
  j->item = gemel_dtype_size(x->dtype);
  j->bytes = gemel_dtype_size(dtype);
  j->n = x->shape[axis];
  set_operands(j, x, other, axis);
  for (int k = 0; k < j->rank; k++) {
    outer *= j->sizes[k];
  }
  fit = CHUNK / (j->n > 0 ? j->n : 1);
  fit = fit > 0 ? fit : j->x.direct && j->other.direct ? 1 : ABREAST;
  fit = fit < GROUP ? fit : GROUP;
  j->group = fit < j->lanes ? fit : j->lanes;
  if (j->group == 0 || outer == 0) {
    return 0;
  }
  j->chunk = CHUNK / j->group;
  j->groups = outer * ((j->lanes + j->group - 1) / j->group);
  return 1;
}

static void open_group(const lane_job *j, int64_t index, lane_group *g) {
  int64_t row = (j->lanes + j->group - 1) / j->group, outer = index / row;
  int64_t first = index % row * j->group, left = j->lanes - first;
  g->count = left < j->group ? left : j->group;
  g->number = outer * j->lanes + first;
  g->x = j->x.data + first * j->x.across;
  g->other = j->other.data + first * j->other.across;
  for (int k = j->rank - 1; k >= 0; k--) {
    g->x += outer % j->sizes[k] * j->x.outer[k];
    g->other += outer % j->sizes[k] * j->other.outer[k];
    outer /= j->sizes[k];
  }
}

/* The M elements from FROM on of each lane at BASE, in BUFFER if they don't lie as they should. */
static chunk load(const lane_job *j, const lane_operand *o, const lane_group *g, char *base,
                  int64_t from, int64_t m, char *buffer) {
  int64_t shape[2] = {g->count, m}, strides[2] = {o->across, o->step};
  int64_t packed[2] = {m * (int64_t)j->item, (int64_t)j->item};
  uint16_t raw[CHUNK];
  chunk c = {base + from * o->step, o->across};
  if (!o->direct) {
    gemel__copy_strided(j->item, 2, shape, is_half(j->dtype) ? (char *)raw : buffer, packed, c.data,
                        strides);
    if (is_half(j->dtype)) {
      gemel__half_to_f32(j->dtype, (size_t)(g->count * m), (float *)(void *)buffer, raw);
    }
    c.data = buffer;
    c.step = m * (int64_t)j->bytes;
  }
  return c;
}

/* Where results of a chunk go: into the result itself, or BUFFER. */
static chunk place(const lane_job *j, const lane_group *g, int64_t from, int64_t m, char *buffer) {
  chunk direct = {g->other + from * j->other.step, j->other.across};
  chunk buffered = {buffer, m * (int64_t)j->bytes};
  return j->other.direct ? direct : buffered;
}

static void store(const lane_job *j, const lane_group *g, int64_t from, int64_t m,
                  const char *buffer) {
  int64_t shape[2] = {g->count, m}, strides[2] = {j->other.across, j->other.step};
  int64_t packed[2] = {m * (int64_t)j->item, (int64_t)j->item};
  uint16_t raw[CHUNK];
  if (j->other.direct) {
    return;
  }
  if (is_half(j->dtype)) {
    gemel__half_from_f32(j->dtype, (size_t)(g->count * m), raw,
                         (const float *)(const void *)buffer);
    buffer = (const char *)raw;
  }
  gemel__copy_strided(j->item, 2, shape, g->other + from * j->other.step, strides, buffer, packed);
}

static int64_t chunk_at(const lane_job *j, int64_t from) {
  return j->n - from < j->chunk ? j->n - from : j->chunk;
}

/* ---- Passes over a group ---- */

/* The largest element of each lane: NaN if there is one, -inf if there is none. C is left with the
 * last chunk. */
static void find_largest(const lane_job *j, lane_group *g, char *buffer, chunk *c) {
  gemel__acc keys[GROUP], key;
  j->max->init((size_t)g->count, keys);
  for (int64_t from = 0; from < j->n; from += j->chunk) {
    int64_t m = chunk_at(j, from);
    *c = load(j, &j->x, g, g->x, from, m, buffer);
    for (int64_t k = 0; k < g->count; k++) {
      j->max->block((size_t)m, c->data + k * c->step, &key);
      j->max->merge(1, (char *)keys + (size_t)k * j->max->acc_bytes, &key);
    }
  }
  for (int64_t k = 0; k < g->count; k++) {
    gemel__acc largest;
    j->max->finish(1, (char *)keys + (size_t)k * j->max->acc_bytes, &largest);
    g->max[k] = j->bytes == sizeof(float) ? (double)largest.f32 : largest.f64;
    g->max[k] = j->n == 0 ? -INFINITY : g->max[k];
    g->total[k] = 0;
  }
}

/* exp(x - max) of a chunk to TO; adds it up. */
static void take_exp(const lane_job *j, lane_group *g, chunk from, chunk to, int64_t m) {
  for (int64_t k = 0; k < g->count; k++) {
    j->kernels->exp((size_t)m, from.data + k * from.step, g->max[k], to.data + k * to.step);
    g->total[k] += j->kernels->sum((size_t)m, to.data + k * to.step);
  }
}

static void divide(const lane_job *j, const lane_group *g, chunk c, int64_t m) {
  for (int64_t k = 0; k < g->count; k++) {
    j->kernels->divide((size_t)m, c.data + k * c.step, g->total[k], c.data + k * c.step);
  }
}

/* The totals of lanes of several chunks; X and WORK are buffers. */
static void find_totals(const lane_job *j, lane_group *g, char *x, char *work) {
  for (int64_t from = 0; from < j->n; from += j->chunk) {
    int64_t m = chunk_at(j, from);
    chunk to = {work, m * (int64_t)j->bytes};
    take_exp(j, g, load(j, &j->x, g, g->x, from, m, x), to, m);
  }
}

static void softmax_group(const lane_job *j, int64_t index) {
  _Alignas(64) char x[CHUNK * sizeof(double)], out[CHUNK * sizeof(double)];
  lane_group g;
  chunk c, to;
  open_group(j, index, &g);
  find_largest(j, &g, x, &c);
  if (j->n <= j->chunk) {
    to = place(j, &g, 0, j->n, out);
    take_exp(j, &g, c, to, j->n);
    divide(j, &g, to, j->n);
    store(j, &g, 0, j->n, out);
    return;
  }
  find_totals(j, &g, x, out);
  for (int64_t from = 0; from < j->n; from += j->chunk) {
    int64_t m = chunk_at(j, from), k;
    c = load(j, &j->x, &g, g.x, from, m, x);
    to = place(j, &g, from, m, out);
    for (k = 0; k < g.count; k++) {
      j->kernels->exp((size_t)m, c.data + k * c.step, g.max[k], to.data + k * to.step);
    }
    divide(j, &g, to, m);
    store(j, &g, from, m, out);
  }
}

/* Results of the losses lie in the order of the lanes. */
static void put_loss(const lane_job *j, char *out, int64_t lane, double loss) {
  float rounded = (float)loss;
  out += lane * (int64_t)j->item;
  if (is_half(j->dtype)) {
    gemel__half_from_f32(j->dtype, 1, (uint16_t *)(void *)out, &rounded);
  } else if (j->dtype == GEMEL_F32) {
    *(float *)(void *)out = rounded;
  } else {
    *(double *)(void *)out = loss;
  }
}

static void loss_group(const lane_job *j, int64_t index, char *out) {
  _Alignas(64) char x[CHUNK * sizeof(double)], t[CHUNK * sizeof(double)];
  lane_group g;
  chunk c, with;
  double sums[GROUP] = {0};
  open_group(j, index, &g);
  find_largest(j, &g, x, &c);
  find_totals(j, &g, x, t);
  for (int64_t from = 0; from < j->n; from += j->chunk) {
    int64_t m = chunk_at(j, from);
    c = load(j, &j->x, &g, g.x, from, m, x);
    with = load(j, &j->other, &g, g.other, from, m, t);
    for (int64_t k = 0; k < g.count; k++) {
      sums[k] += j->kernels->weigh((size_t)m, c.data + k * c.step, with.data + k * with.step,
                                   g.max[k], log(g.total[k]));
    }
  }
  for (int64_t k = 0; k < g.count; k++) {
    put_loss(j, out, g.number + k, sums[k]);
  }
}

/* ---- Lanes side by side ---- */

/* Rows of neighbouring lanes are contiguous in both operands, and the lanes are not. */
static int is_columns(const lane_job *j) {
  int64_t item = (int64_t)j->item;
  return !is_half(j->dtype) && j->lanes >= ABREAST && j->n > 1 && j->x.across == item &&
         j->other.across == item && j->x.step != item && j->other.step != item;
}

/* PART's rows are added up as the lanes of a register are in a sum along a row. */
static void fold_parts(double part[][STRIP], size_t n, double *total) {
  for (size_t half = GEMEL__SUM_LANES / 2; half > 0; half /= 2) {
    for (size_t r = 0; r < half; r++) {
      for (size_t k = 0; k < n; k++) {
        part[r][k] += part[r + half][k];
      }
    }
  }
  for (size_t k = 0; k < n; k++) {
    total[k] += part[0][k];
  }
}

/* exp(x - largest) of all rows of N neighbouring lanes from FIRST on, and their totals, to the bit
 * those that the lanes would have one by one. */
static void exp_strip(const lane_job *j, const lane_group *g, int64_t first, size_t n,
                      const char *largest, double *total) {
  const char *x = g->x + first * (int64_t)j->item;
  char *out = g->other + first * (int64_t)j->item;
  double part[GEMEL__SUM_LANES][STRIP];
  for (int64_t from = 0; from < j->n; from += CHUNK) {
    int64_t end = j->n - from < CHUNK ? j->n : from + CHUNK;
    memset(part, 0, sizeof part);
    for (int64_t row = from; row < end; row++) {
      j->kernels->exp_row(n, x + row * j->x.step, largest, out + row * j->other.step,
                          part[(row - from) % GEMEL__SUM_LANES]);
    }
    fold_parts(part, n, total);
  }
}

static void exp_columns(const lane_job *j, const lane_group *g, const gemel__acc *largest,
                        double *total) {
  for (int64_t first = 0; first < g->count; first += STRIP) {
    int64_t left = g->count - first;
    exp_strip(j, g, first, (size_t)(left < STRIP ? left : STRIP),
              (const char *)largest + first * (int64_t)j->item, total + first);
  }
}

/* The lanes of a group at once, row by row: their largest elements, the powers, the division. */
static void softmax_columns(const lane_job *j, int64_t index) {
  gemel__acc keys[COLUMNS], largest[COLUMNS];
  double total[COLUMNS] = {0};
  lane_group g;
  open_group(j, index, &g);
  size_t width = (size_t)g.count;
  j->max->init(width, keys);
  j->max->rows((size_t)j->n, j->x.step, width, g.x, keys);
  j->max->finish(width, keys, largest);
  exp_columns(j, &g, largest, total);
  j->kernels->divide_rows((size_t)j->n, width, g.other, j->other.step, total);
}

/* Groups as wide as the threads have lanes to share. */
static void widen_groups(lane_job *j, int threads) {
  int64_t outer = j->groups / ((j->lanes + j->group - 1) / j->group);
  int64_t width = j->lanes * outer / threads;
  width = width > COLUMNS ? COLUMNS : width < ABREAST ? ABREAST : width;
  j->group = width < j->lanes ? width : j->lanes;
  j->groups = outer * ((j->lanes + j->group - 1) / j->group);
}

static int useful_threads(const lane_job *j, int threads) {
  return threads > 1 && (double)j->groups * (double)j->group * (double)j->n > WORTH_THREADS
             ? threads
             : 1;
}

void gemel__softmax_run(const gemel_view *x, const gemel_view *out, int axis, int threads) {
  void (*way)(const lane_job *j, int64_t index) = softmax_group;
  lane_job j;
  if (!make_job(&j, x, out, axis) || j.n == 0) {
    return;
  }
  threads = useful_threads(&j, threads);
  if (is_columns(&j)) {
    widen_groups(&j, threads);
    way = softmax_columns;
  }
  PARALLEL(threads)
  for (int64_t index = 0; index < j.groups; index++) {
    way(&j, index);
  }
}

void gemel__softmax_loss(const gemel_view *x, const gemel_view *targets, const gemel_view *out,
                         int axis, int threads) {
  lane_job j;
  if (!make_job(&j, x, targets, axis)) {
    return;
  }
  threads = useful_threads(&j, threads);
  PARALLEL(threads)
  for (int64_t index = 0; index < j.groups; index++) {
    loss_group(&j, index, out->data);
  }
}

/* ---- Targets ---- */

/* A view's elements by number, in row-major order. */
typedef struct lanes {
  char *data;
  int rank;
  int64_t sizes[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
} lanes;

static lanes take_apart(const gemel_view *x) {
  lanes l = {x->data, x->rank, {0}, {0}};
  for (int k = 0; k < x->rank; k++) {
    l.sizes[k] = x->shape[k];
    l.strides[k] = x->strides[k];
  }
  return l;
}

static int64_t count_lanes(const lanes *l) {
  int64_t count = 1;
  for (int k = 0; k < l->rank; k++) {
    count *= l->sizes[k];
  }
  return count;
}

static char *lane_at(const lanes *l, int64_t lane) {
  char *at = l->data;
  for (int k = l->rank - 1; k >= 0; k--) {
    at += lane % l->sizes[k] * l->strides[k];
    lane /= l->sizes[k];
  }
  return at;
}

/* An integer of any dtype; a u64 beyond int64_t becomes negative, which is out of range as well. */
static int64_t load_integer(gemel_dtype dtype, const void *at) {
  switch (dtype) {
#define LOAD_CASE(E, name, bytes, kind, ctype)                                                     \
  case GEMEL_##E:                                                                                  \
    return (int64_t) * (const ctype *)at;
    GEMEL_DTYPE_TABLE(LOAD_CASE)
#undef LOAD_CASE
  default:
    return -1;
  }
}

/* TARGETS has the lanes' shape. */
static void index_loss_group(const lane_job *j, int64_t index, const lanes *from, gemel_dtype dtype,
                             char *out) {
  _Alignas(64) char x[CHUNK * sizeof(double)], work[CHUNK * sizeof(double)];
  lane_group g;
  chunk c;
  int64_t k;
  open_group(j, index, &g);
  find_largest(j, &g, x, &c);
  find_totals(j, &g, x, work);
  for (k = 0; k < g.count; k++) {
    int64_t target = load_integer(dtype, lane_at(from, g.number + k));
    lane_group one = g;
    double logit;
    one.count = 1;
    c = load(j, &j->x, &one, g.x + k * j->x.across, target, 1, x);
    logit =
        j->bytes == sizeof(float) ? (double)*(float *)(void *)c.data : *(double *)(void *)c.data;
    put_loss(j, out, g.number + k, (g.max[k] - logit) + log(g.total[k]));
  }
}

void gemel__softmax_index_loss(const gemel_view *x, const gemel_view *targets,
                               const gemel_view *out, int axis, int threads) {
  lanes with = take_apart(targets);
  lane_job j;
  if (!make_job(&j, x, x, axis)) {
    return;
  }
  threads = useful_threads(&j, threads);
  PARALLEL(threads)
  for (int64_t index = 0; index < j.groups; index++) {
    index_loss_group(&j, index, &with, targets->dtype, out->data);
  }
}

int gemel__targets_fit(const gemel_view *targets, int64_t classes, int64_t *element,
                       int64_t *target) {
  lanes l = take_apart(targets);
  int64_t count = count_lanes(&l);
  for (*element = 0; *element < count; ++*element) {
    *target = load_integer(targets->dtype, lane_at(&l, *element));
    if (*target < 0 || *target >= classes) {
      return 0;
    }
  }
  return 1;
}
