/*
 * Certified compilation of applications that are wrong in one place only: at one integer, in one
 * window, at a tie, at an infinity, in one row, for some of the sizes, in digits that a narrower
 * dtype hasn't got. Each is stopped with the rule's name for every seed; right ones of the same
 * kinds go through, and what only samples speak for is counted as open. GEMEL_CORPUS_SEEDS says how
 * many seeds (default 3).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/rewrite.h>
#include <gemel/text.h>
#include <gemel/verify.h>
#include "core/cons.h"
#include "core/graph.h"
#include "rewrite/engine.h"
#include "support/operation.h"

static gemel_error error;

/* A rule, without "rule NAME in canonicalize", and what follows "graph g" where it applies. OPEN,
 * of right ones: 0 it is decided, 1 it can only be sampled, SOLVED that a solver decides it. */
enum { SEEDS = 2, SOLVED = 2 };

typedef struct certify_case {
  const char *name, *needs, *rule, *graph;
  int open;
} certify_case;

#define F50 "(x: f32[50]) { return r = "
#define F5 "(x: f32[5]) { return r = "
#define FXY "(x: f32[5], y: f32[5]) { return r = "
#define I5 "(x: i64[5]) { return r = "
#define IXY "(x: i64[5], y: i64[5]) { return r = "
#define END " }"

static const certify_case wrong_cases[] = {
    /* integers: one value of many */
    {"equality", "", "where(x * 8 == 98760, 0, x) => x", I5 "where(x * 8 == 98760, 0, x)" END, 0},
    {"bound", "", "x < 7 => x <= 5", "(x: i32[5]) { return r = x < 7" END, 0},
    {"bound_of_sum", "", "where(x + 3 * y == 1000003, y, x) => x",
     IXY "where(x + 3 * y == 1000003, y, x)" END, 0},
    {"remainder", "", "where(mod(3 * x, 1000003) == 777, 0, x) => x",
     I5 "where(mod(3 * x, 1000003) == 777, 0, x)" END, 0},
    {"cubed", "", "x * x * x < 1000000 => x < 101", I5 "x * x * x < 1000000" END, 0},
    {"sign_of_remainder", "", "mod(x, 7) == 3 => abs(mod(neg(x), 7)) == 4 and x > 0",
     I5 "mod(x, 7) == 3" END, 0},
    {"wrapped", "", "x - 5 > 0 => x > 5", "(x: u8[5]) { return r = x - 5 > 0" END, 0},
    {"truth_table", "", "(a and b) or (c and d) => (a and b) or c",
     "(a: bool[5], b: bool[5], c: bool[5], d: bool[5]) { return r = (a and b) or (c and d)" END, 0},
    /* sizes, literals, indices */
    {"threshold", "", "where(i < 20, x, 0) => x", F50 "where(arange(n = 50) < 20, x, 0)" END, 0},
    {"last_row", "", "where(arange(n = 50) == 49, x, 0) => x * 0",
     F50 "where(arange(n = 50) == 49, x, 0)" END, 0},
    {"one_row", "", "where(arange(n = 50) == 20, 0, x) => x",
     F50 "where(arange(n = 50) == 20, 0, x)" END, 0},
    {"last_terms", "", "sum(where(arange(n = 1024) < 992, x, 0), axes = [0]) => sum(x, axes = [0])",
     "(x: f32[1024]) { return r = sum(where(arange(n = 1024) < 992, x, 0), axes = [0])" END, 0},
    {"symbol_below", "", "arange(n = s) < 64 => arange(n = s) < 63",
     "(x: f32[N]) { return r = where(arange(n = N) < 64, x, 0)" END, 0},
    {"symbol_above", "", "arange(n = s) < 64 => arange(n = s) >= 0",
     "(x: f32[N]) { return r = where(arange(n = N) < 64, x, 0)" END, 0},
    {"two_sizes", "", "where(arange(n = 40) < 30, x, 0) => x where shape(x)[0] > 30",
     "(x: f32[40], y: f32[30, 40]) { return r = dot(y, where(arange(n = 40) < 30, x, 0))" END, 0},
    /* comparisons and ties */
    {"literal_tie", "", "x > 0.3 => x >= 0.3", F5 "x > 0.3:f32" END, 0},
    {"computed_tie", "", "x * 7.25 + 1 > 30 => x * 7.25 + 1 >= 30", F5 "x * 7.25 + 1 > 30" END, 0},
    {"where_tie", "", "where(x > y, x * x, y) => where(x >= y, x * x, y)",
     FXY "where(x > y, x * x, y)" END, 0},
    {"product_tie", "", "x * y > 6 => x * y >= 6", FXY "x * y > 6" END, 0},
    {"argmax_tie", "",
     "argmax(neg(x), axis = 0) => 4 - argmax(reverse(neg(x), axes = [0]), axis = 0)",
     F5 "argmax(neg(x), axis = 0)" END, 0},
    {"equal_to_root", "", "where(x * 3 == 1.5, 0, x) => x", F5 "where(x * 3 == 1.5, 0, x)" END, 0},
    {"square_is_positive", "", "sqr(x + 12345) > 0 => x == x", F5 "sqr(x + 12345) > 0" END, 0},
    /* infinities */
    {"causal_mask", "", "max(where(c, x, -inf), axes = a) => max(where(c, x, -1000), axes = a)",
     "(c: bool[3, 4], x: f32[3, 4]) { return r = max(where(c, x, -inf:f32), axes = [1])" END, 0},
    {"infinite_pad", "",
     "max(pad(x, -inf, low = l, high = h), axes = a) => max(pad(x, 0, low = l, high = h), axes = "
     "a)",
     "(x: f32[3, 4]) { return r = max(pad(x, -inf:f32, low = [0, 1], high = [0, 1]), axes = "
     "[1])" END,
     0},
    {"bare_pad", "", "pad(x, -inf, low = l, high = h) => pad(x, 0, low = l, high = h)",
     "(x: f32[4]) { return r = pad(x, -inf:f32, low = [1], high = [1])" END, 0},
    {"bounded_by_infinity", "", "minimum(x, inf) => minimum(x, 1000)", F5 "minimum(x, inf:f32)" END,
     0},
    {"masked_sum", "", "sum(exp(where(c, x, -inf)), axes = a) => sum(exp(x), axes = a)",
     "(c: bool[4], x: f32[4]) { return r = sum(exp(where(c, x, -inf:f32)), axes = [0])" END, 0},
    {"below_infinity", "", "where(x < inf, x, 0) => x", F5 "where(x < inf:f32, x, 0)" END, 0},
    {"largest", "", "minimum(x, 3.4e38) => x", F5 "minimum(x, 3.4e38:f32)" END, 0},
    /* ranges */
    {"wide_clip", "", "minimum(maximum(x, -100), 100) => x",
     F5 "minimum(maximum(x, -100), 100)" END, 0},
    {"window", "", "relu(x + 1000) * relu(neg(x) + -999) => x * 0",
     F5 "relu(x + 1000) * relu(neg(x) + -999)" END, 0},
    {"window_of_exp", "", "relu(exp(x) - 1000) * relu(1001 - exp(x)) => x * 0",
     "(x: f64[5]) { return r = relu(exp(x) - 1000) * relu(1001 - exp(x))" END, 0},
    {"far_branch", "", "where(x < 123456, x, neg(x)) => x", F5 "where(x < 123456, x, neg(x))" END,
     0},
    {"two_conditions", "",
     "where(x > 10 and y < x - 20, y, x) => where(x > 10 and y < x - 21, y, x)",
     FXY "where(x > 10 and y < x - 20, y, x)" END, 0},
    /* dtypes */
    {"through_i16", "", "cast(cast(x, dtype = i16), dtype = i64) => x",
     I5 "cast(cast(x, dtype = i16), dtype = i64)" END, 0},
    {"through_f32", "", "cast(cast(x, dtype = f32), dtype = i64) => x",
     I5 "cast(cast(x, dtype = f32), dtype = i64)" END, 0},
    {"sum_in_floats", "", "neg(x) + 7 => cast(cast(neg(x), dtype = f32) + 7, dtype = i64)",
     I5 "neg(x) + 7" END, 0},
    {"through_f16", "", "cast(cast(x, dtype = f16), dtype = f32) => x",
     F5 "cast(cast(x, dtype = f16), dtype = f32)" END, 0},
    {"compared_as_floats", "", "neg(x) < y => cast(neg(x), dtype = f32) < cast(y, dtype = f32)",
     IXY "neg(x) < y" END, 0},
    {"sum_in_i32", "",
     "neg(x) + y => cast(cast(neg(x), dtype = i32) + cast(y, dtype = i32), dtype = i64)",
     IXY "neg(x) + y" END, 0},
};

static const certify_case right_cases[] = {
    /* decided */
    {"ring", "", "x * 3 + neg(x) * 5 => x * -2", I5 "x * 3 + neg(x) * 5" END, 0},
    {"mask", "", "where(logical_not(c), x, y) => where(c, y, x)",
     "(c: bool[5], x: f32[5], y: f32[5]) { return r = where(logical_not(c), x, y)" END, 0},
    {"masked_sum", "", "sum(where(c, x, 0), axes = a) => sum(x * cast(c, dtype = f32), axes = a)",
     "(c: bool[4, 3], x: f32[4, 3]) { return r = sum(where(c, x, 0), axes = [0])" END, 0},
    {"absorbed", "", "(a and b) or a => a",
     "(a: bool[5], b: bool[5]) { return r = (a and b) or a" END, 0},
    {"moved_integers", "", "dimshuffle(dimshuffle(x, order = p), order = q) => x",
     "(x: i32[3, 4]) { return r = dimshuffle(dimshuffle(x, order = [1, 0]), order = [1, 0])" END,
     0},
    {"sign", "", "abs(neg(x)) => abs(x)", F5 "abs(neg(x))" END, 0},
    {"two_signs", "nsz", "maximum(x, 0) * sign(x) => maximum(x, 0)",
     F5 "maximum(x, 0) * sign(x)" END, 0},
    {"place", "", "where(arange(n = 50) < 20, x, 0) => where(20 > arange(n = 50), x, 0)",
     F50 "where(arange(n = 50) < 20, x, 0)" END, 0},
    {"widened", "", "cast(cast(x, dtype = i32), dtype = i16) => x",
     "(x: i16[5]) { return r = cast(cast(x, dtype = i32), dtype = i16)" END, 0},
    {"scaled_size", "reassoc, nsz", "sum(broadcast_to(x, shape = s), axes = [0]) => x * 50",
     "(x: f32[4]) { return r = sum(broadcast_to(x, shape = [50, 4]), axes = [0])" END, 0},
    /* sampled, some unless there is a solver */
    {"integer_bound", "", "x < 7 => x <= 6", "(x: i32[5]) { return r = x < 7" END, SOLVED},
    {"integer_choice", "", "where(x > y, x, y) => maximum(x, y)", IXY "where(x > y, x, y)" END,
     SOLVED},
    {"symbol", "", "arange(n = s) < 64 => 64 > arange(n = s)",
     "(x: f32[N]) { return r = where(arange(n = N) < 64, x, 0)" END, 1},
    {"large", "", "where(arange(n = 100000) < 20, x, 0) => where(20 > arange(n = 100000), x, 0)",
     "(x: f32[100000]) { return r = where(arange(n = 100000) < 20, x, 0)" END, 1},
    {"maximum_of_many", "", "max(dimshuffle(x, order = p), axes = [0]) => max(x, axes = [1])",
     "(x: f32[3, 4]) { return r = max(dimshuffle(x, order = [1, 0]), axes = [0])" END, SOLVED},
};

/* What a certified rewrite of C's graph by its rule alone comes to: NULL and the error, or the
 * result. The counts are those of this rewrite. */
static gemel_graph *certified(gemel_context *context, const certify_case *c, uint64_t seed,
                              gemel_certify_counts *counts) {
  char text[1200];
  gemel_rewrite_options o = {.size = sizeof o,
                             .certify = 1,
                             .has_allow = 1,
                             .n_rules = 1,
                             .allow = GEMEL_FASTMATH_ALL,
                             .without_builtin = 1};
  const gemel_rules *rules;
  gemel_graph *graph, *result = NULL;
  snprintf(text, sizeof text, "rule a_case in canonicalize%s%s:\n    %s\n",
           c->needs[0] != '\0' ? " needs " : "", c->needs, c->rule);
  rules = gemel_rules_parse(context, text, strlen(text), "a.rules", &error);
  CT_EQ_STR(rules != NULL ? "" : error.text, "");
  snprintf(text, sizeof text, "graph g%s", c->graph);
  graph = gemel_parse(context, text, strlen(text), "g.gmt", NULL, &error);
  CT_EQ_STR(graph != NULL ? "" : error.text, "");
  CT_EQ_INT(gemel_certify_enable(context, seed, &error), GEMEL_OK);
  memset(&error, 0, sizeof error);
  if (rules != NULL && graph != NULL) {
    o.rules = &rules;
    result = gemel_rewrite(graph, &o, &error);
  }
  counts->size = sizeof *counts;
  gemel_certify_counted(context, counts);
  gemel_graph_unref(graph);
  gemel_rules_unref((gemel_rules *)rules);
  return result;
}

/* The report names inputs, if there are any, and what both sides give there. */
static void names_inputs(const gemel_context *context) {
  char *report = gemel_certify_report(context, &error);
  CT_CHECK(report != NULL && (strstr(report, "\n# input ") != NULL || strstr(report, "before()")));
  CT_HAS_STR(report, "\n# element ");
  gemel_text_free(report);
}

static void is_stopped(const void *data) {
  for (int seed = 1; seed <= (int)ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_certify_counts counts;
    gemel_graph *result = certified(context, data, (uint64_t)seed, &counts);
    ct_context("seed %d", seed);
    CT_CHECK(counts.applications > 0);
    if (!CT_CHECK(result == NULL)) {
      ct_property("open", (long long)counts.open);
    }
    CT_HAS_STR(error.text, "rule a_case doesn't hold");
    names_inputs(context);
    gemel_graph_unref(result);
    gemel_context_unref(context);
  }
}

/* A right rule goes through, and what can't be decided is said to be open. */
static void goes_through(const void *data) {
  const certify_case *c = data;
  for (int seed = 1; seed <= (int)ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_certify_counts counts;
    gemel_graph *result = certified(context, c, (uint64_t)seed, &counts);
    ct_context("seed %d", seed);
    CT_EQ_STR(error.text, "");
    CT_CHECK(result != NULL && counts.applications > 0);
    CT_CHECK(c->open == SOLVED ? counts.open <= 1 : counts.open == (uint64_t)c->open);
    CT_EQ_UINT(counts.sampled, counts.open);
    gemel_graph_unref(result);
    gemel_context_unref(context);
  }
}

/* ---- Passes ---- */

/* A pass that replaces the output of a graph by what MAKE makes of the operands of its operation.
 */
typedef struct pass_case {
  const char *name, *graph;
  gemel_value (*make)(gemel_value x, gemel_value y);
  int wrong;
} pass_case;

static gemel_value strictly_less(gemel_value x, gemel_value y) {
  return gemel_lt(x, y);
}

static gemel_value less_or_equal(gemel_value x, gemel_value y) {
  return gemel_ge(y, x);
}

static gemel_value less_than_next(gemel_value x, gemel_value y) {
  return gemel_lt(x, gemel_add(y, gemel_scalar(y.graph, GEMEL_I64, 1)));
}

static gemel_value through_half(gemel_value x, gemel_value y) {
  return gemel_cast(gemel_cast(gemel_sub(x, gemel_neg(y)), GEMEL_F16), GEMEL_F32);
}

static gemel_value sum_of_few(gemel_value x, gemel_value y) {
  gemel_value bounded = gemel_minimum(x, gemel_scalar(x.graph, GEMEL_F32, 1e6));
  return gemel_sub(bounded, gemel_neg(y));
}

static gemel_value negative_of_negative(gemel_value x, gemel_value y) {
  return gemel_sub(x, gemel_neg(y));
}

static const pass_case pass_cases[] = {
    {"tie", FXY "x <= y" END, strictly_less, 1},
    {"swapped", FXY "x <= y" END, less_or_equal, 0},
    {"wraps", IXY "x <= y" END, less_than_next, 1},
    {"narrow", FXY "x + y" END, through_half, 1},
    {"bounded", FXY "x + y" END, sum_of_few, 1},
    {"negated", FXY "x + y" END, negative_of_negative, 0},
};

static gemel_status replace_output(gemel_edit *edit, const void *data, gemel_error *unused) {
  const pass_case *c = data;
  gemel_value old = gemel_graph_output(gemel_edit_graph(edit), 0), x, y;
  (void)unused;
  if (strcmp(gemel_value_operation(old), "le") != 0 &&
      strcmp(gemel_value_operation(old), "add") != 0) {
    return GEMEL_OK;
  }
  x = gemel_edit_value(edit, gemel_value_input(old, 0));
  y = gemel_edit_value(edit, gemel_value_input(old, 1));
  return gemel_edit_replace(edit, old, c->make(x, y));
}

static void pass_once(const pass_case *c, uint64_t seed) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_pass pass = {.size = sizeof pass,
                     .name = "a_pass",
                     .rewrite = replace_output,
                     .generate = no_instance,
                     .data = c};
  gemel_rewrite_options options = {.size = sizeof options, .include = "a_pass", .certify = 1};
  char text[200];
  gemel_graph *graph, *result;
  snprintf(text, sizeof text, "graph g%s", c->graph);
  graph = gemel_parse(context, text, strlen(text), "g.gmt", NULL, &error);
  CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_OK);
  CT_EQ_INT(gemel_certify_enable(context, seed, &error), GEMEL_OK);
  memset(&error, 0, sizeof error);
  result = graph != NULL ? gemel_rewrite(graph, &options, &error) : NULL;
  CT_CHECK((result == NULL) == c->wrong);
  if (c->wrong) {
    CT_HAS_STR(error.text, "pass a_pass doesn't hold");
    names_inputs(context);
  } else {
    CT_EQ_STR(error.text, "");
  }
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void pass_is_judged(const void *data) {
  for (int seed = 1; seed <= (int)ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    ct_context("seed %d", seed);
    pass_once(data, (uint64_t)seed);
  }
}

/* ---- Folded constants ---- */

/* OPERATION on two scalars, what it gives and what it doesn't. */
typedef struct fold_case {
  const char *name, *operation;
  gemel_dtype dtype, result;
  double a, b, right, wrong;
} fold_case;

static const fold_case fold_cases[] = {
    {"bounded_by_infinity", "minimum", GEMEL_F32, GEMEL_F32, INFINITY, 3, 3, 5},
    {"above_infinity", "maximum", GEMEL_F32, GEMEL_F32, -INFINITY, 2, 2, 1},
    {"over_infinity", "div", GEMEL_F32, GEMEL_F32, 1, INFINITY, 0, 0.5},
    {"power_of_infinity", "pow", GEMEL_F64, GEMEL_F64, INFINITY, -1, 0, 1},
    {"sign_of_infinity", "add", GEMEL_F32, GEMEL_F32, -INFINITY, 2, -INFINITY, INFINITY},
    {"compared_with_infinity", "lt", GEMEL_F32, GEMEL_BOOL, 3e38, INFINITY, 1, 0},
    {"tie", "le", GEMEL_F32, GEMEL_BOOL, 0.25, 0.25, 1, 0},
    {"remainder", "mod", GEMEL_I32, GEMEL_I32, -7, 3, 2, -1},
    {"wrapped", "add", GEMEL_I8, GEMEL_I8, 127, 1, -128, 127},
    {"last_place", "mul", GEMEL_F32, GEMEL_F32, 3, 0x1.000002p0, 0x1.800004p1, 0x1.800008p1},
};

/* Tells the witness that VALUE was computed for NODE. */
static gemel_status testify(gemel_context *context, gemel_value node, double value,
                            gemel_dtype dtype) {
  gemel__certifier *c = context->certifier;
  gemel_value constant = gemel_scalar(node.graph, dtype, value);
  gemel__application a = {.graph = node.graph,
                          .before = {node.node, node.output},
                          .after = {constant.node, constant.output}};
  void *user = c->begin(c, &error);
  gemel_status status = user != NULL ? c->witness(user, &a, &error) : GEMEL_NO_MEMORY;
  if (user != NULL) {
    c->end(c, user);
  }
  return status;
}

static void fold_is_judged(const void *data) {
  const fold_case *f = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value operands[2] = {gemel_scalar(graph, f->dtype, f->a),
                             gemel_scalar(graph, f->dtype, f->b)};
  gemel_value node = gemel_apply(graph, f->operation, 2, operands, 0, NULL);
  CT_EQ_INT(gemel_certify_enable(context, 1, &error), GEMEL_OK);
  CT_EQ_INT(testify(context, node, f->right, f->result), GEMEL_OK);
  CT_EQ_INT(testify(context, node, f->wrong, f->result), GEMEL_WRONG_RULE);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(fold_cases); k++) {
    CT_ADD("fold", fold_cases[k].name, fold_is_judged, &fold_cases[k]);
  }
  for (size_t k = 0; k < CT_COUNT(pass_cases); k++) {
    CT_ADD("pass", pass_cases[k].name, pass_is_judged, &pass_cases[k]);
  }
  for (size_t k = 0; k < CT_COUNT(right_cases); k++) {
    CT_ADD("right", right_cases[k].name, goes_through, &right_cases[k]);
  }
  for (size_t k = 0; k < CT_COUNT(wrong_cases); k++) {
    CT_ADD("wrong", wrong_cases[k].name, is_stopped, &wrong_cases[k]);
  }
}
