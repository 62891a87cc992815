/* SPDX-License-Identifier: MIT
 *
 * From a model to a graph: inputs and weights are defined, then each node is applied in the order
 * of the file, which is that of data. A node's operator is a row of operators.def, or a function of
 * the model, whose body is applied in its place.
 */
#include "onnx/import.h"

#include <stdio.h>
#include <stddef.h>
#include <string.h>

#include "core/alloc.h"
#include "core/cons.h"
#include "core/context.h"
#include "core/error.h"
#include "core/graph.h"
#include "onnx/operators.h"

#define SHOWN(span) (int)((span).length < 80 ? (span).length : 80), (const char *)(span).bytes

/* Applies the nodes that are field NODES of MESSAGE, a graph or function. */
static gemel_status apply_nodes(gemel__importer *in, gemel__wire_span message, uint32_t nodes);

/* Defines the initialisers of a graph; those of the main graph may become inputs. */
static gemel_status define_initializers(gemel__importer *in, gemel__wire_span graph, int main);

/* ---- Operators ---- */

/* The version of ONNX's own operators that MESSAGE, a model or function, imports by its fields
 * NUMBER. */
static int64_t opset_of(gemel__wire_span message, uint32_t number) {
  gemel__wire_field field;
  int64_t version = 1;
  while (gemel__proto_next(&message, number, &field)) {
    if (gemel__onnx_is_own(gemel__proto_span(field.span, GEMEL__OPSET_DOMAIN))) {
      gemel__proto_int(field.span, GEMEL__OPSET_VERSION, &version);
    }
  }
  return version;
}

/* ---- Names ---- */

/* The value called NAME, or NULL. */
static gemel__onnx_value *find_value(const gemel__importer *in, gemel__wire_span name) {
  return gemel__onnx_names_find(&in->names, name, in->floor);
}

/* Makes NAME known: NULL, and the error, if the graph has it already or memory is out. */
static gemel__onnx_value *define_value(gemel__importer *in, gemel__wire_span name,
                                       gemel__onnx_value value) {
  if (gemel__onnx_names_find(&in->names, name, in->scope) != NULL) {
    gemel__fail(in->error, GEMEL_BAD_FILE, "'%.*s' is made twice", SHOWN(name));
    return NULL;
  }
  gemel__onnx_value *defined = gemel__onnx_names_add(&in->names, &in->arena, name, value);
  if (defined == NULL) {
    gemel__no_memory(in->error, "names");
  }
  return defined;
}

/* ---- A node's inputs and outputs ---- */

static gemel_status read_inputs(gemel__importer *in, gemel__onnx_call *c) {
  gemel__wire_span rest = c->node;
  gemel__wire_field field;
  size_t n = gemel__proto_count(c->node, GEMEL__NODE_INPUT);
  c->inputs = gemel__arena_alloc(c->arena, (n + 1) * sizeof *c->inputs);
  if (c->inputs == NULL) {
    return gemel__no_memory(in->error, "a node");
  }
  while (gemel__proto_next(&rest, GEMEL__NODE_INPUT, &field)) {
    gemel__onnx_value *value = field.span.length > 0 ? find_value(in, field.span) : NULL;
    if (value == NULL && field.span.length > 0) {
      return gemel__fail(in->error, GEMEL_BAD_FILE, "nothing before it makes its input '%.*s'",
                         SHOWN(field.span));
    }
    c->inputs[c->n_inputs++] = value;
  }
  return GEMEL_OK;
}

static gemel_status room_for_outputs(gemel__importer *in, gemel__onnx_call *c) {
  c->n_outputs = gemel__proto_count(c->node, GEMEL__NODE_OUTPUT);
  c->outputs = gemel__arena_alloc(c->arena, (c->n_outputs + 1) * sizeof *c->outputs);
  if (c->outputs == NULL) {
    return gemel__no_memory(in->error, "a node");
  }
  memset(c->outputs, 0, (c->n_outputs + 1) * sizeof *c->outputs);
  return GEMEL_OK;
}

static gemel_status define_outputs(gemel__importer *in, gemel__onnx_call *c) {
  gemel__wire_span rest = c->node;
  gemel__wire_field field;
  for (size_t k = 0; gemel__proto_next(&rest, GEMEL__NODE_OUTPUT, &field); k++) {
    gemel__onnx_value value = k == 0 ? c->first : (gemel__onnx_value){0};
    value.value = c->outputs[k];
    if (field.span.length == 0) {
      continue;
    }
    if (gemel_is_null(value.value) && value.sizes == NULL && value.tensor.bytes == NULL &&
        value.bound == NULL) {
      return gemel__fail(in->error, GEMEL_UNSUPPORTED, "output %zu, '%.*s', isn't computed", k,
                         SHOWN(field.span));
    }
    if (define_value(in, field.span, value) == NULL) {
      return in->error->status;
    }
  }
  return GEMEL_OK;
}

/* ---- Functions ---- */

/* DOMAIN and NAME as one key, in ARENA; no bytes, NULL, when memory is out. */
static gemel__wire_span key_of(gemel__arena *arena, gemel__wire_span domain,
                               gemel__wire_span name) {
  size_t length = domain.length + 1 + name.length;
  uint8_t *key = gemel__arena_alloc(arena, length);
  if (key == NULL) {
    return (gemel__wire_span){NULL, 0};
  }
  memcpy(key, domain.length > 0 ? domain.bytes : key, domain.length);
  key[domain.length] = 0;
  memcpy(key + domain.length + 1, name.length > 0 ? name.bytes : key, name.length);
  return (gemel__wire_span){key, length};
}

static gemel_status list_functions(gemel__importer *in) {
  gemel__wire_span rest = in->model->bytes;
  gemel__wire_field field;
  while (gemel__proto_next(&rest, GEMEL__MODEL_FUNCTION, &field)) {
    gemel__wire_span key = key_of(&in->arena, gemel__proto_span(field.span, GEMEL__FUNCTION_DOMAIN),
                                  gemel__proto_span(field.span, GEMEL__FUNCTION_NAME));
    gemel__onnx_value function = {.tensor = field.span};
    if (key.bytes == NULL ||
        gemel__onnx_names_add(&in->functions, &in->arena, key, function) == NULL) {
      return gemel__no_memory(in->error, "functions");
    }
  }
  return GEMEL_OK;
}

/* The function of the model that the operator of C is: GEMEL_OK, and no bytes if there is none. */
static gemel_status find_function(gemel__importer *in, const gemel__onnx_call *c,
                                  gemel__wire_span domain, gemel__wire_span name,
                                  gemel__wire_span *function) {
  *function = (gemel__wire_span){NULL, 0};
  if (in->functions.count > 0) {
    gemel__wire_span key = key_of(c->arena, domain, name);
    if (key.bytes == NULL) {
      return gemel__no_memory(in->error, "a node");
    }
    const gemel__onnx_value *found = gemel__onnx_names_find(&in->functions, key, 0);
    *function = found != NULL ? found->tensor : *function;
  }
  return GEMEL_OK;
}

/* The inputs of FUNCTION are those of C, those left out unknown. */
static gemel_status define_parameters(gemel__importer *in, const gemel__onnx_call *c,
                                      gemel__wire_span function) {
  gemel__wire_field field;
  for (size_t k = 0; gemel__proto_next(&function, GEMEL__FUNCTION_INPUT, &field); k++) {
    if (gemel__onnx_given(c, k) && define_value(in, field.span, *c->inputs[k]) == NULL) {
      return in->error->status;
    }
  }
  return GEMEL_OK;
}

/* The outputs of a body, whose names are the fields OUTPUTS of MESSAGE (or names of values there).
 */
static gemel_status take_results(gemel__importer *in, gemel__wire_span message, uint32_t outputs,
                                 int are_values, size_t n, gemel__onnx_value *results) {
  gemel__wire_field field;
  for (size_t k = 0; k < n && gemel__proto_next(&message, outputs, &field); k++) {
    gemel__wire_span name =
        are_values ? gemel__proto_span(field.span, GEMEL__VALUE_NAME) : field.span;
    const gemel__onnx_value *result = find_value(in, name);
    if (result == NULL) {
      return gemel__fail(in->error, GEMEL_BAD_FILE, "its body doesn't make '%.*s'", SHOWN(name));
    }
    results[k] = *result;
  }
  return GEMEL_OK;
}

void gemel__onnx_results(gemel__onnx_call *c, gemel__onnx_value *results) {
  for (size_t k = 1; k < c->n_outputs; k++) {
    int is_made = results[k].tensor.bytes != NULL || results[k].bound != NULL ||
                  results[k].sizes != NULL || !gemel_is_null(results[k].value);
    c->outputs[k] = is_made ? gemel__onnx_value_in(c, &results[k]) : c->outputs[k];
  }
  c->first = results[0];
  c->outputs[0] = results[0].value;
}

static gemel_status take_outputs(gemel__importer *in, gemel__onnx_call *c,
                                 gemel__wire_span function) {
  gemel__onnx_value *results = gemel__arena_alloc(c->arena, (c->n_outputs + 1) * sizeof *results);
  if (results == NULL) {
    return gemel__no_memory(in->error, "a node");
  }
  memset(results, 0, (c->n_outputs + 1) * sizeof *results);
  GEMEL__TRY(take_results(in, function, GEMEL__FUNCTION_OUTPUT, 0, c->n_outputs, results));
  gemel__onnx_results(c, results);
  return GEMEL_OK;
}

static gemel_status deeper(gemel__importer *in) {
  if (++in->depth > GEMEL_MAX_NESTING) {
    return gemel__fail(in->error, GEMEL_BAD_FILE,
                       "functions and branches are nested more than %d deep", GEMEL_MAX_NESTING);
  }
  if (++in->applied > GEMEL_MAX_BODIES) {
    return gemel__fail(in->error, GEMEL_BAD_FILE,
                       "functions and branches are applied more than %d times", GEMEL_MAX_BODIES);
  }
  return GEMEL_OK;
}

static gemel_status apply_function(gemel__importer *in, gemel__onnx_call *c,
                                   gemel__wire_span function) {
  gemel__importer before = *in;
  in->floor = in->scope = in->names.count;
  in->caller = c;
  in->function = function;
  in->opset = opset_of(function, GEMEL__FUNCTION_OPSET);
  gemel_status status = deeper(in);
  status = status == GEMEL_OK ? define_parameters(in, c, function) : status;
  status = status == GEMEL_OK ? apply_nodes(in, function, GEMEL__FUNCTION_NODE) : status;
  status = status == GEMEL_OK ? take_outputs(in, c, function) : status;
  gemel__onnx_names_forget(&in->names, before.names.count);
  in->floor = before.floor;
  in->scope = before.scope;
  in->caller = before.caller;
  in->function = before.function;
  in->opset = before.opset;
  in->depth = before.depth;
  return status;
}

/* ---- Bodies ---- */

static gemel_status define_body_inputs(gemel__importer *in, gemel__wire_span body, size_t n,
                                       const gemel__onnx_value *inputs) {
  gemel__wire_field field;
  size_t has = gemel__proto_count(body, GEMEL__GRAPH_INPUT);
  if (has != n) {
    return gemel__fail(in->error, GEMEL_BAD_FILE, "its body has %zu inputs, and must have %zu", has,
                       n);
  }
  for (size_t k = 0; gemel__proto_next(&body, GEMEL__GRAPH_INPUT, &field); k++) {
    if (define_value(in, gemel__proto_span(field.span, GEMEL__VALUE_NAME), inputs[k]) == NULL) {
      return in->error->status;
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__onnx_body(gemel__onnx_call *c, gemel__wire_span body, size_t n_inputs,
                              const gemel__onnx_value *inputs, size_t n_results,
                              gemel__onnx_value *results) {
  gemel__importer *in = c->importer;
  size_t scope = in->scope, count = in->names.count;
  int depth = in->depth;
  in->scope = in->names.count;
  gemel_status status = deeper(in);
  status = status == GEMEL_OK ? define_body_inputs(in, body, n_inputs, inputs) : status;
  status = status == GEMEL_OK ? define_initializers(in, body, 0) : status;
  status = status == GEMEL_OK ? apply_nodes(in, body, GEMEL__GRAPH_NODE) : status;
  status = status == GEMEL_OK ? take_results(in, body, GEMEL__GRAPH_OUTPUT, 1, n_results, results)
                              : status;
  gemel__onnx_names_forget(&in->names, count);
  in->scope = scope;
  in->depth = depth;
  if (status != GEMEL_OK) { /* the graph's error becomes that which names the body's node */
    gemel_graph_clear_error(c->graph);
    gemel__graph_take_error(c->graph, in->error);
  }
  return status;
}

/* ---- Nodes ---- */

/* 1 if C's result is known and of floats. It stands in the graph all the same, as what it is
 * computed from: it was rounded on the way, and others round otherwise. */
static int is_known_float(const gemel__onnx_call *c) {
  return c->first.bound != NULL &&
         gemel_dtype_kind(gemel_tensor_dtype(c->first.bound)) == GEMEL_KIND_FLOAT;
}

static gemel_status apply_row(gemel__importer *in, gemel__onnx_call *c) {
  if (c->n_inputs < c->row->least || (c->row->most > 0 && c->n_inputs > c->row->most)) {
    return gemel__fail(in->error, GEMEL_BAD_FILE, "it has %zu inputs", c->n_inputs);
  }
  int done = gemel__onnx_by_sizes(c);
  done = done == 0 ? gemel__onnx_fold(c) : done;
  gemel_value result =
      done == 0 || is_known_float(c) ? c->row->build(c) : (gemel_value){NULL, 0, 0};
  c->outputs[0] = result;
  const gemel_error *error = gemel_graph_error(in->graph);
  if (done < 0 || error->status != GEMEL_OK) {
    *in->error = error->status != GEMEL_OK ? *error : *in->error;
    return in->error->status;
  }
  return GEMEL_OK;
}

static gemel_status unknown_operator(gemel__importer *in, gemel__wire_span name) {
  static const char *const drawing[] = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                        "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  gemel__wire_span rest = in->model->graph;
  gemel__wire_field field;
  size_t count = 0;
  for (size_t k = 0; k < sizeof drawing / sizeof *drawing; k++) {
    if (gemel__wire_is(name, drawing[k])) {
      return gemel__fail(in->error, GEMEL_UNSUPPORTED,
                         "it draws random numbers, by a generator that ONNX leaves open");
    }
  }
  while (gemel__proto_next(&rest, GEMEL__GRAPH_NODE, &field)) {
    gemel__wire_span other = gemel__proto_span(field.span, GEMEL__NODE_OPERATOR);
    count += gemel__wire_same(other, name);
  }
  return gemel__fail(in->error, GEMEL_UNSUPPORTED,
                     "gemel doesn't know this operator, of which the model has %zu", count);
}

static gemel_status apply_node(gemel__importer *in, gemel__onnx_call *c) {
  gemel__wire_span name = gemel__proto_span(c->node, GEMEL__NODE_OPERATOR);
  gemel__wire_span domain = gemel__proto_span(c->node, GEMEL__NODE_DOMAIN);
  GEMEL__TRY(read_inputs(in, c));
  GEMEL__TRY(room_for_outputs(in, c));
  gemel__wire_span function;
  GEMEL__TRY(find_function(in, c, domain, name, &function));
  c->opset = in->opset;
  GEMEL__TRY(gemel__onnx_find_operator(c, domain, name, in->error));
  if (function.bytes != NULL) {
    GEMEL__TRY(apply_function(in, c, function));
  } else if (c->row == NULL) {
    return unknown_operator(in, name);
  } else {
    GEMEL__TRY(apply_row(in, c));
  }
  return define_outputs(in, c);
}

/* Where the node of C is: "m.onnx, Conv 'conv1'" in the place of a file, and its number in that of
 * a line. A node without a name is called after its first output. */
static gemel_status place_call(const gemel__importer *in, gemel__onnx_call *c) {
  gemel__wire_span operator_ = gemel__proto_span(c->node, GEMEL__NODE_OPERATOR);
  gemel__wire_span name = gemel__proto_span(c->node, GEMEL__NODE_NAME);
  gemel__wire_span rest = c->node;
  gemel__wire_field output = {0};
  gemel__proto_next(&rest, GEMEL__NODE_OUTPUT, &output);
  name = name.length > 0 ? name : output.span;
  size_t length = strlen(in->model->name), bytes = length + 200;
  char *text = gemel__arena_alloc(c->arena, bytes);
  if (text == NULL) {
    return gemel__no_memory(in->error, "a node");
  }
  snprintf(text, bytes, "%s, %.*s '%.*s'", in->model->name, SHOWN(operator_), SHOWN(name));
  for (char *at = text + length; *at != '\0'; at++) {
    *at = (unsigned char)*at < ' ' ? '_' : *at;
  }
  c->where = (gemel_location){text, (int)in->node};
  return GEMEL_OK;
}

/* "node 3 'conv1' (Conv): " before the message, in the stead of WHERE. */
static void name_node(gemel__importer *in, gemel__wire_span node, gemel_location where) {
  gemel__wire_span name = gemel__proto_span(node, GEMEL__NODE_NAME);
  gemel__wire_span operator_ = gemel__proto_span(node, GEMEL__NODE_OPERATOR);
  gemel__error_unplace(in->error, where);
  gemel__error_prefix(in->error, "node %lld%s%.*s (%.*s)", (long long)in->node,
                      name.length > 0 ? " " : "", SHOWN(name), SHOWN(operator_));
}

static gemel_status apply_nodes(gemel__importer *in, gemel__wire_span message, uint32_t nodes) {
  gemel__arena arena = {0};
  gemel__wire_field field;
  gemel_status status = GEMEL_OK;
  while (status == GEMEL_OK && gemel__proto_next(&message, nodes, &field)) {
    in->node += in->depth == 0;
    gemel__onnx_call call = {.importer = in,
                             .graph = in->graph,
                             .context = in->context,
                             .arena = &arena,
                             .node = field.span,
                             .caller = in->caller,
                             .function = in->function};
    status = place_call(in, &call);
    status = status == GEMEL_OK ? apply_node(in, &call) : status;
    if (status != GEMEL_OK) {
      name_node(in, field.span, call.where);
    }
    gemel__arena_clear(&arena);
  }
  return status;
}

/* ---- Inputs, weights, outputs ---- */

static const gemel_location nowhere = {"", 0};

/* The size that the options give SYMBOL: 1 and *SIZE, or 0. */
static int given_size(const gemel__importer *in, const char *symbol, int64_t *size) {
  for (size_t k = 0; in->options != NULL && k < in->options->n_symbols; k++) {
    if (strcmp(in->options->symbols[k], symbol) == 0) {
      *size = in->options->sizes[k];
      return 1;
    }
  }
  return 0;
}

/* The size of axis K of the input NAME of the graph that this one is to be like; none if it has
 * none. */
static gemel_dim size_of_like(const gemel__importer *in, const char *name, int k, int rank) {
  enum { MOST = 1000 /* inputs that are searched */ };
  const gemel_graph *like = in->options->like;
  for (size_t i = 0; i < gemel_graph_input_count(like) && i < MOST; i++) {
    gemel_type type = gemel_value_type(gemel_graph_input(like, i));
    if (strcmp(gemel_graph_input_name(like, i), name) == 0 &&
        gemel_type_rank(in->context, type) == rank) {
      return gemel_type_dims(in->context, type)[k];
    }
  }
  return GEMEL_DIM_NONE;
}

/* The dim that SYMBOL stands for: a size of LIKE's input NAME where it stands first, else itself.
 */
static gemel_dim named_dim(gemel__importer *in, const char *symbol, const char *name, int k,
                           int rank) {
  gemel__onnx_symbol *known = in->symbols;
  if (in->options == NULL || in->options->like == NULL) {
    return gemel_dim_symbol(in->context, symbol);
  }
  while (known != NULL && strcmp(known->symbol, symbol) != 0) {
    known = known->next;
  }
  if (known == NULL) {
    gemel_dim like = size_of_like(in, name, k, rank);
    known = gemel__arena_alloc(&in->arena, sizeof *known);
    if (known == NULL) {
      return GEMEL_DIM_NONE;
    }
    *known = (gemel__onnx_symbol){
        symbol, gemel_dim_is_none(like) ? gemel_dim_symbol(in->context, symbol) : like,
        in->symbols};
    in->symbols = known;
  }
  return known->dim;
}

/* The size of axis K of input NAME: a number, a symbol of the model, or one of its own. */
static gemel_dim read_dim(gemel__importer *in, gemel__wire_span dim, const char *name, int k,
                          int rank) {
  gemel__wire_span symbol = gemel__proto_span(dim, GEMEL__DIM_PARAM);
  char own[1100];
  const char *called = own;
  int64_t size;
  if (gemel__proto_int(dim, GEMEL__DIM_VALUE, &size)) {
    return gemel_dim_constant(in->context, size);
  }
  if (symbol.length > 0) {
    called = gemel__onnx_name_of(&in->arena, symbol);
  } else {
    snprintf(own, sizeof own, "%s_%d", name, k);
    called = gemel__arena_string(&in->arena, own);
  }
  return called == NULL                  ? GEMEL_DIM_NONE
         : given_size(in, called, &size) ? gemel_dim_constant(in->context, size)
                                         : named_dim(in, called, name, k, rank);
}

static gemel_status read_type(gemel__importer *in, gemel__wire_span value, const char *name,
                              gemel_type *type) {
  gemel__wire_span tensor =
      gemel__proto_span(gemel__proto_span(value, GEMEL__VALUE_TYPE), GEMEL__TYPE_TENSOR);
  gemel__wire_span shape = gemel__proto_span(tensor, GEMEL__TENSOR_TYPE_SHAPE);
  gemel_dim dims[GEMEL_MAX_RANK];
  gemel__wire_field field;
  gemel_dtype dtype;
  int64_t number = 0;
  int rank = 0;
  size_t axes = gemel__proto_count(shape, GEMEL__SHAPE_DIM);
  if (tensor.bytes == NULL || shape.bytes == NULL) {
    return gemel__fail(in->error, GEMEL_UNSUPPORTED, "input %s is no tensor of a known rank", name);
  }
  gemel__proto_int(tensor, GEMEL__TENSOR_TYPE_DTYPE, &number);
  if (gemel__onnx_dtype(number, &dtype, in->error) != GEMEL_OK) {
    gemel__error_prefix(in->error, "input %s", name);
    return in->error->status;
  }
  while (gemel__proto_next(&shape, GEMEL__SHAPE_DIM, &field)) {
    int64_t size = 0;
    gemel__proto_int(field.span, GEMEL__DIM_VALUE, &size);
    if (rank == GEMEL_MAX_RANK || size < 0) {
      return gemel__fail(in->error, GEMEL_BAD_SHAPE,
                         "input %s has a size below 0, or more than %d axes", name, GEMEL_MAX_RANK);
    }
    dims[rank] = read_dim(in, field.span, name, rank, (int)axes);
    rank++;
  }
  *type = gemel_type_new(in->context, dtype, rank, dims, GEMEL_SPACE_HOST);
  return gemel_type_is_none(*type) ? gemel__no_memory(in->error, "an input's type") : GEMEL_OK;
}

static gemel_status take_graph_error(gemel__importer *in) {
  *in->error = *gemel_graph_error(in->graph);
  return in->error->status;
}

/* The tensor that the options bind the input NAME to, or NULL. */
static gemel_tensor *bound_to(const gemel__importer *in, const char *name) {
  for (size_t k = 0; in->options != NULL && k < in->options->n_constants; k++) {
    if (strcmp(in->options->names[k], name) == 0) {
      return in->options->tensors[k];
    }
  }
  return NULL;
}

static gemel_status define_input(gemel__importer *in, gemel__wire_span value) {
  gemel__wire_span called = gemel__proto_span(value, GEMEL__VALUE_NAME);
  gemel__onnx_value input = {0};
  gemel_type type;
  char *name = gemel__onnx_name_of(&in->arena, called);
  if (name == NULL) {
    return gemel__no_memory(in->error, "an input");
  }
  if (gemel__onnx_names_find(&in->names, called, in->weights) != NULL) {
    return gemel__fail(in->error, GEMEL_BAD_FILE, "two inputs are called '%.*s'", SHOWN(called));
  }
  if (find_value(in, called) != NULL) {
    return GEMEL_OK; /* a weight, which the file lists among the inputs too */
  }
  input.bound = bound_to(in, name);
  if (input.bound != NULL) {
    return define_value(in, called, input) != NULL ? GEMEL_OK : in->error->status;
  }
  GEMEL__TRY(read_type(in, value, name, &type));
  input.value = gemel_input_at(in->graph, name, type, nowhere);
  if (gemel_is_null(input.value)) {
    return take_graph_error(in);
  }
  return define_value(in, called, input) != NULL ? GEMEL_OK : in->error->status;
}

/* The input called NAME, or the null value. */
static gemel_value input_called(const gemel__importer *in, const char *name) {
  const char *interned = gemel__intern_string(in->context, name);
  const gemel_graph *graph = in->graph;
  long at =
      interned != NULL ? gemel__name_find(&graph->input_table, graph->input_names, interned) : -1;
  return at >= 0 ? gemel_graph_input(graph, (size_t)at) : (gemel_value){NULL, 0, 0};
}

/* Weight K of the main graph as an input. */
static gemel_status weight_as_input(gemel__importer *in, size_t k, gemel_value *value) {
  gemel_tensor *tensor = gemel_onnx_weight(in->model, k, in->error);
  if (tensor == NULL) {
    return in->error->status;
  }
  gemel_type type = gemel_type_of_shape(in->context, gemel_tensor_dtype(tensor),
                                        gemel_tensor_rank(tensor), gemel_tensor_shape(tensor));
  const char *name = in->options->inputs[k];
  gemel_tensor_unref(tensor);
  *value = input_called(in, name);
  if (gemel_is_null(*value) || !gemel_type_equal(gemel_value_type(*value), type)) {
    *value = gemel_input_at(in->graph, name, type, nowhere);
  }
  return gemel_is_null(*value) ? take_graph_error(in) : GEMEL_OK;
}

static gemel_status define_initializers(gemel__importer *in, gemel__wire_span graph, int main) {
  gemel__wire_field field;
  if (gemel__proto_count(graph, GEMEL__GRAPH_SPARSE_INITIALIZER) > 0) {
    return gemel__fail(in->error, GEMEL_UNSUPPORTED, "sparse initialisers");
  }
  for (size_t k = 0; gemel__proto_next(&graph, GEMEL__GRAPH_INITIALIZER, &field); k++) {
    gemel__onnx_value value = {.tensor = field.span};
    if (main && in->options != NULL && in->options->inputs != NULL &&
        in->options->inputs[k] != NULL) {
      GEMEL__TRY(weight_as_input(in, k, &value.value));
    }
    if (define_value(in, gemel__proto_span(field.span, GEMEL__TENSOR_NAME), value) == NULL) {
      return in->error->status;
    }
  }
  return GEMEL_OK;
}

static gemel_status define_inputs(gemel__importer *in) {
  gemel__wire_span rest = in->model->graph;
  gemel__wire_field field;
  while (gemel__proto_next(&rest, GEMEL__GRAPH_INPUT, &field)) {
    GEMEL__TRY(define_input(in, field.span));
  }
  return GEMEL_OK;
}

static gemel_status make_output(gemel__importer *in, gemel__wire_span called) {
  gemel__onnx_value *result = find_value(in, called);
  gemel__onnx_call call = {
      .importer = in, .graph = in->graph, .context = in->context, .arena = &in->arena};
  char *name = gemel__onnx_name_of(&in->arena, called);
  if (name == NULL) {
    return gemel__no_memory(in->error, "an output");
  }
  if (result == NULL) {
    return gemel__fail(in->error, GEMEL_BAD_FILE, "nothing makes the output %s", name);
  }
  gemel_value value = gemel__onnx_value_in(&call, result);
  return gemel_is_null(value) || gemel_output(value, name) != GEMEL_OK ? take_graph_error(in)
                                                                       : GEMEL_OK;
}

static gemel_status define_graph_outputs(gemel__importer *in) {
  gemel__wire_span rest = in->model->graph;
  gemel__wire_field field;
  while (gemel__proto_next(&rest, GEMEL__GRAPH_OUTPUT, &field)) {
    GEMEL__TRY(make_output(in, gemel__proto_span(field.span, GEMEL__VALUE_NAME)));
  }
  return GEMEL_OK;
}

/* 1 if a size of an input of the model is the symbol NAME. */
static int has_symbol(gemel__importer *in, const char *name) {
  gemel__wire_span inputs = in->model->graph;
  gemel__wire_field input, dim;
  while (gemel__proto_next(&inputs, GEMEL__GRAPH_INPUT, &input)) {
    gemel__wire_span type = gemel__proto_span(input.span, GEMEL__VALUE_TYPE);
    gemel__wire_span shape =
        gemel__proto_span(gemel__proto_span(type, GEMEL__TYPE_TENSOR), GEMEL__TENSOR_TYPE_SHAPE);
    while (gemel__proto_next(&shape, GEMEL__SHAPE_DIM, &dim)) {
      gemel__wire_span symbol = gemel__proto_span(dim.span, GEMEL__DIM_PARAM);
      char *called = symbol.length > 0 ? gemel__onnx_name_of(&in->arena, symbol) : NULL;
      if (called != NULL && strcmp(called, name) == 0) {
        return 1;
      }
    }
  }
  return 0;
}

/* Arrays beside a count that isn't 0 are there, and names in them. */
static gemel_status check_arrays(const gemel_onnx_options *o, gemel_error *error) {
  if ((o->n_symbols > 0 && (o->symbols == NULL || o->sizes == NULL)) ||
      (o->n_constants > 0 && (o->names == NULL || o->tensors == NULL))) {
    return gemel__null(error, "an array of gemel_onnx_options");
  }
  for (size_t k = 0; k < o->n_symbols; k++) {
    if (o->symbols[k] == NULL) {
      return gemel__null(error, "a symbol of gemel_onnx_options");
    }
  }
  for (size_t k = 0; k < o->n_constants; k++) {
    if (o->names[k] == NULL) {
      return gemel__null(error, "a name of gemel_onnx_options");
    }
  }
  return GEMEL_OK;
}

static gemel_status check_symbols(gemel__importer *in) {
  for (size_t k = 0; in->options != NULL && k < in->options->n_symbols; k++) {
    if (!has_symbol(in, in->options->symbols[k])) {
      return gemel__fail(in->error, GEMEL_NOT_FOUND, "no input has a size called %s",
                         in->options->symbols[k]);
    }
  }
  return GEMEL_OK;
}

static gemel_status import_all(gemel__importer *in) {
  GEMEL__TRY(check_symbols(in));
  GEMEL__TRY(list_functions(in));
  GEMEL__TRY(define_initializers(in, in->model->graph, 1));
  in->weights = in->names.count;
  GEMEL__TRY(define_inputs(in));
  GEMEL__TRY(apply_nodes(in, in->model->graph, GEMEL__GRAPH_NODE));
  return define_graph_outputs(in);
}

gemel_graph *gemel_onnx_graph(const gemel_onnx *model, gemel_context *context,
                              const gemel_onnx_options *options, char **name, gemel_error *error) {
  gemel_error own;
  gemel_onnx_options taken;
  if (model == NULL || context == NULL) {
    gemel__null(error, model == NULL ? "the model" : "the context");
    return NULL;
  }
  if (options != NULL && options->size > offsetof(gemel_onnx_options, like) &&
      options->like != NULL && gemel_graph_context(options->like) != context) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "gemel_onnx_options: like is of another context");
    return NULL;
  }
  if (options != NULL && (gemel__take_options(&taken, sizeof taken, options, "gemel_onnx_options",
                                              error) != GEMEL_OK ||
                          check_arrays(&taken, error) != GEMEL_OK)) {
    return NULL;
  }
  gemel__importer in = {.model = model,
                        .options = options != NULL ? &taken : NULL,
                        .context = context,
                        .error = error != NULL ? error : &own,
                        .opset = opset_of(model->bytes, GEMEL__MODEL_OPSET)};
  in.graph = gemel_graph_new(context, in.error);
  if (in.graph != NULL && import_all(&in) != GEMEL_OK) {
    gemel__error_prefix(in.error, "%s", model->name);
    gemel_graph_unref(in.graph);
    in.graph = NULL;
  }
  if (in.graph != NULL && name != NULL) {
    *name = gemel__copy_string(model->graph_name);
    if (*name == NULL) {
      gemel__no_memory(in.error, "a name");
      gemel_graph_unref(in.graph);
      in.graph = NULL;
    }
  }
  gemel__onnx_forget_folded(&in);
  gemel__onnx_names_clear(&in.names);
  gemel__onnx_names_clear(&in.functions);
  gemel__arena_clear(&in.arena);
  return in.graph;
}
