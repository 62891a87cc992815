/* SPDX-License-Identifier: MIT
 *
 * Shared variables, and how a call deals with them. A variable holds its value and, once a call has
 * updated it, the tensor that its value before was in. A call reads the values of the states as
 * further inputs and writes each update, as a further result, into the spare tensor; when all has
 * been computed, value and spare change places. So all updates read what was before the call, a
 * failed call changes nothing, and nothing is copied or, from the third call on, allocated.
 */
#include <gemel/shared.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "run/function.h"

struct gemel_shared {
  long references; /* counted atomically */
  gemel_tensor *value;
  gemel_tensor *spare; /* the value before, or NULL */
  int bound;           /* while a function is bound: a state of it has this variable already */
};

/* ---- Variables ---- */

gemel_shared *gemel_shared_new(const gemel_tensor *value, gemel_error *error) {
  gemel_shared *shared = gemel__alloc_zeroed(sizeof *shared);
  if (shared == NULL) {
    gemel__no_memory(error, "a shared variable");
    return NULL;
  }
  shared->references = 1;
  if (gemel_shared_set(shared, value, error) != GEMEL_OK) {
    gemel_shared_unref(shared);
    return NULL;
  }
  return shared;
}

gemel_shared *gemel_shared_ref(gemel_shared *shared) {
  if (shared != NULL) {
    __atomic_add_fetch(&shared->references, 1, __ATOMIC_RELAXED);
  }
  return shared;
}

void gemel_shared_unref(gemel_shared *shared) {
  if (shared == NULL || __atomic_sub_fetch(&shared->references, 1, __ATOMIC_ACQ_REL) > 0) {
    return;
  }
  gemel_tensor_unref(shared->value);
  gemel_tensor_unref(shared->spare);
  gemel__free(shared, sizeof *shared);
}

gemel_tensor *gemel_shared_get(const gemel_shared *shared) {
  return shared != NULL ? gemel_tensor_ref(shared->value) : NULL;
}

gemel_status gemel_shared_set(gemel_shared *shared, const gemel_tensor *value, gemel_error *error) {
  if (shared == NULL || value == NULL) {
    return gemel__null(error, shared == NULL ? "the shared variable" : "the value");
  }
  gemel_view view = gemel_tensor_view(value);
  gemel_tensor *copy = gemel_tensor_copy(&view, error);
  if (copy == NULL) {
    return GEMEL_NO_MEMORY;
  }
  gemel_tensor_unref(shared->value);
  shared->value = copy;
  return GEMEL_OK;
}

/* ---- States of a function ---- */

static size_t count_states(const gemel_graph *graph) {
  size_t n = 0;
  for (size_t k = 0; k < graph->n_inputs; k++) {
    n += (gemel__input_marks(graph, k) & GEMEL__STATE) != 0;
  }
  return n;
}

static gemel_status allocate(gemel_function *f, gemel_error *error) {
  const gemel__run_program *p = &f->program;
  f->states = gemel__alloc_array(p->n_inputs, sizeof *f->states);
  f->updates = gemel__alloc_array(p->n_outputs, sizeof *f->updates);
  f->all_inputs = gemel__alloc_array(p->n_inputs, sizeof *f->all_inputs);
  f->all_outputs = gemel__alloc_array(p->n_outputs, sizeof *f->all_outputs);
  return f->states && f->updates && f->all_inputs && f->all_outputs
             ? GEMEL_OK
             : gemel__no_memory(error, "the states of a function");
}

/* Binds input K to VARIABLE, which no other state may be bound to. */
static gemel_status bind_state(gemel_function *f, size_t k, gemel_shared *variable,
                               gemel_error *error) {
  const char *name = f->program.inputs[k].name;
  if (variable == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "state %s has no shared variable", name);
  }
  if (variable->bound) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                       "state %s is given the shared variable of another state", name);
  }
  f->states[k] = gemel_shared_ref(variable);
  variable->bound = 1;
  return GEMEL_OK;
}

static gemel_status bind_states(gemel_function *f, const gemel_graph *graph,
                                gemel_shared *const *variables, gemel_error *error) {
  size_t next = 0;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < graph->n_inputs && status == GEMEL_OK; k++) {
    if (gemel__input_marks(graph, k) & GEMEL__STATE) {
      status = bind_state(f, k, variables != NULL ? variables[next++] : NULL, error);
    }
  }
  for (size_t k = 0; k < graph->n_inputs; k++) {
    if (f->states[k] != NULL) {
      f->states[k]->bound = 0;
    }
  }
  return status;
}

gemel_status gemel__states_bind(gemel_function *f, const gemel_graph *graph, size_t n,
                                gemel_shared *const *variables, gemel_error *error) {
  size_t states = count_states(graph);
  gemel_status status;
  f->n_states = (uint32_t)states;
  if (n != states) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                       "the graph has %zu states, and %zu shared variables are given", states, n);
  }
  status = allocate(f, error);
  if (status == GEMEL_OK) {
    status = bind_states(f, graph, variables, error);
  }
  for (size_t k = 0; k < graph->n_outputs && status == GEMEL_OK; k++) {
    long state = gemel__state_called(graph, graph->output_names[k]);
    f->updates[k] = state >= 0 ? f->states[state] : NULL;
    f->n_updates += state >= 0;
  }
  return status;
}

void gemel__states_release(gemel_function *f) {
  const gemel__run_program *p = &f->program;
  for (uint32_t k = 0; f->states != NULL && k < p->n_inputs; k++) {
    gemel_shared_unref(f->states[k]);
  }
  gemel__free(f->states, p->n_inputs * sizeof *f->states);
  gemel__free(f->updates, p->n_outputs * sizeof *f->updates);
  gemel__free(f->all_inputs, p->n_inputs * sizeof *f->all_inputs);
  gemel__free(f->all_outputs, p->n_outputs * sizeof *f->all_outputs);
}

/* ---- Calls ---- */

/* The tensor that the next value of SHARED goes into: the spare one where it fits and nobody else
 * holds it; NULL: a new one. */
static gemel_tensor *room_for_update(gemel_shared *shared) {
  const gemel_tensor *value = shared->value, *spare = shared->spare;
  if (spare != NULL && __atomic_load_n(&spare->references, __ATOMIC_ACQUIRE) == 1 &&
      spare->dtype == value->dtype && spare->rank == value->rank &&
      memcmp(spare->shape, value->shape, (size_t)value->rank * sizeof *value->shape) == 0) {
    return shared->spare;
  }
  gemel_tensor_unref(shared->spare);
  shared->spare = NULL;
  return NULL;
}

void gemel__states_enter(gemel_function *f, gemel_tensor *const *inputs, gemel_tensor **outputs) {
  size_t next = 0;
  for (uint32_t k = 0; k < f->program.n_inputs; k++) {
    f->all_inputs[k] = f->states[k] != NULL ? f->states[k]->value : inputs[next++];
  }
  next = 0;
  for (uint32_t k = 0; k < f->program.n_outputs; k++) {
    f->all_outputs[k] = f->updates[k] != NULL ? room_for_update(f->updates[k]) : outputs[next++];
  }
}

void gemel__states_leave(gemel_function *f, gemel_tensor **outputs) {
  size_t next = 0;
  for (uint32_t k = 0; k < f->program.n_outputs; k++) {
    gemel_shared *shared = f->updates[k];
    if (shared == NULL) {
      outputs[next++] = f->all_outputs[k];
    } else {
      shared->spare = shared->value;
      shared->value = f->all_outputs[k];
    }
  }
}
