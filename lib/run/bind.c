/* SPDX-License-Identifier: MIT
 *
 * From dims to numbers. Symbols get their sizes from the inputs' axes that are a symbol by itself,
 * or an expression that determines one (solve.c); every other dim is an expression over them that
 * is evaluated and, on an input, compared. Building took sizes that it could not prove different
 * for equal; here that is decided. Elementwise nodes are checked axis by axis, since only an axis
 * that was a literal 1 may broadcast; for any other node its type rule is asked again, about
 * constants.
 */
#include "run/planner.h"

#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/registry.h"

/* ---- Symbols ---- */

static int by_name(const void *a, const void *b) {
  const gemel__symbol *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  if (order != 0) {
    return order;
  }
  return x->input != y->input ? (x->input > y->input) - (x->input < y->input)
                              : (x->axis > y->axis) - (x->axis < y->axis);
}

static const gemel__symbol *find_symbol(const gemel__plan *plan, const char *name) {
  size_t low = 0, high = plan->n_symbols;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(plan->symbols[middle].name, name);
    if (order == 0) {
      return &plan->symbols[middle];
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

static gemel_status collect_symbols(const gemel_function *f, gemel__plan *plan, uint32_t input,
                                    const gemel_tensor *tensor, gemel_error *error) {
  gemel_context *context = f->program.context;
  gemel_type type = gemel__value_type(&f->program, f->program.inputs[input].value);
  const gemel_dim *dims = gemel_type_dims(context, type);
  int axis;
  for (axis = 0; axis < tensor->rank; axis++) {
    gemel__atom atom;
    if (gemel__dim_is_atom(context, dims[axis], &atom) && atom.kind == GEMEL__ATOM_SYMBOL) {
      gemel__symbol *s;
      if (gemel__grow(&plan->symbols, &plan->symbol_capacity, plan->n_symbols + 1,
                      sizeof *plan->symbols) != 0) {
        return gemel__no_memory(error, "a plan");
      }
      s = &plan->symbols[plan->n_symbols++];
      s->name = atom.name;
      s->size = tensor->shape[axis];
      s->input = input;
      s->axis = axis;
    }
  }
  return GEMEL_OK;
}

/* Keeps the first of the entries of each symbol; the others must agree. */
static gemel_status unify_symbols(const gemel_function *f, gemel__plan *plan, gemel_error *error) {
  size_t k, kept = 0;
  if (plan->n_symbols > 1) {
    qsort(plan->symbols, plan->n_symbols, sizeof *plan->symbols, by_name);
  }
  for (k = 0; k < plan->n_symbols; k++) {
    const gemel__symbol *s = &plan->symbols[k];
    const gemel__symbol *first = kept > 0 ? &plan->symbols[kept - 1] : NULL;
    if (first == NULL || strcmp(first->name, s->name) != 0) {
      plan->symbols[kept++] = *s;
    } else if (first->size != s->size) {
      return gemel__fail(error, GEMEL_BAD_SHAPE,
                         "size %s is %lld in input %s (axis %d) but %lld in input %s (axis %d)",
                         s->name, (long long)first->size, f->program.inputs[first->input].name,
                         first->axis, (long long)s->size, f->program.inputs[s->input].name,
                         s->axis);
    }
  }
  plan->n_symbols = kept;
  return GEMEL_OK;
}

int gemel__plan_symbol(const gemel__plan *plan, const char *name, int64_t *size) {
  const gemel__symbol *s = find_symbol(plan, name);
  if (s == NULL) {
    return -1;
  }
  *size = s->size;
  return 0;
}

static int look_up_symbol(void *user, const gemel__atom *atom, int64_t *size) {
  return atom->kind == GEMEL__ATOM_SYMBOL ? gemel__plan_symbol(user, atom->name, size) : -1;
}

/* ---- Inputs ---- */

static gemel_status wrong_input(const gemel_function *f, uint32_t input, const gemel_tensor *tensor,
                                gemel_status status, gemel_error *error) {
  char wanted[300], given[300];
  gemel_type_format(f->program.context,
                    gemel__value_type(&f->program, f->program.inputs[input].value), wanted,
                    sizeof wanted);
  gemel__format_shape(tensor->rank, tensor->shape, given, sizeof given);
  return gemel__fail(error, status, "input %s should be %s and is %s%s",
                     f->program.inputs[input].name, wanted, gemel_dtype_name(tensor->dtype), given);
}

static gemel_status check_input(const gemel_function *f, uint32_t input, const gemel_tensor *tensor,
                                gemel_error *error) {
  gemel_context *context = f->program.context;
  gemel_type type = gemel__value_type(&f->program, f->program.inputs[input].value);
  if (tensor->dtype != gemel_type_dtype(context, type)) {
    return wrong_input(f, input, tensor, GEMEL_BAD_TYPE, error);
  }
  if (tensor->rank != gemel_type_rank(context, type)) {
    return wrong_input(f, input, tensor, GEMEL_BAD_SHAPE, error);
  }
  return GEMEL_OK;
}

/* Puts before the message: axis AXIS is of GIVEN elements, and DIM comes to SIZE. */
static gemel_status wrong_size(gemel_context *context, gemel_dim dim, int axis, int64_t size,
                               int64_t given, gemel_error *error) {
  char text[200];
  int64_t number;
  if (gemel_dim_is_constant(context, dim, &number)) {
    gemel__error_prefix(error, "axis %d is %lld, not %lld", axis, (long long)given,
                        (long long)size);
  } else {
    gemel_dim_format(context, dim, text, sizeof text);
    gemel__error_prefix(error, "axis %d is %lld, not %s = %lld", axis, (long long)given, text,
                        (long long)size);
  }
  return GEMEL_BAD_SHAPE;
}

static gemel_status check_axes(const gemel_function *f, gemel__plan *plan, uint32_t input,
                               const gemel_tensor *tensor, gemel_error *error) {
  gemel_context *context = f->program.context;
  const gemel_dim *dims =
      gemel_type_dims(context, gemel__value_type(&f->program, f->program.inputs[input].value));
  int axis;
  for (axis = 0; axis < tensor->rank; axis++) {
    int64_t size;
    gemel_status status =
        gemel__dim_evaluate(context, dims[axis], look_up_symbol, plan, &size, error);
    if (status == GEMEL_NOT_FOUND) {
      continue; /* an expression that leaves symbols open: any size will do */
    }
    if (status != GEMEL_OK) {
      return status;
    }
    if (size != tensor->shape[axis]) {
      wrong_input(f, input, tensor, GEMEL_BAD_SHAPE, error);
      return wrong_size(context, dims[axis], axis, size, tensor->shape[axis], error);
    }
  }
  return GEMEL_OK;
}

/* Symbols that stand in expressions only. The second round knows what the first has found. */
static gemel_status solve_axes(const gemel_function *f, gemel__plan *plan,
                               gemel_tensor *const *inputs, gemel_error *error) {
  for (int round = 0; round < 2; round++) {
    for (uint32_t k = 0; k < f->program.n_inputs; k++) {
      for (int axis = 0; axis < inputs[k]->rank; axis++) {
        GEMEL__TRY(gemel__solve_axis(f, plan, k, axis, inputs[k]->shape[axis], round == 1, error));
      }
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__bind_inputs(const gemel_function *f, gemel__plan *plan,
                                gemel_tensor *const *inputs, gemel_error *error) {
  for (uint32_t k = 0; k < f->program.n_inputs; k++) {
    GEMEL__TRY(check_input(f, k, inputs[k], error));
    GEMEL__TRY(collect_symbols(f, plan, k, inputs[k], error));
  }
  GEMEL__TRY(unify_symbols(f, plan, error));
  GEMEL__TRY(solve_axes(f, plan, inputs, error));
  for (uint32_t k = 0; k < f->program.n_inputs; k++) {
    GEMEL__TRY(check_axes(f, plan, k, inputs[k], error));
  }
  return GEMEL_OK;
}

/* ---- Dims in the program ---- */

static int look_up(void *user, const gemel__atom *atom, int64_t *size) {
  gemel__planner *planner = user;
  const gemel__execution *e = planner->execution;
  const gemel_function *f = planner->f;
  uint32_t value, count;
  size_t k;
  if (atom->kind == GEMEL__ATOM_SYMBOL) {
    planner->unknown = atom->name;
    return gemel__plan_symbol(planner->plan, atom->name, size);
  }
  if (atom->kind == GEMEL__ATOM_VALUE) {
    uint32_t node = gemel__node_of(&f->program, atom->a);
    value = node < f->program.n_nodes ? f->program.nodes[node].value + atom->b : GEMEL__NO_VALUE;
  } else {
    const uint32_t *in = gemel__pnode_inputs(&f->program, planner->node, &count);
    value = atom->a < count ? in[atom->a] : GEMEL__NO_VALUE;
  }
  for (k = e->n_seen; k > 1 && value != GEMEL__NO_VALUE; k--) {
    if (e->seen[k - 1].value == value) {
      *size = e->seen[k - 1].size;
      return 0;
    }
  }
  planner->missing = value;
  return -1;
}

gemel_status gemel__plan_dim(gemel__planner *planner, gemel_dim dim, int64_t *size) {
  gemel_context *context = planner->f->program.context;
  gemel_status status;
  planner->missing = GEMEL__NO_VALUE;
  if (gemel_dim_is_constant(context, dim, size) || gemel__plan_known(planner->plan, dim, size)) {
    return GEMEL_OK;
  }
  status = gemel__dim_evaluate(context, dim, look_up, planner, size, planner->error);
  if (status == GEMEL_NOT_FOUND) {
    return planner->missing != GEMEL__NO_VALUE
               ? GEMEL_DECLINED
               : gemel__fail(planner->error, GEMEL_BAD_SHAPE,
                             "a size depends on %s, which is the size of no input's axis",
                             planner->unknown);
  }
  return status;
}

/* ---- Layouts ---- */

gemel__plan_layout *gemel__layout_new(gemel__segment *segment, gemel_dtype dtype, int rank,
                                      const int64_t *shape, const int64_t *strides,
                                      int64_t offset) {
  gemel__plan_layout *l =
      gemel__arena_alloc(&segment->meta, sizeof *l + 2 * (size_t)rank * sizeof(int64_t));
  int64_t *sizes;
  int k;
  if (l == NULL) {
    return NULL;
  }
  memset(l, 0, sizeof *l);
  sizes = (int64_t *)(l + 1);
  l->dtype = dtype;
  l->rank = rank;
  l->offset = offset;
  l->shape = sizes;
  l->strides = sizes + rank;
  l->elements = 1;
  for (k = 0; k < rank; k++) {
    sizes[k] = shape[k];
    sizes[rank + k] = strides[k];
    l->elements = l->elements == 0 || shape[k] == 0 ? 0 : l->elements * shape[k];
  }
  l->bytes = l->elements * (int64_t)gemel_dtype_size(dtype);
  l->dense = gemel__is_row_major(gemel_dtype_size(dtype), rank, shape, strides);
  /* of three axes, this might as well be transposed matrices */
  l->channels_last =
      rank > 3 && gemel__is_channels_last(gemel_dtype_size(dtype), rank, shape, strides);
  return l;
}

gemel__plan_layout *gemel__layout_channels_last(gemel__segment *segment,
                                                const gemel__plan_layout *l) {
  int64_t strides[GEMEL_MAX_RANK];
  gemel__channels_last_strides(gemel_dtype_size(l->dtype), l->rank, l->shape, strides);
  gemel__plan_layout *made = gemel__layout_new(segment, l->dtype, l->rank, l->shape, strides, 0);
  if (made != NULL) {
    made->channels_last = !made->dense;
  }
  return made;
}

int gemel__layout_ends_with_channels(const gemel__plan_layout *l) {
  int64_t inside = l->rank > 3 ? l->strides[1] * l->shape[1] : 0;
  int ordered = inside > 0 && l->strides[1] == (int64_t)gemel_dtype_size(l->dtype) && !l->dense;
  for (int k = l->rank - 1; k > 1 && ordered; k--) {
    ordered = l->strides[k] >= inside;
    inside = l->strides[k] * l->shape[k];
  }
  return l->channels_last || (ordered && (l->shape[0] == 1 || l->strides[0] >= inside));
}

gemel_status gemel__plan_row_major(gemel__planner *planner, uint32_t type,
                                   gemel__plan_layout **layout) {
  gemel_context *context = planner->f->program.context;
  gemel_type t = planner->f->program.types[type].type;
  const gemel_dim *dims = gemel_type_dims(context, t);
  gemel_dtype dtype = gemel_type_dtype(context, t);
  int rank = gemel_type_rank(context, t), k;
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], elements, bytes;
  if (planner->layouts[type] == NULL) {
    for (k = 0; k < rank; k++) {
      GEMEL__TRY(gemel__plan_dim(planner, dims[k], &shape[k]));
    }
    GEMEL__TRY(gemel__row_major(dtype, rank, shape, strides, &elements, &bytes, planner->error));
    planner->layouts[type] = gemel__layout_new(planner->segment, dtype, rank, shape, strides, 0);
  }
  *layout = planner->layouts[type];
  return *layout != NULL ? GEMEL_OK : gemel__no_memory(planner->error, "a plan");
}

gemel_type gemel__layout_type(gemel__planner *planner, gemel__plan_layout *layout) {
  if (gemel_type_is_none(layout->type)) {
    layout->type = gemel_type_of_shape(planner->f->program.context, layout->dtype, layout->rank,
                                       layout->shape);
  }
  return layout->type;
}

/* ---- Attributes ---- */

static int is_dims(const gemel_attr *attr) {
  return (attr->kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_DIM;
}

static size_t dim_count(const gemel_attr *attr) {
  return attr->kind & GEMEL_ATTR_LIST ? attr->count : 1;
}

/* One attribute's dims: as constant dims to CHECKED, as integers to EVALUATED. */
static gemel_status plan_attr(gemel__planner *planner, const gemel_attr *attr, gemel_attr *checked,
                              gemel_attr *evaluated, gemel__runtime_attribute *runtime,
                              size_t *n_runtime) {
  gemel_context *context = planner->f->program.context;
  const gemel_dim *dims = attr->kind & GEMEL_ATTR_LIST ? attr->u.dims : &attr->u.dim;
  size_t n = dim_count(attr), k;
  int64_t *sizes = gemel__arena_alloc(&planner->segment->meta, n * sizeof *sizes);
  gemel_dim *constants = gemel__arena_alloc(&planner->segment->meta, n * sizeof *constants);
  if (sizes == NULL || constants == NULL) {
    return gemel__no_memory(planner->error, "a plan");
  }
  for (k = 0; k < n; k++) {
    sizes[k] = 0;
    if (runtime != NULL && gemel__dim_has_runtime(context, dims[k])) {
      runtime[*n_runtime].dim = dims[k];
      runtime[(*n_runtime)++].target = &sizes[k];
    } else {
      gemel_status status = gemel__plan_dim(planner, dims[k], &sizes[k]);
      if (status != GEMEL_OK) {
        return status;
      }
    }
    constants[k] = gemel_dim_constant(context, sizes[k]);
    if (gemel_dim_is_none(constants[k])) {
      return gemel__no_memory(planner->error, "a plan");
    }
  }
  evaluated->kind =
      attr->kind & GEMEL_ATTR_LIST ? GEMEL_ATTR_LIST | GEMEL_ATTR_INT : GEMEL_ATTR_INT;
  if (attr->kind & GEMEL_ATTR_LIST) {
    evaluated->u.ints = sizes;
    checked->u.dims = constants;
  } else {
    evaluated->u.i = sizes[0];
    checked->u.dim = constants[0];
  }
  return GEMEL_OK;
}

/* A single dim that is read at each call has to be written where the kernel reads it. */
static void retarget(gemel__runtime_attribute *runtime, size_t from, size_t n_runtime,
                     gemel_attr *evaluated) {
  if (n_runtime > from && !(evaluated->kind & GEMEL_ATTR_LIST)) {
    runtime[from].target = &evaluated->u.i;
  }
}

gemel_status gemel__plan_attrs(gemel__planner *planner, uint32_t node, const gemel_attr **checked,
                               const gemel_attr **evaluated, gemel__runtime_attribute **runtime,
                               size_t *n_runtime) {
  const struct gemel__attrs *stored =
      gemel__attrs_at(planner->f->program.context, planner->f->program.nodes[node].attrs);
  size_t bytes = stored->count * sizeof(gemel_attr), total = 0, k, from;
  gemel_attr *c, *e;
  planner->node = node;
  *checked = *evaluated = stored->values;
  for (k = 0; k < stored->count; k++) {
    total += is_dims(&stored->values[k]) ? dim_count(&stored->values[k]) : 0;
  }
  if (total == 0) {
    return GEMEL_OK;
  }
  c = gemel__arena_copy(&planner->segment->meta, stored->values, bytes);
  e = gemel__arena_copy(&planner->segment->meta, stored->values, bytes);
  if (runtime != NULL) {
    *runtime = gemel__arena_alloc(&planner->segment->meta, total * sizeof **runtime);
  }
  if (c == NULL || e == NULL || (runtime != NULL && *runtime == NULL)) {
    return gemel__no_memory(planner->error, "a plan");
  }
  for (k = 0; k < stored->count; k++) {
    gemel_status status = GEMEL_OK;
    from = runtime != NULL ? *n_runtime : 0;
    if (is_dims(&stored->values[k])) {
      status = plan_attr(planner, &stored->values[k], &c[k], &e[k],
                         runtime != NULL ? *runtime : NULL, n_runtime);
    }
    if (status != GEMEL_OK) {
      return status;
    }
    if (runtime != NULL) {
      retarget(*runtime, from, *n_runtime, &e[k]);
    }
  }
  *checked = c;
  *evaluated = e;
  return GEMEL_OK;
}

/* ---- Checks ---- */

static gemel_status sizes_differ(gemel__planner *planner, uint32_t node, uint32_t operand, int axis,
                                 uint32_t value, int64_t given, int64_t wanted) {
  gemel_context *context = planner->f->program.context;
  const gemel__run_program *p = &planner->f->program;
  const gemel_dim *in = gemel_type_dims(context, gemel__value_type(p, value));
  gemel_type result = gemel__value_type(p, p->nodes[node].value);
  int shift =
      gemel_type_rank(context, result) - gemel_type_rank(context, gemel__value_type(p, value));
  char a[100], b[100];
  gemel_dim_format(context, in[axis], a, sizeof a);
  gemel_dim_format(context, gemel_type_dims(context, result)[axis + shift], b, sizeof b);
  gemel__fail(planner->error, GEMEL_BAD_SHAPE,
              "axis %d of operand %u has size %s = %lld, which should be %s = %lld", axis, operand,
              a, (long long)given, b, (long long)wanted);
  gemel__blame(p, node, planner->error);
  return GEMEL_BAD_SHAPE;
}

/* Axes that are not a literal 1 must have the result's size. */
static gemel_status check_elementwise(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t out = p->nodes[node].value, count, k;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  const gemel__plan_layout *result = planner->places[out].layout;
  for (k = 0; k < count; k++) {
    const gemel__plan_layout *operand = planner->places[in[k]].layout;
    const gemel_dim *dims;
    int axis, shift = result->rank - operand->rank;
    if (p->value_types[in[k]] == p->value_types[out]) {
      continue;
    }
    dims = gemel_type_dims(p->context, gemel__value_type(p, in[k]));
    for (axis = 0; axis < operand->rank; axis++) {
      int64_t size, wanted = result->shape[axis + shift];
      int literal = gemel_dim_is_constant(p->context, dims[axis], &size) && size == 1;
      if (!literal && operand->shape[axis] != wanted) {
        return sizes_differ(planner, node, k, axis, in[k], operand->shape[axis], wanted);
      }
    }
  }
  return GEMEL_OK;
}

enum { LOCAL_TYPES = 16 };

/* Room for N types: LOCAL if they fit. */
static gemel_type *type_room(gemel__planner *planner, gemel_type *local, size_t n) {
  return n <= LOCAL_TYPES ? local : gemel__arena_alloc(&planner->segment->meta, n * sizeof *local);
}

/* 1 if A and B are the same, wherever they lie: a plan's layouts don't say. */
static int same_elsewhere(gemel_context *context, gemel_type a, gemel_type b) {
  int rank = gemel_type_rank(context, a);
  return gemel_type_equal(a, b) ||
         (gemel_type_dtype(context, a) == gemel_type_dtype(context, b) &&
          rank == gemel_type_rank(context, b) &&
          (rank == 0 || memcmp(gemel_type_dims(context, a), gemel_type_dims(context, b),
                               (size_t)rank * sizeof(gemel_dim)) == 0));
}

static gemel_status compare_types(gemel__planner *planner, uint32_t node, size_t n,
                                  const gemel_type *found) {
  const gemel__run_program *p = &planner->f->program;
  size_t k;
  if (n != p->nodes[node].n_outputs) {
    return gemel__fail(planner->error, GEMEL_BAD_SHAPE, "there would be %zu outputs, not %u", n,
                       p->nodes[node].n_outputs);
  }
  for (k = 0; k < n; k++) {
    gemel_type wanted =
        gemel__layout_type(planner, planner->places[p->nodes[node].value + k].layout);
    if (gemel_type_is_none(wanted)) {
      return gemel__no_memory(planner->error, "a plan");
    }
    if (!same_elsewhere(p->context, wanted, found[k])) {
      char a[200], b[200];
      gemel_type_format(p->context, found[k], a, sizeof a);
      gemel_type_format(p->context, wanted, b, sizeof b);
      return gemel__fail(planner->error, GEMEL_BAD_SHAPE, "the result is %s and should be %s", a,
                         b);
    }
  }
  return GEMEL_OK;
}

/* Asks the type rule about constants. */
static gemel_status check_rule(gemel__planner *planner, uint32_t node, const gemel_attr *attrs) {
  const gemel__run_program *p = &planner->f->program;
  const gemel__pnode *n = &p->nodes[node];
  const gemel_operation *record = &p->ops[n->op].op->record;
  gemel_type local_in[LOCAL_TYPES], local_out[LOCAL_TYPES], local_declared[LOCAL_TYPES];
  gemel_infer call;
  uint32_t count, k;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  gemel_type *types = type_room(planner, local_in, count);
  gemel_type *declared = type_room(planner, local_declared, count);
  memset(&call, 0, sizeof call);
  call.outputs = type_room(planner, local_out, n->n_outputs);
  if (types == NULL || declared == NULL || call.outputs == NULL) {
    return gemel__no_memory(planner->error, "a plan");
  }
  for (k = 0; k < count; k++) {
    types[k] = gemel__layout_type(planner, planner->places[in[k]].layout);
    declared[k] = gemel__value_type(p, in[k]);
    if (gemel_type_is_none(types[k])) {
      return gemel__no_memory(planner->error, "a plan");
    }
  }
  call.size = sizeof call;
  call.context = p->context;
  call.n_inputs = count;
  call.inputs = types;
  call.declared = declared;
  call.attrs = attrs;
  call.n_attrs = p->ops[n->op].op->n_attrs;
  call.max_outputs = n->n_outputs;
  call.error = planner->error;
  call.data = record->data;
  unsigned failures = gemel__dim_memory_failures(p->context);
  gemel_status status = record->infer(&call);
  if (gemel__dim_memory_failures(p->context) != failures) {
    return gemel__no_memory(planner->error, "a plan"); /* the rule may have thought anything */
  }
  GEMEL__TRY(status);
  return compare_types(planner, node, call.n_outputs, call.outputs);
}

gemel_status gemel__check_node(gemel__planner *planner, uint32_t node, const gemel_attr *attrs) {
  const gemel__run_program *p = &planner->f->program;
  const gemel__pnode *n = &p->nodes[node];
  const struct gemel__attrs *stored = gemel__attrs_at(p->context, n->attrs);
  gemel_status status;
  uint32_t count, k;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  int constant = attrs == stored->values;
  for (k = 0; k < count; k++) {
    constant &= p->types[p->value_types[in[k]]].constant;
  }
  if (constant) {
    return GEMEL_OK; /* building proved everything */
  }
  if (p->ops[n->op].op->record.flags & GEMEL_OP_ELEMENTWISE) {
    return check_elementwise(planner, node);
  }
  status = check_rule(planner, node, attrs);
  if (status != GEMEL_OK && status != GEMEL_NO_MEMORY) {
    gemel__blame(p, node, planner->error);
  }
  return status;
}
