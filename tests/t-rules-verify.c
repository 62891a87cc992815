/*
 * Proof of rewrite rules: right ones pass in every tier, whatever the seed, and wrong ones are
 * refuted. A rule stands in the table as its text, with what must come of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemel/verify.h>

static gemel_error error;

struct row {
  const char *name, *needs, *text;
};

enum { SEEDS = 2 };

static const struct row right_rules[] = {
#define RIGHT(name, needs, text) {#name, needs, text},
#define WRONG(name, needs, text)
#define NEVER(name, needs, text)
#include "rules-verify.def"
#undef RIGHT
#undef WRONG
#undef NEVER
};

static const struct row wrong_rules[] = {
#define RIGHT(name, needs, text)
#define WRONG(name, needs, text) {#name, needs, text},
#define NEVER(name, needs, text)
#include "rules-verify.def"
#undef RIGHT
#undef WRONG
#undef NEVER
};

static const struct row never_rules[] = {
#define RIGHT(name, needs, text)
#define WRONG(name, needs, text)
#define NEVER(name, needs, text) {#name, needs, text},
#include "rules-verify.def"
#undef RIGHT
#undef WRONG
#undef NEVER
};

/* What the records of one rule say. */
struct seen {
  size_t records, verdicts[GEMEL_VERDICT_COUNT];
  size_t special; /* results compared in tier special */
  char text[2000], replay[300];
};

static size_t lines_of(const char *text) {
  size_t n = 0;
  for (; text != NULL && *text != '\0'; text++) {
    n += *text == '\n';
  }
  return n;
}

static void note(void *user, const gemel_record *record) {
  struct seen *seen = user;
  seen->records++;
  seen->verdicts[record->verdict]++;
  seen->special += record->tier == GEMEL_TIER_SPECIAL ? record->elements : 0;
  CT_EQ_STR(record->kind, "rule");
  if (record->verdict == GEMEL_VERDICT_REFUTED || record->verdict == GEMEL_VERDICT_UNINFORMATIVE) {
    snprintf(seen->text, sizeof seen->text, "%s: %s: %s", gemel_tier_name(record->tier),
             record->detail, record->counterexample != NULL ? record->counterexample : "");
    CT_CHECK(record->verdict != GEMEL_VERDICT_REFUTED || record->counterexample != NULL);
    CT_CHECK(lines_of(record->counterexample) <= 12);
    if (record->replay != NULL) {
      snprintf(seen->replay, sizeof seen->replay, "%s", record->replay);
    }
  }
}

static struct seen verify_by(const struct row *row, uint64_t seed, size_t instances,
                             const char *folder) {
  struct seen seen;
  char text[1000];
  gemel_verify_options options;
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules;
  memset(&seen, 0, sizeof seen);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.seed = seed;
  options.instances = instances;
  options.sink = note;
  options.user = &seen;
  options.replay_folder = folder;
  snprintf(text, sizeof text, "rule %s in canonicalize%s%s:\n    %s\n", row->name,
           row->needs[0] != '\0' ? " needs " : "", row->needs, row->text);
  rules = gemel_rules_parse(context, text, strlen(text), "table.rules", &error);
  ct_context("%s", rules == NULL ? error.text : row->name);
  CT_CHECK(rules != NULL);
  if (rules != NULL) {
    CT_EQ_INT(gemel_verify_rules(context, rules, NULL, &options, NULL, &error), GEMEL_OK);
  }
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return seen;
}

static struct seen verify(const struct row *row, uint64_t seed, const char *folder) {
  return verify_by(row, seed, 0, folder);
}

static void right(const void *data) {
  const struct row *row = data;
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_TEST_SEEDS", SEEDS); seed++) {
    struct seen seen = verify(row, seed, NULL);
    ct_context("%s, seed %d: %s", row->name, (int)seed, seen.text);
    CT_EQ_UINT(seen.records, GEMEL_TIER_COUNT);
    CT_EQ_UINT(seen.verdicts[GEMEL_VERDICT_PASSED] + seen.verdicts[GEMEL_VERDICT_NOT_APPLICABLE],
               seen.records);
    CT_CHECK(seen.verdicts[GEMEL_VERDICT_PASSED] > 0);
  }
}

/* What is declared shows however few instances are asked for. */
static void few(const void *data) {
  const struct row *row = data;
  struct seen seen = verify_by(row, 1, 3, NULL);
  ct_context("%s: %s", row->name, seen.text);
  CT_EQ_UINT(seen.verdicts[GEMEL_VERDICT_PASSED] + seen.verdicts[GEMEL_VERDICT_NOT_APPLICABLE],
             GEMEL_TIER_COUNT);
}

/* Tier special looks at as many more points as instances are asked for. */
static void many(const void *data) {
  static const struct row row = {"negated", "", "abs(-x) => abs(x) where float(x)"};
  size_t usual = verify_by(&row, 1, 96, NULL).special;
  size_t more = verify_by(&row, 1, 960, NULL).special;
  (void)data;
  ct_context("%d results, and %d", (int)usual, (int)more);
  CT_CHECK(usual > 0 && more > 5 * usual);
}

static void overstated(void *user, const gemel_record *record) {
  ct_context("%s: %s", record->name, record->detail);
  CT_CHECK(record->verdict == GEMEL_VERDICT_PASSED ||
           record->verdict == GEMEL_VERDICT_NOT_APPLICABLE);
  ++*(size_t *)user;
}

static void catalogue_by_few(const void *data) {
  gemel_verify_options options;
  gemel_context *context = gemel_context_new(&error);
  size_t records = 0;
  (void)data;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.instances = 12;
  options.tiers = 1u << GEMEL_TIER_SPECIAL;
  options.sink = overstated;
  options.user = &records;
  CT_EQ_INT(gemel_verify_rules(context, NULL, NULL, &options, NULL, &error), GEMEL_OK);
  CT_CHECK(records > 400);
  gemel_context_unref(context);
}

/* What the folder holds is refuted once more, and by itself. */
static void replay(const char *path) {
  gemel_context *context = gemel_context_new(&error);
  gemel_verify_options options;
  gemel_verify_summary summary = {.size = sizeof summary};
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  CT_EQ_INT(gemel_verify_replay(context, path, &options, &summary, &error), GEMEL_OK);
  CT_EQ_UINT(summary.verdicts[GEMEL_VERDICT_REFUTED], 1);
  gemel_context_unref(context);
}

static void wrong(const void *data) {
  const struct row *row = data;
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_TEST_SEEDS", SEEDS); seed++) {
    struct seen seen = verify(row, seed, seed == 1 ? ct_scratch() : NULL);
    ct_context("%s, seed %d: %s", row->name, (int)seed, seen.text);
    CT_EQ_UINT(seen.records, GEMEL_TIER_COUNT);
    CT_CHECK(seen.verdicts[GEMEL_VERDICT_REFUTED] + seen.verdicts[GEMEL_VERDICT_OVERSTATED] > 0);
    if (seen.replay[0] != '\0') {
      replay(seen.replay);
    }
  }
}

static void never(const void *data) {
  const struct row *row = data;
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_TEST_SEEDS", SEEDS); seed++) {
    struct seen seen = verify(row, seed, NULL);
    ct_context("%s, seed %d", row->name, (int)seed);
    CT_EQ_UINT(seen.verdicts[GEMEL_VERDICT_UNINFORMATIVE], GEMEL_TIER_COUNT);
    CT_HAS_STR(seen.text, "no instance in ");
    if (strcmp(row->name, "many_axes") == 0) {
      CT_HAS_STR(seen.text, "rank(x) == 17 (line ");
      CT_HAS_STR(seen.text, "never held in the ");
    }
  }
}

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(right_rules); k++) {
    CT_ADD("right", right_rules[k].name, right, &right_rules[k]);
    CT_ADD("few", right_rules[k].name, few, &right_rules[k]);
  }
  for (size_t k = 0; k < CT_COUNT(wrong_rules); k++) {
    CT_ADD("wrong", wrong_rules[k].name, wrong, &wrong_rules[k]);
  }
  for (size_t k = 0; k < CT_COUNT(never_rules); k++) {
    CT_ADD("never", never_rules[k].name, never, &never_rules[k]);
  }
  CT_ADD("instances", "many", many, NULL);
  if (getenv("GEMEL_VALGRIND") == NULL) {
    CT_ADD("instances", "catalogue_by_few", catalogue_by_few, NULL);
  }
}
