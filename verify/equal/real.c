/* SPDX-License-Identifier: MIT
 *
 * Tier real of a pair: the models are asked at several instantiations. Each is a job
 * (harness/jobs.h) with a random stream of its own; their answers are combined in order. A
 * difference is shrunk and reported. Once the caller says stop (base/tick.h), the tier is not run,
 * unless it has found a refutation.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "pairs/align.h"
#include "domains/ordered.h"
#include "equal/discrete.h"
#include "equal/question.h"
#include "equal/general.h"
#include "harness/jobs.h"
#include "tiers/solver-check.h"

/* In larger graphs values aren't shrunk: parts.c shows a part instead. */
enum { MOST_SHRUNK = 1000 };

/* The work of all checks that make a counterexample small: a few seconds. */
#define SHRINKING_WORK 3e6

/* A trial with a ticker and a number of checks: after a stop, and after those, its check refutes
 * nothing. */
struct ticked_trial {
  gemel__trial trial; /* first member, so that a pointer to it is one to this */
  gemel__ticker *ticker;
  double *checks; /* that are left */
};

static gemel_status check_unless_stopped(const gemel__instance *instance,
                                         gemel_tensor *const *values, const gemel__trial *trial,
                                         gemel__outcome *outcome, gemel_error *error) {
  const struct ticked_trial *ticked = (const struct ticked_trial *)trial;
  gemel_status status = --*ticked->checks < 0 ? GEMEL_DECLINED : gemel__tick(ticked->ticker);
  return status == GEMEL_OK ? gemel__check_equal(instance, values, trial, outcome, error) : status;
}

static gemel_status ask(const gemel__equality *q, const gemel__pair *pair, uint64_t seed,
                        gemel__ticker *ticker, gemel__solver_memory *memory, gemel__answer *answer,
                        gemel_error *error) {
  gemel__question how = {.compare_domain = GEMEL__IEEE_DECIDES,
                         .points = gemel__equal_affordable(q->share, q->run->options.instances),
                         .trials = 4,
                         .drives = gemel__equal_affordable(q->share, 1600),
                         .all_compared = 1,
                         .keep_sites = 1,
                         .solve = !q->run->samples,
                         .memory = memory,
                         .spare = 1,
                         .seed = seed,
                         .ticker = ticker};
  return gemel__pair_decide(pair, &how, answer, error);
}

/* Writes the sizes at which the shipped code was run. */
static void say_scouted(const gemel__scouted *s, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  if (s->runs > 0) {
    used = (size_t)snprintf(text, bytes, "the shipped code agrees in %zu runs at sizes up to %lld",
                            s->runs, (long long)s->largest);
  }
  if (s->skipped > 0 && used < bytes) {
    snprintf(text + used, bytes - used, "%s%zu choices of sizes were too large to be run",
             used > 0 ? "; " : "", s->skipped);
  }
}

/* Finds where the graphs part, shrinks the counterexample, and reports it. */
static gemel_status report_difference(gemel__equality *q, gemel__pair *pair, gemel__answer *answer,
                                      gemel_record *record, uint64_t seed, gemel_error *error) {
  gemel__random random;
  double checks = SHRINKING_WORK / gemel__pair_work(pair);
  struct ticked_trial trial = {{NULL, &random, &pair->b}, q->run->ticker, &checks};
  gemel__outcome outcome;
  char place[700], left[160], right[160];
  char where[512] = "";
  char at[160];
  gemel__place_text(pair->a.graph, answer->output, answer->element, at, sizeof at);
  memset(&outcome, 0, sizeof outcome);
  gemel__random_seed(&random, seed);
  snprintf(left, sizeof left, "%s", answer->got); /* the models call the left side's result "got" */
  snprintf(right, sizeof right, "%s", answer->expected);
  if (q->run->brief) {
    record->verdict = GEMEL_VERDICT_REFUTED;
    record->how = answer->how;
    gemel__record_emit(q->run, record);
    gemel__equal_note(q, GEMEL_VERDICT_REFUTED);
    return GEMEL_OK;
  }
  gemel__equal_keep(q, GEMEL_TIER_REAL, 1, &pair->a, answer->witness);
  if (answer->witness != NULL && gemel_graph_node_count(pair->a.graph) <= MOST_SHRUNK &&
      gemel__tick(q->run->ticker) == GEMEL_OK) {
    gemel__align(&pair->a, &pair->b, answer->witness, where, sizeof where);
    if (gemel__part(pair, &answer->witness)) {
      answer->n_witness = pair->a.n_leaves;
    }
    if (gemel__check_equal(&pair->a, answer->witness, &trial.trial, &outcome, error) == GEMEL_OK &&
        outcome.refuted) {
      gemel_status status =
          gemel__shrink(&pair->a, &answer->witness, GEMEL__FILL_POINTS, check_unless_stopped,
                        &trial.trial, NULL, NULL, &outcome, error);
      if (status != GEMEL_OK) {
        return status;
      }
      snprintf(left, sizeof left, "%s", outcome.expected);
      snprintf(right, sizeof right, "%s", outcome.got);
      gemel__place_text(pair->a.graph, outcome.output, outcome.element, at, sizeof at);
    }
  }
  snprintf(place, sizeof place, "output %s%s%s", at, where[0] != '\0' ? "; " : "", where);
  record->how = answer->how;
  record->detail = answer->detail[0] != '\0' ? answer->detail
                                             : "the first graph's result and the second's differ";
  gemel__record_refuted(q->run, record, &pair->a, pair->b.graph, answer->witness, place, left,
                        right, seed);
  gemel__equal_note(q, GEMEL_VERDICT_REFUTED);
  return GEMEL_OK;
}

/* A proof at scaled sizes is no proof at the graphs' own: there the evidence is samples. */
static gemel_evidence weaker(const char *scaled, gemel_evidence how) {
  return scaled[0] != '\0' && how != GEMEL_EVIDENCE_NONE ? GEMEL_EVIDENCE_SAMPLES : how;
}

/* Writes which sizes were scaled and what carries the verdict at those; "" if none were scaled.
 * Returns the length. */
static size_t say_scaled(const char *scaled, const gemel__answer *total, char *text, size_t bytes) {
  char wrong[60] = "";
  if (scaled[0] == '\0') {
    return 0;
  }
  size_t used = (size_t)snprintf(text, bytes, "sizes scaled: %s", scaled);
  if (total->error_probability > 0) {
    snprintf(wrong, sizeof wrong, " (wrong with probability %.0e)", total->error_probability);
  }
  if (total->how != GEMEL_EVIDENCE_NONE && total->how != GEMEL_EVIDENCE_SAMPLES && used < bytes) {
    used += (size_t)snprintf(text + used, bytes - used,
                             ", by %s%s there, which is no proof at the graphs' own",
                             gemel_evidence_name(total->how), wrong);
  }
  if (total->detail[0] != '\0' && used < bytes) {
    used += (size_t)snprintf(text + used, bytes - used, "; ");
  }
  return used < bytes ? used : bytes - 1;
}

/* Combines the answers of all instantiations: the weakest evidence; a decision was seen both ways
 * if any instantiation saw it so. */
static void conclude_real(gemel__equality *q, const char *scaled, gemel_record *record,
                          gemel__answer *total) {
  char detail[700];
  gemel__answer_settle(total);
  if (total->points > 0 && total->verdict == GEMEL_VERDICT_UNINFORMATIVE &&
      gemel__equal_is_empty(q)) {
    total->verdict = GEMEL_VERDICT_PASSED;
    total->how = GEMEL_EVIDENCE_SAMPLES;
    snprintf(total->detail, sizeof total->detail, "all results are empty");
  }
  size_t used = say_scaled(scaled, total, detail, sizeof detail);
  snprintf(detail + used, sizeof detail - used, "%s", total->detail);
  used = strlen(detail);
  if (q->symbols_up_to > 0 && used < sizeof detail) {
    used += (size_t)snprintf(detail + used, sizeof detail - used,
                             "%sonly at sizes of symbols up to %lld", used > 0 ? "; " : "",
                             (long long)q->symbols_up_to);
  }
  if (q->folded > 0 && used < sizeof detail) {
    snprintf(detail + used, sizeof detail - used,
             "%sfolded: %zu constants taken for what they stand for", used > 0 ? "; " : "",
             q->folded);
  }
  used = strlen(detail);
  if (used + 3 < sizeof detail) {
    say_scouted(&q->scouted, detail + used + (used > 0 ? 2 : 0),
                sizeof detail - used - (used > 0 ? 2 : 0));
    if (used > 0 && detail[used + 2] != '\0') {
      memcpy(detail + used, "; ", 2);
    }
  }
  record->verdict = total->verdict;
  record->how = weaker(scaled, total->how);
  record->elements = total->compared;
  record->error_probability = scaled[0] == '\0' ? total->error_probability : 0;
  record->detail = detail;
  gemel__equal_note(q, record->verdict);
  gemel__record_emit(q->run, record);
}

/* Reports a point, found by running the shipped code, at which domain O refutes. */
static gemel_status report_scouted(gemel__equality *q, gemel_error *error) {
  gemel__scouted *s = &q->scouted;
  gemel_record record;
  gemel__answer answer;
  memset(&answer, 0, sizeof answer);
  gemel__record_init(&record, q->run, "pair", q->name, GEMEL_TIER_REAL);
  record.instances = s->runs;
  answer.how = GEMEL_EVIDENCE_SAMPLES;
  answer.witness = s->values;
  answer.n_witness = s->pair.a.n_leaves;
  answer.output = s->output;
  answer.element = s->element;
  snprintf(answer.got, sizeof answer.got, "%s", s->left);
  snprintf(answer.expected, sizeof answer.expected, "%s", s->right);
  gemel_status status = report_difference(q, &s->pair, &answer, &record, record.seed, error);
  s->values = answer.witness;
  return status;
}

/* Asks whether the graphs are equal for any values of their constants. 1 if so, 0 if that isn't
 * known, −1 if memory is out. */
static int settle_general(gemel__equality *q, gemel_record *record, double started) {
  gemel__answer answer;
  char scaled[GEMEL__MOST_SCALED_TEXT];
  int settled = gemel__general_decide(q->run, q->name, q->real_a, q->real_b, &answer,
                                      &record->instances, scaled);
  if (settled == 1) {
    record->seconds = gemel__clock() - started;
    conclude_real(q, q->scaled[0] != '\0' ? q->scaled : scaled, record, &answer);
  }
  gemel__answer_clear(&answer);
  return settled;
}

/* One instantiation, as a job. */
struct round {
  gemel__pair pair;
  gemel__answer answer;
  uint64_t seed;
  gemel_status status; /* GEMEL_DECLINED: it wasn't asked */
  gemel_error error;
};

enum { MOST_ROUNDS = 5 };

struct rounds {
  const gemel__equality *q;
  struct round *all;
  atomic_size_t *refuted; /* the first round that is refuted so far */
  gemel__solver_memory *memory;
};

static int has_empty(const gemel__instance *instance) {
  size_t k = 0;
  while (k < instance->n_leaves && instance->leaves[k].count > 0) {
    k++;
  }
  return k < instance->n_leaves;
}

/* Constants whose size was a symbol are settled once that has a size. */
static gemel_status settle_side(gemel__instance *instance, gemel_error *error) {
  gemel_graph *settled = NULL;
  GEMEL__TRY(gemel__discrete_settle(instance->graph, &settled, error));
  if (settled != NULL) {
    gemel_graph_unref(instance->graph);
    instance->graph = settled;
  }
  return GEMEL_OK;
}

static gemel_status draw_settled(const gemel__equality *q, gemel__pair *pair, gemel__random *random,
                                 gemel_error *error) {
  GEMEL__TRY(gemel__pair_draw(pair, q->real_a, q->real_b, random, error));
  if (pair->symbols > 0) {
    GEMEL__TRY(settle_side(&pair->a, error));
    GEMEL__TRY(settle_side(&pair->b, error));
  }
  return GEMEL_OK;
}

static gemel_status ask_round(gemel__run *run, const void *user, size_t k, gemel_error *error) {
  const struct rounds *rounds = user;
  const gemel__equality *q = rounds->q;
  struct round *r = &rounds->all[k];
  gemel__random random;
  size_t first = atomic_load(rounds->refuted);
  (void)error;
  r->status = k > first ? GEMEL_DECLINED : gemel__tick(run->ticker);
  if (r->status != GEMEL_OK) {
    return GEMEL_OK;
  }
  gemel__run_random(run, q->name, GEMEL_TIER_REAL, k, &random);
  r->status = draw_settled(q, &r->pair, &random, &r->error);
  if (r->status == GEMEL_OK) {
    r->seed = gemel__random_bits(&random);
    r->status = ask(q, &r->pair, r->seed, run->ticker, rounds->memory, &r->answer, &r->error);
  }
  if (r->status == GEMEL_OK && has_empty(&r->pair.a)) {
    r->answer.missing = 0; /* undefined results (the mean of nothing) don't count here: other
                              instantiations define them */
  }
  if (r->status == GEMEL_OK && r->answer.verdict == GEMEL_VERDICT_REFUTED) {
    while (k < first && !atomic_compare_exchange_weak(rounds->refuted, &first, k)) {
    }
  }
  return GEMEL_OK; /* take_rounds looks at the status */
}

/* Notes the largest size of an input, if the pair has symbols. */
static void note_symbols(gemel__equality *q, const gemel__pair *pair) {
  for (size_t k = 0; k < pair->a.n_leaves && pair->symbols > 0; k++) {
    for (int j = 0; j < pair->a.leaves[k].rank; j++) {
      int64_t size = pair->a.leaves[k].shape[j];
      q->symbols_up_to = size > q->symbols_up_to ? size : q->symbols_up_to;
    }
  }
}

/* Combines N rounds, in their order, until one is refuted. */
static gemel_status take_rounds(gemel__equality *q, struct round *all, size_t n,
                                gemel_record *record, gemel__answer *total, int *refuted,
                                gemel_error *error) {
  gemel_status status = GEMEL_OK;
  size_t k;
  for (k = 0; k < n && status == GEMEL_OK && !*refuted; k++) {
    struct round *r = &all[k];
    status = r->status;
    note_symbols(q, &r->pair);
    if (status == GEMEL_OK && r->answer.verdict == GEMEL_VERDICT_REFUTED) {
      *refuted = 1;
      record->instances = k + 1;
      status = report_difference(q, &r->pair, &r->answer, record, r->seed, error);
    } else if (status == GEMEL_OK &&
               gemel__answer_merge(total, &r->answer, record->instances++) != 0) {
      status = gemel__no_memory(error, "decisions");
    } else if (status != GEMEL_OK && status != GEMEL_NO_MEMORY && gemel__stopped(q->run->ticker)) {
      status = GEMEL_OK; /* a later round may have been refuted before the stop */
    } else if (status != GEMEL_OK && error != NULL) {
      *error = r->error;
    }
  }
  return status;
}

/* How many instantiations are asked. Without symbols they are all alike, so an expensive pair gets
 * fewer. */
static size_t round_count(const gemel__equality *q) {
  const char *name;
  if (q->share < 0.02 || (q->share < 0.4 && gemel__pair_symbols(q->real_a, &name, 1) == 0)) {
    return 2;
  }
  return MOST_ROUNDS;
}

static gemel_status ask_rounds(gemel__equality *q, gemel_record *record, gemel__answer *total,
                               int *refuted, gemel_error *error) {
  size_t n = round_count(q), k;
  atomic_size_t first;
  struct rounds rounds = {q, gemel__alloc_zeroed(n * sizeof *rounds.all), &first,
                          gemel__solver_memory_new()};
  gemel_status status;
  double started = gemel__clock();
  if (rounds.all == NULL || rounds.memory == NULL) {
    gemel__solver_memory_free(rounds.memory);
    gemel__free(rounds.all, n * sizeof *rounds.all);
    return gemel__no_memory(error, "instances");
  }
  atomic_init(&first, n);
  for (k = 0; k < n; k++) {
    gemel__sites_init(&rounds.all[k].answer.sites);
  }
  status = gemel__run_jobs(q->run, n, ask_round, &rounds, error);
  record->seconds += gemel__clock() - started;
  if (status == GEMEL_OK) {
    status = take_rounds(q, rounds.all, n, record, total, refuted, error);
  }
  for (k = 0; k < n; k++) {
    gemel__answer_clear(&rounds.all[k].answer);
    gemel__pair_clear(&rounds.all[k].pair);
  }
  gemel__solver_memory_free(rounds.memory);
  gemel__free(rounds.all, n * sizeof *rounds.all);
  return status;
}

gemel_status gemel__equal_real(gemel__equality *q, int *refuted, gemel_error *error) {
  gemel_record record;
  gemel__answer total;
  gemel_status status = GEMEL_OK;
  double started = gemel__clock();
  gemel__ticker_stage(q->run->ticker, "tier real");
  if (q->scouted.found == GEMEL__SCOUT_REAL) {
    *refuted = 1;
    return report_scouted(q, error);
  }
  memset(&total, 0, sizeof total);
  total.how = GEMEL_EVIDENCE_NONE;
  gemel__sites_init(&total.sites);
  gemel__record_init(&record, q->run, "pair", q->name, GEMEL_TIER_REAL);
  if (q->folded > 0) {
    int settled = settle_general(q, &record, started);
    if (settled != 0) {
      return settled > 0 ? GEMEL_OK : gemel__no_memory(error, "decisions");
    }
    record.instances = 0;
  }
  record.seconds = gemel__clock() - started;
  status = ask_rounds(q, &record, &total, refuted, error);
  if (status == GEMEL_OK && !*refuted && gemel__stopped(q->run->ticker)) {
    gemel__equal_stopped(q, GEMEL_TIER_REAL);
  } else if (status == GEMEL_OK && !*refuted) {
    conclude_real(q, q->scaled, &record, &total);
  }
  gemel__answer_clear(&total);
  return status;
}
