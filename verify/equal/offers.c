/* SPDX-License-Identifier: MIT
 *
 * Collects offers, see offers.h, in one pass over the graph. Values that depend on no input are
 * copied to the offers' graph. For each other value it is known which constants it is linear in
 * (its form, offers-form.h). For example, dot(x, W) has the coefficient W. Multiplied by s, it has
 * the coefficient W * s, with s along W's columns: that is the constant which an optimiser would
 * fold. With b added it has the shift b, which a further factor multiplies too. Every such constant
 * is an offer as soon as it arises, so factors that an optimiser moved only part of the way are
 * covered. Offers are compared with a graph's constants by their numbers (constants.c), and the
 * models decide whether the graphs are then equal; so an offer too many does no harm.
 */
#include "equal/offers.h"

#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/value.h"
#include "tiers/tiers.h"
#include "equal/elements.h"
#include "equal/offers-form.h"

enum {
  MOST_SCALARS = 16,
  MOST_OFFERS = 1 << 16,
  MOST_COEFFICIENTS = 64,
  MOST_POOL = 1 << 19,
  MOST_OPERANDS = 16
};
static const int64_t most_elements = 1 << 23; /* of all small offers together: takes some seconds */
static const int64_t largest_offer = (int64_t)1 << 40; /* elements */

/* ---- Expressions ---- */

static int is_float(gemel_value x) {
  return gemel__is_float(gemel__value_dtype(x));
}

static gemel_value apply(gemel_graph *graph, const char *name, size_t n,
                         const gemel_value *operands, size_t n_attrs, const gemel_attr *attrs) {
  gemel_value made = gemel_apply(graph, name, n, operands, n_attrs, attrs);
  if (gemel_is_null(made) && gemel_graph_error(graph)->status != GEMEL_NO_MEMORY) {
    gemel_graph_clear_error(graph);
  }
  return made;
}

gemel_value gemel__offer_cast(gemel_value x, gemel_dtype dtype) {
  gemel_attr attr = gemel_attr_dtype("dtype", dtype);
  return gemel_is_null(x) || gemel__value_dtype(x) == dtype
             ? x
             : apply(x.graph, "cast", 1, &x, 1, &attr);
}

/* A dtype that has all numbers of two float dtypes. */
static gemel_dtype wider(gemel_dtype a, gemel_dtype b) {
  size_t m = gemel_dtype_size(a), n = gemel_dtype_size(b);
  return m == n && a != b ? GEMEL_F32 : m > n ? a : b;
}

gemel_value gemel__offer_make(gemel_graph *graph, const char *name, size_t n,
                              const gemel_value *operands, size_t n_attrs,
                              const gemel_attr *attrs) {
  gemel_value alike[MOST_OPERANDS];
  gemel_dtype widest = GEMEL_DTYPE_COUNT;
  for (size_t k = 0; k < n; k++) {
    if (n > MOST_OPERANDS || gemel_is_null(operands[k])) {
      return gemel__no_value;
    }
    if (is_float(operands[k])) {
      widest = widest == GEMEL_DTYPE_COUNT ? gemel__value_dtype(operands[k])
                                           : wider(widest, gemel__value_dtype(operands[k]));
    }
  }
  for (size_t k = 0; k < n; k++) {
    alike[k] = is_float(operands[k]) ? gemel__offer_cast(operands[k], widest) : operands[k];
    if (gemel_is_null(alike[k])) {
      return gemel__no_value;
    }
  }
  return apply(graph, name, n, alike, n_attrs, attrs);
}

int gemel__offer_shape(gemel_value x, int64_t *shape) {
  if (gemel_is_null(x)) {
    return 0;
  }
  gemel_context *context = gemel_graph_context(x.graph);
  const struct gemel__type *type = gemel__type_at(context, gemel_value_type(x));
  for (int k = 0; k < type->rank; k++) {
    shape[k] = 0;
    gemel_dim_is_constant(context, type->dims[k], &shape[k]);
  }
  return type->rank;
}

static gemel_value with_shape(gemel_value x, const char *name, int rank, const int64_t *shape) {
  gemel_dim dims[GEMEL_MAX_RANK];
  int64_t has[GEMEL_MAX_RANK];
  if (gemel_is_null(x) || (gemel__offer_shape(x, has) == rank &&
                           (rank == 0 || memcmp(has, shape, (size_t)rank * sizeof *has) == 0))) {
    return x;
  }
  for (int k = 0; k < rank; k++) {
    dims[k] = gemel_dim_constant(gemel_graph_context(x.graph), shape[k]);
  }
  gemel_attr attr = gemel_attr_dims("shape", (size_t)rank, dims);
  return gemel__offer_make(x.graph, name, 1, &x, 1, &attr);
}

gemel_value gemel__offer_broadcast(gemel_value x, int rank, const int64_t *shape) {
  return with_shape(x, "broadcast_to", rank, shape);
}

gemel_value gemel__offer_reshape(gemel_value x, int rank, const int64_t *shape) {
  return with_shape(x, "reshape", rank, shape);
}

gemel_value gemel__offer_shuffle(gemel_value x, int rank, const int64_t *order) {
  gemel_attr attr = gemel_attr_ints("order", (size_t)rank, order);
  int64_t shape[GEMEL_MAX_RANK];
  int same = !gemel_is_null(x) && gemel__offer_shape(x, shape) == rank;
  for (int k = 0; k < rank; k++) {
    same &= order[k] == k;
  }
  return same ? x : gemel__offer_make(x.graph, "dimshuffle", 1, &x, 1, &attr);
}

gemel_value gemel__offer_aligned(gemel_value x, int rank) {
  int64_t shape[GEMEL_MAX_RANK], order[GEMEL_MAX_RANK];
  int has = gemel_is_null(x) ? rank : gemel__offer_shape(x, shape);
  for (int k = 0; k < rank; k++) {
    order[k] = k - (rank - has) >= 0 ? k - (rank - has) : -1;
  }
  return has == rank ? x : gemel__offer_shuffle(x, rank, order);
}

static gemel_value apply2(const char *name, gemel_value x, gemel_value y) {
  gemel_value operands[2] = {x, y};
  return gemel__offer_make(x.graph, name, 2, operands, 0, NULL);
}

static gemel_value apply1(const char *name, gemel_value x) {
  return gemel__offer_make(x.graph, name, 1, &x, 0, NULL);
}

/* ---- Offers ---- */

static int64_t elements_of(gemel_value x) {
  int64_t shape[GEMEL_MAX_RANK], elements = 1;
  int rank = gemel__offer_shape(x, shape);
  for (int k = 0; k < rank && elements <= largest_offer; k++) {
    elements *= shape[k];
  }
  return elements;
}

/* Makes room for NODE in OFFERED. */
static int grow_offered(gemel__collecting *c, uint32_t node) {
  size_t before = c->n_offered;
  int status = gemel__grow(&c->offered, &c->n_offered, (size_t)node + 1, 1);
  if (status == 0 && c->n_offered > before) {
    memset(c->offered + before, 0, c->n_offered - before);
  }
  return status;
}

int gemel__offers_add(gemel__offers *o, gemel_value x) {
  int status = gemel__grow(&o->all, &o->capacity, o->n + 1, sizeof *o->all);
  if (status == 0) {
    o->all[o->n++] = x;
  }
  return status;
}

void gemel__offer(gemel__collecting *c, gemel_value x) {
  gemel__offers *o = c->offers;
  if (gemel_is_null(x) || !is_float(x) || o->n >= MOST_OFFERS) {
    return;
  }
  int64_t elements = elements_of(x), counted = elements > GEMEL__LARGE_OFFER ? 0 : elements;
  for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
    gemel_value own;
    if (!c->wanted(c->user, (gemel_dtype)dtype, elements) ||
        c->elements + counted > most_elements || elements > largest_offer ||
        gemel_is_null(own = gemel__offer_cast(x, (gemel_dtype)dtype))) {
      continue;
    }
    if (grow_offered(c, own.node) != 0) {
      c->failed = 1;
      return;
    }
    if (c->offered[own.node]) {
      continue;
    }
    c->offered[own.node] = 1;
    c->elements += counted;
    c->failed |= gemel__offers_add(o, own) != 0;
  }
}

/* ---- Parts that depend on no input ---- */

static int is_known(gemel_context *context, const gemel_dim *dims, size_t n) {
  int64_t size;
  for (size_t k = 0; k < n; k++) {
    if (!gemel_dim_is_constant(context, dims[k], &size)) {
      return 0;
    }
  }
  return 1;
}

static int attrs_known(const gemel_graph *graph, uint32_t node) {
  gemel_context *context = graph->context;
  const gemel__op *op = gemel__node_op(graph, node);
  const gemel_attr *attrs =
      op->n_attrs > 0 ? gemel__attrs_at(context, graph->nodes[node].attrs)->values : NULL;
  for (size_t k = 0; k < op->n_attrs; k++) {
    if ((attrs[k].kind == GEMEL_ATTR_DIM && !is_known(context, &attrs[k].u.dim, 1)) ||
        (attrs[k].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM) &&
         !is_known(context, attrs[k].u.dims, attrs[k].count)) ||
        (attrs[k].kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_GRAPH) {
      return 0;
    }
  }
  return 1;
}

/* 1 if result K of NODE has constant sizes and isn't too large. */
static int is_storable(const gemel_graph *by, uint32_t node, uint32_t k) {
  const struct gemel__type *type = gemel__type_at(by->context, gemel__node_type(by, node, k));
  int64_t elements = 1, size;
  for (int axis = 0; axis < type->rank; axis++) {
    if (!gemel_dim_is_constant(by->context, type->dims[axis], &size) || size > largest_offer) {
      return 0;
    }
    elements *= size;
    if (elements > largest_offer) {
      return 0;
    }
  }
  return 1;
}

/* 1 if NODE's values don't depend on any input, and none is too large. */
static int is_closed(const gemel__collecting *c, uint32_t node) {
  const gemel_graph *by = c->by;
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(by, node, &count);
  if (!gemel__has_output(by, node, 0) || gemel__node_at(by, node)->op == GEMEL__OP_input ||
      !attrs_known(by, node)) {
    return 0;
  }
  for (uint32_t k = 0; k < count; k++) {
    if (gemel_is_null(c->copies[inputs[k].node])) {
      return 0;
    }
  }
  for (uint32_t k = 0; k < by->nodes[node].n_outputs; k++) {
    if (gemel__has_output(by, node, k) && !is_storable(by, node, k)) {
      return 0;
    }
  }
  return 1;
}

gemel_value gemel__offer_copy(const gemel__collecting *c, gemel__ref x) {
  gemel_value copy = c->copies[x.node];
  copy.output = x.output;
  return gemel_is_null(copy) ? gemel__no_value : copy;
}

static void copy_node(gemel__collecting *c, uint32_t node) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(c->by, node, &count);
  gemel_value *operands = gemel__alloc_array(count + 1, sizeof *operands);
  if (operands == NULL) {
    c->failed = 1;
    return;
  }
  for (uint32_t k = 0; k < count; k++) {
    operands[k] = gemel__offer_copy(c, inputs[k]);
  }
  c->copies[node] = gemel__apply(c->offers->graph, c->by->nodes[node].op, c->by->nodes[node].attrs,
                                 count, operands, (gemel_location){"", 0});
  gemel__free(operands, (count + 1) * sizeof *operands);
}

/* ---- Scalars: one more operation ---- */

/* Offers what one operation makes of X and Y. Neither is 1: a product with 1 would count as rounded
 * once more. */
static void offer_pair(gemel__collecting *c, gemel_value x, gemel_value y) {
  gemel__offer(c, apply2("add", x, y));
  gemel__offer(c, apply2("mul", x, y));
  gemel__offer(c, apply2("sub", x, y));
  gemel__offer(c, apply2("sub", y, x));
  gemel__offer(c, apply2("div", x, y));
  gemel__offer(c, apply2("div", y, x));
}

static void offer_with_one(gemel__collecting *c, gemel_value x) {
  gemel_value one = gemel_scalar(c->offers->graph, gemel__value_dtype(x), 1);
  gemel__offer(c, apply1("neg", x));
  gemel__offer(c, apply2("add", x, one));
  gemel__offer(c, apply2("sub", x, one));
  gemel__offer(c, apply2("sub", one, x));
  gemel__offer(c, apply2("div", one, x));
}

static int is_one(gemel_value x) {
  const gemel_graph *graph = x.graph;
  if (gemel__node_at(graph, x.node)->op != GEMEL__OP_constant) {
    return 0;
  }
  const gemel_tensor *tensor =
      gemel__attrs_at(graph->context, graph->nodes[x.node].attrs)->values[0].u.tensor;
  return gemel__decode(gemel__value_dtype(x), gemel__tensor_element(tensor, 0)) == 1;
}

/* What NODE divides by without a constant that says so: the elements of a window of which it takes
 * the mean. Null: nothing. */
static gemel_value divisor_of(const gemel__collecting *c, uint32_t node) {
  uint32_t op = gemel__node_at(c->by, node)->op;
  double elements = 1;
  if (op != GEMEL__OP_avg_pool && op != GEMEL__OP_avg_pool_grad) {
    return gemel__no_value;
  }
  const gemel_attr *size = &gemel__attrs_at(c->by->context, c->by->nodes[node].attrs)->values[0];
  for (size_t k = 0; k < size->count; k++) {
    elements *= (double)size->u.ints[k];
  }
  gemel_dtype dtype = gemel__ref_dtype(c->by, (gemel__ref){node, 0});
  return elements > 1 ? gemel_scalar(c->offers->graph, dtype, elements) : gemel__no_value;
}

static void offer_scalars(gemel__collecting *c) {
  gemel_value scalars[MOST_SCALARS];
  gemel_context *context = c->offers->graph->context;
  size_t n = 0;
  for (size_t k = 0; k < c->by->n_nodes && n < MOST_SCALARS; k++) {
    gemel_value x = gemel_is_null(c->copies[k]) ? divisor_of(c, (uint32_t)k) : c->copies[k];
    if (!gemel_is_null(x) && is_float(x) && gemel_type_rank(context, gemel_value_type(x)) == 0 &&
        !is_one(x)) {
      scalars[n++] = x;
    }
  }
  for (size_t k = 0; k < n; k++) {
    offer_with_one(c, scalars[k]);
    for (size_t j = 0; j <= k; j++) {
      offer_pair(c, scalars[k], scalars[j]);
    }
  }
}

/* ---- Forms ---- */

void gemel__form_add(gemel__collecting *c, gemel__form *form, const gemel__coefficient *own) {
  if (gemel_is_null(own->value) || form->n >= MOST_COEFFICIENTS || c->n_pool >= MOST_POOL) {
    return;
  }
  if (gemel__grow(&c->pool, &c->capacity, c->n_pool + 1, sizeof *c->pool) != 0) {
    c->failed = 1;
    return;
  }
  c->pool[c->n_pool++] = *own;
  form->n++;
}

static gemel_value times(gemel_value x, gemel_value factor, int quotient) {
  return apply2(quotient ? "div" : "mul", x, factor);
}

/* 1 if a factor of SHAPE, of N axes, varies along the axis of which K has one group's part. */
static int varies_by_group(const gemel__coefficient *k, int n, const int64_t *shape) {
  int axis = k->groups > 1 ? k->axes[k->part] : -1;
  return axis >= 0 && axis < n && shape[axis] != 1;
}

/* Coefficient K times FACTOR, which must vary along K's grouped axis alone: K's value with its
 * blocks as an axis of their own takes the factor's groups along that. */
static gemel_value times_by_group(const gemel__coefficient *k, gemel_value factor, int quotient) {
  int64_t shape[GEMEL_MAX_RANK], has[GEMEL_MAX_RANK], split[GEMEL_MAX_RANK], order[GEMEL_MAX_RANK];
  int rank = gemel__offer_shape(k->value, has), n = gemel__offer_shape(factor, shape), fits, j;
  fits = rank < GEMEL_MAX_RANK && shape[(int)k->axes[k->part]] == k->groups * has[k->part];
  for (j = 0; j < n; j++) {
    fits &= shape[j] == 1 || j == k->axes[k->part];
  }
  if (!fits) {
    return gemel__no_value;
  }
  for (j = 0; j <= rank; j++) {
    split[j] = has[j > k->blocks ? j - 1 : j];
    order[j] = -1;
  }
  split[k->blocks] = k->groups;
  split[k->blocks + 1] = has[k->blocks] / k->groups;
  order[k->blocks] = 0;
  order[k->part > k->blocks ? k->part + 1 : k->part] = 1;
  factor = gemel__offer_reshape(factor, 2, (int64_t[]){k->groups, has[k->part]});
  factor = gemel__offer_shuffle(factor, rank + 1, order);
  gemel_value product = times(gemel__offer_reshape(k->value, rank + 1, split), factor, quotient);
  return gemel__offer_reshape(product, rank, has);
}

gemel_value gemel__coefficient_times(const gemel__coefficient *k, gemel_value factor,
                                     int quotient) {
  int64_t shape[GEMEL_MAX_RANK], has[GEMEL_MAX_RANK], order[GEMEL_MAX_RANK];
  int rank = gemel__offer_shape(k->value, has), n, axis, j;
  if (gemel_is_null(factor)) {
    return gemel__no_value;
  }
  n = gemel__offer_shape(factor, shape);
  if (varies_by_group(k, n, shape)) {
    return times_by_group(k, factor, quotient);
  }
  for (axis = 0; axis < n; axis++) {
    for (j = 0; j < rank && k->axes[j] != axis; j++) {
    }
    if (shape[axis] != 1 && (j == rank || has[j] != shape[axis])) {
      return gemel__no_value;
    }
  }
  for (j = 0; j < rank; j++) {
    order[j] = k->axes[j] < n ? k->axes[j] : -1;
  }
  return times(k->value, gemel__offer_shuffle(factor, rank, order), quotient);
}

/* Adds the coefficients of X, a value of BY, to a form of RANK axes, to which X is broadcast. */
static void take_coefficients(gemel__collecting *c, gemel__form *form, gemel__ref x, int rank) {
  const gemel__form from = c->forms[x.node];
  int shift = rank - gemel__type_at(c->by->context, gemel__node_type(c->by, x.node, 0))->rank;
  for (size_t k = 0; k < from.n; k++) {
    gemel__coefficient own = c->pool[from.first + k];
    for (int j = 0; j < GEMEL_MAX_RANK; j++) {
      own.axes[j] = (signed char)(own.axes[j] >= 0 ? own.axes[j] + shift : -1);
    }
    gemel__form_add(c, form, &own);
  }
}

static void add_shift(gemel__form *form, gemel_value x, int rank) {
  x = gemel__offer_aligned(x, rank);
  if (gemel_is_null(x)) {
    return;
  }
  if (form->n_shifts < GEMEL__SHIFTS) {
    form->shifts[form->n_shifts++] = x;
  } else {
    form->shifts[0] = apply2("add", form->shifts[0], x);
  }
}

static void offer_shifts(gemel__collecting *c, const gemel__form *form) {
  gemel_value total = gemel__no_value;
  for (size_t k = 0; k < form->n_shifts; k++) {
    total = k == 0 ? form->shifts[0] : apply2("add", total, form->shifts[k]);
    gemel__offer(c, form->shifts[k]);
  }
  gemel_value last = gemel__no_value; /* what was added since some point */
  for (size_t k = form->n_shifts; k-- > 1;) {
    last = gemel_is_null(last) ? form->shifts[k] : apply2("add", form->shifts[k], last);
    gemel__offer(c, last);
  }
  if (form->n_shifts > 0) {
    gemel__offer(c, total);
    gemel__offer(c, apply1("neg", total)); /* for a graph that subtracts it */
  }
  if (form->n_shifts > 0 && !gemel_is_null(form->scale)) {
    gemel__offer(c, apply2("div", total, form->scale));
  }
}

/* A graph may keep a scalar factor where it is and move the factors behind it past it: alpha, in
 * alpha x W + b times a deviation. So FORM's coefficients stay as they are, too. */
static void keep_beside(gemel__collecting *c, gemel__form *form, gemel_value factor) {
  enum { MOST_KEPT = 4 };
  size_t n = form->n;
  for (size_t k = 0; k < n && n <= MOST_KEPT && elements_of(factor) == 1; k++) {
    gemel__coefficient own = c->pool[form->first + k];
    gemel__form_add(c, form, &own);
  }
}

/* SCALE, which may be null, times FACTOR or divided by it. */
static gemel_value scaled_by(gemel_value scale, gemel_value factor, int quotient, int rank) {
  if (!gemel_is_null(scale)) {
    return times(gemel__offer_aligned(scale, rank), factor, quotient);
  }
  gemel_value one = gemel_scalar(factor.graph, gemel__value_dtype(factor), 1);
  return quotient ? apply2("div", gemel__offer_aligned(one, rank), factor) : factor;
}

/* Makes FORM that of X times FACTOR, or divided by it if QUOTIENT. */
static void multiply(gemel__collecting *c, gemel__form *form, gemel__ref x, gemel_value factor,
                     int quotient, int rank) {
  const gemel__form from = c->forms[x.node];
  gemel_value root = gemel__no_value;
  gemel__coefficient scale = {.axes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  factor = gemel__offer_aligned(factor, rank);
  if (gemel_is_null(factor)) {
    return;
  }
  take_coefficients(c, form, x, rank);
  size_t n = form->n;
  keep_beside(c, form, factor);
  if (from.shared && elements_of(factor) == 1) {
    root = apply1("sqrt", factor);
  }
  for (size_t k = 0; k < n; k++) {
    gemel__coefficient *own = &c->pool[form->first + k];
    gemel_value product = gemel__coefficient_times(own, factor, quotient);
    if (!gemel_is_null(root)) {
      gemel__offer(c, gemel__coefficient_times(own, root, quotient));
    }
    own->value = gemel_is_null(product) ? own->value : product;
    gemel__offer(c, product);
  }
  form->shared = from.shared;
  form->scale = scaled_by(from.scale, factor, quotient, rank);
  form->recent = scaled_by(from.recent, factor, quotient, rank);
  gemel__offer(c, form->scale);
  scale.value = form->scale;
  gemel__form_add(c, form, &scale);
  for (size_t k = 0; k < from.n_shifts; k++) {
    add_shift(form, times(gemel__offer_aligned(from.shifts[k], rank), factor, quotient), rank);
  }
  offer_shifts(c, form);
}

/* Adds the form of X to FORM, negated if SIGN is −1. */
static void take(gemel__collecting *c, gemel__form *form, gemel__ref x, int sign, int rank) {
  const gemel__form from = c->forms[x.node];
  size_t before = form->n;
  take_coefficients(c, form, x, rank);
  for (size_t k = before; k < form->n && sign < 0; k++) {
    gemel__coefficient *own = &c->pool[form->first + k];
    own->value = apply1("neg", own->value);
    gemel__offer(c, own->value);
  }
  for (size_t k = 0; k < from.n_shifts; k++) {
    add_shift(form, sign < 0 ? apply1("neg", from.shifts[k]) : from.shifts[k], rank);
  }
  form->scale = gemel__offer_aligned(from.scale, rank);
  if (sign < 0 && !gemel_is_null(form->scale)) {
    form->scale = apply1("neg", form->scale);
  }
}

static void form_sum(gemel__collecting *c, gemel__form *form, const gemel__ref *inputs, int sign,
                     int rank) {
  gemel_value x = gemel__offer_copy(c, inputs[0]), y = gemel__offer_copy(c, inputs[1]);
  if (gemel_is_null(x)) {
    take(c, form, inputs[0], 1, rank);
  }
  if (gemel_is_null(y)) {
    take(c, form, inputs[1], sign, rank);
  }
  if (gemel_is_null(x) && gemel_is_null(y)) {
    form->scale = gemel__no_value;
  } else {
    add_shift(form, gemel_is_null(x) ? (sign < 0 ? apply1("neg", y) : y) : x, rank);
  }
  offer_shifts(c, form);
}

static void form_product(gemel__collecting *c, gemel__form *form, const gemel__ref *inputs,
                         int quotient, int rank) {
  gemel_value x = gemel__offer_copy(c, inputs[0]), y = gemel__offer_copy(c, inputs[1]);
  if (!gemel_is_null(y)) {
    multiply(c, form, inputs[0], y, quotient, rank);
  } else if (!gemel_is_null(x) && !quotient) {
    multiply(c, form, inputs[1], x, quotient, rank);
  } else if (gemel_is_null(x)) {
    take_coefficients(c, form, inputs[0], rank);
    if (!quotient) {
      take_coefficients(c, form, inputs[1], rank);
    }
    form->shared = 1;
  }
}

static void form_node(gemel__collecting *c, uint32_t node) {
  gemel__form *form = &c->forms[node];
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(c->by, node, &count);
  form->first = c->n_pool;
  if (!gemel__has_output(c->by, node, 0) || count == 0) {
    return;
  }
  const struct gemel__type *type = gemel__type_at(c->by->context, gemel__node_type(c->by, node, 0));
  if (!gemel__is_float((gemel_dtype)type->dtype)) {
    return;
  }
  gemel__linearity linearity = gemel__twin_of(gemel__node_op(c->by, node)->id)->linear;
  switch (linearity) {
  case GEMEL__LINEAR_SUM:
    form_sum(c, form, inputs, 1, type->rank);
    break;
  case GEMEL__LINEAR_DIFFERENCE:
    form_sum(c, form, inputs, -1, type->rank);
    break;
  case GEMEL__LINEAR_NEGATIVE:
    take(c, form, inputs[0], -1, type->rank);
    break;
  case GEMEL__LINEAR_PRODUCT:
    form_product(c, form, inputs, 0, type->rank);
    break;
  case GEMEL__LINEAR_QUOTIENT:
    form_product(c, form, inputs, 1, type->rank);
    break;
  default:
    gemel__form_linear(c, node, linearity, form);
    offer_shifts(c, form);
  }
}

/* ---- All ---- */

static void collect(gemel__collecting *c) {
  for (size_t k = 0; k < c->by->n_nodes && !c->failed; k++) {
    if (is_closed(c, (uint32_t)k)) {
      copy_node(c, (uint32_t)k);
      if (!gemel__has_output(c->by, (uint32_t)k, 1)) { /* several results are parts of an operand */
        gemel__offer(c, c->copies[k]);
      }
    } else {
      form_node(c, (uint32_t)k);
    }
  }
  offer_scalars(c);
}

gemel_status gemel__offers_collect(gemel__offers *offers, const gemel_graph *by,
                                   int (*wanted)(void *user, gemel_dtype dtype, int64_t elements),
                                   void *user, gemel_error *error) {
  gemel__collecting c;
  gemel_status status = GEMEL_OK;
  memset(&c, 0, sizeof c);
  memset(offers, 0, sizeof *offers);
  c.offers = offers;
  c.by = by;
  c.wanted = wanted;
  c.user = user;
  offers->graph = gemel_graph_new(by->context, error);
  c.copies = gemel__alloc_zeroed((by->n_nodes + 1) * sizeof *c.copies);
  c.forms = gemel__alloc_zeroed((by->n_nodes + 1) * sizeof *c.forms);
  if (offers->graph == NULL || c.copies == NULL || c.forms == NULL) {
    status = gemel__no_memory(error, "offers");
  } else {
    collect(&c);
    status =
        c.failed ? gemel__no_memory(error, "offers") : gemel_graph_error(offers->graph)->status;
  }
  gemel__free(c.copies, (by->n_nodes + 1) * sizeof *c.copies);
  gemel__free(c.forms, (by->n_nodes + 1) * sizeof *c.forms);
  gemel__free(c.offered, c.n_offered);
  gemel__free(c.pool, c.capacity * sizeof *c.pool);
  return status;
}

void gemel__offers_clear(gemel__offers *offers) {
  gemel__free(offers->all, offers->capacity * sizeof *offers->all);
  gemel_graph_unref(offers->graph);
  memset(offers, 0, sizeof *offers);
}
