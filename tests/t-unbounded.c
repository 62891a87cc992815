/*
 * Proofs for all sizes (verify/unbounded): terms in their normal form, questions, what is proved of
 * right rules and up to which rank, and that nothing wrong is proved.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <gemel/verify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/heard.h"
#include "unbounded/ask.h"
#include "unbounded/axes.h"
#include "unbounded/term.h"

/* ---- Terms ---- */

static void polynomials(const void *data) {
  gemel__pterms t;
  (void)data;
  gemel__pterms_init(&t);
  gemel__pterm a = gemel__p_symbol(&t, GEMEL__PSORT_INTEGER, "a");
  gemel__pterm b = gemel__p_symbol(&t, GEMEL__PSORT_INTEGER, "b");
  gemel__pterm sum = gemel__p_add(&t, a, b), difference = gemel__p_sub(&t, a, b);
  gemel__pterm squares = gemel__p_sub(&t, gemel__p_mul(&t, a, a), gemel__p_mul(&t, b, b));
  CT_CHECK(sum != 0 && gemel__p_mul(&t, sum, difference) == squares);
  CT_CHECK(gemel__p_sub(&t, sum, b) == a);
  CT_CHECK(gemel__p_is_false(&t, gemel__p_equal(&t, gemel__p_scale(&t, a, 2),
                                                gemel__p_plus(&t, gemel__p_scale(&t, b, 4), 3))));
  CT_CHECK(gemel__p_not(&t, gemel__p_at_least(&t, a, b)) == gemel__p_below(&t, a, b));
  CT_CHECK(gemel__p_replace(&t, squares, 1, &b, &a) == gemel__p_number(&t, 0));
  int64_t value;
  CT_CHECK(gemel__p_is_number(&t, gemel__p_div(&t, gemel__p_number(&t, -7), gemel__p_number(&t, 2)),
                              &value));
  CT_EQ_INT(value, -4);
  CT_CHECK(gemel__p_scale(&t, gemel__p_scale(&t, a, INT64_MAX), 2) == 0);
  CT_EQ_INT(t.trouble, GEMEL__PTERM_TOO_LARGE);
  gemel__pterms_clear(&t);
}

static void questions(const void *data) {
  gemel__pterms t;
  gemel__ask ask;
  (void)data;
  gemel__pterms_init(&t);
  gemel__ask_init(&ask, &t);
  gemel__pterm a = gemel__p_symbol(&t, GEMEL__PSORT_INTEGER, "a");
  gemel__pterm b = gemel__p_symbol(&t, GEMEL__PSORT_INTEGER, "b");
  gemel__pterm zero = gemel__p_number(&t, 0);
  gemel__pterm known[2] = {gemel__p_at_least(&t, a, b), gemel__p_at_least(&t, b, zero)};
  CT_EQ_INT(gemel__ask_follows(&ask, known, 2, gemel__p_at_least(&t, a, zero)), GEMEL__FOLLOWS_YES);
  CT_EQ_INT(gemel__ask_follows(&ask, known, 2, gemel__p_at_least(&t, b, a)), GEMEL__FOLLOWS_NO);
  size_t asked = ask.questions;
  CT_EQ_INT(gemel__ask_follows(&ask, known, 2, gemel__p_at_least(&t, b, a)), GEMEL__FOLLOWS_NO);
  CT_EQ_UINT(ask.questions, asked);
  gemel__ask_clear(&ask);
  gemel__pterms_clear(&t);
}

/* ---- Rules ---- */

enum { ALL = 9 };

typedef struct claim {
  const char *name, *text;
  int most, ranks; /* asked for up to MOST axes: proved up to so many, or ALL; 0: open */
} claim;

static const claim claims[] = {
    {"window_of_window",
     "subtensor(subtensor(x, start = a, size = b, step = c), start = d, size = e, step = f)"
     " => subtensor(x, start = a + c * d, size = e, step = c * f)",
     2, ALL},
    {"window_of_window_steps",
     "subtensor(subtensor(x, start = a, size = b, step = c), start = d, size = e, step = f)"
     " => subtensor(x, start = a + d, size = e, step = c * f)",
     2, 0},
    {"reversed_twice", "reverse(reverse(x, axes = a), axes = a) => x", 2, ALL},
    {"reversed_once", "reverse(reverse(x, axes = a), axes = b) => x", 2, 0},
    {"orders",
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q])"
     " where not contains(p, -1), not contains(q, -1), length(p) == rank(x), length(q) == rank(x)",
     3, ALL},
    {"orders_swapped",
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = q[p])"
     " where not contains(p, -1), not contains(q, -1), length(p) == rank(x), length(q) == rank(x)",
     3, 2},
    {"a_name_of_ours",
     "pad(x, v, low = index, high = h, interior = i) => x where index == 0, h == 0", 2, 0},
    {"interior_of_one",
     "pad(x, v, low = l, high = h, interior = i) => x where l == 0, h == 0, shape(x) == 1", 2, ALL},
    {"window_beside_margin",
     "subtensor(pad(x, v, low = l, high = h, interior = i), start = a, size = b, step = c)"
     " => subtensor(x, start = a - l, size = b, step = c)"
     " where i == 0, c >= 1, a >= l, a + (b - 1) * c < l + shape(x)",
     2, ALL},
    {"window_in_margin",
     "subtensor(pad(x, v, low = l, high = h, interior = i), start = a, size = b, step = c)"
     " => subtensor(x, start = a - l, size = b, step = c)"
     " where i == 0, c >= 1, a >= l",
     2, 0},
    {"reshaped_twice", "reshape(reshape(x, shape = s), shape = t) => reshape(x, shape = t)", 2, 2},
    {"reshape_is_transpose",
     "reshape(x, shape = s) => dimshuffle(x, order = [1, 0]) where rank(x) == 2, s == "
     "[shape(x)[1], shape(x)[0]]",
     2, 0},
    {"pad_by_no_scalar",
     "join(broadcast_to(v, shape = s), x, axis = a) => pad(x, v, low = replace(repeat(0, rank(x)),"
     " a, s[a]), high = repeat(0, rank(x)))",
     1, 0},
    {"join_of_one", "join(x, axis = k) => x", 2, ALL},
    {"join_swapped", "join(x, y, axis = k) => join(y, x, axis = k)", 2, 0},
    {"elementwise_moves", "reverse(exp(x), axes = a) => exp(reverse(x, axes = a))", 2, ALL},
    {"sum_of_transpose", "sum(dimshuffle(x, order = [1, 0]), axes = [0]) => sum(x, axes = [1])", 2,
     2},
    {"sum_of_transpose_wrong",
     "sum(dimshuffle(x, order = [1, 0]), axes = [0]) => sum(x, axes = [0])", 2, 0},
    {"never", "reverse(x, axes = a) => x where rank(x) == 2, rank(x) == 3", 2, 0},
    {"broadcast_left_out", "broadcast_to(x, shape = s) => x where rank(x) == length(s)", 2, ALL},
    {"other_arm", "reverse(x, axes = a) => x where length(a) == 0 or shape(x)[0] == 2", 2, 0},
    {"sum_of_half_a_join", "sum(join(x, y, axis = 0), axes = [0]) => sum(x, axes = [0])", 1, 0},
    {"sum_of_join",
     "sum(join(x, y, axis = 0), axes = [0]) => sum(x, axes = [0]) + sum(y, axes = [0])", 2, 2},
    {"sum_of_window",
     "sum(subtensor(x, start = a, size = b, step = c), axes = [0]) => sum(x, axes = [0])", 1, 0},
    {"sum_of_pad_by_one",
     "sum(pad(x, 1, low = l, high = h, interior = i), axes = [0]) => sum(x, axes = [0])"
     " where l >= 0, h >= 0",
     1, 0},
    {"sums_not_renumbered", "sum(sum(x, axes = a), axes = b) => sum(x, axes = [a, b])", 2, 1},
    {"sum_of_product", "sum(x * y, axes = a) => sum(x, axes = a) * sum(y, axes = a)", 1, 0},
    {"square_of_sum", "sqr(sum(x, axes = a)) => sum(sqr(x), axes = a)", 1, 0},
    {"square_of_sum_mixed",
     "sqr(sum(x, axes = a) + y) => sqr(sum(x, axes = a)) + sqr(y) + 2 * y * sum(x, axes = a)"
     " where float(x)",
     1, 1},
    {"sum_of_narrow",
     "sum(x + y, axes = a) => sum(x, axes = a) + sum(y, axes = a)"
     " where integer(x), same_shape(x, y)",
     1, 0},
    {"sum_of_wide",
     "sum(x + y, axes = a) => sum(x, axes = a) + sum(y, axes = a)"
     " where integer(x), bits(x) == 64, same_shape(x, y)",
     2, ALL},
    {"sum_of_broadcast_uncounted",
     "sum(broadcast_to(x, shape = s), axes = [0]) => x where scalar(x), length(s) == 1", 1, 0},
    {"sum_of_added_uncounted",
     "sum(inc_subtensor(x, y, start = b, step = t), axes = [0]) => sum(x, axes = [0])", 1, 0},
    {"sum_of_overwritten",
     "sum(set_subtensor(x, y, start = b, step = t), axes = [0])"
     " => sum(x, axes = [0]) + sum(y, axes = [0]) where float(x)",
     1, 0},
    {"sum_of_added",
     "sum(inc_subtensor(x, y, start = b, step = t), axes = [0])"
     " => sum(x, axes = [0]) + sum(y, axes = [0]) where float(x)",
     2, 1},
    {"sum_of_half", "sum(x / 2, axes = a) => sum(x, axes = a) * 2 where float(x)", 1, 0},
    {"one_reversed", "sum(reverse(x, axes = a) * y, axes = a) => sum(x * y, axes = a)", 1, 0},
    {"both_reversed",
     "sum(reverse(x, axes = a) * reverse(y, axes = a), axes = a) => sum(x * y, axes = a)"
     " where same_shape(x, y), float(x)",
     2, 2},
    {"max_of_negative", "max(-x, axes = a) => -max(x, axes = a)", 1, 0},
    {"max_of_half_a_join", "max(join(x, y, axis = 0), axes = [0]) => max(x, axes = [0])", 1, 0},
    {"max_of_sum", "max(x + y, axes = a) => max(x, axes = a) + max(y, axes = a)", 1, 0},
    {"sum_of_maxima",
     "max(x, axes = a) + max(y, axes = a) => max(x + y, axes = a) where same_shape(x, y)", 1, 0},
    {"max_of_square", "max(sqr(x), axes = a) => sqr(max(x, axes = a))", 1, 0},
    {"max_of_window",
     "max(subtensor(x, start = a, size = b, step = c), axes = [0]) => max(x, axes = [0])", 1, 0},
    {"max_of_pad",
     "max(pad(x, 0, low = l, high = h, interior = i), axes = [0]) => max(x, axes = [0])"
     " where l >= 0, h >= 0",
     1, 0},
    {"max_and_nothing",
     "max(x, axes = [0]) => maximum(max(x, axes = [0]),"
     " max(subtensor(x, start = [0], size = [0], step = [1]), axes = [0])) where rank(x) == 1",
     1, 0},
    {"max_of_maximum",
     "maximum(max(x, axes = a), max(y, axes = a)) => max(maximum(x, y), axes = a)"
     " where same_shape(x, y)",
     2, ALL},
    {"max_of_relu", "relu(max(x, axes = a)) => max(relu(x), axes = a)", 2, ALL},
    {"wraps_where_rank_2", "sum(-x, axes = a) => -sum(x, axes = a) where float(x) or rank(x) == 2",
     2, 1},
    {"too_many_axes",
     "dot(dot(x, y, contract_x = cx, contract_y = cy), z, contract_x = dx, contract_y = dz)"
     " => dot(dot(x, y, contract_x = cx, contract_y = cy), z, contract_x = dx, contract_y = dz)"
     " where float(x), length(cx) > 0",
     3, 2},
    {"or_of_repeated",
     "dot(x, y, contract_x = [0], contract_y = [0]) + dot(x, y, contract_x = [0], contract_y = [0])"
     " => dot(x, y, contract_x = [0], contract_y = [0]) where bool(x)",
     2, 2},
    {"sum_of_repeated",
     "dot(x, y, contract_x = [0], contract_y = [0]) + dot(x, y, contract_x = [0], contract_y = [0])"
     " => dot(x, y, contract_x = [0], contract_y = [0])",
     1, 0},
    {"or_absorbs",
     "max(x, axes = a) + max(x * y, axes = a) => max(x, axes = a) where bool(x), same_shape(x, y)",
     2, ALL},
    {"or_absorbed",
     "max(x, axes = a) + max(x * y, axes = a) => max(x * y, axes = a)"
     " where bool(x), same_shape(x, y)",
     1, 0},
    {"or_of_both",
     "max(x * y, axes = a) => max(x, axes = a) + max(y, axes = a) where bool(x), same_shape(x, y)",
     1, 0},
    {"or_of_each",
     "max(x * y, axes = a) => max(x, axes = a) * max(y, axes = a) where bool(x), same_shape(x, y)",
     1, 0},
    {"or_of_either",
     "max(x + y, axes = a) => max(x, axes = a) + max(y, axes = a) where bool(x), same_shape(x, y)",
     2, ALL},
    {"or_of_not", "max(logical_not(x), axes = a) => logical_not(max(x, axes = a)) where bool(x)", 1,
     0},
    {"or_of_true", "max(x, axes = a) => max(x + 1, axes = a) where bool(x)", 1, 0},
    {"or_of_false", "max(x, axes = a) => max(x + 0, axes = a) where bool(x)", 1, ALL},
    {"or_of_nothing",
     "dot(broadcast_to(c, shape = s), broadcast_to(d, shape = s), contract_x = [0],"
     " contract_y = [0]) => c * d where bool(c), scalar(c), scalar(d), length(s) == 1",
     1, 0},
    {"or_of_something",
     "dot(broadcast_to(c, shape = s), broadcast_to(d, shape = s), contract_x = [0],"
     " contract_y = [0]) => c * d where bool(c), scalar(c), scalar(d), length(s) == 1, s >= 1",
     1, ALL},
    {"or_of_padded",
     "dot(pad(x, v, low = l, high = h), y, contract_x = [0], contract_y = [0])"
     " => dot(x, subtensor(y, start = l, size = shape(x)), contract_x = [0], contract_y = [0])"
     " where bool(x), rank(x) == 1, rank(y) == 1, l >= 0, h >= 0, splat(v), value(v) == 0",
     1, ALL},
    {"or_of_padded_by_true",
     "dot(pad(x, v, low = l, high = h), y, contract_x = [0], contract_y = [0])"
     " => dot(x, subtensor(y, start = l, size = shape(x)), contract_x = [0], contract_y = [0])"
     " where bool(x), rank(x) == 1, rank(y) == 1, l >= 0, h >= 0, splat(v)",
     1, 0},
    {"or_padded_by_false",
     "max(pad(x, v, low = l, high = h), axes = [0]) => max(x, axes = [0])"
     " where bool(x), rank(x) == 1, l >= 0, h >= 0, shape(x) > 0, splat(v), value(v) == 0",
     1, ALL},
    {"max_padded_by_zero",
     "max(pad(x, v, low = l, high = h), axes = [0]) => max(x, axes = [0])"
     " where rank(x) == 1, l >= 0, h >= 0, shape(x) > 0, splat(v), value(v) == 0",
     1, 0},
    {"or_of_half_a_join",
     "dot(join(x, y, axis = 0), c, contract_x = [0], contract_y = [0])"
     " => dot(x, subtensor(c, start = [0], size = shape(x)), contract_x = [0], contract_y = [0])"
     " where bool(x), rank(x) == 1, rank(c) == 1",
     1, 0},
    {"or_of_reversed",
     "dot(reverse(x, axes = [0]), y, contract_x = [0], contract_y = [0])"
     " => dot(x, y, contract_x = [0], contract_y = [0]) where bool(x)",
     1, 0},
    {"prods_not_renumbered", "prod(prod(x, axes = a), axes = b) => prod(x, axes = [a, b])", 2, 1},
    {"prod_of_sum",
     "prod(x + y, axes = a) => prod(x, axes = a) * prod(y, axes = a) where same_shape(x, y)", 1, 0},
    {"prod_of_squares", "prod(sqr(x), axes = a) => sqr(prod(x, axes = a)) where float(x)", 2, ALL},
    {"prod_of_negative", "prod(-x, axes = a) => -prod(x, axes = a) where float(x)", 1, 0},
    {"prod_of_half_a_join", "prod(join(x, y, axis = 0), axes = [0]) => prod(y, axes = [0])", 1, 0},
    {"prod_of_pad_by_one",
     "prod(pad(x, 1, low = l, high = h, interior = i), axes = [0]) => prod(x, axes = [0])"
     " where l >= 0, h >= 0, rank(x) == 1",
     1, ALL},
    {"prod_of_pad_by_two",
     "prod(pad(x, 2, low = l, high = h, interior = i), axes = [0]) => prod(x, axes = [0])"
     " where l >= 0, h >= 0, rank(x) == 1",
     1, 0},
    {"integers_of_dtypes",
     "cast(arange(n = n, dtype = f16), dtype = f32) => arange(n = n, dtype = f32)", 2, 0},
    {"softmax_of_scaled", "softmax(x * 2, axis = k) => softmax(x, axis = k)", 1, 0},
    {"softmax_of_any_sum",
     "softmax(x + c, axis = k) => softmax(x, axis = k) where same_shape(x, c)", 1, 0},
    {"softmax_of_shifted", "softmax(x + c, axis = k) => softmax(x, axis = k) where scalar(c)", 2,
     ALL},
    {"softmax_summed_elsewhere", "sum(softmax(x, axis = 0), axes = [1]) => 1 where rank(x) == 2", 2,
     0},
    {"log_of_softmax_unscaled",
     "log(softmax(x, axis = 0)) => x - max(x, axes = [0]) where rank(x) == 1", 1, 0},
    {"cumsum_exclusive",
     "cumsum(x, axis = k, exclusive = 1, reverse = 0)"
     " => cumsum(x, axis = k, exclusive = 0, reverse = 0)",
     1, 0},
    {"cumsum_reversed",
     "cumsum(reverse(x, axes = a), axis = k, exclusive = 0, reverse = 0)"
     " => reverse(cumsum(x, axis = k, exclusive = 0, reverse = 0), axes = a)",
     1, 0},
    {"place_in_negative", "argmax(-x, axis = k) => argmax(x, axis = k)", 1, 0},
    {"place_in_relu", "argmax(relu(x), axis = k) => argmax(x, axis = k)", 1, 0},
    {"place_in_square", "argmax(sqr(x), axis = k) => argmax(x, axis = k)", 1, 0},
    {"place_in_scaled", "argmax(x * c, axis = k) => argmax(x, axis = k) where scalar(c), float(x)",
     1, 0},
    {"place_in_sum",
     "argmax(x + y, axis = k) => argmax(x, axis = k) where same_shape(x, y), float(x)", 1, 0},
    {"place_in_rising", "argmax(tanh(exp(x)), axis = k) => argmax(x, axis = k)", 2, ALL},
    {"exp_of_product", "exp(x * y) => exp(x) * exp(y)", 1, 0},
    {"log_of_sum", "log(x + y) => log(x) + log(y)", 1, 0},
    {"quotient_by_sum", "x / (y + z) => x / y + x / z where float(x)", 1, 0},
    {"quotient_of_sum", "(x + y) / z => x / z + y / z where float(x)", 1, ALL},
    {"gradient_turned",
     "corr_grad_inputs(reverse(w, axes = r), y, stride = s, dilation = d, low = a, high = b,"
     " padding = p, groups = g, flip = f, unshared = u, image = n)"
     " => corr_grad_inputs(w, y, stride = s, dilation = d, low = a, high = b, padding = p,"
     " groups = g, flip = 1 - f, unshared = u, image = n)"
     " where sorted(r) == range(rank(w) - rank(y) + 2, rank(w))",
     3, 3},
    {"gradient_as_it_was",
     "corr_grad_inputs(reverse(w, axes = r), y, stride = s, dilation = d, low = a, high = b,"
     " padding = p, groups = g, flip = f, unshared = u, image = n)"
     " => corr_grad_inputs(w, y, stride = s, dilation = d, low = a, high = b, padding = p,"
     " groups = g, flip = f, unshared = u, image = n)"
     " where sorted(r) == range(rank(w) - rank(y) + 2, rank(w))",
     3, 0},
    {"filters_of_groups",
     "corr_grad_weights(x, reverse(y, axes = r), stride = s, dilation = d, low = a, high = b,"
     " padding = p, groups = g, flip = f, unshared = u, kernel = k)"
     " => reverse(corr_grad_weights(x, y, stride = s, dilation = d, low = a, high = b,"
     " padding = p, groups = g, flip = f, unshared = u, kernel = k), axes = [0]) where r == [1]",
     3, 0},
    {"joined_many",
     "reverse(join(x, ..ys, axis = k), axes = a) => join(x, ..ys, axis = k)"
     " where a == [] or count(ys) > 3",
     1, 0},
    {"parts_many",
     "reverse(split(x, sizes = s, axis = j)@k, axes = a) => split(x, sizes = s, axis = j)@k"
     " where a == [] or length(s) == 4",
     1, 0},
    {"part_behind",
     "reverse(split(x, sizes = s, axis = j)@k, axes = a) => split(x, sizes = s, axis = j)@k"
     " where a == [] or k == 3",
     1, 0},
    {"behind_a_fold",
     "sum(subtensor(x, start = u, size = w, step = c), axes = a) +"
     " subtensor(y, start = l, size = z, step = c)"
     " => sum(subtensor(x, start = l, size = w, step = c), axes = a) +"
     " subtensor(y, start = l + 1 - min(1, w[0]), size = z, step = c)"
     " where rank(x) == 1, a == [0], rank(y) == 1, c == 1, u == l, l >= 0, l + z < shape(y)",
     1, 0},
    {"last_part",
     "split(x, sizes = s, axis = k)@p => subtensor(x, start = replace(repeat(0, rank(x)), k,"
     " shape(x)[k] - s[p]), size = replace(shape(x), k, s[p])) where p >= 2",
     1, 0},
    {"behind_two_parts",
     "split(x, sizes = s, axis = k)@p => subtensor(x, start = replace(repeat(0, rank(x)), k,"
     " s[0] + s[1]), size = replace(shape(x), k, s[p])) where p >= 2",
     1, 0},
    {"three_parts",
     "join(split(x, sizes = s, axis = k)@0, split(x, sizes = s, axis = k)@1,"
     " split(x, sizes = s, axis = k)@2, axis = k) => x",
     1, 0},
    {"parts_before",
     "split(x, sizes = s, axis = k)@p => subtensor(x, start = replace(repeat(0, rank(x)), k,"
     " total(s[range(p)])), size = replace(shape(x), k, s[p]))",
     2, 2},
    {"sum_of_probabilities", "sum(softmax(x, axis = k), axes = a) => 1 where a == [k]", 1, 0},
    {"start_of_value",
     "reverse(x + c, axes = a) => subtensor(reverse(x + c, axes = a),"
     " start = repeat(value(c), rank(x)), size = shape(x))"
     " where scalar(c), splat(c), value(c) >= 0",
     1, 0},
    {"literals_of_dtypes", "where(p, x, 0) => where(logical_not(p), 0, x)", 2, ALL},
};

typedef struct outcome {
  int ranks, all_ranks, calls;
  char elements[200];
  char why[200];
} outcome;

static void take(void *user, const gemel_proof *proof) {
  outcome *o = user;
  o->calls++;
  o->ranks = proof->ranks;
  o->all_ranks = proof->all_ranks;
  snprintf(o->why, sizeof o->why, "%s", proof->why);
  snprintf(o->elements, sizeof o->elements, "%s", proof->elements != NULL ? proof->elements : "");
  CT_CHECK(proof->counterexample == NULL); /* a mistake that the check of claims had to find */
  CT_EQ_INT(proof->elements != NULL, proof->ranks > 0);
}

static gemel_prove_options asked(int ranks, size_t jobs, gemel_proof_sink sink, void *user) {
  return (gemel_prove_options){.size = sizeof(gemel_prove_options),
                               .ranks = ranks,
                               .jobs = jobs,
                               .sink = sink,
                               .user = user};
}

static outcome prove(const char *name, const char *body, int ranks) {
  char text[1000];
  outcome o = {0};
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  snprintf(text, sizeof text, "rule %s in canonicalize: %s", name, body);
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "t.rules", &error);
  CT_CHECK(rules != NULL);
  const gemel_prove_options options = asked(ranks, 1, take, &o);
  CT_EQ_INT(gemel_prove_rules(context, rules, NULL, &options, &error), GEMEL_OK);
  CT_EQ_INT(o.calls, 1);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return o;
}

static void claimed(const void *data) {
  const claim *c = data;
  outcome o = prove(c->name, c->text, c->most);
  ct_context("%s: to rank %d, %s", c->name, o.ranks, o.why);
  CT_EQ_INT(o.all_ranks ? ALL : o.ranks, c->ranks);
}

/* What is claimed of elements, by arithmetic; "": open. */
typedef struct arithmetic {
  const char *name, *text, *elements;
} arithmetic;

#define FORMATS "bits (f16 bf16 f32 f64)"
#define INTEGERS "i8 i16 i32 i64 u8 u16 u32 u64"

static const arithmetic sums[] = {
    {"times_one", "x * 1 => x", FORMATS ", values (" INTEGERS ", bool)"},
    {"plus_zero", "x + 0 => x where float(x)", "values (reals)"},
    {"plus_minus_zero", "x + -0.0 => x where float(x)", FORMATS},
    {"minus_itself", "x - x => 0 where integer(x)", "values (" INTEGERS ")"},
    {"bools", "x + y => logical_or(x, y) where bool(x)", "values (bool)"},
    {"comparison", "logical_not(x <= y) => y < x where not float(x)",
     "values (" INTEGERS ", bool)"},
    {"factors", "(x * y) * z => x * (y * z)", "values (reals, " INTEGERS ", bool)"},
    {"exponents", "exp(x) / exp(y * 0.5) => exp(x - y / 2)", "values (reals)"},
    {"logarithms", "log(exp(x) * y) => x + log(y)", "values (reals)"},
    {"logistic", "1 - sigmoid(x) => sigmoid(-x)", "values (reals)"},
    {"half_power", "pow(x, -0.5) => 1 / sqrt(x)", "values (reals)"},
    {"kinks", "log(exp(x) + exp(y)) => minimum(y, x) + log1p(exp(abs(y - x)))", "values (reals)"},
    {"odd", "sin(y - x) => -sin(x - y)", "values (reals)"},
    {"fact", "abs(x) => x where float(x), positive(x)", FORMATS},
    {"value", "x / c => x where float(x), value(c) == 1", FORMATS},
    {"rising", "maximum(tanh(exp(x)), tanh(exp(y))) => tanh(exp(maximum(x, y)))", "values (reals)"},
    {"rising_least", "minimum(log(x), log(y)) => log(minimum(x, y))", "values (reals)"},
    {"remainder_again", "fmod(fmod(x, y), y) => fmod(x, y) where float(x)", "values (reals)"},
    {"powers_of_two",
     "bit_and(x, bit_and(c, c - 1)) => x * 0"
     " where integer(x), value(c) > 0, power_of_two(value(c))",
     "values (" INTEGERS ")"},
    {"sum_of_exponents", "pow(x, y + z) => pow(x, y) * pow(x, z) where positive(x), float(x)",
     "values (reals)"},
    {"wide_and_back", "cast(cast(x, dtype = i64), dtype = d) => x where dtype(x) == d, integer(x)",
     "values (" INTEGERS ")"},
    {"mask", "cast(p, dtype = d) * x => where(p, x, 0) where bool(p), integer(x)",
     "values (" INTEGERS ", bool)"},
    /* numbers on one side only */
    {"over_itself", "x / x => 1 where float(x)", ""},
    {"zero_of_quotient", "(x / y) * 0 => 0", ""},
    {"square_first", "log(sqr(x)) => log(x) * 2", ""},
    {"root_first", "sqr(sqrt(x)) => x", ""},
    {"zero_over_zero", "sum(x, axes = a) / y => sum(x / y, axes = a) where float(x), rank(y) == 0",
     ""},
    {"log_of_largest", "maximum(log(x), log(y)) => log(maximum(x, y))", ""},
    {"exponents_of_any", "pow(x, y + z) => pow(x, y) * pow(x, z) where float(x)", ""},
    /* other numbers */
    {"rising_and_falling", "maximum(cosh(x), cosh(y)) => cosh(maximum(x, y))", ""},
    {"rising_falls", "maximum(tanh(x), tanh(y)) => tanh(minimum(x, y))", ""},
    {"rising_in_negative", "maximum(exp(-x), exp(-y)) => exp(-maximum(x, y))", ""},
    {"two_rising", "maximum(tanh(x), sinh(y)) => where(x >= y, tanh(x), sinh(y))", ""},
    {"one_rising", "maximum(tanh(x), tanh(y)) => where(x >= y, tanh(x), tanh(y))",
     "values (reals)"},
    {"remainder_of_other", "fmod(fmod(x, y), z) => fmod(x, y) where float(x), nonzero(z)", ""},
    {"remainder_of_another", "mod(fmod(x, y), y) => fmod(x, y) where float(x)", ""},
    {"no_powers_of_two", "bit_and(x, bit_and(c, c - 1)) => x * 0 where integer(x), value(c) > 0",
     ""},
    {"powers_of_minus_two",
     "bit_and(x, bit_and(c, c - 1)) => x * 0 where signed(x), power_of_two(value(c))", ""},
    {"sign_of_power", "where(pow(x, y) > 0, x, y) => x + pow(x, y) * 0 where float(x)", ""},
    {"sign_of_power_of_positive",
     "where(pow(x, y) > 0, x, y) => x + pow(x, y) * 0 where float(x), positive(x)",
     "values (reals)"},
    {"product_of_powers", "pow(x, y * z) => pow(x, y) * pow(x, z) where positive(x), float(x)", ""},
    {"root_of_square", "sqrt(sqr(x)) => x", ""},
    {"least", "abs(x) >= 0 => 1 where signed(x)", ""},
    {"order_of_nan", "logical_not(x <= y) => y < x where f16 == dtype(x)", "values (reals)"},
    {"signed_zero", "0 - x => -x where float(x)", "values (reals)"},
    {"product_of_exponents", "exp(x) * exp(y) => exp(x * y)", ""},
    {"logarithm_of_sum", "log(exp(x) + y) => x + log(y)", ""},
    {"kinks_swapped", "log(exp(x) + exp(y)) => minimum(y, x) + log1p(exp(-abs(y - x)))", ""},
    {"odd_and_even", "cos(-x) => -cos(x)", ""},
    {"not_odd", "sigmoid(-x) => -sigmoid(x)", ""},
    /* numbers and casts that a dtype hasn't */
    {"twice_bools", "x + x => x * 2", ""},
    {"beyond_f16", "x + x => (x * 140000) / 70000 where float(x)", ""},
    {"cast_by_builder", "x - x => log(x * 0 + 1) where integer(x)", ""},
    {"narrow_and_back", "cast(cast(x, dtype = f16), dtype = f32) => x where dtype(x) == f32", ""},
    {"signs_and_back",
     "cast(cast(x, dtype = u8), dtype = i64) => cast(x, dtype = i64)"
     " where dtype(x) == i8",
     ""},
    {"two_dtypes", "cast(x, dtype = d) + y => x + y", ""},
    {"or_of_shape", "abs(x) => x where nonnegative(x) or shape(x)[0] == 3", ""},
    {"or_of_sizes", "relu(x) => x where float(x), positive(x) or length(places(shape(x), 1)) > 0",
     ""},
    {"or_of_bits",
     "sum(relu(x), axes = a) => sum(x, axes = a) where float(x), nonnegative(x) or bits(x) == 16",
     ""},
    {"rounded_number", "(x + 2049) - 2048 => x + 1 where float(x)", ""},
    {"rounded_value", "x * c => 0 where float(x), scalar(c), value(c) + 1e20 == 1e20", ""},
    {"below_infinity", "x < inf => x <= 65504 where float(x)", ""},
    {"casts_swapped", "cast(cast(x, dtype = d), dtype = e) => cast(cast(x, dtype = e), dtype = d)",
     ""},
    {"cast_of_sum",
     "sum(cast(x, dtype = d), axes = a) => cast(sum(x, axes = a), dtype = d)"
     " where float(d), not bool(x)",
     ""},
    {"sum_in_single", "sum(x, axes = a) => sum(cast(x, dtype = f32), axes = a) where float(x)", ""},
    {"joined_dtypes", "logical_and(x <= x, y <= y) => x + y <= y + x where integer(x), integer(y)",
     ""},
    {"one_dtype", "reverse(x - x, axes = a) => reverse(x * 0, axes = a) where dtype(x) == i32",
     "values (i32)"},
    /* what isn't known */
    {"not_positive", "abs(x) => -x where float(x), not positive(x)", ""},
    {"of_another", "abs(x) + y => x + y where float(x), nonnegative(y)", ""},
    {"no_value", "x + c => x where float(x), value(c) == 0 or shape(c)[9] == 1", ""},
};

static void of_elements(const void *data) {
  const arithmetic *r = data;
  outcome o = prove(r->name, r->text, 1);
  ct_context("%s: %s", r->name, o.why);
  CT_EQ_STR(o.elements, r->elements);
}

static void elementwise(const void *data) {
  (void)data;
  CT_EQ_INT(prove("same", "where(p, x, x) => x", 3).all_ranks, 1);
}

/* ---- Axes ---- */

#define PERMUTES(p, x) " where permutation(" #p "), length(" #p ") == rank(" #x ")"

typedef struct typed {
  const char *name, *text;
  int bound, clashes; /* 0: it has no type; axes of one tensor are used as another's */
  int of_values; /* of proofs that look at elements, if it isn't BOUND; NEVER: none is enough */
} typed;

enum { NEVER = -1 };

/* The wrong ones among these are right up to rank 1, 2 or 3. */
static const typed axes[] = {
    {"composed", "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q])",
     1, 0, 0},
    {"composed_all",
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q])" PERMUTES(
         p, x) ", permutation(q), length(q) == rank(x)",
     1, 0, 0},
    {"composed_wrong",
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = q[p])" PERMUTES(
         p, x) ", permutation(q), length(q) == rank(x)",
     0, 1, 0},
    {"of_order_2", "dimshuffle(x, order = p) => dimshuffle(x, order = p[p[p]])" PERMUTES(p, x), 0,
     1, 0},
    {"inverse", "dimshuffle(x, order = p) => dimshuffle(x, order = inverse(p))" PERMUTES(p, x), 0,
     1, 0},
    {"cycles", "x + dimshuffle(x, order = p) => dimshuffle(x, order = p) + x" PERMUTES(p, x), 0, 0,
     0},
    {"same_shape_cycles",
     "dimshuffle(x, order = p) as y => dimshuffle(x, order = p[p[p]])" PERMUTES(
         p, x) ", same_shape(x, y)",
     0, 0, 0},
    {"reverse_of_order",
     "reverse(dimshuffle(x, order = p), axes = a)"
     " => dimshuffle(reverse(x, axes = p[a]), order = p)" PERMUTES(p, x),
     1, 0, 0},
    {"reverse_of_order_wrong",
     "reverse(dimshuffle(x, order = p), axes = a)"
     " => dimshuffle(reverse(x, axes = inverse(p)[a]), order = p)" PERMUTES(p, x),
     0, 1, 0},
    {"join_of_orders",
     "join(dimshuffle(x, order = p), dimshuffle(y, order = p), axis = a)"
     " => dimshuffle(join(x, y, axis = p[a]), order = p)" PERMUTES(p, x) ", rank(y) == length(p)",
     2, 0, 0},
    {"join_of_orders_wrong",
     "join(dimshuffle(x, order = p), dimshuffle(y, order = p), axis = a)"
     " => dimshuffle(join(x, y, axis = a), order = p)" PERMUTES(p, x) ", rank(y) == length(p)",
     0, 1, 0},
    {"nested_wrong", "sum(sum(x, axes = a), axes = b) => sum(x, axes = [a, b])", 0, 1, 0},
    {"reversed_sum",
     "sum(reverse(x, axes = b), axes = a)"
     " => reverse(sum(x, axes = a), axes = position(without(range(rank(x)), a), without(b, a)))",
     1, 0, NEVER},
    {"reversed_sum_wrong",
     "sum(reverse(x, axes = b), axes = a) => reverse(sum(x, axes = a), axes = without(b, a))", 0, 1,
     0},
    {"keepdims",
     "max(x, axes = a, keepdims = 1)"
     " => dimshuffle(max(x, axes = a), order = insert(range(rank(x) - length(a)), a, -1))",
     1, 0, NEVER},
    {"keepdims_wrong",
     "max(x, axes = a, keepdims = 1) => dimshuffle(max(x, axes = a),"
     " order = insert(range(rank(x) - length(a)), range(length(a)), -1))",
     0, 0, 0},
    {"removed_wrong",
     "argmax(dimshuffle(x, order = p), axis = k)"
     " => dimshuffle(argmax(x, axis = p[k]), order = remove(p, k)) where p[k] >= 0",
     0, 1, 0},
    {"window_of_max_wrong",
     "subtensor(max(x, axes = r), start = a, size = b, step = c)"
     " => max(subtensor(x, start = insert(a, r, 0), size = insert(b, r, shape(x)[r]),"
     " step = insert(c, r, 1)), axes = range(length(r)))",
     0, 1, 0},
    {"aligned_wrong",
     "reverse(broadcast_to(x, shape = s), axes = a)"
     " => broadcast_to(reverse(x, axes = a), shape = s)",
     0, 1, 0},
    {"order_across_wrong",
     "cumsum(dimshuffle(x, order = p), axis = k) => dimshuffle(cumsum(x, axis = k), order = "
     "p)" PERMUTES(p, x),
     0, 1, 0},
    /* Axes that are counted, or told apart by their numbers, are kept. */
    {"but_3", "reverse(x, axes = a) => x where length(a) != 3", 5, 0, 0},
    {"but_axis_2", "reverse(x, axes = a) => reverse(x, axes = without(a, 2))", 4, 0, 0},
    {"not_identity", "dimshuffle(x, order = p) => dimshuffle(x, order = p) where not identity(p)",
     3, 0, 0},
    {"second", "reverse(x, axes = a) => reverse(x, axes = a[1]) where length(a) == 2", 3, 0, 0},
    {"up_to_2", "reverse(x, axes = a) => x where rank(x) == 2", 2, 0, 0},
    /* What depends on all axes. */
    {"few_elements", "reverse(x, axes = a) => x where elements(x) < 2", 0, 0, 0},
    {"one_element", "reverse(x, axes = a) => x where elements(x) == 1", 1, 0, 0},
    {"product_of_steps",
     "subtensor(x, start = a, size = b, step = c) => x where product(c) == 1, a == 0", 0, 0, 0},
    {"a_rank_as_number", "sum(x, axes = a) => cast(size(value = rank(x)), dtype = dtype(x))", 0, 0,
     0},
    {"a_rank_as_truth", "reverse(x, axes = a) => x where rank(x) - 3", 0, 0, 0},
    {"a_rank_and_operands",
     "join(x, ..ys, axis = k) => join(..ys, x, axis = k) where rank(x) == count(ys)", 0, 0, 0},
    {"flat", "reshape(reshape(x, shape = s), shape = t) => reshape(x, shape = t)", 0, 0, 0},
    {"two_sums", "sum(x, axes = a) + sum(x, axes = b) => sum(x, axes = b) + sum(x, axes = a)", 0, 0,
     0},
    /* Reductions of values: elementwise operations below them, and nothing else. */
    {"scaled", "sum(c * x, axes = a) => c * sum(x, axes = a) where scalar(c), float(x)", 1, 0, 0},
    {"counted",
     "sum(x + c, axes = a)"
     " => sum(x, axes = a) + c * cast(size(value = product(shape(x)[a])), dtype = dtype(x))"
     " where scalar(c)",
     1, 0, 0},
    {"counted_others",
     "sum(x, axes = a) => sum(x, axes = a) * cast(size(value = elements(x)), dtype = dtype(x))", 0,
     0, 0},
    {"two_shapes", "sum(x + y, axes = a) => sum(y + x, axes = a) where rank(x) == rank(y)", 2, 0,
     3},
    {"one_shape", "sum(x + y, axes = a) => sum(y + x, axes = a) where same_shape(x, y)", 1, 0, 0},
    {"sizes_asked", "sum(x, axes = a) => sum(-x, axes = a) where shape(x)[a] <= 1", 1, 0, NEVER},
    {"moved_below", "sum(reverse(x, axes = a), axes = a) => sum(x, axes = a)", 1, 0, NEVER},
    {"products",
     "dot(x, y, contract_x = cx, contract_y = cy, batch_x = bx, batch_y = by)"
     " + dot(x, z, contract_x = cx, contract_y = cy, batch_x = bx, batch_y = by)"
     " => dot(x, y + z, contract_x = cx, contract_y = cy, batch_x = bx, batch_y = by)"
     " where same_shape(y, z)",
     1, 0, 0},
    {"products_swapped",
     "dot(x, y, contract_x = cx, contract_y = cy, batch_x = bx, batch_y = by)"
     " => dot(x, y, contract_x = bx, contract_y = by, batch_x = cx, batch_y = cy)",
     0, 0, 0},
    {"square",
     "dot(x, x, contract_x = cx, contract_y = cy) => dot(x, x, contract_x = cx,"
     " contract_y = cy)",
     0, 0, 0},
    {"half_a_product", "dot(x, y, contract_x = cx, contract_y = cy, batch_x = bx) => x", 0, 0, 0},
    /* What must be kept apart: places beside windows, elements of one tensor. */
    {"margins",
     "subtensor(pad(x, v, low = l, high = h, interior = i), start = a, size = b, step = c)"
     " => pad(x, v, low = l - a, high = h, interior = i) where c == 1",
     2, 0, 0},
    {"ways_under_a_sum",
     "sum(set_subtensor(x, x, start = a, step = c), axes = [0]) => sum(x, axes = [0])", 4, 0, 0},
    {"three_reads",
     "reverse(x + x * y, axes = a) => reverse(x, axes = a) + y where same_shape(x, y)", 3, 0, 0},
};

static void has_type(const void *data) {
  const typed *c = data;
  char text[1000];
  gemel_error error;
  gemel__axes_report report;
  gemel_context *context = gemel_context_new(&error);
  snprintf(text, sizeof text, "rule %s in canonicalize: %s", c->name, c->text);
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "t.rules", &error);
  ct_context("%s: %s", c->name, rules == NULL ? error.text : "");
  CT_REQUIRE(rules != NULL);
  CT_EQ_INT(gemel__axes_check(gemel_rules_at(rules, 0), &report, &error), GEMEL_OK);
  ct_context("%s: bound %d, %s", c->name, report.bound, report.why);
  CT_EQ_INT(report.typed ? report.bound : 0, c->bound);
  if (report.typed) {
    CT_EQ_INT(report.bound_of_values, c->of_values == NEVER ? 0
                                      : c->of_values > 0    ? c->of_values
                                                            : c->bound);
  }
  CT_EQ_INT(report.clashes, c->clashes);
  CT_EQ_INT(report.line > 0 && report.column > 0, c->clashes);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* Of gemel's own rules none uses axes of one tensor as those of another; what does is told so, with
 * its place. */
static void clashes(const void *data) {
  static const char text[] = "rule swapped in canonicalize:\n"
                             "  dimshuffle(dimshuffle(x, order = p), order = q)\n"
                             "  => dimshuffle(x, order = q[p])";
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *own = gemel_rules_builtin(context, &error);
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "t.rules", &error);
  (void)data;
  CT_REQUIRE(own != NULL && rules != NULL);
  for (size_t k = 0; k < gemel_rules_count(own); k++) {
    CT_EQ_INT(gemel_rule_check_axes(gemel_rules_at(own, k), &error), GEMEL_OK);
  }
  CT_EQ_INT(gemel_rule_check_axes(gemel_rules_at(rules, 0), &error), GEMEL_BAD_TEXT);
  CT_EQ_STR(error.text,
            "t.rules:3:29: rule swapped: axes of x are used as axes of a tensor with an "
            "axis for each entry of q");
  CT_EQ_INT(error.line, 3);
  gemel_rules_unref(rules);
  gemel_rules_unref(own);
  gemel_context_unref(context);
}

/* What is proved up to the bound is proved for all ranks, and no more is looked at. */
static void all_ranks(const void *data) {
  (void)data;
  CT_EQ_INT(prove("moves", "reverse(exp(x), axes = a) => exp(reverse(x, axes = a))", 3).all_ranks,
            1);
  outcome o =
      prove("flat", "reshape(reshape(x, shape = s), shape = t) => reshape(x, shape = t)", 2);
  CT_EQ_INT(o.all_ranks, 0);
  CT_HAS_STR(o.why, "axes: reshape");
  o = prove("moved", "max(reverse(x, axes = a), axes = a) => max(x, axes = a)", 1);
  CT_EQ_INT(o.ranks, 1);
  CT_EQ_INT(o.all_ranks, 0);
  CT_HAS_STR(o.why, "reductions of values");
  o = prove("few", "join(x, axis = k) => x", 1);
  CT_EQ_INT(o.ranks, 1);
  CT_EQ_INT(o.all_ranks, 0);
  CT_HAS_STR(o.why, "for all ranks it takes 2");
}

/* What comes out doesn't depend on how many are proved at a time. */
typedef struct listing {
  size_t used;
  char text[20000];
} listing;

static void list(void *user, const gemel_proof *proof) {
  listing *l = user;
  size_t room = sizeof l->text - l->used;
  l->used += gemel_proof_json(proof, l->text + l->used, room);
  CT_REQUIRE(l->used < sizeof l->text);
}

static void jobs(const void *data) {
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  listing *one = calloc(1, sizeof *one), *three = calloc(1, sizeof *three);
  (void)data;
  CT_REQUIRE(context != NULL && one != NULL && three != NULL);
  const gemel_prove_options alone = asked(2, 1, list, one), together = asked(2, 3, list, three);
  CT_EQ_INT(gemel_prove_rules(context, NULL, "subtensor_of_re*,set_w*", &alone, &error), GEMEL_OK);
  CT_EQ_INT(gemel_prove_rules(context, NULL, "subtensor_of_re*,set_w*", &together, &error),
            GEMEL_OK);
  CT_EQ_STR(one->text, three->text);
  CT_HAS_STR(one->text, "{\"kind\": \"rule\", \"name\": \"set_whole\", \"proof\": {\"elements\": "
                        "\"any\", \"sizes\": \"all\", \"ranks\": \"all\"}");
  free(one);
  free(three);
  gemel_context_unref(context);
}

/* Beside what is measured, one at a time and three. */
static void is_beside(void *user, const gemel_record *record) {
  size_t *records = user;
  int wrong = strcmp(record->name, "wrong") == 0;
  CT_REQUIRE(record->proof != NULL);
  CT_EQ_STR(record->proof->rule, record->name);
  CT_EQ_INT(record->proof->elements == NULL, wrong);
  CT_EQ_INT(strstr(record->proof->why, "rank 1, scene 2") != NULL, wrong);
  ++*records;
}

static void beside(const void *data) {
  static const char text[] =
      "rule right in canonicalize: reverse(reverse(x, axes = a), axes = a) => x\n"
      "rule wrong in canonicalize: join(x, y, axis = k) => join(y, x, axis = k)\n";
  (void)data;
  for (size_t jobs = 1; jobs <= 3; jobs += 2) {
    size_t records = 0;
    hear_rules(text,
               (gemel_verify_options){
                   .instances = 4, .jobs = jobs, .proofs = 1, .sink = is_beside, .user = &records});
    CT_EQ_UINT(records, 2 * GEMEL_TIER_COUNT);
  }
}

static void refused(const void *data) {
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  outcome o = {0};
  (void)data;
  gemel_prove_options options = asked(0, 1, take, &o);
  CT_EQ_INT(gemel_prove_rules(context, NULL, "no_such_rule", &options, &error), GEMEL_NOT_FOUND);
  CT_EQ_INT(gemel_prove_rules(NULL, NULL, NULL, &options, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_prove_rules(context, NULL, "passes", &options, &error), GEMEL_NOT_FOUND);
  CT_HAS_STR(error.text, "only rules are proved");
  options.record_folder = "no/such/folder";
  CT_EQ_INT(gemel_prove_rules(context, NULL, "set_w*", &options, &error), GEMEL_IO);
  options = asked(-1, 1, take, &o);
  CT_EQ_INT(gemel_prove_rules(context, NULL, NULL, &options, &error), GEMEL_BAD_ARGUMENT);
  options = asked(0, 1, NULL, &o);
  CT_EQ_INT(gemel_prove_rules(context, NULL, NULL, &options, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(o.calls, 0);
  gemel_context_unref(context);
}

/* Refused memory: an error, or no proof; never a proof of what is wrong. */
typedef struct world {
  gemel_context *context;
  gemel_rules *rules;
} world;

static int with_little_memory(void *data) {
  world *w = data;
  outcome o = {0};
  gemel_error error;
  const gemel_prove_options options = asked(1, 1, take, &o);
  int status = gemel_prove_rules(w->context, w->rules, NULL, &options, &error);
  CT_EQ_INT(o.ranks, 0);
  return status;
}

static void refused_memory(const void *data) {
  static const char text[] = "rule wrong in canonicalize: logical_and(x, y) => x";
  gemel_error error;
  world w = {gemel_context_new(&error), NULL};
  (void)data;
  w.rules = gemel_rules_parse(w.context, text, strlen(text), "t.rules", &error);
  CT_REQUIRE(w.rules != NULL);
  CT_CHECK(ct_oom(with_little_memory, &w) > 10);
  gemel_rules_unref(w.rules);
  gemel_context_unref(w.context);
}

static const ct_test tests[] = {
    CT_TEST("polynomials", polynomials, NULL),
    CT_TEST("questions", questions, NULL),
    CT_TEST("elementwise", elementwise, NULL),
    CT_TEST("all_ranks", all_ranks, NULL),
    CT_TEST("clashes", clashes, NULL),
    CT_TEST("jobs", jobs, NULL),
    CT_TEST("beside", beside, NULL),
    CT_TEST("refused", refused, NULL),
    CT_TEST("refused_memory", refused_memory, NULL),
};

void ct_register(void) {
  ct_suite("unbounded", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(claims); k++) {
    CT_ADD("claims", claims[k].name, claimed, &claims[k]);
  }
  for (size_t k = 0; k < CT_COUNT(sums); k++) {
    CT_ADD("elements", sums[k].name, of_elements, &sums[k]);
  }
  for (size_t k = 0; k < CT_COUNT(axes); k++) {
    CT_ADD("axes", axes[k].name, has_type, &axes[k]);
  }
}
