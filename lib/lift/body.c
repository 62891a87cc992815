/* SPDX-License-Identifier: MIT
 *
 * A body as a whole on a device: all of it is lifted, or none.
 */
#include "lift/lift.h"
#include "ops/body.h"

/* 1 if nothing crosses or stays on the host at a call, and no other device is used. */
static int is_whole(const gemel_graph *lifted, int space, const gemel_lift_counts *counts) {
  int elsewhere = 0;
  for (uint32_t node = 0; node < lifted->n_nodes; node++) {
    for (uint32_t k = 0; k < lifted->nodes[node].n_outputs; k++) {
      int at = gemel_type_space(lifted->context, gemel__node_type(lifted, node, k));
      elsewhere |= at != GEMEL_SPACE_HOST && at != space;
    }
  }
  return !elsewhere && counts->stayed == 0 && counts->uploads == 0 && counts->downloads == 0;
}

gemel_status gemel__body_lift(const gemel_graph *body, int space, gemel_graph **there,
                              gemel_error *error) {
  gemel_lift_report *report = gemel_lift_report_new();
  gemel_lift_options options = {.size = sizeof options,
                                .space = space,
                                .inputs = body->n_inputs > 0 ? "*" : NULL,
                                .outputs = body->n_outputs > 0 ? "*" : NULL,
                                .report = report};
  *there = NULL;
  if (report == NULL) {
    return gemel__no_memory(error, "a lift");
  }
  gemel_status status = gemel__body_nesting(body, NULL) == GEMEL_OK ? GEMEL_OK : GEMEL_DECLINED;
  if (status == GEMEL_OK) {
    *there = gemel_lift(body, &options, error);
    status = *there != NULL ? GEMEL_OK : error->status;
  }
  if (status == GEMEL_OK && !is_whole(*there, space, gemel_lift_report_counts(report))) {
    gemel_graph_unref(*there);
    *there = NULL;
    status = GEMEL_DECLINED;
  }
  gemel_lift_report_free(report);
  return status;
}
