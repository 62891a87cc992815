/*
 * Several operations or rules at a time: what is reported, and its order, is that of one at a time,
 * byte for byte but for the clock; the sink is called on the calling thread; the first subject that
 * fails ends the run in the same place. A build with -fsanitize=thread makes these tests about
 * races, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>

enum { ROOM = 1 << 20 };

/* The JSON of a run's records, a line each. */
struct heard {
  char *text;
  size_t used, records, refuted;
  pthread_t thread;
};

static void take(void *user, const gemel_record *record) {
  struct heard *h = user;
  gemel_record timeless = *record;
  timeless.seconds = 0;
  CT_CHECK(pthread_equal(pthread_self(), h->thread));
  h->records++;
  h->refuted += record->verdict == GEMEL_REFUTED || record->verdict == GEMEL_OVERSTATED;
  h->used += gemel_record_json(&timeless, h->text + h->used, ROOM - h->used);
  CT_CHECK(h->used + 2 < ROOM);
  memcpy(h->text + h->used++, "\n", 2);
}

/* Right ones, wrong ones, one without instances, one that takes long and one that doesn't. */
static const char rules_text[] =
    "rule slow_one in stabilize needs afn, nsz, improves: log(exp(x)) => x\n"
    "rule wrong_constant in canonicalize: x + 1 => x + 2 where float(x)\n"
    "rule right_one in canonicalize: -(-x) => x\n"
    "rule idle_needs in canonicalize needs nsz: x * 1 => x\n"
    "rule undeclared in canonicalize: x + 0 => x where float(x)\n"
    "rule nothing_matches in canonicalize: x + y => x where float(x) and integer(x)\n"
    "rule wrong_type in canonicalize: sum(x) => x\n"
    "rule shapes in canonicalize:\n"
    "    dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q])\n";
enum { RULES = 8 };

static gemel_verify_options options_for(struct heard *h, size_t jobs) {
  gemel_verify_options options = {0};
  memset(h, 0, sizeof *h);
  h->text = calloc(1, ROOM);
  h->thread = pthread_self();
  options.size = sizeof options;
  options.seed = 3;
  options.instances = 12;
  options.sink = take;
  options.user = h;
  options.jobs = jobs;
  return options;
}

static struct heard verify_rules(size_t jobs, gemel_verify_summary *summary) {
  struct heard h;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_verify_options options = options_for(&h, jobs);
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules =
      gemel_rules_parse(context, rules_text, strlen(rules_text), "jobs.rules", &error);
  ct_context("%zu jobs: %s", jobs, error.text);
  CT_EQ_INT(gemel_verify_rules(context, rules, NULL, &options, summary, &error), GEMEL_OK);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return h;
}

static struct heard verify_operations(size_t jobs, gemel_verify_summary *summary) {
  struct heard h;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_verify_options options = options_for(&h, jobs);
  gemel_context *context = gemel_context_new(&error);
  options.ops = "[adel]*";
  options.instances = 4;
  ct_context("%zu jobs: %s", jobs, error.text);
  CT_EQ_INT(gemel_verify_operations(context, &options, summary, &error), GEMEL_OK);
  gemel_context_unref(context);
  return h;
}

typedef struct heard (*verifier)(size_t jobs, gemel_verify_summary *summary);
static const verifier rules_verifier = verify_rules, operations_verifier = verify_operations;

static void same_report(const void *data) {
  static const size_t jobs[] = {1, 2, 7, 1000};
  const verifier verify = *(const verifier *)data;
  gemel_verify_summary summary, another;
  struct heard alone = verify(0, &summary);
  CT_CHECK(alone.records >= GEMEL_TIER_COUNT * RULES);
  CT_CHECK(verify != verify_rules || alone.refuted >= 4);
  for (size_t k = 0; k < CT_COUNT(jobs); k++) {
    struct heard together = verify(jobs[k], &another);
    CT_EQ_UINT(together.records, alone.records);
    CT_EQ_STR(together.text, alone.text);
    CT_EQ_MEM(&another, &summary, sizeof summary);
    free(together.text);
  }
  free(alone.text);
}

/* ---- Memory ---- */

/* Two operations, two at a time. */
static int small_run(void *data) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_verify_options options = {0};
  gemel_status status;
  (void)data;
  if (context == NULL) {
    return error.status;
  }
  options.size = sizeof options;
  options.instances = 1;
  options.seed = 1;
  options.ops = "[ns][eq][gr]"; /* neg, sqr */
  options.tiers = 1u << GEMEL_TIER_INTEGER;
  options.jobs = 2;
  status = gemel_verify_operations(context, &options, NULL, &error);
  gemel_context_unref(context);
  return status;
}

static void out_of_memory(const void *data) {
  size_t tried = ct_oom(small_run, NULL);
  (void)data;
  CT_CHECK(tried > 200);
  ct_property("refusals", (long long)tried);
}

static const ct_test tests[] = {
    CT_TEST("same_report/operations", same_report, &operations_verifier),
    CT_TEST("same_report/rules", same_report, &rules_verifier),
    CT_TEST("out_of_memory", out_of_memory, NULL),
};

void ct_register(void) {
  ct_suite("jobs", tests, CT_COUNT(tests));
}
