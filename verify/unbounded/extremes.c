/* SPDX-License-Identifier: MIT
 *
 * Are two elements the same as products, or as maxima? As sums are (sums.c), but that parts are
 * multiplied, or that the largest of them counts. Of products the number of a part is how often it
 * is a factor. Maxima are the same if each part of one is somewhere a part of the other, and the
 * other way round; functions that rise keep the place of the largest, so they go to the parts. Of
 * bools, a sum and a maximum are both their or, and a part is the and of its factors: where all of
 * them hold, so do some of them.
 */
#include <string.h>
#include "unbounded/equal.h"
#include "unbounded/parts.h"

static int is_fold(const gemel__pterms *t, gemel__pterm a, const char *name) {
  return t->nodes[a].kind == GEMEL__P_FOLD && strcmp(t->nodes[a].name, name) == 0;
}

/* Adds the parts of A to X; there is one for products, one for maxima and one for bools. */
typedef void (*expansion)(gemel__parts *x, gemel__pterm a, int depth);

static void expand_arms(gemel__parts *x, expansion expand, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm truth = gemel__p_operand(t, a, 0);
  for (uint32_t arm = 1; arm <= 2; arm++) {
    uint32_t first = x->count;
    gemel__pterm guard = arm == 1 ? truth : gemel__p_not(t, truth);
    expand(x, gemel__p_operand(t, a, arm), depth);
    for (uint32_t k = first; k < x->count; k++) {
      gemel__part_guard(x, &x->list[k], guard);
    }
  }
}

/* What all expansions have in common: 1 if A is a choice or a call of one, a fold
 * NAME, or nothing. */
static int expand_usual(gemel__parts *x, expansion expand, gemel__pterm a, const char *name,
                        int depth) {
  gemel__pterms *t = &x->s->terms;
  uint32_t first = x->count;
  gemel__pterm lifted;
  x->failed |= a == 0 || depth > GEMEL__SAME_DEPTH;
  if (x->failed) {
    return 1;
  }
  if (t->nodes[a].kind == GEMEL__P_CHOICE) {
    expand_arms(x, expand, a, depth);
    return 1;
  }
  if (is_fold(t, a, name)) {
    gemel__pterm symbols[GEMEL__PAXES];
    expand(x, gemel__p_unfold(t, a, symbols), depth);
    gemel__parts_bind(x, first, a, symbols);
    return 1;
  }
  if ((lifted = gemel__p_lifted(t, a)) != 0) {
    expand(x, lifted, depth);
    return 1;
  }
  return 0;
}

/* ---- Products ---- */

static void expand_product(gemel__parts *x, gemel__pterm a, int depth) {
  const gemel__pterms *t = &x->s->terms;
  int64_t number, divisor;
  uint32_t first = x->count;
  if (expand_usual(x, expand_product, a, "prod", depth + 1)) {
    return;
  }
  if (gemel__p_literal_number(t, a, &number, &divisor) && number == 1 && divisor == 1) {
    return;
  }
  if (gemel__p_calls(t, a, "mul")) {
    expand_product(x, gemel__p_operand(t, a, 0), depth + 1);
    expand_product(x, gemel__p_operand(t, a, 1), depth + 1);
  } else if (gemel__p_calls(t, a, "sqr")) {
    expand_product(x, gemel__p_operand(t, a, 0), depth + 1);
    gemel__parts_scale(x, first, 2, 1);
  } else {
    gemel__parts_factor(x, a);
  }
}

/* ---- Maxima ---- */

static int calls_one_of(const gemel__pterms *t, gemel__pterm a, const char *const *names) {
  while (*names != NULL && !gemel__p_calls(t, a, *names)) {
    names++;
  }
  return *names != NULL;
}

/* Functions of reals that rise strictly. */
static int rises_strictly(const gemel__pterms *t, gemel__pterm a) {
  static const char *const names[] = {"exp",  "expm1", "log",   "log1p", "sqrt", "sigmoid",
                                      "tanh", "sinh",  "asinh", "atan",  "erf",  NULL};
  return calls_one_of(t, a, names);
}

int gemel__p_rises(const gemel__pterms *t, gemel__pterm a) {
  static const char *const steps[] = {"floor", "ceil", "round", "trunc", "sign", NULL};
  return rises_strictly(t, a) || calls_one_of(t, a, steps);
}

static void expand_maximum(gemel__parts *x, gemel__pterm a, int depth);

/* A call whose operand K the parts have as their factors: these are the call of what they were. */
static void expand_operand(gemel__parts *x, gemel__pterm a, uint32_t k, int depth) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm_node n = t->nodes[a];
  uint32_t first = x->count;
  expand_maximum(x, gemel__p_operand(t, a, k), depth + 1);
  for (uint32_t i = first; i < x->count && !x->failed; i++) {
    gemel__pterm operands[2];
    for (uint32_t j = 0; j < n.count; j++) {
      operands[j] = j == k ? x->list[i].factors[0] : gemel__p_operand(t, a, j);
    }
    x->list[i].factors[0] =
        gemel__p_call(t, (gemel__pterm_sort)n.sort, n.name, n.value == 1, n.count, operands);
    x->failed |= x->list[i].factors[0] == 0;
  }
}

static void expand_maximum(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  if (expand_usual(x, expand_maximum, a, "max", depth + 1)) {
    return;
  }
  if (gemel__p_calls(t, a, "maximum")) {
    expand_maximum(x, gemel__p_operand(t, a, 0), depth + 1);
    expand_maximum(x, gemel__p_operand(t, a, 1), depth + 1);
  } else if (gemel__p_calls(t, a, "relu")) {
    expand_maximum(x, gemel__p_operand(t, a, 0), depth + 1);
    gemel__parts_factor(x, gemel__p_literal(t, x->sort, "0"));
  } else if (x->is_real && gemel__p_rises(t, a)) {
    expand_operand(x, a, 0, depth);
  } else if (x->is_real && gemel__p_calls(t, a, "add") &&
             gemel__p_folds(t, gemel__p_operand(t, a, 0), "max") !=
                 gemel__p_folds(t, gemel__p_operand(t, a, 1), "max")) {
    expand_operand(x, a, gemel__p_folds(t, gemel__p_operand(t, a, 1), "max"), depth);
  } else if (x->is_real && gemel__p_calls(t, a, "sub") &&
             !gemel__p_folds(t, gemel__p_operand(t, a, 1), "max")) {
    expand_operand(x, a, 0, depth);
  } else {
    gemel__parts_factor(x, a);
  }
}

/* A bool as the or of parts, which are ands of their factors. */
static void expand_or(gemel__parts *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  static const char *const ors[] = {"add", "maximum", "logical_or", NULL};
  static const char *const ands[] = {"mul", "minimum", "logical_and", NULL};
  const char *fold = is_fold(t, a, "dot") ? "dot" : "max";
  int64_t number, divisor;
  uint32_t first = x->count, middle;
  if (expand_usual(x, expand_or, a, fold, depth + 1)) {
    return;
  }
  int all = calls_one_of(t, a, ands);
  if (all || calls_one_of(t, a, ors)) {
    expand_or(x, gemel__p_operand(t, a, 0), depth + 1);
    middle = x->count;
    expand_or(x, gemel__p_operand(t, a, 1), depth + 1);
    if (all) {
      gemel__parts_multiply(x, first, middle);
    }
  } else if (!gemel__p_literal_number(t, a, &number, &divisor) || divisor != 1 || number >> 1) {
    gemel__parts_factor(x, a);
  } else if (number == 1) {
    gemel__part_new(x);
  }
}

/* 1 if A is nowhere: no index has its guards, or it is an and with what is false. */
static int is_nowhere(gemel__parts *x, const gemel__part *a) {
  return gemel__part_is_empty(x->s, a) ||
         (x->sort == gemel__psort_of(GEMEL_BOOL) && gemel__part_has_zero(x, a));
}

/* 1 if each part of SIDE is covered by one of the other side, or nowhere. A part with the number 0
 * is none: its guards contradict each other. */
static int is_covered(gemel__parts *x, int side, int depth) {
  for (uint32_t k = 0; k < x->count; k++) {
    uint32_t at = 0;
    if (x->list[k].side != side || x->list[k].number == 0) {
      continue;
    }
    while (at < x->count && x->s->flow == GEMEL__P_GO &&
           (x->list[at].side == side || x->list[at].number == 0 ||
            !gemel__parts_cover(x->s, &x->list[at], &x->list[k], depth))) {
      at++;
    }
    if (at == x->count && !is_nowhere(x, &x->list[k])) {
      return 0;
    }
  }
  return x->s->flow == GEMEL__P_GO;
}

/* ---- Places of the largest ---- */

/* 1 if the real A is above 0, as it is written. */
static int is_positive(const gemel__pterms *t, gemel__pterm a) {
  while (gemel__p_calls(t, a, "inverse") || is_fold(t, a, "sum")) {
    a = gemel__p_operand(t, a, 0);
  }
  return gemel__p_calls(t, a, "exp") || gemel__p_calls(t, a, "sigmoid");
}

/* What is left of A when terms without SYMBOL and factors above 0 without it are taken away: the
 * largest is at the same place. 0: more than one factor is. */
static gemel__pterm without_offset(gemel__parts *x, gemel__pterm a, gemel__pterm symbol) {
  const gemel__pterms *t = &x->s->terms;
  gemel__pterm left = 0;
  int many = 0;
  x->count = 0;
  gemel__expand_sum(x, a, 0);
  for (uint32_t k = 0; k < x->count && !x->failed; k++) {
    const gemel__part *p = &x->list[k];
    uint32_t with = 0;
    for (uint32_t i = 0; i < p->n_factors; i++) {
      int uses = gemel__p_contains(t, p->factors[i], symbol);
      many |= uses && left != 0;
      left = uses ? p->factors[i] : left;
      with += (uint32_t)uses;
    }
    for (uint32_t i = 0; i < p->n_factors && with > 0; i++) {
      many |= p->factors[i] != left && !is_positive(t, p->factors[i]);
    }
    many |= with > 0 && (p->number <= 0 || p->n_bound > 0 || p->n_guards > 0);
    for (uint32_t i = 0; i < p->n_guards; i++) {
      many |= gemel__p_contains(t, p->guards[i], symbol);
    }
  }
  return many || x->failed ? 0 : left;
}

/* Takes away from A what rises strictly with SYMBOL. */
static gemel__pterm without_rising(gemel__pscene *s, gemel__pterm a, gemel__pterm symbol) {
  gemel__parts x;
  gemel__pterm inner = a;
  if (!gemel__parts_start(&x, s, (gemel__pterm_sort)s->terms.nodes[a].sort)) {
    return a;
  }
  x.is_sum = 1;
  while (inner != 0 && x.is_real) {
    a = inner;
    inner = without_offset(&x, a, symbol);
    if (inner != 0 && rises_strictly(&s->terms, inner)) {
      inner = gemel__p_operand(&s->terms, inner, 0);
    } else if (inner == a) {
      break;
    }
  }
  gemel__parts_end(&x);
  return a;
}

/* 1 if the places A and B of largest elements are the same. */
static int same_places(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth) {
  gemel__pterms *t = &s->terms;
  gemel__pterm of_a, of_b;
  size_t before = s->n_known;
  gemel__pterm sizes = gemel__p_equal(t, gemel__p_operand(t, a, 2), gemel__p_operand(t, b, 2));
  gemel__pterm left = gemel__p_unfold(t, a, &of_a), right = gemel__p_unfold(t, b, &of_b);
  if (left == 0 || right == 0 || !gemel__pscene_provable(s, sizes, GEMEL__PSTEP_FOLD)) {
    return 0;
  }
  right = gemel__p_replace(t, right, 1, &of_b, &of_a);
  gemel__pscene_index(s, of_a, gemel__p_operand(t, a, 2));
  left = without_rising(s, left, of_a);
  right = without_rising(s, right, of_a);
  int same =
      t->nodes[left].sort == t->nodes[right].sort && gemel__same_at(s, left, right, depth + 1);
  s->n_known = before;
  return same;
}

static int is_place(const gemel__pterms *t, gemel__pterm a) {
  return is_fold(t, a, "argmax") && t->nodes[a].count == 3;
}

/* ---- Comparing ---- */

/* The parts of A and B; 0 if there is nothing to compare. */
static int expand_both(gemel__parts *x, expansion expand, gemel__pterm a, gemel__pterm b) {
  expand(x, a, 0);
  uint32_t first = x->count;
  expand(x, b, 0);
  for (uint32_t k = first; k < x->count; k++) {
    x->list[k].side = 1;
  }
  return !x->failed && x->s->flow == GEMEL__P_GO && !gemel__parts_say_nothing(x, a, b);
}

typedef int (*parts_relation)(gemel__parts *x, int depth);

static int products_cancel(gemel__parts *x, int depth) {
  x->is_real = 1; /* of the numbers, which count */
  for (uint32_t k = 0; k < x->count; k++) {
    gemel__part_scale(x, &x->list[k], x->list[k].side == 1 ? -1 : 1, 1);
  }
  return gemel__parts_cancel(x, depth, 0) || gemel__parts_cancel(x, depth, 1);
}

static int maxima_cover(gemel__parts *x, int depth) {
  return is_covered(x, 0, depth) && is_covered(x, 1, depth);
}

static int same_as(gemel__pscene *s, expansion expand, parts_relation compare, gemel__pterm a,
                   gemel__pterm b, int depth) {
  gemel__parts x;
  gemel__pterm guard = 0;
  int same = 0;
  if (!gemel__parts_start(&x, s, (gemel__pterm_sort)s->terms.nodes[a].sort)) {
    return 0;
  }
  if (expand_both(&x, expand, a, b)) {
    guard = gemel__parts_free_guard(&x);
    same = guard == 0 && compare(&x, depth);
  }
  gemel__parts_end(&x);
  return guard != 0 ? gemel__same_in_cases(s, a, b, guard, depth) : same;
}

int gemel__same_extremes(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth) {
  const gemel__pterms *t = &s->terms;
  int is_bool = t->nodes[a].sort == gemel__psort_of(GEMEL_BOOL);
  if (s->pass != GEMEL__PASS_VALUES || t->nodes[a].sort != t->nodes[b].sort) {
    return 0;
  }
  return (is_place(t, a) && is_place(t, b) && same_places(s, a, b, depth)) ||
         ((gemel__p_folds(t, a, "prod") || gemel__p_folds(t, b, "prod")) &&
          same_as(s, expand_product, products_cancel, a, b, depth)) ||
         ((gemel__p_folds(t, a, "max") || gemel__p_folds(t, b, "max") ||
           (is_bool && (gemel__p_folds(t, a, "dot") || gemel__p_folds(t, b, "dot")))) &&
          same_as(s, is_bool ? expand_or : expand_maximum, maxima_cover, a, b, depth));
}
