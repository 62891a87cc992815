/*
 * Composites: what they compute, by numbers worked out with NumPy or by hand and never by gemel;
 * their gradients; sizes that are symbols; what they refuse, in which words, and that the words
 * begin with the place of the user's call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"

/* A composite of x, y and z, in a graph g. */
#define FORM(name, expression)                                                                     \
  static gemel_value name(gemel_graph *g, const gemel_value *in) {                                 \
    gemel_value x = in[0], y = in[1], z = in[2];                                                   \
    (void)g, (void)x, (void)y, (void)z;                                                            \
    return expression;                                                                             \
  }

/* ---- Products ---- */

FORM(matmul, gemel_matmul(x, y))
FORM(einsum_batches, gemel_einsum("bij,bjk->bik", x, y))
FORM(einsum_chain, gemel_einsum("ij, jk, kl -> il", x, y, z))
FORM(einsum_diagonal, gemel_einsum("ii->i", x))
FORM(einsum_trace, gemel_einsum("ii", x))
FORM(einsum_outer, gemel_einsum("i,j->ij", x, y))
FORM(einsum_all, gemel_einsum("ij,k->", x, y))
FORM(einsum_implied, gemel_einsum("ba", x))
FORM(einsum_dots, gemel_einsum("...j,j...->...", x, y))
FORM(einsum_dots_implied, gemel_einsum("a...,a...", x, y))
FORM(einsum_broadcast, gemel_einsum("ij,ij->ij", x, y))
FORM(einsum_no_letter, gemel_einsum("i1,jk", x, y))
FORM(einsum_few_terms, gemel_einsum("ij", x, y))
FORM(einsum_many_terms, gemel_einsum("ij,jk,kl", x, y))
FORM(einsum_no_arrow, gemel_einsum("ij-ji", x))
FORM(einsum_unknown, gemel_einsum("ij->ik", x))
FORM(einsum_twice, gemel_einsum("ij->ii", x))
FORM(einsum_two_results, gemel_einsum("ij->i->j", x))
FORM(einsum_lost_dots, gemel_einsum("...i->i", x))
FORM(einsum_wide, gemel_einsum("abcdefghi,jklmnopqr", x, x))

#define X23 "f32[2, 3] 1 2 3 4 5 6"
#define Y32 "f32[3, 2] 7 8 9 10 11 12"
#define UP4 "1 2 3 4"
#define UP8 "1 2 3 4 5 6 7 8"

static const op_case products[] = {
    OK_FORM(matmul, "matrices", "f32[2, 2] 58 64 139 154", X23, Y32),
    OK_FORM(matmul, "vectors", "f32[] 32", "f32[3] 1 2 3", "f32[3] 4 5 6"),
    OK_FORM(matmul, "row", "f32[2] 58 64", "f32[3] 1 2 3", Y32),
    OK_FORM(matmul, "column", "f32[2] 14 32", X23, "f32[3] 1 2 3"),
    OK_FORM(matmul, "promoted", "f64[2, 2] 58 64 139 154", X23, "i32[3, 2] 7 8 9 10 11 12"),
    OK_FORM(matmul, "integers", "i16[1, 1] 11", "i8[1, 2] 1 2", "i16[2, 1] 3 4"),
    OK_FORM(matmul, "batches", "f64[2, 2, 2] 7 10 15 22 67 78 91 106", "f64[2, 2, 2] " UP8,
            "f64[2, 2, 2] " UP8),
    OK_FORM(matmul, "batch_by_matrix", "f64[2, 1, 2] 13 16 29 36", "f64[2, 1, 2] " UP4,
            "f64[2, 2] 3 4 5 6"),
    OK_FORM(matmul, "matrix_by_batch", "f64[2, 2, 2] 15 22 23 34 43 50 67 78", "f64[2, 2] 3 4 5 6",
            "f64[2, 2, 2] " UP8),
    OK_FORM(matmul, "row_by_batch", "f64[2, 2] 7 10 19 22", "f64[2] 1 2", "f64[2, 2, 2] " UP8),
    OK_FORM(matmul, "batch_by_column", "f64[2, 2] 5 11 17 23", "f64[2, 2, 2] " UP8, "f64[2] 1 2"),
    OK_FORM(matmul, "one_left", "f64[2, 2, 2] 7 10 15 22 19 22 43 50", "f64[1, 2, 2] " UP4,
            "f64[2, 2, 2] " UP8),
    OK_FORM(matmul, "ones", "f64[1, 2, 2] 7 10 15 22", "f64[1, 2, 2] " UP4, "f64[1, 2, 2] " UP4),
    OK_FORM(matmul, "lower_rank", "f64[2, 3, 1, 2] 7 10 19 22 31 34 15 22 43 50 71 78",
            "f64[2, 1, 1, 2] " UP4, "f64[3, 2, 2] " UP8 " 9 10 11 12"),
    OK_FORM(matmul, "lower_rank_right", "f64[2, 2, 2, 1] 5 11 11 25 17 23 39 53",
            "f64[2, 1, 2, 2] " UP8, "f64[2, 2, 1] " UP4),
    OK_FORM(matmul, "crosswise", "f64[2, 2, 2, 2] 7 10 15 22 23 34 31 46 19 22 43 50 67 78 91 106",
            "f64[1, 2, 2, 2] " UP8, "f64[2, 1, 2, 2] " UP8),
    OK_FORM(matmul, "symbols", "f64[2, 2, 2] 7 10 15 22 67 78 91 106", "f64[B=2, M=2, K=2] " UP8,
            "f64[B=2, K=2, N=2] " UP8),
    OK_FORM(matmul, "symbols_proved_by_the_call", "f64[2, 1, 2] 13 16 29 36",
            "f64[B=2, 1, J=2] " UP4, "f64[K=2, 2] 3 4 5 6"),
    OK_FORM(matmul, "of_nothing", "f32[2, 2] 0 0 0 0", "f32[2, 0]", "f32[0, 2]"),
    GRAD_FORM(matmul, "gradient", "f64[2, 2, 2] 7 10 15 22 19 22 43 50", "f64[2, 2, 2] " UP8,
              "f64[1, 2, 2] 66 94 94 138", "f64[2, 2, 2] 10 14 14 20 26 30 38 44",
              "f64[1, 2, 2] " UP4, "f64[2, 2, 2] " UP8),
    BAD_FORM(matmul, "scalar", GEMEL_BAD_SHAPE, "matmul: a scalar has no axis to sum over",
             "f32[] 1", X23),
    BAD_FORM(matmul, "sizes", GEMEL_BAD_SHAPE,
             "matmul: axis 1 of x and axis 0 of y differ in size; inputs f32[2, 3], f32[2, 3]", X23,
             X23),
    BAD_FORM(matmul, "batch_sizes", GEMEL_BAD_SHAPE, "matmul: axis 0 of x and axis 1 of y differ",
             "f64[2, 2, 1] " UP4, "f64[1, 4, 1, 1] " UP4),
    OK_FORM(einsum_batches, "batches", "f64[2, 2, 2] 7 10 15 22 67 78 91 106",
            "f64[B=2, I=2, 2] " UP8, "f64[B=2, 2, K=2] " UP8),
    OK_FORM(einsum_batches, "one_broadcasts", "f64[2, 2, 2] 7 10 15 22 19 22 43 50",
            "f64[1, 2, 2] " UP4, "f64[2, 2, 2] " UP8),
    OK_FORM(einsum_batches, "promoted", "f64[1, 1, 1] 11", "i32[1, 1, 2] 1 2", "f32[1, 2, 1] 3 4"),
    OK_FORM(einsum_batches, "integers_wrap", "i8[1, 1, 1] -112", "i8[1, 1, 2] 12 0",
            "i8[1, 2, 1] 12 1"),
    OK_FORM(einsum_chain, "three", "f64[2, 2] 37 54 81 118", "f64[2, 2] " UP4, "f64[2, 2] " UP4,
            "f64[2, 2] " UP4),
    OK_FORM(einsum_diagonal, "diagonal", "f64[3] 1 inf 9", "f64[3, 3] 1 2 nan 4 inf 6 7 8 9"),
    OK_FORM(einsum_diagonal, "symbol", "i8[2] 1 4", "i8[N=2, N=2] " UP4),
    OK_FORM(einsum_diagonal, "bools", "bool[2] 1 0", "bool[2, 2] 1 1 1 0"),
    OK_FORM(einsum_trace, "trace", "f32[] 15", "f32[3, 3] 1 2 3 4 5 6 7 8 9"),
    OK_FORM(einsum_outer, "outer", "f64[2, 3] 1 2 3 2 4 6", "f64[2] 1 2", "f64[3] 1 2 3"),
    OK_FORM(einsum_all, "all", "f64[] 60", "f64[2, 2] " UP4, "f64[3] 1 2 3"),
    OK_FORM(einsum_all, "bools", "bool[] 1", "bool[2, 2] 1 1 0 1", "bool[3] 1 1 1"),
    OK_FORM(einsum_implied, "by_letter", "f64[3, 2] 1 4 2 5 3 6", "f64[2, 3] 1 2 3 4 5 6"),
    OK_FORM(einsum_dots, "dots", "f64[2] 22 64", "f64[2, 3] 1 2 3 4 5 6", "f64[3, 2] 1 2 3 4 5 6"),
    OK_FORM(einsum_dots_implied, "dots", "f64[2] 7 10", "f64[2, 2] " UP4, "f64[2, 1] 1 2"),
    OK_FORM(einsum_broadcast, "one", "f64[2, 2] 1 4 3 8", "f64[1, 2] 1 2", "f64[N=2, 2] " UP4),
    GRAD_FORM(einsum_batches, "gradient", "f64[1, 1, 1] 11", "f64[1, 1, 1] 2", "f64[1, 1, 2] 6 8",
              "f64[1, 2, 1] 2 4", "f64[1, 1, 2] 1 2", "f64[1, 2, 1] 3 4"),
    GRAD_FORM(einsum_trace, "gradient", "f64[] 5", "f64[] 2", "f64[2, 2] 2 0 0 2", NULL,
              "f64[2, 2] " UP4),
    BAD_FORM(einsum_batches, "rank", GEMEL_BAD_SHAPE,
             "einsum \"bij,bjk->bik\": a term doesn't fit its operand's number of axes", X23, X23),
    BAD_FORM(einsum_broadcast, "sizes", GEMEL_BAD_SHAPE, "t-composite.c:", X23, Y32),
    BAD_FORM(einsum_no_letter, "letter", GEMEL_BAD_VALUE, "einsum \"i1,jk\": a term is", X23, X23),
    BAD_FORM(einsum_few_terms, "terms", GEMEL_BAD_VALUE, "a term for each operand", X23, X23),
    BAD_FORM(einsum_many_terms, "terms", GEMEL_BAD_VALUE, "a term for each operand", X23, Y32),
    BAD_FORM(einsum_no_arrow, "arrow", GEMEL_BAD_VALUE, "a '-' without '>'", X23),
    BAD_FORM(einsum_unknown, "label", GEMEL_BAD_VALUE, "each label of the result", X23),
    BAD_FORM(einsum_twice, "label", GEMEL_BAD_VALUE, "each label of the result", X23),
    BAD_FORM(einsum_two_results, "arrows", GEMEL_BAD_VALUE, "more behind the result", X23),
    BAD_FORM(einsum_lost_dots, "dots", GEMEL_BAD_VALUE, "the result lacks the \"...\"", X23),
    BAD_FORM(einsum_wide, "axes", GEMEL_BAD_SHAPE, "more than 16 axes",
             "f32[1, 1, 1, 1, 1, 1, 1, 1, 1] 1"),
    BAD_FORM(matmul, "sizes_of_the_call", GEMEL_BAD_SHAPE, "dot", "f64[B=2, 1, J=2] " UP4,
             "f64[K=1, 2] 3 4"),
};

/* ---- Reductions ---- */

FORM(mean, gemel_mean(x))
FORM(mean_over, gemel_mean_over(x, 0))
FORM(mean_last, gemel_mean_over(x, -1, -2))
FORM(mean_kept, gemel_mean_with(x, .axes = GEMEL_INTS(0), .keepdims = 1))
FORM(mean_no_axis, gemel_mean_with(x, .axes = GEMEL_NO_INTS))
FORM(mean_far, gemel_mean_over(x, 2))
FORM(var, gemel_var(x))
FORM(var_over, gemel_var_over(x, 1))
FORM(var_of_samples, gemel_var_with(x, .ddof = 1))
FORM(var_of_too_few, gemel_var_with(x, .ddof = 2, .keepdims = 1))
FORM(deviation, gemel_std(x))
FORM(deviation_over, gemel_std_over(x, 0))
FORM(deviation_with, gemel_std_with(x, .axes = GEMEL_INTS(0), .keepdims = 1))
FORM(min, gemel_min(x))
FORM(min_over, gemel_min_over(x, 1))
FORM(min_with, gemel_min_with(x, .axes = GEMEL_INTS(0), .keepdims = 1))
FORM(argmin, gemel_argmin(x, 0))
FORM(any, gemel_any(x))
FORM(any_over, gemel_any_over(x, 0))
FORM(any_with, gemel_any_with(x, .keepdims = 1))
FORM(all, gemel_all(x))
FORM(all_over, gemel_all_over(x, 0))
FORM(all_with, gemel_all_with(x, .keepdims = 1))
FORM(sum_over, gemel_sum_over(x, 0, -1))
FORM(max_over, gemel_max_over(x, 1))

static const op_case reductions[] = {
    OK_FORM(mean, "all", "f64[] 3.5", "f64[2, 3] 1 2 3 4 5 6"),
    OK_FORM(mean, "scalar", "f32[] 3", "f32[] 3"),
    OK_FORM(mean, "integers", "f64[] 2.3333333333333335", "i32[3] 1 2 4"),
    OK_FORM(mean, "integers_do_not_wrap", "f64[] 9.2233720368547758e18",
            "i64[2] 9223372036854775807 9223372036854775807"),
    OK_FORM(mean, "bools", "f64[] 0.5", "bool[4] 1 0 1 0"),
    OK_FORM(mean, "halves_beyond_65504", "f16[] 60000", "f16[2] 60000 60000"),
    OK_FORM(mean, "bf16", "bf16[] 1.5", "bf16[2] 1 2"),
    OK_FORM(mean, "nothing", "f64[] nan", "f64[0]"),
    OK_FORM(mean, "symbols", "f64[] 3.5", "f64[N=2, M=3] 1 2 3 4 5 6"),
    OK_FORM(mean, "nothing_by_symbol", "f32[] nan", "f32[N=0]"),
    OK_FORM(mean_over, "axis", "f64[3] 2.5 3.5 4.5", "f64[2, 3] 1 2 3 4 5 6"),
    OK_FORM(mean_over, "symbol", "f32[3] 2.5 3.5 4.5", "f32[N=2, M=3] 1 2 3 4 5 6"),
    OK_FORM(mean_last, "negative", "f64[2] 2.5 6.5", "f64[2, 2, 2] " UP8),
    OK_FORM(mean_kept, "keepdims", "f64[1, 3] 2.5 3.5 4.5", "f64[2, 3] 1 2 3 4 5 6"),
    OK_FORM(mean_no_axis, "none", "f64[2] 1 2", "f64[2] 1 2"),
    GRAD_FORM(mean_over, "gradient", "f64[2] 2 3", "f64[2] 4 8", "f64[N=2, 2] 2 4 2 4", NULL,
              "f64[N=2, 2] 1 2 3 4"),
    BAD_FORM(mean_far, "axis", GEMEL_BAD_ARGUMENT, "t-composite.c:", X23),
    OK_FORM(var, "all", "f64[] 3.5", "f64[4] 1 2 3 6"),
    OK_FORM(var, "integers", "f64[] 3.5", "i8[4] 1 2 3 6"),
    OK_FORM(var, "halves", "f16[] 3.5", "f16[4] 1 2 3 6"),
    OK_FORM(var, "symbol", "f64[] 3.5", "f64[N=4] 1 2 3 6"),
    OK_FORM(var_over, "axis", "f64[2] 1 9", "f64[2, 2] 1 3 2 8"),
    OK_FORM(var_of_samples, "all", "f64[] 4.666666666666667", "f64[4] 1 2 3 6"),
    OK_FORM(var_of_samples, "symbol", "f64[] 4.666666666666667", "f64[N=4] 1 2 3 6"),
    OK_FORM(var_of_too_few, "two", "f64[1] inf", "f64[2] 1 3"),
    OK_FORM(var_of_too_few, "one_by_symbol", "f64[1] nan", "f64[N=1] 1"),
    GRAD_FORM(var, "gradient", "f64[] 3.5", "f64[] 1", "f64[4] -1 -0.5 0 1.5", NULL,
              "f64[4] 1 2 3 6"),
    OK_FORM(deviation, "all", "f64[] 1", "f64[2] 1 3"),
    OK_FORM(deviation_over, "axis", "f64[2] 1 3", "f64[2, 2] 1 2 3 8"),
    OK_FORM(deviation_with, "keepdims", "f64[1, 2] 1 3", "f64[2, 2] 1 2 3 8"),
    GRAD_FORM(deviation, "gradient", "f64[] 1", "f64[] 1", "f64[2] -0.5 0.5", NULL, "f64[2] 1 3"),
    OK_FORM(min, "all", "f32[] -6", "f32[2, 3] 1 2 3 4 -6 5"),
    OK_FORM(min, "nan", "f32[] nan", "f32[3] 1 nan -1"),
    OK_FORM(min, "zeros", "f64[] -0", "f64[2] 0 -0"),
    OK_FORM(min, "least_integer", "i32[] -2147483648", "i32[3] 2147483647 -2147483648 0"),
    OK_FORM(min, "unsigned", "u64[] 1", "u64[3] 18446744073709551615 1 9223372036854775808"),
    OK_FORM(min, "unsigned_zero", "u8[] 0", "u8[3] 255 0 1"),
    OK_FORM(min, "bools", "bool[] 0", "bool[2] 1 0"),
    OK_FORM(min_over, "axis", "i8[2] -128 3", "i8[2, 2] 127 -128 3 4"),
    OK_FORM(min_with, "keepdims", "f64[1, 2] 1 2", "f64[2, 2] 1 4 3 2"),
    GRAD_FORM(min, "gradient", "f64[] 1", "f64[] 6", "f64[4] 3 -0 -0 3", NULL, "f64[4] 1 2 3 1"),
    BAD_FORM(min, "of_nothing", GEMEL_BAD_SHAPE, "max", "f32[0]"),
    OK_FORM(argmin, "first", "i64[] 1", "f64[4] 2 -1 5 -1"),
    OK_FORM(argmin, "nan", "i64[] 2", "f64[4] 2 -1 nan -5"),
    OK_FORM(argmin, "least_integer", "i64[] 1", "i8[2] 127 -128"),
    OK_FORM(argmin, "unsigned", "i64[2] 0 1", "u8[2, 2] 0 255 200 1"),
    OK_FORM(any, "one", "bool[] 1", "f32[3] 0 0 0.5"),
    OK_FORM(any, "nan", "bool[] 1", "f32[2] 0 nan"),
    OK_FORM(any, "none", "bool[] 0", "i8[2] 0 0"),
    OK_FORM(any, "nothing", "bool[] 0", "bool[0]"),
    OK_FORM(any_over, "axis", "bool[2] 1 0", "bool[2, 2] 0 0 1 0"),
    OK_FORM(any_with, "keepdims", "bool[1, 1] 1", "bool[2, 2] 0 0 1 0"),
    OK_FORM(all, "each", "bool[] 1", "f32[3] 1 nan 0.5"),
    OK_FORM(all, "not_one", "bool[] 0", "u64[3] 1 0 1"),
    OK_FORM(all, "nothing", "bool[] 1", "f64[0]"),
    OK_FORM(all_over, "axis", "bool[2] 1 0", "bool[2, 2] 1 0 1 1"),
    OK_FORM(all_with, "keepdims", "bool[1, 1] 0", "bool[2, 2] 1 0 1 1"),
    OK_FORM(sum_over, "axes", "f64[2] 14 22", "f64[2, 2, 2] " UP8),
    OK_FORM(max_over, "axis", "i32[2] 2 4", "i32[2, 2] 1 2 3 4"),
};

/* ---- Axes and shapes ---- */

FORM(transpose, gemel_transpose(x))
FORM(permute, gemel_permute(x, 1, -1, 0))
FORM(swapaxes, gemel_swapaxes(x, 0, -1))
FORM(swap_far, gemel_swapaxes(x, 0, 3))
FORM(expand_first, gemel_expand_dims(x, 0))
FORM(expand_last, gemel_expand_dims(x, -1))
FORM(expand_far, gemel_expand_dims(x, 3))
FORM(squeeze, gemel_squeeze(x, 1))
FORM(reshape, gemel_reshape_to(x, 3, -1))
FORM(reshape_known, gemel_reshape_to(x, 3, 2))
FORM(reshape_twice_open, gemel_reshape_to(x, -1, -1))
FORM(reshape_by_none, gemel_reshape_to(x, 0, -1))
FORM(flatten, gemel_flatten(x))
FORM(concatenate, gemel_concatenate(0, x, y))
FORM(concatenate_last, gemel_concatenate(-1, x, y, x))
FORM(stack, gemel_stack(0, x, y))
FORM(stack_last, gemel_stack(-1, x, y))

static const op_case shapes[] = {
    OK_FORM(transpose, "matrix", "f32[3, 2] 1 4 2 5 3 6", X23),
    OK_FORM(transpose, "symbols", "f32[3, 2] 1 4 2 5 3 6", "f32[N=2, M=3] 1 2 3 4 5 6"),
    OK_FORM(transpose, "vector", "f32[2] 1 2", "f32[2] 1 2"),
    OK_FORM(transpose, "scalar", "f32[] 1", "f32[] 1"),
    OK_FORM(transpose, "three", "i8[2, 2, 2] 1 5 3 7 2 6 4 8", "i8[2, 2, 2] " UP8),
    OK_FORM(permute, "three", "i8[2, 3, 1] 1 2 3 4 5 6", "i8[1, 2, 3] 1 2 3 4 5 6"),
    OK_FORM(permute, "order", "i8[2, 2, 2] 1 5 2 6 3 7 4 8", "i8[2, 2, 2] " UP8),
    BAD_FORM(permute, "rank", GEMEL_BAD_SHAPE, "permute: 3 axes are given for rank 2", X23),
    OK_FORM(swapaxes, "ends", "i8[2, 2, 2] 1 5 3 7 2 6 4 8", "i8[2, 2, 2] " UP8),
    BAD_FORM(swap_far, "axis", GEMEL_BAD_SHAPE, "swapaxes: axis 3 is out of range for rank 2", X23),
    OK_FORM(expand_first, "vector", "f32[1, 2] 1 2", "f32[2] 1 2"),
    OK_FORM(expand_last, "vector", "f32[2, 1] 1 2", "f32[N=2] 1 2"),
    OK_FORM(expand_last, "scalar", "f32[1] 1", "f32[] 1"),
    BAD_FORM(expand_far, "axis", GEMEL_BAD_SHAPE, "expand_dims: axis 3 is out of range for rank 3",
             X23),
    OK_FORM(squeeze, "middle", "f32[2, 2] 1 2 3 4", "f32[2, 1, 2] 1 2 3 4"),
    OK_FORM(squeeze, "symbol", "f32[2] 1 2", "f32[2, N=1] 1 2"),
    BAD_FORM(squeeze, "size", GEMEL_BAD_SHAPE, "t-composite.c:", X23),
    BAD_FORM(squeeze, "size_of_the_call", GEMEL_BAD_SHAPE, "axis 1", "f32[1, N=2] 1 2"),
    OK_FORM(reshape, "open", "f32[3, 2] 1 2 3 4 5 6", X23),
    OK_FORM(reshape, "symbol", "f32[3, 4] 1 2 3 4 5 6 7 8 9 10 11 12",
            "f32[N=2, 6] 1 2 3 4 5 6 7 8 9 10 11 12"),
    OK_FORM(reshape, "symbols", "f32[3, 2] 1 2 3 4 5 6", "f32[N=2, M=3] 1 2 3 4 5 6"),
    BAD_FORM(reshape, "left_over", GEMEL_BAD_SHAPE, "t-composite.c:", "f32[2, 2] 1 2 3 4"),
    BAD_FORM(reshape, "left_over_in_the_call", GEMEL_BAD_SHAPE, "reshape", "f32[N=2, M=2] 1 2 3 4"),
    OK_FORM(reshape_known, "sizes", "f32[3, 2] 1 2 3 4 5 6", X23),
    BAD_FORM(reshape_twice_open, "", GEMEL_BAD_SHAPE, "reshape: only one size can be -1", X23),
    BAD_FORM(reshape_by_none, "", GEMEL_BAD_SHAPE, "reshape: what the -1 stands for can't be told",
             "f32[0]"),
    OK_FORM(flatten, "matrix", "f32[6] 1 2 3 4 5 6", X23),
    OK_FORM(flatten, "scalar", "f32[1] 1", "f32[] 1"),
    OK_FORM(flatten, "symbols", "f32[6] 1 2 3 4 5 6", "f32[N=2, M=3] 1 2 3 4 5 6"),
    OK_FORM(concatenate, "vectors", "f32[3] 1 2 3", "f32[2] 1 2", "f32[1] 3"),
    OK_FORM(concatenate, "promoted", "f64[3] 1 2 3.5", "i32[2] 1 2", "f32[1] 3.5"),
    OK_FORM(concatenate, "symbols", "f32[3] 1 2 3", "f32[N=2] 1 2", "f32[M=1] 3"),
    OK_FORM(concatenate_last, "matrices", "i8[2, 4] 1 5 6 1 2 7 8 2", "i8[2, 1] 1 2",
            "i8[2, 2] 5 6 7 8"),
    GRAD_FORM(concatenate, "gradient", "f64[3] 1 2 3", "f64[3] 4 5 6", "f64[2] 4 5", "f64[1] 6",
              "f64[2] 1 2", "f64[1] 3"),
    BAD_FORM(concatenate, "scalars", GEMEL_BAD_SHAPE, "t-composite.c:", "f32[] 1", "f32[] 2"),
    OK_FORM(stack, "rows", "i8[2, 2] 1 2 3 4", "i8[2] 1 2", "i8[2] 3 4"),
    OK_FORM(stack, "scalars", "f32[2] 1 2", "f32[] 1", "f32[] 2"),
    OK_FORM(stack_last, "columns", "i8[2, 2] 1 3 2 4", "i8[N=2] 1 2", "i8[N=2] 3 4"),
    BAD_FORM(stack, "sizes", GEMEL_BAD_SHAPE, "t-composite.c:", "i8[2] 1 2", "i8[1] 3"),
};

/* ---- Parts ---- */

FORM(slice, gemel_slice(x, 0, 1, 3))
FORM(slice_columns, gemel_slice(x, 1, 0, 2))
FORM(slice_to_end, gemel_slice(x, 0, 1, GEMEL_TO_END))
FORM(slice_from_end, gemel_slice(x, 0, -3, -1))
FORM(slice_behind, gemel_slice(x, 0, 5, GEMEL_TO_END))
FORM(slice_crossed, gemel_slice(x, 0, 3, 1))
FORM(slice_crossing, gemel_slice(x, 0, 3, -4))
FORM(slice_far_back, gemel_slice(x, 0, -5, GEMEL_TO_END))
FORM(every_second, gemel_slice_step(x, 0, 0, GEMEL_TO_END, 2))
FORM(backwards, gemel_slice_step(x, -1, -1, GEMEL_TO_END, -1))
FORM(backwards_part, gemel_slice_step(x, 0, 3, 0, -2))
FORM(no_step, gemel_slice_step(x, 0, 0, 1, 0))
FORM(index_first, gemel_index(x, 0, 0))
FORM(index_last, gemel_index(x, 1, -1))
FORM(index_far, gemel_index(x, 0, 2))
FORM(index_axis, gemel_index(x, 2, 0))

/* Lists written in place beside options. */
static gemel_value split_first(gemel_graph *g, const gemel_value *in) {
  gemel_dim two = gemel_dim_constant(gemel_graph_context(g), 2);
  gemel_dim one = gemel_dim_constant(gemel_graph_context(g), 1);
  return gemel_split_with(in[0], GEMEL_LIST(gemel_dim, one, two), .axis = 1);
}
FORM(join_last, gemel_join_with(GEMEL_LIST(gemel_value, x, y), .axis = -1))
FORM(pad_between, gemel_pad_with(x, gemel_scalar_like(x, 0), GEMEL_LIST(int64_t, 1),
                                 GEMEL_LIST(int64_t, 2), .interior = GEMEL_INTS(1)))
FORM(reverse, gemel_reverse(x, GEMEL_LIST(int64_t, 0, 1)))

static const op_case parts[] = {
    OK_FORM(split_first, "column", "f32[2, 1] 1 4", X23),
    OK_FORM(join_last, "columns", "i8[2, 3] 1 5 6 2 7 8", "i8[2, 1] 1 2", "i8[2, 2] 5 6 7 8"),
    OK_FORM(pad_between, "vector", "f32[6] 0 1 0 2 0 0", "f32[2] 1 2"),
    OK_FORM(reverse, "both", "f32[2, 3] 6 5 4 3 2 1", X23),
    OK_FORM(slice, "vector", "f32[2] 2 3", "f32[4] 1 2 3 4"),
    OK_FORM(slice, "rows", "f32[2, 2] 3 4 5 6", "f32[3, 2] 1 2 3 4 5 6"),
    OK_FORM(slice, "symbol", "f32[2] 2 3", "f32[N=4] 1 2 3 4"),
    GRAD_FORM(slice, "gradient", "f64[2] 2 3", "f64[2] 5 6", "f64[4] 0 5 6 0", NULL,
              "f64[N=4] 1 2 3 4"),
    BAD_FORM(slice, "outside", GEMEL_BAD_VALUE, "slice: 1:3 is outside of axis 0, which has size 2",
             "f32[2] 1 2"),
    BAD_FORM(slice, "outside_in_the_call", GEMEL_BAD_VALUE, "outside its size 2", "f32[N=2] 1 2"),
    OK_FORM(slice_columns, "matrix", "f32[2, 2] 1 2 4 5", X23),
    OK_FORM(slice_to_end, "vector", "f32[3] 2 3 4", "f32[4] 1 2 3 4"),
    OK_FORM(slice_to_end, "symbol", "f32[3] 2 3 4", "f32[N=4] 1 2 3 4"),
    OK_FORM(slice_to_end, "nothing_left", "f32[0]", "f32[N=1] 1"),
    OK_FORM(slice_from_end, "vector", "f32[2] 2 3", "f32[4] 1 2 3 4"),
    OK_FORM(slice_from_end, "symbol", "f32[2] 2 3", "f32[N=4] 1 2 3 4"),
    BAD_FORM(slice_behind, "", GEMEL_BAD_VALUE, "slice: 5:", "f32[4] 1 2 3 4"),
    BAD_FORM(slice_far_back, "", GEMEL_BAD_VALUE, "slice: -5:", "f32[4] 1 2 3 4"),
    OK_FORM(slice_crossed, "empty", "f32[0]", "f32[4] 1 2 3 4"),
    OK_FORM(slice_crossing, "does_not", "f32[1] 4", "f32[N=8] 1 2 3 4 5 6 7 8"),
    OK_FORM(slice_crossing, "number", "f32[0]", "f32[5] 1 2 3 4 5"),
    BAD_FORM(slice_crossing, "symbol", GEMEL_BAD_SHAPE, "negative", "f32[N=5] 1 2 3 4 5"),
    OK_FORM(every_second, "odd", "f32[3] 1 3 5", "f32[5] 1 2 3 4 5"),
    OK_FORM(every_second, "even", "f32[2] 1 3", "f32[4] 1 2 3 4"),
    OK_FORM(every_second, "symbol", "f32[3] 1 3 5", "f32[N=5] 1 2 3 4 5"),
    OK_FORM(backwards, "matrix", "f32[2, 3] 3 2 1 6 5 4", X23),
    OK_FORM(backwards, "symbol", "f32[2, 3] 3 2 1 6 5 4", "f32[2, N=3] 1 2 3 4 5 6"),
    OK_FORM(backwards_part, "vector", "f32[2] 4 2", "f32[4] 1 2 3 4"),
    BAD_FORM(no_step, "", GEMEL_BAD_VALUE, "slice: step 0", "f32[4] 1 2 3 4"),
    OK_FORM(index_first, "row", "f32[3] 1 2 3", X23),
    OK_FORM(index_first, "vector", "f32[] 1", "f32[2] 1 2"),
    OK_FORM(index_last, "column", "f32[2] 3 6", X23),
    OK_FORM(index_last, "symbol", "f32[2] 3 6", "f32[2, N=3] 1 2 3 4 5 6"),
    GRAD_FORM(index_last, "gradient", "f64[2] 2 4", "f64[2] 5 6", "f64[2, 2] 0 5 0 6", NULL,
              "f64[2, 2] 1 2 3 4"),
    BAD_FORM(index_far, "outside", GEMEL_BAD_VALUE, "index 2 of axis 0 is outside its size 2", X23),
    BAD_FORM(index_axis, "axis", GEMEL_BAD_SHAPE, "index: axis 2 is out of range for rank 2", X23),
};

/* ---- Constants and losses ---- */

FORM(scalar_like, gemel_mul(x, gemel_scalar_like(x, 2.5)))
FORM(scalar_like_unfit, gemel_scalar_like(x, 2.5))
FORM(full_like, gemel_full_like(x, 2.5))
FORM(zeros_like, gemel_zeros_like(x))
FORM(ones_like, gemel_ones_like(x))
FORM(full, gemel_add(x, gemel_full(g, GEMEL_F32, 2.5, 2, 3)))
FORM(zeros, gemel_add(x, gemel_zeros(g, GEMEL_F32, 2, 3)))
FORM(ones, gemel_add(x, gemel_ones(g, GEMEL_F32, 2, 3)))
FORM(negative_size, gemel_ones(g, GEMEL_F32, 2, -3))
FORM(vector, gemel_add(x, gemel_vector(g, GEMEL_F32, 1, 2.5, 3)))
FORM(vector_unfit, gemel_vector(g, GEMEL_U8, 1, 256))
/* What DROPOUT leaves, or (NEXT) the key that it gives. */
static gemel_value dropped(gemel_value x, gemel_value key, double rate, int next) {
  gemel_value after, left = gemel_dropout(x, key, rate, &after);
  return next ? after : left;
}
/* With the key {0, 0} the uniform numbers are 0.399, 0.881, 0.736, 0.606: the
 * published vector of Philox, in t-random. */
FORM(dropout, dropped(x, y, 0.5, 0))
FORM(dropout_key, gemel_add(dropped(x, y, 0.5, 1), gemel_scalar_like(y, 0)))
FORM(dropout_none, dropped(x, y, 0, 0))
FORM(dropout_none_key, dropped(x, y, 0, 1))
FORM(dropout_all, dropped(x, y, 1, 0))
FORM(dropout_negative, dropped(x, y, -0.1, 0))
FORM(dropout_nan, dropped(x, y, NAN, 0))
FORM(dropout_quarter, gemel_mul(dropped(x, y, 0.25, 0), gemel_scalar_like(x, 0.75)))
/* Of 10,000 a fifth, to four standard deviations, is dropped. */
FORM(dropout_share,
     gemel_le(gemel_abs(gemel_sub(
                  gemel_sum(gemel_cast(
                      gemel_eq(dropped(gemel_ones(g, GEMEL_F32, 10000), y, 0.2, 0), x), GEMEL_F64)),
                  z)),
              gemel_scalar_like(z, 160)))
FORM(squared, gemel_mean_squared_error(x, y))
FORM(absolute, gemel_mean_absolute_error(x, y))
FORM(bce, gemel_binary_cross_entropy(x, y))
FORM(classes, gemel_mean(gemel_cross_entropy(x, y, -1)))

static const op_case others[] = {
    OK_FORM(scalar_like, "float", "f32[2] 2.5 5", "f32[2] 1 2"),
    BAD_FORM(scalar_like_unfit, "", GEMEL_BAD_VALUE, "i32 can't hold 2.5", "i32[2] 1 2"),
    OK_FORM(full_like, "float", "f32[2] 2.5 2.5", "f32[2] 1 2"),
    OK_FORM(full_like, "symbol", "f16[2, 1] 2.5 2.5", "f16[N=2, 1] 1 2"),
    OK_FORM(zeros_like, "bools", "bool[2] 0 0", "bool[2] 1 0"),
    OK_FORM(ones_like, "scalar", "i8[] 1", "i8[] 7"),
    OK_FORM(full, "", "f32[2, 3] 3.5 4.5 5.5 6.5 7.5 8.5", X23),
    OK_FORM(zeros, "", "f32[2, 3] 1 2 3 4 5 6", X23),
    OK_FORM(ones, "", "f32[2, 3] 2 3 4 5 6 7", X23),
    BAD_FORM(negative_size, "", GEMEL_BAD_SHAPE, "t-composite.c:", X23),
    OK_FORM(vector, "", "f32[3] 2 4.5 6", "f32[3] 1 2 3"),
    BAD_FORM(vector_unfit, "", GEMEL_BAD_VALUE, "u8 can't hold 256", X23),
    OK_FORM(dropout, "value", "f32[4] 2 0 0 0", "f32[4] 1 2 3 4", "u64[2] 0 0"),
    OK_FORM(dropout, "symbols", "f64[2, 2] 2 0 0 0", "f64[N=2, M=2] 1 2 3 4", "u64[2] 0 0"),
    OK_FORM(dropout, "bf16", "bf16[4] 2 0 0 0", "bf16[4] 1 2 3 4", "u64[2] 0 0"),
    OK_FORM(dropout, "nan_and_inf", "f32[4] inf 0 0 0", "f32[4] inf nan inf nan", "u64[2] 0 0"),
    GRAD_FORM(dropout, "gradient", "f32[4] 2 0 0 0", "f32[4] 5 6 7 8", "f32[4] 10 0 0 0", NULL,
              "f32[4] 1 2 3 4", "u64[2] 0 0"),
    OK_FORM(dropout_key, "", "u64[2] 7 4", "f32[3] 1 2 3", "u64[2] 7 3"),
    OK_FORM(dropout_none, "", "f32[2] nan 2", "f32[2] nan 2", "u64[2] 0 0"),
    OK_FORM(dropout_none_key, "", "u64[2] 7 3", "f32[3] 1 2 3", "u64[2] 7 3"),
    OK_FORM(dropout_all, "", "f32[2] 0 0", "f32[2] nan 2", "u64[2] 0 0"),
    OK_FORM(dropout_quarter, "", "f64[4] 3 0 27 81", "f64[4] 3 9 27 81", "u64[2] 0 0"),
    OK_FORM(dropout_share, "dropped", "bool[] 1", "f32[] 0", "u64[2] 1 0", "f64[] 2000"),
    OK_FORM(dropout_share, "kept", "bool[] 1", "f32[] 1.25", "u64[2] 1 0", "f64[] 8000"),
    BAD_FORM(dropout, "integer", GEMEL_BAD_TYPE, "dropout: i32 is no float", "i32[1] 1",
             "u64[2] 0 0"),
    BAD_FORM(dropout, "no_key", GEMEL_BAD_TYPE, "a key is u64[2]", "f32[1] 1", "f32[2] 0 0"),
    BAD_FORM(dropout_negative, "", GEMEL_BAD_VALUE, "dropout: a rate of -0.1 is outside 0..1",
             "f32[1] 1", "u64[2] 0 0"),
    BAD_FORM(dropout_nan, "", GEMEL_BAD_VALUE, "outside 0..1", "f32[1] 1", "u64[2] 0 0"),
    OK_FORM(squared, "value", "f64[] 2.5", "f64[2] 1 2", "f64[2] 2 4"),
    OK_FORM(squared, "broadcast", "f64[] 0.5", "f64[2] 1 2", "f64[] 1"),
    GRAD_FORM(squared, "gradient", "f64[] 2.5", "f64[] 1", "f64[N=2] -1 -2", "f64[N=2] 1 2",
              "f64[N=2] 1 2", "f64[N=2] 2 4"),
    GRAD_FORM(absolute, "gradient", "f64[] 1.5", "f64[] 1", "f64[2] -0.5 0.5", "f64[2] 0.5 -0.5",
              "f64[2] 1 4", "f64[2] 2 2"),
    OK_FORM(bce, "far_out", "f64[] 500", "f64[4] 1000 -1000 1000 -1000", "f64[4] 1 0 0 1"),
    GRAD_FORM(bce, "at_0", "f64[] 0.69314718055994531", "f64[] 1", "f64[2] -0.25 0.25", NULL,
              "f64[2] 0 0", "f64[2] 1 0"),
    GRAD_FORM(bce, "gradient_far_out", "f64[] 500", "f64[] 1", "f64[2] 0.5 0", NULL,
              "f64[2] 1000 -1000", "f64[2] 0 0"),
    OK_FORM(classes, "sure", "f64[] 0", "f64[2, 2] 0 1000 1000 0", "u8[2] 1 0"),
};

/* ---- Places, null values, memory ---- */

static gemel_graph *graph_with(gemel_value *x, gemel_value *y) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  *x = gemel_declare(graph, "x: f32[2, 3]");
  *y = gemel_declare(graph, "y: f32[4, 5]");
  gemel_context_unref(context);
  return graph;
}

/* Each statement fails, and the error names its line: also where it is an inner node that fails. */
#define FAILS_HERE(call)                                                                           \
  do {                                                                                             \
    char place[32];                                                                                \
    snprintf(place, sizeof place, "t-composite.c:%d: ", __LINE__);                                 \
    CT_CHECK(gemel_is_null(call));                                                                 \
    CT_HAS_STR(gemel_graph_error(graph)->text, place);                                             \
    gemel_graph_clear_error(graph);                                                                \
  } while (0)

static void places(const void *data) {
  gemel_value x, y, made_up;
  gemel_graph *graph = graph_with(&x, &y);
  (void)data;
  made_up = x;
  made_up.node = 1000;
  FAILS_HERE(gemel_matmul(x, y));
  FAILS_HERE(gemel_matmul(x, made_up));
  FAILS_HERE(gemel_matmul(x, (gemel_value){NULL, 0, 0}));
  FAILS_HERE(gemel_einsum("ij,jk", x, y));
  FAILS_HERE(gemel_einsum("ij,jk", x, made_up));
  FAILS_HERE(gemel_einsum(NULL, x));
  FAILS_HERE(gemel_mean(made_up));
  FAILS_HERE(gemel_mean_over(x, 2));
  FAILS_HERE(gemel_var_over(x, 2));
  FAILS_HERE(gemel_std_with(x, .axes = GEMEL_INTS(2)));
  FAILS_HERE(gemel_var_at(x, &(gemel_var_options){.ddof = 1}, GEMEL_HERE)); /* without its size */
  FAILS_HERE(gemel_min_over(x, 2));
  FAILS_HERE(gemel_argmin(x, 2));
  FAILS_HERE(gemel_any_over(x, 2));
  FAILS_HERE(gemel_all_over(x, 2));
  FAILS_HERE(gemel_transpose(made_up));
  FAILS_HERE(gemel_permute(x, 0, 0));
  FAILS_HERE(gemel_reshape_to(x, 7, -1));
  FAILS_HERE(gemel_flatten(made_up));
  FAILS_HERE(gemel_concatenate(0, x, y));
  FAILS_HERE(gemel_concatenate(0, x, made_up));
  FAILS_HERE(gemel_stack(5, x, x));
  FAILS_HERE(gemel_slice(x, 0, 1, 9));
  FAILS_HERE(gemel_index(x, 0, 9));
  FAILS_HERE(gemel_full(graph, GEMEL_U8, -1, 2));
  FAILS_HERE(gemel_full_like(made_up, 1));
  FAILS_HERE(gemel_dropout(x, y, 0.5, NULL));
  FAILS_HERE(gemel_mean_squared_error(x, y));
  FAILS_HERE(gemel_mean_absolute_error(x, y));
  FAILS_HERE(gemel_binary_cross_entropy(x, y));
  FAILS_HERE(gemel_sum_over(x, 2));
  FAILS_HERE(gemel_gradient(x, x));
  FAILS_HERE(gemel_gradient(gemel_sum(x), made_up));
  FAILS_HERE(gemel_declare(graph, "z: f32[2"));
  FAILS_HERE(gemel_declare(graph, "x: f32[2]"));
  gemel_graph_unref(graph);
}

/* The nodes are the user's: a composite says where it was called. */
static void provenance(const void *data) {
  gemel_value x, y, z;
  gemel_graph *graph = graph_with(&x, &y);
  (void)data;
  int line = __LINE__ + 1;
  z = gemel_mean_squared_error(x, gemel_full_like(x, 2));
  for (int depth = 0; !gemel_is_null(z) && strcmp(gemel_value_operation(z), "input") != 0;
       depth++) {
    CT_EQ_INT(gemel_value_where(z).line, line);
    CT_CHECK(strstr(gemel_value_where(z).file, "t-composite.c") != NULL);
    CT_REQUIRE(depth < 10);
    z = gemel_value_input(z, 0);
  }
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_OK);
  gemel_graph_unref(graph);
}

/* A size that a node produces: x[:n] of a vector has such a one. */
static void sizes_at_run_time(const void *data) {
  static double numbers[] = {1, 2, 6, 100};
  int64_t three = 3;
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_tensor *in[2], *out[2] = {NULL};
  (void)data;
  gemel_value x = gemel_declare(graph, "x: f64[4]"), n = gemel_declare(graph, "n: i64[]");
  gemel_value part = gemel_subtensor(x, GEMEL_LIST(gemel_dim, gemel_dim_constant(context, 0)),
                                     GEMEL_LIST(gemel_dim, gemel_dim_of(n)));
  gemel_output(gemel_mean(part), "mean");
  gemel_output(gemel_slice(part, 0, -1, GEMEL_TO_END), "last");
  CT_EQ_STR(gemel_graph_error(graph)->text, "");
  in[0] = gemel_tensor_wrap(GEMEL_F64, GEMEL_LIST(int64_t, 4), NULL, numbers, NULL, NULL, &error);
  in[1] = gemel_tensor_wrap(GEMEL_I64, 0, NULL, NULL, &three, NULL, NULL, &error);
  CT_EQ_INT(gemel_evaluate(graph, 2, in, 2, out, &error), GEMEL_OK);
  if (out[0] != NULL) {
    CT_CHECK(*(double *)gemel_tensor_data(out[0]) == 3);
    CT_CHECK(*(double *)gemel_tensor_data(out[1]) == 6);
  }
  for (int k = 0; k < 2; k++) {
    gemel_tensor_unref(in[k]);
    gemel_tensor_unref(out[k]);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* What is declared is what the text says; a text that can't be read is shown. */
static void declared(const void *data) {
  gemel_value x, y, w;
  gemel_graph *graph = graph_with(&x, &y);
  char type[64];
  (void)data;
  int line = __LINE__ + 1;
  w = gemel_declare(graph, "state w: f64[N, 2*M + 1] positive finite");
  gemel_type_format(gemel_graph_context(graph), gemel_value_type(w), type, sizeof type);
  CT_EQ_STR(type, "f64[N, 2*M + 1]");
  CT_EQ_STR(gemel_graph_input_name(graph, 2), "w");
  CT_EQ_INT(gemel_is_state(w), 1);
  CT_EQ_INT(gemel_is_state(x), 0);
  CT_EQ_UINT(gemel_assumed(w), GEMEL_FACT_POSITIVE | GEMEL_FACT_FINITE | GEMEL_FACT_NOT_NAN);
  CT_EQ_INT(gemel_value_where(w).line, line);
  CT_CHECK(gemel_is_null(gemel_declare(graph, "z f32[2]")));
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_BAD_TEXT);
  CT_HAS_STR(gemel_graph_error(graph)->text, "line 1, column 3: expected ':' and a type");
  CT_HAS_STR(gemel_graph_error(graph)->text, "z f32[2]\n  ^");
  gemel_graph_clear_error(graph);
  CT_CHECK(gemel_is_null(gemel_declare(graph, "z: f32[2], y: f32[2]")));
  CT_HAS_STR(gemel_graph_error(graph)->text, "expected the end of the text");
  gemel_graph_clear_error(graph);
  CT_CHECK(gemel_is_null(gemel_declare(graph, NULL)));
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_BAD_ARGUMENT);
  CT_EQ_UINT(gemel_graph_input_count(graph), 3);
  gemel_graph_unref(graph);
}

/* What is composed of values in a device's memory lies there too, constants among them. */
static void memory_spaces(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value x = gemel_declare(graph, "x: f16[2, N]@1"), i = gemel_declare(graph, "i: i32[2]@1");
  gemel_value key = gemel_declare(graph, "key: u64[2]@1");
  (void)data;
  gemel_value made[] = {gemel_matmul(x, gemel_transpose(x)),
                        gemel_einsum("ii", gemel_slice(x, 1, 0, 2)),
                        gemel_mean(x),
                        gemel_var_over(x, 0),
                        gemel_std(i),
                        gemel_min(i),
                        gemel_argmin(i, 0),
                        gemel_any(x),
                        gemel_all(i),
                        gemel_full_like(x, 2),
                        gemel_scalar_like(x, 2),
                        gemel_slice(x, 1, -1, GEMEL_TO_END),
                        gemel_stack(0, i, i),
                        gemel_mean_squared_error(x, x),
                        gemel_dropout(x, key, 0.5, NULL),
                        gemel_binary_cross_entropy(x, x)};
  for (size_t k = 0; k < CT_COUNT(made); k++) {
    ct_context("value %zu", k);
    CT_EQ_INT(gemel_type_space(context, gemel_value_type(made[k])), 1);
  }
  CT_EQ_STR(gemel_graph_error(graph)->text, "");
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* d(x^2)/dx = 2 x, and an error that is there keeps it from being tried. */
static void gradient(const void *data) {
  static double number = 3;
  gemel_value x, y;
  gemel_error error = {0};
  gemel_graph *graph = graph_with(&x, &y);
  gemel_tensor *in[3] = {NULL}, *out[1] = {NULL};
  (void)data;
  gemel_value z = gemel_declare(graph, "z: f64[]");
  gemel_output(gemel_gradient(gemel_sqr(z), z), "slope");
  in[0] = gemel_tensor_new(GEMEL_F32, GEMEL_LIST(int64_t, 2, 3), &error);
  in[1] = gemel_tensor_new(GEMEL_F32, GEMEL_LIST(int64_t, 4, 5), &error);
  in[2] = gemel_tensor_wrap(GEMEL_F64, 0, NULL, NULL, &number, NULL, NULL, &error);
  CT_EQ_INT(gemel_evaluate(graph, 3, in, 1, out, &error), GEMEL_OK);
  CT_CHECK(out[0] != NULL && *(double *)gemel_tensor_data(out[0]) == 6);
  CT_CHECK(gemel_is_null(gemel_add(x, y)));
  CT_CHECK(gemel_is_null(gemel_gradient(gemel_sqr(z), z)));
  for (int k = 0; k < 3; k++) {
    gemel_tensor_unref(in[k]);
  }
  gemel_tensor_unref(out[0]);
  gemel_graph_unref(graph);
}

/* Builds one of each, and says what the graph says. */
static int build_all(void *data) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = context != NULL ? gemel_graph_new(context, &error) : NULL;
  (void)data;
  if (graph != NULL) {
    gemel_value x = gemel_declare(graph, "x: f32[1, 2, 2]");
    gemel_value y = gemel_declare(graph, "y: f32[3, 2, 2]");
    gemel_value product = gemel_matmul(x, y);
    gemel_value part = gemel_slice(gemel_concatenate(0, x, product), 0, 1, GEMEL_TO_END);
    gemel_value v = gemel_mul(gemel_vector(graph, GEMEL_F32, 1, 2), gemel_std_over(part, 0, 1));
    gemel_output(gemel_mean_squared_error(v, gemel_full(graph, GEMEL_F32, 2, 2)), "loss");
    gemel_gradient(gemel_graph_output(graph, 0), x);
    error = *gemel_graph_error(graph);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return (int)error.status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(build_all, NULL) > 20);
}

static const ct_test tests[] = {CT_TEST("places", places, NULL),
                                CT_TEST("provenance", provenance, NULL),
                                CT_TEST("sizes_at_run_time", sizes_at_run_time, NULL),
                                CT_TEST("declared", declared, NULL),
                                CT_TEST("memory_spaces", memory_spaces, NULL),
                                CT_TEST("gradient", gradient, NULL),
                                CT_TEST("memory", memory, NULL)};

void ct_register(void) {
  OPT_SUITE("products", products);
  OPT_SUITE("reductions", reductions);
  OPT_SUITE("shapes", shapes);
  OPT_SUITE("parts", parts);
  OPT_SUITE("others", others);
  ct_suite("composite", tests, CT_COUNT(tests));
}
