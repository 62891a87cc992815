/* SPDX-License-Identifier: MIT
 *
 * Pinned buffers of the host: cudaMemcpyAsync returns before it has used them. From then on until
 * the host has waited for the copy, the host may not write the buffer or, where the copy writes it,
 * not touch it: its pages are closed.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include "sim/inside.h"

enum { PAGE = 4096 };

typedef struct {
  int stream;
  uint32_t position;
  bool write;
} loan;

struct gemel__sim_pinned {
  uintptr_t at;
  size_t bytes;
  loan *loans;
  size_t count, capacity;
  gemel__sim_pinned *next;
};

static gemel__sim_pinned *buffers;

cudaError_t gemel__sim_pin(size_t bytes, void **pointer) {
  size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
  gemel__sim_pinned *pinned = calloc(1, sizeof *pinned);
  void *at = pinned == NULL
                 ? MAP_FAILED
                 : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    free(pinned);
    return cudaErrorMemoryAllocation;
  }
  *pinned = (gemel__sim_pinned){.at = (uintptr_t)at, .bytes = room, .next = buffers};
  buffers = pinned;
  gemel__sim_here.pinned++;
  *pointer = at;
  return cudaSuccess;
}

cudaError_t gemel__sim_unpin(void *pointer) {
  for (gemel__sim_pinned **link = &buffers; *link != NULL; link = &(*link)->next) {
    gemel__sim_pinned *pinned = *link;
    if (pinned->at != (uintptr_t)pointer)
      continue;
    *link = pinned->next;
    munmap(pointer, pinned->bytes);
    free(pinned->loans);
    free(pinned);
    gemel__sim_here.pinned--;
    return cudaSuccess;
  }
  gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0},
                 "cudaFreeHost: %p is not what cudaHostAlloc gave", pointer);
  return cudaErrorInvalidValue;
}

gemel__sim_pinned *gemel__sim_pinned_at(const void *pointer) {
  for (gemel__sim_pinned *pinned = buffers; pinned != NULL; pinned = pinned->next)
    if ((uintptr_t)pointer - pinned->at < pinned->bytes)
      return pinned;
  return NULL;
}

void gemel__sim_pinned_open(gemel__sim_pinned *pinned) {
  if (pinned != NULL)
    mprotect((void *)pinned->at, pinned->bytes, PROT_READ | PROT_WRITE);
}

void gemel__sim_pinned_close(gemel__sim_pinned *pinned) {
  int protection = PROT_READ | PROT_WRITE;
  if (pinned == NULL)
    return;
  for (size_t i = 0; i < pinned->count; i++)
    protection = pinned->loans[i].write ? PROT_NONE : protection & PROT_READ;
  mprotect((void *)pinned->at, pinned->bytes, protection);
}

bool gemel__sim_pinned_lend(gemel__sim_pinned *pinned, int stream, uint32_t position, bool write) {
  if (pinned->count == pinned->capacity) {
    size_t larger = pinned->capacity * 2 + 4;
    loan *more = realloc(pinned->loans, larger * sizeof *more);
    if (more == NULL)
      return false;
    pinned->loans = more;
    pinned->capacity = larger;
  }
  pinned->loans[pinned->count++] = (loan){stream, position, write};
  gemel__sim_pinned_close(pinned);
  return true;
}

static bool is_back(const loan *lent) {
  return gemel__sim_host.at[lent->stream] >= lent->position;
}

void gemel__sim_pinned_back(void) {
  for (gemel__sim_pinned *pinned = buffers; pinned != NULL; pinned = pinned->next) {
    size_t kept = 0;
    for (size_t i = 0; i < pinned->count; i++)
      if (!is_back(&pinned->loans[i]))
        pinned->loans[kept++] = pinned->loans[i];
    if (kept != pinned->count) {
      pinned->count = kept;
      gemel__sim_pinned_close(pinned);
    }
  }
}
