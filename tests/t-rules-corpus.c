/*
 * Corpora of rewrite rules: of each file in tests/rules, right ones pass in every tier, wrong ones
 * are refuted, and those with a dead arm, which nothing can take, or with empty instances only are
 * uninformative, whatever the seed. A file is called CLASS.right.rules, CLASS.wrong.rules or
 * CLASS.dead.rules.
 * GEMEL_CORPUS_SEEDS says how many seeds are tried (1).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>
#include "support/corpus.h"

enum { SEEDS = 1, MOST_RULES = 64, INSTANCES = 40 };

/* What the records of one rule say. */
struct seen {
  char name[64], text[600];
  size_t verdicts[GEMEL_VERDICT_COUNT];
};

struct all {
  size_t n;
  struct seen rules[MOST_RULES];
};

static void note(void *user, const gemel_record *record) {
  struct all *all = user;
  struct seen *seen = &all->rules[all->n > 0 ? all->n - 1 : 0];
  if (all->n == 0 || strcmp(seen->name, record->name) != 0) {
    if (all->n == MOST_RULES) {
      return;
    }
    seen = &all->rules[all->n++];
    snprintf(seen->name, sizeof seen->name, "%s", record->name);
  }
  seen->verdicts[record->verdict]++;
  if (record->verdict != GEMEL_VERDICT_PASSED && record->verdict != GEMEL_VERDICT_NOT_APPLICABLE &&
      record->verdict != GEMEL_VERDICT_NOT_RUN) {
    snprintf(seen->text, sizeof seen->text, "%s: %s: %s", gemel_tier_name(record->tier),
             record->detail, record->counterexample != NULL ? record->counterexample : "");
  }
}

static void verify(const corpus_file *file, uint64_t seed, struct all *all) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_verify_options options;
  gemel_rules *rules;
  memset(all, 0, sizeof *all);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.seed = seed;
  options.quick = getenv("GEMEL_QUICK_LOOK") != NULL;
  options.instances = options.quick ? 0 : INSTANCES;
  options.sink = note;
  options.user = all;
  rules = gemel_rules_load(context, file->path, &error);
  ct_context("%s: %s", file->name, error.text);
  CT_CHECK(rules != NULL);
  if (rules != NULL) {
    CT_EQ_UINT(gemel_rules_count(rules) <= MOST_RULES, 1);
    CT_EQ_INT(gemel_verify_rules(context, rules, NULL, &options, NULL, &error), GEMEL_OK);
    CT_EQ_UINT(all->n, gemel_rules_count(rules));
  }
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

static void is_judged(const void *data) {
  const corpus_file *file = data;
  int wrong = strstr(file->name, ".wrong") != NULL, dead = strstr(file->name, ".dead") != NULL;
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    static struct all all;
    verify(file, seed, &all);
    for (size_t k = 0; k < all.n; k++) {
      const struct seen *seen = &all.rules[k];
      ct_context("%s: %s, seed %d: %s", file->name, seen->name, (int)seed, seen->text);
      if (wrong) {
        CT_CHECK(seen->verdicts[GEMEL_VERDICT_REFUTED] > 0);
      } else if (dead) {
        CT_EQ_UINT(seen->verdicts[GEMEL_VERDICT_PASSED] + seen->verdicts[GEMEL_VERDICT_REFUTED], 0);
        CT_CHECK(seen->verdicts[GEMEL_VERDICT_UNINFORMATIVE] > 0);
        if (strcmp(file->name, "empty.dead") == 0) {
          CT_HAS_STR(seen->text, "no instance with elements was drawn");
        } else {
          CT_HAS_STR(seen->text, "no instance takes the arm");
          CT_HAS_STR(seen->text, "(line ");
        }
      } else {
        CT_EQ_UINT(seen->verdicts[GEMEL_VERDICT_PASSED] +
                       seen->verdicts[GEMEL_VERDICT_NOT_APPLICABLE],
                   GEMEL_TIER_COUNT);
        CT_CHECK(seen->verdicts[GEMEL_VERDICT_PASSED] > 0);
      }
    }
  }
}

void ct_register(void) {
  static corpus rules = {.folder = "tests/rules", .end = ".rules", .least = 43};
  corpus_add(&rules, "corpus", "rules", is_judged);
}
