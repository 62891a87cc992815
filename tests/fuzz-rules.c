/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as the text of rules, behind a digit. What is read as
 * one rule or two is compiled, and verified by few instances in the tier of that digit; 5: proved
 * for few axes, which takes longest. A crash, a leak, a sanitizer's
 * word or a hang is a finding, and so is a claim that is withdrawn.
 */
#include "fuzz.h"

static void take_proof(void *user, const gemel_proof *proof) {
  char text[2000];
  (void)user;
  if (proof->counterexample != NULL || gemel_proof_json(proof, text, sizeof text) == 0) {
    abort();
  }
}

static void look_at(gemel_context *context, const gemel_rules *rules, char digit) {
  gemel_error error;
  double until;
  const gemel_prove_options proofs = {.size = sizeof proofs, .ranks = 1, .sink = take_proof};
  const gemel_verify_options options = fuzz_options(digit, &until);
  for (size_t k = 0; k < gemel_rules_count(rules); k++) {
    gemel_rule_check_axes(gemel_rules_at(rules, k), &error);
  }
  if (digit == '5') {
    gemel_prove_rules(context, rules, NULL, &proofs, &error);
  } else if (options.tiers != 0) {
    gemel_verify_rules(context, rules, NULL, &options, NULL, &error);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  gemel_context *context = length > 0 ? gemel_context_new(&error) : NULL;
  const char *text = (const char *)bytes;
  gemel_rules *rules =
      context != NULL ? gemel_rules_parse(context, text + 1, length - 1, "f.rules", &error) : NULL;
  if (rules != NULL && gemel_rules_count(rules) <= 2) {
    look_at(context, rules, text[0]);
  }
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return 0;
}
