/* SPDX-License-Identifier: MIT
 *
 * Nodes whose inputs are all known and short: they are computed when the model is read, by a graph
 * of their own, since exporters compute axes, ends of ranges and conditions with nodes. Where that
 * doesn't work, the node is applied as any other, and what is wrong is said there.
 */
#include <math.h>
#include <string.h>
#include <gemel/function.h>
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "onnx/import.h"

enum { LONGEST = 1024, MOST_BYTES = 16 * LONGEST /* of a TensorProto that may be short */ };

/* 1 if V is a weight that the caller wants as an input, and no integers, which may be a shape. */
static int is_input(const gemel__onnx_value *v) {
  return v->tensor.bytes != NULL && !gemel_is_null(v->value) &&
         gemel_dtype_kind(gemel__onnx_dtype_of(v->value)) == GEMEL_KIND_FLOAT &&
         strcmp(gemel_value_operation(v->value), "input") == 0;
}

/* 1 if input K may be known and short, by what can be seen without reading it. */
static int may_be_short(const gemel__onnx_call *c, size_t k) {
  const gemel__onnx_value *v = c->inputs[k];
  return v == NULL || v->bound != NULL || v->sizes != NULL ||
         (v->tensor.bytes != NULL && v->tensor.length <= MOST_BYTES && !is_input(v));
}

/* The inputs of C as tensors alone, for another graph: 1, or 0 if one isn't known and short. */
static int known_inputs(gemel__onnx_call *c, gemel__onnx_value *values,
                        gemel__onnx_value **inputs) {
  int all = 1;
  for (size_t k = 0; k < c->n_inputs; k++) {
    values[k] = (gemel__onnx_value){.bound = gemel__onnx_known(c, k)};
    inputs[k] = c->inputs[k] != NULL ? &values[k] : NULL;
    all = all && (c->inputs[k] == NULL ||
                  (values[k].bound != NULL && gemel_tensor_elements(values[k].bound) <= LONGEST));
  }
  return all;
}

/* 1 if VALUE is of at most LONGEST elements, of known sizes. */
static int is_short(gemel__onnx_call *c, gemel_value value) {
  int64_t size, elements = 1;
  for (int k = 0; k < gemel__onnx_rank(value); k++) {
    if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(value)[k], &size) || size > LONGEST) {
      return 0;
    }
    elements *= size;
    if (elements > LONGEST) {
      return 0;
    }
  }
  return 1;
}

/* The result of C for these INPUTS, to be released; NULL if it can't be computed so, and an error
 * in C's graph only when memory is out. */
static gemel_tensor *compute(const gemel__onnx_call *c, gemel__onnx_value **inputs) {
  gemel_error error = {0};
  gemel_tensor *result = NULL;
  gemel_value none = {NULL, 0, 0};
  gemel__onnx_call apart = *c;
  apart.graph = gemel_graph_new(c->context, &error);
  apart.inputs = inputs;
  apart.outputs = &none;
  gemel_value value = apart.graph != NULL ? c->row->build(&apart) : none;
  if (!gemel_is_null(value) && is_short(&apart, value) && gemel_output(value, "y") == GEMEL_OK) {
    gemel_evaluate(apart.graph, 0, NULL, 1, &result, &error);
  }
  error = apart.graph != NULL && gemel_graph_error(apart.graph)->status != GEMEL_OK
              ? *gemel_graph_error(apart.graph)
              : error;
  if (error.status == GEMEL_NO_MEMORY) {
    gemel__graph_take_error(c->graph, &error);
  }
  gemel_graph_unref(apart.graph);
  return result;
}

/* 1 if C casts floats to integers, and one of X has no such integer: ONNX leaves open what becomes
 * of it, which has to be seen in the graph. */
static int is_open(const gemel__onnx_call *c, const gemel_tensor *x, const gemel_tensor *result) {
  if (strcmp(c->row->name, "Cast") != 0 || x == NULL || result == NULL ||
      !gemel__is_float(gemel_tensor_dtype(x)) || gemel__is_float(gemel_tensor_dtype(result)) ||
      gemel_tensor_dtype(result) == GEMEL_BOOL) {
    return 0;
  }
  for (size_t k = 0; k < (size_t)gemel_tensor_elements(x); k++) {
    gemel_dtype from = gemel_tensor_dtype(x);
    const char *at = (const char *)gemel_tensor_data(x) + k * gemel_dtype_size(from);
    uint64_t element;
    if (gemel__dtype_store(gemel_tensor_dtype(result), trunc(gemel__dtype_load(from, at)),
                           &element) != GEMEL_OK) {
      return 1;
    }
  }
  return 0;
}

int gemel__onnx_keep(gemel__onnx_call *c, gemel_tensor *result) {
  gemel__onnx_folded *folded = gemel__arena_alloc(&c->importer->arena, sizeof *folded);
  if (folded == NULL) {
    gemel_tensor_unref(result);
    gemel__onnx_refuse(c, GEMEL_NO_MEMORY, "out of memory for a node");
    return -1;
  }
  *folded = (gemel__onnx_folded){result, c->importer->folded};
  c->importer->folded = folded;
  c->first = (gemel__onnx_value){.bound = result};
  return 1;
}

int gemel__onnx_fold(gemel__onnx_call *c) {
  for (size_t k = 0; k < c->n_inputs; k++) {
    if (!may_be_short(c, k)) {
      return 0;
    }
  }
  int has_body = c->row->as != NULL && strcmp(c->row->as, "body") == 0;
  if (c->n_outputs != 1 || c->n_inputs == 0 || has_body) {
    return 0;
  }
  gemel__onnx_value *values = gemel__onnx_room(c, c->n_inputs * sizeof *values);
  gemel__onnx_value **inputs = gemel__onnx_room(c, c->n_inputs * sizeof(void *));
  if (values == NULL || inputs == NULL) {
    return -1;
  }
  gemel_tensor *result = known_inputs(c, values, inputs) ? compute(c, inputs) : NULL;
  if (is_open(c, values[0].bound, result)) {
    gemel_tensor_unref(result);
    result = NULL;
  }
  for (size_t k = 0; k < c->n_inputs; k++) {
    gemel_tensor_unref(values[k].bound);
  }
  if (gemel_graph_error(c->graph)->status != GEMEL_OK) {
    gemel_tensor_unref(result);
    return -1;
  }
  return result != NULL ? gemel__onnx_keep(c, result) : 0;
}

void gemel__onnx_forget_folded(gemel__importer *in) {
  for (gemel__onnx_folded *folded = in->folded; folded != NULL; folded = folded->next) {
    gemel_tensor_unref(folded->tensor);
  }
}
