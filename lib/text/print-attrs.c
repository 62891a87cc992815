/* SPDX-License-Identifier: MIT
 *
 * Attributes, types and tensors as text. An attribute is left out if interning the others alone
 * gives the same attributes: so what a fallback means is known in one place, the core.
 *
 * In a dim, the name of a symbol that is also the name of a value is written $NAME, since there a
 * value's name means the size that it holds.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/number.h"
#include "text/print.h"

enum { MAX_ATTRS = 32, DIM_TEXT = 4096 };

static void put_element(gemel_dtype dtype, const void *element, gemel__writer *out) {
  char text[GEMEL__NUMBER_TEXT];
  gemel__put(out, text, gemel__number_format(dtype, element, text));
}

/* ---- Dims and types ---- */

static int letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int digit(char c) {
  return c >= '0' && c <= '9';
}

/* 1 if the printed graph has a value of this name, or the word means something else in a dim. */
static int is_taken(const gemel__naming *naming, const char *name, size_t length) {
  char copy[DIM_TEXT + 1];
  size_t n = naming->prefix_length, k = n;
  if (length > n && memcmp(name, naming->prefix, n) == 0) {
    while (k < length && digit(name[k])) {
      k++;
    }
    if (k == length) {
      return 1;
    }
  }
  memcpy(copy, name, length);
  copy[length] = 0;
  const char *interned = gemel__intern_string(naming->graph->context, copy);
  return strcmp(copy, "none") == 0 || !interned ||
         gemel__name_find(&naming->graph->input_table, naming->graph->input_names, interned) >= 0;
}

static void put_dim(const gemel__naming *naming, gemel_dim dim, gemel__writer *out) {
  char text[DIM_TEXT + 1];
  gemel_dim_format(naming->graph->context, dim, text, sizeof text);
  for (const char *p = text; *p;) {
    const char *from = p;
    if (!letter(*p) || (p > text && p[-1] == '$')) {
      gemel__put(out, p++, 1);
      continue;
    }
    while (letter(*p) || digit(*p)) {
      p++;
    }
    if (*p != '(' && is_taken(naming, from, (size_t)(p - from))) {
      gemel__put(out, "$", 1);
    }
    gemel__put(out, from, (size_t)(p - from));
  }
}

void gemel__print_type(gemel_context *context, gemel_type type, gemel__writer *out) {
  char text[DIM_TEXT + 1];
  int rank = gemel_type_rank(context, type), space = gemel_type_space(context, type);
  const gemel_dim *dims = gemel_type_dims(context, type);
  gemel__put_text(out, gemel_dtype_name(gemel_type_dtype(context, type)));
  gemel__put(out, "[", 1);
  for (int k = 0; k < rank; k++) {
    gemel__put(out, ", ", k ? 2 : 0);
    gemel_dim_format(context, dims[k], text, sizeof text);
    gemel__put_text(out, text);
  }
  gemel__put(out, "]", 1);
  if (space != GEMEL_SPACE_HOST) {
    gemel__put(out, "@", 1);
    gemel__put_number(out, (uint64_t)space);
  }
}

void gemel__print_tensor(const gemel_tensor *tensor, gemel__writer *out) {
  gemel_view v = gemel_tensor_view(tensor);
  size_t bytes = gemel_dtype_size(v.dtype);
  int64_t n = gemel_tensor_elements(tensor);
  if (v.rank == 0) {
    put_element(v.dtype, v.data, out);
    gemel__put(out, ":", 1);
    gemel__put_text(out, gemel_dtype_name(v.dtype));
    return;
  }
  gemel__put_text(out, "tensor(");
  gemel__put_text(out, gemel_dtype_name(v.dtype));
  for (int k = 0; k < v.rank; k++) {
    gemel__put_text(out, k ? ", " : "[");
    gemel__put_number(out, (uint64_t)v.shape[k]);
  }
  gemel__put_text(out, "], [");
  for (int64_t k = 0; k < n; k++) { /* attributes are row-major copies */
    gemel__put(out, ", ", k ? 2 : 0);
    put_element(v.dtype, (const char *)v.data + (size_t)k * bytes, out);
  }
  gemel__put_text(out, "])");
}

/* ---- Attributes ---- */

static void put_string(const char *text, gemel__writer *out) {
  static const char hex[] = "0123456789abcdef";
  gemel__put(out, "\"", 1);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      gemel__put(out, "\\", 1);
      gemel__put(out, text, 1);
    } else if (c == '\n' || c == '\t') {
      gemel__put_text(out, c == '\n' ? "\\n" : "\\t");
    } else if (c < 32 || c == 127) {
      char escape[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
      gemel__put(out, escape, 4);
    } else {
      gemel__put(out, text, 1);
    }
  }
  gemel__put(out, "\"", 1);
}

static void put_graph(const gemel__naming *naming, const gemel_graph *graph, gemel__writer *out) {
  gemel__put_text(out, naming->body_prefix);
  gemel__put_number(out, gemel__bodies_index(naming->bodies, graph) + 1);
}

/* Element K of an attribute whose elements, one or many, begin at DATA. */
static void put_value(const gemel__naming *naming, int kind, const void *data, size_t k,
                      gemel__writer *out) {
  switch (kind) {
  case GEMEL_ATTR_INT:
    put_element(GEMEL_I64, (const int64_t *)data + k, out);
    break;
  case GEMEL_ATTR_DIM:
    put_dim(naming, ((const gemel_dim *)data)[k], out);
    break;
  case GEMEL_ATTR_FLOAT:
    put_element(GEMEL_F64, (const double *)data + k, out);
    break;
  case GEMEL_ATTR_DTYPE:
    gemel__put_text(out, gemel_dtype_name(((const gemel_dtype *)data)[k]));
    break;
  case GEMEL_ATTR_STRING:
    put_string(((const char *const *)data)[k], out);
    break;
  case GEMEL_ATTR_TENSOR:
    gemel__print_tensor(((gemel_tensor *const *)data)[k], out);
    break;
  case GEMEL_ATTR_GRAPH:
    put_graph(naming, ((gemel_graph *const *)data)[k], out);
    break;
  default:
    gemel__put_text(out, "none");
  }
}

static void put_attr(const gemel__naming *naming, const gemel_attr *a, gemel__writer *out) {
  gemel__put(out, ", ", 2);
  gemel__put_text(out, a->name);
  gemel__put(out, " = ", 3);
  if (!(a->kind & GEMEL_ATTR_LIST)) {
    put_value(naming, a->kind, &a->u, 0, out);
    return;
  }
  gemel__put(out, "[", 1);
  for (size_t k = 0; k < a->count; k++) {
    gemel__put(out, ", ", k ? 2 : 0);
    put_value(naming, a->kind & ~GEMEL_ATTR_LIST, a->u.ints, k, out);
  }
  gemel__put(out, "]", 1);
}

/* *SAME: attribute K is what it would be if it were not given. */
static gemel_status is_fallback(gemel_context *context, uint32_t attrs, size_t k, int *same,
                                gemel_error *error) {
  const struct gemel__attrs *stored = gemel__attrs_at(context, attrs);
  const gemel__op *op = gemel__op_at(context, stored->op);
  gemel_attr others[MAX_ATTRS];
  uint32_t id;
  size_t n = 0;
  *same = 0;
  if (!op->record.attrs[k].fallback || stored->count > MAX_ATTRS) {
    return GEMEL_OK;
  }
  for (size_t i = 0; i < stored->count; i++) {
    if (i != k) {
      others[n++] = stored->values[i];
    }
  }
  gemel_status status = gemel__attrs_intern(context, op, n, others, &id, error);
  *same = !status && id == attrs;
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

gemel_status gemel__print_attrs(const gemel__naming *naming, uint32_t attrs, gemel__writer *out,
                                gemel_error *error) {
  gemel_context *context = naming->graph->context;
  const struct gemel__attrs *stored = gemel__attrs_at(context, attrs);
  for (size_t k = 0; k < stored->count; k++) {
    int same;
    gemel_status status = is_fallback(context, attrs, k, &same, error);
    if (status) {
      return status;
    }
    if (!same) {
      put_attr(naming, &stored->values[k], out);
    }
  }
  return GEMEL_OK;
}

void gemel__print_facts(unsigned facts, gemel__writer *out) {
  int positive = (facts & GEMEL_FACT_POSITIVE) == GEMEL_FACT_POSITIVE;
  facts &= positive ? ~(unsigned)GEMEL_FACT_POSITIVE : ~0u;
  facts &= facts & GEMEL_FACT_FINITE ? ~(unsigned)GEMEL_FACT_NOT_NAN : ~0u;
  gemel__put_text(out, positive ? " positive" : "");
#define PUT_FACT(E, word, bit, meaning) gemel__put_text(out, facts &(bit) ? " " #word : "");
  GEMEL_FACT_TABLE(PUT_FACT)
#undef PUT_FACT
}
