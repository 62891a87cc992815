/* SPDX-License-Identifier: MIT
 *
 * Planning of what is made once, when a call is planned: the results of nodes without operands (a
 * range, a size) that only transfers read, to be on another device then as constants are.
 */
#include "core/alloc.h"
#include "core/error.h"
#include "run/planner.h"

int gemel__is_made_once(const gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t count, value = p->nodes[node].value;
  gemel__pnode_inputs(p, node, &count);
  return count == 0 && p->nodes[node].n_outputs == 1 && gemel__value_device(p, value) == 0 &&
         !p->read_here[value];
}

gemel_status gemel__make_now(gemel__planner *planner, uint32_t node, gemel__invocation *inv) {
  gemel__plan_place *place = &planner->places[planner->f->program.nodes[node].value];
  size_t bytes = (size_t)place->layout->bytes;
  void *data = bytes > 0 ? gemel__segment_memory(planner, 0, bytes) : NULL;
  gemel_status status = bytes > 0 && data == NULL ? planner->error->status : GEMEL_OK;
  place->buffer = gemel__buffer_at(planner, GEMEL__B_FIXED, 0, 0, data, 0);
  inv->call.scratch = gemel__alloc(inv->call.scratch_bytes);
  if (status == GEMEL_OK && (place->buffer == NULL || inv->call.scratch == NULL)) {
    status = gemel__no_memory(planner->error, "a plan");
  }
  if (status == GEMEL_OK && bytes > 0) {
    ((gemel_view *)inv->call.outputs)[0].data = data;
    status = inv->run(&inv->call);
  }
  if (inv->call.release != NULL) {
    inv->call.release(inv->call.prepared);
  }
  gemel__free(inv->call.scratch, inv->call.scratch_bytes);
  if (status == GEMEL_OK) {
    place->buffer->constant = 1;
  }
  return status;
}
