/* SPDX-License-Identifier: MIT
 *
 * Schemas of attributes: what a program may write in one, checked when an operation is registered,
 * and what an attribute that isn't given is. Fallbacks are text that reads alike in every locale.
 */
#include "core/schema.h"

#include <string.h>
#include "core/error.h"
#include "core/registry.h"
#include "core/number.h"

static int read_number(const char *text, gemel__number *number) {
  gemel__lex lex;
  gemel__lex_start(&lex, text, strlen(text), "");
  return gemel__number_read(&lex, number, NULL) == GEMEL_OK && lex.kind == GEMEL__TOKEN_END ? 0
                                                                                            : -1;
}

static int read_int(const char *text, int64_t *value) {
  gemel__number number;
  if (strcmp(text, "false") == 0 || strcmp(text, "true") == 0) {
    *value = text[0] == 't';
    return 0;
  }
  return read_number(text, &number) == 0 ? gemel__number_int(&number, value) : -1;
}

static int read_float(const char *text, double *value) {
  gemel__number number;
  if (read_number(text, &number) != 0) {
    return -1;
  }
  *value = gemel__number_double(&number);
  return 0;
}

int gemel__schema_fallback(const gemel_attr_spec *spec, gemel_attr *a) {
  memset(a, 0, sizeof *a);
  a->name = spec->name;
  a->kind = spec->kind;
  if (strcmp(spec->fallback, "none") == 0) {
    a->kind = GEMEL_ATTR_NONE;
    return 0;
  }
  if (spec->kind & GEMEL_ATTR_LIST) {
    return strcmp(spec->fallback, "[]") == 0 ? 0 : -1;
  }
  switch (spec->kind) {
  case GEMEL_ATTR_INT:
    return read_int(spec->fallback, &a->u.i);
  case GEMEL_ATTR_FLOAT:
    return read_float(spec->fallback, &a->u.f);
  case GEMEL_ATTR_DTYPE:
    return gemel_dtype_find(spec->fallback, &a->u.dtype) == GEMEL_OK ? 0 : -1;
  case GEMEL_ATTR_STRING:
    a->u.text = spec->fallback;
    return 0;
  default: /* dims, tensors and graphs can't be written down here */
    return -1;
  }
}

static int same_name_before(const gemel_attr_spec *specs, size_t k) {
  for (size_t j = 0; j < k; j++) {
    if (strcmp(specs[j].name, specs[k].name) == 0) {
      return 1;
    }
  }
  return 0;
}

gemel_status gemel__schema_check(const char *operation, const gemel_attr_spec *specs,
                                 gemel_error *error) {
  size_t k;
  for (k = 0; specs != NULL && specs[k].name != NULL; k++) {
    int base = specs[k].kind & ~GEMEL_ATTR_LIST;
    gemel_attr fallback;
    if (k == GEMEL__MAX_ATTRS) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "operation %s has more than %d attributes",
                         operation, GEMEL__MAX_ATTRS);
    }
    if (!gemel__is_name(specs[k].name) || same_name_before(specs, k)) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                         "operation %s: attribute %zu has a malformed name or that of another",
                         operation, k);
    }
    if (base < GEMEL_ATTR_INT || base > GEMEL_ATTR_GRAPH) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "operation %s: attribute %s has no kind",
                         operation, specs[k].name);
    }
    if (specs[k].fallback != NULL && gemel__schema_fallback(&specs[k], &fallback) != 0) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                         "operation %s: attribute %s can't be \"%s\" when it isn't given",
                         operation, specs[k].name, specs[k].fallback);
    }
  }
  return GEMEL_OK;
}
