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
#include "core/error.h"
#include "ops/ids.h"
#include "ops/ops.h"

enum { MAX_SIZED_INPUTS = 64, MAX_SIZED_DIMS = 256, MAX_ATTRS = 32 };

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
  if (dim == GEMEL_DIM_NONE) {
    gemel__graph_fail(value.graph, GEMEL_NO_MEMORY, "out of memory for a size");
  }
  return dim;
}

struct size_inputs {
  gemel_graph *graph;
  size_t n_inputs;
  gemel_value inputs[MAX_SIZED_INPUTS];
};

/* INPUT(k) for the value that the atom names, appended to the inputs when it is new. Atoms that are
 * INPUT already keep their meaning: they count from the front. */
static gemel_dim take_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  struct size_inputs *s = user;
  if (atom->kind != GEMEL__ATOM_VALUE) {
    return self;
  }
  size_t k;
  for (k = 0; k < s->n_inputs; k++) {
    if (s->inputs[k].node == atom->a && s->inputs[k].output == atom->b) {
      return gemel__dim_input(s->graph->context, (uint32_t)k);
    }
  }
  if (s->n_inputs == MAX_SIZED_INPUTS || atom->a >= s->graph->n_nodes) {
    return GEMEL_DIM_NONE;
  }
  s->inputs[k].graph = s->graph;
  s->inputs[k].node = atom->a;
  s->inputs[k].output = atom->b;
  s->n_inputs++;
  return gemel__dim_input(s->graph->context, (uint32_t)k);
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

/* Rewrites the dims of one attribute into ROOM; how many it used, -1 if one is none or there are
 * too many, or -2 when memory is out. */
static long take_attr(struct size_inputs *s, gemel_attr *a, gemel_dim *room, size_t n_room) {
  size_t count, j;
  const gemel_dim *dims = attr_dims(a, &count);
  unsigned failures = gemel__dim_memory_failures(s->graph->context);
  if (count > n_room || (count > 0 && dims == NULL)) {
    return -1;
  }
  for (j = 0; j < count; j++) {
    if (!gemel__dim_exists(s->graph->context, dims[j])) {
      return -1;
    }
    room[j] = gemel__dim_substitute(s->graph->context, dims[j], take_atom, s);
    if (room[j] == GEMEL_DIM_NONE) {
      return gemel__dim_memory_failures(s->graph->context) == failures ? -1 : -2;
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

gemel_value gemel__apply_sized(gemel_graph *graph, uint32_t op, size_t n_inputs,
                               const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                               gemel_location where) {
  struct size_inputs s;
  gemel_attr taken[MAX_ATTRS];
  gemel_dim room[MAX_SIZED_DIMS];
  size_t used = 0, k;
  uint32_t id;
  gemel_error error;
  const gemel__op *record = gemel__op_at(graph->context, op);
  if (n_inputs > MAX_SIZED_INPUTS / 2 || n_attrs > MAX_ATTRS) {
    return gemel__graph_fail_at(graph, where, GEMEL_UNSUPPORTED,
                                "%s with a size known at run time takes at most %d inputs",
                                record->record.name, MAX_SIZED_INPUTS / 2);
  }
  s.graph = graph;
  s.n_inputs = n_inputs;
  if (n_inputs > 0) {
    memcpy(s.inputs, inputs, n_inputs * sizeof *inputs);
  }
  for (k = 0; k < n_attrs; k++) {
    long n;
    taken[k] = attrs[k];
    n = take_attr(&s, &taken[k], room + used, MAX_SIZED_DIMS - used);
    if (n == -2) {
      return gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for a size");
    }
    if (n < 0) {
      return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT,
                                  "%s: attribute %s: no size of this graph, or too many",
                                  record->record.name, attrs[k].name ? attrs[k].name : "(null)");
    }
    used += (size_t)n;
  }
  if (gemel__attrs_intern(graph->context, record, n_attrs, taken, &id, &error) != GEMEL_OK) {
    gemel__error_place(&error, where);
    return gemel__graph_take_error(graph, &error);
  }
  return gemel__apply(graph, op, id, s.n_inputs, s.inputs, where);
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

/* The integer that a constant holds, if VALUE is a constant scalar. */
static int constant_integer(gemel_value value, int64_t *number) {
  gemel_attr attr;
  if (gemel__node_at(value.graph, value.node)->op != GEMEL__OP_constant ||
      gemel_value_attr(value, "value", &attr) != GEMEL_OK) {
    return 0;
  }
  return tensor_integer(attr.u.tensor, number);
}

struct resolving {
  const gemel_infer *call;
};

static gemel_dim resolve_atom(void *user, const gemel__atom *atom, gemel_dim self) {
  const gemel_infer *call = ((struct resolving *)user)->call;
  int64_t number;
  if (atom->kind != GEMEL__ATOM_INPUT) {
    return self;
  }
  if (atom->a >= call->n_inputs || call->input_values == NULL) {
    return GEMEL_DIM_NONE;
  }
  gemel_value value = call->input_values[atom->a];
  if (constant_integer(value, &number)) {
    return gemel_dim_constant(call->context, number);
  }
  return gemel_dim_of(value);
}

gemel_dim gemel__infer_resolve(const gemel_infer *call, gemel_dim dim) {
  struct resolving user = {call};
  if (!gemel__dim_has_runtime(call->context, dim)) {
    return dim;
  }
  return gemel__dim_substitute(call->context, dim, resolve_atom, &user);
}
