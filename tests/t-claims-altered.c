/*
 * The prover against the check of its claims: rules of gemel's own with a number, a variable, a
 * function, an operator or a condition altered, most of them wrong. What is proved of them must not
 * be contradicted. GEMEL_ALTERED_RULES says how many are made (20), GEMEL_ALTERED_SEED which (1).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/verify.h>
#include "base/random.h"

enum { TEXT = 4000, TOKENS = 800, WORDS = 64 };

/* ---- Altering a text ---- */

typedef struct token {
  const char *at;
  size_t length;
} token;

typedef struct tokens {
  token at[TOKENS];
  size_t count;
} tokens;

static int is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static void split(const char *text, tokens *t) {
  static const char *const twos[] = {"=>", "==", "!=", "<=", ">=", "//"};
  t->count = 0;
  while (*text != '\0' && t->count < TOKENS) {
    size_t n = 1;
    while (is_word(text[0]) && is_word(text[n])) {
      n++;
    }
    for (size_t k = 0; k < CT_COUNT(twos); k++) {
      n = strncmp(text, twos[k], 2) == 0 ? 2 : n;
    }
    t->at[t->count++] = (token){text, n};
    text += n;
  }
}

static int is(const token *t, const char *text) {
  return strlen(text) == t->length && memcmp(t->at, text, t->length) == 0;
}

/* One of the N words of CHOICES, but not NOT. */
static const char *other_of(const char *const *choices, size_t n, const token *not_this,
                            gemel__random *random) {
  const char *word = choices[gemel__random_below(random, n)];
  return is(not_this, word) ? choices[gemel__random_below(random, n)] : word;
}

/* The next token behind K that isn't a space. */
static const token *behind(const tokens *t, size_t k) {
  static const token end = {"", 0};
  for (k++; k < t->count; k++) {
    if (!isspace((unsigned char)*t->at[k].at)) {
      return &t->at[k];
    }
  }
  return &end;
}

/* What stands for token K instead; NULL: it stays. */
static const char *instead(const tokens *t, size_t k, gemel__random *random, char room[WORDS]) {
  static const char *const compared[] = {"==", "!=", "<", "<=", ">", ">="};
  static const char *const computed[] = {"+", "-", "*", "//", "%"};
  static const char *const unary[] = {"neg", "abs",  "exp",  "sqr",     "relu",
                                      "log", "sqrt", "tanh", "sigmoid", "sign"};
  static const char *const folds[] = {"sum", "prod", "max", "argmax", "cumsum", "softmax"};
  static const char *const lists[] = {"sorted", "reversed", "inverse", "abs", "range"};
  static const char *const facts[] = {"positive", "nonzero", "nonnegative", "finite", "not_nan",
                                      "float",    "integer", "numeric",     "signed"};
  const struct {
    const char *const *words;
    size_t count;
  } sets[] = {{compared, CT_COUNT(compared)}, {computed, CT_COUNT(computed)},
              {unary, CT_COUNT(unary)},       {folds, CT_COUNT(folds)},
              {lists, CT_COUNT(lists)},       {facts, CT_COUNT(facts)}};
  const token *w = &t->at[k];
  for (size_t s = 0; s < CT_COUNT(sets); s++) {
    for (size_t j = 0; j < sets[s].count; j++) {
      if (is(w, sets[s].words[j])) {
        return other_of(sets[s].words, sets[s].count, w, random);
      }
    }
  }
  if (isdigit((unsigned char)*w->at)) {
    snprintf(room, WORDS, "%ld", strtol(w->at, NULL, 10) + gemel__random_between(random, -1, 2));
    return room;
  }
  if (is(w, "and") || is(w, "or")) {
    return is(w, "and") ? "or" : "and";
  }
  const token *next = behind(t, k), *from = &t->at[gemel__random_below(random, t->count)];
  if (isalpha((unsigned char)*w->at) && !is(next, "(") && !is(next, "=") &&
      isalpha((unsigned char)*from->at) && from->length < WORDS) {
    snprintf(room, WORDS, "%.*s", (int)from->length, from->at);
    return room;
  }
  return NULL;
}

/* The text of a rule from its head on, with one or two tokens altered, or its conditions cut. */
static void alter(const char *text, gemel__random *random, char made[TEXT]) {
  tokens t;
  char rooms[2][WORDS];
  const char *by[2] = {NULL, NULL};
  size_t at[2] = {0, 0}, used = 0;
  const char *where = strstr(text, " where ");
  split(text, &t);
  for (size_t k = 0; k < 1 + gemel__random_below(random, 2); k++) {
    for (int tries = 0; tries < 40 && by[k] == NULL; tries++) {
      at[k] = 6 + (size_t)gemel__random_below(random, t.count - 6); /* not the rule's name */
      by[k] = instead(&t, at[k], random, rooms[k]);
    }
  }
  int cut = where != NULL && gemel__random_chance(random, 1, 8);
  for (size_t k = 0; k < t.count && used + WORDS < TEXT && !(cut && t.at[k].at > where); k++) {
    const char *word = k == at[0] && by[0] != NULL   ? by[0]
                       : k == at[1] && by[1] != NULL ? by[1]
                                                     : NULL;
    used += (size_t)(word != NULL ? snprintf(made + used, TEXT - used, "%s", word)
                                  : snprintf(made + used, TEXT - used, "%.*s", (int)t.at[k].length,
                                             t.at[k].at));
  }
  made[used] = '\0';
}

/* ---- Proving it ---- */

typedef struct tally {
  const char *text;
  size_t read, proved, withdrawn;
} tally;

static void take(void *user, const gemel_proof *proof) {
  tally *t = user;
  t->proved += proof->elements != NULL;
  if (proof->counterexample != NULL) {
    t->withdrawn++;
    printf("%s\n%s\n\n", t->text, proof->counterexample);
  }
}

static void prove(gemel_context *context, const char *text, tally *t) {
  gemel_error error;
  gemel_rules *rules = gemel_rules_parse(context, text, strlen(text), "altered.rules", &error);
  const gemel_prove_options options = {
      .size = sizeof options, .ranks = 2, .jobs = 1, .sink = take, .user = t};
  t->text = text;
  t->read += rules != NULL;
  if (rules != NULL) {
    CT_EQ_INT(gemel_prove_rules(context, rules, NULL, &options, &error), GEMEL_OK);
  }
  gemel_rules_unref(rules);
}

static uint64_t asked(const char *name, uint64_t usual) {
  const char *said = getenv(name);
  char *end = NULL;
  uint64_t n = said != NULL ? strtoull(said, &end, 10) : usual;
  CT_CHECK(said == NULL || (*said != '\0' && *end == '\0' && n > 0));
  return n;
}

static void altered(const void *data) {
  tally t = {0};
  gemel_error error;
  char text[TEXT];
  uint64_t wanted = asked("GEMEL_ALTERED_RULES", 20), seed = asked("GEMEL_ALTERED_SEED", 1);
  gemel_context *context = gemel_context_new(&error);
  gemel_rules *builtin = gemel_rules_builtin(context, &error);
  (void)data;
  for (uint64_t k = 0; t.read < wanted && k < 20 * wanted; k++) {
    gemel__random random;
    gemel__random_split(&random, seed, k);
    size_t which = (size_t)gemel__random_below(&random, gemel_rules_count(builtin));
    alter(gemel_rule_describe(gemel_rules_at(builtin, which))->text, &random, text);
    if (strlen(text) < 1500) {
      prove(context, text, &t);
    }
    if (k % 256 == 255) { /* types are kept as long as their context */
      gemel_rules_unref(builtin);
      gemel_context_unref(context);
      context = gemel_context_new(&error);
      builtin = gemel_rules_builtin(context, &error);
    }
  }
  printf("%zu altered rules, %zu of them proved, %zu claims withdrawn\n", t.read, t.proved,
         t.withdrawn);
  CT_EQ_UINT(t.read, wanted);
  CT_CHECK(t.proved > 0);
  CT_EQ_UINT(t.withdrawn, 0);
  gemel_rules_unref(builtin);
  gemel_context_unref(context);
}

void ct_register(void) {
  CT_ADD("claims", "altered", altered, NULL);
}
