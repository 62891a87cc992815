/* SPDX-License-Identifier: MIT
 *
 * See draft.h.
 */
#include "sample/draft.h"

#include <string.h>

int64_t gemel__draw_dim(gemel__draft *d) {
  static const int64_t sizes[] = {1, 1, 1, 2, 2, 3, 3, 5};
  if (d->zeros && gemel__one_in(d, 3)) {
    return 0;
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

void gemel__draw_shape_of(gemel__draft *d, gemel__shape *shape, int rank) {
  int square = gemel__one_in(d, 4); /* equal sizes hide what mistakes one axis for another */
  shape->rank = rank;
  for (int k = 0; k < rank; k++) {
    shape->dims[k] = square && k > 0 ? shape->dims[0] : gemel__draw_dim(d);
  }
  gemel__limit_shape(d, shape, 0);
}

void gemel__draw_shape(gemel__draft *d, gemel__shape *shape, int low) {
  int high = d->max_rank > low ? d->max_rank : low;
  gemel__draw_shape_of(d, shape, (int)gemel__draw(d, low, high));
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
