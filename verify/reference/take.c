/* SPDX-License-Identifier: MIT
 *
 * References of the take family. An index i of an axis of size n is place i, or n + i where it is
 * negative; one outside -n … n - 1 is an error. take is looked up element by element. An element of
 * put's result is made of the element of x and those of y whose index is its place, in the order of
 * the indices, which are listed for each place.
 */
#include <string.h>
#include "reference/common.h"
#include "reference/twin.h"

/* x, the axis, and for each index its place; -1: it isn't known. */
typedef struct lookup {
  const gemel__rtensor *x, *indices;
  int axis;
  int64_t *places;
} lookup;

/* 1 if index K, which is no int64_t that is known, is outside of N places all the same: a u64. */
static int is_beyond(const gemel__rcall *call, const lookup *l, size_t k, int64_t n) {
  gemel__domain *d = call->domain;
  const void *e = gemel__rtensor_at(l->indices, k);
  double low = 0, high = 0;
  if (d->bounds == NULL || d->state(d, e) != GEMEL__DEFINED) {
    return 0;
  }
  d->bounds(d, e, &low, &high);
  return low >= (double)n || high < -(double)n;
}

static gemel_status find_place(const gemel__rcall *call, const lookup *l, size_t k) {
  int64_t index, n = l->x->shape[l->axis];
  if (!call->domain->to_integer(call->domain, gemel__rtensor_at(l->indices, k), &index)) {
    l->places[k] = -1;
    return is_beyond(call, l, k, n) ? gemel__fail(call->error, GEMEL_BAD_VALUE,
                                                  "an index beyond %lld elements", (long long)n)
                                    : GEMEL_OK;
  }
  if (index >= n || index < -n) {
    return gemel__fail(call->error, GEMEL_BAD_VALUE, "index %lld into %lld elements",
                       (long long)index, (long long)n);
  }
  l->places[k] = index >= 0 ? index : n + index;
  return GEMEL_OK;
}

/* Finds the places, and the SHAPE of x at the indices and its RANK. */
static gemel_status look_up(const gemel__rcall *call, lookup *l, int *rank, int64_t *shape) {
  l->x = call->inputs[0];
  l->indices = call->inputs[1];
  l->axis = gemel__reference_axis(call->attrs[0].u.i, l->x->rank);
  *rank = l->x->rank - 1 + l->indices->rank;
  if (l->axis < 0 || *rank > GEMEL_MAX_RANK || gemel__is_float(l->indices->dtype)) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "no such axis, or no indices");
  }
  for (int k = 0; k < *rank; k++) {
    int behind = k - l->axis - l->indices->rank;
    shape[k] = k < l->axis  ? l->x->shape[k]
               : behind < 0 ? l->indices->shape[k - l->axis]
                            : l->x->shape[l->axis + 1 + behind];
  }
  l->places = gemel__alloc_array(l->indices->count, sizeof *l->places);
  if (l->places == NULL) {
    return gemel__no_memory(call->error, "places");
  }
  for (size_t k = 0; k < l->indices->count; k++) {
    GEMEL__TRY(find_place(call, l, k));
  }
  return GEMEL_OK;
}

static void forget(lookup *l) {
  gemel__free(l->places, l->indices->count * sizeof *l->places);
}

/* The number, in row-major order, of the index that element AT of y (or of take's result) has. */
static size_t index_number(const lookup *l, const int64_t *at) {
  size_t number = 0;
  for (int k = 0; k < l->indices->rank; k++) {
    number = number * (size_t)l->indices->shape[k] + (size_t)at[l->axis + k];
  }
  return number;
}

static gemel_status reference_take(gemel__rcall *call) {
  int64_t shape[GEMEL_MAX_RANK], index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  gemel__domain *d = call->domain;
  lookup l = {NULL, call->inputs[1], 0, NULL};
  int rank;
  gemel_status status = look_up(call, &l, &rank, shape);
  status = status ? status : gemel__reference_output(call, 0, l.x->dtype, rank, shape);
  for (size_t i = 0; status == GEMEL_OK && i < call->outputs[0].count; i++) {
    void *e = gemel__rtensor_at(&call->outputs[0], i);
    for (int k = 0; k < l.x->rank; k++) {
      at[k] = k == l.axis ? 0 : index[k < l.axis ? k : k - 1 + l.indices->rank];
    }
    at[l.axis] = l.places[index_number(&l, index)];
    if (at[l.axis] < 0) {
      d->set_state(d, e, GEMEL__UNDECIDED);
    } else {
      d->set(d, e, gemel__rtensor_index(l.x, at));
    }
    gemel__index_next(rank, shape, index);
  }
  forget(&l);
  return status;
}

const gemel__twin gemel__twin_take = {.reference = reference_take,
                                      .sample = gemel__sampler_take,
                                      .propose = gemel__propose_take,
                                      .arithmetic = GEMEL__EXACT,
                                      .refuses_with = 2};

/* ---- put ---- */

/* What meets at a place: x's element, then those of y, in the order of their indices. */
typedef struct meeting {
  gemel__decider w;
  lookup l;
  size_t *first, *next; /* the number of each place's first index; of each index, of the next one
                           with its place; their count: there is none */
  int known;            /* 1: all indices are */
  size_t n, room;
  const void **members, **tied;
  void *negated; /* ROOM + 1 elements */
} meeting;

/* Lists the indices of each place. */
static void list_places(meeting *m) {
  size_t none = m->l.indices->count;
  for (int64_t place = 0; place < m->l.x->shape[m->l.axis]; place++) {
    m->first[place] = none;
  }
  m->known = 1;
  for (size_t k = none; k-- > 0;) {
    m->known &= m->l.places[k] >= 0;
    if (m->l.places[k] >= 0) {
      m->next[k] = m->first[m->l.places[k]];
      m->first[m->l.places[k]] = k;
    }
  }
}

/* The element of y for index number K, at AT along the other axes. */
static const void *of_index(const meeting *m, const gemel__rtensor *y, size_t k,
                            const int64_t *at) {
  int64_t of_y[GEMEL_MAX_RANK];
  int ranks = m->l.indices->rank;
  for (int j = 0; j < y->rank; j++) {
    of_y[j] = j < m->l.axis ? at[j] : at[j >= m->l.axis + ranks ? j - ranks + 1 : m->l.axis];
  }
  for (int j = ranks - 1; j >= 0; j--) {
    of_y[m->l.axis + j] = (int64_t)(k % (size_t)m->l.indices->shape[j]);
    k /= (size_t)m->l.indices->shape[j];
  }
  return gemel__rtensor_index(y, of_y);
}

/* Collects what meets at element AT of x; 0 if it isn't known whether an index does. */
static int collect(const gemel__rcall *call, meeting *m, const int64_t *at) {
  m->n = 0;
  m->members[m->n++] = gemel__rtensor_index(m->l.x, at);
  for (size_t k = m->first[at[m->l.axis]]; m->known && k < m->l.indices->count; k = m->next[k]) {
    m->members[m->n++] = of_index(m, call->inputs[2], k, at);
  }
  return m->known;
}

/* E = the smallest: less what is the largest of the negative ones. */
static void smallest(meeting *m, void *e) {
  gemel__domain *d = m->w.domain;
  for (size_t k = 0; k < m->n; k++) {
    void *negative = gemel__element(d, m->negated, k);
    d->neg(d, negative, m->members[k]);
    m->members[k] = negative;
  }
  gemel__store_largest(&m->w, e, m->n, m->members, m->tied, gemel__element(d, m->negated, m->room));
  d->neg(d, e, e);
}

static void one_after_another(meeting *m, void *e, gemel_dtype dtype,
                              void (*join)(gemel__domain *, void *, const void *, const void *)) {
  gemel__domain *d = m->w.domain;
  d->set(d, e, m->members[0]);
  for (size_t k = 1; k < m->n; k++) {
    join(d, e, e, m->members[k]);
    gemel__store(&m->w, e, dtype, 0.5);
  }
}

static void settle(meeting *m, void *e, gemel_dtype dtype, const char *mode) {
  gemel__domain *d = m->w.domain;
  if (strcmp(mode, "set") == 0) {
    d->set(d, e, m->members[m->n - 1]);
  } else if (strcmp(mode, "add") == 0) {
    one_after_another(m, e, dtype, d->add);
  } else if (strcmp(mode, "mul") == 0) {
    one_after_another(m, e, dtype, d->mul);
  } else if (strcmp(mode, "max") == 0) {
    gemel__store_largest(&m->w, e, m->n, m->members, m->tied,
                         gemel__element(d, m->negated, m->room));
  } else {
    smallest(m, e);
  }
}

static gemel_status put_all(gemel__rcall *call, meeting *m) {
  const gemel__rtensor *x = m->l.x;
  gemel__domain *d = call->domain;
  int64_t index[GEMEL_MAX_RANK] = {0};
  for (size_t i = 0; i < x->count; i++) {
    void *e = gemel__rtensor_at(&call->outputs[0], i);
    if (collect(call, m, index)) {
      settle(m, e, x->dtype, call->attrs[1].u.text);
    } else {
      d->set_state(d, e, GEMEL__UNDECIDED);
    }
    gemel__index_next(x->rank, x->shape, index);
  }
  return GEMEL_OK;
}

static gemel_status put_with_room(gemel__rcall *call, meeting *m) {
  gemel__domain *d = call->domain;
  GEMEL__TRY(gemel__decider_init(&m->w, d, call->error));
  size_t places = (size_t)m->l.x->shape[m->l.axis];
  m->room = m->l.indices->count + 1;
  m->first = gemel__alloc_array(places, sizeof *m->first);
  m->next = gemel__alloc_array(m->room, sizeof *m->next);
  m->members = gemel__alloc_array(m->room, sizeof *m->members);
  m->tied = gemel__alloc_array(m->room, sizeof *m->tied);
  m->negated = gemel__elements_new(d, m->room + 1);
  gemel_status status = GEMEL_OK;
  if (m->first == NULL || m->next == NULL || m->members == NULL || m->tied == NULL ||
      m->negated == NULL) {
    status = gemel__no_memory(call->error, "what meets at a place");
  } else {
    list_places(m);
    status = put_all(call, m);
  }
  gemel__elements_free(d, m->negated, m->room + 1);
  gemel__free(m->tied, m->room * sizeof *m->tied);
  gemel__free(m->members, m->room * sizeof *m->members);
  gemel__free(m->next, m->room * sizeof *m->next);
  gemel__free(m->first, places * sizeof *m->first);
  gemel__decider_clear(&m->w);
  return status;
}

static gemel_status put(gemel__rcall *call, meeting *m) {
  const gemel__rtensor *y = call->inputs[2];
  int64_t shape[GEMEL_MAX_RANK];
  int rank;
  GEMEL__TRY(look_up(call, &m->l, &rank, shape));
  const gemel__rtensor *x = m->l.x;
  if (y->rank != rank || y->dtype != x->dtype ||
      memcmp(y->shape, shape, (size_t)rank * sizeof *shape) != 0) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "y isn't like x at the indices");
  }
  GEMEL__TRY(gemel__reference_output(call, 0, x->dtype, x->rank, x->shape));
  return put_with_room(call, m);
}

static gemel_status reference_put(gemel__rcall *call) {
  meeting m = {.l = {NULL, call->inputs[1], 0, NULL}};
  gemel_status status = put(call, &m);
  forget(&m.l);
  return status;
}

const gemel__twin gemel__twin_put = {.reference = reference_put,
                                     .sample = gemel__sampler_put,
                                     .propose = gemel__propose_put,
                                     .arithmetic = GEMEL__SUMS | GEMEL__PRODUCTS,
                                     .refuses_with = 3};
