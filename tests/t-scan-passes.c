/*
 * Passes on loops: what scan_prune and merge_scans leave of a graph, told by what its loops have
 * and how many nodes their bodies; all results are bit for bit those of the graph as it was
 * written. Among the graphs are those that similar passes of Theano and PyTensor got wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <time.h>
#include "passes/edit.h"
#include "support/graph-text.h"
#include "support/random.h"
#include "support/small-stack.h"

enum { MOST_PORTS = 16 };

typedef struct pass_case {
  const char *name, *text;
  const char *loops; /* of each: states, sequences, constants, stacks, nodes that aren't inputs */
  const char *views; /* the operations around them that are views; NULL: any */
} pass_case;

/* ---- Graphs ---- */

#define G(inputs, loop, results) "graph g(" inputs ") {\n" loop "\n  return " results "\n}\n"

#define NETWORK                                                                                    \
  "graph step(h: f64[2, 3], x: f64[2, 4], w: f64[4, 3], u: f64[3, 3]) {\n"                         \
  "  return n = tanh(dot(x, w) + dot(h, u))\n}\n"
#define KEEPING                                                                                    \
  "graph keep(h: f64[M, K], x: f64[M, E], w: f64[E, K], u: f64[K, K]) {\n"                         \
  "  z = dot(x, w)\n  t = tanh(z + dot(h, u))\n  return n = t, z = z, d = t * t\n}\n"
#define GATED                                                                                      \
  "graph step(h: f64[2, 3], x: f64[2, 4], w: f64[4, 3], u: f64[3, 3]) {\n"                         \
  "  z = sigmoid(dot(x, w) + dot(h, u))\n  return n = h + z * (tanh(dot(h * z, u)) - h)\n}\n"
#define NETWORK_INPUTS "x: f64[5, 2, 4], h: f64[2, 3], w: f64[4, 3], u: f64[3, 3]"

#define TWO                                                                                        \
  "graph step(a: f64[], b: f64[], x: f64[]) {\n"                                                   \
  "  return na = a * x, nb = b + x, y = a - x\n}\n"
/* B is needed for A, and C for B. */
#define CHAIN                                                                                      \
  "graph step(a: f64[], b: f64[], c: f64[], d: f64[]) {\n"                                         \
  "  return na = a + b, nb = b * c, nc = c - 1:f64, nd = d + a\n}\n"
#define ADD "graph step(s: f64[], x: f64[]) { return n = s + x, y = s * x }\n"
#define MORE "graph more(s: f64[], x: f64[]) { return n = s + x, y = s - x }\n"
#define STILL "graph step(s: f64[], k: f64[], x: f64[]) { return n = s * k + x, k1 = k }\n"
#define ECHO                                                                                       \
  "graph step(s: f64[], x: f64[], c: f64[]) {\n"                                                   \
  "  n = s * x + c\n  return n, before = s, after = n, row = x, same = c, two = 2:f64\n}\n"
#define ECHOED(options, operands)                                                                  \
  "  l, h, p, q, r, c, t = scan(" operands                                                         \
  "s, x, k, body = step, states = 1, sequences = 1" options ")"
#define ECHO_RESULTS "l = l, p = p, q = q, r = r, c = c, t = t"
/* A state that a row is handed on through, as for taps. */
#define TAP "graph step(p: f64[], s: f64[], x: f64[]) { return p1 = x, n = s + p * x }\n"
#define CROSSED "graph step(a: f64[], b: f64[]) { return a1 = tanh(b), b1 = tanh(a) }\n"
#define FIRST "  a, ah, ay = scan(s, x, body = step, states = 1, sequences = 1"
#define SECOND(initial, rows)                                                                      \
  "  b, bh, by = scan(" initial ", " rows ", body = step, states = 1, sequences = 1"
#define STOPS "graph until(s: f64[], x: f64[]) { n = s + x return n, stop = n > 1:f64 }\n"

static const pass_case cases[] = {
    /* what nobody reads */
    {"prune/unread",
     TWO G("a: f64[], b: f64[], x: f64[4]",
           "  la, lb, ha, hb, y = scan(a, b, x, body = step, states = 2, sequences = 1)",
           "la = la"),
     "1s 1x 0c 0y 1n", NULL},
    {"prune/indirect",
     CHAIN G(
         "a: f64[]",
         "  la, lb, lc, ld, ha, hb, hc, hd = scan(a, a, a, a, body = step, states = 4, length = 3)",
         "la = la"),
     "3s 0x 0c 0y 4n", NULL},
    {"prune/all",
     CHAIN G(
         "a: f64[]",
         "  la, lb, lc, ld, ha, hb, hc, hd = scan(a, a, a, a, body = step, states = 4, length = 3)",
         "ld = ld, hc = hc"),
     "4s 0x 0c 0y 5n", NULL},
    {"prune/last_sequence",
     "graph step(s: f64[], x: f64[]) { return n = s + s }\n" G(
         "s: f64[], x: f64[4]", "  l, h = scan(s, x, body = step, states = 1, sequences = 1)",
         "h = h"),
     "1s 0x 0c 0y 1n", NULL},
    {"prune/last_sequence_run_time",
     "graph step(s: f64[], x: f64[]) { return n = s + s }\n" G(
         "s: f64[]",
         "  n = cast(s * s * 0:f64, dtype = i64) + 3:i64\n  x = arange(n = n, dtype = f64)\n"
         "  l, h = scan(s, x, body = step, states = 1, sequences = 1)",
         "h = h"),
     "1s 0x 0c 0y 1n", NULL},
    /* a size that only an operand without readers tells */
    {"prune/size_kept",
     "graph step(s: f64[], x: f64[N]) { return n = s + sum(arange(n = N, dtype = f64)) }\n" G(
         "s: f64[], x: f64[M, N], like: f64[N]",
         "  l, h = scan(s, x, body = step, states = 1, sequences = 1)", "h = h, like = like"),
     "1s 1x 0c 0y 3n", NULL},
    /* what is equal */
    {"prune/equal_operands",
     "graph step(s: f64[], x: f64[], y: f64[], c: f64[], d: f64[]) { return n = s * c * d + x * y "
     "}\n" G("s: f64[], x: f64[4], c: f64[]",
             "  l, h = scan(s, x, x, c, c, body = step, states = 1, sequences = 2)", "l = l"),
     "1s 1x 1c 0y 4n", NULL},
    {"prune/equal_states",
     CROSSED G("a: f64[]", "  l, m, h, i = scan(a, a, body = step, states = 2, length = 4)",
               "l = l, m = m, i = i"),
     "1s 0x 0c 0y 1n", NULL},
    {"prune/unequal_states",
     CROSSED G("a: f64[], b: f64[]",
               "  l, m, h, i = scan(a, b, body = step, states = 2, length = 4)",
               "l = l, m = m, i = i"),
     "2s 0x 0c 0y 2n", NULL},
    /* constants */
    {"prune/moved",
     "graph step(s: f64[2], c: f64[2], d: f64[]) { return n = s * c + d }\n" G(
         "s: f64[2]",
         "  c = broadcast_to(0.5:f64, shape = [2])\n  l, h = scan(s, c, 3:f64, body = step, states "
         "= 1, length = 4)",
         "h = h"),
     "1s 0x 0c 0y 5n", NULL},
    {"prune/still",
     STILL G("s: f64[], k: f64[], x: f64[4]",
             "  l, m, h, i = scan(s, k, x, body = step, states = 2, sequences = 1)",
             "l = l, m = m, i = i"),
     "1s 1x 1c 0y 2n", "broadcast_to"},
    {"prune/still_limited",
     STILL G(
         "s: f64[], k: f64[], x: f64[4]",
         "  l, m, h, i = scan(2:i64, s, k, x, body = step, states = 2, sequences = 1, limited = 1)",
         "l = l, m = m, i = i"),
     "2s 1x 0c 0y 2n", ""},
    {"prune/still_limited_last",
     STILL G(
         "s: f64[], k: f64[], x: f64[4]",
         "  l, m, h, i = scan(2:i64, s, k, x, body = step, states = 2, sequences = 1, limited = 1)",
         "h = h, m = m"),
     "1s 1x 1c 0y 2n", ""},
    /* stacks of what is there */
    {"prune/views", ECHO G("s: f64[], x: f64[4], k: f64[]", ECHOED("", ""), ECHO_RESULTS),
     "1s 1x 1c 0y 2n", "subtensor subtensor broadcast_to broadcast_to"},
    {"prune/views_reverse",
     ECHO G("s: f64[], x: f64[4], k: f64[]", ECHOED(", reverse = 1", ""), ECHO_RESULTS),
     "1s 1x 1c 0y 2n", "subtensor subtensor broadcast_to broadcast_to"},
    {"prune/views_limited",
     ECHO G("s: f64[], x: f64[4], k: f64[]", ECHOED(", limited = 1", "2:i64, "), ECHO_RESULTS),
     "1s 1x 1c 4y 3n", "subtensor"},
    {"prune/views_limited_reverse",
     ECHO G("s: f64[], x: f64[4], k: f64[]", ECHOED(", limited = 1, reverse = 1", "2:i64, "),
            ECHO_RESULTS),
     "1s 1x 1c 4y 3n", "subtensor"},
    {"prune/views_truncated",
     ECHO G("s: f64[], x: f64[4], k: f64[]", ECHOED(", truncate = 2", ""), ECHO_RESULTS),
     "1s 1x 1c 3y 2n", "subtensor broadcast_to"},
    /* only last rows are read, behind views (Theano 1804, 3579) */
    {"prune/last_row",
     ADD G("s: f64[], x: f64[4]",
           FIRST ")\n  r = subtensor(ah, start = [4], size = [1])\n  z = dimshuffle(r, order = [])",
           "z = z"),
     "1s 1x 0c 0y 1n", "dimshuffle dimshuffle"},
    {"prune/last_row_of_rows",
     ADD G("s: f64[], x: f64[4]",
           FIRST ")\n  t = dimshuffle(ah, order = [-1, 0])\n  v = subtensor(t, start = [0, 1], "
                 "size = [1, 4])\n  r = subtensor(v, start = [0, 3], size = [1, 1])",
           "r = r"),
     "1s 1x 0c 0y 1n", "dimshuffle dimshuffle"},
    {"prune/last_row_reverse",
     ADD G("s: f64[], x: f64[4]",
           FIRST ", reverse = 1)\n  r = subtensor(ah, start = [0], size = [1])\n  q = "
                 "subtensor(ah, start = [4], size = [1])",
           "r = r, q = q"),
     "1s 1x 0c 0y 1n", "dimshuffle dimshuffle"},
    {"prune/last_row_limited",
     ADD G("s: f64[], x: f64[4]",
           "  a, ah, ay = scan(2:i64, s, x, body = step, states = 1, sequences = 1, limited = 1)\n "
           " r = subtensor(ah, start = [4], size = [1])",
           "r = r"),
     "1s 1x 0c 0y 1n", "subtensor"},
    {"prune/other_row",
     ADD G("s: f64[], x: f64[4]", FIRST ")\n  r = subtensor(ah, start = [3], size = [1])", "r = r"),
     "1s 1x 0c 0y 1n", "subtensor"},
    /* merged */
    {"merge/longer",
     NETWORK KEEPING G(NETWORK_INPUTS,
                       "  a, ah = scan(h, x, w, u, body = step, states = 1, sequences = 1)\n  b, "
                       "bh, z, d = scan(h, x, w, u, body = keep, states = 1, sequences = 1)",
                       "a = a, ah = ah, z = z, d = d"),
     "1s 1x 2c 2y 5n", ""},
    {"merge/crossed",
     CROSSED
     "graph more(b: f64[], a: f64[]) { t = tanh(a) return b1 = t, a1 = tanh(b), y = t * t }\n" G(
         "p: f64[], q: f64[]",
         "  a, b, ah, bh = scan(p, q, body = step, states = 2, length = 4)\n  c, d, ch, dh, y = "
         "scan(q, p, body = more, states = 2, length = 4)",
         "a = a, bh = bh, ch = ch, y = y"),
     "2s 0x 0c 1y 3n", ""},
    {"merge/other_rows",
     ADD G("s: f64[], x: f64[4], z: f64[4]", FIRST ")\n" SECOND("s", "z") ")", "a = a, by = by"),
     "2s 2x 0c 1y 3n", ""},
    {"merge/other_initial",
     ADD G("s: f64[], t: f64[], x: f64[4]", FIRST ")\n" SECOND("t", "x") ")", "ah = ah, bh = bh"),
     "2s 1x 0c 0y 2n", ""},
    {"merge/reverse",
     ADD G("s: f64[], x: f64[4]", FIRST ")\n" SECOND("s", "x") ", reverse = 1)", "a = a, b = b"),
     "1s 1x 0c 0y 1n, 1s 1x 0c 0y 1n", ""},
    {"merge/other_length",
     ADD G("s: f64[], x: f64[4], z: f64[3]", FIRST ")\n" SECOND("s", "z") ")", "a = a, b = b"),
     "1s 1x 0c 0y 1n, 1s 1x 0c 0y 1n", ""},
    {"merge/other_truncate",
     ADD G("s: f64[], x: f64[4]", FIRST ")\n" SECOND("s", "x") ", truncate = 1)", "a = a, b = b"),
     "1s 1x 0c 0y 1n, 1s 1x 0c 0y 1n", ""},
    {"merge/steps",
     ADD MORE G("n: u8[], s: f64[], x: f64[4]",
                "  k = cast(n % 5:u8, dtype = i64)\n  a, ah, ay = scan(k, s, x, body = step, "
                "states = 1, sequences = 1, limited = 1)\n  b, bh, by = scan(k, s, x, body = more, "
                "states = 1, sequences = 1, limited = 1)",
                "a = a, by = by"),
     "1s 1x 0c 1y 2n", ""},
    {"merge/other_steps",
     ADD G("s: f64[], x: f64[4]",
           "  a, ah, ay = scan(2:i64, s, x, body = step, states = 1, sequences = 1, limited = 1)\n "
           " b, bh, by = scan(3:i64, s, x, body = step, states = 1, sequences = 1, limited = 1)",
           "a = a, b = b"),
     "1s 1x 0c 0y 1n, 1s 1x 0c 0y 1n", ""},
    /* another condition (PyTensor 509), one that feeds the other (2221), states that hand rows on
       (2252, Theano 1506) */
    {"merge/until",
     ADD STOPS G("s: f64[], x: f64[4]",
                 FIRST
                 ")\n  b, bh, n = scan(s, x, body = until, states = 1, sequences = 1, until = 1)",
                 "a = a, bh = bh, n = n"),
     "1s 1x 0c 0y 1n, 1s 1x 0c 0y 3n", ""},
    {"merge/feeds",
     ADD G("s: f64[], x: f64[4]", FIRST ")\n" SECOND("a", "x") ")", "ah = ah, b = b"),
     "1s 1x 0c 0y 1n, 1s 1x 0c 0y 1n", ""},
    {"merge/feeds_by_rows",
     ADD G("s: f64[], x: f64[4]",
           FIRST ")\n" SECOND(
               "s", "ay") ")\n  c, ch, cy = scan(s, x, body = step, states = 1, sequences = 1)",
           "a = a, b = b, c = c"),
     "1s 1x 0c 1y 2n, 1s 1x 0c 0y 1n", ""},
    {"merge/taps",
     TAP G("p: f64[], x: f64[4], z: f64[4]",
           "  a, b, ah, bh = scan(p, p, x, body = step, states = 2, sequences = 1)\n  c, d, ch, dh "
           "= scan(p, p, z, body = step, states = 2, sequences = 1)",
           "a = a, bh = bh, c = c, dh = dh"),
     "4s 2x 0c 0y 4n", ""},
    {"merge/same_taps",
     TAP G("p: f64[], x: f64[4]",
           "  a, b, ah, bh = scan(p, p, x, body = step, states = 2, sequences = 1)\n  c, d, ch, dh "
           "= scan(p, p, x, body = step, states = 2, sequences = 1, recompute = 1)",
           "a = a, bh = bh, c = c, dh = dh"),
     "2s 1x 0c 0y 2n, 2s 1x 0c 0y 2n", ""}};

/* By scan_unroll alone; of views there are more. */
#define SHORT(rows, options)                                                                       \
  ADD G("s: f64[], x: f64[" rows "]",                                                              \
        "  l, h, y = scan(s, x, body = step, states = 1, sequences = 1" options ")",               \
        "l = l, h = h, y = y")

static const pass_case short_loops[] = {
    {"unroll/no_step", SHORT("0", ""), "", NULL},
    {"unroll/one_step", SHORT("1", ""), "", NULL},
    {"unroll/four_steps", SHORT("4", ""), "", NULL},
    {"unroll/reverse", SHORT("3", ", reverse = 1"), "", NULL},
    {"unroll/five_steps", SHORT("5", ""), "1s 1x 0c 1y 2n", NULL},
    {"unroll/many", SHORT("T", ""), "1s 1x 0c 1y 2n", NULL},
    {"unroll/truncated", SHORT("2", ", truncate = 1"), "1s 1x 0c 1y 2n", NULL},
    {"unroll/until_of_one_step",
     STOPS G("s: f64[], x: f64[1]",
             "  l, h, n = scan(s, x, body = until, states = 1, sequences = 1, until = 1)",
             "l = l, h = h, n = n"),
     "", NULL},
    {"unroll/until",
     STOPS G("s: f64[], x: f64[2]",
             "  l, h, n = scan(s, x, body = until, states = 1, sequences = 1, until = 1)",
             "l = l, h = h, n = n"),
     "1s 1x 0c 0y 3n", NULL},
    {"unroll/nested",
     ADD "graph outer(s: f64[], x: f64[2]) {\n"
         "  l, h, y = scan(s, x, body = step, states = 1, sequences = 1)\n  return l, y\n}\n" G(
             "s: f64[], x: f64[7, 2]",
             "  l, h, y = scan(s, x, body = outer, states = 1, sequences = 1)", "h = h, y = y"),
     "1s 1x 0c 1y 11n", NULL}};

/* ---- What a graph is ---- */

static int64_t number_of(gemel_value loop, const char *name) {
  gemel_attr attr;
  return gemel_value_attr(loop, name, &attr) == GEMEL_OK ? attr.u.i : 0;
}

static void append(char *text, size_t room, const char *separator, const char *more) {
  size_t used = strlen(text);
  snprintf(text + used, room - used, "%s%s", used > 0 ? separator : "", more);
}

static void describe(const gemel_graph *graph, char *loops, char *views, size_t room) {
  loops[0] = views[0] = '\0';
  for (size_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_value v = {(gemel_graph *)graph, (uint32_t)k, 0};
    const char *name = gemel_value_operation(v);
    gemel_attr body;
    char one[80];
    if (gemel_operation_find(gemel_graph_context(graph), name)->flags & GEMEL_OP_VIEW) {
      append(views, room, " ", name);
    }
    if (strcmp(name, "scan") != 0 || gemel_value_attr(v, "body", &body) != GEMEL_OK) {
      continue;
    }
    size_t inputs = gemel_graph_input_count(body.u.graph);
    size_t states = (size_t)number_of(v, "states"), rows = (size_t)number_of(v, "sequences");
    size_t stacks = gemel_graph_output_count(body.u.graph) - states - (size_t)number_of(v, "until");
    snprintf(one, sizeof one, "%zus %zux %zuc %zuy %zun", states, rows, inputs - states - rows,
             stacks, gemel_graph_node_count(body.u.graph) - inputs);
    append(loops, room, ", ", one);
  }
}

/* ---- Values ---- */

static gemel_tensor *random_input(const gemel_graph *graph, size_t k) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
  int64_t shape[GEMEL_MAX_RANK], size;
  int rank = gemel_type_rank(context, type);
  for (int axis = 0; axis < rank; axis++) { /* a symbol is 3 */
    const gemel_dim *dims = gemel_type_dims(context, type);
    shape[axis] = gemel_dim_is_constant(context, dims[axis], &size) ? size : 3;
  }
  gemel_tensor *tensor = gemel_tensor_new(gemel_type_dtype(context, type), rank, shape, NULL);
  size_t n = (size_t)gemel_tensor_elements(tensor);
  for (size_t e = 0; e < n; e++) {
    double number = (double)(bits64() >> 40) / (1 << 23) - 1;
    if (gemel_type_dtype(context, type) == GEMEL_F64) {
      ((double *)gemel_tensor_data(tensor))[e] = number;
    } else { /* u8 */
      ((unsigned char *)gemel_tensor_data(tensor))[e] = (unsigned char)bits64();
    }
  }
  return tensor;
}

static void evaluate(const gemel_graph *graph, gemel_tensor *const *in, gemel_tensor **out) {
  gemel_options options = {.size = sizeof options, .as_written = 1};
  gemel_error error = {0};
  gemel_function *function = gemel_compile(graph, &options, &error);
  CT_EQ_STR(error.text, "");
  gemel_call(function, gemel_graph_input_count(graph), in, gemel_graph_output_count(graph), out,
             &error);
  CT_EQ_STR(error.text, "");
  gemel_function_free(function);
}

/* Both graphs give the same bits. */
static void same_values(const gemel_graph *a, const gemel_graph *b) {
  gemel_tensor *in[MOST_PORTS], *out[2][MOST_PORTS] = {{NULL}};
  size_t n_in = gemel_graph_input_count(a), n_out = gemel_graph_output_count(a);
  for (size_t k = 0; k < n_in; k++) {
    in[k] = random_input(a, k);
  }
  evaluate(a, in, out[0]);
  evaluate(b, in, out[1]);
  for (size_t k = 0; k < n_out; k++) {
    if (CT_CHECK(out[0][k] != NULL && out[1][k] != NULL)) {
      size_t bytes = gemel_dtype_size(gemel_tensor_dtype(out[0][k])) *
                     (size_t)gemel_tensor_elements(out[0][k]);
      CT_CHECK(memcmp(gemel_tensor_data(out[0][k]), gemel_tensor_data(out[1][k]), bytes) == 0);
    }
    gemel_tensor_unref(out[0][k]);
    gemel_tensor_unref(out[1][k]);
  }
  for (size_t k = 0; k < n_in; k++) {
    gemel_tensor_unref(in[k]);
  }
}

/* Sums and products stay in their loops, which are told apart by what they compute. */
static gemel_graph *rewrite(const gemel_graph *graph, const char *include, gemel_error *error) {
  gemel_rewrite_options options = {.size = sizeof options,
                                   .include = include,
                                   .exclude =
                                       strcmp(include, "loop") == 0 ? "memory,scan_unroll" : ""};
  return gemel_rewrite(graph, &options, error);
}

/* The case C for the passes INCLUDE; with AGAIN they leave alone what they have made. */
static void holds_by(const pass_case *c, const char *include, int again) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, c->text);
  gemel_error error = {0};
  CT_REQUIRE(graph != NULL);
  gemel_graph *once = rewrite(graph, include, &error), *twice = NULL;
  CT_EQ_STR(error.text, "");
  if (CT_CHECK(once != NULL)) {
    char loops[400], views[400];
    describe(once, loops, views, sizeof loops);
    CT_EQ_STR(loops, c->loops);
    CT_EQ_STR(views, c->views != NULL ? c->views : views);
    if (again) {
      twice = rewrite(once, include, &error);
      same_text(once, twice);
    }
    same_values(graph, once);
  }
  gemel_graph_unref(twice);
  gemel_graph_unref(once);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void holds(const void *data) {
  holds_by(data, "loop", 1);
}

static void unrolled(const void *data) {
  holds_by(data, "scan_unroll", 0);
}

/* ---- Gradients ---- */

/* Of the last state by a weight: the loop forward, which also keeps what the one back reads, and
 * that. */
static void of_gradient(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, data);
  gemel_error error = {0};
  gemel_value last = gemel_graph_output(graph, 0), weight = gemel_graph_input(graph, 3);
  gemel_output(gemel_gradient(gemel_sum(last), weight), "du");
  gemel_graph *once = rewrite(graph, "loop", &error);
  CT_EQ_STR(error.text, "");
  if (CT_CHECK(once != NULL)) {
    char loops[400], views[400];
    describe(graph, loops, views, sizeof loops);
    CT_EQ_STR(loops, "1s 1x 2c 0y 10n, 1s 1x 2c 2y 10n, 2s 3x 1c 0y 24n");
    describe(once, loops, views, sizeof loops);
    CT_EQ_STR(loops, "1s 1x 2c 2y 10n, 2s 3x 1c 0y 24n");
    same_values(graph, once);
  }
  gemel_graph_unref(once);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Time and memory ---- */

/* COUNT loops, each of which adds what the one before it came to if IN_A_ROW; the time it takes to
 * rewrite them. */
static double rewrite_many(size_t count, int in_a_row) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  int64_t rows[] = {4};
  gemel_value x = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F64, 1, rows));
  gemel_value all = gemel_scalar(graph, GEMEL_F64, 0);
  gemel_error error = {0};
  for (size_t k = 0; k < count; k++) {
    gemel_loop *loop = gemel_loop_begin(graph, &error);
    gemel_value initial =
        in_a_row ? all : gemel_size(graph, gemel_dim_constant(context, (int64_t)k));
    gemel_value s = gemel_loop_state(loop, gemel_cast(initial, GEMEL_F64));
    gemel_value row = gemel_loop_row(loop, x);
    gemel_loop_next(loop, s, gemel_mul(s, row));
    gemel_loop_stack(loop, gemel_add(s, row));
    gemel_loop_end(loop);
    all = gemel_add(all, gemel_loop_last(loop, s));
    gemel_loop_free(loop);
  }
  gemel_output(all, "all");
  clock_t start = clock();
  gemel_graph *result = rewrite(graph, "loop", &error);
  double took = (double)(clock() - start) / CLOCKS_PER_SEC;
  CT_EQ_STR(error.text, "");
  size_t loops = 0;
  for (size_t k = 0; k < gemel_graph_node_count(result); k++) {
    loops += strcmp(gemel_value_operation((gemel_value){result, (uint32_t)k, 0}), "scan") == 0;
  }
  CT_EQ_UINT(loops, in_a_row ? count : 1);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return took;
}

/* Ten times as many loops take ten times as long. */
static void *many_on_thread(void *data) {
  size_t count = getenv("GEMEL_VALGRIND") != NULL ? 5 : 150;
  (void)data;
  for (int in_a_row = 0; in_a_row < 2; in_a_row++) {
    double small = rewrite_many(count, in_a_row), large = rewrite_many(10 * count, in_a_row);
    ct_context("in a row %d: %g s, %g s", in_a_row, small, large);
    CT_CHECK(count < 150 || large < 40 * small);
  }
  return NULL;
}

static void many(const void *data) {
  on_small_stack(many_on_thread, data);
}

/* The passes alone: gemel_rewrite would read all rules first, in each of a thousand runs. */
static int rewrite_in_little_memory(void *data) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph =
      context != NULL ? gemel_parse(context, data, strlen(data), "t", NULL, &error) : NULL;
  const gemel_pass *pass = NULL;
  for (size_t k = 0; graph != NULL && (pass = gemel_pass_at(context, k)) != NULL; k++) {
    gemel__pass_run run = {0};
    if (error.status == GEMEL_OK && strcmp(pass->tags[0], "loop") == 0) {
      gemel__pass_apply(pass, &graph, &run, &error);
    }
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return error.status;
}

#define LITTLE                                                                                     \
  "graph step(s: f64[], k: f64[], x: f64[N], c: f64[]) {\n"                                        \
  "  return n = s * c + sum(x), k = k, y = x, t = s, u = x * 2:f64\n}\n" G(                        \
      "s: f64[], x: f64[T, N]",                                                                    \
      "  l, m, h, i, y, t, u = scan(s, s, x, 3:f64, body = step, states = 2, sequences = 1)\n"     \
      "  p, q, v, w, z, a, b = scan(s, s, x, s, body = step, states = 2, sequences = 1)\n"         \
      "  r = subtensor(h, start = [T], size = [1])",                                               \
      "r = r, m = m, i = i, y = y, t = t, w = w, b = b")

static void memory(const void *data) {
  CT_CHECK(ct_oom(rewrite_in_little_memory, (void *)data) > 50);
}

/* A rule makes a loop's body read no row any more, behind the pass that drops what nobody reads. */
static void freed_by_rules(const void *data) {
  static const char text[] =
      "graph step(s: f64, x: f64) { return n = tanh(s + where(x - x > 0:f64, x, 1:f64)) }\n"
      "graph g(s: f64, x: f64[9]) {\n"
      "  l, h = scan(s, x, body = step, states = 1, sequences = 1)\n  return h = h\n}\n";
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "g", NULL, &error);
  gemel_graph *result = gemel_rewrite(graph, NULL, &error);
  (void)data;
  CT_EQ_STR(error.text, "");
  gemel_value history = gemel_graph_output(result, 0);
  CT_EQ_STR(gemel_value_operation(history), "scan");
  CT_EQ_UINT(gemel_value_input_count(history), 1);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static const ct_test tests[] = {
    CT_TEST("gradient", of_gradient,
            GATED G(NETWORK_INPUTS,
                    "  a, ah = scan(h, x, w, u, body = step, states = 1, sequences = 1)", "a = a")),
    CT_TEST("freed_by_rules", freed_by_rules, NULL), CT_TEST("many", many, NULL),
    CT_TEST("memory", memory, LITTLE)};

void ct_register(void) {
  ct_suite("scan_passes", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    CT_ADD("scan_passes", cases[k].name, holds, &cases[k]);
  }
  for (size_t k = 0; k < CT_COUNT(short_loops); k++) {
    CT_ADD("scan_passes", short_loops[k].name, unrolled, &short_loops[k]);
  }
}
