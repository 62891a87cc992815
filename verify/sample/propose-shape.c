/* SPDX-License-Identifier: MIT
 *
 * Proposals for dimshuffle, reshape, broadcast_to, fill and reverse. If an attribute is known and x
 * isn't, x is drawn to fit.
 */
#include <string.h>
#include "sample/draft.h"

/* ---- dimshuffle ---- */

static void permute(gemel__draft *d, int rank, int64_t *order) {
  size_t drawn[GEMEL_MAX_RANK];
  int how = (int)gemel__draw(d, 0, 6);
  gemel__random_permutation(d->random, (size_t)rank, drawn);
  for (int k = 0; k < rank; k++) {
    order[k] = how < 2 ? k : how == 2 ? rank - 1 - k : (int64_t)drawn[k];
  }
  if (how == 1 && rank >= 2) {
    order[rank - 1] = rank - 2;
    order[rank - 2] = rank - 1;
  }
}

/* Draws a permutation, sometimes with new axes, and without some of size 1. */
static void draw_order(gemel__draft *d, const gemel__shape *x, gemel__list *order) {
  int64_t permutation[GEMEL_MAX_RANK];
  int insert = gemel__one_in(d, 4), drop = gemel__one_in(d, 4);
  permute(d, x->rank, permutation);
  order->count = 0;
  for (int k = 0; k < x->rank; k++) {
    if (insert && order->count < GEMEL_MAX_RANK - x->rank && gemel__one_in(d, 2)) {
      order->at[order->count++] = -1;
    }
    if (!(drop && x->dims[permutation[k]] == 1 && gemel__one_in(d, 2))) {
      order->at[order->count++] = permutation[k];
    }
  }
  if (insert && order->count < GEMEL_MAX_RANK && gemel__one_in(d, 2)) {
    order->at[order->count++] = -1;
  }
}

/* Draws x for a known order: axes that it leaves out have size 1. */
static void draw_ordered(gemel__draft *d, gemel__shape *x, const gemel__list *order) {
  unsigned named = 0;
  int rank = gemel__list_top(order);
  for (int k = 0; k < order->count; k++) {
    if (order->at[k] >= 0 && order->at[k] < GEMEL_MAX_RANK) {
      named |= 1u << order->at[k];
    }
  }
  rank += rank < GEMEL_MAX_RANK && gemel__one_in(d, 8);
  gemel__draw_shape_of(d, x, rank);
  for (int k = 0; k < rank; k++) {
    if ((named >> k & 1u) == 0) {
      x->dims[k] = 1;
    }
  }
}

gemel_status gemel__propose_dimshuffle(gemel__draft *d) {
  gemel__shape *x = &d->in[0];
  gemel__list *order = &d->attrs[0];
  if (!x->known && order->known) {
    draw_ordered(d, x, order);
  } else if (!x->known) {
    gemel__draw_shape(d, x, 0);
  }
  if (!order->known) {
    draw_order(d, x, order);
  }
  return GEMEL_OK;
}

/* ---- reshape ---- */

static void insert_axis(int *rank, int64_t *dims, int at, int64_t size) {
  memmove(dims + at + 1, dims + at, (size_t)(*rank - at) * sizeof *dims);
  dims[at] = size;
  (*rank)++;
}

static void remove_axis(int *rank, int64_t *dims, int at) {
  (*rank)--;
  memmove(dims + at, dims + at + 1, (size_t)(*rank - at) * sizeof *dims);
}

/* Splits the axis AT into two. */
static void split_axis(gemel__draft *d, int *rank, int64_t *dims, int at) {
  int64_t factor = gemel__draw(d, 1, dims[at] > 0 ? dims[at] : 3);
  if (dims[at] % factor == 0) {
    dims[at] /= factor;
    insert_axis(rank, dims, at, factor);
  }
}

/* One step to another shape with as many elements. */
static void step(gemel__draft *d, int *rank, int64_t *dims) {
  int at = (int)gemel__draw(d, 0, *rank - 1);
  switch (gemel__draw(d, 0, 4)) {
  case 0: /* merge neighbours */
  case 4:
    if (*rank >= 2) {
      at = (int)gemel__draw(d, 0, *rank - 2);
      dims[at] *= dims[at + 1];
      remove_axis(rank, dims, at + 1);
    }
    break;
  case 1:
    if (*rank > 0 && *rank < GEMEL_MAX_RANK) {
      split_axis(d, rank, dims, at);
    }
    break;
  case 2:
    if (*rank < GEMEL_MAX_RANK) {
      insert_axis(rank, dims, (int)gemel__draw(d, 0, *rank), 1);
    }
    break;
  default:
    if (*rank > 0 && dims[at] == 1) {
      remove_axis(rank, dims, at);
    }
  }
}

/* Replaces DIMS, RANK of them, by another shape with as many elements. */
static void draw_reshaped(gemel__draft *d, int *rank, int64_t *dims) {
  int steps = (int)gemel__draw(d, 0, 3);
  if (gemel__one_in(d, 8)) { /* flat */
    gemel__shape from = {.rank = *rank};
    memcpy(from.dims, dims, (size_t)*rank * sizeof *dims);
    dims[0] = gemel__shape_elements(&from);
    *rank = 1;
  }
  for (; steps > 0; steps--) {
    step(d, rank, dims);
  }
}

gemel_status gemel__propose_reshape(gemel__draft *d) {
  gemel__shape *x = &d->in[0];
  gemel__list *shape = &d->attrs[0];
  if (shape->known && shape->count > GEMEL_MAX_RANK) {
    return GEMEL_DECLINED;
  }
  if (!x->known && shape->known) {
    x->rank = shape->count;
    memcpy(x->dims, shape->at, (size_t)shape->count * sizeof *x->dims);
    draw_reshaped(d, &x->rank, x->dims);
  } else if (!x->known) {
    gemel__draw_shape(d, x, 0);
  }
  if (!shape->known) {
    shape->count = x->rank;
    memcpy(shape->at, x->dims, (size_t)x->rank * sizeof *x->dims);
    draw_reshaped(d, &shape->count, shape->at);
  }
  return d->n_inputs == 1 ? GEMEL_OK : GEMEL_DECLINED;
}

/* ---- broadcast_to, fill ---- */

gemel_status gemel__propose_broadcast_to(gemel__draft *d) {
  gemel__shape *x = &d->in[0], whole = {.rank = 0};
  gemel__list *shape = &d->attrs[0];
  if (shape->known) {
    if (shape->count > GEMEL_MAX_RANK) {
      return GEMEL_DECLINED;
    }
    whole.rank = shape->count;
    memcpy(whole.dims, shape->at, (size_t)shape->count * sizeof *shape->at);
  } else if (x->known) {
    gemel__draw_whole(d, &whole, x);
  } else {
    gemel__draw_shape(d, &whole, 0);
  }
  if (!x->known) {
    gemel__draw_part(d, x, &whole);
  }
  if (!shape->known) {
    shape->count = whole.rank;
    memcpy(shape->at, whole.dims, (size_t)whole.rank * sizeof *shape->at);
  }
  return d->n_inputs == 1 ? GEMEL_OK : GEMEL_DECLINED;
}

gemel_status gemel__propose_fill(gemel__draft *d) {
  gemel__shape *like = &d->in[0], *value = &d->in[1];
  if (d->n_inputs != 2) {
    return GEMEL_DECLINED;
  }
  if (!like->known && value->known) {
    gemel__draw_whole(d, like, value);
  } else if (!like->known) {
    gemel__draw_shape(d, like, 0);
  }
  if (!value->known) {
    gemel__draw_part(d, value, like);
  }
  return GEMEL_OK;
}

/* ---- reverse ---- */

gemel_status gemel__propose_reverse(gemel__draft *d) {
  gemel__shape *x = &d->in[0];
  gemel__list *axes = &d->attrs[0];
  if (!x->known) {
    gemel__draw_shape(d, x, axes->known ? gemel__list_top(axes) : 0);
  }
  if (!axes->known) {
    gemel__draw_axes(d, axes, x->rank, ~0u);
  }
  return GEMEL_OK;
}
