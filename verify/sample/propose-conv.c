/* SPDX-License-Identifier: MIT
 *
 * Proposals for corr and its two gradients. Of each axis, any of image size, kernel size, result
 * size (places), stride, dilation and padding may be known from an operand or attribute; the others
 * are drawn to fit. So are channels, filters and groups. Padding is always given in numbers.
 */
#include <string.h>
#include "sample/draft.h"

enum { STRIDE, DILATION, LOW, HIGH, PADDING, GROUPS, FLIP, UNSHARED, SIZES, MOST_AXES = 3 };

/* A number, and whether it is known. */
typedef struct number {
  int known;
  int64_t is;
} number;

typedef struct conv_axis {
  number stride, dilation, low, high, image, kernel, place;
} conv_axis;

/* The operands of y = corr(x, w); the one that is the result is NULL. */
typedef struct conv_draft {
  gemel__shape *x, *w, *y;
  int axes, unshared;
  number batch, channels, group_channels, filters, groups;
  conv_axis along[MOST_AXES];
} conv_draft;

static void choose(number *n, int64_t value) {
  n->is = n->known ? n->is : value;
  n->known = 1;
}

static int64_t not_below(int64_t x, int64_t low) {
  return x < low ? low : x;
}

/* ---- What is known ---- */

static void learn(number *n, int known, int64_t value) {
  if (known && !n->known) {
    n->known = 1;
    n->is = value;
  }
}

static int weights_rank(const conv_draft *c) {
  return 2 + c->axes * (1 + c->unshared);
}

/* The length of the known lists; 0: none is known. */
static int listed_axes(const gemel__draft *d) {
  int count = 0;
  for (int k = 0; (size_t)k < d->op->n_attrs; k++) {
    if ((k <= HIGH || k == SIZES) && d->attrs[k].known) {
      count = d->attrs[k].count;
    }
  }
  return count;
}

/* Chooses the number of spatial axes: BY_IMAGE, that of the image or result, if it isn't 0; else
 * the length of the known lists; else any. */
static int draw_axes(gemel__draft *d, int by_image) {
  int listed = listed_axes(d), drawn = gemel__draw_spatial_axes(d);
  return by_image != 0 ? by_image : listed != 0 ? listed : drawn;
}

/* Finds the number of spatial axes, and whether weights are shared. */
static gemel_status find_axes(gemel__draft *d, conv_draft *c) {
  const gemel__list *unshared = &d->attrs[UNSHARED];
  int free = !unshared->known && !unshared->absent, known = c->w != NULL && c->w->known;
  int by_image = c->x != NULL && c->x->known   ? c->x->rank - 2
                 : c->y != NULL && c->y->known ? c->y->rank - 2
                                               : 0;
  c->axes = draw_axes(d, by_image);
  c->unshared = unshared->known && unshared->at[0] != 0;
  if (known && free) {
    c->unshared = by_image != 0 ? c->w->rank != 2 + c->axes : c->w->rank > 2 + MOST_AXES;
  } else if (free) {
    c->unshared = gemel__one_in(d, 6);
  }
  if (known && by_image == 0) {
    c->axes = (c->w->rank - 2) / (1 + c->unshared);
  }
  return c->axes < 1 || c->axes > MOST_AXES || (known && c->w->rank != weights_rank(c))
             ? GEMEL_DECLINED
             : GEMEL_OK;
}

static void learn_shapes(conv_draft *c) {
  if (c->x != NULL && c->x->known) {
    learn(&c->batch, 1, c->x->dims[0]);
    learn(&c->channels, 1, c->x->dims[1]);
  }
  if (c->y != NULL && c->y->known) {
    learn(&c->batch, 1, c->y->dims[0]);
    learn(&c->filters, 1, c->y->dims[1]);
  }
  if (c->w != NULL && c->w->known) {
    learn(&c->filters, 1, c->w->dims[0]);
    learn(&c->group_channels, 1, c->w->dims[weights_rank(c) - c->axes - 1]);
  }
}

static void learn_axis(const gemel__draft *d, conv_draft *c, int k) {
  conv_axis *a = &c->along[k];
  number *listed[] = {&a->stride, &a->dilation, &a->low, &a->high};
  for (int i = STRIDE; i <= HIGH; i++) {
    learn(listed[i], d->attrs[i].absent, i <= DILATION);
    learn(listed[i], d->attrs[i].known && k < d->attrs[i].count, d->attrs[i].at[k]);
  }
  learn(&a->image, c->x != NULL && c->x->known, c->x != NULL ? c->x->dims[2 + k] : 0);
  learn(&a->place, c->y != NULL && c->y->known, c->y != NULL ? c->y->dims[2 + k] : 0);
  if (c->w != NULL && c->w->known) {
    learn(&a->kernel, 1, c->w->dims[weights_rank(c) - c->axes + k]);
    learn(&a->place, c->unshared, c->w->dims[1 + k]);
  }
  if (c->x == NULL || c->w == NULL) {
    const gemel__list *sizes = &d->attrs[SIZES];
    learn(c->x == NULL ? &a->image : &a->kernel, sizes->known && k < sizes->count, sizes->at[k]);
  }
}

/* ---- One axis ---- */

static int64_t span_of(const conv_axis *a) {
  return (a->kernel.is - 1) * a->dilation.is + 1;
}

/* Draws padding of at least LEAST elements. */
static void draw_padding(gemel__draft *d, conv_axis *a, int64_t least) {
  int64_t most = gemel__one_in(d, 2) ? 0 : 2;
  choose(&a->low, a->high.known ? not_below(least - a->high.is, gemel__draw(d, 0, most))
                                : gemel__draw(d, 0, not_below(least, most)));
  choose(&a->high, not_below(least - a->low.is, gemel__draw(d, 0, most)));
}

/* Image and result sizes are known: chooses padding and kernel to fit. */
static gemel_status fit(gemel__draft *d, conv_axis *a) {
  int64_t reach, room;
  choose(&a->stride, a->place.is > 1 ? 1 : gemel__draw_far(d, 1, 2));
  choose(&a->dilation, a->kernel.known && gemel__one_in(d, 2) ? 2 : 1);
  reach = (a->place.is - 1) * a->stride.is + 1;
  if (a->kernel.known) {
    int64_t missing = not_below(reach - 1 + span_of(a) - a->image.is, 0);
    if (!a->low.known || !a->high.known) {
      choose(&a->low,
             a->high.known ? not_below(missing - a->high.is, 0) : gemel__draw(d, 0, missing));
      choose(&a->high, not_below(missing - a->low.is, 0));
    }
    return GEMEL_OK;
  }
  draw_padding(d, a, not_below(reach - a->image.is, 0));
  room = a->image.is + a->low.is + a->high.is - reach;
  choose(&a->kernel, room / a->dilation.is + 1);
  return room < 0 || room % a->dilation.is >= a->stride.is ? GEMEL_DECLINED : GEMEL_OK;
}

static gemel_status solve_axis(gemel__draft *d, const conv_draft *c, conv_axis *a) {
  int64_t most = c->axes == 3 || c->unshared ? 3 : 6, padding;
  if (a->place.known && a->place.is < 1) {
    return GEMEL_DECLINED;
  }
  if (a->image.known && a->place.known) {
    return fit(d, a);
  }
  choose(&a->stride, gemel__one_in(d, 2) ? 1 : gemel__draw_far(d, 1, 3));
  choose(&a->dilation, gemel__one_in(d, 2) ? 1 : gemel__draw_far(d, 1, 2));
  choose(&a->kernel, gemel__draw_far(d, 1, c->unshared || c->axes == 3 ? 2 : 3));
  if (a->image.known && a->low.known && a->high.known &&
      a->image.is + a->low.is + a->high.is < span_of(a)) {
    return GEMEL_DECLINED;
  }
  draw_padding(d, a, a->image.known ? not_below(span_of(a) - a->image.is, 0) : 0);
  padding = a->low.is + a->high.is;
  if (a->place.known) {
    choose(&a->image, (a->place.is - 1) * a->stride.is + span_of(a) - padding +
                          gemel__draw(d, 0, a->stride.is - 1));
    return a->image.is < 0 ? GEMEL_DECLINED : GEMEL_OK;
  }
  choose(&a->image, not_below(gemel__draw(d, !d->zeros, most), span_of(a) - padding));
  choose(&a->place, (a->image.is + padding - span_of(a)) / a->stride.is + 1);
  return GEMEL_OK;
}

/* Solves A in a few tries. */
static gemel_status find_axis(gemel__draft *d, const conv_draft *c, conv_axis *a) {
  enum { TRIES = 8 };
  const conv_axis known = *a;
  gemel_status status = GEMEL_DECLINED;
  for (int k = 0; k < TRIES && status == GEMEL_DECLINED; k++) {
    *a = known;
    status = solve_axis(d, c, a);
  }
  return status;
}

/* ---- Channels ---- */

static int64_t draw_count(gemel__draft *d) {
  return gemel__draw_far(d, !d->zeros, 3);
}

static int divides(int64_t groups, const number *n) {
  return !n->known || n->is % groups == 0;
}

static gemel_status solve_channels(gemel__draft *d, conv_draft *c) {
  if (c->channels.known && c->group_channels.known && c->group_channels.is > 0) {
    choose(&c->groups, not_below(c->channels.is / c->group_channels.is, 1));
  }
  int64_t tried = gemel__one_in(d, 2) ? 1 : gemel__draw_far(d, 2, 3);
  if (d->reach && c->filters.known && !divides(tried, &c->filters)) {
    tried = c->filters.is;
  }
  choose(&c->groups,
         tried > 0 && divides(tried, &c->channels) && divides(tried, &c->filters) ? tried : 1);
  if (c->groups.is < 1) {
    return GEMEL_DECLINED;
  }
  choose(&c->group_channels, c->channels.known ? c->channels.is / c->groups.is : draw_count(d));
  choose(&c->channels, c->group_channels.is * c->groups.is);
  choose(&c->filters, draw_count(d) * c->groups.is);
  choose(&c->batch, draw_count(d));
  return GEMEL_OK;
}

/* Elements of the largest operand. */
static int64_t largest(const conv_draft *c) {
  int64_t x = c->batch.is * c->channels.is, y = c->batch.is * c->filters.is;
  int64_t w = c->group_channels.is * c->filters.is, most;
  for (int k = 0; k < c->axes; k++) {
    const conv_axis *a = &c->along[k];
    x *= a->image.is;
    y *= a->place.is;
    w *= a->kernel.is * (c->unshared ? a->place.is : 1);
  }
  most = x > y ? x : y;
  return most > w ? most : w;
}

/* Draws what isn't known. If an operand gets too large, tries again with one image, filter, channel
 * and, unless the draft reaches far, group. */
static gemel_status draw_channels(gemel__draft *d, conv_draft *c) {
  const conv_draft known = *c;
  gemel_status status = solve_channels(d, c);
  if (status == GEMEL_OK && largest(c) > d->max_elements) {
    int64_t groups = d->reach ? c->groups.is : 1;
    *c = known;
    learn(&c->groups, !c->channels.known || !c->group_channels.known, groups);
    learn(&c->batch, 1, 1);
    learn(&c->filters, 1, c->groups.known ? c->groups.is : 1);
    learn(&c->group_channels, !c->channels.known, 1);
    status = solve_channels(d, c);
  }
  return status;
}

/* ---- The draft ---- */

static void set_spatial(gemel__shape *to, const conv_draft *c, int64_t channels, int places) {
  if (to == NULL || to->known) {
    return;
  }
  to->rank = 2 + c->axes;
  to->dims[0] = c->batch.is;
  to->dims[1] = channels;
  for (int k = 0; k < c->axes; k++) {
    to->dims[2 + k] = places ? c->along[k].place.is : c->along[k].image.is;
  }
}

static void set_weights(gemel__shape *to, const conv_draft *c) {
  if (to == NULL || to->known) {
    return;
  }
  to->rank = weights_rank(c);
  to->dims[0] = c->filters.is;
  to->dims[to->rank - c->axes - 1] = c->group_channels.is;
  for (int k = 0; k < c->axes; k++) {
    to->dims[to->rank - c->axes + k] = c->along[k].kernel.is;
    if (c->unshared) {
      to->dims[1 + k] = c->along[k].place.is;
    }
  }
}

static void set_attrs(gemel__draft *d, const conv_draft *c) {
  gemel__list *sizes = &d->attrs[SIZES];
  for (int k = 0; k < c->axes; k++) {
    const conv_axis *a = &c->along[k];
    const number *listed[] = {&a->stride, &a->dilation, &a->low, &a->high};
    for (int i = STRIDE; i <= HIGH; i++) {
      if (!d->attrs[i].known || d->attrs[i].absent) {
        d->attrs[i].count = c->axes;
        d->attrs[i].at[k] = listed[i]->is;
      }
    }
    if ((c->x == NULL || c->w == NULL) && !sizes->known) {
      sizes->count = c->axes;
      sizes->at[k] = c->x == NULL ? a->image.is : a->kernel.is;
    }
  }
  if (!d->attrs[GROUPS].known) {
    gemel__list_fill(&d->attrs[GROUPS], 1, c->groups.is);
  }
  if (!d->attrs[FLIP].known) {
    gemel__list_fill(&d->attrs[FLIP], 1, gemel__one_in(d, 3));
  }
  if (!d->attrs[UNSHARED].known) {
    gemel__list_fill(&d->attrs[UNSHARED], 1, c->unshared);
  }
}

static gemel_status propose(gemel__draft *d, conv_draft *c) {
  gemel_dtype dtype = gemel__known_dtype(d, 2);
  gemel_status status = find_axes(d, c);
  if (status != GEMEL_OK) {
    return status;
  }
  learn_shapes(c);
  learn(&c->groups, d->attrs[GROUPS].known, d->attrs[GROUPS].at[0]);
  learn(&c->groups, d->attrs[GROUPS].absent, 1);
  for (int k = 0; k < c->axes && status == GEMEL_OK; k++) {
    learn_axis(d, c, k);
    status = find_axis(d, c, &c->along[k]);
  }
  if (status != GEMEL_OK || (status = draw_channels(d, c)) != GEMEL_OK) {
    return status;
  }
  for (int k = 0; k < 2; k++) {
    d->in[k].dtype = d->in[k].known ? d->in[k].dtype : dtype;
  }
  set_spatial(c->x, c, c->channels.is, 0);
  set_spatial(c->y, c, c->filters.is, 1);
  set_weights(c->w, c);
  set_attrs(d, c);
  return GEMEL_OK;
}

gemel_status gemel__propose_corr(gemel__draft *d) {
  return propose(d, &(conv_draft){.x = &d->in[0], .w = &d->in[1]});
}

gemel_status gemel__propose_corr_grad_weights(gemel__draft *d) {
  return propose(d, &(conv_draft){.x = &d->in[0], .y = &d->in[1]});
}

gemel_status gemel__propose_corr_grad_inputs(gemel__draft *d) {
  return propose(d, &(conv_draft){.w = &d->in[0], .y = &d->in[1]});
}
