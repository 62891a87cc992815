/*
 * Optimisers and states (<gemel/train.h>): steps against the formulas of their papers, which states
 * are trained, files that are written and read, and what memory that is refused leaves behind.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "ct.h"

/* A graph in which w: f64[2] is to become x, by some optimiser. */
typedef struct training {
  gemel_context *context;
  gemel_graph *graph;
  gemel_value loss;
  size_t n;
  gemel_shared **states;
  gemel_function *function;
} training;

static gemel_error error;

static gemel_status begin(training *t) {
  memset(t, 0, sizeof *t);
  t->context = gemel_context_new(&error);
  t->graph = t->context != NULL ? gemel_graph_new(t->context, &error) : NULL;
  gemel_value w = gemel_declare(t->graph, "state w: f64[2]");
  gemel_value count = gemel_declare(t->graph, "state count: i64[]");
  gemel_value d = gemel_sub(w, gemel_declare(t->graph, "x: f64[2]"));
  t->loss = gemel_sum(gemel_mul(d, d));
  gemel_output(t->loss, "loss");
  gemel_update(count, gemel_add(count, gemel_scalar(t->graph, GEMEL_I64, 1)));
  return t->graph == NULL ? GEMEL_NO_MEMORY : gemel_graph_error(t->graph)->status;
}

static gemel_status finish(training *t) {
  gemel_options options = {.size = sizeof options, .threads = 1};
  gemel_status status = gemel_states_new(t->graph, &t->n, &t->states, &error);
  if (status == GEMEL_OK) {
    options.states = t->states;
    options.n_states = t->n;
    t->function = gemel_compile(t->graph, &options, &error);
    status = t->function != NULL ? GEMEL_OK : error.status;
  }
  return status;
}

static gemel_status call(training *t) {
  static double goal[2] = {1, -2};
  gemel_tensor *loss = NULL;
  gemel_tensor *x =
      gemel_tensor_wrap(GEMEL_F64, GEMEL_LIST(int64_t, 2), NULL, goal, NULL, NULL, &error);
  gemel_status status =
      x != NULL ? gemel_call(t->function, 1, &x, 1, &loss, &error) : GEMEL_NO_MEMORY;
  gemel_tensor_unref(x);
  gemel_tensor_unref(loss);
  return status;
}

static void end(training *t) {
  gemel_function_free(t->function);
  gemel_states_free(t->n, t->states);
  gemel_graph_unref(t->graph);
  gemel_context_unref(t->context);
}

/* The two numbers of the state called NAME. */
static void read_state(const training *t, const char *name, double *numbers) {
  gemel_tensor *value = gemel_shared_get(gemel_states_find(t->graph, t->n, t->states, name));
  CT_REQUIRE(value != NULL);
  memcpy(numbers, gemel_tensor_data(value), 2 * sizeof *numbers);
  gemel_tensor_unref(value);
}

/* ---- Against the formulas ---- */

typedef struct optimizer {
  const char *name;
  int adam;
  gemel_adam_options a;
  gemel_sgd_options s;
} optimizer;

static const optimizer optimizers[] = {
    {.name = "sgd", .s = {.rate = 0.25}},
    {.name = "sgd_usual"},
    {.name = "momentum", .s = {.rate = 0.1, .momentum = 0.9, .decay = 0.01}},
    {.name = "adam", .adam = 1, .a = {.rate = 0.1}},
    {.name = "adam_usual", .adam = 1},
    {.name = "adamw",
     .adam = 1,
     .a = {.rate = 0.1, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .decay = 0.02}}};

static double usual(double given, double otherwise) {
  return given != 0 ? given : otherwise;
}

/* One element's step number T. */
static double stepped(const optimizer *o, double w, double goal, double *m, double *v, int t) {
  double g = 2 * (w - goal);
  if (!o->adam) {
    g += o->s.decay * w;
    *m = o->s.momentum * *m + g;
    return w - usual(o->s.rate, 0.01) * (o->s.momentum != 0 ? *m : g);
  }
  double b1 = usual(o->a.beta1, 0.9), b2 = usual(o->a.beta2, 0.999), rate = usual(o->a.rate, 0.001);
  *m = b1 * *m + (1 - b1) * g;
  *v = b2 * *v + (1 - b2) * g * g;
  double mean = *m / (1 - pow(b1, t)), square = *v / (1 - pow(b2, t));
  return w - rate * o->a.decay * w - rate * mean / (sqrt(square) + usual(o->a.epsilon, 1e-8));
}

static void follows_formula(const void *data) {
  const optimizer *o = data;
  training t;
  CT_REQUIRE(begin(&t) == GEMEL_OK);
  CT_CHECK((o->adam ? gemel_adam_at(t.loss, &o->a, GEMEL_HERE)
                    : gemel_sgd_at(t.loss, &o->s, GEMEL_HERE)) == GEMEL_OK);
  CT_REQUIRE(finish(&t) == GEMEL_OK);
  double w[2] = {0, 0}, m[2] = {0, 0}, v[2] = {0, 0}, found[2] = {0, 0};
  for (int k = 1; k <= 20; k++) {
    CT_REQUIRE(call(&t) == GEMEL_OK);
    for (int i = 0; i < 2; i++) {
      w[i] = stepped(o, w[i], i == 0 ? 1 : -2, &m[i], &v[i], k);
    }
    read_state(&t, "w", found);
    CT_CHECK(fabs(found[0] - w[0]) <= 1e-12 && fabs(found[1] - w[1]) <= 1e-12);
  }
  CT_CHECK(t.n == (size_t)(o->adam ? 5 : o->s.momentum != 0 ? 3 : 2));
  end(&t);
}

/* ---- Which states ---- */

static void refused(const void *unused) {
  (void)unused;
  training t;
  gemel_value none = {NULL, 0, 0};
  CT_REQUIRE(begin(&t) == GEMEL_OK);
  CT_CHECK(gemel_adam(none) == GEMEL_NULL_VALUE && gemel_sgd(none) == GEMEL_NULL_VALUE);
  CT_CHECK(gemel_sgd(t.loss) == GEMEL_OK);
  CT_CHECK(gemel_sgd(t.loss) == GEMEL_BAD_ARGUMENT); /* all have their updates */
  CT_CHECK(strstr(gemel_graph_error(t.graph)->text, "t-train.c:") != NULL);
  CT_CHECK(gemel_adam(t.loss) == GEMEL_BAD_ARGUMENT);
  gemel_graph_clear_error(t.graph);
  gemel_value w = gemel_declare(t.graph, "state v: f32[3]");
  CT_CHECK(gemel_sgd(gemel_mul(w, w)) != GEMEL_OK); /* no scalar */
  gemel_graph_clear_error(t.graph);
  gemel_declare(t.graph, "state s: f32[N]");
  CT_CHECK(gemel_states_new(t.graph, &t.n, &t.states, &error) == GEMEL_BAD_SHAPE &&
           t.states == NULL);
  CT_CHECK(strstr(error.text, "state s") != NULL);
  CT_CHECK(gemel_states_new(NULL, &t.n, &t.states, &error) == GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_states_find(t.graph, 0, NULL, "w") == NULL);
  end(&t);
}

/* ---- Files ---- */

static void files(const void *unused) {
  (void)unused;
  training t, u;
  char path[4096], other[4096];
  double a[2] = {0, 0}, b[2] = {1, 1};
  snprintf(path, sizeof path, "%s/states.safetensors", ct_scratch());
  snprintf(other, sizeof other, "%s/other.safetensors", ct_scratch());
  CT_REQUIRE(begin(&t) == GEMEL_OK && gemel_adam_with(t.loss, .rate = 0.1) == GEMEL_OK &&
             finish(&t) == GEMEL_OK);
  CT_REQUIRE(begin(&u) == GEMEL_OK && gemel_adam_with(u.loss, .rate = 0.1) == GEMEL_OK &&
             finish(&u) == GEMEL_OK);
  for (int k = 0; k < 3; k++) {
    CT_CHECK(call(&t) == GEMEL_OK);
  }
  CT_CHECK(gemel_states_save(t.graph, t.n, t.states, path, &error) == GEMEL_OK);
  CT_CHECK(gemel_states_load(u.graph, u.n, u.states, path, &error) == GEMEL_OK);
  CT_CHECK(call(&t) == GEMEL_OK && call(&u) == GEMEL_OK);
  read_state(&t, "w", a);
  read_state(&u, "w", b);
  CT_CHECK(a[0] == b[0] && a[1] == b[1]);
  CT_CHECK(gemel_states_load(u.graph, u.n - 1, u.states, path, &error) == GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_states_save(u.graph, u.n, u.states, NULL, &error) == GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_states_load(u.graph, u.n, u.states, "/nowhere/x", &error) == GEMEL_IO);
  /* Files that don't fit change nothing. */
  gemel_tensor *wide = gemel_tensor_new(GEMEL_F32, GEMEL_LIST(int64_t, 2), &error);
  gemel_tensor *longer = gemel_tensor_new(GEMEL_F64, GEMEL_LIST(int64_t, 3), &error);
  gemel_tensor *number = gemel_tensor_new(GEMEL_I64, 0, NULL, &error);
  gemel_tensor *good = gemel_tensor_new(GEMEL_F64, GEMEL_LIST(int64_t, 2), &error);
  const char *names[] = {"adam_steps", "count", "w", "w_mean", "w_square"};
  gemel_tensor *tensors[] = {number, number, wide, good, good};
  CT_CHECK(gemel_safetensors_save(5, names, tensors, other, &error) == GEMEL_OK);
  CT_CHECK(gemel_states_load(u.graph, u.n, u.states, other, &error) == GEMEL_BAD_TYPE &&
           strstr(error.text, "state w ") != NULL);
  tensors[2] = longer;
  CT_CHECK(gemel_safetensors_save(5, names, tensors, other, &error) == GEMEL_OK);
  CT_CHECK(gemel_states_load(u.graph, u.n, u.states, other, &error) == GEMEL_BAD_SHAPE);
  CT_CHECK(gemel_safetensors_save(2, names, tensors, other, &error) == GEMEL_OK);
  CT_CHECK(gemel_states_load(u.graph, u.n, u.states, other, &error) == GEMEL_NOT_FOUND);
  read_state(&u, "w", b);
  CT_CHECK(a[0] == b[0] && a[1] == b[1]);
  gemel_tensor_unref(wide);
  gemel_tensor_unref(longer);
  gemel_tensor_unref(number);
  gemel_tensor_unref(good);
  end(&t);
  end(&u);
}

/* ---- Memory ---- */

static int without_memory(void *data) {
  training t;
  gemel_status status = begin(&t);
  status = status == GEMEL_OK ? gemel_adam(t.loss) : status;
  status = status == GEMEL_OK ? finish(&t) : status;
  status = status == GEMEL_OK ? gemel_states_save(t.graph, t.n, t.states, data, &error) : status;
  status = status == GEMEL_OK ? gemel_states_load(t.graph, t.n, t.states, data, &error) : status;
  end(&t);
  return (int)status;
}

static void memory_refused(const void *unused) {
  (void)unused;
  char path[4096];
  snprintf(path, sizeof path, "%s/oom.safetensors", ct_scratch());
  CT_CHECK(ct_oom(without_memory, path) > 100);
}

/* ---- Variables that a function makes, and arrays ---- */

/* A step of w and of count on arrays: 1 if all went well; else the status. */
static int on_arrays(void *unused) {
  training t;
  double goal[2] = {1, -2}, loss = 0;
  (void)unused;
  gemel_status status = begin(&t);
  status = status == GEMEL_OK ? gemel_sgd_with(t.loss, .rate = 0.25) : status;
  t.function = status == GEMEL_OK ? gemel_compile_with(t.graph, &error, .make_states = 1) : NULL;
  status = status == GEMEL_OK && t.function == NULL ? error.status : status;
  for (int k = 0; k < 2 && t.function != NULL && status == GEMEL_OK; k++) {
    status =
        gemel_call_arrays(t.function, GEMEL_LIST(void *, goal), GEMEL_LIST(void *, &loss), &error);
    CT_CHECK(status != GEMEL_OK || loss == (k == 0 ? 5 : 1.25)); /* w is 0, then half of the way */
  }
  if (status == GEMEL_OK && t.function != NULL) {
    status = gemel_function_states(t.function, &t.n, &t.states, &error);
    CT_CHECK(status != GEMEL_OK ||
             (t.n == 2 && gemel_states_find(t.graph, t.n, t.states, "count") ==
                              gemel_function_state(t.function, "count")));
  }
  if (status == GEMEL_OK && t.function != NULL) {
    gemel_tensor *w = gemel_shared_get(gemel_function_state(t.function, "w"));
    gemel_tensor *count = gemel_shared_get(gemel_function_state(t.function, "count"));
    CT_CHECK(((double *)gemel_tensor_data(w))[1] == -1.5);
    CT_EQ_INT(*(int64_t *)gemel_tensor_data(count), 2);
    gemel_tensor_unref(w);
    gemel_tensor_unref(count);
  }
  end(&t);
  return (int)status;
}

static void arrays(const void *unused) {
  training t;
  double goal[2] = {1, -2}, loss = 0;
  (void)unused;
  CT_EQ_INT(on_arrays(NULL), GEMEL_OK);
  CT_CHECK(ct_oom(on_arrays, NULL) > 50);
  CT_EQ_INT(begin(&t), GEMEL_OK);
  t.function = gemel_compile_with(t.graph, &error, .make_states = 1);
  CT_CHECK(gemel_function_state(t.function, "x") == NULL);
  CT_CHECK(gemel_function_state(t.function, NULL) == NULL &&
           gemel_function_state(NULL, "w") == NULL);
  CT_EQ_INT(gemel_call_arrays(t.function, GEMEL_LIST(void *, goal, goal), GEMEL_LIST(void *, &loss),
                              &error),
            GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(
      gemel_call_arrays(t.function, GEMEL_LIST(void *, NULL), GEMEL_LIST(void *, &loss), NULL),
      GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_call_arrays(t.function, 1, NULL, GEMEL_LIST(void *, &loss), &error),
            GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_call_arrays(NULL, 0, NULL, 0, NULL, &error), GEMEL_BAD_ARGUMENT);
  end(&t);
}

/* Sizes that are symbols: no array says them, and no state is made of them. */
static void symbols(const void *unused) {
  (void)unused;
  double x[2] = {1, 2}, y[2];
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_output(gemel_neg(gemel_declare(graph, "x: f64[N]")), "y");
  gemel_function *function = gemel_compile(graph, NULL, &error);
  CT_EQ_INT(gemel_call_arrays(function, GEMEL_LIST(void *, x), GEMEL_LIST(void *, y), &error),
            GEMEL_BAD_SHAPE);
  CT_HAS_STR(error.text, "x has the size N, which is no number");
  gemel_function_free(function);
  gemel_declare(graph, "state s: f64[N]");
  CT_CHECK(gemel_compile_with(graph, &error, .make_states = 1) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_SHAPE);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static const ct_test tests[] = {CT_TEST("refused", refused, NULL), CT_TEST("files", files, NULL),
                                CT_TEST("arrays", arrays, NULL), CT_TEST("symbols", symbols, NULL),
                                CT_TEST("memory_refused", memory_refused, NULL)};

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(optimizers); k++) {
    CT_ADD("optimizers", optimizers[k].name, follows_formula, &optimizers[k]);
  }
  ct_suite("train", tests, CT_COUNT(tests));
}
