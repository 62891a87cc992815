/* SPDX-License-Identifier: MIT
 *
 * Attributes as text: one reader a kind, and lists of each in brackets. An element is read into a
 * slot of 64 bits first; a list's slots are then packed into an array of the kind's own type, which
 * lives in the store until the attribute has been interned.
 */
#include <string.h>
#include "core/alloc.h"
#include "text/values.h"

typedef struct attr_reader {
  gemel_context *context;
  gemel__lex *lex;
  const gemel__scope *scope;
  gemel__attr_store *store;
  const gemel_attr_spec *spec;
  gemel_error *error;
} attr_reader;

/* One element, whatever its kind. */
typedef union attr_slot {
  uint64_t bits;
  int64_t i;
  gemel_dim dim;
  double f;
  gemel_dtype dtype;
  const char *text;
  gemel_tensor *tensor;
  gemel_graph *graph;
} attr_slot;

static gemel_status read_int(const attr_reader *r, attr_slot *out) {
  gemel_dim dim;
  gemel__lex start = *r->lex;
  if (gemel__lex_is(r->lex, "true") || gemel__lex_is(r->lex, "false")) {
    out->i = gemel__lex_is(r->lex, "true");
    gemel__lex_next(r->lex);
    return GEMEL_OK;
  }
  gemel_status status = gemel__dim_read(r->context, r->lex, r->scope, &dim, r->error);
  if (!status && !gemel_dim_is_constant(r->context, dim, &out->i)) {
    status = gemel__lex_fail(&start, r->error, GEMEL_BAD_TEXT, "attribute %s must be an integer",
                             r->spec->name);
  }
  return status;
}

static gemel_status read_float(const attr_reader *r, attr_slot *out) {
  gemel__number number;
  gemel_status status = gemel__number_read(r->lex, &number, r->error);
  if (!status) {
    gemel__number_store(&number, GEMEL_F64, &out->f);
  }
  return status;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9'                 ? c - '0'
         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                              : -1;
}

/* Decodes what stands behind a backslash at P; returns how many characters it took, 0: unknown. */
static size_t unescape(const char *p, const char *end, char *out) {
  static const char from[] = "\\\"nt", to[] = "\\\"\n\t";
  const char *found = p < end ? (const char *)memchr(from, *p, sizeof from - 1) : NULL;
  if (found) {
    *out = to[found - from];
    return 1;
  }
  if (end - p >= 3 && *p == 'x' && hex_digit(p[1]) >= 0 && hex_digit(p[2]) >= 0) {
    *out = (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
    return *out ? 3 : 0;
  }
  return 0;
}

static gemel_status read_string(const attr_reader *r, attr_slot *out) {
  gemel__lex *lex = r->lex;
  char found[64];
  if (lex->kind != GEMEL__TOKEN_STRING) {
    return gemel__lex_fail(lex, r->error, GEMEL_BAD_TEXT, "expected a string in quotes, found %s",
                           gemel__lex_describe(lex, found));
  }
  const char *p = lex->token + 1, *end = lex->token + lex->length - 1;
  char *text = (char *)gemel__arena_alloc(&r->store->arena, lex->length), *to = text;
  if (!text) {
    return gemel__no_memory(r->error, "a string");
  }
  while (p < end) {
    if (*p != '\\') {
      *to++ = *p++;
      continue;
    }
    size_t taken = unescape(p + 1, end, to++);
    if (!taken) {
      return gemel__lex_fail(lex, r->error, GEMEL_BAD_TEXT, "unknown escape in a string");
    }
    p += 1 + taken;
  }
  *to = 0;
  out->text = text;
  gemel__lex_next(lex);
  return GEMEL_OK;
}

static gemel_status read_tensor(const attr_reader *r, attr_slot *out) {
  gemel__attr_store *s = r->store;
  if (gemel__grow(&s->tensors, &s->tensor_capacity, s->n_tensors + 1, sizeof *s->tensors)) {
    return gemel__no_memory(r->error, "tensors");
  }
  gemel_status status = gemel__tensor_read(r->context, r->lex, &out->tensor, r->error);
  if (!status) {
    s->tensors[s->n_tensors++] = out->tensor;
  }
  return status;
}

static gemel_status read_graph(const attr_reader *r, attr_slot *out) {
  gemel__attr_store *s = r->store;
  if (!r->scope || !r->scope->graph) {
    return gemel__lex_fail(r->lex, r->error, GEMEL_BAD_TEXT, "no graph can stand here");
  }
  if (gemel__grow(&s->graphs, &s->graph_capacity, s->n_graphs + 1, sizeof *s->graphs)) {
    return gemel__no_memory(r->error, "graphs");
  }
  out->graph = r->scope->graph(r->scope->user, r->lex, r->error);
  if (!out->graph) {
    return r->error ? r->error->status : GEMEL_BAD_TEXT;
  }
  s->graphs[s->n_graphs++] = out->graph;
  return GEMEL_OK;
}

static gemel_status read_slot(const attr_reader *r, int kind, attr_slot *out) {
  out->bits = 0;
  switch (kind) {
  case GEMEL_ATTR_INT:
    return read_int(r, out);
  case GEMEL_ATTR_DIM:
    return gemel__dim_read(r->context, r->lex, r->scope, &out->dim, r->error);
  case GEMEL_ATTR_FLOAT:
    return read_float(r, out);
  case GEMEL_ATTR_DTYPE:
    return gemel__dtype_read(r->lex, &out->dtype, r->error);
  case GEMEL_ATTR_STRING:
    return read_string(r, out);
  case GEMEL_ATTR_TENSOR:
    return read_tensor(r, out);
  default:
    return read_graph(r, out);
  }
}

static size_t slot_bytes(int kind) {
  switch (kind) {
  case GEMEL_ATTR_DIM:
    return sizeof(gemel_dim);
  case GEMEL_ATTR_DTYPE:
    return sizeof(gemel_dtype);
  case GEMEL_ATTR_INT:
  case GEMEL_ATTR_FLOAT:
    return sizeof(attr_slot);
  default:
    return sizeof(void *);
  }
}

/* Packs N slots into an array of the kind's elements. */
static gemel_status pack(const attr_reader *r, int kind, size_t n, gemel_attr *attr) {
  size_t each = slot_bytes(kind);
  char *array = n ? (char *)gemel__arena_alloc(&r->store->arena, n * each) : NULL;
  attr->count = n;
  attr->u.ints = (const int64_t *)array;
  if (n && !array) {
    return gemel__no_memory(r->error, "a list");
  }
  for (size_t k = 0; k < n; k++) { /* the members of slot all begin at its first byte */
    memcpy(array + k * each, &r->store->slots[k], each);
  }
  return GEMEL_OK;
}

static gemel_status read_list(const attr_reader *r, int kind, gemel_attr *attr) {
  size_t n = 0;
  attr_slot element;
  gemel_status status = gemel__lex_expect(r->lex, '[', "'['", r->error);
  if (status || gemel__lex_accept(r->lex, ']')) {
    return status ? status : pack(r, kind, 0, attr);
  }
  do {
    if (gemel__grow(&r->store->slots, &r->store->slot_capacity, n + 1, sizeof *r->store->slots)) {
      return gemel__no_memory(r->error, "a list");
    }
    status = read_slot(r, kind, &element);
    r->store->slots[n++] = element.bits;
  } while (!status && gemel__lex_accept(r->lex, ','));
  status = status ? status : gemel__lex_expect(r->lex, ']', "']'", r->error);
  return status ? status : pack(r, kind, n, attr);
}

static void set_single(int kind, attr_slot value, gemel_attr *attr) {
  switch (kind) {
  case GEMEL_ATTR_INT:
    attr->u.i = value.i;
    break;
  case GEMEL_ATTR_DIM:
    attr->u.dim = value.dim;
    break;
  case GEMEL_ATTR_FLOAT:
    attr->u.f = value.f;
    break;
  case GEMEL_ATTR_DTYPE:
    attr->u.dtype = value.dtype;
    break;
  case GEMEL_ATTR_STRING:
    attr->u.text = value.text;
    break;
  case GEMEL_ATTR_TENSOR:
    attr->u.tensor = value.tensor;
    break;
  default:
    attr->u.graph = value.graph;
  }
}

gemel_status gemel__attr_read(gemel_context *context, gemel__lex *lex, const gemel__scope *scope,
                              gemel__attr_store *store, const gemel_attr_spec *spec,
                              gemel_attr *attr, gemel_error *error) {
  attr_reader r = {context, lex, scope, store, spec, error};
  attr_slot value;
  memset(attr, 0, sizeof *attr);
  attr->name = spec->name;
  attr->kind = spec->kind;
  if (spec->fallback && !strcmp(spec->fallback, "none") && gemel__lex_is(lex, "none")) {
    attr->kind = GEMEL_ATTR_NONE;
    gemel__lex_next(lex);
    return GEMEL_OK;
  }
  if (spec->kind & GEMEL_ATTR_LIST) {
    return read_list(&r, spec->kind & ~GEMEL_ATTR_LIST, attr);
  }
  gemel_status status = read_slot(&r, spec->kind, &value);
  if (!status) {
    set_single(spec->kind, value, attr);
  }
  return status;
}
