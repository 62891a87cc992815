/*
 * Tests of the sim's radix sort of CUB (gpu/sim/sort.c): pairs of all widths by some of their bits,
 * what is left in the other buffers, each wrong parameter, and what a sort is counted to cost.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <string.h>
#include <cuda_runtime_api.h>
#include "ct.h"
#include "sim/pairs.h"
#include "sim/sim.h"

enum { COUNT = 300, ROOM = 65536, BUFFERS = 4 };

#define OK(call) CT_EQ_INT((call), cudaSuccess)

/* Pairs on the device, of keys that repeat and numbered values. */
typedef struct bench {
  cudaStream_t stream;
  gemel__sim_pairs pairs;
  uint64_t keys[COUNT];
} bench;

static void *allocated(size_t bytes) {
  void *pointer = NULL;
  OK(cudaMalloc(&pointer, bytes));
  return pointer;
}

/* To or from the device, a number of so many bytes each. */
static void copy_numbers(const bench *b, uint64_t *numbers, void *there, size_t bytes, int back) {
  char packed[COUNT * 8];
  for (size_t k = 0; k < COUNT && !back; k++)
    memcpy(packed + k * bytes, &numbers[k], bytes);
  OK(cudaMemcpyAsync(back ? (void *)packed : there, back ? there : (void *)packed, COUNT * bytes,
                     back ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, b->stream));
  OK(cudaStreamSynchronize(b->stream));
  for (size_t k = 0; k < COUNT && back; k++) {
    numbers[k] = 0;
    memcpy(&numbers[k], packed + k * bytes, bytes);
  }
}

static void begin(bench *b, int seed, size_t key_bytes, size_t value_bytes) {
  uint64_t values[COUNT];
  *b = (bench){.pairs = {.key_bytes = key_bytes,
                         .value_bytes = value_bytes,
                         .count = COUNT,
                         .end = (int)(8 * key_bytes),
                         .room_bytes = ROOM}};
  gemel__sim_quiet(true);
  gemel__sim_seed((uint64_t)seed);
  OK(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
  for (int k = 0; k < 2; k++) {
    b->pairs.keys[k] = allocated(COUNT * key_bytes);
    b->pairs.values[k] = allocated(COUNT * value_bytes);
  }
  b->pairs.room = allocated(ROOM);
  for (uint64_t k = 0; k < COUNT; k++) {
    b->keys[k] = k * k % 37 * (key_bytes == 8 ? UINT64_C(0x123456789abcde) : 0x76543);
    values[k] = k;
  }
  copy_numbers(b, b->keys, b->pairs.keys[0], key_bytes, 0);
  copy_numbers(b, values, b->pairs.values[0], value_bytes, 0);
}

static int end(bench *b) {
  for (int k = 0; k < 2; k++) {
    cudaFree(b->pairs.keys[k]);
    cudaFree(b->pairs.values[k]);
  }
  cudaFree(b->pairs.room);
  cudaStreamDestroy(b->stream);
  cudaGetLastError(); /* which the next sort would take for its own */
  return gemel__sim_forget();
}

static uint64_t wanted_bits(const bench *b, uint64_t key) {
  int width = b->pairs.end - b->pairs.first;
  return key >> b->pairs.first & (width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX);
}

/* Pairs in the buffers MOVED are in order, equal ones as they were; the others have junk. */
static void check_order(const bench *b, int moved) {
  uint64_t keys[COUNT], values[COUNT], junk[COUNT];
  copy_numbers(b, keys, b->pairs.keys[moved], b->pairs.key_bytes, 1);
  copy_numbers(b, values, b->pairs.values[moved], b->pairs.value_bytes, 1);
  copy_numbers(b, junk, b->pairs.values[!moved], b->pairs.value_bytes, 1);
  for (size_t k = 0; k < COUNT; k++) {
    uint64_t own = wanted_bits(b, keys[k]), last = k > 0 ? wanted_bits(b, keys[k - 1]) : 0;
    CT_CHECK(values[k] < COUNT && keys[k] == b->keys[values[k]] && junk[k] >= COUNT);
    CT_CHECK(k == 0 || last < own || (last == own && values[k - 1] < values[k]));
  }
}

static void orders(const void *data) {
  static const struct {
    size_t key_bytes, value_bytes;
    int first, end;
  } cases[] = {{4, 4, 0, 32}, {4, 4, 0, 5}, {4, 4, 3, 19}, {8, 4, 0, 64}, {8, 8, 30, 41}};
  int seen[2] = {0, 0};
  (void)data;
  for (int seed = 0; seed < 10; seed++)
    for (size_t k = 0; k < CT_COUNT(cases); k++) {
      bench b;
      bool moved;
      begin(&b, seed, cases[k].key_bytes, cases[k].value_bytes);
      b.pairs.first = cases[k].first, b.pairs.end = cases[k].end;
      OK(gemel__sim_sort_pairs(&b.pairs, b.stream, &moved));
      check_order(&b, moved);
      seen[moved]++;
      CT_EQ_INT(end(&b), 0);
    }
  CT_CHECK(seen[0] > 0 && seen[1] > 0);
}

/* One mistake each; what the report says of it. */
typedef enum { BITS, TOO_LITTLE, OVERLAP, ON_HOST, UNALIGNED, UNWRITTEN, FREED, NO_WAIT, BUGS } bug;
static const struct {
  const char *name;
  int refused;
  gemel__sim_kind kind;
  const char *part;
} bugs[BUGS] = {
    [BITS] = {"bits", 1, GEMEL__SIM_PARAMETER, "bits that a key doesn't have, up to: 33"},
    [TOO_LITTLE] = {"room", 1, GEMEL__SIM_PARAMETER, "too little room"},
    [OVERLAP] = {"overlap", 1, GEMEL__SIM_PARAMETER, "overlaps buffer: 3"},
    [ON_HOST] = {"on-host", 1, GEMEL__SIM_PARAMETER, "no device memory is buffer: 1"},
    [UNALIGNED] = {"unaligned", 1, GEMEL__SIM_PARAMETER, "not aligned"},
    [UNWRITTEN] = {"unwritten", 0, GEMEL__SIM_UNINITIALISED, "which nothing has written"},
    [FREED] = {"freed", 0, GEMEL__SIM_BOUNDS, "a sort of CUB"},
    [NO_WAIT] = {"no-wait", 0, GEMEL__SIM_MISSING_WAIT, "a sort of CUB"},
};

static void make_mistake(bug which, gemel__sim_pairs *p, uint32_t *here) {
  p->end += which == BITS;
  p->room_bytes = which == TOO_LITTLE ? 1000 : p->room_bytes;
  p->values[1] = which == OVERLAP     ? (char *)p->values[0] + 4 * (COUNT - 1)
                 : which == UNALIGNED ? (char *)p->values[1] + 2
                                      : p->values[1];
  p->keys[1] = which == ON_HOST ? here : p->keys[1];
  p->keys[0] = which == UNWRITTEN ? p->keys[1] : p->keys[0];
  p->keys[1] = which == UNWRITTEN ? (char *)p->room + ROOM / 2 : p->keys[1];
  p->room_bytes = which == UNWRITTEN ? ROOM / 2 : p->room_bytes;
}

static void mistake(const void *data) {
  const bug which = *(const bug *)data;
  static uint32_t here[COUNT];
  bench b;
  bool moved;
  begin(&b, 3, 4, 4);
  gemel__sim_pairs pairs = b.pairs;
  make_mistake(which, &pairs, here);
  cudaStream_t other = NULL;
  OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  if (which == NO_WAIT)
    OK(cudaMemsetAsync(pairs.keys[0], 0, 4 * COUNT, other));
  cudaError_t error = gemel__sim_sort_pairs(&pairs, b.stream, &moved);
  CT_EQ_INT(error != cudaSuccess, bugs[which].refused);
  if (which == FREED) { /* the room, which the sort has written by then */
    b.pairs.room = NULL;
    OK(cudaFree(pairs.room));
    gemel__sim_sort_pairs(&pairs, b.stream, &moved);
  }
  cudaStreamSynchronize(b.stream);
  cudaStreamSynchronize(other);
  ct_context("%s: %s", bugs[which].name, gemel__sim_report(0));
  CT_CHECK(gemel__sim_reported(bugs[which].kind, bugs[which].part));
  gemel__sim_forget();
  OK(cudaStreamDestroy(other));
  CT_EQ_INT(end(&b), 0);
}

/* Without room it only says how much it wants; an error that is left is taken for its own; nothing
 * to sort is no work; a graph sorts anew. */
static void calls(const void *data) {
  bench b;
  bool moved = true;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  (void)data;
  begin(&b, 1, 4, 4);
  gemel__sim_pairs query = b.pairs, none = b.pairs;
  query.room = NULL;
  OK(gemel__sim_sort_pairs(&query, b.stream, &moved));
  CT_CHECK(query.room_bytes > 4096 && query.room_bytes < ROOM);
  none.count = 0;
  OK(gemel__sim_sort_pairs(&none, b.stream, &moved));
  CT_CHECK(!moved);
  CT_EQ_INT(cudaSetDevice(99), cudaErrorInvalidDevice);
  CT_EQ_INT(gemel__sim_sort_pairs(&b.pairs, b.stream, &moved), cudaErrorInvalidDevice);
  CT_EQ_INT(cudaGetLastError(), cudaErrorInvalidDevice);
  gemel__sim_count_from_here();
  OK(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
  OK(gemel__sim_sort_pairs(&b.pairs, b.stream, &moved));
  OK(cudaStreamEndCapture(b.stream, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  CT_EQ_INT(gemel__sim_counted().sorts, 0);
  OK(cudaGraphLaunch(exec, b.stream));
  check_order(&b, moved);
  CT_EQ_INT(gemel__sim_counted().sorts, 1);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  end(&b);
}

/* 8 bits a pass: keys are read once to be counted, and in each pass pairs are read and written. */
static void costs(const void *data) {
  bench b;
  bool moved;
  size_t count;
  long read = 0, written = 0;
  (void)data;
  begin(&b, 1, 4, 4);
  b.pairs.end = 20;
  gemel__sim_count_costs(&(gemel__sim_watch){1024, 65536, 0});
  OK(gemel__sim_sort_pairs(&b.pairs, b.stream, &moved));
  OK(cudaStreamSynchronize(b.stream));
  gemel__sim_count_costs(NULL);
  const gemel__sim_cost *all = gemel__sim_costs(&count);
  for (size_t k = 0; k < count; k++) {
    int pass = strcmp(all[k].kernel, "cub_onesweep") == 0;
    read += pass || strcmp(all[k].kernel, "cub_histogram") == 0 ? all[k].reads.bytes : 0;
    written += pass ? all[k].writes.bytes : 0;
  }
  CT_EQ_INT(count, 4 + 2 * 3);
  CT_EQ_INT(read, COUNT * (4 + 3 * 8));
  CT_EQ_INT(written, COUNT * 3 * 8);
  CT_EQ_INT(end(&b), 0);
}

void ct_register(void) {
  static ct_test tests[BUGS + 3];
  static bug all[BUGS];
  for (int k = 0; k < BUGS; k++) {
    all[k] = (bug)k;
    tests[k] = (ct_test)CT_TEST(bugs[k].name, mistake, &all[k]);
  }
  tests[BUGS] = (ct_test)CT_TEST("orders", orders, NULL);
  tests[BUGS + 1] = (ct_test)CT_TEST("calls", calls, NULL);
  tests[BUGS + 2] = (ct_test)CT_TEST("costs", costs, NULL);
  ct_suite("sim-sort", tests, BUGS + 3);
}
