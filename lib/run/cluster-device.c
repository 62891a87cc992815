/* SPDX-License-Identifier: MIT
 *
 * From a cluster to one kernel of a device. The device gets the nodes as a
 * list of steps, and views of what they read and keep; how it computes them in one pass is its own
 * affair.
 */
#include "run/planner.h"

#include <string.h>
#include "core/error.h"
#include "device/kernels.h"

typedef struct device_builder {
  gemel__planner *planner;
  const gemel__cluster *cluster;
  gemel__invocation *made;
  gemel_kernel_call *call; /* in MADE */
} device_builder;

static gemel_status out_of_memory(const device_builder *b) {
  return gemel__no_memory(b->planner->error, "a plan");
}

static void *room(const device_builder *b, size_t bytes) {
  return gemel__arena_alloc(&b->planner->segment->meta, bytes);
}

/* A view of LOAD with the cluster's shape; NULL strides: memory is out. */
static gemel_view load_view(const device_builder *b, const gemel__cluster_load *load) {
  const gemel__plan_layout *shape = b->cluster->shape, *l = load->layout;
  int64_t *strides = room(b, (size_t)shape->rank * sizeof *strides);
  int shift = shape->rank - l->rank - load->axis_left_out, end = shape->rank - load->axis_left_out;
  for (int axis = 0; strides != NULL && axis < shape->rank; axis++) {
    int fixed =
        axis < shift || axis >= end || (l->shape[axis - shift] == 1 && shape->shape[axis] != 1);
    strides[axis] = fixed ? 0 : l->strides[axis - shift];
  }
  return (gemel_view){l->dtype, shape->rank, shape->shape, strides, NULL};
}

static gemel_status build_inputs(device_builder *b) {
  gemel_view *views = room(b, b->cluster->n_loads * sizeof *views);
  if (views == NULL) {
    return out_of_memory(b);
  }
  for (uint32_t k = 0; k < b->cluster->n_loads; k++) {
    const gemel__cluster_load *load = &b->cluster->loads[k];
    views[k] = load_view(b, load);
    if (views[k].strides == NULL ||
        gemel__fix(b->planner, &views[k].data, load->buffer, load->layout->offset) != 0) {
      return out_of_memory(b);
    }
  }
  b->call->inputs = views;
  b->call->n_inputs = b->cluster->n_loads;
  return GEMEL_OK;
}

static void build_step(device_builder *b, const gemel__member *member, gemel_step *step) {
  const gemel__run_program *p = &b->planner->f->program;
  step->operation = &p->ops[p->nodes[member->node].op].op->record;
  step->dtype = gemel_type_dtype(p->context, gemel__value_type(p, member->value));
  step->n_in = member->n_in;
  step->output = -1;
  step->by_row = member->by_row;
  for (int k = 0; k < member->n_in; k++) {
    int at = member->in[k] & ~GEMEL__LOAD_REF;
    step->in[k] = member->in[k] & GEMEL__LOAD_REF ? -1 - at : at;
  }
}

/* The steps, and a view of each result that is kept. */
static gemel_status build_steps(device_builder *b) {
  const gemel__cluster *cluster = b->cluster;
  gemel_step *steps = room(b, cluster->n_members * sizeof *steps);
  gemel_view *views = room(b, b->made->cluster->n_stores * sizeof *views);
  if (steps == NULL || views == NULL) {
    return out_of_memory(b);
  }
  b->call->outputs = views;
  for (uint32_t k = 0; k < cluster->n_members; k++) {
    const gemel__plan_place *place = &b->planner->places[cluster->members[k].value];
    build_step(b, &cluster->members[k], &steps[k]);
    if (place->buffer != NULL) {
      const gemel__plan_layout *l = place->layout;
      gemel_view *view = &views[b->call->n_outputs];
      *view = (gemel_view){l->dtype, l->rank, l->shape, l->strides, NULL};
      steps[k].output = (int)b->call->n_outputs++;
      if (gemel__fix(b->planner, &view->data, place->buffer, 0) != 0) {
        return out_of_memory(b);
      }
    }
  }
  b->call->steps = steps;
  b->call->n_steps = cluster->n_members;
  return GEMEL_OK;
}

static gemel_status begin(device_builder *b) {
  const gemel_function *f = b->planner->f;
  gemel__cluster_record *cluster = room(b, sizeof *cluster);
  b->made = room(b, sizeof *b->made);
  if (b->made == NULL || cluster == NULL) {
    return out_of_memory(b);
  }
  *b->made = (gemel__invocation){.cluster = cluster};
  b->call = &b->made->call;
  gemel__kernel_call_init(b->call, NULL, f->program.devices[b->cluster->device], NULL,
                          &b->planner->execution->error);
  b->call->threads = f->threads;
  b->call->deterministic = f->deterministic;
  return gemel__cluster_describe(b->planner, b->cluster, cluster);
}

static gemel_status emit(device_builder *b) {
  gemel__run_buffer *scratch;
  gemel_status status = gemel__place_scratch(b->planner, b->cluster->device, b->call, &scratch);
  if (status == GEMEL_OK) {
    status = gemel__emit(b->planner, (gemel__instr){.kind = GEMEL__INSTR_CLUSTER,
                                                    .node = b->cluster->members[0].node,
                                                    .queue = b->cluster->device,
                                                    .kernel = b->made});
  }
  return status == GEMEL_OK && scratch != NULL ? gemel__buffer_use(b->planner, scratch, 1) : status;
}

gemel_status gemel__cluster_build_there(gemel__planner *planner, gemel__cluster *cluster) {
  device_builder b = {.planner = planner, .cluster = cluster};
  gemel_status status = cluster->shape->elements == 0 ? GEMEL_OK : begin(&b);
  if (status != GEMEL_OK || b.made == NULL) {
    return status;
  }
  status = build_inputs(&b);
  status = status == GEMEL_OK ? build_steps(&b) : status;
  status =
      status == GEMEL_OK ? gemel__choose_kernel(planner, b.call->device->clusters, b.made) : status;
  if (status == GEMEL_OK) {
    gemel__note_release(planner, b.made, b.made);
    return emit(&b);
  }
  if (status != GEMEL_NO_MEMORY) {
    gemel__blame(&planner->f->program, cluster->members[0].node, planner->error);
  }
  return status;
}
