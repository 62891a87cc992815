/* SPDX-License-Identifier: MIT
 *
 * What was proved of gemel's own rules when it was made (proved.def), for who can't wait for
 * proofs. A row holds as long as the rule has the text, and the prover the sources, that they had
 * when it was recorded.
 */
#include <string.h>
#include "core/context.h"
#include "unbounded/prover.h"
#include "unbounded/unbounded.h"

typedef struct proved_row {
  const char *rule;
  uint64_t text;        /* hash of the rule's text */
  const char *elements; /* NULL: open */
  int ranks;            /* 0: all */
  const char *why;      /* it is open */
} proved_row;

static const proved_row rows[] = {
#define PROVER(hash)
#define PROVED(rule, text, elements, ranks) {#rule, UINT64_C(text), elements, ranks, ""},
#define PROVED_SLOWLY PROVED
#define OPEN(rule, text, why) {#rule, UINT64_C(text), NULL, 0, why},
#include "unbounded/proved.def"
#undef OPEN
#undef PROVED_SLOWLY
#undef PROVED
#undef PROVER
};

/* The prover by which they were proved. */
static const uint32_t recorded_prover =
#define PROVER(hash) UINT32_C(hash)
#define PROVED(...)
#define PROVED_SLOWLY(...)
#define OPEN(...)
#include "unbounded/proved.def"
#undef OPEN
#undef PROVED_SLOWLY
#undef PROVED
#undef PROVER
    ;

uint32_t gemel__prover(void) {
  return GEMEL__PROVER;
}

/* FNV-1a. */
uint64_t gemel__rule_hash(const gemel_rule *rule) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (const char *at = rule->info.text; *at != '\0'; at++) {
    hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
  }
  return hash;
}

/* 1 if RULE is one of gemel's own, and not only called like it. If these haven't been made yet, it
 * is none. */
static int is_builtin(const gemel_rule *rule) {
  const gemel_rules *builtin = __atomic_load_n(&rule->context->rules, __ATOMIC_ACQUIRE);
  return builtin != NULL && gemel_rules_find(builtin, rule->info.name) == rule;
}

gemel_proof gemel_rule_proved(const gemel_rule *rule) {
  gemel_proof proof = {.size = sizeof proof, .why = ""};
  if (rule == NULL) {
    return proof;
  }
  proof.rule = rule->info.name;
  if (!is_builtin(rule)) {
    return proof;
  }
  proof.text_hash = gemel__rule_hash(rule);
  proof.prover = GEMEL__PROVER;
  for (size_t k = 0; recorded_prover == GEMEL__PROVER && k < sizeof rows / sizeof *rows; k++) {
    if (strcmp(rows[k].rule, rule->info.name) == 0 && rows[k].text == proof.text_hash) {
      proof.recorded = 1;
      proof.elements = rows[k].elements;
      proof.ranks = rows[k].ranks;
      proof.all_ranks = rows[k].elements != NULL && rows[k].ranks == 0;
      proof.why = rows[k].why;
    }
  }
  return proof;
}
