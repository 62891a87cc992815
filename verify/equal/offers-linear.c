/* SPDX-License-Identifier: MIT
 *
 * Forms (offers-form.h) of operations that move elements, sum along axes, multiply matrices or
 * correlate images. The operations' records say which they are (reference/twin.h). For each operand
 * a map tells which axis of the result an axis of the operand becomes; coefficients, factors and
 * shifts are carried along by it. What can't be carried so is left out and not offered.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/value.h"
#include "equal/offers-form.h"

/* The node whose form is made. A MAP below has for each axis of an operand the axis of the result
 * that it becomes; −1: none. */
struct linear {
  gemel__collecting *c;
  gemel__form *form;
  const gemel_attr *attrs;
  const gemel__ref *inputs;
  uint32_t count;
  gemel__ref x;                        /* the operand that is moved, usually the first */
  const struct gemel__type *from, *to; /* of X and of the result */
};

/* Multiplications in one product of constants, and in all. */
enum { MOST_WORK = 1 << 22, MOST_ALL_WORK = 1 << 23 };

static void add_shift(struct linear *l, gemel_value t) {
  if (!gemel_is_null(t)) {
    l->form->shifts[l->form->n_shifts++] = t;
  }
}

static const struct gemel__type *type_of(const gemel__collecting *c, gemel__ref ref) {
  return gemel__ref_type(c->by, ref);
}

/* Adds the coefficients of operand X, their axes mapped by MAP. */
static void map_coefficients(struct linear *l, gemel__ref x, const int *map) {
  const gemel__form from = l->c->forms[x.node];
  for (size_t k = 0; k < from.n; k++) {
    gemel__coefficient own = l->c->pool[from.first + k];
    for (int j = 0; j < GEMEL_MAX_RANK; j++) {
      own.axes[j] = (signed char)(own.axes[j] >= 0 ? map[(int)own.axes[j]] : -1);
    }
    gemel__form_add(l->c, l->form, &own);
  }
}

/* T with its axes mapped by MAP, which has an entry for each; null if it varies along an axis that
 * becomes none. */
static gemel_value map_constant(gemel_value t, const int *map, int rank) {
  int64_t shape[GEMEL_MAX_RANK], order[GEMEL_MAX_RANK];
  if (gemel_is_null(t)) {
    return t;
  }
  int n = gemel__offer_shape(t, shape);
  for (int k = 0; k < rank; k++) {
    order[k] = -1;
  }
  for (int a = 0; a < n; a++) {
    if (map[a] >= 0) {
      order[map[a]] = a;
    } else if (shape[a] != 1) {
      return gemel__no_value;
    }
  }
  return gemel__offer_shuffle(t, rank, order);
}

/* Maps X's whole form by MAP. Shifts are dropped if one varies along an axis that becomes none. */
static void map_form(struct linear *l, const int *map) {
  const gemel__form from = l->c->forms[l->x.node];
  map_coefficients(l, l->x, map);
  l->form->scale = map_constant(from.scale, map, l->to->rank);
  l->form->recent = map_constant(from.recent, map, l->to->rank);
  l->form->shared = from.shared;
  for (size_t k = 0; k < from.n_shifts; k++) {
    gemel_value t = map_constant(from.shifts[k], map, l->to->rank);
    if (gemel_is_null(t)) {
      l->form->n_shifts = 0;
      return;
    }
    add_shift(l, t);
  }
}

/* ---- Moving elements ---- */

static void form_dimshuffle(struct linear *l) {
  int map[GEMEL_MAX_RANK];
  for (int a = 0; a < GEMEL_MAX_RANK; a++) {
    map[a] = -1;
  }
  for (size_t p = 0; p < l->attrs[0].count; p++) {
    if (l->attrs[0].u.ints[p] >= 0) {
      map[l->attrs[0].u.ints[p]] = (int)p;
    }
  }
  map_form(l, map);
}

static void form_broadcast(struct linear *l) {
  int map[GEMEL_MAX_RANK];
  for (int a = 0; a < GEMEL_MAX_RANK; a++) {
    map[a] = a + l->to->rank - l->from->rank;
  }
  map_form(l, map);
}

/* A part of a tensor: axes of unchanged size stay, and nothing may vary along the others. */
static void form_part(struct linear *l) {
  int map[GEMEL_MAX_RANK];
  for (int a = 0; a < GEMEL_MAX_RANK; a++) {
    map[a] =
        a < l->from->rank && a < l->to->rank && gemel_dim_equal(l->from->dims[a], l->to->dims[a])
            ? a
            : -1;
  }
  map_form(l, map);
}

/* Padding isn't shifted with the value, so there are no shifts. */
static void form_pad(struct linear *l) {
  form_part(l);
  l->form->n_shifts = 0;
}

/* Adds the coefficients of COUNT operands from FIRST on, which are broadcast to the result. */
static void coefficients_of(struct linear *l, uint32_t first, uint32_t count) {
  for (uint32_t k = first; k < first + count; k++) {
    int map[GEMEL_MAX_RANK];
    for (int a = 0; a < GEMEL_MAX_RANK; a++) {
      map[a] = a + l->to->rank - type_of(l->c, l->inputs[k])->rank;
    }
    map_coefficients(l, l->inputs[k], map);
  }
}

static void form_choice(struct linear *l) {
  coefficients_of(l, 1, 2);
}

static void form_write(struct linear *l) {
  coefficients_of(l, 0, 2);
}

/* Shifts of a reshaped value. Axes FIRST to FROM->rank − LAST become others; a shift that varies
 * along them is broadcast to their sizes and reshaped. */
static void reshape_shifts(struct linear *l, int first, int last) {
  const gemel__form from = l->c->forms[l->inputs[0].node];
  gemel_context *context = l->c->by->context;
  for (size_t k = 0; k < from.n_shifts; k++) {
    int64_t shape[GEMEL_MAX_RANK], to[GEMEL_MAX_RANK];
    int n = gemel__offer_shape(from.shifts[k], shape), varies = 0, known = 1, a;
    for (a = first; a < n - last; a++) {
      varies |= shape[a] != 1;
    }
    for (a = 0; a < l->to->rank; a++) {
      int middle = a >= first && a < l->to->rank - last;
      to[a] = middle ? 1 : shape[a < first ? a : n - (l->to->rank - a)];
      known &= !middle || !varies || gemel_dim_is_constant(context, l->to->dims[a], &to[a]);
    }
    for (a = first; varies && a < n - last; a++) {
      known &= gemel_dim_is_constant(context, l->from->dims[a], &shape[a]);
    }
    if (!known) {
      l->form->n_shifts = 0;
      return;
    }
    add_shift(
        l, gemel__offer_reshape(gemel__offer_broadcast(from.shifts[k], n, shape), l->to->rank, to));
  }
}

/* Axes before and behind those that are reshaped keep their place. */
static void form_reshape(struct linear *l) {
  int map[GEMEL_MAX_RANK], first = 0, last = 0, a;
  int n = l->from->rank, m = l->to->rank;
  const gemel__form from = l->c->forms[l->inputs[0].node];
  while (first < n && first < m && gemel_dim_equal(l->from->dims[first], l->to->dims[first])) {
    first++;
  }
  while (last < n - first && last < m - first &&
         gemel_dim_equal(l->from->dims[n - 1 - last], l->to->dims[m - 1 - last])) {
    last++;
  }
  for (a = 0; a < GEMEL_MAX_RANK; a++) {
    map[a] = a < first ? a : a >= n - last && a < n ? a - n + m : -1;
  }
  map_coefficients(l, l->inputs[0], map);
  l->form->scale = map_constant(from.scale, map, m);
  l->form->shared = from.shared;
  reshape_shifts(l, first, last);
}

static void form_join(struct linear *l) {
  int map[GEMEL_MAX_RANK];
  int64_t axis = l->attrs[0].u.i;
  for (int a = 0; a < GEMEL_MAX_RANK; a++) {
    map[a] = a == axis ? -1 : a;
  }
  for (uint32_t k = 0; k < l->count; k++) {
    map_coefficients(l, l->inputs[k], map);
  }
}

/* ---- Sums ---- */

/* T, broadcast to the sizes of operand 0 along the summed axes, and summed over them. The result
 * doesn't have these axes. */
static gemel_value sum_constant(struct linear *l, gemel_value t, const unsigned char *summed) {
  int64_t shape[GEMEL_MAX_RANK], axes[GEMEL_MAX_RANK];
  int n = gemel__offer_shape(t, shape);
  size_t count = 0;
  for (int a = 0; a < n; a++) {
    if (summed[a]) {
      if (!gemel_dim_is_constant(l->c->by->context, l->from->dims[a], &shape[a])) {
        return gemel__no_value;
      }
      axes[count++] = a;
    }
  }
  gemel_attr attr = gemel_attr_ints("axes", count, axes);
  t = gemel__offer_broadcast(t, n, shape);
  t = gemel__offer_make(l->c->offers->graph, "sum", 1, &t, 1, &attr);
  return gemel__offer_aligned(t, n - (int)count);
}

/* If coefficient K has all summed axes, its own sum over them is a coefficient of the sum. */
static void sum_coefficient(struct linear *l, size_t k, const unsigned char *summed, int n_summed,
                            const int *map) {
  gemel__coefficient own = l->c->pool[k];
  int64_t shape[GEMEL_MAX_RANK], axes[GEMEL_MAX_RANK];
  gemel__coefficient sum = {own.value, {0}, 0, 0, 0};
  int n = gemel__offer_shape(own.value, shape), count = 0, left = 0;
  gemel_attr attr;
  memset(sum.axes, -1, sizeof sum.axes);
  for (int j = 0; j < n; j++) {
    if (own.axes[j] >= 0 && summed[(int)own.axes[j]]) {
      axes[count++] = j;
    } else {
      sum.axes[left++] = (signed char)(own.axes[j] >= 0 ? map[(int)own.axes[j]] : -1);
    }
  }
  if (count == n_summed && own.groups <= 1) {
    attr = gemel_attr_ints("axes", (size_t)count, axes);
    sum.value = gemel__offer_make(l->c->offers->graph, "sum", 1, &own.value, 1, &attr);
    gemel__offer(l->c, sum.value);
    gemel__form_add(l->c, l->form, &sum);
  }
}

static void form_sum(struct linear *l) {
  const gemel__form from = l->c->forms[l->inputs[0].node];
  int keep = l->attrs[1].u.i != 0, map[GEMEL_MAX_RANK], at = 0, n_summed = 0;
  unsigned char summed[GEMEL_MAX_RANK] = {0};
  for (size_t k = 0; k < l->attrs[0].count; k++) {
    summed[l->attrs[0].u.ints[k]] = 1;
    n_summed++;
  }
  for (int a = 0; a < GEMEL_MAX_RANK; a++) {
    map[a] = summed[a] ? -1 : at;
    at += !summed[a] || keep;
  }
  map_coefficients(l, l->inputs[0], map);
  for (size_t k = 0; k < from.n; k++) {
    sum_coefficient(l, from.first + k, summed, n_summed, map);
  }
  l->form->scale = map_constant(from.scale, map, l->to->rank);
  for (size_t k = 0; k < from.n_shifts && !keep; k++) {
    gemel_value t = sum_constant(l, from.shifts[k], summed);
    if (gemel_is_null(t)) {
      l->form->n_shifts = 0;
      return;
    }
    add_shift(l, t);
  }
}

/* ---- Products of matrices ---- */

/* An operand of a dot: its contracted axes and its batch axes, in the order of the attributes, and
 * the axis of the result that each of its axes becomes. */
struct linear_operand {
  gemel__ref ref;
  gemel_value closed;
  const int64_t *contracted, *batch;
  size_t n_contracted, n_batch;
  int rank, map[GEMEL_MAX_RANK];
};

/* Fills in O's map, where free axes become AT and the following. Returns the axis after the
 * last. */
static int place_axes(struct linear_operand *o, int at) {
  for (int a = 0; a < GEMEL_MAX_RANK; a++) {
    o->map[a] = 0;
  }
  for (size_t k = 0; k < o->n_contracted; k++) {
    o->map[o->contracted[k]] = -1;
  }
  for (size_t k = 0; k < o->n_batch; k++) {
    o->map[o->batch[k]] = -2 - (int)k;
  }
  for (int a = 0; a < o->rank; a++) {
    o->map[a] = o->map[a] == 0 ? at++ : o->map[a] == -1 ? -1 : -2 - o->map[a];
  }
  return at;
}

static gemel_value dot(const struct linear_operand *x, gemel_value a,
                       const struct linear_operand *y, gemel_value b) {
  gemel_attr attrs[4] = {gemel_attr_ints("contract_x", x->n_contracted, x->contracted),
                         gemel_attr_ints("contract_y", y->n_contracted, y->contracted),
                         gemel_attr_ints("batch_x", x->n_batch, x->batch),
                         gemel_attr_ints("batch_y", y->n_batch, y->batch)};
  gemel_value operands[2] = {a, b};
  return gemel__offer_make(a.graph, "dot", 2, operands, 4, attrs);
}

/* The shift of the product, if T is a shift of operand X, which isn't constant, and Y is. */
static gemel_value shift_through(const struct linear_operand *x, const struct linear_operand *y,
                                 gemel_value t, int x_first) {
  int64_t shape[GEMEL_MAX_RANK], other[GEMEL_MAX_RANK];
  int n = gemel__offer_shape(t, shape);
  gemel__offer_shape(y->closed, other);
  for (size_t k = 0; k < x->n_contracted; k++) {
    shape[x->contracted[k]] = other[y->contracted[k]];
  }
  for (size_t k = 0; k < x->n_batch; k++) {
    shape[x->batch[k]] = other[y->batch[k]];
  }
  t = gemel__offer_broadcast(t, n, shape);
  return x_first ? dot(x, t, y, y->closed) : dot(y, y->closed, x, t);
}

/* If the coefficient V of operand X has all contracted axes, V times the constant Y is a
 * coefficient of the product: dot(dot(u, V), Y) = dot(u, dot(V, Y)). */
static void multiply_coefficient(struct linear *l, const struct linear_operand *x,
                                 const struct linear_operand *y, const gemel__coefficient *v) {
  int64_t shape[GEMEL_MAX_RANK], other[GEMEL_MAX_RANK], contracted[GEMEL_MAX_RANK];
  int n = gemel__offer_shape(v->value, shape), left = 0;
  unsigned char taken[GEMEL_MAX_RANK] = {0};
  struct linear_operand own = {
      .contracted = contracted, .n_contracted = x->n_contracted, .rank = n, .closed = v->value};
  gemel__coefficient product = {{NULL, 0, 0}, {0}, 0, 0, 0};
  double work = 1;
  memset(product.axes, -1, sizeof product.axes);
  gemel__offer_shape(y->closed, other);
  for (size_t k = 0; k < x->n_contracted; k++) {
    int j = 0;
    while (j < n && v->axes[j] != x->contracted[k]) {
      j++;
    }
    if (j == n || shape[j] != other[y->contracted[k]] || v->groups > 1) {
      return;
    }
    contracted[k] = j;
    taken[j] = 1;
  }
  for (int j = 0; j < n; j++) {
    work *= (double)shape[j];
    if (!taken[j]) {
      product.axes[left++] = (signed char)(v->axes[j] >= 0 ? x->map[(int)v->axes[j]] : -1);
    }
  }
  for (int j = 0; j < y->rank; j++) {
    if (y->map[j] >= 0 && left < GEMEL_MAX_RANK) {
      work *= (double)other[j];
      product.axes[left++] = (signed char)y->map[j];
    }
  }
  l->c->work += work <= MOST_WORK ? work : 0;
  if (work <= MOST_WORK && l->c->work <= MOST_ALL_WORK) {
    product.value = dot(&own, v->value, y, y->closed);
  }
  gemel__offer(l->c, product.value);
  gemel__form_add(l->c, l->form, &product);
}

/* The coefficient OWN, along axes of what FROM is the form of, takes up the factors behind FROM's
 * last term alone: W c in conv((x k + b) c, W). OUT are its axes in the result. */
static void take_recent(struct linear *l, const gemel__form *from, const gemel__coefficient *own,
                        const gemel__coefficient *out) {
  if (from->n_shifts > 0 && !gemel_is_null(from->recent)) {
    gemel__coefficient taken = *out;
    taken.value = gemel__coefficient_times(own, from->recent, 0);
    gemel__offer(l->c, taken.value);
    gemel__form_add(l->c, l->form, &taken);
  }
}

/* A dot of X, which isn't constant, and the constant Y. */
static void form_affine(struct linear *l, const struct linear_operand *x,
                        const struct linear_operand *y, int x_first) {
  const gemel__form from = l->c->forms[x->ref.node];
  gemel__coefficient own = {y->closed, {0}, 0, 0, 0};
  memset(own.axes, -1, sizeof own.axes);
  for (size_t k = 0; k < x->n_contracted; k++) {
    own.axes[y->contracted[k]] = (signed char)x->contracted[k];
  }
  for (size_t k = 0; k < x->n_batch; k++) {
    own.axes[y->batch[k]] = (signed char)x->batch[k];
  }
  gemel_value scaled = gemel__coefficient_times(&own, from.scale, 0);
  const gemel__coefficient along = own;
  for (int j = 0; j < GEMEL_MAX_RANK; j++) {
    own.axes[j] = (signed char)(j < y->rank ? y->map[j] : -1);
  }
  take_recent(l, &from, &along, &own);
  gemel__form_add(l->c, l->form, &own);
  gemel__offer(l->c, scaled);
  own.value = scaled;
  gemel__form_add(l->c, l->form, &own);
  map_coefficients(l, x->ref, x->map);
  for (size_t k = 0; k < from.n && x->n_batch == 0; k++) {
    gemel__coefficient v = l->c->pool[from.first + k];
    multiply_coefficient(l, x, y, &v);
  }
  l->form->scale = map_constant(from.scale, x->map, l->to->rank);
  for (size_t k = 0; k < from.n_shifts; k++) {
    add_shift(l, shift_through(x, y, from.shifts[k], x_first));
  }
}

static void form_dot(struct linear *l) {
  struct linear_operand o[2];
  int at = (int)l->attrs[2].count;
  memset(o, 0, sizeof o);
  for (size_t k = 0; k < 2; k++) {
    o[k].ref = l->inputs[k];
    o[k].closed = gemel__offer_copy(l->c, l->inputs[k]);
    o[k].contracted = l->attrs[k].u.ints;
    o[k].n_contracted = l->attrs[k].count;
    o[k].batch = l->attrs[2 + k].u.ints;
    o[k].n_batch = l->attrs[2 + k].count;
    o[k].rank = type_of(l->c, l->inputs[k])->rank;
    at = place_axes(&o[k], at);
  }
  if (!gemel_is_null(o[1].closed)) {
    form_affine(l, &o[0], &o[1], 1);
  } else if (!gemel_is_null(o[0].closed)) {
    form_affine(l, &o[1], &o[0], 0);
  } else {
    map_coefficients(l, l->inputs[0], o[0].map);
    map_coefficients(l, l->inputs[1], o[1].map);
    l->form->shared = 1;
  }
  if (l->count > 2 && !gemel_is_null(gemel__offer_copy(l->c, l->inputs[2]))) {
    add_shift(l, gemel__offer_copy(l->c, l->inputs[2]));
  } else if (l->count > 2) {
    l->form->n_shifts = 0;
    l->form->scale = gemel__no_value;
    coefficients_of(l, 2, 1);
  }
}

/* ---- Correlations ---- */

/* Places of the correlations' attributes, in the order of their rows. */
enum { CORR_LOW = 2, CORR_HIGH, CORR_PADDING, CORR_GROUPS, CORR_FLIP, CORR_UNSHARED };
/* Axes of images and cotangents, and of weights. */
enum { BATCH, CHANNELS };
enum { FILTERS, FILTER_CHANNELS };

static int has_padding(const gemel_attr *attrs) {
  int padded = attrs[CORR_PADDING].kind == GEMEL_ATTR_STRING &&
               strcmp(attrs[CORR_PADDING].u.text, "valid") != 0;
  for (int k = CORR_LOW; k <= CORR_HIGH; k++) {
    for (size_t j = 0; attrs[k].kind != GEMEL_ATTR_NONE && j < attrs[k].count; j++) {
      padded |= attrs[k].u.ints[j] != 0;
    }
  }
  return padded;
}

/* The shift of a correlation with the constant W, if T is a shift of the images that doesn't vary
 * along spatial axes: what one window gives. Without padding all windows give the same. */
static gemel_value shift_correlated(struct linear *l, gemel_value t, gemel_value w) {
  int64_t shape[GEMEL_MAX_RANK], weights[GEMEL_MAX_RANK];
  int n = gemel__offer_shape(t, shape), groups = (int)l->attrs[CORR_GROUPS].u.i;
  gemel_attr attrs[] = {gemel_attr_int("groups", groups),
                        gemel_attr_int("flip", l->attrs[CORR_FLIP].u.i)};
  gemel_value operands[2];
  gemel__offer_shape(w, weights);
  if (shape[BATCH] != 1 || has_padding(l->attrs)) {
    return gemel__no_value;
  }
  for (int a = CHANNELS + 1; a < n; a++) {
    if (shape[a] != 1) {
      return gemel__no_value;
    }
    shape[a] = weights[a];
  }
  shape[CHANNELS] = weights[FILTER_CHANNELS] * groups;
  operands[0] = gemel__offer_broadcast(t, n, shape);
  operands[1] = w;
  return gemel__offer_make(t.graph, "corr", 2, operands, 2, attrs);
}

/* The weights W as a coefficient of what has its channels along W's AXIS. */
static gemel__coefficient weights_along(const struct linear *l, gemel_value w, int axis) {
  gemel__coefficient own = {w, {0}, 0, FILTER_CHANNELS, FILTERS};
  memset(own.axes, -1, sizeof own.axes);
  own.axes[axis] = CHANNELS;
  own.groups = axis == FILTER_CHANNELS ? l->attrs[CORR_GROUPS].u.i : 0;
  return own;
}

/* A correlation of X (images or cotangents), which isn't constant, with constant weights W. Axis IN
 * of W belongs to X's channels, axis OUT to the result's. */
static void form_filtered(struct linear *l, gemel__ref x, gemel_value w, int in, int out) {
  const gemel__form from = l->c->forms[x.node];
  gemel__coefficient own = weights_along(l, w, in);
  int map[GEMEL_MAX_RANK];
  gemel_value scaled = gemel__coefficient_times(&own, from.scale, 0);
  const gemel__coefficient along = own;
  own = weights_along(l, w, out);
  take_recent(l, &from, &along, &own);
  gemel__form_add(l->c, l->form, &own);
  gemel__offer(l->c, scaled);
  own.value = scaled;
  gemel__form_add(l->c, l->form, &own);
  for (int a = 0; a < GEMEL_MAX_RANK; a++) {
    map[a] = a == BATCH ? BATCH : -1;
  }
  map_coefficients(l, x, map);
  l->form->scale = map_constant(from.scale, map, l->to->rank);
  for (size_t k = 0; k < from.n_shifts && out == FILTERS; k++) {
    gemel_value t = shift_correlated(l, from.shifts[k], w);
    if (gemel_is_null(t)) {
      l->form->n_shifts = 0;
      return;
    }
    add_shift(l, t);
  }
}

/* Coefficients of both operands, neither of which is constant. Axis a of operand k, of its first
 * two, becomes PLACES[k][a]. */
static void form_both(struct linear *l, const int places[2][2]) {
  for (int k = 0; k < 2; k++) {
    int map[GEMEL_MAX_RANK];
    for (int a = 0; a < GEMEL_MAX_RANK; a++) {
      map[a] = a < 2 ? places[k][a] : -1;
    }
    map_coefficients(l, l->inputs[k], map);
  }
  l->form->shared = 1;
}

static void form_correlation(struct linear *l) {
  static const int places[2][2] = {{BATCH, -1}, {CHANNELS, -1}};
  gemel_value w = gemel__offer_copy(l->c, l->inputs[1]);
  if (l->attrs[CORR_UNSHARED].u.i != 0) {
    return;
  }
  if (gemel_is_null(w)) {
    form_both(l, places);
  } else {
    form_filtered(l, l->inputs[0], w, FILTER_CHANNELS, FILTERS);
  }
}

static void form_correlated(struct linear *l) {
  static const int places[2][2] = {{-1, -1}, {BATCH, -1}};
  gemel_value w = gemel__offer_copy(l->c, l->inputs[0]);
  if (l->attrs[CORR_UNSHARED].u.i != 0) {
    return;
  }
  if (gemel_is_null(w)) {
    form_both(l, places);
  } else {
    form_filtered(l, l->inputs[1], w, FILTERS, FILTER_CHANNELS);
  }
}

static void form_correlations(struct linear *l) {
  static const int places[2][2] = {{-1, -1}, {-1, FILTERS}};
  if (l->attrs[CORR_UNSHARED].u.i == 0) {
    form_both(l, places);
  }
}

/* ---- All ---- */

typedef void form_filler(struct linear *l);

static form_filler *const fillers[] = {
    [GEMEL__LINEAR_CHOICE] = form_choice,
    [GEMEL__LINEAR_SHUFFLE] = form_dimshuffle,
    [GEMEL__LINEAR_BROADCAST] = form_broadcast,
    [GEMEL__LINEAR_FILL] = form_broadcast,
    [GEMEL__LINEAR_RESHAPE] = form_reshape,
    [GEMEL__LINEAR_PART] = form_part,
    [GEMEL__LINEAR_SECOND] = form_part,
    [GEMEL__LINEAR_PAD] = form_pad,
    [GEMEL__LINEAR_WRITE] = form_write,
    [GEMEL__LINEAR_JOIN] = form_join,
    [GEMEL__LINEAR_REDUCTION] = form_sum,
    [GEMEL__LINEAR_CONTRACTION] = form_dot,
    [GEMEL__LINEAR_CORRELATION] = form_correlation,
    [GEMEL__LINEAR_CORRELATED] = form_correlated,
    [GEMEL__LINEAR_CORRELATIONS] = form_correlations,
};

void gemel__form_linear(gemel__collecting *c, uint32_t node, gemel__linearity linearity,
                        gemel__form *form) {
  const gemel__op *op = gemel__node_op(c->by, node);
  enum { OPERANDS = 3 };
  gemel_type types[OPERANDS];
  struct linear l = {.c = c, .form = form};
  uint32_t attrs = c->by->nodes[node].attrs;
  form_filler *fill = fillers[linearity];
  if (fill == NULL) {
    return;
  }
  l.inputs = gemel__node_inputs(c->by, node, &l.count);
  l.x = l.inputs[linearity == GEMEL__LINEAR_SECOND || linearity == GEMEL__LINEAR_FILL];
  l.from = type_of(c, l.x);
  l.to = gemel__type_at(c->by->context, gemel__node_type(c->by, node, 0));
  for (uint32_t k = 0; k < l.count && k < OPERANDS; k++) {
    types[k] = gemel__node_type(c->by, l.inputs[k].node, l.inputs[k].output);
  }
  if (l.count <= OPERANDS &&
      gemel__normal_attrs(c->by->context, op, attrs, l.count, types, &attrs, NULL) != GEMEL_OK) {
    return;
  }
  l.attrs = gemel__attrs_at(c->by->context, attrs)->values;
  fill(&l);
}
