/* SPDX-License-Identifier: MIT
 *
 * Which rules and passes take part in a rewriting, by its options.
 */
#ifndef GEMEL__REWRITE_CHOICE_H
#define GEMEL__REWRITE_CHOICE_H

#include "core/suggest.h"
#include "rewrite/dispatch.h"

/* 1 if the word, or one of LIST (core/words.h), stands for the rule's name, family, phase or a tag.
 */
int gemel__word_names_rule(const char *word, size_t length, const gemel_rule_info *info);
int gemel__list_names_rule(const char *list, const gemel_rule_info *info);

/* 1 if the word stands for the rule; else each of these names is offered to NEAR (or NULL). */
int gemel__word_names_rule_or_offers(const char *word, size_t length, const gemel_rule_info *info,
                                     gemel__suggestion *near);

/* GEMEL_NOT_FOUND if a word of LIST (NULL: none) stands for no rule of RULES. */
gemel_status gemel__list_check_rules(const char *list, const gemel_rules *rules,
                                     gemel_error *error);

/* The last phase that there is in MODE. All rules that are chosen take part in it, so that what it
 * leaves alone is left alone for good. */
gemel_phase gemel__last_phase(gemel_mode mode);

/* The rules that some options choose, by phase, ready to be used by one rewriting at a time. */
typedef struct gemel__choice {
  struct gemel__choice *next;
  /* the options that it was made for */
  gemel_mode mode;
  unsigned allow;
  int without_builtin;
  char *include, *exclude;
  uint64_t *sets; /* their serial numbers */
  size_t n_sets;
  gemel__selection phases[GEMEL_PHASE_COUNT];
} gemel__choice;

/* The choice for OPTIONS, whose fields are all there: one that the context keeps, or a new one. It
 * is the caller's until gemel__choice_give_back. GEMEL_NOT_FOUND, GEMEL_BAD_ARGUMENT as
 * gemel_rewrite has them; GEMEL_NO_MEMORY. Thread-safe. */
gemel_status gemel__choice_take(gemel_context *context, const gemel_rewrite_options *options,
                                gemel__choice **choice, gemel_error *error);

/* Gives CHOICE (or NULL) back to CONTEXT, which keeps the last few. Thread-safe. */
void gemel__choice_give_back(gemel_context *context, gemel__choice *choice);

/* 1 if OPTIONS choose PASS. */
int gemel__chooses_pass(const gemel_rewrite_options *options, const gemel_pass *pass);

#endif
