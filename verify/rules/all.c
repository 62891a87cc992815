/* SPDX-License-Identifier: MIT
 *
 * Selects the rules and passes that `gemel verify --rules` is asked about, and verifies several at
 * a time. judge.c verifies one.
 */
#include <string.h>
#include <gemel/text.h>
#include "rules/claim-check.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/words.h"
#include "harness/jobs.h"
#include "passes/passes.h"
#include "rewrite/choice.h"
#include "rules/report.h"
#include "rules/judge.h"
#include "rules/withdraw.h"
#include "unbounded/unbounded.h"

int gemel__rule_named(const gemel_rule_info *info, const char *list) {
  return list == NULL || gemel__list_names_rule(list, info);
}

/* A rule or a pass that is verified. */
typedef struct rule_subject {
  const gemel_rule *rule; /* NULL: a pass */
  const gemel_pass *pass;
  gemel_rule_info info;
} rule_subject;

/* *PROOF = what is proved of RULE; unless it is taken from the record, by CLAIM, which has hints,
 * and not contradicted by FOUND.
 */
static gemel_status prove(gemel__run *run, const gemel_rule *rule, gemel__claim *claim,
                          gemel_proof *proof, gemel__contradiction *found, gemel_error *error) {
  gemel_status status;
  *proof = gemel_rule_proved(rule);
  run->proof = proof;
  if (run->options.quick && proof->recorded) {
    return GEMEL_OK;
  }
  status = gemel__prove_rule(rule, GEMEL__CLAIM_RANK, NULL, claim, error);
  *proof = gemel__claim_proof(claim, rule);
  run->hints = &claim->hints;
  status = status ? status : gemel__check_claim(run->context, rule, proof, found, error);
  proof->checked = found->fired;
  gemel__drop_unchecked(proof);
  return status;
}

/* Reports a rule that FOUND refutes, of which PROOF claimed something. */
static gemel_status contradicted(gemel__run *run, const rule_subject *s, gemel_proof *proof,
                                 const gemel__contradiction *found, gemel_error *error) {
  gemel_tier shown = found->bits ? GEMEL_TIER_SPECIAL : GEMEL_TIER_REAL;
  char *text = gemel__contradiction_text(found);
  if (text == NULL) {
    return gemel__no_memory(error, "a counterexample");
  }
  gemel__withdraw(proof, text, 0);
  for (unsigned tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    gemel__inquiry q;
    gemel__inquiry_begin(&q, run, "rule", s->info.name, (gemel_tier)tier);
    q.record.declared = s->info.needs;
    q.record.text = s->info.text;
    q.record.proof = proof;
    q.record.instances = found->fired;
    q.record.detail = "an instance of what was proved has sides that differ";
    if (tier == shown && found->pair.b.graph != NULL) {
      gemel__rule_refuted(&q, &found->pair, 0, found->values, found->place, found->left,
                          found->right, run->options.seed);
    } else {
      q.record.counterexample = tier == shown ? text : NULL;
      gemel__inquiry_end(&q, tier == shown ? GEMEL_VERDICT_REFUTED : GEMEL_VERDICT_NOT_RUN,
                         GEMEL_EVIDENCE_NONE, q.record.detail);
    }
  }
  gemel_text_free(text);
  return GEMEL_OK;
}

/* Proves and verifies subject K. */
static gemel_status try_subject(gemel__run *run, const void *user, size_t k, gemel_error *error) {
  const rule_subject *s = (const rule_subject *)user + k;
  gemel__claim claim;
  gemel_proof proof;
  gemel__contradiction found;
  memset(&found, 0, sizeof found);
  gemel_status status = run->options.proofs && s->rule != NULL
                            ? prove(run, s->rule, &claim, &proof, &found, error)
                            : GEMEL_OK;
  if (status == GEMEL_OK) {
    status = found.found ? contradicted(run, s, &proof, &found, error)
                         : gemel__rule_verify(run, s->rule, s->pass, &s->info, error);
  }
  gemel__contradiction_clear(&found);
  run->proof = NULL;
  run->hints = NULL;
  return status;
}

/* The records of a rule wait for the last, which may withdraw what the first says to be proved. */
static gemel_status subject_job(gemel__run *run, const void *user, size_t k, gemel_error *error) {
  const rule_subject *s = (const rule_subject *)user + k;
  return run->options.proofs && s->rule != NULL
             ? gemel__run_settled(run, try_subject, user, k, gemel__settle_proof, error)
             : try_subject(run, user, k, error);
}

static gemel_status subject_untried(gemel__run *run, const void *user, size_t k,
                                    gemel_error *error) {
  const rule_subject *s = (const rule_subject *)user + k;
  (void)error;
  gemel__rule_untried(run, s->pass, &s->info);
  return GEMEL_OK;
}

/* The rules of a set and the first passes of a context, among which is chosen. */
typedef struct rule_subjects {
  gemel_context *context;
  const gemel_rules *set;
  size_t n_rules, n_passes;
} rule_subjects;

static rule_subject subject_at(const rule_subjects *all, size_t k) {
  rule_subject s = {k < all->n_rules ? gemel_rules_at(all->set, k) : NULL, NULL, {0}};
  s.pass = s.rule == NULL ? gemel_pass_at(all->context, k - all->n_rules) : NULL;
  s.info = s.rule != NULL ? *gemel_rule_describe(s.rule) : gemel__pass_info(s.pass);
  return s;
}

/* Writes those that GLOB names to SUBJECTS; returns how many. */
static size_t match(const rule_subjects *all, const char *glob, rule_subject *subjects) {
  size_t n = 0;
  for (size_t k = 0; k < all->n_rules + all->n_passes; k++) {
    rule_subject s = subject_at(all, k);
    if (gemel__rule_named(&s.info, glob)) {
      subjects[n++] = s;
    }
  }
  return n;
}

static int names_any(const void *user, const char *word, size_t length, gemel__suggestion *near) {
  const rule_subjects *all = user;
  for (size_t k = 0; k < all->n_rules + all->n_passes; k++) {
    rule_subject s = subject_at(all, k);
    if (gemel__word_names_rule_or_offers(word, length, &s.info, near)) {
      return 1;
    }
  }
  return 0;
}

static gemel_status verify_matching(gemel__run *run, const gemel_rules *set, size_t n_passes,
                                    const char *glob, gemel_error *error) {
  rule_subjects all = {run->context, set, gemel_rules_count(set), n_passes};
  size_t most = all.n_rules + n_passes;
  rule_subject *subjects = gemel__alloc_array(most, sizeof *subjects);
  size_t n = subjects != NULL ? match(&all, glob, subjects) : 0;
  gemel_status status = subjects == NULL ? gemel__no_memory(error, "rules")
                        : most == 0      ? gemel__fail(error, GEMEL_NOT_FOUND, "there are no rules")
                                    : gemel__list_check(glob, "rule, pass, tag, family or phase",
                                                        names_any, &all, error);
  status = status == GEMEL_OK
               ? gemel__run_subjects(run, n, subject_job, subject_untried, subjects, error)
               : status;
  gemel__free(subjects, most * sizeof *subjects);
  return status;
}

gemel_status gemel_verify_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                                const gemel_verify_options *options, gemel_verify_summary *summary,
                                gemel_error *error) {
  gemel__run run;
  gemel_rules *builtin = rules == NULL ? gemel_rules_builtin(context, error) : NULL;
  const gemel_rules *set = rules != NULL ? rules : builtin;
  gemel_status status = gemel__run_init(&run, context, options, summary, error);
  if (context == NULL) {
    status = gemel__fail(error, GEMEL_BAD_ARGUMENT, "the context is null");
  } else if (status == GEMEL_OK) {
    status = set == NULL ? GEMEL_NO_MEMORY
                         : verify_matching(&run, set, rules == NULL ? gemel_pass_count(context) : 0,
                                           glob, error);
  }
  gemel_rules_unref(builtin);
  gemel__run_finish(&run, summary);
  return status;
}
