/*
 * What the prover says of the rules in a text, for tests of what it takes expressions and elements
 * to mean. Included by the test programs after ct.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_SUPPORT_PROVED_H
#define GEMEL_TESTS_SUPPORT_PROVED_H

#include <stdio.h>
#include <string.h>
#include <gemel/verify.h>

enum { PROVED_MOST = 2, ALL = 9 };

/* Of each rule of the text, in its order: up to how many axes it is proved, ALL if for any number,
 * 0 if it is open; and why there is no more. */
typedef struct proved {
  size_t count;
  int ranks[PROVED_MOST];
  char why[PROVED_MOST][200];
} proved;

static void keep_proof(void *user, const gemel_proof *proof) {
  proved *p = user;
  size_t k = p->count++;
  CT_CHECK(proof->counterexample == NULL); /* a mistake that the check of claims had to find */
  CT_REQUIRE(k < PROVED_MOST);
  p->ranks[k] = proof->elements == NULL ? 0 : proof->all_ranks ? ALL : proof->ranks;
  snprintf(p->why[k], sizeof p->why[k], "%s", proof->why);
}

/* P = what is proved of the rules in TEXT for tensors of up to RANKS axes; 0 if gemel refuses to
 * read them. */
static int prove_text(const char *text, int ranks, proved *p) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "proved.rules", &error);
  const gemel_prove_options options = {
      .size = sizeof options, .ranks = ranks, .jobs = 1, .sink = keep_proof, .user = p};
  int read = rules != NULL;
  memset(p, 0, sizeof *p);
  if (read) {
    CT_EQ_INT(gemel_prove_rules(context, rules, NULL, &options, &error), GEMEL_OK);
  }
  CT_CHECK(read || error.status == GEMEL_BAD_TEXT);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return read;
}

/* ---- Tables of rules ---- */

typedef struct proved_case {
  const char *name, *text;
  int ranks; /* of two axes: proved up to so many, or ALL; 0: open */
} proved_case;

static void check_proved(const void *data) {
  const proved_case *c = data;
  char text[1500];
  proved p;
  snprintf(text, sizeof text, "rule %s in canonicalize: %s", c->name, c->text);
  CT_REQUIRE(prove_text(text, 2, &p));
  CT_REQUIRE(p.count == 1);
  ct_context("%s: %s", c->name, p.why[0]);
  CT_EQ_INT(p.ranks[0], c->ranks);
}

#endif
