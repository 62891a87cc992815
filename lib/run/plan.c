/* SPDX-License-Identifier: MIT
 *
 * Planning a segment: one pass over the nodes in order. Inputs and constants are where they are;
 * view operations become other layouts of the same memory and cost nothing; elementwise nodes are
 * collected into clusters; any other node becomes an invocation of the first of its kernels that
 * does not decline. The segment ends at a node that needs a size which is not known yet: the size
 * is then read from where it was computed, and planning goes on in a child of the segment.
 */
#include "run/planner.h"

#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "device/kernels.h"
#include "run/autotune.h"
#include "run/instr.h"
#include "run/record.h"

static gemel_status out_of_memory(gemel__planner *planner) {
  return gemel__no_memory(planner->error, "a plan");
}

gemel_status gemel__emit(gemel__planner *planner, gemel__instr instr) {
  gemel__segment *s = planner->segment;
  if (gemel__grow(&s->instrs, &s->instr_capacity, s->n_instrs + 1, sizeof *s->instrs) != 0) {
    return out_of_memory(planner);
  }
  instr.after = GEMEL__NO_INSTR;
  s->instrs[s->n_instrs++] = instr;
  s->n_kernels += (size_t)gemel__instr_computes(instr.kind);
  s->uploads += instr.kind == GEMEL__INSTR_UPLOAD;
  s->downloads += instr.kind == GEMEL__INSTR_DOWNLOAD;
  return GEMEL_OK;
}

void gemel__emitted_after(gemel__planner *planner) {
  gemel__segment *s = planner->segment;
  s->instrs[s->n_instrs - 1].after = (uint32_t)(s->n_instrs - 2);
}

static int add_result(gemel__planner *planner, uint32_t output, const gemel__plan_layout *layout) {
  gemel__segment *s = planner->segment;
  if (gemel__grow(&s->results, &s->result_capacity, s->n_results + 1, sizeof *s->results) != 0) {
    return -1;
  }
  s->results[s->n_results].output = output;
  s->results[s->n_results++].layout = layout;
  return 0;
}

/* In plain and poisoned functions, what isn't written yet shows: of VALUE, which will be in BUFFER.
 * A state whose next value may be made in its place is still read, though. */
static gemel_status poison(gemel__planner *planner, uint32_t node, uint32_t value,
                           const gemel__run_buffer *buffer, const gemel__plan_layout *layout) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t output = gemel__run_program_output(p, value);
  int pattern = gemel_dtype_kind(layout->dtype) == GEMEL_KIND_FLOAT ? 0xff : 0xa5;
  int kept = output < p->n_outputs && planner->updates[output] != 0;
  return planner->f->plain || (planner->f->poison && !kept)
             ? gemel__plan_poison(planner, node, buffer, layout->bytes, pattern)
             : GEMEL_OK;
}

/* ---- Places of results ---- */

gemel__run_buffer *gemel__output_buffer(gemel__planner *planner, uint32_t value,
                                        const gemel__plan_layout *layout, uint32_t remaining,
                                        gemel_status *status) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t output = gemel__run_program_output(p, value);
  gemel__run_buffer *buffer;
  if (output == p->n_outputs) {
    buffer = gemel__buffer_new(planner, gemel__value_device(p, value), layout->bytes, remaining);
  } else {
    buffer = gemel__buffer_at(planner, GEMEL__B_PORT, gemel__value_device(p, value),
                              p->n_inputs + output, NULL, layout->bytes);
    if (buffer != NULL && add_result(planner, output, layout) != 0) {
      buffer = NULL;
    }
  }
  *status = buffer != NULL ? GEMEL_OK : out_of_memory(planner);
  return buffer;
}

/* 1 if output K of the function is written by the node that computes it, else a copy is needed. */
static int is_direct(const gemel__planner *planner, uint32_t k) {
  const gemel__run_program *p = &planner->f->program;
  const gemel__run_buffer *buffer = planner->places[p->outputs[k].value].buffer;
  return buffer->kind == GEMEL__B_PORT && buffer->port == p->n_inputs + k;
}

/* ---- Sources ---- */

static gemel_status plan_input(gemel__planner *planner, uint32_t node) {
  const gemel__pnode *n = &planner->f->program.nodes[node];
  gemel__plan_place *place = &planner->places[n->value];
  const int64_t *part = planner->plan->signature + planner->plan->offsets[n->attrs];
  int rank = (int)part[1];
  memset(place, 0, sizeof *place);
  place->layout =
      gemel__layout_new(planner->segment, (gemel_dtype)part[0], rank, part + 2, part + 2 + rank, 0);
  place->buffer =
      gemel__buffer_at(planner, GEMEL__B_PORT, gemel__value_device(&planner->f->program, n->value),
                       n->attrs, NULL, 0);
  if (place->layout == NULL || place->buffer == NULL) {
    return out_of_memory(planner);
  }
  place->buffer->remaining = planner->f->program.uses[n->value];
  planner->inputs[n->attrs] = place;
  return GEMEL_OK;
}

static gemel_status plan_constant(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  const struct gemel__attrs *attrs = gemel__attrs_at(p->context, p->nodes[node].attrs);
  const gemel_tensor *t = attrs->values[0].u.tensor;
  gemel__plan_place *place = &planner->places[p->nodes[node].value];
  memset(place, 0, sizeof *place);
  place->layout = gemel__layout_new(planner->segment, t->dtype, t->rank, t->shape, t->strides, 0);
  place->buffer = gemel__buffer_at(planner, GEMEL__B_FIXED, 0, 0, t->data, 0);
  if (place->layout == NULL || place->buffer == NULL) {
    return out_of_memory(planner);
  }
  place->buffer->constant = 1;
  return GEMEL_OK;
}

/* ---- Kernels ---- */

/* The device on which NODE computes: that of its results. */
static const gemel_device *device_of(const gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  return p->devices[gemel__value_device(p, p->nodes[node].value)];
}

static const gemel_operation *record_of(const gemel__run_program *p, uint32_t node) {
  return &p->ops[p->nodes[node].op].op->record;
}

/* What that device has for NODE's operation; NULL: nothing. */
static const gemel_kernel *kernels_of(const gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  return gemel__kernels_of(p->context, device_of(planner, node), record_of(p, node));
}

static gemel_view view_of(const gemel__plan_layout *l) {
  gemel_view view = {l->dtype, l->rank, l->shape, l->strides, NULL};
  return view;
}

/* Where the version of what is at PLACE stands; NULL if that may be new at each call. */
static const uint64_t *version_of(const gemel__planner *planner, const gemel__plan_place *place) {
  static const uint64_t never_changes = 1;
  const gemel__run_buffer *b = place->buffer;
  if (b->constant) {
    return &never_changes;
  }
  return b->kind == GEMEL__B_PORT && b->port < planner->f->program.n_inputs
             ? gemel__state_version(planner->f, b->port)
             : NULL;
}

static gemel_status set_versions(gemel__planner *planner, const uint32_t *in,
                                 gemel_kernel_call *call) {
  const uint64_t **versions = NULL;
  for (size_t k = 0; k < call->n_inputs && !planner->f->plain; k++) {
    const uint64_t *version = version_of(planner, &planner->places[in[k]]);
    if (version != NULL && versions == NULL) {
      versions = gemel__arena_alloc(&planner->segment->meta, call->n_inputs * sizeof *versions);
      if (versions == NULL) {
        return out_of_memory(planner);
      }
      memset(versions, 0, call->n_inputs * sizeof *versions);
    }
    if (version != NULL) {
      versions[k] = version;
    }
  }
  call->versions = versions;
  return GEMEL_OK;
}

/* Notes in CALL which of NODE's outputs have no memory: those that nobody reads, if the operation's
 * kernels can do without. */
static gemel_status set_unread(gemel__planner *planner, uint32_t node, gemel_kernel_call *call) {
  const gemel__run_program *p = &planner->f->program;
  const uint32_t *uses = p->uses + p->nodes[node].value;
  uint32_t n = p->nodes[node].n_outputs, some = 0;
  for (uint32_t k = 0; k < n; k++) {
    some |= uses[k] == 0;
  }
  if (!some || !(call->operation->flags & GEMEL_OP_SPARES_UNREAD)) {
    return GEMEL_OK;
  }
  unsigned char *unread = gemel__arena_alloc(&planner->segment->meta, n);
  for (uint32_t k = 0; k < n && unread != NULL; k++) {
    unread[k] = uses[k] == 0;
  }
  call->unread = unread;
  return unread != NULL ? GEMEL_OK : out_of_memory(planner);
}

/* Views of the operands: arrays in the segment's memory, data pointers to be fixed. */
static gemel_status set_views(gemel__planner *planner, uint32_t node, gemel__invocation *inv) {
  const gemel__run_program *p = &planner->f->program;
  gemel_kernel_call *call = &inv->call;
  gemel__arena *meta = &planner->segment->meta;
  uint32_t count, k;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  uint32_t n_outputs = p->nodes[node].n_outputs, out = p->nodes[node].value;
  gemel_view *inputs = gemel__arena_alloc(meta, count * sizeof *inputs);
  gemel_view *outputs = gemel__arena_alloc(meta, n_outputs * sizeof *outputs);
  if (inputs == NULL || outputs == NULL) {
    return out_of_memory(planner);
  }
  for (k = 0; k < count; k++) {
    inputs[k] = view_of(planner->places[in[k]].layout);
  }
  for (k = 0; k < n_outputs; k++) {
    outputs[k] = view_of(planner->places[out + k].layout);
  }
  gemel__kernel_call_init(call, record_of(p, node), device_of(planner, node), call->attrs,
                          &planner->execution->error);
  call->n_inputs = count;
  call->inputs = inputs;
  call->n_outputs = n_outputs;
  call->outputs = outputs;
  call->threads = planner->f->threads;
  call->deterministic = planner->f->deterministic;
  call->guard = planner->f->guard;
  call->poison = planner->f->poison;
  call->most_steps = planner->f->most_steps;
  call->matmul_precision = planner->f->matmul_precision != GEMEL_PRECISION_IEEE
                               ? (int)planner->f->matmul_precision
                               : call->device->matmul_precision;
  inv->nested = (gemel__nested){.caller = planner->execution, .node = node};
  call->nested = &inv->nested;
  GEMEL__TRY(set_unread(planner, node, call));
  return set_versions(planner, in, call);
}

static gemel_status fix_views(gemel__planner *planner, uint32_t node,
                              const gemel_kernel_call *call) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t count, k;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  for (k = 0; k < count; k++) {
    const gemel__plan_place *place = &planner->places[in[k]];
    if (gemel__fix(planner, (void *)&call->inputs[k].data, place->buffer, place->layout->offset) !=
        0) {
      return out_of_memory(planner);
    }
  }
  for (k = 0; k < call->n_outputs; k++) {
    if (gemel__fix(planner, (void *)&call->outputs[k].data,
                   planner->places[p->nodes[node].value + k].buffer,
                   planner->places[p->nodes[node].value + k].layout->offset) != 0) {
      return out_of_memory(planner);
    }
  }
  return GEMEL_OK;
}

/* 1 if VALUE may have channels last. What the function returns is always row-major. */
static int may_have_channels_last(const gemel__planner *planner, uint32_t value) {
  const gemel__run_program *p = &planner->f->program;
  return gemel__value_device(p, value) == 0 && planner->places[value].layout->rank > 2 &&
         gemel__run_program_output(p, value) == p->n_outputs;
}

/* Lays the outputs of NODE out with channels last if its operation asks for it. */
static gemel_status follow_channels(gemel__planner *planner, uint32_t node,
                                    gemel_kernel_call *call) {
  uint32_t first = planner->f->program.nodes[node].value;
  if (planner->f->plain || call->operation->channels_last == NULL ||
      planner->places[first].buffer != NULL || !may_have_channels_last(planner, first) ||
      !call->operation->channels_last(call)) {
    return GEMEL_OK;
  }
  for (uint32_t k = 0; k < call->n_outputs; k++) {
    gemel__plan_place *place = &planner->places[first + k];
    if (!may_have_channels_last(planner, first + k)) {
      continue;
    }
    place->layout = gemel__layout_channels_last(planner->segment, place->layout);
    if (place->layout == NULL) {
      return out_of_memory(planner);
    }
    ((gemel_view *)call->outputs)[k] = view_of(place->layout);
  }
  return GEMEL_OK;
}

gemel_status gemel__choose_kernel(gemel__planner *planner, const gemel_kernel *candidates,
                                  gemel__invocation *inv) {
  const gemel_kernel *k = candidates;
  gemel_kernel_call *call = &inv->call;
  gemel_status status = GEMEL_DECLINED;
  inv->candidates = candidates;
  call->prepared = gemel__arena_alloc(&planner->segment->meta, GEMEL_KERNEL_PREPARED_BYTES);
  if (call->prepared == NULL) {
    return out_of_memory(planner);
  }
  while (planner->f->plain && k[1].name != NULL) {
    k++;
  }
  if (planner->f->tuner != NULL && call->device == planner->f->program.devices[0]) {
    const gemel_kernel *tuned;
    if (gemel__tune(planner->f->tuner, candidates, call, &tuned) != GEMEL_OK) {
      return out_of_memory(planner);
    }
    call->timed = tuned != NULL;
    k = tuned != NULL ? tuned : k;
  }
  for (; k->name != NULL && status == GEMEL_DECLINED; k++) {
    memset(call->prepared, 0, GEMEL_KERNEL_PREPARED_BYTES);
    status = gemel__call_prepare(call, k);
    inv->run = gemel__call_runner(call, k);
    inv->chosen = k;
  }
  return status == GEMEL_DECLINED
             ? gemel__fail(planner->error, GEMEL_UNSUPPORTED, "every kernel declines")
             : gemel__told(planner->error, status);
}

/* How many inputs of NODE lie in BUFFER. */
static uint32_t reads_of(const gemel__planner *planner, uint32_t node,
                         const gemel__run_buffer *buffer) {
  uint32_t count, k, reads = 0;
  const uint32_t *in = gemel__pnode_inputs(&planner->f->program, node, &count);
  for (k = 0; k < count; k++) {
    reads += planner->places[in[k]].buffer == buffer;
  }
  return reads;
}

/* 1 if NODE may make its output in the memory of its input K: nothing reads that any more, and it
 * lies as the output does. */
static int may_overwrite(const gemel__planner *planner, uint32_t node, uint32_t k) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t count, value = p->nodes[node].value;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  const gemel__plan_place *from = &planner->places[in[k]];
  const gemel__plan_layout *made = planner->places[value].layout;
  return !planner->f->plain && from->buffer->kind == GEMEL__B_ARENA &&
         reads_of(planner, node, from->buffer) == 1 && from->buffer->remaining == 1 &&
         from->layout->dense && made->dense && from->layout->offset == 0 && p->uses[value] > 0 &&
         p->value_types[in[k]] == p->value_types[value] && from->buffer->bytes == made->bytes &&
         gemel__run_program_output(p, value) == p->n_outputs;
}

/* Where output 0 of NODE lies if it takes over an input's memory; else NULL. */
static gemel__run_buffer *take_over(gemel__planner *planner, uint32_t node, gemel_status *status) {
  const gemel__run_program *p = &planner->f->program;
  int overwrites = p->ops[p->nodes[node].op].op->record.overwrites;
  uint32_t count, k = (uint32_t)overwrites - 1;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  gemel__run_buffer *buffer = NULL;
  if (overwrites > 0 && k < count) {
    *status = gemel__cluster_settle_readers(planner, planner->places[in[k]].buffer);
    if (*status == GEMEL_OK && may_overwrite(planner, node, k)) {
      buffer =
          gemel__buffer_over(planner, planner->places[in[k]].buffer, p->uses[p->nodes[node].value]);
      *status = buffer != NULL ? GEMEL_OK : out_of_memory(planner);
    }
  }
  return buffer;
}

/* Output 0 of NODE may be the next value of a state, and the state the input that NODE overwrites,
 * or one that nothing reads any more. */
static gemel_status place_update(gemel__planner *planner, uint32_t node, uint32_t value) {
  const gemel__run_program *p = &planner->f->program;
  const gemel__plan_layout *made = planner->places[value].layout;
  uint32_t output = gemel__run_program_output(p, value), count;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  const gemel__run_buffer *state = gemel__state_buffer(planner, output, made);
  uint32_t k = (uint32_t)p->ops[p->nodes[node].op].op->record.overwrites - 1;
  uint32_t reads = state != NULL ? reads_of(planner, node, state) : 0;
  if (state == NULL || reads > 1 ||
      (reads == 1 &&
       (value != p->nodes[node].value || k >= count || planner->places[in[k]].buffer != state ||
        planner->places[in[k]].layout->offset != 0 || !planner->places[in[k]].layout->dense))) {
    return GEMEL_OK;
  }
  GEMEL__TRY(gemel__cluster_settle_readers(planner, state));
  gemel__update_placed(planner, output, made, reads);
  return GEMEL_OK;
}

/* A place without memory: a pointer to it will be NULL. */
static gemel_status place_nowhere(gemel__planner *planner, uint8_t device,
                                  gemel__plan_place *place) {
  place->buffer = gemel__buffer_at(planner, GEMEL__B_FIXED, device, 0, NULL, 0);
  return place->buffer != NULL ? GEMEL_OK : out_of_memory(planner);
}

/* Places VALUE, which NODE makes: in its state's memory, where a join will have it, or elsewhere.
 */
static gemel_status place_output(gemel__planner *planner, uint32_t node, uint32_t value) {
  gemel__plan_place *place = &planner->places[value];
  gemel_status status = gemel__place_at_home(planner, value, 0, planner->f->program.uses[value]);
  if (status != GEMEL_DECLINED) {
    return status;
  }
  GEMEL__TRY(place_update(planner, node, value));
  place->buffer =
      gemel__output_buffer(planner, value, place->layout, planner->f->program.uses[value], &status);
  GEMEL__TRY(status);
  return poison(planner, node, value, place->buffer, place->layout);
}

/* Places what NODE makes, but for what has its place. UNREAD is that of NODE's call. */
static gemel_status place_outputs(gemel__planner *planner, uint32_t node,
                                  const unsigned char *unread) {
  const gemel__run_program *p = &planner->f->program;
  for (uint32_t k = 0; k < p->nodes[node].n_outputs; k++) {
    uint32_t value = p->nodes[node].value + k;
    gemel__plan_place *place = &planner->places[value];
    gemel_status status = GEMEL_OK;
    if (place->buffer != NULL) {
      continue;
    }
    if (unread != NULL && unread[k]) {
      GEMEL__TRY(place_nowhere(planner, gemel__value_device(p, value), place));
      continue;
    }
    place->buffer = k == 0 ? take_over(planner, node, &status) : NULL;
    GEMEL__TRY(status);
    if (place->buffer == NULL) {
      GEMEL__TRY(place_output(planner, node, value));
    }
  }
  return GEMEL_OK;
}

/* Drops the uses that NODE has of its inputs. */
static gemel_status release_operands(gemel__planner *planner, uint32_t node) {
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(&planner->f->program, node, &count);
  for (uint32_t k = 0; k < count; k++) {
    GEMEL__TRY(gemel__buffer_use(planner, planner->places[in[k]].buffer, 1));
  }
  return GEMEL_OK;
}

/* Drops the outputs of NODE that nobody reads. */
static gemel_status release_outputs(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  for (uint32_t k = 0; k < p->nodes[node].n_outputs; k++) {
    uint32_t value = p->nodes[node].value + k;
    if (p->uses[value] == 0) {
      GEMEL__TRY(gemel__buffer_use(planner, planner->places[value].buffer, 0));
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__place_scratch(gemel__planner *planner, uint8_t device, gemel_kernel_call *call,
                                  gemel__run_buffer **scratch) {
  *scratch = NULL;
  if (call->scratch_bytes == 0) {
    return GEMEL_OK;
  }
  if (call->scratch_bytes > (size_t)GEMEL__MAX_BYTES) {
    return out_of_memory(planner);
  }
  *scratch = gemel__buffer_new(planner, device, (int64_t)call->scratch_bytes, 1);
  if (*scratch == NULL || gemel__fix(planner, &call->scratch, *scratch, 0) != 0) {
    return out_of_memory(planner);
  }
  return GEMEL_OK;
}

void gemel__note_release(gemel__planner *planner, const gemel__invocation *made,
                         gemel__invocation *inv) {
  if (made->call.release == NULL) {
    return;
  }
  if (inv == NULL) {
    made->call.release(made->call.prepared);
    return;
  }
  inv->next_to_release = planner->segment->to_release;
  planner->segment->to_release = inv;
}

/* Emits a copy of MADE. */
static gemel_status emit_kernel(gemel__planner *planner, uint32_t node,
                                const gemel__invocation *made) {
  const gemel__run_program *p = &planner->f->program;
  uint8_t device = gemel__value_device(p, p->nodes[node].value);
  gemel__invocation *inv = gemel__arena_copy(&planner->segment->meta, made, sizeof *made);
  gemel__run_buffer *scratch = NULL;
  gemel__note_release(planner, made, inv);
  if (inv == NULL) {
    return out_of_memory(planner);
  }
  int dynamic = inv->runtime != NULL; /* it reads host memory */
  inv->call.nested = &inv->nested;
  GEMEL__TRY(place_outputs(planner, node, inv->call.unread));
  GEMEL__TRY(gemel__place_scratch(planner, device, &inv->call, &scratch));
  GEMEL__TRY(fix_views(planner, node, &inv->call));
  GEMEL__TRY(gemel__emit(
      planner, (gemel__instr){.kind = dynamic ? GEMEL__INSTR_DYNAMIC : GEMEL__INSTR_KERNEL,
                              .node = node,
                              .queue = device,
                              .alone = dynamic,
                              .kernel = inv}));
  if (scratch != NULL) {
    GEMEL__TRY(gemel__buffer_use(planner, scratch, 1));
  }
  for (uint32_t k = 0; k < p->nodes[node].n_outputs; k++) {
    GEMEL__TRY(gemel__bring_home(planner, p->nodes[node].value + k));
  }
  GEMEL__TRY(release_operands(planner, node));
  return release_outputs(planner, node);
}

/* ---- Views ---- */

/* Makes NODE's output another layout of its input's memory. GEMEL_DECLINED if it is none. */
static gemel_status plan_view(gemel__planner *planner, uint32_t node, gemel_kernel_call *call) {
  const gemel__run_program *p = &planner->f->program;
  const gemel_operation *record = &p->ops[p->nodes[node].op].op->record;
  uint32_t value = p->nodes[node].value, count;
  gemel__plan_place *place = &planner->places[value];
  gemel__plan_place *source = &planner->places[gemel__pnode_inputs(p, node, &count)[0]];
  const gemel__plan_layout *wanted = place->layout;
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], offset = 0;
  GEMEL__TRY(record->view(call, shape, strides, &offset));
  if (wanted->rank > 0 && memcmp(shape, wanted->shape, (size_t)wanted->rank * sizeof *shape) != 0) {
    return gemel__fail(planner->error, GEMEL_INTERNAL, "a view has another shape than its type");
  }
  place->layout = gemel__layout_new(planner->segment, wanted->dtype, wanted->rank, shape, strides,
                                    source->layout->offset + offset);
  place->buffer = source->buffer;
  if (place->layout == NULL) {
    return out_of_memory(planner);
  }
  source->buffer->remaining += p->uses[value];
  return release_operands(planner, node);
}

/* For a view operation without kernels: the view is copied into the node's own memory. */
static gemel_status copy_view(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t value = p->nodes[node].value;
  gemel__plan_place *place = &planner->places[value];
  gemel__plan_layout *source = place->layout, *target;
  gemel__run_buffer *from = place->buffer;
  gemel_status status;
  GEMEL__TRY(gemel__plan_row_major(planner, p->value_types[value], &target));
  place->layout = target;
  place->buffer = gemel__output_buffer(planner, value, target, p->uses[value], &status);
  GEMEL__TRY(status);
  return gemel__plan_copy(planner, node, source, from, place);
}

/* ---- Nodes ---- */

/* 1 if NODE's attributes hold run-time sizes on which its types don't depend: they are then read at
 * each call, and the plan holds for all of them. */
static int is_dynamic(const gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  const gemel__pnode *n = &p->nodes[node];
  uint32_t k;
  if (!gemel__attrs_at(p->context, n->attrs)->has_runtime || kernels_of(planner, node) == NULL) {
    return 0;
  }
  for (k = 0; k < n->n_outputs; k++) {
    if (p->types[p->value_types[n->value + k]].has_runtime) {
      return 0;
    }
  }
  return 1;
}

static gemel_status plan_dynamic(gemel__planner *planner, uint32_t node, gemel__invocation *inv) {
  const gemel_attr *checked;
  GEMEL__TRY(
      gemel__plan_attrs(planner, node, &checked, &inv->call.attrs, &inv->runtime, &inv->n_runtime));
  GEMEL__TRY(set_views(planner, node, inv));
  inv->candidates = kernels_of(planner, node);
  inv->call.prepared = gemel__arena_alloc(&planner->segment->meta, GEMEL_KERNEL_PREPARED_BYTES);
  if (inv->call.prepared == NULL) {
    return out_of_memory(planner);
  }
  return emit_kernel(planner, node, inv);
}

static gemel_status plan_static(gemel__planner *planner, uint32_t node, gemel__invocation *inv) {
  const gemel__run_program *p = &planner->f->program;
  const gemel_operation *record = &p->ops[p->nodes[node].op].op->record;
  const gemel_kernel *kernels = kernels_of(planner, node);
  const gemel_attr *checked;
  GEMEL__TRY(gemel__plan_attrs(planner, node, &checked, &inv->call.attrs, NULL, NULL));
  GEMEL__TRY(gemel__check_node(planner, node, checked));
  gemel_status joined = gemel__plan_join(planner, node);
  if (joined != GEMEL_DECLINED) {
    return joined;
  }
  GEMEL__TRY(set_views(planner, node, inv));
  if (record->view != NULL && !(planner->f->plain && kernels != NULL)) {
    gemel_status viewed = plan_view(planner, node, &inv->call);
    if (viewed != GEMEL_DECLINED) {
      return viewed == GEMEL_OK && planner->f->plain ? copy_view(planner, node) : viewed;
    }
  }
  if (kernels == NULL) {
    gemel__fail(planner->error, GEMEL_UNSUPPORTED, "the device %s has no kernel for it",
                inv->call.device->name);
    gemel__blame(p, node, planner->error);
    return GEMEL_UNSUPPORTED;
  }
  GEMEL__TRY(follow_channels(planner, node, &inv->call));
  GEMEL__TRY(gemel__offer_bias(planner, node, inv));
  gemel_status status = gemel__choose_kernel(planner, kernels, inv);
  if (status != GEMEL_OK && status != GEMEL_NO_MEMORY) {
    gemel__blame(p, node, planner->error);
  }
  GEMEL__TRY(status);
  GEMEL__TRY(gemel__settle_bias(planner, node, inv));
  return gemel__is_made_once(planner, node) ? gemel__make_now(planner, node, inv)
                                            : emit_kernel(planner, node, inv);
}

static gemel_status plan_kernel(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  gemel__invocation inv;
  uint32_t count, k;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  for (k = 0; k < count; k++) {
    GEMEL__TRY(gemel__cluster_settle(planner, in[k]));
  }
  memset(&inv, 0, sizeof inv);
  return is_dynamic(planner, node) ? plan_dynamic(planner, node, &inv)
                                   : plan_static(planner, node, &inv);
}

/* Row-major layouts of NODE's outputs. */
static gemel_status lay_out(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  gemel_status status = GEMEL_OK;
  uint32_t k;
  planner->node = node;
  for (k = 0; k < p->nodes[node].n_outputs && status == GEMEL_OK; k++) {
    gemel__plan_place *place = &planner->places[p->nodes[node].value + k];
    memset(place, 0, sizeof *place);
    status =
        gemel__plan_row_major(planner, p->value_types[p->nodes[node].value + k], &place->layout);
  }
  if (status != GEMEL_OK && status != GEMEL_DECLINED && status != GEMEL_NO_MEMORY) {
    gemel__blame(p, node, planner->error);
  }
  return status;
}

gemel_status gemel__plan_alone(gemel__planner *planner, uint32_t node) {
  uint32_t before = planner->node;
  gemel_status status = plan_kernel(planner, node);
  planner->node = before;
  return status;
}

/* 1 if NODE isn't computed together with others. */
static int is_alone(const gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  return planner->f->plain || planner->f->guard != 0 ||
         gemel__has_registered_kernel(p->context, device_of(planner, node), record_of(p, node));
}

static gemel_status plan_operation(gemel__planner *planner, uint32_t node) {
  const gemel_device *device = device_of(planner, node);
  gemel_status status = GEMEL_DECLINED;
  if (device->clusters != NULL && device->longest_row > 0 && !is_alone(planner, node)) {
    status = gemel__cluster_add_reduction(planner, node);
    status = status == GEMEL_DECLINED ? gemel__cluster_add_view(planner, node) : status;
  }
  return status == GEMEL_DECLINED ? plan_kernel(planner, node) : status;
}

static gemel_status plan_scalar(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  const struct gemel__attrs *attrs = gemel__attrs_at(p->context, p->nodes[node].attrs);
  int alone = is_alone(planner, node);
  gemel_status status = alone ? GEMEL_DECLINED : GEMEL_OK;
  if (status == GEMEL_OK) {
    status = gemel__check_node(planner, node, attrs->values);
  }
  if (status == GEMEL_OK) {
    status = gemel__plan_added(planner, node);
  }
  if (status == GEMEL_DECLINED && !alone) {
    status = gemel__cluster_add(planner, node, planner->places[p->nodes[node].value].layout);
  }
  return status == GEMEL_DECLINED ? plan_kernel(planner, node) : status;
}

/* 1 if the input of NODE lies on another device than its result. */
static int crosses(const gemel__run_program *p, uint32_t node) {
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  return gemel__value_device(p, in[0]) != gemel__value_device(p, p->nodes[node].value);
}

static gemel_status plan_node(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  gemel__pkind kind = p->ops[p->nodes[node].op].kind;
  if (kind == GEMEL__P_INPUT) {
    return plan_input(planner, node);
  }
  if (kind == GEMEL__P_CONSTANT) {
    return planner->segment->parent == NULL ? GEMEL_OK : plan_constant(planner, node);
  }
  GEMEL__TRY(lay_out(planner, node));
  if (kind == GEMEL__P_TRANSFER && crosses(p, node)) {
    return gemel__plan_transfer(planner, node);
  }
  return kind == GEMEL__P_SCALAR ? plan_scalar(planner, node) : plan_operation(planner, node);
}

/* ---- Results and sizes ---- */

/* Copies for the outputs that are inputs, constants, views, or the same value as another output. */
static gemel_status plan_results(gemel__planner *planner) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t k;
  for (k = 0; k < p->n_outputs; k++) {
    const gemel__plan_place *place = &planner->places[p->outputs[k].value];
    if (is_direct(planner, k)) {
      continue;
    }
    gemel_status status = gemel__plan_result(planner, k, place);
    if (status != GEMEL_OK) {
      return status;
    }
    if (add_result(planner, k, place->layout) != 0) {
      return out_of_memory(planner);
    }
  }
  return gemel__notes_end(planner);
}

/* Has the segment end with reading the size that VALUE holds. */
static gemel_status want(gemel__planner *planner, uint32_t value) {
  const gemel__plan_place *place = &planner->places[value];
  GEMEL__TRY(gemel__cluster_settle(planner, value));
  if (gemel__fix(planner, &planner->segment->wanted_data, place->buffer, place->layout->offset) !=
      0) {
    return out_of_memory(planner);
  }
  planner->segment->wanted = value;
  return GEMEL_OK;
}

/* Begins a plan with its constants, which are there before any node is computed. */
static gemel_status plan_constants(gemel__planner *planner) {
  const gemel__run_program *p = &planner->f->program;
  memset(planner->places, 0, p->n_values * sizeof *planner->places);
  for (uint32_t node = 0; node < p->n_nodes; node++) {
    if (p->ops[p->nodes[node].op].kind == GEMEL__P_CONSTANT) {
      GEMEL__TRY(plan_constant(planner, node));
    }
  }
  return GEMEL_OK;
}

/* Plans nodes until one needs a size that is not known, or all are planned. */
static gemel_status plan_nodes(gemel__planner *planner) {
  gemel__segment *s = planner->segment;
  const gemel__run_program *p = &planner->f->program;
  gemel_status status = GEMEL_OK;
  uint32_t node;
  for (node = s->begin; node < p->n_nodes && status == GEMEL_OK; node++) {
    status = plan_node(planner, node);
    if (status == GEMEL_DECLINED) {
      s->end = node;
      return want(planner, planner->missing);
    }
  }
  s->end = node;
  return status;
}

gemel_status gemel__plan_nodes(gemel__planner *planner) {
  GEMEL__TRY(planner->segment->parent == NULL ? plan_constants(planner) : GEMEL_OK);
  GEMEL__TRY(plan_nodes(planner));
  GEMEL__TRY(gemel__cluster_settle_all(planner));
  if (planner->segment->wanted == GEMEL__NO_VALUE) {
    GEMEL__TRY(plan_results(planner));
  }
  gemel__updates_settle(planner);
  return gemel__queues_settle(&planner->f->program, planner->segment) == GEMEL_OK
             ? gemel__memory_finish(planner)
             : out_of_memory(planner);
}
