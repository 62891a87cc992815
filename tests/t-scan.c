/*
 * scan: what loops compute, by hand, and what is refused, as tables of text. t-scan-calls has what
 * text doesn't say, t-scan-grad derivatives, t-scan-unrolled random loops.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/text-case.h"

/* ---- Values ---- */

#define ADDING "graph step(s: f64[], x: f64[]) { return n = s + x, y = s * x }\n"
#define DOUBLING "graph step(s: f64[]) { return n = s + s }\n"
/* Ends behind the step that makes the state more than 12. */
#define STOPPING                                                                                   \
  "graph step(s: f64[], x: f64[]) {\n"                                                             \
  "  n = s + x\n"                                                                                  \
  "  return n, y = s * x, stop = n > 12\n"                                                         \
  "}\n"
#define OVER_ROWS(options)                                                                         \
  "graph g(s: f64[], x: f64[T]) {\n"                                                               \
  "  last, all, y = scan(s, x, body = step, states = 1, sequences = 1" options ")\n"               \
  "  return last, all, y\n"                                                                        \
  "}\n"
#define LIMITED(options)                                                                           \
  "graph g(n: i64[], s: f64[], x: f64[T]) {\n"                                                     \
  "  last, all, y = scan(n, s, x, body = step, states = 1, sequences = 1, limited = 1" options     \
  ")\n"                                                                                            \
  "  return last, all, y\n"                                                                        \
  "}\n"
#define UNTIL                                                                                      \
  STOPPING                                                                                         \
  "graph g(s: f64[], x: f64[T]) {\n"                                                               \
  "  last, all, y, count = scan(s, x, body = step, states = 1, sequences = 1, until = 1)\n"        \
  "  return last, all, y, count\n"                                                                 \
  "}\n"
#define LIMITED_UNTIL                                                                              \
  STOPPING                                                                                         \
  "graph g(n: i64[], s: f64[], x: f64[T]) {\n"                                                     \
  "  last, all, y, count = scan(n, s, x, body = step, states = 1, sequences = 1, limited = 1,\n"   \
  "                             until = 1)\n"                                                      \
  "  return last, all, y, count\n"                                                                 \
  "}\n"
#define DOUBLED_UNTIL(more, inputs, operands)                                                      \
  "graph step(s: f64[]) { n = s + s return n, stop = n > 100 }\n"                                  \
  "graph g(" inputs "s: f64[]) {\n"                                                                \
  "  last, count = scan(" operands "s, body = step, states = 1, until = 1" more ")\n"              \
  "  return last, count\n"                                                                         \
  "}\n"

/* A network that reads one row a step. */
#define NETWORK                                                                                    \
  "graph step(h: f32[N, H], x: f32[N, D], w: f32[D, H], u: f32[H, H], b: f32[H]) {\n"              \
  "  return next = relu(dot(x, w) + dot(h, u) + b)\n"                                              \
  "}\n"                                                                                            \
  "graph rnn(x: f32[T, N, D], h0: f32[N, H], w: f32[D, H], u: f32[H, H], b: f32[H]) {\n"           \
  "  last, all = scan(h0, x, w, u, b, body = step, states = 1, sequences = 1)\n"                   \
  "  return h = subtensor(all, start = [1, 0, 0], size = [T, N, H]), last = last\n"                \
  "}\n"

static const text_case values[] = {
    GIVES("network", NETWORK,
          VALUES("f32[T=3, N=1, D=1] 1 2 -3", "f32[N=1, H=2] 1 0", "f32[D=1, H=2] 1 -1",
                 "f32[H=2, H=2] 1 1 0 2", "f32[H=2] 0 1"),
          "f32[3, 1, 2] 2 1 4 3 1 14", "f32[1, 2] 1 14"),
    GIVES("sum", ADDING OVER_ROWS(""), VALUES("f64[] 10", "f64[4] 1 2 3 4"), "f64[] 20",
          "f64[5] 10 11 13 16 20", "f64[4] 10 22 39 64"),
    GIVES("sum/one_row", ADDING OVER_ROWS(""), VALUES("f64[] 10", "f64[1] 3"), "f64[] 13",
          "f64[2] 10 13", "f64[1] 30"),
    GIVES("swap/fibonacci",
          "graph step(a: i64[], b: i64[]) { return a1 = b, b1 = a + b }\n"
          "graph g(a: i64[], b: i64[]) {\n"
          "  la, lb, ha, hb = scan(a, b, body = step, states = 2, length = 6)\n"
          "  return la, lb, ha, hb\n"
          "}\n",
          VALUES("i64[] 0", "i64[] 1"), "i64[] 8", "i64[] 13", "i64[7] 0 1 1 2 3 5 8",
          "i64[7] 1 1 2 3 5 8 13"),
    GIVES("swap/two",
          "graph step(a: f32[2], b: f32[2]) { return a1 = b, b1 = a }\n"
          "graph g(a: f32[2], b: f32[2]) {\n"
          "  la, lb, ha, hb = scan(a, b, body = step, states = 2, length = 3)\n"
          "  return la, lb, ha, hb\n"
          "}\n",
          VALUES("f32[2] 1 2", "f32[2] 3 4"), "f32[2] 3 4", "f32[2] 1 2",
          "f32[4, 2] 1 2 3 4 1 2 3 4", "f32[4, 2] 3 4 1 2 3 4 1 2"),
    GIVES("swap/three_turn",
          "graph step(a: i8[], b: i8[], c: i8[]) { return a1 = b, b1 = c, c1 = a }\n"
          "graph g(a: i8[], b: i8[], c: i8[]) {\n"
          "  la, lb, lc, ha, hb, hc = scan(a, b, c, body = step, states = 3, length = 4)\n"
          "  return la, lb, lc, ha, hb, hc\n"
          "}\n",
          VALUES("i8[] 1", "i8[] 2", "i8[] 3"), "i8[] 2", "i8[] 3", "i8[] 1", "i8[5] 1 2 3 1 2",
          "i8[5] 2 3 1 2 3", "i8[5] 3 1 2 3 1"),
    GIVES("swap/no_rows",
          "graph step(a: i64[], b: i64[], k: i64[], n: i64[]) {\n"
          "  return a1 = b, b1 = a, k1 = k + 1, stop = k + 1 >= n\n"
          "}\n"
          "graph g(a: i64[], b: i64[], n: i64[]) {\n"
          "  la, lb, lk, count = scan(a, b, 0:i64, n, body = step, states = 3, until = 1)\n"
          "  return la, lb, lk, count\n"
          "}\n",
          VALUES("i64[] 5", "i64[] 6", "i64[] 3"), "i64[] 6", "i64[] 5", "i64[] 3", "i64[] 3"),
    GIVES("reverse", ADDING OVER_ROWS(", reverse = 1"), VALUES("f64[] 10", "f64[3] 1 2 3"),
          "f64[] 16", "f64[4] 16 15 13 10", "f64[3] 15 26 30"),
    GIVES("length",
          DOUBLING "graph g(s: f64[]) {\n"
                   "  last, all = scan(s, body = step, states = 1, length = 3)\n"
                   "  return last, all\n"
                   "}\n",
          VALUES("f64[] 1"), "f64[] 8", "f64[4] 1 2 4 8"),
    GIVES("length/symbol",
          DOUBLING "graph g(s: f64[], like: u8[T]) {\n"
                   "  last, all = scan(s, body = step, states = 1, length = T + 1)\n"
                   "  return last, all\n"
                   "}\n",
          VALUES("f64[] 1", "u8[2] 0 0"), "f64[] 8", "f64[4] 1 2 4 8"),
    GIVES("length/run_time",
          DOUBLING "graph g(s: f64[], n: i64[]) {\n"
                   "  last, all = scan(s, body = step, states = 1, length = n)\n"
                   "  return last, all\n"
                   "}\n",
          VALUES("f64[] 3", "i64[] 2"), "f64[] 12", "f64[3] 3 6 12"),
    GIVES("length/run_time_0",
          DOUBLING "graph g(s: f64[], n: i64[]) {\n"
                   "  last, all = scan(s, body = step, states = 1, length = n)\n"
                   "  return last, all\n"
                   "}\n",
          VALUES("f64[] 3", "i64[] 0"), "f64[] 3", "f64[1] 3"),
    GIVES("map",
          "graph step(x: f64[2], c: f64[]) { return y = x * c, z = sum(x) }\n"
          "graph g(x: f64[3, 2], c: f64[]) {\n"
          "  y, z = scan(x, c, body = step, sequences = 1)\n"
          "  return y, z\n"
          "}\n",
          VALUES("f64[3, 2] 1 2 3 4 5 6", "f64[] 10"), "f64[3, 2] 10 20 30 40 50 60",
          "f64[3] 3 7 11"),
    GIVES("map/constants_alone",
          "graph step(c: f64[2]) { return y = c, z = c * c }\n"
          "graph g(c: f64[2]) {\n"
          "  y, z = scan(c, body = step, length = 2)\n"
          "  return y, z\n"
          "}\n",
          VALUES("f64[2] 3 4"), "f64[2, 2] 3 4 3 4", "f64[2, 2] 9 16 9 16"),
    /* Results that are inputs of the body, and one value under several names. */
    GIVES("echoes",
          "graph step(s: f64[], t: f64[], x: f64[], c: f64[]) {\n"
          "  return s1 = x, t1 = t, a = s, b = x, c = c, d = x\n"
          "}\n"
          "graph g(s: f64[], x: f64[3]) {\n"
          "  ls, lt, hs, ht, a, b, c, d = scan(s, s, x, s, body = step, states = 2,\n"
          "                                    sequences = 1)\n"
          "  return hs, ht, a, b, c, sum = ls + lt + sum(d)\n"
          "}\n",
          VALUES("f64[] 9", "f64[3] 1 2 3"), "f64[4] 9 1 2 3", "f64[4] 9 9 9 9", "f64[3] 9 1 2",
          "f64[3] 1 2 3", "f64[3] 9 9 9", "f64[] 18"),
    /* One tensor as two sequences, an initial value that has no elements of its own, views. */
    GIVES("operands/views",
          "graph g(s: f64[], x: f64[2, 3]) {\n"
          "  rows = dimshuffle(x, order = [1, 0])\n"
          "  back = reverse(rows, axes = [0])\n"
          "  last, all = scan(broadcast_to(s, shape = [2]), rows, back,\n"
          "                   subtensor(rows, start = [1, 0], size = [1, 2]), body = \n"
          "      graph (s: f64[2], x: f64[2], y: f64[2], c: f64[1, 2]) {\n"
          "        return n = s + x * y - dimshuffle(c, order = [1])\n"
          "      }, states = 1, sequences = 2)\n"
          "  return last, all\n"
          "}\n",
          VALUES("f64[] 100", "f64[2, 3] 1 2 3 4 5 6"), "f64[2] 104 158",
          "f64[4, 2] 100 100 101 119 103 139 104 158"),
    GIVES("limited/0", ADDING LIMITED(""), VALUES("i64[] 0", "f64[] 10", "f64[4] 1 2 3 4"),
          "f64[] 10", "f64[5] 10 0 0 0 0", "f64[4] 0 0 0 0"),
    GIVES("limited/2", ADDING LIMITED(""), VALUES("i64[] 2", "f64[] 10", "f64[4] 1 2 3 4"),
          "f64[] 13", "f64[5] 10 11 13 0 0", "f64[4] 10 22 0 0"),
    GIVES("limited/all", ADDING LIMITED(""), VALUES("i64[] 4", "f64[] 10", "f64[4] 1 2 3 4"),
          "f64[] 20", "f64[5] 10 11 13 16 20", "f64[4] 10 22 39 64"),
    GIVES("limited/reverse", ADDING LIMITED(", reverse = 1"),
          VALUES("i64[] 2", "f64[] 10", "f64[4] 1 2 3 4"), "f64[] 13", "f64[5] 13 12 10 0 0",
          "f64[4] 12 20 0 0"),
    GIVES("limited/reverse_0", ADDING LIMITED(", reverse = 1"),
          VALUES("i64[] 0", "f64[] 10", "f64[4] 1 2 3 4"), "f64[] 10", "f64[5] 10 0 0 0 0",
          "f64[4] 0 0 0 0"),
    GIVES("limited/no_rows", ADDING LIMITED(""), VALUES("i64[] 0", "f64[] 10", "f64[0]"),
          "f64[] 10", "f64[1] 10", "f64[0]"),
    GIVES("limited/no_length",
          DOUBLING "graph g(n: i64[], s: f64[]) {\n"
                   "  last = scan(n, s, body = step, states = 1, limited = 1)\n"
                   "  return last\n"
                   "}\n",
          VALUES("i64[] 5", "f64[] 3"), "f64[] 96"),
    FAILS("limited/negative", ADDING LIMITED(""), VALUES("i64[] -1", "f64[] 10", "f64[4] 1 2 3 4"),
          GEMEL_BAD_VALUE, "a loop over 4 rows can't take -1 steps"),
    FAILS("limited/more", ADDING LIMITED(", reverse = 1"),
          VALUES("i64[] 5", "f64[] 10", "f64[4] 1 2 3 4"), GEMEL_BAD_VALUE,
          "a loop over 4 rows can't take 5 steps"),
    FAILS("limited/no_rows_one_step", ADDING LIMITED(""), VALUES("i64[] 1", "f64[] 10", "f64[0]"),
          GEMEL_BAD_VALUE, "a loop over 0 rows can't take 1 steps"),
    FAILS("limited/negative_no_length",
          DOUBLING "graph g(n: i64[], s: f64[]) {\n"
                   "  return last = scan(n, s, body = step, states = 1, limited = 1)\n"
                   "}\n",
          VALUES("i64[] -1", "f64[] 3"), GEMEL_BAD_VALUE, "a loop can't take -1 steps"),
    GIVES("until", UNTIL, VALUES("f64[] 10", "f64[4] 1 2 3 4"), "f64[] 13", "f64[5] 10 11 13 0 0",
          "f64[4] 10 22 0 0", "i64[] 2"),
    GIVES("until/never", UNTIL, VALUES("f64[] 1", "f64[4] 1 2 3 4"), "f64[] 11",
          "f64[5] 1 2 4 7 11", "f64[4] 1 4 12 28", "i64[] 4"),
    GIVES("until/at_once", UNTIL, VALUES("f64[] 20", "f64[4] 1 2 3 4"), "f64[] 21",
          "f64[5] 20 21 0 0 0", "f64[4] 20 0 0 0", "i64[] 1"),
    GIVES("until/in_the_end", UNTIL, VALUES("f64[] 3", "f64[4] 1 2 3 4"), "f64[] 13",
          "f64[5] 3 4 6 9 13", "f64[4] 3 8 18 36", "i64[] 4"),
    GIVES("until/no_rows", UNTIL, VALUES("f64[] 20", "f64[0]"), "f64[] 20", "f64[1] 20", "f64[0]",
          "i64[] 0"),
    GIVES("until/limited_first", LIMITED_UNTIL, VALUES("i64[] 1", "f64[] 10", "f64[4] 1 2 3 4"),
          "f64[] 11", "f64[5] 10 11 0 0 0", "f64[4] 10 0 0 0", "i64[] 1"),
    GIVES("until/limited_last", LIMITED_UNTIL, VALUES("i64[] 3", "f64[] 10", "f64[4] 1 2 3 4"),
          "f64[] 13", "f64[5] 10 11 13 0 0", "f64[4] 10 22 0 0", "i64[] 2"),
    GIVES("until/limited_0", LIMITED_UNTIL, VALUES("i64[] 0", "f64[] 99", "f64[4] 1 2 3 4"),
          "f64[] 99", "f64[5] 99 0 0 0 0", "f64[4] 0 0 0 0", "i64[] 0"),
    GIVES("until/no_length", DOUBLED_UNTIL("", "", ""), VALUES("f64[] 1"), "f64[] 128", "i64[] 7"),
    GIVES("until/no_length_at_once", DOUBLED_UNTIL("", "", ""), VALUES("f64[] 100"), "f64[] 200",
          "i64[] 1"),
    GIVES("until/no_length_limited", DOUBLED_UNTIL(", limited = 1", "n: i64[], ", "n, "),
          VALUES("i64[] 3", "f64[] 1"), "f64[] 8", "i64[] 3"),
    GIVES("until/length",
          "graph step(s: f64[]) { n = s + s return n, y = n, stop = n > 5 }\n"
          "graph g(s: f64[]) {\n"
          "  last, all, y, count = scan(s, body = step, states = 1, until = 1, length = 4)\n"
          "  return last, all, y, count\n"
          "}\n",
          VALUES("f64[] 1"), "f64[] 8", "f64[5] 1 2 4 8 0", "f64[4] 2 4 8 0", "i64[] 3"),
    /* The condition is an element of a row, a constant, a state that is a bool. */
    GIVES("until/row",
          "graph step(s: i64[], b: bool[]) { return n = s + 1, b }\n"
          "graph g(b: bool[4]) {\n"
          "  last, all, count = scan(0:i64, b, body = step, states = 1, sequences = 1, until = 1)\n"
          "  return last, count\n"
          "}\n",
          VALUES("bool[4] 0 0 1 0"), "i64[] 3", "i64[] 3"),
    GIVES("until/constant",
          "graph step(s: i64[], b: bool[]) { return n = s + 1, b }\n"
          "graph g(b: bool[]) {\n"
          "  last, all, count = scan(0:i64, b, body = step, states = 1, length = 3, until = 1)\n"
          "  return last, count\n"
          "}\n",
          VALUES("bool[] 1"), "i64[] 1", "i64[] 1"),
    GIVES("until/state",
          "graph step(s: i64[], b: bool[]) { return n = s + 1, c = s > 1, b }\n"
          "graph g(b: bool[]) {\n"
          "  last, lb, count = scan(0:i64, b, body = step, states = 2, until = 1)\n"
          "  return last, lb, count\n"
          "}\n",
          VALUES("bool[] 0"), "i64[] 4", "bool[] 1", "i64[] 4"),
    /* Taps two and one steps back are a state that passes on. */
    GIVES(
        "taps",
        "graph step(b: f64[], a: f64[], u: f64[]) { return b1 = a, a1 = 2 * a - b + u }\n"
        "graph g(x: f64[2], u: f64[4]) {\n"
        "  b, a = split(x, sizes = [1, 1])\n"
        "  lb, la, hb, ha = scan(reshape(b, shape = []), reshape(a, shape = []), u, body = step,\n"
        "                        states = 2, sequences = 1)\n"
        "  return x = subtensor(ha, start = [1], size = [4]), hb\n"
        "}\n",
        VALUES("f64[2] 1 3", "f64[4] 0 1 0 -2"), "f64[4] 5 8 11 12", "f64[5] 1 3 5 8 11"),
    /* Taps of a sequence are shifted slices of it: here x[t] and x[t + 2]. */
    GIVES(
        "taps/rows",
        "graph step(x: f64[], y: f64[]) { return z = y - x }\n"
        "graph g(x: f64[5]) {\n"
        "  z = scan(subtensor(x, start = [0], size = [3]), subtensor(x, start = [2], size = [3]),\n"
        "           body = step, sequences = 2)\n"
        "  return z\n"
        "}\n",
        VALUES("f64[5] 1 2 4 8 16"), "f64[3] 3 6 12"),
    /* Two samples of three and one rows. */
    GIVES("ragged",
          "graph step(s: f64[2], x: f64[2], there: bool[2]) { return n = where(there, s + x, s) }\n"
          "graph g(s: f64[2], x: f64[3, 2], n: i64[2]) {\n"
          "  t = dimshuffle(arange(n = 3), order = [0, -1])\n"
          "  last, all = scan(s, x, t < n, body = step, states = 1, sequences = 2)\n"
          "  return last, all\n"
          "}\n",
          VALUES("f64[2] 0 0", "f64[3, 2] 1 2 3 4 5 6", "i64[2] 3 1"), "f64[2] 9 2",
          "f64[4, 2] 0 0 1 2 4 2 9 2"),
    /* ---- Sizes ---- */
    /* Symbols of the body in sums, and some that rows alone tell. */
    GIVES("sizes/sums",
          "graph step(s: f64[2*N + 1], x: f64[N], y: f64[N + 1]) { return n = s + join(x, y) }\n"
          "graph g(s: f64[5], x: f64[T, 2], y: f64[T, 3]) {\n"
          "  last, all = scan(s, x, y, body = step, states = 1, sequences = 2)\n"
          "  return last\n"
          "}\n",
          VALUES("f64[5] 1 2 3 4 5", "f64[T=2, 2] 1 0 0 1", "f64[T=2, 3] 0 0 0 10 20 30"),
          "f64[5] 2 3 13 24 35"),
    GIVES("sizes/equal_at_run_time",
          "graph step(s: f64[N], x: f64[M]) { return n = x + 0 * sum(s) }\n"
          "graph g(s: f64[N], x: f64[T, M]) {\n"
          "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
          "  return last, all\n"
          "}\n",
          VALUES("f64[2] 1 2", "f64[2, 2] 3 4 5 6"), "f64[2] 5 6", "f64[3, 2] 1 2 3 4 5 6"),
    FAILS("sizes/symbol_of_the_body_alone",
          "graph step(s: f64[]) { return n = s + sum(arange(n = Q, dtype = f64)) }\n"
          "graph g(s: f64[]) {\n"
          "  l, h = scan(s, body = step, states = 1, length = 2)\n  return l\n}\n",
          VALUES("f64[] 1"), GEMEL_BAD_SHAPE, "depends on Q, which is the size of no input's axis"),
    FAILS("sizes/no_broadcast_at_run_time",
          "graph step(s: f64[N], x: f64[N]) { return n = s + x }\n"
          "graph g(s: f64[N], x: f64[T, M]) {\n"
          "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
          "  return last, all\n"
          "}\n",
          VALUES("f64[3] 1 2 3", "f64[2, 1] 3 4"), GEMEL_BAD_SHAPE, "the body's input x"),
    GIVES("sizes/rows_at_run_time",
          ADDING "graph g(s: f64[], x: f64[4], n: i64[]) {\n"
                 "  rows = subtensor(x, start = [1], size = [n])\n"
                 "  last, all, y = scan(s, rows, body = step, states = 1, sequences = 1)\n"
                 "  return last, all, y\n"
                 "}\n",
          VALUES("f64[] 10", "f64[4] 1 2 3 4", "i64[] 2"), "f64[] 15", "f64[3] 10 12 15",
          "f64[2] 20 36"),
    GIVES("sizes/known_in_a_step_alone",
          "graph step(k: i64[], c: f64[N]) {\n"
          "  return y = sum(subtensor(c, start = [0], size = [k]))\n"
          "}\n"
          "graph g(k: i64[4], c: f64[3]) { return y = scan(k, c, body = step, sequences = 1) }\n",
          VALUES("i64[4] 2 0 3 1", "f64[3] 2 3 5"), "f64[4] 5 0 10 2"),
    /* ---- What a body gives that is no memory of its own ---- */
    GIVES("views/of_the_state",
          "graph step(s: f64[2, 2]) {\n"
          "  return n = dimshuffle(s, order = [1, 0]), y = reverse(s, axes = [0]),\n"
          "         z = subtensor(s, start = [0, 1], size = [2, 1])\n"
          "}\n"
          "graph g(s: f64[2, 2]) {\n"
          "  last, all, y, z = scan(s, body = step, states = 1, length = 3)\n"
          "  return last, all, y, z\n"
          "}\n",
          VALUES("f64[2, 2] 1 2 3 4"), "f64[2, 2] 1 3 2 4",
          "f64[4, 2, 2] 1 2 3 4 1 3 2 4 1 2 3 4 1 3 2 4", "f64[3, 2, 2] 3 4 1 2 2 4 1 3 3 4 1 2",
          "f64[3, 2, 1] 2 4 3 4 2 4"),
    GIVES("views/without_rows",
          "graph step(a: i64[2], b: i64[2], k: i64[]) {\n"
          "  m = k + 1\n"
          "  return n = reverse(b, axes = [0]), c = a, m, stop = m == 3\n"
          "}\n"
          "graph g(a: i64[2], b: i64[2]) {\n"
          "  la, lb, lk, count = scan(a, b, 0:i64, body = step, states = 3, until = 1)\n"
          "  return la, lb\n"
          "}\n",
          VALUES("i64[2] 1 2", "i64[2] 3 4"), "i64[2] 3 4", "i64[2] 2 1"),
    GIVES("views/broadcast",
          "graph step(s: f64[2, 3], x: f64[3]) { return n = broadcast_to(x, shape = [2, 3]), y = s "
          "}\n"
          "graph g(s: f64[2, 3], x: f64[2, 3]) {\n"
          "  last, all, y = scan(s, x, body = step, states = 1, sequences = 1)\n"
          "  return last, y\n"
          "}\n",
          VALUES("f64[2, 3] 1 2 3 4 5 6", "f64[2, 3] 7 8 9 10 11 12"),
          "f64[2, 3] 10 11 12 10 11 12", "f64[2, 2, 3] 1 2 3 4 5 6 7 8 9 7 8 9"),
    GIVES("literals",
          "graph step(s: f64[]) { return n = 5:f64, y = 3:i64, z = tensor(f32[2], [1, 2]) }\n"
          "graph g(s: f64[]) {\n"
          "  last, all, y, z = scan(s, body = step, states = 1, length = 2)\n"
          "  return last, all, y, z\n"
          "}\n",
          VALUES("f64[] 1"), "f64[] 5", "f64[3] 1 5 5", "i64[2] 3 3", "f32[2, 2] 1 2 1 2"),
    /* A loop reads what another gives, row by row; both are read. */
    GIVES("pytensor-509/one_after_another",
          ADDING "graph g(s: f64[], x: f64[3]) {\n"
                 "  a, all, y = scan(s, x, body = step, states = 1, sequences = 1)\n"
                 "  b, more, z = scan(a, y, body = step, states = 1, sequences = 1)\n"
                 "  return all, more\n"
                 "}\n",
          VALUES("f64[] 1", "f64[3] 1 2 3"), "f64[4] 1 2 4 7", "f64[4] 7 8 12 24"),
    /* Equal but for when they end. */
    GIVES("pytensor-2221/other_conditions",
          "graph low(s: f64[], x: f64[]) { n = s + x return n, stop = n > 2 }\n"
          "graph high(s: f64[], x: f64[]) { n = s + x return n, stop = n > 6 }\n"
          "graph g(s: f64[], x: f64[4]) {\n"
          "  a, all, n = scan(s, x, body = low, states = 1, sequences = 1, until = 1)\n"
          "  b, more, m = scan(s, x, body = high, states = 1, sequences = 1, until = 1)\n"
          "  return all, n, more, m\n"
          "}\n",
          VALUES("f64[] 1", "f64[4] 1 2 3 4"), "f64[5] 1 2 4 0 0", "i64[] 2", "f64[5] 1 2 4 7 0",
          "i64[] 3"),
    /* ---- No steps, no elements ---- */
    GIVES("theano-1455/last_is_initial", ADDING OVER_ROWS(""), VALUES("f64[] 10", "f64[0]"),
          "f64[] 10", "f64[1] 10", "f64[0]"),
    GIVES("theano-1455/reverse", ADDING OVER_ROWS(", reverse = 1"), VALUES("f64[] 10", "f64[0]"),
          "f64[] 10", "f64[1] 10", "f64[0]"),
    GIVES("aesara-659/length_0",
          "graph step(s: f64[2]) { return n = s + s, y = dimshuffle(s, order = [-1, 0]) }\n"
          "graph g(s: f64[2]) {\n"
          "  last, all, y = scan(s, body = step, states = 1, length = 0)\n"
          "  return last, all, y\n"
          "}\n",
          VALUES("f64[2] 3 4"), "f64[2] 3 4", "f64[1, 2] 3 4", "f64[0, 1, 2]"),
    /* A step would fail, so it shows that none is run. */
    GIVES("pytensor-1287/no_step_is_run",
          "graph step(s: f64[1], c: f64[2], k: i64[]) {\n"
          "  return n = s + subtensor(c, start = [k], size = [1])\n"
          "}\n"
          "graph g(s: f64[1], c: f64[2], k: i64[], like: u8[T]) {\n"
          "  last, all = scan(s, c, k, body = step, states = 1, length = T)\n"
          "  return last, all\n"
          "}\n",
          VALUES("f64[1] 3", "f64[2] 1 2", "i64[] 9", "u8[0]"), "f64[1] 3", "f64[1, 1] 3"),
    GIVES("empty_state",
          "graph step(s: f64[N], x: f64[]) { return n = s + x, y = sum(s) + x }\n"
          "graph g(s: f64[N], x: f64[2]) {\n"
          "  last, all, y = scan(s, x, body = step, states = 1, sequences = 1)\n"
          "  return last, all, y\n"
          "}\n",
          VALUES("f64[0]", "f64[2] 1 2"), "f64[0]", "f64[3, 0]", "f64[2] 1 2"),
    GIVES("empty_state/limited",
          "graph step(s: f64[N]) { return n = s + s }\n"
          "graph g(n: i64[], s: f64[N]) {\n"
          "  last, all = scan(n, s, body = step, states = 1, length = 3, limited = 1)\n"
          "  return last, all\n"
          "}\n",
          VALUES("i64[] 2", "f64[0]"), "f64[0]", "f64[4, 0]"),
    /* ---- Loops in loops ---- */
    GIVES("nested/loops",
          "graph inner(s: f64[], x: f64[]) { return n = s + x }\n"
          "graph outer(s: f64[], x: f64[M]) {\n"
          "  last, all = scan(s, x, body = inner, states = 1, sequences = 1)\n"
          "  return last, all\n"
          "}\n"
          "graph g(s: f64[], x: f64[T, M]) {\n"
          "  last, history, all = scan(s, x, body = outer, states = 1, sequences = 1)\n"
          "  return last, history, all\n"
          "}\n",
          VALUES("f64[] 0", "f64[2, 2] 1 2 3 4"), "f64[] 10", "f64[3] 0 3 10",
          "f64[2, 3] 0 1 3 3 6 10"),
    GIVES("nested/reversed",
          "graph inner(s: f64[], x: f64[]) { return n = s + x, y = s }\n"
          "graph outer(s: f64[], x: f64[M]) {\n"
          "  last, all, y = scan(s, x, body = inner, states = 1, sequences = 1, reverse = 1)\n"
          "  return last, y\n"
          "}\n"
          "graph g(s: f64[], x: f64[T, M]) {\n"
          "  last, history, y = scan(s, x, body = outer, states = 1, sequences = 1, reverse = 1)\n"
          "  return last, history, y\n"
          "}\n",
          VALUES("f64[] 0", "f64[2, 2] 1 2 3 4"), "f64[] 10", "f64[3] 10 7 0", "f64[2, 2] 9 7 4 0"),
    /* The loop within takes another number of steps each time. */
    GIVES("nested/limited_by_row",
          "graph inner(s: f64[]) { return n = s + 1 }\n"
          "graph outer(s: f64[], k: i64[]) {\n"
          "  last, all = scan(k, s, body = inner, states = 1, length = 3, limited = 1)\n"
          "  return last, all\n"
          "}\n"
          "graph g(s: f64[], k: i64[T]) {\n"
          "  last, history, all = scan(s, k, body = outer, states = 1, sequences = 1)\n"
          "  return history, all\n"
          "}\n",
          VALUES("f64[] 0", "i64[3] 2 0 3"), "f64[4] 0 2 2 5", "f64[3, 4] 0 1 2 0 2 0 0 0 2 3 4 5"),
    GIVES("nested/until_by_row",
          "graph inner(s: f64[], b: f64[]) { n = s * 2 return n, stop = n > b }\n"
          "graph outer(s: f64[], b: f64[]) {\n"
          "  last, count = scan(s, b, body = inner, states = 1, until = 1)\n"
          "  return last, count\n"
          "}\n"
          "graph g(s: f64[], b: f64[T]) {\n"
          "  last, history, counts = scan(s, b, body = outer, states = 1, sequences = 1)\n"
          "  return history, counts\n"
          "}\n",
          VALUES("f64[] 1", "f64[3] 3 0 40"), "f64[4] 1 4 8 64", "i64[3] 2 1 3"),
    GIVES("nested/in_invoke",
          ADDING "graph middle(s: f64[], x: f64[M]) {\n"
                 "  last, all, y = scan(s, x, body = step, states = 1, sequences = 1)\n"
                 "  return last, all\n"
                 "}\n"
                 "graph g(x: f64[3], z: f64[2]) {\n"
                 "  a, b = invoke(10:f64, x, body = middle)\n"
                 "  c, d = invoke(a, z, body = middle)\n"
                 "  return b, d\n"
                 "}\n",
          VALUES("f64[3] 1 2 3", "f64[2] 4 5"), "f64[4] 10 11 13 16", "f64[3] 16 20 25"),
    GIVES("nested/of_invoke",
          "graph square(x: f64[N]) { return y = x * x }\n"
          "graph step(s: f64[N], x: f64[N]) { return n = invoke(s, body = square) + x }\n"
          "graph g(s: f64[N], x: f64[T, N]) {\n"
          "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
          "  return last, all\n"
          "}\n",
          VALUES("f64[2] 1 2", "f64[2, 2] 1 0 0 1"), "f64[2] 4 17", "f64[3, 2] 1 2 2 4 4 17"),
    /* ---- Errors of a step ---- */
    FAILS(
        "error/index",
        "graph step(s: f64[1], k: i64[], c: f64[N]) {\n"
        "  y = subtensor(c, start = [k], size = [1])\n"
        "  return n = s + y\n"
        "}\n"
        "graph g(s: f64[1], c: f64[N], k: i64[]) {\n"
        "  rows = arange(n = 50) % k\n"
        "  last, all = scan(s, rows, c, body = step, states = 1, sequences = 1)\n"
        "  return last\n"
        "}\n",
        VALUES("f64[1] 0", "f64[6] 1 2 3 4 5 6", "i64[] 10"), GEMEL_BAD_VALUE,
        "step 7 of 50: test:2: subtensor(f64[N], i64[]): index 6 of axis 0 is outside its size 6"),
    FAILS("error/reverse",
          "graph step(s: f64[1], k: i64[], c: f64[N]) {\n"
          "  y = subtensor(c, start = [k], size = [1])\n"
          "  return n = s + y\n"
          "}\n"
          "graph g(s: f64[1], c: f64[N]) {\n"
          "  last, all = scan(s, 4 - arange(n = 5), c, body = step, states = 1, sequences = 1,\n"
          "                   reverse = 1)\n"
          "  return last\n"
          "}\n",
          VALUES("f64[1] 0", "f64[3] 1 2 3"), GEMEL_BAD_VALUE, "step 4 of 5: test:2: subtensor("),
    FAILS("error/no_length",
          "graph step(k: i64[], c: f64[N]) {\n"
          "  y = subtensor(c, start = [k], size = [1])\n"
          "  return n = k + 1, stop = sum(y) > 9\n"
          "}\n"
          "graph g(c: f64[N]) {\n"
          "  last, count = scan(0:i64, c, body = step, states = 1, until = 1)\n"
          "  return last\n"
          "}\n",
          VALUES("f64[3] 1 2 3"), GEMEL_BAD_VALUE, "step 4: test:2: subtensor("),
    FAILS("error/lengths_at_run_time",
          "graph step(x: f64[], y: f64[]) { return z = x + y }\n"
          "graph g(x: f64[T], y: f64[U]) {\n"
          "  return z = scan(x, y, body = step, sequences = 2)\n"
          "}\n",
          VALUES("f64[3] 1 2 3", "f64[4] 1 2 3 4"), GEMEL_BAD_SHAPE,
          "sequence 1 has 4 rows, and 3 are expected"),
    FAILS("error/length_at_run_time",
          DOUBLING "graph g(s: f64[], n: i64[]) {\n"
                   "  last, all = scan(s, body = step, states = 1, length = n)\n"
                   "  return last, all\n"
                   "}\n",
          VALUES("f64[] 3", "i64[] -1"), GEMEL_BAD_SHAPE, "-1"),
    FAILS("error/state_at_run_time",
          "graph step(s: f64[N], c: f64[M]) { return n = c + 0 * sum(s) }\n"
          "graph g(s: f64[N], c: f64[M]) {\n"
          "  last, all = scan(s, c, body = step, states = 1, length = 2)\n"
          "  return last\n"
          "}\n",
          VALUES("f64[2] 1 2", "f64[3] 1 2 3"), GEMEL_BAD_TYPE,
          "state s begins as f64[2] and becomes f64[3]"),
    /* What only a call can check is checked where rewriting leaves little of the loop. */
    FAILS("checked/summed_rows",
          "graph step(h: f64[H], x: f64[H], y: f64[K], w: f64[K, H]) {\n"
          "  return n = h + dot(y, w) + x\n}\n"
          "graph g(h: f64[H], x: f64[T, H], y: f64[S, K], w: f64[K, H]) {\n"
          "  l, q = scan(h, x, y, w, body = step, states = 1, sequences = 2)\n  return l\n}\n",
          VALUES("f64[1] 0", "f64[2, 1] 1 2", "f64[3, 1] 1 2 3", "f64[1, 1] 1"), GEMEL_BAD_SHAPE,
          "sequence 1 has 3 rows, and 2 are expected"),
    FAILS("checked/unread_rows",
          "graph step(s: f64[], x: f64[], y: f64[]) { return n = tanh(s + x) }\n"
          "graph g(s: f64[], x: f64[T], y: f64[S]) {\n"
          "  l, h = scan(s, x, y, body = step, states = 1, sequences = 2)\n  return l\n}\n",
          VALUES("f64[] 1", "f64[2] 1 2", "f64[3] 1 2 3"), GEMEL_BAD_SHAPE,
          "sequence 1 has 3 rows, and 2 are expected"),
    FAILS("checked/rows_as_they_are",
          "graph step(x: f64[], y: f64[]) { return p = x, q = y }\n"
          "graph g(x: f64[T], y: f64[S]) {\n"
          "  p, q = scan(x, y, body = step, sequences = 2)\n  return p, q\n}\n",
          VALUES("f64[2] 1 2", "f64[3] 1 2 3"), GEMEL_BAD_SHAPE,
          "sequence 1 has 3 rows, and 2 are expected"),
    FAILS("checked/short",
          "graph step(s: f64[], x: f64[], y: f64[]) { return n = s * x - y }\n"
          "graph g(s: f64[], x: f64[2], y: f64[S]) {\n"
          "  l, h = scan(s, x, y, body = step, states = 1, sequences = 2)\n  return l\n}\n",
          VALUES("f64[] 1", "f64[2] 1 2", "f64[3] 1 2 3"), GEMEL_BAD_SHAPE,
          "sequence 1 has 3 rows, and 2 are expected"),
    FAILS("checked/unread_constant",
          "graph step(s: f64[N], x: f64[], c: f64[N]) { return n = s * x }\n"
          "graph g(s: f64[N], x: f64[T], c: f64[M]) {\n"
          "  l, h = scan(s, x, c, body = step, states = 1, sequences = 1)\n  return l\n}\n",
          VALUES("f64[2] 1 2", "f64[2] 1 2", "f64[3] 1 2 3"), GEMEL_BAD_SHAPE,
          "axis 0 of the body's input c: f64[N]"),
    FAILS("checked/unread_state",
          "graph step(s: f64[N], r: f64[], c: f64[M]) { return n = c * 1, m = r + r }\n"
          "graph g(s: f64[N], r: f64[], c: f64[M]) {\n"
          "  l, m, h, i = scan(s, r, c, body = step, states = 2, length = 5)\n  return m\n}\n",
          VALUES("f64[2] 1 2", "f64[] 1", "f64[3] 1 2 3"), GEMEL_BAD_TYPE,
          "the types must be the same"),
    FAILS("checked/states_that_stay",
          "graph step(s: f64[]) { return n = s }\n"
          "graph g(s: f64[], z: i64[]) {\n"
          "  l, h = scan(s, body = step, states = 1, length = z)\n  return l\n}\n",
          VALUES("f64[] 1", "i64[] -2"), GEMEL_BAD_SHAPE, "axis 0 has the negative size -1"),
    FAILS("checked/limit_of_states_that_stay",
          "graph step(s: f64[], x: f64[]) { return n = s }\n"
          "graph g(k: i64[], s: f64[], x: f64[T]) {\n"
          "  l, h = scan(k, s, x, body = step, states = 1, sequences = 1, limited = 1)\n"
          "  return l\n}\n",
          VALUES("i64[] 4", "f64[] 1", "f64[2] 1 2"), GEMEL_BAD_VALUE,
          "a loop over 2 rows can't take 4 steps"),
    FAILS("checked/limit_of_first_row",
          "graph step(s: f64[], x: f64[]) { return n = s + x }\n"
          "graph g(k: i64[], s: f64[], x: f64[T]) {\n"
          "  l, h = scan(k, s, x, body = step, states = 1, sequences = 1, limited = 1)\n"
          "  return first = subtensor(h, start = [0], size = [1])\n}\n",
          VALUES("i64[] 4", "f64[] 1", "f64[2] 1 2"), GEMEL_BAD_VALUE,
          "a loop over 2 rows can't take 4 steps"),
};

/* ---- What is refused ---- */

#define REFUSED(name, text, status, message)                                                       \
  FAILS("refused/" name, text, VALUES(NULL), status, message)
/* A loop on s: f64[], x: f64[3], y: f64[4], n: i64[], i: i32[], v: i64[1] with this body. */
#define LOOP(body, call)                                                                           \
  "graph step" body "\n"                                                                           \
  "graph g(s: f64[], x: f64[3], y: f64[4], n: i64[], i: i32[], v: i64[1], m: f64[M], l: f64[L]) "  \
  "{\n"                                                                                            \
  "  r = scan(" call ", body = step)\n"                                                            \
  "  return s\n"                                                                                   \
  "}\n"
#define ONE "(s: f64[], x: f64[]) { return n = s + x }"
#define TWO "(x: f64[], y: f64[]) { return z = x + y }"
#define STOPS(stop) "(s: f64[], x: f64[]) { return n = s + x, stop = " stop " }"

static const text_case refusals[] = {
    REFUSED("states", LOOP(ONE, "s, x, states = 3, length = 2"), GEMEL_BAD_ARGUMENT,
            "states = 3 and sequences = 0 do not fit a body of 2 inputs and 1 outputs"),
    REFUSED("states_of_outputs", LOOP(ONE, "s, s, states = 2, length = 2"), GEMEL_BAD_ARGUMENT,
            "states = 2 and sequences = 0 do not fit a body of 2 inputs and 1 outputs"),
    REFUSED("states_without_stop",
            LOOP("(s: f64[]) { return n = s }", "s, states = 1, length = 2, until = 1"),
            GEMEL_BAD_ARGUMENT, "do not fit a body of 1 inputs and 1 outputs"),
    REFUSED("states_below_0", LOOP(ONE, "s, x, states = -1, sequences = 1"), GEMEL_BAD_ARGUMENT,
            "states = -1 and sequences = 1 do not fit"),
    REFUSED("sequences", LOOP(ONE, "s, x, states = 1, sequences = 2"), GEMEL_BAD_ARGUMENT,
            "states = 1 and sequences = 2 do not fit a body of 2 inputs and 1 outputs"),
    REFUSED("sequences_below_0", LOOP(ONE, "s, x, states = 1, sequences = -1"), GEMEL_BAD_ARGUMENT,
            "states = 1 and sequences = -1 do not fit"),
    REFUSED("huge_numbers", LOOP(ONE, "s, x, states = 1, sequences = 9223372036854775807"),
            GEMEL_BAD_ARGUMENT, "states = 1 and sequences = 9223372036854775807 do not fit"),
    REFUSED("too_few", LOOP(ONE, "s, states = 1, sequences = 1"), GEMEL_BAD_ARGUMENT,
            "1 values, and the body and its attributes ask for 2: 1 initial values, 1 sequences, 0 "
            "constants"),
    REFUSED("no_steps", LOOP(ONE, "s, x, states = 1, sequences = 1, limited = 1"),
            GEMEL_BAD_ARGUMENT, "ask for 3: steps, 1 initial values"),
    REFUSED("too_many", LOOP(ONE, "s, x, y, states = 1, sequences = 1"), GEMEL_BAD_TYPE,
            "input 2 is a size and no integer scalar"),
    REFUSED("surplus_size", LOOP(ONE, "s, x, 2:i64, states = 1, sequences = 1"), GEMEL_BAD_ARGUMENT,
            "input 2 is one too many: no attribute has it as a size"),
    REFUSED("scalar_sequence", LOOP(TWO, "x, s, sequences = 2"), GEMEL_BAD_TYPE,
            "sequence 1 is a scalar: it has no rows"),
    REFUSED("pytensor-2252/lengths", LOOP(TWO, "x, y, sequences = 2"), GEMEL_BAD_SHAPE,
            "sequence 1 has 4 rows, and 3 are expected"),
    REFUSED("length_of_sequence", LOOP(ONE, "s, y, states = 1, sequences = 1, length = 5"),
            GEMEL_BAD_SHAPE, "sequence 0 has 4 rows, and 5 are expected"),
    REFUSED("length_by_one",
            LOOP("(m: f64[]) { return y = m }", "m, sequences = 1, length = M + 1"),
            GEMEL_BAD_SHAPE, "sequence 0 has M rows, and M + 1 are expected"),
    REFUSED("length_below_0", LOOP("(s: f64[]) { return n = s }", "s, states = 1, length = -1"),
            GEMEL_BAD_SHAPE, "length is -1"),
    REFUSED("truncate_below_0", LOOP(ONE, "s, x, states = 1, sequences = 1, truncate = -1"),
            GEMEL_BAD_SHAPE, "truncate is -1"),
    REFUSED("no_length", LOOP("(s: f64[]) { return n = s }", "s, states = 1"), GEMEL_BAD_ARGUMENT,
            "a loop without sequences needs a length, limited or until"),
    REFUSED("stack_without_rows",
            LOOP("(s: f64[]) { return n = s, y = s, stop = s > 0 }", "s, states = 1, until = 1"),
            GEMEL_BAD_ARGUMENT, "values are stacked where there are sequences or a length"),
    REFUSED("no_results", LOOP("(x: f64[]) { }", "x, sequences = 1"), GEMEL_BAD_ARGUMENT,
            "the body has no outputs"),
    REFUSED("jax-9046/dtype",
            LOOP("(s: f64[], x: f64[]) { return n = cast(s + x, dtype = f32) }",
                 "s, x, states = 1, sequences = 1"),
            GEMEL_BAD_TYPE,
            "state s begins as f64[] and becomes f32[] (n): the types must be the same"),
    REFUSED("jax-9046/promoted",
            LOOP("(s: i32[], x: f64[]) { return n = s + x }", "i, x, states = 1, sequences = 1"),
            GEMEL_BAD_TYPE,
            "state s begins as i32[] and becomes f64[] (n): the types must be the same"),
    REFUSED("rank",
            LOOP("(s: f64[], x: f64[]) { return n = dimshuffle(s + x, order = [-1]) }",
                 "s, x, states = 1, sequences = 1"),
            GEMEL_BAD_TYPE,
            "state s begins as f64[] and becomes f64[1] (n): the types must be the same"),
    REFUSED("size",
            LOOP("(s: f64[3], x: f64[4]) { return n = x + 0 * sum(s) }",
                 "x, y, states = 1, length = 2"),
            GEMEL_BAD_TYPE,
            "state s begins as f64[3] and becomes f64[4] (n): the types must be the same"),
    REFUSED("size_grows",
            LOOP("(m: f64[K]) { return n = pad(m, 0, low = [1], high = [0]) }",
                 "m, states = 1, length = 2"),
            GEMEL_BAD_TYPE, "state m begins as f64[M] and becomes f64[M + 1] (n)"),
    REFUSED("until_dtype", LOOP(STOPS("s"), "s, x, states = 1, sequences = 1, until = 1"),
            GEMEL_BAD_TYPE, "with until, the body's last output (stop) is a bool scalar"),
    REFUSED("until_rank",
            LOOP("(s: f64[3], x: f64[]) { return n = s + x, stop = s > 1 }",
                 "x, x, states = 1, sequences = 1, until = 1"),
            GEMEL_BAD_TYPE, "with until, the body's last output (stop) is a bool scalar"),
    REFUSED("until_reverse",
            LOOP(STOPS("s > 0"), "s, x, states = 1, sequences = 1, until = 1, reverse = 1"),
            GEMEL_UNSUPPORTED, "until and reverse exclude each other"),
    REFUSED("steps_float", LOOP(ONE, "s, s, x, states = 1, sequences = 1, limited = 1"),
            GEMEL_BAD_TYPE, "the number of steps is an i64 scalar"),
    REFUSED("steps_i32", LOOP(ONE, "i, s, x, states = 1, sequences = 1, limited = 1"),
            GEMEL_BAD_TYPE, "the number of steps is an i64 scalar"),
    REFUSED("steps_vector", LOOP(ONE, "v, s, x, states = 1, sequences = 1, limited = 1"),
            GEMEL_BAD_TYPE, "the number of steps is an i64 scalar"),
    REFUSED("body_dtype", LOOP(ONE, "i, x, states = 1, sequences = 1"), GEMEL_BAD_TYPE,
            "the body's input s is f64[]"),
    REFUSED("body_rank", LOOP(ONE, "x, x, states = 1, sequences = 1"), GEMEL_BAD_TYPE,
            "the body's input s is f64[]"),
    REFUSED("row_rank",
            LOOP("(s: f64[], x: f64[1]) { return n = s }", "s, x, states = 1, sequences = 1"),
            GEMEL_BAD_TYPE, "the body's input x is f64[1]"),
    REFUSED("constant_size", LOOP("(c: f64[4]) { return n = c }", "x, length = 3"), GEMEL_BAD_SHAPE,
            "axis 0 of the body's input c: f64[4]"),
    REFUSED("symbol_of_no_axis",
            LOOP("(x: f64[], y: f64[K + 1]) { return z = x + sum(y) }", "x, y, sequences = 1"),
            GEMEL_BAD_TYPE, "the body's symbol K is the size of no axis of its inputs"),
    REFUSED("size_in_the_body", LOOP("(n: i64[]) { return y = arange(n = n) }", "v, sequences = 1"),
            GEMEL_UNSUPPORTED, "a size of the body's output y is known only inside the body"),
    REFUSED(
        "state_of_rank_16",
        "graph g(s: f64[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) {\n"
        "  last, all = scan(s, states = 1, length = 2, body =\n"
        "      graph (s: f64[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) { return n = s })\n"
        "  return last\n"
        "}\n",
        GEMEL_BAD_SHAPE, "a result of rank 17; at most 16 is supported"),
    REFUSED("no_body", "graph g(s: f64[]) { return r = scan(s, states = 1, length = 2) }\n",
            GEMEL_BAD_ARGUMENT, "body"),
};

void ct_register(void) {
  TEXT_SUITE("scan", values);
  TEXT_SUITE("scan", refusals);
}
