/*
 * Memory that is refused while wrong rules are verified: whichever allocation it is, on the way to
 * a refutation and while its counterexample is made small, the answer is GEMEL_NO_MEMORY, never a
 * verdict that rests on less than was asked for, and nothing leaks. Verifying takes some ten
 * thousand allocations, so they are refused at places spread over all of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>
#include "instances/instance.h"
#include "support/heard.h"
#include "support/watched-memory.h"

/* ---- Verifying ---- */

typedef struct wrong {
  const char *name, *text;
} wrong;

static gemel_status verify(const char *text, heard *h) {
  gemel_verify_options options = heard_by(h, (gemel_verify_options){.instances = 8});
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules =
      context != NULL ? gemel_rules_parse(context, text, strlen(text), "test", &error) : NULL;
  gemel_status status = error.status;
  if (rules != NULL) {
    status = gemel_verify_rules(context, rules, "*", &options, NULL, &error);
  }
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return status;
}

/* REFUSE: the allocation that must be refused; 0: none. */
static gemel_status verify_with(const char *text, long refuse, heard *h) {
  watch_memory(refuse);
  gemel_status status = verify(text, h);
  CT_EQ_INT(unwatch_memory(), refuse != 0);
  return status;
}

static void refusals_end_it(const void *data) {
  enum { PLACES = 100 };
  const wrong *rule = data;
  heard whole, h;
  long all;
  size_t ended = 0;
  CT_EQ_INT(verify_with(rule->text, 0, &whole), GEMEL_OK);
  CT_CHECK(whole.refuted > 0);
  all = atomic_load(&watched.asked);
  for (long k = 0; k < PLACES; k++) {
    long at = all - all * k / PLACES;
    gemel_status status = verify_with(rule->text, at, &h);
    ct_context("allocation %ld of %ld", at, all);
    ended += status == GEMEL_NO_MEMORY;
    if (status != GEMEL_NO_MEMORY) {
      CT_EQ_INT(status, GEMEL_OK);
      CT_CHECK(h.refuted > 0);
      CT_CHECK(strcmp(h.counterexample, whole.counterexample) == 0 ||
               strcmp(h.counterexample, "(out of memory)") == 0);
    }
  }
  CT_CHECK(ended > PLACES / 2);
}

/* An instance inside a larger graph (verify/instances/embed.c): whole, or refused. */
static int embeds(void *data) {
  const char *name = data;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  const gemel_operation *op = context != NULL ? gemel_operation_find(context, name) : NULL;
  gemel__instance base, embedded;
  gemel_status status = error.status;
  memset(&base, 0, sizeof base);
  memset(&embedded, 0, sizeof embedded);
  for (uint64_t seed = 1; seed <= 6 && status == GEMEL_OK; seed++) {
    int stateful = seed > 3;
    gemel__random random;
    gemel__random_seed(&random, seed);
    status = gemel__instance_draw(&base, context, op, GEMEL_F32, 20, &random, &error);
    if (status == GEMEL_OK) {
      status = gemel__instance_embed(&embedded, &base, stateful, &random, &error);
    }
    CT_EQ_INT(error.status, status);
    if (status == GEMEL_OK) {
      CT_EQ_INT(gemel_graph_error(embedded.graph)->status, GEMEL_OK);
      /* two for each of the first results, of which one may be left out */
      size_t n = gemel_graph_output_count(embedded.graph);
      size_t results = gemel_graph_output_count(base.graph);
      CT_CHECK(n >= (results == 1 ? 2 : results));
      CT_EQ_UINT(embedded.calls, stateful ? 2 : 0);
      CT_EQ_UINT(gemel__instance_results(&embedded), stateful ? 2 * n : n);
      CT_CHECK(stateful ? embedded.n_leaves >= base.n_leaves : embedded.n_leaves == base.n_leaves);
    }
    gemel__instance_clear(&embedded);
    gemel__instance_clear(&base);
  }
  gemel_context_unref(context);
  return status;
}

static void embedding(const void *data) {
  CT_CHECK(ct_oom(embeds, (void *)data) > 50);
}

void ct_register(void) {
  static const wrong rules[] = {
      {"real", "rule wrong in canonicalize:\n  x + 1 => x + 2\n  where float(x)\n"},
      {"integer",
       "rule wrong in canonicalize:\n  abs(x - y) => x - y\n  where signed(x) and signed(y)\n"},
      {"undeclared", "rule wrong in canonicalize:\n  x + 0 => x\n  where float(x)\n"},
  };
  for (size_t k = 0; k < CT_COUNT(rules); k++) {
    CT_ADD("refused", rules[k].name, refusals_end_it, &rules[k]);
  }
  CT_ADD("refused", "embedding/add", embedding, "add");
  CT_ADD("refused", "embedding/split", embedding, "split");
  CT_ADD("refused", "embedding/gt", embedding, "gt");
  CT_ADD("refused", "embedding/sum", embedding, "sum");
}
