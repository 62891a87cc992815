/* SPDX-License-Identifier: MIT
 *
 * Argmax. Where the elements of a line lie together, the largest is found by blocks, then the first
 * element that is as large. Where those of many lines lie side by side, a strip of lines is gone
 * through row by row, with the largest so far and its row for each. NaN counts as larger than any
 * number, and zeros of either sign are equal.
 */
#include <string.h>
#include "core/dtype.h"
#include "ops/reduce-plan.h"

enum {
  BLOCK = 1024,    /* elements of a line of which the largest is found at once */
  RUN = 256,       /* elements that are looked through at once */
  STRIP = 512,     /* lines in a strip, at most */
  NARROW = 4,      /* fewer lines side by side than this go one by one */
  LEAST_STRIP = 64 /* lines in a strip, at least, where threads share them */
};

/* The key of the largest of N elements, in the reducer's accumulator. */
static gemel__acc key_of(const gemel__reduce_plan *p, size_t n, const void *data) {
  gemel__acc key;
  memset(&key, 0, sizeof key);
  p->reducer->block(n, data, &key);
  return key;
}

static int same_key(const gemel__reduce_plan *p, const gemel__acc *a, const gemel__acc *b) {
  return memcmp(a, b, p->reducer->acc_bytes) == 0;
}

/* Place of the first of N elements whose key is KEY, which is there. */
static int64_t first_with(const gemel__reduce_plan *p, size_t n, const char *data,
                          const gemel__acc *key) {
  size_t bytes = p->half ? sizeof(float) : p->bytes, k = 0;
  for (; k < n; k += RUN) {
    size_t run = n - k < RUN ? n - k : RUN, at = p->reducer->first(run, data + k * bytes, key);
    if (at < run) {
      return (int64_t)(k + at);
    }
  }
  return 0;
}

static int64_t argmax_line(const gemel__reduce_plan *p, const char *base) {
  gemel__acc buffer[GEMEL__REDUCE_BUFFER / sizeof(gemel__acc)];
  gemel__acc best, joined;
  int64_t from, best_from = 0;
  size_t n, best_n = 0;
  memset(&best, 0, sizeof best);
  for (from = 0; from < p->length; from += BLOCK) {
    int64_t left = p->length - from;
    gemel__acc key;
    n = (size_t)(left < BLOCK ? left : BLOCK);
    key = key_of(p, n, gemel__reduce_load(p, base, from, n, buffer));
    joined = best;
    if (from > 0) {
      p->reducer->merge(1, &joined, &key);
    }
    if (from == 0 || !same_key(p, &joined, &best)) {
      best = key;
      best_from = from;
      best_n = n;
    }
  }
  return best_from +
         first_with(p, best_n, gemel__reduce_load(p, base, best_from, best_n, buffer), &best);
}

static void run_lines(const gemel__reduce_plan *p, void *scratch) {
  int64_t line, *out = (int64_t *)(void *)p->out;
  (void)scratch;
#pragma omp parallel for num_threads(p->threads) schedule(static) if (p->threads > 1)
  for (line = 0; line < p->lines; line++) {
    out[line] = argmax_line(p, p->in + gemel__reduce_offset(p->kept, p->n_kept, line));
  }
}

/* The rows of a strip, half types as f32. */
static void find_places(const gemel__reduce_plan *p, const gemel__reduce_strip *s, gemel__acc *keys,
                        int32_t *places) {
  int64_t row, step = p->reduced->stride;
  float wide[STRIP];
  if (!p->half) {
    p->reducer->places((size_t)p->length, step, s->width, s->base, 0, keys, places);
    return;
  }
  for (row = 0; row < p->length; row++) {
    gemel__half_to_f32(p->dtype, s->width, wide,
                       (const uint16_t *)(const void *)(s->base + row * step));
    p->reducer->places(1, 0, s->width, wide, (int32_t)row, keys, places);
  }
}

static void argmax_strip(const gemel__reduce_plan *p, int64_t index) {
  gemel__reduce_strip s = gemel__reduce_strip_at(p, index);
  int64_t *out = (int64_t *)(void *)p->out + s.first;
  gemel__acc keys[STRIP];
  int32_t places[STRIP] = {0};
  p->reducer->init(s.width, keys);
  find_places(p, &s, keys, places);
  for (size_t k = 0; k < s.width; k++) {
    out[k] = places[k];
  }
}

static void run_columns(const gemel__reduce_plan *p, void *scratch) {
  int64_t index, total = p->outer * p->strips;
  (void)scratch;
#pragma omp parallel for num_threads(p->threads) schedule(static) if (p->threads > 1)
  for (index = 0; index < total; index++) {
    argmax_strip(p, index);
  }
}

/* Strips narrow enough for all threads to have some. */
static int64_t strip_for(const gemel__reduce_plan *p) {
  int64_t strip = p->lines / p->threads;
  return strip > STRIP ? STRIP : strip < LEAST_STRIP ? LEAST_STRIP : strip;
}

static gemel_status prepare_argmax(gemel_kernel_call *call) {
  gemel__reduce_plan *p;
  gemel_status status = gemel__reduce_plan_make(call, GEMEL__REDUCE_ARGMAX, &p);
  if (status == GEMEL_OK) {
    p->run = p->length <= INT32_MAX && gemel__reduce_cut_strips(p, NARROW, strip_for(p))
                 ? run_columns
                 : run_lines;
  }
  return status;
}

static gemel_status run_argmax(const gemel_kernel_call *call) {
  const gemel__reduce_plan *p = gemel__reduce_plan_of(call);
  p->run(p, call->scratch);
  return GEMEL_OK;
}

const gemel_kernel gemel__argmax_kernels[] = {{"lines", prepare_argmax, run_argmax},
                                              {NULL, NULL, NULL}};
