/* SPDX-License-Identifier: MIT
 *
 * Products of powers: trees of mul, div, neg and sqr (nary.h), whose terms get exponents, above and
 * below the bar. They are built by squaring, all terms of a side at once: x^5 y^4 is
 * x * sqr(sqr(x * y)). Three passes, for they give up different things.
 *
 * - integer_products: integers wrap, so any order of a product gives the same bits.
 * - normalize_products: floats. There is one division but for quotients below the bar whose own
 *   divisor may be 0, constants are multiplied and, where that is exact, divided; a tree with a
 *   product that the dtype doesn't hold stays as it is. A term that stands on both sides of the
 *   bar, and isn't 0, is reduced but for a last x / x, through which a NaN comes out.
 * - cancel_products: the same without what cancels.
 */
#include <math.h>
#include "rules/facts.h"
#include "passes/instances.h"
#include "passes/nary.h"
#include "passes/passes.h"

enum { MUL, SQR, NEG, DIV };
enum { DIVISION = 4 }; /* costs as much as so many products */

static const double MOST = 1 << 30; /* an exponent */

/* *INTO * X; a number that isn't exact leaves the tree as it is. */
static void times_number(gemel__nary *n, double *into, double x) {
  double product = *into * x;
  n->inexact |= !isfinite(product) || fabs(product) < 1e-280 || fma(*into, x, -product) != 0;
  *into = product;
}

static int takes(const gemel__nary *n, uint32_t node) {
  (void)n, (void)node;
  return 1;
}

static gemel__nary_factor twice(gemel__nary_factor f) {
  return (gemel__nary_factor){0, 2 * f.real, 2 * f.below};
}

static gemel__nary_factor inverse(gemel__nary_factor f) {
  return (gemel__nary_factor){0, f.below, f.real};
}

static int is_odd(double exponent) {
  return fmod(exponent, 2) != 0;
}

static void negate(gemel__nary *n) {
  n->constant.real = -n->constant.real;
  n->constant.bits = (0 - n->constant.bits) & n->mask;
}

/* 1 if a NODE that stands there with FACTOR stays as it is: a square whose exponents would be too
 * large, and a quotient y / z below the bar unless z isn't 0, for x / (y / z) has no value at z = 0
 * where x z / y has one. */
static int stays(const gemel__nary *n, uint32_t op, const gemel__ref *in,
                 gemel__nary_factor factor) {
  if (op == n->ops[SQR]) {
    return factor.real + factor.below > MOST / 2;
  }
  return op == n->ops[DIV] && factor.below > 0 && !(gemel__facts(n->from, in[1]) & GEMEL__NONZERO);
}

static int open(gemel__nary *n, uint32_t node, gemel__nary_factor factor) {
  uint32_t op = n->from->nodes[node].op, count;
  const gemel__ref *in = gemel__node_inputs(n->from, node, &count);
  if (stays(n, op, in, factor)) {
    return gemel__nary_term_add(n, (gemel__ref){node, 0}, factor);
  }
  n->cost += (op == n->ops[DIV] ? DIVISION : 1) * gemel__nary_weight(n, node);
  if (op == n->ops[SQR]) {
    return gemel__nary_push(n, in[0], twice(factor));
  }
  if (op == n->ops[NEG]) {
    if (is_odd(factor.real + factor.below)) {
      negate(n);
    }
    return gemel__nary_push(n, in[0], factor);
  }
  /* the left one is looked at first: it lies on top */
  return gemel__nary_push(n, in[1], op == n->ops[DIV] ? inverse(factor) : factor) ||
         gemel__nary_push(n, in[0], factor);
}

/* An integer to a power, by squaring. */
static uint64_t integer_power(uint64_t x, double exponent) {
  uint64_t power = 1;
  for (uint64_t e = (uint64_t)exponent; e > 0; e >>= 1) {
    power *= e & 1 ? x : 1;
    x *= x;
  }
  return power;
}

static int leaf(gemel__nary *n, gemel__ref value, gemel__nary_factor factor) {
  gemel__nary_factor number;
  if (gemel__nary_number(n, value, &number)) {
    if (n->form->integer) {
      n->constant.bits = (n->constant.bits * integer_power(number.bits, factor.real)) & n->mask;
      return 0;
    }
    if (factor.real + factor.below == 1 && number.real != 0 && isfinite(number.real)) {
      times_number(n, factor.real > 0 ? &n->constant.real : &n->constant.below, number.real);
      return 0;
    }
  }
  return gemel__nary_term_add(n, value, factor);
}

static int merge(const gemel__nary *n, gemel__nary_term *term, gemel__nary_factor factor) {
  double above = term->factor.real + factor.real, below = term->factor.below + factor.below;
  (void)n;
  if (above + below > MOST) {
    return 0;
  }
  term->factor.real = above;
  term->factor.below = below;
  return 1;
}

/* ---- What is left of terms and constants ---- */

/* Reduces what isn't 0, and the constants. */
static void reduce(gemel__nary *n) {
  double quotient = n->constant.real / n->constant.below;
  for (size_t k = 0; k < n->n_terms; k++) {
    gemel__nary_term *t = &n->terms[k];
    double both = fmin(t->factor.real, t->factor.below);
    if (both == 0 || !(gemel__facts(n->from, t->value) & GEMEL__NONZERO)) {
      continue;
    }
    both -= t->factor.real == t->factor.below && !n->form->cancel;
    t->factor.real -= both;
    t->factor.below -= both;
  }
  if (!n->form->integer && gemel__nary_holds(n, quotient) && fabs(quotient) >= 1e-280 &&
      fma(quotient, n->constant.below, -n->constant.real) == 0) {
    n->constant.real = quotient;
    n->constant.below = 1;
  }
}

static double exponent_of(const gemel__nary_term *t, int below) {
  return below ? t->factor.below : t->factor.real;
}

/* One side of the bar, the terms of one type: how many there are over all bits of exponents, and
 * the bits of the longest. */
typedef struct factor_group {
  uint32_t factors;
  int bits;
} factor_group;

static void count_groups(const gemel__nary *n, int below, factor_group *groups) {
  for (uint32_t g = 0; g < n->n_groups; g++) {
    groups[g] = (factor_group){0, 0};
  }
  for (size_t k = 0; k < n->n_terms; k++) {
    uint64_t e = (uint64_t)exponent_of(&n->terms[k], below);
    factor_group *g = &groups[n->terms[k].group];
    for (int bit = 0; e >> bit != 0; bit++) {
      g->factors += e >> bit & 1;
      g->bits = bit + 1 > g->bits ? bit + 1 : g->bits;
    }
  }
}

static int is_one(const gemel__nary *n, gemel__nary_factor c) {
  return n->form->integer ? c.bits == 1 : c.real == 1;
}

static int is_minus_one(const gemel__nary *n, gemel__nary_factor c) {
  return n->form->integer ? c.bits == n->mask : c.real == -1;
}

/* What a side costs, with a CONSTANT that its smallest group is multiplied with; *ALL is what it
 * is. */
static double side_cost(const gemel__nary *n, int below, int constant, gemel__extent *all) {
  factor_group groups[GEMEL__NARY_GROUPS];
  double sum = 0;
  all->rank = -1;
  count_groups(n, below, groups);
  for (uint32_t k = 0; k < n->n_groups; k++) {
    const factor_group *g = &groups[n->order[k]];
    int first = all->rank < 0;
    if (g->factors == 0) {
      continue;
    }
    *all = gemel__nary_join(n, *all, n->order[k]);
    sum += (g->factors - 1 + (uint32_t)g->bits - 1) * n->weights[n->order[k]];
    sum += first ? constant * gemel__nary_elements(*all) : gemel__nary_elements(*all);
  }
  return sum;
}

static gemel__extent larger(gemel__extent a, gemel__extent b) {
  for (int k = 0; k < b.rank; k++) {
    a.sizes[k] = k < a.rank && a.sizes[k] > b.sizes[k] ? a.sizes[k] : b.sizes[k];
  }
  a.rank = b.rank > a.rank ? b.rank : a.rank;
  return a;
}

static double cost(gemel__nary *n) {
  gemel__extent above, below;
  reduce(n);
  if (n->form->integer && n->constant.bits == 0) {
    return 0;
  }
  n->inexact |= !n->form->integer && (!gemel__nary_holds(n, n->constant.real) ||
                                      !gemel__nary_holds(n, n->constant.below));
  int minus = is_minus_one(n, n->constant);
  double sum = side_cost(n, 0, !minus && !is_one(n, n->constant), &above);
  sum += side_cost(n, 1, n->constant.below != 1, &below);
  minus &= above.rank >= 0; /* else it is the dividend */
  int bar = below.rank >= 0 || n->constant.below != 1;
  return sum + (minus + bar * DIVISION) * gemel__nary_elements(larger(above, below));
}

/* ---- Building ---- */

typedef struct product_builder {
  const gemel__nary *n;
  const gemel_value *values;
  gemel_graph *to;
  gemel_location where;
} product_builder;

static gemel_value apply(const product_builder *b, const char *op, gemel_value x, gemel_value y) {
  return gemel__nary_apply(b->to, op, x, y, b->where);
}

static gemel_value number(const product_builder *b, double real) {
  return gemel__nary_constant(b->n, b->to, (gemel__nary_factor){b->n->constant.bits, real, 0},
                              b->where);
}

/* PRODUCT (null: nothing yet) times X. */
static gemel_value times(const product_builder *b, gemel_value product, gemel_value x) {
  return gemel_is_null(product) ? x : apply(b, "mul", product, x);
}

/* The terms of group G on one side; null if there are none. */
static gemel_value powers(const product_builder *b, int below, uint32_t g, int bits) {
  const gemel_value none = {NULL, 0, 0};
  gemel_value product = none;
  for (int bit = bits; bit-- > 0;) {
    product = gemel_is_null(product) ? product : apply(b, "sqr", product, none);
    for (size_t k = 0; k < b->n->n_terms; k++) {
      const gemel__nary_term *t = &b->n->terms[k];
      if (t->group == g && ((uint64_t)exponent_of(t, below) >> bit & 1)) {
        product = times(b, product, b->values[k]);
      }
    }
  }
  return product;
}

/* The terms of a side, the smallest times CONSTANT unless that is null; null: there is nothing. */
static gemel_value side(const product_builder *b, int below, gemel_value constant) {
  factor_group groups[GEMEL__NARY_GROUPS];
  gemel_value all = {NULL, 0, 0};
  count_groups(b->n, below, groups);
  for (uint32_t k = 0; k < b->n->n_groups; k++) {
    uint32_t g = b->n->order[k];
    if (groups[g].factors == 0) {
      continue;
    }
    int first = gemel_is_null(all);
    all = times(b, all, powers(b, below, g, groups[g].bits));
    all = first && !gemel_is_null(constant) ? apply(b, "mul", all, constant) : all;
  }
  return gemel_is_null(all) ? constant : all;
}

/* The sign comes last. */
static gemel_value build(gemel__nary *n, const gemel_value *values, gemel_graph *to,
                         gemel_location where) {
  const gemel_value none = {NULL, 0, 0};
  product_builder b = {n, values, to, where};
  gemel__nary_factor c = n->constant;
  int minus = is_minus_one(n, c);
  if (n->form->integer && c.bits == 0) {
    return number(&b, 0);
  }
  gemel_value above = side(&b, 0, minus || is_one(n, c) ? none : number(&b, c.real));
  gemel_value below = side(&b, 1, c.below != 1 ? number(&b, c.below) : none);
  if (gemel_is_null(above)) {
    above = number(&b, c.real);
    minus = 0;
  }
  above = gemel_is_null(below) ? above : apply(&b, "div", above, below);
  return minus ? apply(&b, "neg", above, none) : above;
}

/* ---- The passes ---- */

#define PRODUCTS(is_integer, cancels, division)                                                    \
  {                                                                                                \
    {"mul", "sqr", "neg", division}, is_integer, cancels, {0, 1, 0}, {1, 1, 1}, takes, open, leaf, \
        merge, cost, build                                                                         \
  }

gemel_status gemel__pass_integer_products(gemel_edit *edit, const void *data, gemel_error *error) {
  static const gemel__nary_form form = PRODUCTS(1, 1, NULL);
  (void)data;
  return gemel__nary_run(&form, edit, error);
}

gemel_status gemel__pass_normalize_products(gemel_edit *edit, const void *data,
                                            gemel_error *error) {
  static const gemel__nary_form form = PRODUCTS(0, 0, "div");
  (void)data;
  return gemel__nary_run(&form, edit, error);
}

gemel_status gemel__pass_cancel_products(gemel_edit *edit, const void *data, gemel_error *error) {
  static const gemel__nary_form form = PRODUCTS(0, 1, "div");
  (void)data;
  return gemel__nary_run(&form, edit, error);
}

/* ---- Instances ---- */

/* x x x x. */
static gemel_value fourth(const gemel__drawing *d, gemel_value x) {
  return gemel__draw_apply(d, "mul",
                           gemel__draw_apply(d, "mul", gemel__draw_apply(d, "mul", x, x), x), x);
}

/* x x x x, and up to eight more factors, some negated. */
gemel_status gemel__generate_integer_products(gemel_graph *graph, uint64_t (*random)(void *user),
                                              void *user, const void *data) {
  const gemel_value none = {NULL, 0, 0};
  gemel_value in[3], product;
  gemel__drawing d = gemel__draw_start(graph, random, user, 1, in);
  (void)data;
  product = fourth(&d, in[0]);
  for (uint64_t k = gemel__draw_below(&d, 9); k > 0; k--) {
    gemel_value factor = in[gemel__draw_below(&d, 3)];
    product = gemel__draw_apply(
        &d, "mul", product,
        gemel__draw_below(&d, 4) ? factor : gemel__draw_apply(&d, "neg", factor, none));
  }
  return gemel_output(product, "z");
}

/* max(v, 1), which isn't 0, for one more input v. */
static gemel_value nonzero(const gemel__drawing *d, gemel_value like) {
  gemel_value v = gemel_input(d->graph, "v", gemel_value_type(like));
  return gemel__draw_apply(d, "maximum", v, gemel__draw_number(d, 1));
}

/* x / (y / z). */
static gemel_value by_quotient(const gemel__drawing *d, gemel_value x, gemel_value y,
                               gemel_value z) {
  return gemel__draw_apply(d, "div", x, gemel__draw_apply(d, "div", y, z));
}

/* x x x x, and x c u u / u / y / (y or c); or y / (x / y), and y / (x / u); with u = max(v, 1). */
gemel_status gemel__generate_normalize_products(gemel_graph *graph, uint64_t (*random)(void *user),
                                                void *user, const void *data) {
  gemel_value in[3], product, u;
  gemel__drawing d = gemel__draw_start(graph, random, user, 0, in);
  (void)data;
  u = nonzero(&d, in[1]);
  if (gemel__draw_below(&d, 3) == 0) {
    gemel_output(by_quotient(&d, in[1], in[0], in[1]), "z");
    return gemel_output(by_quotient(&d, in[1], in[0], u), "w");
  }
  product = gemel__draw_apply(
      &d, "mul", gemel__draw_apply(&d, "mul", gemel__draw_apply(&d, "mul", in[0], in[2]), u), u);
  product = gemel__draw_apply(&d, "div", gemel__draw_apply(&d, "div", product, u), in[1]);
  product = gemel__draw_apply(&d, "div", product, in[1 + gemel__draw_below(&d, 2)]);
  gemel_output(fourth(&d, in[0]), "z");
  return gemel_output(product, "w");
}

/* x x x x u / u, and x u / y / u / c, or without c, with u = max(v, 1). */
gemel_status gemel__generate_cancel_products(gemel_graph *graph, uint64_t (*random)(void *user),
                                             void *user, const void *data) {
  gemel_value in[3], product, u;
  gemel__drawing d = gemel__draw_start(graph, random, user, 0, in);
  (void)data;
  u = nonzero(&d, in[1]);
  product = gemel__draw_apply(
      &d, "div", gemel__draw_apply(&d, "div", gemel__draw_apply(&d, "mul", in[0], u), in[1]), u);
  product = gemel__draw_below(&d, 2) ? gemel__draw_apply(&d, "div", product, in[2]) : product;
  gemel_output(gemel__draw_apply(&d, "div", gemel__draw_apply(&d, "mul", fourth(&d, in[0]), u), u),
               "z");
  return gemel_output(product, "w");
}
