/* SPDX-License-Identifier: MIT
 *
 * How take and put run, for every dtype and any strides. First all indices become offsets in
 * bytes, and one that is out of range an error, before anything is read or written at it. Around
 * the axis lie outer axes and inner ones: for each outer element, and each index, the inner
 * elements are one row, copied at once where they lie together. Threads share take's rows; of put's
 * they share outer elements, or parts of rows, so that whatever meets at a place meets in the
 * indices' order, for any number of threads.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/dtype.h"
#include "core/strided.h"
#include "cpu/walk.h"
#include "ops/rule.h"
#include "ops/take.h"

enum { TABLE, OTHER, SIDES, WORTH_THREADS = 1 << 16 };

/* The table is x of take and put's result; the other side is take's result, and y. */
typedef struct places {
  int outer_rank, inner_rank;
  int64_t outer[GEMEL_MAX_RANK], inner[GEMEL_MAX_RANK];
  int64_t outer_strides[SIDES][GEMEL_MAX_RANK], inner_strides[SIDES][GEMEL_MAX_RANK];
  int64_t outers, inners, count; /* numbers of elements, of indices */
  int64_t item;
  char *data[SIDES];
  int64_t *offsets[SIDES]; /* of each index */
} places;

static gemel_status prepare(gemel_kernel_call *call) {
  call->scratch_bytes = (size_t)gemel__view_elements(&call->inputs[1]) * SIDES * sizeof(int64_t);
  return GEMEL_OK;
}

/* Sizes and strides of the axes BEGIN to END of TABLE, which are axes SHIFT behind that of OTHER;
 * how many elements they have. */
static int64_t axes_of(const gemel_view *table, const gemel_view *other, int begin, int end,
                       int shift, int64_t *sizes, int64_t (*strides)[GEMEL_MAX_RANK], int *rank) {
  int64_t elements = 1;
  for (int k = begin; k < end; k++) {
    sizes[k - begin] = table->shape[k];
    strides[TABLE][k - begin] = table->strides[k];
    strides[OTHER][k - begin] = other->strides[k + shift];
    elements *= table->shape[k];
  }
  *rank = elements == 0
              ? 0
              : gemel__collapse(end - begin, sizes, SIDES, &strides[0][0], GEMEL_MAX_RANK);
  return elements;
}

/* ---- Indices ---- */

/* *INDEX = the number at AT; 0 if it is none of -N to N - 1. */
static int load_index(gemel_dtype dtype, const void *at, int64_t n, int64_t *index) {
  switch (dtype) {
#define LOAD(E, name, bytes, kind, ctype)                                                          \
  case GEMEL_##E:                                                                                  \
    *index = (int64_t) * (const ctype *)at;                                                        \
    break;
    GEMEL_DTYPE_TABLE(LOAD)
#undef LOAD
  default:
    return 0;
  }
  if (dtype == GEMEL_U64 && *index < 0) {
    return 0;
  }
  return *index < n && *index >= -n;
}

/* Fills in the offsets of all indices. */
static gemel_status find_offsets(places *p, const gemel_view *indices, const gemel_view *table,
                                 const gemel_view *other, int axis, gemel_error *error) {
  int64_t at[GEMEL_MAX_RANK] = {0}, n = table->shape[axis], offset = 0;
  const char *from = indices->data;
  for (int64_t k = 0; k < p->count; k++) {
    int64_t index = 0;
    if (!load_index(indices->dtype, from, n, &index)) {
      char text[24];
      snprintf(text, sizeof text, indices->dtype == GEMEL_U64 ? "%" PRIu64 : "%" PRId64, index);
      return gemel__fail(error, GEMEL_BAD_VALUE,
                         "index %s (element %lld of the indices) is outside of axis %d, which has "
                         "size %lld",
                         text, (long long)k, axis, (long long)n);
    }
    index += index < 0 ? n : 0;
    p->offsets[TABLE][k] = index * table->strides[axis];
    p->offsets[OTHER][k] = offset;
    for (int j = indices->rank - 1; j >= 0; j--) {
      from += indices->strides[j];
      offset += other->strides[axis + j];
      if (++at[j] < indices->shape[j]) {
        break;
      }
      from -= indices->strides[j] * indices->shape[j];
      offset -= other->strides[axis + j] * indices->shape[j];
      at[j] = 0;
    }
  }
  return GEMEL_OK;
}

static gemel_status find_places(const gemel_kernel_call *call, const gemel_view *table,
                                const gemel_view *other, places *p) {
  const gemel_view *indices = &call->inputs[1];
  int axis = gemel__axis(call->attrs[0].u.i, table->rank);
  p->count = gemel__view_elements(indices);
  p->item = gemel__view_item(table);
  p->data[TABLE] = table->data;
  p->data[OTHER] = other->data;
  p->offsets[TABLE] = call->scratch;
  p->offsets[OTHER] = p->offsets[TABLE] + p->count;
  p->outers = axes_of(table, other, 0, axis, 0, p->outer, p->outer_strides, &p->outer_rank);
  p->inners = axes_of(table, other, axis + 1, table->rank, indices->rank - 1, p->inner,
                      p->inner_strides, &p->inner_rank);
  return find_offsets(p, indices, table, other, axis, call->error);
}

/* Where outer element NUMBER begins on both sides. */
static void outer_at(const places *p, int64_t number, char *at[SIDES]) {
  at[TABLE] = p->data[TABLE];
  at[OTHER] = p->data[OTHER];
  for (int k = p->outer_rank - 1; k >= 0; k--) {
    int64_t index = number % p->outer[k];
    at[TABLE] += index * p->outer_strides[TABLE][k];
    at[OTHER] += index * p->outer_strides[OTHER][k];
    number /= p->outer[k];
  }
}

/* Part PART of PARTS of N things begins here. */
static int64_t part_begin(int64_t n, int64_t part, int64_t parts) {
  return n / parts * part + n % parts * part / parts;
}

/* ---- take ---- */

#define GATHER(bytes)                                                                              \
  for (int64_t k = begin; k < end; k++) {                                                          \
    memcpy(at[OTHER] + to[k], at[TABLE] + from[k], bytes);                                         \
  }                                                                                                \
  return

/* Rows of one element. */
static void gather(const places *p, char *const at[SIDES], int64_t begin, int64_t end) {
  const int64_t *from = p->offsets[TABLE], *to = p->offsets[OTHER];
  switch (p->item) {
  case 1:
    GATHER(1);
  case 2:
    GATHER(2);
  case 4:
    GATHER(4);
  default:
    GATHER(8);
  }
}

/* Copies the rows of indices BEGIN to END of one outer element. */
static void take_rows(const places *p, char *const at[SIDES], int64_t begin, int64_t end) {
  const int64_t *from = p->offsets[TABLE], *to = p->offsets[OTHER];
  if (p->inner_rank == 0) {
    gather(p, at, begin, end);
    return;
  }
  for (int64_t k = begin; k < end; k++) {
    if (p->inner_rank == 1) {
      gemel__copy_row((size_t)p->item, p->inner[0], at[OTHER] + to[k], p->inner_strides[OTHER][0],
                      at[TABLE] + from[k], p->inner_strides[TABLE][0]);
    } else {
      gemel__copy_strided((size_t)p->item, p->inner_rank, p->inner, at[OTHER] + to[k],
                          p->inner_strides[OTHER], at[TABLE] + from[k], p->inner_strides[TABLE]);
    }
  }
}

/* Rows BEGIN to END of all, which are count of each outer element. */
static void take_part(const places *p, int64_t begin, int64_t end) {
  while (begin < end) {
    int64_t outer = begin / p->count, first = begin % p->count;
    int64_t last = p->count - first < end - begin ? p->count : first + end - begin;
    char *at[SIDES];
    outer_at(p, outer, at);
    take_rows(p, at, first, last);
    begin += last - first;
  }
}

static int64_t parts_of(const places *p, int threads) {
  return p->outers * p->count * p->inners < WORTH_THREADS ? 1 : threads;
}

static gemel_status run_take(const gemel_kernel_call *call) {
  places p;
  GEMEL__TRY(find_places(call, &call->inputs[0], &call->outputs[0], &p));
  int64_t rows = p.inners > 0 ? p.outers * p.count : 0, parts = parts_of(&p, call->threads);
#pragma omp parallel for num_threads((int)parts) schedule(static)
  for (int64_t part = 0; part < parts; part++) {
    take_part(&p, part_begin(rows, part, parts), part_begin(rows, part + 1, parts));
  }
  return GEMEL_OK;
}

const gemel_kernel gemel__take_kernels[] = {{"plain", prepare, run_take}, {NULL, NULL, NULL}};

/* ---- put ---- */

/* NEW of x, which is there, and y, N times. */
#define ROW(name, stored, number, load, store, new)                                                \
  static void name(int64_t n, char *to, int64_t to_step, const char *from, int64_t from_step) {    \
    if (to_step == (int64_t)sizeof(stored) && from_step == (int64_t)sizeof(stored)) {              \
      LOOP(stored, number, load, store, new, (int64_t)sizeof(stored), (int64_t)sizeof(stored))     \
    } else {                                                                                       \
      LOOP(stored, number, load, store, new, to_step, from_step)                                   \
    }                                                                                              \
  }
#define LOOP(stored, number, load, store, new, to_step, from_step)                                 \
  for (int64_t k = 0; k < n; k++) {                                                                \
    stored *at = (stored *)(void *)(to + k * (to_step));                                           \
    number x = load(*at), y = load(*(const stored *)(const void *)(from + k * (from_step)));       \
    *at = store(new);                                                                              \
  }

/* maximum and minimum of IEEE 754-2019: a NaN stays one, and -0 is below +0. */
#define FLOAT_MAX (x != x || x > y ? x : y != y || y > x ? y : signbit(x) ? y : x)
#define FLOAT_MIN (x != x || x < y ? x : y != y || y < x ? y : signbit(x) ? x : y)
#define WORD_MAX (x > y ? x : y)
#define WORD_MIN (x < y ? x : y)
#define SUM x + y
#define PRODUCT x *y
/* Integers wrap. */
#define WORD_SUM (uint64_t) x + (uint64_t)y
#define WORD_PRODUCT (uint64_t) x *(uint64_t)y

#define ROWS(name, stored, number, load, store, sum, product, least, most)                         \
  ROW(add_##name, stored, number, load, store, sum)                                                \
  ROW(mul_##name, stored, number, load, store, product)                                            \
  ROW(min_##name, stored, number, load, store, least)                                              \
  ROW(max_##name, stored, number, load, store, most)
#define WORD_ROWS(name, type)                                                                      \
  ROWS(name, type, type, , (type), (WORD_SUM), (WORD_PRODUCT), WORD_MIN, WORD_MAX)
#define FLOAT_ROWS(name, stored, number, load, store)                                              \
  ROWS(name, stored, number, load, store, (SUM), (PRODUCT), FLOAT_MIN, FLOAT_MAX)
ROWS(bool, uint8_t, uint8_t, , (uint8_t), (x | y), (x & y), WORD_MIN, WORD_MAX)
WORD_ROWS(i8, int8_t)
WORD_ROWS(i16, int16_t)
WORD_ROWS(i32, int32_t)
WORD_ROWS(i64, int64_t)
WORD_ROWS(u8, uint8_t)
WORD_ROWS(u16, uint16_t)
WORD_ROWS(u32, uint32_t)
WORD_ROWS(u64, uint64_t)
FLOAT_ROWS(f16, uint16_t, float, gemel__f16_to_f32, gemel__f32_to_f16)
FLOAT_ROWS(bf16, uint16_t, float, gemel__bf16_to_f32, gemel__f32_to_bf16)
FLOAT_ROWS(f32, float, float, , )
FLOAT_ROWS(f64, double, double, , )

#define SET_ROW(bytes)                                                                             \
  static void set_##bytes(int64_t n, char *to, int64_t to_step, const char *from,                  \
                          int64_t from_step) {                                                     \
    gemel__copy_row(bytes, n, to, to_step, from, from_step);                                       \
  }
SET_ROW(1)
SET_ROW(2)
SET_ROW(4)
SET_ROW(8)

static gemel__row_function row_function(gemel__put_mode mode, gemel_dtype dtype) {
#define ALL_MODES(E, name, bytes, kind, ctype)                                                     \
  [GEMEL_##E] = {set_##bytes, add_##name, mul_##name, min_##name, max_##name},
  static const gemel__row_function rows[GEMEL_DTYPE_COUNT][GEMEL__PUT_MODES] = {
      GEMEL_DTYPE_TABLE(ALL_MODES)};
#undef ALL_MODES
  return rows[dtype][mode];
}

/* What outer elements BEGIN to END get, in elements FIRST to LAST of each row if rows are of one
 * axis. */
static void put_part(const places *p, gemel__row_function row, int64_t begin, int64_t end,
                     int64_t first, int64_t last) {
  int64_t step = p->inner_rank > 0 ? p->inner_strides[TABLE][0] : 0;
  int64_t other_step = p->inner_rank > 0 ? p->inner_strides[OTHER][0] : 0;
  for (; begin < end; begin++) {
    char *at[SIDES];
    outer_at(p, begin, at);
    for (int64_t n = 0; n < p->count; n++) {
      char *to = at[TABLE] + p->offsets[TABLE][n];
      const char *from = at[OTHER] + p->offsets[OTHER][n];
      if (p->inner_rank < 2) {
        row(last - first, to + first * step, step, from + first * other_step, other_step);
      } else {
        gemel__walk(row, p->inner_rank, p->inner, to, p->inner_strides[TABLE], from,
                    p->inner_strides[OTHER]);
      }
    }
  }
}

static gemel_status run_put(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  places p;
  GEMEL__TRY(find_places(call, out, &call->inputs[2], &p));
  if (out->data != x->data) {
    gemel__copy_parallel(call->threads, (size_t)p.item, out->rank, out->shape, out->data,
                         out->strides, x->data, x->strides);
  }
  gemel__row_function row = row_function(gemel__put_mode_of(&call->attrs[1]), out->dtype);
  int64_t outers = p.inners > 0 ? p.outers : 0, length = p.inner_rank == 0 ? 1 : p.inner[0];
  int64_t parts = parts_of(&p, call->threads);
  int by_rows = outers < parts && p.inner_rank == 1;
#pragma omp parallel for num_threads((int)parts) schedule(static)
  for (int64_t part = 0; part < parts; part++) {
    if (by_rows) {
      put_part(&p, row, 0, outers, part_begin(length, part, parts),
               part_begin(length, part + 1, parts));
    } else {
      put_part(&p, row, part_begin(outers, part, parts), part_begin(outers, part + 1, parts), 0,
               length);
    }
  }
  return GEMEL_OK;
}

const gemel_kernel gemel__put_kernels[] = {{"plain", prepare, run_put}, {NULL, NULL, NULL}};
