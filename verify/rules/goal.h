/* SPDX-License-Identifier: MIT
 *
 * Goals: what an instance of a rule should make of the rule's conditions. A condition with `or` and
 * `not` holds in several ways, of which some are rare; a goal is one of them, drawn at random, so
 * that each arm is aimed at in turn. It is a list of atoms, conditions without `and`, `or` and
 * `not`, with what each is to be.
 */
#ifndef GEMEL__RULES_GOAL_H
#define GEMEL__RULES_GOAL_H

#include "rules/rule.h"
#include "base/random.h"

typedef struct gemel__atom_goal {
  gemel__termexpr expr;
  int holds; /* 1: it is to hold; 0: it isn't to */
} gemel__atom_goal;

enum { GEMEL__GOAL_ATOMS = 64 };

typedef struct gemel__goal {
  size_t count;
  int arms; /* 1: there was a choice */
  gemel__atom_goal atoms[GEMEL__GOAL_ATOMS];
} gemel__goal;

void gemel__goal_draw(const struct gemel_rule *rule, gemel__random *random, gemel__goal *goal);

/* 1 if all atoms are what they are to be in SCENE, whose variables are bound; 0; or -1: memory is
 * out. */
int gemel__goal_met(const gemel__goal *goal, const gemel__scene *scene);

/* An atom that compares: 1, its operator's row, and both sides; else 0. */
int gemel__goal_comparison(const gemel__atom_goal *atom, uint32_t *operator_row,
                           gemel__termexpr *left, gemel__termexpr *right);

/* Where the operand of EXPR that ends before code END begins. */
uint32_t gemel__operand_start(const gemel__termexpr *expr, uint32_t end);

/* The codes FROM to TO, without TO, as an expression. */
gemel__termexpr gemel__part_of(const gemel__termexpr *expr, uint32_t from, uint32_t to);

#endif
