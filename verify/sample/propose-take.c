/* SPDX-License-Identifier: MIT
 *
 * Proposals for take and put. Of x, the indices and what lies at the indices any may be known; the
 * shapes of the others follow, but for the size of the axis, which is drawn. What indices hold is
 * drawn later, by trying which ones are in range.
 */
#include "core/dtype.h"
#include "sample/draft.h"

/* Draws the axis, of RANK. */
static void choose_axis(gemel__draft *d, int rank) {
  gemel__list *axis = &d->attrs[0];
  if (!axis->known) {
    gemel__list_fill(axis, 1,
                     axis->absent || gemel__one_in(d, 2) ? 0 : gemel__draw(d, 0, rank - 1));
  }
}

static void draw_indices(gemel__draft *d, gemel__shape *indices, const gemel__shape *x, int64_t n) {
  static const gemel_dtype dtypes[] = {GEMEL_I64, GEMEL_I32, GEMEL_U8};
  int most = GEMEL_MAX_RANK - x->rank + 1;
  indices->dtype = dtypes[gemel__draw(d, 0, 2)];
  gemel__draw_shape_of(d, indices, (int)gemel__draw(d, 0, most < 2 ? most : 2));
  for (int k = 0; k < indices->rank; k++) {
    indices->dims[k] = n == 0 && k == 0 ? 0 : indices->dims[k] > 5 ? 5 : indices->dims[k];
  }
}

/* TAKEN = x at the indices. */
static gemel_status shape_at(const gemel__draft *d, gemel__shape *taken) {
  const gemel__shape *x = &d->in[0], *indices = &d->in[1];
  int64_t axis = d->attrs[0].at[0];
  int count = 0;
  taken->dtype = x->dtype;
  taken->rank = x->rank - 1 + indices->rank;
  if (axis < 0 || axis >= x->rank || taken->rank > GEMEL_MAX_RANK) {
    return GEMEL_DECLINED;
  }
  for (int k = 0; k < x->rank; k++) {
    for (int j = 0; k == axis && j < indices->rank; j++) {
      taken->dims[count++] = indices->dims[j];
    }
    if (k != axis) {
      taken->dims[count++] = x->dims[k];
    }
  }
  return GEMEL_OK;
}

/* 1 if x and the indices, where they are known, agree with Y for this AXIS of x. */
static int fits(const gemel__draft *d, const gemel__shape *y, int axis) {
  const gemel__shape *x = &d->in[0], *indices = &d->in[1];
  int good = 1;
  for (int k = 0; x->known && k < x->rank; k++) {
    good &= k == axis || x->dims[k] == y->dims[k < axis ? k : k - 1 + indices->rank];
  }
  for (int j = 0; indices->known && j < indices->rank; j++) {
    good &= indices->dims[j] == y->dims[axis + j];
  }
  return good;
}

/* Draws an axis that fits, unless it is known: 0 if there is none. */
static int choose_fitting(gemel__draft *d, const gemel__shape *y) {
  gemel__list *axis = &d->attrs[0];
  int rank = d->in[0].rank, first = (int)gemel__draw(d, 0, rank - 1);
  for (int k = 0; k < rank && !axis->known; k++) {
    int at = axis->absent ? 0 : (first + k) % rank;
    if (fits(d, y, at)) {
      gemel__list_fill(axis, 1, at);
      return 1;
    }
  }
  return axis->known && axis->at[0] >= 0 && axis->at[0] < rank && fits(d, y, (int)axis->at[0]);
}

/* Draws what isn't known of x, axis and indices such that x at the indices is as Y. */
static gemel_status draw_under(gemel__draft *d, const gemel__shape *y) {
  gemel__shape *x = &d->in[0], *indices = &d->in[1];
  if (!indices->known) {
    indices->rank = x->known      ? y->rank - x->rank + 1
                    : y->rank > 0 ? (int)gemel__draw(d, 0, y->rank < 2 ? y->rank : 2)
                                  : 0;
    indices->dtype = gemel__one_in(d, 2) ? GEMEL_I64 : GEMEL_I32;
  }
  x->rank = y->rank - indices->rank + 1;
  x->dtype = y->dtype;
  if (x->rank < 1 || x->rank > GEMEL_MAX_RANK || indices->rank < 0 || !choose_fitting(d, y)) {
    return GEMEL_DECLINED;
  }
  int axis = (int)d->attrs[0].at[0];
  for (int k = 0; k < x->rank && !x->known; k++) {
    x->dims[k] = k == axis ? gemel__draw(d, 1, 5) : y->dims[k < axis ? k : k - 1 + indices->rank];
  }
  for (int k = 0; k < indices->rank && !indices->known; k++) {
    indices->dims[k] = y->dims[axis + k];
  }
  return GEMEL_OK;
}

/* Draws what isn't known of x, axis and indices; Y (may be NULL): what is known at the indices. */
static gemel_status draw_lookup(gemel__draft *d, const gemel__shape *y) {
  gemel__shape *x = &d->in[0], *indices = &d->in[1];
  if (indices->known && (gemel__is_float(indices->dtype) || indices->dtype == GEMEL_BOOL)) {
    return GEMEL_DECLINED;
  }
  if (y != NULL) {
    return draw_under(d, y);
  }
  if (!x->known) {
    gemel__draw_shape(d, x, d->attrs[0].known ? gemel__list_top(&d->attrs[0]) : 1);
  }
  if (x->rank == 0) {
    return GEMEL_DECLINED;
  }
  choose_axis(d, x->rank);
  int64_t axis = d->attrs[0].at[0];
  if (axis < 0 || axis >= x->rank) {
    return GEMEL_DECLINED;
  }
  if (!indices->known) {
    draw_indices(d, indices, x, x->dims[axis]);
  } else if (!x->known && x->dims[axis] == 0) {
    x->dims[axis] = 1;
  }
  return GEMEL_OK;
}

gemel_status gemel__propose_take(gemel__draft *d) {
  return d->n_inputs == 2 ? draw_lookup(d, NULL) : GEMEL_DECLINED;
}

gemel_status gemel__propose_put(gemel__draft *d) {
  gemel__shape *y = &d->in[2];
  if (d->n_inputs != 3) {
    return GEMEL_DECLINED;
  }
  gemel_status status = draw_lookup(d, y->known ? y : NULL);
  return status != GEMEL_OK || y->known ? status : shape_at(d, y);
}
