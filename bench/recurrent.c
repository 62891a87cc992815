/* SPDX-License-Identifier: MIT
 *
 * Recurrent networks; see recurrent.h. Gates lie and compute as in PyTorch's nn.RNN, nn.GRU and
 * nn.LSTM, so that those compute the same numbers. In the texts B is the batch, H the units, G so
 * many for each gate, T the steps.
 */
#include "recurrent.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>

/* ---- Graphs ---- */

static const char rnn_body[] = "graph step(h: f32[B, H], x: f32[B, H], u: f32[H, H], b: f32[H]) {\n"
                               "  return next = tanh(x + dot(h, u) + b)\n"
                               "}\n";

/* Of the gates r, z, n of both sides. */
#define GRU_NEXT                                                                                   \
  "  r = sigmoid(subtensor(a, start = [0, 0], size = [B, H]) + hr)\n"                              \
  "  z = sigmoid(subtensor(a, start = [0, H], size = [B, H]) + hz)\n"                              \
  "  n = tanh(subtensor(a, start = [0, 2 * H], size = [B, H]) + r * hn)\n"                         \
  "  return next = n + z * (h - n)\n"                                                              \
  "}\n"

static const char gru_body[] = "graph step(h: f32[B, H], x: f32[B, G], u: f32[H, G], b: f32[G]) {\n"
                               "  a = x + b\n"
                               "  p = dot(h, u)\n"
                               "  hr = subtensor(p, start = [0, 0], size = [B, H])\n"
                               "  hz = subtensor(p, start = [0, H], size = [B, H])\n"
                               "  hn = subtensor(p, start = [0, 2 * H], size = [B, H])\n" GRU_NEXT;

static const char gru_apart_body[] =
    "graph step(h: f32[B, H], x: f32[B, G], ur: f32[H, H], uz: f32[H, H], un: f32[H, H],\n"
    "           b: f32[G]) {\n"
    "  a = x + b\n"
    "  hr = dot(h, ur)\n"
    "  hz = dot(h, uz)\n"
    "  hn = dot(h, un)\n" GRU_NEXT;

static const char lstm_body[] =
    "graph step(h: f32[B, H], c: f32[B, H], x: f32[B, G], u: f32[H, G], b: f32[G]) {\n"
    "  a = x + dot(h, u) + b\n"
    "  i = sigmoid(subtensor(a, start = [0, 0], size = [B, H]))\n"
    "  f = sigmoid(subtensor(a, start = [0, H], size = [B, H]))\n"
    "  g = tanh(subtensor(a, start = [0, 2 * H], size = [B, H]))\n"
    "  o = sigmoid(subtensor(a, start = [0, 3 * H], size = [B, H]))\n"
    "  d = f * c + i * g\n"
    "  return next = o * tanh(d), d\n"
    "}\n";

#define APART "ur: f32[H, H], uz: f32[H, H], un: f32[H, H]", "ur, uz, un"
const gemel__network gemel__networks[] = {{"rnn", rnn_body, "u: f32[H, G]", "u", 1, 1, 0},
                                          {"rnn rows", rnn_body, "u: f32[H, G]", "u", 1, 1, 1},
                                          {"gru", gru_body, "u: f32[H, G]", "u", 1, 3, 0},
                                          {"gru rows", gru_body, "u: f32[H, G]", "u", 1, 3, 1},
                                          {"gru apart", gru_apart_body, APART, 1, 3, 0},
                                          {"lstm", lstm_body, "u: f32[H, G]", "u", 2, 4, 0},
                                          {NULL, NULL, NULL, NULL, 0, 0, 0}};

/* A copy of TEXT in which each word of one letter of LETTERS is a number. */
static char *set_sizes(const char *text, const char *letters, const int *numbers) {
  char *result = gemel__need(NULL, 12 * strlen(text) + 12), *to = result;
  for (const char *from = text; *from != '\0'; from++) {
    const char *letter = strchr(letters, *from);
    int word = (from > text && isalnum((unsigned char)from[-1])) || isalnum((unsigned char)from[1]);
    if (letter != NULL && !word) {
      to += snprintf(to, 12, "%d", numbers[letter - letters]);
    } else {
      *to++ = *from;
    }
  }
  *to = '\0';
  return result;
}

static char *text_of(const gemel__network *network, const gemel__recurrent_sizes *sizes,
                     int gradient) {
  const int numbers[] = {sizes->steps, sizes->batch, sizes->units, network->gates * sizes->units};
  int cell = network->states == 2, given = network->rows_given;
  char *text = gemel__need_text(
      "%sgraph network(h0: f32[B, H], %sx: f32[T, B, %s], %s%s, b: f32[G]%s) {\n"
      "  last, %sall%s = scan(h0, %s%s, %s, b, body = step, states = %d, sequences = 1)\n"
      "  h = subtensor(all, start = [1, 0, 0], size = [T, B, H])\n"
      "  return %s\n}\n",
      network->body, cell ? "c0: f32[B, H], " : "", given ? "G" : "H",
      given ? "" : "w: f32[H, G], ", network->matrices, gradient ? ", dy: f32[T, B, H]" : "",
      cell ? "cell, " : "", cell ? ", cells" : "", cell ? "c0, " : "",
      given ? "x" : "dot(x, w, contract_x = [2], contract_y = [0])", network->operands,
      network->states, gradient ? "loss = sum(h * dy)" : "h");
  char *result = set_sizes(text, "TBHG", numbers);
  free(text);
  return result;
}

/* Makes the gradient of the graph's output by all inputs but the last outputs too. */
static gemel_status add_gradient(gemel_graph *graph, gemel_error *error) {
  gemel_value loss = gemel_graph_output(graph, 0), wrt[8], gradients[8];
  size_t n = gemel_graph_input_count(graph) - 1;
  for (size_t k = 0; k < n; k++) {
    wrt[k] = gemel_graph_input(graph, k);
  }
  gemel_status status = gemel_grad(1, &loss, NULL, n, wrt, gradients, error);
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    char name[64];
    snprintf(name, sizeof name, "d_%s", gemel_graph_input_name(graph, k));
    status = gemel_output(gradients[k], name);
  }
  return status;
}

gemel_graph *gemel__network_graph(gemel_context *context, const gemel__network *network,
                                  const gemel__recurrent_sizes *sizes, int gradient,
                                  gemel_error *error) {
  char *text = text_of(network, sizes, gradient);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), network->name, NULL, error);
  free(text);
  if (graph != NULL && gradient && add_gradient(graph, error) != GEMEL_OK) {
    gemel_graph_unref(graph);
    graph = NULL;
  }
  return graph;
}

/* ---- Products ---- */

static void add_product(gemel__products *p, int count, int a_t, int b_t, int m, int n, int k) {
  p->parts[p->n].count = count;
  p->parts[p->n++].product = (gemel__gemm){a_t, b_t, m, n, k, NULL, NULL, NULL};
}

/* Where the operands of all products lie, which needn't be apart from those of others: rows of
 * states, rows of gates, a matrix, and what is computed. */
static void place_products(gemel__products *p, size_t states, size_t gates, size_t matrix) {
  size_t most = states > gates ? states : gates, numbers = states + gates + 2 * matrix + most;
  p->memory = gemel__need(NULL, numbers * sizeof *p->memory);
  for (size_t k = 0; k < numbers; k++) {
    p->memory[k] = 0.01f;
  }
  for (int k = 0; k < p->n; k++) {
    gemel__gemm *product = &p->parts[k].product;
    int of_gates = product->b_t; /* their gradient, times a matrix */
    product->a = p->memory + (of_gates ? states : 0);
    product->b = p->memory + (product->a_t ? states : states + gates);
    product->c = p->memory + states + gates + matrix;
  }
}

void gemel__products_open(gemel__products *p, const gemel__network *network,
                          const gemel__recurrent_sizes *sizes, int gradient) {
  int t = sizes->steps, b = sizes->batch, h = sizes->units, g = network->gates * h;
  memset(p, 0, sizeof *p);
  for (int outside = 0; outside < 2 - network->rows_given; outside++) {
    int count = outside ? 1 : t, rows = outside ? t * b : b;
    add_product(p, count, 0, 0, rows, g, h);
    if (gradient) {
      add_product(p, count, 0, 1, rows, h, g);
      add_product(p, 1, 1, 0, h, g, t * b);
    }
  }
  place_products(p, (size_t)t * (size_t)b * (size_t)h, (size_t)t * (size_t)b * (size_t)g,
                 (size_t)h * (size_t)g);
}

void gemel__products_run(void *state) {
  gemel__products *p = state;
  for (int k = 0; k < p->n; k++) {
    gemel__gemm one = p->parts[k].product;
    for (int step = 0; step < p->parts[k].count; step++) {
      p->library->run(&one);
      one.a = (const float *)one.a + (size_t)one.m * (size_t)one.k;
      one.c = (float *)one.c + (size_t)one.m * (size_t)one.n;
    }
  }
}
