/*
 * Mutants of rewrite rules: which there are for rules of every kind, that each is the rule with one
 * thing changed, and what the harness makes of them; the same of scalar operations.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <string.h>
#include "rules/mutate.h"
#include "support/graph-text.h"

static gemel_error error;

static gemel_rules *rules_of(gemel_context *context, const char *text) {
  return gemel_rules_parse(context, text, strlen(text), "t.rules", &error);
}

/* ---- Which mutants there are ---- */

/* A rule's bodies, `needs` aside, and its mutants' bodies in their order, a line each. */
struct expected {
  const char *name, *rule, *mutants;
};

static const struct expected generated[] = {
    {"numbers", "x - 0 => x",
     "add(x, 0) => x\n"
     "0 - x => x\n"
     "x - 1 => x\n"
     "x - -1 => x\n"},
    {"reals", "x * -2.5 => -(x * 2.5)",
     "div(x, -2.5) => -(x * 2.5)\n"
     "x * -1.5 => -(x * 2.5)\n"
     "x * -3.5 => -(x * 2.5)\n"
     "x * 2.5 => -(x * 2.5)\n"
     "x * 0.0 => -(x * 2.5)\n"
     "x * 1.0 => -(x * 2.5)\n"
     "x * -5.0 => -(x * 2.5)\n"
     "x * -2.4999997615814209 => -(x * 2.5)\n"
     "x * -2.5000002384185791 => -(x * 2.5)\n"
     "x * -2.5 => abs(x * 2.5)\n"
     "x * -2.5 => sign(x * 2.5)\n"
     "x * -2.5 => x * 2.5\n"
     "x * -2.5 => -div(x, 2.5)\n"
     "x * -2.5 => -x\n"
     "x * -2.5 => -(2.5)\n"
     "x * -2.5 => -(x * 3.5)\n"
     "x * -2.5 => -(x * 1.5)\n"
     "x * -2.5 => -(x * -2.5)\n"
     "x * -2.5 => -(x * 0.0)\n"
     "x * -2.5 => -(x * 1.0)\n"
     "x * -2.5 => -(x * 5.0)\n"
     "x * -2.5 => -(x * 2.5000002384185791)\n"
     "x * -2.5 => -(x * 2.4999997615814209)\n"},
    /* an equality that is loosened, and an arm that is lost */
    {"bounds", "abs(x) => x where rank(x) == 2 or scalar(x)",
     "sqr(x) => x where (rank(x) == 2) or scalar(x)\n"
     "sqrt(x) => x where (rank(x) == 2) or scalar(x)\n"
     "neg(x) => x where (rank(x) == 2) or scalar(x)\n"
     "sign(x) => x where (rank(x) == 2) or scalar(x)\n"
     "abs(x) => x\n"
     "abs(x) => x where not ((rank(x) == 2) or scalar(x))\n"
     "abs(x) => x where (rank(x) == 2) and scalar(x)\n"
     "abs(x) => x where rank(x) == 2\n"
     "abs(x) => x where scalar(x)\n"
     "abs(x) => x where (rank(x) != 2) or scalar(x)\n"
     "abs(x) => x where (rank(x) <= 2) or scalar(x)\n"
     "abs(x) => x where (rank(x) >= 2) or scalar(x)\n"
     "abs(x) => x where (rank(x) == 3) or scalar(x)\n"
     "abs(x) => x where (rank(x) == 1) or scalar(x)\n"
     "abs(x) => x where (rank(x) == -2) or scalar(x)\n"
     "abs(x) => x where (rank(x) == 0) or scalar(x)\n"
     "abs(x) => x where (rank(x) == 4) or scalar(x)\n"
     "abs(x) => x where (rank(x) == 2) or constant(x)\n"
     "abs(x) => x where (rank(x) == 2) or splat(x)\n"},
    /* a fact that is weakened, strengthened or lost */
    {"facts", "abs(x) => x where positive(x)",
     "sqr(x) => x where positive(x)\n"
     "sqrt(x) => x where positive(x)\n"
     "neg(x) => x where positive(x)\n"
     "sign(x) => x where positive(x)\n"
     "abs(x) => x\n"
     "abs(x) => x where not (positive(x))\n"
     "abs(x) => x where nonnegative(x)\n"
     "abs(x) => x where nonzero(x)\n"
     "abs(x) => x where not_nan(x)\n"},
    /* an arm of the pattern that is lost matches more */
    {"arms", "(x or not y) => 1",
     "logical_and(x, not y) => 1\n"
     "x => 1\n"
     "not y => 1\n"
     "x or y => 1\n"
     "x or (not y) => 2\n"
     "x or (not y) => 0\n"
     "x or (not y) => -1\n"},
    {"attributes", "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q])",
     "dimshuffle(dimshuffle(x, order = p)) => dimshuffle(x, order = p[q])\n"
     "dimshuffle(dimshuffle(x), order = q) => dimshuffle(x, order = p[q])\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x)\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => x\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q] + 1)\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q] - 1)\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = -(p[q]))\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = reversed(p[q]))\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = q[p])\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p)\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = q)\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = q[q])\n"
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[p])\n"},
    {"conditions", "exp(x) => x where rank(x) < 2, not (float(x) and constant(x))",
     "expm1(x) => x where rank(x) < 2, not (float(x) and constant(x))\n"
     "exp(x) => x where not (float(x) and constant(x))\n"
     "exp(x) => x where not (rank(x) < 2), not (float(x) and constant(x))\n"
     "exp(x) => x where rank(x) <= 2, not (float(x) and constant(x))\n"
     "exp(x) => x where rank(x) > 2, not (float(x) and constant(x))\n"
     "exp(x) => x where rank(x) >= 2, not (float(x) and constant(x))\n"
     "exp(x) => x where 2 < rank(x), not (float(x) and constant(x))\n"
     "exp(x) => x where rank(x) < 3, not (float(x) and constant(x))\n"
     "exp(x) => x where rank(x) < 1, not (float(x) and constant(x))\n"
     "exp(x) => x where rank(x) < -2, not (float(x) and constant(x))\n"
     "exp(x) => x where rank(x) < 0, not (float(x) and constant(x))\n"
     "exp(x) => x where rank(x) < 4, not (float(x) and constant(x))\n"
     "exp(x) => x where rank(x) < 2\n"
     "exp(x) => x where rank(x) < 2, not (not (float(x) and constant(x)))\n"
     "exp(x) => x where rank(x) < 2, float(x) and constant(x)\n"
     "exp(x) => x where rank(x) < 2, not (float(x) or constant(x))\n"
     "exp(x) => x where rank(x) < 2, not float(x)\n"
     "exp(x) => x where rank(x) < 2, not constant(x)\n"
     "exp(x) => x where rank(x) < 2, not (integer(x) and constant(x))\n"
     "exp(x) => x where rank(x) < 2, not (bool(x) and constant(x))\n"
     "exp(x) => x where rank(x) < 2, not (numeric(x) and constant(x))\n"
     "exp(x) => x where rank(x) < 2, not (float(x) and splat(x))\n"
     "exp(x) => x where rank(x) < 2, not (float(x) and scalar(x))\n"},
    {"names", "exp((x + y) as s) * 1 => exp(s)",
     "div(exp((x + y) as s), 1) => exp(s)\n"
     "expm1((x + y) as s) * 1 => exp(s)\n"
     "exp(sub(x, y) as s) * 1 => exp(s)\n"
     "exp((x + y) as s) * 2 => exp(s)\n"
     "exp((x + y) as s) * 0 => exp(s)\n"
     "exp((x + y) as s) * -1 => exp(s)\n"
     "exp((x + y) as s) * 1 => expm1(s)\n"
     "exp((x + y) as s) * 1 => s\n"
     "exp((x + y) as s) * 1 => exp(y)\n"
     "exp((x + y) as s) * 1 => exp(x)\n"},
    /* neither what is left out nor the axes of a sum have an order; that of a dimshuffle has */
    {"sets", "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3]), 2])",
     "prod(x, axes = a) => sum(x, axes = [without(a, [0, 3]), 2])\n"
     "sum(x) => sum(x, axes = [without(a, [0, 3]), 2])\n"
     "sum(x, axes = a) => prod(x, axes = [without(a, [0, 3]), 2])\n"
     "sum(x, axes = a) => sum(x)\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3]), 2], keepdims = 1)\n"
     "sum(x, axes = a) => x\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3]), 2] + 1)\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3]), 2] - 1)\n"
     "sum(x, axes = a) => sum(x, axes = -([without(a, [0, 3]), 2]))\n"
     "sum(x, axes = a) => sum(x, axes = [2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3])])\n"
     "sum(x, axes = a) => sum(x, axes = [without([0, 3], a), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [a, 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [3]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [1, 3]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [-1, 3]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 4]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 2]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, -3]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 0]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 1]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 6]), 2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3]), 3])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3]), 1])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3]), -2])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3]), 0])\n"
     "sum(x, axes = a) => sum(x, axes = [without(a, [0, 3]), 4])\n"},
    {"operands", "join(x, ..ys, axis = a) => join(sum(x, axes = [a]), ..ys, axis = a)",
     "join(..ys, x, axis = a) => join(sum(x, axes = [a]), ..ys, axis = a)\n"
     "join(..ys, axis = a) => join(sum(x, axes = [a]), ..ys, axis = a)\n"
     "join(x, axis = a) => join(sum(x, axes = [a]), ..ys, axis = a)\n"
     "join(x, ..ys) => join(sum(x, axes = [a]), ..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(..ys, sum(x, axes = [a]), axis = a)\n"
     "join(x, ..ys, axis = a) => join(..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = [a]), axis = a)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = [a]), ..ys)\n"
     "join(x, ..ys, axis = a) => sum(x, axes = [a])\n"
     "join(x, ..ys, axis = a) => join(prod(x, axes = [a]), ..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(sum(x), ..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = [a], keepdims = 1), ..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(x, ..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = [a] + 1), ..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = [a] - 1), ..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = -([a])), ..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = []), ..ys, axis = a)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = [a]), ..ys, axis = a + 1)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = [a]), ..ys, axis = a - 1)\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = [a]), ..ys, axis = -(a))\n"
     "join(x, ..ys, axis = a) => join(sum(x, axes = [a]), ..ys, axis = reversed(a))\n"}};

/* The mutants with the rule's own `needs`, in one text; the lines of a rule become one. */
static void bodies(const gemel__mutants *m, char *text, size_t bytes) {
  size_t used = 0;
  for (size_t k = 0; k < m->count; k++) {
    const char *p = strstr(m->list[k].text, ":\n    ");
    if (strncmp(m->list[k].mutation, "needs", 5) == 0) {
      continue;
    }
    for (p += 6; *p != '\0' && used + 2 < bytes; p++) {
      int fold = strncmp(p, "\n    ", 5) == 0;
      text[used++] = fold ? ' ' : *p;
      p += fold ? 4 : 0;
    }
    text[used++] = '\n';
  }
  text[used] = '\0';
}

static void generates(const void *data) {
  const struct expected *e = data;
  gemel_context *context = gemel_context_new(&error);
  char rule[1000], text[16000];
  gemel__mutants m, again;
  memset(&m, 0, sizeof m);
  memset(&again, 0, sizeof again);
  snprintf(rule, sizeof rule, "rule r in canonicalize:\n    %s\n", e->rule);
  gemel_rules *rules = rules_of(context, rule);
  CT_REQUIRE(rules != NULL);
  CT_EQ_INT(gemel__mutants_of_rule(gemel_rules_at(rules, 0), 1, &m, &error), GEMEL_OK);
  CT_EQ_INT(gemel__mutants_of_rule(gemel_rules_at(rules, 0), 1, &again, &error), GEMEL_OK);
  bodies(&m, text, sizeof text);
  CT_EQ_STR(text, e->mutants);
  CT_EQ_UINT(m.count, again.count);
  for (size_t k = 0; k < m.count && k < again.count; k++) {
    CT_EQ_STR(m.list[k].text, again.list[k].text);
    CT_EQ_STR(m.list[k].mutation, again.list[k].mutation);
  }
  gemel__mutants_clear(&m);
  gemel__mutants_clear(&again);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* Each word of `needs` goes or comes, and the header stays otherwise. */
static void words(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules =
      rules_of(context, "rule r in stabilize tags t, slow needs nsz, afn: x / x => x");
  gemel__mutants m;
  unsigned with = 0, without = 0;
  (void)data;
  memset(&m, 0, sizeof m);
  CT_REQUIRE(rules != NULL);
  CT_EQ_INT(gemel__mutants_of_rule(gemel_rules_at(rules, 0), 1, &m, &error), GEMEL_OK);
  for (size_t k = 0; k < m.count; k++) {
    CT_CHECK(strncmp(m.list[k].text, "rule r in stabilize tags t, slow", 32) == 0);
    with += strncmp(m.list[k].mutation, "needs: with ", 12) == 0;
    without += strncmp(m.list[k].mutation, "needs: without ", 15) == 0;
    if (strcmp(m.list[k].mutation, "needs: without nsz") == 0) {
      CT_EQ_STR(m.list[k].text, "rule r in stabilize tags t, slow needs afn:\n    x / x => x");
    }
    if (strcmp(m.list[k].mutation, "needs: with nnan") == 0) {
      CT_EQ_STR(m.list[k].text,
                "rule r in stabilize tags t, slow needs nnan, nsz, afn:\n    x / x => x");
    }
  }
  CT_EQ_UINT(with, GEMEL_NEEDS_COUNT - 2);
  CT_EQ_UINT(without, 2);
  gemel__mutants_clear(&m);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* ---- What becomes of them ---- */

/* A rule, one of its mutations, and the mutant's fate. */
struct outcome {
  const char *name, *rule, *mutation;
  gemel__fate fate;
};

static const struct outcome outcomes[] = {
    {"killed", "rule r in canonicalize: (x - y) - z => x - (y + z) where integer(x)",
     "right: y + z has sub instead", GEMEL__FATE_KILLED},
    {"killed-needs", "rule r in canonicalize: -(-x) => x", "needs: with nsz", GEMEL__FATE_KILLED},
    {"killed-condition", "rule r in canonicalize: x + 0 => x where integer(x)",
     "where: drops integer(x)", GEMEL__FATE_KILLED},
    {"stillborn", "rule r in canonicalize: -(-join(x, ..ys, axis = a)) => join(x, ..ys, axis = a)",
     "left: join(x, ..ys, axis = a) without ..ys", GEMEL__FATE_STILLBORN},
    /* the condition forbids what would be right: the mutant is another true rule */
    {"equivalent", "rule r in canonicalize: -(-x) => x where rank(x) < 2",
     "where: drops rank(x) < 2", GEMEL__FATE_EQUIVALENT},
    /* another right side, and exact evaluation says that it is the same function */
    {"equivalent-sides", "rule r in canonicalize: minimum(x, x) => maximum(x, x)",
     "right: of maximum(x, x) only x", GEMEL__FATE_EQUIVALENT},
    {"killed-literal", "rule r in canonicalize: x < 7 => x <= 6 where integer(x)",
     "right: 6 becomes 7", GEMEL__FATE_KILLED},
    {"killed-literal-down",
     "rule r in canonicalize needs nnan: x >= 2.5 => not (x < 2.5) where float(x)",
     "right: 2.5 becomes 1.5", GEMEL__FATE_KILLED},
    {"killed-next", "rule r in canonicalize: x >= 2.5 => 2.5 <= x where dtype(x) == f32",
     "right: 2.5 becomes 2.5000002384185791", GEMEL__FATE_KILLED},
    {"killed-bound",
     "rule r in canonicalize needs nsz: sum(-x, axes = [0, 1]) => -sum(x) where rank(x) == 2, "
     "float(x)",
     "where: rank(x) == 2 has >= instead", GEMEL__FATE_KILLED},
    {"killed-arm", "rule r in canonicalize: x < 3 or x >= 3 => 1 where integer(x)",
     "left: of (x < 3) or (x >= 3) only x < 3", GEMEL__FATE_KILLED},
    {"killed-fact", "rule r in canonicalize: abs(x) => x where positive(x), float(x)",
     "where: positive(x) has nonzero instead", GEMEL__FATE_KILLED},
    {"narrower", "rule r in canonicalize: -(-x) => x where rank(x) < 3", "where: 3 becomes 2",
     GEMEL__FATE_NARROWER},
    /* the condition never speaks: no instance can show that the mutant is right, or wrong */
    {"alike", "rule r in canonicalize: -(-x) => x where rank(x) < 60", "where: drops rank(x) < 60",
     GEMEL__FATE_ALIKE},
    /* that it improves shows, said or not */
    {"equivalent-improves", "rule r in canonicalize needs nsz, afn: log(1 + x) => log1p(x)",
     "needs: with improves", GEMEL__FATE_EQUIVALENT}};

struct heard {
  const char *mutation;
  gemel__fate fate;
  size_t count, json;
  char detail[400];
};

static void hear(void *user, const gemel__mutant *mutant) {
  struct heard *h = user;
  char line[4000];
  CT_EQ_STR(mutant->name, "r");
  CT_CHECK((mutant->tier[0] != '\0') ==
           (mutant->fate == GEMEL__FATE_KILLED || mutant->fate == GEMEL__FATE_REFUTED));
  if (strcmp(mutant->mutation, h->mutation) == 0) {
    h->fate = mutant->fate;
    h->count++;
    snprintf(h->detail, sizeof h->detail, "%s", mutant->detail);
    gemel__mutant_json(mutant, line, sizeof line);
    h->json = strstr(line, "{\"kind\": \"mutant\", \"of\": \"rule\", \"rule\": \"r\"") == line &&
              strstr(line, gemel__fate_name(mutant->fate)) != NULL;
  }
}

static void comes_out(const void *data) {
  const struct outcome *o = data;
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules = rules_of(context, o->rule);
  struct heard heard = {o->mutation, GEMEL__FATE_COUNT, 0, 0, ""};
  gemel__mutate_options options = {1, 8, hear, &heard, 1, 0};
  gemel__mutate_summary summary = {0};
  size_t sum = 0;
  CT_REQUIRE(rules != NULL);
  CT_EQ_INT(gemel__mutate_rules(context, rules, NULL, &options, &summary, &error), GEMEL_OK);
  CT_EQ_UINT(heard.count, 1);
  CT_CHECK(heard.json);
  ct_context("%s: %s", o->mutation, heard.detail);
  CT_EQ_STR(gemel__fate_name(heard.fate), gemel__fate_name(o->fate));
  for (int k = 0; k < GEMEL__FATE_COUNT; k++) {
    sum += summary.fates[k];
  }
  CT_EQ_UINT(summary.subjects, 1);
  CT_CHECK(summary.fates[o->fate] > 0 && sum > GEMEL_NEEDS_COUNT);
  CT_CHECK(summary.score ==
           (double)summary.fates[GEMEL__FATE_KILLED] /
               (double)(summary.fates[GEMEL__FATE_KILLED] + summary.fates[GEMEL__FATE_SURVIVED]));
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* A rule that isn't passed itself is said to be refuted, once, and has no mutants. */
static void wrong_itself(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules = rules_of(context, "rule r in canonicalize: maximum(x, x + y) => x");
  struct heard heard = {"none: the rule itself", GEMEL__FATE_COUNT, 0, 0, ""};
  gemel__mutate_options options = {1, 8, hear, &heard, 1, 0};
  gemel__mutate_summary summary = {0};
  (void)data;
  CT_REQUIRE(rules != NULL);
  CT_EQ_INT(gemel__mutate_rules(context, rules, NULL, &options, &summary, &error), GEMEL_OK);
  CT_EQ_UINT(heard.count, 1);
  CT_EQ_STR(gemel__fate_name(heard.fate), "refuted");
  for (int k = 0; k < GEMEL__FATE_COUNT; k++) {
    CT_EQ_UINT(summary.fates[k], k == GEMEL__FATE_REFUTED);
  }
  CT_EQ_UINT(summary.subjects, 0);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* Mutants that the prover is asked: what it doesn't prove isn't judged, and of what it proves
 * nothing is refuted but for tensors of more axes than the claim says. */
static void proves_nothing_wrong(const void *data) {
  static const char rule[] = "rule r in canonicalize: reverse(reverse(x, axes = a), axes = b)"
                             " => reverse(x, axes = [without(a, b), without(b, a)])";
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules = rules_of(context, rule);
  gemel__mutate_options options = {.seed = 1, .instances = 8, .one_in = 3, .proofs = 1};
  gemel__mutate_summary summary = {0};
  (void)data;
  CT_REQUIRE(rules != NULL);
  CT_EQ_INT(gemel__mutate_rules(context, rules, NULL, &options, &summary, &error), GEMEL_OK);
  CT_CHECK(summary.fates[GEMEL__FATE_OPEN] > 0);
  CT_EQ_UINT(summary.contradicted, 0);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
}

/* Adds what telling instances show COUNT times: BODY beside its input. */
static void tell(gemel_context *context, gemel__mutant_contrast *c, const char *input,
                 size_t count) {
  char body[100];
  gemel_graph *a, *b;
  snprintf(body, sizeof body, "(%s) { y = -(-x) return y }", input);
  a = graph_of(context, body);
  snprintf(body, sizeof body, "(%s) { return y = x }", input);
  b = graph_of(context, body);
  CT_REQUIRE(a != NULL && b != NULL);
  for (size_t k = 0; k < count; k++) {
    c->telling++;
    CT_EQ_INT(gemel__contrast_add(c, a, b, 1, 4, &error), GEMEL_OK);
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
}

/* Results without elements don't vouch for those that only samples decide; four that are decided
 * exactly do. */
static void emptiness(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel__mutant_contrast c = {.drawn = 9};
  (void)data;
  tell(context, &c, "x: f64[0, 2]", 5);
  CT_EQ_STR(gemel__fate_name(gemel__contrast_fate(&c)), "equivalent");
  c.telling++;
  c.vague++;
  CT_EQ_STR(gemel__fate_name(gemel__contrast_fate(&c)), "survived");
  tell(context, &c, "x: f64[2]", 3);
  CT_EQ_UINT(c.refuted, 0);
  CT_EQ_STR(gemel__fate_name(gemel__contrast_fate(&c)), "survived");
  tell(context, &c, "x: f64[2]", 1);
  CT_EQ_STR(gemel__fate_name(gemel__contrast_fate(&c)), "equivalent");
  gemel_context_unref(context);
}

/* ---- Scalar operations ---- */

struct row_outcome {
  const char *name, *op, *mutation, *text;
  gemel__fate fate;
};

static const struct row_outcome row_outcomes[] = {
    {"derivative", "sqr", "derivative by input 0: 2 becomes 3", "g * (3 * x)", GEMEL__FATE_KILLED},
    {"derivative-sign", "sub", "derivative by input 1: of -g only g", "g", GEMEL__FATE_KILLED},
    {"kernel", "maximum", "kernel: computes minimum", "M(min)(x, y)", GEMEL__FATE_KILLED},
    {"derivative-part", "tanh", "derivative by input 0: sqr(r) has abs instead", "g * (1 - abs(r))",
     GEMEL__FATE_KILLED},
    /* the same numbers wherever it has one; at 0 it has none */
    {"derivative-undefined", "abs", "derivative by input 0: g * sign(x) has div instead",
     "div(g, sign(x))", GEMEL__FATE_KILLED}};

struct row_heard {
  const struct row_outcome *wanted;
  size_t count;
};

static void hear_row(void *user, const gemel__mutant *mutant) {
  struct row_heard *h = user;
  if (strcmp(mutant->mutation, h->wanted->mutation) == 0) {
    h->count++;
    CT_EQ_STR(mutant->name, h->wanted->op);
    CT_EQ_STR(mutant->text, h->wanted->text);
    CT_EQ_STR(gemel__fate_name(mutant->fate), gemel__fate_name(h->wanted->fate));
  }
}

static void row_comes_out(const void *data) {
  const struct row_outcome *o = data;
  struct row_heard heard = {o, 0};
  gemel__mutate_options options = {1, 8, hear_row, &heard, 0, 0};
  gemel__mutate_summary summary = {0};
  CT_EQ_INT(gemel__mutate_operations(o->op, &options, &summary, &error), GEMEL_OK);
  CT_EQ_UINT(heard.count, 1);
  CT_EQ_UINT(summary.subjects, 1);
  CT_EQ_UINT(summary.fates[GEMEL__FATE_SURVIVED], 0);
}

static void refuses(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  (void)data;
  CT_EQ_INT(gemel__mutate_rules(NULL, NULL, NULL, NULL, NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel__mutate_rules(context, NULL, "no_such_rule", NULL, NULL, &error),
            GEMEL_NOT_FOUND);
  CT_HAS_STR(error.text, "no_such_rule");
  CT_EQ_INT(gemel__mutate_operations("no_such_op", NULL, NULL, &error), GEMEL_NOT_FOUND);
  CT_CHECK(gemel__fate_name(GEMEL__FATE_COUNT) == NULL);
  CT_EQ_UINT(gemel__mutant_json(NULL, NULL, 0), 0);
  gemel_context_unref(context);
}

/* One of each so many, not always the same one. */
static void chooses(const void *data) {
  size_t places[7] = {0}, differ = 0;
  (void)data;
  for (size_t at = 0; at < 700; at += 7) {
    size_t count = 0;
    for (size_t k = 0; k < 7; k++) {
      int chosen = gemel__mutant_chosen(1, 7, at + k);
      count += (size_t)chosen;
      places[k] += (size_t)chosen;
      differ += chosen != gemel__mutant_chosen(2, 7, at + k);
      CT_CHECK(gemel__mutant_chosen(1, 0, at + k) && gemel__mutant_chosen(1, 1, at + k));
    }
    CT_EQ_UINT(count, 1);
  }
  for (size_t k = 0; k < 7; k++) {
    CT_CHECK(places[k] > 0);
  }
  CT_CHECK(differ > 0);
}

static const ct_test tests[] = {CT_TEST("chooses", chooses, NULL),
                                CT_TEST("needs", words, NULL),
                                CT_TEST("emptiness", emptiness, NULL),
                                CT_TEST("wrong_itself", wrong_itself, NULL),
                                CT_TEST("proves_nothing_wrong", proves_nothing_wrong, NULL),
                                CT_TEST("refuses", refuses, NULL)};

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(generated); k++) {
    CT_ADD("generates", generated[k].name, generates, &generated[k]);
  }
  for (size_t k = 0; k < CT_COUNT(outcomes); k++) {
    CT_ADD("becomes", outcomes[k].name, comes_out, &outcomes[k]);
  }
  for (size_t k = 0; k < CT_COUNT(row_outcomes); k++) {
    CT_ADD("rows", row_outcomes[k].name, row_comes_out, &row_outcomes[k]);
  }
  ct_suite("mutate", tests, CT_COUNT(tests));
}
