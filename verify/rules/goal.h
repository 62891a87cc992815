/* SPDX-License-Identifier: MIT
 *
 * Goals: a way in which the conditions of a rule hold, at random or through an arm (arms.h). It is
 * a list of atoms (conditions without `and`, `or` and `not`), and whether each is to hold.
 */
#ifndef GEMEL__RULES_GOAL_H
#define GEMEL__RULES_GOAL_H

#include "rules/arms.h"
#include "base/random.h"

typedef struct gemel__atom_goal {
  gemel__termexpr expr;
  int holds; /* 1: is to hold; 0: isn't to hold */
} gemel__atom_goal;

enum { GEMEL__GOAL_ATOMS = 64 };

typedef struct gemel__goal {
  size_t count;
  size_t n_own; /* the first of them are of the condition that the arm is in */
  gemel__atom_goal atoms[GEMEL__GOAL_ATOMS];
} gemel__goal;

/* Draws a goal; through ARM unless that is NULL. */
void gemel__goal_draw(const struct gemel_rule *rule, const gemel__arm *arm, gemel__random *random,
                      gemel__goal *goal);

/* 1 if ATOM is a comparison, with its operator's row and its two sides; else 0. */
int gemel__goal_comparison(const gemel__atom_goal *atom, uint32_t *operator_row,
                           gemel__termexpr *left, gemel__termexpr *right);

/* 1 if BOUND has a bit for each variable of EXPR. */
int gemel__termexpr_bound(const gemel__termexpr *expr, uint32_t bound);

/* 1 if ATOM is `FUNCTION(v) OP number`, with *ROW and *NUMBER, where the number is known in SCENE,
 * whose variables with a bit in BOUND are. VARIABLE: v is this one; −1: any. */
int gemel__goal_compares(const gemel__atom_goal *atom, const gemel__scene *scene, uint32_t bound,
                         uint32_t function, int variable, uint32_t *row, double *number);

#endif
