/* SPDX-License-Identifier: MIT
 *
 * One operation as its kernels see it: types, attributes with their dims evaluated, values. And the
 * layouts in which its operands are given.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "tiers/kernel.h"

/* ---- From an instance ---- */

/* Evaluates the dims in an attribute: kernels see integers. */
static gemel_status evaluate_attr(gemel_context *context, gemel__kernel_case *c, gemel_attr *a) {
  size_t k, n = a->kind & GEMEL_ATTR_LIST ? a->count : 1;
  const gemel_dim *dims = a->kind & GEMEL_ATTR_LIST ? a->u.dims : &a->u.dim;
  int64_t *sizes = c->sizes + c->used;
  if ((a->kind & ~GEMEL_ATTR_LIST) != GEMEL_ATTR_DIM) {
    return GEMEL_OK;
  }
  if (c->used + n > sizeof c->sizes / sizeof *c->sizes) {
    return GEMEL_DECLINED;
  }
  for (k = 0; k < n; k++) {
    if (!gemel_dim_is_constant(context, dims[k], &sizes[k])) {
      return GEMEL_DECLINED; /* a size known at run time only */
    }
  }
  c->used += n;
  if (a->kind & GEMEL_ATTR_LIST) {
    a->kind = GEMEL_ATTR_LIST | GEMEL_ATTR_INT;
    a->u.ints = sizes;
  } else {
    a->kind = GEMEL_ATTR_INT;
    a->u.i = sizes[0];
  }
  return GEMEL_OK;
}

static gemel_status take_attrs(gemel__kernel_case *c, gemel_context *context,
                               const struct gemel__attrs *attrs) {
  if (attrs->count > sizeof c->attrs / sizeof *c->attrs) {
    return GEMEL_DECLINED;
  }
  c->n_attrs = attrs->count;
  for (size_t k = 0; k < attrs->count; k++) {
    c->attrs[k] = attrs->values[k];
    GEMEL__TRY(evaluate_attr(context, c, &c->attrs[k]));
  }
  return GEMEL_OK;
}

static gemel_status take_outputs(gemel__kernel_case *c, const gemel_graph *graph) {
  for (size_t k = 0; k < c->n_out; k++) {
    if (gemel__leaf_of_output(graph, k, &c->out[k]) != GEMEL_OK) {
      return GEMEL_DECLINED;
    }
    c->out_at[k] = c->out_bytes;
    c->out_bytes += (c->out[k].count * gemel_dtype_size(c->out[k].dtype) + 63) / 64 * 64;
  }
  return GEMEL_OK;
}

gemel_status gemel__kernel_case_init(gemel__kernel_case *c, const gemel__instance *instance,
                                     const gemel_kernel *kernel, gemel_tensor *const *values) {
  gemel_graph *graph = instance->graph;
  gemel_context *context = gemel_graph_context(graph);
  uint32_t node = gemel_graph_output(graph, 0).node;
  memset(c, 0, sizeof *c);
  c->kernel = kernel;
  c->record = &gemel__node_op(graph, node)->record;
  c->operation = c->record->name;
  c->n_in = instance->n_leaves;
  c->n_out = gemel_graph_output_count(graph);
  if (c->n_in > GEMEL_SAMPLE_MAX_INPUTS || c->n_out > GEMEL_SAMPLE_MAX_INPUTS) {
    return GEMEL_DECLINED;
  }
  for (size_t k = 0; k < c->n_in; k++) {
    c->in[k] = instance->leaves[k];
    c->values[k] = values != NULL ? gemel_tensor_data(values[k]) : NULL;
  }
  GEMEL__TRY(take_attrs(c, context, gemel__attrs_at(context, gemel__node_at(graph, node)->attrs)));
  return take_outputs(c, graph);
}

/* ---- Results ---- */

gemel_status gemel__kernel_case_tensors(const gemel__kernel_case *c, char *row,
                                        gemel_tensor **outputs, gemel_error *error) {
  size_t k;
  for (k = 0; k < c->n_out; k++) {
    outputs[k] = gemel_tensor_wrap(c->out[k].dtype, c->out[k].rank, c->out[k].shape, NULL,
                                   row + c->out_at[k], NULL, NULL, error);
    if (outputs[k] == NULL) {
      gemel__tensors_release(k, outputs);
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}

static int same_element(gemel_dtype dtype, const char *a, const char *b, size_t size) {
  return memcmp(a, b, size) == 0 || (gemel__is_float(dtype) && isnan(gemel__decode(dtype, a)) &&
                                     isnan(gemel__decode(dtype, b)));
}

int gemel__kernel_case_same(const gemel__kernel_case *c, const char *a, const char *b,
                            size_t *output, size_t *element) {
  size_t k, i;
  for (k = 0; k < c->n_out; k++) {
    size_t size = gemel_dtype_size(c->out[k].dtype), at = c->out_at[k];
    if (memcmp(a + at, b + at, c->out[k].count * size) == 0) {
      continue;
    }
    for (i = 0; i < c->out[k].count; i++, at += size) {
      if (!same_element(c->out[k].dtype, a + at, b + at, size)) {
        *output = k;
        *element = i;
        return 0;
      }
    }
  }
  return 1;
}

/* ---- Layouts ---- */

/* 1 if the values of input K are the same for all indices of AXIS. */
static int repeats(const gemel__kernel_case *c, size_t k, int axis) {
  const gemel__leaf *leaf = &c->in[k];
  const char *data = c->values[k];
  size_t inner = gemel_dtype_size(leaf->dtype), outer = 1, o, j;
  for (int i = 0; i < leaf->rank; i++) {
    *(i < axis ? &outer : &inner) *= i == axis ? 1 : (size_t)leaf->shape[i];
  }
  for (o = 0; o < outer && data != NULL; o++) {
    const char *first = data + o * inner * (size_t)leaf->shape[axis];
    for (j = 1; j < (size_t)leaf->shape[axis]; j++) {
      if (memcmp(first, first + j * inner, inner) != 0) {
        return 0;
      }
    }
  }
  return data != NULL;
}

/* ORDER = the axes, from the smallest stride to the largest. */
static void order_axes(int rank, gemel__lie lie, gemel__random *random, size_t *order) {
  int by_columns = lie == GEMEL__LIE_PERMUTED || lie == GEMEL__LIE_COLUMNS;
  if (lie == GEMEL__LIE_SCATTERED) {
    gemel__random_permutation(random, (size_t)rank, order);
    return;
  }
  for (int i = 0; i < rank; i++) {
    order[i] = (size_t)(by_columns ? i : rank - 1 - i);
  }
}

void gemel__kernel_result_strides(const gemel__leaf *leaf, int channels_last, int64_t *strides) {
  int64_t step = (int64_t)gemel_dtype_size(leaf->dtype);
  int apart = channels_last && leaf->rank > 2;
  if (apart) {
    strides[1] = step;
    step *= leaf->shape[1] > 0 ? leaf->shape[1] : 1;
  }
  for (int k = leaf->rank; k-- > 0;) {
    if (!apart || k != 1) {
      strides[k] = step;
      step *= leaf->shape[k] > 0 ? leaf->shape[k] : 1;
    }
  }
}

size_t gemel__kernel_in_place(const gemel__kernel_case *c) {
  size_t k = c->record->overwrites > 0 ? (size_t)c->record->overwrites : 0;
  const gemel__leaf *in = &c->in[k > 0 ? k - 1 : 0], *out = &c->out[0];
  int alike = c->record->view == NULL && k > 0 && k <= c->n_in && in->dtype == out->dtype &&
              in->rank == out->rank && in->count > 0;
  for (int axis = 0; alike && axis < in->rank; axis++) {
    alike = in->shape[axis] == out->shape[axis];
  }
  return alike ? k : 0;
}

/* How many elements are left free between neighbours along an axis, the I-th from the smallest
 * stride. */
static size_t gap(gemel__lie lie, int i, gemel__random *random) {
  if (lie == GEMEL__LIE_SCATTERED) {
    return (size_t)gemel__random_below(random, 3);
  }
  return (lie == GEMEL__LIE_ROWS || lie == GEMEL__LIE_COLUMNS) && i == 1
             ? 1 + (size_t)gemel__random_below(random, 7)
             : 0;
}

/* Strides for the layouts that aren't built axis by axis; 1 if LIE is one of these. */
static int whole_strides(const gemel__kernel_case *c, size_t k, gemel__lie lie, int64_t *strides) {
  gemel__sharing sharing;
  if (lie == GEMEL__LIE_CHANNELS) {
    gemel__kernel_result_strides(&c->in[k], 1, strides);
    return 1;
  }
  if (lie != GEMEL__LIE_SHARED || !gemel__kernel_sharing(c, &sharing) || sharing.with != k ||
      !sharing.by_columns) {
    return 0;
  }
  int64_t step = (int64_t)gemel_dtype_size(c->in[k].dtype);
  for (int axis = 0; axis < c->in[k].rank; axis++) {
    strides[axis] = step;
    step *= c->in[k].shape[axis];
  }
  return 1;
}

size_t gemel__kernel_strides(const gemel__kernel_case *c, size_t k, gemel__lie lie, uint64_t seed,
                             int64_t *strides, size_t *offset) {
  const gemel__leaf *leaf = &c->in[k];
  size_t size = gemel_dtype_size(leaf->dtype), span = size, order[GEMEL_MAX_RANK];
  gemel__random random;
  int i;
  *offset = 0;
  if (whole_strides(c, k, lie, strides)) {
    return leaf->count * size;
  }
  gemel__random_split(&random, seed, k);
  order_axes(leaf->rank, lie, &random, order);
  for (i = 0; i < leaf->rank; i++) {
    size_t axis = order[i], length = (size_t)leaf->shape[axis];
    size_t step = span + size * gap(lie, i, &random);
    int backwards = lie == GEMEL__LIE_BACKWARDS ||
                    (lie == GEMEL__LIE_SCATTERED && gemel__random_chance(&random, 1, 3));
    strides[axis] = backwards ? -(int64_t)step : (int64_t)step;
    if (lie == GEMEL__LIE_REPEATED && length > 1 && repeats(c, k, (int)axis)) {
      strides[axis] = 0;
    } else if (length > 1) {
      *offset += backwards ? step * (length - 1) : 0;
      span = step * (length - 1) + span;
    }
  }
  return leaf->count > 0 ? span : 0;
}

/* 1 if the operation has the hook channels_last, and some input is an image with several channels.
 */
static int has_channels(const gemel__kernel_case *c) {
  int has = 0;
  for (size_t k = 0; k < c->n_in; k++) {
    const gemel__leaf *leaf = &c->in[k];
    has |= leaf->rank > 2 && leaf->shape[1] > 1 && leaf->count > (size_t)leaf->shape[1];
  }
  return has && c->record->channels_last != NULL;
}

int gemel__kernel_lie_differs(const gemel__kernel_case *c, gemel__lie lie) {
  gemel__sharing sharing;
  if (lie == GEMEL__LIE_CHANNELS) {
    return has_channels(c);
  }
  if (lie == GEMEL__LIE_SHARED || lie == GEMEL__LIE_IN_PLACE) {
    return lie == GEMEL__LIE_SHARED ? gemel__kernel_sharing(c, &sharing)
                                    : gemel__kernel_in_place(c) > 0;
  }
  for (size_t k = 0; k < c->n_in; k++) {
    for (int i = 0; i < c->in[k].rank; i++) {
      if (c->in[k].shape[i] > 1 && (lie != GEMEL__LIE_REPEATED || repeats(c, k, i)) &&
          (c->in[k].rank > 1 ||
           (lie != GEMEL__LIE_PERMUTED && lie != GEMEL__LIE_ROWS && lie != GEMEL__LIE_COLUMNS))) {
        return 1;
      }
    }
  }
  return lie == GEMEL__LIE_DENSE;
}

/* ---- In words ---- */

static size_t describe_view(const gemel__leaf *leaf, const char *name, const int64_t *strides,
                            char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "; %s: %s[", name, gemel_dtype_name(leaf->dtype));
  int i;
  for (i = 0; i < leaf->rank && used < bytes; i++) {
    used += (size_t)snprintf(text + used, bytes - used, i > 0 ? ", %lld" : "%lld",
                             (long long)leaf->shape[i]);
  }
  used += used < bytes ? (size_t)snprintf(text + used, bytes - used, "]") : 0;
  for (i = 0; i < leaf->rank && strides != NULL && used < bytes; i++) {
    used += (size_t)snprintf(text + used, bytes - used, i > 0 ? " %lld" : " strides %lld",
                             (long long)strides[i]);
  }
  return used < bytes ? used : bytes - 1;
}

/* Appends attribute A, a dim in which is evaluated. */
static size_t describe_attr(const gemel_attr *a, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "; %s = ", a->name);
  char *at = text + (used < bytes ? used : bytes);
  size_t left = used < bytes ? bytes - used : 0;
  switch (a->kind) {
  case GEMEL_ATTR_NONE:
    return used + (size_t)snprintf(at, left, "none");
  case GEMEL_ATTR_INT:
    return used + (size_t)snprintf(at, left, "%lld", (long long)a->u.i);
  case GEMEL_ATTR_FLOAT:
    return used + (size_t)snprintf(at, left, "%g", a->u.f);
  case GEMEL_ATTR_DTYPE:
    return used + (size_t)snprintf(at, left, "%s", gemel_dtype_name(a->u.dtype));
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
    used += (size_t)snprintf(at, left, "[");
    for (size_t k = 0; k < a->count && used < bytes; k++) {
      used += (size_t)snprintf(text + used, bytes - used, k > 0 ? ", %lld" : "%lld",
                               (long long)a->u.ints[k]);
    }
    return used < bytes ? used + (size_t)snprintf(text + used, bytes - used, "]") : used;
  default:
    return used + (size_t)snprintf(at, left, "...");
  }
}

void gemel__kernel_case_text(const gemel__kernel_case *c, char *text, size_t bytes) {
  int64_t strides[GEMEL_MAX_RANK];
  char name[24];
  size_t used = 0, offset;
  text[0] = '\0';
  for (size_t k = 0; k < c->n_in && used < bytes; k++) {
    gemel__kernel_strides(c, k, GEMEL__LIE_DENSE, 0, strides, &offset);
    snprintf(name, sizeof name, "x%zu", k);
    used += describe_view(&c->in[k], name, strides, text + used, bytes - used);
  }
  for (size_t k = 0; k < c->n_attrs && used < bytes; k++) {
    used += describe_attr(&c->attrs[k], text + used, bytes - used);
  }
  if (used > 2) {
    memmove(text, text + 2, strlen(text + 2) + 1); /* without the first "; " */
  }
}

void gemel__kernel_describe(const gemel__kernel_case *c, const gemel__kernel_variant *v,
                            uint64_t seed, char *text, size_t bytes) {
  static const char *const places[] = {"at the end of a page", "at the start of a page",
                                       "one element beyond a multiple of 64 bytes"};
  int64_t strides[GEMEL_MAX_RANK];
  char name[24];
  size_t used, offset, k;
  used = (size_t)snprintf(text, bytes, "%s on %d thread%s%s; each operand %s", c->operation,
                          v->threads, v->threads > 1 ? "s" : "",
                          v->deterministic ? ", deterministic" : "", places[v->at]);
  for (k = 0; k < c->n_in && used < bytes; k++) {
    gemel__kernel_strides(c, k, v->lie, seed, strides, &offset);
    snprintf(name, sizeof name, "x%zu", k);
    used += describe_view(&c->in[k], name, strides, text + used, bytes - used);
  }
  for (k = 0; k < c->n_out && used < bytes; k++) {
    snprintf(name, sizeof name, "y%zu", k);
    used += describe_view(&c->out[k], name, NULL, text + used, bytes - used);
  }
}
