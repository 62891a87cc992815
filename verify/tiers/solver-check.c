/* SPDX-License-Identifier: MIT
 *
 * Three translations to Z3, tried in turn until one has an answer. SIMPLEX: integers and reals,
 * linear arithmetic with linear approximations of products. BITS: if all numbers are integers of
 * known bounds, bit-vectors wide enough for them; they do products and wrapping. POLYNOMIALS:
 * integers and reals for Z3's nlsat, only if products are few, as it checks its limit too seldom.
 *
 * On an error Z3 calls a handler, which does nothing here, and returns NULL. `keep` replaces NULL
 * by a harmless term and makes the answer UNKNOWN.
 */
#include "tiers/solver-check.h"

#ifdef HAVE_Z3

#include <pthread.h>
#include <string.h>
#include <z3.h>
#include "core/alloc.h"

enum { MOST_WIDTH = 160, MOST_PAIRS = 4, MEGABYTES = 2000 };

/* Questions with more functions or products of variables aren't asked: Z3 checks its limit too
 * seldom on them. */
enum { MOST_APPLIED = 6, MOST_MULTIPLIED = 48 };

/* The way POLYNOMIALS is tried up to these numbers only. */
enum { MOST_PRODUCTS = 3, MOST_VARIABLES = 3 };

typedef enum way { SIMPLEX, BITS, POLYNOMIALS } way;

struct asking {
  const gemel__formulas *t;
  Z3_context c;
  Z3_solver solver;
  Z3_ast *asts; /* by term; NULL: not needed */
  unsigned char *needed;
  size_t n; /* number of terms up to the question's */
  way way;
  int failed;
  Z3_ast harmless;
  gemel__formula applied[2][MOST_PAIRS]; /* arguments of exp and log so far */
  size_t n_applied[2];
};

static void no_exit(Z3_context c, Z3_error_code e) {
  (void)c;
  (void)e;
}

static Z3_ast keep(struct asking *q, Z3_ast ast) {
  if (ast == NULL) {
    q->failed = 1;
    return q->harmless;
  }
  return ast;
}

static const gemel__formula_node *at(const struct asking *q, gemel__formula a) {
  return &q->t->nodes[a];
}

static Z3_ast ast_of(const struct asking *q, gemel__formula a) {
  return q->asts[a] != NULL ? q->asts[a] : q->harmless;
}

static void demand(struct asking *q, Z3_ast truth) {
  Z3_solver_assert(q->c, q->solver, keep(q, truth));
}

/* ---- Numbers as text ---- */

enum { TEXT = 3000 }; /* longer than any number of a term (formula.c) */

static Z3_ast numeral(struct asking *q, const fmpq_t x, Z3_sort sort) {
  char text[TEXT];
  fmpq_get_str(text, 10, x);
  return keep(q, Z3_mk_numeral(q->c, text, sort));
}

static Z3_ast numeral_wide(struct asking *q, gemel__formula_wide value, Z3_sort sort) {
  fmpq_t x;
  gemel__formula_wide size = value < 0 ? -value : value;
  fmpq_init(x);
  fmpz_set_ui(fmpq_numref(x), (ulong)(size >> 62));
  fmpz_mul_2exp(fmpq_numref(x), fmpq_numref(x), 62);
  fmpz_add_ui(fmpq_numref(x), fmpq_numref(x), (ulong)(size & (((gemel__formula_wide)1 << 62) - 1)));
  if (value < 0) {
    fmpq_neg(x, x);
  }
  Z3_ast made = numeral(q, x, sort);
  fmpq_clear(x);
  return made;
}

/* ---- Integers and reals ---- */

static Z3_ast add2(struct asking *q, Z3_ast a, Z3_ast b) {
  Z3_ast both[2] = {a, b};
  return keep(q, Z3_mk_add(q->c, 2, both));
}

static Z3_ast mul2(struct asking *q, Z3_ast a, Z3_ast b) {
  Z3_ast both[2] = {a, b};
  return keep(q, Z3_mk_mul(q->c, 2, both));
}

/* Term A as a real number. */
static Z3_ast real_of(struct asking *q, gemel__formula a) {
  const gemel__formula_node *n = at(q, a);
  if (n->kind == GEMEL__FORMULA_NUMBER) {
    return numeral(q, &q->t->numbers[n->a], Z3_mk_real_sort(q->c));
  }
  return n->whole ? keep(q, Z3_mk_int2real(q->c, ast_of(q, a))) : ast_of(q, a);
}

/* Operand A of N, as an integer if N is an integer, else as a real. */
static Z3_ast operand(struct asking *q, const gemel__formula_node *n, gemel__formula a) {
  return n->whole ? ast_of(q, a) : real_of(q, a);
}

static Z3_ast signs_hold(struct asking *q, unsigned signs, Z3_ast a, Z3_ast zero) {
  switch (signs) {
  case GEMEL__IF_NEGATIVE:
    return keep(q, Z3_mk_lt(q->c, a, zero));
  case GEMEL__IF_ZERO:
    return keep(q, Z3_mk_eq(q->c, a, zero));
  case GEMEL__IF_POSITIVE:
    return keep(q, Z3_mk_gt(q->c, a, zero));
  case GEMEL__IF_NEGATIVE | GEMEL__IF_ZERO:
    return keep(q, Z3_mk_le(q->c, a, zero));
  case GEMEL__IF_ZERO | GEMEL__IF_POSITIVE:
    return keep(q, Z3_mk_ge(q->c, a, zero));
  default:
    return keep(q, Z3_mk_not(q->c, keep(q, Z3_mk_eq(q->c, a, zero))));
  }
}

static Z3_ast make_leaf(struct asking *q, const gemel__formula_node *n) {
  Z3_symbol name = Z3_mk_int_symbol(q->c, (int)n->a);
  Z3_sort sort = n->whole ? Z3_mk_int_sort(q->c) : Z3_mk_real_sort(q->c);
  Z3_ast leaf = keep(q, Z3_mk_const(q->c, name, sort));
  if (n->bounded) {
    demand(q, Z3_mk_ge(q->c, leaf, numeral_wide(q, n->low, sort)));
    demand(q, Z3_mk_le(q->c, leaf, numeral_wide(q, n->high, sort)));
  } else if (n->signs != GEMEL__IF_ANY) {
    demand(q, signs_hold(q, n->signs, leaf, numeral_wide(q, 0, sort)));
  }
  return leaf;
}

/* floor(x ÷ y) for integers. Z3's division rounds down for a positive divisor; for a negative one
 * both are negated. */
static Z3_ast floor_of_quotient(struct asking *q, gemel__formula x, gemel__formula y) {
  Z3_ast a = ast_of(q, x), b = ast_of(q, y);
  Z3_ast zero = numeral_wide(q, 0, Z3_mk_int_sort(q->c));
  Z3_ast up = keep(q, Z3_mk_div(q->c, a, b));
  Z3_ast down = keep(
      q, Z3_mk_div(q->c, keep(q, Z3_mk_unary_minus(q->c, a)), keep(q, Z3_mk_unary_minus(q->c, b))));
  return at(q, y)->low > 0 ? up
                           : keep(q, Z3_mk_ite(q->c, keep(q, Z3_mk_gt(q->c, b, zero)), up, down));
}

static Z3_ast make_floor(struct asking *q, const gemel__formula_node *n) {
  const gemel__formula_node *inner = at(q, n->a);
  if (inner->kind == GEMEL__FORMULA_DIV && at(q, inner->a)->whole && at(q, inner->b)->whole) {
    return floor_of_quotient(q, inner->a, inner->b);
  }
  return keep(q, Z3_mk_real2int(q->c, real_of(q, n->a)));
}

static Z3_ast make_wrap(struct asking *q, const gemel__formula_node *n) {
  Z3_sort sort = Z3_mk_int_sort(q->c);
  gemel__formula_wide low, high;
  gemel__formula_range((gemel_dtype)n->extra, &low, &high);
  Z3_ast size = numeral_wide(q, high - low + 1, sort);
  Z3_ast shift = numeral_wide(q, -low, sort);
  return add2(q, keep(q, Z3_mk_mod(q->c, add2(q, ast_of(q, n->a), shift), size)),
              numeral_wide(q, low, sort));
}

static Z3_ast make_root(struct asking *q, const gemel__formula_node *n) {
  Z3_sort sort = Z3_mk_real_sort(q->c);
  Z3_ast root = keep(q, Z3_mk_fresh_const(q->c, "root", sort)), a = real_of(q, n->a);
  Z3_ast zero = numeral_wide(q, 0, sort);
  Z3_ast facts[2] = {keep(q, Z3_mk_ge(q->c, root, zero)),
                     keep(q, Z3_mk_eq(q->c, mul2(q, root, root), a))};
  demand(q,
         Z3_mk_implies(q->c, keep(q, Z3_mk_ge(q->c, a, zero)), keep(q, Z3_mk_and(q->c, 2, facts))));
  return root;
}

/* Applies exp or log, which are uninterpreted functions to Z3. What it is told: exp > 0, exp(0) =
 * 1, log(1) = 0, both increase. */
static Z3_ast apply(struct asking *q, int function, Z3_ast a) {
  Z3_sort real = Z3_mk_real_sort(q->c);
  Z3_func_decl f = Z3_mk_func_decl(q->c, Z3_mk_int_symbol(q->c, -1 - function), 1, &real, real);
  return f != NULL ? keep(q, Z3_mk_app(q->c, f, 1, &a)) : keep(q, NULL);
}

static void grows(struct asking *q, int function, Z3_ast a, Z3_ast b) {
  Z3_ast zero = numeral_wide(q, 0, Z3_mk_real_sort(q->c));
  Z3_ast x = apply(q, function, a), y = apply(q, function, b);
  Z3_ast fact =
      keep(q, Z3_mk_iff(q->c, keep(q, Z3_mk_lt(q->c, a, b)), keep(q, Z3_mk_lt(q->c, x, y))));
  Z3_ast domain[2] = {keep(q, Z3_mk_gt(q->c, a, zero)), keep(q, Z3_mk_gt(q->c, b, zero))};
  if (function == GEMEL__FORMULA_LOG) {
    fact = keep(q, Z3_mk_implies(q->c, keep(q, Z3_mk_and(q->c, 2, domain)), fact));
  }
  demand(q, fact);
}

static Z3_ast make_apply(struct asking *q, const gemel__formula_node *n) {
  Z3_sort sort = Z3_mk_real_sort(q->c);
  Z3_ast zero = numeral_wide(q, 0, sort), one = numeral_wide(q, 1, sort);
  Z3_ast a = real_of(q, n->a), result = apply(q, n->extra, a);
  size_t *count = &q->n_applied[n->extra], k;
  if (n->extra == GEMEL__FORMULA_EXP) {
    demand(q, Z3_mk_gt(q->c, result, zero));
  }
  grows(q, n->extra, n->extra == GEMEL__FORMULA_EXP ? zero : one, a);
  demand(q, Z3_mk_eq(q->c, apply(q, GEMEL__FORMULA_EXP, zero), one));
  demand(q, Z3_mk_eq(q->c, apply(q, GEMEL__FORMULA_LOG, one), zero));
  for (k = 0; k < *count; k++) {
    grows(q, n->extra, real_of(q, q->applied[n->extra][k]), a);
  }
  if (*count < MOST_PAIRS) {
    q->applied[n->extra][(*count)++] = n->a;
  }
  return result;
}

static Z3_ast make_number(struct asking *q, const gemel__formula_node *n) {
  Z3_sort integers = Z3_mk_int_sort(q->c), reals = Z3_mk_real_sort(q->c);
  switch (n->kind) {
  case GEMEL__FORMULA_NUMBER:
    return numeral(q, &q->t->numbers[n->a], n->whole ? integers : reals);
  case GEMEL__FORMULA_LEAF:
    return make_leaf(q, n);
  case GEMEL__FORMULA_ADD:
    return add2(q, operand(q, n, n->a), operand(q, n, n->b));
  case GEMEL__FORMULA_MUL:
    return mul2(q, operand(q, n, n->a), operand(q, n, n->b));
  case GEMEL__FORMULA_NEG:
    return keep(q, Z3_mk_unary_minus(q->c, operand(q, n, n->a)));
  case GEMEL__FORMULA_DIV:
    return keep(q, Z3_mk_div(q->c, real_of(q, n->a), real_of(q, n->b)));
  case GEMEL__FORMULA_FLOOR:
    return make_floor(q, n);
  case GEMEL__FORMULA_WRAP:
    return make_wrap(q, n);
  case GEMEL__FORMULA_ROOT:
    return make_root(q, n);
  case GEMEL__FORMULA_APPLY:
    return make_apply(q, n);
  default:
    return keep(q, Z3_mk_ite(q->c, ast_of(q, n->a), operand(q, n, n->b), operand(q, n, n->c)));
  }
}

/* ---- Bit-vectors ---- */

/* How many bits of two's complement hold LOW … HIGH. */
static unsigned width_between(gemel__formula_wide low, gemel__formula_wide high) {
  unsigned width = 1;
  while (low < -((gemel__formula_wide)1 << (width - 1)) ||
         high > ((gemel__formula_wide)1 << (width - 1)) - 1) {
    width++;
  }
  return width;
}

static unsigned width_of(const struct asking *q, gemel__formula a) {
  return width_between(at(q, a)->low, at(q, a)->high);
}

/* The lowest WIDTH bits of A, sign-extended where A has fewer. */
static Z3_ast resized(struct asking *q, gemel__formula a, unsigned width) {
  unsigned has = width_of(q, a);
  if (has > width) {
    return keep(q, Z3_mk_extract(q->c, width - 1, 0, ast_of(q, a)));
  }
  return has < width ? keep(q, Z3_mk_sign_ext(q->c, width - has, ast_of(q, a))) : ast_of(q, a);
}

static Z3_ast bits_of(struct asking *q, gemel__formula_wide value, unsigned width) {
  return numeral_wide(q, value, Z3_mk_bv_sort(q->c, width));
}

/* N, a sum, product or negation, modulo 2^WIDTH. */
static Z3_ast bits_modulo(struct asking *q, const gemel__formula_node *n, unsigned width) {
  Z3_ast a = resized(q, n->a, width);
  switch (n->kind) {
  case GEMEL__FORMULA_ADD:
    return keep(q, Z3_mk_bvadd(q->c, a, resized(q, n->b, width)));
  case GEMEL__FORMULA_MUL:
    return keep(q, Z3_mk_bvmul(q->c, a, resized(q, n->b, width)));
  default:
    return keep(q, Z3_mk_bvneg(q->c, a));
  }
}

static int is_ring_operation(const gemel__formula_node *n) {
  return n->kind == GEMEL__FORMULA_ADD || n->kind == GEMEL__FORMULA_MUL ||
         n->kind == GEMEL__FORMULA_NEG;
}

static Z3_ast bits_wrap(struct asking *q, const gemel__formula_node *n) {
  gemel_dtype dtype = (gemel_dtype)n->extra;
  unsigned width = 8 * (unsigned)gemel_dtype_size(dtype);
  const gemel__formula_node *inner = at(q, n->a);
  Z3_ast low = is_ring_operation(inner) ? bits_modulo(q, inner, width) : resized(q, n->a, width);
  return gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED ? low : keep(q, Z3_mk_zero_ext(q->c, 1, low));
}

/* E if term A is the constant 2^E, else −1. */
static int power_of_two(const struct asking *q, gemel__formula a) {
  gemel__formula_wide x = at(q, a)->low;
  int e = 0;
  if (at(q, a)->kind != GEMEL__FORMULA_NUMBER || x <= 0 || (x & (x - 1)) != 0) {
    return -1;
  }
  while (x >> e != 1) {
    e++;
  }
  return e;
}

/* floor of a quotient: an arithmetic shift if the divisor is a power of two. Else Z3's signed
 * division, which truncates, and 1 less if the remainder has the other sign than the divisor. */
static Z3_ast bits_floor(struct asking *q, const gemel__formula_node *n, unsigned width) {
  const gemel__formula_node *inner = at(q, n->a);
  unsigned wide = width;
  Z3_ast a, b, quotient, remainder, zero, off[2];
  wide = width_of(q, inner->b) > wide ? width_of(q, inner->b) : wide;
  a = resized(q, inner->a, wide);
  if (power_of_two(q, inner->b) >= 0) {
    b = bits_of(q, power_of_two(q, inner->b), wide);
    quotient = keep(q, Z3_mk_bvashr(q->c, a, b));
    return wide > width ? keep(q, Z3_mk_extract(q->c, width - 1, 0, quotient)) : quotient;
  }
  b = resized(q, inner->b, wide);
  zero = bits_of(q, 0, wide);
  quotient = keep(q, Z3_mk_bvsdiv(q->c, a, b));
  remainder = keep(q, Z3_mk_bvsrem(q->c, a, b));
  off[0] = signs_hold(q, GEMEL__IF_NONZERO, remainder, zero);
  off[1] = keep(q, Z3_mk_xor(q->c, keep(q, Z3_mk_bvslt(q->c, remainder, zero)),
                             keep(q, Z3_mk_bvslt(q->c, b, zero))));
  quotient =
      keep(q, Z3_mk_ite(q->c, keep(q, Z3_mk_and(q->c, 2, off)),
                        keep(q, Z3_mk_bvsub(q->c, quotient, bits_of(q, 1, wide))), quotient));
  return wide > width ? keep(q, Z3_mk_extract(q->c, width - 1, 0, quotient)) : quotient;
}

static Z3_ast bits_leaf(struct asking *q, const gemel__formula_node *n, unsigned width) {
  Z3_symbol name = Z3_mk_int_symbol(q->c, (int)n->a);
  Z3_ast leaf = keep(q, Z3_mk_const(q->c, name, Z3_mk_bv_sort(q->c, width)));
  demand(q, Z3_mk_bvsge(q->c, leaf, bits_of(q, n->low, width)));
  demand(q, Z3_mk_bvsle(q->c, leaf, bits_of(q, n->high, width)));
  return leaf;
}

static Z3_ast make_bits(struct asking *q, const gemel__formula_node *n) {
  unsigned width = width_between(n->low, n->high);
  switch (n->kind) {
  case GEMEL__FORMULA_NUMBER:
    return bits_of(q, n->low, width);
  case GEMEL__FORMULA_LEAF:
    return bits_leaf(q, n, width);
  case GEMEL__FORMULA_FLOOR:
    return bits_floor(q, n, width);
  case GEMEL__FORMULA_WRAP:
    return bits_wrap(q, n);
  case GEMEL__FORMULA_CHOOSE:
    return keep(q,
                Z3_mk_ite(q->c, ast_of(q, n->a), resized(q, n->b, width), resized(q, n->c, width)));
  default:
    return bits_modulo(q, n, width);
  }
}

static Z3_ast bits_sign(struct asking *q, const gemel__formula_node *n) {
  Z3_ast a = ast_of(q, n->a), zero = bits_of(q, 0, width_of(q, n->a));
  switch (n->extra) {
  case GEMEL__IF_NEGATIVE:
    return keep(q, Z3_mk_bvslt(q->c, a, zero));
  case GEMEL__IF_POSITIVE:
    return keep(q, Z3_mk_bvsgt(q->c, a, zero));
  case GEMEL__IF_NEGATIVE | GEMEL__IF_ZERO:
    return keep(q, Z3_mk_bvsle(q->c, a, zero));
  case GEMEL__IF_ZERO | GEMEL__IF_POSITIVE:
    return keep(q, Z3_mk_bvsge(q->c, a, zero));
  default:
    return signs_hold(q, n->extra, a, zero);
  }
}

/* ---- Truths ---- */

static Z3_ast make_truth(struct asking *q, const gemel__formula_node *n) {
  Z3_ast both[2];
  switch (n->kind) {
  case GEMEL__FORMULA_CONSTANT:
    return keep(q, n->a ? Z3_mk_true(q->c) : Z3_mk_false(q->c));
  case GEMEL__FORMULA_SIGN:
    if (q->way == BITS) {
      return bits_sign(q, n);
    }
    return signs_hold(
        q, n->extra, ast_of(q, n->a),
        numeral_wide(q, 0, at(q, n->a)->whole ? Z3_mk_int_sort(q->c) : Z3_mk_real_sort(q->c)));
  case GEMEL__FORMULA_NOT:
    return keep(q, Z3_mk_not(q->c, ast_of(q, n->a)));
  default:
    both[0] = ast_of(q, n->a);
    both[1] = ast_of(q, n->b);
    return keep(q,
                n->kind == GEMEL__FORMULA_AND ? Z3_mk_and(q->c, 2, both) : Z3_mk_or(q->c, 2, both));
  }
}

/* ---- Asking ---- */

/* 1 if the question can be asked in bit-vectors. *NATIVE: they should be tried first, as it has
 * products or wraps. */
static int can_be_bits(const struct asking *q, int *native) {
  *native = 0;
  for (gemel__formula k = 0; k < q->n; k++) {
    const gemel__formula_node *n = at(q, k);
    if (!q->needed[k] || n->kind >= GEMEL__FORMULA_CONSTANT || n->kind == GEMEL__FORMULA_DIV) {
      continue;
    }
    if (!n->whole || !n->bounded || width_of(q, k) > MOST_WIDTH) {
      return 0;
    }
    *native |= n->kind == GEMEL__FORMULA_WRAP || n->kind == GEMEL__FORMULA_MUL;
  }
  return 1;
}

static int is_constant(const struct asking *q, gemel__formula a) {
  return at(q, a)->kind == GEMEL__FORMULA_NUMBER;
}

struct counts {
  size_t applied, products, variables, others;
};

static struct counts count(const struct asking *q) {
  struct counts counts = {0, 0, 0, 0};
  for (gemel__formula k = 0; k < q->n; k++) {
    const gemel__formula_node *n = at(q, k);
    if (!q->needed[k]) {
      continue;
    }
    counts.applied += n->kind == GEMEL__FORMULA_APPLY;
    counts.others += n->kind == GEMEL__FORMULA_FLOOR || n->kind == GEMEL__FORMULA_WRAP;
    counts.variables += n->kind == GEMEL__FORMULA_LEAF;
    counts.products +=
        n->kind == GEMEL__FORMULA_ROOT ||
        (n->kind == GEMEL__FORMULA_MUL && !is_constant(q, n->a) && !is_constant(q, n->b)) ||
        (n->kind == GEMEL__FORMULA_DIV && !is_constant(q, n->b));
  }
  return counts;
}

static void translate(struct asking *q) {
  for (gemel__formula k = 0; k < q->n && !q->failed; k++) {
    const gemel__formula_node *n = at(q, k);
    if (!q->needed[k] || (q->way == BITS && n->kind == GEMEL__FORMULA_DIV)) {
      continue;
    }
    q->asts[k] = n->kind >= GEMEL__FORMULA_CONSTANT ? make_truth(q, n)
                 : q->way == BITS                   ? make_bits(q, n)
                                                    : make_number(q, n);
  }
}

static void set_limits(struct asking *q, unsigned work) {
  Z3_params params = Z3_mk_params(q->c);
  if (params == NULL) {
    q->failed = 1;
    return;
  }
  Z3_params_inc_ref(q->c, params);
  Z3_params_set_uint(q->c, params, Z3_mk_string_symbol(q->c, "rlimit"), work);
  Z3_params_set_uint(q->c, params, Z3_mk_string_symbol(q->c, "max_memory"), MEGABYTES);
  Z3_params_set_bool(q->c, params, Z3_mk_string_symbol(q->c, "ctrl_c"), 0);
  if (q->way == SIMPLEX) {
    Z3_params_set_bool(q->c, params, Z3_mk_string_symbol(q->c, "arith.nl.nra"), 0);
  }
  Z3_solver_set_params(q->c, q->solver, params);
  Z3_params_dec_ref(q->c, params);
}

/* Sets X to the number A of Z3's model; an algebraic number is approximated. */
static void read_number(struct asking *q, const gemel__formula_node *n, Z3_ast a, fmpq_t x) {
  if (Z3_is_algebraic_number(q->c, a)) {
    a = keep(q, Z3_get_algebraic_number_upper(q->c, a, 60));
  }
  const char *text = Z3_is_numeral_ast(q->c, a) ? Z3_get_numeral_string(q->c, a) : NULL;
  if (text == NULL || fmpq_set_str(x, text, 10) != 0) {
    q->failed = 1;
    return;
  }
  if (q->way == BITS && fmpz_tstbit(fmpq_numref(x), width_between(n->low, n->high) - 1)) {
    fmpz_t size;
    fmpz_init(size);
    fmpz_one_2exp(size, width_between(n->low, n->high));
    fmpz_sub(fmpq_numref(x), fmpq_numref(x), size);
    fmpz_clear(size);
  }
}

/* A value for a leaf that the question doesn't depend on. */
static void any_number(const gemel__formula_node *n, fmpq_t x) {
  fmpq_zero(x);
  if (!(n->signs & GEMEL__IF_ZERO)) {
    fmpq_set_si(x, n->signs & GEMEL__IF_POSITIVE ? 1 : -1, 1);
  }
}

static void read_model(struct asking *q, fmpq *leaves) {
  Z3_model model = Z3_solver_get_model(q->c, q->solver);
  if (model == NULL) {
    q->failed = 1;
    return;
  }
  Z3_model_inc_ref(q->c, model);
  for (gemel__formula k = 0; k < q->t->count; k++) {
    const gemel__formula_node *n = &q->t->nodes[k];
    Z3_ast value = NULL;
    if (n->kind == GEMEL__FORMULA_LEAF && (k >= q->n || q->asts[k] == NULL)) {
      any_number(n, &leaves[n->a]);
    } else if (n->kind == GEMEL__FORMULA_LEAF &&
               Z3_model_eval(q->c, model, q->asts[k], 1, &value) && value != NULL) {
      read_number(q, n, value, &leaves[n->a]);
    } else if (n->kind == GEMEL__FORMULA_LEAF) {
      q->failed = 1;
    }
  }
  Z3_model_dec_ref(q->c, model);
}

static gemel__solver_answer ask(struct asking *q, gemel__formula term, unsigned work,
                                fmpq *leaves) {
  Z3_lbool answer;
  translate(q);
  if (q->failed) {
    return GEMEL__SOLVER_UNKNOWN;
  }
  demand(q, ast_of(q, term));
  set_limits(q, work);
  if (q->failed || Z3_get_error_code(q->c) != Z3_OK) {
    return GEMEL__SOLVER_UNKNOWN;
  }
  answer = Z3_solver_check(q->c, q->solver);
  if (Z3_get_error_code(q->c) != Z3_OK || answer == Z3_L_UNDEF) {
    return GEMEL__SOLVER_UNKNOWN;
  }
  if (answer == Z3_L_FALSE) {
    return GEMEL__SOLVER_NEVER;
  }
  read_model(q, leaves);
  return q->failed ? GEMEL__SOLVER_UNKNOWN : GEMEL__SOLVER_POSSIBLE;
}

/* Asks in one way, in a Z3 context of its own. */
static gemel__solver_answer ask_one_way(struct asking *q, way w, gemel__formula term, unsigned work,
                                        fmpq *leaves) {
  gemel__solver_answer answer = GEMEL__SOLVER_UNKNOWN;
  Z3_config config = Z3_mk_config();
  q->c = Z3_mk_context(config);
  Z3_del_config(config);
  if (q->c == NULL) {
    return answer;
  }
  Z3_set_error_handler(q->c, no_exit);
  q->way = w;
  q->failed = 0;
  memset(q->asts, 0, q->n * sizeof *q->asts);
  memset(q->n_applied, 0, sizeof q->n_applied);
  q->harmless = Z3_mk_true(q->c);
  q->solver = w == POLYNOMIALS ? Z3_mk_solver(q->c) : Z3_mk_simple_solver(q->c);
  if (q->solver != NULL && q->harmless != NULL) {
    Z3_solver_inc_ref(q->c, q->solver);
    answer = ask(q, term, work, leaves);
    Z3_solver_dec_ref(q->c, q->solver);
  }
  Z3_del_context(q->c);
  return answer;
}

/* Fills WAYS with the ways that fit the question, the most promising first. Returns how many. */
static size_t choose_ways(const struct asking *q, way *ways) {
  size_t n = 0;
  int native = 0, bits = can_be_bits(q, &native);
  struct counts c = count(q);
  if (c.applied > MOST_APPLIED || c.products > MOST_MULTIPLIED) {
    return 0;
  }
  if (bits && native) {
    ways[n++] = BITS;
  }
  if (!bits || c.products == 0) {
    ways[n++] = SIMPLEX;
  }
  if (bits && !native) {
    ways[n++] = BITS;
  }
  if (!bits && c.applied + c.others == 0 && c.products > 0 && c.products <= MOST_PRODUCTS &&
      c.variables <= MOST_VARIABLES) {
    ways[n++] = POLYNOMIALS;
  }
  return n;
}

/* Makes Z3 initialise its globals before two threads can do so at once. */
static void warm_up(void) {
  Z3_config config = Z3_mk_config();
  Z3_context c = Z3_mk_context(config);
  Z3_del_config(config);
  if (c != NULL) {
    Z3_del_context(c);
  }
}

gemel__solver_answer gemel__solver_check(const gemel__formulas *t, gemel__formula term,
                                         unsigned work, fmpq *leaves) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  gemel__solver_answer answer = GEMEL__SOLVER_UNKNOWN;
  struct asking q = {.t = t, .n = (size_t)term + 1};
  way ways[3];
  size_t n_ways, k;
  if (t->full) {
    return GEMEL__SOLVER_UNKNOWN;
  }
  if (term == GEMEL__FORMULA_FALSE) {
    return GEMEL__SOLVER_NEVER;
  }
  pthread_once(&once, warm_up);
  q.asts = gemel__alloc_array(q.n, sizeof *q.asts);
  q.needed = gemel__alloc_array(q.n, sizeof *q.needed);
  if (q.asts != NULL && q.needed != NULL) {
    gemel__formula_needed(t, term, q.needed);
    n_ways = choose_ways(&q, ways);
    for (k = 0; k < n_ways && answer == GEMEL__SOLVER_UNKNOWN; k++) {
      answer = ask_one_way(&q, ways[k], term, ways[k] == BITS ? 8 * work : work, leaves);
    }
  }
  gemel__free(q.asts, q.n * sizeof *q.asts);
  gemel__free(q.needed, q.n * sizeof *q.needed);
  return answer;
}

#else /* built without Z3 */

gemel__solver_answer gemel__solver_check(const gemel__formulas *t, gemel__formula term,
                                         unsigned work, fmpq *leaves) {
  (void)t, (void)work, (void)leaves;
  return term == GEMEL__FORMULA_FALSE ? GEMEL__SOLVER_NEVER : GEMEL__SOLVER_UNKNOWN;
}

#endif
