/* SPDX-License-Identifier: MIT
 *
 * Opcodes of HLO that move elements. A layout says nothing of a value, but `bitcast` is the
 * elements in the order in which they lie, in another shape.
 */
#include "hlo/call.h"

#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "core/value.h"
#include "hlo/texts.h"

/* ---- Shapes ---- */

/* Axis dimensions[k] of the result is axis k of the operand. */
int gemel__hlo_broadcast(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__hlo_shape *shape = &c->instr->shape;
  gemel_value x = gemel__hlo_operand(c, 0);
  int64_t axes[GEMEL_MAX_RANK], order[GEMEL_MAX_RANK], sizes[GEMEL_MAX_RANK];
  int n, rank = gemel_is_null(x) ? 0 : gemel__hlo_sizes(c, x, sizes);
  if (gemel_is_null(x) || !gemel__hlo_axes(c, "dimensions", shape->rank, &n, axes)) {
    return 0;
  }
  if (n != rank) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its dimensions aren't its operand's");
  }
  for (int k = 0; k < shape->rank; k++) {
    order[k] = -1;
  }
  for (int k = 0; k < n; k++) {
    order[axes[k]] = k;
  }
  x = rank == 0 ? x : gemel__hlo_order(c, x, shape->rank, order);
  return gemel__hlo_give(result, gemel__hlo_spread(c, x, shape->rank, shape->dims));
}

/* ORDER = the axes as they lie in memory, the one that lies farthest first. */
static void order_in_memory(const gemel__hlo_shape *shape, int64_t *order) {
  for (int k = 0; k < shape->rank; k++) {
    order[k] = shape->order != NULL ? shape->order[shape->rank - 1 - k] : k;
  }
}

int gemel__hlo_bitcast(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__hlo_shape *to = &c->instr->shape;
  int64_t order[GEMEL_MAX_RANK], sizes[GEMEL_MAX_RANK], back[GEMEL_MAX_RANK];
  gemel_value x = gemel__hlo_operand(c, 0);
  if (gemel_is_null(x)) {
    return 0;
  }
  const gemel__hlo_shape *from = gemel__hlo_shape_of(c, 0);
  if (from->dtype != to->dtype) {
    return gemel__hlo_by_text(c, result);
  }
  if (c->is_mapped) {
    return gemel__hlo_give(result, x);
  }
  if (gemel__hlo_is_tiled(from) || gemel__hlo_is_tiled(to)) {
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a bitcast of tiles");
  }
  order_in_memory(from, order);
  x = gemel__hlo_order(c, x, from->rank, order);
  order_in_memory(to, order);
  for (int k = 0; k < to->rank; k++) {
    sizes[k] = to->dims[order[k]];
    back[order[k]] = k;
  }
  x = gemel__hlo_reshape(c, x, to->rank, sizes);
  return !gemel_is_null(x) && gemel__hlo_give(result, gemel__hlo_order(c, x, to->rank, back));
}

int gemel__hlo_concatenate(gemel__hlo_call *c, gemel__hlo_value *result) {
  size_t n = c->instr->n_operands;
  gemel_value *parts = gemel__hlo_room(c, n * sizeof *parts);
  int64_t axis;
  if (parts == NULL || !gemel__hlo_int(c, "dimensions", 0, &axis)) {
    return 0;
  }
  if (n == 0) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it has no operand");
  }
  for (size_t k = 0; k < n; k++) {
    parts[k] = gemel__hlo_operand(c, k);
  }
  return gemel__hlo_give(
      result,
      n == 1 ? parts[0] : gemel_join_at(n, parts, &(gemel_join_options){.axis = axis}, c->where));
}

/* 0, 1, ... along an axis, and the same along all others. */
int gemel__hlo_iota_op(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__hlo_shape *shape = &c->instr->shape;
  int64_t axis;
  if (shape->is_tuple || !gemel__hlo_int(c, "iota_dimension", -1, &axis)) {
    return 0;
  }
  if (axis < 0 || axis >= shape->rank) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its iota_dimension is no axis");
  }
  gemel_value iota =
      gemel__hlo_iota(c, (gemel_dtype)shape->dtype, shape->rank, (int)axis, shape->dims[axis]);
  return gemel__hlo_give(result, gemel__hlo_spread(c, iota, shape->rank, shape->dims));
}

/* ---- Parts ---- */

/* A number of a text; behind it, *AT is. */
static int64_t take(const char **at, const char *end) {
  int64_t value = 0;
  int negative = *at < end && **at == '-';
  *at += negative;
  while (*at < end && **at >= '0' && **at <= '9') {
    value = value > INT64_MAX / 20 ? value : value * 10 + (**at - '0');
    ++*at;
  }
  return negative ? -value : value;
}

/* The numbers of attribute NAME, groups of up to three with MARK between them: {[0:4:2], [1:3]}
 * or 0_1_1x2_0. GROUPS[k][i] is number i of group k, and stays as it is where there is none. */
static int take_groups(gemel__hlo_call *c, const char *name, char mark, int rank,
                       int64_t (*groups)[3]) {
  gemel__hlo_span span = gemel__hlo_attr_of(c->instr, name);
  const char *at = span.text, *end = span.text + span.length;
  int k = 0, i = 0;
  while (at < end) {
    if ((*at >= '0' && *at <= '9') || *at == '-') {
      if (k >= rank || i >= 3) {
        return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "%s has more numbers than axes", name);
      }
      groups[k][i++] = take(&at, end);
      k += at == end;
    } else {
      int ends = i > 0 && *at != mark;
      k += ends;
      i = ends ? 0 : i;
      at++;
    }
  }
  return k == rank || gemel__hlo_refuse(c, GEMEL_BAD_FILE, "%s isn't said of each axis", name);
}

int gemel__hlo_slice(gemel__hlo_call *c, gemel__hlo_value *result) {
  int64_t groups[GEMEL_MAX_RANK][3] = {{0}}, sizes[GEMEL_MAX_RANK], start[GEMEL_MAX_RANK],
          step[GEMEL_MAX_RANK];
  gemel_value x = gemel__hlo_operand(c, 0);
  int rank = gemel_is_null(x) ? 0 : gemel__hlo_sizes(c, x, sizes);
  for (int k = 0; k < rank; k++) {
    groups[k][2] = 1;
  }
  if (gemel_is_null(x) || !take_groups(c, "slice", ':', rank, groups)) {
    return 0;
  }
  for (int k = 0; k < rank; k++) {
    start[k] = groups[k][0];
    step[k] = groups[k][2];
    if (step[k] < 1 || start[k] < 0 || groups[k][1] < start[k] || groups[k][1] > sizes[k]) {
      return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it isn't within its operand");
    }
    sizes[k] = (groups[k][1] - start[k] + step[k] - 1) / step[k];
  }
  return gemel__hlo_give(result, gemel__hlo_part(c, x, start, sizes, step));
}

int gemel__hlo_pad_op(gemel__hlo_call *c, gemel__hlo_value *result) {
  int64_t groups[GEMEL_MAX_RANK][3] = {{0}}, sizes[GEMEL_MAX_RANK], parts[3][GEMEL_MAX_RANK];
  gemel_value x = gemel__hlo_operand(c, 0), value = gemel__hlo_operand(c, 1);
  if (gemel_is_null(x) || gemel_is_null(value)) {
    return 0;
  }
  int rank = gemel__hlo_sizes(c, x, sizes);
  if (!take_groups(c, "padding", '_', rank, groups)) {
    return 0;
  }
  for (int k = 0; k < rank; k++) {
    for (int i = 0; i < 3; i++) {
      parts[i][k] = groups[k][i];
    }
  }
  return gemel__hlo_give(result, gemel__hlo_pad(c, x, value, parts[0], parts[1], parts[2]));
}

/* ---- Parts that begin where a value says ---- */

/* Operand K as a start of SIZE elements of an axis of N: it is moved until all lie within. */
static gemel_dim take_start(gemel__hlo_call *c, size_t k, int64_t n, int64_t size) {
  gemel_context *context = c->import->context;
  gemel_value at = gemel__hlo_operand(c, k);
  int64_t zero = 0;
  gemel_dim first = GEMEL_DIM_NONE;
  if (gemel_is_null(at) || n == size) {
    return !gemel_is_null(at) && gemel__hlo_dims(c, 1, &zero, &first) ? first : GEMEL_DIM_NONE;
  }
  /* Clipped in its own dtype, which may be unsigned, and narrower than the axis is long. */
  gemel_dtype dtype = gemel_type_dtype(context, gemel_value_type(at));
  gemel_value low = gemel__hlo_number(c, dtype, 0), high;
  const gemel__format *format = gemel__dtype_format(dtype);
  int fits =
      format->highest >= 52 || (double)(n - size) < (double)((int64_t)1 << (format->highest + 1));
  if (fits) {
    high = gemel__hlo_number(c, dtype, (double)(n - size));
    at = gemel_minimum_at(at, high, c->where);
  }
  at = gemel_maximum_at(at, low, c->where);
  if (dtype != GEMEL_I64) {
    at = gemel_cast_at(at, GEMEL_I64, c->where);
  }
  return gemel_is_null(at) ? GEMEL_DIM_NONE : gemel_dim_of(at);
}

/* The starts of SIZES elements of OPERAND, from operand FIRST on. */
static int take_starts(gemel__hlo_call *c, gemel_value x, const int64_t *sizes, size_t first,
                       gemel_dim *starts) {
  int64_t own[GEMEL_MAX_RANK];
  int rank = gemel__hlo_sizes(c, x, own);
  for (int k = 0; k < rank; k++) {
    if (sizes[k] > own[k]) {
      return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it is larger than its operand");
    }
    starts[k] = take_start(c, first + (size_t)k, own[k], sizes[k]);
    if (gemel_dim_is_none(starts[k])) {
      return 0;
    }
  }
  return 1;
}

int gemel__hlo_dynamic_slice(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__hlo_shape *shape = &c->instr->shape;
  gemel_dim starts[GEMEL_MAX_RANK], dims[GEMEL_MAX_RANK];
  gemel_value x = gemel__hlo_operand(c, 0);
  if (gemel_is_null(x)) {
    return 0;
  }
  if (gemel__hlo_shape_of(c, 0)->rank != shape->rank) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its operand has another rank");
  }
  if (!take_starts(c, x, shape->dims, 1, starts) ||
      !gemel__hlo_dims(c, shape->rank, shape->dims, dims)) {
    return 0;
  }
  size_t rank = (size_t)shape->rank;
  return gemel__hlo_give(result, gemel_subtensor_at(x, rank, starts, rank, dims, NULL, c->where));
}

int gemel__hlo_dynamic_update_slice(gemel__hlo_call *c, gemel__hlo_value *result) {
  int64_t sizes[GEMEL_MAX_RANK];
  gemel_dim starts[GEMEL_MAX_RANK];
  gemel_value x = gemel__hlo_operand(c, 0), y = gemel__hlo_operand(c, 1);
  if (gemel_is_null(x) || gemel_is_null(y)) {
    return 0;
  }
  int rank = gemel__hlo_sizes(c, y, sizes);
  if (gemel__hlo_shape_of(c, 0)->rank != rank) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its operands have two ranks");
  }
  if (!take_starts(c, x, sizes, 2, starts)) {
    return 0;
  }
  int is_whole = gemel_type_equal(gemel_value_type(x), gemel_value_type(y));
  return gemel__hlo_give(
      result, is_whole ? y : gemel_set_subtensor_at(x, y, (size_t)rank, starts, NULL, c->where));
}

/* ---- Precision ---- */

/* X rounded to the numbers of DTYPE. What its exponent is too small for becomes 0: XLA keeps no
 * subnormal numbers where it cuts exponents. */
static gemel_value narrowed(gemel__hlo_call *c, gemel_value x, gemel_dtype dtype) {
  gemel_dtype own = (gemel_dtype)c->instr->shape.dtype;
  const gemel__format *to = gemel__dtype_format(dtype);
  gemel_value y = gemel_cast_at(gemel_cast_at(x, dtype, c->where), own, c->where);
  if (to->lowest <= gemel__dtype_format(own)->lowest) {
    return y;
  }
  /* The least number that is rounded to a normal one: half a digit below. */
  double least = ldexp(1 - ldexp(1, -to->digits - 1), to->lowest);
  gemel_value small =
      gemel_lt_at(gemel_abs_at(x, c->where), gemel__hlo_number(c, own, least), c->where);
  gemel_value zero = gemel_mul_at(x, gemel__hlo_number(c, own, 0), c->where);
  return gemel_where_at(small, zero, y, c->where);
}

/* Rounded to a dtype that has such bits. */
int gemel__hlo_reduce_precision(gemel__hlo_call *c, gemel__hlo_value *result) {
  static const struct {
    int64_t exponent, mantissa;
    gemel_dtype dtype;
  } formats[] = {{8, 7, GEMEL_BF16}, {5, 10, GEMEL_F16}, {8, 23, GEMEL_F32}, {11, 52, GEMEL_F64}};
  int64_t exponent, mantissa;
  gemel_value x = gemel__hlo_operand(c, 0);
  if (gemel_is_null(x) || !gemel__hlo_int(c, "exponent_bits", 0, &exponent) ||
      !gemel__hlo_int(c, "mantissa_bits", 0, &mantissa)) {
    return 0;
  }
  for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
    if (formats[k].exponent == exponent && formats[k].mantissa == mantissa) {
      return gemel__hlo_give(result, narrowed(c, x, formats[k].dtype));
    }
  }
  return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "%lld bits of exponent and %lld of mantissa",
                           (long long)exponent, (long long)mantissa);
}
