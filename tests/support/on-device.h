/* SPDX-License-Identifier: MIT
 *
 * Random instances of operations, computed on the host and on the device of memory space 1, and
 * compared bit for bit, or as near as two math libraries are. Whoever includes this has an error
 * called `error`.
 */
#ifndef GEMEL_TESTS_ON_DEVICE_H
#define GEMEL_TESTS_ON_DEVICE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/dtype.h"
#include "core/graph.h"
#include "../run.h"
#include "instances/instance.h"
#include "base/random.h"

enum { MOST_OPERANDS = 16, MOST_RESULTS = 8 };

/* VALUE's node on the device: the same operation and attributes on transferred operands. */
static gemel_value apply_there(gemel_graph *graph, gemel_value value, size_t n,
                               const gemel_value *in) {
  const gemel_operation *record =
      gemel_operation_find(gemel_graph_context(graph), gemel_value_operation(value));
  gemel_attr attrs[GEMEL_SAMPLE_MAX_ATTRS];
  size_t count = 0;
  for (; record->attrs != NULL && record->attrs[count].name != NULL; count++) {
    CT_EQ_INT(gemel_value_attr(value, record->attrs[count].name, &attrs[count]), GEMEL_OK);
  }
  return gemel_apply(graph, record->name, n, in, count, attrs);
}

/* 1 if operand K of VALUE's node is a run-time size, which stays on the host: it stands behind the
 * operation's own operands in a node whose attributes name such. */
static int is_size(gemel_value value, size_t k) {
  const gemel__node *node = gemel__node_at(value.graph, value.node);
  const gemel_operation *record = &gemel__node_op(value.graph, value.node)->record;
  return gemel__attrs_at(value.graph->context, node->attrs)->has_runtime &&
         k >= (size_t)record->min_inputs;
}

/* GRAPH, of one operation, with all of its work on the device. */
static gemel_graph *moved(gemel_context *context, const gemel_graph *graph) {
  gemel_graph *made = gemel_graph_new(context, NULL);
  gemel_value there[MOST_OPERANDS];
  size_t n = gemel_graph_input_count(graph), outputs = gemel_graph_output_count(graph), k;
  gemel_value node = gemel_graph_output(graph, 0);
  CT_CHECK(n < MOST_OPERANDS);
  for (k = 0; k < n; k++) {
    gemel_value input = gemel_input(made, gemel_graph_input_name(graph, k),
                                    gemel_value_type(gemel_graph_input(graph, k)));
    there[k] = is_size(node, k) ? input : gemel_transfer(input, 1);
  }
  node = apply_there(made, node, n, there);
  for (k = 0; k < outputs; k++) {
    char name[24];
    snprintf(name, sizeof name, "out%zu", k);
    gemel_value output = {made, node.node, gemel_graph_output(graph, k).output};
    gemel_output(gemel_transfer(output, 0), name);
  }
  ct_context("%s", gemel_graph_error(made)->text);
  CT_EQ_INT(gemel_graph_error(made)->status, GEMEL_OK);
  return made;
}

static int is_one_operation(const gemel_graph *graph) {
  gemel_value first = gemel_graph_output(graph, 0);
  size_t n = gemel_graph_input_count(graph), k;
  if (gemel_value_input_count(first) != n) {
    return 0;
  }
  for (k = 0; k < n; k++) {
    gemel_value operand = gemel_value_input(first, k);
    if (operand.node != gemel_graph_input(graph, k).node) {
      return 0;
    }
  }
  for (k = 0; k < gemel_graph_output_count(graph); k++) {
    if (gemel_graph_output(graph, k).node != first.node) {
      return 0;
    }
  }
  return n > 0;
}

/* Numbers of a float dtype in their order, as integers, one after the other. */
static int64_t place_of(gemel_dtype dtype, const void *element) {
  size_t bits = 8 * gemel_dtype_size(dtype);
  uint64_t word = 0;
  memcpy(&word, element, bits / 8);
  uint64_t size = word & ~(1ull << (bits - 1));
  return size == word ? (int64_t)size : -(int64_t)size;
}

/* 1 if A and B, of one dtype, have the same bits or are floats no more than FAR numbers apart. One
 * NaN is as good as another. */
static int alike(const gemel_tensor *a, const gemel_tensor *b, int64_t far) {
  gemel_dtype dtype = gemel_tensor_dtype(a);
  size_t n = (size_t)gemel_tensor_elements(a), bytes = gemel_dtype_size(dtype);
  const char *x = gemel_tensor_data(a), *y = gemel_tensor_data(b);
  int same = gemel_tensor_elements(b) == gemel_tensor_elements(a);
  for (size_t k = 0; k < n && same; k++, x += bytes, y += bytes) {
    same = memcmp(x, y, bytes) == 0 ||
           (gemel__is_float(dtype) && llabs(place_of(dtype, x) - place_of(dtype, y)) <= far);
  }
  return same;
}

/* How far from the host's a result of GRAPH, of one operation, may be on a device: twice a bound of
 * two units in the last place where each has its own math library or order of rounding, else
 * nothing. */
static int64_t room_of(const gemel_graph *graph) {
  gemel_value value = gemel_graph_output(graph, 0);
  const char *name = gemel_value_operation(value);
  const gemel_operation *record = gemel_operation_find(gemel_graph_context(graph), name);
  int own_order = strcmp(name, "softmax") == 0 || strcmp(name, "cross_entropy") == 0;
  return own_order || (record->flags & GEMEL_OP_LIBRARY) != 0 ? 4 : 0;
}

/* How many of N results differ from those of the host by more than FAR. */
static int different(gemel_tensor *const *a, gemel_tensor *const *b, size_t n, int64_t far) {
  int found = 0;
  for (size_t k = 0; k < n; k++) {
    unify_nans(a[k]);
    unify_nans(b[k]);
    found += !alike(a[k], b[k], far);
  }
  return found;
}

static inline int different_bits(gemel_tensor *const *a, gemel_tensor *const *b, size_t n) {
  return different(a, b, n, 0);
}

static gemel_function *compiled(const gemel_graph *graph, int plain) {
  gemel_options options = {.size = sizeof options, .threads = 1, .plain = plain};
  return gemel_compile(graph, &options, &error);
}

static gemel_status call(const gemel_graph *graph, int plain, gemel_tensor *const *in,
                         gemel_tensor **out) {
  gemel_function *f = compiled(graph, plain);
  gemel_status status = f != NULL ? gemel_call(f, gemel_graph_input_count(graph), in,
                                               gemel_graph_output_count(graph), out, &error)
                                  : error.status;
  gemel_function_free(f);
  return status;
}

/* Bytes that no result has, so that what a later call leaves out is seen. */
static void spoil(gemel_tensor *const *tensors, size_t n) {
  for (size_t k = 0; k < n; k++) {
    memset(gemel_tensor_data(tensors[k]), 0x5a,
           (size_t)gemel_tensor_elements(tensors[k]) *
               gemel_dtype_size(gemel_tensor_dtype(tensors[k])));
  }
}

/* 1 if F, called with IN, ends with another status than WANTED or gives results further than FAR
 * from EXPECTED.
 * A device records a call whose addresses it has met, and replays it from then on: so there are
 * three calls with the same. */
static int differs(gemel_function *f, const gemel_graph *graph, gemel_tensor *const *in,
                   gemel_status wanted, gemel_tensor *const *expected, int64_t far) {
  enum { CALLS = 3 };
  gemel_tensor *out[MOST_RESULTS] = {NULL};
  size_t n = gemel_graph_output_count(graph);
  int wrong = f == NULL && error.status != wanted;
  for (int k = 0; k < CALLS && f != NULL && !wrong; k++) {
    gemel_status got = gemel_call(f, gemel_graph_input_count(graph), in, n, out, &error);
    wrong = got != wanted || (got == GEMEL_OK && different(expected, out, n, far) > 0);
    if (got == GEMEL_OK) {
      spoil(out, n);
    }
  }
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(out[k]);
  }
  return wrong;
}

/* One instance, with values of kind FILL, on the host and on the device; returns 1 if it was
 * compared, and counts it in *WRONG if the device made something else. */
static int both(gemel_context *context, const gemel__instance *instance, gemel__fill fill,
                gemel__random *random, int *wrong) {
  gemel_tensor *here[MOST_RESULTS] = {NULL}, **values;
  size_t outputs = gemel_graph_output_count(instance->graph);
  if (!is_one_operation(instance->graph) || outputs > MOST_RESULTS) {
    return 0;
  }
  CT_EQ_INT(gemel__values_draw(instance, fill, random, &values, &error), GEMEL_OK);
  gemel_graph *graph = moved(context, instance->graph);
  gemel_status wanted = call(instance->graph, 1, values, here);
  gemel_function *there = compiled(graph, (int)gemel__random_below(random, 2));
  *wrong += differs(there, graph, values, wanted, here, room_of(instance->graph));
  for (size_t k = 0; k < outputs; k++) {
    gemel_tensor_unref(here[k]);
  }
  gemel_function_free(there);
  gemel_graph_unref(graph);
  gemel__values_free(instance, values);
  return wanted == GEMEL_OK;
}

/* 1 if special values too give the same bits on all devices: nothing rounds, and no sum may begin
 * with a zero of its own, which is positive. */
static inline int is_exact(const gemel_operation *record) {
  return (record->flags & GEMEL_OP_INEXACT) == 0 && strncmp(record->name, "dot", 3) != 0;
}

/* How many instances of RECORD, with values of kind FILL, were compared; *WRONG: how many differ.
 */
static int compare_operation(gemel_context *context, const gemel_operation *record,
                             gemel__fill fill, uint64_t seed, int *wrong) {
  enum { DRAWS = 3 };
  gemel__random random;
  int compared = 0;
  *wrong = 0;
  gemel__random_seed(&random, seed);
  for (size_t k = 0; k < DRAWS * GEMEL_DTYPE_COUNT; k++) {
    gemel__instance instance;
    if (gemel__instance_draw(&instance, context, record, (gemel_dtype)(k % GEMEL_DTYPE_COUNT), 60,
                             &random, &error) == GEMEL_OK) {
      compared += both(context, &instance, fill, &random, wrong);
      gemel__instance_clear(&instance);
    }
  }
  return compared;
}

#endif
