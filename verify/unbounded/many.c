/* SPDX-License-Identifier: MIT
 *
 * How many operands a variadic variable takes, and how many parts a split has: each number from the
 * least on is a scene of its own. What depends on such a number, or on the place of a part, can
 * only change where it passes a number that the rule's text makes, so they are gone through up to
 * two beyond the largest of these. That is at most the sum or the product of all numbers that are
 * written in such expressions, with one for each entry of a list and each operator. A condition
 * that is no more than a limit of these numbers isn't counted: what holds without it holds with it.
 * Where that is more than there are scenes for, the rule is open; so it is where such a number is
 * computed with one of axes, whose limits stand elsewhere.
 */
#include <math.h>
#include <string.h>
#include "core/context.h"
#include "rules/functions.h"
#include "unbounded/pull.h"

enum { BEYOND = 2, MOST = 8 };

/* What is written in a rule of how many there are. */
typedef struct many_numbers {
  unsigned char counts[GEMEL__RULE_VARIABLES]; /* the variable is the place of a part, or sizes */
  double sum, product;
  double others; /* entries of lists, and operators */
} many_numbers;

/* ---- Which expressions ---- */

/* Notes the variables in EXPR, which says of parts which or how large they are. */
static void note_variables(many_numbers *w, const gemel__termexpr *expr) {
  for (uint32_t k = 0; k < expr->count; k++) {
    if (expr->code[k].kind == GEMEL__TERMCODE_VARIABLE) {
      w->counts[expr->code[k].index] = 1;
    }
  }
}

static void note_side(many_numbers *w, const struct gemel_rule *rule,
                      const gemel__rule_side *side) {
  for (uint32_t k = 0; k < side->count; k++) {
    const gemel__pattern *p = &side->nodes[k];
    note_variables(w, &p->output);
    for (uint32_t i = 0; i < p->n_attrs; i++) {
      if (strcmp(gemel__op_at(rule->context, p->op)->record.attrs[i].name, "sizes") == 0) {
        note_variables(w, &p->attrs[i]);
      }
    }
  }
}

/* 1 if EXPR has to do with how many operands or parts there are. */
static int counts(const many_numbers *w, const gemel__termexpr *expr) {
  int any = 0;
  for (uint32_t k = 0; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k];
    any |= (code->kind == GEMEL__TERMCODE_VARIABLE && w->counts[code->index]) ||
           (code->kind == GEMEL__TERMCODE_FUNCTION && code->index == GEMEL__FUNCTION_count);
  }
  return any;
}

/* 1 if CONDITION is a limit that takes nothing from the scenes: one number, which is gone through
 * either to the limit or as without it; or several, added up, which are below it in each scene. */
static int is_limit(const gemel__termexpr *condition) {
  const gemel__termcode *code = condition->code;
  uint32_t n = condition->count;
  int64_t numbers = 0;
  int is = n > 2 && code[n - 1].kind == GEMEL__TERMCODE_FUNCTION &&
           code[n - 1].index == GEMEL__OPERATOR_le && code[n - 2].kind == GEMEL__TERMCODE_NUMBER;
  for (uint32_t k = 0; is && k + 2 < n; k++) {
    int function = code[k].kind == GEMEL__TERMCODE_FUNCTION;
    int counted = function && (code[k].index == GEMEL__FUNCTION_count ||
                               code[k].index == GEMEL__FUNCTION_length);
    numbers += counted;
    is = code[k].kind == GEMEL__TERMCODE_VARIABLE || counted ||
         (function && code[k].index == GEMEL__OPERATOR_add);
  }
  return is && (numbers == 1 || code[n - 2].value >= numbers * MOST);
}

/* ---- What is written ---- */

static void add_number(many_numbers *w, double number) {
  number = ceil(fabs(number));
  w->sum += number;
  w->product *= number > 1 ? number : 1;
}

/* 1 if CODE makes another number of its operands, or compares them. */
static int computes(const gemel__termcode *code) {
  static const unsigned char others[] = {
      GEMEL__FUNCTION_min,      GEMEL__FUNCTION_max,    GEMEL__FUNCTION_abs,
      GEMEL__FUNCTION_position, GEMEL__FUNCTION_places, GEMEL__FUNCTION_contains,
      GEMEL__FUNCTION_without,  GEMEL__FUNCTION_subset, GEMEL__FUNCTION_disjoint};
  int is = code->index >= GEMEL__OPERATOR_add && code->index < GEMEL__OPERATOR_logical_and;
  for (size_t k = 0; k < sizeof others && !is; k++) {
    is = code->index == others[k];
  }
  return code->kind == GEMEL__TERMCODE_FUNCTION && is;
}

static void add_code(many_numbers *w, const gemel__termcode *code) {
  switch (code->kind) {
  case GEMEL__TERMCODE_NUMBER:
    add_number(w, (double)code->value);
    break;
  case GEMEL__TERMCODE_REAL:
    add_number(w, code->real);
    break;
  case GEMEL__TERMCODE_LIST:
    w->others += code->count;
    break;
  case GEMEL__TERMCODE_FUNCTION: /* what bits() gives isn't written */
    w->others += code->index == GEMEL__FUNCTION_bits ? INFINITY : computes(code);
    break;
  default:
    break;
  }
}

/* 1 if EXPR, which has to do with how many there are, computes with numbers of axes, too. */
static int mixes(const struct gemel_rule *rule, const many_numbers *w,
                 const gemel__termexpr *expr) {
  int computed = 0, axes = 0;
  for (uint32_t k = 0; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k];
    computed |= computes(code);
    axes |= (code->kind == GEMEL__TERMCODE_FUNCTION && code->index == GEMEL__FUNCTION_rank) ||
            (code->kind == GEMEL__TERMCODE_VARIABLE && !w->counts[code->index] &&
             rule->variables[code->index].kind == GEMEL__TERM_ABSENT);
  }
  return computed && axes;
}

static void add_expression(const struct gemel_rule *rule, many_numbers *w,
                           const gemel__termexpr *expr) {
  w->others += mixes(rule, w, expr) ? INFINITY : 0;
  for (uint32_t k = 0; k < expr->count; k++) {
    add_code(w, &expr->code[k]);
  }
}

static void add_side(const struct gemel_rule *rule, many_numbers *w, const gemel__rule_side *side) {
  for (uint32_t k = 0; k < side->count; k++) {
    const gemel__pattern *p = &side->nodes[k];
    for (uint32_t i = 0; i < p->n_attrs; i++) {
      if (counts(w, &p->attrs[i])) {
        add_expression(rule, w, &p->attrs[i]);
      }
    }
    add_expression(rule, w, &p->output); /* which part, in numbers too */
  }
}

/* Two beyond the largest number that RULE's text makes; infinite or NaN where there is none. */
static double enough(const struct gemel_rule *rule) {
  many_numbers w = {.product = 1};
  note_side(&w, rule, &rule->left);
  note_side(&w, rule, &rule->right);
  add_side(rule, &w, &rule->left);
  add_side(rule, &w, &rule->right);
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    if (counts(&w, &rule->conditions[k]) && !is_limit(&rule->conditions[k])) {
      add_expression(rule, &w, &rule->conditions[k]);
    }
  }
  return (w.sum > 1 && w.product > w.sum ? w.product : w.sum) + w.others + BEYOND;
}

uint32_t gemel__pscene_how_many(gemel__pscene *s, uint32_t least, uint32_t usual) {
  double needed = enough(s->rule);
  int all = needed <= MOST;
  uint32_t most = !all ? MOST : needed < usual ? usual : (uint32_t)needed;
  uint32_t count = least + gemel__pscene_choose(s, most - least + 1);
  if (!all && count == MOST) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "parts or operands beyond %d", MOST);
  }
  return count;
}
