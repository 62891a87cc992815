/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX for signals: windows and mel weights, which are constants, and Fourier
 * transforms, which are products with a matrix of sines and cosines. Sizes must be numbers.
 * Formulas: ONNX's operators; the mel scale is that of O'Shaughnessy, 2595 log10(1 + f / 700).
 */
#include <math.h>
#include <string.h>

#include "core/dtype.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "core/value.h"
#include "onnx/model.h"
#include "onnx/operators.h"

static const double pi = 3.14159265358979323846;

enum { LONGEST = 4096, MOST_NUMBERS = 1 << 24 /* of a constant */ };

/* ---- Constants ---- */

/* A tensor of RANK sizes, to be filled by gemel__dtype_store; NULL, and the graph's error, if there
 * are too many numbers, or no memory. */
static gemel_tensor *new_constant(gemel__onnx_call *c, gemel_dtype dtype, int rank,
                                  const int64_t *shape) {
  gemel_error error;
  int64_t n = 1;
  for (int k = 0; k < rank; k++) {
    n = shape[k] < 0 || shape[k] > MOST_NUMBERS ? MOST_NUMBERS + 1LL : n * shape[k];
    if (n > MOST_NUMBERS) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a constant of more than %d numbers", MOST_NUMBERS);
      return NULL;
    }
  }
  gemel_tensor *tensor = gemel_tensor_new(dtype, rank, shape, &error);
  if (tensor == NULL) {
    gemel__graph_take_error(c->graph, &error);
  }
  return tensor;
}

static void set(gemel_tensor *t, int64_t k, double number) {
  gemel__dtype_store(t->dtype, number, (char *)t->data + (size_t)k * gemel_dtype_size(t->dtype));
}

static gemel_value finished(gemel__onnx_call *c, gemel_tensor *tensor) {
  gemel_value value = gemel_constant_at(c->graph, tensor, c->where);
  gemel_tensor_unref(tensor);
  return value;
}

/* Input K, an integer that is known: 1, or 0 and the graph's error. */
static int known_integer(gemel__onnx_call *c, size_t k, int64_t *number) {
  gemel__int_list list;
  if (!gemel__onnx_integers(c, k, &list)) {
    return 0;
  }
  if (list.count != 1) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "input %zu must be one integer", k);
    return 0;
  }
  *number = list.values[0];
  return 1;
}

/* Attribute "output_datatype", f32 if it is absent: 1, or 0 and the graph's error. */
static int result_dtype(gemel__onnx_call *c, gemel_dtype *dtype) {
  gemel_error error;
  if (gemel__onnx_dtype(gemel__onnx_int(c, "output_datatype", 1), dtype, &error) != GEMEL_OK) {
    gemel__onnx_refuse(c, error.status, "%s", error.text);
    return 0;
  }
  return 1;
}

/* ---- Windows ---- */

/* a0 - a1 cos(2 pi k / n) + a2 cos(4 pi k / n) for n places, or n + 1 if it isn't periodic. */
gemel_value gemel__onnx_window(gemel__onnx_call *c) {
  static const double hann[3] = {0.5, 0.5, 0}, blackman[3] = {0.42, 0.5, 0.08};
  static const double hamming[3] = {25.0 / 46, 21.0 / 46, 0};
  const char *name = c->row->as;
  const double *a = name[0] == 'b' ? blackman : name[2] == 'm' ? hamming : hann;
  gemel_dtype dtype;
  int64_t n;
  if (!known_integer(c, 0, &n) || !result_dtype(c, &dtype)) {
    return gemel__no_value;
  }
  gemel_tensor *window = new_constant(c, dtype, 1, &n);
  double round = (double)(gemel__onnx_int(c, "periodic", 1) ? n : n - 1);
  if (window == NULL) {
    return gemel__no_value;
  }
  for (int64_t k = 0; k < n; k++) {
    double angle = 2 * pi * (double)k / round; /* NaN of one place that isn't periodic */
    set(window, k, a[0] - a[1] * cos(angle) + a[2] * cos(2 * angle));
  }
  return finished(c, window);
}

/* ---- Fourier transforms ---- */

/* A transform of LENGTH places along an axis that has USED; its result has KEPT. */
typedef struct transform {
  int64_t length, used, kept;
  int parts, result_parts; /* real alone (1), or real and imaginary */
  int inverse, onesided;
} transform;

/* What part IN of place N gives to part OUT of frequency K, or the other way in the inverse. Of a
 * onesided inverse the frequencies between the ends stand for two. */
static double coefficient(const transform *t, int64_t n, int in, int64_t k, int out) {
  double angle = 2 * pi * (double)(n * k % t->length) / (double)t->length;
  double sine = t->inverse ? sin(angle) : -sin(angle);
  double weight = in == out ? cos(angle) : in == 0 ? sine : -sine;
  if (!t->inverse) {
    return weight;
  }
  int is_double = t->onesided && n > 0 && 2 * n != t->length;
  return (is_double ? 2 : 1) * weight / (double)t->length;
}

/* The matrix [used, parts, kept, result parts], in f64, since what it multiplies nearly cancels. */
static gemel_value coefficients(gemel__onnx_call *c, const transform *t) {
  int64_t shape[4] = {t->used, t->parts, t->kept, t->result_parts}, at = 0;
  gemel_tensor *matrix = new_constant(c, GEMEL_F64, 4, shape);
  if (matrix == NULL) {
    return gemel__no_value;
  }
  for (int64_t n = 0; n < t->used; n++) {
    for (int in = 0; in < t->parts; in++) {
      for (int64_t k = 0; k < t->kept; k++) {
        for (int out = 0; out < t->result_parts; out++) {
          set(matrix, at++, coefficient(t, n, in, k, out));
        }
      }
    }
  }
  return finished(c, matrix);
}

/* X, whose last axis is of parts, transformed along AXIS; LENGTH 0: as many places as it has. */
static gemel_value transformed(gemel__onnx_call *c, gemel_value x, int axis, int64_t length,
                               int inverse, int onesided) {
  int rank = gemel__onnx_rank(x), next = 0;
  int64_t n, parts, order[GEMEL_MAX_RANK], over[2] = {axis, rank - 1};
  static const int64_t first[2] = {0, 1};
  if (gemel_is_null(x)) {
    return x;
  }
  if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[axis], &n) ||
      !gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[rank - 1], &parts)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a signal whose size is a symbol");
  }
  length = length > 0 ? length : inverse && onesided ? 2 * (n - 1) : n;
  if (length < 1 || length > LONGEST || (parts != 1 && parts != 2)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "a transform of %lld places, of %lld parts: up to %d, of 1 or 2",
                              (long long)length, (long long)parts, LONGEST);
  }
  int64_t half = length / 2 + 1, most = inverse && onesided ? half : length;
  transform t = {.length = length,
                 .used = n < most ? n : most,
                 .kept = onesided && !inverse ? half : length,
                 .parts = (int)parts,
                 .result_parts = onesided && inverse ? 1 : 2,
                 .inverse = inverse,
                 .onesided = onesided};
  x = n > t.used ? gemel_slice_at(x, axis, 0, t.used, c->where) : x;
  gemel_dot_options options = {.contract_x = {2, over}, .contract_y = {2, first}};
  gemel_value y =
      gemel_dot_at(gemel_cast_at(x, GEMEL_F64, c->where), coefficients(c, &t), &options, c->where);
  for (int k = 0; k < rank; k++) {
    order[k] = k == axis || k == rank - 1 ? rank - 2 + (k == rank - 1) : next++;
  }
  y = gemel_permute_at(y, (size_t)rank, order, c->where);
  return gemel_cast_at(y, gemel__onnx_dtype_of(x), c->where);
}

gemel_value gemel__onnx_dft(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t length = 0, along = c->opset < 20 ? gemel__onnx_int(c, "axis", 1) : -2;
  int rank = gemel__onnx_rank(x);
  if ((gemel__onnx_given(c, 1) && !known_integer(c, 1, &length)) ||
      (gemel__onnx_given(c, 2) && !known_integer(c, 2, &along))) {
    return gemel__no_value;
  }
  int axis = gemel__onnx_axis(c, along, rank);
  if (axis < 0 || axis == rank - 1) {
    return axis < 0 ? gemel__no_value
                    : gemel__onnx_refuse(c, GEMEL_BAD_SHAPE,
                                         "the last axis is that of real and imaginary parts");
  }
  return transformed(c, x, axis, length, gemel__onnx_int(c, "inverse", 0) != 0,
                     gemel__onnx_int(c, "onesided", 0) != 0);
}

/* Parts of X [batch, size, parts] of LENGTH places, each STEP behind the one before. */
static gemel_value frames(gemel__onnx_call *c, gemel_value x, int64_t size, int64_t length,
                          int64_t step) {
  gemel_dim n = gemel_dim_constant(c->context, (size - length) / step + 1);
  gemel_value begins = gemel_arange_at(c->graph, n, NULL, c->where);
  begins = gemel_mul_at(begins, gemel_scalar_like_at(begins, (double)step, c->where), c->where);
  gemel_value places = gemel_add_at(
      gemel_expand_dims_at(begins, 1, c->where),
      gemel_arange_at(c->graph, gemel_dim_constant(c->context, length), NULL, c->where), c->where);
  return gemel_take_at(x, places, &(gemel_take_options){.axis = 1}, c->where);
}

/* The length of frames: input 3, the window's, or the signal's. */
static int frame_length(gemel__onnx_call *c, int64_t size, int64_t *length) {
  gemel_value window = gemel__onnx_given(c, 2) ? gemel__onnx_input(c, 2) : gemel__no_value;
  *length = size;
  if (gemel__onnx_given(c, 3)) {
    return known_integer(c, 3, length);
  }
  if (!gemel_is_null(window) &&
      (gemel__onnx_rank(window) != 1 ||
       !gemel_dim_is_constant(c->context, gemel__onnx_dims(window)[0], length))) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a window whose size is a symbol");
    return 0;
  }
  return 1;
}

gemel_value gemel__onnx_stft(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t step, length, size;
  if (!known_integer(c, 1, &step)) {
    return gemel__no_value;
  }
  x = gemel__onnx_rank(x) == 2 ? gemel_expand_dims_at(x, 2, c->where) : x;
  if (gemel__onnx_rank(x) != 3 ||
      !gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[1], &size)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "it takes signals [batch, size, parts], whose size is a number");
  }
  if (!frame_length(c, size, &length)) {
    return gemel__no_value;
  }
  if (step < 1 || length < 1 || length > size) {
    return gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "frames of %lld places, %lld apart, of %lld",
                              (long long)length, (long long)step, (long long)size);
  }
  gemel_value parts = frames(c, x, size, length, step);
  if (gemel__onnx_given(c, 2)) {
    gemel_value window = gemel_expand_dims_at(gemel__onnx_input(c, 2), 1, c->where);
    parts = gemel_mul_at(parts, window, c->where);
  }
  return transformed(c, parts, 2, length, 0, gemel__onnx_int(c, "onesided", 1) != 0);
}

/* ---- Mel weights ---- */

static double mel_of(double hertz) {
  return 2595 * log1p(hertz / 700) / log(10);
}

/* Triangle B of MATRIX [spectrum, bins]: from 0 at LEFT to 1 at CENTRE, and to 0 again at RIGHT. */
static void set_triangle(gemel_tensor *matrix, int64_t b, int64_t left, int64_t centre,
                         int64_t right) {
  int64_t bins = matrix->shape[1], n = matrix->shape[0];
  for (int64_t j = left; j <= centre && j < n; j++) {
    set(matrix, j * bins + b, left == centre ? 1 : (double)(j - left) / (double)(centre - left));
  }
  for (int64_t j = centre; j < right && j < n; j++) {
    set(matrix, j * bins + b, (double)(right - j) / (double)(right - centre));
  }
}

/* Input K, a number that is known: 1, or 0 and the graph's error. */
static int known_number(gemel__onnx_call *c, size_t k, double *number) {
  if (!gemel__onnx_number(c, k, number)) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "input %zu must be a number that is known", k);
    return 0;
  }
  return 1;
}

gemel_value gemel__onnx_mel_weights(gemel__onnx_call *c) {
  int64_t bins, length, rate, shape[2], at[3];
  double low, high;
  gemel_dtype dtype;
  if (!known_integer(c, 0, &bins) || !known_integer(c, 1, &length) || !known_integer(c, 2, &rate) ||
      !known_number(c, 3, &low) || !known_number(c, 4, &high) || !result_dtype(c, &dtype)) {
    return gemel__no_value;
  }
  if (bins < 1 || length < 1 || rate < 1 || !(low >= 0) || !(high > low) || !isfinite(high)) {
    return gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "no bins, no length, no rate or no range");
  }
  shape[0] = length / 2 + 1;
  shape[1] = bins;
  gemel_tensor *matrix = new_constant(c, dtype, 2, shape);
  if (matrix == NULL) {
    return gemel__no_value;
  }
  memset(matrix->data, 0, (size_t)(shape[0] * shape[1]) * gemel_dtype_size(dtype));
  double step = (mel_of(high) - mel_of(low)) / (double)(bins + 2);
  for (int64_t b = 0; b < bins; b++) {
    for (int k = 0; k < 3; k++) {
      double hertz = 700 * expm1((mel_of(low) + step * (double)(b + k)) / 2595 * log(10));
      at[k] = (int64_t)fmin(floor((double)(length + 1) * hertz / (double)rate), 1e9);
    }
    set_triangle(matrix, b, at[0], at[1], at[2]);
  }
  return finished(c, matrix);
}
