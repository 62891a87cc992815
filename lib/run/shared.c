/* SPDX-License-Identifier: MIT
 *
 * Shared variables, and how a call deals with them. A call reads the values of the states as
 * further inputs and writes each update as a further result. Where the plan finds that nothing
 * reads the old value behind the instruction that makes the new one, and that nothing can fail
 * there any more (in-place.c), the new value is made in the memory of the old one. Else it goes
 * into a spare tensor, the one that the value before was in, and when all has been computed, value
 * and spare change places. So all updates read what was before the call, a failed call changes
 * nothing, and nothing is copied or, from the third call on, allocated.
 *
 * During a call its states are locked, for reading where it has no update of them. All calls lock
 * in the order of the variables' addresses, so none waits for another in a circle. A variable that
 * lies on another device than the call wants it on is moved once it is locked, for writing then.
 */
#include <gemel/shared.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "device/device.h"
#include "run/execution.h"

struct gemel_shared {
  long references; /* counted atomically */
  gemel_tensor *value;
  gemel_tensor *spare;   /* of an earlier value, or NULL */
  pthread_rwlock_t lock; /* of value and spare */
  uint64_t version;      /* as in gemel_kernel_call; changed while the lock is held for writing */
};

/* ---- Variables ---- */

gemel_shared *gemel_shared_new(const gemel_tensor *value, gemel_error *error) {
  gemel_shared *shared = gemel__alloc_zeroed(sizeof *shared);
  if (shared == NULL) {
    gemel__no_memory(error, "a shared variable");
    return NULL;
  }
  shared->references = 1;
  pthread_rwlock_init(&shared->lock, NULL);
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
  pthread_rwlock_destroy(&shared->lock);
  gemel__free(shared, sizeof *shared);
}

gemel_tensor *gemel_shared_get(const gemel_shared *shared) {
  gemel_shared *s = (gemel_shared *)shared;
  if (s == NULL) {
    return NULL;
  }
  pthread_rwlock_rdlock(&s->lock);
  gemel_tensor *value = gemel_tensor_ref(s->value);
  pthread_rwlock_unlock(&s->lock);
  return value;
}

void gemel__shared_give(gemel_shared *shared, gemel_tensor *value) {
  pthread_rwlock_wrlock(&shared->lock);
  gemel_tensor *before = shared->value;
  shared->value = value;
  shared->version++;
  pthread_rwlock_unlock(&shared->lock);
  gemel_tensor_unref(before);
}

gemel_status gemel_shared_set(gemel_shared *shared, const gemel_tensor *value, gemel_error *error) {
  if (shared == NULL || value == NULL) {
    return gemel__null(error, shared == NULL ? "the shared variable" : "the value");
  }
  gemel_tensor *copy = gemel__tensor_clone(value, error);
  if (copy == NULL) {
    return error != NULL ? error->status : GEMEL_NO_MEMORY;
  }
  gemel__shared_give(shared, copy);
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
  f->holds = gemel__alloc_array(f->n_states, sizeof *f->holds);
  return f->states && f->updates && f->holds ? GEMEL_OK
                                             : gemel__no_memory(error, "the states of a function");
}

/* Binds input K to VARIABLE. */
static gemel_status bind_state(gemel_function *f, size_t k, gemel_shared *variable,
                               gemel_error *error) {
  const char *name = f->program.inputs[k].name;
  if (variable == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "state %s has no shared variable", name);
  }
  f->states[k] = gemel_shared_ref(variable);
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
  return status;
}

/* The error that VARIABLE is that of two states, which names the last. */
static gemel_status variable_of_two(const gemel_function *f, size_t k, const gemel_shared *variable,
                                    gemel_error *error) {
  while (f->states[k - 1] != variable) {
    k--;
  }
  return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                     "state %s is given the shared variable of another state",
                     f->program.inputs[k - 1].name);
}

static int by_address(const void *a, const void *b) {
  const gemel__hold *x = a, *y = b;
  return (x->shared > y->shared) - (x->shared < y->shared);
}

/* Which states a call locks in which order. */
static gemel_status order_states(gemel_function *f, const gemel_graph *graph, gemel_error *error) {
  for (size_t k = 0, n = 0; k < graph->n_inputs; k++) {
    if (f->states[k] != NULL) {
      f->holds[n++] = (gemel__hold){f->states[k], f->program.inputs[k].device, 0};
    }
  }
  if (f->n_states > 1) {
    qsort(f->holds, f->n_states, sizeof *f->holds, by_address);
  }
  for (size_t n = 1; n < f->n_states; n++) {
    if (f->holds[n].shared == f->holds[n - 1].shared) {
      return variable_of_two(f, graph->n_inputs, f->holds[n].shared, error);
    }
  }
  return GEMEL_OK;
}

static void bind_updates(gemel_function *f, const gemel_graph *graph) {
  for (size_t k = 0; k < graph->n_outputs; k++) {
    long state = gemel__state_called(graph, graph->output_names[k]);
    if (state >= 0) {
      gemel__hold key = {.shared = f->states[state]};
      gemel__hold *hold = bsearch(&key, f->holds, f->n_states, sizeof key, by_address);
      hold->changes = 1;
      f->updates[k] = f->states[state];
      f->n_updates++;
    }
  }
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
  if (status == GEMEL_OK) {
    status = order_states(f, graph, error);
  }
  if (status == GEMEL_OK) {
    bind_updates(f, graph);
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
  gemel__free(f->holds, f->n_states * sizeof *f->holds);
}

const uint64_t *gemel__state_version(const gemel_function *f, uint32_t input) {
  int changes = f->program.inputs[input].pair != GEMEL__NO_VALUE;
  return f->states != NULL && f->states[input] != NULL && !changes ? &f->states[input]->version
                                                                   : NULL;
}

/* ---- Calls ---- */

static int held_elsewhere(const gemel_tensor *tensor) {
  return __atomic_load_n(&tensor->references, __ATOMIC_ACQUIRE) > 1;
}

/* The tensor that the next value of SHARED goes into: the value's own if the plan works IN_PLACE,
 * else the spare one where it fits, if nobody else holds it; NULL: a new one. */
static gemel_tensor *room_for_update(gemel_shared *shared, int in_place) {
  const gemel_tensor *value = shared->value, *spare = shared->spare;
  if (in_place && !held_elsewhere(value)) {
    gemel_tensor_unref(shared->spare);
    shared->spare = NULL;
    return shared->value;
  }
  if (spare != NULL && !held_elsewhere(spare) && spare->device == value->device &&
      spare->dtype == value->dtype && spare->rank == value->rank &&
      memcmp(spare->shape, value->shape, (size_t)value->rank * sizeof *value->shape) == 0) {
    return shared->spare;
  }
  gemel_tensor_unref(shared->spare);
  shared->spare = NULL;
  return NULL;
}

/* The value of SHARED, which is locked for writing, goes to DEVICE. */
static gemel_status move_to(gemel_shared *shared, const gemel_device *device, gemel_error *error) {
  gemel_tensor *there = gemel_tensor_transfer(shared->value, device, error);
  if (there == NULL) {
    return error->status;
  }
  gemel_tensor_unref(shared->value);
  shared->value = there;
  return GEMEL_OK;
}

/* Locks a state and has it lie where the call wants it; it is locked whatever comes of that. */
static gemel_status lock_state(const gemel__hold *hold, gemel_error *error) {
  gemel_shared *shared = hold->shared;
  if (hold->changes) {
    pthread_rwlock_wrlock(&shared->lock);
  } else {
    pthread_rwlock_rdlock(&shared->lock);
    if (gemel_tensor_device(shared->value) == hold->device) {
      return GEMEL_OK;
    }
    pthread_rwlock_unlock(&shared->lock);
    pthread_rwlock_wrlock(&shared->lock);
  }
  return gemel_tensor_device(shared->value) == hold->device ? GEMEL_OK
                                                            : move_to(shared, hold->device, error);
}

/* Unlocks the first N states. */
static void unlock(const gemel_function *f, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    pthread_rwlock_unlock(&f->holds[k].shared->lock);
  }
}

static gemel_status lock(const gemel_function *f, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  uint32_t k = 0;
  for (; k < f->n_states && status == GEMEL_OK; k++) {
    status = lock_state(&f->holds[k], error);
  }
  if (status != GEMEL_OK) {
    unlock(f, k);
  }
  return status;
}

gemel_status gemel__states_enter(gemel__execution *e, gemel_tensor *const *inputs,
                                 gemel_tensor **outputs) {
  const gemel_function *f = e->f;
  size_t next = 0;
  gemel_status status = lock(f, &e->error);
  if (status != GEMEL_OK) {
    return status;
  }
  for (uint32_t k = 0; k < f->program.n_inputs; k++) {
    e->all_inputs[k] = f->states[k] != NULL ? f->states[k]->value : inputs[next++];
  }
  next = 0;
  for (uint32_t k = 0; k < f->program.n_outputs; k++) {
    e->all_outputs[k] = f->updates[k] != NULL ? NULL : outputs[next++];
  }
  return GEMEL_OK;
}

void gemel__states_place(gemel__execution *e) {
  for (uint32_t k = 0; k < e->f->program.n_outputs; k++) {
    if (e->f->updates[k] != NULL) {
      e->all_outputs[k] = room_for_update(e->f->updates[k], e->plans->in_place[k]);
    }
  }
}

/* Values change places with the spare tensors that the call wrote, where it wrote to these. */
static void exchange(gemel__execution *e, gemel_tensor **outputs) {
  size_t next = 0;
  for (uint32_t k = 0; k < e->f->program.n_outputs; k++) {
    gemel_shared *shared = e->f->updates[k];
    if (shared == NULL) {
      outputs[next++] = e->all_outputs[k];
      continue;
    }
    shared->version++; /* an update raises its variable's version */
    if (e->all_outputs[k] != shared->value) {
      shared->spare = shared->value;
      shared->value = e->all_outputs[k];
    }
  }
}

void gemel__states_leave(gemel__execution *e, gemel_status status, gemel_tensor **outputs) {
  if (status == GEMEL_OK) {
    exchange(e, outputs);
  }
  unlock(e->f, e->f->n_states);
}
