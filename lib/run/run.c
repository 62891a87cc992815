/* SPDX-License-Identifier: MIT
 *
 * Running a segment: pointers into inputs and results are set, then its instructions are done in
 * order. Everything else was settled when it was planned.
 */
#include "run/execution.h"

#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "device/kernels.h"
#include "run/planner.h"

static void patch(gemel__execution *e, const gemel__segment *s) {
  const gemel__patch *p = s->patches, *end = p + s->n_patches;
  for (; p < end; p++) {
    *p->where = e->ports[p->port] + p->offset;
  }
}

static gemel_status copy_elements(gemel__execution *e, const gemel__move *move, void *to,
                                  const int64_t *to_strides) {
  const gemel__plan_layout *l = move->layout;
  const gemel_view target = {l->dtype, l->rank, l->shape, to_strides, to};
  const gemel_view source = {l->dtype, l->rank, l->shape, l->strides, (void *)move->from};
  return l->elements == 0
             ? GEMEL_OK
             : move->device->copy(move->device->user, &target, &source, e->f->threads, &e->error);
}

/* Into the tensor of an output, row-major here: a given one with other strides has a staging
 * buffer. */
static gemel_status run_result(gemel__execution *e, const gemel__move *move) {
  const gemel__plan_layout *l = move->layout;
  int64_t strides[GEMEL_MAX_RANK], elements, bytes;
  GEMEL__TRY(gemel__row_major(l->dtype, l->rank, l->shape, strides, &elements, &bytes, &e->error));
  return copy_elements(e, move, e->ports[e->f->program.n_inputs + move->output], strides);
}

static gemel_status run_fetch(gemel__execution *e, const gemel__move *move) {
  GEMEL__TRY(move->device->synchronize(move->device->user, &e->error));
  memcpy(move->to, move->from, (size_t)move->bytes);
  return GEMEL_OK;
}

static gemel_status run_move(gemel__execution *e, gemel__instr_kind kind, const gemel__move *move) {
  const gemel_device *device = move->device;
  size_t bytes = (size_t)move->bytes;
  e->asked |= kind == GEMEL__INSTR_UPLOAD || kind == GEMEL__INSTR_DOWNLOAD;
  switch (kind) {
  case GEMEL__INSTR_COPY:
    return copy_elements(e, move, move->to, move->to_strides);
  case GEMEL__INSTR_UPLOAD:
    return device->upload(device->user, move->to, move->from, bytes, &e->error);
  case GEMEL__INSTR_DOWNLOAD:
    return device->download(device->user, move->to, move->from, bytes, &e->error);
  case GEMEL__INSTR_FETCH:
    return run_fetch(e, move);
  case GEMEL__INSTR_RESULT:
    return run_result(e, move);
  case GEMEL__INSTR_POISON:
    return bytes == 0 ? GEMEL_OK
                      : device->fill(device->user, move->to, move->pattern, bytes, &e->error);
  default:
    return gemel__device_note(device, move->to, bytes, &e->error);
  }
}

/* ---- Attributes with run-time sizes ---- */

typedef struct runtime_lookup {
  const gemel__execution *e;
  const gemel_kernel_call *call;
} runtime_lookup;

static int look_up_runtime(void *user, const gemel__atom *atom, int64_t *size) {
  const runtime_lookup *l = user;
  const gemel_view *in;
  if (atom->kind == GEMEL__ATOM_SYMBOL) {
    return gemel__plan_symbol(l->e->plans, atom->name, size);
  }
  if (atom->kind != GEMEL__ATOM_INPUT || atom->a >= l->call->n_inputs) {
    return -1;
  }
  in = &l->call->inputs[atom->a];
  *size = gemel__load_size(in->dtype, in->data);
  return 0;
}

int64_t gemel__load_size(gemel_dtype dtype, const void *data) {
  int64_t size = 0;
  switch (dtype) {
#define LOAD(E, name, bytes, kind, ctype)                                                          \
  case GEMEL_##E: {                                                                                \
    ctype value;                                                                                   \
    memcpy(&value, data, sizeof value);                                                            \
    size = (int64_t)value;                                                                         \
    break;                                                                                         \
  }
    GEMEL_DTYPE_TABLE(LOAD)
#undef LOAD
  default:
    break;
  }
  return size;
}

static gemel_status run_prepared(gemel_kernel_call *call,
                                 gemel_status (*run)(const gemel_kernel_call *)) {
  const gemel_device *device = call->device;
  size_t bytes = call->scratch_bytes;
  gemel_status status =
      bytes > 0 ? gemel__value_memory(device, bytes, &call->scratch, call->error) : GEMEL_OK;
  if (status == GEMEL_OK) {
    status = run(call);
  }
  if (bytes > 0 && call->scratch != NULL) {
    gemel__value_memory_free(device, call->scratch, bytes);
  }
  call->scratch = NULL;
  return status;
}

/* Evaluates the attributes, then chooses the kernel anew. */
static gemel_status run_dynamic(gemel__execution *e, gemel__invocation *inv) {
  runtime_lookup l = {e, &inv->call};
  const gemel_kernel *k = inv->candidates;
  gemel_status status = GEMEL_OK;
  size_t i;
  for (i = 0; i < inv->n_runtime && status == GEMEL_OK; i++) {
    status = gemel__dim_evaluate(e->f->program.context, inv->runtime[i].dim, look_up_runtime, &l,
                                 inv->runtime[i].target, &e->error);
  }
  if (status != GEMEL_OK) {
    return status;
  }
  while (e->f->plain && k[1].name != NULL) {
    k++;
  }
  for (status = GEMEL_DECLINED; k->name != NULL; k++) {
    memset(inv->call.prepared, 0, GEMEL_KERNEL_PREPARED_BYTES);
    status = gemel__call_prepare(&inv->call, k);
    if (status != GEMEL_DECLINED) {
      inv->chosen = k;
      status =
          status == GEMEL_OK ? run_prepared(&inv->call, gemel__call_runner(&inv->call, k)) : status;
      if (inv->call.release != NULL) {
        inv->call.release(inv->call.prepared);
        inv->call.release = NULL;
        inv->nested.body = NULL;
      }
      return status;
    }
  }
  return gemel__fail(&e->error, GEMEL_UNSUPPORTED, "every kernel declines");
}

/* ---- Instructions ---- */

gemel_status gemel__instr_run(gemel__execution *e, const gemel__instr *instr) {
  switch (instr->kind) {
  case GEMEL__INSTR_LOOP:
    gemel__loop_run(&instr->loop->loop, e->scratch);
    return GEMEL_OK;
  case GEMEL__INSTR_KERNEL:
  case GEMEL__INSTR_CLUSTER:
    return instr->kernel->run(&instr->kernel->call);
  case GEMEL__INSTR_DYNAMIC:
    return run_dynamic(e, instr->kernel);
  default:
    return run_move(e, instr->kind, instr->move);
  }
}

gemel_status gemel__instr_failed(gemel__execution *e, uint32_t node, gemel_status status) {
  gemel__told(&e->error, status);
  gemel__blame(&e->f->program, node, &e->error);
  return status;
}

gemel_status gemel__instrs_run(gemel__execution *e, const gemel__segment *s, size_t begin,
                               size_t end) {
  for (size_t k = begin; k < end; k++) {
    gemel_status status = gemel__instr_run(e, &s->instrs[k]);
    if (status != GEMEL_OK) {
      return gemel__instr_failed(e, s->instrs[k].node, status);
    }
    e->done = k + 1;
  }
  for (gemel__execution *within = e; within != NULL; within = within->f->caller) {
    within->instrs += end - begin;
  }
  return GEMEL_OK;
}

static gemel_status run_stretches(gemel__execution *e, gemel__segment *s) {
  size_t at = 0;
  for (size_t k = 0; k < s->n_stretches; k++) {
    gemel__stretch *stretch = &s->stretches[k];
    GEMEL__TRY(gemel__instrs_run(e, s, at, stretch->begin));
    GEMEL__TRY(gemel__stretch_run(e, s, stretch));
    at = stretch->end;
  }
  return gemel__instrs_run(e, s, at, s->n_instrs);
}

/* A run failed when E->DONE of the instructions of S were done: the values that they began, and
 * whose end didn't come, end here. */
static void end_values(const gemel__execution *e, const gemel__segment *s) {
  for (size_t k = 0; k < e->done; k++) {
    gemel__move *move = s->instrs[k].move;
    if (s->instrs[k].kind == GEMEL__INSTR_NOTE) {
      move->begun->open = move->bytes > 0;
    }
  }
  for (size_t k = 0; k < e->done; k++) {
    gemel__move *move = s->instrs[k].move;
    if (s->instrs[k].kind == GEMEL__INSTR_NOTE && move->open) {
      gemel__device_note(move->device, move->to, 0, NULL);
      move->open = 0;
    }
  }
}

gemel_status gemel__segment_run(gemel__execution *e, gemel__segment *s) {
  gemel_status status = GEMEL_OK;
  patch(e, s);
  e->error.status = GEMEL_OK;
  e->done = 0;
  if (e->asked && s->uploads > 0) {
    status = gemel__synchronize(e); /* the last call's uploads may still read staging memory */
  }
  if (status == GEMEL_OK) {
    status = e->f->watched ? gemel__segment_watch(e, s) : run_stretches(e, s);
  }
  if (status != GEMEL_OK) {
    end_values(e, s);
  }
  return status;
}
