/* SPDX-License-Identifier: MIT
 *
 * Where two sides of a region differ, as text for people.
 */
#ifndef GEMEL__CERTIFY_DIFFERENCE_H
#define GEMEL__CERTIFY_DIFFERENCE_H

#include "pairs/pair.h"

/* Begins as {RANDOM, GRAPHS, NULL}; the text is freed with gemel_text_free. */
typedef struct gemel__difference {
  gemel__random *random;
  int graphs; /* 1: sizes aren't the region's. Then both sides are shown at those that they have,
                 and also where no input tells them */
  char *text; /* NULL: nothing was shown */
} gemel__difference;

/* Shows that the sides of PAIR differ at VALUES of its leaves, which become simpler ones where the
 * sides differ just as well; NULL: at none that are known, and WHY says what was seen. Only the
 * first difference is shown. DIFFERENCE may be NULL. GEMEL_NO_MEMORY. */
gemel_status gemel__difference_show(gemel__difference *difference, const gemel__pair *pair,
                                    gemel_tensor **values, const char *why, gemel_error *error);

/* Forgets what was shown. */
void gemel__difference_forget(gemel__difference *difference);

#endif
