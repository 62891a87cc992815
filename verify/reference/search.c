/* SPDX-License-Identifier: MIT
 *
 * Reference of searchsorted. In what is sorted, the place of a value is how many elements are below
 * it, or not above it. Else it is where halving ends, which is said by halves: the part that the
 * middle element sends a value to.
 */
#include <string.h>
#include "reference/common.h"
#include "reference/twin.h"

typedef struct search {
  gemel__decider *w;
  const gemel__rtensor *sorted;
  const void *value;
  int right;
  int decided;
  int valued; /* 1: what wasn't decided has a value, so that some place is right */
} search;

/* The sign of a - b, a NaN being above all numbers. */
static int compare(search *s, const void *a, const void *b) {
  gemel__domain *d = s->w->domain;
  int nan_a = d->ieee && d->sign(d, a) == GEMEL__UNORDERED;
  int nan_b = d->ieee && d->sign(d, b) == GEMEL__UNORDERED;
  int order = nan_a || nan_b ? nan_a - nan_b : gemel__compare(s->w, a, b);
  if (order == GEMEL__UNORDERED) {
    s->decided = 0;
    s->valued &= d->state(d, s->w->difference) == GEMEL__DEFINED;
  }
  return order;
}

static int is_ascending(search *s) {
  int ascending = 1;
  for (size_t k = 1; k < s->sorted->count; k++) {
    ascending &=
        compare(s, gemel__rtensor_at(s->sorted, k - 1), gemel__rtensor_at(s->sorted, k)) <= 0;
  }
  return ascending;
}

/* 1 if element K is one of those that the value comes after. */
static int is_before(search *s, size_t k) {
  int order = compare(s, gemel__rtensor_at(s->sorted, k), s->value);
  return order < 0 || (order == 0 && s->right);
}

static size_t place_by_counting(search *s) {
  size_t place = 0;
  for (size_t k = 0; k < s->sorted->count; k++) {
    place += (size_t)is_before(s, k);
  }
  return place;
}

static size_t place_by_halving(search *s) {
  size_t first = 0, length = s->sorted->count;
  while (length > 0) {
    size_t half = length / 2;
    int upper = is_before(s, first + half);
    first += upper ? half + 1 : 0;
    length = upper ? length - half - 1 : half;
  }
  return first;
}

/* E = any place, if the domain can represent that. */
static void cover_places(search *s, void *e) {
  gemel__domain *d = s->w->domain;
  if (s->valued && d->hull != NULL && d->choose == NULL) {
    d->from_integer(d, s->w->spare, (int64_t)s->sorted->count);
    d->hull(d, e, s->w->zero, s->w->spare);
  } else {
    d->set_state(d, e, GEMEL__UNDECIDED);
  }
}

static gemel_status reference_searchsorted(gemel__rcall *call) {
  const gemel__rtensor *values = call->inputs[1];
  gemel__domain *d = call->domain;
  gemel__decider w;
  search s = {&w, call->inputs[0], NULL, strcmp(call->attrs[0].u.text, "right") == 0, 1, 1};
  GEMEL__TRY(gemel__reference_output(call, 0, GEMEL_I64, values->rank, values->shape));
  GEMEL__TRY(gemel__decider_init(&w, d, call->error));
  int ascending = is_ascending(&s), known = s.decided, valued = s.valued;
  for (size_t i = 0; i < values->count; i++) {
    void *e = gemel__rtensor_at(&call->outputs[0], i);
    s.value = gemel__rtensor_at(values, i);
    s.decided = known;
    s.valued = valued;
    size_t place = ascending ? place_by_counting(&s) : place_by_halving(&s);
    if (s.decided) {
      d->from_integer(d, e, (int64_t)place);
    } else {
      cover_places(&s, e);
    }
  }
  gemel__decider_clear(&w);
  return GEMEL_OK;
}

const gemel__twin gemel__twin_searchsorted = {.reference = reference_searchsorted,
                                              .sample = gemel__sampler_searchsorted,
                                              .propose = gemel__propose_searchsorted,
                                              .arithmetic = GEMEL__EXACT};
