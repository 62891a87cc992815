/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM of ONNX against plain loops over single numbers: directions, sequences of
 * different lengths, peepholes, activations with parameters, and what is clipped, coupled or reset.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include "ct.h"
#include "onnx-writer.h"

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
    CT_LE_DOUBLE(fabs((double)values[k] - should[k]), 1e-5);
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

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    CT_ADD("onnx_loops", cases[k].name, recurrent, &cases[k]);
  }
}
