/* SPDX-License-Identifier: MIT
 *
 * `gemel equal` for two graphs as a whole: are they the same function? Symbolic sizes are
 * instantiated several times. Tier real asks the models, and both must be defined at the same
 * points; constants that one graph folded are replaced by what they were folded from (constants.c).
 * Tiers integer and float compare the shipped code of each graph with its reference. Tier special
 * measures the words of `needs` (pairs/needs.c).
 *
 * The instantiations of tier real, and then the other tiers, are jobs (harness/jobs.h), each with a
 * random stream of its own; their results are combined in a fixed order. Once the caller says stop
 * (base/tick.h), a tier that hasn't ended is not run, unless it has found a refutation. (real.c is
 * tier real; parts.c divides the question.)
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "pairs/beyond.h"
#include "pairs/decided.h"
#include "pairs/defined.h"
#include "equal/constants.h"
#include "equal/discrete.h"
#include "equal/loops.h"
#include "equal/undefined.h"
#include "pairs/needs.h"
#include "equal/question.h"
#include "equal/whole.h"
#include "harness/jobs.h"
#include "pairs/pair.h"
#include "pairs/scale.h"
#include "harness/saved.h"

/* A counterexample of graphs with more elements doesn't show them. */
#define MOST_SHOWN 1e6

/* ---- Tiers integer and float ---- */

struct shipped {
  gemel_tier tier;
  gemel__fill fill;
  gemel__check check;
  gemel_evidence how;
  const char *stage;
};

/* A question of the shipped code. */
struct shipping {
  gemel__equality *q;
  const struct shipped *how;
};

/* Compares one graph with its reference. */
static gemel_status hold_graph(gemel__inquiry *asked, const struct shipping *s,
                               const gemel__instance *graph, const char *which,
                               gemel_tensor *const *values, gemel__random *random,
                               gemel_error *error) {
  gemel__trial trial = {NULL, random, NULL};
  gemel__outcome outcome;
  memset(&outcome, 0, sizeof outcome);
  gemel_status status = s->how->check(graph, values, &trial, &outcome, error);
  gemel__inquiry_add(asked, &outcome);
  if (status == GEMEL_OK && outcome.refuted) {
    char place[160];
    snprintf(place, sizeof place, "%s graph, output %zu, element %zu (%s)", which, outcome.output,
             outcome.element, outcome.variant);
    asked->record.detail = "shipped code and reference differ";
    gemel__equal_keep(s->q, s->how->tier, 0, graph, values);
    gemel__inquiry_refute(asked, graph, NULL, values, place, outcome.expected, outcome.got);
  }
  return status;
}

static gemel_status try_shipped(gemel__inquiry *asked, void *user, size_t k, gemel_error *error) {
  const struct shipping *s = user;
  gemel__random random;
  gemel__pair pair;
  gemel_tensor **values;
  gemel__run_random(s->q->run, s->q->name, s->how->tier, k, &random);
  GEMEL__TRY(gemel__pair_draw(&pair, s->q->a, s->q->b, &random, error));
  gemel_status status = gemel__values_draw(&pair.a, s->how->fill, &random, &values, error);
  if (status == GEMEL_OK && s->how->tier == GEMEL_TIER_INTEGER && k % 4 == 3) {
    gemel__values_put_ends(&pair.a, k / 4, &random, values);
  }
  if (status == GEMEL_OK) {
    status = hold_graph(asked, s, &pair.a, "first", values, &random, error);
  }
  if (status == GEMEL_OK && !asked->refuted) {
    status = hold_graph(asked, s, &pair.b, "second", values, &random, error);
  }
  gemel__values_free(&pair.a, values);
  gemel__pair_clear(&pair);
  /* a point at which the graphs don't run is no failure */
  return gemel__is_no_point(status) ? GEMEL_OK : status;
}

/* BEFORE, then "output y[2, 0]". */
static void place_of(const gemel_graph *graph, const char *before, size_t output, size_t element,
                     char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "%soutput ", before);
  if (used < bytes) {
    gemel__place_text(graph, output, element, text + used, bytes - used);
  }
}

/* Reports results that differ by more than half their digits at sizes too large for domain O. */
static void report_apart(gemel__equality *q, gemel__inquiry *asked) {
  const gemel__scouted *s = &q->scouted;
  char place[160];
  place_of(s->pair.a.graph, "", s->output, s->element, place, sizeof place);
  asked->record.detail =
      s->wide
          ? "the shipped results differ in f64 by more than rounding there explains, at sizes that "
            "are too large for exact arithmetic"
          : "the shipped results differ by more than half their digits, at sizes that are too "
            "large for exact arithmetic";
  gemel__equal_keep(q, GEMEL_TIER_FLOAT, 1, &s->pair.a, s->values);
  if (gemel__graph_elements(s->pair.a.graph, 1) > MOST_SHOWN) { /* graphs as text take minutes */
    char text[600];
    snprintf(text, sizeof text, "# %s: first %s, second %s\n", place, s->left, s->right);
    asked->record.counterexample = text;
    gemel__inquiry_end(asked, GEMEL_VERDICT_REFUTED, asked->record.how, asked->record.detail);
    return;
  }
  gemel__inquiry_refute(asked, &s->pair.a, s->pair.b.graph, s->values, place, s->left, s->right);
}

/* Emits the record of a tier that refuted nothing, which counts for the result. */
static void conclude(gemel__equality *q, gemel__inquiry *asked, gemel_verdict verdict,
                     gemel_evidence how, const char *detail) {
  gemel__equal_note(q, verdict);
  gemel__inquiry_end(asked, verdict, how, detail);
}

static void conclude_shipped(gemel__equality *q, const struct shipped *t, gemel__inquiry *asked) {
  char detail[300] = "";
  if (q->scaled[0] != '\0') {
    snprintf(detail, sizeof detail, "sizes scaled: %s", q->scaled);
  }
  asked->record.elements = asked->outcome.compared;
  asked->record.worst = asked->outcome.worst;
  if (asked->outcome.informative > 0) {
    conclude(q, asked, GEMEL_VERDICT_PASSED, t->how, detail);
  } else {
    conclude(q, asked, GEMEL_VERDICT_NOT_APPLICABLE, GEMEL_EVIDENCE_NONE,
             t->tier == GEMEL_TIER_INTEGER ? "no result is exact on small integers"
                                           : "no result has a bound that says something");
  }
}

static gemel_status equal_shipped(gemel__equality *q, const struct shipped *t, gemel_error *error) {
  gemel__inquiry asked;
  struct shipping s = {q, t};
  size_t n = gemel__equal_affordable(q->share, q->run->options.instances / 2 + 1);
  gemel__equal_begin(q, &asked, t->tier);
  asked.record.how = t->how;
  gemel__ticker_stage(q->run->ticker, t->stage);
  gemel_status status = gemel__inquiry_each(&asked, n, try_shipped, &s, error);
  if (asked.refuted) {
    gemel__equal_note(q, GEMEL_VERDICT_REFUTED);
  } else if (gemel__stopped(q->run->ticker) && status != GEMEL_NO_MEMORY) {
    status = GEMEL_OK; /* the status is that of an evaluation that was stopped */
    gemel__equal_stopped(q, t->tier);
  } else if (status == GEMEL_OK) {
    asked.record.instances = n;
    conclude_shipped(q, t, &asked);
  }
  return status;
}

/* ---- Tier special ---- */

/* Reports that WITNESS shows WORD. */
static void refute_special(gemel__equality *q, gemel__inquiry *asked, const char *word,
                           const gemel__witness *witness, const char *detail) {
  char before[120], place[300];
  asked->record.detail = detail;
  gemel__equal_note(q, GEMEL_VERDICT_REFUTED);
  snprintf(before, sizeof before, "%s%s: ", word, witness->pair.plain ? ", by plain kernels" : "");
  place_of(witness->pair.a.graph, before, witness->output, witness->element, place, sizeof place);
  gemel__equal_keep(q, GEMEL_TIER_SPECIAL, 1, &witness->pair.a, witness->values);
  gemel__inquiry_refute(asked, &witness->pair.a, witness->pair.b.graph, witness->values, place,
                        witness->left, witness->right);
}

/* Reports the first word that isn't allowed, or a difference that no word allows, with the instance
 * that shows it. */
static void report_refused(gemel__equality *q, gemel__needs *needs, gemel__inquiry *asked) {
  const char *word = "";
  gemel__witness *witness = gemel__beyond_witness(needs, q->result->refused, &word);
  char words[100], detail[200];
  gemel__needs_text(q->result->refused, words, sizeof words);
  snprintf(detail, sizeof detail, "%s%s%s",
           words[0] != '\0' ? "told apart by " : "finite results are further apart than rounding",
           words, words[0] != '\0' ? ", which isn't allowed" : " permits here");
  if (witness->values == NULL) {
    asked->record.counterexample = detail;
    conclude(q, asked, GEMEL_VERDICT_REFUTED, asked->record.how, detail);
    return;
  }
  refute_special(q, asked, word, witness, detail);
}

void gemel__equal_shown(gemel__run *run, const char *name, const gemel__witness *witness,
                        gemel_pair_result *result) {
  gemel__equality q = {.run = run, .name = name, .result = result};
  gemel__inquiry asked;
  gemel__equal_begin(&q, &asked, GEMEL_TIER_SPECIAL);
  asked.record.how = GEMEL_EVIDENCE_BITS;
  char words[100], detail[200];
  gemel__needs_text(result->refused, words, sizeof words);
  snprintf(detail, sizeof detail, "told apart by %s, which isn't allowed", words);
  refute_special(&q, &asked, words, witness, detail);
}

/* Says that the second graph improves on the first, with an example. */
static void say_improves(const gemel__needs *needs, char *text, size_t bytes) {
  const gemel__witness *w = &needs->improvement;
  text[0] = '\0';
  if (needs->improves) {
    size_t used = (size_t)snprintf(text, bytes, "; the second graph improves on the first");
    if (w->values != NULL && used < bytes) {
      char place[120];
      place_of(w->pair.a.graph, ": ", w->output, w->element, place, sizeof place);
      snprintf(text + used, bytes - used, "%s, %s becomes %s", place, w->left, w->right);
    }
  }
}

static void conclude_special(gemel__equality *q, const gemel__needs *needs, gemel__inquiry *asked) {
  char words[100], improves[400], detail[900];
  int plain = gemel__runs_plain(q->a) || gemel__runs_plain(q->b);
  gemel__needs_text(q->result->needs, words, sizeof words);
  say_improves(needs, improves, sizeof improves);
  snprintf(detail, sizeof detail, "%s%s%s%s%s%s",
           q->result->needs != 0 ? "told apart by " : "bitwise", words,
           plain ? ", with the plain algorithm of convolutions" : "", improves,
           q->scaled[0] != '\0' ? "; sizes scaled: " : "", q->scaled);
  conclude(q, asked,
           needs->compared > 0 || gemel__equal_is_empty(q) ? GEMEL_VERDICT_PASSED
                                                           : GEMEL_VERDICT_UNINFORMATIVE,
           GEMEL_EVIDENCE_BITS, detail);
}

/* Adds the words that were measured to the result. Returns 1 if one isn't allowed, or there is a
 * difference that no word allows. */
static int take_words(gemel__equality *q, const gemel__needs *needs) {
  q->result->needs |= needs->needs;
  q->result->refused = q->result->needs & ~q->allow;
  return q->result->refused != 0 || needs->too_far.values != NULL;
}

/* Moves WITNESS to that of the first of WORDS. */
static void show_words(gemel__needs *needs, unsigned words, gemel__witness *witness) {
  for (size_t k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    if (words >> k & 1) {
      gemel__witness_move(&needs->witness[k], witness);
    }
  }
  gemel__witness_clear(witness);
}

/* Adds to NEEDS what shows in the graphs as a whole. */
static gemel_status look_at_whole(gemel__equality *q, gemel__needs *needs, gemel_error *error) {
  gemel__flip found;
  gemel_status status = gemel__whole_look(q->run, q->name, q->whole_a, q->whole_b, needs->needs,
                                          q->allow, &found, error);
  needs->needs |= found.words;
  show_words(needs, found.words, &found.witness);
  return status;
}

/* Results that are bitwise at small sizes and were rounded differently at others aren't bitwise. */
static gemel_status note_rounding(const gemel__equality *q, gemel__needs *needs,
                                  gemel_error *error) {
  size_t n = gemel_graph_output_count(q->whole_a);
  unsigned kinds = 0;
  if (needs->needs != 0 || !q->scouted.rounds) {
    return GEMEL_OK;
  }
  unsigned char *decided = gemel__alloc_zeroed(n);
  if (decided == NULL) {
    return gemel__no_memory(error, "two graphs");
  }
  gemel_status status = gemel__decided_outputs(q->whole_a, q->whole_b, decided, &kinds, error);
  gemel__free(decided, n);
  needs->needs |= gemel__words_of_kinds(kinds);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* After a stop: a refutation counts, everything else is not run. */
static void conclude_early(gemel__equality *q, gemel__needs *needs, gemel__inquiry *asked) {
  if (take_words(q, needs)) {
    report_refused(q, needs, asked);
  } else {
    gemel__equal_stopped(q, GEMEL_TIER_SPECIAL);
  }
}

static gemel_status equal_special(gemel__equality *q, gemel_error *error) {
  gemel__inquiry asked;
  gemel__needs needs;
  gemel__random random;
  enum { LEAST_ROUNDING = 8 };
  size_t usual = q->run->options.instances, points = gemel__equal_affordable(q->share, usual);
  size_t rounding = gemel__equal_affordable(q->share, 8 * usual);
  gemel__needs_plan plan = {.points = 2 * points,
                            .rounding = rounding > LEAST_ROUNDING ? rounding : LEAST_ROUNDING,
                            .losses = 3 * points,
                            .meetings = 2 * points,
                            .improvement = 1,
                            .beyond = 1,
                            .folded = q->folded > 0,
                            .plain = 1,
                            .ticker = q->run->ticker};
  gemel__ticker_stage(q->run->ticker, "tier special");
  gemel__equal_begin(q, &asked, GEMEL_TIER_SPECIAL);
  gemel__run_random(q->run, q->name, GEMEL_TIER_SPECIAL, 0, &random);
  gemel_status status =
      gemel__needs_measure(q->a, q->b, gemel__random_bits(&random), &plan, &needs, error);
  if (status == GEMEL_OK && q->scaled[0] != '\0') {
    status = gemel__needs_at_lengths(q->whole_a, q->whole_b, 0, &random, &plan, &needs, error);
  }
  status = status == GEMEL_OK ? look_at_whole(q, &needs, error) : status;
  status = status == GEMEL_OK ? note_rounding(q, &needs, error) : status;
  asked.record.instances = 2 * points;
  asked.record.elements = needs.compared;
  asked.record.how = GEMEL_EVIDENCE_BITS;
  if (gemel__stopped(q->run->ticker) && status != GEMEL_NO_MEMORY) {
    status = GEMEL_OK;
    conclude_early(q, &needs, &asked);
  } else if (status == GEMEL_OK) {
    q->result->improves = needs.improves;
    if (take_words(q, &needs)) {
      report_refused(q, &needs, &asked);
    } else {
      q->result->bitwise = q->result->needs == 0;
      conclude_special(q, &needs, &asked);
    }
  }
  gemel__needs_clear(&needs);
  return status;
}

/* ---- The question ---- */

/* The tiers after tier real, each of which is a job. */
enum { LATER_TIERS = 4 };
static const gemel_tier later[LATER_TIERS] = {GEMEL_TIER_INTEGER, GEMEL_TIER_FLOAT,
                                              GEMEL_TIER_GRADIENT, GEMEL_TIER_SPECIAL};

struct later {
  const gemel__equality *q;
  gemel_pair_result *results; /* one a tier */
  gemel__point *points;       /* likewise */
};

static gemel_status equal_later(gemel__equality *q, gemel_tier tier, gemel_error *error) {
  static const struct shipped integer = {GEMEL_TIER_INTEGER, GEMEL__FILL_INTEGERS,
                                         gemel__check_integer, GEMEL_EVIDENCE_BITS, "tier integer"};
  static const struct shipped real = {GEMEL_TIER_FLOAT, GEMEL__FILL_FULL, gemel__check_float,
                                      GEMEL_EVIDENCE_BOUND, "tier float"};
  if (!gemel__run_wants(q->run, tier)) {
    return GEMEL_OK;
  }
  switch (tier) {
  case GEMEL_TIER_INTEGER:
    return equal_shipped(q, &integer, error);
  case GEMEL_TIER_FLOAT:
    return equal_shipped(q, &real, error);
  case GEMEL_TIER_SPECIAL:
    return equal_special(q, error);
  default:
    if (gemel__tick(q->run->ticker) != GEMEL_OK) {
      gemel__equal_stopped(q, tier);
    } else {
      gemel__equal_emit(q, tier, GEMEL_VERDICT_NOT_APPLICABLE,
                        gemel__loops_derivatives(q->a, q->b));
    }
    return GEMEL_OK;
  }
}

static gemel_status ask_later(gemel__run *run, const void *user, size_t k, gemel_error *error) {
  const struct later *l = user;
  gemel__equality q = *l->q;
  gemel__run own = *run;
  q.run = &own;
  q.result = &l->results[k];
  own.point = own.point != NULL ? &l->points[k] : NULL;
  return equal_later(&q, later[k], error);
}

/* Combines the tiers' results in their order. The words are those of tier special. */
static void take_later(gemel__equality *q, gemel_pair_result *results, gemel__point *points) {
  for (size_t k = 0; k < LATER_TIERS; k++) {
    gemel_verdict worst = q->result->verdict;
    if (later[k] == GEMEL_TIER_SPECIAL) {
      *q->result = results[k];
      q->result->verdict = worst;
    }
    if (results[k].verdict != GEMEL_VERDICT_NOT_RUN) {
      gemel__equal_note(q, results[k].verdict);
    }
    if (q->run->point != NULL && points[k].taken) {
      gemel__point_clear(q->run->point);
      *q->run->point = points[k];
      memset(&points[k], 0, sizeof points[k]);
    }
    gemel__point_clear(&points[k]);
  }
}

static gemel_status later_tiers(gemel__equality *q, gemel_error *error) {
  gemel_pair_result results[LATER_TIERS];
  gemel__point points[LATER_TIERS];
  struct later l = {q, results, points};
  memset(points, 0, sizeof points);
  for (size_t k = 0; k < LATER_TIERS; k++) {
    results[k] = *q->result;
    results[k].verdict = GEMEL_VERDICT_NOT_RUN;
  }
  gemel__ticker_stage(q->run->ticker, "tiers integer, float and special");
  gemel_status status = gemel__run_jobs(q->run, LATER_TIERS, ask_later, &l, error);
  take_later(q, results, points);
  return status;
}

/* Reports that the shipped code refuted the pair at sizes too large for exact arithmetic. */
static void refute_apart(gemel__equality *q) {
  static const char why[] = "tier float refuted the pair";
  gemel__inquiry asked;
  gemel__equal_emit(q, GEMEL_TIER_REAL, GEMEL_VERDICT_NOT_RUN, why);
  gemel__equal_emit(q, GEMEL_TIER_INTEGER, GEMEL_VERDICT_NOT_RUN, why);
  gemel__equal_begin(q, &asked, GEMEL_TIER_FLOAT);
  asked.record.how = GEMEL_EVIDENCE_BOUND;
  asked.record.instances = q->scouted.runs;
  asked.record.elements = q->scouted.elements;
  report_apart(q, &asked);
  gemel__equal_note(q, GEMEL_VERDICT_REFUTED);
  gemel__equal_emit(q, GEMEL_TIER_SPECIAL, GEMEL_VERDICT_NOT_RUN, why);
}

void gemel__equal_apart(gemel__run *run, const char *name, const gemel__scouted *scouted,
                        gemel_pair_result *result) {
  gemel__equality q = {.run = run, .name = name, .result = result, .scouted = *scouted};
  refute_apart(&q);
}

static void not_at_the_same_inputs(gemel__equality *q) {
  for (int tier = GEMEL_TIER_REAL + 1; tier < GEMEL_TIER_COUNT; tier++) {
    gemel__equal_emit(q, (gemel_tier)tier, GEMEL_VERDICT_NOT_RUN,
                      "the graphs aren't defined at the same inputs");
  }
}

void gemel__equal_undefined(gemel__run *run, const char *name, const gemel__defined *defined,
                            unsigned words, unsigned refused, gemel_pair_result *result) {
  gemel__equality q = {.run = run, .name = name, .result = result};
  gemel__inquiry asked;
  char place[200], text[600];
  int narrows = defined->narrows;
  snprintf(place, sizeof place, "%s: the %s graph ends in an error%s%s",
           narrows ? "narrows" : "widens", narrows ? "second" : "first",
           defined->sizes[0] != '\0' ? " where " : "", defined->sizes);
  result->needs |= words;
  result->refused |= refused;
  gemel__equal_begin(&q, &asked, GEMEL_TIER_REAL);
  asked.record.how = GEMEL_EVIDENCE_SAMPLES;
  asked.record.detail = place;
  gemel__equal_note(&q, GEMEL_VERDICT_REFUTED);
  if (defined->values != NULL) {
    gemel__equal_keep(&q, GEMEL_TIER_REAL, 1, &defined->pair.a, defined->values);
    gemel__inquiry_refute(&asked, &defined->pair.a, defined->pair.b.graph, defined->values, place,
                          narrows ? "a result" : defined->problem,
                          narrows ? defined->problem : "a result");
  } else {
    snprintf(text, sizeof text, "# %s: %s\n", place, defined->problem);
    asked.record.counterexample = text;
    gemel__inquiry_end(&asked, GEMEL_VERDICT_REFUTED, asked.record.how, place);
  }
  not_at_the_same_inputs(&q);
}

void gemel__equal_open(gemel__run *run, const char *name, const gemel__undefinedness *found,
                       unsigned refused, gemel_pair_result *result) {
  gemel__equality q = {.run = run, .name = name, .result = result};
  gemel__inquiry asked;
  char place[300], text[900];
  int narrows = (refused & GEMEL_PAIR_BIT(NARROWS)) != 0;
  snprintf(place, sizeof place, "%s: the %s graph leaves %s%sundefined",
           narrows ? "narrows" : "widens", narrows ? "second" : "first", found->place,
           found->place[0] != '\0' ? " " : "elements ");
  result->needs |= found->words;
  result->refused |= refused;
  gemel__equal_begin(&q, &asked, GEMEL_TIER_REAL);
  asked.record.how = GEMEL_EVIDENCE_SAMPLES;
  asked.record.detail = place;
  gemel__equal_note(&q, GEMEL_VERDICT_REFUTED);
  if (found->values != NULL && narrows) {
    gemel__equal_keep(&q, GEMEL_TIER_REAL, 1, &found->pair.a, found->values);
    gemel__inquiry_refute(&asked, &found->pair.a, found->pair.b.graph, found->values, place,
                          "a result", found->cause);
  } else {
    snprintf(text, sizeof text, "# %s: %s\n", place, found->cause);
    asked.record.counterexample = text;
    gemel__inquiry_end(&asked, GEMEL_VERDICT_REFUTED, asked.record.how, place);
  }
  not_at_the_same_inputs(&q);
}

static int is_apart(const gemel__equality *q) {
  return q->scouted.found == GEMEL__SCOUT_APART && gemel__run_wants(q->run, GEMEL_TIER_FLOAT);
}

static gemel_status all_tiers(gemel__equality *q, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  int refuted = 0;
  if (is_apart(q)) {
    refute_apart(q);
    return GEMEL_OK;
  }
  if (gemel__run_wants(q->run, GEMEL_TIER_REAL)) {
    status = gemel__equal_real(q, &refuted, error);
  }
  if (status == GEMEL_OK && refuted) {
    gemel__equal_emit(q, GEMEL_TIER_INTEGER, GEMEL_VERDICT_NOT_RUN, "tier real refuted the pair");
    gemel__equal_emit(q, GEMEL_TIER_FLOAT, GEMEL_VERDICT_NOT_RUN, "tier real refuted the pair");
    gemel__equal_emit(q, GEMEL_TIER_SPECIAL, GEMEL_VERDICT_NOT_RUN, "tier real refuted the pair");
    return GEMEL_OK;
  }
  return status == GEMEL_OK ? later_tiers(q, error) : status;
}

/* 1 if the graphs agree over the reals at a few points (*COMPARED: at how many results), at least
 * one of which has no empty input; at the first even if one adds what is 2^-128 of the other's
 * result. If graphs don't agree once they are scaled, sizes may occur in them as numbers, and they
 * are asked about unscaled. */
static int agree_somewhere(gemel__equality *q, const gemel_graph *a, const gemel_graph *b,
                           size_t *compared) {
  enum { POINTS = 6, FEW_POINTS = 2 };
  double work = gemel__graph_work(a, 1) + gemel__graph_work(b, 1);
  size_t points = work > GEMEL__USUAL_WORK ? FEW_POINTS : POINTS;
  gemel__random random;
  gemel_status status;
  size_t k, i, useful = 0;
  int same = 1;
  gemel__run_random(q->run, q->name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_AGREE), &random);
  for (k = 0; k < points && same && gemel__tick(q->run->ticker) == GEMEL_OK; k++) {
    gemel__pair pair;
    gemel_tensor **values;
    gemel__trial trial = {NULL, &random, &pair.b};
    gemel__outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    status = gemel__pair_draw(&pair, a, b, &random, NULL);
    if (status != GEMEL_OK) {
      q->starved |= status == GEMEL_NO_MEMORY;
      return 0;
    }
    status = gemel__values_draw(&pair.a, GEMEL__FILL_FULL, &random, &values, NULL);
    same = status == GEMEL_OK;
    if (same) {
      status = gemel__check_equal_digits(&pair.a, values, &trial, k == 0, &outcome, NULL);
      same = (status == GEMEL_OK || gemel__is_no_point(status)) && !outcome.refuted;
      gemel__values_free(&pair.a, values);
      *compared += outcome.compared;
    }
    q->starved |= status == GEMEL_NO_MEMORY;
    for (i = 0; i < pair.a.n_leaves && pair.a.leaves[i].count > 0; i++) {
    }
    useful += i == pair.a.n_leaves;
    gemel__pair_clear(&pair);
  }
  return same && useful > 0 && !gemel__stopped(q->run->ticker);
}

static int agree(gemel__equality *q, const gemel_graph *a, const gemel_graph *b) {
  size_t compared = 0;
  return agree_somewhere(q, a, b, &compared);
}

/* Graphs that one question makes. */
struct versions {
  gemel__folded folded;
  gemel_graph *a, *b, *real_a, *real_b; /* scaled */
  gemel_graph *settled_a, *settled_b;   /* by equal/discrete.h */
};

static int agree_folded(void *user, const gemel_graph *a, const gemel_graph *b) {
  return agree(user, a, b);
}

static void clear_settled(struct versions *v) {
  gemel_graph_unref(v->settled_a);
  gemel_graph_unref(v->settled_b);
}

/* Tier real takes constants that are IEEE's as what they are. */
static gemel_status settle_discrete(gemel__equality *q, struct versions *v, gemel_error *error) {
  gemel_status status = gemel__discrete_settle(q->a, &v->settled_a, error);
  status = status ? status : gemel__discrete_settle(q->b, &v->settled_b, error);
  if (status != GEMEL_OK) {
    clear_settled(v);
    return status;
  }
  q->real_a = v->settled_a != NULL ? v->settled_a : q->a;
  q->real_b = v->settled_b != NULL ? v->settled_b : q->b;
  return GEMEL_OK;
}

/* If the graphs don't agree, but do with folded constants replaced by what they were folded from,
 * tier real asks about those. The shipped code has the constants as they are. */
static gemel_status unfold(gemel__equality *q, struct versions *v, gemel_error *error) {
  if (!(q->allow & GEMEL_PAIR_BIT(FOLDED)) || agree(q, q->real_a, q->real_b)) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__constants_fold(q->real_a, q->real_b, agree_folded, q, q->run->ticker,
                                              &v->folded, error);
  q->real_a = v->folded.a != NULL ? v->folded.a : q->real_a;
  q->real_b = v->folded.b != NULL ? v->folded.b : q->real_b;
  q->folded = v->folded.count;
  q->result->needs |= q->folded > 0 ? GEMEL_PAIR_BIT(FOLDED) : 0;
  return status;
}

static void clear_scaled(struct versions *v) {
  gemel_graph_unref(v->a);
  gemel_graph_unref(v->b);
  gemel_graph_unref(v->real_a);
  gemel_graph_unref(v->real_b);
  v->a = v->b = v->real_a = v->real_b = NULL;
}

/* 1 if all graphs can be scaled and agree then, with a result that has a value. */
static int scale_by(gemel__equality *q, struct versions *v, const gemel__scaling *scaling) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  size_t compared = 0;
  int scaled = scaling->n > 0 && (v->a = gemel__graph_scaled(q->a, scaling, &error)) != NULL &&
               (v->b = gemel__graph_scaled(q->b, scaling, &error)) != NULL &&
               (v->real_a = gemel__graph_scaled(q->real_a, scaling, &error)) != NULL &&
               (v->real_b = gemel__graph_scaled(q->real_b, scaling, &error)) != NULL &&
               gemel__pair_check(v->a, v->b, NULL) == GEMEL_OK &&
               gemel__pair_check(v->real_a, v->real_b, NULL) == GEMEL_OK &&
               agree_somewhere(q, v->real_a, v->real_b, &compared) && compared > 0;
  q->starved |= error.status == GEMEL_NO_MEMORY;
  return scaled;
}

/* Scales large sizes in all graphs or in none, by the first map with which they agree. */
static void scale(gemel__equality *q, struct versions *v) {
  gemel__scaling scaling;
  size_t way = 0;
  while (!gemel__stopped(q->run->ticker) && !q->starved &&
         gemel__scaling_way(q->a, q->b, way++, &scaling)) {
    scaling.crops = gemel__scaling_crops_alike(q->real_a, q->real_b, &scaling);
    clear_scaled(v);
    if (scale_by(q, v, &scaling)) {
      q->a = v->a;
      q->b = v->b;
      q->real_a = v->real_a;
      q->real_b = v->real_b;
      gemel__scaling_text(&scaling, q->scaled, sizeof q->scaled);
      return;
    }
  }
  clear_scaled(v);
}

static gemel_status find_share(gemel__equality *q, gemel_error *error) {
  gemel__random random;
  gemel__pair pair;
  gemel__run_random(q->run, q->name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_SHARE), &random);
  gemel_status status = gemel__pair_draw(&pair, q->a, q->b, &random, error);
  if (status == GEMEL_OK) {
    q->share = gemel__equal_share(q->run, &pair);
    gemel__pair_clear(&pair);
  }
  return status;
}

/* Runs the shipped code of A and B at the sizes that matter. */
static gemel_status scout(gemel__equality *q, const gemel_graph *a, const gemel_graph *b,
                          gemel_error *error) {
  gemel__random random;
  gemel__scouted_clear(&q->scouted);
  gemel__run_random(q->run, q->name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_SCOUT), &random);
  return gemel__scout(a, b, q->run->brief ? GEMEL__SCOUT_ROUGH : GEMEL__SCOUT_ALL, &random,
                      q->run->ticker, &q->scouted, error);
}

/* 1 if the shipped code showed a difference at a tie, where all but rounding may cancel. */
static int is_at_tie(const gemel__equality *q) {
  return q->scouted.found == GEMEL__SCOUT_REAL && q->scouted.at_tie;
}

static gemel_status ask_versions(gemel__equality *q, gemel_error *error) {
  struct versions v;
  gemel_status status = GEMEL_OK;
  memset(&v, 0, sizeof v);
  gemel__ticker_stage(q->run->ticker, "looking for sizes and constants");
  q->whole_a = q->a;
  q->whole_b = q->b;
  GEMEL__TRY(settle_discrete(q, &v, error));
  if (q->run->scaled != NULL && q->run->scaled[0] != '\0') {
    snprintf(q->scaled, sizeof q->scaled, "%s", q->run->scaled);
  } else if (!is_at_tie(q)) {
    scale(q, &v);
  }
  if (q->scaled[0] == '\0' && !gemel__stopped(q->run->ticker)) {
    status = unfold(q, &v, error);
  }
  if (status == GEMEL_OK && q->folded > 0 && is_at_tie(q)) {
    status = scout(q, q->real_a, q->real_b, error); /* it may be the constants' rounding */
  }
  if (q->scaled[0] == '\0' && q->folded > 0) {
    scale(q, &v);
  }
  status = status == GEMEL_OK && q->starved ? gemel__no_memory(error, "two graphs") : status;
  status = status == GEMEL_OK && !gemel__stopped(q->run->ticker) ? find_share(q, error) : status;
  gemel__equal_note_scaled(q->result->scaled, q->scaled);
  status = status == GEMEL_OK ? all_tiers(q, error) : status;
  gemel__folded_clear(&v.folded);
  clear_scaled(&v);
  clear_settled(&v);
  return status;
}

/* A difference that the shipped code showed at the true sizes is reported first. Otherwise the
 * tiers are asked. */
static gemel_status ask_scouted(gemel__equality *q, gemel_error *error) {
  if (q->run->brief && q->scouted.found != GEMEL__SCOUT_NOTHING) {
    gemel__equal_note(q, GEMEL_VERDICT_REFUTED);
    return GEMEL_OK;
  }
  if (is_apart(q) || (q->scouted.found == GEMEL__SCOUT_REAL && !q->scouted.at_tie &&
                      gemel__run_wants(q->run, GEMEL_TIER_REAL))) {
    return all_tiers(q, error);
  }
  return ask_versions(q, error);
}

/* Some tier didn't end, so the verdict is not run at best, and only words that are refused are
 * known. */
static void settle_stopped(gemel__equality *q) {
  if (gemel_verdict_severity(q->result->verdict) < gemel_verdict_severity(GEMEL_VERDICT_NOT_RUN)) {
    q->result->verdict = GEMEL_VERDICT_NOT_RUN;
  }
  q->result->bitwise = q->result->improves = 0;
  q->result->needs = q->result->refused;
}

gemel_status gemel__equal_ask(gemel__run *run, const gemel_graph *a, const gemel_graph *b,
                              const char *name, unsigned allow, gemel_pair_result *result,
                              gemel_error *error) {
  gemel__equality q = {.run = run,
                       .a = a,
                       .b = b,
                       .real_a = a,
                       .real_b = b,
                       .name = name,
                       .allow = allow,
                       .result = result};
  memset(result, 0, sizeof *result);
  result->size = sizeof *result;
  result->verdict = GEMEL_VERDICT_NOT_RUN;
  gemel_status status = scout(&q, a, b, error);
  if (status == GEMEL_OK || (status != GEMEL_NO_MEMORY && gemel__stopped(run->ticker))) {
    status = ask_scouted(&q, error);
  }
  if (gemel__stopped(run->ticker)) {
    settle_stopped(&q);
  }
  result->symbols_up_to = q.scouted.symbols_up_to;
  gemel__scouted_clear(&q.scouted);
  return status;
}
