/* SPDX-License-Identifier: MIT
 *
 * Small versions of a part, see small.h. A layer of a network has weights of a million elements,
 * and images of as many; no model evaluates that. But what an optimiser does to a layer is right
 * for any weights and sizes, or hardly ever right. So constants become inputs (general.h), and
 * large sizes become small ones (pairs/scale.h). Layers that differ only in these become one
 * question.
 */
#include "equal/small.h"

#include <string.h>
#include "core/error.h"
#include "equal/general.h"
#include "pairs/pair.h"

/* A pair with more elements in all values takes too long. */
#define MOST_ELEMENTS 2e4

static double elements_of(const gemel__part_graphs *part) {
  return gemel__graph_elements(part->a, 1) + gemel__graph_elements(part->b, 1);
}

/* Scales the graphs of PART by the first map that makes graphs of both; leaves them if none does.
 */
static gemel_status scale(gemel__part_graphs *part, gemel_error *error) {
  gemel__scaling scaling;
  gemel_error refused = {GEMEL_OK, 0, 0, ""};
  for (size_t way = 0; gemel__scaling_way(part->a, part->b, way, &scaling); way++) {
    gemel__part_graphs scaled = {.nodes = part->nodes, .leaves = part->leaves};
    if (scaling.n > 0 && (scaled.a = gemel__graph_scaled(part->a, &scaling, &refused)) != NULL &&
        (scaled.b = gemel__graph_scaled(part->b, &scaling, &refused)) != NULL &&
        gemel__pair_check(scaled.a, scaled.b, NULL) == GEMEL_OK &&
        elements_of(&scaled) <= MOST_ELEMENTS) {
      gemel__scaling_text(&scaling, scaled.scaled, sizeof scaled.scaled);
      gemel__part_clear(part);
      *part = scaled;
      return GEMEL_OK;
    }
    gemel__part_clear(&scaled);
    if (refused.status == GEMEL_NO_MEMORY) {
      return gemel__no_memory(error, "a scaled graph");
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__part_small(const gemel__part_graphs *part, int version,
                               gemel__part_graphs *small, gemel_error *error) {
  gemel_graph *general[2];
  gemel_status status = gemel__general_make(part->a, part->b, version, general, error);
  memset(small, 0, sizeof *small);
  if (status == GEMEL_DECLINED && version == 0) { /* no constants: sizes alone */
    general[0] = gemel_graph_ref(part->a);
    general[1] = gemel_graph_ref(part->b);
    status = GEMEL_OK;
  }
  if (status == GEMEL_OK) {
    *small = (gemel__part_graphs){
        .a = general[0], .b = general[1], .nodes = part->nodes, .leaves = part->leaves};
    status = scale(small, error);
  }
  if (status == GEMEL_OK && elements_of(small) > MOST_ELEMENTS) {
    status = GEMEL_DECLINED;
  }
  if (status != GEMEL_OK) {
    gemel__part_clear(small);
  }
  return status;
}
