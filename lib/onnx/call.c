/* SPDX-License-Identifier: MIT
 *
 * What the functions of operators ask of a node: its inputs, as values or as integers that are
 * known, and its attributes.
 */
#include "onnx/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "core/value.h"
#include "onnx/import.h"

gemel_value gemel__onnx_refuse(gemel__onnx_call *c, gemel_status status, const char *format, ...) {
  gemel_error error;
  va_list args;
  va_start(args, format);
  gemel__fail_va(&error, status, format, args);
  va_end(args);
  return gemel__graph_take_error(c->graph, &error);
}

void *gemel__onnx_room(gemel__onnx_call *c, size_t bytes) {
  void *room = gemel__arena_alloc(c->arena, bytes);
  if (room == NULL) {
    gemel__onnx_refuse(c, GEMEL_NO_MEMORY, "out of memory for a node");
  }
  return room;
}

/* ---- Inputs ---- */

int gemel__onnx_given(const gemel__onnx_call *c, size_t k) {
  return k < c->n_inputs && c->inputs[k] != NULL;
}

/* 1 if V is a tensor that is known before the graph runs. */
static int is_known(const gemel__onnx_value *v) {
  return v->bound != NULL || v->tensor.bytes != NULL;
}

/* The tensor that V is known to be, to be released. */
static gemel_tensor *tensor_of(gemel__onnx_call *c, const gemel__onnx_value *v,
                               gemel_error *error) {
  return v->bound != NULL ? gemel_tensor_ref(v->bound)
                          : gemel__onnx_tensor(c->importer->model, v->tensor, error);
}

/* 1 if T, of several elements in row-major order, has the same bits in each. */
static int is_uniform(const gemel_tensor *t) {
  size_t width = gemel_dtype_size(gemel_tensor_dtype(t));
  size_t bytes = (size_t)gemel_tensor_elements(t) * width;
  const char *data = gemel_tensor_data(t);
  return bytes > width && gemel__is_row_major(width, t->rank, t->shape, t->strides) &&
         memcmp(data, data + width, bytes - width) == 0;
}

gemel_value gemel__onnx_first_element(gemel__onnx_call *c, const gemel_tensor *t) {
  gemel_error error;
  gemel_tensor *one = gemel_tensor_new(t->dtype, 0, NULL, &error);
  if (one == NULL) {
    return gemel__graph_take_error(c->graph, &error);
  }
  memcpy(one->data, t->data, gemel_dtype_size(t->dtype));
  gemel_value value = gemel_constant_at(c->graph, one, c->where);
  gemel_tensor_unref(one);
  return value;
}

/* One number in the shape of T, which takes no memory in the graph. */
static gemel_value uniform(gemel__onnx_call *c, const gemel_tensor *t) {
  gemel_dim dims[GEMEL_MAX_RANK];
  for (int k = 0; k < t->rank; k++) {
    dims[k] = gemel_dim_constant(c->context, t->shape[k]);
  }
  return gemel_broadcast_to_at(gemel__onnx_first_element(c, t), (size_t)t->rank, dims, c->where);
}

static gemel_value constant_of(gemel__onnx_call *c, const gemel__onnx_value *v) {
  gemel_error error;
  gemel_tensor *tensor = tensor_of(c, v, &error);
  if (tensor == NULL) {
    return gemel__graph_take_error(c->graph, &error);
  }
  gemel_value value =
      is_uniform(tensor) ? uniform(c, tensor) : gemel_constant_at(c->graph, tensor, c->where);
  gemel_tensor_unref(tensor);
  return value;
}

/* VALUE, of a graph around that of C, as a constant of the loops between them. */
static gemel_value captured(gemel__onnx_call *c, gemel_value value) {
  while (!gemel_is_null(value) && value.graph != c->graph) {
    const gemel__onnx_loop *loop = c->importer->loop;
    while (loop != NULL && loop->around != value.graph) {
      loop = loop->outer;
    }
    if (loop == NULL) {
      return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a value of another graph");
    }
    value = gemel_loop_constant_at(loop->loop, value, c->where);
    if (gemel_is_null(value)) {
      gemel_error error = *gemel_graph_error(loop->around);
      return gemel__graph_take_error(c->graph, &error);
    }
  }
  return value;
}

/* What is made of constants in a loop's body isn't kept, since the body goes with the loop. */
gemel_value gemel__onnx_value_in(gemel__onnx_call *c, gemel__onnx_value *v) {
  if (!gemel_is_null(v->value)) {
    return captured(c, v->value);
  }
  gemel_value made =
      v->sizes != NULL && !is_known(v) ? gemel__onnx_sizes_value(c, v->sizes) : constant_of(c, v);
  v->value = c->importer->loop == NULL ? made : v->value;
  return made;
}

gemel_value gemel__onnx_input(gemel__onnx_call *c, size_t k) {
  if (!gemel__onnx_given(c, k)) {
    return gemel__onnx_refuse(c, GEMEL_BAD_FILE, "input %zu is left out", k);
  }
  return gemel__onnx_value_in(c, c->inputs[k]);
}

gemel_tensor *gemel__onnx_known(gemel__onnx_call *c, size_t k) {
  gemel_error error;
  const gemel__onnx_value *v = gemel__onnx_given(c, k) ? c->inputs[k] : NULL;
  int is_sizes = v != NULL && !is_known(v) && gemel__onnx_sizes_are_known(c, v->sizes);
  if (v == NULL || (!is_known(v) && !is_sizes)) {
    return NULL;
  }
  gemel_tensor *tensor =
      is_sizes ? gemel__onnx_sizes_tensor(c, v->sizes, &error) : tensor_of(c, v, &error);
  if (tensor == NULL) {
    gemel__graph_take_error(c->graph, &error);
  }
  return tensor;
}

int gemel__onnx_number(gemel__onnx_call *c, size_t k, double *number) {
  gemel_tensor *tensor = gemel__onnx_known(c, k);
  int is_one = tensor != NULL && gemel_tensor_elements(tensor) == 1;
  if (is_one) {
    *number = gemel__dtype_load(tensor->dtype, tensor->data);
  }
  gemel_tensor_unref(tensor);
  return is_one;
}

/* The elements of TENSOR, i64 or i32, a scalar or a short vector, as sizes; NULL: it isn't such, or
 * memory is out (the graph's error). */
static const gemel__sizes *read_sizes(gemel__onnx_call *c, const gemel_tensor *tensor) {
  gemel_view view = gemel_tensor_view(tensor);
  int64_t count = gemel_tensor_elements(tensor);
  if ((view.dtype != GEMEL_I64 && view.dtype != GEMEL_I32) || view.rank > 1 ||
      count > GEMEL__ONNX_MOST_SIZES) {
    return NULL;
  }
  gemel__sizes *sizes = gemel__arena_alloc(&c->importer->arena, sizeof *sizes);
  gemel_dim *dims = gemel__arena_alloc(&c->importer->arena, ((size_t)count + 1) * sizeof *dims);
  int is_whole = sizes != NULL && dims != NULL;
  for (int64_t k = 0; is_whole && k < count; k++) {
    int64_t n =
        view.dtype == GEMEL_I64 ? ((const int64_t *)view.data)[k] : ((const int32_t *)view.data)[k];
    dims[k] = gemel_dim_constant(c->context, n);
    is_whole = !gemel_dim_is_none(dims[k]);
  }
  if (!is_whole) {
    gemel__onnx_refuse(c, GEMEL_NO_MEMORY, "out of memory for sizes");
    return NULL;
  }
  *sizes = (gemel__sizes){view.dtype, view.rank, (size_t)count, dims};
  return sizes;
}

const gemel__sizes *gemel__onnx_cast_sizes(gemel__onnx_call *c, size_t k) {
  if (!gemel__onnx_given(c, k)) {
    return NULL;
  }
  gemel__onnx_value *v = c->inputs[k];
  if (v->sizes == NULL && is_known(v) && !v->no_sizes) {
    gemel_tensor *tensor = gemel__onnx_known(c, k);
    v->sizes = tensor != NULL ? read_sizes(c, tensor) : NULL;
    v->no_sizes = v->sizes == NULL;
    gemel_tensor_unref(tensor);
  }
  return v->sizes;
}

const gemel__sizes *gemel__onnx_sizes(gemel__onnx_call *c, size_t k) {
  const gemel__sizes *sizes = gemel__onnx_cast_sizes(c, k);
  return sizes != NULL && gemel_dtype_kind(sizes->dtype) != GEMEL_KIND_FLOAT ? sizes : NULL;
}

int gemel__onnx_integers(gemel__onnx_call *c, size_t k, gemel__int_list *list) {
  const gemel__sizes *sizes = gemel__onnx_sizes(c, k);
  if (sizes == NULL) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                       "input %zu must be integers that are known before the graph runs", k);
    return 0;
  }
  list->count = sizes->count;
  list->values = gemel__onnx_room(c, (sizes->count + 1) * sizeof *list->values);
  if (list->values == NULL) {
    return 0;
  }
  for (size_t i = 0; i < sizes->count; i++) {
    if (!gemel_dim_is_constant(c->context, sizes->dims[i], &list->values[i])) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                         "input %zu depends on sizes that are symbols; give them numbers", k);
      return 0;
    }
  }
  return 1;
}

int gemel__onnx_rank(gemel_value value) {
  return gemel_is_null(value)
             ? 0
             : gemel_type_rank(gemel_graph_context(value.graph), gemel_value_type(value));
}

const gemel_dim *gemel__onnx_dims(gemel_value value) {
  return gemel_is_null(value)
             ? NULL
             : gemel_type_dims(gemel_graph_context(value.graph), gemel_value_type(value));
}

gemel_dtype gemel__onnx_dtype_of(gemel_value value) {
  return gemel_is_null(value) ? GEMEL_BOOL : gemel__value_dtype(value);
}

gemel_value gemel__onnx_scalar(gemel__onnx_call *c, gemel_value x) {
  static const gemel_dim none[1] = {GEMEL_DIM_NONE};
  return gemel_reshape_at(x, 0, none, c->where);
}

gemel_value gemel__onnx_widened(gemel__onnx_call *c, gemel_value x) {
  int narrow = gemel_dtype_size(gemel__onnx_dtype_of(x)) < sizeof(float);
  return narrow ? gemel_cast_at(x, GEMEL_F32, c->where) : x;
}

/* ---- Attributes ---- */

static gemel__wire_span named(gemel__wire_span message, uint32_t number, gemel__wire_span name) {
  gemel__wire_field field;
  while (gemel__proto_next(&message, number, &field)) {
    gemel__wire_span at = gemel__proto_span(field.span, GEMEL__ATTRIBUTE_NAME);
    if (gemel__wire_same(at, name)) {
      return field.span;
    }
  }
  return (gemel__wire_span){NULL, 0};
}

/* In the body of a function an attribute may stand for one of the node that calls it, or for the
 * function's default. */
static gemel__wire_span attribute_of(const gemel__onnx_call *c, gemel__wire_span name) {
  gemel__wire_span found = named(c->node, GEMEL__NODE_ATTRIBUTE, name);
  while (found.bytes != NULL) {
    gemel__wire_span reference = gemel__proto_span(found, GEMEL__ATTRIBUTE_REFERENCE);
    const gemel__onnx_call *caller = c->caller;
    if (reference.length == 0) {
      return found;
    }
    if (caller == NULL) {
      break;
    }
    found = named(caller->node, GEMEL__NODE_ATTRIBUTE, reference);
    if (found.bytes == NULL) {
      return named(c->function, GEMEL__FUNCTION_DEFAULT, reference);
    }
    c = caller;
  }
  return (gemel__wire_span){NULL, 0};
}

gemel__wire_span gemel__onnx_attribute(const gemel__onnx_call *c, const char *name) {
  return attribute_of(c, (gemel__wire_span){(const uint8_t *)name, strlen(name)});
}

/* AttributeProto.AttributeType */
enum attribute_kind { FLOAT_KIND = 1, INT_KIND, TEXT_KIND, FLOATS_KIND = 6, INTS_KIND, TEXTS_KIND };

/* Attribute NAME, if it is of KIND, or doesn't say; no bytes, NULL, if it is absent, or of another,
 * which is the graph's error. */
static gemel__wire_span attribute_of_kind(const gemel__onnx_call *c, const char *name,
                                          enum attribute_kind kind) {
  static const char *const kinds[] = {
      "", "a float",          "an integer",         "a text",         "",
      "", "a list of floats", "a list of integers", "a list of texts"};
  gemel__wire_span attribute = gemel__onnx_attribute(c, name);
  int64_t given = 0;
  if (attribute.bytes != NULL) {
    gemel__proto_int(attribute, GEMEL__ATTRIBUTE_TYPE, &given);
  }
  if (given == 0 || given == (int64_t)kind) {
    return attribute;
  }
  gemel_error error;
  gemel__fail(&error, GEMEL_BAD_FILE, "attribute %s isn't %s, which it must be", name, kinds[kind]);
  gemel__graph_take_error(c->graph, &error);
  return (gemel__wire_span){NULL, 0};
}

int64_t gemel__onnx_int(const gemel__onnx_call *c, const char *name, int64_t fallback) {
  int64_t value = fallback;
  gemel__proto_int(attribute_of_kind(c, name, INT_KIND), GEMEL__ATTRIBUTE_I, &value);
  return value;
}

static double as_float(uint64_t bits) {
  uint32_t word = (uint32_t)bits;
  float value;
  memcpy(&value, &word, sizeof value);
  return (double)value;
}

double gemel__onnx_float(const gemel__onnx_call *c, const char *name, double fallback) {
  gemel__numbers numbers = {.message = attribute_of_kind(c, name, FLOAT_KIND),
                            .number = GEMEL__ATTRIBUTE_F,
                            .kind = GEMEL__PROTO_FLOAT};
  uint64_t bits;
  while (gemel__numbers_next(&numbers, &bits)) {
    fallback = as_float(bits);
  }
  return fallback;
}

double gemel__onnx_float_at(const gemel__onnx_call *c, const char *name, size_t k,
                            double fallback) {
  gemel__numbers numbers = {.message = attribute_of_kind(c, name, FLOATS_KIND),
                            .number = GEMEL__ATTRIBUTE_FLOATS,
                            .kind = GEMEL__PROTO_FLOAT};
  uint64_t bits;
  while (gemel__numbers_next(&numbers, &bits)) {
    if (k-- == 0) {
      return as_float(bits);
    }
  }
  return fallback;
}

gemel__wire_span gemel__onnx_text(const gemel__onnx_call *c, const char *name) {
  return gemel__proto_span(attribute_of_kind(c, name, TEXT_KIND), GEMEL__ATTRIBUTE_S);
}

int gemel__onnx_is_one_of(gemel__onnx_call *c, const char *name, const char *words) {
  gemel__wire_span text = gemel__onnx_text(c, name);
  for (size_t length; *words != '\0'; words += length + (words[length] == ' ')) {
    length = strcspn(words, " ");
    if (text.length == 0 || (text.length == length && memcmp(text.bytes, words, length) == 0)) {
      return 1;
    }
  }
  gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "%s = %.*s", name, (int)text.length,
                     (const char *)text.bytes);
  return 0;
}

gemel__wire_span gemel__onnx_text_at(const gemel__onnx_call *c, const char *name, size_t k) {
  gemel__wire_span attribute = attribute_of_kind(c, name, TEXTS_KIND);
  gemel__wire_field field;
  while (gemel__proto_next(&attribute, GEMEL__ATTRIBUTE_STRINGS, &field)) {
    if (k-- == 0) {
      return field.span;
    }
  }
  return (gemel__wire_span){NULL, 0};
}

int gemel__onnx_ints(gemel__onnx_call *c, const char *name, gemel__int_list *list) {
  gemel__wire_span attribute = attribute_of_kind(c, name, INTS_KIND);
  gemel__numbers numbers = {
      .message = attribute, .number = GEMEL__ATTRIBUTE_INTS, .kind = GEMEL__PROTO_INT};
  uint64_t bits;
  *list = (gemel__int_list){0, NULL};
  if (attribute.bytes == NULL) {
    return 0;
  }
  list->values = gemel__onnx_room(c, (gemel__numbers_count(numbers) + 1) * sizeof *list->values);
  if (list->values == NULL) {
    return -1;
  }
  while (gemel__numbers_next(&numbers, &bits)) {
    list->values[list->count++] = (int64_t)bits;
  }
  return 1;
}

/* ---- Axes ---- */

int gemel__onnx_axis(gemel__onnx_call *c, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "axis %lld of %d axes", (long long)axis, rank);
    return -1;
  }
  return (int)(axis < 0 ? axis + rank : axis);
}

int gemel__onnx_axes(gemel__onnx_call *c, size_t k, int rank, gemel__int_list *axes) {
  int found = gemel__onnx_ints(c, "axes", axes);
  if (found == 0 && gemel__onnx_given(c, k)) {
    found = gemel__onnx_integers(c, k, axes) ? 1 : -1;
  }
  for (size_t i = 0; found > 0 && i < axes->count; i++) {
    int axis = gemel__onnx_axis(c, axes->values[i], rank);
    if (axis < 0) {
      return -1;
    }
    axes->values[i] = axis;
  }
  return found;
}
