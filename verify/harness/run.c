/* SPDX-License-Identifier: MIT
 *
 * What all parts of a run share: default options, random streams, records.
 */
#include "harness/run.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "core/alloc.h"
#include "core/error.h"
#include "harness/report.h"

gemel_status gemel__run_init(gemel__run *run, gemel_context *context,
                             const gemel_verify_options *options,
                             const gemel_verify_summary *summary, gemel_error *error) {
  memset(run, 0, sizeof *run);
  run->context = context;
  gemel_status status = gemel__take_options(&run->options, sizeof run->options, options,
                                            "gemel_verify_options", error);
  status = status ? status : gemel__check_result(summary, "gemel_verify_summary", error);
  if (status == GEMEL_OK && context == NULL) {
    status = gemel__fail(error, GEMEL_BAD_ARGUMENT, "the context is null");
  }
  if (run->options.instances == 0) {
    run->options.instances = run->options.quick ? GEMEL__QUICK_INSTANCES : GEMEL__USUAL_INSTANCES;
  }
  if (run->options.tiers == 0) {
    run->options.tiers = (1u << GEMEL_TIER_COUNT) - 1;
  }
  run->summary.size = sizeof run->summary;
  return status;
}

void gemel__run_finish(const gemel__run *run, gemel_verify_summary *summary) {
  gemel__give_result(summary, &run->summary, sizeof run->summary);
}

int gemel__run_wants(const gemel__run *run, gemel_tier tier) {
  return (run->options.tiers >> tier & 1) != 0;
}

void gemel__run_random(const gemel__run *run, const char *name, gemel_tier tier, size_t k,
                       gemel__random *random) {
  uint64_t key = (uint64_t)tier * 1000003 + k;
  for (; *name != '\0'; name++) {
    key = key * 0x100000001b3u ^ (unsigned char)*name;
  }
  gemel__random_split(random, run->options.seed, key);
}

void gemel__record_init(gemel_record *record, const gemel__run *run, const char *kind,
                        const char *name, gemel_tier tier) {
  memset(record, 0, sizeof *record);
  record->size = sizeof *record;
  record->kind = kind;
  record->name = name;
  record->tier = tier;
  record->how = GEMEL_EVIDENCE_NONE;
  record->detail = "";
  record->seed = run->options.seed;
  record->verdict = GEMEL_VERDICT_NOT_RUN;
}

void gemel__record_emit(gemel__run *run, gemel_record *record) {
  if (record->how != GEMEL_EVIDENCE_FIELD) {
    record->error_probability = 0; /* only residues have one */
  }
  run->summary.records++;
  run->summary.verdicts[record->verdict]++;
  if (run->options.sink != NULL) {
    run->options.sink(run->options.user, record);
  }
}

void gemel__record_refuted(gemel__run *run, gemel_record *record, const gemel__instance *instance,
                           const gemel_graph *other, gemel_tensor *const *values, const char *place,
                           const char *expected, const char *got, uint64_t seed) {
  char *text = gemel__counterexample(instance, other, values, place, expected, got);
  char *path =
      gemel__replay_write(run->options.replay_folder, record, instance, other, values, seed);
  record->verdict = GEMEL_VERDICT_REFUTED;
  record->counterexample = text != NULL ? text : "(out of memory)";
  record->replay = path;
  gemel__record_emit(run, record);
  gemel_text_free(text);
  gemel__free_string(path);
}

/* ---- Inquiries ---- */

void gemel__inquiry_begin(gemel__inquiry *q, gemel__run *run, const char *kind, const char *name,
                          gemel_tier tier) {
  memset(q, 0, sizeof *q);
  q->run = run;
  q->started = gemel__clock();
  gemel__record_init(&q->record, run, kind, name, tier);
}

void gemel__inquiry_add(gemel__inquiry *q, const gemel__outcome *one) {
  gemel__outcome total = q->outcome;
  q->outcome = *one;
  q->outcome.compared += total.compared;
  q->outcome.informative += total.informative;
  q->outcome.inexact += total.inexact;
  q->outcome.agreed += total.agreed;
  q->outcome.worst = one->worst > total.worst ? one->worst : total.worst;
}

gemel_status gemel__inquiry_each(gemel__inquiry *q, size_t n, gemel__asker ask, void *user,
                                 gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < n && status == GEMEL_OK && !q->refuted; k++) {
    if (gemel__tick(q->run->ticker) != GEMEL_OK) {
      break;
    }
    gemel__ticker_at(q->run->ticker, k, n);
    status = ask(q, user, k, error);
  }
  return status;
}

void gemel__inquiry_refute(gemel__inquiry *q, const gemel__instance *instance,
                           const gemel_graph *other, gemel_tensor *const *values, const char *place,
                           const char *expected, const char *got) {
  q->refuted = 1;
  q->record.seconds = gemel__clock() - q->started;
  gemel__record_refuted(q->run, &q->record, instance, other, values, place, expected, got,
                        q->record.seed);
}

void gemel__inquiry_end(gemel__inquiry *q, gemel_verdict verdict, gemel_evidence how,
                        const char *detail) {
  q->record.seconds = gemel__clock() - q->started;
  q->record.verdict = verdict;
  q->record.how = how;
  q->record.detail = detail;
  gemel__record_emit(q->run, &q->record);
}

void gemel__inquiry_answer(gemel__inquiry *q, const gemel__answer *a,
                           const gemel__instance *instance, const gemel_graph *other,
                           uint64_t seed) {
  char place[120];
  q->record.elements = a->compared;
  q->record.error_probability = a->error_probability;
  if (a->verdict != GEMEL_VERDICT_REFUTED) {
    gemel__inquiry_end(q, a->verdict, a->how, a->detail);
    return;
  }
  q->refuted = 1;
  q->record.seconds = gemel__clock() - q->started;
  q->record.verdict = a->verdict;
  q->record.how = a->how;
  q->record.detail = a->detail;
  snprintf(place, sizeof place, "%s %zu, element %zu",
           q->record.tier == GEMEL_TIER_GRADIENT ? "derivative" : "result", a->output, a->element);
  gemel__record_refuted(q->run, &q->record, instance, other, a->witness, place, a->expected, a->got,
                        seed);
}
