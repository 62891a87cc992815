/* SPDX-License-Identifier: MIT
 *
 * What reductions and products pull: folds over new symbols, one for each axis that goes. What
 * depends on all elements along an axis and on a place there is a function of such a fold and that
 * place.
 */
#include <string.h>
#include "core/context.h"
#include "unbounded/pull.h"

/* ---- Folds ---- */

static void shape_reduced(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__ptensor *x = t->operands[0];
  int listed[GEMEL__PAXES], count, is_max = strcmp(t->op->record.name, "max") == 0;
  int64_t keep = 0;
  uint32_t reduced = gemel__pull_axes(s, t, "axes", x->rank, 0, listed, &count);
  gemel__p_is_number(&s->terms, gemel__ptensor_attr(t, "keepdims")->list[0], &keep);
  t->rank = 0;
  for (int k = 0; k < x->rank && s->flow == GEMEL__P_GO; k++) {
    int goes = reduced >> k & 1;
    if (goes && is_max) {
      gemel__pscene_need(s,
                         gemel__p_at_least(&s->terms, x->shape[k], gemel__p_number(&s->terms, 1)),
                         1, "a maximum of nothing");
    }
    if (!goes || keep) {
      t->shape[t->rank++] = goes ? gemel__p_number(&s->terms, 1) : x->shape[k];
    }
  }
}

gemel_dtype gemel__pull_wide_dtype(const gemel__ptensor *t) {
  gemel_dtype dtype = gemel__pull_dtype(t, 0);
  gemel_kind kind = gemel_dtype_kind(dtype);
  return dtype == GEMEL_DTYPE_COUNT || kind == GEMEL_KIND_FLOAT ? dtype
         : kind == GEMEL_KIND_UNSIGNED                          ? GEMEL_U64
                                                                : GEMEL_I64;
}

static gemel_dtype index_dtype(const gemel__ptensor *t) {
  (void)t;
  return GEMEL_I64;
}

static gemel_dtype float_dtype(const gemel__ptensor *t) {
  gemel_dtype dtype = gemel__pull_dtype(t, 0);
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT ? dtype : GEMEL_DTYPE_COUNT;
}

/* Element A of T's operand 0 in T's dtype: totals of narrow integers are of wide ones. */
static gemel__pterm widened(gemel__pscene *s, const gemel__ptensor *t, gemel__pterm a) {
  return t->sort == t->operands[0]->sort ? a : gemel__p_call(&s->terms, t->sort, "cast", 0, 1, &a);
}

static gemel__pterm new_index(gemel__pscene *s) {
  return gemel__p_fresh(&s->terms, GEMEL__PSORT_INTEGER, "k");
}

static gemel__pterm pull_reduced(gemel__pscene *s, const gemel__ptensor *t,
                                 const gemel__pterm *index) {
  const gemel__ptensor *x = t->operands[0];
  int listed[GEMEL__PAXES], count, next = 0, folded = 0;
  uint32_t reduced = gemel__pull_axes(s, t, "axes", x->rank, 0, listed, &count);
  gemel__pterm at[GEMEL__PAXES], symbols[GEMEL__PAXES], sizes[GEMEL__PAXES];
  for (int k = 0; k < x->rank; k++) {
    if (reduced >> k & 1) {
      at[k] = symbols[folded] = new_index(s);
      sizes[folded++] = x->shape[k];
      next += t->rank == x->rank;
    } else {
      at[k] = index[next++];
    }
  }
  gemel__pterm body = widened(s, t, gemel__ptensor_pull(s, x, at));
  return gemel__p_fold(&s->terms, t->sort, t->op->record.name, body, (uint32_t)folded, symbols,
                       sizes);
}

static void shape_argmax(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__ptensor *x = t->operands[0];
  int axis = gemel__pull_axis(s, t, "axis", x->rank);
  t->rank = 0;
  for (int k = 0; k < x->rank && s->flow == GEMEL__P_GO; k++) {
    if (k != axis) {
      t->shape[t->rank++] = x->shape[k];
    } else {
      gemel__pscene_need(s,
                         gemel__p_at_least(&s->terms, x->shape[k], gemel__p_number(&s->terms, 1)),
                         1, "argmax of nothing");
    }
  }
}

/* T's operand along AXIS, at INDEX but for that axis, folded by T's operation. */
static gemel__pterm fold_along(gemel__pscene *s, const gemel__ptensor *t, int axis,
                               const gemel__pterm *index) {
  const gemel__ptensor *x = t->operands[0];
  gemel__pterm at[GEMEL__PAXES], symbol = new_index(s);
  memcpy(at, index, (size_t)x->rank * sizeof *at);
  at[axis] = symbol;
  gemel__pterm body = gemel__ptensor_pull(s, x, at);
  return gemel__p_fold(&s->terms, t->sort, t->op->record.name, body, 1, &symbol, &x->shape[axis]);
}

static gemel__pterm pull_argmax(gemel__pscene *s, const gemel__ptensor *t,
                                const gemel__pterm *index) {
  const gemel__ptensor *x = t->operands[0];
  int axis = gemel__pull_axis(s, t, "axis", x->rank);
  gemel__pterm at[GEMEL__PAXES];
  for (int k = 0; k < x->rank; k++) {
    at[k] = k < axis ? index[k] : k > axis ? index[k - 1] : 0;
  }
  return fold_along(s, t, axis, at);
}

static void shape_along(gemel__pscene *s, gemel__ptensor *t) {
  t->rank = t->operands[0]->rank;
  memcpy(t->shape, t->operands[0]->shape, sizeof t->shape);
  gemel__pull_axis(s, t, "axis", t->rank);
}

/* A function of all elements along an axis, and of the place there. */
static gemel__pterm pull_along(gemel__pscene *s, const gemel__ptensor *t,
                               const gemel__pterm *index) {
  int axis = gemel__pull_axis(s, t, "axis", t->rank);
  gemel__pterm operands[4] = {fold_along(s, t, axis, index), index[axis]};
  uint32_t count = 2;
  for (size_t k = 0; k < t->op->n_attrs && count < 4; k++) {
    if (strcmp(t->op->record.attrs[k].name, "axis") != 0 && t->attrs[k].kind == GEMEL__PV_INTEGER) {
      operands[count++] = t->attrs[k].list[0];
    }
  }
  return gemel__pull_call(s, t, t->op->record.name, count, operands);
}

/* Element K along AXIS, and what of all is added up at INDEX: what comes before it, or behind. */
static gemel__pterm cumsum_guard(gemel__pscene *s, const gemel__ptensor *t, gemel__pterm at,
                                 gemel__pterm k) {
  int64_t exclusive = 0, reverse = 0;
  gemel__p_is_number(&s->terms, gemel__ptensor_attr(t, "exclusive")->list[0], &exclusive);
  gemel__p_is_number(&s->terms, gemel__ptensor_attr(t, "reverse")->list[0], &reverse);
  return reverse ? gemel__p_at_least(&s->terms, k, gemel__p_plus(&s->terms, at, exclusive != 0))
                 : gemel__p_at_least(&s->terms, at, gemel__p_plus(&s->terms, k, exclusive != 0));
}

static gemel__pterm pull_cumsum(gemel__pscene *s, const gemel__ptensor *t,
                                const gemel__pterm *index) {
  const gemel__ptensor *x = t->operands[0];
  int axis = gemel__pull_axis(s, t, "axis", t->rank);
  gemel__pterm at[GEMEL__PAXES], k = new_index(s);
  if (s->pass == GEMEL__PASS_ANY) {
    return pull_along(s, t, index);
  }
  memcpy(at, index, (size_t)x->rank * sizeof *at);
  at[axis] = k;
  gemel__pterm body = gemel__p_choose(&s->terms, cumsum_guard(s, t, index[axis], k),
                                      widened(s, t, gemel__ptensor_pull(s, x, at)),
                                      gemel__p_literal(&s->terms, t->sort, "0"));
  return gemel__p_fold(&s->terms, t->sort, "sum", body, 1, &k, &x->shape[axis]);
}

/* exp of operand 0 of T at INDEX, over the total of these along AXIS. */
static gemel__pterm softmax_at(gemel__pscene *s, const gemel__ptensor *t, int axis,
                               const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  const gemel__ptensor *x = t->operands[0];
  gemel__pterm at[GEMEL__PAXES], k = new_index(s), all[2], both[2];
  memcpy(at, index, (size_t)x->rank * sizeof *at);
  at[axis] = k;
  all[0] = gemel__ptensor_pull(s, x, index);
  all[1] = gemel__ptensor_pull(s, x, at);
  for (int i = 0; i < 2; i++) {
    both[i] = gemel__p_call(terms, t->sort, "exp", 0, 1, &all[i]);
  }
  both[1] = gemel__p_fold(terms, t->sort, "sum", both[1], 1, &k, &x->shape[axis]);
  both[1] = gemel__p_call(terms, t->sort, "inverse", 0, 1, &both[1]);
  return gemel__p_call(terms, t->sort, "mul", 1, 2, both);
}

static gemel__pterm pull_softmax(gemel__pscene *s, const gemel__ptensor *t,
                                 const gemel__pterm *index) {
  return s->pass == GEMEL__PASS_ANY
             ? pull_along(s, t, index)
             : softmax_at(s, t, gemel__pull_axis(s, t, "axis", t->rank), index);
}

static gemel_dtype cross_entropy_dtype(const gemel__ptensor *t) {
  gemel_dtype x = gemel__pull_dtype(t, 0), targets = gemel__pull_dtype(t, 1);
  return gemel_dtype_kind(x) == GEMEL_KIND_FLOAT &&
                 (targets == x || gemel_dtype_kind(targets) == GEMEL_KIND_SIGNED ||
                  gemel_dtype_kind(targets) == GEMEL_KIND_UNSIGNED)
             ? x
             : GEMEL_DTYPE_COUNT;
}

static void shape_cross_entropy(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__ptensor *x = t->operands[0], *targets = t->operands[1];
  int axis = gemel__pull_axis(s, t, "axis", x->rank), whole = targets->sort == x->sort, next = 0;
  t->rank = 0;
  if (s->pass == GEMEL__PASS_ANY) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "what targets are depends on their dtype");
  } else if (targets->rank != x->rank - !whole) {
    gemel__pull_refuse(s, "targets of another rank");
  }
  for (int k = 0; k < x->rank && s->flow == GEMEL__P_GO; k++) {
    if (k != axis) {
      t->shape[t->rank++] = x->shape[k];
    }
    if (k != axis || whole) {
      gemel__pscene_need(s, gemel__p_equal(&s->terms, x->shape[k], targets->shape[next++]), 1,
                         "targets of other sizes");
    }
  }
  if (!whole && s->flow == GEMEL__P_GO) {
    gemel__pscene_look_up(s, targets, x->shape[axis]);
  }
}

/* Minus the logarithm of the softmax at the target, or of all of them, times the targets. */
static gemel__pterm pull_cross_entropy(gemel__pscene *s, const gemel__ptensor *t,
                                       const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  const gemel__ptensor *x = t->operands[0], *targets = t->operands[1];
  int axis = gemel__pull_axis(s, t, "axis", x->rank), whole = targets->sort == x->sort;
  gemel__pterm at[GEMEL__PAXES], both[2], k = new_index(s);
  for (int i = 0; i < x->rank; i++) {
    at[i] = i < axis ? index[i] : i > axis ? index[i - 1] : k;
  }
  if (!whole) {
    gemel__pterm target = gemel__ptensor_pull(s, targets, index);
    at[axis] = gemel__p_call(terms, GEMEL__PSORT_INTEGER, "integer", 0, 1, &target);
  }
  both[0] = softmax_at(s, t, axis, at);
  both[0] = gemel__p_call(terms, t->sort, "log", 0, 1, &both[0]);
  if (whole) {
    both[1] = gemel__ptensor_pull(s, targets, at);
    both[0] = gemel__p_call(terms, t->sort, "mul", 1, 2, both);
    both[0] = gemel__p_fold(terms, t->sort, "sum", both[0], 1, &k, &x->shape[axis]);
  }
  return gemel__p_call(terms, t->sort, "neg", 0, 1, &both[0]);
}

/* ---- Products ---- */

typedef struct dot_axes {
  int contract[2][GEMEL__PAXES], batch[2][GEMEL__PAXES], free[2][GEMEL__PAXES];
  int n_contract, n_batch, n_free[2];
} dot_axes;

/* The axes that the attribute NAME of a product has; of one that is absent none. */
static uint32_t named_axes(gemel__pscene *s, const gemel__ptensor *t, const char *name, int rank,
                           int *listed, int *count) {
  *count = 0;
  return gemel__ptensor_attr(t, name)->kind == GEMEL__PV_ABSENT
             ? 0
             : gemel__pull_axes(s, t, name, rank, 0, listed, count);
}

/* The axes of a matrix product, as numpy.matmul has them. */
static void matrix_axes(gemel__pscene *s, const gemel__ptensor *t, dot_axes *d) {
  int rank[2] = {t->operands[0]->rank, t->operands[1]->rank};
  d->n_contract = 1;
  d->n_batch = rank[0] > 2 ? rank[0] - 2 : 0;
  if (rank[0] == 0 || rank[1] == 0 || ((rank[0] > 2 || rank[1] > 2) && rank[0] != rank[1])) {
    gemel__pull_refuse(s, "a matrix product of other axes");
    return;
  }
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < d->n_batch; k++) {
      d->batch[side][k] = k;
    }
  }
  d->contract[0][0] = rank[0] - 1;
  d->contract[1][0] = rank[1] == 1 ? 0 : rank[1] - 2;
}

/* The axes of a product of T's operands 0 and 1; 0 where they don't fit. */
static int dot_axes_of(gemel__pscene *s, const gemel__ptensor *t, dot_axes *d) {
  static const char *const names[2][2] = {{"contract_x", "batch_x"}, {"contract_y", "batch_y"}};
  int contracted[2], batched[2], named = 0;
  for (int k = 0; k < 4; k++) {
    named |= gemel__ptensor_attr(t, names[k / 2][k % 2])->kind != GEMEL__PV_ABSENT;
  }
  for (int side = 0; side < 2 && named; side++) {
    int rank = t->operands[side]->rank;
    uint32_t used = named_axes(s, t, names[side][0], rank, d->contract[side], &contracted[side]);
    uint32_t batch = named_axes(s, t, names[side][1], rank, d->batch[side], &batched[side]);
    if (s->flow == GEMEL__P_GO && (used & batch)) {
      gemel__pull_refuse(s, "an axis twice");
    }
  }
  if (!named) {
    matrix_axes(s, t, d);
  } else if (s->flow == GEMEL__P_GO &&
             (contracted[0] != contracted[1] || batched[0] != batched[1])) {
    gemel__pull_refuse(s, "axes without a counterpart");
  } else {
    d->n_contract = contracted[0];
    d->n_batch = batched[0];
  }
  for (int side = 0; side < 2 && s->flow == GEMEL__P_GO; side++) {
    uint32_t used = 0;
    for (int k = 0; k < d->n_contract; k++) {
      used |= 1u << d->contract[side][k];
    }
    for (int k = 0; k < d->n_batch; k++) {
      used |= 1u << d->batch[side][k];
    }
    d->n_free[side] = 0;
    for (int k = 0; k < t->operands[side]->rank; k++) {
      if (!(used >> k & 1)) {
        d->free[side][d->n_free[side]++] = k;
      }
    }
  }
  return s->flow == GEMEL__P_GO;
}

static void shape_dot(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__ptensor *x = t->operands[0], *y = t->operands[1];
  dot_axes d;
  if (!dot_axes_of(s, t, &d)) {
    return;
  }
  t->rank = 0;
  if (d.n_batch + d.n_free[0] + d.n_free[1] > GEMEL__PAXES) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "too many axes");
    return;
  }
  for (int k = 0; k < d.n_batch; k++) {
    t->shape[t->rank++] = x->shape[d.batch[0][k]];
    gemel__pscene_need(s,
                       gemel__p_equal(&s->terms, x->shape[d.batch[0][k]], y->shape[d.batch[1][k]]),
                       1, "a product of different sizes");
  }
  for (int k = 0; k < d.n_contract; k++) {
    gemel__pscene_need(
        s, gemel__p_equal(&s->terms, x->shape[d.contract[0][k]], y->shape[d.contract[1][k]]), 1,
        "a product of different sizes");
  }
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < d.n_free[side]; k++) {
      t->shape[t->rank++] = t->operands[side]->shape[d.free[side][k]];
    }
  }
}

static gemel__pterm pull_dot(gemel__pscene *s, const gemel__ptensor *t, const gemel__pterm *index) {
  gemel__pterm at[2][GEMEL__PAXES], symbols[GEMEL__PAXES], sizes[GEMEL__PAXES], both[2];
  int next = 0;
  dot_axes d;
  if (!dot_axes_of(s, t, &d)) {
    return 0;
  }
  for (int k = 0; k < d.n_batch; k++) {
    at[0][d.batch[0][k]] = at[1][d.batch[1][k]] = index[next++];
  }
  for (int k = 0; k < d.n_contract; k++) {
    symbols[k] = at[0][d.contract[0][k]] = at[1][d.contract[1][k]] = new_index(s);
    sizes[k] = t->operands[0]->shape[d.contract[0][k]];
  }
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < d.n_free[side]; k++) {
      at[side][d.free[side][k]] = index[next++];
    }
    both[side] = gemel__ptensor_pull(s, t->operands[side], at[side]);
  }
  gemel__pterm product = gemel__p_call(&s->terms, t->sort, "mul", 1, 2, both);
  return gemel__p_fold(&s->terms, t->sort, "dot", product, (uint32_t)d.n_contract, symbols, sizes);
}

/* ---- The table ---- */

const gemel__ppull gemel__pulls_of_folds[] = {
    {"argmax", shape_argmax, pull_argmax, index_dtype},
    {"argsort", shape_along, pull_along, index_dtype},
    {"cross_entropy", shape_cross_entropy, pull_cross_entropy, cross_entropy_dtype},
    {"cumsum", shape_along, pull_cumsum, gemel__pull_wide_dtype},
    {"dot", shape_dot, pull_dot, gemel__pull_common_dtype},
    {"max", shape_reduced, pull_reduced, NULL},
    {"prod", shape_reduced, pull_reduced, gemel__pull_wide_dtype},
    {"softmax", shape_along, pull_softmax, float_dtype},
    {"sum", shape_reduced, pull_reduced, gemel__pull_wide_dtype},
    {NULL, NULL, NULL, NULL},
};
