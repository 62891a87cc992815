/* SPDX-License-Identifier: MIT
 *
 * What operations pull: for each, the sizes of its result, what makes it valid, and the element of
 * the result at an index, as a term over elements of its operands. Elementwise operations pull
 * their operands at the same index; what moves elements changes the index, or chooses between
 * operands by it; reductions fold over symbols. An operation without a row here has no pull.
 */
#include <stdio.h>
#include <string.h>
#include "core/context.h"
#include "core/rows.h"
#include "unbounded/pull.h"

/* ---- Operands and attributes ---- */

const gemel__pvalue *gemel__ptensor_attr(const gemel__ptensor *t, const char *name) {
  for (size_t k = 0; k < t->op->n_attrs; k++) {
    if (strcmp(t->op->record.attrs[k].name, name) == 0) {
      return &t->attrs[k];
    }
  }
  return NULL;
}

/* Entry K of the list NAME of T; FALLBACK where the list is absent. */
static gemel__pterm entry_of(gemel__pscene *s, const gemel__ptensor *t, const char *name, int k,
                             int64_t fallback) {
  const gemel__pvalue *v = gemel__ptensor_attr(t, name);
  if (v == NULL || v->kind == GEMEL__PV_ABSENT) {
    return gemel__p_number(&s->terms, fallback);
  }
  return (uint32_t)k < v->count ? v->list[k] : 0;
}

/* Where the axes of an attribute are wrong: no instance, or no proof. */
void gemel__pull_refuse(gemel__pscene *s, const char *what) {
  gemel__pscene_stop(s, s->right ? GEMEL__P_OPEN : GEMEL__P_SKIP, "the right side: %s", what);
}

int gemel__pull_has_length(gemel__pscene *s, const gemel__ptensor *t, const char *name, int count,
                           int optional) {
  const gemel__pvalue *v = gemel__ptensor_attr(t, name);
  if (v->kind == GEMEL__PV_ABSENT ? !optional
                                  : v->kind != GEMEL__PV_LIST || (int)v->count != count) {
    gemel__pull_refuse(s, "an attribute has another length");
    return 0;
  }
  return 1;
}

/* The axes in the attribute NAME of T, for RANK axes: a bit each; LISTED gets them in their order,
 * and -1 stays if NEW is allowed. Absent: all. */
uint32_t gemel__pull_axes(gemel__pscene *s, const gemel__ptensor *t, const char *name, int rank,
                          int new, int *listed, int *count) {
  const gemel__pvalue *v = gemel__ptensor_attr(t, name);
  uint32_t seen = 0;
  *count = 0;
  if (v->kind == GEMEL__PV_ABSENT) {
    for (int k = 0; k < rank; k++) {
      listed[(*count)++] = k;
    }
    return (1u << rank) - 1;
  }
  for (uint32_t k = 0; k < v->count; k++) {
    int64_t axis;
    if (!gemel__p_is_number(&s->terms, v->list[k], &axis)) {
      gemel__pscene_stop(s, GEMEL__P_OPEN, "an axis that is a symbol");
      return 0;
    }
    if (axis < (new ? -1 : 0) || axis >= rank || *count == GEMEL__PAXES ||
        (axis >= 0 && seen >> axis & 1)) {
      gemel__pull_refuse(s, "axes that the operand doesn't have, or one twice");
      return 0;
    }
    seen |= axis >= 0 ? 1u << axis : 0;
    listed[(*count)++] = (int)axis;
  }
  return seen;
}

/* The one axis in the attribute NAME of T. */
int gemel__pull_axis(gemel__pscene *s, const gemel__ptensor *t, const char *name, int rank) {
  int listed[GEMEL__PAXES], count;
  gemel__pull_axes(s, t, name, rank, 0, listed, &count);
  if (s->flow == GEMEL__P_GO && count != 1) {
    gemel__pull_refuse(s, "an axis is missing");
  }
  return s->flow == GEMEL__P_GO ? listed[0] : 0;
}

static gemel__pterm equal_to(gemel__pscene *s, gemel__pterm a, int64_t value) {
  return gemel__p_equal(&s->terms, a, gemel__p_number(&s->terms, value));
}

static gemel__pterm natural(gemel__pscene *s, gemel__pterm a) {
  return gemel__p_at_least(&s->terms, a, gemel__p_number(&s->terms, 0));
}

/* INDEX lies in an axis of SIZE. */
static gemel__pterm inside(gemel__pscene *s, gemel__pterm index, gemel__pterm size) {
  return gemel__p_and(&s->terms, natural(s, index), gemel__p_below(&s->terms, index, size));
}

gemel__pterm gemel__pull_call(gemel__pscene *s, const gemel__ptensor *t, const char *name,
                              uint32_t count, const gemel__pterm *operands) {
  return gemel__p_call(&s->terms, t->sort, name, 0, count, operands);
}

gemel_dtype gemel__pull_dtype(const gemel__ptensor *t, uint32_t k) {
  gemel_dtype dtype;
  return k < t->count && gemel__psort_dtype(t->operands[k]->sort, &dtype) ? dtype
                                                                          : GEMEL_DTYPE_COUNT;
}

gemel__pterm gemel__ptensor_pull(gemel__pscene *s, const gemel__ptensor *t,
                                 const gemel__pterm *index) {
  if (s->flow != GEMEL__P_GO) {
    return 0;
  }
  if (t->is_number) {
    return gemel__p_literal(&s->terms, t->sort, t->name);
  }
  if (t->pull == NULL) {
    return gemel__pull_call(s, t, t->name, t->uniform ? 0 : (uint32_t)t->rank, index);
  }
  return t->pull->pull(s, t, index);
}

/* ---- Elementwise ---- */

static void shape_elementwise(gemel__pscene *s, gemel__ptensor *t) {
  t->rank = 0;
  for (uint32_t k = 0; k < t->count; k++) {
    t->rank = t->operands[k]->rank > t->rank ? t->operands[k]->rank : t->rank;
  }
  for (int axis = 0; axis < t->rank; axis++) {
    t->shape[axis] = gemel__p_number(&s->terms, 1);
    for (uint32_t k = 0; k < t->count; k++) {
      const gemel__ptensor *x = t->operands[k];
      int own = axis - (t->rank - x->rank);
      if (own >= 0) {
        t->shape[axis] = gemel__pscene_broadcast(s, t->shape[axis], x->shape[own]);
      }
    }
  }
  for (uint32_t k = 0; k < t->count && s->flow == GEMEL__P_GO; k++) {
    gemel__ptensor_map(s, t, k);
  }
}

/* Attributes are part of what a function is called: its dtype of its name, where elements don't
 * have it, integers as operands. */
static uint32_t attributes_of(gemel__pscene *s, const gemel__ptensor *t, char *name, size_t bytes,
                              gemel__pterm *operands, uint32_t room) {
  uint32_t count = 0;
  size_t used = (size_t)snprintf(name, bytes, "%s", t->op->record.name);
  for (size_t k = 0; k < t->op->n_attrs; k++) {
    const gemel__pvalue *v = &t->attrs[k];
    if (v->kind == GEMEL__PV_DTYPE && s->pass != GEMEL__PASS_ANY) {
      continue;
    }
    if (v->kind == GEMEL__PV_DTYPE && v->name != NULL && used < bytes) {
      used += (size_t)snprintf(name + used, bytes - used, ":%s", v->name);
    } else if (v->kind == GEMEL__PV_INTEGER && count < room) {
      operands[count++] = v->list[0];
    } else if (v->kind != GEMEL__PV_ABSENT) {
      gemel__pscene_stop(s, GEMEL__P_OPEN, "attribute %s of %s", t->op->record.attrs[k].name,
                         t->op->record.name);
    }
  }
  return count;
}

static gemel__pterm pull_elementwise(gemel__pscene *s, const gemel__ptensor *t,
                                     const gemel__pterm *index) {
  gemel__pterm operands[GEMEL__PPARTS + 4];
  char name[100];
  for (uint32_t k = 0; k < t->count; k++) {
    operands[k] = gemel__ptensor_pull_operand(s, t, k, index);
  }
  uint32_t more = attributes_of(s, t, name, sizeof name, operands + t->count, 4);
  if (strcmp(name, "where") == 0) {
    gemel__pterm truth = gemel__p_call(&s->terms, GEMEL__PSORT_TRUTH, "truth", 0, 1, operands);
    return gemel__p_choose(&s->terms, truth, operands[1], operands[2]);
  }
  return gemel__p_call(&s->terms, t->sort, name, (t->op->record.flags & GEMEL_OP_COMMUTATIVE) != 0,
                       t->count + more, operands);
}

/* By gemel's own rows, as the builders go by; a cast that they would put in is refused. */
static gemel_dtype scalar_dtype(const gemel__ptensor *t) {
  const gemel__scalar_row *row = gemel__scalar_row_of(&t->op->record);
  const gemel__pvalue *to = gemel__ptensor_attr(t, "dtype");
  gemel_dtype given[GEMEL__PPARTS], wanted[GEMEL__PPARTS], result, cast = GEMEL_BOOL;
  int known = t->count > 0;
  for (uint32_t k = 0; k < t->count; k++) {
    given[k] = gemel__pull_dtype(t, k);
    known &= given[k] != GEMEL_DTYPE_COUNT;
  }
  if (!known || row == NULL || (to != NULL && !gemel__psort_dtype(to->sort, &cast)) ||
      gemel__scalar_dtypes(row->code, t->count, given, cast, wanted, &result) != GEMEL_OK ||
      memcmp(given, wanted, t->count * sizeof *given) != 0) {
    return GEMEL_DTYPE_COUNT;
  }
  return result;
}

static const gemel__ppull elementwise = {"", shape_elementwise, pull_elementwise, scalar_dtype};

/* ---- What moves elements ---- */

static void same_shape(gemel__ptensor *t) {
  t->rank = t->operands[0]->rank;
  memcpy(t->shape, t->operands[0]->shape, sizeof t->shape);
}

static void shape_dimshuffle(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__ptensor *x = t->operands[0];
  int order[GEMEL__PAXES];
  uint32_t kept = gemel__pull_axes(s, t, "order", x->rank, 1, order, &t->rank);
  for (int k = 0; k < x->rank && s->flow == GEMEL__P_GO; k++) {
    if (!(kept >> k & 1)) {
      gemel__pscene_need(s, equal_to(s, x->shape[k], 1), 1,
                         "an axis is dropped whose size isn't 1");
    }
  }
  for (int k = 0; k < t->rank && s->flow == GEMEL__P_GO; k++) {
    t->shape[k] = order[k] < 0 ? gemel__p_number(&s->terms, 1) : x->shape[order[k]];
  }
}

static gemel__pterm pull_dimshuffle(gemel__pscene *s, const gemel__ptensor *t,
                                    const gemel__pterm *index) {
  gemel__pterm at[GEMEL__PAXES];
  int order[GEMEL__PAXES], count;
  for (int k = 0; k < GEMEL__PAXES; k++) {
    at[k] = gemel__p_number(&s->terms, 0);
  }
  gemel__pull_axes(s, t, "order", t->operands[0]->rank, 1, order, &count);
  for (int k = 0; k < count && s->flow == GEMEL__P_GO; k++) {
    if (order[k] >= 0) {
      at[order[k]] = index[k];
    }
  }
  return gemel__ptensor_pull(s, t->operands[0], at);
}

/* Sets T's sizes to the list NAME; each must be 0 or more. */
static void sizes_from(gemel__pscene *s, gemel__ptensor *t, const char *name) {
  const gemel__pvalue *v = gemel__ptensor_attr(t, name);
  if (v->kind != GEMEL__PV_LIST || v->count > GEMEL__PAXES) {
    gemel__pull_refuse(s, "sizes that are no list");
    return;
  }
  t->rank = (int)v->count;
  for (int k = 0; k < t->rank; k++) {
    t->shape[k] = v->list[k];
    gemel__pscene_need(s, natural(s, t->shape[k]), 1, "a size below 0");
  }
}

static gemel__pterm elements_of(gemel__pscene *s, const gemel__ptensor *t) {
  gemel__pterm product = gemel__p_number(&s->terms, 1);
  for (int k = 0; k < t->rank; k++) {
    product = gemel__p_mul(&s->terms, product, t->shape[k]);
  }
  return product;
}

static void shape_reshape(gemel__pscene *s, gemel__ptensor *t) {
  sizes_from(s, t, "shape");
  if (s->flow == GEMEL__P_GO) {
    gemel__pscene_need(s,
                       gemel__p_equal(&s->terms, elements_of(s, t), elements_of(s, t->operands[0])),
                       1, "reshape to another number of elements");
  }
}

/* The axes of a tensor that aren't known to have size 1, with an index there. The others neither
 * change the row-major order nor the number of elements. */
typedef struct proper_axes {
  int count;
  int axis[GEMEL__PAXES];
  gemel__pterm size[GEMEL__PAXES], index[GEMEL__PAXES];
} proper_axes;

static proper_axes proper_axes_of(gemel__pscene *s, const gemel__ptensor *t,
                                  const gemel__pterm *index) {
  proper_axes p = {0};
  for (int k = 0; k < t->rank; k++) {
    if (!gemel__pscene_provable(s, equal_to(s, t->shape[k], 1), GEMEL__PSTEP_ONE)) {
      p.axis[p.count] = k;
      p.size[p.count] = t->shape[k];
      p.index[p.count++] = index != NULL ? index[k] : 0;
    }
  }
  return p;
}

/* The number of the element at P's index, in row-major order. */
static gemel__pterm flat(gemel__pscene *s, const proper_axes *p) {
  gemel__pterm number = gemel__p_number(&s->terms, 0);
  for (int k = 0; k < p->count; k++) {
    number = gemel__p_add(&s->terms, gemel__p_mul(&s->terms, number, p->size[k]), p->index[k]);
  }
  return number;
}

/* Index K of element NUMBER of a tensor with P's axes. */
static gemel__pterm unflatten_call(gemel__pscene *s, const proper_axes *p, int k,
                                   gemel__pterm number) {
  gemel__pterm operands[GEMEL__PAXES + 1] = {number};
  char name[40];
  memcpy(operands + 1, p->size, (size_t)p->count * sizeof *p->size);
  snprintf(name, sizeof name, "unflatten.%d", k);
  return gemel__p_call(&s->terms, GEMEL__PSORT_INTEGER, name, 0, (uint32_t)p->count + 1, operands);
}

/* If P's index is that of an element's number, as `unflatten` writes it, the number; else 0. */
static gemel__pterm unflattened(gemel__pscene *s, const proper_axes *p) {
  const gemel__pterm_node *n = p->count > 0 ? &s->terms.nodes[p->index[0]] : NULL;
  gemel__pterm number = n != NULL && n->kind == GEMEL__P_CALL && n->count > 0
                            ? gemel__p_operand(&s->terms, p->index[0], 0)
                            : 0;
  if (number == 0 || s->terms.nodes[number].sort != GEMEL__PSORT_INTEGER) {
    return 0;
  }
  for (int k = 0; k < p->count; k++) {
    if (unflatten_call(s, p, k, number) != p->index[k]) {
      return 0;
    }
  }
  return number;
}

/* 1 if A and B are known to have the same sizes. */
static int same_sizes(gemel__pscene *s, const proper_axes *a, const proper_axes *b) {
  int same = a->count == b->count;
  for (int k = 0; k < a->count && same; k++) {
    same = gemel__pscene_provable(s, gemel__p_equal(&s->terms, a->size[k], b->size[k]),
                                  GEMEL__PSTEP_FOLLOWS);
  }
  return same;
}

/* X's index of element NUMBER, of which this is known: it lies in X and has that number, if the
 * number is that of an element; and it is T's if both have the same sizes. */
static void unflatten(gemel__pscene *s, proper_axes *x, gemel__pterm number, const proper_axes *t) {
  gemel__pterms *terms = &s->terms;
  gemel__pterm lies = gemel__p_truth(terms, 1), elements = gemel__p_number(terms, 1);
  gemel__pterm agree = gemel__p_truth(terms, t->count == x->count), back = lies;
  for (int k = 0; k < x->count; k++) {
    x->index[k] = unflatten_call(s, x, k, number);
    lies = gemel__p_and(terms, lies, inside(s, x->index[k], x->size[k]));
    elements = gemel__p_mul(terms, elements, x->size[k]);
  }
  lies = gemel__p_and(terms, lies, gemel__p_equal(terms, flat(s, x), number));
  gemel__pscene_assume(s, gemel__p_implies(terms, inside(s, number, elements), lies), 0);
  for (int k = 0; k < x->count && t->count == x->count; k++) {
    agree = gemel__p_and(terms, agree, gemel__p_equal(terms, t->size[k], x->size[k]));
    agree = gemel__p_and(terms, agree, inside(s, t->index[k], t->size[k]));
    back = gemel__p_and(terms, back, gemel__p_equal(terms, x->index[k], t->index[k]));
  }
  gemel__pscene_assume(s, gemel__p_implies(terms, agree, back), 0);
}

static gemel__pterm pull_reshape(gemel__pscene *s, const gemel__ptensor *t,
                                 const gemel__pterm *index) {
  gemel__pterm at[GEMEL__PAXES];
  proper_axes to = proper_axes_of(s, t, index), from = proper_axes_of(s, t->operands[0], NULL);
  if (same_sizes(s, &to, &from)) {
    memcpy(from.index, to.index, sizeof to.index);
  } else {
    gemel__pterm number = unflattened(s, &to);
    unflatten(s, &from, number != 0 ? number : flat(s, &to), &to);
  }
  for (int k = 0; k < t->operands[0]->rank; k++) {
    at[k] = gemel__p_number(&s->terms, 0);
  }
  for (int k = 0; k < from.count; k++) {
    at[from.axis[k]] = from.index[k];
  }
  return gemel__ptensor_pull(s, t->operands[0], at);
}

static void shape_broadcast_to(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__ptensor *x = t->operands[0];
  sizes_from(s, t, "shape");
  for (int k = 0; k < x->rank && x->rank <= t->rank && !s->right && s->flow == GEMEL__P_GO; k++) {
    gemel__pterm size = t->shape[t->rank - x->rank + k];
    if (!gemel__p_is_true(&s->terms, gemel__p_equal(&s->terms, x->shape[k], size))) {
      int repeated = gemel__pscene_choose(s, 2) == 1;
      gemel__pscene_assume(
          s, repeated ? equal_to(s, x->shape[k], 1) : gemel__p_equal(&s->terms, x->shape[k], size),
          !repeated);
    }
  }
  if (s->flow == GEMEL__P_GO) {
    gemel__ptensor_map(s, t, 0);
  }
}

static gemel__pterm pull_broadcast_to(gemel__pscene *s, const gemel__ptensor *t,
                                      const gemel__pterm *index) {
  return gemel__ptensor_pull_operand(s, t, 0, index);
}

static gemel_dtype second_dtype(const gemel__ptensor *t) {
  return gemel__pull_dtype(t, 1);
}

static void shape_fill(gemel__pscene *s, gemel__ptensor *t) {
  same_shape(t);
  gemel__ptensor_map(s, t, 1);
}

static gemel__pterm pull_fill(gemel__pscene *s, const gemel__ptensor *t,
                              const gemel__pterm *index) {
  return gemel__ptensor_pull_operand(s, t, 1, index);
}

static void shape_reverse(gemel__pscene *s, gemel__ptensor *t) {
  int listed[GEMEL__PAXES], count;
  same_shape(t);
  gemel__pull_axes(s, t, "axes", t->rank, 0, listed, &count);
}

static gemel__pterm pull_reverse(gemel__pscene *s, const gemel__ptensor *t,
                                 const gemel__pterm *index) {
  gemel__pterm at[GEMEL__PAXES];
  int listed[GEMEL__PAXES], count;
  uint32_t reversed = gemel__pull_axes(s, t, "axes", t->rank, 0, listed, &count);
  for (int k = 0; k < t->rank; k++) {
    at[k] = reversed >> k & 1
                ? gemel__p_sub(&s->terms, gemel__p_plus(&s->terms, t->shape[k], -1), index[k])
                : index[k];
  }
  return gemel__ptensor_pull(s, t->operands[0], at);
}

/* ---- Steps ---- */

/* 1 if STEP is known to be VALUE. */
static int step_is(gemel__pscene *s, gemel__pterm step, int64_t value) {
  return gemel__pscene_provable(s, equal_to(s, step, value), GEMEL__PSTEP_FOLLOWS);
}

/* DISTANCE ÷ STEP, where *DIVIDES. Of a step that is a symbol only this is known: quotient times
 * step is the distance, and what equal.c adds. */
static gemel__pterm quotient(gemel__pscene *s, gemel__pterm distance, gemel__pterm step,
                             gemel__pterm *divides) {
  gemel__pterms *t = &s->terms;
  int64_t number;
  *divides = gemel__p_truth(t, 1);
  if (gemel__p_is_number(t, step, &number) && number != 0) {
    gemel__pterm size = gemel__p_number(t, number < 0 ? -number : number);
    *divides = gemel__p_equal(t, gemel__p_mod(t, distance, size), gemel__p_number(t, 0));
    return gemel__p_div(t, gemel__p_scale(t, distance, number < 0 ? -1 : 1), size);
  }
  if (step_is(s, step, 1) || step_is(s, step, -1)) {
    return step_is(s, step, 1) ? distance : gemel__p_scale(t, distance, -1);
  }
  const gemel__pterm both[2] = {distance, step};
  gemel__pterm q = gemel__p_call(t, GEMEL__PSORT_INTEGER, "quotient", 0, 2, both);
  *divides = gemel__p_call(t, GEMEL__PSORT_TRUTH, "divides", 0, 2, both);
  return q;
}

/* ---- Pads and windows ---- */

/* What lies between the elements of axis K: step - 1. */
static gemel__pterm interior_of(gemel__pscene *s, const gemel__ptensor *t, int k) {
  return entry_of(s, t, "interior", k, 0);
}

/* How many times INTERIOR lies between the elements of an axis of SIZE: once less, but not less
 * than 0. On the left, whether there are elements is a choice where it matters. */
static gemel__pterm gaps_of(gemel__pscene *s, gemel__pterm size, gemel__pterm interior) {
  gemel__pterms *t = &s->terms;
  gemel__pterm zero = gemel__p_number(t, 0), less = gemel__p_plus(t, size, -1);
  gemel__pterm some = gemel__p_at_least(t, size, gemel__p_number(t, 1));
  if (gemel__pscene_plain(s, equal_to(s, interior, 0))) {
    return zero;
  }
  if (gemel__pscene_provable(s, some, GEMEL__PSTEP_FOLLOWS)) {
    return less;
  }
  if (gemel__pscene_provable(s, equal_to(s, size, 0), GEMEL__PSTEP_FOLLOWS)) {
    return zero;
  }
  if (s->right) {
    return gemel__p_max(t, less, zero);
  }
  int empty = gemel__pscene_choose(s, 2) == 1;
  gemel__pscene_assume(s, empty ? equal_to(s, size, 0) : some, 1);
  return empty ? zero : less;
}

static void shape_pad(gemel__pscene *s, gemel__ptensor *t) {
  gemel__pterms *terms = &s->terms;
  const gemel__ptensor *x = t->operands[0];
  t->rank = x->rank;
  if (t->operands[1]->rank != 0) {
    gemel__pull_refuse(s, "a pad by no scalar");
    return;
  }
  if (!gemel__pull_has_length(s, t, "low", x->rank, 0) ||
      !gemel__pull_has_length(s, t, "high", x->rank, 0) ||
      !gemel__pull_has_length(s, t, "interior", x->rank, 1)) {
    return;
  }
  for (int k = 0; k < x->rank && s->flow == GEMEL__P_GO; k++) {
    gemel__pterm interior = interior_of(s, t, k);
    gemel__pterm between = gaps_of(s, x->shape[k], interior);
    gemel__pterm size = gemel__p_add(terms, x->shape[k], gemel__p_mul(terms, interior, between));
    size = gemel__p_add(terms, size, entry_of(s, t, "low", k, 0));
    t->shape[k] = gemel__p_add(terms, size, entry_of(s, t, "high", k, 0));
    gemel__pscene_need(s, natural(s, interior), 0, "pad with an interior below 0");
    gemel__pscene_need(s, natural(s, t->shape[k]), 1, "pad to a size below 0");
  }
}

static gemel__pterm pull_pad(gemel__pscene *s, const gemel__ptensor *t, const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  const gemel__ptensor *x = t->operands[0];
  gemel__pterm at[GEMEL__PAXES], within = gemel__p_truth(terms, 1), divides;
  for (int k = 0; k < t->rank; k++) {
    gemel__pterm distance = gemel__p_sub(terms, index[k], entry_of(s, t, "low", k, 0));
    at[k] = quotient(s, distance, gemel__p_plus(terms, interior_of(s, t, k), 1), &divides);
    within =
        gemel__p_and(terms, within, gemel__p_and(terms, divides, inside(s, at[k], x->shape[k])));
  }
  return gemel__p_choose(terms, within, gemel__ptensor_pull(s, x, at),
                         gemel__ptensor_pull(s, t->operands[1], NULL));
}

static gemel__pterm pull_subtensor(gemel__pscene *s, const gemel__ptensor *t,
                                   const gemel__pterm *index);

/* A window of SIZE elements from START in steps of STEP, in an axis of LENGTH. */
static void need_window(gemel__pscene *s, gemel__pterm length, gemel__pterm start,
                        gemel__pterm size, gemel__pterm step) {
  gemel__pterms *t = &s->terms;
  gemel__pterm last = gemel__p_add(t, start, gemel__p_mul(t, gemel__p_plus(t, size, -1), step));
  gemel__pterm lies = gemel__p_and(t, inside(s, start, length), inside(s, last, length));
  gemel__pscene_need(s, natural(s, size), 1, "a window of a size below 0");
  gemel__pscene_need(s, gemel__p_or(t, equal_to(s, size, 0), lies), 1,
                     "a window beyond its tensor");
}

/* A window that is read has a STEP, which isn't 0. The left side's are known only where that is
 * asked of the right side's: elsewhere they make questions harder. */
static void need_step(gemel__pscene *s, gemel__pterm step) {
  gemel__pterm some = gemel__p_not(&s->terms, equal_to(s, step, 0));
  size_t before = s->n_known;
  if (!s->right && s->n_steps < sizeof s->steps / sizeof *s->steps) {
    s->steps[s->n_steps++] = some;
  }
  for (uint32_t k = 0; s->right && k < s->n_steps; k++) {
    gemel__pscene_assume(s, s->steps[k], 0);
  }
  if (s->right) {
    gemel__pscene_need(s, some, 0, "a window in steps of 0");
  }
  s->n_known = before;
}

/* Element INDEX of axis K of the window T lies in what T is a window of. */
static void element_of_window(gemel__pscene *s, const gemel__ptensor *t, int k,
                              gemel__pterm index) {
  gemel__pterms *terms = &s->terms;
  gemel__pterm at = gemel__p_add(terms, entry_of(s, t, "start", k, 0),
                                 gemel__p_mul(terms, index, entry_of(s, t, "step", k, 1)));
  gemel__pterm lies = inside(s, at, t->operands[0]->shape[k]);
  gemel__pscene_assume(s, gemel__p_implies(terms, inside(s, index, t->shape[k]), lies), 1);
}

static void shape_subtensor(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__ptensor *x = t->operands[0];
  if (!gemel__pull_has_length(s, t, "start", x->rank, 0) ||
      !gemel__pull_has_length(s, t, "size", x->rank, 0) ||
      !gemel__pull_has_length(s, t, "step", x->rank, 1)) {
    return;
  }
  t->rank = x->rank;
  for (int k = 0; k < t->rank && s->flow == GEMEL__P_GO; k++) {
    t->shape[k] = entry_of(s, t, "size", k, 0);
    gemel__pterm start = entry_of(s, t, "start", k, 0), step = entry_of(s, t, "step", k, 1);
    need_window(s, x->shape[k], start, t->shape[k], step);
    need_step(s, step);
    if (x->pull != NULL && x->pull->pull == pull_subtensor) {
      gemel__pterm steps = gemel__p_mul(&s->terms, gemel__p_plus(&s->terms, t->shape[k], -1), step);
      element_of_window(s, x, k, start);
      element_of_window(s, x, k, gemel__p_add(&s->terms, start, steps));
    }
  }
}

static gemel__pterm pull_subtensor(gemel__pscene *s, const gemel__ptensor *t,
                                   const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  gemel__pterm at[GEMEL__PAXES];
  for (int k = 0; k < t->rank; k++) {
    at[k] = gemel__p_add(terms, entry_of(s, t, "start", k, 0),
                         gemel__p_mul(terms, index[k], entry_of(s, t, "step", k, 1)));
  }
  return gemel__ptensor_pull(s, t->operands[0], at);
}

static void shape_set(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__ptensor *y = t->operands[1];
  same_shape(t);
  if (y->rank != t->rank) {
    gemel__pull_refuse(s, "a write of other axes");
    return;
  }
  if (!gemel__pull_has_length(s, t, "start", t->rank, 0) ||
      !gemel__pull_has_length(s, t, "step", t->rank, 1)) {
    return;
  }
  for (int k = 0; k < t->rank && s->flow == GEMEL__P_GO; k++) {
    gemel__pterm step = entry_of(s, t, "step", k, 1);
    need_window(s, t->shape[k], entry_of(s, t, "start", k, 0), y->shape[k], step);
    gemel__pscene_need(s, gemel__p_not(&s->terms, equal_to(s, step, 0)), 0,
                       "a write in steps of 0");
  }
}

/* The element of Y that is written at INDEX, *WITHIN. */
static gemel__pterm written(gemel__pscene *s, const gemel__ptensor *t, const gemel__pterm *index,
                            gemel__pterm *within) {
  gemel__pterms *terms = &s->terms;
  const gemel__ptensor *y = t->operands[1];
  gemel__pterm at[GEMEL__PAXES], divides;
  *within = gemel__p_truth(terms, 1);
  for (int k = 0; k < t->rank; k++) {
    gemel__pterm distance = gemel__p_sub(terms, index[k], entry_of(s, t, "start", k, 0));
    at[k] = quotient(s, distance, entry_of(s, t, "step", k, 1), &divides);
    *within =
        gemel__p_and(terms, *within, gemel__p_and(terms, divides, inside(s, at[k], y->shape[k])));
  }
  return gemel__ptensor_pull(s, y, at);
}

static gemel__pterm pull_set_subtensor(gemel__pscene *s, const gemel__ptensor *t,
                                       const gemel__pterm *index) {
  gemel__pterm within, y = written(s, t, index, &within);
  return gemel__p_choose(&s->terms, within, y, gemel__ptensor_pull(s, t->operands[0], index));
}

static gemel__pterm pull_inc_subtensor(gemel__pscene *s, const gemel__ptensor *t,
                                       const gemel__pterm *index) {
  gemel__pterm within, y = written(s, t, index, &within);
  const gemel__pterm both[2] = {gemel__ptensor_pull(s, t->operands[0], index), y};
  return gemel__p_choose(&s->terms, within, gemel__p_call(&s->terms, t->sort, "add", 1, 2, both),
                         both[0]);
}

/* ---- Joins and splits ---- */

static void shape_join(gemel__pscene *s, gemel__ptensor *t) {
  int axis;
  if (t->count == 0) {
    gemel__pull_refuse(s, "a join of nothing");
    return;
  }
  same_shape(t);
  axis = gemel__pull_axis(s, t, "axis", t->rank);
  for (uint32_t k = 1; k < t->count && s->flow == GEMEL__P_GO; k++) {
    const gemel__ptensor *x = t->operands[k];
    if (x->rank != t->rank) {
      gemel__pull_refuse(s, "a join of other axes");
      return;
    }
    for (int i = 0; i < t->rank; i++) {
      if (i == axis) {
        t->shape[i] = gemel__p_add(&s->terms, t->shape[i], x->shape[i]);
      } else {
        gemel__pscene_need(s, gemel__p_equal(&s->terms, t->operands[0]->shape[i], x->shape[i]), 1,
                           "a join of different sizes");
      }
    }
  }
}

static gemel__pterm pull_join(gemel__pscene *s, const gemel__ptensor *t,
                              const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  int axis = gemel__pull_axis(s, t, "axis", t->rank);
  gemel__pterm end = t->shape[axis], at[GEMEL__PAXES], made = 0;
  memcpy(at, index, (size_t)t->rank * sizeof *at);
  for (uint32_t k = t->count; k > 0 && s->flow == GEMEL__P_GO; k--) {
    const gemel__ptensor *x = t->operands[k - 1];
    gemel__pterm start = gemel__p_sub(terms, end, x->shape[axis]);
    at[axis] = gemel__p_sub(terms, index[axis], start);
    gemel__pterm element = gemel__ptensor_pull(s, x, at);
    made = made == 0
               ? element
               : gemel__p_choose(terms, gemel__p_below(terms, index[axis], end), element, made);
    end = start;
  }
  return made;
}

static void shape_split(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__pvalue *sizes = gemel__ptensor_attr(t, "sizes");
  gemel__pterm total = gemel__p_number(&s->terms, 0);
  same_shape(t);
  int axis = gemel__pull_axis(s, t, "axis", t->rank);
  if (sizes->kind != GEMEL__PV_LIST || t->output >= (int)sizes->count) {
    gemel__pull_refuse(s, "a part that isn't there");
    return;
  }
  for (uint32_t k = 0; k < sizes->count && s->flow == GEMEL__P_GO; k++) {
    gemel__pscene_need(s, natural(s, sizes->list[k]), 1, "a part of a size below 0");
    total = gemel__p_add(&s->terms, total, sizes->list[k]);
  }
  if (s->flow == GEMEL__P_GO) {
    gemel__pscene_need(s, gemel__p_equal(&s->terms, total, t->shape[axis]), 1,
                       "parts of another sum");
    t->shape[axis] = sizes->list[t->output];
  }
}

static gemel__pterm pull_split(gemel__pscene *s, const gemel__ptensor *t,
                               const gemel__pterm *index) {
  const gemel__pvalue *sizes = gemel__ptensor_attr(t, "sizes");
  int axis = gemel__pull_axis(s, t, "axis", t->rank);
  gemel__pterm at[GEMEL__PAXES];
  memcpy(at, index, (size_t)t->rank * sizeof *at);
  for (int k = 0; k < t->output; k++) {
    at[axis] = gemel__p_add(&s->terms, at[axis], sizes->list[k]);
  }
  return gemel__ptensor_pull(s, t->operands[0], at);
}

/* ---- Integers as elements ---- */

static void shape_arange(gemel__pscene *s, gemel__ptensor *t) {
  t->rank = 1;
  t->shape[0] = gemel__ptensor_attr(t, "n")->list[0];
  gemel__pscene_need(s, natural(s, t->shape[0]), 1, "a size below 0");
}

/* That of all operands, which must be one. */
gemel_dtype gemel__pull_common_dtype(const gemel__ptensor *t) {
  gemel_dtype dtype = gemel__pull_dtype(t, 0);
  for (uint32_t k = 1; k < t->count; k++) {
    dtype = gemel__pull_dtype(t, k) == dtype ? dtype : GEMEL_DTYPE_COUNT;
  }
  return dtype;
}

/* Says `dtype`, or 64 bits where T has no such attribute. */
static gemel_dtype given_dtype(const gemel__ptensor *t) {
  const gemel__pvalue *v = gemel__ptensor_attr(t, "dtype");
  gemel_dtype dtype;
  int refused = v != NULL && (!gemel__psort_dtype(v->sort, &dtype) || dtype == GEMEL_BOOL);
  return v == NULL ? GEMEL_I64 : refused ? GEMEL_DTYPE_COUNT : dtype;
}

/* The element that INTEGER is in T's dtype. */
static gemel__pterm element_of(gemel__pscene *s, const gemel__ptensor *t, gemel__pterm integer) {
  char name[100];
  snprintf(name, sizeof name, s->pass == GEMEL__PASS_ANY ? "element:%s" : "element", t->dtype);
  return gemel__pull_call(s, t, name, 1, &integer);
}

static gemel__pterm pull_arange(gemel__pscene *s, const gemel__ptensor *t,
                                const gemel__pterm *index) {
  return element_of(s, t, index[0]);
}

static void shape_size(gemel__pscene *s, gemel__ptensor *t) {
  (void)s;
  t->rank = 0;
}

static gemel__pterm pull_size(gemel__pscene *s, const gemel__ptensor *t,
                              const gemel__pterm *index) {
  (void)index;
  return element_of(s, t, gemel__ptensor_attr(t, "value")->list[0]);
}

static void shape_take(gemel__pscene *s, gemel__ptensor *t) {
  const gemel__ptensor *x = t->operands[0], *i = t->operands[1];
  int axis = gemel__pull_axis(s, t, "axis", x->rank);
  t->rank = x->rank - 1 + i->rank;
  if (s->flow != GEMEL__P_GO || t->rank > GEMEL__PAXES) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "too many axes");
    return;
  }
  for (int k = 0; k < t->rank; k++) {
    t->shape[k] = k < axis             ? x->shape[k]
                  : k < axis + i->rank ? i->shape[k - axis]
                                       : x->shape[k - i->rank + 1];
  }
  gemel__pscene_look_up(s, i, x->shape[axis]);
}

static gemel__pterm pull_take(gemel__pscene *s, const gemel__ptensor *t,
                              const gemel__pterm *index) {
  gemel__pterms *terms = &s->terms;
  const gemel__ptensor *x = t->operands[0], *i = t->operands[1];
  int axis = gemel__pull_axis(s, t, "axis", x->rank);
  gemel__pterm element = gemel__ptensor_pull(s, i, index + axis), at[GEMEL__PAXES];
  gemel__pterm number = gemel__p_call(terms, GEMEL__PSORT_INTEGER, "integer", 0, 1, &element);
  gemel__pterm place = gemel__p_choose(terms, natural(s, number), number,
                                       gemel__p_add(terms, number, x->shape[axis]));
  for (int k = 0; k < x->rank; k++) {
    at[k] = k == axis ? place : index[k < axis ? k : k - 1 + i->rank];
  }
  return gemel__ptensor_pull(s, x, at);
}

/* ---- The table ---- */

static const gemel__ppull moves[] = {
    {"arange", shape_arange, pull_arange, given_dtype},
    {"broadcast_to", shape_broadcast_to, pull_broadcast_to, NULL},
    {"dimshuffle", shape_dimshuffle, pull_dimshuffle, NULL},
    {"fill", shape_fill, pull_fill, second_dtype},
    {"inc_subtensor", shape_set, pull_inc_subtensor, gemel__pull_common_dtype},
    {"join", shape_join, pull_join, gemel__pull_common_dtype},
    {"pad", shape_pad, pull_pad, gemel__pull_common_dtype},
    {"reshape", shape_reshape, pull_reshape, NULL},
    {"reverse", shape_reverse, pull_reverse, NULL},
    {"set_subtensor", shape_set, pull_set_subtensor, gemel__pull_common_dtype},
    {"size", shape_size, pull_size, given_dtype},
    {"split", shape_split, pull_split, NULL},
    {"subtensor", shape_subtensor, pull_subtensor, NULL},
    {"take", shape_take, pull_take, NULL},
    {NULL, NULL, NULL, NULL},
};

const gemel__ppull *gemel__ppull_of(const gemel__op *op) {
  static const gemel__ppull *const tables[] = {moves, gemel__pulls_of_folds, gemel__pulls_of_convs};
  for (int k = 0; k < 3; k++) {
    for (const gemel__ppull *row = tables[k]; row->operation != NULL; row++) {
      if (strcmp(row->operation, op->record.name) == 0) {
        return row;
      }
    }
  }
  return op->record.flags & GEMEL_OP_ELEMENTWISE ? &elementwise : NULL;
}
