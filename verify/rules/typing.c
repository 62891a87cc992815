/* SPDX-License-Identifier: MIT
 *
 * Dtypes of variables, see typing.h. An atom about the dtype of one variable is asked for each
 * dtype, as if the variable were that dtype: predicates such as float(x) take both.
 */
#include "rules/typing.h"

#include <string.h>
#include "core/context.h"
#include "core/rows.h"
#include "ops/ops.h"
#include "rules/functions.h"

enum { MOST_CODES = 24, ALL_DTYPES = (1 << GEMEL_DTYPE_COUNT) - 1 };

/* The variable whose dtype EXPR is about, with EXPR's codes but dtype(…) in CODES, *COUNT of them;
 * −1: EXPR is about something else too. */
static int about(const gemel__termexpr *expr, gemel__termcode *codes, uint32_t *count) {
  int variable = -1;
  *count = 0;
  for (uint32_t k = 0; k < expr->count; k++) {
    const gemel__termcode *code = &expr->code[k];
    if (code->kind == GEMEL__TERMCODE_VARIABLE) {
      if (variable >= 0 && variable != (int)code->index) {
        return -1;
      }
      variable = (int)code->index;
    }
    if (code->kind == GEMEL__TERMCODE_FUNCTION && code->index == GEMEL__FUNCTION_dtype) {
      continue;
    }
    if (*count == MOST_CODES) {
      return -1;
    }
    codes[(*count)++] = *code;
  }
  return variable;
}

/* The dtypes with which EXPR comes out as HOLDS says; all if it isn't about dtypes. */
static unsigned allowed_by(const gemel__termexpr *expr, int holds, const gemel__scene *scene,
                           int variable) {
  gemel__term terms[GEMEL__RULE_VARIABLES], result;
  gemel__scene typed = *scene;
  unsigned allowed = 0, asked = 0;
  memset(terms, 0, sizeof terms);
  typed.variables = terms;
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    terms[variable].kind = GEMEL__TERM_DTYPE;
    terms[variable].u.dtype = (gemel_dtype)k;
    if (gemel__term_evaluate(expr, &typed, &result) == GEMEL_OK &&
        result.kind != GEMEL__TERM_UNKNOWN) {
      asked = 1;
      allowed |= (unsigned)(gemel__term_holds(&result) == holds) << k;
    }
  }
  return asked ? allowed : ALL_DTYPES;
}

void gemel__variable_dtypes(const gemel__goal *goal, const gemel__scene *scene,
                            unsigned allowed[GEMEL__RULE_VARIABLES]) {
  for (int k = 0; k < GEMEL__RULE_VARIABLES; k++) {
    allowed[k] = ALL_DTYPES;
  }
  for (size_t k = 0; k < goal->count; k++) {
    gemel__termcode codes[MOST_CODES];
    gemel__termexpr expr = goal->atoms[k].expr;
    int variable = about(&goal->atoms[k].expr, codes, &expr.count);
    expr.code = codes;
    if (variable >= 0) {
      allowed[variable] &= allowed_by(&expr, goal->atoms[k].holds, scene, variable);
    }
  }
}

gemel_dtype gemel__dtype_among(unsigned allowed, gemel_dtype otherwise, gemel__random *random) {
  gemel_dtype dtype = otherwise;
  uint64_t found = 0;
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    if (allowed >> k & 1 && gemel__random_below(random, ++found) == 0) {
      dtype = (gemel_dtype)k;
    }
  }
  return dtype;
}

static int mixes(const gemel__op *op) {
  const gemel__scalar_row *row = gemel__scalar_row_of(&op->record);
  if (row != NULL) {
    return row->code >= GEMEL__TYPE_COMPARE;
  }
  switch (op->id) {
  case GEMEL__OP_take:
  case GEMEL__OP_put:
  case GEMEL__OP_argmax:
  case GEMEL__OP_argsort:
  case GEMEL__OP_searchsorted:
  case GEMEL__OP_cross_entropy:
  case GEMEL__OP_bitcast:
  case GEMEL__OP_invoke:
  case GEMEL__OP_scan:
    return 1;
  default:
    return 0;
  }
}

int gemel__mixes_dtypes(const struct gemel_rule *rule) {
  uint32_t k = 0, n = rule->left.count;
  while (k < n && (rule->left.nodes[k].kind != GEMEL__PATTERN_APPLY ||
                   !mixes(gemel__op_at(rule->context, rule->left.nodes[k].op)))) {
    k++;
  }
  return k < n;
}
