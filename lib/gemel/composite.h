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

/* ---- Reductions ---- */

/* Mean over axes (all when absent). Of integers and bools an f64, as in NumPy; f16 and bf16 are
 * added up in f32. Of no elements NaN. Errors: as gemel_sum. */
gemel_value gemel_mean_at(gemel_value x, const gemel_sum_options *options, gemel_location where);
#define gemel_mean(...) gemel_mean_at(__VA_ARGS__, NULL, GEMEL_HERE)

typedef struct gemel_var_options {
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
gemel_value gemel_concatenate_at(int64_t axis, size_t n_xs, const gemel_value *xs,
                                 gemel_location where);

/* XS, all of one shape, along a new axis, which is axis AXIS of the result. As
 * gemel_concatenate_at. */
gemel_value gemel_stack_at(int64_t axis, size_t n_xs, const gemel_value *xs, gemel_location where);

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
 * classes: gemel_mean(gemel_cross_entropy(logits, labels)).) */
gemel_value gemel_binary_cross_entropy_at(gemel_value logits, gemel_value targets,
                                          gemel_location where);
#define gemel_binary_cross_entropy(...) gemel_binary_cross_entropy_at(__VA_ARGS__, GEMEL_HERE)

/* ---- Forms with lists, in C ---- */

#ifndef __cplusplus
#define gemel_mean_with(x, ...) gemel_mean_at(x, &(gemel_sum_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_var_with(x, ...) gemel_var_at(x, &(gemel_var_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_std_with(x, ...) gemel_std_at(x, &(gemel_var_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_min_with(x, ...) gemel_min_at(x, &(gemel_max_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_any_with(x, ...) gemel_any_at(x, &(gemel_sum_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_all_with(x, ...) gemel_all_at(x, &(gemel_sum_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_mean_over(x, ...) gemel_mean_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_var_over(x, ...) gemel_var_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_std_over(x, ...) gemel_std_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_min_over(x, ...) gemel_min_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_any_over(x, ...) gemel_any_with(x, .axes = GEMEL_INTS(__VA_ARGS__))
#define gemel_all_over(x, ...) gemel_all_with(x, .axes = GEMEL_INTS(__VA_ARGS__))

#define gemel_permute(x, ...) gemel_permute_at(x, GEMEL_LIST(int64_t, __VA_ARGS__), GEMEL_HERE)
#define gemel_reshape_to(x, ...)                                                                   \
  gemel_reshape_to_at(x, GEMEL_LIST(int64_t, __VA_ARGS__), GEMEL_HERE)
#define gemel_concatenate(axis, ...)                                                               \
  gemel_concatenate_at(axis, GEMEL_LIST(gemel_value, __VA_ARGS__), GEMEL_HERE)
#define gemel_stack(axis, ...)                                                                     \
  gemel_stack_at(axis, GEMEL_LIST(gemel_value, __VA_ARGS__), GEMEL_HERE)
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
