/* SPDX-License-Identifier: MIT
 *
 * How a pass changes a graph: what gemel's own passes use beside <gemel/rewrite.h>, and what runs
 * them.
 */
#ifndef GEMEL__PASSES_EDIT_H
#define GEMEL__PASSES_EDIT_H

#include <gemel/rewrite.h>
#include "rewrite/uses.h"

/* One replacement, with both graphs as they are then. What BEFORE is made of ends at LEAVES, the
 * values that were asked for to make AFTER; IMAGES are what those became, in TO. */
typedef struct gemel__change {
  const gemel_pass *pass;
  const gemel_graph *from, *to;
  gemel__ref before, after;
  const gemel__ref *leaves, *images;
  size_t n_leaves;
  const gemel__ref *map; /* by gemel__value_number of FROM: what a value became; by the id of a node
                            of several outputs: its copy; node UINT32_MAX: nothing so far */
} gemel__change;

/* What watches each replacement: for certified compilation. Not GEMEL_OK: stop. */
typedef gemel_status (*gemel__change_witness)(void *user, const gemel__change *change,
                                              gemel_error *error);

/* How a pass is run, and what it did. */
typedef struct gemel__pass_run {
  gemel__change_witness witness; /* or NULL */
  void *user;                    /* the witness's */
  uint64_t applied, created;     /* results: replacements; nodes that they made */
} gemel__pass_run;

/* Runs PASS on *GRAPH, and on the graphs among its attributes, to the nesting that can run;
 * *GRAPH's reference is given back for the new one, if anything changed. Errors: what the pass
 * says, with its name before; GEMEL_WRONG_RULE if it replaces a value by one of another type. */
gemel_status gemel__pass_apply(const gemel_pass *pass, gemel_graph **graph, gemel__pass_run *run,
                               gemel_error *error);

/* How often each node and value is used by nodes that an output needs, and as an output, as
 * gemel__uses has it; NULL: memory is out. */
const uint32_t *gemel__edit_uses(gemel_edit *edit);

/* gemel_edit_value and gemel_edit_replace by what stands for values inside. */
gemel_value gemel__edit_value(gemel_edit *edit, gemel__ref old);
gemel_status gemel__edit_replace(gemel_edit *edit, gemel__ref old, gemel_value by);

/* Forgets what was asked for since the last replacement: the next one doesn't rest on it. */
void gemel__edit_anew(gemel_edit *edit);

/* 1 if BY has the type that OLD must be replaced by. */
int gemel__edit_fits(const gemel_edit *edit, gemel__ref old, gemel_value by);

/* The graph that is being made; NULL (once an error was recorded) if there can be none. */
gemel_graph *gemel__edit_target(gemel_edit *edit);

#endif
