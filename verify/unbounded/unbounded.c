/* SPDX-License-Identifier: MIT
 *
 * A rule's scenes, one after the other, for tensors of one axis, then of up to two, and so on.
 */
#include "unbounded/unbounded.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "rules/functions.h"
#include "unbounded/axes.h"
#include "unbounded/equal.h"
#include "unbounded/pull.h"
#include "unbounded/record.h"
#include "unbounded/scene.h"

/* ---- A scene ---- */

/* Which variables a condition makes constants of one number: what splat() is asked of, and what has
 * a value(), where no `or` or `not` is about it. */
static void find_uniform(gemel__pscene *s) {
  for (uint32_t k = 0; k < s->rule->n_conditions; k++) {
    const gemel__termexpr *e = &s->rule->conditions[k];
    int plain = 1;
    for (uint32_t i = 0; i < e->count; i++) {
      plain &= e->code[i].kind != GEMEL__TERMCODE_FUNCTION ||
               (e->code[i].index != GEMEL__OPERATOR_logical_or &&
                e->code[i].index != GEMEL__OPERATOR_logical_not);
    }
    for (uint32_t i = 1; i < e->count && plain; i++) {
      if (e->code[i].kind == GEMEL__TERMCODE_FUNCTION &&
          e->code[i - 1].kind == GEMEL__TERMCODE_VARIABLE &&
          (e->code[i].index == GEMEL__FUNCTION_splat ||
           e->code[i].index == GEMEL__FUNCTION_value)) {
        s->uniform[e->code[i - 1].index] = 1;
      }
    }
  }
}

static void assume_conditions(gemel__pscene *s) {
  for (uint32_t k = 0; k < s->rule->n_conditions && s->flow == GEMEL__P_GO; k++) {
    gemel__pvalue value;
    gemel__pscene_evaluate(s, &s->rule->conditions[k], &value);
    if (s->flow == GEMEL__P_GO && value.kind == GEMEL__PV_NO_VALUE) {
      gemel__pscene_stop(s, GEMEL__P_SKIP, "a condition without a value");
    } else if (s->flow == GEMEL__P_GO) {
      gemel__pscene_assume(s, gemel__pvalue_truth(s, &value), 0);
    }
  }
}

static void skip_contradiction(gemel__pscene *s) {
  if (s->flow == GEMEL__P_GO &&
      gemel__pscene_provable(s, gemel__p_truth(&s->terms, 0), GEMEL__PSTEP_NO_INSTANCE)) {
    gemel__pscene_stop(s, GEMEL__P_SKIP, "no instance");
  }
}

/* The elements of both sides at one index of the left one. */
static void compare_elements(gemel__pscene *s, const gemel__ptensor *left,
                             const gemel__ptensor *right) {
  gemel__ptensor result = *left;
  gemel__pterm index[GEMEL__PAXES];
  result.operands[0] = right;
  gemel__ptensor_map(s, &result, 0);
  for (int k = 0; k < left->rank; k++) {
    gemel__pterm one = gemel__p_equal(&s->terms, left->shape[k], gemel__p_number(&s->terms, 1));
    if (gemel__pscene_plain(s, one)) {
      index[k] = gemel__p_number(&s->terms, 0);
      continue;
    }
    index[k] = gemel__p_fresh(&s->terms, GEMEL__PSORT_INTEGER, "index");
    gemel__pscene_index(s, index[k], left->shape[k]);
  }
  if (s->flow == GEMEL__P_GO && left->sort != right->sort) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "the right side has another dtype");
  }
  if (s->flow == GEMEL__P_GO && s->pass == GEMEL__PASS_ANY &&
      !gemel__pscene_dtypes_agree(left, right)) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "the right side may have other dtypes, or none");
  }
  if (s->flow != GEMEL__P_GO ||
      gemel__pscene_provable(s, gemel__p_truth(&s->terms, 0), GEMEL__PSTEP_NO_ELEMENT)) {
    return; /* results without elements are the same */
  }
  gemel__pterm l = gemel__ptensor_pull(s, left, index);
  gemel__pterm r = gemel__ptensor_pull_operand(s, &result, 0, index);
  int reals = s->pass == GEMEL__PASS_VALUES;
  gemel_dtype dtype;
  if (s->used == 0 && gemel__psort_dtype((int)left->sort, &dtype)) {
    s->used = 1u << dtype; /* no variable has one */
  }
  if (s->flow == GEMEL__P_GO && reals && !gemel__defined_alike(s, l, r)) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "elements that may be numbers on one side only");
  }
  if (s->flow == GEMEL__P_GO && reals) {
    gemel__assume_defined(s, l);
  }
  if (s->flow == GEMEL__P_GO && !gemel__pscene_same(s, l, r)) {
    gemel__pscene_stop(s, GEMEL__P_OPEN,
                       s->ask.open > 0 ? "elements: a question without an answer"
                                       : "elements that may differ");
  }
  if (s->flow == GEMEL__P_GO &&
      gemel__pscene_provable(s, gemel__p_truth(&s->terms, 0), GEMEL__PSTEP_CONSISTENT)) {
    gemel__pscene_stop(s, GEMEL__P_OPEN, "what is known contradicts itself");
  }
}

/* 1 if the rule has taken all the questions that it may since there were QUESTIONS, of which OPEN.
 * Not while what has been proved is recorded: all answers are there. */
static int is_exhausted(const gemel__pscene *s, size_t questions, size_t open) {
  size_t most = s->pointwise ? GEMEL__CLAIM_ELEMENTWISE : GEMEL__CLAIM_QUESTIONS;
  return s->record == NULL &&
         (s->ask.questions > questions + most || s->ask.open > open + GEMEL__CLAIM_OPEN);
}

/* One scene: SKIP, OPEN or FAILED, or GO if it is proved. */
static void run_scene(gemel__pscene *s) {
  if (s->record != NULL) {
    gemel__precord_begin(s);
  }
  find_uniform(s);
  const gemel__ptensor *left = gemel__pscene_left(s);
  assume_conditions(s);
  skip_contradiction(s);
  s->right = 1;
  const gemel__ptensor *right = s->flow == GEMEL__P_GO ? gemel__pscene_right(s, left) : NULL;
  if (s->flow == GEMEL__P_GO) {
    compare_elements(s, left, right);
  }
  if (s->terms.trouble || s->ask.no_memory) {
    s->flow = GEMEL__P_GO;
    gemel__pscene_stop(s,
                       s->terms.trouble == GEMEL__PTERM_TOO_LARGE ? GEMEL__P_OPEN : GEMEL__P_FAILED,
                       "a term that is too large");
  }
  if (s->record != NULL) {
    gemel__precord_end(s);
  }
}

static int is_elementwise(const struct gemel_rule *rule, const gemel__rule_side *side) {
  for (uint32_t k = 0; k < side->count; k++) {
    const gemel__pattern *p = &side->nodes[k];
    if (p->kind == GEMEL__PATTERN_VARIADIC ||
        (p->kind == GEMEL__PATTERN_APPLY &&
         !(gemel__op_at(rule->context, p->op)->record.flags & GEMEL_OP_ELEMENTWISE))) {
      return 0;
    }
  }
  return 1;
}

static int scene_init(gemel__pscene *s, const struct gemel_rule *rule, int most_rank) {
  memset(s, 0, sizeof *s);
  gemel__pterms_init(&s->terms);
  gemel__ask_init(&s->ask, &s->terms);
  s->rule = rule;
  s->most_rank = most_rank;
  s->pointwise = is_elementwise(rule, &rule->left) && is_elementwise(rule, &rule->right);
  s->ask.wants_model = !s->pointwise;
  s->variables = gemel__alloc_zeroed(GEMEL__RULE_VARIABLES * sizeof *s->variables);
  return s->variables == NULL;
}

/* Ready for the next scene; answers stay. */
static void scene_again(gemel__pscene *s) {
  gemel__pterms_clear(&s->terms);
  gemel__arena_clear(&s->arena);
  memset(s->bound, 0, sizeof s->bound);
  s->flow = GEMEL__P_GO;
  s->why[0] = 0;
  s->right = 0;
  s->n_chosen = s->n_unknown = s->n_integers = s->n_indices = s->n_facts = 0;
  s->n_known = s->n_lemmas = s->lemmas_for = s->indices_seen = 0;
  s->solved.count = s->solved.solved_for = 0;
  s->solved_known.count = s->solved_known.solved_for = 0;
  s->used = s->n_dtypes = s->n_looked_up = s->n_steps = 0;
}

/* ---- All scenes ---- */

/* The choices behind those of the scene that has ended; 0: that was the last. */
static int next_choices(gemel__pscene *s) {
  uint32_t n = s->n_chosen;
  while (n > 0 && s->given[n - 1] + 1 == s->limits[n - 1]) {
    n--;
  }
  s->n_given = n;
  if (n > 0) {
    s->given[n - 1]++;
  }
  return n > 0;
}

/* 1 if S's scene, which wasn't proved, had a question without an answer since OPEN of them, and is
 * one of several dtypes: from here on the widest is left out. */
static int leaves_out(gemel__pscene *s, size_t open) {
  static const gemel_dtype wide[] = {GEMEL_F64, GEMEL_F32, GEMEL_I64, GEMEL_U64,
                                     GEMEL_I32, GEMEL_U32, GEMEL_I16, GEMEL_U16};
  for (size_t k = 0; s->ask.open > open && k < sizeof wide / sizeof *wide; k++) {
    if (s->used >> wide[k] & 1 && s->dtypes != 1u << wide[k] && s->pointwise) {
      s->dropped |= 1u << wide[k];
      return 1;
    }
  }
  return 0;
}

/* All scenes with up to RANK axes: 1 if each is proved or no instance, and some is one. */
static gemel__pflow prove_rank(gemel__pscene *s, int rank, gemel__claim *claim) {
  size_t scenes = 0, tried = 0, questions = s->ask.questions, open = s->ask.open;
  s->most_rank = s->pointwise ? 0 : rank;
  s->n_given = 0;
  do {
    size_t before = s->ask.open;
    memset(s->variables, 0, GEMEL__RULE_VARIABLES * sizeof *s->variables);
    scene_again(s);
    if (tried++ == GEMEL__CLAIM_SCENES || is_exhausted(s, questions, open)) {
      gemel__pscene_stop(s, GEMEL__P_OPEN, "too many scenes");
    } else {
      run_scene(s);
    }
    gemel__hints_end(s);
    scenes += s->flow == GEMEL__P_GO;
    s->proved |= s->flow == GEMEL__P_GO ? s->used : 0;
    s->most_dtypes = s->n_dtypes > s->most_dtypes ? s->n_dtypes : s->most_dtypes;
    if ((s->flow == GEMEL__P_OPEN && !leaves_out(s, before)) || s->flow == GEMEL__P_FAILED) {
      snprintf(claim->why, sizeof claim->why, "rank %d, scene %zu: %.150s", rank, tried, s->why);
      return s->flow;
    }
  } while (next_choices(s));
  claim->scenes = scenes;
  if (scenes == 0 && (claim->n_parts == 0 || s->dropped)) {
    snprintf(claim->why, sizeof claim->why,
             s->dropped ? "rank %d: a question without an answer" : "no instance up to rank %d",
             rank);
  }
  return scenes > 0 ? GEMEL__P_GO : s->dropped ? GEMEL__P_OPEN : GEMEL__P_SKIP;
}

/* The rank up to which a proof by PASS is enough for all (axes.c); 0: none is. */
static int bound_of(const gemel__pscene *s, gemel__ppass pass) {
  return !s->axes.typed ? 0 : pass == GEMEL__PASS_ANY ? s->axes.bound : s->axes.bound_of_values;
}

static int is_enough(const gemel__pscene *s, gemel__ppass pass, int rank) {
  return bound_of(s, pass) > 0 && rank >= bound_of(s, pass);
}

/* 1 if rank R is gone through: up to MOST, and one more where that would be enough for all, and the
 * last took few questions. */
static int is_wanted(const gemel__pscene *s, int r, int most, size_t questions) {
  if (s->pointwise || r <= most) {
    return r <= (s->pointwise ? 1 : most);
  }
  return most == GEMEL__CLAIM_RANK && r == bound_of(s, s->pass) && r <= GEMEL__CLAIM_MOST_RANK &&
         questions <= GEMEL__CLAIM_FEW;
}

/* Proves S's rule by S's pass, rank after rank: FAILED if memory is out. *RANK is the last that was
 * proved; 0: none. *SOME is 1 if there was an instance. */
static gemel__pflow prove_pass(gemel__pscene *s, int most_rank, gemel__claim *claim, int *rank,
                               int *some) {
  gemel__pflow flow = GEMEL__P_GO;
  size_t questions = 0;
  *rank = *some = s->without = 0;
  for (int r = 1;
       is_wanted(s, r, most_rank, questions) && !(*rank > 0 && is_enough(s, s->pass, *rank)); r++) {
    size_t before = s->ask.questions;
    flow = prove_rank(s, r, claim);
    questions = s->ask.questions - before;
    *some |= flow != GEMEL__P_SKIP;
    if (flow == GEMEL__P_GO) {
      *rank = r;
    } else if (flow != GEMEL__P_SKIP) {
      break;
    } else {
      s->without = r;
    }
  }
  return flow;
}

/* ---- Passes ---- */

static const unsigned every_dtype = (1u << GEMEL_DTYPE_COUNT) - 1;

/* Dtypes that are looked at together, where nothing distinguishes those that they stand for. F32
 * alone stands for the reals. */
static const unsigned groups[] = {
    1u << GEMEL_F32,
    1u << GEMEL_I8 | 1u << GEMEL_U8 | 1u << GEMEL_I64 | 1u << GEMEL_U64,
    1u << GEMEL_BOOL,
};

/* S's dtypes by PASS: GO if proved, SKIP if there is no instance, else OPEN. What is proved is part
 * of the claim. */
static gemel__pflow prove_part(gemel__pscene *s, gemel__ppass pass, unsigned dtypes, int most_rank,
                               gemel__claim *claim) {
  int rank, some;
  size_t scenes = claim->scenes;
  s->pass = pass;
  s->dtypes = dtypes;
  s->dropped = s->proved = 0;
  s->ask.bits = pass == GEMEL__PASS_BITS;
  gemel__pflow flow = prove_pass(s, most_rank, claim, &rank, &some);
  size_t proved = rank > 0 ? claim->scenes : 0;
  claim->scenes = scenes;
  if (flow == GEMEL__P_FAILED || !some) {
    return flow;
  }
  if (rank == 0 || claim->n_parts == GEMEL__CLAIM_PARTS) {
    return GEMEL__P_OPEN;
  }
  claim->parts[claim->n_parts].pass = pass;
  claim->parts[claim->n_parts++].dtypes = s->proved;
  claim->scenes += proved;
  claim->rank = claim->rank == 0 || rank < claim->rank ? rank : claim->rank;
  return GEMEL__P_GO;
}

static gemel__pflow nothing_proved(gemel__claim *claim, gemel__pflow flow) {
  claim->rank = 0;
  claim->scenes = claim->n_parts = 0;
  return flow;
}

/* 1 if EXPR names a dtype, or asks for what is of one dtype and not of another of its kind. */
static int names_dtype(const gemel__termexpr *expr) {
  for (uint32_t i = 0; i < expr->count; i++) {
    const gemel__termcode *c = &expr->code[i];
    if (c->kind == GEMEL__TERMCODE_DTYPE ||
        (c->kind == GEMEL__TERMCODE_FUNCTION &&
         (c->index == GEMEL__FUNCTION_bits || c->index == GEMEL__FUNCTION_promote ||
          c->index == GEMEL__FUNCTION_dtype || c->index == GEMEL__FUNCTION_exact_cast))) {
      return 1;
    }
  }
  return 0;
}

/* 1 if an operation of SIDE is given a dtype, by whatever name. */
static int gives_dtype(const struct gemel_rule *rule, const gemel__rule_side *side) {
  for (uint32_t k = 0; k < side->count; k++) {
    const gemel__pattern *p = &side->nodes[k];
    const gemel_attr_spec *specs =
        p->kind == GEMEL__PATTERN_APPLY ? gemel__op_at(rule->context, p->op)->record.attrs : NULL;
    for (uint32_t i = 0; specs != NULL && i < p->n_attrs; i++) {
      if (p->attrs[i].count > 0 && (specs[i].kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_DTYPE) {
        return 1;
      }
    }
  }
  return 0;
}

/* 1 if dtypes of different kinds may meet in the rule, or some of one kind are told apart. */
static int asks_dtypes(const struct gemel_rule *rule) {
  int asks = gives_dtype(rule, &rule->left) || gives_dtype(rule, &rule->right);
  for (uint32_t k = 0; k < rule->n_conditions && !asks; k++) {
    asks = names_dtype(&rule->conditions[k]);
  }
  return asks;
}

/* What was proved of one group after the other, where a scene has tensors of several dtypes: that
 * the rule holds for tensors of different groups, too. */
static gemel__pflow prove_together(gemel__pscene *s, int most_rank, gemel__claim *claim) {
  gemel__claim together = {0};
  unsigned dtypes = 0;
  for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
    dtypes |= groups[k];
  }
  gemel__pflow flow = s->most_dtypes > 1
                          ? prove_part(s, GEMEL__PASS_VALUES, dtypes, most_rank, &together)
                          : GEMEL__P_SKIP;
  if (flow == GEMEL__P_OPEN) {
    memcpy(claim->why, together.why, sizeof claim->why);
  } else if (flow == GEMEL__P_GO && together.rank < claim->rank) {
    claim->rank = together.rank;
  }
  return flow;
}

/* Where a dtype is asked for, all pairs of dtypes are gone through; else groups, one after the
 * other. */
static gemel__pflow prove_values(gemel__pscene *s, int most_rank, gemel__claim *claim) {
  gemel__pflow flow = GEMEL__P_GO;
  char why[sizeof claim->why] = "";
  if (asks_dtypes(s->rule)) {
    flow = prove_part(s, GEMEL__PASS_VALUES, every_dtype, most_rank, claim);
    return flow > GEMEL__P_SKIP ? nothing_proved(claim, flow) : GEMEL__P_GO;
  }
  for (size_t k = 0; k < sizeof groups / sizeof *groups && flow <= GEMEL__P_SKIP; k++) {
    flow = prove_part(s, GEMEL__PASS_VALUES, groups[k], most_rank, claim);
    if (flow == GEMEL__P_OPEN && s->without > 0) { /* what is open is of higher ranks only */
      flow = GEMEL__P_SKIP;
      most_rank = s->without;
      claim->rank = claim->rank < most_rank ? claim->rank : most_rank;
      memcpy(why, claim->why, sizeof why);
    }
  }
  if (why[0] != '\0') {
    memcpy(claim->why, why, sizeof why);
  }
  flow = flow <= GEMEL__P_SKIP ? prove_together(s, most_rank, claim) : flow;
  return flow > GEMEL__P_SKIP ? nothing_proved(claim, flow) : GEMEL__P_GO;
}

/* ---- Passes of elementwise rules ---- */

/* Floats bit by bit, one format after the other: 1 if all that there are were proved. What isn't in
 * the narrow ones isn't looked for in others; of those, one that takes too long is left out. */
static int prove_formats(gemel__pscene *s, gemel__claim *claim, gemel__pflow *flow) {
  static const gemel_dtype formats[] = {GEMEL_F16, GEMEL_BF16, GEMEL_F32, GEMEL_F64};
  int all = 1;
  uint32_t before = claim->n_parts;
  for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
    size_t open = s->ask.open;
    *flow = prove_part(s, GEMEL__PASS_BITS, 1u << formats[k], 1, claim);
    int waits = *flow == GEMEL__P_OPEN && s->ask.open > open;
    if (*flow == GEMEL__P_FAILED || (*flow == GEMEL__P_OPEN && (k < 2 || !waits))) {
      claim->n_parts = before;
      return 0;
    }
    all &= *flow != GEMEL__P_OPEN;
  }
  return all;
}

/* Integers and truths, a dtype after the other: OPEN if something isn't proved of the narrow ones,
 * or is no question of time. */
static gemel__pflow prove_integers(gemel__pscene *s, gemel__claim *claim) {
  static const gemel_dtype dtypes[] = {GEMEL_BOOL, GEMEL_I8,  GEMEL_U8,  GEMEL_I16, GEMEL_U16,
                                       GEMEL_I32,  GEMEL_U32, GEMEL_I64, GEMEL_U64};
  for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
    size_t open = s->ask.open;
    gemel__pflow flow = prove_part(s, GEMEL__PASS_VALUES, 1u << dtypes[k], 1, claim);
    int waits = flow == GEMEL__P_OPEN && s->ask.open > open;
    if (flow == GEMEL__P_FAILED || (flow == GEMEL__P_OPEN && (k < 3 || !waits))) {
      return flow;
    }
  }
  return GEMEL__P_GO;
}

/* Where dtypes meet, by casts: all of them in one go. */
static gemel__pflow prove_mixed(gemel__pscene *s, gemel__claim *claim) {
  gemel__pflow flow = GEMEL__P_OPEN;
  if (gemel_rule_describe(s->rule)->needs == 0) {
    flow = prove_part(s, GEMEL__PASS_BITS, every_dtype, 1, claim);
  }
  return flow == GEMEL__P_OPEN ? prove_part(s, GEMEL__PASS_VALUES, every_dtype, 1, claim) : flow;
}

static gemel__pflow prove_elementwise(gemel__pscene *s, gemel__claim *claim) {
  gemel__pflow flow = GEMEL__P_GO;
  int all = 0;
  s->ask.work = GEMEL__ASK_ARITHMETIC;
  if (asks_dtypes(s->rule)) {
    return prove_mixed(s, claim);
  }
  if (gemel_rule_describe(s->rule)->needs == 0) {
    all = prove_formats(s, claim, &flow);
  }
  if (flow != GEMEL__P_FAILED && !all) {
    int formats = claim->n_parts > 0, open = flow == GEMEL__P_OPEN;
    flow = prove_part(s, GEMEL__PASS_VALUES, 1u << GEMEL_F32, 1, claim);
    if (flow == GEMEL__P_OPEN && formats) {
      flow = GEMEL__P_GO;
    } else if (flow == GEMEL__P_SKIP && open && !formats) {
      snprintf(claim->why, sizeof claim->why, "floats that aren't reals");
      flow = GEMEL__P_OPEN;
    }
  }
  flow = flow <= GEMEL__P_SKIP ? prove_integers(s, claim) : flow;
  flow = flow <= GEMEL__P_SKIP ? prove_together(s, 1, claim) : flow;
  return flow <= GEMEL__P_SKIP && claim->n_parts > 0 ? GEMEL__P_GO : nothing_proved(claim, flow);
}

/* By the pass that says most of the elements; but what is proved of any up to some rank only may be
 * so of values up to a higher one. */
static gemel__pflow prove(gemel__pscene *s, int most_rank, gemel__claim *claim) {
  gemel__pflow flow = prove_part(s, GEMEL__PASS_ANY, 0, most_rank, claim);
  if (flow == GEMEL__P_OPEN) {
    return s->pointwise ? prove_elementwise(s, claim) : prove_values(s, most_rank, claim);
  }
  if (flow == GEMEL__P_GO && s->flow == GEMEL__P_OPEN && claim->rank < most_rank) {
    gemel__claim values = {0};
    flow = prove_values(s, most_rank, &values);
    flow = flow == GEMEL__P_FAILED ? flow : GEMEL__P_GO;
    *claim = values.rank > claim->rank ? values : *claim;
  }
  return flow;
}

/* Goes through the scenes of CLAIM, which has been proved, once more, and writes what it rests on
 * to FOLDER. All answers are known. */
static gemel_status record_claim(gemel__pscene *s, const char *folder, const gemel__claim *claim,
                                 gemel_error *error) {
  gemel__precord record;
  gemel__claim again = {0};
  gemel__pflow flow = GEMEL__P_GO;
  gemel_status status = gemel__precord_open(&record, folder, s->rule, error);
  s->record = status == GEMEL_OK ? &record : NULL;
  for (uint32_t k = 0; k < claim->n_parts && s->record != NULL && flow <= GEMEL__P_SKIP; k++) {
    s->pass = claim->parts[k].pass;
    s->dtypes = claim->parts[k].dtypes;
    s->ask.bits = s->pass == GEMEL__PASS_BITS;
    flow = prove_rank(s, claim->rank, &again);
  }
  status = s->record != NULL ? gemel__precord_close(&record, error) : status;
  s->record = NULL;
  if (status == GEMEL_OK && flow > GEMEL__P_SKIP) {
    status = flow == GEMEL__P_FAILED
                 ? gemel__no_memory(error, "a record")
                 : gemel__fail(error, GEMEL_INTERNAL, "a record that isn't of its proof");
  }
  return status;
}

/* 1 if the ranks of CLAIM are enough for all, by each pass that it rests on. */
static int is_for_all_ranks(const gemel__pscene *s, const gemel__claim *claim) {
  int all = claim->rank > 0;
  for (uint32_t k = 0; k < claim->n_parts; k++) {
    all &= s->pointwise || is_enough(s, claim->parts[k].pass, claim->rank);
  }
  return all;
}

static void say_why_not_all(const gemel__pscene *s, gemel__claim *claim) {
  int bound = bound_of(s, claim->n_parts > 0 ? claim->parts[0].pass : GEMEL__PASS_ANY);
  if (!s->axes.typed) {
    snprintf(claim->why, sizeof claim->why, "axes: %.180s", s->axes.why);
  } else if (bound > 0) {
    snprintf(claim->why, sizeof claim->why, "axes: for all ranks it takes %d", bound);
  } else {
    snprintf(claim->why, sizeof claim->why, "axes: reductions of values");
  }
}

gemel_status gemel__prove_rule(const struct gemel_rule *rule, int most_rank, const char *record,
                               gemel__claim *claim, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  memset(claim, 0, sizeof *claim);
  if (!gemel__ask_has_solver()) {
    snprintf(claim->why, sizeof claim->why, "no solver");
    return GEMEL_OK;
  }
  gemel__pscene *s = gemel__alloc(sizeof *s);
  if (s == NULL || scene_init(s, rule, 1)) {
    gemel__free(s, sizeof *s);
    return gemel__no_memory(error, "a proof");
  }
  gemel__pflow flow = gemel__axes_check(rule, &s->axes, error) == GEMEL_OK
                          ? prove(s, most_rank, claim)
                          : GEMEL__P_FAILED;
  claim->all_ranks = is_for_all_ranks(s, claim);
  if (claim->all_ranks) {
    claim->why[0] = '\0';
  } else if (claim->rank > 0 && (claim->rank >= most_rank || claim->why[0] == '\0')) {
    say_why_not_all(s, claim);
  }
  claim->questions = s->ask.questions;
  claim->hints = s->hints;
  gemel__claim_say(claim);
  if (flow == GEMEL__P_FAILED) {
    status = gemel__no_memory(error, "a proof");
  } else if (record != NULL && claim->rank > 0) {
    status = record_claim(s, record, claim, error);
  }
  gemel__free(s->variables, GEMEL__RULE_VARIABLES * sizeof *s->variables);
  gemel__pscene_clear(s);
  gemel__free(s, sizeof *s);
  return status;
}
