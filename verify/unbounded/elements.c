/* SPDX-License-Identifier: MIT
 *
 * What conditions say of dtypes and of elements. Where elements have no dtype nothing is known, and
 * the answer is free. A fact such as positive(x) is a free truth too, from which follows what it
 * says of each element of x that is read: that gemel doesn't know it teaches nothing. The value of
 * a constant is an element: a number of f64 for floats, of i64 for integers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/dtype.h"
#include "unbounded/attribute.h"

/* ---- Dtypes ---- */

/* 1 and *DTYPE if that of V, a tensor or a dtype, is known. */
static int dtype_of(const gemel__pvalue *v, gemel_dtype *dtype) {
  return gemel__psort_dtype((int)(v->kind == GEMEL__PV_TENSOR ? v->tensors[0]->sort : v->sort),
                            dtype);
}

void gemel__meaning_promote(const gemel__pcall *c) {
  gemel_dtype a, b;
  c->out->kind = GEMEL__PV_DTYPE;
  if (dtype_of(&c->in[0], &a) && dtype_of(&c->in[1], &b)) {
    c->out->sort = gemel__psort_of(gemel_promote(a, b));
    c->out->name = gemel_dtype_name(gemel_promote(a, b));
  } else {
    gemel__pscene_stop(c->s, GEMEL__P_OPEN, "promote() of dtypes that aren't known");
  }
}

/* ---- Facts ---- */

void gemel__meaning_constant(const gemel__pcall *c) {
  give_free(c);
}

void gemel__meaning_splat(const gemel__pcall *c) {
  give_free(c);
}

/* The truth NAME is so of the operand's elements, if it is a variable. */
static void give_fact(const gemel__pcall *c, const char *name) {
  const gemel__ptensor *x = c->in[0].tensors[0];
  gemel_dtype dtype;
  give_free(c);
  if (x->pull == NULL && gemel__psort_dtype((int)x->sort, &dtype)) {
    gemel__pscene_fact(c->s, x->name, x->sort, name, c->out->list[0]);
  }
}

void gemel__meaning_nonnegative(const gemel__pcall *c) {
  give_fact(c, "nonnegative");
}

void gemel__meaning_positive(const gemel__pcall *c) {
  give_fact(c, "positive");
}

void gemel__meaning_nonzero(const gemel__pcall *c) {
  give_fact(c, "nonzero");
}

void gemel__meaning_not_nan(const gemel__pcall *c) {
  give_fact(c, "not_nan");
}

void gemel__meaning_finite(const gemel__pcall *c) {
  give_fact(c, "finite");
}

/* ---- Values ---- */

static gemel__pterm call(const gemel__pcall *c, gemel_dtype dtype, const char *name, uint32_t n,
                         const gemel__pterm *operands) {
  return gemel__p_call(&c->s->terms, gemel__psort_of(dtype), name, 0, n, operands);
}

static gemel__pterm literal(const gemel__pcall *c, gemel_dtype dtype, const char *text) {
  return gemel__p_literal(&c->s->terms, gemel__psort_of(dtype), text);
}

/* The truth that NAME is so of two numbers of DTYPE. */
static gemel__pterm truth(const gemel__pcall *c, const char *name, gemel__pterm a, gemel__pterm b) {
  const gemel__pterm both[2] = {a, b};
  gemel__pterm is = call(c, GEMEL_BOOL, name, 2, both);
  return gemel__p_call(&c->s->terms, GEMEL__PSORT_TRUTH, "truth", 0, 1, &is);
}

static void give_element(const gemel__pcall *c, gemel__pterm element) {
  c->out->kind = GEMEL__PV_REAL;
  c->out->count = element != 0;
  c->out->list[0] = element;
}

/* Over the reals there are no infinities, and nothing is known of one. */
void gemel__give_real_value(const gemel__pcall *c, double value) {
  char text[40];
  int known =
      c->s->pass == GEMEL__PASS_BITS || (c->s->pass == GEMEL__PASS_VALUES && value - value == 0);
  snprintf(text, sizeof text, "%.17g", value);
  give_element(c, known ? literal(c, GEMEL_F64, text) : 0);
}

/* A constant has a value where gemel can tell: integers beyond 2^53 have none. */
void gemel__meaning_value(const gemel__pcall *c) {
  const gemel__ptensor *x = c->in[0].tensors[0];
  gemel_dtype dtype;
  give_element(c, 0);
  if (x->pull != NULL || x->is_number || !x->uniform || !gemel__psort_dtype((int)x->sort, &dtype)) {
    return;
  }
  int is_float = gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
  gemel_dtype to = is_float ? GEMEL_F64 : GEMEL_I64;
  gemel__pterm element = gemel__p_call(&c->s->terms, x->sort, x->name, 0, 0, NULL);
  gemel__pterm value = dtype == to ? element : call(c, to, "cast", 1, &element);
  if (!is_float) {
    const char *least = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED ? "-9007199254740991" : "0";
    gemel__pscene_assume(c->s, truth(c, "le", literal(c, to, least), value), 0);
    gemel__pscene_assume(c->s, truth(c, "le", value, literal(c, to, "9007199254740991")), 0);
  }
  give_element(c, value);
}

/* V as a number of the dtype of OTHER, a value; 0: there is none. */
static gemel__pterm as_value(const gemel__pcall *c, const gemel__pvalue *v,
                             const gemel__pvalue *other) {
  char text[40];
  int64_t number;
  gemel_dtype dtype;
  if (v->kind == GEMEL__PV_REAL && v->count == 1) {
    return v->list[0];
  }
  if (other->kind != GEMEL__PV_REAL || other->count != 1 || v->kind != GEMEL__PV_INTEGER ||
      !gemel__p_is_number(&c->s->terms, v->list[0], &number)) {
    return 0;
  }
  gemel__psort_dtype(c->s->terms.nodes[other->list[0]].sort, &dtype);
  snprintf(text, sizeof text, "%lld", (long long)number);
  return literal(c, dtype, text);
}

static int values_of(const gemel__pcall *c, const gemel__pvalue *a, const gemel__pvalue *b,
                     gemel__pterm *both) {
  both[0] = as_value(c, a, b);
  both[1] = as_value(c, b, a);
  return both[0] != 0 && both[1] != 0 &&
         c->s->terms.nodes[both[0]].sort == c->s->terms.nodes[both[1]].sort;
}

/* 1 if X is a number of the float DTYPE. */
static int fits(gemel_dtype dtype, double x) {
  float single = (float)x;
  float half = dtype == GEMEL_F16    ? gemel__f16_to_f32(gemel__f32_to_f16(single))
               : dtype == GEMEL_BF16 ? gemel__bf16_to_f32(gemel__f32_to_bf16(single))
                                     : single;
  return dtype == GEMEL_F64 || (single == x && half == single);
}

/* The float that A was before a cast to f64 that is of DTYPE, or is in f64 too; else 0. */
static gemel__pterm before_cast(const gemel__pcall *c, gemel__pterm a, gemel_dtype dtype) {
  gemel__pterms *t = &c->s->terms;
  const gemel__pterm_node *n = &t->nodes[a];
  if (n->kind != GEMEL__P_CALL) {
    return 0;
  }
  if (n->value == 2) {
    return fits(dtype, strtod(n->name, NULL)) ? literal(c, dtype, n->name) : 0;
  }
  return n->count == 1 && strcmp(n->name, "cast") == 0 &&
                 t->nodes[gemel__p_operand(t, a, 0)].sort == gemel__psort_of(dtype)
             ? gemel__p_operand(t, a, 0)
             : 0;
}

/* Casts to f64 keep the order: what both numbers were in a narrower dtype says the same, and asks
 * less. */
static void narrow(const gemel__pcall *c, gemel__pterm *both) {
  for (int dtype = GEMEL_F16; dtype < GEMEL_F64 && c->s->pass == GEMEL__PASS_BITS; dtype++) {
    gemel__pterm a = before_cast(c, both[0], (gemel_dtype)dtype);
    gemel__pterm b = before_cast(c, both[1], (gemel_dtype)dtype);
    if (a != 0 && b != 0) {
      both[0] = a;
      both[1] = b;
      return;
    }
  }
}

void gemel__compare_values(const gemel__pcall *c, const char *name) {
  gemel__pterm both[2];
  if (values_of(c, &c->in[0], &c->in[1], both)) {
    narrow(c, both);
    give_truth(c, truth(c, name, both[0], both[1]));
  } else {
    give_free(c);
  }
}

/* Sums and products of integers that aren't wrapped aren't known here, nor are those of f64 that
 * are rounded where floats are reals. */
void gemel__combine_values(const gemel__pcall *c, const char *name) {
  gemel__pterm both[2];
  const gemel__pvalue *second = &c->in[c->n > 1 ? 1 : 0];
  int known = values_of(c, &c->in[0], second, both);
  gemel_dtype dtype = GEMEL_I64;
  if (known) {
    gemel__psort_dtype(c->s->terms.nodes[both[0]].sort, &dtype);
  }
  known &= c->n == 1 || (dtype == GEMEL_F64 && c->s->pass == GEMEL__PASS_BITS);
  give_element(c, known ? call(c, dtype, name, c->n, both) : 0);
}

void gemel__meaning_power_of_two(const gemel__pcall *c) {
  gemel__pterm value =
      c->in[0].kind == GEMEL__PV_REAL && c->in[0].count == 1 ? c->in[0].list[0] : 0;
  if (value == 0) {
    give_free(c);
  } else {
    give_truth(c, gemel__p_call(&c->s->terms, GEMEL__PSORT_TRUTH, "power_of_two", 0, 1, &value));
  }
}
