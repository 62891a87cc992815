/* SPDX-License-Identifier: MIT
 *
 * Loops by induction over their steps, see loops.h. Both loops begin with equal states. If their
 * bodies are the same function, each step maps equal states to equal states and gives equal rows of
 * results. The bodies are compared for any states, as it isn't known which occur; so what bodies
 * assume of their inputs is left out, and bodies that differ say nothing of the loops.
 */
#include "equal/loops.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/error.h"
#include "ops/scan.h"

static gemel__ref operand(const gemel__joint *j, uint32_t node, size_t k, uint32_t *count) {
  return gemel__joint_value(j, gemel__node_inputs(j->graph, node, count)[k]);
}

static int same_operands(const gemel__joint *j, uint32_t u, uint32_t v) {
  uint32_t n, m;
  gemel__node_inputs(j->graph, u, &n);
  gemel__node_inputs(j->graph, v, &m);
  for (uint32_t k = 0; n == m && k < n; k++) {
    gemel__ref x = operand(j, u, k, &n), y = operand(j, v, k, &m);
    if (x.node != y.node || x.output != y.output) {
      return 0;
    }
  }
  return n == m;
}

static const gemel_attr *attributes(const gemel__joint *j, uint32_t node) {
  return gemel__attrs_at(j->graph->context, gemel__node_at(j->graph, node)->attrs)->values;
}

static int same_but_for_bodies(const gemel__joint *j, uint32_t u, uint32_t v) {
  const gemel_attr *x = attributes(j, u), *y = attributes(j, v);
  size_t n = gemel__attrs_at(j->graph->context, gemel__node_at(j->graph, u)->attrs)->count;
  for (size_t k = 0; k < n; k++) {
    if (k != GEMEL__SCAN_BODY && !gemel__attr_same(&x[k], &y[k])) {
      return 0;
    }
  }
  return 1;
}

static int same_results(const gemel__joint *j, uint32_t u, uint32_t v) {
  uint32_t n = gemel__node_at(j->graph, u)->n_outputs, k = 0;
  if (n != gemel__node_at(j->graph, v)->n_outputs) {
    return 0;
  }
  while (k < n &&
         gemel_type_equal(gemel__node_type(j->graph, u, k), gemel__node_type(j->graph, v, k))) {
    k++;
  }
  return k == n;
}

/* Input K of a step: of the operand's type or, for a sequence, of the type of its rows. */
static gemel_value step_input(gemel_graph *into, const gemel__joint *j, uint32_t node,
                              const gemel__scan *s, size_t k) {
  uint32_t count;
  gemel__ref ref = operand(j, node, gemel__scan_initial(s, k), &count);
  gemel_type type = gemel__node_type(j->graph, ref.node, ref.output);
  char name[32];
  if (k >= s->states && k < s->states + s->sequences) {
    gemel_context *context = j->graph->context;
    type = gemel__type_with_dims(context, type, gemel_type_rank(context, type) - 1,
                                 gemel_type_dims(context, type) + 1);
  }
  snprintf(name, sizeof name, "v%zu", k);
  return gemel_input(into, name, type);
}

static gemel_status fill_step(gemel_graph *into, const gemel__joint *j, uint32_t node,
                              const gemel__scan *s, gemel_error *error) {
  size_t n_in = gemel_graph_input_count(s->body), n_out = gemel_graph_output_count(s->body);
  gemel_value *room = gemel__alloc_array(n_in + n_out, sizeof *room);
  gemel_status status = room == NULL ? gemel__no_memory(error, "a step") : GEMEL_OK;
  for (size_t k = 0; k < n_in && status == GEMEL_OK; k++) {
    room[k] = step_input(into, j, node, s, k);
    status = gemel_graph_error(into)->status;
  }
  if (status == GEMEL_OK) {
    status = gemel__graph_inline(into, s->body, room, room + n_in, error);
  }
  for (size_t k = 0; k < n_out && status == GEMEL_OK; k++) {
    char name[32];
    snprintf(name, sizeof name, "r%zu", k);
    status = gemel_output(room[n_in + k], name);
  }
  gemel__free(room, (n_in + n_out) * sizeof *room);
  return status;
}

/* The body of loop NODE as a graph. */
static gemel_status make_step(const gemel__joint *j, uint32_t node, gemel_graph **step,
                              gemel_error *error) {
  gemel__scan s;
  gemel__scan_read(attributes(j, node), &s);
  *step = gemel_graph_new(j->graph->context, error);
  gemel_status status = *step == NULL ? GEMEL_NO_MEMORY : fill_step(*step, j, node, &s, error);
  return status == GEMEL_OK || status == GEMEL_NO_MEMORY ? status : GEMEL_DECLINED;
}

gemel_status gemel__loop_bodies(const gemel__joint *joint, uint32_t u, uint32_t v,
                                gemel__part_graphs *bodies, gemel_error *error) {
  memset(bodies, 0, sizeof *bodies);
  if (gemel__node_at(joint->graph, u)->op != GEMEL__OP_scan ||
      gemel__node_at(joint->graph, v)->op != GEMEL__OP_scan || !same_operands(joint, u, v) ||
      !same_but_for_bodies(joint, u, v) || !same_results(joint, u, v)) {
    return GEMEL_DECLINED;
  }
  bodies->bodies = 1;
  gemel_status status = make_step(joint, u, &bodies->a, error);
  if (status == GEMEL_OK) {
    status = make_step(joint, v, &bodies->b, error);
  }
  if (status != GEMEL_OK) {
    gemel__part_clear(bodies);
  }
  return status;
}

/* 1 if a loop of GRAPH, or of a body in it, is truncated. Recursion is as deep as bodies are
 * nested. */
static int is_truncated(const gemel_graph *graph) {
  int found = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph) && !found; k++) {
    const gemel__node *node = gemel__node_at(graph, k);
    const struct gemel__attrs *attrs = gemel__attrs_at(graph->context, node->attrs);
    found =
        node->op == GEMEL__OP_scan && attrs->values[GEMEL__SCAN_TRUNCATE].kind != GEMEL_ATTR_NONE;
    for (size_t i = 0; i < attrs->count && !found; i++) {
      found = attrs->values[i].kind == GEMEL_ATTR_GRAPH && is_truncated(attrs->values[i].u.graph);
    }
  }
  return found;
}

const char *gemel__loops_derivatives(const gemel_graph *a, const gemel_graph *b) {
  return is_truncated(a) || is_truncated(b)
             ? "derivatives weren't compared: those of truncated loops aren't their functions'"
             : "equal functions have equal derivatives";
}
