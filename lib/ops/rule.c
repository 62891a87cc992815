/* SPDX-License-Identifier: MIT
 *
 * Reading attributes, checking operands, and small pieces of gradients, for tensor operations of
 * any family. Nothing here knows any one operation.
 */
#include "ops/rule.h"

#include <stdio.h>
#include <string.h>
#include <gemel/ops.h>
#include "core/tensor.h"
#include "core/value.h"
#include "ops/facts.h"

/* ---- Type rules ---- */

gemel_status gemel__rule_result(gemel_infer *call, gemel_dtype dtype, int rank,
                                const gemel_dim *dims) {
  int64_t size;
  if (rank > GEMEL_MAX_RANK) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "a result of rank %d; at most %d is supported",
                            rank, GEMEL_MAX_RANK);
  }
  for (int k = 0; k < rank; k++) {
    if (gemel_dim_is_none(dims[k])) {
      return gemel__rule_no_size(call, "the size of an axis");
    }
    if (gemel_dim_is_constant(call->context, dims[k], &size) && size < 0) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "axis %d of the result has size %lld", k,
                              (long long)size);
    }
  }
  return gemel__infer_result(call, dtype, rank, dims);
}

gemel_status gemel__rule_fail(const gemel_infer *call, gemel_status status, const char *format,
                              ...) {
  char text[sizeof call->error->text / 2];
  char types[sizeof call->error->text / 2 - 16];
  va_list args;
  if (call->error == NULL) {
    return status;
  }
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (call->n_inputs == 0) {
    return gemel__fail(call->error, status, "%s", text);
  }
  gemel__format_types(call->context, call->n_inputs, call->inputs, types, sizeof types);
  return gemel__fail(call->error, status, "%s; inputs %s", text, types);
}

gemel_status gemel__rule_no_size(const gemel_infer *call, const char *what) {
  return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s exceeds 64 bits", what);
}

size_t gemel__attr_count(const gemel_attr *attr) {
  if (attr->kind == GEMEL_ATTR_NONE) {
    return 0;
  }
  return attr->kind & GEMEL_ATTR_LIST ? attr->count : 1;
}

gemel_status gemel__rule_dims(const gemel_infer *call, const gemel_attr *attr, gemel_dim *dims) {
  size_t count = gemel__attr_count(attr);
  int list = attr->kind & GEMEL_ATTR_LIST;
  if (count > GEMEL_MAX_RANK) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s has %zu entries; at most %d are supported",
                            attr->name, count, GEMEL_MAX_RANK);
  }
  for (size_t k = 0; k < count; k++) {
    if ((attr->kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_INT) {
      dims[k] = gemel_dim_constant(call->context, gemel__attr_int_at(attr, k));
    } else {
      dims[k] = gemel__infer_resolve(call, list ? attr->u.dims[k] : attr->u.dim);
    }
    if (gemel_dim_is_none(dims[k])) {
      return gemel__rule_no_size(call, "a size");
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__rule_sizes(const gemel_infer *call, size_t first) {
  for (size_t k = first; k < call->n_inputs; k++) {
    gemel_kind kind = gemel_dtype_kind(gemel__rule_dtype(call, k));
    if ((kind != GEMEL_KIND_SIGNED && kind != GEMEL_KIND_UNSIGNED) ||
        gemel_type_rank(call->context, call->inputs[k]) != 0) {
      return gemel__rule_fail(call, GEMEL_BAD_TYPE, "input %zu is a size and no integer scalar", k);
    }
    if (call->input_values != NULL && !gemel__infer_reads(call, k)) {
      return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT,
                              "input %zu is one too many: no attribute has it as a size", k);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__rule_same_dtype(const gemel_infer *call, size_t a, size_t b) {
  if (gemel__rule_dtype(call, a) != gemel__rule_dtype(call, b)) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "dtypes %s and %s differ",
                            gemel_dtype_name(gemel__rule_dtype(call, a)),
                            gemel_dtype_name(gemel__rule_dtype(call, b)));
  }
  return GEMEL_OK;
}

gemel_status gemel__rule_axes(const gemel_infer *call, const gemel_attr *attr, int rank, int *axes,
                              unsigned char *used) {
  for (size_t k = 0; k < gemel__attr_count(attr); k++) {
    int64_t given = gemel__attr_int_at(attr, k);
    int axis = gemel__axis(given, rank);
    if (axis < 0) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s: axis %lld is out of range for rank %d",
                              attr->name, (long long)given, rank);
    }
    if (used[axis]++) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s: axis %d is given twice", attr->name,
                              axis);
    }
    axes[k] = axis;
  }
  return GEMEL_OK;
}

/* ---- Normal forms ---- */

int64_t *gemel__normal_ints(gemel_normalize *call, size_t k, size_t count) {
  int64_t *values = call->storage + call->storage_used;
  if (count > GEMEL_NORMALIZE_STORAGE - call->storage_used) {
    return NULL;
  }
  call->storage_used += count;
  call->attrs[k] = gemel_attr_ints(call->attrs[k].name, count, values);
  return values;
}

void gemel__normal_axis(gemel_normalize *call, size_t k) {
  int axis = call->n_inputs == 0
                 ? -1
                 : gemel__axis(call->attrs[k].u.i, gemel_type_rank(call->context, call->inputs[0]));
  if (axis >= 0) {
    call->attrs[k].u.i = axis;
  }
}

static int all_axes_exist(const gemel_attr *attr, int rank) {
  for (size_t k = 0; k < attr->count; k++) {
    if (gemel__axis(attr->u.ints[k], rank) < 0) {
      return 0;
    }
  }
  return 1;
}

void gemel__normal_axes(gemel_normalize *call, size_t k, size_t input, int sorted) {
  int rank = gemel_type_rank(call->context, call->inputs[input]);
  gemel_attr given = call->attrs[k];
  int64_t *axes;
  if (given.kind == GEMEL_ATTR_NONE || given.count > (size_t)rank ||
      !all_axes_exist(&given, rank) || (axes = gemel__normal_ints(call, k, given.count)) == NULL) {
    return;
  }
  for (size_t i = 0; i < given.count; i++) {
    int64_t axis = gemel__axis(given.u.ints[i], rank);
    size_t j = i;
    for (; sorted && j > 0 && axes[j - 1] > axis; j--) {
      axes[j] = axes[j - 1];
    }
    axes[j] = axis;
  }
}

void gemel__normal_filled(gemel_normalize *call, size_t k, int64_t value) {
  int rank = gemel_type_rank(call->context, call->inputs[0]);
  int64_t *values;
  if (call->attrs[k].kind == GEMEL_ATTR_NONE &&
      (values = gemel__normal_ints(call, k, (size_t)rank)) != NULL) {
    for (int axis = 0; axis < rank; axis++) {
      values[axis] = value;
    }
  }
}

/* ---- Derivatives ---- */

gemel_status gemel__grad_done(gemel_derive *call) {
  for (size_t k = 0; k < call->n_inputs; k++) {
    call->d_inputs[k] = gemel__unbroadcast(call->d_inputs[k], call->inputs[k], call->where);
  }
  return gemel_graph_error(call->graph)->status;
}

gemel_status gemel__jvp_done(gemel_derive *call) {
  for (size_t k = 0; k < call->n_outputs; k++) {
    call->d_outputs[k] = gemel__unbroadcast(call->d_outputs[k], call->outputs[k], call->where);
  }
  return gemel_graph_error(call->graph)->status;
}

const gemel_dim *gemel__value_dims(gemel_value value, int *rank) {
  gemel_context *context = gemel_graph_context(value.graph);
  gemel_type type = gemel_value_type(value);
  *rank = gemel_type_rank(context, type);
  return gemel_type_dims(context, type);
}

static gemel_dim input_atom_to_dim(void *user, const gemel__atom *atom, gemel_dim self) {
  const gemel_derive *call = user;
  if (atom->kind != GEMEL__ATOM_INPUT || atom->a >= call->n_inputs) {
    return self;
  }
  return gemel_dim_of(call->inputs[atom->a]);
}

size_t gemel__derive_dims(const gemel_derive *call, const gemel_attr *attr, gemel_dim *dims) {
  gemel_context *context = gemel_graph_context(call->graph);
  size_t count = gemel__attr_count(attr);
  int list = attr->kind & GEMEL_ATTR_LIST;
  for (size_t k = 0; k < count && k < GEMEL_MAX_RANK; k++) {
    if ((attr->kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_INT) {
      dims[k] = gemel_dim_constant(context, gemel__attr_int_at(attr, k));
    } else {
      dims[k] = gemel__dim_substitute(context, list ? attr->u.dims[k] : attr->u.dim,
                                      input_atom_to_dim, (void *)call);
    }
  }
  return count;
}

gemel_value gemel__or_zeros(gemel_value cotangent, gemel_value like, gemel_location where) {
  return gemel_is_null(cotangent) ? gemel__filled_like(like, 0, where) : cotangent;
}

gemel_value gemel__add_or(gemel_value x, gemel_value y, gemel_location where) {
  if (gemel_is_null(x)) {
    return y;
  }
  return gemel_is_null(y) ? x : gemel_add_at(x, y, where);
}

gemel_status gemel__grad_nothing(gemel_derive *call) {
  for (size_t k = 0; k < call->n_inputs; k++) {
    call->d_inputs[k] = gemel__no_value;
  }
  return GEMEL_OK;
}

gemel_status gemel__jvp_nothing(gemel_derive *call) {
  for (size_t k = 0; k < call->n_outputs; k++) {
    call->d_outputs[k] = gemel__no_value;
  }
  return GEMEL_OK;
}

/* ---- Kernels ---- */

int64_t gemel__view_elements(const gemel_view *view) {
  int64_t count = 1;
  for (int k = 0; k < view->rank; k++) {
    count *= view->shape[k];
  }
  return count;
}

int gemel__view_channels_last(const gemel_view *view) {
  return gemel__is_channels_last((size_t)gemel__view_item(view), view->rank, view->shape,
                                 view->strides);
}

int gemel__first_channels_last(const gemel_kernel_call *call) {
  return gemel__view_channels_last(&call->inputs[0]);
}

void gemel__cost_move(const gemel_kernel_call *call, double *flops, double *bytes) {
  double moved = 0;
  for (size_t k = 0; k < call->n_outputs; k++) {
    moved += (double)gemel__view_elements(&call->outputs[k]) *
             (double)gemel__view_item(&call->outputs[k]);
  }
  *flops = 0;
  *bytes = 2 * moved;
}

/* ---- Facts ---- */

unsigned gemel__facts_first_two(const gemel__fact_call *call) {
  return call->of[0] & call->of[1];
}

unsigned gemel__facts_nonnegative(const gemel__fact_call *call) {
  (void)call;
  return GEMEL__NONNEGATIVE;
}
