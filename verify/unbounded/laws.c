/* SPDX-License-Identifier: MIT
 *
 * Functions of real numbers, written so that the solver, which knows sums, products and quotients
 * only, can tell whether two are the same:
 *
 *   exp of a sum is a product of powers of unknowns, one for each monomial m: exp(m / 2), above 0
 *   log a is an unknown l with exp(l / 2) squared = a; what has logarithms is compared by its exp
 *   sqrt a is an unknown, not below 0, whose square is a
 *   expm1, log1p, sigmoid, tanh, sinh, cosh, powers by their formulas
 *   pow of x above 0 is exp(y log x)
 *   odd and even functions: of the argument or its negative, whichever has the first sign +
 *
 * Each is so where its operands are those for which the function is a number, which the caller sees
 * to (defined.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "unbounded/equal.h"

enum { MOST_POWER = 12, MOST_DEPTH = 40 };

/* A polynomial over real elements: an integer one over symbols that are called by the number of
 * their element, by a divisor. DIVISOR 0: there is none. */
typedef struct real_polynomial {
  gemel__pterm sum;
  int64_t divisor;
} real_polynomial;

/* What is being written: terms up to SIZE, and those that they become. */
typedef struct law_writer {
  gemel__pscene *s;
  gemel__pterm *written;
  gemel__pterm_sort sort; /* of what is written now */
} law_writer;

/* ---- Terms ---- */

static gemel__pterm op(law_writer *w, const char *name, gemel__pterm a, gemel__pterm b) {
  const gemel__pterm both[2] = {a, b};
  int commutes = strcmp(name, "add") == 0 || strcmp(name, "mul") == 0;
  return gemel__p_call(&w->s->terms, w->sort, name, commutes, b != 0 ? 2 : 1, both);
}

static gemel__pterm number(law_writer *w, int64_t value) {
  char text[30];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return gemel__p_literal(&w->s->terms, w->sort, text);
}

static gemel__pterm truth_of(law_writer *w, const char *name, gemel__pterm a, gemel__pterm b) {
  const gemel__pterm both[2] = {a, b};
  gemel__pterm is = gemel__p_call(&w->s->terms, gemel__psort_of(GEMEL_BOOL), name, 0, 2, both);
  return gemel__p_call(&w->s->terms, GEMEL__PSORT_TRUTH, "truth", 0, 1, &is);
}

/* An unknown that is called WHAT of A. */
static gemel__pterm unknown(law_writer *w, const char *what, gemel__pterm a, int64_t divisor) {
  char name[60];
  snprintf(name, sizeof name, "%s!%u!%lld", what, a, (long long)divisor);
  return gemel__p_symbol(&w->s->terms, w->sort, name);
}

static int is_called(const gemel__pterms *t, gemel__pterm a, const char *name) {
  return t->nodes[a].kind == GEMEL__P_CALL && t->nodes[a].count > 0 &&
         strcmp(t->nodes[a].name, name) == 0;
}

/* 1 and *NUMERATOR ÷ *DIVISOR if A is a decimal number of not too many digits. */
static int is_number(const gemel__pterms *t, gemel__pterm a, int64_t *numerator, int64_t *divisor) {
  const gemel__pterm_node *n = &t->nodes[a];
  const char *c = n->name;
  int point = 0, digits = 0, negative;
  if (n->kind != GEMEL__P_CALL || n->value != 2) {
    return 0;
  }
  *numerator = 0, *divisor = 1;
  negative = *c == '-';
  for (c += negative; (*c >= '0' && *c <= '9') || *c == '.'; c++) {
    point |= *c == '.';
    if (*c != '.') {
      *numerator = 10 * *numerator + (*c - '0');
      *divisor *= point ? 10 : 1;
      digits++;
    }
  }
  *numerator = negative ? -*numerator : *numerator;
  return *c == '\0' && digits > 0 && digits <= 9;
}

/* ---- Polynomials ---- */

static const real_polynomial none = {0, 0};

static real_polynomial atom(law_writer *w, gemel__pterm element) {
  char name[30];
  snprintf(name, sizeof name, "element!%u", element);
  return (real_polynomial){gemel__p_symbol(&w->s->terms, GEMEL__PSORT_INTEGER, name), 1};
}

/* The element that the symbol ATOM is. */
static gemel__pterm element_of(const gemel__pterms *t, gemel__pterm symbol) {
  return (gemel__pterm)strtoul(strchr(t->nodes[symbol].name, '!') + 1, NULL, 10);
}

static real_polynomial plus(law_writer *w, real_polynomial a, real_polynomial b, int sign) {
  gemel__pterms *t = &w->s->terms;
  int64_t divisor;
  if (a.divisor == 0 || b.divisor == 0 || __builtin_mul_overflow(a.divisor, b.divisor, &divisor)) {
    return none;
  }
  if (a.divisor == b.divisor) {
    return (real_polynomial){gemel__p_add(t, a.sum, gemel__p_scale(t, b.sum, sign)), a.divisor};
  }
  return (real_polynomial){gemel__p_add(t, gemel__p_scale(t, a.sum, b.divisor),
                                        gemel__p_scale(t, b.sum, sign * a.divisor)),
                           divisor};
}

static real_polynomial times(law_writer *w, real_polynomial a, real_polynomial b) {
  int64_t divisor;
  if (a.divisor == 0 || b.divisor == 0 || __builtin_mul_overflow(a.divisor, b.divisor, &divisor)) {
    return none;
  }
  return (real_polynomial){gemel__p_mul(&w->s->terms, a.sum, b.sum), divisor};
}

/* A, divided by NUMERATOR ÷ DIVISOR. */
static real_polynomial divided(law_writer *w, real_polynomial a, int64_t numerator,
                               int64_t divisor) {
  int sign = numerator < 0 ? -1 : 1;
  if (a.divisor == 0 || __builtin_mul_overflow(a.divisor, sign * numerator, &a.divisor)) {
    return none;
  }
  a.sum = gemel__p_scale(&w->s->terms, a.sum, sign * divisor);
  return a;
}

/* A cast between floats that keeps every number. */
static int is_exact_cast(const gemel__pterms *t, gemel__pterm a) {
  gemel_dtype from, to;
  return is_called(t, a, "cast") && gemel__psort_dtype(t->nodes[a].sort, &to) &&
         gemel__psort_dtype(t->nodes[gemel__p_operand(t, a, 0)].sort, &from) &&
         gemel_dtype_kind(from) == GEMEL_KIND_FLOAT && gemel__scalar_is_exact(from, to);
}

/* A, of which operands are written, as a polynomial. */
static real_polynomial polynomial_of(law_writer *w, gemel__pterm a, int depth) {
  gemel__pterms *t = &w->s->terms;
  int64_t numerator, divisor;
  if (depth == MOST_DEPTH) {
    return none;
  }
  if (is_number(t, a, &numerator, &divisor)) {
    return (real_polynomial){gemel__p_number(t, numerator), divisor};
  }
  if (t->nodes[a].kind != GEMEL__P_CALL || t->nodes[a].count == 0) {
    return atom(w, w->written[a]);
  }
  gemel__pterm x = gemel__p_operand(t, a, 0),
               y = t->nodes[a].count > 1 ? gemel__p_operand(t, a, 1) : 0;
  if (is_called(t, a, "neg")) {
    return divided(w, polynomial_of(w, x, depth + 1), -1, 1);
  }
  if (is_called(t, a, "add") || is_called(t, a, "sub")) {
    return plus(w, polynomial_of(w, x, depth + 1), polynomial_of(w, y, depth + 1),
                is_called(t, a, "add") ? 1 : -1);
  }
  if (is_called(t, a, "mul") || is_called(t, a, "sqr")) {
    return times(w, polynomial_of(w, x, depth + 1), polynomial_of(w, y != 0 ? y : x, depth + 1));
  }
  if (is_called(t, a, "div") && is_number(t, y, &numerator, &divisor) && numerator != 0) {
    return divided(w, polynomial_of(w, x, depth + 1), numerator, divisor);
  }
  return is_exact_cast(t, a) ? polynomial_of(w, x, depth + 1) : atom(w, w->written[a]);
}

/* Addend K of the polynomial SUM and its coefficient; 0: the constant, which is the last. */
static gemel__pterm addend_at(const gemel__pterms *t, gemel__pterm sum, uint32_t k, int64_t *by) {
  const gemel__pterm_node *n = &t->nodes[sum];
  int is_sum = n->kind == GEMEL__P_SUM || n->kind == GEMEL__P_NUMBER;
  if (is_sum && k == n->count) {
    *by = n->value;
    return 0;
  }
  *by = is_sum ? t->coefficients[n->first + k] : 1;
  return is_sum ? t->operands[n->first + k] : sum;
}

static uint32_t addends(const gemel__pterms *t, gemel__pterm sum) {
  const gemel__pterm_node *n = &t->nodes[sum];
  return n->kind == GEMEL__P_SUM || n->kind == GEMEL__P_NUMBER ? n->count + 1 : 1;
}

/* The product of elements that MONOMIAL is. */
static gemel__pterm product_of(law_writer *w, gemel__pterm monomial) {
  const gemel__pterms *t = &w->s->terms;
  gemel__pterm product = 0;
  if (t->nodes[monomial].kind != GEMEL__P_PRODUCT) {
    return element_of(t, monomial);
  }
  for (uint32_t k = 0; k < t->nodes[monomial].count; k++) {
    gemel__pterm factor = element_of(t, gemel__p_operand(t, monomial, k));
    product = product == 0 ? factor : op(w, "mul", product, factor);
  }
  return product;
}

static gemel__pterm element_from(law_writer *w, real_polynomial p) {
  const gemel__pterms *t = &w->s->terms;
  gemel__pterm sum = 0;
  for (uint32_t k = 0; k < addends(t, p.sum); k++) {
    int64_t by;
    gemel__pterm monomial = addend_at(t, p.sum, k, &by);
    gemel__pterm part = number(w, by);
    if (monomial != 0) {
      part = by == 1 ? product_of(w, monomial) : op(w, "mul", part, product_of(w, monomial));
    }
    sum = by == 0 ? sum : sum == 0 ? part : op(w, "add", sum, part);
  }
  sum = sum == 0 ? number(w, 0) : sum;
  return p.divisor == 1 ? sum : op(w, "div", sum, number(w, p.divisor));
}

/* ---- Exponentials ---- */

/* exp(MONOMIAL ÷ 2), MONOMIAL 0 being 1. */
static gemel__pterm base_of(law_writer *w, gemel__pterm monomial) {
  gemel__pterms *t = &w->s->terms;
  gemel__pterm base = unknown(w, "exp", monomial, 2), one = number(w, 1);
  gemel__pscene_lemma(w->s, truth_of(w, "gt", base, number(w, 0)));
  if (monomial == 0) {
    gemel__pscene_lemma(w->s, truth_of(w, "gt", base, one));
  } else if (t->nodes[monomial].kind == GEMEL__P_SYMBOL) {
    gemel__pterm element = element_of(t, monomial);
    const char *name = t->nodes[element].kind == GEMEL__P_SYMBOL ? t->nodes[element].name : "";
    if (strncmp(name, "log!", 4) == 0) { /* of a number above 0, else it is none */
      gemel__pterm a = (gemel__pterm)strtoul(name + 4, NULL, 10);
      gemel__pscene_lemma(w->s, gemel__p_implies(t, truth_of(w, "gt", a, number(w, 0)),
                                                 truth_of(w, "eq", op(w, "mul", base, base), a)));
    }
  }
  return base;
}

static gemel__pterm power(law_writer *w, gemel__pterm a, int64_t exponent) {
  gemel__pterm product = a;
  for (int64_t k = 1; k < exponent; k++) {
    product = op(w, "mul", product, a);
  }
  return product;
}

/* exp of P. */
static gemel__pterm exponential(law_writer *w, real_polynomial p) {
  const gemel__pterms *t = &w->s->terms;
  gemel__pterm above = number(w, 1), below = 0;
  for (uint32_t k = 0; k < addends(t, p.sum); k++) {
    int64_t by, twice;
    gemel__pterm monomial = addend_at(t, p.sum, k, &by);
    if (__builtin_mul_overflow(by, 2, &twice) || twice % p.divisor != 0 ||
        llabs(twice / p.divisor) > MOST_POWER) {
      gemel__pterm other = unknown(w, "exp", p.sum, p.divisor);
      gemel__pscene_lemma(w->s, truth_of(w, "gt", other, number(w, 0)));
      return other;
    }
    twice /= p.divisor;
    if (twice > 0) {
      above = op(w, "mul", above, power(w, base_of(w, monomial), twice));
    } else if (twice < 0) {
      gemel__pterm factor = power(w, base_of(w, monomial), -twice);
      below = below == 0 ? factor : op(w, "mul", below, factor);
    }
  }
  return below == 0 ? above : op(w, "div", above, below);
}

static gemel__pterm exp_of(law_writer *w, gemel__pterm a, int64_t times_number) {
  real_polynomial p = divided(w, polynomial_of(w, a, 0), 1, times_number);
  return p.divisor != 0 ? exponential(w, p) : 0;
}

/* ---- Functions ---- */

/* A, in which like terms are gathered. */
static gemel__pterm gathered(law_writer *w, gemel__pterm a) {
  real_polynomial p = polynomial_of(w, a, 0);
  return p.divisor != 0 ? element_from(w, p) : w->written[a];
}

static gemel__pterm write_log(law_writer *w, gemel__pterm a) {
  return unknown(w, "log", a, 0);
}

static gemel__pterm write_sqrt(law_writer *w, gemel__pterm a) {
  gemel__pterms *t = &w->s->terms;
  gemel__pterm root = unknown(w, "sqrt", a, 0), zero = number(w, 0);
  gemel__pterm is = gemel__p_and(t, truth_of(w, "ge", root, zero),
                                 truth_of(w, "eq", op(w, "mul", root, root), a));
  gemel__pscene_lemma(w->s, gemel__p_implies(t, truth_of(w, "ge", a, zero), is));
  return root;
}

/* X to the power NUMERATOR ÷ DIVISOR; 0 if that isn't whole or half. */
static gemel__pterm write_power(law_writer *w, gemel__pterm x, int64_t numerator, int64_t divisor) {
  int64_t twice = 2 * numerator / divisor, size = llabs(twice);
  if (2 * numerator % divisor != 0 || size > MOST_POWER) {
    return 0;
  }
  gemel__pterm base = size % 2 == 0 ? x : write_sqrt(w, x), one = number(w, 1);
  gemel__pterm raised = size == 0 ? one : power(w, base, size % 2 == 0 ? size / 2 : size);
  return twice < 0 ? op(w, "div", one, raised) : raised;
}

/* X above 0 to the power Y is exp(Y log X). */
static void lemma_of_power(law_writer *w, gemel__pterm x, gemel__pterm y) {
  gemel__pterms *t = &w->s->terms;
  gemel__pterm base = gathered(w, x);
  real_polynomial p = times(w, polynomial_of(w, y, 0), atom(w, write_log(w, base)));
  if (p.divisor != 0) {
    gemel__pterm raised = op(w, "pow", w->written[x], w->written[y]);
    gemel__pscene_lemma(w->s, gemel__p_implies(t, truth_of(w, "gt", base, number(w, 0)),
                                               truth_of(w, "eq", raised, exponential(w, p))));
  }
}

static gemel__pterm write_pow(law_writer *w, gemel__pterm x, gemel__pterm y) {
  gemel__pterms *t = &w->s->terms;
  int64_t numerator, divisor;
  if (is_number(t, y, &numerator, &divisor)) {
    return write_power(w, w->written[x], numerator, divisor);
  }
  if (!is_called(t, x, "exp")) {
    lemma_of_power(w, x, y);
    return 0;
  }
  real_polynomial p =
      times(w, polynomial_of(w, gemel__p_operand(t, x, 0), 0), polynomial_of(w, y, 0));
  return p.divisor != 0 ? exponential(w, p) : 0;
}

/* NAME of X, by exp of SCALE times X; 0: it isn't made of that. */
static gemel__pterm write_by_exp(law_writer *w, const char *name, gemel__pterm x) {
  gemel__pterm one = number(w, 1), e = exp_of(w, x, strcmp(name, "tanh") == 0 ? 2 : 1);
  int falls = strcmp(name, "sinh") == 0;
  if (e == 0) {
    return 0;
  }
  if (strcmp(name, "exp") == 0) {
    return e;
  }
  if (strcmp(name, "expm1") == 0) {
    return op(w, "sub", e, one);
  }
  if (strcmp(name, "sigmoid") == 0) {
    return op(w, "div", e, op(w, "add", e, one));
  }
  if (strcmp(name, "tanh") == 0) {
    return op(w, "div", op(w, "sub", e, one), op(w, "add", e, one));
  }
  gemel__pterm other = op(w, "div", one, e);
  return op(w, "div", op(w, falls ? "sub" : "add", e, other), number(w, 2));
}

static int is_one_of(const char *name, const char *const *names) {
  while (*names != NULL && strcmp(name, *names) != 0) {
    names++;
  }
  return *names != NULL;
}

/* NAME of X, which is odd or even. */
static gemel__pterm write_symmetric(law_writer *w, const char *name, gemel__pterm x, int odd) {
  const gemel__pterms *t = &w->s->terms;
  real_polynomial p = polynomial_of(w, x, 0);
  int64_t by = 1;
  if (p.divisor == 0) {
    return 0;
  }
  addend_at(t, p.sum, 0, &by);
  gemel__pterm of = op(w, name, element_from(w, by < 0 ? divided(w, p, -1, 1) : p), 0);
  return by < 0 && odd ? op(w, "neg", of, 0) : of;
}

/* If X is a number of which NAME is the inverse, that number; else 0. */
static gemel__pterm write_inverse(law_writer *w, const char *name, gemel__pterm x) {
  static const char *const inverses[][2] = {
      {"erf", "erfinv"}, {"sin", "asin"}, {"cos", "acos"}, {"tan", "atan"}};
  for (size_t k = 0; k < sizeof inverses / sizeof *inverses; k++) {
    if (strcmp(name, inverses[k][0]) == 0 && is_called(&w->s->terms, x, inverses[k][1])) {
      return w->written[gemel__p_operand(&w->s->terms, x, 0)];
    }
  }
  return 0;
}

/* The squares of sine and cosine of A add up to 1. */
static void lemma_of_circle(law_writer *w, gemel__pterm a) {
  gemel__pterm sine = op(w, "sin", a, 0), cosine = op(w, "cos", a, 0);
  gemel__pscene_lemma(
      w->s, truth_of(w, "eq", op(w, "add", op(w, "mul", sine, sine), op(w, "mul", cosine, cosine)),
                     number(w, 1)));
}

/* NAME, a remainder, of X by Y: that of a remainder by the same is itself. */
static gemel__pterm write_remainder(law_writer *w, const char *name, gemel__pterm x,
                                    gemel__pterm y) {
  const gemel__pterms *t = &w->s->terms;
  return is_called(t, x, name) && w->written[gemel__p_operand(t, x, 1)] == w->written[y]
             ? w->written[x]
             : 0;
}

/* The call A, whose operands are written; 0: as it stands. */
static gemel__pterm write_call(law_writer *w, gemel__pterm a) {
  static const char *const by_exp[] = {"exp", "expm1", "sigmoid", "tanh", "sinh", "cosh", NULL};
  static const char *const odd[] = {"erf",   "erfinv", "sin",   "tan",   "asin", "atan",
                                    "asinh", "atanh",  "trunc", "round", NULL};
  const gemel__pterms *t = &w->s->terms;
  const char *name = t->nodes[a].name;
  gemel__pterm x = gemel__p_operand(t, a, 0),
               y = t->nodes[a].count > 1 ? gemel__p_operand(t, a, 1) : 0;
  int is_odd = is_one_of(name, odd);
  if (is_one_of(name, by_exp)) {
    return write_by_exp(w, name, x);
  }
  if (strcmp(name, "log") == 0) {
    return write_log(w, gathered(w, x));
  }
  if (strcmp(name, "log1p") == 0) {
    real_polynomial p =
        plus(w, polynomial_of(w, x, 0), (real_polynomial){gemel__p_number(&w->s->terms, 1), 1}, 1);
    return write_log(w, p.divisor != 0 ? element_from(w, p)
                                       : op(w, "add", w->written[x], number(w, 1)));
  }
  if (strcmp(name, "sqrt") == 0) {
    return write_sqrt(w, gathered(w, x));
  }
  if (strcmp(name, "pow") == 0) {
    return write_pow(w, x, y);
  }
  if (strcmp(name, "fmod") == 0 || strcmp(name, "mod") == 0) {
    return write_remainder(w, name, x, y);
  }
  gemel__pterm inverse = write_inverse(w, name, x);
  if (inverse != 0 || !(is_odd || strcmp(name, "cos") == 0)) {
    return inverse;
  }
  gemel__pterm of = write_symmetric(w, name, x, is_odd);
  if (of != 0 && (strcmp(name, "sin") == 0 || strcmp(name, "cos") == 0)) {
    gemel__pterm call = is_called(t, of, "neg") ? gemel__p_operand(t, of, 0) : of;
    lemma_of_circle(w, gemel__p_operand(t, call, 0));
  }
  return of;
}

/* Which of X and Y is larger, as a truth that is the same for all pairs that differ by as much, or
 * by the opposite: *LARGER if it holds, else *SMALLER, which at 0 are one. Y 0: the number 0. */
static gemel__pterm order_of(law_writer *w, gemel__pterm x, gemel__pterm y, gemel__pterm *larger,
                             gemel__pterm *smaller) {
  real_polynomial p = polynomial_of(w, x, 0);
  int64_t by = 1;
  *larger = w->written[x];
  *smaller = y != 0 ? w->written[y] : number(w, 0);
  p = y != 0 ? plus(w, p, polynomial_of(w, y, 0), -1) : p;
  if (p.divisor == 0) {
    return truth_of(w, "ge", *larger, *smaller);
  }
  addend_at(&w->s->terms, p.sum, 0, &by);
  if (by < 0) {
    gemel__pterm other = *larger;
    *larger = *smaller;
    *smaller = other;
    p = divided(w, p, -1, 1);
  }
  return truth_of(w, "ge", element_from(w, p), number(w, 0));
}

/* The same of two calls of one function that rises: it keeps the order of its operands. */
static gemel__pterm order_of_calls(law_writer *w, gemel__pterm x, gemel__pterm y,
                                   gemel__pterm *larger, gemel__pterm *smaller) {
  const gemel__pterms *t = &w->s->terms;
  gemel__pterm of_x = x, of_y = y;
  while (y != 0 && gemel__p_rises(t, of_x) && is_called(t, of_y, t->nodes[of_x].name)) {
    of_x = gemel__p_operand(t, of_x, 0);
    of_y = gemel__p_operand(t, of_y, 0);
  }
  gemel__pterm order = order_of(w, of_x, of_y, larger, smaller);
  if (of_x != x) {
    int swapped = *larger != w->written[of_x];
    *larger = w->written[swapped ? y : x];
    *smaller = w->written[swapped ? x : y];
  }
  return order;
}

/* By cases: what has a kink. 0: the call A hasn't. */
static gemel__pterm write_cases(law_writer *w, gemel__pterm a) {
  static const char *const kinks[] = {"abs", "relu", "maximum", "minimum", NULL};
  gemel__pterms *t = &w->s->terms;
  const char *name = t->nodes[a].name;
  if (!is_one_of(name, kinks)) {
    return 0;
  }
  gemel__pterm x = gemel__p_operand(t, a, 0), larger, smaller;
  gemel__pterm y = t->nodes[a].count > 1 ? gemel__p_operand(t, a, 1) : 0;
  gemel__pterm order = order_of_calls(w, x, y, &larger, &smaller);
  if (strcmp(name, "abs") == 0) {
    int opposite = larger != w->written[x];
    gemel__pterm same = w->written[x], negative = op(w, "neg", same, 0);
    return gemel__p_choose(t, order, opposite ? negative : same, opposite ? same : negative);
  }
  return strcmp(name, "minimum") == 0 ? gemel__p_choose(t, order, smaller, larger)
                                      : gemel__p_choose(t, order, larger, smaller);
}

/* ---- Whole terms ---- */

static int is_real(const gemel__pterms *t, gemel__pterm a) {
  gemel_dtype dtype;
  return gemel__psort_dtype(t->nodes[a].sort, &dtype) &&
         gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
}

/* Marks in WRITTEN, with itself, what A is made of; not what a fold is. */
static void mark(const gemel__pterms *t, gemel__pterm a, gemel__pterm *written) {
  written[a] = a;
  for (gemel__pterm k = a; k > 0; k--) {
    for (uint32_t i = 0;
         written[k] != 0 && t->nodes[k].kind != GEMEL__P_FOLD && i < t->nodes[k].count; i++) {
      written[gemel__p_operand(t, k, i)] = gemel__p_operand(t, k, i);
    }
  }
}

/* A with every call on reals written by WRITE. */
static void write_all(law_writer *w, gemel__pterm a,
                      gemel__pterm (*write)(law_writer *w, gemel__pterm a)) {
  gemel__pterms *t = &w->s->terms;
  mark(t, a, w->written);
  for (gemel__pterm k = 1; k <= a && !t->trouble; k++) {
    int changed = 0;
    for (uint32_t i = 0;
         w->written[k] != 0 && t->nodes[k].kind != GEMEL__P_FOLD && i < t->nodes[k].count; i++) {
      changed |= w->written[gemel__p_operand(t, k, i)] != gemel__p_operand(t, k, i);
    }
    if (w->written[k] != 0 && t->nodes[k].kind == GEMEL__P_CALL && t->nodes[k].count > 0 &&
        is_real(t, k) && is_real(t, gemel__p_operand(t, k, 0))) {
      w->sort = (gemel__pterm_sort)t->nodes[k].sort;
      w->written[k] = write(w, k);
      changed |= w->written[k] == 0;
    } else if (!changed) {
      continue;
    }
    if (w->written[k] == 0 || w->written[k] == k) {
      w->written[k] = gemel__p_with_operands(t, k, w->written);
    }
  }
}

/* Room for A to be written; the caller frees it with `end`. 1: memory is out. */
static int begin(law_writer *w, gemel__pscene *s, gemel__pterm a) {
  w->s = s;
  w->sort = gemel__psort_of(GEMEL_F32);
  w->written = gemel__alloc_zeroed(((size_t)a + 1) * sizeof *w->written);
  if (w->written == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
  }
  return w->written == NULL;
}

static void end(law_writer *w, gemel__pterm a) {
  gemel__free(w->written, ((size_t)a + 1) * sizeof *w->written);
}

static gemel__pterm written_by(gemel__pscene *s, gemel__pterm a,
                               gemel__pterm (*write)(law_writer *w, gemel__pterm a)) {
  law_writer w;
  if (a == 0 || begin(&w, s, a)) {
    return 0;
  }
  write_all(&w, a, write);
  gemel__pterm result = s->terms.trouble ? 0 : w.written[a];
  end(&w, a);
  return result;
}

gemel__pterm gemel__laws_write(gemel__pscene *s, gemel__pterm a) {
  return written_by(s, a, write_call);
}

gemel__pterm gemel__laws_cases(gemel__pscene *s, gemel__pterm a) {
  return written_by(s, a, write_cases);
}

/* 1 if A is made of something that IS is so of; not in a fold. */
static int has(gemel__pscene *s, gemel__pterm a,
               int (*is)(const gemel__pterms *t, gemel__pterm a)) {
  law_writer w;
  int found = 0;
  if (a == 0 || begin(&w, s, a)) {
    return 0;
  }
  mark(&s->terms, a, w.written);
  for (gemel__pterm k = 1; k <= a && !found; k++) {
    found = w.written[k] != 0 && is(&s->terms, k);
  }
  end(&w, a);
  return found;
}

static int is_transcendental(const gemel__pterms *t, gemel__pterm a) {
  static const char *const names[] = {"exp",     "log",  "log1p", "expm1", "tanh",
                                      "sigmoid", "sinh", "cosh",  "sqrt",  NULL};
  return t->nodes[a].kind == GEMEL__P_CALL && is_real(t, a) && is_one_of(t->nodes[a].name, names);
}

static int is_logarithm(const gemel__pterms *t, gemel__pterm a) {
  return t->nodes[a].kind == GEMEL__P_SYMBOL && strncmp(t->nodes[a].name, "log!", 4) == 0;
}

int gemel__laws_apply(gemel__pscene *s, gemel__pterm a) {
  return has(s, a, is_transcendental);
}

gemel__pterm gemel__laws_same(gemel__pscene *s, gemel__pterm a, gemel__pterm b) {
  law_writer w;
  gemel__pterm goal, last = a > b ? a : b;
  if (begin(&w, s, last)) {
    return 0;
  }
  write_all(&w, a, write_call);
  write_all(&w, b, write_call);
  w.sort = (gemel__pterm_sort)s->terms.nodes[a].sort;
  real_polynomial p = polynomial_of(&w, a, 0), q = polynomial_of(&w, b, 0);
  goal = gemel__p_same(&s->terms, w.written[a], w.written[b]);
  if (p.divisor != 0 && q.divisor != 0 &&
      (has(s, w.written[a], is_logarithm) || has(s, w.written[b], is_logarithm))) {
    goal = gemel__p_same(&s->terms, exponential(&w, p), exponential(&w, q));
  }
  end(&w, last);
  return s->terms.trouble ? 0 : goal;
}
