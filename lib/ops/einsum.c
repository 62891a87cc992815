/* SPDX-License-Identifier: MIT
 *
 * Sums of products in Einstein's notation (gemel_einsum, <gemel/composite.h>). The equation gives a
 * label to each axis. Operands are taken from the left, two at a time: what only one of them has,
 * and nobody needs, is summed out; then they are multiplied, by dot where a label is summed over,
 * element by element where none is. What is left is put in the order of the result.
 */
#include <gemel/composite.h>

#include "core/error.h"
#include "core/value.h"
#include "ops/rule.h"

/* Labels: letters in the order of ASCII, and behind them axes of an ellipsis, so numbered that the
 * last axis has the last number, whatever the rank. */
enum { LETTERS = 52, LABELS = LETTERS + GEMEL_MAX_RANK };

/* A value and the label of each axis. */
typedef struct einsum_term {
  gemel_value value;
  int rank;
  int labels[GEMEL_MAX_RANK];
} einsum_term;

typedef struct einsum {
  const char *equation, *at; /* AT: what is read next */
  gemel_graph *graph;
  gemel_context *context;
  gemel_location where;
  int ellipsis;     /* axes that one stands for, at most */
  int uses[LABELS]; /* of each label, by operands that are still to come, and the result */
  int wide[LABELS]; /* 1: the label has another size than 1 */
  einsum_term result;
} einsum;

static int refuse(einsum *e, gemel_status status, const char *reason) {
  gemel__graph_fail_at(e->graph, e->where, status, "einsum \"%.100s\": %s", e->equation, reason);
  return 0;
}

/* ---- The equation ---- */

static int label_of(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

/* Reads a term up to a comma, an arrow or the end; its ellipsis stands for AXES axes, or for all of
 * RANK that letters leave where RANK isn't below 0. 1, or 0 on failure. */
static int read_labels(einsum *e, int rank, int axes, einsum_term *t) {
  int labels[GEMEL_MAX_RANK], n = 0, dots = -1;
  for (; *e->at != '\0' && *e->at != ',' && *e->at != '-'; e->at++) {
    int label = label_of(*e->at);
    if (*e->at == ' ') {
      continue;
    }
    if (e->at[0] == '.' && e->at[1] == '.' && e->at[2] == '.' && dots < 0) {
      dots = n;
      e->at += 2;
    } else if (label < 0 || n == GEMEL_MAX_RANK) {
      return refuse(e, GEMEL_BAD_VALUE,
                    "a term is at most 16 letters, with one \"...\" among them");
    } else {
      labels[n++] = label;
    }
  }
  axes = dots < 0 ? 0 : rank >= 0 ? rank - n : axes;
  if (axes < 0 || n + axes > GEMEL_MAX_RANK || (rank >= 0 && n + axes != rank)) {
    return refuse(e, GEMEL_BAD_SHAPE, "a term doesn't fit its operand's number of axes");
  }
  t->rank = n + axes;
  for (int k = 0; k < t->rank; k++) {
    t->labels[k] = dots < 0 || k < dots ? labels[k]
                   : k < dots + axes    ? LABELS - axes + k - dots
                                        : labels[k - axes];
  }
  e->ellipsis = axes > e->ellipsis ? axes : e->ellipsis;
  return 1;
}

/* The result where the equation doesn't say it: the ellipsis, and what stands once, by letter. */
static int implied_result(einsum *e) {
  for (int label = LABELS - e->ellipsis; label < LABELS; label++) {
    e->result.labels[e->result.rank++] = label;
  }
  for (int label = 0; label < LETTERS; label++) {
    if (e->uses[label] == 1) {
      if (e->result.rank == GEMEL_MAX_RANK) {
        return refuse(e, GEMEL_BAD_SHAPE, "the result has more than 16 axes");
      }
      e->result.labels[e->result.rank++] = label;
    }
  }
  return 1;
}

static int said_result(einsum *e) {
  int seen[LABELS] = {0}, axes = e->ellipsis;
  e->at += 2;
  if (!read_labels(e, -1, axes, &e->result)) {
    return 0;
  }
  for (int k = 0; k < e->result.rank; k++) {
    int label = e->result.labels[k];
    if (seen[label]++ > 0 || e->uses[label] == 0) {
      return refuse(e, GEMEL_BAD_VALUE,
                    "each label of the result stands there once, and in an operand");
    }
  }
  if (axes > 0 && !seen[LABELS - 1]) {
    return refuse(e, GEMEL_BAD_VALUE, "the result lacks the \"...\" of the operands");
  }
  return *e->at == '\0' || refuse(e, GEMEL_BAD_VALUE, "there is more behind the result");
}

/* The terms of N values, and the result: 1, or 0 on failure. */
static int read_equation(einsum *e, size_t n, const gemel_value *xs, einsum_term *terms) {
  for (size_t k = 0; k < n; k++) {
    int rank;
    const gemel_dim *dims = gemel__value_dims(xs[k], &rank);
    terms[k].value = xs[k];
    if (!read_labels(e, rank, 0, &terms[k])) {
      return 0;
    }
    if ((*e->at == ',') != (k + 1 < n)) {
      return refuse(e, GEMEL_BAD_VALUE, "it must have a term for each operand");
    }
    e->at += *e->at == ',';
    for (int axis = 0; axis < rank; axis++) {
      int64_t size;
      e->uses[terms[k].labels[axis]]++;
      e->wide[terms[k].labels[axis]] |=
          !gemel_dim_is_constant(e->context, dims[axis], &size) || size != 1;
    }
  }
  if (*e->at == '-' && e->at[1] != '>') {
    return refuse(e, GEMEL_BAD_VALUE, "a '-' without '>'");
  }
  return *e->at == '-' ? said_result(e) : implied_result(e);
}

/* ---- One operand ---- */

static gemel_value to_dtype(const einsum *e, gemel_value x, gemel_dtype dtype) {
  return gemel_is_null(x) || gemel__value_dtype(x) == dtype ? x : gemel_cast_at(x, dtype, e->where);
}

/* Sums T over axis AXIS, in its own dtype. */
static void sum_axis(einsum *e, einsum_term *t, int axis) {
  int64_t over = axis;
  gemel_sum_options options = {.axes = {1, &over}};
  gemel_dtype dtype = gemel__value_dtype(t->value);
  gemel_value sum = dtype == GEMEL_BOOL ? gemel_any_at(t->value, &options, e->where)
                                        : gemel_sum_at(t->value, &options, e->where);
  t->value = to_dtype(e, sum, dtype);
  t->rank--;
  for (int k = axis; k < t->rank; k++) {
    t->labels[k] = t->labels[k + 1];
  }
}

/* Drops axes of size 1 whose label is larger elsewhere, so that they broadcast. */
static void drop_ones(einsum *e, einsum_term *t) {
  int64_t order[GEMEL_MAX_RANK], size;
  int rank, kept = 0;
  const gemel_dim *dims = gemel__value_dims(t->value, &rank);
  for (int axis = 0; axis < rank; axis++) {
    int label = t->labels[axis];
    if (e->wide[label] && gemel_dim_is_constant(e->context, dims[axis], &size) && size == 1) {
      e->uses[label]--;
    } else {
      order[kept] = axis;
      t->labels[kept++] = label;
    }
  }
  t->rank = kept;
  if (kept < rank) {
    t->value = gemel_dimshuffle_at(t->value, (size_t)kept, order, e->where);
  }
}

/* The numbers 0, 1, ... of axis AXIS of T, along it. */
static gemel_value numbers(const einsum *e, const einsum_term *t, int axis) {
  int64_t order[GEMEL_MAX_RANK];
  int rank;
  const gemel_dim *dims = gemel__value_dims(t->value, &rank);
  for (int k = 0; k < rank; k++) {
    order[k] = k == axis ? 0 : -1;
  }
  int space = gemel_type_space(e->context, gemel_value_type(t->value));
  gemel_value all = gemel_arange_at(e->graph, dims[axis], NULL, e->where);
  all = space == GEMEL_SPACE_HOST ? all : gemel_transfer_at(all, space, e->where);
  return gemel_dimshuffle_at(all, (size_t)rank, order, e->where);
}

/* Of axes with the same label the diagonal: elements beside it become 0, and are summed up. */
static void take_diagonals(einsum *e, einsum_term *t) {
  for (int b = 1; b < t->rank; b++) {
    for (int a = 0; a < b && !gemel_is_null(t->value); a++) {
      if (t->labels[a] == t->labels[b]) {
        gemel_value on = gemel_eq_at(numbers(e, t, a), numbers(e, t, b), e->where);
        t->value =
            gemel_where_at(on, t->value, gemel_scalar_like_at(t->value, 0, e->where), e->where);
        e->uses[t->labels[b]]--;
        sum_axis(e, t, b--);
        break;
      }
    }
  }
}

/* ---- Two operands ---- */

/* The axis of T that has LABEL; -1: none. */
static int find(const einsum_term *t, int label) {
  for (int k = 0; k < t->rank; k++) {
    if (t->labels[k] == label) {
      return k;
    }
  }
  return -1;
}

/* Sums out what T has, OTHER has not, and nobody needs. OTHER may be NULL. */
static void sum_unused(einsum *e, einsum_term *t, const einsum_term *other) {
  for (int axis = t->rank - 1; axis >= 0 && !gemel_is_null(t->value); axis--) {
    int label = t->labels[axis];
    if (e->uses[label] == 0 && (other == NULL || find(other, label) < 0)) {
      sum_axis(e, t, axis);
    }
  }
}

/* The product of both: dot of axes that are summed over, shared (BATCH) and free. */
typedef struct einsum_pair {
  int64_t contract[2][GEMEL_MAX_RANK], batch[2][GEMEL_MAX_RANK];
  size_t n_contract, n_batch;
} einsum_pair;

static gemel_value as_dot(const einsum *e, const einsum_term *a, const einsum_term *b,
                          const einsum_pair *p) {
  gemel_dot_options options = {.contract_x = {p->n_contract, p->contract[0]},
                               .contract_y = {p->n_contract, p->contract[1]},
                               .batch_x = {p->n_batch, p->batch[0]},
                               .batch_y = {p->n_batch, p->batch[1]}};
  return gemel_dot_at(a->value, b->value, &options, e->where);
}

/* T's axes in the order of OF's labels, of size 1 where it has none. */
static gemel_value lined_up(const einsum *e, const einsum_term *t, const einsum_term *of) {
  int64_t order[GEMEL_MAX_RANK];
  int same = t->rank == of->rank;
  for (int k = 0; k < of->rank; k++) {
    order[k] = find(t, of->labels[k]);
    same &= order[k] == k;
  }
  return same || gemel_is_null(t->value)
             ? t->value
             : gemel_dimshuffle_at(t->value, (size_t)of->rank, order, e->where);
}

/* A becomes the product of A and B: 1, or 0 on failure. */
static int multiply(einsum *e, einsum_term *a, einsum_term *b) {
  einsum_pair p = {.n_contract = 0, .n_batch = 0};
  einsum_term product = {.rank = 0};
  int free_labels[2 * GEMEL_MAX_RANK], n_free = 0;
  for (int k = 0; k < a->rank; k++) {
    int label = a->labels[k], other = find(b, label);
    size_t *n = e->uses[label] > 0 ? &p.n_batch : &p.n_contract;
    if (other < 0) {
      free_labels[n_free++] = label;
      continue;
    }
    (e->uses[label] > 0 ? p.batch : p.contract)[0][*n] = k;
    (e->uses[label] > 0 ? p.batch : p.contract)[1][(*n)++] = other;
    if (e->uses[label] > 0) {
      product.labels[product.rank++] = label;
    }
  }
  for (int k = 0; k < b->rank; k++) {
    if (find(a, b->labels[k]) < 0) {
      free_labels[n_free++] = b->labels[k];
    }
  }
  if (product.rank + n_free > GEMEL_MAX_RANK) {
    return refuse(e, GEMEL_BAD_SHAPE, "a product has more than 16 axes");
  }
  for (int k = 0; k < n_free; k++) {
    product.labels[product.rank++] = free_labels[k];
  }
  product.value = p.n_contract > 0
                      ? as_dot(e, a, b, &p)
                      : gemel_mul_at(lined_up(e, a, &product), lined_up(e, b, &product), e->where);
  *a = product;
  return !gemel_is_null(a->value);
}

/* ---- All of it ---- */

/* TERMS are N operands of one dtype. */
static gemel_value contract(einsum *e, size_t n, einsum_term *terms) {
  for (size_t k = 0; k < n; k++) {
    drop_ones(e, &terms[k]);
    take_diagonals(e, &terms[k]);
  }
  for (int k = 0; k < e->result.rank; k++) {
    e->uses[e->result.labels[k]]++;
  }
  for (size_t k = 0; k < n; k++) {
    for (int axis = 0; axis < terms[k].rank; axis++) {
      e->uses[terms[k].labels[axis]]--;
    }
    sum_unused(e, &terms[0], k > 0 ? &terms[k] : NULL);
    if (k > 0) {
      sum_unused(e, &terms[k], &terms[0]);
      if (gemel_is_null(terms[0].value) || gemel_is_null(terms[k].value) ||
          !multiply(e, &terms[0], &terms[k])) {
        return gemel__no_value;
      }
    }
  }
  return lined_up(e, &terms[0], &e->result);
}

gemel_value gemel_einsum_at(const char *equation, size_t n_xs, const gemel_value *xs,
                            gemel_location where) {
  enum { MOST = 64 };
  einsum_term terms[MOST];
  gemel_dtype dtype = GEMEL_BOOL;
  einsum e = {.equation = equation, .at = equation, .where = where};
  e.graph = gemel__graph_of(n_xs, xs);
  if (e.graph == NULL) {
    return gemel__no_value;
  }
  e.context = gemel_graph_context(e.graph);
  if (equation == NULL || n_xs > MOST) {
    return gemel__graph_fail_at(e.graph, where, GEMEL_BAD_ARGUMENT, "einsum: %s",
                                equation == NULL ? "the equation is NULL"
                                                 : "more than 64 operands");
  }
  for (size_t k = 0; k < n_xs; k++) {
    if (xs[k].graph != e.graph || !gemel__is_value(xs[k])) {
      return gemel__graph_fail_at(e.graph, where, GEMEL_BAD_ARGUMENT, "einsum: operand %zu is %s",
                                  k, gemel__stranger(e.graph, xs[k]));
    }
    dtype = gemel_promote(dtype, gemel__value_dtype(xs[k]));
  }
  if (!read_equation(&e, n_xs, xs, terms)) {
    return gemel__no_value;
  }
  for (size_t k = 0; k < n_xs; k++) {
    terms[k].value = to_dtype(&e, terms[k].value, dtype);
    if (gemel_is_null(terms[k].value)) {
      return gemel__no_value;
    }
  }
  return contract(&e, n_xs, terms);
}
