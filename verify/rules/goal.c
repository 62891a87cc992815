/* SPDX-License-Identifier: MIT
 *
 * Draws goals, see goal.h. A condition is a program for a stack machine. An operator follows its
 * operands, so conditions are read from the end. Recursion is as deep as the rule's text is nested,
 * which the parser limits.
 */
#include "rules/goal.h"

#include <string.h>
#include "rules/functions.h"

static void add_atom(gemel__goal *goal, gemel__termexpr expr, int holds) {
  if (goal->count < GEMEL__GOAL_ATOMS) {
    goal->atoms[goal->count++] = (gemel__atom_goal){expr, holds};
  }
}

/* Draws a way in which the part of EXPR before END is true (HOLDS 1) or false (0); through ARM if
 * that lies in this part, else ARM is NULL. */
static void choose(const gemel__termexpr *expr, uint32_t end, int holds, const gemel__arm *arm,
                   gemel__random *random, gemel__goal *goal) {
  int is_and = gemel__is_operator(expr, end, GEMEL__OPERATOR_logical_and);
  int is_or = gemel__is_operator(expr, end, GEMEL__OPERATOR_logical_or);
  arm = arm != NULL && arm->end == end ? NULL : arm;
  if (gemel__is_operator(expr, end, GEMEL__OPERATOR_logical_not)) {
    choose(expr, end - 1, !holds, arm, random, goal);
  } else if (is_and || is_or) {
    uint32_t ends[2] = {gemel__operand_start(expr, end - 1), end - 1};
    int through = arm == NULL ? (int)gemel__random_below(random, 2) : arm->end > ends[0];
    /* one operand is enough; the other is mostly made the opposite, so that only the first
     * decides */
    int both = is_and == holds;
    choose(expr, ends[through], holds, arm, random, goal);
    if (both || gemel__random_chance(random, 2, 3)) {
      choose(expr, ends[!through], both ? holds : !holds, NULL, random, goal);
    }
  } else {
    add_atom(goal, gemel__part_of(expr, gemel__operand_start(expr, end), end), holds);
  }
}

void gemel__goal_draw(const struct gemel_rule *rule, const gemel__arm *arm, gemel__random *random,
                      gemel__goal *goal) {
  goal->count = 0;
  if (arm != NULL && arm->number.count > 0) {
    add_atom(goal, arm->number, 1);
  }
  if (arm != NULL) {
    const gemel__termexpr *expr = &rule->conditions[arm->condition];
    choose(expr, expr->count, 1, arm, random, goal);
  }
  goal->n_own = goal->count;
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    const gemel__termexpr *expr = &rule->conditions[k];
    if (expr->count > 0 && (arm == NULL || arm->condition != k)) {
      choose(expr, expr->count, 1, NULL, random, goal);
    }
  }
}

int gemel__goal_comparison(const gemel__atom_goal *atom, uint32_t *operator_row,
                           gemel__termexpr *left, gemel__termexpr *right) {
  const gemel__termexpr *expr = &atom->expr;
  const gemel__termcode *code = &expr->code[expr->count - 1];
  uint32_t row = code->index, middle;
  if (code->kind != GEMEL__TERMCODE_FUNCTION || row < GEMEL__OPERATOR_eq ||
      row > GEMEL__OPERATOR_ge) {
    return 0;
  }
  middle = gemel__operand_start(expr, expr->count - 1);
  *left = gemel__part_of(expr, 0, middle);
  *right = gemel__part_of(expr, middle, expr->count - 1);
  *operator_row = row;
  return 1;
}

int gemel__termexpr_bound(const gemel__termexpr *expr, uint32_t bound) {
  uint32_t k = 0;
  while (k < expr->count &&
         (expr->code[k].kind != GEMEL__TERMCODE_VARIABLE || (bound >> expr->code[k].index & 1))) {
    k++;
  }
  return k == expr->count;
}

/* The operator for exchanged operands: < for >. */
static uint32_t mirrored(uint32_t row) {
  switch (row) {
  case GEMEL__OPERATOR_lt:
    return GEMEL__OPERATOR_gt;
  case GEMEL__OPERATOR_le:
    return GEMEL__OPERATOR_ge;
  case GEMEL__OPERATOR_gt:
    return GEMEL__OPERATOR_lt;
  case GEMEL__OPERATOR_ge:
    return GEMEL__OPERATOR_le;
  default:
    return row;
  }
}

int gemel__goal_compares(const gemel__atom_goal *atom, const gemel__scene *scene, uint32_t bound,
                         uint32_t function, int variable, uint32_t *row, double *number) {
  gemel__termexpr side[2];
  gemel__term term;
  if (!gemel__goal_comparison(atom, row, &side[0], &side[1])) {
    return 0;
  }
  for (int turn = 0; turn < 2; turn++) {
    uint32_t of_function;
    int of = gemel__termexpr_predicate(&side[turn], &of_function);
    if (of >= 0 && (of == variable || variable < 0) && of_function == function &&
        gemel__termexpr_bound(&side[!turn], bound) &&
        gemel__term_evaluate(&side[!turn], scene, &term) == GEMEL_OK &&
        (term.kind == GEMEL__TERM_REAL || term.kind == GEMEL__TERM_NUMBER)) {
      *number = term.kind == GEMEL__TERM_REAL ? term.u.real : (double)term.list[0].value;
      *row = turn ? mirrored(*row) : *row;
      return 1;
    }
  }
  return 0;
}
