/* SPDX-License-Identifier: MIT
 *
 * Which elements of the results were compared, by any model, at any point. An element that is
 * undefined on both sides wherever it was looked at has been compared by nobody, and two functions
 * that agree everywhere else aren't the same for that.
 */
#ifndef GEMEL__MODELS_COMPARED_H
#define GEMEL__MODELS_COMPARED_H

#include <stddef.h>

/* What an element was found to be, on both sides or (OPEN, UNDEFINED) on one. */
enum {
  GEMEL__SEEN_NUMBER = 1,
  GEMEL__SEEN_INFINITE = 2,  /* the same infinity */
  GEMEL__SEEN_UNDEFINED = 4, /* it has no value in O */
  GEMEL__SEEN_OPEN = 8,      /* O leaves it undecided, or has no model of it */
  GEMEL__SEEN_FIELD = 16     /* F compared it */
};

typedef struct gemel__compared {
  struct gemel__compared_output {
    unsigned char *seen; /* of each element */
    size_t count;
  } * outputs;
  size_t n;
  int failed; /* memory is out */
} gemel__compared;

/* N outputs, nothing seen. −1: memory is out. */
int gemel__compared_init(gemel__compared *c, size_t n);
void gemel__compared_clear(gemel__compared *c);

void gemel__compared_note(gemel__compared *c, size_t output, size_t element, int seen);

/* How many elements nobody compared, and the first output that has one. An infinity counts where
 * the element is never without value: at a border, as of log(-x * x) at 0, it says nothing of the
 * rest. */
size_t gemel__compared_missing(const gemel__compared *c, size_t *output);
size_t gemel__compared_elements(const gemel__compared *c);

#endif
