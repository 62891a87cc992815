/*
 * Corpora of rewrite rules: of each file in tests/rules, right ones pass in every tier, wrong ones
 * are refuted, by a small counterexample that is refuted again, those that need more than they give
 * up are overstated, and those with a dead arm, which nothing can take, or with empty instances
 * only, or none, are uninformative, whatever the seed. A file is called CLASS.right.rules,
 * CLASS.wrong.rules, CLASS.idle.rules or CLASS.dead.rules; basic-… are the rules that all others
 * rest upon, which are tried for more seeds and by as many instances as the harness has by itself,
 * and the right ones of them by few as well.
 * GEMEL_CORPUS_SEEDS says how many seeds are tried (1; basic-… 2).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>
#include "support/corpus.h"
#include "support/heard.h"

enum { SEEDS = 1, BASIC_SEEDS = 2, INSTANCES = 40, FEW = 3, LINES = 32, BASIC_LINES = 12 };

/* ---- Verdicts ---- */

static void is_right(const heard *h) {
  CT_EQ_UINT(h->good, GEMEL_TIER_COUNT);
  CT_CHECK(h->passed > 0);
}

/* What the folder holds is refuted once more, and by itself. */
static void is_wrong(const heard *h) {
  CT_CHECK(h->refuted > 0);
  if (h->replay[0] != '\0') {
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    gemel_context *context = gemel_context_new(&error);
    gemel_verify_summary summary = {.size = sizeof summary};
    CT_EQ_INT(gemel_verify_replay(context, h->replay, NULL, &summary, &error), GEMEL_OK);
    CT_EQ_UINT(summary.verdicts[GEMEL_VERDICT_REFUTED], 1);
    gemel_context_unref(context);
  }
}

static void is_idle(const heard *h) {
  CT_EQ_UINT(h->refuted, 0);
  CT_CHECK(h->verdicts[GEMEL_VERDICT_OVERSTATED] > 0);
}

static void is_dead(const heard *h) {
  CT_EQ_UINT(h->passed + h->refuted, 0);
  CT_CHECK(h->verdicts[GEMEL_VERDICT_UNINFORMATIVE] > 0);
}

static void is_empty(const heard *h) {
  is_dead(h);
  CT_HAS_STR(h->bad, "no instance with elements was drawn");
}

static void has_dead_arm(const heard *h) {
  is_dead(h);
  CT_HAS_STR(h->bad, "no instance takes the arm");
  CT_HAS_STR(h->bad, "(line ");
}

static void has_no_instance(const heard *h) {
  CT_EQ_UINT(h->verdicts[GEMEL_VERDICT_UNINFORMATIVE], GEMEL_TIER_COUNT);
  CT_HAS_STR(h->bad, "no instance in ");
  if (strncmp(h->bad, "many_axes", strlen("many_axes")) == 0) {
    CT_HAS_STR(h->bad, "rank(x) == 17 (line ");
    CT_HAS_STR(h->bad, "never held in the ");
  }
}

/* By what the file's name ends with: the first that fits. */
static const struct judgement {
  const char *end;
  void (*judge)(const heard *h);
} judgements[] = {{".right", is_right},
                  {".wrong", is_wrong},
                  {".idle", is_idle},
                  {"empty.dead", is_empty},
                  {"never.dead", has_no_instance},
                  {".dead", has_dead_arm}};

static const struct judgement *judgement_of(const char *name) {
  for (size_t k = 0; k < CT_COUNT(judgements); k++) {
    size_t length = strlen(name), end = strlen(judgements[k].end);
    if (length >= end && strcmp(name + length - end, judgements[k].end) == 0) {
      return &judgements[k];
    }
  }
  return NULL;
}

/* ---- Files ---- */

static int is_basic(const corpus_file *file) {
  return strncmp(file->name, "basic-", 6) == 0;
}

/* Where a run over FILE is. */
struct run {
  heard heard; /* the records of the rule AT */
  const corpus_file *file;
  const gemel_rules *rules;
  size_t at;
  uint64_t seed;
};

static size_t lines_of(const char *text) {
  size_t n = 0;
  for (; text != NULL && *text != '\0'; text++) {
    n += *text == '\n';
  }
  return n;
}

/* Each rule is judged by its last record. */
static void note(void *user, const gemel_record *record) {
  struct run *run = user;
  const gemel_rule_info *rule = gemel_rule_describe(gemel_rules_at(run->rules, run->at));
  CT_REQUIRE(rule != NULL);
  hear(&run->heard, record);
  ct_context("%s, seed %d: %s, %s", run->file->name, (int)run->seed, rule->name, run->heard.bad);
  CT_EQ_STR(record->name, rule->name);
  CT_EQ_STR(record->kind, "rule");
  CT_EQ_INT(record->counterexample != NULL, record->verdict == GEMEL_VERDICT_REFUTED);
  CT_CHECK(lines_of(record->counterexample) <= (is_basic(run->file) ? BASIC_LINES : LINES));
  if (run->heard.records == GEMEL_TIER_COUNT) {
    judgement_of(run->file->name)->judge(&run->heard);
    heard_by(&run->heard, (gemel_verify_options){0});
    run->at++;
  }
}

static void judge(const corpus_file *file, gemel_verify_options options) {
  static struct run run;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules = gemel_rules_load(context, file->path, &error);
  ct_context("%s: %s", file->name, error.text);
  if (CT_CHECK(rules != NULL && judgement_of(file->name) != NULL)) {
    run = (struct run){.file = file, .rules = rules, .seed = options.seed};
    options = heard_by(&run.heard, options);
    options.sink = note;
    options.user = &run;
    CT_EQ_INT(gemel_verify_rules(context, rules, NULL, &options, NULL, &error), GEMEL_OK);
    CT_CHECK(run.at > 0);
    CT_EQ_UINT(run.at, gemel_rules_count(rules));
    CT_EQ_UINT(run.heard.records, 0);
  }
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

static void is_judged(const void *data) {
  const corpus_file *file = data;
  int quick = getenv("GEMEL_QUICK_LOOK") != NULL, basic = is_basic(file);
  int replays = basic || getenv("GEMEL_QUICK") == NULL;
  uint64_t seeds = ct_seeds("GEMEL_CORPUS_SEEDS", basic ? BASIC_SEEDS : SEEDS);
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    judge(file,
          (gemel_verify_options){.seed = seed,
                                 .quick = quick,
                                 .instances = quick || basic ? 0 : INSTANCES,
                                 .replay_folder = seed == 1 && replays ? ct_scratch() : NULL});
  }
}

/* What is declared shows however few instances are asked for. */
static void by_few(const void *data) {
  judge(data, (gemel_verify_options){.seed = 1, .instances = FEW});
}

/* ---- Instances ---- */

static void add_special(void *user, const gemel_record *record) {
  *(size_t *)user += record->tier == GEMEL_TIER_SPECIAL ? record->elements : 0;
}

/* Tier special looks at as many more points as instances are asked for. */
static void many(const void *data) {
  size_t results[2] = {0, 0};
  (void)data;
  for (int k = 0; k < 2; k++) {
    hear_rules(
        "rule negated in canonicalize: abs(-x) => abs(x) where float(x)",
        (gemel_verify_options){
            .seed = 1, .instances = k == 0 ? 96 : 960, .sink = add_special, .user = &results[k]});
  }
  ct_context("%zu results, and %zu", results[0], results[1]);
  CT_CHECK(results[0] > 0 && results[1] > 5 * results[0]);
}

static void catalogue_by_few(const void *data) {
  (void)data;
  heard h =
      hear_rules(NULL, (gemel_verify_options){.instances = 12, .tiers = 1u << GEMEL_TIER_SPECIAL});
  CT_EQ_UINT(h.good, h.records);
  CT_CHECK(h.records > 400);
}

void ct_register(void) {
  static corpus rules = {.folder = "tests/rules", .end = ".rules", .least = 50};
  CT_ADD("instances", "many", many, NULL);
  if (getenv("GEMEL_VALGRIND") == NULL) {
    CT_ADD("instances", "catalogue_by_few", catalogue_by_few, NULL);
  }
  corpus_add(&rules, "corpus", "rules", is_judged);
  for (size_t k = 0; k < rules.count; k++) {
    const struct judgement *by = judgement_of(rules.files[k].name);
    if (is_basic(&rules.files[k]) && by != NULL && by->judge == is_right) {
      CT_ADD_TO("corpus", "few", rules.files[k].name, by_few, &rules.files[k]);
    }
  }
}
