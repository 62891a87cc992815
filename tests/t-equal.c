/*
 * Pairs of graphs that are equal or subtly not, tests/pairs: gemel_verify_pair must be right about
 * each, whatever the seed. In pairs called grad-…, the first graph is differentiated. Besides: what
 * tells two graphs apart in IEEE terms, what is allowed, what isn't a pair, and where two graphs
 * part.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>
#include "core/graph.h"
#include "equal/asked.h"
#include "equal/constants.h"
#include "equal/loops.h"
#include "support/graph-text.h"
#include "support/heard.h"

static const char three[] = "x: f64[6], y: f64[6], z: f64[6]";

/* ---- Asking ---- */

typedef struct told {
  gemel_verdict worst;
  char how[32], detail[300], counterexample[2000];
} told;

static void take(void *user, const gemel_record *record) {
  told *h = user;
  if (record->tier == GEMEL_TIER_REAL ||
      (gemel_verdict_severity(record->verdict) > gemel_verdict_severity(h->worst) &&
       gemel_verdict_severity(record->verdict) > gemel_verdict_severity(GEMEL_VERDICT_NOT_RUN))) {
    h->worst = record->verdict;
    snprintf(h->how, sizeof h->how, "%s %s", gemel_tier_name(record->tier),
             gemel_evidence_name(record->how));
    snprintf(h->detail, sizeof h->detail, "%s", record->detail);
  }
  if (record->verdict == GEMEL_VERDICT_REFUTED) {
    snprintf(h->counterexample, sizeof h->counterexample, "%s", record->counterexample);
  }
}

/* TIERS: those to run, as in the options. */
static told ask_tiers(gemel_graph *a, gemel_graph *b, unsigned allow, uint64_t seed, unsigned tiers,
                      gemel_pair_result *result) {
  told h = {GEMEL_VERDICT_PASSED, "", "", ""};
  gemel_verify_options options = {0};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  options.size = sizeof options;
  options.seed = seed;
  options.instances = 40;
  options.tiers = tiers;
  options.sink = take;
  options.user = &h;
  if (gemel_verify_pair(a, b, "pair", allow, &options, result, &error) != GEMEL_OK) {
    CT_FAIL("%s", error.text);
    result->verdict = GEMEL_VERDICT_NOT_RUN;
  }
  return h;
}

static told ask(gemel_graph *a, gemel_graph *b, unsigned allow, uint64_t seed,
                gemel_pair_result *result) {
  return ask_tiers(a, b, allow, seed, 0, result);
}

/* ---- What tells two graphs apart ---- */

#define NEED(E) (1u << GEMEL_NEEDS_INDEX_##E)

typedef struct contrast {
  const char *a, *b;
  unsigned needs;
} contrast;

static const contrast contrasts[] = {
    {"maximum(x, y)", "maximum(y, x)", 0},
    {"-(-x)", "x + -0:f64", 0},
    {"x + 0:f64", "x", NEED(NSZ)},
    {"x + where(gt(abs(x), 1e300:f64), 0:f64 * x, -0:f64)", "x", NEED(NINF)},
    {"where(eq(x, x), x, 0:f64)", "x", NEED(NINF)},
    {"x", "where(eq(x, x), x, 0:f64)", NEED(NNAN)},
    {"(x + y) + z", "x + (y + z)", NEED(REASSOC)},
    {"x - x", "0:f64 * x", NEED(NSZ)},
    {"sqrt(sqr(x))", "abs(x)", NEED(AFN)},
};

static void needs_are_named(const void *data) {
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(contrasts); k++) {
    const contrast *c = &contrasts[k];
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *a = graph_returning(context, three, c->a),
                *b = graph_returning(context, three, c->b);
    gemel_pair_result all = {.size = sizeof all}, none = all, others = all;
    told h = ask(a, b, GEMEL_NEEDS_ALL, 3, &all);
    ct_context("%s and %s: %s", c->a, c->b, h.detail);
    CT_EQ_STR(gemel_verdict_name(all.verdict), "passed");
    CT_EQ_UINT(all.needs, c->needs);
    CT_EQ_UINT(all.refused, 0);
    CT_EQ_INT(all.bitwise, c->needs == 0);
    ask(a, b, 0, 3, &none);
    CT_EQ_UINT(none.refused, c->needs);
    CT_EQ_STR(gemel_verdict_name(none.verdict), c->needs != 0 ? "refuted" : "passed");
    ask(a, b, GEMEL_NEEDS_ALL & ~c->needs, 3, &others);
    CT_EQ_STR(gemel_verdict_name(others.verdict), c->needs != 0 ? "refuted" : "passed");
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_context_unref(context);
  }
}

/* Who asks tier real alone isn't told that every bit is the same. */
static void bits_are_asked_for(const void *data) {
  (void)data;
  for (int bits = 0; bits < 2; bits++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *a = graph_returning(context, three, "x + y"),
                *b = graph_returning(context, three, "y + x");
    gemel_verify_options options = {.instances = 8, .seed = 3};
    options.tiers = 1u << GEMEL_TIER_REAL | (bits ? 1u << GEMEL_TIER_SPECIAL : 0);
    heard h = hear_pair(a, b, GEMEL_PAIR_DEFAULT, "x + y and y + x", options);
    CT_EQ_STR(gemel_verdict_name(h.result.verdict), "passed");
    CT_EQ_INT(h.result.bitwise, bits);
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_context_unref(context);
  }
}

static void names_and_types(const void *data) {
  static const char *const texts[] = {
      "graph f(x: f32[N]) {\n  return y = x + x\n}\n",
      "graph f(z: f32[N]) {\n  return y = z + z\n}\n",
      "graph f(x: f64[N]) {\n  return y = x + x\n}\n",
      "graph f(x: f32[N]) {\n  return z = x + x\n}\n",
      "graph f(x: f32[N], y: f32) {\n  return y = x + x\n}\n",
      "graph f(x: f32[N]) {\n  return y = sum(x)\n}\n",
  };
  static const char *const messages[] = {"",         "called x", "f64[N]",
                                         "called y", "called y", "output y"};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graphs[CT_COUNT(texts)];
  gemel_error error;
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(texts); k++) {
    graphs[k] = gemel_parse(context, texts[k], strlen(texts[k]), "test", NULL, &error);
    CT_CHECK(graphs[k] != NULL);
  }
  for (k = 1; k < CT_COUNT(texts); k++) {
    ct_context("graph %zu", k);
    CT_EQ_INT(gemel_verify_pair(graphs[0], graphs[k], "p", 0, NULL, NULL, &error), GEMEL_BAD_TYPE);
    CT_HAS_STR(error.text, messages[k]);
  }
  for (k = 0; k < CT_COUNT(texts); k++) {
    gemel_graph_unref(graphs[k]);
  }
  gemel_context_unref(context);
}

static void parting_is_named(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *a = graph_returning(context, three, "exp(x * y) + sum(z)"),
              *b = graph_returning(context, three, "exp(x * y) + prod(z)");
  gemel_pair_result result = {.size = sizeof result};
  told h = ask(a, b, GEMEL_NEEDS_ALL, 1, &result);
  (void)data;
  CT_EQ_STR(gemel_verdict_name(result.verdict), "refuted");
  CT_HAS_STR(h.counterexample, "up to here their values agree: first graph sum");
  CT_HAS_STR(h.counterexample, "second graph prod");
  CT_HAS_STR(h.counterexample, "graph first(");
  CT_HAS_STR(h.counterexample, "graph second(");
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
}

/* Examples are of simple numbers, or of those that refuted the pair where simple ones don't show
 * it. */
static void examples_are_simple(const void *data) {
  static const struct {
    const char *inputs, *first, *second, *text;
  } cases[] = {
      {"x: f32[4]", "x * x", "x * x * x",
       "x = -1 each: r[0] = 1 becomes -1; first different: mul (test:2)"},
      {"x: f32[3], u: f32[3]", "x - u", "u - x",
       "x = 1 each, u = 2 each: r[0] = -1 becomes 1; first different: sub (test:2), sub (test:2)"},
      {"x: i64[4]", "x", "minimum(x, 4:i64)", "x = [1, 2, 3, 5]: r[3] = 5 becomes 4"},
      {"x: f32[2]", "where(x == 12345.5:f32, 1:f32, x)", "x", "x = "},
      {"x: f32[N]", "sum(x)", "prod(x)", ": r = "},
      {"x: f32[N, 2]", "x", "exp(log(x))", "becomes nan"}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *a = graph_returning(context, cases[k].inputs, cases[k].first);
    gemel_graph *b = graph_returning(context, cases[k].inputs, cases[k].second);
    gemel_pair_result result = {.size = sizeof result};
    char text[GEMEL_EXAMPLE_TEXT], few[8];
    ask(a, b, k == 5 ? 0 : GEMEL_NEEDS_ALL, 1, &result);
    size_t length = gemel_pair_example_text(&result.example, text, sizeof text);
    CT_EQ_STR(gemel_verdict_name(result.verdict), "refuted");
    CT_CHECK(result.example.found && length == strlen(text));
    CT_EQ_INT(gemel_pair_example_text(&result.example, few, sizeof few), (long long)length);
    CT_EQ_INT(strlen(few), sizeof few - 1);
    CT_HAS_STR(text, cases[k].text);
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_context_unref(context);
  }
  char none[4] = "abc";
  CT_EQ_INT(gemel_pair_example_text(NULL, none, sizeof none), 0);
  CT_EQ_STR(none, "");
}

/* A chain of 150 nodes over x and y, with inputs that nothing reads, whose 70th is PLANTED. */
static gemel_graph *long_chain(gemel_context *context, const char *planted) {
  static const char *const steps[] = {"tanh(t%d) + x", "tanh(t%d) * y", "t%d - y",
                                      "exp(tanh(t%d))"};
  char text[12000];
  gemel_error error;
  gemel_graph *graph;
  int used = sprintf(text,
                     "graph f(u: i64[2], x: f64[N, 3], y: f64[N, 3], v: f64[N]) {\n  t0 = x * y\n"),
      k;
  for (k = 1; k < 150; k++) {
    used += sprintf(text + used, "  t%d = ", k);
    used += sprintf(text + used, k == 70 ? planted : steps[k % 4], k - 1);
    used += sprintf(text + used, "\n");
  }
  sprintf(text + used, "  return s = x + y, r = t149, q = t149 * x\n}\n");
  graph = gemel_parse(context, text, strlen(text), "long", NULL, &error);
  CT_CHECK(graph != NULL);
  return graph;
}

/* Lines of graph text, which end before the inputs; of the longer graph. */
static size_t graph_lines(const char *text) {
  size_t lines = 0, most = 0;
  for (; *text != '\0' && *text != '#'; text++) {
    lines += *text == '\n';
    if (*text == '}') {
      most = lines + 1 > most ? lines + 1 : most;
      lines = 0;
    }
  }
  return most;
}

/* One difference among 150 nodes: both graphs of the counterexample are a few lines, and replaying
 * it refutes it. */
static void big_graphs_shrink(const void *data) {
  static const struct {
    const char *left, *right;
    const char *of; /* the value that the smaller graphs are given, or NULL */
  } all[] = {{"t%d - y * t60", "t%d - abs(y) * t60", NULL},
             {"maximum(t%d, t60)", "t%d + t60", "at"},
             {"tanh(t%d) * t12", "tanh(t%d) * t13", "at"},
             {"t%d * t12 + t13", "t12 * t%d + t13 * t13", "at"}};
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(all); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *a = long_chain(context, all[k].left), *b = long_chain(context, all[k].right);
    gemel_verify_summary summary = {.size = sizeof summary};
    heard h = hear_pair(
        a, b, GEMEL_NEEDS_ALL, "long",
        (gemel_verify_options){.seed = 3, .instances = 10, .replay_folder = ct_scratch()});
    CT_CHECK(h.refuted > 0);
    CT_LE_DOUBLE((double)graph_lines(h.counterexample), 12);
    CT_LE_DOUBLE(3, (double)graph_lines(h.counterexample));
    CT_CHECK(all[k].of == NULL || strstr(h.counterexample, "(at") != NULL ||
             strstr(h.counterexample, ", at") != NULL);
    CT_EQ_INT(gemel_verify_replay(context, h.replay, NULL, &summary, NULL), GEMEL_OK);
    CT_CHECK(summary.verdicts[GEMEL_VERDICT_REFUTED] > 0);
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_context_unref(context);
  }
}

/* The larger of an interval and a number is never below that number, so the sign of what relu, abs
 * and the like gave is known, and going one way only says nothing against it. (mod is outside the
 * field model: the verdict rests on points.) */
static void known_signs(const void *data) {
  static const char *const cases[][2] = {
      {"relu(relu(x + z)) + mod(y, 3:f64)", "relu(x + z) + mod(y, 3:f64)"},
      {"abs(abs(x + z)) + mod(y, 3:f64)", "abs(x + z) + mod(y, 3:f64)"},
      {"abs(maximum(x + z, 0:f64)) + mod(y, 3:f64)", "relu(x + z) + mod(y, 3:f64)"},
      {"relu(clip(x + z, 1:f64, 2:f64)) + mod(y, 3:f64)",
       "clip(x + z, 1:f64, 2:f64) + mod(y, 3:f64)"},
      {"abs(minimum(x + z, 0:f64)) + mod(y, 3:f64)", "-minimum(x + z, 0:f64) + mod(y, 3:f64)"},
  };
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *a = graph_returning(context, three, cases[k][0]),
                *b = graph_returning(context, three, cases[k][1]);
    gemel_pair_result result = {.size = sizeof result};
    told h = ask(a, b, GEMEL_NEEDS_ALL, 1, &result);
    ct_context("%s: %s %s", cases[k][0], h.how, h.detail);
    CT_EQ_STR(gemel_verdict_name(result.verdict), "passed");
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_context_unref(context);
  }
}

/* Zero on both sides wherever anyone looked is no evidence. */
static void zeros_say_nothing(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *a = graph_returning(context, three, "relu(x - exp(x) - 1e-30:f64 * abs(z))");
  gemel_graph *b = graph_returning(context, three, "relu(x - exp(x) - 3e-30:f64 * abs(z))");
  gemel_pair_result result = {.size = sizeof result};
  told h = ask(a, b, GEMEL_NEEDS_ALL, 1, &result);
  (void)data;
  ct_context("%s %s", h.how, h.detail);
  CT_EQ_STR(gemel_verdict_name(result.verdict), "uninformative");
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
}

#define LAYER(K, M, m)                                                                             \
  "invoke(x, m, body = graph (x: f32[N, " K "], m: f32[" K ", " M "]) { return r = dot(x, " m ") " \
  "})"

/* Large constant sizes are scaled where that asks the same question, and only there. */
static void large_sizes(const void *data) {
  static const struct {
    const char *inputs, *a, *b, *verdict, *says;
  } cases[] = {
      {"x: f32[N, 1000], m: f32[1000, 500], b: f32[500]", "dot(x, m) + b", "dot(x, m) - -b",
       "passed", "2 for 500"},
      {"x: f32[N, 1000], m: f32[1000, 500], b: f32[500]", "dot(x, m) + b", "b - dot(x, m)",
       "refuted", ""},
      {"x: f64[1000]", "sum(x) / 1000:f64", "sum(x / 1000:f64)", "passed", "2 for 1000"},
      {"x: f64[40]", "sum(x) + 40:f64", "sum(x + 1:f64)", "passed", ""},
      {"x: f64[40, 50]", "reshape(x, shape = [50, 40])",
       "dimshuffle(reshape(x, shape = [50, 40]), order = [0, 1])", "passed", "3 for 50"},
      /* sizes that are sums or products of others */
      {"x: f64[40, 50]", "reshape(x, shape = [2000])", "reshape(x * 1:f64, shape = [2000])",
       "passed", "2 for 50"},
      {"x: f64[96, 64], y: f64[64, 96]",
       "join(subtensor(x, start = [0, 0], size = [32, 64]) * 2:f64,"
       " subtensor(x, start = [32, 0], size = [64, 64]))",
       "join(subtensor(x + x, start = [0, 0], size = [32, 64]),"
       " subtensor(x, start = [32, 0], size = [64, 64]))",
       "passed", "4 for 64, 6 for 96"},
      /* in bodies, with the sizes or with symbols for them, and in their bodies */
      {"x: f32[N, 100], m: f32[100, 50], b: f32[50]", LAYER("100", "50", "m") " + b",
       "b - " LAYER("100", "50", "-m"), "passed", "3 for 100"},
      {"x: f32[N, 100], m: f32[100, 50], b: f32[50]", LAYER("100", "50", "m") " + b",
       "b - " LAYER("100", "50", "m"), "refuted", ""},
      {"x: f32[N, 100], m: f32[100, 50], b: f32[50]", LAYER("K", "M", "m") " + b",
       "b - " LAYER("100", "M", "invoke(m, body = graph (m: f32[100, 50]) { return r = -m })"),
       "passed", "3 for 100"},
      {"x: f64[96, 64], y: f64[64, 96]",
       "invoke(x, body = graph (x: f64[96, 64]) { return r = join(subtensor(x, start = [0, 0],"
       " size = [32, 64]), subtensor(x, start = [32, 0], size = [64, 64])) }) + dimshuffle(y, "
       "order = [1, 0])",
       "x + dimshuffle(y, order = [1, 0])", "passed", "4 for 64, 6 for 96"},
  };
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(cases); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *graphs[2];
    gemel_pair_result result = {.size = sizeof result};
    told h;
    int side;
    for (side = 0; side < 2; side++) {
      char text[500];
      snprintf(text, sizeof text, "graph f(%s) {\n  return r = %s\n}\n", cases[k].inputs,
               side == 0 ? cases[k].a : cases[k].b);
      graphs[side] = gemel_parse(context, text, strlen(text), "test", NULL, NULL);
    }
    h = ask(graphs[0], graphs[1], GEMEL_NEEDS_ALL, 1, &result);
    ct_context("%s and %s: %s", cases[k].a, cases[k].b, h.detail);
    CT_EQ_STR(gemel_verdict_name(result.verdict), cases[k].verdict);
    CT_CHECK(strstr(h.detail, cases[k].says) != NULL); /* "": of sizes that aren't scaled */
    CT_EQ_INT(strstr(h.detail, "scaled") != NULL, cases[k].says[0] != '\0');
    gemel_graph_unref(graphs[0]);
    gemel_graph_unref(graphs[1]);
    gemel_context_unref(context);
  }
}

static gemel_graph *of_input(gemel_context *context, const char *dtype, const char *expression) {
  char text[400];
  gemel_error error;
  gemel_graph *graph;
  snprintf(text, sizeof text, "graph f(x: %s[N]) {\n  return r = %s\n}\n", dtype, expression);
  graph = gemel_parse(context, text, strlen(text), "test", NULL, &error);
  if (graph == NULL) {
    CT_FAIL("%s", error.text);
  }
  return graph;
}

/* A constant that an optimiser computed is a rounded number; one that is further off is wrong. */
static void rounded_constants(const void *data) {
  static const struct {
    const char *dtype, *a, *b, *verdict;
  } cases[] = {
      {"f32", "x / sqrt(8:f32)", "x / 2.828427:f32", "passed"},
      {"f32", "x / sqrt(8:f32)", "x / 2.82843:f32", "refuted"},
      {"f32", "x / 2.828427:f32", "x / sqrt(8:f32)", "passed"},
      {"f64", "x + 2:f64 * log(6.283185307:f64)", "x + 3.6757541327615266:f64", "passed"},
      {"f64", "x + 2:f64 * log(6.283185307:f64)", "x + 3.6757578085156593:f64", "refuted"},
      {"f64", "x + 2:f64 * log(6.283185307:f64)", "x - 3.6757541327615266:f64", "refuted"},
      {"f64", "x - log(3:f64)", "x + -1.0986122886681098:f64", "passed"},
      {"f64", "x - log(3:f64)", "x + -1.0986133872803985:f64", "refuted"},
      {"f64", "x * 0.1:f64 * 0.3:f64", "x * 0.03:f64", "passed"},
      {"f64", "x * 0.1:f64 * 0.3:f64", "x * 0.03000003:f64", "refuted"},
      {"f64", "x * 0.1:f64", "x * 0.10000000000000002:f64", "refuted"},
      {"f64", "x * 2:f64 * 3:f64", "x * 6.000000000000001:f64", "refuted"},
      {"f64", "x * (1:f64 / 3:f64)", "x * 0.3333333333333333:f64", "passed"},
      {"f64", "x / 3:f64", "x * 0.3333333333333333:f64", "passed"},
      {"f64", "x / 3:f64", "x * 0.3333336666666667:f64", "refuted"},
  };
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(cases); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *a = of_input(context, cases[k].dtype, cases[k].a);
    gemel_graph *b = of_input(context, cases[k].dtype, cases[k].b);
    gemel_pair_result result = {.size = sizeof result};
    told h = ask(a, b, GEMEL_NEEDS_ALL, 1, &result);
    ct_context("%s and %s: %s", cases[k].a, cases[k].b, h.detail);
    CT_EQ_STR(gemel_verdict_name(result.verdict), cases[k].verdict);
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_context_unref(context);
  }
}

static int agree_at_last(void *user, const gemel_graph *a, const gemel_graph *b) {
  (void)a;
  (void)b;
  return ++*(int *)user == 2;
}

/* A bias that a recurrent layer takes as two halves, of which it computes the sum. */
static gemel_graph *halves(gemel_context *context, float w, float r) {
  char text[300];
  snprintf(text, sizeof text,
           "graph f(x: f32[2]) {\n  n0, n1 = split(tensor(f32[4], [%.9g, 0.3, %.9g, 0.4]), "
           "sizes = [2, 2])\n  return r = tanh(x + (n0 + n1))\n}\n",
           (double)w, (double)r);
  return gemel_parse(context, text, strlen(text), "test", NULL, NULL);
}

/* An optimiser wrote the sum of w and r, rounded, over one of them. What is further off than that
 * rounding is wrong. */
static void folded_halves(const void *data) {
  static const float w = 0.7F, r = 0.12345678F;
  const struct {
    float w, r;
    int right;
  } cases[] = {{w + r, 0, 1}, {0, w + r, 1}, {nextafterf(nextafterf(w + r, 2), 2), 0, 0},
               {w, 0, 0},     {w - r, 0, 0}, {(w + r) * 1.001F, 0, 0}};
  (void)data;
  for (size_t k = 0; k < 2 * CT_COUNT(cases); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *a = halves(context, w, r), *b = halves(context, cases[k / 2].w, cases[k / 2].r);
    gemel_pair_result result = {.size = sizeof result};
    told h = ask(k % 2 == 0 ? a : b, k % 2 == 0 ? b : a, GEMEL_PAIR_DEFAULT, 1, &result);
    ct_context("case %zu: %s", k, h.detail);
    CT_EQ_STR(gemel_verdict_name(result.verdict), cases[k / 2].right ? "passed" : "refuted");
    CT_CHECK(!cases[k / 2].right || result.needs == GEMEL_PAIR_BIT(FOLDED));
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_context_unref(context);
  }
}

/* 0.70710677 is near 1 ÷ 1.4142135 and 0.5 × 1.4142135: the second that is tried is taken. */
static const char *const two_ways[] = {
    "graph a(x: f32[2]) {\n  return r = 0.5 * tanh(x / 1.4142135)\n}\n",
    "graph b(x: f32[2]) {\n  return r = 0.5 * tanh(x * 0.70710677)\n}\n"};

/* [2.1, 0] is near nothing, 2.1 + 0 is near 0.7 + 1.4, and the other way round. */
static const char *const computed[] = {
    "graph a(x: f32[1]) {\n  n0, n1 = split(tensor(f32[2], [0.7, 1.4]), sizes = [1, 1])\n"
    "  return r = x + (n0 + n1)\n}\n",
    "graph b(x: f32[1]) {\n  n0, n1 = split(tensor(f32[2], [2.1, 0]), sizes = [1, 1])\n"
    "  return r = x + (n0 + n1)\n}\n"};

static int fold_constants(void *data) {
  const char *const *texts = data;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graphs[2] = {NULL, NULL};
  gemel__folded folded = {NULL, NULL, 0};
  int asked = 0;
  for (int k = 0; k < 2 && error.status == GEMEL_OK; k++) {
    graphs[k] = gemel_parse(context, texts[k], strlen(texts[k]), "test", NULL, &error);
  }
  gemel_status status = error.status;
  if (status == GEMEL_OK) {
    status =
        gemel__constants_fold(graphs[0], graphs[1], agree_at_last, &asked, NULL, &folded, NULL);
    CT_CHECK(status != GEMEL_OK || (asked == 2 && folded.count == 1));
  }
  gemel__folded_clear(&folded);
  gemel_graph_unref(graphs[0]);
  gemel_graph_unref(graphs[1]);
  gemel_context_unref(context);
  return (int)status;
}

static void constants_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(fold_constants, (void *)(uintptr_t)two_ways) > 0);
  CT_CHECK(ct_oom(fold_constants, (void *)(uintptr_t)computed) > 0);
}

/* The bodies of two loops, as far as memory goes. */
static int find_bodies(void *data) {
  static const char *const next[] = {"h + h", "2:f64 * h"};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graphs[2] = {NULL, NULL};
  gemel__joint joint = {0};
  gemel__part_graphs bodies = {0};
  (void)data;
  for (int k = 0; k < 2 && error.status == GEMEL_OK; k++) {
    char text[300];
    snprintf(text, sizeof text,
             "graph step(h: f64[N]) {\n  return h = %s\n}\n"
             "graph f(h: f64[N]) {\n  last, all = scan(h, body = step, states = 1, length = 3)\n"
             "  return last = last\n}\n",
             next[k]);
    graphs[k] = gemel_parse(context, text, strlen(text), "test", NULL, &error);
  }
  gemel_status status = error.status == GEMEL_OK
                            ? gemel__joint_make(&joint, graphs[0], graphs[1], &error)
                            : error.status;
  if (status == GEMEL_OK) {
    status = gemel__loop_bodies(&joint, joint.left[0].node, joint.right[0].node, &bodies, NULL);
    CT_CHECK(status != GEMEL_OK || gemel_graph_input_count(bodies.b) == 1);
  }
  gemel__part_clear(&bodies);
  gemel__joint_clear(&joint);
  gemel_graph_unref(graphs[0]);
  gemel_graph_unref(graphs[1]);
  gemel_context_unref(context);
  return (int)status;
}

static void bodies_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(find_bodies, NULL) > 0);
}

/* ---- Parts that are the same ---- */

/* Sixteen of LAYER, a form of the value before and of a number that is another in each. */
static gemel_graph *layers(gemel_context *context, const char *layer) {
  enum { LAYERS = 16 };
  char text[4000];
  size_t used = (size_t)snprintf(text, sizeof text, "graph f(y: f64[3], h0: f64[3]) {\n");
  for (int k = 0; k < LAYERS; k++) {
    used += (size_t)snprintf(text + used, sizeof text - used, "h%d = tanh(", k + 1);
    used += (size_t)snprintf(text + used, sizeof text - used, layer, k, k + 2);
    used += (size_t)snprintf(text + used, sizeof text - used, ")\n");
  }
  snprintf(text + used, sizeof text - used, "return r = h%d\n}\n", LAYERS);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "test", NULL, NULL);
  CT_CHECK(graph != NULL);
  return graph;
}

/* Layers that repeat are asked about once; each that differs by a number is a question. */
static void parts_are_counted(const void *data) {
  static const struct {
    const char *a, *b, *says;
  } cases[] = {{"(h%d + y) * y", "y * y + h%d * y", "16 parts, by 1 distinct question; "},
               {"(h%d + y) / %d:f64", "h%1$d / %2$d:f64 + y / %2$d:f64",
                "16 parts, by 16 distinct questions; "}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *a = layers(context, cases[k].a), *b = layers(context, cases[k].b);
    gemel_pair_result result = {.size = sizeof result};
    told h = ask(a, b, GEMEL_NEEDS_ALL, 1, &result);
    CT_EQ_STR(gemel_verdict_name(result.verdict), "passed");
    CT_HAS_STR(h.detail, cases[k].says);
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_context_unref(context);
  }
}

/* Whatever the hash, the answer to one question is not that to another: of the same two graphs the
 * other way round, of one with another number or fact in it. */
static int keep_answers(void *data) {
  static const char *const texts[] = {
      "graph g(x: f64[2]) { return r = x + x }", "graph g(x: f64[2]) { return r = 2 * x }",
      "graph g(x: f64[2]) { return r = 3 * x }", "graph g(x: f64[3]) { return r = 2 * x }",
      "graph g(x: f64[2] finite) { return r = 2 * x }"};
  enum { N = CT_COUNT(texts), HASH = 7 };
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graphs[N] = {NULL};
  gemel__asked asked = {0};
  int failed = 0, k;
  (void)data;
  for (k = 0; k < N && error.status == GEMEL_OK; k++) {
    graphs[k] = gemel_parse(context, texts[k], strlen(texts[k]), "test", NULL, &error);
  }
  for (k = 0; k < N * N && error.status == GEMEL_OK && !failed; k++) {
    gemel__part_graphs part = {.a = graphs[k / N], .b = graphs[k % N]};
    CT_EQ_INT(gemel__asked_answer(&asked, &part, HASH), -1);
    failed = gemel__asked_keep(&asked, &part, HASH, k % 3 == 0) != 0;
    CT_EQ_INT(gemel__asked_answer(&asked, &part, HASH), failed ? -1 : k % 3 == 0);
  }
  CT_EQ_UINT(asked.n, error.status == GEMEL_OK ? k - failed : 0);
  for (k = 0; k < N; k++) {
    gemel_graph_unref(graphs[k]);
  }
  gemel__asked_clear(&asked);
  gemel_context_unref(context);
  return failed ? GEMEL_NO_MEMORY : (int)error.status;
}

static void answers_are_kept(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(keep_answers, NULL) > 0);
}

/* Integers that hang on how floats were rounded aren't exact: right code isn't refuted for them. */
static void rounded_decisions(const void *data) {
  static const char *const all[] = {
      "(x + y) / 3:f32 < x / 3:f32 + y / 3:f32",
      "cast((x / 3:f32 + y / 3:f32) * 3:f32, dtype = i32)",
      ("argmax(join(reshape((x + y) / 3:f32, shape = [9, 1]),"
       " reshape(x / 3:f32 + y / 3:f32, shape = [9, 1]), axis = 1), axis = 1)")};
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(all); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *graph = graph_returning(context, "x: f32[9], y: f32[9]", all[k]);
    heard h = hear_pair(graph, graph, GEMEL_NEEDS_ALL, all[k],
                        (gemel_verify_options){.instances = 60, .tiers = 1u << GEMEL_TIER_INTEGER});
    CT_CHECK(h.result.verdict != GEMEL_VERDICT_REFUTED);
    gemel_graph_unref(graph);
    gemel_context_unref(context);
  }
}

typedef struct outputs_told {
  size_t n;
  char text[400];
} outputs_told;

static void take_output(void *user, const char *name, const gemel_pair_result *result) {
  outputs_told *h = user;
  size_t used = strlen(h->text);
  h->n++;
  snprintf(h->text + used, sizeof h->text - used, "%s %s %x, ", name,
           gemel_verdict_name(result->verdict), result->needs);
}

/* Of graphs that differ, each output is told apart from the others. */
static void each_output(const void *data) {
  static const char *const text[] = {
      ("graph a(x: f32[8], y: f32[8], z: f32[8]) {\n  return p = x + y, q = exp(x) * exp(y),"
       " s = maximum(x, y), t = cast(floor((x + y) + z), dtype = i32), u = (x + y) + z\n}"),
      ("graph b(x: f32[8], y: f32[8], z: f32[8]) {\n  return p = y + x, q = exp(x + y),"
       " s = minimum(x, y), t = cast(floor(x + (y + z)), dtype = i32), u = x + (y + z)\n}")};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *a = parse(context, text[0]);
  gemel_graph *b = parse(context, text[1]);
  gemel_pair_result result = {.size = sizeof result};
  outputs_told h = {0, ""}, none = {0, ""};
  gemel_verify_options options = {
      .size = sizeof options, .instances = 40, .user = &h, .output = take_output};
  char wanted[400];
  (void)data;
  CT_REQUIRE(a != NULL && b != NULL);
  CT_EQ_INT(gemel_verify_pair(a, b, "pair", GEMEL_PAIR_DEFAULT, &options, &result, NULL), GEMEL_OK);
  snprintf(wanted, sizeof wanted,
           "p passed 0, q passed %x, s refuted 0, t refuted %x, u passed %x, ", NEED(AFN),
           NEED(INTEGERS), NEED(REASSOC));
  CT_EQ_STR(h.text, wanted);
  CT_EQ_UINT(h.n, 5);
  options.user = &none; /* a graph is the same as itself: nothing to tell */
  CT_EQ_INT(gemel_verify_pair(a, a, "pair", GEMEL_PAIR_DEFAULT, &options, &result, NULL), GEMEL_OK);
  CT_EQ_UINT(none.n, 0);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
}

/* A difference in the last of 19 digits shows in every tier that prints numbers. */
static void whole_numbers(const void *data) {
  static const char *const dtypes[] = {"u64", "i64"};
  static const gemel_tier tiers[] = {GEMEL_TIER_REAL, GEMEL_TIER_SPECIAL};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(dtypes) * CT_COUNT(tiers); k++) {
    gemel_context *context = gemel_context_new(NULL);
    const char *dtype = dtypes[k / CT_COUNT(tiers)];
    gemel_graph *a = of_input(context, dtype, "maximum(9223372036854775805, x) - 0 * x");
    gemel_graph *b = of_input(context, dtype, "maximum(9223372036854775804, x) - 0 * x");
    gemel_pair_result result = {.size = sizeof result};
    told h = ask_tiers(a, b, GEMEL_PAIR_DEFAULT, 1, 1u << tiers[k % CT_COUNT(tiers)], &result);
    ct_context("%s, tier %s\n%s", dtype, gemel_tier_name(tiers[k % CT_COUNT(tiers)]),
               h.counterexample);
    CT_HAS_STR(h.counterexample, "first 9223372036854775805, second 9223372036854775804\n");
    gemel_graph_unref(a);
    gemel_graph_unref(b);
    gemel_context_unref(context);
  }
}

/* Ten thousand inputs are matched by name in a moment. */
static void many_inputs(const void *data) {
  enum { N = 10000 };
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graphs[2];
  int side, k;
  (void)data;
  for (side = 0; side < 2; side++) {
    gemel_type type = gemel_type_of_shape(context, GEMEL_F64, 0, NULL);
    graphs[side] = gemel_graph_new(context, NULL);
    for (k = 0; k < N; k++) {
      char name[24];
      int at = side == 0 ? k : N - 1 - k;
      gemel_value x;
      snprintf(name, sizeof name, "x%d", at);
      x = gemel_input(graphs[side], name, type);
      snprintf(name, sizeof name, "y%d", at);
      gemel_output(at % 2 == 0 ? x : gemel_apply(graphs[side], "neg", 1, &x, 0, NULL), name);
    }
  }
  heard h = hear_pair(graphs[0], graphs[1], GEMEL_NEEDS_ALL, "many",
                      (gemel_verify_options){.instances = 2, .tiers = 1u << GEMEL_TIER_REAL});
  CT_EQ_STR(gemel_verdict_name(h.result.verdict), "passed");
  gemel_graph_unref(graphs[0]);
  gemel_graph_unref(graphs[1]);
  gemel_context_unref(context);
}

/* dot(x, W) * s, or with S NULL dot(x, W), as a layer's weights of many elements have it. */
static gemel_graph *layer(gemel_context *context, const float *w, const float *s) {
  enum { N = 400 };
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_tensor *weights = gemel_tensor_wrap(GEMEL_F32, GEMEL_LIST(int64_t, N, N), NULL,
                                            (void *)(uintptr_t)w, NULL, NULL, NULL);
  gemel_value y = gemel_dot(gemel_declare(graph, "x: f32[2, 400]"), gemel_constant(graph, weights));
  if (s != NULL) {
    gemel_tensor *scale = gemel_tensor_wrap(GEMEL_F32, GEMEL_LIST(int64_t, N), NULL,
                                            (void *)(uintptr_t)s, NULL, NULL, NULL);
    y = gemel_mul(y, gemel_constant(graph, scale));
    gemel_tensor_unref(scale);
  }
  gemel_output(y, "y");
  gemel_tensor_unref(weights);
  return graph;
}

/* Weights that are too many for the models: folded ones are recognized, and one that is 5 % larger
 * is seen. */
static void large_constants(const void *data) {
  enum { N = 400 };
  float *w = malloc(N * N * sizeof *w), *v = malloc(N * N * sizeof *v), s[N];
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  for (int k = 0; k < N; k++) {
    s[k] = 0.5f + (float)(k * 37 % N) / N;
  }
  for (int k = 0; k < N * N; k++) {
    w[k] = (float)(k * 7919 % 10007) / 10007 - 0.5f;
    v[k] = w[k] * s[k % N];
  }
  for (int wrong = 0; wrong < 2; wrong++) {
    gemel_pair_result result = {.size = sizeof result};
    v[N * N / 3] *= wrong ? 1.00005f : 1;
    gemel_graph *a = layer(context, w, s), *b = layer(context, v, NULL);
    told h = ask(a, b, GEMEL_PAIR_DEFAULT, 1, &result);
    ct_context("wrong %d: %s", wrong, h.detail);
    CT_EQ_STR(gemel_verdict_name(result.verdict), wrong ? "refuted" : "passed");
    CT_HAS_STR(h.detail, wrong ? "in f64" : "sizes scaled: 3 for 400");
    CT_EQ_INT((result.needs & GEMEL_PAIR_BIT(FOLDED)) != 0, !wrong);
    gemel_graph_unref(a);
    gemel_graph_unref(b);
  }
  gemel_context_unref(context);
  free(w);
  free(v);
}

/* An input that one side lists and reads nowhere is given to the other; one that is read isn't. */
static void unread_inputs(const void *unused) {
  (void)unused;
  gemel_error error;
  gemel_context *context = gemel_context_new(&error), *other = gemel_context_new(&error);
  gemel_graph *a = parse(context, "graph a(x: f32[2], u: f32[3]) { return y = x }");
  gemel_graph *b = parse(context, "graph b(v: i8[N], x: f32[2]) { return y = x }");
  gemel_graph *c = parse(context, "graph c(x: f32[2], w: f32[2]) { return y = x + w }");
  gemel_graph *elsewhere = parse(other, "graph e(x: f32[2]) { return y = x }");
  gemel_pair_result result = {.size = sizeof result};
  CT_CHECK(gemel_verify_pair(a, b, NULL, 0, NULL, &result, &error) == GEMEL_BAD_TYPE);
  for (int k = 0; k < 2; k++) {
    CT_CHECK(gemel_pair_add_unread(a, b, &error) == GEMEL_OK);
    CT_CHECK(gemel_graph_input_count(a) == 3);
    CT_CHECK(gemel_graph_input_count(b) == 3);
  }
  CT_CHECK(gemel_verify_pair(a, b, NULL, 0, NULL, &result, &error) == GEMEL_OK);
  CT_CHECK(result.verdict == GEMEL_VERDICT_PASSED);
  CT_CHECK(gemel_pair_add_unread(a, c, &error) == GEMEL_OK);
  CT_CHECK(gemel_verify_pair(a, c, NULL, 0, NULL, &result, &error) == GEMEL_BAD_TYPE);
  CT_CHECK(gemel_pair_add_unread(a, elsewhere, &error) == GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_pair_add_unread(NULL, b, NULL) == GEMEL_BAD_ARGUMENT);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_graph_unref(c);
  gemel_graph_unref(elsewhere);
  gemel_context_unref(context);
  gemel_context_unref(other);
}

static const ct_test ieee_tests[] = {CT_TEST("answers_are_kept", answers_are_kept, NULL),
                                     CT_TEST("parts_are_counted", parts_are_counted, NULL),
                                     CT_TEST("large_sizes", large_sizes, NULL),
                                     CT_TEST("large_constants", large_constants, NULL),
                                     CT_TEST("many_inputs", many_inputs, NULL),
                                     CT_TEST("needs", needs_are_named, NULL),
                                     CT_TEST("bits", bits_are_asked_for, NULL),
                                     CT_TEST("names_and_types", names_and_types, NULL),
                                     CT_TEST("parting", parting_is_named, NULL),
                                     CT_TEST("examples", examples_are_simple, NULL),
                                     CT_TEST("shrunk", big_graphs_shrink, NULL),
                                     CT_TEST("rounded_constants", rounded_constants, NULL),
                                     CT_TEST("folded_halves", folded_halves, NULL),
                                     CT_TEST("constants_memory", constants_memory, NULL),
                                     CT_TEST("bodies_memory", bodies_memory, NULL),
                                     CT_TEST("rounded_decisions", rounded_decisions, NULL),
                                     CT_TEST("known_signs", known_signs, NULL),
                                     CT_TEST("each_output", each_output, NULL),
                                     CT_TEST("whole_numbers", whole_numbers, NULL),
                                     CT_TEST("unread_inputs", unread_inputs, NULL),
                                     CT_TEST("zeros", zeros_say_nothing, NULL)};

void ct_register(void) {
  ct_suite("equal", ieee_tests, CT_COUNT(ieee_tests));
}
