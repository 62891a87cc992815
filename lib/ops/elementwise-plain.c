/* SPDX-License-Identifier: MIT
 *
 * The plain kernel of scalar operations: any strides, any dtype, one row of the last axis after the
 * other in short blocks. A block's operands are gathered into contiguous buffers (half types as
 * f32), the contiguous kernel is run on them, and the result is stored. The engine for chains of
 * such operations (lib/run) doesn't come through here.
 */
#include <string.h>
#include "core/dtype.h"
#include "ops/elementwise.h"

enum { BLOCK = 256 };

static int is_half(gemel_dtype dtype) {
  return dtype == GEMEL_F16 || dtype == GEMEL_BF16;
}

/* One operand on its way: POINTER walks over rows, strides are 0 on broadcast axes. */
typedef struct plain_operand {
  gemel_dtype dtype;
  int convert; /* a half type that the kernel wants as f32 */
  size_t bytes;
  const char *pointer;
  int64_t strides[GEMEL_MAX_RANK];
  uint64_t raw[BLOCK], wide[BLOCK];
} plain_operand;

typedef struct loop {
  gemel__scalar_kernel kernel;
  size_t n_inputs;
  int rank;
  int64_t shape[GEMEL_MAX_RANK];
  plain_operand inputs[3];
  gemel_dtype out_dtype;
  int out_convert;
  char *out;
} loop;

static gemel_dtype computed_in(gemel_dtype dtype) {
  return is_half(dtype) ? GEMEL_F32 : dtype;
}

static void gather(size_t n, void *out, const char *in, int64_t stride, size_t bytes) {
  char *to = out;
  if (stride == (int64_t)bytes) {
    memcpy(to, in, n * bytes);
    return;
  }
  for (size_t k = 0; k < n; k++) {
    memcpy(to + k * bytes, in + (int64_t)k * stride, bytes);
  }
}

/* Operand X of the block of N elements from element FROM of the current row. */
static const void *load(plain_operand *x, int64_t stride, int64_t from, size_t n) {
  gather(n, x->raw, x->pointer + from * stride, stride, x->bytes);
  if (!x->convert) {
    return x->raw;
  }
  gemel__half_to_f32(x->dtype, n, (float *)x->wide, (const uint16_t *)x->raw);
  return x->wide;
}

static void run_block(loop *l, int64_t from, size_t n) {
  const void *in[3] = {NULL, NULL, NULL};
  float wide[BLOCK];
  size_t bytes = gemel_dtype_size(l->out_dtype), k;
  for (k = 0; k < l->n_inputs; k++) {
    int64_t stride = l->rank > 0 ? l->inputs[k].strides[l->rank - 1] : 0;
    in[k] = load(&l->inputs[k], stride, from, n);
  }
  if (l->out_convert) {
    l->kernel(n, wide, in);
    gemel__half_from_f32(l->out_dtype, n, (uint16_t *)l->out, wide);
  } else {
    l->kernel(n, l->out, in);
  }
  l->out += n * bytes;
}

static void run_row(loop *l) {
  int64_t size = l->rank > 0 ? l->shape[l->rank - 1] : 1, from;
  for (from = 0; from < size; from += BLOCK) {
    run_block(l, from, (size_t)(size - from < BLOCK ? size - from : BLOCK));
  }
}

/* Steps to the next row; 0 after the last. */
static int next_row(loop *l, int64_t *index) {
  for (int axis = l->rank - 2; axis >= 0; axis--) {
    int back = ++index[axis] == l->shape[axis];
    for (size_t k = 0; k < l->n_inputs; k++) {
      l->inputs[k].pointer += l->inputs[k].strides[axis] * (back ? 1 - l->shape[axis] : 1);
    }
    if (!back) {
      return 1;
    }
    index[axis] = 0;
  }
  return 0;
}

/* Strides of VIEW over the result's axes. */
static void set_operand(plain_operand *x, const gemel_view *view, const gemel_view *out,
                        int convert) {
  int offset = out->rank - view->rank, axis;
  x->dtype = view->dtype;
  x->bytes = gemel_dtype_size(view->dtype);
  x->convert = convert;
  x->pointer = view->data;
  for (axis = 0; axis < out->rank; axis++) {
    int absent = axis < offset || view->shape[axis - offset] != out->shape[axis];
    x->strides[axis] = absent ? 0 : view->strides[axis - offset];
  }
}

static gemel_status run_plain(const gemel_kernel_call *call) {
  const gemel__scalar_row *row = call->data;
  const gemel_view *out = &call->outputs[0];
  int native = row->code == GEMEL__TYPE_CAST || row->code == GEMEL__TYPE_SELECT;
  gemel_dtype given = call->inputs[call->n_inputs - 1].dtype;
  int64_t index[GEMEL_MAX_RANK] = {0};
  loop l;
  l.kernel = native ? gemel__scalar_kernel_for(row, given, out->dtype)
                    : gemel__scalar_kernel_for(row, computed_in(given), computed_in(out->dtype));
  if (l.kernel == NULL) {
    return gemel__fail(call->error, GEMEL_INTERNAL, "%s has no kernel for %s", row->name,
                       gemel_dtype_name(given));
  }
  l.n_inputs = call->n_inputs;
  l.rank = out->rank;
  l.out_dtype = out->dtype;
  l.out_convert = !native && is_half(out->dtype);
  l.out = out->data;
  for (int axis = 0; axis < out->rank; axis++) {
    l.shape[axis] = out->shape[axis];
    if (out->shape[axis] == 0) {
      return GEMEL_OK;
    }
  }
  for (size_t k = 0; k < call->n_inputs; k++) {
    set_operand(&l.inputs[k], &call->inputs[k], out, !native && is_half(call->inputs[k].dtype));
  }
  do {
    run_row(&l);
  } while (next_row(&l, index));
  return GEMEL_OK;
}

const gemel_kernel gemel__scalar_kernels[] = {{"plain", NULL, run_plain}, {NULL, NULL, NULL}};
