/* SPDX-License-Identifier: MIT
 *
 * Operations that act element by element, after NumPy's rule of broadcasting. A row says how many
 * operands there are and what becomes of one element of each; comparisons and connectives result in
 * truths, everything else in the dtype of the last operand.
 */
#include <math.h>
#include <string.h>
#include "recheck.h"

enum { MOST = 3 };

typedef cell scalar(const world *w, dtype t, const cell *x);

/* ---- Order ---- */

/* −1, 0, 1 for x < y, x = y, x > y; 2: unordered; 3: can't be told. */
static int order(const world *w, dtype t, const cell *x, const cell *y) {
  int sign;
  if (number_compare(w, t, x, y, &sign)) {
    return sign;
  }
  return w->model == MODEL_FLOAT && is_float(t) ? 2 : 3;
}

static cell truth(const world *w, int known, int value) {
  return known ? number_of_integer(w, DTYPE_bool, value) : number_unknown();
}

/* What follows where the order can't be told: undefined operands make the result undefined. */
static cell untold(const cell *x, const cell *y) {
  cell c = number_unknown();
  if ((x->state == UNDEFINED || y->state == UNDEFINED) && x->state != UNKNOWN &&
      y->state != UNKNOWN) {
    c.state = UNDEFINED;
  }
  return c;
}

#define COMPARISON(name, test)                                                                     \
  static cell op_##name(const world *w, dtype t, const cell *x) {                                  \
    int o = order(w, t, &x[0], &x[1]);                                                             \
    return o == 3 ? untold(&x[0], &x[1]) : truth(w, 1, test);                                      \
  }
COMPARISON(eq, o == 0)
COMPARISON(ne, o != 0)
COMPARISON(lt, o == -1)
COMPARISON(le, o == -1 || o == 0)
COMPARISON(gt, o == 1)
COMPARISON(ge, o == 1 || o == 0)
#undef COMPARISON

static cell larger(const world *w, dtype t, const cell *x, const cell *y, int least) {
  int o = order(w, t, x, y);
  if (o == 3) {
    return untold(x, y);
  }
  if (o == 2) { /* a NaN comes through */
    return isnan(x->f) ? *x : *y;
  }
  if (o == 0 && w->model == MODEL_FLOAT && is_float(t)) { /* −0 is below +0 */
    return !signbit(x->f) == !least ? *x : *y;
  }
  return (o > 0) != least ? *x : *y;
}

static cell op_maximum(const world *w, dtype t, const cell *x) {
  return larger(w, t, &x[0], &x[1], 0);
}

static cell op_minimum(const world *w, dtype t, const cell *x) {
  return larger(w, t, &x[0], &x[1], 1);
}

static cell op_clip(const world *w, dtype t, const cell *x) {
  cell lifted = larger(w, t, &x[0], &x[1], 0);
  return larger(w, t, &lifted, &x[2], 1);
}

static cell op_relu(const world *w, dtype t, const cell *x) {
  cell zero = number_of_integer(w, t, 0);
  int o = order(w, t, &x[0], &zero);
  return o == 3 ? untold(x, x) : o > 0 ? x[0] : zero; /* a NaN is unordered, and stays */
}

static cell op_abs(const world *w, dtype t, const cell *x) {
  cell zero = number_of_integer(w, t, 0), a = x[0];
  if (w->model == MODEL_FLOAT && is_float(t)) {
    a.f = fabs(a.f);
    return a;
  }
  int o = order(w, t, &x[0], &zero);
  return o == 3 ? untold(x, x) : o < 0 ? number_neg(w, t, a) : a;
}

static cell op_sign(const world *w, dtype t, const cell *x) {
  cell zero = number_of_integer(w, t, 0);
  int o = order(w, t, &x[0], &zero);
  return o == 3 ? untold(x, x) : o == 2 || o == 0 ? x[0] : number_of_integer(w, t, o);
}

/* ---- Arithmetic ---- */

static cell op_add(const world *w, dtype t, const cell *x) {
  return number_add(w, t, x[0], x[1]);
}

static cell op_sub(const world *w, dtype t, const cell *x) {
  return number_sub(w, t, x[0], x[1]);
}

static cell op_mul(const world *w, dtype t, const cell *x) {
  return number_mul(w, t, x[0], x[1]);
}

static cell op_div(const world *w, dtype t, const cell *x) {
  return number_div(w, t, x[0], x[1]);
}

static cell op_neg(const world *w, dtype t, const cell *x) {
  return number_neg(w, t, x[0]);
}

static cell op_sqr(const world *w, dtype t, const cell *x) {
  return number_mul(w, t, x[0], x[0]);
}

static cell op_mod(const world *w, dtype t, const cell *x) {
  if (x[0].state != GOOD || x[1].state != GOOD || (is_float(t) && w->model != MODEL_EXACT)) {
    return is_float(t) && w->model != MODEL_EXACT ? number_unknown() : untold(&x[0], &x[1]);
  }
  if (!is_float(t)) {
    wide r = x[1].n != 0 ? x[0].n % x[1].n : 0;
    return number_wrapped(t, r != 0 && (r < 0) != (x[1].n < 0) ? r + x[1].n : r);
  }
  cell floor = number_floor(w, number_div(w, t, x[0], x[1]));
  return number_sub(w, t, x[0], number_mul(w, t, floor, x[1]));
}

/* A to a whole power; the result wraps in integers, where a negative one leaves ±1 alone. */
static cell whole_power(const world *w, dtype t, cell a, wide n) {
  cell result = number_of_integer(w, t, 1);
  uwide k = (uwide)(n < 0 ? -n : n);
  if (n < 0 && !is_float(t)) {
    return a.n == 1 || (a.n == -1 && k % 2 == 0) ? result
           : a.n == -1                           ? a
                                                 : number_of_integer(w, t, 0);
  }
  for (; k > 0 && result.state == GOOD; k >>= 1) {
    result = k & 1 ? number_mul(w, t, result, a) : result;
    a = k > 1 ? number_mul(w, t, a, a) : a;
  }
  return n < 0 ? number_div(w, t, number_of_integer(w, t, 1), result) : result;
}

static cell op_pow(const world *w, dtype t, const cell *x) {
  if (x[0].state != GOOD || x[1].state != GOOD) {
    return untold(&x[0], &x[1]);
  }
  if (!is_float(t)) {
    return whole_power(w, t, x[0], x[1].n);
  }
  if (w->model == MODEL_EXACT && x[1].d == 1 && x[1].n < 64 && x[1].n > -64) {
    return whole_power(w, t, x[0], x[1].n);
  }
  if (w->model != MODEL_FIELD) {
    return number_unknown();
  }
  for (int n = -8; n <= 8; n++) { /* a small whole power needs no logarithm */
    cell whole = number_of_integer(w, t, n);
    if (number_equal(w, t, &x[1], &whole) == 1) {
      return whole_power(w, t, x[0], n);
    }
  }
  return number_exp(w, t, number_mul(w, t, x[1], number_log(w, t, x[0])));
}

/* ---- Functions, as what they are made of ---- */

static cell op_sqrt(const world *w, dtype t, const cell *x) {
  return number_sqrt(w, t, x[0]);
}

static cell op_exp(const world *w, dtype t, const cell *x) {
  return number_exp(w, t, x[0]);
}

static cell op_log(const world *w, dtype t, const cell *x) {
  return number_log(w, t, x[0]);
}

static cell op_log1p(const world *w, dtype t, const cell *x) {
  return w->model == MODEL_FLOAT
             ? number_unknown()
             : number_log(w, t, number_add(w, t, number_of_integer(w, t, 1), x[0]));
}

static cell op_expm1(const world *w, dtype t, const cell *x) {
  return number_sub(w, t, number_exp(w, t, x[0]), number_of_integer(w, t, 1));
}

static cell op_sigmoid(const world *w, dtype t, const cell *x) {
  cell one = number_of_integer(w, t, 1);
  cell e = number_exp(w, t, number_neg(w, t, x[0]));
  return number_div(w, t, one, number_add(w, t, one, e));
}

static cell op_tanh(const world *w, dtype t, const cell *x) {
  cell one = number_of_integer(w, t, 1);
  cell e = number_exp(w, t, number_add(w, t, x[0], x[0]));
  return number_div(w, t, number_sub(w, t, e, one), number_add(w, t, e, one));
}

/* ---- Truths ---- */

static int truth_of(const world *w, dtype t, const cell *x, int *value) {
  cell c = number_cast(w, t, DTYPE_bool, *x);
  *value = c.n != 0;
  return c.state == GOOD;
}

static cell op_logical_and(const world *w, dtype t, const cell *x) {
  int a, b, known = truth_of(w, t, &x[0], &a) & truth_of(w, t, &x[1], &b);
  return known ? truth(w, 1, a && b) : untold(&x[0], &x[1]);
}

static cell op_logical_or(const world *w, dtype t, const cell *x) {
  int a, b, known = truth_of(w, t, &x[0], &a) & truth_of(w, t, &x[1], &b);
  return known ? truth(w, 1, a || b) : untold(&x[0], &x[1]);
}

static cell op_logical_not(const world *w, dtype t, const cell *x) {
  int a, known = truth_of(w, t, &x[0], &a);
  return known ? truth(w, 1, !a) : untold(x, x);
}

static cell op_where(const world *w, dtype t, const cell *x) {
  int a;
  (void)t;
  return truth_of(w, DTYPE_bool, &x[0], &a) ? x[a ? 1 : 2] : untold(x, x);
}

/* ---- Rows ---- */

static const struct row {
  const char *name;
  int operands, truth;
  scalar *of;
} rows[] = {{"add", 2, 0, op_add},
            {"sub", 2, 0, op_sub},
            {"mul", 2, 0, op_mul},
            {"div", 2, 0, op_div},
            {"mod", 2, 0, op_mod},
            {"neg", 1, 0, op_neg},
            {"abs", 1, 0, op_abs},
            {"sign", 1, 0, op_sign},
            {"sqr", 1, 0, op_sqr},
            {"sqrt", 1, 0, op_sqrt},
            {"pow", 2, 0, op_pow},
            {"exp", 1, 0, op_exp},
            {"log", 1, 0, op_log},
            {"log1p", 1, 0, op_log1p},
            {"expm1", 1, 0, op_expm1},
            {"tanh", 1, 0, op_tanh},
            {"sigmoid", 1, 0, op_sigmoid},
            {"relu", 1, 0, op_relu},
            {"maximum", 2, 0, op_maximum},
            {"minimum", 2, 0, op_minimum},
            {"clip", 3, 0, op_clip},
            {"eq", 2, 1, op_eq},
            {"ne", 2, 1, op_ne},
            {"lt", 2, 1, op_lt},
            {"le", 2, 1, op_le},
            {"gt", 2, 1, op_gt},
            {"ge", 2, 1, op_ge},
            {"logical_and", 2, 1, op_logical_and},
            {"logical_or", 2, 1, op_logical_or},
            {"logical_not", 1, 1, op_logical_not},
            {"where", 3, 0, op_where},
            {NULL, 0, 0, NULL}};

/* ---- Broadcasting ---- */

static int common_shape(world *w, const call *c, int *rank, int64_t *shape) {
  *rank = 0;
  for (int k = 0; k < c->n_in; k++) {
    *rank = c->in[k]->rank > *rank ? c->in[k]->rank : *rank;
  }
  for (int j = 0; j < *rank; j++) {
    shape[j] = 1;
    for (int k = 0; k < c->n_in; k++) {
      int axis = j - (*rank - c->in[k]->rank);
      int64_t size = axis < 0 ? 1 : c->in[k]->shape[axis];
      if (size != 1 && shape[j] != 1 && shape[j] != size) {
        return bad(w, "%s: sizes %lld and %lld", c->op, (long long)shape[j], (long long)size);
      }
      shape[j] = size != 1 ? size : shape[j];
    }
  }
  return 1;
}

static const cell *at_broadcast(const tensor *t, int rank, const int64_t *index) {
  int64_t own[MAX_RANK];
  for (int j = 0; j < t->rank; j++) {
    own[j] = t->shape[j] == 1 ? 0 : index[j + rank - t->rank];
  }
  return &t->at[offset_of(t, own)];
}

static int run_cast(world *w, call *c) {
  const attr *to = call_attr(c, "dtype");
  if (c->n_in != 1 || to == NULL || to->kind != ATTR_DTYPE) {
    return bad(w, "cast needs an operand and a dtype");
  }
  c->out[0] = tensor_new(w, to->dtype, c->in[0]->rank, c->in[0]->shape);
  for (size_t i = 0; c->out[0] != NULL && i < c->in[0]->count; i++) {
    c->out[0]->at[i] = number_cast(w, c->in[0]->dtype, to->dtype, c->in[0]->at[i]);
  }
  return c->out[0] != NULL ? 1 : -1;
}

int elementwise_run(world *w, call *c) {
  const struct row *row = rows;
  int64_t shape[MAX_RANK], index[MAX_RANK] = {0};
  int rank;
  size_t i = 0;
  if (strcmp(c->op, "cast") == 0) {
    return run_cast(w, c);
  }
  while (row->name != NULL && strcmp(row->name, c->op) != 0) {
    row++;
  }
  if (row->name == NULL) {
    return 0;
  }
  if (c->n_in != row->operands || common_shape(w, c, &rank, shape) < 0) {
    return bad(w, "%s has operands that don't fit", c->op);
  }
  dtype t = c->in[c->n_in - 1]->dtype;
  for (int k = row->of == op_where; k < c->n_in; k++) {
    if (c->in[k]->dtype != t) {
      return bad(w, "%s has operands of several dtypes", c->op);
    }
  }
  c->out[0] = tensor_new(w, row->truth ? DTYPE_bool : t, rank, shape);
  if (c->out[0] == NULL || c->out[0]->count == 0) {
    return c->out[0] != NULL ? 1 : -1;
  }
  do {
    cell x[MOST];
    for (int k = 0; k < c->n_in; k++) {
      x[k] = *at_broadcast(c->in[k], rank, index);
    }
    c->out[0]->at[i++] = row->of(w, t, x);
  } while (next_index(rank, shape, index));
  return 1;
}
