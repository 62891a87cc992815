/* SPDX-License-Identifier: MIT
 *
 * What all domains share: arrays of elements, and tapes of decisions. A tape that runs out of
 * memory or of entries sets `failed` and goes on, so evaluations need no error path for it. Whoever
 * reads the result checks `failed` first.
 */
#include "domains/domain.h"

#include "core/alloc.h"

void *gemel__elements_new(gemel__domain *d, size_t n) {
  char *elements = gemel__alloc_array(n, d->bytes);
  for (size_t i = 0; elements && i < n; i++)
    d->init(d, elements + i * d->bytes);
  return elements;
}

void gemel__elements_free(gemel__domain *d, void *elements, size_t n) {
  if (!elements)
    return;
  for (size_t i = 0; i < n; i++)
    d->clear(d, gemel__element(d, elements, i));
  gemel__free(elements, n * d->bytes);
}

void gemel__tape_push(gemel__tape *tape, int64_t entry) {
  if (gemel__grow(&tape->entries, &tape->capacity, tape->count + 1, sizeof *tape->entries))
    tape->failed = 1;
  else
    tape->entries[tape->count++] = entry;
}

int64_t gemel__tape_next(gemel__tape *tape) {
  if (tape->at < tape->count)
    return tape->entries[tape->at++];
  tape->failed = 1;
  return 0;
}

void gemel__tape_rewind(gemel__tape *tape) {
  tape->at = 0;
}

void gemel__tape_clear(gemel__tape *tape) {
  gemel__free(tape->entries, tape->capacity * sizeof *tape->entries);
  *tape = (gemel__tape){0};
}
