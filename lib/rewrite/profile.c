/* SPDX-License-Identifier: MIT
 *
 * A profile is an array of rows with their names. Rules stand behind the row of their phase, the
 * slowest first.
 */
#include "rewrite/profile.h"

#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"

struct gemel_rewrite_profile {
  gemel_rewrite_row *rows;
  size_t count, capacity;
  gemel__arena arena;
};

gemel_rewrite_profile *gemel_rewrite_profile_new(void) {
  return gemel__alloc_zeroed(sizeof(gemel_rewrite_profile));
}

void gemel_rewrite_profile_free(gemel_rewrite_profile *profile) {
  if (profile != NULL) {
    gemel__free(profile->rows, profile->capacity * sizeof *profile->rows);
    gemel__arena_clear(&profile->arena);
    gemel__free(profile, sizeof *profile);
  }
}

size_t gemel_rewrite_profile_count(const gemel_rewrite_profile *profile) {
  return profile != NULL ? profile->count : 0;
}

const gemel_rewrite_row *gemel_rewrite_profile_at(const gemel_rewrite_profile *profile, size_t k) {
  return profile != NULL && k < profile->count ? &profile->rows[k] : NULL;
}

gemel_status gemel__profile_add(gemel_rewrite_profile *profile, const gemel_rewrite_row *row,
                                gemel_error *error) {
  char *name = row->name != NULL ? gemel__arena_string(&profile->arena, row->name) : NULL;
  if ((row->name != NULL && name == NULL) ||
      gemel__grow(&profile->rows, &profile->capacity, profile->count + 1, sizeof *profile->rows)) {
    return gemel__no_memory(error, "a profile");
  }
  profile->rows[profile->count] = *row;
  profile->rows[profile->count++].name = name;
  return GEMEL_OK;
}

/* By time, then by how often, then by name. */
static int compare(const void *a, const void *b) {
  const gemel_rewrite_row *x = a, *y = b;
  if (x->seconds != y->seconds) {
    return x->seconds > y->seconds ? -1 : 1;
  }
  if (x->applied != y->applied) {
    return x->applied > y->applied ? -1 : 1;
  }
  return strcmp(x->name, y->name);
}

gemel_status gemel__profile_rules(gemel_rewrite_profile *profile, gemel_phase phase,
                                  const gemel__selection *selection, gemel_error *error) {
  size_t first = profile->count;
  for (size_t k = 0; k < selection->n_rules; k++) {
    const gemel__tally *t = &selection->tallies[k];
    gemel_rewrite_row row = {.phase = phase,
                             .name = selection->rules[k]->info.name,
                             .seconds = t->seconds,
                             .applied = t->applied,
                             .declined = t->declined,
                             .created = t->created};
    if (t->applied == 0 && t->declined == 0 && t->seconds == 0) {
      continue;
    }
    gemel_status status = gemel__profile_add(profile, &row, error);
    if (status != GEMEL_OK) {
      return status;
    }
  }
  if (profile->count > first) {
    qsort(profile->rows + first, profile->count - first, sizeof *profile->rows, compare);
  }
  return GEMEL_OK;
}
