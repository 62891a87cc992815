/*
 * Derivatives of loops against closed forms and against the unrolled graph, to the fourth order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/slopes.h"

#define PRODUCT "graph step(s: f64[], x: f64[]) { return n = s * x }\n"
/* A loop over x with the body above it, whose last state and history make up the loss. */
#define LOSS(rows, options, loss)                                                                  \
  "graph g(s: f64[], x: f64[" rows "]) {\n"                                                        \
  "  last, all = scan(s, x, body = step, states = 1, sequences = 1" options ")\n"                  \
  "  return loss = " loss "\n"                                                                     \
  "}\n"
#define WEIGHTED(rows, more, options)                                                              \
  "graph g(s: f64[], x: f64[" rows "], w: f64[" more "]) {\n"                                      \
  "  last, all = scan(s, x, body = step, states = 1, sequences = 1" options ")\n"                  \
  "  return loss = sum(all * w)\n"                                                                 \
  "}\n"
#define LIMITED(options, loss)                                                                     \
  "graph g(n: i64[], s: f64[], x: f64[4], w: f64[5]) {\n"                                          \
  "  last, all = scan(n, s, x, body = step, states = 1, sequences = 1, limited = 1" options ")\n"  \
  "  return loss = " loss "\n"                                                                     \
  "}\n"
#define UNTIL(loss)                                                                                \
  "graph step(s: f64[], x: f64[]) { n = s * x return n, stop = n > 40 }\n"                         \
  "graph g(s: f64[], x: f64[4], w: f64[5]) {\n"                                                    \
  "  last, all, count = scan(s, x, body = step, states = 1, sequences = 1, until = 1)\n"           \
  "  return loss = " loss "\n"                                                                     \
  "}\n"
#define NETWORK(dtype, name, function)                                                             \
  "graph step(h: " dtype "[2, 2], x: " dtype "[2, 3], w: " dtype "[3, 2], u: " dtype               \
  "[2, 2], b: " dtype "[2]) {\n"                                                                   \
  "  return next = " function "(dot(x, w) + dot(h, u) + b)\n"                                      \
  "}\n"                                                                                            \
  "graph g(x: " dtype "[4, 2, 3], h: " dtype "[2, 2], w: " dtype "[3, 2], u: " dtype               \
  "[2, 2], b: " dtype "[2]) {\n"                                                                   \
  "  last, all = scan(h, x, w, u, b, body = step, states = 1, sequences = 1)\n"                    \
  "  return loss = sum(sqr(subtensor(all, start = [1, 0, 0], size = [4, 2, 2]))) + sum(last)\n"    \
  "}\n"

static const grad_case cases[] = {
    SLOPES("last/sum",
           "graph step(s: f64[], x: f64[], c: f64[]) { return n = s + x * c }\n"
           "graph g(s: f64[], x: f64[3], c: f64[]) {\n"
           "  last, all = scan(s, x, c, body = step, states = 1, sequences = 1)\n"
           "  return loss = last\n"
           "}\n",
           VALUES("f64[] 7", "f64[3] 2 3 5", "f64[] 10"), "f64[] 1", "f64[3] 10 10 10", "f64[] 10"),
    SLOPES("last/product", PRODUCT LOSS("3", "", "last"), VALUES("f64[] 7", "f64[3] 2 3 5"),
           "f64[] 30", "f64[3] 105 70 42"),
    SLOPES("last/one_row", PRODUCT LOSS("1", "", "last"), VALUES("f64[] 7", "f64[1] 2"), "f64[] 2",
           "f64[1] 7"),
    SLOPES("history", PRODUCT WEIGHTED("3", "4", ""),
           VALUES("f64[] 7", "f64[3] 2 3 5", "f64[4] 1 10 100 1000"), "f64[] 30621",
           "f64[3] 107170 71400 42000", "f64[4] 7 14 42 210"),
    SLOPES("history/first_row",
           PRODUCT LOSS("3", "", "3 * sum(subtensor(all, start = [0], size = [1]))"),
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 3", "f64[3] 0 0 0"),
    SLOPES("history/one_row", PRODUCT LOSS("3", "", "sum(subtensor(all, start = [2], size = [1]))"),
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 6", "f64[3] 21 14 0"),
    SLOPES("theano-3579/last_row_behind_views",
           PRODUCT LOSS("3", "",
                        "sum(dimshuffle(subtensor(reverse(all, axes = [0]), start = [0],\n"
                        "    size = [1]), order = [-1, 0]))"),
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 30", "f64[3] 105 70 42"),
    SLOPES("history/and_last", PRODUCT LOSS("3", "", "2 * last + sum(sqr(all))"),
           VALUES("f64[] 1", "f64[3] 2 1 2"), "f64[] 58", "f64[3] 28 48 20"),
    SLOPES("stack",
           "graph step(s: f64[], x: f64[], c: f64[]) { return n = s + x, y = s * x + c }\n"
           "graph g(s: f64[], x: f64[3], c: f64[], w: f64[3]) {\n"
           "  last, all, y = scan(s, x, c, body = step, states = 1, sequences = 1)\n"
           "  return loss = sum(y * w)\n"
           "}\n",
           VALUES("f64[] 7", "f64[3] 2 3 5", "f64[] 1", "f64[3] 1 10 100"), "f64[] 532",
           "f64[3] 537 590 1200", "f64[] 111", "f64[3] 15 28 61"),
    SLOPES("stack/some_rows",
           "graph step(s: f64[], x: f64[]) { return n = s * x, y = s * x }\n"
           "graph g(s: f64[], x: f64[3]) {\n"
           "  last, all, y = scan(s, x, body = step, states = 1, sequences = 1)\n"
           "  return loss = sum(subtensor(y, start = [1], size = [1]))\n"
           "}\n",
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 6", "f64[3] 21 14 0"),
    SLOPES("jax-753/map",
           "graph step(x: f64[2], c: f64[]) { return y = x * x * c }\n"
           "graph g(x: f64[3, 2], c: f64[]) {\n"
           "  y = scan(x, c, body = step, sequences = 1)\n"
           "  return loss = sum(y)\n"
           "}\n",
           VALUES("f64[3, 2] 1 2 3 4 5 6", "f64[] 10"), "f64[3, 2] 20 40 60 80 100 120",
           "f64[] 91"),
    /* Three results, of which one counts. */
    SLOPES("pytensor-2067/unused_results",
           "graph step(s: f64[], t: f64[], x: f64[], c: f64[]) {\n"
           "  return n = s * x, m = t * c, y = s + t, z = t * x * c\n"
           "}\n"
           "graph g(s: f64[], t: f64[], x: f64[3], c: f64[]) {\n"
           "  ls, lt, hs, ht, y, z = scan(s, t, x, c, body = step, states = 2, sequences = 1)\n"
           "  return loss = ls\n"
           "}\n",
           VALUES("f64[] 7", "f64[] 11", "f64[3] 2 3 5", "f64[] 4"), "f64[] 30", "f64[] 0",
           "f64[3] 105 70 42", "f64[] 0"),
    SLOPES("unused_operands",
           "graph step(s: f64[], x: f64[], c: f64[]) {\n"
           "  return n = s + 1, k = cast(c, dtype = i64)\n"
           "}\n"
           "graph g(s: f64[], x: f64[3], c: f64[]) {\n"
           "  last, all, k = scan(s, x, c, body = step, states = 1, sequences = 1)\n"
           "  return loss = sqr(last) + cast(sum(k), dtype = f64)\n"
           "}\n",
           VALUES("f64[] 7", "f64[3] 2 3 5", "f64[] 4"), "f64[] 20", "f64[3] 0 0 0", "f64[] 0"),
    /* What overflows next to it leaves no NaN. */
    SLOPES_OF("jax-4853/dead_state",
              "graph step(s: f64[], t: f64[], x: f64[]) {\n"
              "  return n = s * x, m = t * t - s * 1e308\n"
              "}\n"
              "graph g(s: f64[], t: f64[], x: f64[3]) {\n"
              "  ls, lt, hs, ht = scan(s, t, x, body = step, states = 2, sequences = 1)\n"
              "  return loss = ls\n"
              "}\n",
              ALONE, 0, VALUES("f64[] 7", "f64[] 1e200", "f64[3] 2 3 5"), "f64[] 30", "f64[] 0",
              "f64[3] 105 70 42"),
    SLOPES("jax-1082/through_another",
           "graph step(a: f64[], b: f64[], x: f64[]) { return n = a * x, m = b + a }\n"
           "graph g(a: f64[], b: f64[], x: f64[3]) {\n"
           "  la, lb, ha, hb = scan(a, b, x, body = step, states = 2, sequences = 1)\n"
           "  return loss = lb\n"
           "}\n",
           VALUES("f64[] 7", "f64[] 1", "f64[3] 2 3 5"), "f64[] 9", "f64[] 1", "f64[3] 28 14 0"),
    SLOPES("jax-9567/through_two_others",
           "graph step(c: f64[], b: f64[], a: f64[], x: f64[]) {\n"
           "  return c1 = c + b * b, b1 = b + a * x, a1 = a\n"
           "}\n"
           "graph g(c: f64[], b: f64[], a: f64[], x: f64[4]) {\n"
           "  lc, lb, la, hc, hb, ha = scan(c, b, a, x, body = step, states = 3, sequences = 1)\n"
           "  return loss = lc\n"
           "}\n",
           VALUES("f64[] 1", "f64[] 2", "f64[] 3", "f64[4] 1 0 2 5"), "f64[] 1", "f64[] 46",
           "f64[] 86", "f64[4] 126 96 66 0"),
    SLOPES("integers_beside",
           "graph step(i: i64[], s: f64[], x: f64[]) {\n"
           "  return i1 = i + 1, n = s * cast(i, dtype = f64) + x\n"
           "}\n"
           "graph g(s: f64[], x: f64[3], i: i64[]) {\n"
           "  li, last, hi, all = scan(i, s, x, body = step, states = 2, sequences = 1)\n"
           "  return loss = last\n"
           "}\n",
           VALUES("f64[] 7", "f64[3] 1 1 1", "i64[] 1"), "f64[] 6", "f64[3] 6 3 1"),
    /* A cast to integers has no derivative, and a state of them lies between. */
    SLOPES("integers_between",
           "graph step(i: i64[], s: f64[], x: f64[]) {\n"
           "  return i1 = cast(s, dtype = i64), n = s * x + cast(i, dtype = f64)\n"
           "}\n"
           "graph g(i: i64[], s: f64[], x: f64[2]) {\n"
           "  li, last, hi, all = scan(i, s, x, body = step, states = 2, sequences = 1)\n"
           "  return loss = last + cast(li, dtype = f64)\n"
           "}\n",
           VALUES("i64[] 1", "f64[] 2", "f64[2] 3 2"), NULL, "f64[] 6", "f64[2] 4 7"),
    /* Matrices whose product depends on the order. */
    SLOPES("axon-644/matrices",
           "graph step(s: f64[2], r: f64[2, 2]) { return n = dot(r, s) }\n"
           "graph g(s: f64[2], r: f64[2, 2, 2], w: f64[2]) {\n"
           "  last, all = scan(s, r, body = step, states = 1, sequences = 1)\n"
           "  return loss = sum(last * w)\n"
           "}\n",
           VALUES("f64[2] 1 1", "f64[2, 2, 2] 1 2 3 4 0 1 -1 2", "f64[2] 1 10"), "f64[2] 53 64",
           "f64[2, 2, 2] -10 -10 21 21 3 7 30 70", "f64[2] 7 11"),
    SLOPES("axon-644/matrices_reverse",
           "graph step(s: f64[2], r: f64[2, 2]) { return n = dot(r, s) }\n"
           "graph g(s: f64[2], r: f64[2, 2, 2], w: f64[2]) {\n"
           "  last, all = scan(s, r, body = step, states = 1, sequences = 1, reverse = 1)\n"
           "  return loss = sum(last * w)\n"
           "}\n",
           VALUES("f64[2] 1 1", "f64[2, 2, 2] 0 1 -1 2 1 2 3 4", "f64[2] 1 10"), "f64[2] 53 64",
           "f64[2, 2, 2] 3 7 30 70 -10 -10 21 21", "f64[2] 7 11"),
    SLOPES("reverse", PRODUCT WEIGHTED("3", "4", ", reverse = 1"),
           VALUES("f64[] 7", "f64[3] 2 3 5", "f64[4] 1 10 100 1000"), "f64[] 1680",
           "f64[3] 105 420 952", "f64[4] 210 105 35 7"),
    SLOPES("reverse/last", PRODUCT LOSS("3", ", reverse = 1", "last"),
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 30", "f64[3] 105 70 42"),
    SLOPES_OF("theano-5439/until_history", UNTIL("sum(all * w)"), 2, 0,
              VALUES("f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), "f64[] 621",
              "f64[4] 2170 1400 0 0", "f64[5] 7 14 42 0 0"),
    SLOPES_OF("theano-5439/until_last", UNTIL("last + 0 * sum(w)"), 2, 0,
              VALUES("f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), "f64[] 6",
              "f64[4] 21 14 0 0", "f64[5] 0 0 0 0 0"),
    SLOPES_OF("until/at_once", UNTIL("last + sum(all * w)"), 1, 0,
              VALUES("f64[] 50", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), "f64[] 23",
              "f64[4] 550 0 0 0", "f64[5] 50 100 0 0 0"),
    SLOPES_OF("until/never", UNTIL("last + sum(all * w)"), 4, 0,
              VALUES("f64[] 1", "f64[4] 2 1 2 1", "f64[5] 1 10 100 1000 10000"), "?", "?", "?"),
    SLOPES_OF("pytensor-2217/until_stack",
              "graph step(s: f64[], x: f64[], c: f64[]) {\n"
              "  n = s * x + c\n"
              "  return n, y = s * n, stop = n > 40\n"
              "}\n"
              "graph g(s: f64[], x: f64[4], c: f64[]) {\n"
              "  last, all, y, count = scan(s, x, c, body = step, states = 1, sequences = 1,\n"
              "                             until = 1)\n"
              "  return loss = sum(y)\n"
              "}\n",
              2, 0, VALUES("f64[] 7", "f64[4] 2 3 5 7", "f64[] 1"), "f64[] 211",
              "f64[4] 686 225 0 0", "f64[] 113"),
    SLOPES_OF("limited", PRODUCT LIMITED("", "sum(all * w)"), 0, 2,
              VALUES("i64[] 2", "f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), NULL,
              "f64[] 621", "f64[4] 2170 1400 0 0", "f64[5] 7 14 42 0 0"),
    SLOPES_OF("limited/reverse", PRODUCT LIMITED(", reverse = 1", "sum(all * w)"), 0, 2,
              VALUES("i64[] 2", "f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), NULL,
              "f64[] 136", "f64[4] 21 84 0 0", "f64[5] 42 21 7 0 0"),
    SLOPES_OF("limited/0", PRODUCT LIMITED("", "last + sum(all * w)"), 0, 0,
              VALUES("i64[] 0", "f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), NULL,
              "f64[] 2", "f64[4] 0 0 0 0", "f64[5] 7 0 0 0 0"),
    SLOPES_OF("limited/all", PRODUCT LIMITED("", "last + sum(all * w)"), 0, 4,
              VALUES("i64[] 4", "f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), NULL,
              "?", "?", "?"),
    SLOPES("theano-1455/no_rows",
           "graph step(s: f64[], x: f64[], c: f64[]) { return n = s * x, y = s * c }\n"
           "graph g(s: f64[], x: f64[0], c: f64[]) {\n"
           "  last, all, y = scan(s, x, c, body = step, states = 1, sequences = 1)\n"
           "  return loss = 3 * last + sum(all) + sum(y)\n"
           "}\n",
           VALUES("f64[] 7", "f64[0]", "f64[] 5"), "f64[] 4", "f64[0]", "f64[] 0"),
    SLOPES("theano-1455/no_rows_reverse",
           PRODUCT LOSS("0", ", reverse = 1", "3 * last + 5 * sum(all)"),
           VALUES("f64[] 7", "f64[0]"), "f64[] 8", "f64[0]"),
    SLOPES("constant/twice",
           "graph step(s: f64[], c: f64[], d: f64[]) { return n = s * c + d }\n"
           "graph g(s: f64[], c: f64[]) {\n"
           "  last, all = scan(s, c, c, body = step, states = 1, length = 2)\n"
           "  return loss = last\n"
           "}\n",
           VALUES("f64[] 7", "f64[] 3"), "f64[] 9", "f64[] 49"),
    SLOPES("constant/and_initial",
           "graph step(s: f64[], c: f64[]) { return n = s * c }\n"
           "graph g(x: f64[]) {\n"
           "  last, all = scan(x, x, body = step, states = 1, length = 3)\n"
           "  return loss = last\n"
           "}\n",
           VALUES("f64[] 2"), "f64[] 32"),
    SLOPES("constant/and_sequence",
           "graph step(s: f64[], x: f64[], c: f64[2]) { return n = s * x + sum(c) * s }\n"
           "graph g(x: f64[2]) {\n"
           "  last, all = scan(1:f64, x, x, body = step, states = 1, sequences = 1)\n"
           "  return loss = last\n"
           "}\n",
           VALUES("f64[2] 2 3"), "f64[2] 23 22"),
    SLOPES("sequence/twice",
           "graph step(s: f64[], x: f64[], y: f64[]) { return n = s + x * y }\n"
           "graph g(x: f64[3]) {\n"
           "  last, all = scan(0:f64, x, x, body = step, states = 1, sequences = 2)\n"
           "  return loss = last\n"
           "}\n",
           VALUES("f64[3] 2 3 5"), "f64[3] 4 6 10"),
    SLOPES(
        "sequence/taps",
        "graph step(x: f64[], y: f64[]) { return z = x * y }\n"
        "graph g(x: f64[4]) {\n"
        "  z = scan(subtensor(x, start = [0], size = [3]), subtensor(x, start = [1], size = [3]),\n"
        "           body = step, sequences = 2)\n"
        "  return loss = sum(z)\n"
        "}\n",
        VALUES("f64[4] 2 3 5 7"), "f64[4] 3 7 10 5"),
    SLOPES("echo/state",
           "graph step(s: f64[], x: f64[]) { return n = s, y = s * x }\n"
           "graph g(s: f64[], x: f64[3]) {\n"
           "  last, all, y = scan(s, x, body = step, states = 1, sequences = 1)\n"
           "  return loss = last + sum(y) + sum(all)\n"
           "}\n",
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 15", "f64[3] 7 7 7"),
    SLOPES("echo/row",
           "graph step(s: f64[], x: f64[]) { return n = x, y = x }\n"
           "graph g(s: f64[], x: f64[3]) {\n"
           "  last, all, y = scan(s, x, body = step, states = 1, sequences = 1)\n"
           "  return loss = 3 * last + sum(all) + 10 * sum(y)\n"
           "}\n",
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 1", "f64[3] 11 11 14"),
    SLOPES("echo/constant",
           "graph step(s: f64[], c: f64[]) { return n = c, y = c }\n"
           "graph g(s: f64[], c: f64[]) {\n"
           "  last, all, y = scan(s, c, body = step, states = 1, length = 3)\n"
           "  return loss = 3 * last + sum(all) + 10 * sum(y)\n"
           "}\n",
           VALUES("f64[] 7", "f64[] 2"), "f64[] 1", "f64[] 36"),
    SLOPES("swap",
           "graph step(a: f64[], b: f64[]) { return n = b, m = a }\n"
           "graph g(a: f64[], b: f64[]) {\n"
           "  la, lb, ha, hb = scan(a, b, body = step, states = 2, length = 3)\n"
           "  return loss = 10 * la + lb + 100 * sum(ha)\n"
           "}\n",
           VALUES("f64[] 7", "f64[] 2"), "f64[] 201", "f64[] 210"),
    SLOPES("theano-2594/taps",
           "graph step(b: f64[], a: f64[]) { return b1 = a, a1 = a * b }\n"
           "graph g(a: f64[], b: f64[]) {\n"
           "  lb, la, hb, ha = scan(b, a, body = step, states = 2, length = 3)\n"
           "  return loss = la\n"
           "}\n",
           VALUES("f64[] 2", "f64[] 3"), "f64[] 108", "f64[] 48"),
    SLOPES("theano-702/far_tap",
           "graph step(c: f64[], b: f64[], a: f64[], x: f64[]) {\n"
           "  return c1 = b, b1 = a, a1 = c * x\n"
           "}\n"
           "graph g(s: f64[3], x: f64[4]) {\n"
           "  c, b, a = split(s, sizes = [1, 1, 1])\n"
           "  lc, lb, la, hc, hb, ha = scan(reshape(c, shape = []), reshape(b, shape = []),\n"
           "      reshape(a, shape = []), x, body = step, states = 3, sequences = 1)\n"
           "  return loss = la + 10 * lb\n"
           "}\n",
           VALUES("f64[3] 2 3 5", "f64[4] 7 11 13 17"), "f64[3] 119 0 130", "f64[4] 34 0 50 14"),
    SLOPES(
        "ragged",
        "graph step(s: f64[2], x: f64[2], there: bool[2]) { return n = where(there, s * x, s) }\n"
        "graph g(s: f64[2], x: f64[3, 2], n: i64[2]) {\n"
        "  t = dimshuffle(arange(n = 3), order = [0, -1])\n"
        "  last, all = scan(s, x, t < n, body = step, states = 1, sequences = 2)\n"
        "  return loss = sum(last)\n"
        "}\n",
        VALUES("f64[2] 1 1", "f64[3, 2] 2 3 5 7 11 13", "i64[2] 3 1"), "f64[2] 110 3",
        "f64[3, 2] 55 1 22 0 10 0"),
    SLOPES("nested",
           PRODUCT "graph outer(s: f64[], x: f64[2]) {\n"
                   "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
                   "  return last\n"
                   "}\n"
                   "graph g(s: f64[], x: f64[2, 2]) {\n"
                   "  last, all = scan(s, x, body = outer, states = 1, sequences = 1)\n"
                   "  return loss = last\n"
                   "}\n",
           VALUES("f64[] 1", "f64[2, 2] 2 3 5 7"), "f64[] 210", "f64[2, 2] 105 70 42 30"),
    SLOPES("nested/histories_reverse",
           PRODUCT "graph outer(s: f64[], x: f64[2]) {\n"
                   "  last, all = scan(s, x, body = step, states = 1, sequences = 1, reverse = 1)\n"
                   "  return last, rows = sqr(all)\n"
                   "}\n"
                   "graph g(s: f64[], x: f64[3, 2]) {\n"
                   "  last, history, all = scan(s, x, body = outer, states = 1, sequences = 1)\n"
                   "  return loss = last + sum(history) + sum(all)\n"
                   "}\n",
           VALUES("f64[] 2", "f64[3, 2] 1 2 -1 1 2 3"), "?", "?"),
    SLOPES("nested/in_invoke",
           PRODUCT "graph middle(s: f64[], x: f64[M]) {\n"
                   "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
                   "  return last, total = sum(all)\n"
                   "}\n"
                   "graph g(s: f64[], x: f64[3]) {\n"
                   "  last, total = invoke(s, x, body = middle)\n"
                   "  return loss = last + 10 * total\n"
                   "}\n",
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 420", "f64[3] 1435 910 462"),
    SLOPES("nested/of_invoke",
           "graph square(x: f64[N]) { return y = x * x }\n"
           "graph step(s: f64[2], x: f64[2]) { return n = invoke(s, body = square) + x }\n"
           "graph g(s: f64[2], x: f64[2, 2]) {\n"
           "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
           "  return loss = sum(last)\n"
           "}\n",
           VALUES("f64[2] 1 2", "f64[2, 2] 1 0 0 1"), "f64[2] 8 32", "f64[2, 2] 4 8 1 1"),
    /* ---- Sizes that a call tells ---- */
    SLOPES_OF("symbols/history",
              "graph step(s: f64[N], x: f64[N], c: f64[N]) { return n = s * x + c }\n"
              "graph g(s: f64[N], x: f64[T, N], c: f64[N]) {\n"
              "  last, all = scan(s, x, c, body = step, states = 1, sequences = 1)\n"
              "  return loss = sum(all)\n"
              "}\n",
              ALONE, 0, VALUES("f64[2] 7 1", "f64[2, 2] 2 1 3 1", "f64[2] 1 10"), "f64[2] 9 3",
              "f64[2, 2] 28 2 15 11", "f64[2] 5 3"),
    SLOPES_OF("symbols/one_row",
              "graph step(s: f64[N], x: f64[N]) { return n = s * x }\n"
              "graph g(s: f64[N], x: f64[T, N]) {\n"
              "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
              "  return loss = sum(all)\n"
              "}\n",
              ALONE, 0, VALUES("f64[1] 7", "f64[1, 1] 2"), "f64[1] 3", "f64[1, 1] 7"),
    SLOPES_OF("symbols/no_rows_no_elements",
              "graph step(s: f64[N], x: f64[N]) { return n = s * x }\n"
              "graph g(s: f64[N], x: f64[T, N], c: f64[]) {\n"
              "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
              "  return loss = sum(all) + c\n"
              "}\n",
              ALONE, 0, VALUES("f64[0]", "f64[0, 0]", "f64[] 1"), "f64[0]", "f64[0, 0]", "f64[] 1"),
    SLOPES_OF("symbols/limited",
              "graph step(s: f64[], x: f64[]) { return n = s * x }\n"
              "graph g(n: i64[], s: f64[], x: f64[T], w: f64[T + 1]) {\n"
              "  last, all = scan(n, s, x, body = step, states = 1, sequences = 1, limited = 1,\n"
              "                   reverse = 1)\n"
              "  return loss = sum(all * w)\n"
              "}\n",
              ALONE, 0,
              VALUES("i64[] 2", "f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), NULL,
              "f64[] 136", "f64[4] 21 84 0 0", "f64[5] 42 21 7 0 0"),
    SLOPES_OF("run_time/length",
              "graph step(s: f64[], c: f64[]) { return n = s * c, y = s }\n"
              "graph g(s: f64[], c: f64[], k: i64[]) {\n"
              "  last, all, y = scan(s, c, body = step, states = 1, length = k)\n"
              "  return loss = last + sum(y)\n"
              "}\n",
              ALONE, 0, VALUES("f64[] 7", "f64[] 2", "i64[] 3"), "f64[] 15", "f64[] 119"),
    SLOPES_OF("run_time/rows",
              PRODUCT "graph g(s: f64[], x: f64[4], k: i64[]) {\n"
                      "  rows = subtensor(x, start = [1], size = [k])\n"
                      "  last, all = scan(s, rows, body = step, states = 1, sequences = 1)\n"
                      "  return loss = last + sum(all)\n"
                      "}\n",
              ALONE, 0, VALUES("f64[] 7", "f64[4] 11 2 3 5", "i64[] 2"), "f64[] 15",
              "f64[4] 0 49 28 0"),
    SLOPES_OF(
        "nested/until",
        "graph inner(s: f64[], c: f64[], b: f64[]) { n = s * c return n, stop = n > b }\n"
        "graph outer(s: f64[], b: f64[], c: f64[]) {\n"
        "  last, all, count = scan(s, c, b, body = inner, states = 1, length = 9, until = 1)\n"
        "  return last\n"
        "}\n"
        "graph g(s: f64[], b: f64[2], c: f64[]) {\n"
        "  last, all = scan(s, b, c, body = outer, states = 1, sequences = 1)\n"
        "  return loss = last\n"
        "}\n",
        ALONE, 0, VALUES("f64[] 1", "f64[2] 3 40", "f64[] 2"), "f64[] 64", "f64[2] 0 0",
        "f64[] 192"),
    /* ---- Truncated ---- */
    SLOPES("theano-4652/history", PRODUCT WEIGHTED("4", "5", ", truncate = 2"),
           VALUES("f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), "f64[] 1",
           "f64[4] 0 0 2982000 2100000", "f64[5] 7 14 42 210 1470"),
    SLOPES("truncate/reverse", PRODUCT WEIGHTED("4", "5", ", truncate = 2, reverse = 1"),
           VALUES("f64[] 7", "f64[4] 7 5 3 2", "f64[5] 10000 1000 100 10 1"), "f64[] 1",
           "f64[4] 2100000 2982000 0 0", "f64[5] 1470 210 42 14 7"),
    SLOPES("truncate/all", PRODUCT LOSS("3", ", truncate = 3", "last"),
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 30", "f64[3] 105 70 42"),
    SLOPES("truncate/more", PRODUCT LOSS("3", ", truncate = 9", "last"),
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 30", "f64[3] 105 70 42"),
    SLOPES("truncate/all_but_one", PRODUCT LOSS("3", ", truncate = 2", "last + sum(all)"),
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 1", "f64[3] 0 154 84"),
    SLOPES("truncate/0", PRODUCT LOSS("3", ", truncate = 0", "last + 3 * sum(all)"),
           VALUES("f64[] 7", "f64[3] 2 3 5"), "f64[] 3", "f64[3] 0 0 0"),
    SLOPES("truncate/no_rows", PRODUCT LOSS("0", ", truncate = 0", "last + 3 * sum(all)"),
           VALUES("f64[] 7", "f64[0]"), "f64[] 4", "f64[0]"),
    SLOPES("truncate/nothing_flows",
           "graph step(q: f64[]) { return y = where(q < 0.5, 1:f64, 2:f64) }\n"
           "graph g(x: f64[4]) {\n"
           "  y = scan(x, body = step, sequences = 1, truncate = 2)\n"
           "  return loss = sum(y)\n"
           "}\n",
           VALUES("f64[4] 0 1 2 3"), "f64[4] 0 0 0 0"),
    SLOPES("truncate/constant",
           "graph step(s: f64[], c: f64[]) { return n = s * c, y = s }\n"
           "graph g(s: f64[], c: f64[]) {\n"
           "  last, all, y = scan(s, c, body = step, states = 1, length = 4, truncate = 2)\n"
           "  return loss = last + sum(y)\n"
           "}\n",
           VALUES("f64[] 7", "f64[] 3"), "f64[] 0", "f64[] 441"),
    SLOPES_OF("truncate/limited", PRODUCT LIMITED(", truncate = 1", "sum(all * w)"), 0, 3,
              VALUES("i64[] 3", "f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), NULL,
              "f64[] 1", "f64[4] 0 0 42000 0", "f64[5] 7 14 42 210 0"),
    SLOPES_OF("truncate/limited_reverse",
              PRODUCT LIMITED(", truncate = 1, reverse = 1", "sum(all * w)"), 0, 3,
              VALUES("i64[] 3", "f64[] 7", "f64[4] 5 3 2 7", "f64[5] 1000 100 10 1 10000"), NULL,
              "f64[] 1", "f64[4] 42000 0 0 0", "f64[5] 210 42 14 7 0"),
    SLOPES_OF("truncate/limited_to_fewer", PRODUCT LIMITED(", truncate = 3", "sum(all * w)"), 0, 2,
              VALUES("i64[] 2", "f64[] 7", "f64[4] 2 3 5 7", "f64[5] 1 10 100 1000 10000"), NULL,
              "f64[] 621", "f64[4] 2170 1400 0 0", "f64[5] 7 14 42 0 0"),
    SLOPES_OF("truncate/until",
              "graph step(s: f64[], x: f64[]) { n = s * x return n, stop = n > 40 }\n"
              "graph g(s: f64[], x: f64[4]) {\n"
              "  last, all, count = scan(s, x, body = step, states = 1, sequences = 1, until = 1,\n"
              "                          truncate = 1)\n"
              "  return loss = last + sum(all)\n"
              "}\n",
              2, 0, VALUES("f64[] 7", "f64[4] 2 3 5 7"), "f64[] 1", "f64[4] 0 28 0 0"),
    SLOPES_OF("truncate/symbol",
              PRODUCT "graph g(s: f64[], x: f64[T], like: f64[K]) {\n"
                      "  last, all = scan(s, x, body = step, states = 1, sequences = 1,\n"
                      "                   truncate = K)\n"
                      "  return loss = last + sum(all)\n"
                      "}\n",
              ALONE, 0, VALUES("f64[] 7", "f64[3] 2 3 5", "f64[2] 0 0"), "f64[] 1",
              "f64[3] 0 154 84"),
    SLOPES_OF("truncate/symbol_that_is_all",
              PRODUCT "graph g(s: f64[], x: f64[T], like: f64[K]) {\n"
                      "  last, all = scan(s, x, body = step, states = 1, sequences = 1,\n"
                      "                   truncate = K)\n"
                      "  return loss = last\n"
                      "}\n",
              ALONE, 0, VALUES("f64[] 7", "f64[3] 2 3 5", "f64[3] 0 0 0"), "f64[] 30",
              "f64[3] 105 70 42"),
    SLOPES_OF("truncate/symbol_that_is_more",
              PRODUCT "graph g(s: f64[], x: f64[T], like: f64[K]) {\n"
                      "  last, all = scan(s, x, body = step, states = 1, sequences = 1,\n"
                      "                   truncate = K)\n"
                      "  return loss = last\n"
                      "}\n",
              ALONE, 0, VALUES("f64[] 7", "f64[3] 2 3 5", "f64[4] 0 0 0 0"), "f64[] 30",
              "f64[3] 105 70 42"),
    SLOPES_OF("truncate/run_time",
              PRODUCT "graph g(s: f64[], x: f64[3], k: i64[]) {\n"
                      "  last, all = scan(s, x, body = step, states = 1, sequences = 1,\n"
                      "                   truncate = k)\n"
                      "  return loss = last + sum(all)\n"
                      "}\n",
              ALONE, 0, VALUES("f64[] 7", "f64[3] 2 3 5", "i64[] 2"), "f64[] 1", "f64[3] 0 154 84"),
    /* How much of c a step reads is known in it alone. */
    SLOPES("theano-5249/size_differs_by_step",
           "graph step(s: f64[], k: i64[], c: f64[3]) {\n"
           "  return n = s * sum(subtensor(c, start = [0], size = [k]))\n"
           "}\n"
           "graph g(s: f64[], k: i64[3], c: f64[3]) {\n"
           "  last, all = scan(s, k, c, body = step, states = 1, sequences = 1)\n"
           "  return loss = last\n"
           "}\n",
           VALUES("f64[] 7", "i64[3] 2 1 3", "f64[3] 2 3 5"), "f64[] 100", NULL,
           "f64[3] 560 210 70"),
    SLOPES("random",
           "graph step(key: u64[2], s: f64[3], c: f64[]) {\n"
           "  u, next = random_uniform(key, shape = [3], dtype = f64)\n"
           "  return next, n = s * u * c\n"
           "}\n"
           "graph g(key: u64[2], s: f64[3], c: f64[]) {\n"
           "  lk, last, hk, all = scan(key, s, c, body = step, states = 2, length = 3)\n"
           "  return loss = sum(last)\n"
           "}\n",
           VALUES("u64[2] 7 3", "f64[3] 1 2 3", "f64[] 2"), NULL, "?", "?"),
    SLOPES("dtype/f32",
           "graph step(s: f32[], x: f32[]) { return n = s * x }\n"
           "graph g(s: f32[], x: f32[3]) {\n"
           "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
           "  return loss = last + sum(all)\n"
           "}\n",
           VALUES("f32[] 7", "f32[3] 2 3 5"), "f32[] 69", "f32[3] 238 154 84"),
    SLOPES("dtype/mixed",
           "graph step(s: f64[], x: f32[], c: f16[]) {\n"
           "  return n = s * cast(x, dtype = f64), y = cast(s, dtype = f32) * c\n"
           "}\n"
           "graph g(s: f64[], x: f32[3], c: f16[]) {\n"
           "  last, all, y = scan(s, x, c, body = step, states = 1, sequences = 1)\n"
           "  return loss = last + sum(y)\n"
           "}\n",
           VALUES("f64[] 7", "f32[3] 2 3 5", "f16[] 4"), "f64[] 66", "f32[3] 217 126 42",
           "f16[] 63"),
    SLOPES("network/bptt", NETWORK("f64", "rnn", "tanh"),
           VALUES("f64[4, 2, 3] 1 -2 3 0 1 0 2 1 -1 -1 1 0 3 0 2 1 1 -1 0 2 0 1 -1 1",
                  "f64[2, 2] 0.5 -0.25 0.125 1", "f64[3, 2] 0.5 -0.5 0.25 0.125 -0.25 0.75",
                  "f64[2, 2] 0.5 0.25 -0.75 0.5", "f64[2] 0.125 -0.25"),
           "?", "?", "?", "?", "?"),
    SLOPES("network/gated",
           "graph step(h: f64[2, 2], x: f64[2, 2], w: f64[2, 4], u: f64[2, 4], v: f64[2, 2]) {\n"
           "  gates = sigmoid(dot(x, w) + dot(h, u))\n"
           "  z, r = split(gates, sizes = [2, 2], axis = 1)\n"
           "  c = tanh(x + dot(r * h, v))\n"
           "  return next = z * h + (1 - z) * c\n"
           "}\n"
           "graph g(x: f64[3, 2, 2], h: f64[2, 2], w: f64[2, 4], u: f64[2, 4], v: f64[2, 2]) {\n"
           "  last, all = scan(h, x, w, u, v, body = step, states = 1, sequences = 1,\n"
           "                   reverse = 1)\n"
           "  return loss = sum(sqr(all)) - sum(last)\n"
           "}\n",
           VALUES("f64[3, 2, 2] 1 -2 0.5 0 1 0 -2 1 -1 -1 1 0.25", "f64[2, 2] 0.5 -0.25 0.125 1",
                  "f64[2, 4] 0.5 -0.5 0.25 0.125 -0.25 0.75 1 -1",
                  "f64[2, 4] 0.25 0.5 -0.25 0.625 0.25 -0.75 1 -1", "f64[2, 2] 0.5 0.25 -0.75 0.5"),
           "?", "?", "?", "?", "?"),
};

/* ---- Higher derivatives ---- */

/* A function of x: f64[] and its derivatives, the first to the fourth, at 2. */
typedef struct power {
  const char *name;
  const char *text; /* of the graphs before, and of the formula of `loss` */
  const char *loop;
  double slopes[4];
} power;

#define FIFTH                                                                                      \
  { 80, 160, 240, 240 }
#define TIMES "graph step(s: f64[], c: f64[]) { return n = s * c }\n"

static const power powers[] = {
    {"squares",
     "graph step(s: f64[]) { return n = s * s }\n",
     "last, all = scan(x, body = step, states = 1, length = 4)",
     {524288, 3932160, 27525120, 178913280}},
    {"constant", TIMES, "last, all = scan(1:f64, x, body = step, states = 1, length = 5)", FIFTH},
    {"sequence", TIMES,
     "last, all = scan(1:f64, broadcast_to(x, shape = [5]), body = step, states = 1,\n"
     "                 sequences = 1)",
     FIFTH},
    {"reverse", TIMES,
     "last, all = scan(x, broadcast_to(x, shape = [4]), body = step, states = 1,\n"
     "                 sequences = 1, reverse = 1)",
     FIFTH},
    {"history",
     TIMES,
     "l, all = scan(1:f64, x, body = step, states = 1, length = 5)\n"
     "  last = sum(all)",
     {129, 222, 294, 264}},
    {"stack",
     "graph step(s: f64[], c: f64[]) { return n = s * c, y = s }\n",
     "l, all, y = scan(x, x, body = step, states = 1, length = 5)\n"
     "  last = sum(y)",
     {129, 222, 294, 264}},
    {"until", "graph step(s: f64[], c: f64[]) { n = s * c return n, stop = n > 20 }\n",
     "last, all, count = scan(1:f64, x, body = step, states = 1, length = 9, until = 1)", FIFTH},
    {"limited", TIMES,
     "last, all = scan(5:i64, 1:f64, x, body = step, states = 1, length = 9, limited = 1)", FIFTH},
    {"pytensor-1772/taps", "graph step(b: f64[], a: f64[]) { return b1 = a, a1 = a * b }\n",
     "b, last, hb, ha = scan(x, x, body = step, states = 2, length = 3)", FIFTH},
    {"nested",
     TIMES "graph outer(s: f64[], c: f64[]) {\n"
           "  last, all = scan(s, c, body = step, states = 1, length = 2)\n"
           "  return last\n"
           "}\n",
     "last, all = scan(x, x, body = outer, states = 1, length = 2)", FIFTH},
};

/* F by X once more, in reverse (R) or forward mode (F). */
static gemel_value derive(gemel_value f, gemel_value x, char mode) {
  gemel_value d = {NULL, 0, 0}, one = gemel_scalar(x.graph, GEMEL_F64, 1);
  if (mode == 'R') {
    gradient(f, 1, &x, &d);
  } else {
    tangents(1, &f, 1, &x, &one, &d);
  }
  return d;
}

static void high_orders(const void *data) {
  const power *p = data;
  static const char *const orders[] = {"RRRR", "FFFF", "RFRF", "FRFR", "RRFF", "FFRR"};
  for (size_t k = 0; k < CT_COUNT(orders); k++) {
    char text[1000];
    gemel_context *context = gemel_context_new(NULL);
    gemel_tensor *x = opt_read("f64[] 2").tensor, *out[5] = {NULL};
    gemel_error error = {0};
    ct_context("%s", orders[k]);
    snprintf(text, sizeof text, "%sgraph g(x: f64[]) {\n  %s\n  return loss = last\n}\n", p->text,
             p->loop);
    gemel_graph *graph = parse(context, text);
    gemel_value d = gemel_graph_output(graph, 0);
    for (int order = 0; order < 4 && !gemel_is_null(d); order++) {
      char name[20];
      snprintf(name, sizeof name, "d%d", order);
      d = derive(d, gemel_graph_input(graph, 0), orders[k][order]);
      gemel_output(d, name);
    }
    CT_EQ_INT(gemel_evaluate(graph, 1, &x, 5, out, &error), GEMEL_OK);
    CT_EQ_STR(error.text, "");
    for (int order = 0; order < 4 && out[0] != NULL; order++) {
      double got = *(double *)gemel_tensor_data(out[order + 1]);
      if (got != p->slopes[order]) {
        CT_FAIL("derivative %d is %.17g, wanted %.17g", order + 1, got, p->slopes[order]);
      }
    }
    drop_tensors(5, out);
    gemel_tensor_unref(x);
    gemel_graph_unref(graph);
    gemel_context_unref(context);
  }
}

/* ---- Without rows ---- */

#define ENDLESS(options)                                                                           \
  "graph step(s: f64[], c: f64[]) { n = s * c return n, stop = n > 20 }\n"                         \
  "graph g(x: f64[]) {\n"                                                                          \
  "  last, count = scan(1:f64, x, body = step, states = 1, until = 1" options ")\n"                \
  "  return loss = last\n"                                                                         \
  "}\n"

/* The way back needs the states, and there are none; the way forward goes along. */
static void without_rows(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, ENDLESS(""));
  gemel_value x = gemel_graph_input(graph, 0), y = gemel_graph_output(graph, 0), d;
  gemel_tensor *in = opt_read("f64[] 2").tensor, *out[3] = {NULL};
  gemel_error error = {0};
  (void)data;
  CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &d, &error), GEMEL_NOT_DIFFERENTIABLE);
  CT_HAS_STR(error.text, "a loop without rows keeps no states: it needs a length");
  CT_HAS_STR(error.text, "test:3");
  gemel_graph_clear_error(graph);
  error = (gemel_error){0};
  d = derive(y, x, 'F');
  gemel_output(d, "d");
  gemel_output(derive(d, x, 'F'), "dd");
  CT_EQ_INT(gemel_evaluate(graph, 1, &in, 3, out, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  for (int k = 0; k < 3 && out[0] != NULL; k++) {
    CT_CHECK(*(double *)gemel_tensor_data(out[k]) == (k == 0 ? 32 : k == 1 ? 80 : 160));
  }
  drop_tensors(3, out);
  gemel_tensor_unref(in);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Nor can be said where the way forward begins, if it is truncated. */
static void truncated_without_rows(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, ENDLESS(", truncate = 2"));
  gemel_value x = gemel_graph_input(graph, 0), y = gemel_graph_output(graph, 0), d;
  gemel_error error = {0};
  (void)data;
  CT_EQ_INT(gemel_jvp(1, &y, 1, &x, &x, &d, &error), GEMEL_NOT_DIFFERENTIABLE);
  CT_HAS_STR(error.text, "a loop without rows keeps no states to truncate at");
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* What a loop of no rows is not asked for is no error. */
static void without_path(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, "graph step(i: i64[]) { return n = i + 1, stop = i > 4 }\n"
                                      "graph g(x: f64[], y: f64[]) {\n"
                                      "  last, count = scan(0:i64, body = step, states = 1,\n"
                                      "                     until = 1)\n"
                                      "  return loss = x * cast(last, dtype = f64)\n"
                                      "}\n");
  gemel_value wrt[2] = {gemel_graph_input(graph, 0), gemel_graph_input(graph, 1)}, d[2];
  gemel_tensor *in[2] = {opt_read("f64[] 2").tensor, opt_read("f64[] 3").tensor};
  gemel_tensor *out[3] = {NULL};
  gemel_error error = {0};
  (void)data;
  gradient(gemel_graph_output(graph, 0), 2, wrt, d);
  leave("d", 2, d);
  CT_EQ_INT(gemel_evaluate(graph, 2, in, 3, out, &error), GEMEL_OK);
  if (out[0] != NULL) {
    CT_CHECK(*(double *)gemel_tensor_data(out[1]) == 6);
    CT_CHECK(*(double *)gemel_tensor_data(out[2]) == 0);
  }
  drop_tensors(3, out);
  drop_tensors(2, in);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- What is carried back ---- */

/* A graph, by which of its inputs, and how many states the loop back has. */
typedef struct carried {
  const char *name;
  const char *text;
  size_t by;
  int64_t states;
} carried;

#define TWO_PRODUCTS                                                                               \
  "graph step(s: f64[], t: f64[], x: f64[], c: f64[]) { return n = s * x, m = t * c, y = c * x "   \
  "}\n"                                                                                            \
  "graph g(s: f64[], t: f64[], x: f64[3], c: f64[]) {\n"                                           \
  "  ls, lt, hs, ht, y = scan(s, t, x, c, body = step, states = 2, sequences = 1)\n"

/* The states that a cotangent goes through, and the sums that are asked for. */
static const carried carries_back[] = {
    {"one_state", TWO_PRODUCTS "  return loss = ls\n}\n", 0, 1},
    {"row", TWO_PRODUCTS "  return loss = ls\n}\n", 2, 1},
    {"constant", TWO_PRODUCTS "  return loss = lt\n}\n", 3, 2},
    {"no_state", TWO_PRODUCTS "  return loss = sum(y)\n}\n", 2, 0},
    {"sum_alone", TWO_PRODUCTS "  return loss = sum(y)\n}\n", 3, 1},
    {"nothing_of_it", TWO_PRODUCTS "  return loss = ls + lt\n}\n", 2, 1},
    {"both_states", TWO_PRODUCTS "  return loss = ls + sum(ht)\n}\n", 3, 2},
};

static void carried_back(const void *data) {
  const carried *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, c->text);
  gemel_value by = gemel_graph_input(graph, c->by), d;
  int64_t states = -1;
  uint32_t begin = (uint32_t)gemel_graph_node_count(graph);
  gradient(gemel_graph_output(graph, 0), 1, &by, &d);
  for (uint32_t k = begin; k < gemel_graph_node_count(graph); k++) {
    gemel_value value = {graph, k, 0};
    if (strcmp(gemel_value_operation(value), "scan") == 0) {
      CT_EQ_INT(states, -1); /* there is one such loop */
      states = attr_of(value, "states").u.i;
    }
  }
  CT_EQ_INT(states, c->states);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static const ct_test tests[] = {
    CT_TEST("without_rows", without_rows, NULL),
    CT_TEST("without_rows/truncated", truncated_without_rows, NULL),
    CT_TEST("without_path", without_path, NULL),
};

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    CT_ADD("scan_grad", cases[k].name, run_grad_case, &cases[k]);
  }
  for (size_t k = 0; k < CT_COUNT(powers); k++) {
    CT_ADD_TO("scan_grad", "powers", powers[k].name, high_orders, &powers[k]);
  }
  for (size_t k = 0; k < CT_COUNT(carries_back); k++) {
    CT_ADD_TO("scan_grad", "pytensor-1687", carries_back[k].name, carried_back, &carries_back[k]);
  }
  ct_suite("scan_grad", tests, CT_COUNT(tests));
}
