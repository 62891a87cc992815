/*
 * Tests of the sim (gpu/sim): what it must report of kernels with a mistake, and that it reports
 * nothing of kernels which only look as if they had one, each for many seeds. SEEDS is how many.
 * Streams, graphs and host accesses are in t-sim-streams.c, cuBLAS and NVRTC in t-sim-libraries.c,
 * CUB's sort in t-sim-sort.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>
#include "ct.h"
#include "kernels/planted.h"
#include "sim/sim.h"

enum { SEEDS = 60, CRIME_SEEDS = 20, N = 1000, ROOM = 1400 };

const void *gemel__kernel_planted_fused(void);
const void *gemel__kernel_planted_sum_f32(void);
const void *gemel__kernel_planted_sum_f64(void);
const void *gemel__kernel_planted_transpose_f32(void);
const void *gemel__kernel_planted_transpose_u16(void);
const void *gemel__kernel_planted_patches(void);

static cudaStream_t stream;

/* Under Valgrind a seed takes a hundred times as long. */
static int seeds(int usual) {
  return getenv("GEMEL_VALGRIND") != NULL ? 2 : usual;
}

/* Some mistakes the compiler's own checks find; a build with sanitizers has none in kernels. */
static bool found_by_compiler(const char *part) {
  static const char *const parts[] = {"outside its array", "misaligned", "shift by too much"};
  for (size_t i = 0; i < CT_COUNT(parts); i++)
    if (strcmp(part, parts[i]) == 0)
      return true;
  return false;
}
#ifdef GEMEL_SANITIZED
#define SKIP_IF_FOUND_BY_COMPILER(part)                                                            \
  if (found_by_compiler(part))                                                                     \
  CT_SKIP("kernels are compiled without the compiler's checks where sanitizers are")
#else
#define SKIP_IF_FOUND_BY_COMPILER(part) (void)found_by_compiler(part)
#endif

static void begin(int seed) {
  gemel__sim_quiet(true);
  gemel__sim_seed((uint64_t)seed);
  if (stream == NULL)
    CT_EQ_INT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
}

static void *device(size_t bytes, const void *from) {
  void *pointer = NULL;
  CT_EQ_INT(cudaMalloc(&pointer, bytes), cudaSuccess);
  if (from != NULL)
    CT_EQ_INT(cudaMemcpyAsync(pointer, from, bytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
  else
    CT_EQ_INT(cudaMemsetAsync(pointer, 0, bytes, stream), cudaSuccess);
  return pointer;
}

static cudaError_t fetch(void *to, const void *from, size_t bytes) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream);
}

static void no_reports(const char *what, int seed) {
  ct_context("%s, seed %d", what, seed);
  for (int i = 0; i < gemel__sim_reports(); i++)
    CT_FAIL("%s", gemel__sim_report(i));
  gemel__sim_forget();
  ct_context(NULL);
}

/* The planted kernels, against plain loops. */

static float filled[ROOM];

static void fill(void) {
  for (int i = 0; i < ROOM; i++)
    filled[i] = (float)(i % 17 - 8) / 4;
}

/* Each runs a kernel with a bug and returns how many results are wrong, or -1 if CUDA refused. */

static int run_fused(int bug) {
  float got[N];
  long n = N;
  float *x = device(sizeof got, filled), *z = device(sizeof got, NULL);
  cudaLaunchKernel(gemel__kernel_planted_fused(), (dim3){3, 1, 1}, (dim3){128, 1, 1},
                   (void *[]){&x, &x, &z, &n, &bug}, 0, stream);
  int wrong = fetch(got, z, sizeof got) == cudaSuccess ? 0 : -1;
  for (int i = 0; wrong >= 0 && i < N; i++)
    wrong += !(got[i] == tanhf(filled[i]) * filled[i] + filled[i]);
  cudaFree(x);
  cudaFree(z);
  return wrong;
}

static int run_sum(int bug) {
  float got = 0, want = 0;
  long n = N;
  float *x = device(N * sizeof *x, filled), *sum = device(sizeof got, NULL);
  cudaLaunchKernel(gemel__kernel_planted_sum_f32(), (dim3){3, 1, 1}, (dim3){128, 1, 1},
                   (void *[]){&x, &sum, &n, &bug}, 0, stream);
  int wrong = fetch(&got, sum, sizeof got) == cudaSuccess ? 0 : -1;
  for (int i = 0; i < N; i++)
    want += filled[i];
  cudaFree(x);
  cudaFree(sum);
  return wrong < 0 ? wrong : got != want; /* multiples of 1/4: any order is exact */
}

static int run_transpose(int bug) {
  enum { ROWS = 41, COLUMNS = 33 };
  float got[ROWS * COLUMNS];
  int rows = ROWS, columns = COLUMNS;
  float *x = device(sizeof got, filled), *y = device(sizeof got, NULL);
  cudaLaunchKernel(gemel__kernel_planted_transpose_f32(), (dim3){2, 2, 1}, (dim3){32, 8, 1},
                   (void *[]){&x, &y, &rows, &columns, &bug}, 0, stream);
  int wrong = fetch(got, y, sizeof got) == cudaSuccess ? 0 : -1;
  for (int i = 0; wrong >= 0 && i < ROWS * COLUMNS; i++)
    wrong += got[i] != filled[i % ROWS * COLUMNS + i / ROWS];
  cudaFree(x);
  cudaFree(y);
  return wrong;
}

static int run_patches(int bug) {
  enum { H = 9, W = 8, K = 3, OH = H - K + 1, OW = W - K + 1, COUNT = K * K * OH * OW };
  float got[H * W], want[H * W] = {0};
  int one = 1, h = H, w = W, k = K, oh = OH, ow = OW;
  float *columns = device(COUNT * sizeof(float), filled), *x = device(sizeof got, NULL);
  cudaLaunchKernel(gemel__kernel_planted_patches(), (dim3){2, 1, 1}, (dim3){64, 1, 1},
                   (void *[]){&columns, &x, &one, &h, &w, &k, &oh, &ow, &bug}, 64 * sizeof(float),
                   stream);
  int wrong = fetch(got, x, sizeof got) == cudaSuccess ? 0 : -1;
  for (int i = 0; i < COUNT; i++)
    want[(i / OW % OH + i / (OW * OH * K)) * W + i % OW + i / (OW * OH) % K] += filled[i];
  for (int i = 0; wrong >= 0 && i < H * W; i++)
    wrong += got[i] != want[i];
  cudaFree(columns);
  cudaFree(x);
  return wrong;
}

typedef struct {
  const char *name;
  int (*run)(int bug);
  int bug;
  gemel__sim_kind kind;
  const char *part; /* of the report */
} planted_case;

static void planted_right(const void *data) {
  const planted_case *c = data;
  fill();
  for (int seed = 0; seed < seeds(SEEDS); seed++) {
    begin(seed);
    CT_EQ_INT(c->run(NO_BUG), 0);
    no_reports(c->name, seed);
  }
}

static void planted_wrong(const void *data) {
  const planted_case *c = data;
  SKIP_IF_FOUND_BY_COMPILER(c->part);
  fill();
  for (int seed = 0; seed < seeds(CRIME_SEEDS); seed++) {
    begin(seed);
    c->run(c->bug);
    ct_context("%s, seed %d, reported: %s", c->name, seed,
               gemel__sim_reports() > 0 ? gemel__sim_report(0) : "nothing");
    CT_CHECK(gemel__sim_reported(c->kind, c->part));
    gemel__sim_forget();
  }
  ct_context(NULL);
}

static const planted_case right[] = {
    {"fused", run_fused, NO_BUG, 0, NULL},
    {"sum", run_sum, NO_BUG, 0, NULL},
    {"transpose", run_transpose, NO_BUG, 0, NULL},
    {"patches", run_patches, NO_BUG, 0, NULL},
};

static const planted_case wrong[] = {
    {"missing-barrier", run_sum, MISSING_BARRIER, GEMEL__SIM_RACE, "of part"},
    {"off-by-one", run_fused, OFF_BY_ONE, GEMEL__SIM_BOUNDS, "byte 4000 of allocation"},
    {"wrong-stride", run_transpose, WRONG_STRIDE, GEMEL__SIM_RACE, "of allocation"},
    {"tile-index", run_transpose, TILE_INDEX, GEMEL__SIM_BOUNDS, "outside its array"},
    {"missing-atomic", run_sum, MISSING_ATOMIC, GEMEL__SIM_RACE, "of block"},
    {"race-on-shared", run_patches, RACE_ON_SHARED, GEMEL__SIM_RACE, "dynamic shared memory"},
    {"mask-of-half", run_sum, MASK_OF_HALF, GEMEL__SIM_WARP, "does not name the caller"},
    {"partial-warp", run_sum, PARTIAL_WARP, GEMEL__SIM_WARP, "planted.cu"},
};

/* Kernels that are easily accused, and kernels with one crime: each with the same few buffers. */

typedef struct {
  const char *name;
  const void *(*kernel)(void);
  int blocks, threads;
  size_t shared;
  const char *arguments; /* i: 64 int of input; o: 64 int of output; z: 64 zeros; p: a pointer; d:
                            64 double; 0 to 9: an int, of ten times as much */
  gemel__sim_kind kind;
  const char *part; /* NULL: nothing may be reported */
} kernel_case;

static void launch(const kernel_case *c) {
  int in[64], ints[8];
  void *buffers[8] = {NULL}, *arguments[8];
  for (int i = 0; i < 64; i++)
    in[i] = i * 7 % 10;
  for (int i = 0; c->arguments[i] != '\0'; i++) {
    char kind = c->arguments[i];
    ints[i] = (kind - '0') * 10;
    if (kind > '9')
      buffers[i] = device(kind == 'd' ? 512 : 256, kind == 'i' ? in : NULL);
    arguments[i] = kind > '9' ? (void *)&buffers[i] : &ints[i];
  }
  CT_EQ_INT(cudaLaunchKernel(c->kernel(), (dim3){(unsigned)c->blocks, 1, 1},
                             (dim3){(unsigned)c->threads, 1, 1}, arguments, c->shared, stream),
            cudaSuccess);
  cudaError_t error = cudaStreamSynchronize(stream);
  CT_CHECK((error != cudaSuccess) == (c->part != NULL));
  for (int i = 0; i < 8; i++)
    cudaFree(buffers[i]);
}

static void legal(const void *data) {
  const kernel_case *c = data;
  for (int seed = 0; seed < seeds(SEEDS); seed++) {
    begin(seed);
    launch(c);
    no_reports(c->name, seed);
  }
}

static void crime(const void *data) {
  const kernel_case *c = data;
  SKIP_IF_FOUND_BY_COMPILER(c->part);
  for (int seed = 0; seed < seeds(CRIME_SEEDS); seed++) {
    begin(seed);
    launch(c);
    ct_context("%s, seed %d, reported: %s", c->name, seed,
               gemel__sim_reports() > 0 ? gemel__sim_report(0) : "nothing");
    CT_CHECK(gemel__sim_reported(c->kind, c->part));
    gemel__sim_forget();
  }
  ct_context(NULL);
}

#define LEGAL(id, blocks, threads, shared, arguments) const void *gemel__kernel_legal_##id(void);
#define CRIME(id, blocks, threads, shared, arguments, kind, part)                                  \
  const void *gemel__kernel_crime_##id(void);
#define KERNELS                                                                                    \
  LEGAL(syncwarp, 1, 64, 0, "o")                                                                   \
  LEGAL(read_then_write, 1, 64, 0, "o")                                                            \
  LEGAL(early_exit, 1, 48, 0, "o2")                                                                \
  LEGAL(shuffle_beyond, 1, 32, 0, "o")                                                             \
  LEGAL(two_arrays, 1, 64, 64 * 12, "id2")                                                         \
  LEGAL(vectors, 1, 32, 0, "io1")                                                                  \
  LEGAL(constants, 1, 64, 0, "o")                                                                  \
  LEGAL(constants_by_pointer, 1, 64, 0, "o")                                                       \
  LEGAL(histogram, 3, 64, 0, "io6")                                                                \
  LEGAL(last_block, 5, 32, 0, "iozo6")                                                             \
  LEGAL(scan, 1, 64, 0, "io")                                                                      \
  LEGAL(bytes, 1, 64, 0, "oi")                                                                     \
  CRIME(exit, 1, 64, 0, "o", GEMEL__SIM_DIVERGENCE, "44 threads have ended")                       \
  CRIME(two_barriers, 1, 64, 0, "o", GEMEL__SIM_DIVERGENCE, "waits here while thread")             \
  CRIME(unwritten_shared, 1, 64, 0, "o", GEMEL__SIM_UNINITIALISED, "byte 0 of s")                  \
  CRIME(past_shared, 1, 64, 0, "o", GEMEL__SIM_BOUNDS, "of shared array s (252 bytes)")            \
  CRIME(past_guarded, 1, 64, 0, "o", GEMEL__SIM_BOUNDS, "offset 256 of shared array s")            \
  CRIME(past_dynamic, 1, 64, 256, "o", GEMEL__SIM_BOUNDS, "of shared array dynamic")               \
  CRIME(no_fence, 2, 32, 0, "ooz", GEMEL__SIM_RACE, "of block")                                    \
  CRIME(misaligned, 1, 8, 0, "o", GEMEL__SIM_BOUNDS, "misaligned")                                 \
  CRIME(others_local, 1, 64, 0, "op", GEMEL__SIM_BOUNDS, "a local variable of thread 0")           \
  CRIME(shuffle_of_different, 1, 32, 0, "o", GEMEL__SIM_WARP, "crimes.cu")                         \
  CRIME(shuffle_from_ended, 1, 32, 0, "o", GEMEL__SIM_WARP, "which has ended")                     \
  CRIME(shuffle_up_beyond, 1, 32, 0, "o4", GEMEL__SIM_WARP, "no lane of a warp")                   \
  CRIME(shuffle_down_beyond, 1, 32, 0, "o4", GEMEL__SIM_WARP, "no lane of a warp")                 \
  CRIME(shuffle_xor_beyond, 1, 32, 0, "o4", GEMEL__SIM_WARP, "no lane of a warp")                  \
  CRIME(missing_syncwarp, 1, 64, 0, "o", GEMEL__SIM_RACE, "of s, which thread")                    \
  CRIME(same_value, 2, 32, 0, "o", GEMEL__SIM_RACE, "writes byte 0 of allocation")                 \
  CRIME(read_of_atomic, 1, 32, 0, "o", GEMEL__SIM_RACE, "byte 0 of allocation")                    \
  CRIME(assert, 1, 64, 0, "o", GEMEL__SIM_UNDEFINED, "assert(threadIdx.x < 40)")                   \
  CRIME(division, 1, 64, 0, "o", GEMEL__SIM_UNDEFINED, "division by zero")                         \
  CRIME(shift, 1, 64, 0, "o", GEMEL__SIM_UNDEFINED, "shift by too much")                           \
  CRIME(index, 1, 64, 0, "o", GEMEL__SIM_BOUNDS, "outside its array")                              \
  CRIME(stack, 1, 64, 0, "o", GEMEL__SIM_BOUNDS, "its stack")                                      \
  CRIME(memcpy, 1, 64, 0, "o", GEMEL__SIM_RACE, "of allocation")                                   \
  CRIME(read_by_lanes, 1, 32, 0, "o", GEMEL__SIM_RACE, "of s, which")                              \
  CRIME(read_by_warps, 1, 64, 0, "o", GEMEL__SIM_RACE, "of s, which")                              \
  CRIME(read_by_blocks, 2, 1, 0, "oz", GEMEL__SIM_RACE, "byte 0 of allocation")                    \
  CRIME(no_release, 2, 1, 0, "ooz", GEMEL__SIM_RACE, "of block")                                   \
  CRIME(no_acquire, 2, 1, 0, "ooz", GEMEL__SIM_RACE, "of block")
KERNELS

#undef LEGAL
#undef CRIME
#define LEGAL(id, blocks, threads, shared, arguments)                                              \
  {#id, gemel__kernel_legal_##id, blocks, threads, shared, arguments, 0, NULL},
#define CRIME(id, blocks, threads, shared, arguments, kind, part)                                  \
  {#id, gemel__kernel_crime_##id, blocks, threads, shared, arguments, kind, part},
static const kernel_case cases[] = {KERNELS};

void ct_register(void) {
  for (size_t i = 0; i < CT_COUNT(right); i++)
    CT_ADD("sim", right[i].name, planted_right, &right[i]);
  for (size_t i = 0; i < CT_COUNT(wrong); i++)
    CT_ADD_TO("sim", "planted", wrong[i].name, planted_wrong, &wrong[i]);
  for (size_t i = 0; i < CT_COUNT(cases); i++)
    CT_ADD_TO("sim", cases[i].part == NULL ? "legal" : "crime", cases[i].name,
              cases[i].part == NULL ? legal : crime, &cases[i]);
}
