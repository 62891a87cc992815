/* SPDX-License-Identifier: MIT
 *
 * Lists of names as people write them: words with commas, colons or spaces between them, in which
 * *, ? and [...] stand for characters as in a shell.
 */
#ifndef GEMEL__CORE_WORDS_H
#define GEMEL__CORE_WORDS_H

#include <stddef.h>
#include <gemel/status.h>
#include "core/suggest.h"

/* The next word of the list from AT on; its length is 0 at the end. */
const char *gemel__next_word(const char *at, size_t *length);

/* 1 if the word of LENGTH bytes at WORD stands for NAME. */
int gemel__word_names(const char *word, size_t length, const char *name);

/* 1 if a word of LIST (NULL: any name) stands for NAME. */
int gemel__list_names(const char *list, const char *name);

/* 1 if WORD stands for one of USER's names; else each of them is offered to NEAR (or NULL). */
typedef int (*gemel__names_any)(const void *user, const char *word, size_t length,
                                gemel__suggestion *near);

/* 1 if the word stands for NAME; else offers NAME to NEAR (or NULL). */
int gemel__word_names_or_offers(const char *word, size_t length, const char *name,
                                gemel__suggestion *near);

/* "; did you mean NAME?" of the one of USER's names that is near to WORD, or ""; nothing is near to
 * a pattern. Lives in NEAR. */
const char *gemel__word_suggestion(const char *word, size_t length, gemel__names_any names_any,
                                   const void *user, gemel__suggestion *near);

/* GEMEL_NOT_FOUND, "no WHAT matches 'word'" and what was perhaps meant, at the first word of LIST
 * (NULL: none) for which NAMES_ANY of USER is 0. */
gemel_status gemel__list_check(const char *list, const char *what, gemel__names_any names_any,
                               const void *user, gemel_error *error);

#endif
