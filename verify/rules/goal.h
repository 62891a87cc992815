/* SPDX-License-Identifier: MIT
 *
 * Goals: a way in which the conditions of a rule can hold. `or` and `not` allow several ways, some
 * of which are rare. A goal is one of them, drawn at random, so that each is tried. It is a list of
 * atoms (conditions without `and`, `or` and `not`), and whether each is to hold.
 */
#ifndef GEMEL__RULES_GOAL_H
#define GEMEL__RULES_GOAL_H

#include "rules/rule.h"
#include "base/random.h"

typedef struct gemel__atom_goal {
  gemel__termexpr expr;
  int holds; /* 1: is to hold; 0: isn't to hold */
} gemel__atom_goal;

enum { GEMEL__GOAL_ATOMS = 64 };

typedef struct gemel__goal {
  size_t count;
  int arms; /* 1: there are several ways */
  gemel__atom_goal atoms[GEMEL__GOAL_ATOMS];
} gemel__goal;

void gemel__goal_draw(const struct gemel_rule *rule, gemel__random *random, gemel__goal *goal);

/* 1 if each atom holds, or doesn't, as the goal says, in SCENE, whose variables are bound; 0 if
 * not; −1: memory is out. */
int gemel__goal_met(const gemel__goal *goal, const gemel__scene *scene);

/* 1 if ATOM is a comparison, with its operator's row and its two sides; else 0. */
int gemel__goal_comparison(const gemel__atom_goal *atom, uint32_t *operator_row,
                           gemel__termexpr *left, gemel__termexpr *right);

/* Where the operand of EXPR begins whose codes end before END. */
uint32_t gemel__operand_start(const gemel__termexpr *expr, uint32_t end);

/* Codes FROM to TO, without TO, as an expression. */
gemel__termexpr gemel__part_of(const gemel__termexpr *expr, uint32_t from, uint32_t to);

#endif
