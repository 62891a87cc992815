/*
 * The record of proofs: what gemel_rule_proved says of gemel's own rules without proving them. And
 * proofs that a counterexample withdraws.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <string.h>

#include <gemel/verify.h>
#include "rules/rule.h"
#include "rules/withdraw.h"

/* Each of gemel's own rules is in the record, proved or open with a reason. A rule whose text
 * changes leaves it. */
static void check_all_recorded(gemel_rules *own) {
  for (size_t k = 0; k < gemel_rules_count(own); k++) {
    const gemel_rule *rule = gemel_rules_at(own, k);
    gemel_proof proof = gemel_rule_proved(rule);
    ct_context("%s", gemel_rule_describe(rule)->name);
    CT_CHECK(proof.recorded);
    CT_CHECK((proof.elements == NULL) == (proof.why[0] != '\0'));
  }
  gemel_rule *rule = (gemel_rule *)gemel_rules_find(own, "set_whole");
  const char *text = rule->info.text;
  rule->info.text = "rule set_whole in canonicalize: -(-x) => x";
  CT_CHECK(!gemel_rule_proved(rule).recorded && gemel_rule_proved(rule).elements == NULL);
  rule->info.text = text;
  CT_CHECK(gemel_rule_proved(rule).recorded);
}

/* The list speaks of gemel's own rules, not of what is called like one. */
static void listed(const void *data) {
  static const char text[] = "rule set_whole in canonicalize: -(-x) => x";
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *own = gemel_rules_builtin(context, &error);
  gemel_rules *others = gemel_rules_parse(context, text, strlen(text), "t.rules", &error);
  (void)data;
  CT_REQUIRE(own != NULL && others != NULL);
  gemel_proof proof = gemel_rule_proved(gemel_rules_find(own, "set_whole"));
  CT_EQ_STR(proof.rule, "set_whole");
  CT_EQ_STR(proof.elements, "any");
  CT_CHECK(proof.ranks > 0 || proof.all_ranks);
  CT_CHECK(gemel_rule_proved(gemel_rules_find(others, "set_whole")).elements == NULL);
  CT_CHECK(!gemel_rule_proved(gemel_rules_find(others, "set_whole")).recorded);
  check_all_recorded(own);
  gemel_rules_unref(own);
  gemel_rules_unref(others);
  gemel_context_unref(context);
}

/* ---- Withdrawn ---- */

/* What refutes: a counterexample of this type in this tier. */
typedef struct refutation {
  const char *elements; /* the claim, for tensors of up to RANKS axes; 0: of any */
  int ranks;
  gemel_tier tier;
  const char *text; /* of the counterexample */
  int withdraws;
} refutation;

#define OF(type) "graph g(x: " type ") { return left = x, right = x }\n# input x = 1\n"

static const refutation refutations[] = {
    {"any", 0, GEMEL_TIER_REAL, OF("f32[2, 2]"), 1},
    {"any", 0, GEMEL_TIER_INTEGER, OF("u8[]"), 1},
    {"any", 1, GEMEL_TIER_REAL, OF("f32[2]"), 1},
    {"any", 1, GEMEL_TIER_REAL, OF("f32[2, 2]"), 0},
    {"any", 0, GEMEL_TIER_FLOAT, OF("f32[]"), 0},
    {"any", 0, GEMEL_TIER_SPECIAL, OF("f32[]"), 0},
    {"any", 0, GEMEL_TIER_REAL, "the engine refuses the right side", 1},
    {"any", 0, GEMEL_TIER_REAL, "rules go in circles", 0},
    {"any", 0, GEMEL_TIER_REAL, NULL, 0},
    {NULL, 0, GEMEL_TIER_REAL, OF("f32[]"), 0},
    {"values (reals)", 0, GEMEL_TIER_REAL, OF("f64[3]"), 1},
    {"values (reals)", 0, GEMEL_TIER_INTEGER, OF("i32[3]"), 0},
    {"values (i8, i32)", 0, GEMEL_TIER_INTEGER, OF("i32[3]"), 1},
    {"values (i8 i32)", 0, GEMEL_TIER_REAL, OF("f32[3]"), 0},
    {"bits (f32)", 0, GEMEL_TIER_REAL, OF("f32[3]"), 0},
    {"bits (f32)", 0, GEMEL_TIER_INTEGER, OF("f32[3]"), 1},
    {"bits (f16 bf16), values (reals, bool)", 0, GEMEL_TIER_REAL, OF("f32[3]"), 1},
    {"bits (f16 bf16), values (reals, bool)", 0, GEMEL_TIER_INTEGER, OF("bool[3]"), 1},
    {"bits (f16 bf16), values (i16)", 0, GEMEL_TIER_INTEGER, OF("f32[3]"), 0},
};

/* Each with a record before it that passed, and that has the same proof. */
static void judge_refutation(const refutation *r) {
  gemel_context *context = gemel_context_new(NULL);
  const gemel_proof proof = {
      .elements = r->elements, .ranks = r->ranks, .all_ranks = r->ranks == 0, .why = ""};
  const gemel_record records[] = {{.tier = GEMEL_TIER_REAL, .proof = &proof},
                                  {.tier = r->tier,
                                   .verdict = GEMEL_VERDICT_REFUTED,
                                   .counterexample = r->text,
                                   .proof = &proof}};
  gemel_proof room;
  const gemel_proof *now = gemel__settle_proof(context, 2, records, &room);
  CT_EQ_INT(now != NULL, r->withdraws);
  if (now != NULL) {
    CT_CHECK(now->elements == NULL);
    CT_HAS_STR(now->why, "withdrawn: refuted");
  }
  CT_CHECK(gemel__settle_proof(context, 1, records, &room) == NULL);
  gemel_context_unref(context);
}

static void withdrawn(const void *data) {
  (void)data;
  for (size_t k = 0; k < CT_COUNT(refutations); k++) {
    ct_context("case %zu", k);
    judge_refutation(&refutations[k]);
  }
}

void ct_register(void) {
  CT_ADD("recorded", "rules", listed, NULL);
  CT_ADD("recorded", "withdrawn", withdrawn, NULL);
}
