/* SPDX-License-Identifier: MIT
 *
 * Operators by name. One is a row of operators.def, whose function is written in C, or a text: of
 * onnx.operators, or of a program's own. A text has a node's inputs as its operands, and attributes
 * by their names; one with "at K" may be an input, too, which must then be known.
 */
#include "onnx/operators.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "composites/composites.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/schema.h"
#include "core/value.h"
#include "onnx/import.h"
#include "text/file.h"

static const gemel__onnx_row rows[] = {
#define OPERATOR(domain, name, least, most, build, as)                                             \
  {domain, #name, least, most, build, as, NULL},
#include "onnx/operators.def"
};

/* The names in onnx.operators. */
static const struct {
  const char *domain, *name;
} texts[] = {
#include "onnx/texts.def"
};

enum { N_ROWS = sizeof rows / sizeof *rows, N_TEXTS = sizeof texts / sizeof *texts };

const char *gemel_onnx_operator(size_t k, const char **domain) {
  if (k >= N_ROWS + N_TEXTS) {
    return NULL;
  }
  if (domain != NULL) {
    *domain = k < N_ROWS ? rows[k].domain : texts[k - N_ROWS].domain;
  }
  return k < N_ROWS ? rows[k].name : texts[k - N_ROWS].name;
}

static int is_in_c(const char *domain, const char *name) {
  for (size_t k = 0; k < N_ROWS; k++) {
    if (strcmp(rows[k].name, name) == 0 && strcmp(rows[k].domain, domain) == 0) {
      return 1;
    }
  }
  return 0;
}

gemel_status gemel_define_composites(gemel_context *context, const char *text, size_t length,
                                     const char *file, gemel_error *error) {
  if (context == NULL || text == NULL) {
    return gemel__null(error, context == NULL ? "the context" : "the text");
  }
  return gemel__composites_define(context, text, length, file != NULL ? file : "text", is_in_c,
                                  error);
}

gemel_status gemel_load_composites(gemel_context *context, const char *path, gemel_error *error) {
  gemel_error local;
  char *text;
  size_t length;
  error = error != NULL ? error : &local;
  if (context == NULL || path == NULL) {
    return gemel__null(error, context == NULL ? "the context" : "the path");
  }
  gemel_status status = gemel__file_read(path, GEMEL__MOST_TEXT, &text, &length, error);
  if (status != GEMEL_OK) {
    return status;
  }
  status = gemel_define_composites(context, text, length, path, error);
  gemel__free(text, length + 1);
  return status;
}

/* ---- A node's attributes ---- */

/* Input K, one number that is known, as a size. */
static gemel_dim size_of_input(gemel__onnx_call *c, size_t k) {
  const gemel__sizes *sizes = gemel__onnx_sizes(c, k);
  double n;
  if (sizes != NULL && sizes->count == 1) {
    return sizes->dims[0];
  }
  return sizes == NULL && gemel__onnx_number(c, k, &n) && n >= 0 && n <= INT32_MAX
             ? gemel_dim_constant(c->context, (int64_t)n)
             : GEMEL_DIM_NONE;
}

static int unknown_input(gemel__onnx_call *c, size_t k, const char *what) {
  if (gemel_graph_error(c->graph)->status == GEMEL_OK) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "input %zu must be %s before the graph runs", k, what);
  }
  return -1;
}

/* *ATTR = input K, one integer or a list of them: 1, or -1 and the graph's error. */
static int integers_of_input(gemel__onnx_call *c, size_t k, gemel_attr *attr) {
  gemel__int_list list;
  if (!gemel__onnx_integers(c, k, &list)) {
    return -1;
  }
  if (attr->kind == GEMEL_ATTR_INT && list.count != 1) {
    return unknown_input(c, k, "one integer that is known");
  }
  if (attr->kind == GEMEL_ATTR_INT) {
    attr->u.i = list.values[0];
  } else {
    attr->count = list.count;
    attr->u.ints = list.values;
  }
  return 1;
}

/* *ATTR = input K, as its kind wants it: 1, or -1 and the graph's error. */
static int attribute_of_input(gemel__onnx_call *c, size_t k, gemel_attr *attr) {
  const gemel__sizes *sizes;
  switch (attr->kind) {
  case GEMEL_ATTR_FLOAT:
    return gemel__onnx_number(c, k, &attr->u.f) ? 1 : unknown_input(c, k, "a number that is known");
  case GEMEL_ATTR_DIM:
    attr->u.dim = size_of_input(c, k);
    return gemel_dim_is_none(attr->u.dim) ? unknown_input(c, k, "a size that is known") : 1;
  case GEMEL_ATTR_LIST | GEMEL_ATTR_DIM:
    sizes = gemel__onnx_sizes(c, k);
    if (sizes == NULL) {
      return unknown_input(c, k, "sizes that are known");
    }
    attr->count = sizes->count;
    attr->u.dims = sizes->dims;
    return 1;
  case GEMEL_ATTR_INT:
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
    return integers_of_input(c, k, attr);
  default:
    return unknown_input(c, k, "left out");
  }
}

/* *ATTR = the dtype that ONNX has this NUMBER for: 1, 0 for none, -1 and the graph's error. */
static int dtype_attribute(gemel__onnx_call *c, int64_t number, gemel_attr *attr) {
  gemel_error error;
  if (number != 0 && gemel__onnx_dtype(number, &attr->u.dtype, &error) != GEMEL_OK) {
    gemel__onnx_refuse(c, error.status, "%s = %lld: %s", attr->name, (long long)number, error.text);
    return -1;
  }
  return number != 0;
}

static int text_attribute(gemel__onnx_call *c, gemel_attr *attr) {
  gemel__wire_span span = gemel__onnx_text(c, attr->name);
  char *text = gemel__onnx_room(c, span.length + 1);
  if (text == NULL) {
    return -1;
  }
  memcpy(text, span.length > 0 ? (const char *)span.bytes : "", span.length);
  text[span.length] = '\0';
  attr->u.text = text;
  return 1;
}

/* *ATTR = the node's attribute of its name: 1, 0 if it isn't there, -1 and the graph's error. */
static int attribute_of_node(gemel__onnx_call *c, gemel_attr *attr) {
  gemel__int_list list;
  int found = 1;
  if (gemel__onnx_attribute(c, attr->name).bytes == NULL) {
    return 0;
  }
  switch (attr->kind) {
  case GEMEL_ATTR_INT:
    attr->u.i = gemel__onnx_int(c, attr->name, 0);
    break;
  case GEMEL_ATTR_FLOAT:
    attr->u.f = gemel__onnx_float(c, attr->name, 0);
    break;
  case GEMEL_ATTR_DTYPE:
    found = dtype_attribute(c, gemel__onnx_int(c, attr->name, 0), attr);
    break;
  case GEMEL_ATTR_STRING:
    found = text_attribute(c, attr);
    break;
  case GEMEL_ATTR_DIM:
    attr->u.dim = gemel_dim_constant(c->context, gemel__onnx_int(c, attr->name, 0));
    break;
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
    found = gemel__onnx_ints(c, attr->name, &list);
    attr->count = list.count;
    attr->u.ints = list.values;
    break;
  default:
    return 0;
  }
  return gemel_graph_error(c->graph)->status == GEMEL_OK ? found : -1;
}

/* 1 if an attribute called NAME is none of O's, though others ask for it by themselves: those of a
 * window, and of an activation. */
static int is_asked_for(gemel__wire_span name) {
  static const char *const names[] = {
      "activation", "activation_alpha", "activation_beta", "activation_gamma", "activation_params",
      "auto_pad",   "dilations",        "group",           "kernel_shape",     "pads",
      "strides"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    if (gemel__wire_is(name, names[k])) {
      return 1;
    }
  }
  return 0;
}

/* Every attribute of the node is one of O's. Before opset 9 operators had some more, of which the
 * library's own have no need. */
static int check_names(gemel__onnx_call *c, const gemel__composite *o) {
  gemel__wire_span rest = c->node;
  gemel__wire_field field;
  int old = c->opset < 9 && gemel__is_own_operator(c->context, o);
  while (!old && gemel__proto_next(&rest, GEMEL__NODE_ATTRIBUTE, &field)) {
    gemel__wire_span name = gemel__proto_span(field.span, GEMEL__ATTRIBUTE_NAME);
    size_t k = o->n_operands;
    while (k < o->n_params && !gemel__wire_is(name, o->params[k].name)) {
      k++;
    }
    if (k == o->n_params && !is_asked_for(name)) {
      gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "it has an attribute %.*s, which isn't known",
                         (int)(name.length < 80 ? name.length : 80), (const char *)name.bytes);
      return -1;
    }
  }
  return 0;
}

/* What C's node gives for the attributes of its text; -1 with the graph's error. */
static long read_attributes(gemel__onnx_call *c, const gemel__composite *o, gemel_attr *attrs) {
  long n = 0;
  if (check_names(c, o) != 0) {
    return -1;
  }
  for (size_t k = o->n_operands; k < o->n_params; k++) {
    const gemel__param *p = &o->params[k];
    attrs[n] = (gemel_attr){.name = p->name, .kind = p->spec.kind};
    int found = attribute_of_node(c, &attrs[n]);
    if (found == 0 && p->input >= 0 && gemel__onnx_given(c, (size_t)p->input)) {
      found = attribute_of_input(c, (size_t)p->input, &attrs[n]);
    }
    if (found < 0) {
      return -1;
    }
    n += found;
  }
  return n;
}

/* ---- A text applied ---- */

/* The node that a text asks. */
typedef struct text_node {
  gemel__operator_node node;
  gemel__onnx_call *c;
} text_node;

/* correlation(x, w), with the window of the node's attributes, and the same of filters in blocks;
 * activated(x), by the activation that they name. */
static int call_of_text(const gemel__operator_node *node, const char *name, size_t n,
                        const gemel_value *operands, gemel_value *result) {
  gemel__onnx_call *c = ((const text_node *)node)->c;
  if (n == 2 && strcmp(name, "correlation") == 0) {
    *result = gemel__onnx_correlate(c, operands[0], operands[1]);
  } else if (n == 1 && strcmp(name, "blocked_correlation") == 0) {
    *result = gemel__onnx_correlate_blocked(c, operands[0]);
  } else if (n == 1 && strcmp(name, "activated") == 0) {
    *result = gemel__onnx_activated(c, operands[0]);
  } else {
    return 1;
  }
  return gemel_is_null(*result) ? -1 : 0;
}

/* Input K of C; null where it may be left out, or the text has no name for it. */
static gemel_value operand_of(gemel__onnx_call *c, const gemel__composite *o, size_t k) {
  const gemel__param *p = k < o->n_operands ? &o->params[k] : NULL;
  int wanted = p == NULL || strcmp(p->name, "_") != 0;
  int needed = p != NULL && p->kind == GEMEL__PARAM_OPERAND;
  return wanted && (needed || gemel__onnx_given(c, k)) ? gemel__onnx_input(c, k) : gemel__no_value;
}

gemel_value gemel__onnx_by_text(gemel__onnx_call *c) {
  const gemel__composite *o = c->row->text;
  text_node node = {{c->opset, c->n_outputs, call_of_text}, c};
  size_t n = o->record.max_inputs < 0 || c->n_inputs < o->n_operands ? c->n_inputs : o->n_operands;
  gemel_value *inputs = gemel__onnx_room(c, (n + 1) * sizeof *inputs);
  gemel_attr *attrs = gemel__onnx_room(c, (o->n_params + 1) * sizeof *attrs);
  if (inputs == NULL || attrs == NULL) {
    return gemel__no_value;
  }
  for (size_t k = 0; k < n; k++) {
    inputs[k] = operand_of(c, o, k);
  }
  long n_attrs =
      gemel_graph_error(c->graph)->status == GEMEL_OK ? read_attributes(c, o, attrs) : -1;
  return n_attrs < 0 ? gemel__no_value
                     : gemel__composite_expand(c->graph, o, &node.node, n, inputs, (size_t)n_attrs,
                                               attrs, c->n_outputs, c->outputs, c->where);
}

/* ---- By name ---- */

static size_t most_inputs(const gemel__composite *o) {
  size_t most = o->n_operands;
  for (size_t k = o->n_operands; k < o->n_params; k++) {
    size_t behind = (size_t)(o->params[k].input + 1);
    most = behind > most ? behind : most;
  }
  return o->record.max_inputs < 0 ? 0 : most;
}

/* O as a row. */
static gemel__onnx_row row_of_text(const gemel__composite *o) {
  size_t most = most_inputs(o);
  return (gemel__onnx_row){.domain = o->domain,
                           .name = o->name,
                           .least = (size_t)o->record.min_inputs,
                           .most = most,
                           .build = gemel__onnx_by_text,
                           .text = o};
}

int gemel__onnx_is_own(gemel__wire_span domain) {
  return domain.length == 0 || gemel__wire_is(domain, "ai.onnx");
}

gemel_status gemel__onnx_find_operator(gemel__onnx_call *c, gemel__wire_span domain,
                                       gemel__wire_span name, gemel_error *error) {
  gemel_error failed;
  int onnx = gemel__onnx_is_own(domain);
  for (size_t k = 0; k < N_ROWS; k++) {
    if (gemel__wire_is(name, rows[k].name) &&
        (onnx ? rows[k].domain[0] == '\0' : gemel__wire_is(domain, rows[k].domain))) {
      c->row = &rows[k];
      return GEMEL_OK;
    }
  }
  const gemel__composite *o = gemel__operator_find(
      c->context, onnx ? "" : (const char *)domain.bytes, onnx ? 0 : domain.length,
      (const char *)name.bytes, name.length, &failed);
  if (failed.status != GEMEL_OK) {
    return gemel__fail(error, failed.status, "%s", failed.text);
  }
  if (o != NULL) {
    c->own_row = row_of_text(o);
    c->row = &c->own_row;
  }
  return GEMEL_OK;
}

/* ---- Activations by name ---- */

static int is_parameter(const gemel__param *p) {
  return p->spec.kind == GEMEL_ATTR_FLOAT &&
         (strcmp(p->name, "alpha") == 0 || strcmp(p->name, "beta") == 0);
}

int gemel__onnx_activation_find(gemel__onnx_call *c, gemel__wire_span name,
                                gemel__onnx_activation *a) {
  gemel_error failed = {0};
  gemel_attr attr = {.kind = GEMEL_ATTR_FLOAT};
  *a = (gemel__onnx_activation){.takes = 2};
  if (gemel__wire_is(name, "Clip")) {
    return 1;
  }
  a->operator_ =
      gemel__operator_find(c->context, "", 0, (const char *)name.bytes, name.length, &failed);
  a->takes = 0;
  int good = a->operator_ != NULL && a->operator_->n_operands == 1 && a->operator_->n_params <= 3;
  for (size_t k = 1; good && k < a->operator_->n_params; k++) {
    const gemel__param *p = &a->operator_->params[k];
    good = is_parameter(p) && gemel__schema_fallback(&p->spec, &attr) == 0;
    a->fallback[a->takes++] = (double)(float)attr.u.f;
  }
  if (!good) {
    gemel__onnx_refuse(c, failed.status != GEMEL_OK ? failed.status : GEMEL_UNSUPPORTED,
                       "the activation %.*s", (int)name.length, (const char *)name.bytes);
  }
  return good;
}

gemel_value gemel__onnx_activate(gemel__onnx_call *c, const gemel__onnx_activation *a,
                                 gemel_value x, const double *parameters) {
  gemel__operator_node node = {c->opset, 1, NULL};
  gemel_attr attrs[2];
  gemel_value result;
  if (a->operator_ == NULL || gemel_is_null(x)) {
    return gemel_is_null(x) ? x : gemel__onnx_clip_to(c, x, parameters[0], parameters[1]);
  }
  for (size_t k = 0; k < a->takes; k++) {
    attrs[k] = (gemel_attr){
        .name = a->operator_->params[k + 1].name, .kind = GEMEL_ATTR_FLOAT, .u.f = parameters[k]};
  }
  return gemel__composite_expand(x.graph, a->operator_, &node, 1, &x, a->takes, attrs, 1, &result,
                                 c->where);
}

/* Parameter K of the activation: of the list activation_params, or activation_alpha and _beta;
 * FALLBACK if it is absent. */
static double parameter(const gemel__onnx_call *c, size_t k, double fallback) {
  fallback = gemel__onnx_float(c, k == 0 ? "activation_alpha" : "activation_beta", fallback);
  return gemel__onnx_float_at(c, "activation_params", k, fallback);
}

gemel_value gemel__onnx_activated(gemel__onnx_call *c, gemel_value x) {
  gemel__wire_span name = gemel__onnx_text(c, "activation");
  gemel__onnx_activation a;
  if (name.length == 0) {
    return x;
  }
  if (!gemel__onnx_activation_find(c, name, &a)) {
    return gemel__no_value;
  }
  double parameters[2] = {parameter(c, 0, a.fallback[0]), parameter(c, 1, a.fallback[1])};
  return gemel__onnx_activate(c, &a, x, parameters);
}
