/* SPDX-License-Identifier: MIT
 *
 * `gemel mutate`: does the harness tell wrong rules from right ones? Each mutant of a rule is
 * compiled and verified like any rule.
 *
 * A mutant that is verified needn't be wrong: the change may have no effect, or give another true
 * rule. So instances are drawn on which the mutant and its rule give different graphs, and these
 * are compared exactly (as polynomials over prime fields, or by cells). If all are the same
 * function, the mutant is equivalent. If only samples decide some, and fewer than EXACT are decided
 * exactly, it counts as survived. Results without elements are the same, but show nothing about
 * others.
 *
 * If no instance gives different graphs, the mutant is narrower if it leaves some of the rule's
 * instances alone, and alike if not. An alike mutant is the rule in another spelling, or differs on
 * instances that are never drawn. This can't be told, so there are two scores.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/words.h"
#include "rules/mutate.h"
#include "base/buffer.h"
#include "rewrite/choice.h"
#include "rules/arms.h"
#include "rules/draw.h"
#include "rules/withdraw.h"
#include "harness/run.h"
#include "unbounded/unbounded.h"

enum {
  DEFAULT_INSTANCES = 24,
  DRAW_TRIES = 60,
  ELEMENTS = 24,
  COMPARED = 8,
  MOST_COMPARED = 24,
  EXACT = 4
};

#define NAME(E, name, meaning) name,
static const char *const fates[] = {GEMEL__FATE_TABLE(NAME)};
#undef NAME

const char *gemel__fate_name(gemel__fate fate) {
  return (unsigned)fate < GEMEL__FATE_COUNT ? fates[fate] : NULL;
}

size_t gemel__mutant_json(const gemel__mutant *m, char *text, size_t bytes) {
  gemel__buffer b = {text, text != NULL ? bytes : 0, 0, 0};
  if (b.bytes > 0) {
    text[0] = '\0';
  }
  if (m == NULL) {
    return 0;
  }
  gemel__buffer_text(&b, "{\"kind\": \"mutant\"");
  gemel__json_field(&b, "of", m->kind);
  gemel__json_field(&b, m->kind != NULL ? m->kind : "name", m->name);
  gemel__json_field(&b, "mutation", m->mutation);
  gemel__json_field(&b, "text", m->text);
  gemel__json_field(&b, "verdict", gemel__fate_name(m->fate));
  gemel__json_field(&b, "tier", m->tier);
  gemel__json_field(&b, "detail", m->detail);
  if (m->proof[0] != 0) {
    gemel__json_field(&b, "proof", m->proof);
    gemel__json_field(&b, "counterexample", m->counterexample);
    gemel__buffer_format(&b, ", \"contradicted\": %d", m->contradicted);
  }
  gemel__buffer_format(&b, ", \"seed\": %llu", (unsigned long long)m->seed);
  gemel__json_number(&b, "seconds", m->seconds);
  gemel__buffer_text(&b, "}");
  return b.used;
}

/* A run of mutants of rules, and where it stands. */
struct rule_hunt {
  gemel_context *context;
  gemel__mutate_options options;
  gemel__mutate_summary summary;
  const gemel_rule *rule;
  const gemel_rule *mutant;
  /* the engines of both, while the mutant is compared */
  gemel__rule_engine *with_rule, *with_mutant;
  size_t seen; /* mutants, judged or not */
};

/* The harness's verdict on one mutant. */
struct judgement {
  gemel__fate fate;
  int barren;
  const char *tier; /* OF_TIER's name */
  gemel_tier of_tier;
  char detail[400];
  gemel__claim claim; /* what is proved of it, if that was asked */
  char proof[160];    /* the same in words */
  char counterexample[4000];
};

/* ---- The harness's verdict ---- */

static void note(void *user, const gemel_record *record) {
  struct judgement *j = user;
  if (j->fate == GEMEL__FATE_KILLED) {
    return;
  }
  if (record->verdict == GEMEL_VERDICT_REFUTED || record->verdict == GEMEL_VERDICT_OVERSTATED ||
      record->verdict == GEMEL_VERDICT_UNINFORMATIVE) {
    j->fate = GEMEL__FATE_KILLED;
    j->barren = record->verdict == GEMEL_VERDICT_UNINFORMATIVE;
    j->of_tier = record->tier;
    j->tier = gemel_tier_name(record->tier);
    snprintf(j->detail, sizeof j->detail, "%s", record->detail);
    snprintf(j->counterexample, sizeof j->counterexample, "%s",
             record->counterexample != NULL ? record->counterexample : "");
  }
}

static gemel_status verify_with(struct rule_hunt *h, const gemel_rules *set, size_t instances,
                                struct judgement *j, gemel_error *error) {
  gemel_verify_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.seed = h->options.seed;
  options.instances = instances;
  options.sink = note;
  options.user = j;
  return gemel_verify_rules(h->context, set, NULL, &options, NULL, error);
}

/* Verifies a mutant with few instances, which refute most; if it passes, again with as many as any
 * rule gets. */
static gemel_status verify_mutant(struct rule_hunt *h, const gemel_rules *set, struct judgement *j,
                                  gemel_error *error) {
  enum { AS_ANY = 96 };
  GEMEL__TRY(verify_with(h, set, h->options.instances, j, error));
  if (j->fate != GEMEL__FATE_KILLED && h->options.instances < AS_ANY) {
    GEMEL__TRY(verify_with(h, set, AS_ANY, j, error));
  }
  return GEMEL_OK;
}

/* ---- Equivalence ---- */

static void note_decision(void *user, const gemel_record *record) {
  gemel__decision *d = user;
  int exact = record->how == GEMEL_EVIDENCE_FIELD || record->how == GEMEL_EVIDENCE_SOLVER ||
              record->how == GEMEL_EVIDENCE_CELLS || record->how == GEMEL_EVIDENCE_BITS;
  d->refuted |= record->verdict == GEMEL_VERDICT_REFUTED;
  d->exact |= record->verdict == GEMEL_VERDICT_PASSED && exact;
  d->vague |= record->verdict == GEMEL_VERDICT_PASSED && !exact;
}

gemel_status gemel__mutant_decide(const gemel_graph *a, const gemel_graph *b, uint64_t seed,
                                  size_t instances, gemel__decision *decision, gemel_error *error) {
  gemel_verify_options options;
  gemel_pair_result result = {.size = sizeof result};
  memset(decision, 0, sizeof *decision);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.seed = seed;
  options.instances = instances;
  options.tiers = 1u << GEMEL_TIER_REAL | 1u << GEMEL_TIER_INTEGER;
  options.sink = note_decision;
  options.user = decision;
  gemel_status status =
      gemel_verify_pair(a, b, "mutant", GEMEL_NEEDS_ALL, &options, &result, error);
  decision->refuted |= status == GEMEL_BAD_TYPE;
  return status == GEMEL_BAD_TYPE ? GEMEL_OK : status;
}

/* 1 if the results of A and B have the same types and no elements, so they are equal. */
static int both_empty(const gemel_graph *a, const gemel_graph *b) {
  size_t n = gemel_graph_output_count(a);
  int same = n == gemel_graph_output_count(b) && !gemel__rule_has_elements(a);
  for (size_t k = 0; k < n && same; k++) {
    same = gemel_type_equal(gemel_value_type(gemel_graph_output(a, k)),
                            gemel_value_type(gemel_graph_output(b, k)));
  }
  return same;
}

gemel_status gemel__contrast_add(gemel__mutant_contrast *c, const gemel_graph *a,
                                 const gemel_graph *b, uint64_t seed, size_t instances,
                                 gemel_error *error) {
  gemel__decision d;
  if (both_empty(a, b)) {
    c->empty++;
    return GEMEL_OK;
  }
  gemel_status status = gemel__mutant_decide(a, b, seed, instances, &d, error);
  c->refuted += d.refuted != 0;
  c->exact += d.exact && !d.vague && !d.refuted;
  c->vague += d.vague && !d.refuted; /* neither exact nor vague: no elements, or all undefined */
  return status;
}

gemel__fate gemel__contrast_fate(const gemel__mutant_contrast *c) {
  if (c->refuted > 0) {
    return GEMEL__FATE_SURVIVED;
  }
  if (c->telling == 0) {
    return c->left_alone > 0 ? GEMEL__FATE_NARROWER : GEMEL__FATE_ALIKE;
  }
  return c->exact + c->empty == 0 || (c->vague > 0 && c->exact < EXACT) ? GEMEL__FATE_SURVIVED
                                                                        : GEMEL__FATE_EQUIVALENT;
}

/* 1 if A and B are the same node for node; −1: memory is out. */
static int same_graph(const gemel_graph *a, const gemel_graph *b) {
  char *first = gemel_print_string(a, "g", NULL), *second = gemel_print_string(b, "g", NULL);
  int same = first == NULL || second == NULL ? -1 : strcmp(first, second) == 0;
  gemel_text_free(first);
  gemel_text_free(second);
  return same;
}

/* Applies the rule to an instance of the mutant, and compares the graphs that both make of it. */
static gemel_status compare(const struct rule_hunt *h, const gemel__rule_instance *drawn,
                            uint64_t seed, gemel__mutant_contrast *c, gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_status status = GEMEL_OK;
  gemel_graph *other = gemel__rule_apply(h->with_rule, drawn->left, &problem);
  const gemel_graph *as_before = other != NULL ? other : drawn->left;
  if (problem.status == GEMEL_NO_MEMORY) {
    gemel_graph_unref(other);
    return gemel__no_memory(error, "a mutant");
  }
  int same = drawn->right == NULL ? 0 : same_graph(as_before, drawn->right);
  c->drawn++;
  c->telling += same == 0;
  if (same < 0) {
    status = gemel__no_memory(error, "a mutant");
  } else if (same == 0 && drawn->right == NULL) {
    c->refuted++;
  } else if (same == 0 &&
             (c->telling <= COMPARED || (c->exact < EXACT && c->telling <= MOST_COMPARED))) {
    status = gemel__contrast_add(c, as_before, drawn->right, seed, h->options.instances, error);
  }
  gemel_graph_unref(other);
  return status;
}

/* What is done with an instance that was drawn. */
typedef gemel_status (*visitor)(const struct rule_hunt *h, const gemel__rule_instance *drawn,
                                uint64_t seed, gemel__mutant_contrast *c, gemel_error *error);

enum { AT_LEAST = 96, LONGER = 384, AT_MOST = 1536 };

/* 1 if DRAWN instances are enough, of which FOUND are of the kind that is sought. Rare ones are
 * sought for longer. */
static int enough(size_t drawn, size_t found) {
  enum { SEVERAL = 4 };
  return drawn >= (found >= SEVERAL ? AT_LEAST : found > 0 ? LONGER : AT_MOST);
}

/* Draws instances FROM to TO of the engine's rule and calls VISIT for each, until enough have been
 * FOUND. */
static gemel_status seek(const struct rule_hunt *h, gemel__rule_engine *engine, visitor visit,
                         size_t from, size_t to, gemel__mutant_contrast *c, const size_t *found,
                         gemel_error *error) {
  static const gemel_dtype dtypes[] = {GEMEL_F64, GEMEL_I32, GEMEL_F32, GEMEL_BOOL,
                                       GEMEL_F64, GEMEL_U8,  GEMEL_F32, GEMEL_I64};
  enum { DTYPES = sizeof dtypes / sizeof *dtypes };
  int uses = gemel__rule_asks_uses(h->rule) || gemel__rule_asks_uses(h->mutant);
  size_t arms = gemel__rule_arms(engine)->count;
  size_t missed[DTYPES] = {0}, hits[DTYPES] = {0};
  for (size_t k = from; k < to && !enough(k, *found); k++) {
    gemel__rule_instance drawn;
    gemel__rule_draws draws;
    gemel__random random;
    size_t which = k % DTYPES;
    gemel__rule_wish wish = {.dtype = dtypes[which],
                             .max_elements = ELEMENTS,
                             .empty = k % 7 == 6,
                             .tries = DRAW_TRIES,
                             .reused = uses && k % 3 == 1,
                             .arm = arms > 0 && k % 5 == 2 ? 1 + k / 5 % arms : 0,
                             .plain = 1};
    if (missed[which] >= 2 && hits[which] == 0) {
      continue;
    }
    memset(&draws, 0, sizeof draws);
    gemel__random_split(&random, h->options.seed ^ 0x6d7574616e74, k);
    gemel_status status = gemel__rule_draw(engine, &wish, &random, &drawn, &draws, error);
    if (status == GEMEL_DECLINED) {
      missed[which]++;
      continue;
    }
    GEMEL__TRY(status);
    hits[which]++;
    status = visit(h, &drawn, gemel__random_bits(&random), c, error);
    gemel__rule_instance_clear(&drawn);
    GEMEL__TRY(status);
  }
  return GEMEL_OK;
}

/* Counts an instance of the rule, and whether the mutant leaves it alone. */
static gemel_status look_for_less(const struct rule_hunt *h, const gemel__rule_instance *drawn,
                                  uint64_t seed, gemel__mutant_contrast *c, gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_graph *other = gemel__rule_apply(h->with_mutant, drawn->left, &problem);
  (void)seed;
  c->of_rule++;
  c->left_alone += other == NULL && problem.status == GEMEL_OK;
  gemel_graph_unref(other);
  return problem.status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a mutant") : GEMEL_OK;
}

/* Looks at instances of the mutant; if none tells it from the rule, also at instances of the rule.
 */
static gemel_status look_at_both(const struct rule_hunt *h, gemel__mutant_contrast *c,
                                 gemel_error *error) {
  GEMEL__TRY(seek(h, h->with_mutant, compare, 0, LONGER, c, &c->telling, error));
  if (c->telling == 0) {
    GEMEL__TRY(seek(h, h->with_rule, look_for_less, 0, AT_MOST, c, &c->left_alone, error));
  }
  if (c->telling == 0 && c->left_alone == 0) {
    GEMEL__TRY(seek(h, h->with_mutant, compare, LONGER, AT_MOST, c, &c->telling, error));
  }
  return GEMEL_OK;
}

static void conclude(const gemel__mutant_contrast *c, struct judgement *j) {
  size_t room = sizeof j->detail;
  j->fate = gemel__contrast_fate(c);
  if (c->refuted > 0) {
    snprintf(j->detail, room,
             "verified, but %zu of %zu instances that tell it from the rule refute it", c->refuted,
             c->telling);
  } else if (j->fate == GEMEL__FATE_NARROWER) {
    snprintf(
        j->detail, room,
        "it leaves %zu of %zu instances of the rule alone, and does the same on %zu of its own",
        c->left_alone, c->of_rule, c->drawn);
  } else if (j->fate == GEMEL__FATE_ALIKE) {
    snprintf(j->detail, room,
             "none of %zu instances, nor of %zu of the rule's, tells it from the rule", c->drawn,
             c->of_rule);
  } else if (j->fate == GEMEL__FATE_SURVIVED) {
    snprintf(j->detail, room,
             "%zu of %zu instances tell it from the rule, and only %zu are decided exactly",
             c->telling, c->drawn, c->exact);
  } else {
    snprintf(
        j->detail, room,
        "%zu of %zu instances tell it from the rule; %zu decided exactly, %zu without elements: "
        "the same function",
        c->telling, c->drawn, c->exact, c->empty);
  }
}

/* Decides the fate of a mutant that the harness passes. */
static gemel_status acquit(struct rule_hunt *h, struct judgement *j, gemel_error *error) {
  gemel__mutant_contrast c;
  gemel_status status = GEMEL_NO_MEMORY;
  memset(&c, 0, sizeof c);
  h->with_rule = gemel__rule_engine_new(h->context, h->rule, error);
  h->with_mutant = gemel__rule_engine_new(h->context, h->mutant, error);
  if (h->with_rule != NULL && h->with_mutant != NULL) {
    status = look_at_both(h, &c, error);
  }
  gemel__rule_engine_free(h->with_rule);
  gemel__rule_engine_free(h->with_mutant);
  conclude(&c, j);
  return status;
}

/* ---- A mutant ---- */

/* 1 if the mutant only adds `improves` to the rule's needs. It passes only if an instance shows an
 * improvement, so that is no mistake. */
static int claims_more(const gemel__mutated_rule *mutant) {
  return strcmp(mutant->mutation, "needs: with improves") == 0;
}

/* Asks the prover. Where nothing is proved the mutant is open. */
static gemel_status prove_mutant(struct rule_hunt *h, struct judgement *j, gemel_error *error) {
  gemel__claim *claim = &j->claim;
  GEMEL__TRY(gemel__prove_rule(h->mutant, GEMEL__CLAIM_RANK, NULL, claim, error));
  if (claim->all_ranks) {
    snprintf(j->proof, sizeof j->proof, "%s, all ranks", claim->elements);
  } else if (claim->rank > 0) {
    snprintf(j->proof, sizeof j->proof, "%s, ranks to %d", claim->elements, claim->rank);
  } else {
    j->fate = GEMEL__FATE_OPEN;
    snprintf(j->detail, sizeof j->detail, "%s", claim->why);
  }
  return GEMEL_OK;
}

static gemel_status judge(struct rule_hunt *h, const gemel__mutated_rule *mutant,
                          struct judgement *j, gemel_error *error) {
  const char *text = mutant->text;
  const gemel_rule_info *info = gemel_rule_describe(h->rule);
  gemel_error reason = {GEMEL_OK, 0, 0, ""};
  gemel_rules *set = gemel_rules_parse(h->context, text, strlen(text), info->file, &reason);
  gemel_status status = GEMEL_OK;
  memset(j, 0, sizeof *j);
  j->fate = GEMEL__FATE_SURVIVED;
  j->tier = "";
  if (set == NULL) {
    j->fate = GEMEL__FATE_STILLBORN;
    snprintf(j->detail, sizeof j->detail, "%.*s", (int)strcspn(reason.text, "\n"), reason.text);
    return reason.status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a mutant") : GEMEL_OK;
  }
  h->mutant = gemel_rules_at(set, 0);
  if (h->options.proofs) {
    status = prove_mutant(h, j, error);
  }
  if (status != GEMEL_OK || j->fate == GEMEL__FATE_OPEN) {
    gemel_rules_unref(set);
    return status;
  }
  status = verify_mutant(h, set, j, error);
  if (status == GEMEL_OK && j->fate == GEMEL__FATE_SURVIVED && claims_more(mutant)) {
    j->fate = GEMEL__FATE_EQUIVALENT;
    snprintf(j->detail, sizeof j->detail, "an instance shows that it improves");
  } else if (status == GEMEL_OK && j->fate == GEMEL__FATE_SURVIVED) {
    status = acquit(h, j, error);
  }
  gemel_rules_unref(set);
  return status;
}

int gemel__mutant_chosen(uint64_t seed, size_t one_in, size_t at) {
  gemel__random random;
  if (one_in < 2) {
    return 1;
  }
  gemel__random_split(&random, seed, at / one_in);
  return at % one_in == gemel__random_below(&random, one_in);
}

/* 1 if what refuted the mutant speaks against what is proved of it. */
static int contradicts(const struct rule_hunt *h, const struct judgement *j) {
  const gemel_proof proof = {.elements = j->proof[0] != 0 ? j->claim.elements : NULL,
                             .ranks = j->claim.rank,
                             .all_ranks = j->claim.all_ranks};
  const gemel_record record = {
      .verdict = GEMEL_VERDICT_REFUTED, .tier = j->of_tier, .counterexample = j->counterexample};
  return j->fate == GEMEL__FATE_KILLED && !j->barren &&
         gemel__refutes_proof(h->context, &record, &proof);
}

static void tell(struct rule_hunt *h, const char *mutation, const char *text,
                 const struct judgement *j, double started) {
  h->summary.fates[j->fate]++;
  int contradicted = contradicts(h, j);
  h->summary.contradicted += (size_t)contradicted;
  if (h->options.sink != NULL) {
    gemel__mutant mutant = {"rule",
                            gemel_rule_describe(h->rule)->name,
                            mutation,
                            text,
                            j->fate,
                            j->tier,
                            j->detail,
                            j->proof,
                            j->counterexample,
                            contradicted,
                            h->options.seed,
                            gemel__clock() - started};
    h->options.sink(h->options.user, &mutant);
  }
}

/* Judges the rule itself. *SOUND: it is passed. Most mutants of a wrong rule would be refuted for
 * the rule's own fault. */
static gemel_status judge_rule(struct rule_hunt *h, int *sound, gemel_error *error) {
  const gemel_rule_info *info = gemel_rule_describe(h->rule);
  double started = gemel__clock();
  struct judgement j = {.fate = GEMEL__FATE_SURVIVED, .tier = ""};
  gemel_rules *set =
      gemel_rules_parse(h->context, info->text, strlen(info->text), info->file, error);
  gemel_status status = set != NULL ? verify_with(h, set, 0, &j, error) : error->status;
  *sound = j.fate != GEMEL__FATE_KILLED;
  if (status == GEMEL_OK && !*sound) {
    j.fate = GEMEL__FATE_REFUTED;
    tell(h, "none: the rule itself", info->text, &j, started);
  }
  gemel_rules_unref(set);
  return status;
}

static gemel_status mutate_rule(struct rule_hunt *h, gemel_error *error) {
  gemel__mutants mutants;
  struct judgement j;
  int sound = 1;
  memset(&mutants, 0, sizeof mutants);
  gemel_status status = h->options.proofs ? GEMEL_OK : judge_rule(h, &sound, error);
  if (status != GEMEL_OK || !sound) {
    return status;
  }
  status = gemel__mutants_of_rule(h->rule, h->options.seed, &mutants, error);
  h->summary.subjects += mutants.count > 0;
  for (size_t k = 0; k < mutants.count && status == GEMEL_OK; k++) {
    double started = gemel__clock();
    int of_needs = strncmp(mutants.list[k].mutation, "needs", 5) == 0;
    if (!gemel__mutant_chosen(h->options.seed, h->options.one_in, h->seen++) ||
        (of_needs && h->options.proofs)) { /* a proof says nothing of these */
      continue;
    }
    status = judge(h, &mutants.list[k], &j, error);
    if (status != GEMEL_OK) {
      break;
    }
    h->summary.barren += (size_t)j.barren;
    tell(h, mutants.list[k].mutation, mutants.list[k].text, &j, started);
  }
  gemel__mutants_clear(&mutants);
  return status;
}

/* ---- A run ---- */

gemel__mutate_options gemel__mutate_take(const gemel__mutate_options *given) {
  gemel__mutate_options taken = given != NULL ? *given : (gemel__mutate_options){0};
  taken.instances = taken.instances > 0 ? taken.instances : DEFAULT_INSTANCES;
  return taken;
}

static double share(size_t part, size_t rest) {
  return part + rest > 0 ? (double)part / (double)(part + rest) : 1;
}

void gemel__mutate_finish(gemel__mutate_summary *counted, gemel__mutate_summary *summary) {
  const size_t *of = counted->fates;
  counted->score = share(of[GEMEL__FATE_KILLED], of[GEMEL__FATE_SURVIVED]);
  counted->strict = share(of[GEMEL__FATE_KILLED], of[GEMEL__FATE_ALIKE] + of[GEMEL__FATE_SURVIVED]);
  if (summary != NULL) {
    *summary = *counted;
  }
}

gemel_status gemel__mutate_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                                 const gemel__mutate_options *options,
                                 gemel__mutate_summary *summary, gemel_error *error) {
  gemel_error local;
  struct rule_hunt h;
  gemel_rules *builtin = NULL;
  gemel_status status = GEMEL_OK;
  error = error != NULL ? error : &local;
  if (context == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the context is null");
  }
  memset(&h, 0, sizeof h);
  h.context = context;
  h.options = gemel__mutate_take(options);
  if (rules == NULL) {
    rules = builtin = gemel_rules_builtin(context, error);
    status = builtin == NULL ? error->status : GEMEL_OK;
  }
  status = status ? status
           : gemel_rules_count(rules) == 0
               ? gemel__fail(error, GEMEL_NOT_FOUND, "there are no rules")
               : gemel__list_check_rules(glob, rules, error);
  for (size_t k = 0; status == GEMEL_OK && k < gemel_rules_count(rules); k++) {
    h.rule = gemel_rules_at(rules, k);
    if (gemel__rule_named(gemel_rule_describe(h.rule), glob)) {
      status = mutate_rule(&h, error);
    }
  }
  gemel_rules_unref(builtin);
  gemel__mutate_finish(&h.summary, summary);
  return status;
}
