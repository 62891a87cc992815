/* SPDX-License-Identifier: MIT
 *
 * References of the three convolutions, from one definition. Element k of the kernel meets element
 * o of the result at i = o * stride + k * dilation - low of the image (k counted from the other end
 * if flipped). Each such meeting is one product in the sum. For an element of a result, all k or o
 * or both are tried, and those that meet it are added up. A product is rounded to the dtype
 * computed in (f32 for half types), the sum as the sum reference rounds it.
 *
 * Padding is 0. An algorithm may multiply by it or leave it out; the difference shows where the
 * other factor is not finite. There the result is undecided.
 */
#include <string.h>
#include "reference/common.h"
#include "reference/twin.h"

enum { MOST_AXES = 3, STRIDE = 0, DILATION, LOW, HIGH, PADDING, GROUPS, FLIP, UNSHARED, SIZES };

/* What an operation is given, and what is derived from it. */
typedef struct conv {
  const gemel__rtensor *x, *w, *y;
  int axes;
  int64_t batch, channels, filters, groups; /* channels and filters of a group */
  int64_t image[MOST_AXES], kernel[MOST_AXES], place[MOST_AXES];
  int64_t stride[MOST_AXES], dilation[MOST_AXES], low[MOST_AXES];
  int flip;
  /* The terms of the current element. */
  gemel__decider space;
  gemel_dtype dtype;
  void *products;
  const void **pointers;
  size_t terms, room;
  int blurred; /* 1: padding meets a number that is not finite, or may not be */
} conv;

static gemel_status refuse(const gemel__rcall *call, const char *what) {
  return gemel__fail(call->error, GEMEL_BAD_SHAPE, "%s", what);
}

/* ---- Shapes ---- */

static int64_t number(const gemel__rcall *call, int attr, int axis, int64_t otherwise) {
  return gemel__reference_absent(call, (size_t)attr) ? otherwise : call->attrs[attr].u.ints[axis];
}

static int64_t span(const conv *c, int axis) {
  return (c->kernel[axis] - 1) * c->dilation[axis] + 1;
}

static int64_t padding(const gemel__rcall *call, const conv *c, int attr, int axis) {
  const char *kind = call->attrs[PADDING].u.text;
  if (strcmp(kind, "full") == 0) {
    return span(c, axis) - 1;
  }
  return strcmp(kind, "half") == 0 ? span(c, axis) / 2 : number(call, attr, axis, 0);
}

static int unshared(const gemel__rcall *call) {
  return call->attrs[UNSHARED].u.i != 0;
}

/* Counts the positions of the kernel by placing it at each. */
static gemel_status count_places(const gemel__rcall *call, conv *c) {
  c->flip = call->attrs[FLIP].u.i != 0;
  for (int k = 0; k < c->axes; k++) {
    c->stride[k] = number(call, STRIDE, k, 1);
    c->dilation[k] = number(call, DILATION, k, 1);
    c->low[k] = padding(call, c, LOW, k);
    c->place[k] = 0;
    int64_t end = c->image[k] + padding(call, c, HIGH, k);
    for (int64_t from = -c->low[k]; from + span(c, k) <= end; from += c->stride[k]) {
      c->place[k]++;
    }
    if (c->kernel[k] < 1 || c->place[k] == 0) {
      return refuse(call, "the kernel doesn't fit into the padded image");
    }
  }
  return GEMEL_OK;
}

static gemel_status read_weights(const gemel__rcall *call, conv *c) {
  int behind = unshared(call) ? c->axes : 0;
  if (c->w->rank != 2 + behind + c->axes) {
    return refuse(call, "weights of another rank");
  }
  c->filters = c->w->shape[0] / c->groups;
  c->channels = c->w->shape[1 + behind];
  memcpy(c->kernel, c->w->shape + 2 + behind, (size_t)c->axes * sizeof *c->kernel);
  return c->filters * c->groups == c->w->shape[0] ? GEMEL_OK
                                                  : refuse(call, "filters that are no groups");
}

static gemel_status same_places(const gemel__rcall *call, const conv *c, const int64_t *given) {
  return memcmp(c->place, given, (size_t)c->axes * sizeof *given) == 0
             ? GEMEL_OK
             : refuse(call, "another number of places");
}

static gemel_status begin(const gemel__rcall *call, conv *c) {
  const gemel__rtensor *image = c->x != NULL ? c->x : c->y;
  c->axes = image->rank - 2;
  c->groups = call->attrs[GROUPS].u.i;
  c->batch = image->shape[0];
  c->dtype = image->dtype;
  if (c->axes < 1 || c->axes > MOST_AXES || c->groups < 1) {
    return refuse(call, "no image, or no groups");
  }
  return call->inputs[0]->dtype == call->inputs[1]->dtype
             ? GEMEL_OK
             : gemel__fail(call->error, GEMEL_BAD_TYPE, "operands of different dtypes");
}

/* ---- Terms ---- */

/* Sets IMAGE to where element K of the kernel meets PLACE; 0 if that is outside the image. */
static int meets(const conv *c, const int64_t *place, const int64_t *k, int64_t *image) {
  int inside = 1;
  for (int axis = 0; axis < c->axes; axis++) {
    int64_t along = c->flip ? c->kernel[axis] - 1 - k[axis] : k[axis];
    image[axis] = place[axis] * c->stride[axis] + along * c->dilation[axis] - c->low[axis];
    inside &= image[axis] >= 0 && image[axis] < c->image[axis];
  }
  return inside;
}

static const void *spatial(const conv *c, const gemel__rtensor *t, int64_t n, int64_t channel,
                           const int64_t *where) {
  int64_t index[GEMEL_MAX_RANK] = {n, channel};
  memcpy(index + 2, where, (size_t)c->axes * sizeof *where);
  return gemel__rtensor_index(t, index);
}

static const void *weight(const gemel__rcall *call, const conv *c, int64_t filter, int64_t channel,
                          const int64_t *place, const int64_t *k) {
  int64_t index[GEMEL_MAX_RANK] = {filter};
  size_t bytes = (size_t)c->axes * sizeof *k;
  int rank = 1;
  if (unshared(call)) {
    memcpy(index + 1, place, bytes);
    rank += c->axes;
  }
  index[rank++] = channel;
  memcpy(index + rank, k, bytes);
  return gemel__rtensor_index(c->w, index);
}

/* Adds the product of A and B to the terms; A is NULL for padding. */
static void term(conv *c, const void *a, const void *b) {
  gemel__domain *d = c->space.domain;
  void *product = gemel__element(d, c->products, c->terms);
  if (a == NULL) {
    c->blurred |= d->state(d, b) == GEMEL__UNDECIDED;
    if (d->ieee) {
      d->mul(d, product, c->space.zero, b);
      c->blurred |= d->sign(d, product) == GEMEL__UNORDERED;
    }
    return;
  }
  gemel__multiply(d, product, a, b, c->dtype);
  c->pointers[c->terms++] = product;
}

/* Terms of out[n, f, place]: over channels and elements of the kernel. */
static void output_terms(const gemel__rcall *call, conv *c, const int64_t *index) {
  const int64_t n = index[0], f = index[1], *place = index + 2;
  int64_t k[MOST_AXES] = {0}, image[MOST_AXES];
  do {
    int inside = meets(c, place, k, image);
    for (int64_t channel = 0; channel < c->channels; channel++) {
      int64_t from = f / c->filters * c->channels + channel;
      term(c, inside ? spatial(c, c->x, n, from, image) : NULL,
           weight(call, c, f, channel, place, k));
    }
    gemel__index_next(c->axes, c->kernel, k);
  } while (k[0] + k[1] + k[2] > 0);
}

/* Terms of out[f, (place,) channel, k]: over images and places. */
static void weight_terms(const gemel__rcall *call, conv *c, const int64_t *index) {
  const int64_t f = index[0], *fixed = unshared(call) ? index + 1 : NULL;
  const int64_t *k = index + 2 + (fixed != NULL ? c->axes : 0), channel = k[-1];
  int64_t place[MOST_AXES] = {0}, image[MOST_AXES];
  do {
    const int64_t *at = fixed != NULL ? fixed : place;
    int inside = meets(c, at, k, image);
    for (int64_t n = 0; n < c->batch; n++) {
      int64_t from = f / c->filters * c->channels + channel;
      term(c, inside ? spatial(c, c->x, n, from, image) : NULL, spatial(c, c->y, n, f, at));
    }
    gemel__index_next(c->axes, c->place, place);
  } while (fixed == NULL && place[0] + place[1] + place[2] > 0);
}

/* Sets PLACE to where the kernel lies if its element K meets WHERE; 0 if it lies nowhere. */
static int lies(const conv *c, const int64_t *where, const int64_t *k, int64_t *place) {
  for (int axis = 0; axis < c->axes; axis++) {
    int64_t along = c->flip ? c->kernel[axis] - 1 - k[axis] : k[axis];
    int64_t from = where[axis] + c->low[axis] - along * c->dilation[axis];
    place[axis] = from / c->stride[axis];
    if (from < 0 || from % c->stride[axis] != 0 || place[axis] >= c->place[axis]) {
      return 0;
    }
  }
  return 1;
}

/* Terms of out[n, channel, where]: over filters and the places whose kernel covers WHERE. */
static void input_terms(const gemel__rcall *call, conv *c, const int64_t *index) {
  const int64_t n = index[0], channel = index[1], *where = index + 2;
  int64_t k[MOST_AXES] = {0}, place[MOST_AXES];
  do {
    for (int64_t filter = 0; lies(c, where, k, place) && filter < c->filters; filter++) {
      int64_t f = channel / c->channels * c->filters + filter;
      term(c, spatial(c, c->y, n, f, place), weight(call, c, f, channel % c->channels, place, k));
    }
    gemel__index_next(c->axes, c->kernel, k);
  } while (k[0] + k[1] + k[2] > 0);
}

/* ---- Elements ---- */

typedef void (*terms_function)(const gemel__rcall *call, conv *c, const int64_t *index);

static gemel_status fill_elements(gemel__rcall *call, conv *c, terms_function terms) {
  gemel__domain *d = call->domain;
  gemel__rtensor *out = &call->outputs[0];
  int64_t index[GEMEL_MAX_RANK] = {0};
  for (size_t i = 0; i < out->count; i++) {
    void *e = gemel__rtensor_at(out, i);
    c->terms = 0;
    c->blurred = 0;
    terms(call, c, index);
    gemel__store_sum(&c->space, e, c->dtype, c->terms, c->pointers);
    if (c->blurred) {
      d->set_state(d, e, GEMEL__UNDECIDED);
    }
    gemel__index_next(out->rank, out->shape, index);
    GEMEL__TRY(gemel__reference_go_on(c->terms));
  }
  return GEMEL_OK;
}

static gemel_status fill(gemel__rcall *call, conv *c, size_t room, terms_function terms) {
  gemel__domain *d = call->domain;
  GEMEL__TRY(gemel__decider_init(&c->space, d, call->error));
  c->room = room + 1;
  c->products = gemel__elements_new(d, c->room);
  c->pointers = gemel__alloc_array(c->room, sizeof *c->pointers);
  gemel_status status = c->products && c->pointers
                            ? fill_elements(call, c, terms)
                            : gemel__no_memory(call->error, "a convolution's terms");
  gemel__free(c->pointers, c->room * sizeof *c->pointers);
  gemel__elements_free(d, c->products, c->room);
  gemel__decider_clear(&c->space);
  return status;
}

static size_t volume(int axes, const int64_t *sizes) {
  size_t elements = 1;
  for (int k = 0; k < axes; k++) {
    elements *= (size_t)sizes[k];
  }
  return elements;
}

static gemel_status output(gemel__rcall *call, const conv *c, int rank, const int64_t *shape) {
  return gemel__reference_output(call, 0, c->dtype, rank, shape);
}

static gemel_status reference_corr(gemel__rcall *call) {
  conv c = {.x = call->inputs[0], .w = call->inputs[1]};
  int64_t shape[2 + MOST_AXES];
  GEMEL__TRY(begin(call, &c));
  memcpy(c.image, c.x->shape + 2, (size_t)c.axes * sizeof *c.image);
  GEMEL__TRY(read_weights(call, &c));
  GEMEL__TRY(count_places(call, &c));
  if (c.x->shape[1] != c.channels * c.groups ||
      (unshared(call) && same_places(call, &c, c.w->shape + 1) != GEMEL_OK)) {
    return refuse(call, "image and weights don't go together");
  }
  shape[0] = c.batch, shape[1] = c.filters * c.groups;
  memcpy(shape + 2, c.place, (size_t)c.axes * sizeof *shape);
  GEMEL__TRY(output(call, &c, 2 + c.axes, shape));
  return fill(call, &c, (size_t)c.channels * volume(c.axes, c.kernel), output_terms);
}

static gemel_status reference_grad_weights(gemel__rcall *call) {
  conv c = {.x = call->inputs[0], .y = call->inputs[1]};
  int64_t shape[2 + 2 * MOST_AXES];
  int rank = 1;
  GEMEL__TRY(begin(call, &c));
  size_t bytes = (size_t)c.axes * sizeof *shape;
  memcpy(c.image, c.x->shape + 2, bytes);
  memcpy(c.kernel, call->attrs[SIZES].u.ints, bytes);
  c.channels = c.x->shape[1] / c.groups;
  c.filters = c.y->shape[1] / c.groups;
  if (c.channels * c.groups != c.x->shape[1] || c.filters * c.groups != c.y->shape[1] ||
      c.y->shape[0] != c.batch) {
    return refuse(call, "image and result don't go together");
  }
  GEMEL__TRY(count_places(call, &c));
  GEMEL__TRY(same_places(call, &c, c.y->shape + 2));
  shape[0] = c.y->shape[1];
  if (unshared(call)) {
    memcpy(shape + 1, c.place, bytes);
    rank += c.axes;
  }
  shape[rank++] = c.channels;
  memcpy(shape + rank, c.kernel, bytes);
  GEMEL__TRY(output(call, &c, rank + c.axes, shape));
  return fill(call, &c, (size_t)c.batch * volume(c.axes, c.place), weight_terms);
}

static gemel_status reference_grad_inputs(gemel__rcall *call) {
  conv c = {.w = call->inputs[0], .y = call->inputs[1]};
  int64_t shape[2 + MOST_AXES];
  GEMEL__TRY(begin(call, &c));
  GEMEL__TRY(read_weights(call, &c));
  memcpy(c.image, call->attrs[SIZES].u.ints, (size_t)c.axes * sizeof *shape);
  GEMEL__TRY(count_places(call, &c));
  GEMEL__TRY(same_places(call, &c, c.y->shape + 2));
  if (unshared(call)) {
    GEMEL__TRY(same_places(call, &c, c.w->shape + 1));
  }
  if (c.y->shape[1] != c.filters * c.groups) {
    return refuse(call, "weights and result don't go together");
  }
  shape[0] = c.batch, shape[1] = c.channels * c.groups;
  memcpy(shape + 2, c.image, (size_t)c.axes * sizeof *shape);
  GEMEL__TRY(output(call, &c, 2 + c.axes, shape));
  return fill(call, &c, (size_t)c.filters * volume(c.axes, c.kernel), input_terms);
}

const gemel__twin gemel__twin_corr = {.reference = reference_corr,
                                      .sample = gemel__sampler_corr,
                                      .propose = gemel__propose_corr,
                                      .arithmetic = GEMEL__SUMS | GEMEL__PRODUCTS,
                                      .linear = GEMEL__LINEAR_CORRELATION};
const gemel__twin gemel__twin_corr_grad_weights = {.reference = reference_grad_weights,
                                                   .sample = gemel__sampler_corr_grad_weights,
                                                   .propose = gemel__propose_corr_grad_weights,
                                                   .arithmetic = GEMEL__SUMS | GEMEL__PRODUCTS,
                                                   .linear = GEMEL__LINEAR_CORRELATIONS};
const gemel__twin gemel__twin_corr_grad_inputs = {.reference = reference_grad_inputs,
                                                  .sample = gemel__sampler_corr_grad_inputs,
                                                  .propose = gemel__propose_corr_grad_inputs,
                                                  .arithmetic = GEMEL__SUMS | GEMEL__PRODUCTS,
                                                  .linear = GEMEL__LINEAR_CORRELATED};
