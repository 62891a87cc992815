/* SPDX-License-Identifier: MIT
 *
 * Choices, and what holds in a scene.
 */
#include "unbounded/scene.h"

#include <stdarg.h>
#include <stdio.h>
#include "core/alloc.h"
#include "core/intern.h"
#include "unbounded/record.h"

static void clear_solutions(gemel__psolutions *x) {
  gemel__free(x->symbols, x->symbol_capacity * sizeof *x->symbols);
  gemel__free(x->terms, x->term_capacity * sizeof *x->terms);
}

void gemel__pscene_clear(gemel__pscene *s) {
  gemel__free(s->known, s->known_capacity * sizeof *s->known);
  gemel__free(s->at_run_time, s->run_time_capacity);
  clear_solutions(&s->solved);
  clear_solutions(&s->solved_known);
  gemel__free(s->lemmas, s->lemma_capacity * sizeof *s->lemmas);
  gemel__free(s->magnitudes, s->magnitude_capacity * sizeof *s->magnitudes);
  gemel__arena_clear(&s->arena);
  gemel__ask_clear(&s->ask);
  gemel__pterms_clear(&s->terms);
}

void gemel__pscene_stop(gemel__pscene *s, gemel__pflow flow, const char *format, ...) {
  va_list list;
  if (s->flow != GEMEL__P_GO) {
    return;
  }
  s->flow = flow;
  va_start(list, format);
  vsnprintf(s->why, sizeof s->why, format, list);
  va_end(list);
}

uint32_t gemel__pscene_choose(gemel__pscene *s, uint32_t count) {
  uint32_t k = s->n_chosen;
  if (count == 0 || s->flow != GEMEL__P_GO) {
    gemel__pscene_stop(s, GEMEL__P_SKIP, "nothing to choose from");
    return 0;
  }
  if (count == 1) {
    return 0;
  }
  if (k == GEMEL__PCHOICES || count > 255) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "too many choices");
    return 0;
  }
  if (k >= s->n_given) {
    s->given[k] = 0;
  }
  s->limits[k] = (unsigned char)count;
  s->n_chosen++;
  return s->given[k];
}

gemel__pterm_sort gemel__pscene_choose_dtype(gemel__pscene *s) {
  uint32_t count = 0;
  for (unsigned left = s->dtypes; left != 0; left &= left - 1) {
    count++;
  }
  if (s->pass == GEMEL__PASS_ANY) {
    return GEMEL__PSORT_ELEMENT;
  }
  s->n_dtypes++;
  uint32_t at = gemel__pscene_choose(s, count), dtype = 0;
  for (; s->flow == GEMEL__P_GO && (!(s->dtypes >> dtype & 1) || at > 0); dtype++) {
    at -= s->dtypes >> dtype & 1;
  }
  if (s->dropped >> dtype & 1) {
    gemel__pscene_stop(s, GEMEL__P_SKIP, "a dtype that is left out");
  }
  s->used |= 1u << dtype;
  return gemel__psort_of((gemel_dtype)dtype);
}

void gemel__pscene_assume(gemel__pscene *s, gemel__pterm truth, int at_run_time) {
  if (truth == 0 || gemel__p_is_true(&s->terms, truth)) {
    return;
  }
  if (gemel__p_is_false(&s->terms, truth)) {
    gemel__pscene_stop(s, GEMEL__P_SKIP, "a contradiction");
    return;
  }
  if (gemel__grow(&s->known, &s->known_capacity, s->n_known + 1, sizeof *s->known) ||
      gemel__grow(&s->at_run_time, &s->run_time_capacity, s->n_known + 1, 1)) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
    return;
  }
  s->at_run_time[s->n_known] = (unsigned char)at_run_time;
  s->known[s->n_known++] = truth;
}

void gemel__pscene_plain_integer(gemel__pscene *s, gemel__pterm symbol) {
  if (s->n_integers < sizeof s->integers / sizeof *s->integers) {
    s->integers[s->n_integers++] = symbol;
  }
}

void gemel__pscene_index(gemel__pscene *s, gemel__pterm symbol, gemel__pterm size) {
  gemel__pscene_assume(s, gemel__p_at_least(&s->terms, symbol, gemel__p_number(&s->terms, 0)), 0);
  gemel__pscene_assume(s, gemel__p_below(&s->terms, symbol, size), 0);
  if (s->n_indices < GEMEL__PCHOICES) {
    s->indices[s->n_indices][0] = symbol;
    s->indices[s->n_indices++][1] = size;
  }
}

/* ---- Equations ---- */

/* If D == 0 says what a symbol is, that symbol, and *VALUE; else 0. */
static gemel__pterm solve(gemel__pscene *s, gemel__pterm d, gemel__pterm *value) {
  gemel__pterms *t = &s->terms;
  const gemel__pterm_node n = t->nodes[d];
  if (n.kind == GEMEL__P_SYMBOL) {
    *value = gemel__p_number(t, 0);
    return d;
  }
  for (uint32_t k = n.kind == GEMEL__P_SUM ? n.count : 0; k > 0; k--) {
    gemel__pterm symbol = gemel__p_operand(t, d, k - 1);
    int64_t by = t->coefficients[n.first + k - 1];
    if (t->nodes[symbol].kind == GEMEL__P_SYMBOL && (by == 1 || by == -1)) {
      *value = gemel__p_sub(t, symbol, gemel__p_scale(t, d, by));
      if (*value != 0 && !gemel__p_contains(t, *value, symbol)) {
        return symbol;
      }
    }
  }
  return 0;
}

static void add_solution(gemel__pscene *s, gemel__psolutions *x, gemel__pterm symbol,
                         gemel__pterm value) {
  if (gemel__grow(&x->symbols, &x->symbol_capacity, x->count + 1, sizeof *x->symbols) ||
      gemel__grow(&x->terms, &x->term_capacity, x->count + 1, sizeof *x->terms)) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
    return;
  }
  for (size_t k = 0; k < x->count; k++) {
    x->terms[k] = gemel__p_replace(&s->terms, x->terms[k], 1, &symbol, &value);
  }
  x->symbols[x->count] = symbol;
  x->terms[x->count++] = value;
}

static gemel__pterm with_solutions(gemel__pscene *s, const gemel__psolutions *x, gemel__pterm a) {
  return x->count > 0 ? gemel__p_replace(&s->terms, a, (uint32_t)x->count, x->symbols, x->terms)
                      : a;
}

/* Solves what holds now, from the start if it isn't only more than before. */
static void solve_for(gemel__pscene *s, gemel__psolutions *x) {
  size_t before = s->n_known < x->solved_for ? 0 : x->solved_for;
  uint64_t hash = gemel__hash_bytes(1, s->known, before * sizeof *s->known);
  if (x->solved_for > s->n_known || hash != x->hash) {
    x->count = x->solved_for = 0;
  }
  for (; x->solved_for < s->n_known; x->solved_for++) {
    if (x == &s->solved_known && s->at_run_time[x->solved_for]) {
      continue;
    }
    gemel__pterm truth = with_solutions(s, x, s->known[x->solved_for]), value = 0;
    gemel__pterm symbol = truth != 0 && s->terms.nodes[truth].kind == GEMEL__P_ZERO
                              ? solve(s, gemel__p_operand(&s->terms, truth, 0), &value)
                              : 0;
    if (symbol != 0) {
      add_solution(s, x, symbol, value);
    }
  }
  x->hash = gemel__hash_bytes(1, s->known, x->solved_for * sizeof *s->known);
}

/* 1 if the integer A is a sum of what is 0 or more, by what X was solved for. */
static int is_natural(gemel__pscene *s, const gemel__psolutions *x, gemel__pterm a) {
  const gemel__pterms *t = &s->terms;
  const gemel__pterm_node n = t->nodes[a];
  if (n.kind == GEMEL__P_NUMBER) {
    return n.value >= 0;
  }
  for (uint32_t k = 0; k < (n.kind == GEMEL__P_SUM ? n.count : 1); k++) {
    gemel__pterm one = n.kind == GEMEL__P_SUM ? gemel__p_operand(t, a, k) : a;
    gemel__pterm natural = gemel__p_at_least(&s->terms, one, gemel__p_number(&s->terms, 0));
    size_t at = 0;
    while (at < s->n_known &&
           (s->known[at] != natural || (x == &s->solved_known && s->at_run_time[at]))) {
      at++;
    }
    if (at == s->n_known || (n.kind == GEMEL__P_SUM && t->coefficients[n.first + k] < 0)) {
      return 0;
    }
  }
  return n.kind != GEMEL__P_SUM || n.value >= 0;
}

static int is_plain(gemel__pscene *s, gemel__psolutions *x, gemel__pterm truth) {
  solve_for(s, x);
  truth = with_solutions(s, x, truth);
  if (truth == 0 || s->flow != GEMEL__P_GO) {
    return 0;
  }
  return gemel__p_is_true(&s->terms, truth) ||
         (s->terms.nodes[truth].kind == GEMEL__P_NATURAL &&
          is_natural(s, x, gemel__p_operand(&s->terms, truth, 0)));
}

int gemel__pscene_plain(gemel__pscene *s, gemel__pterm truth) {
  return is_plain(s, &s->solved, truth);
}

int gemel__pscene_is_literal_one(gemel__pscene *s, gemel__pterm a) {
  int64_t number;
  solve_for(s, &s->solved_known);
  return gemel__p_is_number(&s->terms, with_solutions(s, &s->solved_known, a), &number) &&
         number == 1;
}

/* The solutions that may be used for STEP. */
static gemel__psolutions *solutions_for(gemel__pscene *s, gemel__pstep step) {
  return step == GEMEL__PSTEP_KNOWN ? &s->solved_known : &s->solved;
}

/* 1 if TRUTH is about a product of three factors or more. On a few such the solver may take
 * minutes, whatever its limit. */
static int is_cubic(const gemel__pterms *t, gemel__pterm truth) {
  gemel__pterm sum = t->nodes[truth].count == 1 ? gemel__p_operand(t, truth, 0) : truth;
  const gemel__pterm_node *n = &t->nodes[sum];
  for (uint32_t k = 0; k < (n->kind == GEMEL__P_SUM ? n->count : 1); k++) {
    const gemel__pterm_node *term =
        &t->nodes[n->kind == GEMEL__P_SUM ? gemel__p_operand(t, sum, k) : sum];
    if (term->kind == GEMEL__P_PRODUCT && term->count > 2) {
      return 1;
    }
  }
  return 0;
}

/* 1 if what is asked for STEP must be so. Else the proof goes on in another way. */
static int is_needed(gemel__pstep step) {
  return step == GEMEL__PSTEP_VALID || step == GEMEL__PSTEP_FOLD || step == GEMEL__PSTEP_OPERANDS ||
         step == GEMEL__PSTEP_MAP || step == GEMEL__PSTEP_DEFINED || step == GEMEL__PSTEP_SAME;
}

/* Asks whether TRUTH follows, for a step and what it is ABOUT (NULL: nothing more to say). */
static int ask(gemel__pscene *s, gemel__pterm truth, gemel__pstep step, const char *about) {
  gemel__pterm *facts;
  size_t count = 0, room;
  gemel__psolutions *x = solutions_for(s, step);
  gemel__pscene_lemmas(s);
  solve_for(s, x);
  room = s->n_known + s->n_lemmas + 1;
  facts = gemel__alloc_array(room, sizeof *facts);
  if (facts == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
    return 0;
  }
  for (size_t k = 0; k < s->n_known; k++) {
    gemel__pterm fact = with_solutions(s, x, s->known[k]);
    if ((step != GEMEL__PSTEP_KNOWN || !s->at_run_time[k]) &&
        (step != GEMEL__PSTEP_ONE || fact == 0 || !is_cubic(&s->terms, fact))) {
      facts[count++] = fact;
    }
  }
  for (size_t k = 0; k < s->n_lemmas; k++) {
    facts[count++] = with_solutions(s, x, s->lemmas[k]);
  }
  truth = with_solutions(s, x, truth);
  count = gemel__ask_relevant(&s->ask, facts, count, truth);
  gemel__follows answer = gemel__ask_follows(&s->ask, facts, count, truth);
  if (answer == GEMEL__FOLLOWS_NO && s->right && is_needed(step)) {
    gemel__hints_note(s);
  }
  if (s->record != NULL && truth != 0 &&
      (answer == GEMEL__FOLLOWS_YES) != (step == GEMEL__PSTEP_CONSISTENT)) {
    gemel__precord_step(s, step, about, answer, facts, count, truth);
  }
  gemel__free(facts, room * sizeof *facts);
  return answer == GEMEL__FOLLOWS_YES;
}

static int shows(gemel__pscene *s, gemel__pterm truth, gemel__pstep step, const char *about) {
  if (!is_plain(s, solutions_for(s, step), truth)) {
    return ask(s, truth, step, about);
  }
  if (s->record != NULL && !gemel__p_is_true(&s->terms, truth)) {
    gemel__precord_step(s, step, about, GEMEL__FOLLOWS_YES, NULL, 0, truth);
  }
  return 1;
}

int gemel__pscene_provable(gemel__pscene *s, gemel__pterm truth, gemel__pstep step) {
  return shows(s, truth, step, NULL);
}

void gemel__pscene_need(gemel__pscene *s, gemel__pterm truth, int at_run_time, const char *what) {
  if (!s->right) {
    gemel__pscene_assume(s, truth, at_run_time);
  } else if (!shows(s, truth, GEMEL__PSTEP_VALID, what)) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "the right side: %s", what);
  }
}

/* 1 if TRUTH is about integers that are numbers in any graph, so it is known or known not to be. */
static int about_integers(const gemel__pscene *s, gemel__pterm truth) {
  const gemel__pterms *t = &s->terms;
  gemel__pterm d = gemel__p_operand(t, truth, 0);
  const gemel__pterm_node *n = &t->nodes[d];
  for (uint32_t k = 0; k < (n->kind == GEMEL__P_SUM ? n->count : 1); k++) {
    gemel__pterm one = n->kind == GEMEL__P_SUM ? gemel__p_operand(t, d, k) : d;
    uint32_t at = 0;
    while (at < s->n_integers && s->integers[at] != one) {
      at++;
    }
    if (at == s->n_integers) {
      return 0;
    }
  }
  return 1;
}

int gemel__pscene_knows(gemel__pscene *s, gemel__pterm truth) {
  if (truth == 0 || gemel__p_is_false(&s->terms, truth)) {
    return 0;
  }
  if (gemel__p_is_true(&s->terms, truth) || gemel__pscene_provable(s, truth, GEMEL__PSTEP_KNOWN)) {
    return 1;
  }
  if (gemel__pscene_provable(s, gemel__p_not(&s->terms, truth), GEMEL__PSTEP_KNOWN)) {
    return 0;
  }
  for (uint32_t k = 0; k < s->n_unknown; k++) {
    if (s->unknown[k] == truth) {
      return 0;
    }
  }
  if (gemel__pscene_choose(s, 2) == 0) {
    gemel__pscene_assume(s, truth, 0);
    return 1;
  }
  if (s->n_unknown == GEMEL__PCHOICES) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "too many choices");
    return 0;
  }
  s->unknown[s->n_unknown++] = truth;
  if (about_integers(s, truth)) {
    gemel__pscene_assume(s, gemel__p_not(&s->terms, truth), 0);
  }
  return 0;
}

gemel__pterm gemel__pscene_free_truth(gemel__pscene *s) {
  return gemel__p_fresh(&s->terms, GEMEL__PSORT_TRUTH, "free");
}

/* What sizes A and B, of which neither is a literal 1, come to where they are the same. That is
 * found out when the graph runs; till then it is the number of the two, if one is, or either: by
 * the order of operands, which a rule doesn't know. */
static gemel__pterm same_size(gemel__pscene *s, gemel__pterm a, gemel__pterm b) {
  int64_t number;
  if (a == b || s->right || gemel__p_is_number(&s->terms, a, &number)) {
    return a;
  }
  if (gemel__p_is_number(&s->terms, b, &number)) {
    return b;
  }
  gemel__pterm either = gemel__p_fresh(&s->terms, GEMEL__PSORT_INTEGER, "size");
  gemel__pscene_assume(s, gemel__p_equal(&s->terms, either, a), 1);
  return either;
}

gemel__pterm gemel__pscene_broadcast(gemel__pscene *s, gemel__pterm a, gemel__pterm b) {
  gemel__pterm same = gemel__p_equal(&s->terms, a, b), one = gemel__p_number(&s->terms, 1);
  if (a != b && (gemel__pscene_is_literal_one(s, a) || gemel__pscene_is_literal_one(s, b))) {
    return gemel__pscene_is_literal_one(s, a) ? b : a;
  }
  if (gemel__pscene_plain(s, same) ||
      (s->right && gemel__pscene_provable(s, same, GEMEL__PSTEP_FOLLOWS))) {
    return same_size(s, a, b);
  }
  if (s->right) {
    gemel__pscene_stop(s, GEMEL__P_OPEN,
                       "the right side: sizes that broadcast in ways that aren't known");
    return a;
  }
  switch (gemel__pscene_choose(s, 3)) {
  case 0:
    gemel__pscene_assume(s, same, 1);
    return same_size(s, a, b);
  case 1:
    gemel__pscene_assume(s, gemel__p_equal(&s->terms, a, one), 0);
    return b;
  default:
    gemel__pscene_assume(s, gemel__p_equal(&s->terms, b, one), 0);
    return a;
  }
}
