/*
 * The whole run of the harness: every operation in every tier passes, or doesn't apply and says
 * why, and that for one seed as for another. Kernels of a program's own; records as JSON; counts;
 * an operation that nobody can judge; memory that runs out.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>
#include "support/heard.h"
#include "support/operation.h"
#include "support/question.h"

enum { SEEDS = 3, FEW = 8, MAX_RECORDS = 4000 };

/* Of the records that were heard last, besides what is counted. */
static struct {
  unsigned char verdicts[MAX_RECORDS]; /* verdict by verdict, in order */
  size_t instances;                    /* of the last record */
  size_t declined;                     /* records that say so */
} seen;

static void take(void *user, const gemel_record *r) {
  heard *h = user;
  if (h->records < MAX_RECORDS) {
    seen.verdicts[h->records] = (unsigned char)r->verdict;
  }
  CT_CHECK(r->size == sizeof *r);
  CT_CHECK(r->verdict != GEMEL_VERDICT_NOT_APPLICABLE || r->detail[0] != '\0');
  CT_CHECK(r->verdict != GEMEL_VERDICT_PASSED ||
           (r->instances > 0 && r->elements > 0 && r->how != GEMEL_EVIDENCE_NONE));
  CT_CHECK((r->verdict == GEMEL_VERDICT_REFUTED) == (r->counterexample != NULL));
  seen.instances = r->instances;
  seen.declined += strstr(r->detail, "the kernel declined") != NULL;
  hear(h, r);
}

static gemel_verify_options options_for(heard *h, uint64_t seed, size_t instances,
                                        const char *ops) {
  gemel_verify_options options =
      heard_by(h, (gemel_verify_options){.seed = seed, .instances = instances, .ops = ops});
  memset(&seen, 0, sizeof seen);
  options.sink = take;
  return options;
}

/* ---- The whole run ---- */

static heard whole(uint64_t seed, size_t instances) {
  heard h;
  gemel_verify_options options = options_for(&h, seed, instances, NULL);
  gemel_verify_summary summary = {.size = sizeof summary};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(NULL);
  size_t k;
  ct_context("seed %llu", (unsigned long long)seed);
  CT_EQ_INT(gemel_verify_operations(context, &options, &summary, &error), GEMEL_OK);
  ct_context("seed %llu: %s %s", (unsigned long long)seed, h.bad, error.text);
  CT_EQ_UINT(h.records, h.good);
  CT_EQ_UINT(h.good, h.verdicts[GEMEL_VERDICT_PASSED] + h.verdicts[GEMEL_VERDICT_NOT_APPLICABLE]);
  CT_CHECK(h.records <= MAX_RECORDS);
  CT_EQ_UINT(summary.records, h.records);
  for (k = 0; k < GEMEL_VERDICT_COUNT; k++) {
    CT_EQ_UINT(summary.verdicts[k], h.verdicts[k]);
  }
  gemel_context_unref(context);
  return h;
}

/* How many operations and derivatives each tier says something of, at least. A tier that becomes
 * "not applicable" for one of them is seen. */
static const size_t asked[GEMEL_TIER_COUNT] = {[GEMEL_TIER_REAL] = 91,
                                               [GEMEL_TIER_INTEGER] = 122,
                                               [GEMEL_TIER_FLOAT] = 181,
                                               [GEMEL_TIER_GRADIENT] = 166,
                                               [GEMEL_TIER_SPECIAL] = 98};

/* One seed by all instances that a run has; others by few, or by GEMEL_VERIFY_INSTANCES:
 * each has the same verdicts. */
static void every_operation(const void *data) {
  size_t instances = ct_number("GEMEL_VERIFY_INSTANCES", FEW), operations;
  gemel_context *context;
  unsigned char verdicts[MAX_RECORDS];
  heard first;
  (void)data;
  CT_SKIP_IF_QUICK();
  context = gemel_context_new(NULL);
  operations = gemel_operation_count(context);
  first = whole(1, 0);
  memcpy(verdicts, seen.verdicts, sizeof verdicts);
  CT_CHECK(first.records >= operations * GEMEL_TIER_COUNT);
  for (size_t tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    ct_context("tier %s passed %zu", gemel_tier_name((gemel_tier)tier),
               first.tiers[tier][GEMEL_VERDICT_PASSED]);
    CT_CHECK(first.tiers[tier][GEMEL_VERDICT_PASSED] >= asked[tier]);
  }
  printf("  %zu operations, %zu verdicts: %zu passed, %zu not applicable\n", operations,
         first.records, first.passed, first.verdicts[GEMEL_VERDICT_NOT_APPLICABLE]);
  for (uint64_t seed = 2; seed <= ct_seeds("GEMEL_TEST_SEEDS", SEEDS); seed++) {
    heard h = whole(seed, instances);
    CT_EQ_UINT(h.records, first.records);
    CT_EQ_MEM(seen.verdicts, verdicts, sizeof verdicts);
  }
  gemel_context_unref(context);
}

static void nothing_matches(const void *data) {
  heard h;
  gemel_verify_options options = options_for(&h, 1, 1, "no_such_*");
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error;
  (void)data;
  CT_EQ_INT(gemel_verify_operations(context, &options, NULL, &error), GEMEL_NOT_FOUND);
  CT_HAS_STR(error.text, "no_such_*");
  CT_EQ_UINT(h.records, 0);
  gemel_context_unref(context);
}

static void one_tier(const void *data) {
  heard h;
  gemel_verify_options options = options_for(&h, 1, 4, "add");
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  options.tiers = 1u << GEMEL_TIER_INTEGER;
  CT_EQ_INT(gemel_verify_operations(context, &options, NULL, NULL), GEMEL_OK);
  CT_EQ_UINT(h.records, 2); /* the operation and its derivative */
  gemel_context_unref(context);
}

/* With this seed x^y is drawn at x = 0, where its first derivative has no value by x, but has one
 * by y: no rule is wrong because of that. */
static void derivatives_alone(const void *data) {
  heard h;
  gemel_verify_options options = options_for(&h, 3, 0, "pow");
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  options.tiers = 1u << GEMEL_TIER_GRADIENT;
  CT_EQ_INT(gemel_verify_operations(context, &options, NULL, NULL), GEMEL_OK);
  ct_context("%s", h.bad);
  CT_EQ_UINT(h.passed, 2);
  gemel_context_unref(context);
}

/* A summary of a program that was compiled with a shorter one, or a longer one. */
static void other_sizes(const void *data) {
  struct {
    gemel_verify_summary summary;
    size_t more;
  } longer = {{sizeof longer, 0, {0}}, 7}, shorter = {{0}, 7};
  heard h;
  gemel_verify_options options = options_for(&h, 1, 4, "add");
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  shorter.summary.size = offsetof(gemel_verify_summary, verdicts);
  shorter.summary.verdicts[GEMEL_VERDICT_PASSED] = 99;
  CT_EQ_INT(gemel_verify_operations(context, &options, &shorter.summary, NULL), GEMEL_OK);
  CT_EQ_UINT(shorter.summary.records, h.records);
  CT_EQ_UINT(shorter.summary.size, offsetof(gemel_verify_summary, verdicts));
  CT_EQ_UINT(shorter.summary.verdicts[GEMEL_VERDICT_PASSED], 99);
  CT_EQ_INT(gemel_verify_operations(context, &options, &longer.summary, NULL), GEMEL_OK);
  CT_CHECK(longer.summary.verdicts[GEMEL_VERDICT_PASSED] > 0);
  CT_EQ_UINT(longer.summary.size, sizeof longer);
  CT_EQ_UINT(longer.more, 7);
  gemel_context_unref(context);
}

/* ---- Kernels of the program's own ---- */

/* f32 in row-major order. */
static int takes(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int64_t step = 4;
  int k;
  for (k = x->rank; k-- > 0;) {
    if (x->shape[k] > 1 && x->strides[k] != step) {
      return 0;
    }
    step *= x->shape[k];
  }
  return x->dtype == GEMEL_F32;
}

/* States that have been prepared and not yet released. */
static atomic_int held;

static void release_square(void *prepared) {
  (void)prepared;
  held--;
}

static gemel_status prepare_square(gemel_kernel_call *call) {
  if (!takes(call)) {
    return GEMEL_DECLINED;
  }
  held++;
  call->release = release_square;
  return GEMEL_OK;
}

static gemel_status square(const gemel_kernel_call *call, float factor, int leave) {
  const gemel_view *x = &call->inputs[0];
  int64_t count = 1, k;
  for (k = 0; k < x->rank; k++) {
    count *= x->shape[k];
  }
  for (k = 0; k < count - leave; k++) {
    float v = ((const float *)x->data)[k];
    ((float *)call->outputs[0].data)[k] = v * v * factor;
  }
  return GEMEL_OK;
}

static gemel_status right_square(const gemel_kernel_call *call) {
  return square(call, 1, 0);
}

static gemel_status scaled_square(const gemel_kernel_call *call) {
  return square(call, 1 + 1e-6f, 0);
}

static gemel_status unfinished_square(const gemel_kernel_call *call) {
  return square(call, 1, 1);
}

static void judge_kernel(gemel_status (*run)(const gemel_kernel_call *), int right) {
  heard h;
  gemel_verify_options options = options_for(&h, 2, 0, NULL);
  options.in_process = 1; /* HELD is this process's */
  gemel_kernel kernel = {"mine", prepare_square, run};
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  CT_EQ_INT(gemel_verify_kernel(context, "sqr", &kernel, &options, NULL, &error), GEMEL_OK);
  ct_context("%s %s", h.bad, error.text);
  CT_EQ_INT(held, 0);
  CT_EQ_UINT(h.records, 3);
  CT_EQ_INT(h.refuted == 0, right);
  CT_EQ_INT(h.passed == 3, right);
  if (right) { /* what it declines is drawn again: hardly an instance is lost */
    CT_EQ_UINT(seen.declined, 3);
    CT_CHECK(seen.instances >= 80);
  }
  gemel_context_unref(context);
}

static void own_kernels(const void *data) {
  gemel_kernel nothing = {"mine", NULL, NULL};
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  judge_kernel(right_square, 1);
  judge_kernel(scaled_square, 0);
  judge_kernel(unfinished_square, 0);
  CT_EQ_INT(gemel_verify_kernel(context, "sqr", &nothing, NULL, NULL, NULL), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_verify_kernel(context, "sqrr", &nothing, NULL, NULL, NULL), GEMEL_NOT_FOUND);
  gemel_context_unref(context);
}

/* ---- Options without a size ---- */

/* Options whose size was forgotten are refused, and by what they are called, wherever they go. */
static void sizeless(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_verify_options verify = {0};
  gemel_rewrite_options rewrite = {0};
  gemel_verify_summary summary = {.size = 0};
  gemel_pair_result result = {.size = 0};
  gemel_kernel kernel = {"mine", NULL, right_square};
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_error error;
  (void)data;
#define REFUSED(call, name)                                                                        \
  do {                                                                                             \
    memset(&error, 0, sizeof error);                                                               \
    CT_EQ_INT(call, GEMEL_BAD_ARGUMENT);                                                           \
    CT_EQ_STR(error.text, "the size of " name " is 0: set it to sizeof(" name ")");                \
  } while (0)
  REFUSED(gemel_verify_operations(context, &verify, NULL, &error), "gemel_verify_options");
  REFUSED(gemel_verify_kernel(context, "sqr", &kernel, &verify, NULL, &error),
          "gemel_verify_options");
  REFUSED(gemel_verify_pair(graph, graph, NULL, 0, &verify, NULL, &error), "gemel_verify_options");
  REFUSED(gemel_verify_rules(context, NULL, NULL, &verify, NULL, &error), "gemel_verify_options");
  REFUSED(gemel_verify_replay(context, "none", &verify, NULL, &error), "gemel_verify_options");
  REFUSED(gemel_verify_operations(context, NULL, &summary, &error), "gemel_verify_summary");
  REFUSED(gemel_verify_kernel(context, "sqr", &kernel, NULL, &summary, &error),
          "gemel_verify_summary");
  REFUSED(gemel_verify_rules(context, NULL, NULL, NULL, &summary, &error), "gemel_verify_summary");
  REFUSED(gemel_verify_replay(context, "none", NULL, &summary, &error), "gemel_verify_summary");
  REFUSED(gemel_verify_pair(graph, graph, NULL, 0, NULL, &result, &error), "gemel_pair_result");
  REFUSED(gemel_rewrite(graph, &rewrite, &error) == NULL ? error.status : GEMEL_OK,
          "gemel_rewrite_options");
#undef REFUSED
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- An operation of the program's own ---- */

/* Nothing says what it ought to compute: that is no good verdict. */
static void own_operation(const void *data) {
  static const gemel_kernel kernels[] = {{"plain", NULL, run_nothing}, {NULL, NULL, NULL}};
  gemel_context *context = gemel_context_new(NULL);
  gemel_operation op = {0};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  heard h;
  gemel_verify_options options = options_for(&h, 1, 4, "mystery");
  (void)data;
  op.size = sizeof op;
  op.name = "mystery";
  op.min_inputs = op.max_inputs = 1;
  op.version = 1;
  op.infer = same_type;
  op.kernels = kernels;
  CT_EQ_INT(gemel_register_operation(context, &op, &error), GEMEL_OK);
  ct_context("%s", error.text);
  CT_EQ_INT(gemel_verify_operations(context, &options, NULL, &error), GEMEL_OK);
  CT_EQ_UINT(h.verdicts[GEMEL_VERDICT_NOT_RUN], GEMEL_TIER_COUNT);
  CT_EQ_UINT(h.records, GEMEL_TIER_COUNT);
  gemel_context_unref(context);
}

/* ---- JSON ---- */

/* 1 if TEXT is one JSON object of strings and numbers, as far as a small automaton can tell. */
static int is_json(const char *text) {
  int in_string = 0, depth = 0, fields = 0;
  const char *p;
  for (p = text; *p != '\0'; p++) {
    if ((unsigned char)*p < 0x20) {
      return 0;
    }
    if (in_string) {
      if (*p == '\\' && *++p == '\0') {
        return 0;
      }
      in_string = *p != '"' || p[-1] == '\\';
      continue;
    }
    in_string = *p == '"';
    depth += (*p == '{') - (*p == '}');
    fields += *p == ':';
    if (depth == 0 && p[1] != '\0') {
      return 0;
    }
  }
  return depth == 0 && !in_string && fields >= 7;
}

static void json_is_well_formed(const void *data) {
  gemel_record r = {0};
  char text[2000], cut[40];
  size_t length;
  (void)data;
  r.size = sizeof r;
  r.kind = "pair";
  r.name = "a \"quoted\" \\ name\n";
  r.tier = GEMEL_TIER_FLOAT;
  r.verdict = GEMEL_VERDICT_REFUTED;
  r.how = GEMEL_EVIDENCE_BOUND;
  r.detail = "tab\there, bell\a";
  r.worst = 1.0 / 0.0;
  r.counterexample = "graph f(x: f32[2]) {\n  return y = x\n}\n";
  length = gemel_record_json(&r, text, sizeof text);
  CT_EQ_UINT(length, strlen(text));
  CT_CHECK(is_json(text));
  CT_HAS_STR(text, "\"verdict\": \"refuted\"");
  CT_HAS_STR(text, "a \\\"quoted\\\" \\\\ name\\n");
  CT_HAS_STR(text, "\"worst\": \"inf\"");
  CT_HAS_STR(text, "\\u0007");
  CT_EQ_UINT(gemel_record_json(&r, cut, sizeof cut), length);
  CT_EQ_UINT(strlen(cut), sizeof cut - 1);
  CT_EQ_UINT(gemel_record_json(&r, NULL, 0), length);
  r.verdict = GEMEL_VERDICT_PASSED;
  gemel_record_json(&r, text, sizeof text);
  CT_CHECK(is_json(text) && strstr(text, "counterexample") == NULL);
}

/* ---- Memory ---- */

struct small {
  const char *ops;
  unsigned tier;
};

static int small_run(void *data) {
  const struct small *small = data;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_verify_options options = {0};
  gemel_status status;
  if (context == NULL) {
    return error.status;
  }
  options.size = sizeof options;
  options.instances = 1;
  options.seed = 1;
  options.ops = small->ops;
  options.tiers = 1u << small->tier;
  status = gemel_verify_operations(context, &options, NULL, &error);
  gemel_context_unref(context);
  return status;
}

/* Tier by tier: each refusal runs what comes before it once more. */
static void out_of_memory(const void *data) {
  (void)data;
  CT_SKIP_IF_QUICK();
  for (unsigned tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    struct small small = {"neg", tier};
    CT_CHECK(ct_oom(small_run, &small) > 100);
  }
}

/* What a refutation wrote is refuted again when it is read; what isn't there is a bad file. */
static void replay(const void *data) {
  static const char a[] = "graph f(x: f32[2]) {\n  y = x + 1\n  return y\n}\n";
  static const char b[] = "graph f(x: f32[2]) {\n  y = x + 2\n  return y\n}\n";
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *left = gemel_parse(context, a, strlen(a), "a", NULL, NULL);
  gemel_graph *right = gemel_parse(context, b, strlen(b), "b", NULL, NULL);
  gemel_verify_summary summary = {.size = sizeof summary};
  char path[400];
  (void)data;
  heard h = hear_pair(left, right, GEMEL_NEEDS_ALL, "replayed",
                      (gemel_verify_options){.replay_folder = ct_scratch()});
  CT_EQ_INT(h.result.verdict, GEMEL_VERDICT_REFUTED);
  CT_CHECK(h.replay[0] != '\0');
  snprintf(path, sizeof path, "%s", h.replay);
  CT_EQ_INT(gemel_verify_replay(context, path, NULL, &summary, NULL), GEMEL_OK);
  CT_EQ_INT(summary.verdicts[GEMEL_VERDICT_REFUTED], 1);
  strcat(path, "/question");
  remove(path);
  *strrchr(path, '/') = '\0';
  CT_EQ_INT(gemel_verify_replay(context, path, NULL, &summary, NULL), GEMEL_BAD_FILE);
  gemel_graph_unref(left);
  gemel_graph_unref(right);
  gemel_context_unref(context);
}

/* A refutation without values: the pair is asked about as a whole, in the tiers that can. */
static void replay_without_values(const void *data) {
  static const char *const tiers[] = {"real", "gradient", "float"};
  static const char *const factors[] = {"2", "3"};
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  for (size_t k = 0; k < 6; k++) {
    gemel_verify_summary summary = {.size = sizeof summary};
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    char path[300], second[300];
    snprintf(path, sizeof path, "%s/none-%zu", ct_scratch(), k);
    snprintf(second, sizeof second,
             "graph second(x: f32[2], y: f32[3]) {\n  return a = x * %s:f32, b = y\n}\n",
             factors[k % 2]);
    ct_question(context, path, tiers[k / 2], 0,
                "graph first(x: f32[2], y: f32[3]) {\n  return a = x + x, b = y\n}\n", second);
    ct_context("tier %s, factor %s", tiers[k / 2], factors[k % 2]);
    if (k / 2 == 2) {
      CT_EQ_INT(gemel_verify_replay(context, path, NULL, &summary, &error), GEMEL_BAD_FILE);
      CT_HAS_STR(error.text, "without values");
    } else {
      CT_EQ_INT(gemel_verify_replay(context, path, NULL, &summary, &error), GEMEL_OK);
      CT_EQ_UINT(summary.records, 1);
      CT_EQ_UINT(summary.verdicts[GEMEL_VERDICT_REFUTED], k == 1);
    }
  }
  gemel_context_unref(context);
}

/* Verdicts compare by severity, and what was never filled in, or could not be asked, isn't good. */
static void zero_is_no_good_verdict(const void *data) {
  static const gemel_verdict order[] = {GEMEL_VERDICT_PASSED,     GEMEL_VERDICT_NOT_APPLICABLE,
                                        GEMEL_VERDICT_NOT_RUN,    GEMEL_VERDICT_UNINFORMATIVE,
                                        GEMEL_VERDICT_OVERSTATED, GEMEL_VERDICT_REFUTED};
  static const char a[] = "graph f(x: f32[2]) {\n  y = x + 1\n  return y\n}\n";
  static const char b[] = "graph f(x: f32[3]) {\n  y = x + 1\n  return y\n}\n";
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *left = gemel_parse(context, a, strlen(a), "a", NULL, NULL);
  gemel_graph *right = gemel_parse(context, b, strlen(b), "b", NULL, NULL);
  gemel_verify_options options = {0};
  gemel_pair_result result = {.size = sizeof result};
  size_t k;
  (void)data;
  CT_CHECK(GEMEL_VERDICT_PASSED != 0 && GEMEL_VERDICT_NOT_APPLICABLE != 0);
  for (k = 0; k < CT_COUNT(order); k++) {
    CT_EQ_INT(gemel_verdict_severity(order[k]), (int)k);
  }
  CT_EQ_INT(CT_COUNT(order), GEMEL_VERDICT_COUNT);
  CT_EQ_INT(gemel_verdict_severity(GEMEL_VERDICT_COUNT), GEMEL_VERDICT_COUNT);
  options.size = sizeof options;
  result.verdict = GEMEL_VERDICT_PASSED;
  CT_EQ_INT(gemel_verify_pair(left, right, "refused", GEMEL_NEEDS_ALL, &options, &result, NULL),
            GEMEL_BAD_TYPE);
  CT_EQ_INT(result.verdict, GEMEL_VERDICT_NOT_RUN);
  options.tiers = 1u << GEMEL_TIER_GRADIENT; /* which isn't applicable to a pair */
  result.verdict = GEMEL_VERDICT_PASSED;
  CT_EQ_INT(gemel_verify_pair(left, left, "nothing", GEMEL_NEEDS_ALL, &options, &result, NULL),
            GEMEL_OK);
  CT_EQ_INT(result.verdict, GEMEL_VERDICT_NOT_RUN);
  gemel_graph_unref(left);
  gemel_graph_unref(right);
  gemel_context_unref(context);
}

static const ct_test tests[] = {CT_TEST("zero", zero_is_no_good_verdict, NULL),
                                CT_TEST("replay", replay, NULL),
                                CT_TEST("replay_without_values", replay_without_values, NULL),
                                CT_TEST("whole", every_operation, NULL),
                                CT_TEST("no_match", nothing_matches, NULL),
                                CT_TEST("tiers", one_tier, NULL),
                                CT_TEST("derivatives_alone", derivatives_alone, NULL),
                                CT_TEST("kernels", own_kernels, NULL),
                                CT_TEST("sizeless", sizeless, NULL),
                                CT_TEST("other_sizes", other_sizes, NULL),
                                CT_TEST("own_operation", own_operation, NULL),
                                CT_TEST("json", json_is_well_formed, NULL),
                                CT_TEST("memory", out_of_memory, NULL)};

void ct_register(void) {
  ct_suite("verify", tests, CT_COUNT(tests));
}
