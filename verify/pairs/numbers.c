/* SPDX-License-Identifier: MIT
 *
 * Whole numbers that a graph is written with, see numbers.h.
 */
#include "pairs/numbers.h"

#include <math.h>
#include "base/element.h"
#include "core/graph.h"
#include "core/tensor.h"

static int visit_body(const gemel_graph *body, void (*visit)(void *user, const gemel_graph *graph),
                      void *user) {
  return body->nesting <= GEMEL_MAX_NESTING && body->expanded <= GEMEL_MAX_BODIES &&
         gemel__graph_visit(body, visit, user);
}

int gemel__graph_visit(const gemel_graph *graph,
                       void (*visit)(void *user, const gemel_graph *graph), void *user) {
  int all = 1;
  visit(user, graph);
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    const struct gemel__attrs *attrs = gemel__attrs_at(graph->context, graph->nodes[k].attrs);
    for (size_t j = 0; attrs->nesting > 0 && j < attrs->count; j++) {
      const gemel_attr *a = &attrs->values[j];
      if (a->kind == GEMEL_ATTR_GRAPH) {
        all &= visit_body(a->u.graph, visit, user);
      }
      for (size_t i = 0; a->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH) && i < a->count; i++) {
        all &= visit_body(a->u.graphs[i], visit, user);
      }
    }
  }
  return all;
}

int gemel__whole_number(const gemel_tensor *tensor, size_t k, int64_t *number) {
  double x = gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, k));
  int whole = gemel_tensor_dtype(tensor) != GEMEL_BOOL && fabs(x) < 0x1p53 && x == floor(x);
  *number = whole ? (int64_t)x : 0;
  return whole;
}

const gemel_tensor *gemel__numbers_in(const gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  if (record->op != GEMEL__OP_constant) {
    return NULL;
  }
  const gemel_tensor *tensor = gemel__attrs_at(graph->context, record->attrs)->values[0].u.tensor;
  return gemel_tensor_elements(tensor) <= GEMEL__MOST_NUMBERS ? tensor : NULL;
}

struct reader {
  void (*note)(void *user, int64_t number);
  void *user;
};

static void read_attr(const struct reader *r, gemel_context *context, const gemel_attr *a) {
  int dims = a->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM);
  size_t count = dims ? a->count : a->kind == GEMEL_ATTR_DIM;
  int64_t number;
  if (a->kind == GEMEL_ATTR_INT) {
    r->note(r->user, a->u.i);
  }
  for (size_t k = 0; k < count; k++) {
    if (gemel_dim_is_constant(context, dims ? a->u.dims[k] : a->u.dim, &number)) {
      r->note(r->user, number);
    }
  }
}

static void read_graph(void *user, const gemel_graph *graph) {
  const struct reader *r = user;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    const struct gemel__attrs *attrs =
        gemel__attrs_at(graph->context, gemel__node_at(graph, k)->attrs);
    const gemel_tensor *tensor = gemel__numbers_in(graph, k);
    int64_t number;
    for (int64_t j = 0; tensor != NULL && j < gemel_tensor_elements(tensor); j++) {
      if (gemel__whole_number(tensor, (size_t)j, &number)) {
        r->note(r->user, number);
      }
    }
    for (size_t j = 0; j < attrs->count; j++) {
      read_attr(r, graph->context, &attrs->values[j]);
    }
  }
}

void gemel__numbers_each(const gemel_graph *graph, void (*note)(void *user, int64_t number),
                         void *user) {
  struct reader r = {note, user};
  gemel__graph_visit(graph, read_graph, &r);
}

/* ---- Constants in common ---- */

enum { MOST_CONSTANTS = 64 };

/* 1 if all elements of the constant NODE are whole numbers, and few. */
static int is_whole(const gemel_graph *graph, uint32_t node) {
  const gemel_tensor *tensor = gemel__numbers_in(graph, node);
  int64_t number;
  size_t k = 0, n = tensor != NULL ? (size_t)gemel_tensor_elements(tensor) : 0;
  while (k < n && gemel__whole_number(tensor, k, &number)) {
    k++;
  }
  return tensor != NULL && k == n;
}

/* Adds to ATTRS, of MOST_CONSTANTS + 1, the attributes of each constant that isn't whole; returns
 * how many there are, or MOST_CONSTANTS + 1 if that can't be told. */
static size_t fractions(const gemel_graph *graph, uint32_t *attrs) {
  size_t n = 0;
  for (uint32_t k = 0; k < graph->n_nodes && n <= MOST_CONSTANTS; k++) {
    const gemel__node *node = gemel__node_at(graph, k);
    if (gemel__attrs_at(graph->context, node->attrs)->nesting > 0) {
      return MOST_CONSTANTS + 1;
    }
    if (node->op == GEMEL__OP_constant && !is_whole(graph, k)) {
      attrs[n++] = node->attrs;
    }
  }
  return n;
}

static int has(const uint32_t *attrs, size_t n, uint32_t one) {
  size_t k = 0;
  while (k < n && attrs[k] != one) {
    k++;
  }
  return k < n;
}

int gemel__constants_alike(const gemel_graph *a, const gemel_graph *b) {
  uint32_t of_a[MOST_CONSTANTS + 1], of_b[MOST_CONSTANTS + 1];
  size_t n = fractions(a, of_a), m = fractions(b, of_b);
  int alike = n <= MOST_CONSTANTS && m <= MOST_CONSTANTS;
  for (size_t k = 0; k < n && alike; k++) {
    alike = has(of_b, m, of_a[k]);
  }
  for (size_t k = 0; k < m && alike; k++) {
    alike = has(of_a, n, of_b[k]);
  }
  return alike;
}
