/* SPDX-License-Identifier: MIT
 *
 * Nodes of one kind: the same elementwise operation on the same types, reached by a cotangent of
 * the same type. Their rule makes the same of each, so a sweep asks it for the first two only and
 * follows recipes (text/recipe.h) for the others.
 */
#ifndef GEMEL__GRAD_REPLAY_H
#define GEMEL__GRAD_REPLAY_H

#include "grad/sweep.h"
#include "text/recipe.h"

enum { GEMEL__REPLAY_INPUTS = GEMEL__RECIPE_OPERANDS };

/* What came of following a kind's recipes: for the inputs of a node, their cotangents. */
typedef struct gemel__replayed {
  uint32_t n_inputs;
  uint32_t inputs[GEMEL__REPLAY_INPUTS];  /* nodes with one output */
  gemel_type types[GEMEL__REPLAY_INPUTS]; /* of inputs and cotangents */
  unsigned char any[GEMEL__REPLAY_INPUTS];
  uint32_t cotangents[GEMEL__REPLAY_INPUTS]; /* nodes with one output */
  gemel_location where;                      /* of the node */
} gemel__replayed;

/* Follows the recipes of NODE, whose output 0 has a cotangent, for the active inputs. 0: they are
 * not known, or memory is out; then nothing has happened that the rule wouldn't do as well. */
int gemel__replay(gemel__sweep *sweep, uint32_t node, gemel__replayed *replayed);

/* After the rule of NODE was called by SWEEP: remembers its kind, and from the second node of it on
 * writes recipes for the inputs that were wanted. May fail silently, or with an error on the graph;
 * memory is out then. */
void gemel__replay_learn(gemel__sweep *sweep, uint32_t node);

void gemel__replay_clear(gemel__sweep *sweep);

#endif
