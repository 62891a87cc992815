/* SPDX-License-Identifier: MIT
 *
 * Optimisers, <gemel/train.h>: which states are trained, their gradients, and what an optimiser
 * remembers of each; the formula of a step is a composite (numpy.composites).
 */
#include <gemel/train.h>

#include <stdio.h>
#include <string.h>
#include <gemel/grad.h>
#include <gemel/ops.h>
#include "composites/composites.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"

/* The states that a step changes, and their gradients. */
typedef struct trained_states {
  gemel_graph *graph;
  gemel_location where;
  size_t n;
  const char **names;
  gemel_value *states, *slopes;
} trained_states;

static gemel_status no_room(gemel_graph *graph, gemel_location where) {
  gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for an optimiser");
  return GEMEL_NO_MEMORY;
}

static void clear(trained_states *t, size_t room) {
  gemel__free(t->names, room * sizeof *t->names);
  gemel__free(t->states, room * sizeof *t->states);
  gemel__free(t->slopes, room * sizeof *t->slopes);
}

/* UPDATED[node] = 1 for the states that have an update. */
static unsigned char *find_updated(const gemel_graph *graph) {
  unsigned char *updated = gemel__alloc_zeroed(gemel_graph_node_count(graph) + 1);
  for (size_t k = 0; updated != NULL && k < gemel_graph_output_count(graph); k++) {
    gemel_value state = gemel_graph_updated_state(graph, k);
    if (!gemel_is_null(state)) {
      updated[state.node] = 1;
    }
  }
  return updated;
}

/* Collects them; ROOM is for as many as the graph has inputs. */
static gemel_status collect(trained_states *t, size_t room) {
  size_t bytes = gemel_graph_node_count(t->graph) + 1;
  unsigned char *updated = find_updated(t->graph);
  t->names = gemel__alloc_array(room, sizeof *t->names);
  t->states = gemel__alloc_array(room, sizeof *t->states);
  t->slopes = gemel__alloc_array(room, sizeof *t->slopes);
  if (updated == NULL || t->names == NULL || t->states == NULL || t->slopes == NULL) {
    gemel__free(updated, updated != NULL ? bytes : 0);
    return no_room(t->graph, t->where);
  }
  for (size_t k = 0; k < gemel_graph_input_count(t->graph); k++) {
    gemel_value state = gemel_graph_input(t->graph, k);
    if (gemel_is_state(state) && !updated[state.node] &&
        gemel__is_float(gemel__value_dtype(state))) {
      t->names[t->n] = gemel_graph_input_name(t->graph, k);
      t->states[t->n++] = state;
    }
  }
  gemel__free(updated, bytes);
  return GEMEL_OK;
}

static gemel_status differentiate(trained_states *t, gemel_value loss) {
  gemel_error error;
  if (t->n == 0) {
    gemel__graph_fail_at(t->graph, t->where, GEMEL_BAD_ARGUMENT,
                         "there is no state of a float dtype that has no update yet");
    return GEMEL_BAD_ARGUMENT;
  }
  gemel_status status = gemel_grad(1, &loss, NULL, t->n, t->states, t->slopes, &error);
  if (status != GEMEL_OK && gemel_graph_error(t->graph)->status == GEMEL_OK) {
    gemel__error_place(&error, t->where);
    gemel__graph_take_error(t->graph, &error);
  }
  return status;
}

/* A state called NAME_SUFFIX, of STATE's type. */
static gemel_value remembered(const trained_states *t, const char *name, const char *suffix,
                              gemel_value state) {
  char text[1100];
  snprintf(text, sizeof text, "%s_%s", name, suffix);
  return gemel_state_at(t->graph, text, gemel_value_type(state), t->where);
}

/* Applies the composite called NAME, and makes its results what the first of its inputs become; of
 * a state that is null nothing is kept. */
static gemel_status step(const trained_states *t, const char *name, size_t n,
                         const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                         size_t n_states, const gemel_value *states) {
  gemel_value next[3];
  const gemel__composite *c = gemel__composite_find(gemel_graph_context(t->graph), name, NULL);
  if (c == NULL) {
    return no_room(t->graph, t->where);
  }
  gemel__composite_expand(t->graph, c, NULL, n, inputs, n_attrs, attrs, n_states, next, t->where);
  for (size_t k = 0; k < n_states; k++) {
    if (!gemel_is_null(states[k]) && gemel_update_at(states[k], next[k], t->where) != GEMEL_OK) {
      break;
    }
  }
  return gemel_graph_error(t->graph)->status;
}

static double or_else(double given, double otherwise) {
  return given != 0 ? given : otherwise;
}

/* Calls EACH for the states that LOSS is differentiated by. */
static gemel_status train(gemel_value loss, gemel_location where,
                          gemel_status (*each)(const trained_states *t, size_t k, void *how),
                          void *how) {
  trained_states t = {.graph = loss.graph, .where = where};
  if (gemel_is_null(loss)) {
    return GEMEL_NULL_VALUE;
  }
  if (gemel_graph_error(t.graph)->status != GEMEL_OK) {
    return gemel_graph_error(t.graph)->status;
  }
  size_t room = gemel_graph_input_count(t.graph) + 1;
  gemel_status status = collect(&t, room);
  status = status == GEMEL_OK ? differentiate(&t, loss) : status;
  for (size_t k = 0; k < t.n && status == GEMEL_OK; k++) {
    status = each(&t, k, how);
  }
  clear(&t, room);
  return status;
}

/* ---- SGD ---- */

static gemel_status sgd_one(const trained_states *t, size_t k, void *how) {
  const gemel_sgd_options *o = how;
  gemel_value w = t->states[k], m = gemel__no_value;
  if (o->momentum != 0) {
    m = remembered(t, t->names[k], "momentum", w);
  }
  const gemel_value inputs[3] = {w, t->slopes[k], m}, states[2] = {w, m};
  const gemel_attr attrs[3] = {gemel_attr_float("rate", or_else(o->rate, 0.01)),
                               gemel_attr_float("momentum", o->momentum),
                               gemel_attr_float("decay", o->decay)};
  gemel_status status = gemel_graph_error(t->graph)->status;
  return status == GEMEL_OK ? step(t, "sgd_step", 3, inputs, 3, attrs, 2, states) : status;
}

gemel_status gemel_sgd_at(gemel_value loss, const gemel_sgd_options *options,
                          gemel_location where) {
  gemel_sgd_options o = {0};
  o = options != NULL ? *options : o;
  return train(loss, where, sgd_one, &o);
}

/* ---- Adam ---- */

typedef struct adam_how {
  gemel_adam_options options;
  gemel_value before, steps; /* how many steps were done before this one, and after it */
} adam_how;

static void count_steps(const trained_states *t, adam_how *how) {
  gemel_type type = gemel_type_of_shape(gemel_graph_context(t->graph), GEMEL_I64, 0, NULL);
  how->before = gemel_state_at(t->graph, "adam_steps", type, t->where);
  how->steps =
      gemel_add_at(how->before, gemel_scalar_at(t->graph, GEMEL_I64, 1, t->where), t->where);
}

static gemel_status adam_one(const trained_states *t, size_t k, void *how) {
  adam_how *a = how;
  const gemel_adam_options *o = &a->options;
  if (k == 0) { /* not before it is known that there is something to be trained */
    count_steps(t, a);
  }
  gemel_value w = t->states[k], mean = remembered(t, t->names[k], "mean", w);
  gemel_value square = remembered(t, t->names[k], "square", w);
  const gemel_value inputs[5] = {w, t->slopes[k], mean, square, a->steps};
  const gemel_value states[3] = {w, mean, square};
  const gemel_attr attrs[5] = {gemel_attr_float("rate", or_else(o->rate, 0.001)),
                               gemel_attr_float("beta1", or_else(o->beta1, 0.9)),
                               gemel_attr_float("beta2", or_else(o->beta2, 0.999)),
                               gemel_attr_float("epsilon", or_else(o->epsilon, 1e-8)),
                               gemel_attr_float("decay", o->decay)};
  gemel_status status = gemel_graph_error(t->graph)->status;
  return status == GEMEL_OK ? step(t, "adam_step", 5, inputs, 5, attrs, 3, states) : status;
}

gemel_status gemel_adam_at(gemel_value loss, const gemel_adam_options *options,
                           gemel_location where) {
  adam_how how = {.steps = gemel__no_value};
  if (options != NULL) {
    how.options = *options;
  }
  gemel_status status = train(loss, where, adam_one, &how);
  return status == GEMEL_OK ? gemel_update_at(how.before, how.steps, where) : status;
}
