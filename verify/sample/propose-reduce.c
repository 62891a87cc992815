/* SPDX-License-Identifier: MIT
 *
 * Proposals for operations along axes: sum, prod, max, argmax, cumsum, argsort, softmax and
 * cross_entropy; and for searchsorted.
 */
#include "core/dtype.h"
#include "sample/draft.h"

static void choose_keepdims(gemel__draft *d) {
  gemel__list *keepdims = &d->attrs[1];
  if (!keepdims->known) {
    gemel__list_fill(keepdims, 1, keepdims->absent ? 0 : gemel__one_in(d, 3));
  }
}

static void choose_axes(gemel__draft *d, int rank, unsigned allowed) {
  gemel__list *axes = &d->attrs[0];
  if (axes->absent) {
    axes->count = rank;
    for (int k = 0; k < rank; k++) {
      axes->at[k] = k;
    }
  } else if (!axes->known) {
    gemel__draw_axes(d, axes, rank, allowed);
  }
}

gemel_status gemel__propose_reduction(gemel__draft *d) {
  gemel__shape *x = &d->in[0];
  if (!x->known) {
    gemel__draw_shape(d, x, d->attrs[0].known ? gemel__list_top(&d->attrs[0]) : 0);
  }
  choose_axes(d, x->rank, ~0u);
  choose_keepdims(d);
  return GEMEL_OK;
}

/* max over an axis of size 0 is an error, so such a size becomes 1 if it is free. */
gemel_status gemel__propose_largest(gemel__draft *d) {
  gemel__shape *x = &d->in[0];
  gemel__list *axes = &d->attrs[0];
  unsigned allowed = 0;
  if (!x->known) {
    gemel__draw_shape(d, x, axes->known ? gemel__list_top(axes) : 0);
  }
  for (int k = 0; k < x->rank; k++) {
    allowed |= x->dims[k] > 0 ? 1u << k : 0;
  }
  choose_axes(d, x->rank, allowed);
  for (int k = 0; k < axes->count && !x->known; k++) {
    if (axes->at[k] >= 0 && axes->at[k] < x->rank && x->dims[axes->at[k]] == 0) {
      x->dims[axes->at[k]] = 1;
    }
  }
  choose_keepdims(d);
  return GEMEL_OK;
}

/* Draws one axis of X, in half of the cases the last. */
static void choose_axis(gemel__draft *d, gemel__list *axis, int rank) {
  if (!axis->known) {
    int last = axis->absent || gemel__one_in(d, 2);
    gemel__list_fill(axis, 1, last ? rank - 1 : gemel__draw(d, 0, rank - 1));
  }
}

static int least_rank(const gemel__list *axis) {
  int64_t from = axis->known && axis->count == 1 ? axis->at[0] : 0;
  from = from < 0 ? -from - 1 : from;
  return from < GEMEL_MAX_RANK ? (int)from + 1 : GEMEL_MAX_RANK;
}

gemel_status gemel__propose_argmax(gemel__draft *d) {
  gemel__shape *x = &d->in[0];
  gemel__list *axis = &d->attrs[0];
  if (!x->known) {
    gemel__draw_shape(d, x, least_rank(axis));
  }
  if (x->rank == 0) {
    return GEMEL_DECLINED;
  }
  choose_axis(d, axis, x->rank);
  if (!axis->known && x->dims[axis->at[0]] == 0) {
    axis->at[0] = gemel__draw(d, 0, x->rank - 1); /* another axis may have elements */
  }
  if (!x->known && axis->at[0] >= 0 && axis->at[0] < x->rank && x->dims[axis->at[0]] == 0) {
    x->dims[axis->at[0]] = 1;
  }
  return GEMEL_OK;
}

/* Draws a flag that is left open. */
static void choose_flag(gemel__draft *d, gemel__list *flag) {
  if (!flag->known) {
    gemel__list_fill(flag, 1, flag->absent ? 0 : gemel__one_in(d, 2));
  }
}

/* cumsum and argsort; the flags behind the axis are 0 unless given. */
gemel_status gemel__propose_along(gemel__draft *d) {
  gemel__shape *x = &d->in[0];
  gemel__list *axis = &d->attrs[0];
  if (!x->known) {
    gemel__draw_shape(d, x, least_rank(axis));
  }
  if (x->rank == 0) {
    return GEMEL_DECLINED;
  }
  if (axis->absent) {
    gemel__list_fill(axis, 1, 0);
  } else {
    choose_axis(d, axis, x->rank);
  }
  for (size_t k = 1; k < d->op->n_attrs; k++) {
    choose_flag(d, &d->attrs[k]);
  }
  return GEMEL_OK;
}

gemel_status gemel__propose_searchsorted(gemel__draft *d) {
  gemel__shape *sorted = &d->in[0], *values = &d->in[1];
  if (d->n_inputs != 2) {
    return GEMEL_DECLINED;
  }
  sorted->dtype = values->known && !sorted->known ? values->dtype : sorted->dtype;
  values->dtype = values->known ? values->dtype : sorted->dtype;
  if (!sorted->known) {
    gemel__draw_shape_of(d, sorted, 1);
  }
  if (!values->known) {
    gemel__draw_shape(d, values, 0);
  }
  return sorted->rank == 1 && sorted->dtype == values->dtype ? GEMEL_OK : GEMEL_DECLINED;
}

static gemel_status need_float(gemel_dtype dtype) {
  return gemel__is_float(dtype) ? GEMEL_OK : GEMEL_DECLINED;
}

gemel_status gemel__propose_softmax(gemel__draft *d) {
  gemel__shape *x = &d->in[0];
  if (!x->known) {
    gemel__draw_shape(d, x, least_rank(&d->attrs[0]));
  }
  if (x->rank == 0) {
    return GEMEL_DECLINED;
  }
  choose_axis(d, &d->attrs[0], x->rank);
  return need_float(x->dtype);
}

/* Sets the shape of integer targets: the logits' without AXIS. */
static void draw_indices(gemel__draft *d, gemel__shape *targets, const gemel__shape *logits,
                         int64_t axis) {
  targets->dtype = gemel__one_in(d, 2) ? GEMEL_I64 : GEMEL_I32;
  targets->rank = 0;
  for (int k = 0; k < logits->rank; k++) {
    if (k != axis) {
      targets->dims[targets->rank++] = logits->dims[k];
    }
  }
}

/* Sets the shape of logits for integer targets: theirs with one more axis at AXIS. */
static void draw_logits(gemel__draft *d, gemel__shape *logits, const gemel__shape *targets,
                        int64_t axis) {
  logits->rank = targets->rank + 1;
  for (int k = 0, j = 0; k < logits->rank; k++) {
    logits->dims[k] = k == axis ? gemel__draw_dim(d) : targets->dims[j++];
  }
}

static gemel_status draw_loss_from(gemel__draft *d) {
  gemel__shape *logits = &d->in[0], *targets = &d->in[1];
  if (gemel__is_float(targets->dtype)) {
    gemel__copy_shape(logits, targets);
    choose_axis(d, &d->attrs[0], logits->rank);
    return logits->rank > 0 ? GEMEL_OK : GEMEL_DECLINED;
  }
  if (targets->rank == GEMEL_MAX_RANK) {
    return GEMEL_DECLINED;
  }
  choose_axis(d, &d->attrs[0], targets->rank + 1);
  draw_logits(d, logits, targets, d->attrs[0].at[0]);
  return need_float(logits->dtype);
}

gemel_status gemel__propose_cross_entropy(gemel__draft *d) {
  gemel__shape *logits = &d->in[0], *targets = &d->in[1];
  if (d->n_inputs != 2) {
    return GEMEL_DECLINED;
  }
  if (targets->known && !logits->known) {
    return draw_loss_from(d);
  }
  if (!logits->known) {
    gemel__draw_shape(d, logits, least_rank(&d->attrs[0]));
  }
  if (logits->rank == 0) {
    return GEMEL_DECLINED;
  }
  choose_axis(d, &d->attrs[0], logits->rank);
  if (!targets->known && gemel__one_in(d, 2)) {
    gemel__copy_shape(targets, logits);
  } else if (!targets->known) {
    draw_indices(d, targets, logits, d->attrs[0].at[0]);
  }
  return need_float(logits->dtype);
}
