/* SPDX-License-Identifier: MIT
 *
 * A question as SMT-LIB text. Each term that is part of it becomes a definition, operands first, so
 * that the text is as long as the terms are many, however often one is used. A fold is a constant
 * of which nothing is known; who asks adds what is.
 */
#include "unbounded/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "base/buffer.h"
#include "base/smt.h"
#include "core/alloc.h"
#include "core/intern.h"
#include "unbounded/scalar.h"

void gemel__ask_init(gemel__ask *ask, gemel__pterms *terms) {
  memset(ask, 0, sizeof *ask);
  ask->terms = terms;
  ask->work = GEMEL__ASK_WORK;
}

void gemel__ask_clear(gemel__ask *ask) {
  gemel__free(ask->asked, ask->asked_size * sizeof *ask->asked);
  gemel__ask_init(ask, ask->terms);
}

/* ---- Text ---- */

static const char *sort_name(gemel__pterm_sort sort) {
  static const char *const names[] = {"Int", "Bool", "E"};
  gemel_dtype dtype;
  return gemel__psort_dtype(sort, &dtype) ? gemel__scalar_sort(dtype) : names[sort];
}

/* 1 if A is an operation on elements of a known dtype. */
static int is_operation(const gemel__pterms *t, gemel__pterm a) {
  const gemel__pterm_node *n = &t->nodes[a];
  gemel_dtype dtype;
  return n->kind == GEMEL__P_CALL && n->count > 0 &&
         gemel__psort_dtype(t->nodes[gemel__p_operand(t, a, 0)].sort, &dtype);
}

static void say_operands(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a) {
  for (uint32_t k = 0; k < t->nodes[a].count; k++) {
    gemel__buffer_format(b, " t%u", gemel__p_operand(t, a, k));
  }
  gemel__buffer_format(b, ")");
}

static void say_sum(gemel__buffer *b, const gemel__pterms *t, const gemel__pterm_node *n) {
  gemel__buffer_format(b, "(+ %s", gemel__smt_integer(n->value).text);
  for (uint32_t k = 0; k < n->count; k++) {
    gemel__buffer_format(b, " (* %s t%u)", gemel__smt_integer(t->coefficients[n->first + k]).text,
                         t->operands[n->first + k]);
  }
  gemel__buffer_format(b, ")");
}

/* Functions are told apart by name, number of operands and the dtype of what they give. */
static void say_function_name(gemel__buffer *b, const gemel__pterm_node *n) {
  gemel_dtype dtype;
  gemel__buffer_format(b, "|%s/%u", n->name, n->count);
  if (gemel__psort_dtype(n->sort, &dtype)) {
    gemel__buffer_format(b, ":%s", gemel_dtype_name(dtype));
  }
  gemel__buffer_text(b, "|");
}

static void say_function(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a) {
  const gemel__pterm_node *n = &t->nodes[a];
  if (n->count == 0) {
    gemel__buffer_format(b, "|%s|", n->name);
    return;
  }
  gemel__buffer_text(b, "(");
  if (is_operation(t, a)) {
    gemel__scalar_say_name(b, t, a);
  } else {
    say_function_name(b, n);
  }
  say_operands(b, t, a);
}

static int is_literal(const gemel__pterm_node *n) {
  return n->kind == GEMEL__P_CALL && n->value == 2;
}

static void say_term(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a, int bits) {
  static const char *const operators[] = {
      [GEMEL__P_PRODUCT] = "*",  [GEMEL__P_DIVIDED] = "div", [GEMEL__P_REMAINDER] = "mod",
      [GEMEL__P_CHOICE] = "ite", [GEMEL__P_ZERO] = "= 0",    [GEMEL__P_NATURAL] = "<= 0",
      [GEMEL__P_SAME] = "=",     [GEMEL__P_NOT] = "not",     [GEMEL__P_AND] = "and",
      [GEMEL__P_OR] = "or"};
  const gemel__pterm_node *n = &t->nodes[a];
  gemel_dtype dtype;
  if (is_literal(n) && gemel__psort_dtype(n->sort, &dtype)) {
    gemel__scalar_say_number(b, dtype, n->name, bits);
    return;
  }
  switch (n->kind) {
  case GEMEL__P_NUMBER:
    gemel__buffer_text(b, gemel__smt_integer(n->value).text);
    return;
  case GEMEL__P_SUM:
    say_sum(b, t, n);
    return;
  case GEMEL__P_CALL:
    say_function(b, t, a);
    return;
  case GEMEL__P_SYMBOL:
    gemel__buffer_format(b, "|%s|", n->name);
    return;
  case GEMEL__P_TRUTH:
    gemel__buffer_format(b, n->value ? "true" : "false");
    return;
  default:
    gemel__buffer_format(b, "(%s", operators[n->kind]);
    say_operands(b, t, a);
  }
}

/* 1 if A and B are named by one function. */
static int same_function(const gemel__pterms *t, gemel__pterm a, gemel__pterm b) {
  const gemel__pterm_node *n = &t->nodes[a], *m = &t->nodes[b];
  return n->kind == m->kind && n->name == m->name && n->count == m->count && n->sort == m->sort &&
         n->value == m->value &&
         (!is_operation(t, a) ||
          (is_operation(t, b) &&
           t->nodes[gemel__p_operand(t, a, 0)].sort == t->nodes[gemel__p_operand(t, b, 0)].sort));
}

/* Declares or defines what A is named by, unless an earlier term has done so. */
static void say_declaration(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a,
                            const unsigned char *wanted, int bits) {
  const gemel__pterm_node *n = &t->nodes[a];
  for (gemel__pterm k = 1; k < a; k++) {
    if (wanted[k] && same_function(t, k, a)) {
      return;
    }
  }
  if (is_operation(t, a)) {
    gemel__scalar_say_meaning(b, t, a, bits);
    return;
  }
  if (n->count == 0) {
    gemel__buffer_format(b, "(declare-fun |%s| () %s)\n", n->name,
                         sort_name((gemel__pterm_sort)n->sort));
    return;
  }
  gemel__buffer_text(b, "(declare-fun ");
  say_function_name(b, n);
  gemel__buffer_text(b, " (");
  for (uint32_t k = 0; k < n->count; k++) {
    gemel__buffer_format(b, "%s%s", k > 0 ? " " : "",
                         sort_name((gemel__pterm_sort)t->nodes[gemel__p_operand(t, a, k)].sort));
  }
  gemel__buffer_format(b, ") %s)\n", sort_name((gemel__pterm_sort)n->sort));
}

static void say_definition(gemel__buffer *b, const gemel__pterms *t, gemel__pterm a,
                           const unsigned char *wanted, int bits) {
  const gemel__pterm_node *n = &t->nodes[a];
  const char *sort = sort_name((gemel__pterm_sort)n->sort);
  if (n->kind == GEMEL__P_FOLD) {
    gemel__buffer_format(b, "(declare-fun t%u () %s)\n", a, sort);
    return;
  }
  if ((n->kind == GEMEL__P_SYMBOL || n->kind == GEMEL__P_CALL) && !is_literal(n)) {
    say_declaration(b, t, a, wanted, bits);
  }
  gemel__buffer_format(b, "(define-fun t%u () %s ", a, sort);
  say_term(b, t, a, bits);
  gemel__buffer_format(b, ")\n");
  if (n->kind == GEMEL__P_CALL && n->value == 1 && n->count == 2 && !is_operation(t, a)) {
    gemel__buffer_format(b, "(assert (= t%u (", a);
    say_function_name(b, n);
    gemel__buffer_format(b, " t%u t%u)))\n", gemel__p_operand(t, a, 1), gemel__p_operand(t, a, 0));
  }
}

/* A bit for each dtype of the WANTED terms; *CASTS: there are casts among them. */
static unsigned dtypes_of(const gemel__pterms *t, const unsigned char *wanted, int *casts) {
  unsigned dtypes = 0;
  *casts = 0;
  for (gemel__pterm k = 1; k < t->count; k++) {
    gemel_dtype dtype;
    if (wanted[k] && gemel__psort_dtype(t->nodes[k].sort, &dtype)) {
      dtypes |= 1u << dtype;
      *casts |= is_operation(t, k) && strcmp(t->nodes[k].name, "cast") == 0;
    }
  }
  return dtypes;
}

/* The question as text: it has no model if GOAL follows. */
static void say_question(gemel__buffer *b, const gemel__ask *ask, const unsigned char *wanted,
                         const gemel__pterm *known, size_t count, gemel__pterm goal) {
  const gemel__pterms *t = ask->terms;
  int casts;
  unsigned dtypes = dtypes_of(t, wanted, &casts);
  gemel__buffer_text(b, dtypes != 0 ? "" : "(declare-sort E 0)\n");
  gemel__scalar_say_dtypes(b, dtypes, ask->bits);
  gemel__scalar_say_rounding(b, casts && !ask->bits ? dtypes : 0);
  for (gemel__pterm k = 1; k < t->count; k++) {
    if (wanted[k]) {
      say_definition(b, t, k, wanted, ask->bits);
    }
  }
  for (size_t k = 0; k < count; k++) {
    gemel__buffer_format(b, "(assert t%u)\n", known[k]);
  }
  gemel__buffer_format(b, "(assert (not t%u))\n(check-sat)\n", goal);
}

/* Numbers the terms that TEXT defines anew, in their order, so that one question has one text. */
static void renumber(char *text, gemel__pterm *numbers) {
  gemel__pterm last = 0;
  char *to = text;
  for (const char *from = text; *from != '\0';) {
    int starts = from > text && (from[-1] == ' ' || from[-1] == '(') && from[0] == 't' &&
                 from[1] >= '0' && from[1] <= '9';
    if (!starts) {
      *to++ = *from++;
      continue;
    }
    char *end, name[12];
    unsigned long k = strtoul(from + 1, &end, 10);
    numbers[k] = numbers[k] != 0 ? numbers[k] : ++last;
    int length = snprintf(name, sizeof name, "t%u", numbers[k]);
    memcpy(to, name, (size_t)length); /* no longer than what was there */
    to += length;
    from = end;
  }
  *to = '\0';
}

/* A mark for each term of the question; NULL: memory is out. */
static unsigned char *terms_of(const gemel__pterms *t, const gemel__pterm *known, size_t count,
                               gemel__pterm goal) {
  unsigned char *wanted = gemel__alloc_zeroed(t->count);
  if (wanted != NULL) {
    wanted[goal] = 1;
    for (size_t k = 0; k < count; k++) {
      wanted[known[k]] = 1;
    }
    gemel__p_mark(t, (gemel__pterm)t->count - 1, 0, wanted);
  }
  return wanted;
}

char *gemel__ask_text(const gemel__ask *ask, const gemel__pterm *known, size_t count,
                      gemel__pterm goal) {
  const gemel__pterms *t = ask->terms;
  gemel__buffer b = {0};
  unsigned char *wanted = terms_of(t, known, count, goal);
  gemel__pterm *numbers = gemel__alloc_zeroed(t->count * sizeof *numbers);
  if (wanted == NULL || numbers == NULL) {
    gemel__free(wanted, wanted != NULL ? t->count : 0);
    gemel__free(numbers, numbers != NULL ? t->count * sizeof *numbers : 0);
    return NULL;
  }
  say_question(&b, ask, wanted, known, count, goal);
  if (gemel__buffer_allocate(&b) == 0) {
    say_question(&b, ask, wanted, known, count, goal);
  }
  char *text = gemel__buffer_finish(&b);
  if (text != NULL) {
    renumber(text, numbers);
  }
  gemel__free(wanted, t->count);
  gemel__free(numbers, t->count * sizeof *numbers);
  return text;
}

/* ---- Answers ---- */

int gemel__ask_has_solver(void) {
  return gemel__smt_has_solver();
}

/* Takes the number X of the symbol called NAME, if ASK's model wants it. */
static void take_number(void *user, const char *name, const fmpq_t x) {
  gemel__ask *ask = user;
  gemel__pmodel *m = &ask->model;
  for (uint32_t k = 0; k < m->count; k++) {
    if (strcmp(ask->terms->nodes[m->symbols[k]].name, name) == 0) {
      m->is &= fmpz_bits(fmpq_numref(x)) < 32;
      m->numbers[k] = m->is ? fmpz_get_si(fmpq_numref(x)) : 0;
    }
  }
}

/* What Z3 says to TEXT. On polynomials Z3 checks its limit too seldom, so a question may take
 * minutes. */
static gemel__follows solve(gemel__ask *ask, const char *text) {
  static const gemel__follows answers[] = {[GEMEL__SMT_UNKNOWN] = GEMEL__FOLLOWS_OPEN,
                                           [GEMEL__SMT_NEVER] = GEMEL__FOLLOWS_YES,
                                           [GEMEL__SMT_POSSIBLE] = GEMEL__FOLLOWS_NO};
  gemel__smt_question question = {.text = text, .work = ask->work, .user = ask};
  gemel__pmodel *m = &ask->model;
  if (ask->wants_model && m->count <= GEMEL__PMODEL) {
    question.take = take_number;
    memset(m->numbers, 0, sizeof m->numbers);
    m->is = 1;
  }
  gemel__follows answer = answers[gemel__smt_ask(&question)];
  m->is &= answer == GEMEL__FOLLOWS_NO;
  return answer;
}

static int widen(gemel__ask *ask) {
  size_t size = ask->asked_size > 0 ? 2 * ask->asked_size : 256;
  gemel__pasked *asked = gemel__alloc_zeroed(size * sizeof *asked);
  if (asked == NULL) {
    return 1;
  }
  for (size_t k = 0; k < ask->asked_size; k++) {
    size_t at = ask->asked[k].hash[0] & (size - 1);
    while (ask->asked[k].hash[0] != 0 && asked[at].hash[0] != 0) {
      at = (at + 1) & (size - 1);
    }
    if (ask->asked[k].hash[0] != 0) {
      asked[at] = ask->asked[k];
    }
  }
  gemel__free(ask->asked, ask->asked_size * sizeof *asked);
  ask->asked = asked;
  ask->asked_size = size;
  return 0;
}

/* The answer to TEXT, which may be known from before. */
static gemel__follows answer_to(gemel__ask *ask, const char *text) {
  size_t length = strlen(text);
  uint64_t hash[2] = {gemel__hash_bytes(1, text, length) | 1, gemel__hash_bytes(2, text, length)};
  if (2 * ask->n_asked >= ask->asked_size && widen(ask)) {
    ask->no_memory = 1;
    return GEMEL__FOLLOWS_OPEN;
  }
  size_t at = hash[0] & (ask->asked_size - 1);
  for (; ask->asked[at].hash[0] != 0; at = (at + 1) & (ask->asked_size - 1)) {
    if (memcmp(ask->asked[at].hash, hash, sizeof hash) == 0) {
      return ask->asked[at].answer;
    }
  }
  memcpy(ask->asked[at].hash, hash, sizeof hash);
  ask->asked[at].answer = solve(ask, text);
  ask->n_asked++;
  ask->questions++;
  ask->open += ask->asked[at].answer == GEMEL__FOLLOWS_OPEN;
  return ask->asked[at].answer;
}

/* 1 if each part of GOAL, which may be parts joined by `and`, is among what is known. */
static int is_known(const gemel__pterms *t, const gemel__pterm *known, size_t count,
                    gemel__pterm goal) {
  enum { MOST = 64 };
  gemel__pterm parts[MOST] = {goal};
  for (uint32_t left = 1; left > 0;) {
    gemel__pterm part = parts[--left];
    const gemel__pterm_node *n = &t->nodes[part];
    size_t at = 0;
    while (at < count && known[at] != part && !gemel__p_is_false(t, known[at])) {
      at++;
    }
    if (at < count || gemel__p_is_true(t, part)) {
      continue;
    }
    if (n->kind != GEMEL__P_AND || left + n->count > MOST) {
      return 0;
    }
    for (uint32_t k = 0; k < n->count; k++) {
      parts[left++] = gemel__p_operand(t, part, k);
    }
  }
  return 1;
}

/* The symbols of a model: the integers of the question. COUNT is how many there are, if there is
 * no room for all. */
static void list_symbols(gemel__ask *ask, const gemel__pterm *known, size_t count,
                         gemel__pterm goal) {
  const gemel__pterms *t = ask->terms;
  unsigned char *wanted = terms_of(t, known, count, goal);
  ask->no_memory |= wanted == NULL;
  ask->model.count = 0;
  for (gemel__pterm k = 1; wanted != NULL && k < t->count; k++) {
    if (wanted[k] && t->nodes[k].kind == GEMEL__P_SYMBOL &&
        t->nodes[k].sort == GEMEL__PSORT_INTEGER && ask->model.count++ < GEMEL__PMODEL) {
      ask->model.symbols[ask->model.count - 1] = k;
    }
  }
  gemel__free(wanted, wanted != NULL ? t->count : 0);
}

gemel__follows gemel__ask_follows(gemel__ask *ask, const gemel__pterm *known, size_t count,
                                  gemel__pterm goal) {
  gemel__follows answer = GEMEL__FOLLOWS_OPEN;
  ask->model.is = 0;
  if (goal == 0 || ask->terms->trouble || ask->no_memory) {
    return GEMEL__FOLLOWS_OPEN;
  }
  if (gemel__p_is_true(ask->terms, goal)) {
    return GEMEL__FOLLOWS_YES;
  }
  if (is_known(ask->terms, known, count, goal)) {
    return GEMEL__FOLLOWS_YES;
  }
  if (ask->wants_model) {
    list_symbols(ask, known, count, goal);
  }
  if (gemel__ask_example(ask, known, count, goal)) {
    return GEMEL__FOLLOWS_NO;
  }
  char *text = gemel__ask_text(ask, known, count, goal);
  ask->no_memory |= text == NULL;
  if (text != NULL) {
    answer = answer_to(ask, text);
    gemel_text_free(text);
  }
  return answer;
}
