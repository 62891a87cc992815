/* SPDX-License-Identifier: MIT
 *
 * Proposals for pad, join and split. An instance of pad has one kind of padding on all axes (none,
 * added elements, cut-off elements, gaps), or a kind drawn for each axis.
 */
#include "sample/draft.h"

/* ---- pad ---- */

enum { NOTHING, MORE, LESS, GAPS, MIXED, KINDS };

/* The number of axes by the known lists; −1: none is known. */
static int listed_rank(const gemel__draft *d, size_t n) {
  for (size_t k = 0; k < n; k++) {
    if (d->attrs[k].known) {
      return d->attrs[k].count < GEMEL_MAX_RANK ? d->attrs[k].count : GEMEL_MAX_RANK;
    }
  }
  return -1;
}

static void draw_listed_shape(gemel__draft *d, gemel__shape *x, int rank) {
  if (rank >= 0) {
    gemel__draw_shape_of(d, x, rank);
  } else {
    gemel__draw_shape(d, x, 0);
  }
}

static int64_t spread(int64_t n, int64_t interior) {
  return n > 0 ? n + interior * (n - 1) : 0;
}

/* Draws LOW and HIGH of an axis of N elements, never cutting off more than there is. */
static void pad_axis(gemel__draft *d, int kind, int64_t n, int axis) {
  gemel__list *low = &d->attrs[0], *high = &d->attrs[1];
  if (!low->known) {
    low->at[axis] = kind == MORE ? gemel__draw(d, 0, 2) : kind == LESS ? -gemel__draw(d, 0, n) : 0;
  }
  n += low->at[axis];
  if (!high->known) {
    high->at[axis] = kind == MORE   ? gemel__draw(d, n < 0 ? -n : 0, n < 0 ? 2 - n : 2)
                     : kind == LESS ? -gemel__draw(d, n < 0 ? -n : 0, n)
                     : n < 0        ? -n
                                    : 0;
  }
}

/* The least size of an axis from which the known lists don't cut off more than there is. */
static int64_t least_size(const gemel__draft *d, int axis) {
  int64_t low = d->attrs[0].known ? d->attrs[0].at[axis] : 0;
  int64_t high = d->attrs[1].known ? d->attrs[1].at[axis] : 0;
  return low + high < 0 ? -(low + high) : 0;
}

gemel_status gemel__propose_pad(gemel__draft *d) {
  gemel__shape *x = &d->in[0], *value = &d->in[1];
  gemel__list *interior = &d->attrs[2];
  int kind = (int)gemel__draw(d, 0, KINDS - 1);
  if (!x->known) {
    draw_listed_shape(d, x, listed_rank(d, 3));
    x->dtype = gemel__known_dtype(d, 2);
    for (int k = 0; k < x->rank; k++) {
      x->dims[k] = x->dims[k] < least_size(d, k) ? least_size(d, k) : x->dims[k];
    }
  }
  if (!value->known) {
    value->dtype = x->dtype;
    value->rank = 0;
  }
  for (int k = 0; k < 3; k++) {
    d->attrs[k].count = d->attrs[k].known ? d->attrs[k].count : x->rank;
    if (d->attrs[k].count != x->rank) {
      return GEMEL_DECLINED;
    }
  }
  for (int k = 0; k < x->rank; k++) {
    int own = kind == MIXED ? (int)gemel__draw(d, 0, MIXED - 1) : kind;
    if (!interior->known) {
      interior->at[k] = own == GAPS && !interior->absent ? gemel__draw(d, 1, 2) : 0;
    }
    pad_axis(d, own, spread(x->dims[k], interior->at[k]), k);
  }
  return GEMEL_OK;
}

/* ---- join ---- */

/* 1 if the known operands agree along all axes but AXIS. */
static int agree(const gemel__draft *d, const gemel__shape *first, int axis) {
  for (size_t k = 0; k < d->n_inputs; k++) {
    const gemel__shape *in = &d->in[k];
    for (int j = 0; in->known && j < first->rank; j++) {
      if (in->rank != first->rank || (j != axis && in->dims[j] != first->dims[j])) {
        return 0;
      }
    }
  }
  return 1;
}

static gemel_status choose_joined_axis(gemel__draft *d, const gemel__shape *first) {
  int tries;
  gemel__list *axis = &d->attrs[0];
  if (axis->known) {
    return GEMEL_OK;
  }
  gemel__list_fill(axis, 1, 0);
  for (tries = 0; tries < 16; tries++) {
    axis->at[0] = axis->absent ? 0 : gemel__draw(d, 0, first->rank - 1);
    if (agree(d, first, (int)axis->at[0])) {
      break;
    }
  }
  return tries < 16 ? GEMEL_OK : GEMEL_DECLINED;
}

gemel_status gemel__propose_join(gemel__draft *d) {
  gemel__shape first = {.rank = 0, .dtype = d->dtype};
  gemel__list *axis = &d->attrs[0];
  int any_known = 0, alike = gemel__one_in(d, 4);
  if (d->n_inputs == 0) {
    return GEMEL_DECLINED;
  }
  for (size_t k = d->n_inputs; k-- > 0;) {
    if (d->in[k].known) {
      first = d->in[k];
      any_known = 1;
    }
  }
  if (!any_known) {
    gemel__draw_shape(
        d, &first,
        axis->known && axis->at[0] >= 0 && axis->at[0] < GEMEL_MAX_RANK ? (int)axis->at[0] + 1 : 1);
  }
  if (first.rank == 0 || choose_joined_axis(d, &first) != GEMEL_OK) {
    return GEMEL_DECLINED;
  }
  for (size_t k = 0; k < d->n_inputs; k++) {
    int64_t at = axis->at[0] < 0 ? axis->at[0] + first.rank : axis->at[0];
    if (!d->in[k].known) {
      gemel__copy_shape(&d->in[k], &first);
      if (at >= 0 && at < first.rank && !alike) {
        d->in[k].dims[at] = gemel__draw_dim(d);
      }
    }
  }
  return GEMEL_OK;
}

/* ---- split ---- */

/* Draws how many parts there are: one to four, now and then up to MOST_PARTS, or as many as a
 * number in the draft asks for, so that there is a part of that number too. */
static int draw_count(gemel__draft *d) {
  enum { MOST_PARTS = 9, MOST_ASKED = 16 };
  int64_t asked =
      d->n_sizes > 0 ? 1 + d->sizes[gemel__random_below(d->random, d->n_sizes)] : MOST_ASKED + 1;
  if (asked <= MOST_ASKED && gemel__one_in(d, d->reach ? 2 : 4)) {
    return (int)asked;
  }
  return gemel__one_in(d, 4)   ? 1
         : gemel__one_in(d, 4) ? (int)gemel__draw(d, 5, MOST_PARTS)
                               : (int)gemel__draw(d, 2, 4);
}

/* Cuts N into PARTS, or fewer if there isn't enough; empty ones where the draft has zeros. */
static void draw_parts(gemel__draft *d, gemel__list *sizes, int64_t n, int parts) {
  int least = d->zeros ? 0 : 1;
  sizes->count = 0;
  while (sizes->count < parts - 1 && n > least) {
    int64_t most = n - least * (parts - 1 - sizes->count);
    int64_t part = gemel__draw(d, least, most < least ? least : most);
    sizes->at[sizes->count++] = part;
    n -= part;
  }
  sizes->at[sizes->count++] = n;
}

gemel_status gemel__propose_split(gemel__draft *d) {
  gemel__shape *x = &d->in[0];
  gemel__list *sizes = &d->attrs[0], *axis = &d->attrs[1];
  int64_t total = 0;
  if (!x->known) {
    int least =
        axis->known && axis->at[0] >= 0 && axis->at[0] < GEMEL_MAX_RANK ? (int)axis->at[0] + 1 : 1;
    gemel__draw_shape(d, x, least);
  }
  for (int k = 0; k < sizes->count; k++) {
    total += sizes->at[k];
  }
  if (!axis->known) {
    gemel__list_fill(axis, 1, axis->absent ? 0 : gemel__draw(d, 0, x->rank - 1));
    for (int k = 0; x->known && sizes->known && k < x->rank && !axis->absent; k++) {
      if (x->dims[axis->at[0]] != total) {
        axis->at[0] = (axis->at[0] + 1) % x->rank;
      }
    }
  }
  if (x->rank == 0 || axis->at[0] >= x->rank || axis->at[0] < -x->rank || d->n_inputs != 1) {
    return GEMEL_DECLINED;
  }
  int64_t *n = &x->dims[axis->at[0] < 0 ? axis->at[0] + x->rank : axis->at[0]];
  int parts = draw_count(d);
  if (!x->known) {
    *n = sizes->known          ? total
         : gemel__one_in(d, 4) ? *n
                               : gemel__draw(d, 2, 5) + (parts > 4 ? parts - 2 : 0);
  }
  if (!sizes->known) {
    draw_parts(d, sizes, *n, parts);
  }
  return GEMEL_OK;
}
