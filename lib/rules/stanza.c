/* SPDX-License-Identifier: MIT
 *
 * One text for several rules, see stanza.h.
 */
#include "rules/stanza.h"

#include <string.h>

static gemel_status expected(const gemel__lex *lex, const char *what, gemel_error *error) {
  char found[64];
  return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected %s, found %s", what,
                         gemel__lex_describe(lex, found));
}

static gemel_status read_names(gemel__lex *lex, gemel__stanza *s, gemel_error *error) {
  for (gemel__lex_next(lex); !gemel__lex_is(lex, "in"); gemel__lex_next(lex)) {
    if (lex->kind != GEMEL__TOKEN_NAME || s->n_names == GEMEL__STANZA_NAMES) {
      return expected(lex, s->n_names == 0 ? "a name" : "'in'", error);
    }
    s->names[s->n_names++] = (gemel__stanza_word){lex->token, lex->length};
  }
  return s->n_names > 0 ? GEMEL_OK : expected(lex, "a name before 'in'", error);
}

/* The words of one rule, one for each name. */
static gemel_status read_words(gemel__lex *lex, gemel__stanza *s, gemel_error *error) {
  if (s->n_rules == GEMEL__STANZA_RULES) {
    return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "more than %d rules of one stanza",
                           GEMEL__STANZA_RULES);
  }
  for (uint32_t k = 0; k < s->n_names; k++) {
    if (lex->kind == ',' || lex->kind == ':' || lex->kind == GEMEL__TOKEN_END) {
      return expected(lex, s->n_names == 1 ? "a word" : "a word for each name", error);
    }
    if (lex->length > GEMEL__STANZA_WORD) {
      return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "the word is longer than %d characters",
                             GEMEL__STANZA_WORD);
    }
    s->words[s->n_rules][k] = (gemel__stanza_word){lex->token, lex->length};
    gemel__lex_next(lex);
  }
  s->n_rules++;
  return GEMEL_OK;
}

gemel_status gemel__stanza_read(gemel__lex *lex, gemel__stanza *stanza, gemel_error *error) {
  stanza->n_names = stanza->n_rules = 0;
  GEMEL__TRY(read_names(lex, stanza, error));
  do {
    gemel__lex_next(lex);
    GEMEL__TRY(read_words(lex, stanza, error));
  } while (lex->kind == ',');
  GEMEL__TRY(gemel__lex_expect(lex, ':', "',' or ':'", error));
  return gemel__lex_is(lex, "rule") ? GEMEL_OK : expected(lex, "'rule'", error);
}

/* The name that stands in braces at TEXT; n_names: none does. */
static uint32_t name_at(const gemel__stanza *s, const char *text) {
  uint32_t k = 0;
  while (k < s->n_names &&
         !(text[0] == '{' && strncmp(text + 1, s->names[k].text, s->names[k].length) == 0 &&
           text[s->names[k].length + 1] == '}')) {
    k++;
  }
  return k;
}

/* Writes TEXT with the words of rule RULE to TO, unless that is NULL. Returns its length. */
static size_t fill(const gemel__stanza *s, uint32_t rule, const char *text, char *to) {
  size_t length = 0;
  while (*text != '\0') {
    size_t plain = strcspn(text + 1, "{") + 1; /* to the next brace */
    uint32_t k = name_at(s, text);
    gemel__stanza_word piece =
        k < s->n_names ? s->words[rule][k] : (gemel__stanza_word){text, plain};
    if (to != NULL) {
      memcpy(to + length, piece.text, piece.length);
    }
    length += piece.length;
    text += k < s->n_names ? s->names[k].length + 2 : plain;
  }
  return length;
}

const char *gemel__stanza_fill(const gemel__stanza *stanza, uint32_t k, const char *text,
                               gemel__arena *arena) {
  size_t length = fill(stanza, k, text, NULL);
  char *filled = gemel__arena_alloc(arena, length + 1);
  if (filled != NULL) {
    filled[fill(stanza, k, text, filled)] = '\0';
  }
  return filled;
}
