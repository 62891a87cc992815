/* SPDX-License-Identifier: MIT
 *
 * Describes where two sides of a region differ, for people.
 */
#ifndef GEMEL__CERTIFY_DIFFERENCE_H
#define GEMEL__CERTIFY_DIFFERENCE_H

#include "pairs/pair.h"

/* Begins as {RANDOM, GRAPHS, NULL}; the text is freed with gemel_text_free. */
typedef struct gemel__difference {
  gemel__random *random;
  int graphs; /* 1: PAIR has other sizes than the region; its graphs are shown too */
  char *text; /* NULL: nothing was shown yet */
} gemel__difference;

/* Describes how the sides of PAIR differ at VALUES, its inputs, which are shrunk. VALUES NULL: no
 * such inputs are known, and WHY says what was seen. Only the first call writes a text. DIFFERENCE
 * may be NULL. GEMEL_NO_MEMORY. */
gemel_status gemel__difference_show(gemel__difference *difference, const gemel__pair *pair,
                                    gemel_tensor **values, const char *why, gemel_error *error);

/* Discards the text. */
void gemel__difference_forget(gemel__difference *difference);

#endif
