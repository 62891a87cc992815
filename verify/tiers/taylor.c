/* SPDX-License-Identifier: MIT
 *
 * Tier gradient of an operation that has a kernel and no reference: its function can only be
 * evaluated, in f64. Along a random direction t, with random cotangents u, phi(h) = uᵀf(x + h t)
 * has the derivative uᵀJ t, which the reverse and the forward graph give. By Taylor's theorem the
 * remainder phi(h) − phi(0) − h uᵀJ t falls as h² if that is right, and as h if it is wrong.
 *
 * The order is measured while h is halved, from 2⁻⁶ on, as long as the remainder is well above the
 * rounding error of phi. That is measured too: by second differences at such small h that only
 * rounding is left. x has 24 bits and t has 3, so x + h t is exact. The verdict is an order: there
 * is no step size and no tolerance.
 */
#include "tiers/taylor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "tiers/tiers.h"

enum { FIRST = 6, LAST = 24, FINEST = 25, PROBES = 8 };
/* Remainders below so many times the rounding error aren't used. */
#define CLEAR 32
/* A smaller order refutes: a right derivative has order 2, a wrong one 1. */
#define BORDER 1.8

struct taylor_line {
  const gemel__instance *instance;
  gemel__partial part;
  /* a value for each leaf: at h = 0, and at the h of the last evaluation */
  gemel_tensor **x, **moved;
  gemel_tensor **u; /* a cotangent for each output of float dtype */
  gemel_tensor **t; /* a tangent for each leaf; NULL where it has none */
  gemel_tensor **y; /* room for results */
  gemel__random *random;
  long double size; /* sum of the magnitudes of the terms of phi(0) */
  gemel_error *error;
};

/* ---- Along the line ---- */

static void move(const struct taylor_line *l, double h) {
  for (size_t k = 0; k < l->instance->n_leaves; k++) {
    const double *x = gemel_tensor_data(l->x[k]), *t;
    double *moved = gemel_tensor_data(l->moved[k]);
    if (l->t[k] == NULL) {
      continue;
    }
    t = gemel_tensor_data(l->t[k]);
    for (size_t i = 0; i < l->instance->leaves[k].count; i++) {
      moved[i] = x[i] + h * t[i];
    }
  }
}

/* aᵀb of two tensors of f64. SIZE (may be NULL) is increased by the magnitudes of the terms. */
static long double dot(const gemel_tensor *a, const gemel_tensor *b, long double *size) {
  size_t n = (size_t)gemel_tensor_elements(a), i;
  long double sum = 0;
  for (i = 0; i < n; i++) {
    long double term = (long double)gemel__decode(GEMEL_F64, gemel__tensor_element(a, i)) *
                       gemel__decode(GEMEL_F64, gemel__tensor_element(b, i));
    sum += term;
    if (size != NULL) {
      *size += fabsl(term);
    }
  }
  return sum;
}

static gemel_status phi(struct taylor_line *l, double h, long double *result) {
  size_t n = gemel_graph_output_count(l->instance->graph), k, at = 0;
  move(l, h);
  gemel_status status =
      gemel__execute(l->instance, &gemel__variants[1], l->moved, l->random, l->y, l->error);
  *result = 0;
  l->size = 0;
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    if (gemel__is_float(gemel_tensor_dtype(l->y[k])) && gemel__partial_takes_output(l->part, k)) {
      *result += dot(l->y[k], l->u[at++], &l->size);
    }
  }
  gemel__tensors_release(n, l->y);
  return status;
}

/* *NOISE = the rounding error of phi near h = 0; infinite where phi isn't finite. */
static gemel_status rounding(struct taylor_line *l, long double *noise) {
  long double values[PROBES];
  *noise = 0;
  for (size_t k = 0; k < PROBES; k++) {
    GEMEL__TRY(phi(l, ldexp((double)k, -FINEST), &values[k]));
    *noise = isfinite(values[k]) ? fmaxl(*noise, ldexpl(l->size, -53)) : INFINITY;
    if (isinf(*noise)) {
      break;
    }
    if (k >= 2) {
      *noise = fmaxl(*noise, fabsl(values[k] - 2 * values[k - 1] + values[k - 2]));
    }
  }
  return GEMEL_OK;
}

/* *ORDER = the order with which phi(h) − phi(0) − SLOPE h falls, at the smallest h for which it is
 * still above NOISE. Of the last two orders the larger: one may be off where two terms cancel.
 * Infinite: there is no remainder. *MOVES = 1 if phi changes along the line. */
static gemel_status measure(struct taylor_line *l, long double slope, long double noise,
                            double *order, int *moves) {
  long double start, remainders[LAST + 1], end;
  int k, last = FIRST - 1;
  GEMEL__TRY(phi(l, 0, &start));
  *order = INFINITY;
  for (k = FIRST; k <= LAST; k++) {
    double h = ldexp(1, -k);
    GEMEL__TRY(phi(l, h, &end));
    if (!isfinite(end)) {
      break; /* the line leaves the domain */
    }
    remainders[k] = fabsl(end - start - h * slope);
    *moves |= fabsl(end - start) > CLEAR * noise;
    if (!(remainders[k] <= CLEAR * noise)) {
      last = last == k - 1 ? k : last;
    }
  }
  if (last >= FIRST + 2) {
    *order = (double)fmaxl(log2l(remainders[last - 1] / remainders[last]),
                           log2l(remainders[last - 2] / remainders[last - 1]));
  }
  return GEMEL_OK;
}

/* ---- What the library says ---- */

/* *RESULT = tᵀ(Jᵀu), by the reverse graph. */
static gemel_status slope_reverse(struct taylor_line *l, const gemel__instance *reverse,
                                  gemel_tensor *const *values, long double *slope) {
  size_t n = gemel_graph_output_count(reverse->graph), k, at = 0;
  gemel_tensor **out = gemel__alloc_array(n, sizeof *out);
  gemel_status status =
      out == NULL ? gemel__no_memory(l->error, "a derivative")
                  : gemel__execute(reverse, &gemel__variants[1], values, l->random, out, l->error);
  *slope = 0;
  for (k = 0; k < l->instance->n_leaves && status == GEMEL_OK; k++) {
    if (l->t[k] != NULL) {
      *slope += dot(out[at++], l->t[k], NULL);
    }
  }
  gemel__tensors_free(n, out);
  return status;
}

/* *RESULT = uᵀ(J t), by the forward graph. */
static gemel_status slope_forward(struct taylor_line *l, const gemel__instance *forward,
                                  long double *slope) {
  size_t n = forward->n_leaves + gemel_graph_output_count(forward->graph), k, at;
  gemel_tensor **room = gemel__alloc_array(n, sizeof *room), **out;
  if (room == NULL) {
    return gemel__no_memory(l->error, "a derivative");
  }
  out = room + forward->n_leaves;
  memcpy(room, l->x, l->instance->n_leaves * sizeof *room);
  for (k = 0, at = l->instance->n_leaves; k < l->instance->n_leaves; k++) {
    if (l->t[k] != NULL) {
      room[at++] = l->t[k];
    }
  }
  gemel_status status =
      gemel__execute(forward, &gemel__variants[1], room, l->random, out, l->error);
  *slope = 0;
  for (k = 0; k < n - forward->n_leaves && status == GEMEL_OK; k++) {
    *slope += dot(out[k], l->u[k], NULL);
  }
  gemel__tensors_release(n - forward->n_leaves, out);
  gemel__free(room, n * sizeof *room);
  return status;
}

/* ---- One point ---- */

/* Rounds x to 24 bits and draws t of x's magnitude with 3 bits. */
static gemel_status draw_directions(struct taylor_line *l) {
  for (size_t k = 0; k < l->instance->n_leaves; k++) {
    const gemel__leaf *leaf = &l->instance->leaves[k];
    double *x = gemel_tensor_data(l->x[k]), *t;
    l->moved[k] = gemel_tensor_ref(l->x[k]);
    if (leaf->dtype != GEMEL_F64 || !gemel__partial_takes_input(l->part, k)) {
      continue;
    }
    gemel_tensor_unref(l->moved[k]);
    l->moved[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, l->error);
    l->t[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, l->error);
    if (l->moved[k] == NULL || l->t[k] == NULL) {
      return GEMEL_NO_MEMORY;
    }
    t = gemel_tensor_data(l->t[k]);
    for (size_t i = 0; i < leaf->count; i++) {
      int exponent;
      x[i] = (double)(float)x[i];
      frexp(x[i], &exponent);
      t[i] = gemel__random_sign(l->random) *
             ldexp((double)gemel__random_between(l->random, 1, 8), exponent - 4);
    }
  }
  return GEMEL_OK;
}

static void note(gemel__taylor *result, double order, int moves) {
  result->points++;
  result->moves += (size_t)moves;
  result->least = order < result->least ? order : result->least;
  result->refuted |= !(order >= BORDER);
}

static gemel_status one_point(struct taylor_line *l, const gemel__instance *reverse,
                              const gemel__instance *forward, gemel_tensor *const *values,
                              gemel__taylor *result) {
  long double noise, slopes[2];
  double order;
  int moves = 0, k;
  GEMEL__TRY(rounding(l, &noise));
  if (reverse != NULL) {
    GEMEL__TRY(slope_reverse(l, reverse, values, &slopes[0]));
  }
  if (forward != NULL) {
    GEMEL__TRY(slope_forward(l, forward, &slopes[1]));
  }
  for (k = 0; k < 2 && isfinite(noise); k++) {
    if ((k == 0 ? reverse : forward) == NULL) {
      continue;
    }
    GEMEL__TRY(measure(l, slopes[k], noise, &order, &moves));
    note(result, isfinite(slopes[k]) ? order : 0, moves);
    if (result->refuted) {
      snprintf(result->place, sizeof result->place, "%s derivative along a line",
               k == 0 ? "reverse" : "forward");
      break;
    }
  }
  return GEMEL_OK;
}

/* Judges REVERSE and FORWARD, one of which may be NULL. INPUTS has the reverse graph's inputs. */
static gemel_status check_lines(struct taylor_line *l, const gemel__instance *inputs,
                                const gemel__instance *reverse, const gemel__instance *forward,
                                gemel__taylor *result) {
  size_t n = l->instance->n_leaves, n_out = gemel_graph_output_count(l->instance->graph);
  size_t total = 2 * n + n_out + inputs->n_leaves;
  gemel_tensor **room = gemel__alloc_array(total, sizeof *room);
  if (room == NULL) {
    return gemel__no_memory(l->error, "a line");
  }
  l->moved = room;
  l->t = room + n;
  l->y = room + 2 * n;
  l->x = l->y + n_out;
  l->u = l->x + n; /* the reverse graph's inputs are x, then u */
  gemel_status status = gemel__instance_values(inputs, GEMEL__FILL_FULL, l->random, l->x, l->error);
  status = status ? status : draw_directions(l);
  status = status ? status : one_point(l, reverse, forward, l->x, result);
  gemel__tensors_free(total, room);
  return status;
}

gemel_status gemel__taylor_check(const gemel__instance *instance, gemel__partial part,
                                 gemel__random *random, gemel__taylor *result, gemel_error *error) {
  gemel__instance reverse, forward = {0};
  struct taylor_line l = {.instance = instance, .random = random, .error = error, .part = part};
  gemel_status backward = gemel__instance_gradient_part(&reverse, instance, part, 0, error);
  GEMEL__TRY(backward == GEMEL_NOT_DIFFERENTIABLE
                 ? gemel__instance_gradient_part(&reverse, instance, part, 1, error)
                 : backward);
  gemel_status status = gemel__instance_forward_part(&forward, instance, part, error);
  if (status == GEMEL_OK || (status == GEMEL_NOT_DIFFERENTIABLE && backward == GEMEL_OK)) {
    status = check_lines(&l, &reverse, backward == GEMEL_OK ? &reverse : NULL,
                         status == GEMEL_OK ? &forward : NULL, result);
  }
  gemel__instance_clear(&reverse);
  gemel__instance_clear(&forward);
  return status;
}
