/* SPDX-License-Identifier: MIT
 *
 * Sums as linear combinations: trees of add, sub, neg and products with a constant (nary.h), whose
 * terms get coefficients. Three passes, for they give up different things.
 *
 * - integer_sums: integers wrap, so any order of a sum gives the same bits, and so do 3*x for
 *   x + x + x and nothing for x - x.
 * - normalize_sums: floats. Coefficients and constants that are multiples of 1/16 are added up,
 *   others stay apart; a tree with a sum that the dtype doesn't hold stays as it is. Terms that
 *   cancel stay as x - x, through which a NaN comes out.
 * - cancel_sums: the same without what cancels.
 */
#include <math.h>
#include "passes/instances.h"
#include "passes/nary.h"
#include "passes/passes.h"

enum { ADD, SUB, NEG, MUL };

/* A float of which a million may be added in f64 without rounding: a sixteenth's multiple that
 * isn't large. Others aren't added at all. */
static int is_simple(const gemel__nary *n, gemel__nary_factor x) {
  return n->form->integer || (fabs(x.real) <= 1 << 26 && x.real * 16 == nearbyint(x.real * 16));
}

static void add(const gemel__nary *n, gemel__nary_factor *into, gemel__nary_factor x) {
  into->bits = (into->bits + x.bits) & n->mask;
  into->real += x.real;
}

/* *FACTOR * X in the dtype of the tree at hand: 1; 0 if that isn't exact. */
static int times_exactly(const gemel__nary *n, gemel__nary_factor *factor, gemel__nary_factor x) {
  double product = factor->real * x.real;
  if (!n->form->integer &&
      (!gemel__nary_holds(n, product) || (fabs(product) < 1e-280 && product != 0) ||
       fma(factor->real, x.real, -product) != 0)) {
    return 0;
  }
  factor->bits = (factor->bits * x.bits) & n->mask;
  factor->real = product;
  return 1;
}

static gemel__nary_factor negated(const gemel__nary *n, gemel__nary_factor x) {
  return (gemel__nary_factor){(0 - x.bits) & n->mask, -x.real, 0};
}

/* A coefficient: of floats not 0, which keeps NaN and infinities. */
static int is_coefficient(const gemel__nary *n, gemel__ref value, gemel__nary_factor *number) {
  return gemel__nary_number(n, value, number) &&
         (n->form->integer || (isfinite(number->real) && number->real != 0));
}

static int takes(const gemel__nary *n, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(n->from, node, &count);
  gemel__nary_factor number;
  return n->from->nodes[node].op != n->ops[MUL] || is_coefficient(n, in[0], &number) ||
         is_coefficient(n, in[1], &number);
}

static int open(gemel__nary *n, uint32_t node, gemel__nary_factor factor) {
  uint32_t op = n->from->nodes[node].op, count;
  const gemel__ref *in = gemel__node_inputs(n->from, node, &count);
  gemel__nary_factor number;
  if (op == n->ops[MUL]) {
    int second = is_coefficient(n, in[1], &number) || !is_coefficient(n, in[0], &number);
    if (!times_exactly(n, &number, factor)) {
      return gemel__nary_term_add(n, (gemel__ref){node, 0}, factor);
    }
    n->cost += gemel__nary_weight(n, node);
    return gemel__nary_push(n, in[!second], number);
  }
  n->cost += gemel__nary_weight(n, node);
  if (op == n->ops[NEG]) {
    return gemel__nary_push(n, in[0], negated(n, factor));
  }
  /* the left one is looked at first: it lies on top */
  return gemel__nary_push(n, in[1], op == n->ops[SUB] ? negated(n, factor) : factor) ||
         gemel__nary_push(n, in[0], factor);
}

static int leaf(gemel__nary *n, gemel__ref value, gemel__nary_factor factor) {
  gemel__nary_factor number;
  if (gemel__nary_number(n, value, &number) && times_exactly(n, &number, factor) &&
      is_simple(n, number)) {
    add(n, &n->constant, number);
    return 0;
  }
  return gemel__nary_term_add(n, value, factor);
}

static int merge(const gemel__nary *n, gemel__nary_term *term, gemel__nary_factor factor) {
  if (!is_simple(n, term->factor) || !is_simple(n, factor)) {
    return 0;
  }
  add(n, &term->factor, factor);
  return 1;
}

/* ---- Coefficients ---- */

static int is_zero(const gemel__nary *n, gemel__nary_factor f) {
  return n->form->integer ? f.bits == 0 : f.real == 0;
}

static int is_one(const gemel__nary *n, gemel__nary_factor f) {
  return n->form->integer ? f.bits == 1 : f.real == 1;
}

static int is_minus_one(const gemel__nary *n, gemel__nary_factor f) {
  return n->form->integer ? f.bits == n->mask : f.real == -1;
}

/* 1 if a term with coefficient F is left out. */
static int is_gone(const gemel__nary *n, gemel__nary_factor f) {
  return is_zero(n, f) && (n->form->integer || n->form->cancel);
}

/* The terms of one type: how many there are, how many of them take a product or a difference, and
 * whether all are subtracted, so that their sum is. */
typedef struct term_group {
  uint32_t terms, more;
  int minus;
} term_group;

static void count_groups(gemel__nary *n, term_group *groups) {
  for (uint32_t g = 0; g < n->n_groups; g++) {
    groups[g] = (term_group){0, 0, 1};
  }
  for (size_t k = 0; k < n->n_terms; k++) {
    gemel__nary_factor f = n->terms[k].factor;
    term_group *g = &groups[n->terms[k].group];
    n->inexact |= !n->form->integer && !gemel__nary_holds(n, f.real);
    if (!is_gone(n, f)) {
      g->terms++;
      g->more += !is_one(n, f) && !is_minus_one(n, f);
      g->minus &= is_minus_one(n, f);
    }
  }
}

static double cost(gemel__nary *n) {
  term_group groups[GEMEL__NARY_GROUPS];
  gemel__extent all;
  int constant = !is_zero(n, n->constant), minus = 1, first = 1;
  double sum = 0, size = 0; /* SIZE: of what is summed up so far */
  all.rank = -1;
  n->inexact |= !n->form->integer && !gemel__nary_holds(n, n->constant.real);
  count_groups(n, groups);
  for (uint32_t k = 0; k < n->n_groups; k++) {
    uint32_t at = n->order[k];
    const term_group *g = &groups[at];
    if (g->terms == 0) {
      continue;
    }
    size = n->weights[at];
    sum += (g->terms - 1 + g->more) * size;
    if (n->n_groups > 1) {
      all = gemel__nary_join(n, all, at);
      size = gemel__nary_elements(all);
    }
    sum += first ? constant * size : size;
    minus &= g->minus;
    first = 0;
  }
  return sum + (minus && !constant) * size;
}

/* ---- Building ---- */

typedef struct sum_builder {
  gemel__nary *n;
  const gemel_value *values;
  gemel_graph *to;
  gemel_location where;
} sum_builder;

/* A sum in the making, or what it is to be subtracted from. */
typedef struct partial {
  gemel_value value; /* null: nothing yet */
  int minus;
} partial;

static gemel_value apply(const sum_builder *b, const char *op, gemel_value x, gemel_value y) {
  return gemel__nary_apply(b->to, op, x, y, b->where);
}

static partial plus(const sum_builder *b, partial a, partial x) {
  if (gemel_is_null(a.value)) {
    return x;
  }
  if (a.minus == x.minus) {
    return (partial){apply(b, "add", a.value, x.value), a.minus};
  }
  return (partial){a.minus ? apply(b, "sub", x.value, a.value) : apply(b, "sub", a.value, x.value),
                   0};
}

static partial term(const sum_builder *b, size_t k) {
  gemel__nary_factor f = b->n->terms[k].factor;
  gemel_value x = b->values[k];
  if (is_zero(b->n, f)) {
    x = apply(b, "sub", x, x);
  } else if (!is_one(b->n, f) && !is_minus_one(b->n, f)) {
    x = apply(b, "mul", x, gemel__nary_constant(b->n, b->to, f, b->where));
  }
  return (partial){x, is_minus_one(b->n, f)};
}

/* The terms of group G; what is subtracted comes last. */
static partial sum_group(const sum_builder *b, uint32_t g) {
  partial sum = {{NULL, 0, 0}, 0};
  for (int minus = 0; minus < 2; minus++) {
    for (size_t k = 0; k < b->n->n_terms; k++) {
      const gemel__nary_term *t = &b->n->terms[k];
      if (t->group == g && !is_gone(b->n, t->factor) && is_minus_one(b->n, t->factor) == minus) {
        sum = plus(b, sum, term(b, k));
      }
    }
  }
  return sum;
}

static gemel_value build(gemel__nary *n, const gemel_value *values, gemel_graph *to,
                         gemel_location where) {
  const gemel_value none = {NULL, 0, 0};
  sum_builder b = {n, values, to, where};
  partial sum = {none, 0}, constant = {none, 0};
  int pending = !is_zero(n, n->constant);
  for (uint32_t k = 0; k < n->n_groups; k++) {
    partial terms = sum_group(&b, n->order[k]);
    sum = gemel_is_null(terms.value) ? sum : plus(&b, sum, terms);
    if (pending && !gemel_is_null(sum.value)) { /* with the smallest */
      constant.value = gemel__nary_constant(n, to, n->constant, where);
      sum = plus(&b, sum, constant);
      pending = 0;
    }
  }
  if (gemel_is_null(sum.value)) {
    return gemel__nary_constant(n, to, n->constant, where);
  }
  return sum.minus ? apply(&b, "neg", sum.value, none) : sum.value;
}

/* ---- The passes ---- */

#define SUMS(is_integer, cancels)                                                                  \
  {                                                                                                \
    {"add", "sub", "neg", "mul"}, is_integer, cancels, {1, 1, 0}, {0, 0, 0}, takes, open, leaf,    \
        merge, cost, build                                                                         \
  }

gemel_status gemel__pass_integer_sums(gemel_edit *edit, const void *data, gemel_error *error) {
  static const gemel__nary_form form = SUMS(1, 1);
  (void)data;
  return gemel__nary_run(&form, edit, error);
}

gemel_status gemel__pass_normalize_sums(gemel_edit *edit, const void *data, gemel_error *error) {
  static const gemel__nary_form form = SUMS(0, 0);
  (void)data;
  return gemel__nary_run(&form, edit, error);
}

gemel_status gemel__pass_cancel_sums(gemel_edit *edit, const void *data, gemel_error *error) {
  static const gemel__nary_form form = SUMS(0, 1);
  (void)data;
  return gemel__nary_run(&form, edit, error);
}

/* ---- Instances ---- */

/* x and up to eleven more, plus and minus, some of them times a number; and one of them again. */
gemel_status gemel__generate_integer_sums(gemel_graph *graph, uint64_t (*random)(void *user),
                                          void *user, const void *data) {
  gemel_value in[3], sum;
  gemel__drawing d = gemel__draw_start(graph, random, user, 1, in);
  (void)data;
  sum = in[0];
  for (uint64_t k = gemel__draw_below(&d, 11) + 1; k > 0; k--) {
    gemel_value term = in[gemel__draw_below(&d, 3)];
    if (gemel__draw_below(&d, 4) == 0) {
      term = gemel__draw_apply(&d, "mul", in[gemel__draw_below(&d, 2)], in[2]);
    }
    sum = gemel__draw_apply(&d, gemel__draw_below(&d, 2) ? "add" : "sub", sum, term);
  }
  return gemel_output(gemel__draw_apply(&d, "sub", sum, in[0]), "z");
}

/* 3 * x - x + y + c ± (x, y or c) - c. */
gemel_status gemel__generate_normalize_sums(gemel_graph *graph, uint64_t (*random)(void *user),
                                            void *user, const void *data) {
  gemel_value in[3], sum;
  gemel__drawing d = gemel__draw_start(graph, random, user, 0, in);
  (void)data;
  sum = gemel__draw_apply(&d, "sub", gemel__draw_apply(&d, "mul", in[0], gemel__draw_number(&d, 3)),
                          in[0]);
  sum = gemel__draw_apply(&d, "add", gemel__draw_apply(&d, "add", sum, in[1]), in[2]);
  sum = gemel__draw_apply(&d, gemel__draw_below(&d, 2) ? "add" : "sub", sum,
                          in[gemel__draw_below(&d, 3)]);
  return gemel_output(gemel__draw_apply(&d, "sub", sum, in[2]), "z");
}

/* x + y ± c - x, or without c. */
gemel_status gemel__generate_cancel_sums(gemel_graph *graph, uint64_t (*random)(void *user),
                                         void *user, const void *data) {
  gemel_value in[3], sum;
  gemel__drawing d = gemel__draw_start(graph, random, user, 0, in);
  (void)data;
  sum = gemel__draw_apply(&d, "add", in[0], in[1]);
  if (gemel__draw_below(&d, 2)) {
    sum = gemel__draw_apply(&d, gemel__draw_below(&d, 2) ? "add" : "sub", sum, in[2]);
  }
  return gemel_output(gemel__draw_apply(&d, "sub", sum, in[0]), "z");
}
