/* SPDX-License-Identifier: MIT
 *
 * Making terms: each function first tries to simplify, and else finds or appends the term.
 * Rationals are FLINT's, limited to MOST_BITS, as FLINT aborts when memory is out.
 */
#include "domains/formula.h"

#include <string.h>
#include "core/alloc.h"

enum { MOST_BITS = 4096 };

/* ---- The table ---- */

static const gemel__formula_node *at(const gemel__formulas *t, gemel__formula a) {
  return &t->nodes[a];
}

static uint64_t mix(uint64_t hash, uint64_t x) {
  hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static uint64_t hash_of(const gemel__formula_node *n) {
  uint64_t hash = mix(1, (uint64_t)n->kind << 8 | n->extra);
  return mix(mix(mix(hash, n->kind == GEMEL__FORMULA_NUMBER ? 0 : n->a), n->b), n->c);
}

static int same(const gemel__formulas *t, const gemel__formula_node *x,
                const gemel__formula_node *y) {
  if (x->kind == GEMEL__FORMULA_NUMBER && y->kind == GEMEL__FORMULA_NUMBER) {
    return fmpq_equal(&t->numbers[x->a], &t->numbers[y->a]);
  }
  return x->kind == y->kind && x->extra == y->extra && x->a == y->a && x->b == y->b && x->c == y->c;
}

typedef struct term_sought {
  const gemel__formulas *t;
  const gemel__formula_node *node;
} term_sought;

static int is_sought(const void *user, uint32_t id) {
  const term_sought *s = user;
  return same(s->t, at(s->t, id - 1), s->node);
}

static uint64_t hash_at(const void *user, uint32_t id) {
  return hash_of(at(user, id - 1));
}

/* The term equal to NODE; a new one if there is none. */
static gemel__formula intern(gemel__formulas *t, const gemel__formula_node *node) {
  term_sought s = {t, node};
  uint64_t hash = hash_of(node);
  uint32_t id = gemel__idtable_find(&t->table, hash, is_sought, &s);
  if (id != 0) {
    return id - 1;
  }
  id = (uint32_t)t->count + 1;
  if (t->count >= t->limit ||
      gemel__grow(&t->nodes, &t->capacity, t->count + 1, sizeof *t->nodes) != 0 ||
      gemel__idtable_add(&t->table, hash, id, hash_at, t) != 0) {
    t->full = 1;
    return GEMEL__FORMULA_FALSE;
  }
  t->nodes[t->count++] = *node;
  return id - 1;
}

static gemel__formula_node node_of(gemel__formula_kind kind, int extra, gemel__formula a,
                                   gemel__formula b, gemel__formula c) {
  gemel__formula_node node;
  memset(&node, 0, sizeof node);
  node.kind = (unsigned char)kind;
  node.extra = (unsigned char)extra;
  node.signs = GEMEL__IF_ANY;
  node.a = a;
  node.b = b;
  node.c = c;
  return node;
}

static gemel__formula truth(unsigned holds) {
  return holds ? GEMEL__FORMULA_TRUE : GEMEL__FORMULA_FALSE;
}

gemel__formulas *gemel__formulas_new(size_t limit) {
  gemel__formulas *t = gemel__alloc_zeroed(sizeof *t);
  gemel__formula_node node;
  fmpq_t x;
  if (t == NULL) {
    return NULL;
  }
  t->limit = limit;
  for (gemel__formula k = GEMEL__FORMULA_FALSE; k <= GEMEL__FORMULA_TRUE; k++) {
    node = node_of(GEMEL__FORMULA_CONSTANT, 0, k, 0, 0);
    intern(t, &node);
  }
  fmpq_init(x);
  gemel__formula_number(t, x);
  fmpq_one(x);
  gemel__formula_number(t, x);
  fmpq_clear(x);
  if (t->full) {
    gemel__formulas_free(t);
    return NULL;
  }
  return t;
}

void gemel__formulas_free(gemel__formulas *t) {
  if (t == NULL) {
    return;
  }
  for (size_t k = 0; k < t->n_numbers; k++) {
    fmpq_clear(&t->numbers[k]);
  }
  gemel__free(t->numbers, t->number_capacity * sizeof *t->numbers);
  gemel__free(t->nodes, t->capacity * sizeof *t->nodes);
  gemel__idtable_clear(&t->table);
  gemel__free(t, sizeof *t);
}

/* ---- Bounds and signs ---- */

/* An integer with a larger bound counts as unbounded. */
static gemel__formula_wide most(void) {
  return (gemel__formula_wide)1 << 120;
}

static void set_bounds(gemel__formula_node *n, gemel__formula_wide low, gemel__formula_wide high) {
  n->bounded = low >= -most() && high <= most();
  n->low = n->bounded ? low : 0;
  n->high = n->bounded ? high : 0;
  if (n->bounded) {
    n->signs &= (unsigned char)((low < 0 ? GEMEL__IF_NEGATIVE : 0) |
                                (low <= 0 && high >= 0 ? GEMEL__IF_ZERO : 0) |
                                (high > 0 ? GEMEL__IF_POSITIVE : 0));
  }
}

static unsigned mirrored(unsigned signs) {
  return (signs & GEMEL__IF_ZERO) | (signs & GEMEL__IF_NEGATIVE ? GEMEL__IF_POSITIVE : 0u) |
         (signs & GEMEL__IF_POSITIVE ? GEMEL__IF_NEGATIVE : 0u);
}

static unsigned signs_of_sum(unsigned a, unsigned b) {
  unsigned all = a | b;
  if ((all & GEMEL__IF_NEGATIVE) && (all & GEMEL__IF_POSITIVE)) {
    return GEMEL__IF_ANY;
  }
  return (a & b & GEMEL__IF_ZERO) | (all & ~(unsigned)GEMEL__IF_ZERO);
}

static unsigned signs_of_product(unsigned a, unsigned b) {
  unsigned result = (a | b) & GEMEL__IF_ZERO;
  result |= a & GEMEL__IF_POSITIVE ? b : 0;
  result |= a & GEMEL__IF_NEGATIVE ? mirrored(b) : 0;
  return result;
}

static void bound_product(gemel__formula_node *n, const gemel__formula_node *a,
                          const gemel__formula_node *b) {
  gemel__formula_wide corners[4], low, high;
  int k;
  if (__builtin_mul_overflow(a->low, b->low, &corners[0]) ||
      __builtin_mul_overflow(a->low, b->high, &corners[1]) ||
      __builtin_mul_overflow(a->high, b->low, &corners[2]) ||
      __builtin_mul_overflow(a->high, b->high, &corners[3])) {
    return;
  }
  low = high = corners[0];
  for (k = 1; k < 4; k++) {
    low = corners[k] < low ? corners[k] : low;
    high = corners[k] > high ? corners[k] : high;
  }
  set_bounds(n, low, high);
}

void gemel__formula_range(gemel_dtype dtype, gemel__formula_wide *low, gemel__formula_wide *high) {
  int bits = dtype == GEMEL_BOOL ? 1 : 8 * (int)gemel_dtype_size(dtype);
  int has_sign = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  *low = has_sign ? -((gemel__formula_wide)1 << (bits - 1)) : 0;
  *high = ((gemel__formula_wide)1 << (has_sign ? bits - 1 : bits)) - 1;
}

/* ---- Numbers ---- */

const fmpq *gemel__formula_value(const gemel__formulas *t, gemel__formula a) {
  return at(t, a)->kind == GEMEL__FORMULA_NUMBER ? &t->numbers[at(t, a)->a] : NULL;
}

static int too_long(const fmpq_t x) {
  return fmpz_bits(fmpq_numref(x)) > MOST_BITS || fmpz_bits(fmpq_denref(x)) > MOST_BITS;
}

/* Puts the number's residues into NODE, as its key in the hash table. */
static void key_number(gemel__formula_node *node, const fmpq_t x) {
  node->b = (gemel__formula)fmpz_fdiv_ui(fmpq_numref(x), 4294967291u);
  node->c = (gemel__formula)fmpz_fdiv_ui(fmpq_denref(x), 4294967279u);
}

static void bound_number(gemel__formula_node *node, const fmpq_t x) {
  int sign = fmpq_sgn(x);
  node->signs = sign < 0 ? GEMEL__IF_NEGATIVE : sign > 0 ? GEMEL__IF_POSITIVE : GEMEL__IF_ZERO;
  node->whole = fmpz_is_one(fmpq_denref(x)) != 0;
  if (node->whole && fmpz_bits(fmpq_numref(x)) <= 100) {
    fmpz_t high;
    gemel__formula_wide value;
    fmpz_init(high);
    fmpz_fdiv_q_2exp(high, fmpq_numref(x), 60);
    value = (gemel__formula_wide)fmpz_get_si(high) * ((gemel__formula_wide)1 << 60);
    fmpz_fdiv_r_2exp(high, fmpq_numref(x), 60);
    value += fmpz_get_si(high);
    fmpz_clear(high);
    set_bounds(node, value, value);
  }
}

/* The number is appended to the list, and removed again if the table has it already. */
gemel__formula gemel__formula_number(gemel__formulas *t, const fmpq_t x) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_NUMBER, 0, (gemel__formula)t->n_numbers, 0, 0);
  if (too_long(x) ||
      gemel__grow(&t->numbers, &t->number_capacity, t->n_numbers + 1, sizeof *t->numbers) != 0) {
    t->full = 1;
    return GEMEL__FORMULA_ZERO;
  }
  fmpq_init(&t->numbers[t->n_numbers]);
  fmpq_set(&t->numbers[t->n_numbers++], x);
  key_number(&node, x);
  bound_number(&node, x);
  gemel__formula made = intern(t, &node);
  if (at(t, made)->kind != GEMEL__FORMULA_NUMBER || at(t, made)->a != node.a) {
    fmpq_clear(&t->numbers[--t->n_numbers]);
  }
  return made;
}

/* The constant OPERATION(A, B) for constants A and B. */
static gemel__formula folded(gemel__formulas *t,
                             void (*operation)(fmpq_t, const fmpq_t, const fmpq_t),
                             gemel__formula a, gemel__formula b) {
  fmpq_t x;
  gemel__formula made;
  fmpq_init(x);
  operation(x, gemel__formula_value(t, a), gemel__formula_value(t, b));
  made = gemel__formula_number(t, x);
  fmpq_clear(x);
  return made;
}

static gemel__formula leaf(gemel__formulas *t, gemel__formula_node *node) {
  node->a = t->n_leaves++;
  return intern(t, node);
}

gemel__formula gemel__formula_leaf_real(gemel__formulas *t, unsigned signs) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_LEAF, 0, 0, 0, 0);
  node.signs = (unsigned char)signs;
  return leaf(t, &node);
}

gemel__formula gemel__formula_leaf_whole(gemel__formulas *t, gemel__formula_wide low,
                                         gemel__formula_wide high) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_LEAF, 0, 0, 0, 0);
  node.whole = 1;
  set_bounds(&node, low, high);
  return leaf(t, &node);
}

/* ---- Choices between constants ---- */

/* 1 if A is a choice between two constants, such as the truth values 1 and 0. */
static int is_flag(const gemel__formulas *t, gemel__formula a) {
  const gemel__formula_node *n = at(t, a);
  return n->kind == GEMEL__FORMULA_CHOOSE && gemel__formula_value(t, n->b) != NULL &&
         gemel__formula_value(t, n->c) != NULL;
}

typedef gemel__formula (*binary)(gemel__formulas *t, gemel__formula a, gemel__formula b);

/* Applies OPERATION with B to both numbers of the choice A. */
static gemel__formula distribute(gemel__formulas *t, binary operation, gemel__formula a,
                                 gemel__formula b) {
  gemel__formula_node n = *at(t, a);
  gemel__formula x = operation(t, n.b, b), y = operation(t, n.c, b);
  return gemel__formula_choose(t, n.a, x, y);
}

/* ---- Arithmetic ---- */

static gemel__formula_node ordered(gemel__formula_kind kind, gemel__formula a, gemel__formula b) {
  return node_of(kind, 0, a < b ? a : b, a < b ? b : a, 0);
}

gemel__formula gemel__formula_add(gemel__formulas *t, gemel__formula a, gemel__formula b) {
  if (gemel__formula_value(t, a) != NULL && gemel__formula_value(t, b) != NULL) {
    return folded(t, fmpq_add, a, b);
  }
  if (a == GEMEL__FORMULA_ZERO || b == GEMEL__FORMULA_ZERO) {
    return a == GEMEL__FORMULA_ZERO ? b : a;
  }
  if ((at(t, a)->kind == GEMEL__FORMULA_NEG && at(t, a)->a == b) ||
      (at(t, b)->kind == GEMEL__FORMULA_NEG && at(t, b)->a == a)) {
    return GEMEL__FORMULA_ZERO;
  }
  if (is_flag(t, a) && gemel__formula_value(t, b) != NULL) {
    return distribute(t, gemel__formula_add, a, b);
  }
  if (is_flag(t, b) && gemel__formula_value(t, a) != NULL) {
    return distribute(t, gemel__formula_add, b, a);
  }
  gemel__formula_node node = ordered(GEMEL__FORMULA_ADD, a, b);
  const gemel__formula_node *x = at(t, a);
  const gemel__formula_node *y = at(t, b);
  node.whole = x->whole && y->whole;
  node.signs = (unsigned char)signs_of_sum(x->signs, y->signs);
  if (x->bounded && y->bounded) {
    set_bounds(&node, x->low + y->low, x->high + y->high);
  }
  return intern(t, &node);
}

gemel__formula gemel__formula_mul(gemel__formulas *t, gemel__formula a, gemel__formula b) {
  if (gemel__formula_value(t, a) != NULL && gemel__formula_value(t, b) != NULL) {
    return folded(t, fmpq_mul, a, b);
  }
  if (a == GEMEL__FORMULA_ZERO || b == GEMEL__FORMULA_ZERO) {
    return GEMEL__FORMULA_ZERO;
  }
  if (a == GEMEL__FORMULA_ONE || b == GEMEL__FORMULA_ONE) {
    return a == GEMEL__FORMULA_ONE ? b : a;
  }
  if (is_flag(t, a)) {
    return distribute(t, gemel__formula_mul, a, b);
  }
  if (is_flag(t, b)) {
    return distribute(t, gemel__formula_mul, b, a);
  }
  gemel__formula_node node = ordered(GEMEL__FORMULA_MUL, a, b);
  const gemel__formula_node *x = at(t, a);
  const gemel__formula_node *y = at(t, b);
  node.whole = x->whole && y->whole;
  node.signs = (unsigned char)(a == b ? signs_of_product(x->signs, x->signs) & ~GEMEL__IF_NEGATIVE
                                      : signs_of_product(x->signs, y->signs));
  if (x->bounded && y->bounded) {
    bound_product(&node, x, y);
  }
  return intern(t, &node);
}

/* 1 if A is a number or a negation, so that −A needs no further term. */
static int negates(const gemel__formulas *t, gemel__formula a) {
  return at(t, a)->kind == GEMEL__FORMULA_NUMBER || at(t, a)->kind == GEMEL__FORMULA_NEG;
}

gemel__formula gemel__formula_neg(gemel__formulas *t, gemel__formula a) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_NEG, 0, a, 0, 0), n = *at(t, a);
  if (n.kind == GEMEL__FORMULA_NEG) {
    return n.a;
  }
  if (n.kind == GEMEL__FORMULA_NUMBER) {
    fmpq_t x;
    gemel__formula made;
    fmpq_init(x);
    fmpq_neg(x, &t->numbers[n.a]);
    made = gemel__formula_number(t, x);
    fmpq_clear(x);
    return made;
  }
  if (n.kind == GEMEL__FORMULA_CHOOSE && negates(t, n.b) && negates(t, n.c)) {
    gemel__formula x = gemel__formula_neg(t, n.b), y = gemel__formula_neg(t, n.c);
    return gemel__formula_choose(t, n.a, x, y);
  }
  node.whole = n.whole;
  node.signs = (unsigned char)mirrored(n.signs);
  if (n.bounded) {
    set_bounds(&node, -n.high, -n.low);
  }
  return intern(t, &node);
}

gemel__formula gemel__formula_div(gemel__formulas *t, gemel__formula a, gemel__formula b) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_DIV, 0, a, b, 0);
  if (a == GEMEL__FORMULA_ZERO || b == GEMEL__FORMULA_ONE || b == GEMEL__FORMULA_ZERO) {
    return a;
  }
  if (gemel__formula_value(t, a) != NULL && gemel__formula_value(t, b) != NULL) {
    return folded(t, fmpq_div, a, b);
  }
  node.signs =
      (unsigned char)signs_of_product(at(t, a)->signs, at(t, b)->signs & ~(unsigned)GEMEL__IF_ZERO);
  return intern(t, &node);
}

/* The bounds of floor(a ÷ b) for integers: no larger in magnitude than a. */
static void bound_quotient(const gemel__formulas *t, gemel__formula_node *node,
                           const gemel__formula_node *quotient) {
  const gemel__formula_node *x = at(t, quotient->a);
  if (quotient->kind == GEMEL__FORMULA_DIV && x->bounded && at(t, quotient->b)->whole) {
    gemel__formula_wide size = -x->low > x->high ? -x->low : x->high;
    set_bounds(node, -size, size);
  }
}

gemel__formula gemel__formula_floor(gemel__formulas *t, gemel__formula a) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_FLOOR, 0, a, 0, 0);
  const fmpq *value = gemel__formula_value(t, a);
  if (at(t, a)->whole) {
    return a;
  }
  if (value != NULL) {
    fmpq_t x;
    gemel__formula made;
    fmpq_init(x);
    fmpz_fdiv_q(fmpq_numref(x), fmpq_numref(value), fmpq_denref(value));
    made = gemel__formula_number(t, x);
    fmpq_clear(x);
    return made;
  }
  node.whole = 1;
  if (!(at(t, a)->signs & GEMEL__IF_NEGATIVE)) {
    node.signs = GEMEL__IF_ZERO | GEMEL__IF_POSITIVE;
  }
  bound_quotient(t, &node, at(t, a));
  return intern(t, &node);
}

gemel__formula gemel__formula_root(gemel__formulas *t, gemel__formula a) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_ROOT, 0, a, 0, 0);
  if (a == GEMEL__FORMULA_ZERO || a == GEMEL__FORMULA_ONE) {
    return a;
  }
  node.signs = at(t, a)->signs & ~(unsigned)GEMEL__IF_NEGATIVE & GEMEL__IF_ANY;
  node.signs = node.signs != 0 ? node.signs : GEMEL__IF_ZERO;
  return intern(t, &node);
}

gemel__formula gemel__formula_apply(gemel__formulas *t, int function, gemel__formula a) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_APPLY, function, a, 0, 0);
  if (function == GEMEL__FORMULA_EXP && a == GEMEL__FORMULA_ZERO) {
    return GEMEL__FORMULA_ONE;
  }
  if (function == GEMEL__FORMULA_LOG && a == GEMEL__FORMULA_ONE) {
    return GEMEL__FORMULA_ZERO;
  }
  node.signs = function == GEMEL__FORMULA_EXP ? GEMEL__IF_POSITIVE : GEMEL__IF_ANY;
  return intern(t, &node);
}

static gemel__formula wrapped_number(gemel__formulas *t, gemel_dtype dtype, const fmpq *value) {
  int bits = 8 * (int)gemel_dtype_size(dtype);
  fmpq_t x;
  fmpq_init(x);
  fmpz_fdiv_r_2exp(fmpq_numref(x), fmpq_numref(value), (ulong)bits);
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED &&
      fmpz_tstbit(fmpq_numref(x), (ulong)bits - 1)) {
    fmpz_t whole;
    fmpz_init(whole);
    fmpz_one_2exp(whole, (ulong)bits);
    fmpz_sub(fmpq_numref(x), fmpq_numref(x), whole);
    fmpz_clear(whole);
  }
  gemel__formula made = gemel__formula_number(t, x);
  fmpq_clear(x);
  return made;
}

gemel__formula gemel__formula_wrap(gemel__formulas *t, gemel_dtype dtype, gemel__formula a) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_WRAP, dtype, a, 0, 0);
  const gemel__formula_node *n = at(t, a);
  gemel__formula_wide low, high;
  gemel__formula_range(dtype, &low, &high);
  if (n->bounded && n->low >= low && n->high <= high) {
    return a;
  }
  if (gemel__formula_value(t, a) != NULL) {
    return wrapped_number(t, dtype, gemel__formula_value(t, a));
  }
  node.whole = 1;
  set_bounds(&node, low, high);
  return intern(t, &node);
}

/* ---- Truths and choices ---- */

static int is_truth(const gemel__formulas *t, gemel__formula a) {
  return at(t, a)->kind >= GEMEL__FORMULA_CONSTANT;
}

gemel__formula gemel__formula_not(gemel__formulas *t, gemel__formula a) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_NOT, 0, a, 0, 0);
  const gemel__formula_node *n = at(t, a);
  if (n->kind == GEMEL__FORMULA_CONSTANT) {
    return n->a ? GEMEL__FORMULA_FALSE : GEMEL__FORMULA_TRUE;
  }
  if (n->kind == GEMEL__FORMULA_SIGN) {
    return gemel__formula_sign(t, GEMEL__IF_ANY & ~(unsigned)n->extra, n->a);
  }
  return n->kind == GEMEL__FORMULA_NOT ? n->a : intern(t, &node);
}

gemel__formula gemel__formula_and(gemel__formulas *t, gemel__formula a, gemel__formula b) {
  gemel__formula_node node = ordered(GEMEL__FORMULA_AND, a, b);
  if (a == GEMEL__FORMULA_FALSE || b == GEMEL__FORMULA_FALSE) {
    return GEMEL__FORMULA_FALSE;
  }
  if (a == GEMEL__FORMULA_TRUE || b == GEMEL__FORMULA_TRUE || a == b) {
    return a == GEMEL__FORMULA_TRUE ? b : a;
  }
  return intern(t, &node);
}

gemel__formula gemel__formula_or(gemel__formulas *t, gemel__formula a, gemel__formula b) {
  gemel__formula_node node = ordered(GEMEL__FORMULA_OR, a, b);
  if (a == GEMEL__FORMULA_TRUE || b == GEMEL__FORMULA_TRUE) {
    return GEMEL__FORMULA_TRUE;
  }
  if (a == GEMEL__FORMULA_FALSE || b == GEMEL__FORMULA_FALSE || a == b) {
    return a == GEMEL__FORMULA_FALSE ? b : a;
  }
  return intern(t, &node);
}

gemel__formula gemel__formula_choose(gemel__formulas *t, gemel__formula a, gemel__formula b,
                                     gemel__formula c) {
  gemel__formula_node node = node_of(GEMEL__FORMULA_CHOOSE, 0, a, b, c);
  const gemel__formula_node *x, *y;
  if (a == GEMEL__FORMULA_TRUE || a == GEMEL__FORMULA_FALSE || b == c) {
    return a == GEMEL__FORMULA_FALSE ? c : b;
  }
  if (is_truth(t, b)) {
    gemel__formula other = gemel__formula_not(t, a);
    b = gemel__formula_and(t, a, b);
    c = gemel__formula_and(t, other, c);
    return gemel__formula_or(t, b, c);
  }
  x = at(t, b);
  y = at(t, c);
  node.whole = x->whole && y->whole;
  node.signs = x->signs | y->signs;
  if (x->bounded && y->bounded) {
    set_bounds(&node, x->low < y->low ? x->low : y->low, x->high > y->high ? x->high : y->high);
  }
  return intern(t, &node);
}

/* The sign of a choice between constants, as a truth made of the choice's condition. */
static gemel__formula sign_of_flag(gemel__formulas *t, unsigned signs, gemel__formula a) {
  gemel__formula_node n = *at(t, a);
  gemel__formula x = gemel__formula_sign(t, signs, n.b), y = gemel__formula_sign(t, signs, n.c);
  return gemel__formula_choose(t, n.a, x, y);
}

gemel__formula gemel__formula_sign(gemel__formulas *t, unsigned signs, gemel__formula a) {
  gemel__formula_node node, n = *at(t, a);
  if ((n.signs & signs) == 0 || (n.signs & ~signs & GEMEL__IF_ANY) == 0) {
    return truth(n.signs & signs);
  }
  if (n.kind == GEMEL__FORMULA_NEG) {
    return gemel__formula_sign(t, mirrored(signs), n.a);
  }
  if (is_flag(t, a)) {
    return sign_of_flag(t, signs, a);
  }
  node = node_of(GEMEL__FORMULA_SIGN, (int)signs, a, 0, 0);
  return intern(t, &node);
}

/* ---- Walking ---- */

static int operands(const gemel__formula_node *n, gemel__formula *of) {
  switch (n->kind) {
  case GEMEL__FORMULA_NUMBER:
  case GEMEL__FORMULA_LEAF:
  case GEMEL__FORMULA_CONSTANT:
    return 0;
  default:
    of[0] = n->a;
    of[1] = n->b;
    of[2] = n->c;
    return n->kind == GEMEL__FORMULA_CHOOSE ? 3
           : n->kind == GEMEL__FORMULA_ADD || n->kind == GEMEL__FORMULA_MUL ||
                   n->kind == GEMEL__FORMULA_DIV || n->kind == GEMEL__FORMULA_AND ||
                   n->kind == GEMEL__FORMULA_OR
               ? 2
               : 1;
  }
}

void gemel__formula_needed(const gemel__formulas *t, gemel__formula top, unsigned char *needed) {
  gemel__formula k = top + 1;
  needed[top] = 1;
  while (k-- > 0) {
    gemel__formula of[3];
    int n = needed[k] ? operands(&t->nodes[k], of) : 0;
    while (n-- > 0) {
      needed[of[n]] = 1;
    }
  }
}

static int is_constant(const gemel__formula_node *n) {
  return n->kind == GEMEL__FORMULA_NUMBER || n->kind == GEMEL__FORMULA_CONSTANT;
}

/* Term K with its operands as a constant's number in the table, or a place in the shape (PLACES).
 * The order of two summands depends on which was made first, so they are sorted. */
static gemel__formula_node placed(const gemel__formulas *t, gemel__formula k,
                                  const gemel__formula *places) {
  gemel__formula of[3], to[3] = {0, 0, 0};
  gemel__formula_node n = t->nodes[k], made;
  int count = operands(&n, of);
  int commutes = n.kind == GEMEL__FORMULA_ADD || n.kind == GEMEL__FORMULA_MUL ||
                 n.kind == GEMEL__FORMULA_AND || n.kind == GEMEL__FORMULA_OR,
      first;
  memset(&made, 0, sizeof made);
  for (int j = 0; j < count; j++) {
    to[j] = is_constant(&t->nodes[of[j]]) ? ~of[j] : places[of[j]];
  }
  first = commutes && to[1] < to[0];
  made.kind = n.kind;
  made.extra = n.extra;
  made.whole = n.whole;
  made.bounded = n.bounded;
  made.signs = n.signs;
  made.low = n.low;
  made.high = n.high;
  made.a = to[first];
  made.b = to[1 - first];
  made.c = to[2];
  return made;
}

void gemel__formula_shape_of(const gemel__formulas *t, gemel__formula top,
                             gemel__formula_shape *shape) {
  size_t n = (size_t)top + 1;
  unsigned char *needed = gemel__alloc_array(n, sizeof *needed);
  gemel__formula *places = gemel__alloc_array(n, sizeof *places), k;
  int done = needed != NULL && places != NULL && !t->full;
  *shape = (gemel__formula_shape){NULL, 0, n};
  shape->nodes = done ? gemel__alloc_array(n, sizeof *shape->nodes) : NULL;
  done = shape->nodes != NULL;
  if (done) {
    gemel__formula_needed(t, top, needed);
  }
  for (k = 0; done && k <= top; k++) {
    if (needed[k] && !is_constant(&t->nodes[k])) {
      places[k] = (gemel__formula)shape->count;
      shape->nodes[shape->count++] = placed(t, k, places);
    }
  }
  gemel__free(needed, n * sizeof *needed);
  gemel__free(places, n * sizeof *places);
}

int gemel__formula_alike(const gemel__formula_shape *a, const gemel__formula_shape *b) {
  return a->count == b->count && a->count > 0 &&
         memcmp(a->nodes, b->nodes, a->count * sizeof *a->nodes) == 0;
}

void gemel__formula_shape_free(gemel__formula_shape *shape) {
  gemel__free(shape->nodes, shape->room * sizeof *shape->nodes);
  *shape = (gemel__formula_shape){NULL, 0, 0};
}
