/*
 * Kernels chosen by timing: the faster one of two is, whichever is preferred; what was found is
 * kept in a file and found there by the next function, without timing; whatever the file holds and
 * wherever it can't be written, results are right.
 *
 * SPDX-License-Identifier: MIT
 */
#include "run.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "support/operation.h"
#include "support/listing.h"

enum { N = 8 };

/* ---- An operation with two kernels that say who ran ---- */

static int slow_runs, fast_runs, released, spoilt, fails, declines;

static void twice(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *y = &call->outputs[0];
  for (int64_t k = 0; k < x->shape[0]; k++) {
    float v = *(const float *)(const void *)((const char *)x->data + k * x->strides[0]);
    spoilt += v != v || v - v != 0;
    *(float *)(void *)((char *)y->data + k * y->strides[0]) = 2 * v;
  }
}

static void release(void *kept) {
  released += *(int *)kept;
}

static gemel_status prepare_slow(gemel_kernel_call *call) {
  *(int *)call->prepared = 1;
  call->release = release;
  call->scratch_bytes = 1000;
  return GEMEL_OK;
}

static gemel_status run_slow(const gemel_kernel_call *call) {
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  memset(call->scratch, 1, call->scratch_bytes);
  twice(call);
  slow_runs++;
  return *(int *)call->prepared == 1 ? GEMEL_OK : GEMEL_INTERNAL;
}

static gemel_status prepare_fast(gemel_kernel_call *call) {
  (void)call;
  return declines ? GEMEL_DECLINED : GEMEL_OK;
}

static gemel_status run_fast(const gemel_kernel_call *call) {
  twice(call);
  fast_runs++;
  return fails ? GEMEL_INTERNAL : GEMEL_OK;
}

/* A kernel that always takes the call stands last. */
static const gemel_kernel slow_first[] = {
    {"slow", prepare_slow, run_slow}, {"fast", prepare_fast, run_fast}, {NULL, NULL, NULL}};
static const gemel_kernel fast_first[] = {
    {"fast", prepare_fast, run_fast}, {"slow", prepare_slow, run_slow}, {NULL, NULL, NULL}};
static const gemel_attr_spec attrs[] = {{"how", GEMEL_ATTR_LIST | GEMEL_ATTR_INT, "[]"},
                                        {"text", GEMEL_ATTR_STRING, "none"},
                                        {NULL, 0, NULL}};

/* ---- Functions of it ---- */

static char file[4000];

typedef struct settings {
  const gemel_kernel *kernels;
  gemel_options options;
  int64_t size;
  const char *text; /* the attribute */
} settings;

static settings usual(void) {
  return (settings){.kernels = slow_first,
                    .options = {.size = sizeof(gemel_options),
                                .as_written = 1,
                                .threads = 1,
                                .autotune = 1,
                                .autotune_file = file},
                    .size = N};
}

static gemel_graph *graph_of(gemel_context *context, const settings *s) {
  gemel_operation record = {.size = sizeof record,
                            .name = "twice",
                            .summary = "2 x",
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .version = 1,
                            .attrs = attrs,
                            .infer = same_type,
                            .kernels = s->kernels};
  gemel_attr text = gemel_attr_string("text", s->text);
  CT_EQ_INT(gemel_register_operation(context, &record, &error), GEMEL_OK);
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value x = f32_input(graph, "x", NULL, s->size);
  gemel_output(gemel_apply(graph, "twice", 1, &x, s->text != NULL ? 1 : 0, &text), "y");
  return graph;
}

/* Calls a new function twice; 1 if its listing says that its kernel was chosen by timing. */
static int run_function(const settings *s) {
  gemel_context *context = context_new();
  gemel_graph *graph = graph_of(context, s);
  gemel_function *f = gemel_compile(graph, &s->options, &error);
  gemel_tensor *x = vector_of(GEMEL_F32, s->size, 1), *y = NULL;
  slow_runs = fast_runs = released = spoilt = 0;
  CT_CHECK(f != NULL);
  for (int k = 0; k < 2; k++) {
    CT_EQ_INT(gemel_call(f, 1, &x, 1, &y, &error), GEMEL_OK);
    CT_CHECK(y != NULL && float_at(y, 0) == 2 && float_at(y, s->size - 1) == 2 * (float)s->size);
  }
  const char *text = listing_of(f);
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  CT_EQ_INT(spoilt, 0);
  return strstr(text, "; chosen by timing") != NULL;
}

static void put_file(const char *text) {
  FILE *out = fopen(file, "w");
  CT_CHECK(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
}

static long file_bytes(void) {
  struct stat about;
  return stat(file, &about) == 0 ? (long)about.st_size : -1;
}

static void start(void) {
  snprintf(file, sizeof file, "%s/choices", ct_scratch());
  unlink(file);
  fails = declines = 0;
}

/* ---- Tests ---- */

static void chooses(const void *data) {
  settings s = usual();
  (void)data;
  start();
  CT_EQ_INT(run_function(&s), 1);
  CT_CHECK(slow_runs > 0 && slow_runs < 60 && fast_runs > 2);
  CT_CHECK(released >= 1);
  long bytes = file_bytes();
  CT_CHECK(bytes > 0);
  CT_EQ_INT(run_function(&s), 1);
  CT_EQ_INT(slow_runs, 0);
  CT_EQ_INT(fast_runs, 2);
  CT_EQ_INT(file_bytes(), bytes);
  s.kernels = fast_first; /* the same kernels: the choice still holds */
  CT_EQ_INT(run_function(&s), 1);
  CT_EQ_INT(slow_runs, 0);
}

static void prefers_the_first(const void *data) {
  settings s = usual();
  (void)data;
  start();
  s.kernels = fast_first;
  CT_EQ_INT(run_function(&s), 1);
  CT_CHECK(slow_runs > 0);
  CT_EQ_INT(run_function(&s), 1);
  CT_EQ_INT(slow_runs, 0);
}

/* Another shape, other attributes and another number of threads are other choices. */
static void by_key(const void *data) {
  settings s = usual();
  (void)data;
  start();
  run_function(&s);
  s.size = N + 1;
  CT_EQ_INT(run_function(&s), 1);
  CT_CHECK(slow_runs > 0);
  s.text = "a\tb\nc";
  CT_EQ_INT(run_function(&s), 1);
  CT_CHECK(slow_runs > 0);
  CT_EQ_INT(run_function(&s), 1);
  CT_EQ_INT(slow_runs, 0);
  s.text = "a\tb\nd";
  CT_EQ_INT(run_function(&s), 1);
  CT_CHECK(slow_runs > 0);
  s.options.threads = 2;
  CT_EQ_INT(run_function(&s), 1);
  CT_CHECK(slow_runs > 0);
}

/* Not timed: what is deterministic or plain, and where one kernel alone takes the call or runs. */
static void not_timed(const void *data) {
  settings s = usual();
  (void)data;
  start();
  s.options.deterministic = 1;
  CT_EQ_INT(run_function(&s), 0);
  CT_EQ_INT(slow_runs, 2);
  CT_EQ_INT(fast_runs, 0);
  s.options.deterministic = 0;
  s.options.plain = 1;
  CT_EQ_INT(run_function(&s), 0);
  CT_EQ_INT(fast_runs, 2);
  s.options.plain = 0;
  declines = 1;
  CT_EQ_INT(run_function(&s), 0);
  CT_EQ_INT(slow_runs, 2);
  declines = 0;
  fails = 1;
  CT_EQ_INT(run_function(&s), 0);
  fails = 0;
  s.options.autotune = 0;
  CT_EQ_INT(run_function(&s), 0);
  CT_EQ_INT(slow_runs, 2);
  CT_EQ_INT(file_bytes(), -1);
}

/* The file's text, whose last line is taken apart by tests. */
static char *read_file(void) {
  long bytes = file_bytes() > 0 ? file_bytes() : 0;
  char *text = calloc(1, (size_t)bytes + 1);
  FILE *in = fopen(file, "r");
  CT_CHECK(in != NULL && (long)fread(text, 1, (size_t)bytes, in) == bytes);
  if (in != NULL) {
    fclose(in);
  }
  return text;
}

static void damaged(const void *data) {
  settings s = usual();
  char *text;
  (void)data;
  start();
  run_function(&s);
  text = read_file();
  long bytes = file_bytes();
  for (long cut = 0; cut<bytes; cut += bytes - cut> 12 ? 17 : 1) { /* an interrupted writer */
    char *part = calloc(1, (size_t)bytes + 1);
    ct_context("%ld of %ld bytes", cut, bytes);
    memcpy(part, text, (size_t)cut);
    put_file(part);
    CT_EQ_INT(run_function(&s), 1);
    CT_CHECK(slow_runs > 0);
    CT_EQ_INT(run_function(&s), 1); /* the new line is whole */
    CT_EQ_INT(slow_runs, 0);
    free(part);
  }
  strcpy(strrchr(text, '\t'), "\tnone\n"); /* a kernel that there isn't */
  put_file(text);
  CT_EQ_INT(run_function(&s), 1);
  CT_CHECK(slow_runs > 0);
  CT_EQ_INT(run_function(&s), 1); /* the last line counts */
  CT_EQ_INT(slow_runs, 0);
  put_file("\n\t\n\t\t\nnothing\n\tfast\n\n");
  CT_EQ_INT(run_function(&s), 1);
  CT_CHECK(slow_runs > 0);
  free(text);
}

/* What the file says is believed: a slower kernel is as right. */
static void believed(const void *data) {
  settings s = usual();
  (void)data;
  start();
  run_function(&s);
  char *text = read_file();
  strcpy(strrchr(text, '\t'), "\tslow\n");
  put_file(text);
  free(text);
  CT_EQ_INT(run_function(&s), 1);
  CT_EQ_INT(slow_runs, 2);
  s.kernels = fast_first; /* and one that declines now is passed over */
  text = read_file();
  strcpy(strrchr(text, '\t'), "\tfast\n");
  put_file(text);
  free(text);
  declines = 1;
  CT_EQ_INT(run_function(&s), 1);
  CT_EQ_INT(slow_runs, 2);
}

static void unwritable(const void *data) {
  static const char *const places[] = {"/proc/none", "/", "/dev/null", ""};
  settings s = usual();
  char long_path[6000];
  (void)data;
  start();
  for (size_t k = 0; k < CT_COUNT(places); k++) {
    ct_context("%s", places[k]);
    s.options.autotune_file = places[k];
    for (int again = 0; again < 2; again++) {
      CT_EQ_INT(run_function(&s), 1);
      CT_CHECK(slow_runs > 0 && fast_runs > 2);
    }
  }
  memset(long_path, 'a', sizeof long_path - 1);
  long_path[sizeof long_path - 1] = '\0';
  s.options.autotune_file = long_path;
  CT_EQ_INT(run_function(&s), 1);
}

/* Where no file is named it is in the folder of GEMEL_CACHE. */
static void default_file(const void *data) {
  settings s = usual();
  char path[4100];
  (void)data;
  start();
  s.options.autotune_file = NULL;
  setenv("GEMEL_CACHE", ct_scratch(), 1);
  run_function(&s);
  CT_EQ_INT(run_function(&s), 1);
  CT_EQ_INT(slow_runs, 0);
  snprintf(path, sizeof path, "%s/autotune", ct_scratch());
  CT_EQ_INT(unlink(path), 0);
}

/* ---- gemel's own kernels ---- */

enum { RESULTS = 4 };

/* Makes the inputs of GRAPH: small integers, for which every order of summation gives the same. */
static size_t make_inputs(gemel_graph *graph, gemel_tensor **inputs) {
  gemel_context *context = gemel_graph_context(graph);
  size_t n = gemel_graph_input_count(graph);
  state = 1;
  for (size_t k = 0; k < n; k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(graph, k));
    int64_t shape[4];
    int rank = gemel_type_rank(context, type);
    for (int j = 0; j < rank; j++) {
      gemel_dim_is_constant(context, gemel_type_dims(context, type)[j], &shape[j]);
    }
    inputs[k] = gemel_tensor_new(gemel_type_dtype(context, type), rank, shape, &error);
    for (int64_t e = 0;
         gemel_tensor_dtype(inputs[k]) == GEMEL_F32 && e < gemel_tensor_elements(inputs[k]); e++) {
      ((float *)gemel_tensor_data(inputs[k]))[e] = (float)pick(7);
    }
  }
  return n;
}

static void run_text(const char *text, const gemel_options *options, gemel_tensor **results) {
  gemel_context *context = context_new();
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "f", NULL, &error);
  gemel_tensor *inputs[8] = {NULL};
  CT_CHECK(graph != NULL || !CT_EQ_STR(error.text, ""));
  if (graph != NULL) {
    size_t n = make_inputs(graph, inputs);
    gemel_function *f = gemel_compile(graph, options, &error);
    CT_EQ_INT(gemel_call(f, n, inputs, gemel_graph_output_count(graph), results, &error), GEMEL_OK);
    gemel_function_free(f);
    for (size_t k = 0; k < n; k++) {
      gemel_tensor_unref(inputs[k]);
    }
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Releases GOT, which must be the same as WANTED. */
static void compare(gemel_tensor *const *wanted, gemel_tensor **got) {
  for (size_t k = 0; k < RESULTS && wanted[k] != NULL; k++) {
    size_t bytes =
        (size_t)gemel_tensor_elements(wanted[k]) * gemel_dtype_size(gemel_tensor_dtype(wanted[k]));
    CT_EQ_MEM(gemel_tensor_data(got[k]), gemel_tensor_data(wanted[k]), bytes);
    gemel_tensor_unref(got[k]);
  }
}

static void release_all(gemel_tensor **results) {
  for (size_t k = 0; k < RESULTS; k++) {
    gemel_tensor_unref(results[k]);
  }
}

/* Operations with several kernels are found in the file, and give what they give untimed. */
static void catalogue(const void *data) {
  static const char *const chosen[] = {"corr 1 ", "corr_grad_weights 1 ", "max_pool_grad 1 ",
                                       "random_bits 1 "};
  static const char text[] =
      "graph g(x: f32[2, 8, 9, 9], w: f32[8, 8, 3, 3], a: f32[30, 40], b: f32[40, 20],"
      "  key: u64[2]) {"
      "  y = corr(x, w)"
      "  gw = corr_grad_weights(x, y, kernel = [3, 3])"
      "  gp = max_pool_grad(x, y, size = [3, 3])"
      "  r, k = random_bits(key, shape = [100], dtype = u32)"
      "  t = dot(dimshuffle(b, order = [1, 0]), dimshuffle(a, order = [1, 0]))"
      "  return gw, gp, r, t }";
  gemel_tensor *wanted[RESULTS] = {NULL}, *got[RESULTS] = {NULL};
  settings s = usual();
  (void)data;
  start();
  s.options.autotune = 0;
  run_text(text, &s.options, wanted);
  CT_EQ_INT(file_bytes(), -1);
  s.options.autotune = 1;
  run_text(text, &s.options, got);
  compare(wanted, got);
  release_all(wanted);
  char *lines = read_file();
  for (size_t k = 0; k < CT_COUNT(chosen); k++) {
    ct_context("%s", chosen[k]);
    CT_CHECK(strstr(lines, chosen[k]) != NULL);
  }
  free(lines);
}

/* Has every choice in the file be NAME. */
static void choose_always(const char *name) {
  char *text = read_file();
  FILE *out = fopen(file, "w");
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    fprintf(out, "%.*s\t%s\n", (int)strcspn(line, "\t"), line, name);
  }
  fclose(out);
  free(text);
}

/* Whichever algorithm is chosen for convolutions, it writes images with channels last too. */
static void any_algorithm(const void *data) {
  static const char *const names[] = {"onednn", "gemm", "plain"};
  static const char text[] =
      "graph g(x: f32[2, 16, 12, 10], w: f32[32, 16, 3, 3], v: f32[16, 32, 1, 1],"
      "  g: f32[2, 16, 10, 8]) {"
      "  h = corr(x, w)"
      "  k = corr(h, v)"
      "  gh = corr_grad_inputs(v, g, image = [10, 8])"
      "  gx = corr_grad_inputs(w, gh, image = [12, 10])"
      "  return s = sum(h, axes = [1]), t = sum(k, axes = [1]), u = sum(gh, axes = [1]),"
      "         v = sum(gx, axes = [1]) }";
  gemel_tensor *wanted[RESULTS] = {NULL};
  settings s = usual();
  (void)data;
  start();
  s.options.plain = 1;
  run_text(text, &s.options, wanted);
  s.options.plain = 0;
  for (size_t k = 0; k <= CT_COUNT(names); k++) {
    gemel_tensor *got[RESULTS] = {NULL};
    ct_context("%s", k > 0 ? names[k - 1] : "the fastest");
    run_text(text, &s.options, got);
    compare(wanted, got);
    if (k < CT_COUNT(names)) {
      choose_always(names[k]);
    }
  }
  release_all(wanted);
}

/* ---- Threads and memory ---- */

/* Two threads plan at once. */
typedef struct shared_function {
  gemel_function *f;
  int good;
} shared_function;

static void *call_shared(void *data) {
  shared_function *s = data;
  gemel_tensor *x = vector_of(GEMEL_F32, N, 1), *y = NULL;
  s->good = gemel_call(s->f, 1, &x, 1, &y, &error) == GEMEL_OK && float_at(y, 1) == 4;
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  return NULL;
}

static void threads(const void *data) {
  settings s = usual();
  gemel_context *context = context_new();
  gemel_graph *graph = graph_of(context, &s);
  gemel_function *f = gemel_compile(graph, &s.options, &error);
  shared_function shared[2] = {{f, 0}, {f, 0}};
  pthread_t other;
  (void)data;
  start();
  CT_EQ_INT(pthread_create(&other, NULL, call_shared, &shared[0]), 0);
  call_shared(&shared[1]);
  pthread_join(other, NULL);
  CT_CHECK(shared[0].good && shared[1].good);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

typedef struct small_call {
  gemel_graph *graph;
  gemel_tensor *x;
} small_call;

static int call_once(void *data) {
  small_call *c = data;
  settings s = usual();
  gemel_tensor *y = NULL;
  unlink(file);
  gemel_function *f = gemel_compile(c->graph, &s.options, &error);
  gemel_status status = f != NULL ? gemel_call(f, 1, &c->x, 1, &y, &error) : error.status;
  gemel_function_free(f);
  gemel_tensor_unref(y);
  return (int)status;
}

static void without_memory(const void *data) {
  settings s = usual();
  gemel_context *context = context_new();
  small_call c = {graph_of(context, &s), vector_of(GEMEL_F32, N, 1)};
  (void)data;
  start();
  CT_CHECK(ct_oom(call_once, &c) > 10);
  gemel_tensor_unref(c.x);
  gemel_graph_unref(c.graph);
  gemel_context_unref(context);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("chooses", chooses, NULL),
      CT_TEST("prefers_the_first", prefers_the_first, NULL),
      CT_TEST("by_key", by_key, NULL),
      CT_TEST("not_timed", not_timed, NULL),
      CT_TEST("damaged", damaged, NULL),
      CT_TEST("believed", believed, NULL),
      CT_TEST("unwritable", unwritable, NULL),
      CT_TEST("default_file", default_file, NULL),
      CT_TEST("catalogue", catalogue, NULL),
      CT_TEST("any_algorithm", any_algorithm, NULL),
      CT_TEST("threads", threads, NULL),
      CT_TEST("without_memory", without_memory, NULL),
  };
  ct_suite("autotune", tests, CT_COUNT(tests));
}
