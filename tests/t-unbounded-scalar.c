/*
 * What proofs take scalar operations for (verify/unbounded/scalar.def, and casts): the solver
 * evaluates each row for each dtype at drawn and at special numbers, and must agree with the
 * references in domain S.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/element.h"
#include "base/random.h"
#include "core/dtype.h"
#include "core/rows.h"
#include "domains/special.h"
#include "ops/ops.h"
#include "reference/twin.h"
#include "unbounded/ask.h"
#include "unbounded/scalar.h"

enum { SAMPLES = 12, MOST_OPERANDS = 3 };

/* ---- Operands ---- */

static const double specials[] = {0,     -0.0,     1,         -1,  2,   -2,     0.5,
                                  -0.75, INFINITY, -INFINITY, NAN, 2.5, -65504, 0x1p-130};

/* Of which quotients, too, are fractions of few digits; each is a first operand. */
static const double fractions[SAMPLES] = {0, 1, -1, 2, -2, 0.5, -0.5, 4, -4, 0.25, -8, 8};

static uint64_t float_bits(gemel_dtype dtype, double x) {
  float single = (float)x;
  uint64_t bits = 0;
  if (dtype == GEMEL_F64) {
    memcpy(&bits, &x, sizeof x);
    return bits;
  }
  return dtype == GEMEL_F32   ? gemel__f32_bits(single)
         : dtype == GEMEL_F16 ? gemel__f32_to_f16(single)
                              : gemel__f32_to_bf16(single);
}

/* A number of DTYPE: special ones, small ones, or any bits. */
static uint64_t draw(gemel__random *random, gemel_dtype dtype) {
  uint64_t bits = gemel__random_bits(random), which = gemel__random_bits(random);
  int width = 8 * (int)gemel_dtype_size(dtype);
  if (dtype == GEMEL_BOOL) {
    return bits & 1;
  }
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT && which % 3 != 0) {
    return float_bits(dtype, specials[bits % CT_COUNT(specials)]);
  }
  bits = which % 3 == 0   ? bits
         : which % 3 == 1 ? (uint64_t)((int64_t)(bits % 9) - 4)
                          : (uint64_t)1 << (width - 1);
  return bits << (64 - width) >> (64 - width);
}

/* ---- A row at some numbers ---- */

typedef struct trial {
  gemel__special *domain;
  gemel__pterms terms;
  gemel__ask ask;
  gemel__random random;
  const char *name;
  gemel_dtype from, to;
  uint32_t operands;
  int fine;
  uint64_t bits[MOST_OPERANDS][SAMPLES];
  gemel__rtensor result;
} trial;

static void set_up(trial *t) {
  memset(t, 0, sizeof *t);
  t->domain = gemel__special_new();
  CT_REQUIRE(t->domain != NULL);
  gemel__pterms_init(&t->terms);
  gemel__ask_init(&t->ask, &t->terms);
  t->ask.work = 20000000;
  gemel__random_seed(&t->random, 31);
}

static void tear_down(trial *t) {
  gemel__ask_clear(&t->ask);
  gemel__pterms_clear(&t->terms);
  gemel__special_free(t->domain);
}

/* Draws operands and lets the reference say what the results are. */
static void evaluate(trial *t) {
  static const int64_t shape[] = {SAMPLES};
  gemel__domain *d = &t->domain->domain;
  gemel__rtensor inputs[MOST_OPERANDS] = {{0}};
  const gemel__rtensor *pointers[MOST_OPERANDS];
  const gemel_attr attr = gemel_attr_dtype("dtype", t->to);
  gemel_error error = {0};
  uint32_t op = 1;
  while (op < GEMEL__OP_COUNT && strcmp(gemel__rows[op].name, t->name) != 0) {
    op++;
  }
  CT_REQUIRE(op < GEMEL__OP_COUNT);
  for (uint32_t k = 0; k < t->operands; k++) {
    char packed[8 * SAMPLES];
    size_t size = gemel_dtype_size(t->from);
    const int64_t strides[] = {(int64_t)size};
    for (size_t i = 0; i < SAMPLES; i++) {
      size_t which = k == 0 ? i : gemel__random_bits(&t->random) % CT_COUNT(fractions);
      t->bits[k][i] = t->fine ? float_bits(t->from, fractions[which]) : draw(&t->random, t->from);
      memcpy(packed + i * size, &t->bits[k][i], size);
    }
    const gemel_view view = {t->from, 1, shape, strides, packed};
    CT_EQ_INT(gemel__rtensor_from_view(&inputs[k], d, &view, &error), GEMEL_OK);
    pointers[k] = &inputs[k];
  }
  gemel__rcall call = {.domain = d,
                       .n_inputs = t->operands,
                       .inputs = pointers,
                       .attrs = &attr,
                       .max_outputs = 1,
                       .outputs = &t->result,
                       .error = &error};
  CT_EQ_INT(gemel__twin_of(op)->reference(&call), GEMEL_OK);
  gemel__rtensors_clear(t->operands, inputs);
}

/* The integer E, which an i64 or a u64 holds, as its bits. */
static uint64_t integer_bits(gemel__domain *d, const void *e) {
  const uint64_t half = (uint64_t)1 << 63;
  int64_t integer = 0;
  if (d->to_integer(d, e, &integer)) {
    return (uint64_t)integer;
  }
  void *rest = gemel__elements_new(d, 1);
  d->from_unsigned(d, rest, half);
  d->sub(d, rest, e, rest);
  CT_CHECK(d->to_integer(d, rest, &integer));
  gemel__elements_free(d, rest, 1);
  return half + (uint64_t)integer;
}

/* The result of sample I in decimal. */
static void say_result(trial *t, size_t i, char *text, size_t bytes) {
  gemel__domain *d = &t->domain->domain;
  const void *e = gemel__rtensor_at(&t->result, i);
  if (gemel_dtype_kind(t->result.dtype) == GEMEL_KIND_FLOAT) {
    snprintf(text, bytes, "%.17g", gemel__special_value(d, e));
  } else {
    uint64_t integer = integer_bits(d, e);
    gemel__element_format(t->result.dtype, &integer, text, bytes);
  }
}

static gemel__pterm literal(trial *t, gemel_dtype dtype, const char *text) {
  return gemel__p_literal(&t->terms, gemel__psort_of(dtype), text);
}

/* NAME at sample I as a term of SORT. */
static gemel__pterm applied(trial *t, gemel__pterm_sort sort, const char *name, size_t i) {
  gemel__pterm operands[MOST_OPERANDS];
  for (uint32_t k = 0; k < t->operands; k++) {
    char text[60];
    gemel__element_format(t->from, &t->bits[k][i], text, sizeof text);
    operands[k] = literal(t, t->from, text);
  }
  return gemel__p_call(&t->terms, sort, name, 0, t->operands, operands);
}

/* That the row gives the reference's result at sample I. */
static gemel__pterm agrees(trial *t, size_t i) {
  char text[60];
  say_result(t, i, text, sizeof text);
  return gemel__p_same(&t->terms, literal(t, t->result.dtype, text),
                       applied(t, gemel__psort_of(t->result.dtype), t->name, i));
}

/* Adds to *ALL that the row agrees at drawn numbers: where it SAYS something; NULL: everywhere. */
static void add_samples(trial *t, gemel__pterm *all, int (*says)(const trial *t, size_t i)) {
  evaluate(t);
  for (size_t i = 0; i < (t->fine ? SAMPLES : SAMPLES / 2); i++) {
    if (says == NULL || says(t, i)) {
      *all = gemel__p_and(&t->terms, *all, agrees(t, i));
    }
  }
  gemel__rtensor_clear(&t->result);
}

/* Terms are released: the next row's questions are short. */
static void holds(trial *t, gemel__pterm all, const char *what) {
  ct_context("%s of %s", t->name, what);
  CT_EQ_INT(gemel__ask_follows(&t->ask, NULL, 0, all), GEMEL__FOLLOWS_YES);
  gemel__pterms_clear(&t->terms);
}

/* How many operands the row of NAME in lib/ops/scalar.def has; 0: there is none. */
static uint32_t operands_of(const char *name) {
  for (size_t k = 0; k < GEMEL__SCALAR_COUNT; k++) {
    if (strcmp(gemel__scalar_rows[k].name, name) == 0) {
      return (uint32_t)gemel__scalar_rows[k].n_inputs;
    }
  }
  return 0;
}

/* Operand K of sample I as a number. */
static double operand(const trial *t, uint32_t k, size_t i) {
  return gemel__decode(t->from, &t->bits[k][i]);
}

/* A power is more than a function without a name where an operand is 1 or the exponent 0; integers'
 * squares are said, too. */
static int power_says(const trial *t, size_t i) {
  double x = operand(t, 0, i), y = operand(t, 1, i);
  int is_float = gemel_dtype_kind(t->from) == GEMEL_KIND_FLOAT;
  return y == 0 || x == 1 || (!is_float && (y == 1 || y == 2));
}

static int is_finite(const trial *t, size_t i) {
  gemel__domain *d = &t->domain->domain;
  return isfinite(gemel__special_value(d, gemel__rtensor_at(&t->result, i)));
}

/* Each row at numbers of each dtype, floats bit by bit. */
static void rows(const void *data) {
  trial t;
  int asked = 0;
  (void)data;
  set_up(&t);
  t.ask.bits = 1;
  for (size_t k = 0; (t.name = gemel__scalar_operation(k)) != NULL; k++) {
    gemel__pterm all = gemel__p_truth(&t.terms, 1);
    t.operands = operands_of(t.name);
    for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT && t.operands > 0; dtype++) {
      t.from = (gemel_dtype)dtype;
      if (gemel__scalar_text(t.name, t.from, 1) != NULL) {
        add_samples(&t, &all, strcmp(t.name, "pow") == 0 ? power_says : NULL);
        asked++;
      }
    }
    holds(&t, all, "all dtypes");
  }
  CT_CHECK(asked > 300);
  tear_down(&t);
}

/* Over the reals: at fractions, where the result is one, too. */
static void reals(const void *data) {
  trial t;
  (void)data;
  set_up(&t);
  t.fine = 1;
  t.from = GEMEL_F64;
  for (size_t k = 0; (t.name = gemel__scalar_operation(k)) != NULL; k++) {
    gemel__pterm all = gemel__p_truth(&t.terms, 1);
    t.operands = operands_of(t.name);
    for (int again = 0; again < 3 && t.operands > 0; again++) {
      if (gemel__scalar_text(t.name, t.from, 0) != NULL) {
        add_samples(&t, &all, strcmp(t.name, "pow") == 0 ? power_says : is_finite);
      }
    }
    holds(&t, all, "reals");
  }
  tear_down(&t);
}

/* Where a row says that it is a number, and only there, the reference has a finite one. */
static void defined(const void *data) {
  trial t;
  int asked = 0;
  (void)data;
  set_up(&t);
  t.fine = 1;
  t.from = GEMEL_F64;
  for (size_t k = 0; (t.name = gemel__scalar_operation(k)) != NULL; k++) {
    gemel__pterm all = gemel__p_truth(&t.terms, 1);
    char name[60];
    snprintf(name, sizeof name, "defined:%s", t.name);
    const char *text = gemel__scalar_text(name, t.from, 0);
    t.operands = operands_of(t.name);
    /* C has an angle for the origin */
    if (text == NULL || strstr(text, "@f") != NULL || strcmp(t.name, "atan2") == 0) {
      continue;
    }
    evaluate(&t);
    for (size_t i = 0; i < SAMPLES; i++) {
      gemel__pterm is = applied(&t, GEMEL__PSORT_TRUTH, name, i);
      all = gemel__p_and(&t.terms, all, is_finite(&t, i) ? is : gemel__p_not(&t.terms, is));
    }
    gemel__rtensor_clear(&t.result);
    holds(&t, all, "where it is a number");
    asked++;
  }
  CT_CHECK(asked > 8);
  tear_down(&t);
}

static void casts(const void *data) {
  trial t;
  (void)data;
  set_up(&t);
  t.ask.bits = 1;
  t.name = "cast";
  t.operands = 1;
  for (int from = 0; from < GEMEL_DTYPE_COUNT; from++) {
    gemel__pterm all = gemel__p_truth(&t.terms, 1);
    t.from = (gemel_dtype)from;
    for (int to = 0; to < GEMEL_DTYPE_COUNT; to++) {
      t.to = (gemel_dtype)to;
      add_samples(&t, &all, NULL);
    }
    holds(&t, all, gemel_dtype_name(t.from));
  }
  tear_down(&t);
}

/* A number of each dtype comes back from a dtype that has all of its numbers, and from no other. */
static void exact(const void *data) {
  trial t;
  (void)data;
  set_up(&t);
  for (int pair = 0; pair < GEMEL_DTYPE_COUNT * GEMEL_DTYPE_COUNT; pair++) {
    gemel_dtype from = (gemel_dtype)(pair / GEMEL_DTYPE_COUNT);
    gemel_dtype by = (gemel_dtype)(pair % GEMEL_DTYPE_COUNT);
    CT_EQ_INT(gemel__scalar_is_exact(from, by), gemel__exact_cast(from, by));
  }
  gemel__pterm x = gemel__p_symbol(&t.terms, gemel__psort_of(GEMEL_F32), "x");
  gemel__pterm wide = gemel__p_call(&t.terms, gemel__psort_of(GEMEL_F64), "cast", 0, 1, &x);
  gemel__pterm narrow = gemel__p_call(&t.terms, gemel__psort_of(GEMEL_F16), "cast", 0, 1, &x);
  gemel__pterm wider = gemel__p_call(&t.terms, gemel__psort_of(GEMEL_F16), "cast", 0, 1, &wide);
  gemel__pterm back = gemel__p_call(&t.terms, gemel__psort_of(GEMEL_F32), "cast", 0, 1, &narrow);
  for (t.ask.bits = 0; t.ask.bits < 2; t.ask.bits++) {
    CT_EQ_INT(gemel__ask_follows(&t.ask, NULL, 0, gemel__p_same(&t.terms, narrow, wider)),
              GEMEL__FOLLOWS_YES);
    CT_EQ_INT(gemel__ask_follows(&t.ask, NULL, 0, gemel__p_same(&t.terms, x, back)),
              GEMEL__FOLLOWS_NO);
  }
  tear_down(&t);
}

static const ct_test tests[] = {
    CT_TEST("rows", rows, NULL),   CT_TEST("reals", reals, NULL), CT_TEST("defined", defined, NULL),
    CT_TEST("casts", casts, NULL), CT_TEST("exact", exact, NULL),
};

void ct_register(void) {
  ct_suite("unbounded_scalar", tests, CT_COUNT(tests));
}
