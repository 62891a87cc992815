/* SPDX-License-Identifier: MIT
 *
 * Check of a pair of graphs: does domain O tell them apart at a point?
 */
#include "core/alloc.h"
#include "core/error.h"
#include "domains/ordered.h"
#include "tiers/tiers.h"

/* Evaluates both sides in O at VALUES, into ROOM. */
static gemel_status evaluate_both(const gemel__instance *a, const gemel__instance *b,
                                  gemel_tensor *const *values, gemel__ordered *o,
                                  gemel__rtensor *room, gemel_error *error) {
  size_t n = gemel_graph_output_count(a->graph);
  GEMEL__TRY(gemel__instance_reference(a, &o->domain, values, room, error));
  return gemel__instance_reference(b, &o->domain, values, room + n, error);
}

/* Puts the first of N results that certainly differ into OUTCOME. Returns 1 if more digits may show
 * another difference. */
static int find_difference(gemel__ordered *o, size_t n, const gemel__rtensor *room,
                           gemel__outcome *outcome) {
  size_t k, i;
  int open = 0;
  for (k = 0; k < n && !outcome->refuted; k++) {
    for (i = 0; i < room[k].count && i < room[n + k].count && !outcome->refuted; i++) {
      void *x = gemel__rtensor_at(&room[k], i), *y = gemel__rtensor_at(&room[n + k], i);
      if (gemel__ordered_overlap(&o->domain, x, y)) {
        open |= !gemel__ordered_is_exact(&o->domain, x) || !gemel__ordered_is_exact(&o->domain, y);
        continue;
      }
      outcome->refuted = 1;
      outcome->output = k;
      outcome->element = i;
      o->domain.format(&o->domain, x, outcome->expected, sizeof outcome->expected);
      o->domain.format(&o->domain, y, outcome->got, sizeof outcome->got);
    }
  }
  return open && !outcome->refuted;
}

/* With 128 bits, then with MORE. */
gemel_status gemel__check_pair_digits(const gemel__instance *instance, gemel_tensor *const *values,
                                      const gemel__trial *trial, int more, gemel__outcome *outcome,
                                      gemel_error *error) {
  static const long precisions[] = {128, 1024}; /* 128 suffice for most differences */
  size_t n = gemel_graph_output_count(instance->graph), k;
  gemel__rtensor *room = gemel__alloc_array(2 * n, sizeof *room);
  gemel_status status = room == NULL ? gemel__no_memory(error, "a comparison") : GEMEL_OK;
  int open = 1;
  for (k = 0; k < (more ? 2 : 1) && open && status == GEMEL_OK; k++) {
    gemel__ordered *o = gemel__ordered_new(precisions[k]);
    status = o == NULL ? gemel__no_memory(error, "a comparison")
                       : evaluate_both(instance, trial->other, values, o, room, error);
    open = status == GEMEL_OK && find_difference(o, n, room, outcome);
    gemel__rtensors_clear(2 * n, room);
    gemel__ordered_free(o);
  }
  gemel__free(room, 2 * n * sizeof *room);
  return status;
}

gemel_status gemel__check_pair(const gemel__instance *instance, gemel_tensor *const *values,
                               const gemel__trial *trial, gemel__outcome *outcome,
                               gemel_error *error) {
  return gemel__check_pair_digits(instance, values, trial, 1, outcome, error);
}
