/* SPDX-License-Identifier: MIT
 *
 * Operations that put elements together along axes: sum, prod, max, argmax, dot, softmax and
 * cross_entropy. As the order of a sum of floats is nobody's promise, sums and products along axes
 * are unknown in the model of IEEE doubles.
 */
#include <string.h>
#include "recheck.h"

/* Which axes of X are reduced (bits); −1: there is no such axis. */
static int axes_of(const call *c, const tensor *x) {
  const attr *axes = call_attr(c, "axes");
  int bits = 0;
  if (axes == NULL) {
    return (1 << x->rank) - 1;
  }
  for (int k = 0; k < axes->n; k++) {
    int64_t j = axes->list[k] + (axes->list[k] < 0 ? x->rank : 0);
    if (j < 0 || j >= x->rank) {
      return -1;
    }
    bits |= 1 << j;
  }
  return bits;
}

/* The dtype in which a sum or product is made. */
static dtype accumulator(dtype t) {
  return is_float(t) ? t : dtypes[t].kind == 'u' ? DTYPE_u64 : DTYPE_i64;
}

typedef cell joiner(const world *w, dtype t, cell a, cell b);

/* The result of reducing X over the axes in BITS, with the index in it of an element of X. */
static tensor *reduced_shape(world *w, const tensor *x, dtype t, int bits, int keep) {
  int64_t shape[MAX_RANK];
  int rank = 0;
  for (int j = 0; j < x->rank; j++) {
    if (!(bits >> j & 1) || keep) {
      shape[rank++] = bits >> j & 1 ? 1 : x->shape[j];
    }
  }
  return tensor_new(w, t, rank, shape);
}

static size_t reduced_offset(const tensor *x, int bits, const int64_t *index) {
  size_t offset = 0;
  for (int j = 0; j < x->rank; j++) {
    offset = bits >> j & 1 ? offset : offset * (size_t)x->shape[j] + (size_t)index[j];
  }
  return offset;
}

static int reduce(world *w, call *c, wide first, joiner *join_two) {
  const tensor *x = c->in[0];
  int bits = axes_of(c, x);
  dtype t = accumulator(x->dtype);
  int64_t index[MAX_RANK] = {0};
  if (bits < 0 ||
      (c->out[0] = reduced_shape(w, x, t, bits, call_integer(c, "keepdims", 0) != 0)) == NULL) {
    return bad(w, "%s: its axes", c->op);
  }
  for (size_t i = 0; i < c->out[0]->count; i++) {
    c->out[0]->at[i] = number_of_integer(w, t, first);
  }
  for (size_t i = 0; i < x->count; i++) {
    cell *at = &c->out[0]->at[reduced_offset(x, bits, index)];
    *at = join_two(w, t, *at, number_cast(w, x->dtype, t, x->at[i]));
    next_index(x->rank, x->shape, index);
  }
  for (size_t i = 0; w->model == MODEL_FLOAT && is_float(t) && i < c->out[0]->count; i++) {
    c->out[0]->at[i] = number_unknown();
  }
  return 1;
}

static int run_sum(world *w, call *c) {
  return reduce(w, c, 0, number_add);
}

static int run_prod(world *w, call *c) {
  return reduce(w, c, 1, number_mul);
}

/* 1 if B replaces A as the largest so far; −1: can't be told. */
static int is_larger(const world *w, dtype t, const cell *a, const cell *b) {
  int sign;
  return number_compare(w, t, a, b, &sign) ? sign < 0 : -1;
}

/* Keeps in OUT the largest of each group, and in WHERE (may be NULL) its place along AXIS. */
static void keep_largest(const world *w, const tensor *x, int bits, tensor *out, tensor *where,
                         int axis) {
  int64_t index[MAX_RANK] = {0};
  unsigned char *begun = pool_take(w->pool, out->count, 1);
  for (size_t i = 0; i < x->count; i++) {
    size_t to = reduced_offset(x, bits, index);
    int larger = begun[to] ? is_larger(w, x->dtype, &out->at[to], &x->at[i]) : 1;
    if (larger < 0 || x->at[i].state != GOOD) {
      out->at[to] = number_unknown();
    } else if (larger > 0) {
      out->at[to] = x->at[i];
    }
    if (where != NULL && (larger != 0 || out->at[to].state != GOOD)) {
      where->at[to] = out->at[to].state == GOOD ? number_of_integer(w, DTYPE_i64, index[axis])
                                                : number_unknown();
    }
    begun[to] = 1;
    next_index(x->rank, x->shape, index);
  }
}

static int run_max(world *w, call *c) {
  const tensor *x = c->in[0];
  int bits = axes_of(c, x);
  c->out[0] =
      bits < 0 ? NULL : reduced_shape(w, x, x->dtype, bits, call_integer(c, "keepdims", 0) != 0);
  if (c->out[0] == NULL || (x->count == 0 && c->out[0]->count > 0)) {
    return bad(w, "max: its axes");
  }
  keep_largest(w, x, bits, c->out[0], NULL, 0);
  return 1;
}

static int run_argmax(world *w, call *c) {
  const tensor *x = c->in[0];
  int64_t axis = call_integer(c, "axis", -1);
  axis += axis < 0 ? x->rank : 0;
  if (axis < 0 || axis >= x->rank) {
    return bad(w, "argmax: its axis");
  }
  tensor *largest = reduced_shape(w, x, x->dtype, 1 << axis, 0);
  c->out[0] = reduced_shape(w, x, DTYPE_i64, 1 << axis, 0);
  if (largest == NULL || c->out[0] == NULL || (x->count == 0 && largest->count > 0)) {
    return bad(w, "argmax: its axis");
  }
  keep_largest(w, x, 1 << axis, largest, c->out[0], (int)axis);
  return 1;
}

/* ---- Products ---- */

/* Axes of one operand: batch, free and contracted ones. */
typedef struct sides {
  int batch[MAX_RANK], contract[MAX_RANK], free[MAX_RANK];
  int n_batch, n_contract, n_free;
} sides;

static int take_axes(const call *c, const char *name, int rank, int *axes, int *n) {
  const attr *a = call_attr(c, name);
  *n = a != NULL ? a->n : 0;
  for (int k = 0; k < *n; k++) {
    axes[k] = (int)a->list[k];
    if (axes[k] < 0 || axes[k] >= rank) {
      return 0;
    }
  }
  return 1;
}

static void find_free(sides *s, int rank) {
  for (int j = 0; j < rank; j++) {
    int taken = 0;
    for (int k = 0; k < s->n_batch; k++) {
      taken |= s->batch[k] == j;
    }
    for (int k = 0; k < s->n_contract; k++) {
      taken |= s->contract[k] == j;
    }
    if (!taken) {
      s->free[s->n_free++] = j;
    }
  }
}

/* Without attributes: the matrix product. */
static void matrix_axes(int rank, int first, sides *s) {
  s->n_contract = 1;
  s->contract[0] = first || rank == 1 ? rank - 1 : rank - 2;
  for (s->n_batch = 0; s->n_batch < rank - 2; s->n_batch++) {
    s->batch[s->n_batch] = s->n_batch;
  }
}

static int read_sides(world *w, const call *c, sides *a, sides *b) {
  const tensor *x = c->in[0], *y = c->in[1];
  memset(a, 0, sizeof *a);
  memset(b, 0, sizeof *b);
  if (c->n_attrs == 0) {
    if (x->rank == 0 || y->rank == 0) {
      return bad(w, "dot of a scalar");
    }
    matrix_axes(x->rank, 1, a);
    matrix_axes(y->rank, 0, b);
  } else if (!take_axes(c, "contract_x", x->rank, a->contract, &a->n_contract) ||
             !take_axes(c, "contract_y", y->rank, b->contract, &b->n_contract) ||
             !take_axes(c, "batch_x", x->rank, a->batch, &a->n_batch) ||
             !take_axes(c, "batch_y", y->rank, b->batch, &b->n_batch)) {
    return bad(w, "dot: its axes");
  }
  find_free(a, x->rank);
  find_free(b, y->rank);
  for (int k = 0; k < a->n_contract && a->n_contract == b->n_contract; k++) {
    if (x->shape[a->contract[k]] != y->shape[b->contract[k]]) {
      return bad(w, "dot: sizes differ");
    }
  }
  for (int k = 0; k < a->n_batch && a->n_batch == b->n_batch; k++) {
    if (x->shape[a->batch[k]] != y->shape[b->batch[k]]) {
      return bad(w, "dot: sizes differ");
    }
  }
  return a->n_contract == b->n_contract && a->n_batch == b->n_batch && x->dtype == y->dtype
             ? 1
             : bad(w, "dot: its axes");
}

/* One element of a product: the operands' indices are set but for the contracted axes. */
static cell contract(const world *w, const tensor *x, const tensor *y, const sides *a,
                     const sides *b, int64_t *at_x, int64_t *at_y, size_t terms) {
  int64_t shape[MAX_RANK], index[MAX_RANK] = {0};
  cell sum = number_of_integer(w, x->dtype, 0);
  for (int k = 0; k < a->n_contract; k++) {
    shape[k] = x->shape[a->contract[k]];
  }
  for (size_t i = 0; i < terms; i++) {
    for (int k = 0; k < a->n_contract; k++) {
      at_x[a->contract[k]] = at_y[b->contract[k]] = index[k];
    }
    sum = number_add(w, x->dtype, sum,
                     number_mul(w, x->dtype, x->at[offset_of(x, at_x)], y->at[offset_of(y, at_y)]));
    next_index(a->n_contract, shape, index);
  }
  return w->model == MODEL_FLOAT && is_float(x->dtype) ? number_unknown() : sum;
}

/* The product of X and Y with Z, unless it is NULL, added. */
static int run_product(world *w, call *c, const tensor *x, const tensor *y, const tensor *z) {
  sides a, b;
  int64_t shape[MAX_RANK], index[MAX_RANK] = {0}, at_x[MAX_RANK] = {0}, at_y[MAX_RANK] = {0};
  int rank = 0;
  size_t terms = 1;
  if (y == NULL || read_sides(w, c, &a, &b) < 0 || a.n_batch + a.n_free + b.n_free > MAX_RANK) {
    return bad(w, "dot: its operands");
  }
  for (int k = 0; k < a.n_batch; k++) {
    shape[rank++] = x->shape[a.batch[k]];
  }
  for (int k = 0; k < a.n_free; k++) {
    shape[rank++] = x->shape[a.free[k]];
  }
  for (int k = 0; k < b.n_free; k++) {
    shape[rank++] = y->shape[b.free[k]];
  }
  for (int k = 0; k < a.n_contract; k++) {
    terms *= (size_t)x->shape[a.contract[k]];
  }
  if ((c->out[0] = tensor_new(w, x->dtype, rank, shape)) == NULL) {
    return -1;
  }
  if (z != NULL && (z->dtype != x->dtype || z->count != c->out[0]->count)) {
    return bad(w, "dot: its operands");
  }
  for (size_t i = 0; i < c->out[0]->count; i++) {
    for (int k = 0; k < a.n_batch; k++) {
      at_x[a.batch[k]] = at_y[b.batch[k]] = index[k];
    }
    for (int k = 0; k < a.n_free; k++) {
      at_x[a.free[k]] = index[a.n_batch + k];
    }
    for (int k = 0; k < b.n_free; k++) {
      at_y[b.free[k]] = index[a.n_batch + a.n_free + k];
    }
    c->out[0]->at[i] = contract(w, x, y, &a, &b, at_x, at_y, terms);
    if (z != NULL) {
      c->out[0]->at[i] = number_add(w, x->dtype, c->out[0]->at[i], z->at[i]);
    }
    next_index(rank, shape, index);
  }
  return 1;
}

static int run_dot(world *w, call *c) {
  return run_product(w, c, c->in[0], c->n_in == 2 ? c->in[1] : NULL, NULL);
}

static int run_dot_add(world *w, call *c) {
  return run_product(w, c, c->in[0], c->n_in == 3 ? c->in[1] : NULL,
                     c->n_in == 3 ? c->in[2] : NULL);
}

/* ---- Softmax ---- */

/* exp(x) and, for each line along AXIS, its sum. */
static int exponentials(world *w, const call *c, tensor **e, tensor **sum, int *axis) {
  const tensor *x = c->in[0];
  int64_t index[MAX_RANK] = {0}, j = call_integer(c, "axis", -1);
  *axis = (int)(j < 0 ? j + x->rank : j);
  if (*axis < 0 || *axis >= x->rank) {
    return bad(w, "%s: its axis", c->op);
  }
  *e = tensor_new(w, x->dtype, x->rank, x->shape);
  *sum = reduced_shape(w, x, x->dtype, 1 << *axis, 0);
  if (*e == NULL || *sum == NULL) {
    return -1;
  }
  for (size_t i = 0; i < (*sum)->count; i++) {
    (*sum)->at[i] = number_of_integer(w, x->dtype, 0);
  }
  for (size_t i = 0; i < x->count; i++) {
    cell *to = &(*sum)->at[reduced_offset(x, 1 << *axis, index)];
    (*e)->at[i] = number_exp(w, x->dtype, x->at[i]);
    *to = number_add(w, x->dtype, *to, (*e)->at[i]);
    next_index(x->rank, x->shape, index);
  }
  return 1;
}

static int run_softmax(world *w, call *c) {
  tensor *e, *sum;
  int axis;
  int64_t index[MAX_RANK] = {0};
  if (w->model == MODEL_FLOAT || exponentials(w, c, &e, &sum, &axis) < 0) {
    return w->model == MODEL_FLOAT ? 0 : -1;
  }
  for (size_t i = 0; i < e->count; i++) {
    e->at[i] = number_div(w, e->dtype, e->at[i], sum->at[reduced_offset(e, 1 << axis, index)]);
    next_index(e->rank, e->shape, index);
  }
  c->out[0] = e;
  return 1;
}

/* −Σ targets · (x − log Σ exp x); for class indices, log Σ exp x − x[target]. */
static int run_cross_entropy(world *w, call *c) {
  tensor *e, *sum;
  int axis;
  int64_t index[MAX_RANK] = {0};
  const tensor *x = c->in[0], *targets = c->n_in == 2 ? c->in[1] : NULL;
  if (w->model == MODEL_FLOAT || targets == NULL || !is_float(targets->dtype)) {
    return 0;
  }
  if (exponentials(w, c, &e, &sum, &axis) < 0 || targets->count != x->count) {
    return bad(w, "cross_entropy: its operands");
  }
  c->out[0] = tensor_new(w, x->dtype, sum->rank, sum->shape);
  for (size_t i = 0; i < sum->count; i++) {
    c->out[0]->at[i] = number_of_integer(w, x->dtype, 0);
  }
  for (size_t i = 0; i < x->count; i++) {
    size_t to = reduced_offset(x, 1 << axis, index);
    cell log = number_sub(w, x->dtype, x->at[i], number_log(w, x->dtype, sum->at[to]));
    c->out[0]->at[to] =
        number_sub(w, x->dtype, c->out[0]->at[to], number_mul(w, x->dtype, targets->at[i], log));
    next_index(x->rank, x->shape, index);
  }
  return 1;
}

const operation_row reducing_operations[] = {{"sum", run_sum},
                                             {"prod", run_prod},
                                             {"max", run_max},
                                             {"argmax", run_argmax},
                                             {"dot", run_dot},
                                             {"dot_add", run_dot_add},
                                             {"softmax", run_softmax},
                                             {"cross_entropy", run_cross_entropy},
                                             {NULL, NULL}};
