/* SPDX-License-Identifier: MIT
 *
 * How the functions of attribute expressions are called in a scene, and what they share.
 */
#ifndef GEMEL__UNBOUNDED_ATTRIBUTE_H
#define GEMEL__UNBOUNDED_ATTRIBUTE_H

#include "rules/functions.h"
#include "unbounded/scene.h"

/* A call of a row of functions.def: N operands IN, and where the value goes. */
typedef struct gemel__pcall {
  gemel__pscene *s;
  const gemel__pvalue *in;
  uint32_t n;
  gemel__pvalue *out;
} gemel__pcall;

/* ---- Values ---- */

static inline void give_integer(const gemel__pcall *c, gemel__pterm value) {
  c->out->kind = GEMEL__PV_INTEGER;
  c->out->count = 1;
  c->out->list[0] = value;
}

static inline void give_number(const gemel__pcall *c, int64_t value) {
  give_integer(c, gemel__p_number(&c->s->terms, value));
}

static inline void give_truth(const gemel__pcall *c, gemel__pterm truth) {
  c->out->kind = GEMEL__PV_TRUTH;
  c->out->count = 1;
  c->out->list[0] = truth;
}

static inline void give_known(const gemel__pcall *c, int is_so) {
  give_truth(c, gemel__p_truth(&c->s->terms, is_so));
}

static inline void give_free(const gemel__pcall *c) {
  give_truth(c, gemel__pscene_free_truth(c->s));
}

static inline void give_list(const gemel__pcall *c) {
  c->out->kind = GEMEL__PV_LIST;
  c->out->count = 0;
}

static inline void append(const gemel__pcall *c, gemel__pterm entry) {
  if (c->out->count == GEMEL__PLIST) {
    gemel__pscene_stop(c->s, GEMEL__P_OPEN, "a list of more than %d entries", GEMEL__PLIST);
    return;
  }
  c->out->list[c->out->count++] = entry;
}

/* 1 if a list may have COUNT entries; else the scene ends. */
static inline int is_short(const gemel__pcall *c, int64_t count) {
  if (count > GEMEL__PLIST) {
    gemel__pscene_stop(c->s, GEMEL__P_OPEN, "a list of more than %d entries", GEMEL__PLIST);
  }
  return count <= GEMEL__PLIST;
}

static inline void give_nothing(const gemel__pcall *c) {
  c->out->kind = GEMEL__PV_NO_VALUE;
  c->out->count = 0;
}

/* A number of which nothing is known. */
static inline void give_real_unknown(const gemel__pcall *c) {
  c->out->kind = GEMEL__PV_REAL;
  c->out->count = 0;
}

static inline int has_entries(const gemel__pvalue *v) {
  return v->kind == GEMEL__PV_INTEGER || v->kind == GEMEL__PV_LIST;
}

/* The entries of V as numbers: 1; where one isn't, the scene ends. */
static inline int numbers_of(const gemel__pcall *c, const gemel__pvalue *v, int64_t *numbers) {
  for (uint32_t k = 0; k < v->count; k++) {
    if (!has_entries(v) || !gemel__p_is_number(&c->s->terms, v->list[k], &numbers[k])) {
      gemel__pscene_stop(c->s, GEMEL__P_OPEN, "an axis that is a symbol");
      return 0;
    }
  }
  return has_entries(v);
}

static inline int number_of(const gemel__pcall *c, const gemel__pvalue *v, int64_t *number) {
  return v->count == 1 && numbers_of(c, v, number);
}

/* Entry K of V, a single number as often as needed. */
static inline gemel__pterm entry(const gemel__pvalue *v, uint32_t k) {
  return v->kind == GEMEL__PV_INTEGER ? v->list[0] : v->list[k];
}

/* How long an entry by entry operation of A and B is: *COUNT; 0 if their lengths differ. */
static inline int paired(const gemel__pvalue *a, const gemel__pvalue *b, uint32_t *count) {
  *count = a->kind == GEMEL__PV_LIST ? a->count : b->count;
  return has_entries(a) && has_entries(b) &&
         (a->kind != GEMEL__PV_LIST || b->kind != GEMEL__PV_LIST || a->count == b->count);
}

static inline int knows_equal(const gemel__pcall *c, gemel__pterm a, gemel__pterm b) {
  return gemel__pscene_knows(c->s, gemel__p_equal(&c->s->terms, a, b));
}

/* 1 if A is known to be an entry of LIST. */
static inline int knows_entry(const gemel__pcall *c, const gemel__pvalue *list, gemel__pterm a) {
  for (uint32_t k = 0; k < list->count; k++) {
    if (knows_equal(c, list->list[k], a)) {
      return 1;
    }
  }
  return 0;
}

static inline gemel__pterm product_of(const gemel__pcall *c, uint32_t count,
                                      const gemel__pterm *factors) {
  gemel__pterm product = gemel__p_number(&c->s->terms, 1);
  for (uint32_t k = 0; k < count; k++) {
    product = gemel__p_mul(&c->s->terms, product, factors[k]);
  }
  return product;
}

/* ---- Values of constants (elements.c) ---- */

void gemel__give_real_value(const gemel__pcall *c, double value);

/* Operation NAME of one operand or two, of which one is a value; what can't be said is a number of
 * which nothing is known, or a free truth. */
void gemel__combine_values(const gemel__pcall *c, const char *name);
void gemel__compare_values(const gemel__pcall *c, const char *name);

/* ---- Meanings ---- */

#define FUNCTION(name, min, max, kinds, gives, summary)                                            \
  void gemel__meaning_##name(const gemel__pcall *c);
#define OPERATOR(name, min, max, kinds, gives, summary)                                            \
  FUNCTION(name, min, max, kinds, gives, summary)
#include "rules/functions.def"
#undef FUNCTION
#undef OPERATOR

#endif
