/* SPDX-License-Identifier: MIT
 *
 * Terms from attributes, and attributes from terms. Integers and dims are one kind of entry here,
 * whichever an operation's schema asks for; a size that is an input of the node which has the
 * attribute is the number or symbols that this input is known to hold, or else named by the value
 * that it is, and then becomes an input again where it is put.
 */
#include <string.h>
#include "core/attrs.h"
#include "core/sizes.h"
#include "rules/functions.h"

/* ---- From attributes ---- */

typedef struct owner {
  const gemel__scene *scene;
  uint32_t node;
} owner;

static gemel_dim name_input(void *user, const gemel__atom *atom, gemel_dim self) {
  const owner *o = (const owner *)user;
  uint32_t n;
  const gemel__ref *inputs = gemel__node_inputs(o->scene->graph, o->node, &n);
  gemel_dim dim;
  if (atom->kind != GEMEL__ATOM_INPUT) {
    return self;
  }
  if (atom->a >= n) {
    return GEMEL_DIM_NONE;
  }
  gemel_value value = gemel__value(o->scene->graph, inputs[atom->a]);
  return gemel__known_size(value, &dim)
             ? dim
             : gemel__dim_value(o->scene->graph->context, value.node, value.output);
}

static gemel_status load_dim(const owner *o, gemel_dim dim, gemel__entry *entry) {
  gemel_context *context = o->scene->graph->context;
  unsigned failures = gemel__dim_memory_failures(context);
  if (gemel__dim_has_runtime(context, dim)) {
    dim = gemel__dim_substitute(context, dim, name_input, (void *)o);
  }
  if (gemel_dim_is_none(dim)) {
    return gemel__dim_memory_failures(context) == failures
               ? GEMEL_DECLINED
               : gemel__no_memory(o->scene->error, "a size");
  }
  *entry = gemel__entry_dim(context, dim);
  return GEMEL_OK;
}

gemel_status gemel__term_of_attr(const gemel__scene *scene, uint32_t node, const gemel_attr *attr,
                                 gemel__term *term) {
  gemel__termcall call = {scene, scene->graph->context, NULL, 0, term};
  owner o = {scene, node};
  gemel__entry entry, *list;
  gemel_status status;
  memset(term, 0, sizeof *term);
  switch (attr->kind) {
  case GEMEL_ATTR_NONE:
    term->kind = GEMEL__TERM_ABSENT;
    return GEMEL_OK;
  case GEMEL_ATTR_INT:
    return gemel__give_number(&call, attr->u.i);
  case GEMEL_ATTR_DIM:
    status = load_dim(&o, attr->u.dim, &entry);
    return status ? status : gemel__give_entry(&call, entry);
  case GEMEL_ATTR_FLOAT:
    return gemel__give_real(&call, attr->u.f);
  case GEMEL_ATTR_DTYPE:
    return gemel__give_dtype(&call, attr->u.dtype);
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
  case GEMEL_ATTR_LIST | GEMEL_ATTR_DIM:
    status = gemel__give_list(&call, attr->count, &list);
    for (size_t k = 0; status == GEMEL_OK && k < attr->count; k++) {
      if (attr->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT)) {
        list[k] = gemel__entry_int(attr->u.ints[k]);
      } else {
        status = load_dim(&o, attr->u.dims[k], &list[k]);
      }
    }
    return status;
  default:
    term->kind = GEMEL__TERM_OTHER;
    term->u.attr = attr;
    return GEMEL_OK;
  }
}

/* ---- To attributes ---- */

static gemel_status to_ints(const gemel__scene *scene, const gemel__term *term, gemel_attr *attr) {
  int64_t *ints;
  if (!gemel__has_integers(term)) {
    return GEMEL_DECLINED;
  }
  ints = gemel__arena_alloc(scene->arena, (term->count + 1) * sizeof *ints);
  if (ints == NULL) {
    return gemel__no_memory(scene->error, "an attribute");
  }
  for (uint32_t k = 0; k < term->count; k++) {
    ints[k] = term->list[k].value;
  }
  attr->count = term->count;
  attr->u.ints = ints;
  return GEMEL_OK;
}

static gemel_status to_dims(const gemel__scene *scene, const gemel__term *term, gemel_attr *attr) {
  gemel_dim *dims = gemel__arena_alloc(scene->arena, (term->count + 1) * sizeof *dims);
  if (dims == NULL) {
    return gemel__no_memory(scene->error, "an attribute");
  }
  for (uint32_t k = 0; k < term->count; k++) {
    dims[k] = gemel__dim_of_entry(scene->graph->context, term->list[k]);
    if (gemel_dim_is_none(dims[k])) {
      return gemel__no_memory(scene->error, "an attribute");
    }
  }
  attr->count = term->count;
  attr->u.dims = dims;
  return GEMEL_OK;
}

static gemel_status to_number(const gemel__scene *scene, const gemel__term *term,
                              gemel_attr *attr) {
  int64_t value;
  if (attr->kind == GEMEL_ATTR_DIM) {
    attr->u.dim = gemel__dim_of_entry(scene->graph->context, term->list[0]);
    return gemel_dim_is_none(attr->u.dim) ? gemel__no_memory(scene->error, "an attribute")
                                          : GEMEL_OK;
  }
  if (!gemel__is_integer(term)) {
    return GEMEL_DECLINED;
  }
  value = term->list[0].value;
  if (attr->kind == GEMEL_ATTR_INT) {
    attr->u.i = value;
    return GEMEL_OK;
  }
  attr->u.f = (double)value;
  return attr->kind == GEMEL_ATTR_FLOAT && value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53
             ? GEMEL_OK
             : GEMEL_DECLINED;
}

static gemel_status to_list(const gemel__scene *scene, const gemel__term *term, gemel_attr *attr) {
  switch (attr->kind) {
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
    return to_ints(scene, term, attr);
  case GEMEL_ATTR_LIST | GEMEL_ATTR_DIM:
    return to_dims(scene, term, attr);
  default: /* an empty list is one of any kind */
    return attr->kind & GEMEL_ATTR_LIST && term->count == 0 ? GEMEL_OK : GEMEL_DECLINED;
  }
}

gemel_status gemel__term_to_attr(const gemel__scene *scene, const gemel__term *term,
                                 const gemel_attr_spec *spec, gemel_attr *attr) {
  memset(attr, 0, sizeof *attr);
  attr->name = spec->name;
  attr->kind = spec->kind;
  switch (term->kind) {
  case GEMEL__TERM_ABSENT:
    attr->kind = GEMEL_ATTR_NONE;
    return spec->fallback != NULL && strcmp(spec->fallback, "none") == 0 ? GEMEL_OK
                                                                         : GEMEL_DECLINED;
  case GEMEL__TERM_NUMBER:
    return to_number(scene, term, attr);
  case GEMEL__TERM_LIST:
    return to_list(scene, term, attr);
  case GEMEL__TERM_REAL:
    attr->u.f = term->u.real;
    return spec->kind == GEMEL_ATTR_FLOAT ? GEMEL_OK : GEMEL_DECLINED;
  case GEMEL__TERM_DTYPE:
    attr->u.dtype = term->u.dtype;
    return spec->kind == GEMEL_ATTR_DTYPE ? GEMEL_OK : GEMEL_DECLINED;
  case GEMEL__TERM_OTHER:
    *attr = *term->u.attr;
    attr->name = spec->name;
    return attr->kind == spec->kind ? GEMEL_OK : GEMEL_DECLINED;
  default:
    return GEMEL_DECLINED;
  }
}
