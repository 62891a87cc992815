/* SPDX-License-Identifier: MIT
 *
 * Replay: asks a saved question (harness/saved.h) again, on its graphs and values. It needs neither
 * the sampler nor the seed that found it.
 */
#include "pairs/contrast.h"
#include "harness/run.h"

#include <stdio.h>
#include <string.h>
#include "core/error.h"
#include "harness/saved.h"

/* Asks the whole tier again: for a pair that was refuted without values, or by the models alone. */
static gemel_status replay_pair(gemel__run *run, const gemel__saved *s, gemel_error *error) {
  gemel_verify_options options = run->options;
  gemel_pair_result result = {.size = sizeof result};
  gemel_status status;
  options.size = sizeof options;
  options.tiers = 1u << s->tier;
  options.seed = s->seed;
  status = gemel_verify_pair(s->first->graph, s->second->graph, s->name, GEMEL_PAIR_DEFAULT,
                             &options, &result, error);
  if (status == GEMEL_OK) {
    run->summary.records++;
    run->summary.verdicts[result.verdict]++;
  }
  return status;
}

/* Refutes a pair one graph of which ends in an error at its values, and the other doesn't. *FOUND:
 * it is such a pair. */
static gemel_status replay_error(gemel__inquiry *q, gemel__saved *s, int *found,
                                 gemel_error *error) {
  gemel_error of[2] = {{GEMEL_OK, 0, 0, ""}, {GEMEL_OK, 0, 0, ""}};
  gemel__random random;
  gemel__random_seed(&random, s->seed);
  gemel_status a = gemel__instance_run(&s->pair.a, s->first->inputs, &random, &of[0]);
  gemel_status b = gemel__instance_run(&s->pair.b, s->first->inputs, &random, &of[1]);
  *found = (a == GEMEL_OK) != (b == GEMEL_OK);
  if (a == GEMEL_NO_MEMORY || b == GEMEL_NO_MEMORY) {
    return gemel__no_memory(error, "results");
  }
  if (*found) {
    q->record.detail = a == GEMEL_OK ? "narrows: the second graph ends in an error"
                                     : "widens: the first graph ends in an error";
    q->record.instances = 1;
    gemel__inquiry_refute(q, &s->pair.a, s->pair.b.graph, s->first->inputs, q->record.detail,
                          a == GEMEL_OK ? "a result" : of[0].text,
                          b == GEMEL_OK ? "a result" : of[1].text);
  }
  return GEMEL_OK;
}

/* Checks the pair at its values or, if each graph was compared with its reference, each graph until
 * one is refuted. */
static gemel_status replay_check(gemel__inquiry *q, gemel__saved *s, gemel__check check,
                                 gemel_error *error) {
  const gemel__instance *sides[] = {&s->pair.a, s->compared ? NULL : &s->pair.b}, *side = NULL;
  gemel__random random;
  gemel__trial trial = {NULL, &random, s->compared ? &s->pair.b : NULL};
  gemel__outcome o;
  memset(&o, 0, sizeof o);
  gemel__random_seed(&random, s->seed);
  for (int k = 0; k < 2 && !o.refuted; k++) {
    if (sides[k] != NULL && sides[k]->graph != NULL) {
      side = sides[k];
      memset(&o, 0, sizeof o);
      gemel_status status = check(side, s->first->inputs, &trial, &o, error);
      int is_error = 0;
      if (s->compared && gemel__is_no_result(status)) {
        GEMEL__TRY(replay_error(q, s, &is_error, error));
      }
      if (is_error || status != GEMEL_OK) {
        return is_error ? GEMEL_OK : status;
      }
      gemel__inquiry_add(q, &o);
    }
  }
  if (!o.refuted && s->compared && s->tier == GEMEL_TIER_REAL) {
    return replay_pair(q->run, s, error);
  }
  q->record.instances = 1;
  q->record.elements = q->outcome.compared;
  q->record.worst = q->outcome.worst;
  if (o.refuted) {
    char place[160];
    size_t used = gemel__outcome_place(&o, place, sizeof place);
    snprintf(place + used, sizeof place - used, " (%s)", o.variant != NULL ? o.variant : "exact");
    q->record.detail = place;
    gemel__inquiry_refute(q, side, s->compared ? s->pair.b.graph : NULL, s->first->inputs, place,
                          o.expected, o.got);
  } else {
    gemel__inquiry_end(q, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_NONE, "");
  }
  return GEMEL_OK;
}

static gemel_status replay_gradient(gemel__inquiry *q, gemel__saved *s, gemel_error *error) {
  gemel__answer answer;
  gemel__partial parts[GEMEL__MOST_PARTIALS];
  size_t n = gemel__instance_partials(&s->pair.a, parts), k;
  gemel_status status = gemel__decide_gradient(&s->pair.a, s->seed, 5, 2, &answer, error);
  for (k = 0; k < n && status == GEMEL_OK && answer.verdict != GEMEL_VERDICT_REFUTED; k++) {
    gemel__answer_clear(&answer);
    status = gemel__decide_gradient_part(&s->pair.a, parts[k], s->seed, 3, 1, 0, &answer, error);
  }
  if (status == GEMEL_OK) {
    q->record.instances = 1;
    gemel__inquiry_answer(q, &answer, &s->pair.a, NULL, s->seed);
    gemel__answer_clear(&answer);
  } else if (status == GEMEL_DECLINED) {
    return gemel__fail(error, GEMEL_BAD_FILE,
                       "the graph has nothing of a float dtype to differentiate");
  }
  return status;
}

static gemel_status replay(gemel__run *run, gemel__saved *s, gemel_error *error) {
  static const gemel__check alone[GEMEL_TIER_COUNT] = {
#define ALONE(E, fill, check, dtypes, how) [GEMEL_TIER_##E] = check,
      GEMEL__TIER_CHECKS(ALONE)
#undef ALONE
  };
  /* for two graphs: exact results, bits or derivatives */
  static const gemel__check compared[GEMEL_TIER_COUNT] = {
      gemel__check_pair, gemel__check_contrast_ways, gemel__check_contrast_ways,
      gemel__check_derivatives, gemel__check_contrast_ways};
  gemel__check check = (s->compared ? compared : alone)[s->tier];
  if (check == gemel__check_pair && strcmp(s->kind, "pair") == 0) {
    check = gemel__check_equal;
  }
  int by_model = s->tier == GEMEL_TIER_REAL || s->tier == GEMEL_TIER_GRADIENT;
  gemel__inquiry q;
  gemel__inquiry_begin(&q, run, s->kind, s->name, s->tier);
  q.record.seed = s->seed;
  if (!s->has_values && s->compared && by_model) {
    return replay_pair(run, s, error);
  }
  if (s->tier == GEMEL_TIER_GRADIENT && s->second == NULL) {
    return replay_gradient(&q, s, error);
  }
  return check == NULL || !s->has_values
             ? gemel__fail(error, GEMEL_BAD_FILE, "tier %s can't be replayed without %s",
                           gemel_tier_name(s->tier), check == NULL ? "two graphs" : "values")
             : replay_check(&q, s, check, error);
}

gemel_status gemel_verify_replay(gemel_context *context, const char *path,
                                 const gemel_verify_options *options, gemel_verify_summary *summary,
                                 gemel_error *error) {
  gemel__saved saved;
  gemel__run run;
  gemel_status status = gemel__run_init(&run, context, options, summary, error);
  if (status == GEMEL_OK) {
    status = gemel__saved_read(&saved, context, path, error);
    status = status ? status : replay(&run, &saved, error);
    gemel__saved_clear(&saved);
  }
  gemel__run_finish(&run, summary);
  return status;
}
