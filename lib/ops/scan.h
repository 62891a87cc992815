/* SPDX-License-Identifier: MIT
 *
 * scan: what its type rule, kernel, derivatives and the passes on loops have in common.
 *
 * Operands: `steps` if limited, initial values of the states, sequences, constants, run-time sizes.
 * Inputs of the body: states, a row of each sequence, constants. Outputs of the body: the next
 * states, further values, and `stop` if there is `until`. Results: the last states, the histories
 * of the states, the stacked values, and the number of steps if there is `until`. Histories and
 * stacks are there if the number of rows is known.
 */
#ifndef GEMEL__OPS_SCAN_H
#define GEMEL__OPS_SCAN_H

#include "ops/ops.h"

/* Attributes by number. */
enum {
  GEMEL__SCAN_BODY,
  GEMEL__SCAN_STATES,
  GEMEL__SCAN_SEQUENCES,
  GEMEL__SCAN_LENGTH,
  GEMEL__SCAN_REVERSE,
  GEMEL__SCAN_LIMITED,
  GEMEL__SCAN_UNTIL,
  GEMEL__SCAN_TRUNCATE,
  GEMEL__SCAN_RECOMPUTE
};

/* A loop as its attributes describe it. */
typedef struct gemel__scan {
  gemel_graph *body;
  size_t states, sequences, constants;
  size_t values; /* outputs of the body that are stacked */
  int reverse, limited, until, recompute;
  int rows; /* 1: the number of rows is known, so there are histories and stacks */
} gemel__scan;

/* 0 if the numbers in ATTRS don't fit the body; SCAN is filled in as far as they go. */
int gemel__scan_read(const gemel_attr *attrs, gemel__scan *scan);

/* Numbers of operands and results. */
static inline size_t gemel__scan_initial(const gemel__scan *s, size_t k) {
  return (size_t)s->limited + k;
}
static inline size_t gemel__scan_sequence(const gemel__scan *s, size_t k) {
  return (size_t)s->limited + s->states + k;
}
static inline size_t gemel__scan_constant(const gemel__scan *s, size_t k) {
  return gemel__scan_sequence(s, s->sequences) + k;
}
/* How many operands there are before the run-time sizes. */
static inline size_t gemel__scan_operands(const gemel__scan *s) {
  return gemel__scan_constant(s, s->constants);
}
static inline size_t gemel__scan_history(const gemel__scan *s, size_t k) {
  return s->states + k;
}
static inline size_t gemel__scan_stack(const gemel__scan *s, size_t k) {
  return (size_t)(s->rows ? 2 : 1) * s->states + k;
}
static inline size_t gemel__scan_count(const gemel__scan *s) {
  return gemel__scan_stack(s, s->values);
}
static inline size_t gemel__scan_results(const gemel__scan *s) {
  return gemel__scan_count(s) + (size_t)s->until;
}
static inline size_t gemel__scan_body_outputs(const gemel__scan *s) {
  return s->states + s->values + (size_t)s->until;
}

/* How many rows there are, at the run-time shapes of CALL; INT64_MAX: no number is known. */
int64_t gemel__scan_length(const gemel_kernel_call *call, const gemel__scan *scan);

/* 1 if no step and no number of steps depends on a value that the host would have to read. */
static inline int gemel__scan_follows(const gemel__scan *s) {
  return !s->limited && !s->until;
}

/* ROWS rows of X from row FIRST on; null if X is. */
gemel_value gemel__scan_rows(gemel_value x, gemel_dim first, gemel_dim rows, gemel_location where);

/* X as one row: with an axis of size 1 in front; null if X is. */
gemel_value gemel__scan_as_row(gemel_value x, gemel_location where);

gemel_status gemel__scan_grad(gemel_derive *call);
gemel_status gemel__scan_jvp(gemel_derive *call);
extern const gemel_kernel gemel__scan_kernels[];

#endif
