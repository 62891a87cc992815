/* SPDX-License-Identifier: MIT
 *
 * Compiled functions: making one, calling it, and the plans it keeps. A call compares its inputs'
 * shapes and strides with the plan used last and, if they are the same, goes straight on; else it
 * looks among the plans it has, and makes a new one at last, which may push out the one that was
 * unused for longest. Results are written into the tensors that are given, or into new ones; a
 * given tensor that is not row-major, or overlaps an input, has a row-major stand-in, which is
 * kept.
 */
#include "run/function.h"

#include <stddef.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "core/alloc.h"
#include "core/error.h"
#include "cpu/copy.h"
#include "cpu/waits.h"

/* ---- Making and freeing ---- */

static int thread_count(int wanted) {
#ifdef _OPENMP
  return wanted > 0 ? wanted : omp_get_max_threads();
#else
  (void)wanted;
  return 1;
#endif
}

static gemel_status allocate(gemel_function *f, gemel_error *error) {
  const gemel__run_program *p = &f->program;
  f->ports = gemel__alloc_array((size_t)p->n_inputs + p->n_outputs, sizeof *f->ports);
  f->fresh = gemel__alloc_array(p->n_outputs, sizeof *f->fresh);
  f->bounce = gemel__alloc_array(p->n_outputs, sizeof *f->bounce);
  f->spans = gemel__alloc_array(p->n_outputs, sizeof *f->spans);
  f->aside = gemel__alloc_array(p->n_outputs, 1);
  if (f->ports == NULL || f->fresh == NULL || f->bounce == NULL || f->spans == NULL ||
      f->aside == NULL) {
    return gemel__no_memory(error, "a function");
  }
  return GEMEL_OK;
}

/* *OPTIONS = GIVEN, whose end may be missing. */
static gemel_status read_options(gemel_options *options, const gemel_options *given,
                                 gemel_error *error) {
  memset(options, 0, sizeof *options);
  if (given == NULL) {
    return GEMEL_OK;
  }
  if (given->size < offsetof(gemel_options, rewrite)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                       "the size of gemel_options is %zu: set it to sizeof(gemel_options)",
                       given->size);
  }
  if (given->threads < 0) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%d threads asked for", given->threads);
  }
  memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
  return GEMEL_OK;
}

/* A reference to GRAPH, rewritten if OPTIONS say so. */
static gemel_graph *prepare(const gemel_graph *graph, const gemel_options *options,
                            gemel_error *error) {
  return options->as_written || options->plain ? gemel_graph_ref((gemel_graph *)graph)
                                               : gemel_rewrite(graph, options->rewrite, error);
}

static gemel_status start(gemel_function *f, const gemel_graph *graph, const gemel_options *options,
                          gemel_error *error) {
  gemel_graph *prepared = prepare(graph, options, error);
  gemel_status status = GEMEL_NO_MEMORY;
  if (prepared != NULL) {
    status = gemel__run_program_make(&f->program, prepared, error);
    if (status == GEMEL_OK && (options->states != NULL || options->n_states > 0)) {
      status = gemel__states_bind(f, prepared, options->n_states, options->states, error);
    }
    gemel_graph_unref(prepared);
  }
  return status == GEMEL_OK ? allocate(f, error) : status;
}

gemel_function *gemel_compile(const gemel_graph *graph, const gemel_options *options,
                              gemel_error *error) {
  gemel_function *f;
  gemel_options o;
  if (graph == NULL) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "no graph to compile");
    return NULL;
  }
  if (read_options(&o, options, error) != GEMEL_OK) {
    return NULL;
  }
  if (graph->error.status != GEMEL_OK) {
    if (error != NULL) {
      *error = graph->error;
    }
    return NULL;
  }
  f = gemel__alloc_zeroed(sizeof *f);
  if (f == NULL) {
    gemel__no_memory(error, "a function");
    return NULL;
  }
  if (start(f, graph, &o, error) != GEMEL_OK) {
    gemel_function_free(f);
    return NULL;
  }
  f->threads = thread_count(o.threads);
  if (f->threads > 1) {
    gemel__wait_asleep();
  }
  f->deterministic = o.deterministic;
  f->plain = o.plain;
  return f;
}

void gemel_function_free(gemel_function *f) {
  const gemel__run_program *p;
  uint32_t k;
  if (f == NULL) {
    return;
  }
  p = &f->program;
  while (f->plans != NULL) {
    gemel__plan *plan = f->plans;
    f->plans = plan->next;
    gemel__plan_free(f, plan);
  }
  for (k = 0; f->bounce != NULL && k < p->n_outputs; k++) {
    gemel_tensor_unref(f->bounce[k]);
  }
  gemel__free(f->places, p->n_values * sizeof *f->places);
  gemel__free(f->seen, f->seen_capacity * sizeof *f->seen);
  gemel__free(f->loaded, f->loaded_capacity * sizeof *f->loaded);
  gemel__free(f->ports, ((size_t)p->n_inputs + p->n_outputs) * sizeof *f->ports);
  gemel__free(f->fresh, p->n_outputs * sizeof *f->fresh);
  gemel__free(f->bounce, p->n_outputs * sizeof *f->bounce);
  gemel__free(f->spans, p->n_outputs * sizeof *f->spans);
  gemel__free(f->aside, p->n_outputs);
  if (f->scratch_block != NULL) {
    gemel__free(f->scratch_block, f->scratch_bytes + GEMEL__DATA_ALIGNMENT);
  }
  gemel__states_release(f);
  gemel__run_program_release(&f->program);
  gemel__free(f, sizeof *f);
}

static void free_one_segment(gemel_function *f, gemel__segment *s) {
  if (s->depth < f->loaded_capacity && f->loaded[s->depth] == s) {
    f->loaded[s->depth] = NULL;
  }
  for (gemel__invocation *inv = s->to_release; inv != NULL; inv = inv->next_to_release) {
    inv->call.release(inv->call.state);
  }
  gemel__free(s->block, s->block_bytes);
  gemel__free(s->instrs, s->instr_capacity * sizeof *s->instrs);
  gemel__free(s->patches, s->patch_capacity * sizeof *s->patches);
  gemel__free(s->results, s->result_capacity * sizeof *s->results);
  gemel__arena_clear(&s->meta);
  gemel__free(s, sizeof *s);
}

void gemel__segment_free(gemel_function *f, gemel__segment *segment) {
  gemel__segment *s = segment;
  while (s != NULL) {
    if (s->children != NULL) {
      gemel__segment *child = s->children;
      s->children = child->next;
      s = child;
    } else {
      gemel__segment *parent = s != segment ? s->parent : NULL;
      free_one_segment(f, s);
      s = parent;
    }
  }
}

void gemel__plan_free(gemel_function *f, gemel__plan *plan) {
  gemel__segment_free(f, plan->root);
  gemel__free(plan->signature, plan->signature_count * sizeof *plan->signature);
  gemel__free(plan->offsets, f->program.n_inputs * sizeof *plan->offsets);
  gemel__free(plan->symbols, plan->symbol_capacity * sizeof *plan->symbols);
  gemel__free(plan->known, plan->known_capacity * sizeof *plan->known);
  gemel__free(plan, sizeof *plan);
}

/* ---- Finding the plan ---- */

static int matches(const gemel_function *f, const gemel__plan *plan, gemel_tensor *const *inputs) {
  const int64_t *part = plan->signature;
  uint32_t k;
  int axis;
  for (k = 0; k < f->program.n_inputs; k++) {
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

static gemel_status write_signature(gemel_function *f, gemel__plan *plan,
                                    gemel_tensor *const *inputs) {
  size_t count = 0;
  uint32_t k;
  int64_t *part;
  for (k = 0; k < f->program.n_inputs; k++) {
    count += 2 + 2 * (size_t)inputs[k]->rank;
  }
  plan->offsets = gemel__alloc_array(f->program.n_inputs, sizeof *plan->offsets);
  plan->signature = gemel__alloc_array(count, sizeof *plan->signature);
  if (plan->signature == NULL || plan->offsets == NULL) {
    if (plan->signature != NULL) {
      gemel__free(plan->signature, count * sizeof *plan->signature);
      plan->signature = NULL;
    }
    return gemel__no_memory(&f->error, "a plan");
  }
  plan->signature_count = count;
  part = plan->signature;
  for (k = 0; k < f->program.n_inputs; k++) {
    const gemel_tensor *t = inputs[k];
    plan->offsets[k] = (size_t)(part - plan->signature);
    *part++ = (int64_t)t->dtype;
    *part++ = t->rank;
    memcpy(part, t->shape, 2 * (size_t)t->rank * sizeof *part);
    part += 2 * t->rank;
  }
  return GEMEL_OK;
}

static void evict_plan(gemel_function *f) {
  gemel__plan **link = &f->plans;
  int kept;
  for (kept = 0; *link != NULL && kept < GEMEL__PLANS - 1; kept++) {
    link = &(*link)->next;
  }
  while (*link != NULL) {
    gemel__plan *old = *link;
    *link = old->next;
    gemel__plan_free(f, old);
  }
}

static gemel_status new_plan(gemel_function *f, gemel_tensor *const *inputs) {
  gemel__plan *plan = gemel__alloc_zeroed(sizeof *plan);
  gemel_status status;
  if (plan == NULL) {
    return gemel__no_memory(&f->error, "a plan");
  }
  status = write_signature(f, plan, inputs);
  if (status == GEMEL_OK) {
    status = gemel__bind_inputs(f, plan, inputs, &f->error);
  }
  f->n_seen = 0;
  if (status == GEMEL_OK) {
    status = gemel__plan_segment(f, plan, NULL, 0, &plan->root);
  }
  if (status != GEMEL_OK) {
    gemel__plan_free(f, plan);
    return status;
  }
  evict_plan(f);
  plan->next = f->plans;
  f->plans = plan;
  return GEMEL_OK;
}

/* Puts the plan for INPUTS in front. */
static gemel_status find_plan(gemel_function *f, gemel_tensor *const *inputs) {
  gemel__plan **link;
  for (link = &f->plans; *link != NULL; link = &(*link)->next) {
    gemel__plan *plan = *link;
    if (matches(f, plan, inputs)) {
      *link = plan->next;
      plan->next = f->plans;
      f->plans = plan;
      return GEMEL_OK;
    }
  }
  return new_plan(f, inputs);
}

/* ---- Results ---- */

static gemel_status wrong_output(gemel_function *f, uint32_t k, const gemel_tensor *given,
                                 const gemel__plan_layout *wanted, gemel_status status) {
  char a[300], b[300];
  return gemel__fail(&f->error, status, "output %s is %s%s and the tensor given for it is %s%s",
                     f->program.outputs[k].name, gemel_dtype_name(wanted->dtype),
                     gemel__format_shape(wanted->rank, wanted->shape, a, sizeof a),
                     gemel_dtype_name(given->dtype),
                     gemel__format_shape(given->rank, given->shape, b, sizeof b));
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

/* A new tensor for the result, in *TENSOR. */
static gemel_status make_tensor(gemel_function *f, const gemel__plan_layout *l,
                                gemel_tensor **tensor) {
  gemel_tensor_unref(*tensor);
  *tensor = gemel__tensor_raw(l->dtype, l->rank, l->shape, &f->error);
  return *tensor != NULL ? GEMEL_OK : f->error.status;
}

/* The stand-in of output K, kept from call to call while it fits. */
static gemel_status stand_in(gemel_function *f, uint32_t k, const gemel__plan_layout *l) {
  const gemel_tensor *t = f->bounce[k];
  if (t != NULL && t->dtype == l->dtype && t->rank == l->rank &&
      same_sizes(l->rank, t->shape, l->shape)) {
    return GEMEL_OK;
  }
  return make_tensor(f, l, &f->bounce[k]);
}

/* Settles where output K's elements go in this call. */
static gemel_status enter_result(gemel_function *f, uint32_t k, const gemel__plan_layout *l,
                                 const gemel_tensor *given) {
  char **port = &f->ports[f->program.n_inputs + k];
  gemel_status status = GEMEL_OK;
  if (given == NULL) {
    status = make_tensor(f, l, &f->fresh[k]);
    *port = status == GEMEL_OK ? f->fresh[k]->data : NULL;
    return status;
  }
  if (given->dtype != l->dtype) {
    return wrong_output(f, k, given, l, GEMEL_BAD_TYPE);
  }
  if (given->rank != l->rank || !same_sizes(l->rank, given->shape, l->shape)) {
    return wrong_output(f, k, given, l, GEMEL_BAD_SHAPE);
  }
  if (!f->aside[k] &&
      gemel__is_row_major(gemel_dtype_size(l->dtype), l->rank, given->shape, given->strides)) {
    *port = given->data;
    return GEMEL_OK;
  }
  status = stand_in(f, k, l);
  *port = status == GEMEL_OK ? f->bounce[k]->data : NULL;
  return status;
}

static gemel_status enter_results(gemel_function *f, const gemel__segment *s,
                                  gemel_tensor *const *outputs) {
  size_t k;
  gemel_status status = GEMEL_OK;
  for (k = 0; k < s->n_results && status == GEMEL_OK; k++) {
    uint32_t output = s->results[k].output;
    status = enter_result(f, output, s->results[k].layout, outputs[output]);
  }
  return status;
}

/* Hands over new tensors and fills the given ones that had stand-ins. */
static void leave_results(gemel_function *f, gemel_tensor **outputs) {
  uint32_t k;
  for (k = 0; k < f->program.n_outputs; k++) {
    gemel_tensor *t = outputs[k];
    if (t == NULL) {
      outputs[k] = f->fresh[k];
      f->fresh[k] = NULL;
    } else if (f->ports[f->program.n_inputs + k] != t->data) {
      gemel__copy_strided(gemel_dtype_size(t->dtype), t->rank, t->shape, t->data, t->strides,
                          f->bounce[k]->data, f->bounce[k]->strides);
    }
  }
}

static void drop_results(gemel_function *f) {
  uint32_t k;
  for (k = 0; k < f->program.n_outputs; k++) {
    gemel_tensor_unref(f->fresh[k]);
    f->fresh[k] = NULL;
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

static gemel_status new_child(gemel_function *f, gemel__segment *segment, int64_t size,
                              gemel__segment **made) {
  gemel__segment **link = &segment->children;
  gemel_status status = gemel__plan_segment(f, f->plans, segment, segment->end, made);
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
    gemel__segment_free(f, old);
  }
  return GEMEL_OK;
}

/* Reads the size that SEGMENT ended for and finds what to run next. */
static gemel_status next_segment(gemel_function *f, gemel__segment *segment,
                                 gemel__segment **next) {
  const gemel__run_program *p = &f->program;
  gemel_dtype dtype = gemel_type_dtype(p->context, gemel__value_type(p, segment->wanted));
  int64_t size = gemel__load_size(dtype, segment->wanted_data);
  gemel_status status;
  if (gemel__grow(&f->seen, &f->seen_capacity, segment->depth + 2u, sizeof *f->seen) != 0) {
    return gemel__no_memory(&f->error, "a plan");
  }
  f->n_seen = segment->depth + 2u;
  f->seen[segment->depth + 1].value = segment->wanted;
  f->seen[segment->depth + 1].size = size;
  *next = find_child(segment, size);
  status = *next != NULL ? GEMEL_OK : new_child(f, segment, size, next);
  if (status == GEMEL_OK) {
    f->seen[segment->depth + 1].segment = *next;
  }
  return status;
}

static gemel_status run(gemel_function *f, gemel_tensor *const *outputs) {
  gemel__segment *s = f->plans->root;
  gemel_status status;
  f->n_seen = 1;
  f->seen[0].segment = s;
  f->bytes = f->kernels = 0;
  for (;;) {
    f->bytes += s->block_bytes;
    f->kernels += s->n_kernels;
    status = enter_results(f, s, outputs);
    if (status == GEMEL_OK) {
      status = gemel__segment_run(f, s);
    }
    if (status != GEMEL_OK || s->wanted == GEMEL__NO_VALUE) {
      return status;
    }
    status = next_segment(f, s, &s);
    if (status != GEMEL_OK) {
      return status;
    }
  }
}

/* The caller's arrays may only be missing where nothing stands in them. */
static gemel_status check_arrays(gemel_function *f, gemel_tensor *const *inputs,
                                 gemel_tensor **outputs) {
  const gemel__run_program *p = &f->program;
  size_t n_inputs = p->n_inputs - f->n_states, n_outputs = p->n_outputs - f->n_updates;
  return (inputs == NULL && n_inputs > 0) || (outputs == NULL && n_outputs > 0)
             ? gemel__fail(&f->error, GEMEL_BAD_ARGUMENT,
                           "the inputs or outputs of a call are missing")
             : GEMEL_OK;
}

static gemel_status enter_inputs(gemel_function *f, gemel_tensor *const *inputs) {
  for (uint32_t k = 0; k < f->program.n_inputs; k++) {
    if (inputs[k] == NULL) {
      return gemel__fail(&f->error, GEMEL_BAD_ARGUMENT, "input %s is missing",
                         f->program.inputs[k].name);
    }
    f->ports[k] = inputs[k]->data;
  }
  return GEMEL_OK;
}

/* A call with the values of all inputs, and places for all outputs. */
static gemel_status call_all(gemel_function *f, gemel_tensor *const *inputs,
                             gemel_tensor **outputs) {
  gemel_status status = enter_inputs(f, inputs);
  if (status == GEMEL_OK && (f->plans == NULL || !matches(f, f->plans, inputs))) {
    status = find_plan(f, inputs);
  }
  if (status == GEMEL_OK) {
    status = gemel__check_overlap(f, inputs, outputs);
  }
  if (status == GEMEL_OK) {
    status = run(f, outputs);
  }
  if (status == GEMEL_OK) {
    leave_results(f, outputs);
  } else {
    drop_results(f);
  }
  return status;
}

gemel_status gemel_call(gemel_function *f, gemel_tensor *const *inputs, gemel_tensor **outputs,
                        gemel_error *error) {
  gemel_status status;
  if (f == NULL) {
    return gemel__null(error, "the function");
  }
  status = check_arrays(f, inputs, outputs);
  if (status == GEMEL_OK && f->states != NULL) {
    gemel__states_enter(f, inputs, outputs);
    status = call_all(f, f->all_inputs, f->all_outputs);
    if (status == GEMEL_OK) {
      gemel__states_leave(f, outputs);
    }
  } else if (status == GEMEL_OK) {
    status = call_all(f, inputs, outputs);
  }
  if (status != GEMEL_OK && error != NULL) {
    *error = f->error;
  }
  return status;
}

gemel_status gemel_evaluate(const gemel_graph *graph, gemel_tensor *const *inputs,
                            gemel_tensor **outputs, gemel_error *error) {
  gemel_error local = {GEMEL_OK, 0, 0, ""};
  gemel_options options = {.size = sizeof options, .as_written = 1};
  gemel_function *f = gemel_compile(graph, &options, &local);
  gemel_status status;
  if (f == NULL) {
    if (error != NULL) {
      *error = local;
    }
    return local.status;
  }
  status = gemel_call(f, inputs, outputs, error);
  gemel_function_free(f);
  return status;
}

size_t gemel_function_bytes(const gemel_function *f) {
  return f != NULL ? f->bytes : 0;
}

size_t gemel_function_kernels(const gemel_function *f) {
  return f != NULL ? f->kernels : 0;
}
