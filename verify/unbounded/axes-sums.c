/* SPDX-License-Identifier: MIT
 *
 * Rules of elementwise operations and reductions along one list of axes, or products along one pair
 * of such lists. Below the result nothing moves an element, so all reads of a variable agree on
 * axes that aren't reduced, and the axes that are can be made one (doc/ranks.md).
 */
#include <string.h>
#include "core/context.h"
#include "unbounded/axes.h"

enum { MOST_GROUPS = 4 };

/* ---- Expressions ---- */

/* 1 if the text is variable V, or a list of two lists of which one is. */
static int has_variable(const gemel__axes *x, uint32_t text, uint32_t v, int depth) {
  const gemel__axes_text *t = &x->texts[text];
  if (t->kind == GEMEL__TERMCODE_VARIABLE) {
    return t->index == v;
  }
  return t->kind == GEMEL__TERMCODE_LIST && t->count == 2 && depth > 0 &&
         (has_variable(x, t->operands[0], v, depth - 1) ||
          (depth == 1 && has_variable(x, t->operands[1], v, depth - 1)));
}

/* 1 if variable V is a list of axes that are reduced: of a product, the first pair of lists. */
static int is_reduced(const gemel__axes *x, uint32_t v) {
  int product = x->sorts[x->folded_of].how == GEMEL__AXES_PRODUCT;
  return has_variable(x, x->folded, v, product ? 2 : 0);
}

/* 1 if the codes from K are product(shape(x)[a]), of axes that are reduced: *K is behind. */
static int is_reduced_size(const gemel__axes *x, const gemel__termexpr *expr, uint32_t *k) {
  static const uint32_t rows[] = {GEMEL__FUNCTION_shape, GEMEL__OPERATOR_index,
                                  GEMEL__FUNCTION_product};
  const gemel__termcode *c = &expr->code[*k];
  if (*k + 5 > expr->count || c[0].kind != GEMEL__TERMCODE_VARIABLE ||
      c[2].kind != GEMEL__TERMCODE_VARIABLE) {
    return 0;
  }
  for (int i = 0; i < 3; i++) {
    const gemel__termcode *f = &c[i == 0 ? 1 : i + 2];
    if (f->kind != GEMEL__TERMCODE_FUNCTION || f->index != rows[i]) {
      return 0;
    }
  }
  *k += is_reduced(x, c[2].index) ? 5 : 0;
  return is_reduced(x, c[2].index);
}

/* What asks nothing of single axes. */
static int is_plain_row(uint32_t row) {
  static const uint32_t others[] = {
      GEMEL__FUNCTION_shape,       GEMEL__FUNCTION_elements, GEMEL__FUNCTION_broadcast_shape,
      GEMEL__FUNCTION_range,       GEMEL__FUNCTION_concat,   GEMEL__FUNCTION_without,
      GEMEL__FUNCTION_inverse,     GEMEL__FUNCTION_sorted,   GEMEL__FUNCTION_repeat,
      GEMEL__FUNCTION_replace,     GEMEL__FUNCTION_insert,   GEMEL__FUNCTION_remove,
      GEMEL__FUNCTION_position,    GEMEL__FUNCTION_places,   GEMEL__FUNCTION_axes,
      GEMEL__FUNCTION_product,     GEMEL__FUNCTION_total,    GEMEL__FUNCTION_contains,
      GEMEL__FUNCTION_subset,      GEMEL__FUNCTION_disjoint, GEMEL__FUNCTION_distinct,
      GEMEL__FUNCTION_permutation, GEMEL__FUNCTION_identity, GEMEL__OPERATOR_index};
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    if (others[k] == row) {
      return 0;
    }
  }
  return 1;
}

/* 1 if EXPR looks at axes by their number, and at sizes by their product, only. */
static int is_plain(const gemel__axes *x, const gemel__termexpr *expr) {
  for (uint32_t k = 0; k < expr->count;) {
    const gemel__termcode *c = &expr->code[k];
    if (is_reduced_size(x, expr, &k)) {
      continue;
    }
    int counted = k + 1 < expr->count && expr->code[k + 1].kind == GEMEL__TERMCODE_FUNCTION &&
                  expr->code[k + 1].index == GEMEL__FUNCTION_length;
    int kind = c->kind == GEMEL__TERMCODE_VARIABLE ? x->variables[c->index].kind : 0;
    if (c->kind == GEMEL__TERMCODE_LIST || (kind == GEMEL__AXES_IS_LIST && !counted) ||
        kind == GEMEL__AXES_IS_NUMBER ||
        (c->kind == GEMEL__TERMCODE_FUNCTION && !is_plain_row(c->index))) {
      return 0;
    }
    k++;
  }
  return 1;
}

/* ---- Operations ---- */

static int is_list_variable(const gemel__axes *x, const gemel__termexpr *expr) {
  int variable = gemel__termexpr_variable(expr);
  return variable >= 0 && x->variables[variable].kind == GEMEL__AXES_IS_LIST;
}

/* Attributes are plain, but for the lists of axes of reductions and products, which are variables.
 */
static int has_plain_attributes(const gemel__axes *x, const gemel__op *op,
                                const gemel__pattern *p) {
  static const char *const lists[] = {"axes",    "contract_x", "contract_y",
                                      "batch_x", "batch_y",    NULL};
  for (uint32_t k = 0; k < p->n_attrs; k++) {
    int list = 0;
    for (int i = 0; lists[i] != NULL; i++) {
      list |= strcmp(op->record.attrs[k].name, lists[i]) == 0;
    }
    if (list ? p->attrs[k].count > 0 && !is_list_variable(x, &p->attrs[k])
             : !is_plain(x, &p->attrs[k])) {
      return 0;
    }
  }
  return 1;
}

/* 1 if all operands of P with axes have the same ones. */
static int operands_alike(gemel__axes *x, const uint16_t *sorts, const gemel__pattern *p) {
  uint16_t all = 0;
  for (uint32_t k = 0; k < p->n_operands; k++) {
    uint16_t sort = sorts[p->operands[k]];
    if (gemel__axes_count(x, sort) != 0) {
      if (gemel__axes_count(x, all) != 0 && !gemel__axes_same(x, all, sort)) {
        return 0;
      }
      all = sort;
    }
  }
  return 1;
}

static int is_one_of(const char *name, const char *const *names) {
  while (*names != NULL && strcmp(*names, name) != 0) {
    names++;
  }
  return *names != NULL;
}

static int is_plain_side(gemel__axes *x, const gemel__rule_side *side, const uint16_t *sorts) {
  static const char *const reductions[] = {"sum", "prod", "max", "dot", "size", NULL};
  for (uint32_t k = 0; k < side->count; k++) {
    const gemel__pattern *p = &side->nodes[k];
    if (p->kind == GEMEL__PATTERN_VARIADIC) {
      return 0;
    }
    if (p->kind != GEMEL__PATTERN_APPLY) {
      continue;
    }
    const gemel__op *op = gemel__op_at(x->rule->context, p->op);
    int elementwise = (op->record.flags & GEMEL_OP_ELEMENTWISE) != 0;
    if ((!elementwise && !is_one_of(op->record.name, reductions)) ||
        (elementwise && !operands_alike(x, sorts, p)) || !has_plain_attributes(x, op, p)) {
      return 0;
    }
  }
  return 1;
}

/* ---- Classes of axes ---- */

/* Groups of variables, of the axes SORT, that are known to have one shape. */
static int groups_of(gemel__axes *x, uint16_t sort) {
  int groups = 0;
  uint16_t shapes[MOST_GROUPS + 1];
  for (uint32_t k = 0; k < x->rule->n_variables && groups <= MOST_GROUPS; k++) {
    const gemel__axes_value *v = &x->variables[k];
    int seen = 0;
    if (v->kind != GEMEL__AXES_IS_TENSOR || !gemel__axes_same(x, v->of, sort)) {
      continue;
    }
    for (int i = 0; i < groups; i++) {
      seen |= x->shapes[shapes[i]] == x->shapes[k];
    }
    if (!seen) {
      shapes[groups++] = (uint16_t)k;
    }
  }
  return groups;
}

/* In how many ways sizes of 1 and others can meet in GROUPS shapes. */
static int ways_of(int groups) {
  return groups > 1 ? (1 << groups) - 1 : 1;
}

int gemel__axes_of_sums(gemel__axes *x) {
  const struct gemel_rule *rule = x->rule;
  if (x->folds == 0 || x->singles > 0 || x->different ||
      !is_plain_side(x, &rule->left, x->sides[0]) || !is_plain_side(x, &rule->right, x->sides[1])) {
    return -1;
  }
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    if (!is_plain(x, &rule->conditions[k])) {
      return -1;
    }
  }
  const gemel__axes_sort *s = &x->sorts[gemel__axes_find(x, x->folded_of)];
  if (s->how != GEMEL__AXES_PRODUCT) {
    int groups = groups_of(x, x->folded_of);
    return groups > MOST_GROUPS ? -1 : ways_of(groups);
  }
  int a = groups_of(x, s->a), b = groups_of(x, s->b);
  return a > MOST_GROUPS || b > MOST_GROUPS ? -1 : ways_of(a) * ways_of(b);
}
