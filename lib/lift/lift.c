/* SPDX-License-Identifier: MIT
 *
 * The lift: options, and the order of the steps. Which nodes are used and where inputs and outputs
 * lie comes first; then each node gets a place (place.c, cheapest.c), and the graph is made
 * (build.c). Each step is a walk over the ids, so none needs a stack.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/words.h"
#include "lift/lift.h"

/* ---- Lists of names ---- */

/* Sets THERE[k] for each of N NAMES that a word of LIST, of WHAT, stands for. GEMEL_NOT_FOUND. */
static gemel_status choose(const char *list, const char *what, const char *const *names, size_t n,
                           unsigned char *there, gemel_error *error) {
  gemel__suggestion near;
  size_t length;
  list = list != NULL ? list : "";
  for (list = gemel__next_word(list, &length); length > 0;
       list = gemel__next_word(list + length, &length)) {
    int found = 0;
    gemel__suggestion_start(&near, list, length);
    for (size_t k = 0; k < n; k++) {
      int fits = gemel__word_names_or_offers(list, length, names[k], &near);
      there[k] |= (unsigned char)fits;
      found |= fits;
    }
    if (!found) {
      return gemel__fail(error, GEMEL_NOT_FOUND, "there is no %s '%.*s'%s", what, (int)length, list,
                         gemel__suggestion_text(&near));
    }
  }
  return GEMEL_OK;
}

/* An update lies where its state does. */
static void follow_states(const gemel_graph *graph, int states, unsigned char *inputs,
                          unsigned char *outputs) {
  for (size_t k = 0; k < graph->n_inputs; k++) {
    int is_state = (gemel__input_marks(graph, k) & GEMEL__STATE) != 0;
    inputs[k] |= (unsigned char)(is_state && states);
  }
  for (size_t k = 0; k < graph->n_outputs; k++) {
    long state = gemel__state_called(graph, graph->output_names[k]);
    if (state >= 0) {
      outputs[k] = inputs[state];
    }
  }
}

/* 1 if VALUE is the host's in the graph as it is. */
static int is_hosts(const gemel_graph *graph, gemel__ref value) {
  return gemel_type_space(graph->context, gemel__node_type(graph, value.node, value.output)) ==
         GEMEL_SPACE_HOST;
}

gemel_status gemel__lift_ports(const gemel_graph *graph, const gemel_lift_options *options,
                               unsigned char *inputs, unsigned char *outputs, gemel_error *error) {
  gemel_status status =
      choose(options->inputs, "input", graph->input_names, graph->n_inputs, inputs, error);
  status = status ? status
                  : choose(options->outputs, "output", graph->output_names, graph->n_outputs,
                           outputs, error);
  follow_states(graph, options->states, inputs, outputs);
  for (size_t k = 0; k < graph->n_inputs; k++) {
    inputs[k] &= (unsigned char)is_hosts(graph, graph->inputs[k]);
  }
  for (size_t k = 0; k < graph->n_outputs; k++) {
    outputs[k] &= (unsigned char)is_hosts(graph, graph->outputs[k]);
  }
  return status;
}

/* Places of inputs. MOVED: those that go to the device. */
static void place_inputs(gemel__lifting *l, const unsigned char *moved) {
  const gemel_graph *g = l->from;
  for (size_t k = 0; k < g->n_inputs; k++) {
    uint32_t node = g->inputs[k].node;
    int space = gemel_type_space(g->context, gemel__node_type(g, node, 0));
    l->places[node] = moved[k] || space == l->options.space ? GEMEL__LIFT_DEVICE
                      : space == GEMEL_SPACE_HOST           ? GEMEL__LIFT_HOST
                                                            : GEMEL__LIFT_OTHER;
  }
}

/* ---- Steps ---- */

static gemel_status find_places(gemel__lifting *l) {
  size_t n = l->from->n_inputs;
  unsigned char *inputs = gemel__alloc_array(n, 1);
  if (inputs == NULL) {
    return gemel__no_memory(l->error, "a lift");
  }
  gemel__graph_live(l->from, l->places);
  for (size_t k = 0; k < l->from->n_nodes; k++) {
    l->places[k] = l->places[k] ? GEMEL__LIFT_FREE : GEMEL__LIFT_UNUSED;
  }
  gemel_status status = gemel__lift_ports(l->from, &l->options, inputs, l->outputs_there, l->error);
  place_inputs(l, inputs);
  gemel__free(inputs, n);
  status = status ? status : gemel__lift_find_places(l);
  return status                                       ? status
         : l->options.strategy == GEMEL_LIFT_CHEAPEST ? gemel__lift_cheaply(l)
                                                      : gemel__lift_aggressively(l);
}

static void count(gemel__lifting *l) {
  for (uint32_t node = 0; node < l->from->n_nodes; node++) {
    int told = gemel__lift_is_told(l, node);
    l->counts.lifted += told && l->places[node] == GEMEL__LIFT_DEVICE;
    l->counts.stayed += told && l->places[node] == GEMEL__LIFT_HOST;
  }
}

static gemel_status read_options(gemel__lifting *l, const gemel_lift_options *options) {
  GEMEL__TRY(
      gemel__take_options(&l->options, sizeof l->options, options, "gemel_lift_options", l->error));
  if (options == NULL) {
    return gemel__null(l->error, "the options of a lift");
  }
  l->device = gemel_device_of_space(l->from->context, l->options.space);
  if (l->device == NULL || l->options.space == GEMEL_SPACE_HOST) {
    return gemel__fail(l->error, GEMEL_BAD_ARGUMENT, "memory space %d is no device's",
                       l->options.space);
  }
  if ((unsigned)l->options.strategy >= GEMEL_LIFT_STRATEGY_COUNT) {
    return gemel__fail(l->error, GEMEL_BAD_ARGUMENT, "there is no strategy %d",
                       (int)l->options.strategy);
  }
  return GEMEL_OK;
}

gemel_graph *gemel_lift(const gemel_graph *graph, const gemel_lift_options *options,
                        gemel_error *error) {
  gemel_error local;
  gemel__lifting l = {.from = graph, .error = error != NULL ? error : &local};
  gemel_graph *made = NULL;
  if (graph == NULL) {
    gemel__null(l.error, "the graph");
    return NULL;
  }
  if (graph->error.status != GEMEL_OK) {
    *l.error = graph->error;
    return NULL;
  }
  if (read_options(&l, options) != GEMEL_OK) {
    return NULL;
  }
  gemel__lift_report_reset(l.options.report);
  l.places = gemel__alloc_array(graph->n_nodes, 1);
  l.alone = gemel__alloc_array(graph->n_nodes, 1);
  l.reasons = gemel__alloc_array(graph->n_nodes, 1);
  l.outputs_there = gemel__alloc_array(graph->n_outputs, 1);
  gemel_status status =
      l.places != NULL && l.alone != NULL && l.reasons != NULL && l.outputs_there != NULL
          ? find_places(&l)
          : gemel__no_memory(l.error, "a lift");
  if (status == GEMEL_OK) {
    count(&l);
    made = gemel__lift_build(&l, l.options.report);
  }
  if (made != NULL && l.options.report != NULL &&
      gemel__lift_report_fill(l.options.report, &l) != GEMEL_OK) {
    gemel_graph_unref(made);
    made = NULL;
  }
  gemel__free(l.places, graph->n_nodes);
  gemel__free(l.alone, graph->n_nodes);
  gemel__free(l.reasons, graph->n_nodes);
  gemel__free(l.outputs_there, graph->n_outputs);
  return made;
}
