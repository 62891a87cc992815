/*
 * Proofs of rules with parts of a split and with variadic operands. Each number of them is looked
 * at up to two beyond the largest that the rule's text makes, so what is wrong from some part or
 * number of operands on isn't proved, however that number is made. And corners: what is proved of
 * sizes, dtypes and uses must hold of all of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <string.h>
#include <gemel/verify.h>

typedef struct parts_case {
  const char *name, *text;
  int right; /* and proved */
} parts_case;

/* Part p as a slice from START on. */
#define SLICE(START)                                                                               \
  "split(x, sizes = s, axis = a)@p => subtensor(x, start = replace(repeat(0, rank(x)), a, " START  \
  "), size = replace(shape(x), a, s[p]))"
/* Reversed along a, or not at all: right where AXES is []. */
#define TURNED(WHEN)                                                                               \
  "reverse(split(x, sizes = s, axis = a)@p, axes = b) => split(x, sizes = s, axis = a)@p"          \
  " where b == [] or " WHEN
#define JOINED(WHEN)                                                                               \
  "reverse(join(..xs, axis = a), axes = b) => join(..xs, axis = a) where b == [] or " WHEN

static const parts_case cases[] = {
    /* wrong from some part on */
    {"list_of_zeros", SLICE("total(s[range(p)]) - [0, 0, 0, 0, 1, 1, 1, 1][p]"), 0},
    {"list_short", SLICE("total(s[range(p)]) - [0, 0, 0, 1][p]"), 0},
    {"minimum", SLICE("total(s[range(min(p, 3))])"), 0},
    {"half_of_place", SLICE("total(s[range(p)]) + max(0, p - 4)"), 0},
    {"one_by_one", SLICE("total(s[range(p)]) + max(0, p - 1 - 1 - 1 - 1)"), 0},
    {"roots", SLICE("total(s[range(p)]) + p * (p - 1) * (p - 1 - 1) * (p - 1 - 1 - 1)"), 0},
    {"product", SLICE("total(s[range(p)]) + p // (2 * 3)"), 0},
    {"length", SLICE("total(s[range(p)]) + max(0, length(s) - 5)"), 0},
    {"sum_of_places", SLICE("total(s[range(p)]) + max(0, total(range(p)) - 6)"), 0},
    {"place_itself", TURNED("p == 5"), 0},
    {"square", TURNED("p * p == 9"), 0},
    {"power", TURNED("p * p * p * p * p > 100"), 0},
    {"position", TURNED("position([7, 1, 5, 4], p) >= 0"), 0},
    {"divided", TURNED("p // 3 == 1"), 0},
    {"remainder", TURNED("p % 4 == 3"), 0},
    {"lengths", TURNED("length(s) == 4"), 0},
    {"of_sizes", TURNED("length(range(p)) + length(s) == 7"), 0},
    {"two_splits",
     "split(split(x, sizes = s, axis = a)@p, sizes = t, axis = a)@q => "
     "split(x, sizes = s, axis = a)@p where t == [s[p]] or p == 3",
     0},
    {"three_of_more",
     "join(split(x, sizes = s, axis = a)@0, split(x, sizes = s, axis = a)@1,"
     " split(x, sizes = s, axis = a)@2, axis = a) => x",
     0},
    {"operands", JOINED("count(xs) > 3"), 0},
    {"operands_squared", JOINED("count(xs) * count(xs) == 9"), 0},
    {"operands_less", JOINED("count(xs) - 1 - 1 - 1 == 1"), 0},
    {"operands_of_two",
     "reverse(join(..xs, y, ..zs, axis = a), axes = b) => join(..xs, y, ..zs, axis = a)"
     " where b == [] or count(xs) + count(zs) == 4",
     0},
    {"limits_swapped", JOINED("62 <= count(xs)"), 0},
    {"rank_squared", TURNED("p >= rank(x) * rank(x)"), 0},
    {"beside_an_axis", TURNED("p == a + 4"), 0},
    /* right, but a number of parts is computed with an axis */
    {"slice_to_the_end", SLICE("shape(x)[a] - total(s[range(p, length(s))])"), 0},
    /* right for all */
    {"slice", SLICE("total(s[range(p)])"), 1},
    {"slice_limited", SLICE("total(s[range(p)])") " where length(s) <= 64", 1},
    {"slice_of_first",
     "split(x, sizes = s, axis = a)@0 => subtensor(x, start = repeat(0, rank(x)),"
     " size = replace(shape(x), a, s[0]))",
     1},
    {"not_turned", TURNED("b == []"), 1},
    {"turned_one_long",
     "reverse(split(x, sizes = s, axis = a)@p, axes = b) => split(x, sizes = s, axis = a)@p"
     " where b == [a], s[p] == 1",
     1},
    {"negative", "-split(x, sizes = s, axis = a)@p => split(-x, sizes = s, axis = a)@p", 1},
    {"sliced_again", "exp(split(x, sizes = s, axis = a)@p) => split(exp(x), sizes = s, axis = a)@p",
     1},
    {"whole", "split(x, sizes = s, axis = a)@0 => x where length(s) == 1", 1},
    {"joined", JOINED("b == []"), 1},
    {"joined_of_negatives", "-join(x, y, axis = a) => join(-x, -y, axis = a)", 1},
    {"joined_alone", "join(..xs, axis = a) => join(..xs, axis = a) where count(xs) >= 2", 1},
};

static const parts_case lookups[] = {
    /* the right side looks up more than the left one */
    {"both_arms",
     "take(x, where(c, i, j), axis = k) => where(c, take(x, i, axis = k), take(x, j, axis = k))"
     " where rank(x) == 1, rank(i) == 1, rank(j) == 1, rank(c) == 1",
     0},
    {"arm",
     "where(c, take(x, where(c, i, j), axis = 0), y) => where(c, take(x, i, axis = 0), y)"
     " where rank(x) == 1, rank(i) == 1, rank(j) == 1, rank(c) == 1, rank(y) == 1",
     0},
    {"before_the_cut",
     "take(x, subtensor(i, start = a, size = b, step = c), axis = 0) =>"
     " subtensor(take(x, i, axis = 0), start = a, size = b, step = c)"
     " where rank(x) == 1, rank(i) == 1",
     0},
    {"before_the_part",
     "take(x, split(i, sizes = s, axis = 0)@p, axis = 0) =>"
     " split(take(x, i, axis = 0), sizes = s, axis = 0)@p where rank(x) == 1, rank(i) == 1",
     0},
    {"before_broadcast",
     "take(x, broadcast_to(i, shape = s), axis = 0) => broadcast_to(take(x, i, axis = 0), shape = "
     "s)"
     " where rank(x) == 1",
     0},
    {"of_less",
     "subtensor(take(x, i, axis = 0), start = [0], size = b, step = [1]) =>"
     " take(subtensor(x, start = [0], size = b, step = [1]), subtensor(i, start = [0], size = b, "
     "step = [1]), axis = 0)"
     " where rank(x) == 1, rank(i) == 1",
     0},
    {"classes",
     "cross_entropy(x, where(c, i, j)) => where(c, cross_entropy(x, i), cross_entropy(x, j))"
     " where integer(i), integer(j), rank(x) == 2, rank(i) == 1, rank(j) == 1, rank(c) == 1",
     0},
    {"classes_cut",
     "cross_entropy(subtensor(x, start = [0, 0], size = b, step = [1, 1]),"
     " subtensor(i, start = [0], size = [b[0]], step = [1])) =>"
     " subtensor(cross_entropy(x, i), start = [0], size = [b[0]], step = [1])"
     " where integer(i), rank(x) == 2, rank(i) == 1, b[1] == shape(x)[1]",
     0},
    /* the same, or some of the same */
    {"elementwise", "exp(take(x, i, axis = k)) => take(exp(x), i, axis = k)", 1},
    {"elementwise_out", "take(-x, i, axis = k) => -take(x, i, axis = k)", 1},
    {"behind_the_cut",
     "subtensor(take(x, i, axis = 0), start = a, size = b, step = c) =>"
     " take(x, subtensor(i, start = a, size = b, step = c), axis = 0)"
     " where rank(x) == 1, rank(i) == 1",
     1},
    {"part",
     "split(take(x, i, axis = 0), sizes = s, axis = 0)@p =>"
     " take(x, split(i, sizes = s, axis = 0)@p, axis = 0) where rank(x) == 1, rank(i) == 1",
     1},
    {"reversed",
     "take(x, reverse(i, axes = [0]), axis = 0) => reverse(take(x, i, axis = 0), axes = [0]) where "
     "rank(x) == 1, rank(i) == 1",
     1},
    {"reversed_in",
     "reverse(take(x, i, axis = 0), axes = [0]) => take(x, reverse(i, axes = [0]), axis = 0) where "
     "rank(x) == 1, rank(i) == 1",
     1},
    {"turned",
     "take(x, dimshuffle(i, order = [1, 0]), axis = 0) => dimshuffle(take(x, i, axis = 0), order = "
     "[1, 0]) where rank(x) == 1, rank(i) == 2",
     1},
    {"broadcast_in",
     "broadcast_to(take(x, i, axis = 0), shape = s) => take(x, broadcast_to(i, shape = s), axis = "
     "0) where rank(x) == 1, length(s) <= 3",
     1},
    {"twice",
     "take(x, i, axis = 0) + take(y, i, axis = 0) => take(x + y, i, axis = 0) where shape(x) == "
     "shape(y), rank(x) == 1",
     1},
    {"of_two",
     "take(take(x, i, axis = 0), j, axis = 0) => take(x, take(i, j, axis = 0), axis = 0) where "
     "rank(i) == 1",
     1},
    {"left_alone",
     "take(x, i, axis = 0) * 0 => x * 0 where integer(x), shape(i) == shape(x), rank(x) == 1", 1},
    {"classes_negated",
     "-cross_entropy(x, i) => -cross_entropy(x, i) where integer(i), rank(x) == 2", 1},
};

/* Flags that are computed, what a rule doesn't say of a value's uses, truths as numbers, dtypes
 * that the right side hasn't. */
#define TURNED_OR(WHEN) "reverse(x, axes = a) => x where length(a) == 0 or " WHEN

static const parts_case corners[] = {
    /* flags */
    {"flag_of_size", "cumsum(x, axis = k) => cumsum(x, axis = k, exclusive = shape(x)[k])", 0},
    {"flag_of_large_size",
     "cumsum(x, axis = k) => cumsum(x, axis = k, reverse = shape(x)[k] // 5000)", 0},
    {"flag_of_start",
     "cumsum(subtensor(x, start = s, size = n), axis = k) => cumsum(subtensor(x, start = s, size = "
     "n), axis = k, exclusive = s[k])",
     0},
    {"flag_kept", "sum(x, axes = a, keepdims = 1) => sum(x, axes = a, keepdims = shape(x)[0])", 0},
    {"flag_of_conv", "corr(x, w) => corr(x, w, flip = shape(x)[0] // 2000)", 0},
    {"flag_computed",
     "cumsum(x, axis = k, exclusive = e) => cumsum(x, axis = k, exclusive = 1 - (1 - e))", 1},
    /* uses, truths, bits */
    {"used_once", TURNED_OR("not single_use(x)"), 0},
    {"truth_below_one", TURNED_OR("(rank(x) == 0) < 1"), 0},
    {"truth_at_least", TURNED_OR("1 >= (rank(x) == 1)"), 0},
    {"truth_equal", TURNED_OR("(rank(x) == 1) == 1"), 0},
    {"part_of_bits",
     "split(x, sizes = s, axis = a)@k => subtensor(x, start = repeat(0, rank(x)), size = "
     "replace(shape(x), a, s[k])) where k == 0 or k == bits(dtype(x))",
     0},
    {"operands_of_bits",
     "reverse(join(..xs, axis = a), axes = b) => join(..xs, axis = a) where b == [] or count(xs) > "
     "bits(i8)",
     0},
    {"used_and_turned", "reverse(reverse(x, axes = a) as y, axes = a) => x where single_use(y)", 1},
    /* dtypes */
    {"index_unsigned",
     "reverse(take(x, i, axis = 0), axes = a) => take(x, i, axis = 0) where length(a) == 0 or "
     "unsigned(i)",
     0},
    {"index_narrow",
     "reverse(take(x, i, axis = 0), axes = a) => take(x, i, axis = 0) where length(a) == 0 or "
     "dtype(i) == i32",
     0},
    {"filled_by_literal", "dimshuffle(fill(x, 1), order = p) => fill(dimshuffle(x, order = p), 1)",
     0},
    {"filled",
     "dimshuffle(fill(x, y), order = p) => fill(dimshuffle(x, order = p), y) where scalar(y)", 1},
    {"fills_of_two",
     "set_subtensor(fill(x, z), fill(y, z), start = s) => fill(set_subtensor(x, y, start = s), z)",
     0},
    {"refused_of_bool", "reverse(x, axes = a) => reverse(where(neg(x) == x, x, x), axes = a)", 0},
    {"refused_of_floats", "reverse(x, axes = a) => reverse(where(bit_not(x) == x, x, x), axes = a)",
     0},
    {"refused_of_integers",
     "reverse(x, axes = a) => reverse(where(softmax(x, axis = 0) == 0, x, x), axes = a) where "
     "rank(x) > 0",
     0},
    {"literal_of_floats", "reverse(x, axes = a) => reverse(where(x == 0.5, x, x), axes = a)", 0},
    {"literal_too_large", "reverse(x, axes = a) => reverse(where(x == 70000, x, x), axes = a)", 0},
    {"literal_of_all", "reverse(x, axes = a) => reverse(where(x == 1, x, x), axes = a)", 1},
    {"empty_of_another", "reverse(x, axes = a) => exp(x) where elements(x) == 0", 0},
    {"empty_sums", "cumsum(x, axis = a) => x where shape(x)[a] == 0", 0},
    {"never_drawn", "corr(x, w, padding = \"half\") => corr(x, w)", 0},
    /* the greatest of a number and of one that isn't known */
    {"greatest_of_value",
     "reverse(x * c, axes = b) => x * c where scalar(c), length(b) == 0 or max(1.0, value(c)) > "
     "4.0",
     0},
    {"least_of_value",
     "reverse(x * c, axes = b) => x * c where scalar(c), length(b) == 0 or min(5.0, value(c)) < "
     "4.0",
     0},
    /* what is found out when the graph runs isn't known when the rule is applied */
    {"joined_sizes",
     "join(x, y, axis = 0) => reverse(join(x, y, axis = 0), axes = without([1], places(shape(x), "
     "shape(y)[1]))) where rank(x) == 2",
     0},
    {"reshaped_size",
     "reshape(x, shape = s) => reverse(reshape(x, shape = s), axes = without([0], "
     "places(shape(x), s[0]))) where rank(x) == 1, length(s) == 1",
     0},
    {"total_of_parts",
     "split(x, sizes = s, axis = 0)@0 => reverse(split(x, sizes = s, axis = 0)@0, axes = "
     "without([0], places(shape(x), total(s)))) where rank(x) == 1",
     0},
    {"broadcast_size",
     "broadcast_to(x, shape = s) => reverse(broadcast_to(x, shape = s), axes = without([0], "
     "concat(places(shape(x), 1), places(s, shape(x)[0])))) where rank(x) == 1, length(s) == 1",
     0},
    {"size_of_at_least_0",
     "x + x => reverse(x + x, axes = without([0], places(shape(x), max(shape(x)[0], 0)))) where "
     "rank(x) == 1",
     0},
    {"contracted_size",
     "dot(x, y, contract_x = [1], contract_y = [0]) => reverse(dot(x, y, contract_x = [1], "
     "contract_y = [0]), axes = without([0], places([shape(x)[1]], shape(y)[0]))) where rank(x) == "
     "2, rank(y) == 2",
     0},
    {"known_to_be_equal",
     "x + y => reverse(x + y, axes = without([0], places(shape(x), shape(y)[0]))) where rank(x) == "
     "1, shape(x) == shape(y)",
     1},
    /* only a literal 1 is repeated */
    {"broadcast_of_broadcast",
     "broadcast_to(broadcast_to(x, shape = s), shape = t) => broadcast_to(x, shape = t)", 0},
    {"dropped_axis", "-dimshuffle(x, order = []) + y => -x + y where rank(x) == 1, rank(y) == 1",
     0},
    {"reshaped_axis", "-reshape(x, shape = [1]) * y => -x * y where rank(x) == 1, rank(y) == 1", 0},
    {"only_part",
     "fill(y, -split(x, sizes = [1], axis = 0)@0) => fill(y, -x) where rank(x) == 1, rank(y) == 1",
     0},
    {"size_of_either",
     "(x + y) as z => reverse(z, axes = without([0], places(shape(z), shape(x)[0]))) where rank(x) "
     "== 1, rank(y) == 1",
     0},
    {"size_of_itself",
     "(x + y) as z => reverse(z, axes = without([0], places(shape(z), shape(z)[0]))) where rank(x) "
     "== 1, rank(y) == 1",
     1},
    {"comes_to_one", "-arange(n = n) => 0 - arange(n = max(n, 1))", 0},
    {"one_by_arithmetic",
     "-fill(x, v) => broadcast_to(-v, shape = max(shape(x), 3) + min(shape(x), 3) - shape(x) - 2) "
     "where scalar(v), rank(x) == 1",
     0},
    {"one_as_written",
     "-fill(x, v) => broadcast_to(-v, shape = shape(x) - shape(x) + 1) where scalar(v), rank(x) == "
     "1",
     1},
    /* numbers that operations refuse */
    {"step_of_0",
     "subtensor(x, start = s, size = z) => subtensor(x, start = s, size = z, step = 101 - "
     "shape(x)) where max(z) <= 1",
     0},
    {"padding_below_0",
     "corr(pad(x, 0, low = l, high = h), w) => corr(x, w, low = l[range(2, rank(x))], high = "
     "h[range(2, rank(x))]) where l[[0, 1]] == 0, h[[0, 1]] == 0, l + h >= 0, rank(x) == 3",
     0},
    {"padding_of_pad",
     "corr(pad(x, 0, low = l, high = h), w) => corr(x, w, low = l[range(2, rank(x))], high = "
     "h[range(2, rank(x))]) where l[[0, 1]] == 0, h[[0, 1]] == 0, l >= 0, h >= 0, rank(x) == 3",
     1},
    {"strides_too_many", "corr(x, w, stride = s) => corr(x, w, stride = [s, 1])", 0},
    /* sizes beyond 64 bits */
    {"size_scaled", "reshape(x, shape = s) => reshape(x, shape = min(s, s * 10000000000))", 0},
    {"size_cubed", "reshape(x, shape = s) => reshape(x, shape = min(s, s * s * s))", 0},
    {"size_there_and_back",
     "reshape(x, shape = s) => reshape(x, shape = s * 10000000000000 // 10000000000000)", 0},
    {"size_of_three",
     "size(value = a) * size(value = b) * size(value = c) => size(value = a * b * c)", 0},
    {"size_below_0", "-size(value = n) => 0 - size(value = max(n, 0)) where n * n > 30", 0},
    {"size_below_0_as_size", "-size(value = n) => -size(value = n) + sum(arange(n = n)) * 0", 0},
    {"size_of_two", "size(value = a) * size(value = b) => size(value = a * b)", 1},
    {"size_of_elements",
     "reshape(reshape(x, shape = s), shape = t) => reshape(reshape(x, shape = [product(s)]), shape "
     "= t)",
     1},
};

typedef struct outcome {
  int proved;
  char why[200];
} outcome;

static void take(void *user, const gemel_proof *proof) {
  outcome *o = user;
  o->proved = proof->elements != NULL;
  CT_CHECK(proof->counterexample == NULL); /* a mistake that the check of claims had to find */
  snprintf(o->why, sizeof o->why, "%s", proof->why);
}

static void check(const void *data) {
  const parts_case *c = data;
  char text[1000];
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  snprintf(text, sizeof text, "rule %s in canonicalize: %s", c->name, c->text);
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "parts.rules", &error);
  outcome o = {0};
  const gemel_prove_options options = {.size = sizeof options,
                                       .ranks = strstr(c->text, "corr(") != NULL ? 3 : 2,
                                       .jobs = 1,
                                       .sink = take,
                                       .user = &o};
  CT_EQ_STR(error.text, "");
  CT_EQ_INT(gemel_prove_rules(context, rules, NULL, &options, &error), GEMEL_OK);
  ct_context("%s: %s", c->name, o.why);
  CT_EQ_INT(o.proved, c->right);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(lookups); k++) {
    CT_ADD_TO("indices", lookups[k].right ? "right" : "wrong", lookups[k].name, check, &lookups[k]);
  }
  for (size_t k = 0; k < CT_COUNT(corners); k++) {
    CT_ADD_TO("corners", corners[k].right ? "right" : "wrong", corners[k].name, check, &corners[k]);
  }
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    CT_ADD_TO("parts", cases[k].right ? "right" : "wrong", cases[k].name, check, &cases[k]);
  }
}
