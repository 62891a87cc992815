/* SPDX-License-Identifier: MIT
 *
 * `gemel verify --rules`: is a rewrite rule what it says? Instances are pairs of graphs made from
 * the rule itself: its left side, and what the engine made of it (draw.c). Those of a pass come
 * from its generator (pass.c). Each instance is asked the questions of a pair (equal/equal.c), and
 * the answers are combined: the rule needs every word that an instance needs.
 */
#include <stdio.h>
#include <string.h>
#include "pairs/contrast.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "passes/passes.h"
#include "harness/jobs.h"
#include "instances/source.h"
#include "ops/ops.h"
#include "pairs/lengths.h"
#include "rules/arms.h"
#include "rules/report.h"
#include "rules/folded.h"
#include "rules/judge.h"
#include "rules/smaller.h"
#include "harness/report.h"

enum { DRAW_TRIES = 60, GIVE_UP = 4, ELEMENTS = 24 };

/* ---- Records ---- */

void gemel__rule_begin(struct gemel__rule_subject *p, gemel__inquiry *q, gemel_tier tier) {
  gemel__inquiry_begin(q, p->run, p->pass != NULL ? "pass" : "rule", p->info->name, tier);
  q->record.declared = p->info->needs;
  q->record.needs = p->needs;
  q->record.shapes = p->n_shapes;
  q->record.text = p->info->text;
  q->record.proof = p->run->proof;
}

void gemel__rule_end(const struct gemel__rule_subject *p, gemel__inquiry *q, gemel_verdict verdict,
                     gemel_evidence how, const char *detail) {
  int empty = q->record.elements == 0 && gemel__rule_all_empty(p, q->record.tier);
  if (empty) {
    detail = "no instance with elements was drawn";
  } else if (verdict == GEMEL_VERDICT_PASSED && p->untaken[0] != '\0') {
    detail = p->untaken;
  }
  if (empty || detail == p->untaken) {
    verdict = GEMEL_VERDICT_UNINFORMATIVE;
    how = GEMEL_EVIDENCE_NONE;
  }
  gemel__inquiry_end(q, verdict, how, detail);
}

static void emit_simple(struct gemel__rule_subject *p, gemel_tier tier, gemel_verdict verdict,
                        const char *detail) {
  gemel__inquiry q;
  if (gemel__run_wants(p->run, tier)) {
    gemel__rule_begin(p, &q, tier);
    gemel__inquiry_end(&q, verdict, GEMEL_EVIDENCE_NONE, detail);
  }
}

static void emit_from(struct gemel__rule_subject *p, int tier, gemel_verdict verdict,
                      const char *detail) {
  for (; tier < GEMEL_TIER_COUNT; tier++) {
    emit_simple(p, (gemel_tier)tier, verdict, detail);
  }
}

/* ---- Types ---- */

/* Reports that the engine refuses the right side of E, instance NUMBER. */
static void report_problem(gemel__inquiry *q, const struct gemel__example *e, size_t number) {
  int with = e->drawn.symbolic_left != NULL;
  gemel__instance symbolic = {.graph = e->drawn.symbolic_left};
  const char *problem = e->drawn.problem.text;
  char *text =
      gemel__counterexample(with ? &symbolic : &e->pair.a, NULL, NULL, problem, NULL, NULL);
  q->refuted = 1; /* without a right side there is nothing to replay */
  q->record.instances = number;
  q->record.elements = 0;
  q->record.counterexample = text != NULL ? text : problem;
  gemel__inquiry_end(q, GEMEL_VERDICT_REFUTED, GEMEL_EVIDENCE_NONE,
                     with ? "the engine refuses the right side (symbolic sizes)"
                          : "the engine refuses the right side");
  gemel_text_free(text);
}

static int report_types(struct gemel__rule_subject *p) {
  size_t k = 0;
  while (k < p->n && p->examples[k].drawn.problem.status == GEMEL_OK) {
    k++;
  }
  if (k < p->n) {
    gemel__inquiry q;
    gemel__rule_begin(p, &q, GEMEL_TIER_REAL);
    report_problem(&q, &p->examples[k], k + 1);
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

static const struct gemel__rule_search by_model = {gemel__check_pair, GEMEL__FILL_POINTS, 0,
                                                   "result"};
static const struct gemel__rule_search by_bits = {gemel__check_contrast, GEMEL__FILL_INTEGERS, 0,
                                                  "result"};
static gemel_status report_answer(struct gemel__rule_subject *p, gemel__inquiry *q,
                                  gemel__pair *pair, gemel__answer *answer, uint64_t seed,
                                  gemel_error *error) {
  gemel__random random;
  gemel__trial trial = {NULL, &random, &pair->b};
  gemel__outcome outcome;
  gemel_status status = GEMEL_OK;
  memset(&outcome, 0, sizeof outcome);
  gemel__random_seed(&random, seed);
  q->record.how = answer->how;
  q->record.detail = answer->detail[0] != '\0' ? answer->detail : "the sides aren't equal";
  if (answer->witness != NULL) {
    status = gemel__check_pair(&pair->a, answer->witness, &trial, &outcome, error);
  }
  if (status == GEMEL_NO_MEMORY) {
    return status;
  }
  if (status == GEMEL_OK && outcome.refuted) {
    return gemel__rule_report_values(p, q, pair, &answer->witness, &by_model, seed, error);
  }
  gemel__rule_refuted(q, pair, answer->output, answer->witness, "result", answer->got,
                      answer->expected, seed);
  return GEMEL_OK;
}

/* Checks one random point. If ROUND is above 0, some of its values are aims (sample/aims.h). */
static gemel_status spot_check(struct gemel__rule_subject *p, gemel__inquiry *q,
                               struct gemel__example *e, size_t k, size_t round,
                               gemel_error *error) {
  gemel__random random;
  gemel__pair *pair = gemel__example_reals(e);
  gemel__trial trial = {NULL, &random, &pair->b};
  gemel__outcome outcome;
  gemel_tensor **values = NULL;
  gemel_status status;
  int folds = 0;
  memset(&outcome, 0, sizeof outcome);
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_REAL, k, &random);
  if (round > 0) {
    gemel__random_split(&random, gemel__random_bits(&random), round);
  }
  status = gemel__example_values(e, GEMEL__FILL_FULL, round, &random, &values, error);
  status = status ? status : gemel__check_pair(&pair->a, values, &trial, &outcome, error);
  if (status == GEMEL_OK && outcome.refuted) {
    status = gemel__example_fold(p, e, &folds, error);
  }
  if (status == GEMEL_OK && outcome.refuted && !folds) {
    q->record.how = GEMEL_EVIDENCE_SAMPLES;
    q->record.detail = "the sides aren't equal";
    q->record.instances = k + 1;
    status = gemel__rule_report_values(p, q, pair, &values, &by_model, gemel__random_bits(&random),
                                       error);
  }
  gemel__values_free(&e->pair.a, values);
  return folds && status == GEMEL_OK ? spot_check(p, q, e, k, round, error)
         : status == GEMEL_BAD_VALUE ? GEMEL_OK
                                     : status;
}

/* Draws the pair for a question: the instance as it was drawn or, with SYMBOLIC, its symbolic
 * version at other sizes. GEMEL_DECLINED: there is no such graph at the sizes that were drawn. */
static gemel_status pair_of(const struct gemel__example *e, int symbolic, gemel__random *random,
                            gemel__pair *pair, gemel_error *error) {
  int other = symbolic && e->drawn.symbolic_right != NULL && !e->folded;
  const gemel__pair *reals = gemel__example_reals((struct gemel__example *)e);
  gemel_status status =
      gemel__pair_draw(pair, other ? e->drawn.symbolic_left : reals->a.graph,
                       other ? e->drawn.symbolic_right : reals->b.graph, random, error);
  return status == GEMEL_BAD_SHAPE || status == GEMEL_BAD_TYPE || status == GEMEL_BAD_VALUE
             ? GEMEL_DECLINED
             : status;
}

/* What the models said of the instances that they were asked about. */
struct modelled {
  gemel__answer total;
  size_t count;
};

static void begin_asked(struct modelled *a) {
  memset(a, 0, sizeof *a);
  a->total.how = GEMEL_EVIDENCE_NONE;
  gemel__sites_init(&a->total.sites);
}

/* Asks both models of instance K. */
static gemel_status ask_models(struct gemel__rule_subject *p, gemel__inquiry *q, struct modelled *a,
                               size_t k, gemel_error *error) {
  gemel__random random;
  gemel__pair pair;
  gemel__answer answer;
  uint64_t seed;
  gemel_status status;
  int folds = 0;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_REAL, k, &random);
  status = pair_of(&p->examples[k], k % 2 == 1, &random, &pair, error);
  if (status != GEMEL_OK) {
    return status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  seed = gemel__random_bits(&random);
  status = ask(&pair, seed, &answer, error);
  int refuted = status == GEMEL_OK && answer.verdict == GEMEL_VERDICT_REFUTED;
  if (refuted) {
    status = gemel__example_fold(p, &p->examples[k], &folds, error);
  }
  if (refuted && status == GEMEL_OK && !folds) {
    q->record.instances = a->count + 1;
    status = report_answer(p, q, &pair, &answer, seed, error);
  } else if (status == GEMEL_OK && !refuted &&
             gemel__answer_merge(&a->total, &answer, a->count++) != 0) {
    status = gemel__no_memory(error, "decisions");
  }
  gemel__answer_clear(&answer);
  gemel__pair_clear(&pair);
  return folds && status == GEMEL_OK ? ask_models(p, q, a, k, error) : status;
}

static const char widens[] = "widens: the left side ends in an error where the right side doesn't";

static void conclude_real(struct gemel__rule_subject *p, gemel__inquiry *q,
                          const struct modelled *a, size_t swept) {
  const gemel__answer *total = &a->total;
  char detail[500];
  snprintf(detail, sizeof detail,
           "%s%s%zu instances, %zu shapes, %zu with symbolic sizes; %zu more at one point%s%s%s",
           total->detail, total->detail[0] != '\0' ? "; " : "", p->n, p->n_shapes, p->n_symbolic,
           swept, p->widens ? "; " : "", p->widens ? widens : "",
           p->folds ? "; literals stand for the numbers that they are roundings of" : "");
  q->record.instances = p->n + swept;
  q->record.elements = total->compared;
  q->record.error_probability = total->error_probability;
  gemel__rule_end(p, q, a->count > 0 ? total->verdict : GEMEL_VERDICT_NOT_APPLICABLE, total->how,
                  a->count > 0 ? detail
                  : gemel__rule_computes_floats(p)
                      ? "no input is of a float dtype; tier integer compares bits"
                      : "no instance has inputs of a float dtype");
}

/* ---- Many more instances, at one point each ---- */

static gemel_status compare_bits(struct gemel__rule_subject *p, gemel__inquiry *q,
                                 struct gemel__example *e, gemel__fill fill, size_t round,
                                 gemel__random *random, gemel_error *error);

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

/* Checks instance NUMBER, DRAWN in a sweep. */
static gemel_status sweep_one(struct gemel__rule_subject *p, gemel__inquiry *q,
                              gemel__rule_instance *drawn, size_t number, gemel_error *error) {
  struct gemel__example e;
  gemel_status status = gemel__example_make(&e, drawn, error);
  if (status == GEMEL_OK && e.drawn.problem.status != GEMEL_OK) {
    report_problem(q, &e, number);
  } else if (status == GEMEL_OK && e.full && e.real) {
    status = spot_check(p, q, &e, number, e.aims.most > 0 ? number : 0, error);
  } else if (status == GEMEL_OK && e.full && e.integral) {
    gemel__random random;
    gemel__run_random(p->run, p->info->name, GEMEL_TIER_INTEGER, number, &random);
    status =
        compare_bits(p, q, &e, GEMEL__FILL_INTEGERS, number % 2 * (number / 2 + 1), &random, error);
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
static size_t arm_turn(const struct gemel__rule_subject *p, size_t k) {
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

static gemel__rule_wish sweep_wish(const struct gemel__rule_subject *p, gemel_dtype dtype,
                                   size_t k) {
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
static gemel_status sweep(struct gemel__rule_subject *p, gemel__inquiry *q, size_t *swept,
                          gemel_error *error) {
  static const gemel_dtype dtypes[2][SWEPT] = {{GEMEL_F64, GEMEL_F32, GEMEL_F64, GEMEL_F32},
                                               {GEMEL_I32, GEMEL_U8, GEMEL_I64, GEMEL_I16}};
  size_t number = p->n, n_seen = 0, wanted = sweep_times(p->run->proof) * p->run->options.instances,
         which = 0;
  uint64_t seen[MOST_SWEPT];
  struct turns turns = {{0}, {0}};
  gemel_status status = GEMEL_OK;
  gemel__random random;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT, gemel__aside(GEMEL__ASIDE_SWEEP),
                    &random);
  wanted = p->pass != NULL ? 0 : wanted < MOST_SWEPT ? wanted : MOST_SWEPT;
  for (size_t k = 0; k < 2 * wanted && n_seen < wanted && which < SWEPT && !status && !q->refuted;
       k++, which = turn_of(&turns, k)) {
    gemel__rule_wish wish = sweep_wish(p, dtypes[q->record.tier == GEMEL_TIER_INTEGER][which], k);
    gemel__rule_instance drawn;
    status = gemel__rule_draw_again(p, &wish, &random, &drawn, &p->draws, error);
    turns.found[which] += status == GEMEL_OK;
    turns.missed[which] += status == GEMEL_DECLINED && wish.arm == 0;
    if (status == GEMEL_OK && !is_seen(seen, &n_seen, drawn.content)) {
      status = sweep_one(p, q, &drawn, number++, error);
    }
    gemel__rule_instance_clear(&drawn);
    status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  *swept = number - p->n;
  return status;
}

/* 1 if the rule is for integers: these are swept then. */
static int sweeps_integers(const struct gemel__rule_subject *p) {
  size_t k = 0;
  while (k < p->n && (!p->examples[k].integral || p->examples[k].drawn.dtype == GEMEL_BOOL ||
                      gemel__is_float(p->examples[k].drawn.dtype))) {
    k++;
  }
  return k < p->n;
}

/* Checks example K at its aims. AIMED counts these points over all examples; after PLENTY each
 * further example gets FEW. */
static gemel_status aimed_checks(struct gemel__rule_subject *p, gemel__inquiry *q, size_t k,
                                 size_t *aimed, gemel_error *error) {
  enum { PLENTY = 400, FEW = 2 };
  struct gemel__example *e = &p->examples[k];
  size_t rounds = gemel__example_rounds(e), least = rounds < FEW ? rounds : FEW;
  rounds = *aimed < PLENTY ? rounds : least;
  for (size_t r = 1; r <= rounds && !q->refuted; r++, ++*aimed) {
    GEMEL__TRY(spot_check(p, q, e, k, r + k, error));
  }
  return GEMEL_OK;
}

/* Checks the symbolic sides of example K by HOW. ZERO: with 0 for one of their symbols: conditions
 * hold of a symbol, and what they hold of includes 0. */
static gemel_status check_symbols(struct gemel__rule_subject *p, gemel__inquiry *q, size_t k,
                                  int zero, const struct gemel__rule_search *how,
                                  gemel_error *error) {
  const gemel__rule_instance *drawn = &p->examples[k].drawn;
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t sizes[GEMEL__MOST_SYMBOLS];
  gemel__random random;
  gemel__pair pair;
  gemel__trial trial = {NULL, &random, &pair.b};
  gemel__outcome outcome;
  gemel_tensor **values = NULL;
  size_t n = gemel__pair_symbols(drawn->symbolic_left, names, GEMEL__MOST_SYMBOLS);
  gemel__run_random(p->run, p->info->name, q->record.tier, k, &random);
  for (size_t j = 0; j < n; j++) {
    sizes[j] = zero && j == k % n ? 0 : gemel__random_between(&random, 1, 4);
  }
  gemel_status status = gemel__pair_draw_at(&pair, drawn->symbolic_left, drawn->symbolic_right, n,
                                            names, sizes, &random, NULL);
  if (status != GEMEL_OK) {
    return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "an instance") : GEMEL_OK;
  }
  memset(&outcome, 0, sizeof outcome);
  status = gemel__values_draw(&pair.a, how == &by_bits ? how->fill : GEMEL__FILL_FULL, &random,
                              &values, error);
  status = status ? status : how->check(&pair.a, values, &trial, &outcome, error);
  if (status == GEMEL_OK && how == &by_bits) {
    status = gemel__rule_excuse(p, &pair, values, &random, &outcome, error);
  }
  if (status == GEMEL_OK && outcome.refuted) {
    q->record.how = GEMEL_EVIDENCE_SAMPLES;
    q->record.detail = zero ? "the sides aren't equal where a size is 0" : "the sides aren't equal";
    q->record.instances = k + 1;
    status =
        gemel__rule_report_values(p, q, &pair, &values, how, gemel__random_bits(&random), error);
  }
  gemel__values_free(&pair.a, values);
  gemel__pair_clear(&pair);
  return status == GEMEL_BAD_VALUE ? GEMEL_OK : status;
}

/* Checks a few symbolic sides of the examples for the tier of Q. Those of floats that are folded
 * differ over the reals; the models have seen them at other sizes. */
static gemel_status check_symbolic(struct gemel__rule_subject *p, gemel__inquiry *q,
                                   gemel_error *error) {
  enum { ASKED = 8 };
  int bits = q->record.tier == GEMEL_TIER_INTEGER;
  size_t asked = 0;
  for (size_t k = 0; k < p->n && asked < ASKED && !q->refuted; k++) {
    const struct gemel__example *e = &p->examples[k];
    if ((bits ? e->integral : e->real) && e->drawn.symbolic_right != NULL && !p->folds) {
      const struct gemel__rule_search *how = bits ? &by_bits : &by_model;
      GEMEL__TRY(check_symbols(p, q, k, 1, how, error));
      GEMEL__TRY(bits && !q->refuted ? check_symbols(p, q, k, 0, how, error) : GEMEL_OK);
      asked++;
    }
  }
  return GEMEL_OK;
}

static gemel_status ask_real(struct gemel__rule_subject *p, gemel__inquiry *q, struct modelled *a,
                             gemel_error *error) {
  enum { ASKED = 8 };
  size_t aimed = 0, swept = 0;
  for (size_t k = 0; k < p->n && !q->refuted; k++) {
    struct gemel__example *e = &p->examples[k];
    int worth = e->full || p->n_full == 0; /* empty results show nothing */
    if (e->real && worth && (a->count < ASKED || e->edge)) {
      GEMEL__TRY(ask_models(p, q, a, k, error));
    } else if (e->real) {
      GEMEL__TRY(spot_check(p, q, e, k, 0, error));
    }
    if (e->real && e->full && !q->refuted) {
      GEMEL__TRY(aimed_checks(p, q, k, &aimed, error));
    }
  }
  if (!q->refuted) {
    GEMEL__TRY(check_symbolic(p, q, error));
  }
  if (!q->refuted && a->count > 0 && !sweeps_integers(p)) {
    GEMEL__TRY(sweep(p, q, &swept, error));
  }
  if (!q->refuted) {
    conclude_real(p, q, a, swept);
  }
  return GEMEL_OK;
}

static gemel_status tier_real(struct gemel__rule_subject *p, int *refuted, gemel_error *error) {
  gemel__inquiry q;
  struct modelled a;
  begin_asked(&a);
  gemel__rule_begin(p, &q, GEMEL_TIER_REAL);
  gemel_status status = ask_real(p, &q, &a, error);
  *refuted = q.refuted;
  gemel__answer_clear(&a.total);
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
static gemel_status compare_bits(struct gemel__rule_subject *p, gemel__inquiry *q,
                                 struct gemel__example *e, gemel__fill fill, size_t round,
                                 gemel__random *random, gemel_error *error) {
  gemel_tensor **values = NULL;
  gemel__trial trial = {NULL, random, &e->pair.b};
  gemel__outcome outcome;
  gemel_status status = gemel__example_values(e, fill, round, random, &values, error);
  const gemel__drawn point = {&e->pair.a, values, 0, random};
  memset(&outcome, 0, sizeof outcome);
  if (status == GEMEL_OK && fill == GEMEL__FILL_INTEGERS && round == 0 &&
      gemel__random_chance(random, 1, 4)) {
    gemel__values_put_ends(&e->pair.a, gemel__random_below(random, 3), random, values);
  }
  if (status == GEMEL_OK && rounds_twice(e) && gemel__random_chance(random, 1, 2)) {
    gemel__source_put(&point, &gemel__sources[GEMEL__SOURCE_midpoints]);
  }
  if (status == GEMEL_OK) {
    status = gemel__check_contrast(&e->pair.a, values, &trial, &outcome, error);
    status = status ? status : gemel__rule_excuse(p, &e->pair, values, random, &outcome, error);
  }
  q->record.elements += outcome.compared;
  if (status == GEMEL_OK && outcome.refuted) {
    q->record.how = GEMEL_EVIDENCE_BITS;
    q->record.detail = "in an integer dtype each bit counts";
    status = gemel__rule_report_values(p, q, &e->pair, &values, &by_bits, q->record.seed, error);
  }
  gemel__values_free(&e->pair.a, values);
  return status == GEMEL_BAD_VALUE ? GEMEL_OK : status; /* an index out of range: no point */
}

/* Compares both sides of example K. */
static gemel_status compare_example(gemel__inquiry *q, void *user, size_t k, gemel_error *error) {
  struct gemel__rule_subject *p = user;
  struct gemel__example *e = &p->examples[k];
  size_t fills = fills_of(e), rounds = fills > 0 ? fills + gemel__example_rounds(e) : 0;
  q->record.instances += (size_t)e->integral;
  if (rounds > 0) {
    gemel__pair_compile(&e->pair);
  }
  for (size_t r = 0; r < rounds && !q->refuted; r++) {
    gemel__random random;
    gemel__run_random(p->run, p->info->name, GEMEL_TIER_INTEGER, FILLS * k + r, &random);
    GEMEL__TRY(compare_bits(p, q, e, GEMEL__FILL_INTEGERS, r < fills ? 0 : r - fills + 1 + k,
                            &random, error));
  }
  return GEMEL_OK;
}

/* If a count is of a narrow dtype: sizes beyond what it holds. */
static gemel_status check_lengths(struct gemel__rule_subject *p, gemel__inquiry *q,
                                  gemel_error *error) {
  gemel_status status = GEMEL_OK;
  gemel__random random;
  size_t turns = gemel__rule_long_turns(p);
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_INTEGER, gemel__aside(GEMEL__ASIDE_LENGTHS),
                    &random);
  for (size_t k = 0; k < turns && status == GEMEL_OK && !q->refuted; k++) {
    struct gemel__example e;
    status = gemel__rule_draw_long(p, k, &random, &e, error);
    if (status == GEMEL_OK && e.integral) {
      status = compare_bits(p, q, &e, GEMEL__FILL_LATE, 0, &random, error);
    }
    if (status == GEMEL_OK && !q->refuted) {
      int64_t inside = gemel__length(k) - 4;
      status = gemel__rule_compare_beside(p, q, &e.pair, inside, &random, error);
    }
    gemel__example_clear(&e);
    status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  return status;
}

/* Asks models and solver about integers too, if an equality may hold for few values. */
static gemel_status check_equalities(struct gemel__rule_subject *p, gemel__inquiry *q,
                                     gemel_error *error) {
  enum { ASKED = 2 };
  struct modelled a;
  gemel_status status = GEMEL_OK;
  begin_asked(&a);
  for (size_t k = 0; k < p->n && a.count < ASKED && status == GEMEL_OK && !q->refuted; k++) {
    const struct gemel__example *e = &p->examples[k];
    if (e->integral && e->full && e->drawn.right != NULL && asks_equality(e->drawn.left)) {
      status = ask_models(p, q, &a, k, error);
    }
  }
  gemel__answer_clear(&a.total);
  return status;
}

static void conclude_integer(struct gemel__rule_subject *p, gemel__inquiry *q) {
  int any = q->record.instances > 0;
  if (q->record.elements > 0) {
    gemel__rule_end(p, q, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_BITS, p->widens ? widens : "");
  } else {
    gemel__rule_end(p, q, any ? GEMEL_VERDICT_UNINFORMATIVE : GEMEL_VERDICT_NOT_APPLICABLE,
                    GEMEL_EVIDENCE_NONE,
                    any ? "no result was compared" : "the rule isn't for integer dtypes");
  }
}

static gemel_status tier_integer(struct gemel__rule_subject *p, gemel_error *error) {
  gemel__inquiry q;
  size_t swept = 0;
  gemel__rule_begin(p, &q, GEMEL_TIER_INTEGER);
  GEMEL__TRY(gemel__inquiry_each(&q, p->n, compare_example, p, error));
  if (!q.refuted && sweeps_integers(p)) {
    GEMEL__TRY(sweep(p, &q, &swept, error));
    q.record.instances += q.refuted ? 0 : swept;
  }
  if (!q.refuted) {
    GEMEL__TRY(check_lengths(p, &q, error));
  }
  if (!q.refuted) {
    GEMEL__TRY(check_symbolic(p, &q, error));
  }
  if (!q.refuted) {
    GEMEL__TRY(gemel__rule_counted(p, &q, error));
  }
  if (!q.refuted) {
    GEMEL__TRY(gemel__rule_sums(p, &q, error));
  }
  if (!q.refuted) {
    GEMEL__TRY(check_equalities(p, &q, error));
  }
  if (!q.refuted) {
    conclude_integer(p, &q);
  }
  p->refuted = q.refuted;
  return GEMEL_OK;
}

/* Compares one side with its reference, by its own bound. */
static gemel_status hold_side(struct gemel__rule_subject *p, gemel__inquiry *q,
                              const gemel__instance *side, int right, gemel_tensor *const *values,
                              gemel__random *random, gemel_error *error) {
  gemel__trial trial = {NULL, random, NULL};
  gemel__outcome outcome;
  double *worst = right ? &p->after : &p->before;
  memset(&outcome, 0, sizeof outcome);
  gemel_status status = gemel__check_float(side, values, &trial, &outcome, error);
  gemel__inquiry_add(q, &outcome);
  *worst = outcome.worst > *worst ? outcome.worst : *worst;
  if (status == GEMEL_OK && outcome.refuted) {
    char place[160];
    snprintf(place, sizeof place, "%s side, element %zu (%s)", right ? "right" : "left",
             outcome.element, outcome.variant);
    q->record.how = GEMEL_EVIDENCE_BOUND;
    q->record.detail = "shipped code and reference differ";
    gemel__inquiry_refute(q, side, NULL, values, place, outcome.expected, outcome.got);
  }
  return status;
}

/* Compares both sides of example K. */
static gemel_status hold_example(gemel__inquiry *q, void *user, size_t k, gemel_error *error) {
  struct gemel__rule_subject *p = user;
  struct gemel__example *e = &p->examples[k];
  gemel_tensor **values = NULL;
  gemel__random random;
  if (!e->real) {
    return GEMEL_OK;
  }
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_FLOAT, k, &random);
  gemel_status status = gemel__values_draw(&e->pair.a, GEMEL__FILL_FULL, &random, &values, error);
  for (int side = 0; side < 2 && status == GEMEL_OK && !q->refuted; side++) {
    status = hold_side(p, q, side ? &e->pair.b : &e->pair.a, side, values, &random, error);
  }
  gemel__values_free(&e->pair.a, values);
  q->record.instances++;
  return status == GEMEL_BAD_VALUE ? GEMEL_OK : status;
}

static gemel_status tier_float(struct gemel__rule_subject *p, gemel_error *error) {
  gemel__inquiry q;
  char detail[100];
  gemel__rule_begin(p, &q, GEMEL_TIER_FLOAT);
  GEMEL__TRY(gemel__inquiry_each(&q, p->n, hold_example, p, error));
  if (q.refuted) {
    return GEMEL_OK;
  }
  q.record.elements = q.outcome.compared;
  q.record.worst = p->after;
  q.record.before = p->before;
  snprintf(detail, sizeof detail, "error ÷ bound: %.3g before, %.3g after", p->before, p->after);
  if (q.outcome.informative > 0) {
    gemel__rule_end(p, &q, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_BOUND, detail);
  } else {
    gemel__rule_end(p, &q, GEMEL_VERDICT_NOT_APPLICABLE, GEMEL_EVIDENCE_NONE,
                    "no result has a bound that says something");
  }
  return GEMEL_OK;
}

/* ---- A rule ---- */

static gemel_status all_tiers(struct gemel__rule_subject *p, gemel_error *error) {
  static gemel_status (*const later[GEMEL_TIER_COUNT])(
      struct gemel__rule_subject *, gemel_error *) = {[GEMEL_TIER_INTEGER] = tier_integer,
                                                      [GEMEL_TIER_FLOAT] = tier_float,
                                                      [GEMEL_TIER_GRADIENT] = gemel__rule_gradient,
                                                      [GEMEL_TIER_SPECIAL] = gemel__rule_class};
  int refuted = 0;
  if (gemel__run_wants(p->run, GEMEL_TIER_REAL)) {
    GEMEL__TRY(gemel__rule_narrows(p, &refuted, error));
    GEMEL__TRY(refuted ? GEMEL_OK : tier_real(p, &refuted, error));
  }
  if (refuted) {
    emit_from(p, GEMEL_TIER_REAL + 1, GEMEL_VERDICT_NOT_RUN, "tier real refuted the rule");
    return GEMEL_OK;
  }
  for (int tier = GEMEL_TIER_REAL + 1; tier < GEMEL_TIER_COUNT; tier++) {
    if (later[tier] != NULL && gemel__run_wants(p->run, (gemel_tier)tier)) {
      GEMEL__TRY(later[tier](p, error));
    }
  }
  return GEMEL_OK;
}

static void no_instance(struct gemel__rule_subject *p) {
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

static void clear_proof(struct gemel__rule_subject *p) {
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
  struct gemel__rule_subject p = {.run = run, .pass = pass, .info = info};
  emit_from(&p, 0, GEMEL_VERDICT_NOT_RUN, GEMEL__UNTRIED);
}

gemel_status gemel__rule_verify(gemel__run *run, const gemel_rule *rule, const gemel_pass *pass,
                                const gemel_rule_info *info, gemel_error *error) {
  enum { MOST_WANTED = 65536, FEW_FAR = 12 };
  struct gemel__rule_subject p = {
      .run = run, .rule = rule, .pass = pass, .info = info, .quick = run->options.quick};
  gemel_status status;
  p.wanted = run->options.instances < MOST_WANTED ? run->options.instances : MOST_WANTED;
  p.room = (p.wanted > GEMEL__USUAL_INSTANCES ? p.wanted : GEMEL__USUAL_INSTANCES) +
           GEMEL__MORE_EXAMPLES;
  p.examples = gemel__alloc_zeroed(p.room * sizeof *p.examples);
  p.engine = rule != NULL ? gemel__rule_engine_new(run->context, rule, error) : NULL;
  status = p.examples == NULL || (rule != NULL && p.engine == NULL)
               ? gemel__no_memory(error, "instances")
               : gemel__rule_collect(&p, error);
  if (status == GEMEL_OK && p.n == 0 && p.wanted < GEMEL__USUAL_INSTANCES) {
    status = gemel__rule_collect_usual(&p, error);
  }
  if (status == GEMEL_OK && p.n == 0 && rule != NULL) {
    p.far = 1;
    p.wanted = FEW_FAR;
    status = gemel__rule_collect(&p, error);
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
