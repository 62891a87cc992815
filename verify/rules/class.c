/* SPDX-License-Identifier: MIT
 *
 * The class of a rule: what its instances give up (pairs/needs.c) is put together and compared with
 * what the rule declares. One instance that shows a word is enough for it, but for words of
 * rounding, which follow from the points of all instances together. A declared word that no
 * instance shows is idle.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "base/buffer.h"
#include "core/graph.h"
#include "instances/meeting.h"
#include "pairs/cut.h"
#include "ops/ops.h"
#include "pairs/lengths.h"
#include "rules/report.h"
#include "rules/judge.h"
#include "sample/propose.h"

/* ---- Tier special: what is given up ---- */

static const unsigned rounding_words =
    GEMEL__NEED(CONTRACT) | GEMEL__NEED(ARCP) | GEMEL__NEED(AFN) | GEMEL__NEED(REASSOC);

static const unsigned special_words = GEMEL__NEED(NNAN) | GEMEL__NEED(NINF);

/* Takes what one instance showed. */
static void take_needs(struct gemel__rule_subject *p, gemel__needs *needs) {
  p->compared += needs->compared;
  gemel__losses_add(&p->losses, &needs->losses);
  p->improves |= needs->improves;
  p->needs |=
      needs->needs & ~(rounding_words | GEMEL__NEED(WORSENS) | needs->of_zero | needs->of_rounding);
  p->of_zero |= needs->of_zero;
  p->of_rounding |= needs->of_rounding;
  if (needs->rounds) {
    p->rounds++;
    gemel__roundings_add(&p->roundings, &needs->roundings);
    p->needs = (p->needs & ~rounding_words) |
               (gemel__roundings_agree(&p->roundings, p->info->needs & rounding_words)
                    ? p->info->needs & rounding_words
                    : gemel__roundings_words(&p->roundings));
  }
  gemel__witness_move(&p->worse, &needs->worse);
  gemel__witness_move(&p->witness[GEMEL_NEEDS_INDEX_WORSENS], &needs->loss);
  for (size_t k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    int rounds = rounding_words >> k & 1 && p->rounding.values == NULL;
    gemel__witness_move(rounds ? &p->rounding : &p->witness[k], &needs->witness[k]);
  }
}

static int declares(const struct gemel__rule_subject *p, unsigned word) {
  return (p->info->needs & word) != 0;
}

/* What all instances give up. A difference in a zero's sign at infinite or NaN inputs needs no word
 * of its own if another instance needs nsz at finite inputs; likewise a rounding error. */
static unsigned given_up(const struct gemel__rule_subject *p) {
  return p->needs | (p->needs & GEMEL__NEED(NSZ) ? 0 : p->of_zero) |
         (p->rounds > 0 ? 0 : p->of_rounding) |
         (gemel__losses_worsen(&p->losses) ? GEMEL__NEED(WORSENS) : 0);
}

/* The declared words that no instance has shown yet. */
static unsigned unseen(const struct gemel__rule_subject *p) {
  unsigned words = p->info->needs & ~given_up(p) & ~GEMEL__NEED(IMPROVES);
  return words | (declares(p, GEMEL__NEED(IMPROVES)) && !p->improves ? GEMEL__NEED(IMPROVES) : 0);
}

/* 1 if more is given up than declared, and no further points can change that. (Words of rounding
 * can change, until a point refutes those that are declared.) */
static int is_refuted(const struct gemel__rule_subject *p) {
  unsigned undeclared = p->needs & ~p->info->needs;
  return (undeclared & ~rounding_words) != 0 ||
         (undeclared != 0 &&
          gemel__roundings_refute(&p->roundings, p->info->needs & rounding_words));
}

enum {
  POINTS = 12,
  FEW_POINTS = 2,
  ROUNDING = 40,
  LOSSES = 4,
  ROUNDED = 8,
  IMPROVED = 6,
  ENOUGH = 32,
  FEW = 6,
  MOST = 64
};

static gemel_status measure_one(struct gemel__rule_subject *p, const gemel__rule_instance *drawn,
                                gemel__random *random, const gemel__needs_plan *plan,
                                size_t *measured, gemel_error *error) {
  gemel__needs needs;
  gemel_status status = gemel__needs_measure(drawn->left, drawn->right, gemel__random_bits(random),
                                             plan, &needs, error);
  if (status == GEMEL_OK) {
    take_needs(p, &needs);
    *measured += needs.compared > 0;
  }
  gemel__needs_clear(&needs);
  return status;
}

/* COUNT, which is meant for the usual number of instances, scaled to the number of this run; a
 * quarter in a quick look. */
static size_t scaled(const struct gemel__rule_subject *p, size_t count) {
  if (p->quick) {
    return (count + 3) / 4;
  }
  return p->wanted > GEMEL__USUAL_INSTANCES ? count * p->wanted / GEMEL__USUAL_INSTANCES : count;
}

/* 1 when MEASURED instances are enough: all declared words were seen, or there are many. */
static int heard_enough(const struct gemel__rule_subject *p, size_t measured) {
  return measured >= scaled(p, MOST) || (measured >= scaled(p, ENOUGH) && unseen(p) == 0);
}

/* The instances of the other tiers. Rounding and improvement, which take long, are measured at some
 * of them. Constants of all magnitudes are few, so each has its turn, if only at few points. */
static gemel_status measure_examples(struct gemel__rule_subject *p, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  size_t k, measured = 0;
  for (k = 0; k < p->n && status == GEMEL_OK && !(measured >= FEW && is_refuted(p)); k++) {
    const struct gemel__example *e = &p->examples[k];
    int enough = heard_enough(p, measured);
    gemel__random random;
    gemel__needs_plan plan = {.points = enough ? FEW_POINTS : POINTS,
                              .rounding = p->rounds < ROUNDED ? ROUNDING : 0};
    plan.finite = e->drawn.wide; /* what such constants overflow to is a question of rounding */
    plan.losses = e->drawn.wide ? 0 : LOSSES;
    plan.improvement = declares(p, GEMEL__NEED(IMPROVES)) && (measured < IMPROVED || !p->improves);
    if (e->real && (!enough || e->drawn.wide)) {
      gemel__run_random(p->run, p->info->name, GEMEL_TIER_SPECIAL, k, &random);
      status = measure_one(p, &e->drawn, &random, &plan, &measured, error);
    }
  }
  return status;
}

/* Where a narrow dtype counts: sizes beyond what it holds. */
static gemel_status measure_lengths(struct gemel__rule_subject *p, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  gemel__random random;
  size_t turns = scaled(p, gemel__rule_long_turns(p)), measured = 0;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_SPECIAL, gemel__aside(GEMEL__ASIDE_LENGTHS),
                    &random);
  for (size_t k = 0; k < turns && status == GEMEL_OK && !is_refuted(p); k++) {
    struct gemel__example e;
    gemel__needs_plan plan = {.points = 2, .rounding = k % GEMEL__LENGTHS == 0, .finite = 1};
    status = gemel__rule_draw_long(p, k, &random, &e, error);
    if (status == GEMEL_OK && e.real) {
      status = measure_one(p, &e.drawn, &random, &plan, &measured, error);
    }
    gemel__example_clear(&e);
    status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  return status;
}

/* 1 if GRAPH adds up or multiplies the elements of a tensor. */
static int reduces(const gemel_graph *graph) {
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    const struct gemel__row *row = gemel__node_op(graph, k)->row;
    if (gemel__arithmetic(graph, k) != 0 &&
        (row == NULL ||
         (row->family != GEMEL__FAMILY_elementwise && row->family != GEMEL__FAMILY_index))) {
      return 1;
    }
  }
  return 0;
}

static int any_reduces(const struct gemel__rule_subject *p) {
  size_t k = 0;
  while (k < p->n && (p->examples[k].drawn.right == NULL || !p->examples[k].real)) {
    k++;
  }
  return k < p->n && (reduces(p->examples[k].drawn.left) || reduces(p->examples[k].drawn.right));
}

/* A float dtype of which there are instances. */
static int draw_dtype(const struct gemel__rule_subject *p, gemel__random *random,
                      gemel_dtype *dtype) {
  static const gemel_dtype floats[] = {GEMEL_F32, GEMEL_F64,  GEMEL_F32,
                                       GEMEL_F64, GEMEL_BF16, GEMEL_F16};
  enum { FLOATS = sizeof floats / sizeof *floats };
  size_t k = gemel__random_below(random, FLOATS), tried;
  for (tried = 0; tried < FLOATS; tried++, k++) {
    if (p->dtypes >> floats[k % FLOATS] & 1) {
      *dtype = floats[k % FLOATS];
      return 1;
    }
  }
  return 0;
}

static int has_float_input(const gemel_graph *graph) {
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
    if (gemel__is_float(gemel_type_dtype(graph->context, type))) {
      return 1;
    }
  }
  return 0;
}

/* 1 if meetings can be made in DRAWN: it has results, and a float input of several elements. */
static int may_meet(const gemel__rule_instance *drawn) {
  enum { ENOUGH_ELEMENTS = 4 };
  const gemel_graph *left = drawn->left;
  double most = 0;
  for (size_t k = 0; k < gemel_graph_input_count(left); k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(left, k));
    double n = gemel__type_elements(left->context, type, 1);
    most = n > most && gemel__is_float(gemel_type_dtype(left->context, type)) ? n : most;
  }
  return drawn->right != NULL && gemel__rule_has_elements(left) && drawn->special == 0 &&
         !drawn->wide && most >= ENOUGH_ELEMENTS;
}

/* Zeros and infinities or NaNs meet, in every way in each of some instances, and with each input in
 * turn. Where the rule speaks of constants, every other instance has some that are 0. */
static gemel_status measure_meetings(struct gemel__rule_subject *p, gemel_error *error) {
  enum { MET = 32, DRAWS = 3, ELEMENTS = 24, TRIES = 12 };
  gemel_status status = GEMEL_OK;
  gemel__random random;
  size_t met = 0, wanted = scaled(p, MET), measured = 0;
  int zeros = p->rule != NULL && gemel__rule_asks_constants(p->rule);
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_SPECIAL, gemel__aside(GEMEL__ASIDE_MEETINGS),
                    &random);
  for (size_t k = 0; k < DRAWS * wanted && met < wanted && status == GEMEL_OK && !is_refuted(p) &&
                     (p->needs & special_words) != special_words;
       k++) {
    gemel__rule_wish wish = {.max_elements = p->pass != NULL ? INT64_MAX : ELEMENTS,
                             .tries = TRIES,
                             .plain = 1,
                             .constants =
                                 zeros && k % 2 ? GEMEL__CONSTANTS_ZERO : GEMEL__CONSTANTS_SHORT};
    gemel__needs_plan plan = {.points = 1,
                              .meetings = GEMEL__MEETING_WAYS,
                              .meeting = GEMEL__MEETING_WAYS * met,
                              .known = p->needs & special_words};
    gemel__rule_instance drawn;
    if (!draw_dtype(p, &random, &wish.dtype)) {
      return GEMEL_OK;
    }
    status = gemel__rule_draw_again(p, &wish, &random, &drawn, &p->draws, error);
    if (status == GEMEL_OK && may_meet(&drawn)) {
      status = measure_one(p, &drawn, &random, &plan, &measured, error);
      met++;
    }
    gemel__rule_instance_clear(&drawn);
    status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  return status;
}

/* One more instance, for the class alone; ROUNDING points tell the kind of rounding. */
static gemel_status measure_another(struct gemel__rule_subject *p, gemel__random *random,
                                    int64_t max_elements, int empty, size_t rounding,
                                    gemel_error *error) {
  enum { TRIES = 12, MORE_POINTS = 24 };
  gemel__rule_wish wish = {
      .dtype = GEMEL_F32, .max_elements = max_elements, .empty = empty, .tries = TRIES};
  gemel__rule_instance drawn;
  gemel__needs_plan plan = {.points = MORE_POINTS,
                            .rounding = rounding,
                            .losses = max_elements >= GEMEL__PROPOSAL_LARGE ? 0 : 2 * LOSSES,
                            .meetings = unseen(p) & special_words ? MORE_POINTS : 0,
                            .meeting = gemel__random_below(random, 1 << 20),
                            .known = p->needs & special_words,
                            .improvement = (unseen(p) & GEMEL__NEED(IMPROVES)) != 0,
                            .finite = max_elements >= GEMEL__PROPOSAL_LARGE};
  gemel_status status;
  size_t measured = 0;
  if (!draw_dtype(p, random, &wish.dtype)) {
    return GEMEL_OK;
  }
  status = gemel__rule_draw_again(p, &wish, random, &drawn, &p->draws, error);
  if (status == GEMEL_OK && drawn.right != NULL && has_float_input(drawn.left)) {
    status = measure_one(p, &drawn, random, &plan, &measured, error);
  }
  gemel__rule_instance_clear(&drawn);
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

enum { LARGE_ROUNDING = 8 }; /* points: each has many elements */

/* Large instances: sums of few numbers seldom depend on their order. */
static gemel_status measure_large(struct gemel__rule_subject *p, gemel__random *random,
                                  gemel_error *error) {
  enum { DRAWN = 12, FOR_ROUNDING = 160, ASKED = 6 };
  size_t k, asked = 0, draws = p->rounds > 0 ? DRAWN : FOR_ROUNDING;
  gemel_status status = GEMEL_OK;
  for (k = 0; k < draws && status == GEMEL_OK && !is_refuted(p); k++) {
    size_t before = p->rounds;
    status = measure_another(p, random, GEMEL__PROPOSAL_LARGE, 0,
                             asked < ASKED ? LARGE_ROUNDING : 0, error);
    asked += p->rounds > before;
  }
  return status;
}

/* Then instances of all kinds until every declared word was seen, up to a limit. */
static gemel_status measure_more(struct gemel__rule_subject *p, gemel_error *error) {
  enum { SOUGHT = 8 * GEMEL__USUAL_INSTANCES };
  static const int64_t sizes[] = {24, 96, 6};
  int large = any_reduces(p);
  gemel__random random;
  gemel_status status = GEMEL_OK;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_SPECIAL,
                    gemel__aside(GEMEL__ASIDE_MEASURE_MORE), &random);
  if (large) {
    status = measure_large(p, &random, error);
  }
  for (size_t k = 0;
       k < scaled(p, SOUGHT) && status == GEMEL_OK && unseen(p) != 0 && !is_refuted(p); k++) {
    unsigned rounding = unseen(p) & rounding_words;
    if (large && rounding != 0 && k % 4 != 3) {
      status = measure_another(p, &random, GEMEL__PROPOSAL_LARGE, 0, LARGE_ROUNDING, error);
    } else {
      status = measure_another(p, &random, sizes[k % 3], k % 3 == 0, rounding != 0 ? ROUNDING : 0,
                               error);
    }
  }
  return status;
}

/* Instances without a float among their inputs may round on the way. Tier integer refutes that,
 * unless `integers` is declared; then they are measured too, at integers at which digits are lost.
 */
static gemel_status measure_integers(struct gemel__rule_subject *p, gemel_error *error) {
  const gemel__needs_plan plan = {.points = POINTS, .finite = 1, .beyond = 1};
  gemel_status status = GEMEL_OK;
  size_t measured = 0;
  for (size_t k = 0;
       k < p->n && measured < FEW && status == GEMEL_OK && (unseen(p) & GEMEL__NEED(INTEGERS)) != 0;
       k++) {
    const struct gemel__example *e = &p->examples[k];
    gemel__random random;
    gemel__run_random(p->run, p->info->name, GEMEL_TIER_SPECIAL, k, &random);
    if (e->integral && e->full && e->drawn.right != NULL) {
      status = measure_one(p, &e->drawn, &random, &plan, &measured, error);
    }
  }
  return status == GEMEL_OK && (unseen(p) & GEMEL__NEED(INTEGERS)) != 0
             ? gemel__rule_flips_of_sums(p, error)
             : status;
}

static gemel_status measure(struct gemel__rule_subject *p, gemel_error *error) {
  gemel_status status = measure_examples(p, error);
  status = status == GEMEL_OK ? measure_integers(p, error) : status;
  status = status == GEMEL_OK ? measure_lengths(p, error) : status;
  status = status == GEMEL_OK ? measure_meetings(p, error) : status;
  status = status == GEMEL_OK ? gemel__rule_special(p, error) : status;
  status = status == GEMEL_OK && !is_refuted(p) ? gemel__rule_flips(p, error) : status;
  if (status == GEMEL_OK && p->compared > 0 && !p->quick) {
    status = measure_more(p, error);
  }
  p->needs = given_up(p);
  return status;
}

/* FOUND if WORD is seen in the instance DRAWN too, which then is its witness. */
static gemel_status take_witness(const gemel__rule_instance *drawn, size_t word,
                                 gemel__random *random, gemel__witness *witness, int *found) {
  const gemel__needs_plan plan = {.points = 24, .losses = 24};
  gemel__needs needs;
  gemel_status status = gemel__needs_measure(drawn->left, drawn->right, gemel__random_bits(random),
                                             &plan, &needs, NULL);
  *found = status == GEMEL_OK && needs.witness[word].values != NULL;
  if (*found) {
    gemel__witness_clear(witness);
    *witness = needs.witness[word];
    memset(&needs.witness[word], 0, sizeof *witness);
  }
  gemel__needs_clear(&needs);
  return status;
}

/* The witness of a word that isn't of rounding, in a smaller instance if there is one. What can't
 * be drawn or measured is left out, unless memory is out. */
static gemel_status find_smaller_witness(struct gemel__rule_subject *p, size_t word,
                                         gemel_error *error) {
  enum { DRAWS = 30 };
  gemel__witness *witness = &p->witness[word];
  gemel_status status = GEMEL_OK;
  gemel__random random;
  int found = rounding_words >> word & 1 || witness->values == NULL;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_SPECIAL,
                    gemel__aside(GEMEL__ASIDE_SMALLER_WITNESS), &random);
  for (size_t k = 0; k < DRAWS && !found && status != GEMEL_NO_MEMORY; k++) {
    const gemel__instance *a = &witness->pair.a;
    gemel__rule_wish wish = {.dtype = a->n_leaves > 0 ? a->leaves[0].dtype : GEMEL_F64,
                             .max_elements = (int64_t)1 << k / 10,
                             .empty = k % 10 == 0,
                             .tries = 10};
    gemel__rule_instance drawn;
    gemel__rule_draws draws = {0};
    status = gemel__rule_draw_again(p, &wish, &random, &drawn, &draws, NULL);
    if (status != GEMEL_OK) {
      continue;
    }
    if (drawn.right != NULL) {
      status = take_witness(&drawn, word, &random, witness, &found);
    }
    gemel__rule_instance_clear(&drawn);
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a counterexample") : GEMEL_OK;
}

/* A word that was measured but not declared. */
static gemel_status report_undeclared(struct gemel__rule_subject *p, gemel__inquiry *q,
                                      unsigned extra, gemel_error *error) {
  gemel__witness *witness = NULL;
  char words[100], measured[100], detail[300], place[160];
  size_t word = 0;
  while (!(extra >> word & 1)) {
    word++;
  }
  gemel_status status = find_smaller_witness(p, word, error);
  if (status != GEMEL_OK) {
    return status;
  }
  witness = p->witness[word].values != NULL ? &p->witness[word] : NULL;
  if (witness == NULL && (rounding_words >> word & 1) && p->rounding.values != NULL) {
    witness = &p->rounding;
  }
  gemel__needs_text(extra, words, sizeof words);
  gemel__needs_text(p->needs, measured, sizeof measured);
  snprintf(detail, sizeof detail, "gives up %s, which `needs` doesn't say (measured: %s)", words,
           measured);
  q->record.detail = detail;
  if (witness == NULL) {
    q->record.counterexample = detail;
    gemel__inquiry_end(q, GEMEL_VERDICT_REFUTED, q->record.how, detail);
    return GEMEL_OK;
  }
  gemel__needs_text(1u << word, words, sizeof words);
  snprintf(place, sizeof place, "%s: element %zu", words, witness->element);
  gemel__rule_refuted(q, &witness->pair, witness->output, witness->values, place, witness->left,
                      witness->right, q->record.seed);
  return GEMEL_OK;
}

/* It says that it improves, and is wrong where the left side is right. */
static void report_worse(struct gemel__rule_subject *p, gemel__inquiry *q) {
  char place[160];
  q->record.detail = "`improves`, but the right side is wrong where the left side is right";
  snprintf(place, sizeof place, "improves: element %zu", p->worse.element);
  gemel__rule_refuted(q, &p->worse.pair, p->worse.output, p->worse.values, place, p->worse.left,
                      p->worse.right, q->record.seed);
}

static void report_overstated(const struct gemel__rule_subject *p, gemel__inquiry *q,
                              unsigned idle) {
  char words[100], measured[100], detail[300];
  gemel__needs_text(idle, words, sizeof words);
  gemel__needs_text(p->needs, measured, sizeof measured);
  snprintf(detail, sizeof detail,
           "%s is declared and nothing shows it; measured over %zu results: %s", words, p->compared,
           p->needs == 0 ? "bitwise equal" : measured);
  gemel__inquiry_end(q, GEMEL_VERDICT_OVERSTATED, q->record.how, detail);
}

/* Where each word that is given up shows; NULL: memory is out. */
static char *describe_witnesses(const struct gemel__rule_subject *p) {
  gemel__buffer b = {NULL, 0, 0, 0};
  for (int round = 0; round < 2; round++) {
    size_t k;
    for (k = 0; k <= GEMEL_NEEDS_COUNT; k++) {
      const gemel__witness *w = k < GEMEL_NEEDS_COUNT ? &p->witness[k] : &p->rounding;
      const char *word = k < GEMEL_NEEDS_COUNT ? gemel_needs_word((int)k) : "rounding";
      char place[120];
      if (w->values == NULL || (k < GEMEL_NEEDS_COUNT && !(p->needs >> k & 1))) {
        continue;
      }
      snprintf(place, sizeof place, "%s: element %zu", word, w->element);
      gemel__buffer_take(
          &b, gemel__rule_shown(&w->pair, w->output, w->values, place, w->left, w->right));
    }
    if (round == 0 && gemel__buffer_allocate(&b) != 0) {
      return NULL;
    }
  }
  return gemel__buffer_finish(&b);
}

/* "class: nsz, reassoc", and the words that were declared and not seen. */
static void describe_class(const struct gemel__rule_subject *p, unsigned unseen_words, char *text,
                           size_t bytes) {
  char words[100], unseen_text[100] = "";
  unsigned improves = p->improves ? GEMEL__NEED(IMPROVES) : 0;
  gemel__needs_text(p->needs | improves, words, sizeof words);
  if (unseen_words != 0) {
    gemel__needs_text(unseen_words, unseen_text, sizeof unseen_text);
  }
  snprintf(text, bytes, "class: %s%s%s%s", p->needs == 0 ? "bitwise" : words,
           p->needs == 0 && improves ? ", improves" : "", unseen_words != 0 ? "; not seen: " : "",
           unseen_text);
}

/* 1 if the usual number of instances may tell what fewer didn't. However few were asked for,
 * declared words must be found; in a quick look only words that aren't declared are more closely
 * looked at. */
static int asks_more(const struct gemel__rule_subject *p) {
  unsigned undeclared = p->needs & ~p->info->needs;
  return p->wanted < GEMEL__USUAL_INSTANCES && !is_refuted(p) &&
         (p->quick ? undeclared : unseen(p)) != 0;
}

/* 1 if an operation of the instances adds up products by itself. */
static int sums_products(const struct gemel__rule_subject *p) {
  static const unsigned both = GEMEL__SUMS | GEMEL__PRODUCTS;
  int found = 0;
  for (size_t k = 0; k < p->n && !found; k++) {
    const gemel_graph *left = p->examples[k].drawn.left;
    for (uint32_t node = 0; left != NULL && node < left->n_nodes && !found; node++) {
      found = (gemel__arithmetic(left, node) & both) == both;
    }
  }
  return found;
}

/* The words that are declared and idle. Whether a matrix product fuses multiply and add depends on
 * BLAS and CPU; where it doesn't, nothing shows `contract`. */
static unsigned idle_words(const struct gemel__rule_subject *p) {
  unsigned idle = p->info->needs & ~p->needs & ~GEMEL__NEED(IMPROVES);
  idle |= p->improves ? 0 : p->info->needs & GEMEL__NEED(IMPROVES);
  return idle & GEMEL__NEED(CONTRACT) && sums_products(p) ? idle & ~GEMEL__NEED(CONTRACT) : idle;
}

/* A rule that passed, with what shows each word if that is asked for. */
static gemel_status report_passed(struct gemel__rule_subject *p, gemel__inquiry *q, unsigned idle,
                                  gemel_error *error) {
  char detail[300];
  char *witnesses = p->run->options.witnesses ? describe_witnesses(p) : NULL;
  if (p->run->options.witnesses && witnesses == NULL) {
    return gemel__no_memory(error, "witnesses");
  }
  q->record.witnesses = witnesses;
  describe_class(p, idle, detail, sizeof detail);
  if (p->compared > 0) {
    gemel__rule_end(p, q, GEMEL_VERDICT_PASSED, q->record.how, detail);
  } else {
    gemel__rule_end(p, q, GEMEL_VERDICT_NOT_APPLICABLE, GEMEL_EVIDENCE_NONE,
                    gemel__rule_computes_floats(p)
                        ? "no input is of a float dtype; class: bitwise, by tier integer"
                        : "the rule isn't for float dtypes; class: bitwise");
  }
  gemel_text_free(witnesses);
  return GEMEL_OK;
}

gemel_status gemel__rule_class(struct gemel__rule_subject *p, gemel_error *error) {
  gemel__inquiry q;
  double started = gemel__clock();
  unsigned improves = p->info->needs & GEMEL__NEED(IMPROVES);
  unsigned declared = p->info->needs & ~GEMEL__NEED(IMPROVES);
  GEMEL__TRY(measure(p, error));
  if (asks_more(p)) {
    p->quick = 0;
    GEMEL__TRY(gemel__rule_collect_usual(p, error));
    GEMEL__TRY(measure(p, error));
  }
  unsigned idle = idle_words(p);
  gemel__rule_begin(p, &q, GEMEL_TIER_SPECIAL);
  q.started = started;
  q.record.instances = p->n;
  q.record.elements = p->compared;
  q.record.how = GEMEL_EVIDENCE_BITS;
  if ((p->needs & ~declared) != 0) {
    return report_undeclared(p, &q, p->needs & ~declared, error);
  }
  if (improves != 0 && p->worse.values != NULL) {
    report_worse(p, &q);
  } else if (idle != 0 && !p->quick && !p->refuted) {
    report_overstated(p, &q, idle);
  } else {
    return report_passed(p, &q, idle, error);
  }
  return GEMEL_OK;
}
