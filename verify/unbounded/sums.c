/* SPDX-License-Identifier: MIT
 *
 * Are two elements the same as sums? In the reals and in the rings of integers an element is
 * multiplied out to parts: a number times factors, summed over bound indices where guards hold.
 * So that sums are linear, that sums of sums are one sum, and that a sum over a join or a pad is
 * that of its parts, needs no proof.
 *
 * Two parts are the same if a map of one's bound indices to the other's, with an inverse, keeps
 * ranges and guards, and if their factors are the same under it. Candidates for the map are read
 * off where both read one tensor: "index here = index there", solved for each bound index.
 */
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "unbounded/equal.h"

enum { MOST_PARTS = 64, MOST_FACTORS = 12, MOST_GUARDS = 12, MOST_READS = 16, MOST_EQUATIONS = 24 };

/* NUMBER ÷ DIVISOR times the factors; DIVISOR is 1 in a ring of integers. SIDE: of which of the two
 * elements it is a part. */
typedef struct sum_part {
  int side;
  int64_t number, divisor;
  uint32_t n_guards, n_factors, n_bound;
  gemel__pterm guards[MOST_GUARDS];
  gemel__pterm factors[MOST_FACTORS];
  gemel__pterm bound[GEMEL__PAXES], sizes[GEMEL__PAXES];
} sum_part;

/* A sum that is being made; FAILED if it can't be: more than there is room for. */
typedef struct total {
  gemel__pscene *s;
  gemel__pterm_sort sort;
  int is_real, bits; /* of a ring of integers: modulo 2 to the power of BITS */
  uint32_t count;
  sum_part *list; /* MOST_PARTS of them */
  int failed;
} total;

/* ---- Numbers ---- */

static int64_t wrapped(const total *x, int64_t a) {
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
static void set_number(total *x, sum_part *a, int64_t number, int64_t divisor) {
  int64_t by = x->is_real ? gcd(number, divisor) : 1;
  a->number = x->is_real ? number / (by ? by : 1) : wrapped(x, number);
  a->divisor = x->is_real ? divisor / (by ? by : 1) : 1;
}

static void multiply_number(total *x, sum_part *a, int64_t number, int64_t divisor) {
  int64_t n, d;
  if (!x->is_real) {
    a->number = wrapped(x, (int64_t)((uint64_t)a->number * (uint64_t)number));
  } else if (__builtin_mul_overflow(a->number, number, &n) ||
             __builtin_mul_overflow(a->divisor, divisor, &d)) {
    x->failed = 1;
  } else {
    set_number(x, a, n, d);
  }
}

/* A's number and that of B, added, in A. */
static void add_number(total *x, sum_part *a, const sum_part *b) {
  int64_t left, right, sum, d;
  if (!x->is_real) {
    a->number = wrapped(x, (int64_t)((uint64_t)a->number + (uint64_t)b->number));
  } else if (__builtin_mul_overflow(a->number, b->divisor, &left) ||
             __builtin_mul_overflow(b->number, a->divisor, &right) ||
             __builtin_add_overflow(left, right, &sum) ||
             __builtin_mul_overflow(a->divisor, b->divisor, &d)) {
    x->failed = 1;
  } else {
    set_number(x, a, sum, d);
  }
}

/* 1 if the literal A is NUMBER ÷ DIVISOR, a power of two. */
static int literal_number(const gemel__pterms *t, gemel__pterm a, int64_t *number,
                          int64_t *divisor) {
  const gemel__pterm_node *n = &t->nodes[a];
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
  return *end == 0 && value == (double)*number;
}

/* 1 if A is a call of NAME. */
static int calls(const gemel__pterms *t, gemel__pterm a, const char *name) {
  return t->nodes[a].kind == GEMEL__P_CALL && t->nodes[a].value != 2 &&
         strcmp(t->nodes[a].name, name) == 0;
}

/* ---- Addends ---- */

static sum_part *new_part(total *x) {
  if (x->count == MOST_PARTS) {
    x->failed = 1;
    return NULL;
  }
  sum_part *a = &x->list[x->count++];
  memset(a, 0, sizeof *a);
  a->number = a->divisor = 1;
  return a;
}

static void add_factor(total *x, sum_part *a, gemel__pterm factor) {
  if (a->n_factors == MOST_FACTORS || factor == 0) {
    x->failed = 1;
    return;
  }
  a->factors[a->n_factors++] = factor;
}

static void add_guard(total *x, sum_part *a, gemel__pterm guard) {
  gemel__pterms *t = &x->s->terms;
  const gemel__pterm_node n = t->nodes[guard];
  if (guard == 0 || a->n_guards == MOST_GUARDS) {
    x->failed = 1;
  } else if (n.kind == GEMEL__P_AND) {
    for (uint32_t k = 0; k < n.count; k++) {
      add_guard(x, a, gemel__p_operand(t, guard, k));
    }
  } else if (gemel__p_is_false(t, guard)) {
    a->number = 0;
  } else if (!gemel__p_is_true(t, guard)) {
    a->guards[a->n_guards++] = guard;
  }
}

static void add_bound(total *x, sum_part *a, gemel__pterm symbol, gemel__pterm size) {
  if (a->n_bound == GEMEL__PAXES) {
    x->failed = 1;
    return;
  }
  a->bound[a->n_bound] = symbol;
  a->sizes[a->n_bound++] = size;
}

/* A with FROM replaced by TO in guards and factors. */
static void replace_in(total *x, sum_part *a, uint32_t count, const gemel__pterm *from,
                       const gemel__pterm *to) {
  gemel__pterms *t = &x->s->terms;
  for (uint32_t k = 0; k < a->n_factors; k++) {
    a->factors[k] = gemel__p_replace(t, a->factors[k], count, from, to);
  }
  uint32_t n_guards = a->n_guards;
  gemel__pterm guards[MOST_GUARDS];
  memcpy(guards, a->guards, sizeof guards);
  a->n_guards = 0;
  for (uint32_t k = 0; k < n_guards; k++) {
    add_guard(x, a, gemel__p_replace(t, guards[k], count, from, to));
  }
}

/* A with bound indices of its own. */
static void rename_bound(total *x, sum_part *a) {
  gemel__pterm to[GEMEL__PAXES];
  for (uint32_t k = 0; k < a->n_bound; k++) {
    to[k] = gemel__p_fresh(&x->s->terms, GEMEL__PSORT_INTEGER, "k");
  }
  replace_in(x, a, a->n_bound, a->bound, to);
  memcpy(a->bound, to, a->n_bound * sizeof *to);
}

/* Multiplies A by B, whose bound indices are renamed. */
static void multiply(total *x, sum_part *a, const sum_part *b) {
  sum_part other = *b;
  rename_bound(x, &other);
  multiply_number(x, a, other.number, other.divisor);
  for (uint32_t k = 0; k < other.n_factors; k++) {
    add_factor(x, a, other.factors[k]);
  }
  for (uint32_t k = 0; k < other.n_guards; k++) {
    add_guard(x, a, other.guards[k]);
  }
  for (uint32_t k = 0; k < other.n_bound; k++) {
    add_bound(x, a, other.bound[k], other.sizes[k]);
  }
}

/* ---- Multiplying out ---- */

static void expand(total *x, gemel__pterm a, int depth);

/* Addends FIRST ... of X times what the term A is. */
static void multiply_by(total *x, uint32_t first, gemel__pterm a, int depth) {
  uint32_t middle = x->count;
  expand(x, a, depth);
  uint32_t left = middle - first, right = x->count - middle, end = x->count;
  for (uint32_t i = 0; i < left * right && !x->failed; i++) {
    const sum_part product = x->list[first + i / right];
    sum_part *made = new_part(x);
    if (made != NULL) {
      *made = product;
      multiply(x, made, &x->list[middle + i % right]);
    }
  }
  if (!x->failed) {
    memmove(&x->list[first], &x->list[end], (x->count - end) * sizeof *x->list);
    x->count -= end - first;
  }
}

static void scale_from(total *x, uint32_t first, int64_t number, int64_t divisor) {
  for (uint32_t k = first; k < x->count; k++) {
    multiply_number(x, &x->list[k], number, divisor);
  }
}

/* The term A where GUARD holds, NUMBER times. */
static void expand_where(total *x, gemel__pterm a, gemel__pterm guard, int64_t number, int depth) {
  uint32_t first = x->count;
  expand(x, a, depth);
  scale_from(x, first, number, 1);
  for (uint32_t k = first; k < x->count; k++) {
    add_guard(x, &x->list[k], guard);
  }
}

/* Adds up parts FIRST ... that are the same but for their numbers, as they are written. */
static void merge_from(total *x, uint32_t first) {
  uint32_t kept = first;
  for (uint32_t k = first; k < x->count && !x->failed; k++) {
    const sum_part a = x->list[k];
    uint32_t at = first;
    while (at < kept &&
           !(a.n_factors == x->list[at].n_factors && a.n_guards == x->list[at].n_guards &&
             a.n_bound == 0 && x->list[at].n_bound == 0 &&
             memcmp(a.factors, x->list[at].factors, sizeof a.factors) == 0 &&
             memcmp(a.guards, x->list[at].guards, sizeof a.guards) == 0)) {
      at++;
    }
    if (at < kept) {
      add_number(x, &x->list[at], &a);
    } else {
      x->list[kept++] = a;
    }
  }
  x->count = kept;
}

/* A choice by one comparison has a part for each arm. One by a window is its second arm everywhere,
 * and the difference of the two within: so no part is about all that lies outside. */
static void expand_choice(total *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm truth = gemel__p_operand(t, a, 0), inner = gemel__p_operand(t, a, 1),
               outer = gemel__p_operand(t, a, 2);
  uint32_t first = x->count;
  expand_where(x, inner, truth, 1, depth);
  if (t->nodes[truth].kind == GEMEL__P_AND) {
    expand_where(x, outer, truth, -1, depth);
    expand(x, outer, depth);
    merge_from(x, first);
  } else {
    expand_where(x, outer, gemel__p_not(t, truth), 1, depth);
  }
}

static void expand_fold(total *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  uint32_t first = x->count, count = t->nodes[a].count;
  expand(x, gemel__p_operand(t, a, 0), depth);
  for (uint32_t k = first; k < x->count; k++) {
    for (uint32_t i = 1; i < count; i += 2) {
      add_bound(x, &x->list[k], gemel__p_operand(t, a, i), gemel__p_operand(t, a, i + 1));
    }
    rename_bound(x, &x->list[k]);
  }
}

/* A quotient of reals: by a number, or by a factor 1 ÷ it. */
static void expand_quotient(total *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm by = gemel__p_operand(t, a, 1);
  uint32_t first = x->count;
  int64_t number, divisor;
  expand(x, gemel__p_operand(t, a, 0), depth);
  if (literal_number(t, by, &number, &divisor) && number != 0) {
    scale_from(x, first, number < 0 ? -divisor : divisor, number < 0 ? -number : number);
    return;
  }
  const gemel__pterm inverse[2] = {gemel__p_literal(t, x->sort, "1"), by};
  gemel__pterm factor = gemel__p_call(t, x->sort, "div", 0, 2, inverse);
  for (uint32_t k = first; k < x->count; k++) {
    add_factor(x, &x->list[k], factor);
  }
}

static void expand_factor(total *x, gemel__pterm a) {
  sum_part *one = new_part(x);
  if (one != NULL) {
    add_factor(x, one, a);
  }
}

/* A call of which nothing is known here, but that it is a function: a choice among its operands is
 * one among its values. */
static void expand_opaque(total *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  const gemel__pterm_node n = t->nodes[a];
  uint32_t at = 0;
  while (at < n.count && !(t->nodes[t->operands[n.first + at]].kind == GEMEL__P_CHOICE &&
                           gemel__psort_is_element(t->nodes[t->operands[n.first + at]].sort))) {
    at++;
  }
  if (at == n.count) {
    expand_factor(x, a);
    return;
  }
  gemel__pterm choice = t->operands[n.first + at], arms[2];
  for (uint32_t arm = 0; arm < 2; arm++) {
    gemel__pterm value = gemel__p_operand(t, choice, arm + 1);
    arms[arm] = gemel__p_replace(t, a, 1, &choice, &value);
  }
  expand(x, gemel__p_choose(t, gemel__p_operand(t, choice, 0), arms[0], arms[1]), depth);
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
  return calls(t, a, "element") && gemel__psort_dtype(t->nodes[a].sort, &dtype) &&
         (dtype == GEMEL_I64 || dtype == GEMEL_U64);
}

/* FACTOR, cast to SORT; what was cast from there before is itself again. */
static gemel__pterm cast_factor(gemel__pterms *t, gemel__pterm factor, gemel__pterm_sort sort) {
  gemel__pterm inner = calls(t, factor, "cast") ? gemel__p_operand(t, factor, 0) : 0;
  if (t->nodes[factor].sort == sort) {
    return factor;
  }
  return inner != 0 && t->nodes[inner].sort == sort ? inner
                                                    : gemel__p_call(t, sort, "cast", 0, 1, &factor);
}

static void expand_cast(total *x, gemel__pterm a, int depth) {
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
    expand(x, gemel__p_call(t, sort, "element", 0, 1, &integer), depth);
    return;
  }
  expand(x, inner, depth);
  for (uint32_t k = first; k < x->count; k++) {
    for (uint32_t i = 0; i < x->list[k].n_factors && !x->is_real; i++) {
      x->list[k].factors[i] = cast_factor(t, x->list[k].factors[i], sort);
    }
  }
}

/* An integer of the graph: a polynomial, in every dtype. */
static void expand_integer(total *x, gemel__pterm a) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm integer = gemel__p_operand(t, a, 0);
  const gemel__pterm_node n = t->nodes[integer];
  uint32_t products = n.kind == GEMEL__P_SUM ? n.count : n.kind != GEMEL__P_NUMBER;
  for (uint32_t k = 0; k < products; k++) {
    gemel__pterm product = n.kind == GEMEL__P_SUM ? gemel__p_operand(t, integer, k) : integer;
    int several = t->nodes[product].kind == GEMEL__P_PRODUCT;
    sum_part *one = new_part(x);
    for (uint32_t i = 0; one != NULL && i < (several ? t->nodes[product].count : 1); i++) {
      gemel__pterm factor = several ? gemel__p_operand(t, product, i) : product;
      add_factor(x, one,
                 gemel__p_call(t, (gemel__pterm_sort)t->nodes[a].sort, "element", 0, 1, &factor));
    }
    if (one != NULL && n.kind == GEMEL__P_SUM) {
      multiply_number(x, one, t->coefficients[n.first + k], 1);
    }
  }
  sum_part *constant =
      n.value != 0 && (n.kind == GEMEL__P_SUM || n.kind == GEMEL__P_NUMBER) ? new_part(x) : NULL;
  if (constant != NULL) {
    set_number(x, constant, n.value, 1);
  }
}

static void expand_call(total *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  uint32_t first = x->count;
  if (calls(t, a, "add") || calls(t, a, "sub")) {
    expand(x, gemel__p_operand(t, a, 0), depth);
    first = x->count;
    expand(x, gemel__p_operand(t, a, 1), depth);
    scale_from(x, first, calls(t, a, "sub") ? -1 : 1, 1);
  } else if (calls(t, a, "neg")) {
    expand(x, gemel__p_operand(t, a, 0), depth);
    scale_from(x, first, -1, 1);
  } else if (calls(t, a, "mul") || calls(t, a, "sqr")) {
    expand(x, gemel__p_operand(t, a, 0), depth);
    multiply_by(x, first, gemel__p_operand(t, a, calls(t, a, "mul")), depth);
  } else if (calls(t, a, "div") && x->is_real) {
    expand_quotient(x, a, depth);
  } else if (calls(t, a, "cast")) {
    expand_cast(x, a, depth);
  } else if (calls(t, a, "element")) {
    expand_integer(x, a);
  } else {
    expand_opaque(x, a, depth);
  }
}

/* Adds the parts of A to X. */
static void expand(total *x, gemel__pterm a, int depth) {
  gemel__pterms *t = &x->s->terms;
  int64_t number, divisor;
  if (x->failed || a == 0 || depth > GEMEL__SAME_DEPTH) {
    x->failed = 1;
  } else if (literal_number(t, a, &number, &divisor)) {
    sum_part *one = number != 0 ? new_part(x) : NULL;
    if (one != NULL) {
      set_number(x, one, number, divisor);
    }
  } else if (t->nodes[a].kind == GEMEL__P_CHOICE) {
    expand_choice(x, a, depth + 1);
  } else if (t->nodes[a].kind == GEMEL__P_FOLD &&
             (strcmp(t->nodes[a].name, "sum") == 0 || strcmp(t->nodes[a].name, "dot") == 0)) {
    expand_fold(x, a, depth + 1);
  } else if (t->nodes[a].kind == GEMEL__P_CALL) {
    expand_call(x, a, depth + 1);
  } else {
    expand_factor(x, a);
  }
}

/* ---- Bound indices that say nothing ---- */

static int uses_symbol(const sum_part *a, const gemel__pterms *t, gemel__pterm symbol) {
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
static void unbind(total *x, sum_part *a, uint32_t k, int one) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm symbol = a->bound[k], size = a->sizes[k], zero = gemel__p_number(t, 0);
  int64_t number;
  a->n_bound--;
  memmove(&a->bound[k], &a->bound[k + 1], (a->n_bound - k) * sizeof *a->bound);
  memmove(&a->sizes[k], &a->sizes[k + 1], (a->n_bound - k) * sizeof *a->sizes);
  if (one) {
    replace_in(x, a, 1, &symbol, &zero);
  } else if (gemel__p_is_number(t, size, &number)) {
    multiply_number(x, a, number, 1);
  } else {
    add_factor(x, a, gemel__p_call(t, x->sort, "element", 0, 1, &size));
  }
}

/* HARD: sizes that take a question to be 1 are asked for. */
static void tidy(total *x, sum_part *a, int hard) {
  gemel__pterms *t = &x->s->terms;
  gemel__pterm one = gemel__p_number(t, 1);
  for (uint32_t k = a->n_factors; k > 0 && hard; k--) {
    gemel__pterm factor = a->factors[k - 1];
    if (calls(t, factor, "element") &&
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
    } else if (!uses_symbol(a, t, a->bound[k - 1])) {
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
static void collect_reads(gemel__pscene *s, const sum_part *a, reads *r) {
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

/* Equations between an index of one sum_part and one of another. */
typedef struct index_equations {
  uint32_t count;
  gemel__pterm sides[2][MOST_EQUATIONS];
} index_equations;

/* A map: what each bound index of one sum_part is, in the other's; 0: nothing yet. */
typedef struct map {
  gemel__pterm value[GEMEL__PAXES];
} map;

/* A bound index of A that LEFT is, but for what is known: *FACTOR times it, 1 or -1. */
static int one_unknown(const gemel__pscene *s, const sum_part *a, const map *m, gemel__pterm left,
                       int64_t *factor) {
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
static int solve_equation(gemel__pscene *s, const sum_part *a, map *m, gemel__pterm left,
                          gemel__pterm right) {
  gemel__pterms *t = &s->terms;
  int64_t factor = 0;
  if (calls(t, left, "quotient")) {
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
static map solve_equations(gemel__pscene *s, const sum_part *a, const index_equations *e,
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
static void pair_rest(const sum_part *a, const sum_part *b, map *of_a, map *of_b) {
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

static int is_whole(const sum_part *a, const map *m) {
  for (uint32_t k = 0; k < a->n_bound; k++) {
    if (m->value[k] == 0) {
      return 0;
    }
  }
  return 1;
}

/* Assumes A's ranges and guards. */
static void assume_part(gemel__pscene *s, const sum_part *a) {
  for (uint32_t k = 0; k < a->n_bound; k++) {
    gemel__pscene_index(s, a->bound[k], a->sizes[k]);
  }
  for (uint32_t k = 0; k < a->n_guards; k++) {
    gemel__pscene_assume(s, a->guards[k], 0);
  }
}

/* With B's ranges and guards known: M takes B's bound indices to A's ranges and guards, and INVERSE
 * takes them back. */
static int goes_into(gemel__pscene *s, const sum_part *a, const sum_part *b, const map *m,
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
  for (uint32_t k = 0; k < b->n_bound; k++) {
    gemel__pterm back = gemel__p_replace(t, inverse->value[k], a->n_bound, a->bound, m->value);
    all = gemel__p_and(t, all, gemel__p_equal(t, back, b->bound[k]));
  }
  return gemel__pscene_provable(s, all, GEMEL__PSTEP_MAP);
}

/* With B's ranges and guards known: A's factors, M applied, are B's in some order. */
static int same_factors(gemel__pscene *s, const sum_part *a, const sum_part *b, const map *m,
                        int depth) {
  gemel__pterm factors[MOST_FACTORS];
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
static int same_by(gemel__pscene *s, const sum_part *a, const sum_part *b, const index_equations *e,
                   int depth) {
  map of_a = solve_equations(s, a, e, 0), of_b = solve_equations(s, b, e, 1);
  size_t before = s->n_known;
  pair_rest(a, b, &of_a, &of_b);
  if (!is_whole(a, &of_a) || !is_whole(b, &of_b)) {
    return 0;
  }
  assume_part(s, b);
  int same = goes_into(s, a, b, &of_a, &of_b) && same_factors(s, a, b, &of_a, depth);
  s->n_known = before;
  if (same) {
    assume_part(s, a);
    same = goes_into(s, b, a, &of_b, &of_a);
    s->n_known = before;
  }
  return same;
}

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

/* Tries for read K of A ... each read of B of the same tensor. */
static int same_by_reads(gemel__pscene *s, const sum_part *a, const sum_part *b, const reads *of_a,
                         const reads *of_b, const index_equations *so_far, uint32_t k, int depth) {
  const map m = solve_equations(s, a, so_far, 0);
  if (k == of_a->count || is_whole(a, &m)) {
    return same_by(s, a, b, so_far, depth);
  }
  int tried = 0;
  for (uint32_t i = 0; i < of_b->count && s->flow == GEMEL__P_GO; i++) {
    index_equations e = *so_far;
    if (add_equations(&s->terms, &e, of_a->list[k], of_b->list[i])) {
      tried = 1;
      if (same_by_reads(s, a, b, of_a, of_b, &e, k + 1, depth)) {
        return 1;
      }
    }
  }
  return !tried && same_by_reads(s, a, b, of_a, of_b, so_far, k + 1, depth);
}

/* What kind of factor A is, as far as it is plain: other kinds may be the same still. */
static uint64_t factor_kind(const gemel__pterms *t, gemel__pterm a) {
  return (uint64_t)(uintptr_t)t->nodes[a].name ^ (uint64_t)t->nodes[a].kind << 56;
}

/* 1 if A and B have factors of the same kinds. */
static int alike(const gemel__pterms *t, const sum_part *a, const sum_part *b) {
  uint64_t sums[2] = {0, 0};
  for (uint32_t k = 0; k < a->n_factors && a->n_factors == b->n_factors; k++) {
    sums[0] += factor_kind(t, a->factors[k]);
    sums[1] += factor_kind(t, b->factors[k]);
  }
  return a->n_bound == b->n_bound && a->n_factors == b->n_factors && sums[0] == sums[1];
}

/* 1 if A and B are the same but for their numbers. */
static int same_parts(gemel__pscene *s, const sum_part *a, const sum_part *b, int depth) {
  const index_equations none = {0};
  reads of_a, of_b;
  collect_reads(s, a, &of_a);
  collect_reads(s, b, &of_b);
  return same_by_reads(s, a, b, &of_a, &of_b, &none, 0, depth);
}

/* ---- Sums ---- */

/* 1 if no index of A's ranges has its guards, or an axis has no elements. */
static int is_empty(gemel__pscene *s, const sum_part *a) {
  size_t before = s->n_known;
  assume_part(s, a);
  int empty = gemel__pscene_provable(s, gemel__p_truth(&s->terms, 0), GEMEL__PSTEP_EMPTY);
  s->n_known = before;
  return empty;
}

/* Adds up parts that are the same: of two sides, or of one. */
static void collect_parts(total *x, int two_sides, int depth) {
  for (uint32_t k = 0; k < x->count; k++) {
    for (uint32_t i = 0; i < k && x->s->flow == GEMEL__P_GO && !x->failed; i++) {
      if (x->list[i].number != 0 && x->list[k].number != 0 &&
          (x->list[i].side != x->list[k].side) == two_sides &&
          alike(&x->s->terms, &x->list[i], &x->list[k]) &&
          same_parts(x->s, &x->list[i], &x->list[k], depth)) {
        add_number(x, &x->list[i], &x->list[k]);
        x->list[k].number = 0;
      }
    }
  }
}

/* A guard that is about no bound index: whether it holds is decided first. */
static gemel__pterm free_guard(const total *x) {
  const gemel__pterms *t = &x->s->terms;
  for (uint32_t k = 0; k < x->count; k++) {
    const sum_part *a = &x->list[k];
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

/* 1 if all parts cancel, or have no elements; HARD as in tidy. */
static int is_zero(total *x, int depth, int hard) {
  for (uint32_t k = 0; k < x->count && !x->failed; k++) {
    if (x->list[k].number != 0) {
      tidy(x, &x->list[k], hard);
    }
  }
  collect_parts(x, 1, depth);
  collect_parts(x, 0, depth);
  for (uint32_t k = 0; k < x->count && !x->failed; k++) {
    if (x->list[k].number != 0 && !is_empty(x->s, &x->list[k])) {
      return 0;
    }
  }
  return !x->failed && x->s->flow == GEMEL__P_GO;
}

static int start(total *x, gemel__pscene *s, gemel__pterm_sort sort) {
  gemel_dtype dtype;
  memset(x, 0, sizeof *x);
  x->s = s;
  x->sort = sort;
  if (!gemel__psort_dtype((int)sort, &dtype) || dtype == GEMEL_BOOL) {
    return 0;
  }
  x->is_real = gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
  x->bits = 8 * (int)gemel_dtype_size(dtype);
  x->list = gemel__alloc_array(MOST_PARTS, sizeof *x->list);
  if (x->list == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
  }
  return x->list != NULL;
}

/* 1 if the parts of two elements are the elements: nothing was multiplied out. */
static int says_nothing(const total *x, gemel__pterm a, gemel__pterm b) {
  const sum_part *l = &x->list[0], *r = &x->list[1];
  return x->count == 2 && l->n_factors == 1 && l->factors[0] == a && r->n_factors == 1 &&
         r->factors[0] == b;
}

int gemel__same_sums(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth) {
  total x;
  gemel__pterm guard = 0;
  int same = 0;
  if (s->pass != GEMEL__PASS_VALUES || s->terms.nodes[a].sort != s->terms.nodes[b].sort ||
      !start(&x, s, (gemel__pterm_sort)s->terms.nodes[a].sort)) {
    return 0;
  }
  expand(&x, a, depth);
  uint32_t first = x.count;
  expand(&x, b, depth);
  scale_from(&x, first, -1, 1);
  for (uint32_t k = first; k < x.count; k++) {
    x.list[k].side = 1;
  }
  if (!x.failed && s->flow == GEMEL__P_GO && !says_nothing(&x, a, b)) {
    guard = free_guard(&x);
    same = guard == 0 && (is_zero(&x, depth, 0) || is_zero(&x, depth, 1));
  }
  gemel__free(x.list, MOST_PARTS * sizeof *x.list);
  return guard != 0 ? gemel__same_in_cases(s, a, b, guard, depth) : same;
}
