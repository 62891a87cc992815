/*
 * Several calls of one function at a time: each thread calls with shapes, values and run-time sizes
 * of its own, some of them wrong, and every result and error is that of its own call. Functions
 * that share variables change them one after another. A build with -fsanitize=thread makes these
 * tests about races, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "run.h"

#include "support/graph-text.h"

enum { THREADS = 4, ROUNDS = 120 };

struct caller {
  gemel_function *f, *reader;
  int number;
  int wrong; /* line of the first thing that was not as it should be; 0: none */
};

#define MUST(condition)                                                                            \
  do {                                                                                             \
    if (!(condition) && caller->wrong == 0) {                                                      \
      caller->wrong = __LINE__;                                                                    \
    }                                                                                              \
  } while (0)

static void call_on_threads(void *(*work)(void *), gemel_function *f, gemel_function *reader) {
  struct caller callers[THREADS];
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; k++) {
    callers[k] = (struct caller){f, reader, k, 0};
    CT_REQUIRE(pthread_create(&threads[k], NULL, work, &callers[k]) == 0);
  }
  for (int k = 0; k < THREADS; k++) {
    pthread_join(threads[k], NULL);
    ct_context("thread %d", k);
    CT_EQ_INT(callers[k].wrong, 0);
  }
}

static gemel_tensor *number(int64_t value) {
  gemel_tensor *t = gemel_tensor_new(GEMEL_I64, 0, NULL, NULL);
  *(int64_t *)gemel_tensor_data(t) = value;
  return t;
}

/* ---- Results and errors ---- */

/* A loop, a body, a reduction, a size that is only known at run time, and indices to be checked. */
static const char mixture[] =
    "graph twice(p: f32[n]) { return r = p + p }\n"
    "graph mixture(x: f32[n], logits: f32[n, 3], labels: i64[n], k: i64[]) {\n"
    "  y = invoke(x, body = twice) + x\n"
    "  return s = sum(y), t = y * 2 - 1, loss = sum(cross_entropy(logits, labels)), "
    "r = arange(n = k) + 1\n"
    "}\n";

struct arguments {
  gemel_tensor *in[4], *out[4];
};

static void fill(struct arguments *a, int64_t n, int64_t k, int64_t label) {
  int64_t shape[2] = {n, 3};
  memset(a, 0, sizeof *a);
  a->in[0] = vector_of(GEMEL_F32, n, (double)k);
  a->in[1] = gemel_tensor_new(GEMEL_F32, 2, shape, NULL);
  a->in[2] = gemel_tensor_new(GEMEL_I64, 1, shape, NULL);
  a->in[3] = number(k);
  memset(gemel_tensor_data(a->in[1]), 0, (size_t)n * 3 * sizeof(float));
  for (int64_t i = 0; i < n; i++) {
    ((int64_t *)gemel_tensor_data(a->in[2]))[i] = label;
  }
}

static void release(struct arguments *a) {
  for (int j = 0; j < 4; j++) {
    gemel_tensor_unref(a->in[j]);
    gemel_tensor_unref(a->out[j]);
  }
}

/* What the call must give for x = k, k + 1, …: small integers, so that sums are exact. */
static void check_results(struct caller *caller, const struct arguments *a, int64_t n, int64_t k) {
  const int64_t *r = gemel_tensor_data(a->out[3]);
  float sum = (float)(3 * (n * k + n * (n - 1) / 2));
  MUST(float_at(a->out[0], 0) == sum);
  MUST(gemel_tensor_shape(a->out[1])[0] == n);
  for (int64_t i = 0; i < n; i++) {
    MUST(float_at(a->out[1], i) == (float)(6 * (k + i) - 1));
  }
  MUST(fabsf(float_at(a->out[2], 0) - (float)n * 1.0986123f) < 1e-4f * (float)n);
  MUST(gemel_tensor_shape(a->out[3])[0] == k);
  for (int64_t i = 0; i < k; i++) {
    MUST(r[i] == i + 1);
  }
}

static void *call_mixture(void *user) {
  struct caller *caller = user;
  for (int64_t round = 0; round < ROUNDS; round++) {
    struct arguments a;
    gemel_error problem = {0};
    int64_t n = 1 + (round * 7 + caller->number) % 13, k = 1 + (round + caller->number) % 11;
    int64_t label = round % 5 == caller->number ? 3 + caller->number : round % 3;
    fill(&a, n, k, label);
    gemel_status status = gemel_call(caller->f, gemel_function_input_count(caller->f), a.in,
                                     gemel_function_output_count(caller->f), a.out, &problem);
    if (label < 3) {
      MUST(status == GEMEL_OK);
      if (status == GEMEL_OK) {
        check_results(caller, &a, n, k);
      }
    } else {
      char wanted[32];
      snprintf(wanted, sizeof wanted, "%d", (int)label);
      MUST(status == GEMEL_BAD_VALUE && strstr(problem.text, wanted) != NULL);
      MUST(a.out[0] == NULL && a.out[3] == NULL);
    }
    release(&a);
  }
  return NULL;
}

static void results(const void *data) {
  const int *plain = data;
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, mixture);
  gemel_options options = {.size = sizeof options, .threads = 1, .plain = *plain};
  CT_REQUIRE(graph != NULL);
  gemel_function *f = gemel_compile(graph, &options, &error);
  ct_context("%s", error.text);
  CT_REQUIRE(f != NULL);
  call_on_threads(call_mixture, f, NULL);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Shared variables ---- */

static const char counting[] = "graph count(state n: i64[], state m: i64[2], by: i64[]) {\n"
                               "  update n = n + by\n"
                               "  update m = m + by\n"
                               "  return before = n\n"
                               "}\n";
static const char reading[] = "graph read(state m: i64[2], state n: i64[]) {\n"
                              "  return r = m - n\n"
                              "}\n";

/* Every state that a call sees is that after a whole number of calls. */
static void *count(void *user) {
  struct caller *caller = user;
  gemel_tensor *by = number(1);
  int64_t last = -1;
  for (int round = 0; round < ROUNDS; round++) {
    gemel_tensor *before = NULL, *difference = NULL;
    MUST(gemel_call(caller->f, 1, &by, 1, &before, NULL) == GEMEL_OK);
    MUST(before != NULL && *(int64_t *)gemel_tensor_data(before) > last);
    last = before != NULL ? *(int64_t *)gemel_tensor_data(before) : last;
    MUST(gemel_call(caller->reader, 0, NULL, 1, &difference, NULL) == GEMEL_OK);
    MUST(difference != NULL && ((int64_t *)gemel_tensor_data(difference))[0] == 0 &&
         ((int64_t *)gemel_tensor_data(difference))[1] == 0);
    gemel_tensor_unref(before);
    gemel_tensor_unref(difference);
  }
  gemel_tensor_unref(by);
  return NULL;
}

static gemel_function *bound(gemel_graph *graph, gemel_shared *first, gemel_shared *second) {
  gemel_shared *states[] = {first, second};
  gemel_options options = {.size = sizeof options, .threads = 1, .states = states, .n_states = 2};
  return gemel_compile(graph, &options, &error);
}

static void states(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *counter = parse(context, counting), *reader = parse(context, reading);
  int64_t two = 2;
  gemel_tensor *zero = number(0), *zeros = gemel_tensor_new(GEMEL_I64, 1, &two, NULL);
  (void)data;
  memset(gemel_tensor_data(zeros), 0, 2 * sizeof two);
  gemel_shared *n = gemel_shared_new(zero, NULL), *m = gemel_shared_new(zeros, NULL);
  gemel_function *f = bound(counter, n, m), *g = bound(reader, m, n);
  CT_REQUIRE(f != NULL && g != NULL);
  call_on_threads(count, f, g);
  gemel_tensor *last = gemel_shared_get(m);
  CT_EQ_INT(((int64_t *)gemel_tensor_data(last))[1], THREADS * ROUNDS);
  gemel_tensor_unref(last);
  gemel_tensor_unref(zero);
  gemel_tensor_unref(zeros);
  gemel_function_free(f);
  gemel_function_free(g);
  gemel_shared_unref(n);
  gemel_shared_unref(m);
  gemel_graph_unref(counter);
  gemel_graph_unref(reader);
  gemel_context_unref(context);
}

static const int plain = 1, optimized = 0;

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("results/optimized", results, &optimized),
      CT_TEST("results/plain", results, &plain),
      CT_TEST("states", states, NULL),
  };
  ct_suite("calls", tests, CT_COUNT(tests));
}
