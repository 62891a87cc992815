/* SPDX-License-Identifier: MIT
 *
 * Proofs of many rules, as jobs of the harness. What came out is passed on in the order of the
 * rules, and listed in the record's index.
 */
#include <gemel/text.h>
#include <gemel/verify.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "rules/claim-check.h"
#include "base/tick.h"
#include "core/alloc.h"
#include "core/error.h"
#include "harness/jobs.h"
#include "passes/passes.h"
#include "rewrite/choice.h"
#include "unbounded/unbounded.h"

typedef struct proving {
  const gemel_rule **rules;
  size_t count;
  const gemel_prove_options *options;
  FILE *index;         /* NULL: no record is kept */
  gemel_status status; /* of writing to it */
} proving;

static gemel_status prove_one(gemel__run *run, const void *user, size_t k, gemel_error *error) {
  const proving *p = user;
  gemel__claim claim;
  gemel_record record;
  if (gemel__stopped(run->between)) {
    return GEMEL_OK;
  }
  GEMEL__TRY(
      gemel__prove_rule(p->rules[k], p->options->ranks, p->options->record_folder, &claim, error));
  gemel_proof proof = gemel__claim_proof(&claim, p->rules[k]);
  char *counterexample = NULL;
  gemel_status status =
      gemel__keep_claim(run->context, p->rules[k], &proof, &counterexample, error);
  if (status == GEMEL_OK) {
    gemel__record_init(&record, run, "rule", proof.rule, GEMEL_TIER_REAL);
    record.proof = &proof;
    gemel__record_emit(run, &record);
  }
  gemel_text_free(counterexample);
  return status;
}

/* Adds a line to the index. */
static gemel_status list_proof(proving *p, const gemel_proof *proof) {
  size_t bytes = gemel_proof_json(proof, NULL, 0) + 1;
  char *line = gemel__alloc(bytes);
  if (line == NULL) {
    return GEMEL_NO_MEMORY;
  }
  gemel_proof_json(proof, line, bytes);
  int failed = fprintf(p->index, "%s\n", line) < 0;
  gemel__free(line, bytes);
  return failed ? GEMEL_IO : GEMEL_OK;
}

static void pass_on(void *user, const gemel_record *record) {
  proving *p = user;
  p->options->sink(p->options->user, record->proof);
  if (p->index != NULL && p->status == GEMEL_OK) {
    p->status = list_proof(p, record->proof);
  }
}

static gemel_status prove(gemel_context *context, proving *p, gemel_error *error) {
  gemel__run run;
  gemel__ticker ticker;
  const gemel_verify_options options = {
      .size = sizeof options, .jobs = p->options->jobs, .sink = pass_on, .user = p};
  gemel_status status = gemel__run_init(&run, context, &options, NULL, error);
  gemel__ticker_init(&ticker, p->options->tick, p->options->user);
  gemel__ticker_stage(&ticker, "proving");
  run.between = &ticker;
  status = status ? status : gemel__run_jobs(&run, p->count, prove_one, p, error);
  if (p->index != NULL && fclose(p->index) != 0 && p->status == GEMEL_OK) {
    p->status = GEMEL_IO;
  }
  return status != GEMEL_OK || p->status == GEMEL_OK
             ? status
             : gemel__fail(error, p->status, "%s/index.jsonl can't be written",
                           p->options->record_folder);
}

/* ---- Rules that are asked for ---- */

/* The options with their defaults. */
static gemel_status take_options(gemel_prove_options *taken, const gemel_prove_options *given,
                                 gemel_error *error) {
  GEMEL__TRY(gemel__take_options(taken, sizeof *taken, given, "gemel_prove_options", error));
  if (taken->sink == NULL || taken->ranks < 0 || taken->ranks > GEMEL__CLAIM_MOST_RANK) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "proofs need a sink, and up to %d ranks",
                       GEMEL__CLAIM_MOST_RANK);
  }
  taken->ranks = taken->ranks == 0 ? GEMEL__CLAIM_RANK : taken->ranks;
  return GEMEL_OK;
}

/* GEMEL_IO unless FOLDER can be read and nothing is in it: what is left of another record would be
 * taken for a part of this one. */
static gemel_status expect_empty(const char *folder, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  DIR *entries = opendir(folder);
  if (entries == NULL) {
    return gemel__fail(error, GEMEL_IO, "%s: %s", folder, strerror(errno));
  }
  for (struct dirent *entry; status == GEMEL_OK && (entry = readdir(entries)) != NULL;) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      status = gemel__fail(error, GEMEL_IO, "%s/%s is there: a record begins in an empty folder",
                           folder, entry->d_name);
    }
  }
  closedir(entries);
  return status;
}

/* *INDEX = a new file for a line a rule; NULL if no record is wanted. */
static gemel_status open_index(const char *folder, FILE **index, gemel_error *error) {
  char path[600];
  *index = NULL;
  if (folder == NULL) {
    return GEMEL_OK;
  }
  if (snprintf(path, sizeof path, "%s/index.jsonl", folder) >= (int)sizeof path) {
    return gemel__fail(error, GEMEL_IO, "%s: the path is too long", folder);
  }
  GEMEL__TRY(expect_empty(folder, error));
  *index = fopen(path, "wx"); /* nor through a link */
  return *index != NULL ? GEMEL_OK : gemel__fail(error, GEMEL_IO, "%s: %s", path, strerror(errno));
}

/* Each word of GLOB (NULL: none) must name a rule; a pass is none. */
static gemel_status check_glob(gemel_context *context, const gemel_rules *rules, const char *glob,
                               gemel_error *error) {
  gemel_status status = gemel__list_check_rules(glob, rules, error);
  for (size_t k = 0; status == GEMEL_NOT_FOUND && k < gemel_pass_count(context); k++) {
    gemel_rule_info info = gemel__pass_info(gemel_pass_at(context, k));
    if (gemel__list_names_rule(glob, &info)) {
      return gemel__fail(error, GEMEL_NOT_FOUND, "%s is a pass: only rules are proved", info.name);
    }
  }
  return status;
}

static gemel_status prove_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                                const gemel_prove_options *options, gemel_error *error) {
  size_t most = gemel_rules_count(rules);
  proving p = {.options = options};
  GEMEL__TRY(check_glob(context, rules, glob, error));
  p.rules = gemel__alloc_array(most + 1, sizeof *p.rules);
  if (p.rules == NULL) {
    return gemel__no_memory(error, "rules");
  }
  for (size_t k = 0; k < most; k++) {
    const gemel_rule *rule = gemel_rules_at(rules, k);
    if (glob == NULL || gemel__list_names_rule(glob, gemel_rule_describe(rule))) {
      p.rules[p.count++] = rule;
    }
  }
  gemel_status status = open_index(options->record_folder, &p.index, error);
  status = status ? status : prove(context, &p, error);
  gemel__free(p.rules, (most + 1) * sizeof *p.rules);
  return status;
}

gemel_status gemel_prove_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                               const gemel_prove_options *options, gemel_error *error) {
  gemel_prove_options taken;
  GEMEL__TRY(take_options(&taken, options, error));
  if (context == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the context is null");
  }
  gemel_rules *builtin = rules == NULL ? gemel_rules_builtin(context, error) : NULL;
  const gemel_rules *set = rules != NULL ? rules : builtin;
  gemel_status status =
      set == NULL ? GEMEL_NO_MEMORY : prove_rules(context, set, glob, &taken, error);
  gemel_rules_unref(builtin);
  return status;
}
