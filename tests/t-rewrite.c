/*
 * The rewrite engine: rules parsed, matched, applied; what happens when they are wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemel/gemel.h>
#include "ct.h"
#include "support/graph-text.h"
#include "support/operation.h"

typedef struct rewritten {
  const char *rules;
  const char *graph;  /* between "graph g" and the end */
  const char *wanted; /* the same of the result */
} rewritten;

/* Parses TEXT as a graph called g. */
static gemel_rules *rules_of(gemel_context *context, const char *text) {
  gemel_error error = {0};
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "test.rules", &error);
  CT_EQ_STR(error.text, "");
  return rules;
}

static gemel_graph *rewrite_with(const gemel_graph *graph, const gemel_rules *rules,
                                 gemel_error *error) {
  gemel_rewrite_options options = {.size = sizeof options};
  options.rules = &rules;
  options.n_rules = 1;
  options.without_builtin = 1;
  options.has_allow = 1;
  options.allow = GEMEL_FASTMATH_ALL;
  return gemel_rewrite(graph, &options, error);
}

static void same_as_wanted(const void *data) {
  const rewritten *r = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *rules = rules_of(context, r->rules);
  gemel_graph *graph = graph_of(context, r->graph), *wanted = graph_of(context, r->wanted);
  gemel_error error = {0};
  gemel_graph *result = rewrite_with(graph, rules, &error);
  CT_EQ_STR(error.text, "");
  if (result != NULL && wanted != NULL) {
    same_text(result, wanted);
    CT_EQ_INT(gemel_graph_check(result, &error), GEMEL_OK);
  }
  gemel_graph_unref(result);
  gemel_graph_unref(wanted);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

#define R(name) "rule " name " in canonicalize: "

static const rewritten cases[] = {
    /* structure */
    {R("a") "-(-x) => x", "(x: f32[3]) { r = -(-(-x)) return r }",
     "(x: f32[3]) { r = -x return r }"},
    {R("a") "x * 1 => x", "(x: f32[3]) { r = x * 1 return r }", "(x: f32[3]) { r = x return r }"},
    {R("a") "x * 1 => x", "(x: f32[3]) { r = 1 * x return r }", "(x: f32[3]) { r = x return r }"},
    {R("a") "x * 1 => x", "(x: f32[3]) { r = x * 1.5 return r }",
     "(x: f32[3]) { r = x * 1.5 return r }"},
    {R("a") "x - x => 0", "(x: f32[3], y: f32[3]) { a = x - y b = x - x return a, b }",
     "(x: f32[3], y: f32[3]) { a = x - y b = broadcast_to(0:f32, shape = [3]) return a, b }"},
    /* zeros have signs */
    {R("a") "x + 0 => x", "(x: f32) { r = x + -0.0 return r }",
     "(x: f32) { r = x + -0.0 return r }"},
    {R("a") "x + -0.0 => x", "(x: f32) { r = x + -0.0 return r }", "(x: f32) { r = x return r }"},
    /* commutative, two levels deep */
    {R("a") "log(1 + exp(x)) * y => relu(x) - y",
     "(x: f32, y: f32) { r = y * log(exp(x) + 1) return r }",
     "(x: f32, y: f32) { r = relu(x) - y return r }"},
    /* what a rule makes is rewritten too */
    {R("a") "sqr(x) => x * x " R("b") "x * x => abs(x) " R("c") "abs(abs(x)) => abs(x)",
     "(x: f32) { r = sqr(sqr(x)) return r }", "(x: f32) { r = abs(x) return r }"},
    /* all rules take part in the last phase, until there is nothing left to do: here the second
     * use of the tanh goes only after the first has been looked at */
    {R("a") "-(-x) => x rule b in specialize: sqr(x) => -(-abs(x))",
     "(x: f32) { r = sqr(x) return r }", "(x: f32) { r = abs(x) return r }"},
    {R("a") "-(tanh(x) as y) => tanh(-x) where single_use(y) " R("b") "y * 0 => 0",
     "(x: f32) { t = tanh(x) r = -t s = t * 0 return r, s }",
     "(x: f32) { r = tanh(-x) z = 0:f32 return r, s = z }"},
    /* a broadcast repairs the shape */
    {R("a") "x * 0 => 0", "(x: f32[N, 2], y: f32[2]) { r = y + x * 0 return r }",
     "(x: f32[N, 2], y: f32[2]) { r = y + broadcast_to(0:f32, shape = [N, 2]) return r }"},
    {R("a") "where(c, x, x) => x", "(c: bool[4, 1], x: i32[3]) { r = where(c, x, x) return r }",
     "(c: bool[4, 1], x: i32[3]) { r = broadcast_to(x, shape = [4, 3]) return r }"},
    /* attributes */
    {R("a") "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q])",
     "(x: f32[2, 3, 4]) { y = dimshuffle(x, order = [2, 0, 1]) "
     "r = dimshuffle(y, order = [1, -1, 2, 0]) return r }",
     "(x: f32[2, 3, 4]) { r = dimshuffle(x, order = [0, -1, 1, 2]) return r }"},
    {R("a") "dimshuffle(x, order = p) => x where p == range(rank(x))",
     "(x: f32[2, 3]) { a = dimshuffle(x, order = [0, 1]) b = dimshuffle(x, order = [1, 0]) return "
     "a, b }",
     "(x: f32[2, 3]) { a = x b = dimshuffle(x, order = [1, 0]) return a, b }"},
    {R("a") "sum(sum(x, axes = a), axes = b) => sum(x, axes = sorted([a, without(range(rank(x)), "
            "a)[b]]))",
     "(x: f32[2, 3, 4]) { r = sum(sum(x, axes = [1]), axes = [-1]) return r }",
     "(x: f32[2, 3, 4]) { r = sum(x, axes = [1, 2]) return r }"},
    /* an attribute that isn't mentioned has its fallback */
    {R("a") "sum(x) => prod(x)", "(x: f32[2, 3]) { a = sum(x) b = sum(x, axes = [0]) return a, b }",
     "(x: f32[2, 3]) { a = prod(x, axes = [0, 1]) b = sum(x, axes = [0]) return a, b }"},
    /* any number of operands */
    {R("a") "join(..xs, join(..ys, axis = a), ..zs, axis = a) => join(..xs, ..ys, ..zs, axis = a)",
     "(x: f32[2], y: f32[3]) { r = join(x, join(y, x), y, join(x, join(y, y))) return r }",
     "(x: f32[2], y: f32[3]) { r = join(x, y, x, y, x, y, y) return r }"},
    /* outputs */
    {R("a") "split(x, sizes = s, axis = a)@k => subtensor(x, start = [s[0] * k], size = [s[k]]) "
            "where rank(x) == 1, k <= 1",
     "(x: f32[5]) { a, b = split(x, sizes = [2, 3]) return b, a }",
     "(x: f32[5]) { a = subtensor(x, start = [0], size = [2], step = [1]) "
     "b = subtensor(x, start = [2], size = [3], step = [1]) return b, a }"},
    /* each output of what a rule makes is rewritten by itself: the second, too, becomes a slice */
    {R("cut") "split(x, sizes = s, axis = a)@1 => subtensor(x, start = [s[0]], size = [s[1]]) "
              "where rank(x) == 1 " R(
                  "make") "sqr(x) => join(split(-x, sizes = [2, 3], axis = 0)@0, "
                          "split(-x, sizes = [2, 3], axis = 0)@1)",
     "(x: f32[5]) { r = sqr(x) return r }",
     "(x: f32[5]) { y = -x a, b = split(y, sizes = [2, 3], axis = 0) "
     "r = join(a, subtensor(y, start = [2], size = [3], step = [1])) return r }"},
    {R("cut") "split(x, sizes = s, axis = a)@0 => subtensor(x, start = [0], size = [s[0]]) "
              "where rank(x) == 1 " R(
                  "make") "sqr(x) => join(split(-x, sizes = [2, 3], axis = 0)@1, "
                          "split(-x, sizes = [2, 3], axis = 0)@0)",
     "(x: f32[5]) { r = sqr(x) a, b = split(-x, sizes = [2, 3], axis = 0) return r, a, b }",
     "(x: f32[5]) { y = -x c, b = split(y, sizes = [2, 3], axis = 0) "
     "a = subtensor(y, start = [0], size = [2], step = [1]) r = join(b, a) return r, a, b }"},
    /* use counts */
    {R("a") "neg(y) => sqr(y) where single_use(y)",
     "(x: f32) { y = abs(x) z = exp(x) r = -y s = -z t = z return r, s, t }",
     "(x: f32) { y = abs(x) z = exp(x) r = sqr(y) s = -z t = z return r, s, t }"},
    /* what types and attributes rule out is remembered, but no more than they tell: of the same
     * kind of node, some match and some don't */
    {R("a") "tanh(x) => sqr(x) where nonnegative(x)",
     "(a: f32, b: f32, c: f32) { p = tanh(minimum(a, b)) q = tanh(minimum(a, c)) "
     "u = abs(a) r = tanh(minimum(u, abs(b))) return p = p, q = q, r = r }",
     "(a: f32, b: f32, c: f32) { p = tanh(minimum(a, b)) q = tanh(minimum(a, c)) "
     "u = abs(a) r = sqr(minimum(u, abs(b))) return p = p, q = q, r = r }"},
    {R("a") "tanh(minimum(x, y) as m) => sqr(m) where nonnegative(m)",
     "(a: f32, b: f32, c: f32) { u = abs(a) r = tanh(minimum(u, abs(b))) "
     "p = tanh(minimum(a, c)) return p = p, r = r }",
     "(a: f32, b: f32, c: f32) { u = abs(a) r = sqr(minimum(u, abs(b))) "
     "p = tanh(minimum(a, c)) return p = p, r = r }"},
    {R("a") "tanh(sum(x, axes = a) as m) => sqr(m) where nonnegative(m), a == [0]",
     "(x: f32[3, 3]) { u = sqr(x) r = tanh(sum(u, axes = [0])) s = tanh(sum(u, axes = [1])) "
     "return r = r, s = s }",
     "(x: f32[3, 3]) { u = sqr(x) r = sqr(sum(u, axes = [0])) s = tanh(sum(u, axes = [1])) "
     "return r = r, s = s }"},
    /* a literal is any value that it repeats as */
    {R("a") "x * 1 => x",
     "(x: f32[3, 2], y: f32[2]) { o = broadcast_to(1:f32, shape = [3, 2]) "
     "p = x * broadcast_to(y, shape = [3, 2]) t = x * broadcast_to(2:f32, shape = [3, 2]) "
     "return r = x * o, s = p, t = t }",
     "(x: f32[3, 2], y: f32[2]) { p = x * broadcast_to(y, shape = [3, 2]) "
     "t = x * broadcast_to(2:f32, shape = [3, 2]) return r = x, s = p, t = t }"},
    {R("a") "-(x * 1) => tanh(x)",
     "(x: f32[3, 2], y: f32[2]) { o = broadcast_to(1:f32, shape = [3, 2]) "
     "p = x * broadcast_to(y, shape = [3, 2]) return r = -(x * o), s = -p }",
     "(x: f32[3, 2], y: f32[2]) { p = x * broadcast_to(y, shape = [3, 2]) r = tanh(x) "
     "return r = r, s = -p }"},
    {R("a") "sum(x, axes = a) => -x where length(a) == 0, constant(x) or rank(x) == 0",
     "(a: f32, b: f32, c: f32[2]) { p = sum(a) q = sum(b) r = sum(c) s = sum(a + b) "
     "return p = p, q = q, r = r, s = s }",
     "(a: f32, b: f32, c: f32[2]) { p = -a q = -b r = sum(c, axes = [0]) s = -(a + b) "
     "return p = p, q = q, r = r, s = s }"},
    {R("a") "neg(abs(x) as y) => sqr(x) where single_use(y)",
     "(x: f32) { y = abs(x) z = abs(-x) r = -y s = -z t = z return r, s, t }",
     "(x: f32) { y = abs(x) z = abs(-x) r = sqr(x) s = -z t = z return r, s, t }"},
    {R("a") "subtensor((x + y) as z, start = a, size = b, step = c) => z where b == shape(z)",
     "(x: f32, y: f32[3]) { r = subtensor(x + y, start = [0], size = [3]) return r }",
     "(x: f32, y: f32[3]) { r = x + y return r }"},
    /* constants are folded, and what they come to is matched */
    {R("a") "x * 6 => neg(x)", "(x: f32) { r = x * (2:f32 * 3:f32) return r }",
     "(x: f32) { r = -x return r }"},
    /* bodies, and bodies in them */
    {R("a") "-(-x) => x " R("b") "invoke(x, body = f) => x where f == f, scalar(x)",
     "(x: f32, y: f32[2]) { z = -(-y) r = invoke(x, body = graph (p: f32[]) { return q = -p }) "
     "s = invoke(z, body = graph (p: f32[2]) { a = abs(p) "
     "t = invoke(a, body = graph (u: f32[2]) { return v = sqr(-(-u)) }) return q = -(-t) }) "
     "return r, s }",
     "(x: f32, y: f32[2]) { r = x s = invoke(y, body = graph (p: f32[2]) { a = abs(p) "
     "t = invoke(a, body = graph (u: f32[2]) { return v = sqr(u) }) return q = t }) "
     "return r, s }"},
    {R("a") "x - x => 0",
     "(x: f32[2]) { a, b = invoke(x, body = graph (p: f32[2]) { z = exp(p) "
     "return q = z - z, r = abs(p) - 1 }) return b, a }",
     "(x: f32[2]) { a, b = invoke(x, body = graph (p: f32[2]) { "
     "return q = broadcast_to(0:f32, shape = [2]), r = abs(p) - 1 }) return b, a }"},
    /* sizes that a node produces: they are inputs again wherever they are put */
    {R("a") "tanh(broadcast_to(x, shape = s)) => broadcast_to(tanh(x), shape = s)",
     "(n: i64, x: f32) { r = tanh(broadcast_to(x, shape = [n, 2, n])) return r }",
     "(n: i64, x: f32) { r = broadcast_to(tanh(x), shape = [n, 2, n]) return r }"},
    {R("a") "subtensor(-x, start = a, size = b, step = c) => "
            "-subtensor(x, start = a, size = b, step = c)",
     "(m: i64, n: i64, x: f32[9]) { r = subtensor(-x, start = [n], size = [m + n]) return r }",
     "(m: i64, n: i64, x: f32[9]) { r = -subtensor(x, start = [n], size = [m + n], step = [1]) "
     "return r }"},
    {R("a") "broadcast_to(..xs, shape = s) => 0 where count(xs) == 2",
     "(n: i64, x: f32) { r = broadcast_to(x, shape = [n]) return r }",
     "(n: i64, x: f32) { r = broadcast_to(x, shape = [n]) return r }"},
    {R("a") "-(-x) => x", "(n: i64, x: f32) { r = -(-broadcast_to(x, shape = [n])) return r }",
     "(n: i64, x: f32) { r = broadcast_to(x, shape = [n]) return r }"},
};

/* ---- Errors of rule text ---- */

typedef struct broken {
  const char *text, *message;
  int line, column;
} broken;

#define W "abcdefgh"

static const broken mistakes[] = {
    {"rule", "expected the rule's name", 1, 5},
    {"rule a", "expected 'in' and a phase", 1, 7},
    {"rule a in space: x => x", "'space' is no phase", 1, 11},
    {"rule a in stabilise: -x => x", "did you mean stabilize", 1, 11},
    {"rule a in stabilize needs speed: -x => x", "'speed' is no need", 1, 27},
    {"rule a in stabilize needs reasoc: -x => x", "did you mean reassoc", 1, 27},
    {"rule a in stabilize\n  -x => x", "':'", 2, 3},
    {"rule a in stabilize: x => x", "the left side must be an operation", 1, 22},
    {"rule a in stabilize: -x => y", "y isn't bound on the left side", 1, 28},
    {"rule a in stabilize: x == x => true",
     "true isn't bound on the left side; truths are the numbers 1 and 0", 1, 32},
    {"rule a in stabilize: -x => x + shape(x)[0]", "a size is size(value = ...)", 1, 40},
    {"rule a in stabilize: -x => frob(x)", "no operation called frob", 1, 28},
    {"rule a in stabilize: tanhh(x) => x", "did you mean tanh", 1, 22},
    {"rule a in stabilize: neg(input) => inptu", "did you mean input", 1, 36},
    {"rule a in stabilize: sum(x, axis = a) => x", "did you mean axes", 1, 36},
    {"rule a in stabilize: -(x as y) => x", "'as' names an operation", 1, 26},
    {"rule a in stabilize: abs(-x) as 3 => x", "expected a name", 1, 33},
    {"rule a in stabilize: abs(neg(x) as x) => x", "x has a meaning already", 1, 26},
    {"rule a in stabilize: -x => abs(x) as y", "on the right side", 1, 28},
    {"rule a in stabilize: -x => x where rank(abs(x) as y) == 2", "operations only", 1, 41},
    {"rule a in stabilize: dimshuffle(x) => x", "needs its attribute order", 1, 22},
    {"rule a in stabilize: add(x) => x", "takes 2 operands, not 1", 1, 22},
    {"rule a in stabilize: add(x, y, z) => x", "takes 2 operands, not 3", 1, 22},
    {"rule a in stabilize: add(x, y, ..z, u) => x", "takes 2 operands, not 4", 1, 22},
    {"rule a in stabilize: -x => x where scalr(x)", "did you mean scalar", 1, 36},
    {"rule a in stabilize: -x => x rule a in stabilize: -x => x", "there is a rule a", 1, 35},
    {"rule a in stabilize: sum(x, axes = x) => x", "x is a tensor, not an attribute", 1, 36},
    {"rule a in stabilize: -x x", "expected '=>'", 1, 25},
    {"rule a in stabilize: cast(x, dtype = d) => x where dtype(d) == d",
     "a tensor, and this is a dtype", 1, 58},
    {"rule a in stabilize: sum(x, axes = a) => x where scalar(a)", "a tensor, and this is a list",
     1, 57},
    {"rule a in stabilize: cast(x, dtype = d) => x where d",
     "a condition is a number, and this is a dtype", 1, 52},
    {"rule a in stabilize: cast(x, dtype = d) => cast(x, dtype = rank(x))",
     "a dtype, and this is a number", 1, 60},
    {"rule a in stabilize: neg(x) => x where single_use(abs(x))", "a list, and this is a tensor", 1,
     55},
    {"rule a in stabilize: neg(x) => x where x == x", "no tensors, and this is a tensor", 1, 40},
    {"for in abs: rule a in stabilize: -x => x", "a name before 'in'", 1, 5},
    {"for f of abs: rule a in stabilize: -x => x", "'in'", 1, 13},
    {"for f in: rule a in stabilize: -x => x", "a word", 1, 9},
    {"for f g in abs sqr, sin: rule a in stabilize: -x => x", "a word for each name", 1, 24},
    {"for f in abs sqr: rule a in stabilize: -x => x", "',' or ':'", 1, 14},
    {"for f in abs:\nfor g in x: rule a in stabilize: -x => x", "expected 'rule'", 2, 1},
    {"for f in abs, sqr:\nrule a in stabilize:\n  {f}(x) => x", "a rule a in line 2", 2, 6},
    {"for f in abs, sqt:\nrule {f}_a in stabilize:\n  {f}(x) => x", "did you mean sqr", 3, 3},
    {"for f in abs:\nrule a in stabilize:\n  {f}(x) => {g}", "expected a value", 3, 13},
    {"for f in rule: rule a in stabilize: -x => x {f} b", "the end of the rule", 1, 30},
    {"for f in " W W W W "a: rule a in stabilize: -x => x", "longer than 32", 1, 10},
};

static void mistake(const void *data) {
  const broken *b = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_rules *rules = gemel_rules_parse(context, b->text, strlen(b->text), "bad.rules", &error);
  CT_CHECK(rules == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_TEXT);
  CT_EQ_INT(error.line, b->line);
  CT_EQ_INT(error.column, b->column);
  if (!CT_CHECK(strstr(error.text, b->message) != NULL)) {
    CT_FAIL("%s", error.text);
  }
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* ---- Rules that are wrong ---- */

static void fails_with(const char *rule_text, const char *graph_text, const char *message) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *rules = rules_of(context, rule_text);
  gemel_graph *graph = graph_of(context, graph_text);
  gemel_error error = {0};
  CT_CHECK(rewrite_with(graph, rules, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_WRONG_RULE);
  if (!CT_CHECK(strstr(error.text, message) != NULL)) {
    CT_FAIL("%s", error.text);
  }
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

static void circles(const void *data) {
  (void)data;
  fails_with(R("there") "sqr(x) => abs(x) " R("back") "abs(x) => sqr(x)",
             "(x: f32) { r = sqr(x) return r }", "back, there");
  fails_with(R("grow") "neg(x) => neg(sqr(x))", "(x: f32) { r = -x return r }", "grow");
  /* what feeds on what it makes, away from the root: nothing of what is matched is older */
  fails_with(R("softplus") "log1p(exp(x)) => relu(x) + log1p(exp(-abs(x)))",
             "(x: f32) { r = log1p(exp(x)) return r }", "softplus");
  /* an old operation is matched again and again */
  fails_with(R("again") "x * abs(y) => -(-(x + x) * abs(y))",
             "(x: f32, y: f32) { r = x * abs(y) return r }", "again");
  fails_with(R("ping") "abs(x) => exp(sqr(x)) " R("pong") "sqr(x) => log(abs(-x))",
             "(x: f32) { r = abs(x) return r }", "pong, ping");
}

/* A loop that begins when others have all but used up what may grow is told as one all the same:
 * each sum here becomes nine operations, and four are allowed, and 10,000. */
static void late_circle(const void *data) {
  enum { SUMS = 2000 };
  static char text[SUMS * 40];
  size_t used = (size_t)snprintf(text, sizeof text, "(x: f32, y: f32) { a0 = x + y ");
  (void)data;
  for (int k = 1; k <= SUMS; k++) {
    used += (size_t)snprintf(text + used, sizeof text - used, "a%d = a%d + y ", k, k - 1);
  }
  snprintf(text + used, sizeof text - used, "r = log1p(exp(a%d)) return r }", SUMS);
  fails_with(R("nine") "x + y => tanh(sqr(tanh(sqr(tanh(sqr(exp(-x))))))) - y " R(
                 "softplus") "log1p(exp(x)) => relu(x) * log1p(exp(-abs(x)))",
             text, "softplus");
}

/* A chain taken apart link by link, each time at the root of what was made, is no loop; nor is a
 * wide operation taken apart operand by operand. */
static void long_ways(const void *data) {
  enum { LINKS = 1500 };
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *rules = rules_of(
      context,
      R("skip") "sign(exp(x)) => sign(x) " R(
          "peel") "sum(join(x, ..xs, y)) => sum(x) + sum(join(..xs, y)) where count(xs) > 0");
  gemel_graph *graph = gemel_graph_new(context, NULL), *result;
  int64_t shape[1] = {2};
  gemel_value x = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 1, shape));
  static gemel_value chain[LINKS];
  gemel_error error = {0};
  (void)data;
  for (int k = 0; k < LINKS; k++) {
    chain[k] = k > 0 ? gemel_exp(chain[k - 1]) : x;
  }
  gemel_output(gemel_sign(chain[LINKS - 1]), "s");
  gemel_output(gemel_apply(graph, "sum", 1,
                           (gemel_value[]){gemel_apply(graph, "join", LINKS, chain, 0, NULL)}, 0,
                           NULL),
               "t");
  result = rewrite_with(graph, rules, &error);
  CT_EQ_STR(error.text, "");
  CT_EQ_STR(gemel_value_operation(gemel_graph_output(result, 0)), "sign");
  CT_EQ_STR(gemel_value_operation(gemel_graph_output(result, 1)), "add");
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* GRAPH's one operation after a rewriting with RULES by themselves, but for those in EXCLUDE. */
static void becomes(const gemel_graph *graph, const gemel_rules *rules, const char *exclude,
                    const char *operation, uint64_t applied) {
  gemel_rewrite_profile *profile = gemel_rewrite_profile_new();
  gemel_rewrite_options options = {.size = sizeof options, .without_builtin = 1, .n_rules = 1};
  gemel_error error = {0};
  options.rules = &rules;
  options.exclude = exclude;
  options.profile = profile;
  gemel_graph *result = gemel_rewrite(graph, &options, &error);
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(result != NULL);
  CT_EQ_STR(gemel_value_operation(gemel_graph_output(result, 0)), operation);
  CT_EQ_UINT(gemel_rewrite_profile_at(profile, 0)->applied, applied);
  gemel_rewrite_profile_free(profile);
  gemel_graph_unref(result);
}

/* What a context keeps of a rewriting is for the same options and the same set of rules only: sets
 * that come and go, at one address or not, and words that exclude. Each counts for itself. */
static void choices(const void *data) {
  static const char *const operations[] = {"abs", "sqr", "tanh", "sign", "log"};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = graph_of(context, "(x: f32) { r = exp(x) return r }");
  gemel_rules *last = NULL;
  (void)data;
  for (size_t k = 0; k < 40; k++) {
    char text[100];
    const char *operation = operations[k % CT_COUNT(operations)];
    snprintf(text, sizeof text, R("first") "exp(x) => %s(x)", operation);
    gemel_rules *rules = rules_of(context, text);
    becomes(graph, rules, NULL, operation, 1);
    becomes(graph, rules, "first", "exp", 0);
    becomes(graph, rules, k % 2 ? NULL : "", operation, 1);
    becomes(graph, rules, "canonicalize", "exp", 0);
    gemel_rules_unref(last);
    last = rules;
    if (k % 3 == 0) { /* the next set may stand where this one stood */
      gemel_rules_unref(last);
      last = NULL;
    }
  }
  gemel_rules_unref(last);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void *rewrite_often(void *data) {
  const gemel_graph *graph = data;
  size_t wrong = 0;
  for (int k = 0; k < 100; k++) {
    gemel_graph *result = gemel_rewrite(graph, NULL, NULL);
    wrong += result == NULL || gemel_graph_node_count(result) != 2;
    gemel_graph_unref(result);
  }
  return (void *)(uintptr_t)wrong;
}

static void together(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = graph_of(context, "(x: f32) { r = log(1 + -(-x)) return r }");
  pthread_t threads[4];
  void *wrong;
  (void)data;
  for (int k = 0; k < 4; k++) {
    CT_EQ_INT(pthread_create(&threads[k], NULL, rewrite_often, graph), 0);
  }
  for (int k = 0; k < 4; k++) {
    pthread_join(threads[k], &wrong);
    CT_CHECK(wrong == NULL);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Two rules of one name: in two sets, in two phases, and one of gemel's own. */
static void one_name(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *builtin_rules = gemel_rules_builtin(context, NULL);
  char own[200];
  const char *const first = R("a") "-(-x) => x", *second = "rule a in stabilize: abs(-x) => abs(x)";
  gemel_graph *graph = graph_of(context, "(x: f32) { r = exp(x) return r }");
  (void)data;
  snprintf(own, sizeof own, "rule %s in specialize: -(-x) => x",
           gemel_rule_describe(gemel_rules_at(builtin_rules, 0))->name);
  for (int k = 0; k < 4; k++) {
    gemel_rules *x = rules_of(context, k < 3 ? first : own);
    gemel_rules *y = rules_of(context, k == 0 ? second : "rule b in stabilize: abs(-x) => abs(x)");
    const gemel_rules *sets[2] = {x, k == 1 ? x : y};
    gemel_rewrite_options options = {.size = sizeof options, .rules = sets, .n_rules = 2};
    gemel_error error = {0};
    gemel_graph *result = gemel_rewrite(graph, &options, &error);
    ct_context("%d", k);
    CT_CHECK((result != NULL) == (k == 2));
    CT_EQ_INT(error.status, k == 2 ? GEMEL_OK : GEMEL_BAD_ARGUMENT);
    CT_CHECK(k == 2 || strstr(error.text, "two rules are called") != NULL);
    gemel_graph_unref(result);
    gemel_rules_unref(x);
    gemel_rules_unref(y);
  }
  gemel_graph_unref(graph);
  gemel_rules_unref(builtin_rules);
  gemel_context_unref(context);
}

static void types_differ(const void *data) {
  (void)data;
  fails_with(R("a") "x < y => x", "(x: f32, y: f32) { r = x < y return r }", "rule a");
  fails_with(R("a") "sum(x, axes = a) => x", "(x: f32[3]) { r = sum(x) return r }", "rule a");
}

/* ---- Size ---- */

/* A million nested additions and slices pushed down a long chain: no recursion, linear time. */
static void deep(const void *data) {
  enum { DEPTH = 200000 };
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *rules = rules_of(
      context, R("push") "subtensor(neg(x), start = a, size = b, step = s) => "
                         "neg(subtensor(x, start = a, size = b, step = s)) where single_use(x)");
  gemel_graph *graph = gemel_graph_new(context, NULL), *result;
  int64_t shape[1] = {8};
  gemel_dim start = gemel_dim_constant(context, 2), size = gemel_dim_constant(context, 3);
  gemel_value x = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 1, shape));
  gemel_error error = {0};
  (void)data;
  for (int k = 0; k < DEPTH; k++) {
    x = gemel_neg(x);
  }
  gemel_attr attrs[2] = {gemel_attr_dims("start", 1, &start), gemel_attr_dims("size", 1, &size)};
  gemel_output(gemel_apply(graph, "subtensor", 1, &x, 2, attrs), "y");
  result = rewrite_with(graph, rules, &error);
  CT_EQ_STR(error.text, "");
  CT_EQ_UINT(gemel_graph_node_count(result), DEPTH + 2);
  CT_EQ_STR(gemel_value_operation(gemel_graph_output(result, 0)), "neg");
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

static int rewrite_in_little_memory(void *data) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = NULL, *result = NULL;
  gemel_rules *rules = NULL;
  const char *text = data,
             *rule = R("a") "x * 1 => x " R("b") "sum(sum(x, axes = a), axes = b) => "
                                                 "sum(x, axes = [0, 1]) where rank(x) == 2";
  if (context != NULL) {
    graph = gemel_parse(context, text, strlen(text), "test", NULL, &error);
    rules = graph != NULL ? gemel_rules_parse(context, rule, strlen(rule), "r", &error) : NULL;
    result = rules != NULL ? rewrite_with(graph, rules, &error) : NULL;
  }
  gemel_graph_unref(result);
  gemel_rules_unref(rules);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return error.status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(rewrite_in_little_memory,
                  "graph g(x: f32[2, 3]) { r = sum(sum(x * 1, axes = [0]), axes = [0]) * 1 "
                  "return r = invoke(r, body = graph (x: f32) { return y = x * 1 }) }") > 50);
}

/* ---- The rest of the interface ---- */

static void names(const void *data) {
  (void)data;
  CT_EQ_STR(gemel_needs_word(GEMEL_NEEDS_INDEX_ARCP), "arcp");
  CT_CHECK(strstr(gemel_needs_meaning(GEMEL_NEEDS_INDEX_NSZ), "sign of a zero") != NULL);
  CT_CHECK(gemel_needs_word(GEMEL_NEEDS_COUNT) == NULL && gemel_needs_word(-1) == NULL);
  CT_CHECK(gemel_needs_meaning(GEMEL_NEEDS_COUNT) == NULL);
  CT_EQ_STR(gemel_phase_name(GEMEL_PHASE_SPECIALIZE), "specialize");
  CT_CHECK(gemel_phase_name(GEMEL_PHASE_COUNT) == NULL);
  CT_EQ_STR(gemel_mode_name(GEMEL_MODE_FAST_COMPILE), "fast_compile");
  CT_CHECK(gemel_mode_name(GEMEL_MODE_COUNT) == NULL);
}

static const char two_rules[] = "# Not about what follows.\n\n"
                                "# Once is enough.\n#\n# Indeed.\n"
                                "rule abs_abs in specialize tags fast, local needs nnan, nsz:\n"
                                "  abs(abs(x))\n    => abs(x) # so\n\n"
                                "rule sign_sign in stabilize: sign(sign(x)) => sign(x)\n"
                                "# {f} of a {g}\nfor f g in mul *, add +:\n"
                                "rule {f}_h in stabilize: # {f}\n  x {g} abs(x) => {f}(x, x)\n";

static void check_description(const gemel_rule_info *info) {
  CT_EQ_STR(info->name, "abs_abs");
  CT_EQ_STR(info->family, "two");
  CT_EQ_INT(info->phase, GEMEL_PHASE_SPECIALIZE);
  CT_EQ_UINT(info->n_tags, 2);
  CT_EQ_STR(info->tags[1], "local");
  CT_EQ_UINT(info->needs, GEMEL_NEEDS_BIT(NNAN) | GEMEL_NEEDS_BIT(NSZ));
  CT_EQ_STR(info->documentation, "Once is enough.\n\nIndeed.");
  CT_EQ_STR(info->text, "rule abs_abs in specialize tags fast, local needs nnan, nsz:\n"
                        "  abs(abs(x))\n    => abs(x)");
  CT_EQ_INT(info->line, 6);
}

static void sets(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  char path[500];
  FILE *file;
  (void)data;
  snprintf(path, sizeof path, "%s/two.rules", ct_scratch());
  CT_CHECK(gemel_rules_load(context, path, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_IO);
  file = fopen(path, "w");
  CT_REQUIRE(file != NULL);
  fputs(two_rules, file);
  fclose(file);
  gemel_rules *rules = gemel_rules_load(context, path, NULL), *again = gemel_rules_ref(rules);
  CT_REQUIRE(rules != NULL);
  gemel_rules_unref(again);
  CT_EQ_UINT(gemel_rules_count(rules), 4);
  CT_CHECK(gemel_rules_at(rules, 4) == NULL);
  CT_CHECK(gemel_rules_find(rules, "sign_sign") == gemel_rules_at(rules, 1));
  CT_CHECK(gemel_rules_find(rules, "sign") == NULL);
  const gemel_rule_info *info = gemel_rule_describe(gemel_rules_find(rules, "abs_abs"));
  CT_REQUIRE(info != NULL);
  check_description(info);
  CT_EQ_STR(info->file, path);
  info = gemel_rule_describe(gemel_rules_find(rules, "add_h"));
  CT_REQUIRE(info != NULL && gemel_rules_find(rules, "mul_h") != NULL);
  CT_EQ_STR(info->text, "rule add_h in stabilize: # add\n  x + abs(x) => add(x, x)");
  CT_EQ_STR(info->documentation, "add of a +");
  CT_EQ_INT(info->line, 13);
  remove(path);
  gemel_context_unref(context); /* a set keeps its context */
  gemel_rules_unref(rules);
}

/* gemel's own are made once a context, and outlive no context but that of who holds them. */
static void builtin(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *rules = gemel_rules_builtin(context, NULL);
  (void)data;
  CT_REQUIRE(rules != NULL);
  gemel_rules *again = gemel_rules_builtin(context, NULL);
  CT_CHECK(again == rules && gemel_rules_count(rules) > 0);
  gemel_rules_unref(again);
  gemel_context_unref(context);
  CT_CHECK(gemel_rule_describe(gemel_rules_at(rules, 0))->name[0] != '\0');
  gemel_rules_unref(rules);
}

/* Rows of a phase: its own, then what fired; times that add up to no more than the whole. */
static void profile(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *rules = rules_of(context, R("a") "-(-x) => x rule b in stabilize: sqr(x) => x * x");
  gemel_graph *graph = graph_of(context, "(x: f32) { r = sqr(-(-sqr(x))) return r }");
  gemel_rewrite_profile *p = gemel_rewrite_profile_new();
  const gemel_rewrite_row *row;
  gemel_rewrite_options options = {.size = sizeof options, .n_rules = 1, .without_builtin = 1};
  (void)data;
  options.rules = (const gemel_rules *const *)&rules;
  options.profile = p;
  gemel_graph_unref(gemel_rewrite(graph, &options, NULL));
  CT_EQ_UINT(gemel_rewrite_profile_count(p), 5);
  CT_CHECK(gemel_rewrite_profile_at(p, 5) == NULL);
  row = gemel_rewrite_profile_at(p, 0);
  CT_CHECK(row->name == NULL && row->phase == GEMEL_PHASE_CANONICALIZE);
  CT_EQ_UINT(row->before, 5);
  CT_EQ_UINT(row->after, 3);
  CT_EQ_UINT(row->applied, 1);
  row = gemel_rewrite_profile_at(p, 1);
  CT_EQ_STR(row->name, "a");
  CT_EQ_UINT(row->applied, 1);
  CT_CHECK(row->seconds > 0 && row->seconds <= row[-1].seconds);
  row = gemel_rewrite_profile_at(p, 3);
  CT_EQ_STR(row->name, "b");
  CT_EQ_UINT(row->applied, 2);
  CT_EQ_UINT(row->created, 2);
  gemel_rewrite_profile_free(p);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* A program's rule is tried before one of gemel's, though that asks for more and its name comes
 * first. */
static void own_rules_come_first(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *rules =
      rules_of(context, R("zz") "sum(c * x, axes = a) => c * sum(x, axes = a) where scalar(c)");
  gemel_graph *graph =
      graph_of(context, "(x: f32[3], c: f32[]) { r = sum(c * x, axes = [0]) return r }");
  gemel_rewrite_profile *p = gemel_rewrite_profile_new();
  gemel_rewrite_options options = {.size = sizeof options, .n_rules = 1, .profile = p};
  gemel_error error = {0};
  int fired = 0;
  (void)data;
  options.rules = (const gemel_rules *const *)&rules;
  gemel_graph_unref(gemel_rewrite(graph, &options, &error));
  CT_EQ_STR(error.text, "");
  for (size_t k = 0; k < gemel_rewrite_profile_count(p); k++) {
    const gemel_rewrite_row *row = gemel_rewrite_profile_at(p, k);
    fired += row->name != NULL && strcmp(row->name, "zz") == 0 && row->applied == 1;
    CT_CHECK(row->name == NULL || strcmp(row->name, "sum_of_scaled") != 0 || row->applied == 0);
  }
  CT_EQ_INT(fired, 1);
  gemel_rewrite_profile_free(p);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* ---- What is left ---- */

/* Nodes that nothing uses any more are left out of the graph where it stands; what was built there
 * is found as before. */
static void unused_nodes_leave_no_trace(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *rules = rules_of(context, R("a") "-(-x) => x " R("b") "sqr(x) => x * 3");
  (void)data;
  gemel_graph *graph =
      graph_of(context, "(x: f32[4]) { a = -(-x) b = -(-tanh(a)) r = sqr(b) return r }");
  gemel_error error = {0};
  gemel_graph *result = rewrite_with(graph, rules, &error);
  CT_EQ_STR(error.text, "");
  CT_EQ_UINT(gemel_graph_node_count(result), 4);
  gemel_value out = gemel_graph_output(result, 0);
  gemel_value again = gemel_mul(gemel_value_input(out, 0), gemel_value_input(out, 1));
  CT_EQ_UINT(again.node, out.node);
  gemel_value three = gemel_scalar(result, GEMEL_F32, 3);
  CT_EQ_STR(gemel_value_operation(three), "constant");
  CT_EQ_UINT(three.node, gemel_value_input(out, 1).node);
  CT_EQ_UINT(gemel_graph_node_count(result), 4);
  CT_EQ_INT(gemel_graph_check(result, &error), GEMEL_OK);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* ---- Bodies ---- */

/* How often the rule -(-x) => x fires in TEXT's last graph. */
static uint64_t times_applied(const char *text) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_rules *rules = rules_of(context, R("a") "-(-x) => x");
  gemel_error error = {0};
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "test", NULL, &error), *result;
  gemel_rewrite_profile *p = gemel_rewrite_profile_new();
  gemel_rewrite_options options = {.size = sizeof options, .n_rules = 1, .without_builtin = 1};
  uint64_t applied;
  CT_EQ_STR(error.text, "");
  options.rules = (const gemel_rules *const *)&rules;
  options.profile = p;
  result = gemel_rewrite(graph, &options, &error);
  CT_EQ_STR(error.text, "");
  CT_EQ_INT(gemel_graph_check(result, &error), GEMEL_OK);
  applied = gemel_rewrite_profile_count(p) > 0 ? gemel_rewrite_profile_at(p, 0)->applied : 0;
  gemel_rewrite_profile_free(p);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return applied;
}

/* A body is rewritten once, however many nodes have it, and to the nesting that can run. */
static void bodies(const void *data) {
  enum { DEEP = 40 };
  char text[DEEP * 120], *at = text;
  (void)data;
  CT_EQ_UINT(times_applied("graph b(x: f32) { return y = -(-x) } graph g(x: f32) { "
                           "p = invoke(x, body = b) q = invoke(p, body = b) "
                           "return r = invoke(q, body = b) }"),
             1);
  at += sprintf(at, "graph b0(x: f32) { return y = -(-x) }\n");
  for (int k = 1; k <= DEEP; k++) {
    at += sprintf(at, "graph b%d(x: f32) { return y = invoke(-(-x), body = b%d) }\n", k, k - 1);
  }
  CT_EQ_UINT(times_applied(text), GEMEL_MAX_NESTING + 1);
}

/* ---- Compiling ---- */

/* log(1 + 1e-8) by a function compiled with OPTIONS: 0 where it is as written. */
static double tiny_log(const gemel_options *options) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = graph_of(context, "(x: f32) { r = log(1 + x) return r }");
  gemel_error error = {0};
  gemel_function *f = gemel_compile(graph, options, &error);
  gemel_tensor *x = gemel_tensor_new(GEMEL_F32, 0, NULL, NULL), *y = NULL;
  double result = -1;
  CT_EQ_STR(error.text, "");
  *(float *)gemel_tensor_data(x) = 1e-8f;
  if (CT_EQ_INT(gemel_call(f, 1, &x, 1, &y, NULL), GEMEL_OK)) {
    result = *(float *)gemel_tensor_data(y);
  }
  gemel_function_free(f);
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return result;
}

static void compiling(const void *data) {
  gemel_rewrite_options none = {.size = sizeof none, .has_mode = 1, .mode = GEMEL_MODE_NONE};
  gemel_rewrite_options strict = {.size = sizeof strict, .has_allow = 1};
  gemel_options options = {.size = sizeof options, .rewrite = &none};
  (void)data;
  CT_CHECK(tiny_log(NULL) > 0);
  CT_CHECK(tiny_log(&options) == 0);
  options.rewrite = &strict;
  CT_CHECK(tiny_log(&options) == 0);
  options.rewrite = NULL;
  CT_CHECK(tiny_log(&options) > 0);
  options.as_written = 1;
  CT_CHECK(tiny_log(&options) == 0);
  options.size = offsetof(gemel_options, rewrite); /* a program that is older than the field */
  CT_CHECK(tiny_log(&options) > 0);
  options.plain = 1;
  CT_CHECK(tiny_log(&options) == 0);
}

/* A pass that looks at a graph and keeps it. */
typedef struct keeper {
  gemel_graph *graph;
  char *text;
} keeper;

static gemel_status keep_first(gemel_edit *edit, const void *data, gemel_error *out) {
  keeper *k = *(keeper *const *)data;
  (void)out;
  if (k->graph == NULL) {
    k->graph = gemel_graph_ref((gemel_graph *)gemel_edit_graph(edit));
    k->text = gemel_print_string(k->graph, "g", NULL);
  }
  return GEMEL_OK;
}

/* What a pass has seen and kept stays as it was, though rules go on. */
static void kept_graph(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  keeper k = {NULL, NULL}, *at = &k;
  gemel_error error = {0};
  gemel_pass pass = {.size = sizeof pass,
                     .name = "keeps",
                     .phase = GEMEL_PHASE_SPECIALIZE,
                     .before = 1,
                     .rewrite = keep_first,
                     .generate = no_instance,
                     .data = &at};
  gemel_rules *rules = rules_of(context, "rule s in specialize: tanh(x) => sqr(x)");
  gemel_graph *graph = graph_of(context, "(x: f32) { r = exp(tanh(x)) return r }");
  (void)data;
  CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_OK);
  gemel_graph *result = rewrite_with(graph, rules, &error);
  CT_EQ_STR(error.text, "");
  CT_REQUIRE(k.graph != NULL && result != NULL);
  char *kept = gemel_print_string(k.graph, "g", NULL), *now = gemel_print_string(result, "g", NULL);
  CT_EQ_STR(kept, k.text);
  CT_HAS_STR(kept, "tanh");
  CT_HAS_STR(now, "sqr");
  gemel_text_free(kept);
  gemel_text_free(now);
  gemel_text_free(k.text);
  gemel_graph_unref(k.graph);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

static const ct_test tests[] = {
    CT_TEST("bodies", bodies, NULL),
    CT_TEST("compiling", compiling, NULL),
    CT_TEST("names", names, NULL),
    CT_TEST("sets", sets, NULL),
    CT_TEST("builtin", builtin, NULL),
    CT_TEST("profile", profile, NULL),
    CT_TEST("own_rules_come_first", own_rules_come_first, NULL),
    CT_TEST("circles", circles, NULL),
    CT_TEST("types", types_differ, NULL),
    CT_TEST("deep", deep, NULL),
    CT_TEST("memory", memory, NULL),
    CT_TEST("late_circle", late_circle, NULL),
    CT_TEST("long_ways", long_ways, NULL),
    CT_TEST("one_name", one_name, NULL),
    CT_TEST("choices", choices, NULL),
    CT_TEST("together", together, NULL),
    CT_TEST("left", unused_nodes_leave_no_trace, NULL),
    CT_TEST("kept_graph", kept_graph, NULL),
};

void ct_register(void) {
  static char names[CT_COUNT(cases) + CT_COUNT(mistakes)][24];
  ct_suite("rewrite", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    snprintf(names[k], sizeof names[k], "case/%zu", k);
    CT_ADD("rewrite", names[k], same_as_wanted, &cases[k]);
  }
  for (size_t k = 0; k < CT_COUNT(mistakes); k++) {
    snprintf(names[CT_COUNT(cases) + k], sizeof names[k], "mistake/%zu", k);
    CT_ADD("rewrite", names[CT_COUNT(cases) + k], mistake, &mistakes[k]);
  }
}
