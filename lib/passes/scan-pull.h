/* SPDX-License-Identifier: MIT
 *
 * What leaves a loop for behind it: scan-pull.c makes the loop that is left, scan-pull-sums.c says
 * which states needn't be in it, and scan-pull-rows.c which stacks.
 */
#ifndef GEMEL__PASSES_SCAN_PULL_H
#define GEMEL__PASSES_SCAN_PULL_H

#include "core/attrs.h"
#include "passes/loop.h"
#include "rewrite/uses.h"

typedef struct gemel__pull {
  gemel_edit *edit;
  gemel_error *error;
  gemel_context *context;
  gemel__scan_node old;
  const gemel_graph *body;
  const uint32_t *uses;  /* of the graph */
  gemel__uses inside;    /* of the body */
  uint32_t *input_of;    /* by node of the body: the input that it is, + 1 */
  uint32_t *user_of;     /* by node: one that uses it; 0: none */
  unsigned char *pulled; /* by state, then by stack: 1: it isn't in the new loop */
  gemel__ref *stacks;    /* new ones: values of the body */
  size_t n_stacks, stack_room;
  uint32_t *kept, n_kept;       /* states whose histories are read anew: kept[k] is 1.. n_kept */
  size_t n_inputs, n_pulled[2]; /* states, stacks */
  double rows, added;           /* bytes that a step has in rows, and in new ones */
  int products;                 /* that leave the loop with the state that is looked at */
  gemel__new_scan scan;
  gemel__scan_symbols symbols;
  gemel_value loop;    /* the new one's first result; null: nothing is left of it */
  gemel_value *behind; /* by stack: what one that is pulled becomes */
} gemel__pull;

/* ---- Values of the body ---- */

static inline int gemel__pull_op(const gemel__pull *p, gemel__ref ref) {
  return gemel__node_at(p->body, ref.node)->op;
}

static inline const gemel_attr *gemel__pull_attrs(const gemel__pull *p, gemel__ref ref) {
  return gemel__attrs_at(p->context, gemel__node_at(p->body, ref.node)->attrs)->values;
}

static inline gemel__ref gemel__pull_operand(const gemel__pull *p, gemel__ref ref, uint32_t k) {
  uint32_t count;
  return gemel__node_inputs(p->body, ref.node, &count)[k];
}

static inline gemel_type gemel__pull_type(const gemel__pull *p, gemel__ref ref) {
  return gemel__node_type(p->body, ref.node, ref.output);
}

static inline int gemel__pull_rank(const gemel__pull *p, gemel__ref ref) {
  return gemel_type_rank(p->context, gemel__pull_type(p, ref));
}

static inline int gemel__pull_is_same(gemel__ref a, gemel__ref b) {
  return a.node == b.node && a.output == b.output;
}

static inline gemel_location gemel__pull_where(const gemel__pull *p, gemel__ref ref) {
  return gemel__node_where(p->body, ref.node);
}

/* 1 if something reads RESULT of the old loop. */
static inline int gemel__pull_is_read(const gemel__pull *p, size_t result) {
  return p->uses[gemel__value_number(p->old.graph, gemel__scan_node_result(&p->old, result))] > 0;
}

/* ---- Rows of values ---- */

/* Where the rows of a value are without a new stack: in a sequence, the history of a state, a
 * stack. */
typedef enum gemel__row_source {
  GEMEL__ROWS_NOWHERE,
  GEMEL__ROWS_SEQUENCE,
  GEMEL__ROWS_BEFORE,
  GEMEL__ROWS_BEHIND,
  GEMEL__ROWS_STACK
} gemel__row_source;

/* That of REF; *K: of which sequence, state or stack. */
gemel__row_source gemel__pull_source(const gemel__pull *p, gemel__ref ref, size_t *k);

/* Sees to it that there are rows of REF, by a new stack if need be: 1. 0: its size is known only in
 * the body, it has too many axes, or that is too much memory. */
int gemel__pull_need_rows(gemel__pull *p, gemel__ref ref);

/* Those rows, once the new loop is there. */
gemel_value gemel__pull_rows_of(const gemel__pull *p, gemel__ref ref);

/* ---- What leaves ---- */

/* Finds which states leave, and what the last value of state K, which does, becomes. */
void gemel__pull_plan_sums(gemel__pull *p);
gemel_value gemel__pull_last_of(const gemel__pull *p, size_t k);

/* A plan of what stacks leave, and what else there is to it. */
typedef struct gemel__pull_rows {
  unsigned char *marks; /* by node of the body */
  gemel__ref *leaves;   /* values of the body whose rows are read behind the loop */
  size_t n_leaves, leaf_room;
} gemel__pull_rows;

/* Finds which stacks leave. GEMEL_NO_MEMORY. ROWS, zeroed before, to be cleared in any case. */
gemel_status gemel__pull_plan_rows(gemel__pull *p, gemel__pull_rows *rows);
void gemel__pull_rows_clear(const gemel__pull *p, gemel__pull_rows *rows);

/* Computes these, once the new loop is there: P->behind. */
gemel_status gemel__pull_compute_rows(gemel__pull *p, const gemel__pull_rows *rows);

#endif
