/* SPDX-License-Identifier: MIT
 *
 * Items, see item.h: what is known, made into what is wanted.
 */
#include "composites/item.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <gemel/composite.h>
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"

int gemel__expansion_fail(gemel__expansion *x, gemel_status status, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  int named = x->node == NULL; /* who reads a model names the node */
  gemel__graph_fail_at(x->graph, x->where, status, "%s%s%s", named ? x->composite->name : "",
                       named ? ": " : "", text);
  return -1;
}

int gemel__expansion_no_memory(gemel__expansion *x) {
  gemel__graph_fail_at(x->graph, x->where, GEMEL_NO_MEMORY, "out of memory for %s",
                       x->composite->name);
  return -1;
}

int gemel__item_list(gemel__expansion *x, size_t count, gemel__item *item) {
  enum { MOST_ITEMS = 4096 };
  if (count > MOST_ITEMS) {
    return gemel__expansion_fail(x, GEMEL_BAD_VALUE, "a list of more than %d", MOST_ITEMS);
  }
  gemel__item *items = gemel__arena_alloc(&x->arena, (count + 1) * sizeof *items);
  if (items == NULL) {
    return gemel__expansion_no_memory(x);
  }
  memset(items, 0, (count + 1) * sizeof *items);
  item->kind = GEMEL__ITEM_LIST;
  item->u.list.items = items;
  item->u.list.count = count;
  return 0;
}

int gemel__item_size(gemel__expansion *x, gemel_dim size, gemel__item *item) {
  if (gemel_dim_is_none(size)) {
    return gemel__expansion_fail(x, GEMEL_BAD_SHAPE, "a size is too large, or divided by 0");
  }
  item->kind = GEMEL__ITEM_SIZE;
  int64_t number;
  if (gemel_dim_is_constant(x->context, size, &number)) {
    item->kind = GEMEL__ITEM_INTEGER;
    item->u.integer = number;
  } else {
    item->u.size = size;
  }
  return 0;
}

const char *gemel__item_name(const gemel__item *item) {
  static const char *const names[] = {"none",       "a value",  "true or false",
                                      "an integer", "a number", "a size that isn't known",
                                      "a dtype",    "a text",   "a list"};
  return names[item->kind];
}

int gemel__item_is_number(const gemel__item *item) {
  return item->kind == GEMEL__ITEM_BOOL || item->kind == GEMEL__ITEM_INTEGER ||
         item->kind == GEMEL__ITEM_REAL || item->kind == GEMEL__ITEM_SIZE;
}

double gemel__item_real(const gemel__item *item) {
  return item->kind == GEMEL__ITEM_REAL   ? item->u.real
         : item->kind == GEMEL__ITEM_SIZE ? 0
                                          : (double)item->u.integer;
}

int gemel__item_to_size(gemel__expansion *x, const gemel__item *item, gemel_dim *size) {
  switch (item->kind) {
  case GEMEL__ITEM_INTEGER:
    *size = gemel_dim_constant(x->context, item->u.integer);
    return gemel_dim_is_none(*size) ? gemel__expansion_no_memory(x) : 0;
  case GEMEL__ITEM_SIZE:
    *size = item->u.size;
    return 0;
  case GEMEL__ITEM_VALUE:
    *size = gemel_dim_of(item->u.value);
    return gemel_dim_is_none(*size) ? -1 : 0;
  default:
    return gemel__expansion_fail(x, GEMEL_BAD_ARGUMENT, "%s is no size", gemel__item_name(item));
  }
}

/* ---- Values ---- */

gemel_value gemel__item_model(const gemel__item *items, size_t n) {
  gemel_value best = gemel__no_value;
  int best_rank = -1;
  for (size_t k = 0; k < n; k++) {
    if (items[k].kind == GEMEL__ITEM_VALUE) {
      gemel_kind kind = gemel_dtype_kind(gemel__value_dtype(items[k].u.value));
      int rank = kind == GEMEL_KIND_FLOAT ? 2 : kind == GEMEL_KIND_BOOL ? 0 : 1;
      if (rank > best_rank) {
        best = items[k].u.value;
        best_rank = rank;
      }
    }
  }
  return best;
}

/* The dtype that a number has beside MODEL. */
static gemel_dtype number_dtype(const gemel__item *item, gemel_value model) {
  int real = item->kind == GEMEL__ITEM_REAL;
  if (gemel_is_null(model)) {
    return real ? GEMEL_F64 : item->kind == GEMEL__ITEM_BOOL ? GEMEL_BOOL : GEMEL_I64;
  }
  gemel_dtype dtype = gemel__value_dtype(model);
  gemel_kind kind = gemel_dtype_kind(dtype);
  if (kind == GEMEL_KIND_BOOL) {
    return real ? GEMEL_F64 : item->kind == GEMEL__ITEM_BOOL ? GEMEL_BOOL : GEMEL_I64;
  }
  return real && kind != GEMEL_KIND_FLOAT ? GEMEL_F64 : dtype;
}

int gemel__item_to_value(gemel__expansion *x, const gemel__item *item, gemel_value model,
                         gemel_value *value) {
  if (item->kind == GEMEL__ITEM_VALUE) {
    *value = item->u.value;
    return 0;
  }
  if (!gemel__item_is_number(item)) {
    return gemel__expansion_fail(x, GEMEL_BAD_ARGUMENT, "%s is no operand", gemel__item_name(item));
  }
  return gemel__item_to_dtype(x, item, model, number_dtype(item, model), value);
}

int gemel__item_to_dtype(gemel__expansion *x, const gemel__item *item, gemel_value model,
                         gemel_dtype dtype, gemel_value *value) {
  if (item->kind == GEMEL__ITEM_SIZE) {
    *value = gemel_size_at(x->graph, item->u.size, x->where);
    *value = dtype == GEMEL_I64 ? *value : gemel_cast_at(*value, dtype, x->where);
    if (!gemel_is_null(model) && !gemel_is_null(*value)) {
      int space = gemel_type_space(x->context, gemel_value_type(model));
      *value = gemel__in_space(*value, space, x->where);
    }
  } else {
    *value = gemel_is_null(model)
                 ? gemel_scalar_at(x->graph, dtype, gemel__item_real(item), x->where)
                 : gemel__scalar_with(model, dtype, gemel__item_real(item), x->where);
  }
  return gemel_is_null(*value) ? -1 : 0;
}

/* ---- Attributes ---- */

static int wrong_attr(gemel__expansion *x, const gemel__item *item, const gemel_attr_spec *spec) {
  return gemel__expansion_fail(x, GEMEL_BAD_ARGUMENT, "%s can't be %s", spec->name,
                               gemel__item_name(item));
}

/* The items of a list, or the one that ITEM is. */
static const gemel__item *items_of(const gemel__item *item, size_t *count) {
  *count = item->kind == GEMEL__ITEM_LIST ? item->u.list.count : 1;
  return item->kind == GEMEL__ITEM_LIST ? item->u.list.items : item;
}

static int list_to_attr(gemel__expansion *x, const gemel__item *item, const gemel_attr_spec *spec,
                        gemel_attr *attr) {
  const gemel__item *items = items_of(item, &attr->count);
  int whole = spec->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT);
  void *room = gemel__arena_alloc(&x->arena, (attr->count + 1) * sizeof(int64_t));
  if (room == NULL) {
    return gemel__expansion_no_memory(x);
  }
  for (size_t k = 0; k < attr->count; k++) {
    if (!whole && gemel__item_to_size(x, &items[k], &((gemel_dim *)room)[k]) != 0) {
      return -1;
    }
    if (whole && items[k].kind != GEMEL__ITEM_INTEGER) {
      return wrong_attr(x, &items[k], spec);
    }
    if (whole) {
      ((int64_t *)room)[k] = items[k].u.integer;
    }
  }
  if (whole) {
    attr->u.ints = room;
  } else {
    attr->u.dims = room;
  }
  return 0;
}

int gemel__item_to_attr(gemel__expansion *x, const gemel__item *item, const gemel_attr_spec *spec,
                        gemel_attr *attr) {
  memset(attr, 0, sizeof *attr);
  attr->name = spec->name;
  attr->kind = spec->kind;
  switch (spec->kind) {
  case GEMEL_ATTR_INT:
    attr->u.i = item->u.integer;
    return item->kind == GEMEL__ITEM_INTEGER || item->kind == GEMEL__ITEM_BOOL
               ? 0
               : wrong_attr(x, item, spec);
  case GEMEL_ATTR_FLOAT:
    attr->u.f = gemel__item_real(item);
    return gemel__item_is_number(item) && item->kind != GEMEL__ITEM_SIZE
               ? 0
               : wrong_attr(x, item, spec);
  case GEMEL_ATTR_DTYPE:
    attr->u.dtype = item->u.dtype;
    return item->kind == GEMEL__ITEM_DTYPE ? 0 : wrong_attr(x, item, spec);
  case GEMEL_ATTR_STRING:
    attr->u.text = item->u.text;
    return item->kind == GEMEL__ITEM_TEXT ? 0 : wrong_attr(x, item, spec);
  case GEMEL_ATTR_DIM:
    return gemel__item_to_size(x, item, &attr->u.dim);
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
  case GEMEL_ATTR_LIST | GEMEL_ATTR_DIM:
    return list_to_attr(x, item, spec, attr);
  default:
    return gemel__expansion_fail(x, GEMEL_UNSUPPORTED, "%s is of a kind that composites don't have",
                                 spec->name);
  }
}

int gemel__item_of_attr(gemel__expansion *x, const gemel_attr *attr, gemel__item *item) {
  memset(item, 0, sizeof *item);
  switch (attr->kind) {
  case GEMEL_ATTR_NONE:
    return 0;
  case GEMEL_ATTR_INT:
    item->kind = GEMEL__ITEM_INTEGER;
    item->u.integer = attr->u.i;
    return 0;
  case GEMEL_ATTR_FLOAT:
    item->kind = GEMEL__ITEM_REAL;
    item->u.real = attr->u.f;
    return 0;
  case GEMEL_ATTR_DTYPE:
    item->kind = GEMEL__ITEM_DTYPE;
    item->u.dtype = attr->u.dtype;
    return (unsigned)attr->u.dtype < GEMEL_DTYPE_COUNT
               ? 0
               : gemel__expansion_fail(x, GEMEL_BAD_ARGUMENT, "no such dtype");
  case GEMEL_ATTR_STRING:
    item->kind = GEMEL__ITEM_TEXT;
    item->u.text = attr->u.text != NULL ? attr->u.text : "";
    return 0;
  case GEMEL_ATTR_DIM:
    return gemel__item_size(x, attr->u.dim, item);
  default:
    break;
  }
  if (gemel__item_list(x, attr->count, item) != 0) {
    return -1;
  }
  for (size_t k = 0; k < attr->count; k++) {
    gemel__item *one = &item->u.list.items[k];
    one->kind = GEMEL__ITEM_INTEGER;
    if (attr->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT)) {
      one->u.integer = attr->u.ints[k];
    } else if (gemel__item_size(x, attr->u.dims[k], one) != 0) {
      return -1;
    }
  }
  return 0;
}
