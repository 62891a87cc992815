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
  h->refuted +=
      record->verdict == GEMEL_VERDICT_REFUTED || record->verdict == GEMEL_VERDICT_OVERSTATED;
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

/* ---- Stopped ---- */

/* Of a run that is stopped, what was begun is reported as in a complete one, up to a subject's end,
 * and all that comes after isn't run. */
struct stopping {
  struct heard heard; /* first */
  int asked, goes_on; /* how often it goes on */
  size_t not_run;
};

static void take_stopped(void *user, const gemel_record *record) {
  struct stopping *s = user;
  int untried = strcmp(record->detail, "the run was stopped before it was tried") == 0;
  CT_CHECK(untried || s->not_run == 0);
  CT_CHECK(!untried || record->verdict == GEMEL_VERDICT_NOT_RUN);
  s->not_run += (size_t)untried;
  if (untried) {
    s->heard.records++;
  } else {
    take(&s->heard, record);
  }
}

static int go_on(void *user, const char *doing) {
  struct stopping *s = user;
  CT_CHECK(pthread_equal(pthread_self(), s->heard.thread));
  CT_CHECK(doing != NULL && doing[0] != '\0');
  return s->asked++ >= s->goes_on;
}

static void stops(const void *data) {
  static const size_t jobs[] = {1, 3};
  struct heard whole = verify_operations(1, NULL);
  (void)data;
  for (size_t k = 0; k < 2 * CT_COUNT(jobs); k++) {
    struct stopping s = {.goes_on = k % 2 == 0 ? 0 : 3};
    gemel_verify_options options = options_for(&s.heard, jobs[k / 2]);
    gemel_context *context = gemel_context_new(NULL);
    options.ops = "[adel]*";
    options.instances = 4;
    options.sink = take_stopped;
    options.tick = go_on;
    options.user = &s;
    ct_context("%zu jobs, %d times on", jobs[k / 2], s.goes_on);
    CT_EQ_INT(gemel_verify_operations(context, &options, NULL, NULL), GEMEL_OK);
    CT_EQ_UINT(s.heard.records, whole.records);
    CT_CHECK(s.not_run > 0);
    CT_CHECK(jobs[k / 2] > 1 || (s.not_run == whole.records) == (s.goes_on == 0));
    CT_CHECK(strncmp(whole.text, s.heard.text, s.heard.used) == 0);
    gemel_context_unref(context);
    free(s.heard.text);
  }
  free(whole.text);
}

/* ---- Reports ---- */

typedef struct heard (*verifier)(size_t jobs, gemel_verify_summary *summary);
static const verifier rules_verifier = verify_rules, operations_verifier = verify_operations;

static void same_report(const void *data) {
  static const size_t jobs[] = {1, 2, 7, 1000};
  const verifier verify = *(const verifier *)data;
  gemel_verify_summary summary = {.size = sizeof summary}, another = {.size = sizeof another};
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
    CT_TEST("stops", stops, NULL),
    CT_TEST("out_of_memory", out_of_memory, NULL),
};

void ct_register(void) {
  ct_suite("jobs", tests, CT_COUNT(tests));
}
