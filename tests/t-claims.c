/*
 * The check of claims. Of wrong rules that are claimed to be proved an instance is found that
 * contradicts it, wherever in the claim it lies: in a dtype, a rank, a size, a part of a split, a
 * number of operands, a zero's sign, an index outside. What a claim doesn't cover doesn't
 * contradict it, and nothing contradicts right rules.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <string.h>
#include <gemel/text.h>
#include <gemel/verify.h>
#include "rules/claim-check.h"

enum { ALL = 0 };

typedef struct claim_case {
  const char *name, *text;
  const char *elements; /* what is claimed */
  int ranks;            /* ALL: any number of axes */
} claim_case;

#define ANY "any"
#define REALS "values (reals)"
#define INTEGERS "values (i8 i16 i32 i64 u8 u16 u32 u64)"
#define NUMBERS "values (reals, i8 i16 i32 i64 u8 u16 u32 u64)"
#define FLOATS "bits (f16 bf16 f32 f64)"
#define SLICE(START)                                                                               \
  "split(x, sizes = s, axis = a)@p => subtensor(x, start = replace(repeat(0, rank(x)), a, " START  \
  "), size = replace(shape(x), a, s[p]))"

static const claim_case wrong[] = {
    /* for some parts, operands, sizes, ranks, attributes */
    {"parts_from_four", SLICE("total(s[range(p)]) - [0, 0, 0, 0, 1, 1, 1, 1][p]"), ANY, ALL},
    {"parts_from_six", SLICE("total(s[range(p)]) + p // 6"), ANY, ALL},
    {"part_five",
     "reverse(split(x, sizes = s, axis = a)@p, axes = b) => split(x, sizes = s, axis "
     "= a)@p where b == [] or p == 5",
     ANY, ALL},
    {"operands_above_three",
     "reverse(join(..xs, axis = a), axes = b) => join(..xs, axis = a) where b == [] or count(xs) "
     "> 3",
     ANY, ALL},
    {"thirty_operands",
     "reverse(join(..xs, axis = a), axes = b) => join(..xs, axis = a) where b == [] or count(xs) "
     "== 30",
     ANY, ALL},
    {"size_three", "reverse(x, axes = b) => x where shape(x)[0] == 3", ANY, ALL},
    {"size_nine", "reverse(x, axes = b) => x where elements(x) == 9", ANY, ALL},
    {"size_two", "x + reverse(x, axes = [0]) => x + x where elements(x) <= 2", ANY, ALL},
    {"rank_three", "dimshuffle(x, order = o) => x where rank(x) == 3, shape(x)[o] == shape(x)", ANY,
     ALL},
    {"empty_sum", "sum(x, axes = a) => sum(x, axes = a) + 1 where elements(x) == 0", ANY, ALL},
    {"last_axis", "sum(x, axes = a) => sum(x, axes = [rank(x) - 1]) where length(a) == 1", ANY,
     ALL},
    {"used_again", "reverse(x, axes = b) => x where b == [] or not single_use(x)", ANY, ALL},
    {"inverse_order",
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = "
     "q[p])",
     ANY, ALL},
    {"margin_swapped",
     "pad(pad(x, v, low = a, high = b), v, low = c, high = d) => pad(x, v, low = a + d, high = b + "
     "c)",
     ANY, ALL},
    {"step_ignored",
     "subtensor(subtensor(x, start = s, size = n, step = t), start = q, size = m, step = u) => "
     "subtensor(x, start = s + q, size = m, step = t * u)",
     ANY, ALL},
    /* of sizes that are symbols when the rule is applied */
    {"joined_sizes",
     "join(x, y, axis = 0) => reverse(join(x, y, axis = 0), axes = without([1], places(shape(x), "
     "shape(y)[1]))) where rank(x) == 2",
     ANY, ALL},
    {"reshaped_size",
     "reshape(x, shape = s) => reverse(reshape(x, shape = s), axes = without([0], "
     "places(shape(x), s[0]))) where rank(x) == 1, length(s) == 1",
     ANY, ALL},
    {"total_of_parts",
     "split(x, sizes = s, axis = 0)@0 => reverse(split(x, sizes = s, axis = 0)@0, axes = "
     "without([0], places(shape(x), total(s)))) where rank(x) == 1",
     ANY, ALL},
    /* in some dtypes, signs or numbers */
    {"only_i8", "x + 1 > x => x == x where dtype(x) == i8", INTEGERS, ALL},
    {"promoted", "x - (x - y) => x - y where numeric(x), rank(x) == rank(y)", NUMBERS, ALL},
    {"least_integer", "abs(x) >= 0 => x == x where signed(x)", INTEGERS, ALL},
    {"unsigned_below", "x - 1 < x => x == x", "values (u16)", ALL},
    {"bool_sum", "x + x => x where bool(x) or numeric(x)", "values (bool, i8)", ALL},
    {"zero_sign", "x + 0 => x", FLOATS, ALL},
    {"zero_times", "x * 0 => x - x", FLOATS, ALL},
    {"infinite_equal", "x == x => x - x == 0", FLOATS, ALL},
    {"infinite", "x - x => x * 0", FLOATS " values (i8)", ALL},
    {"zero_below", "maximum(x, 0) => where(x > 0, x, 0)", "bits (f32)", ALL},
    {"over_zero", "x / x => x - x + 1", REALS, ALL},
    {"root_of_square", "sqrt(sqr(x)) => x", REALS, ALL},
    {"logarithm", "log(exp(x) * y) => x + log(abs(y))", REALS, ALL},
    {"facts", "abs(x) => x where nonzero(x)", REALS, ALL},
    {"constants", "x * c => x where splat(c), value(c) > 0", REALS, ALL},
    {"shared", "x - y => y - y where not same(x, y)", REALS, ALL},
    {"cast_rounds_up", "cast(cast(x, dtype = i8), dtype = i32) => cast(x, dtype = i32)",
     "values (i8 i16 i32)", ALL},
    /* where the right side has no value, or isn't one */
    {"index_outside",
     "take(x, where(c, i, j), axis = k) => where(c, take(x, i, axis = k), take(x, j, axis = k))",
     ANY, ALL},
    {"index_before",
     "take(x, i, axis = 0) * 0 => take(x, i - 1, axis = 0) * 0 where integer(x), integer(i)",
     INTEGERS, ALL},
    {"class_outside",
     "cross_entropy(x, where(c, i, j)) => where(c, cross_entropy(x, i), cross_entropy(x, j))", ANY,
     ALL},
    {"refused", "reverse(x, axes = a) => reverse(x, axes = a + 1) where length(a) == 1", ANY, ALL},
    {"other_shape", "sum(x, axes = a) => x where length(a) == 1", ANY, ALL},
};

static const claim_case right[] = {
    {"order_of_order",
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q])", ANY, ALL},
    {"slice_of_part", SLICE("total(s[range(p)])"), ANY, ALL},
    {"used_once", "reverse(reverse(x, axes = a) as y, axes = a) => x where single_use(y)", ANY,
     ALL},
    {"reversed_twice", "reverse(reverse(x, axes = a), axes = a) => x", ANY, ALL},
    {"sum_reversed", "sum(reverse(x, axes = a), axes = a) => sum(x, axes = a)", ANY, ALL},
    {"sums_of_sums",
     "sum(sum(x, axes = [0]), axes = [0]) => sum(x, axes = [0, 1]) where rank(x) >= 2", ANY, ALL},
    {"distributes", "x * y + x * z => x * (y + z)", REALS, ALL},
    {"exponentials", "exp(x) * exp(y) => exp(x + y)", REALS, ALL},
    {"negated_twice", "-(-x) => x", FLOATS ", " INTEGERS, ALL},
    {"zero_added", "x + 0 => x", INTEGERS, ALL},
    {"index_of_index",
     "take(take(x, i, axis = 0), j, axis = 0) => take(x, take(i, j, axis = 0), axis = 0) where "
     "rank(i) == 1",
     ANY, ALL},
    {"positive", "abs(x) => x where positive(x)", REALS, ALL},
    {"wide", "cast(cast(x, dtype = i32), dtype = i8) => cast(x, dtype = i8) where signed(x)",
     "values (i8 i16 i32)", ALL},
    /* u64 and i64 meet in f64, which rounds */
    {"promoted", "x - (x - y) => y where numeric(x)", NUMBERS, ALL},
    /* wrong, but not of what is claimed */
    {"wrong_for_i8", "x + 1 > x => x == x where dtype(x) == i8 or elements(x) == 0", "values (i32)",
     ALL},
    {"wrong_for_rank_three", "reverse(x, axes = b) => x where b == [] or rank(x) == 3", ANY, 2},
    {"wrong_for_infinities", "x == x => x - x == 0", REALS, ALL},
    {"wrong_for_zeros", "x + 0 => x", REALS, ALL},
    {"pole", "log(1 / x) => -log(x)", REALS, ALL},
    {"wrong_for_floats", "x - x => x * 0", INTEGERS, ALL},
};

static void check(const claim_case *c, int expected) {
  char text[1000], *shown;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  snprintf(text, sizeof text, "rule %s in canonicalize: %s", c->name, c->text);
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "claims.rules", &error);
  ct_context("%s: %s", c->name, error.text);
  CT_CHECK(rules != NULL);
  gemel_proof proof = {.size = sizeof proof,
                       .rule = c->name,
                       .elements = c->elements,
                       .ranks = c->ranks,
                       .all_ranks = c->ranks == ALL,
                       .why = ""};
  CT_EQ_INT(gemel__keep_claim(context, gemel_rules_at(rules, 0), &proof, &shown, &error), GEMEL_OK);
  ct_context("%s, %zu instances: %s", c->name, proof.checked, shown != NULL ? shown : "");
  CT_EQ_INT(shown != NULL, expected);
  CT_EQ_INT(proof.elements == NULL, expected);
  CT_EQ_INT(proof.counterexample != NULL, expected);
  if (!expected) {
    CT_CHECK(proof.checked > 0 || c->ranks != ALL);
  }
  gemel_text_free(shown);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

static void contradicted(const void *data) {
  check(data, 1);
}

static void kept(const void *data) {
  check(data, 0);
}

/* ---- Where claims are made ---- */

static void note_proof(void *user, const gemel_proof *proof) {
  *(size_t *)user = proof->elements != NULL ? proof->checked : 0;
}

static void note_record(void *user, const gemel_record *record) {
  note_proof(user, record->proof);
}

/* Both ways to ask for proofs check them. */
static void asked(const void *data) {
  const char *text = "rule twice in canonicalize: reverse(reverse(x, axes = a), axes = a) => x";
  size_t proved = 0, verified = 0;
  (void)data;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "claims.rules", &error);
  const gemel_prove_options proofs = {
      .size = sizeof proofs, .jobs = 1, .sink = note_proof, .user = &proved};
  const gemel_verify_options options = {.size = sizeof options,
                                        .jobs = 1,
                                        .instances = 8,
                                        .proofs = 1,
                                        .sink = note_record,
                                        .user = &verified};
  CT_EQ_INT(gemel_prove_rules(context, rules, NULL, &proofs, &error), GEMEL_OK);
  CT_EQ_INT(gemel_verify_rules(context, rules, NULL, &options, NULL, &error), GEMEL_OK);
  CT_CHECK(proved > 100);
  CT_EQ_UINT(proved, verified);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(wrong); k++) {
    CT_ADD_TO("wrong", "claims", wrong[k].name, contradicted, &wrong[k]);
  }
  for (size_t k = 0; k < CT_COUNT(right); k++) {
    CT_ADD_TO("right", "claims", right[k].name, kept, &right[k]);
  }
  CT_ADD("claims", "asked", asked, NULL);
}
