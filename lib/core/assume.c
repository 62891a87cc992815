/* SPDX-License-Identifier: MIT
 *
 * What is assumed of the elements of a graph's inputs: a byte of bits for each, in an array that a
 * graph without assumptions doesn't have.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/graph.h"

enum {
#define ALL_BIT(E, word, bit, meaning) BIT_##E = bit,
  GEMEL_FACT_TABLE(ALL_BIT)
#undef ALL_BIT
      ALL = BIT_NONNEGATIVE | BIT_NONZERO | BIT_NOT_NAN | BIT_FINITE
};

unsigned gemel__input_facts(const gemel_graph *graph, size_t k) {
  return k < graph->input_fact_capacity ? graph->input_facts[k] : 0;
}

int gemel__input_add_facts(gemel_graph *graph, size_t k, unsigned facts) {
  size_t before = graph->input_fact_capacity;
  if (facts == 0) {
    return 0;
  }
  if (gemel__grow(&graph->input_facts, &graph->input_fact_capacity, graph->n_inputs, 1) != 0) {
    return -1;
  }
  if (graph->input_fact_capacity > before) {
    memset(graph->input_facts + before, 0, graph->input_fact_capacity - before);
  }
  facts |= facts & GEMEL_FACT_FINITE ? (unsigned)GEMEL_FACT_NOT_NAN : 0;
  graph->input_facts[k] |= (unsigned char)facts;
  return 0;
}

gemel_value gemel__input_like(gemel_graph *graph, const char *name, gemel_type type,
                              gemel_value like) {
  gemel_location where = gemel_value_where(like);
  gemel_value made = gemel_input_at(graph, name, type, where);
  unsigned facts = gemel_assumed(like);
  if (!gemel_is_null(made) && gemel__input_add_facts(graph, graph->n_inputs - 1, facts) != 0) {
    return gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for input %s", name);
  }
  return made;
}

long gemel__input_index(const gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  if (record->op != graph->context->input_op) {
    return -1;
  }
  const char *name = gemel__attrs_at(graph->context, record->attrs)->values[0].u.text;
  return gemel__name_find(&graph->input_table, graph->input_names, name);
}

gemel_status gemel_assume(gemel_value input, unsigned facts) {
  gemel_graph *graph = input.graph;
  if (graph == NULL || graph->frozen || !gemel__is_value(input) || (facts & ~(unsigned)ALL) != 0) {
    return GEMEL_BAD_ARGUMENT;
  }
  long k = gemel__input_index(graph, input.node);
  if (k < 0) {
    return GEMEL_BAD_ARGUMENT;
  }
  return gemel__input_add_facts(graph, (size_t)k, facts) == 0 ? GEMEL_OK : GEMEL_NO_MEMORY;
}

unsigned gemel_assumed(gemel_value input) {
  if (input.graph == NULL || input.graph->input_fact_capacity == 0 || !gemel__is_value(input)) {
    return 0;
  }
  if (input.graph->frozen) { /* whose names are in no table */
    size_t k = 0;
    while (k < input.graph->n_inputs && input.graph->inputs[k].node != input.node) {
      k++;
    }
    return gemel__input_facts(input.graph, k);
  }
  long k = gemel__input_index(input.graph, input.node);
  return k < 0 ? 0 : gemel__input_facts(input.graph, (size_t)k);
}
