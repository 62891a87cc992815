/* SPDX-License-Identifier: MIT
 *
 * `gemel equal`: are two graphs the same function? Symbolic sizes are instantiated several times.
 * Tier real decides with the models, and there the two must also be defined at the same points;
 * constants that one of them folded are taken for what they stand for (constants.c).
 * Tiers integer and float hold the shipped code of both to their references. Tier special finds out
 * what tells the two apart in IEEE terms (needs.c).
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "align.h"
#include "beyond.h"
#include "constants.h"
#include "domains/ordered.h"
#include "general.h"
#include "needs.h"
#include "equal.h"
#include "pair.h"
#include "scale.h"
#include "scout.h"
#include "whole.h"

/* A pair of so many elements in all values of both graphs has all points that are asked for. */
#define USUAL_ELEMENTS 3000.0

/* Larger graphs aren't made smaller one value at a time: equal-parts.c shows the part. */
enum { MOST_SHRUNK = 1000 };

struct equality {
  gemel__run *run;
  const gemel_graph *a, *b;           /* scaled, if SCALED says so */
  const gemel_graph *real_a, *real_b; /* for tier real: constants may be unfolded */
  size_t folded;                      /* so many are */
  char scaled[200];                   /* which sizes; "" if none */
  const char *name;
  unsigned allow;
  gemel_pair_result *result;
  gemel__scouted scouted;
  double share; /* of the usual number of points: less for what is expensive to evaluate */
};

/* The result is the worst of the tiers that are applicable; it begins as GEMEL_NOT_RUN. */
static void note(struct equality *q, gemel_verdict verdict) {
  gemel_verdict *worst = &q->result->verdict;
  if (verdict != GEMEL_NOT_APPLICABLE &&
      (*worst == GEMEL_NOT_RUN ||
       gemel_verdict_severity(verdict) > gemel_verdict_severity(*worst))) {
    *worst = verdict;
  }
}

static void emit_simple(struct equality *q, gemel_tier tier, gemel_verdict verdict,
                        const char *detail) {
  gemel_record record;
  if (!gemel__run_wants(q->run, tier)) {
    return;
  }
  gemel__record_init(&record, q->run, "pair", q->name, tier);
  record.verdict = verdict;
  record.detail = detail;
  gemel__record_emit(q->run, &record);
}

/* ---- Tier real ---- */

/* Both sides' results in O at VALUES, into ROOM. */
static gemel_status evaluate_both(const gemel__instance *a, const gemel__instance *b,
                                  gemel_tensor *const *values, gemel__ordered *o,
                                  gemel__rtensor *room, gemel_error *error) {
  size_t n = gemel_graph_output_count(a->graph);
  gemel_status status = gemel__instance_reference(a, &o->domain, values, room, error);
  return status == GEMEL_OK ? gemel__instance_reference(b, &o->domain, values, room + n, error)
                            : status;
}

/* The first of N results that certainly differ goes into OUTCOME. 1: asking with more digits may
 * show another. */
static int find_difference(gemel__ordered *o, size_t n, const gemel__rtensor *room,
                           gemel__outcome *outcome) {
  size_t k, i;
  int open = 0;
  for (k = 0; k < n && !outcome->refuted; k++) {
    for (i = 0; i < room[k].count && i < room[n + k].count && !outcome->refuted; i++) {
      void *x = gemel__rtensor_at(&room[k], i), *y = gemel__rtensor_at(&room[n + k], i);
      if (gemel__ordered_overlap(&o->domain, x, y)) {
        open |= !gemel__ordered_is_exact(&o->domain, x) || !gemel__ordered_is_exact(&o->domain, y);
        continue;
      }
      outcome->refuted = 1;
      outcome->output = k;
      outcome->element = i;
      o->domain.format(&o->domain, x, outcome->expected, sizeof outcome->expected);
      o->domain.format(&o->domain, y, outcome->got, sizeof outcome->got);
    }
  }
  return open && !outcome->refuted;
}

/* With 128 bits, and MORE of them where that leaves something open. */
static gemel_status check_with(const gemel__instance *instance, gemel_tensor *const *values,
                               const gemel__trial *trial, int more, gemel__outcome *outcome,
                               gemel_error *error) {
  static const long precisions[] = {128, 1024}; /* most differences show at once */
  size_t n = gemel_graph_output_count(instance->graph), k;
  gemel__rtensor *room = gemel__alloc_array(2 * n, sizeof *room);
  gemel_status status = room == NULL ? gemel__no_memory(error, "a comparison") : GEMEL_OK;
  int open = 1;
  for (k = 0; k < (more ? 2 : 1) && open && status == GEMEL_OK; k++) {
    gemel__ordered *o = gemel__ordered_new(precisions[k]);
    status = o == NULL ? gemel__no_memory(error, "a comparison")
                       : evaluate_both(instance, trial->other, values, o, room, error);
    open = status == GEMEL_OK && find_difference(o, n, room, outcome);
    gemel__rtensors_clear(2 * n, room);
    gemel__ordered_free(o);
  }
  gemel__free(room, 2 * n * sizeof *room);
  return status;
}

gemel_status gemel__check_pair(const gemel__instance *instance, gemel_tensor *const *values,
                               const gemel__trial *trial, gemel__outcome *outcome,
                               gemel_error *error) {
  return check_with(instance, values, trial, 1, outcome, error);
}

/* So many of N instances or points as a pair of this size can have, and a few at least. */
static size_t affordable(const struct equality *q, size_t n) {
  enum { AT_LEAST = 4 };
  size_t share = (size_t)(q->share * (double)n);
  return share >= n ? n : share > AT_LEAST ? share : AT_LEAST < n ? AT_LEAST : n;
}

static gemel_status ask(struct equality *q, const gemel__pair *pair, uint64_t seed,
                        gemel__answer *answer, gemel_error *error) {
  gemel__question how = {.compare_domain = GEMEL__SAME_DOMAIN,
                         .points = affordable(q, q->run->options.instances),
                         .trials = 4,
                         .bisections = affordable(q, 12) - 4,
                         .drives = affordable(q, 1600),
                         .all_compared = 1,
                         .keep_sites = 1,
                         .solve = 1,
                         .seed = seed};
  return gemel__pair_decide(pair, &how, answer, error);
}

/* Keeps the point VALUES at which the graphs differ, if somebody wants it (whole.h). */
static void keep_point(struct equality *q, const gemel__instance *instance,
                       gemel_tensor *const *values) {
  if (q->run->whole != NULL && values != NULL) {
    gemel__whole_take(q->run->whole, instance, values, NULL);
  }
}

/* What the shipped code was run at, for the record. */
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

/* Simplifies the witness, finds where the graphs part, reports. */
static gemel_status report_difference(struct equality *q, gemel__pair *pair, gemel__answer *answer,
                                      gemel_record *record, uint64_t seed, gemel_error *error) {
  gemel__random random;
  gemel__trial trial = {NULL, &random, &pair->b};
  gemel__outcome outcome;
  char place[700], left[160], right[160];
  char where[512] = "";
  const char *output = gemel_graph_output_name(pair->a.graph, answer->output);
  memset(&outcome, 0, sizeof outcome);
  gemel__random_seed(&random, seed);
  snprintf(left, sizeof left, "%s", answer->got); /* what the models call got is the left side's */
  snprintf(right, sizeof right, "%s", answer->expected);
  keep_point(q, &pair->a, answer->witness);
  if (answer->witness != NULL && gemel_graph_node_count(pair->a.graph) <= MOST_SHRUNK) {
    gemel__align(&pair->a, &pair->b, answer->witness, where, sizeof where);
    if (gemel__part(pair, &answer->witness)) {
      answer->n_witness = pair->a.n_leaves;
    }
    if (gemel__check_pair(&pair->a, answer->witness, &trial, &outcome, error) == GEMEL_OK &&
        outcome.refuted) {
      gemel_status status = gemel__shrink(&pair->a, &answer->witness, GEMEL__FILL_POINTS,
                                          gemel__check_pair, &trial, NULL, NULL, &outcome, error);
      if (status != GEMEL_OK) {
        return status;
      }
      snprintf(left, sizeof left, "%s", outcome.expected);
      snprintf(right, sizeof right, "%s", outcome.got);
      answer->element = outcome.element;
      output = gemel_graph_output_name(pair->a.graph, outcome.output);
    }
  }
  snprintf(place, sizeof place, "output %s, element %zu%s%s", output, answer->element,
           where[0] != '\0' ? "; " : "", where);
  record->how = answer->how;
  record->detail = answer->detail[0] != '\0' ? answer->detail
                                             : "the first graph's result and the second's differ";
  gemel__record_refuted(q->run, record, &pair->a, pair->b.graph, answer->witness, place, left,
                        right, seed);
  note(q, GEMEL_REFUTED);
  return GEMEL_OK;
}

/* Where sizes were scaled, and nothing could be run at those that were written, no formula says
 * that nothing else happens there: it was sampled. */
static const char *weaker(const struct equality *q, const char *how) {
  return q->scaled[0] != '\0' && q->scouted.runs == 0 && how[0] != '\0' ? "samples" : how;
}

/* What all instantiations together say: the weakest of their evidence, and signs seen both ways if
 * any of them saw them so. */
static void conclude_real(struct equality *q, gemel_record *record, gemel__answer *total) {
  char detail[400];
  size_t used;
  gemel__answer_settle(total);
  snprintf(detail, sizeof detail, "%s", total->detail);
  used = strlen(detail);
  if (q->scaled[0] != '\0' && used < sizeof detail) {
    used += (size_t)snprintf(detail + used, sizeof detail - used, "%ssizes scaled: %s",
                             used > 0 ? "; " : "", q->scaled);
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
  record->how = weaker(q, total->how);
  record->elements = total->compared;
  record->error_probability = total->error_probability;
  record->detail = detail;
  note(q, record->verdict);
  gemel__record_emit(q->run, record);
}

/* The shipped code came upon a point where domain O sees two different numbers. */
static gemel_status report_scouted(struct equality *q, gemel_error *error) {
  gemel__scouted *s = &q->scouted;
  gemel_record record;
  gemel__answer answer;
  gemel_status status;
  memset(&answer, 0, sizeof answer);
  gemel__record_init(&record, q->run, "pair", q->name, GEMEL_TIER_REAL);
  record.instances = s->runs;
  answer.how = "samples";
  answer.witness = s->values;
  answer.n_witness = s->pair.a.n_leaves;
  answer.output = s->output;
  answer.element = s->element;
  snprintf(answer.got, sizeof answer.got, "%s", s->left);
  snprintf(answer.expected, sizeof answer.expected, "%s", s->right);
  status = report_difference(q, &s->pair, &answer, &record, record.seed, error);
  s->values = answer.witness;
  return status;
}

/* Folded constants, as any values that they may have: 1 if that settles it. */
static int settle_general(struct equality *q, gemel_record *record, double started) {
  gemel__answer answer;
  size_t constants = 0;
  int settled =
      gemel__general_decide(q->run, q->name, q->real_a, q->real_b, q->run->options.instances,
                            &answer, &record->instances, &constants);
  if (settled == 1) {
    record->seconds = gemel__clock() - started;
    conclude_real(q, record, &answer);
  }
  gemel__answer_clear(&answer);
  return settled;
}

static gemel_status equal_real(struct equality *q, int *refuted, gemel_error *error) {
  gemel_record record;
  gemel__answer total;
  size_t k, rounds = q->share < 0.02 ? 2 : 5;
  gemel_status status = GEMEL_OK;
  double started = gemel__clock();
  if (q->scouted.found == GEMEL__SCOUT_REAL) {
    *refuted = 1;
    return report_scouted(q, error);
  }
  memset(&total, 0, sizeof total);
  total.how = "";
  gemel__sites_init(&total.sites);
  gemel__record_init(&record, q->run, "pair", q->name, GEMEL_TIER_REAL);
  if (q->folded > 0) {
    int settled = settle_general(q, &record, started);
    if (settled != 0) {
      return settled > 0 ? GEMEL_OK : gemel__no_memory(error, "decisions");
    }
    record.instances = 0;
  }
  for (k = 0; k < rounds && status == GEMEL_OK && !*refuted; k++) {
    gemel__random random;
    gemel__pair pair;
    gemel__answer answer;
    uint64_t seed;
    gemel__run_random(q->run, q->name, GEMEL_TIER_REAL, k, &random);
    status = gemel__pair_draw(&pair, q->real_a, q->real_b, &random, error);
    if (status != GEMEL_OK) {
      break;
    }
    seed = gemel__random_bits(&random);
    status = ask(q, &pair, seed, &answer, error);
    record.seconds = gemel__clock() - started;
    if (status == GEMEL_OK && answer.verdict == GEMEL_REFUTED) {
      *refuted = 1;
      record.instances = k + 1;
      status = report_difference(q, &pair, &answer, &record, seed, error);
    } else if (status == GEMEL_OK &&
               gemel__answer_merge(&total, &answer, record.instances++) != 0) {
      status = gemel__no_memory(error, "decisions");
    }
    gemel__answer_clear(&answer);
    gemel__pair_clear(&pair);
  }
  if (status == GEMEL_OK && !*refuted) {
    conclude_real(q, &record, &total);
  }
  gemel__answer_clear(&total);
  return status;
}

/* ---- Tiers integer and float ---- */

struct shipped {
  gemel_tier tier;
  gemel__fill fill;
  gemel__check check;
  const char *how;
};

static gemel_status try_shipped(struct equality *q, const struct shipped *t, size_t k,
                                gemel_record *record, gemel__outcome *total, gemel_error *error) {
  gemel__random random;
  gemel__pair pair;
  gemel_tensor **values;
  gemel_status status;
  int side;
  gemel__run_random(q->run, q->name, t->tier, k, &random);
  status = gemel__pair_draw(&pair, q->a, q->b, &random, error);
  if (status != GEMEL_OK) {
    return status;
  }
  status = gemel__values_draw(&pair.a, t->fill, &random, &values, error);
  for (side = 0; side < 2 && status == GEMEL_OK && record->verdict != GEMEL_REFUTED; side++) {
    const gemel__instance *instance = side == 0 ? &pair.a : &pair.b;
    gemel__trial trial = {NULL, &random, NULL};
    gemel__outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    status = t->check(instance, values, &trial, &outcome, error);
    total->compared += outcome.compared;
    total->informative += outcome.informative;
    total->worst = outcome.worst > total->worst ? outcome.worst : total->worst;
    if (status == GEMEL_OK && outcome.refuted) {
      char place[160];
      snprintf(place, sizeof place, "%s graph, output %zu, element %zu (%s)",
               side == 0 ? "first" : "second", outcome.output, outcome.element, outcome.variant);
      record->detail = "shipped code and reference differ";
      keep_point(q, instance, values);
      gemel__record_refuted(q->run, record, instance, NULL, values, place, outcome.expected,
                            outcome.got, record->seed);
    }
  }
  gemel__values_free(&pair.a, values);
  gemel__pair_clear(&pair);
  /* an index out of range is no instance */
  return status == GEMEL_BAD_VALUE ? GEMEL_OK : status;
}

/* Sizes too large for domain O, at which results are apart by more than half their digits. */
static void report_apart(struct equality *q, gemel_record *record) {
  const gemel__scouted *s = &q->scouted;
  char place[160];
  snprintf(place, sizeof place, "output %s, element %zu",
           gemel_graph_output_name(s->pair.a.graph, s->output), s->element);
  record->detail =
      "the shipped results differ by more than half their digits, at sizes that are too "
      "large for exact arithmetic";
  keep_point(q, &s->pair.a, s->values);
  gemel__record_refuted(q->run, record, &s->pair.a, s->pair.b.graph, s->values, place, s->left,
                        s->right, record->seed);
}

static gemel_status equal_shipped(struct equality *q, const struct shipped *t, gemel_error *error) {
  gemel_record record;
  gemel__outcome total;
  gemel_status status = GEMEL_OK;
  char detail[300] = "";
  double started = gemel__clock();
  size_t k, n = affordable(q, q->run->options.instances / 2 + 1);
  memset(&total, 0, sizeof total);
  gemel__record_init(&record, q->run, "pair", q->name, t->tier);
  record.how = t->how;
  for (k = 0; k < n && status == GEMEL_OK && record.verdict != GEMEL_REFUTED; k++) {
    status = try_shipped(q, t, k, &record, &total, error);
  }
  if (status == GEMEL_OK && record.verdict != GEMEL_REFUTED && t->tier == GEMEL_TIER_FLOAT &&
      q->scouted.found == GEMEL__SCOUT_APART) {
    report_apart(q, &record);
  }
  if (record.verdict == GEMEL_REFUTED) {
    note(q, record.verdict);
  }
  if (status != GEMEL_OK || record.verdict == GEMEL_REFUTED) {
    return status;
  }
  record.seconds = gemel__clock() - started;
  record.instances = n;
  record.elements += total.compared;
  record.detail = detail;
  if (q->scaled[0] != '\0') {
    snprintf(detail, sizeof detail, "sizes scaled: %s", q->scaled);
  }
  record.worst = total.worst;
  record.verdict = GEMEL_PASSED;
  if (total.informative == 0) {
    record.verdict = GEMEL_NOT_APPLICABLE;
    record.how = "";
    record.detail = t->tier == GEMEL_TIER_INTEGER ? "no result is exact on small integers"
                                                  : "no result has a bound that says something";
  }
  note(q, record.verdict);
  gemel__record_emit(q->run, &record);
  return GEMEL_OK;
}

/* ---- Tier special ---- */

/* The first word that isn't allowed, or a difference that none allows, with the instance that shows
 * it. */
static void report_refused(struct equality *q, gemel__needs *needs, gemel_record *record) {
  const char *word = "";
  gemel__witness *witness = gemel__beyond_witness(needs, q->result->refused, &word);
  char words[100], detail[200], place[160];
  gemel__needs_text(q->result->refused, words, sizeof words);
  snprintf(detail, sizeof detail, "%s%s%s",
           words[0] != '\0' ? "told apart by " : "finite results are further apart than rounding",
           words, words[0] != '\0' ? ", which isn't allowed" : " permits here");
  record->detail = detail;
  note(q, GEMEL_REFUTED);
  if (witness->values == NULL) {
    record->verdict = GEMEL_REFUTED;
    record->counterexample = detail;
    gemel__record_emit(q->run, record);
    return;
  }
  snprintf(place, sizeof place, "%s: output %s, element %zu", word,
           gemel_graph_output_name(witness->pair.a.graph, witness->output), witness->element);
  keep_point(q, &witness->pair.a, witness->values);
  gemel__record_refuted(q->run, record, &witness->pair.a, witness->pair.b.graph, witness->values,
                        place, witness->left, witness->right, record->seed);
}

static void conclude_special(struct equality *q, const gemel__needs *needs, gemel_record *record) {
  char words[100], detail[400];
  gemel__needs_text(q->result->needs, words, sizeof words);
  record->verdict = needs->compared > 0 ? GEMEL_PASSED : GEMEL_UNINFORMATIVE;
  snprintf(detail, sizeof detail, "%s%s%s%s%s",
           q->result->needs != 0 ? "told apart by " : "bitwise", words,
           needs->improves ? "; the second graph improves on the first" : "",
           q->scaled[0] != '\0' ? "; sizes scaled: " : "", q->scaled);
  record->detail = detail;
  note(q, record->verdict);
  gemel__record_emit(q->run, record);
}

static gemel_status equal_special(struct equality *q, gemel_error *error) {
  gemel_record record;
  gemel__needs needs;
  gemel__random random;
  size_t points = affordable(q, q->run->options.instances);
  gemel__needs_plan plan = {.points = 2 * points,
                            .rounding = 8 * points,
                            .improvement = 1,
                            .beyond = 1,
                            .folded = q->folded > 0};
  double started = gemel__clock();
  gemel_status status;
  gemel__record_init(&record, q->run, "pair", q->name, GEMEL_TIER_SPECIAL);
  gemel__run_random(q->run, q->name, GEMEL_TIER_SPECIAL, 0, &random);
  status = gemel__needs_measure(q->a, q->b, gemel__random_bits(&random), &plan, &needs, error);
  if (status == GEMEL_OK) {
    q->result->needs |= needs.needs | gemel__beyond_words(&needs);
    q->result->refused = q->result->needs & ~q->allow;
    q->result->bitwise = q->result->needs == 0 && needs.beyond == 0;
    q->result->improves = needs.improves;
    record.seconds = gemel__clock() - started;
    record.instances = 2 * points;
    record.elements = needs.compared;
    record.how = "bits";
    if (q->result->refused != 0 || (needs.beyond >> GEMEL__BEYOND_BOUND & 1)) {
      report_refused(q, &needs, &record);
    } else {
      conclude_special(q, &needs, &record);
    }
  }
  gemel__needs_clear(&needs);
  return status;
}

/* ---- The question ---- */

static gemel_status all_tiers(struct equality *q, gemel_error *error) {
  static const struct shipped integer = {GEMEL_TIER_INTEGER, GEMEL__FILL_INTEGERS,
                                         gemel__check_integer, "bits"};
  static const struct shipped real = {GEMEL_TIER_FLOAT, GEMEL__FILL_FULL, gemel__check_float,
                                      "bound"};
  gemel_status status = GEMEL_OK;
  int refuted = 0;
  if (gemel__run_wants(q->run, GEMEL_TIER_REAL)) {
    status = equal_real(q, &refuted, error);
  }
  if (status == GEMEL_OK && refuted) {
    emit_simple(q, GEMEL_TIER_INTEGER, GEMEL_NOT_RUN, "tier real refuted the pair");
    emit_simple(q, GEMEL_TIER_FLOAT, GEMEL_NOT_RUN, "tier real refuted the pair");
    emit_simple(q, GEMEL_TIER_SPECIAL, GEMEL_NOT_RUN, "tier real refuted the pair");
    return GEMEL_OK;
  }
  if (status == GEMEL_OK && gemel__run_wants(q->run, GEMEL_TIER_INTEGER)) {
    status = equal_shipped(q, &integer, error);
  }
  if (status == GEMEL_OK && gemel__run_wants(q->run, GEMEL_TIER_FLOAT)) {
    status = equal_shipped(q, &real, error);
  }
  emit_simple(q, GEMEL_TIER_GRADIENT, GEMEL_NOT_APPLICABLE,
              "equal functions have equal derivatives");
  if (status == GEMEL_OK && gemel__run_wants(q->run, GEMEL_TIER_SPECIAL)) {
    status = equal_special(q, error);
  }
  return status;
}

/* Do the graphs agree over the reals at a few points, of which some have elements? If not once they
 * are scaled, sizes may play a role as numbers, and the graphs are taken as they came. */
static int agree(struct equality *q, const gemel_graph *a, const gemel_graph *b) {
  enum { POINTS = 6 };
  gemel__random random;
  size_t k, i, useful = 0;
  int same = 1;
  gemel__run_random(q->run, q->name, GEMEL_TIER_REAL, SIZE_MAX, &random);
  for (k = 0; k < POINTS && same; k++) {
    gemel__pair pair;
    gemel_tensor **values;
    gemel__trial trial = {NULL, &random, &pair.b};
    gemel__outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    if (gemel__pair_draw(&pair, a, b, &random, NULL) != GEMEL_OK) {
      return 0;
    }
    same = gemel__values_draw(&pair.a, GEMEL__FILL_FULL, &random, &values, NULL) == GEMEL_OK;
    if (same) {
      gemel_status status = check_with(&pair.a, values, &trial, 0, &outcome, NULL);
      same = (status == GEMEL_OK || status == GEMEL_BAD_VALUE) && !outcome.refuted;
      gemel__values_free(&pair.a, values);
    }
    for (i = 0; i < pair.a.n_leaves && pair.a.leaves[i].count > 0; i++) {
    }
    useful += i == pair.a.n_leaves;
    gemel__pair_clear(&pair);
  }
  return same && useful > 0;
}

/* What one question needs of graphs of its own. */
struct versions {
  gemel__folded folded;
  gemel_graph *a, *b, *real_a, *real_b;
};

static int agree_folded(void *user, const gemel_graph *a, const gemel_graph *b) {
  return agree(user, a, b);
}

/* Where the graphs don't agree, but do once folded constants are taken for what they stand for: so
 * much for tier real. Shipped code has the constants as they are. */
static gemel_status unfold(struct equality *q, struct versions *v, gemel_error *error) {
  gemel_status status;
  if (!(q->allow & GEMEL_PAIR_BIT(FOLDED)) || agree(q, q->a, q->b)) {
    return GEMEL_OK;
  }
  status = gemel__constants_fold(q->a, q->b, agree_folded, q, &v->folded, error);
  q->real_a = v->folded.a != NULL ? v->folded.a : q->real_a;
  q->real_b = v->folded.b != NULL ? v->folded.b : q->real_b;
  q->folded = v->folded.count;
  q->result->needs |= q->folded > 0 ? GEMEL_PAIR_BIT(FOLDED) : 0;
  return status;
}

/* Large sizes become small ones, in all graphs or in none. */
static void scale(struct equality *q, struct versions *v) {
  gemel__scaling scaling;
  gemel__scaling_find(q->a, &scaling);
  if (scaling.n > 0 && (v->a = gemel__graph_scaled(q->a, &scaling, NULL)) != NULL &&
      (v->b = gemel__graph_scaled(q->b, &scaling, NULL)) != NULL &&
      (v->real_a = gemel__graph_scaled(q->real_a, &scaling, NULL)) != NULL &&
      (v->real_b = gemel__graph_scaled(q->real_b, &scaling, NULL)) != NULL &&
      gemel__pair_check(v->a, v->b, NULL) == GEMEL_OK &&
      gemel__pair_check(v->real_a, v->real_b, NULL) == GEMEL_OK && agree(q, v->real_a, v->real_b)) {
    q->a = v->a;
    q->b = v->b;
    q->real_a = v->real_a;
    q->real_b = v->real_b;
    gemel__scaling_text(&scaling, q->scaled, sizeof q->scaled);
  }
}

static gemel_status find_share(struct equality *q, gemel_error *error) {
  gemel__random random;
  gemel__pair pair;
  gemel_status status;
  gemel__run_random(q->run, q->name, GEMEL_TIER_REAL, SIZE_MAX - 2, &random);
  status = gemel__pair_draw(&pair, q->a, q->b, &random, error);
  if (status == GEMEL_OK) {
    q->share = USUAL_ELEMENTS / gemel__pair_elements(&pair);
    gemel__pair_clear(&pair);
  }
  return status;
}

static gemel_status ask_versions(struct equality *q, gemel_error *error) {
  struct versions v;
  gemel_status status = GEMEL_OK;
  memset(&v, 0, sizeof v);
  scale(q, &v);
  if (q->scaled[0] == '\0') {
    status = unfold(q, &v, error);
  }
  if (q->scaled[0] == '\0' && q->folded > 0) {
    gemel_graph_unref(v.a);
    gemel_graph_unref(v.b);
    gemel_graph_unref(v.real_a);
    gemel_graph_unref(v.real_b);
    v.a = v.b = v.real_a = v.real_b = NULL;
    scale(q, &v);
  }
  status = status == GEMEL_OK ? find_share(q, error) : status;
  status = status == GEMEL_OK ? all_tiers(q, error) : status;
  gemel__folded_clear(&v.folded);
  gemel_graph_unref(v.a);
  gemel_graph_unref(v.b);
  gemel_graph_unref(v.real_a);
  gemel_graph_unref(v.real_b);
  return status;
}

gemel_status gemel__equal_ask(gemel__run *run, const gemel_graph *a, const gemel_graph *b,
                              const char *name, unsigned allow, gemel_pair_result *result,
                              gemel_error *error) {
  struct equality q = {.run = run,
                       .a = a,
                       .b = b,
                       .real_a = a,
                       .real_b = b,
                       .name = name,
                       .allow = allow,
                       .result = result};
  gemel__random random;
  gemel_status status;
  memset(result, 0, sizeof *result);
  result->size = sizeof *result;
  result->verdict = GEMEL_NOT_RUN;
  gemel__run_random(run, name, GEMEL_TIER_REAL, SIZE_MAX - 1, &random);
  status = gemel__scout(a, b, &random, &q.scouted, error);
  if (status == GEMEL_OK) {
    status = ask_versions(&q, error);
  }
  gemel__scouted_clear(&q.scouted);
  return status;
}
