/*
 * Updates of states where the states lie. For each of some graphs: which updates are made in the
 * memory of the value before, by its address; that results and states are what the same graph gives
 * whose states are inputs; that a call that fails leaves all states as they were, and a value that
 * somebody holds stays.
 *
 * SPDX-License-Identifier: MIT
 */
#include "run.h"

#include <gemel/text.h>
#include "support/graph-text.h"

enum { N = 4, INPUTS = 3, STATES = 2, MOST_OUTPUTS = 5 };

/* What stands in a graph over x: f32[4], i: i64[], m: f32[4, 4] and the states a and b: f32[4]; for
 * each state '1' if its next value is made where the value was. */
typedef struct update_case {
  const char *name, *text, *in_place;
} update_case;

static const update_case cases[] = {
    {"elementwise", "update a = a + x update b = b * 2", "11"},
    {"not_read", "update a = x * 2 update b = neg(x)", "11"},
    {"kernel", "update a = dot(x, m) update b = sum(m, axes = [0])", "11"},
    {"product_that_adds", "update a = dot_add(x, m, a) update b = dot_add(m, a, b)", "11"},
    {"product_of_itself", "update a = dot_add(a, m, a) update b = dot_add(x, m, x)", "01"},
    {"kernel_reads", "update a = dot(a, m) update b = neg(b)", "01"},
    {"kernel_reads_view", "update a = dot(reverse(a, axes = [0]), m) update b = max(m, axes = [1])",
     "01"},
    {"reversed", "update a = a + reverse(a, axes = [0]) update b = b - x", "01"},
    {"returned", "update a = a + 1 update b = b + 1 return y = a", "01"},
    {"returned_view", "update a = a + 1 update b = b + 1 return y = reverse(a, axes = [0])", "01"},
    {"read_later", "update a = a + 1 update b = dot(x, m) return y = sum(a), z = dot(b, b)", "11"},
    {"read_both", "update a = a + 1 update b = b + 1 return y = dot(m, a), z = a * b", "11"},
    {"two_steps", "v = 0.9:f32 * a - x update a = v update b = b + v", "11"},
    {"crossed", "update a = a + b update b = b - a", "10"},
    {"exchanged", "update a = b update b = a", "00"},
    {"unchanged", "update a = a update b = b", "00"},
    {"twice", "v = a + x update a = v update b = v", "10"},
    {"returned_too", "v = a + x update a = v update b = b + a return y = v", "11"},
    {"accumulated", "update a = a + sum(m, axes = [0]) update b = maximum(b, max(m))", "11"},
    {"written",
     "update a = set_subtensor(a, subtensor(x, start = [0], size = [2]), start = [i])"
     " update b = inc_subtensor(b, x, start = [0])",
     "11"},
    {"written_before",
     "update a = set_subtensor(a, subtensor(x, start = [0], size = [2]), start = [i])"
     " update b = set_subtensor(b, subtensor(x, start = [0], size = [2]), start = [i])",
     "01"},
    {"written_from_itself",
     "update a = set_subtensor(a, subtensor(a, start = [2], size = [2]), start = [i])"
     " update b = b + sum(a)",
     "01"},
    {"fails_later",
     "v = exp(a) update a = v update b = b + sum(subtensor(v, start = [i], size = [1]))", "01"},
    {"fails_in_body",
     "v = exp(a) update a = v update b = b + 1 return y = invoke(v, i, body = graph (v: f32[4], j: "
     "i64[])"
     " { return w = subtensor(v, start = [j], size = [1]) })",
     "00"},
    {"fails_before", "update a = a + subtensor(x, start = [i], size = [1]) update b = b + 1", "11"},
};

/* ---- What a call is given ---- */

typedef struct fixture {
  gemel_context *context;
  gemel_graph *graph;
  gemel_tensor *inputs[INPUTS + STATES];
  gemel_shared *states[STATES];
  gemel_function *bound;
} fixture;

static gemel_tensor *index_of(int64_t i) {
  gemel_tensor *t = gemel_tensor_new(GEMEL_I64, 0, NULL, &error);
  *(int64_t *)gemel_tensor_data(t) = i;
  return t;
}

/* Adds an output that reads element i of the updates' sum, and so comes behind them. */
static void add_late(gemel_graph *graph) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_value sum = gemel_add(gemel_graph_output(graph, 0), gemel_graph_output(graph, 1));
  gemel_dim at = gemel_dim_of(gemel_graph_input(graph, 1)), one = gemel_dim_constant(context, 1);
  CT_CHECK(!gemel_is_null(gemel_graph_updated_state(graph, 0)) &&
           !gemel_is_null(gemel_graph_updated_state(graph, 1)));
  gemel_output(gemel_subtensor(sum, 1, &at, 1, &one), "late");
}

static void set_up(fixture *f, const update_case *c, int late, unsigned guard) {
  char text[700];
  int64_t shape[2] = {N, N};
  f->context = context_new();
  snprintf(text, sizeof text,
           "graph f(x: f32[4], i: i64[], m: f32[4, 4], state a: f32[4], state b: f32[4]) { %s }",
           c->text);
  f->graph = parse(f->context, text);
  if (late) {
    add_late(f->graph);
  }
  f->inputs[0] = vector_of(GEMEL_F32, N, 0.5);
  f->inputs[1] = index_of(1);
  f->inputs[2] = gemel_tensor_new(GEMEL_F32, 2, shape, &error);
  for (int k = 0; k < N * N; k++) {
    ((float *)gemel_tensor_data(f->inputs[2]))[k] = (float)(k % 5) - 1.5f;
  }
  for (int k = 0; k < STATES; k++) {
    f->inputs[INPUTS + k] = vector_of(GEMEL_F32, N, k - 1);
    f->states[k] = gemel_shared_new(f->inputs[INPUTS + k], &error);
  }
  gemel_options options = {.size = sizeof options,
                           .states = f->states,
                           .n_states = STATES,
                           .as_written = 1,
                           .guard = guard};
  f->bound = gemel_compile(f->graph, &options, &error);
  CT_CHECK(f->bound != NULL);
}

static void clear(fixture *f) {
  gemel_function_free(f->bound);
  for (int k = 0; k < INPUTS + STATES; k++) {
    gemel_tensor_unref(f->inputs[k]);
  }
  for (int k = 0; k < STATES; k++) {
    gemel_shared_unref(f->states[k]);
  }
  gemel_graph_unref(f->graph);
  gemel_context_unref(f->context);
}

static int same(const gemel_tensor *a, const gemel_tensor *b) {
  return a != NULL && b != NULL && gemel_tensor_elements(a) == gemel_tensor_elements(b) &&
         memcmp(gemel_tensor_data(a), gemel_tensor_data(b),
                (size_t)gemel_tensor_elements(a) * sizeof(float)) == 0;
}

static const void *place_of(const gemel_shared *shared) {
  gemel_tensor *value = gemel_shared_get(shared);
  const void *place = gemel_tensor_data(value);
  gemel_tensor_unref(value);
  return place;
}

static int holds(const gemel_shared *shared, const gemel_tensor *wanted) {
  gemel_tensor *value = gemel_shared_get(shared);
  int equal = same(value, wanted);
  gemel_tensor_unref(value);
  return equal;
}

/* ---- Calls ---- */

/* Calls F's function; then the graph, whose states are inputs; and compares all. */
static void step(fixture *f) {
  size_t n = gemel_graph_output_count(f->graph), mine = 0;
  gemel_tensor *wanted[MOST_OUTPUTS] = {NULL}, *given[MOST_OUTPUTS] = {NULL};
  CT_EQ_INT(
      gemel_evaluate(f->graph, gemel_graph_input_count(f->graph), f->inputs, n, wanted, &error),
      GEMEL_OK);
  CT_EQ_INT(
      gemel_call(f->bound, INPUTS, f->inputs, gemel_function_output_count(f->bound), given, &error),
      GEMEL_OK);
  for (size_t k = 0; k < n; k++) {
    if (gemel_is_null(gemel_graph_updated_state(f->graph, k))) {
      CT_CHECK(same(given[mine++], wanted[k]));
      gemel_tensor_unref(wanted[k]);
      continue;
    }
    size_t which = gemel_graph_output_name(f->graph, k)[0] == 'b';
    CT_CHECK(holds(f->states[which], wanted[k]));
    gemel_tensor_unref(f->inputs[INPUTS + which]);
    f->inputs[INPUTS + which] = wanted[k];
  }
  for (size_t k = 0; k < mine; k++) {
    gemel_tensor_unref(given[k]);
  }
}

static void is_made(const void *data) {
  const update_case *c = data;
  fixture f;
  set_up(&f, c, 0, 0);
  for (int round = 0; round < 4 && f.bound != NULL; round++) {
    const void *before[STATES] = {place_of(f.states[0]), place_of(f.states[1])};
    step(&f);
    for (int k = 0; k < STATES; k++) {
      CT_EQ_INT(place_of(f.states[k]) == before[k], c->in_place[k] == '1');
    }
  }
  clear(&f);
}

/* An index is out of range, in what the case computes or, where that reads none, behind it: the
 * call fails, nothing has changed, and the next call is right. */
static void fails(const void *data) {
  const update_case *c = data;
  int reads_index = strstr(c->text, "[i]") != NULL || strstr(c->text, ", i,") != NULL;
  fixture f;
  set_up(&f, c, !reads_index, 0);
  gemel_tensor *far = index_of(9), *near = f.inputs[1], *out[MOST_OUTPUTS] = {NULL};
  step(&f);
  for (int k = 0; k < INPUTS; k += 2) { /* else updates by x and m alone are as before */
    ((float *)gemel_tensor_data(f.inputs[k]))[0] += 2;
  }
  f.inputs[1] = far;
  CT_EQ_INT(
      gemel_call(f.bound, INPUTS, f.inputs, gemel_function_output_count(f.bound), out, &error),
      GEMEL_BAD_VALUE);
  f.inputs[1] = near;
  for (int k = 0; k < STATES; k++) {
    CT_CHECK(holds(f.states[k], f.inputs[INPUTS + k]));
  }
  step(&f);
  gemel_tensor_unref(far);
  clear(&f);
}

/* What is got from a variable stays as it is, over calls that would work in place. */
static void stays(const void *data) {
  fixture f;
  set_up(&f, data, 0, 0);
  for (int round = 0; round < 3 && f.bound != NULL; round++) {
    gemel_tensor *held[STATES] = {gemel_shared_get(f.states[0]), gemel_shared_get(f.states[1])};
    gemel_tensor *before[STATES] = {gemel_tensor_ref(f.inputs[INPUTS]),
                                    gemel_tensor_ref(f.inputs[INPUTS + 1])};
    step(&f);
    for (int k = 0; k < STATES; k++) {
      CT_CHECK(same(held[k], before[k]));
      gemel_tensor_unref(held[k]);
      gemel_tensor_unref(before[k]);
    }
    step(&f);
  }
  clear(&f);
}

/* The guard looks at results when they are there: a state must still be what it was. */
static void guarded(const void *data) {
  static const update_case c = {"guarded", "update a = 1:f32 / x update b = neg(x)", "00"};
  fixture f;
  (void)data;
  set_up(&f, &c, 0, GEMEL_GUARD_NAN | GEMEL_GUARD_INF);
  step(&f);
  ((float *)gemel_tensor_data(f.inputs[0]))[2] = 0;
  CT_CHECK(gemel_call(f.bound, INPUTS, f.inputs, 0, NULL, &error) != GEMEL_OK);
  for (int k = 0; k < STATES; k++) {
    CT_CHECK(holds(f.states[k], f.inputs[INPUTS + k]));
  }
  clear(&f);
}

/* States that aren't bound: input and result may be one tensor, in place or not. */
static void one_tensor(const void *data) {
  const update_case *c = data;
  fixture f;
  set_up(&f, c, 0, 0);
  gemel_options options = {.size = sizeof options, .as_written = 1};
  gemel_function *g = gemel_compile(f.graph, &options, &error);
  gemel_tensor *wanted[MOST_OUTPUTS] = {NULL}, *given[MOST_OUTPUTS] = {NULL};
  size_t n = gemel_graph_output_count(f.graph);
  CT_EQ_INT(gemel_evaluate(f.graph, gemel_graph_input_count(f.graph), f.inputs, n, wanted, &error),
            GEMEL_OK);
  for (size_t k = 0; k < n; k++) {
    given[k] = gemel_is_null(gemel_graph_updated_state(f.graph, k))
                   ? NULL
                   : f.inputs[INPUTS + (gemel_graph_output_name(f.graph, k)[0] == 'b')];
  }
  CT_EQ_INT(gemel_call(g, gemel_graph_input_count(f.graph), f.inputs, n, given, &error), GEMEL_OK);
  for (size_t k = 0; k < n; k++) {
    CT_CHECK(same(given[k], wanted[k]));
    if (gemel_is_null(gemel_graph_updated_state(f.graph, k))) {
      gemel_tensor_unref(given[k]);
    }
    gemel_tensor_unref(wanted[k]);
  }
  gemel_function_free(g);
  clear(&f);
}

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    CT_ADD("made", cases[k].name, is_made, &cases[k]);
    CT_ADD("fails", cases[k].name, fails, &cases[k]);
    CT_ADD("stays", cases[k].name, stays, &cases[k]);
    CT_ADD("one_tensor", cases[k].name, one_tensor, &cases[k]);
  }
  CT_ADD("updates", "guarded", guarded, NULL);
}
