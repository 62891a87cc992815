/*
 * The device "cuda" on several GPUs of the sim: calls on each, from one thread and from many, go to
 * the GPU that they are meant for, whichever is the thread's current one, and leave that current
 * whatever happens: the application's choice is its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cuda_runtime_api.h>
#include "support/step.h"

enum { GPUS = 2, THREADS = 4 };

/* What calls cuDNN, cuBLAS and kernels of all kinds, beside the step. */
static const char *const image_text =
    "graph g(x: f32[2, 3, 6, 5], w: f32[4, 3, 3, 3]) {\n"
    "  y = corr(x, w)\n"
    "  return s = sum(maximum(y, 0) * 2, axes = [0, 2, 3]), y = y\n"
    "}\n";
enum { CHANNELS = 4 };

/* The calling thread's current GPU; -1 if there is none. */
static int current_gpu(void) {
  int gpu = -1;
  return cudaGetDevice(&gpu) == cudaSuccess ? gpu : -1;
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
  gemel_status status = gemel_call(f, in, out, &error);
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

/* What is done on the second GPU while the first is current; -1 unless that stays so. */
static gemel_status on_the_other(void) {
  bench b;
  step s = {NULL};
  gemel_status status = open_bench(&b, 1);
  int stays = current_gpu() == 0;
  if (status == GEMEL_OK) {
    status = open_step(&s, b.graph, 1);
    stays &= current_gpu() == 0;
  }
  for (int k = 0; k < CALLS && status == GEMEL_OK; k++) {
    gemel_tensor *out[RESULTS] = {NULL};
    status = call_step(&s, k, RIGHT, out);
    stays &= current_gpu() == 0;
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
  }
  if (status == GEMEL_OK) {
    status = run_image(&b);
    stays &= current_gpu() == 0;
  }
  close_step(&s);
  close_bench(&b);
  stays &= current_gpu() == 0;
  return stays ? status : (gemel_status)-1;
}

/* Each call of CUDA that may fail is refused in turn. */
static void refused(const void *data) {
  long refused = 0;
  (void)data;
  CT_EQ_INT(on_the_other(), GEMEL_OK);
  for (int was = 1; was; refused += was) {
    gemel__sim_seed((uint64_t)refused);
    gemel__sim_refuse(refused);
    gemel_status status = on_the_other();
    was = gemel__sim_refuse(-1);
    ct_context("call %ld of CUDA is refused: %s", refused, error.text);
    CT_CHECK(status == GEMEL_OK || (was && status == GEMEL_NO_MEMORY));
    CT_EQ_INT(cudaSetDevice(0), cudaSuccess);
    nothing_left();
  }
  CT_CHECK(refused > 100);
}

static void prepare(const void *data) {
  bench b;
  (void)data;
  CT_EQ_INT(open_bench(&b, 0), GEMEL_OK);
  find_wanted(b.graph);
  close_bench(&b);
}

static const int first = 0, second = 1;

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("prepare", prepare, NULL),           CT_TEST("in-turn/first", in_turn, &first),
      CT_TEST("in-turn/second", in_turn, &second), CT_TEST("memory", memory_of, NULL),
      CT_TEST("threads", threads, NULL),           CT_TEST("no-gpu", no_gpu, NULL),
      CT_TEST("refused", refused, NULL),
  };
  setenv("GEMEL_CACHE", ct_scratch(), 1);
  gemel__sim_devices(GPUS);
  ct_suite("cuda-devices", tests, CT_COUNT(tests));
}
