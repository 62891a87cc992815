/* SPDX-License-Identifier: MIT
 *
 * What a user of NumPy needs daily and is no operation of its own: matmul, mean, transpose, slices,
 * losses. Each is composed of operations (<gemel/ops.h>), so it is differentiated, rewritten, run
 * and verified as these are, and nothing of it is left in a graph but they. A call costs what its
 * few operations cost.
 *
 *   gemel_mean(x)                           of all elements
 *   gemel_mean_over(x, 0, -1)               over these axes, in C
 *   gemel_mean_with(x, .axes = GEMEL_INTS(0), .keepdims = 1)   with options by name, in C
 *   gemel_mean_at(x, &options, where)       the function behind all three; options may be NULL
 *
 * Where sizes, axes or values are listed, gemel_name(x, 2, 3) is a macro of C, and gemel_name_at
 * takes a count and an array, which are borrowed for the time of the call. Axes may be counted from
 * the end. Nodes are created as of WHERE, and errors name it. All functions return the null value
 * when a value given is null or the graph refuses, with the first error on the graph; none is
 * thread-safe against another call on the same graph.
 */
#ifndef GEMEL_COMPOSITE_H
#define GEMEL_COMPOSITE_H

#include <gemel/graph.h>
#include <gemel/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Products ---- */

/* The matrix product, as numpy.matmul: of the last two axes, those before them broadcast; a vector
 * is a row on the left and a column on the right, and that axis is dropped. Dtypes are promoted.
 * Errors: GEMEL_BAD_SHAPE (a scalar, sizes that differ). */
gemel_value gemel_matmul_at(gemel_value x, gemel_value y, gemel_location where);
#define gemel_matmul(...) gemel_matmul_at(__VA_ARGS__, GEMEL_HERE)

/* Sums of products in Einstein's notation, as numpy.einsum: gemel_einsum("ij,jk->ik", x, y). Each
 * axis of each operand has a letter, "..." stands for what axes are left, which broadcast. Over
 * what isn't in the result is summed; a letter that an operand has twice is its diagonal. Without
 * "->" the result has the axes of "..." and the letters that stand there once, in the order of
 * ASCII. Dtypes are promoted. Operands are multiplied from the left. Errors: GEMEL_BAD_VALUE (no
 * equation), GEMEL_BAD_SHAPE (a term that doesn't fit an operand, sizes that differ),
 * GEMEL_BAD_ARGUMENT (more than 64 operands). */
gemel_value gemel_einsum_at(const char *equation, size_t n_xs, const gemel_value *xs,
                            gemel_location where);

/* The inverse of square matrices a[..., n, n]: solve(a, identity). Where it is multiplied by a
 * right side, gemel_solve itself is faster and more accurate. Errors: as gemel_solve. */
gemel_value gemel_inv_at(gemel_value a, gemel_location where);
#define gemel_inv(...) gemel_inv_at(__VA_ARGS__, GEMEL_HERE)

/* ---- Reductions ---- */

/* Mean over axes (all when absent). Of integers and bools an f64, as in NumPy; f16 and bf16 are
 * added up in f32. Of no elements NaN. Errors: as gemel_sum. */
gemel_value gemel_mean_at(gemel_value x, const gemel_sum_options *options, gemel_location where);
#define gemel_mean(...) gemel_mean_at(__VA_ARGS__, NULL, GEMEL_HERE)

typedef struct gemel_var_options {
  size_t size; /* sizeof(gemel_var_options): gemel_var_with and gemel_std_with set it */
  gemel_ints axes;
  int64_t keepdims;
  int64_t ddof; /* what the number of elements is reduced by before it divides: 0, or 1 for samples
                 */
} gemel_var_options;

/* Variance over axes: the mean of squared distances from the mean, dtypes as there. */
gemel_value gemel_var_at(gemel_value x, const gemel_var_options *options, gemel_location where);
#define gemel_var(...) gemel_var_at(__VA_ARGS__, NULL, GEMEL_HERE)

/* Standard deviation over axes: the square root of the variance. */
gemel_value gemel_std_at(gemel_value x, const gemel_var_options *options, gemel_location where);
#define gemel_std(...) gemel_std_at(__VA_ARGS__, NULL, GEMEL_HERE)

/* Smallest over axes, as gemel_max in all else: NaN if any is, and an empty axis is an error. */
gemel_value gemel_min_at(gemel_value x, const gemel_max_options *options, gemel_location where);
#define gemel_min(...) gemel_min_at(__VA_ARGS__, NULL, GEMEL_HERE)

/* Index (i64) of the first smallest along an axis; NaN counts as smallest, as in NumPy. */
gemel_value gemel_argmin_at(gemel_value x, int64_t axis, gemel_location where);
#define gemel_argmin(...) gemel_argmin_at(__VA_ARGS__, GEMEL_HERE)

/* Whether any element, or each, differs from 0, over axes: bools. Of no elements false, and true.
 */
gemel_value gemel_any_at(gemel_value x, const gemel_sum_options *options, gemel_location where);
#define gemel_any(...) gemel_any_at(__VA_ARGS__, NULL, GEMEL_HERE)
gemel_value gemel_all_at(gemel_value x, const gemel_sum_options *options, gemel_location where);
#define gemel_all(...) gemel_all_at(__VA_ARGS__, NULL, GEMEL_HERE)

/* ---- Axes and shapes ---- */

/* All axes in opposite order, as NumPy's x.T: of a matrix its transpose. */
gemel_value gemel_transpose_at(gemel_value x, gemel_location where);
#define gemel_transpose(...) gemel_transpose_at(__VA_ARGS__, GEMEL_HERE)

/* Axis k of the result is axis AXES[k] of x; each stands there once. Errors: GEMEL_BAD_SHAPE. */
gemel_value gemel_permute_at(gemel_value x, size_t n_axes, const int64_t *axes,
                             gemel_location where);

/* x with axes A and B exchanged. Errors: GEMEL_BAD_SHAPE (no such axis). */
gemel_value gemel_swapaxes_at(gemel_value x, int64_t a, int64_t b, gemel_location where);
#define gemel_swapaxes(...) gemel_swapaxes_at(__VA_ARGS__, GEMEL_HERE)

/* x with a new axis of size 1, which is axis AXIS of the result. Errors: GEMEL_BAD_SHAPE. */
gemel_value gemel_expand_dims_at(gemel_value x, int64_t axis, gemel_location where);
#define gemel_expand_dims(...) gemel_expand_dims_at(__VA_ARGS__, GEMEL_HERE)

/* x without AXIS, whose size is 1. Errors: GEMEL_BAD_SHAPE (no such axis, another size; a size that
 * is a symbol is looked at when the graph is called). */
gemel_value gemel_squeeze_at(gemel_value x, int64_t axis, gemel_location where);
#define gemel_squeeze(...) gemel_squeeze_at(__VA_ARGS__, GEMEL_HERE)

/* The same elements in row-major order in another shape; one size may be -1, and is what is left of
 * the number of elements. (gemel_reshape takes sizes with symbols.) Errors: GEMEL_BAD_SHAPE. */
gemel_value gemel_reshape_to_at(gemel_value x, size_t n_shape, const int64_t *shape,
                                gemel_location where);

/* All elements in row-major order as one axis. */
gemel_value gemel_flatten_at(gemel_value x, gemel_location where);
#define gemel_flatten(...) gemel_flatten_at(__VA_ARGS__, GEMEL_HERE)

/* XS one behind the other along AXIS; dtypes are promoted. gemel_concatenate(0, x, y) in C. Errors:
 * GEMEL_BAD_SHAPE (no such axis, sizes of the others that differ), GEMEL_BAD_ARGUMENT (none). */
gemel_value gemel_concatenate_at(size_t n_xs, const gemel_value *xs, int64_t axis,
                                 gemel_location where);

/* XS, all of one shape, along a new axis, which is axis AXIS of the result. As
 * gemel_concatenate_at. */
gemel_value gemel_stack_at(size_t n_xs, const gemel_value *xs, int64_t axis, gemel_location where);

/* ---- Parts ---- */

/* As STOP of a slice: all that is left. */
#define GEMEL_TO_END INT64_MAX

/* NumPy's x[start:stop:step] along AXIS, the others whole: elements START, START + STEP, … before
 * STOP, for a negative STEP behind it. Negative bounds count from the end, also from one that is a
 * symbol. Bounds that cross enclose nothing. Otherwise than in NumPy, bounds outside of x are
 * errors: GEMEL_BAD_VALUE, when the graph is called if sizes are symbols; so are bounds that a
 * symbol makes cross (GEMEL_BAD_SHAPE). Errors: GEMEL_BAD_SHAPE (no such axis), GEMEL_BAD_VALUE
 * (STEP 0). */
gemel_value gemel_slice_step_at(gemel_value x, int64_t axis, int64_t start, int64_t stop,
                                int64_t step, gemel_location where);
#define gemel_slice_step(...) gemel_slice_step_at(__VA_ARGS__, GEMEL_HERE)

/* NumPy's x[start:stop] along AXIS: gemel_slice_step_at with step 1. */
gemel_value gemel_slice_at(gemel_value x, int64_t axis, int64_t start, int64_t stop,
                           gemel_location where);
#define gemel_slice(...) gemel_slice_at(__VA_ARGS__, GEMEL_HERE)

/* NumPy's x[index] along AXIS, which is dropped; a negative INDEX counts from the end. Errors: as
 * gemel_slice_step_at. */
gemel_value gemel_index_at(gemel_value x, int64_t axis, int64_t index, gemel_location where);
#define gemel_index(...) gemel_index_at(__VA_ARGS__, GEMEL_HERE)

/* NumPy's take_along_axis: the element of x at each index along AXIS, at the index's own place
 * along the other axes, where INDICES may be shorter than x. As gemel_take otherwise. Errors:
 * GEMEL_BAD_SHAPE (no such axis, ranks that differ), and those of gemel_take. */
gemel_value gemel_take_along_axis_at(gemel_value x, gemel_value indices, int64_t axis,
                                     gemel_location where);
#define gemel_take_along_axis(...) gemel_take_along_axis_at(__VA_ARGS__, GEMEL_HERE)

/* x with y, of the indices' shape, there: set, or combined as MODE of gemel_put says (NULL: set).
 * Errors: as gemel_take_along_axis and gemel_put. */
gemel_value gemel_put_along_axis_at(gemel_value x, gemel_value indices, gemel_value y, int64_t axis,
                                    const char *mode, gemel_location where);
#define gemel_put_along_axis(...) gemel_put_along_axis_at(__VA_ARGS__, GEMEL_HERE)

/* ---- Order ---- */

/* x in ascending order along AXIS, or in descending order; as gemel_argsort: NaN counts as largest.
 * Errors: GEMEL_BAD_SHAPE (no such axis). */
gemel_value gemel_sort_at(gemel_value x, int64_t axis, int descending, gemel_location where);
#define gemel_sort(...) gemel_sort_at(__VA_ARGS__, GEMEL_HERE)

/* The K largest elements along AXIS, the largest first, or the K SMALLEST, the smallest first; of
 * equal ones those that come first. *INDICES, which may be NULL, becomes where they are (i64); null
 * where the result is. Errors: GEMEL_BAD_SHAPE (no such axis), GEMEL_BAD_VALUE (K is more than
 * there are, or negative). */
gemel_value gemel_top_k_at(gemel_value x, int64_t k, int64_t axis, int smallest,
                           gemel_value *indices, gemel_location where);
#define gemel_top_k(...) gemel_top_k_at(__VA_ARGS__, GEMEL_HERE)

/* Products along an axis of all elements up to each, with the options and dtypes of gemel_cumsum,
 * as a loop; so its derivatives are right where elements are 0. Errors: GEMEL_BAD_SHAPE (no such
 * axis). */
gemel_value gemel_cumprod_at(gemel_value x, const gemel_cumsum_options *options,
                             gemel_location where);
#define gemel_cumprod(...) gemel_cumprod_at(__VA_ARGS__, NULL, GEMEL_HERE)

/* ---- Constants ---- */

/* VALUE as a scalar of x's dtype and memory space, to calculate with x: gemel_mul(x,
 * gemel_scalar_like(x, 2)). Errors: as gemel_scalar. */
gemel_value gemel_scalar_like_at(gemel_value x, double value, gemel_location where);
#define gemel_scalar_like(...) gemel_scalar_like_at(__VA_ARGS__, GEMEL_HERE)

/* VALUE in the shape, dtype and memory space of x. Errors: as gemel_scalar. */
gemel_value gemel_full_like_at(gemel_value x, double value, gemel_location where);
#define gemel_full_like(...) gemel_full_like_at(__VA_ARGS__, GEMEL_HERE)
#define gemel_zeros_like(x) gemel_full_like_at(x, 0, GEMEL_HERE)
#define gemel_ones_like(x) gemel_full_like_at(x, 1, GEMEL_HERE)

/* VALUE in this shape. Takes no memory in the graph. Errors: as gemel_scalar; GEMEL_BAD_SHAPE. */
gemel_value gemel_full_at(gemel_graph *graph, gemel_dtype dtype, double value, size_t n_shape,
                          const int64_t *shape, gemel_location where);

/* The elements VALUES, rounded to the dtype, as one axis. Errors: as gemel_scalar. */
gemel_value gemel_vector_at(gemel_graph *graph, gemel_dtype dtype, size_t n_values,
                            const double *values, gemel_location where);

/* ---- Random ---- */

/* For training: each element of x, a float, is 0 with probability RATE, independently of the
 * others, and else x / (1 - RATE), so that its mean stays what it was; a gradient passes the same
 * way. KEY is a random key, u64[2], in x's memory space, and *NEXT, which may be NULL, becomes the
 * key for what is drawn next: gemel_dropout(x, key, 0.2, &next), then gemel_update(key, next).
 * Which elements go depends on KEY alone. At RATE 0 and 1 nothing is drawn, and *NEXT is KEY. Where
 * nothing is to be dropped, as when a network is judged, leave it out. *NEXT is null where the
 * result is. Errors: GEMEL_BAD_VALUE (RATE outside 0..1), GEMEL_BAD_TYPE (x is no float, no key).
 */
gemel_value gemel_dropout_at(gemel_value x, gemel_value key, double rate, gemel_value *next,
                             gemel_location where);
#define gemel_dropout(...) gemel_dropout_at(__VA_ARGS__, GEMEL_HERE)

/* ---- Losses: scalars of a float dtype ---- */

/* Mean of squares of x - y, and of their absolute values. */
gemel_value gemel_mean_squared_error_at(gemel_value x, gemel_value y, gemel_location where);
#define gemel_mean_squared_error(...) gemel_mean_squared_error_at(__VA_ARGS__, GEMEL_HERE)
gemel_value gemel_mean_absolute_error_at(gemel_value x, gemel_value y, gemel_location where);
#define gemel_mean_absolute_error(...) gemel_mean_absolute_error_at(__VA_ARGS__, GEMEL_HERE)

/* Mean of -(t log(p) + (1 - t) log(1 - p)), where p = sigmoid(logits) and t = TARGETS in 0..1,
 * computed as max(x, 0) - x t + log(1 + exp(-|x|)), which neither overflows nor cancels. (For
 * classes: gemel_mean(gemel_cross_entropy(logits, labels, -1)).) */
gemel_value gemel_binary_cross_entropy_at(gemel_value logits, gemel_value targets,
                                          gemel_location where);
#define gemel_binary_cross_entropy(...) gemel_binary_cross_entropy_at(__VA_ARGS__, GEMEL_HERE)

/* ---- A program's own, as text ---- */

/* Makes the composites and operators of ONNX that TEXT defines known to CONTEXT; doc/composites.md
 * has the language. A composite is then applied by gemel_apply, gemel_apply_all and by name in the
 * texts of graphs; an operator wherever a model is read into a graph of CONTEXT. All are added, or
 * none. TEXT is copied; FILE (NULL: "text") is what errors call it. GEMEL_BAD_TEXT (with a caret),
 * GEMEL_BAD_ARGUMENT (NULL; a name that an operation, composite or operator has already),
 * GEMEL_NO_MEMORY. Thread-safe. */
gemel_status gemel_define_composites(gemel_context *context, const char *text, size_t length,
                                     const char *file, gemel_error *error);

/* The same for the text in the file PATH; also GEMEL_IO. */
gemel_status gemel_load_composites(gemel_context *context, const char *path, gemel_error *error);

/* ---- Loops ----
 *
 * A loop applies a body, a graph of its own, once for each row of some tensors, in order, to states
 * that each step gives to the next (JAX's lax.scan; doc/loops.md). h_t = tanh(x_t + h_(t-1) U):
 *
 *   gemel_loop *loop = gemel_loop_begin(graph, &error);
 *   gemel_value h = gemel_loop_state(loop, h0), x_t = gemel_loop_row(loop, x);
 *   gemel_value inner_u = gemel_loop_constant(loop, u);
 *   gemel_loop_next(loop, h, gemel_tanh(gemel_add(x_t, gemel_dot(h, inner_u))));
 *   gemel_loop_end(loop);
 *   gemel_value all = gemel_loop_rows(loop, h), last = gemel_loop_last(loop, h);
 *   gemel_loop_free(loop);
 *
 * Between begin and end the body is built of what gemel_loop_state, _row, _tap and _constant
 * return, by any builder. Nothing of the graph around comes in otherwise: a value of it among
 * operands in the body is an error that names the line. Behind the end stands one operation in the
 * graph, scan, which is run, differentiated and verified as any other.
 *
 * These functions return the null value, or a status, and keep the first error on the graph around
 * the loop; errors in the body come there at the latest at the end. Then the end returns that
 * status, and what a loop comes to is the null value. Common errors: GEMEL_BAD_ARGUMENT (no loop, a
 * value that is null or of another graph, a loop that has ended, or hasn't), GEMEL_NO_MEMORY. None
 * is thread-safe against another call on the loop, its body or the graph. */
typedef struct gemel_loop gemel_loop;

/* Begins a loop in GRAPH, of which it holds a reference; the caller owns the loop. Whatever comes
 * of it, it is freed with gemel_loop_free. Loops may be nested: GRAPH is then the body of another.
 * NULL on failure: GEMEL_BAD_ARGUMENT (no graph, or one that is an attribute and can't change),
 * GEMEL_NO_MEMORY, in ERROR and not on the graph. */
gemel_loop *gemel_loop_begin(gemel_graph *graph, gemel_error *error);

/* Frees the loop and its body, of which no value may be used any more. What has been made in the
 * graph stays. NULL is ignored. */
void gemel_loop_free(gemel_loop *loop);

/* The graph of which the body is built, for builders that take a graph (gemel_scalar, gemel_full,
 * gemel_arange, gemel_loop_begin). Borrowed from LOOP; NULL for NULL. */
gemel_graph *gemel_loop_body(const gemel_loop *loop);

/* A state that begins as INITIAL, which is of the graph around: its value before the step. */
gemel_value gemel_loop_state_at(gemel_loop *loop, gemel_value initial, gemel_location where);
#define gemel_loop_state(...) gemel_loop_state_at(__VA_ARGS__, GEMEL_HERE)

/* A state of which a step sees the last N values: VALUES[0], which is also returned, is that
 * before the step, VALUES[k] that of k steps before. INITIAL has N rows, the oldest first. The next
 * value is set for VALUES[0] alone, and it stands for the state in what the loop comes to; its
 * initial value is the last row. On failure all N are null. Errors: GEMEL_BAD_ARGUMENT (N is 0,
 * VALUES is NULL), GEMEL_BAD_SHAPE (INITIAL has no, or other than N rows). */
gemel_value gemel_loop_state_taps_at(gemel_loop *loop, gemel_value initial, size_t n,
                                     gemel_value *values, gemel_location where);
#define gemel_loop_state_taps(...) gemel_loop_state_taps_at(__VA_ARGS__, GEMEL_HERE)

/* Row t of X at the step for row t: of X's type without axis 0. All tensors whose rows a loop reads
 * have equally many, or it is an error, at the end or when the graph is called. Errors:
 * GEMEL_BAD_SHAPE (X is a scalar). */
gemel_value gemel_loop_row_at(gemel_loop *loop, gemel_value x, gemel_location where);
#define gemel_loop_row(...) gemel_loop_row_at(__VA_ARGS__, GEMEL_HERE)

/* Row t + OFFSET of X at the step for row t. The loop has steps for those t for which all rows that
 * it reads exist: with OFFSETs -1 and 2 for rows 1 to N - 3 of N, and row 0 of what it comes to
 * belongs to t = 1. The rows that are read are views. */
gemel_value gemel_loop_tap_at(gemel_loop *loop, gemel_value x, int64_t offset,
                              gemel_location where);
#define gemel_loop_tap(...) gemel_loop_tap_at(__VA_ARGS__, GEMEL_HERE)

/* X, the same at each step. A constant that is asked for again is the same value, and so is a row.
 */
gemel_value gemel_loop_constant_at(gemel_loop *loop, gemel_value x, gemel_location where);
#define gemel_loop_constant(...) gemel_loop_constant_at(__VA_ARGS__, GEMEL_HERE)

/* Makes VALUE, of the body and of the state's type, what STATE is after the step; each state needs
 * one. Returns GEMEL_OK or the error's status. Errors: GEMEL_BAD_ARGUMENT (STATE is none, or has
 * its next value), and at the end GEMEL_BAD_TYPE (types differ: nothing is promoted or broadcast).
 */
gemel_status gemel_loop_next_at(gemel_loop *loop, gemel_value state, gemel_value value,
                                gemel_location where);
#define gemel_loop_next(...) gemel_loop_next_at(__VA_ARGS__, GEMEL_HERE)

/* Keeps VALUE, of the body, of each step: gemel_loop_stacked gives the rows. Returns VALUE. */
gemel_value gemel_loop_stack_at(gemel_loop *loop, gemel_value value, gemel_location where);
#define gemel_loop_stack(...) gemel_loop_stack_at(__VA_ARGS__, GEMEL_HERE)

/* Ends the loop behind the first step in which STOP, a bool scalar of the body, is true. Such a
 * loop needs neither rows nor a length, but then has nothing but last values, and no derivative in
 * reverse mode. Not together with reverse. Errors: GEMEL_BAD_ARGUMENT (there is one already). */
gemel_status gemel_loop_until_at(gemel_loop *loop, gemel_value stop, gemel_location where);
#define gemel_loop_until(...) gemel_loop_until_at(__VA_ARGS__, GEMEL_HERE)

typedef struct gemel_loop_options {
  size_t size;        /* sizeof(gemel_loop_options): gemel_loop_end_with sets it */
  gemel_dim length;   /* number of steps of a loop that reads no rows */
  int64_t reverse;    /* from the last row to the first */
  gemel_value steps;  /* an i64 scalar of the graph around: only this many of the rows, the first
                         ones in either direction; outside 0..T it is an error of the call. Rows
                         of results that are not reached are 0 */
  gemel_dim truncate; /* derivatives take what the steps before the last ones, which are this many,
                         gave for constants */
  int64_t recompute;  /* a gradient keeps nothing of the steps but the states, and computes the rest
                         once more: it takes less memory and more time */
  int64_t every;      /* a gradient keeps the states of each EVERY-th step alone, and computes the
                         steps between two of them once more: T steps take the memory of
                         T / EVERY + EVERY of them. Not with steps, stop or truncate. 0: of all */
} gemel_loop_options;

/* Ends the loop: adds the operation to the graph, as of WHERE. OPTIONS may be NULL. Returns
 * GEMEL_OK or the status of the graph's error. Errors, besides those of the body:
 * GEMEL_BAD_ARGUMENT (a state without next value, neither rows nor length nor stop nor steps, a
 * loop without any state, row or constant), GEMEL_BAD_SHAPE (numbers of rows differ),
 * GEMEL_BAD_TYPE (a next value, stop or steps), GEMEL_UNSUPPORTED (reverse and stop; every and
 * steps, stop or truncate; a size that is known only in the body). */
gemel_status gemel_loop_end_at(gemel_loop *loop, const gemel_loop_options *options,
                               gemel_location where);
#define gemel_loop_end(loop) gemel_loop_end_at(loop, NULL, GEMEL_HERE)

/* What STATE is after the last step; its initial value if there is none. */
gemel_value gemel_loop_last_at(gemel_loop *loop, gemel_value state, gemel_location where);
#define gemel_loop_last(...) gemel_loop_last_at(__VA_ARGS__, GEMEL_HERE)

/* What STATE is after each step, a row each: row t belongs to row t of what the loop reads, in
 * either direction. A view of the history, so in reverse with STEPS the initial value stands behind
 * the rows that are reached. Errors: GEMEL_BAD_ARGUMENT (the number of rows isn't
 * known). */
gemel_value gemel_loop_rows_at(gemel_loop *loop, gemel_value state, gemel_location where);
#define gemel_loop_rows(...) gemel_loop_rows_at(__VA_ARGS__, GEMEL_HERE)

/* The same with the initial value: before the rows, in reverse behind them. */
gemel_value gemel_loop_history_at(gemel_loop *loop, gemel_value state, gemel_location where);
#define gemel_loop_history(...) gemel_loop_history_at(__VA_ARGS__, GEMEL_HERE)

/* The rows of what gemel_loop_stack was given. Errors: as gemel_loop_rows. */
gemel_value gemel_loop_stacked_at(gemel_loop *loop, gemel_value value, gemel_location where);
#define gemel_loop_stacked(...) gemel_loop_stacked_at(__VA_ARGS__, GEMEL_HERE)

/* How many steps are done, an i64 scalar. */
gemel_value gemel_loop_count_at(gemel_loop *loop, gemel_location where);
#define gemel_loop_count(...) gemel_loop_count_at(__VA_ARGS__, GEMEL_HERE)

/* ---- Forms with lists, in C ---- */

#ifndef __cplusplus
#define gemel_mean_with(x, ...) gemel_mean_at(x, &(gemel_sum_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_var_with(x, ...)                                                                     \
  gemel_var_at(x, &(gemel_var_options){.size = sizeof(gemel_var_options), __VA_ARGS__}, GEMEL_HERE)
#define gemel_std_with(x, ...)                                                                     \
  gemel_std_at(x, &(gemel_var_options){.size = sizeof(gemel_var_options), __VA_ARGS__}, GEMEL_HERE)
#define gemel_min_with(x, ...) gemel_min_at(x, &(gemel_max_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_cumprod_with(x, ...)                                                                 \
  gemel_cumprod_at(x, &(gemel_cumsum_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_any_with(x, ...) gemel_any_at(x, &(gemel_sum_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_all_with(x, ...) gemel_all_at(x, &(gemel_sum_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_mean_over(x, ...) gemel_mean_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_var_over(x, ...) gemel_var_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_std_over(x, ...) gemel_std_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_min_over(x, ...) gemel_min_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_any_over(x, ...) gemel_any_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_all_over(x, ...) gemel_all_with(x, .axes = GEMEL_INTS(__VA_ARGS__))

#define gemel_loop_end_with(loop, ...)                                                             \
  gemel_loop_end_at(loop, &(gemel_loop_options){.size = sizeof(gemel_loop_options), __VA_ARGS__},  \
                    GEMEL_HERE)
#define gemel_permute(x, ...) gemel_permute_at(x, GEMEL_LIST(int64_t, __VA_ARGS__), GEMEL_HERE)
#define gemel_reshape_to(x, ...)                                                                   \
  gemel_reshape_to_at(x, GEMEL_LIST(int64_t, __VA_ARGS__), GEMEL_HERE)
#define gemel_concatenate(axis, ...)                                                               \
  gemel_concatenate_at(GEMEL_LIST(gemel_value, __VA_ARGS__), axis, GEMEL_HERE)
#define gemel_einsum(equation, ...)                                                                \
  gemel_einsum_at(equation, GEMEL_LIST(gemel_value, __VA_ARGS__), GEMEL_HERE)
#define gemel_stack(axis, ...)                                                                     \
  gemel_stack_at(GEMEL_LIST(gemel_value, __VA_ARGS__), axis, GEMEL_HERE)
#define gemel_full(graph, dtype, value, ...)                                                       \
  gemel_full_at(graph, dtype, value, GEMEL_LIST(int64_t, __VA_ARGS__), GEMEL_HERE)
#define gemel_zeros(graph, dtype, ...) gemel_full(graph, dtype, 0, __VA_ARGS__)
#define gemel_ones(graph, dtype, ...) gemel_full(graph, dtype, 1, __VA_ARGS__)
#define gemel_vector(graph, dtype, ...)                                                            \
  gemel_vector_at(graph, dtype, GEMEL_LIST(double, __VA_ARGS__), GEMEL_HERE)
#endif

#ifdef __cplusplus
}
#endif
#endif
