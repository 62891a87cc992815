/* SPDX-License-Identifier: MIT
 *
 * Signs of values that depend on no input, see signs.h. Constants are looked through. Small values
 * that are computed from small ones are evaluated in domain B, whose balls hold whatever a correct
 * implementation computes.
 */
#include "equal/signs.h"

#include <math.h>
#include <stdio.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "domains/bound.h"
#include "equal/elements.h"
#include "instances/rebuild.h"
#include "reference/reference.h"
#include "tiers/tiers.h"

enum { ALL_FACTS = GEMEL_FACT_POSITIVE | GEMEL_FACT_FINITE };

struct closed {
  const gemel_graph *graph;
  unsigned char *facts;
  unsigned char *evaluable; /* by node: depends on no input, and on small values alone */
  gemel__ref *refs;         /* computed values, N of them */
  const char **names;
  char (*labels)[24];
  size_t n;
};

/* The facts that hold of numbers from LOW to HIGH. */
static unsigned facts_of(double low, double high) {
  unsigned facts = isfinite(low) && isfinite(high) ? GEMEL_FACT_FINITE : 0;
  facts |= low >= 0 ? GEMEL_FACT_NONNEGATIVE : 0;
  return facts | (low > 0 || high < 0 ? GEMEL_FACT_NONZERO : 0);
}

static unsigned facts_of_tensor(const gemel_tensor *tensor) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  size_t n = (size_t)gemel_tensor_elements(tensor);
  const float *numbers = dtype == GEMEL_F32 ? gemel__tensor_plain(tensor) : NULL;
  int finite = 1, nonnegative = 1, nonzero = 1;
  for (size_t i = 0; i < n; i++) {
    double x =
        numbers != NULL ? numbers[i] : gemel__decode(dtype, gemel__tensor_element(tensor, i));
    finite &= fabs(x) < INFINITY;
    nonnegative &= x >= 0;
    nonzero &= x < 0 || x > 0;
  }
  return (finite ? GEMEL_FACT_FINITE : 0u) | (nonnegative ? GEMEL_FACT_NONNEGATIVE : 0u) |
         (nonzero ? GEMEL_FACT_NONZERO : 0u);
}

static unsigned facts_of_value(gemel__domain *d, const gemel__rtensor *r) {
  unsigned facts = ALL_FACTS;
  for (size_t i = 0; i < r->count && facts != 0; i++) {
    const void *e = gemel__rtensor_at(r, i);
    double x = gemel__bound_value(d, e), radius = gemel__bound_radius(d, e);
    facts &= d->state(d, e) == GEMEL__DEFINED ? facts_of(x - radius, x + radius) : 0;
  }
  return facts;
}

/* Looks at NODE: a constant gets its facts, another closed value a place in REFS. */
static void look_at(struct closed *c, uint32_t node) {
  const gemel_graph *graph = c->graph;
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, node, &count);
  const gemel__node *record = gemel__node_at(graph, node);
  if (record->op == GEMEL__OP_input || !gemel__has_output(graph, node, 0) ||
      gemel__has_output(graph, node, 1)) {
    return;
  }
  gemel_value value = gemel__value(graph, (gemel__ref){node, 0});
  int is_float = gemel__is_float(gemel_type_dtype(graph->context, gemel_value_type(value)));
  c->evaluable[node] = gemel__value_elements(value) <= GEMEL__LARGE_OFFER;
  for (uint32_t k = 0; k < count; k++) {
    c->evaluable[node] &= c->evaluable[inputs[k].node];
  }
  if (record->op == GEMEL__OP_constant && is_float) {
    c->facts[node] = (unsigned char)facts_of_tensor(
        gemel__attrs_at(graph->context, record->attrs)->values[0].u.tensor);
  } else if (c->evaluable[node] && is_float) {
    snprintf(c->labels[c->n], sizeof c->labels[c->n], "v%u", (unsigned)node);
    c->names[c->n] = c->labels[c->n];
    c->refs[c->n++] = (gemel__ref){node, 0};
  }
}

/* Evaluates the computed values. If that fails but for memory, nothing is known of them. */
static gemel_status evaluate(struct closed *c, gemel_error *error) {
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
    c->facts[c->refs[k].node] = (unsigned char)facts_of_value(&bound->domain, &values[k]);
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

gemel_status gemel__closed_facts(const gemel_graph *graph, unsigned char *facts,
                                 gemel_error *error) {
  size_t n = graph->n_nodes + 1;
  struct closed c = {.graph = graph, .facts = facts};
  c.evaluable = gemel__alloc_zeroed(n);
  c.refs = gemel__alloc_array(n, sizeof *c.refs);
  c.names = gemel__alloc_array(n, sizeof *c.names);
  c.labels = gemel__alloc_array(n, sizeof *c.labels);
  gemel_status status = GEMEL_OK;
  if (c.evaluable == NULL || c.refs == NULL || c.names == NULL || c.labels == NULL) {
    status = gemel__no_memory(error, "constants");
  }
  for (uint32_t k = 0; k < graph->n_nodes && status == GEMEL_OK; k++) {
    facts[k] = 0;
    look_at(&c, k);
  }
  if (status == GEMEL_OK && c.n > 0) {
    status = evaluate(&c, error);
  }
  gemel__free(c.evaluable, n);
  gemel__free(c.refs, n * sizeof *c.refs);
  gemel__free(c.names, n * sizeof *c.names);
  gemel__free(c.labels, n * sizeof *c.labels);
  return status;
}
