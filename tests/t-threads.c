/*
 * One context, many threads: each builds, differentiates, prints, parses, compiles and runs graphs
 * of its own while all of them intern the same and other names, sizes, types and attributes, and
 * register operations. Nothing may be lost or be two things. A build with -fsanitize=thread makes
 * these tests about races, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>
#include "shared.h"
#include "support/operation.h"

enum { THREADS = 6, ROUNDS = 150 };

static gemel_graph *shared_body;
static atomic_int ready;

struct job {
  int number;
  int wrong; /* line of the first thing that went wrong; 0: none */
  gemel_dim dims[ROUNDS];
  size_t numbers[ROUNDS]; /* how many a round found, or 1 if it succeeded */
  gemel_type types[ROUNDS];
};

#define MUST(condition)                                                                            \
  do {                                                                                             \
    if (!(condition) && job->wrong == 0) {                                                         \
      job->wrong = __LINE__;                                                                       \
    }                                                                                              \
  } while (0)

/* All start together, or the first would be done before the last begins. */
static void wait_for_all(void) {
  atomic_fetch_add(&ready, 1);
  while (atomic_load(&ready) < THREADS) {
    sched_yield();
  }
}

static void run(void *(*work)(void *), struct job *jobs) {
  pthread_t threads[THREADS];
  int k;
  atomic_store(&ready, 0);
  for (k = 0; k < THREADS; k++) {
    memset(&jobs[k], 0, sizeof jobs[k]);
    jobs[k].number = k;
    if (pthread_create(&threads[k], NULL, work, &jobs[k]) != 0) {
      CT_FAIL("no thread %d", k);
      _Exit(1); /* the others wait for it */
    }
  }
  for (k = 0; k < THREADS; k++) {
    pthread_join(threads[k], NULL);
    ct_context("thread %d: line", k);
    CT_EQ_INT(jobs[k].wrong, 0);
  }
}

/* ---- Interning ---- */

static void *intern(void *user) {
  struct job *job = user;
  gemel_dim sum = gemel_dim_constant(c, 0);
  int k;
  wait_for_all();
  for (k = 0; k < ROUNDS; k++) {
    char name[24], text[4096], again[4096];
    gemel_dim dims[2];
    snprintf(name, sizeof name, "size_%d", k);
    dims[0] = gemel_dim_symbol(c, name);
    dims[1] = gemel_dim_mul(c, dims[0], gemel_dim_constant(c, 2000 + k));
    sum = k % 20 == 0 ? dims[1] : gemel_dim_add(c, gemel_dim_max(c, sum, dims[0]), dims[1]);
    job->dims[k] = sum;
    job->types[k] = gemel_type_new(c, GEMEL_F32, 2, dims, GEMEL_SPACE_HOST);
    MUST(!gemel_dim_is_none(sum) && !gemel_type_is_none(job->types[k]));
    gemel_type_format(c, job->types[k], text, sizeof text);
    MUST(strncmp(text, "f32[size_", 9) == 0);
    gemel_dim_format(c, sum, again, sizeof again);
    MUST(strstr(again, name) != NULL);
    MUST(gemel_dim_equal(gemel_type_dims(c, job->types[k])[0], dims[0]));
  }
  return NULL;
}

/* Each thread got the same ids for the same things. */
static void interning(const void *data) {
  static struct job jobs[THREADS];
  int k;
  (void)data;
  run(intern, jobs);
  for (k = 1; k < THREADS; k++) {
    CT_EQ_MEM(jobs[k].dims, jobs[0].dims, sizeof jobs[0].dims);
    CT_EQ_MEM(jobs[k].types, jobs[0].types, sizeof jobs[0].types);
  }
}

/* ---- Operations ---- */

static const gemel_kernel kernels[] = {{"none", NULL, no_run}, {NULL, NULL, NULL}};
static const gemel_attr_spec schema[] = {
    {"word", GEMEL_ATTR_STRING, "some"}, {"size", GEMEL_ATTR_INT, "3"}, {NULL, 0, NULL}};

static void *register_all(void *user) {
  struct job *job = user;
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_value x = gemel_input(g, "x", gemel_type_of_shape(c, GEMEL_F32, 0, NULL));
  int k;
  wait_for_all();
  for (k = 0; k < ROUNDS; k++) {
    char name[24];
    gemel_operation op;
    gemel_attr word = gemel_attr_string("word", name);
    gemel_status status;
    memset(&op, 0, sizeof op);
    snprintf(name, sizeof name, "own_%d", k);
    op.size = sizeof op;
    op.name = name;
    op.min_inputs = op.max_inputs = op.version = 1;
    op.attrs = schema;
    op.infer = same_type;
    op.kernels = kernels;
    status = gemel_register_operation(c, &op, NULL);
    MUST(status == GEMEL_OK || status == GEMEL_BAD_ARGUMENT);
    job->numbers[k] = status == GEMEL_OK;
    MUST(strcmp(gemel_operation_find(c, name)->name, name) == 0);
    MUST(gemel_operation_at(c, gemel_operation_count(c) - 1)->infer != NULL);
    x = gemel_apply(g, name, 1, &x, 1, &word);
    MUST(!gemel_is_null(x));
  }
  MUST(gemel_graph_check(g, NULL) == GEMEL_OK);
  gemel_graph_unref(g);
  return NULL;
}

/* Of all the threads that register a name, one succeeds. */
static void registering(const void *data) {
  static struct job jobs[THREADS];
  size_t before = gemel_operation_count(c);
  int k, j;
  (void)data;
  run(register_all, jobs);
  for (k = 0; k < ROUNDS; k++) {
    int succeeded = 0;
    for (j = 0; j < THREADS; j++) {
      succeeded += (int)jobs[j].numbers[k];
    }
    CT_EQ_INT(succeeded, 1);
  }
  CT_EQ_INT(gemel_operation_count(c), before + ROUNDS);
}

/* ---- Graphs ---- */

static gemel_value layer(gemel_graph *g, gemel_value x, int k) {
  gemel_value w[2];
  w[0] = gemel_mul(x, gemel_scalar(g, GEMEL_F32, 1.0 / (k % 50 + 1)));
  w[1] = gemel_tanh(gemel_add(x, w[0]));
  return k % 3 == 0 ? gemel_invoke(2, w, shared_body) : gemel_maximum(w[0], w[1]);
}

static void whole_life(struct job *job, int round) {
  gemel_graph *g = gemel_graph_new(c, NULL), *back;
  int64_t n = round % 9 + 1;
  gemel_value x = gemel_input(g, "x", gemel_type_of_shape(c, GEMEL_F32, 1, &n)), y = x, d = x;
  gemel_tensor *in = gemel_tensor_new(GEMEL_F32, 1, &n, NULL), *out[2] = {NULL, NULL};
  char name[32], *text;
  int k;
  for (k = 0; k < 8; k++) {
    y = layer(g, y, round + k);
  }
  y = gemel_sum(y);
  snprintf(name, sizeof name, "y_%d_%d", job->number, round);
  MUST(gemel_output(y, name) == GEMEL_OK);
  MUST(gemel_grad(1, &y, NULL, 1, &x, &d, NULL) == GEMEL_OK);
  MUST(gemel_output(d, "d") == GEMEL_OK);
  MUST(gemel_graph_check(g, NULL) == GEMEL_OK);
  text = gemel_print_string(g, "g", NULL);
  MUST(text != NULL);
  back = gemel_parse(c, text, strlen(text), "t", NULL, NULL);
  MUST(gemel_graph_check(back, NULL) == GEMEL_OK);
  MUST(gemel_evaluate(back, 1, &in, 2, out, NULL) == GEMEL_OK);
  MUST(out[0] != NULL && *(float *)gemel_tensor_data(out[0]) == 0);
  gemel_text_free(text);
  gemel_tensor_unref(in);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
  gemel_graph_unref(back);
  gemel_graph_unref(g);
}

static void *live(void *user) {
  struct job *job = user;
  int k;
  wait_for_all();
  for (k = 0; k < ROUNDS / 10; k++) {
    whole_life(job, k);
  }
  return NULL;
}

static void graphs(const void *data) {
  static struct job jobs[THREADS];
  gemel_value a, b;
  gemel_dim size = gemel_dim_symbol(c, "N");
  (void)data;
  shared_body = gemel_graph_new(c, NULL);
  a = gemel_input(shared_body, "a", gemel_type_new(c, GEMEL_F32, 1, &size, 0));
  b = gemel_input(shared_body, "b", gemel_type_new(c, GEMEL_F32, 1, &size, 0));
  gemel_output(gemel_mul(a, gemel_exp(b)), "r");
  run(live, jobs);
  gemel_graph_unref(shared_body);
}

/* ---- Rules and passes ---- */

struct first_use {
  gemel_context *contexts[THREADS]; /* of each thread: all the same, or its own */
};

static struct first_use use;
static gemel_context *certified[ROUNDS];

static gemel_graph *to_rewrite(gemel_context *context) {
  gemel_graph *g = gemel_graph_new(context, NULL);
  int64_t n = 4;
  gemel_value x = gemel_input(g, "x", gemel_type_of_shape(context, GEMEL_F32, 1, &n));
  gemel_value one = gemel_scalar(g, GEMEL_F32, 1), zero = gemel_scalar(g, GEMEL_F32, 0);
  gemel_output(gemel_neg(gemel_neg(gemel_add(gemel_mul(x, one), zero))), "y");
  return g;
}

/* What a thread may do first in a context: ask for the rules, let rewritings be certified, rewrite.
 */
static void *begin_rewriting(void *user) {
  struct job *job = user;
  gemel_context *context = use.contexts[job->number];
  gemel_rewrite_options options;
  gemel_graph *g, *result;
  gemel_rules *rules;
  wait_for_all();
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.exclude = job->number % 2 != 0 ? "stabilize" : NULL;
  rules = gemel_rules_builtin(context, NULL);
  MUST(gemel_certify_enable(context, 1, NULL) == GEMEL_OK);
  MUST(rules != NULL && gemel_rules_count(rules) > 0);
  job->numbers[0] = gemel_rules_count(rules);
  MUST(gemel_rules_find(rules, gemel_rule_describe(gemel_rules_at(rules, 0))->name) != NULL);
  g = to_rewrite(context);
  result = gemel_rewrite(g, &options, NULL);
  MUST(result != NULL && gemel_graph_check(result, NULL) == GEMEL_OK);
  MUST(gemel_graph_node_count(result) < gemel_graph_node_count(g));
  gemel_graph_unref(result);
  gemel_graph_unref(g);
  gemel_rules_unref(rules);
  gemel_context_unref(context);
  return NULL;
}

/* The threads have a context together, or each its own. */
static void first_rules(const void *data) {
  static struct job jobs[THREADS];
  int together = *(const int *)data, round, k;
  for (round = getenv("GEMEL_VALGRIND") != NULL ? 3 : 0; round < 4; round++) {
    gemel_context *context = gemel_context_new(NULL);
    for (k = 0; k < THREADS; k++) {
      use.contexts[k] = together ? gemel_context_ref(context) : gemel_context_new(NULL);
    }
    gemel_context_unref(context);
    run(begin_rewriting, jobs);
    for (k = 1; k < THREADS; k++) {
      CT_EQ_INT(jobs[k].numbers[0], jobs[0].numbers[0]);
    }
  }
}

static void *certify(void *user) {
  struct job *job = user;
  int k;
  wait_for_all();
  for (k = 0; k < ROUNDS; k++) {
    MUST(gemel_certify_enable(certified[k], 1, NULL) == GEMEL_OK);
  }
  return NULL;
}

/* Certifying may begin on several threads at once. */
static void certifying(const void *data) {
  static struct job jobs[THREADS];
  int k;
  (void)data;
  for (k = 0; k < ROUNDS; k++) {
    certified[k] = gemel_context_new(NULL);
    CT_REQUIRE(certified[k] != NULL);
  }
  run(certify, jobs);
  for (k = 0; k < ROUNDS; k++) {
    gemel_context_unref(certified[k]);
  }
}

static gemel_status rewrite_nothing(gemel_edit *edit, const void *data, gemel_error *error) {
  (void)edit;
  (void)data;
  (void)error;
  return GEMEL_OK;
}

static gemel_status generate_nothing(gemel_graph *graph, uint64_t (*random)(void *), void *user,
                                     const void *data) {
  (void)graph;
  (void)random;
  (void)user;
  (void)data;
  return GEMEL_OK;
}

static void *register_passes(void *user) {
  struct job *job = user;
  int k;
  wait_for_all();
  for (k = 0; k < ROUNDS; k++) {
    char name[24];
    gemel_pass pass;
    memset(&pass, 0, sizeof pass);
    snprintf(name, sizeof name, "pass_%d", k);
    pass.size = sizeof pass;
    pass.name = name;
    pass.rewrite = rewrite_nothing;
    pass.generate = generate_nothing;
    job->numbers[k] = gemel_register_pass(c, &pass, NULL) == GEMEL_OK;
    MUST(gemel_pass_count(c) > (size_t)k);
  }
  return NULL;
}

/* Of all the threads that register a pass, one succeeds. */
static void passes(const void *data) {
  static struct job jobs[THREADS];
  size_t before = gemel_pass_count(c);
  int k, j;
  (void)data;
  run(register_passes, jobs);
  for (k = 0; k < ROUNDS; k++) {
    int succeeded = 0;
    for (j = 0; j < THREADS; j++) {
      succeeded += (int)jobs[j].numbers[k];
    }
    CT_EQ_INT(succeeded, 1);
  }
  CT_EQ_INT(gemel_pass_count(c), before + ROUNDS);
}

/* Operations by text: the even numbers in one way by all the threads, the odd ones by each in its
 * own. */
static void *define_all(void *user) {
  struct job *job = user;
  int k;
  wait_for_all();
  for (k = 0; k < ROUNDS; k++) {
    char text[80];
    gemel_status status;
    snprintf(text, sizeof text, "operation defined_%d(x) { return x * %d.0 }", k,
             k % 2 == 0 ? k : job->number);
    status = gemel_define_operations(c, text, strlen(text), "t", NULL);
    MUST(status == GEMEL_OK || (k % 2 != 0 && status == GEMEL_BAD_TEXT));
    job->numbers[k] = status == GEMEL_OK;
  }
  return NULL;
}

static void defining(const void *data) {
  static struct job jobs[THREADS];
  size_t before = gemel_operation_count(c);
  int k, j;
  (void)data;
  run(define_all, jobs);
  for (k = 0; k < ROUNDS; k++) {
    int succeeded = 0;
    for (j = 0; j < THREADS; j++) {
      succeeded += (int)jobs[j].numbers[k];
    }
    CT_EQ_INT(succeeded, k % 2 == 0 ? THREADS : 1);
  }
  CT_EQ_INT(gemel_operation_count(c), before + ROUNDS);
}

/* The last reference may go on any thread. */
static void *let_go(void *user) {
  gemel_graph *g = user;
  gemel_graph_unref(g);
  return NULL;
}

static void references(const void *data) {
  gemel_context *own = gemel_context_new(NULL);
  gemel_graph *g = gemel_graph_new(own, NULL);
  pthread_t threads[THREADS];
  int k;
  (void)data;
  for (k = 0; k < THREADS; k++) {
    gemel_graph_ref(g);
  }
  gemel_graph_unref(g);
  gemel_context_unref(own);
  for (k = 0; k < THREADS; k++) {
    CT_REQUIRE(pthread_create(&threads[k], NULL, let_go, g) == 0);
  }
  for (k = 0; k < THREADS; k++) {
    pthread_join(threads[k], NULL);
  }
}

/* ---- Functions of one shared variable ---- */

static const char two_states[] =
    "graph two(state a: f32[2], state b: f32[2]) { update a = b update b = a }";

static gemel_shared *variables[2]; /* of all threads */

static gemel_function *bind(const gemel_graph *graph, gemel_shared *const *states,
                            gemel_error *error) {
  const gemel_options options = {.size = sizeof options, .states = states, .n_states = 2};
  return gemel_compile(graph, &options, error);
}

static void *bind_often(void *user) {
  struct job *job = user;
  gemel_graph *graph = gemel_parse(c, two_states, sizeof two_states - 1, "two", NULL, NULL);
  gemel_shared *crossed[] = {variables[job->number % 2], variables[1 - job->number % 2]};
  wait_for_all();
  for (int k = 0; k < 200 && graph != NULL; k++) {
    gemel_function *f = bind(graph, crossed, NULL);
    MUST(f != NULL);
    gemel_function_free(f);
  }
  gemel_graph_unref(graph);
  return NULL;
}

/* Threads may bind the same variables; two states of one graph may not. */
static void binding(const void *data) {
  static struct job jobs[THREADS];
  static const int64_t size = 2;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_tensor *value = gemel_tensor_new(GEMEL_F32, 1, &size, NULL);
  gemel_graph *graph = gemel_parse(c, two_states, sizeof two_states - 1, "two", NULL, NULL);
  (void)data;
  variables[0] = gemel_shared_new(value, NULL);
  variables[1] = gemel_shared_new(value, NULL);
  gemel_shared *twice[] = {variables[0], variables[0]};
  CT_CHECK(bind(graph, twice, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "state b is given the shared variable of another state");
  run(bind_often, jobs);
  gemel_shared_unref(variables[0]);
  gemel_shared_unref(variables[1]);
  gemel_tensor_unref(value);
  gemel_graph_unref(graph);
}

/* ---- One graph that several look at ---- */

static const char looked_at[] = "graph seen(x: f32[N, 4], state w: f32[4]) {\n"
                                "  y = exp(x * w) + 0\n"
                                "  update w = sum(y, axes = [0])\n"
                                "  return total = sum(y)\n}\n";

static gemel_graph *seen;
static char *seen_text, *seen_rewritten;

/* 1 if GRAPH, which is given back, is printed as WANTED. */
static int is_printed(gemel_graph *graph, const char *wanted) {
  char *text = gemel_print_string(graph, "seen", NULL);
  int same = text != NULL && strcmp(text, wanted) == 0;
  gemel_text_free(text);
  gemel_graph_unref(graph);
  return same;
}

static void *look(void *user) {
  struct job *job = user;
  wait_for_all();
  for (int k = 0; k < 20; k++) {
    gemel_value y = gemel_graph_output(seen, 1); /* behind the update */
    gemel_function *f = gemel_compile(seen, NULL, NULL);
    MUST(f != NULL);
    gemel_function_free(f);
    MUST(is_printed(gemel_graph_ref(seen), seen_text));
    MUST(is_printed(gemel_rewrite(seen, NULL, NULL), seen_rewritten));
    MUST(gemel_graph_check(seen, NULL) == GEMEL_OK);
    MUST(strcmp(gemel_value_operation(gemel_value_input(y, 0)), "add") == 0);
    MUST(gemel_type_rank(c, gemel_value_type(y)) == 0 && gemel_value_where(y).line == 4);
  }
  return NULL;
}

static void looking(const void *data) {
  static struct job jobs[THREADS];
  (void)data;
  seen = gemel_parse(c, looked_at, sizeof looked_at - 1, "seen", NULL, NULL);
  gemel_graph *rewritten = gemel_rewrite(seen, NULL, NULL);
  seen_text = gemel_print_string(seen, "seen", NULL);
  seen_rewritten = gemel_print_string(rewritten, "seen", NULL);
  CT_REQUIRE(seen_text != NULL && seen_rewritten != NULL);
  CT_CHECK(strcmp(seen_text, seen_rewritten) != 0);
  run(look, jobs);
  gemel_text_free(seen_text);
  gemel_text_free(seen_rewritten);
  gemel_graph_unref(rewritten);
  gemel_graph_unref(seen);
}

static const int alone = 0, together = 1;

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("interning", interning, NULL),
      CT_TEST("registering", registering, NULL),
      CT_TEST("graphs", graphs, NULL),
      CT_TEST("first_rules/alone", first_rules, &alone),
      CT_TEST("first_rules/together", first_rules, &together),
      CT_TEST("certifying", certifying, NULL),
      CT_TEST("passes", passes, NULL),
      CT_TEST("defining", defining, NULL),
      CT_TEST("references", references, NULL),
      CT_TEST("binding", binding, NULL),
      CT_TEST("looking", looking, NULL),
  };
  shared();
  ct_suite("threads", tests, CT_COUNT(tests));
}
