/* SPDX-License-Identifier: MIT
 *
 * Opcodes that are formulas (texts.h). An operator's operands are the instruction's; of its
 * attributes "sizes", ints, are the sizes of the result, "to", a dtype, is its dtype, and others
 * are the instruction's own.
 */
#include "hlo/texts.h"

#include <string.h>
#include "composites/composites.h"
#include "core/graph.h"
#include "core/value.h"

enum { LONGEST = 60 };

/* The operator for C's opcode; NULL: none, or an error. */
static const gemel__composite *find_operator(gemel__hlo_call *c) {
  char name[LONGEST];
  gemel_error error = {0};
  size_t n = c->instr->opcode.length;
  if (n >= sizeof name) {
    return NULL;
  }
  for (size_t k = 0; k < n; k++) {
    char letter = c->instr->opcode.text[k];
    name[k] = letter == '-' ? '_' : letter;
  }
  const gemel__composite *found =
      gemel__operator_find(c->import->context, "hlo", 3, name, n, &error);
  if (error.status != GEMEL_OK) {
    gemel__graph_take_error(c->graph, &error);
  }
  return found;
}

/* The text of attribute NAME, without quotes. */
static int take_string(gemel__hlo_call *c, gemel_attr *attr) {
  gemel__hlo_span span = gemel__hlo_attr_of(c->instr, attr->name);
  int quoted = span.length >= 2 && span.text[0] == '"';
  char *copy = span.text != NULL ? gemel__hlo_room(c, span.length + 1) : NULL;
  if (copy != NULL) {
    memcpy(copy, span.text + quoted, span.length - 2 * (size_t)quoted);
    copy[span.length - 2 * (size_t)quoted] = '\0';
  }
  attr->u.text = copy;
  return copy != NULL;
}

/* The integers of attribute NAME. */
static int take_ints(gemel__hlo_call *c, gemel_attr *attr) {
  int64_t *values = gemel__hlo_room(c, GEMEL_MAX_RANK * sizeof *values);
  int n = 0;
  if (values == NULL || !gemel__hlo_ints(c, attr->name, &n, values)) {
    return -1;
  }
  attr->u.ints = values;
  attr->count = (size_t)n;
  return 1;
}

/* 1 and ATTR's value, 0 if the instruction has none, -1 with the graph's error. */
static int take_attr(gemel__hlo_call *c, gemel_attr *attr) {
  const gemel__hlo_shape *shape = &c->instr->shape;
  int is_there = gemel__hlo_attr_of(c->instr, attr->name).text != NULL;
  if (attr->kind == GEMEL_ATTR_DTYPE) {
    attr->u.dtype = (gemel_dtype)shape->dtype;
    return shape->dtype >= 0;
  }
  if (attr->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT) && strcmp(attr->name, "sizes") == 0) {
    attr->u.ints = shape->dims;
    attr->count = (size_t)shape->rank;
    return 1;
  }
  if (!is_there) {
    return 0;
  }
  switch (attr->kind) {
  case GEMEL_ATTR_INT:
    return gemel__hlo_int(c, attr->name, 0, &attr->u.i) ? 1 : -1;
  case GEMEL_ATTR_STRING:
    return take_string(c, attr) ? 1 : -1;
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
    return take_ints(c, attr);
  default:
    return 0;
  }
}

/* The attributes of O that the instruction gives; -1 with the graph's error. */
static long take_attrs(gemel__hlo_call *c, const gemel__composite *o, gemel_attr *attrs) {
  long n = 0;
  for (size_t k = o->n_operands; k < o->n_params; k++) {
    attrs[n] = (gemel_attr){.name = o->params[k].name, .kind = o->params[k].spec.kind};
    int found = take_attr(c, &attrs[n]);
    if (found < 0) {
      return -1;
    }
    n += found;
  }
  return n;
}

int gemel__hlo_by_text(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__composite *o = find_operator(c);
  gemel_attr attrs[GEMEL__MOST_PARAMS];
  size_t n = c->instr->n_operands;
  gemel_value *inputs = gemel__hlo_room(c, n * sizeof *inputs), first;
  if (o == NULL || inputs == NULL) {
    return o != NULL ? 0 : gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "gemel doesn't read it");
  }
  if (n < (size_t)o->record.min_inputs ||
      (o->record.max_inputs >= 0 && n > (size_t)o->record.max_inputs)) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it has %zu operands", n);
  }
  for (size_t k = 0; k < n; k++) {
    inputs[k] = gemel__hlo_operand(c, k);
    if (gemel_is_null(inputs[k])) {
      return 0;
    }
  }
  long n_attrs = take_attrs(c, o, attrs);
  if (n_attrs < 0) {
    return 0;
  }
  gemel__operator_node node = {.n_results = 1};
  gemel__composite_expand(c->graph, o, &node, n, inputs, (size_t)n_attrs, attrs, 1, &first,
                          c->where);
  return gemel__hlo_give(result, first);
}
