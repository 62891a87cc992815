/* SPDX-License-Identifier: MIT
 *
 * What no kind of rounding explains, see beyond.h. At finite inputs the results of both graphs are
 * held against each other, and where they are apart domain B says how far each may be from the
 * exact result at just these inputs:
 *
 *   NaN, an infinity or half of the digits wrong on the second side,
 *   where the first side is right                                         worsens
 *   two numbers further apart than both bounds together                   bound
 *
 * `worsens` needs several such points, whatever the second side gains at others. But where several
 * inputs are far from 1, any order of products or quotients may overflow: there it must gain
 * nothing, unless either side loses where one input alone is far from 1.
 * Results next to overflow or underflow don't count, but a 0 that no rounding changes does. Digits
 * lost by the order of sums alone don't count if rounding errors of the inputs would lose as many.
 * Where domain B has no number although both sides compute one (an infinity among the constants),
 * ordinary numbers that agree in less than half of their digits are too far apart.
 */
#include "pairs/beyond.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "instances/source.h"
#include "tiers/model.h"
#include "reference/twin.h"

struct look {
  const gemel__pair *pair;
  gemel_tensor *const *values;
  const gemel__both *base;
  gemel__temper temper;
  const gemel__needs_plan *plan;
  gemel__domain *domain;
  /* The left side's results, then the right side's. If ORDERED, also the right side's with exact
   * sums, and the left side's as if VALUES had been rounded. */
  gemel__rtensor *exact;
  int ordered;
  gemel__needs *needs;
  gemel__losses here; /* 1 or 0 each */
};

static double number_at(const gemel_tensor *tensor, size_t i) {
  return gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i));
}

static int is_float(const gemel_tensor *tensor) {
  return gemel__is_float(gemel_tensor_dtype(tensor));
}

static gemel_status note_too_far(struct look *l, size_t output, size_t i, gemel_error *error) {
  gemel__witness *witness = &l->needs->too_far;
  return witness->values != NULL
             ? GEMEL_OK
             : gemel__witness_take(witness, l->pair, l->values, l->base, output, i, error);
}

/* ---- Floats ---- */

/* A dtype of 16 bits: half of its digits are so few that any cancelling sum may lose them. */
static int is_narrow(gemel_dtype dtype) {
  enum { NARROW = 11 };
  return gemel__dtype_format(dtype)->digits <= NARROW;
}

/* The error from which on a result of VALUE has lost its digits: half of them or, in a dtype of 16
 * bits, half of the value. */
static double loss_at(gemel_dtype dtype, double value) {
  return ldexp(fabs(value), is_narrow(dtype) ? -1 : -(gemel__dtype_format(dtype)->digits / 2));
}

/* 1 if element I is worth a look at the exact results, which take long. */
static int is_apart(const struct look *l, size_t output, size_t i) {
  double x = number_at(l->base->left[output], i), y = number_at(l->base->right[output], i);
  gemel_dtype dtype = gemel_tensor_dtype(l->base->left[output]);
  double most = fmax(fabs(x), fabs(y));
  if (isfinite(x) && isfinite(y)) {
    return fabs(x - y) > (l->plan->beyond ? ldexp(most, 2 - gemel__dtype_format(dtype)->digits)
                                          : loss_at(dtype, most) / 2);
  }
  return l->temper != GEMEL__WILD && (isfinite(x) || isfinite(y));
}

static int any_apart(const struct look *l) {
  for (size_t k = 0; k < l->base->n; k++) {
    size_t n = gemel__both_elements(l->base, k);
    for (size_t i = 0; i < n && is_float(l->base->left[k]) && !gemel__both_identical(l->base, k);
         i++) {
      if (is_apart(l, k, i)) {
        return 1;
      }
    }
  }
  return 0;
}

/* The largest finite number among the results of OUTPUT, and at least 1. */
static double scale_of(const struct look *l, size_t output) {
  double most = 1;
  size_t i, n = gemel__both_elements(l->base, output);
  for (i = 0; i < n; i++) {
    double x = number_at(l->base->left[output], i), y = number_at(l->base->right[output], i);
    most = fmax(most, fmax(isfinite(x) ? fabs(x) : 0, isfinite(y) ? fabs(y) : 0));
  }
  return most;
}

/* 1 if two finite numbers are further apart than both bounds together. */
static int is_too_far(struct look *l, size_t output, double x, double y, const void *left,
                      const void *right) {
  gemel__domain *d = l->domain;
  double room, apart;
  if (d->state(d, left) == GEMEL__DEFINED && d->state(d, right) == GEMEL__DEFINED) {
    apart = fabs(gemel__bound_value(d, left) - gemel__bound_value(d, right));
    room = gemel__bound_radius(d, left) + gemel__bound_radius(d, right) +
           (l->plan->folded ? apart : 0);
    return fabs(x - y) > room * (1 + 1e-9);
  }
  if (l->temper == GEMEL__CALM && d->state(d, left) != GEMEL__UNDECIDED &&
      d->state(d, right) != GEMEL__UNDECIDED) {
    int digits = gemel__dtype_format(gemel_tensor_dtype(l->base->left[output]))->digits / 2;
    return fabs(x - y) > ldexp(scale_of(l, output), -digits);
  }
  return 0;
}

static int is_far(const struct look *l) {
  return l->temper == GEMEL__ONE_FAR || l->temper == GEMEL__FAR_APART;
}

/* 1 if E is 0 whatever is rounded, as 0 · x is. */
static int is_exact_zero(const struct look *l, const void *e) {
  gemel__domain *d = l->domain;
  return d->state(d, e) == GEMEL__DEFINED && gemel__bound_value(d, e) == 0 &&
         gemel__bound_radius(d, e) == 0;
}

/* 1 if the number X of one side, whose exact value and bound E holds, is right in more than half of
 * its digits. Near the smallest and the largest numbers of DTYPE it isn't: what X is made of may
 * underflow or overflow, depending on the order of operations. So may what is multiplied by 0,
 * where several inputs are far from 1. */
static int is_right(const struct look *l, gemel_dtype dtype, const void *e, double x) {
  enum { FAR_MARGIN = 3, MARGIN = 24, CLOSER = 4 };
  gemel__domain *d = l->domain;
  int top = gemel__dtype_format(dtype)->highest;
  int margin = is_far(l) ? FAR_MARGIN : top / 3 < MARGIN ? top / 3 : MARGIN;
  if (!isfinite(x) || d->state(d, e) != GEMEL__DEFINED || gemel__bound_ratio(d, e, dtype, x) > 1) {
    return 0;
  }
  double value = gemel__bound_value(d, e), size = fabs(value), loss = loss_at(dtype, value);
  if (is_exact_zero(l, e)) {
    return x == 0 && l->temper != GEMEL__FAR_APART;
  }
  return size >= ldexp(1, 1 - top + margin) && size <= ldexp(1, top - margin) &&
         fabs(x - value) < loss / CLOSER;
}

/* 1 if the bound of OTHER is many times as large as that of E. */
static int has_larger_bound(gemel__domain *d, gemel_dtype dtype, const void *e, const void *other) {
  enum { TIMES = 16 };
  double unit = ldexp(fabs(gemel__bound_value(d, e)), -gemel__dtype_format(dtype)->digits);
  return d->state(d, other) != GEMEL__DEFINED ||
         gemel__bound_radius(d, other) > TIMES * fmax(gemel__bound_radius(d, e), unit);
}

/* 1 if GRAPH computes products and quotients alone: in another order, they overflow elsewhere. */
static int only_multiplies(const gemel_graph *graph) {
  unsigned others = ~(unsigned)(GEMEL__PRODUCTS | GEMEL__QUOTIENTS);
  size_t n = gemel_graph_node_count(graph), k = 0;
  while (k < n && !(gemel__arithmetic(graph, (uint32_t)k) & others)) {
    k++;
  }
  return k == n;
}

/* 1 if Y has left the range on the way to VALUE. In a dtype of 16 bits, a sum or a function may be
 * off by as much. */
static int has_left_range(gemel__domain *d, gemel_dtype dtype, double value, const void *other,
                          double y) {
  int counts = !is_narrow(dtype) || d->state(d, other) != GEMEL__DEFINED;
  return !isfinite(y) || (counts && fabs(y - value) > fabs(value) / 2);
}

/* What the OTHER side, whose result is Y, loses where one with the exact value and bound E is
 * right; GEMEL__LOSSES: nothing. In the place of an exact 0 only NaN and infinities count: of x − x
 * any rounding error is more than half of the digits. An error counts if OTHER's bound is many
 * times as large as E's: with equal bounds the first side may lose as much at other numbers. */
static int loss_of(const struct look *l, gemel_dtype dtype, const void *e, const void *other,
                   double y) {
  enum { CLOSER = 4 };
  gemel__domain *d = l->domain;
  double value = gemel__bound_value(d, e), radius = gemel__bound_radius(d, e);
  if (isfinite(y) && is_exact_zero(l, e)) {
    return GEMEL__LOSSES;
  }
  if (is_far(l)) {
    return has_left_range(d, dtype, value, other, y) ? GEMEL__LOST_RANGE : GEMEL__LOSSES;
  }
  if (isfinite(y) && (l->plan->folded || !has_larger_bound(d, dtype, e, other) ||
                      !(fabs(y - value) > fmax(loss_at(dtype, value), CLOSER * radius)))) {
    return GEMEL__LOSSES;
  }
  return isfinite(y) ? GEMEL__LOST_DIGITS : GEMEL__LOST_ALL;
}

/* ---- Another order of summation ---- */

/* Called ahead of each node: sums are exact. */
static gemel__reference sums_exactly(void *user, uint32_t op) {
  gemel__bound *bound = user;
  bound->exact = (gemel__twin_of(op)->arithmetic & GEMEL__SUMS) != 0;
  return NULL;
}

/* The right side with exact sums, and what the left side may be where its inputs were rounded. */
static gemel_status evaluate_orders(struct look *l, gemel_dtype dtype, gemel_error *error) {
  gemel__bound *bound = (gemel__bound *)l->domain;
  gemel_status status = gemel__instance_reference_by(
      &l->pair->b, l->domain, l->values, l->exact + 2 * l->base->n, sums_exactly, bound, error);
  bound->exact = 0;
  l->ordered = 1;
  GEMEL__TRY(status);
  bound->rounded = 1;
  bound->dtype = dtype;
  status = gemel__instance_reference(&l->pair->a, l->domain, l->values, l->exact + 3 * l->base->n,
                                     error);
  bound->rounded = 0;
  return status;
}

/* 1 if the right side loses digits by the order of its sums alone, and rounding the inputs would
 * lose as many: (x + y) + (z + w) as ((x + y) + z) + w, where x is about −y. */
static int is_of_order(const struct look *l, size_t output, size_t i, const void *left, double y) {
  enum { TIMES = 4 };
  gemel__domain *d = l->domain;
  const gemel__rtensor *summed = &l->exact[2 * l->base->n + output];
  const gemel__rtensor *rounded = &l->exact[3 * l->base->n + output];
  if (i >= summed->count || i >= rounded->count) {
    return 0;
  }
  const void *e = gemel__rtensor_at(summed, i), *other = gemel__rtensor_at(rounded, i);
  return d->state(d, e) == GEMEL__DEFINED && d->state(d, other) == GEMEL__DEFINED &&
         !has_larger_bound(d, gemel_tensor_dtype(l->base->left[output]), left, e) &&
         fabs(y - gemel__bound_value(d, left)) <= TIMES * gemel__bound_radius(d, other);
}

static gemel_status look_for_losses(struct look *l, size_t output, size_t i, const void *left,
                                    const void *right, gemel_error *error) {
  gemel_dtype dtype = gemel_tensor_dtype(l->base->left[output]);
  double x = number_at(l->base->left[output], i), y = number_at(l->base->right[output], i);
  gemel__witness *witness = &l->needs->loss;
  int lost = is_right(l, dtype, left, x) ? loss_of(l, dtype, left, right, y) : GEMEL__LOSSES;
  int gained = is_right(l, dtype, right, y) ? loss_of(l, dtype, right, left, x) : GEMEL__LOSSES;
  l->here.range_gained |= gained == GEMEL__LOST_RANGE;
  l->here.range_alone |=
      l->temper == GEMEL__ONE_FAR && (lost == GEMEL__LOST_RANGE || gained == GEMEL__LOST_RANGE);
  if (lost != GEMEL__LOSSES && isfinite(y) && !l->ordered) {
    GEMEL__TRY(evaluate_orders(l, dtype, error));
  }
  if (lost == GEMEL__LOSSES || (isfinite(y) && is_of_order(l, output, i, left, y))) {
    return GEMEL_OK;
  }
  l->here.lost[lost] = 1;
  return witness->values != NULL
             ? GEMEL_OK
             : gemel__witness_take(witness, l->pair, l->values, l->base, output, i, error);
}

static gemel_status look_at_element(struct look *l, size_t output, size_t i, gemel_error *error) {
  const void *left = gemel__rtensor_at(&l->exact[output], i);
  const void *right = gemel__rtensor_at(&l->exact[l->base->n + output], i);
  double x = number_at(l->base->left[output], i), y = number_at(l->base->right[output], i);
  if (l->plan->beyond && isfinite(x) && isfinite(y) && is_too_far(l, output, x, y, left, right)) {
    GEMEL__TRY(note_too_far(l, output, i, error));
  }
  return l->temper != GEMEL__WILD ? look_for_losses(l, output, i, left, right, error) : GEMEL_OK;
}

static gemel_status look_at_floats(struct look *l, gemel_error *error) {
  for (size_t k = 0; k < l->base->n; k++) {
    size_t n = gemel__both_elements(l->base, k);
    for (size_t i = 0; i < n && is_float(l->base->left[k]); i++) {
      if (is_apart(l, k, i) && i < l->exact[k].count && i < l->exact[l->base->n + k].count) {
        GEMEL__TRY(look_at_element(l, k, i, error));
      }
    }
  }
  return GEMEL_OK;
}

static gemel_status look_at_exact(struct look *l, gemel_error *error) {
  GEMEL__TRY(gemel__instance_reference(&l->pair->a, l->domain, l->values, l->exact, error));
  GEMEL__TRY(
      gemel__instance_reference(&l->pair->b, l->domain, l->values, l->exact + l->base->n, error));
  return look_at_floats(l, error);
}

static gemel_status look_with_bounds(struct look *l, gemel_error *error) {
  size_t n = 4 * l->base->n;
  l->exact = gemel__alloc_zeroed(n * sizeof *l->exact);
  if (l->exact == NULL) {
    return gemel__no_memory(error, "exact results");
  }
  gemel_status status = look_at_exact(l, error);
  gemel__rtensors_free(n, l->exact);
  return status;
}

/* 1 if results may differ in range by the order of products and quotients alone. */
static int is_mere_order(const struct look *l) {
  return l->temper == GEMEL__FAR_APART && only_multiplies(l->pair->a.graph) &&
         only_multiplies(l->pair->b.graph);
}

static gemel_status look_at_results(struct look *l, gemel_error *error) {
  int asked = l->plan->beyond || (l->temper != GEMEL__WILD && !is_mere_order(l));
  return asked && any_apart(l) ? look_with_bounds(l, error) : GEMEL_OK;
}

gemel_status gemel__beyond_look(const gemel__pair *pair, gemel_tensor *const *values,
                                const gemel__both *base, gemel__temper temper,
                                const gemel__needs_plan *plan, gemel__bound *bound,
                                gemel__needs *needs, gemel_error *error) {
  struct look l = {pair, values, base, temper, plan, &bound->domain, NULL, 0, needs, {{0}, 0, 0}};
  gemel_status status = look_at_results(&l, error);
  gemel__losses_add(&needs->losses, &l.here);
  return status;
}

/* ---- Points, and results of them ---- */

gemel__temper gemel__temper_of(gemel__style style) {
  return style == GEMEL__STYLE_FULL || style == GEMEL__STYLE_SHORT    ? GEMEL__CALM
         : style == GEMEL__STYLE_ZEROS || style == GEMEL__STYLE_LARGE ? GEMEL__TAME
                                                                      : GEMEL__WILD;
}

gemel__temper gemel__temper_of_integers(const gemel_tensor *tensor) {
  size_t n = (size_t)gemel_tensor_elements(tensor), i;
  for (i = 0; i < n; i++) {
    if (fabs(gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i))) > 1000) {
      return GEMEL__WILD;
    }
  }
  return GEMEL__TAME;
}

int gemel__is_wrong(gemel_dtype dtype, double computed, double exact, double room) {
  int p = gemel__dtype_format(dtype)->digits, top = gemel__dtype_format(dtype)->highest;
  double unit = fmax(ldexp(fabs(exact), 5 - p), ldexp(16, 2 - top - p));
  return !isfinite(computed) || fabs(computed - exact) > fmax(room, unit);
}

int gemel__are_alike(gemel_dtype dtype, double left, double right) {
  int p = gemel__dtype_format(dtype)->digits, top = gemel__dtype_format(dtype)->highest;
  double unit = fmax(ldexp(fmax(fabs(left), fabs(right)), 4 - p), ldexp(8, 2 - top - p));
  return isfinite(left) && isfinite(right) && fabs(left - right) <= unit;
}

/* ---- Words ---- */

void gemel__losses_add(gemel__losses *total, const gemel__losses *one) {
  for (size_t k = 0; k < GEMEL__LOSSES; k++) {
    total->lost[k] += one->lost[k];
  }
  total->range_gained |= one->range_gained;
  total->range_alone |= one->range_alone;
}

/* How many points are enough for losses of kind K; SIZE_MAX: none are. Two orders of products, as
 * in dot(dot(x, y), z), each lose range at some points, but not where one input alone is far
 * from 1.
 */
static size_t enough(const gemel__losses *losses, size_t k) {
  enum { FEW = 2, MANY = 12 };
  if (k != GEMEL__LOST_RANGE || losses->range_alone) {
    return FEW;
  }
  return losses->range_gained ? SIZE_MAX : MANY;
}

int gemel__losses_worsen(const gemel__losses *losses) {
  size_t k = 0;
  while (k < GEMEL__LOSSES && losses->lost[k] < enough(losses, k)) {
    k++;
  }
  return k < GEMEL__LOSSES;
}

size_t gemel__losses_open(const gemel__losses *losses) {
  size_t digits = losses->lost[GEMEL__LOST_DIGITS], range = losses->lost[GEMEL__LOST_RANGE];
  size_t many = enough(losses, GEMEL__LOST_RANGE);
  int few = range > 0 ? range < many && many < SIZE_MAX : losses->range_gained;
  return digits > 0 && digits < enough(losses, GEMEL__LOST_DIGITS) ? GEMEL__LOST_DIGITS
         : few                                                     ? GEMEL__LOST_RANGE
                                                                   : GEMEL__LOSSES;
}

gemel__witness *gemel__beyond_witness(gemel__needs *needs, unsigned refused, const char **word) {
  size_t at = 0;
  if (needs->too_far.values != NULL) {
    *word = "more than rounding";
    return &needs->too_far;
  }
  while (at + 1 < GEMEL_NEEDS_COUNT &&
         (!(refused >> at & 1) || needs->witness[at].values == NULL)) {
    at++;
  }
  *word = gemel_needs_word((int)at);
  return &needs->witness[at];
}

/* ---- Integers to try ---- */

/* A number beside 2^k, where the significands of floats and the widths of integers end; a multiple
 * of a small number or beside one; or any bits. */
static uint64_t odd_integer(gemel__random *random) {
  static const int widths[] = {7, 8, 11, 12, 15, 16, 24, 25, 31, 32, 53, 54, 63};
  uint64_t bits = gemel__random_bits(random);
  int width = widths[gemel__random_below(random, sizeof widths / sizeof *widths)];
  uint64_t near = ((uint64_t)1 << width) + (uint64_t)gemel__random_between(random, -2, 3);
  switch (gemel__random_below(random, 4)) {
  case 0:
    return bits;
  case 1:
    return (bits >> gemel__random_below(random, 60)) / 9 * 9 * (bits % 8 + 1) - bits % 2;
  case 2:
    return -near;
  default:
    return near;
  }
}

void gemel__beyond_fill(gemel_tensor *tensor, uint64_t common, gemel__random *random) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  size_t n = (size_t)gemel_tensor_elements(tensor), size = gemel_dtype_size(dtype), i;
  gemel__random shared;
  gemel__random_seed(&shared, common);
  for (i = 0; i < n; i++) {
    uint64_t near = odd_integer(&shared) + (uint64_t)gemel__random_between(random, -1, 1);
    int64_t x = (int64_t)(gemel__random_chance(random, 1, 2) ? near : odd_integer(random));
    gemel__points_store(dtype, 1, NULL, &x, (char *)gemel_tensor_data(tensor) + i * size);
  }
}

/* ---- Numbers at which digits are lost ---- */

enum { NEAR, SMALL, ORDINARY, EACH, INVERSE, FAR_APART };

/* How the numbers of one leaf are drawn: BASE (1 + STEP u) or BASE u. */
struct leaf_way {
  double base, step;
  int near;
};

/* SIZE: −1, 0 or 1, where the numbers of INVERSE and FAR_APART are small, moderate or large. */
static struct leaf_way numbers_of(const gemel__leaf *leaf, uint64_t way, int size, double base,
                                  double share, gemel__random *random) {
  const gemel__format *format = gemel__dtype_format(leaf->dtype);
  /* the product of three small numbers doesn't underflow */
  double step = ldexp(1, -(int)fmin(share * format->digits, format->highest / 3));
  double sign = gemel__random_sign(random);
  way = way == EACH ? gemel__random_below(random, EACH) : way;
  double scale = way == FAR_APART ? ldexp(size != 0 ? 1 / base : 1, size * format->highest * 5 / 8)
                 : way == SMALL   ? step
                 : way == INVERSE && !is_narrow(leaf->dtype) ? pow(step, -size)
                                                             : 1;
  return (struct leaf_way){sign * base * scale, step, way == NEAR};
}

/* The size of the numbers of leaf K of N. If the point is FAR, those of the leaf CHOSEN alone are
 * far from 1, or of all leaves if there is none of that number. */
static int size_of(size_t k, size_t n, int far, size_t chosen, gemel__random *random) {
  if (!far) {
    return (k + chosen) % 2 ? 1 : -1;
  }
  return chosen < n && k != chosen ? 0 : (int)gemel__random_sign(random);
}

/* The kinds of points, which take turns. MORE: numbers agree in more than half of their digits;
 * else in fewer, which is where their squares lose half. INVERSE: some are as large as others are
 * small, so their products are moderate. */
static const struct {
  uint64_t way;
  int more;
} turns[] = {{NEAR, 0}, {INVERSE, 1},   {NEAR, 1}, {FAR_APART, 0}, {SMALL, 1}, {EACH, 0},
             {NEAR, 1}, {FAR_APART, 0}, {NEAR, 0}, {INVERSE, 1},   {NEAR, 1},  {FAR_APART, 0}};

size_t gemel__losses_turn(size_t open, size_t turn) {
  while (open < GEMEL__LOSSES &&
         (open == GEMEL__LOST_RANGE) !=
             (turns[turn % (sizeof turns / sizeof *turns)].way == FAR_APART)) {
    turn++;
  }
  return turn;
}

/* The magnitude of a point's numbers: of a constant, or any moderate one. */
static double base_of(const gemel__pair *pair, gemel__random *random) {
  enum { CONSTANTS = 16 };
  double constants[2 * CONSTANTS], any = gemel__random_magnitude(random, -1, 2);
  size_t n = 0;
  gemel__constants(pair->a.graph, constants, CONSTANTS, &n);
  gemel__constants(pair->b.graph, constants, 2 * CONSTANTS, &n);
  double c = n > 0 ? fabs(constants[gemel__random_below(random, n)]) : 0;
  return c > 0x1p-10 && c < 0x1p10 && gemel__random_chance(random, 3, 4) ? c : any;
}

gemel__temper gemel__losses_fill(const gemel__pair *pair, size_t turn, gemel__random *random,
                                 gemel_tensor *const *values) {
  double base = base_of(pair, random);
  size_t n_far = 0, chosen = gemel__random_below(random, 2 * pair->a.n_leaves + 1);
  turn %= sizeof turns / sizeof *turns;
  double share = (turns[turn].more ? 0.5 : 0.1) + gemel__random_uniform(random, 0, 0.3);
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    const gemel__leaf *leaf = &pair->a.leaves[k];
    if (!gemel__is_float(leaf->dtype)) {
      continue;
    }
    int far = turns[turn].way == FAR_APART;
    int size = size_of(k, pair->a.n_leaves, far, chosen, random);
    struct leaf_way n = numbers_of(leaf, turns[turn].way, size, base, share, random);
    n_far += far && size != 0;
    for (size_t i = 0; i < leaf->count; i++) {
      double u = gemel__random_sign(random) * gemel__random_uniform(random, 0.5, 1);
      gemel__store_real(leaf->dtype, n.near ? n.base * (1 + n.step * u) : n.base * u,
                        (char *)gemel_tensor_data(values[k]) + i * gemel_dtype_size(leaf->dtype));
    }
  }
  return n_far == 0 ? GEMEL__CALM : n_far == 1 ? GEMEL__ONE_FAR : GEMEL__FAR_APART;
}
