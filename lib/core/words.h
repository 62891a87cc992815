/* SPDX-License-Identifier: MIT
 *
 * Lists of names as people write them: words with commas, colons or spaces between them, in which
 * *, ? and [...] stand for characters as in a shell.
 */
#ifndef GEMEL__CORE_WORDS_H
#define GEMEL__CORE_WORDS_H

#include <stddef.h>
#include <gemel/status.h>

/* The next word of the list from AT on; its length is 0 at the end. */
const char *gemel__next_word(const char *at, size_t *length);

/* 1 if the word of LENGTH bytes at WORD stands for NAME. */
int gemel__word_names(const char *word, size_t length, const char *name);

/* 1 if a word of LIST (NULL: any name) stands for NAME. */
int gemel__list_names(const char *list, const char *name);

/* GEMEL_NOT_FOUND, "no WHAT matches 'word'", at the first word of LIST (NULL: none) for which
 * NAMES_ANY of USER is 0. */
gemel_status gemel__list_check(const char *list, const char *what,
                               int (*names_any)(const void *user, const char *word, size_t length),
                               const void *user, gemel_error *error);

#endif
