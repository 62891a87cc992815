/* SPDX-License-Identifier: MIT
 *
 * Generators of the passes that pull a sum or a stack out of a loop.
 */
#include <stdio.h>
#include <gemel/composite.h>
#include <gemel/ops.h>
#include <gemel/text.h>
#include "passes/instances.h"
#include "core/error.h"
#include "passes/passes.h"

enum { MOST_TERMS = 3 };

/* What a loop is drawn from: a state h that moves on, rows, constants, and a value of the step. */
typedef struct drawn_pull {
  gemel__drawing by;
  gemel_loop *loop;
  gemel_value h, row, constant, number, made;
  const char *rows; /* how many */
  int large; /* 1: rows of 30 elements, of which products by a 30 x 9 matrix are a library's */
} drawn_pull;

/* A matrix of the body. */
static gemel_value draw_factor(const drawn_pull *d) {
  const gemel_value all[] = {d->h, d->row, d->made};
  gemel_value x = all[gemel__draw_below(&d->by, 3)];
  return gemel__draw_below(&d->by, 3) > 0 ? x : gemel_dimshuffle(x, GEMEL_LIST(int64_t, 1, 0));
}

/* A product of kind WHICH, of four. */
static gemel_value draw_product(const drawn_pull *d, uint64_t which) {
  gemel_value x = draw_factor(d), y = draw_factor(d);
  switch (which % 4) {
  case 0:
    return gemel_dot(x, y);
  case 1:
    return gemel_dot(d->constant, x);
  case 2:
    return gemel_dot_with(x, y, .contract_x = GEMEL_INTS(1), .contract_y = GEMEL_INTS(1));
  default:
    return gemel_dot_with(x, y, .contract_x = GEMEL_INTS(0), .contract_y = GEMEL_INTS(0));
  }
}

/* A term of a sum. Those of other kinds WHICH are other nodes: of what is read twice a product
 * stays in the loop. */
static gemel_value draw_summand(const drawn_pull *d, uint64_t which) {
  switch (gemel__draw_below(&d->by, 8)) {
  case 0:
    return gemel_mul(draw_product(d, which), d->number);
  case 1:
    return gemel_neg(draw_product(d, which));
  case 2:
    return gemel_sum_with(draw_factor(d), .axes = {1, (int64_t[]){(int64_t)(which % 2)}},
                          .keepdims = (int64_t)(which < 2));
  case 3:
    return gemel_dimshuffle(draw_product(d, which), GEMEL_LIST(int64_t, 1, 0));
  case 4:
    return gemel_sub(d->row, draw_product(d, which));
  default:
    return draw_product(d, which);
  }
}

/* Begins a loop: its states h and, that is returned, the sum. */
static gemel_value draw_inputs(drawn_pull *d) {
  gemel_graph *graph = d->by.graph;
  const char *dtype = gemel_dtype_name(d->by.dtype);
  char text[80];
  gemel_value outside[6];
  const char *shape = d->large ? "1, 30" : "3, 3", *by = d->large ? "30, 9" : "3, 3";
  static const char *const formats[] = {"h: %s[%s]",       "s: %s[%s]", "x: %s[%s, %s]",
                                        "z: %s[%s, 9, 3]", "c: %s[%s]", "k: %s[]"};
  for (int k = 0; k < 6; k++) {
    const char *rest = k == 2 || k == 3 ? d->rows : k == 4 ? by : shape;
    snprintf(text, sizeof text, formats[k], dtype, rest, shape);
    outside[k] = gemel_declare(graph, text);
  }
  d->h = gemel_loop_state(d->loop, outside[0]);
  gemel_value sum = gemel_loop_state(d->loop, outside[1]);
  d->row = gemel_loop_row(d->loop, outside[2]);
  gemel_loop_row(d->loop, outside[3]); /* so that new stacks aren't too large beside the rows */
  d->constant = gemel_loop_constant(d->loop, outside[4]);
  d->number = gemel_loop_constant(d->loop, outside[5]);
  d->made = gemel_maximum(gemel_sub(d->row, d->h), d->number);
  return sum;
}

/* h' = max(x - h, k), which rounds nothing where h, x and k are simple; s' = s + up to three terms.
 */
static gemel_status draw_steps(drawn_pull *d) {
  gemel_value sum = draw_inputs(d), next = sum;
  gemel_loop_next(d->loop, d->h, d->made);
  for (uint64_t k = gemel__draw_below(&d->by, MOST_TERMS) + 1; k > 0; k--) {
    gemel_value term = k == 1 ? draw_product(d, k) : draw_summand(d, k);
    next = gemel__draw_below(&d->by, 4) > 0 ? gemel_add(next, term) : gemel_sub(next, term);
  }
  gemel_loop_next(d->loop, sum, next);
  GEMEL__TRY(gemel_loop_end_with(d->loop, .reverse = (int)gemel__draw_below(&d->by, 2)));
  GEMEL__TRY(gemel_output(gemel_loop_last(d->loop, sum), "sum"));
  if (gemel__draw_below(&d->by, 2)) {
    GEMEL__TRY(gemel_output(gemel_loop_history(d->loop, d->h), "rows"));
  }
  return GEMEL_OK;
}

/* The product of a matrix of the step with one that is the same in each. */
static gemel_value draw_mapped(const drawn_pull *d) {
  gemel_value x = draw_factor(d), c = d->constant;
  switch (gemel__draw_below(&d->by, 4)) {
  case 0:
    return gemel_dot(x, c);
  case 1:
    return gemel_dot(gemel_neg(c), x);
  case 2:
    return gemel_dot_with(x, c, .contract_x = GEMEL_INTS(0), .contract_y = GEMEL_INTS(1));
  default:
    return gemel_dot_with(c, x, .contract_x = GEMEL_INTS(1), .contract_y = GEMEL_INTS(1),
                          .batch_x = GEMEL_INTS(0), .batch_y = GEMEL_INTS(0));
  }
}

/* What is stacked: such a product, perhaps with more behind it. */
static gemel_value draw_stack(const drawn_pull *d) {
  gemel_dim three = gemel_dim_constant(gemel_graph_context(d->by.graph), 3);
  gemel_value y = d->large ? gemel_dot(d->made, d->constant) : draw_mapped(d);
  if (d->large) {
    return y;
  }
  switch (gemel__draw_below(&d->by, 6)) {
  case 0:
    return gemel_sub(gemel_mul(y, d->number), d->number);
  case 1:
    return gemel_maximum(gemel_sum_with(d->row, .axes = GEMEL_INTS(1)), gemel_neg(y));
  case 2:
    return gemel_sum_with(y, .axes = GEMEL_INTS(0), .keepdims = 1);
  case 3:
    return gemel_broadcast_to(gemel_max_with(y, .axes = GEMEL_INTS(0), .keepdims = 1), 2,
                              (const gemel_dim[]){three, three});
  default:
    return y;
  }
}

/* h' = max(x - h, k), and one or two stacks; now and then h' is one of these, too. */
static gemel_status draw_stacks(drawn_pull *d) {
  d->large = gemel__draw_below(&d->by, 4) == 0;
  gemel_value sum = draw_inputs(d);
  gemel_loop_next(d->loop, d->h, d->made);
  gemel_loop_next(d->loop, sum, sum);
  gemel_value first = gemel_loop_stack(d->loop, draw_stack(d));
  gemel_value second = gemel__draw_below(&d->by, 2) ? draw_stack(d) : gemel_neg(d->made);
  gemel_loop_stack(d->loop, second);
  GEMEL__TRY(gemel_loop_end_with(d->loop, .reverse = (int)gemel__draw_below(&d->by, 2)));
  GEMEL__TRY(gemel_output(gemel_loop_stacked(d->loop, first), "first"));
  if (gemel__draw_below(&d->by, 2)) {
    GEMEL__TRY(gemel_output(gemel_loop_stacked(d->loop, second), "second"));
  }
  return GEMEL_OK;
}

/* Draws a loop of a dtype of floats, with what STEPS puts into it. */
static gemel_status draw_loop(gemel_graph *graph, uint64_t (*random)(void *user), void *user,
                              gemel_status (*steps)(drawn_pull *d)) {
  static const char *const lengths[] = {"0", "1", "2", "3", "5", "17"};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  drawn_pull d = {.by = gemel__draw_on(graph, random, user, 0)};
  d.by.dtype = gemel__draw_below(&d.by, 2) ? GEMEL_F32 : GEMEL_F64;
  d.loop = gemel_loop_begin(graph, &error);
  if (d.loop == NULL) {
    return error.status;
  }
  d.rows = lengths[gemel__draw_below(&d.by, 6)];
  gemel_status status = steps(&d);
  gemel_loop_free(d.loop);
  return status;
}

gemel_status gemel__generate_scan_pull_sums(gemel_graph *graph, uint64_t (*random)(void *user),
                                            void *user, const void *data) {
  (void)data;
  return draw_loop(graph, random, user, draw_steps);
}

gemel_status gemel__generate_scan_pull_rows(gemel_graph *graph, uint64_t (*random)(void *user),
                                            void *user, const void *data) {
  (void)data;
  return draw_loop(graph, random, user, draw_stacks);
}
