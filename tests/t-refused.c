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

/* ---- An allocator that refuses ---- */

typedef struct miser {
  gemel_allocator base;
  uint64_t asked, refuse; /* the number of the one that is refused; 0: none */
  int64_t held;           /* bytes */
  int refused;
} miser;

static int may(miser *m) {
  m->asked++;
  m->refused |= m->asked == m->refuse;
  return m->asked != m->refuse;
}

static void *take(void *state, size_t bytes) {
  miser *m = state;
  void *block = may(m) ? m->base.allocate(m->base.state, bytes) : NULL;
  m->held += block != NULL ? (int64_t)bytes : 0;
  return block;
}

static void *resize(void *state, void *block, size_t old_bytes, size_t bytes) {
  miser *m = state;
  void *moved = may(m) ? m->base.reallocate(m->base.state, block, old_bytes, bytes) : NULL;
  m->held += moved != NULL ? (int64_t)bytes - (int64_t)old_bytes : 0;
  return moved;
}

static void give(void *state, void *block, size_t bytes) {
  miser *m = state;
  m->held -= (int64_t)bytes;
  m->base.release(m->base.state, block, bytes);
}

/* ---- Verifying ---- */

typedef struct wrong {
  const char *name, *text;
} wrong;

typedef struct verdict {
  gemel_verdict worst;
  char counterexample[2000];
} verdict;

static void note(void *user, const gemel_record *record) {
  verdict *v = user;
  if (record->verdict == GEMEL_REFUTED) {
    v->worst = GEMEL_REFUTED;
    snprintf(v->counterexample, sizeof v->counterexample, "%s", record->counterexample);
  }
}

static gemel_status verify(const char *text, verdict *v) {
  gemel_verify_options options = {.size = sizeof options, .instances = 8};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules =
      context != NULL ? gemel_rules_parse(context, text, strlen(text), "test", &error) : NULL;
  gemel_status status = error.status;
  *v = (verdict){GEMEL_PASSED, ""};
  options.sink = note;
  options.user = v;
  if (rules != NULL) {
    status = gemel_verify_rules(context, rules, "*", &options, NULL, &error);
  }
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return status;
}

static gemel_status verify_with(miser *m, const char *text, uint64_t refuse, verdict *v) {
  gemel_allocator mine = {sizeof mine, take, resize, give, m};
  gemel_status status;
  memset(m, 0, sizeof *m);
  m->base = gemel_get_allocator();
  m->refuse = refuse;
  CT_EQ_INT(gemel_set_allocator(&mine), GEMEL_OK);
  status = verify(text, v);
  gemel_set_allocator(&m->base);
  return status;
}

static void refusals_end_it(const void *data) {
  enum { PLACES = 100 };
  const wrong *rule = data;
  verdict whole, v;
  miser m;
  uint64_t all;
  size_t ended = 0;
  CT_EQ_INT(verify_with(&m, rule->text, 0, &whole), GEMEL_OK);
  CT_EQ_INT(whole.worst, GEMEL_REFUTED);
  CT_EQ_INT(m.held, 0);
  all = m.asked;
  for (uint64_t k = 0; k < PLACES; k++) {
    uint64_t at = all - all * k / PLACES;
    gemel_status status = verify_with(&m, rule->text, at, &v);
    ct_context("allocation %llu of %llu", (unsigned long long)at, (unsigned long long)all);
    CT_EQ_INT(m.refused, 1);
    CT_EQ_INT(m.held, 0);
    ended += status == GEMEL_NO_MEMORY;
    if (status != GEMEL_NO_MEMORY) {
      CT_EQ_INT(status, GEMEL_OK);
      CT_EQ_INT(v.worst, GEMEL_REFUTED);
      CT_CHECK(strcmp(v.counterexample, whole.counterexample) == 0 ||
               strcmp(v.counterexample, "(out of memory)") == 0);
    }
  }
  CT_CHECK(ended > PLACES / 2);
}

/* An instance inside a larger graph (verify/instances/embed.c): whole, or refused. */
static int embeds(void *data) {
  const char *name = data;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  const gemel_operation *op = context != NULL ? gemel_find_operation(context, name) : NULL;
  gemel__instance base, embedded;
  gemel_status status = error.status;
  memset(&base, 0, sizeof base);
  memset(&embedded, 0, sizeof embedded);
  for (uint64_t seed = 1; seed <= 3 && status == GEMEL_OK; seed++) {
    gemel__random random;
    gemel__random_seed(&random, seed);
    status = gemel__instance_draw_ranked(&base, context, op, GEMEL_F32, 20, 0, &random, &error);
    if (status == GEMEL_OK) {
      status = gemel__instance_embed(&embedded, &base, &random, &error);
    }
    CT_EQ_INT(error.status, status);
    if (status == GEMEL_OK) {
      CT_EQ_INT(gemel_graph_error(embedded.graph)->status, GEMEL_OK);
      CT_EQ_UINT(gemel_graph_output_count(embedded.graph),
                 2 * gemel_graph_output_count(base.graph));
      CT_EQ_UINT(embedded.n_leaves, base.n_leaves);
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
  CT_ADD("refused", "embedding/gt", embedding, "gt");
  CT_ADD("refused", "embedding/sum", embedding, "sum");
}
