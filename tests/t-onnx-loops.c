/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM of ONNX against plain loops over single numbers: directions, sequences of
 * different lengths, peepholes, activations with parameters, and what is clipped, coupled or reset.
 * Loop, Scan and If against the same in C: bodies that read what is around them, in each other, and
 * numbers of steps that only a call knows.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include "ct.h"
#include "onnx-writer.h"
#include "support/near.h"

enum { STEPS = 4, BATCH = 3, WIDTH = 2, HIDDEN = 2, MOST = 200 };

typedef struct recurrent_case {
  const char *name, *kind, *direction;
  int gates, states; /* STATES: h, and c of LSTM */
  const char *activations[3];
  float alpha[2], beta[2];
  int n_alpha, n_beta;
  float clip;
  int linear_before_reset, input_forget;
} recurrent_case;

static const recurrent_case cases[] = {
    {.name = "rnn", .kind = "RNN", .direction = "bidirectional", .gates = 1, .states = 1},
    {.name = "rnn_scaled",
     .kind = "RNN",
     .direction = "reverse",
     .gates = 1,
     .states = 1,
     .activations = {"ScaledTanh"},
     .alpha = {0.75F},
     .beta = {0.5F},
     .n_alpha = 1,
     .n_beta = 1},
    {.name = "gru", .kind = "GRU", .direction = "bidirectional", .gates = 3, .states = 1},
    {.name = "gru_reset_behind",
     .kind = "GRU",
     .direction = "reverse",
     .gates = 3,
     .states = 1,
     .clip = 0.5F,
     .linear_before_reset = 1},
    {.name = "lstm", .kind = "LSTM", .direction = "bidirectional", .gates = 4, .states = 2},
    {.name = "lstm_activations",
     .kind = "LSTM",
     .direction = "forward",
     .gates = 4,
     .states = 2,
     .activations = {"HardSigmoid", "LeakyRelu", "Softsign"},
     .alpha = {0.25F, 0.125F},
     .beta = {0.375F},
     .n_alpha = 2,
     .n_beta = 1},
    {.name = "lstm_coupled",
     .kind = "LSTM",
     .direction = "reverse",
     .gates = 4,
     .states = 2,
     .clip = 0.5F,
     .input_forget = 1},
};

/* ---- Data ---- */

/* x, w, r, b, lengths, h, c, p: as the operators have them. */
typedef struct recurrent_data {
  int directions;
  float x[MOST], w[MOST], r[MOST], b[MOST], h[MOST], c[MOST], p[MOST];
} recurrent_data;

static const int32_t lengths[BATCH] = {4, 1, 3};

static void fill(float *values, unsigned seed) {
  for (int k = 0; k < MOST; k++) {
    seed = seed * 1664525U + 1013904223U;
    values[k] = (float)(seed >> 20) / 2048.0F - 1;
  }
}

static int is(const recurrent_case *of, const char *direction) {
  return strcmp(of->direction, direction) == 0;
}

static void make_data(const recurrent_case *of, recurrent_data *d) {
  float *all[] = {d->x, d->w, d->r, d->b, d->h, d->c, d->p};
  d->directions = is(of, "bidirectional") ? 2 : 1;
  for (unsigned k = 0; k < CT_COUNT(all); k++) {
    fill(all[k], k + 1);
  }
}

/* ---- The twin ---- */

static double activation(const recurrent_case *of, int k, double x) {
  const char *name = of->activations[k];
  double alpha = (double)of->alpha[k], beta = (double)of->beta[k];
  x = of->clip > 0 && k < 2 ? fmin(fmax(x, -(double)of->clip), (double)of->clip) : x;
  if (name == NULL) {
    return k == 0 && of->gates > 1 ? 1 / (1 + exp(-x)) : tanh(x);
  }
  return strcmp(name, "ScaledTanh") == 0    ? alpha * tanh(beta * x)
         : strcmp(name, "HardSigmoid") == 0 ? fmin(fmax(alpha * x + beta, 0), 1)
         : strcmp(name, "LeakyRelu") == 0   ? (x < 0 ? alpha * x : x)
                                            : x / (1 + fabs(x));
}

/* What unit J's gate G gets of x (WHAT 0) or of the state H (1), with that one's bias. */
static double gate(const recurrent_case *of, const recurrent_data *d, int direction, int g, int j,
                   int what, const double *from) {
  int row = direction * of->gates * HIDDEN + g * HIDDEN + j, size = what == 0 ? WIDTH : HIDDEN;
  const float *weights = (what == 0 ? d->w : d->r) + row * size;
  double sum =
      (double)d->b[direction * 2 * of->gates * HIDDEN + (what * of->gates + g) * HIDDEN + j];
  for (int k = 0; k < size; k++) {
    sum += (double)weights[k] * from[k];
  }
  return sum;
}

static void twin_gru(const recurrent_case *of, const recurrent_data *d, int direction,
                     const double *x, double *h) {
  double z[HIDDEN], r[HIDDEN], reset[HIDDEN], next[HIDDEN];
  for (int j = 0; j < HIDDEN; j++) {
    z[j] =
        activation(of, 0, gate(of, d, direction, 0, j, 0, x) + gate(of, d, direction, 0, j, 1, h));
    r[j] =
        activation(of, 0, gate(of, d, direction, 1, j, 0, x) + gate(of, d, direction, 1, j, 1, h));
    reset[j] = r[j] * h[j];
  }
  for (int j = 0; j < HIDDEN; j++) {
    double inner = of->linear_before_reset ? r[j] * gate(of, d, direction, 2, j, 1, h)
                                           : gate(of, d, direction, 2, j, 1, reset);
    double own = activation(of, 1, gate(of, d, direction, 2, j, 0, x) + inner);
    next[j] = (1 - z[j]) * own + z[j] * h[j];
  }
  memcpy(h, next, sizeof next);
}

static void twin_lstm(const recurrent_case *of, const recurrent_data *d, int direction,
                      const double *x, double *h, double *c) {
  double next[HIDDEN];
  for (int j = 0; j < HIDDEN; j++) {
    const float *p = d->p + direction * 3 * HIDDEN + j;
    double sum[4];
    for (int g = 0; g < 4; g++) {
      sum[g] = gate(of, d, direction, g, j, 0, x) + gate(of, d, direction, g, j, 1, h);
    }
    double i = activation(of, 0, sum[0] + (double)p[0] * c[j]);
    double f = of->input_forget ? 1 - i : activation(of, 0, sum[2] + (double)p[2 * HIDDEN] * c[j]);
    c[j] = f * c[j] + i * activation(of, 1, sum[3]);
    double o = activation(of, 0, sum[1] + (double)p[HIDDEN] * c[j]);
    next[j] = o * activation(of, 2, c[j]);
  }
  memcpy(h, next, sizeof next);
}

static void twin_step(const recurrent_case *of, const recurrent_data *d, int direction,
                      const double *x, double *h, double *c) {
  double next[HIDDEN];
  if (of->gates == 3) {
    twin_gru(of, d, direction, x, h);
  } else if (of->gates == 4) {
    twin_lstm(of, d, direction, x, h, c);
  } else {
    for (int j = 0; j < HIDDEN; j++) {
      next[j] = activation(of, 0,
                           gate(of, d, direction, 0, j, 0, x) + gate(of, d, direction, 0, j, 1, h));
    }
    memcpy(h, next, sizeof next);
  }
}

/* Sequence B from its one end to the other: Y[T, directions, B, H] and the last states. */
static void twin_sequence(const recurrent_case *of, const recurrent_data *d, int direction, int b,
                          double *y, double *last, double *last_c) {
  int backwards = is(of, "reverse") || direction == 1, state = (direction * BATCH + b) * HIDDEN;
  double h[HIDDEN], c[HIDDEN], x[WIDTH];
  for (int j = 0; j < HIDDEN; j++) {
    h[j] = (double)d->h[state + j];
    c[j] = (double)d->c[state + j];
  }
  for (int k = 0; k < lengths[b]; k++) {
    int t = backwards ? lengths[b] - 1 - k : k;
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (double)d->x[(t * BATCH + b) * WIDTH + i];
    }
    twin_step(of, d, direction, x, h, c);
    memcpy(y + ((t * d->directions + direction) * BATCH + b) * HIDDEN, h, sizeof h);
  }
  memcpy(last + state, h, sizeof h);
  memcpy(last_c + state, c, sizeof c);
}

/* ---- The model ---- */

static void put_float(message *m, unsigned number, float value) {
  put_varint(m, number << 3 | 5);
  put_bytes(m, &value, sizeof value);
}

static void put_floats(message *attributes, const char *name, int n, const float *values) {
  message a = {0};
  put_text(&a, 1, name);
  for (int k = 0; k < n; k++) {
    put_float(&a, 7, values[k]);
  }
  put_message(attributes, 5, &a);
}

static void put_attributes(const recurrent_case *of, message *attributes) {
  message a = {0};
  put_int_attribute(attributes, "hidden_size", HIDDEN);
  put_int_attribute(attributes, "linear_before_reset", of->linear_before_reset);
  put_int_attribute(attributes, "input_forget", of->input_forget);
  put_text(&a, 1, "direction");
  put_text(&a, 4, of->direction);
  put_message(attributes, 5, &a);
  put_text(&a, 1, "clip");
  put_float(&a, 2, of->clip);
  put_message(attributes, 5, &a);
  if (of->activations[0] != NULL) {
    put_text(&a, 1, "activations");
    for (int k = 0; k < 3 && of->activations[k] != NULL; k++) {
      put_text(&a, 9, of->activations[k]);
    }
    put_message(attributes, 5, &a);
    put_floats(attributes, "activation_alpha", of->n_alpha, of->alpha);
    put_floats(attributes, "activation_beta", of->n_beta, of->beta);
  }
}

static void put_tensor(message *graph, const char *name, int a, int b, int c, const float *values) {
  message tensor = {0};
  const int64_t shape[3] = {a, b, c};
  raw_tensor(&tensor, name, ONNX_FLOAT, c == 0 ? 2 : 3, shape, values,
             (size_t)(a * b * (c == 0 ? 1 : c)) * sizeof *values);
  put_message(graph, 5, &tensor);
}

static void recurrent_model(const recurrent_case *of, const recurrent_data *d, message *model) {
  static const int64_t x_shape[3] = {-1, BATCH, WIDTH}, three[1] = {BATCH};
  message graph = {0}, attributes = {0}, tensor = {0};
  int n = d->directions, rows = of->gates * HIDDEN;
  put_attributes(of, &attributes);
  put_node(&graph, of->kind, of->states > 1 ? "x w r b n h c p" : "x w r b n h",
           of->states > 1 ? "y last memory" : "y last", &attributes);
  put_text(&graph, 2, "recurrent");
  put_tensor(&graph, "w", n, rows, WIDTH, d->w);
  put_tensor(&graph, "r", n, rows, HIDDEN, d->r);
  put_tensor(&graph, "b", n, 2 * rows, 0, d->b);
  raw_tensor(&tensor, "n", 6, 1, three, lengths, sizeof lengths);
  put_message(&graph, 5, &tensor);
  put_tensor(&graph, "h", n, BATCH, HIDDEN, d->h);
  put_tensor(&graph, "c", n, BATCH, HIDDEN, d->c);
  put_tensor(&graph, "p", n, 3 * HIDDEN, 0, d->p);
  put_value(&graph, 11, "x", ONNX_FLOAT, 3, x_shape);
  put_value(&graph, 12, "y", ONNX_FLOAT, 0, NULL);
  put_value(&graph, 12, "last", ONNX_FLOAT, 0, NULL);
  if (of->states > 1) {
    put_value(&graph, 12, "memory", ONNX_FLOAT, 0, NULL);
  }
  put_model(model, &graph);
}

/* ---- Comparing ---- */

static gemel_graph *graph_of(const message *model, gemel_context *context, gemel_error *error) {
  gemel_onnx *read = gemel_onnx_parse(model->bytes, model->length, "m.onnx", NULL, error);
  gemel_graph *graph = read != NULL ? gemel_onnx_graph(read, context, NULL, NULL, error) : NULL;
  gemel_onnx_free(read);
  return graph;
}

static void same_numbers(const gemel_tensor *is, int64_t n, const double *should) {
  const float *values = gemel_tensor_data(is);
  CT_REQUIRE(gemel_tensor_elements(is) == n);
  for (int64_t k = 0; k < n; k++) {
    CT_CHECK(is_near((double)values[k], should[k], 1e-5 * (1 + fabs(should[k]))));
  }
}

static void recurrent(const void *data) {
  const recurrent_case *of = data;
  const int64_t shape[3] = {STEPS, BATCH, WIDTH};
  double y[MOST] = {0}, last[MOST], memory[MOST];
  const double *expected[3] = {y, last, memory};
  recurrent_data d;
  gemel_error error = {0};
  gemel_tensor *results[3] = {NULL, NULL, NULL};
  message model = {0};
  make_data(of, &d);
  recurrent_model(of, &d, &model);
  for (int k = 0; k < d.directions * BATCH; k++) {
    twin_sequence(of, &d, k / BATCH, k % BATCH, y, last, memory);
  }
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = graph_of(&model, context, &error);
  gemel_tensor *x = gemel_tensor_wrap(GEMEL_F32, 3, shape, NULL, d.x, NULL, NULL, &error);
  size_t n = (size_t)of->states + 1;
  if (CT_EQ_STR(error.text, "") &&
      CT_EQ_INT(gemel_evaluate(graph, 1, &x, n, results, &error), GEMEL_OK)) {
    for (size_t k = 0; k < n; k++) {
      same_numbers(results[k], (k == 0 ? STEPS : 1) * d.directions * BATCH * HIDDEN, expected[k]);
      gemel_tensor_unref(results[k]);
    }
  }
  gemel_tensor_unref(x);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Bodies ---- */

enum { LENGTH = 3, ONNX_BOOL = 9 };

static const int64_t vector[1] = {LENGTH};
static const float begin_at[LENGTH] = {0.5F, -1, 0.25F}, factor[LENGTH] = {1.5F, -0.5F, 2};

static void put_body(message *attributes, const char *name, message *body) {
  message a = {0};
  put_text(&a, 1, name);
  put_message(&a, 6, body);
  put_int(&a, 20, 5);
  put_message(attributes, 5, &a);
}

/* Inputs (11) or outputs (12) of a body: NAMES of one letter; i is an integer, c and d are bools,
 * the others vectors. */
static void put_ends(message *body, unsigned number, const char *names) {
  for (const char *at = names; *at != '\0'; at++) {
    char name[2] = {*at, '\0'};
    int is_scalar = strchr("icd", *at) != NULL;
    put_value(body, number, name,
              *at == 'i'  ? ONNX_INT64
              : is_scalar ? ONNX_BOOL
                          : ONNX_FLOAT,
              is_scalar ? 0 : 1, vector);
  }
}

static void put_scalar(message *graph, const char *name, float value) {
  message tensor = {0};
  raw_tensor(&tensor, name, ONNX_FLOAT, 0, NULL, &value, sizeof value);
  put_message(graph, 5, &tensor);
}

/* t = s f, as long as its squares add up to less than 20; row: t + i. */
static void growing_body(message *body, int has_row) {
  message attributes = {0};
  put_node(body, "Mul", "s f", "t", NULL);
  put_int_attribute(&attributes, "to", ONNX_FLOAT);
  put_node(body, "Cast", "i", "n", &attributes);
  put_node(body, "Add", "t n", "r", NULL);
  put_int_attribute(&attributes, "keepdims", 0);
  put_node(body, "ReduceSumSquare", "t", "q", &attributes);
  put_node(body, "Less", "q limit", "d", NULL);
  put_scalar(body, "limit", 20);
  put_ends(body, 11, "ics");
  put_ends(body, 12, has_row ? "dtr" : "dt");
}

static void finish(message *model, message *graph, const char *inputs) {
  message tensor = {0};
  put_text(graph, 2, "bodies");
  raw_tensor(&tensor, "f", ONNX_FLOAT, 1, vector, factor, sizeof factor);
  put_message(graph, 5, &tensor);
  put_value(graph, 11, "x", ONNX_FLOAT, 1, vector);
  if (strchr(inputs, 'm') != NULL) {
    put_value(graph, 11, "m", ONNX_INT64, 0, NULL);
  }
  if (strchr(inputs, 'c') != NULL) {
    put_value(graph, 11, "c", ONNX_BOOL, 0, NULL);
  }
  put_value(graph, 12, "y", ONNX_FLOAT, 1, vector);
  put_model(model, graph);
}

/* The results of MODEL's graph for x and, if it has them, m and c; error.text says why there are
 * none. */
static void results_of(const message *model, int64_t steps, uint8_t condition, size_t n,
                       gemel_tensor **results, gemel_error *error) {
  float data[LENGTH];
  memcpy(data, begin_at, sizeof data);
  gemel_context *context = gemel_context_new(error);
  gemel_graph *graph = graph_of(model, context, error);
  gemel_tensor *inputs[2] = {NULL, NULL};
  if (graph != NULL) {
    inputs[0] = gemel_tensor_wrap(GEMEL_F32, 1, vector, NULL, data, NULL, NULL, error);
    inputs[1] = gemel_graph_input_count(graph) == 1 ? NULL
                : gemel_graph_input_name(graph, 1)[0] == 'm'
                    ? gemel_tensor_wrap(GEMEL_I64, 0, NULL, NULL, &steps, NULL, NULL, error)
                    : gemel_tensor_wrap(GEMEL_BOOL, 0, NULL, NULL, &condition, NULL, NULL, error);
    gemel_evaluate(graph, gemel_graph_input_count(graph), inputs, n, results, error);
  }
  gemel_tensor_unref(inputs[0]);
  gemel_tensor_unref(inputs[1]);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void release(size_t n, gemel_tensor **results) {
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(results[k]);
    results[k] = NULL;
  }
}

/* growing_body for at most MOST steps: how many there are, the last state and the rows. */
static int grow(int64_t most, double *state, double *rows) {
  int n = 0;
  double squares = 0;
  for (int k = 0; k < LENGTH; k++) {
    state[k] = (double)begin_at[k];
  }
  while (n < most && squares < 20) {
    squares = 0;
    for (int k = 0; k < LENGTH; k++) {
      state[k] *= (double)factor[k];
      rows[n * LENGTH + k] = state[k] + n;
      squares += state[k] * state[k];
    }
    n++;
  }
  return n;
}

/* Loop with a number of steps at most, which a call brings, and a condition. */
static void loop_of_few_steps(const void *data) {
  double state[LENGTH], rows[MOST];
  gemel_tensor *results[2] = {NULL, NULL};
  gemel_error error = {0};
  message model = {0}, graph = {0}, body = {0}, attributes = {0};
  (void)data;
  growing_body(&body, 1);
  put_body(&attributes, "body", &body);
  put_node(&graph, "Loop", "m  x", "y z", &attributes);
  put_value(&graph, 12, "z", ONNX_FLOAT, 2, vector);
  finish(&model, &graph, "m");
  for (int64_t most = 0; most < 8; most += 3) {
    int n = grow(most, state, rows);
    results_of(&model, most, 0, 2, results, &error);
    if (CT_EQ_STR(error.text, "")) {
      same_numbers(results[1], LENGTH, state);
      same_numbers(results[0], (int64_t)n * LENGTH, rows);
    }
    release(2, results);
  }
  CT_CHECK(grow(7, state, rows) < 7);
}

/* Loop with a condition alone, that is known at a call, and what is refused of it. */
static void loop_while(const void *data) {
  double state[LENGTH], rows[MOST];
  gemel_tensor *result = NULL;
  gemel_error error = {0};
  message model = {0}, graph = {0}, body = {0}, attributes = {0};
  (void)data;
  for (uint8_t condition = 0; condition < 2; condition++) {
    growing_body(&body, 0);
    put_body(&attributes, "body", &body);
    put_node(&graph, "Loop", " c x", "y", &attributes);
    finish(&model, &graph, "c");
    grow(condition ? 20 : 0, state, rows);
    results_of(&model, 0, condition, 1, &result, &error);
    if (CT_EQ_STR(error.text, "")) {
      same_numbers(result, LENGTH, state);
    }
    release(1, &result);
    model.length = 0;
  }
  growing_body(&body, 1);
  put_body(&attributes, "body", &body);
  put_node(&graph, "Loop", "  x", "w y", &attributes);
  finish(&model, &graph, "");
  results_of(&model, 0, 0, 1, &result, &error);
  CT_HAS_STR(error.text, "node 1 (Loop): rows of as many steps as a condition holds");
}

/* A number that is too large for steps is none. */
static void loop_without_end(const void *data) {
  static const int64_t number = (int64_t)1 << 62;
  message graph = {0}, body = {0}, attributes = {0}, model = {0}, tensor = {0};
  gemel_tensor *result = NULL;
  gemel_error error = {0};
  (void)data;
  put_node(&body, "Add", "u u", "w", NULL);
  put_node(&body, "Identity", "c", "d", NULL);
  put_ends(&body, 11, "icu");
  put_ends(&body, 12, "dw");
  put_body(&attributes, "body", &body);
  put_node(&graph, "Loop", "n  x", "y", &attributes);
  raw_tensor(&tensor, "n", ONNX_INT64, 0, NULL, &number, sizeof number);
  put_message(&graph, 5, &tensor);
  finish(&model, &graph, "");
  results_of(&model, 0, 0, 1, &result, &error);
  CT_HAS_STR(error.text, "node 1 (Loop): neither a condition nor a number below 2^31 - 1 ends it");
}

/* Five times: three times u = (u + x) s, from f, then s = u - f; and f is added. Bodies read x and
 * f of the graph around both, and the inner one s of the outer one. */
static void nested_model(message *model) {
  static const int64_t numbers[2] = {5, 3};
  message graph = {0}, outer = {0}, inner = {0}, attributes = {0}, tensor = {0};
  put_node(&inner, "Add", "u x", "v", NULL);
  put_node(&inner, "Mul", "v s", "w", NULL);
  put_node(&inner, "Identity", "c", "d", NULL);
  put_ends(&inner, 11, "icu");
  put_ends(&inner, 12, "dw");
  put_body(&attributes, "body", &inner);
  put_node(&outer, "Loop", "three  f", "a", &attributes);
  put_node(&outer, "Sub", "a f", "b", NULL);
  put_ends(&outer, 11, "ics");
  put_ends(&outer, 12, "cb");
  put_body(&attributes, "body", &outer);
  put_node(&graph, "Loop", "five  x", "z", &attributes);
  put_node(&graph, "Add", "z f", "y", NULL);
  raw_tensor(&tensor, "five", ONNX_INT64, 0, NULL, &numbers[0], sizeof numbers[0]);
  put_message(&graph, 5, &tensor);
  raw_tensor(&tensor, "three", ONNX_INT64, 0, NULL, &numbers[1], sizeof numbers[1]);
  put_message(&graph, 5, &tensor);
  finish(model, &graph, "");
}

static void loop_in_a_loop(const void *data) {
  double s[LENGTH];
  gemel_tensor *result = NULL;
  gemel_error error = {0};
  message model = {0};
  (void)data;
  nested_model(&model);
  for (int k = 0; k < LENGTH; k++) {
    double x = (double)begin_at[k], f = (double)factor[k];
    s[k] = x;
    for (int step = 0; step < 5; step++) {
      double u = f;
      for (int n = 0; n < 3; n++) {
        u = (u + x) * s[k];
      }
      s[k] = u - f;
    }
    s[k] += f;
  }
  results_of(&model, 0, 0, 1, &result, &error);
  if (CT_EQ_STR(error.text, "")) {
    same_numbers(result, LENGTH, s);
  }
  release(1, &result);
}

static int read_it(void *model) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph_unref(context != NULL ? graph_of(model, context, &error) : NULL);
  gemel_context_unref(context);
  return (int)error.status;
}

static void memory_runs_out(const void *data) {
  recurrent_data d;
  message model = {0};
  (void)data;
  nested_model(&model);
  CT_CHECK(ct_oom(read_it, &model) > 10);
  model.length = 0;
  make_data(&cases[6], &d);
  recurrent_model(&cases[6], &d, &model);
  CT_CHECK(ct_oom(read_it, &model) > 10);
}

/* If by a condition that only a call knows, and branches of two types. */
static void if_of_both(const void *data) {
  double expected[LENGTH];
  gemel_tensor *result = NULL;
  gemel_error error = {0};
  message model = {0}, graph = {0}, yes = {0}, no = {0}, attributes = {0};
  (void)data;
  for (int differ = 0; differ < 2; differ++) {
    put_node(&yes, "Mul", "x f", "a", NULL);
    put_ends(&yes, 12, "a");
    put_node(&no, differ ? "Shape" : "Neg", "x", "b", NULL);
    put_ends(&no, 12, "b");
    put_body(&attributes, "then_branch", &yes);
    put_body(&attributes, "else_branch", &no);
    model.length = 0;
    put_node(&graph, "If", "c", "y", &attributes);
    finish(&model, &graph, "c");
    for (uint8_t condition = 0; !differ && condition < 2; condition++) {
      for (int k = 0; k < LENGTH; k++) {
        expected[k] = (double)begin_at[k] * (condition ? (double)factor[k] : -1);
      }
      results_of(&model, 0, condition, 1, &result, &error);
      if (CT_EQ_STR(error.text, "")) {
        same_numbers(result, LENGTH, expected);
      }
      release(1, &result);
    }
  }
  results_of(&model, 0, 1, 1, &result, &error);
  CT_HAS_STR(error.text, "node 1 (If): a condition that isn't known before the graph runs, and "
                         "output 0 is f32[3] or i64[1]");
}

static void put_axes(message *attributes, const char *name, int64_t number) {
  message a = {0};
  put_text(&a, 1, name);
  put_int(&a, 8, number);
  put_int(&a, 20, 7);
  put_message(attributes, 5, &a);
}

/* Scan over the columns of a matrix from the last, with rows stacked as columns from behind: sums
 * of columns, times f. */
static void scan_of_columns(const void *data) {
  enum { COLUMNS = 4 };
  static const int64_t shape[2] = {LENGTH, COLUMNS};
  float matrix[LENGTH * COLUMNS];
  double stacked[LENGTH * COLUMNS], state[LENGTH];
  gemel_tensor *results[2] = {NULL, NULL};
  gemel_error error = {0};
  message model = {0}, graph = {0}, body = {0}, attributes = {0}, tensor = {0};
  (void)data;
  for (int k = 0; k < LENGTH * COLUMNS; k++) {
    matrix[k] = (float)(k * k % 7) - 2;
  }
  put_node(&body, "Add", "s a", "t", NULL);
  put_node(&body, "Mul", "t f", "r", NULL);
  put_ends(&body, 11, "sa");
  put_ends(&body, 12, "tr");
  put_body(&attributes, "body", &body);
  put_int_attribute(&attributes, "num_scan_inputs", 1);
  put_axes(&attributes, "scan_input_axes", -1);
  put_axes(&attributes, "scan_input_directions", 1);
  put_axes(&attributes, "scan_output_axes", 1);
  put_axes(&attributes, "scan_output_directions", 1);
  put_node(&graph, "Scan", "x matrix", "y z", &attributes);
  raw_tensor(&tensor, "matrix", ONNX_FLOAT, 2, shape, matrix, sizeof matrix);
  put_message(&graph, 5, &tensor);
  put_value(&graph, 12, "z", ONNX_FLOAT, 2, shape);
  finish(&model, &graph, "");
  for (int k = 0; k < LENGTH; k++) {
    state[k] = (double)begin_at[k];
    for (int j = COLUMNS - 1; j >= 0; j--) {
      state[k] += (double)matrix[k * COLUMNS + j];
      stacked[k * COLUMNS + j] = state[k] * (double)factor[k];
    }
  }
  results_of(&model, 0, 0, 2, results, &error);
  if (CT_EQ_STR(error.text, "")) {
    same_numbers(results[0], LENGTH * COLUMNS, stacked);
    same_numbers(results[1], LENGTH, state);
  }
  release(2, results);
}

static const ct_test bodies[] = {
    CT_TEST("loop_of_few_steps", loop_of_few_steps, NULL),
    CT_TEST("loop_while", loop_while, NULL),
    CT_TEST("loop_without_end", loop_without_end, NULL),
    CT_TEST("loop_in_a_loop", loop_in_a_loop, NULL),
    CT_TEST("if_of_both", if_of_both, NULL),
    CT_TEST("memory_runs_out", memory_runs_out, NULL),
    CT_TEST("scan_of_columns", scan_of_columns, NULL),
};

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    CT_ADD("onnx_loops", cases[k].name, recurrent, &cases[k]);
  }
  ct_suite("onnx_loops", bodies, CT_COUNT(bodies));
}
