/* SPDX-License-Identifier: MIT
 *
 * Device memory: a region of addresses that the host may not touch, PROT_NONE but for the time in
 * which kernels and copies run. Allocations are handed out upwards with a closed page between two,
 * and an address isn't used again before the region is full, so what uses freed memory is told
 * which allocation it was. An allocation may be divided into extents, a pool's tensors (extent.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "sim/inside.h"

enum { PAGE = 4096 };

static uintptr_t region, region_end, next;
static gemel__sim_allocation **allocations; /* sorted; freed ones too, until addresses run out */
static size_t count, capacity;
static long numbers;
static gemel__sim_allocation *in_use; /* those that kernels and copies may touch */
static bool open;
static size_t limit = (size_t)1 << 30, used[GEMEL__SIM_DEVICES]; /* the limit is each device's */
long gemel__sim_generation;

void gemel__sim_memory(size_t bytes) {
  limit = bytes;
}

void gemel__sim_memory_left(int device, size_t *left, size_t *total) {
  *left = limit > used[device] ? limit - used[device] : 0;
  *total = limit;
}

cudaError_t gemel__sim_memory_start(void) {
  /* Addresses only: nothing is used before it is touched. */
  for (size_t bytes = (size_t)1 << 36; region == 0; bytes /= 4) {
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) {
      region = next = (uintptr_t)at;
      region_end = region + bytes;
    } else if (bytes < limit)
      return cudaErrorMemoryAllocation;
  }
  return cudaSuccess;
}

bool gemel__sim_is_device(const void *pointer) {
  return (uintptr_t)pointer - region < region_end - region;
}

/* Opening and closing: a pool's memory in which no tensor is stays closed, since it may be a large
   part and the system takes a while for each page. */

static void protect(const gemel__sim_allocation *allocation, int protection) {
  mprotect((void *)allocation->at, allocation->room, protection);
}

static void protect_all(int protection) {
  for (const gemel__sim_allocation *a = in_use; a != NULL; a = a->next)
    protect(a, protection);
}

void gemel__sim_open(void) {
  if (!open)
    protect_all(PROT_READ | PROT_WRITE);
  open = true;
}

void gemel__sim_close(void) {
  if (open)
    protect_all(PROT_NONE);
  open = false;
}

static void begin_use(gemel__sim_allocation *allocation) {
  allocation->next = in_use;
  allocation->link = &in_use;
  if (in_use != NULL)
    in_use->link = &allocation->next;
  in_use = allocation;
  if (open)
    protect(allocation, PROT_READ | PROT_WRITE);
}

static void end_use(gemel__sim_allocation *allocation) {
  if (allocation->link == NULL)
    return;
  *allocation->link = allocation->next;
  if (allocation->next != NULL)
    allocation->next->link = allocation->link;
  allocation->link = NULL;
  if (open)
    protect(allocation, PROT_NONE);
}

/* Allocations. */

int gemel__sim_device_of(const void *pointer) {
  const gemel__sim_allocation *found = gemel__sim_find((uintptr_t)pointer);
  return found != NULL && gemel__sim_is_device(pointer) ? found->device : gemel__sim_device;
}

static size_t first_after(uintptr_t address) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (allocations[middle]->at <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

gemel__sim_allocation *gemel__sim_find(uintptr_t address) {
  size_t after = first_after(address);
  return after == 0 ? NULL : allocations[after - 1];
}

static void *map_cells(size_t bytes) {
  void *cells = mmap(NULL, bytes * sizeof(gemel__sim_cell), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return cells == MAP_FAILED ? NULL : cells;
}

static void forget_freed(void) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (allocations[i]->freed)
      free(allocations[i]);
    else
      allocations[kept++] = allocations[i];
  }
  count = kept;
}

/* An address for ROOM bytes: above all others or, when the region is full, the first gap. */
static uintptr_t find_room(size_t room) {
  if (room <= region_end - next)
    return next;
  forget_freed();
  uintptr_t at = region;
  for (size_t i = 0; i < count; i++) {
    if (allocations[i]->at - at >= room)
      return at;
    at = allocations[i]->at + allocations[i]->room;
  }
  return room <= region_end - at ? at : 0;
}

static bool insert(gemel__sim_allocation *allocation) {
  if (count == capacity) {
    size_t larger = capacity * 2 + 64;
    gemel__sim_allocation **more = realloc(allocations, larger * sizeof *more);
    if (more == NULL)
      return false;
    allocations = more;
    capacity = larger;
  }
  size_t at = first_after(allocation->at);
  memmove(&allocations[at + 1], &allocations[at], (count - at) * sizeof *allocations);
  allocations[at] = allocation;
  count++;
  return true;
}

static void poison(uintptr_t address, size_t bytes) {
  static const uint32_t nan = 0x7fbadbad;
  gemel__sim_open();
  for (size_t i = 0; i < bytes; i += sizeof nan)
    memcpy((char *)address + i, &nan, bytes - i < sizeof nan ? bytes - i : sizeof nan);
}

cudaError_t gemel__sim_allocate(size_t bytes, void **pointer) {
  size_t room = (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
  int device = gemel__sim_device;
  if (bytes > limit || used[device] > limit - bytes)
    return cudaErrorMemoryAllocation;
  gemel__sim_allocation *allocation = calloc(1, sizeof *allocation);
  uintptr_t at = find_room(room);
  if (allocation == NULL || at == 0)
    goto fail;
  *allocation = (gemel__sim_allocation){.at = at, .bytes = bytes, .room = room, .device = device};
  allocation->cells = map_cells(bytes);
  if (allocation->cells == NULL || !insert(allocation))
    goto fail;
  allocation->number = ++numbers;
  used[device] += bytes;
  next = at + room > next ? at + room : next;
  gemel__sim_generation++;
  gemel__sim_here.allocations++;
  gemel__sim_here.bytes += (long)bytes;
  begin_use(allocation);
  poison(at, bytes);
  *pointer = (void *)at;
  return cudaSuccess;
fail:
  if (allocation != NULL && allocation->cells != NULL)
    munmap(allocation->cells, bytes * sizeof *allocation->cells);
  free(allocation);
  return cudaErrorMemoryAllocation;
}

cudaError_t gemel__sim_release(void *pointer) {
  gemel__sim_allocation *allocation = gemel__sim_find((uintptr_t)pointer);
  if (allocation == NULL || allocation->at != (uintptr_t)pointer || allocation->freed) {
    bool twice = allocation != NULL && allocation->at == (uintptr_t)pointer;
    gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0}, "cudaFree: %p %s",
                   pointer, twice ? "has been freed before" : "is not what cudaMalloc gave");
    return cudaErrorInvalidValue;
  }
  end_use(allocation);
  used[allocation->device] -= allocation->bytes;
  gemel__sim_here.allocations--;
  gemel__sim_here.bytes -= (long)allocation->bytes;
  gemel__sim_generation++;
  munmap(allocation->cells, allocation->bytes * sizeof *allocation->cells);
  madvise(pointer, allocation->room, MADV_DONTNEED);
  free(allocation->extents);
  allocation->extents = NULL;
  allocation->cells = NULL;
  allocation->count = allocation->capacity = 0;
  allocation->freed = true;
  return cudaSuccess;
}

/* Extents. */

static size_t extent_after(const gemel__sim_allocation *allocation, size_t offset) {
  size_t low = 0, high = allocation->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (allocation->extents[middle].offset <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool grow_extents(gemel__sim_allocation *allocation) {
  if (allocation->count < allocation->capacity)
    return true;
  size_t larger = allocation->capacity * 2 + 16;
  gemel__sim_extent *more = realloc(allocation->extents, larger * sizeof *more);
  if (more == NULL)
    return false;
  allocation->extents = more;
  allocation->capacity = larger;
  return true;
}

static bool wrong_extent(uintptr_t address, size_t bytes, const char *what) {
  char text[160];
  gemel__sim_describe(address, text, sizeof text);
  gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0},
                 "extent of %zu bytes at %s %s", bytes, text, what);
  return false;
}

bool gemel__sim_extent_add(uintptr_t address, size_t bytes) {
  gemel__sim_allocation *allocation = gemel__sim_find(address);
  if (allocation == NULL || allocation->freed || address - allocation->at > allocation->bytes ||
      bytes > allocation->bytes - (address - allocation->at))
    return wrong_extent(address, bytes, "is not inside an allocation");
  if (allocation->device != gemel__sim_now.device)
    return wrong_extent(address, bytes, "is begun by another device's stream");
  size_t offset = address - allocation->at, after = extent_after(allocation, offset);
  gemel__sim_extent *extents = allocation->extents;
  if ((after > 0 && extents[after - 1].offset + extents[after - 1].bytes > offset) ||
      (after > 0 && extents[after - 1].offset == offset) ||
      (after < allocation->count && extents[after].offset < offset + bytes))
    return wrong_extent(address, bytes, "overlaps another one");
  if (!grow_extents(allocation))
    return wrong_extent(address, bytes, "found no memory");
  extents = allocation->extents;
  memmove(&extents[after + 1], &extents[after], (allocation->count - after) * sizeof *extents);
  extents[after] = (gemel__sim_extent){offset, bytes, ++numbers};
  allocation->count++;
  allocation->pool = true;
  if (allocation->link == NULL)
    begin_use(allocation);
  gemel__sim_generation++;
  for (size_t i = 0; i < bytes; i++) /* what used the bytes before stays known */
    allocation->cells[offset + i].write.set = 0;
  poison(address, bytes);
  return true;
}

bool gemel__sim_extent_drop(uintptr_t address) {
  gemel__sim_allocation *allocation = gemel__sim_find(address);
  if (allocation == NULL || allocation->freed)
    return wrong_extent(address, 0, "is not inside an allocation");
  size_t offset = address - allocation->at, after = extent_after(allocation, offset);
  if (after == 0 || allocation->extents[after - 1].offset != offset)
    return wrong_extent(address, 0, "was not begun, or has ended before");
  memmove(&allocation->extents[after - 1], &allocation->extents[after],
          (allocation->count - after) * sizeof *allocation->extents);
  if (--allocation->count == 0)
    end_use(allocation);
  gemel__sim_generation++;
  return true;
}

/* What an address is. */

static const gemel__sim_extent *extent_at(const gemel__sim_allocation *allocation, size_t offset) {
  size_t after = extent_after(allocation, offset);
  return after == 0 ? NULL : &allocation->extents[after - 1];
}

void gemel__sim_describe(uintptr_t address, char *text, size_t room) {
  const gemel__sim_allocation *a = gemel__sim_find(address);
  if (a == NULL || address >= a->at + a->room) {
    snprintf(text, room, "%p, which is no device memory", (void *)address);
    return;
  }
  size_t offset = address - a->at;
  const gemel__sim_extent *extent = a->pool && !a->freed ? extent_at(a, offset) : NULL;
  if (extent != NULL)
    snprintf(text, room, "byte %zu of tensor %ld (%zu bytes) in allocation %ld",
             offset - extent->offset, extent->number, extent->bytes, a->number);
  else
    snprintf(text, room, "byte %zu of %sallocation %ld (%zu bytes)%s", offset,
             a->freed ? "the freed " : "", a->number, a->bytes, a->pool ? ", in no tensor" : "");
  size_t length = strlen(text);
  if (!a->freed && a->device != gemel__sim_now.device)
    snprintf(text + length, room - length, ", on device %d", a->device);
}

bool gemel__sim_inside(uintptr_t address, size_t bytes, gemel__sim_allocation **found,
                       uintptr_t *from, char *why, size_t room) {
  gemel__sim_allocation *a = *found = gemel__sim_find(address);
  if (a == NULL || a->freed || a->device != gemel__sim_now.device) {
    gemel__sim_describe(address, why, room);
    return false;
  }
  if (!a->pool) {
    *from = a->at;
    if (address - a->at <= a->bytes && bytes <= a->bytes - (address - a->at))
      return true;
  } else {
    const gemel__sim_extent *extent = extent_at(a, address - a->at);
    if (extent != NULL) {
      size_t offset = address - a->at - extent->offset;
      *from = a->at + extent->offset;
      if (offset <= extent->bytes && bytes <= extent->bytes - offset)
        return true;
    }
  }
  gemel__sim_describe(address, why, room);
  return false;
}
