/* SPDX-License-Identifier: MIT
 *
 * Planning of what moves bytes and computes nothing: copies on one device, transfers between two,
 * and the poison that makes early and late reads show. A transfer takes bytes in row-major order,
 * so a view is copied on its own device first; a constant is transferred when it is planned, and
 * kept with the segment.
 */
#include <string.h>
#include "core/error.h"
#include "run/planner.h"

static gemel_status out_of_memory(gemel__planner *planner) {
  return gemel__no_memory(planner->error, "a plan");
}

static gemel__move *new_move(gemel__planner *planner, const gemel__run_buffer *to) {
  gemel__move *move = gemel__arena_alloc(&planner->segment->meta, sizeof *move);
  if (move != NULL) {
    memset(move, 0, sizeof *move);
    move->device = planner->f->program.devices[to->device];
  }
  return move;
}

gemel_status gemel__plan_poison(gemel__planner *planner, uint32_t node,
                                const gemel__run_buffer *buffer, int64_t bytes, int pattern) {
  gemel__move *move = new_move(planner, buffer);
  if (move == NULL) {
    return out_of_memory(planner);
  }
  move->bytes = bytes;
  move->pattern = pattern;
  return gemel__fix(planner, &move->to, buffer, 0) == 0 &&
                 gemel__emit(planner, &gemel__instr_poison, node, move) == 0
             ? GEMEL_OK
             : out_of_memory(planner);
}

gemel_status gemel__plan_copy(gemel__planner *planner, uint32_t node,
                              const gemel__plan_layout *layout, gemel__run_buffer *from,
                              const int64_t *to_strides, gemel__run_buffer *to) {
  gemel__move *move = new_move(planner, to);
  if (move == NULL) {
    return out_of_memory(planner);
  }
  move->layout = layout;
  move->to_strides = to_strides;
  return gemel__fix(planner, &move->from, from, layout->offset) == 0 &&
                 gemel__fix(planner, &move->to, to, 0) == 0 &&
                 gemel__emit(planner, &gemel__instr_copy, node, move) == 0
             ? GEMEL_OK
             : out_of_memory(planner);
}

/* ---- Transfers ---- */

/* *FROM and *OFFSET: where the elements of PLACE lie in row-major order, copied there if they don't
 * yet. */
static gemel_status densify(gemel__planner *planner, uint32_t node, const gemel__plan_place *place,
                            const int64_t *strides, gemel__run_buffer **from, int64_t *offset) {
  *from = place->buffer;
  *offset = place->layout->offset;
  if (place->layout->dense) {
    return GEMEL_OK;
  }
  *from = gemel__buffer_new(planner, place->buffer->device, place->layout->bytes, 1);
  *offset = 0;
  return *from != NULL
             ? gemel__plan_copy(planner, node, place->layout, place->buffer, strides, *from)
             : out_of_memory(planner);
}

/* The value at PLACE is a constant: its bytes go to the other device now. */
static gemel_status transfer_constant(gemel__planner *planner, const gemel__plan_place *from,
                                      uint8_t device, gemel__plan_place *to) {
  const gemel__run_program *p = &planner->f->program;
  size_t bytes = (size_t)from->layout->bytes;
  char *data = bytes > 0 ? gemel__segment_memory(planner, device, bytes) : NULL;
  gemel_status status = bytes > 0 && data == NULL ? planner->error->status : GEMEL_OK;
  if (status == GEMEL_OK) {
    status = gemel__device_move(p->devices[device], data, p->devices[0],
                                from->buffer->data + from->layout->offset, bytes, planner->error);
  }
  to->buffer = gemel__buffer_at(planner, GEMEL__B_FIXED, device, 0, data, 0);
  return status == GEMEL_OK && to->buffer == NULL ? out_of_memory(planner) : status;
}

static gemel_status transfer_bytes(gemel__planner *planner, uint32_t node,
                                   const gemel__plan_place *source, gemel__plan_place *place) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t value = p->nodes[node].value;
  gemel__run_buffer *from;
  int64_t offset;
  gemel__move *move;
  gemel_status status = densify(planner, node, source, place->layout->strides, &from, &offset);
  if (status == GEMEL_OK) {
    place->buffer = gemel__output_buffer(planner, value, place->layout, p->uses[value], &status);
  }
  if (status != GEMEL_OK) {
    return status;
  }
  move = new_move(planner, place->buffer);
  if (move == NULL) {
    return out_of_memory(planner);
  }
  move->from_device = p->devices[from->device];
  move->bytes = place->layout->bytes;
  if (gemel__fix(planner, &move->from, from, offset) != 0 ||
      gemel__fix(planner, &move->to, place->buffer, 0) != 0 ||
      gemel__emit(planner, &gemel__instr_transfer, node, move) != 0) {
    return out_of_memory(planner);
  }
  return from != source->buffer ? gemel__buffer_use(planner, from, 1) : GEMEL_OK;
}

gemel_status gemel__plan_transfer(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t value = p->nodes[node].value, count;
  uint32_t input = gemel__pnode_inputs(p, node, &count)[0];
  gemel__plan_place *place = &planner->places[value];
  const gemel__plan_place *source = &planner->places[input];
  gemel_status status = gemel__cluster_settle(planner, input);
  if (status != GEMEL_OK) {
    return status;
  }
  if (source->buffer->constant && source->layout->dense) {
    status = transfer_constant(planner, source, gemel__value_device(p, value), place);
  } else {
    status = transfer_bytes(planner, node, source, place);
  }
  return status == GEMEL_OK ? gemel__buffer_use(planner, source->buffer, 1) : status;
}
