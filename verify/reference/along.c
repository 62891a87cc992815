/* SPDX-License-Identifier: MIT
 *
 * References of the along family: an element of cumsum is the sum of those up to it (before it, or
 * from it on); the place of an element in sorted order is how many come before it, which is found
 * by comparing each with each.
 */
#include <string.h>
#include "reference/common.h"
#include "reference/twin.h"

static gemel_status find_axis(const gemel__rcall *call, int *axis) {
  *axis = gemel__reference_axis(call->attrs[0].u.i, call->inputs[0]->rank);
  return *axis >= 0 ? GEMEL_OK
                    : gemel__fail(call->error, GEMEL_BAD_SHAPE, "no axis %lld",
                                  (long long)call->attrs[0].u.i);
}

/* ---- cumsum ---- */

static void add_up(gemel__rcall *call, gemel__decider *w, int axis, const void **terms) {
  const gemel__rtensor *x = call->inputs[0];
  int64_t index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  int exclusive = call->attrs[1].u.i != 0, reverse = call->attrs[2].u.i != 0;
  for (size_t i = 0; i < x->count; i++) {
    size_t n = 0;
    memcpy(at, index, sizeof at);
    for (at[axis] = 0; at[axis] < x->shape[axis]; at[axis]++) {
      int64_t behind = reverse ? at[axis] - index[axis] : index[axis] - at[axis];
      if (behind > 0 || (behind == 0 && !exclusive)) {
        terms[n++] = gemel__rtensor_index(x, at);
      }
    }
    gemel__store_sum(w, gemel__rtensor_at(&call->outputs[0], i), call->outputs[0].dtype, n, terms);
    gemel__index_next(x->rank, x->shape, index);
  }
}

static gemel_status reference_cumsum(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  gemel_dtype dtype = x->dtype;
  gemel__decider w;
  int axis;
  GEMEL__TRY(find_axis(call, &axis));
  if (!gemel__is_float(dtype)) {
    dtype = gemel_dtype_kind(dtype) == GEMEL_KIND_UNSIGNED ? GEMEL_U64 : GEMEL_I64;
  }
  GEMEL__TRY(gemel__reference_output(call, 0, dtype, x->rank, x->shape));
  GEMEL__TRY(gemel__decider_init(&w, call->domain, call->error));
  size_t length = (size_t)x->shape[axis];
  const void **terms = gemel__alloc_array(length, sizeof *terms);
  if (terms != NULL) {
    add_up(call, &w, axis, terms);
  }
  gemel__free(terms, length * sizeof *terms);
  gemel__decider_clear(&w);
  return terms != NULL ? GEMEL_OK : gemel__no_memory(call->error, "a sum");
}

const gemel__twin gemel__twin_cumsum = {.reference = reference_cumsum,
                                        .sample = gemel__sampler_cumsum,
                                        .propose = gemel__propose_along,
                                        .arithmetic = GEMEL__SUMS};

/* ---- argsort ---- */

/* The sign of a - b, a NaN being above all numbers. */
static int compare(gemel__decider *w, const void *a, const void *b) {
  gemel__domain *d = w->domain;
  int nan_a = d->ieee && d->sign(d, a) == GEMEL__UNORDERED;
  int nan_b = d->ieee && d->sign(d, b) == GEMEL__UNORDERED;
  return nan_a || nan_b ? nan_a - nan_b : gemel__compare(w, a, b);
}

/* COUNTS[i] = how many of the N members come before member i; 0 if that isn't decided. */
static int count_before(gemel__decider *w, size_t n, void *const *members, int descending,
                        size_t *counts) {
  int decided = 1;
  memset(counts, 0, n * sizeof *counts);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = i + 1; j < n; j++) {
      int order = compare(w, members[i], members[j]);
      int second_first = descending ? order == -1 : order == 1;
      decided &= order != GEMEL__UNORDERED;
      counts[second_first ? i : j]++;
    }
  }
  return decided;
}

static void sort_lane(gemel__rcall *call, gemel__decider *w, const gemel__groups *in,
                      const gemel__groups *out, size_t *counts) {
  gemel__domain *d = call->domain;
  int decided = count_before(w, in->size, in->members, call->attrs[1].u.i != 0, counts);
  for (size_t i = 0; i < in->size; i++) {
    if (decided) {
      d->from_integer(d, out->members[counts[i]], (int64_t)i);
    } else {
      d->set_state(d, out->members[i], GEMEL__UNDECIDED);
    }
  }
}

static gemel_status sort_lanes(gemel__rcall *call, int axis) {
  unsigned char chosen[GEMEL_MAX_RANK] = {0};
  gemel__groups in, out;
  gemel__decider w;
  GEMEL__TRY(gemel__decider_init(&w, call->domain, call->error));
  chosen[axis] = 1;
  gemel_status status = gemel__groups_init(&in, call->inputs[0], chosen, call->error);
  if (status == GEMEL_OK) {
    status = gemel__groups_init(&out, &call->outputs[0], chosen, call->error);
    if (status == GEMEL_OK) {
      size_t *counts = gemel__alloc_array(in.size, sizeof *counts);
      status = counts != NULL ? GEMEL_OK : gemel__no_memory(call->error, "an order");
      for (size_t i = 0; counts != NULL && i < in.count; i++) {
        gemel__groups_next(&in);
        gemel__groups_next(&out);
        sort_lane(call, &w, &in, &out, counts);
      }
      gemel__free(counts, in.size * sizeof *counts);
      gemel__groups_clear(&out);
    }
    gemel__groups_clear(&in);
  }
  gemel__decider_clear(&w);
  return status;
}

static gemel_status reference_argsort(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  int axis;
  GEMEL__TRY(find_axis(call, &axis));
  GEMEL__TRY(gemel__reference_output(call, 0, GEMEL_I64, x->rank, x->shape));
  return sort_lanes(call, axis);
}

const gemel__twin gemel__twin_argsort = {.reference = reference_argsort,
                                         .sample = gemel__sampler_argsort,
                                         .propose = gemel__propose_along,
                                         .arithmetic = GEMEL__EXACT};
