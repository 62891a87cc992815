/* SPDX-License-Identifier: MIT
 *
 * Proposals for subtensor, and for operations that write into a window (whose size is y's shape).
 * The window is of one kind on all axes (the whole of x, or all of it reversed) or of a kind drawn
 * for each axis: whole, reversed, a part, strided, one element, empty. Any of start, size and step
 * may be known; the others are drawn such that the window lies inside.
 */
#include <string.h>
#include "sample/draft.h"

enum { WHOLE, BACKWARDS, PART, STRIDED, ONE, EMPTY, KINDS };

/* One axis: the known numbers, and those drawn. */
struct axis {
  int64_t n, start, size, step;
  int has_n, has_start, has_size, has_step;
};

static int64_t magnitude(int64_t x) {
  return x < 0 ? -x : x;
}

/* How many elements the step reaches from START on. */
static int64_t reach_from(const struct axis *a) {
  if (a->start < 0 || a->start >= a->n) {
    return 0;
  }
  return (a->step > 0 ? a->n - 1 - a->start : a->start) / magnitude(a->step) + 1;
}

static void draw_step(gemel__draft *d, int kind, struct axis *a) {
  int64_t most = a->has_size && a->size > 1 && a->has_n ? (a->n - 1) / (a->size - 1) : 3;
  a->step = kind == BACKWARDS ? -1 : 1;
  if (kind == STRIDED) {
    a->step = gemel__draw(d, most < 2 ? 1 : 2, most > 3 ? 3 : most);
    a->step = a->step < 1 ? 1 : a->step;
    a->step *= gemel__one_in(d, 2) ? -1 : 1;
  }
  if (a->has_start && a->has_size && a->size > 1 && a->has_n && reach_from(a) < a->size) {
    a->step = -a->step;
  }
}

/* Draws the size of a free x: enough for the known numbers, sometimes more, and mostly enough for a
 * choice. */
static void draw_room(gemel__draft *d, int kind, struct axis *a) {
  int64_t reach = a->has_size && a->size > 0 ? (a->size - 1) * magnitude(a->step) : 0;
  int64_t least = a->has_size && a->size > 0 ? reach + 1 : 0;
  if (a->has_start) {
    int64_t last = a->step > 0 ? a->start + reach : a->start;
    least = last + 1 > least && (!a->has_size || a->size > 0) ? last + 1 : least;
  }
  a->n = gemel__draw_dim(d);
  if (kind != EMPTY && kind != WHOLE && a->n == 1 && !gemel__one_in(d, 3)) {
    a->n = gemel__draw(d, 2, 5);
  }
  if (a->n < least || (least > 0 && gemel__one_in(d, 3))) {
    a->n = least + (gemel__one_in(d, 2) ? gemel__draw(d, 0, 2) : 0);
  }
}

static void draw_size(gemel__draft *d, int kind, struct axis *a) {
  int64_t most = a->n == 0 ? 0 : (a->n - 1) / magnitude(a->step) + 1;
  if (a->has_start) {
    most = reach_from(a);
  }
  if (kind == WHOLE || kind == BACKWARDS || (kind == STRIDED && gemel__one_in(d, 2))) {
    a->size = most;
  } else if (kind == EMPTY || most == 0) {
    a->size = 0;
  } else {
    a->size = kind == ONE ? 1 : gemel__draw(d, 1, most);
  }
}

/* Draws the start of a window of this size and step; in half of the cases it touches an end of
 * x. */
static void draw_start(gemel__draft *d, struct axis *a) {
  int64_t reach = a->size > 0 ? (a->size - 1) * magnitude(a->step) : 0;
  int64_t slack = a->size > 0 ? a->n - 1 - reach : a->n;
  int how = (int)gemel__draw(d, 0, 3);
  a->start = how == 0 ? 0 : how == 1 ? slack : gemel__draw(d, 0, slack);
  if (slack < 0) {
    a->start = 0;
  }
  if (a->step < 0 && a->size > 0) {
    a->start += reach;
  }
}

static void draw_axis(gemel__draft *d, int kind, struct axis *a) {
  if (!a->has_step) {
    draw_step(d, kind, a);
  }
  if (!a->has_n) {
    draw_room(d, kind, a);
  }
  if (!a->has_size) {
    draw_size(d, kind, a);
  }
  if (!a->has_start) {
    draw_start(d, a);
  }
}

/* The rank of x by the other operands and the lists; −1: unknown. */
static int said_rank(const gemel__draft *d, const gemel__list *const *lists, int n) {
  if (d->in[0].known) {
    return d->in[0].rank;
  }
  for (int k = 0; k < n; k++) {
    if (lists[k]->known) {
      return lists[k]->count < GEMEL_MAX_RANK ? lists[k]->count : GEMEL_MAX_RANK;
    }
  }
  return -1;
}

static int draw_rank(gemel__draft *d) {
  return (int)gemel__draw(d, 0, d->max_rank);
}

/* Draws what isn't known of START, SIZE and STEP. */
static gemel_status draw_window(gemel__draft *d, gemel__list *start, gemel__list *size,
                                gemel__list *step) {
  gemel__shape *x = &d->in[0];
  const gemel__list *lists[] = {start, size, step};
  int rank = said_rank(d, lists, 3), kind = (int)gemel__draw(d, 0, KINDS + 3);
  rank = rank < 0 ? draw_rank(d) : rank;
  for (int k = 0; k < 3; k++) {
    gemel__list *list = k == 0 ? start : k == 1 ? size : step;
    list->count = list->known ? list->count : rank;
    if (list->count != rank) {
      return GEMEL_DECLINED;
    }
  }
  x->rank = rank;
  for (int k = 0; k < rank; k++) {
    int own = kind < EMPTY ? kind : (int)gemel__draw(d, 0, d->zeros ? EMPTY : EMPTY - 1);
    struct axis a = {x->known ? x->dims[k] : 0,
                     start->at[k],
                     size->at[k],
                     step->at[k],
                     x->known,
                     start->known,
                     size->known,
                     step->known};
    own = kind == EMPTY && k == 0 ? EMPTY : own;
    if (step->absent) {
      a.step = a.has_step = 1;
    }
    if (a.has_step && a.step == 0) {
      return GEMEL_DECLINED;
    }
    draw_axis(d, own, &a);
    x->dims[k] = a.n;
    start->at[k] = a.start;
    size->at[k] = a.size;
    step->at[k] = a.step;
  }
  return GEMEL_OK;
}

gemel_status gemel__propose_subtensor(gemel__draft *d) {
  return d->n_inputs == 1 ? draw_window(d, &d->attrs[0], &d->attrs[1], &d->attrs[2])
                          : GEMEL_DECLINED;
}

gemel_status gemel__propose_write(gemel__draft *d) {
  gemel__shape *x = &d->in[0], *y = &d->in[1];
  gemel__list size = {.known = y->known, .count = y->rank};
  gemel_dtype dtype = gemel__known_dtype(d, 2);
  if (d->n_inputs != 2) {
    return GEMEL_DECLINED;
  }
  memcpy(size.at, y->dims, (size_t)y->rank * sizeof *y->dims);
  gemel_status status = draw_window(d, &d->attrs[0], &size, &d->attrs[1]);
  if (!y->known) {
    y->rank = x->rank;
    memcpy(y->dims, size.at, (size_t)x->rank * sizeof *y->dims);
    y->dtype = dtype;
  }
  if (!x->known) {
    x->dtype = dtype;
  }
  return status;
}
