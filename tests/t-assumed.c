/*
 * Values of inputs of which something is assumed: every one that the harness draws keeps the facts,
 * and all kinds of numbers that the facts leave are drawn; and so do the values that are moved
 * afterwards, which counterexamples show.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>
#include "pairs/pair.h"
#include "tiers/tiers.h"
#include "support/graph-text.h"
#include "support/heard.h"

static gemel_error error;

/* ---- Draws ---- */

enum {
  NEGATIVE = 1,
  ZERO = 2,
  MINUS_ZERO = 4,
  POSITIVE = 8,
  IS_NAN = 16,
  IS_INFINITE = 32,
  TINY = 64
};

static unsigned kind_of(gemel_dtype dtype, double x) {
  double least = dtype == GEMEL_F16                            ? 0x1p-14
                 : dtype == GEMEL_F64                          ? 0x1p-1022
                 : gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT ? 0x1p-126
                                                               : 0;
  unsigned sign = isnan(x) ? IS_NAN : x < 0 ? NEGATIVE : x > 0 ? POSITIVE : ZERO;
  return sign | (x == 0 && signbit(x) ? MINUS_ZERO : 0u) | (isinf(x) ? IS_INFINITE : 0u) |
         (x != 0 && fabs(x) < least ? TINY : 0u);
}

/* What FACTS leave of the numbers of DTYPE. */
static unsigned left_by(gemel_dtype dtype, unsigned facts) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  unsigned left = ZERO | POSITIVE;
  left |= kind == GEMEL_KIND_FLOAT || kind == GEMEL_KIND_SIGNED ? (unsigned)NEGATIVE : 0u;
  left |= kind == GEMEL_KIND_FLOAT ? (unsigned)(MINUS_ZERO | IS_NAN | IS_INFINITE | TINY) : 0u;
  left &= facts & GEMEL_FACT_NONNEGATIVE ? ~(unsigned)NEGATIVE : ~0u;
  left &= facts & GEMEL_FACT_NONZERO ? ~(unsigned)(ZERO | MINUS_ZERO) : ~0u;
  left &= facts & (GEMEL_FACT_NOT_NAN | GEMEL_FACT_FINITE) ? ~(unsigned)IS_NAN : ~0u;
  return left & (facts & GEMEL_FACT_FINITE ? ~(unsigned)IS_INFINITE : ~0u);
}

static unsigned drawn(const gemel__instance *instance, gemel_dtype dtype) {
  gemel__random random;
  gemel_tensor *values[1];
  unsigned seen = 0;
  size_t k, i;
  gemel__random_seed(&random, 5);
  for (k = 0; k < 400; k++) {
    gemel__fill fill = (gemel__fill)(k % (GEMEL__FILL_POINTS + 1));
    CT_EQ_INT(gemel__instance_values(instance, fill, &random, values, &error), GEMEL_OK);
    for (i = 0; i < instance->leaves[0].count; i++) {
      seen |= kind_of(dtype, gemel__decode(dtype, gemel__tensor_element(values[0], i)));
    }
    gemel__tensors_release(1, values);
  }
  return seen;
}

static void draws(const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_F16, GEMEL_BF16, GEMEL_F32, GEMEL_F64, GEMEL_I8,
                                       GEMEL_I32, GEMEL_I64,  GEMEL_U8,  GEMEL_U64, GEMEL_BOOL};
  static const int64_t shape[] = {12};
  gemel_context *context = gemel_context_new(&error);
  unsigned facts;
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(dtypes); k++) {
    for (facts = 0; facts < 16; facts++) {
      gemel__instance instance;
      gemel_graph *graph = gemel_graph_new(context, &error);
      gemel_value x = gemel_input(graph, "x", gemel_type_of_shape(context, dtypes[k], 1, shape));
      CT_EQ_INT(gemel_assume(x, facts), GEMEL_OK);
      CT_EQ_INT(gemel__instance_of_graph(&instance, graph, NULL, &error), GEMEL_OK);
      instance.elementwise = 1;
      ct_context("%s, facts %u", gemel_dtype_name(dtypes[k]), facts);
      CT_EQ_UINT(drawn(&instance, dtypes[k]), left_by(dtypes[k], facts));
      gemel__instance_clear(&instance);
      gemel_graph_unref(graph);
    }
  }
  gemel_context_unref(context);
}

/* ---- Counterexamples ---- */

struct differing {
  const char *inputs, *left, *right;
  unsigned x, y; /* what is assumed of these inputs */
  unsigned allow;
};

static const struct differing differing[] = {
    {"x: f32[3] positive finite, y: f32[3] nonzero", "x * x * y", "x * y", GEMEL_FACT_POSITIVE,
     GEMEL_FACT_NONZERO, GEMEL_NEEDS_ALL},
    {"x: f32[3] nonnegative, y: f32[3] nonnegative", "x * x + y", "x + y", GEMEL_FACT_NONNEGATIVE,
     GEMEL_FACT_NONNEGATIVE, GEMEL_NEEDS_ALL},
    /* the solver has a number that f16 hasn't: it is rounded, and not to 0 */
    {"x: f16[1] positive, y: f16[1]",
     "where(lt(cast(x, dtype = f64) * 1e9:f64, 1:f64), y + 1:f16, y)", "y", GEMEL_FACT_POSITIVE, 0,
     GEMEL_NEEDS_ALL},
    {"x: f16[4] positive finite, y: f16[4] nonnegative", "x / (1:f16 + y)", "x * (1:f16 + y)",
     GEMEL_FACT_POSITIVE | GEMEL_FACT_FINITE, GEMEL_FACT_NONNEGATIVE, GEMEL_NEEDS_ALL},
    {"x: f32[4] nonnegative, y: f32[4] positive", "where(gt(x * y, 1000.5:f32), x, y + x)", "y + x",
     GEMEL_FACT_NONNEGATIVE, GEMEL_FACT_POSITIVE, GEMEL_NEEDS_ALL},
    {"x: f32[4] nonzero, y: f32[4] nonnegative", "where(eq(x * 3:f32 + y, 75:f32), y, x)", "x",
     GEMEL_FACT_NONZERO, GEMEL_FACT_NONNEGATIVE, GEMEL_NEEDS_ALL},
    {"x: f32[2] nonnegative not_nan, y: f32[2] nonzero not_nan", "x * 0:f32 + y", "y",
     GEMEL_FACT_NONNEGATIVE | GEMEL_FACT_NOT_NAN, GEMEL_FACT_NONZERO | GEMEL_FACT_NOT_NAN, 0},
    {"x: f32[2] nonzero finite, y: f32[2] nonnegative finite", "(x + y) + y", "x + (y + y)",
     GEMEL_FACT_NONZERO | GEMEL_FACT_FINITE, GEMEL_FACT_NONNEGATIVE | GEMEL_FACT_FINITE, 0},
};

/* The numbers behind "# input NAME:" in TEXT keep FACTS; how many there are. */
static size_t check_input(const char *text, const char *name, unsigned facts) {
  char head[40];
  const char *at;
  size_t n = 0;
  snprintf(head, sizeof head, "# input %s:", name);
  at = strstr(text, head);
  at = at != NULL ? strstr(at, " = ") : NULL;
  at = at != NULL ? at + 3 : NULL;
  while (at != NULL && *at != '\n' && *at != '\0') {
    char *end;
    double x = strtod(at, &end);
    ct_context("%s is %g in\n%s", name, x, text);
    CT_CHECK((kind_of(GEMEL_F64, x) & ~left_by(GEMEL_F64, facts)) == 0);
    if (end == at) {
      break;
    }
    n++;
    at = end;
  }
  return n;
}

/* What a counterexample holds, of pairs that all differ. */
struct refuted {
  const struct differing *of;
  size_t count, numbers;
};

static void take(void *user, const gemel_record *record) {
  struct refuted *r = user;
  if (record->verdict == GEMEL_VERDICT_REFUTED && record->counterexample != NULL) {
    r->count++;
    r->numbers += check_input(record->counterexample, "x", r->of->x);
    r->numbers += check_input(record->counterexample, "y", r->of->y);
  }
}

static void counterexamples(const void *data) {
#ifndef HAVE_Z3
  CT_SKIP("the solver finds some, and this build has none");
#endif
  gemel_context *context = gemel_context_new(&error);
  uint64_t seed;
  size_t k, numbers = 0;
  (void)data;
  for (k = 0; k < CT_COUNT(differing); k++) {
    gemel_graph *a = graph_returning(context, differing[k].inputs, differing[k].left);
    gemel_graph *b = graph_returning(context, differing[k].inputs, differing[k].right);
    for (seed = 1; seed <= 6; seed++) {
      struct refuted r = {&differing[k], 0, 0};
      hear_pair(a, b, differing[k].allow, "f",
                (gemel_verify_options){.seed = seed, .instances = 40, .sink = take, .user = &r});
      ct_context("%s: %s against %s, seed %d", differing[k].inputs, differing[k].left,
                 differing[k].right, (int)seed);
      CT_CHECK(r.count > 0);
      numbers += r.numbers;
    }
    gemel_graph_unref(a);
    gemel_graph_unref(b);
  }
  CT_CHECK(numbers > 100);
  gemel_context_unref(context);
}

/* ---- Decisions ---- */

/* The verdict of BODY against x, by a few points and no search. */
static gemel_verdict decided(gemel_context *context, const char *inputs, const char *body) {
  gemel_graph *a = graph_returning(context, inputs, body),
              *b = graph_returning(context, inputs, "x");
  gemel__question how = {.points = 12, .trials = 2, .seed = 3};
  gemel__random random;
  gemel__answer answer;
  gemel__pair pair;
  gemel_verdict verdict;
  gemel__random_seed(&random, 1);
  CT_EQ_INT(gemel__pair_draw(&pair, a, b, &random, &error), GEMEL_OK);
  CT_EQ_INT(gemel__pair_decide(&pair, &how, &answer, &error), GEMEL_OK);
  verdict = answer.verdict;
  gemel__answer_clear(&answer);
  gemel__pair_clear(&pair);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  return verdict;
}

static void decisions(const void *data) {
  static const char rare[] = "where(eq(x * 8:i64, 98760:i64), 0:i64, x)";
  static const char below[] = "where(lt(x, 0:i64), 7:i64, x)";
  static const char zero[] = "where(eq(x, 0:i64), 7:i64, x)";
  gemel_context *context = gemel_context_new(&error);
  (void)data;
  CT_EQ_INT(decided(context, "x: i64[2]", rare), GEMEL_VERDICT_UNINFORMATIVE);
  CT_EQ_INT(decided(context, "x: i64[2] nonnegative", rare), GEMEL_VERDICT_UNINFORMATIVE);
  CT_EQ_INT(decided(context, "x: i64[2] positive", rare), GEMEL_VERDICT_UNINFORMATIVE);
  CT_EQ_INT(decided(context, "x: i64[2] nonzero", rare), GEMEL_VERDICT_UNINFORMATIVE);
  CT_EQ_INT(decided(context, "x: i64[2] nonnegative", below), GEMEL_VERDICT_PASSED);
  CT_EQ_INT(decided(context, "x: i64[2] positive", zero), GEMEL_VERDICT_PASSED);
  CT_EQ_INT(decided(context, "x: i64[2] nonzero", zero), GEMEL_VERDICT_PASSED);
  gemel_context_unref(context);
}

/* ---- Matching ---- */

/* What the second graph assumes of an input that has another name there. */
static void matched(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *a = graph_returning(context, "x: f32[2]", "abs(x)");
  gemel_graph *b = graph_returning(context, "y: f32[2] nonnegative", "y");
  (void)data;
  heard h = hear_pair(a, b, GEMEL_NEEDS_ALL, "f",
                      (gemel_verify_options){.instances = 20, .match = "place"});
  CT_EQ_INT(h.result.verdict, GEMEL_VERDICT_PASSED);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("draws", draws, NULL), CT_TEST("counterexamples", counterexamples, NULL),
      CT_TEST("decisions", decisions, NULL), CT_TEST("matched", matched, NULL)};
  ct_suite("assumed", tests, CT_COUNT(tests));
}
