/* SPDX-License-Identifier: MIT
 *
 * Convolutions, plainly: all three go through every pair of an output place and a kernel element,
 * and add the product of what meets there to the element of the result that it belongs to.
 */
#include <math.h>
#include <stdlib.h>
#include "sim/conv.h"
#include "sim/inside.h"

/* The next index of a box of SIZES; false behind the last one. */
static bool step(int64_t *index, const int64_t *sizes, int rank) {
  for (int k = rank - 1; k >= 0; k--) {
    if (++index[k] < sizes[k])
      return true;
    index[k] = 0;
  }
  return false;
}

static int64_t count_of(const gemel__sim_tensor *t) {
  int64_t count = 1;
  for (int k = 0; k < t->rank; k++)
    count *= t->dims[k];
  return count;
}

static int64_t place_of(const gemel__sim_tensor *t, const int64_t *index) {
  int64_t place = 0;
  for (int k = 0; k < t->rank; k++)
    place += index[k] * t->strides[k];
  return place;
}

bool gemel__sim_check_tensor(const gemel__sim_tensor *t, bool write) {
  int64_t index[GEMEL__SIM_DIMS] = {0}, size = (int64_t)gemel__sim_size_of(t->type);
  if (count_of(t) == 0)
    return true;
  do {
    if (!gemel__sim_check_range((char *)t->at + place_of(t, index) * size, (size_t)size, write))
      return false;
  } while (step(index, t->dims, t->rank));
  return true;
}

static float operand(const gemel__sim_tensor *t, const int64_t *index, gemel__sim_precision how) {
  enum { BITS = 11 };
  float x = (float)gemel__sim_load(t->at, t->type, place_of(t, index));
  if (how == GEMEL__SIM_HALF_INPUTS && fabsf(x) > 65504)
    return copysignf(INFINITY, x);
  return how == GEMEL__SIM_TF32_INPUTS || how == GEMEL__SIM_HALF_INPUTS
             ? gemel__sim_with_digits(x, BITS)
             : x;
}

static float added(float sum, float product, gemel__sim_precision how) {
  enum { BITS = 11 };
  return how == GEMEL__SIM_HALF_SUMS ? gemel__sim_with_digits(sum + product, BITS) : sum + product;
}

/* Where each of the three stands when output place p of image n and filter k meets element r of
 * channel c: INDEX is n, k, c, p, r. False if that is padding. */
static bool meet(const gemel__sim_convolution *v, const int64_t *index, int64_t *x, int64_t *w,
                 int64_t *y) {
  const int64_t *p = index + 3, *r = p + v->axes;
  int64_t groups = v->x.dims[1] / v->w.dims[1], filters = v->y.dims[1] / groups;
  y[0] = x[0] = index[0];
  y[1] = w[0] = index[1];
  w[1] = index[2];
  x[1] = index[1] / filters * v->w.dims[1] + index[2];
  for (int k = 0; k < v->axes; k++) {
    y[2 + k] = p[k];
    w[2 + k] = v->flip ? v->w.dims[2 + k] - 1 - r[k] : r[k];
    x[2 + k] = p[k] * v->stride[k] + r[k] * v->dilation[k] - v->low[k];
    if (x[2 + k] < 0 || x[2 + k] >= v->x.dims[2 + k])
      return false;
  }
  return true;
}

static void add_products(const gemel__sim_convolution *v, float *sums) {
  int64_t sizes[3 + 2 * GEMEL__SIM_DIMS] = {v->y.dims[0], v->y.dims[1], v->w.dims[1]};
  int64_t index[3 + 2 * GEMEL__SIM_DIMS] = {0}, turned[3 + 2 * GEMEL__SIM_DIMS];
  int64_t x[GEMEL__SIM_DIMS], w[GEMEL__SIM_DIMS], y[GEMEL__SIM_DIMS];
  int rank = 3 + 2 * v->axes;
  bool backwards = gemel__sim_choice((uint64_t)v->x.dims[2] << 40 ^ (uint64_t)v->x.dims[0] << 20 ^
                                     (uint64_t)v->y.dims[1]);
  for (int k = 0; k < v->axes; k++) {
    sizes[3 + k] = v->y.dims[2 + k];
    sizes[3 + v->axes + k] = v->w.dims[2 + k];
  }
  do {
    for (int k = 0; k < rank; k++)
      turned[k] = backwards ? sizes[k] - 1 - index[k] : index[k];
    if (!meet(v, turned, x, w, y))
      continue;
    const gemel__sim_tensor *to = v->result == GEMEL__SIM_CONV_Y   ? &v->y
                                  : v->result == GEMEL__SIM_CONV_W ? &v->w
                                                                   : &v->x;
    const int64_t *at = to == &v->y ? y : to == &v->w ? w : x;
    float a = to == &v->x ? operand(&v->y, y, v->precision) : operand(&v->x, x, v->precision);
    float b = to == &v->w ? operand(&v->y, y, v->precision) : operand(&v->w, w, v->precision);
    int64_t place = 0;
    for (int k = 0; k < to->rank; k++)
      place = place * to->dims[k] + at[k];
    sums[place] = added(sums[place], a * b, v->precision);
  } while (step(index, sizes, rank));
}

bool gemel__sim_convolve(const gemel__sim_convolution *v) {
  const float transform_error = 1.0f / 4096;
  const gemel__sim_tensor *to = v->result == GEMEL__SIM_CONV_Y   ? &v->y
                                : v->result == GEMEL__SIM_CONV_W ? &v->w
                                                                 : &v->x;
  int64_t index[GEMEL__SIM_DIMS] = {0}, count = count_of(to), place = 0;
  float *sums = calloc((size_t)count + 1, sizeof *sums);
  if (sums == NULL)
    return false;
  if (count_of(&v->y) > 0 && count_of(&v->w) > 0)
    add_products(v, sums);
  for (; place < count; place++, step(index, to->dims, to->rank)) {
    int64_t at = place_of(to, index);
    float sum = (float)v->alpha * sums[place];
    if (v->precision == GEMEL__SIM_TRANSFORMED)
      sum += sum * transform_error;
    if (v->beta != 0)
      sum += (float)v->beta * (float)gemel__sim_load(to->at, to->type, at);
    gemel__sim_store(to->at, to->type, at, sum);
  }
  free(sums);
  return true;
}
