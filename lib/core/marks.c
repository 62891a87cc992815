/* SPDX-License-Identifier: MIT
 *
 * What a graph's inputs are marked with: what is assumed of their elements, and whether they are
 * states. A byte of bits for each, in an array that a graph without marks doesn't have. An output
 * that is called as a state is that state's next value. Nodes have such an array too, of those that
 * are partial.
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

unsigned gemel__input_marks(const gemel_graph *graph, size_t k) {
  return k < graph->input_mark_capacity ? graph->input_marks[k] : 0;
}

unsigned gemel__input_facts(const gemel_graph *graph, size_t k) {
  return gemel__input_marks(graph, k) & ALL;
}

int gemel__are_marks(unsigned marks) {
  return marks != 0 && (marks & ~(ALL | GEMEL__STATE)) == 0;
}

int gemel__input_add_marks(gemel_graph *graph, size_t k, unsigned marks) {
  size_t before = graph->input_mark_capacity;
  if (marks == 0) {
    return 0;
  }
  if (gemel__grow(&graph->input_marks, &graph->input_mark_capacity, graph->n_inputs, 1) != 0) {
    return -1;
  }
  if (graph->input_mark_capacity > before) {
    memset(graph->input_marks + before, 0, graph->input_mark_capacity - before);
  }
  marks |= marks & GEMEL_FACT_FINITE ? (unsigned)GEMEL_FACT_NOT_NAN : 0;
  graph->input_marks[k] |= (unsigned char)marks;
  return 0;
}

int gemel__mark_partial(gemel_graph *graph, uint32_t node) {
  size_t before = graph->partial_capacity;
  if (gemel__grow(&graph->partial, &graph->partial_capacity, (size_t)node + 1, 1) != 0) {
    return -1;
  }
  if (graph->partial_capacity > before) {
    memset(graph->partial + before, 0, graph->partial_capacity - before);
  }
  graph->partial[node] = 1;
  return 0;
}

gemel_value gemel__input_like(gemel_graph *graph, const char *name, gemel_type type,
                              gemel_value like) {
  gemel_location where = gemel_value_where(like);
  gemel_value made = gemel_input_at(graph, name, type, where);
  unsigned facts = gemel_assumed(like);
  if (!gemel_is_null(made) && gemel__input_add_marks(graph, graph->n_inputs - 1, facts) != 0) {
    return gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for input %s", name);
  }
  return made;
}

long gemel__input_index(const gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  if (record->op != GEMEL__OP_input) {
    return -1;
  }
  const char *name = gemel__attrs_at(graph->context, record->attrs)->values[0].u.text;
  return gemel__name_find(&graph->input_table, graph->input_names, name);
}

gemel_status gemel_assume(gemel_value input, unsigned facts) {
  gemel_graph *graph = input.graph;
  if (graph == NULL) {
    return GEMEL_NULL_VALUE;
  }
  if (graph->frozen || !gemel__is_value(input) || (facts & ~(unsigned)ALL) != 0) {
    return GEMEL_BAD_ARGUMENT;
  }
  long k = gemel__input_index(graph, input.node);
  if (k < 0) {
    return GEMEL_BAD_ARGUMENT;
  }
  return gemel__input_add_marks(graph, (size_t)k, facts) == 0 ? GEMEL_OK : GEMEL_NO_MEMORY;
}

/* The marks of INPUT; 0 for what is no input. */
static unsigned marks_of(gemel_value input) {
  if (input.graph == NULL || input.graph->input_mark_capacity == 0 || !gemel__is_value(input)) {
    return 0;
  }
  if (input.graph->frozen) { /* whose names are in no table */
    size_t k = 0;
    while (k < input.graph->n_inputs && input.graph->inputs[k].node != input.node) {
      k++;
    }
    return gemel__input_marks(input.graph, k);
  }
  long k = gemel__input_index(input.graph, input.node);
  return k < 0 ? 0 : gemel__input_marks(input.graph, (size_t)k);
}

unsigned gemel_assumed(gemel_value input) {
  return marks_of(input) & ALL;
}

/* ---- States ---- */

int gemel_is_state(gemel_value input) {
  return (marks_of(input) & GEMEL__STATE) != 0;
}

long gemel__state_called(const gemel_graph *graph, const char *name) {
  long k = graph->input_mark_capacity == 0
               ? -1
               : gemel__name_find(&graph->input_table, graph->input_names, name);
  return k >= 0 && gemel__input_marks(graph, (size_t)k) & GEMEL__STATE ? k : -1;
}

gemel_value gemel_graph_updated_state(const gemel_graph *graph, size_t k) {
  long state = graph != NULL && k < graph->n_outputs
                   ? gemel__state_called(graph, graph->output_names[k])
                   : -1;
  return gemel_graph_input(state < 0 ? NULL : graph, (size_t)state);
}

gemel_value gemel_state_at(gemel_graph *graph, const char *name, gemel_type type,
                           gemel_location where) {
  const char *interned =
      graph != NULL && name != NULL ? gemel__intern_string(graph->context, name) : NULL;
  if (graph != NULL && name != NULL && interned == NULL) {
    return gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for a state's name");
  }
  if (interned != NULL &&
      gemel__name_find(&graph->output_table, graph->output_names, interned) >= 0) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT,
                                "state %s: there is an output of that name already", name);
  }
  gemel_value made = gemel_input_at(graph, name, type, where);
  if (!gemel_is_null(made) &&
      gemel__input_add_marks(graph, graph->n_inputs - 1, GEMEL__STATE) != 0) {
    return gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for state %s", name);
  }
  return made;
}

/* What VALUE is called in messages: an input's name, or the operation's. */
static const char *called(gemel_value value) {
  long k = gemel__is_value(value) ? gemel__input_index(value.graph, value.node) : -1;
  return k >= 0                   ? value.graph->input_names[k]
         : gemel__is_value(value) ? gemel_value_operation(value)
                                  : "nothing";
}

/* What keeps STATE from becoming VALUE; NULL: nothing that can be said before their types. */
static const char *update_fault(gemel_value state, gemel_value value) {
  if (gemel_is_null(state) || gemel_is_null(value)) {
    return gemel_is_null(state) ? "the state is null" : "its next value is null";
  }
  if (!gemel_is_state(state)) {
    return "it is no state";
  }
  return value.graph != state.graph ? "its next value is of another graph" : NULL;
}

gemel_status gemel_update_at(gemel_value state, gemel_value value, gemel_location where) {
  gemel_graph *graph = state.graph != NULL ? state.graph : value.graph;
  const char *fault = update_fault(state, value);
  if (fault != NULL) {
    where = gemel__is_place(where) ? where : gemel_value_where(state);
    gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT, "update of %s: %s", called(state),
                         fault);
    return GEMEL_BAD_ARGUMENT;
  }
  return gemel_output_at(value, graph->input_names[gemel__input_index(graph, state.node)], where);
}

/* For programs that were compiled when it was no macro. */
gemel_status(gemel_update)(gemel_value state, gemel_value value);
gemel_status(gemel_update)(gemel_value state, gemel_value value) {
  gemel_location nowhere = {"", 0};
  return gemel_update_at(state, value, nowhere);
}
