/* SPDX-License-Identifier: MIT
 *
 * A recurrent network (LSTM) learns to tell the next character of a text. It is a loop over the 64
 * characters of a window; weights and what the optimizer (Adam) remembers of them are states,
 * which each call of the training function replaces where they lie.
 *
 *   cc -std=c11 characters.c $(pkg-config --cflags --libs gemel) &&
 *   ./a.out [TEXT [STEPS [SEED [HIDDEN [BATCH]]]]]
 *
 * TEXT is any file; gemel's own documentation is one of some length. Without it the network reads
 * its own source, characters.c in the current folder.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>

enum { WINDOW = 64, CODES = 128, PARAMETERS = 5, STATES = 3 * PARAMETERS };

static int64_t hidden = 128, batch = 32;

/* The shapes of the weights of x, of h and the bias, for four gates at once, then of the output's.
 * Behind these five states stand the means of their slopes, then of the slopes' squares. */
static void shape_of(int state, int64_t *shape) {
  int64_t all[PARAMETERS][2] = {
      {CODES, 4 * hidden}, {hidden, 4 * hidden}, {4 * hidden}, {hidden, CODES}, {CODES}};
  memcpy(shape, all[state % PARAMETERS], sizeof all[0]);
}

/* ---- The graph ---- */

/* Part K of the four that lie side by side. */
static gemel_value gate(gemel_value gates, int k) {
  return gemel_slice(gates, 1, k * hidden, (k + 1) * hidden);
}

/* What x alone gives to the gates, for all steps at once: a row for each. X is a row of zeros with
 * a one for each code. */
static gemel_value gates_of_x(gemel_value codes, const gemel_value *w) {
  gemel_dim n = gemel_dim_constant(gemel_graph_context(codes.graph), CODES);
  gemel_value all = gemel_arange(codes.graph, n);
  gemel_value code = gemel_cast(gemel_flatten(gemel_slice(codes, 0, 0, WINDOW)), GEMEL_I64);
  gemel_value x = gemel_cast(gemel_eq(gemel_expand_dims(code, 1), all), GEMEL_F32);
  return gemel_reshape_to(gemel_add(gemel_dot(x, w[0]), w[2]), WINDOW, batch, 4 * hidden);
}

/* The outputs of all steps, WINDOW * batch rows, from the gates' rows and the weights of h. */
static gemel_value run_lstm(gemel_value rows, gemel_value weights) {
  gemel_value zeros = gemel_zeros(rows.graph, GEMEL_F32, batch, hidden);
  gemel_loop *loop = gemel_loop_begin(rows.graph, NULL);
  gemel_value h = gemel_loop_state(loop, zeros), c = gemel_loop_state(loop, zeros);
  gemel_value of_h = gemel_dot(h, gemel_loop_constant(loop, weights));
  gemel_value gates = gemel_add(of_h, gemel_loop_row(loop, rows));
  gemel_value in = gemel_sigmoid(gate(gates, 0)), keep = gemel_sigmoid(gate(gates, 1));
  gemel_value new = gemel_tanh(gate(gates, 2)), out = gemel_sigmoid(gate(gates, 3));
  gemel_value next_c = gemel_add(gemel_mul(keep, c), gemel_mul(in, new));
  gemel_loop_next(loop, c, next_c);
  gemel_loop_next(loop, h, gemel_mul(out, gemel_tanh(next_c)));
  gemel_loop_end(loop);
  gemel_value all = gemel_loop_rows(loop, h);
  gemel_loop_free(loop);
  return gemel_reshape_to(all, WINDOW * batch, hidden);
}

/* The mean loss over CODES, u8[WINDOW + 1, batch]: each row but the last tells the next one. */
static gemel_value build_loss(gemel_value codes, const gemel_value *w) {
  gemel_value all = run_lstm(gates_of_x(codes, w), w[1]);
  gemel_value logits = gemel_add(gemel_dot(all, w[3]), w[4]);
  gemel_value next = gemel_flatten(gemel_slice(codes, 0, 1, GEMEL_TO_END));
  return gemel_mean(gemel_cross_entropy(logits, next, -1));
}

/* Adam, with the rate corrected for the first steps by the caller: m and v are means of the slope
 * and of its square, and w = w - rate m / (sqrt(v) + 1e-8). */
static void update(gemel_value w, gemel_value m, gemel_value v, gemel_value slope,
                   gemel_value rate) {
  gemel_value mean = gemel_add(gemel_mul(m, gemel_scalar_like(m, 0.9)),
                               gemel_mul(slope, gemel_scalar_like(m, 0.1)));
  gemel_value square = gemel_add(gemel_mul(v, gemel_scalar_like(v, 0.999)),
                                 gemel_mul(gemel_sqr(slope), gemel_scalar_like(v, 0.001)));
  gemel_value far = gemel_add(gemel_sqrt(square), gemel_scalar_like(v, 1e-8));
  gemel_update(m, mean);
  gemel_update(v, square);
  gemel_update(w, gemel_sub(w, gemel_mul(rate, gemel_div(mean, far))));
}

static gemel_graph *build(gemel_context *context, gemel_error *error) {
  gemel_graph *graph = gemel_graph_new(context, error);
  gemel_value states[STATES], slopes[PARAMETERS], rate, codes;
  int64_t shape[2] = {WINDOW + 1, batch};
  codes = gemel_input(graph, "codes", gemel_type_of_shape(context, GEMEL_U8, 2, shape));
  rate = gemel_declare(graph, "rate: f32[]");
  for (int k = 0; k < STATES; k++) {
    char name[] = {(char)('a' + k), '\0'};
    shape_of(k, shape);
    states[k] = gemel_state(graph, name,
                            gemel_type_of_shape(context, GEMEL_F32, 1 + (shape[1] > 0), shape));
  }
  gemel_value loss = build_loss(codes, states);
  gemel_output(loss, "loss");
  if (gemel_grad(1, &loss, NULL, PARAMETERS, states, slopes, error) == GEMEL_OK) {
    for (int k = 0; k < PARAMETERS; k++) {
      update(states[k], states[PARAMETERS + k], states[2 * PARAMETERS + k], slopes[k], rate);
    }
  }
  return graph;
}

/* ---- Variables ---- */

static uint64_t seed = 1;

static double uniform(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

/* Weights between -1/sqrt(hidden) and 1/sqrt(hidden); zeros for the means. */
static gemel_shared *make_variable(int k, gemel_error *error) {
  int64_t shape[2];
  shape_of(k, shape);
  gemel_tensor *value = gemel_tensor_new(GEMEL_F32, shape[1] > 0 ? 2 : 1, shape, error);
  float *data = value != NULL ? gemel_tensor_data(value) : NULL;
  for (int64_t i = 0; data != NULL && k < PARAMETERS && i < gemel_tensor_elements(value); i++) {
    data[i] = (float)((2 * uniform() - 1) / sqrt((double)hidden));
  }
  gemel_shared *shared = value != NULL ? gemel_shared_new(value, error) : NULL;
  gemel_tensor_unref(value);
  return shared;
}

static gemel_function *compile(gemel_context *context, gemel_shared **variables,
                               gemel_error *error) {
  gemel_options options = {.size = sizeof options, .states = variables, .n_states = STATES};
  gemel_graph *graph = build(context, error);
  gemel_function *function = graph != NULL ? gemel_compile(graph, &options, error) : NULL;
  gemel_graph_unref(graph);
  return function;
}

/* ---- Learning ---- */

static char *read_text(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  char *text = malloc(1 << 20);
  *count = file != NULL && text != NULL ? fread(text, 1, 1 << 20, file) : 0;
  if (file != NULL) {
    fclose(file);
  }
  return text;
}

/* Windows that begin anywhere, a column each. */
static void draw(const char *text, size_t count, unsigned char *codes) {
  for (int64_t b = 0; b < batch; b++) {
    size_t from = (size_t)(uniform() * (double)(count - WINDOW));
    for (int t = 0; t <= WINDOW; t++) {
      codes[t * batch + b] = text[from + (size_t)t] & (CODES - 1);
    }
  }
}

static int learn(gemel_function *function, const char *text, size_t count, int steps,
                 gemel_error *error) {
  int64_t shape[] = {WINDOW + 1, batch};
  gemel_tensor *inputs[] = {gemel_tensor_new(GEMEL_U8, 2, shape, error),
                            gemel_tensor_new(GEMEL_F32, 0, NULL, error)};
  gemel_tensor *loss = NULL;
  double total = 0;
  int k = 0;
  for (; inputs[0] != NULL && inputs[1] != NULL && k < steps; k++) {
    draw(text, count, gemel_tensor_data(inputs[0]));
    *(float *)gemel_tensor_data(inputs[1]) =
        (float)(0.002 * sqrt(1 - pow(0.999, k + 1)) / (1 - pow(0.9, k + 1)));
    if (gemel_call(function, 2, inputs, 1, &loss, error) != GEMEL_OK) {
      break;
    }
    total += *(const float *)gemel_tensor_data(loss);
    if ((k + 1) % 100 == 0) {
      printf("step %4d: %.3f bits a character\n", k + 1, total / 100 / log(2));
      total = 0;
    }
  }
  gemel_tensor_unref(inputs[0]);
  gemel_tensor_unref(inputs[1]);
  gemel_tensor_unref(loss);
  return k == steps;
}

int main(int argc, char **argv) {
  gemel_error error = {GEMEL_OK, 0, 0, "no text, or one that is too short"};
  gemel_shared *variables[STATES] = {NULL};
  size_t count = 0;
  char *text = read_text(argc > 1 ? argv[1] : "characters.c", &count);
  int done = 0;
  seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  hidden = argc > 4 ? atoi(argv[4]) : hidden;
  batch = argc > 5 ? atoi(argv[5]) : batch;
  gemel_context *context = count > WINDOW + 1 ? gemel_context_new(&error) : NULL;
  for (int k = 0; context != NULL && k < STATES; k++) {
    variables[k] = make_variable(k, &error);
  }
  gemel_function *function = context != NULL ? compile(context, variables, &error) : NULL;
  if (function != NULL) {
    done = learn(function, text, count, argc > 2 ? atoi(argv[2]) : 300, &error);
  }
  if (!done) {
    fprintf(stderr, "%s\n", error.text);
  }
  gemel_function_free(function);
  for (int k = 0; k < STATES; k++) {
    gemel_shared_unref(variables[k]);
  }
  gemel_context_unref(context);
  free(text);
  return !done;
}
