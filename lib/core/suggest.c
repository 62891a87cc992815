/* SPDX-License-Identifier: MIT
 *
 * The distance is computed row by row in the usual table, of which three rows are kept. Names
 * longer than a row has room for are near to nothing. Names are ASCII, and so is how letters are
 * folded.
 */
#include "core/suggest.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 64, FARTHEST = 2, SHORT = 5 };

static unsigned least(unsigned a, unsigned b) {
  return a < b ? a : b;
}

static size_t longer(size_t a, size_t b) {
  return a > b ? a : b;
}

static int differ(char a, char b) {
  a = (char)(a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a);
  b = (char)(b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
  return a != b;
}

unsigned gemel__edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  unsigned rows[3][LONGEST + 1] = {{0}};
  if (longer(a_length, b_length) > LONGEST) {
    return FARTHEST + 1;
  }
  for (size_t j = 0; j <= b_length; j++) {
    rows[0][j] = (unsigned)j;
  }
  for (size_t i = 1; i <= a_length; i++) {
    unsigned *row = rows[i % 3];
    const unsigned *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3]; /* i - 2 */
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= b_length; j++) {
      row[j] = least(above[j - 1] + (unsigned)differ(a[i - 1], b[j - 1]),
                     least(above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && !differ(a[i - 1], b[j - 2]) && !differ(a[i - 2], b[j - 1])) {
        row[j] = least(row[j], before[j - 2] + 1);
      }
    }
  }
  return least(rows[a_length % 3][b_length], FARTHEST + 1);
}

void gemel__suggestion_start(gemel__suggestion *s, const char *wanted, size_t length) {
  memset(s, 0, sizeof *s);
  s->wanted = wanted;
  s->wanted_length = length;
  s->distance = FARTHEST + 1;
}

void gemel__suggestion_offer(gemel__suggestion *s, const char *name, size_t length) {
  unsigned distance = gemel__edit_distance(s->wanted, s->wanted_length, name, length);
  unsigned near = longer(length, s->wanted_length) < SHORT ? 1 : FARTHEST;
  if (distance < s->distance && distance <= near && distance < length &&
      distance < s->wanted_length) {
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
