/* SPDX-License-Identifier: MIT
 *
 * Both sides of a rule as tensors, operation by operation in the order in which the rule is
 * compiled. On the left, variables that come for the first time get a rank or a structure by choice
 * (axes, permutations, how many sizes), and symbols for all that is a size or a number; on the
 * right all is bound, and attributes are computed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/dtype.h"
#include "core/number.h"
#include "core/rows.h"
#include "rules/functions.h"
#include "unbounded/bounds.h"
#include "unbounded/pull.h"

enum { MOST_ORDERS = 255, MANY_OPERANDS = 2, MANY_PARTS = 3 };

/* ---- Pieces ---- */

static void *room(gemel__pscene *s, size_t bytes) {
  void *p = gemel__arena_alloc(&s->arena, bytes);
  if (p == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
    return NULL;
  }
  memset(p, 0, bytes);
  return p;
}

static const char *text_of(gemel__pscene *s, const char *format, const char *a, const char *b) {
  char text[200];
  snprintf(text, sizeof text, format, a, b);
  const char *copy = gemel__arena_string(&s->arena, text);
  if (copy == NULL) {
    gemel__pscene_stop(s, GEMEL__P_FAILED, "memory is out");
  }
  return copy;
}

static gemel__pterm size_symbol(gemel__pscene *s, const char *name, int k) {
  char text[200];
  snprintf(text, sizeof text, "%s.%d", name, k);
  return gemel__p_symbol(&s->terms, GEMEL__PSORT_INTEGER, text);
}

/* A tensor of RANK axes whose sizes are symbols. */
static gemel__ptensor *symbolic_tensor(gemel__pscene *s, const char *name, int rank) {
  gemel__ptensor *t = room(s, sizeof *t);
  if (t == NULL || name == NULL) {
    return NULL;
  }
  t->name = name;
  t->dtype = name;
  t->sort = GEMEL__PSORT_ELEMENT;
  t->rank = rank;
  for (int k = 0; k < rank; k++) {
    t->shape[k] = size_symbol(s, name, k);
    gemel__pscene_assume(
        s, gemel__p_at_least(&s->terms, t->shape[k], gemel__p_number(&s->terms, 0)), 1);
  }
  return t;
}

static int choose_rank(gemel__pscene *s, int rank) {
  return rank >= 0 ? rank : (int)gemel__pscene_choose(s, (uint32_t)s->most_rank + 1);
}

static void bind_tensor(gemel__pscene *s, uint32_t variable, const gemel__ptensor *t) {
  gemel__pvalue *v = &s->variables[variable];
  v->kind = GEMEL__PV_TENSOR;
  v->count = 1;
  v->tensors[0] = t;
  s->bound[variable] = 1;
}

static gemel__pterm_sort choose_sort(gemel__pscene *s, gemel__pterm_sort sort) {
  return sort != 0 ? sort : gemel__pscene_choose_dtype(s);
}

/* RANK -1, SORT 0: any. */
static const gemel__ptensor *variable_tensor(gemel__pscene *s, uint32_t variable, int rank,
                                             gemel__pterm_sort sort) {
  if (!s->bound[variable]) {
    gemel__ptensor *t = symbolic_tensor(s, s->rule->variables[variable].name, choose_rank(s, rank));
    if (t == NULL) {
      return NULL;
    }
    t->uniform = s->uniform[variable];
    t->sort = choose_sort(s, sort);
    bind_tensor(s, variable, t);
  }
  const gemel__pvalue *v = &s->variables[variable];
  if (v->kind != GEMEL__PV_TENSOR || (rank >= 0 && v->tensors[0]->rank != rank) ||
      (!s->right && sort != 0 && v->tensors[0]->sort != sort)) {
    gemel__pull_refuse(s, "a variable of another rank or dtype");
    return NULL;
  }
  return v->tensors[0];
}

/* The dtype of an operand: what it is called, and the sort of its elements. */
typedef struct operand_type {
  const char *dtype;
  gemel__pterm_sort sort;
} operand_type;

/* X with the fewest digits that read back to it. */
static void say_shortest(double x, char *text, size_t bytes) {
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, bytes, "%.*g", digits, x);
    if (strtod(text, NULL) == x) {
      return;
    }
  }
}

/* NUMBER as a float of DTYPE. F32 alone stands for all floats, so there the right side's must be
 * one in f16 too. 1: there is none. */
static int say_float(gemel__pscene *s, const gemel__number *number, gemel_dtype dtype, char *text,
                     size_t bytes) {
  int alone = s->right && s->dtypes == 1u << GEMEL_F32;
  double asked = gemel__number_double(number), stored;
  unsigned char element[8] = {0};
  if (gemel__number_store(number, alone ? GEMEL_F16 : dtype, element) != GEMEL_OK) {
    return 1;
  }
  stored = gemel__dtype_load(alone ? GEMEL_F16 : dtype, element);
  if (stored - stored != 0 && (s->pass == GEMEL__PASS_VALUES || asked - asked == 0)) {
    return 1;
  }
  if (s->pass == GEMEL__PASS_VALUES) {
    say_shortest(alone ? asked : stored, text, bytes);
  } else {
    snprintf(text, bytes, "%.17g", stored);
  }
  return 0;
}

/* The decimal text of NUMBER as an element of DTYPE; 1: DTYPE has no such number. */
static int say_number(gemel__pscene *s, const gemel__number *number, gemel_dtype dtype, char *text,
                      size_t bytes) {
  unsigned char element[8] = {0};
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    return say_float(s, number, dtype, text, bytes);
  }
  if (gemel__number_store(number, dtype, element) != GEMEL_OK) {
    return 1;
  }
  gemel__number_format(dtype, element, text);
  return 0;
}

/* What a literal is called where elements have no dtype: its number, and what gives it one. */
static const char *literal_name(gemel__pscene *s, const gemel__number *number, const char *dtype,
                                const char *format) {
  char text[60];
  if (number->is_float) {
    snprintf(text, sizeof text, "%.17g", number->real);
  } else {
    snprintf(text, sizeof text, "%s%llu", number->negative ? "-" : "",
             (unsigned long long)number->magnitude);
  }
  return text_of(s, format, text, dtype);
}

/* 1 if F32 stands for all floats, not all of which have NUMBER as it is written. */
static int is_rounded(const gemel__pscene *s, const gemel__number *number, gemel_dtype dtype) {
  static const gemel_dtype narrow[] = {GEMEL_F16, GEMEL_BF16};
  double asked = gemel__number_double(number);
  unsigned char element[8] = {0};
  int rounded = 0;
  for (size_t k = 0; k < sizeof narrow / sizeof *narrow; k++) {
    rounded |= gemel__number_store(number, narrow[k], element) != GEMEL_OK ||
               gemel__dtype_load(narrow[k], element) != asked;
  }
  return rounded && s->pass == GEMEL__PASS_VALUES && dtype == GEMEL_F32 &&
         !(s->dtypes >> GEMEL_F64 & 1);
}

/* A literal. On the left any constant of that number matches, whatever its shape; a dtype that
 * can't hold it has no such constant, and on the right is an error. */
static const gemel__ptensor *literal_tensor(gemel__pscene *s, const gemel__pattern *p,
                                            const operand_type *type, int rank) {
  char number[60];
  gemel_dtype dtype;
  gemel__ptensor *t = symbolic_tensor(s, literal_name(s, &p->number, type->dtype, "%s#%s"),
                                      s->right ? 0 : choose_rank(s, rank));
  if (t == NULL) {
    return NULL;
  }
  t->name = literal_name(s, &p->number, type->dtype, "%s:%s");
  t->dtype = type->dtype;
  t->uniform = 1;
  if (s->pass != GEMEL__PASS_ANY && gemel__psort_dtype(type->sort, &dtype)) {
    if (say_number(s, &p->number, dtype, number, sizeof number)) {
      gemel__pull_refuse(s, "a number that its dtype can't hold");
      return NULL;
    }
    t->is_number = !is_rounded(s, &p->number, dtype);
    t->name = t->is_number ? text_of(s, "%s%s", number, "") : t->name;
    t->sort = type->sort;
  }
  return t;
}

/* The operands that `..xs` took. */
static void bind_variadic(gemel__pscene *s, uint32_t variable, int rank, gemel__pterm_sort sort) {
  gemel__pvalue *v = &s->variables[variable];
  char name[100];
  if (s->bound[variable]) {
    return;
  }
  v->kind = GEMEL__PV_TENSORS;
  v->count = gemel__pscene_how_many(s, 0, MANY_OPERANDS);
  s->bound[variable] = 1;
  for (uint32_t k = 0; k < v->count && s->flow == GEMEL__P_GO; k++) {
    snprintf(name, sizeof name, "%s_%u", s->rule->variables[variable].name, k);
    rank = choose_rank(s, rank);
    gemel__ptensor *t = symbolic_tensor(s, text_of(s, "%s%s", name, ""), rank);
    if (t != NULL) {
      t->sort = sort = choose_sort(s, sort);
    }
    v->tensors[k] = t;
  }
}

/* ---- Attributes of the left side ---- */

static void give_symbols(gemel__pscene *s, gemel__pvalue *v, const char *name, uint32_t count,
                         int plain) {
  v->kind = GEMEL__PV_LIST;
  v->count = count;
  for (uint32_t k = 0; k < count; k++) {
    v->list[k] = size_symbol(s, name, (int)k);
    if (plain) {
      gemel__pscene_plain_integer(s, v->list[k]);
    }
  }
}

/* Interiors are steps less 1, so that the step is one symbol. */
static void give_interiors(gemel__pscene *s, gemel__pvalue *v, const char *name, uint32_t count) {
  give_symbols(s, v, name, count, 1);
  for (uint32_t k = 0; k < count; k++) {
    gemel__pscene_assume(s, gemel__p_at_least(&s->terms, v->list[k], gemel__p_number(&s->terms, 1)),
                         0);
    v->list[k] = gemel__p_plus(&s->terms, v->list[k], -1);
  }
}

static void give_numbers(gemel__pscene *s, gemel__pvalue *v, uint32_t count, const int *numbers) {
  v->kind = GEMEL__PV_LIST;
  v->count = count;
  for (uint32_t k = 0; k < count; k++) {
    v->list[k] = gemel__p_number(&s->terms, numbers[k]);
  }
}

static void give_number(gemel__pscene *s, gemel__pvalue *v, int64_t number) {
  v->kind = GEMEL__PV_INTEGER;
  v->count = 1;
  v->list[0] = gemel__p_number(&s->terms, number);
}

/* Some of RANK axes, in ascending order. */
static void give_axes(gemel__pscene *s, gemel__pvalue *v, int rank) {
  uint32_t which = gemel__pscene_choose(s, 1u << rank);
  int axes[GEMEL__PAXES];
  uint32_t count = 0;
  for (int k = 0; k < rank; k++) {
    if (which >> k & 1) {
      axes[count++] = k;
    }
  }
  give_numbers(s, v, count, axes);
}

/* COUNT different ones (-1: any number) of the RANK axes that aren't USED, in any order. */
static void give_ordered_axes(gemel__pscene *s, gemel__pvalue *v, int rank, uint32_t used,
                              int count) {
  int axes[GEMEL__PAXES], free = 0, wanted;
  for (int k = 0; k < rank; k++) {
    free += !(used >> k & 1);
  }
  wanted = count >= 0 ? count : (int)gemel__pscene_choose(s, (uint32_t)free + 1);
  if (wanted > free) {
    gemel__pscene_stop(s, GEMEL__P_SKIP, "too few axes");
    return;
  }
  for (int k = 0; k < wanted; k++) {
    uint32_t at = gemel__pscene_choose(s, (uint32_t)(free - k));
    for (axes[k] = 0; used >> axes[k] & 1 || at > 0; axes[k]++) {
      at -= !(used >> axes[k] & 1);
    }
    used |= 1u << axes[k];
  }
  give_numbers(s, v, (uint32_t)wanted, axes);
}

/* A permutation of some of RANK axes, with new ones (-1) among them, as many as a tensor may have.
 */
static void give_order(gemel__pscene *s, gemel__pvalue *v, int rank) {
  gemel__pvalue kept = {0};
  uint32_t dropped = 0;
  for (int k = 0; k < rank; k++) {
    dropped |= gemel__pscene_choose(s, 2) << k;
  }
  int left = 0;
  for (int k = 0; k < rank; k++) {
    left += !(dropped >> k & 1);
  }
  give_ordered_axes(s, &kept, rank, dropped, left);
  uint32_t new =
      left <= s->most_rank ? gemel__pscene_choose(s, (uint32_t)(s->most_rank - left) + 1) : 0;
  v->kind = GEMEL__PV_LIST;
  v->count = 0;
  /* at each place the next kept axis or a new one */
  for (uint32_t k = 0, placed = 0; s->flow == GEMEL__P_GO && k < kept.count + new; k++) {
    uint32_t news_left = new - (k - placed);
    int is_new = placed == kept.count || (news_left > 0 && gemel__pscene_choose(s, 2) == 1);
    v->list[v->count++] = is_new ? gemel__p_number(&s->terms, -1) : kept.list[placed];
    placed += !is_new;
  }
}

static uint32_t bits_of(gemel__pscene *s, const gemel__pvalue *v) {
  uint32_t bits = 0;
  for (uint32_t k = 0; v->kind == GEMEL__PV_LIST && k < v->count; k++) {
    int64_t axis;
    if (gemel__p_is_number(&s->terms, v->list[k], &axis) && axis >= 0) {
      bits |= 1u << axis;
    }
  }
  return bits;
}

/* The axes of a product: those of x first; those of y are as many. */
static void give_product_axes(gemel__pscene *s, gemel__pvalue *v, const gemel__ptensor *t,
                              const char *name) {
  int of_y = name[strlen(name) - 1] == 'y', batch = name[0] == 'b';
  const gemel__pvalue *other = gemel__ptensor_attr(t, batch ? "batch_x" : "contract_x");
  const gemel__pvalue *contracted = gemel__ptensor_attr(t, of_y ? "contract_y" : "contract_x");
  uint32_t used = batch ? bits_of(s, contracted) : 0;
  if (!of_y && !batch) {
    give_axes(s, v, t->operands[0]->rank);
    return;
  }
  give_ordered_axes(s, v, t->operands[of_y]->rank, used, of_y ? (int)other->count : -1);
}

static int is_one_of(const char *name, const char *const *names) {
  while (*names != NULL && strcmp(name, *names) != 0) {
    names++;
  }
  return *names != NULL;
}

static void give_positives(gemel__pscene *s, gemel__pvalue *v, const char *name, uint32_t count) {
  give_symbols(s, v, name, count, 1);
  for (uint32_t k = 0; k < count; k++) {
    gemel__pscene_assume(s, gemel__p_at_least(&s->terms, v->list[k], gemel__p_number(&s->terms, 1)),
                         0);
  }
}

/* Attributes of convolutions: margins are given, or the kernel gives them; padding says which. 0:
 * it is another attribute. */
static int draw_of_conv(gemel__pscene *s, const gemel__ptensor *t, const gemel_attr_spec *spec,
                        const char *variable, gemel__pvalue *v) {
  const gemel__pvalue *low = gemel__ptensor_attr(t, "low");
  int backwards = strcmp(t->op->record.name, "corr") != 0;
  uint32_t axes = (uint32_t)t->operands[backwards]->rank - 2;
  if (axes > GEMEL__PAXES) {
    gemel__pscene_stop(s, GEMEL__P_SKIP, "an image without spatial axes");
  } else if (strcmp(spec->name, "stride") == 0 || strcmp(spec->name, "dilation") == 0) {
    give_positives(s, v, variable, axes);
  } else if (strcmp(spec->name, "image") == 0 || strcmp(spec->name, "kernel") == 0) {
    give_symbols(s, v, variable, axes, 0);
  } else if (strcmp(spec->name, "low") == 0 && gemel__pscene_choose(s, 2) == 1) {
    v->kind = GEMEL__PV_ABSENT;
  } else if (strcmp(spec->name, "high") == 0 && low->kind == GEMEL__PV_ABSENT) {
    v->kind = GEMEL__PV_ABSENT;
  } else if (strcmp(spec->name, "low") == 0 || strcmp(spec->name, "high") == 0) {
    give_symbols(s, v, variable, axes, 1);
  } else if (strcmp(spec->name, "padding") == 0) {
    int given = low->kind != GEMEL__PV_ABSENT;
    give_number(s, v,
                given ? GEMEL__PADDING_VALID
                      : GEMEL__PADDING_FULL + (int64_t)gemel__pscene_choose(s, 2));
    v->kind = GEMEL__PV_OTHER;
  } else if (strcmp(spec->name, "groups") == 0) {
    give_positives(s, v, variable, 1);
    v->kind = GEMEL__PV_INTEGER;
  } else {
    return 0;
  }
  return 1;
}

/* Attributes that are 0 or 1, which operations read as numbers. */
static int is_flag(const gemel_attr_spec *spec) {
  static const char *const flags[] = {"keepdims", "exclusive", "reverse", "descending",
                                      "flip",     "unshared",  NULL};
  return spec->kind == GEMEL_ATTR_INT && is_one_of(spec->name, flags);
}

/* What attribute NAME of the operation of T may be, of the variable VARIABLE. */
static void draw_attribute(gemel__pscene *s, const gemel__ptensor *t, const gemel_attr_spec *spec,
                           const char *variable, gemel__pvalue *v) {
  static const char *const sizes[] = {"start", "size", NULL}, *const numbers[] = {"low", "high",
                                                                                  "step", NULL};
  static const char *const products[] = {"contract_x", "contract_y", "batch_x", "batch_y", NULL};
  const gemel__ptensor *x = t->count > 0 ? t->operands[0] : NULL;
  uint32_t rank = x != NULL ? (uint32_t)x->rank : 0;
  int kind = spec->kind & ~GEMEL_ATTR_LIST, list = (spec->kind & GEMEL_ATTR_LIST) != 0;
  if (strncmp(t->op->record.name, "corr", 4) == 0 && draw_of_conv(s, t, spec, variable, v)) {
    return;
  }
  if (strcmp(spec->name, "order") == 0) {
    give_order(s, v, (int)rank);
  } else if (strcmp(spec->name, "axes") == 0) {
    give_axes(s, v, (int)rank);
  } else if (strcmp(spec->name, "axis") == 0) {
    give_number(s, v, gemel__pscene_choose(s, rank));
  } else if (is_one_of(spec->name, products)) {
    give_product_axes(s, v, t, spec->name);
  } else if (strcmp(spec->name, "shape") == 0) {
    give_symbols(s, v, variable, gemel__pscene_choose(s, (uint32_t)s->most_rank + 1), 0);
  } else if (strcmp(spec->name, "interior") == 0) {
    give_interiors(s, v, variable, rank);
  } else if (is_one_of(spec->name, sizes) || is_one_of(spec->name, numbers)) {
    give_symbols(s, v, variable, rank, is_one_of(spec->name, numbers));
  } else if (strcmp(spec->name, "sizes") == 0) {
    give_symbols(s, v, variable, gemel__pscene_how_many(s, 1, MANY_PARTS), 0);
  } else if (kind == GEMEL_ATTR_DIM && !list) { /* that of `size` may be below 0 */
    v->kind = GEMEL__PV_INTEGER;
    v->count = 1;
    v->list[0] = size_symbol(s, variable, 0);
  } else if (is_flag(spec)) {
    give_number(s, v, gemel__pscene_choose(s, 2));
  } else if (kind == GEMEL_ATTR_DTYPE && !list) {
    v->kind = GEMEL__PV_DTYPE;
    v->name = variable;
    v->sort = gemel__pscene_choose_dtype(s);
  } else {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "attribute %s of %s", spec->name, t->op->record.name);
  }
}

/* An attribute that the rule doesn't mention. */
static void give_fallback(gemel__pscene *s, const gemel__ptensor *t, const gemel_attr_spec *spec,
                          gemel__pvalue *v) {
  char *end = NULL;
  long long number = spec->fallback != NULL ? strtoll(spec->fallback, &end, 10) : 0;
  if (spec->fallback != NULL && strcmp(spec->fallback, "none") == 0) {
    v->kind = GEMEL__PV_ABSENT;
  } else if (spec->fallback != NULL && *spec->fallback != 0 && *end == 0) {
    give_number(s, v, number);
    if (number < 0 && strcmp(spec->name, "axis") == 0 && t->count > 0) {
      give_number(s, v, number + t->operands[0]->rank);
    }
  } else if (strcmp(spec->name, "padding") == 0) {
    give_number(s, v, GEMEL__PADDING_VALID);
    v->kind = GEMEL__PV_OTHER;
  } else if ((spec->kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_DTYPE && spec->fallback != NULL) {
    gemel_dtype dtype;
    v->kind = GEMEL__PV_DTYPE;
    v->name = spec->fallback;
    v->sort = s->pass != GEMEL__PASS_ANY && gemel_dtype_find(v->name, &dtype) == GEMEL_OK
                  ? gemel__psort_of(dtype)
                  : GEMEL__PSORT_ELEMENT;
  } else {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "attribute %s of %s", spec->name, t->op->record.name);
  }
}

/* A flag that is computed must be a number in the scene. What isn't 0 is 1. */
static void settle_flag(gemel__pscene *s, const gemel_attr_spec *spec, gemel__pvalue *v) {
  int64_t number;
  if (v->kind != GEMEL__PV_INTEGER || !gemel__p_is_number(&s->terms, v->list[0], &number)) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "%s that isn't known", spec->name);
  } else {
    give_number(s, v, number != 0);
  }
}

static void bind_attribute(gemel__pscene *s, const gemel__ptensor *t, const gemel__termexpr *expr,
                           const gemel_attr_spec *spec, gemel__pvalue *v) {
  int variable = gemel__termexpr_variable(expr);
  if (expr->count == 0) {
    give_fallback(s, t, spec, v);
  } else if (variable >= 0 && !s->bound[variable] && !s->right) {
    draw_attribute(s, t, spec, s->rule->variables[variable].name, v);
    s->variables[variable] = *v;
    s->bound[variable] = 1;
  } else {
    gemel__pscene_evaluate(s, expr, v);
  }
  if (s->flow == GEMEL__P_GO && v->kind == GEMEL__PV_NO_VALUE) {
    gemel__pscene_stop(s, GEMEL__P_SKIP, "an attribute without a value");
  }
  if (v->kind == GEMEL__PV_REAL) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "an attribute that is a value of elements");
  }
  if (v->kind == GEMEL__PV_INTEGER && (spec->kind & GEMEL_ATTR_LIST)) {
    v->kind = GEMEL__PV_LIST;
  } else if (v->kind == GEMEL__PV_LIST && !(spec->kind & GEMEL_ATTR_LIST)) {
    if (v->count != 1) {
      gemel__pscene_stop(s, s->right ? GEMEL__P_OPEN : GEMEL__P_SKIP, "a list for one number");
    }
    v->kind = GEMEL__PV_INTEGER;
  }
  if (s->flow == GEMEL__P_GO && is_flag(spec) && v->kind != GEMEL__PV_ABSENT) {
    settle_flag(s, spec, v);
  }
}

/* ---- Operations ---- */

/* The rank that operand K of an operation must have, where it isn't free: -1. */
static int wanted_rank(const gemel__ptensor *t, uint32_t k) {
  const char *name = t->op->record.name;
  static const char *const alike[] = {"join", "set_subtensor", "inc_subtensor", NULL};
  if (strcmp(name, "pad") == 0 && k == 1) {
    return 0;
  }
  return k > 0 && t->operands[0] != NULL && is_one_of(name, alike) ? t->operands[0]->rank : -1;
}

static int selects(const gemel__ptensor *t) {
  const gemel__scalar_row *row = gemel__scalar_row_of(&t->op->record);
  return row != NULL && row->code == GEMEL__TYPE_SELECT;
}

/* 1 if a condition of RULE names a dtype, or has a function that looks at one. */
static int looks_at_dtypes(const struct gemel_rule *rule) {
  int looks = 0;
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    const gemel__termexpr *e = &rule->conditions[k];
    for (uint32_t i = 0; i < e->count; i++) {
      looks |= e->code[i].kind == GEMEL__TERMCODE_DTYPE ||
               (e->code[i].kind == GEMEL__TERMCODE_FUNCTION &&
                strchr(gemel__function_rows[e->code[i].index].kinds, 'k') != NULL) ||
               (e->code[i].kind == GEMEL__TERMCODE_FUNCTION &&
                (e->code[i].index == GEMEL__FUNCTION_dtype ||
                 e->code[i].index == GEMEL__FUNCTION_same_type));
    }
  }
  return looks;
}

/* The dtype of indices and classes: the widest, a narrow and an unsigned one; where the rule looks
 * at dtypes, each that there is. */
static gemel__pterm_sort choose_index_sort(gemel__pscene *s) {
  static const gemel_dtype dtypes[] = {GEMEL_I64, GEMEL_I8,  GEMEL_U8,  GEMEL_I16,
                                       GEMEL_I32, GEMEL_U16, GEMEL_U32, GEMEL_U64};
  uint32_t n = looks_at_dtypes(s->rule) ? sizeof dtypes / sizeof *dtypes : 3;
  return gemel__psort_of(dtypes[gemel__pscene_choose(s, n)]);
}

/* The sort that operand K of T must have, where that isn't free: 0. */
static gemel__pterm_sort wanted_sort(gemel__pscene *s, const gemel__ptensor *t, uint32_t k) {
  const gemel__scalar_row *row = gemel__scalar_row_of(&t->op->record);
  static const char *const alike[] = {"join", "set_subtensor", "inc_subtensor", "pad", "dot", NULL};
  uint32_t like = selects(t) ? 1 : 0;
  if (s->pass == GEMEL__PASS_ANY) {
    return GEMEL__PSORT_ELEMENT;
  }
  if (row != NULL && (row->code == GEMEL__TYPE_LOGIC || k < like)) {
    return gemel__psort_of(GEMEL_BOOL);
  }
  if (strcmp(t->op->record.name, "cross_entropy") == 0 && k == 1 &&
      gemel__pscene_choose(s, 2) == 0) {
    return t->operands[0]->sort;
  }
  if (k == 1 && (strcmp(t->op->record.name, "take") == 0 ||
                 strcmp(t->op->record.name, "cross_entropy") == 0)) {
    return choose_index_sort(s);
  }
  int alike_here = row != NULL || is_one_of(t->op->record.name, alike);
  return k > like && alike_here && t->operands[like] != NULL ? t->operands[like]->sort : 0;
}

/* What is called the dtype of T's result: that of an operand where the operation says so. */
static const char *dtype_of(gemel__pscene *s, const gemel__ptensor *t) {
  const gemel__scalar_row *row = gemel__scalar_row_of(&t->op->record);
  static const char *const moves[] = {
      "dimshuffle", "reshape", "broadcast_to", "reverse",       "pad",
      "join",       "split",   "subtensor",    "set_subtensor", "inc_subtensor",
      "take",       "max",     "softmax",      "dot",           NULL};
  const gemel__pvalue *dtype = gemel__ptensor_attr(t, "dtype");
  if (dtype != NULL && dtype->kind == GEMEL__PV_DTYPE) {
    return dtype->name;
  }
  if (row != NULL && (row->code == GEMEL__TYPE_COMPARE || row->code == GEMEL__TYPE_LOGIC)) {
    return "bool";
  }
  if (t->count > 0 && (row != NULL || is_one_of(t->op->record.name, moves))) {
    return t->operands[row != NULL && row->code == GEMEL__TYPE_SELECT ? 1 : 0]->dtype;
  }
  if (strcmp(t->op->record.name, "fill") == 0) {
    return t->operands[1]->dtype;
  }
  return t->count > 0 ? text_of(s, "%s(%s)", t->op->record.name, t->operands[0]->dtype) : "i64";
}

/* Node P of a side, whose nodes before it are MADE; OUTER: what all its operands being literals,
 * they have. */
typedef struct operands_of {
  const gemel__rule_side *side;
  const gemel__pattern *p;
  const gemel__ptensor *const *made;
  operand_type outer;
} operands_of;

/* What gives a literal that is operand K of P its dtype: an operand that is none. */
static operand_type literal_type(gemel__pscene *s, const operands_of *o, const gemel__ptensor *t) {
  uint32_t first = selects(t) ? 1 : 0;
  operand_type type = o->outer;
  if (!s->right && strcmp(t->op->record.name, "fill") == 0) {
    return (operand_type){"fill", choose_sort(s, 0)}; /* of any dtype */
  }
  for (uint32_t k = t->count < first ? o->p->n_operands : first; k < o->p->n_operands; k++) {
    const gemel__pattern *other = &o->side->nodes[o->p->operands[k]];
    const gemel__ptensor *x = o->made[o->p->operands[k]];
    if (other->kind == GEMEL__PATTERN_VARIABLE) {
      x = variable_tensor(s, other->variable, -1, 0);
    }
    if (other->kind == GEMEL__PATTERN_VARIABLE || other->kind == GEMEL__PATTERN_APPLY) {
      return x == NULL ? type : (operand_type){x->dtype, x->sort};
    }
  }
  type.sort = t->count < first ? gemel__psort_of(GEMEL_BOOL) : choose_sort(s, type.sort);
  return type;
}

/* The next operand of T is what pattern node NODE is; variadic ones become several. */
static void set_operand(gemel__pscene *s, gemel__ptensor *t, const operands_of *o, uint32_t node) {
  const gemel__pattern *p = &o->side->nodes[node];
  const gemel__ptensor *made = o->made[node];
  if (p->kind == GEMEL__PATTERN_VARIADIC) {
    bind_variadic(s, p->variable, wanted_rank(t, t->count), wanted_sort(s, t, t->count));
    const gemel__pvalue *v = &s->variables[p->variable];
    if (t->count + v->count > GEMEL__PPARTS) {
      gemel__pscene_stop(s, GEMEL__P_OPEN, "too many operands");
      return;
    }
    for (uint32_t k = 0; k < v->count; k++) {
      t->operands[t->count++] = v->tensors[k];
    }
    return;
  }
  if (t->count == GEMEL__PPARTS) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "too many operands");
    return;
  }
  if (p->kind == GEMEL__PATTERN_VARIABLE) {
    made = variable_tensor(s, p->variable, wanted_rank(t, t->count), wanted_sort(s, t, t->count));
  } else if (p->kind == GEMEL__PATTERN_LITERAL) {
    const operand_type type = literal_type(s, o, t);
    made = literal_tensor(s, p, &type, wanted_rank(t, t->count));
  }
  t->operands[t->count++] = made;
}

/* T's sort, by its operation and the operands' sorts. */
static void set_sort(gemel__pscene *s, gemel__ptensor *t) {
  gemel_dtype dtype = t->pull->dtype != NULL ? t->pull->dtype(t) : gemel__pull_dtype(t, 0);
  t->sort = GEMEL__PSORT_ELEMENT;
  if (s->pass != GEMEL__PASS_ANY && dtype == GEMEL_DTYPE_COUNT) {
    gemel__pull_refuse(s, "dtypes that the operation refuses");
  } else if (s->pass != GEMEL__PASS_ANY) {
    t->sort = gemel__psort_of(dtype);
  }
}

static gemel__ptensor *apply(gemel__pscene *s, const operands_of *o) {
  const gemel__pattern *p = o->p;
  gemel__ptensor *t = room(s, sizeof *t);
  gemel__pvalue *attrs, output = {0};
  int64_t number = 0;
  if (t == NULL) {
    return NULL;
  }
  t->op = gemel__op_at(s->rule->context, p->op);
  t->pull = gemel__ppull_of(t->op);
  if (t->pull == NULL) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "no pull for %s", t->op->record.name);
    return NULL;
  }
  for (uint32_t k = 0; k < p->n_operands && s->flow == GEMEL__P_GO; k++) {
    set_operand(s, t, o, p->operands[k]);
  }
  t->attrs = attrs = room(s, (t->op->n_attrs + 1) * sizeof *attrs);
  for (size_t k = 0; k < t->op->n_attrs && s->flow == GEMEL__P_GO; k++) {
    bind_attribute(s, t, &p->attrs[k], &t->op->record.attrs[k], &attrs[k]);
  }
  if (p->any_output && s->flow == GEMEL__P_GO) {
    const gemel_attr_spec which = {"axis", GEMEL_ATTR_INT, "0"};
    const gemel__pvalue *parts = gemel__ptensor_attr(t, "sizes");
    const gemel__ptensor counted = {
        .op = t->op,
        .count = 1,
        .operands = {&(gemel__ptensor){.rank = parts != NULL ? (int)parts->count : 1}}};
    bind_attribute(s, &counted, &p->output, &which, &output);
    if (s->flow == GEMEL__P_GO && (parts == NULL || output.kind != GEMEL__PV_INTEGER ||
                                   !gemel__p_is_number(&s->terms, output.list[0], &number))) {
      gemel__pscene_stop(s, GEMEL__P_OPEN, "an output that isn't a number here");
    }
    t->output = (int)number;
  }
  if (s->flow == GEMEL__P_GO) {
    t->dtype = dtype_of(s, t);
    set_sort(s, t);
    t->pull->shape(s, t);
  }
  if (s->flow == GEMEL__P_GO && t->rank > GEMEL__PAXES) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "too many axes");
  }
  if (p->named > 0 && s->flow == GEMEL__P_GO) {
    bind_tensor(s, p->named - 1, t);
  }
  return t;
}

static gemel__ptensor *side_of(gemel__pscene *s, const gemel__rule_side *side, operand_type outer) {
  const gemel__ptensor *made[GEMEL__RULE_NODES] = {0};
  for (uint32_t k = 0; k < side->count && s->flow == GEMEL__P_GO; k++) {
    const gemel__pattern *p = &side->nodes[k];
    if (p->kind == GEMEL__PATTERN_APPLY) {
      made[k] = apply(s, &(operands_of){side, p, made, outer});
    } else if (k + 1 == side->count) {
      made[k] = p->kind == GEMEL__PATTERN_VARIABLE  ? variable_tensor(s, p->variable, -1, 0)
                : p->kind == GEMEL__PATTERN_LITERAL ? literal_tensor(s, p, &outer, 0)
                                                    : NULL;
    }
  }
  return s->flow == GEMEL__P_GO ? (gemel__ptensor *)made[side->count - 1] : NULL;
}

gemel__ptensor *gemel__pscene_left(gemel__pscene *s) {
  return side_of(s, &s->rule->left, (operand_type){"result", 0});
}

gemel__ptensor *gemel__pscene_right(gemel__pscene *s, const gemel__ptensor *left) {
  gemel__pscene_hold(s, left);
  return side_of(s, &s->rule->right, (operand_type){left->dtype, left->sort});
}
