/* SPDX-License-Identifier: MIT
 *
 * Are two elements the same as sums? In the reals and in the rings of integers an element is
 * multiplied out to parts: a number times factors, summed over bound indices where guards hold. So
 * that sums are linear, that sums of sums are one sum, and that a sum over a join or a pad is that
 * of its parts, needs no proof.
 */
#include <string.h>
#include "unbounded/equal.h"
#include "unbounded/parts.h"

/* ---- Multiplying out ---- */

/* Addends FIRST ... of X times what the term A is. */
static void multiply_by(gemel__parts *x, uint32_t first, gemel__pterm a, int depth) {
  uint32_t middle = x->count;
  gemel__expand_sum(x, a, depth);
  gemel__parts_multiply(x, first, middle);
}

/* The term A where GUARD holds, NUMBER times. */
static void expand_where(gemel__parts *x, gemel__pterm a, gemel__pterm guard, int64_t number,
                         int depth) {
  uint32_t first = x->count;
  gemel__expand_sum(x, a, depth);
  gemel__parts_scale(x, first, number, 1);
  for (uint32_t k = first; k < x->count; k++) {
    gemel__part_guard(x, &x->list[k], guard);
  }
}

/* A choice by one comparison has a part for each arm. One by a window is its second arm everywhere,
 * and the difference of the two within: so no part is about all that lies outside. */
static void expand_choice(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm truth = gemel__p_operand(t, a, 0), inner = gemel__p_operand(t, a, 1),
               outer = gemel__p_operand(t, a, 2);
  uint32_t first = x->count;
  expand_where(x, inner, truth, 1, depth);
  if (t->nodes[truth].kind == GEMEL__P_AND) {
    expand_where(x, outer, truth, -1, depth);
    gemel__expand_sum(x, outer, depth);
    gemel__parts_merge(x, first);
  } else {
    expand_where(x, outer, gemel__p_not(t, truth), 1, depth);
  }
}

static void expand_fold(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__pterm symbols[GEMEL__PAXES];
  uint32_t first = x->count;
  gemel__expand_sum(x, gemel__p_unfold(&x->s->terms, a, symbols), depth);
  gemel__parts_bind(x, first, a, symbols);
}

/* If A is an element at the place of the largest of the elements that are so read: the maximum. */
static gemel__pterm largest(gemel__pterms *t, gemel__pterm a) {
  const gemel__pterm_node n = t->nodes[a];
  for (uint32_t k = 0; k < n.count; k++) {
    gemel__pterm integer = t->operands[n.first + k], symbol;
    gemel__pterm fold = gemel__p_calls(t, integer, "integer") ? gemel__p_operand(t, integer, 0) : 0;
    if (fold != 0 && t->nodes[fold].kind == GEMEL__P_FOLD && t->nodes[fold].count == 3 &&
        strcmp(t->nodes[fold].name, "argmax") == 0) {
      gemel__pterm body = gemel__p_unfold(t, fold, &symbol), size = gemel__p_operand(t, fold, 2);
      if (gemel__p_replace(t, body, 1, &symbol, &integer) == a) {
        return gemel__p_fold(t, (gemel__pterm_sort)n.sort, "max", body, 1, &symbol, &size);
      }
    }
  }
  return 0;
}

/* A call of which nothing is known here, but that it is a function. */
static void expand_opaque(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__pterm lifted = gemel__p_lifted(&x->s->terms, a), maximum = largest(&x->s->terms, a);
  if (lifted == 0) {
    gemel__parts_factor(x, maximum != 0 ? maximum : a);
  } else {
    gemel__expand_sum(x, lifted, depth);
  }
}

/* 1 if a cast from FROM to TO keeps sums and products: to reals that hold as much, and to a ring of
 * no more bits. */
static int keeps_sums(gemel_dtype from, gemel_dtype to) {
  gemel_kind kind = gemel_dtype_kind(from), target = gemel_dtype_kind(to);
  if (kind == GEMEL_KIND_FLOAT && target == GEMEL_KIND_FLOAT) {
    return from == to || to == GEMEL_F64 || (to == GEMEL_F32 && from != GEMEL_F64);
  }
  return kind != GEMEL_KIND_FLOAT && target != GEMEL_KIND_FLOAT && kind != GEMEL_KIND_BOOL &&
         target != GEMEL_KIND_BOOL && gemel_dtype_size(to) <= gemel_dtype_size(from);
}

/* 1 if A is an integer of the graph as an element of 64 bits, which hold all of them. */
static int is_wide_integer(const gemel__pterms *t, gemel__pterm a) {
  gemel_dtype dtype;
  return gemel__p_calls(t, a, "element") && gemel__psort_dtype(t->nodes[a].sort, &dtype) &&
         (dtype == GEMEL_I64 || dtype == GEMEL_U64);
}

/* FACTOR, cast to SORT; what was cast from there before is itself again. */
static gemel__pterm cast_factor(gemel__pterms *t, gemel__pterm factor, gemel__pterm_sort sort) {
  gemel__pterm inner = gemel__p_calls(t, factor, "cast") ? gemel__p_operand(t, factor, 0) : 0;
  if (t->nodes[factor].sort == sort) {
    return factor;
  }
  return inner != 0 && t->nodes[inner].sort == sort ? inner
                                                    : gemel__p_call(t, sort, "cast", 0, 1, &factor);
}

static void expand_cast(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm inner = gemel__p_operand(t, a, 0);
  gemel__pterm_sort sort = (gemel__pterm_sort)t->nodes[a].sort;
  gemel_dtype from, to;
  uint32_t first = x->count;
  if (!gemel__psort_dtype(t->nodes[inner].sort, &from) || !gemel__psort_dtype((int)sort, &to) ||
      (!keeps_sums(from, to) && !is_wide_integer(t, inner))) {
    expand_opaque(x, a, depth);
    return;
  }
  if (is_wide_integer(t, inner)) {
    gemel__pterm integer = gemel__p_operand(t, inner, 0);
    gemel__expand_sum(x, gemel__p_call(t, sort, "element", 0, 1, &integer), depth);
    return;
  }
  gemel__expand_sum(x, inner, depth);
  for (uint32_t k = first; k < x->count; k++) {
    for (uint32_t i = 0; i < x->list[k].n_factors && !x->is_real; i++) {
      x->list[k].factors[i] = cast_factor(t, x->list[k].factors[i], sort);
    }
  }
}

/* An integer of the graph: a polynomial, in every dtype. */
static void expand_integer(gemel__parts *x, gemel__pterm a) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm integer = gemel__p_operand(t, a, 0);
  const gemel__pterm_node n = t->nodes[integer];
  uint32_t products = n.kind == GEMEL__P_SUM ? n.count : n.kind != GEMEL__P_NUMBER;
  for (uint32_t k = 0; k < products; k++) {
    gemel__pterm product = n.kind == GEMEL__P_SUM ? gemel__p_operand(t, integer, k) : integer;
    int several = t->nodes[product].kind == GEMEL__P_PRODUCT;
    gemel__part *one = gemel__part_new(x);
    for (uint32_t i = 0; one != NULL && i < (several ? t->nodes[product].count : 1); i++) {
      gemel__pterm factor = several ? gemel__p_operand(t, product, i) : product;
      gemel__part_factor(
          x, one, gemel__p_call(t, (gemel__pterm_sort)t->nodes[a].sort, "element", 0, 1, &factor));
    }
    if (one != NULL && n.kind == GEMEL__P_SUM) {
      gemel__part_scale(x, one, t->coefficients[n.first + k], 1);
    }
  }
  gemel__part *constant = n.value != 0 && (n.kind == GEMEL__P_SUM || n.kind == GEMEL__P_NUMBER)
                              ? gemel__part_new(x)
                              : NULL;
  if (constant != NULL) {
    gemel__part_set(x, constant, n.value, 1);
  }
}

static void expand_call(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  uint32_t first = x->count;
  if (gemel__p_calls(t, a, "add") || gemel__p_calls(t, a, "sub")) {
    gemel__expand_sum(x, gemel__p_operand(t, a, 0), depth);
    first = x->count;
    gemel__expand_sum(x, gemel__p_operand(t, a, 1), depth);
    gemel__parts_scale(x, first, gemel__p_calls(t, a, "sub") ? -1 : 1, 1);
  } else if (gemel__p_calls(t, a, "neg")) {
    gemel__expand_sum(x, gemel__p_operand(t, a, 0), depth);
    gemel__parts_scale(x, first, -1, 1);
  } else if (gemel__p_calls(t, a, "mul") || gemel__p_calls(t, a, "sqr")) {
    gemel__expand_sum(x, gemel__p_operand(t, a, 0), depth);
    multiply_by(x, first, gemel__p_operand(t, a, gemel__p_calls(t, a, "mul")), depth);
  } else if (gemel__p_calls(t, a, "div") && x->is_real) {
    gemel__expand_sum(x, gemel__p_operand(t, a, 0), depth);
    gemel__expand_quotient(x, first, gemel__p_operand(t, a, 1), depth);
  } else if (gemel__p_calls(t, a, "inverse")) {
    gemel__part_new(x);
    gemel__expand_quotient(x, first, gemel__p_operand(t, a, 0), depth);
  } else if (gemel__p_calls(t, a, "exp") && x->is_real && gemel__p_lifted(t, a) == 0) {
    gemel__expand_exp(x, a, depth);
  } else if (gemel__p_calls(t, a, "log") && x->is_real && gemel__p_lifted(t, a) == 0) {
    gemel__expand_log(x, a, depth);
  } else if (gemel__p_calls(t, a, "cast")) {
    expand_cast(x, a, depth);
  } else if (gemel__p_calls(t, a, "element")) {
    expand_integer(x, a);
  } else {
    expand_opaque(x, a, depth);
  }
}

/* Adds the parts of A to X. */
void gemel__expand_sum(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  int64_t number, divisor;
  if (x->failed || a == 0 || depth > GEMEL__SAME_DEPTH) {
    x->failed = 1;
  } else if (gemel__p_literal_number(t, a, &number, &divisor)) {
    gemel__part *one = number != 0 ? gemel__part_new(x) : NULL;
    if (one != NULL) {
      gemel__part_set(x, one, number, divisor);
    }
  } else if (t->nodes[a].kind == GEMEL__P_CHOICE) {
    expand_choice(x, a, depth + 1);
  } else if (t->nodes[a].kind == GEMEL__P_FOLD &&
             (strcmp(t->nodes[a].name, "sum") == 0 || strcmp(t->nodes[a].name, "dot") == 0)) {
    expand_fold(x, a, depth + 1);
  } else if (t->nodes[a].kind == GEMEL__P_CALL) {
    expand_call(x, a, depth + 1);
  } else {
    gemel__parts_factor(x, a);
  }
}

/* ---- Comparing ---- */

int gemel__same_sums(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth) {
  gemel__parts x;
  gemel__pterm guard = 0;
  int same = 0;
  if (s->pass != GEMEL__PASS_VALUES || s->terms.nodes[a].sort != s->terms.nodes[b].sort ||
      s->terms.nodes[a].sort == gemel__psort_of(GEMEL_BOOL) ||
      !gemel__parts_start(&x, s, (gemel__pterm_sort)s->terms.nodes[a].sort)) {
    return 0;
  }
  x.is_sum = 1;
  gemel__expand_sum(&x, a, depth);
  uint32_t first = x.count;
  gemel__expand_sum(&x, b, depth);
  gemel__parts_scale(&x, first, -1, 1);
  for (uint32_t k = first; k < x.count; k++) {
    x.list[k].side = 1;
  }
  if (!x.failed && s->flow == GEMEL__P_GO && !gemel__parts_say_nothing(&x, a, b)) {
    guard = gemel__parts_free_guard(&x);
    same = guard == 0 && (gemel__parts_cancel(&x, depth, 0) || gemel__parts_cancel(&x, depth, 1));
  }
  gemel__parts_end(&x);
  return guard != 0 ? gemel__same_in_cases(s, a, b, guard, depth) : same;
}
