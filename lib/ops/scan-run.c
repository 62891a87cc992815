/* SPDX-License-Identifier: MIT
 *
 * The kernel of scan: the body, compiled once for a plan, called step by step. Each state is read
 * where the step before wrote it, which is the row of its history, and rows of sequences are read
 * and those of stacks written where they lie, so nothing is copied but initial and last values. A
 * state whose history nobody reads has two buffers that take turns, of which one is the last
 * value's; a value whose stack nobody reads has room for one row. On a device the body works there,
 * and all that is done here is to ask for its kernels, for copies and for fills, so the steps are
 * one stretch of the device's work, which the caller may record.
 */
#include <string.h>
#include <gemel/tensor.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/runner.h"
#include "core/tensor.h"
#include "device/device.h"
#include "ops/body.h"
#include "ops/rule.h"
#include "ops/scan.h"

/* A compiled body and the tensors that it is called with, whose data pointers are set at each step.
 * It stands in the state of the kernel's call. */
typedef struct scan_loop {
  const gemel__body_runner *runner;
  gemel_function *function;
  gemel__scan scan;
  gemel_tensor **tensors; /* of the body: inputs, then outputs */
  size_t n_inputs, n_outputs;
  char **buffers; /* of each state without history two, of each value without stack one; states
                     come first, and all have places here; set at each call */
  unsigned char stop;
} scan_loop;

/* One call: N steps of at most LENGTH rows. */
typedef struct scan_call {
  const gemel_kernel_call *call;
  scan_loop *loop;
  gemel__execution *body; /* what the body is called with in all steps */
  int64_t length, n;
} scan_call;

static size_t all_tensors(const scan_loop *l) {
  return l->n_inputs + l->n_outputs;
}

static size_t buffer_count(const scan_loop *l) {
  return 2 * l->scan.states + l->scan.values;
}

static void release_loop(void *prepared) {
  scan_loop *l = prepared;
  l->runner->free(l->function);
  for (size_t k = 0; l->tensors != NULL && k < all_tensors(l); k++) {
    gemel_tensor_unref(l->tensors[k]);
  }
  gemel__free(l->tensors, all_tensors(l) * sizeof *l->tensors);
  gemel__free(l->buffers, buffer_count(l) * sizeof *l->buffers);
}

/* 1 if result K has memory: it is there, and somebody reads it. */
static int has_memory(const gemel_kernel_call *call, size_t k) {
  return call->unread == NULL || !call->unread[k];
}

static int has_history(const gemel_kernel_call *call, const gemel__scan *s, size_t k) {
  return s->rows && has_memory(call, gemel__scan_history(s, k));
}

/* Bytes of VIEW, or of one row of it, in scratch memory. */
static size_t scratch_for(const gemel_view *view, int row) {
  size_t bytes = (size_t)gemel__view_item(view);
  for (int axis = row; axis < view->rank; axis++) {
    bytes *= (size_t)view->shape[axis];
  }
  return (bytes + GEMEL__DATA_ALIGNMENT - 1) / GEMEL__DATA_ALIGNMENT * GEMEL__DATA_ALIGNMENT;
}

/* The next BYTES of SCRATCH, of which TOTAL are taken so far; NULL while they are only counted. */
static char *take(char *scratch, size_t *total, size_t bytes) {
  char *at = scratch != NULL ? scratch + *total : NULL;
  *total += bytes;
  return at;
}

/* Where states and values go that have no history or stack; how many bytes of SCRATCH they take. */
static size_t place_buffers(const gemel_kernel_call *call, scan_loop *l, char *scratch) {
  const gemel__scan *s = &l->scan;
  const gemel_view *out = call->outputs;
  size_t total = 0;
  for (size_t k = 0; k < s->states; k++) {
    size_t bytes = has_history(call, s, k) ? 0 : scratch_for(&out[k], 0);
    l->buffers[2 * k] = has_memory(call, k) ? out[k].data : take(scratch, &total, bytes);
    l->buffers[2 * k + 1] = take(scratch, &total, bytes);
  }
  for (size_t k = 0; k < s->values; k++) {
    size_t stack = gemel__scan_stack(s, k);
    l->buffers[2 * s->states + k] =
        has_memory(call, stack) ? NULL : take(scratch, &total, scratch_for(&out[stack], 1));
  }
  return total;
}

/* Adds a tensor for VIEW without its first SKIP axes. */
static void add_tensor(gemel_kernel_call *call, gemel_tensor ***to, const gemel_view *view,
                       int skip) {
  *(*to)++ = gemel__tensor_described(view->dtype, view->rank - skip, view->shape + skip,
                                     view->strides + skip, call->error);
}

/* What the body is called with, in its order. A state lies as the last one does, row-major. */
static gemel_status make_tensors(gemel_kernel_call *call, scan_loop *l) {
  const gemel__scan *s = &l->scan;
  const gemel_view *in = call->inputs, *out = call->outputs;
  gemel_view stop = {GEMEL_BOOL, 0, NULL, NULL, NULL};
  gemel_tensor **to = l->tensors;
  for (size_t k = 0; k < s->states; k++) {
    add_tensor(call, &to, &out[k], 0);
  }
  for (size_t k = 0; k < s->sequences; k++) {
    add_tensor(call, &to, &in[gemel__scan_sequence(s, k)], 1);
  }
  for (size_t k = 0; k < s->constants; k++) {
    add_tensor(call, &to, &in[gemel__scan_constant(s, k)], 0);
  }
  for (size_t k = 0; k < s->states; k++) {
    add_tensor(call, &to, &out[k], 0);
  }
  for (size_t k = 0; k < s->values; k++) {
    add_tensor(call, &to, &out[gemel__scan_stack(s, k)], 1);
  }
  if (s->until) {
    add_tensor(call, &to, &stop, 0);
  }
  for (size_t k = 0; k < all_tensors(l); k++) {
    if (l->tensors[k] == NULL) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}

static gemel_status prepare_scan(gemel_kernel_call *call) {
  scan_loop *l = call->prepared;
  memset(l, 0, sizeof *l);
  gemel__scan_read(call->attrs, &l->scan);
  l->runner = l->scan.body->context->runner;
  l->n_inputs = gemel_graph_input_count(l->scan.body);
  l->n_outputs = gemel_graph_output_count(l->scan.body);
  l->tensors = gemel__alloc_array(all_tensors(l), sizeof *l->tensors);
  l->buffers = gemel__alloc_array(buffer_count(l), sizeof *l->buffers);
  gemel_status status = l->tensors != NULL && l->buffers != NULL
                            ? make_tensors(call, l)
                            : gemel__no_memory(call->error, "a loop's body");
  if (status == GEMEL_OK && call->device != &gemel__host_device && !gemel__scan_follows(&l->scan)) {
    status = gemel__fail(call->error, GEMEL_UNSUPPORTED,
                         "a loop that is limited, or ends by itself, can't work on the device %s",
                         call->device->name);
  }
  if (status == GEMEL_OK) {
    l->function = l->runner->compile(call, l->scan.body, &status);
  }
  if (status != GEMEL_OK) {
    release_loop(l);
    return status;
  }
  call->scratch_bytes = place_buffers(call, l, NULL);
  call->release = release_loop;
  return GEMEL_OK;
}

/* ---- Where things are ---- */

static char *row_of(const gemel_view *view, int64_t row) {
  return (char *)view->data + row * view->strides[0];
}

/* 1 if state K's initial value is read where it lies: it lies as the state does. */
static int reads_initial(const scan_call *c, size_t k) {
  const gemel_view *initial = &c->call->inputs[gemel__scan_initial(&c->loop->scan, k)];
  return !has_history(c->call, &c->loop->scan, k) &&
         gemel__is_row_major((size_t)gemel__view_item(initial), initial->rank, initial->shape,
                             initial->strides);
}

/* Where state K is after I steps. Of two buffers the first has the state after the last step. */
static char *state_place(const scan_call *c, size_t k, int64_t i) {
  const gemel__scan *s = &c->loop->scan;
  char *const *buffers = &c->loop->buffers[2 * k];
  int64_t odd = (i ^ c->n) & 1;
  int64_t row = s->reverse ? c->n - i : i;
  if (has_history(c->call, s, k)) {
    return row_of(&c->call->outputs[gemel__scan_history(s, k)], row);
  }
  return buffers[odd];
}

/* Where state K is read after I steps. */
static char *state_source(const scan_call *c, size_t k, int64_t i) {
  return i == 0 && reads_initial(c, k)
             ? c->call->inputs[gemel__scan_initial(&c->loop->scan, k)].data
             : state_place(c, k, i);
}

/* Where value K goes in a step that writes row ROW. */
static char *value_place(const scan_call *c, size_t k, int64_t row) {
  const gemel__scan *s = &c->loop->scan;
  size_t stack = gemel__scan_stack(s, k);
  return has_memory(c->call, stack) ? row_of(&c->call->outputs[stack], row)
                                    : c->loop->buffers[2 * s->states + k];
}

/* The row that step I reads of sequences and writes of stacks. */
static int64_t row_of_step(const scan_call *c, int64_t i) {
  if (c->loop->scan.reverse) {
    return c->n - 1 - i;
  }
  return i;
}

/* ---- Running ---- */

/* TO, where a state is to lie as the loop's last one does, = FROM. */
static gemel_status copy_state(const scan_call *c, size_t k, char *to, const gemel_view *from) {
  const gemel_device *device = c->call->device;
  gemel_view target = c->call->outputs[k];
  target.data = to;
  return gemel__view_elements(from) == 0
             ? GEMEL_OK
             : device->copy(device->user, &target, from, c->call->threads, c->call->error);
}

/* BYTES bytes at DATA become 0. */
static gemel_status clear(const scan_call *c, char *data, int64_t bytes) {
  const gemel_device *device = c->call->device;
  return bytes == 0 ? GEMEL_OK : device->fill(device->user, data, 0, (size_t)bytes, c->call->error);
}

/* Copies the initial values, and sets the data of what stays as it is from step to step. */
static gemel_status enter_operands(const scan_call *c) {
  const gemel__scan *s = &c->loop->scan;
  gemel_tensor **constants = c->loop->tensors + s->states + s->sequences;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < s->states && status == GEMEL_OK; k++) {
    const gemel_view *initial = &c->call->inputs[gemel__scan_initial(s, k)];
    if (!reads_initial(c, k)) {
      status = copy_state(c, k, state_place(c, k, 0), initial);
    }
  }
  for (size_t k = 0; k < s->constants; k++) {
    constants[k]->data = c->call->inputs[gemel__scan_constant(s, k)].data;
  }
  if (s->until) {
    c->loop->tensors[all_tensors(c->loop) - 1]->data = &c->loop->stop;
  }
  return status;
}

static gemel_status step(const scan_call *c, int64_t i) {
  scan_loop *l = c->loop;
  const gemel__scan *s = &l->scan;
  gemel_tensor **in = l->tensors, **out = l->tensors + l->n_inputs;
  int64_t row = row_of_step(c, i);
  for (size_t k = 0; k < s->states; k++) {
    in[k]->data = state_source(c, k, i);
    out[k]->data = state_place(c, k, i + 1);
  }
  for (size_t k = 0; k < s->sequences; k++) {
    in[s->states + k]->data = row_of(&c->call->inputs[gemel__scan_sequence(s, k)], row);
  }
  for (size_t k = 0; k < s->values; k++) {
    out[s->states + k]->data = value_place(c, k, row);
  }
  return l->runner->repeat(c->body, in, out);
}

/* Says what went wrong in the body, and in which step. */
static gemel_status blame_step(const scan_call *c, int64_t i, gemel_status status) {
  if (c->call->error != NULL) {
    *c->call->error = *c->loop->runner->error_of(c->body);
  }
  if (c->length == INT64_MAX) {
    gemel__error_prefix(c->call->error, "step %lld", (long long)i + 1);
  } else {
    gemel__error_prefix(c->call->error, "step %lld of %lld", (long long)i + 1, (long long)c->n);
  }
  return status;
}

/* Runs the steps; *DONE of them. */
static gemel_status run_steps(const scan_call *c, int64_t *done) {
  scan_loop *l = c->loop;
  int64_t most = c->call->most_steps;
  int64_t i = most > 0 && c->n > most && !l->scan.until ? most : 0;
  l->stop = 0;
  while (i < c->n && !l->stop) {
    if (most > 0 && i == most) {
      return gemel__fail(c->call->error, GEMEL_TOO_LONG, "a loop takes more than %lld steps",
                         (long long)most);
    }
    gemel_status status = step(c, i);
    if (status != GEMEL_OK) {
      return blame_step(c, i, status);
    }
    i++;
  }
  *done = i;
  return GEMEL_OK;
}

/* Rows BEGIN.. of a result become 0. */
static gemel_status clear_rows(const scan_call *c, const gemel_view *view, int64_t begin) {
  int64_t rows = view->shape[0];
  return begin < rows && gemel__view_elements(view) > 0
             ? clear(c, row_of(view, begin), view->strides[0] * (rows - begin))
             : GEMEL_OK;
}

/* The last state, and the rows of its history that no step wrote. */
static gemel_status leave_state(const scan_call *c, size_t k, int64_t done) {
  const gemel__scan *s = &c->loop->scan;
  gemel_view last = c->call->outputs[k];
  char *to = last.data;
  last.data = state_source(c, k, done);
  if (has_memory(c->call, k) && last.data != to) {
    GEMEL__TRY(copy_state(c, k, to, &last));
  }
  if (has_history(c->call, s, k)) {
    GEMEL__TRY(clear_rows(c, &c->call->outputs[gemel__scan_history(s, k)], done + 1));
  }
  return GEMEL_OK;
}

static gemel_status leave_results(const scan_call *c, int64_t done) {
  const gemel__scan *s = &c->loop->scan;
  const gemel_view *out = c->call->outputs;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < s->states && status == GEMEL_OK; k++) {
    status = leave_state(c, k, done);
  }
  for (size_t k = 0; k < s->values && status == GEMEL_OK; k++) {
    if (has_memory(c->call, gemel__scan_stack(s, k))) {
      status = clear_rows(c, &out[gemel__scan_stack(s, k)], done);
    }
  }
  if (s->until && has_memory(c->call, gemel__scan_count(s))) {
    *(int64_t *)out[gemel__scan_count(s)].data = done;
  }
  return status;
}

/* How many rows there are, and how many steps are wanted. */
static gemel_status find_steps(scan_call *c) {
  const gemel__scan *s = &c->loop->scan;
  c->length = gemel__scan_length(c->call, s);
  c->n = s->limited ? *(const int64_t *)c->call->inputs[0].data : c->length;
  if (c->n >= 0 && c->n <= c->length) {
    return GEMEL_OK;
  }
  return s->rows ? gemel__fail(c->call->error, GEMEL_BAD_VALUE,
                               "a loop over %lld rows can't take %lld steps", (long long)c->length,
                               (long long)c->n)
                 : gemel__fail(c->call->error, GEMEL_BAD_VALUE, "a loop can't take %lld steps",
                               (long long)c->n);
}

static gemel_status run_body(scan_call *c) {
  scan_loop *l = c->loop;
  int64_t done = 0;
  c->body = l->runner->take(l->function, c->call->error);
  if (c->body == NULL) {
    return GEMEL_NO_MEMORY;
  }
  place_buffers(c->call, l, c->call->scratch);
  gemel_status status = c->n > 0 ? l->runner->ready(c->body, l->tensors) : GEMEL_OK;
  if (status != GEMEL_OK) {
    blame_step(c, 0, status);
  } else {
    status = enter_operands(c);
    status = status == GEMEL_OK ? run_steps(c, &done) : status;
  }
  l->runner->give(l->function, c->body, 1);
  return status == GEMEL_OK ? leave_results(c, done) : status;
}

static gemel_status run_scan(const gemel_kernel_call *call) {
  scan_call c = {call, call->prepared, NULL, 0, 0};
  GEMEL__TRY(find_steps(&c));
  return run_body(&c);
}

const gemel_kernel gemel__scan_kernels[] = {{"steps", prepare_scan, run_scan}, {NULL, NULL, NULL}};
