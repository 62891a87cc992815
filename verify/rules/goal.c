/* SPDX-License-Identifier: MIT
 *
 * Draws goals, see goal.h. A condition is a program for a stack machine. An operator follows its
 * operands, so conditions are read from the end. Recursion is as deep as the rule's text is nested,
 * which the parser limits.
 */
#include "rules/goal.h"

#include <string.h>
#include "rules/functions.h"

uint32_t gemel__operand_start(const gemel__termexpr *expr, uint32_t end) {
  uint32_t wanted = 1;
  while (wanted > 0 && end > 0) {
    const gemel__termcode *code = &expr->code[--end];
    int takes = code->kind == GEMEL__TERMCODE_FUNCTION || code->kind == GEMEL__TERMCODE_LIST;
    wanted += (takes ? code->count : 0u) - 1;
  }
  return end;
}

gemel__termexpr gemel__part_of(const gemel__termexpr *expr, uint32_t from, uint32_t to) {
  gemel__termexpr part = *expr;
  part.code += from;
  part.count = to - from;
  return part;
}

static int is_operator(const gemel__termexpr *expr, uint32_t end, uint32_t row) {
  const gemel__termcode *code = &expr->code[end - 1];
  return code->kind == GEMEL__TERMCODE_FUNCTION && code->index == row;
}

/* Draws a way in which the part of EXPR before END is true (HOLDS 1) or false (0). */
static void choose(const gemel__termexpr *expr, uint32_t end, int holds, gemel__random *random,
                   gemel__goal *goal) {
  int is_and = is_operator(expr, end, GEMEL__OPERATOR_logical_and);
  int is_or = is_operator(expr, end, GEMEL__OPERATOR_logical_or);
  if (is_operator(expr, end, GEMEL__OPERATOR_logical_not)) {
    choose(expr, end - 1, !holds, random, goal);
  } else if (is_and || is_or) {
    uint32_t middle = gemel__operand_start(expr, end - 1);
    if (is_and == holds) {
      choose(expr, middle, holds, random, goal);
      choose(expr, end - 1, holds, random, goal);
    } else { /* one operand is enough; the other is mostly made the opposite, so that only the first
                decides */
      int second = gemel__random_chance(random, 1, 2);
      goal->arms = 1;
      choose(expr, second ? end - 1 : middle, holds, random, goal);
      if (gemel__random_chance(random, 2, 3)) {
        choose(expr, second ? middle : end - 1, !holds, random, goal);
      }
    }
  } else if (goal->count < GEMEL__GOAL_ATOMS) {
    gemel__atom_goal *atom = &goal->atoms[goal->count++];
    atom->expr = gemel__part_of(expr, gemel__operand_start(expr, end), end);
    atom->holds = holds;
  }
}

void gemel__goal_draw(const struct gemel_rule *rule, gemel__random *random, gemel__goal *goal) {
  goal->count = 0;
  goal->arms = 0;
  for (uint32_t k = 0; k < rule->n_conditions; k++) {
    if (rule->conditions[k].count > 0) {
      choose(&rule->conditions[k], rule->conditions[k].count, 1, random, goal);
    }
  }
}

int gemel__goal_met(const gemel__goal *goal, const gemel__scene *scene) {
  int met = 1;
  for (size_t k = 0; k < goal->count && met == 1; k++) {
    gemel__term term;
    gemel_status status = gemel__term_evaluate(&goal->atoms[k].expr, scene, &term);
    int holds = status == GEMEL_OK && gemel__term_holds(&term);
    met = status == GEMEL_NO_MEMORY ? -1 : holds == goal->atoms[k].holds;
  }
  return met;
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
