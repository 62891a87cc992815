/* SPDX-License-Identifier: MIT
 *
 * Running a segment under observation: each instruction is timed, or its operands and results are
 * looked at for NaNs and infinities, or both. A function that is guarded has no loops of several
 * nodes, so that each node is an instruction whose operands and results are in memory. Operands are
 * looked at before the instruction, which may overwrite them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor.h"
#include "run/record.h"

/* ---- NaNs and infinities ---- */

static unsigned kind_of(gemel_dtype dtype, const char *data) {
  double value = gemel__dtype_load(dtype, data);
  return isnan(value) ? GEMEL_GUARD_NAN : isinf(value) ? GEMEL_GUARD_INF : 0;
}

/* The next index of SHAPE in row-major order; 0 behind the last one. */
static int advance(const gemel_view *view, int64_t *index, const char **data) {
  for (int axis = view->rank - 1; axis >= 0; axis--) {
    *data += view->strides[axis];
    if (++index[axis] < view->shape[axis]) {
      return 1;
    }
    *data -= view->strides[axis] * view->shape[axis];
    index[axis] = 0;
  }
  return 0;
}

/* The kinds among WANTED that VIEW's elements are, until one of them is found that is among STOP;
 * INDEX is then where. */
static unsigned look(const gemel_view *view, unsigned wanted, unsigned stop, int64_t *index) {
  const char *data = view->data;
  unsigned found = 0;
  memset(index, 0, GEMEL_MAX_RANK * sizeof *index);
  for (int axis = 0; axis < view->rank; axis++) {
    if (view->shape[axis] == 0) {
      return 0;
    }
  }
  if (gemel_dtype_kind(view->dtype) != GEMEL_KIND_FLOAT || view->data == NULL) {
    return 0;
  }
  do {
    unsigned kind = kind_of(view->dtype, data) & wanted;
    found |= kind;
    if (kind & stop || found == wanted) {
      return found;
    }
  } while (advance(view, index, &data));
  return found;
}

/* The call of a kernel on the host; NULL for all other instructions. */
static const gemel_kernel_call *guarded_call(const gemel__instr *instr) {
  return gemel__instr_is_kernel(instr) && instr->kernel->call.device == &gemel__host_device
             ? &instr->kernel->call
             : NULL;
}

/* The kinds that operands have already. */
static unsigned operand_kinds(const gemel_kernel_call *call, unsigned wanted) {
  int64_t index[GEMEL_MAX_RANK];
  unsigned found = 0;
  for (size_t k = 0; call != NULL && k < call->n_inputs && found != wanted; k++) {
    found |= look(&call->inputs[k], wanted, 0, index);
  }
  return found;
}

static gemel_status tell(gemel__execution *e, const gemel__instr *instr, size_t output,
                         unsigned kind, const int64_t *index) {
  const gemel_kernel_call *call = guarded_call(instr);
  const gemel_view *v = &call->outputs[output];
  char operands[300] = "", shape[200], place[200];
  size_t used = 0;
  for (size_t k = 0; k < call->n_inputs && used + 60 < sizeof operands; k++) {
    const gemel_view *in = &call->inputs[k];
    used += (size_t)snprintf(operands + used, sizeof operands - used, "%s%s%s", k > 0 ? ", " : "",
                             gemel_dtype_name(in->dtype),
                             gemel__format_shape(in->rank, in->shape, shape, sizeof shape));
  }
  gemel__format_shape(v->rank, index, place, sizeof place);
  return gemel__fail(&e->error, GEMEL_BAD_VALUE,
                     "%%%zu, %s%s, has %s at %s, and its operands (%s) have none",
                     e->f->program.nodes[instr->node].value + output, gemel_dtype_name(v->dtype),
                     gemel__format_shape(v->rank, v->shape, shape, sizeof shape),
                     kind == GEMEL_GUARD_NAN ? "a NaN" : "an infinity", place, operands);
}

/* GEMEL_BAD_VALUE if a result has what is guarded against and no operand had. */
static gemel_status check_results(gemel__execution *e, const gemel__instr *instr, unsigned before) {
  const gemel_kernel_call *call = guarded_call(instr);
  unsigned wanted = e->f->guard & ~before;
  int64_t index[GEMEL_MAX_RANK];
  for (size_t k = 0; call != NULL && wanted != 0 && k < call->n_outputs; k++) {
    unsigned found = look(&call->outputs[k], wanted, wanted, index);
    if (found != 0) {
      return tell(e, instr, k, found, index);
    }
  }
  return GEMEL_OK;
}

/* ---- Running ---- */

/* Work on other devices is done when it has been waited for. */
static gemel_status run_one(gemel__execution *e, const gemel__instr *instr, double *times) {
  unsigned guard = e->f->guard;
  unsigned before = guard != 0 ? operand_kinds(guarded_call(instr), guard) : 0;
  double start = times != NULL ? gemel__seconds() : 0;
  e->inside = 0;
  gemel_status status = gemel__instr_run(e, instr);
  e->done += status == GEMEL_OK;
  if (times != NULL) {
    status = status == GEMEL_OK ? gemel__synchronize(e) : status;
    times[0] = start;
    times[1] = gemel__seconds();
    times[2] = e->inside;
  }
  return status == GEMEL_OK && guard != 0 ? check_results(e, instr, before) : status;
}

gemel_status gemel__segment_watch(gemel__execution *e, gemel__segment *s) {
  int timed = e->f->recorder != NULL;
  gemel_status status = timed ? gemel__record_prepare(e, s) : GEMEL_OK;
  for (size_t k = 0; k < s->n_instrs && status == GEMEL_OK; k++) {
    status = run_one(e, &s->instrs[k], timed ? &s->record->times[3 * k] : NULL);
    if (status != GEMEL_OK) {
      return gemel__instr_failed(e, s->instrs[k].node, status);
    }
  }
  return status == GEMEL_OK && timed ? gemel__record_segment(e, s) : status;
}
