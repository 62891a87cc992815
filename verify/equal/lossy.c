/* SPDX-License-Identifier: MIT
 *
 * Parts at which digits are lost, see lossy.h. Graphs of more than MOST_ELEMENTS aren't measured,
 * as domain B would take too long.
 */
#include "equal/lossy.h"

#include <string.h>
#include "pairs/pair.h"

#define MOST_ELEMENTS 3e4

void gemel__lossy_note(gemel__lossy *lossy, gemel__ref u, gemel__ref v) {
  if (lossy->n < GEMEL__MOST_LOSSY) {
    lossy->left[lossy->n] = u;
    lossy->right[lossy->n++] = v;
  }
}

static gemel_status measure(const gemel_graph *a, const gemel_graph *b, gemel__run *run,
                            uint64_t seed, gemel__witness *witness, gemel_error *error) {
  const gemel__needs_plan plan = {.points = 8, .losses = 64, .ticker = run->ticker};
  gemel__needs needs;
  if (gemel__graphs_elements(a, b, 4) > MOST_ELEMENTS) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__needs_measure(a, b, seed, &plan, &needs, error);
  if (status == GEMEL_OK && needs.needs & GEMEL__NEED(WORSENS)) {
    gemel__witness_move(witness, &needs.witness[GEMEL_NEEDS_INDEX_WORSENS]);
  }
  gemel__needs_clear(&needs);
  return status;
}

gemel_status gemel__lossy_measure(const gemel__lossy *lossy, gemel__joint *joint, gemel__run *run,
                                  const char *name, gemel__witness *witness, gemel_error *error) {
  static const char *const names[] = {"part"}; /* so that inputs keep theirs */
  gemel__random random;
  gemel__run_random(run, name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_LOSSY), &random);
  for (size_t k = 0; k < lossy->n && witness->values == NULL && !gemel__stopped(run->ticker); k++) {
    gemel__part_graphs region;
    gemel_status status = gemel__joint_part(joint, 1, &lossy->left[k], &lossy->right[k], names,
                                            INT32_MAX, SIZE_MAX, &region, error);
    if (status == GEMEL_OK) {
      status = measure(region.a, region.b, run, gemel__random_bits(&random), witness, error);
      gemel__part_clear(&region);
    }
    if (status == GEMEL_NO_MEMORY) {
      return status;
    }
  }
  return GEMEL_OK;
}
