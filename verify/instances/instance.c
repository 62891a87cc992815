/* SPDX-License-Identifier: MIT
 *
 * Instances: from an operation's sampler, from a graph, or of another instance's derivative.
 */
#include "instances/instance.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "instances/assumed.h"
#include "ops/ops.h"
#include "reference/twin.h"

#define MOST_ELEMENTS ((size_t)1 << 32)

static gemel_status leaf_of_type(gemel_context *context, gemel_type type, gemel__leaf *leaf,
                                 gemel_error *error) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  int k, empty = 0;
  memset(leaf, 0, sizeof *leaf);
  leaf->dtype = gemel_type_dtype(context, type);
  leaf->rank = gemel_type_rank(context, type);
  leaf->count = 1;
  for (k = 0; k < leaf->rank; k++) {
    if (!gemel_dim_is_constant(context, dims[k], &leaf->shape[k])) {
      return gemel__fail(error, GEMEL_BAD_SHAPE, "an instance needs constant sizes");
    }
    empty |= leaf->shape[k] == 0;
  }
  for (k = 0; k < leaf->rank && !empty; k++) {
    if (leaf->count > MOST_ELEMENTS / (size_t)leaf->shape[k]) {
      return gemel__fail(error, GEMEL_BAD_SHAPE, "an instance of more than 2^32 elements");
    }
    leaf->count *= (size_t)leaf->shape[k];
  }
  leaf->count = empty ? 0 : leaf->count;
  return GEMEL_OK;
}

static gemel_status take_leaves(gemel__instance *instance, gemel_error *error) {
  gemel_graph *graph = instance->graph;
  instance->n_leaves = gemel_graph_input_count(graph);
  instance->leaves = gemel__alloc_array(instance->n_leaves, sizeof *instance->leaves);
  if (instance->leaves == NULL) {
    instance->n_leaves = 0;
    return gemel__no_memory(error, "an instance");
  }
  for (size_t k = 0; k < instance->n_leaves; k++) {
    GEMEL__TRY(leaf_of_type(gemel_graph_context(graph),
                            gemel_value_type(gemel_graph_input(graph, k)), &instance->leaves[k],
                            error));
    instance->leaves[k].facts = gemel__input_facts(graph, k);
    instance->leaves[k].range = gemel__range_of_facts(instance->leaves[k].facts);
  }
  return GEMEL_OK;
}

void gemel__instance_clear(gemel__instance *instance) {
  gemel_function_free(instance->compiled);
  gemel_function_free(instance->compiled_plain);
  gemel_graph_unref(instance->graph);
  gemel__free(instance->leaves, instance->n_leaves * sizeof *instance->leaves);
  memset(instance, 0, sizeof *instance);
}

gemel_status gemel__instance_of_graph(gemel__instance *instance, gemel_graph *graph,
                                      const gemel_range *ranges, gemel_error *error) {
  memset(instance, 0, sizeof *instance);
  instance->ulp = -1;
  instance->graph = gemel_graph_ref(graph);
  gemel_status status = take_leaves(instance, error);
  for (size_t k = 0; k < instance->n_leaves && status == GEMEL_OK && ranges != NULL; k++) {
    instance->leaves[k].range = ranges[k];
  }
  if (status != GEMEL_OK) {
    gemel__instance_clear(instance);
  }
  return status;
}

/* ---- From a sampler ---- */

static gemel_status graph_error(const gemel_graph *graph, gemel_error *error) {
  if (error != NULL) {
    *error = *gemel_graph_error(graph);
  }
  return gemel_graph_error(graph)->status;
}

/* Builds inputs x0, x1, … and the operation applied to them, with outputs y0, y1, …. */
static gemel_status build_sample(gemel_graph *graph, const char *name, const gemel_sample *sample,
                                 gemel_error *error) {
  gemel_value inputs[GEMEL_SAMPLE_MAX_INPUTS];
  gemel_value result;
  char label[16];
  size_t k;
  for (k = 0; k < sample->n_inputs; k++) {
    snprintf(label, sizeof label, "x%zu", k);
    inputs[k] = gemel_input(graph, label, sample->inputs[k]);
  }
  result = gemel_apply(graph, name, sample->n_inputs, inputs, sample->n_attrs, sample->attrs);
  for (k = 0; !gemel_is_null(gemel_value_output(result, (uint32_t)k)); k++) {
    snprintf(label, sizeof label, "y%zu", k);
    gemel_output(gemel_value_output(result, (uint32_t)k), label);
  }
  return graph_error(graph, error);
}

gemel_status gemel__instance_draw(gemel__instance *instance, gemel_context *context,
                                  const gemel_operation *record, gemel_dtype dtype,
                                  int64_t max_elements, gemel__random *random, gemel_error *error) {
  return gemel__instance_draw_ranked(instance, context, record, dtype, max_elements,
                                     (gemel__wanted){0, 0, 0}, random, error);
}

static gemel_status fill_sampled(gemel__instance *instance, const gemel_operation *record,
                                 const gemel_sample *sample, gemel_error *error) {
  const gemel__scalar_row *row = gemel__scalar_row_of(record);
  instance->ulp = row != NULL ? row->ulp : -1;
  instance->elementwise = (record->flags & GEMEL_OP_ELEMENTWISE) != 0;
  instance->graph = gemel_graph_new(sample->context, error);
  if (instance->graph == NULL) {
    return GEMEL_NO_MEMORY;
  }
  GEMEL__TRY(build_sample(instance->graph, record->name, sample, error));
  GEMEL__TRY(take_leaves(instance, error));
  for (size_t k = 0; k < instance->n_leaves; k++) {
    instance->leaves[k].range = sample->ranges[k];
    instance->leaves[k].low = sample->low[k];
    instance->leaves[k].high = sample->high[k];
  }
  return GEMEL_OK;
}

gemel_status gemel__instance_draw_ranked(gemel__instance *instance, gemel_context *context,
                                         const gemel_operation *record, gemel_dtype dtype,
                                         int64_t max_elements, gemel__wanted wanted,
                                         gemel__random *random, gemel_error *error) {
  gemel_sample sample;
  gemel__sampler sampler;
  gemel_error told = {GEMEL_OK, 0, 0, ""};
  memset(instance, 0, sizeof *instance);
  memset(&sample, 0, sizeof sample);
  sample.size = sizeof sample;
  sample.error = &told;
  sample.context = context;
  sample.random = gemel__random_source;
  sample.user = random;
  sample.dtype = dtype;
  sample.max_elements = max_elements;
  sample.rank = wanted.rank;
  sample.length = wanted.length;
  sample.axis = wanted.axis;
  sample.data = record->data;
  sample.operation = record;
  sampler = gemel__sampler_of(context, record);
  if (sampler == NULL) {
    return GEMEL_DECLINED;
  }
  gemel_status status = sampler(&sample);
  if (status != GEMEL_OK) {
    return status == GEMEL_DECLINED
               ? status
               : gemel__fail(error, status, "the sampler of %s failed%s%s", record->name,
                             told.text[0] != '\0' ? ": " : "", told.text);
  }
  status = fill_sampled(instance, record, &sample, error);
  if (status != GEMEL_OK) {
    gemel__instance_clear(instance);
  }
  return status;
}

/* ---- Derivatives ---- */

static int is_float(gemel_value value) {
  return gemel__is_float(gemel__value_dtype(value));
}

size_t gemel__instance_partials(const gemel__instance *instance, gemel__partial *parts) {
  size_t n = 0, n_in = 0, j;
  for (j = 0; j < instance->n_leaves && n < GEMEL__MOST_PARTIALS / 2; j++) {
    if (gemel__is_float(instance->leaves[j].dtype)) {
      parts[n++] = (gemel__partial){j + 1, 0};
    }
  }
  n_in = n = n > 1 ? n : 0;
  for (j = 0; j < gemel_graph_output_count(instance->graph) && n < GEMEL__MOST_PARTIALS; j++) {
    if (is_float(gemel_graph_output(instance->graph, j))) {
      parts[n++] = (gemel__partial){0, j + 1};
    }
  }
  return n > n_in + 1 ? n : n_in;
}

struct gradient {
  gemel_graph *graph;
  gemel__partial part;
  int underived;
  size_t n_in, n_out, n_wrt, n_seeds;
  gemel_value *in;    /* the instance's inputs in the new graph */
  gemel_value *out;   /* its outputs of float dtype there */
  gemel_value *seeds; /* a cotangent for each of OUT */
  gemel_value *wrt;   /* its inputs of float dtype */
  gemel_value *result;
};

static gemel_status copy_instance(struct gradient *g, const gemel__instance *instance,
                                  gemel_error *error) {
  size_t k, n = 0;
  for (k = 0; k < g->n_in; k++) {
    gemel_value input = gemel_graph_input(instance->graph, k);
    g->in[k] = gemel__input_like(g->graph, gemel_graph_input_name(instance->graph, k),
                                 gemel_value_type(input), input);
    if (!gemel_is_null(g->in[k]) && is_float(g->in[k]) && gemel__partial_takes_input(g->part, k)) {
      g->wrt[g->n_wrt++] = g->in[k];
    }
  }
  GEMEL__TRY(graph_error(g->graph, error));
  GEMEL__TRY(gemel__graph_inline(g->graph, instance->graph, g->in, g->out, error));
  for (k = 0; k < g->n_out; k++) {
    if (is_float(g->out[k]) && gemel__partial_takes_output(g->part, k)) {
      /* a cotangent is an input, so no node can produce its size */
      if (gemel__type_at(gemel_graph_context(g->graph), gemel_value_type(g->out[k]))->has_runtime) {
        return GEMEL_DECLINED;
      }
      g->out[n++] = g->out[k];
    }
  }
  g->n_out = n;
  return GEMEL_OK;
}

/* Adds a cotangent under a name that no input has: u0, or v0 in a derivative's derivative, and so
 * on. */
static gemel_value add_seed(struct gradient *g, size_t k) {
  char label[24];
  char letter = 'u';
  for (;;) {
    size_t j;
    int taken = 0;
    snprintf(label, sizeof label, "%c%zu", letter, k);
    for (j = 0; j < gemel_graph_input_count(g->graph); j++) {
      taken |= strcmp(gemel_graph_input_name(g->graph, j), label) == 0;
    }
    if (!taken || letter == 'z') {
      return gemel_input(g->graph, label, gemel_value_type(g->out[k]));
    }
    letter++;
  }
}

static gemel_status derive(struct gradient *g, gemel_error *error) {
  char label[24];
  for (size_t k = 0; k < g->n_out; k++) {
    g->seeds[k] = add_seed(g, k);
  }
  GEMEL__TRY(graph_error(g->graph, error));
  if (g->underived) {
    memcpy(g->result, g->wrt, g->n_wrt * sizeof *g->wrt);
  } else {
    GEMEL__TRY(gemel_grad(g->n_out, g->out, g->seeds, g->n_wrt, g->wrt, g->result, error));
  }
  for (size_t k = 0; k < g->n_wrt; k++) {
    snprintf(label, sizeof label, "d%zu", k);
    GEMEL__TRY(gemel_output(g->result[k], label));
  }
  return GEMEL_OK;
}

gemel_status gemel__instance_gradient(gemel__instance *gradient, const gemel__instance *instance,
                                      gemel_error *error) {
  return gemel__instance_gradient_part(gradient, instance, (gemel__partial){0, 0}, 0, error);
}

static gemel_status make_gradient(struct gradient *g, const gemel__instance *instance,
                                  gemel__instance *gradient, gemel_error *error) {
  GEMEL__TRY(copy_instance(g, instance, error));
  if (g->n_wrt == 0 || g->n_out == 0) {
    return GEMEL_DECLINED;
  }
  GEMEL__TRY(derive(g, error));
  GEMEL__TRY(gemel__instance_of_graph(gradient, g->graph, NULL, error));
  for (size_t k = 0; k < instance->n_leaves; k++) {
    gradient->leaves[k] = instance->leaves[k];
  }
  return GEMEL_OK;
}

gemel_status gemel__instance_gradient_part(gemel__instance *gradient,
                                           const gemel__instance *instance, gemel__partial part,
                                           int underived, gemel_error *error) {
  struct gradient g;
  size_t n;
  gemel_status status = GEMEL_OK;
  gemel_value *room;
  memset(&g, 0, sizeof g);
  g.part = part;
  g.underived = underived;
  memset(gradient, 0, sizeof *gradient);
  g.n_in = instance->n_leaves;
  g.n_out = gemel_graph_output_count(instance->graph);
  n = 3 * g.n_in + 2 * g.n_out;
  room = gemel__alloc_array(n, sizeof *room);
  g.graph = gemel_graph_new(gemel_graph_context(instance->graph), error);
  if (room == NULL || g.graph == NULL) {
    status = gemel__no_memory(error, "a derivative");
  } else {
    g.in = room;
    g.wrt = room + g.n_in;
    g.result = room + 2 * g.n_in;
    g.out = room + 3 * g.n_in;
    g.seeds = g.out + g.n_out;
    status = make_gradient(&g, instance, gradient, error);
  }
  gemel__free(room, n * sizeof *room);
  gemel_graph_unref(g.graph);
  return status;
}

/* ---- References ---- */

gemel_status gemel__instance_reference(const gemel__instance *instance, gemel__domain *d,
                                       gemel_tensor *const *values, gemel__rtensor *outputs,
                                       gemel_error *error) {
  return gemel__instance_reference_by(instance, d, values, outputs, NULL, NULL, error);
}

size_t gemel__instance_results(const gemel__instance *instance) {
  return gemel_graph_output_count(instance->graph) * (instance->calls > 0 ? instance->calls : 1);
}

static gemel_status copy_rtensor(gemel__rtensor *to, const gemel__rtensor *from,
                                 gemel_error *error) {
  gemel__domain *d = from->domain;
  gemel__rtensor_clear(to);
  GEMEL__TRY(gemel__rtensor_init(to, d, from->dtype, from->rank, from->shape, error));
  for (size_t i = 0; i < from->count; i++) {
    d->set(d, gemel__rtensor_at(to, i), gemel__rtensor_at(from, i));
  }
  return GEMEL_OK;
}

/* Sets the states among INPUTS, for the next call, to their updates in OUTPUTS. */
static gemel_status update_states(const gemel_graph *graph, const gemel__rtensor *outputs,
                                  gemel__rtensor *inputs, gemel_error *error) {
  for (size_t k = 0; k < graph->n_outputs; k++) {
    long state = gemel__state_called(graph, graph->output_names[k]);
    GEMEL__TRY(state < 0 ? GEMEL_OK : copy_rtensor(&inputs[state], &outputs[k], error));
  }
  return GEMEL_OK;
}

gemel_status gemel__instance_reference_by(const gemel__instance *instance, gemel__domain *d,
                                          gemel_tensor *const *values, gemel__rtensor *outputs,
                                          gemel__reference_lookup extra, void *user,
                                          gemel_error *error) {
  gemel__rtensor *inputs = gemel__alloc_array(instance->n_leaves, sizeof *inputs);
  size_t n = gemel_graph_output_count(instance->graph), k;
  if (inputs == NULL) {
    return gemel__no_memory(error, "a reference");
  }
  gemel_status status = gemel__rtensors_read(instance->n_leaves, inputs, d, values, error);
  for (k = 0; k < gemel__instance_results(instance) && status == GEMEL_OK; k += n) {
    status = k == 0 ? GEMEL_OK : update_states(instance->graph, outputs + k - n, inputs, error);
    status = status ? status
                    : gemel__reference_graph(instance->graph, d, inputs, outputs + k, extra, user,
                                             error);
  }
  gemel__rtensors_free(instance->n_leaves, inputs);
  return status;
}

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

/* ---- Places ---- */

/* Sets INDEX to that of ELEMENT in a tensor of TYPE. 0: a size isn't a constant, or there is no
 * such element. */
static int index_of(gemel_context *context, gemel_type type, size_t element,
                    size_t index[GEMEL_MAX_RANK]) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  for (int k = gemel_type_rank(context, type); k-- > 0;) {
    int64_t size = 0;
    if (!gemel_dim_is_constant(context, dims[k], &size) || size <= 0) {
      return 0;
    }
    index[k] = element % (size_t)size;
    element /= (size_t)size;
  }
  return element == 0;
}

void gemel__place_text(const gemel_graph *graph, size_t output, size_t element, char *text,
                       size_t bytes) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_type type = gemel_value_type(gemel_graph_output(graph, output));
  size_t index[GEMEL_MAX_RANK], used;
  int rank = gemel_type_rank(context, type);
  if (!index_of(context, type, element, index)) {
    snprintf(text, bytes, "%s, element %zu", gemel_graph_output_name(graph, output), element);
    return;
  }
  used = (size_t)snprintf(text, bytes, "%s", gemel_graph_output_name(graph, output));
  for (int k = 0; k < rank && used < bytes; k++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%zu%s", k == 0 ? "[" : ", ", index[k],
                             k == rank - 1 ? "]" : "");
  }
}
