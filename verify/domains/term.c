/* SPDX-License-Identifier: MIT
 *
 * Making terms: each function first looks whether the result is plain, and else finds or appends
 * the term. Rationals are FLINT's, cut off at MOST_BITS, as FLINT aborts when memory is out.
 */
#include "domains/term.h"

#include <string.h>
#include "core/alloc.h"

enum { MOST_BITS = 4096 };

/* ---- The table ---- */

static const gemel__term_node *at(const gemel__terms *t, gemel__term a) {
  return &t->nodes[a];
}

static uint64_t mix(uint64_t hash, uint64_t x) {
  hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static uint64_t hash_of(const gemel__term_node *n) {
  uint64_t hash = mix(1, (uint64_t)n->kind << 8 | n->extra);
  return mix(mix(mix(hash, n->kind == GEMEL__TERM_NUMBER ? 0 : n->a), n->b), n->c);
}

static int same(const gemel__terms *t, const gemel__term_node *x, const gemel__term_node *y) {
  if (x->kind == GEMEL__TERM_NUMBER && y->kind == GEMEL__TERM_NUMBER) {
    return fmpq_equal(&t->numbers[x->a], &t->numbers[y->a]);
  }
  return x->kind == y->kind && x->extra == y->extra && x->a == y->a && x->b == y->b && x->c == y->c;
}

static void place(gemel__terms *t, gemel__term a) {
  size_t k = (size_t)hash_of(at(t, a)) & (t->n_slots - 1);
  while (t->slots[k] != 0) {
    k = (k + 1) & (t->n_slots - 1);
  }
  t->slots[k] = a + 1;
}

static int make_room(gemel__terms *t) {
  size_t n = t->n_slots > 0 ? 2 * t->n_slots : 256;
  uint32_t *slots;
  gemel__term k;
  if (2 * t->count < t->n_slots) {
    return 0;
  }
  slots = gemel__alloc_array(n, sizeof *slots);
  if (slots == NULL) {
    return -1;
  }
  gemel__free(t->slots, t->n_slots * sizeof *slots);
  t->slots = slots;
  t->n_slots = n;
  for (k = 0; k < t->count; k++) {
    place(t, k);
  }
  return 0;
}

/* The term like NODE; a new one if there is none. */
static gemel__term intern(gemel__terms *t, const gemel__term_node *node) {
  size_t k;
  if (make_room(t) != 0) {
    t->full = 1;
    return GEMEL__TERM_FALSE;
  }
  for (k = (size_t)hash_of(node) & (t->n_slots - 1); t->slots[k] != 0;
       k = (k + 1) & (t->n_slots - 1)) {
    if (same(t, at(t, t->slots[k] - 1), node)) {
      return t->slots[k] - 1;
    }
  }
  if (t->count >= t->limit ||
      gemel__grow(&t->nodes, &t->capacity, t->count + 1, sizeof *t->nodes) != 0) {
    t->full = 1;
    return GEMEL__TERM_FALSE;
  }
  t->nodes[t->count] = *node;
  t->slots[k] = (uint32_t)t->count + 1;
  return (gemel__term)t->count++;
}

static gemel__term_node node_of(gemel__term_kind kind, int extra, gemel__term a, gemel__term b,
                                gemel__term c) {
  gemel__term_node node;
  memset(&node, 0, sizeof node);
  node.kind = (unsigned char)kind;
  node.extra = (unsigned char)extra;
  node.signs = GEMEL__IF_ANY;
  node.a = a;
  node.b = b;
  node.c = c;
  return node;
}

static gemel__term truth(unsigned holds) {
  return holds ? GEMEL__TERM_TRUE : GEMEL__TERM_FALSE;
}

gemel__terms *gemel__terms_new(size_t limit) {
  gemel__terms *t = gemel__alloc_zeroed(sizeof *t);
  gemel__term_node node;
  fmpq_t x;
  gemel__term k;
  if (t == NULL) {
    return NULL;
  }
  t->limit = limit;
  for (k = GEMEL__TERM_FALSE; k <= GEMEL__TERM_TRUE; k++) {
    node = node_of(GEMEL__TERM_CONSTANT, 0, k, 0, 0);
    intern(t, &node);
  }
  fmpq_init(x);
  gemel__term_number(t, x);
  fmpq_one(x);
  gemel__term_number(t, x);
  fmpq_clear(x);
  if (t->full) {
    gemel__terms_free(t);
    return NULL;
  }
  return t;
}

void gemel__terms_free(gemel__terms *t) {
  size_t k;
  if (t == NULL) {
    return;
  }
  for (k = 0; k < t->n_numbers; k++) {
    fmpq_clear(&t->numbers[k]);
  }
  gemel__free(t->numbers, t->number_capacity * sizeof *t->numbers);
  gemel__free(t->nodes, t->capacity * sizeof *t->nodes);
  gemel__free(t->slots, t->n_slots * sizeof *t->slots);
  gemel__free(t, sizeof *t);
}

/* ---- Bounds and signs ---- */

/* Beyond, an integer counts as unbounded. */
static gemel__term_wide most(void) {
  return (gemel__term_wide)1 << 120;
}

static void set_bounds(gemel__term_node *n, gemel__term_wide low, gemel__term_wide high) {
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

static void bound_product(gemel__term_node *n, const gemel__term_node *a,
                          const gemel__term_node *b) {
  gemel__term_wide corners[4], low, high;
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

void gemel__term_range(gemel_dtype dtype, gemel__term_wide *low, gemel__term_wide *high) {
  int bits = dtype == GEMEL_BOOL ? 1 : 8 * (int)gemel_dtype_size(dtype);
  int has_sign = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  *low = has_sign ? -((gemel__term_wide)1 << (bits - 1)) : 0;
  *high = ((gemel__term_wide)1 << (has_sign ? bits - 1 : bits)) - 1;
}

/* ---- Numbers ---- */

const fmpq *gemel__term_value(const gemel__terms *t, gemel__term a) {
  return at(t, a)->kind == GEMEL__TERM_NUMBER ? &t->numbers[at(t, a)->a] : NULL;
}

static int too_long(const fmpq_t x) {
  return fmpz_bits(fmpq_numref(x)) > MOST_BITS || fmpz_bits(fmpq_denref(x)) > MOST_BITS;
}

/* The key of a number in the hash table, beside the number itself. */
static void key_number(gemel__term_node *node, const fmpq_t x) {
  node->b = (gemel__term)fmpz_fdiv_ui(fmpq_numref(x), 4294967291u);
  node->c = (gemel__term)fmpz_fdiv_ui(fmpq_denref(x), 4294967279u);
}

static void bound_number(gemel__term_node *node, const fmpq_t x) {
  int sign = fmpq_sgn(x);
  node->signs = sign < 0 ? GEMEL__IF_NEGATIVE : sign > 0 ? GEMEL__IF_POSITIVE : GEMEL__IF_ZERO;
  node->whole = fmpz_is_one(fmpq_denref(x)) != 0;
  if (node->whole && fmpz_bits(fmpq_numref(x)) <= 100) {
    fmpz_t high;
    gemel__term_wide value;
    fmpz_init(high);
    fmpz_fdiv_q_2exp(high, fmpq_numref(x), 60);
    value = (gemel__term_wide)fmpz_get_si(high) * ((gemel__term_wide)1 << 60);
    fmpz_fdiv_r_2exp(high, fmpq_numref(x), 60);
    value += fmpz_get_si(high);
    fmpz_clear(high);
    set_bounds(node, value, value);
  }
}

/* The number goes to the end of the list, and off it again if the table has it already. */
gemel__term gemel__term_number(gemel__terms *t, const fmpq_t x) {
  gemel__term_node node = node_of(GEMEL__TERM_NUMBER, 0, (gemel__term)t->n_numbers, 0, 0);
  gemel__term made;
  if (too_long(x) ||
      gemel__grow(&t->numbers, &t->number_capacity, t->n_numbers + 1, sizeof *t->numbers) != 0) {
    t->full = 1;
    return GEMEL__TERM_ZERO;
  }
  fmpq_init(&t->numbers[t->n_numbers]);
  fmpq_set(&t->numbers[t->n_numbers++], x);
  key_number(&node, x);
  bound_number(&node, x);
  made = intern(t, &node);
  if (at(t, made)->kind != GEMEL__TERM_NUMBER || at(t, made)->a != node.a) {
    fmpq_clear(&t->numbers[--t->n_numbers]);
  }
  return made;
}

/* A number made by OPERATION of the constants A and B. */
static gemel__term folded(gemel__terms *t, void (*operation)(fmpq_t, const fmpq_t, const fmpq_t),
                          gemel__term a, gemel__term b) {
  fmpq_t x;
  gemel__term made;
  fmpq_init(x);
  operation(x, gemel__term_value(t, a), gemel__term_value(t, b));
  made = gemel__term_number(t, x);
  fmpq_clear(x);
  return made;
}

static gemel__term leaf(gemel__terms *t, gemel__term_node *node) {
  node->a = t->n_leaves++;
  return intern(t, node);
}

gemel__term gemel__term_leaf_real(gemel__terms *t, unsigned signs) {
  gemel__term_node node = node_of(GEMEL__TERM_LEAF, 0, 0, 0, 0);
  node.signs = (unsigned char)signs;
  return leaf(t, &node);
}

gemel__term gemel__term_leaf_whole(gemel__terms *t, gemel__term_wide low, gemel__term_wide high) {
  gemel__term_node node = node_of(GEMEL__TERM_LEAF, 0, 0, 0, 0);
  node.whole = 1;
  set_bounds(&node, low, high);
  return leaf(t, &node);
}

/* ---- Choices between constants ---- */

/* A is a choice between two constants, such as the truth values 1 and 0. */
static int is_flag(const gemel__terms *t, gemel__term a) {
  const gemel__term_node *n = at(t, a);
  return n->kind == GEMEL__TERM_CHOOSE && gemel__term_value(t, n->b) != NULL &&
         gemel__term_value(t, n->c) != NULL;
}

typedef gemel__term (*binary)(gemel__terms *t, gemel__term a, gemel__term b);

/* OPERATION on both numbers of the choice A with B. */
static gemel__term distribute(gemel__terms *t, binary operation, gemel__term a, gemel__term b) {
  gemel__term_node n = *at(t, a);
  gemel__term x = operation(t, n.b, b), y = operation(t, n.c, b);
  return gemel__term_choose(t, n.a, x, y);
}

/* ---- Arithmetic ---- */

static gemel__term_node ordered(gemel__term_kind kind, gemel__term a, gemel__term b) {
  return node_of(kind, 0, a < b ? a : b, a < b ? b : a, 0);
}

gemel__term gemel__term_add(gemel__terms *t, gemel__term a, gemel__term b) {
  gemel__term_node node;
  const gemel__term_node *x, *y;
  if (gemel__term_value(t, a) != NULL && gemel__term_value(t, b) != NULL) {
    return folded(t, fmpq_add, a, b);
  }
  if (a == GEMEL__TERM_ZERO || b == GEMEL__TERM_ZERO) {
    return a == GEMEL__TERM_ZERO ? b : a;
  }
  if ((at(t, a)->kind == GEMEL__TERM_NEG && at(t, a)->a == b) ||
      (at(t, b)->kind == GEMEL__TERM_NEG && at(t, b)->a == a)) {
    return GEMEL__TERM_ZERO;
  }
  if (is_flag(t, a) && gemel__term_value(t, b) != NULL) {
    return distribute(t, gemel__term_add, a, b);
  }
  if (is_flag(t, b) && gemel__term_value(t, a) != NULL) {
    return distribute(t, gemel__term_add, b, a);
  }
  node = ordered(GEMEL__TERM_ADD, a, b);
  x = at(t, a);
  y = at(t, b);
  node.whole = x->whole && y->whole;
  node.signs = (unsigned char)signs_of_sum(x->signs, y->signs);
  if (x->bounded && y->bounded) {
    set_bounds(&node, x->low + y->low, x->high + y->high);
  }
  return intern(t, &node);
}

gemel__term gemel__term_mul(gemel__terms *t, gemel__term a, gemel__term b) {
  gemel__term_node node;
  const gemel__term_node *x, *y;
  if (gemel__term_value(t, a) != NULL && gemel__term_value(t, b) != NULL) {
    return folded(t, fmpq_mul, a, b);
  }
  if (a == GEMEL__TERM_ZERO || b == GEMEL__TERM_ZERO) {
    return GEMEL__TERM_ZERO;
  }
  if (a == GEMEL__TERM_ONE || b == GEMEL__TERM_ONE) {
    return a == GEMEL__TERM_ONE ? b : a;
  }
  if (is_flag(t, a)) {
    return distribute(t, gemel__term_mul, a, b);
  }
  if (is_flag(t, b)) {
    return distribute(t, gemel__term_mul, b, a);
  }
  node = ordered(GEMEL__TERM_MUL, a, b);
  x = at(t, a);
  y = at(t, b);
  node.whole = x->whole && y->whole;
  node.signs = (unsigned char)(a == b ? signs_of_product(x->signs, x->signs) & ~GEMEL__IF_NEGATIVE
                                      : signs_of_product(x->signs, y->signs));
  if (x->bounded && y->bounded) {
    bound_product(&node, x, y);
  }
  return intern(t, &node);
}

/* Its negative is at hand. */
static int negates(const gemel__terms *t, gemel__term a) {
  return at(t, a)->kind == GEMEL__TERM_NUMBER || at(t, a)->kind == GEMEL__TERM_NEG;
}

gemel__term gemel__term_neg(gemel__terms *t, gemel__term a) {
  gemel__term_node node = node_of(GEMEL__TERM_NEG, 0, a, 0, 0), n = *at(t, a);
  if (n.kind == GEMEL__TERM_NEG) {
    return n.a;
  }
  if (n.kind == GEMEL__TERM_NUMBER) {
    fmpq_t x;
    gemel__term made;
    fmpq_init(x);
    fmpq_neg(x, &t->numbers[n.a]);
    made = gemel__term_number(t, x);
    fmpq_clear(x);
    return made;
  }
  if (n.kind == GEMEL__TERM_CHOOSE && negates(t, n.b) && negates(t, n.c)) {
    gemel__term x = gemel__term_neg(t, n.b), y = gemel__term_neg(t, n.c);
    return gemel__term_choose(t, n.a, x, y);
  }
  node.whole = n.whole;
  node.signs = (unsigned char)mirrored(n.signs);
  if (n.bounded) {
    set_bounds(&node, -n.high, -n.low);
  }
  return intern(t, &node);
}

gemel__term gemel__term_div(gemel__terms *t, gemel__term a, gemel__term b) {
  gemel__term_node node = node_of(GEMEL__TERM_DIV, 0, a, b, 0);
  if (a == GEMEL__TERM_ZERO || b == GEMEL__TERM_ONE || b == GEMEL__TERM_ZERO) {
    return a;
  }
  if (gemel__term_value(t, a) != NULL && gemel__term_value(t, b) != NULL) {
    return folded(t, fmpq_div, a, b);
  }
  node.signs =
      (unsigned char)signs_of_product(at(t, a)->signs, at(t, b)->signs & ~(unsigned)GEMEL__IF_ZERO);
  return intern(t, &node);
}

/* An integer divided by one other than 0 is no larger. */
static void bound_quotient(const gemel__terms *t, gemel__term_node *node,
                           const gemel__term_node *quotient) {
  const gemel__term_node *x = at(t, quotient->a);
  if (quotient->kind == GEMEL__TERM_DIV && x->bounded && at(t, quotient->b)->whole) {
    gemel__term_wide size = -x->low > x->high ? -x->low : x->high;
    set_bounds(node, -size, size);
  }
}

gemel__term gemel__term_floor(gemel__terms *t, gemel__term a) {
  gemel__term_node node = node_of(GEMEL__TERM_FLOOR, 0, a, 0, 0);
  const fmpq *value = gemel__term_value(t, a);
  if (at(t, a)->whole) {
    return a;
  }
  if (value != NULL) {
    fmpq_t x;
    gemel__term made;
    fmpq_init(x);
    fmpz_fdiv_q(fmpq_numref(x), fmpq_numref(value), fmpq_denref(value));
    made = gemel__term_number(t, x);
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

gemel__term gemel__term_root(gemel__terms *t, gemel__term a) {
  gemel__term_node node = node_of(GEMEL__TERM_ROOT, 0, a, 0, 0);
  if (a == GEMEL__TERM_ZERO || a == GEMEL__TERM_ONE) {
    return a;
  }
  node.signs = at(t, a)->signs & ~(unsigned)GEMEL__IF_NEGATIVE & GEMEL__IF_ANY;
  node.signs = node.signs != 0 ? node.signs : GEMEL__IF_ZERO;
  return intern(t, &node);
}

gemel__term gemel__term_apply(gemel__terms *t, int function, gemel__term a) {
  gemel__term_node node = node_of(GEMEL__TERM_APPLY, function, a, 0, 0);
  if (function == GEMEL__TERM_EXP && a == GEMEL__TERM_ZERO) {
    return GEMEL__TERM_ONE;
  }
  if (function == GEMEL__TERM_LOG && a == GEMEL__TERM_ONE) {
    return GEMEL__TERM_ZERO;
  }
  node.signs = function == GEMEL__TERM_EXP ? GEMEL__IF_POSITIVE : GEMEL__IF_ANY;
  return intern(t, &node);
}

static gemel__term wrapped_number(gemel__terms *t, gemel_dtype dtype, const fmpq *value) {
  int bits = 8 * (int)gemel_dtype_size(dtype);
  fmpq_t x;
  gemel__term made;
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
  made = gemel__term_number(t, x);
  fmpq_clear(x);
  return made;
}

gemel__term gemel__term_wrap(gemel__terms *t, gemel_dtype dtype, gemel__term a) {
  gemel__term_node node = node_of(GEMEL__TERM_WRAP, dtype, a, 0, 0);
  const gemel__term_node *n = at(t, a);
  gemel__term_wide low, high;
  gemel__term_range(dtype, &low, &high);
  if (n->bounded && n->low >= low && n->high <= high) {
    return a;
  }
  if (gemel__term_value(t, a) != NULL) {
    return wrapped_number(t, dtype, gemel__term_value(t, a));
  }
  node.whole = 1;
  set_bounds(&node, low, high);
  return intern(t, &node);
}

/* ---- Truths and choices ---- */

static int is_truth(const gemel__terms *t, gemel__term a) {
  return at(t, a)->kind >= GEMEL__TERM_CONSTANT;
}

gemel__term gemel__term_not(gemel__terms *t, gemel__term a) {
  gemel__term_node node = node_of(GEMEL__TERM_NOT, 0, a, 0, 0);
  const gemel__term_node *n = at(t, a);
  if (n->kind == GEMEL__TERM_CONSTANT) {
    return n->a ? GEMEL__TERM_FALSE : GEMEL__TERM_TRUE;
  }
  if (n->kind == GEMEL__TERM_SIGN) {
    return gemel__term_sign(t, GEMEL__IF_ANY & ~(unsigned)n->extra, n->a);
  }
  return n->kind == GEMEL__TERM_NOT ? n->a : intern(t, &node);
}

gemel__term gemel__term_and(gemel__terms *t, gemel__term a, gemel__term b) {
  gemel__term_node node = ordered(GEMEL__TERM_AND, a, b);
  if (a == GEMEL__TERM_FALSE || b == GEMEL__TERM_FALSE) {
    return GEMEL__TERM_FALSE;
  }
  if (a == GEMEL__TERM_TRUE || b == GEMEL__TERM_TRUE || a == b) {
    return a == GEMEL__TERM_TRUE ? b : a;
  }
  return intern(t, &node);
}

gemel__term gemel__term_or(gemel__terms *t, gemel__term a, gemel__term b) {
  gemel__term_node node = ordered(GEMEL__TERM_OR, a, b);
  if (a == GEMEL__TERM_TRUE || b == GEMEL__TERM_TRUE) {
    return GEMEL__TERM_TRUE;
  }
  if (a == GEMEL__TERM_FALSE || b == GEMEL__TERM_FALSE || a == b) {
    return a == GEMEL__TERM_FALSE ? b : a;
  }
  return intern(t, &node);
}

gemel__term gemel__term_choose(gemel__terms *t, gemel__term a, gemel__term b, gemel__term c) {
  gemel__term_node node = node_of(GEMEL__TERM_CHOOSE, 0, a, b, c);
  const gemel__term_node *x, *y;
  if (a == GEMEL__TERM_TRUE || a == GEMEL__TERM_FALSE || b == c) {
    return a == GEMEL__TERM_FALSE ? c : b;
  }
  if (is_truth(t, b)) {
    gemel__term other = gemel__term_not(t, a);
    b = gemel__term_and(t, a, b);
    c = gemel__term_and(t, other, c);
    return gemel__term_or(t, b, c);
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

/* The sign of a choice between constants is a truth made of the choice's. */
static gemel__term sign_of_flag(gemel__terms *t, unsigned signs, gemel__term a) {
  gemel__term_node n = *at(t, a);
  gemel__term x = gemel__term_sign(t, signs, n.b), y = gemel__term_sign(t, signs, n.c);
  return gemel__term_choose(t, n.a, x, y);
}

gemel__term gemel__term_sign(gemel__terms *t, unsigned signs, gemel__term a) {
  gemel__term_node node, n = *at(t, a);
  if ((n.signs & signs) == 0 || (n.signs & ~signs & GEMEL__IF_ANY) == 0) {
    return truth(n.signs & signs);
  }
  if (n.kind == GEMEL__TERM_NEG) {
    return gemel__term_sign(t, mirrored(signs), n.a);
  }
  if (is_flag(t, a)) {
    return sign_of_flag(t, signs, a);
  }
  node = node_of(GEMEL__TERM_SIGN, (int)signs, a, 0, 0);
  return intern(t, &node);
}
