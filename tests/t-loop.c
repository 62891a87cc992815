/*
 * Loops of programs (<gemel/composite.h>): what they compute, by numbers worked out by hand; their
 * derivatives; sizes that are symbols or known at run time only; misuse, and that what is said
 * about it names the user's line; refused allocations.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"
#include "support/near.h"

/* X as a result of its own, behind which the loop is gone. */
static gemel_value leave(gemel_loop *loop, gemel_value x) {
  gemel_value zero = gemel_zeros_like(x);
  gemel_loop_free(loop);
  return gemel_sub(x, zero);
}

#define LOOP_FORM(name) static gemel_value name(gemel_graph *g, const gemel_value *in)

/* ---- What leaves a loop ---- */

#define LOOP(...) ((gemel_loop_options){.size = sizeof(gemel_loop_options), __VA_ARGS__})

/* s = s * c + x for each row, from y on; WHAT of s, with these options. */
static gemel_value horner(gemel_graph *g, const gemel_value *in,
                          gemel_value what(gemel_loop *, gemel_value, gemel_location),
                          gemel_loop_options options) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value c = gemel_loop_constant(loop, in[2]), x = gemel_loop_row(loop, in[0]);
  gemel_value s = gemel_loop_state(loop, in[1]);
  gemel_loop_next(loop, s, gemel_add(gemel_mul(s, c), x));
  gemel_loop_end_at(loop, &options, GEMEL_HERE);
  return leave(loop, what(loop, s, GEMEL_HERE));
}

LOOP_FORM(last) {
  return horner(g, in, gemel_loop_last_at, LOOP());
}
LOOP_FORM(rows) {
  return horner(g, in, gemel_loop_rows_at, LOOP());
}
LOOP_FORM(history) {
  return horner(g, in, gemel_loop_history_at, LOOP());
}
LOOP_FORM(last_reversed) {
  return horner(g, in, gemel_loop_last_at, LOOP(.reverse = 1));
}
LOOP_FORM(rows_reversed) {
  return horner(g, in, gemel_loop_rows_at, LOOP(.reverse = 1));
}
LOOP_FORM(history_reversed) {
  return horner(g, in, gemel_loop_history_at, LOOP(.reverse = 1));
}
LOOP_FORM(two_steps) {
  gemel_value two = gemel_scalar(g, GEMEL_I64, 2);
  return horner(g, in, gemel_loop_history_at, LOOP(.steps = two));
}
LOOP_FORM(two_steps_reversed) {
  gemel_value two = gemel_scalar(g, GEMEL_I64, 2);
  return horner(g, in, gemel_loop_rows_at, LOOP(.steps = two, .reverse = 1));
}
LOOP_FORM(truncated) {
  gemel_dim two = gemel_dim_constant(gemel_graph_context(g), 2);
  return horner(g, in, gemel_loop_last_at, LOOP(.truncate = two));
}

/* A map, which has no state: the squares of rows. */
LOOP_FORM(map) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value y = gemel_loop_stack(loop, gemel_sqr(gemel_loop_row(loop, in[0])));
  gemel_loop_end(loop);
  return leave(loop, gemel_loop_stacked(loop, y));
}

/* Two states that change places, and two stacks. */
LOOP_FORM(crosswise) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value a = gemel_loop_state(loop, in[0]), b = gemel_loop_state(loop, in[1]);
  gemel_loop_next(loop, a, b);
  gemel_loop_next(loop, b, gemel_neg(a));
  gemel_value sum = gemel_loop_stack(loop, gemel_add(a, b));
  gemel_value difference = gemel_loop_stack(loop, gemel_sub(a, b));
  gemel_loop_end_with(loop, .length = gemel_dim_constant(gemel_graph_context(g), 4));
  gemel_value parts[] = {gemel_loop_stacked(loop, sum), gemel_loop_stacked(loop, difference),
                         gemel_loop_rows(loop, a), gemel_loop_rows(loop, b)};
  return leave(loop, gemel_stack_at(4, parts, 0, GEMEL_HERE));
}

/* Numbers of steps: of rows, of a length, of a limit, until something. */
LOOP_FORM(counts) {
  gemel_value parts[4], halt;
  for (int k = 0; k < 4; k++) {
    gemel_loop *loop = gemel_loop_begin(g, NULL);
    gemel_loop_options options = {.size = sizeof options};
    gemel_value s = gemel_loop_state(loop, in[1]);
    gemel_loop_next(loop, s, gemel_add(s, s));
    if (k == 0 || k == 2) {
      gemel_loop_row(loop, in[0]);
      options.steps = k == 2 ? gemel_scalar(g, GEMEL_I64, 1) : options.steps;
    } else if (k == 1) {
      options.length = gemel_dim_symbol(gemel_graph_context(g), "N");
    } else {
      halt = gemel_gt(s, gemel_scalar_like(s, 50));
      gemel_loop_until(loop, halt);
    }
    gemel_loop_end_at(loop, &options, GEMEL_HERE);
    parts[k] = gemel_loop_count(loop);
    gemel_loop_free(loop);
  }
  return gemel_stack_at(4, parts, 0, GEMEL_HERE);
}

/* The smallest power of two above a number; no number of steps is known. */
LOOP_FORM(doubled) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value s = gemel_loop_state(loop, gemel_ones_like(in[0]));
  gemel_value next = gemel_add(s, s);
  gemel_loop_next(loop, s, next);
  gemel_loop_until(loop, gemel_gt(next, gemel_loop_constant(loop, in[0])));
  gemel_loop_end(loop);
  return leave(loop, gemel_loop_last(loop, s));
}

/* The same in at most five steps, with rows. */
LOOP_FORM(doubled_rows) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value s = gemel_loop_state(loop, gemel_ones_like(in[0]));
  gemel_value next = gemel_add(s, s);
  gemel_loop_next(loop, s, next);
  gemel_loop_until(loop, gemel_gt(next, gemel_loop_constant(loop, in[0])));
  gemel_loop_end_with(loop, .length = gemel_dim_constant(gemel_graph_context(g), 5));
  return leave(loop, gemel_loop_rows(loop, s));
}

#define X3 "f64[N=3] 1 2 3"
#define S5 "f64[] 5"
#define C2 "f64[] 2"

static const op_case results[] = {
    OK_FORM(last, "of_three", "f64[] 51", X3, S5, C2),
    OK_FORM(last, "of_none", "f64[] 5", "f64[N=0]", S5, C2),
    OK_FORM(last, "constant_sizes", "f32[] 51", "f32[3] 1 2 3", "f32[] 5", "f32[] 2"),
    OK_FORM(last, "integers", "i8[] 51", "i8[3] 1 2 3", "i8[] 5", "i8[] 2"),
    OK_FORM(last, "vectors", "f64[2] 51 51", "f64[3, M=2] 1 1 2 2 3 3", "f64[M=2] 5 5", C2),
    OK_FORM(rows, "of_three", "f64[3] 11 24 51", X3, S5, C2),
    OK_FORM(rows, "of_none", "f64[0]", "f64[N=0]", S5, C2),
    OK_FORM(history, "of_three", "f64[4] 5 11 24 51", X3, S5, C2),
    OK_FORM(last_reversed, "of_three", "f64[] 57", X3, S5, C2),
    OK_FORM(rows_reversed, "of_three", "f64[3] 57 28 13", X3, S5, C2),
    OK_FORM(history_reversed, "of_three", "f64[4] 57 28 13 5", X3, S5, C2),
    OK_FORM(two_steps, "of_three", "f64[4] 5 11 24 0", X3, S5, C2),
    OK_FORM(two_steps_reversed, "of_three", "f64[3] 25 12 5", X3, S5, C2),
    BAD_FORM(two_steps, "of_one", GEMEL_BAD_VALUE, "a loop over 1 rows can't take 2 steps",
             "f64[N=1] 1", S5, C2),
    OK_FORM(map, "of_three", "f64[3] 1 4 9", X3),
    OK_FORM(map, "of_matrix", "f32[2, 2] 1 4 9 16", "f32[2, 2] 1 2 3 4"),
    OK_FORM(crosswise, "twice", "f64[4, 4] 3 1 -3 -1 -1 3 1 -3 2 -1 -2 1 -1 -2 1 2", "f64[] 1",
            "f64[] 2"),
    OK_FORM(counts, "of_three", "i64[4] 3 3 1 5", X3, S5),
    OK_FORM(doubled, "while", "f64[] 128", "f64[] 100"),
    OK_FORM(doubled_rows, "all", "f64[5] 2 4 8 16 32", "f64[] 100"),
    OK_FORM(doubled_rows, "stopped", "f64[5] 2 4 8 0 0", "f64[] 5"),
    GRAD_FORM(last, "gradient", "f64[] 51", "f64[] 1", "f64[N=3] 4 2 1", "f64[] 8", X3, S5, C2),
    GRAD_FORM(truncated, "gradient", "f64[] 51", "f64[] 1", "f64[N=3] 0 2 1", "f64[] 0", X3, S5,
              C2),
    GRAD_FORM(truncated, "gradient_of_all", "f64[] 22", "f64[] 1", "f64[N=1] 1", "f64[] 2",
              "f64[N=1] 12", S5, C2),
    GRAD_FORM(last, "gradient_of_none", "f64[] 5", "f64[] 1", "f64[N=0]", "f64[] 1", "f64[N=0]", S5,
              C2),
    GRAD_FORM(rows, "gradient", "f64[3] 11 24 51", "f64[N=3] 1 1 1", "f64[N=3] 7 3 1", "f64[] 14",
              X3, S5, C2),
    GRAD_FORM(rows_reversed, "gradient", "f64[3] 57 28 13", "f64[N=3] 1 1 1", "f64[N=3] 1 3 7",
              "f64[] 14", X3, S5, C2),
    GRAD_FORM(history, "gradient", "f64[4] 5 11 24 51", "f64[N + 1=4] 1 0 0 0", "f64[N=3] 0 0 0",
              "f64[] 1", X3, S5, C2),
};

/* ---- What enters ---- */

/* Differences of the rows before and behind each. */
LOOP_FORM(central) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value before = gemel_loop_tap(loop, in[0], -1), behind = gemel_loop_tap(loop, in[0], 1);
  gemel_value y = gemel_loop_stack(loop, gemel_sub(behind, before));
  gemel_loop_end(loop);
  return leave(loop, gemel_loop_stacked(loop, y));
}

/* Row t of y beside row t - 1 of x: so it is for t = 1 on. */
LOOP_FORM(beside) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value before = gemel_loop_tap(loop, in[0], -1), now = gemel_loop_row(loop, in[1]);
  gemel_value y = gemel_loop_stack(loop, gemel_sub(now, before));
  gemel_loop_end(loop);
  return leave(loop, gemel_loop_stacked(loop, y));
}

/* Rows two ahead alone: t begins at 0 in any case, so rows 0 and 1 are not read. */
LOOP_FORM(ahead) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value y = gemel_loop_stack(loop, gemel_neg(gemel_loop_tap(loop, in[0], 2)));
  gemel_loop_end(loop);
  return leave(loop, gemel_loop_stacked(loop, y));
}

/* Fibonacci's numbers: a state of which two values are seen. */
LOOP_FORM(fibonacci) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value f[2];
  gemel_loop_state_taps(loop, in[0], 2, f);
  gemel_loop_next(loop, f[0], gemel_add(f[0], f[1]));
  gemel_loop_end_with(loop, .length = gemel_dim_constant(gemel_graph_context(g), 5));
  return leave(loop, gemel_loop_history(loop, f[0]));
}

/* Three values back, with a weight each. */
LOOP_FORM(recurrence) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value s[3];
  gemel_loop_state_taps(loop, in[0], 3, s);
  gemel_loop_next(loop, s[0], gemel_add(s[2], gemel_mul(s[1], gemel_loop_constant(loop, in[1]))));
  gemel_loop_end_with(loop, .length = gemel_dim_constant(gemel_graph_context(g), 4));
  return leave(loop, gemel_loop_rows(loop, s[0]));
}

/* A state of 2 N elements, while N itself is the size of nothing in the body. */
LOOP_FORM(twice_as_long) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value both = gemel_concatenate(0, in[0], in[0]);
  gemel_value s = gemel_loop_state(loop, both), c = gemel_loop_constant(loop, gemel_neg(both));
  gemel_loop_next(loop, s, gemel_sub(s, c));
  gemel_loop_end_with(loop, .length = gemel_dim_constant(gemel_graph_context(g), 2));
  return leave(loop, gemel_loop_last(loop, s));
}

/* N first, then 2 N: the body knows that a half of the state has N elements. */
LOOP_FORM(half) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value x = gemel_loop_constant(loop, in[0]);
  gemel_value s = gemel_loop_state(loop, gemel_concatenate(0, in[0], in[0]));
  gemel_loop_next(loop, s, gemel_concatenate(0, gemel_add(x, x), x));
  gemel_loop_end_with(loop, .length = gemel_dim_constant(gemel_graph_context(g), 1));
  return leave(loop, gemel_loop_last(loop, s));
}

/* The first elements of x, so many as the i64 y says: a size that is known at run time. */
static gemel_value beginning(const gemel_value *in) {
  gemel_dim size = gemel_dim_of(in[1]);
  gemel_dim zero = gemel_dim_constant(gemel_graph_context(in[0].graph), 0);
  return gemel_subtensor(in[0], 1, &zero, 1, &size);
}

LOOP_FORM(state_of_run_time_size) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value part = beginning(in), s = gemel_loop_state(loop, part);
  gemel_loop_next(loop, s, gemel_add(s, gemel_loop_constant(loop, gemel_neg(part))));
  gemel_loop_row(loop, in[0]);
  gemel_loop_end(loop);
  return leave(loop, gemel_loop_rows(loop, s));
}

LOOP_FORM(rows_of_run_time_number) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value s = gemel_loop_state(loop, gemel_index(in[0], 0, 0));
  gemel_loop_next(loop, s, gemel_add(s, gemel_loop_row(loop, beginning(in))));
  gemel_loop_end(loop);
  return leave(loop, gemel_loop_history(loop, s));
}

LOOP_FORM(length_of_run_time) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value s = gemel_loop_state(loop, gemel_index(in[0], 0, 0));
  gemel_loop_next(loop, s, gemel_add(s, s));
  gemel_loop_end_with(loop, .length = gemel_dim_of(in[1]));
  return leave(loop, gemel_loop_rows(loop, s));
}

/* A loop in a loop: products of all numbers before each, row by row. */
LOOP_FORM(nested) {
  gemel_loop *outer = gemel_loop_begin(g, NULL);
  gemel_value row = gemel_loop_row(outer, in[0]), c = gemel_loop_constant(outer, in[1]);
  gemel_loop *inner = gemel_loop_begin(gemel_loop_body(outer), NULL);
  gemel_value p = gemel_loop_state(inner, c), x = gemel_loop_row(inner, row);
  gemel_loop_next(inner, p, gemel_mul(p, x));
  gemel_loop_end(inner);
  gemel_value all = gemel_loop_stack(outer, gemel_loop_rows(inner, p));
  gemel_loop_free(inner);
  gemel_loop_end(outer);
  return leave(outer, gemel_loop_stacked(outer, all));
}

/* Sizes of run time within a body, which are symbols there, once more. */
LOOP_FORM(nested_sizes) {
  gemel_loop *outer = gemel_loop_begin(g, NULL);
  gemel_value s = gemel_loop_state(outer, beginning(in));
  gemel_loop *inner = gemel_loop_begin(gemel_loop_body(outer), NULL);
  gemel_value r = gemel_loop_state(inner, gemel_concatenate(0, s, s));
  gemel_loop_next(inner, r, gemel_neg(r));
  gemel_value t = gemel_loop_state(inner, s);
  gemel_loop_next(inner, t, gemel_add(t, t));
  gemel_loop_end_with(inner, .length = gemel_dim_constant(gemel_graph_context(g), 3));
  gemel_value twice = gemel_loop_last(inner, r);
  gemel_loop_next(outer, s, gemel_add(gemel_loop_last(inner, t), gemel_max(twice)));
  gemel_loop_free(inner);
  gemel_loop_end_with(outer, .length = gemel_dim_constant(gemel_graph_context(g), 2));
  return leave(outer, gemel_loop_last(outer, s));
}

#define X5 "f64[N=5] 1 2 4 8 16"

static const op_case entering[] = {
    OK_FORM(central, "of_five", "f64[3] 3 6 12", X5),
    OK_FORM(central, "of_two", "f64[0]", "f64[N=2] 1 2"),
    OK_FORM(central, "constant_size", "f64[1] 3", "f64[3] 1 2 4"),
    BAD_FORM(central, "of_one", GEMEL_BAD_SHAPE, "subtensor", "f64[N=1] 1"),
    GRAD_FORM(central, "gradient", "f64[3] 3 6 12", "f64[N - 2=3] 1 2 3", "f64[N=5] -1 -2 -2 2 3",
              NULL, X5),
    OK_FORM(beside, "of_five", "f64[4] 9 18 26 32", X5, "f64[N=5] 5 10 20 30 40"),
    BAD_FORM(beside, "other_number", GEMEL_BAD_SHAPE, "t-loop.c:", X5, "f64[4] 5 10 20 30"),
    OK_FORM(ahead, "of_five", "f64[3] -4 -8 -16", X5),
    OK_FORM(fibonacci, "five", "f64[6] 1 2 3 5 8 13", "f64[2] 1 1"),
    OK_FORM(fibonacci, "symbol", "f64[6] 1 2 3 5 8 13", "f64[N=2] 1 1"),
    OK_FORM(fibonacci, "vectors", "f64[6, 1] 1 2 3 5 8 13", "f64[2, 1] 1 1"),
    BAD_FORM(fibonacci, "three", GEMEL_BAD_SHAPE, "2 values of a state begin as 3 rows",
             "f64[3] 1 1 1"),
    GRAD_FORM(fibonacci, "gradient", "f64[6] 1 2 3 5 8 13", "f64[6] 0 0 0 0 0 1", "f64[2] 5 8",
              NULL, "f64[2] 1 1"),
    OK_FORM(recurrence, "three", "f64[4] 5 8 13 21", "f64[3] 1 2 3", "f64[] 2"),
    GRAD_FORM(recurrence, "gradient", "f64[4] 5 8 13 21", "f64[4] 0 0 0 1", "f64[3] 1 4 4",
              "f64[] 16", "f64[3] 1 2 3", "f64[] 2"),
    OK_FORM(twice_as_long, "two", "f64[4] 3 6 3 6", "f64[N=2] 1 2"),
    OK_FORM(half, "two", "f64[4] 2 4 1 2", "f64[N=2] 1 2"),
    OK_FORM(state_of_run_time_size, "two", "f64[3, 2] 0 0 -1 -2 -2 -4", X3, "i64[] 2"),
    OK_FORM(rows_of_run_time_number, "two", "f64[3] 1 2 4", X3, "i64[] 2"),
    OK_FORM(length_of_run_time, "two", "f64[2] 2 4", X3, "i64[] 2"),
    OK_FORM(nested, "matrix", "f64[2, 3] 1 2 6 4 20 120", "f64[2, 3] 1 2 3 4 5 6", "f64[] 1"),
    OK_FORM(nested, "symbols", "f64[2, 3] 1 2 6 4 20 120", "f64[N=2, M=3] 1 2 3 4 5 6", "f64[] 1"),
    GRAD_FORM(nested, "gradient", "f64[2, 3] 1 2 6 4 20 120", "f64[N=2, M=3] 0 0 1 0 0 1",
              "f64[N=2, M=3] 6 3 2 30 24 20", "f64[] 126", "f64[N=2, M=3] 1 2 3 4 5 6", "f64[] 1"),
    OK_FORM(nested_sizes, "two", "f64[2] 49 113", X3, "i64[] 2"),
};

/* ---- Checkpoints ---- */

#define BY_THREES(form, what, way)                                                                 \
  LOOP_FORM(form) {                                                                                \
    return horner(g, in, what, LOOP(.every = 3, .reverse = way));                                  \
  }
BY_THREES(last_by_threes, gemel_loop_last_at, 0)
BY_THREES(rows_by_threes, gemel_loop_rows_at, 0)
BY_THREES(history_by_threes, gemel_loop_history_at, 0)
BY_THREES(last_by_threes_reversed, gemel_loop_last_at, 1)
BY_THREES(rows_by_threes_reversed, gemel_loop_rows_at, 1)
BY_THREES(history_by_threes_reversed, gemel_loop_history_at, 1)

/* A state, taps, a matrix a row, no constant: what is stacked. */
LOOP_FORM(stacked_by_twos) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value s = gemel_loop_state(loop, in[1]);
  gemel_value difference =
      gemel_sub(gemel_loop_tap(loop, in[0], 1), gemel_loop_tap(loop, in[0], -1));
  gemel_loop_next(loop, s, gemel_add(s, difference));
  gemel_value y = gemel_loop_stack(loop, gemel_mul(s, difference));
  gemel_loop_end_with(loop, .every = 2);
  return leave(loop, gemel_loop_stacked(loop, y));
}

/* Powers of two, so many as the i64 y says, and how many. */
LOOP_FORM(powers_by_threes) {
  gemel_loop *loop = gemel_loop_begin(g, NULL);
  gemel_value s = gemel_loop_state(loop, in[0]);
  gemel_loop_next(loop, s, gemel_add(s, s));
  gemel_loop_end_with(loop, .length = gemel_dim_of(in[1]), .every = 3);
  gemel_value count = gemel_cast(gemel_loop_count(loop), GEMEL_F64);
  return leave(loop, gemel_add(gemel_loop_rows(loop, s), count));
}

#define X7 "f64[N=7] 1 2 3 4 5 6 7"
#define X6 "f64[N=6] 1 2 3 4 5 6"

static const op_case checkpoints[] = {
    OK_FORM(last_by_threes, "of_seven", "f64[] 887", X7, S5, C2),
    OK_FORM(last_by_threes, "constant_size", "f64[] 887", "f64[7] 1 2 3 4 5 6 7", S5, C2),
    OK_FORM(last_by_threes, "of_six", "f64[] 440", X6, S5, C2),
    OK_FORM(last_by_threes, "just_six", "f64[] 440", "f64[6] 1 2 3 4 5 6", S5, C2),
    OK_FORM(last_by_threes, "of_two", "f64[] 24", "f64[N=2] 1 2", S5, C2),
    OK_FORM(last_by_threes, "just_two", "f64[] 24", "f64[2] 1 2", S5, C2),
    OK_FORM(last_by_threes, "of_none", "f64[] 5", "f64[N=0]", S5, C2),
    OK_FORM(rows_by_threes, "of_seven", "f64[7] 11 24 51 106 217 440 887", X7, S5, C2),
    OK_FORM(rows_by_threes, "of_two", "f64[2] 11 24", "f64[N=2] 1 2", S5, C2),
    OK_FORM(rows_by_threes, "vectors", "f64[4, 2] 11 11 24 24 51 51 103 103",
            "f64[4, M=2] 1 1 2 2 3 3 1 1", "f64[M=2] 5 5", C2),
    OK_FORM(history_by_threes, "of_seven", "f64[8] 5 11 24 51 106 217 440 887", X7, S5, C2),
    OK_FORM(history_by_threes, "of_six", "f64[7] 5 11 24 51 106 217 440", X6, S5, C2),
    OK_FORM(last_by_threes_reversed, "of_seven", "f64[] 1409", X7, S5, C2),
    OK_FORM(rows_by_threes_reversed, "of_seven", "f64[7] 1409 704 351 174 85 40 17", X7, S5, C2),
    OK_FORM(history_by_threes_reversed, "of_seven", "f64[8] 1409 704 351 174 85 40 17 5", X7, S5,
            C2),
    OK_FORM(stacked_by_twos, "of_five", "f64[3, 1] 3 24 120", "f64[N=5, 1] 1 2 4 8 16", "f64[1] 1"),
    OK_FORM(powers_by_threes, "five", "f64[5] 7 9 13 21 37", "f64[] 1", "i64[] 5"),
    OK_FORM(powers_by_threes, "six", "f64[6] 8 10 14 22 38 70", "f64[] 1", "i64[] 6"),
    GRAD_FORM(last_by_threes, "gradient", "f64[] 887", "f64[] 1", "f64[N=7] 64 32 16 8 4 2 1",
              "f64[] 128", X7, S5, C2),
    GRAD_FORM(rows_by_threes, "gradient", "f64[7] 11 24 51 106 217 440 887", "f64[7] 1 0 0 0 0 1 0",
              "f64[N=7] 33 16 8 4 2 1 0", "f64[] 66", X7, S5, C2),
    GRAD_FORM(last_by_threes_reversed, "gradient", "f64[] 1409", "f64[] 1",
              "f64[N=7] 1 2 4 8 16 32 64", "f64[] 128", X7, S5, C2),
};

/* The gradient of tanh loops over ROWS rows of 64 numbers by the initial value and a weight, in
 * OUT; how much memory a call takes. */
static size_t tanh_gradient(int64_t rows, int64_t every, gemel_tensor **out) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value x = gemel_declare(graph, "x: f64[T]"), start = gemel_declare(graph, "s: f64[64]");
  gemel_value w = gemel_declare(graph, "w: f64[64]");
  gemel_loop *loop = gemel_loop_begin(graph, &error);
  gemel_value s = gemel_loop_state(loop, start), row = gemel_loop_row(loop, x);
  gemel_value inner_w = gemel_loop_constant(loop, w);
  gemel_loop_next(loop, s, gemel_tanh(gemel_add(gemel_mul(s, inner_w), row)));
  gemel_loop_end_with(loop, .every = every);
  gemel_value loss = gemel_sum(gemel_sqr(gemel_loop_last(loop, s))), by[] = {x, start, w},
              slopes[3];
  gemel_loop_free(loop);
  CT_EQ_INT(gemel_grad(1, &loss, NULL, 3, by, slopes, &error), GEMEL_OK);
  for (int k = 0; k < 3; k++) {
    gemel_output(slopes[k], (const char *[]){"x", "s", "w"}[k]);
  }
  gemel_function *f = gemel_compile(graph, NULL, &error);
  gemel_tensor *in[3];
  for (int k = 0; k < 3; k++) {
    in[k] = gemel_tensor_new(GEMEL_F64, 1, (const int64_t[]){k == 0 ? rows : 64}, &error);
    for (int64_t i = 0; i < (k == 0 ? rows : 64); i++) {
      ((double *)gemel_tensor_data(in[k]))[i] = sin((double)(i + k));
    }
  }
  CT_EQ_INT(gemel_call(f, 3, in, 3, out, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  size_t bytes = gemel_function_bytes(f);
  for (int k = 0; k < 3; k++) {
    gemel_tensor_unref(in[k]);
  }
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return bytes;
}

/* The gradient is what it is without checkpoints, up to the order of sums, and takes the memory of
 * T / every + every steps: of the states, once more for the rows between, and some for a step. */
static void checkpoint_memory(const void *data) {
  static const struct { int64_t rows, every; } sizes[] = {{1024, 32}, {1000, 32}, {31, 32}, {7, 1}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(sizes); k++) {
    int64_t rows = sizes[k].rows, every = sizes[k].every;
    gemel_tensor *plain[3] = {NULL}, *out[3] = {NULL};
    size_t all = tanh_gradient(rows, 0, plain), some = tanh_gradient(rows, every, out);
    ct_context("%lld rows, every %lld: %zu bytes, %zu without", (long long)rows, (long long)every,
               some, all);
    if (rows >= 1000) {
      CT_CHECK(all > (size_t)rows * 64 * 8);
      CT_CHECK(some < (size_t)(2 * (rows / every + every) + 16) * 64 * 8);
    }
    for (int j = 0; j < 3; j++) {
      for (int64_t i = 0; i < gemel_tensor_elements(out[j]); i++) {
        double a = ((double *)gemel_tensor_data(out[j]))[i];
        double b = ((double *)gemel_tensor_data(plain[j]))[i];
        CT_CHECK(is_near(a, b, 1e-12 * (1 + fabs(b))));
      }
      gemel_tensor_unref(out[j]);
      gemel_tensor_unref(plain[j]);
    }
  }
}

/* ---- What is said ---- */

typedef struct scene {
  gemel_graph *graph;
  gemel_value x, y, c; /* f64[N, 2], f64[2], f64[] */
  gemel_loop *loop;
  gemel_value s, row; /* y as a state, a row of x */
} scene;

static scene open_scene(void) {
  scene a;
  gemel_context *context = gemel_context_new(NULL);
  a.graph = gemel_graph_new(context, NULL);
  gemel_context_unref(context);
  a.x = gemel_declare(a.graph, "x: f64[N, 2] positive");
  a.y = gemel_declare(a.graph, "y: f64[2] finite");
  a.c = gemel_declare(a.graph, "c: f64[]");
  a.loop = gemel_loop_begin(a.graph, NULL);
  a.s = gemel_loop_state(a.loop, a.y);
  a.row = gemel_loop_row(a.loop, a.x);
  return a;
}

static void close_scene(scene *a) {
  gemel_loop_free(a->loop);
  gemel_graph_unref(a->graph);
}

/* The graph's error: STATUS, the place of this line, and TEXT behind it. Clears it. */
static void said(gemel_graph *graph, gemel_status status, const char *text, int line) {
  char place[40];
  snprintf(place, sizeof place, "t-loop.c:%d: ", line);
  CT_EQ_INT(gemel_graph_error(graph)->status, status);
  CT_HAS_STR(gemel_graph_error(graph)->text, place);
  CT_HAS_STR(gemel_graph_error(graph)->text, text);
  gemel_graph_clear_error(graph);
}
#define SAYS(graph, call, text)                                                                    \
  do {                                                                                             \
    ct_context("%s", #call);                                                                       \
    CT_CHECK(gemel_is_null(call));                                                                 \
    said(graph, GEMEL_BAD_ARGUMENT, text, __LINE__);                                               \
  } while (0)
#define REFUSES(graph, call, status, text)                                                         \
  do {                                                                                             \
    ct_context("%s", #call);                                                                       \
    CT_EQ_INT(call, status);                                                                       \
    said(graph, status, text, __LINE__);                                                           \
  } while (0)

static const gemel_value none = {NULL, 0, 0};

/* Values of the graph around in the body, and the other way round. */
static void strangers(const void *data) {
  scene a = open_scene();
  gemel_graph *body = gemel_loop_body(a.loop), *other = gemel_graph_new(NULL, NULL);
  const char *enters = "as a constant or a row of the loop";
  (void)data;
  CT_CHECK(other == NULL);
  CT_CHECK(a.s.graph == body && a.row.graph == body);
  SAYS(body, gemel_add(a.s, a.y), "input 1 of add is a value of the graph around the loop");
  SAYS(body, gemel_mul(a.s, a.c), enters);
  SAYS(a.graph, gemel_mul(a.c, a.s), enters);
  SAYS(a.graph, gemel_mul(a.c, a.s), "input 1 of mul is a value of a loop's body");
  SAYS(a.graph, gemel_loop_stack(a.loop, a.c), enters);
  SAYS(a.graph, gemel_loop_row(a.loop, a.row), "a value of a loop's body");
  REFUSES(a.graph, gemel_loop_next(a.loop, a.s, a.y), GEMEL_BAD_ARGUMENT, enters);
  REFUSES(a.graph, gemel_loop_next(a.loop, a.y, a.s), GEMEL_BAD_ARGUMENT, enters);
  REFUSES(a.graph, gemel_loop_until(a.loop, a.c), GEMEL_BAD_ARGUMENT, enters);
  gemel_loop *inner = gemel_loop_begin(body, NULL);
  gemel_value t = gemel_loop_state(inner, a.s);
  SAYS(t.graph, gemel_add(t, a.y), enters);
  SAYS(t.graph, gemel_add(t, a.s), enters);
  SAYS(a.graph, gemel_add(a.y, t), enters);
  SAYS(body, gemel_loop_constant(inner, a.c), enters);
  gemel_loop_free(inner);
  SAYS(body, gemel_add(a.s, t), "a value of another graph");
  close_scene(&a);
}

/* Calls in the wrong order, or with what they don't take. */
static void misuse(const void *data) {
  scene a = open_scene();
  gemel_error error = {0};
  gemel_value pair[2], made_up = a.y;
  (void)data;
  made_up.node = 1000;
  CT_CHECK(gemel_loop_begin(NULL, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  SAYS(a.graph, gemel_loop_state(a.loop, none), "given is null");
  SAYS(a.graph, gemel_loop_constant(a.loop, made_up), "no value of its graph");
  SAYS(a.graph, gemel_loop_tap(a.loop, a.x, INT64_MIN), "beyond 2^31");
  SAYS(a.graph, gemel_loop_state_taps(a.loop, a.x, 0, pair), "one value or more");
  SAYS(a.graph, gemel_loop_state_taps(a.loop, a.x, 2, NULL), "an array for them");
  SAYS(a.graph, gemel_loop_state_taps(a.loop, none, 2, pair), "given is null");
  CT_CHECK(gemel_is_null(pair[0]) && gemel_is_null(pair[1]));
  SAYS(a.graph, gemel_loop_last(a.loop, a.s), "the loop has not ended");
  SAYS(a.graph, gemel_loop_stacked(a.loop, a.s), "the loop has not ended");
  SAYS(a.graph, gemel_loop_count(a.loop), "the loop has not ended");
  REFUSES(a.graph, gemel_loop_next(a.loop, a.row, a.s), GEMEL_BAD_ARGUMENT, "no state");
  REFUSES(a.graph, gemel_loop_next(a.loop, a.s, none), GEMEL_BAD_ARGUMENT, "given is null");
  CT_EQ_INT(gemel_loop_next(a.loop, a.s, a.row), GEMEL_OK);
  REFUSES(a.graph, gemel_loop_next(a.loop, a.s, a.row), GEMEL_BAD_ARGUMENT, "has its next value");
  CT_EQ_INT(gemel_loop_until(a.loop, gemel_any(a.s)), GEMEL_OK);
  REFUSES(a.graph, gemel_loop_until(a.loop, gemel_any(a.s)), GEMEL_BAD_ARGUMENT, "to stop at");
  REFUSES(a.graph, gemel_loop_end(a.loop), GEMEL_BAD_ARGUMENT, "has failed before");
  REFUSES(a.graph, gemel_loop_end(a.loop), GEMEL_BAD_ARGUMENT, "the loop has ended");
  SAYS(a.graph, gemel_loop_row(a.loop, a.x), "the loop has ended");
  SAYS(a.graph, gemel_loop_rows(a.loop, a.s), "the loop came to nothing");
  CT_EQ_INT(gemel_loop_end(NULL), GEMEL_BAD_ARGUMENT);
  close_scene(&a);
}

/* A shape is no argument. */
static void no_rows(const void *data) {
  scene a = open_scene();
  (void)data;
  CT_CHECK(gemel_is_null(gemel_loop_row(a.loop, a.c)));
  said(a.graph, GEMEL_BAD_SHAPE, "a scalar has no rows", __LINE__ - 1);
  close_scene(&a);
}

/* Ends a loop whose state becomes NEXT(state), with these options: what is said, and where. */
static void ends_with(gemel_value next(scene *), gemel_loop_options options, int stops,
                      gemel_status status, const char *text) {
  scene a = open_scene();
  gemel_value value = next(&a);
  if (!gemel_is_null(value)) {
    gemel_loop_next(a.loop, a.s, value);
  }
  if (stops) {
    gemel_loop_until(a.loop, gemel_any(a.s));
  }
  ct_context("%s", text);
  CT_EQ_INT(gemel_loop_end_at(a.loop, &options, GEMEL_HERE), status);
  CT_EQ_INT(gemel_graph_error(a.graph)->status, status);
  CT_HAS_STR(gemel_graph_error(a.graph)->text, text);
  CT_HAS_STR(gemel_graph_error(a.graph)->text, "t-loop.c:");
  CT_CHECK(gemel_is_null(gemel_loop_last(a.loop, a.s)));
  CT_HAS_STR(gemel_graph_error(a.graph)->text, text); /* the first error */
  close_scene(&a);
}

static gemel_value next_row(scene *a) {
  return a->row;
}
static gemel_value next_scalar(scene *a) {
  return gemel_sum(a->row);
}
static gemel_value next_single(scene *a) {
  return gemel_cast(a->row, GEMEL_F32);
}
static gemel_value next_missing(scene *a) {
  (void)a;
  return none;
}
static gemel_value next_wrong(scene *a) {
  return gemel_matmul(a->s, gemel_sum(a->s));
}
static gemel_value next_declared(scene *a) {
  return gemel_declare(gemel_loop_body(a->loop), "z: f64[2]");
}
static gemel_value next_named(scene *a) {
  gemel_output(a->row, "z");
  return a->row;
}

static void ends(const void *data) {
  gemel_loop_options plain = LOOP(), back = LOOP(.reverse = 1), twos = LOOP(.every = 2);
  gemel_loop_options less = LOOP(.every = -1), unsized = {.every = 2};
  (void)data;
  ends_with(next_scalar, plain, 0, GEMEL_BAD_TYPE,
            "state s0 begins as f64[2] and becomes f64[] (n0)");
  ends_with(next_single, plain, 0, GEMEL_BAD_TYPE, "begins as f64[2] and becomes f32[2]");
  ends_with(next_missing, plain, 0, GEMEL_BAD_ARGUMENT, "the state has no next value");
  ends_with(next_wrong, plain, 0, GEMEL_BAD_SHAPE, "a scalar has no axis");
  ends_with(next_declared, plain, 0, GEMEL_BAD_ARGUMENT, "no inputs and outputs but");
  ends_with(next_named, plain, 0, GEMEL_BAD_ARGUMENT, "no inputs and outputs but");
  ends_with(next_row, back, 1, GEMEL_UNSUPPORTED, "until and reverse");
  ends_with(next_row, unsized, 0, GEMEL_BAD_ARGUMENT, "the size of gemel_loop_options is 0");
  ends_with(next_row, less, 0, GEMEL_BAD_ARGUMENT, "every step or more");
  ends_with(next_row, twos, 1, GEMEL_UNSUPPORTED, "has no steps, stop or truncate");
  ends_with(next_scalar, twos, 0, GEMEL_BAD_TYPE, "begins as f64[2] and becomes f64[]");
}

/* A loop that nothing ends, one of nothing, and one that keeps no rows. */
static void lengths(const void *data) {
  scene a = open_scene();
  gemel_loop *loop = gemel_loop_begin(a.graph, NULL);
  gemel_value s = gemel_loop_state(loop, a.y);
  (void)data;
  gemel_loop_next(loop, s, gemel_add(s, s));
  REFUSES(a.graph, gemel_loop_end(loop), GEMEL_BAD_ARGUMENT, "needs a length");
  gemel_loop_free(loop);
  loop = gemel_loop_begin(a.graph, NULL);
  REFUSES(a.graph, gemel_loop_end(loop), GEMEL_BAD_ARGUMENT, "a state, a row or a constant");
  gemel_loop_free(loop);
  loop = gemel_loop_begin(a.graph, NULL);
  s = gemel_loop_state(loop, a.y);
  gemel_loop_next(loop, s, gemel_add(s, s));
  gemel_loop_until(loop, gemel_any(s));
  CT_EQ_INT(gemel_loop_end(loop), GEMEL_OK);
  CT_CHECK(!gemel_is_null(gemel_loop_last(loop, s)));
  SAYS(a.graph, gemel_loop_rows(loop, s), "keeps the last values alone");
  SAYS(a.graph, gemel_loop_history(loop, s), "keeps the last values alone");
  SAYS(a.graph, gemel_loop_stacked(loop, s), "the value isn't one of those that are stacked");
  SAYS(a.graph, gemel_loop_last(loop, gemel_add(s, s)), "no state of the loop");
  SAYS(a.graph, gemel_loop_last(loop, a.y), "a value of the graph around the loop");
  gemel_loop_free(loop);
  close_scene(&a);
}

/* What enters twice is one value, assumptions come with it, and a loop that is built twice, with
 * what enters in another order, is one node, made at the line of its end. */
static void identity(const void *data) {
  scene a = open_scene();
  gemel_value scans[2];
  int line = 0;
  (void)data;
  gemel_value c = gemel_loop_constant(a.loop, a.y), tap = gemel_loop_tap(a.loop, a.x, 1);
  CT_EQ_UINT(gemel_loop_constant(a.loop, a.y).node, c.node);
  CT_EQ_UINT(gemel_loop_row(a.loop, a.x).node, a.row.node);
  CT_EQ_UINT(gemel_loop_tap(a.loop, a.x, 1).node, tap.node);
  CT_CHECK(tap.node != a.row.node && c.node != a.s.node);
  CT_CHECK(gemel_loop_state(a.loop, a.y).node != a.s.node);
  CT_EQ_UINT(gemel_assumed(c), gemel_assumed(a.y));
  CT_EQ_UINT(gemel_assumed(a.row), gemel_assumed(a.x));
  CT_EQ_UINT(gemel_assumed(tap), GEMEL_FACT_POSITIVE);
  CT_EQ_UINT(gemel_assumed(a.s), 0);
  for (int k = 0; k < 2; k++) {
    gemel_loop *loop = gemel_loop_begin(a.graph, NULL);
    gemel_value row = k == 0 ? gemel_loop_row(loop, a.x) : none;
    gemel_value s = gemel_loop_state(loop, a.y), z = gemel_loop_constant(loop, a.c);
    row = k == 0 ? row : gemel_loop_row(loop, a.x);
    gemel_loop_next(loop, s, gemel_add(gemel_mul(s, z), row));
    line = k == 0 ? __LINE__ + 1 : line;
    gemel_loop_end(loop);
    scans[k] = gemel_loop_last(loop, s);
    gemel_loop_free(loop);
  }
  CT_EQ_UINT(scans[0].node, scans[1].node);
  CT_EQ_INT(gemel_value_where(scans[0]).line, line);
  gemel_output(scans[0], "s");
  char *text = gemel_print_string(a.graph, "g", NULL);
  CT_HAS_STR(text, "(s0: f64[2], x0: f64[2] positive, c0: f64[])");
  CT_HAS_STR(text, "n0 = ");
  gemel_text_free(text);
  close_scene(&a);
}

/* Sizes that are symbols in the body alone are read as they are printed. */
static void printed(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value in[2] = {gemel_declare(graph, "x: f64[N]"), gemel_declare(graph, "n: i64[]")};
  gemel_error error = {0};
  (void)data;
  gemel_output(state_of_run_time_size(graph, in), "rows");
  char *text = gemel_print_string(graph, "g", &error);
  gemel_graph *again = gemel_parse(context, text, strlen(text), "test", NULL, &error);
  CT_EQ_STR(error.text, "");
  char *same = gemel_print_string(again, "g", &error);
  CT_EQ_STR(same, text);
  gemel_text_free(text);
  gemel_text_free(same);
  gemel_graph_unref(again);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Memory ---- */

/* All there is, or with DATA all of a loop with checkpoints. */
static int build_all(void *data) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = context != NULL ? gemel_graph_new(context, &error) : NULL;
  gemel_loop *loop = graph != NULL ? gemel_loop_begin(graph, &error) : NULL;
  if (loop != NULL) {
    gemel_value x = gemel_declare(graph, "x: f32[N, M]"), s[2];
    gemel_value ends = gemel_concatenate(1, x, x);
    gemel_loop_state_taps(loop, gemel_slice(ends, 0, 0, 2), 2, s);
    gemel_value row = gemel_loop_tap(loop, x, -1);
    CT_CHECK(gemel_is_null(row) || gemel_loop_tap(loop, x, -1).node == row.node ||
             gemel_graph_error(graph)->status == GEMEL_NO_MEMORY);
    gemel_value all = gemel_loop_constant(loop, ends);
    gemel_loop_next(loop, s[0], gemel_add(s[1], gemel_concatenate(0, row, row)));
    gemel_value sum = gemel_loop_stack(loop, gemel_sum(all));
    if (data == NULL) {
      gemel_loop_until(loop, gemel_any(s[0]));
    }
    gemel_loop_end_with(loop, .every = data != NULL ? 2 : 0);
    gemel_output(gemel_loop_rows(loop, s[0]), "rows");
    gemel_output(gemel_loop_stacked(loop, sum), "sums");
    gemel_output(gemel_loop_count(loop), "count");
    gemel_output(gemel_loop_last(loop, s[1]), "last");
    error = *gemel_graph_error(graph);
  }
  gemel_loop_free(loop);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return (int)error.status;
}

static void memory(const void *data) {
  (void)data;
  int with = 1;
  CT_CHECK(ct_oom(build_all, NULL) > 40);
  CT_CHECK(ct_oom(build_all, &with) > 60);
}

static const ct_test tests[] = {
    CT_TEST("strangers", strangers, NULL), CT_TEST("misuse", misuse, NULL),
    CT_TEST("no_rows", no_rows, NULL),     CT_TEST("ends", ends, NULL),
    CT_TEST("lengths", lengths, NULL),     CT_TEST("identity", identity, NULL),
    CT_TEST("printed", printed, NULL),     CT_TEST("memory", memory, NULL)};

void ct_register(void) {
  OPT_SUITE("results", results);
  OPT_SUITE("entering", entering);
  OPT_SUITE("checkpoints", checkpoints);
  CT_ADD("checkpoints", "memory", checkpoint_memory, NULL);
  ct_suite("loop", tests, CT_COUNT(tests));
}
