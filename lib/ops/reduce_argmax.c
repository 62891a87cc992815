/* SPDX-License-Identifier: MIT
 *
 * Argmax: the largest of each line is found by blocks, then the first element that is as large. NaN
 * counts as larger than any number, and zeros of either sign are equal.
 */
#include <string.h>
#include "core/fault.h"
#include "ops/reduce_plan.h"

enum { RUN = 64 };

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

/* Place of the first of N elements whose key is KEY, which is there: first the run, then the one.
 */
static int64_t first_with(const gemel__reduce_plan *p, size_t n, const char *data,
                          const gemel__acc *key) {
  size_t bytes = p->half ? sizeof(float) : p->bytes, k = 0, step;
  if (GEMEL__FAULT(argmax_last_tie)) {
    for (k = n; k-- > 1;) {
      gemel__acc own = key_of(p, 1, data + k * bytes);
      if (same_key(p, &own, key)) {
        break;
      }
    }
    return (int64_t)k;
  }
  for (step = RUN; step > 0; step /= RUN) {
    for (; k + step < n; k += step) {
      gemel__acc own = key_of(p, step, data + k * bytes);
      if (same_key(p, &own, key)) {
        break;
      }
    }
  }
  return (int64_t)k;
}

static int64_t argmax_line(const gemel__reduce_plan *p, const char *base) {
  gemel__acc buffer[GEMEL__REDUCE_BUFFER / sizeof(gemel__acc)];
  gemel__acc best, joined;
  int64_t from, best_from = 0;
  size_t n, best_n = 0;
  memset(&best, 0, sizeof best);
  for (from = 0; from < p->length; from += GEMEL__REDUCE_BLOCK) {
    int64_t left = p->length - from;
    gemel__acc key;
    n = (size_t)(left < GEMEL__REDUCE_BLOCK ? left : GEMEL__REDUCE_BLOCK);
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

static gemel_status run_argmax(const gemel_kernel_call *call) {
  gemel__reduce_plan p;
  gemel_status status = gemel__reduce_plan_make(call, GEMEL__REDUCE_ARGMAX, &p);
  int64_t line, *out = (int64_t *)call->outputs[0].data;
  int threads = call->threads;
  if (status != GEMEL_OK) {
    return status;
  }
  (void)threads;
#pragma omp parallel for num_threads(threads)                                                      \
    schedule(static) if (p.lines > 1 && threads > 1 && p.lines * p.length > 32768)
  for (line = 0; line < p.lines; line++) {
    out[line] = argmax_line(&p, p.in + gemel__reduce_offset(p.kept, p.n_kept, line));
  }
  return GEMEL_OK;
}

const gemel_kernel gemel__argmax_kernels[] = {{"lines", NULL, run_argmax}, {NULL, NULL, NULL}};
