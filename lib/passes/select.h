/* SPDX-License-Identifier: MIT
 *
 * Which rules take part in a phase, and which of them can apply to a node, by its operation and
 * those of its first two operands.
 */
#ifndef GEMEL__PASSES_SELECT_H
#define GEMEL__PASSES_SELECT_H

#include "passes/verdict.h"

/* What a rule or pass has done in a phase. */
typedef struct gemel__tally {
  uint64_t applied, declined, created;
  double seconds;
} gemel__tally;

/* A rule in one of its orders. */
typedef struct gemel__candidate {
  const struct gemel_rule *rule;
  uint32_t order;
  uint32_t row;              /* of the tallies */
  uint32_t weight;           /* how much the left side asks for */
  uint32_t splats;           /* bits of those of the root's first two operands that are splats */
  uint32_t outline, n_steps; /* of the selection's steps */
  gemel__grounds grounds;
} gemel__candidate;

typedef struct gemel__selection {
  gemel_context *context;
  uint32_t constant_op;
  uint32_t phases; /* bits of those all of whose rules, that are chosen at all, take part */
  const struct gemel_rule **rules; /* by row */
  gemel__tally *tallies;           /* by row */
  size_t n_rules, rule_capacity;
  gemel__candidate *candidates; /* most specific first, then by name */
  size_t n_candidates, candidate_capacity;
  gemel__step *steps;
  size_t n_steps, step_capacity;
  unsigned char *roots;     /* by operation: bits GEMEL__OP_… */
  unsigned char *phases_of; /* by operation: bits of the phases of rules that have it as their root;
                               GEMEL__ASKS_USES: one of them asks for use counts */
  unsigned char *pairs[2]; /* the same by operation and that which makes operand 0, or 1: N_OPS rows
                              of N_OPS; NULL: there are no rules */
  size_t n_ops;
  struct gemel__bucket *buckets; /* by operation and operands' operations */
  size_t n_buckets, bucket_capacity;
  uint32_t *lists; /* indices of candidates */
  size_t n_lists, list_capacity;
  struct gemel__filter *filters;
  gemel__verdict *verdicts;
} gemel__selection;

enum {
  GEMEL__OP_ROOT = 1,       /* a rule has it as its root */
  GEMEL__OP_SPLAT = 2,      /* gemel__splat knows it */
  GEMEL__OP_COMMUTATIVE = 4 /* its operands, if there are two, have an order */
};

/* The candidates of nodes that are alike: equal operations, attributes and types of inputs, and
 * operands made by equal operations. Bit K of what was foreseen is of the K-th candidate. */
enum { GEMEL__FILTER_INPUTS = 3, GEMEL__FILTER_BITS = 64 };
typedef struct gemel__filter {
  uint64_t key[4];       /* all zeros: empty */
  uint32_t begin, count; /* in lists */
  uint64_t checked, failed;
} gemel__filter;

/* An empty selection over the operations that CONTEXT has now. GEMEL_NO_MEMORY. */
gemel_status gemel__selection_start(gemel__selection *s, gemel_context *context,
                                    gemel_error *error);

/* Adds a rule (borrowed). GEMEL_NO_MEMORY. */
gemel_status gemel__selection_add(gemel__selection *s, const struct gemel_rule *rule,
                                  gemel_error *error);

/* Orders what was added; then candidates may be asked for, and nothing be added. */
gemel_status gemel__selection_finish(gemel__selection *s, gemel_error *error);

/* Beside the bits of phases whose rules were tried at a node: rules that ask for use counts were
 * tried by the counts that hold. And of an operation: it has such rules. */
enum { GEMEL__ASKS_USES = 0x80 };

/* 1 if there may be a rule for NODE, at which those of the phases TRIED were tried before. */
static inline int gemel__selection_has(const gemel__selection *s, const gemel_graph *graph,
                                       uint32_t node, uint32_t tried) {
  uint32_t op = graph->nodes[node].op, n;
  uint32_t bits = op < s->n_ops ? s->phases_of[op] & ~tried : 0;
  if (bits == 0) {
    return 0;
  }
  const gemel__ref *in = gemel__node_inputs(graph, node, &n);
  uint32_t first = n > 0 ? graph->nodes[in[0].node].op : 0;
  uint32_t second = n > 1 ? graph->nodes[in[1].node].op : 0;
  bits &= first < s->n_ops ? s->pairs[0][op * s->n_ops + first] : bits;
  bits &= second < s->n_ops ? s->pairs[1][op * s->n_ops + second] : bits;
  return bits != 0;
}

/* The candidates for NODE, at which rules of the phases TRIED were tried before, as indices of
 * S->candidates; *COUNT of them, or 0 if it is known that none matches. *FILTER: what is known of
 * nodes like this one; NULL if it is the first of them that was met lately, or it has several
 * outputs, many inputs or sizes known at run time. Losing an entry costs time only. NULL: memory is
 * out. */
const uint32_t *gemel__selection_candidates(gemel__selection *s, const gemel_graph *graph,
                                            uint32_t node, uint32_t tried, uint32_t *count,
                                            gemel__filter **filter);

/* All candidates for NODE by its operation and those of its operands, as above. */
const uint32_t *gemel__selection_all(gemel__selection *s, const gemel_graph *graph, uint32_t node,
                                     uint32_t *count);

/* Forgets what was tallied; candidates and what is known of nodes stay. */
void gemel__selection_reset(gemel__selection *s);

void gemel__selection_clear(gemel__selection *s);

#endif
