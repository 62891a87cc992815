/*
 * What gemel_verify_kernel says of a kernel, for the tests of wrong and right ones. Included by the
 * test programs after ct.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_JUDGED_H
#define GEMEL_TESTS_JUDGED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>

enum { SEEDS = 1 /* GEMEL_CORPUS_SEEDS asks for others */ };

enum { I = 1 << GEMEL_TIER_INTEGER, F = 1 << GEMEL_TIER_FLOAT, S = 1 << GEMEL_TIER_SPECIAL };

static int64_t count(const gemel_view *v) {
  int64_t n = 1;
  for (int k = 0; k < v->rank; k++) {
    n *= v->shape[k];
  }
  return n;
}

/* How many tiers have which verdict, and all that they say. */
typedef struct verdicts {
  size_t refuted, passed, not_run, not_applicable, other;
  char text[6000];
} verdicts;

static void hear(void *user, const gemel_record *r) {
  verdicts *v = user;
  size_t used = strlen(v->text);
  switch (r->verdict) {
  case GEMEL_VERDICT_REFUTED:
    v->refuted++;
    break;
  case GEMEL_VERDICT_PASSED:
    v->passed++;
    break;
  case GEMEL_VERDICT_NOT_RUN:
    v->not_run++;
    break;
  case GEMEL_VERDICT_NOT_APPLICABLE:
    v->not_applicable++;
    break;
  default:
    v->other++;
  }
  snprintf(v->text + used, sizeof v->text - used, "%s %s %s %s\n", gemel_tier_name(r->tier),
           gemel_verdict_name(r->verdict), r->detail,
           r->counterexample != NULL ? r->counterexample : "");
}

/* The verdicts on KERNEL, for OPERATION; sink and user of OPTIONS are set. NAME is for messages. */
static verdicts judge_kernel(const char *name, const char *operation, const gemel_kernel *kernel,
                             gemel_verify_options options) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  verdicts v = {0};
  options.size = sizeof options;
  options.sink = hear;
  options.user = &v;
  CT_EQ_INT(gemel_verify_kernel(context, operation, kernel, &options, NULL, &error), GEMEL_OK);
  ct_context("%s, seed %llu: %s%s", name, (unsigned long long)options.seed, error.text, v.text);
  gemel_context_unref(context);
  return v;
}

#endif
