/* SPDX-License-Identifier: MIT
 *
 * corr and its two derivatives. All three are one sum over places o of the result, filters f,
 * channels c of the filter's group and places k of the kernel: a term has an element of the images,
 * one of the weights and one of the result, two of which are multiplied and added to the third.
 */
#include <string.h>
#include "recheck.h"

enum { MOST_SPATIAL = 3 };

/* Images, weights, and what they give. */
typedef struct correlation {
  tensor *x, *w, *y;
  int spatial; /* axes */
  int64_t stride[MOST_SPATIAL], dilation[MOST_SPATIAL], low[MOST_SPATIAL], high[MOST_SPATIAL];
  int64_t image[MOST_SPATIAL], kernel[MOST_SPATIAL], out[MOST_SPATIAL];
  int64_t batch, filters, channels, groups; /* channels of one group */
  int flip, unshared;
} correlation;

/* What a term is of. */
typedef struct term {
  int64_t n, f, c, o[MOST_SPATIAL], k[MOST_SPATIAL];
} term;

static int read_list(const call *c, const char *name, int n, int64_t fallback, int64_t *list) {
  const attr *a = call_attr(c, name);
  for (int j = 0; j < n; j++) {
    list[j] = a != NULL && a->kind == ATTR_LIST && a->n == n ? a->list[j] : fallback;
  }
  return a == NULL || a->n == n;
}

/* Sizes along the spatial axes. */
static int find_places(world *w, const call *c, const tensor *x, const tensor *weights,
                       const tensor *y, correlation *k) {
  int n = k->spatial;
  for (int j = 0; j < n; j++) {
    k->image[j] = x != NULL ? x->shape[2 + j] : k->image[j];
    k->kernel[j] = weights != NULL ? weights->shape[weights->rank - n + j] : k->kernel[j];
    int64_t room = k->image[j] + k->low[j] + k->high[j] - (k->kernel[j] - 1) * k->dilation[j] - 1;
    k->out[j] = k->kernel[j] < 1 || room < 0 || k->stride[j] < 1 ? 0 : room / k->stride[j] + 1;
    if (y != NULL && y->shape[2 + j] != k->out[j]) {
      return bad(w, "%s: sizes differ", c->op);
    }
  }
  return 1;
}

/* The attributes, and what shapes say: X, W and Y are those that are given, else NULL. */
static int read_correlation(world *w, const call *c, const tensor *x, const tensor *weights,
                            const tensor *y, correlation *k) {
  int n = (x != NULL ? x->rank : y->rank) - 2;
  memset(k, 0, sizeof *k);
  k->spatial = n;
  k->groups = call_integer(c, "groups", 1);
  k->flip = call_integer(c, "flip", 0) != 0;
  k->unshared = call_integer(c, "unshared", 0) != 0;
  if (n < 1 || n > MOST_SPATIAL || k->groups < 1 || call_attr(c, "padding") != NULL ||
      !read_list(c, "stride", n, 1, k->stride) || !read_list(c, "dilation", n, 1, k->dilation) ||
      !read_list(c, "low", n, 0, k->low) || !read_list(c, "high", n, 0, k->high) ||
      (weights != NULL && weights->rank != 2 + n + (k->unshared ? n : 0))) {
    return bad(w, "%s: its attributes", c->op);
  }
  if (!(x != NULL || read_list(c, "image", n, 0, k->image)) ||
      !(weights != NULL || read_list(c, "kernel", n, 0, k->kernel))) {
    return bad(w, "%s: its sizes", c->op);
  }
  k->batch = x != NULL ? x->shape[0] : y->shape[0];
  k->filters = weights != NULL ? weights->shape[0] : y->shape[1];
  k->channels = weights != NULL ? weights->shape[weights->rank - n - 1] : x->shape[1] / k->groups;
  return find_places(w, c, x, weights, y, k);
}

/* Images, weights or result of K in dtype T, all 0. */
static tensor *new_images(world *w, dtype t, const correlation *k) {
  int64_t shape[MAX_RANK] = {k->batch, k->channels * k->groups};
  memcpy(shape + 2, k->image, (size_t)k->spatial * sizeof *shape);
  return tensor_new(w, t, 2 + k->spatial, shape);
}

static tensor *new_weights(world *w, dtype t, const correlation *k) {
  int64_t shape[MAX_RANK] = {k->filters};
  int rank = 1;
  for (int j = 0; j < k->spatial && k->unshared; j++) {
    shape[rank++] = k->out[j];
  }
  shape[rank++] = k->channels;
  memcpy(shape + rank, k->kernel, (size_t)k->spatial * sizeof *shape);
  return tensor_new(w, t, rank + k->spatial, shape);
}

static tensor *new_result(world *w, dtype t, const correlation *k) {
  int64_t shape[MAX_RANK] = {k->batch, k->filters};
  memcpy(shape + 2, k->out, (size_t)k->spatial * sizeof *shape);
  return tensor_new(w, t, 2 + k->spatial, shape);
}

/* The element of the images that T reads; NULL in the padding. */
static cell *image_cell(const correlation *k, const term *t) {
  int64_t index[MAX_RANK] = {t->n, t->c + t->f / (k->filters / k->groups) * k->channels};
  for (int j = 0; j < k->spatial; j++) {
    int64_t at = k->flip ? k->kernel[j] - 1 - t->k[j] : t->k[j];
    index[2 + j] = t->o[j] * k->stride[j] + at * k->dilation[j] - k->low[j];
    if (index[2 + j] < 0 || index[2 + j] >= k->image[j]) {
      return NULL;
    }
  }
  return &k->x->at[offset_of(k->x, index)];
}

static cell *weight_cell(const correlation *k, const term *t) {
  int64_t index[MAX_RANK] = {t->f};
  int rank = 1;
  for (int j = 0; j < k->spatial && k->unshared; j++) {
    index[rank++] = t->o[j];
  }
  index[rank++] = t->c;
  memcpy(index + rank, t->k, (size_t)k->spatial * sizeof *index);
  return &k->w->at[offset_of(k->w, index)];
}

static cell *result_cell(const correlation *k, const term *t) {
  int64_t index[MAX_RANK] = {t->n, t->f};
  memcpy(index + 2, t->o, (size_t)k->spatial * sizeof *index);
  return &k->y->at[offset_of(k->y, index)];
}

/* The next term; 0 behind the last. */
static int next_term(const correlation *k, term *t) {
  int64_t shape[MAX_RANK] = {k->batch, k->filters, k->channels},
          index[MAX_RANK] = {t->n, t->f, t->c};
  int more;
  memcpy(shape + 3, k->out, (size_t)k->spatial * sizeof *shape);
  memcpy(shape + 3 + k->spatial, k->kernel, (size_t)k->spatial * sizeof *shape);
  memcpy(index + 3, t->o, (size_t)k->spatial * sizeof *index);
  memcpy(index + 3 + k->spatial, t->k, (size_t)k->spatial * sizeof *index);
  more = next_index(3 + 2 * k->spatial, shape, index);
  *t = (term){.n = index[0], .f = index[1], .c = index[2]};
  memcpy(t->o, index + 3, (size_t)k->spatial * sizeof *index);
  memcpy(t->k, index + 3 + k->spatial, (size_t)k->spatial * sizeof *index);
  return more;
}

static int any_term(const correlation *k) {
  int64_t terms = k->batch * k->filters * k->channels;
  for (int j = 0; j < k->spatial; j++) {
    terms *= k->out[j] * k->kernel[j];
  }
  return terms > 0;
}

/* Adds all terms of K to RESULT, which is one of its three tensors. */
static int add_terms(world *w, call *c, const correlation *k, tensor *result) {
  dtype t = result->dtype;
  term at = {0};
  if (k->x == NULL || k->w == NULL || k->y == NULL || k->x->dtype != t || k->w->dtype != t ||
      k->y->dtype != t || k->filters % k->groups != 0 ||
      k->x->shape[1] != k->channels * k->groups || k->w->shape[0] != k->filters ||
      k->y->shape[1] != k->filters) {
    return bad(w, "%s: its operands", c->op);
  }
  for (size_t i = 0; i < result->count; i++) {
    result->at[i] = number_of_integer(w, t, 0);
  }
  for (int more = any_term(k); more; more = next_term(k, &at)) {
    cell *x = image_cell(k, &at), *v = weight_cell(k, &at), *y = result_cell(k, &at);
    if (x != NULL) {
      cell *to = result == k->y ? y : result == k->w ? v : x;
      *to = number_add(w, t, *to,
                       number_mul(w, t, result == k->x ? *v : *x, result == k->y ? *v : *y));
    }
  }
  for (size_t i = 0; w->model == MODEL_FLOAT && is_float(t) && i < result->count; i++) {
    result->at[i] = number_unknown(); /* the order of its sums is nobody's promise */
  }
  c->out[0] = result;
  return 1;
}

static int run_corr(world *w, call *c) {
  correlation k;
  if (c->n_in != 2 || read_correlation(w, c, c->in[0], c->in[1], NULL, &k) < 0) {
    return bad(w, "corr: its operands");
  }
  k.x = (tensor *)c->in[0];
  k.w = (tensor *)c->in[1];
  k.y = new_result(w, k.x->dtype, &k);
  return k.y != NULL ? add_terms(w, c, &k, k.y) : -1;
}

static int run_corr_grad_weights(world *w, call *c) {
  correlation k;
  if (c->n_in < 2 || read_correlation(w, c, c->in[0], NULL, c->in[1], &k) < 0) {
    return bad(w, "corr_grad_weights: its operands");
  }
  k.x = (tensor *)c->in[0];
  k.y = (tensor *)c->in[1];
  k.w = new_weights(w, k.x->dtype, &k);
  return k.w != NULL ? add_terms(w, c, &k, k.w) : -1;
}

static int run_corr_grad_inputs(world *w, call *c) {
  correlation k;
  if (c->n_in < 2 || read_correlation(w, c, NULL, c->in[0], c->in[1], &k) < 0) {
    return bad(w, "corr_grad_inputs: its operands");
  }
  k.w = (tensor *)c->in[0];
  k.y = (tensor *)c->in[1];
  k.x = new_images(w, k.w->dtype, &k);
  return k.x != NULL ? add_terms(w, c, &k, k.x) : -1;
}

const operation_row convolving_operations[] = {{"corr", run_corr},
                                               {"corr_grad_weights", run_corr_grad_weights},
                                               {"corr_grad_inputs", run_corr_grad_inputs},
                                               {NULL, NULL}};
