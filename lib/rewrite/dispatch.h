/* SPDX-License-Identifier: MIT
 *
 * Which rules take part in a phase, and which of them can apply to a node.
 */
#ifndef GEMEL__REWRITE_DISPATCH_H
#define GEMEL__REWRITE_DISPATCH_H

#include "core/intern.h"
#include "rewrite/match.h"

/* What a rule or pass has done in a phase. */
typedef struct gemel__tally {
  uint64_t applied, declined, created;
  double seconds;
} gemel__tally;

/* A rule in one of its orders. */
typedef struct gemel__candidate {
  const struct gemel_rule *rule;
  uint32_t order;
  uint32_t row;    /* of the tallies */
  uint32_t weight; /* whether it is a program's, then how much the left side asks for */
} gemel__candidate;

typedef struct gemel__selection {
  gemel_context *context;
  const struct gemel_rule **rules; /* by row */
  gemel__tally *tallies;           /* by row */
  size_t n_rules, rule_capacity;
  gemel__candidate *candidates; /* a program's first, most specific first, then by name */
  size_t n_candidates, candidate_capacity;
  unsigned char *is_root; /* by operation: a rule has it as the root of its left side */
  size_t n_ops;
  struct gemel__dispatch_row *table; /* see dispatch.c */
  size_t n_rows, row_capacity;
  gemel__map found; /* operations -> row + 1 */
  uint32_t *lists;  /* indices of candidates, for the rows of the table */
  size_t n_lists, list_capacity;
} gemel__selection;

/* An empty selection over the operations that CONTEXT has now. GEMEL_NO_MEMORY. */
gemel_status gemel__selection_start(gemel__selection *s, gemel_context *context,
                                    gemel_error *error);

/* Adds a rule (borrowed); BUILTIN: it is gemel's own, and comes behind those of programs, which
 * would else never get their turn where it fits as well. GEMEL_NO_MEMORY. */
gemel_status gemel__selection_add(gemel__selection *s, const struct gemel_rule *rule, int builtin,
                                  gemel_error *error);

/* Orders what was added; then candidates may be asked for, and nothing be added. */
gemel_status gemel__selection_finish(gemel__selection *s, gemel_error *error);

/* 1 if a rule has operation OP as its root. */
static inline int gemel__selection_has_root(const gemel__selection *s, uint32_t op) {
  return op < s->n_ops && s->is_root[op];
}

/* The candidates for NODE of GRAPH: *COUNT indices of S->candidates in *LIST, which is good until
 * candidates are asked for again. GEMEL_NO_MEMORY. */
gemel_status gemel__selection_candidates(gemel__selection *s, const gemel_graph *graph,
                                         uint32_t node, const uint32_t **list, uint32_t *count,
                                         gemel_error *error);

/* Forgets what was tallied; candidates stay. */
void gemel__selection_reset(gemel__selection *s);

void gemel__selection_clear(gemel__selection *s);

#endif
