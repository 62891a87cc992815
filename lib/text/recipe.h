/* SPDX-License-Identifier: MIT
 *
 * A recipe: what a program makes of variables whose types are known. Then so are the dtypes of its
 * literals and the types of all that it makes, and there is nothing left to ask: a recipe is a list
 * of nodes to find or append. It is written by looking at one run of the program, and belongs to
 * the graph of that run. A derivative in a graph of millions of nodes is built so, at a third of
 * what running its program takes.
 */
#ifndef GEMEL__TEXT_RECIPE_H
#define GEMEL__TEXT_RECIPE_H

#include "text/program.h"

enum {
  GEMEL__RECIPE_VARIABLES = 5,
  GEMEL__RECIPE_LITERALS = 4,
  GEMEL__RECIPE_STEPS = 12,
  GEMEL__RECIPE_OPERANDS = 3,
  GEMEL__RECIPE_ROOM = GEMEL__RECIPE_VARIABLES + GEMEL__RECIPE_LITERALS + GEMEL__RECIPE_STEPS
};

/* One node to make; operands are places in the room. */
typedef struct gemel__recipe_step {
  uint32_t op, attrs;
  gemel_type type;
  unsigned char n_operands, operands[GEMEL__RECIPE_OPERANDS];
} gemel__recipe_step;

/* The room holds nodes of one output each: the variables, then literals, then from place
 * GEMEL__RECIPE_ROOM - GEMEL__RECIPE_STEPS on what each step made. */
typedef struct gemel__recipe {
  unsigned char n_literals, n_steps;
  unsigned char result; /* place */
  uint32_t literals[GEMEL__RECIPE_LITERALS];
  gemel__recipe_step steps[GEMEL__RECIPE_STEPS];
} gemel__recipe;

/* Writes the recipe of PROGRAM, which was run on GRAPH with these VARIABLES and gave VALUES, one an
 * instruction. 0: there is none; the program is too long, binds attributes late, executes
 * operations in another order than they stand in, or the graph made something else of an
 * instruction (with casts before it, say). */
int gemel__recipe_write(gemel__recipe *recipe, const gemel__program *program,
                        const gemel_graph *graph, const gemel_value *variables,
                        const gemel_value *values);

/* Follows the recipe on its graph, with the variables in ROOM, and gives the RESULT. Errors as of
 * gemel__cons_append; nodes made so far stay. */
gemel_status gemel__recipe_follow(const gemel__recipe *recipe, gemel_graph *graph,
                                  uint32_t room[GEMEL__RECIPE_ROOM], gemel_location where,
                                  uint32_t *result);

#endif
