/* SPDX-License-Identifier: MIT
 *
 * A program's operation without a reference. Nothing is known of it but that its results are a
 * function of its attributes and operands:
 *
 * F: a random function of them, the same for both sides of a pair. An elementwise operation has one
 * for each element; any other depends on all elements of all operands.
 *
 * O: its own kernel, run in f64 if it takes that. Its rounding is unknown, so a result is an
 * interval around what it gave. B: its kernel in the graph's dtype. Its result for exact operands
 * is taken for exact, as the shipped code runs the same kernel; for operands with an error, some
 * numbers within it are tried. S: its kernel on the IEEE values. Dual numbers: no derivative is
 * known, a gap.
 *
 * So two graphs that agree do so for any function in its place (F), and graphs that differ do so
 * with the kernel's results. Whether the kernel is right isn't asked.
 */
#include "reference/common.h"
#include "reference/own.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/status.h"
#include "core/dtype.h"
#include "core/graph.h"
#include <gemel/function.h>

/* How far a kernel may be off, relative to its result: in f64, f32 and the half types. */
static double rounding_of(gemel_dtype dtype) {
  return dtype == GEMEL_F64 ? 0x1p-36 : dtype == GEMEL_F32 ? 0x1p-14 : 0x1p-5;
}

/* One node, as a graph that can be compiled. */
struct node {
  gemel__rcall *call;
  gemel_graph *graph;
  gemel_function *function;
  gemel_tensor **in, **out; /* n_inputs, max_outputs */
  gemel_attr *attrs;
  gemel_dim *dims; /* for the lists in ATTRS */
  size_t n_attrs, n_dims;
  int widened; /* 1: floats are f64 */
};

/* ---- The node as a graph ---- */

static size_t count_attrs(const gemel_operation *op) {
  size_t n = 0;
  while (op->attrs != NULL && op->attrs[n].name != NULL) {
    n++;
  }
  return n;
}

/* Takes the attributes: integers become dims where the schema has dims, and absent ones are left
 * out. */
static gemel_status take_attrs(struct node *v) {
  const gemel__rcall *call = v->call;
  const gemel_attr_spec *schema = call->operation->attrs;
  size_t n = count_attrs(call->operation), k, i, used = 0;
  for (k = 0; k < n; k++) {
    v->n_dims += call->attrs[k].kind & GEMEL_ATTR_LIST ? call->attrs[k].count : 0;
  }
  v->n_attrs = n;
  v->attrs = gemel__alloc_array(n, sizeof *v->attrs);
  v->dims = gemel__alloc_array(v->n_dims, sizeof *v->dims);
  if (v->attrs == NULL || v->dims == NULL) {
    return gemel__no_memory(call->error, "attributes");
  }
  for (k = 0, n = 0; k < v->n_attrs; k++) {
    gemel_attr a = call->attrs[k];
    a.name = schema[k].name;
    if (a.kind == GEMEL_ATTR_INT && schema[k].kind == GEMEL_ATTR_DIM) {
      a = gemel_attr_dim(a.name, gemel_dim_constant(call->context, a.u.i));
    } else if (a.kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT) &&
               schema[k].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM)) {
      gemel_dim *list = v->dims + used;
      for (i = 0; i < a.count; i++) {
        list[i] = gemel_dim_constant(call->context, a.u.ints[i]);
      }
      used += a.count;
      a = gemel_attr_dims(a.name, a.count, list);
    }
    if (a.kind != GEMEL_ATTR_NONE) {
      v->attrs[n++] = a;
    }
  }
  return GEMEL_OK;
}

/* How many operands the program gave; sizes in attributes are appended behind them. */
static size_t given(const gemel__rcall *call) {
  int most = call->operation->max_inputs;
  return most >= 0 && call->n_inputs > (size_t)most ? (size_t)most : call->n_inputs;
}

static gemel_dtype dtype_of(const struct node *v, gemel_dtype dtype) {
  return v->widened && gemel__is_float(dtype) ? GEMEL_F64 : dtype;
}

static gemel_status build(struct node *v, gemel_error *error) {
  gemel__rcall *call = v->call;
  size_t n = given(call), k;
  gemel_value *inputs = gemel__alloc_array(n, sizeof *inputs), result;
  char label[32];
  gemel_graph_unref(v->graph);
  v->graph = gemel_graph_new(call->context, error);
  if (inputs == NULL || v->graph == NULL) {
    gemel__free(inputs, n * sizeof *inputs);
    return gemel__no_memory(error, "an operation");
  }
  for (k = 0; k < n; k++) {
    gemel_type type;
    const gemel__rtensor *t = call->inputs[k];
    snprintf(label, sizeof label, "x%zu", k);
    type = gemel_type_of_shape(call->context, dtype_of(v, t->dtype), t->rank, t->shape);
    if (gemel_type_is_none(type)) {
      gemel__free(inputs, n * sizeof *inputs);
      return gemel__no_memory(error, "a type");
    }
    inputs[k] = gemel_input(v->graph, label, type);
  }
  for (k = 0; k < v->n_attrs && v->attrs[k].name != NULL; k++) {
  }
  result = gemel_apply(v->graph, call->operation->name, n, inputs, k, v->attrs);
  for (k = 0; k < call->max_outputs; k++) {
    snprintf(label, sizeof label, "y%zu", k);
    gemel_output(gemel_value_output(result, (uint32_t)k), label);
  }
  gemel__free(inputs, n * sizeof *inputs);
  return gemel__graph_status(v->graph, error);
}

static gemel_status node_init(struct node *v, gemel__rcall *call) {
  memset(v, 0, sizeof *v);
  v->call = call;
  v->in = gemel__alloc_array(call->n_inputs, sizeof *v->in);
  v->out = gemel__alloc_array(call->max_outputs, sizeof *v->out);
  if (v->in == NULL || v->out == NULL) {
    return gemel__no_memory(call->error, "an operation");
  }
  GEMEL__TRY(take_attrs(v));
  return build(v, call->error);
}

static void release(size_t n, gemel_tensor **tensors) {
  for (size_t k = 0; k < n && tensors != NULL; k++) {
    gemel_tensor_unref(tensors[k]);
    tensors[k] = NULL;
  }
}

static void node_clear(struct node *v) {
  release(v->call->n_inputs, v->in);
  release(v->call->max_outputs, v->out);
  gemel_function_free(v->function);
  gemel_graph_unref(v->graph);
  gemel__free(v->in, v->call->n_inputs * sizeof *v->in);
  gemel__free(v->out, v->call->max_outputs * sizeof *v->out);
  gemel__free(v->attrs, v->n_attrs * sizeof *v->attrs);
  gemel__free(v->dims, v->n_dims * sizeof *v->dims);
}

/* Makes the outputs with the types that the type rule gives. */
static gemel_status make_outputs(struct node *v) {
  gemel_context *context = v->call->context;
  for (size_t k = 0; k < v->call->max_outputs; k++) {
    gemel_type type = gemel_value_type(gemel_graph_output(v->graph, k));
    const gemel_dim *dims = gemel_type_dims(context, type);
    int64_t shape[GEMEL_MAX_RANK];
    int rank = gemel_type_rank(context, type), axis;
    for (axis = 0; axis < rank; axis++) {
      if (!gemel_dim_is_constant(context, dims[axis], &shape[axis])) {
        return gemel__fail(v->call->error, GEMEL_UNSUPPORTED,
                           "%s has no reference, and results whose sizes only a run tells",
                           v->call->name);
      }
    }
    GEMEL__TRY(gemel__reference_output(v->call, k, gemel_type_dtype(context, type), rank, shape));
  }
  return GEMEL_OK;
}

static void give_state(struct node *v, gemel__state state) {
  gemel__domain *d = v->call->domain;
  for (size_t k = 0; k < v->call->n_outputs; k++) {
    for (size_t i = 0; i < v->call->outputs[k].count; i++) {
      d->set_state(d, gemel__rtensor_at(&v->call->outputs[k], i), state);
    }
  }
}

/* ---- Domains with random functions ---- */

static int64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (; bytes > 0; bytes--) {
    hash = (hash ^ *p++) * 0x100000001b3u;
  }
  return (int64_t)(hash & 0x3fffffff);
}

/* A hash of the attributes' values. */
static int64_t hash_attrs(const gemel__rcall *call) {
  size_t n = count_attrs(call->operation), k;
  int64_t hash = 0;
  for (k = 0; k < n; k++) {
    const gemel_attr *a = &call->attrs[k];
    int64_t key = hash_bytes((uint64_t)hash * 31 + k, &a->kind, sizeof a->kind);
    if (a->kind & GEMEL_ATTR_LIST) {
      size_t width = (a->kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_DTYPE ? sizeof(gemel_dtype) : 8;
      hash = hash_bytes((uint64_t)key + a->count, a->count > 0 ? (const void *)a->u.ints : "",
                        a->count * width);
    } else if (a->kind == GEMEL_ATTR_STRING) {
      hash = hash_bytes((uint64_t)key, a->u.text, strlen(a->u.text));
    } else if (a->kind == GEMEL_ATTR_DTYPE) {
      hash = hash_bytes((uint64_t)key, &a->u.dtype, sizeof a->u.dtype);
    } else {
      hash = hash_bytes((uint64_t)key, &a->u, a->kind != GEMEL_ATTR_NONE ? 8 : 0);
    }
  }
  return hash;
}

/* The element of operand T on which element INDEX (of RANK axes) of an elementwise result depends.
 */
static size_t operand_place(const gemel__rtensor *t, int rank, const int64_t *index) {
  size_t at = 0;
  for (int axis = 0; axis < t->rank; axis++) {
    int64_t i = t->shape[axis] == 1 ? 0 : index[rank - t->rank + axis];
    at = at * (size_t)t->shape[axis] + (size_t)i;
  }
  return at;
}

/* E = a random function of all elements of all operands. */
static gemel_status digest(struct node *v, void *e, const void **args, void *number) {
  gemel__rcall *call = v->call;
  gemel__domain *d = call->domain;
  d->from_integer(d, e, hash_attrs(call));
  for (size_t k = 0; k < call->n_inputs; k++) {
    const gemel__rtensor *t = call->inputs[k];
    d->from_integer(d, number, hash_bytes((uint64_t)t->rank, t->shape, (size_t)t->rank * 8));
    args[0] = e;
    args[1] = number;
    d->keyed(d, e, call->operation->name, 2, args);
    for (size_t i = 0; i < t->count; i++) {
      args[1] = gemel__rtensor_at(t, i);
      d->keyed(d, e, call->operation->name, 2, args);
    }
  }
  return GEMEL_OK;
}

static void key_output(struct node *v, size_t k, const void **args, void *number, void *all) {
  gemel__rcall *call = v->call;
  gemel__domain *d = call->domain;
  gemel__rtensor *out = &call->outputs[k];
  int elementwise = (call->operation->flags & GEMEL_OP_ELEMENTWISE) != 0;
  int64_t index[GEMEL_MAX_RANK] = {0}, attrs = hash_attrs(call);
  for (size_t i = 0; i < out->count; i++) {
    d->from_integer(d, number, elementwise ? attrs + (int64_t)k : (int64_t)(i * 64 + k));
    args[0] = number;
    args[1] = all;
    for (size_t j = 0; j < call->n_inputs && elementwise; j++) {
      args[1 + j] =
          gemel__rtensor_at(call->inputs[j], operand_place(call->inputs[j], out->rank, index));
    }
    d->keyed(d, gemel__rtensor_at(out, i), call->operation->name,
             elementwise ? 1 + call->n_inputs : 2, args);
    gemel__index_next(out->rank, out->shape, index);
  }
}

static gemel_status keyed(struct node *v) {
  gemel__rcall *call = v->call;
  gemel__domain *d = call->domain;
  size_t n = 2 + call->n_inputs, k;
  const void **args = gemel__alloc_array(n, sizeof *args);
  void *room = gemel__elements_new(d, 2);
  gemel_status status =
      args != NULL && room != NULL ? make_outputs(v) : gemel__no_memory(call->error, "a key");
  if (status == GEMEL_OK && !(call->operation->flags & GEMEL_OP_ELEMENTWISE)) {
    status = digest(v, room, args, gemel__element(d, room, 1));
  }
  for (k = 0; k < call->n_outputs && status == GEMEL_OK; k++) {
    key_output(v, k, args, gemel__element(d, room, 1), room);
  }
  gemel__elements_free(d, room, 2);
  gemel__free(args, n * sizeof *args);
  return status;
}

/* ---- Running the kernel ---- */

/* Stores E as DTYPE at AT: with PROBE 0 the middle of its interval, otherwise one of its ends.
 * Returns 1 if E is exactly one number, and DTYPE has it. */
static int store_operand(gemel__domain *d, const void *e, gemel_dtype dtype, unsigned probe,
                         size_t i, void *at) {
  int64_t n;
  double low, high, x;
  if (!gemel__is_float(dtype) && d->to_integer(d, e, &n)) {
    /* little-endian, as all machines that gemel runs on */
    memcpy(at, &n, gemel_dtype_size(dtype));
    return 1;
  }
  d->bounds(d, e, &low, &high);
  x = low == high ? low : low + (high - low) * 0.5;
  if (probe > 0 && low != high) {
    x = (hash_bytes(probe * 977 + i, &probe, sizeof probe) >> 7 & 1) != 0 ? low : high;
  }
  gemel__dtype_store(dtype, isnan(x) && !d->ieee ? 0 : x, at);
  return low == high || isnan(x);
}

static gemel__state worst_state(const gemel__rcall *call) {
  gemel__domain *d = call->domain;
  gemel__state worst = GEMEL__DEFINED;
  for (size_t k = 0; k < call->n_inputs; k++) {
    for (size_t i = 0; i < call->inputs[k]->count; i++) {
      gemel__state state = d->state(d, gemel__rtensor_at(call->inputs[k], i));
      worst = state > worst ? state : worst;
    }
  }
  return worst;
}

static gemel_status give_operands(struct node *v, unsigned probe, int *exact) {
  gemel__rcall *call = v->call;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  for (size_t k = 0; k < given(call); k++) {
    const gemel__rtensor *t = call->inputs[k];
    gemel_dtype dtype = dtype_of(v, t->dtype);
    v->in[k] = gemel_tensor_new(dtype, t->rank, t->shape, &problem);
    GEMEL__TRY(problem.status);
    for (size_t i = 0; i < t->count; i++) {
      char *at = (char *)gemel_tensor_data(v->in[k]) + i * gemel_dtype_size(dtype);
      *exact &= store_operand(call->domain, gemel__rtensor_at(t, i), dtype, probe, i, at);
    }
  }
  return GEMEL_OK;
}

static gemel_status call_kernel(struct node *v, unsigned probe, int *exact) {
  const gemel_options options = {.size = sizeof options, .threads = 1, .as_written = 1};
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  GEMEL__TRY(give_operands(v, probe, exact));
  if (v->function == NULL) {
    v->function = gemel_compile(v->graph, &options, &problem);
    GEMEL__TRY(problem.status);
  }
  return gemel_call(v->function, given(v->call), v->in, gemel_function_output_count(v->function),
                    v->out, &problem);
}

/* Runs the kernel on the operands; *EXACT: all of them are numbers of their dtypes. A failure other
 * than memory is GEMEL_DECLINED. */
static gemel_status run(struct node *v, unsigned probe, int *exact) {
  release(v->call->n_inputs, v->in);
  release(v->call->max_outputs, v->out);
  *exact = 1;
  gemel_status status = call_kernel(v, probe, exact);
  if (status == GEMEL_NO_MEMORY) {
    return gemel__no_memory(v->call->error, "running an operation");
  }
  return status == GEMEL_OK ? status : GEMEL_DECLINED;
}

static const void *result_at(const struct node *v, size_t k, size_t i) {
  return (const char *)gemel_tensor_data(v->out[k]) +
         i * gemel_dtype_size(gemel_tensor_dtype(v->out[k]));
}

static double result(const struct node *v, size_t k, size_t i) {
  return gemel__dtype_load(gemel_tensor_dtype(v->out[k]), result_at(v, k, i));
}

/* Copies the kernel's results to the outputs: in domains B and S, and integers. */
static gemel_status take_results(struct node *v) {
  gemel__domain *d = v->call->domain;
  for (size_t k = 0; k < v->call->n_outputs; k++) {
    gemel__rtensor *out = &v->call->outputs[k], computed;
    gemel_view view = gemel_tensor_view(v->out[k]);
    GEMEL__TRY(gemel__rtensor_from_view(&computed, d, &view, v->call->error));
    for (size_t i = 0; i < out->count; i++) {
      d->set(d, gemel__rtensor_at(out, i), gemel__rtensor_at(&computed, i));
    }
    gemel__rtensor_clear(&computed);
  }
  return GEMEL_OK;
}

/* ---- Domains of real numbers: intervals around the results ---- */

static gemel_status widen_output(struct node *v, size_t k) {
  gemel__domain *d = v->call->domain;
  void *high = gemel__elements_new(d, 1);
  gemel__rtensor *out = &v->call->outputs[k];
  int elementwise = (v->call->operation->flags & GEMEL_OP_ELEMENTWISE) != 0;
  double share = rounding_of(gemel_tensor_dtype(v->out[k])), largest = 0;
  if (high == NULL) {
    return gemel__no_memory(v->call->error, "an interval");
  }
  for (size_t i = 0; i < out->count; i++) {
    double x = fabs(result(v, k, i));
    largest = isfinite(x) ? fmax(largest, x) : largest;
  }
  for (size_t i = 0; i < out->count; i++) {
    void *e = gemel__rtensor_at(out, i);
    double x = result(v, k, i), r = share * (elementwise ? fabs(x) : largest);
    if (isfinite(x) && isfinite(r)) {
      d->from_double(d, e, x - r);
      d->from_double(d, high, x + r);
      d->between(d, e, e, high);
    } else if (isnan(x)) {
      d->set_state(d, e, GEMEL__UNDEFINED);
    }
  }
  gemel__elements_free(d, high, 1);
  return GEMEL_OK;
}

static gemel_status real(struct node *v) {
  int exact, fits;
  v->widened = 1;
  fits = build(v, NULL) == GEMEL_OK && run(v, 0, &exact) == GEMEL_OK;
  for (size_t k = 0; k < v->call->n_outputs && fits; k++) {
    fits = gemel_tensor_dtype(v->out[k]) == dtype_of(v, v->call->outputs[k].dtype);
  }
  if (!fits) {
    v->widened = 0;
    gemel_function_free(v->function);
    v->function = NULL;
    GEMEL__TRY(build(v, v->call->error));
    GEMEL__TRY(run(v, 0, &exact));
  }
  GEMEL__TRY(take_results(v));
  for (size_t k = 0; k < v->call->n_outputs; k++) {
    if (gemel__is_float(v->call->outputs[k].dtype)) {
      GEMEL__TRY(widen_output(v, k));
    }
  }
  return GEMEL_OK;
}

/* ---- Domains of computed numbers: as far as the operands' errors move the results ---- */

enum { PROBES = 6 };

/* Widens element I of output K to both sides of MIDDLE, the result for the middles of the operands,
 * by twice the distance to the current result. */
static void reach(struct node *v, size_t k, size_t i, void *middle, void *far) {
  gemel__domain *d = v->call->domain;
  void *e = gemel__rtensor_at(&v->call->outputs[k], i);
  double from, ignored, to = result(v, k, i);
  d->bounds(d, middle, &from, &ignored);
  double way = 2 * (to - from) + copysign(ldexp(fabs(from), -52), to - from);
  if (!isfinite(to) || !isfinite(from)) {
    d->set_state(d, e, GEMEL__UNDECIDED);
    return;
  }
  d->from_double(d, far, from + way);
  d->hull(d, e, e, far);
  d->from_double(d, far, from - way);
  d->hull(d, e, e, far);
}

static gemel_status rounded(struct node *v) {
  gemel__domain *d = v->call->domain;
  int exact, ignored;
  size_t k, i, j, n = 0;
  gemel_status status = GEMEL_OK;
  GEMEL__TRY(run(v, 0, &exact));
  GEMEL__TRY(take_results(v));
  if (exact) {
    return GEMEL_OK;
  }
  for (k = 0; k < v->call->n_outputs; k++) {
    n += v->call->outputs[k].count;
  }
  void *middles = gemel__elements_new(d, n + 1);
  if (middles == NULL) {
    return gemel__no_memory(v->call->error, "a bound");
  }
  void *far = gemel__element(d, middles, n);
  for (unsigned probe = 0; probe <= PROBES && status == GEMEL_OK; probe++) {
    status = probe > 0 ? run(v, probe, &ignored) : GEMEL_OK;
    for (k = 0, j = 0; k < v->call->n_outputs && status == GEMEL_OK; k++) {
      for (i = 0; i < v->call->outputs[k].count; i++, j++) {
        if (probe == 0) {
          d->set(d, gemel__element(d, middles, j), gemel__rtensor_at(&v->call->outputs[k], i));
        } else {
          reach(v, k, i, gemel__element(d, middles, j), far);
        }
      }
    }
  }
  gemel__elements_free(d, middles, n + 1);
  return status;
}

/* ---- The reference ---- */

static gemel_status by_kernel(struct node *v) {
  gemel__domain *d = v->call->domain;
  gemel__state state = worst_state(v->call);
  GEMEL__TRY(make_outputs(v));
  if (state != GEMEL__DEFINED || d->bounds == NULL) {
    give_state(v, state != GEMEL__DEFINED ? state : GEMEL__GAP);
    return GEMEL_OK;
  }
  gemel_status status = d->rounds ? rounded(v) : real(v);
  if (status == GEMEL_DECLINED) { /* such as an index out of range */
    give_state(v, GEMEL__UNDEFINED);
    status = GEMEL_OK;
  }
  return status;
}

gemel_status gemel__reference_unknown(gemel__rcall *call) {
  struct node v;
  gemel_status status = node_init(&v, call);
  status = status ? status : call->domain->keyed != NULL ? keyed(&v) : by_kernel(&v);
  node_clear(&v);
  return status;
}
