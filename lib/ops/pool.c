/* SPDX-License-Identifier: MIT
 *
 * Pooling: y = max_pool(x) and y = avg_pool(x), with what their derivatives are made of. Images are
 * [batch, channels, spatial axes…].
 *
 * What is largest in a window goes by x, and is piecewise constant in it. For a fixed x both
 * max_pool_pick(x, t), which takes from t what lies where x is largest, and max_pool_grad(x, y),
 * which puts y there, are linear and each other's transposes; so they are each other's derivatives,
 * and by x their derivatives are 0. avg_pool and avg_pool_grad are linear and transposes too.
 */
#include "ops/pool.h"

#include <string.h>
#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor.h"
#include "core/value.h"
#include "ops/facts.h"
#include "ops/rule.h"

/* ---- Type rules ---- */

static int64_t entry(const gemel_attr *attrs, int which, int axis) {
  return gemel__window_entry(&attrs[which], axis, which <= GEMEL__POOL_DILATION);
}

static gemel_status check_attrs(const gemel_infer *call, int axes) {
  for (int k = GEMEL__POOL_SIZE; k <= GEMEL__POOL_HIGH; k++) {
    GEMEL__TRY(gemel__window_list(call, k, axes, k <= GEMEL__POOL_DILATION));
  }
  return GEMEL_OK;
}

/* Refuses padding in which a window could lie altogether, which would have no elements then. Where
 * the image is as wide as elements of a window lie apart, no window passes over it. */
static gemel_status check_padding(const gemel_infer *call, int axis, gemel_dim image) {
  const gemel_attr *attrs = call->attrs;
  int64_t dilation = entry(attrs, GEMEL__POOL_DILATION, axis), reach, size;
  int padded = 0;
  if (__builtin_mul_overflow(entry(attrs, GEMEL__POOL_SIZE, axis) - 1, dilation, &reach)) {
    return GEMEL_OK; /* the window's span will be refused */
  }
  for (int k = GEMEL__POOL_LOW; k <= GEMEL__POOL_HIGH; k++) {
    int64_t padding = entry(attrs, k, axis);
    padded |= padding > 0;
    if (padding > reach) {
      return gemel__rule_fail(call, GEMEL_BAD_VALUE,
                              "%s %lld along spatial axis %d isn't below the window's span, so "
                              "that a window may lie in padding alone",
                              attrs[k].name, (long long)padding, axis);
    }
  }
  if (padded && gemel_dim_is_constant(call->context, image, &size) && size < dilation) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                            "along spatial axis %d the image has %lld elements, and those of a "
                            "window lie %lld apart, so that a window may lie in padding alone",
                            axis, (long long)size, (long long)dilation);
  }
  return GEMEL_OK;
}

/* Sets the numbers of places in an IMAGE; GIVEN (may be NULL) must be the same. */
static gemel_status place(const gemel_infer *call, int axes, const gemel_dim *image,
                          const gemel_dim *given, gemel_dim *places) {
  gemel_context *context = call->context;
  const gemel_attr *attrs = call->attrs;
  gemel_status status = GEMEL_OK;
  for (int k = 0; k < axes && status == GEMEL_OK; k++) {
    gemel_dim size = gemel_dim_constant(context, entry(attrs, GEMEL__POOL_SIZE, k));
    gemel_dim span = gemel__window_span(call, size, entry(attrs, GEMEL__POOL_DILATION, k));
    gemel_dim low = gemel_dim_constant(context, entry(attrs, GEMEL__POOL_LOW, k));
    gemel_dim high = gemel_dim_constant(context, entry(attrs, GEMEL__POOL_HIGH, k));
    gemel_dim padded = gemel_dim_add(context, image[k], gemel_dim_add(context, low, high));
    status = check_padding(call, k, image[k]);
    if (status == GEMEL_OK) {
      status = gemel__window_places(call, "window", k, span, padded,
                                    entry(attrs, GEMEL__POOL_STRIDE, k), &places[k]);
    }
    if (status == GEMEL_OK && given != NULL) {
      status = gemel__window_equal(call, given[k], places[k], "the number of places", k);
    }
  }
  return status;
}

static gemel_status result(gemel_infer *call, int axes, const gemel_dim *like,
                           const gemel_dim *spatial) {
  gemel_dim dims[2 + GEMEL__SPATIAL_AXES] = {like[0], like[1]};
  memcpy(dims + 2, spatial, (size_t)axes * sizeof *dims);
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), 2 + axes, dims);
}

/* Checks input 0, which has an image's axes, and all attributes. */
static gemel_status begin(const gemel_infer *call, int floats, int *axes) {
  gemel_dtype dtype = gemel__rule_dtype(call, 0);
  GEMEL__TRY(gemel__window_axes(call, 0, axes));
  if (floats && !gemel__is_float(dtype)) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "%s is no float dtype", gemel_dtype_name(dtype));
  }
  return check_attrs(call, *axes);
}

static gemel_status infer_forward(gemel_infer *call, int floats) {
  int axes, rank;
  const gemel_dim *x = gemel__infer_dims(call, 0, &rank);
  gemel_dim places[GEMEL__SPATIAL_AXES];
  GEMEL__TRY(begin(call, floats, &axes));
  GEMEL__TRY(place(call, axes, x + 2, NULL, places));
  return result(call, axes, x, places);
}

static gemel_status infer_max_pool(gemel_infer *call) {
  return infer_forward(call, 0);
}

static gemel_status infer_avg_pool(gemel_infer *call) {
  return infer_forward(call, 1);
}

/* Checks x, and that input 1 has its dtype, rank, batch and channels. */
static gemel_status begin_two(const gemel_infer *call, int *axes) {
  int rank, other;
  const gemel_dim *x = gemel__infer_dims(call, 0, &rank), *y = gemel__infer_dims(call, 1, &other);
  gemel_status status = gemel__rule_same_dtype(call, 0, 1);
  if (status != GEMEL_OK || (status = begin(call, 1, axes)) != GEMEL_OK) {
    return status;
  }
  if (rank != other) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "operands of ranks %d and %d", rank, other);
  }
  status = gemel__window_equal(call, y[0], x[0], "the batch", -1);
  return status == GEMEL_OK ? gemel__window_equal(call, y[1], x[1], "the number of channels", -1)
                            : status;
}

static gemel_status infer_max_pool_grad(gemel_infer *call) {
  int axes, rank;
  const gemel_dim *x = gemel__infer_dims(call, 0, &rank), *y = gemel__infer_dims(call, 1, &rank);
  gemel_dim places[GEMEL__SPATIAL_AXES];
  GEMEL__TRY(begin_two(call, &axes));
  GEMEL__TRY(place(call, axes, x + 2, y + 2, places));
  return result(call, axes, x, x + 2);
}

static gemel_status infer_max_pool_pick(gemel_infer *call) {
  int axes, rank;
  const gemel_dim *x = gemel__infer_dims(call, 0, &rank), *t = gemel__infer_dims(call, 1, &rank);
  gemel_dim places[GEMEL__SPATIAL_AXES];
  GEMEL__TRY(begin_two(call, &axes));
  for (int k = 0; k < axes; k++) {
    GEMEL__TRY(gemel__window_equal(call, t[2 + k], x[2 + k], "the second operand's size", k));
  }
  GEMEL__TRY(place(call, axes, x + 2, NULL, places));
  return result(call, axes, x, places);
}

static gemel_status infer_avg_pool_grad(gemel_infer *call) {
  const gemel_attr *image = &call->attrs[GEMEL__POOL_IMAGE];
  int axes, rank;
  const gemel_dim *y = gemel__infer_dims(call, 0, &rank);
  gemel_dim places[GEMEL__SPATIAL_AXES], sizes[GEMEL_MAX_RANK];
  gemel_status status = begin(call, 1, &axes);
  if (status != GEMEL_OK) {
    return status;
  }
  if (image->count != (size_t)axes) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s has %zu entries for %d spatial axes",
                            image->name, image->count, axes);
  }
  if ((status = gemel__rule_sizes(call, 1)) != GEMEL_OK ||
      (status = gemel__rule_dims(call, image, sizes)) != GEMEL_OK ||
      (status = place(call, axes, sizes, y + 2, places)) != GEMEL_OK) {
    return status;
  }
  return result(call, axes, y, sizes);
}

/* ---- Derivatives ---- */

static int carries(gemel_value v) {
  return !gemel_is_null(v) && gemel__is_float(gemel__value_dtype(v));
}

/* Another operation of the family on A and, for those that have two operands, B; with the
 * attributes of the node that is differentiated. LIKE has the shape of avg_pool_grad's image. */
static gemel_value other(const gemel_derive *call, gemel__pool_kind kind, gemel_value a,
                         gemel_value b, gemel_value like) {
  static const char *const names[] = {"max_pool", "max_pool_grad", "max_pool_pick", "avg_pool",
                                      "avg_pool_grad"};
  int average = kind >= GEMEL__POOL_AVG, two = !average && kind != GEMEL__POOL_MAX, rank;
  gemel_value inputs[2] = {a, b};
  gemel_attr given[GEMEL__POOL_IMAGE + 1];
  size_t count = 0;
  if (!carries(a) || (two && !carries(b))) {
    return gemel__no_value;
  }
  for (int k = 0; k <= (average ? GEMEL__POOL_COUNT_PADDING : GEMEL__POOL_HIGH); k++) {
    if (call->attrs[k].kind != GEMEL_ATTR_NONE) {
      given[count++] = call->attrs[k];
    }
  }
  if (kind == GEMEL__POOL_AVG_GRAD) {
    const gemel_dim *dims = gemel__value_dims(like, &rank);
    given[count++] = gemel_attr_dims("image", (size_t)rank - 2, dims + 2);
  }
  return gemel_apply_at(call->graph, names[kind], two ? 2 : 1, inputs, count, given, call->where);
}

/* Of an operation with operands x and what it is linear in: the derivative by the latter. */
static gemel_status grad_by_second(gemel_derive *call, gemel__pool_kind transposed) {
  call->d_inputs[0] = gemel__no_value;
  call->d_inputs[1] = call->wanted[1] ? other(call, transposed, call->inputs[0], call->d_outputs[0],
                                              gemel__no_value)
                                      : gemel__no_value;
  return gemel__grad_done(call);
}

static gemel_status jvp_by_second(gemel_derive *call, gemel__pool_kind same) {
  call->d_outputs[0] = other(call, same, call->inputs[0], call->d_inputs[1], gemel__no_value);
  return gemel__jvp_done(call);
}

static gemel_status grad_max_pool(gemel_derive *call) {
  call->d_inputs[0] = call->wanted[0] ? other(call, GEMEL__POOL_MAX_GRAD, call->inputs[0],
                                              call->d_outputs[0], gemel__no_value)
                                      : gemel__no_value;
  return gemel__grad_done(call);
}
static gemel_status jvp_max_pool(gemel_derive *call) {
  call->d_outputs[0] =
      other(call, GEMEL__POOL_MAX_PICK, call->inputs[0], call->d_inputs[0], gemel__no_value);
  return gemel__jvp_done(call);
}
static gemel_status grad_max_pool_grad(gemel_derive *call) {
  return grad_by_second(call, GEMEL__POOL_MAX_PICK);
}
static gemel_status jvp_max_pool_grad(gemel_derive *call) {
  return jvp_by_second(call, GEMEL__POOL_MAX_GRAD);
}
static gemel_status grad_max_pool_pick(gemel_derive *call) {
  return grad_by_second(call, GEMEL__POOL_MAX_GRAD);
}
static gemel_status jvp_max_pool_pick(gemel_derive *call) {
  return jvp_by_second(call, GEMEL__POOL_MAX_PICK);
}

/* KIND of the cotangent; what is left out is null. */
static gemel_status grad_avg(gemel_derive *call, gemel__pool_kind transposed) {
  for (size_t k = 0; k < call->n_inputs; k++) {
    call->d_inputs[k] = gemel__no_value;
  }
  if (call->wanted[0]) {
    call->d_inputs[0] =
        other(call, transposed, call->d_outputs[0], gemel__no_value, call->inputs[0]);
  }
  return gemel__grad_done(call);
}
static gemel_status jvp_avg(gemel_derive *call, gemel__pool_kind same) {
  call->d_outputs[0] = other(call, same, call->d_inputs[0], gemel__no_value, call->outputs[0]);
  return gemel__jvp_done(call);
}
static gemel_status grad_avg_pool(gemel_derive *call) {
  return grad_avg(call, GEMEL__POOL_AVG_GRAD);
}
static gemel_status jvp_avg_pool(gemel_derive *call) {
  return jvp_avg(call, GEMEL__POOL_AVG);
}
static gemel_status grad_avg_pool_grad(gemel_derive *call) {
  return grad_avg(call, GEMEL__POOL_AVG);
}
static gemel_status jvp_avg_pool_grad(gemel_derive *call) {
  return jvp_avg(call, GEMEL__POOL_AVG_GRAD);
}

/* ---- Normal form and facts ---- */

static gemel_status normalize_max(gemel_normalize *call) {
  int axes = gemel_type_rank(call->context, call->inputs[0]) - 2;
  for (int k = GEMEL__POOL_STRIDE; k <= GEMEL__POOL_HIGH; k++) {
    if (axes >= 1 && axes <= GEMEL__SPATIAL_AXES) {
      gemel__window_spell(call, k, axes, k <= GEMEL__POOL_DILATION);
    }
  }
  return GEMEL_OK;
}

static gemel_status normalize_avg(gemel_normalize *call) {
  gemel_attr *count_padding = &call->attrs[GEMEL__POOL_COUNT_PADDING];
  count_padding->u.i = count_padding->u.i != 0;
  return normalize_max(call);
}

static unsigned facts_max_pool(const struct gemel__fact_call *call) {
  return call->of[0];
}

/* Sums and quotients of what isn't below 0. */
static unsigned facts_of(unsigned x) {
  return gemel__facts_if(x & GEMEL__NONNEGATIVE, x & (GEMEL__NONNEGATIVE | GEMEL__NOT_NAN));
}
static unsigned facts_first(const struct gemel__fact_call *call) {
  return facts_of(call->of[0]);
}
static unsigned facts_second(const struct gemel__fact_call *call) {
  return facts_of(call->of[1]);
}

/* ---- Geometry at run time ---- */

gemel__pooling gemel__pool_of(const gemel_kernel_call *call, gemel__pool_kind kind) {
  int average = kind >= GEMEL__POOL_AVG;
  int low = GEMEL__POOL_LOW;
  const gemel_view *image = kind == GEMEL__POOL_AVG_GRAD ? &call->outputs[0] : &call->inputs[0];
  const gemel_view *places = kind == GEMEL__POOL_MAX_GRAD   ? &call->inputs[1]
                             : kind == GEMEL__POOL_AVG_GRAD ? &call->inputs[0]
                                                            : &call->outputs[0];
  gemel__pooling g = {.kind = kind,
                      .axes = image->rank - 2,
                      .count_padding = average && call->attrs[GEMEL__POOL_COUNT_PADDING].u.i != 0,
                      .batch = image->shape[0],
                      .channels = image->shape[1]};
  for (int to = 0; to < GEMEL__SPATIAL_AXES; to++) {
    int from = to - (GEMEL__SPATIAL_AXES - g.axes), is = from >= 0;
    g.image[to] = is ? image->shape[2 + from] : 1;
    g.out[to] = is ? places->shape[2 + from] : 1;
    g.size[to] = is ? entry(call->attrs, GEMEL__POOL_SIZE, from) : 1;
    g.stride[to] = is ? entry(call->attrs, GEMEL__POOL_STRIDE, from) : 1;
    g.dilation[to] = is ? entry(call->attrs, GEMEL__POOL_DILATION, from) : 1;
    g.low[to] = is ? entry(call->attrs, low, from) : 0;
  }
  return g;
}

double gemel__pool_work(const gemel__pooling *g) {
  double work = (double)g->batch * (double)g->channels;
  for (int k = 0; k < GEMEL__SPATIAL_AXES; k++) {
    work *= (double)g->size[k] * (double)g->out[k];
  }
  return work;
}

static void cost_of(const gemel_kernel_call *call, gemel__pool_kind kind, double *flops,
                    double *bytes) {
  gemel__pooling g = gemel__pool_of(call, kind);
  *flops = gemel__pool_work(&g);
  *bytes =
      (double)gemel__view_elements(&call->outputs[0]) * (double)gemel__view_item(&call->outputs[0]);
  for (int k = 0; k < 1 + (kind == GEMEL__POOL_MAX_GRAD || kind == GEMEL__POOL_MAX_PICK); k++) {
    *bytes +=
        (double)gemel__view_elements(&call->inputs[k]) * (double)gemel__view_item(&call->inputs[k]);
  }
}

#define HOOKS(name, KIND, form, facts_hook)                                                        \
  static void cost_##name(const gemel_kernel_call *call, double *flops, double *bytes) {           \
    cost_of(call, GEMEL__POOL_##KIND, flops, bytes);                                               \
  }                                                                                                \
  const gemel__hooks gemel__hooks_##name = {.infer = infer_##name,                                 \
                                            .grad = grad_##name,                                   \
                                            .jvp = jvp_##name,                                     \
                                            .kernels = gemel__##name##_kernels,                    \
                                            .cost = cost_##name,                                   \
                                            .normalize = normalize_##form,                         \
                                            .facts = facts_hook,                                   \
                                            .channels_last = gemel__first_channels_last};
HOOKS(max_pool, MAX, max, facts_max_pool)
HOOKS(max_pool_grad, MAX_GRAD, max, facts_second)
HOOKS(max_pool_pick, MAX_PICK, max, facts_second)
HOOKS(avg_pool, AVG, avg, facts_first)
HOOKS(avg_pool_grad, AVG_GRAD, avg, facts_first)
