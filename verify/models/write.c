/* SPDX-License-Identifier: MIT
 *
 * A sketch as the bytes of a model, and as gemel reads them. A message is written behind the key
 * of its field; its length is put between the two when it is known.
 */
#include <stdio.h>
#include <string.h>
#include <gemel/onnx.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "models/sketch.h"
#include "onnx/model.h"

enum { VARINT = 0, FIXED = 5, BYTES = 2 };

/* ---- Protocol buffers ---- */

static void put(gemel__sketch_bytes *out, const void *bytes, size_t count) {
  if (out->failed || gemel__grow(&out->bytes, &out->capacity, out->used + count, 1) != 0) {
    out->failed = 1;
    return;
  }
  if (count > 0) {
    memcpy(out->bytes + out->used, bytes, count);
  }
  out->used += count;
}

static void put_varint(gemel__sketch_bytes *out, uint64_t value) {
  uint8_t text[10];
  size_t n = 0;
  do {
    text[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value > 0);
  put(out, text, n);
}

static void put_int(gemel__sketch_bytes *out, uint32_t field, int64_t value) {
  put_varint(out, field << 3 | VARINT);
  put_varint(out, (uint64_t)value);
}

static void put_float(gemel__sketch_bytes *out, uint32_t field, double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  uint8_t text[] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16),
                    (uint8_t)(bits >> 24)};
  put_varint(out, field << 3 | FIXED);
  put(out, text, sizeof text);
}

static void put_text(gemel__sketch_bytes *out, uint32_t field, const char *text) {
  put_varint(out, field << 3 | BYTES);
  put_varint(out, strlen(text));
  put(out, text, strlen(text));
}

/* Begins a message; where it begins. */
static size_t begin(gemel__sketch_bytes *out, uint32_t field) {
  put_varint(out, field << 3 | BYTES);
  return out->used;
}

static void end(gemel__sketch_bytes *out, size_t start) {
  size_t length = out->used - start;
  put_varint(out, length);
  if (!out->failed) {
    uint8_t prefix[10];
    size_t n = out->used - start - length;
    memcpy(prefix, out->bytes + start + length, n);
    memmove(out->bytes + start + n, out->bytes + start, length);
    memcpy(out->bytes + start, prefix, n);
  }
}

/* ---- Tensors ---- */

static int64_t to_int(double x) {
  return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

/* The bits of X as an element of DTYPE. */
static uint64_t element_bits(gemel_dtype dtype, double x) {
  float narrow = (float)x;
  uint32_t bits;
  uint64_t wide;
  memcpy(&bits, &narrow, sizeof bits);
  memcpy(&wide, &x, sizeof wide);
  return dtype == GEMEL_F64    ? wide
         : dtype == GEMEL_F32  ? bits
         : dtype == GEMEL_F16  ? gemel__f64_to_f16(x)
         : dtype == GEMEL_BF16 ? gemel__f64_to_bf16(x)
                               : (uint64_t)to_int(x);
}

static void put_tensor(gemel__sketch_bytes *out, uint32_t field, const gemel__sketch *d,
                       const gemel__sketch_constant *c) {
  size_t size = gemel_dtype_size(c->value.dtype), start = begin(out, field);
  for (int k = 0; k < c->value.rank; k++) {
    put_int(out, GEMEL__TENSOR_DIMS, c->value.dims[k].size);
  }
  put_int(out, GEMEL__TENSOR_DTYPE, gemel__onnx_dtype_number(c->value.dtype));
  put_text(out, GEMEL__TENSOR_NAME, c->value.name);
  size_t raw = begin(out, GEMEL__TENSOR_RAW);
  for (size_t k = 0; k < c->count; k++) {
    uint64_t bits = element_bits(c->value.dtype, d->numbers[c->at + k]);
    for (size_t i = 0; i < size; i++) {
      uint8_t byte = (uint8_t)(bits >> 8 * i);
      put(out, &byte, 1);
    }
  }
  end(out, raw);
  end(out, start);
}

/* ---- Values ---- */

static void put_dim(gemel__sketch_bytes *out, const gemel__sketch_dim *dim) {
  size_t start = begin(out, GEMEL__SHAPE_DIM);
  if (dim->symbol[0] == '\0') {
    put_int(out, GEMEL__DIM_VALUE, dim->size);
  } else if (dim->symbol[0] != '?') {
    put_text(out, GEMEL__DIM_PARAM, dim->symbol);
  }
  end(out, start);
}

/* A value; without a dtype it has no type, which gemel and inner graphs do without. */
static void put_value(gemel__sketch_bytes *out, uint32_t field, const gemel__sketch_value *v) {
  size_t start = begin(out, field);
  put_text(out, GEMEL__VALUE_NAME, v->name);
  if (v->dtype < GEMEL_DTYPE_COUNT) {
    size_t type = begin(out, GEMEL__VALUE_TYPE), tensor = begin(out, GEMEL__TYPE_TENSOR);
    put_int(out, GEMEL__TENSOR_TYPE_DTYPE, gemel__onnx_dtype_number(v->dtype));
    size_t shape = begin(out, GEMEL__TENSOR_TYPE_SHAPE);
    for (int k = 0; k < v->rank; k++) {
      put_dim(out, &v->dims[k]);
    }
    end(out, shape);
    end(out, tensor);
    end(out, type);
  }
  end(out, start);
}

/* ---- Nodes and graphs ---- */

static void put_graph(gemel__sketch_bytes *out, uint32_t field, const gemel__sketch *d, int graph);

static void put_numbers(gemel__sketch_bytes *out, const gemel__sketch_attr *a) {
  for (int k = 0; k < a->count; k++) {
    switch (a->kind) {
    case GEMEL__SKETCH_FLOAT:
      put_float(out, GEMEL__ATTRIBUTE_F, a->numbers[k]);
      break;
    case GEMEL__SKETCH_FLOATS:
      put_float(out, GEMEL__ATTRIBUTE_FLOATS, a->numbers[k]);
      break;
    case GEMEL__SKETCH_INT:
      put_int(out, GEMEL__ATTRIBUTE_I, to_int(a->numbers[k]));
      break;
    default:
      put_int(out, GEMEL__ATTRIBUTE_INTS, to_int(a->numbers[k]));
    }
  }
}

static void put_attr(gemel__sketch_bytes *out, const gemel__sketch *d,
                     const gemel__sketch_attr *a) {
  size_t start = begin(out, GEMEL__NODE_ATTRIBUTE);
  put_text(out, GEMEL__ATTRIBUTE_NAME, a->name);
  if (a->kind == GEMEL__SKETCH_STRING) {
    put_text(out, GEMEL__ATTRIBUTE_S, a->text);
  } else if (a->kind == GEMEL__SKETCH_TENSOR) {
    put_tensor(out, GEMEL__ATTRIBUTE_T, d, &d->constants[a->index]);
  } else if (a->kind == GEMEL__SKETCH_GRAPH) {
    put_graph(out, GEMEL__ATTRIBUTE_G, d, a->index);
  } else {
    put_numbers(out, a);
  }
  put_int(out, GEMEL__ATTRIBUTE_TYPE, a->kind);
  end(out, start);
}

static void put_node(gemel__sketch_bytes *out, const gemel__sketch *d,
                     const gemel__sketch_node *n) {
  size_t start = begin(out, GEMEL__GRAPH_NODE);
  for (int k = 0; k < n->n_inputs; k++) {
    put_text(out, GEMEL__NODE_INPUT, n->inputs[k]);
  }
  for (int k = 0; k < n->n_results; k++) {
    put_text(out, GEMEL__NODE_OUTPUT, n->results[k]);
  }
  put_text(out, GEMEL__NODE_OPERATOR, n->op);
  for (int k = 0; k < n->n_attrs; k++) {
    put_attr(out, d, &n->attrs[k]);
  }
  end(out, start);
}

/* A constant as a node. */
static void put_constant(gemel__sketch_bytes *out, const gemel__sketch *d, int k) {
  gemel__sketch_node node;
  memset(&node, 0, sizeof node);
  strcpy(node.op, "Constant");
  strcpy(node.results[0], d->constants[k].value.name);
  strcpy(node.attrs[0].name, "value");
  node.attrs[0].kind = GEMEL__SKETCH_TENSOR;
  node.attrs[0].index = k;
  node.n_results = node.n_attrs = 1;
  put_node(out, d, &node);
}

static void put_nodes(gemel__sketch_bytes *out, const gemel__sketch *d, int graph) {
  for (size_t k = 0; k < d->n_constants; k++) {
    if (d->constants[k].value.graph == graph && d->constants[k].form == GEMEL__FORM_NODE) {
      put_constant(out, d, (int)k);
    }
  }
  for (size_t k = 0; k < d->n_nodes; k++) {
    if (d->nodes[k].graph == graph) {
      put_node(out, d, &d->nodes[k]);
    }
  }
}

static void put_weights(gemel__sketch_bytes *out, const gemel__sketch *d, int graph) {
  for (size_t k = 0; k < d->n_constants; k++) {
    const gemel__sketch_constant *c = &d->constants[k];
    if (c->value.graph == graph && c->form <= GEMEL__FORM_INPUT) {
      put_tensor(out, GEMEL__GRAPH_INITIALIZER, d, c);
    }
    if (c->value.graph == graph && c->form == GEMEL__FORM_INPUT) {
      put_value(out, GEMEL__GRAPH_INPUT, &c->value);
    }
  }
}

static void put_outputs(gemel__sketch_bytes *out, const gemel__sketch *d, int graph) {
  gemel__sketch_value untyped = {.dtype = GEMEL_DTYPE_COUNT};
  for (size_t k = 0; graph == 0 && k < d->n_outputs; k++) {
    put_value(out, GEMEL__GRAPH_OUTPUT, &d->outputs[k]);
  }
  for (int k = 0; graph > 0 && k < d->graphs[graph].n_outputs; k++) {
    strcpy(untyped.name, d->graphs[graph].outputs[k]);
    put_value(out, GEMEL__GRAPH_OUTPUT, &untyped);
  }
}

static void put_graph(gemel__sketch_bytes *out, uint32_t field, const gemel__sketch *d, int graph) {
  size_t start = begin(out, field);
  put_nodes(out, d, graph);
  put_text(out, GEMEL__GRAPH_NAME, graph == 0 ? "g" : d->graphs[graph].name);
  for (size_t k = 0; k < d->n_inputs; k++) {
    if (d->inputs[k].graph == graph) {
      put_value(out, GEMEL__GRAPH_INPUT, &d->inputs[k]);
    }
  }
  put_weights(out, d, graph);
  put_outputs(out, d, graph);
  end(out, start);
}

/* The version of the format that came with an opset. */
static int ir_version(int opset) {
  return opset < 19 ? 8 : opset < 21 ? 9 : opset < 23 ? 10 : 11;
}

void gemel__sketch_write(const gemel__sketch *d, gemel__sketch_bytes *out) {
  put_int(out, GEMEL__MODEL_IR_VERSION, ir_version(d->opset));
  put_graph(out, GEMEL__MODEL_GRAPH, d, 0);
  size_t opset = begin(out, GEMEL__MODEL_OPSET);
  put_int(out, GEMEL__OPSET_VERSION, d->opset);
  end(out, opset);
}

/* ---- Types ---- */

/* A dim that is neither a number nor a symbol has no name in the file. */
static void take_dim(gemel_context *context, gemel_dim dim, gemel__sketch_dim *to) {
  char text[sizeof to->symbol];
  memset(to, 0, sizeof *to);
  if (!gemel_dim_is_constant(context, dim, &to->size)) {
    size_t length = gemel_dim_format(context, dim, text, sizeof text);
    int is_name = length < sizeof text && strcspn(text, " +-*/()") == length;
    strcpy(to->symbol, is_name ? text : "?");
  }
}

static gemel_status take_type(gemel_value value, gemel__sketch_value *to, gemel_error *error) {
  gemel_context *context = gemel_graph_context(value.graph);
  gemel_type type = gemel_value_type(value);
  to->dtype = gemel_type_dtype(context, type);
  to->rank = gemel_type_rank(context, type);
  if (to->rank > GEMEL__SKETCH_RANK) {
    return gemel__fail(error, GEMEL_UNSUPPORTED, "%s has too many axes", to->name);
  }
  for (int k = 0; k < to->rank; k++) {
    take_dim(context, gemel_type_dims(context, type)[k], &to->dims[k]);
  }
  return GEMEL_OK;
}

/* The types of the outputs of BYTES. */
static gemel_status read_types(const gemel__sketch_bytes *out, gemel__sketch *d,
                               gemel_error *error) {
  gemel_context *context = gemel_context_new(error);
  gemel_onnx *model =
      context != NULL ? gemel_onnx_parse(out->bytes, out->used, "drawn", NULL, error) : NULL;
  gemel_graph *graph = model != NULL ? gemel_onnx_graph(model, context, NULL, NULL, error) : NULL;
  gemel_status status = graph != NULL ? GEMEL_OK : error->status;
  if (graph != NULL && gemel_graph_output_count(graph) != d->n_outputs) {
    status = gemel__fail(error, GEMEL_INTERNAL, "outputs are missing");
  }
  for (size_t k = 0; status == GEMEL_OK && k < d->n_outputs; k++) {
    status = take_type(gemel_graph_output(graph, k), &d->outputs[k], error);
  }
  gemel_graph_unref(graph);
  gemel_onnx_free(model);
  gemel_context_unref(context);
  return status;
}

/* For a moment all results are outputs, those that are it already at the end. */
static gemel_status list_results(gemel__sketch *d, gemel_error *error) {
  d->n_known = 0;
  for (size_t k = 0; k < d->n_nodes; k++) {
    const gemel__sketch_node *n = &d->nodes[k];
    for (int i = 0; n->graph == 0 && i < n->n_results; i++) {
      if (n->results[i][0] != '\0') {
        if (d->n_known == GEMEL__SKETCH_VALUES) {
          return gemel__fail(error, GEMEL_UNSUPPORTED, "too many results");
        }
        memset(&d->known[d->n_known], 0, sizeof d->known[0]);
        d->known[d->n_known].dtype = GEMEL_DTYPE_COUNT;
        strcpy(d->known[d->n_known++].name, n->results[i]);
      }
    }
  }
  return GEMEL_OK;
}

static const gemel__sketch_value *find_value(const gemel__sketch_value *values, size_t count,
                                             const char *name) {
  for (size_t k = 0; k < count; k++) {
    if (strcmp(values[k].name, name) == 0) {
      return &values[k];
    }
  }
  return NULL;
}

/* The outputs of KEPT get the types of the results. */
static void restore_outputs(gemel__sketch *d, const gemel__sketch_value *kept, size_t count) {
  memcpy(d->known, d->outputs, d->n_known * sizeof d->known[0]);
  d->n_outputs = count;
  for (size_t k = 0; k < count; k++) {
    const gemel__sketch_value *known = find_value(d->known, d->n_known, kept[k].name);
    const gemel__sketch_value *input = find_value(d->inputs, d->n_inputs, kept[k].name);
    d->outputs[k] = known != NULL ? *known : input != NULL ? *input : kept[k];
  }
}

gemel_status gemel__sketch_read(gemel__sketch *d, gemel_error *error) {
  gemel__sketch_value kept[GEMEL__SKETCH_VALUES];
  gemel__sketch_bytes out = {NULL, 0, 0, 0};
  size_t count = d->n_outputs;
  memcpy(kept, d->outputs, sizeof kept);
  GEMEL__TRY(list_results(d, error));
  memcpy(d->outputs, d->known, sizeof d->known);
  d->n_outputs = d->n_known;
  gemel__sketch_write(d, &out);
  gemel_status status =
      out.failed ? gemel__no_memory(error, "a model") : read_types(&out, d, error);
  gemel__free(out.bytes, out.capacity);
  restore_outputs(d, kept, count);
  return status;
}
