/* SPDX-License-Identifier: MIT
 *
 * Constant folding: an operation on constants is computed once, by the kernel that would compute it
 * at run time, so its bits are the same. What would make the graph bigger (a broadcast, a range)
 * stays as it is, and so does what has a body or a size that is known at run time.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/tensor.h"
#include "device/kernels.h"
#include "rewrite/engine.h"

static const gemel_tensor *constant_at(const gemel_graph *graph, gemel__ref value) {
  const gemel__node *node = gemel__node_at(graph, value.node);
  if (node->op != GEMEL__OP_constant) {
    return NULL;
  }
  return gemel__attrs_at(graph->context, node->attrs)->values[0].u.tensor;
}

/* 1 if all inputs are constants and there is one; *ELEMENTS is how many they have together. */
static int all_constant(const gemel_graph *graph, uint32_t node, int64_t *elements) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, node, &count);
  *elements = 0;
  for (uint32_t k = 0; k < count; k++) {
    const gemel_tensor *tensor = constant_at(graph, inputs[k]);
    if (tensor == NULL) {
      return 0;
    }
    *elements += gemel_tensor_elements(tensor);
  }
  return count > 0;
}

/* 1 if the result of NODE has a known number of elements, of at most LIMIT. */
static int has_at_most(const gemel_graph *graph, uint32_t node, int64_t limit) {
  const struct gemel__type *type = gemel__type_at(graph->context, gemel__node_type(graph, node, 0));
  int64_t n = 1, size;
  for (int k = 0; k < type->rank; k++) {
    if (!gemel_dim_is_constant(graph->context, type->dims[k], &size) ||
        __builtin_mul_overflow(n, size, &n)) {
      return 0;
    }
  }
  return n <= limit;
}

/* ---- Computing ---- */

/* What one node takes to be computed. */
struct fold_call {
  const gemel_operation *record;
  gemel_kernel_call call;
  gemel__arena arena; /* attributes and views */
  gemel_attr *attrs;  /* of the record's schema, sizes as integers */
  gemel_view *views;  /* of the inputs, then of the output */
  gemel_tensor *result;
  unsigned char prepared[GEMEL_KERNEL_PREPARED_BYTES];
};

/* ATTR with integers in the place of its dims. GEMEL_DECLINED: one of them isn't a constant. */
static gemel_status read_dims(struct fold_call *v, gemel_context *context, gemel_attr *attr,
                              gemel_error *error) {
  int is_list = (attr->kind & GEMEL_ATTR_LIST) != 0;
  size_t n = is_list ? attr->count : 1;
  const gemel_dim *dims = is_list ? attr->u.dims : &attr->u.dim;
  int64_t *sizes = gemel__arena_alloc(&v->arena, (n + 1) * sizeof *sizes);
  if (sizes == NULL) {
    return gemel__no_memory(error, "a constant");
  }
  for (size_t k = 0; k < n; k++) {
    if (!gemel_dim_is_constant(context, dims[k], &sizes[k])) {
      return GEMEL_DECLINED;
    }
  }
  attr->kind = (attr->kind & GEMEL_ATTR_LIST) | GEMEL_ATTR_INT;
  if (is_list) {
    attr->u.ints = sizes;
  } else {
    attr->u.i = sizes[0];
  }
  return GEMEL_OK;
}

static gemel_status take_attrs(struct fold_call *v, const gemel_graph *graph, uint32_t node,
                               gemel_error *error) {
  const struct gemel__attrs *stored =
      gemel__attrs_at(graph->context, gemel__node_at(graph, node)->attrs);
  gemel_status status = GEMEL_OK;
  v->attrs = gemel__arena_alloc(&v->arena, (stored->count + 1) * sizeof *v->attrs);
  if (v->attrs == NULL) {
    return gemel__no_memory(error, "a constant");
  }
  for (size_t k = 0; k < stored->count && status == GEMEL_OK; k++) {
    v->attrs[k] = stored->values[k];
    if ((v->attrs[k].kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_DIM) {
      status = read_dims(v, graph->context, &v->attrs[k], error);
    }
  }
  return status;
}

/* The result's tensor, and views of all. */
static gemel_status take_views(struct fold_call *v, const gemel_graph *graph, uint32_t node,
                               gemel_error *error) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, node, &count);
  const struct gemel__type *type = gemel__type_at(graph->context, gemel__node_type(graph, node, 0));
  int64_t shape[GEMEL_MAX_RANK];
  for (int k = 0; k < type->rank; k++) {
    gemel_dim_is_constant(graph->context, type->dims[k], &shape[k]);
  }
  v->views = gemel__arena_alloc(&v->arena, ((size_t)count + 1) * sizeof *v->views);
  v->result = gemel_tensor_new((gemel_dtype)type->dtype, type->rank, shape, error);
  if (v->views == NULL || v->result == NULL) {
    return gemel__no_memory(error, "a constant");
  }
  for (uint32_t k = 0; k < count; k++) {
    v->views[k] = gemel_tensor_view(constant_at(graph, inputs[k]));
  }
  v->views[count] = gemel_tensor_view(v->result);
  gemel__kernel_call_init(&v->call, v->record, &gemel__host_device, v->attrs, error);
  v->call.n_inputs = count;
  v->call.inputs = v->views;
  v->call.n_outputs = 1;
  v->call.outputs = v->views + count;
  v->call.prepared = v->prepared;
  return GEMEL_OK;
}

/* The result as a copy of a view of the first input. */
static gemel_status run_view(struct fold_call *v, gemel_error *error) {
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], offset = 0;
  gemel_view view = v->views[0], like = v->call.outputs[0];
  GEMEL__TRY(v->record->view == NULL ? GEMEL_DECLINED
                                     : v->record->view(&v->call, shape, strides, &offset));
  view.dtype = like.dtype;
  view.rank = like.rank;
  view.shape = shape;
  view.strides = strides;
  view.data = (char *)view.data + offset;
  gemel_tensor_unref(v->result);
  v->result = gemel_tensor_copy(&view, error);
  return v->result != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

static gemel_status run_kernel(struct fold_call *v, const gemel_kernel *kernel,
                               gemel_error *error) {
  gemel_kernel_call *call = &v->call;
  memset(v->prepared, 0, sizeof v->prepared);
  call->release = NULL;
  gemel_status status = gemel__call_prepare(call, kernel);
  if (status == GEMEL_OK) {
    call->scratch = gemel__alloc(call->scratch_bytes);
    status = call->scratch != NULL ? gemel__call_runner(call, kernel)(call)
                                   : gemel__no_memory(error, "a constant");
    gemel__free(call->scratch, call->scratch_bytes);
  }
  if (call->release != NULL) {
    call->release(v->prepared);
  }
  return status == GEMEL_DECLINED ? status : gemel__told(error, status);
}

static gemel_status run(struct fold_call *v, gemel_context *context, gemel_error *error) {
  gemel_status status = run_view(v, error);
  const gemel_kernel *kernel = gemel__kernels_of(context, &gemel__host_device, v->record);
  for (; status == GEMEL_DECLINED && kernel != NULL && kernel->name != NULL; kernel++) {
    status = run_kernel(v, kernel, error);
  }
  return status;
}

/* The result of NODE, whose inputs are constants. GEMEL_NO_MEMORY; another status: it has none, now
 * or ever. */
static gemel_status compute(const gemel_graph *graph, uint32_t node, gemel_tensor **result) {
  struct fold_call v = {.record = &gemel__node_op(graph, node)->record};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  const struct gemel__attrs *attrs =
      gemel__attrs_at(graph->context, gemel__node_at(graph, node)->attrs);
  gemel_status status = attrs->nesting > 0 || attrs->has_runtime ? GEMEL_DECLINED : GEMEL_OK;
  status = status ? status : take_attrs(&v, graph, node, &error);
  status = status ? status : take_views(&v, graph, node, &error);
  status = status ? status : run(&v, graph->context, &error);
  if (status == GEMEL_OK) {
    *result = gemel_tensor_ref(v.result);
  }
  gemel_tensor_unref(v.result);
  gemel__arena_clear(&v.arena);
  return status;
}

int gemel__fold(gemel_graph *graph, uint32_t node, gemel__ref *value) {
  int64_t given;
  const gemel__node *record = gemel__node_at(graph, node);
  gemel_location where = gemel__node_where(graph, node);
  gemel_tensor *tensor;
  if (record->n_outputs != 1 || !all_constant(graph, node, &given) ||
      !has_at_most(graph, node, given)) {
    return 0;
  }
  gemel_status status = compute(graph, node, &tensor);
  if (status != GEMEL_OK) { /* what fails at run time may: it is not for us to say when */
    return status == GEMEL_NO_MEMORY ? -1 : 0;
  }
  gemel_value constant = gemel_constant_at(graph, tensor, where);
  gemel_tensor_unref(tensor);
  value->node = constant.node;
  value->output = 0;
  return gemel_is_null(constant) ? -1 : 1;
}
