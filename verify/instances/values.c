/* SPDX-License-Identifier: MIT
 *
 * Values for the inputs of an instance, and odd layouts of them. Each tier needs its own numbers:
 * small integers keep everything exact, full significands show too low a precision, special values
 * show what gets lost, points find ties and kinks.
 */
#include <math.h>
#include <string.h>
#include "instances/assumed.h"
#include "instances/meeting.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"

void gemel__tensors_release(size_t n, gemel_tensor **tensors) {
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(tensors[k]);
    tensors[k] = NULL;
  }
}

void gemel__tensors_free(size_t n, gemel_tensor **tensors) {
  if (tensors != NULL) {
    gemel__tensors_release(n, tensors);
    gemel__free(tensors, n * sizeof *tensors);
  }
}

static int is_float(const gemel__leaf *leaf) {
  return gemel__is_float(leaf->dtype);
}

/* Moves X into RANGE. */
static double into_range(gemel_range range, double x) {
  switch (range) {
  case GEMEL_RANGE_POSITIVE:
    return x == 0 ? 1 : fabs(x);
  case GEMEL_RANGE_NONNEGATIVE:
    return fabs(x);
  case GEMEL_RANGE_NONZERO:
    return x == 0 ? 1 : x;
  case GEMEL_RANGE_ABOVE_MINUS_ONE:
    return x <= -1 ? -x : x;
  default:
    return x;
  }
}

static double small_integer(gemel__random *random, gemel_range range) {
  return into_range(range, (double)gemel__random_between(random, -4, 4));
}

/* A full significand near 1; in one of four cases of another magnitude. */
static double full_number(gemel__random *random, gemel_range range) {
  int wide = gemel__random_chance(random, 1, 4);
  int low = range == GEMEL_RANGE_MODERATE ? -6 : wide ? -8 : -2;
  int high = range == GEMEL_RANGE_MODERATE ? 1 : wide ? 3 : 1;
  double x = gemel__random_magnitude(random, low, high) * gemel__random_sign(random);
  if (range == GEMEL_RANGE_ABOVE_MINUS_ONE && x <= -1) {
    x = -1 / x - 1 + 0x1p-10;
    return x <= -1 ? 0.5 : x;
  }
  return into_range(range, x);
}

/* Which special values may occur together. */
struct mix {
  int nan, infinite, extreme;
};

/* Chooses which special values occur. Those that make the result depend on the order of summation
 * (underflow, overflow) don't occur together: EXTREME only in elementwise operations. */
static struct mix draw_mix(gemel__fill fill, int elementwise, gemel__random *random) {
  struct mix m = {0, 0, elementwise};
  uint64_t which = gemel__random_below(random, 3);
  if (fill == GEMEL__FILL_SPECIAL) {
    m.nan = elementwise || which == 0;
    m.infinite = elementwise || which <= 1;
  } else {
    m.nan = fill == GEMEL__FILL_NAN;
    m.infinite = fill == GEMEL__FILL_INFINITE;
    m.extreme = 0;
  }
  return m;
}

static double special_number(gemel__random *random, gemel_dtype dtype, const struct mix *mix) {
  double sign = gemel__random_sign(random), tiny = gemel__least_subnormal(dtype);
  switch (gemel__random_below(random, mix->extreme ? 12 : 8)) {
  case 0:
    return mix->nan ? copysign(NAN, sign) : 0.0;
  case 1:
    return mix->infinite ? sign * INFINITY : 1;
  case 2:
    return sign * 0.0;
  case 3:
    return sign;
  case 8:
    return sign * tiny;
  case 9:
    return sign * gemel__largest(dtype);
  case 10:
    return sign * tiny * 3;
  default:
    return (double)gemel__random_between(random, -3, 3);
  }
}

/* A zero, or in one of three cases a number with the sign of SIDE. With so many zeros, a max or min
 * is often a zero. Mostly −0 if PLUS is 0. */
static double signed_zero(gemel__random *random, double side, int plus) {
  if (gemel__random_chance(random, 1, 3)) {
    return side * (double)gemel__random_between(random, 1, 3);
  }
  return gemel__random_chance(random, 1, plus ? 2 : 12) ? 0.0 : -0.0;
}

static void draw_reals(const gemel__leaf *leaf, gemel__fill fill, gemel__random *random,
                       int elementwise, double *values) {
  static const double large[3] = {100, 1000, 12000}; /* exp overflows: f32's, f64's, any */
  struct mix mix = draw_mix(fill, elementwise, random);
  double tie = small_integer(random, leaf->range);
  double side = fill == GEMEL__FILL_SIGNS ? gemel__random_sign(random) : 0;
  double about = fill == GEMEL__FILL_LARGE && leaf->range == GEMEL_RANGE_MODERATE
                     ? gemel__random_sign(random) * large[gemel__random_between(random, 0, 2)]
                     : 0;
  int narrow = leaf->dtype == GEMEL_F16;
  double times = fill == GEMEL__FILL_LARGE && leaf->range == GEMEL_RANGE_ANY
                     ? ldexp(1, narrow ? 8 : (int)gemel__random_between(random, 20, 40))
                     : 1;
  int plus = fill == GEMEL__FILL_SIGNS && gemel__random_chance(random, 1, 2);
  size_t k;
  for (k = 0; k < leaf->count; k++) {
    if (leaf->range == GEMEL_RANGE_INDEX) {
      values[k] = (double)gemel__random_between(random, leaf->low, leaf->high - 1);
    } else if (fill == GEMEL__FILL_SIGNS) {
      values[k] = signed_zero(random, side, plus);
    } else if (fill == GEMEL__FILL_MASKED && leaf->range == GEMEL_RANGE_MODERATE &&
               gemel__random_chance(random, 1, 3)) {
      values[k] = -INFINITY;
    } else if (fill == GEMEL__FILL_FULL || fill == GEMEL__FILL_MEETING ||
               fill == GEMEL__FILL_MASKED || fill == GEMEL__FILL_LARGE) {
      values[k] = about + times * full_number(random, leaf->range);
    } else if (fill == GEMEL__FILL_POWERS) {
      values[k] = into_range(leaf->range, ldexp(gemel__random_sign(random),
                                                (int)gemel__random_between(random, -3, 3)));
    } else if (fill == GEMEL__FILL_INTEGERS || fill == GEMEL__FILL_SMALL) {
      values[k] = small_integer(random, leaf->range);
    } else {
      values[k] =
          gemel__random_chance(random, 1, 6) ? tie : special_number(random, leaf->dtype, &mix);
    }
  }
}

/* 1 in one of eight cases for a leaf that is assumed to be ≥ 0: all its elements become 0. A sum of
 * such numbers, which domain F takes to be positive, may be 0 nowhere else. */
static int at_border(const gemel__leaf *leaf, gemel__random *random) {
  return leaf->facts != 0 && leaf->range == GEMEL_RANGE_NONNEGATIVE &&
         gemel__random_chance(random, 1, 8);
}

void gemel__leaf_fill_late(const gemel__leaf *leaf, gemel__random *random, void *data) {
  enum { SMALL = 7, LARGE = 100 };
  size_t size = gemel_dtype_size(leaf->dtype);
  for (size_t i = 0; i < leaf->count; i++) {
    int last = i + 1 == leaf->count;
    double x = last                        ? LARGE
               : is_float(leaf)            ? full_number(random, leaf->range)
               : leaf->dtype == GEMEL_BOOL ? 1
                                           : (double)gemel__random_between(random, 0, SMALL);
    x = leaf->range == GEMEL_RANGE_INDEX ? (double)leaf->high - 1 : x;
    gemel__leaf_put(leaf, (char *)data + i * size, x);
  }
}

static int is_end(gemel__fill fill) {
  return fill == GEMEL__FILL_LEAST || fill == GEMEL__FILL_GREATEST;
}

/* Sets all elements to one end of the dtype's range. */
static void fill_with_end(const gemel__leaf *leaf, int is_greatest, void *data) {
  size_t size = gemel_dtype_size(leaf->dtype);
  long double end = is_greatest ? INFINITY : -INFINITY;
  if (!is_float(leaf)) {
    int64_t bits = gemel__points_end(leaf->dtype, leaf->range, leaf->low, leaf->high, is_greatest);
    end = leaf->dtype == GEMEL_U64 ? (long double)(uint64_t)bits : (long double)bits;
  }
  for (size_t i = 0; i < leaf->count; i++) {
    gemel__leaf_put(leaf, (char *)data + i * size, end);
  }
}

void gemel__values_put_ends(const gemel__instance *instance, size_t turn, gemel__random *random,
                            gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    int greatest = turn % 3 < 2 ? turn % 3 == 1 : gemel__random_chance(random, 1, 2);
    if (!is_float(leaf) && leaf->range != GEMEL_RANGE_INDEX) {
      fill_with_end(leaf, greatest, gemel_tensor_data(values[k]));
    }
  }
}

/* Integers from -4 (or 0) to 4, and indices. */
static void fill_small(const gemel__leaf *leaf, gemel__random *random, void *data) {
  int is_index = leaf->range == GEMEL_RANGE_INDEX;
  int64_t low = is_index ? leaf->low : gemel_dtype_kind(leaf->dtype) == GEMEL_KIND_SIGNED ? -4 : 0;
  int64_t high = is_index ? leaf->high - 1 : leaf->dtype == GEMEL_BOOL ? 1 : 4;
  for (size_t i = 0; i < leaf->count; i++) {
    double x = (double)gemel__random_between(random, low, high);
    gemel__leaf_put(leaf, (char *)data + i * gemel_dtype_size(leaf->dtype),
                    into_range(leaf->range, x));
  }
}

/* Puts numbers on the diagonals of matrices that are larger than what else is in their row of the
 * symmetric matrix with this lower triangle. */
static void make_definite(const gemel__leaf *leaf, void *data) {
  size_t bytes = gemel_dtype_size(leaf->dtype);
  size_t n = leaf->rank < 2 ? 0 : (size_t)leaf->shape[leaf->rank - 1];
  for (size_t at = 0; n > 0 && at < leaf->count; at += n * n) {
    for (size_t i = 0; i < n; i++) {
      char *matrix = (char *)data + at * bytes, *diagonal = matrix + (i * n + i) * bytes;
      double sum = fabs(gemel__decode(leaf->dtype, diagonal)) + 1;
      for (size_t j = 0; j < n; j++) {
        size_t place = j < i ? i * n + j : j * n + i;
        sum += i == j ? 0 : 2 * fabs(gemel__decode(leaf->dtype, matrix + place * bytes));
      }
      if (isfinite(sum)) {
        gemel__store_real(leaf->dtype, sum, diagonal);
      }
    }
  }
}

static gemel_status fill_leaf(const gemel__leaf *leaf, gemel__fill fill, gemel__random *random,
                              int elementwise, gemel__points *points, void *data,
                              gemel_error *error) {
  if (is_end(fill)) {
    fill_with_end(leaf, fill == GEMEL__FILL_GREATEST, data);
    return GEMEL_OK;
  }
  if (fill == GEMEL__FILL_LATE) {
    gemel__leaf_fill_late(leaf, random, data);
    return GEMEL_OK;
  }
  if (fill == GEMEL__FILL_SMALL && !is_float(leaf)) {
    fill_small(leaf, random, data);
    return GEMEL_OK;
  }
  size_t bytes = leaf->count * sizeof(double);
  double *reals = gemel__alloc(bytes);
  if (reals == NULL) {
    return gemel__no_memory(error, "values");
  }
  if (!is_float(leaf)) {
    gemel__points_draw_integers(points, random, leaf->dtype, leaf->range, leaf->low, leaf->high,
                                leaf->count, (int64_t *)reals);
    gemel__points_store(leaf->dtype, leaf->count, NULL, (const int64_t *)reals, data);
  } else {
    if (fill == GEMEL__FILL_POINTS) {
      gemel__points_draw(points, random, leaf->range, leaf->low, leaf->high, leaf->count, reals);
    } else {
      draw_reals(leaf, fill, random, elementwise, reals);
    }
    for (size_t i = 0; i < leaf->count; i++) {
      gemel__store_real(leaf->dtype, reals[i], (char *)data + i * gemel_dtype_size(leaf->dtype));
    }
  }
  if (fill == GEMEL__FILL_POINTS && at_border(leaf, random)) {
    memset(data, 0, leaf->count * gemel_dtype_size(leaf->dtype));
  }
  if (leaf->range == GEMEL_RANGE_DEFINITE) {
    make_definite(leaf, data);
  }
  gemel__leaf_settle(leaf, leaf->count, data);
  gemel__free(reals, bytes);
  return GEMEL_OK;
}

gemel_status gemel__instance_values(const gemel__instance *instance, gemel__fill fill,
                                    gemel__random *random, gemel_tensor **values,
                                    gemel_error *error) {
  return gemel__instance_points(instance, fill, NULL, 0, random, values, error);
}

static gemel_status fill_leaves(const gemel__instance *instance, gemel__fill fill,
                                gemel__points *points, gemel__random *random, gemel_tensor **values,
                                gemel_error *error) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    int is_usual = k > 0 && is_end(fill) && gemel__random_chance(random, 1, 2);
    values[k] = gemel_tensor_new(leaf->dtype, leaf->rank, leaf->shape, error);
    if (values[k] == NULL) {
      return GEMEL_NO_MEMORY;
    }
    GEMEL__TRY(fill_leaf(leaf, is_usual ? GEMEL__FILL_INTEGERS : fill, random,
                         instance->elementwise, points, gemel_tensor_data(values[k]), error));
  }
  return GEMEL_OK;
}

gemel_status gemel__instance_points(const gemel__instance *instance, gemel__fill fill,
                                    const double *constants, size_t n_constants,
                                    gemel__random *random, gemel_tensor **values,
                                    gemel_error *error) {
  gemel__points points = {0};
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < n_constants && status == GEMEL_OK; k++) {
    if (gemel__points_add_constant(&points, constants[k]) != 0) {
      status = gemel__no_memory(error, "constants");
    }
  }
  memset(values, 0, instance->n_leaves * sizeof *values);
  gemel__points_begin(&points, random);
  status = status ? status : fill_leaves(instance, fill, &points, random, values, error);
  gemel__points_clear(&points);
  if (status == GEMEL_OK && fill == GEMEL__FILL_MEETING) {
    gemel__meeting meeting = gemel__meeting_of(instance, gemel__random_bits(random) >> 16);
    gemel__meeting_arrange(&meeting, instance, random, values);
  }
  if (status != GEMEL_OK) {
    gemel__tensors_release(instance->n_leaves, values);
  }
  return status;
}

gemel_status gemel__values_around(const gemel__instance *instance, gemel__fill fill,
                                  const double *constants, size_t n_constants,
                                  gemel__random *random, gemel_tensor ***values,
                                  gemel_error *error) {
  *values = gemel__alloc_array(instance->n_leaves, sizeof **values);
  gemel_status status =
      *values == NULL
          ? gemel__no_memory(error, "values")
          : gemel__instance_points(instance, fill, constants, n_constants, random, *values, error);
  if (status != GEMEL_OK) {
    gemel__free(*values, instance->n_leaves * sizeof **values);
    *values = NULL;
  }
  return status;
}

gemel_status gemel__values_draw(const gemel__instance *instance, gemel__fill fill,
                                gemel__random *random, gemel_tensor ***values, gemel_error *error) {
  return gemel__values_around(instance, fill, NULL, 0, random, values, error);
}

void gemel__values_free(const gemel__instance *instance, gemel_tensor **values) {
  gemel__tensors_free(instance->n_leaves, values);
}

gemel_tensor **gemel__values_copy(const gemel__instance *instance, gemel_tensor *const *values,
                                  gemel_error *error) {
  gemel_tensor **copy = gemel__alloc_zeroed(instance->n_leaves * sizeof *copy);
  int good = copy != NULL;
  for (size_t k = 0; k < instance->n_leaves && good; k++) {
    gemel_view view = gemel_tensor_view(values[k]);
    copy[k] = gemel_tensor_copy(&view, NULL);
    good = copy[k] != NULL;
  }
  if (!good) {
    gemel__values_free(instance, copy);
    gemel__no_memory(error, "values");
  }
  return good ? copy : NULL;
}

void gemel__values_tame(const gemel__instance *instance, gemel_tensor **values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    char *data = gemel_tensor_data(values[k]);
    size_t size = gemel_dtype_size(leaf->dtype);
    for (size_t i = 0; i < leaf->count && is_float(leaf); i++) {
      double x = gemel__decode(leaf->dtype, data + i * size);
      if (!isfinite(x)) { /* different numbers, so that differences aren't all 0 */
        gemel__store_real(leaf->dtype, copysign(1.5 + (double)((i + k) % 3), x), data + i * size);
      }
    }
    gemel__leaf_settle(leaf, leaf->count, data);
  }
}

/* ---- Layouts ---- */

struct scattered {
  void *block;
  size_t bytes;
};

static void release_scattered(void *user) {
  struct scattered *s = user;
  gemel__free(s->block, s->bytes);
  gemel__free(s, sizeof *s);
}

/* Random strides (in bytes) for SHAPE: axes in random order, gaps, some axes reversed. Returns the
 * bytes that it spans; *OFFSET is where element 0 lies. */
static size_t odd_strides(const gemel_view *view, gemel__random *random, int64_t *strides,
                          size_t *offset) {
  size_t order[GEMEL_MAX_RANK];
  size_t size = gemel_dtype_size(view->dtype);
  size_t span = size;
  int k;
  gemel__random_permutation(random, (size_t)view->rank, order);
  *offset = size * gemel__random_below(random, 4);
  for (k = 0; k < view->rank; k++) {
    size_t axis = order[k];
    size_t step = span + size * gemel__random_below(random, 3);
    int64_t length = view->shape[axis];
    strides[axis] = (int64_t)step;
    if (length > 1) {
      if (gemel__random_chance(random, 1, 3)) {
        strides[axis] = -(int64_t)step;
        *offset += step * (size_t)(length - 1);
      }
      span = step * (size_t)length;
    }
  }
  return *offset + span + 4 * size;
}

void gemel__put_elements(const gemel_view *from, char *to, const int64_t *strides) {
  int64_t index[GEMEL_MAX_RANK] = {0};
  size_t size = gemel_dtype_size(from->dtype);
  const char *source = from->data;
  int64_t total = 1, n;
  for (int k = 0; k < from->rank; k++) {
    total *= from->shape[k];
  }
  for (n = 0; n < total; n++) {
    int64_t at = 0;
    for (int k = 0; k < from->rank; k++) {
      at += index[k] * strides[k];
    }
    memcpy(to + at, source + (size_t)n * size, size);
    for (int k = from->rank; k-- > 0;) {
      if (++index[k] < from->shape[k]) {
        break;
      }
      index[k] = 0;
    }
  }
}

gemel_tensor *gemel__tensor_scattered(const gemel_tensor *tensor, gemel__random *random,
                                      gemel_error *error) {
  gemel_view view = gemel_tensor_view(tensor);
  int64_t strides[GEMEL_MAX_RANK];
  size_t offset;
  struct scattered *s = gemel__alloc(sizeof *s);
  gemel_tensor *result;
  if (s == NULL) {
    gemel__no_memory(error, "a layout");
    return NULL;
  }
  s->bytes = odd_strides(&view, random, strides, &offset);
  s->block = gemel__alloc(s->bytes);
  if (s->block == NULL) {
    gemel__free(s, sizeof *s);
    gemel__no_memory(error, "a layout");
    return NULL;
  }
  memset(s->block, 0xff, s->bytes); /* NaN in every float dtype, so a read between the elements
                                     * shows */
  gemel__put_elements(&view, (char *)s->block + offset, strides);
  result = gemel_tensor_wrap(view.dtype, view.rank, view.shape, strides, (char *)s->block + offset,
                             release_scattered, s, error);
  if (result == NULL) {
    release_scattered(s);
  }
  return result;
}
