/* SPDX-License-Identifier: MIT
 *
 * References of pooling, by membership. An element of the image belongs to the window at a place
 * if, along each axis, it lies a multiple of the dilation (fewer multiples than the window's size)
 * behind the window's start. All elements of the image from the first that a window may have to the
 * last are tried, so nothing outside the image ever comes up.
 *
 * The largest elements of a window are those than which none is larger. A window with a NaN has no
 * largest element. Where comparisons are undecided, all elements that may be the largest are
 * candidates: a result covers their values, and in the derivative each candidate gets something
 * between 0 and the whole cotangent.
 */
#include <string.h>
#include "reference/common.h"
#include "reference/twin.h"

enum { MOST_AXES = 3, SIZE = 0, STRIDE, DILATION, LOW, HIGH, COUNT_PADDING, IMAGE };

/* A term of an element of the image. */
typedef struct addend {
  size_t to;   /* number of the element, in one image and channel */
  size_t next; /* number of its next term */
  void *value;
} addend;

typedef struct pool_windows {
  gemel__rcall *call;
  gemel_dtype dtype;
  int axes;
  int64_t leading[2]; /* numbers of images and channels */
  int64_t image[MOST_AXES], place[MOST_AXES];
  size_t elements, places; /* of the image, and of windows, in one image and channel */
  gemel__decider w;
  /* The current window: its elements, by number; and its candidates, as positions in MEMBERS. */
  size_t *members, n, *candidates, n_candidates;
  int undecided;
  const void **pointers, **tied; /* room for as many pointers */
  void *values;                  /* the addends' elements */
  addend *addends;
  size_t n_addends, room;
  void *cause, *spare; /* elements */
} pool_windows;

static gemel_status refuse(const gemel__rcall *call, const char *what) {
  return gemel__fail(call->error, GEMEL_BAD_SHAPE, "%s", what);
}

/* ---- Shapes ---- */

static int64_t number(const gemel__rcall *call, int attr, int axis) {
  return gemel__reference_absent(call, (size_t)attr) ? attr <= DILATION
                                                     : call->attrs[attr].u.ints[axis];
}

/* Counts the places of a window by placing it at each. A place must cover some of the image. */
static gemel_status count_places(pool_windows *p) {
  for (int k = 0; k < p->axes; k++) {
    int64_t from = -number(p->call, LOW, k), end = p->image[k] + number(p->call, HIGH, k);
    int64_t reach = (number(p->call, SIZE, k) - 1) * number(p->call, DILATION, k);
    p->place[k] = 0;
    for (; from + reach < end; from += number(p->call, STRIDE, k)) {
      p->place[k]++;
    }
    if (p->place[k] == 0) {
      return refuse(p->call, "the window doesn't fit into the padded image");
    }
  }
  return GEMEL_OK;
}

static size_t volume(const pool_windows *p, const int64_t *sizes) {
  size_t elements = 1;
  for (int k = 0; k < p->axes; k++) {
    elements *= (size_t)sizes[k];
  }
  return elements;
}

/* ---- Windows ---- */

static void index_of(const pool_windows *p, const int64_t *sizes, size_t number, int64_t *index) {
  for (int k = p->axes - 1; k >= 0; k--) {
    index[k] = (int64_t)(number % (size_t)sizes[k]);
    number /= (size_t)sizes[k];
  }
}

static int belongs(const pool_windows *p, const int64_t *element, const int64_t *place) {
  int inside = 1;
  for (int k = 0; k < p->axes; k++) {
    int64_t dilation = number(p->call, DILATION, k);
    int64_t behind = element[k] + number(p->call, LOW, k) - place[k] * number(p->call, STRIDE, k);
    inside &= behind >= 0 && behind % dilation == 0 && behind / dilation < number(p->call, SIZE, k);
  }
  return inside;
}

/* Along an axis: *FROM, and how many elements of the image from there to the window's last. */
static int64_t span_of(const pool_windows *p, int axis, int64_t place, int64_t *from) {
  int64_t start = place * number(p->call, STRIDE, axis) - number(p->call, LOW, axis);
  int64_t end = start + (number(p->call, SIZE, axis) - 1) * number(p->call, DILATION, axis) + 1;
  *from = start > 0 ? start : 0;
  end = end < p->image[axis] ? end : p->image[axis];
  return end > *from ? end - *from : 0;
}

static gemel_status find_window(pool_windows *p, size_t at) {
  int64_t place[MOST_AXES], from[MOST_AXES], span[MOST_AXES], element[MOST_AXES];
  index_of(p, p->place, at, place);
  for (int k = 0; k < p->axes; k++) {
    span[k] = span_of(p, k, place[k], &from[k]);
  }
  p->n = 0;
  for (size_t e = 0; e < volume(p, span); e++) {
    size_t whole = 0;
    index_of(p, span, e, element);
    for (int k = 0; k < p->axes; k++) {
      element[k] += from[k];
      whole = whole * (size_t)p->image[k] + (size_t)element[k];
    }
    if (belongs(p, element, place)) {
      p->members[p->n++] = whole;
    }
  }
  return p->n > 0 ? GEMEL_OK : refuse(p->call, "a window without elements");
}

/* Element K of image and channel LANE. */
static const void *of_image(const pool_windows *p, const gemel__rtensor *t, size_t lane, size_t k) {
  return gemel__rtensor_at(t, lane * p->elements + k);
}

static const void *of_places(const pool_windows *p, const gemel__rtensor *t, size_t lane,
                             size_t k) {
  return gemel__rtensor_at(t, lane * p->places + k);
}

static int is_nan(gemel__domain *d, const void *e) {
  return d->ieee && d->sign(d, e) == GEMEL__UNORDERED;
}

/* Adds member number K to the candidates unless one of them is larger, and removes those that are
 * smaller. */
static void consider(pool_windows *p, size_t lane, size_t k) {
  gemel__domain *d = p->call->domain;
  const void *x = of_image(p, p->call->inputs[0], lane, p->members[k]);
  size_t kept = 0;
  int smaller = 0;
  for (size_t i = 0; i < p->n_candidates; i++) {
    size_t other = p->candidates[i];
    int order = gemel__compare(&p->w, x, of_image(p, p->call->inputs[0], lane, p->members[other]));
    smaller |= order == -1;
    if (order == GEMEL__UNORDERED) {
      p->undecided = 1;
      d->set(d, p->cause, p->w.difference);
    }
    if (order != 1) {
      p->candidates[kept++] = other;
    }
  }
  p->n_candidates = kept;
  if (!smaller) {
    p->candidates[p->n_candidates++] = k;
  }
  p->undecided &= p->n_candidates > 1;
}

static void find_largest(pool_windows *p, size_t lane) {
  gemel__domain *d = p->call->domain;
  p->n_candidates = 0;
  p->undecided = 0;
  for (size_t k = 0; k < p->n; k++) {
    if (is_nan(d, of_image(p, p->call->inputs[0], lane, p->members[k]))) {
      p->n_candidates = 0;
      return;
    }
    consider(p, lane, k);
  }
}

/* e = e ÷ COUNT, rounded to DTYPE. */
static void store_mean(pool_windows *p, void *e, int64_t count, gemel_dtype dtype) {
  gemel__domain *d = p->call->domain;
  d->from_integer(d, p->spare, count);
  d->div(d, e, e, p->spare);
  gemel__store(&p->w, e, dtype, 0.5);
}

/* ---- What is made of a window ---- */

typedef void (*window_function)(pool_windows *p, size_t lane, size_t at);

static void window_max(pool_windows *p, size_t lane, size_t at) {
  void *e = gemel__rtensor_at(&p->call->outputs[0], lane * p->places + at);
  for (size_t k = 0; k < p->n; k++) {
    p->pointers[k] = of_image(p, p->call->inputs[0], lane, p->members[k]);
  }
  gemel__store_largest(&p->w, e, p->n, p->pointers, p->tied, p->spare);
}

static void window_pick(pool_windows *p, size_t lane, size_t at) {
  gemel__domain *d = p->call->domain;
  void *e = gemel__rtensor_at(&p->call->outputs[0], lane * p->places + at);
  find_largest(p, lane);
  for (size_t k = 0; k < p->n_candidates; k++) {
    p->pointers[k] = of_image(p, p->call->inputs[1], lane, p->members[p->candidates[k]]);
  }
  if (p->n_candidates == 0) {
    d->from_integer(d, e, 0);
  } else if (p->undecided) {
    d->set(d, e, p->pointers[0]);
    for (size_t k = 1; k < p->n_candidates; k++) {
      gemel__cover(d, e, p->cause, GEMEL__IF_POSITIVE, e, p->pointers[k]);
    }
    gemel__store(&p->w, e, p->dtype, 0.5);
  } else {
    d->sum(d, e, p->n_candidates, p->pointers);
    store_mean(p, e, (int64_t)p->n_candidates, p->dtype);
  }
}

static int64_t divisor(const pool_windows *p) {
  int64_t elements = 1;
  for (int k = 0; k < p->axes; k++) {
    elements *= number(p->call, SIZE, k);
  }
  return p->call->attrs[COUNT_PADDING].u.i != 0 ? elements : (int64_t)p->n;
}

static void window_avg(pool_windows *p, size_t lane, size_t at) {
  void *e = gemel__rtensor_at(&p->call->outputs[0], lane * p->places + at);
  for (size_t k = 0; k < p->n; k++) {
    p->pointers[k] = of_image(p, p->call->inputs[0], lane, p->members[k]);
  }
  p->call->domain->sum(p->call->domain, e, p->n, p->pointers);
  store_mean(p, e, divisor(p), p->dtype);
}

/* Adds the term Y ÷ COUNT to element TO of the image. */
static void *add_share(pool_windows *p, size_t to, const void *y, int64_t count) {
  gemel__domain *d = p->call->domain;
  addend *a = &p->addends[p->n_addends];
  a->to = to;
  a->value = gemel__element(d, p->values, p->n_addends++);
  d->set(d, a->value, y);
  store_mean(p, a->value, count, gemel__compute_dtype(p->dtype));
  return a->value;
}

static void window_max_grad(pool_windows *p, size_t lane, size_t at) {
  const void *y = of_places(p, p->call->inputs[1], lane, at);
  find_largest(p, lane);
  for (size_t k = 0; k < p->n_candidates; k++) {
    int64_t count = p->undecided ? 1 : (int64_t)p->n_candidates;
    void *share = add_share(p, p->members[p->candidates[k]], y, count);
    if (p->undecided) {
      gemel__cover(p->call->domain, share, p->cause, GEMEL__IF_POSITIVE, p->w.zero, share);
    }
  }
}

static void window_avg_grad(pool_windows *p, size_t lane, size_t at) {
  for (size_t k = 0; k < p->n; k++) {
    add_share(p, p->members[k], of_places(p, p->call->inputs[0], lane, at), divisor(p));
  }
}

/* ---- Images ---- */

/* Adds up the terms of each element of image and channel LANE. */
static void add_up(pool_windows *p, size_t lane) {
  size_t *first = p->members, none = p->n_addends; /* the number of each element's first term */
  for (size_t e = 0; e < p->elements; e++) {
    first[e] = none;
  }
  for (size_t k = p->n_addends; k-- > 0;) {
    p->addends[k].next = first[p->addends[k].to];
    first[p->addends[k].to] = k;
  }
  for (size_t e = 0; e < p->elements; e++) {
    size_t n = 0;
    for (size_t k = first[e]; k != none; k = p->addends[k].next) {
      p->pointers[n++] = p->addends[k].value;
    }
    gemel__store_sum(&p->w, gemel__rtensor_at(&p->call->outputs[0], lane * p->elements + e),
                     p->dtype, n, p->pointers);
  }
}

static gemel_status fill(pool_windows *p, window_function window, int gives) {
  size_t lanes = (size_t)(p->leading[0] * p->leading[1]);
  for (size_t lane = 0; lane < lanes; lane++) {
    p->n_addends = 0;
    for (size_t at = 0; at < p->places; at++) {
      GEMEL__TRY(find_window(p, at));
      window(p, lane, at);
    }
    if (gives) {
      add_up(p, lane);
    }
  }
  return GEMEL_OK;
}

/* Room for pointers: an element may be in all windows, and a window may hold the whole image. */
static size_t pointer_room(const pool_windows *p) {
  return p->elements > p->places ? p->elements : p->places;
}

static gemel_status allocate(pool_windows *p, int gives) {
  gemel__domain *d = p->call->domain;
  size_t window = 1;
  GEMEL__TRY(gemel__decider_init(&p->w, d, p->call->error));
  for (int k = 0; k < p->axes; k++) {
    window *= (size_t)number(p->call, SIZE, k);
  }
  p->room = gives ? (window < p->elements ? window : p->elements) * p->places + 1 : 1;
  p->members = gemel__alloc_array(p->elements, sizeof *p->members);
  p->candidates = gemel__alloc_array(p->elements, sizeof *p->candidates);
  p->pointers = gemel__alloc_array(pointer_room(p), sizeof *p->pointers);
  p->tied = gemel__alloc_array(p->elements, sizeof *p->tied);
  p->addends = gemel__alloc_array(p->room, sizeof *p->addends);
  p->values = gemel__elements_new(d, p->room);
  p->cause = gemel__elements_new(d, 2);
  p->spare = p->cause != NULL ? gemel__element(d, p->cause, 1) : NULL;
  return p->members && p->candidates && p->pointers && p->tied && p->addends && p->values &&
                 p->cause
             ? GEMEL_OK
             : gemel__no_memory(p->call->error, "windows");
}

static void release(pool_windows *p) {
  gemel__domain *d = p->call->domain;
  gemel__free(p->members, p->elements * sizeof *p->members);
  gemel__free(p->candidates, p->elements * sizeof *p->candidates);
  gemel__free(p->pointers, pointer_room(p) * sizeof *p->pointers);
  gemel__free(p->tied, p->elements * sizeof *p->tied);
  gemel__free(p->addends, p->room * sizeof *p->addends);
  if (p->values) {
    gemel__elements_free(d, p->values, p->room);
  }
  if (p->cause) {
    gemel__elements_free(d, p->cause, 2);
  }
  gemel__decider_clear(&p->w);
}

/* Evaluates WINDOW at each place. GIVES: it adds terms to the image, and result 0 has the image's
 * sizes; else result 0 has one element for each place. */
static gemel_status evaluate(pool_windows *p, window_function window, int gives) {
  int64_t shape[2 + MOST_AXES];
  size_t bytes = (size_t)p->axes * sizeof *shape;
  memcpy(shape, p->leading, sizeof p->leading);
  memcpy(shape + 2, gives ? p->image : p->place, bytes);
  p->elements = volume(p, p->image);
  p->places = volume(p, p->place);
  GEMEL__TRY(gemel__reference_output(p->call, 0, p->dtype, 2 + p->axes, shape));
  gemel_status status = allocate(p, gives);
  status = status ? status : fill(p, window, gives);
  if (p->w.block != NULL) {
    release(p);
  }
  return status;
}

static gemel_status begin(pool_windows *p, gemel__rcall *call) {
  const gemel__rtensor *first = call->inputs[0];
  memset(p, 0, sizeof *p);
  p->call = call;
  p->dtype = first->dtype;
  p->axes = first->rank - 2;
  if (p->axes < 1 || p->axes > MOST_AXES) {
    return refuse(call, "no image");
  }
  memcpy(p->leading, first->shape, sizeof p->leading);
  memcpy(p->image, first->shape + 2, (size_t)p->axes * sizeof *p->image);
  return GEMEL_OK;
}

static int same_shape(const pool_windows *p, const gemel__rtensor *t, const int64_t *sizes) {
  return t->dtype == p->dtype && t->rank == 2 + p->axes &&
         memcmp(t->shape, p->leading, sizeof p->leading) == 0 &&
         memcmp(t->shape + 2, sizes, (size_t)p->axes * sizeof *sizes) == 0;
}

/* Evaluates an operation whose first operand is an image. */
static gemel_status of_an_image(gemel__rcall *call, window_function window, int gives) {
  pool_windows p;
  GEMEL__TRY(begin(&p, call));
  GEMEL__TRY(count_places(&p));
  if (call->n_inputs > 1 && !same_shape(&p, call->inputs[1], gives ? p.place : p.image)) {
    return refuse(call, "operands that don't go together");
  }
  return evaluate(&p, window, gives);
}

static gemel_status reference_max_pool(gemel__rcall *call) {
  return of_an_image(call, window_max, 0);
}

static gemel_status reference_max_pool_grad(gemel__rcall *call) {
  return of_an_image(call, window_max_grad, 1);
}

static gemel_status reference_max_pool_pick(gemel__rcall *call) {
  return of_an_image(call, window_pick, 0);
}

static gemel_status reference_avg_pool(gemel__rcall *call) {
  return of_an_image(call, window_avg, 0);
}

static gemel_status reference_avg_pool_grad(gemel__rcall *call) {
  pool_windows p;
  GEMEL__TRY(begin(&p, call));
  memcpy(p.image, call->attrs[IMAGE].u.ints, (size_t)p.axes * sizeof *p.image);
  GEMEL__TRY(count_places(&p));
  if (!same_shape(&p, call->inputs[0], p.place)) {
    return refuse(call, "another number of places");
  }
  return evaluate(&p, window_avg_grad, 1);
}

const gemel__twin gemel__twin_max_pool = {.reference = reference_max_pool,
                                          .sample = gemel__sampler_max_pool,
                                          .propose = gemel__propose_max_pool,
                                          .arithmetic = GEMEL__EXACT};
const gemel__twin gemel__twin_max_pool_grad = {.reference = reference_max_pool_grad,
                                               .sample = gemel__sampler_max_pool_grad,
                                               .propose = gemel__propose_max_pool_grad,
                                               .arithmetic = GEMEL__SUMS | GEMEL__QUOTIENTS,
                                               .linear = GEMEL__LINEAR_SECOND};
const gemel__twin gemel__twin_max_pool_pick = {.reference = reference_max_pool_pick,
                                               .sample = gemel__sampler_max_pool_pick,
                                               .propose = gemel__propose_max_pool_pick,
                                               .arithmetic = GEMEL__SUMS | GEMEL__QUOTIENTS,
                                               .linear = GEMEL__LINEAR_SECOND};
const gemel__twin gemel__twin_avg_pool = {.reference = reference_avg_pool,
                                          .sample = gemel__sampler_avg_pool,
                                          .propose = gemel__propose_avg_pool,
                                          .arithmetic = GEMEL__SUMS | GEMEL__QUOTIENTS,
                                          .linear = GEMEL__LINEAR_PART};
const gemel__twin gemel__twin_avg_pool_grad = {.reference = reference_avg_pool_grad,
                                               .sample = gemel__sampler_avg_pool_grad,
                                               .propose = gemel__propose_avg_pool_grad,
                                               .arithmetic = GEMEL__SUMS | GEMEL__QUOTIENTS,
                                               .linear = GEMEL__LINEAR_PAD};
