/* SPDX-License-Identifier: MIT
 *
 * Proposals for pooling. Of each axis, any of image size, result size (places), window size,
 * stride, dilation and padding may be known from an operand or attribute. The rest is found by
 * trying all small windows, from a random one on, until one fits what is known.
 */
#include <string.h>
#include "core/dtype.h"
#include "sample/draft.h"

enum { SIZE, STRIDE, DILATION, LOW, HIGH, COUNT_PADDING, IMAGE, MOST_AXES = 3, UNKNOWN = -1 };

typedef struct pool_axis {
  int64_t image, place, window[HIGH + 1]; /* UNKNOWN where not known */
  int axes;                               /* of the image */
} pool_axis;

/* The operands by whose shape they have; NULL: there is none, or it is the result. */
typedef struct pool_draft {
  gemel__shape *image, *like_image, *places;
  int floats;  /* 1: only float dtypes */
  int average; /* 1: there is the attribute COUNT_PADDING */
} pool_draft;

/* ---- One axis ---- */

static int64_t reach_of(const int64_t *window) {
  return (window[SIZE] - 1) * window[DILATION];
}

/* 1 if no window lies entirely in padding. */
static int sound(const int64_t *window, int64_t image) {
  int64_t reach = reach_of(window);
  return window[LOW] <= reach && window[HIGH] <= reach &&
         (window[LOW] + window[HIGH] == 0 || image >= window[DILATION]);
}

/* Completes A with WINDOW; 0 if it doesn't fit. */
static int complete(gemel__draft *d, pool_axis *a, const int64_t *window) {
  int64_t padding = window[LOW] + window[HIGH], span = reach_of(window) + 1;
  int64_t stride = window[STRIDE], image = a->image, place;
  if (image == UNKNOWN && a->place != UNKNOWN) {
    image = (a->place - 1) * stride + span - padding + gemel__draw(d, 0, stride - 1);
  } else if (image == UNKNOWN) {
    int64_t least = span - padding > window[DILATION] ? span - padding : window[DILATION];
    least += (int64_t)gemel__random_below(d->random, a->axes < MOST_AXES ? 3 : 2) * stride;
    image = gemel__draw_far(d, least, least + stride - 1);
  }
  if (image + padding < span || image < 1 || !sound(window, image)) {
    return 0;
  }
  place = (image + padding - span) / stride + 1;
  if (a->place != UNKNOWN && a->place != place) {
    return 0;
  }
  a->image = image;
  a->place = place;
  for (int k = SIZE; k <= HIGH; k++) {
    a->window[k] = window[k];
  }
  return 1;
}

/* Numbers to try for size, stride, dilation and padding. Windows without padding and dilation occur
 * several times, so they come often. */
typedef int64_t window_numbers[HIGH + 1][5];

/* Sets NUMBERS, to smaller ones for three axes; a draft that reaches far has some of its sizes
 * among them. */
static void choose_numbers(gemel__draft *d, int axes, window_numbers numbers) {
  static const window_numbers usual[] = {
      {{1, 2, 3, 4, 2}, {1, 1, 2, 3, 2}, {1, 1, 1, 2, 3}, {0, 0, 1, 2, 3}, {0, 0, 1, 2, 3}},
      {{1, 2, 1, 2, 3}, {1, 1, 2, 3, 2}, {1, 1, 1, 1, 2}, {0, 0, 0, 1, 2}, {0, 0, 0, 1, 2}}};
  memcpy(numbers, usual[axes == MOST_AXES], sizeof *usual);
  for (int k = SIZE; k <= DILATION && d->reach; k++) {
    numbers[k][3] = gemel__draw_far(d, 1, 4);
    numbers[k][4] = gemel__draw_far(d, 1, 4);
  }
}

/* The window numbered NUMBER, with A's known numbers in place. */
static void window_of(const pool_axis *a, const window_numbers numbers, int64_t number,
                      int64_t *window) {
  for (int k = SIZE; k <= HIGH; k++) {
    window[k] = a->window[k] != UNKNOWN ? a->window[k] : numbers[k][number % 5];
    number /= 5;
  }
}

enum { WINDOWS = 5 * 5 * 5 * 5 * 5 };

/* Solves A with the window numbered FIRST, or one after it. */
static gemel_status solve_axis(gemel__draft *d, pool_axis *a, int64_t first) {
  const int64_t step = 1237; /* coprime to WINDOWS, so all are visited */
  window_numbers numbers;
  choose_numbers(d, a->axes, numbers);
  int64_t window[HIGH + 1];
  for (int64_t k = 0; k < WINDOWS; k++) {
    window_of(a, numbers, (first + k * step) % WINDOWS, window);
    if (complete(d, a, window)) {
      return GEMEL_OK;
    }
  }
  if (a->image == UNKNOWN || a->place == UNKNOWN || a->window[SIZE] != UNKNOWN) {
    return GEMEL_DECLINED;
  }
  window[SIZE] = a->image - a->place + 1;
  return window[SIZE] >= 1 && complete(d, a, (int64_t[]){window[SIZE], 1, 1, 0, 0})
             ? GEMEL_OK
             : GEMEL_DECLINED;
}

/* ---- The draft ---- */

static const gemel__shape *known_shape(const pool_draft *p) {
  const gemel__shape *const shapes[] = {p->image, p->like_image, p->places};
  for (int k = 0; k < 3; k++) {
    if (shapes[k] != NULL && shapes[k]->known) {
      return shapes[k];
    }
  }
  return NULL;
}

static int draw_axes(gemel__draft *d, const gemel__shape *known) {
  int axes = gemel__draw_spatial_axes(d);
  for (size_t k = 0; k < d->op->n_attrs; k++) {
    axes = k != COUNT_PADDING && d->attrs[k].known ? d->attrs[k].count : axes;
  }
  return known != NULL ? known->rank - 2 : axes;
}

static pool_axis learn_axis(const gemel__draft *d, const pool_draft *p, int axes, int k) {
  pool_axis a = {UNKNOWN, UNKNOWN, {0}, axes};
  const gemel__shape *const images[] = {p->image, p->like_image};
  for (int i = SIZE; i <= HIGH; i++) {
    const gemel__list *list = &d->attrs[i];
    a.window[i] = list->known && k < list->count ? list->at[k]
                  : list->absent                 ? i <= DILATION
                                                 : UNKNOWN;
  }
  for (int i = 0; i < 2; i++) {
    a.image = images[i] != NULL && images[i]->known ? images[i]->dims[2 + k] : a.image;
  }
  a.place = p->places != NULL && p->places->known ? p->places->dims[2 + k] : a.place;
  if (d->op->n_attrs > IMAGE && d->attrs[IMAGE].known && k < d->attrs[IMAGE].count) {
    a.image = d->attrs[IMAGE].at[k];
  }
  return a;
}

static void set_shape(gemel__shape *to, gemel_dtype dtype, int axes, const int64_t *leading,
                      const pool_axis *along, int places) {
  if (to == NULL || to->known) {
    return;
  }
  to->dtype = dtype;
  to->rank = 2 + axes;
  to->dims[0] = leading[0];
  to->dims[1] = leading[1];
  for (int k = 0; k < axes; k++) {
    to->dims[2 + k] = places ? along[k].place : along[k].image;
  }
}

static void set_attrs(gemel__draft *d, const pool_draft *p, int axes, const pool_axis *along) {
  for (int k = 0; k < axes; k++) {
    for (int i = SIZE; i <= HIGH; i++) {
      if (!d->attrs[i].known || d->attrs[i].absent) {
        d->attrs[i].count = axes;
        d->attrs[i].at[k] = along[k].window[i];
      }
    }
    if (d->op->n_attrs > IMAGE && !d->attrs[IMAGE].known) {
      d->attrs[IMAGE].count = axes;
      d->attrs[IMAGE].at[k] = along[k].image;
    }
  }
  if (p->average && !d->attrs[COUNT_PADDING].known) {
    int absent = d->attrs[COUNT_PADDING].absent;
    gemel__list_fill(&d->attrs[COUNT_PADDING], 1, absent ? 0 : gemel__one_in(d, 2));
  }
}

/* Draws the numbers of images and channels; small if the spatial axes are large. */
static void draw_leading(gemel__draft *d, const gemel__shape *known, int axes,
                         const pool_axis *along, int64_t *leading) {
  int64_t elements = 1;
  for (int k = 0; k < axes; k++) {
    elements *= along[k].image > along[k].place ? along[k].image : along[k].place;
  }
  for (int k = 0; k < 2; k++) {
    int64_t drawn = gemel__draw(d, !d->zeros, 3);
    leading[k] = known != NULL                    ? known->dims[k]
                 : elements * 9 > d->max_elements ? (drawn > 0)
                                                  : drawn;
  }
}

static gemel_status propose(gemel__draft *d, const pool_draft *p) {
  const gemel__shape *known = known_shape(p);
  gemel_dtype dtype = known != NULL ? known->dtype : d->dtype;
  int axes = draw_axes(d, known), alike = gemel__one_in(d, 4);
  int64_t leading[2], first = 0;
  pool_axis along[MOST_AXES];
  if (axes < 1 || axes > MOST_AXES || (p->floats && !gemel__is_float(dtype))) {
    return GEMEL_DECLINED;
  }
  for (int k = 0; k < axes; k++) {
    along[k] = learn_axis(d, p, axes, k);
    first = k > 0 && alike ? first : gemel__random_between(d->random, 0, WINDOWS - 1);
    if (solve_axis(d, &along[k], first) != GEMEL_OK) {
      return GEMEL_DECLINED;
    }
  }
  draw_leading(d, known, axes, along, leading);
  set_shape(p->image, dtype, axes, leading, along, 0);
  set_shape(p->like_image, dtype, axes, leading, along, 0);
  set_shape(p->places, dtype, axes, leading, along, 1);
  set_attrs(d, p, axes, along);
  return GEMEL_OK;
}

gemel_status gemel__propose_max_pool(gemel__draft *d) {
  return propose(d, &(pool_draft){.image = &d->in[0]});
}

gemel_status gemel__propose_max_pool_grad(gemel__draft *d) {
  return propose(d, &(pool_draft){.image = &d->in[0], .places = &d->in[1], .floats = 1});
}

gemel_status gemel__propose_max_pool_pick(gemel__draft *d) {
  return propose(d, &(pool_draft){.image = &d->in[0], .like_image = &d->in[1], .floats = 1});
}

gemel_status gemel__propose_avg_pool(gemel__draft *d) {
  return propose(d, &(pool_draft){.image = &d->in[0], .floats = 1, .average = 1});
}

gemel_status gemel__propose_avg_pool_grad(gemel__draft *d) {
  return propose(d, &(pool_draft){.places = &d->in[0], .floats = 1, .average = 1});
}
