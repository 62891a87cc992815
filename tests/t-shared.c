/*
 * Shared variables: states and updates in graphs, in text and in bytes; calls that read all states
 * before any changes, that leave them alone when they fail, that copy and allocate nothing once
 * they have been made twice; several functions over the same variables.
 *
 * SPDX-License-Identifier: MIT
 */
#include "run.h"

#include <gemel/text.h>
#include "core/alloc.h"
#include "text/write.h"
#include "support/graph-text.h"

static gemel_shared *variable(int64_t n, double first) {
  gemel_tensor *value = vector_of(GEMEL_F32, n, first);
  gemel_shared *shared = gemel_shared_new(value, &error);
  CT_CHECK(shared != NULL);
  gemel_tensor_unref(value);
  return shared;
}

static gemel_function *bound(gemel_graph *graph, size_t n, gemel_shared *const *states) {
  gemel_options options = {.size = sizeof options, .states = states, .n_states = n};
  return gemel_compile(graph, &options, &error);
}

/* Compares the variable's first element with what it should be. */
static void holds(const gemel_shared *shared, float wanted) {
  gemel_tensor *value = gemel_shared_get(shared);
  CT_CHECK(float_at(value, 0) == (double)wanted);
  gemel_tensor_unref(value);
}

/* ---- Graphs ---- */

static const char training[] = "graph step(x: f32[3], state w: f32[3], state n: i64[]) {\n"
                               "  n0 = sub(w, x)\n"
                               "  n1 = 0.5:f32\n"
                               "  n2 = mul(n1, n0)\n"
                               "  n3 = sub(w, n2)\n"
                               "  n4 = sqr(n0)\n"
                               "  n5 = sum(n4)\n"
                               "  n6 = 1:i64\n"
                               "  n7 = add(n, n6)\n"
                               "  update w = n3\n"
                               "  update n = n7\n"
                               "  return loss = n5\n"
                               "}\n";

static int prints(const gemel_graph *graph, const char *wanted) {
  char *text = gemel_print_string(graph, "step", &error);
  int same = CT_EQ_STR(text, wanted);
  gemel_text_free(text);
  return same;
}

/* Text and bytes come back as what they were; a rewritten graph has its states and updates. */
static void stored(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, training), *back;
  gemel__text_memory bytes = {0};
  (void)data;
  prints(graph, training);
  CT_EQ_INT(gemel_is_state(gemel_graph_input(graph, 0)), 0);
  CT_EQ_INT(gemel_is_state(gemel_graph_input(graph, 1)), 1);
  CT_EQ_INT(gemel_is_state(gemel_graph_output(graph, 0)), 0);
  CT_EQ_INT(gemel_serialize(graph, "step", gemel__memory_write, &bytes, &error), GEMEL_OK);
  back = gemel_deserialize(context, bytes.bytes, bytes.count, NULL, &error);
  CT_CHECK(back != NULL && prints(back, training));
  gemel_graph_unref(back);
  gemel__free(bytes.bytes, bytes.capacity);
  back = gemel_rewrite(graph, NULL, &error);
  CT_CHECK(back != NULL && gemel_is_state(gemel_graph_input(back, 1)));
  CT_EQ_INT(gemel_graph_check(back, &error), GEMEL_OK);
  CT_EQ_STR(gemel_graph_output_name(back, 0), "w");
  CT_EQ_UINT(gemel_graph_updated_state(back, 0).node, gemel_graph_input(back, 1).node);
  CT_CHECK(gemel_is_null(gemel_graph_updated_state(back, 2)));
  CT_CHECK(gemel_is_null(gemel_graph_updated_state(back, 3)));
  gemel_graph_unref(back);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* An update that stands behind another output keeps its place; names like the words are names. */
static void places(const void *data) {
  static const char *const texts[] = {
      "graph step(state w: f32[2]) {\n  n0 = neg(w)\n  return y = n0, w = n0\n}\n",
      ("graph step(state: f32[2], update: f32[2]) {\n"
       "  n0 = add(state, update)\n  return update = n0\n}\n"),
      "graph step(state state: f32[2]) {\n  n0 = neg(state)\n  update state = n0\n}\n"};
  gemel_context *context = context_new();
  (void)data;
  for (size_t k = 0; k < CT_COUNT(texts); k++) {
    gemel_graph *graph = parse(context, texts[k]);
    CT_CHECK(graph != NULL && prints(graph, texts[k]));
    gemel_graph_unref(graph);
  }
  gemel_context_unref(context);
}

typedef struct faulty {
  const char *text, *message;
} faulty;

static const faulty faults[] = {
    {"graph f(x: f32[2]) { update x = x }", "is no state"},
    {"graph f(state w: f32[2]) { update v = w }", "'v' is no state"},
    {"graph f(state w: f32[2]) { update w = sum(w) }",
     "the update of state w is f32[], and the state is f32[2]"},
    {"graph f(state w: f32[2]) { return w = cast(w, dtype = f64) }",
     "the update of state w is f64"},
    {"graph f(state w: f32[N], x: f32[M]) { update w = x }", "the update of state w is f32[M]"},
    {"graph f(state w: f32[2]) { update w = w return w = neg(w) }", "an output called w already"},
};

static void is_refused(const void *data) {
  const faulty *f = data;
  gemel_context *context = context_new();
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  gemel_graph *graph = gemel_parse(context, f->text, strlen(f->text), "t.gmt", NULL, &mine);
  CT_CHECK(graph == NULL && strstr(mine.text, f->message) != NULL);
  ct_context("%s", mine.text);
  CT_CHECK(graph == NULL && strstr(mine.text, "t.gmt:1") != NULL);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* From C: what gemel_state and gemel_update refuse. */
static void builders(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value x = f32_input(graph, "x", NULL, 2), null = {NULL, 0, 0};
  gemel_value w = gemel_state(graph, "w", gemel_value_type(x));
  char place[100];
  (void)data;
  CT_CHECK(gemel_is_state(w) && !gemel_is_state(x) && !gemel_is_state(null));
  snprintf(place, sizeof place, "t-shared.c:%d: update of x: it is no state", __LINE__ + 1);
  CT_EQ_INT(gemel_update(x, x), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(gemel_graph_error(graph)->text, place);
  gemel_graph_clear_error(graph);
  snprintf(place, sizeof place, "t-shared.c:%d: output 9: malformed name", __LINE__ + 1);
  CT_EQ_INT(gemel_output(x, "9"), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(gemel_graph_error(graph)->text, place);
  gemel_graph_clear_error(graph);
  CT_EQ_INT(gemel_update(x, w), GEMEL_BAD_ARGUMENT);
  gemel_graph_clear_error(graph);
  CT_EQ_INT(gemel_update(w, null), GEMEL_BAD_ARGUMENT);
  gemel_graph_clear_error(graph);
  CT_EQ_INT(gemel_update(null, null), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_update(w, gemel_sum(w)), GEMEL_BAD_TYPE);
  gemel_graph_clear_error(graph);
  CT_EQ_INT(gemel_update(w, x), GEMEL_OK);
  CT_EQ_INT(gemel_update(w, x), GEMEL_BAD_ARGUMENT); /* there is one */
  gemel_graph_clear_error(graph);
  CT_EQ_INT(gemel_output(x, "y"), GEMEL_OK);
  CT_CHECK(gemel_is_null(gemel_state(graph, "y", gemel_value_type(x))));
  CT_CHECK(gemel_is_null(gemel_state(NULL, "z", gemel_value_type(x))));
  CT_CHECK(gemel_is_null(gemel_state(graph, NULL, gemel_value_type(x))));
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Calls ---- */

/* All states are read before any is written: two variables change places, a third counts. */
static void exchange(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, "graph f(state a: f32[3], state b: f32[3], state c: f32[3]) {"
                                      " update a = b update b = a update c = c + 1"
                                      " return s = a - b }");
  gemel_shared *states[] = {variable(3, 1), variable(3, 5), variable(3, 0)};
  gemel_function *f = bound(graph, 3, states);
  (void)data;
  for (int k = 1; f != NULL && k <= 5; k++) {
    gemel_tensor *s = NULL;
    CT_EQ_INT(gemel_call(f, 0, NULL, 1, &s, &error), GEMEL_OK);
    CT_CHECK(float_at(s, 0) == (k % 2 ? -4 : 4));
    holds(states[0], k % 2 ? 5 : 1);
    holds(states[1], k % 2 ? 1 : 5);
    holds(states[2], (float)k);
    gemel_tensor_unref(s);
  }
  gemel_function_free(f);
  for (int k = 0; k < 3; k++) {
    gemel_shared_unref(states[k]);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* One function trains, another one evaluates the same variable; what is got stays as it was. */
static void two_functions(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *train = parse(context, training);
  gemel_graph *apply = parse(context, "graph g(x: f32[3], state w: f32[3]) { return y = w * x }");
  gemel_tensor *x = vector_of(GEMEL_F32, 3, 8), *count = NULL, *y = NULL, *loss = NULL, *before;
  gemel_shared *w = variable(3, 0), *n;
  (void)data;
  count = gemel_tensor_new(GEMEL_I64, 0, NULL, &error);
  n = gemel_shared_new(count, &error);
  gemel_function *f = bound(train, 2, (gemel_shared *[]){w, n}), *g = bound(apply, 1, &w);
  before = gemel_shared_get(w);
  CT_EQ_INT(gemel_call(f, 1, &x, 1, &loss, &error), GEMEL_OK);
  CT_CHECK(float_at(loss, 0) == 192); /* three times 8 * 8 */
  CT_EQ_INT(gemel_call(g, 1, &x, 1, &y, &error), GEMEL_OK);
  CT_CHECK(float_at(y, 0) == 32);
  CT_EQ_INT(gemel_call(f, 1, &x, 1, &loss, &error), GEMEL_OK);
  holds(w, 6);
  CT_CHECK(float_at(before, 0) == 0);
  CT_EQ_INT(gemel_shared_set(w, x, &error), GEMEL_OK);
  CT_EQ_INT(gemel_call(g, 1, &x, 1, &y, &error), GEMEL_OK);
  CT_CHECK(float_at(y, 0) == 64);
  gemel_tensor_unref(before);
  before = gemel_shared_get(n);
  CT_EQ_INT(*(int64_t *)gemel_tensor_data(before), 2);
  gemel_tensor_unref(before);
  gemel_function_free(f);
  gemel_function_free(g);
  gemel_shared_unref(w);
  gemel_shared_unref(n);
  gemel_tensor_unref(count);
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  gemel_tensor_unref(loss);
  gemel_graph_unref(train);
  gemel_graph_unref(apply);
  gemel_context_unref(context);
}

/* A call that fails, here for an index out of range behind an update that was computed, changes
 * neither state nor outputs. */
static void failure(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, "graph f(x: f32[3], i: i64[], state w: f32[3]) {"
                                      " update w = w + x"
                                      " return y = subtensor(w + x, start = [i], size = [1]) }");
  gemel_shared *w = variable(3, 1);
  gemel_function *f = bound(graph, 1, &w);
  gemel_tensor *x = vector_of(GEMEL_F32, 3, 1);
  gemel_tensor *i = gemel_tensor_new(GEMEL_I64, 0, NULL, &error), *y = NULL;
  (void)data;
  *(int64_t *)gemel_tensor_data(i) = 7;
  CT_EQ_INT(gemel_call(f, GEMEL_LIST(gemel_tensor *, x, i), 1, &y, &error), GEMEL_BAD_VALUE);
  CT_CHECK(y == NULL);
  holds(w, 1);
  *(int64_t *)gemel_tensor_data(i) = 0;
  CT_EQ_INT(gemel_call(f, GEMEL_LIST(gemel_tensor *, x, i), 1, &y, &error), GEMEL_OK);
  holds(w, 2);
  CT_EQ_INT(gemel_call(f, 0, NULL, 1, &y, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_call(f, GEMEL_LIST(gemel_tensor *, x, NULL), 1, &y, &error), GEMEL_BAD_ARGUMENT);
  CT_CHECK(strstr(error.text, "input i is missing") != NULL);
  holds(w, 2);
  CT_EQ_INT(gemel_shared_set(w, i, &error), GEMEL_OK); /* of another type */
  CT_EQ_INT(gemel_call(f, GEMEL_LIST(gemel_tensor *, x, i), 1, &y, &error), GEMEL_BAD_TYPE);
  CT_CHECK(strstr(error.text, "input w should be f32[3] and is i64[]") != NULL);
  gemel_function_free(f);
  gemel_shared_unref(w);
  gemel_tensor_unref(x);
  gemel_tensor_unref(i);
  gemel_tensor_unref(y);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* As many tensors as the graph has inputs and outputs, without those that are bound. */
static void counts(const void *data) {
  static const char text[] = "graph f(x: f32[3], state w: f32[3], i: i64[]) {"
                             " update w = w + x return y = x * w, j = i + i }";
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, text);
  gemel_shared *w = variable(3, 1);
  gemel_function *f = bound(graph, 1, &w), *loose = bound(graph, 0, NULL);
  gemel_tensor *x = vector_of(GEMEL_F32, 3, 1), *i = gemel_tensor_new(GEMEL_I64, 0, NULL, &error);
  gemel_tensor *out[3] = {NULL};
  (void)data;
  CT_EQ_UINT(gemel_function_input_count(f), 2);
  CT_EQ_UINT(gemel_function_output_count(f), 2);
  CT_EQ_UINT(gemel_function_input_count(loose), 3);
  CT_EQ_UINT(gemel_function_output_count(loose), 3);
  CT_EQ_INT(gemel_call(f, 1, &x, 2, out, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "a call takes 2 inputs, and 1 is given: x, i");
  CT_EQ_INT(gemel_call(f, GEMEL_LIST(gemel_tensor *, x, i, x), 2, out, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "a call takes 2 inputs, and 3 are given: x, i");
  CT_EQ_INT(gemel_call(f, GEMEL_LIST(gemel_tensor *, x, i), 3, out, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "a call takes 2 outputs, and 3 are given: y, j");
  CT_EQ_INT(gemel_evaluate(graph, 1, &x, 3, out, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "a call takes 3 inputs, and 1 is given: x, w, i");
  CT_EQ_INT(gemel_call(f, 2, NULL, 2, out, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "the inputs of a call are missing");
  CT_CHECK(out[0] == NULL && out[1] == NULL && out[2] == NULL);
  holds(w, 1);
  CT_EQ_INT(gemel_call(f, GEMEL_LIST(gemel_tensor *, x, i), 2, out, &error), GEMEL_OK);
  holds(w, 2);
  gemel_function_free(f);
  gemel_function_free(loose);
  gemel_shared_unref(w);
  gemel_tensor_unref(x);
  gemel_tensor_unref(i);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* What can't be bound, and a graph with states that isn't. */
static void binding(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph =
      parse(context, "graph f(state a: f32[2], state b: f32[2]) { update a = b return y = a }");
  gemel_shared *a = variable(2, 1), *b = variable(2, 2);
  gemel_tensor *in[] = {vector_of(GEMEL_F32, 2, 1), vector_of(GEMEL_F32, 2, 2)}, *out[2] = {0};
  gemel_function *f;
  (void)data;
  CT_CHECK(bound(graph, 1, &a) == NULL && strstr(error.text, "has 2 states") != NULL);
  CT_CHECK(bound(graph, 2, NULL) == NULL && strstr(error.text, "state a has no") != NULL);
  CT_CHECK(bound(graph, 2, (gemel_shared *[]){a, NULL}) == NULL);
  CT_CHECK(bound(graph, 2, (gemel_shared *[]){a, a}) == NULL &&
           strstr(error.text, "state b is given") != NULL);
  f = bound(graph, 2, (gemel_shared *[]){b, a}); /* bound again after a refusal */
  CT_CHECK(f != NULL);
  gemel_function_free(f);
  CT_EQ_INT(gemel_evaluate(graph, 2, in, 2, out, &error), GEMEL_OK);
  CT_CHECK(float_at(out[0], 0) == 2);
  CT_CHECK(float_at(out[1], 0) == 1);
  CT_CHECK(gemel_shared_new(NULL, &error) == NULL && gemel_shared_get(NULL) == NULL);
  CT_EQ_INT(gemel_shared_set(a, NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_shared_set(NULL, in[0], &error), GEMEL_BAD_ARGUMENT);
  for (int k = 0; k < 2; k++) {
    gemel_tensor_unref(in[k]);
    gemel_tensor_unref(out[k]);
  }
  gemel_shared_unref(a);
  gemel_shared_unref(b);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* The value changes where it lies; one that is held stays. */
static void memory(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, "graph f(state w: f32[3]) { update w = w + 1 }");
  gemel_shared *w = variable(3, 0);
  gemel_function *f = bound(graph, 1, &w);
  const void *at[6];
  gemel_tensor *held, *value;
  (void)data;
  for (int k = 0; k < 6; k++) {
    CT_EQ_INT(gemel_call(f, 0, NULL, 0, NULL, &error), GEMEL_OK);
    value = gemel_shared_get(w);
    at[k] = gemel_tensor_data(value);
    gemel_tensor_unref(value);
  }
  CT_CHECK(at[0] == at[1] && at[1] == at[2] && at[2] == at[3] && at[3] == at[4] && at[4] == at[5]);
  held = gemel_shared_get(w);
  for (int k = 0; k < 3; k++) {
    CT_EQ_INT(gemel_call(f, 0, NULL, 0, NULL, &error), GEMEL_OK);
    CT_CHECK(float_at(held, 0) == 6);
  }
  holds(w, 9);
  gemel_tensor_unref(held);
  gemel_function_free(f);
  gemel_shared_unref(w);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Sizes that are symbols: the value may have another size after gemel_shared_set. */
static void symbols(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = parse(context, "graph f(state w: f32[N]) { update w = w * 2 }");
  gemel_shared *w = variable(3, 1);
  gemel_function *f = bound(graph, 1, &w);
  (void)data;
  for (int64_t n = 3; n < 7; n++) {
    gemel_tensor *value = vector_of(GEMEL_F32, n, 1);
    CT_EQ_INT(gemel_shared_set(w, value, &error), GEMEL_OK);
    gemel_tensor_unref(value);
    for (int k = 0; k < 3; k++) {
      CT_EQ_INT(gemel_call(f, 0, NULL, 0, NULL, &error), GEMEL_OK);
    }
    value = gemel_shared_get(w);
    CT_EQ_INT(gemel_tensor_shape(value)[0], n);
    CT_CHECK(float_at(value, n - 1) == (double)(8 * n));
    gemel_tensor_unref(value);
  }
  gemel_function_free(f);
  gemel_shared_unref(w);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Refused memory ---- */

static int all_of_it(void *data) {
  int64_t n = 3;
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&mine);
  gemel_graph *graph =
      context != NULL ? gemel_parse(context, data, strlen(data), "", NULL, &mine) : NULL;
  gemel_tensor *value = graph != NULL ? gemel_tensor_new(GEMEL_F32, 1, &n, &mine) : NULL;
  gemel_shared *w = value != NULL ? gemel_shared_new(value, &mine) : NULL;
  gemel_options options = {
      .size = sizeof options, .states = &w, .n_states = 1, .as_written = 1, .threads = 1};
  gemel_function *f = w != NULL ? gemel_compile(graph, &options, &mine) : NULL;
  gemel_status status = f != NULL ? GEMEL_OK : mine.status;
  for (int k = 0; k < 3 && status == GEMEL_OK; k++) {
    status = gemel_call(f, 0, NULL, 0, NULL, &mine);
    if (status == GEMEL_OK) {
      holds(w, (float)(k + 1));
    } else {
      holds(w, (float)k);
    }
  }
  gemel_function_free(f);
  gemel_shared_unref(w);
  gemel_tensor_unref(value);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status;
}

static void refused(const void *data) {
  static char text[] = "graph f(state w: f32[3]) { update w = w + 1 }";
  (void)data;
  CT_CHECK(ct_oom(all_of_it, text) > 20);
}

static const ct_test tests[] = {
    CT_TEST("stored", stored, NULL),
    CT_TEST("places", places, NULL),
    CT_TEST("builders", builders, NULL),
    CT_TEST("exchange", exchange, NULL),
    CT_TEST("two_functions", two_functions, NULL),
    CT_TEST("failure", failure, NULL),
    CT_TEST("counts", counts, NULL),
    CT_TEST("binding", binding, NULL),
    CT_TEST("memory", memory, NULL),
    CT_TEST("symbols", symbols, NULL),
    CT_TEST("refused", refused, NULL),
};

void ct_register(void) {
  ct_suite("shared", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(faults); k++) {
    char name[32];
    snprintf(name, sizeof name, "fault_%zu", k);
    CT_ADD("shared", name, is_refused, &faults[k]);
  }
}
