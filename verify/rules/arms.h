/* SPDX-License-Identifier: MIT
 *
 * Arms: the ways in which a condition of a rule can hold. `or`, a list in `contains` and `not` of
 * an `and` have several. A rule may be wrong in one of them that is rare, so each must be taken by
 * an instance. A boundary is where a comparison just holds, or just doesn't and another arm does: 4
 * and 5 for `n < 5 or ...`.
 */
#ifndef GEMEL__RULES_ARMS_H
#define GEMEL__RULES_ARMS_H

#include "rules/rule.h"

enum { GEMEL__MOST_ARMS = 64 };

typedef struct gemel__arm {
  uint32_t condition, end; /* the part of this condition whose codes end before END */
  int holds;               /* 1: that part holds; 0: it doesn't */
  uint32_t node, entry;    /* that part in the rule's syntax, and an entry of its list; 0: none */
  gemel__termexpr number;  /* holds as well: an entry of a list, or a boundary; count 0: none */
} gemel__arm;

typedef struct gemel__arms {
  const struct gemel_rule *rule;
  size_t count;                    /* arms, and then boundaries */
  size_t n_arms;                   /* of these: arms */
  gemel__arm at[GEMEL__MOST_ARMS]; /* more aren't looked at */
  gemel__arena arena;              /* holds the codes of NUMBER */
} gemel__arms;

/* Lists the arms and boundaries of RULE. GEMEL_OK or GEMEL_NO_MEMORY. Release with
 * gemel__arms_clear, after an error too. */
gemel_status gemel__arms_of(const struct gemel_rule *rule, gemel__arms *arms, gemel_error *error);
void gemel__arms_clear(gemel__arms *arms);

/* *TAKEN: which of them hold in SCENE, in which all conditions of the rule hold; a bit each.
 * *ALONE: of these, those without which the condition wouldn't hold. GEMEL_OK or GEMEL_NO_MEMORY.
 */
gemel_status gemel__arms_taken(const gemel__arms *arms, const gemel__scene *scene, uint64_t *taken,
                               uint64_t *alone);

/* Writes the text and the line of arm K into TEXT, shortened to fit. */
void gemel__arm_text(const gemel__arms *arms, size_t k, char *text, size_t bytes);

/* Writes the text and the line of condition K into TEXT, shortened to fit. */
void gemel__condition_text(const gemel__arms *arms, size_t k, char *text, size_t bytes);

/* Where the operand of EXPR begins whose codes end before END. */
uint32_t gemel__operand_start(const gemel__termexpr *expr, uint32_t end);

/* Codes FROM to TO, without TO, as an expression. */
gemel__termexpr gemel__part_of(const gemel__termexpr *expr, uint32_t from, uint32_t to);

/* 1 if the operator of the part of EXPR before END is ROW. */
int gemel__is_operator(const gemel__termexpr *expr, uint32_t end, uint32_t row);

#endif
