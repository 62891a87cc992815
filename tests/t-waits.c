/*
 * Threads that have nothing to do sleep: a function is called on two threads again and again, which
 * both work, and the process takes no time of any processor between its calls. How OpenMP's threads
 * wait is read from the environment when a process begins, so the calls are made by a process of
 * their own that has none of the variables.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "ct.h"

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* exp(x), a million elements, so that both threads take part. */
static gemel_function *compile(void) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  int64_t shape = 1 << 20;
  gemel_output(
      gemel_exp(gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 1, &shape))), "y");
  gemel_options options = {.size = sizeof options, .threads = 2};
  gemel_function *f = gemel_compile(graph, &options, NULL);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return f;
}

/* What this process has taken of processors; what its threads but this one have. */
static double of_all(void) {
  return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static double of_others(void) {
  return of_all() - seconds(CLOCK_THREAD_CPUTIME_ID);
}

/* Two threads share the work of calls, and pauses of 10 ms between them take next to nothing. */
static void rests(void) {
  enum { CALLS = 20 };
  const struct timespec pause = {0, 10000000};
  int64_t shape = 1 << 20;
  gemel_function *f = compile();
  gemel_tensor *x = gemel_tensor_new(GEMEL_F32, 1, &shape, NULL), *y = NULL;
  double calls = 0, others = 0, busy = 0, passed = 0;
  CT_REQUIRE(f != NULL && x != NULL);
  memset(gemel_tensor_data(x), 0, (size_t)shape * sizeof(float));
  for (int k = 0; k < CALLS; k++) {
    double all = of_all(), other = of_others();
    CT_EQ_INT(gemel_call(f, 1, &x, 1, &y, NULL), GEMEL_OK);
    calls += of_all() - all;
    others += of_others() - other;
    double start = seconds(CLOCK_MONOTONIC), used = of_all();
    nanosleep(&pause, NULL);
    busy += of_all() - used;
    passed += seconds(CLOCK_MONOTONIC) - start;
  }
  CT_LE_DOUBLE(0.1, others / calls);
  CT_LE_DOUBLE(busy / passed, 0.05);
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  gemel_function_free(f);
}

static void waits(const void *data) {
  char self[4096] = "";
  int status = 0;
  (void)data;
#ifndef _OPENMP
  CT_SKIP("there are no threads without OpenMP");
#endif
  if (getenv("GEMEL_WAITS") != NULL) {
    rests();
    return;
  }
  CT_REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  pid_t child = fork();
  if (child == 0) {
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    unsetenv("OMP_NUM_THREADS");
    unsetenv("OMP_THREAD_LIMIT");
    unsetenv("GTEST_OUTPUT");
    setenv("GEMEL_WAITS", "1", 1);
    unsetenv("GEMEL_JUNIT");
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* whose threads spin for 0.1 s when they start */
    execl(self, self, (char *)NULL);
    _exit(99);
  }
  CT_REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
  CT_EQ_INT(status, 0);
}

void ct_register(void) {
  static const ct_test tests[] = {CT_TEST("idle_threads_sleep", waits, NULL)};
  ct_suite("waits", tests, CT_COUNT(tests));
}
