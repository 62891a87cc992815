/* SPDX-License-Identifier: MIT
 *
 * cub::DeviceRadixSort::SortPairs of two double buffers, strict: parameters are checked as CUB's
 * documentation states them, and when the sort runs, which is when its stream gets to it, every
 * byte of the buffers: that it is device memory, written where it is read, and waited for. What CUB
 * leaves in the buffers that don't have the result, and in the room that it works in, is junk.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sim/inside.h"
#include "sim/pairs.h"

typedef struct {
  gemel__sim_task task;
  gemel__sim_pairs pairs;
  bool moved;
} sort_task;

typedef struct {
  uint64_t key; /* its bits that count */
  size_t place;
} keyed_place;

/* Tiles, as large as CUB's of pairs of 4 bytes for compute capability 7.0 to 8.9, and passes. */
enum { TILE = 256 * 46, DIGITS = 256, DIGIT_BITS = 8, COUNTER = 4, ALIGNMENT = 256, JUNK = 0xa5 };

static size_t tiles(const gemel__sim_pairs *p) {
  return (p->count + TILE - 1) / TILE;
}

static size_t passes(const gemel__sim_pairs *p) {
  return (size_t)(p->end - p->first + DIGIT_BITS - 1) / DIGIT_BITS;
}

/* As CUB has it: counters of digits for each pass, and of tiles. */
static size_t room_for(const gemel__sim_pairs *p) {
  return (passes(p) + tiles(p)) * DIGITS * COUNTER + passes(p) * COUNTER + 3 * ALIGNMENT;
}

/* Of one sort the bytes that memory gives and takes, by "Onesweep: A Faster Least Significant Digit
 * Radix Sort for GPUs" (A. Adinets and D. Merrill, arXiv 2206.01784): keys are read once to count
 * all digits, and in each pass of 8 bits keys and values are read once and written once. Each pass
 * first clears what its tiles tell one another. Fewer than a tile of pairs, which CUB sorts by one
 * kernel, count as more. */
static void count_cost(const gemel__sim_pairs *p) {
  const size_t counters = passes(p) * DIGITS * COUNTER, pairs = p->key_bytes + p->value_bytes;
  gemel__sim_count_stream("cub_clear", 0, passes(p) * COUNTER);
  gemel__sim_count_stream("cub_clear", 0, counters);
  gemel__sim_count_stream("cub_histogram", p->count * p->key_bytes, counters);
  gemel__sim_count_stream("cub_exclusive_sum", counters, counters);
  for (size_t pass = 0; pass < passes(p); pass++) {
    gemel__sim_count_stream("cub_clear", 0, tiles(p) * DIGITS * COUNTER);
    gemel__sim_count_stream("cub_onesweep", p->count * pairs, p->count * pairs);
  }
}

static uint64_t number_at(const void *numbers, size_t bytes, size_t k) {
  uint64_t number = 0; /* the first bytes are the lowest */
  memcpy(&number, (const char *)numbers + k * bytes, bytes);
  return number;
}

static int by_key(const void *a, const void *b) {
  const keyed_place *x = a, *y = b;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                          : (x->place > y->place) - (x->place < y->place);
}

/* TO = the COUNT numbers at FROM in the order of PLACES. */
static void permute(char *to, const char *from, size_t bytes, const keyed_place *places,
                    size_t count) {
  for (size_t k = 0; k < count; k++)
    memcpy(to + k * bytes, from + places[k].place * bytes, bytes);
}

/* Puts the pairs in order by way of the second buffers, as PLACES has room for. */
static void sort(const sort_task *t, keyed_place *places) {
  const gemel__sim_pairs *p = &t->pairs;
  const size_t keys = p->count * p->key_bytes, values = p->count * p->value_bytes;
  const int width = p->end - p->first;
  for (size_t k = 0; k < p->count; k++) {
    uint64_t key = number_at(p->keys[0], p->key_bytes, k) >> p->first;
    places[k] = (keyed_place){width < 64 ? key & ((UINT64_C(1) << width) - 1) : key, k};
  }
  qsort(places, p->count, sizeof *places, by_key);
  permute(p->keys[1], p->keys[0], p->key_bytes, places, p->count);
  permute(p->values[1], p->values[0], p->value_bytes, places, p->count);
  if (!t->moved) {
    memcpy(p->keys[0], p->keys[1], keys);
    memcpy(p->values[0], p->values[1], values);
  }
  memset(p->keys[!t->moved], JUNK, keys);
  memset(p->values[!t->moved], JUNK, values);
  memset(p->room, JUNK, p->room_bytes);
}

/* The first buffers are read, and all are written. */
static bool check_memory(const gemel__sim_pairs *p) {
  const size_t keys = p->count * p->key_bytes, values = p->count * p->value_bytes;
  return gemel__sim_check_range(p->keys[0], keys, false) &&
         gemel__sim_check_range(p->values[0], values, false) &&
         gemel__sim_check_range(p->keys[0], keys, true) &&
         gemel__sim_check_range(p->values[0], values, true) &&
         gemel__sim_check_range(p->keys[1], keys, true) &&
         gemel__sim_check_range(p->values[1], values, true) &&
         gemel__sim_check_range(p->room, p->room_bytes, true);
}

static void run_sort(gemel__sim_task *task) {
  sort_task *t = (sort_task *)task;
  if (gemel__sim_broken != cudaSuccess)
    return;
  keyed_place *places = malloc(t->pairs.count * sizeof *places);
  if (places == NULL) {
    gemel__sim_broken = cudaErrorMemoryAllocation;
    return;
  }
  gemel__sim_count.sorts++;
  gemel__sim_open();
  if (check_memory(&t->pairs)) {
    sort(t, places);
    if (gemel__sim_counting)
      count_cost(&t->pairs);
  }
  free(places);
}

static cudaError_t refuse(const char *what, long long got) {
  gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0}, "CUB: %s: %lld", what,
                 got);
  return cudaErrorInvalidValue;
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

static cudaError_t check_buffers(const gemel__sim_pairs *p) {
  const struct {
    const void *at;
    size_t bytes, unit;
  } all[] = {{p->keys[0], p->count * p->key_bytes, p->key_bytes},
             {p->keys[1], p->count * p->key_bytes, p->key_bytes},
             {p->values[0], p->count * p->value_bytes, p->value_bytes},
             {p->values[1], p->count * p->value_bytes, p->value_bytes},
             {p->room, p->room_bytes, 1}};
  for (int k = 0; k < 5; k++) {
    if (!gemel__sim_is_device(all[k].at))
      return refuse("no device memory is buffer", k);
    if ((uintptr_t)all[k].at % all[k].unit != 0)
      return refuse("not aligned to its elements is buffer", k);
    for (int j = 0; j < k; j++)
      if (overlap(all[j].at, all[j].bytes, all[k].at, all[k].bytes))
        return refuse("another one overlaps buffer", k);
  }
  return cudaSuccess;
}

/* An error that the thread has left for whoever asks next is taken for a launch's, as by CUB. */
static cudaError_t queue_sort(const gemel__sim_pairs *p, cudaStream_t stream, bool moved) {
  cudaError_t left = cudaPeekAtLastError();
  if (left != cudaSuccess)
    return left;
  if (stream->device != gemel__sim_device)
    return gemel__sim_elsewhere("CUB: the stream", stream->device, gemel__sim_device);
  if (p->room_bytes < room_for(p))
    return refuse("too little room", (long long)p->room_bytes);
  if (p->count == 0 || p->first == p->end)
    return cudaSuccess;
  cudaError_t error = check_buffers(p);
  sort_task *made = error == cudaSuccess ? malloc(sizeof *made) : NULL;
  if (made == NULL)
    return error == cudaSuccess ? cudaErrorMemoryAllocation : error;
  *made = (sort_task){.task = {.references = 1, .what = "a sort of CUB", .run = run_sort},
                      .pairs = *p,
                      .moved = moved};
  error = gemel__sim_queue(stream, &made->task, NULL);
  gemel__sim_drift();
  return error;
}

cudaError_t gemel__sim_sort_pairs(gemel__sim_pairs *p, cudaStream_t stream, bool *moved) {
  cudaError_t error = p->room != NULL ? gemel__sim_enter_stream(&stream, GEMEL__SIM_MAKES)
                                      : gemel__sim_enter(GEMEL__SIM_ASKS);
  if (error == cudaSuccess &&
      (p->first < 0 || p->end < p->first || (size_t)p->end > 8 * p->key_bytes))
    error = refuse("bits that a key doesn't have, up to", p->end);
  if (error == cudaSuccess && p->room == NULL)
    p->room_bytes = room_for(p);
  else if (error == cudaSuccess) {
    *moved = p->count > 0 && p->first < p->end && gemel__sim_choice(p->count);
    error = queue_sort(p, stream, *moved);
  }
  return gemel__sim_leave(error);
}
