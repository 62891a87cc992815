/* SPDX-License-Identifier: MIT
 *
 * The table of terms, and how each is made. A polynomial is multiplied out at once: its terms are
 * products of what isn't a polynomial itself (symbols, calls, choices), in the order of their
 * indices, and it is the sum of these in the order of theirs. So equal polynomials are equal terms,
 * and what a proof needs first, that two sizes are equal, mostly costs no question.
 */
#include "unbounded/term.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/intern.h"

enum { MOST_TERMS = 400, NAME_BYTES = 200, MOST_BOUND = 8 };

/* ---- The table ---- */

void gemel__pterms_init(gemel__pterms *t) {
  memset(t, 0, sizeof *t);
  t->count = 1;
}

void gemel__pterms_clear(gemel__pterms *t) {
  gemel__free(t->nodes, t->capacity * sizeof *t->nodes);
  gemel__free(t->operands, t->operand_capacity * sizeof *t->operands);
  gemel__free(t->coefficients, t->coefficient_capacity * sizeof *t->coefficients);
  gemel__free(t->table, t->table_size * sizeof *t->table);
  gemel__free(t->names, t->name_capacity * sizeof *t->names);
  gemel__arena_clear(&t->arena);
  gemel__pterms_init(t);
}

static gemel__pterm fail(gemel__pterms *t, gemel__pterm_trouble trouble) {
  t->trouble = t->trouble ? t->trouble : trouble;
  return 0;
}

/* The one copy of TEXT; NULL if memory is out. */
static const char *interned(gemel__pterms *t, const char *text) {
  for (size_t k = 0; k < t->n_names; k++) {
    if (strcmp(t->names[k], text) == 0) {
      return t->names[k];
    }
  }
  const char *copy = gemel__arena_string(&t->arena, text);
  if (copy == NULL || gemel__grow(&t->names, &t->name_capacity, t->n_names + 1, sizeof *t->names)) {
    fail(t, GEMEL__PTERM_NO_MEMORY);
    return NULL;
  }
  t->names[t->n_names++] = copy;
  return copy;
}

static int widen_table(gemel__pterms *t) {
  size_t size = t->table_size > 0 ? 2 * t->table_size : 1024;
  uint32_t *table = gemel__alloc_zeroed(size * sizeof *table);
  if (table == NULL) {
    return 1;
  }
  for (uint32_t k = 1; k < t->count; k++) {
    size_t at = t->nodes[k].hash & (size - 1);
    while (table[at] != 0) {
      at = (at + 1) & (size - 1);
    }
    table[at] = k;
  }
  gemel__free(t->table, t->table_size * sizeof *t->table);
  t->table = table;
  t->table_size = size;
  return 0;
}

static int is_node(const gemel__pterms *t, const gemel__pterm_node *a, const gemel__pterm_node *b,
                   const gemel__pterm *operands, const int64_t *coefficients) {
  return a->hash == b->hash && a->kind == b->kind && a->sort == b->sort && a->count == b->count &&
         a->name == b->name && a->value == b->value &&
         (a->count == 0 ||
          (memcmp(t->operands + a->first, operands, a->count * sizeof *operands) == 0 &&
           (coefficients == NULL || memcmp(t->coefficients + a->first, coefficients,
                                           a->count * sizeof *coefficients) == 0)));
}

static int keep_operands(gemel__pterms *t, const gemel__pterm_node *node,
                         const gemel__pterm *operands, const int64_t *coefficients) {
  size_t need = t->n_operands + node->count;
  if (gemel__grow(&t->operands, &t->operand_capacity, need, sizeof *t->operands) ||
      gemel__grow(&t->coefficients, &t->coefficient_capacity, need, sizeof *t->coefficients)) {
    return 1;
  }
  for (uint32_t k = 0; k < node->count; k++) {
    t->operands[t->n_operands + k] = operands[k];
    t->coefficients[t->n_operands + k] = coefficients != NULL ? coefficients[k] : 1;
  }
  t->n_operands = need;
  return 0;
}

/* The term that NODE is with these operands (COEFFICIENTS: of a SUM, else NULL). */
static gemel__pterm made(gemel__pterms *t, gemel__pterm_node node, const gemel__pterm *operands,
                         const int64_t *coefficients) {
  uint64_t plain[4] = {(uint64_t)node.kind << 8 | node.sort, node.count, (uint64_t)node.value,
                       (uint64_t)(uintptr_t)node.name};
  node.level = 0;
  for (uint32_t k = 0; k < node.count; k++) {
    if (operands[k] == 0) {
      return 0;
    }
    uint32_t level = t->nodes[operands[k]].level;
    node.level = level > node.level ? level : node.level;
  }
  node.level += node.kind == GEMEL__P_FOLD;
  node.hash = gemel__hash_bytes(gemel__hash_bytes(1, plain, sizeof plain), operands,
                                node.count * sizeof *operands);
  if (coefficients != NULL) {
    node.hash = gemel__hash_bytes(node.hash, coefficients, node.count * sizeof *coefficients);
  }
  if (2 * t->count >= t->table_size && widen_table(t)) {
    return fail(t, GEMEL__PTERM_NO_MEMORY);
  }
  size_t at = node.hash & (t->table_size - 1);
  for (; t->table[at] != 0; at = (at + 1) & (t->table_size - 1)) {
    if (is_node(t, &t->nodes[t->table[at]], &node, operands, coefficients)) {
      return t->table[at];
    }
  }
  node.first = (uint32_t)t->n_operands;
  if (gemel__grow(&t->nodes, &t->capacity, t->count + 1, sizeof *t->nodes) ||
      keep_operands(t, &node, operands, coefficients)) {
    return fail(t, GEMEL__PTERM_NO_MEMORY);
  }
  t->nodes[t->count] = node;
  t->table[at] = (uint32_t)t->count;
  return (gemel__pterm)t->count++;
}

static gemel__pterm plain(gemel__pterms *t, gemel__pterm_kind kind, gemel__pterm_sort sort,
                          uint32_t count, const gemel__pterm *operands) {
  gemel__pterm_node node = {
      .kind = (unsigned char)kind, .sort = (unsigned char)sort, .count = count};
  return made(t, node, operands, NULL);
}

/* ---- Symbols and calls ---- */

gemel__pterm gemel__p_symbol(gemel__pterms *t, gemel__pterm_sort sort, const char *name) {
  gemel__pterm_node node = {.kind = GEMEL__P_SYMBOL, .sort = (unsigned char)sort};
  node.name = interned(t, name);
  return node.name != NULL ? made(t, node, NULL, NULL) : 0;
}

gemel__pterm gemel__p_fresh(gemel__pterms *t, gemel__pterm_sort sort, const char *name) {
  char text[NAME_BYTES];
  snprintf(text, sizeof text, "%s!%lld", name, (long long)++t->fresh);
  return gemel__p_symbol(t, sort, text);
}

gemel__pterm gemel__p_call(gemel__pterms *t, gemel__pterm_sort sort, const char *name, int commutes,
                           uint32_t count, const gemel__pterm *operands) {
  gemel__pterm_node node = {
      .kind = GEMEL__P_CALL, .sort = (unsigned char)sort, .count = count, .value = commutes};
  node.name = interned(t, name);
  if (node.name == NULL) {
    return 0;
  }
  if (commutes && count == 2 && operands[0] > operands[1]) {
    const gemel__pterm swapped[2] = {operands[1], operands[0]};
    return made(t, node, swapped, NULL);
  }
  return made(t, node, operands, NULL);
}

gemel__pterm gemel__p_literal(gemel__pterms *t, gemel__pterm_sort sort, const char *text) {
  gemel__pterm_node node = {.kind = GEMEL__P_CALL, .sort = (unsigned char)sort, .value = 2};
  node.name = interned(t, text);
  return node.name != NULL ? made(t, node, NULL, NULL) : 0;
}

/* The bound symbols of a fold of LEVEL are called by it, so that folds which are the same but for
 * the names of these are one term. Those of folds within have lower levels. */
static gemel__pterm bound_symbol(gemel__pterms *t, uint32_t level, uint32_t k) {
  char text[60];
  snprintf(text, sizeof text, "bound!%u.%u", level, k);
  return gemel__p_symbol(t, GEMEL__PSORT_INTEGER, text);
}

gemel__pterm gemel__p_fold(gemel__pterms *t, gemel__pterm_sort sort, const char *name,
                           gemel__pterm body, uint32_t count, const gemel__pterm *symbols,
                           const gemel__pterm *sizes) {
  gemel__pterm operands[2 * MOST_BOUND + 1] = {body}, own[MOST_BOUND];
  gemel__pterm_node node = {
      .kind = GEMEL__P_FOLD, .sort = (unsigned char)sort, .count = 2 * count + 1};
  node.name = interned(t, name);
  if (body == 0 || node.name == NULL || count > MOST_BOUND) {
    return body == 0 ? 0 : fail(t, GEMEL__PTERM_TOO_LARGE);
  }
  for (uint32_t k = 0; k < count; k++) {
    own[k] = bound_symbol(t, t->nodes[body].level, k);
    operands[2 * k + 1] = own[k];
    operands[2 * k + 2] = sizes[k];
  }
  if (memcmp(own, symbols, count * sizeof *own) != 0) {
    operands[0] = gemel__p_replace(t, body, count, symbols, own);
  }
  return made(t, node, operands, NULL);
}

gemel__pterm gemel__p_unfold(gemel__pterms *t, gemel__pterm a, gemel__pterm *symbols) {
  gemel__pterm own[MOST_BOUND];
  uint32_t count = t->nodes[a].count / 2;
  for (uint32_t k = 0; k < count; k++) {
    own[k] = gemel__p_operand(t, a, 2 * k + 1);
    symbols[k] = gemel__p_fresh(t, GEMEL__PSORT_INTEGER, "k");
  }
  return gemel__p_replace(t, gemel__p_operand(t, a, 0), count, own, symbols);
}

/* ---- Polynomials ---- */

/* A sum that is being made: products with their coefficients. */
typedef struct polynomial {
  uint32_t count;
  int64_t constant;
  gemel__pterm terms[MOST_TERMS];
  int64_t coefficients[MOST_TERMS];
  int too_large;
} polynomial;

static void add_term(polynomial *p, gemel__pterm term, int64_t coefficient) {
  uint32_t at = 0;
  while (at < p->count && p->terms[at] < term) {
    at++;
  }
  if (at < p->count && p->terms[at] == term) {
    p->too_large |= __builtin_add_overflow(p->coefficients[at], coefficient, &p->coefficients[at]);
    return;
  }
  if (p->count == MOST_TERMS) {
    p->too_large = 1;
    return;
  }
  memmove(p->terms + at + 1, p->terms + at, (p->count - at) * sizeof *p->terms);
  memmove(p->coefficients + at + 1, p->coefficients + at,
          (p->count - at) * sizeof *p->coefficients);
  p->terms[at] = term;
  p->coefficients[at] = coefficient;
  p->count++;
}

/* Adds BY times the integer A. */
static void accumulate(const gemel__pterms *t, polynomial *p, gemel__pterm a, int64_t by) {
  const gemel__pterm_node *n = &t->nodes[a];
  int64_t scaled;
  if (n->kind != GEMEL__P_SUM && n->kind != GEMEL__P_NUMBER) {
    add_term(p, a, by);
    return;
  }
  p->too_large |= __builtin_mul_overflow(n->value, by, &scaled) ||
                  __builtin_add_overflow(p->constant, scaled, &p->constant);
  for (uint32_t k = 0; k < n->count; k++) {
    p->too_large |= __builtin_mul_overflow(t->coefficients[n->first + k], by, &scaled);
    add_term(p, t->operands[n->first + k], scaled);
  }
}

static gemel__pterm sum_of(gemel__pterms *t, polynomial *p) {
  gemel__pterm_node node = {
      .kind = GEMEL__P_SUM, .sort = GEMEL__PSORT_INTEGER, .value = p->constant};
  if (p->too_large) {
    return fail(t, GEMEL__PTERM_TOO_LARGE);
  }
  for (uint32_t k = 0; k < p->count; k++) {
    if (p->coefficients[k] != 0) {
      p->terms[node.count] = p->terms[k];
      p->coefficients[node.count++] = p->coefficients[k];
    }
  }
  if (node.count == 0) {
    return gemel__p_number(t, p->constant);
  }
  if (node.count == 1 && p->constant == 0 && p->coefficients[0] == 1) {
    return p->terms[0];
  }
  return made(t, node, p->terms, p->coefficients);
}

gemel__pterm gemel__p_number(gemel__pterms *t, int64_t value) {
  gemel__pterm_node node = {.kind = GEMEL__P_NUMBER, .sort = GEMEL__PSORT_INTEGER, .value = value};
  return made(t, node, NULL, NULL);
}

/* A·x + B·y. */
static gemel__pterm combined(gemel__pterms *t, gemel__pterm x, int64_t a, gemel__pterm y,
                             int64_t b) {
  polynomial p;
  p.count = 0, p.constant = 0, p.too_large = 0;
  if (x == 0 || y == 0) {
    return 0;
  }
  accumulate(t, &p, x, a);
  accumulate(t, &p, y, b);
  return sum_of(t, &p);
}

gemel__pterm gemel__p_add(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return combined(t, a, 1, b, 1);
}

gemel__pterm gemel__p_sub(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return combined(t, a, 1, b, -1);
}

gemel__pterm gemel__p_scale(gemel__pterms *t, gemel__pterm a, int64_t by) {
  return combined(t, a, by, gemel__p_number(t, 0), 1);
}

gemel__pterm gemel__p_plus(gemel__pterms *t, gemel__pterm a, int64_t value) {
  return combined(t, a, 1, gemel__p_number(t, value), 1);
}

/* The product of two terms of polynomials, of which neither is a sum or a number. */
static gemel__pterm product_of(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  enum { MOST_FACTORS = 12 };
  gemel__pterm factors[2 * MOST_FACTORS];
  uint32_t count = 0;
  for (int side = 0; side < 2; side++) {
    gemel__pterm one = side == 0 ? a : b;
    const gemel__pterm_node *n = &t->nodes[one];
    int is_product = n->kind == GEMEL__P_PRODUCT;
    for (uint32_t k = 0; k < (is_product ? n->count : 1); k++) {
      gemel__pterm factor = is_product ? t->operands[n->first + k] : one;
      uint32_t at = count++;
      if (count > MOST_FACTORS) {
        return fail(t, GEMEL__PTERM_TOO_LARGE);
      }
      for (; at > 0 && factors[at - 1] > factor; at--) {
        factors[at] = factors[at - 1];
      }
      factors[at] = factor;
    }
  }
  return plain(t, GEMEL__P_PRODUCT, GEMEL__PSORT_INTEGER, count, factors);
}

/* The K-th term of the integer A as a polynomial, and its coefficient; a constant is the last, and
 * has term 0. */
static gemel__pterm term_of(const gemel__pterms *t, gemel__pterm a, uint32_t k,
                            int64_t *coefficient) {
  const gemel__pterm_node *n = &t->nodes[a];
  if (n->kind != GEMEL__P_SUM && n->kind != GEMEL__P_NUMBER) {
    *coefficient = 1;
    return a;
  }
  *coefficient = k < n->count ? t->coefficients[n->first + k] : n->value;
  return k < n->count ? t->operands[n->first + k] : 0;
}

static uint32_t term_count(const gemel__pterms *t, gemel__pterm a) {
  const gemel__pterm_node *n = &t->nodes[a];
  return n->kind == GEMEL__P_SUM || n->kind == GEMEL__P_NUMBER ? n->count + (n->value != 0) : 1;
}

gemel__pterm gemel__p_mul(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  polynomial p;
  p.count = 0, p.constant = 0, p.too_large = 0;
  if (a == 0 || b == 0) {
    return 0;
  }
  for (uint32_t i = 0; i < term_count(t, a); i++) {
    for (uint32_t j = 0; j < term_count(t, b); j++) {
      int64_t c, d, e;
      gemel__pterm x = term_of(t, a, i, &c), y = term_of(t, b, j, &d);
      p.too_large |= __builtin_mul_overflow(c, d, &e);
      gemel__pterm both = x != 0 && y != 0 ? product_of(t, x, y) : x != 0 ? x : y;
      if (t->trouble) {
        return 0;
      }
      if (both == 0) {
        p.too_large |= __builtin_add_overflow(p.constant, e, &p.constant);
      } else {
        add_term(&p, both, e);
      }
    }
  }
  return sum_of(t, &p);
}

int gemel__p_is_number(const gemel__pterms *t, gemel__pterm a, int64_t *value) {
  *value = a != 0 ? t->nodes[a].value : 0;
  return a != 0 && t->nodes[a].kind == GEMEL__P_NUMBER;
}

static int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

gemel__pterm gemel__p_div(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  int64_t x, y;
  const gemel__pterm both[2] = {a, b};
  if (gemel__p_is_number(t, b, &y) && y >= 1 && (y == 1 || gemel__p_is_number(t, a, &x))) {
    return y == 1 ? a : gemel__p_number(t, floor_of(x, y));
  }
  return plain(t, GEMEL__P_DIVIDED, GEMEL__PSORT_INTEGER, 2, both);
}

gemel__pterm gemel__p_mod(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  int64_t x, y;
  const gemel__pterm both[2] = {a, b};
  if (gemel__p_is_number(t, b, &y) && y >= 1 && (y == 1 || gemel__p_is_number(t, a, &x))) {
    return gemel__p_number(t, y == 1 ? 0 : x - y * floor_of(x, y));
  }
  return plain(t, GEMEL__P_REMAINDER, GEMEL__PSORT_INTEGER, 2, both);
}

gemel__pterm gemel__p_min(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return gemel__p_choose(t, gemel__p_at_least(t, b, a), a, b);
}

gemel__pterm gemel__p_max(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return gemel__p_choose(t, gemel__p_at_least(t, a, b), a, b);
}

/* ---- Truths ---- */

gemel__pterm gemel__p_truth(gemel__pterms *t, int value) {
  gemel__pterm_node node = {
      .kind = GEMEL__P_TRUTH, .sort = GEMEL__PSORT_TRUTH, .value = value != 0};
  return made(t, node, NULL, NULL);
}

int gemel__p_is_true(const gemel__pterms *t, gemel__pterm a) {
  return a != 0 && t->nodes[a].kind == GEMEL__P_TRUTH && t->nodes[a].value == 1;
}

int gemel__p_is_false(const gemel__pterms *t, gemel__pterm a) {
  return a != 0 && t->nodes[a].kind == GEMEL__P_TRUTH && t->nodes[a].value == 0;
}

static int64_t common_divisor(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  while (b != 0) {
    int64_t rest = a % b;
    a = b < 0 ? -b : b;
    b = rest < 0 ? -rest : rest;
  }
  return a;
}

/* What divides all coefficients of A; 1 if A isn't a sum. */
static int64_t divisor_of(const gemel__pterms *t, gemel__pterm a) {
  const gemel__pterm_node *n = &t->nodes[a];
  int64_t divisor = 0;
  if (n->kind != GEMEL__P_SUM) {
    return 1;
  }
  for (uint32_t k = 0; k < n->count; k++) {
    divisor = common_divisor(divisor, t->coefficients[n->first + k]);
  }
  return divisor;
}

/* The sum A with its coefficients divided by BY, which divides them, and CONSTANT. */
static gemel__pterm divided(gemel__pterms *t, gemel__pterm a, int64_t by, int64_t constant) {
  const gemel__pterm_node *n = &t->nodes[a];
  polynomial p;
  p.count = 0, p.constant = constant, p.too_large = 0;
  for (uint32_t k = 0; k < n->count; k++) {
    add_term(&p, t->operands[n->first + k], t->coefficients[n->first + k] / by);
  }
  return sum_of(t, &p);
}

gemel__pterm gemel__p_equal(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  gemel__pterm d = gemel__p_sub(t, a, b);
  if (d == 0) {
    return 0;
  }
  const gemel__pterm_node *n = &t->nodes[d];
  if (n->kind == GEMEL__P_NUMBER) {
    return gemel__p_truth(t, n->value == 0);
  }
  if (n->kind == GEMEL__P_SUM) {
    int64_t by = divisor_of(t, d);
    if (n->value % by != 0) {
      return gemel__p_truth(t, 0);
    }
    by = t->coefficients[n->first] < 0 ? -by : by;
    d = divided(t, d, by, n->value / by);
  }
  return plain(t, GEMEL__P_ZERO, GEMEL__PSORT_TRUTH, 1, &d);
}

gemel__pterm gemel__p_at_least(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  gemel__pterm d = gemel__p_sub(t, a, b);
  if (d == 0) {
    return 0;
  }
  const gemel__pterm_node *n = &t->nodes[d];
  if (n->kind == GEMEL__P_NUMBER) {
    return gemel__p_truth(t, n->value >= 0);
  }
  if (n->kind == GEMEL__P_SUM) {
    int64_t by = divisor_of(t, d);
    d = divided(t, d, by, floor_of(n->value, by));
  }
  return plain(t, GEMEL__P_NATURAL, GEMEL__PSORT_TRUTH, 1, &d);
}

gemel__pterm gemel__p_below(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return gemel__p_at_least(t, b, gemel__p_plus(t, a, 1));
}

gemel__pterm gemel__p_same(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  const gemel__pterm both[2] = {a < b ? a : b, a < b ? b : a};
  return a == b && a != 0 ? gemel__p_truth(t, 1)
                          : plain(t, GEMEL__P_SAME, GEMEL__PSORT_TRUTH, 2, both);
}

gemel__pterm gemel__p_not(gemel__pterms *t, gemel__pterm a) {
  if (a == 0) {
    return 0;
  }
  const gemel__pterm_node *n = &t->nodes[a];
  if (n->kind == GEMEL__P_TRUTH) {
    return gemel__p_truth(t, !n->value);
  }
  if (n->kind == GEMEL__P_NOT) {
    return gemel__p_operand(t, a, 0);
  }
  if (n->kind == GEMEL__P_NATURAL) {
    return gemel__p_at_least(t, gemel__p_number(t, -1), gemel__p_operand(t, a, 0));
  }
  return plain(t, GEMEL__P_NOT, GEMEL__PSORT_TRUTH, 1, &a);
}

/* A and B, or (OR) one of the two. */
static gemel__pterm joined(gemel__pterms *t, gemel__pterm a, gemel__pterm b, int or) {
  const gemel__pterm both[2] = {a < b ? a : b, a < b ? b : a};
  if (a == 0 || b == 0) {
    return 0;
  }
  for (int side = 0; side < 2; side++) {
    gemel__pterm one = side ? b : a, other = side ? a : b;
    if (t->nodes[one].kind == GEMEL__P_TRUTH) {
      return t->nodes[one].value == or ? one : other;
    }
  }
  if (a == b) {
    return a;
  }
  return gemel__p_not(t, a) == b
             ? gemel__p_truth(t, or)
             : plain(t, or ? GEMEL__P_OR : GEMEL__P_AND, GEMEL__PSORT_TRUTH, 2, both);
}

gemel__pterm gemel__p_and(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return joined(t, a, b, 0);
}

gemel__pterm gemel__p_or(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return joined(t, a, b, 1);
}

gemel__pterm gemel__p_implies(gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  return gemel__p_or(t, gemel__p_not(t, a), b);
}

gemel__pterm gemel__p_choose(gemel__pterms *t, gemel__pterm truth, gemel__pterm a, gemel__pterm b) {
  const gemel__pterm operands[3] = {truth, a, b};
  if (truth == 0 || a == 0 || b == 0) {
    return 0;
  }
  if (a == b || gemel__p_is_true(t, truth)) {
    return a;
  }
  return gemel__p_is_false(t, truth)
             ? b
             : plain(t, GEMEL__P_CHOICE, (gemel__pterm_sort)t->nodes[a].sort, 3, operands);
}

/* ---- Replacing ---- */

static gemel__pterm fold_again(gemel__pterms *t, const gemel__pterm_node *n,
                               const gemel__pterm *operands) {
  gemel__pterm symbols[MOST_BOUND], sizes[MOST_BOUND];
  uint32_t count = n->count / 2;
  for (uint32_t k = 0; k < count; k++) {
    symbols[k] = operands[2 * k + 1];
    sizes[k] = operands[2 * k + 2];
  }
  return gemel__p_fold(t, (gemel__pterm_sort)n->sort, n->name, operands[0], count, symbols, sizes);
}

gemel__pterm gemel__p_with_operands(gemel__pterms *t, gemel__pterm a, const gemel__pterm *to) {
  enum { MOST = 64 };
  gemel__pterm_node n = t->nodes[a];
  gemel__pterm o[MOST] = {0}, made_of = 0;
  if (n.kind != GEMEL__P_SUM && n.count > MOST) {
    return fail(t, GEMEL__PTERM_TOO_LARGE);
  }
  for (uint32_t k = 0; k < n.count && n.kind != GEMEL__P_SUM; k++) {
    o[k] = to[t->operands[n.first + k]];
  }
  switch (n.kind) {
  case GEMEL__P_SUM:
    made_of = gemel__p_number(t, n.value);
    for (uint32_t k = 0; k < n.count; k++) {
      made_of = combined(t, made_of, 1, to[t->operands[n.first + k]], t->coefficients[n.first + k]);
    }
    return made_of;
  case GEMEL__P_PRODUCT:
    made_of = o[0];
    for (uint32_t k = 1; k < n.count; k++) {
      made_of = gemel__p_mul(t, made_of, o[k]);
    }
    return made_of;
  case GEMEL__P_DIVIDED:
    return gemel__p_div(t, o[0], o[1]);
  case GEMEL__P_REMAINDER:
    return gemel__p_mod(t, o[0], o[1]);
  case GEMEL__P_CHOICE:
    return gemel__p_choose(t, o[0], o[1], o[2]);
  case GEMEL__P_CALL:
    return gemel__p_call(t, (gemel__pterm_sort)n.sort, n.name, (int)n.value, n.count, o);
  case GEMEL__P_ZERO:
    return gemel__p_equal(t, o[0], gemel__p_number(t, 0));
  case GEMEL__P_NATURAL:
    return gemel__p_at_least(t, o[0], gemel__p_number(t, 0));
  case GEMEL__P_SAME:
    return gemel__p_same(t, o[0], o[1]);
  case GEMEL__P_NOT:
    return gemel__p_not(t, o[0]);
  case GEMEL__P_AND:
  case GEMEL__P_OR:
    return joined(t, o[0], o[1], n.kind == GEMEL__P_OR);
  case GEMEL__P_FOLD:
    return fold_again(t, &n, o);
  default:
    n.first = 0;
    return made(t, n, o, NULL);
  }
}

gemel__pterm gemel__p_replace(gemel__pterms *t, gemel__pterm a, uint32_t count,
                              const gemel__pterm *from, const gemel__pterm *to) {
  size_t size = (size_t)a + 1;
  gemel__pterm *new = a != 0 ? gemel__alloc_zeroed(size * sizeof *new) : NULL, result;
  if (new == NULL) {
    return a == 0 ? 0 : fail(t, GEMEL__PTERM_NO_MEMORY);
  }
  /* marks (with the term itself) what A is made of, then makes it again, operands first */
  new[a] = a;
  for (gemel__pterm k = a; k > 0; k--) {
    for (uint32_t i = 0; new[k] != 0 && i < t->nodes[k].count; i++) {
      new[gemel__p_operand(t, k, i)] = gemel__p_operand(t, k, i);
    }
  }
  for (gemel__pterm k = 1; k <= a; k++) {
    uint32_t at = 0, changed = 0;
    while (at < count && from[at] != k) {
      at++;
    }
    for (uint32_t i = 0; new[k] != 0 && i < t->nodes[k].count; i++) {
      changed |= new[gemel__p_operand(t, k, i)] != gemel__p_operand(t, k, i);
    }
    if (new[k] != 0 && at < count) {
      new[k] = to[at];
    } else if (changed) {
      new[k] = gemel__p_with_operands(t, k, new);
    }
    if (t->trouble) {
      break;
    }
  }
  result = t->trouble ? 0 : new[a];
  gemel__free(new, size * sizeof *new);
  return result;
}

void gemel__p_mark(const gemel__pterms *t, gemel__pterm last, int into_folds,
                   unsigned char *marked) {
  for (gemel__pterm k = last; k > 0; k--) {
    int enter = marked[k] && (into_folds || t->nodes[k].kind != GEMEL__P_FOLD);
    for (uint32_t i = 0; enter && i < t->nodes[k].count; i++) {
      marked[gemel__p_operand(t, k, i)] = 1;
    }
  }
}

int gemel__p_contains(const gemel__pterms *t, gemel__pterm a, gemel__pterm part) {
  unsigned char *wanted = a > part ? gemel__alloc_zeroed((size_t)(a - part) + 1) : NULL;
  if (wanted == NULL) {
    return a >= part; /* out of memory: as if it were */
  }
  wanted[a - part] = 1;
  for (gemel__pterm k = a; k > part && !wanted[0]; k--) {
    for (uint32_t i = 0; wanted[k - part] && i < t->nodes[k].count; i++) {
      gemel__pterm operand = gemel__p_operand(t, k, i);
      if (operand >= part) {
        wanted[operand - part] = 1;
      }
    }
  }
  int found = wanted[0];
  gemel__free(wanted, (size_t)(a - part) + 1);
  return found;
}
