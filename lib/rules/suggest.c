/* SPDX-License-Identifier: MIT
 *
 * The distance is computed row by row in the usual table, of which two rows are kept. Names longer
 * than a row has room for are near to nothing.
 */
#include "rules/suggest.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 64, FARTHEST = 2 };

static unsigned least(unsigned a, unsigned b) {
  return a < b ? a : b;
}

unsigned gemel__edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  unsigned row[LONGEST + 1];
  if (a_length > LONGEST || b_length > LONGEST) {
    return FARTHEST + 1;
  }
  for (size_t j = 0; j <= b_length; j++) {
    row[j] = (unsigned)j;
  }
  for (size_t i = 1; i <= a_length; i++) {
    unsigned diagonal = row[0];
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= b_length; j++) {
      unsigned exchanged = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = least(exchanged, least(row[j], row[j - 1]) + 1);
    }
  }
  return least(row[b_length], FARTHEST + 1);
}

void gemel__suggestion_start(gemel__suggestion *s, const char *wanted, size_t length) {
  memset(s, 0, sizeof *s);
  s->wanted = wanted;
  s->wanted_length = length;
  s->distance = FARTHEST + 1;
}

void gemel__suggestion_offer(gemel__suggestion *s, const char *name, size_t length) {
  unsigned distance = gemel__edit_distance(s->wanted, s->wanted_length, name, length);
  if (distance < s->distance && distance < length && distance < s->wanted_length) {
    s->name = name;
    s->length = length;
    s->distance = distance;
  }
}

const char *gemel__suggestion_text(gemel__suggestion *s) {
  s->text[0] = '\0';
  if (s->name != NULL) {
    snprintf(s->text, sizeof s->text, "; did you mean %.*s?", (int)s->length, s->name);
  }
  return s->text;
}
