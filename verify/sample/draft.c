/* SPDX-License-Identifier: MIT
 *
 * Drawing sizes, shapes and lists of axes, see draft.h.
 */
#include "sample/draft.h"

#include <math.h>
#include <string.h>

static int is_large(const gemel__draft *d) {
  return d->max_elements >= GEMEL__PROPOSAL_LARGE && d->length == 0;
}

int64_t gemel__draw_dim(gemel__draft *d) {
  static const int64_t sizes[] = {1, 1, 1, 2, 2, 3, 3, 5};
  static const int64_t large[] = {7, 16, 23, 33, 67};
  if (d->length > 0) {
    return gemel__one_in(d, 2) ? d->length : 1;
  }
  if (d->zeros && gemel__one_in(d, 3)) {
    return 0;
  }
  if (d->n_sizes > 0 && gemel__one_in(d, d->reach ? 2 : 3)) {
    int64_t size = d->sizes[gemel__random_below(d->random, d->n_sizes)];
    return size > 0 || d->zeros ? size : 1;
  }
  if (is_large(d) && gemel__one_in(d, 2)) {
    return large[gemel__random_below(d->random, sizeof large / sizeof *large)];
  }
  return sizes[gemel__random_below(d->random, sizeof sizes / sizeof *sizes)];
}

/* ---- Shapes ---- */

int64_t gemel__shape_elements(const gemel__shape *shape) {
  int64_t count = 1;
  for (int k = 0; k < shape->rank; k++) {
    count *= shape->dims[k];
  }
  return count;
}

void gemel__limit_shape(gemel__draft *d, gemel__shape *shape, unsigned keep) {
  for (int tries = 0; tries < 64 && gemel__shape_elements(shape) > d->max_elements; tries++) {
    int axis = (int)gemel__draw(d, 0, shape->rank - 1);
    if ((keep >> axis & 1u) == 0) {
      shape->dims[axis] = 1;
    }
  }
}

/* The largest size that RANK axes can all have with at most so many ELEMENTS. */
static int64_t even_size(int64_t elements, int rank) {
  int64_t size = 1;
  while (pow((double)(size + 1), rank) <= (double)elements && size < 67) {
    size++;
  }
  return size;
}

/* Draws a shape with many elements along each axis, since kernels sum along and across rows by
 * different code. */
static void draw_even(gemel__draft *d, gemel__shape *shape, int rank) {
  int64_t most = even_size(d->max_elements, rank);
  shape->rank = rank;
  for (int k = 0; k < rank; k++) {
    shape->dims[k] = gemel__draw(d, most > 3 ? most / 2 : 1, most);
  }
}

/* Draws a shape of RANK axes with N elements: each prime factor of N goes to some axis. */
static void draw_product(gemel__draft *d, gemel__shape *shape, int rank, int64_t n) {
  shape->rank = rank;
  for (int k = 0; k < rank; k++) {
    shape->dims[k] = 1;
  }
  for (int64_t factor = 2; n > 1; n /= factor) {
    for (; n % factor != 0; factor++) {
    }
    shape->dims[gemel__random_below(d->random, (uint64_t)rank)] *= factor;
  }
}

void gemel__draw_shape_of(gemel__draft *d, gemel__shape *shape, int rank) {
  int square = gemel__one_in(d, 4); /* seldom: with equal sizes, mistaking one axis for another
                                     * doesn't show */
  if (is_large(d) && rank > 0 && !d->zeros && !gemel__one_in(d, 3)) {
    draw_even(d, shape, rank);
    return;
  }
  if (rank > 0 && d->elements > 0) {
    draw_product(d, shape, rank, d->elements);
    return;
  }
  if (rank > 1 && d->reach && d->n_sizes > 0 && gemel__one_in(d, 2)) {
    draw_product(d, shape, rank, d->sizes[gemel__random_below(d->random, d->n_sizes)]);
    return;
  }
  shape->rank = rank;
  for (int k = 0; k < rank; k++) {
    shape->dims[k] = square && k > 0 ? shape->dims[0] : gemel__draw_dim(d);
  }
  gemel__limit_shape(d, shape, 0);
}

void gemel__draw_shape(gemel__draft *d, gemel__shape *shape, int low) {
  int high = d->max_rank > low ? d->max_rank : low;
  if (d->ranks > low) {
    gemel__draw_shape_of(d, shape, d->ranks - 1);
    return;
  }
  if (is_large(d) && low < 3 && high >= 3 && !gemel__one_in(d, 4)) {
    low = 3; /* axes before and after the one that is summed */
  }
  gemel__draw_shape_of(d, shape, (int)gemel__draw(d, low, high));
}

int gemel__draw_spatial_axes(gemel__draft *d) {
  enum { MOST = 3, NOT_SPATIAL = 2 };
  int axes = d->ranks - 1 - NOT_SPATIAL;
  return axes >= 1 && axes <= MOST ? axes : (int)gemel__random_between(d->random, 1, MOST);
}

void gemel__copy_shape(gemel__shape *to, const gemel__shape *from) {
  int known = to->known;
  *to = *from;
  to->known = known;
}

void gemel__draw_part(gemel__draft *d, gemel__shape *shape, const gemel__shape *whole) {
  int how = (int)gemel__draw(d, 0, 9), skip = 0;
  if (how < 3) {
    skip = whole->rank; /* a scalar */
  } else if (how < 6) {
    skip = (int)gemel__draw(d, 0, whole->rank);
  }
  shape->rank = whole->rank - skip;
  for (int k = 0; k < shape->rank; k++) {
    int one = (how == 5 || how == 6 || how == 7) && gemel__one_in(d, 2);
    shape->dims[k] = one ? 1 : whole->dims[k + skip];
  }
}

void gemel__draw_whole(gemel__draft *d, gemel__shape *shape, const gemel__shape *part) {
  int how = (int)gemel__draw(d, 0, 5), lead = 0;
  unsigned keep = 0;
  if (how >= 2 && part->rank < d->max_rank) {
    lead = (int)gemel__draw(d, how > 3, d->max_rank - part->rank);
  }
  shape->rank = part->rank + lead;
  for (int k = 0; k < shape->rank; k++) {
    int from = k - lead;
    int grows = from < 0 || (part->dims[from] == 1 && how > 0 && how != 4 && !gemel__one_in(d, 3));
    shape->dims[k] = grows ? gemel__draw_dim(d) : part->dims[from];
    keep |= grows ? 0 : 1u << k;
  }
  gemel__limit_shape(d, shape, keep);
}

gemel_dtype gemel__known_dtype(const gemel__draft *d, size_t count) {
  for (size_t k = 0; k < count; k++) {
    if (d->in[k].known) {
      return d->in[k].dtype;
    }
  }
  return d->dtype;
}

/* ---- Lists ---- */

void gemel__draw_axes(gemel__draft *d, gemel__list *list, int rank, unsigned allowed) {
  int how = (int)gemel__draw(d, 0, 6), only = (int)gemel__draw(d, 0, rank - 1);
  list->count = 0;
  for (int k = 0; k < rank; k++) {
    int in = how == 0   ? 0
             : how < 3  ? k == only
             : how == 3 ? 1
             : how == 4 ? k == rank - 1
                        : gemel__one_in(d, 2);
    if (in && (allowed >> k & 1u)) {
      list->at[list->count++] = k;
    }
  }
}

int gemel__list_top(const gemel__list *list) {
  int64_t top = 0;
  for (int k = 0; k < list->count; k++) {
    top = list->at[k] + 1 > top ? list->at[k] + 1 : top;
  }
  return top > GEMEL_MAX_RANK ? GEMEL_MAX_RANK : (int)top;
}

void gemel__list_fill(gemel__list *list, int count, int64_t value) {
  list->count = count;
  for (int k = 0; k < count; k++) {
    list->at[k] = value;
  }
}
