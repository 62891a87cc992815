/* SPDX-License-Identifier: MIT
 *
 * One call of a function, and the plans that are kept for the next. A call compares its inputs'
 * shapes and strides with the plan used last and, if they are the same, goes straight on; else it
 * looks among the plans there are, and makes a new one at last, which may push out the one that was
 * unused for longest. Results are written into the tensors that are given, or into new ones; a
 * given tensor that is not row-major, or overlaps an input, is filled from a staging buffer, which
 * is kept.
 */
#include "run/execution.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "run/record.h"

/* ---- Making and freeing ---- */

static gemel_status allocate(gemel__execution *e) {
  const gemel__run_program *p = &e->f->program;
  e->ports = gemel__alloc_array((size_t)p->n_inputs + p->n_outputs, sizeof *e->ports);
  e->fresh = gemel__alloc_array(p->n_outputs, sizeof *e->fresh);
  e->staging = gemel__alloc_array(p->n_outputs, sizeof *e->staging);
  e->spans = gemel__alloc_array(p->n_outputs, sizeof *e->spans);
  e->aside = gemel__alloc_array(p->n_outputs, 1);
  if (e->f->states != NULL) {
    e->all_inputs = gemel__alloc_array(p->n_inputs, sizeof *e->all_inputs);
    e->all_outputs = gemel__alloc_array(p->n_outputs, sizeof *e->all_outputs);
  }
  return e->ports != NULL && e->fresh != NULL && e->staging != NULL && e->spans != NULL &&
                 e->aside != NULL &&
                 (e->f->states == NULL || (e->all_inputs != NULL && e->all_outputs != NULL))
             ? GEMEL_OK
             : GEMEL_NO_MEMORY;
}

gemel__execution *gemel__execution_new(const gemel_function *f, gemel_error *error) {
  gemel__execution *e = gemel__alloc_zeroed(sizeof *e);
  if (e != NULL) {
    e->f = f;
    if (allocate(e) == GEMEL_OK) {
      return e;
    }
    gemel__execution_free(e);
  }
  gemel__no_memory(error, "a call");
  return NULL;
}

void gemel__execution_free(gemel__execution *e) {
  const gemel__run_program *p = &e->f->program;
  while (e->plans != NULL) {
    gemel__plan *plan = e->plans;
    e->plans = plan->next;
    gemel__plan_free(e, plan);
  }
  for (uint32_t k = 0; e->staging != NULL && k < p->n_outputs; k++) {
    gemel_tensor_unref(e->staging[k]);
  }
  gemel__free(e->places, p->n_values * sizeof *e->places);
  gemel__free(e->seen, e->seen_capacity * sizeof *e->seen);
  gemel__free(e->loaded, e->loaded_capacity * sizeof *e->loaded);
  gemel__free(e->ports, ((size_t)p->n_inputs + p->n_outputs) * sizeof *e->ports);
  gemel__free(e->fresh, p->n_outputs * sizeof *e->fresh);
  gemel__free(e->staging, p->n_outputs * sizeof *e->staging);
  gemel__free(e->spans, p->n_outputs * sizeof *e->spans);
  gemel__free(e->aside, p->n_outputs);
  gemel__free(e->all_inputs, p->n_inputs * sizeof *e->all_inputs);
  gemel__free(e->all_outputs, p->n_outputs * sizeof *e->all_outputs);
  if (e->scratch_block != NULL) {
    gemel__free(e->scratch_block, e->scratch_bytes + GEMEL__DATA_ALIGNMENT);
  }
  gemel__free(e, sizeof *e);
}

static void free_one_segment(gemel__execution *e, gemel__segment *s) {
  if (s->depth < e->loaded_capacity && e->loaded[s->depth] == s) {
    e->loaded[s->depth] = NULL;
  }
  for (gemel__invocation *inv = s->to_release; inv != NULL; inv = inv->next_to_release) {
    inv->call.release(inv->call.prepared);
  }
  if (e->asked) {
    gemel__synchronize(e); /* staging memory may be in use */
  }
  for (size_t k = 0; k < s->n_blocks; k++) {
    const gemel__device_block *block = &s->blocks[k];
    if (block->kind == GEMEL__BLOCK_STAGING) {
      gemel__staging_free(block->device, block->data, block->bytes);
    } else if (block->kind == GEMEL__BLOCK_VALUE) {
      gemel__value_memory_free(block->device, block->data, block->bytes);
    } else {
      block->device->release(block->device->user, block->data, block->bytes);
    }
  }
  gemel__stretches_free(&e->f->program, s);
  gemel__record_release(s);
  gemel__free(s->blocks, s->block_capacity * sizeof *s->blocks);
  gemel__free(s->instrs, s->instr_capacity * sizeof *s->instrs);
  gemel__free(s->patches, s->patch_capacity * sizeof *s->patches);
  gemel__free(s->results, s->result_capacity * sizeof *s->results);
  gemel__arena_clear(&s->meta);
  gemel__free(s, sizeof *s);
}

void gemel__segment_free(gemel__execution *e, gemel__segment *segment) {
  gemel__segment *s = segment;
  while (s != NULL) {
    if (s->children != NULL) {
      gemel__segment *child = s->children;
      s->children = child->next;
      s = child;
    } else {
      gemel__segment *parent = s != segment ? s->parent : NULL;
      free_one_segment(e, s);
      s = parent;
    }
  }
}

void gemel__plan_free(gemel__execution *e, gemel__plan *plan) {
  gemel__segment_free(e, plan->root);
  gemel__free(plan->signature, plan->signature_count * sizeof *plan->signature);
  gemel__free(plan->offsets, e->f->program.n_inputs * sizeof *plan->offsets);
  gemel__free(plan->symbols, plan->symbol_capacity * sizeof *plan->symbols);
  gemel__free(plan->known, plan->known_capacity * sizeof *plan->known);
  gemel__free(plan->in_place, e->f->program.n_outputs);
  gemel__free(plan, sizeof *plan);
}

/* ---- Finding the plan ---- */

static int matches(const gemel__execution *e, const gemel__plan *plan,
                   gemel_tensor *const *inputs) {
  const int64_t *part = plan->signature;
  uint32_t k;
  int axis;
  for (k = 0; k < e->f->program.n_inputs; k++) {
    const gemel_tensor *t = inputs[k];
    if (part[0] != (int64_t)t->dtype || part[1] != t->rank) {
      return 0;
    }
    /* a tensor's strides lie behind its shape, as they do in the signature */
    for (axis = 0; axis < 2 * t->rank; axis++) {
      if (part[2 + axis] != t->shape[axis]) {
        return 0;
      }
    }
    part += 2 + 2 * t->rank;
  }
  return 1;
}

static gemel_status write_signature(gemel__execution *e, gemel__plan *plan,
                                    gemel_tensor *const *inputs) {
  size_t count = 0;
  uint32_t k;
  int64_t *part;
  for (k = 0; k < e->f->program.n_inputs; k++) {
    count += 2 + 2 * (size_t)inputs[k]->rank;
  }
  plan->offsets = gemel__alloc_array(e->f->program.n_inputs, sizeof *plan->offsets);
  plan->signature = gemel__alloc_array(count, sizeof *plan->signature);
  if (plan->signature == NULL || plan->offsets == NULL) {
    if (plan->signature != NULL) {
      gemel__free(plan->signature, count * sizeof *plan->signature);
      plan->signature = NULL;
    }
    return gemel__no_memory(&e->error, "a plan");
  }
  plan->signature_count = count;
  part = plan->signature;
  for (k = 0; k < e->f->program.n_inputs; k++) {
    const gemel_tensor *t = inputs[k];
    plan->offsets[k] = (size_t)(part - plan->signature);
    *part++ = (int64_t)t->dtype;
    *part++ = t->rank;
    memcpy(part, t->shape, 2 * (size_t)t->rank * sizeof *part);
    part += 2 * t->rank;
  }
  return GEMEL_OK;
}

static void evict_plan(gemel__execution *e) {
  gemel__plan **link = &e->plans;
  int kept;
  for (kept = 0; *link != NULL && kept < GEMEL__PLANS - 1; kept++) {
    link = &(*link)->next;
  }
  while (*link != NULL) {
    gemel__plan *old = *link;
    *link = old->next;
    gemel__plan_free(e, old);
  }
}

static gemel_status new_plan(gemel__execution *e, gemel_tensor *const *inputs) {
  gemel__plan *plan = gemel__alloc_zeroed(sizeof *plan);
  gemel_status status;
  if (plan == NULL) {
    return gemel__no_memory(&e->error, "a plan");
  }
  plan->in_place = gemel__alloc_array(e->f->program.n_outputs, 1);
  status = plan->in_place != NULL ? write_signature(e, plan, inputs)
                                  : gemel__no_memory(&e->error, "a plan");
  if (status == GEMEL_OK) {
    status = gemel__bind_inputs(e->f, plan, inputs, &e->error);
  }
  e->n_seen = 0;
  if (status == GEMEL_OK) {
    status = gemel__plan_segment(e, plan, NULL, 0, &plan->root);
  }
  if (status != GEMEL_OK) {
    gemel__plan_free(e, plan);
    return status;
  }
  evict_plan(e);
  plan->next = e->plans;
  e->plans = plan;
  return GEMEL_OK;
}

/* Puts the plan for INPUTS in front. */
static gemel_status find_plan(gemel__execution *e, gemel_tensor *const *inputs) {
  gemel__plan **link;
  for (link = &e->plans; *link != NULL; link = &(*link)->next) {
    gemel__plan *plan = *link;
    if (matches(e, plan, inputs)) {
      *link = plan->next;
      plan->next = e->plans;
      e->plans = plan;
      return GEMEL_OK;
    }
  }
  return new_plan(e, inputs);
}

/* ---- Results ---- */

static gemel_status wrong_output(gemel__execution *e, uint32_t k, const gemel_tensor *given,
                                 const gemel__plan_layout *wanted, gemel_status status) {
  char a[300], b[300];
  return gemel__fail(&e->error, status, "output %s is %s%s and the tensor given for it is %s%s",
                     e->f->program.outputs[k].name, gemel_dtype_name(wanted->dtype),
                     gemel__format_shape(wanted->rank, wanted->shape, a, sizeof a),
                     gemel_dtype_name(given->dtype),
                     gemel__format_shape(given->rank, given->shape, b, sizeof b));
}

static gemel_status wrong_place(gemel__execution *e, const char *what, const gemel__port *port,
                                const gemel_tensor *given) {
  return gemel__fail(&e->error, GEMEL_BAD_TYPE,
                     "%s %s lies on the device %s, and the tensor given for it on %s", what,
                     port->name, port->device->name, gemel_tensor_device(given)->name);
}

static int same_sizes(int rank, const int64_t *a, const int64_t *b) {
  int k;
  for (k = 0; k < rank; k++) {
    if (a[k] != b[k]) {
      return 0;
    }
  }
  return 1;
}

/* A new tensor for output K, in *TENSOR. */
static gemel_status make_tensor(gemel__execution *e, uint32_t k, const gemel__plan_layout *l,
                                gemel_tensor **tensor) {
  gemel_tensor_unref(*tensor);
  *tensor =
      gemel__tensor_raw_on(e->f->program.outputs[k].device, l->dtype, l->rank, l->shape, &e->error);
  return *tensor != NULL ? GEMEL_OK : e->error.status;
}

/* The staging buffer of output K, kept from call to call while it fits. */
static gemel_status make_staging(gemel__execution *e, uint32_t k, const gemel__plan_layout *l) {
  const gemel_tensor *t = e->staging[k];
  if (t != NULL && t->dtype == l->dtype && t->rank == l->rank &&
      same_sizes(l->rank, t->shape, l->shape)) {
    return GEMEL_OK;
  }
  return make_tensor(e, k, l, &e->staging[k]);
}

/* Settles where output K's elements go in this call. */
static gemel_status enter_result(gemel__execution *e, uint32_t k, const gemel__plan_layout *l,
                                 const gemel_tensor *given) {
  char **port = &e->ports[e->f->program.n_inputs + k];
  gemel_status status = GEMEL_OK;
  if (given == NULL) {
    status = make_tensor(e, k, l, &e->fresh[k]);
    *port = status == GEMEL_OK ? e->fresh[k]->data : NULL;
    return status;
  }
  if (gemel_tensor_device(given) != e->f->program.outputs[k].device) {
    return wrong_place(e, "output", &e->f->program.outputs[k], given);
  }
  if (given->dtype != l->dtype) {
    return wrong_output(e, k, given, l, GEMEL_BAD_TYPE);
  }
  if (given->rank != l->rank || !same_sizes(l->rank, given->shape, l->shape)) {
    return wrong_output(e, k, given, l, GEMEL_BAD_SHAPE);
  }
  if (!e->aside[k] &&
      gemel__is_row_major(gemel_dtype_size(l->dtype), l->rank, given->shape, given->strides)) {
    *port = given->data;
    return GEMEL_OK;
  }
  status = make_staging(e, k, l);
  *port = status == GEMEL_OK ? e->staging[k]->data : NULL;
  return status;
}

static gemel_status enter_results(gemel__execution *e, const gemel__segment *s,
                                  gemel_tensor *const *outputs) {
  size_t k;
  gemel_status status = GEMEL_OK;
  for (k = 0; k < s->n_results && status == GEMEL_OK; k++) {
    uint32_t output = s->results[k].output;
    status = enter_result(e, output, s->results[k].layout, outputs[output]);
  }
  return status;
}

/* Fills the given tensors that had staging buffers. */
static gemel_status empty_staging(gemel__execution *e, gemel_tensor **outputs) {
  for (uint32_t k = 0; k < e->f->program.n_outputs; k++) {
    gemel_tensor *t = outputs[k];
    if (t != NULL && e->ports[e->f->program.n_inputs + k] != t->data) {
      const gemel_tensor *other = NULL;
      int mistaken = other != NULL && other->dtype == t->dtype && other->rank == t->rank &&
                     same_sizes(t->rank, other->shape, t->shape);
      GEMEL__TRY(gemel__tensor_copy_elements(t, mistaken ? other : e->staging[k], e->f->threads,
                                             &e->error));
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__synchronize(gemel__execution *e) {
  const gemel__run_program *p = &e->f->program;
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 1; k < p->n_devices && status == GEMEL_OK; k++) {
    status = gemel__told(&e->error, p->devices[k]->synchronize(p->devices[k]->user, &e->error));
  }
  e->asked = 0;
  return status;
}

/* Hands over new tensors. */
static void leave_results(gemel__execution *e, gemel_tensor **outputs) {
  for (uint32_t k = 0; k < e->f->program.n_outputs; k++) {
    if (outputs[k] == NULL) {
      outputs[k] = e->fresh[k];
      e->fresh[k] = NULL;
    }
  }
}

static void drop_results(gemel__execution *e) {
  uint32_t k;
  for (k = 0; k < e->f->program.n_outputs; k++) {
    gemel_tensor_unref(e->fresh[k]);
    e->fresh[k] = NULL;
  }
}

/* ---- Calling ---- */

/* The child of SEGMENT for SIZE, moved to the front; NULL if there is none. */
static gemel__segment *find_child(gemel__segment *segment, int64_t size) {
  gemel__segment **link;
  for (link = &segment->children; *link != NULL; link = &(*link)->next) {
    gemel__segment *child = *link;
    if (child->size == size) {
      *link = child->next;
      child->next = segment->children;
      segment->children = child;
      return child;
    }
  }
  return NULL;
}

static gemel_status new_child(gemel__execution *e, gemel__segment *segment, int64_t size,
                              gemel__segment **made) {
  gemel__segment **link = &segment->children;
  gemel_status status = gemel__plan_segment(e, e->plans, segment, segment->end, made);
  int kept;
  if (status != GEMEL_OK) {
    return status;
  }
  (*made)->size = size;
  (*made)->next = segment->children;
  segment->children = *made;
  for (kept = 0; *link != NULL && kept < GEMEL__PLANS; kept++) {
    link = &(*link)->next;
  }
  while (*link != NULL) {
    gemel__segment *old = *link;
    *link = old->next;
    gemel__segment_free(e, old);
  }
  return GEMEL_OK;
}

/* Reads the size that SEGMENT ended for and finds what to run next. */
static gemel_status next_segment(gemel__execution *e, gemel__segment *segment,
                                 gemel__segment **next) {
  const gemel__run_program *p = &e->f->program;
  gemel_dtype dtype = gemel_type_dtype(p->context, gemel__value_type(p, segment->wanted));
  int64_t size = gemel__load_size(dtype, segment->wanted_data);
  if (gemel__grow(&e->seen, &e->seen_capacity, segment->depth + 2u, sizeof *e->seen) != 0) {
    return gemel__no_memory(&e->error, "a plan");
  }
  e->n_seen = segment->depth + 2u;
  e->seen[segment->depth + 1].value = segment->wanted;
  e->seen[segment->depth + 1].size = size;
  *next = find_child(segment, size);
  if (*next == NULL) {
    GEMEL__TRY(new_child(e, segment, size, next));
  }
  e->seen[segment->depth + 1].segment = *next;
  return GEMEL_OK;
}

static gemel_status run(gemel__execution *e, gemel_tensor *const *outputs) {
  gemel__segment *s = e->plans->root;
  e->n_seen = 1;
  e->seen[0].segment = s;
  e->bytes = e->unshared_bytes = e->kernels = 0;
  e->calls++;
  for (;;) {
    e->bytes += s->block_bytes;
    e->unshared_bytes += s->unshared_bytes;
    e->kernels += s->n_kernels;
    GEMEL__TRY(enter_results(e, s, outputs));
    GEMEL__TRY(gemel__segment_run(e, s));
    if (s->wanted == GEMEL__NO_VALUE) {
      return GEMEL_OK;
    }
    GEMEL__TRY(next_segment(e, s, &s));
  }
}

static gemel_status enter_inputs(gemel__execution *e, gemel_tensor *const *inputs) {
  for (uint32_t k = 0; k < e->f->program.n_inputs; k++) {
    if (inputs[k] == NULL) {
      return gemel__fail(&e->error, GEMEL_BAD_ARGUMENT, "input %s is missing",
                         e->f->program.inputs[k].name);
    }
    if (gemel_tensor_device(inputs[k]) != e->f->program.inputs[k].device) {
      return wrong_place(e, "input", &e->f->program.inputs[k], inputs[k]);
    }
    e->ports[k] = inputs[k]->data;
  }
  return GEMEL_OK;
}

static gemel_status call(gemel__execution *e, gemel_tensor *const *inputs, gemel_tensor **outputs) {
  GEMEL__TRY(enter_inputs(e, inputs));
  if (e->plans == NULL || !matches(e, e->plans, inputs)) {
    GEMEL__TRY(find_plan(e, inputs));
  }
  if (e->f->n_updates > 0) {
    gemel__states_place(e);
  }
  GEMEL__TRY(gemel__check_overlap(e, inputs, outputs));
  GEMEL__TRY(run(e, outputs));
  return empty_staging(e, outputs);
}

gemel_status gemel__execution_call(gemel__execution *e, gemel_tensor *const *inputs,
                                   gemel_tensor **outputs) {
  gemel_status status = call(e, inputs, outputs);
  if (status != GEMEL_OK && e->f->program.n_devices > 1) {
    gemel_error first = e->error;
    gemel__synchronize(e); /* what was asked for may still use what is freed now */
    e->error = first;
  }
  if (status == GEMEL_OK) {
    leave_results(e, outputs);
  } else {
    drop_results(e);
  }
  return status;
}

gemel_status gemel__execution_ready(gemel__execution *e, gemel_tensor *const *inputs) {
  memset(e->aside, 0, e->f->program.n_outputs);
  return find_plan(e, inputs);
}

gemel_status gemel__execution_repeat(gemel__execution *e, gemel_tensor *const *inputs,
                                     gemel_tensor **outputs) {
  const gemel__run_program *p = &e->f->program;
  for (uint32_t k = 0; k < p->n_inputs; k++) {
    e->ports[k] = inputs[k]->data;
  }
  if (e->plans->root->wanted != GEMEL__NO_VALUE) {
    return run(e, outputs); /* sizes are found on the way */
  }
  e->bytes = e->plans->root->block_bytes;
  e->unshared_bytes = e->plans->root->unshared_bytes;
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    e->ports[p->n_inputs + k] = outputs[k]->data;
  }
  return gemel__segment_run(e, e->plans->root);
}
