/* SPDX-License-Identifier: MIT
 *
 * How cumsum and argsort run. Lanes lie side by side along the last axis that isn't theirs; a strip
 * of such neighbours is added up together, element by element, so that loops run over what lies
 * side by side. For argsort the elements of a lane become numbers without sign whose order is
 * theirs, and these are merged in runs with the places that they come from, which keeps the order
 * of equal ones. Threads share strips and lanes; each lane is one thread's.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <string.h>
#include "core/dtype.h"
#include "core/strided.h"
#include "ops/along.h"
#include "ops/rule.h"

enum { X, OUT, SIDES, STRIP = 64, NARROW_STRIP = 8, WORTH_THREADS = 1 << 15 };

/* Lanes of LENGTH elements, STEP bytes apart from one to the next in the order that they are gone
 * through, from START. ACROSS neighbours lie NEXT bytes apart, OUTERS times over the other axes. */
typedef struct along_lanes {
  int64_t length, across, outers;
  int64_t step[SIDES], start[SIDES], next[SIDES];
  int rank;
  int64_t sizes[GEMEL_MAX_RANK], strides[SIDES][GEMEL_MAX_RANK];
  char *data[SIDES];
} along_lanes;

static along_lanes make_lanes(const gemel_view *x, const gemel_view *out, int64_t given,
                              int backwards) {
  const gemel_view *const views[SIDES] = {x, out};
  int axis = gemel__axis(given, x->rank);
  along_lanes l = {.length = x->shape[axis], .across = 1, .outers = 1};
  for (int k = 0; k < x->rank; k++) {
    if (k != axis) {
      l.sizes[l.rank] = x->shape[k];
      l.strides[X][l.rank] = x->strides[k];
      l.strides[OUT][l.rank++] = out->strides[k];
      l.outers *= x->shape[k];
    }
  }
  if (l.outers > 0) {
    l.rank = gemel__collapse(l.rank, l.sizes, SIDES, &l.strides[0][0], GEMEL_MAX_RANK);
  }
  if (l.outers > 0 && l.rank > 0) {
    l.across = l.sizes[--l.rank];
    l.outers /= l.across;
  }
  for (int side = 0; side < SIDES; side++) {
    l.data[side] = views[side]->data;
    l.step[side] = views[side]->strides[axis] * (backwards ? -1 : 1);
    l.start[side] = backwards ? (l.length - 1) * views[side]->strides[axis] : 0;
    l.next[side] = l.across > 1 ? l.strides[side][l.rank] : 0;
  }
  return l;
}

/* Where lane FIRST of outer element OUTER begins. */
static char *begin_of(const along_lanes *l, int side, int64_t outer, int64_t first) {
  char *at = l->data[side] + l->start[side] + first * l->next[side];
  for (int k = l->rank - 1; k >= 0; k--) {
    at += outer % l->sizes[k] * l->strides[side][k];
    outer /= l->sizes[k];
  }
  return at;
}

static int threads_for(const along_lanes *l, int threads) {
  return l->outers * l->across * l->length < WORTH_THREADS ? 1 : threads;
}

/* ---- cumsum ---- */

/* Adds up N lanes from X on. */
typedef void (*strip_function)(const along_lanes *l, int64_t n, int exclusive, const char *x,
                               char *out);

#define STRIPS(name, element, sum_type, result, load, store)                                       \
  static void strip_##name(const along_lanes *l, int64_t n, int exclusive, const char *x,          \
                           char *out) {                                                            \
    int64_t x_next = l->next[X], out_next = l->next[OUT];                                          \
    sum_type sums[STRIP] = {0};                                                                    \
    for (int64_t k = 0; k < l->length; k++, x += l->step[X], out += l->step[OUT]) {                \
      if (x_next == (int64_t)sizeof(element) && out_next == (int64_t)sizeof(result)) {             \
        STRIP_ROW(element, sum_type, result, load, store, (int64_t)sizeof(element),                \
                  (int64_t)sizeof(result))                                                         \
      } else {                                                                                     \
        STRIP_ROW(element, sum_type, result, load, store, x_next, out_next)                        \
      }                                                                                            \
    }                                                                                              \
  }
#define STRIP_ROW(element, sum_type, result, load, store, x_next, out_next)                        \
  for (int64_t j = 0; j < n; j++) {                                                                \
    sum_type before = sums[j];                                                                     \
    sums[j] = before + load(*(const element *)(const void *)(x + j * (x_next)));                   \
    *(result *)(void *)(out + j * (out_next)) = store(exclusive ? before : sums[j]);               \
  }
#define WORD(x) (uint64_t)(x)
STRIPS(bool, uint8_t, uint64_t, uint64_t, WORD, )
STRIPS(i8, int8_t, uint64_t, uint64_t, WORD, )
STRIPS(i16, int16_t, uint64_t, uint64_t, WORD, )
STRIPS(i32, int32_t, uint64_t, uint64_t, WORD, )
STRIPS(i64, int64_t, uint64_t, uint64_t, WORD, )
STRIPS(u8, uint8_t, uint64_t, uint64_t, WORD, )
STRIPS(u16, uint16_t, uint64_t, uint64_t, WORD, )
STRIPS(u32, uint32_t, uint64_t, uint64_t, WORD, )
STRIPS(u64, uint64_t, uint64_t, uint64_t, WORD, )
STRIPS(f16, uint16_t, float, uint16_t, gemel__f16_to_f32, gemel__f32_to_f16)
STRIPS(bf16, uint16_t, float, uint16_t, gemel__bf16_to_f32, gemel__f32_to_bf16)
STRIPS(f32, float, float, float, , )
STRIPS(f64, double, double, double, , )

static const strip_function strips[GEMEL_DTYPE_COUNT] = {
#define STRIP_OF(E, name, bytes, kind, ctype) [GEMEL_##E] = strip_##name,
    GEMEL_DTYPE_TABLE(STRIP_OF)
#undef STRIP_OF
};

static gemel_status run_cumsum(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  along_lanes l = make_lanes(x, out, call->attrs[0].u.i, call->attrs[2].u.i != 0);
  int exclusive = call->attrs[1].u.i != 0;
  int64_t width = l.next[X] == gemel__view_item(x) ? STRIP : NARROW_STRIP;
  int64_t per_outer = (l.across + width - 1) / width, count = l.outers * per_outer;
#pragma omp parallel for num_threads(threads_for(&l, call->threads)) schedule(static)
  for (int64_t strip = 0; strip < count; strip++) {
    int64_t outer = strip / per_outer, first = strip % per_outer * width;
    int64_t n = l.across - first < width ? l.across - first : width;
    strips[x->dtype](&l, n, exclusive, begin_of(&l, X, outer, first),
                     begin_of(&l, OUT, outer, first));
  }
  return GEMEL_OK;
}

const gemel_kernel gemel__cumsum_kernels[] = {{"plain", NULL, run_cumsum}, {NULL, NULL, NULL}};

/* ---- argsort ---- */

/* An element's key, and where in its lane it stands. */
typedef struct entry {
  uint64_t key;
  int64_t place;
} entry;

/* The bits of a float as a number whose order is the float's: zeros are one, NaN is last. BITS
 * wide.
 */
#define FLOAT_KEY(x, word, highest)                                                                \
  word bits;                                                                                       \
  memcpy(&bits, &x, sizeof bits);                                                                  \
  return x != x   ? UINT64_MAX                                                                     \
         : x == 0 ? (uint64_t)(highest)                                                            \
                  : (uint64_t)(word)(bits & (highest) ? ~bits : bits | (highest))

static uint64_t f32_key(float x) {
  FLOAT_KEY(x, uint32_t, UINT32_C(1) << 31);
}

static uint64_t f64_key(double x) {
  FLOAT_KEY(x, uint64_t, UINT64_C(1) << 63);
}

static uint64_t key_of(gemel_dtype dtype, const void *at) {
  switch (dtype) {
  case GEMEL_F16:
    return f32_key(gemel__f16_to_f32(*(const uint16_t *)at));
  case GEMEL_BF16:
    return f32_key(gemel__bf16_to_f32(*(const uint16_t *)at));
  case GEMEL_F32:
    return f32_key(*(const float *)at);
  case GEMEL_F64:
    return f64_key(*(const double *)at);
#define WORD_KEY(E, ctype)                                                                         \
  case GEMEL_##E:                                                                                  \
    return (uint64_t)(int64_t) * (const ctype *)at ^ UINT64_C(1) << 63
    WORD_KEY(I8, int8_t);
    WORD_KEY(I16, int16_t);
    WORD_KEY(I32, int32_t);
    WORD_KEY(I64, int64_t);
#undef WORD_KEY
  case GEMEL_U16:
    return *(const uint16_t *)at;
  case GEMEL_U32:
    return *(const uint32_t *)at;
  case GEMEL_U64:
    return *(const uint64_t *)at;
  default:
    return *(const uint8_t *)at;
  }
}

enum { RUN = 12 };

/* Sorts N entries by insertion. */
static void sort_run(entry *e, int64_t n) {
  for (int64_t k = 1; k < n; k++) {
    entry one = e[k];
    int64_t j = k;
    for (; j > 0 && e[j - 1].key > one.key; j--) {
      e[j] = e[j - 1];
    }
    e[j] = one;
  }
}

/* TO = the LEFT entries at FROM, and those behind them up to N, in order. */
static void merge(const entry *from, int64_t left, int64_t n, entry *to) {
  int64_t i = 0, j = left;
  for (int64_t k = 0; k < n; k++) {
    int second = i == left || (j < n && from[j].key < from[i].key);
    to[k] = second ? from[j++] : from[i++];
  }
}

/* Sorts N entries with room for as many; which of the two has them. */
static entry *sort(entry *e, entry *room, int64_t n) {
  for (int64_t k = 0; k < n; k += RUN) {
    sort_run(e + k, n - k < RUN ? n - k : RUN);
  }
  for (int64_t run = RUN; run < n; run *= 2) {
    for (int64_t k = 0; k < n; k += 2 * run) {
      int64_t both = n - k < 2 * run ? n - k : 2 * run;
      merge(e + k, both < run ? both : run, both, room + k);
    }
    entry *sorted = room;
    room = e;
    e = sorted;
  }
  return e;
}

static void sort_lane(const along_lanes *l, gemel_dtype dtype, int descending, const char *x,
                      char *out, entry *scratch) {
  for (int64_t k = 0; k < l->length; k++) {
    uint64_t key = key_of(dtype, x + k * l->step[X]);
    scratch[k] = (entry){descending ? ~key : key, k};
  }
  const entry *sorted = sort(scratch, scratch + l->length, l->length);
  for (int64_t k = 0; k < l->length; k++) {
    *(int64_t *)(void *)(out + k * l->step[OUT]) = sorted[k].place;
  }
}

static gemel_status prepare_argsort(gemel_kernel_call *call) {
  along_lanes l = make_lanes(&call->inputs[0], &call->outputs[0], call->attrs[0].u.i, 0);
  call->scratch_bytes =
      2 * (size_t)threads_for(&l, call->threads) * (size_t)l.length * sizeof(entry);
  return GEMEL_OK;
}

static gemel_status run_argsort(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  along_lanes l = make_lanes(x, &call->outputs[0], call->attrs[0].u.i, 0);
  int64_t count = l.outers * l.across, parts = threads_for(&l, call->threads);
  entry *scratch = call->scratch;
#pragma omp parallel for num_threads((int)parts) schedule(static)
  for (int64_t part = 0; part < parts; part++) {
    for (int64_t lane = part; lane < count; lane += parts) {
      int64_t outer = lane / l.across, first = lane % l.across;
      sort_lane(&l, x->dtype, call->attrs[1].u.i != 0, begin_of(&l, X, outer, first),
                begin_of(&l, OUT, outer, first), scratch + 2 * part * l.length);
    }
  }
  return GEMEL_OK;
}

const gemel_kernel gemel__argsort_kernels[] = {{"plain", prepare_argsort, run_argsort},
                                               {NULL, NULL, NULL}};
