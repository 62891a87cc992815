/* SPDX-License-Identifier: MIT
 *
 * Resize and Upsample, axis by axis: an element of the result is a sum of the elements of x that
 * lie around its place there, its taps, times weights that depend on the place alone. Where these
 * are is computed when the model is read. Formulas: ONNX's Resize; the cubic one is Keys',
 * "Cubic convolution interpolation for digital image processing", 1981.
 */
#include <math.h>
#include <string.h>

#include "core/dtype.h"
#include "core/tensor.h"
#include "core/value.h"
#include "onnx/operators.h"

enum { MOST_TAPS = 512 };

/* An axis: its size before and after, and the part of it that is wanted, of 0 to 1. REPEATS, if it
 * isn't 0: the size is a symbol, and each element comes so often. */
typedef struct resized {
  int axis;
  int64_t from, to, repeats;
  double scale, start, end;
} resized;

/* ---- Places ---- */

/* Where element K of the result lies in x. */
static double place_of(const gemel__onnx_call *c, const resized *r, int64_t k) {
  gemel__wire_span mode = gemel__onnx_text(c, "coordinate_transformation_mode");
  double at = (double)k, from = (double)r->from, to = r->scale * from;
  if (c->opset < 11 || gemel__wire_is(mode, "asymmetric")) {
    /* Scales are of f32, and so is this: of a scale of 1.2, element 6 is at 5, and not before. */
    return (double)((float)k / (float)r->scale);
  }
  if (gemel__wire_is(mode, "align_corners")) {
    return to == 1 ? 0 : at * (from - 1) / (to - 1);
  }
  if (gemel__wire_is(mode, "tf_crop_and_resize")) {
    double part = (r->end - r->start) * (from - 1);
    return r->start * (from - 1) + (to == 1 ? part / 2 : at * part / (to - 1));
  }
  if (gemel__wire_is(mode, "pytorch_half_pixel") && to == 1) {
    return -0.5;
  }
  if (gemel__wire_is(mode, "tf_half_pixel_for_nn")) { /* of opset 11 alone */
    return (at + 0.5) / r->scale;
  }
  double half = (at + 0.5) / r->scale - 0.5;
  return gemel__wire_is(mode, "half_pixel_symmetric") ? from / 2 * (1 - (double)r->to / to) + half
                                                      : half;
}

/* Opsets before 11 don't say how; this is ONNX Runtime's way. */
static double nearest(const gemel__onnx_call *c, const resized *r, double place) {
  gemel__wire_span mode = gemel__onnx_text(c, "nearest_mode");
  if (c->opset < 11) {
    return r->scale < 1 ? ceil(place) : floor(place);
  }
  return gemel__wire_is(mode, "floor")               ? floor(place)
         : gemel__wire_is(mode, "ceil")              ? ceil(place)
         : gemel__wire_is(mode, "round_prefer_ceil") ? floor(place + 0.5)
                                                     : ceil(place - 0.5);
}

/* ---- Weights ---- */

/* The weight of an element at DISTANCE: a hat, or Keys' cubic polynomials with parameter A. */
static double weight_at(double distance, int cubic, double a) {
  double x = fabs(distance);
  if (!cubic) {
    return x < 1 ? 1 - x : 0;
  }
  return x <= 1  ? ((a + 2) * x - (a + 3)) * x * x + 1
         : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
                 : 0;
}

/* How an axis is interpolated: taps from FIRST on beside the place rounded down, STRETCH times as
 * far apart. */
typedef struct kernel {
  int cubic, outside; /* OUTSIDE: what lies outside of x doesn't count */
  int64_t first, taps;
  double a, stretch;
} kernel;

/* Of a smaller result, what lies between places counts too if the attribute antialias says so. */
static int kernel_of(gemel__onnx_call *c, const resized *r, kernel *of) {
  of->cubic = gemel__wire_is(gemel__onnx_text(c, "mode"), "cubic");
  of->outside = gemel__onnx_int(c, "exclude_outside", 0) != 0;
  of->a = gemel__onnx_float(c, "cubic_coeff_a", -0.75);
  of->stretch = gemel__onnx_int(c, "antialias", 0) && r->scale < 1 ? r->scale : 1;
  double reach = ceil((of->cubic ? 2 : 1) / of->stretch);
  if (!(reach <= MOST_TAPS / 2)) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "more than %d elements for one", MOST_TAPS);
    return 0;
  }
  of->first = 1 - (int64_t)reach;
  of->taps = 2 * (int64_t)reach;
  return 1;
}

/* The weights of all taps for a result at PLACE, their sum being 1. */
static void weigh(const kernel *of, const resized *r, double place, double *weights) {
  double low = floor(place), sum = 0;
  for (int64_t t = 0; t < of->taps; t++) {
    double at = low + (double)(of->first + t);
    int counts = !of->outside || (at >= 0 && at < (double)r->from);
    weights[t] = counts ? weight_at((at - place) * of->stretch, of->cubic, of->a) : 0;
    sum += weights[t];
  }
  for (int64_t t = 0; t < of->taps && sum != 0; t++) {
    weights[t] /= sum;
  }
}

/* ---- One axis ---- */

static int64_t clamped(double index, int64_t size) {
  return index < 0 ? 0 : index > (double)(size - 1) ? size - 1 : (int64_t)index;
}

/* X at the N places INDICES of an axis. */
static gemel_value elements_at(gemel__onnx_call *c, gemel_value x, int axis, int64_t n,
                               const double *indices) {
  gemel_take_options options = {.axis = axis};
  return gemel_take_at(x, gemel_vector_at(c->graph, GEMEL_I64, (size_t)n, indices, c->where),
                       &options, c->where);
}

/* N weights of X's dtype, along AXIS. */
static gemel_value along(gemel__onnx_call *c, gemel_value x, int axis, int64_t n,
                         const double *weights) {
  int64_t order[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(x);
  for (int k = axis; k < rank; k++) {
    order[k - axis] = k == axis ? 0 : -1;
  }
  gemel_value vector =
      gemel_vector_at(c->graph, gemel__onnx_dtype_of(x), (size_t)n, weights, c->where);
  return gemel_dimshuffle_at(vector, (size_t)(rank - axis), order, c->where);
}

static gemel_value by_nearest(gemel__onnx_call *c, gemel_value x, const resized *r) {
  double *indices = gemel__onnx_room(c, (size_t)(r->to + 1) * sizeof *indices);
  for (int64_t k = 0; indices != NULL && k < r->to; k++) {
    indices[k] = (double)clamped(nearest(c, r, place_of(c, r, k)), r->from);
  }
  return indices != NULL ? elements_at(c, x, r->axis, r->to, indices) : gemel__no_value;
}

/* The sum over the taps, each for all places at once. */
static gemel_value by_weights(gemel__onnx_call *c, gemel_value x, const resized *r) {
  kernel of;
  double all[MOST_TAPS];
  if (!kernel_of(c, r, &of)) {
    return gemel__no_value;
  }
  double *indices = gemel__onnx_room(c, (size_t)(2 * r->to + 1) * sizeof *indices);
  gemel_value sum = gemel__no_value;
  for (int64_t t = 0; indices != NULL && t < of.taps; t++) {
    double *weights = indices + r->to, largest = 0;
    for (int64_t k = 0; k < r->to; k++) {
      double place = place_of(c, r, k);
      weigh(&of, r, place, all);
      weights[k] = all[t];
      indices[k] = (double)clamped(floor(place) + (double)(of.first + t), r->from);
      largest = fmax(largest, fabs(all[t]));
    }
    if (largest > 0) {
      gemel_value term = gemel_mul_at(elements_at(c, x, r->axis, r->to, indices),
                                      along(c, x, r->axis, r->to, weights), c->where);
      sum = gemel_is_null(sum) ? term : gemel_add_at(sum, term, c->where);
    }
  }
  return sum;
}

/* Y, but the attribute's number where a place lies outside of x. */
static gemel_value extrapolated(gemel__onnx_call *c, gemel_value y, const resized *r) {
  double *outside = gemel__onnx_room(c, (size_t)(r->to + 1) * sizeof *outside);
  double beyond = gemel__onnx_float(c, "extrapolation_value", 0);
  for (int64_t k = 0; outside != NULL && k < r->to; k++) {
    double place = place_of(c, r, k);
    outside[k] = place < 0 || place > (double)(r->from - 1);
  }
  if (outside == NULL) {
    return gemel__no_value;
  }
  gemel_value is_out = gemel_cast_at(along(c, y, r->axis, r->to, outside), GEMEL_BOOL, c->where);
  return gemel_where_at(is_out, gemel_scalar_like_at(y, beyond, c->where), y, c->where);
}

/* Each element of a symbol's number of them as often as R says. */
static gemel_value repeated(gemel__onnx_call *c, gemel_value x, const resized *r) {
  gemel_dim shape[GEMEL_MAX_RANK + 1], times = gemel_dim_constant(c->context, r->repeats);
  int rank = gemel__onnx_rank(x);
  for (int k = 0; k <= rank; k++) {
    shape[k] = k == r->axis + 1 ? times : gemel__onnx_dims(x)[k <= r->axis ? k : k - 1];
  }
  gemel_value all = gemel_broadcast_to_at(gemel_expand_dims_at(x, r->axis + 1, c->where),
                                          (size_t)rank + 1, shape, c->where);
  memcpy(shape, gemel__onnx_dims(x), (size_t)rank * sizeof *shape);
  shape[r->axis] = gemel_dim_mul(c->context, shape[r->axis], times);
  return gemel_reshape_at(all, (size_t)rank, shape, c->where);
}

static gemel_value resize_axis(gemel__onnx_call *c, gemel_value x, const resized *r) {
  gemel__wire_span mode = gemel__onnx_text(c, "mode");
  int by_place = mode.length == 0 || gemel__wire_is(mode, "nearest") || r->to == 0;
  if (r->repeats > 0) {
    return repeated(c, x, r);
  }
  gemel_value y = r->from == 0 && r->to > 0
                      ? gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "no element to make others of")
                  : by_place ? by_nearest(c, x, r)
                             : by_weights(c, x, r);
  int crops =
      c->opset >= 11 &&
      gemel__wire_is(gemel__onnx_text(c, "coordinate_transformation_mode"), "tf_crop_and_resize");
  return crops ? extrapolated(c, y, r) : y;
}

/* ---- The operator ---- */

/* Numbers that are known, of any dtype: input K or, where it is left out, attribute NAME. */
static double *numbers(gemel__onnx_call *c, size_t k, const char *name, size_t *n) {
  gemel_tensor *t = gemel__onnx_known(c, k);
  gemel__wire_span attribute = gemel__onnx_attribute(c, name);
  *n = t != NULL ? (size_t)gemel_tensor_elements(t) : 0;
  if (t == NULL && attribute.bytes != NULL) {
    while (!isnan(gemel__onnx_float_at(c, name, *n, (double)NAN))) {
      ++*n;
    }
  }
  double *values = *n > 0 ? gemel__onnx_room(c, *n * sizeof *values) : NULL;
  for (size_t i = 0; values != NULL && i < *n; i++) {
    values[i] =
        t == NULL
            ? gemel__onnx_float_at(c, name, i, 0)
            : gemel__dtype_load(t->dtype, (const char *)t->data + i * gemel_dtype_size(t->dtype));
  }
  gemel_tensor_unref(t);
  return values;
}

typedef struct request {
  size_t n; /* axes */
  int64_t axes[GEMEL_MAX_RANK];
  double *scales, *roi; /* or NULL */
  const gemel__sizes *sizes;
} request;

static int read_axes(gemel__onnx_call *c, int rank, request *q) {
  gemel__int_list list = {0, NULL};
  int found = gemel__onnx_ints(c, "axes", &list);
  q->n = found > 0 ? list.count : (size_t)rank;
  if (q->n > GEMEL_MAX_RANK) {
    gemel__onnx_refuse(c, GEMEL_BAD_FILE, "%zu axes", q->n);
    return 0;
  }
  for (size_t k = 0; found >= 0 && k < q->n; k++) {
    q->axes[k] = gemel__onnx_axis(c, found > 0 ? list.values[k] : (int64_t)k, rank);
    found = q->axes[k] < 0 ? -1 : found;
  }
  return found >= 0;
}

/* 1 if the input of regions is used and isn't known. */
static int lacks_region(const gemel__onnx_call *c, const request *q) {
  return q->roi == NULL && gemel__wire_is(gemel__onnx_text(c, "coordinate_transformation_mode"),
                                          "tf_crop_and_resize");
}

/* What is asked for: sizes, or scales, of the axes: 1, or 0 and the error. */
static int read_request(gemel__onnx_call *c, int rank, request *q) {
  size_t n_scales = 0, n_roi = 0, at = c->opset < 11 ? 1 : 2;
  *q = (request){0, {0}, NULL, NULL, NULL};
  if (!read_axes(c, rank, q)) {
    return 0;
  }
  q->scales = numbers(c, at, "scales", &n_scales);
  q->roi = c->opset < 11 ? NULL : numbers(c, 1, "", &n_roi);
  q->sizes = n_scales == 0 ? gemel__onnx_sizes(c, 3) : NULL;
  int fits = n_scales > 0 ? n_scales == q->n : q->sizes != NULL && q->sizes->count == q->n;
  if (!fits || (n_roi != 0 && n_roi != 2 * q->n) || lacks_region(c, q)) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                       "scales or sizes, and a region to crop, must be known before the graph "
                       "runs, for each axis");
    return 0;
  }
  return 1;
}

/* The one scale of all axes where their proportions are kept, or 0. */
static double common_scale(gemel__onnx_call *c, gemel_value x, const request *q) {
  gemel__wire_span policy = gemel__onnx_text(c, "keep_aspect_ratio_policy");
  double best = 0;
  int larger = gemel__wire_is(policy, "not_smaller");
  if (q->sizes == NULL || (!larger && !gemel__wire_is(policy, "not_larger"))) {
    return 0;
  }
  for (size_t k = 0; k < q->n; k++) {
    int64_t from = 1, to = 1;
    gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[q->axes[k]], &from);
    gemel_dim_is_constant(c->context, q->sizes->dims[k], &to);
    double scale = (double)to / (double)from;
    best = best == 0 || (larger ? scale > best : scale < best) ? scale : best;
  }
  return best;
}

/* 1 if the nearest elements of an axis, whatever its size, are each of its elements TIMES. Where
 * places depend on the size by more than their number, they aren't. */
static int only_repeats(const gemel__onnx_call *c, int64_t times) {
  enum { SOME = 3 }; /* elements: the first, the last, and one that stands for all others */
  gemel__wire_span mode = gemel__onnx_text(c, "mode"),
                   places = gemel__onnx_text(c, "coordinate_transformation_mode");
  resized r = {0, SOME, SOME * times, 0, (double)times, 0, 1};
  int is = (mode.length == 0 || gemel__wire_is(mode, "nearest")) &&
           !gemel__wire_is(places, "align_corners") &&
           !gemel__wire_is(places, "tf_crop_and_resize");
  for (int64_t k = 0; is && k < r.to; k++) {
    is = clamped(nearest(c, &r, place_of(c, &r, k)), SOME) == k / times;
  }
  return is;
}

/* How often each element comes along an axis of the size DIM, a symbol, number K of the request; 0:
 * the result is another. */
static int64_t repeats_of(const gemel__onnx_call *c, gemel_dim dim, const request *q, size_t k) {
  enum { MOST = 64 };
  int64_t times = 2;
  if (q->scales != NULL) {
    return q->scales[k] >= 2 && q->scales[k] <= MOST && q->scales[k] == floor(q->scales[k]) &&
                   only_repeats(c, (int64_t)q->scales[k])
               ? (int64_t)q->scales[k]
               : 0;
  }
  while (times <= MOST &&
         !gemel_dim_equal(gemel_dim_mul(c->context, dim, gemel_dim_constant(c->context, times)),
                          q->sizes->dims[k])) {
    times++;
  }
  return times <= MOST && only_repeats(c, times) ? times : 0;
}

/* Axis number K of the request: 1 and *R, 0 if it stays as it is, -1 and the error. */
static int axis_of(gemel__onnx_call *c, gemel_value x, const request *q, size_t k, double common,
                   resized *r) {
  gemel_dim dim = gemel__onnx_dims(x)[q->axes[k]];
  *r = (resized){(int)q->axes[k], 0, 0, 0, 1, 0, 1};
  if (q->roi != NULL) {
    r->start = q->roi[k];
    r->end = q->roi[q->n + k];
  }
  int whole = r->start == 0 && r->end == 1;
  if (whole && common == 0 &&
      (q->scales != NULL ? q->scales[k] == 1 : gemel_dim_equal(q->sizes->dims[k], dim))) {
    return 0;
  }
  if (!gemel_dim_is_constant(c->context, dim, &r->from) && whole && common == 0) {
    r->repeats = repeats_of(c, dim, q, k);
  }
  if (r->repeats > 0) {
    return 1;
  }
  if (!gemel_dim_is_constant(c->context, dim, &r->from) ||
      (q->scales == NULL && !gemel_dim_is_constant(c->context, q->sizes->dims[k], &r->to))) {
    gemel__onnx_refuse(
        c, GEMEL_UNSUPPORTED,
        "axis %d has a size that is a symbol, which only nearest elements of a whole "
        "number of times are known for",
        r->axis);
    return -1;
  }
  double from = (double)r->from;
  r->scale = common != 0 ? common : q->scales != NULL ? q->scales[k] : (double)r->to / from;
  double to = common != 0         ? floor(common * from + 0.5)
              : q->scales != NULL ? floor((double)((float)q->scales[k] * (float)from))
                                  : (double)r->to;
  if (!(to >= 0 && to <= INT32_MAX) || !(r->scale > 0 || to == 0)) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "axis %d would have the size %g", r->axis, to);
    return -1;
  }
  r->to = (int64_t)to;
  return 1;
}

/* 1 if elements of DTYPE are interpolated: of integers what ONNX Runtime does. */
static int interpolates(const gemel__onnx_call *c, gemel_dtype dtype) {
  int is_linear =
      gemel__wire_is(gemel__onnx_text(c, "mode"), "linear") && !gemel__onnx_int(c, "antialias", 0);
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT ||
         (is_linear && (dtype == GEMEL_U8 || dtype == GEMEL_I8 || dtype == GEMEL_I32));
}

/* 1 if what attributes name is known; else 0 and the error. */
static int are_known_ways(gemel__onnx_call *c) {
  return gemel__onnx_is_one_of(c, "mode", "nearest linear bilinear cubic") &&
         gemel__onnx_is_one_of(c, "coordinate_transformation_mode",
                               "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners "
                               "asymmetric tf_crop_and_resize tf_half_pixel_for_nn") &&
         gemel__onnx_is_one_of(c, "nearest_mode",
                               "round_prefer_floor round_prefer_ceil floor ceil") &&
         gemel__onnx_is_one_of(c, "keep_aspect_ratio_policy", "stretch not_larger not_smaller");
}

gemel_value gemel__onnx_resize(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__wire_span mode = gemel__onnx_text(c, "mode");
  gemel_dtype dtype = gemel__onnx_dtype_of(x);
  int by_place = mode.length == 0 || gemel__wire_is(mode, "nearest");
  request q;
  resized r;
  if (!by_place && !interpolates(c, dtype)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "interpolation of %s", gemel_dtype_name(dtype));
  }
  if (!are_known_ways(c)) {
    return gemel__no_value;
  }
  if (gemel_is_null(x) || !read_request(c, gemel__onnx_rank(x), &q)) {
    return gemel__no_value;
  }
  double common = common_scale(c, x, &q);
  gemel_value y = by_place ? x
                  : gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT
                      ? gemel_cast_at(x, GEMEL_F32, c->where)
                      : gemel__onnx_widened(c, x);
  for (size_t k = 0; k < q.n && !gemel_is_null(y); k++) {
    int changes = axis_of(c, x, &q, k, common, &r);
    y = changes > 0 ? resize_axis(c, y, &r) : changes == 0 ? y : gemel__no_value;
  }
  return gemel_is_null(y) || gemel__onnx_dtype_of(y) == dtype ? y
                                                              : gemel_cast_at(y, dtype, c->where);
}
