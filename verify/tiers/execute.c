/* SPDX-License-Identifier: MIT
 *
 * Running what is on trial: the library in its variants. Results of the scattered variant lie in
 * odd layouts between guard bytes, which are compared afterwards, so a write outside a result is
 * found. (A program's own kernel is run by kernels/kernel.c.)
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "tiers/tiers.h"

/* A fixed number of threads, so that a run doesn't depend on the machine. */
const gemel__variant gemel__variants[] = {{"fused", 0, 3, 0},
                                          {"plain", 1, 1, 0},
                                          {"one thread", 0, 1, 0},
                                          {"odd layout", 0, 2, 1},
                                          {NULL, 0, 0, 0}};

const void *gemel__tensor_element(const gemel_tensor *tensor, size_t i) {
  gemel_view v = gemel_tensor_view(tensor);
  const char *at = v.data;
  if (gemel__is_row_major(gemel_dtype_size(v.dtype), v.rank, v.shape, v.strides)) {
    return at + i * gemel_dtype_size(v.dtype); /* mostly, and divisions are slow */
  }
  for (int k = v.rank; k-- > 0;) {
    at += (int64_t)(i % (size_t)v.shape[k]) * v.strides[k];
    i /= (size_t)v.shape[k];
  }
  return at;
}

/* ---- Guarded results ---- */

#define GUARD_BYTE 0xA5

struct guarded {
  void *block;
  size_t bytes;
  gemel_tensor *tensor;
};

static void release_block(void *state) {
  struct guarded *g = state;
  gemel__free(g->block, g->bytes);
  gemel__free(g, sizeof *g);
}

/* A tensor of TYPE in column-major order with a gap after each element and guards around it. */
static gemel_tensor *guarded_tensor(const gemel__leaf *type, gemel_error *error) {
  size_t size = gemel_dtype_size(type->dtype);
  int64_t strides[GEMEL_MAX_RANK];
  size_t step = 2 * size;
  struct guarded *g = gemel__alloc_zeroed(sizeof *g);
  for (int k = 0; k < type->rank; k++) {
    strides[k] = (int64_t)step;
    step *= (size_t)(type->shape[k] > 0 ? type->shape[k] : 1);
  }
  if (g == NULL || (g->block = gemel__alloc(g->bytes = step + 128)) == NULL) {
    gemel__free(g, sizeof *g);
    gemel__no_memory(error, "a guarded result");
    return NULL;
  }
  memset(g->block, GUARD_BYTE, g->bytes);
  g->tensor = gemel_tensor_wrap(type->dtype, type->rank, type->shape, strides,
                                (char *)g->block + 64, release_block, g, error);
  if (g->tensor == NULL) {
    release_block(g);
    return NULL;
  }
  return g->tensor;
}

static int untouched(const unsigned char *bytes, size_t count) {
  size_t k = 0;
  while (k < count && bytes[k] == GUARD_BYTE) {
    k++;
  }
  return k == count;
}

/* 1 if every byte outside the elements, which stand at every second place, is still the guard byte.
 */
static int guards_hold(gemel_tensor *tensor) {
  gemel_view v = gemel_tensor_view(tensor);
  const unsigned char *data = v.data;
  size_t size = gemel_dtype_size(v.dtype);
  size_t count = (size_t)gemel_tensor_elements(tensor), k;
  int hold = untouched(data - 64, 64);
  for (k = 0; k < count && hold; k++) {
    hold = untouched(data + (2 * k + 1) * size, size);
  }
  return hold && (count > 0 || untouched(data, 2 * size)) &&
         untouched(data + 2 * size * (count > 0 ? count : 1), 64);
}

/* ---- The library ---- */

gemel_status gemel__leaf_of_output(const gemel_graph *graph, size_t k, gemel__leaf *leaf) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_type type = gemel_value_type(gemel_graph_output(graph, k));
  const gemel_dim *dims = gemel_type_dims(context, type);
  leaf->dtype = gemel_type_dtype(context, type);
  leaf->rank = gemel_type_rank(context, type);
  leaf->count = 1;
  for (int j = 0; j < leaf->rank; j++) {
    if (!gemel_dim_is_constant(context, dims[j], &leaf->shape[j])) {
      return GEMEL_DECLINED;
    }
    leaf->count *= (size_t)leaf->shape[j];
  }
  return GEMEL_OK;
}

static gemel_status scatter(const gemel__instance *instance, gemel_tensor *const *values,
                            gemel__random *random, gemel_tensor **inputs, gemel_tensor **outputs,
                            gemel_error *error) {
  size_t k, n_out = gemel_graph_output_count(instance->graph);
  for (k = 0; k < instance->n_leaves; k++) {
    inputs[k] = gemel__tensor_scattered(values[k], random, error);
    if (inputs[k] == NULL) {
      return GEMEL_NO_MEMORY;
    }
  }
  for (k = 0; k < n_out; k++) {
    gemel__leaf leaf;
    /* a size known at run time only: the library makes the tensor */
    if (gemel__leaf_of_output(instance->graph, k, &leaf) == GEMEL_OK &&
        (outputs[k] = guarded_tensor(&leaf, error)) == NULL) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}

static gemel_status call_scattered(gemel_function *function, const gemel__instance *instance,
                                   gemel_tensor *const *values, gemel__random *random,
                                   gemel_tensor **outputs, gemel_error *error) {
  size_t k, n_out = gemel_graph_output_count(instance->graph);
  gemel_tensor **inputs = gemel__alloc_array(instance->n_leaves + n_out, sizeof *inputs);
  gemel_tensor **guarded = inputs + instance->n_leaves;
  gemel_status status;
  if (inputs == NULL) {
    return gemel__no_memory(error, "a run");
  }
  status = scatter(instance, values, random, inputs, outputs, error);
  if (status == GEMEL_OK) {
    memcpy(guarded, outputs, n_out * sizeof *outputs);
    status = gemel_call(function, inputs, outputs, error);
  }
  for (k = 0; k < n_out && status == GEMEL_OK; k++) {
    if (guarded[k] != NULL && !guards_hold(guarded[k])) {
      status = gemel__fail(error, GEMEL_INTERNAL, "output %zu: bytes outside it were written", k);
    }
  }
  gemel__tensors_release(instance->n_leaves, inputs);
  gemel__free(inputs, (instance->n_leaves + n_out) * sizeof *inputs);
  return status;
}

/* Results for the library to write into, so that what it leaves unwritten shows: NaN in floats. */
static gemel_status prefill(const gemel__instance *instance, gemel_tensor **outputs,
                            gemel_error *error) {
  size_t k, n_out = gemel_graph_output_count(instance->graph);
  for (k = 0; k < n_out; k++) {
    gemel__leaf leaf;
    if (gemel__leaf_of_output(instance->graph, k, &leaf) == GEMEL_OK) {
      outputs[k] = gemel_tensor_new(leaf.dtype, leaf.rank, leaf.shape, error);
      if (outputs[k] == NULL) {
        return GEMEL_NO_MEMORY;
      }
      memset(gemel_tensor_data(outputs[k]), leaf.dtype == GEMEL_BOOL ? 1 : 0xff,
             leaf.count * gemel_dtype_size(leaf.dtype));
    }
  }
  return GEMEL_OK;
}

static gemel_function *compile(const gemel__instance *instance, const gemel__variant *variant,
                               gemel_error *error) {
  gemel_options options = {.size = sizeof options,
                           .threads = variant->threads,
                           .plain = variant->plain,
                           .as_written = 1};
  return gemel_compile(instance->graph, &options, error);
}

void gemel__instance_compile(gemel__instance *instance) {
  if (instance->compiled == NULL) {
    instance->compiled = compile(instance, &gemel__variants[0], NULL);
  }
}

static gemel_status call(gemel_function *function, const gemel__instance *instance,
                         const gemel__variant *variant, gemel_tensor *const *values,
                         gemel__random *random, gemel_tensor **outputs, gemel_error *error) {
  gemel_status status;
  if (variant->scattered) {
    return call_scattered(function, instance, values, random, outputs, error);
  }
  status = variant->plain ? GEMEL_OK : prefill(instance, outputs, error);
  return status == GEMEL_OK ? gemel_call(function, values, outputs, error) : status;
}

gemel_status gemel__execute(const gemel__instance *instance, const gemel__variant *variant,
                            gemel_tensor *const *values, gemel__random *random,
                            gemel_tensor **outputs, gemel_error *error) {
  size_t n_out = gemel_graph_output_count(instance->graph);
  int ready = variant == &gemel__variants[0] && instance->compiled != NULL;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_function *function = ready ? instance->compiled : compile(instance, variant, &problem);
  gemel_status status;
  memset(outputs, 0, n_out * sizeof *outputs);
  if (function == NULL) {
    if (error != NULL) {
      *error = problem;
    }
    return problem.status;
  }
  status = call(function, instance, variant, values, random, outputs, error);
  if (!ready) {
    gemel_function_free(function);
  }
  if (status != GEMEL_OK) {
    gemel__tensors_release(n_out, outputs);
  }
  return status;
}
