/* SPDX-License-Identifier: MIT
 *
 * Results that the caller gives memory for, and what else lies there. A result that overlaps an
 * input is computed aside and copied when all is done, as if the inputs had been read first. Two
 * results in the same memory can't both be there, nor two elements of one: that is an error. What
 * lies where is compared as intervals of addresses, in order; only strided tensors whose intervals
 * overlap (columns of one matrix) are looked at element by element.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "run/execution.h"

/* ---- Intervals ---- */

static gemel__span span_of(const gemel_tensor *t, uint32_t output) {
  gemel__span s = {(uintptr_t)t->data, (uintptr_t)t->data + gemel_dtype_size(t->dtype), output, 0};
  for (int k = 0; k < t->rank; k++) {
    int64_t reach = (t->shape[k] - 1) * t->strides[k];
    if (t->shape[k] == 0) {
      s.end = s.begin;
      return s;
    }
    if (reach < 0) {
      s.begin += (uintptr_t)reach;
    } else {
      s.end += (uintptr_t)reach;
    }
  }
  return s;
}

static int by_begin(const void *a, const void *b) {
  const gemel__span *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

static int dense(const gemel_tensor *t) {
  return gemel__is_row_major(gemel_dtype_size(t->dtype), t->rank, t->shape, t->strides);
}

/* ---- Element by element ---- */

/* Which bytes from BEGIN on are taken. */
typedef struct taken {
  unsigned char *bits;
  uintptr_t begin;
} taken;

/* Takes the element at ADDRESS; 0 if a part of it was taken. */
static int take(taken *t, uintptr_t address, size_t size) {
  int vacant = 1;
  for (uintptr_t at = address - t->begin; size-- > 0; at++) {
    unsigned char bit = (unsigned char)(1u << (at & 7));
    vacant &= (t->bits[at >> 3] & bit) == 0;
    t->bits[at >> 3] |= bit;
  }
  return vacant;
}

/* Takes all elements of TENSOR, which has some; 0 if one was taken. */
static int take_all(taken *t, const gemel_tensor *tensor) {
  int64_t index[GEMEL_MAX_RANK] = {0};
  uintptr_t address = (uintptr_t)tensor->data;
  int axis = 0;
  while (axis >= 0) {
    if (!take(t, address, gemel_dtype_size(tensor->dtype))) {
      return 0;
    }
    for (axis = tensor->rank - 1; axis >= 0; axis--) {
      address += (uintptr_t)tensor->strides[axis];
      if (++index[axis] < tensor->shape[axis]) {
        break;
      }
      address -= (uintptr_t)(tensor->strides[axis] * index[axis]);
      index[axis] = 0;
    }
  }
  return 1;
}

static gemel_status clash(gemel__execution *e, uint32_t output, const char *other) {
  return gemel__fail(&e->error, GEMEL_BAD_ARGUMENT,
                     "the tensor given for output %s has elements in the same memory as %s",
                     e->f->program.outputs[output].name, other);
}

/* SPANS[0..n) overlap from first to last, up to END. */
static gemel_status check_elements(gemel__execution *e, const gemel__span *spans, size_t n,
                                   uintptr_t end, gemel_tensor *const *outputs) {
  size_t bytes = (size_t)(end - spans[0].begin) / 8 + 1;
  taken t = {gemel__alloc_zeroed(bytes), spans[0].begin};
  gemel_status status = GEMEL_OK;
  if (t.bits == NULL) {
    return gemel__no_memory(&e->error, "comparing the results' memory");
  }
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    if (!take_all(&t, outputs[spans[k].output])) {
      status = clash(e, spans[k].output, n == 1 ? "each other" : "another result or each other");
    }
  }
  gemel__free(t.bits, bytes);
  return status;
}

/* 1 if no two elements of TENSOR can overlap: each axis steps over all that the smaller steps
 * reach. */
static int steps_apart(const gemel_tensor *tensor) {
  int64_t reach = (int64_t)gemel_dtype_size(tensor->dtype);
  unsigned char done[GEMEL_MAX_RANK] = {0};
  for (int k = 0; k < tensor->rank; k++) {
    int next = -1;
    for (int j = 0; j < tensor->rank; j++) {
      if (!done[j] && tensor->shape[j] > 1 &&
          (next < 0 || llabs(tensor->strides[j]) < llabs(tensor->strides[next]))) {
        next = j;
      }
    }
    if (next < 0) {
      return 1;
    }
    if (llabs(tensor->strides[next]) < reach) {
      return 0;
    }
    reach += (tensor->shape[next] - 1) * llabs(tensor->strides[next]);
    done[next] = 1;
  }
  return 1;
}

/* ---- Results ---- */

/* N results whose intervals overlap from first to last, up to END. */
static gemel_status check_stretch(gemel__execution *e, const gemel__span *spans, size_t n,
                                  uintptr_t end, gemel_tensor *const *outputs) {
  if (n == 1 && steps_apart(outputs[spans[0].output])) {
    return GEMEL_OK;
  }
  for (size_t k = 1; k < n; k++) {
    if (spans[k].begin < spans[k - 1].end && dense(outputs[spans[k].output]) &&
        dense(outputs[spans[k - 1].output])) {
      char other[200];
      snprintf(other, sizeof other, "that of output %s",
               e->f->program.outputs[spans[k - 1].output].name);
      return clash(e, spans[k].output, other);
    }
  }
  return check_elements(e, spans, n, end, outputs);
}

static gemel_status check_results(gemel__execution *e, size_t n, gemel_tensor *const *outputs) {
  size_t first = 0;
  while (first < n) {
    uintptr_t end = e->spans[first].end;
    size_t next = first + 1;
    while (next < n && e->spans[next].begin < end) {
      end = e->spans[next].end > end ? e->spans[next].end : end;
      next++;
    }
    GEMEL__TRY(check_stretch(e, e->spans + first, next - first, end, outputs));
    first = next;
  }
  return GEMEL_OK;
}

/* ---- Inputs ---- */

/* Makes SPANS[0..n), in order, the stretches that they cover together; returns how many. */
static size_t join_spans(gemel__span *spans, size_t n) {
  size_t kept = 0;
  for (size_t k = 0; k < n; k++) {
    if (kept > 0 && spans[k].begin < spans[kept - 1].end) {
      spans[kept - 1].end = spans[k].end > spans[kept - 1].end ? spans[k].end : spans[kept - 1].end;
    } else {
      spans[kept] = spans[k];
      spans[kept++].touched = 0;
    }
  }
  return kept;
}

/* The first of N stretches that ends behind ADDRESS; N if there is none. */
static size_t stretch_at(const gemel__span *spans, size_t n, uintptr_t address) {
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (spans[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* 1 if output K is given the tensor of the state that it updates, and may be made there. */
static int in_place(const gemel__execution *e, uint32_t k, gemel_tensor *const *inputs,
                    gemel_tensor *const *outputs) {
  return k != GEMEL__NO_VALUE && e->plans->in_place[k] &&
         outputs[k] == inputs[e->f->program.outputs[k].pair];
}

/* Sets aside the results that share one of N stretches with an input. */
static void compare_inputs(gemel__execution *e, size_t n, gemel_tensor *const *inputs,
                           gemel_tensor *const *outputs) {
  for (uint32_t k = 0; k < e->f->program.n_inputs; k++) {
    gemel__span in = span_of(inputs[k], k);
    size_t at = in.begin < in.end ? stretch_at(e->spans, n, in.begin) : n;
    if (in_place(e, e->f->program.inputs[k].pair, inputs, outputs)) {
      continue;
    }
    for (; at < n && e->spans[at].begin < in.end; at++) {
      e->spans[at].touched = 1;
    }
  }
  for (uint32_t k = 0; k < e->f->program.n_outputs; k++) {
    gemel__span out = {0, 0, 0, 0};
    if (outputs[k] != NULL) {
      out = span_of(outputs[k], k);
    }
    e->aside[k] = out.begin < out.end && e->spans[stretch_at(e->spans, n, out.begin)].touched;
  }
}

gemel_status gemel__check_overlap(gemel__execution *e, gemel_tensor *const *inputs,
                                  gemel_tensor *const *outputs) {
  gemel_status status;
  size_t n = 0;
  for (uint32_t k = 0; k < e->f->program.n_outputs; k++) {
    e->aside[k] = 0;
    if (outputs[k] != NULL) {
      e->spans[n] = span_of(outputs[k], k);
      n += e->spans[n].begin < e->spans[n].end;
    }
  }
  if (n == 0) {
    return GEMEL_OK;
  }
  if (n > 1) {
    qsort(e->spans, n, sizeof *e->spans, by_begin);
  }
  status = check_results(e, n, outputs);
  if (status == GEMEL_OK) {
    compare_inputs(e, join_spans(e->spans, n), inputs, outputs);
  }
  return status;
}
