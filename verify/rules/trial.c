/* SPDX-License-Identifier: MIT
 *
 * `gemel verify --rules`: is a rewrite rule what it says? Instances are pairs of graphs made from
 * the rule itself: its left side, and what the engine made of it (draw.c). Those of a pass come
 * from its generator (pass.c). Each instance is asked the questions of a pair (equal/equal.c), and
 * the answers are combined: the rule needs every word that an instance needs.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "passes/passes.h"
#include "harness/jobs.h"
#include "instances/source.h"
#include "ops/ops.h"
#include "rules/arms.h"
#include "rules/report.h"
#include "rules/trial.h"
#include "report/report.h"

enum { DRAW_TRIES = 60, GIVE_UP = 4, ELEMENTS = 24 };

/* ---- Records ---- */

void gemel__rule_record(struct gemel__proof *p, gemel_record *record, gemel_tier tier) {
  gemel__record_init(record, p->run, p->pass != NULL ? "pass" : "rule", p->info->name, tier);
  record->declared = p->info->needs;
  record->needs = p->needs;
  record->shapes = p->n_shapes;
  record->text = p->info->text;
  record->proof = p->run->proof;
}

void gemel__rule_emit(struct gemel__proof *p, gemel_record *record) {
  int empty = record->elements == 0 && gemel__proof_all_empty(p, record->tier);
  if (empty || (record->verdict == GEMEL_VERDICT_PASSED && p->untaken[0] != '\0')) {
    record->verdict = GEMEL_VERDICT_UNINFORMATIVE;
    record->how = GEMEL_EVIDENCE_NONE;
    record->detail = empty ? "no instance with elements was drawn" : p->untaken;
  }
  gemel__record_emit(p->run, record);
}

static void emit_simple(struct gemel__proof *p, gemel_tier tier, gemel_verdict verdict,
                        const char *detail) {
  gemel_record record;
  if (gemel__run_wants(p->run, tier)) {
    gemel__rule_record(p, &record, tier);
    record.verdict = verdict;
    record.detail = detail;
    gemel__record_emit(p->run, &record);
  }
}

static void emit_from(struct gemel__proof *p, int tier, gemel_verdict verdict, const char *detail) {
  for (; tier < GEMEL_TIER_COUNT; tier++) {
    emit_simple(p, (gemel_tier)tier, verdict, detail);
  }
}

/* ---- Types ---- */

/* Reports that the engine refuses the right side of E, instance NUMBER. */
static void report_problem(struct gemel__proof *p, const struct gemel__example *e, gemel_tier tier,
                           size_t number) {
  gemel_record record;
  int with = e->drawn.symbolic_left != NULL;
  gemel__instance symbolic = {.graph = e->drawn.symbolic_left};
  char *text;
  gemel__rule_record(p, &record, tier);
  record.instances = number;
  record.detail = with ? "the engine refuses the right side (symbolic sizes)"
                       : "the engine refuses the right side";
  text = gemel__counterexample(with ? &symbolic : &e->pair.a, NULL, NULL, e->drawn.problem.text,
                               NULL, NULL);
  record.verdict = GEMEL_VERDICT_REFUTED; /* without a right side there is nothing to replay */
  record.counterexample = text != NULL ? text : e->drawn.problem.text;
  gemel__record_emit(p->run, &record);
  gemel_text_free(text);
}

static int report_types(struct gemel__proof *p) {
  size_t k = 0;
  while (k < p->n && p->examples[k].drawn.problem.status == GEMEL_OK) {
    k++;
  }
  if (k < p->n) {
    report_problem(p, &p->examples[k], GEMEL_TIER_REAL, k + 1);
  }
  return k < p->n;
}

/* ---- Tier real ---- */

/* 1 if GRAPH compares a computed value for equality. Then inputs at which it is equal are searched
 * for. */
static int asks_equality(const gemel_graph *graph) {
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    uint32_t op = gemel__node_at(graph, k)->op, count;
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
    for (uint32_t j = 0; j < count && (op == GEMEL__OP_eq || op == GEMEL__OP_ne); j++) {
      uint32_t of = gemel__node_at(graph, inputs[j].node)->op;
      if (of != GEMEL__OP_input && of != GEMEL__OP_constant && of != GEMEL__OP_broadcast_to) {
        return 1;
      }
    }
  }
  return 0;
}

static gemel_status ask(const gemel__pair *pair, uint64_t seed, gemel__answer *answer,
                        gemel_error *error) {
  enum { DRIVES = 1600 };
  gemel__question how = {.compare_domain = GEMEL__SAME_DOMAIN,
                         .drives = asks_equality(pair->a.graph) ? DRIVES : 0,
                         .zeros_count = 1,
                         .solve = 1,
                         .points = 12,
                         .trials = 2,
                         .seed = seed};
  return gemel__pair_decide(pair, &how, answer, error);
}

/* A way to find a difference: CHECK at values of FILL, of the sides or of their derivatives. */
struct refutation_search {
  gemel__check check;
  gemel__fill fill;
  int gradient;
  const char *what;
};

static gemel_status derive(const gemel__pair *pair, gemel__pair *gradient, gemel_error *error);

struct found {
  gemel__pair pair;
  gemel_tensor **values;
};

static void clear_found(struct found *f) {
  gemel__values_free(&f->pair.a, f->values);
  gemel__pair_clear(&f->pair);
  memset(f, 0, sizeof *f);
}

/* Sets FOUND if instance DRAWN shows the difference too. An instance that can't be evaluated shows
 * nothing; only GEMEL_NO_MEMORY is returned. */
static gemel_status shows(const gemel__rule_instance *drawn, const struct refutation_search *how,
                          gemel__random *random, struct found *found, gemel_error *error) {
  gemel__pair plain;
  gemel__outcome outcome;
  gemel_status status = gemel__pair_draw(&plain, drawn->left, drawn->right, random, NULL);
  memset(found, 0, sizeof *found);
  memset(&outcome, 0, sizeof outcome);
  if (status == GEMEL_OK && how->gradient) {
    status = derive(&plain, &found->pair, NULL);
    gemel__pair_clear(&plain);
  } else if (status == GEMEL_OK) {
    found->pair = plain;
  }
  if (status == GEMEL_OK) {
    gemel__trial trial = {NULL, random, &found->pair.b};
    status = gemel__values_draw(&found->pair.a, how->fill, random, &found->values, NULL);
    status = status ? status : how->check(&found->pair.a, found->values, &trial, &outcome, NULL);
  }
  if (status != GEMEL_OK || !outcome.refuted) {
    clear_found(found);
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a counterexample") : GEMEL_OK;
}

/* Looks for the difference in smaller instances. If one shows it, *FOUND_ONE is 1, and FOUND has
 * it. */
static gemel_status find_smaller(struct gemel__proof *p, const struct refutation_search *how,
                                 gemel_dtype dtype, gemel__random *random, struct found *found,
                                 int *found_one, gemel_error *error) {
  enum { DRAWS = 12, SIZES = 4 };
  gemel_status status = GEMEL_OK;
  *found_one = 0;
  for (int k = 0; k < SIZES * DRAWS && status == GEMEL_OK && !*found_one; k++) {
    gemel__rule_wish wish = {.dtype = dtype,
                             .max_elements = (int64_t)1 << k / DRAWS,
                             .empty = k % DRAWS == 0,
                             .tries = 10};
    gemel__rule_instance drawn;
    gemel__rule_draws draws = {0};
    gemel_status had = gemel__proof_draw(p, &wish, random, &drawn, &draws, NULL);
    if (had != GEMEL_OK) {
      status = had == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a counterexample") : GEMEL_OK;
      continue;
    }
    if (drawn.right != NULL) {
      status = shows(&drawn, how, random, found, error);
      *found_one = status == GEMEL_OK && found->values != NULL;
    }
    gemel__rule_instance_clear(&drawn);
  }
  return status;
}

/* Reports a difference of PAIR at VALUES: in a smaller instance if one shows it, with shrunk
 * values. */
static gemel_status report_values(struct gemel__proof *p, gemel_record *record, gemel__pair *pair,
                                  gemel_tensor ***values, const struct refutation_search *how,
                                  uint64_t seed, gemel_error *error) {
  gemel__random random;
  gemel__trial trial = {NULL, &random, NULL};
  gemel__outcome outcome;
  struct found found = {*pair, *values};
  gemel_dtype dtype = pair->a.n_leaves > 0 ? pair->a.leaves[0].dtype : GEMEL_F64;
  char place[160];
  int smaller;
  gemel_status status;
  gemel__random_seed(&random, seed);
  status = find_smaller(p, how, dtype, &random, &found, &smaller, error);
  if (status != GEMEL_OK) {
    return status;
  }
  if (!smaller) {
    found.pair = *pair;
    found.values = *values;
  }
  memset(&outcome, 0, sizeof outcome);
  trial.other = &found.pair.b;
  status = how->check(&found.pair.a, found.values, &trial, &outcome, error);
  if (status == GEMEL_OK) {
    status = gemel__shrink(&found.pair.a, &found.values, how->fill, how->check, &trial, NULL, NULL,
                           &outcome, error);
  }
  if (status == GEMEL_OK) {
    snprintf(place, sizeof place, "%s, element %zu", how->what, outcome.element);
    gemel__rule_refuted(p->run, record, &found.pair, outcome.output, found.values, place,
                        outcome.expected, outcome.got, seed);
  }
  if (smaller) {
    clear_found(&found);
  }
  return status;
}

static const struct refutation_search by_model = {gemel__check_pair, GEMEL__FILL_POINTS, 0,
                                                  "result"};
static const struct refutation_search by_bits = {gemel__check_contrast, GEMEL__FILL_INTEGERS, 0,
                                                 "result"};
static const struct refutation_search by_derivative = {gemel__check_derivatives, GEMEL__FILL_FULL,
                                                       1, "derivative"};

static gemel_status report_answer(struct gemel__proof *p, gemel_record *record, gemel__pair *pair,
                                  gemel__answer *answer, uint64_t seed, gemel_error *error) {
  gemel__random random;
  gemel__trial trial = {NULL, &random, &pair->b};
  gemel__outcome outcome;
  gemel_status status = GEMEL_OK;
  memset(&outcome, 0, sizeof outcome);
  gemel__random_seed(&random, seed);
  record->how = answer->how;
  record->detail = answer->detail[0] != '\0' ? answer->detail : "the sides aren't equal";
  if (answer->witness != NULL) {
    status = gemel__check_pair(&pair->a, answer->witness, &trial, &outcome, error);
  }
  if (status == GEMEL_NO_MEMORY) {
    return status;
  }
  if (status == GEMEL_OK && outcome.refuted) {
    return report_values(p, record, pair, &answer->witness, &by_model, seed, error);
  }
  gemel__rule_refuted(p->run, record, pair, answer->output, answer->witness, "result", answer->got,
                      answer->expected, seed);
  return GEMEL_OK;
}

/* Checks one random point. If ROUND is above 0, some of its values are aims (sample/aims.h). */
static gemel_status spot_check(struct gemel__proof *p, struct gemel__example *e, size_t k,
                               size_t round, gemel_record *record, int *refuted,
                               gemel_error *error) {
  gemel__random random;
  gemel__trial trial = {NULL, &random, &e->pair.b};
  gemel__outcome outcome;
  gemel_tensor **values = NULL;
  gemel_status status;
  memset(&outcome, 0, sizeof outcome);
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_REAL, k, &random);
  if (round > 0) {
    gemel__random_split(&random, gemel__random_bits(&random), round);
  }
  status = gemel__example_values(e, GEMEL__FILL_FULL, round, &random, &values, error);
  status = status ? status : gemel__check_pair(&e->pair.a, values, &trial, &outcome, error);
  if (status == GEMEL_OK && outcome.refuted) {
    *refuted = 1;
    record->how = GEMEL_EVIDENCE_SAMPLES;
    record->detail = "the sides aren't equal";
    record->instances = k + 1;
    status =
        report_values(p, record, &e->pair, &values, &by_model, gemel__random_bits(&random), error);
  }
  gemel__values_free(&e->pair.a, values);
  return status == GEMEL_BAD_VALUE ? GEMEL_OK : status;
}

/* Draws the pair for a question: the instance as it was drawn or, with SYMBOLIC, its symbolic
 * version at other sizes. GEMEL_DECLINED: there is no such graph at the sizes that were drawn. */
static gemel_status pair_of(const struct gemel__example *e, int symbolic, gemel__random *random,
                            gemel__pair *pair, gemel_error *error) {
  int other = symbolic && e->drawn.symbolic_right != NULL;
  gemel_status status =
      gemel__pair_draw(pair, other ? e->drawn.symbolic_left : e->drawn.left,
                       other ? e->drawn.symbolic_right : e->drawn.right, random, error);
  return status == GEMEL_BAD_SHAPE || status == GEMEL_BAD_TYPE || status == GEMEL_BAD_VALUE
             ? GEMEL_DECLINED
             : status;
}

/* The state of tier real. */
struct real_inquiry {
  gemel_record record;
  gemel__answer total; /* sum of the instances that the models were asked about */
  size_t asked, swept; /* instances that the models were asked about, and those at one point more */
  double started;
  int refuted;
};

/* Asks both models of instance K. */
static gemel_status ask_models(struct gemel__proof *p, size_t k, struct real_inquiry *q,
                               gemel_error *error) {
  gemel__random random;
  gemel__pair pair;
  gemel__answer answer;
  uint64_t seed;
  gemel_status status;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_REAL, k, &random);
  status = pair_of(&p->examples[k], k % 2 == 1, &random, &pair, error);
  if (status != GEMEL_OK) {
    return status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  seed = gemel__random_bits(&random);
  status = ask(&pair, seed, &answer, error);
  q->record.seconds = gemel__clock() - q->started;
  if (status == GEMEL_OK && answer.verdict == GEMEL_VERDICT_REFUTED) {
    q->refuted = 1;
    q->record.instances = q->asked + 1;
    status = report_answer(p, &q->record, &pair, &answer, seed, error);
  } else if (status == GEMEL_OK && gemel__answer_merge(&q->total, &answer, q->asked++) != 0) {
    status = gemel__no_memory(error, "decisions");
  }
  gemel__answer_clear(&answer);
  gemel__pair_clear(&pair);
  return status;
}

static void conclude_real(struct gemel__proof *p, struct real_inquiry *q) {
  const gemel__answer *total = &q->total;
  char detail[300];
  snprintf(detail, sizeof detail,
           "%s%s%zu instances, %zu shapes, %zu with symbolic sizes; %zu more at one point",
           total->detail, total->detail[0] != '\0' ? "; " : "", p->n, p->n_shapes, p->n_symbolic,
           q->swept);
  q->record.verdict = q->asked > 0 ? total->verdict : GEMEL_VERDICT_NOT_APPLICABLE;
  q->record.how = total->how;
  q->record.instances = p->n + q->swept;
  q->record.elements = total->compared;
  q->record.error_probability = total->error_probability;
  q->record.detail = q->asked > 0 ? detail : "no instance has inputs of a float dtype";
  gemel__rule_emit(p, &q->record);
}

/* ---- Many more instances, at one point each ---- */

static gemel_status compare_bits(struct gemel__proof *p, struct gemel__example *e, gemel__fill fill,
                                 size_t round, gemel__random *random, gemel_record *record,
                                 gemel_error *error);

/* 1 if TEXT, a hash, is among the *N that were SEEN; otherwise adds it. */
static int is_seen(uint64_t *seen, size_t *n, uint64_t text) {
  size_t k = 0;
  while (k < *n && seen[k] != text) {
    k++;
  }
  int is = k < *n;
  seen[k] = text;
  *n += !is;
  return is;
}

/* Checks instance NUMBER, DRAWN in a sweep. *REFUTED: it shows a difference. */
static gemel_status sweep_one(struct gemel__proof *p, gemel__rule_instance *drawn, size_t number,
                              gemel_record *record, int *refuted, gemel_error *error) {
  struct gemel__example e;
  gemel_status status = gemel__example_make(&e, drawn, error);
  if (status == GEMEL_OK && e.drawn.problem.status != GEMEL_OK) {
    report_problem(p, &e, record->tier, number);
    *refuted = 1;
  } else if (status == GEMEL_OK && e.full && e.real) {
    status = spot_check(p, &e, number, e.aims.most > 0 ? number : 0, record, refuted, error);
  } else if (status == GEMEL_OK && e.full && e.integral) {
    gemel__random random;
    gemel__run_random(p->run, p->info->name, GEMEL_TIER_INTEGER, number, &random);
    status = compare_bits(p, &e, GEMEL__FILL_INTEGERS, number % 2 * (number / 2 + 1), &random,
                          record, error);
    *refuted = record->verdict == GEMEL_VERDICT_REFUTED;
  }
  gemel__example_clear(&e);
  return status;
}

/* Four dtypes that a sweep draws in turn, and how many draws succeeded and failed. */
enum { SWEPT = 4, SWEEP_TIMES = 8, MOST_SWEPT = 2560 };
struct turns {
  size_t missed[SWEPT], found[SWEPT];
};

/* The dtype of draw K; SWEPT: no dtype has instances. */
static size_t turn_of(const struct turns *t, size_t k) {
  for (size_t j = 0; j < SWEPT; j++) {
    size_t which = (k + j) % SWEPT;
    if (t->found[which] > 0 || t->missed[which] < GIVE_UP) {
      return which;
    }
  }
  return SWEPT;
}

/* 1 + the arm or boundary for draw K; 0: any. Of those that an example takes, arms have turns in a
 * fifth of the draws, and boundaries, whose instances may be large, in a twentieth. */
static size_t arm_turn(const struct gemel__proof *p, size_t k) {
  enum { EVERY = 5, BOUNDARIES = 4 };
  const uint64_t all = ~(uint64_t)0;
  size_t n_arms = gemel__rule_arms(p->engine)->n_arms, turn = k / EVERY;
  uint64_t left = p->taken & (n_arms == 0 ? 0 : all >> (64 - n_arms));
  if (turn % BOUNDARIES == 0) {
    left = p->taken;
    turn /= BOUNDARIES;
  }
  if (left == 0 || k % EVERY != 0) {
    return 0;
  }
  for (turn %= (size_t)__builtin_popcountll(left); turn > 0; turn--) {
    left &= left - 1;
  }
  return 1 + (size_t)__builtin_ctzll(left);
}

static gemel__rule_wish sweep_wish(const struct gemel__proof *p, gemel_dtype dtype, size_t k) {
  size_t arm = arm_turn(p, k);
  gemel__rule_wish wish = {.dtype = dtype,
                           .max_elements = k % 16 == 11 ? 4 * ELEMENTS : ELEMENTS,
                           .empty = k % 7 == 6,
                           .tries = arm > 0 ? DRAW_TRIES / 3 : DRAW_TRIES,
                           .deep = k % 16 == 11,
                           .arm = arm,
                           .plain = 1};
  return wish;
}

/* Half as many where a proof is for all sizes and ranks, twice as many where none is. */
static size_t sweep_times(const gemel_proof *proof) {
  return proof == NULL             ? SWEEP_TIMES
         : proof->elements == NULL ? 2 * SWEEP_TIMES
                                   : SWEEP_TIMES / (proof->all_ranks ? 2 : 1);
}

/* Checks *SWEPT more instances at one point each, of integers if the rule is for these: a fault
 * that few attributes show is found so. Up to twice as many are drawn, since some come up again. */
static gemel_status sweep(struct gemel__proof *p, gemel_record *record, size_t *swept, int *refuted,
                          gemel_error *error) {
  static const gemel_dtype dtypes[2][SWEPT] = {{GEMEL_F64, GEMEL_F32, GEMEL_F64, GEMEL_F32},
                                               {GEMEL_I32, GEMEL_U8, GEMEL_I64, GEMEL_I16}};
  size_t number = p->n, n_seen = 0, wanted = sweep_times(p->run->proof) * p->run->options.instances,
         which = 0;
  uint64_t seen[MOST_SWEPT];
  struct turns turns = {{0}, {0}};
  gemel_status status = GEMEL_OK;
  gemel__random random;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT, SIZE_MAX - 1, &random);
  wanted = p->pass != NULL ? 0 : wanted < MOST_SWEPT ? wanted : MOST_SWEPT;
  for (size_t k = 0; k < 2 * wanted && n_seen < wanted && which < SWEPT && !status && !*refuted;
       k++, which = turn_of(&turns, k)) {
    gemel__rule_wish wish = sweep_wish(p, dtypes[record->tier == GEMEL_TIER_INTEGER][which], k);
    gemel__rule_instance drawn;
    status = gemel__proof_draw(p, &wish, &random, &drawn, &p->draws, error);
    turns.found[which] += status == GEMEL_OK;
    turns.missed[which] += status == GEMEL_DECLINED && wish.arm == 0;
    if (status == GEMEL_OK && !is_seen(seen, &n_seen, drawn.content)) {
      status = sweep_one(p, &drawn, number++, record, refuted, error);
    }
    gemel__rule_instance_clear(&drawn);
    status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  *swept = number - p->n;
  return status;
}

/* 1 if the rule is for integers: these are swept then. */
static int sweeps_integers(const struct gemel__proof *p) {
  size_t k = 0;
  while (k < p->n && (!p->examples[k].integral || p->examples[k].drawn.dtype == GEMEL_BOOL ||
                      gemel__is_float(p->examples[k].drawn.dtype))) {
    k++;
  }
  return k < p->n;
}

/* Checks example K at its aims. AIMED counts these points over all examples; after PLENTY each
 * further example gets FEW. */
static gemel_status aimed_checks(struct gemel__proof *p, size_t k, size_t *aimed,
                                 struct real_inquiry *q, gemel_error *error) {
  enum { PLENTY = 400, FEW = 2 };
  struct gemel__example *e = &p->examples[k];
  size_t rounds = gemel__example_rounds(e), least = rounds < FEW ? rounds : FEW, r;
  gemel_status status = GEMEL_OK;
  rounds = *aimed < PLENTY ? rounds : least;
  for (r = 1; r <= rounds && status == GEMEL_OK && !q->refuted; r++, ++*aimed) {
    status = spot_check(p, e, k, r + k, &q->record, &q->refuted, error);
  }
  return status;
}

static gemel_status tier_real(struct gemel__proof *p, int *refuted, gemel_error *error) {
  enum { ASKED = 8 };
  struct real_inquiry q;
  gemel_status status = GEMEL_OK;
  size_t k, aimed = 0;
  memset(&q, 0, sizeof q);
  q.started = gemel__clock();
  q.total.how = GEMEL_EVIDENCE_NONE;
  gemel__sites_init(&q.total.sites);
  gemel__rule_record(p, &q.record, GEMEL_TIER_REAL);
  for (k = 0; k < p->n && status == GEMEL_OK && !q.refuted; k++) {
    int worth = p->examples[k].full || p->n_full == 0; /* empty results show nothing */
    if (p->examples[k].real && worth && (q.asked < ASKED || p->examples[k].edge)) {
      status = ask_models(p, k, &q, error);
    } else if (p->examples[k].real) {
      status = spot_check(p, &p->examples[k], k, 0, &q.record, &q.refuted, error);
    }
    if (p->examples[k].real && p->examples[k].full && status == GEMEL_OK && !q.refuted) {
      status = aimed_checks(p, k, &aimed, &q, error);
    }
  }
  if (status == GEMEL_OK && !q.refuted && q.asked > 0 && !sweeps_integers(p)) {
    status = sweep(p, &q.record, &q.swept, &q.refuted, error);
  }
  if (status == GEMEL_OK && !q.refuted) {
    conclude_real(p, &q);
  }
  *refuted = q.refuted;
  gemel__answer_clear(&q.total);
  return status;
}

/* ---- Tiers integer and float ---- */

static int rounds_twice(const struct gemel__example *e) {
  return gemel__rounds_twice(e->drawn.left) || gemel__rounds_twice(e->drawn.right);
}

enum { FILLS = 3, ROUNDED_FILLS = 12 };

/* How many points tier integer asks about E, besides its aims. */
static size_t fills_of(const struct gemel__example *e) {
  return !e->integral ? 0 : rounds_twice(e) ? ROUNDED_FILLS : FILLS;
}

/* Compares both sides bit for bit, for integer dtypes. If ROUND is above 0, some values are
 * aims. */
static gemel_status compare_bits(struct gemel__proof *p, struct gemel__example *e, gemel__fill fill,
                                 size_t round, gemel__random *random, gemel_record *record,
                                 gemel_error *error) {
  gemel_tensor **values = NULL;
  gemel__trial trial = {NULL, random, &e->pair.b};
  gemel__outcome outcome;
  gemel_status status = gemel__example_values(e, fill, round, random, &values, error);
  const gemel__drawn point = {&e->pair.a, values, 0, random};
  memset(&outcome, 0, sizeof outcome);
  if (status == GEMEL_OK && rounds_twice(e) && gemel__random_chance(random, 1, 2)) {
    gemel__source_put(&point, &gemel__sources[GEMEL__SOURCE_midpoints]);
  }
  if (status == GEMEL_OK) {
    status = gemel__check_contrast(&e->pair.a, values, &trial, &outcome, error);
  }
  record->elements += outcome.compared;
  if (status == GEMEL_OK && outcome.refuted) {
    record->detail = "in an integer dtype each bit counts";
    status = report_values(p, record, &e->pair, &values, &by_bits, record->seed, error);
  }
  gemel__values_free(&e->pair.a, values);
  return status == GEMEL_BAD_VALUE ? GEMEL_OK : status; /* an index out of range: no point */
}

/* If a count is of a narrow dtype: sizes beyond what it holds. */
static gemel_status check_lengths(struct gemel__proof *p, gemel_record *record,
                                  gemel_error *error) {
  gemel_status status = GEMEL_OK;
  gemel__random random;
  size_t turns = gemel__proof_long_turns(p);
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_INTEGER, SIZE_MAX - 3, &random);
  for (size_t k = 0; k < turns && status == GEMEL_OK && record->verdict != GEMEL_VERDICT_REFUTED;
       k++) {
    struct gemel__example e;
    status = gemel__proof_draw_long(p, k, &random, &e, error);
    if (status == GEMEL_OK && e.integral) {
      status = compare_bits(p, &e, GEMEL__FILL_LATE, 0, &random, record, error);
    }
    gemel__example_clear(&e);
    status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  return status;
}

/* Asks models and solver about integers too, if an equality may hold for few values. */
static gemel_status check_equalities(struct gemel__proof *p, gemel_record *record,
                                     gemel_error *error) {
  enum { ASKED = 2 };
  struct real_inquiry q = {.record = *record, .started = gemel__clock()};
  gemel_status status = GEMEL_OK;
  gemel__sites_init(&q.total.sites);
  for (size_t k = 0; k < p->n && q.asked < ASKED && status == GEMEL_OK && !q.refuted; k++) {
    const struct gemel__example *e = &p->examples[k];
    if (e->integral && e->full && e->drawn.right != NULL && asks_equality(e->drawn.left)) {
      status = ask_models(p, k, &q, error);
    }
  }
  gemel__answer_clear(&q.total);
  record->verdict = q.refuted ? GEMEL_VERDICT_REFUTED : record->verdict;
  return status;
}

static void conclude_integer(struct gemel__proof *p, gemel_record *record) {
  record->verdict = GEMEL_VERDICT_PASSED;
  if (record->elements == 0) {
    int any = record->instances > 0;
    record->verdict = any ? GEMEL_VERDICT_UNINFORMATIVE : GEMEL_VERDICT_NOT_APPLICABLE;
    record->how = GEMEL_EVIDENCE_NONE;
    record->detail = any ? "no result was compared" : "the rule isn't for integer dtypes";
  }
  gemel__rule_emit(p, record);
}

static gemel_status tier_integer(struct gemel__proof *p, gemel_error *error) {
  gemel_record record;
  size_t swept = 0;
  int refuted = 0;
  gemel_status status = GEMEL_OK;
  double started = gemel__clock();
  gemel__rule_record(p, &record, GEMEL_TIER_INTEGER);
  record.how = GEMEL_EVIDENCE_BITS;
  for (size_t k = 0; k < p->n && status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED;
       k++) {
    struct gemel__example *e = &p->examples[k];
    size_t fills = fills_of(e), rounds = fills > 0 ? fills + gemel__example_rounds(e) : 0, r;
    record.instances += (size_t)e->integral;
    if (rounds > 0) {
      gemel__pair_compile(&e->pair);
    }
    for (r = 0; r < rounds && status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED; r++) {
      gemel__random random;
      gemel__run_random(p->run, p->info->name, GEMEL_TIER_INTEGER, FILLS * k + r, &random);
      status = compare_bits(p, e, GEMEL__FILL_INTEGERS, r < fills ? 0 : r - fills + 1 + k, &random,
                            &record, error);
    }
  }
  if (status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED && sweeps_integers(p)) {
    status = sweep(p, &record, &swept, &refuted, error);
    record.instances += swept;
  }
  if (status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED && !refuted) {
    status = check_lengths(p, &record, error);
  }
  if (status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED && !refuted) {
    status = check_equalities(p, &record, error);
  }
  if (status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED && !refuted) {
    record.seconds = gemel__clock() - started;
    conclude_integer(p, &record);
  }
  return status;
}

/* Compares one side with its reference, by its own bound. */
static gemel_status hold_side(struct gemel__proof *p, const gemel__instance *side, int right,
                              gemel_tensor *const *values, gemel__random *random,
                              gemel_record *record, gemel__outcome *total, gemel_error *error) {
  gemel__trial trial = {NULL, random, NULL};
  gemel__outcome outcome;
  gemel_status status;
  double *worst = right ? &p->after : &p->before;
  memset(&outcome, 0, sizeof outcome);
  status = gemel__check_float(side, values, &trial, &outcome, error);
  total->compared += outcome.compared;
  total->informative += outcome.informative;
  *worst = outcome.worst > *worst ? outcome.worst : *worst;
  if (status == GEMEL_OK && outcome.refuted) {
    char place[160];
    snprintf(place, sizeof place, "%s side, element %zu (%s)", right ? "right" : "left",
             outcome.element, outcome.variant);
    record->detail = "shipped code and reference differ";
    gemel__record_refuted(p->run, record, side, NULL, values, place, outcome.expected, outcome.got,
                          record->seed);
  }
  return status;
}

static gemel_status tier_float(struct gemel__proof *p, gemel_error *error) {
  gemel_record record;
  gemel__outcome total;
  gemel_status status = GEMEL_OK;
  char detail[100];
  double started = gemel__clock();
  memset(&total, 0, sizeof total);
  gemel__rule_record(p, &record, GEMEL_TIER_FLOAT);
  record.how = GEMEL_EVIDENCE_BOUND;
  for (size_t k = 0; k < p->n && status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED;
       k++) {
    struct gemel__example *e = &p->examples[k];
    gemel_tensor **values = NULL;
    gemel__random random;
    int side;
    if (!e->real) {
      continue;
    }
    gemel__run_random(p->run, p->info->name, GEMEL_TIER_FLOAT, k, &random);
    status = gemel__values_draw(&e->pair.a, GEMEL__FILL_FULL, &random, &values, error);
    for (side = 0; side < 2 && status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED;
         side++) {
      status = hold_side(p, side ? &e->pair.b : &e->pair.a, side, values, &random, &record, &total,
                         error);
    }
    gemel__values_free(&e->pair.a, values);
    record.instances++;
    status = status == GEMEL_BAD_VALUE ? GEMEL_OK : status;
  }
  if (status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED) {
    record.seconds = gemel__clock() - started;
    record.elements = total.compared;
    record.worst = p->after;
    record.before = p->before;
    record.verdict = total.informative > 0 ? GEMEL_VERDICT_PASSED : GEMEL_VERDICT_NOT_APPLICABLE;
    snprintf(detail, sizeof detail, "error ÷ bound: %.3g before, %.3g after", p->before, p->after);
    record.detail = total.informative > 0 ? detail : "no result has a bound that says something";
    record.how = total.informative > 0 ? GEMEL_EVIDENCE_BOUND : GEMEL_EVIDENCE_NONE;
    gemel__rule_emit(p, &record);
  }
  return status;
}

/* ---- Tier gradient ---- */

/* Derives both sides. GEMEL_DECLINED if the results are empty: something undefined may stand beside
 * them. */
static gemel_status derive(const gemel__pair *pair, gemel__pair *gradient, gemel_error *error) {
  gemel_status status = gemel__rule_has_elements(pair->a.graph) ? GEMEL_OK : GEMEL_DECLINED;
  memset(gradient, 0, sizeof *gradient);
  status = status ? status : gemel__instance_gradient(&gradient->a, &pair->a, error);
  return status ? status : gemel__instance_gradient(&gradient->b, &pair->b, error);
}

/* Compares the derivatives of both sides at random points, none of which is a kink. */
static gemel_status compare_gradients(struct gemel__proof *p, const gemel__pair *pair,
                                      gemel__random *random, gemel_record *record,
                                      gemel_error *error) {
  gemel__pair gradient;
  gemel_tensor **values = NULL;
  gemel__outcome outcome;
  uint64_t seed = gemel__random_bits(random);
  gemel_status status = derive(pair, &gradient, error);
  gemel__trial trial = {NULL, random, &gradient.b};
  memset(&outcome, 0, sizeof outcome);
  status =
      status ? status : gemel__values_draw(&gradient.a, GEMEL__FILL_FULL, random, &values, error);
  if (status == GEMEL_OK) {
    gemel__values_part(&gradient.a, pair->a.n_leaves, values);
    status = gemel__check_derivatives(&gradient.a, values, &trial, &outcome, error);
    record->elements += gradient.a.n_leaves;
  }
  if (status == GEMEL_OK && outcome.refuted) {
    record->detail = "the derivatives of both sides differ";
    status = report_values(p, record, &gradient, &values, &by_derivative, seed, error);
  }
  record->instances += status == GEMEL_OK;
  gemel__values_free(&gradient.a, values);
  gemel__pair_clear(&gradient);
  return status == GEMEL_DECLINED || status == GEMEL_NOT_DIFFERENTIABLE || status == GEMEL_BAD_VALUE
             ? GEMEL_OK
             : status;
}

static gemel_status tier_gradient(struct gemel__proof *p, gemel_error *error) {
  gemel_record record;
  gemel_status status = GEMEL_OK;
  double started = gemel__clock();
  gemel__rule_record(p, &record, GEMEL_TIER_GRADIENT);
  record.how = GEMEL_EVIDENCE_SAMPLES;
  for (size_t k = 0; k < p->n && status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED;
       k++) {
    gemel__random random;
    if (p->examples[k].real && gemel__is_float(p->examples[k].drawn.dtype)) {
      gemel__run_random(p->run, p->info->name, GEMEL_TIER_GRADIENT, k, &random);
      status = compare_gradients(p, &p->examples[k].pair, &random, &record, error);
    }
  }
  if (status == GEMEL_OK && record.verdict != GEMEL_VERDICT_REFUTED) {
    record.seconds = gemel__clock() - started;
    record.verdict = record.instances > 0 ? GEMEL_VERDICT_PASSED : GEMEL_VERDICT_NOT_APPLICABLE;
    record.how = record.instances > 0 ? GEMEL_EVIDENCE_SAMPLES : GEMEL_EVIDENCE_NONE;
    record.detail = record.instances > 0 ? "" : "nothing of a float dtype to differentiate";
    gemel__rule_emit(p, &record);
  }
  return status;
}

/* ---- A rule ---- */

static gemel_status all_tiers(struct gemel__proof *p, gemel_error *error) {
  int refuted = 0;
  gemel_status status = GEMEL_OK;
  if (gemel__run_wants(p->run, GEMEL_TIER_REAL)) {
    status = tier_real(p, &refuted, error);
  }
  if (status == GEMEL_OK && refuted) {
    emit_from(p, GEMEL_TIER_REAL + 1, GEMEL_VERDICT_NOT_RUN, "tier real refuted the rule");
    return GEMEL_OK;
  }
  if (status == GEMEL_OK && gemel__run_wants(p->run, GEMEL_TIER_INTEGER)) {
    status = tier_integer(p, error);
  }
  if (status == GEMEL_OK && gemel__run_wants(p->run, GEMEL_TIER_FLOAT)) {
    status = tier_float(p, error);
  }
  if (status == GEMEL_OK && gemel__run_wants(p->run, GEMEL_TIER_GRADIENT)) {
    status = tier_gradient(p, error);
  }
  if (status == GEMEL_OK && gemel__run_wants(p->run, GEMEL_TIER_SPECIAL)) {
    status = gemel__rule_class(p, error);
  }
  return status;
}

static void no_instance(struct gemel__proof *p) {
  char detail[600], condition[160], never[240] = "";
  const gemel__rule_draws *d = &p->draws;
  if (d->asked > 0 && d->asked < UINT32_MAX) {
    gemel__condition_text(gemel__rule_arms(p->engine), d->asked - 1, condition, sizeof condition);
    snprintf(never, sizeof never, "%s never held in the %zu that came to it; ", condition, d->came);
  }
  snprintf(detail, sizeof detail,
           "no instance in %zu tries: %s%zu left sides couldn't be built, %zu weren't matched, %zu "
           "not rewritten%s%s",
           d->tried, never, d->unbuilt, d->unmatched, d->unfired,
           d->reason[0] != '\0' ? "; last: " : "", d->reason);
  emit_from(p, 0, GEMEL_VERDICT_UNINFORMATIVE, detail);
}

static void clear_proof(struct gemel__proof *p) {
  for (size_t k = 0; k < p->n; k++) {
    gemel__example_clear(&p->examples[k]);
  }
  for (size_t k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    gemel__witness_clear(&p->witness[k]);
  }
  gemel__witness_clear(&p->rounding);
  gemel__witness_clear(&p->worse);
  gemel__free(p->examples, p->examples != NULL ? p->room * sizeof *p->examples : 0);
  gemel__rule_engine_free(p->engine);
}

void gemel__rule_untried(gemel__run *run, const gemel_pass *pass, const gemel_rule_info *info) {
  struct gemel__proof p = {.run = run, .pass = pass, .info = info};
  emit_from(&p, 0, GEMEL_VERDICT_NOT_RUN, GEMEL__UNTRIED);
}

gemel_status gemel__rule_verify(gemel__run *run, const gemel_rule *rule, const gemel_pass *pass,
                                const gemel_rule_info *info, gemel_error *error) {
  enum { MOST_WANTED = 65536 };
  struct gemel__proof p = {
      .run = run, .rule = rule, .pass = pass, .info = info, .quick = run->options.quick};
  gemel_status status;
  p.wanted = run->options.instances < MOST_WANTED ? run->options.instances : MOST_WANTED;
  p.room = (p.wanted > GEMEL__USUAL_INSTANCES ? p.wanted : GEMEL__USUAL_INSTANCES) +
           GEMEL__MORE_EXAMPLES;
  p.examples = gemel__alloc_zeroed(p.room * sizeof *p.examples);
  p.engine = rule != NULL ? gemel__rule_engine_new(run->context, rule, error) : NULL;
  status = p.examples == NULL || (rule != NULL && p.engine == NULL)
               ? gemel__no_memory(error, "instances")
               : gemel__proof_collect(&p, error);
  if (status == GEMEL_OK && p.n == 0 && p.wanted < GEMEL__USUAL_INSTANCES) {
    status = gemel__proof_collect_usual(&p, error);
  }
  if (status == GEMEL_OK && p.n == 0) {
    no_instance(&p);
  } else if (status == GEMEL_OK && report_types(&p)) {
    emit_from(&p, GEMEL_TIER_REAL + 1, GEMEL_VERDICT_NOT_RUN, "the engine refuses the right side");
  } else if (status == GEMEL_OK) {
    status = all_tiers(&p, error);
  }
  clear_proof(&p);
  return status;
}
