/* SPDX-License-Identifier: MIT
 *
 * Which elements of the results were compared, by O or F, at any point. If an element was undefined
 * on both sides wherever it was evaluated, such as log(−x²), nothing is known of it, although the
 * sides never differed.
 */
#ifndef GEMEL__TIERS_COMPARED_H
#define GEMEL__TIERS_COMPARED_H

#include "domains/domain.h"

/* What was seen of an element, a bit each: on both sides; OPEN and UNDEFINED on at least one. */
enum {
  GEMEL__SEEN_NUMBER = 1,
  GEMEL__SEEN_INFINITE = 2,  /* the same infinity */
  GEMEL__SEEN_UNDEFINED = 4, /* it has no value in O */
  GEMEL__SEEN_OPEN = 8,      /* O leaves it undecided, or has no model of it */
  GEMEL__SEEN_FIELD = 16,    /* F compared it */
  /* without a value in O on sides with constants that are NaN or infinite, and the same in S, where
   * no function was NaN by itself */
  GEMEL__SEEN_NAN = 32
};

typedef struct gemel__compared {
  struct gemel__compared_output {
    unsigned char *seen; /* of each element */
    size_t count;
  } * outputs;
  size_t n;
  int failed; /* memory is out */
} gemel__compared;

/* Prepares for N outputs. −1: memory is out. */
int gemel__compared_init(gemel__compared *c, size_t n);
void gemel__compared_clear(gemel__compared *c);

void gemel__compared_note(gemel__compared *c, size_t output, size_t element, int seen);

/* Counts the elements that were never compared; *OUTPUT is the first output with one. An infinity
 * counts as compared only if the element never was undefined: log(−x²) is −∞ at 0, which says
 * nothing of other x. */
size_t gemel__compared_missing(const gemel__compared *c, size_t *output);
size_t gemel__compared_elements(const gemel__compared *c);

/* Writes A and B, which differ, in decimal. Where all digits are alike, B is written as what it is
 * more or less than A. */
void gemel__format_both(gemel__domain *d, const void *a, const void *b, char *left, char *right,
                        size_t bytes);

#endif
