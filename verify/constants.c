/* SPDX-License-Identifier: MIT
 *
 * Constants that are roundings, see constants.h. The parts of BY that depend on no input are copied
 * into a graph of their own, the offers, where operations on the scalars among them are added; all
 * of it is evaluated in domain B, which gives for each offer the ball of what a correct
 * implementation may have computed. A constant of GRAPH in such a ball is a rounding of that offer.
 * An offer that no rounding takes part in has a ball without extent, so nothing but that very
 * number lies in it, and a constant that is off by more than rounding finds no offer.
 */
#include "constants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "contrast.h"
#include "domains/bound.h"
#include "instance.h"
#include "rebuild.h"

enum { MOST_SCALARS = 16, MOST_ELEMENTS = 1 << 12, MOST_OFFERS = 4096, MOST_FOUND = 256 };

struct search {
  const gemel_graph *graph, *by;
  gemel_graph *offers;
  gemel_value *copies; /* of BY's nodes; null: not closed */
  gemel_value *all;    /* the offers, parts of BY first */
  size_t n, n_parts;
  gemel__bound *bound;
  gemel__rtensor *values;        /* by offer */
  gemel__edit *edits;            /* by node of GRAPH */
  gemel_value found[MOST_FOUND]; /* by new leaf: the offer */
  char names[MOST_FOUND][32];
  size_t n_found;
};

static int is_constant(const gemel_graph *graph, size_t node) {
  return strcmp(gemel__node_op(graph, (uint32_t)node)->record.name, "constant") == 0;
}

/* ---- The parts of BY that depend on no input ---- */

static int is_known(gemel_context *context, const gemel_dim *dims, size_t n) {
  int64_t size;
  for (size_t k = 0; k < n; k++) {
    if (!gemel_dim_is_constant(context, dims[k], &size)) {
      return 0;
    }
  }
  return 1;
}

static int attrs_known(const gemel_graph *graph, uint32_t node) {
  gemel_context *context = graph->context;
  const gemel__op *op = gemel__node_op(graph, node);
  const gemel_attr *attrs =
      op->n_attrs > 0 ? gemel__attrs_at(context, graph->nodes[node].attrs)->values : NULL;
  for (size_t k = 0; k < op->n_attrs; k++) {
    if ((attrs[k].kind == GEMEL_ATTR_DIM && !is_known(context, &attrs[k].u.dim, 1)) ||
        (attrs[k].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM) &&
         !is_known(context, attrs[k].u.dims, attrs[k].count)) ||
        (attrs[k].kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_GRAPH) {
      return 0;
    }
  }
  return 1;
}

/* 1 if what NODE gives is one value, whatever the inputs, and not a large one. */
static int is_closed(const struct search *s, uint32_t node) {
  const gemel_graph *by = s->by;
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(by, node, &count);
  const struct gemel__type *type;
  int64_t elements = 1, size;
  if (gemel__has_output(by, node, 1) || !gemel__has_output(by, node, 0) ||
      strcmp(gemel__node_op(by, node)->record.name, "input") == 0 || !attrs_known(by, node)) {
    return 0;
  }
  for (uint32_t k = 0; k < count; k++) {
    if (gemel_is_null(s->copies[inputs[k].node])) {
      return 0;
    }
  }
  type = gemel__type_at(by->context, gemel__node_type(by, node, 0));
  for (int k = 0; k < type->rank; k++) {
    if (!gemel_dim_is_constant(by->context, type->dims[k], &size) || size > MOST_ELEMENTS) {
      return 0;
    }
    elements *= size;
    if (elements > MOST_ELEMENTS) {
      return 0;
    }
  }
  return 1;
}

static gemel_status copy_node(struct search *s, uint32_t node, gemel_error *error) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(s->by, node, &count);
  gemel_value *operands = gemel__alloc_array(count + 1, sizeof *operands);
  if (operands == NULL) {
    return gemel__no_memory(error, "constants");
  }
  for (uint32_t k = 0; k < count; k++) {
    operands[k] = s->copies[inputs[k].node];
  }
  s->copies[node] = gemel__apply(s->offers, s->by->nodes[node].op, s->by->nodes[node].attrs, count,
                                 operands, (gemel_location){"", 0});
  gemel__free(operands, (count + 1) * sizeof *operands);
  return gemel_graph_error(s->offers)->status;
}

static int is_float(const gemel_graph *graph, gemel_value value) {
  return gemel_dtype_kind(gemel_type_dtype(graph->context, gemel_value_type(value))) ==
         GEMEL_KIND_FLOAT;
}

static gemel_status offer_parts(struct search *s, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < s->by->n_nodes && status == GEMEL_OK && s->n < MOST_OFFERS / 2; k++) {
    if (is_closed(s, (uint32_t)k)) {
      status = copy_node(s, (uint32_t)k, error);
      if (status == GEMEL_OK && is_float(s->offers, s->copies[k])) {
        s->all[s->n++] = s->copies[k];
      }
    }
  }
  s->n_parts = s->n;
  return status;
}

/* ---- One operation more ---- */

static void offer(struct search *s, const char *name, size_t n, gemel_value x, gemel_value y) {
  gemel_value operands[2] = {x, y}, made;
  if (s->n < MOST_OFFERS) {
    made = gemel_apply(s->offers, name, n, operands, 0, NULL);
    if (!gemel_is_null(made)) {
      s->all[s->n++] = made;
    }
  }
}

static void offer_pair(struct search *s, gemel_value x, gemel_value y) {
  if (gemel_value_type(x) != gemel_value_type(y)) {
    return;
  }
  offer(s, "add", 2, x, y);
  offer(s, "mul", 2, x, y);
  offer(s, "sub", 2, x, y);
  offer(s, "sub", 2, y, x);
  offer(s, "div", 2, x, y);
  offer(s, "div", 2, y, x);
}

static gemel_status offer_operations(struct search *s) {
  gemel_value scalars[2 * MOST_SCALARS];
  gemel_context *context = s->offers->context;
  size_t n = 0;
  for (size_t k = 0; k < s->n_parts && n < MOST_SCALARS; k++) {
    if (gemel_type_rank(context, gemel_value_type(s->all[k])) == 0) {
      scalars[n++] = s->all[k];
    }
  }
  for (size_t k = 0, parts = n; k < parts; k++) { /* 1, for inverses */
    gemel_dtype dtype = gemel_type_dtype(context, gemel_value_type(scalars[k]));
    offer(s, "neg", 1, scalars[k], scalars[k]);
    scalars[n++] = gemel_scalar(s->offers, dtype, 1);
  }
  for (size_t k = 0; k < n; k++) {
    for (size_t j = 0; j <= k; j++) {
      offer_pair(s, scalars[k], scalars[j]);
    }
  }
  return gemel_graph_error(s->offers)->status;
}

/* ---- Finding ---- */

static gemel_status evaluate(struct search *s, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < s->n && status == GEMEL_OK; k++) {
    char name[32];
    snprintf(name, sizeof name, "offer%u", (unsigned)k);
    status = gemel_output(s->all[k], name);
  }
  return status ? status
                : gemel__reference_graph(s->offers, &s->bound->domain, NULL, s->values, NULL, NULL,
                                         error);
}

/* 1 if TENSOR is what a correct implementation may have made of offer K. */
static int may_be(struct search *s, const gemel_tensor *tensor, size_t k) {
  gemel__rtensor *r = &s->values[k];
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  double small = ldexp(1, 6 - gemel__significand(dtype)); /* a wide ball would explain anything */
  if (r->dtype != dtype || r->rank != gemel_tensor_rank(tensor) ||
      memcmp(r->shape, gemel_tensor_shape(tensor), (size_t)r->rank * sizeof *r->shape) != 0) {
    return 0;
  }
  for (size_t i = 0; i < r->count; i++) {
    const void *e = gemel__rtensor_at(r, i);
    double x = gemel__decode(dtype, gemel__tensor_element(tensor, i));
    if (!(gemel__bound_relative(&s->bound->domain, e) <= small) ||
        !(gemel__bound_ratio(&s->bound->domain, e, dtype, x) <= 1)) {
      return 0;
    }
  }
  return r->count > 0;
}

static void explain(struct search *s, size_t node) {
  const gemel_tensor *tensor =
      gemel__attrs_at(s->graph->context, s->graph->nodes[node].attrs)->values[0].u.tensor;
  for (size_t k = 0; k < s->n && s->n_found < MOST_FOUND; k++) {
    if (may_be(s, tensor, k)) {
      s->edits[node].kind = GEMEL__EDIT_LEAF;
      s->edits[node].leaf = s->n_found;
      s->found[s->n_found++] = s->all[k];
      return;
    }
  }
}

static int has_constant(const gemel_graph *graph, uint32_t attrs) {
  for (size_t k = 0; k < graph->n_nodes; k++) {
    if (graph->nodes[k].attrs == attrs && is_constant(graph, k)) {
      return 1;
    }
  }
  return 0;
}

static void find_all(struct search *s) {
  for (size_t k = 0; k < s->graph->n_nodes; k++) {
    if (is_constant(s->graph, k) &&
        is_float(s->graph, gemel__value(s->graph, (gemel__ref){(uint32_t)k, 0})) &&
        !has_constant(s->by, s->graph->nodes[k].attrs)) {
      explain(s, k);
    }
  }
}

/* ---- The copy ---- */

/* GRAPH with an input in place of each constant that was found. */
static gemel_graph *with_leaves(struct search *s, gemel_error *error) {
  size_t n = gemel_graph_output_count(s->graph);
  gemel__ref *outputs = gemel__alloc_array(n, sizeof *outputs);
  const char **names = gemel__alloc_array(n, sizeof *names), *labels[MOST_FOUND];
  gemel_type types[MOST_FOUND];
  gemel__rebuild rebuild = {s->graph, s->edits, NULL, s->n_found, labels, types, n, outputs, names};
  gemel_graph *result = NULL;
  for (size_t k = 0; k < s->n_found; k++) {
    snprintf(s->names[k], sizeof s->names[k], "unrounded%u", (unsigned)k);
    labels[k] = s->names[k];
    types[k] = gemel_value_type(s->found[k]);
  }
  if (outputs != NULL && names != NULL) {
    for (size_t k = 0; k < n; k++) {
      gemel_value output = gemel_graph_output(s->graph, k);
      outputs[k] = (gemel__ref){output.node, output.output};
      names[k] = gemel_graph_output_name(s->graph, k);
    }
    result = gemel__rebuild_graph(&rebuild, error);
  } else {
    gemel__no_memory(error, "constants");
  }
  gemel__free(outputs, n * sizeof *outputs);
  gemel__free(names, n * sizeof *names);
  return result;
}

/* The offers that were found, as a graph without inputs. */
static gemel_graph *expressions(struct search *s, gemel_error *error) {
  gemel__ref outputs[MOST_FOUND];
  const char *names[MOST_FOUND];
  gemel__rebuild rebuild = {s->offers, NULL, NULL, 0, NULL, NULL, s->n_found, outputs, names};
  for (size_t k = 0; k < s->n_found; k++) {
    outputs[k] = (gemel__ref){s->found[k].node, s->found[k].output};
    names[k] = s->names[k];
  }
  return gemel__rebuild_graph(&rebuild, error);
}

/* INTO gets LEAVES, whose last inputs are what EXPRESSIONS gives. */
static gemel_status join(struct search *s, gemel_graph *into, const gemel_graph *leaves,
                         const gemel_graph *given, gemel_error *error) {
  size_t n_in = gemel_graph_input_count(s->graph), n_out = gemel_graph_output_count(s->graph);
  gemel_value *room = gemel__alloc_array(n_in + s->n_found + n_out, sizeof *room);
  gemel_value *outputs = room + n_in + s->n_found;
  gemel_status status = room != NULL ? GEMEL_OK : gemel__no_memory(error, "constants");
  for (size_t k = 0; k < n_in && status == GEMEL_OK; k++) {
    room[k] = gemel_input(into, gemel_graph_input_name(s->graph, k),
                          gemel_value_type(gemel_graph_input(s->graph, k)));
  }
  status = status ? status : gemel__graph_inline(into, given, NULL, room + n_in, error);
  status = status ? status : gemel__graph_inline(into, leaves, room, outputs, error);
  for (size_t k = 0; k < n_out && status == GEMEL_OK; k++) {
    status = gemel_output(outputs[k], gemel_graph_output_name(s->graph, k));
  }
  gemel__free(room, (n_in + s->n_found + n_out) * sizeof *room);
  return status;
}

static gemel_graph *copy(struct search *s, gemel_error *error) {
  gemel_graph *leaves = with_leaves(s, error), *given = NULL, *into = NULL;
  if (leaves != NULL && (given = expressions(s, error)) != NULL &&
      (into = gemel_graph_new(s->graph->context, error)) != NULL &&
      join(s, into, leaves, given, error) != GEMEL_OK) {
    gemel_graph_unref(into);
    into = NULL;
  }
  gemel_graph_unref(leaves);
  gemel_graph_unref(given);
  return into;
}

/* ---- All ---- */

static gemel_status open_search(struct search *s, gemel_error *error) {
  s->offers = gemel_graph_new(s->by->context, error);
  s->copies = gemel__alloc_zeroed((s->by->n_nodes + 1) * sizeof *s->copies);
  s->all = gemel__alloc_array(MOST_OFFERS, sizeof *s->all);
  s->values = gemel__alloc_zeroed(MOST_OFFERS * sizeof *s->values);
  s->edits = gemel__alloc_zeroed((s->graph->n_nodes + 1) * sizeof *s->edits);
  s->bound = gemel__bound_new(128);
  return s->offers != NULL && s->copies != NULL && s->all != NULL && s->values != NULL &&
                 s->edits != NULL && s->bound != NULL
             ? GEMEL_OK
             : gemel__no_memory(error, "constants");
}

static void close_search(struct search *s) {
  if (s->values != NULL) {
    gemel__rtensors_clear(s->n, s->values);
  }
  gemel__free(s->copies, (s->by->n_nodes + 1) * sizeof *s->copies);
  gemel__free(s->all, MOST_OFFERS * sizeof *s->all);
  gemel__free(s->values, MOST_OFFERS * sizeof *s->values);
  gemel__free(s->edits, (s->graph->n_nodes + 1) * sizeof *s->edits);
  gemel__bound_free(s->bound);
  gemel_graph_unref(s->offers);
}

gemel_graph *gemel__constants_unrounded(const gemel_graph *graph, const gemel_graph *by,
                                        size_t *count, gemel_error *error) {
  struct search s;
  gemel_graph *result = NULL;
  memset(&s, 0, sizeof s);
  s.graph = graph;
  s.by = by;
  gemel_status status = open_search(&s, error);
  status = status ? status : offer_parts(&s, error);
  status = status ? status : offer_operations(&s);
  status = status ? status : evaluate(&s, error);
  if (status == GEMEL_OK) {
    find_all(&s);
    status = s.n_found > 0 ? GEMEL_OK : gemel__fail(error, GEMEL_DECLINED, "no rounded constants");
  }
  if (status == GEMEL_OK) {
    result = copy(&s, error);
    *count = s.n_found;
  } else if (status != GEMEL_NO_MEMORY) {
    gemel__fail(error, GEMEL_DECLINED, "no rounded constants");
  }
  close_search(&s);
  return result;
}
