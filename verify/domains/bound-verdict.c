/* SPDX-License-Identifier: MIT
 *
 * Domain B: comparing a computed number with the bound, see bound.h.
 */
#include <math.h>
#include "core/dtype.h"
#include "domains/bound-element.h"

/* GCC 12 takes the first member of an array-of-one type for all of it, and then warns of reading
 * beyond. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

/* The farthest that the computed ball reaches from the exact value, rounded up. */
static void get_radius(arf_t bound, const gemel__bounded *x) {
  arf_t t;
  arf_init(t);
  const arb_struct *c = gemel__bounded_computed(x);
  arf_sub(bound, arb_midref(c), arb_midref(x->exact), 64, ARF_RND_UP);
  arf_abs(bound, bound);
  arf_set_mag(t, arb_radref(c));
  arf_add(bound, bound, t, 64, ARF_RND_UP);
  arf_set_mag(t, arb_radref(x->exact));
  arf_add(bound, bound, t, 64, ARF_RND_UP);
  arf_clear(t);
}

/* Distance of VALUE from the midpoint of the computed ball ÷ its radius, rounded down. */
static double float_ratio(const gemel__bounded *x, double value) {
  const arb_struct *c = gemel__bounded_computed(x);
  arf_t error, radius;
  arf_init(error);
  arf_init(radius);
  arf_set_d(error, value);
  arf_sub(error, error, arb_midref(c), 64, ARF_RND_DOWN);
  arf_abs(error, error);
  arf_set_mag(radius, arb_radref(c));
  double ratio = 0;
  if (!arf_is_zero(error) && arf_is_zero(radius)) {
    ratio = INFINITY;
  } else if (!arf_is_zero(error)) {
    arf_div(error, error, radius, 64, ARF_RND_DOWN);
    ratio = arf_get_d(error, ARF_RND_DOWN);
  }
  arf_clear(error);
  arf_clear(radius);
  return ratio;
}

double gemel__bound_ratio(gemel__domain *d, const void *e, gemel_dtype dtype, double value) {
  const gemel__bounded *x = e;
  if (x->state != GEMEL__DEFINED)
    return 0;
  if (x->infinite)
    return isinf(value) && (value > 0) == (x->infinite > 0) ? 0 : INFINITY;
  if (!isfinite(value))
    return INFINITY;
  if (!gemel__is_float(dtype) && x->same && arb_is_exact(x->exact))
    return gemel__bound_value(d, e) == value ? 0 : INFINITY;
  return float_ratio(x, value);
}

double gemel__bound_radius(gemel__domain *d, const void *e) {
  (void)d;
  const gemel__bounded *x = e;
  if (x->state != GEMEL__DEFINED)
    return INFINITY;
  if (x->infinite)
    return 0;
  arf_t bound;
  arf_init(bound);
  get_radius(bound, x);
  double radius = arf_get_d(bound, ARF_RND_UP);
  arf_clear(bound);
  return radius;
}

void gemel__bound_ball(gemel__domain *d, const void *e, double middle[2], double *radius) {
  const gemel__bounded *x = e;
  middle[0] = gemel__bound_value(d, e);
  middle[1] = 0;
  *radius = x->state == GEMEL__UNDEFINED ? 0 : gemel__bound_radius(d, e);
  if (x->state == GEMEL__DEFINED && isfinite(middle[0])) {
    arf_t rest;
    arf_init(rest);
    arf_set_d(rest, middle[0]);
    arf_sub(rest, arb_midref(x->exact), rest, 64, ARF_RND_NEAR);
    middle[1] = arf_get_d(rest, ARF_RND_NEAR);
    arf_clear(rest);
  }
}

double gemel__bound_relative(gemel__domain *d, const void *e) {
  const gemel__bounded *x = e;
  double relative = INFINITY;
  if (x->state != GEMEL__DEFINED)
    return relative;
  if (x->infinite)
    return 0;
  arf_t bound, value;
  arf_init(bound);
  arf_init(value);
  get_radius(bound, x);
  arb_get_abs_lbound_arf(value, x->exact, 64);
  if (arf_is_zero(bound)) {
    relative = 0;
  } else if (!arf_is_zero(value)) {
    arf_div(bound, bound, value, 64, ARF_RND_UP);
    relative = arf_get_d(bound, ARF_RND_UP);
  }
  arf_clear(bound);
  arf_clear(value);
  (void)d;
  return relative;
}

double gemel__bound_value(gemel__domain *d, const void *e) {
  (void)d;
  const gemel__bounded *x = e;
  if (x->infinite)
    return x->infinite * (double)INFINITY;
  return x->state == GEMEL__DEFINED ? arf_get_d(arb_midref(x->exact), ARF_RND_NEAR) : NAN;
}
