/* SPDX-License-Identifier: MIT
 *
 * `for f in sin, tan:` before a rule: one text for several rules. In the rule's text and in the
 * comment above, {f} stands for one word after the other; `for f op in add +, mul *:` has two words
 * for each rule. How many words there are, and how long they are, is limited, and words are filled
 * in once, so the text of all rules is at most some hundred times as long as the stanza's.
 */
#ifndef GEMEL__RULES_STANZA_H
#define GEMEL__RULES_STANZA_H

#include "core/arena.h"
#include "core/lex.h"

enum { GEMEL__STANZA_NAMES = 4, GEMEL__STANZA_RULES = 32, GEMEL__STANZA_WORD = 32 };

typedef struct gemel__stanza_word {
  const char *text; /* in the text that was read */
  size_t length;
} gemel__stanza_word;

typedef struct gemel__stanza {
  gemel__stanza_word names[GEMEL__STANZA_NAMES];
  gemel__stanza_word words[GEMEL__STANZA_RULES][GEMEL__STANZA_NAMES];
  uint32_t n_names, n_rules;
} gemel__stanza;

/* Reads what stands from the word `for`, at which LEX is, to the word `rule`. GEMEL_BAD_TEXT. */
gemel_status gemel__stanza_read(gemel__lex *lex, gemel__stanza *stanza, gemel_error *error);

/* TEXT with the words of rule K filled in, in ARENA; NULL when memory is out. */
const char *gemel__stanza_fill(const gemel__stanza *stanza, uint32_t k, const char *text,
                               gemel__arena *arena);

#endif
