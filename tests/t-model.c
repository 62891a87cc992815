/*
 * The models' verdict, as a whole: gemel__decide on pairs of small graphs, true and false ones.
 * What such a model invites to believe is planted, in the question or as a fault of domain F, and
 * must be refuted or called uninformative. Some lies are made too small for O to see (a difference
 * times 1e-900), so that the verdict rests on F alone; and some are hidden where points hardly
 * fall. Besides: how many trials an undecided sign takes, keyed functions, and decisions that went
 * one way only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "shared.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "domains/field.h"
#include "tiers/model.h"

enum { POINTS = 64, TRIALS = 4, SEEDS = 6 };

/* ---- Asking ---- */

static gemel_graph *parse(const char *body, int64_t n) {
  char text[700];
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_graph *graph;
  snprintf(text, sizeof text,
           "graph f(x: f64[%d], y: f64[%d], z: f64[%d], w: f64[%d]) {\n  return r = %s\n}\n",
           (int)n, (int)n, (int)n, (int)n, body);
  graph = gemel_parse(c, text, strlen(text), "t-model", NULL, &error);
  if (graph == NULL) {
    CT_FAIL("%s: %s", body, error.text);
  }
  return graph;
}

struct asked {
  const char *left, *right;
  int64_t n;             /* elements of each leaf */
  int elementwise;       /* what the question says of itself */
  int compare_domain;    /* one side defined, the other not: a difference */
  unsigned faults;       /* of domain F */
  const gemel_range *in; /* of the four leaves; NULL: any */
};

static gemel__answer ask_driven(const struct asked *p, uint64_t seed, size_t drives) {
  gemel_graph *left = parse(p->left, p->n), *right = parse(p->right, p->n);
  gemel__model_side sides[2] = {{gemel__side_graph, left}, {gemel__side_graph, right}};
  gemel__instance leaves;
  gemel__question q;
  gemel__answer answer;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  double constants[16];
  memset(&q, 0, sizeof q);
  memset(&answer, 0, sizeof answer);
  answer.how = GEMEL_EVIDENCE_NONE;
  if (left != NULL && right != NULL &&
      gemel__instance_of_graph(&leaves, left, p->in, &error) == GEMEL_OK) {
    leaves.elementwise = p->elementwise;
    q.leaves = &leaves;
    q.left = &sides[0];
    q.right = &sides[1];
    q.n_outputs = 1;
    q.compare_domain = p->compare_domain;
    q.points = POINTS;
    q.trials = TRIALS;
    q.drives = drives;
    q.faults = p->faults;
    q.seed = seed;
    gemel__constants(left, constants, 16, &q.n_constants);
    gemel__constants(right, constants, 16, &q.n_constants);
    q.constants = constants;
    CT_EQ_INT(gemel__decide(&q, &answer, &error), GEMEL_OK);
    gemel__instance_clear(&leaves);
  }
  ct_context("%s == %s, faults %u, seed %llu: %s by %s (%s) %s", p->left, p->right, p->faults,
             (unsigned long long)seed, gemel_verdict_name(answer.verdict),
             gemel_evidence_name(answer.how), answer.detail, error.text);
  gemel_graph_unref(left);
  gemel_graph_unref(right);
  return answer;
}

static gemel__answer ask(const struct asked *p, uint64_t seed) {
  return ask_driven(p, seed, 0);
}

static void expect_of(const struct asked *p, uint64_t seeds, gemel_verdict verdict,
                      const char *how) {
  uint64_t seed;
  for (seed = 1; seed <= seeds; seed++) {
    gemel__answer a = ask(p, seed);
    CT_EQ_STR(gemel_verdict_name(a.verdict), gemel_verdict_name(verdict));
    if (how != NULL) {
      CT_EQ_STR(gemel_evidence_name(a.how), how);
    }
    CT_CHECK((a.error_probability > 0) <= (a.how == GEMEL_EVIDENCE_FIELD));
    gemel__answer_clear(&a);
  }
}

static void expect(const struct asked *p, gemel_verdict verdict, const char *how) {
  expect_of(p, SEEDS, verdict, how);
}

/* ---- What must not be believed ---- */

/* So small that O, at 128 bits, sees nothing of what it is multiplied with. */
#define UNSEEN "1e-300:f64 * 1e-300:f64 * 1e-300:f64 * "

struct lie {
  const char *name;
  struct asked asked;
  gemel_verdict verdict;
  const char *how; /* NULL: any */
};

static const gemel_range positive[] = {GEMEL_RANGE_POSITIVE, GEMEL_RANGE_POSITIVE,
                                       GEMEL_RANGE_POSITIVE, GEMEL_RANGE_POSITIVE};

/* y, to which such a thing is added, isn't 0. */
static const gemel_range carried[] = {GEMEL_RANGE_ANY, GEMEL_RANGE_POSITIVE, GEMEL_RANGE_ANY,
                                      GEMEL_RANGE_ANY};

static const struct lie lies[] = {
    {"e_is_4",
     {"exp(x - x + 1:f64)", "4:f64 + (x - x)", 3, 1, 0, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"e_is_4/unseen",
     {"y + " UNSEEN "(exp(1:f64) - 4:f64)", "y", 3, 1, 0, 0, carried},
     GEMEL_VERDICT_REFUTED,
     NULL},
    {"relu_scaled",
     {"relu(-0.00999999977648258209228515625:f64 * x)",
      "-0.00999999977648258209228515625:f64 * relu(x)", 3, 1, 0, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     NULL},
    {"relu_scaled/bad_chain",
     {"relu(-0.00999999977648258209228515625:f64 * x)",
      "-0.00999999977648258209228515625:f64 * relu(x)", 3, 1, 0, GEMEL__FIELD_ANY_PRIMES, NULL},
     GEMEL_VERDICT_REFUTED,
     NULL},
    {"relu_scaled/unseen",
     {"y + " UNSEEN "(relu(-0.00999999977648258209228515625:f64 * x) + "
      "0.00999999977648258209228515625:f64 * relu(x))",
      "y", 3, 1, 0, GEMEL__FIELD_ANY_PRIMES, carried},
     GEMEL_VERDICT_REFUTED,
     NULL},
    {"cube",
     {"abs(x) * abs(x) * abs(x)", "x * x * x", 3, 1, 0, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"cube/unseen",
     {"y + " UNSEEN "(abs(x) * abs(x) * abs(x) - x * x * x)", "y", 1, 1, 0, 0, carried},
     GEMEL_VERDICT_REFUTED,
     NULL},
    {"shared_scalar",
     {"abs(sum(y) * x)", "sum(y) * abs(x)", 8, 0, 0, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"shared_scalar/unseen",
     {"y + " UNSEEN "(abs(sum(z) * x) - sum(z) * abs(x))", "y", 4, 0, 0, 0, carried},
     GEMEL_VERDICT_REFUTED,
     NULL},
    {"eight_relus",
     {"relu(x) * relu(y) * relu(z) * relu(w) * relu(x + y) * relu(z + w) * relu(x + z) * relu(y + "
      "w)",
      "x - x", 2, 1, 0, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"quotient_at_0",
     {"maximum(x / x, 1:f64 + (x - x))", "1:f64 + (x - x)", 3, 1, 1, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"sign_squared",
     {"sign(x) * sign(x)", "1:f64 + (x - x)", 3, 1, 0, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"greater_equal",
     {"where(gt(x, y), z, w)", "where(ge(x, y), z, w)", 3, 1, 0, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"tie_of_max",
     {"where(gt(x, y), z, where(eq(x, y), 0.5:f64 * z, 0:f64))", "where(ge(x, y), z, 0:f64)", 3, 1,
      0, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"argmax_last",
     {"cast(argmax(x, axis = 0), dtype = f64)",
      "2:f64 - cast(argmax(reverse(x, axes = [0]), axis = 0), dtype = f64)", 3, 0, 0, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"root_squared",
     {"sqrt(x) * sqrt(x)", "x", 3, 1, 1, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"power_by_logarithm",
     {"exp(2:f64 * log(x))", "x * x", 3, 1, 1, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"log_of_square",
     {"log(x * x)", "2:f64 * log(x)", 3, 1, 1, 0, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    /* faults of F: what it then believes must not get through */
    {"inverse_of_0",
     {"x / (x - x)", "y - y", 3, 1, 0, GEMEL__FIELD_INVERSE_OF_ZERO, NULL},
     GEMEL_VERDICT_UNINFORMATIVE,
     NULL},
    {"inverse_of_0/domain",
     {"x / (x - x)", "y - y", 3, 1, 1, GEMEL__FIELD_INVERSE_OF_ZERO, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"whole_group",
     {"log(-x)", "log(x)", 3, 1, 0, GEMEL__FIELD_WHOLE_GROUP, NULL},
     GEMEL_VERDICT_UNINFORMATIVE,
     NULL},
    {"whole_group/domain",
     {"log(-x)", "log(x)", 3, 1, 1, GEMEL__FIELD_WHOLE_GROUP, NULL},
     GEMEL_VERDICT_REFUTED,
     "samples"},
    {"no_common_ring",
     {"exp(x)", "log(x)", 3, 1, 0, GEMEL__FIELD_NO_RING_EQUAL, positive},
     GEMEL_VERDICT_REFUTED,
     "samples"},
};

static void not_believed(const void *data) {
  const struct lie *l = data;
  expect(&l->asked, l->verdict, l->how);
}

/* With the fault F takes the lie, which O can't see, for proven: so what these faults do shows in
 * the verdict, and it is F without them that keeps it right. */
static void faults_show(const void *data) {
  static const struct {
    struct asked asked;
    unsigned fault;
    const char *without; /* how F without the fault decides; NULL: refuted */
  } cases[] = {
      {{"y + " UNSEEN "(exp(1:f64) - 4:f64)", "y", 3, 1, 0, 0, carried},
       GEMEL__FIELD_GENERATOR_4,
       NULL},
      {{"y + " UNSEEN "(x / (x - x))", "y", 3, 1, 0, 0, carried},
       GEMEL__FIELD_INVERSE_OF_ZERO,
       "none"},
      {{"y + " UNSEEN "exp(exp(exp(exp(-z))))", "y + " UNSEEN "log(log(exp(exp(z))))", 3, 1, 0, 0,
        positive},
       GEMEL__FIELD_NO_RING_EQUAL,
       "samples"},
  };
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(cases); k++) {
    struct asked bad = cases[k].asked;
    bad.faults = cases[k].fault;
    if (cases[k].without == NULL) {
      expect_of(&cases[k].asked, 2, GEMEL_VERDICT_REFUTED, NULL);
      expect_of(&bad, 2, GEMEL_VERDICT_PASSED, "field");
    } else if (strcmp(cases[k].without, "none") == 0) {
      /* no point is defined, so not even a faulty F is heard */
      expect_of(&cases[k].asked, 2, GEMEL_VERDICT_UNINFORMATIVE, NULL);
      expect_of(&bad, 2, GEMEL_VERDICT_UNINFORMATIVE, NULL);
    } else {
      expect_of(&cases[k].asked, 2, GEMEL_VERDICT_PASSED, cases[k].without);
      expect_of(&bad, 2, GEMEL_VERDICT_PASSED, "field");
    }
  }
}

/* ---- What is true ---- */

static const struct lie truths[] = {
    {"relu_scaled",
     {"relu(0.00999999977648258209228515625:f64 * x)",
      "0.00999999977648258209228515625:f64 * relu(x)", 3, 1, 0, 0, NULL},
     GEMEL_VERDICT_PASSED,
     "field"},
    {"relu_scaled/bad_chain",
     {"relu(0.00999999977648258209228515625:f64 * x)",
      "0.00999999977648258209228515625:f64 * relu(x)", 3, 1, 0, GEMEL__FIELD_ANY_PRIMES, NULL},
     GEMEL_VERDICT_PASSED,
     NULL},
    {"associative",
     {"maximum(maximum(x, y), z)", "maximum(x, maximum(y, z))", 3, 1, 0, 0, NULL},
     GEMEL_VERDICT_PASSED,
     "cells"},
    {"softplus",
     {"log(1:f64 + exp(x)) - log(1:f64 + exp(-x))", "x", 1, 1, 0, 0, NULL},
     GEMEL_VERDICT_PASSED,
     NULL},
    {"proven",
     {"relu(x * x + 1:f64)", "x * x + 1:f64", 3, 1, 0, 0, NULL},
     GEMEL_VERDICT_PASSED,
     "field"},
    {"power", {"pow(x, 2:f64)", "x * x", 3, 1, 1, 0, NULL}, GEMEL_VERDICT_PASSED, "field"},
};

/* ---- Trials and undecided signs ---- */

/* As many as 2^k ln(1/δ) says, counted in results; the bound is printed; too many signs: cells. */
static void trials_for_signs(const void *data) {
  struct asked p = {"relu(x) - relu(-x)", "x", 3, 1, 0, 0, NULL};
  gemel__answer a = ask(&p, 1);
  (void)data;
  CT_EQ_STR(gemel_evidence_name(a.how), "field");
  CT_EQ_UINT(a.trials, 14); /* 2 ln 1e9 = 41.4 results, three at a time */
  CT_CHECK(a.error_probability > 0 && a.error_probability <= 1e-9);
  CT_HAS_STR(a.detail, "14 trials for 1 undecided sign");
  gemel__answer_clear(&a);
  p.elementwise = 0; /* three signs, as nothing says that results are independent */
  a = ask(&p, 1);
  CT_EQ_STR(gemel_evidence_name(a.how), "field");
  CT_EQ_UINT(a.trials, 166);
  CT_CHECK(a.error_probability > 0 && a.error_probability <= 1e-9);
  gemel__answer_clear(&a);
  p.n = 12;
  a = ask(&p, 1);
  CT_EQ_STR(gemel_evidence_name(a.how), "cells");
  CT_EQ_UINT(a.trials, TRIALS);
  CT_CHECK(a.cells > 20 && a.error_probability == 0);
  CT_HAS_STR(a.detail, "stays unseen");
  gemel__answer_clear(&a);
}

/* ---- Decisions that went one way ---- */

/* Points don't reach 1e20, and no constant says so: whatever stands in the branch, nobody saw it.
 */
static void one_way(const void *data) {
  static const struct asked cases[] = {
      {"where(gt(x * x * x, exp(140:f64)), x + 1:f64, x)", "x", 3, 1, 0, 0, NULL},
      {"where(gt(x * x * x, exp(140:f64)), y, x)", "where(gt(x * x * x, exp(140:f64)), y + x, x)",
       3, 1, 0, 0, NULL},
      {"maximum(x * x * x, exp(140:f64) + 0:f64 * y)", "exp(140:f64) + 0:f64 * y", 3, 1, 0, 0,
       NULL},
  };
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(cases); k++) {
    gemel__answer a = ask(&cases[k], 1);
    CT_HAS_STR(a.detail, "went one way at every point");
    CT_HAS_STR(a.detail, k < 2 ? "gt 1" : "maximum 1");
    gemel__answer_clear(&a);
    expect(&cases[k], GEMEL_VERDICT_UNINFORMATIVE, NULL);
  }
}

/* One way, but it can't be another: intervals say so. And both ways by planted zeros. */
static void one_way_proven(const void *data) {
  static const struct asked cases[] = {
      {"where(gt(x * x + 1:f64, 0:f64), maximum(x, y), z)", "maximum(y, x)", 3, 1, 0, 0, NULL},
      {"where(lt(tanh(exp(x)) + 1:f64, 0:f64), z, maximum(x, y))", "maximum(y, x)", 3, 1, 0, 0,
       NULL},
      {"where(eq(where(eq(x, 0:f64), 1:f64, x), 0:f64), z, maximum(x, y))", "maximum(y, x)", 3, 1,
       0, 0, NULL},
  };
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(cases); k++) {
    expect(&cases[k], GEMEL_VERDICT_PASSED, NULL);
  }
}

/* Not zero for log 1000 < x < log 1001 only, or at one unit in the last place. */
static void windows(const void *data) {
  static const struct asked cases[] = {
      {"relu(exp(x) - 1000:f64) * relu(1001:f64 - exp(x))", "x - x", 1, 1, 0, 0, NULL},
      {"relu(x - 1000.125:f64) * relu(1000.1250000000003:f64 - x)", "x - x", 1, 1, 0, 0, NULL},
  };
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      gemel__answer a = ask_driven(&cases[k], seed, 400);
      CT_EQ_INT(a.verdict, GEMEL_VERDICT_REFUTED);
      CT_EQ_INT(a.how, GEMEL_EVIDENCE_SAMPLES);
      gemel__answer_clear(&a);
    }
  }
}

/* Sites of several instances count together. */
static void sites_merge(const void *data) {
  static const gemel_range below[] = {GEMEL_RANGE_POSITIVE, GEMEL_RANGE_POSITIVE,
                                      GEMEL_RANGE_POSITIVE, GEMEL_RANGE_POSITIVE};
  struct asked p = {
      "relu(x - exp(140:f64) * y)", "maximum(x - exp(140:f64) * y, 0:f64)", 1, 0, 0, 0, below};
  struct asked o = {
      "relu(exp(140:f64) * x - y)", "maximum(exp(140:f64) * x - y, 0:f64)", 1, 0, 0, 0, below};
  gemel__answer a = ask(&p, 3), b = ask(&o, 4), total;
  (void)data;
  memset(&total, 0, sizeof total);
  total.how = GEMEL_EVIDENCE_NONE;
  gemel__sites_init(&total.sites);
  a.verdict = b.verdict = GEMEL_VERDICT_PASSED;
  a.how = b.how = GEMEL_EVIDENCE_CELLS;
  a.cells = b.cells = 1;
  CT_EQ_INT(gemel__answer_merge(&total, &a, 0), 0);
  CT_CHECK(gemel__answer_one_way(&total) != NULL);
  CT_EQ_INT(gemel__answer_merge(&total, &b, 1), 0);
  CT_CHECK(gemel__answer_one_way(&total) == NULL);
  CT_EQ_UINT(total.cells, 2);
  gemel__answer_settle(&total);
  CT_EQ_INT(total.verdict, GEMEL_VERDICT_PASSED);
  gemel__answer_clear(&a);
  gemel__answer_clear(&b);
  gemel__answer_clear(&total);
}

/* A size of 0 makes an instance empty, however large the others are. */
static void empty_instance(const void *data) {
  static const struct {
    const char *text;
    gemel_status status;
  } all[] = {{"graph f(x: f64[80800, 71912, 0]) { return r = x }", GEMEL_OK},
             {"graph f(x: f64[80800, 71912, 1]) { return r = x }", GEMEL_BAD_SHAPE}};
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(all); k++) {
    gemel__instance instance;
    gemel_error error;
    gemel_graph *graph = gemel_parse(c, all[k].text, strlen(all[k].text), "t-model", NULL, &error);
    CT_REQUIRE(graph != NULL);
    CT_EQ_INT(gemel__instance_of_graph(&instance, graph, NULL, &error), all[k].status);
    if (all[k].status == GEMEL_OK) {
      CT_EQ_INT(instance.leaves[0].count, 0);
      gemel__instance_clear(&instance);
    }
    gemel_graph_unref(graph);
  }
}

/* ---- Memory ---- */

static int decide_once(void *data) {
  gemel_graph **graphs = data;
  gemel__model_side sides[2] = {{gemel__side_graph, graphs[0]}, {gemel__side_graph, graphs[1]}};
  gemel__instance leaves;
  gemel__question q;
  gemel__answer answer;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_status status = gemel__instance_of_graph(&leaves, graphs[0], NULL, &error);
  if (status != GEMEL_OK) {
    return status;
  }
  memset(&q, 0, sizeof q);
  q.leaves = &leaves;
  q.left = &sides[0];
  q.right = &sides[1];
  q.n_outputs = 1;
  q.points = 1;
  q.trials = 1;
  q.seed = 5;
  status = gemel__decide(&q, &answer, &error);
  if (status == GEMEL_OK) {
    gemel__answer_clear(&answer);
  }
  gemel__instance_clear(&leaves);
  return status;
}

static void out_of_memory(const void *data) {
  gemel_graph *graphs[2];
  (void)data;
  graphs[0] = parse("relu(x) - relu(-x)", 2);
  graphs[1] = parse("x", 2);
  CT_CHECK(ct_oom(decide_once, graphs) > 50);
  gemel_graph_unref(graphs[0]);
  gemel_graph_unref(graphs[1]);
}

/* Where one side alone has no real value, IEEE's values decide if the question says so. */
static void poles(const void *data) {
  static const struct {
    const char *left, *right;
    gemel_verdict of_ieee;
  } rows[] = {
      {"1:f64 / (1:f64 / x)", "x", GEMEL_VERDICT_PASSED},
      {"x / (y / z)", "x * z / y", GEMEL_VERDICT_PASSED},
      {"x / x", "y - y + 1:f64", GEMEL_VERDICT_REFUTED},
      {"exp(log(x))", "x", GEMEL_VERDICT_REFUTED},
      {"sqrt(x) * sqrt(x)", "x", GEMEL_VERDICT_REFUTED},
      {"1:f64 / (1:f64 / x)", "x + 1e-30:f64 * x", GEMEL_VERDICT_REFUTED},
      {"1:f64 / (1:f64 / (x - x))", "x - x", GEMEL_VERDICT_UNINFORMATIVE},
  };
  (void)data;
  for (size_t k = 0; k < CT_COUNT(rows); k++) {
    struct asked p = {rows[k].left, rows[k].right, 3, 1, GEMEL__SAME_DOMAIN, 0, NULL};
    expect(&p, GEMEL_VERDICT_REFUTED, NULL);
    p.compare_domain = GEMEL__IEEE_DECIDES;
    expect(&p, rows[k].of_ieee, NULL);
  }
}

static const ct_test tests[] = {
    CT_TEST("poles", poles, NULL),
    CT_TEST("faults_show", faults_show, NULL),
    CT_TEST("trials", trials_for_signs, NULL),
    CT_TEST("one_way", one_way, NULL),
    CT_TEST("one_way/proven", one_way_proven, NULL),
    CT_TEST("windows", windows, NULL),
    CT_TEST("one_way/merged", sites_merge, NULL),
    CT_TEST("empty", empty_instance, NULL),
    CT_TEST("memory", out_of_memory, NULL),
};

void ct_register(void) {
  size_t k;
  shared();
  for (k = 0; k < CT_COUNT(lies); k++) {
    CT_ADD_TO("model", "lie", lies[k].name, not_believed, &lies[k]);
  }
  for (k = 0; k < CT_COUNT(truths); k++) {
    CT_ADD_TO("model", "truth", truths[k].name, not_believed, &truths[k]);
  }
  ct_suite("model", tests, CT_COUNT(tests));
}
