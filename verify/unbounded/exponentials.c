/* SPDX-License-Identifier: MIT
 *
 * Parts of quotients, exponentials and logarithms of reals. That of a sum is one of its parts each:
 *
 *   1 ÷ (a b) = (1 ÷ a) (1 ÷ b)      exp(a + b) = exp(a) exp(b)      log(exp(a) b) = a + log(b)
 *
 * and a factor and its inverse cancel. These hold wherever both sides are defined; that they are is
 * shown apart from this.
 */
#include <string.h>
#include "unbounded/equal.h"
#include "unbounded/parts.h"

enum { MOST_POWER = 4 };

/* The parts of A alone, in *INNER; 0 if there are none, or they can't be made. */
static int parts_of(gemel__parts *inner, gemel__parts *x, gemel__pterm a, int depth) {
  if (!gemel__parts_start(inner, x->s, x->sort)) {
    x->failed = 1;
    return 0;
  }
  inner->is_sum = 1;
  gemel__expand_sum(inner, a, depth);
  if (inner->failed || x->s->flow != GEMEL__P_GO) {
    x->failed = 1;
    gemel__parts_end(inner);
    return 0;
  }
  for (uint32_t k = 0; k < inner->count; k++) {
    gemel__part_tidy(inner, &inner->list[k], 0);
  }
  return 1;
}

/* A part without its number, as a term. */
static gemel__pterm part_term(gemel__parts *x, const gemel__part *a) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm term = gemel__p_literal(t, x->sort, "1"), guard = gemel__p_truth(t, 1);
  for (uint32_t k = 0; k < a->n_factors; k++) {
    const gemel__pterm both[2] = {term, a->factors[k]};
    term = k == 0 ? a->factors[0] : gemel__p_call(t, x->sort, "mul", 1, 2, both);
  }
  for (uint32_t k = 0; k < a->n_guards; k++) {
    guard = gemel__p_and(t, guard, a->guards[k]);
  }
  if (a->n_guards > 0) {
    term = gemel__p_choose(t, guard, term, gemel__p_literal(t, x->sort, "0"));
  }
  return a->n_bound == 0 ? term
                         : gemel__p_fold(t, x->sort, "sum", term, a->n_bound, a->bound, a->sizes);
}

/* ---- Inverses ---- */

/* What A has outside of its sum goes to OUTER; the sum stays. */
static void split_part(gemel__parts *x, gemel__part *a, gemel__part *outer) {
  const gemel__pterms *t = &x->s->terms;
  uint32_t kept = 0;
  for (uint32_t k = 0; k < a->n_factors; k++) {
    int bound = 0;
    for (uint32_t i = 0; i < a->n_bound && !bound; i++) {
      bound = gemel__p_contains(t, a->factors[k], a->bound[i]);
    }
    if (bound) {
      a->factors[kept++] = a->factors[k];
    } else {
      gemel__part_factor(x, outer, a->factors[k]);
    }
  }
  a->n_factors = kept;
}

/* Multiplies part FIRST of X, and all behind it, by the inverse of the one part A. */
static void divide_by_part(gemel__parts *x, uint32_t first, const gemel__part *a) {
  gemel__part sum = *a, outer = {.number = 1, .divisor = 1};
  split_part(x, &sum, &outer);
  if (sum.n_bound > 0 || sum.n_guards > 0) {
    gemel__part_factor(x, &outer, part_term(x, &sum));
  }
  for (uint32_t k = first; k < x->count && !x->failed; k++) {
    for (uint32_t i = 0; i < outer.n_factors; i++) {
      gemel__part_factor(x, &x->list[k], gemel__p_inverse(x, outer.factors[i]));
    }
    gemel__part_scale(x, &x->list[k], a->number < 0 ? -a->divisor : a->divisor,
                      a->number < 0 ? -a->number : a->number);
    gemel__part_cancel_inverses(x, &x->list[k]);
  }
}

void gemel__expand_quotient(gemel__parts *x, uint32_t first, gemel__pterm by, int depth) {
  gemel__parts inner;
  if (!parts_of(&inner, x, by, depth)) {
    return;
  }
  if (inner.count == 1 && inner.list[0].number != 0) {
    divide_by_part(x, first, &inner.list[0]);
  } else {
    for (uint32_t k = first; k < x->count; k++) {
      gemel__part_factor(x, &x->list[k], gemel__p_inverse(x, by));
      gemel__part_cancel_inverses(x, &x->list[k]);
    }
  }
  gemel__parts_end(&inner);
}

/* ---- Exponentials ---- */

/* Multiplies part A of X by exp of PART. */
static void multiply_by_exp(gemel__parts *x, gemel__part *a, const gemel__part *part) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm term = part_term(x, part), exp;
  int64_t times = part->number < 0 ? -part->number : part->number;
  if (part->divisor != 1 || times > MOST_POWER) {
    x->failed = 1;
    return;
  }
  exp = gemel__p_call(t, x->sort, "exp", 0, 1, &term);
  for (int64_t k = 0; k < times; k++) {
    gemel__part_factor(x, a, part->number < 0 ? gemel__p_inverse(x, exp) : exp);
  }
}

void gemel__expand_exp(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__parts inner;
  gemel__part *made = gemel__part_new(x);
  if (made == NULL || !parts_of(&inner, x, gemel__p_operand(&x->s->terms, a, 0), depth)) {
    return;
  }
  const gemel__part empty = *made;
  for (uint32_t k = 0; k < inner.count && !x->failed; k++) {
    if (inner.list[k].number != 0) {
      multiply_by_exp(x, made, &inner.list[k]);
    }
  }
  if (x->failed) { /* an exponent that isn't whole: as it stands */
    x->failed = 0;
    *made = empty;
    gemel__part_factor(x, made, a);
  }
  gemel__part_cancel_inverses(x, made);
  gemel__parts_end(&inner);
}

/* ---- Logarithms ---- */

/* Adds the operand of the exponential FACTOR, or of its inverse, to X; 0 if it is neither. */
static int add_exponent(gemel__parts *x, gemel__pterm factor, int depth) {
  const gemel__pterms *t = &x->s->terms;
  int inverse = gemel__p_calls(t, factor, "inverse");
  gemel__pterm exp = inverse ? gemel__p_operand(t, factor, 0) : factor;
  uint32_t first = x->count;
  if (!gemel__p_calls(t, exp, "exp")) {
    return 0;
  }
  gemel__expand_sum(x, gemel__p_operand(t, exp, 0), depth);
  gemel__parts_scale(x, first, inverse ? -1 : 1, 1);
  return 1;
}

/* Adds the logarithm of what is left of part A. */
static void add_log(gemel__parts *x, const gemel__part *a) {
  gemel__pterms *t = &x->s->terms;
  int inverse = a->n_factors == 1 && a->n_bound == 0 && gemel__p_calls(t, a->factors[0], "inverse");
  gemel__pterm of = inverse ? gemel__p_operand(t, a->factors[0], 0) : part_term(x, a);
  uint32_t first = x->count;
  if (a->n_factors > 0 || a->n_bound > 0) {
    gemel__parts_factor(x, gemel__p_call(t, x->sort, "log", 0, 1, &of));
    gemel__parts_scale(x, first, inverse ? -1 : 1, 1);
  }
}

void gemel__expand_log(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__parts inner;
  if (!parts_of(&inner, x, gemel__p_operand(&x->s->terms, a, 0), depth)) {
    return;
  }
  gemel__part *only = &inner.list[0];
  if (inner.count != 1 || only->number != 1 || only->divisor != 1 || only->n_guards > 0) {
    gemel__parts_factor(x, a);
  } else {
    gemel__part outer = {.number = 1, .divisor = 1};
    if (only->n_bound > 0) {
      split_part(x, only, &outer);
      gemel__part_factor(x, &outer, part_term(x, only));
      *only = outer;
    }
    uint32_t kept = 0;
    for (uint32_t k = 0; k < only->n_factors; k++) {
      if (!add_exponent(x, only->factors[k], depth)) {
        only->factors[kept++] = only->factors[k];
      }
    }
    only->n_factors = kept;
    add_log(x, only);
  }
  gemel__parts_end(&inner);
}

/* ---- Sums over their inverses ---- */

/* 1 if the sum A has an index. A sum of nothing is 0, and was never divided by 0. */
static int has_terms(gemel__parts *x, const gemel__part *a) {
  gemel__pterms *t = &x->s->terms;
  int all = a->n_guards == 0;
  for (uint32_t k = 0; k < a->n_bound && all; k++) {
    all = gemel__pscene_provable(x->s, gemel__p_at_least(t, a->sizes[k], gemel__p_number(t, 1)),
                                 GEMEL__PSTEP_DEFINED);
  }
  return all;
}

/* If factor K of A is the inverse of the sum that A is but for factors outside of it: takes both
 * away. */
static int cancel_total_at(gemel__parts *x, gemel__part *a, uint32_t k, int depth) {
  gemel__part sum = *a, outer = {.number = 1, .divisor = 1};
  gemel__parts inner;
  gemel__pterm inverse = a->factors[k];
  int cancels = 0;
  split_part(x, &sum, &outer);
  for (uint32_t i = outer.n_factors; i > 0; i--) {
    if (outer.factors[i - 1] == inverse) {
      outer.factors[i - 1] = outer.factors[--outer.n_factors];
      break;
    }
  }
  if (!parts_of(&inner, x, gemel__p_operand(&x->s->terms, inverse, 0), depth)) {
    return 0;
  }
  if (inner.count == 1 && inner.list[0].number == 1 && inner.list[0].divisor == 1 &&
      inner.list[0].n_bound == sum.n_bound && inner.list[0].n_factors == sum.n_factors) {
    sum.number = sum.divisor = 1;
    cancels = has_terms(x, &sum) && gemel__parts_same(x->s, &sum, &inner.list[0], depth + 1);
  }
  if (cancels) {
    outer.number = a->number;
    outer.divisor = a->divisor;
    outer.side = a->side;
    *a = outer;
  }
  gemel__parts_end(&inner);
  return cancels;
}

void gemel__part_cancel_total(gemel__parts *x, gemel__part *a, int depth) {
  const gemel__pterms *t = &x->s->terms;
  for (uint32_t k = 0; k < a->n_factors && a->n_bound > 0; k++) {
    if (gemel__p_calls(t, a->factors[k], "inverse") &&
        t->nodes[gemel__p_operand(t, a->factors[k], 0)].kind == GEMEL__P_FOLD &&
        cancel_total_at(x, a, k, depth)) {
      return;
    }
  }
}
