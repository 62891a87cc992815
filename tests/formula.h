/*
 * Formulas for tests of domains: text such as "exp(x) * exp(-y)", evaluated on any domain while it
 * is read. Leaves are the one-letter names of formula_leaves; numbers are plain decimals.
 * Functions: exp log sqrt tanh floor abs sign relu, and of two arguments pow max min. Made for
 * short, right formulas: anything else ends the program.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_FORMULA_H
#define GEMEL_TESTS_FORMULA_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "domains/field.h"

/* A formula in x y z w (any), p q r (positive), a (one leaf shared by all elements of a tensor), u
 * (|u| < 1), v (v > −1), numbers, + - * / and functions; evaluated on a domain as it is
 * read. */
typedef struct formula {
  gemel__domain *d;
  const char *at;
  void *pool; /* elements: leaves first, then a stack */
  size_t top;
} formula;

static const char formula_leaves[] = "xyzwpqrauv";
enum { LEAVES = 10, POOL = 96 }; /* elements of a pool, leaves first */

static inline void *formula_push(formula *f) {
  if (f->top >= POOL)
    abort();
  return gemel__element(f->d, f->pool, f->top++);
}

static inline void *formula_sum(formula *f);

static inline void formula_absolute(gemel__domain *d, void *e) {
  int sign = d->sign(d, e);
  if (sign < 0)
    d->neg(d, e, e);
}

/* max: E or A, by the sign of the difference; the mean of both at a tie */
static inline void formula_larger(formula *f, void *e, const void *a, int direction) {
  gemel__domain *d = f->d;
  void *difference = formula_push(f);
  d->sub(d, difference, e, a);
  int sign = d->sign(d, difference) * direction;
  if (sign < 0)
    d->set(d, e, a);
  else if (sign == 0 && d->tie)
    d->tie(d, e, 2, (const void *const[]){e, a});
  f->top--;
}

static inline void *formula_call(formula *f, const char *name) {
  gemel__domain *d = f->d;
  void *e = formula_sum(f), *one;
  if (!strcmp(name, "exp")) {
    d->exp(d, e, e);
  } else if (!strcmp(name, "log")) {
    d->log(d, e, e);
  } else if (!strcmp(name, "sqrt")) {
    d->sqrt(d, e, e);
  } else if (!strcmp(name, "abs")) {
    formula_absolute(d, e);
  } else if (!strcmp(name, "floor")) {
    d->floor(d, e, e);
  } else if (!strcmp(name, "sign")) {
    d->from_integer(d, e, d->sign(d, e));
  } else if (!strcmp(name, "relu")) {
    one = formula_push(f);
    d->from_integer(d, one, 0);
    formula_larger(f, e, one, 1);
    f->top--;
  } else if (!strcmp(name, "tanh")) {
    one = formula_push(f);
    d->add(d, e, e, e);
    d->exp(d, e, e);
    d->from_integer(d, one, 1);
    void *above = formula_push(f);
    d->sub(d, above, e, one);
    d->add(d, one, e, one);
    d->div(d, e, above, one);
    f->top -= 2;
  } else if (!strcmp(name, "pow") || !strcmp(name, "max") || !strcmp(name, "min")) {
    f->at++;
    one = formula_sum(f);
    if (*name == 'p')
      d->pow(d, e, e, one);
    else
      formula_larger(f, e, one, name[1] == 'a' ? 1 : -1);
    f->top--;
  } else {
    abort();
  }
  return e;
}

static inline void *formula_atom(formula *f) {
  gemel__domain *d = f->d;
  while (*f->at == ' ')
    f->at++;
  if (*f->at == '-') {
    f->at++;
    void *e = formula_atom(f);
    d->neg(d, e, e);
    return e;
  }
  if (*f->at == '(') {
    f->at++;
    void *e = formula_sum(f);
    f->at++;
    return e;
  }
  if (isdigit((unsigned char)*f->at)) {
    char *end;
    void *e = formula_push(f);
    d->from_double(d, e, strtod(f->at, &end));
    f->at = end;
    return e;
  }
  char name[8] = "";
  for (size_t n = 0; isalpha((unsigned char)*f->at) && n < 7; n++)
    name[n] = *f->at++;
  if (*f->at != '(') {
    void *e = formula_push(f);
    d->set(d, e,
           gemel__element(d, f->pool, (size_t)(strchr(formula_leaves, *name) - formula_leaves)));
    return e;
  }
  f->at++;
  void *e = formula_call(f, name);
  f->at++;
  return e;
}

static inline void *formula_product(formula *f) {
  void *e = formula_atom(f);
  for (;;) {
    while (*f->at == ' ')
      f->at++;
    char op = *f->at;
    if (op != '*' && op != '/')
      return e;
    f->at++;
    void *y = formula_atom(f);
    (op == '*' ? f->d->mul : f->d->div)(f->d, e, e, y);
    f->top--;
  }
}

static inline void *formula_sum(formula *f) {
  void *e = formula_product(f);
  for (;;) {
    while (*f->at == ' ')
      f->at++;
    char op = *f->at;
    if (op != '+' && op != '-')
      return e;
    f->at++;
    void *y = formula_product(f);
    (op == '+' ? f->d->add : f->d->sub)(f->d, e, e, y);
    f->top--;
  }
}

/* Random leaves on domain F. */
static inline void draw_leaves(gemel__domain *d, void *pool) {
  for (size_t i = 0; i < LEAVES; i++) {
    gemel__field_leaf kind = i < 4 || i == 7 ? GEMEL__LEAF_ANY
                             : i < 7         ? GEMEL__LEAF_POSITIVE
                             : i == 8        ? GEMEL__LEAF_UNIT
                                             : GEMEL__LEAF_ABOVE_MINUS_ONE;
    gemel__field_random(d, gemel__element(d, pool, i), kind);
  }
}

/* Evaluates "left = right" in one trial on leaves that are drawn already: 1, 0 or −1. */
static inline int holds(gemel__domain *d, void *pool, const char *identity) {
  formula f = {d, identity, pool, LEAVES};
  void *left = formula_sum(&f);
  f.at++;
  void *right = formula_sum(&f);
  return d->equal(d, left, right);
}

#endif
