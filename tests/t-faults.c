/*
 * The harness finds planted faults. Each fault of tests/faults is switched on in turn; a
 * whole run of `gemel verify` without any hint must refute something, for each of several seeds,
 * and with none switched on it must refute nothing. Which record refuted is printed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/rewrite.h>
#include "support/fault.h"
#include "rules/mutate.h"
#include "support/heard.h"

enum {
  SEEDS = 2, /* GEMEL_FAULT_SEEDS asks for more */
  FEW = 8    /* instances where no fault is on: t-verify runs the same code with all of them */
};

#ifdef GEMEL_SANITIZED
/* Kernels copy from where they write, with some faults; that shows in what comes of it. */
const char *__asan_default_suppressions(void);

const char *__asan_default_suppressions(void) {
  return "interceptor_via_fun:gemel__copy_row\ninterceptor_via_fun:run_*\n";
}
#endif

/* 1 for a fault that other tests refute, or of a library that this build has not. */
static int is_elsewhere(int id) {
  static const int ids[] = {
#define FAULT(name, what, where)
#define GPU_FAULT(name, what, where) GEMEL__FAULT_##name,
#define TEST_FAULT GPU_FAULT
#ifndef HAVE_CBLAS
#define CBLAS_FAULT GPU_FAULT
#endif
#ifndef HAVE_DNNL
#define ONEDNN_FAULT GPU_FAULT
#endif
#include "support/fault.def"
#undef FAULT
  };
  size_t k = 0;
  while (k < sizeof ids / sizeof *ids && ids[k] != id) {
    k++;
  }
  return k < sizeof ids / sizeof *ids;
}

/* ---- Runs ---- */

/* What is refuted needs no further operations. */
static int is_settled(void *user, const char *doing) {
  (void)doing;
  return ((const heard *)user)->refuted > 0;
}

static int is_pass(gemel_context *context, const char *name) {
  const gemel_pass *pass = NULL;
  for (size_t k = 0; name != NULL && (pass = gemel_pass_at(context, k)) != NULL; k++) {
    if (strcmp(pass->name, name) == 0) {
      return 1;
    }
  }
  return 0;
}

/* What a run over TIERS (0: all) finds with fault ID switched on, or FEW instances with none. */
static heard run(int id, const char *ops, unsigned tiers, uint64_t seed) {
  heard f;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_status status;
  gemel_verify_options options =
      heard_by(&f, (gemel_verify_options){.seed = seed,
                                          .ops = ops,
                                          .tiers = tiers,
                                          .instances = id == GEMEL__FAULT_NONE ? FEW : 0,
                                          .quick = getenv("GEMEL_QUICK_LOOK") != NULL,
                                          .tick = is_settled});
  gemel__fault_active = id;
  status = is_pass(context, ops) ? gemel_verify_rules(context, NULL, ops, &options, NULL, &error)
                                 : gemel_verify_operations(context, &options, NULL, &error);
  if (status == GEMEL_OK && ops == NULL && f.refuted == 0) {
    status = gemel_verify_rules(context, NULL, "loop", &options, NULL, &error); /* a tag */
  }
  gemel__fault_active = GEMEL__FAULT_NONE;
  if (status != GEMEL_OK) {
    CT_FAIL("the run failed: %s", error.text);
  }
  gemel_context_unref(context);
  return f;
}

/* ---- Tests ---- */

/* ---- Mutants ---- */

struct told {
  size_t count;
  gemel__fate fate;
  char kind[20];
};

static void hear_mutant(void *user, const gemel__mutant *mutant) {
  struct told *t = user;
  t->count++;
  t->fate = mutant->fate;
  snprintf(t->kind, sizeof t->kind, "%s", mutant->kind);
}

/* An operation that isn't passed itself, for its kernel or its derivative, has no mutants. */
static void has_no_mutants(const void *data) {
  static const int ids[] = {GEMEL__FAULT_tanh_grad_scale, GEMEL__FAULT_neg_zero};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(ids); k++) {
    struct told told = {0};
    gemel__mutate_options options = {1, 8, hear_mutant, &told, 1, 0};
    gemel__mutate_summary summary = {0};
    gemel__fault_active = ids[k];
    CT_EQ_INT(gemel__mutate_operations(gemel__fault_where(ids[k]), &options, &summary, NULL),
              GEMEL_OK);
    gemel__fault_active = GEMEL__FAULT_NONE;
    ct_context("%s", gemel__fault_name(ids[k]));
    CT_EQ_UINT(told.count, 1);
    CT_EQ_STR(gemel__fate_name(told.fate), "refuted");
    CT_EQ_STR(told.kind, "operation");
    CT_EQ_UINT(summary.fates[GEMEL__FATE_REFUTED], 1);
    CT_EQ_UINT(summary.subjects, 0);
  }
}

/* ---- Rules ---- */

/* A rule's sides whose derivatives differ by more than their conventions at kinks are told apart on
 * every seed. */
static void part_derivatives(const void *data) {
  static const struct {
    int id;
    const char *rule;
  } cases[] = {
      {GEMEL__FAULT_relu_grad_mask,
       "rule r in canonicalize: maximum(x, 3.0) => relu(x - 3.0) + 3.0 where float(x)"},
      {GEMEL__FAULT_sub_grad_sign,
       "rule r in canonicalize: maximum(x - y, 1.0) => maximum(x + -y, 1.0) where float(x)"}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_FAULT_SEEDS", SEEDS); seed++) {
      gemel__fault_active = cases[k].id;
      heard h = hear_rules(
          cases[k].rule, (gemel_verify_options){.seed = seed, .tiers = 1u << GEMEL_TIER_GRADIENT});
      gemel__fault_active = GEMEL__FAULT_NONE;
      CT_EQ_UINT(h.refuted, 1);
    }
  }
}

/* ---- Replaying ---- */

static char files[GEMEL_TIER_COUNT][300]; /* folders, by tier */

static void keep_file(void *user, const gemel_record *record) {
  (void)user;
  if (record->verdict == GEMEL_VERDICT_REFUTED && record->replay != NULL) {
    snprintf(files[record->tier], sizeof files[0], "%s", record->replay);
  }
}

static gemel_verdict replayed(const char *path, int id) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_verify_summary summary = {.size = sizeof summary};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_status status;
  gemel__fault_active = id;
  status = gemel_verify_replay(context, path, NULL, &summary, &error);
  gemel__fault_active = GEMEL__FAULT_NONE;
  gemel_context_unref(context);
  if (status != GEMEL_OK) {
    CT_FAIL("%s: %s", path, error.text);
    return GEMEL_VERDICT_NOT_RUN;
  }
  return summary.verdicts[GEMEL_VERDICT_REFUTED] > 0 ? GEMEL_VERDICT_REFUTED : GEMEL_VERDICT_PASSED;
}

/* What each tier refutes is written to a folder that refutes again with the fault, and not without.
 */
static void replays(const void *data) {
  static const struct {
    gemel_tier tier;
    int id;
  } cases[] = {{GEMEL_TIER_INTEGER, GEMEL__FAULT_dot_lost_term},
               {GEMEL_TIER_INTEGER, GEMEL__FAULT_stale_state}, /* in the second of two calls */
               {GEMEL_TIER_INTEGER, GEMEL__FAULT_update_then_fails}, /* in a sequence of calls */
               {GEMEL_TIER_INTEGER, GEMEL__FAULT_dot_strip}, /* where it has several blocks */
               {GEMEL_TIER_FLOAT, GEMEL__FAULT_mul_scale},
               {GEMEL_TIER_GRADIENT, GEMEL__FAULT_tanh_grad_scale},
               {GEMEL_TIER_SPECIAL, GEMEL__FAULT_neg_zero}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_verify_options options = {0};
    const char *path = files[cases[k].tier];
    memset(files, 0, sizeof files);
    options.size = sizeof options;
    options.seed = 1;
    options.ops = gemel__fault_where(cases[k].id);
    options.replay_folder = ct_scratch();
    options.sink = keep_file;
    gemel__fault_active = cases[k].id;
    CT_EQ_INT(gemel_verify_operations(context, &options, NULL, NULL), GEMEL_OK);
    gemel__fault_active = GEMEL__FAULT_NONE;
    gemel_context_unref(context);
    ct_context("%s in tier %s: %s", gemel__fault_name(cases[k].id), gemel_tier_name(cases[k].tier),
               path);
    if (CT_CHECK(path[0] != '\0')) {
      CT_EQ_STR(gemel_verdict_name(replayed(path, cases[k].id)), "refuted");
      CT_EQ_STR(gemel_verdict_name(replayed(path, GEMEL__FAULT_NONE)), "passed");
    }
  }
}

static size_t tried, refuted;

/* Tier after tier, until one refutes, the one that did so last first: what a tier draws doesn't
 * depend on the others, so what it refutes by itself is refuted in a run of all. */
static heard run_tiers(int id, uint64_t seed, unsigned *last) {
  unsigned first = *last, k;
  heard f = run(id, gemel__fault_where(id), 1u << first, seed);
  for (k = GEMEL_TIER_COUNT; k-- > 0 && f.refuted == 0;) {
    if (k != first) {
      f = run(id, gemel__fault_where(id), 1u << k, seed);
      *last = k;
    }
  }
  return f;
}

static void refutes(const void *data) {
  int id = (int)(intptr_t)data;
  unsigned last = GEMEL_TIER_INTEGER;
  uint64_t seed;
  int all = 1;
  for (seed = 1; seed <= ct_seeds("GEMEL_FAULT_SEEDS", SEEDS); seed++) {
    heard f = run_tiers(id, seed, &last);
    ct_context("%s (%s), seed %llu", gemel__fault_name(id), gemel__fault_what(id),
               (unsigned long long)seed);
    all &= CT_CHECK(f.refuted > 0);
    if (seed == 1) {
      printf("  %s: %s\n", gemel__fault_name(id), f.bad);
    }
  }
  tried++;
  refuted += (size_t)all;
}

/* The same without knowing where to look. */
static void without_hints(const void *data) {
  int id;
  (void)data;
  if (getenv("GEMEL_FAULTS_WHOLE") == NULL) {
    CT_SKIP("takes minutes; set GEMEL_FAULTS_WHOLE=1");
  }
  for (id = 1; id < GEMEL__FAULT_COUNT; id++) {
    if (is_elsewhere(id)) {
      continue;
    }
    heard f = run(id, NULL, 0, 1);
    ct_context("%s (%s)", gemel__fault_name(id), gemel__fault_what(id));
    CT_CHECK(f.refuted > 0);
  }
}

static void none_is_good(const void *data) {
  heard f;
  (void)data;
  f = run(GEMEL__FAULT_NONE, NULL, 0, 1);
  ct_context("%s", f.bad);
  CT_EQ_UINT(f.good, f.records);
}

static void summary(const void *data) {
  (void)data;
  printf("%zu of %zu planted faults refuted\n", refuted, tried);
  CT_EQ_UINT(refuted, tried);
}

static const ct_test first_tests[] = {
    CT_TEST("none", none_is_good, NULL), CT_TEST("has_no_mutants", has_no_mutants, NULL),
    CT_TEST("part_derivatives", part_derivatives, NULL), CT_TEST("replays", replays, NULL)};
static const ct_test last_tests[] = {CT_TEST("summary", summary, NULL),
                                     CT_TEST("without_hints", without_hints, NULL)};

void ct_register(void) {
  int id;
  ct_suite("faults", first_tests, CT_COUNT(first_tests));
  for (id = 1; id < GEMEL__FAULT_COUNT; id++) {
    if (!is_elsewhere(id)) {
      CT_ADD("faults", gemel__fault_name(id), refutes, (const void *)(intptr_t)id);
    }
  }
  ct_suite("faults", last_tests, CT_COUNT(last_tests));
}
