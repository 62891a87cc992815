/* SPDX-License-Identifier: MIT
 *
 * "Did you mean ...?": the nearest of some names, by the number of letters put in, left out,
 * replaced, or exchanged with their neighbour (Damerau's distance, each pair of neighbours
 * exchanged once at most); capitals are as small letters. Start with the name that was written,
 * offer each name of the table, and ask for the text to put behind a message.
 */
#ifndef GEMEL__CORE_SUGGEST_H
#define GEMEL__CORE_SUGGEST_H

#include <stddef.h>

typedef struct gemel__suggestion {
  const char *wanted; /* as it was written */
  size_t wanted_length;
  const char *name; /* the nearest so far; NULL: none is near */
  size_t length;
  unsigned distance;
  char text[96];
} gemel__suggestion;

/* The distance of A and B if it is at most 2, else 3. */
unsigned gemel__edit_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/* Starts with the name that is not known. */
void gemel__suggestion_start(gemel__suggestion *s, const char *wanted, size_t length);

/* Offers a name, which must live as long as S: it is taken if it is nearer than those before. A
 * distance of 1 is near, 2 is for names of five letters or more; a name that shares no letter with
 * what was written is never near. */
void gemel__suggestion_offer(gemel__suggestion *s, const char *name, size_t length);

/* "; did you mean NAME?", or "" if no name is near. Lives in S. */
const char *gemel__suggestion_text(gemel__suggestion *s);

#endif
