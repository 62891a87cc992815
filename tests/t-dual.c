/*
 * Dual numbers over domain F: derivatives as exact identities between residues. The formulas of the
 * derivatives are written out by hand; second ones come from dual numbers over dual numbers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domains/dual.h"
#include "domains/field.h"
#include "formula.h"

/* A field, dual numbers over it, and dual numbers over those, each with a pool for formulas. */
typedef struct tower {
  gemel__domain *f, *d, *dd;
  void *pool_f, *pool_d, *pool_dd;
} tower;

static tower tower_new(int bits, int length) {
  gemel__field_options o = {bits, length, NULL, 0, 0};
  tower t;
  t.f = gemel__field_new(&o, 1, NULL);
  t.d = t.f ? gemel__dual_new(t.f) : NULL;
  t.dd = t.d ? gemel__dual_new(t.d) : NULL;
  if (!t.dd)
    abort();
  t.pool_f = gemel__elements_new(t.f, POOL);
  t.pool_d = gemel__elements_new(t.d, POOL);
  t.pool_dd = gemel__elements_new(t.dd, POOL);
  return t;
}

static void tower_free(tower *t) {
  gemel__elements_free(t->f, t->pool_f, POOL);
  gemel__elements_free(t->d, t->pool_d, POOL);
  gemel__elements_free(t->dd, t->pool_dd, POOL);
  gemel__dual_free(t->dd);
  gemel__dual_free(t->d);
  gemel__field_free(t->f);
}

/* A new trial: random leaves, the same in all three pools; tangents are 0 but for that of leaf
 * VARIABLE, which is 1 in each direction. */
static void draw(tower *t, uint64_t seed, size_t variable) {
  if (gemel__field_trial(t->f, seed, NULL) != GEMEL_OK)
    abort();
  draw_leaves(t->f, t->pool_f);
  for (size_t i = 0; i < LEAVES; i++) {
    void *e = gemel__element(t->d, t->pool_d, i), *ee = gemel__element(t->dd, t->pool_dd, i);
    t->f->set(t->f, gemel__dual_value(t->d, e), gemel__element(t->f, t->pool_f, i));
    t->f->from_integer(t->f, gemel__dual_tangent(t->d, e), i == variable);
    t->d->set(t->d, gemel__dual_value(t->dd, ee), e);
    t->d->from_integer(t->d, gemel__dual_tangent(t->dd, ee), i == variable);
  }
}

static void *value_of(gemel__domain *d, void *pool, const char *text) {
  formula f = {d, text, pool, LEAVES};
  return formula_sum(&f);
}

static size_t leaf(char name) {
  return (size_t)(strchr(formula_leaves, name) - formula_leaves);
}

/* A function, its first and second derivative with respect to the variable. */
typedef struct row {
  char variable;
  const char *function, *first, *second;
} row;

static const row rows[] = {
    {'x', "3", "0", "0"},
    {'x', "x", "1", "0"},
    {'x', "x * y", "y", "0"},
    {'x', "x * x", "2 * x", "2"},
    {'x', "x - y * x", "1 - y", "0"},
    {'x', "y / x", "-y / (x * x)", "2 * y / (x * x * x)"},
    {'x', "x / (x + y)", "y / pow(x + y, 2)", "-2 * y / pow(x + y, 3)"},
    {'x', "-x * x * x", "-3 * x * x", "-6 * x"},
    {'x', "exp(x)", "exp(x)", "exp(x)"},
    {'x', "exp(3 * x)", "3 * exp(3 * x)", "9 * exp(3 * x)"},
    {'x', "exp(x * x)", "2 * x * exp(x * x)", "(2 + 4 * x * x) * exp(x * x)"},
    {'x', "tanh(x)", "1 - tanh(x) * tanh(x)", "-2 * tanh(x) * (1 - tanh(x) * tanh(x))"},
    {'x', "1 / (1 + exp(-x))", "exp(-x) / pow(1 + exp(-x), 2)",
     "exp(-x) * (exp(-x) - 1) / pow(1 + exp(-x), 3)"},
    {'x', "exp(x) / (exp(x) + exp(y))", "exp(x) * exp(y) / pow(exp(x) + exp(y), 2)",
     "exp(x) * exp(y) * (exp(y) - exp(x)) / pow(exp(x) + exp(y), 3)"},
    {'x', "tanh(tanh(x))", "(1 - pow(tanh(tanh(x)), 2)) * (1 - pow(tanh(x), 2))",
     "-2 * (1 - pow(tanh(tanh(x)), 2)) * (1 - pow(tanh(x), 2)) * (tanh(tanh(x)) * (1 - "
     "pow(tanh(x), 2)) + tanh(x))"},
    {'x', "log(1 + exp(x))", "exp(x) / (1 + exp(x))", "exp(x) / pow(1 + exp(x), 2)"},
    {'x', "log(exp(x) + exp(y))", "exp(x) / (exp(x) + exp(y))",
     "exp(x) * exp(y) / pow(exp(x) + exp(y), 2)"},
    {'p', "log(p)", "1 / p", "-1 / (p * p)"},
    {'p', "p * log(p)", "log(p) + 1", "1 / p"},
    {'p', "sqrt(p)", "1 / (2 * sqrt(p))", "-1 / (4 * p * sqrt(p))"},
    {'p', "1 / sqrt(p)", "-1 / (2 * p * sqrt(p))", "3 / (4 * p * p * sqrt(p))"},
    {'x', "x / sqrt(x * x + q)", "q / pow(sqrt(x * x + q), 3)",
     "-3 * q * x / pow(sqrt(x * x + q), 5)"},
    {'x', "pow(x, 3)", "3 * x * x", "6 * x"},
    {'x', "pow(x, 1)", "1", "0"},
    {'x', "pow(x, 0)", "0", "0"},
    {'x', "pow(x, -2)", "-2 / (x * x * x)", "6 / pow(x, 4)"},
    {'p', "pow(p, 0.5)", "0.5 / sqrt(p)", "-0.25 / (p * sqrt(p))"},
    {'p', "pow(p, y)", "y * pow(p, y - 1)", "y * (y - 1) * pow(p, y - 2)"},
    {'x', "pow(p, x)", "log(p) * pow(p, x)", "log(p) * log(p) * pow(p, x)"},
    {'p', "pow(p, p)", "pow(p, p) * (log(p) + 1)",
     "pow(p, p) * ((log(p) + 1) * (log(p) + 1) + 1 / p)"},
    {'x', "sqrt(4)", "0", "0"},
    {'x', "sqrt(0) + log(q)", "0", "0"},
    {'x', "abs(x)", "sign(x)", "0"},
    {'x', "relu(x) * x", "relu(x) + x * (1 + sign(x)) / 2", "1 + sign(x)"},
    {'x', "max(x, y) * max(x, y)", "(1 + sign(x - y)) * x", "1 + sign(x - y)"},
    {'x', "min(x * x, y)", "(1 + sign(y - x * x)) * x", "1 + sign(y - x * x)"},
    {'x', "sign(x) * x", "sign(x)", "0"},
    {'x', "x * floor(2.5)", "2", "0"},
};

/* TANGENT against the formula FIRST on the field; counts what is decided. */
static void compare(tower *t, const void *tangent, const char *expected, int *decided) {
  int equal = t->f->equal(t->f, tangent, value_of(t->f, t->pool_f, expected));
  CT_CHECK(equal != 0);
  *decided += equal == 1;
}

static void derivatives(const void *data) {
  const row *r = data;
  tower t = tower_new(31, 4);
  int first = 0, second = 0;
  ct_context("%s", r->function);
  for (uint64_t trial = 0; trial < 40; trial++) {
    draw(&t, trial, leaf(r->variable));
    void *e = value_of(t.d, t.pool_d, r->function);
    compare(&t, gemel__dual_value(t.d, e), r->function, &first);
    compare(&t, gemel__dual_tangent(t.d, e), r->first, &first);
    e = value_of(t.dd, t.pool_dd, r->function);
    compare(&t, gemel__dual_tangent(t.d, gemel__dual_value(t.dd, e)), r->first, &second);
    compare(&t, gemel__dual_value(t.d, gemel__dual_tangent(t.dd, e)), r->first, &second);
    compare(&t, gemel__dual_tangent(t.d, gemel__dual_tangent(t.dd, e)), r->second, &second);
  }
  CT_CHECK(first >= 20);
  CT_CHECK(second >= 30);
  tower_free(&t);
}

/* At x = 0 exactly, where first derivatives are 0 and second ones are not. */
static void at_zero(const void *data) {
  (void)data;
  static const struct {
    const char *text;
    int64_t first, second;
  } cases[] = {{"x * x", 0, 2},
               {"exp(x * x)", 0, 2},
               {"log(1 + x * x)", 0, 2},
               {"sqrt(1 + x * x)", 0, 1},
               {"1 / (1 + x * x)", 0, -2},
               {"pow(1 + x * x, 3)", 0, 6},
               {"pow(x, 2)", 0, 2},
               {"pow(x, 1)", 1, 0},
               {"pow(x, 0)", 0, 0},
               {"pow(2, x * x) / log(2)", 0, 2}};
  tower t = tower_new(31, 3);
  void *expected = gemel__element(t.f, t.pool_f, POOL - 1);
  int decided = 0;
  for (uint64_t trial = 0; trial < 10; trial++) {
    draw(&t, trial, leaf('x'));
    t.f->from_integer(t.f, gemel__dual_value(t.d, gemel__dual_value(t.dd, t.pool_dd)), 0);
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
      ct_context("%s", cases[i].text);
      void *e = value_of(t.dd, t.pool_dd, cases[i].text), *tangent = gemel__dual_tangent(t.dd, e);
      t.f->from_integer(t.f, expected, cases[i].first);
      CT_EQ_INT(t.f->equal(t.f, gemel__dual_value(t.d, tangent), expected), 1);
      t.f->from_integer(t.f, expected, cases[i].second);
      int equal = t.f->equal(t.f, gemel__dual_tangent(t.d, tangent), expected);
      CT_CHECK(equal != 0);
      decided += equal == 1;
    }
  }
  CT_CHECK(decided > 90);
  tower_free(&t);
}

/* Wrong derivatives that a check must refuse: in each trial that decides. */
static void wrong_derivatives(const void *data) {
  (void)data;
  static const row wrong[] = {
      {'x', "x * y", "x", NULL},
      {'x', "y / x", "y / (x * x)", NULL},
      {'x', "tanh(x)", "1 - tanh(x)", NULL},
      {'x', "tanh(x)", "1.000001 * (1 - tanh(x) * tanh(x))", NULL},
      {'p', "sqrt(p)", "1 / sqrt(p)", NULL},
      {'p', "log(p)", "p", NULL},
      {'p', "pow(p, y)", "y * pow(p, y)", NULL},
      {'x', "exp(x) / (exp(x) + exp(y))", "exp(x) / (exp(x) + exp(y))", NULL},
      {'x', "log(1 + exp(x))", "1 / (1 + exp(x))", NULL},
  };
  tower t = tower_new(31, 3);
  for (size_t i = 0; i < CT_COUNT(wrong); i++) {
    int decided = 0;
    ct_context("%s", wrong[i].function);
    for (uint64_t trial = 0; trial < 40; trial++) {
      draw(&t, trial, leaf(wrong[i].variable));
      void *e = value_of(t.d, t.pool_d, wrong[i].function);
      int equal =
          t.f->equal(t.f, gemel__dual_tangent(t.d, e), value_of(t.f, t.pool_f, wrong[i].first));
      CT_CHECK(equal < 1);
      decided += equal == 0;
    }
    CT_CHECK(decided >= 10);
  }
  tower_free(&t);
}

/* In a random direction the tangent is Σ of the partial derivatives times its components. */
static void directions(const void *data) {
  (void)data;
  tower t = tower_new(61, 2);
  gemel__domain *f = t.f, *d = t.d;
  static const char text[] = "x * exp(y) / z + w * w * y";
  static const char expected[] = "p * exp(y) / z + q * (x * exp(y) / z + w * w) - "
                                 "r * x * exp(y) / (z * z) + a * 2 * w * y";
  for (uint64_t trial = 0; trial < 20; trial++) {
    draw(&t, trial, leaf('u'));
    for (size_t i = 0; i < 4; i++) /* p q r a are the components for x y z w */
      f->set(f, gemel__dual_tangent(d, gemel__element(d, t.pool_d, i)),
             gemel__element(f, t.pool_f, 4 + i));
    void *e = value_of(d, t.pool_d, text);
    CT_EQ_INT(f->equal(f, gemel__dual_tangent(d, e), value_of(f, t.pool_f, expected)), 1);
  }
  tower_free(&t);
}

static void ties(const void *data) {
  (void)data;
  tower t = tower_new(31, 2);
  gemel__domain *f = t.f, *d = t.d;
  int64_t x;
  draw(&t, 1, leaf('x'));
  void *a = gemel__element(d, t.pool_d, leaf('x')), *b = gemel__element(d, t.pool_d, leaf('y')),
       *c = gemel__element(d, t.pool_d, leaf('z')), *e = gemel__element(d, t.pool_d, POOL - 1);
  d->set(d, b, a), d->set(d, c, a);
  f->from_integer(f, gemel__dual_tangent(d, b), 4);
  f->from_integer(f, gemel__dual_tangent(d, c), 10);
  d->tie(d, e, 3, (const void *const[]){a, b, c});
  CT_EQ_INT(f->equal(f, gemel__dual_value(d, e), gemel__dual_value(d, a)), 1);
  CT_CHECK(f->to_integer(f, gemel__dual_tangent(d, e), &x) && x == 5);
  d->tie(d, a, 1, (const void *const[]){a});
  CT_CHECK(f->to_integer(f, gemel__dual_tangent(d, a), &x) && x == 1);
  e = value_of(d, t.pool_d, "max(y, z)");
  CT_CHECK(f->to_integer(f, gemel__dual_tangent(d, e), &x) && x == 7);
  e = value_of(d, t.pool_d, "relu(x - x)"); /* ties with the constant 0 */
  CT_EQ_INT(d->sign(d, e), 0);
  tower_free(&t);
}

static void storing(const void *data) {
  (void)data;
  tower t = tower_new(31, 2);
  gemel__domain *f = t.f, *d = t.d;
  int64_t x;
  void *e = t.pool_d, *tangent = gemel__dual_tangent(d, e);
  d->from_integer(d, e, 300);
  f->from_integer(f, tangent, 7);
  CT_CHECK(d->to_integer(d, e, &x) && x == 300);
  d->round(d, e, GEMEL_F32, -1);
  CT_CHECK(f->to_integer(f, tangent, &x) && x == 7);
  d->round(d, e, GEMEL_I8, -1);
  CT_CHECK(d->to_integer(d, e, &x) && x == 44);
  CT_CHECK(f->to_integer(f, tangent, &x) && x == 0);
  f->from_integer(f, tangent, 7);
  d->floor(d, e, e);
  CT_CHECK(f->to_integer(f, tangent, &x) && x == 0);
  d->from_unsigned(d, e, 5);
  f->from_integer(f, tangent, -2);
  char text[64], shorter[5];
  d->format(d, e, text, sizeof text);
  CT_EQ_STR(text, "5 + (-2) d");
  d->format(d, e, shorter, sizeof shorter);
  CT_CHECK(memchr(shorter, 0, sizeof shorter) != NULL);
  tower_free(&t);
}

static void states(const void *data) {
  (void)data;
  tower t = tower_new(31, 2);
  gemel__domain *f = t.f, *d = t.d;
  draw(&t, 3, leaf('x'));
  static const struct {
    const char *text;
    gemel__state value, tangent;
  } cases[] = {{"sqrt(x - x)", GEMEL__DEFINED, GEMEL__DEFINED}, /* the tangent of x − x is 0 */
               {"sqrt(x - y)", GEMEL__DEFINED, GEMEL__UNDEFINED},
               {"1 / (x - y)", GEMEL__UNDEFINED, GEMEL__UNDEFINED},
               {"log(x - y)", GEMEL__DEFINED, GEMEL__UNDEFINED},
               {"pow(x - y, 2)", GEMEL__DEFINED, GEMEL__DEFINED},
               {"pow(x - y, 0.5)", GEMEL__DEFINED, GEMEL__UNDEFINED},
               {"exp(exp(x))", GEMEL__GAP, GEMEL__GAP},
               {"x * exp(exp(p))", GEMEL__GAP, GEMEL__GAP},
               {"-1 + sqrt(-1)", GEMEL__UNDEFINED, GEMEL__DEFINED}};
  d->set(d, gemel__element(d, t.pool_d, leaf('y')), t.pool_d);
  f->from_integer(f, gemel__dual_tangent(d, gemel__element(d, t.pool_d, leaf('y'))), 0);
  for (size_t i = 0; i < CT_COUNT(cases); i++) {
    ct_context("%s", cases[i].text);
    void *e = value_of(d, t.pool_d, cases[i].text);
    CT_EQ_INT(f->state(f, gemel__dual_value(d, e)), cases[i].value);
    CT_EQ_INT(f->state(f, gemel__dual_tangent(d, e)), cases[i].tangent);
    CT_EQ_INT(d->state(d, e),
              cases[i].value > cases[i].tangent ? cases[i].value : cases[i].tangent);
  }
  d->from_integer(d, t.pool_d, 1);
  d->set_state(d, t.pool_d, GEMEL__UNDECIDED);
  CT_EQ_INT(d->state(d, t.pool_d), GEMEL__UNDECIDED);
  tower_free(&t);
}

/* Equal numbers have equal values and tangents, and a decision on dual numbers is the value's. */
static void comparisons(const void *data) {
  (void)data;
  tower t = tower_new(31, 2);
  draw(&t, 3, leaf('x'));
  CT_EQ_INT(holds(t.d, t.pool_d, "x * x = pow(x, 2)"), 1);
  CT_EQ_INT(holds(t.dd, t.pool_dd, "(x + y) * (x - y) = x * x - y * y"), 1);
  t.d->set(t.d, gemel__element(t.d, t.pool_d, 1), t.pool_d);
  t.f->from_integer(t.f, gemel__dual_tangent(t.d, gemel__element(t.d, t.pool_d, 1)), 2);
  CT_EQ_INT(holds(t.d, t.pool_d, "x = y"), 0);
  CT_EQ_INT(holds(t.d, t.pool_d, "x + exp(exp(p)) = x"), -1);
  gemel__tape tape = {0}, base = {0};
  gemel__field_record(t.f, &base);
  value_of(t.f, t.pool_f, "max(relu(x), abs(z)) + floor(2)");
  gemel__field_record(t.f, &tape);
  value_of(t.dd, t.pool_dd, "max(relu(x), abs(z)) + floor(2)");
  CT_EQ_INT(tape.count, 4);
  CT_EQ_INT(base.count, 4);
  CT_EQ_MEM(tape.entries, base.entries, 4 * sizeof *tape.entries);
  gemel__tape_clear(&tape);
  gemel__tape_clear(&base);
  tower_free(&t);
}

static int all_allocations(void *data) {
  (void)data;
  gemel_error error = {0};
  gemel__domain *f = gemel__field_new(NULL, 1, &error);
  if (!f)
    return error.status;
  gemel__domain *d = gemel__dual_new(f);
  void *e = d ? gemel__elements_new(d, 3) : NULL;
  int status = e ? GEMEL_OK : GEMEL_NO_MEMORY;
  if (e) {
    void *const p[] = {e, gemel__element(d, e, 1), gemel__element(d, e, 2)};
    d->sum(d, e, 3, (const void *const *)p);
    d->tie(d, e, 3, (const void *const *)p);
    status = d->state(d, e) ? GEMEL_NO_MEMORY : GEMEL_OK;
    gemel__elements_free(d, e, 3);
  }
  gemel__dual_free(d);
  gemel__field_free(f);
  return status;
}

static void refused_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(all_allocations, NULL) > 3);
}

static const ct_test tests[] = {
    CT_TEST("zero", at_zero, NULL),
    CT_TEST("wrong", wrong_derivatives, NULL),
    CT_TEST("directions", directions, NULL),
    CT_TEST("ties", ties, NULL),
    CT_TEST("storing", storing, NULL),
    CT_TEST("states", states, NULL),
    CT_TEST("comparisons", comparisons, NULL),
    CT_TEST("oom", refused_memory, NULL),
};

void ct_register(void) {
  for (size_t i = 0; i < CT_COUNT(rows); i++) {
    CT_ADD_TO("dual", "derivative", rows[i].function, derivatives, &rows[i]);
  }
  ct_suite("dual", tests, CT_COUNT(tests));
}
