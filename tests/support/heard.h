/* SPDX-License-Identifier: MIT
 *
 * What the harness says, for the tests that judge it: a sink that counts verdicts and keeps the
 * texts that a failing test prints, and runs of the harness that are heard by it.
 */
#ifndef GEMEL_TESTS_SUPPORT_HEARD_H
#define GEMEL_TESTS_SUPPORT_HEARD_H

#include <stdio.h>
#include <string.h>
#include <gemel/verify.h>
#include "../ct.h"

typedef struct heard {
  size_t records, passed, refuted;
  size_t good; /* passed, or not applicable */
  size_t verdicts[GEMEL_VERDICT_COUNT], tiers[GEMEL_TIER_COUNT][GEMEL_VERDICT_COUNT];
  gemel_pair_result result; /* of a pair */
  gemel_verdict worst;
  char bad[2400];  /* of the first that is worst: "NAME TIER: VERDICT (DETAIL) COUNTEREXAMPLE" */
  char all[20000]; /* "NAME TIER: VERDICT by EVIDENCE; DETAIL", a line a record */
  char counterexample[4000], replay[300]; /* of the last that is refuted */
} heard;

static inline void hear(void *user, const gemel_record *r) {
  heard *h = user;
  size_t used = strlen(h->all);
  const char *tier = gemel_tier_name(r->tier), *verdict = gemel_verdict_name(r->verdict);
  int none = r->how == GEMEL_EVIDENCE_NONE, good = r->verdict == GEMEL_VERDICT_PASSED;
  good |= r->verdict == GEMEL_VERDICT_NOT_APPLICABLE;
  h->records++;
  h->passed += r->verdict == GEMEL_VERDICT_PASSED;
  h->good += (size_t)good;
  h->verdicts[r->verdict]++;
  h->tiers[r->tier][r->verdict]++;
  snprintf(h->all + used, sizeof h->all - used, "%s %s: %s%s%s; %s\n", r->name, tier, verdict,
           none ? "" : " by ", gemel_evidence_name(r->how), r->detail);
  if (gemel_verdict_severity(r->verdict) > gemel_verdict_severity(h->worst)) {
    h->worst = r->verdict;
    snprintf(h->bad, good ? 0 : sizeof h->bad, "%s %s: %s (%s) %s", r->name, tier, verdict,
             r->detail, r->counterexample != NULL ? r->counterexample : "");
  }
  if (r->verdict == GEMEL_VERDICT_REFUTED) {
    h->refuted++;
    snprintf(h->counterexample, sizeof h->counterexample, "%s", r->counterexample);
    snprintf(h->replay, sizeof h->replay, "%s", r->replay != NULL ? r->replay : "");
  }
}

/* OPTIONS with its size and, unless it has another sink, with one that fills H, which is emptied.
 */
static inline gemel_verify_options heard_by(heard *h, gemel_verify_options options) {
  memset(h, 0, sizeof *h);
  h->worst = GEMEL_VERDICT_PASSED;
  h->result.size = sizeof h->result;
  options.size = sizeof options;
  options.user = options.sink != NULL ? options.user : h;
  options.sink = options.sink != NULL ? options.sink : hear;
  return options;
}

/* A run that ended with STATUS, which is a failure unless GEMEL_OK, was about WHAT: so are the
 * checks that follow. */
static inline void heard_of(const heard *h, const char *what, uint64_t seed, gemel_status status,
                            const gemel_error *problem) {
  ct_context("%s, seed %llu: %s%s", what, (unsigned long long)seed, h->bad,
             status != GEMEL_OK ? problem->text : "");
  CT_EQ_INT(status, GEMEL_OK);
}

/* What is said of operations of CONTEXT; WHAT is for messages. */
static inline heard hear_operations(gemel_context *context, const char *what,
                                    gemel_verify_options options) {
  heard h;
  gemel_error problem;
  options = heard_by(&h, options);
  gemel_status status = gemel_verify_operations(context, &options, NULL, &problem);
  heard_of(&h, what, options.seed, status, &problem);
  return h;
}

/* What is said of KERNEL for OPERATION; WHAT is for messages. */
static inline heard hear_kernel(gemel_context *context, const char *what, const char *operation,
                                const gemel_kernel *kernel, gemel_verify_options options) {
  heard h;
  gemel_error problem;
  options = heard_by(&h, options);
  gemel_status status = gemel_verify_kernel(context, operation, kernel, &options, NULL, &problem);
  heard_of(&h, what, options.seed, status, &problem);
  return h;
}

/* What is said of A and B, a pair called WHAT. */
static inline heard hear_pair(const gemel_graph *a, const gemel_graph *b, unsigned allow,
                              const char *what, gemel_verify_options options) {
  heard h;
  gemel_error problem;
  options = heard_by(&h, options);
  gemel_status status = gemel_verify_pair(a, b, what, allow, &options, &h.result, &problem);
  heard_of(&h, what, options.seed, status, &problem);
  return h;
}

/* What is said of the rules in TEXT; NULL: of gemel's own. */
static inline heard hear_rules(const char *text, gemel_verify_options options) {
  heard h;
  gemel_error problem;
  gemel_context *context = gemel_context_new(&problem);
  gemel_rules *rules =
      text != NULL ? gemel_rules_parse(context, text, strlen(text), "t.rules", &problem) : NULL;
  options = heard_by(&h, options);
  gemel_status status = text != NULL && rules == NULL
                            ? problem.status
                            : gemel_verify_rules(context, rules, NULL, &options, NULL, &problem);
  heard_of(&h, text != NULL ? text : "gemel's own", options.seed, status, &problem);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return h;
}

#endif
