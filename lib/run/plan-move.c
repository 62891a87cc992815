/* SPDX-License-Identifier: MIT
 *
 * Planning of what moves bytes and computes nothing: copies on one device, transfers between two,
 * and the poison that makes early and late reads show. A transfer goes by way of staging memory of
 * the host, in row-major order: the host fills that and the device copies it when it comes to it,
 * or the device fills it and the host fetches what it needs. So the host's part and the device's
 * are instructions of two queues. A constant is transferred when it is planned, and kept with the
 * segment.
 */
#include "core/error.h"
#include "run/planner.h"

static gemel_status out_of_memory(gemel__planner *planner) {
  return gemel__no_memory(planner->error, "a plan");
}

/* Emits MOVE, of KIND, for the device of number QUEUE. It reads OFFSET bytes into FROM and writes
 * TO_OFFSET bytes into TO; either may be NULL: set at the call, or not in use. */
static gemel_status emit(gemel__planner *planner, gemel__instr_kind kind, uint32_t node,
                         uint8_t queue, gemel__move move, const gemel__run_buffer *from,
                         int64_t offset, const gemel__run_buffer *to, int64_t to_offset) {
  gemel__move *made = gemel__arena_copy(&planner->segment->meta, &move, sizeof move);
  if (made == NULL || (from != NULL && gemel__fix(planner, &made->from, from, offset) != 0) ||
      (to != NULL && gemel__fix(planner, &made->to, to, to_offset) != 0)) {
    return out_of_memory(planner);
  }
  return gemel__emit(planner,
                     (gemel__instr){.kind = kind, .node = node, .queue = queue, .move = made});
}

static const gemel_device *device_of(const gemel__planner *planner,
                                     const gemel__run_buffer *buffer) {
  return planner->f->program.devices[buffer->device];
}

gemel_status gemel__plan_poison(gemel__planner *planner, uint32_t node,
                                const gemel__run_buffer *buffer, int64_t bytes, int pattern) {
  gemel__move move = {.device = device_of(planner, buffer), .bytes = bytes, .pattern = pattern};
  return emit(planner, GEMEL__INSTR_POISON, node, buffer->device, move, NULL, 0, buffer, 0);
}

gemel_status gemel__plan_note(gemel__planner *planner, gemel__run_buffer *buffer, int64_t bytes) {
  gemel__move move = {.device = device_of(planner, buffer), .bytes = bytes, .begun = buffer->begun};
  if (move.device->note == NULL || buffer->bytes == 0 || !planner->notes) {
    return GEMEL_OK;
  }
  GEMEL__TRY(
      emit(planner, GEMEL__INSTR_NOTE, planner->node, buffer->device, move, NULL, 0, buffer, 0));
  if (bytes > 0) {
    const gemel__segment *s = planner->segment;
    buffer->begun = s->instrs[s->n_instrs - 1].move;
    buffer->begun->begun = buffer->begun;
  }
  return GEMEL_OK;
}

gemel_status gemel__plan_copy(gemel__planner *planner, uint32_t node,
                              const gemel__plan_layout *layout, gemel__run_buffer *from,
                              const gemel__plan_place *to) {
  gemel__move move = {.device = device_of(planner, to->buffer),
                      .layout = layout,
                      .to_strides = to->layout->strides};
  return emit(planner, GEMEL__INSTR_COPY, node, to->buffer->device, move, from, layout->offset,
              to->buffer, to->layout->offset);
}

gemel_status gemel__plan_result(gemel__planner *planner, uint32_t output,
                                const gemel__plan_place *from) {
  gemel__run_buffer *buffer = from->buffer;
  gemel__move move = {
      .device = device_of(planner, buffer), .layout = from->layout, .output = output};
  return emit(planner, GEMEL__INSTR_RESULT, planner->f->program.n_nodes, buffer->device, move,
              buffer, from->layout->offset, NULL, 0);
}

/* ---- Transfers ---- */

/* Staging memory of BYTES bytes for DEVICE, as a buffer on the host; NULL, and the error. */
static gemel__run_buffer *staging(gemel__planner *planner, uint8_t device, int64_t bytes) {
  void *data = gemel__segment_staging(planner, device, (size_t)bytes);
  gemel__run_buffer *buffer =
      data != NULL ? gemel__buffer_at(planner, GEMEL__B_FIXED, 0, 0, data, bytes) : NULL;
  if (data != NULL && buffer == NULL) {
    out_of_memory(planner);
  }
  return buffer;
}

/* Emits a move of BYTES bytes by DEVICE in its queue, or of KIND fetch on the host. */
static gemel_status emit_bytes(gemel__planner *planner, gemel__instr_kind kind, uint32_t node,
                               uint8_t device, const gemel__run_buffer *from, int64_t offset,
                               const gemel__run_buffer *to, int64_t bytes) {
  gemel__move move = {.device = planner->f->program.devices[device], .bytes = bytes};
  return emit(planner, kind, node, kind == GEMEL__INSTR_FETCH ? 0 : device, move, from, offset, to,
              0);
}

/* From staging memory ROOM to the device of TO, behind the instruction that fills ROOM. */
static gemel_status emit_upload(gemel__planner *planner, uint32_t node,
                                const gemel__run_buffer *room, const gemel__run_buffer *to,
                                int64_t bytes) {
  GEMEL__TRY(emit_bytes(planner, GEMEL__INSTR_UPLOAD, node, to->device, room, 0, to, bytes));
  gemel__emitted_after(planner);
  return GEMEL_OK;
}

/* The elements at SOURCE, on the host, go to TO on a device. */
static gemel_status plan_upload(gemel__planner *planner, uint32_t node,
                                const gemel__plan_place *source, gemel__plan_layout *dense,
                                gemel__run_buffer *to) {
  gemel__run_buffer *room = staging(planner, to->device, dense->bytes);
  if (room == NULL) {
    return planner->error->status;
  }
  GEMEL__TRY(gemel__plan_copy(planner, node, source->layout, source->buffer,
                              &(gemel__plan_place){.layout = dense, .buffer = room}));
  return emit_upload(planner, node, room, to, dense->bytes);
}

/* The elements at SOURCE, on a device, go to TO on the host or on another device: in row-major
 * order to staging memory, and on from there when they have come. */
static gemel_status plan_download(gemel__planner *planner, uint32_t node,
                                  const gemel__plan_place *source, gemel__plan_layout *dense,
                                  gemel__run_buffer *to) {
  uint8_t device = source->buffer->device;
  gemel__run_buffer *from = source->buffer, *room = staging(planner, device, dense->bytes);
  gemel__run_buffer *end =
      room != NULL && to->device != 0 ? staging(planner, to->device, dense->bytes) : to;
  int64_t offset = source->layout->offset;
  if (room == NULL || end == NULL) {
    return planner->error->status;
  }
  if (!source->layout->dense) {
    from = gemel__buffer_new(planner, device, dense->bytes, 1);
    offset = 0;
    if (from == NULL) {
      return out_of_memory(planner);
    }
    GEMEL__TRY(gemel__plan_copy(planner, node, source->layout, source->buffer,
                                &(gemel__plan_place){.layout = dense, .buffer = from}));
  }
  GEMEL__TRY(
      emit_bytes(planner, GEMEL__INSTR_DOWNLOAD, node, device, from, offset, room, dense->bytes));
  GEMEL__TRY(emit_bytes(planner, GEMEL__INSTR_FETCH, node, device, room, 0, end, dense->bytes));
  gemel__emitted_after(planner);
  if (from != source->buffer) {
    GEMEL__TRY(gemel__buffer_use(planner, from, 1));
  }
  return end != to ? emit_upload(planner, node, end, to, dense->bytes) : GEMEL_OK;
}

/* The value at FROM is a constant: its bytes go to the other device now. */
static gemel_status transfer_constant(gemel__planner *planner, const gemel__plan_place *from,
                                      uint8_t device, gemel__plan_place *to) {
  const gemel__run_program *p = &planner->f->program;
  size_t bytes = (size_t)from->layout->bytes;
  int64_t offset = from->layout->offset;
  char *data = bytes > 0 ? gemel__segment_value(planner, device, bytes) : NULL;
  if (bytes > 0 && data == NULL) {
    return planner->error->status;
  }
  GEMEL__TRY(gemel__device_move(p->devices[device], data, p->devices[0],
                                from->buffer->data + offset, bytes, planner->error));
  to->buffer = gemel__buffer_at(planner, GEMEL__B_FIXED, device, 0, data, 0);
  return to->buffer == NULL ? out_of_memory(planner) : GEMEL_OK;
}

static gemel_status transfer_bytes(gemel__planner *planner, uint32_t node,
                                   const gemel__plan_place *source, gemel__plan_place *place) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t value = p->nodes[node].value;
  gemel_status status;
  place->buffer = gemel__output_buffer(planner, value, place->layout, p->uses[value], &status);
  if (status != GEMEL_OK || place->layout->bytes == 0) {
    return status;
  }
  return source->buffer->device == 0
             ? plan_upload(planner, node, source, place->layout, place->buffer)
             : plan_download(planner, node, source, place->layout, place->buffer);
}

gemel_status gemel__plan_transfer(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t value = p->nodes[node].value, count;
  uint32_t input = gemel__pnode_inputs(p, node, &count)[0];
  gemel__plan_place *place = &planner->places[value];
  const gemel__plan_place *source = &planner->places[input];
  GEMEL__TRY(gemel__cluster_settle(planner, input));
  GEMEL__TRY(source->buffer->constant && source->layout->dense
                 ? transfer_constant(planner, source, gemel__value_device(p, value), place)
                 : transfer_bytes(planner, node, source, place));
  return gemel__buffer_use(planner, source->buffer, 1);
}
