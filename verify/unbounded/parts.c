/* SPDX-License-Identifier: MIT
 *
 * Parts of sums, and when two are the same: if a map of one's bound indices to the other's, with an
 * inverse, keeps ranges and guards, and if their factors are the same under it. Candidates for the
 * map are read off where both read one tensor: "index here = index there", solved for each bound
 * index.
 */
#include "unbounded/parts.h"

#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "unbounded/equal.h"

enum { MOST_READS = 16, MOST_EQUATIONS = 24 };

/* ---- Numbers ---- */

static int64_t wrapped(const gemel__parts *x, int64_t a) {
  uint64_t mask = x->bits >= 64 ? UINT64_MAX : ((uint64_t)1 << x->bits) - 1;
  return (int64_t)((uint64_t)a & mask);
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/* Sets A's number to NUMBER ÷ DIVISOR in lowest terms. */
void gemel__part_set(gemel__parts *x, gemel__part *a, int64_t number, int64_t divisor) {
  int64_t by = x->is_real ? gcd(number, divisor) : 1;
  a->number = x->is_real ? number / (by ? by : 1) : wrapped(x, number);
  a->divisor = x->is_real ? divisor / (by ? by : 1) : 1;
}

void gemel__part_scale(gemel__parts *x, gemel__part *a, int64_t number, int64_t divisor) {
  int64_t n, d;
  if (!x->is_real) {
    a->number = wrapped(x, (int64_t)((uint64_t)a->number * (uint64_t)number));
  } else if (__builtin_mul_overflow(a->number, number, &n) ||
             __builtin_mul_overflow(a->divisor, divisor, &d)) {
    x->failed = 1;
  } else {
    gemel__part_set(x, a, n, d);
  }
}

/* A's number and that of B, added, in A. */
void gemel__part_add(gemel__parts *x, gemel__part *a, const gemel__part *b) {
  int64_t left, right, sum, d;
  if (!x->is_real) {
    a->number = wrapped(x, (int64_t)((uint64_t)a->number + (uint64_t)b->number));
  } else if (__builtin_mul_overflow(a->number, b->divisor, &left) ||
             __builtin_mul_overflow(b->number, a->divisor, &right) ||
             __builtin_add_overflow(left, right, &sum) ||
             __builtin_mul_overflow(a->divisor, b->divisor, &d)) {
    x->failed = 1;
  } else {
    gemel__part_set(x, a, sum, d);
  }
}

int gemel__p_calls(const gemel__pterms *t, gemel__pterm a, const char *name) {
  return t->nodes[a].kind == GEMEL__P_CALL && t->nodes[a].value != 2 &&
         strcmp(t->nodes[a].name, name) == 0;
}

/* What every dtype of numbers holds is the same after a cast. */
int gemel__p_literal_number(const gemel__pterms *t, gemel__pterm a, int64_t *number,
                            int64_t *divisor) {
  gemel__pterm literal = gemel__p_calls(t, a, "cast") ? gemel__p_operand(t, a, 0) : a;
  const gemel__pterm_node *n = &t->nodes[literal];
  char *end = NULL;
  if (n->kind != GEMEL__P_CALL || n->value != 2) {
    return 0;
  }
  double value = strtod(n->name, &end);
  *divisor = 1;
  while (*divisor < (int64_t)1 << 30 && value != (double)(int64_t)value && value < 1e9 &&
         value > -1e9) {
    value *= 2;
    *divisor *= 2;
  }
  *number = value < 9e15 && value > -9e15 ? (int64_t)value : 0;
  int plain = literal == a || (*divisor == 1 && value >= 0 && value <= 127);
  return *end == 0 && value == (double)*number && plain;
}

gemel__pterm gemel__p_lifted(gemel__pterms *t, gemel__pterm a) {
  const gemel__pterm_node n = t->nodes[a];
  gemel__pterm choice = 0, arms[2];
  for (uint32_t k = 0; k < n.count && choice == 0 && n.kind == GEMEL__P_CALL; k++) {
    const gemel__pterm_node *operand = &t->nodes[t->operands[n.first + k]];
    if (operand->kind == GEMEL__P_CHOICE && gemel__psort_is_element(operand->sort)) {
      choice = t->operands[n.first + k];
    }
  }
  for (uint32_t arm = 0; arm < 2 && choice != 0; arm++) {
    gemel__pterm value = gemel__p_operand(t, choice, arm + 1);
    arms[arm] = gemel__p_replace(t, a, 1, &choice, &value);
  }
  return choice != 0 ? gemel__p_choose(t, gemel__p_operand(t, choice, 0), arms[0], arms[1]) : 0;
}

int gemel__p_folds(const gemel__pterms *t, gemel__pterm a, const char *name) {
  for (gemel__pterm k = 1; k <= a; k++) {
    if (t->nodes[k].kind == GEMEL__P_FOLD && strcmp(t->nodes[k].name, name) == 0 &&
        gemel__p_contains(t, a, k)) {
      return 1;
    }
  }
  return 0;
}

/* ---- Making parts ---- */

gemel__part *gemel__part_new(gemel__parts *x) {
  if (x->count == GEMEL__PARTS) {
    x->failed = 1;
    return NULL;
  }
  gemel__part *a = &x->list[x->count++];
  memset(a, 0, sizeof *a);
  a->number = a->divisor = 1;
  return a;
}

void gemel__part_factor(gemel__parts *x, gemel__part *a, gemel__pterm factor) {
  if (a->n_factors == GEMEL__PART_FACTORS || factor == 0) {
    x->failed = 1;
    return;
  }
  a->factors[a->n_factors++] = factor;
}

void gemel__part_guard(gemel__parts *x, gemel__part *a, gemel__pterm guard) {
  gemel__pterms *t = &x->s->terms;
  const gemel__pterm_node n = t->nodes[guard];
  if (guard == 0 || a->n_guards == GEMEL__PART_GUARDS) {
    x->failed = 1;
  } else if (n.kind == GEMEL__P_AND) {
    for (uint32_t k = 0; k < n.count; k++) {
      gemel__part_guard(x, a, gemel__p_operand(t, guard, k));
    }
  } else if (gemel__p_is_false(t, guard)) {
    a->number = 0;
  } else if (!gemel__p_is_true(t, guard)) {
    a->guards[a->n_guards++] = guard;
  }
}

void gemel__part_bind(gemel__parts *x, gemel__part *a, gemel__pterm symbol, gemel__pterm size) {
  if (a->n_bound == GEMEL__PAXES) {
    x->failed = 1;
    return;
  }
  a->bound[a->n_bound] = symbol;
  a->sizes[a->n_bound++] = size;
}

/* A with FROM replaced by TO in guards and factors. */
static void replace_in(gemel__parts *x, gemel__part *a, uint32_t count, const gemel__pterm *from,
                       const gemel__pterm *to) {
  gemel__pterms *t = &x->s->terms;
  for (uint32_t k = 0; k < a->n_factors; k++) {
    a->factors[k] = gemel__p_replace(t, a->factors[k], count, from, to);
  }
  uint32_t n_guards = a->n_guards;
  gemel__pterm guards[GEMEL__PART_GUARDS];
  memcpy(guards, a->guards, sizeof guards);
  a->n_guards = 0;
  for (uint32_t k = 0; k < n_guards; k++) {
    gemel__part_guard(x, a, gemel__p_replace(t, guards[k], count, from, to));
  }
}

/* A with bound indices of its own. */
static void rename_bound(gemel__parts *x, gemel__part *a) {
  gemel__pterm to[GEMEL__PAXES];
  for (uint32_t k = 0; k < a->n_bound; k++) {
    to[k] = gemel__p_fresh(&x->s->terms, GEMEL__PSORT_INTEGER, "k");
  }
  replace_in(x, a, a->n_bound, a->bound, to);
  memcpy(a->bound, to, a->n_bound * sizeof *to);
}

gemel__pterm gemel__p_inverse(gemel__parts *x, gemel__pterm a) {
  return gemel__p_calls(&x->s->terms, a, "inverse")
             ? gemel__p_operand(&x->s->terms, a, 0)
             : gemel__p_call(&x->s->terms, x->sort, "inverse", 0, 1, &a);
}

void gemel__part_cancel_inverses(gemel__parts *x, gemel__part *a) {
  for (uint32_t k = 0; k < a->n_factors; k++) {
    gemel__pterm inverse = gemel__p_inverse(x, a->factors[k]);
    for (uint32_t i = k + 1; i < a->n_factors; i++) {
      if (a->factors[i] == inverse) {
        a->factors[i] = a->factors[--a->n_factors];
        a->factors[k--] = a->factors[--a->n_factors];
        break;
      }
    }
  }
}

/* Multiplies A by B, whose bound indices are renamed. */
void gemel__part_multiply(gemel__parts *x, gemel__part *a, const gemel__part *b) {
  gemel__part other = *b;
  rename_bound(x, &other);
  gemel__part_scale(x, a, other.number, other.divisor);
  for (uint32_t k = 0; k < other.n_factors; k++) {
    gemel__part_factor(x, a, other.factors[k]);
  }
  for (uint32_t k = 0; k < other.n_guards; k++) {
    gemel__part_guard(x, a, other.guards[k]);
  }
  for (uint32_t k = 0; k < other.n_bound; k++) {
    gemel__part_bind(x, a, other.bound[k], other.sizes[k]);
  }
  gemel__part_cancel_inverses(x, a);
}

void gemel__parts_multiply(gemel__parts *x, uint32_t first, uint32_t middle) {
  uint32_t left = middle - first, right = x->count - middle, end = x->count;
  for (uint32_t i = 0; i < left * right && !x->failed; i++) {
    const gemel__part product = x->list[first + i / right];
    gemel__part *made = gemel__part_new(x);
    if (made != NULL) {
      *made = product;
      gemel__part_multiply(x, made, &x->list[middle + i % right]);
    }
  }
  if (!x->failed) {
    memmove(&x->list[first], &x->list[end], (x->count - end) * sizeof *x->list);
    x->count -= end - first;
  }
}

void gemel__parts_bind(gemel__parts *x, uint32_t first, gemel__pterm fold,
                       const gemel__pterm *symbols) {
  const gemel__pterms *t = &x->s->terms;
  for (uint32_t k = first; k < x->count; k++) {
    for (uint32_t i = 0; i < t->nodes[fold].count / 2; i++) {
      gemel__part_bind(x, &x->list[k], symbols[i], gemel__p_operand(t, fold, 2 * i + 2));
    }
    rename_bound(x, &x->list[k]);
  }
}

void gemel__parts_scale(gemel__parts *x, uint32_t first, int64_t number, int64_t divisor) {
  for (uint32_t k = first; k < x->count; k++) {
    gemel__part_scale(x, &x->list[k], number, divisor);
  }
}

/* Adds up parts FIRST ... that are the same but for their numbers, as they are written. */
void gemel__parts_merge(gemel__parts *x, uint32_t first) {
  uint32_t kept = first;
  for (uint32_t k = first; k < x->count && !x->failed; k++) {
    const gemel__part a = x->list[k];
    uint32_t at = first;
    while (at < kept &&
           !(a.n_factors == x->list[at].n_factors && a.n_guards == x->list[at].n_guards &&
             a.n_bound == 0 && x->list[at].n_bound == 0 &&
             memcmp(a.factors, x->list[at].factors, sizeof a.factors) == 0 &&
             memcmp(a.guards, x->list[at].guards, sizeof a.guards) == 0)) {
      at++;
    }
    if (at < kept) {
      gemel__part_add(x, &x->list[at], &a);
    } else {
      x->list[kept++] = a;
    }
  }
  x->count = kept;
}

void gemel__parts_factor(gemel__parts *x, gemel__pterm a) {
  gemel__part *one = gemel__part_new(x);
  if (one != NULL) {
    gemel__part_factor(x, one, a);
  }
}

/* ---- Bound indices that say nothing ---- */

static int uses_symbol(const gemel__part *a, const gemel__pterms *t, gemel__pterm symbol) {
  for (uint32_t k = 0; k < a->n_guards; k++) {
    if (gemel__p_contains(t, a->guards[k], symbol)) {
      return 1;
    }
  }
  for (uint32_t k = 0; k < a->n_factors; k++) {
    if (gemel__p_contains(t, a->factors[k], symbol)) {
      return 1;
    }
  }
  return 0;
}

/* Takes out bound index K: of one element, or because all elements are the same, so many times. */
static void unbind(gemel__parts *x, gemel__part *a, uint32_t k, int one) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm symbol = a->bound[k], size = a->sizes[k], zero = gemel__p_number(t, 0);
  int64_t number;
  a->n_bound--;
  memmove(&a->bound[k], &a->bound[k + 1], (a->n_bound - k) * sizeof *a->bound);
  memmove(&a->sizes[k], &a->sizes[k + 1], (a->n_bound - k) * sizeof *a->sizes);
  if (one) {
    replace_in(x, a, 1, &symbol, &zero);
  } else if (gemel__p_is_number(t, size, &number)) {
    gemel__part_scale(x, a, number, 1);
  } else {
    gemel__part_factor(x, a, gemel__p_call(t, x->sort, "element", 0, 1, &size));
  }
}

/* HARD: sizes that take a question to be 1 are asked for. */
void gemel__part_tidy(gemel__parts *x, gemel__part *a, int hard) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm one = gemel__p_number(t, 1);
  for (uint32_t k = a->n_factors; k > 0 && hard; k--) {
    gemel__pterm factor = a->factors[k - 1];
    if (gemel__p_calls(t, factor, "element") &&
        gemel__pscene_provable(x->s, gemel__p_equal(t, gemel__p_operand(t, factor, 0), one),
                               GEMEL__PSTEP_ONE)) {
      a->factors[k - 1] = a->factors[--a->n_factors];
    }
  }
  for (uint32_t k = a->n_bound; k > 0; k--) {
    gemel__pterm is_one = gemel__p_equal(t, a->sizes[k - 1], one);
    if (gemel__pscene_plain(x->s, is_one) ||
        (hard && gemel__pscene_provable(x->s, is_one, GEMEL__PSTEP_ONE))) {
      unbind(x, a, k - 1, 1);
    } else if (x->is_sum && !uses_symbol(a, t, a->bound[k - 1])) {
      unbind(x, a, k - 1, 0);
    }
  }
}

/* ---- Maps of indices ---- */

/* A read of a variable of the rule: an element with integers as operands. */
typedef struct reads {
  uint32_t count;
  gemel__pterm list[MOST_READS];
} reads;

static int is_read(const gemel__pterms *t, gemel__pterm a) {
  const gemel__pterm_node *n = &t->nodes[a];
  int is = n->kind == GEMEL__P_CALL && gemel__psort_is_element(n->sort) && n->count > 0;
  for (uint32_t k = 0; k < n->count && is; k++) {
    is = t->nodes[gemel__p_operand(t, a, k)].sort == GEMEL__PSORT_INTEGER;
  }
  return is;
}

/* The reads in A's factors that use a bound index of A's. */
static void collect_reads(gemel__pscene *s, const gemel__part *a, reads *r) {
  const gemel__pterms *t = &s->terms;
  r->count = 0;
  for (uint32_t k = 0; k < a->n_factors; k++) {
    for (gemel__pterm at = a->factors[k]; at > 0 && r->count < MOST_READS; at--) {
      int used = 0;
      for (uint32_t i = 0; i < a->n_bound && is_read(t, at) && !used; i++) {
        used = gemel__p_contains(t, at, a->bound[i]) && gemel__p_contains(t, a->factors[k], at);
      }
      if (used) {
        r->list[r->count++] = at;
      }
    }
  }
}

/* Equations between an index of one gemel__part and one of another. */
typedef struct index_equations {
  uint32_t count;
  gemel__pterm sides[2][MOST_EQUATIONS];
} index_equations;

/* A map: what each bound index of one gemel__part is, in the other's; 0: nothing yet. */
typedef struct map {
  gemel__pterm value[GEMEL__PAXES];
} map;

/* A bound index of A that LEFT is, but for what is known: *FACTOR times it, 1 or -1. */
static int one_unknown(const gemel__pscene *s, const gemel__part *a, const map *m,
                       gemel__pterm left, int64_t *factor) {
  const gemel__pterms *t = &s->terms;
  const gemel__pterm_node *n = &t->nodes[left];
  int found = -1;
  for (uint32_t k = 0; k < a->n_bound; k++) {
    if (m->value[k] != 0 || !gemel__p_contains(t, left, a->bound[k])) {
      continue;
    }
    if (found >= 0) {
      return -1;
    }
    found = (int)k;
    *factor = left == a->bound[k];
    for (uint32_t i = 0; n->kind == GEMEL__P_SUM && i < n->count; i++) {
      if (t->operands[n->first + i] == a->bound[k]) {
        *factor = t->coefficients[n->first + i];
      } else if (gemel__p_contains(t, t->operands[n->first + i], a->bound[k])) {
        return -1;
      }
    }
  }
  return found >= 0 && (*factor == 1 || *factor == -1) ? found : -1;
}

/* Solves LEFT = RIGHT, of which LEFT is in A's bound indices, for one of them that M hasn't yet. A
 * quotient is what times the step gives the distance. */
static int solve_equation(gemel__pscene *s, const gemel__part *a, map *m, gemel__pterm left,
                          gemel__pterm right) {
  gemel__pterms *t = &s->terms;
  int64_t factor = 0;
  if (gemel__p_calls(t, left, "quotient")) {
    right = gemel__p_mul(t, right, gemel__p_operand(t, left, 1));
    left = gemel__p_operand(t, left, 0);
  }
  int k = one_unknown(s, a, m, left, &factor);
  if (k < 0) {
    return 0;
  }
  gemel__pterm rest = gemel__p_sub(t, left, gemel__p_scale(t, a->bound[k], factor));
  for (uint32_t i = 0; i < a->n_bound; i++) {
    if (m->value[i] != 0) {
      rest = gemel__p_replace(t, rest, 1, &a->bound[i], &m->value[i]);
    }
  }
  m->value[k] = gemel__p_scale(t, gemel__p_sub(t, right, rest), factor);
  return m->value[k] != 0;
}

/* Solves the equations for A's bound indices; SIDE says which of their sides is A's. */
static map solve_equations(gemel__pscene *s, const gemel__part *a, const index_equations *e,
                           int side) {
  map m = {{0}};
  int more = 1;
  while (more) {
    more = 0;
    for (uint32_t k = 0; k < e->count; k++) {
      more |= solve_equation(s, a, &m, e->sides[side][k], e->sides[1 - side][k]);
    }
  }
  return m;
}

/* Bound indices that no equation is about are each other's, in their order. */
static void pair_rest(const gemel__part *a, const gemel__part *b, map *of_a, map *of_b) {
  uint32_t at = 0;
  for (uint32_t k = 0; k < a->n_bound; k++) {
    while (at < b->n_bound && of_b->value[at] != 0) {
      at++;
    }
    if (of_a->value[k] == 0 && at < b->n_bound) {
      of_a->value[k] = b->bound[at];
      of_b->value[at] = a->bound[k];
    }
  }
}

static int is_whole(const gemel__part *a, const map *m) {
  for (uint32_t k = 0; k < a->n_bound; k++) {
    if (m->value[k] == 0) {
      return 0;
    }
  }
  return 1;
}

/* Assumes A's ranges and guards. */
void gemel__part_assume(gemel__pscene *s, const gemel__part *a) {
  for (uint32_t k = 0; k < a->n_bound; k++) {
    gemel__pscene_index(s, a->bound[k], a->sizes[k]);
  }
  for (uint32_t k = 0; k < a->n_guards; k++) {
    gemel__pscene_assume(s, a->guards[k], 0);
  }
}

/* With B's ranges and guards known: M takes B's bound indices to A's ranges and guards, and
 * INVERSE, unless that is NULL, takes them back. */
static int goes_into(gemel__pscene *s, const gemel__part *a, const gemel__part *b, const map *m,
                     const map *inverse) {
  gemel__pterms *t = &s->terms;
  gemel__pterm all = gemel__p_truth(t, 1), zero = gemel__p_number(t, 0);
  for (uint32_t k = 0; k < a->n_bound; k++) {
    all = gemel__p_and(t, all, gemel__p_at_least(t, m->value[k], zero));
    all = gemel__p_and(t, all, gemel__p_below(t, m->value[k], a->sizes[k]));
  }
  for (uint32_t k = 0; k < a->n_guards; k++) {
    all = gemel__p_and(t, all, gemel__p_replace(t, a->guards[k], a->n_bound, a->bound, m->value));
  }
  for (uint32_t k = 0; k < b->n_bound && inverse != NULL; k++) {
    gemel__pterm back = gemel__p_replace(t, inverse->value[k], a->n_bound, a->bound, m->value);
    all = gemel__p_and(t, all, gemel__p_equal(t, back, b->bound[k]));
  }
  return gemel__pscene_provable(s, all, GEMEL__PSTEP_MAP);
}

/* With B's ranges and guards known: A's factors, M applied, are B's in some order. */
static int same_factors(gemel__pscene *s, const gemel__part *a, const gemel__part *b, const map *m,
                        int depth) {
  gemel__pterm factors[GEMEL__PART_FACTORS];
  uint32_t used = 0;
  for (uint32_t k = 0; k < a->n_factors; k++) {
    factors[k] = gemel__p_replace(&s->terms, a->factors[k], a->n_bound, a->bound, m->value);
  }
  for (uint32_t k = 0; k < a->n_factors; k++) {
    uint32_t at = 0;
    for (; at < b->n_factors; at++) {
      if (!(used >> at & 1) && factors[k] == b->factors[at]) {
        break;
      }
    }
    for (at = at < b->n_factors ? at : 0; at < b->n_factors; at++) {
      if (!(used >> at & 1) && gemel__same_at(s, factors[k], b->factors[at], depth + 1)) {
        break;
      }
    }
    if (at == b->n_factors) {
      return 0;
    }
    used |= 1u << at;
  }
  return 1;
}

/* 1 if the maps that the equations give make A and B the same. */
static int same_by(gemel__pscene *s, const gemel__part *a, const gemel__part *b,
                   const index_equations *e, int depth) {
  map of_a = solve_equations(s, a, e, 0), of_b = solve_equations(s, b, e, 1);
  size_t before = s->n_known;
  pair_rest(a, b, &of_a, &of_b);
  if (!is_whole(a, &of_a) || !is_whole(b, &of_b)) {
    return 0;
  }
  gemel__part_assume(s, b);
  int same = goes_into(s, a, b, &of_a, &of_b) && same_factors(s, a, b, &of_a, depth);
  s->n_known = before;
  if (same) {
    gemel__part_assume(s, a);
    same = goes_into(s, b, a, &of_b, &of_a);
    s->n_known = before;
  }
  return same;
}

/* 1 if what the equations give of A's bound indices, in B's, makes A there what B is. */
static int covers_by(gemel__pscene *s, const gemel__part *a, const gemel__part *b,
                     const index_equations *e, int depth) {
  map m = solve_equations(s, a, e, 0);
  size_t before = s->n_known;
  for (uint32_t k = 0; k < a->n_bound; k++) {
    m.value[k] = m.value[k] != 0 ? m.value[k] : gemel__p_number(&s->terms, 0);
  }
  gemel__part_assume(s, b);
  int covers = goes_into(s, a, b, &m, NULL) && same_factors(s, a, b, &m, depth);
  s->n_known = before;
  return covers;
}

typedef int (*part_relation)(gemel__pscene *s, const gemel__part *a, const gemel__part *b,
                             const index_equations *e, int depth);

/* Adds the equations that make reads P and Q one. */
static int add_equations(const gemel__pterms *t, index_equations *e, gemel__pterm p,
                         gemel__pterm q) {
  uint32_t count = t->nodes[p].count;
  if (t->nodes[p].name != t->nodes[q].name || count != t->nodes[q].count ||
      e->count + count > MOST_EQUATIONS) {
    return 0;
  }
  for (uint32_t k = 0; k < count; k++) {
    e->sides[0][e->count] = gemel__p_operand(t, p, k);
    e->sides[1][e->count++] = gemel__p_operand(t, q, k);
  }
  return 1;
}

/* Does RELATION hold by the equations that some choice of reads gives? Tries for read K of A ...
 * each read of B of the same tensor. */
static int holds_by_reads(gemel__pscene *s, part_relation relation, const gemel__part *a,
                          const gemel__part *b, const reads *of_a, const reads *of_b,
                          const index_equations *so_far, uint32_t k, int depth) {
  const map m = solve_equations(s, a, so_far, 0);
  if (k == of_a->count || is_whole(a, &m)) {
    return relation(s, a, b, so_far, depth);
  }
  int tried = 0;
  for (uint32_t i = 0; i < of_b->count && s->flow == GEMEL__P_GO; i++) {
    index_equations e = *so_far;
    if (add_equations(&s->terms, &e, of_a->list[k], of_b->list[i])) {
      tried = 1;
      if (holds_by_reads(s, relation, a, b, of_a, of_b, &e, k + 1, depth)) {
        return 1;
      }
    }
  }
  return !tried && holds_by_reads(s, relation, a, b, of_a, of_b, so_far, k + 1, depth);
}

/* What kind of factor A is, as far as it is plain: other kinds may be the same still. */
static uint64_t factor_kind(const gemel__pterms *t, gemel__pterm a) {
  return (uint64_t)(uintptr_t)t->nodes[a].name ^ (uint64_t)t->nodes[a].kind << 56;
}

/* 1 if A and B have factors of the same kinds. */
static int alike(const gemel__pterms *t, const gemel__part *a, const gemel__part *b) {
  uint64_t sums[2] = {0, 0};
  for (uint32_t k = 0; k < a->n_factors && a->n_factors == b->n_factors; k++) {
    sums[0] += factor_kind(t, a->factors[k]);
    sums[1] += factor_kind(t, b->factors[k]);
  }
  return a->n_bound == b->n_bound && a->n_factors == b->n_factors && sums[0] == sums[1];
}

/* 1 if A and B are the same but for their numbers. */
static int holds(gemel__pscene *s, part_relation relation, const gemel__part *a,
                 const gemel__part *b, int depth) {
  const index_equations none = {0};
  reads of_a, of_b;
  collect_reads(s, a, &of_a);
  collect_reads(s, b, &of_b);
  return holds_by_reads(s, relation, a, b, &of_a, &of_b, &none, 0, depth);
}

int gemel__parts_same(gemel__pscene *s, const gemel__part *a, const gemel__part *b, int depth) {
  return holds(s, same_by, a, b, depth);
}

int gemel__parts_cover(gemel__pscene *s, const gemel__part *a, const gemel__part *b, int depth) {
  return holds(s, covers_by, a, b, depth);
}

/* ---- Sums ---- */

/* 1 if no index of A's ranges has its guards, or an axis has no elements. */
int gemel__part_is_empty(gemel__pscene *s, const gemel__part *a) {
  size_t before = s->n_known;
  gemel__part_assume(s, a);
  int empty = gemel__pscene_provable(s, gemel__p_truth(&s->terms, 0), GEMEL__PSTEP_EMPTY);
  s->n_known = before;
  return empty;
}

/* Adds up parts that are the same: of two sides, or of one. */
static void collect_parts(gemel__parts *x, int two_sides, int depth) {
  for (uint32_t k = 0; k < x->count; k++) {
    for (uint32_t i = 0; i < k && x->s->flow == GEMEL__P_GO && !x->failed; i++) {
      if (x->list[i].number != 0 && x->list[k].number != 0 &&
          (x->list[i].side != x->list[k].side) == two_sides &&
          alike(&x->s->terms, &x->list[i], &x->list[k]) &&
          gemel__parts_same(x->s, &x->list[i], &x->list[k], depth)) {
        gemel__part_add(x, &x->list[i], &x->list[k]);
        x->list[k].number = 0;
      }
    }
  }
}

/* A guard that is about no bound index: whether it holds is decided first. */
gemel__pterm gemel__parts_free_guard(const gemel__parts *x) {
  const gemel__pterms *t = &x->s->terms;
  for (uint32_t k = 0; k < x->count; k++) {
    const gemel__part *a = &x->list[k];
    for (uint32_t g = 0; a->number != 0 && g < a->n_guards; g++) {
      int bound = 0;
      for (uint32_t i = 0; i < a->n_bound && !bound; i++) {
        bound = gemel__p_contains(t, a->guards[g], a->bound[i]);
      }
      if (!bound) {
        return a->guards[g];
      }
    }
  }
  return 0;
}

int gemel__part_has_zero(gemel__parts *x, const gemel__part *a) {
  gemel__pterms *t = &x->s->terms;
  for (uint32_t k = 0; k < a->n_factors; k++) {
    const gemel__pterm_node n = t->nodes[a->factors[k]];
    gemel__pterm zero = gemel__p_literal(t, (gemel__pterm_sort)n.sort, "0");
    if (n.kind == GEMEL__P_CALL && n.count == 0 && n.value != 2 &&
        gemel__pscene_provable(x->s, gemel__p_same(t, a->factors[k], zero), GEMEL__PSTEP_EMPTY)) {
      return 1;
    }
  }
  return 0;
}

/* 1 if all parts cancel, or have no elements; HARD as in tidy. */
int gemel__parts_cancel(gemel__parts *x, int depth, int hard) {
  for (uint32_t k = 0; k < x->count && !x->failed; k++) {
    if (x->list[k].number != 0) {
      gemel__part_tidy(x, &x->list[k], hard);
      if (hard && x->is_sum) {
        gemel__part_cancel_total(x, &x->list[k], depth);
      }
    }
  }
  collect_parts(x, 1, depth);
  collect_parts(x, 0, depth);
  for (uint32_t k = 0; k < x->count && !x->failed; k++) {
    if (x->list[k].number != 0 && !(x->is_sum && gemel__part_has_zero(x, &x->list[k])) &&
        !gemel__part_is_empty(x->s, &x->list[k])) {
      return 0;
    }
  }
  return !x->failed && x->s->flow == GEMEL__P_GO;
}

int gemel__parts_say_nothing(const gemel__parts *x, gemel__pterm a, gemel__pterm b) {
  const gemel__part *l = &x->list[0], *r = &x->list[1];
  return x->count == 2 && l->n_factors == 1 && l->factors[0] == a && r->n_factors == 1 &&
         r->factors[0] == b;
}

int gemel__parts_start(gemel__parts *x, gemel__pscene *s, gemel__pterm_sort sort) {
  gemel_dtype dtype;
  memset(x, 0, sizeof *x);
  x->s = s;
  x->sort = sort;
  if (!gemel__psort_dtype((int)sort, &dtype)) {
    return 0;
  }
  x->is_real = gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
  x->bits = 8 * (int)gemel_dtype_size(dtype);
  x->list = gemel__alloc_array(GEMEL__PARTS, sizeof *x->list);
  if (x->list == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
  }
  return x->list != NULL;
}

void gemel__parts_end(gemel__parts *x) {
  gemel__free(x->list, GEMEL__PARTS * sizeof *x->list);
}
