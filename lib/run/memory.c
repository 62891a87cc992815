/* SPDX-License-Identifier: MIT
 *
 * The memory plan. Buffers live from the instruction that makes them to the last that reads them or
 * a view of them; a place in the arena serves one after another. A new buffer takes the smallest
 * free place that fits and is not wastefully large, or else enlarges the largest free one that is
 * not much too small, or else gets a new place; where places lie is settled at the end, so
 * enlarging costs nothing but bytes. Free places are kept in lists by class of size (a quarter of a
 * power of two), so the whole is linear in the number of buffers.
 */
#include "run/planner.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"

enum { UNIT = 64, LOOK_AHEAD = 8, SMALL_PLACE = 4096, POISON = 0xff };

static int64_t round_up(int64_t bytes) {
  return bytes > 0 ? (bytes + UNIT - 1) / UNIT * UNIT : UNIT;
}

/* Class of a size: 4 × its binary logarithm + the next two bits. */
static int class_of(int64_t bytes) {
  int log = 63 - __builtin_clzll((unsigned long long)bytes);
  return log * 4 + (int)(bytes >> (log - 2) & 3);
}

static void put_free(gemel__run_memory *m, uint32_t slot) {
  int c = class_of(m->slots[slot].bytes);
  m->slots[slot].next = m->heads[c];
  m->heads[c] = slot + 1;
}

/* Takes the first of the first few slots of class C with at least BYTES; returns slot + 1 or 0. */
static uint32_t take_free(gemel__run_memory *m, int c, int64_t bytes) {
  uint32_t *link = &m->heads[c];
  int looked;
  for (looked = 0; *link != 0 && looked < LOOK_AHEAD; looked++) {
    gemel__slot *slot = &m->slots[*link - 1];
    if (slot->bytes >= bytes) {
      uint32_t found = *link;
      *link = slot->next;
      return found;
    }
    link = &slot->next;
  }
  return 0;
}

/* A place of at least BYTES: slot + 1, or 0 when memory is out. */
static uint32_t find_place(gemel__run_memory *m, int64_t bytes) {
  int c = class_of(bytes), k;
  int64_t largest = bytes > GEMEL__MAX_BYTES / 4 ? bytes : bytes * 4;
  int top = class_of(largest > SMALL_PLACE ? largest : SMALL_PLACE);
  uint32_t found = 0;
  for (k = c; k <= top && found == 0; k++) {
    found = take_free(m, k, bytes);
  }
  for (k = c; k >= c - 8 && k >= 0 && found == 0; k--) {
    found = take_free(m, k, 0);
    if (found != 0) {
      m->slots[found - 1].bytes = bytes;
    }
  }
  if (found != 0) {
    return found;
  }
  if (gemel__grow(&m->slots, &m->slot_capacity, m->n_slots + 1, sizeof *m->slots) != 0) {
    return 0;
  }
  m->slots[m->n_slots].bytes = bytes;
  return (uint32_t)++m->n_slots;
}

gemel__run_buffer *gemel__buffer_at(gemel__planner *planner, gemel__buffer_kind kind,
                                    uint8_t device, uint32_t port, char *data, int64_t bytes) {
  gemel__run_buffer *buffer = gemel__arena_alloc(&planner->segment->meta, sizeof *buffer);
  if (buffer != NULL) {
    memset(buffer, 0, sizeof *buffer);
    buffer->kind = kind;
    buffer->device = device;
    buffer->port = port;
    buffer->data = data;
    buffer->bytes = bytes;
  }
  return buffer;
}

static gemel__run_buffer *in_arena(gemel__planner *planner, uint8_t device, int64_t bytes,
                                   uint32_t remaining) {
  gemel__run_buffer *buffer = gemel__buffer_at(planner, GEMEL__B_ARENA, device, 0, NULL, bytes);
  if (buffer == NULL || gemel__grow(&planner->buffers, &planner->buffer_capacity,
                                    planner->n_buffers + 1, sizeof *planner->buffers) != 0) {
    return NULL;
  }
  buffer->remaining = remaining;
  planner->buffers[planner->n_buffers++] = buffer;
  planner->segment->unshared_bytes += (size_t)round_up(bytes);
  return buffer;
}

gemel__run_buffer *gemel__buffer_new(gemel__planner *planner, uint8_t device, int64_t bytes,
                                     uint32_t remaining) {
  gemel__run_buffer *buffer = in_arena(planner, device, bytes, remaining);
  int64_t room = round_up(bytes + (int64_t)planner->f->program.devices[device]->gap);
  uint32_t place = buffer != NULL ? find_place(&planner->memories[device], room) : 0;
  if (place == 0) {
    return NULL;
  }
  buffer->slot = place - 1;
  return gemel__plan_note(planner, buffer, bytes) == GEMEL_OK ? buffer : NULL;
}

gemel__run_buffer *gemel__buffer_over(gemel__planner *planner, gemel__run_buffer *dying,
                                      uint32_t remaining) {
  gemel__run_buffer *buffer = in_arena(planner, dying->device, dying->bytes, remaining);
  if (buffer != NULL) {
    buffer->slot = dying->slot;
    buffer->begun = dying->begun;
    dying->kind = GEMEL__B_FIXED; /* its place is no longer its own: nothing frees it again */
    dying->slot = buffer->slot;
  }
  return buffer;
}

gemel_status gemel__buffer_use(gemel__planner *planner, gemel__run_buffer *buffer, uint32_t count) {
  buffer->remaining -= count;
  if (buffer->remaining != 0 || buffer->kind != GEMEL__B_ARENA || planner->f->plain) {
    return GEMEL_OK;
  }
  put_free(&planner->memories[buffer->device], buffer->slot);
  GEMEL__TRY(planner->f->poison
                 ? gemel__plan_poison(planner, planner->node, buffer, buffer->bytes, POISON)
                 : GEMEL_OK);
  return gemel__plan_note(planner, buffer, 0);
}

gemel_status gemel__notes_end(gemel__planner *planner) {
  for (uint32_t k = 0; k < planner->n_buffers; k++) {
    gemel__run_buffer *buffer = planner->buffers[k];
    if (buffer->kind == GEMEL__B_ARENA && buffer->remaining > 0) {
      GEMEL__TRY(gemel__plan_note(planner, buffer, 0));
    }
  }
  return GEMEL_OK;
}

int gemel__fix(gemel__planner *planner, void *where, const gemel__run_buffer *buffer,
               int64_t offset) {
  if (gemel__grow(&planner->fixups, &planner->fixup_capacity, planner->n_fixups + 1,
                  sizeof *planner->fixups) != 0) {
    return -1;
  }
  planner->fixups[planner->n_fixups].where = where;
  planner->fixups[planner->n_fixups].buffer = buffer;
  planner->fixups[planner->n_fixups++].offset = offset;
  return 0;
}

/* Bytes of the arena with every place laid out, or -1 if that is more than can be. */
static int64_t lay_out(gemel__run_memory *m) {
  int64_t end = 0;
  size_t k;
  for (k = 0; k < m->n_slots; k++) {
    m->slots[k].offset = end;
    if (m->slots[k].bytes > GEMEL__MAX_BYTES - end) {
      return -1;
    }
    end += m->slots[k].bytes;
  }
  return end;
}

static int add_patch(gemel__segment *s, const gemel__fixup *fixup) {
  gemel__patch *patch;
  if (gemel__grow(&s->patches, &s->patch_capacity, s->n_patches + 1, sizeof *s->patches) != 0) {
    return -1;
  }
  patch = &s->patches[s->n_patches++];
  patch->where = fixup->where;
  patch->port = fixup->buffer->port;
  patch->offset = fixup->offset;
  return 0;
}

static gemel_status resolve(gemel__planner *planner) {
  size_t k;
  for (k = 0; k < planner->n_fixups; k++) {
    const gemel__fixup *fixup = &planner->fixups[k];
    if (fixup->buffer->kind == GEMEL__B_PORT) {
      if (add_patch(planner->segment, fixup) != 0) {
        return gemel__no_memory(planner->error, "a plan");
      }
    } else {
      *fixup->where = fixup->buffer->data + fixup->offset;
    }
  }
  return GEMEL_OK;
}

/* Room for one more block, so that none is lost once it is allocated. */
static gemel_status reserve_block(gemel__planner *planner) {
  gemel__segment *s = planner->segment;
  return gemel__grow(&s->blocks, &s->block_capacity, s->n_blocks + 1, sizeof *s->blocks) == 0
             ? GEMEL_OK
             : gemel__no_memory(planner->error, "a plan");
}

static void *keep_block(gemel__segment *s, const gemel__device_block *block) {
  s->blocks[s->n_blocks++] = *block;
  s->block_bytes += block->bytes;
  return block->data;
}

void *gemel__segment_memory(gemel__planner *planner, uint8_t device, size_t bytes) {
  gemel__device_block block = {planner->f->program.devices[device], NULL, bytes,
                               GEMEL__BLOCK_ARENA};
  if (reserve_block(planner) != GEMEL_OK ||
      gemel__device_memory(block.device, bytes, &block.data, planner->error) != GEMEL_OK) {
    return NULL;
  }
  return keep_block(planner->segment, &block);
}

void *gemel__segment_value(gemel__planner *planner, uint8_t device, size_t bytes) {
  gemel__device_block block = {planner->f->program.devices[device], NULL, bytes,
                               GEMEL__BLOCK_VALUE};
  if (reserve_block(planner) != GEMEL_OK ||
      gemel__value_memory(block.device, bytes, &block.data, planner->error) != GEMEL_OK) {
    return NULL;
  }
  return keep_block(planner->segment, &block);
}

void *gemel__segment_staging(gemel__planner *planner, uint8_t device, size_t bytes) {
  gemel__device_block block = {planner->f->program.devices[device], NULL, bytes,
                               GEMEL__BLOCK_STAGING};
  if (reserve_block(planner) != GEMEL_OK ||
      gemel__staging_new(block.device, bytes, &block.data, planner->error) != GEMEL_OK) {
    return NULL;
  }
  return keep_block(planner->segment, &block);
}

/* Allocates the memory of one device's places. */
static gemel_status allocate_places(gemel__planner *planner, uint8_t device, char **base) {
  int64_t bytes = lay_out(&planner->memories[device]);
  *base = NULL;
  if (bytes < 0) {
    return gemel__no_memory(planner->error, "intermediate results");
  }
  const gemel_device *d = planner->f->program.devices[device];
  int told = planner->notes && d->note != NULL; /* else all of it is one value to a device */
  if (bytes > 0) {
    *base = told ? gemel__segment_memory(planner, device, (size_t)bytes)
                 : gemel__segment_value(planner, device, (size_t)bytes);
  }
  if (bytes > 0 && *base == NULL) {
    return planner->error->status;
  }
  return bytes > 0 && planner->f->poison && !told
             ? gemel__told(planner->error,
                           d->fill(d->user, *base, POISON, (size_t)bytes, planner->error))
             : GEMEL_OK;
}

gemel_status gemel__memory_finish(gemel__planner *planner) {
  for (uint32_t device = 0; device < planner->f->program.n_devices; device++) {
    char *base;
    gemel_status status = allocate_places(planner, (uint8_t)device, &base);
    if (status != GEMEL_OK) {
      return status;
    }
    for (size_t k = 0; k < planner->n_buffers; k++) {
      gemel__run_buffer *buffer = planner->buffers[k];
      if (buffer->device == device) {
        buffer->data = base + planner->memories[device].slots[buffer->slot].offset;
        buffer->kind = GEMEL__B_FIXED; /* later segments read it and leave it alone */
      }
    }
  }
  return resolve(planner);
}

void gemel__memory_clear(gemel__planner *planner) {
  uint32_t n = planner->f->program.n_devices;
  for (uint32_t k = 0; planner->memories != NULL && k < n; k++) {
    gemel__run_memory *m = &planner->memories[k];
    gemel__free(m->slots, m->slot_capacity * sizeof *m->slots);
  }
  gemel__free(planner->memories, n * sizeof *planner->memories);
  gemel__free(planner->fixups, planner->fixup_capacity * sizeof *planner->fixups);
  gemel__free(planner->buffers, planner->buffer_capacity * sizeof *planner->buffers);
}
