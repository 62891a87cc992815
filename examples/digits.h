/* SPDX-License-Identifier: MIT
 *
 * Training a classifier of handwritten digits, for digits.c and lenet.c: reads the images, makes
 * the variables, adds the updates of gradient descent with momentum to the graph of the loss, and
 * runs epochs. A program describes its network and calls learn_digits.
 *
 * It reads digits.npz in the current folder (source and licence: digits.txt).
 */
#ifndef EXAMPLES_DIGITS_H
#define EXAMPLES_DIGITS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>

enum { PIXELS = 64, BATCH = 64, PARAMETERS = 8 };

/* One weight or bias. SUMMED: how many products a sum in the network has; 0: it begins as zeros. */
typedef struct parameter {
  int rank;
  int64_t shape[4];
  int summed;
} parameter;

typedef struct model {
  /* Graph text. TRAINING has the inputs images (u8[BATCH, 8, 8]), labels (u8[BATCH]), rate (f32[]),
   * then its parameters as states, and the loss as its output; CLASSIFYING has images, of any
   * number, and the parameters, and gives the class of each image. */
  const char *training, *classifying;
  size_t n_parameters; /* at most PARAMETERS */
  parameter parameters[PARAMETERS];
  int epochs;
  float rates[2]; /* of learning, in the first and the second half of the epochs */
} model;

typedef struct network {
  gemel_context *context;
  gemel_function *train, *classify;
  size_t n_parameters;
  gemel_shared *states[2 * PARAMETERS]; /* the parameters, then the momentum of each */
} network;

typedef struct digits {
  char **names;
  gemel_tensor **tensors;
  size_t count, n_tensors;
  const unsigned char *images, *labels;
  size_t *order;
} digits;

/* ---- Random numbers ---- */

static uint64_t seed = 1;

static double uniform(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) {
  double radius = sqrt(-2 * log(uniform()));
  return radius * cos(6.283185307179586 * uniform());
}

static void shuffle(size_t n, size_t *order) {
  for (size_t k = n; k > 1; k--) {
    size_t j = (size_t)(uniform() * (double)k), old = order[k - 1];
    order[k - 1] = order[j];
    order[j] = old;
  }
}

/* ---- The network ---- */

/* One variable: normal numbers that keep the variance of sums of SUMMED products, or zeros. */
static gemel_shared *make_variable(const parameter *p, int summed, gemel_error *error) {
  gemel_tensor *value = gemel_tensor_new(GEMEL_F32, p->rank, p->shape, error); /* zeros */
  gemel_shared *shared = NULL;
  if (value != NULL) {
    float *data = gemel_tensor_data(value);
    for (int64_t k = 0; summed > 0 && k < gemel_tensor_elements(value); k++) {
      data[k] = (float)(normal() * sqrt(2.0 / summed));
    }
    shared = gemel_shared_new(value, error);
  }
  gemel_tensor_unref(value);
  return shared;
}

static int make_variables(network *n, const model *m, gemel_error *error) {
  for (size_t k = 0; k < m->n_parameters; k++) {
    const parameter *p = &m->parameters[k];
    n->states[k] = make_variable(p, p->summed, error);
    n->states[m->n_parameters + k] = make_variable(p, 0, error);
    if (n->states[k] == NULL || n->states[m->n_parameters + k] == NULL) {
      return -1;
    }
  }
  return 0;
}

static gemel_function *compile(const gemel_graph *graph, size_t n, gemel_shared *const *states,
                               gemel_error *error) {
  gemel_options options = {.size = sizeof options, .states = states, .n_states = n};
  return gemel_compile(graph, &options, error);
}

/* To the loss: v = 0.9 v - rate dloss/dw and w = w + v, for each parameter w. */
static gemel_status add_updates(gemel_graph *graph, size_t n, gemel_error *error) {
  enum { FIRST = 3 }; /* behind the images, the labels and the rate */
  gemel_value loss = gemel_graph_output(graph, 0), rate = gemel_graph_input(graph, 2);
  gemel_value w[PARAMETERS], v[PARAMETERS], slope[PARAMETERS];
  gemel_value kept = gemel_scalar(graph, GEMEL_F32, 0.9);
  for (size_t k = 0; k < n; k++) {
    w[k] = gemel_graph_input(graph, FIRST + k);
  }
  gemel_status status = gemel_grad(1, &loss, NULL, n, w, slope, error);
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    char name[] = {'v', (char)('1' + k), 0};
    v[k] = gemel_state(graph, name, gemel_value_type(w[k]));
    gemel_value next = gemel_sub(gemel_mul(kept, v[k]), gemel_mul(rate, slope[k]));
    gemel_update(v[k], next);
    status = gemel_update(w[k], gemel_add(w[k], next));
  }
  if (gemel_graph_error(graph)->status != GEMEL_OK) {
    *error = *gemel_graph_error(graph);
  }
  return status;
}

static int make_network(network *n, const model *m, gemel_error *error) {
  n->n_parameters = m->n_parameters;
  n->context = gemel_context_new(error);
  if (n->context == NULL || make_variables(n, m, error) != 0) {
    return -1;
  }
  gemel_graph *train =
      gemel_parse(n->context, m->training, strlen(m->training), "train", NULL, error);
  gemel_graph *classify =
      gemel_parse(n->context, m->classifying, strlen(m->classifying), "classify", NULL, error);
  if (train != NULL && classify != NULL && add_updates(train, m->n_parameters, error) == GEMEL_OK) {
    n->train = compile(train, 2 * m->n_parameters, n->states, error);
    n->classify = compile(classify, m->n_parameters, n->states, error);
  }
  gemel_graph_unref(train);
  gemel_graph_unref(classify);
  return n->train != NULL && n->classify != NULL ? 0 : -1;
}

static void free_network(network *n) {
  gemel_function_free(n->train);
  gemel_function_free(n->classify);
  for (size_t k = 0; k < 2 * n->n_parameters; k++) {
    gemel_shared_unref(n->states[k]);
  }
  gemel_context_unref(n->context);
}

/* ---- The data ---- */

static int load_digits(digits *d, gemel_error *error) {
  if (gemel_npz_load("digits.npz", &d->n_tensors, &d->names, &d->tensors, error) != GEMEL_OK) {
    return -1;
  }
  for (size_t k = 0; k < d->n_tensors; k++) {
    if (strcmp(d->names[k], "images") == 0) {
      d->images = gemel_tensor_data(d->tensors[k]);
      d->count = (size_t)gemel_tensor_shape(d->tensors[k])[0];
    } else {
      d->labels = gemel_tensor_data(d->tensors[k]);
    }
  }
  d->order = malloc(d->count * sizeof *d->order);
  for (size_t k = 0; d->order != NULL && k < d->count; k++) {
    d->order[k] = k;
  }
  return d->order != NULL ? 0 : -1;
}

/* Copies the digits with the N numbers at ORDER. */
static void gather(const digits *d, const size_t *order, size_t n, gemel_tensor *images,
                   gemel_tensor *labels) {
  unsigned char *image = gemel_tensor_data(images), *label = gemel_tensor_data(labels);
  for (size_t k = 0; k < n; k++) {
    memcpy(image + k * PIXELS, d->images + order[k] * PIXELS, PIXELS);
    label[k] = d->labels[order[k]];
  }
}

/* Tensors for the images and labels of N digits. */
static int make_batch(int64_t n, gemel_tensor **batch, gemel_error *error) {
  int64_t shape[] = {n, 8, 8};
  batch[0] = gemel_tensor_new(GEMEL_U8, 3, shape, error);
  batch[1] = gemel_tensor_new(GEMEL_U8, 1, shape, error);
  return batch[0] != NULL && batch[1] != NULL ? 0 : -1;
}

/* ---- Learning ---- */

/* One pass over N digits in random order; the mean loss, or -1. */
static double epoch(network *n, const digits *d, size_t count, float rate, gemel_error *error) {
  gemel_tensor *inputs[3] = {NULL}, *loss = NULL;
  size_t batches = count / BATCH, k = 0;
  double total = 0;
  inputs[2] = gemel_tensor_new(GEMEL_F32, 0, NULL, error);
  if (make_batch(BATCH, inputs, error) == 0 && inputs[2] != NULL) {
    *(float *)gemel_tensor_data(inputs[2]) = rate;
    shuffle(count, d->order);
    for (; k < batches; k++) {
      gather(d, d->order + k * BATCH, BATCH, inputs[0], inputs[1]);
      if (gemel_call(n->train, 3, inputs, 1, &loss, error) != GEMEL_OK) {
        break;
      }
      total += *(const float *)gemel_tensor_data(loss);
    }
  }
  gemel_tensor_unref(inputs[0]);
  gemel_tensor_unref(inputs[1]);
  gemel_tensor_unref(inputs[2]);
  gemel_tensor_unref(loss);
  return k == batches ? total / (double)batches : -1;
}

/* The share of the N digits at ORDER that are read right, or -1. */
static double accuracy(network *n, const digits *d, const size_t *order, size_t count,
                       gemel_error *error) {
  gemel_tensor *batch[2] = {NULL}, *classes = NULL;
  double right = -1;
  if (make_batch((int64_t)count, batch, error) == 0) {
    gather(d, order, count, batch[0], batch[1]);
    if (gemel_call(n->classify, 1, batch, 1, &classes, error) == GEMEL_OK) {
      const int64_t *class = gemel_tensor_data(classes);
      const unsigned char *label = gemel_tensor_data(batch[1]);
      right = 0;
      for (size_t k = 0; k < count; k++) {
        right += class[k] == label[k];
      }
      right /= (double)count;
    }
  }
  gemel_tensor_unref(batch[0]);
  gemel_tensor_unref(batch[1]);
  gemel_tensor_unref(classes);
  return right;
}

static double learn(network *n, const model *m, const digits *d, gemel_error *error) {
  size_t held = d->count / 5, rest = d->count - held;
  double right = -1;
  shuffle(d->count, d->order); /* the last fifth is held back */
  for (int k = 1; k <= m->epochs; k++) {
    double loss = epoch(n, d, rest, m->rates[k > m->epochs / 2], error);
    right = loss >= 0 ? accuracy(n, d, d->order + rest, held, error) : -1;
    if (right < 0) {
      return -1;
    }
    printf("epoch %2d: loss %.4f, %.2f %% right\n", k, loss, 100 * right);
  }
  return right;
}

/* Trains the network M, and says how it goes. The program's exit status: 0 if at least 95 % of the
 * digits that were held back are read right. The first argument is the seed. */
static int learn_digits(const model *m, int argc, char **argv) {
  gemel_error error = {GEMEL_OK, 0, 0, "out of memory"};
  network n = {0};
  digits d = {0};
  double right = -1;
  if (argc > 1) {
    seed = strtoull(argv[1], NULL, 10);
  }
  if (load_digits(&d, &error) == 0 && make_network(&n, m, &error) == 0) {
    right = learn(&n, m, &d, &error);
  }
  if (right < 0) {
    fprintf(stderr, "%s\n", error.text);
  }
  free_network(&n);
  gemel_npz_free(d.n_tensors, d.names, d.tensors);
  free(d.order);
  return right < 0.95;
}

#endif
