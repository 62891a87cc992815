/* SPDX-License-Identifier: MIT
 *
 * Random graphs, as text, of sums and maxima of rows and what is elementwise of these and of the
 * rows: in the shape of the rows F, or of one element a row, with the last axis kept (K) or left
 * out (L). On small integers all is exact, in whatever order it is computed.
 */
#ifndef GEMEL_TESTS_ROW_GRAPHS_H
#define GEMEL_TESTS_ROW_GRAPHS_H

#include <stdarg.h>
#include <stdio.h>
#include "base/random.h"

enum { ROWS_SHAPE, ROWS_KEPT, ROWS_LEFT_OUT, ROW_KINDS, ROW_VALUES = 48 };

typedef struct row_graph {
  gemel__random *random;
  char text[8192], names[ROW_KINDS][ROW_VALUES][8];
  int n[ROW_KINDS], made, rank, at;
  int64_t outer[2], length;
  const char *dtype;
} row_graph;

static void say_row(row_graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say_row(row_graph *g, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g->at += vsnprintf(g->text + g->at, sizeof g->text - (size_t)g->at, format, arguments);
  va_end(arguments);
}

static int row_chance(row_graph *g, int of) {
  return gemel__random_below(g->random, (uint64_t)of) == 0;
}

static const char *row_any(row_graph *g, int kind) {
  return g->names[kind][gemel__random_below(g->random, (uint64_t)g->n[kind])];
}

static const char *row_new(row_graph *g, int kind) {
  char *name = g->names[kind][g->n[kind]++];
  snprintf(name, sizeof g->names[0][0], "v%d", g->made++);
  return name;
}

/* An input of KIND, or of one element for each of a row if KIND is ROW_KINDS. */
static void row_input(row_graph *g, int kind, const char *name) {
  say_row(g, "%s%s: %s[", g->text[g->at - 1] == '(' ? "" : ", ", name, g->dtype);
  for (int k = 0; k < g->rank - 1 && kind != ROW_KINDS; k++) {
    say_row(g, k == 0 ? "%lld" : ", %lld", (long long)g->outer[k]);
  }
  if (kind != ROWS_LEFT_OUT) {
    say_row(g, kind == ROW_KINDS || g->rank == 1 ? "%lld" : ", %lld",
            kind == ROWS_KEPT ? 1 : (long long)g->length);
  }
  say_row(g, "]");
  if (kind != ROW_KINDS) {
    snprintf(g->names[kind][g->n[kind]++], sizeof g->names[0][0], "%s", name);
  }
}

/* A sum or maximum of F, brought to few digits where more could be lost. */
static void row_reduction(row_graph *g) {
  int kept = row_chance(g, 2), largest = row_chance(g, 3);
  const char *of = row_any(g, ROWS_SHAPE);
  const char *name = row_new(g, kept ? ROWS_KEPT : ROWS_LEFT_OUT);
  say_row(g, "  %s = %s(%s, axes = [-1], keepdims = %d)%s\n", name, largest ? "max" : "sum", of,
          kept, largest ? "" : " % 5");
}

static void row_elementwise(row_graph *g, int kind) {
  static const char *const forms[] = {"%s - %s", "maximum(%s, %s)", "%s + %s % 3",
                                      "minimum(abs(%s), %s + 2)"};
  size_t form = (size_t)gemel__random_below(g->random, sizeof forms / sizeof *forms);
  const char *x = row_any(g, kind), *y = row_any(g, kind);
  if (kind == ROWS_SHAPE) {
    y = row_chance(g, 2) ? row_any(g, ROWS_KEPT) : row_chance(g, 4) ? "p" : y;
    y = g->rank == 2 && g->outer[0] == g->length && row_chance(g, 4) ? row_any(g, ROWS_LEFT_OUT)
                                                                     : y;
  }
  char right[64];
  snprintf(right, sizeof right, forms[form], x, y);
  say_row(g, "  %s = (%s) %% 7\n", row_new(g, kind), right);
}

static void row_view(row_graph *g) {
  int adds = row_chance(g, 2);
  const char *from = row_any(g, adds ? ROWS_LEFT_OUT : ROWS_KEPT);
  say_row(g, "  %s = dimshuffle(%s, order = [", row_new(g, adds ? ROWS_KEPT : ROWS_LEFT_OUT), from);
  for (int k = 0; k < g->rank - 1; k++) {
    say_row(g, k == 0 ? "%d" : ", %d", k);
  }
  say_row(g, adds ? g->rank > 1 ? ", -1])\n" : "-1])\n" : "])\n");
}

/* Makes a graph of G->RANDOM's, G->DTYPE's. */
static void make_row_graph(row_graph *g) {
  static const int64_t lengths[] = {2, 3, 4, 7, 8, 12, 16, 33, 64, 100, 256, 516, 1024, 2050, 4096};
  g->at = g->made = 0;
  g->n[0] = g->n[1] = g->n[2] = 0;
  g->rank = (int)gemel__random_between(g->random, 1, 3);
  g->length = lengths[gemel__random_below(g->random, sizeof lengths / sizeof *lengths)];
  g->outer[0] = gemel__random_between(g->random, 1, g->length > 300 ? 3 : 40);
  g->outer[1] =
      row_chance(g, 3) && g->length < 40 ? g->length : gemel__random_between(g->random, 1, 4);
  g->outer[0] = g->rank == 2 && row_chance(g, 3) && g->length < 40 ? g->length : g->outer[0];
  say_row(g, "graph f(");
  row_input(g, ROWS_SHAPE, "x");
  row_input(g, ROWS_SHAPE, "y");
  row_input(g, ROWS_KEPT, "k");
  row_input(g, ROWS_LEFT_OUT, "l");
  row_input(g, ROW_KINDS, "p");
  say_row(g, ") {\n");
  int statements = (int)gemel__random_between(g->random, 2, 24);
  for (int s = 0; s < statements; s++) {
    int what = (int)gemel__random_below(g->random, 8);
    if (what < 2) {
      row_reduction(g);
    } else if (what < 3) {
      row_view(g);
    } else {
      row_elementwise(g, what < 6 ? ROWS_SHAPE : what - 5);
    }
  }
  row_reduction(g);
  row_elementwise(g, ROWS_SHAPE);
  say_row(g, "  return a = %s, b = %s, c = %s, d = %s, e = %s\n}\n", g->names[0][g->n[0] - 1],
          row_any(g, ROWS_SHAPE), row_any(g, ROWS_KEPT), row_any(g, ROWS_LEFT_OUT),
          row_any(g, ROWS_SHAPE));
}

#endif
