/* SPDX-License-Identifier: MIT
 *
 * Convolution as three operations: y = corr(x, w), and what is left of it when one of w and x is
 * not known but y is: corr_grad_weights(x, y) and corr_grad_inputs(w, y). Images are [batch,
 * channels, spatial axes…], weights [filters, channels of a group, kernel…] or, if they aren't
 * shared, [filters, places…, channels of a group, kernel…], results [batch, filters, places…].
 *
 * All three are derivatives of one sum of x[n, c, i] w[f, c, k] y[n, f, o] over the i, k and o that
 * meet, so they have the same attributes, and the derivatives of each are the other two. A place
 * of y doesn't tell how large x or w was, so the gradients are given that size.
 */
#include "ops/conv.h"

#include <string.h>
#include "core/error.h"
#include "core/value.h"
#include "ops/ops.h"
#include "ops/rule.h"

/* ---- Attributes ---- */

typedef enum padding_kind { VALID, FULL, HALF, PADDINGS } padding_kind;

static const char *const padding_names[PADDINGS] = {"valid", "full", "half"};

/* PADDINGS if there is none of that name. */
static padding_kind padding_of(const gemel_attr *attrs) {
  padding_kind p = VALID;
  while (p < PADDINGS && strcmp(padding_names[p], attrs[GEMEL__CONV_PADDING].u.text) != 0) {
    p++;
  }
  return p;
}

static gemel_status check_attrs(const gemel_infer *call, int axes) {
  const gemel_attr *attrs = call->attrs;
  for (int k = GEMEL__CONV_STRIDE; k <= GEMEL__CONV_HIGH; k++) {
    GEMEL__TRY(gemel__window_list(call, k, axes, k <= GEMEL__CONV_DILATION));
  }
  if (padding_of(attrs) == PADDINGS) {
    return gemel__rule_fail(call, GEMEL_BAD_VALUE,
                            "padding \"%s\" is none of \"valid\", \"full\", \"half\"",
                            attrs[GEMEL__CONV_PADDING].u.text);
  }
  if (padding_of(attrs) != VALID && (attrs[GEMEL__CONV_LOW].kind != GEMEL_ATTR_NONE ||
                                     attrs[GEMEL__CONV_HIGH].kind != GEMEL_ATTR_NONE)) {
    return gemel__rule_fail(call, GEMEL_BAD_VALUE, "padding \"%s\" leaves no choice of low or high",
                            attrs[GEMEL__CONV_PADDING].u.text);
  }
  if (attrs[GEMEL__CONV_GROUPS].u.i < 1) {
    return gemel__rule_fail(call, GEMEL_BAD_VALUE, "%lld groups",
                            (long long)attrs[GEMEL__CONV_GROUPS].u.i);
  }
  return GEMEL_OK;
}

/* ---- Type rules ---- */

/* What a type rule knows of the three operands; sizes of axes that there aren't are 1. */
typedef struct conv_dims {
  int axes;
  gemel_dim batch, channels, group_channels, filters;
  gemel_dim image[GEMEL_MAX_RANK], kernel[GEMEL_MAX_RANK], out[GEMEL_MAX_RANK];
} conv_dims;

static gemel_dim constant(const gemel_infer *call, int64_t value) {
  return gemel_dim_constant(call->context, value);
}

/* The image's size with its padding. */
static gemel_dim padded_size(const gemel_infer *call, gemel_dim image, gemel_dim span, int axis) {
  gemel_context *context = call->context;
  gemel_dim both = gemel_dim_sub(context, span, constant(call, 1));
  switch (padding_of(call->attrs)) {
  case FULL:
    both = gemel_dim_mul(context, both, constant(call, 2));
    break;
  case HALF:
    both = gemel_dim_floordiv(context, span, constant(call, 2));
    both = gemel_dim_mul(context, both, constant(call, 2));
    break;
  default:
    both = gemel_dim_add(
        context, constant(call, gemel__window_entry(&call->attrs[GEMEL__CONV_LOW], axis, 0)),
        constant(call, gemel__window_entry(&call->attrs[GEMEL__CONV_HIGH], axis, 0)));
  }
  return gemel_dim_add(context, image, both);
}

/* Sets OUT, the number of places along AXIS. */
static gemel_status place_axis(const gemel_infer *call, conv_dims *o, int axis, gemel_dim *out) {
  int64_t stride = gemel__window_entry(&call->attrs[GEMEL__CONV_STRIDE], axis, 1), size;
  int64_t dilation = gemel__window_entry(&call->attrs[GEMEL__CONV_DILATION], axis, 1);
  gemel_dim span = gemel__window_span(call, o->kernel[axis], dilation);
  if (gemel_dim_is_constant(call->context, o->kernel[axis], &size) && size < 1) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "the kernel is empty along spatial axis %d",
                            axis);
  }
  return gemel__window_places(call, "kernel", axis, span,
                              padded_size(call, o->image[axis], span, axis), stride, out);
}

static gemel_status must_divide(const gemel_infer *call, gemel_dim dim, const char *what) {
  int64_t groups = call->attrs[GEMEL__CONV_GROUPS].u.i, size;
  if (gemel_dim_is_constant(call->context, dim, &size) && size % groups != 0) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%lld %s don't fall into %lld groups",
                            (long long)size, what, (long long)groups);
  }
  return GEMEL_OK;
}

/* Checks input K, an image or a result, and the attributes. */
static gemel_status spatial_axes(const gemel_infer *call, size_t k, int *axes) {
  GEMEL__TRY(gemel__window_axes(call, k, axes));
  return check_attrs(call, *axes);
}

/* Reads the weights, input K. Places of weights that aren't shared go to PLACES. */
static gemel_status read_weights(const gemel_infer *call, size_t k, conv_dims *o,
                                 const gemel_dim **places) {
  int rank, unshared = call->attrs[GEMEL__CONV_UNSHARED].u.i != 0;
  const gemel_dim *dims = gemel__infer_dims(call, k, &rank);
  int at = unshared ? o->axes : 0;
  if (rank != 2 + o->axes + at) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                            "%sweights for %d spatial axes have rank %d and not %d",
                            unshared ? "unshared " : "", o->axes, 2 + o->axes + at, rank);
  }
  o->filters = dims[0];
  *places = unshared ? dims + 1 : NULL;
  o->group_channels = dims[1 + at];
  memcpy(o->kernel, dims + 2 + at, (size_t)o->axes * sizeof *dims);
  return must_divide(call, o->filters, "filters");
}

/* Reads the sizes that a gradient is given. */
static gemel_status read_sizes(const gemel_infer *call, const conv_dims *o, gemel_dim *sizes) {
  const gemel_attr *attr = &call->attrs[GEMEL__CONV_SIZES];
  if (attr->count != (size_t)o->axes) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s has %zu entries for %d spatial axes",
                            attr->name, attr->count, o->axes);
  }
  GEMEL__TRY(gemel__rule_sizes(call, 2));
  return gemel__rule_dims(call, attr, sizes);
}

/* Computes the places from image and kernel; GIVEN (may be NULL) must be the same. */
static gemel_status place(const gemel_infer *call, conv_dims *o, const gemel_dim *given,
                          const char *what) {
  gemel_status status = GEMEL_OK;
  for (int k = 0; k < o->axes && status == GEMEL_OK; k++) {
    gemel_dim out = GEMEL_DIM_NONE;
    status = place_axis(call, o, k, &out);
    if (status == GEMEL_OK && given != NULL) {
      status = gemel__window_equal(call, given[k], out, what, k);
    }
    o->out[k] = given != NULL ? given[k] : out;
  }
  return status;
}

static gemel_status join_dims(gemel_infer *call, gemel_dim first, gemel_dim second, int n_middle,
                              const gemel_dim *middle, int n_last, const gemel_dim *last) {
  gemel_dim dims[2 + 2 * GEMEL__SPATIAL_AXES];
  int rank = 0;
  dims[rank++] = first;
  memcpy(dims + rank, middle, (size_t)n_middle * sizeof *dims);
  rank += n_middle;
  dims[rank++] = second;
  memcpy(dims + rank, last, (size_t)n_last * sizeof *dims);
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), rank + n_last, dims);
}

static gemel_dim all_channels(const gemel_infer *call, const conv_dims *o) {
  return gemel_dim_mul(call->context, o->group_channels,
                       constant(call, call->attrs[GEMEL__CONV_GROUPS].u.i));
}

static gemel_status infer_corr(gemel_infer *call) {
  conv_dims o;
  int rank;
  const gemel_dim *x = gemel__infer_dims(call, 0, &rank), *places;
  gemel_status status = gemel__rule_same_dtype(call, 0, 1);
  if (status != GEMEL_OK || (status = spatial_axes(call, 0, &o.axes)) != GEMEL_OK ||
      (status = read_weights(call, 1, &o, &places)) != GEMEL_OK) {
    return status;
  }
  memcpy(o.image, x + 2, (size_t)o.axes * sizeof *x);
  status = gemel__window_equal(call, x[1], all_channels(call, &o), "the number of channels", -1);
  if (status == GEMEL_OK) {
    status = place(call, &o, places, "the number of places of the weights");
  }
  return status == GEMEL_OK ? join_dims(call, x[0], o.filters, 0, o.out, o.axes, o.out) : status;
}

static gemel_status infer_grad_weights(gemel_infer *call) {
  conv_dims o;
  int rank, unshared = call->attrs[GEMEL__CONV_UNSHARED].u.i != 0;
  const gemel_dim *x = gemel__infer_dims(call, 0, &rank);
  const gemel_dim *y = gemel__infer_dims(call, 1, &rank);
  gemel_status status = gemel__rule_same_dtype(call, 0, 1);
  if (status != GEMEL_OK || (status = spatial_axes(call, 0, &o.axes)) != GEMEL_OK) {
    return status;
  }
  if (rank != 2 + o.axes) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "operands of ranks %d and %d", 2 + o.axes, rank);
  }
  memcpy(o.image, x + 2, (size_t)o.axes * sizeof *x);
  if ((status = read_sizes(call, &o, o.kernel)) != GEMEL_OK ||
      (status = gemel__window_equal(call, y[0], x[0], "the batch", -1)) != GEMEL_OK ||
      (status = must_divide(call, x[1], "channels")) != GEMEL_OK ||
      (status = must_divide(call, y[1], "filters")) != GEMEL_OK ||
      (status = place(call, &o, y + 2, "the number of places")) != GEMEL_OK) {
    return status;
  }
  o.group_channels =
      gemel_dim_floordiv(call->context, x[1], constant(call, call->attrs[GEMEL__CONV_GROUPS].u.i));
  return join_dims(call, y[1], o.group_channels, unshared ? o.axes : 0, o.out, o.axes, o.kernel);
}

static gemel_status infer_grad_inputs(gemel_infer *call) {
  conv_dims o;
  int rank;
  const gemel_dim *y = gemel__infer_dims(call, 1, &rank), *places;
  gemel_status status = gemel__rule_same_dtype(call, 0, 1);
  if (status != GEMEL_OK || (status = spatial_axes(call, 1, &o.axes)) != GEMEL_OK ||
      (status = read_weights(call, 0, &o, &places)) != GEMEL_OK ||
      (status = read_sizes(call, &o, o.image)) != GEMEL_OK ||
      (status = gemel__window_equal(call, y[1], o.filters, "the number of filters", -1)) !=
          GEMEL_OK ||
      (status = place(call, &o, y + 2, "the number of places")) != GEMEL_OK) {
    return status;
  }
  for (int k = 0; places != NULL && k < o.axes; k++) {
    status =
        gemel__window_equal(call, places[k], o.out[k], "the number of places of the weights", k);
    if (status != GEMEL_OK) {
      return status;
    }
  }
  return join_dims(call, y[0], all_channels(call, &o), 0, o.out, o.axes, o.image);
}

/* ---- Derivatives ---- */

/* Another operation of the three on A and B, with the attributes of the node that is
 * differentiated. LIKE, a value whose last axes have the sizes to be given, is null for corr. */
static gemel_value other(const gemel_derive *call, gemel__conv_kind kind, gemel_value a,
                         gemel_value b, gemel_value like) {
  static const char *const names[] = {"corr", "corr_grad_weights", "corr_grad_inputs"};
  static const char *const sizes[] = {NULL, "kernel", "image"};
  gemel_value inputs[2] = {a, b};
  gemel_attr given[GEMEL__CONV_SIZES + 1];
  size_t count = 0;
  int rank, y_rank;
  if (gemel_is_null(a) || gemel_is_null(b)) {
    return gemel__no_value;
  }
  for (int k = 0; k < GEMEL__CONV_SIZES; k++) {
    if (call->attrs[k].kind != GEMEL_ATTR_NONE) {
      given[count++] = call->attrs[k];
    }
  }
  if (kind != GEMEL__CONV_FORWARD) {
    const gemel_dim *dims = gemel__value_dims(like, &rank);
    gemel__value_dims(kind == GEMEL__CONV_WEIGHTS ? a : b, &y_rank);
    int axes = y_rank - 2;
    given[count++] = gemel_attr_dims(sizes[kind], (size_t)axes, dims + rank - axes);
  }
  return gemel_apply_at(call->graph, names[kind], 2, inputs, count, given, call->where);
}

static gemel_status grad_of(gemel_derive *call, gemel__conv_kind kind) {
  gemel_value a = call->inputs[0], b = call->inputs[1], g = call->d_outputs[0];
  for (size_t k = 0; k < call->n_inputs; k++) {
    call->d_inputs[k] = gemel__no_value;
  }
  if (call->wanted[0]) {
    call->d_inputs[0] = kind == GEMEL__CONV_FORWARD   ? other(call, GEMEL__CONV_INPUTS, b, g, a)
                        : kind == GEMEL__CONV_WEIGHTS ? other(call, GEMEL__CONV_INPUTS, g, b, a)
                                                      : other(call, GEMEL__CONV_WEIGHTS, g, b, a);
  }
  if (call->wanted[1]) {
    call->d_inputs[1] = kind == GEMEL__CONV_FORWARD ? other(call, GEMEL__CONV_WEIGHTS, a, g, b)
                        : kind == GEMEL__CONV_WEIGHTS
                            ? other(call, GEMEL__CONV_FORWARD, a, g, gemel__no_value)
                            : other(call, GEMEL__CONV_FORWARD, g, a, gemel__no_value);
  }
  return gemel__grad_done(call);
}

static gemel_status jvp_of(gemel_derive *call, gemel__conv_kind kind) {
  gemel_value like = call->outputs[0];
  gemel_value left = other(call, kind, call->d_inputs[0], call->inputs[1], like);
  gemel_value right = other(call, kind, call->inputs[0], call->d_inputs[1], like);
  call->d_outputs[0] = gemel__add_or(left, right, call->where);
  return gemel__jvp_done(call);
}

static gemel_status grad_corr(gemel_derive *call) {
  return grad_of(call, GEMEL__CONV_FORWARD);
}
static gemel_status grad_grad_weights(gemel_derive *call) {
  return grad_of(call, GEMEL__CONV_WEIGHTS);
}
static gemel_status grad_grad_inputs(gemel_derive *call) {
  return grad_of(call, GEMEL__CONV_INPUTS);
}
static gemel_status jvp_corr(gemel_derive *call) {
  return jvp_of(call, GEMEL__CONV_FORWARD);
}
static gemel_status jvp_grad_weights(gemel_derive *call) {
  return jvp_of(call, GEMEL__CONV_WEIGHTS);
}
static gemel_status jvp_grad_inputs(gemel_derive *call) {
  return jvp_of(call, GEMEL__CONV_INPUTS);
}

/* ---- Normal form ---- */

/* Padding that SPAN elements of a kernel have in front. */
static int64_t padding_before(padding_kind p, int64_t span) {
  return p == FULL ? span - 1 : p == HALF ? span / 2 : 0;
}

/* The kernel's sizes, if they are constants. KIND says where they stand. */
static int kernel_sizes(const gemel_normalize *call, gemel__conv_kind kind, int axes,
                        int64_t *sizes) {
  const gemel_attr *given = &call->attrs[GEMEL__CONV_SIZES];
  gemel_type weights = call->inputs[kind == GEMEL__CONV_FORWARD];
  int rank = gemel_type_rank(call->context, weights);
  const gemel_dim *dims = gemel_type_dims(call->context, weights) + rank - axes;
  if (kind == GEMEL__CONV_WEIGHTS) {
    if (given->kind != (GEMEL_ATTR_DIM | GEMEL_ATTR_LIST) || given->count != (size_t)axes) {
      return 0;
    }
    dims = given->u.dims;
  } else if (rank < axes) {
    return 0;
  }
  for (int k = 0; k < axes; k++) {
    if (!gemel_dim_is_constant(call->context, dims[k], &sizes[k])) {
      return 0;
    }
  }
  return 1;
}

/* Full and half padding in numbers. */
static void spell_padding(gemel_normalize *call, gemel__conv_kind kind, int axes) {
  padding_kind p = padding_of(call->attrs);
  int64_t kernel[GEMEL_MAX_RANK];
  const gemel_attr *dilation = &call->attrs[GEMEL__CONV_DILATION];
  if ((p != FULL && p != HALF) || call->attrs[GEMEL__CONV_LOW].kind != GEMEL_ATTR_NONE ||
      call->attrs[GEMEL__CONV_HIGH].kind != GEMEL_ATTR_NONE || dilation->count != (size_t)axes ||
      !kernel_sizes(call, kind, axes, kernel)) {
    return;
  }
  for (int k = 0; k < axes; k++) {
    int64_t span;
    if (kernel[k] < 1 || __builtin_mul_overflow(kernel[k] - 1, dilation->u.ints[k], &span) ||
        span < 0 || span == INT64_MAX) {
      return;
    }
    kernel[k] = padding_before(p, span + 1);
  }
  for (int which = GEMEL__CONV_LOW; which <= GEMEL__CONV_HIGH; which++) {
    int64_t *values = gemel__normal_ints(call, (size_t)which, (size_t)axes);
    if (values != NULL) {
      memcpy(values, kernel, (size_t)axes * sizeof *values);
    }
  }
  call->attrs[GEMEL__CONV_PADDING].u.text = padding_names[VALID];
}

static gemel_status normalize_of(gemel_normalize *call, gemel__conv_kind kind) {
  gemel_type image = call->inputs[kind == GEMEL__CONV_INPUTS];
  int axes = gemel_type_rank(call->context, image) - 2;
  gemel_attr *attrs = call->attrs;
  if (axes < 1 || axes > GEMEL__SPATIAL_AXES) {
    return GEMEL_OK;
  }
  gemel__window_spell(call, GEMEL__CONV_STRIDE, axes, 1);
  gemel__window_spell(call, GEMEL__CONV_DILATION, axes, 1);
  spell_padding(call, kind, axes);
  if (padding_of(attrs) == VALID) {
    gemel__window_spell(call, GEMEL__CONV_LOW, axes, 0);
    gemel__window_spell(call, GEMEL__CONV_HIGH, axes, 0);
  }
  attrs[GEMEL__CONV_FLIP].u.i = attrs[GEMEL__CONV_FLIP].u.i != 0;
  attrs[GEMEL__CONV_UNSHARED].u.i = attrs[GEMEL__CONV_UNSHARED].u.i != 0;
  return GEMEL_OK;
}

static gemel_status normalize_corr(gemel_normalize *call) {
  return normalize_of(call, GEMEL__CONV_FORWARD);
}
static gemel_status normalize_grad_weights(gemel_normalize *call) {
  return normalize_of(call, GEMEL__CONV_WEIGHTS);
}
static gemel_status normalize_grad_inputs(gemel_normalize *call) {
  return normalize_of(call, GEMEL__CONV_INPUTS);
}

/* ---- Geometry at run time ---- */

static void axis_of(const gemel_attr *attrs, int from, gemel__conv *g, int to) {
  int64_t span;
  g->stride[to] = gemel__window_entry(&attrs[GEMEL__CONV_STRIDE], from, 1);
  g->dilation[to] = gemel__window_entry(&attrs[GEMEL__CONV_DILATION], from, 1);
  span = (g->kernel[to] - 1) * g->dilation[to] + 1;
  g->low[to] =
      gemel__window_entry(&attrs[GEMEL__CONV_LOW], from, padding_before(padding_of(attrs), span));
  g->high[to] =
      gemel__window_entry(&attrs[GEMEL__CONV_HIGH], from, padding_before(padding_of(attrs), span));
}

void gemel__conv_of(const gemel_kernel_call *call, gemel__conv_kind kind, gemel__conv *g,
                    const gemel_view *operands[3]) {
  const gemel_view *x = kind == GEMEL__CONV_INPUTS ? &call->outputs[0] : &call->inputs[0];
  const gemel_view *w = kind == GEMEL__CONV_FORWARD   ? &call->inputs[1]
                        : kind == GEMEL__CONV_WEIGHTS ? &call->outputs[0]
                                                      : &call->inputs[0];
  const gemel_view *y = kind == GEMEL__CONV_FORWARD ? &call->outputs[0] : &call->inputs[1];
  int empty = GEMEL__SPATIAL_AXES - (x->rank - 2);
  g->kind = kind;
  g->axes = x->rank - 2;
  g->flip = call->attrs[GEMEL__CONV_FLIP].u.i != 0;
  g->unshared = call->attrs[GEMEL__CONV_UNSHARED].u.i != 0;
  g->batch = x->shape[0];
  g->groups = call->attrs[GEMEL__CONV_GROUPS].u.i;
  g->channels = x->shape[1] / g->groups;
  g->filters = y->shape[1] / g->groups;
  for (int k = 0; k < GEMEL__SPATIAL_AXES; k++) {
    g->image[k] = g->kernel[k] = g->out[k] = g->stride[k] = g->dilation[k] = 1;
    g->low[k] = g->high[k] = 0;
  }
  for (int k = 0; k < g->axes; k++) {
    g->image[empty + k] = x->shape[2 + k];
    g->out[empty + k] = y->shape[2 + k];
    g->kernel[empty + k] = w->shape[w->rank - g->axes + k];
    axis_of(call->attrs, k, g, empty + k);
  }
  operands[0] = x, operands[1] = w, operands[2] = y;
}

int gemel__conv_pointwise(const gemel__conv *g) {
  int simple = 1;
  for (int k = 0; k < GEMEL__SPATIAL_AXES; k++) {
    simple &= g->kernel[k] == 1 && g->stride[k] == 1 && g->low[k] == 0 && g->high[k] == 0;
  }
  return simple;
}

double gemel__conv_work(const gemel__conv *g) {
  double work = (double)g->batch * (double)g->groups * (double)g->channels * (double)g->filters;
  for (int k = 0; k < GEMEL__SPATIAL_AXES; k++) {
    work *= (double)g->kernel[k] * (double)g->out[k];
  }
  return work;
}

static void cost_of(const gemel_kernel_call *call, gemel__conv_kind kind, double *flops,
                    double *bytes) {
  const gemel_view *operands[3];
  gemel__conv g;
  gemel__conv_of(call, kind, &g, operands);
  *flops = 2 * gemel__conv_work(&g);
  *bytes = 0;
  for (int k = 0; k < 3; k++) {
    *bytes += (double)gemel__view_elements(operands[k]) * (double)gemel__view_item(operands[k]);
  }
}

static void cost_corr(const gemel_kernel_call *call, double *flops, double *bytes) {
  cost_of(call, GEMEL__CONV_FORWARD, flops, bytes);
}
static void cost_grad_weights(const gemel_kernel_call *call, double *flops, double *bytes) {
  cost_of(call, GEMEL__CONV_WEIGHTS, flops, bytes);
}
static void cost_grad_inputs(const gemel_kernel_call *call, double *flops, double *bytes) {
  cost_of(call, GEMEL__CONV_INPUTS, flops, bytes);
}

const gemel__hooks gemel__hooks_corr = {.infer = infer_corr,
                                        .grad = grad_corr,
                                        .jvp = jvp_corr,
                                        .kernels = gemel__corr_kernels,
                                        .cost = cost_corr,
                                        .normalize = normalize_corr,
                                        .takes = GEMEL__OP_add,
                                        .channels_last = gemel__corr_channels_last};
const gemel__hooks gemel__hooks_corr_grad_weights = {.infer = infer_grad_weights,
                                                     .grad = grad_grad_weights,
                                                     .jvp = jvp_grad_weights,
                                                     .kernels = gemel__corr_grad_weights_kernels,
                                                     .cost = cost_grad_weights,
                                                     .normalize = normalize_grad_weights};
const gemel__hooks gemel__hooks_corr_grad_inputs = {.infer = infer_grad_inputs,
                                                    .grad = grad_grad_inputs,
                                                    .jvp = jvp_grad_inputs,
                                                    .kernels = gemel__corr_grad_inputs_kernels,
                                                    .cost = cost_grad_inputs,
                                                    .normalize = normalize_grad_inputs,
                                                    .channels_last =
                                                        gemel__corr_grad_inputs_channels_last};
