/* SPDX-License-Identifier: MIT
 *
 * What a correlation pulls: element k of the kernel meets place o of the result at o * stride + k *
 * dilation - low of the image, and each such meeting is one product in the sum. Which group a
 * channel is of is a function of it, of how many channels there are and of the number of groups; of
 * that only the range is known. A gradient by the weights is the sum over the meetings of one
 * element of the kernel, one by the image that over the meetings of one of the image.
 */
#include <string.h>
#include "core/context.h"
#include "unbounded/pull.h"

enum { MOST_AXES = 3 };

/* The sizes of a convolution: channels and filters are those of all groups. */
typedef struct pulled_conv {
  int axes, flip, unshared;
  gemel__pterm groups, batch, channels, filters, of_group; /* OF_GROUP: channels of one */
  gemel__pterm image[MOST_AXES], kernel[MOST_AXES], places[MOST_AXES];
  gemel__pterm stride[MOST_AXES], dilation[MOST_AXES], low[MOST_AXES], high[MOST_AXES];
} pulled_conv;

/* ---- Attributes ---- */

static int flag(gemel__pscene *s, const gemel__ptensor *t, const char *name) {
  int64_t number = 0;
  gemel__p_is_number(&s->terms, gemel__ptensor_attr(t, name)->list[0], &number);
  return number != 0;
}

/* Entry K of a list of T for its spatial axes, or what stands for one that is absent. */
static gemel__pterm entry_or(const gemel__ptensor *t, const char *name, int k,
                             gemel__pterm fallback) {
  const gemel__pvalue *v = gemel__ptensor_attr(t, name);
  return v->kind == GEMEL__PV_ABSENT ? fallback : (uint32_t)k < v->count ? v->list[k] : 0;
}

/* Padding that the kernel gives: its span less 1, or half of its span. */
static gemel__pterm kernel_padding(gemel__pscene *s, const gemel__ptensor *t, gemel__pterm span) {
  int64_t kind = 0;
  const gemel__pvalue *v = gemel__ptensor_attr(t, "padding");
  if (v->count == 1) {
    gemel__p_is_number(&s->terms, v->list[0], &kind);
  }
  return kind == GEMEL__PADDING_FULL ? gemel__p_plus(&s->terms, span, -1)
         : kind == GEMEL__PADDING_HALF
             ? gemel__p_div(&s->terms, span, gemel__p_number(&s->terms, 2))
             : gemel__p_number(&s->terms, 0);
}

/* How often the kernel fits along axis K; it must once. */
static void set_axis(gemel__pscene *s, const gemel__ptensor *t, pulled_conv *c, int k) {
  gemel__pterms *terms = &s->terms;
  gemel__pterm one = gemel__p_number(terms, 1), zero = gemel__p_number(terms, 0);
  c->stride[k] = entry_or(t, "stride", k, one);
  c->dilation[k] = entry_or(t, "dilation", k, one);
  gemel__pterm span = gemel__p_plus(
      terms, gemel__p_mul(terms, gemel__p_plus(terms, c->kernel[k], -1), c->dilation[k]), 1);
  gemel__pterm padding = kernel_padding(s, t, span);
  c->low[k] = entry_or(t, "low", k, padding);
  c->high[k] = entry_or(t, "high", k, padding);
  gemel__pterm room = gemel__p_sub(
      terms, gemel__p_add(terms, c->image[k], gemel__p_add(terms, c->low[k], c->high[k])), span);
  c->places[k] = gemel__p_plus(terms, gemel__p_div(terms, room, c->stride[k]), 1);
  gemel__pscene_need(s, gemel__p_at_least(terms, c->image[k], zero), 1, "an image below 0");
  gemel__pscene_need(s, gemel__p_at_least(terms, c->kernel[k], one), 1, "a kernel of nothing");
  gemel__pscene_need(s, gemel__p_at_least(terms, c->stride[k], one), 0, "a stride below 1");
  gemel__pscene_need(s, gemel__p_at_least(terms, c->dilation[k], one), 0, "a dilation below 1");
  gemel__pscene_need(s, gemel__p_at_least(terms, c->low[k], zero), 0, "padding below 0");
  gemel__pscene_need(s, gemel__p_at_least(terms, c->high[k], zero), 0, "padding below 0");
  gemel__pscene_need(s, gemel__p_at_least(terms, room, zero), 1, "a kernel that doesn't fit");
}

/* ---- Sizes ---- */

static void need_equal(gemel__pscene *s, gemel__pterm a, gemel__pterm b, const char *what) {
  gemel__pscene_need(s, gemel__p_equal(&s->terms, a, b), 1, what);
}

/* What the image of RANK and the attributes of T say; 0: T is no such operation. */
static int begin(gemel__pscene *s, const gemel__ptensor *t, pulled_conv *c, int rank) {
  static const char *const lists[] = {"stride", "dilation", "low", "high"};
  memset(c, 0, sizeof *c);
  c->axes = rank - 2;
  c->flip = flag(s, t, "flip");
  c->unshared = flag(s, t, "unshared");
  c->groups = gemel__ptensor_attr(t, "groups")->list[0];
  if (c->axes < 1 || c->axes > MOST_AXES) {
    gemel__pull_refuse(s, "an image without spatial axes");
  }
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
    gemel__pull_has_length(s, t, lists[k], c->axes, 1);
  }
  return s->flow == GEMEL__P_GO;
}

/* The weights' sizes. */
static int read_weights(gemel__pscene *s, const gemel__ptensor *w, pulled_conv *c) {
  int behind = c->unshared ? c->axes : 0;
  if (w->rank != 2 + behind + c->axes) {
    gemel__pull_refuse(s, "weights of another rank");
    return 0;
  }
  c->filters = w->shape[0];
  c->of_group = w->shape[1 + behind];
  memcpy(c->kernel, w->shape + 2 + behind, (size_t)c->axes * sizeof *c->kernel);
  return 1;
}

/* COUNT channels or filters are GROUPS groups of as many. */
static void need_groups(gemel__pscene *s, const pulled_conv *c, gemel__pterm count) {
  const gemel__pterm both[2] = {count, c->groups};
  gemel__pscene_need(s, gemel__p_at_least(&s->terms, c->groups, gemel__p_number(&s->terms, 1)), 0,
                     "no groups");
  if (!gemel__pscene_plain(s,
                           gemel__p_equal(&s->terms, c->groups, gemel__p_number(&s->terms, 1)))) {
    gemel__pscene_need(s, gemel__p_call(&s->terms, GEMEL__PSORT_TRUTH, "in groups", 0, 2, both), 1,
                       "channels that are no groups");
  }
}

/* The group of channel K of COUNT: its first of C's channels of the other kind, of which each group
 * has MANY. */
static gemel__pterm group_start(gemel__pscene *s, const pulled_conv *c, gemel__pterm k,
                                gemel__pterm count, gemel__pterm many) {
  gemel__pterms *t = &s->terms;
  const gemel__pterm operands[3] = {k, count, c->groups};
  if (gemel__pscene_plain(s, gemel__p_equal(t, c->groups, gemel__p_number(t, 1)))) {
    return gemel__p_number(t, 0);
  }
  gemel__pterm group = gemel__p_call(t, GEMEL__PSORT_INTEGER, "group", 0, 3, operands);
  gemel__pterm first = gemel__p_mul(t, group, many), all = gemel__p_mul(t, c->groups, many);
  gemel__pscene_assume(s, gemel__p_at_least(t, first, gemel__p_number(t, 0)), 0);
  gemel__pscene_assume(s, gemel__p_at_least(t, all, gemel__p_add(t, first, many)), 0);
  return first;
}

static int conv_of_corr(gemel__pscene *s, const gemel__ptensor *t, pulled_conv *c) {
  const gemel__ptensor *x = t->operands[0], *w = t->operands[1];
  if (!begin(s, t, c, x->rank) || !read_weights(s, w, c)) {
    return 0;
  }
  c->batch = x->shape[0];
  c->channels = x->shape[1];
  memcpy(c->image, x->shape + 2, (size_t)c->axes * sizeof *c->image);
  for (int k = 0; k < c->axes; k++) {
    set_axis(s, t, c, k);
  }
  return s->flow == GEMEL__P_GO;
}

/* The sizes of a gradient BY_IMAGE, or else by the weights. Operands are the other of these two,
 * and what corr would give; the sizes that are asked for are an attribute. */
static int conv_of_gradient(gemel__pscene *s, const gemel__ptensor *t, pulled_conv *c,
                            int by_image) {
  gemel__pterms *terms = &s->terms;
  const gemel__ptensor *given = t->operands[0], *y = t->operands[1];
  const gemel__pvalue *asked = gemel__ptensor_attr(t, by_image ? "image" : "kernel");
  if (!begin(s, t, c, y->rank) || (by_image && !read_weights(s, given, c))) {
    return 0;
  }
  if (t->count != 2 || (!by_image && given->rank != y->rank) || (int)asked->count != c->axes) {
    gemel__pull_refuse(s, "a gradient of other axes");
    return 0;
  }
  c->batch = y->shape[0];
  c->filters = y->shape[1];
  memcpy(by_image ? c->image : c->kernel, asked->list, (size_t)c->axes * sizeof *c->image);
  if (by_image) {
    c->channels = gemel__p_mul(terms, c->groups, c->of_group);
    need_equal(s, given->shape[0], c->filters, "filters of another number");
  } else {
    c->channels = given->shape[1];
    c->of_group = gemel__p_div(terms, c->channels, c->groups);
    memcpy(c->image, given->shape + 2, (size_t)c->axes * sizeof *c->image);
    need_equal(s, c->channels, gemel__p_mul(terms, c->groups, c->of_group),
               "channels that are no groups");
    need_equal(s, given->shape[0], c->batch, "images of another number");
  }
  for (int k = 0; k < c->axes; k++) {
    set_axis(s, t, c, k);
    need_equal(s, c->places[k], y->shape[k + 2], "places of another number");
    if (by_image && c->unshared) {
      need_equal(s, given->shape[1 + k], c->places[k], "kernels for other places");
    }
  }
  return s->flow == GEMEL__P_GO;
}

static void shape_gradient(gemel__pscene *s, gemel__ptensor *t, int by_image) {
  pulled_conv c;
  if (!conv_of_gradient(s, t, &c, by_image)) {
    return;
  }
  need_groups(s, &c, c.filters);
  t->rank = 0;
  t->shape[t->rank++] = by_image ? c.batch : c.filters;
  for (int k = 0; k < c.axes && !by_image && c.unshared; k++) {
    t->shape[t->rank++] = c.places[k];
  }
  t->shape[t->rank++] = by_image ? c.channels : c.of_group;
  for (int k = 0; k < c.axes; k++) {
    t->shape[t->rank++] = by_image ? c.image[k] : c.kernel[k];
  }
}

static void shape_by_image(gemel__pscene *s, gemel__ptensor *t) {
  shape_gradient(s, t, 1);
}

static void shape_by_weights(gemel__pscene *s, gemel__ptensor *t) {
  shape_gradient(s, t, 0);
}

static void shape_corr(gemel__pscene *s, gemel__ptensor *t) {
  pulled_conv c;
  if (!conv_of_corr(s, t, &c)) {
    return;
  }
  need_groups(s, &c, c.filters);
  need_equal(s, c.channels, gemel__p_mul(&s->terms, c.groups, c.of_group),
             "channels that don't go with the weights");
  t->rank = c.axes + 2;
  t->shape[0] = c.batch;
  t->shape[1] = c.filters;
  for (int k = 0; k < c.axes; k++) {
    t->shape[k + 2] = c.places[k];
    if (c.unshared) {
      need_equal(s, t->operands[1]->shape[1 + k], c.places[k], "kernels for other places");
    }
  }
}

/* ---- Elements ---- */

static gemel__pterm bound(gemel__pscene *s, gemel__pterm size, gemel__pterm *symbols,
                          gemel__pterm *sizes, uint32_t *count) {
  gemel__pterm symbol = gemel__p_fresh(&s->terms, GEMEL__PSORT_INTEGER, "k");
  symbols[*count] = symbol;
  sizes[(*count)++] = size;
  return symbol;
}

/* 0 <= AT < SIZE. */
static gemel__pterm lies_in(gemel__pscene *s, gemel__pterm at, gemel__pterm size) {
  return gemel__p_and(&s->terms, gemel__p_at_least(&s->terms, at, gemel__p_number(&s->terms, 0)),
                      gemel__p_below(&s->terms, at, size));
}

/* Where element K of the kernel meets place O, along AXIS. */
static gemel__pterm meets(gemel__pscene *s, const pulled_conv *c, int axis, gemel__pterm o,
                          gemel__pterm k) {
  gemel__pterms *t = &s->terms;
  gemel__pterm along = c->flip ? gemel__p_plus(t, gemel__p_sub(t, c->kernel[axis], k), -1) : k;
  gemel__pterm at = gemel__p_add(t, gemel__p_mul(t, o, c->stride[axis]),
                                 gemel__p_mul(t, along, c->dilation[axis]));
  return gemel__p_sub(t, at, c->low[axis]);
}

static gemel__pterm weight_at(gemel__pscene *s, const gemel__ptensor *w, const pulled_conv *c,
                              gemel__pterm filter, gemel__pterm channel, const gemel__pterm *o,
                              const gemel__pterm *k) {
  gemel__pterm at[2 + 2 * MOST_AXES] = {filter};
  int rank = 1;
  for (int axis = 0; axis < c->axes && c->unshared; axis++) {
    at[rank++] = o[axis];
  }
  at[rank++] = channel;
  memcpy(at + rank, k, (size_t)c->axes * sizeof *k);
  return gemel__ptensor_pull(s, w, at);
}

/* A and B multiplied where TRUTH holds, added up over COUNT symbols. */
static gemel__pterm total(gemel__pscene *s, const gemel__ptensor *t, gemel__pterm truth,
                          gemel__pterm a, gemel__pterm b, uint32_t count,
                          const gemel__pterm *symbols, const gemel__pterm *sizes) {
  const gemel__pterm both[2] = {a, b};
  gemel__pterm body =
      gemel__p_choose(&s->terms, truth, gemel__p_call(&s->terms, t->sort, "mul", 1, 2, both),
                      gemel__p_literal(&s->terms, t->sort, "0"));
  return gemel__p_fold(&s->terms, t->sort, "dot", body, count, symbols, sizes);
}

static gemel__pterm pull_corr(gemel__pscene *s, const gemel__ptensor *t,
                              const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  gemel__pterm symbols[1 + MOST_AXES], sizes[1 + MOST_AXES], k[MOST_AXES], at[2 + MOST_AXES];
  gemel__pterm inside = gemel__p_truth(terms, 1);
  uint32_t count = 0;
  pulled_conv c;
  if (!conv_of_corr(s, t, &c)) {
    return 0;
  }
  gemel__pterm channel = bound(s, c.of_group, symbols, sizes, &count);
  at[0] = index[0];
  at[1] = gemel__p_add(terms, channel, group_start(s, &c, index[1], c.filters, c.of_group));
  for (int axis = 0; axis < c.axes; axis++) {
    k[axis] = bound(s, c.kernel[axis], symbols, sizes, &count);
    at[axis + 2] = meets(s, &c, axis, index[axis + 2], k[axis]);
    inside = gemel__p_and(terms, inside, lies_in(s, at[axis + 2], c.image[axis]));
  }
  gemel__pterm image = gemel__ptensor_pull(s, t->operands[0], at);
  gemel__pterm weight = weight_at(s, t->operands[1], &c, index[1], channel, index + 2, k);
  return total(s, t, inside, image, weight, count, symbols, sizes);
}

/* The sum over images, and over places unless each has a kernel of its own. */
static gemel__pterm pull_by_weights(gemel__pscene *s, const gemel__ptensor *t,
                                    const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  gemel__pterm symbols[1 + MOST_AXES], sizes[1 + MOST_AXES];
  gemel__pterm x[2 + MOST_AXES], y[2 + MOST_AXES], inside = gemel__p_truth(terms, 1);
  uint32_t count = 0;
  pulled_conv c;
  if (!conv_of_gradient(s, t, &c, 0)) {
    return 0;
  }
  int behind = c.unshared ? c.axes : 0;
  x[0] = y[0] = bound(s, c.batch, symbols, sizes, &count);
  y[1] = index[0];
  x[1] =
      gemel__p_add(terms, index[1 + behind], group_start(s, &c, index[0], c.filters, c.of_group));
  for (int axis = 0; axis < c.axes; axis++) {
    y[axis + 2] = c.unshared ? index[1 + axis] : bound(s, c.places[axis], symbols, sizes, &count);
    x[axis + 2] = meets(s, &c, axis, y[axis + 2], index[2 + behind + axis]);
    inside = gemel__p_and(terms, inside, lies_in(s, x[axis + 2], c.image[axis]));
  }
  return total(s, t, inside, gemel__ptensor_pull(s, t->operands[0], x),
               gemel__ptensor_pull(s, t->operands[1], y), count, symbols, sizes);
}

/* The sum over the filters of the channel's group, places and kernel, where they meet at INDEX. */
static gemel__pterm pull_by_image(gemel__pscene *s, const gemel__ptensor *t,
                                  const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  gemel__pterm symbols[1 + 2 * MOST_AXES], sizes[1 + 2 * MOST_AXES], k[MOST_AXES];
  gemel__pterm y[2 + MOST_AXES] = {index[0]}, here = gemel__p_truth(terms, 1);
  uint32_t count = 0;
  pulled_conv c;
  if (!conv_of_gradient(s, t, &c, 1)) {
    return 0;
  }
  gemel__pterm filters = gemel__p_div(terms, c.filters, c.groups);
  gemel__pterm channel =
      gemel__p_sub(terms, index[1], group_start(s, &c, index[1], c.channels, c.of_group));
  gemel__pscene_assume(
      s, gemel__p_implies(terms, lies_in(s, index[1], c.channels), lies_in(s, channel, c.of_group)),
      0);
  y[1] = gemel__p_add(terms, bound(s, filters, symbols, sizes, &count),
                      group_start(s, &c, index[1], c.channels, filters));
  for (int axis = 0; axis < c.axes; axis++) {
    y[axis + 2] = bound(s, c.places[axis], symbols, sizes, &count);
    k[axis] = bound(s, c.kernel[axis], symbols, sizes, &count);
    here = gemel__p_and(
        terms, here,
        gemel__p_equal(terms, index[axis + 2], meets(s, &c, axis, y[axis + 2], k[axis])));
  }
  return total(s, t, here, weight_at(s, t->operands[0], &c, y[1], channel, y + 2, k),
               gemel__ptensor_pull(s, t->operands[1], y), count, symbols, sizes);
}

/* ---- The table ---- */

const gemel__ppull gemel__pulls_of_convs[] = {
    {"corr", shape_corr, pull_corr, gemel__pull_common_dtype},
    {"corr_grad_weights", shape_by_weights, pull_by_weights, gemel__pull_common_dtype},
    {"corr_grad_inputs", shape_by_image, pull_by_image, gemel__pull_common_dtype},
    {NULL, NULL, NULL, NULL},
};
