/*
 * gemel_verify_pair that is told to stop, and on several threads. Wherever it is stopped, what had
 * ended is reported as in a complete run, what hadn't is not run, nothing passes, nothing leaks,
 * and it ends soon. On several threads it says what it says on one, byte for byte but for the
 * clock, and asks on the calling thread alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "support/watched-memory.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gemel/verify.h>

/* ---- Pairs ---- */

typedef struct pair {
  const char *name, *a, *b;
  unsigned allow;
  gemel_verdict verdict; /* of a complete run */
  int parts;             /* 1: records of a complete run are of parts and the rest together */
} pair;

#define SOFTMAX_A "graph f(x: f32[N, 3]) { return y = softmax(x, axis = 1) }"
#define SOFTMAX_B                                                                                  \
  "graph f(x: f32[N, 3]) {\n e = exp(x)\n return y = e / sum(e, axes = [1], keepdims = 1)\n }"
#define BRANCH_A                                                                                   \
  "graph f(x: f64[4], k: i64[4]) {\n  return y = maximum(x, 0:f64), z = where(k > 5:i64, k, "      \
  "0:i64)\n}"
#define BRANCH_B                                                                                   \
  "graph f(x: f64[4], k: i64[4]) { return y = where(x > 0:f64, x, 0:f64), z = where(k >= 6:i64, "  \
  "k, 0:i64) }"
#define BRANCH_C                                                                                   \
  "graph f(x: f64[4], k: i64[4]) { return y = where(x > 0:f64, x, 0:f64), z = where(k > 6:i64, "   \
  "k, 0:i64) }"
#define FOLDED_A                                                                                   \
  "graph f(x: f32[3, 2]) {\n  w = tensor(f32[2, 2], [0.66, -0.27, 0.4, 0.72])\n"                   \
  "  return y = dot(x, w) * 0.35355338\n}"
#define FOLDED_B                                                                                   \
  "graph f(x: f32[3, 2]) {\n  w = tensor(f32[2, 2], [0.23334524, -0.09545942, 0.14142136, "        \
  "0.25455844])\n  return y = dot(x, w)\n}"
#define SUM_A "graph f(x: f32[50], y: f32[50], z: f32[50]) { return r = x + y + z }"
#define SUM_B "graph f(x: f32[50], y: f32[50], z: f32[50]) { return r = x + (y + z) }"

static const pair pairs[] = {
    {"softmax", SOFTMAX_A, SOFTMAX_B, GEMEL_NEEDS_ALL, GEMEL_VERDICT_PASSED, 0},
    {"branches", BRANCH_A, BRANCH_B, GEMEL_NEEDS_ALL, GEMEL_VERDICT_PASSED, 0},
    {"wrong-branch", BRANCH_A, BRANCH_C, GEMEL_NEEDS_ALL, GEMEL_VERDICT_REFUTED, 0},
    {"folded", FOLDED_A, FOLDED_B, GEMEL_NEEDS_ALL, GEMEL_VERDICT_PASSED, 0},
    {"order", SUM_A, SUM_B, GEMEL_NEEDS_ALL, GEMEL_VERDICT_PASSED, 0},
    {"order-refused", SUM_A, SUM_B, 0, GEMEL_VERDICT_REFUTED, 0},
    {"identical", SUM_A, SUM_A, 0, GEMEL_VERDICT_PASSED, 0},
    {"deep", "deep", "rewritten", GEMEL_NEEDS_ALL, GEMEL_VERDICT_PASSED, 1},
    {"deep-and-wrong", "deep", "wrong", GEMEL_NEEDS_ALL, GEMEL_VERDICT_REFUTED, 1},
};

/* More nodes than are asked about as a whole, with some of them REWRITTEN. */
static void write_deep(char *text, size_t bytes, const char *what) {
  enum { LAYERS = 24 };
  int rewritten = strcmp(what, "deep") != 0, wrong = strcmp(what, "wrong") == 0, k;
  size_t used = (size_t)snprintf(text, bytes, "graph f(x: f64[3], y: f64[3]) {\n  u0 = x\n");
  for (k = 0; k < LAYERS; k++) {
    const char *layer = rewritten && k % 8 == 5    ? "t%d = tanh(y * u%d)\n"
                        : wrong && k == LAYERS - 2 ? "t%d = tanh(u%d * y * y)\n"
                                                   : "t%d = tanh(u%d * y)\n";
    used += (size_t)snprintf(text + used, bytes - used, layer, k + 1, k);
    used += (size_t)snprintf(text + used, bytes - used,
                             rewritten && k % 8 == 3 ? "s%d = 2:f64 * t%d\n" : "s%d = t%d + t%d\n",
                             k + 1, k + 1, k + 1);
    used += (size_t)snprintf(text + used, bytes - used, "u%d = s%d - x\n", k + 1, k + 1);
  }
  snprintf(text + used, bytes - used, "  return r = u%d\n}\n", LAYERS);
}

static gemel_graph *parse(gemel_context *context, const char *text) {
  enum { ROOM = 8000 };
  char *deep = calloc(1, ROOM);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_graph *graph;
  if (strncmp(text, "graph", 5) != 0) {
    write_deep(deep, ROOM, text);
    text = deep;
  }
  graph = gemel_parse(context, text, strlen(text), "pair", NULL, &error);
  if (graph == NULL) {
    CT_FAIL("%s", error.text);
  }
  free(deep);
  return graph;
}

/* ---- A run ---- */

enum { ROOM = 1 << 16 };

struct heard {
  pthread_t thread;
  char *text;                 /* JSON without times */
  char *of[GEMEL_TIER_COUNT]; /* likewise, each tier's; NULL: there is no record */
  gemel_verdict verdicts[GEMEL_TIER_COUNT];
  size_t instances; /* 0: 4 */
  size_t used, ticks, records;
  size_t stop_at;         /* tick from which on the answer is to stop; 0: never */
  clock_t stop_after;     /* likewise, processor time; 0: never */
  clock_t began, stopped; /* processor time when it began, and was told to stop */
  clock_t asked,
      longest; /* when it was asked last; the longest time between, of this thread alone */
  gemel_pair_result result;
};

static void take(void *user, const gemel_record *record) {
  struct heard *h = user;
  gemel_record timeless = *record;
  size_t length;
  timeless.seconds = 0;
  CT_CHECK(pthread_equal(pthread_self(), h->thread));
  CT_CHECK(h->of[record->tier] == NULL);
  h->records++;
  h->verdicts[record->tier] = record->verdict;
  length = gemel_record_json(&timeless, h->text + h->used, ROOM - h->used);
  CT_REQUIRE(h->used + length + 2 < ROOM);
  h->of[record->tier] = h->text + h->used;
  h->used += length + 1; /* with its NUL */
}

static int tick(void *user, const char *doing) {
  struct heard *h = user;
  CT_CHECK(pthread_equal(pthread_self(), h->thread));
  CT_CHECK(h->stopped == 0); /* the answer is final */
  CT_CHECK(doing != NULL && doing[0] != '\0');
  h->longest = clock() - h->asked > h->longest ? clock() - h->asked : h->longest;
  h->asked = clock();
  h->ticks++;
  if ((h->stop_at != 0 && h->ticks >= h->stop_at) ||
      (h->stop_after > 0 && clock() - h->began >= h->stop_after)) {
    h->stopped = clock();
    return 1;
  }
  return 0;
}

/* H has what it is told by its callers; everything else is filled in. */
static void ask(const pair *p, size_t jobs, struct heard *h) {
  gemel_verify_options options = {.size = sizeof options,
                                  .seed = 1,
                                  .instances = h->instances != 0 ? h->instances : 4,
                                  .sink = take,
                                  .user = h,
                                  .jobs = jobs,
                                  .tick = tick};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context;
  gemel_graph *a, *b;
  h->text = calloc(1, ROOM);
  h->thread = pthread_self();
  h->began = clock();
  watch_memory(0);
  context = gemel_context_new(&error);
  a = parse(context, p->a);
  b = parse(context, p->b);
  h->asked = clock();
  h->result.size = sizeof h->result;
  CT_EQ_INT(gemel_verify_pair(a, b, p->name, p->allow, &options, &h->result, &error), GEMEL_OK);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
  unwatch_memory();
}

/* ---- Stopping ---- */

static int said_stopped(const struct heard *h, size_t tier) {
  return h->of[tier] != NULL && strstr(h->of[tier], "\"detail\": \"stopped after ") != NULL;
}

/* H was stopped where FULL wasn't. */
static void check_stopped(const pair *p, const struct heard *h, const struct heard *full) {
  size_t k, stopped = 0, refuted = 0;
  for (k = 0; k < GEMEL_TIER_COUNT; k++) {
    gemel_verdict verdict = h->verdicts[k];
    stopped += (size_t)said_stopped(h, k);
    refuted += h->of[k] != NULL && verdict == GEMEL_VERDICT_REFUTED;
    if (h->of[k] != NULL && verdict != GEMEL_VERDICT_REFUTED && verdict != GEMEL_VERDICT_NOT_RUN &&
        !p->parts) {
      CT_EQ_STR(h->of[k], full->of[k]);
    }
  }
  CT_CHECK(stopped > 0 || refuted > 0);
  CT_CHECK(refuted > 0 || h->records == GEMEL_TIER_COUNT);
  CT_CHECK(gemel_verdict_severity(h->result.verdict) >=
           gemel_verdict_severity(GEMEL_VERDICT_NOT_RUN));
  CT_EQ_INT(h->result.verdict == GEMEL_VERDICT_REFUTED, refuted > 0);
  CT_CHECK(refuted == 0 || full->result.verdict == GEMEL_VERDICT_REFUTED);
  CT_EQ_INT(h->result.bitwise, 0);
  CT_EQ_UINT(h->ticks, h->stop_at);
}

/* The first ticks, and then fewer and fewer of them. */
static size_t next_tick(size_t k, size_t n) {
  size_t dense = getenv("GEMEL_VALGRIND") != NULL ? 2 : 24;
  size_t next = k < dense ? k + 1 : k + k / (dense / 2 + 1) + 1;
  return k < n && next > n ? n : next;
}

static void stopped(const void *data) {
  const pair *p = data;
  struct heard full = {.stop_at = 0};
  size_t k, runs = 0;
  ask(p, 0, &full);
  CT_EQ_INT(full.result.verdict, p->verdict);
  CT_CHECK(full.ticks > 0);
  for (k = 1; k <= full.ticks; k = next_tick(k, full.ticks), runs++) {
    struct heard h = {.stop_at = k};
    ct_context("%s, stopped at tick %zu of %zu", p->name, k, full.ticks);
    ask(p, 0, &h);
    check_stopped(p, &h, &full);
    free(h.text);
  }
  ct_property("ticks", (long long)full.ticks);
  ct_property("runs", (long long)runs);
  free(full.text);
}

/* ---- Work ---- */

/* An unrolled network, whose steps read their rows of x by split, or (REWRITTEN) each by itself
 * and in another order of sums. WRONG: one step has another function. */
static char *unrolled(int rewritten, int wrong) {
  enum { BYTES = 1 << 15, STEPS = 40 };
  char *text = calloc(1, BYTES);
  size_t used = (size_t)snprintf(text, BYTES,
                                 "graph f(x: f32[%d, 3, 5], h0: f32[3, 8], w: f32[5, 8], "
                                 "u: f32[8, 8], b: f32[8]) {\n",
                                 STEPS);
  for (int k = 0; k < STEPS && !rewritten; k++) {
    used += (size_t)snprintf(text + used, BYTES - used, "%sx%d", k > 0 ? ", " : "", k);
  }
  for (int k = 0; k < STEPS && !rewritten; k++) {
    used += (size_t)snprintf(text + used, BYTES - used, "%s1%s",
                             k > 0 ? ", " : " = split(x, axis = 0, sizes = [",
                             k + 1 == STEPS ? "])\n" : "");
  }
  for (int k = 0; k < STEPS; k++) {
    if (rewritten) {
      used += (size_t)snprintf(text + used, BYTES - used,
                               "x%d = subtensor(x, start = [%d, 0, 0], size = [1, 3, 5])\n", k, k);
    }
    used += (size_t)snprintf(
        text + used, BYTES - used,
        rewritten ? "h%d = %s(dot(h%d, u) + (dot(reshape(x%d, shape = [3, 5]), w) + b))\n"
                  : "h%d = %s(dot(reshape(x%d, shape = [3, 5]), w) + dot(h%d, u) + b)\n",
        k + 1, wrong && k == STEPS / 2 ? "sigmoid" : "tanh", k, k);
  }
  snprintf(text + used, BYTES - used, "return h = h%d\n}\n", STEPS);
  return text;
}

/* How much is evaluated is told by how often the caller is asked, a node of a hundredth of a second
 * or so being asked about by itself: so no busy machine matters. */
static void large_networks(const void *data) {
  char *a = unrolled(0, 0), *b = unrolled(1, 0), *c = unrolled(1, 1);
  const pair equal = {"unrolled", a, b, GEMEL_NEEDS_ALL, GEMEL_VERDICT_PASSED, 1};
  const pair wrong = {"unrolled-and-wrong", a, c, GEMEL_NEEDS_ALL, GEMEL_VERDICT_REFUTED, 1};
  struct heard h = {.instances = 96}, w = {.instances = 96};
  (void)data;
  ask(&equal, 0, &h);
  CT_EQ_INT(h.result.verdict, GEMEL_VERDICT_PASSED);
  CT_LE_DOUBLE((double)h.ticks, 20000);
  ask(&wrong, 0, &w);
  CT_EQ_INT(w.result.verdict, GEMEL_VERDICT_REFUTED);
  CT_LE_DOUBLE((double)w.ticks, 20000);
  ct_property("ticks", (long long)h.ticks);
  ct_property("ticks of a wrong one", (long long)w.ticks);
  free(h.text);
  free(w.text);
  free(a);
  free(b);
  free(c);
}

/* A caller that knows nothing of the callback isn't called back. */
static void older_callers(const void *data) {
  struct heard h = {.stop_at = 1};
  gemel_verify_options options = {.size = offsetof(gemel_verify_options, tick),
                                  .seed = 1,
                                  .instances = 4,
                                  .sink = take,
                                  .user = &h,
                                  .tick = tick};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *a = parse(context, SUM_A), *b = parse(context, SUM_B);
  (void)data;
  h.text = calloc(1, ROOM);
  h.thread = pthread_self();
  h.result.size = sizeof h.result;
  CT_EQ_INT(gemel_verify_pair(a, b, "older", GEMEL_NEEDS_ALL, &options, &h.result, NULL), GEMEL_OK);
  CT_EQ_UINT(h.ticks, 0);
  CT_EQ_INT(h.result.verdict, GEMEL_VERDICT_PASSED);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
  free(h.text);
}

/* ---- Time ---- */

#define NORM                                                                                       \
  "graph f(x: f64[11, 12], g: f64[12], w: f64[12, 12]) {\n"                                        \
  "  h = dot(x, w)\n"                                                                              \
  "  m = sum(h, axes = [1], keepdims = 1) / 12:f64\n"
static const pair slow = {
    "slow",
    NORM "  v = sum(sqr(h - m), axes = [1], keepdims = 1) / 12:f64\n"
         "  return y = (h - m) / sqrt(v + 0.001:f64) * g\n}\n",
    NORM "  v = sum(h * h, axes = [1], keepdims = 1) / 12:f64 - m * m\n"
         "  return y = h * (g / sqrt(v + 0.001:f64)) - m * g / sqrt(v + 0.001:f64)\n}\n",
    GEMEL_NEEDS_ALL,
    GEMEL_VERDICT_PASSED,
    0};

/* A product that can't be asked about at smaller sizes, as a constant has them: one evaluation by
 * references takes seconds. */
static char *product(const char *expression) {
  enum { BYTES = 1 << 19, ROWS = 80, COLUMNS = 280 };
  char *text = calloc(1, BYTES);
  size_t used =
      (size_t)snprintf(text, BYTES, "graph f(x: f32[%d, %d]) {\n c = tensor(f32[%d, %d], [",
                       COLUMNS, ROWS, ROWS, COLUMNS);
  for (int k = 0; k < ROWS * COLUMNS; k++) {
    used += (size_t)snprintf(text + used, BYTES - used, "%s0.%d", k > 0 ? ", " : "", 1 + k % 97);
  }
  snprintf(text + used, BYTES - used, "])\n return y = %s\n}\n", expression);
  return text;
}

/* The processor time that ten million steps of a loop over a small array take here: a fortieth of a
 * second or so, and more where everything is slower. */
static clock_t unit(void) {
  enum { ROUNDS = 10000, N = 1000 };
  static double x[N];
  clock_t began = clock();
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 1; k < N; k++) {
      x[k] = 0.999 * x[k - 1] + 0.001 * x[k];
    }
    x[0] = x[N - 1] + 1;
  }
  return clock() - began;
}

/* The processor time that little may take: what allocates takes more where memory is checked. */
static clock_t much(clock_t before) {
  int checked = getenv("GEMEL_VALGRIND") != NULL || getenv("GEMEL_SANITIZED") != NULL;
  clock_t after = unit(); /* a processor's speed changes */
  return 20 * (checked ? 5 : 1) * (after > before ? after : before);
}

/* Little is computed behind the stop, whichever tier it falls into. */
static void ends_soon(const void *data) {
  static const int stops[] = {2, 12, 24}; /* units */
  const size_t jobs = *(const size_t *)data;
  clock_t one = unit();
  char *a = product("exp(dot(x, dot(c, x)))"), *b = product("exp(dot(dot(x, c), x))");
  const pair large = {"large", a, b, GEMEL_NEEDS_ALL, GEMEL_VERDICT_PASSED, 0};
  for (size_t k = 0; k < 2 * CT_COUNT(stops); k++) {
    struct heard h = {.stop_after = stops[k / 2] * one, .instances = 400};
    clock_t ended, most;
    ask(k % 2 == 0 ? &slow : &large, jobs, &h);
    ended = clock();
    most = much(one);
    if (jobs == 1) { /* a stop that nobody asks for comes late */
      CT_LE_DOUBLE((double)h.longest, (double)most);
    }
    if (CT_CHECK(h.stopped != 0)) {
      CT_LE_DOUBLE((double)(ended - h.stopped), (double)most);
      CT_EQ_INT(h.result.verdict, GEMEL_VERDICT_NOT_RUN);
    }
    free(h.text);
  }
  free(a);
  free(b);
}

/* ---- Threads ---- */

static void same_report(const void *data) {
  static const size_t jobs[] = {1, 2, 3};
  const pair *p = data;
  struct heard alone = {.stop_at = 0};
  ask(p, 0, &alone);
  for (size_t k = 0; k < CT_COUNT(jobs); k++) {
    struct heard together = {.stop_at = 0};
    ct_context("%s, %zu jobs", p->name, jobs[k]);
    ask(p, jobs[k], &together);
    CT_EQ_UINT(together.used, alone.used);
    CT_EQ_MEM(together.text, alone.text, alone.used);
    CT_EQ_MEM(&together.result, &alone.result, sizeof alone.result);
    free(together.text);
  }
  free(alone.text);
}

/* Told to stop while several threads work. */
static void stopped_together(const void *data) {
  const pair *p = data;
  struct heard full = {.stop_at = 0};
  ask(p, 0, &full);
  for (size_t k = 1; k < 12; k += 2) {
    struct heard h = {.stop_at = k};
    ct_context("%s, stopped at tick %zu", p->name, k);
    ask(p, 2, &h);
    if (h.stopped != 0) { /* else it ended before */
      check_stopped(p, &h, &full);
    }
    free(h.text);
  }
  free(full.text);
}

/* ---- Memory that is refused ---- */

static int small_run(void *data) {
  const size_t jobs = *(const size_t *)data;
  gemel_verify_options options = {.size = sizeof options,
                                  .seed = 1,
                                  .instances = 1,
                                  .jobs = jobs,
                                  .tiers = 1u << GEMEL_TIER_REAL};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_pair_result result = {.size = sizeof result};
  gemel_graph *a = NULL, *b = NULL;
  gemel_status status = error.status;
  if (context != NULL && (a = gemel_parse(context, SUM_A, strlen(SUM_A), "a", NULL, &error)) &&
      (b = gemel_parse(context, SUM_B, strlen(SUM_B), "b", NULL, &error))) {
    status = gemel_verify_pair(a, b, "small", GEMEL_NEEDS_ALL, &options, &result, &error);
    CT_EQ_INT(result.verdict, status == GEMEL_OK ? GEMEL_VERDICT_PASSED : GEMEL_VERDICT_NOT_RUN);
  } else {
    status = error.status;
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
  return status;
}

/* One allocation after the other is refused: an error or, where something is tried again, the right
 * answer; and nothing leaks. */
static void out_of_memory(const void *data) {
  long step = getenv("GEMEL_VALGRIND") != NULL ? 211 : 3;
  long refusals = 0;
  int refused = 1;
  for (long k = 1; refused; k += step) {
    ct_context("allocation %ld refused", k);
    watch_memory(k);
    gemel_status status = small_run((void *)data);
    refused = unwatch_memory();
    CT_CHECK(status == GEMEL_OK || (status == GEMEL_NO_MEMORY && refused));
    refusals++;
  }
  CT_CHECK(refusals > 1000 / step);
  ct_property("refusals", refusals);
}

void ct_register(void) {
  static const size_t jobs[] = {1, 2};
  size_t k;
  for (k = 0; k < CT_COUNT(pairs); k++) {
    CT_ADD_TO("stop", "stopped", pairs[k].name, stopped, &pairs[k]);
    CT_ADD_TO("stop", "same_report", pairs[k].name, same_report, &pairs[k]);
    CT_ADD_TO("stop", "stopped_together", pairs[k].name, stopped_together, &pairs[k]);
  }
  CT_ADD("stop", "older_callers", older_callers, NULL);
  CT_ADD("stop", "large_networks", large_networks, NULL);
  CT_ADD_TO("stop", "out_of_memory", "alone", out_of_memory, &jobs[0]);
  CT_ADD_TO("stop", "out_of_memory", "together", out_of_memory, &jobs[1]);
  CT_ADD_TO("stop", "ends_soon", "alone", ends_soon, &jobs[0]);
  CT_ADD_TO("stop", "ends_soon", "together", ends_soon, &jobs[1]);
}
