/* SPDX-License-Identifier: MIT
 *
 * Sizes that nodes produce at run time. A dim may hold a VALUE atom: what an integer scalar of the
 * graph will hold. When such a dim stands in an attribute, the node depends on that scalar, and a
 * dependence must be an edge: so the atom becomes INPUT(k) and the scalar input k of the node.
 * Types need no such care, since a VALUE atom gets into a type only through an input that carries
 * it.
 */
#include "core/sizes.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/rows.h"

gemel_dim gemel_dim_of(gemel_value value) {
  if (!gemel__is_value(value)) {
    return GEMEL_DIM_NONE;
  }
  const struct gemel__type *type = gemel__type_at(value.graph->context, gemel_value_type(value));
  if (type->rank != 0 || gemel_dtype_kind((gemel_dtype)type->dtype) == GEMEL_KIND_FLOAT ||
      type->dtype == GEMEL_BOOL || type->space != GEMEL_SPACE_HOST) {
    char text[128];
    gemel_type_format(value.graph->context, gemel_value_type(value), text, sizeof text);
    gemel__graph_fail_at(value.graph, gemel_value_where(value), GEMEL_BAD_TYPE,
                         "a size must be an integer scalar on the host, not %s (%s)", text,
                         gemel_value_operation(value));
    return GEMEL_DIM_NONE;
  }
  gemel_dim dim = gemel__dim_value(value.graph->context, value.node, value.output);
  if (gemel_dim_is_none(dim)) {
    gemel__graph_fail(value.graph, GEMEL_NO_MEMORY, "out of memory for a size");
  }
  return dim;
}

/* A node's inputs, to which sizes are appended. */
struct size_inputs {
  gemel_graph *graph;
  gemel_value *inputs;
  size_t n_inputs, capacity;
  int no_memory;
  gemel__map numbers; /* of each input, by its node and output: 1 + the first that is this value */
};

static uint64_t key_of(uint32_t node, uint32_t output) {
  return (uint64_t)node << 32 | output;
}

/* Appends VALUE; -1 when memory is out. */
static int add_input(struct size_inputs *s, gemel_value value) {
  uint64_t key = key_of(value.node, value.output);
  if (gemel__grow(&s->inputs, &s->capacity, s->n_inputs + 1, sizeof *s->inputs) != 0) {
    return -1;
  }
  s->inputs[s->n_inputs++] = value;
  return gemel__map_find(&s->numbers, key) != 0
             ? 0
             : gemel__map_put(&s->numbers, key, (uint32_t)s->n_inputs);
}

/* INPUT(k) for the value that the atom names, appended to the inputs when it is new. Atoms that are
 * INPUT already keep their meaning: they count from the front. */
static gemel_dim take_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  struct size_inputs *s = user;
  if (atom->kind != GEMEL__ATOM_VALUE) {
    return self;
  }
  uint64_t key = key_of(atom->a, atom->b);
  if (atom->a >= s->graph->n_nodes) {
    return GEMEL_DIM_NONE;
  }
  if (gemel__map_find(&s->numbers, key) == 0 &&
      add_input(s, (gemel_value){s->graph, atom->a, atom->b}) != 0) {
    s->no_memory = 1;
    return GEMEL_DIM_NONE;
  }
  return gemel__dim_input(s->graph->context, gemel__map_find(&s->numbers, key) - 1);
}

static const gemel_dim *attr_dims(const gemel_attr *a, size_t *count) {
  if (a->kind == GEMEL_ATTR_DIM) {
    *count = 1;
    return &a->u.dim;
  }
  *count = a->kind == (GEMEL_ATTR_DIM | GEMEL_ATTR_LIST) ? a->count : 0;
  return a->u.dims;
}

static int is_runtime(gemel_context *context, gemel_dim dim) {
  return gemel__dim_exists(context, dim) && gemel__dim_has_runtime(context, dim);
}

int gemel__runtime_sizes(size_t n_attrs, const gemel_attr *attrs, gemel_context *context) {
  size_t k, j, count;
  for (k = 0; k < n_attrs; k++) {
    const gemel_dim *dims = attr_dims(&attrs[k], &count);
    for (j = 0; j < count && dims != NULL; j++) {
      if (is_runtime(context, dims[j])) {
        return 1;
      }
    }
  }
  return 0;
}

/* Rewrites the dims of one attribute into ROOM; how many it used, -1 if one is none, or -2 when
 * memory is out. */
static long take_attr(struct size_inputs *s, gemel_attr *a, gemel_dim *room) {
  size_t count, j;
  const gemel_dim *dims = attr_dims(a, &count);
  unsigned failures = gemel__dim_memory_failures(s->graph->context);
  if (count > 0 && dims == NULL) {
    return -1;
  }
  for (j = 0; j < count; j++) {
    if (!gemel__dim_exists(s->graph->context, dims[j])) {
      return -1;
    }
    room[j] = gemel__dim_substitute(s->graph->context, dims[j], take_atom, s);
    if (gemel_dim_is_none(room[j])) {
      return gemel__dim_memory_failures(s->graph->context) == failures && !s->no_memory ? -1 : -2;
    }
  }
  if (count > 0) {
    if (a->kind == GEMEL_ATTR_DIM) {
      a->u.dim = room[0];
    } else {
      a->u.dims = room;
    }
  }
  return (long)count;
}

/* Dims in all ATTRS. */
static size_t count_dims(size_t n_attrs, const gemel_attr *attrs) {
  size_t all = 0, count;
  for (size_t k = 0; k < n_attrs; k++) {
    attr_dims(&attrs[k], &count);
    all += count;
  }
  return all;
}

/* Applies OP to the inputs in S and ATTRS, which are rewritten into TAKEN, their dims into ROOM. */
static gemel_value apply_taken(struct size_inputs *s, uint32_t op, size_t n_attrs,
                               const gemel_attr *attrs, gemel_attr *taken, gemel_dim *room,
                               gemel_location where) {
  const gemel__op *record = gemel__op_at(s->graph->context, op);
  uint32_t id;
  gemel_error error;
  for (size_t k = 0; k < n_attrs; k++) {
    taken[k] = attrs[k];
    long n = take_attr(s, &taken[k], room);
    if (n == -2) {
      return gemel__graph_fail_at(s->graph, where, GEMEL_NO_MEMORY, "out of memory for a size");
    }
    if (n < 0) {
      return gemel__graph_fail_at(s->graph, where, GEMEL_BAD_ARGUMENT,
                                  "%s: attribute %s: no size of this graph", record->record.name,
                                  attrs[k].name ? attrs[k].name : "(null)");
    }
    room += n;
  }
  if (gemel__attrs_intern(s->graph->context, record, n_attrs, taken, &id, &error) != GEMEL_OK) {
    gemel__error_place(&error, where);
    return gemel__graph_take_error(s->graph, &error);
  }
  return gemel__apply(s->graph, op, id, s->n_inputs, s->inputs, where);
}

gemel_value gemel__apply_sized(gemel_graph *graph, uint32_t op, size_t n_inputs,
                               const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                               gemel_location where) {
  struct size_inputs s = {.graph = graph};
  size_t n_dims = count_dims(n_attrs, attrs);
  gemel_attr *taken = gemel__alloc_array(n_attrs, sizeof *taken);
  gemel_dim *room = gemel__alloc_array(n_dims, sizeof *room);
  int failed = taken == NULL || room == NULL;
  for (size_t k = 0; k < n_inputs && !failed; k++) {
    failed = add_input(&s, inputs[k]) != 0;
  }
  gemel_value made =
      failed ? gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for a size")
             : apply_taken(&s, op, n_attrs, attrs, taken, room, where);
  gemel__free(taken, n_attrs * sizeof *taken);
  gemel__free(room, n_dims * sizeof *room);
  gemel__free(s.inputs, s.capacity * sizeof *s.inputs);
  gemel__map_clear(&s.numbers);
  return made;
}

/* ---- During inference ---- */

static int tensor_integer(const gemel_tensor *tensor, int64_t *number) {
  gemel_view view = gemel_tensor_view(tensor);
  if (view.rank != 0) {
    return 0;
  }
  switch (view.dtype) {
#define INTEGER_CASE(E, name, bytes, kind, ctype)                                                  \
  case GEMEL_##E:                                                                                  \
    *number = (int64_t) * (const ctype *)view.data;                                                \
    return kind == GEMEL_KIND_SIGNED || (kind == GEMEL_KIND_UNSIGNED && *number >= 0);
    GEMEL_DTYPE_TABLE(INTEGER_CASE)
#undef INTEGER_CASE
  default:
    return 0;
  }
}

int gemel__known_size(gemel_value value, gemel_dim *dim) {
  gemel_context *context = value.graph->context;
  uint32_t op = gemel__node_at(value.graph, value.node)->op;
  gemel_attr attr;
  int64_t number;
  if ((op != GEMEL__OP_constant && op != GEMEL__OP_size) ||
      gemel_value_attr(value, "value", &attr) != GEMEL_OK) {
    return 0;
  }
  if (op == GEMEL__OP_size) {
    *dim = attr.u.dim;
    return !gemel__dim_has_runtime(context, *dim);
  }
  if (!tensor_integer(attr.u.tensor, &number)) {
    return 0;
  }
  *dim = gemel_dim_constant(context, number);
  return 1;
}

struct resolving {
  const gemel_infer *call;
};

static gemel_dim resolve_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  const gemel_infer *call = ((struct resolving *)user)->call;
  gemel_dim dim;
  if (atom->kind != GEMEL__ATOM_INPUT) {
    return self;
  }
  if (atom->a >= call->n_inputs || call->input_values == NULL) {
    return GEMEL_DIM_NONE;
  }
  gemel_value value = call->input_values[atom->a];
  return gemel__known_size(value, &dim) ? dim : gemel_dim_of(value);
}

gemel_dim gemel__infer_resolve(const gemel_infer *call, gemel_dim dim) {
  struct resolving user = {call};
  if (!gemel__dim_has_runtime(call->context, dim)) {
    return dim;
  }
  return gemel__dim_substitute(call->context, dim, resolve_atom, &user);
}

/* For gemel__dim_substitute: notes that the atom is INPUT(k). */
struct reading {
  size_t input;
  int found;
};

static gemel_dim note_input(void *user, const gemel__atom *atom, gemel_dim self) {
  struct reading *r = user;
  r->found |= atom->kind == GEMEL__ATOM_INPUT && atom->a == r->input;
  return self;
}

int gemel__infer_reads(const gemel_infer *call, size_t input) {
  struct reading r = {input, 0};
  size_t count;
  for (size_t k = 0; k < call->n_attrs && !r.found; k++) {
    const gemel_dim *dims = attr_dims(&call->attrs[k], &count);
    for (size_t j = 0; j < count && !r.found; j++) {
      if (gemel__dim_has_runtime(call->context, dims[j])) {
        gemel__dim_substitute(call->context, dims[j], note_input, &r);
      }
    }
  }
  return r.found;
}
