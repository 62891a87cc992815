/*
 * The record of proofs: what gemel_rule_proved says of gemel's own rules without proving them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <string.h>

#include <gemel/verify.h>
#include "rules/rule.h"

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

void ct_register(void) {
  CT_ADD("recorded", "rules", listed, NULL);
}
