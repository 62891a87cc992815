/* SPDX-License-Identifier: MIT
 *
 * Derivatives of scan under construction: a new loop whose body holds the old one's. Both modes
 * decide which inputs of the body matter, make the operands in the order that scan wants, each with
 * its input of the body, and apply the new loop.
 */
#ifndef GEMEL__OPS_SCAN_DERIVE_H
#define GEMEL__OPS_SCAN_DERIVE_H

#include "ops/body.h"
#include "ops/rule.h"
#include "ops/scan.h"

/* A loop under construction, the derivative of another. A value that enters its body is an operand
 * of the loop and an input of the body; they are made in the order that scan wants. */
typedef struct gemel__derived_loop {
  gemel_derive *call;
  gemel__scan old;
  gemel_dim length;  /* rows of the old loop */
  int truncated;     /* 1: only the last steps are differentiated */
  gemel_dim window;  /* rows of these, or all rows */
  gemel_dim first;   /* the first of them */
  gemel_value steps; /* how many of them the new loop takes; null: all */
  gemel_graph *body;
  unsigned char *marks;          /* of nodes of the old body */
  unsigned char *active;         /* of its inputs */
  unsigned char *live;           /* of its inputs */
  gemel_value *block;            /* the arrays below */
  gemel_value *inputs, *outputs; /* what the old body's are in the new one */
  gemel_value *operands, *from, *along, *at, *result;
  size_t n_operands, states, sequences, constants, n_from;
  size_t n_in, n_out, room, n_nodes;
  gemel_value *entered; /* OPERANDS, once values are saved; or NULL */
  size_t n_entered;
} gemel__derived_loop;

static inline uint32_t gemel__derived_output_node(const gemel__derived_loop *d, size_t k) {
  return d->old.body->outputs[k].node;
}

static inline uint32_t gemel__derived_input_node(const gemel__derived_loop *d, size_t k) {
  return d->old.body->inputs[k].node;
}

static inline size_t gemel__derived_first_constant(const gemel__derived_loop *d) {
  return d->old.states + d->old.sequences;
}

/* Input and output K of the old body. */
static inline gemel_value gemel__derived_old_input(const gemel__derived_loop *d, size_t k) {
  return gemel_graph_input(d->old.body, k);
}

static inline gemel_value gemel__derived_old_output(const gemel__derived_loop *d, size_t k) {
  return gemel_graph_output(d->old.body, k);
}

static inline gemel_dim gemel__derived_number(const gemel__derived_loop *d, int64_t value) {
  return gemel_dim_constant(gemel_graph_context(d->call->graph), value);
}

/* Marks what marked nodes of the old body depend on. */
void gemel__derived_mark_operands(gemel__derived_loop *d);

/* A state is active if its initial value is, or if a step makes it from what is active. MARKS then
 * has the nodes that depend on active inputs. */
void gemel__derived_find_active(gemel__derived_loop *d);

/* OUTER becomes the next operand, and an input of the body of LIKE's type: a state, a row of a
 * sequence, or a constant. What was entered before goes before it, so states come first. */
gemel_value gemel__derived_enter_state(gemel__derived_loop *d, gemel_value initial,
                                       gemel_value like);
gemel_value gemel__derived_enter_rows(gemel__derived_loop *d, gemel_value rows, gemel_value like);
gemel_value gemel__derived_enter_constant(gemel__derived_loop *d, gemel_value value,
                                          gemel_value like);

/* The old loop's constants. */
void gemel__derived_enter_constants(gemel__derived_loop *d);

/* Differentiates the node of CALL: MODE builds the new loop in what is ready for it, the length and
 * the window, and sets the derivatives. */
gemel_status gemel__derive_scan(gemel_derive *call,
                                gemel_status (*mode)(gemel__derived_loop *derived));

/* Puts the old body's nodes into the new one, with INPUTS in place of its inputs. */
gemel_status gemel__derived_copy_body(gemel__derived_loop *d);

/* The new body is one of a loop back, complete: puts rows that the loop forward saves in the place
 * of what would be expensive to compute twice. (scan-save.c) */
gemel_status gemel__derived_save(gemel__derived_loop *d);

/* The new loop: its first result. */
gemel_value gemel__derived_apply_loop(gemel__derived_loop *d, int reverse);

/* Of a history, or its cotangent, the rows before (or after) each step, by the row of the step. */
gemel_value gemel__derived_rows_before(gemel__derived_loop *d, gemel_value history);
gemel_value gemel__derived_rows_after(gemel__derived_loop *d, gemel_value history);

/* Of a sequence, or what has its rows, those of the steps that are differentiated. */
gemel_value gemel__derived_window_of(gemel__derived_loop *d, gemel_value x);

/* INTO with ROWS in place of its rows from FIRST on. */
gemel_value gemel__derived_put_rows(gemel__derived_loop *d, gemel_value into, gemel_value rows,
                                    gemel_dim first);

/* The cotangent or tangent of LIKE, whose window has ROWS. */
gemel_value gemel__derived_outside_window(gemel__derived_loop *d, gemel_value rows,
                                          gemel_value like);

/* The row of a history in which the initial value stands. */
gemel_dim gemel__derived_initial_row(const gemel__derived_loop *d);

/* Row ROW of a history, or of its cotangent. */
gemel_value gemel__derived_row_of(gemel__derived_loop *d, gemel_value history, gemel_dim row);

/* What comes to the initial value through the steps: nothing if the derivative doesn't reach the
 * first one. */
gemel_value gemel__derived_reaching(const gemel__derived_loop *d, gemel_value value);

/* The first row of the window, plus STEP. */
gemel_dim gemel__derived_first_plus(const gemel__derived_loop *d, int step);

#endif
