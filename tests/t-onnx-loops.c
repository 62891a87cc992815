/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM of ONNX against plain loops over single numbers: directions, sequences of
 * different lengths, peepholes, activations with parameters, and what is clipped, coupled or reset.
 * Loop, Scan and If against the same in C: bodies that read what is around them, in each other, and
 * numbers of steps that only a call knows.
 */
#include "support/onnx-node.h"

enum { BATCH = 3, WIDTH = 2, HIDDEN = 2, MOST = 200 };

/* x, w, r, b, lengths, h, c, p: as the operators have them. */
static const node_case cases[] = {
    {"rnn", "RNN<hidden_size=2, linear_before_reset=0, input_forget=0, clip=0.0, "
            "direction=bidirectional>(f 4N 3 2 *0.5, =f 2 2 2 *0.5, =f 2 2 2 *0.5, =f 2 4 *0.5, "
            "=w 3: 4 1 3, =f 2 3 2 *0.5) => f 4 2 3 2, f 2 3 2"},
    {"rnn_scaled", "RNN<hidden_size=2, linear_before_reset=0, input_forget=0, clip=0.0, "
                   "direction=reverse, activations=[ScaledTanh], activation_alpha=[0.75], "
                   "activation_beta=[0.5]>(f 4N 3 2 *0.5, =f 1 2 2 *0.5, =f 1 2 2 *0.5, "
                   "=f 1 4 *0.5, =w 3: 4 1 3, =f 1 3 2 *0.5) => f 4 1 3 2, f 1 3 2"},
    {"gru", "GRU<hidden_size=2, linear_before_reset=0, input_forget=0, clip=0.0, "
            "direction=bidirectional>(f 4N 3 2 *0.5, =f 2 6 2 *0.5, =f 2 6 2 *0.5, =f 2 12 *0.5, "
            "=w 3: 4 1 3, =f 2 3 2 *0.5) => f 4 2 3 2, f 2 3 2"},
    {"gru_reset_behind", "GRU<hidden_size=2, linear_before_reset=1, input_forget=0, clip=0.5, "
                         "direction=reverse>(f 4N 3 2 *0.5, =f 1 6 2 *0.5, =f 1 6 2 *0.5, "
                         "=f 1 12 *0.5, =w 3: 4 1 3, =f 1 3 2 *0.5) => f 4 1 3 2, f 1 3 2"},
    {"lstm",
     "LSTM<hidden_size=2, linear_before_reset=0, input_forget=0, clip=0.0, "
     "direction=bidirectional>(f 4N 3 2 *0.5, =f 2 8 2 *0.5, =f 2 8 2 *0.5, =f 2 16 *0.5, "
     "=w 3: 4 1 3, =f 2 3 2 *0.5, =f 2 3 2 *0.5, =f 2 6 *0.5) => f 4 2 3 2, f 2 3 2, f 2 3 2"},
    {"lstm_activations",
     "LSTM<hidden_size=2, linear_before_reset=0, input_forget=0, clip=0.0, direction=forward, "
     "activations=[HardSigmoid, LeakyRelu, Softsign], activation_alpha=[0.25, 0.125], "
     "activation_beta=[0.375]>(f 4N 3 2 *0.5, =f 1 8 2 *0.5, =f 1 8 2 *0.5, =f 1 16 *0.5, "
     "=w 3: 4 1 3, =f 1 3 2 *0.5, =f 1 3 2 *0.5, =f 1 6 *0.5) => f 4 1 3 2, f 1 3 2, f 1 3 2"},
    {"lstm_coupled",
     "LSTM<hidden_size=2, linear_before_reset=0, input_forget=1, clip=0.5, direction=reverse>("
     "f 4N 3 2 *0.5, =f 1 8 2 *0.5, =f 1 8 2 *0.5, =f 1 16 *0.5, =w 3: 4 1 3, =f 1 3 2 *0.5, "
     "=f 1 3 2 *0.5, =f 1 6 *0.5) => f 4 1 3 2, f 1 3 2, f 1 3 2"},
};

/* ---- The twin ---- */

/* One direction of a call. */
typedef struct recurrence {
  const node *of;
  const numbers *in;
  int gates, directions, direction;
} recurrence;

/* Element K of the list NAME, or NULL. */
static const char *element(const node *of, const char *name, int k) {
  const char *text = attribute_text(of, name);
  for (; text != NULL && k > 0; k--) {
    text += strcspn(text, ",]");
    text = *text == ',' ? text + 2 : NULL;
  }
  return text;
}

/* X under activation K: that of the gates, of what is new, or of what comes out. */
static double activated(const recurrence *r, int k, double x) {
  const char *name = element(r->of, "activations", k);
  const char *a = element(r->of, "activation_alpha", k), *b = element(r->of, "activation_beta", k);
  double alpha = a != NULL ? strtod(a, NULL) : 0, beta = b != NULL ? strtod(b, NULL) : 0;
  double clip = attribute_number(r->of, "clip", 0);
  x = clip > 0 && k < 2 ? fmin(fmax(x, -clip), clip) : x;
  if (name == NULL) {
    return k == 0 && r->gates > 1 ? 1 / (1 + exp(-x)) : tanh(x);
  }
  return strncmp(name, "ScaledTanh", 10) == 0    ? alpha * tanh(beta * x)
         : strncmp(name, "HardSigmoid", 11) == 0 ? fmin(fmax(alpha * x + beta, 0), 1)
         : strncmp(name, "LeakyRelu", 9) == 0    ? (x < 0 ? alpha * x : x)
                                                 : x / (1 + fabs(x));
}

/* What unit J's gate G gets of x (WHAT 0) or of the state H (1), with that one's bias. */
static double gate(const recurrence *r, int g, int j, int what, const double *from) {
  int row = (r->direction * r->gates + g) * HIDDEN + j, size = what == 0 ? WIDTH : HIDDEN;
  const double *weights = r->in[1 + what].values + row * size;
  double sum = r->in[3].values[((2 * r->direction + what) * r->gates + g) * HIDDEN + j];
  for (int k = 0; k < size; k++) {
    sum += weights[k] * from[k];
  }
  return sum;
}

static double both(const recurrence *r, int g, int j, const double *x, const double *h) {
  return gate(r, g, j, 0, x) + gate(r, g, j, 1, h);
}

static void step_of_rnn(const recurrence *r, const double *x, double *h) {
  double next[HIDDEN];
  for (int j = 0; j < HIDDEN; j++) {
    next[j] = activated(r, 0, both(r, 0, j, x, h));
  }
  memcpy(h, next, sizeof next);
}

static void step_of_gru(const recurrence *r, const double *x, double *h) {
  double z[HIDDEN], open[HIDDEN], reset[HIDDEN], next[HIDDEN];
  for (int j = 0; j < HIDDEN; j++) {
    z[j] = activated(r, 0, both(r, 0, j, x, h));
    open[j] = activated(r, 0, both(r, 1, j, x, h));
    reset[j] = open[j] * h[j];
  }
  for (int j = 0; j < HIDDEN; j++) {
    double inner = attribute_number(r->of, "linear_before_reset", 0) != 0
                       ? open[j] * gate(r, 2, j, 1, h)
                       : gate(r, 2, j, 1, reset);
    double own = activated(r, 1, gate(r, 2, j, 0, x) + inner);
    next[j] = (1 - z[j]) * own + z[j] * h[j];
  }
  memcpy(h, next, sizeof next);
}

static void step_of_lstm(const recurrence *r, const double *x, double *h, double *c) {
  int is_coupled = attribute_number(r->of, "input_forget", 0) != 0;
  double next[HIDDEN];
  for (int j = 0; j < HIDDEN; j++) {
    const double *p = r->in[7].values + r->direction * 3 * HIDDEN + j;
    double i = activated(r, 0, both(r, 0, j, x, h) + p[0] * c[j]);
    double f = is_coupled ? 1 - i : activated(r, 0, both(r, 2, j, x, h) + p[2 * HIDDEN] * c[j]);
    c[j] = f * c[j] + i * activated(r, 1, both(r, 3, j, x, h));
    double o = activated(r, 0, both(r, 1, j, x, h) + p[HIDDEN] * c[j]);
    next[j] = o * activated(r, 2, c[j]);
  }
  memcpy(h, next, sizeof next);
}

/* Sequence B from its one end to the other: Y[T, directions, B, H] and the last states. */
static void sequence(const recurrence *r, int b, numbers *out) {
  int backwards = attribute_is(r->of, "direction", "reverse") || r->direction == 1;
  int length = (int)r->in[4].values[b], first = (r->direction * BATCH + b) * HIDDEN;
  double *h = out[1].values + first, *c = out[2].values + first;
  memcpy(h, r->in[5].values + first, HIDDEN * sizeof *h);
  memcpy(c, r->in[6].values + first, HIDDEN * sizeof *c);
  for (int k = 0; k < length; k++) {
    int t = backwards ? length - 1 - k : k;
    const double *x = r->in[0].values + (t * BATCH + b) * WIDTH;
    if (r->gates == 1) {
      step_of_rnn(r, x, h);
    } else if (r->gates == 3) {
      step_of_gru(r, x, h);
    } else {
      step_of_lstm(r, x, h, c);
    }
    memcpy(out[0].values + ((t * r->directions + r->direction) * BATCH + b) * HIDDEN, h,
           HIDDEN * sizeof *h);
  }
}

static void recurrent(const node *of, const numbers *in, numbers *out) {
  recurrence r = {of, in, (int)in[1].shape[1] / HIDDEN, (int)in[1].shape[0], 0};
  memset(out[0].values, 0, sizeof out[0].values);
  for (; r.direction < r.directions; r.direction++) {
    for (int b = 0; b < BATCH; b++) {
      sequence(&r, b, out);
    }
  }
}

/* ---- Bodies ---- */

enum { LENGTH = 3 };

static const double begin_at[LENGTH] = {0.5, -1, 0.25}, factor[LENGTH] = {1.5, -0.5, 2};

#define FACTOR "float[3] f = {1.5, -0.5, 2}"

/* t = s f, as long as its squares add up to less than 20; ROW: t + i. */
#define GROWING(row)                                                                               \
  "grow (int64 i, bool c, float[3] s) => (bool d, float[3] t" row ") <float limit = {20}> {"       \
  "  t = Mul(s, f)"                                                                                \
  "  n = Cast<to = 1>(i)"                                                                          \
  "  r = Add(t, n)"                                                                                \
  "  q = ReduceSumSquare<keepdims = 0>(t)"                                                         \
  "  d = Less(q, limit)"                                                                           \
  "}"

/* A result: so many numbers. */
typedef struct expectation {
  int64_t n;
  const double *values;
} expectation;

static void same_vector(const gemel_tensor *is, const expectation *should) {
  const float *values = gemel_tensor_data(is);
  CT_REQUIRE(gemel_tensor_elements(is) == should->n);
  for (int64_t k = 0; k < should->n; k++) {
    double expected = should->values[k];
    CT_CHECK(is_near((double)values[k], expected, 1e-5 * (1 + fabs(expected))));
  }
}

/* MODEL gives these N results of a and B. */
static void gives(const message *model, const char *b, size_t n, const expectation *should) {
  gemel_tensor *results[2] = {NULL, NULL};
  gemel_error error = {0};
  numbers in[2];
  read_numbers("f 3: 0.5 -1 0.25", &in[0]);
  read_numbers(b, &in[1]);
  run_model(model, in, n, results, &error);
  CT_EQ_STR(error.text, "");
  for (size_t k = 0; k < n; k++) {
    if (CT_CHECK(results[k] != NULL)) {
      same_vector(results[k], &should[k]);
    }
    gemel_tensor_unref(results[k]);
  }
}

static void is_refused(const message *model, const char *reason) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  CT_CHECK(onnx_graph_of(model, context, NULL, NULL, &error) == NULL);
  CT_HAS_STR(error.text, reason);
  gemel_context_unref(context);
}

/* GROWING for at most MOST steps: how many there are, the last state and the rows. */
static int grow(int most, double *last, double *rows) {
  int n = 0;
  double squares = 0;
  for (int k = 0; k < LENGTH; k++) {
    last[k] = begin_at[k];
  }
  while (n < most && squares < 20) {
    squares = 0;
    for (int k = 0; k < LENGTH; k++) {
      last[k] *= factor[k];
      rows[n * LENGTH + k] = last[k] + n;
      squares += last[k] * last[k];
    }
    n++;
  }
  return n;
}

/* Loop with a number of steps at most, which a call brings, and a condition. */
static void loop_of_few_steps(const void *data) {
  double last[LENGTH], rows[MOST];
  message model = onnx_model("(float[3] a, int64 b) => (float[N, 3] z, float[3] y) <" FACTOR "> {"
                             "  y, z = Loop<body = " GROWING(", float[3] r") ">(b, , a)}");
  (void)data;
  for (int most = 0; most < 8; most += 3) {
    char steps[20];
    int n = grow(most, last, rows);
    snprintf(steps, sizeof steps, "i: %d", most);
    gives(&model, steps, 2, (expectation[]){{(int64_t)n * LENGTH, rows}, {LENGTH, last}});
  }
  CT_CHECK(grow(7, last, rows) < 7);
}

/* Loop with a condition alone, that is known at a call, and what is refused of it. */
static void loop_while(const void *data) {
  double last[LENGTH], rows[MOST];
  message model = onnx_model("(float[3] a, bool b) => (float[3] y) <" FACTOR "> {"
                             "  y = Loop<body = " GROWING("") ">(, b, a)}");
  (void)data;
  for (int condition = 0; condition < 2; condition++) {
    grow(condition ? 20 : 0, last, rows);
    gives(&model, condition ? "b: 1" : "b: 0", 1, &(expectation){LENGTH, last});
  }
  model = onnx_model("(float[3] a) => (float[3] y) <" FACTOR "> {"
                     "  w, y = Loop<body = " GROWING(", float[3] r") ">(, , a)}");
  is_refused(&model, "node 1 (Loop): rows of as many steps as a condition holds");
}

/* A number that is too large for steps is none. */
static void loop_without_end(const void *data) {
  message model =
      onnx_model("(float[3] a) => (float[3] y) <" FACTOR ", int64 n = {4611686018427387904}> {"
                 "  y = Loop<body = b (int64 i, bool c, float[3] u) => (bool d, float[3] w) {"
                 "    w = Add(u, u)"
                 "    d = Identity(c)"
                 "  }>(n, , a)"
                 "}");
  (void)data;
  is_refused(&model, "node 1 (Loop): neither a condition nor a number below 2^31 - 1 ends it");
}

/* Five times: three times u = (u + a) s, from f, then s = u - f; and f is added. Bodies read a and
 * f of the graph around both, and the inner one s of the outer one. */
static message nested_model(void) {
  return onnx_model(
      "(float[3] a) => (float[3] y) <" FACTOR ", int64 five = {5}, int64 three = {3}> {"
      "  z = Loop<body = outer (int64 i, bool c, float[3] s) => (bool c, float[3] g) {"
      "    e = Loop<body = inner (int64 i, bool c, float[3] u) => (bool d, float[3] w) {"
      "      v = Add(u, a)"
      "      w = Mul(v, s)"
      "      d = Identity(c)"
      "    }>(three, , f)"
      "    g = Sub(e, f)"
      "  }>(five, , a)"
      "  y = Add(z, f)"
      "}");
}

static void loop_in_a_loop(const void *data) {
  double s[LENGTH];
  message model = nested_model();
  (void)data;
  for (int k = 0; k < LENGTH; k++) {
    double a = begin_at[k], f = factor[k];
    s[k] = a;
    for (int step = 0; step < 5; step++) {
      double u = f;
      for (int n = 0; n < 3; n++) {
        u = (u + a) * s[k];
      }
      s[k] = u - f;
    }
    s[k] += f;
  }
  gives(&model, NULL, 1, &(expectation){LENGTH, s});
}

static int read_it(void *model) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph_unref(context != NULL ? onnx_graph_of(model, context, NULL, NULL, &error) : NULL);
  gemel_context_unref(context);
  return (int)error.status;
}

static void memory_runs_out(const void *data) {
  message model = nested_model();
  (void)data;
  CT_CHECK(ct_oom(read_it, &model) > 10);
  node_without_memory(cases[6].text);
}

#define IF(operator_)                                                                              \
  onnx_model("(float[3] a, bool b) => (float[3] y) <" FACTOR "> {"                                 \
             "  y = If<then_branch = yes () => (float[3] p) {p = Mul(a, f)},"                      \
             "         else_branch = no () => (float[3] q) {q = " operator_ "(a)}>(b)"             \
             "}")

/* If by a condition that only a call knows, and branches of two sizes, or of two types. */
static void if_of_both(const void *data) {
  double expected[LENGTH], expected_product[LENGTH], sum = 0;
  message model = IF("Neg");
  (void)data;
  for (int k = 0; k < LENGTH; k++) {
    expected_product[k] = begin_at[k] * factor[k];
    sum += begin_at[k];
  }
  for (int condition = 0; condition < 2; condition++) {
    for (int k = 0; k < LENGTH; k++) {
      expected[k] = begin_at[k] * (condition ? factor[k] : -1);
    }
    gives(&model, condition ? "b: 1" : "b: 0", 1, &(expectation){LENGTH, expected});
  }
  model = IF("ReduceSum<keepdims = 1>"); /* branches of two sizes */
  gives(&model, "b: 1", 1, &(expectation){LENGTH, expected_product});
  gives(&model, "b: 0", 1, &(expectation){1, &sum});
  model = IF("Shape");
  is_refused(&model, "node 1 (If): a condition that isn't known before the graph runs, and "
                     "output 0 is f32[3] or i64[1]");
}

/* Scan over the columns of a matrix from the last, with rows stacked as columns from behind: sums
 * of columns, times f. */
static void scan_of_columns(const void *data) {
  enum { COLUMNS = 4 };
  static const double matrix[LENGTH * COLUMNS] = {-2, -1, 2, 0, 0, 2, -1, -2, -1, 2, 0, 0};
  double stacked[LENGTH * COLUMNS], last[LENGTH];
  message model = onnx_model(
      "(float[3] a) => (float[3, 4] z, float[3] y)"
      "<" FACTOR ", float[3, 4] matrix = {-2, -1, 2, 0, 0, 2, -1, -2, -1, 2, 0, 0}> {"
      "  y, z = Scan<num_scan_inputs = 1, scan_input_axes = [-1], scan_input_directions = [1],"
      "              scan_output_axes = [1], scan_output_directions = [1],"
      "              body = g (float[3] s, float[3] e) => (float[3] t, float[3] r) {"
      "    t = Add(s, e)"
      "    r = Mul(t, f)"
      "  }>(a, matrix)"
      "}");
  (void)data;
  for (int k = 0; k < LENGTH; k++) {
    last[k] = begin_at[k];
    for (int j = COLUMNS - 1; j >= 0; j--) {
      last[k] += matrix[k * COLUMNS + j];
      stacked[k * COLUMNS + j] = last[k] * factor[k];
    }
  }
  gives(&model, NULL, 2, (expectation[]){{LENGTH * COLUMNS, stacked}, {LENGTH, last}});
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

static const onnx_definition definitions[] = {
    {"RNN", recurrent}, {"GRU", recurrent}, {"LSTM", recurrent}, {NULL, NULL}};

void ct_register(void) {
  onnx_definitions = definitions;
  NODE_SUITE("onnx_loops", cases, node_is_as_twin);
  ct_suite("onnx_loops", bodies, CT_COUNT(bodies));
}
