/*
 * Certified compilation: rules that are wrong in one of the usual ways, each on a graph where it
 * applies, are stopped by name, and go through where nobody looks; gemel's own rules on the graphs
 * of bench/graphs and their gradients raise no alarm, whatever the seed; a wrong constant is found;
 * and what is asked for without the harness, or without memory, is an ordinary error.
 *
 * SPDX-License-Identifier: MIT
 */
#include "graphs.h"

#include <gemel/verify.h>
#include "core/cons.h"
#include "core/graph.h"
#include "rewrite/engine.h"
#include "support/graph-text.h"
#include "support/operation.h"

static gemel_error error;

static gemel_graph *rewrite(const gemel_graph *graph, const gemel_rules *rules, int certify,
                            gemel_error *problem) {
  gemel_rewrite_options o = {.size = sizeof o, .certify = certify};
  o.has_allow = 1;
  o.allow = GEMEL_FASTMATH_ALL;
  o.rules = &rules;
  o.n_rules = rules != NULL;
  o.without_builtin = rules != NULL;
  return gemel_rewrite(graph, &o, problem);
}

/* ---- Wrong rules ---- */

/* A rule called wrong, without "rule wrong in canonicalize:", and a graph where it applies. */
typedef struct wrong_rule {
  const char *name, *rule, *graph;
} wrong_rule;

#define XY "(x: f32[3, 4], y: f32[3, 4]) { r = "
#define ONE "(x: f32[3, 4]) { r = "
#define END " return r }"
#define NEG_NEG "\n\nrule second in canonicalize:\n    neg(neg(z)) => z"

static const wrong_rule wrong_rules[] = {
    /* swapped operands */
    {"sub_swapped", "neg(x - y) => x - y", XY "neg(x - y)" END},
    {"div_swapped", "sqr(x / y) => y / x * (y / x)", XY "sqr(x / y)" END},
    {"pow_swapped", "log(pow(x, y)) => x * log(y)", XY "log(pow(x, y))" END},
    {"lt_swapped", "logical_not(x < y) => y > x",
     "(x: i32[3, 4], y: i32[3, 4]) { r = logical_not(x < y)" END},
    {"where_swapped", "where(logical_not(c), x, y) => where(c, x, y)",
     "(c: bool[3], x: f32[3], y: f32[3]) { r = where(logical_not(c), x, y)" END},
    {"dot_swapped",
     "dimshuffle(dot(x, y), order = [1, 0]) => dot(dimshuffle(x, order = [1, 0]), "
     "dimshuffle(y, order = [1, 0]))",
     "(x: f32[3, 3], y: f32[3, 3]) { r = dimshuffle(dot(x, y), order = [1, 0])" END},
    {"join_swapped", "neg(join(x, y, axis = a)) => join(neg(y), neg(x), axis = a)",
     XY "neg(join(x, y, axis = 1))" END},
    {"mod_swapped", "abs(mod(x, y)) => mod(y, x)",
     "(x: i64[3], y: i64[3]) { r = abs(mod(x, y))" END},
    /* signs */
    {"neg_sub", "neg(x - y) => neg(x) - y", XY "neg(x - y)" END},
    {"sub_neg", "x - neg(y) => x - y", XY "x - neg(y)" END},
    {"exp_neg", "exp(neg(x)) => neg(exp(x))", ONE "exp(neg(x))" END},
    {"tanh_even", "tanh(neg(x)) => tanh(x)", ONE "tanh(neg(x))" END},
    {"sum_neg", "sum(neg(x), axes = a) => sum(x, axes = a)", ONE "sum(neg(x), axes = [0])" END},
    {"max_neg", "max(neg(x), axes = a) => neg(max(x, axes = a))",
     ONE "max(neg(x), axes = [1])" END},
    {"maximum_neg", "maximum(neg(x), neg(y)) => neg(maximum(x, y))",
     XY "maximum(neg(x), neg(y))" END},
    {"relu_neg", "relu(neg(x)) => neg(relu(x))", ONE "relu(neg(x))" END},
    {"sigmoid_neg", "sigmoid(neg(x)) => 2 - sigmoid(x)", ONE "sigmoid(neg(x))" END},
    /* numbers */
    {"mul_two", "x * 2 => x", ONE "x * 2" END},
    {"add_one", "x + 1 => x", ONE "x + 1" END},
    {"mul_zero_one", "x * 0 => 1", ONE "x * 0" END},
    {"pow_three", "pow(x, 3) => x * x", ONE "pow(x, 3)" END},
    {"log_of_exp", "log(exp(x)) => x + 1", ONE "log(exp(x))" END},
    {"expm1", "exp(x) - 1 => expm1(x) + 1", ONE "exp(x) - 1" END},
    {"twice", "x + x => 3 * x", ONE "x + x" END},
    {"tiny", "x * 1.5 => x * 1.500001", "(x: f64[3]) { r = x * 1.5" END},
    {"softplus", "log(1 + exp(x)) => log1p(x)", ONE "log(1 + exp(x))" END},
    /* dropped conditions */
    {"sqrt_sqr", "sqrt(sqr(x)) => x", ONE "sqrt(sqr(x))" END},
    {"sqrt_product", "sqrt(x * x) => x", ONE "sqrt(x * x)" END},
    {"abs", "abs(x) => x", ONE "abs(x)" END},
    {"abs_product", "abs(x * y) => x * abs(y)", XY "abs(x * y)" END},
    {"relu_scaled", "relu(x * y) => x * relu(y)", XY "relu(x * y)" END},
    {"max_scaled", "max(x * c, axes = a) => max(x, axes = a) * c",
     "(x: f32[3, 4], c: f32[]) { r = max(x * c, axes = [0, 1])" END},
    {"mul_constant", "x * c => x where constant(c)", ONE "x * 7" END},
    {"int_sqr", "abs(sqr(x)) => sqr(x)", "(x: i8[5]) { r = abs(sqr(x))" END},
    {"wraps", "maximum(x, y) + 1 => maximum(x + 1, y + 1)",
     "(x: i8[5], y: i8[5]) { r = maximum(x, y) + 1" END},
    {"cast_there_and_back", "cast(cast(x, dtype = d), dtype = e) => x where dtype(x) == e",
     "(x: f32[5]) { r = cast(cast(x, dtype = i32), dtype = f32)" END},
    {"greater_equal", "x >= y => x > y", "(x: i32[5], y: i32[5]) { r = x >= y" END},
    /* axes, sizes, orders */
    {"sum_of_sum", "sum(sum(x, axes = [0]), axes = [0]) => sum(x, axes = [0, 2])",
     "(x: f32[3, 3, 3]) { r = sum(sum(x, axes = [0]), axes = [0])" END},
    {"transposes", "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = q[p])",
     "(x: f32[3, 3, 3]) { r = dimshuffle(dimshuffle(x, order = [1, 2, 0]), order = [0, 2, 1])" END},
    {"transpose_lost", "dimshuffle(x, order = p) => x where shape(x)[p] == shape(x)",
     "(x: f32[3, 3]) { r = dimshuffle(x, order = [1, 0])" END},
    {"reverse_lost", "reverse(reverse(x, axes = a), axes = b) => reverse(x, axes = a)",
     ONE "reverse(reverse(x, axes = [0]), axes = [1])" END},
    {"reshape_transpose", "reshape(dimshuffle(x, order = p), shape = s) => reshape(x, shape = s)",
     ONE "reshape(dimshuffle(x, order = [1, 0]), shape = [12])" END},
    {"softmax_axis", "log(softmax(x, axis = 1)) => log(softmax(x, axis = 0))",
     ONE "log(softmax(x, axis = 1))" END},
    {"window_shifted",
     "subtensor(x, start = a, size = b, step = c) => "
     "subtensor(x, start = a * 0, size = b, step = c) where not (a == 0)",
     "(x: f32[9]) { r = subtensor(x, start = [2], size = [3])" END},
    {"windows",
     "subtensor(subtensor(x, start = a, size = b, step = c), start = d, size = e, step "
     "= f) => subtensor(x, start = a + d, size = e, step = c * f)",
     "(x: f32[30]) { r = subtensor(subtensor(x, start = [1], size = [9], step = [3]), start = [2], "
     "size = [3], step = [2])" END},
    {"broadcast_lost", "sum(broadcast_to(x, shape = s), axes = [0]) => x",
     "(x: f32[4]) { r = sum(broadcast_to(x, shape = [3, 4]), axes = [0])" END},
    {"large_sizes", "sum(dot(x, y), axes = [0]) => dot(sum(x, axes = [0]), y) * 2",
     "(x: f32[70, 30], y: f32[30, 50]) { r = sum(dot(x, y), axes = [0])" END},
    {"symbolic", "sum(x + y, axes = [1]) => sum(x, axes = [1])",
     "(x: f32[N, M], y: f32[N, M]) { r = sum(x + y, axes = [1])" END},
    {"reshape_with_symbol",
     "reshape(reshape(x, shape = s), shape = t) => reshape(neg(x), shape = t)",
     "(x: f32[N, 16]) { r = reshape(reshape(x, shape = [N, 4, 4]), shape = [N, 1, 4, 4])" END},
    /* a part of the right side becomes a leaf, or what the left side matched */
    {"part_to_leaf", "exp(x) => neg(neg(x)) + x" NEG_NEG, ONE "exp(x)" END},
    {"part_to_other_leaf", "x - y => neg(neg(y)) + neg(x)" NEG_NEG, XY "x - y" END},
    {"parts_to_one_leaf", "exp(x) => neg(neg(x)) * neg(neg(x))" NEG_NEG, ONE "exp(x)" END},
    {"part_to_matched", "exp(tanh(x)) => neg(neg(tanh(x))) + x" NEG_NEG, ONE "exp(tanh(x))" END},
    {"all_operands", "neg(join(..xs, axis = 0)) => join(..xs, axis = 0) where count(xs) == 3",
     "(x: f32[2], y: f32[2]) { r = neg(join(x, y, x, axis = 0))" END},
};

static gemel_rules *rules_of(gemel_context *context, const char *body) {
  char text[1000];
  snprintf(text, sizeof text, "rule wrong in canonicalize:\n    %s\n", body);
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "test.rules", &error);
  if (rules == NULL) {
    CT_FAIL("%s", error.text);
  }
  return rules;
}

/* Without the harness the rule is applied. */
static void applies(const gemel_graph *graph, const gemel_rules *rules) {
  gemel_graph *plain = rewrite(graph, rules, 0, &error);
  char *before, *after;
  if (plain == NULL) {
    CT_FAIL("%s", error.text);
    return;
  }
  before = gemel_print_string(graph, "g", NULL);
  after = gemel_print_string(plain, "g", NULL);
  CT_CHECK(before != NULL && after != NULL && strcmp(before, after) != 0);
  gemel_text_free(before);
  gemel_text_free(after);
  gemel_graph_unref(plain);
}

/* A rule, and a graph that it applies to, where rewrites can be certified. */
typedef struct desk {
  gemel_context *context;
  gemel_rules *rules;
  gemel_graph *graph;
} desk;

/* 1 if all is there. */
static int open_desk(desk *d, const char *rule, const char *graph, uint64_t seed) {
  d->context = gemel_context_new(NULL);
  d->rules = rules_of(d->context, rule);
  d->graph = graph != NULL ? graph_of(d->context, graph) : gemel_graph_new(d->context, NULL);
  CT_EQ_INT(gemel_certify_enable(d->context, seed, &error), GEMEL_OK);
  return CT_CHECK(d->rules != NULL && d->graph != NULL);
}

static gemel_certify_counts close_desk(desk *d) {
  gemel_certify_counts counts = {.size = sizeof counts};
  gemel_certify_counted(d->context, &counts);
  gemel_graph_unref(d->graph);
  gemel_rules_unref(d->rules);
  gemel_context_unref(d->context);
  return counts;
}

/* The report has both sides whole, which the message has no room for, and where they differ. */
static void is_reported(const desk *d) {
  char *report = gemel_certify_report(d->context, &error);
  const char *after = report != NULL ? strstr(report, "graph after(") : NULL;
  CT_REQUIRE(after != NULL);
  CT_CHECK(strncmp(report, "test:1", 6) == 0);
  CT_CHECK(strstr(report, "graph before(") < after && strstr(after, "\n}\n# ") != NULL);
  CT_CHECK(strstr(report, "\n...") == NULL);
  CT_HAS_STR(after, "# input ");
  CT_HAS_STR(after, "# element ");
  CT_HAS_STR(after, ": before ");
  CT_HAS_STR(after, ", after ");
  gemel_text_free(report);
}

static void stop_once(const wrong_rule *w, uint64_t seed) {
  desk d;
  if (open_desk(&d, w->rule, w->graph, seed)) {
    gemel_graph *certified;
    applies(d.graph, d.rules);
    certified = rewrite(d.graph, d.rules, 1, &error);
    if (CT_CHECK(certified == NULL)) {
      CT_EQ_INT(error.status, GEMEL_WRONG_RULE);
      CT_HAS_STR(error.text, "rule wrong doesn't hold");
      CT_HAS_STR(error.text, "test:1");
      CT_HAS_STR(error.text, "graph before");
      CT_HAS_STR(error.text, "graph after");
      is_reported(&d);
    }
    gemel_graph_unref(certified);
  }
  close_desk(&d);
}

static void is_stopped(const void *data) {
  for (uint64_t seed = 1; seed <= 5; seed++) {
    ct_context("seed %d", (int)seed);
    stop_once(data, seed);
  }
}

/* ---- Rules that are proved ---- */

/* Nothing is asked of a rule that is proved; another one that is called so is asked about. */
static void proved_is_taken(const void *data) {
  static const char text[] = "graph g(p: bool[3], x: f32[3]) { return r = where(p, x, x) }";
  static const char other[] = "rule where_same in canonicalize: where(p, x, y) => -x";
  (void)data;
  for (int own = 1; own >= 0; own--) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *graph = gemel_parse(context, text, strlen(text), "same.gmt", NULL, &error);
    gemel_rules *rules = gemel_rules_parse(context, other, strlen(other), "other.rules", &error);
    const gemel_rules *const sets[] = {rules};
    gemel_certify_counts counts = {.size = sizeof counts};
    gemel_rewrite_options options = {.size = sizeof options, .include = "where_same", .certify = 1};
    gemel_rules_unref(gemel_rules_builtin(context, &error)); /* they are there in any case */
    options.without_builtin = !own;
    options.rules = own ? NULL : sets;
    options.n_rules = !own;
    CT_EQ_INT(gemel_certify_enable(context, 1, &error), GEMEL_OK);
    gemel_graph *result = gemel_rewrite(graph, &options, &error);
    gemel_certify_counted(context, &counts);
    CT_EQ_INT(result != NULL, own);
    CT_EQ_UINT(counts.applications, 1);
    CT_EQ_UINT(counts.proved, own);
    CT_CHECK((counts.regions > 0) == !own);
    gemel_graph_unref(result);
    gemel_graph_unref(graph);
    gemel_rules_unref(rules);
    gemel_context_unref(context);
  }
}

/* ---- Passes ---- */

/* Replaces exp(x) + y by what DATA says; asks for x and y, or (of "deep") for x alone. */
static gemel_status replace_sum(gemel_edit *edit, const void *data, gemel_error *unused) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  const char *how = data;
  (void)unused;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_value old = {(gemel_graph *)graph, k, 0};
    if (strcmp(gemel_value_operation(old), "add") == 0) {
      int second = strcmp(gemel_value_operation(gemel_value_input(old, 0)), "exp") != 0;
      gemel_value e = gemel_value_input(old, (size_t)second), x, y;
      x = gemel_edit_value(edit, strcmp(how, "deep") == 0 ? gemel_value_input(e, 0) : e);
      x = strcmp(how, "deep") == 0 ? gemel_exp(x) : x;
      y = gemel_edit_value(edit, gemel_value_input(old, (size_t)!second));
      return gemel_edit_replace(
          edit, old, strcmp(how, "wrong") == 0 ? gemel_sub(x, y) : gemel_sub(x, gemel_neg(y)));
    }
  }
  return GEMEL_OK;
}

/* Values at which neither side has a result, here a number of steps beyond the rows, or a row
 * before the first, tell nothing of a replacement and stop nothing. */
static void goes_on_without_results(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_parse(context, data, strlen(data), "loop.gmt", NULL, &error);
  gemel_rewrite_options options = {.size = sizeof options, .include = "loop", .certify = 1};
  gemel_certify_counts counts = {.size = sizeof counts};
  CT_EQ_INT(gemel_certify_enable(context, 1, &error), GEMEL_OK);
  gemel_graph *result = gemel_rewrite(graph, &options, &error);
  CT_EQ_STR(result != NULL ? "" : error.text, "");
  gemel_certify_counted(context, &counts);
  CT_CHECK(counts.applications > 0);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* What a pass replaces is checked as what a rule does: the wrong one is stopped, the right ones are
 * not, and are no open questions. */
static void pass_is_checked(const void *data) {
  static const char text[] = "graph g(x: f32[20, N], y: f32[20, N]) { return r = exp(x) + y }";
  const char *how = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "pass.gmt", NULL, &error);
  gemel_pass pass = {.size = sizeof pass,
                     .name = "own",
                     .rewrite = replace_sum,
                     .generate = no_instance,
                     .data = how};
  gemel_rewrite_options options = {.size = sizeof options, .include = "own", .certify = 1};
  gemel_certify_counts counts = {.size = sizeof counts};
  CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_OK);
  CT_EQ_INT(gemel_certify_enable(context, 1, &error), GEMEL_OK);
  gemel_graph *result = gemel_rewrite(graph, &options, &error);
  if (strcmp(how, "wrong") == 0) {
    CT_CHECK(result == NULL);
    CT_HAS_STR(error.text, "pass own doesn't hold");
    CT_HAS_STR(error.text, "pass.gmt:1");
    CT_HAS_STR(error.text, "graph before");
    CT_HAS_STR(error.text, "graph after");
  } else {
    CT_CHECK(result != NULL);
    gemel_certify_counted(context, &counts);
    CT_EQ_UINT(counts.applications, 1);
    CT_EQ_UINT(counts.open, 0);
  }
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Right rules ---- */

/* Adds d_k for each input of a float dtype, of the output "loss". */
static gemel_status differentiate(gemel_graph *graph) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_value loss = gemel_graph_output(graph, 0), wrt[48], gradients[48];
  size_t n = 0;
  for (size_t k = 0; k < gemel_graph_input_count(graph) && n < 48; k++) {
    gemel_value input = gemel_graph_input(graph, k);
    if (gemel_dtype_kind(gemel_type_dtype(context, gemel_value_type(input))) == GEMEL_KIND_FLOAT) {
      wrt[n++] = input;
    }
  }
  gemel_status status = gemel_grad(1, &loss, NULL, n, wrt, gradients, &error);
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    char name[16];
    snprintf(name, sizeof name, "d_%zu", k);
    status = gemel_output(gradients[k], name);
  }
  return status;
}

static gemel_certify_counts certified_all;

/* Certified, the graph comes out as it does otherwise. */
static void holds(const corpus_file *file, int gradient, uint64_t seed) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_certify_counts counts = {.size = sizeof counts};
  gemel_graph *graph = load_graph(context, file, NULL), *plain, *certified;
  CT_EQ_INT(gemel_certify_enable(context, seed, &error), GEMEL_OK);
  if (CT_CHECK(graph != NULL) && (!gradient || CT_EQ_INT(differentiate(graph), GEMEL_OK))) {
    plain = rewrite(graph, NULL, 0, &error);
    certified = rewrite(graph, NULL, 1, &error);
    if (certified == NULL) {
      CT_FAIL("%s", error.text);
    } else {
      char *a = gemel_print_string(plain, "g", NULL), *b = gemel_print_string(certified, "g", NULL);
      CT_EQ_STR(a, b);
      gemel_text_free(a);
      gemel_text_free(b);
    }
    gemel_certify_counted(context, &counts);
    certified_all.applications += counts.applications;
    certified_all.regions += counts.regions;
    certified_all.open += counts.open;
    certified_all.sampled += counts.sampled;
    gemel_graph_unref(plain);
    gemel_graph_unref(certified);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

enum { SEEDS = 2 };

static void raises_no_alarm(const void *data) {
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    ct_context("seed %d", (int)seed);
    holds(data, 0, seed);
    holds(data, 1, seed);
  }
}

/* Runs last: what is open was sampled at least, and few regions are. */
static void were_checked(const void *data) {
  (void)data;
  if (certified_all.applications == 0) {
    CT_FAIL("no graph was rewritten");
  }
  ct_property("applications", (long long)certified_all.applications);
  ct_property("regions", (long long)certified_all.regions);
  ct_property("open", (long long)certified_all.open);
  CT_CHECK(certified_all.regions > 100);
  ct_property("sampled", (long long)certified_all.sampled);
  printf("%llu of %llu questions open, %llu of them sampled\n",
         (unsigned long long)certified_all.open, (unsigned long long)certified_all.regions,
         (unsigned long long)certified_all.sampled);
  CT_EQ_UINT(certified_all.open, certified_all.sampled);
  CT_CHECK(certified_all.open < certified_all.regions / 40);
}

/* ---- Facts and constants ---- */

typedef struct fact {
  const char *name, *rule, *graph;
} fact;

/* Right where the graph says something of the operands, and only there. */
static const fact facts[] = {
    {"positive", "sqrt(sqr(x)) => x where positive(x)", ONE "sqrt(sqr(exp(x) + 1))" END},
    {"nonnegative", "abs(x) => x where nonnegative(x)", ONE "abs(sqr(x))" END},
    {"relu", "relu(x) => x where nonnegative(x)", ONE "relu(abs(x))" END},
    {"value", "x * c => x + x where splat(c), value(c) == 2", ONE "x * 2" END},
    {"variable_inside", "x - (y + z) => x - y - z", XY "(x + y) - (x + y)" END},
    {"x_over_x", "x / x => 1", ONE "x / x" END},
    {"runtime_start", "neg(neg(x)) => x",
     "(x: f32[9], i: i64[]) { r = neg(neg(subtensor(x, start = [i], size = [3])))" END},
    {"index", "neg(sub(0, x)) => x", "(x: i64[5]) { r = neg(0 - x)" END},
    {"part_to_leaf", "sqr(x) => neg(neg(x)) * x" NEG_NEG, ONE "sqr(x)" END},
    {"part_to_one_of_two", "x - y => neg(y) + neg(neg(x))" NEG_NEG, XY "x - y" END},
    {"part_to_matched", "exp(tanh(x)) - y => neg(y - exp(neg(neg(tanh(x)))))" NEG_NEG,
     XY "exp(tanh(x)) - y" END},
    {"empty", "neg(neg(x)) => x", "(x: f32[N, 0]) { r = neg(neg(x))" END},
    {"reshape_with_symbol", "reshape(reshape(x, shape = s), shape = t) => reshape(x, shape = t)",
     "(x: f32[N, 16]) { r = reshape(reshape(x, shape = [N, 4, 4]), shape = [N, 1, 4, 4])" END},
};

static void fact_holds(const void *data) {
  const fact *f = data;
  gemel_certify_counts counts;
  desk d;
  if (open_desk(&d, f->rule, f->graph, 1)) {
    gemel_graph *certified;
    applies(d.graph, d.rules);
    certified = rewrite(d.graph, d.rules, 1, &error);
    CT_EQ_STR(certified != NULL ? "" : error.text, "");
    gemel_graph_unref(certified);
  }
  counts = close_desk(&d);
  CT_CHECK(counts.regions > 0);
  CT_EQ_UINT(counts.open, 0);
}

/* ---- Folding ---- */

typedef struct folding {
  const char *name;
  double a, b, wrong;
  gemel_dtype dtype;
} folding;

static const folding foldings[] = {{"f64", 0.1, 0.2, 0.3000000000000001, GEMEL_F64},
                                   {"f32", 3, 4, 7.5, GEMEL_F32},
                                   {"i32", 3, 4, 8, GEMEL_I32},
                                   {"overflow", 1e38, 3.4e38, 3.4e38, GEMEL_F32}};

static gemel_value number(gemel_graph *graph, gemel_dtype dtype, double x) {
  return gemel_scalar(graph, dtype, x);
}

/* Tells the witness that a constant was computed for a + b. */
static gemel_status testify(gemel_context *context, const gemel_graph *graph, gemel_value before,
                            gemel_value after) {
  gemel__certifier *c = context->certifier;
  gemel__application a = {
      .graph = graph, .before = {before.node, before.output}, .after = {after.node, after.output}};
  void *user = c->begin(c, &error);
  gemel_status status = user != NULL ? c->witness(user, &a, &error) : GEMEL_NO_MEMORY;
  if (user != NULL) {
    c->end(c, user);
  }
  return status;
}

static void wrong_constant(const void *data) {
  const folding *f = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value operands[2] = {number(graph, f->dtype, f->a), number(graph, f->dtype, f->b)};
  gemel_value sum = gemel_apply(graph, "add", 2, operands, 0, NULL), right, wrong;
  gemel_tensor *result = NULL;
  CT_EQ_INT(gemel_certify_enable(context, 1, &error), GEMEL_OK);
  gemel_output(sum, "sum");
  CT_EQ_INT(gemel_evaluate(graph, 0, NULL, 1, &result, &error), GEMEL_OK);
  right = gemel_constant(graph, result);
  wrong = number(graph, f->dtype, f->wrong);
  CT_EQ_INT(testify(context, graph, sum, right), GEMEL_OK);
  CT_EQ_INT(testify(context, graph, sum, wrong), GEMEL_WRONG_RULE);
  CT_HAS_STR(error.text, "constant folding doesn't hold");
  char *report = gemel_certify_report(context, &error);
  CT_HAS_STR(report, "constant folding doesn't hold");
  CT_HAS_STR(report, "graph after(");
  gemel_text_free(report);
  gemel_tensor_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Errors ---- */

static void needs_the_harness(const void *data) {
  (void)data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = graph_of(context, ONE "x * 1" END);
  gemel_certify_counts counts = {.size = sizeof counts, .applications = 9};
  CT_CHECK(rewrite(graph, NULL, 1, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_UNSUPPORTED);
  CT_HAS_STR(error.text, "libgemel-verify");
  gemel_certify_counted(context, &counts);
  CT_EQ_UINT(counts.applications, 0);
  CT_CHECK(gemel_certify_report(context, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_NOT_FOUND);
  CT_EQ_INT(gemel_certify_enable(NULL, 1, &error), GEMEL_BAD_ARGUMENT);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Like applications are checked once. */
static void asks_once(const void *data) {
  desk d;
  gemel_graph *result;
  gemel_certify_counts counts;
  (void)data;
  CT_REQUIRE(open_desk(&d, "neg(neg(x)) => x", NULL, 1));
  for (int k = 0; k < 50; k++) {
    char name[16];
    snprintf(name, sizeof name, "x%d", k);
    int64_t size = k < 25 ? 3 : 4;
    gemel_value x = gemel_input(d.graph, name, gemel_type_of_shape(d.context, GEMEL_F32, 1, &size));
    x = gemel_apply(d.graph, "neg", 1, &x, 0, NULL);
    x = gemel_apply(d.graph, "neg", 1, &x, 0, NULL);
    gemel_output(x, name);
  }
  result = rewrite(d.graph, d.rules, 1, &error);
  CT_CHECK(result != NULL);
  gemel_graph_unref(result);
  counts = close_desk(&d);
  CT_EQ_UINT(counts.applications, 50);
  CT_EQ_UINT(counts.regions, 2);
}

/* With rules of its own: reading all of gemel's, each time from the start, would be most of it. */
static int certify_all(void *data) {
  static const char rules_text[] = "rule one in canonicalize:\n    x * 1 => x\n"
                                   "rule twice in canonicalize:\n    neg(neg(x)) => x\n";
  static const char text[] = "graph g" ONE "neg(neg(x * 1)) + (2 - 3)" END;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&problem);
  gemel_rules *rules = NULL;
  gemel_graph *graph = NULL, *result = NULL;
  (void)data;
  if (context != NULL && gemel_certify_enable(context, 1, &problem) == GEMEL_OK) {
    rules = gemel_rules_parse(context, rules_text, strlen(rules_text), "r", &problem);
  }
  if (rules != NULL) {
    graph = gemel_parse(context, text, strlen(text), "g", NULL, &problem);
  }
  if (graph != NULL) {
    result = rewrite(graph, rules, 1, &problem);
  }
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return result != NULL ? GEMEL_OK : problem.status;
}

/* A wrong rule, and the report on it. */
static int refute_all(void *data) {
  static const char rules_text[] = "rule wrong in canonicalize:\n    neg(neg(x)) => neg(x)\n";
  static const char text[] = "graph g(x: f32[]) { return r = neg(neg(x)) }";
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&problem);
  gemel_rules *rules = NULL;
  gemel_graph *graph = NULL;
  char *report = NULL;
  (void)data;
  if (context != NULL && gemel_certify_enable(context, 1, &problem) == GEMEL_OK) {
    rules = gemel_rules_parse(context, rules_text, strlen(rules_text), "r", &problem);
  }
  if (rules != NULL) {
    graph = gemel_parse(context, text, strlen(text), "g", NULL, &problem);
  }
  if (graph != NULL) {
    gemel_graph_unref(rewrite(graph, rules, 1, &problem));
  }
  if (problem.status == GEMEL_WRONG_RULE) {
    report = gemel_certify_report(context, &problem);
  }
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  gemel_text_free(report);
  return report != NULL ? GEMEL_OK : problem.status;
}

static void survives_refusals(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(refute_all, NULL) > 50);
  CT_CHECK(ct_oom(certify_all, NULL) > 50);
}

/* ---- All ---- */

void ct_register(void) {
  static const ct_test others[] = {CT_TEST("pass/right", pass_is_checked, "right"),
                                   CT_TEST("pass/deep", pass_is_checked, "deep"),
                                   CT_TEST("pass/wrong", pass_is_checked, "wrong"),
                                   CT_TEST("pass/without_results", goes_on_without_results,
                                           "graph step(s: f64[], k: f64[], x: f64[]) {\n"
                                           "  return n = s * k + x, k1 = k\n}\n"
                                           "graph g(n: i64[], s: f64[], k: f64[], x: f64[T]) {\n"
                                           "  l, m, h, i = scan(n, s, k, x, body = step,\n"
                                           "    states = 2, sequences = 1, limited = 1)\n"
                                           "  return h, m\n}"),
                                   CT_TEST("proved_is_taken", proved_is_taken, NULL),
                                   CT_TEST("needs_the_harness", needs_the_harness, NULL),
                                   CT_TEST("asks_once", asks_once, NULL),
                                   CT_TEST("survives_refusals", survives_refusals, NULL)};
  ct_suite("certify", others, CT_COUNT(others));
  for (size_t k = 0; k < CT_COUNT(wrong_rules); k++) {
    CT_ADD("wrong", wrong_rules[k].name, is_stopped, &wrong_rules[k]);
  }
  for (size_t k = 0; k < CT_COUNT(facts); k++) {
    CT_ADD("facts", facts[k].name, fact_holds, &facts[k]);
  }
  for (size_t k = 0; k < CT_COUNT(foldings); k++) {
    CT_ADD("folding", foldings[k].name, wrong_constant, &foldings[k]);
  }
  corpus_add(&graph_files, "graphs", "certified", raises_no_alarm);
  CT_ADD("graphs", "were_checked", were_checked, NULL);
}
