/*
 * The device "cuda" on several GPUs of the sim: calls on each, from one thread and from many, go to
 * the GPU that they are meant for, whichever is the thread's current one, and leave that current
 * whatever happens: the application's choice is its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "instances/instance.h"
#include "base/random.h"
#include "support/step.h"

enum { GPUS = 2, THREADS = 4 };

/* What calls cuDNN, cuBLAS and kernels of all kinds, beside the step. */
static const char *const image_text =
    "graph g(x: f32[2, 3, 6, 5], w: f32[4, 3, 3, 3]) {\n"
    "  y = corr(x, w)\n"
    "  return s = sum(maximum(y, 0) * 2, axes = [0, 2, 3]), y = y\n"
    "}\n";
enum { CHANNELS = 4 };

/* The calling thread's current GPU; -1 if there is none. Asked twice, since a test may have the
 * call fail. */
static int current_gpu(void) {
  int gpu = -1;
  if (cudaGetDevice(&gpu) != cudaSuccess) {
    cudaGetLastError();
    cudaGetDevice(&gpu);
  }
  return gpu;
}

/* Whether the application finds what it left: its GPU, and no error that isn't its own. */
static int as_left(int gpu) {
  return cudaPeekAtLastError() == cudaSuccess && current_gpu() == gpu;
}

/* Convolutions of X by W, in f64, and the sums: what the sums must be. */
static void find_sums(const float *x, const float *w, float *sums) {
  for (int f = 0; f < CHANNELS; f++) {
    sums[f] = 0;
    for (int place = 0; place < 2 * 4 * 3; place++) {
      int n = place / 12, row = place / 3 % 4, column = place % 3;
      float y = 0;
      for (int k = 0; k < 27; k++) {
        y += w[f * 27 + k] * x[((n * 3 + k / 9) * 6 + row + k / 3 % 3) * 5 + column + k % 3];
      }
      sums[f] += y > 0 ? 2 * y : 0;
    }
  }
}

/* Calls F, which is IMAGE_TEXT, and looks at the sums; small integers, so they are exact. */
static gemel_status call_image(gemel_function *f, gemel_tensor *const *in) {
  gemel_tensor *out[2] = {NULL};
  float wanted[CHANNELS];
  gemel_status status = gemel_call(f, 2, in, 2, out, &error);
  find_sums(gemel_tensor_data(in[0]), gemel_tensor_data(in[1]), wanted);
  if (status == GEMEL_OK && memcmp(gemel_tensor_data(out[0]), wanted, sizeof wanted) != 0) {
    status = GEMEL_INTERNAL;
  }
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
  return status;
}

/* Some calls of it, of which the first ones record and the others replay. */
static gemel_status run_image(const bench *b) {
  gemel_lift_options lift = {.size = sizeof lift, .space = 1};
  gemel_options options = {.size = sizeof options, .threads = 1, .lift = &lift};
  const int64_t x_shape[] = {2, 3, 6, 5}, w_shape[] = {4, 3, 3, 3};
  gemel_tensor *in[2] = {filled(GEMEL_F32, 4, x_shape, 7), filled(GEMEL_F32, 4, w_shape, 5)};
  gemel_graph *graph =
      gemel_parse(b->context, image_text, strlen(image_text), "test", NULL, &error);
  gemel_function *f = graph != NULL ? gemel_compile(graph, &options, &error) : NULL;
  gemel_status status = f != NULL && in[0] != NULL && in[1] != NULL ? GEMEL_OK : error.status;
  for (int k = 0; k < 4 && status == GEMEL_OK; k++) {
    status = call_image(f, in);
  }
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  return status;
}

/* ---- One thread ---- */

/* Calls on both GPUs in turn while APPLICATION is current. */
static void in_turn(const void *data) {
  const int application = *(const int *)data;
  bench b[GPUS];
  step s[GPUS];
  CT_EQ_INT(cudaSetDevice(application), cudaSuccess);
  for (int gpu = 0; gpu < GPUS; gpu++) {
    CT_EQ_INT(open_bench(&b[gpu], gpu), GEMEL_OK);
    CT_EQ_INT(current_gpu(), application);
    CT_EQ_INT(open_step(&s[gpu], b[gpu].graph, 1), GEMEL_OK);
    CT_EQ_INT(current_gpu(), application);
  }
  for (int k = 0; k < CALLS * GPUS; k++) {
    gemel_tensor *out[RESULTS] = {NULL};
    int gpu = k % GPUS;
    ct_context("call %d, on GPU %d: %s", k, gpu, error.text);
    if (CT_EQ_INT(call_step(&s[gpu], k / GPUS, RIGHT, out), GEMEL_OK)) {
      check_call(&s[gpu], k / GPUS, out);
    }
    CT_EQ_INT(current_gpu(), application);
    CT_EQ_INT(run_image(&b[gpu]), GEMEL_OK);
    CT_EQ_INT(current_gpu(), application);
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
  }
  for (int gpu = 0; gpu < GPUS; gpu++) {
    close_step(&s[gpu]);
    close_bench(&b[gpu]);
    CT_EQ_INT(current_gpu(), application);
  }
  CT_EQ_INT(cudaSetDevice(0), cudaSuccess);
  nothing_left();
}

/* Memory is taken where it is meant to be. */
static void memory_of(const void *data) {
  const int64_t n = 1 << 20;
  (void)data;
  for (int gpu = 0; gpu < GPUS; gpu++) {
    bench b;
    size_t before, left, total;
    CT_EQ_INT(open_bench(&b, gpu), GEMEL_OK);
    gemel_tensor *t = gemel_tensor_new(GEMEL_U8, 1, &n, &error);
    CT_EQ_INT(cudaSetDevice(gpu), cudaSuccess);
    CT_EQ_INT(cudaMemGetInfo(&before, &total), cudaSuccess);
    CT_EQ_INT(cudaSetDevice(1 - gpu), cudaSuccess);
    memset(gemel_tensor_data(t), 1, (size_t)n);
    gemel_tensor *there = gemel_tensor_transfer(t, gemel_cuda_device(b.cuda), &error);
    CT_CHECK(there != NULL);
    CT_EQ_INT(cudaSetDevice(gpu), cudaSuccess);
    CT_EQ_INT(cudaMemGetInfo(&left, &total), cudaSuccess);
    CT_CHECK(before - left >= (size_t)n && before - left < 2 * (size_t)n); /* a pool rounds */
    gemel_tensor_unref(t);
    gemel_tensor_unref(there);
    close_bench(&b);
  }
  CT_EQ_INT(cudaSetDevice(0), cudaSuccess);
  nothing_left();
}

/* ---- Bits ---- */

/* What adds up, long enough to be cut into parts where that pays. */
static const struct sums {
  const char *name, *text;
} sums[] = {
    {"sum", "(x: f32[150001]) { return r = sum(x) }"},
    {"sum-of-rows", "(x: f32[3, 40000]) { return r = sum(x, axes = [1]), s = sum(x, axes = [0]) }"},
    {"sum-of-halves", "(x: f16[70000], y: bf16[2, 36000]) { return r = sum(x), s = sum(y) }"},
    {"sum-of-doubles", "(x: f64[2, 80000]) { return r = sum(x, axes = [1]) }"},
    {"sum-of-cluster", "(x: f32[150001]) { return r = sum(x * x + x) }"},
    {"prod", "(x: f32[70000]) { return r = prod(1:f32 + x * 1e-6:f32) }"},
    {"max", "(x: f32[70000], y: i32[40000]) { return r = max(x), s = max(y), t = sum(y) }"},
    {"argmax", "(x: f32[150001]) { return r = argmax(x, axis = 0) }"},
    {"softmax", "(x: f32[3, 40000]) { return r = softmax(x, axis = 1) }"},
    {"gradient-of-rows", "(x: f32[40000, 3]) { return r = sum(x * 2, axes = [0]) }"},
    {"dot",
     "(x: f32[6, 9000], y: f32[9000, 4], z: f32[80000]) { return r = dot(x, y), s = dot(z, z) }"},
    {"dot-of-integers", "(x: i32[6, 900], y: i32[900, 4]) { return r = dot(x, y) }"},
    {"convolution", "(x: f32[9, 4, 20, 20], w: f32[5, 4, 3, 3], v: f64[2, 4, 20, 20],\n"
                    "  u: f64[5, 4, 3, 3]) { return r = corr(x, w), s = corr(v, u) }"},
    {"weights", "(x: f32[9, 4, 20, 20], g: f32[9, 5, 18, 18], v: f64[9, 4, 20, 20],\n"
                "  h: f64[9, 5, 18, 18]) {\n"
                "  return r = corr_grad_weights(x, g, kernel = [3, 3]),\n"
                "    s = corr_grad_weights(v, h, kernel = [3, 3]) }"},
    {"weights-depthwise", "(x: f32[9, 4, 40, 40], g: f32[9, 4, 38, 38]) {\n"
                          "  return r = corr_grad_weights(x, g, groups = 4, kernel = [3, 3]) }"},
    {"inputs", "(w: f32[5, 4, 3, 3], g: f32[9, 5, 18, 18], u: f64[5, 4, 3, 3],\n"
               "  h: f64[9, 5, 18, 18]) { return r = corr_grad_inputs(w, g, image = [20, 20]),\n"
               "    s = corr_grad_inputs(u, h, image = [20, 20]) }"},
    {"pool", "(x: f32[2, 3, 90, 90]) { return r = avg_pool(x, size = [80, 80]) }"},
};

enum { MODELS = 3, MOST_SUMS = 3 };
static const int models[MODELS] = {1, 4, 132}; /* multiprocessors */

/* What GPU 0 makes of VALUES. */
static gemel_status call_there(const char *text, gemel_tensor *const *values, gemel_tensor **out) {
  gemel_lift_options lift = {.size = sizeof lift, .space = 1};
  gemel_options options = {.size = sizeof options, .threads = 1, .as_written = 1, .lift = &lift};
  bench b;
  gemel__sim_seed(1);
  gemel_status status = open_bench(&b, 0);
  gemel_graph *graph = status == GEMEL_OK ? graph_of(b.context, text) : NULL;
  gemel_function *f = graph != NULL ? gemel_compile(graph, &options, &error) : NULL;
  status = f != NULL ? gemel_call(f, gemel_function_input_count(f), values,
                                  gemel_function_output_count(f), out, &error)
                     : error.status;
  gemel_function_free(f);
  gemel_graph_unref(graph);
  close_bench(&b);
  return status;
}

/* The same inputs give the same bits whatever the GPU's size. */
static void same_bits(const void *data) {
  const struct sums *s = data;
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = graph_of(context, s->text);
  gemel_tensor **values, *out[MODELS][MOST_SUMS] = {{NULL}};
  size_t results = gemel_graph_output_count(graph);
  gemel__instance instance;
  gemel__random random;
  gemel__random_seed(&random, 1);
  CT_EQ_INT(gemel__instance_of_graph(&instance, graph, NULL, &error), GEMEL_OK);
  CT_EQ_INT(gemel__values_draw(&instance, GEMEL__FILL_FULL, &random, &values, &error), GEMEL_OK);
  for (int m = 0; m < MODELS; m++) {
    gemel__sim_processors(0, models[m]);
    ct_context("on %d multiprocessors: %s", models[m], error.text);
    CT_EQ_INT(call_there(s->text, values, out[m]), GEMEL_OK);
    for (size_t k = 0; k < results && out[m][k] != NULL && out[0][k] != NULL; k++) {
      ct_context("result %zu on %d multiprocessors", k, models[m]);
      CT_EQ_MEM(gemel_tensor_data(out[m][k]), gemel_tensor_data(out[0][k]),
                (size_t)gemel_tensor_elements(out[0][k]) *
                    gemel_dtype_size(gemel_tensor_dtype(out[0][k])));
    }
  }
  for (size_t k = 0; k < MODELS * results; k++) {
    gemel_tensor_unref(out[k / results][k % results]);
  }
  gemel__sim_processors(0, 4);
  gemel__values_free(&instance, values);
  gemel__instance_clear(&instance);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  nothing_left();
}

/* ---- Threads ---- */

typedef struct worker {
  const bench *b; /* of each GPU */
  int number;
  int wrong; /* line of the first thing that went wrong; 0: none */
} worker;

#define MUST(condition)                                                                            \
  do {                                                                                             \
    if (!(condition) && w->wrong == 0) {                                                           \
      w->wrong = __LINE__;                                                                         \
    }                                                                                              \
  } while (0)

static void call_in_thread(worker *w, step *s, int k) {
  gemel_tensor *out[RESULTS] = {NULL};
  float now[30];
  MUST(call_step(s, k, RIGHT, out) == GEMEL_OK);
  MUST(out[1] != NULL &&
       memcmp(gemel_tensor_data(out[1]), wanted_part[k], sizeof wanted_part[k]) == 0);
  MUST(read_w(s, now) == 0 && memcmp(now, wanted_w[k + 1], sizeof now) == 0);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
}

static void *work(void *user) {
  worker *w = user;
  step s[GPUS];
  int application = w->number % GPUS;
  MUST(cudaSetDevice(application) == cudaSuccess);
  for (int gpu = 0; gpu < GPUS; gpu++) {
    MUST(open_step(&s[gpu], w->b[gpu].graph, 1) == GEMEL_OK);
  }
  for (int k = 0; k < CALLS * GPUS && w->wrong == 0; k++) {
    int gpu = (k + w->number / GPUS) % GPUS;
    call_in_thread(w, &s[gpu], k / GPUS);
    MUST(current_gpu() == application);
    MUST(run_image(&w->b[gpu]) == GEMEL_OK && current_gpu() == application);
  }
  for (int gpu = 0; gpu < GPUS; gpu++) {
    close_step(&s[gpu]);
  }
  MUST(current_gpu() == application);
  return NULL;
}

static void threads(const void *data) {
  worker workers[THREADS];
  pthread_t running[THREADS];
  bench b[GPUS];
  (void)data;
  for (int gpu = 0; gpu < GPUS; gpu++) {
    CT_EQ_INT(open_bench(&b[gpu], gpu), GEMEL_OK);
  }
  for (int k = 0; k < THREADS; k++) {
    workers[k] = (worker){b, k, 0};
    CT_EQ_INT(pthread_create(&running[k], NULL, work, &workers[k]), 0);
  }
  for (int k = 0; k < THREADS; k++) {
    pthread_join(running[k], NULL);
    ct_context("thread %d", k);
    CT_EQ_INT(workers[k].wrong, 0);
  }
  for (int gpu = 0; gpu < GPUS; gpu++) {
    close_bench(&b[gpu]);
  }
  nothing_left();
}

/* ---- Compilers ---- */

/* A GPU that NVRTC knows, one that is newer, one that is older than all. */
static const struct compiler {
  const char *name;
  int architectures[3], count;
  int fused; /* whether clusters are kernels */
} compilers[] = {
    {"same", {75, 80, 90}, 3, 1},  {"newer-gpu", {75}, 1, 1},      {"between", {75, 86, 90}, 3, 1},
    {"older-gpu", {86, 90}, 2, 0}, {"no-architecture", {0}, 0, 0},
};

/* Calls a cluster of five operations, which is compiled for it, and says how many KERNELS ran. */
static gemel_status call_cluster(int *kernels) {
  gemel_lift_options lift = {.size = sizeof lift, .space = 1};
  gemel_options options = {.size = sizeof options, .threads = 1, .as_written = 1, .lift = &lift};
  gemel_tensor *in = vector_of(GEMEL_F32, 3, 1), *out = NULL;
  gemel_graph *graph = NULL;
  gemel_function *f = NULL;
  bench b;
  setenv("GEMEL_CACHE", "/proc/no-such-folder", 1);
  gemel_status status = open_bench(&b, 0);
  if (status == GEMEL_OK) {
    graph = graph_of(b.context, "(x: f32[3]) { return z = ((x * x - 1) * 2 + x) * (x - 2) }");
    f = gemel_compile(graph, &options, &error);
    gemel__sim_count_from_here();
    status = f != NULL ? gemel_call(f, 1, &in, 1, &out, &error) : error.status;
    *kernels = (int)gemel__sim_counted().kernels;
  }
  CT_CHECK(status != GEMEL_OK || float_at(out, 2) == (2 * 8 + 3) * 1);
  gemel_tensor_unref(in);
  gemel_tensor_unref(out);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  close_bench(&b);
  setenv("GEMEL_CACHE", ct_scratch(), 1);
  return status;
}

static void compile_for(const void *data) {
  const struct compiler *c = data;
  int kernels = 0;
  gemel__sim_architectures(c->count, c->architectures);
  CT_EQ_INT(call_cluster(&kernels), GEMEL_OK);
  ct_context("%d kernels: %s", kernels, error.text);
  CT_CHECK((kernels == 1) == c->fused);
  gemel__sim_architectures(0, NULL);
  nothing_left();
}

/* A driver that can't load what was compiled: that call of CUDA, whichever it is, is survived. */
static void old_driver(const void *data) {
  long failed = 0, survived = 0;
  (void)data;
  for (int was = 1; was && survived < 2; failed += was) {
    gemel__sim_fail(failed, cudaErrorUnsupportedPtxVersion);
    int kernels = 0;
    gemel_status status = call_cluster(&kernels);
    was = gemel__sim_fail(-1, cudaSuccess);
    survived += was && status == GEMEL_OK && kernels > 1;
    ct_context("call %ld of CUDA fails: %s", failed, error.text);
    CT_CHECK(status == GEMEL_OK || status == GEMEL_DEVICE);
    nothing_left();
  }
  CT_EQ_INT(survived, 2); /* of loading the library, and finding the kernel in it */
}

/* ---- Calls that fail ---- */

/* A GPU that isn't there, and one whose memory is out. */
static void no_gpu(const void *data) {
  (void)data;
  CT_EQ_INT(cudaSetDevice(1), cudaSuccess);
  CT_CHECK(gemel_cuda_open(GPUS, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_UNSUPPORTED);
  CT_EQ_INT(current_gpu(), 1);
  CT_EQ_INT(cudaSetDevice(0), cudaSuccess);
  nothing_left();
}

/* What <gemel/cuda.h> says of NULL, and of sizes. */
/* Another GPU's stream is no stream of this one, and a precision that isn't there none. */
static void strangers(const void *data) {
  gemel_error said;
  cudaStream_t other;
  gemel_options options = {.size = sizeof options, .matmul_precision = GEMEL_PRECISION_COUNT};
  (void)data;
  CT_EQ_INT(cudaSetDevice(1), cudaSuccess);
  CT_EQ_INT(cudaStreamCreate(&other), cudaSuccess);
  CT_EQ_INT(cudaSetDevice(0), cudaSuccess);
  CT_CHECK(gemel_cuda_open_on(0, other, &said) == NULL);
  CT_EQ_INT(said.status, GEMEL_BAD_ARGUMENT);
  gemel_cuda *cuda = gemel_cuda_open_on(1, other, &said);
  CT_CHECK(cuda != NULL);
  CT_EQ_INT(gemel_cuda_set_precision(cuda, (gemel_precision)-1), GEMEL_BAD_ARGUMENT);
  gemel_cuda_close(cuda);
  CT_EQ_INT(cudaStreamDestroy(other), cudaSuccess);
  bench b;
  CT_EQ_INT(open_bench(&b, 0), GEMEL_OK);
  gemel_graph *graph = graph_of(b.context, "(x: f32[3]) { return y = neg(x) }");
  CT_CHECK(gemel_compile(graph, &options, &said) == NULL);
  CT_EQ_INT(said.status, GEMEL_BAD_ARGUMENT);
  options.matmul_precision = (gemel_precision)-1;
  CT_CHECK(gemel_compile(graph, &options, &said) == NULL);
  gemel_graph_unref(graph);
  close_bench(&b);
  nothing_left();
}

/* A transfer to where a value lies, of sizes that are known at a call. */
static void there_already(const void *data) {
  gemel_tensor *in = vector_of(GEMEL_F32, 3, 1), *out = NULL;
  gemel_options options = {.size = sizeof options, .threads = 1, .as_written = 1};
  bench b;
  (void)data;
  CT_EQ_INT(open_bench(&b, 0), GEMEL_OK);
  gemel_graph *graph = graph_of(b.context, "(x: f32[N]) {\n  a = transfer(x, space = 1)\n"
                                           "  return y = transfer(transfer(a, space = 1), "
                                           "space = 0)\n}");
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_CHECK(f != NULL);
  CT_EQ_INT(f != NULL ? gemel_call(f, 1, &in, 1, &out, &error) : error.status, GEMEL_OK);
  CT_CHECK(out != NULL && float_at(out, 2) == float_at(in, 2));
  gemel_function_free(f);
  gemel_tensor_unref(in);
  gemel_tensor_unref(out);
  gemel_graph_unref(graph);
  close_bench(&b);
  nothing_left();
}

static void nulls(const void *data) {
  gemel_cuda *cuda = gemel_cuda_open(0, NULL);
  gemel_cuda_counts counts = {.size = sizeof counts}, unsized = {0};
  (void)data;
  CT_CHECK(gemel_cuda_open(-1, NULL) == NULL && gemel_cuda_open(GPUS, NULL) == NULL);
  CT_CHECK(gemel_cuda_device(NULL) == NULL && gemel_cuda_device(cuda) != NULL);
  CT_EQ_INT(gemel_cuda_counted(NULL, &counts), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_cuda_counted(cuda, NULL), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_cuda_counted(cuda, &unsized), GEMEL_BAD_ARGUMENT);
  counts.kernels = counts.bytes = 77;
  counts.size = offsetof(gemel_cuda_counts, bytes);
  CT_EQ_INT(gemel_cuda_counted(cuda, &counts), GEMEL_OK);
  CT_CHECK(counts.kernels != 77 && counts.bytes == 77);
  gemel_cuda_close(NULL);
  gemel_cuda_close(cuda);
  nothing_left();
}

/* What is done on GPU NUMBER while the first is current; -1 unless that stays so and results are
 * right. */
static gemel_status work_on(int number) {
  bench b;
  step s = {.f = NULL};
  gemel_status status = open_bench(&b, number);
  int stays = as_left(0);
  if (status == GEMEL_OK) {
    status = open_step(&s, b.graph, 1);
    stays &= as_left(0);
  }
  for (int k = 0; k < CALLS && status == GEMEL_OK; k++) {
    gemel_tensor *out[RESULTS] = {NULL};
    status = call_step(&s, k, RIGHT, out);
    stays &= as_left(0);
    stays &= status != GEMEL_OK ||
             memcmp(gemel_tensor_data(out[1]), wanted_part[k], sizeof wanted_part[k]) == 0;
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
  }
  if (status == GEMEL_OK) {
    status = run_image(&b);
    stays &= as_left(0);
  }
  close_step(&s);
  close_bench(&b);
  stays &= as_left(0);
  return stays ? status : (gemel_status)-1;
}

/* Each call of CUDA that may fail is refused in turn. */
static gemel_status work_on_one(void) {
  return work_on(1);
}

static void refused(const void *data) {
  (void)data;
  each_call_refused(work_on_one);
}

/* Opening with each call of CUDA failing in turn: none of them is passed over. */
static void failed_opening(const void *data) {
  long failed = 0;
  (void)data;
  for (int was = 1; was; failed += was) {
    gemel__sim_fail(failed, cudaErrorNotSupported);
    gemel_cuda *cuda = gemel_cuda_open(0, &error);
    was = gemel__sim_fail(-1, cudaSuccess);
    ct_context("call %ld of CUDA fails", failed);
    CT_CHECK((cuda == NULL) == was);
    CT_CHECK(as_left(0));
    gemel_cuda_close(cuda);
    nothing_left();
  }
  CT_CHECK(failed > 10);
}

/* All that is done with each call of CUDA failing in turn, one in three elsewhere: it fails, or is
 * done another way, and what comes after it is right. */
static void failed_calls(const void *data) {
  const int number = *(const int *)data, every = number == 0 ? 1 : 3;
  long failed = 0, survived = 0;
  for (int was = 1; was; failed += was ? every : 0) {
    gemel__sim_seed((uint64_t)failed);
    gemel__sim_fail(failed, cudaErrorNotSupported);
    gemel_status status = work_on(number);
    was = gemel__sim_fail(-1, cudaSuccess);
    survived += was && status == GEMEL_OK;
    ct_context("call %ld of CUDA fails: %s", failed, error.text);
    CT_CHECK(status == GEMEL_OK || (was && (int)status != -1));
    CT_EQ_INT(cudaSetDevice(0), cudaSuccess);
    nothing_left();
  }
  printf("  of %ld calls of CUDA that failed, %ld had another way out\n", failed, survived);
  CT_CHECK(failed > 200);
}

/* The application's own error stays its own, and a GPU that says it has no multiprocessors works.
 */
static void odd_state(const void *data) {
  (void)data;
  bench b;
  CT_EQ_INT(open_bench(&b, 0), GEMEL_OK);
  CT_EQ_INT(cudaSetDevice(GPUS), cudaErrorInvalidDevice);
  CT_EQ_INT(run_image(&b), GEMEL_OK);
  CT_EQ_INT(cudaGetLastError(), cudaErrorInvalidDevice);
  close_bench(&b);
  gemel__sim_processors(0, 0);
  CT_EQ_INT(work_on(0), GEMEL_OK);
  gemel__sim_processors(0, 4);
  nothing_left();
}

static const int first = 0, second = 1;

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("prepare", prepare, NULL),
      CT_TEST("in-turn/first", in_turn, &first),
      CT_TEST("in-turn/second", in_turn, &second),
      CT_TEST("memory", memory_of, NULL),
      CT_TEST("threads", threads, NULL),
      CT_TEST("no-gpu", no_gpu, NULL),
      CT_TEST("nulls", nulls, NULL),
      CT_TEST("strangers", strangers, NULL),
      CT_TEST("there-already", there_already, NULL),
      CT_TEST("refused", refused, NULL),
      CT_TEST("failed/opening", failed_opening, NULL),
      CT_TEST("failed/calls", failed_calls, &first),
      CT_TEST("failed/elsewhere", failed_calls, &second),
      CT_TEST("odd-state", odd_state, NULL),
      CT_TEST("compiler/old-driver", old_driver, NULL),
  };
  setenv("GEMEL_CACHE", ct_scratch(), 1);
  gemel__sim_devices(GPUS);
  ct_suite("cuda-devices", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(compilers); k++) {
    CT_ADD_TO("cuda-devices", "compiler", compilers[k].name, compile_for, &compilers[k]);
  }
  for (size_t k = 0; k < CT_COUNT(sums); k++) {
    CT_ADD_TO("cuda-devices", "bits", sums[k].name, same_bits, &sums[k]);
  }
}
