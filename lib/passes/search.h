/* SPDX-License-Identifier: MIT
 *
 * Which rules match at a node: the candidates of a selection for its operation and those of its
 * operands, one after another, without those of which attributes and types alone tell that they
 * can't match. The engine fires what is found; a look at a settled graph (idle.c) only asks whether
 * there is anything.
 */
#ifndef GEMEL__PASSES_SEARCH_H
#define GEMEL__PASSES_SEARCH_H

#include "passes/select.h"

typedef struct gemel__search {
  gemel__selection *selection;
  gemel__scene scene; /* the graph, and how often its nodes are used */
  int timed;          /* tallies get times */
  int whole;          /* attributes are bound in every match */
  int thorough;       /* each candidate is matched, with no shortcut; it implies WHOLE */
  /* at hand */
  gemel__ref value;
  const uint32_t *list; /* of candidates: COUNT, the next of which is NEXT */
  uint32_t count, next;
  gemel__filter *filter; /* or NULL */
  uint32_t asked, other; /* bits of the first two operands: asked whether a splat; isn't one */
  gemel__ref slots[GEMEL__RULE_NODES];
  gemel__verdict *verdict; /* of what was found last; or NULL */
} gemel__search;

/* Begins at VALUE, at which the rules of the phases TRIED (bits by phase) have been tried before:
 * of those only the ones that ask for use counts can match now. GEMEL_NO_MEMORY. */
gemel_status gemel__search_start(gemel__search *search, gemel__ref value, uint32_t tried);

/* The next candidate that matches: *CANDIDATE and *BINDING, whose lists live in the scene's arena;
 * of a verdict that fires, and unless SEARCH is for whole ones, tensors alone are bound.
 * GEMEL_DECLINED: there is none. GEMEL_NO_MEMORY. */
gemel_status gemel__search_next(gemel__search *search, const gemel__candidate **candidate,
                                gemel__binding *binding);

#endif
