/* SPDX-License-Identifier: MIT
 *
 * Replacing constant sizes by symbols, see symbolize.h.
 */
#include "sample/symbolize.h"

#include <stdio.h>
#include <string.h>
#include "core/error.h"
#include "core/schema.h"

/* The index of DIM's symbol; COUNT if there is none. */
static size_t find(gemel_context *context, const gemel__symbols *symbols, gemel_dim dim) {
  int64_t size;
  size_t k = 0;
  if (!gemel_dim_is_constant(context, dim, &size)) {
    return symbols->count;
  }
  while (k < symbols->count && symbols->sizes[k] != size) {
    k++;
  }
  return k;
}

static gemel_dim symbol_of(gemel_context *context, const gemel__symbols *symbols, gemel_dim dim) {
  size_t k = find(context, symbols, dim);
  return k < symbols->count ? symbols->dims[k] : dim;
}

/* Adds a symbol for DIM if it is a constant above 1 without one. 0, or -1 when memory is out. */
static int add_symbol(gemel_context *context, gemel__symbols *symbols, gemel_dim dim) {
  int64_t size;
  char name[32];
  if (!gemel_dim_is_constant(context, dim, &size) || size < 2 || symbols->count == GEMEL__SYMBOLS ||
      find(context, symbols, dim) < symbols->count) {
    return 0;
  }
  snprintf(name, sizeof name, "n%lld", (long long)size);
  gemel_dim made = gemel_dim_symbol(context, name);
  if (gemel_dim_is_none(made)) {
    return -1;
  }
  symbols->sizes[symbols->count] = size;
  symbols->dims[symbols->count++] = made;
  return 0;
}

gemel_type gemel__symbolized(gemel_context *context, gemel_type type,
                             const gemel__symbols *symbols) {
  int rank = gemel_type_rank(context, type);
  const gemel_dim *dims = gemel_type_dims(context, type);
  gemel_dim named[GEMEL_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    named[k] = symbol_of(context, symbols, dims[k]);
  }
  return gemel__type_with_dims(context, type, rank, named);
}

gemel_status gemel__symbolize(gemel_context *context, size_t n, const gemel_type *types,
                              gemel_type *symbolic, gemel__symbols *symbols, gemel_error *error) {
  for (size_t k = 0; k < n; k++) {
    int rank = gemel_type_rank(context, types[k]);
    const gemel_dim *dims = gemel_type_dims(context, types[k]);
    for (int axis = 0; axis < rank; axis++) {
      if (add_symbol(context, symbols, dims[axis]) != 0) {
        return gemel__no_memory(error, "a symbol");
      }
    }
    symbolic[k] = gemel__symbolized(context, types[k], symbols);
    if (gemel_type_is_none(symbolic[k])) {
      return gemel__no_memory(error, "a type");
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__symbolize_attrs(gemel_context *context, uint32_t attrs,
                                    const gemel__symbols *symbols, uint32_t *id,
                                    gemel_error *error) {
  const struct gemel__attrs *stored = gemel__attrs_at(context, attrs);
  gemel_attr values[GEMEL__MAX_ATTRS];
  gemel_dim room[256];
  size_t used = 0;
  for (size_t k = 0; k < stored->count; k++) {
    gemel_attr *a = &values[k];
    *a = stored->values[k];
    if (a->kind == GEMEL_ATTR_DIM) {
      a->u.dim = symbol_of(context, symbols, a->u.dim);
    } else if (a->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM) &&
               a->count <= sizeof room / sizeof *room - used) {
      for (size_t i = 0; i < a->count; i++) {
        room[used + i] = symbol_of(context, symbols, a->u.dims[i]);
      }
      a->u.dims = room + used;
      used += a->count;
    }
  }
  *id = attrs;
  return stored->count == 0 ? GEMEL_OK
                            : gemel__attrs_intern(context, gemel__op_at(context, stored->op),
                                                  stored->count, values, id, error);
}
