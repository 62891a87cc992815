/* SPDX-License-Identifier: MIT
 *
 * What was proved of gemel's own rules when it was made (proved.def), for who can't wait for
 * proofs.
 */
#include <string.h>
#include "core/context.h"
#include "unbounded/unbounded.h"

typedef struct proved_row {
  const char *rule, *elements;
  int ranks; /* 0: all */
} proved_row;

static const proved_row rows[] = {
#define PROVED(rule, elements, ranks) {#rule, elements, ranks},
#define PROVED_SLOWLY PROVED
#include "unbounded/proved.def"
#undef PROVED_SLOWLY
#undef PROVED
};

/* 1 if RULE is one of gemel's own, and not only called like it. If these haven't been made yet, it
 * is none. */
static int is_builtin(const gemel_rule *rule) {
  const gemel_rules *builtin = __atomic_load_n(&rule->context->rules, __ATOMIC_ACQUIRE);
  return builtin != NULL && gemel_rules_find(builtin, rule->info.name) == rule;
}

gemel_proof gemel_rule_proved(const gemel_rule *rule) {
  gemel_proof proof = {.size = sizeof proof, .why = ""};
  if (rule == NULL || !is_builtin(rule)) {
    return proof;
  }
  proof.rule = rule->info.name;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    if (strcmp(rows[k].rule, rule->info.name) == 0) {
      proof.elements = rows[k].elements;
      proof.ranks = rows[k].ranks;
      proof.all_ranks = rows[k].ranks == 0;
    }
  }
  return proof;
}
