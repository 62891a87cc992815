/* SPDX-License-Identifier: MIT
 *
 * What nodes and transfers take, by a plain model: a launch, and the time of the operation's flops
 * or of its bytes, whichever is longer; views take nothing. Sizes that aren't known are taken for
 * GEMEL__SIZE_GUESS. The numbers are those of no machine: what matters is the order of magnitude of
 * their ratios, and what they come from stands beside them.
 */
#include <string.h>
#include "core/alloc.h"
#include "device/kernels.h"
#include "lift/lift.h"
#include "ops/ops.h"
#include "passes/edit.h"

/* Seconds a launch, flops a second, bytes a second. */
typedef struct lift_speeds {
  double launch, flops, bytes;
} lift_speeds;

/* A core of a server of 2024: an instruction of a plan takes a tenth of a microsecond, oneDNN's
 * product of f32 matrices 1.1e11 to 2.7e11 flops a second, a large copy 1e10 to 3e10 bytes a second
 * (all: `gemel bench cpu`). */
static const lift_speeds host = {0.1e-6, 1e11, 2e10};
/* A node of a CUDA graph takes 1 to 2 us (NVIDIA, "Constant time launch for straight-line CUDA
 * graphs", 2024). From a T4 to an A100: 8e12 to 19.5e12 flops a second of f32, 3.2e11 to 1.6e12
 * bytes a second (NVIDIA's data sheets). */
static const lift_speeds device = {2e-6, 1e13, 1e12};
/* PCI Express 3.0 x16: 15.8e9 bytes a second on the wire, 12e9 in large copies from pinned memory;
 * a small copy and the wait for it take 10 us. */
static const double crossing_latency = 10e-6, crossing_bytes = 12e9;

static const double picoseconds = 1e12, longest = 1e15; /* a thousand seconds, lest sums overflow */

static int64_t in_picoseconds(double seconds) {
  double t = seconds * picoseconds;
  return (int64_t)(t < longest ? t : longest);
}

/* ---- Sizes ---- */

static int guess_atom(void *user, const gemel__atom *atom, int64_t *value) {
  (void)user, (void)atom;
  *value = GEMEL__SIZE_GUESS;
  return 0;
}

/* DIM as a number, with a guess for what isn't known. */
static int64_t size_of(gemel_context *context, gemel_dim dim) {
  int64_t size = GEMEL__SIZE_GUESS;
  if (!gemel_dim_is_constant(context, dim, &size) &&
      gemel__dim_evaluate(context, dim, guess_atom, NULL, &size, NULL) != GEMEL_OK) {
    size = GEMEL__SIZE_GUESS;
  }
  return size;
}

static double elements_of(const gemel_view *view) {
  double count = 1;
  for (int k = 0; k < view->rank; k++) {
    count *= (double)view->shape[k];
  }
  return count;
}

static double bytes_of(const gemel_view *view) {
  return elements_of(view) * (double)gemel_dtype_size(view->dtype);
}

/* ---- Views and attributes for an operation's own hook ---- */

void gemel__lift_meter_clear(gemel__lift_meter *m) {
  gemel__free(m->views, m->view_capacity * sizeof *m->views);
  gemel__free(m->sizes, m->size_capacity * sizeof *m->sizes);
  gemel__free(m->attrs, m->attr_capacity * sizeof *m->attrs);
}

/* VIEW of a value of TYPE; its shape begins at SHAPE. Views in row-major order. */
static void set_view(gemel_context *context, gemel_type type, int64_t *shape, gemel_view *view) {
  const struct gemel__type *t = gemel__type_at(context, type);
  int64_t stride = (int64_t)gemel_dtype_size((gemel_dtype)t->dtype);
  for (int k = t->rank; k-- > 0;) {
    int64_t size = size_of(context, t->dims[k]);
    shape[k] = size > 0 ? size : 0;
    shape[GEMEL_MAX_RANK + k] = stride;
    stride *= shape[k] > 0 && stride < INT64_MAX / shape[k] ? shape[k] : 1;
  }
  *view = (gemel_view){(gemel_dtype)t->dtype, t->rank, shape, shape + GEMEL_MAX_RANK, NULL};
}

/* Dims of ATTR as integers at SIZES; how many there are. */
static size_t read_dims(gemel_context *context, gemel_attr *attr, int64_t *sizes) {
  int is_list = (attr->kind & GEMEL_ATTR_LIST) != 0;
  size_t n = is_list ? attr->count : 1;
  const gemel_dim *dims = is_list ? attr->u.dims : &attr->u.dim;
  for (size_t k = 0; k < n; k++) {
    sizes[k] = size_of(context, dims[k]);
  }
  attr->kind = (attr->kind & GEMEL_ATTR_LIST) | GEMEL_ATTR_INT;
  if (is_list) {
    attr->u.ints = sizes;
  } else {
    attr->u.i = sizes[0];
  }
  return n;
}

static int is_dims(const gemel_attr *attr) {
  return (attr->kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_DIM;
}

/* Room for the views and attributes of a node; 0, or -1. */
static int make_room(gemel__lift_meter *m, const struct gemel__attrs *attrs, size_t n_views) {
  size_t dims = 0;
  for (size_t k = 0; k < attrs->count; k++) {
    const gemel_attr *a = &attrs->values[k];
    dims += !is_dims(a) ? 0 : a->kind & GEMEL_ATTR_LIST ? a->count : 1;
  }
  return gemel__grow(&m->views, &m->view_capacity, n_views + 1, sizeof *m->views) ||
         gemel__grow(&m->attrs, &m->attr_capacity, attrs->count + 1, sizeof *m->attrs) ||
         gemel__grow(&m->sizes, &m->size_capacity, 2 * GEMEL_MAX_RANK * n_views + dims + 1,
                     sizeof *m->sizes);
}

/* The call of NODE as its hook sees it, N of whose inputs are operands. */
static void describe(gemel__lift_meter *m, const gemel_graph *graph, uint32_t node,
                     gemel_kernel_call *call) {
  const gemel__node *record = gemel__node_at(graph, node);
  const struct gemel__attrs *attrs = gemel__attrs_at(graph->context, record->attrs);
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(graph, node, &count);
  int64_t *sizes = m->sizes;
  for (uint32_t k = 0; k < count + record->n_outputs; k++, sizes += 2 * GEMEL_MAX_RANK) {
    gemel__ref ref = k < count ? in[k] : (gemel__ref){node, k - count};
    set_view(graph->context, gemel__node_type(graph, ref.node, ref.output), sizes, &m->views[k]);
  }
  for (size_t k = 0; k < attrs->count; k++) {
    m->attrs[k] = attrs->values[k];
    sizes += is_dims(&m->attrs[k]) ? read_dims(graph->context, &m->attrs[k], sizes) : 0;
  }
  const gemel_operation *op = &gemel__node_op(graph, node)->record;
  gemel__kernel_call_init(call, op, &gemel__host_device, m->attrs, NULL);
  call->n_inputs = count;
  call->inputs = m->views;
  call->n_outputs = record->n_outputs;
  call->outputs = m->views + count;
}

/* What an operation without a hook takes: a flop for each element of a result, and all bytes. */
static void plain_cost(const gemel_kernel_call *call, double *flops, double *bytes) {
  *flops = *bytes = 0;
  for (size_t k = 0; k < call->n_inputs; k++) {
    *bytes += bytes_of(&call->inputs[k]);
  }
  for (size_t k = 0; k < call->n_outputs; k++) {
    *flops += elements_of(&call->outputs[k]);
    *bytes += bytes_of(&call->outputs[k]);
  }
}

/* ---- Costs ---- */

static int64_t time_on(const lift_speeds *m, double flops, double bytes) {
  double work = flops / m->flops, traffic = bytes / m->bytes;
  return in_picoseconds(m->launch + (work > traffic ? work : traffic));
}

/* Adds to COST what the nodes of BODY take, STEPS times. */
static gemel_status add_body(gemel__lift_meter *m, const gemel_graph *body, double steps,
                             gemel__lift_cost *cost, gemel_error *error) {
  double host_sum = 0, device_sum = 0;
  gemel_status status = GEMEL_OK;
  for (uint32_t node = 0; node < body->n_nodes && status == GEMEL_OK; node++) {
    gemel__lift_cost one = {0, 0};
    if (body->nodes[node + 1].in_begin > body->nodes[node].in_begin) {
      status = gemel__lift_node_cost(m, body, node, &one, error);
    }
    host_sum += (double)one.host;
    device_sum += (double)one.device;
  }
  cost->host += in_picoseconds(host_sum * steps / picoseconds);
  cost->device += in_picoseconds(device_sum * steps / picoseconds);
  return status;
}

/* Adds to COST, that of NODE without its bodies, what these take, as CALL runs them. */
static gemel_status add_bodies(gemel__lift_meter *m, const gemel_graph *graph, uint32_t node,
                               const gemel_kernel_call *call, gemel__lift_cost *cost,
                               gemel_error *error) {
  const struct gemel__row *row = gemel__node_op(graph, node)->row;
  const struct gemel__attrs *attrs =
      gemel__attrs_at(graph->context, gemel__node_at(graph, node)->attrs);
  gemel_status status = GEMEL_OK;
  if (attrs->nesting == 0) {
    return GEMEL_OK;
  }
  int64_t steps = row != NULL && row->hooks->steps != NULL ? row->hooks->steps(call) : 1;
  steps = steps >= 0 ? steps : GEMEL__SIZE_GUESS;
  for (size_t k = 0; k < attrs->count && status == GEMEL_OK; k++) {
    if (attrs->values[k].kind == GEMEL_ATTR_GRAPH) {
      status = add_body(m, attrs->values[k].u.graph, (double)steps, cost, error);
    }
  }
  return status;
}

gemel_status gemel__lift_node_cost(gemel__lift_meter *m, const gemel_graph *graph, uint32_t node,
                                   gemel__lift_cost *cost, gemel_error *error) {
  const gemel__node *record = gemel__node_at(graph, node);
  const gemel_operation *op = &gemel__node_op(graph, node)->record;
  gemel_kernel_call call;
  double flops = 0, bytes = 0;
  *cost = (gemel__lift_cost){0, 0};
  if ((op->flags & GEMEL_OP_VIEW) != 0) {
    return GEMEL_OK;
  }
  size_t views = record[1].in_begin - record->in_begin + (size_t)record->n_outputs;
  if (make_room(m, gemel__attrs_at(graph->context, record->attrs), views) != 0) {
    return gemel__no_memory(error, "a lift");
  }
  describe(m, graph, node, &call);
  (op->cost != NULL ? op->cost : plain_cost)(&call, &flops, &bytes);
  *cost = (gemel__lift_cost){time_on(&host, flops, bytes), time_on(&device, flops, bytes)};
  return add_bodies(m, graph, node, &call, cost, error);
}

int64_t gemel__lift_transfer_cost(gemel_context *context, gemel_type type) {
  int64_t shape[2 * GEMEL_MAX_RANK];
  gemel_view view;
  set_view(context, type, shape, &view);
  return in_picoseconds(crossing_latency + bytes_of(&view) / crossing_bytes);
}
