/* SPDX-License-Identifier: MIT
 *
 * A run of the harness: options with their defaults filled in, and counts of records and verdicts.
 */
#ifndef GEMEL__HARNESS_RUN_H
#define GEMEL__HARNESS_RUN_H

#include "tiers/model.h"
#include "base/clock.h"
#include "base/tick.h"
#include "base/buffer.h"
#include "tiers/tiers.h"

typedef struct gemel__run {
  gemel_context *context;
  gemel_verify_options options;
  gemel_verify_summary summary;
  struct gemel__point *point; /* of a pair: receives inputs that refute it; NULL: not wanted */
  gemel__ticker *ticker;      /* of a pair: when to stop; NULL: never */
  gemel__ticker *between;     /* of operations and rules: when to stop, asked between subjects */
  const gemel_proof *proof;   /* of a rule: what is proved of it; NULL: nobody asked */
  const struct gemel__hints *hints; /* of a rule: what to try besides; NULL: nothing */
  int samples;                      /* of a pair: 1: the solver is not asked */
  int brief;          /* of a pair: 1: only the verdict matters, a difference needn't be shown */
  double effort;      /* of a pair: share of the usual number of points; 0: all */
  const char *scaled; /* of a pair: which sizes the caller scaled; NULL or "": none */
} gemel__run;

/* Fills in RUN with OPTIONS and their defaults. GEMEL_BAD_ARGUMENT: options, or a SUMMARY that
 * gemel__run_finish is to fill, of size 0. */
gemel_status gemel__run_init(gemel__run *run, gemel_context *context,
                             const gemel_verify_options *options,
                             const gemel_verify_summary *summary, gemel_error *error);
void gemel__run_finish(const gemel__run *run, gemel_verify_summary *summary);

/* 1 if TIER is asked for. */
int gemel__run_wants(const gemel__run *run, gemel_tier tier);

/* Seeds RANDOM for instance K of subject NAME in TIER. */
void gemel__run_random(const gemel__run *run, const char *name, gemel_tier tier, size_t k,
                       gemel__random *random);

/* Random streams that belong to no instance: gemel__aside of one stands for K in gemel__run_random.
 * Streams of one number differ by their tier, or by the subject's name. */
enum {
  /* of pairs, tier real */
  GEMEL__ASIDE_AGREE = 0,
  GEMEL__ASIDE_SCOUT = 1,
  GEMEL__ASIDE_SHARE = 2,
  GEMEL__ASIDE_DIVIDE = 3,
  GEMEL__ASIDE_LOOK = 4,
  GEMEL__ASIDE_HOLD = 5,
  GEMEL__ASIDE_DEFINED = 6,
  GEMEL__ASIDE_FLIPS = 7,
  GEMEL__ASIDE_STRAIN = 8,
  GEMEL__ASIDE_UNDEFINED = 9,
  GEMEL__ASIDE_EXAMPLE = 10,
  GEMEL__ASIDE_GENERAL = 16, /* and those behind it */
  /* of rules: instances, with GEMEL_TIER_COUNT */
  GEMEL__ASIDE_FULL = 0,
  GEMEL__ASIDE_SWEEP = 1,
  GEMEL__ASIDE_EDGES = 2,
  GEMEL__ASIDE_ARMS = 4,
  GEMEL__ASIDE_FULL_INTEGERS = 5,
  GEMEL__ASIDE_HINTS = 6,
  GEMEL__ASIDE_CONSTANTS = 8, /* and those behind it */
  /* of rules, tier real */
  GEMEL__ASIDE_FOLDED = 0,
  GEMEL__ASIDE_NARROWS = 1,
  /* of rules, tiers integer and special */
  GEMEL__ASIDE_SMALLER_WITNESS = 0,
  GEMEL__ASIDE_MEASURE_MORE = 1,
  GEMEL__ASIDE_MEETINGS = 2,
  GEMEL__ASIDE_LENGTHS = 3,
  GEMEL__ASIDE_COUNTED = 4,
  GEMEL__ASIDE_SUMS = 5,
  GEMEL__ASIDE_RULE_FLIPS = 512 /* and those behind it */
};
static inline size_t gemel__aside(size_t number) {
  return SIZE_MAX - number;
}

enum { GEMEL__USUAL_INSTANCES = 96, GEMEL__QUICK_INSTANCES = 8 }; /* unless options say otherwise */

/* Initialises a record: seed, empty texts, verdict not run. */
void gemel__record_init(gemel_record *record, const gemel__run *run, const char *kind,
                        const char *name, gemel_tier tier);
void gemel__record_emit(gemel__run *run, gemel_record *record);

/* One tier of a question: what its loop over instances has found so far. */
typedef struct gemel__inquiry {
  gemel__run *run;
  gemel_record record;    /* counts instances; emitted once */
  gemel__outcome outcome; /* counts summed over the instances; details of the refuted one */
  size_t declined;        /* instances that the kernel on trial (or the reference) declined */
  int refuted;            /* 1: an instance was refuted, and the record is emitted */
  double started;
} gemel__inquiry;

void gemel__inquiry_begin(gemel__inquiry *q, gemel__run *run, const char *kind, const char *name,
                          gemel_tier tier);

/* Adds the counts of ONE, whose details replace those that were there. */
void gemel__inquiry_add(gemel__inquiry *q, const gemel__outcome *one);

/* Judges instance K, or refuses it with a status. USER is the caller's. */
typedef gemel_status (*gemel__asker)(gemel__inquiry *q, void *user, size_t k, gemel_error *error);

/* Calls ASK for the instances 0 to N − 1, until one is refuted, the caller says stop, or ASK fails.
 */
gemel_status gemel__inquiry_each(gemel__inquiry *q, size_t n, gemel__asker ask, void *user,
                                 gemel_error *error);

/* Emits the record of a refutation, as gemel__record_refuted. */
void gemel__inquiry_refute(gemel__inquiry *q, const gemel__instance *instance,
                           const gemel_graph *other, gemel_tensor *const *values, const char *place,
                           const char *expected, const char *got);

/* Emits the record with the models' answer; for a refutation with counterexample and replay. OTHER
 * is the second graph of a pair, or NULL. */
void gemel__inquiry_answer(gemel__inquiry *q, const gemel__answer *answer,
                           const gemel__instance *instance, const gemel_graph *other,
                           uint64_t seed);

/* Emits the record with VERDICT, which HOW carries, and DETAIL. */
void gemel__inquiry_end(gemel__inquiry *q, gemel_verdict verdict, gemel_evidence how,
                        const char *detail);

/* Writes the counterexample and the replay folder of a refutation, and emits RECORD. */
void gemel__record_refuted(gemel__run *run, gemel_record *record, const gemel__instance *instance,
                           const gemel_graph *other, gemel_tensor *const *values, const char *place,
                           const char *expected, const char *got, uint64_t seed);

#endif
