/* SPDX-License-Identifier: MIT
 *
 * A deep residual network, one with many gates and few products, one with convolutions and gates,
 * and an unrolled bidirectional recurrent network; see training.h. Sizes of tensors are small
 * numbers: rewriting looks at nodes, not at elements. bench/peers/optimizer.py builds the first and
 * the last.
 */
#include "training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "bench.h"

enum { BATCH = 16, WIDTH = 32, STEP_IN = 12, STEP_OUT = 8 };

/* ---- Builders ---- */

/* dot without attributes. */
static gemel_value matrix_product(gemel_value a, gemel_value b) {
  gemel_value inputs[] = {a, b};
  return gemel_apply(a.graph, "dot", 2, inputs, 0, NULL);
}

static gemel_value input(gemel_graph *graph, const char *name, int rank, const int64_t *shape) {
  return gemel_input(graph, name,
                     gemel_type_of_shape(gemel_graph_context(graph), GEMEL_F32, rank, shape));
}

static gemel_value matrix(gemel_graph *graph, const char *name, int64_t rows, int64_t columns) {
  int64_t shape[] = {rows, columns};
  return input(graph, name, 2, shape);
}

/* A parameter called NAME and its number. */
static gemel_value parameter_of(gemel_graph *graph, gemel__parameters *p, const char *name,
                                int rank, const int64_t *shape) {
  char full[32];
  if (p->count == p->room) {
    p->room = p->room > 0 ? 2 * p->room : 64;
    p->values = gemel__need(p->values, p->room * sizeof *p->values);
    p->gradients = gemel__need(p->gradients, p->room * sizeof *p->gradients);
  }
  snprintf(full, sizeof full, "%s%zu", name, p->count);
  return p->values[p->count++] = input(graph, full, rank, shape);
}

/* A vector if COLUMNS is 0. */
static gemel_value parameter(gemel_graph *graph, gemel__parameters *p, const char *name,
                             int64_t rows, int64_t columns) {
  int64_t shape[] = {rows, columns};
  return parameter_of(graph, p, name, columns > 0 ? 2 : 1, shape);
}

/* (the sum of the squares of X) / COUNT */
static gemel_value mean_square(gemel_value x, double count) {
  gemel_value total = gemel_sum(gemel_mul(x, x));
  return gemel_div(total, gemel_scalar(x.graph, GEMEL_F32, count));
}

/* ---- Deep residual network: x + relu(norm(x) u + b) v, again and again ---- */

/* (x - mean) / sqrt(variance + eps) * gain, over N axes, of so many ELEMENTS together. */
static gemel_value normalise_over(gemel_value x, gemel_value gain, size_t n, const int64_t *axes,
                                  double elements) {
  gemel_value count = gemel_scalar(x.graph, GEMEL_F32, elements);
  gemel_value mean = gemel_div(gemel_sum_with(x, .axes = {n, axes}, .keepdims = 1), count);
  gemel_value centred = gemel_sub(x, mean);
  gemel_value squares =
      gemel_sum_with(gemel_mul(centred, centred), .axes = {n, axes}, .keepdims = 1);
  gemel_value variance = gemel_div(squares, count);
  gemel_value deviation = gemel_sqrt(gemel_add(variance, gemel_scalar(x.graph, GEMEL_F32, 1e-5)));
  return gemel_mul(gemel_div(centred, deviation), gain);
}

/* Over the features of each row. */
static gemel_value normalise(gemel_value x, gemel_value gain) {
  static const int64_t features[] = {1};
  return normalise_over(x, gain, 1, features, WIDTH);
}

static gemel_value residual(gemel_graph *graph, uint64_t blocks, gemel__parameters *p) {
  gemel_value x = matrix(graph, "x", BATCH, WIDTH), y = matrix(graph, "y", BATCH, WIDTH);
  for (uint64_t k = 0; k < blocks && !gemel_is_null(x); k++) {
    gemel_value gain = parameter(graph, p, "g", WIDTH, 0);
    gemel_value u = parameter(graph, p, "u", WIDTH, WIDTH);
    gemel_value b = parameter(graph, p, "b", WIDTH, 0);
    gemel_value v = parameter(graph, p, "v", WIDTH, WIDTH);
    gemel_value a = gemel_add(matrix_product(normalise(x, gain), u), b);
    x = gemel_add(x, matrix_product(gemel_relu(a), v));
  }
  return mean_square(gemel_sub(x, y), BATCH);
}

/* ---- Gates: a product, then s tanh(n) + (1 - s) h with s = sigmoid(n), n = norm(h) ---- */

static gemel_value sigmoid(gemel_value x) {
  gemel_value one = gemel_scalar(x.graph, GEMEL_F32, 1);
  return gemel_div(one, gemel_add(one, gemel_exp(gemel_neg(x))));
}

static gemel_value gate(gemel_value n, gemel_value h) {
  gemel_value one = gemel_scalar(h.graph, GEMEL_F32, 1), s = sigmoid(n);
  return gemel_add(gemel_mul(s, gemel_tanh(n)), gemel_mul(gemel_sub(one, s), h));
}

/* At 24,938 nodes it has as many products as the graph with which Theano's GraphToGPU was measured:
 * 147, with 1,479 reductions and some 15,000 elementwise nodes there, 2,206 and 21,271 here, where
 * nothing need be said to broadcast. */
static gemel_value gated(gemel_graph *graph, uint64_t blocks, gemel__parameters *p) {
  enum { ROUNDS = 9 };
  gemel_value x = matrix(graph, "x", BATCH, WIDTH), y = matrix(graph, "y", BATCH, WIDTH);
  for (uint64_t k = 0; k < blocks && !gemel_is_null(x); k++) {
    gemel_value h = matrix_product(x, parameter(graph, p, "u", WIDTH, WIDTH));
    for (int round = 0; round < ROUNDS; round++) {
      h = gate(normalise(h, parameter(graph, p, "g", WIDTH, 0)), h);
    }
    x = gemel_add(x, h);
  }
  return mean_square(gemel_sub(x, y), BATCH);
}

/* ---- Images: convolutions, gates, and a product that says how much channels weigh ---- */

enum { IMAGES = 4, CHANNELS = 8, SIDE = 6, STEM = 5, CONVOLUTIONS = 3 };

/* A convolution by 3 x 3 elements, as large as its images; then so many gates, whose norms are
 * those of each channel. */
static gemel_value convolve(gemel_value x, gemel__parameters *p, int gates) {
  static const int64_t weights[] = {CHANNELS, CHANNELS, 3, 3}, gain[] = {CHANNELS, 1, 1};
  static const int64_t all_but_channels[] = {0, 2, 3};
  gemel_attr half = gemel_attr_string("padding", "half");
  gemel_value inputs[] = {x, parameter_of(x.graph, p, "w", 4, weights)};
  gemel_value h = gemel_apply(x.graph, "corr", 2, inputs, 1, &half);
  for (int k = 0; k < gates; k++) {
    gemel_value n = normalise_over(h, parameter_of(x.graph, p, "g", 3, gain), 3, all_but_channels,
                                   IMAGES * SIDE * SIDE);
    h = gate(n, h);
  }
  return h;
}

/* x * sigmoid(mean u + b), the mean that of a channel in an image. */
static gemel_value weigh_channels(gemel_value x, gemel__parameters *p) {
  static const int64_t places[] = {2, 3}, order[] = {0, 1, -1, -1};
  gemel_value count = gemel_scalar(x.graph, GEMEL_F32, SIDE * SIDE);
  gemel_value mean = gemel_div(gemel_sum_with(x, .axes = {2, places}), count);
  gemel_value a = matrix_product(mean, parameter(x.graph, p, "u", CHANNELS, CHANNELS));
  gemel_value s = sigmoid(gemel_add(a, parameter(x.graph, p, "b", CHANNELS, 0)));
  return gemel_mul(x, gemel_dimshuffle(s, 4, order));
}

/* Five convolutions, then blocks of three and a product. At 24,938 nodes it has 49 blocks, and so,
 * with the gradients, of which the first images need none, as many convolutions as the graph with
 * which Theano's GraphToGPU was measured, 455, and as many products, 147. */
static gemel_value convolutional(gemel_graph *graph, uint64_t blocks, gemel__parameters *p) {
  static const int64_t shape[] = {IMAGES, CHANNELS, SIDE, SIDE};
  static const int gates[CONVOLUTIONS] = {3, 3, 2};
  gemel_value x = input(graph, "x", 4, shape), y = input(graph, "y", 4, shape);
  for (int k = 0; k < STEM; k++) {
    x = convolve(x, p, 1);
  }
  for (uint64_t k = 0; k < blocks && !gemel_is_null(x); k++) {
    gemel_value h = x;
    for (int j = 0; j < CONVOLUTIONS; j++) {
      h = convolve(h, p, gates[j]);
    }
    x = gemel_add(x, weigh_channels(h, p));
  }
  return mean_square(gemel_sub(x, y), IMAGES);
}

/* ---- Bidirectional recurrent network, unrolled ---- */

typedef struct half {
  gemel_value u, r, b, o; /* parameters: input, recurrent, bias, output */
  gemel_value *states;    /* after each step */
} half;

static gemel_value at_step(gemel_value sequence, uint64_t step, int64_t width) {
  gemel_context *context = gemel_graph_context(sequence.graph);
  gemel_dim start[] = {gemel_dim_constant(context, (int64_t)step), gemel_dim_constant(context, 0),
                       gemel_dim_constant(context, 0)};
  gemel_dim size[] = {gemel_dim_constant(context, 1), gemel_dim_constant(context, BATCH),
                      gemel_dim_constant(context, width)};
  return gemel_reshape(gemel_subtensor(sequence, 3, start, 3, size), 2, size + 1);
}

static half half_new(gemel_graph *graph, gemel__parameters *p, uint64_t steps) {
  half h;
  h.u = parameter(graph, p, "u", STEP_IN, WIDTH);
  h.r = parameter(graph, p, "r", WIDTH, WIDTH);
  h.b = parameter(graph, p, "b", WIDTH, 0);
  h.o = parameter(graph, p, "o", WIDTH, STEP_OUT);
  h.states = gemel__need(NULL, steps * sizeof *h.states);
  return h;
}

/* tanh(x u + state r + b) */
static gemel_value next_state(const half *h, gemel_value x, gemel_value state) {
  gemel_value a = gemel_add(matrix_product(x, h->u), matrix_product(state, h->r));
  return gemel_tanh(gemel_add(a, h->b));
}

/* The sum over all steps of the squared error of (forward state) o + (backward state) o' + c. */
static gemel_value sum_errors(const half *f, const half *g, gemel_value c, gemel_value y,
                              uint64_t steps) {
  gemel_value total = {NULL, 0, 0};
  uint64_t t;
  for (t = 0; t < steps; t++) {
    gemel_value both =
        gemel_add(matrix_product(f->states[t], f->o), matrix_product(g->states[t], g->o));
    gemel_value error = gemel_sub(gemel_add(both, c), at_step(y, t, STEP_OUT));
    gemel_value one = mean_square(error, BATCH);
    total = t == 0 ? one : gemel_add(total, one);
  }
  return total;
}

static gemel_value bidirectional(gemel_graph *graph, uint64_t steps, gemel__parameters *p) {
  int64_t in[] = {(int64_t)steps, BATCH, STEP_IN}, out[] = {(int64_t)steps, BATCH, STEP_OUT};
  gemel_value x = input(graph, "x", 3, in), y = input(graph, "y", 3, out), loss, c;
  gemel_value first = matrix(graph, "f0", BATCH, WIDTH), last = matrix(graph, "g0", BATCH, WIDTH);
  half f = half_new(graph, p, steps), g = half_new(graph, p, steps);
  c = parameter(graph, p, "c", STEP_OUT, 0);
  for (uint64_t t = 0; t < steps; t++) {
    uint64_t back = steps - 1 - t;
    f.states[t] = next_state(&f, at_step(x, t, STEP_IN), t == 0 ? first : f.states[t - 1]);
    g.states[back] = next_state(&g, at_step(x, back, STEP_IN), t == 0 ? last : g.states[back + 1]);
  }
  loss = sum_errors(&f, &g, c, y, steps);
  free(f.states);
  free(g.states);
  return loss;
}

const gemel__training gemel__trainings[] = {{"residual", "blocks", residual},
                                            {"gated", "blocks", gated},
                                            {"convolutional", "blocks", convolutional},
                                            {"bidirectional", "steps", bidirectional},
                                            {NULL, NULL, NULL}};

/* ---- Gradient and outputs ---- */

gemel_status gemel__training_gradient(gemel_value loss, gemel__parameters *p, gemel_error *error) {
  return gemel_grad(1, &loss, NULL, p->count, p->values, p->gradients, error);
}

gemel_status gemel__training_outputs(gemel_value loss, const gemel__parameters *p,
                                     gemel_error *error) {
  gemel_status status = gemel_output(loss, "loss");
  size_t k;
  for (k = 0; k < p->count && status == GEMEL_OK; k++) {
    char name[32];
    snprintf(name, sizeof name, "d%zu", k);
    status = gemel_output(p->gradients[k], name);
  }
  if (status != GEMEL_OK) {
    *error = *gemel_graph_error(loss.graph);
  }
  return status;
}

void gemel__parameters_free(gemel__parameters *p) {
  free(p->values);
  free(p->gradients);
  *p = (gemel__parameters){NULL, NULL, 0, 0};
}

/* ---- How much work ---- */

static int64_t extent(gemel_value x, int64_t axis) {
  gemel_context *context = gemel_graph_context(x.graph);
  gemel_type type = gemel_value_type(x);
  int64_t size = 0;
  axis += axis < 0 ? gemel_type_rank(context, type) : 0;
  gemel_dim_is_constant(context, gemel_type_dims(context, type)[axis], &size);
  return size;
}

static double elements(gemel_value x) {
  int k, rank = gemel_type_rank(gemel_graph_context(x.graph), gemel_value_type(x));
  double product = 1;
  for (k = 0; k < rank; k++) {
    product *= (double)extent(x, k);
  }
  return product;
}

/* Of one of the three convolutions, whose weights and results OPERATION's operands and result are:
 * 2 × the elements of the results × those of a filter. */
static double flops_of_convolution(gemel_value value, const char *operation) {
  int weights = strcmp(operation, "corr_grad_weights") == 0;
  int inputs = strcmp(operation, "corr_grad_inputs") == 0;
  gemel_value w = weights ? value : gemel_value_input(value, !inputs);
  gemel_value y = weights || inputs ? gemel_value_input(value, 1) : value;
  return 2 * elements(y) * elements(w) / (double)extent(w, 0);
}

/* Of a product: 2 × the elements of the result × the length of what is summed. An inner product
 * (everything is summed) is a sum of products written otherwise, which isn't counted where it is
 * written so. */
static double flops_of(gemel_value product) {
  static const char *const lists[] = {"contract_x", "contract_y", "batch_x", "batch_y"};
  gemel_value x = gemel_value_input(product, 0);
  gemel_attr attr, axes = {NULL, GEMEL_ATTR_NONE, 0, {0}};
  double flops = 2 * elements(product);
  size_t k, given = 0;
  if (gemel_type_rank(gemel_graph_context(product.graph), gemel_value_type(product)) == 0) {
    return 0;
  }
  for (k = 0; k < 4; k++) {
    if (gemel_value_attr(product, lists[k], &attr) == GEMEL_OK && attr.kind != GEMEL_ATTR_NONE) {
      given++;
      axes = k == 0 ? attr : axes;
    }
  }
  if (given == 0) {
    return flops * (double)extent(x, -1);
  }
  for (k = 0; k < axes.count; k++) {
    flops *= (double)extent(x, axes.u.ints[k]);
  }
  return flops;
}

/* 1 if OPERATION only looks at its operand's memory in another way. */
static int is_view(const gemel_graph *graph, const char *operation) {
  const gemel_operation *record = gemel_operation_find(gemel_graph_context(graph), operation);
  return record != NULL && (record->flags & GEMEL_OP_VIEW) != 0;
}

/* Marks what the outputs need; a node's inputs have smaller ids, so one sweep down does. */
gemel__work gemel__work_of(gemel_graph *graph) {
  size_t nodes = gemel_graph_node_count(graph), k, j;
  unsigned char *needed = gemel__need(NULL, nodes + 1);
  gemel__work work = {0, 0, 0, 0, 0};
  for (k = 0; k < nodes; k++) {
    needed[k] = 0;
  }
  for (k = 0; k < gemel_graph_output_count(graph); k++) {
    needed[gemel_graph_output(graph, k).node] = 1;
  }
  for (k = nodes; k-- > 0;) {
    gemel_value value = {graph, (uint32_t)k, 0};
    const char *operation = gemel_value_operation(value);
    for (j = needed[k] ? gemel_value_input_count(value) : 0; j-- > 0;) {
      needed[gemel_value_input(value, j).node] = 1;
    }
    work.nodes += needed[k];
    work.operations +=
        needed[k] && strcmp(operation, "input") != 0 && strcmp(operation, "constant") != 0;
    work.views += needed[k] && is_view(graph, operation);
    if (needed[k] && (strcmp(operation, "dot") == 0 || strcmp(operation, "dot_add") == 0)) {
      work.flops += flops_of(value);
    } else if (needed[k] && strncmp(operation, "corr", 4) == 0) {
      work.flops += flops_of_convolution(value, operation);
      work.convolutions++;
    }
  }
  free(needed);
  return work;
}
