/* SPDX-License-Identifier: MIT
 *
 * The outline of a left side: what operations and values must stand where. Most candidates fail
 * there, deeper down than the table of candidates looks, and an outline tells in a few steps,
 * without binding anything.
 */
#ifndef GEMEL__PASSES_OUTLINE_H
#define GEMEL__PASSES_OUTLINE_H

#include "passes/match.h"

/* One step. Slots hold values of the graph: slot 0 the root, each OPERAND fills the next one. */
typedef struct gemel__step {
  unsigned char kind; /* GEMEL__STEP_… */
  unsigned char slot; /* what it looks at */
  unsigned char with; /* SAME: another slot; OP: any number of outputs will do */
  uint32_t number;    /* OP: the operation; COUNT: how many; OPERAND: which */
} gemel__step;

enum {
  GEMEL__STEP_OPERAND, /* the next slot is operand NUMBER of SLOT */
  GEMEL__STEP_OP,      /* SLOT is made by operation NUMBER */
  GEMEL__STEP_COUNT,   /* what makes SLOT has NUMBER operands, beside sizes */
  GEMEL__STEP_SAME,    /* SLOT and WITH are one value */
  GEMEL__STEP_SPLAT,   /* operation NUMBER makes SLOT, or gemel__splat knows it */
  GEMEL__STEP_SCALAR,  /* SLOT has rank 0 */
  GEMEL__STEP_SINGLE   /* what makes SLOT is used once at most */
};

/* More steps than any left side takes. */
enum { GEMEL__OUTLINE_STEPS = 6 * GEMEL__RULE_NODES };

/* Which slot holds what. */
typedef struct gemel__layout {
  uint32_t n_slots;
  uint32_t pattern_of[GEMEL__RULE_NODES];  /* by slot: the node of the left side */
  uint32_t slot_of[GEMEL__RULE_VARIABLES]; /* by variable, + 1; 0: none */
} gemel__layout;

/* The slots of the outline of RULE in ORDER. */
gemel__layout gemel__outline_layout(const struct gemel_rule *rule, uint32_t order);

/* Writes the outline of RULE in ORDER to STEPS, with room for GEMEL__OUTLINE_STEPS; how many there
 * are. What the table of candidates knows of the root and its first two operands isn't in it, nor
 * that one of these is a splat. */
uint32_t gemel__outline_make(const struct gemel_rule *rule, uint32_t order, gemel__step *steps);

/* 0 if a rule whose outline STEPS are doesn't match at SLOTS[0], by SCENE's graph and use counts; 1
 * if it may, and all SLOTS, with room for GEMEL__RULE_NODES, are filled in. */
int gemel__outline_fits(const gemel__step *steps, uint32_t count, const gemel__scene *scene,
                        gemel__ref *slots);

#endif
