/* SPDX-License-Identifier: MIT
 *
 * Values that depend on no input, see closed.h. They are evaluated together, in domain B, whose
 * balls hold whatever a correct implementation computes.
 */
#include "equal/closed.h"

#include <stdio.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "domains/bound.h"
#include "equal/elements.h"
#include "instances/rebuild.h"

void gemel__closed_mark(const gemel_graph *graph, unsigned char *closed) {
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &count);
    closed[k] = gemel__node_at(graph, k)->op != GEMEL__OP_input;
    for (uint32_t j = 0; j < count; j++) {
      closed[k] &= closed[inputs[j].node];
    }
  }
}

struct closed_values {
  const gemel_graph *graph;
  unsigned char *evaluable; /* by node: depends on no input, and on small values alone */
  gemel__ref *refs;         /* the values to be evaluated, N of them */
  const char **names;
  char (*labels)[24];
  size_t n;
};

/* 1 if all results of NODE are small. */
static int is_small(const gemel_graph *graph, uint32_t node) {
  uint32_t n = gemel__node_at(graph, node)->n_outputs, k = 0;
  while (k < n && (!gemel__has_output(graph, node, k) ||
                   gemel__value_elements(gemel__value(graph, (gemel__ref){node, k})) <=
                       GEMEL__LARGE_OFFER)) {
    k++;
  }
  return k == n;
}

/* 1 if NODE computes one float value. */
static int is_computed(const gemel_graph *graph, uint32_t node) {
  return gemel__node_at(graph, node)->op != GEMEL__OP_constant &&
         gemel__has_output(graph, node, 0) && !gemel__has_output(graph, node, 1) &&
         gemel__is_float(gemel_type_dtype(graph->context, gemel__node_type(graph, node, 0)));
}

static void choose(struct closed_values *c, const unsigned char *wanted) {
  gemel__closed_mark(c->graph, c->evaluable);
  for (uint32_t k = 0; k < c->graph->n_nodes; k++) {
    uint32_t count;
    const gemel__ref *inputs = gemel__node_inputs(c->graph, k, &count);
    c->evaluable[k] &= is_small(c->graph, k);
    for (uint32_t j = 0; j < count; j++) {
      c->evaluable[k] &= c->evaluable[inputs[j].node];
    }
    if (c->evaluable[k] && (wanted == NULL || wanted[k]) && is_computed(c->graph, k)) {
      snprintf(c->labels[c->n], sizeof c->labels[c->n], "v%u", (unsigned)k);
      c->names[c->n] = c->labels[c->n];
      c->refs[c->n++] = (gemel__ref){k, 0};
    }
  }
}

static gemel_status evaluate(struct closed_values *c, gemel__closed_visit visit, void *user,
                             gemel_error *error) {
  gemel_error refused = {GEMEL_OK, 0, 0, ""};
  size_t n_inputs = gemel_graph_input_count(c->graph);
  unsigned char *none = gemel__alloc_zeroed(n_inputs + 1); /* no input is kept */
  gemel__rebuild how = {c->graph, NULL, none, 0, NULL, NULL, c->n, c->refs, c->names};
  gemel__bound *bound = gemel__bound_new(128);
  gemel__rtensor *values = gemel__alloc_zeroed((c->n + 1) * sizeof *values);
  int room = bound != NULL && values != NULL && none != NULL;
  gemel_graph *graph = room ? gemel__rebuild_graph(&how, &refused) : NULL;
  gemel_status status = room ? refused.status : GEMEL_NO_MEMORY;
  if (graph != NULL) {
    status = gemel__reference_graph(graph, &bound->domain, NULL, values, NULL, NULL, &refused);
  }
  for (size_t k = 0; k < c->n && status == GEMEL_OK; k++) {
    visit(user, c->refs[k].node, &bound->domain, &values[k]);
  }
  if (values != NULL) {
    gemel__rtensors_clear(c->n, values);
  }
  gemel__free(values, (c->n + 1) * sizeof *values);
  gemel__free(none, n_inputs + 1);
  gemel_graph_unref(graph);
  gemel__bound_free(bound);
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "constants") : GEMEL_OK;
}

gemel_status gemel__closed_values(const gemel_graph *graph, const unsigned char *wanted,
                                  gemel__closed_visit visit, void *user, gemel_error *error) {
  size_t n = graph->n_nodes + 1;
  struct closed_values c = {.graph = graph};
  c.evaluable = gemel__alloc_zeroed(n);
  c.refs = gemel__alloc_array(n, sizeof *c.refs);
  c.names = gemel__alloc_array(n, sizeof *c.names);
  c.labels = gemel__alloc_array(n, sizeof *c.labels);
  gemel_status status = GEMEL_OK;
  if (c.evaluable == NULL || c.refs == NULL || c.names == NULL || c.labels == NULL) {
    status = gemel__no_memory(error, "constants");
  } else {
    choose(&c, wanted);
  }
  if (c.n > 0) {
    status = evaluate(&c, visit, user, error);
  }
  gemel__free(c.evaluable, n);
  gemel__free(c.refs, n * sizeof *c.refs);
  gemel__free(c.names, n * sizeof *c.names);
  gemel__free(c.labels, n * sizeof *c.labels);
  return status;
}
