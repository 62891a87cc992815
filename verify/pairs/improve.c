/* SPDX-License-Identifier: MIT
 *
 * Whether the right side improves: each side's result is held against the exact result and the
 * other's error bound, both of domain B. At a point at which the right side is better, variants of
 * that point are tried (inputs exchanged, tied, negated, inverted, scaled): a sum in another order,
 * which is better by luck, is worse at one of them.
 */
#include "pairs/measure.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "instances/assumed.h"
#include "pairs/widen.h"

/* Found enough, by trial, for reorderings that are better at nearly all points. The elements are
 * those of the variants' results: exact results of large ones take long, and each shows much. */
enum { CHALLENGES = 40, CHALLENGED_ELEMENTS = 1 << 17 };

/* The bounds of both sides at one element. */
struct yardstick {
  int known; /* of the right side */
  double value, left_room, right_room, relative;
};

static struct yardstick yardstick_of(gemel__domain *d, const void *left, const void *right) {
  struct yardstick y = {0, 0, INFINITY, INFINITY, INFINITY};
  if (d->state(d, left) == GEMEL__DEFINED) {
    y.left_room = gemel__bound_radius(d, left);
  }
  if (d->state(d, right) == GEMEL__DEFINED) {
    y.value = gemel__bound_value(d, right);
    y.right_room = gemel__bound_radius(d, right);
    y.relative = y.right_room == 0 ? 0 : gemel__bound_relative(d, right);
    y.known = isfinite(y.value) && isfinite(y.right_room);
  }
  return y;
}

/* The right side is better or worse at an element, which WITNESS shows unless it has one. */
static gemel_status count(struct gemel__measure *m, size_t *counter, gemel__witness *witness,
                          gemel_tensor *const *values, const gemel__both *base, size_t output,
                          size_t i, gemel_error *error) {
  ++*counter;
  return witness->values != NULL
             ? GEMEL_OK
             : gemel__witness_take(witness, &m->pair, values, base, output, i, error);
}

/* Each side is wrong if it is off by more than the other's bound. */
static gemel_status judge_element(struct gemel__measure *m, const struct yardstick *y,
                                  gemel_tensor *const *values, const gemel__both *base,
                                  size_t output, size_t i, gemel_error *error) {
  gemel_dtype dtype = gemel_tensor_dtype(base->left[output]);
  double left = gemel__decode(dtype, gemel__tensor_element(base->left[output], i));
  double right = gemel__decode(dtype, gemel__tensor_element(base->right[output], i));
  int left_wrong, right_wrong;
  if (gemel__are_alike(dtype, left, right)) {
    return GEMEL_OK;
  }
  if (!y->known && !(isfinite(left) && !isfinite(right) && isfinite(y->left_room))) {
    return GEMEL_OK;
  }
  if (!y->known) {
    return count(m, &m->worse, &m->needs->worse, values, base, output, i, error);
  }
  left_wrong = gemel__is_wrong(dtype, left, y->value, y->right_room);
  right_wrong = gemel__is_wrong(dtype, right, y->value, y->left_room);
  if (right_wrong && (!left_wrong || !isfinite(right))) {
    return count(m, &m->worse, &m->needs->worse, values, base, output, i, error);
  }
  if (!left_wrong || right_wrong ||
      !(y->relative < ldexp(1, -gemel__dtype_format(dtype)->digits / 2))) {
    return GEMEL_OK;
  }
  return count(m, &m->better, &m->needs->improvement, values, base, output, i, error);
}

static gemel_status judge_improvement(struct gemel__measure *m, gemel_tensor *const *values,
                                      const gemel__both *base, const gemel__rtensor *exact,
                                      gemel_error *error) {
  gemel__domain *d = &m->bound->domain;
  for (size_t k = 0; k < base->n; k++) {
    const gemel__rtensor *left = &exact[k], *right = &exact[base->n + k];
    if (!gemel__is_float(right->dtype)) {
      continue;
    }
    for (size_t i = 0; i < right->count && i < left->count; i++) {
      struct yardstick y = yardstick_of(d, gemel__rtensor_at(left, i), gemel__rtensor_at(right, i));
      GEMEL__TRY(judge_element(m, &y, values, base, k, i, error));
    }
  }
  return GEMEL_OK;
}

/* 1 if some element may be wrong on one side: exact results, which take long, are needed. */
static int any_apart(const gemel__both *base) {
  for (size_t k = 0; k < base->n; k++) {
    gemel_dtype dtype = gemel_tensor_dtype(base->left[k]);
    int is_float = gemel__is_float(dtype);
    for (size_t i = 0; is_float && i < gemel__both_elements(base, k); i++) {
      if (!gemel__are_alike(dtype, gemel__decode(dtype, gemel__tensor_element(base->left[k], i)),
                            gemel__decode(dtype, gemel__tensor_element(base->right[k], i)))) {
        return 1;
      }
    }
  }
  return 0;
}

/* 1 if the right side is wrong somewhere, whatever the left side's bound allows it: EXACT are the
 * right side's. */
static int right_in_doubt(struct gemel__measure *m, const gemel__both *base,
                          const gemel__rtensor *exact) {
  gemel__domain *d = &m->bound->domain;
  for (size_t k = 0; k < base->n; k++) {
    gemel_dtype dtype = exact[k].dtype;
    int is_float = gemel__is_float(dtype);
    for (size_t i = 0; is_float && i < exact[k].count; i++) {
      const void *e = gemel__rtensor_at(&exact[k], i);
      double right = gemel__decode(dtype, gemel__tensor_element(base->right[k], i));
      if (!isfinite(right) || (d->state(d, e) == GEMEL__DEFINED &&
                               gemel__is_wrong(dtype, right, gemel__bound_value(d, e), 0))) {
        return 1;
      }
    }
  }
  return 0;
}

/* One point: are the results of either side wrong? With ONLY_WORSE it is asked only where the right
 * side does worse, which often needs no exact result of the left. */
static gemel_status hold_against_exact(struct gemel__measure *m, gemel_tensor *const *values,
                                       const gemel__both *base, int only_worse,
                                       gemel_error *error) {
  gemel__domain *d = &m->bound->domain;
  if (!any_apart(base)) {
    return GEMEL_OK;
  }
  gemel__rtensor *exact = gemel__alloc_array(2 * base->n, sizeof *exact);
  if (exact == NULL) {
    return gemel__no_memory(error, "exact results");
  }
  gemel_status status = gemel__instance_reference(&m->pair.b, d, values, exact + base->n, error);
  if (status == GEMEL_OK && (!only_worse || right_in_doubt(m, base, exact + base->n))) {
    status = gemel__instance_reference(&m->pair.a, d, values, exact, error);
    status = status ? status : judge_improvement(m, values, base, exact, error);
  }
  gemel__rtensors_free(2 * base->n, exact);
  return status;
}

/* How the numbers of a point are turned. */
struct point_turn {
  size_t shift;     /* leaves of one type change places: a rotation or a reflection */
  int mirror, vary; /* VARY: numbers of some leaves are negated or inverted */
  int scale;        /* all numbers times 2^scale, or 2^−scale for leaves with a bit in DOWN */
  uint64_t down;
  int tie;                   /* one leaf is ± another of its type */
  const gemel__both *cancel; /* one leaf less the left side's result, where they are of one type */
};

static double turn_number(const struct point_turn *t, size_t leaf, double x, double sign,
                          int invert) {
  x = invert && x != 0 && isfinite(1 / x) ? 1 / x : x;
  return sign * ldexp(x, t->down >> leaf % 64 & 1 ? -t->scale : t->scale);
}

static const gemel_tensor *cancelled(const struct point_turn *t, const gemel__leaf *leaf) {
  const gemel_tensor *result = t->cancel != NULL ? t->cancel->left[0] : NULL;
  int fits = result != NULL && gemel_tensor_dtype(result) == leaf->dtype &&
             (size_t)gemel_tensor_elements(result) == leaf->count;
  return fits ? result : NULL;
}

static gemel_status turn_leaf(struct gemel__measure *m, struct point_turn *t, size_t k,
                              gemel_tensor *const *values, gemel_tensor **turned,
                              gemel_error *error) {
  size_t n = m->pair.a.n_leaves, i;
  const gemel__leaf *leaf = &m->pair.a.leaves[k];
  size_t size = gemel_dtype_size(leaf->dtype), from = (t->shift + (t->mirror ? n - k : k)) % n;
  const gemel__leaf *other = &m->pair.a.leaves[from];
  double sign = t->vary && gemel__random_chance(&m->random, 1, 3) ? -1 : 1;
  int invert = t->vary && gemel__random_chance(&m->random, 1, 3);
  const gemel_tensor *less = k == t->shift ? cancelled(t, leaf) : NULL;
  if (!gemel__is_float(leaf->dtype)) {
    turned[k] = gemel_tensor_ref(values[k]);
    return GEMEL_OK;
  }
  if (t->tie && k == t->shift) {
    from = (k + 1) % n;
    sign = gemel__random_sign(&m->random);
  } else if (t->tie || t->cancel != NULL) {
    from = k;
  }
  other = &m->pair.a.leaves[from];
  from = other->dtype == leaf->dtype && other->count == leaf->count ? from : k;
  turned[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, error);
  if (turned[k] == NULL) {
    return GEMEL_NO_MEMORY;
  }
  for (i = 0; i < leaf->count; i++) {
    double x = gemel__decode(leaf->dtype, gemel__tensor_element(values[from], i));
    double y = less != NULL ? gemel__decode(leaf->dtype, gemel__tensor_element(less, i)) : 0;
    x = turn_number(t, from, x, sign, invert) - (isfinite(y) ? y : 0);
    x = isfinite(x) ? x : 1;
    gemel__points_store(leaf->dtype, 1, &x, NULL, (char *)gemel_tensor_data(turned[k]) + i * size);
  }
  gemel__tensor_settle(leaf, turned[k]);
  return GEMEL_OK;
}

static gemel_status challenge(struct gemel__measure *m, gemel_tensor *const *values,
                              gemel_error *error);

static int challenged_enough(const struct gemel__measure *m) {
  return m->challenges >= CHALLENGES || m->challenged >= CHALLENGED_ELEMENTS;
}

/* TURNED has room for the point. */
static gemel_status judge_turn(struct gemel__measure *m, struct point_turn *t,
                               gemel_tensor *const *values, int challenged, gemel_tensor **turned,
                               gemel_error *error) {
  size_t k, before = m->better;
  gemel__both both;
  for (k = 0; k < m->pair.a.n_leaves; k++) {
    GEMEL__TRY(turn_leaf(m, t, k, values, turned, error));
  }
  GEMEL__TRY(gemel__both_run(&m->pair, turned, &m->random, &both, error));
  gemel_status status = hold_against_exact(m, turned, &both, !challenged, error);
  for (k = 0; !challenged && k < both.n; k++) {
    m->challenged += gemel__both_elements(&both, k);
  }
  gemel__both_clear(&both);
  return status == GEMEL_OK && challenged && m->better > before ? challenge(m, turned, error)
                                                                : status;
}

/* CHALLENGED: if the right side is better there, variants of the point are tried. */
static gemel_status judge_turned(struct gemel__measure *m, struct point_turn *t,
                                 gemel_tensor *const *values, int challenged, gemel_error *error) {
  size_t n = m->pair.a.n_leaves;
  gemel_tensor **turned = gemel__alloc_array(n, sizeof *turned);
  gemel_status status = turned == NULL ? gemel__no_memory(error, "values")
                                       : judge_turn(m, t, values, challenged, turned, error);
  gemel__tensors_free(n, turned);
  return status;
}

/* The right side is better at a point. If that is luck, it is worse at some variant: with leaves
 * exchanged, signs changed, or numbers near overflow or underflow. */
static gemel_status challenge(struct gemel__measure *m, gemel_tensor *const *values,
                              gemel_error *error) {
  enum { TURNS = 100 };
  size_t n = m->pair.a.n_leaves, k;
  gemel_dtype dtype = gemel_tensor_dtype(values[0]);
  int top = gemel__dtype_format(dtype)->highest;
  if (challenged_enough(m)) {
    return GEMEL_OK;
  }
  m->challenges++;
  for (k = 0; k < TURNS && m->worse == 0 && !challenged_enough(m); k++) {
    struct point_turn t = {0, 0, 0, 0, 0, 0, NULL};
    GEMEL__TRY(gemel__tick(m->plan->ticker));
    t.shift = k / 2 % n;
    t.mirror = (int)(k % 2);
    t.vary = k >= 2 * n && gemel__random_chance(&m->random, 1, 2);
    if (k >= 2 * n && gemel__random_chance(&m->random, 1, 2)) {
      int near = gemel__random_chance(&m->random, 1, 2);
      t.scale = (int)gemel__random_between(&m->random, near ? 8 : top - 8, near ? 30 : top);
      t.down = gemel__random_bits(&m->random);
    }
    t.tie = k >= 2 * n && gemel__random_chance(&m->random, 1, 2);
    GEMEL__TRY(judge_turned(m, &t, values, 0, error));
  }
  return GEMEL_OK;
}

/* Where the results nearly cancel, it shows which side is the better one. */
static gemel_status measure_cancelling(struct gemel__measure *m, gemel_tensor *const *values,
                                       const gemel__both *base, gemel_error *error) {
  struct point_turn t = {0, 0, 0, 0, 0, 0, NULL};
  t.shift = gemel__random_below(&m->random, m->pair.a.n_leaves);
  t.cancel = base;
  return judge_turned(m, &t, values, 1, error);
}

gemel_status gemel__measure_improvement(struct gemel__measure *m, gemel_tensor *const *values,
                                        const gemel__both *base, gemel_error *error) {
  size_t before = m->better;
  GEMEL__TRY(m->worse > 0 || m->pair.a.n_leaves == 0
                 ? GEMEL_OK
                 : hold_against_exact(m, values, base, 0, error));
  if (m->better > before && m->worse == 0) {
    GEMEL__TRY(challenge(m, values, error));
  }
  if (m->worse == 0 && m->pair.a.n_leaves > 0) {
    GEMEL__TRY(measure_cancelling(m, values, base, error));
  }
  return GEMEL_OK;
}

gemel_status gemel__challenge_rarity(struct gemel__measure *m, gemel_error *error) {
  gemel__pair drawn = m->pair;
  gemel_status status = GEMEL_OK;
  if (m->better == 0) {
    return GEMEL_OK;
  }
  gemel__pair_compile(&m->needs->improvement.pair);
  m->pair = m->needs->improvement.pair;
  while (status == GEMEL_OK && m->worse == 0 && !challenged_enough(m)) {
    status = challenge(m, m->needs->improvement.values, error);
  }
  m->pair = drawn;
  return status;
}
