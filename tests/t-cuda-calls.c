/* SPDX-License-Identifier: MIT
 *
 * Calls on the device "cuda", run by the sim, that fail midway: for an index that is out of range,
 * for a target that is no class, and because memory is refused, at each call of CUDA and at each
 * allocation of the host in turn. Such a call changes no shared variable and leaves the device as
 * it was: what comes behind it is right, whether it is planned, recorded or replayed, nothing is
 * left behind, and the sim has nothing to report. Threads that call on one device
 * don't disturb each other.
 */
#include <stdlib.h>
#include "support/step.h"
#include "support/watched-memory.h"

/* ---- Operands that are wrong ---- */

/* Call AT of all fails for WHAT, and the same call then works. */
static void fails_once(int at, flaw what) {
  bench b;
  step s;
  CT_EQ_INT(open_bench(&b, 0), GEMEL_OK);
  CT_EQ_INT(open_step(&s, b.graph, 1), GEMEL_OK);
  for (int k = 0; k < CALLS; k++) {
    gemel_tensor *out[RESULTS] = {NULL};
    ct_context("call %d of which %d fails: %s", k, at, error.text);
    if (k == at) {
      CT_EQ_INT(call_step(&s, k, what, out), GEMEL_BAD_VALUE);
      if (what == TARGET) {
        CT_HAS_STR(error.text, "a target of cross_entropy is outside its classes");
      }
      CT_CHECK(out[0] == NULL && out[1] == NULL);
      check_state(&s, k);
    }
    if (CT_EQ_INT(call_step(&s, k, RIGHT, out), GEMEL_OK)) {
      check_call(&s, k, out);
    }
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
  }
  close_step(&s);
  close_bench(&b);
  nothing_left();
}

static void wrong_operands(const void *data) {
  const flaw *what = data;
  for (int at = 0; at < CALLS; at++) {
    gemel__sim_seed((uint64_t)at);
    fails_once(at, *what);
  }
}

/* ---- Memory that is refused ---- */

/* All calls, each once more if memory is refused to it. */
static gemel_status call_all(const bench *b) {
  step s;
  gemel_status status = open_step(&s, b->graph, 1);
  for (int k = 0; k < CALLS && status == GEMEL_OK; k++) {
    gemel_tensor *out[RESULTS] = {NULL};
    status = call_step(&s, k, RIGHT, out);
    if (status == GEMEL_NO_MEMORY) {
      CT_CHECK(out[0] == NULL && out[1] == NULL);
      check_state(&s, k);
      status = call_step(&s, k, RIGHT, out);
    }
    if (CT_EQ_INT(status, GEMEL_OK)) {
      check_call(&s, k, out);
    }
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
  }
  close_step(&s);
  return status;
}

static gemel_status whole_program(void) {
  bench b;
  gemel_status status = open_bench(&b, 0);
  status = status == GEMEL_OK ? call_all(&b) : status;
  close_bench(&b);
  return status;
}

/* The texts of kernels are compiled once, before anything is refused. */
static void refused_by_cuda(const void *data) {
  (void)data;
  each_call_refused(whole_program);
}

/* One call of a function whose cluster is compiled for it. */
static gemel_status compile_and_call(void) {
  gemel_lift_options lift = {.size = sizeof lift, .space = 1};
  gemel_options options = {.size = sizeof options, .threads = 1, .lift = &lift};
  gemel_tensor *in[2] = {vector_of(GEMEL_F32, 3, 1), vector_of(GEMEL_F32, 3, 2)}, *out = NULL;
  bench b;
  gemel_status status = open_bench(&b, 0);
  if (status == GEMEL_OK) {
    gemel_graph *graph = graph_of(b.context, "(x: f32[3], y: f32[3]) { return z = x * y - x }");
    gemel_function *f = gemel_compile(graph, &options, &error);
    CT_CHECK(f != NULL);
    status = gemel_call(f, 2, in, 1, &out, &error);
    CT_CHECK(status == GEMEL_OK || out == NULL);
    CT_CHECK(status != GEMEL_OK || float_at(out, 1) == 2 * 3 - 2);
    gemel_function_free(f);
    gemel_graph_unref(graph);
  }
  close_bench(&b);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_tensor_unref(out);
  return status;
}

/* The same where kernels are compiled and not kept. */
static void refused_by_compiler(const void *data) {
  long refused = 0;
  (void)data;
  setenv("GEMEL_CACHE", "/proc/no-such-folder", 1);
  for (int was = 1; was; refused += was) {
    gemel__sim_refuse(refused);
    gemel_status status = compile_and_call();
    was = gemel__sim_refuse(-1);
    ct_context("call %ld is refused: %s", refused, error.text);
    CT_CHECK(status == GEMEL_OK || (was && status == GEMEL_NO_MEMORY)); /* closing can't fail */
    nothing_left();
  }
  setenv("GEMEL_CACHE", ct_scratch(), 1);
  CT_CHECK(refused > 20);
}

/* The calls of which one fails for its targets, and memory is refused as well: whatever that call
 * says, the next one is right. */
static void refused_with_target(const void *data) {
  bench b;
  long refused = 0;
  (void)data;
  CT_EQ_INT(open_bench(&b, 0), GEMEL_OK);
  for (int was = 1; was; refused += was) {
    step s;
    gemel_tensor *out[RESULTS] = {NULL};
    CT_EQ_INT(open_step(&s, b.graph, 1), GEMEL_OK);
    gemel__sim_refuse(refused);
    gemel_status status = call_step(&s, 0, TARGET, out);
    was = gemel__sim_refuse(-1);
    ct_context("call %ld of CUDA is refused: %s", refused, error.text);
    CT_CHECK(status == GEMEL_BAD_VALUE || (was && status == GEMEL_NO_MEMORY));
    if (CT_EQ_INT(call_step(&s, 0, RIGHT, out), GEMEL_OK)) {
      check_call(&s, 0, out);
    }
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
    close_step(&s);
  }
  close_bench(&b);
  nothing_left();
  CT_CHECK(refused > 20);
}

/* Of some two thousand allocations one in STEP, not the same of each kind: a prime. */
static void refused_by_host(const void *data) {
  enum { STEP = 13 };
  long refused = 0;
  (void)data;
  CT_EQ_INT(whole_program(), GEMEL_OK);
  for (int was = 1; was; refused += was) {
    watch_memory(1 + STEP * refused);
    gemel_status status = whole_program();
    was = unwatch_memory();
    ct_context("allocation %ld of the host is refused: %s", 1 + STEP * refused, error.text);
    CT_CHECK(status == GEMEL_OK || (was && status == GEMEL_NO_MEMORY));
    nothing_left();
  }
  printf("  %ld allocations refused\n", refused);
  CT_CHECK(refused > 100);
}

/* ---- Threads ---- */

enum { THREADS = 4, ROUNDS = 8, SUM_INPUTS = 2, MISTAKES = 5, TRIES = 1000 };

/* A thread: it trains a model of its own, with wrong targets now and then if it is
 * CARELESS, and
 * calls a function that all threads call. */
typedef struct worker {
  const bench *b;
  gemel_function *sum; /* of a product, less its first operand */
  int number, careless;
  int wrong; /* line of the first thing that went wrong; 0: none */
} worker;

#define MUST(condition)                                                                            \
  do {                                                                                             \
    if (!(condition) && w->wrong == 0) {                                                           \
      w->wrong = __LINE__;                                                                         \
    }                                                                                              \
  } while (0)

/* The state as it is read by a thread: while another's targets are wrong, this may fail for these.
 */
static int read_state(const step *s, float *now) {
  int failed = 1;
  for (int tries = 0; failed && tries < TRIES; tries++) {
    failed = read_w(s, now);
    if (failed && error.status != GEMEL_BAD_VALUE) {
      return 1;
    }
  }
  return failed;
}

/* Calls, and what they leave; while another's targets are wrong, a call may fail for these. */
static void train(worker *w, step *s, int k) {
  gemel_tensor *out[RESULTS] = {NULL};
  float now[30];
  for (int again = 0; w->careless && again < MISTAKES; again++) {
    MUST(call_step(s, k, TARGET, out) == GEMEL_BAD_VALUE && out[0] == NULL);
  }
  gemel_status status = GEMEL_BAD_VALUE;
  for (int tries = 0; status == GEMEL_BAD_VALUE && tries < TRIES; tries++) {
    status = call_step(s, k, RIGHT, out);
  }
  MUST(status == GEMEL_OK);
  MUST(status != GEMEL_OK ||
       memcmp(gemel_tensor_data(out[1]), wanted_part[k], sizeof wanted_part[k]) == 0);
  MUST(read_state(s, now) == 0 && memcmp(now, wanted_w[k + 1], sizeof now) == 0);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
}

/* The function that is everybody's, on numbers of this thread's. */
static void add_up(worker *w, int k) {
  gemel_tensor *in[SUM_INPUTS] = {vector_of(GEMEL_F32, 40, w->number), vector_of(GEMEL_F32, 40, k)};
  gemel_tensor *out = NULL;
  gemel_status status = GEMEL_BAD_VALUE;
  float wanted = 0;
  for (int tries = 0; status == GEMEL_BAD_VALUE && tries < TRIES; tries++) {
    status = gemel_call(w->sum, SUM_INPUTS, in, 1, &out, &error);
  }
  for (int i = 0; i < 40; i++) {
    wanted += (float)(w->number + i) * (float)(k + i) - (float)(w->number + i);
  }
  MUST(status == GEMEL_OK && float_at(out, 0) == wanted);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_tensor_unref(out);
}

static void *work(void *user) {
  worker *w = user;
  step s;
  MUST(open_step(&s, w->b->graph, 1) == GEMEL_OK);
  for (int k = 0; k < ROUNDS && s.f != NULL; k++) {
    if (k < CALLS) {
      train(w, &s, k);
    }
    add_up(w, k);
  }
  close_step(&s);
  return NULL;
}

static void threads(const void *data) {
  const int *careless = data;
  gemel_lift_options lift = {.size = sizeof lift, .space = 1};
  gemel_options options = {.size = sizeof options, .threads = 1, .lift = &lift};
  worker workers[THREADS];
  pthread_t running[THREADS];
  bench b;
  CT_EQ_INT(open_bench(&b, 0), GEMEL_OK);
  gemel_graph *graph =
      graph_of(b.context, "(x: f32[40], y: f32[40]) { return z = sum(x * y - x) }");
  gemel_function *sum = gemel_compile(graph, &options, &error);
  CT_REQUIRE(sum != NULL);
  for (int k = 0; k < THREADS; k++) {
    workers[k] = (worker){&b, sum, k, *careless, 0};
    CT_EQ_INT(pthread_create(&running[k], NULL, work, &workers[k]), 0);
  }
  for (int k = 0; k < THREADS; k++) {
    pthread_join(running[k], NULL);
    ct_context("thread %d", k);
    CT_EQ_INT(workers[k].wrong, 0);
  }
  gemel_function_free(sum);
  gemel_graph_unref(graph);
  close_bench(&b);
  nothing_left();
}

static const flaw index_flaw = INDEX, target_flaw = TARGET;
static const int careful = 0, careless = 1;

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("prepare", prepare, NULL),
      CT_TEST("wrong/index", wrong_operands, &index_flaw),
      CT_TEST("wrong/target", wrong_operands, &target_flaw),
      CT_TEST("refused/cuda", refused_by_cuda, NULL),
      CT_TEST("refused/compiler", refused_by_compiler, NULL),
      CT_TEST("refused/target", refused_with_target, NULL),
      CT_TEST("threads/right", threads, &careful),
      CT_TEST("threads/wrong", threads, &careless),
      CT_TEST("refused/host", refused_by_host, NULL),
  };
  setenv("GEMEL_CACHE", ct_scratch(), 1);
  ct_suite("cuda_calls", tests, CT_COUNT(tests));
}
