/* SPDX-License-Identifier: MIT
 *
 * A target for libFuzzer (ci/fuzz): any bytes as the text of rules. What is read as rules is
 * proved, where that is quick, and verified by few instances: a crash, a leak, a sanitizer's word
 * or a hang is a finding, and so is a claim that is withdrawn.
 */
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void take_proof(void *user, const gemel_proof *proof) {
  (void)user;
  if (proof->counterexample != NULL) {
    abort();
  }
}

static void take_record(void *user, const gemel_record *record) {
  (void)user;
  (void)record;
}

static int count_ticks(void *user, const char *doing) {
  size_t *ticks = user;
  (void)doing;
  return ++*ticks > 400;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  gemel_error error;
  size_t ticks = 0;
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules =
      context != NULL ? gemel_rules_parse(context, (const char *)bytes, length, "f.rules", &error)
                      : NULL;
  const gemel_prove_options proofs = {.size = sizeof proofs, .ranks = 1, .sink = take_proof};
  const gemel_verify_options options = {.size = sizeof options,
                                        .quick = 1,
                                        .instances = 4,
                                        .sink = take_record,
                                        .tick = count_ticks,
                                        .user = &ticks};
  if (rules != NULL && gemel_rules_count(rules) <= 2) {
    gemel_prove_rules(context, rules, NULL, &proofs, &error);
    gemel_verify_rules(context, rules, NULL, &options, NULL, &error);
  }
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return 0;
}
