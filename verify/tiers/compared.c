/* SPDX-License-Identifier: MIT
 *
 * Which elements were compared, see compared.h. The bytes of an output are allocated as elements
 * are noted. If the size of an output differs between points, the largest counts.
 */
#include "tiers/compared.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"

int gemel__compared_init(gemel__compared *c, size_t n) {
  c->outputs = gemel__alloc_array(n, sizeof *c->outputs);
  c->n = c->outputs != NULL ? n : 0;
  c->failed = 0;
  return c->outputs != NULL ? 0 : -1;
}

void gemel__compared_clear(gemel__compared *c) {
  for (size_t k = 0; k < c->n; k++) {
    gemel__free(c->outputs[k].seen, c->outputs[k].count);
  }
  gemel__free(c->outputs, c->n * sizeof *c->outputs);
  memset(c, 0, sizeof *c);
}

void gemel__compared_note(gemel__compared *c, size_t output, size_t element, int seen) {
  struct gemel__compared_output *o = &c->outputs[output];
  if (element >= o->count) {
    size_t capacity = o->count;
    if (gemel__grow(&o->seen, &capacity, element + 1, 1) != 0) {
      c->failed = 1;
      return;
    }
    memset(o->seen + o->count, 0, capacity - o->count);
    o->count = capacity;
  }
  o->seen[element] = (unsigned char)(o->seen[element] | seen);
}

/* 1 if an element was evaluated and never compared. */
static int is_missing(int seen) {
  int finite = seen & GEMEL__SEEN_NUMBER;
  int infinite =
      (seen & (GEMEL__SEEN_INFINITE | GEMEL__SEEN_NAN)) && !(seen & GEMEL__SEEN_UNDEFINED);
  int by_field = (seen & GEMEL__SEEN_OPEN) && (seen & GEMEL__SEEN_FIELD);
  return seen != 0 && !finite && !infinite && !by_field;
}

size_t gemel__compared_missing(const gemel__compared *c, size_t *output) {
  size_t missing = 0, k, i;
  for (k = 0; k < c->n; k++) {
    for (i = 0; i < c->outputs[k].count; i++) {
      if (is_missing(c->outputs[k].seen[i])) {
        *output = missing++ == 0 ? k : *output;
      }
    }
  }
  return missing;
}

size_t gemel__compared_elements(const gemel__compared *c) {
  size_t n = 0, k, i;
  for (k = 0; k < c->n; k++) {
    for (i = 0; i < c->outputs[k].count; i++) {
      n += c->outputs[k].seen[i] != 0;
    }
  }
  return n;
}

void gemel__format_both(gemel__domain *d, const void *a, const void *b, char *left, char *right,
                        size_t bytes) {
  d->format(d, a, left, bytes);
  d->format(d, b, right, bytes);
  void *apart = strcmp(left, right) == 0 ? gemel__elements_new(d, 1) : NULL;
  if (apart != NULL) {
    char text[80];
    d->sub(d, apart, b, a);
    d->format(d, apart, text, sizeof text);
    snprintf(right, bytes, "that, and more by %s", text);
    gemel__elements_free(d, apart, 1);
  }
}
