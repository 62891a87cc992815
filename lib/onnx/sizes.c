/* SPDX-License-Identifier: MIT
 *
 * What models compute of shapes: Shape, then Gather, Concat, Mul and their like on small vectors of
 * integers, for a Reshape or Slice at the end. All of that is done here with dims, which are
 * integers or expressions over symbols, when the model is read. Where an operator isn't one of
 * these, or an input isn't known so, the node is applied as any other.
 */
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "onnx/import.h"

/* ---- Results ---- */

static gemel_dim *new_sizes(gemel__onnx_call *c, gemel_dtype dtype, int rank, size_t count) {
  gemel__arena *arena = &c->importer->arena;
  gemel__sizes *sizes = gemel__arena_alloc(arena, sizeof *sizes);
  gemel_dim *dims = gemel__arena_alloc(arena, (count + 1) * sizeof *dims);
  if (sizes == NULL || dims == NULL) {
    gemel__onnx_refuse(c, GEMEL_NO_MEMORY, "out of memory for sizes");
    return NULL;
  }
  *sizes = (gemel__sizes){dtype, rank, count, dims};
  c->first.sizes = sizes;
  return dims;
}

int gemel__onnx_sizes_are_known(gemel__onnx_call *c, const gemel__sizes *s) {
  for (size_t k = 0; s != NULL && k < s->count; k++) {
    if (!gemel_dim_is_constant(c->context, s->dims[k], NULL)) {
      return 0;
    }
  }
  return s != NULL;
}

gemel_tensor *gemel__onnx_sizes_tensor(gemel__onnx_call *c, const gemel__sizes *s,
                                       gemel_error *error) {
  int64_t count = (int64_t)s->count, number = 0;
  gemel_tensor *tensor = gemel_tensor_new(s->dtype, s->rank, &count, error);
  for (size_t k = 0; tensor != NULL && k < s->count; k++) {
    gemel_dim_is_constant(c->context, s->dims[k], &number);
    if (s->dtype == GEMEL_I64) {
      ((int64_t *)gemel_tensor_data(tensor))[k] = number;
    } else {
      char *at = (char *)gemel_tensor_data(tensor) + k * gemel_dtype_size(s->dtype);
      gemel__dtype_store(s->dtype, (double)number, at);
    }
  }
  return tensor;
}

/* All constants: one constant of them. */
static gemel_value constant_sizes(gemel__onnx_call *c, const gemel__sizes *s) {
  gemel_error error;
  gemel_tensor *tensor = gemel__onnx_sizes_tensor(c, s, &error);
  if (tensor == NULL) {
    return gemel__graph_take_error(c->graph, &error);
  }
  gemel_value value = gemel_constant_at(c->graph, tensor, c->where);
  gemel_tensor_unref(tensor);
  return value;
}

gemel_value gemel__onnx_sizes_value(gemel__onnx_call *c, const gemel__sizes *s) {
  if (gemel__onnx_sizes_are_known(c, s)) {
    return constant_sizes(c, s);
  }
  gemel_value *parts = gemel__onnx_room(c, s->count * sizeof *parts);
  for (size_t k = 0; parts != NULL && k < s->count; k++) {
    gemel_value one = gemel_size_at(c->graph, s->dims[k], c->where);
    parts[k] = s->rank == 0 ? one : gemel_expand_dims_at(one, 0, c->where);
  }
  if (parts == NULL) {
    return (gemel_value){NULL, 0, 0};
  }
  gemel_value all = s->rank == 0 ? parts[0] : gemel_join_at(s->count, parts, NULL, c->where);
  return s->dtype == GEMEL_I64 ? all : gemel_cast_at(all, s->dtype, c->where);
}

/* ---- Arithmetic ---- */

static int is_nonnegative(gemel_context *context, gemel_dim dim) {
  return gemel_dim_equal(gemel_dim_max(context, dim, gemel_dim_constant(context, 0)), dim);
}

/* The quotient rounded towards 0, as ONNX divides integers; no dim where it isn't known whether
 * that is downwards. */
static gemel_dim quotient(gemel_context *context, gemel_dim a, gemel_dim b) {
  int64_t x, y;
  if (gemel_dim_is_constant(context, a, &x) && gemel_dim_is_constant(context, b, &y)) {
    return y == 0 || (y == -1 && x == INT64_MIN) ? GEMEL_DIM_NONE
                                                 : gemel_dim_constant(context, x / y);
  }
  return is_nonnegative(context, a) && is_nonnegative(context, b)
             ? gemel_dim_floordiv(context, a, b)
             : GEMEL_DIM_NONE;
}

static const struct {
  const char *name;
  gemel_dim (*combine)(gemel_context *context, gemel_dim a, gemel_dim b);
} arithmetic[] = {{"Add", gemel_dim_add}, {"Sub", gemel_dim_sub}, {"Mul", gemel_dim_mul},
                  {"Div", quotient},      {"Min", gemel_dim_min}, {"Max", gemel_dim_max}};

/* The row's name is one of those. */
static gemel_dim combine(gemel_context *context, const char *name, gemel_dim a, gemel_dim b) {
  size_t k = 0;
  while (strcmp(arithmetic[k].name, name) != 0) {
    k++;
  }
  return arithmetic[k].combine(context, a, b);
}

static int by_arithmetic(gemel__onnx_call *c) {
  const gemel__sizes *a = gemel__onnx_sizes(c, 0), *b = gemel__onnx_sizes(c, 1);
  if (a == NULL || b == NULL || c->n_inputs != 2 || a->dtype != b->dtype ||
      (a->count != b->count && a->count != 1 && b->count != 1)) {
    return 0;
  }
  size_t count = a->count == 1 ? b->count : a->count;
  gemel_dim *dims = new_sizes(c, a->dtype, a->rank > b->rank ? a->rank : b->rank, count);
  for (size_t k = 0; dims != NULL && k < count; k++) {
    dims[k] = combine(c->context, c->row->name, a->dims[a->count == 1 ? 0 : k],
                      b->dims[b->count == 1 ? 0 : k]);
    if (gemel_dim_is_none(dims[k])) {
      c->first.sizes = NULL;
      return 0;
    }
  }
  return dims != NULL ? 1 : -1;
}

static int by_negation(gemel__onnx_call *c) {
  const gemel__sizes *x = gemel__onnx_sizes(c, 0);
  gemel_dim zero = gemel_dim_constant(c->context, 0);
  gemel_dim *dims = x != NULL ? new_sizes(c, x->dtype, x->rank, x->count) : NULL;
  for (size_t k = 0; dims != NULL && k < x->count; k++) {
    dims[k] = gemel_dim_sub(c->context, zero, x->dims[k]);
  }
  return x == NULL ? 0 : dims != NULL ? 1 : -1;
}

/* ---- Comparisons ---- */

/* Whether A and B are the same size: 1, 0, or -1 if it depends on symbols. */
static int is_same(gemel_context *context, gemel_dim a, gemel_dim b) {
  int64_t x, y, difference;
  int known_x = gemel_dim_is_constant(context, a, &x),
      known_y = gemel_dim_is_constant(context, b, &y);
  if (gemel_dim_equal(a, b)) {
    return 1;
  }
  return (known_x && known_y) || (known_y && y < 0 && is_nonnegative(context, a)) ||
                 (known_x && x < 0 && is_nonnegative(context, b)) ||
                 gemel_dim_is_constant(context, gemel_dim_sub(context, a, b), &difference)
             ? 0
             : -1;
}

/* Truths of two lists of sizes, where they are known for all symbols. */
static int by_equality(gemel__onnx_call *c) {
  const gemel__sizes *a = gemel__onnx_sizes(c, 0), *b = gemel__onnx_sizes(c, 1);
  gemel_error error;
  if (a == NULL || b == NULL || (a->count != b->count && a->count != 1 && b->count != 1)) {
    return 0;
  }
  int64_t count = (int64_t)(a->count == 1 ? b->count : a->count);
  gemel_tensor *t =
      gemel_tensor_new(GEMEL_BOOL, a->rank > b->rank ? a->rank : b->rank, &count, &error);
  if (t == NULL) {
    gemel__graph_take_error(c->graph, &error);
    return -1;
  }
  for (int64_t k = 0; k < count; k++) {
    int same = is_same(c->context, a->dims[a->count == 1 ? 0 : k], b->dims[b->count == 1 ? 0 : k]);
    if (same < 0) {
      gemel_tensor_unref(t);
      return 0;
    }
    ((uint8_t *)gemel_tensor_data(t))[k] = (uint8_t)same;
  }
  return gemel__onnx_keep(c, t);
}

/* Sizes chosen by truths that are known. */
static int by_choice(gemel__onnx_call *c) {
  const gemel__sizes *a = gemel__onnx_sizes(c, 1), *b = gemel__onnx_sizes(c, 2);
  gemel_tensor *truths = a != NULL && b != NULL ? gemel__onnx_known(c, 0) : NULL;
  size_t count = truths != NULL ? (size_t)gemel_tensor_elements(truths) : 0;
  gemel_dim *dims = NULL;
  int fits = truths != NULL && gemel_tensor_dtype(truths) == GEMEL_BOOL && a->dtype == b->dtype &&
             gemel_tensor_rank(truths) <= 1 && (a->count == count || a->count == 1) &&
             (b->count == count || b->count == 1);
  if (fits) {
    dims = new_sizes(c, a->dtype, a->rank | b->rank | gemel_tensor_rank(truths), count);
  }
  for (size_t k = 0; dims != NULL && k < count; k++) {
    const gemel__sizes *from = ((const uint8_t *)gemel_tensor_data(truths))[k] ? a : b;
    dims[k] = from->dims[from->count == 1 ? 0 : k];
  }
  gemel_tensor_unref(truths);
  return !fits ? 0 : dims != NULL ? 1 : -1;
}

/* ---- Shapes and their elements ----
 *
 * What isn't plainly right is left to the operator itself, which refuses it. */

/* 1 if the attribute axis, or WITHOUT it, is the axis of a vector. */
static int is_first_axis(gemel__onnx_call *c, int64_t without) {
  int64_t axis = gemel__onnx_int(c, "axis", without);
  return axis == 0 || axis == -1;
}

static int by_shape(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int rank = gemel__onnx_rank(x);
  if (gemel_is_null(x)) {
    return -1;
  }
  int64_t start = gemel__onnx_int(c, "start", 0), end = gemel__onnx_int(c, "end", rank);
  start = start < 0 ? start + rank : start;
  end = end < 0 ? end + rank : end;
  start = start < 0 ? 0 : start > rank ? rank : start;
  end = end > rank ? rank : end < start ? start : end;
  gemel_dim *dims = new_sizes(c, GEMEL_I64, 1, (size_t)(end - start));
  if (dims == NULL) {
    return -1;
  }
  memcpy(dims, gemel__onnx_dims(x) + start, (size_t)(end - start) * sizeof *dims);
  return 1;
}

static int by_size(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel_dim product = gemel_dim_constant(c->context, 1);
  gemel_dim *dims = gemel_is_null(x) ? NULL : new_sizes(c, GEMEL_I64, 0, 1);
  if (dims == NULL) {
    return -1;
  }
  for (int k = 0; k < gemel__onnx_rank(x); k++) {
    product = gemel_dim_mul(c->context, product, gemel__onnx_dims(x)[k]);
  }
  dims[0] = product;
  return gemel_dim_is_none(product) ? -1 : 1;
}

static int by_gather(gemel__onnx_call *c) {
  const gemel__sizes *x = gemel__onnx_cast_sizes(c, 0), *at = gemel__onnx_sizes(c, 1);
  if (x == NULL || at == NULL || x->rank != 1 || !is_first_axis(c, 0)) {
    return 0;
  }
  gemel_dim *dims = new_sizes(c, x->dtype, at->rank, at->count);
  for (size_t k = 0; dims != NULL && k < at->count; k++) {
    int64_t index, count = (int64_t)x->count;
    if (!gemel_dim_is_constant(c->context, at->dims[k], &index) || index < -count ||
        index >= count) {
      c->first.sizes = NULL;
      return 0;
    }
    dims[k] = x->dims[index < 0 ? index + count : index];
  }
  return dims != NULL ? 1 : -1;
}

static int by_concat(gemel__onnx_call *c) {
  size_t count = 0;
  for (size_t k = 0; k < c->n_inputs; k++) {
    const gemel__sizes *x = gemel__onnx_cast_sizes(c, k);
    if (x == NULL || x->rank != 1 || x->dtype != gemel__onnx_cast_sizes(c, 0)->dtype) {
      return 0;
    }
    count += x->count;
  }
  if (count > GEMEL__ONNX_MOST_SIZES || !is_first_axis(c, 1)) {
    return 0;
  }
  gemel_dim *dims =
      c->n_inputs > 0 ? new_sizes(c, gemel__onnx_cast_sizes(c, 0)->dtype, 1, count) : NULL;
  for (size_t k = 0, at = 0; dims != NULL && k < c->n_inputs; k++) {
    const gemel__sizes *x = gemel__onnx_cast_sizes(c, k);
    memcpy(dims + at, x->dims, x->count * sizeof *dims);
    at += x->count;
  }
  return dims != NULL ? 1 : -1;
}

/* The same numbers as a vector (RANK 1), a scalar (0), or of the rank that they have (-1). */
static int by_copy(gemel__onnx_call *c, int rank, gemel_dtype dtype) {
  const gemel__sizes *x = gemel__onnx_cast_sizes(c, 0);
  rank = rank < 0 ? x->rank : rank;
  if (rank == 0 && x->count != 1) {
    return 0;
  }
  gemel_dim *dims = new_sizes(c, dtype, rank, x->count);
  if (dims == NULL) {
    return -1;
  }
  memcpy(dims, x->dims, x->count * sizeof *dims);
  return 1;
}

static int by_reshape(gemel__onnx_call *c) {
  const gemel__sizes *x = gemel__onnx_cast_sizes(c, 0), *shape = gemel__onnx_sizes(c, 1);
  int64_t size;
  if (x == NULL || shape == NULL || shape->rank != 1 || shape->count > 1) {
    return 0;
  }
  if (shape->count == 1 && (!gemel_dim_is_constant(c->context, shape->dims[0], &size) ||
                            (size != -1 && size != (int64_t)x->count))) {
    return 0;
  }
  return by_copy(c, (int)shape->count, x->dtype);
}

/* 1 if the axes of C are the only one of a vector, or may be left out and are; 0 if they are
 * others, -1 on failure. */
static int is_axis_of_vector(gemel__onnx_call *c, int optional) {
  gemel__int_list axes = {0, NULL};
  int found = gemel__onnx_ints(c, "axes", &axes);
  if (found == 0 && gemel__onnx_given(c, 1)) {
    found = gemel__onnx_integers(c, 1, &axes) ? 1 : -1;
  }
  return found < 0    ? -1
         : found == 0 ? optional
                      : axes.count == 1 && (axes.values[0] == 0 || axes.values[0] == -1);
}

static int by_rank(gemel__onnx_call *c) {
  const gemel__sizes *x = gemel__onnx_cast_sizes(c, 0);
  int unsqueeze = c->row->name[0] == 'U';
  int good = x == NULL || x->rank != !unsqueeze ? 0 : is_axis_of_vector(c, !unsqueeze);
  return good <= 0 ? good : by_copy(c, unsqueeze, x->dtype);
}

/* 1 if all of X are the same numbers in DTYPE. Those that depend on symbols are taken for small
 * enough. */
static int fit_in(gemel_context *context, const gemel__sizes *x, gemel_dtype dtype) {
  int64_t number, most = dtype == GEMEL_I64   ? INT64_MAX
                         : dtype == GEMEL_I32 ? INT32_MAX
                         : dtype == GEMEL_F64 ? (int64_t)1 << 53
                         : dtype == GEMEL_F32 ? (int64_t)1 << 24
                                              : -1;
  for (size_t k = 0; k < x->count; k++) {
    if (gemel_dim_is_constant(context, x->dims[k], &number) && (number > most || number < -most)) {
      return 0;
    }
  }
  return most > 0;
}

static int by_cast(gemel__onnx_call *c) {
  const gemel__sizes *x = gemel__onnx_cast_sizes(c, 0);
  gemel_dtype to;
  gemel_error error;
  return x == NULL || gemel__onnx_dtype(gemel__onnx_int(c, "to", 0), &to, &error) != GEMEL_OK ||
                 !fit_in(c->context, x, to)
             ? 0
             : by_copy(c, -1, to);
}

static int by_identity(gemel__onnx_call *c) {
  const gemel__sizes *x = gemel__onnx_cast_sizes(c, 0);
  return x == NULL ? 0 : by_copy(c, -1, x->dtype);
}

/* ---- Slices ---- */

/* The integer that is the attribute NAME or input AT: 1, or 0 if it is unknown, or isn't there and
 * not OPTIONAL. */
static int slice_number(gemel__onnx_call *c, const char *name, size_t at, int optional,
                        int64_t *number) {
  gemel__int_list list;
  const gemel__sizes *sizes = gemel__onnx_sizes(c, at);
  if (c->opset < 10) {
    int found = gemel__onnx_ints(c, name, &list) == 1;
    *number = found && list.count == 1 ? list.values[0] : *number;
    return found ? list.count == 1 : optional;
  }
  if (!gemel__onnx_given(c, at)) {
    return optional;
  }
  return sizes != NULL && sizes->count == 1 &&
         gemel_dim_is_constant(c->context, sizes->dims[0], number);
}

static int64_t clamp(int64_t at, int64_t count) {
  at = at < 0 ? at + count : at;
  return at < 0 ? 0 : at > count ? count : at;
}

static int by_slice(gemel__onnx_call *c) {
  const gemel__sizes *x = gemel__onnx_cast_sizes(c, 0);
  int64_t start = 0, end = INT64_MAX, axis = 0, step = 1;
  if (x == NULL || x->rank != 1 || !slice_number(c, "starts", 1, 0, &start) ||
      !slice_number(c, "ends", 2, 0, &end) || !slice_number(c, "axes", 3, 1, &axis) ||
      !slice_number(c, "", 4, 1, &step) || step != 1 || (axis != 0 && axis != -1)) {
    return 0;
  }
  start = clamp(start, (int64_t)x->count);
  end = clamp(end, (int64_t)x->count);
  size_t count = end > start ? (size_t)(end - start) : 0;
  gemel_dim *dims = new_sizes(c, x->dtype, 1, count);
  if (dims == NULL) {
    return -1;
  }
  memcpy(dims, x->dims + start, count * sizeof *dims);
  return 1;
}

/* ---- Products of a vector ---- */

static int by_product(gemel__onnx_call *c) {
  const gemel__sizes *x = gemel__onnx_sizes(c, 0);
  gemel_dim product = gemel_dim_constant(c->context, 1);
  if (x == NULL || x->rank != 1 || gemel__onnx_int(c, "noop_with_empty_axes", 0) ||
      is_axis_of_vector(c, 1) <= 0) {
    return 0;
  }
  for (size_t k = 0; k < x->count; k++) {
    product = gemel_dim_mul(c->context, product, x->dims[k]);
  }
  if (gemel_dim_is_none(product)) {
    return 0;
  }
  gemel_dim *dims = new_sizes(c, x->dtype, gemel__onnx_int(c, "keepdims", 1) != 0, 1);
  if (dims == NULL) {
    return -1;
  }
  dims[0] = product;
  return 1;
}

/* The one i64 of the attribute "value": 1, or 0 if it is another. */
static int filled_with(gemel__onnx_call *c, int64_t *number) {
  gemel_error error;
  gemel__wire_span proto = gemel__proto_span(gemel__onnx_attribute(c, "value"), GEMEL__ATTRIBUTE_T);
  gemel_tensor *t =
      proto.bytes != NULL ? gemel__onnx_tensor(c->importer->model, proto, &error) : NULL;
  int is_one = t != NULL && gemel_tensor_dtype(t) == GEMEL_I64 && gemel_tensor_elements(t) == 1;
  if (is_one) {
    *number = *(const int64_t *)gemel_tensor_data(t);
  }
  gemel_tensor_unref(t);
  return is_one;
}

/* A short vector of one integer repeated. */
static int by_filling(gemel__onnx_call *c) {
  enum { LONGEST = 64 };
  const gemel__sizes *shape = gemel__onnx_sizes(c, 0);
  int64_t count, number;
  if (shape == NULL || shape->count != 1 ||
      !gemel_dim_is_constant(c->context, shape->dims[0], &count) || count < 0 || count > LONGEST ||
      !filled_with(c, &number)) {
    return 0;
  }
  gemel_dim *dims = new_sizes(c, GEMEL_I64, 1, (size_t)count);
  for (int64_t k = 0; dims != NULL && k < count; k++) {
    dims[k] = gemel_dim_constant(c->context, number);
  }
  return dims != NULL ? 1 : -1;
}

/* ---- The operators ---- */

static const struct {
  const char *name;
  int (*compute)(gemel__onnx_call *c);
} table[] = {{"Shape", by_shape},    {"Size", by_size},          {"Gather", by_gather},
             {"Concat", by_concat},  {"Reshape", by_reshape},    {"Unsqueeze", by_rank},
             {"Squeeze", by_rank},   {"Cast", by_cast},          {"Identity", by_identity},
             {"Slice", by_slice},    {"ReduceProd", by_product}, {"Add", by_arithmetic},
             {"Sub", by_arithmetic}, {"Mul", by_arithmetic},     {"Div", by_arithmetic},
             {"Min", by_arithmetic}, {"Max", by_arithmetic},     {"Neg", by_negation},
             {"Equal", by_equality}, {"Where", by_choice},       {"ConstantOfShape", by_filling}};

int gemel__onnx_by_sizes(gemel__onnx_call *c) {
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    if (c->row->domain[0] == '\0' && strcmp(c->row->name, table[k].name) == 0) {
      return table[k].compute(c);
    }
  }
  return 0;
}
