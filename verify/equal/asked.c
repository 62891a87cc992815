/* SPDX-License-Identifier: MIT
 *
 * Remembers questions and their answers, see asked.h. Operations, attributes and names are interned
 * by the context, so comparing two graphs is comparing arrays of numbers, and a large constant is
 * kept once, however many questions it occurs in.
 */
#include "equal/asked.h"

#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/intern.h"

uint64_t gemel__asked_hash(const gemel__part_graphs *part) {
  return gemel__mix(gemel__graph_hash(part->a)) ^ gemel__graph_hash(part->b);
}

struct question {
  const gemel__asked *asked;
  const gemel__part_graphs *part;
};

static int is_same(const void *user, uint32_t id) {
  const struct question *q = user;
  const gemel__asked_part *known = &q->asked->parts[id - 1];
  return gemel__graph_same(known->a, q->part->a) && gemel__graph_same(known->b, q->part->b);
}

static uint64_t hash_of(const void *user, uint32_t id) {
  return ((const gemel__asked *)user)->parts[id - 1].hash;
}

int gemel__asked_answer(const gemel__asked *asked, const gemel__part_graphs *part, uint64_t hash) {
  struct question question = {asked, part};
  uint32_t id = gemel__idtable_find(&asked->known, hash, is_same, &question);
  return id == 0 ? -1 : asked->parts[id - 1].passed;
}

static void forget(gemel__asked_part *part) {
  if (part->a != NULL) {
    gemel__graph_free_frozen(part->a);
  }
  if (part->b != NULL) {
    gemel__graph_free_frozen(part->b);
  }
}

int gemel__asked_keep(gemel__asked *asked, const gemel__part_graphs *part, uint64_t hash,
                      int passed) {
  if (gemel__grow(&asked->parts, &asked->capacity, asked->n + 1, sizeof *asked->parts) != 0) {
    return -1;
  }
  gemel__asked_part *kept = &asked->parts[asked->n];
  *kept = (gemel__asked_part){gemel__graph_freeze_copy(part->a), gemel__graph_freeze_copy(part->b),
                              hash, passed};
  if (kept->a == NULL || kept->b == NULL ||
      gemel__idtable_add(&asked->known, hash, (uint32_t)asked->n + 1, hash_of, asked) != 0) {
    forget(kept);
    return -1;
  }
  asked->n++;
  asked->passed += passed != 0;
  return 0;
}

void gemel__asked_clear(gemel__asked *asked) {
  for (size_t k = 0; k < asked->n; k++) {
    forget(&asked->parts[k]);
  }
  gemel__free(asked->parts, asked->capacity * sizeof *asked->parts);
  gemel__idtable_clear(&asked->known);
  memset(asked, 0, sizeof *asked);
}
