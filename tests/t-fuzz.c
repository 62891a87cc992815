/*
 * Fuzzing the rewriter: nothing is found in gemel's own rules, and what is planted is.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>
#include "rules/fuzz.h"
#include "support/two-devices.h"
#include "support/operation.h"

/* What was found, last. */
typedef struct found {
  size_t count;
  gemel__fuzz_kind kind;
  char graph[2000], detail[4000];
} found;

static void keep(void *user, const gemel__fuzz_finding *finding) {
  found *f = user;
  f->count++;
  f->kind = finding->kind;
  snprintf(f->graph, sizeof f->graph, "%s", finding->graph);
  snprintf(f->detail, sizeof f->detail, "%s", finding->detail);
}

static void nothing_in(const gemel__fuzz_summary *summary) {
  for (int k = 0; k < GEMEL__FUZZ_KIND_COUNT; k++) {
    CT_EQ_UINT(summary->findings[k], 0);
  }
}

/* gemel's own rules come to an end, and to the same one. */
static void shipped(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  found f = {.count = 0};
  gemel__fuzz_options options = {.seed = 1, .graphs = 1000, .evaluate = 100};
  gemel__fuzz_summary summary = {0};
  gemel_error error = {0};
  (void)data;
  options.sink = keep;
  options.user = &f;
  CT_EQ_INT(gemel__fuzz_graphs(context, &options, &summary, &error), GEMEL_OK);
  nothing_in(&summary);
  if (!CT_EQ_UINT(f.count, 0)) {
    CT_FAIL("%s\n%s", f.graph, f.detail);
  }
  CT_CHECK(summary.graphs > 950 && summary.nodes > 8 * summary.graphs);
  CT_CHECK(summary.evaluated >= 9);
  CT_CHECK(summary.inconclusive < summary.evaluated);
  gemel_context_unref(context);
}

/* Graphs become smaller, but for loops that become their steps, which one in three may have. */
static void smaller(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel__fuzz_options options = {.seed = 1, .graphs = 2};
  gemel__fuzz_summary summary = {0};
  (void)data;
  for (options.first = 1; options.first < 150; options.first += 3) {
    CT_EQ_INT(gemel__fuzz_graphs(context, &options, &summary, NULL), GEMEL_OK);
  }
  CT_CHECK(summary.graphs > 95 && summary.left < summary.nodes);
  gemel_context_unref(context);
}

/* Graph K of a seed doesn't depend on what was drawn before it. */
static void numbered(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel__fuzz_options options = {.seed = 7, .graphs = 12};
  gemel__fuzz_summary all = {0}, single = {0};
  (void)data;
  CT_EQ_INT(gemel__fuzz_graphs(context, &options, &all, NULL), GEMEL_OK);
  options.graphs = 1;
  for (options.first = 12; options.first-- > 0;) {
    gemel_context *other = gemel_context_new(NULL);
    CT_EQ_INT(gemel__fuzz_graphs(other, &options, &single, NULL), GEMEL_OK);
    gemel_context_unref(other);
  }
  CT_EQ_UINT(single.nodes, all.nodes);
  CT_EQ_UINT(single.left, all.left);
  CT_EQ_UINT(single.graphs, all.graphs);
  gemel_context_unref(context);
}

/* ---- What is planted ---- */

static const char planted[] =
    "graph g(x: f32[2, 3], y: f32[3], c: bool[3]) {\n"
    "  a = exp(x) b = a + y d = where(c, b, x) e = sum(d, axes = [0]) f = tanh(e) * sqr(y)\n"
    "  h = sigmoid(f - y) return p = h, q = relu(x), r = d\n}\n";

/* Asks of the graph above, with RULE (or NULL) beside gemel's own. */
static void ask(gemel_context *context, const char *rule, uint64_t evaluate, found *f) {
  gemel_error error = {0};
  gemel_graph *graph = gemel_parse(context, planted, strlen(planted), "planted", NULL, &error);
  gemel_rules *rules =
      rule != NULL ? gemel_rules_parse(context, rule, strlen(rule), "planted.rules", &error) : NULL;
  gemel__fuzz_options options = {.seed = 3, .evaluate = evaluate};
  gemel__fuzz_summary summary = {0};
  CT_EQ_STR(error.text, "");
  options.rules = (const gemel_rules *const *)&rules;
  options.n_rules = rules != NULL;
  options.sink = keep;
  options.user = f;
  memset(f, 0, sizeof *f);
  CT_EQ_INT(gemel__fuzz_graph(graph, &options, &summary, &error), GEMEL_OK);
  CT_EQ_UINT(summary.graphs, 1);
  CT_EQ_UINT(summary.evaluated, evaluate != 0);
  CT_CHECK(f->count == 0 || summary.findings[f->kind] == 1);
  gemel_rules_unref(rules);
  gemel_graph_unref(graph);
}

static size_t lines_of(const char *text) {
  size_t n = 0;
  for (; *text != '\0'; text++) {
    n += *text == '\n';
  }
  return n;
}

/* Lines of the graph that was found, behind the bodies of its loops: these stay whole. */
static size_t lines_found(const char *text) {
  const char *graph = strstr(text, "graph found(");
  return lines_of(graph != NULL ? graph : text);
}

static void finds(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  found f;
  (void)data;
  ask(context, NULL, 1, &f);
  CT_EQ_UINT(f.count, 0);
  ask(context, "rule looping in stabilize: sigmoid(x) => sqr(sigmoid(-x))", 0, &f);
  CT_EQ_UINT(f.count, 1);
  CT_EQ_STR(gemel__fuzz_kind_name(f.kind), "fails");
  CT_CHECK(strstr(f.detail, "looping") != NULL);
  CT_CHECK(strstr(f.graph, "sigmoid") != NULL && strstr(f.graph, "exp") == NULL);
  CT_CHECK(lines_of(f.graph) <= 4);
  /* a wrong rule: only who evaluates sees it */
  ask(context,
      "rule wrong in specialize: tanh(x) => -tanh(x) where rank(x) == 1, not_nan(x) or true", 0,
      &f);
  CT_CHECK(f.count == 1 && f.kind == GEMEL__FUZZ_FAILS); /* it feeds on itself, too */
  ask(context, "rule wrong in specialize: sigmoid(x) => tanh(x)", 0, &f);
  CT_EQ_UINT(f.count, 0);
  ask(context, "rule wrong in specialize: sigmoid(x) => tanh(x)", 1, &f);
  CT_EQ_UINT(f.count, 1);
  CT_EQ_STR(gemel__fuzz_kind_name(f.kind), "differs");
  CT_CHECK(strstr(f.graph, "sigmoid") != NULL && lines_of(f.graph) <= 4);
  CT_CHECK(gemel__fuzz_kind_name(GEMEL__FUZZ_KIND_COUNT) == NULL);
  gemel_context_unref(context);
}

/* Graphs in which something was found once: what the last pass of all makes, and nothing before it,
 * meets the rules of the last phase, too; what a pass makes and asked for as well is certified for
 * what it is; constants of different shapes, and products smaller than their sum, go in no circles.
 */
static const char *const once_found[] = {
    "graph g(x: u64[A, B, C], y: u64[A, 4], z: u64[A, 2]) {\n"
    "  return p = dot(x, y, contract_x = [0], contract_y = [0]),\n"
    "    q = dot(x, z, contract_x = [0], contract_y = [0])\n}\n",
    "graph g(x: u8[1, 3], y: u8[3]) {\n  a = x * x b = a * x * x\n"
    "  return a = a, b = b * y * y * y * y\n}\n",
    "graph step(x: f32[], v: f32[1, 1], c: f32[]) {\n  return y = c, more = x\n}\n"
    "graph g(v: f32[5, 1, 1]) {\n  c = 1:f32 x = broadcast_to(c, shape = [5])\n"
    "  y, more = scan(x, v, c, body = step, sequences = 2)\n  return y = y\n}\n",
    "graph step(s: f32[], c: f32[]) {\n  return s = (c - c) * 0.25:f32, y = c * s\n}\n"
    "graph g(x: f32[]) {\n  c = 1:f32\n"
    "  l, h, y = scan(c, c, body = step, states = 1, length = 17)\n  return y = y\n}\n",
    "graph g(x: f32[], n: i32[]) {\n"
    "  return y = x * tensor(f32[3], [1, 5, 2]) * tensor(f32[2, 1], [7, 3]),\n"
    "    m = n * tensor(i32[3], [1, 5, 2]) * tensor(i32[2, 1], [7, 3]),\n"
    "    k = n + tensor(i32[3], [1, 5, 2]) + tensor(i32[2, 1], [7, 3])\n}\n",
    "graph g(x: f32[3, 2], y: f32[2, 1, 1]) {\n  return y = (x + y) * 0.5:f32\n}\n"};

static void found_once(const void *text) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "text", NULL, &error);
  found f = {.count = 0};
  gemel__fuzz_options options = {.evaluate = 1, .sink = keep, .user = &f};
  CT_EQ_STR(error.text, "");
  CT_EQ_INT(gemel__fuzz_graph(graph, &options, NULL, NULL), GEMEL_OK);
  CT_EQ_STR(f.detail, "");
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* How often a pass was called, and in which calls it does something. A rewriting in which nothing
 * is done calls it once, and twice more where the pass did something. */
typedef struct wavering {
  unsigned calls, from, every;
} wavering;

/* A pass that doesn't do the same for the same graph: in some calls it puts tanh of the first
 * input, or sigmoid if it is that, in the place of the first output. */
static gemel_status waver(gemel_edit *edit, const void *data, gemel_error *error) {
  wavering *w = *(wavering *const *)data;
  const gemel_graph *graph = gemel_edit_graph(edit);
  gemel_value old = gemel_graph_output(graph, 0);
  unsigned call = w->calls++;
  (void)error;
  if (call < w->from || (call - w->from) % w->every != 0) {
    return GEMEL_OK;
  }
  gemel_value x = gemel_edit_value(edit, gemel_graph_input(graph, 0));
  int is_tanh = strcmp(gemel_value_operation(old), "tanh") == 0;
  return gemel_edit_replace(edit, old, is_tanh ? gemel_sigmoid(x) : gemel_tanh(x));
}

/* Asks of a graph on which only the pass does something. */
static void ask_wavering(wavering *w, found *f) {
  const char *text = "graph g(x: f32) { r = sigmoid(x) return r = r }";
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "wavering", NULL, NULL);
  gemel_pass pass = {.size = sizeof pass, .name = "waver", .rewrite = waver, .data = &w};
  gemel__fuzz_options options = {.sink = keep, .user = f};
  memset(f, 0, sizeof *f);
  pass.phase = GEMEL_PHASE_SPECIALIZE;
  pass.generate = no_instance;
  CT_EQ_INT(gemel_register_pass(context, &pass, NULL), GEMEL_OK);
  CT_EQ_INT(gemel__fuzz_graph(graph, &options, NULL, NULL), GEMEL_OK);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void unsettled(const void *data) {
  wavering w = {0, 0, 3};
  found f;
  (void)data;
  ask_wavering(&w, &f);
  CT_EQ_UINT(f.count, 1);
  CT_EQ_STR(gemel__fuzz_kind_name(f.kind), "unsettled");
  CT_CHECK(strstr(f.detail, "which becomes") != NULL && strstr(f.detail, "by waver") != NULL);
}

/* Four rewritings: the graph, what came of it, and the graph with the files of rules in their own
 * order and in another. Only in the last is it another graph that comes out. */
static void ordered(const void *data) {
  wavering w = {0, 3, 1000};
  found f;
  (void)data;
  ask_wavering(&w, &f);
  CT_EQ_UINT(f.count, 1);
  CT_EQ_STR(gemel__fuzz_kind_name(f.kind), "order");
  CT_CHECK(strstr(f.detail, "in another order") != NULL && strstr(f.detail, "tanh") != NULL);
}

/* GRAPH by RULES alone, as text. */
static char *rewritten(gemel_graph *graph, const gemel_rules *rules, int certify) {
  gemel_error error = {0};
  gemel_rewrite_options options = {.size = sizeof options,
                                   .rules = &rules,
                                   .n_rules = 1,
                                   .without_builtin = 1,
                                   .certify = certify};
  CT_EQ_INT(gemel_certify_enable(gemel_graph_context(graph), 1, &error), GEMEL_OK);
  gemel_graph *result = gemel_rewrite(graph, &options, &error);
  char *text = result != NULL ? gemel_print_string(result, "g", &error) : NULL;
  CT_EQ_STR(error.text, "");
  gemel_graph_unref(result);
  return text;
}

/* Most of the graph is unused when a phase has nothing to do, and the one behind it has. */
static void much_unused(const void *data) {
  static const char text[] =
      "graph g(a: i32[3], b: i32[3]) { a1 = a + 0 a2 = a1 * 1 a3 = a2 - 0 a4 = maximum(a3, a3) "
      "a5 = minimum(a4, a4) p = where(a5 == a5, a5, a5) b1 = b + 0 b2 = b1 * 1 b3 = b2 - 0 "
      "b4 = maximum(b3, b3) b5 = minimum(b4, b4) q = where(b5 == b5, b5, b5) "
      "return r = maximum(-p, sqr(q)) }";
  static const char lines[] = "rule a in canonicalize: x + 0 => x\n"
                              "rule b in canonicalize: x * 1 => x\n"
                              "rule c in canonicalize: x - 0 => x\n"
                              "rule d in canonicalize: maximum(x, x) => x\n"
                              "rule e in canonicalize: minimum(x, x) => x\n"
                              "rule f in canonicalize: where(c, x, x) => x\n"
                              "rule n in stabilize: -(-x) => x\n"
                              "rule s in specialize: -x => 0 - x where integer(x)\n";
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "test", NULL, &error);
  gemel_rules *rules = gemel_rules_parse(context, lines, strlen(lines), "test", &error);
  (void)data;
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(graph != NULL && rules != NULL);
  char *plain = rewritten(graph, rules, 0), *certified = rewritten(graph, rules, 1);
  CT_EQ_STR(plain, certified);
  CT_HAS_STR(plain, "sub(");
  gemel_text_free(plain);
  gemel_text_free(certified);
  gemel_rules_unref(rules);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void refusals(const void *data) {
  gemel_error error = {0};
  (void)data;
  CT_EQ_INT(gemel__fuzz_graphs(NULL, NULL, NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel__fuzz_graph(NULL, NULL, NULL, &error), GEMEL_BAD_ARGUMENT);
}

/* Random graphs are computed on a device, too, and one whose clusters are wrong is found out. */
static void lifted(const void *data) {
  const int *wrong = data;
  gemel_context *context = context_with_devices();
  found f = {.count = 0};
  gemel__fuzz_options options = {.seed = 1, .graphs = 100, .sink = keep, .user = &f};
  gemel__fuzz_summary summary = {0};
  device.exchanges = *wrong;
  CT_EQ_INT(gemel__fuzz_graphs(context, &options, &summary, NULL), GEMEL_OK);
  ct_context("%s\n%s", f.graph, f.detail);
  CT_EQ_UINT(summary.evaluated, summary.graphs);
  CT_CHECK(summary.inconclusive * 5 < summary.graphs);
  CT_EQ_INT(summary.findings[GEMEL__FUZZ_LIFTED] > 0, *wrong);
  CT_EQ_UINT(f.count, summary.findings[GEMEL__FUZZ_LIFTED]);
  CT_CHECK(f.count == 0 || (f.kind == GEMEL__FUZZ_LIFTED && lines_found(f.graph) <= 5));
  CT_CHECK(f.count == 0 || strstr(f.detail, "variant device") != NULL);
  device.exchanges = 0;
  leave(context);
}

static const int right = 0, wrong = 1;

static const ct_test tests[] = {
    CT_TEST("shipped", shipped, NULL),     CT_TEST("smaller", smaller, NULL),
    CT_TEST("numbered", numbered, NULL),   CT_TEST("finds", finds, NULL),
    CT_TEST("unsettled", unsettled, NULL), CT_TEST("ordered", ordered, NULL),
    CT_TEST("refusals", refusals, NULL),   CT_TEST("much_unused", much_unused, NULL),
    CT_TEST("lifted", lifted, &right),     CT_TEST("lifted/wrong", lifted, &wrong),
};

void ct_register(void) {
  ct_suite("fuzz", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(once_found); k++) {
    char name[16];
    snprintf(name, sizeof name, "found/%zu", k);
    CT_ADD("fuzz", name, found_once, once_found[k]);
  }
}
