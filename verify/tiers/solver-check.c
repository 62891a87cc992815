/* SPDX-License-Identifier: MIT
 *
 * Three translations to SMT-LIB text, tried in turn until Z3 has an answer to one. SIMPLEX:
 * integers and reals, linear arithmetic with linear approximations of products. BITS: if all
 * numbers are integers of known bounds, bit-vectors wide enough for them; they do products and
 * wrapping. POLYNOMIALS: integers and reals for Z3's nlsat, only if products are few, as it checks
 * its limit too seldom.
 *
 * Term K of the question is named tK: a leaf or root is a constant, any other term is named by let,
 * operands first. What is known of roots, exp and log is part of the question.
 */
#include "tiers/solver-check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/text.h>
#include "base/buffer.h"
#include "core/alloc.h"

enum { MOST_WIDTH = 160, MOST_PAIRS = 4, MEGABYTES = 2000 };

/* Questions with more functions or products of variables aren't asked: Z3 checks its limit too
 * seldom on them. */
enum { MOST_APPLIED = 6, MOST_MULTIPLIED = 48 };

/* The way POLYNOMIALS is tried up to these numbers only. */
enum { MOST_PRODUCTS = 3, MOST_VARIABLES = 3 };

typedef enum way { SIMPLEX, BITS, POLYNOMIALS } way;

static const char *const functions[] = {[GEMEL__FORMULA_EXP] = "exp", [GEMEL__FORMULA_LOG] = "log"};

typedef gemel__smt_word word;

struct asking {
  const gemel__formulas *t;
  unsigned char *needed; /* by term */
  size_t n;              /* number of terms up to the question's */
  way way;
  gemel__buffer text;
  gemel__formula applied[2][MOST_PAIRS]; /* arguments of exp and log so far */
  size_t n_applied[2];
  fmpq *leaves;
  gemel__solver_memory *memory; /* or NULL */
};

static const gemel__formula_node *at(const struct asking *q, gemel__formula a) {
  return &q->t->nodes[a];
}

/* ---- Words ---- */

static word GEMEL__PRINTF(1, 2) word_of(const char *format, ...) {
  word made;
  va_list args;
  va_start(args, format);
  vsnprintf(made.text, sizeof made.text, format, args);
  va_end(args);
  return made;
}

/* Term A as a real number. */
static word real_of(const struct asking *q, gemel__formula a) {
  return word_of(at(q, a)->whole ? "(to_real t%u)" : "t%u", a);
}

/* Operand A of N, as an integer if N is an integer, else as a real. */
static word operand(const struct asking *q, const gemel__formula_node *n, gemel__formula a) {
  return n->whole ? word_of("t%u", a) : real_of(q, a);
}

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
static word resized(const struct asking *q, gemel__formula a, unsigned width) {
  unsigned has = width_of(q, a);
  return has > width   ? word_of("((_ extract %u 0) t%u)", width - 1, a)
         : has < width ? word_of("((_ sign_extend %u) t%u)", width - has, a)
                       : word_of("t%u", a);
}

static word bits_of(gemel__formula_wide x, unsigned width) {
  return word_of(x < 0 ? "(bvneg (_ bv%s %u))" : "(_ bv%s %u)",
                 gemel__smt_integer(x < 0 ? -x : x).text, width);
}

/* The integer X, which isn't negative if N is a real, as a number of N's sort. */
static word number_like(const struct asking *q, const gemel__formula_node *n,
                        gemel__formula_wide x) {
  return q->way == BITS ? bits_of(x, width_between(n->low, n->high))
                        : word_of(n->whole ? "%s" : "%s.0", gemel__smt_integer(x).text);
}

static word sort_of(const struct asking *q, const gemel__formula_node *n) {
  return n->kind >= GEMEL__FORMULA_CONSTANT ? word_of("Bool")
         : q->way == BITS ? word_of("(_ BitVec %u)", width_between(n->low, n->high))
                          : word_of(n->whole ? "Int" : "Real");
}

/* The truth that the sign of term A is one of SIGNS. */
static word sign_of(const struct asking *q, gemel__formula a, unsigned signs) {
  static const char *const relations[2][GEMEL__IF_ANY] = {
      {"", "<", "=", "<=", ">", "distinct", ">="},
      {"", "bvslt", "=", "bvsle", "bvsgt", "distinct", "bvsge"}};
  return word_of("(%s t%u %s)", relations[q->way == BITS][signs], a,
                 number_like(q, at(q, a), 0).text);
}

/* ---- Integers and reals ---- */

static void say_integer(gemel__buffer *b, const fmpz_t x, const char *point) {
  enum { DIGITS = 1300 }; /* of any number of a term (formula.c) */
  char text[DIGITS];
  fmpz_get_str(text, 10, x);
  gemel__buffer_format(b, *text == '-' ? "(- %s%s)" : "%s%s", text + (*text == '-'), point);
}

static void say_rational(gemel__buffer *b, const fmpq_t x, int whole) {
  int fraction = !fmpz_is_one(fmpq_denref(x));
  gemel__buffer_text(b, fraction ? "(/ " : "");
  say_integer(b, fmpq_numref(x), whole ? "" : ".0");
  if (fraction) {
    gemel__buffer_text(b, " ");
    say_integer(b, fmpq_denref(x), ".0)");
  }
}

/* floor(x ÷ y) for integers. The division rounds down for a positive divisor; for a negative one
 * both are negated. */
static void say_floor_of_quotient(struct asking *q, gemel__formula x, gemel__formula y) {
  if (at(q, y)->low > 0) {
    gemel__buffer_format(&q->text, "(div t%u t%u)", x, y);
  } else {
    gemel__buffer_format(&q->text, "(ite (> t%u 0) (div t%u t%u) (div (- t%u) (- t%u)))", y, x, y,
                         x, y);
  }
}

static void say_floor(struct asking *q, const gemel__formula_node *n) {
  const gemel__formula_node *inner = at(q, n->a);
  if (inner->kind == GEMEL__FORMULA_DIV && at(q, inner->a)->whole && at(q, inner->b)->whole) {
    say_floor_of_quotient(q, inner->a, inner->b);
  } else {
    gemel__buffer_format(&q->text, "(to_int %s)", real_of(q, n->a).text);
  }
}

static void say_wrap(struct asking *q, const gemel__formula_node *n) {
  gemel__formula_wide low, high;
  gemel__formula_range((gemel_dtype)n->extra, &low, &high);
  gemel__buffer_format(&q->text, "(+ (mod (+ t%u %s) %s) %s)", n->a, gemel__smt_integer(-low).text,
                       gemel__smt_integer(high - low + 1).text, gemel__smt_integer(low).text);
}

static void say_number(struct asking *q, const gemel__formula_node *n) {
  gemel__buffer *b = &q->text;
  switch (n->kind) {
  case GEMEL__FORMULA_NUMBER:
    say_rational(b, &q->t->numbers[n->a], n->whole);
    return;
  case GEMEL__FORMULA_ADD:
  case GEMEL__FORMULA_MUL:
    gemel__buffer_format(b, "(%c %s %s)", n->kind == GEMEL__FORMULA_ADD ? '+' : '*',
                         operand(q, n, n->a).text, operand(q, n, n->b).text);
    return;
  case GEMEL__FORMULA_NEG:
    gemel__buffer_format(b, "(- %s)", operand(q, n, n->a).text);
    return;
  case GEMEL__FORMULA_DIV:
    gemel__buffer_format(b, "(/ %s %s)", real_of(q, n->a).text, real_of(q, n->b).text);
    return;
  case GEMEL__FORMULA_FLOOR:
    say_floor(q, n);
    return;
  case GEMEL__FORMULA_WRAP:
    say_wrap(q, n);
    return;
  case GEMEL__FORMULA_APPLY:
    gemel__buffer_format(b, "(%s %s)", functions[n->extra], real_of(q, n->a).text);
    return;
  default:
    gemel__buffer_format(b, "(ite t%u %s %s)", n->a, operand(q, n, n->b).text,
                         operand(q, n, n->c).text);
  }
}

/* ---- Bit-vectors ---- */

/* N, a sum, product or negation, modulo 2^WIDTH. */
static void say_bits_modulo(struct asking *q, const gemel__formula_node *n, unsigned width) {
  word a = resized(q, n->a, width);
  if (n->kind == GEMEL__FORMULA_NEG) {
    gemel__buffer_format(&q->text, "(bvneg %s)", a.text);
  } else {
    gemel__buffer_format(&q->text, "(%s %s %s)", n->kind == GEMEL__FORMULA_ADD ? "bvadd" : "bvmul",
                         a.text, resized(q, n->b, width).text);
  }
}

static int is_ring_operation(const gemel__formula_node *n) {
  return n->kind == GEMEL__FORMULA_ADD || n->kind == GEMEL__FORMULA_MUL ||
         n->kind == GEMEL__FORMULA_NEG;
}

static void say_bits_wrap(struct asking *q, const gemel__formula_node *n) {
  gemel_dtype dtype = (gemel_dtype)n->extra;
  unsigned width = 8 * (unsigned)gemel_dtype_size(dtype);
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  gemel__buffer_text(&q->text, is_signed ? "" : "((_ zero_extend 1) ");
  if (is_ring_operation(at(q, n->a))) {
    say_bits_modulo(q, at(q, n->a), width);
  } else {
    gemel__buffer_text(&q->text, resized(q, n->a, width).text);
  }
  gemel__buffer_text(&q->text, is_signed ? "" : ")");
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

/* floor of a quotient: an arithmetic shift if the divisor is a power of two. Else the signed
 * division, which truncates, and 1 less if the remainder has the other sign than the divisor. */
static void say_bits_floor(struct asking *q, const gemel__formula_node *n, unsigned width) {
  const gemel__formula_node *inner = at(q, n->a);
  unsigned has = width_of(q, inner->b), wide = has > width ? has : width;
  word a = resized(q, inner->a, wide), b = resized(q, inner->b, wide), zero = bits_of(0, wide);
  int shift = power_of_two(q, inner->b);
  if (wide > width) {
    gemel__buffer_format(&q->text, "((_ extract %u 0) ", width - 1);
  }
  if (shift >= 0) {
    gemel__buffer_format(&q->text, "(bvashr %s %s)", a.text, bits_of(shift, wide).text);
  } else {
    gemel__buffer_format(&q->text,
                         "(let ((q (bvsdiv %s %s)) (r (bvsrem %s %s))) (ite (and (distinct r %s) "
                         "(xor (bvslt r %s) (bvslt %s %s))) (bvsub q %s) q))",
                         a.text, b.text, a.text, b.text, zero.text, zero.text, b.text, zero.text,
                         bits_of(1, wide).text);
  }
  gemel__buffer_text(&q->text, wide > width ? ")" : "");
}

static void say_bits(struct asking *q, const gemel__formula_node *n) {
  unsigned width = width_between(n->low, n->high);
  switch (n->kind) {
  case GEMEL__FORMULA_NUMBER:
    gemel__buffer_text(&q->text, bits_of(n->low, width).text);
    return;
  case GEMEL__FORMULA_FLOOR:
    say_bits_floor(q, n, width);
    return;
  case GEMEL__FORMULA_WRAP:
    say_bits_wrap(q, n);
    return;
  case GEMEL__FORMULA_CHOOSE:
    gemel__buffer_format(&q->text, "(ite t%u %s %s)", n->a, resized(q, n->b, width).text,
                         resized(q, n->c, width).text);
    return;
  default:
    say_bits_modulo(q, n, width);
  }
}

/* ---- Truths ---- */

static void say_truth(struct asking *q, const gemel__formula_node *n) {
  switch (n->kind) {
  case GEMEL__FORMULA_CONSTANT:
    gemel__buffer_text(&q->text, n->a ? "true" : "false");
    return;
  case GEMEL__FORMULA_SIGN:
    gemel__buffer_text(&q->text, sign_of(q, n->a, n->extra).text);
    return;
  case GEMEL__FORMULA_NOT:
    gemel__buffer_format(&q->text, "(not t%u)", n->a);
    return;
  default:
    gemel__buffer_format(&q->text, "(%s t%u t%u)", n->kind == GEMEL__FORMULA_AND ? "and" : "or",
                         n->a, n->b);
  }
}

/* ---- What is known of leaves, roots, exp and log ---- */

static void say_range(struct asking *q, gemel__formula a) {
  const gemel__formula_node *n = at(q, a);
  if (n->bounded) {
    gemel__buffer_format(&q->text, "(assert (%s t%u %s))\n", q->way == BITS ? "bvsge" : ">=", a,
                         number_like(q, n, n->low).text);
    gemel__buffer_format(&q->text, "(assert (%s t%u %s))\n", q->way == BITS ? "bvsle" : "<=", a,
                         number_like(q, n, n->high).text);
  } else if (n->signs != GEMEL__IF_ANY) {
    gemel__buffer_format(&q->text, "(assert %s)\n", sign_of(q, a, n->signs).text);
  }
}

static void say_root(struct asking *q, gemel__formula root) {
  word a = real_of(q, at(q, root)->a);
  gemel__buffer_format(&q->text, " (=> (>= %s 0.0) (and (>= t%u 0.0) (= (* t%u t%u) %s)))", a.text,
                       root, root, root, a.text);
}

static void say_grows(struct asking *q, int function, const char *a, const char *b) {
  const char *f = functions[function];
  int log = function == GEMEL__FORMULA_LOG;
  if (log) {
    gemel__buffer_format(&q->text, " (=> (and (> %s 0.0) (> %s 0.0))", a, b);
  }
  gemel__buffer_format(&q->text, " (= (< %s %s) (< (%s %s) (%s %s)))%s", a, b, f, a, f, b,
                       log ? ")" : "");
}

/* exp and log are any functions to Z3. What it is told: exp > 0, exp(0) = 1, log(1) = 0, both
 * increase. */
static void say_applied(struct asking *q, gemel__formula applied) {
  const gemel__formula_node *n = at(q, applied);
  int is_exp = n->extra == GEMEL__FORMULA_EXP;
  word a = real_of(q, n->a);
  size_t *count = &q->n_applied[n->extra], k;
  if (is_exp) {
    gemel__buffer_format(&q->text, " (> t%u 0.0)", applied);
  }
  say_grows(q, n->extra, is_exp ? "0.0" : "1.0", a.text);
  gemel__buffer_text(&q->text, is_exp ? " (= (exp 0.0) 1.0)" : " (= (log 1.0) 0.0)");
  for (k = 0; k < *count; k++) {
    say_grows(q, n->extra, real_of(q, q->applied[n->extra][k]).text, a.text);
  }
  if (*count < MOST_PAIRS) {
    q->applied[n->extra][(*count)++] = n->a;
  }
}

/* ---- Questions as text ---- */

static void declare(struct asking *q, gemel__formula a) {
  const gemel__formula_node *n = at(q, a);
  if (n->kind == GEMEL__FORMULA_LEAF || n->kind == GEMEL__FORMULA_ROOT) {
    gemel__buffer_format(&q->text, "(declare-fun t%u () %s)\n", a, sort_of(q, n).text);
  }
  if (n->kind == GEMEL__FORMULA_LEAF) {
    say_range(q, a);
  }
}

/* Begins what ends with the question: names other terms, and adds what is known of some. Returns
 * how much it has begun. */
static size_t say_term(struct asking *q, gemel__formula a) {
  const gemel__formula_node *n = at(q, a);
  if (n->kind == GEMEL__FORMULA_LEAF) {
    return 0;
  }
  if (n->kind == GEMEL__FORMULA_ROOT) {
    gemel__buffer_text(&q->text, "(and");
    say_root(q, a);
    return 1;
  }
  gemel__buffer_format(&q->text, "(let ((t%u ", a);
  (n->kind >= GEMEL__FORMULA_CONSTANT ? say_truth : q->way == BITS ? say_bits : say_number)(q, n);
  gemel__buffer_text(&q->text, "))\n");
  if (n->kind == GEMEL__FORMULA_APPLY) {
    gemel__buffer_text(&q->text, "(and");
    say_applied(q, a);
    return 2;
  }
  return 1;
}

/* Terms are named by let. Z3 would write definitions out, however often one is used. */
static void say_question(struct asking *q) {
  size_t begun = 1;
  memset(q->n_applied, 0, sizeof q->n_applied);
  for (gemel__formula k = 0; k < q->n; k++) {
    if (q->needed[k]) {
      declare(q, k);
    }
  }
  gemel__buffer_text(&q->text, "(declare-fun exp (Real) Real)\n(declare-fun log (Real) Real)\n"
                               "(assert ");
  for (gemel__formula k = 0; k < q->n; k++) {
    if (q->needed[k] && (q->way != BITS || at(q, k)->kind != GEMEL__FORMULA_DIV)) {
      begun += say_term(q, k);
    }
  }
  gemel__buffer_format(&q->text, " t%zu", q->n - 1);
  for (size_t k = 0; k < begun; k++) {
    gemel__buffer_text(&q->text, ")");
  }
}

/* ---- Examples ---- */

/* Gives each leaf a number that it can be, as the answer may not depend on it. */
static void any_numbers(const gemel__formulas *t, fmpq *leaves) {
  for (size_t k = 0; k < t->count; k++) {
    const gemel__formula_node *n = &t->nodes[k];
    if (n->kind == GEMEL__FORMULA_LEAF) {
      fmpq_set_si(&leaves[n->a],
                  n->signs & GEMEL__IF_ZERO       ? 0
                  : n->signs & GEMEL__IF_POSITIVE ? 1
                                                  : -1,
                  1);
    }
  }
}

/* Takes the value X of the term called NAME, unless that is a root. */
static void take_number(void *user, const char *name, const fmpq_t x) {
  struct asking *q = user;
  const gemel__formula_node *n = at(q, (gemel__formula)strtoul(name + 1, NULL, 10));
  if (n->kind != GEMEL__FORMULA_LEAF) {
    return;
  }
  fmpq *leaf = &q->leaves[n->a];
  unsigned width = width_between(n->low, n->high);
  fmpq_set(leaf, x);
  if (q->way == BITS && fmpz_tstbit(fmpq_numref(leaf), width - 1)) {
    fmpz_t size;
    fmpz_init(size);
    fmpz_one_2exp(size, width);
    fmpz_sub(fmpq_numref(leaf), fmpq_numref(leaf), size);
    fmpz_clear(size);
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

/* ---- Questions that were asked before ---- */

/* One is the same if its text, its way and its work are: then Z3's answer is. */
struct gemel__solver_memory {
  pthread_mutex_t lock;
  struct remembered {
    char *text;
    unsigned work;
    int linear;
    gemel__smt_answer answer;
  } all[128];
  size_t n;
};

gemel__solver_memory *gemel__solver_memory_new(void) {
  gemel__solver_memory *m = gemel__alloc_zeroed(sizeof *m);
  if (m != NULL && pthread_mutex_init(&m->lock, NULL) != 0) {
    gemel__free(m, sizeof *m);
    return NULL;
  }
  return m;
}

void gemel__solver_memory_free(gemel__solver_memory *m) {
  if (m == NULL) {
    return;
  }
  for (size_t k = 0; k < m->n; k++) {
    gemel_text_free(m->all[k].text);
  }
  pthread_mutex_destroy(&m->lock);
  gemel__free(m, sizeof *m);
}

/* 1 and the *ANSWER if QUESTION is remembered. */
static int recall(gemel__solver_memory *m, const gemel__smt_question *question,
                  gemel__smt_answer *answer) {
  int found = 0;
  if (m == NULL) {
    return 0;
  }
  pthread_mutex_lock(&m->lock);
  for (size_t k = 0; k < m->n && !found; k++) {
    const struct remembered *r = &m->all[k];
    found = r->work == question->work && r->linear == question->linear &&
            strcmp(r->text, question->text) == 0;
    *answer = found ? r->answer : *answer;
  }
  pthread_mutex_unlock(&m->lock);
  return found;
}

/* Remembers QUESTION, whose TEXT may be taken: 1 if it was. An example is asked for anew. */
static int remember(gemel__solver_memory *m, const gemel__smt_question *question, char *text,
                    gemel__smt_answer answer) {
  int taken = 0;
  if (m == NULL || answer == GEMEL__SMT_POSSIBLE) {
    return 0;
  }
  pthread_mutex_lock(&m->lock);
  if (m->n < sizeof m->all / sizeof *m->all) {
    m->all[m->n++] = (struct remembered){text, question->work, question->linear, answer};
    taken = 1;
  }
  pthread_mutex_unlock(&m->lock);
  return taken;
}

static gemel__smt_answer ask_one_way(struct asking *q, way w, unsigned work) {
  gemel__smt_question question = {.work = w == BITS ? 8 * work : work,
                                  .megabytes = MEGABYTES,
                                  .linear = w != POLYNOMIALS,
                                  .take = take_number,
                                  .user = q};
  gemel__smt_answer answer = GEMEL__SMT_UNKNOWN;
  q->way = w;
  q->text = (gemel__buffer){0};
  say_question(q);
  if (gemel__buffer_allocate(&q->text) == 0) {
    say_question(q);
    question.text = q->text.text;
    if (!recall(q->memory, &question, &answer)) {
      answer = gemel__smt_ask(&question);
      if (remember(q->memory, &question, q->text.text, answer)) {
        return answer;
      }
    }
    gemel_text_free(q->text.text);
  }
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

gemel__smt_answer gemel__solver_check(const gemel__formulas *t, gemel__formula term, unsigned work,
                                      fmpq *leaves, gemel__solver_memory *memory) {
  gemel__smt_answer answer = GEMEL__SMT_UNKNOWN;
  struct asking q = {.t = t, .n = (size_t)term + 1, .leaves = leaves, .memory = memory};
  way ways[3];
  if (term == GEMEL__FORMULA_FALSE && !t->full) {
    return GEMEL__SMT_NEVER;
  }
  q.needed = t->full || !gemel__smt_has_solver() ? NULL : gemel__alloc_array(q.n, sizeof *q.needed);
  if (q.needed != NULL) {
    gemel__formula_needed(t, term, q.needed);
    any_numbers(t, leaves);
    size_t n_ways = choose_ways(&q, ways);
    for (size_t k = 0; k < n_ways && answer == GEMEL__SMT_UNKNOWN; k++) {
      answer = ask_one_way(&q, ways[k], work);
    }
  }
  gemel__free(q.needed, q.n * sizeof *q.needed);
  return answer;
}
