/* SPDX-License-Identifier: MIT
 *
 * Searches for a change of sign, see crossing.h. Until both signs were seen: secants through the
 * two best places. Between places of both signs: the point at which the line through them is 0,
 * where an end that stays counts half each time (the Illinois method, M. Dowell and P. Jarratt, BIT
 * 11, 1971), and every third time the middle. The middle of floats is half way by ordinals, which
 * takes at most as many steps as the dtype has bits, however large the numbers are.
 */
#include "instances/crossing.h"

#include <math.h>
#include "core/dtype.h"
#include "instances/assumed.h"
#include "sample/ordinal.h"

/* Most steps until both signs were seen, and afterwards; steps of growing size that look for a
 * change of the difference. */
enum { STEPS = 14, STEPS_BETWEEN = 192, DOUBLINGS = 7 };

static int is_float(const gemel__crossing *c) {
  return gemel__is_float(c->leaf->dtype);
}

static int64_t ordinal_of(const gemel__leaf *leaf, long double x) {
  return gemel__ordinal_of(leaf->dtype, gemel__ordinal_nearest(leaf->dtype, (double)x));
}

static long double float_at(const gemel__leaf *leaf, int64_t ordinal) {
  return gemel__ordinal_value(leaf->dtype, gemel__ordinal_bits(leaf->dtype, ordinal));
}

long double gemel__leaf_beside(const gemel__leaf *leaf, long double x, int up) {
  return gemel__is_float(leaf->dtype) ? gemel__ordinal_beside(leaf->dtype, (double)x, up) : x + up;
}

static int bracketed(const gemel__crossing *c) {
  return c->negative.seen && c->positive.seen;
}

static int closed(const gemel__crossing *c) {
  long double a = c->negative.x, b = c->positive.x;
  return a == b || gemel__leaf_beside(c->leaf, a, b > a ? 1 : -1) == b;
}

static void see_end(gemel__crossing *c, int side, gemel__crossing_place at) {
  gemel__crossing_place *end = side < 0 ? &c->negative : &c->positive;
  gemel__crossing_place *opposite = side < 0 ? &c->positive : &c->negative;
  if (end->seen && opposite->seen && fabsl(at.x - opposite->x) >= fabsl(end->x - opposite->x)) {
    return;
  }
  *end = at;
  opposite->f /= c->side == side ? 2 : 1;
  c->side = side;
}

void gemel__crossing_see(gemel__crossing *c, long double x, double f) {
  gemel__crossing_place at = {x, f, 1};
  if (isnan(f)) {
    return;
  }
  if (f <= 0) {
    see_end(c, -1, at);
  }
  if (f >= 0) {
    see_end(c, 1, at);
  }
  if (c->best.seen && fabs(f) > fabs(c->best.f)) {
    c->other = at;
  } else {
    c->other = c->best;
    c->best = at;
  }
}

double gemel__crossing_look(gemel__crossing *c, long double x) {
  double f;
  gemel__leaf_put(c->leaf, c->element, gemel__leaf_within(c->leaf, x));
  f = c->look(c->user);
  gemel__crossing_see(c, gemel__leaf_get(c->leaf, c->element), f);
  return f;
}

/* Looks for a place where the difference is another than at the best one. */
static int find_slope(gemel__crossing *c) {
  const gemel__crossing_place from = c->best;
  long double step = is_float(c) && fabsl(from.x) > 0x1p10L ? fabsl(from.x) * 0x1p-10L : 1;
  for (int k = 0; k < DOUBLINGS; k++, step *= 16) {
    double f = gemel__crossing_look(c, k % 2 == 0 ? from.x + step : from.x - step);
    if (!isnan(f) && f != from.f) {
      return 1;
    }
  }
  return 0;
}

static long double middle(const gemel__crossing *c) {
  long double a = c->negative.x, b = c->positive.x;
  if (is_float(c)) {
    int64_t i = ordinal_of(c->leaf, a), k = ordinal_of(c->leaf, b);
    return float_at(c->leaf, i / 2 + k / 2 + (i % 2 + k % 2) / 2);
  }
  return floorl(a / 2 + b / 2);
}

/* A place strictly between both signs, which aren't neighbours. */
static long double place_between(const gemel__crossing *c, int halve) {
  const gemel__crossing_place *n = &c->negative, *p = &c->positive;
  long double x = n->x - n->f * (p->x - n->x) / ((long double)p->f - n->f);
  x = is_float(c) ? float_at(c->leaf, ordinal_of(c->leaf, x)) : roundl(x);
  if (halve || !(x >= fminl(n->x, p->x) && x <= fmaxl(n->x, p->x))) {
    x = middle(c);
  }
  return x == n->x   ? gemel__leaf_beside(c->leaf, x, p->x > x ? 1 : -1)
         : x == p->x ? gemel__leaf_beside(c->leaf, x, n->x > x ? 1 : -1)
                     : x;
}

int gemel__crossing_find(gemel__crossing *c) {
  int steps = STEPS;
  if (!bracketed(c) && !find_slope(c)) {
    return 0;
  }
  for (int k = 0; k < steps && c->best.f != 0 && !(bracketed(c) && closed(c)); k++) {
    const gemel__crossing_place *a = &c->best, *b = &c->other;
    long double x;
    if (bracketed(c)) {
      steps = STEPS_BETWEEN;
      x = place_between(c, k % 3 == 2);
    } else if (a->f == b->f) {
      return 0;
    } else {
      x = a->x - a->f * (a->x - b->x) / ((long double)a->f - b->f);
      x = is_float(c) ? x : roundl(x);
      x += x != a->x && x != b->x ? 0 : x < b->x ? 1 : -1;
    }
    if (isnan(gemel__crossing_look(c, x))) {
      return 0;
    }
  }
  return c->best.f == 0 || (bracketed(c) && closed(c));
}
