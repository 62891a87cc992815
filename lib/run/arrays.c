/* SPDX-License-Identifier: MIT
 *
 * Calls of functions on the program's arrays, whose sizes the graph says: each becomes a tensor for
 * the time of the call. And the shared variables of a function's states, by name.
 */
#include <string.h>
#include <gemel/function.h>
#include <gemel/tensor.h>
#include "core/alloc.h"
#include "core/error.h"
#include "run/execution.h"

/* ARRAY as the tensor that PORT of F takes; NULL with the error. */
static gemel_tensor *wrapped(const gemel_function *f, const gemel__port *port, void *array,
                             gemel_error *error) {
  const gemel__run_program *p = &f->program;
  gemel_type type = gemel__value_type(p, port->value);
  int rank = gemel_type_rank(p->context, type);
  const gemel_dim *dims = gemel_type_dims(p->context, type);
  int64_t shape[GEMEL_MAX_RANK] = {0};
  for (int k = 0; k < rank; k++) {
    if (!gemel_dim_is_constant(p->context, dims[k], &shape[k])) {
      char size[64];
      gemel_dim_format(p->context, dims[k], size, sizeof size);
      gemel__fail(error, GEMEL_BAD_SHAPE,
                  "%s has the size %s, which is no number: an array doesn't say what it is",
                  port->name, size);
      return NULL;
    }
  }
  if (array == NULL) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s has no array", port->name);
    return NULL;
  }
  return gemel_tensor_wrap(gemel_type_dtype(p->context, type), rank, shape, NULL, array, NULL, NULL,
                           error);
}

/* N arrays as the tensors of those of N_PORTS ports that aren't BOUND to variables. */
static gemel_status wrap_all(const gemel_function *f, size_t n_ports, const gemel__port *ports,
                             gemel_shared *const *bound, void *const *arrays,
                             gemel_tensor **tensors, gemel_error *error) {
  for (size_t k = 0, n = 0; k < n_ports; k++) {
    if (bound == NULL || bound[k] == NULL) {
      tensors[n] = wrapped(f, &ports[k], arrays[n], error);
      if (tensors[n] == NULL) {
        return GEMEL_BAD_ARGUMENT;
      }
      n++;
    }
  }
  return GEMEL_OK;
}

static gemel_status call(gemel_function *f, size_t n_inputs, void *const *inputs, size_t n_outputs,
                         void *const *outputs, gemel_tensor **tensors, gemel_error *error) {
  const gemel__run_program *p = &f->program;
  gemel_status status = wrap_all(f, p->n_inputs, p->inputs, f->states, inputs, tensors, error);
  if (status == GEMEL_OK) {
    status = wrap_all(f, p->n_outputs, p->outputs, f->updates, outputs, tensors + n_inputs, error);
  }
  if (status != GEMEL_OK) {
    return error->status;
  }
  return gemel_call(f, n_inputs, tensors, n_outputs, tensors + n_inputs, error);
}

gemel_status gemel_call_arrays(gemel_function *f, size_t n_inputs, void *const *inputs,
                               size_t n_outputs, void *const *outputs, gemel_error *error) {
  gemel_error local;
  error = error != NULL ? error : &local;
  if (f == NULL || n_inputs != gemel_function_input_count(f) ||
      n_outputs != gemel_function_output_count(f)) {
    return gemel_call(f, n_inputs, NULL, n_outputs, NULL, error); /* which says what is wrong */
  }
  if ((inputs == NULL && n_inputs > 0) || (outputs == NULL && n_outputs > 0)) {
    return gemel__null(error, "the arrays");
  }
  size_t count = n_inputs + n_outputs;
  gemel_tensor **tensors = gemel__alloc_zeroed((count + 1) * sizeof *tensors);
  if (tensors == NULL) {
    return gemel__no_memory(error, "a call");
  }
  gemel_status status = call(f, n_inputs, inputs, n_outputs, outputs, tensors, error);
  for (size_t k = 0; k < count; k++) {
    gemel_tensor_unref(tensors[k]);
  }
  gemel__free(tensors, (count + 1) * sizeof *tensors);
  return status;
}

gemel_shared *gemel_function_state(const gemel_function *f, const char *name) {
  for (size_t k = 0; f != NULL && name != NULL && f->states != NULL && k < f->program.n_inputs;
       k++) {
    if (f->states[k] != NULL && strcmp(f->program.inputs[k].name, name) == 0) {
      return f->states[k];
    }
  }
  return NULL;
}

gemel_status gemel_function_states(const gemel_function *f, size_t *n, gemel_shared ***states,
                                   gemel_error *error) {
  if (f == NULL || n == NULL || states == NULL) {
    return gemel__null(error, f == NULL ? "the function" : "what is to receive the states");
  }
  size_t count = f->n_states, i = 0;
  gemel_shared **found = gemel__alloc_array(count + 1, sizeof *found);
  if (found == NULL) {
    return gemel__no_memory(error, "states");
  }
  for (size_t k = 0; f->states != NULL && k < f->program.n_inputs; k++) {
    if (f->states[k] != NULL) {
      found[i++] = gemel_shared_ref(f->states[k]);
    }
  }
  *n = count;
  *states = found;
  return GEMEL_OK;
}
