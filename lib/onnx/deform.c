/* SPDX-License-Identifier: MIT
 *
 * DeformConv of ONNX: a convolution whose kernel's elements look at places of their own, which an
 * offset says for each place of the result. Images are sampled there, by the four elements around,
 * of which those outside are 0, and the samples multiplied by the weights as by a matrix. Source:
 * Zhu et al., "Deformable ConvNets v2", 2018.
 */
#include "onnx/operators.h"
#include "core/value.h"

/* The node, its sizes as numbers (but for N), and its operands by offset groups. */
typedef struct deformed {
  gemel__onnx_call *c;
  gemel_dim n;
  int64_t channels, filters, groups, offset_groups, image[2], kernel[2], result[2];
  int64_t stride[2], dilation[2], low[2];
  gemel_value x, weights, offsets; /* offsets [N, groups, K, 2, oH, oW] */
} deformed;

static gemel_dim dim(const deformed *d, int64_t n) {
  return gemel_dim_constant(d->c->context, n);
}

static gemel_value number(const deformed *d, gemel_value like, double n) {
  return gemel_scalar_like_at(like, n, d->c->where);
}

/* X in the shape [N, SIZES...]. */
static gemel_value shaped(const deformed *d, gemel_value x, size_t n, const int64_t *sizes) {
  gemel_dim shape[8] = {d->n};
  for (size_t k = 0; k < n; k++) {
    shape[k + 1] = dim(d, sizes[k]);
  }
  return gemel_reshape_at(x, n + 1, shape, d->c->where);
}

/* ---- Reading ---- */

/* The two numbers of list NAME, from FIRST on, or FALLBACK: 1, or 0 on failure. */
static int pair_of(gemel__onnx_call *c, const char *name, size_t count, int64_t fallback,
                   int64_t pair[2]) {
  gemel__int_list list;
  int found = gemel__onnx_ints(c, name, &list);
  if (found > 0 && list.count != count) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "%s has %zu numbers for 2 spatial axes", name,
                       list.count);
    return 0;
  }
  for (int k = 0; k < 2; k++) {
    pair[k] = found > 0 ? list.values[k] : fallback;
    if (pair[k] < 0 || pair[k] > 1 << 30) {
      gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "%s: %lld", name, (long long)pair[k]);
      return 0;
    }
  }
  return found >= 0;
}

/* Sizes COUNT of V from axis FROM on as numbers: 1, or 0 and the error. */
static int sizes_of(gemel__onnx_call *c, gemel_value v, int from, int count, int64_t *sizes) {
  for (int k = 0; k < count; k++) {
    if (gemel__onnx_rank(v) != 4 ||
        !gemel_dim_is_constant(c->context, gemel__onnx_dims(v)[from + k], &sizes[k])) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                         "it takes images of 2 spatial axes, whose sizes are numbers");
      return 0;
    }
  }
  return 1;
}

static int read_deformed(deformed *d, gemel__onnx_call *c) {
  int64_t x[3], w[4], offsets[3];
  *d = (deformed){.c = c,
                  .groups = gemel__onnx_int(c, "group", 1),
                  .offset_groups = gemel__onnx_int(c, "offset_group", 1)};
  d->x = gemel__onnx_input(c, 0);
  d->weights = gemel__onnx_input(c, 1);
  gemel_value offset = gemel__onnx_input(c, 2);
  if (!sizes_of(c, d->x, 1, 3, x) || !sizes_of(c, d->weights, 0, 4, w) ||
      !sizes_of(c, offset, 1, 3, offsets) || !pair_of(c, "strides", 2, 1, d->stride) ||
      !pair_of(c, "dilations", 2, 1, d->dilation) || !pair_of(c, "pads", 4, 0, d->low)) {
    return 0;
  }
  d->n = gemel__onnx_dims(d->x)[0];
  d->channels = x[0];
  d->filters = w[0];
  for (int k = 0; k < 2; k++) {
    d->image[k] = x[k + 1];
    d->kernel[k] = w[k + 2];
    d->result[k] = offsets[k + 1];
  }
  int64_t elements = d->kernel[0] * d->kernel[1];
  if (d->groups < 1 || d->offset_groups < 1 || d->channels % d->groups != 0 ||
      d->channels % d->offset_groups != 0 || d->filters % d->groups != 0 ||
      w[1] != d->channels / d->groups || d->image[0] < 1 || d->image[1] < 1 ||
      offsets[0] != 2 * d->offset_groups * elements) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "weights, offsets and groups don't belong together");
    return 0;
  }
  int64_t apart[5] = {d->offset_groups, elements, 2, d->result[0], d->result[1]};
  d->offsets = shaped(d, offset, 5, apart);
  return 1;
}

/* ---- Places ---- */

/* The numbers 0 to N - 1 times FACTOR, along axis AXIS of 5. */
static gemel_value along(const deformed *d, int64_t n, int64_t factor, int axis) {
  int64_t order[5] = {-1, -1, -1, -1, -1};
  gemel_arange_options options = {.dtype = gemel__onnx_dtype_of(d->offsets)};
  gemel_value k = gemel_arange_at(d->c->graph, dim(d, n), &options, d->c->where);
  order[axis] = 0;
  k = gemel_mul_at(k, number(d, k, (double)factor), d->c->where);
  return gemel_dimshuffle_at(k, 5, order, d->c->where);
}

/* The number of each kernel element along spatial axis S, times the dilation, along axis 2 of 5. */
static gemel_value kernel_places(const deformed *d, int s) {
  int64_t order[2] = {0, -1};
  gemel_dim shape[2] = {dim(d, d->kernel[0]), dim(d, d->kernel[1])};
  static const int64_t flat[5] = {-1, -1, 0, -1, -1};
  gemel_arange_options options = {.dtype = gemel__onnx_dtype_of(d->offsets)};
  gemel_value k = gemel_arange_at(d->c->graph, shape[s], &options, d->c->where);
  k = gemel_mul_at(k, number(d, k, (double)d->dilation[s]), d->c->where);
  k = s == 0 ? gemel_dimshuffle_at(k, 2, order, d->c->where) : k;
  k = gemel_flatten_at(gemel_broadcast_to_at(k, 2, shape, d->c->where), d->c->where);
  return gemel_dimshuffle_at(k, 5, flat, d->c->where);
}

/* Where along spatial axis S each sample lies, [N, groups, K, oH, oW]: no further outside than
 * there is nothing of the image left. */
static gemel_value places(const deformed *d, int s) {
  gemel_location where = d->c->where;
  gemel_value at = gemel_index_at(d->offsets, 3, s, where);
  at = gemel_add_at(at, along(d, d->result[s], d->stride[s], 3 + s), where);
  at = gemel_add_at(at, kernel_places(d, s), where);
  at = gemel_sub_at(at, number(d, at, (double)d->low[s]), where);
  return gemel_clip_at(at, number(d, at, -1), number(d, at, (double)d->image[s]), where);
}

/* The place before AT, as an integer; AT isn't below -1. */
static gemel_value place_before(const deformed *d, gemel_value at) {
  gemel_value up = gemel_add_at(at, number(d, at, 1), d->c->where);
  gemel_value k = gemel_cast_at(up, GEMEL_I64, d->c->where);
  return gemel_sub_at(k, number(d, k, 1), d->c->where);
}

/* ---- Samples ---- */

/* What element PLACE along an axis of SIZE counts for a sample at AT: 1 less the distance, 0
 * outside. */
static gemel_value share(const deformed *d, gemel_value at, gemel_value place, int64_t size) {
  gemel_location where = d->c->where;
  gemel_value exact = gemel_cast_at(place, gemel__onnx_dtype_of(at), where);
  gemel_value distance = gemel_abs_at(gemel_sub_at(at, exact, where), where);
  gemel_value inside =
      gemel_logical_and_at(gemel_ge_at(place, number(d, place, 0), where),
                           gemel_lt_at(place, number(d, place, (double)size), where), where);
  return gemel_where_at(inside, gemel_sub_at(number(d, at, 1), distance, where), number(d, at, 0),
                        where);
}

/* Elements of the images at rows and columns ROW and COLUMN: [N, groups, channels, samples]. */
static gemel_value elements_at(const deformed *d, gemel_value row, gemel_value column) {
  gemel_location where = d->c->where;
  int64_t within = d->channels / d->offset_groups, samples = d->kernel[0] * d->kernel[1];
  samples *= d->result[0] * d->result[1];
  int64_t flat[3] = {d->offset_groups, within, d->image[0] * d->image[1]};
  int64_t one[3] = {d->offset_groups, 1, samples};
  gemel_dim all[4] = {d->n, dim(d, d->offset_groups), dim(d, within), dim(d, samples)};
  row = gemel_clip_at(row, number(d, row, 0), number(d, row, (double)d->image[0] - 1), where);
  column = gemel_clip_at(column, number(d, row, 0), number(d, row, (double)d->image[1] - 1), where);
  gemel_value at = gemel_mul_at(row, number(d, row, (double)d->image[1]), where);
  at = shaped(d, gemel_add_at(at, column, where), 3, one);
  return gemel_take_along_axis_at(shaped(d, d->x, 3, flat),
                                  gemel_broadcast_to_at(at, 4, all, where), 3, where);
}

/* All samples, times the mask (input 4): [N, groups, channels, samples]. */
static gemel_value samples_of(const deformed *d) {
  gemel_location where = d->c->where;
  gemel_value y = places(d, 0), x = places(d, 1), sum = gemel__no_value;
  int64_t one[3] = {d->offset_groups, 1, d->kernel[0] * d->kernel[1]};
  one[2] *= d->result[0] * d->result[1];
  for (int corner = 0; corner < 4; corner++) {
    gemel_value row = place_before(d, y), column = place_before(d, x);
    row = corner / 2 ? gemel_add_at(row, number(d, row, 1), where) : row;
    column = corner % 2 ? gemel_add_at(column, number(d, column, 1), where) : column;
    gemel_value weight =
        gemel_mul_at(share(d, y, row, d->image[0]), share(d, x, column, d->image[1]), where);
    gemel_value part = gemel_mul_at(elements_at(d, row, column), shaped(d, weight, 3, one), where);
    sum = corner == 0 ? part : gemel_add_at(sum, part, where);
  }
  return gemel__onnx_given(d->c, 4)
             ? gemel_mul_at(sum, shaped(d, gemel__onnx_input(d->c, 4), 3, one), where)
             : sum;
}

/* ---- The product ---- */

gemel_value gemel__onnx_deform_conv(gemel__onnx_call *c) {
  static const int64_t groups_of_columns[1] = {1}, groups_of_weights[1] = {0}, rows[1] = {2};
  static const int64_t order[4] = {1, 0, 3, 2}, per_filter[3] = {0, -1, -1};
  deformed d;
  if (!read_deformed(&d, c)) {
    return gemel__no_value;
  }
  int64_t elements = d.channels / d.groups * d.kernel[0] * d.kernel[1];
  int64_t columns[3] = {d.groups, elements, d.result[0] * d.result[1]};
  int64_t result[3] = {d.filters, d.result[0], d.result[1]};
  gemel_dim matrix[3] = {dim(&d, d.groups), dim(&d, d.filters / d.groups), dim(&d, elements)};
  gemel_dot_options options = {.batch_x = {1, groups_of_columns},
                               .batch_y = {1, groups_of_weights},
                               .contract_x = {1, rows},
                               .contract_y = {1, rows}};
  gemel_value y =
      gemel_dot_at(shaped(&d, samples_of(&d), 3, columns),
                   gemel_reshape_at(d.weights, 3, matrix, c->where), &options, c->where);
  y = shaped(&d, gemel_permute_at(y, 4, order, c->where), 3, result);
  return gemel__onnx_given(c, 3)
             ? gemel_add_at(y,
                            gemel_dimshuffle_at(gemel__onnx_input(c, 3), 3, per_filter, c->where),
                            c->where)
             : y;
}
