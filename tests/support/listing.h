/* SPDX-License-Identifier: MIT
 *
 * Listings of functions as text.
 */
#ifndef GEMEL_TESTS_SUPPORT_LISTING_H
#define GEMEL_TESTS_SUPPORT_LISTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "../ct.h"

/* Writes to USER, a FILE. */
static inline int to_file(void *user, const void *bytes, size_t count) {
  return fwrite(bytes, 1, count, user) == count ? 0 : -1;
}

/* What F's listing is, until the next one is asked for. */
static inline const char *listing_of(const gemel_function *f) {
  static char *text;
  size_t bytes;
  free(text);
  FILE *file = open_memstream(&text, &bytes);
  CT_EQ_INT(gemel_function_print(f, to_file, file, NULL), GEMEL_OK);
  fclose(file);
  return text;
}

/* How often WORDS are in TEXT, which may be NULL. */
static inline int times_in(const char *text, const char *words) {
  int n = 0;
  for (; text != NULL && (text = strstr(text, words)) != NULL; text += strlen(words)) {
    n++;
  }
  return n;
}

#endif
