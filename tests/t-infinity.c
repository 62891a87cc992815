/* SPDX-License-Identifier: MIT
 *
 * ±∞ in the domains O, F and B and in dual numbers: every operation on numbers and infinities gives
 * what C's does in doubles, and has no value where that is NaN or a pole (1 ÷ 0 has a sign that
 * depends on the zero's). F has known numbers here, so nothing is left open. Where intervals stand
 * for whole domains, what covers a number and an infinity must hold all that either gives.
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "domains/bound.h"
#include "domains/dual.h"
#include "domains/field.h"
#include "domains/ordered.h"
#include "reference/common.h"

static const double numbers[] = {-INFINITY, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, INFINITY};

/* ---- Domains ---- */

typedef struct bench {
  gemel__ordered *o;
  gemel__bound *b;
  gemel__domain *f, *dual, *d;
  void *elements, *x, *y, *z, *w;
} bench;

static int set_up(bench *t, const char *name) {
  gemel__field_options options = {.bits = GEMEL__FIELD_MEDIUM, .length = 3};
  *t = (bench){0};
  if (strcmp(name, "F") == 0) {
    t->d = t->f = gemel__field_new(&options, 1, NULL);
  } else if (strcmp(name, "B") == 0) {
    t->b = gemel__bound_new(128);
    t->d = t->b ? &t->b->domain : NULL;
  } else {
    t->o = gemel__ordered_new(128);
    t->d = t->o ? &t->o->domain : NULL;
    if (t->d && strcmp(name, "dual") == 0) {
      t->d = t->dual = gemel__dual_new(t->d);
    }
  }
  t->elements = t->d ? gemel__elements_new(t->d, 4) : NULL;
  for (size_t i = 0; t->elements && i < 4; i++) {
    *(void **[]){&t->x, &t->y, &t->z, &t->w}[i] = gemel__element(t->d, t->elements, i);
  }
  return t->elements != NULL;
}

static void tear_down(bench *t) {
  if (t->elements) {
    gemel__elements_free(t->d, t->elements, 4);
  }
  gemel__dual_free(t->dual);
  gemel__field_free(t->f);
  gemel__bound_free(t->b);
  gemel__ordered_free(t->o);
}

/* ---- Operations ---- */

typedef enum operation {
  ADD,
  SUB,
  MUL,
  DIV,
  POW,
  NEG,
  EXP,
  LOG,
  SQRT,
  FLOOR,
  OPERATIONS
} operation;

static const char *const names[] = {"add", "sub", "mul", "div",  "pow",
                                    "neg", "exp", "log", "sqrt", "floor"};

static void apply(gemel__domain *d, operation o, void *z, const void *x, const void *y) {
  void (*const two[])(gemel__domain *, void *, const void *,
                      const void *) = {d->add, d->sub, d->mul, d->div, d->pow};
  void (*const one[])(gemel__domain *, void *, const void *) = {d->neg, d->exp, d->log, d->sqrt,
                                                                d->floor};
  if (o < NEG) {
    two[o](d, z, x, y);
  } else {
    one[o - NEG](d, z, x);
  }
}

/* What C says, NaN where there is no value. */
static double expected(operation o, double x, double y) {
  switch (o) {
  case ADD:
    return x + y;
  case SUB:
    return x - y;
  case MUL:
    return x * y;
  case DIV:
    return y == 0 ? NAN : x / y;
  case POW:
    return x == 0 && y < 0 && isfinite(y) ? NAN : pow(x, y);
  case NEG:
    return -x;
  case EXP:
    return exp(x);
  case LOG:
    return log(x);
  case SQRT:
    return sqrt(x);
  default:
    return floor(x);
  }
}

static int any_infinite(operation o, double x, double y) {
  return isinf(x) || (o < NEG && isinf(y)) || (o == LOG && x == 0);
}

/* One result, which is 0, 1, −1 or an infinity, if it isn't what X and Y are themselves. */
static void check(bench *t, operation o, double x, double y) {
  gemel__domain *d = t->d;
  double value = expected(o, x, y);
  ct_context("%s %s(%a, %a)", d->name, names[o], x, y);
  d->from_double(d, t->x, x);
  d->from_double(d, t->y, y);
  apply(d, o, t->z, t->x, t->y);
  if (isnan(value)) {
    CT_EQ_INT(d->state(d, t->z), GEMEL__UNDEFINED);
    return;
  }
  CT_EQ_INT(d->state(d, t->z), GEMEL__DEFINED);
  d->from_double(d, t->w, value);
  CT_EQ_INT(d->equal(d, t->z, t->w), 1);
  CT_EQ_INT(d->sign(d, t->z), (value > 0) - (value < 0));
  apply(d, o, t->x, t->x, t->y); /* in place */
  CT_EQ_INT(d->equal(d, t->x, t->w), 1);
}

static void operations_are_ieee(const void *data) {
  bench t;
  CT_REQUIRE(set_up(&t, data));
  for (operation o = ADD; o < OPERATIONS; o++) {
    for (size_t i = 0; i < CT_COUNT(numbers); i++) {
      for (size_t k = 0; k < (o < NEG ? CT_COUNT(numbers) : 1); k++) {
        if (any_infinite(o, numbers[i], numbers[k])) {
          check(&t, o, numbers[i], numbers[k]);
        }
      }
    }
  }
  tear_down(&t);
}

static void comparisons_are_ieee(const void *data) {
  bench t;
  gemel__decider w;
  CT_REQUIRE(set_up(&t, data));
  CT_REQUIRE(gemel__decider_init(&w, t.d, NULL) == GEMEL_OK);
  for (size_t i = 0; i < CT_COUNT(numbers); i++) {
    for (size_t k = 0; k < CT_COUNT(numbers); k++) {
      double x = numbers[i], y = numbers[k];
      ct_context("%s: %a and %a", t.d->name, x, y);
      t.d->from_double(t.d, t.x, x);
      t.d->from_double(t.d, t.y, y);
      CT_EQ_INT(gemel__compare(&w, t.x, t.y), (x > y) - (x < y));
      CT_EQ_INT(t.d->equal(t.d, t.x, t.y), x == y);
    }
  }
  gemel__decider_clear(&w);
  tear_down(&t);
}

static void text_and_dtypes(const void *data) {
  bench t;
  char text[80];
  int64_t n;
  CT_REQUIRE(set_up(&t, data));
  gemel__domain *d = t.d;
  d->from_double(d, t.x, -INFINITY);
  d->format(d, t.x, text, sizeof text);
  CT_CHECK(strncmp(text, "-inf", 4) == 0);
  CT_CHECK(!d->to_integer(d, t.x, &n));
  d->set(d, t.y, t.x);
  d->round(d, t.y, GEMEL_F32, 0.5);
  CT_EQ_INT(d->equal(d, t.x, t.y), 1);
  d->round(d, t.y, GEMEL_BOOL, 0);
  CT_CHECK(d->to_integer(d, t.y, &n) && n == 1);
  d->set(d, t.y, t.x);
  d->round(d, t.y, GEMEL_I32, 0);
  CT_CHECK(d->state(d, t.y) != GEMEL__DEFINED);
  const void *const addends[] = {t.x, t.x};
  d->sum(d, t.z, 2, addends);
  CT_EQ_INT(d->equal(d, t.x, t.z), 1);
  d->set_state(d, t.x, GEMEL__GAP);
  d->add(d, t.z, t.z, t.x);
  CT_EQ_INT(d->state(d, t.z), GEMEL__GAP);
  tear_down(&t);
}

/* ---- Tangents ---- */

/* The derivative of exp(x), 1 ÷ x and x + ∞ where that is infinite. */
static void tangents_follow(const void *data) {
  bench t;
  (void)data;
  CT_REQUIRE(set_up(&t, "dual"));
  gemel__domain *d = t.d, *o = &t.o->domain;
  d->from_double(d, t.x, -INFINITY);
  o->from_integer(o, gemel__dual_tangent(d, t.x), 3);
  d->exp(d, t.y, t.x);
  CT_EQ_INT(o->sign(o, gemel__dual_tangent(d, t.y)), 0);
  d->from_integer(d, t.w, 1);
  d->div(d, t.y, t.w, t.x);
  CT_EQ_INT(o->sign(o, gemel__dual_tangent(d, t.y)), 0);
  d->add(d, t.y, t.w, t.x);
  CT_EQ_INT(o->sign(o, gemel__dual_tangent(d, t.y)), 1);
  CT_EQ_INT(d->state(d, t.y), GEMEL__DEFINED);
  tear_down(&t);
}

/* ---- In F alone ---- */

static void fields_leave_gaps(const void *data) {
  bench t;
  (void)data;
  CT_REQUIRE(set_up(&t, "F"));
  gemel__domain *f = t.f;
  f->from_double(f, t.x, INFINITY);
  gemel__field_random(f, t.y, GEMEL__LEAF_ANY);
  f->mul(f, t.z, t.x, t.y); /* of which sign? */
  CT_EQ_INT(f->state(f, t.z), GEMEL__GAP);
  f->div(f, t.z, t.y, t.x);
  CT_EQ_INT(f->sign(f, t.z), 0);
  f->add(f, t.z, t.x, t.y);
  CT_EQ_INT(f->equal(f, t.x, t.z), 1);
  CT_EQ_INT(f->equal(f, t.y, t.z), 0);
  gemel__field_random(f, t.y, GEMEL__LEAF_NEGATIVE);
  f->mul(f, t.z, t.x, t.y);
  CT_EQ_INT(f->sign(f, t.z), -1);
  const gemel__field_report *report = gemel__field_get_report(f);
  CT_EQ_UINT(report->characters, 0);
  CT_EQ_UINT(report->coherent, 7);
  tear_down(&t);
}

/* ---- Whole domains ---- */

/* Every pair of members of two covers gives a member of the result's cover, if it has a value. */
static void covers_hold(const void *data) {
  bench t;
  (void)data;
  CT_REQUIRE(set_up(&t, "O"));
  gemel__domain *d = t.d;
  gemel__ordered_intervals(t.o, 1);
  size_t n = CT_COUNT(numbers);
  for (size_t i = 0; i < n * n * n * n; i++) {
    double a[2] = {numbers[i % n], numbers[i / n % n]};
    double b[2] = {numbers[i / n / n % n], numbers[i / n / n / n]};
    operation o = (operation)(i % OPERATIONS);
    for (int k = 0; k < 4 && o != POW && o != FLOOR; k++) {
      double value = expected(o, a[k % 2], b[k / 2]), low, high;
      d->from_double(d, t.x, a[0]);
      d->from_double(d, t.y, a[1]);
      d->hull(d, t.x, t.x, t.y);
      d->from_double(d, t.y, b[0]);
      d->from_double(d, t.z, b[1]);
      d->hull(d, t.y, t.y, t.z);
      apply(d, o, t.z, t.x, t.y);
      gemel__ordered_bounds(d, t.z, &low, &high);
      ct_context("%s of {%a, %a} and {%a, %a}", names[o], a[0], a[1], b[0], b[1]);
      CT_CHECK(isnan(value) || (low <= value && value <= high));
      CT_CHECK(isnan(value) || d->state(d, t.z) != GEMEL__UNDEFINED);
    }
  }
  gemel__ordered_intervals(t.o, 0);
  tear_down(&t);
}

static void covers_compare(const void *data) {
  bench t;
  (void)data;
  CT_REQUIRE(set_up(&t, "O"));
  gemel__domain *d = t.d;
  gemel__ordered_intervals(t.o, 1);
  d->from_double(d, t.x, -INFINITY);
  d->from_double(d, t.y, 2);
  d->hull(d, t.y, t.x, t.y); /* a number up to 2, or −∞ */
  d->difference(d, t.z, t.x, t.y);
  CT_EQ_INT(d->sign(d, t.z), GEMEL__UNORDERED); /* less or equal */
  d->from_double(d, t.x, 3);
  d->difference(d, t.z, t.x, t.y);
  CT_EQ_INT(d->sign(d, t.z), 1);
  d->exp(d, t.z, t.y);
  d->from_integer(d, t.x, 1);
  d->add(d, t.z, t.z, t.x);
  CT_EQ_INT(d->sign(d, t.z), 1);
  gemel__ordered_intervals(t.o, 0);
  tear_down(&t);
}

static const char *const domains[] = {"O", "F", "B", "dual"};

static const ct_test tests[] = {
    CT_TEST("tangents", tangents_follow, NULL),
    CT_TEST("gaps", fields_leave_gaps, NULL),
    CT_TEST("covers", covers_hold, NULL),
    CT_TEST("covers/compared", covers_compare, NULL),
};

void ct_register(void) {
  ct_suite("infinity", tests, CT_COUNT(tests));
  for (size_t i = 0; i < CT_COUNT(domains); i++) {
    if (strcmp(domains[i], "dual") != 0) { /* tangents of exp and log have states of their own */
      CT_ADD_TO("infinity", "operations", domains[i], operations_are_ieee, domains[i]);
    }
    CT_ADD_TO("infinity", "comparisons", domains[i], comparisons_are_ieee, domains[i]);
    CT_ADD_TO("infinity", "text", domains[i], text_and_dtypes, domains[i]);
  }
}
