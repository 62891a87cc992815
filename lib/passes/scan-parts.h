/* SPDX-License-Identifier: MIT
 *
 * Loops that are to be replaced by one: scan-live.c finds what is live in them, scan-join.c makes
 * the new loop.
 */
#ifndef GEMEL__PASSES_SCAN_PARTS_H
#define GEMEL__PASSES_SCAN_PARTS_H

#include "passes/loop.h"

/* Kinds of inputs beside those of loop.h: not needed, and a constant within the body. */
enum { GEMEL__INPUT_GONE = GEMEL__INPUT_KINDS, GEMEL__INPUT_INSIDE };

/* An input of an old body. */
typedef struct gemel__join_input {
  gemel__ref outer;          /* the operand, in the old graph */
  gemel_type type;           /* in the new body */
  gemel_value value;         /* in the new body */
  gemel_value next;          /* of a state */
  size_t same;               /* the first input that it is merged with, perhaps itself */
  size_t number;             /* among those of its kind in the new body */
  unsigned facts, all_facts; /* assumed of it; of all inputs merged with it */
  int kind;
  int frozen;     /* 1: a state that no step changes, so a constant */
  int keeps_rows; /* 1: a state whose history is read and may have rows that no step writes */
} gemel__join_input;

/* An output of an old body. FROM and NUMBER are for scan-join.c. */
typedef struct gemel__join_output {
  gemel_value value; /* in the new body */
  int live, from;
  size_t number;               /* of the stack, or of the input that it is a view of */
  const gemel_tensor *literal; /* the constant that it is, in all rows */
} gemel__join_output;

/* One of the old loops. */
typedef struct gemel__join_part {
  gemel__scan_node old;
  gemel__scan_symbols symbols;
  unsigned char *used; /* by symbol: 1: the new body has it */
  size_t first_input, n_inputs, first_output, n_outputs, n_nodes;
  unsigned char *needed; /* by node of the old body */
  uint32_t *input_of;    /* by node: the input that it is, + 1 */
  uint32_t *stack;
  size_t depth;
} gemel__join_part;

/* States with equal keys, but for INDEX, are merged. */
typedef struct gemel__state_key {
  size_t same, index;
  gemel_value next;
} gemel__state_key;

/* The join. The arrays of inputs and outputs have those of all parts, one after the other. */
typedef struct gemel__join {
  gemel_edit *edit;
  gemel_error *error;
  gemel_context *context;
  const gemel_graph *graph;
  const uint32_t *uses;
  gemel__join_part *parts;
  size_t n_parts;
  gemel__join_input *inputs;
  gemel__join_output *outputs;
  size_t n_inputs, n_outputs;
  gemel_value *values;  /* for calls: of inputs, operands */
  gemel_value *results; /* for calls: of outputs; then what replaces each old result */
  gemel__ref *refs;     /* for calls */
  gemel__state_key *keys;
  gemel__new_scan scan;
  gemel_value loop; /* the new one's first result; null: none is needed */
  size_t n_stacks;
} gemel__join;

static inline gemel_status gemel__join_no_memory(gemel__join *j) {
  return gemel__no_memory(j->error, "a loop");
}

static inline int gemel__join_uses(const gemel__join *j, gemel__ref value) {
  return j->uses[gemel__value_number(j->graph, value)] > 0;
}

static inline gemel__join_input *gemel__join_in(gemel__join *j, const gemel__join_part *p,
                                                size_t k) {
  return &j->inputs[p->first_input + k];
}

static inline gemel__join_output *gemel__join_out(gemel__join *j, const gemel__join_part *p,
                                                  size_t k) {
  return &j->outputs[p->first_output + k];
}

/* 1 if there may be rows of results that no step writes. */
static inline int gemel__join_is_partial(const gemel__join *j) {
  return j->parts[0].old.scan.limited || j->parts[0].old.scan.until;
}

/* 1 if what comes of derivatives through a step isn't the same for all steps, as it is outside. */
static inline int gemel__join_is_truncated(const gemel__join *j) {
  return !gemel_dim_is_none(j->parts[0].old.truncate);
}

/* The value that REF of GRAPH is if it is a constant of few elements; NULL. */
const gemel_tensor *gemel__join_small_constant(const gemel_graph *graph, gemel__ref ref);

/* The small constant that REF is or is broadcast of; NULL. */
const gemel_tensor *gemel__join_moved_constant(const gemel_graph *graph, gemel__ref ref);

/* Finds which outputs of PART are live, and what kinds its inputs are for that. */
void gemel__join_find_live(gemel__join *join, gemel__join_part *part);

/* Then, of all parts, which inputs are operands nevertheless, for the sizes of others:
 * GEMEL_DECLINED if some size can't be told, GEMEL_NO_MEMORY. */
gemel_status gemel__join_find_operands(gemel__join *join);

/* 1 if input IN is an operand of the new loop. */
static inline int gemel__join_is_operand(const gemel__join_input *in) {
  return in->kind < GEMEL__INPUT_KINDS;
}

#endif
