/* SPDX-License-Identifier: MIT
 *
 * Are two elements the same? Choices are split into their cases; folds are the same if their sizes
 * and, index for index, what they fold are; calls of one function if their operands are. What is
 * left is asked of the solver.
 *
 * Of a quotient by a step that is a symbol the solver is told only what is always so, for the
 * distances at hand: distances that are a multiple of the step as polynomials, steps of 1 and -1,
 * opposite distances.
 */
#include <string.h>
#include "core/alloc.h"
#include "unbounded/equal.h"
#include "unbounded/record.h"

enum { MOST_QUOTIENTS = 48, MOST_LEMMAS = 400 };

/* ---- Quotients ---- */

void gemel__pscene_lemma(gemel__pscene *s, gemel__pterm truth) {
  if (truth == 0 || gemel__p_is_true(&s->terms, truth)) {
    return;
  }
  if (gemel__grow(&s->lemmas, &s->lemma_capacity, s->n_lemmas + 1, sizeof *s->lemmas)) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
    return;
  }
  s->lemmas[s->n_lemmas++] = truth;
}

typedef struct divided {
  gemel__pterm distance, step, quotient, divides;
} divided;

static divided divided_at(gemel__pscene *s, gemel__pterm quotient) {
  gemel__pterms *t = &s->terms;
  divided d = {gemel__p_operand(t, quotient, 0), gemel__p_operand(t, quotient, 1), quotient, 0};
  const gemel__pterm both[2] = {d.distance, d.step};
  d.divides = gemel__p_call(t, GEMEL__PSORT_TRUTH, "divides", 0, 2, both);
  return d;
}

/* The product A without one factor BY; 0 if that is none of it. */
static gemel__pterm without_factor(gemel__pscene *s, gemel__pterm a, gemel__pterm by) {
  gemel__pterms *t = &s->terms;
  const gemel__pterm_node n = t->nodes[a];
  gemel__pterm rest = gemel__p_number(t, 1);
  int gone = 0;
  if (a == by) {
    return rest;
  }
  for (uint32_t k = 0; n.kind == GEMEL__P_PRODUCT && k < n.count; k++) {
    gemel__pterm factor = gemel__p_operand(t, a, k);
    if (factor == by && !gone) {
      gone = 1;
    } else {
      rest = gemel__p_mul(t, rest, factor);
    }
  }
  return gone ? rest : 0;
}

/* A ÷ BY as polynomials; 0 if there is a rest. */
static gemel__pterm exact_quotient(gemel__pscene *s, gemel__pterm a, gemel__pterm by) {
  gemel__pterms *t = &s->terms;
  const gemel__pterm_node n = t->nodes[a];
  gemel__pterm sum = gemel__p_number(t, 0);
  if (n.kind != GEMEL__P_SUM) {
    return without_factor(s, a, by);
  }
  for (uint32_t k = 0; k < n.count; k++) {
    int64_t coefficient = t->coefficients[n.first + k];
    gemel__pterm rest = without_factor(s, gemel__p_operand(t, a, k), by);
    if (rest == 0) {
      return 0;
    }
    sum = gemel__p_add(t, sum, gemel__p_scale(t, rest, coefficient));
  }
  return n.value == 0 ? sum : 0;
}

/* If CONDITION, D divides, and its quotient is VALUE. */
static void lemma_of_value(gemel__pscene *s, const divided *d, gemel__pterm condition,
                           gemel__pterm value) {
  gemel__pterms *t = &s->terms;
  gemel__pterm is = gemel__p_and(t, d->divides, gemel__p_equal(t, d->quotient, value));
  gemel__pscene_lemma(s, gemel__p_implies(t, condition, is));
}

static void lemmas_of_one(gemel__pscene *s, const divided *d) {
  gemel__pterms *t = &s->terms;
  gemel__pterm zero = gemel__p_number(t, 0), product = gemel__p_mul(t, d->quotient, d->step);
  gemel__pterm steps = gemel__p_not(t, gemel__p_equal(t, d->step, zero));
  gemel__pterm exact = exact_quotient(s, d->distance, d->step);
  gemel__pscene_lemma(s, gemel__p_implies(t, d->divides, gemel__p_equal(t, product, d->distance)));
  lemma_of_value(s, d, gemel__p_and(t, steps, gemel__p_equal(t, d->distance, zero)), zero);
  lemma_of_value(s, d, gemel__p_equal(t, d->step, gemel__p_number(t, 1)), d->distance);
  lemma_of_value(s, d, gemel__p_equal(t, d->step, gemel__p_number(t, -1)),
                 gemel__p_scale(t, d->distance, -1));
  if (exact != 0) {
    lemma_of_value(s, d, steps, exact);
  }
}

/* Distances that are opposite, or that add up to N steps, have such quotients. */
static void lemmas_of_two(gemel__pscene *s, const divided *a, const divided *b) {
  gemel__pterms *t = &s->terms;
  gemel__pterm zero = gemel__p_number(t, 0), sum = gemel__p_add(t, a->distance, b->distance);
  gemel__pterm steps = gemel__p_not(t, gemel__p_equal(t, a->step, zero));
  gemel__pterm total = gemel__p_add(t, a->quotient, b->quotient);
  gemel__pterm both = gemel__p_and(t, gemel__p_implies(t, a->divides, b->divides),
                                   gemel__p_implies(t, b->divides, a->divides));
  gemel__pterm exact = a->step == b->step ? exact_quotient(s, sum, a->step) : 0;
  if (sum == zero && gemel__p_add(t, a->step, b->step) == zero) {
    gemel__pscene_lemma(s, gemel__p_and(t, both, gemel__p_equal(t, a->quotient, b->quotient)));
  } else if (sum == zero || exact != 0) {
    gemel__pterm adds = gemel__p_equal(t, total, exact != 0 ? exact : zero);
    gemel__pterm one_step = gemel__p_equal(t, a->step, b->step);
    gemel__pscene_lemma(
        s, gemel__p_implies(t, gemel__p_and(t, steps, one_step),
                            gemel__p_and(t, both, gemel__p_implies(t, a->divides, adds))));
  }
}

/* Of an index times FACTOR, for an axis of SIZE: it lies between 0 and the last's. */
static void lemma_of_product(gemel__pscene *s, gemel__pterm product, gemel__pterm index,
                             gemel__pterm size, gemel__pterm factor) {
  gemel__pterms *t = &s->terms;
  gemel__pterm zero = gemel__p_number(t, 0), last = gemel__p_plus(t, size, -1);
  gemel__pterm end = gemel__p_mul(t, last, factor);
  gemel__pterm lies =
      gemel__p_and(t, gemel__p_at_least(t, index, zero), gemel__p_at_least(t, last, index));
  gemel__pterm up =
      gemel__p_and(t, gemel__p_at_least(t, product, zero), gemel__p_at_least(t, end, product));
  gemel__pterm down =
      gemel__p_and(t, gemel__p_at_least(t, zero, product), gemel__p_at_least(t, product, end));
  gemel__pterm rises = gemel__p_at_least(t, factor, zero),
               falls = gemel__p_at_least(t, zero, factor);
  gemel__pscene_lemma(s, gemel__p_implies(t, gemel__p_and(t, lies, rises), up));
  gemel__pscene_lemma(s, gemel__p_implies(t, gemel__p_and(t, lies, falls), down));
}

static void lemmas_of_products(gemel__pscene *s) {
  for (gemel__pterm k = 1; k < s->terms.count && s->n_lemmas < MOST_LEMMAS; k++) {
    for (uint32_t i = 0; s->terms.nodes[k].kind == GEMEL__P_PRODUCT && i < s->n_indices; i++) {
      gemel__pterm factor = without_factor(s, k, s->indices[i][0]);
      if (factor != 0 && (k >= s->lemmas_for || i >= s->indices_seen)) {
        lemma_of_product(s, k, s->indices[i][0], s->indices[i][1], factor);
      }
    }
  }
  s->indices_seen = s->n_indices;
}

/* ---- Facts of elements ---- */

static void lemma_of_fact(gemel__pscene *s, const gemel__pfact *fact, gemel__pterm element) {
  const gemel__pterm_node *n = &s->terms.nodes[element];
  if (n->kind == GEMEL__P_CALL && n->value == 0 && n->sort == fact->sort &&
      strcmp(n->name, fact->name) == 0) {
    gemel__pterm is = gemel__p_call(&s->terms, GEMEL__PSORT_TRUTH, fact->what, 0, 1, &element);
    gemel__pscene_lemma(s, gemel__p_implies(&s->terms, fact->truth, is));
  }
}

void gemel__pscene_fact(gemel__pscene *s, const char *name, gemel__pterm_sort sort,
                        const char *what, gemel__pterm truth) {
  const gemel__pfact fact = {name, what, sort, truth};
  size_t end = s->terms.count < s->lemmas_for ? s->terms.count : s->lemmas_for;
  if (s->n_facts < GEMEL__PFACTS) {
    s->facts[s->n_facts++] = fact;
  }
  for (gemel__pterm k = 1; k < end; k++) {
    lemma_of_fact(s, &fact, k);
  }
}

/* The integers 0 and 1 are those numbers in every dtype; others may be rounded or wrapped. */
static void lemma_of_integer(gemel__pscene *s, gemel__pterm element) {
  gemel__pterms *t = &s->terms;
  const gemel__pterm_node n = t->nodes[element];
  gemel_dtype dtype;
  if (n.kind != GEMEL__P_CALL || n.count != 1 || !gemel__psort_dtype(n.sort, &dtype) ||
      strcmp(n.name, "element") != 0) {
    return;
  }
  for (int number = 0; number < 2; number++) {
    gemel__pterm is =
        gemel__p_equal(t, gemel__p_operand(t, element, 0), gemel__p_number(t, number));
    gemel__pterm as = gemel__p_literal(t, (gemel__pterm_sort)n.sort, number ? "1" : "0");
    gemel__pscene_lemma(s, gemel__p_implies(t, is, gemel__p_same(t, element, as)));
  }
}

static void lemmas_of_facts(gemel__pscene *s) {
  for (gemel__pterm k = 1, end = (gemel__pterm)s->terms.count; k < end; k++) {
    if (k >= s->lemmas_for) {
      lemma_of_integer(s, k);
    }
    for (uint32_t i = 0; k >= s->lemmas_for && i < s->n_facts; i++) {
      lemma_of_fact(s, &s->facts[i], k);
    }
  }
}

/* ---- All ---- */

void gemel__pscene_lemmas(gemel__pscene *s) {
  gemel__pterm quotients[MOST_QUOTIENTS];
  size_t count = 0, end = s->terms.count;
  if (s->lemmas_for == end && s->indices_seen == s->n_indices) {
    return;
  }
  lemmas_of_products(s);
  lemmas_of_facts(s);
  for (gemel__pterm k = 1; k < end && count < MOST_QUOTIENTS; k++) {
    const gemel__pterm_node *n = &s->terms.nodes[k];
    if (n->kind == GEMEL__P_CALL && n->count == 2 && n->sort == GEMEL__PSORT_INTEGER &&
        strcmp(n->name, "quotient") == 0) {
      quotients[count++] = k;
    }
  }
  for (size_t k = 0; k < count; k++) {
    divided a = divided_at(s, quotients[k]);
    if (quotients[k] >= s->lemmas_for) {
      lemmas_of_one(s, &a);
    }
    for (size_t i = 0; i < k; i++) {
      divided b = divided_at(s, quotients[i]);
      if (quotients[k] >= s->lemmas_for) {
        lemmas_of_two(s, &a, &b);
      }
    }
  }
  s->lemmas_for = s->terms.count;
}

/* ---- Equality ---- */

/* The truth of the first choice of elements that A is made of, outside of folds; 0: there is none.
 * The last made is the outermost, whose truth is decided first. */
static gemel__pterm first_choice(gemel__pscene *s, gemel__pterm a) {
  const gemel__pterms *t = &s->terms;
  unsigned char *wanted = gemel__alloc_zeroed((size_t)a + 1);
  gemel__pterm found = 0;
  if (wanted == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
    return 0;
  }
  wanted[a] = 1;
  gemel__p_mark(t, a, 0, wanted);
  for (gemel__pterm k = a; k > 0 && found == 0; k--) {
    if (wanted[k] && t->nodes[k].kind == GEMEL__P_CHOICE &&
        gemel__psort_is_element(t->nodes[k].sort)) {
      found = gemel__p_operand(t, k, 0);
    }
  }
  gemel__free(wanted, (size_t)a + 1);
  return found;
}

/* In the cases that TRUTH holds and that it doesn't. */
int gemel__same_in_cases(gemel__pscene *s, gemel__pterm a, gemel__pterm b, gemel__pterm truth,
                         int depth) {
  gemel__pterms *t = &s->terms;
  size_t before = s->n_known;
  int all = 1;
  for (int holds = 1; holds >= 0 && all && s->flow == GEMEL__P_GO; holds--) {
    gemel__pterm is = gemel__p_truth(t, holds);
    if (!gemel__pscene_provable(s, holds ? gemel__p_not(t, truth) : truth, GEMEL__PSTEP_CASE)) {
      gemel__pscene_assume(s, holds ? truth : gemel__p_not(t, truth), 0);
      all = gemel__same_at(s, gemel__p_replace(t, a, 1, &truth, &is),
                           gemel__p_replace(t, b, 1, &truth, &is), depth + 1);
      s->n_known = before;
    }
  }
  return all;
}

static int same_folds(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth) {
  gemel__pterms *t = &s->terms;
  const gemel__pterm_node n = t->nodes[a], m = t->nodes[b];
  gemel__pterm of_a[GEMEL__PAXES], of_b[GEMEL__PAXES];
  size_t before = s->n_known;
  uint32_t count = n.count / 2;
  int all = n.name == m.name && n.sort == m.sort && n.count == m.count && count <= GEMEL__PAXES;
  for (uint32_t k = 0; k < count && all; k++) {
    all = gemel__pscene_provable(
        s, gemel__p_equal(t, gemel__p_operand(t, a, 2 * k + 2), gemel__p_operand(t, b, 2 * k + 2)),
        GEMEL__PSTEP_FOLD);
  }
  if (!all) {
    return 0;
  }
  gemel__pterm left = gemel__p_unfold(t, a, of_a), right = gemel__p_unfold(t, b, of_b);
  for (uint32_t k = 0; k < count; k++) {
    gemel__pscene_index(s, of_a[k], gemel__p_operand(t, a, 2 * k + 2));
  }
  all = gemel__same_at(s, left, gemel__p_replace(t, right, count, of_b, of_a), depth + 1);
  s->n_known = before;
  return all;
}

/* Operand A of one call and operand B of another, of whatever sort. */
static int same_operands(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth) {
  gemel__pterms *t = &s->terms;
  if (a == b) {
    return 1;
  }
  if (t->nodes[a].sort != t->nodes[b].sort) {
    return 0;
  }
  if (gemel__psort_is_element(t->nodes[a].sort)) {
    return gemel__same_at(s, a, b, depth + 1);
  }
  if (t->nodes[a].sort == GEMEL__PSORT_INTEGER) {
    return gemel__pscene_provable(s, gemel__p_equal(t, a, b), GEMEL__PSTEP_OPERANDS);
  }
  return gemel__pscene_provable(
      s, gemel__p_and(t, gemel__p_implies(t, a, b), gemel__p_implies(t, b, a)),
      GEMEL__PSTEP_OPERANDS);
}

static int same_calls(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth) {
  const gemel__pterm_node n = s->terms.nodes[a], m = s->terms.nodes[b];
  int orders = n.value == 1 && n.count == 2 ? 2 : 1;
  if (n.name != m.name || n.sort != m.sort || n.count != m.count) {
    return 0;
  }
  for (int order = 0; order < orders; order++) {
    int all = 1;
    for (uint32_t k = 0; k < n.count && all && s->flow == GEMEL__P_GO; k++) {
      all = same_operands(s, s->terms.operands[n.first + k],
                          s->terms.operands[m.first + (order ? 1 - k : k)], depth);
    }
    if (all) {
      return 1;
    }
  }
  return 0;
}

/* 1 if the solver says that A and B are the same, functions of reals being written for it. */
static int same_by_solver(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth) {
  gemel__pterm goal = gemel__p_same(&s->terms, a, b);
  gemel_dtype dtype;
  if (s->pass == GEMEL__PASS_VALUES && gemel__psort_dtype(s->terms.nodes[a].sort, &dtype) &&
      gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    if (gemel__laws_apply(s, a) || gemel__laws_apply(s, b)) {
      gemel__pterm x = gemel__laws_cases(s, a), y = gemel__laws_cases(s, b);
      if (x != a || y != b) {
        return gemel__same_at(s, x, y, depth + 1);
      }
    }
    goal = gemel__laws_same(s, a, b);
  }
  return gemel__pscene_provable(s, goal, GEMEL__PSTEP_SAME);
}

int gemel__same_at(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth) {
  gemel__pterms *t = &s->terms;
  if (a == b || a == 0 || b == 0 || depth > GEMEL__SAME_DEPTH || s->flow != GEMEL__P_GO) {
    return a == b && a != 0 && s->flow == GEMEL__P_GO;
  }
  gemel__pterm choice = first_choice(s, a);
  choice = choice != 0 ? choice : first_choice(s, b);
  if (choice != 0) {
    return gemel__same_in_cases(s, a, b, choice, depth);
  }
  if (s->pointwise && s->pass != GEMEL__PASS_ANY) {
    return same_by_solver(s, a, b, depth);
  }
  if (gemel__same_sums(s, a, b, depth + 1) || gemel__same_extremes(s, a, b, depth + 1)) {
    return 1;
  }
  int kind = t->nodes[a].kind;
  if (kind == t->nodes[b].kind && ((kind == GEMEL__P_FOLD && same_folds(s, a, b, depth)) ||
                                   (kind == GEMEL__P_CALL && same_calls(s, a, b, depth)))) {
    return 1;
  }
  return same_by_solver(s, a, b, depth);
}

int gemel__pscene_same(gemel__pscene *s, gemel__pterm a, gemel__pterm b) {
  if (s->record != NULL && a == b && s->flow == GEMEL__P_GO) {
    gemel__precord_step(s, GEMEL__PSTEP_SAME, NULL, GEMEL__FOLLOWS_YES, NULL, 0, a);
  }
  return gemel__same_at(s, a, b, 0);
}
