/* SPDX-License-Identifier: MIT
 *
 * What every byte of device and shared memory has been through: its last write and its last read,
 * each by which operation, block and thread, and after how many barriers. A new access is compared
 * with these, so what is found doesn't depend on the order in which threads happened to run:
 *
 *   race            within an operation: another block; or another thread of the block since the
 *                   last barrier, of the warp since the last __syncwarp
 *   missing wait    another operation that this one doesn't come after, by vector clocks
 *   uninitialised   nothing has written the byte
 *
 * One read stands for all since the last write: flags tell whether there were others by the warp,
 * the block or the grid that the last one isn't ordered after. The same goes for atomic updates.
 *
 * Between blocks, __threadfence and atomics make an order: a block that has a fence behind it and
 * then updates an address has published what it did; one that updates the address later and then
 * has a fence has seen that. This goes by block, not by thread, so it is coarse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/inside.h"

typedef struct {
  uintptr_t address;
  uint32_t *blocks; /* a bit for each that has published there, or that one of these had seen */
} publication;

static publication *publications;
static size_t publication_count, publication_capacity, words;
static uint32_t *seen, *to_be_seen;
static bool fenced, any_seen;

/* Fences between blocks. */

static void forget_publications(void) {
  for (size_t i = 0; i < publication_count; i++)
    free(publications[i].blocks);
  publication_count = 0;
}

bool gemel__sim_check_grid(uint32_t blocks) {
  forget_publications();
  words = blocks / 32 + 1;
  free(seen);
  free(to_be_seen);
  seen = calloc(words, sizeof *seen);
  to_be_seen = calloc(words, sizeof *to_be_seen);
  any_seen = true; /* so that a block starts with nothing */
  return seen != NULL && to_be_seen != NULL;
}

void gemel__sim_check_block(void) {
  if (any_seen) {
    memset(seen, 0, words * sizeof *seen);
    memset(to_be_seen, 0, words * sizeof *to_be_seen);
  }
  any_seen = fenced = false;
}

static void unite(uint32_t *to, const uint32_t *from) {
  for (size_t i = 0; i < words; i++)
    to[i] |= from[i];
}

void gemel__sim_check_fence(void) {
  fenced = true;
  if (any_seen)
    unite(seen, to_be_seen);
}

static publication *published_at(uintptr_t address) {
  for (size_t i = 0; i < publication_count; i++)
    if (publications[i].address == address)
      return &publications[i];
  return NULL;
}

static publication *publish(uintptr_t address) {
  if (publication_count == publication_capacity) {
    size_t capacity = publication_capacity * 2 + 8;
    publication *more = realloc(publications, capacity * sizeof *more);
    if (more == NULL)
      return NULL;
    publications = more;
    publication_capacity = capacity;
  }
  uint32_t *blocks = calloc(words, sizeof *blocks);
  if (blocks == NULL)
    return NULL;
  publications[publication_count] = (publication){address, blocks};
  return &publications[publication_count++];
}

void gemel__sim_check_update(uintptr_t address) {
  uint32_t block = gemel__sim_block_now.number;
  publication *there = published_at(address);
  if (there != NULL) {
    memcpy(to_be_seen, there->blocks, words * sizeof *to_be_seen);
    any_seen = true;
  }
  if (!fenced)
    return;
  there = there != NULL ? there : publish(address);
  if (there == NULL)
    gemel__sim_end_kernel(cudaErrorMemoryAllocation);
  there->blocks[block / 32] |= 1u << block % 32;
  unite(there->blocks, seen);
}

static bool has_seen(uint32_t block) {
  return any_seen && (seen[block / 32] >> block % 32 & 1);
}

static bool has_seen_any(void) {
  if (any_seen)
    for (size_t i = 0; i < words; i++)
      if (seen[i] != 0)
        return true;
  return false;
}

/* Within an operation. */

static bool of_this_operation(const gemel__sim_access *access) {
  return access->position == gemel__sim_now.position && access->stream == gemel__sim_now.stream;
}

static gemel__sim_access by_me(const gemel__sim_thread *me) {
  return (gemel__sim_access){.position = gemel__sim_now.position,
                             .stream = (uint16_t)gemel__sim_now.stream,
                             .block = gemel__sim_block_now.number,
                             .epoch = (uint16_t)gemel__sim_block_now.epoch,
                             .warp_epoch = (uint16_t)gemel__sim_block_now.warp_epoch[me->id / 32],
                             .thread = (uint16_t)me->id & 1023};
}

/* Whether a thread other than the one of ME, unordered with it, has done what OLD stands for. */
static bool unordered(const gemel__sim_access *old, const gemel__sim_access *me) {
  if (old->block != me->block)
    return !has_seen(old->block);
  if (old->blocks && !has_seen_any())
    return true;
  if (old->epoch != me->epoch)
    return false;
  if (old->warps || old->thread / 32 != me->thread / 32)
    return true;
  return old->warp_epoch == me->warp_epoch && (old->lanes || old->thread != me->thread);
}

/* ME's access becomes the last one, and keeps what OLD stands for and isn't ordered before it. */
static void replace(gemel__sim_access *old, gemel__sim_access me) {
  if (old->block != me.block)
    me.blocks = 1;
  else {
    me.blocks = old->blocks;
    if (old->epoch == me.epoch && old->thread / 32 != me.thread / 32)
      me.warps = 1;
    else if (old->epoch == me.epoch) {
      me.warps = old->warps;
      me.lanes = old->warp_epoch == me.warp_epoch && (old->lanes || old->thread != me.thread);
    }
  }
  *old = me;
}

static const char *verb(gemel__sim_how how) {
  return how.atomic ? "updates" : how.write ? "writes" : "reads";
}

/* Device memory by its allocation, shared memory by the array's name. */
static void describe(uintptr_t address, char *text, size_t room) {
  gemel__sim_array *near, *array = gemel__sim_array_at(address, &near);
  if (array == NULL)
    gemel__sim_describe(address, text, room);
  else
    snprintf(text, room, "byte %zu of %s", (size_t)(address - array->at), array->name);
}

static void report_race(const gemel__sim_access *old, const char *did, const gemel__sim_access *me,
                        uintptr_t address, gemel__sim_how how) {
  char what[160], who[64];
  describe(address, what, sizeof what);
  if (old->block != me->block)
    snprintf(who, sizeof who, "thread %u of block %u", old->thread, old->block);
  else if (old->thread != me->thread)
    snprintf(who, sizeof who, "thread %u", old->thread);
  else
    snprintf(who, sizeof who, "another thread");
  gemel__sim_say(GEMEL__SIM_RACE, how.place, "thread %u of block %u %s %s, which %s %s%s",
                 me->thread, me->block, verb(how), what, who, did,
                 old->block == me->block ? " since the last barrier" : "");
}

/* Between operations. */

static bool comes_after(const gemel__sim_access *old) {
  return gemel__sim_now.after.at[old->stream] >= old->position;
}

static void report_wait(const gemel__sim_access *old, const char *did, gemel__sim_place place,
                        const char *does, uintptr_t address) {
  char what[160];
  gemel__sim_describe(address, what, sizeof what);
  gemel__sim_say(GEMEL__SIM_MISSING_WAIT, place, "%s %s %s and does not wait for %s, which %s it",
                 gemel__sim_now.what, does, what, gemel__sim_name_of(old->stream, old->position),
                 did);
}

static void report_unset(uintptr_t address, const gemel__sim_access *me, gemel__sim_how how) {
  char what[160];
  describe(address, what, sizeof what);
  gemel__sim_say(GEMEL__SIM_UNINITIALISED, how.place,
                 "thread %u of block %u reads %s, which nothing has written", me->thread, me->block,
                 what);
}

/* One byte. A shared array's history begins with the block. */

static bool counts(const gemel__sim_access *old, bool shared) {
  if (old->position == 0)
    return false;
  return !shared || (of_this_operation(old) && old->block == gemel__sim_block_now.number);
}

static void check_against(const gemel__sim_access *old, const char *did, const char *had,
                          const gemel__sim_access *me, uintptr_t address, gemel__sim_how how) {
  if (!of_this_operation(old)) {
    if (!comes_after(old))
      report_wait(old, had, how.place, verb(how), address);
  } else if (unordered(old, me))
    report_race(old, did, me, address, how);
}

static void note(gemel__sim_access *old, gemel__sim_access me, bool merge) {
  if (merge)
    replace(old, me);
  else
    *old = me;
}

static void check_byte(gemel__sim_cell *cell, const gemel__sim_access *me, uintptr_t address,
                       bool shared, gemel__sim_how how) {
  bool written = counts(&cell->write, shared), read = counts(&cell->read, shared);
  bool both_atomic = written && how.atomic && cell->write.atomic && of_this_operation(&cell->write);
  if (written && !both_atomic)
    check_against(&cell->write, "wrote", "writes", me, address, how);
  if ((!how.write || how.atomic) && !(shared ? written : cell->write.set))
    report_unset(address, me, how);
  if (how.write && read)
    check_against(&cell->read, "read", "reads", me, address, how);
  if (how.write) {
    note(&cell->write, *me, both_atomic);
    cell->write.set = 1;
    cell->write.atomic = how.atomic;
  } else
    note(&cell->read, *me, read && of_this_operation(&cell->read));
}

void gemel__sim_check(gemel__sim_cell *cells, size_t bytes, uintptr_t address, bool shared,
                      gemel__sim_how how) {
  const gemel__sim_access me = by_me(gemel__sim_self);
  const gemel__sim_cell before = cells[0];
  check_byte(&cells[0], &me, address, shared, how);
  for (size_t i = 1; i < bytes; i++) {
    if (memcmp(&cells[i], &before, sizeof before) == 0)
      cells[i] = cells[0]; /* the same history, so the same answer */
    else
      check_byte(&cells[i], &me, address + i, shared, how);
  }
}

/* Copies, memsets, libraries. */

/* What is wrong with one byte of a range, if anything is; told once a range. */
static bool range_byte(const gemel__sim_cell *cell, uintptr_t address, bool write) {
  const gemel__sim_place here = {NULL, NULL, 0};
  const gemel__sim_access *writer = &cell->write, *reader = &cell->read;
  char what[160];
  if (writer->position != 0 && of_this_operation(writer) && !write) {
    gemel__sim_describe(address, what, sizeof what);
    gemel__sim_say(GEMEL__SIM_RACE, here, "%s reads %s, which it writes as well",
                   gemel__sim_now.what, what);
  } else if (writer->position != 0 && !of_this_operation(writer) && !comes_after(writer))
    report_wait(writer, "writes", here, write ? "writes" : "reads", address);
  else if (write && reader->position != 0 && !of_this_operation(reader) && !comes_after(reader))
    report_wait(reader, "reads", here, "writes", address);
  else if (!write && !writer->set) {
    gemel__sim_describe(address, what, sizeof what);
    gemel__sim_say(GEMEL__SIM_UNINITIALISED, here, "%s reads %s, which nothing has written",
                   gemel__sim_now.what, what);
  } else
    return true;
  return false;
}

bool gemel__sim_check_range(const void *pointer, size_t bytes, bool write) {
  const gemel__sim_place here = {NULL, NULL, 0};
  uintptr_t address = (uintptr_t)pointer, from;
  gemel__sim_allocation *found;
  char why[160];
  if (bytes == 0)
    return true;
  if (!gemel__sim_is_device(pointer)) {
    gemel__sim_say(GEMEL__SIM_HOST_MEMORY, here, "%s %s %p, which is not device memory",
                   gemel__sim_now.what, write ? "writes" : "reads", pointer);
    return false;
  }
  if (!gemel__sim_inside(address, bytes, &found, &from, why, sizeof why)) {
    gemel__sim_say(GEMEL__SIM_BOUNDS, here, "%s %s %zu bytes at %s", gemel__sim_now.what,
                   write ? "writes" : "reads", bytes, why);
    return false;
  }
  const gemel__sim_access me = {.position = gemel__sim_now.position,
                                .stream = (uint16_t)gemel__sim_now.stream,
                                .block = UINT32_MAX,
                                .set = 1,
                                .whole = 1};
  gemel__sim_cell *cells = &found->cells[address - found->at];
  bool fine = true;
  for (size_t i = 0; i < bytes; i++) {
    fine = fine && range_byte(&cells[i], address + i, write);
    if (write)
      cells[i].write = me;
    else
      cells[i].read = me;
  }
  return true;
}
