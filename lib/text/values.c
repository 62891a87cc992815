/* SPDX-License-Identifier: MIT
 *
 * Readers of dims, types, tensors and attributes. Dims are the only part that nests; they are read
 * with two small stacks, so no text can make the reader recurse.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "text/values.h"

/* ---- What attributes point at ---- */

void gemel__store_reset(gemel__attr_store *store) {
  if (store->arena.bytes > 0) {
    gemel__arena_clear(&store->arena);
  }
  while (store->n_tensors > 0) {
    gemel_tensor_unref(store->tensors[--store->n_tensors]);
  }
  while (store->n_graphs > 0) {
    gemel_graph_unref(store->graphs[--store->n_graphs]);
  }
}

void gemel__store_clear(gemel__attr_store *store) {
  gemel__store_reset(store);
  gemel__free(store->slots, store->slot_capacity * sizeof *store->slots);
  gemel__free(store->tensors, store->tensor_capacity * sizeof *store->tensors);
  gemel__free(store->graphs, store->graph_capacity * sizeof *store->graphs);
  memset(store, 0, sizeof *store);
}

/* ---- Dims ---- */

enum { DIM_DEPTH = 256 };

/* Operators that wait for their right side, and open parentheses. */
enum {
  DIM_ADD,
  DIM_SUB,
  DIM_MUL,
  DIM_QUOTIENT,
  DIM_NEGATE,
  DIM_OPEN,
  DIM_MIN,
  DIM_MAX,
  DIM_MIN_MORE, /* min( with what was read so far as one value */
  DIM_MAX_MORE
};

typedef struct dim_reader {
  gemel_context *context;
  gemel__lex *lex;
  const gemel__scope *scope;
  gemel_error *error;
  unsigned char operators[DIM_DEPTH];
  gemel_dim values[DIM_DEPTH];
  int n_operators, n_values;
  unsigned failures; /* for want of memory, before this dim */
} dim_reader;

static gemel_status dim_fail(dim_reader *r) {
  if (gemel__dim_memory_failures(r->context) != r->failures) {
    return gemel__no_memory(r->error, "a size");
  }
  return gemel__lex_fail(r->lex, r->error, GEMEL_BAD_VALUE,
                         "the size overflows, divides by zero, or is too long");
}

static gemel_status push_operator(dim_reader *r, int op) {
  if (r->n_operators == DIM_DEPTH) {
    return gemel__lex_fail(r->lex, r->error, GEMEL_BAD_TEXT, "the size is nested too deeply");
  }
  r->operators[r->n_operators++] = (unsigned char)op;
  return GEMEL_OK;
}

static gemel_status push_dim(dim_reader *r, gemel_dim dim) {
  if (gemel_dim_is_none(dim)) {
    return dim_fail(r);
  }
  if (r->n_values == DIM_DEPTH) {
    return gemel__lex_fail(r->lex, r->error, GEMEL_BAD_TEXT, "the size is nested too deeply");
  }
  r->values[r->n_values++] = dim;
  return GEMEL_OK;
}

static int binds(int op) {
  static const unsigned char strength[DIM_MAX_MORE + 1] = {
      [DIM_ADD] = 1, [DIM_SUB] = 1, [DIM_MUL] = 2, [DIM_QUOTIENT] = 2, [DIM_NEGATE] = 3};
  return strength[op];
}

/* Applies the operators on top that bind at least as tightly as STRENGTH (at least 1). */
static gemel_status reduce_dims(dim_reader *r, int strength) {
  while (r->n_operators > 0 && binds(r->operators[r->n_operators - 1]) >= strength) {
    int op = r->operators[--r->n_operators];
    gemel_dim b = r->values[--r->n_values];
    gemel_dim a = op == DIM_NEGATE ? gemel_dim_constant(r->context, 0) : r->values[--r->n_values];
    gemel_dim (*const apply[])(gemel_context *, gemel_dim, gemel_dim) = {
        gemel_dim_add, gemel_dim_sub, gemel_dim_mul, gemel_dim_floordiv, gemel_dim_sub};
    gemel_status status = push_dim(r, apply[op](r->context, a, b));
    if (status) {
      return status;
    }
  }
  return GEMEL_OK;
}

/* $K or $NAME. */
static gemel_status dollar(dim_reader *r) {
  gemel__lex *lex = r->lex;
  char name[1024];
  uint64_t k = 0;
  if (lex->token[1] < '0' || lex->token[1] > '9') {
    if (gemel__lex_copy(lex, name, sizeof name)) {
      return gemel__lex_fail(lex, r->error, GEMEL_BAD_TEXT, "the name is too long");
    }
    return push_dim(r, gemel_dim_symbol(r->context, name + 1));
  }
  for (size_t i = 1; i < lex->length; i++) {
    k = k * 10 + (uint64_t)(lex->token[i] - '0');
    if (lex->token[i] < '0' || lex->token[i] > '9' || k > 1000000) {
      return gemel__lex_fail(lex, r->error, GEMEL_BAD_TEXT, "malformed number of an input");
    }
  }
  return push_dim(r, gemel__dim_input(r->context, (uint32_t)k));
}

static gemel_status dim_name(dim_reader *r) {
  gemel__lex *lex = r->lex;
  char name[1024];
  gemel_dim dim;
  if (gemel__lex_copy(lex, name, sizeof name)) {
    return gemel__lex_fail(lex, r->error, GEMEL_BAD_TEXT, "the name is too long");
  }
  if (r->scope && r->scope->size &&
      r->scope->size(r->scope->user, lex->token, lex->length, &dim, r->error)) {
    return gemel_dim_is_none(dim) ? gemel__lex_locate(lex, r->error) : push_dim(r, dim);
  }
  return push_dim(r, gemel_dim_symbol(r->context, name));
}

/* Reads one operand or opens a parenthesis; *WANT becomes 0 when an operand is complete. */
static gemel_status dim_operand(dim_reader *r, int *want) {
  gemel__lex *lex = r->lex;
  gemel__number number;
  gemel_status status;
  int64_t value;
  char found[64];
  int call = gemel__lex_is(lex, "min") ? DIM_MIN : gemel__lex_is(lex, "max") ? DIM_MAX : 0;
  *want = 1;
  if (call && gemel__lex_peek(lex, NULL) == '(') {
    gemel__lex_next(lex);
    gemel__lex_next(lex);
    return push_operator(r, call);
  }
  /* A minus before digits belongs to them, or the least integer could not be written. */
  int next = lex->kind == '-' ? gemel__lex_peek(lex, NULL) : 0;
  int negative = next >= '0' && next <= '9';
  if (lex->kind == '(' || (lex->kind == '-' && !negative)) {
    status = push_operator(r, lex->kind == '(' ? DIM_OPEN : DIM_NEGATE);
    gemel__lex_next(lex);
    return status;
  }
  *want = 0;
  if (lex->kind == GEMEL__TOKEN_INT || negative) {
    status = gemel__number_read(lex, &number, r->error);
    if (status) {
      return status;
    }
    return push_dim(r, gemel__number_int(&number, &value) ? GEMEL_DIM_NONE
                                                          : gemel_dim_constant(r->context, value));
  }
  if (lex->kind != GEMEL__TOKEN_NAME && lex->kind != GEMEL__TOKEN_DOLLAR) {
    return gemel__lex_fail(lex, r->error, GEMEL_BAD_TEXT, "expected a size, found %s",
                           gemel__lex_describe(lex, found));
  }
  status = lex->kind == GEMEL__TOKEN_NAME ? dim_name(r) : dollar(r);
  if (!status) {
    gemel__lex_next(lex);
  }
  return status;
}

/* ',' or ')' inside the innermost parenthesis, whose last operand is complete. */
static gemel_status dim_separator(dim_reader *r, int *want) {
  unsigned char *open = &r->operators[r->n_operators - 1];
  int comma = r->lex->kind == ',';
  if (comma && *open == DIM_OPEN) {
    return gemel__lex_fail(r->lex, r->error, GEMEL_BAD_TEXT, "expected ')', found ','");
  }
  if (*open == DIM_MIN_MORE || *open == DIM_MAX_MORE) {
    gemel_dim b = r->values[--r->n_values], a = r->values[--r->n_values];
    gemel_status status = push_dim(r, *open == DIM_MIN_MORE ? gemel_dim_min(r->context, a, b)
                                                            : gemel_dim_max(r->context, a, b));
    if (status) {
      return status;
    }
  } else if (comma) {
    *open = *open == DIM_MIN ? DIM_MIN_MORE : DIM_MAX_MORE;
  }
  r->n_operators -= !comma;
  *want = comma;
  gemel__lex_next(r->lex);
  return GEMEL_OK;
}

/* Whether the token goes on with a dim that is complete so far; its operator. */
static int dim_infix(int kind) {
  switch (kind) {
  case '+':
    return DIM_ADD;
  case '-':
    return DIM_SUB;
  case '*':
    return DIM_MUL;
  case GEMEL__TOKEN_FLOORDIV:
    return DIM_QUOTIENT;
  default:
    return -1;
  }
}

/* Goes on behind a complete operand; *WANT becomes 1 when another is needed, -1 at the end. */
static gemel_status dim_continue(dim_reader *r, int *want) {
  int op = dim_infix(r->lex->kind);
  gemel_status status = reduce_dims(r, op < 0 ? 1 : binds(op));
  if (status) {
    return status;
  }
  if (op >= 0) {
    *want = 1;
    gemel__lex_next(r->lex);
    return push_operator(r, op);
  }
  if (r->n_operators == 0) {
    *want = -1;
    return GEMEL_OK;
  }
  if (r->lex->kind == ',' || r->lex->kind == ')') {
    return dim_separator(r, want);
  }
  return gemel__lex_expect(r->lex, ')', "')'", r->error);
}

gemel_status gemel__dim_read(gemel_context *context, gemel__lex *lex, const gemel__scope *scope,
                             gemel_dim *dim, gemel_error *error) {
  dim_reader r;
  gemel_status status = GEMEL_OK;
  int want = 1;
  r.context = context;
  r.lex = lex;
  r.scope = scope;
  r.error = error;
  r.n_operators = r.n_values = 0;
  r.failures = gemel__dim_memory_failures(context);
  while (!status && want >= 0) {
    status = want ? dim_operand(&r, &want) : dim_continue(&r, &want);
  }
  if (!status) {
    *dim = r.values[0];
  }
  return status;
}

/* ---- Types ---- */

gemel_status gemel__dtype_read(gemel__lex *lex, gemel_dtype *dtype, gemel_error *error) {
  char name[16], found[64];
  gemel__suggestion near;
  if (lex->kind != GEMEL__TOKEN_NAME || gemel__lex_copy(lex, name, sizeof name) ||
      gemel_dtype_find(name, dtype)) {
    return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected a dtype, found %s; %s%s",
                           gemel__lex_describe(lex, found), gemel__dtype_names,
                           gemel__dtype_suggestion(lex->token, lex->length, &near));
  }
  gemel__lex_next(lex);
  return GEMEL_OK;
}

static gemel_status read_shape(gemel_context *context, gemel__lex *lex, int *rank, gemel_dim *dims,
                               gemel_error *error) {
  int64_t value;
  *rank = 0;
  if (!gemel__lex_accept(lex, '[') || gemel__lex_accept(lex, ']')) {
    return GEMEL_OK;
  }
  do {
    if (*rank == GEMEL_MAX_RANK) {
      return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "more than %d axes", GEMEL_MAX_RANK);
    }
    gemel__lex start = *lex;
    gemel_status status = gemel__dim_read(context, lex, NULL, &dims[*rank], error);
    if (status) {
      return status;
    }
    if (gemel__dim_has_runtime(context, dims[*rank]) ||
        (gemel_dim_is_constant(context, dims[*rank], &value) && value < 0)) {
      return gemel__lex_fail(&start, error, GEMEL_BAD_TEXT,
                             "a type can't have this size: it is negative or an input's value");
    }
    ++*rank;
  } while (gemel__lex_accept(lex, ','));
  return gemel__lex_expect(lex, ']', "']'", error);
}

gemel_status gemel__type_read(gemel_context *context, gemel__lex *lex, gemel_type *type,
                              gemel_error *error) {
  gemel_dim dims[GEMEL_MAX_RANK];
  gemel_dtype dtype;
  gemel__number number;
  int64_t space = GEMEL_SPACE_HOST;
  int rank;
  gemel_status status = gemel__dtype_read(lex, &dtype, error);
  status = status ? status : read_shape(context, lex, &rank, dims, error);
  if (!status && gemel__lex_accept(lex, '@')) {
    gemel__lex start = *lex;
    status = gemel__number_read(lex, &number, error);
    if (!status && (gemel__number_int(&number, &space) || space < 0 || space > 255)) {
      status = gemel__lex_fail(&start, error, GEMEL_BAD_TEXT, "a memory space is 0 to 255");
    }
  }
  if (status) {
    return status;
  }
  *type = gemel_type_new(context, dtype, rank, dims, (int)space);
  return gemel_type_is_none(*type) ? gemel__no_memory(error, "a type") : GEMEL_OK;
}

/* ---- Tensors ---- */

static gemel_status bad_element(const gemel__lex *at, gemel_dtype dtype, gemel_error *error) {
  return gemel__lex_fail(at, error, GEMEL_BAD_VALUE, "%s can't hold this number",
                         gemel_dtype_name(dtype));
}

/* One element of DTYPE. */
static gemel_status read_element(gemel__lex *lex, gemel_dtype dtype, void *element,
                                 gemel_error *error) {
  gemel__lex start = *lex;
  gemel__number number;
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_BOOL &&
      (gemel__lex_is(lex, "true") || gemel__lex_is(lex, "false"))) {
    *(unsigned char *)element = gemel__lex_is(lex, "true");
    gemel__lex_next(lex);
    return GEMEL_OK;
  }
  gemel_status status = gemel__number_read(lex, &number, error);
  if (!status && gemel__number_store(&number, dtype, element)) {
    status = bad_element(&start, dtype, error);
  }
  return status;
}

static gemel_status read_elements(gemel__lex *lex, gemel_tensor *tensor, gemel_error *error) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  size_t bytes = gemel_dtype_size(dtype);
  int64_t n = gemel_tensor_elements(tensor);
  char *data = (char *)gemel_tensor_data(tensor);
  gemel_status status = gemel__lex_expect(lex, '[', "'['", error);
  for (int64_t k = 0; k < n && !status; k++) {
    status = k > 0 ? gemel__lex_expect(lex, ',', "',' and one more element", error) : GEMEL_OK;
    status = status ? status : read_element(lex, dtype, data + (size_t)k * bytes, error);
  }
  status = status ? status : gemel__lex_expect(lex, ']', "']'", error);
  return status ? status : gemel__lex_expect(lex, ')', "')'", error);
}

/* A tensor of zeros of a type without symbols; its elements are to follow in the text. */
static gemel_tensor *tensor_of_type(gemel_context *context, gemel_type type, const gemel__lex *at,
                                    gemel_error *error) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  int64_t shape[GEMEL_MAX_RANK], n = 1;
  int rank = gemel_type_rank(context, type);
  for (int k = 0; k < rank; k++) {
    if (!gemel_dim_is_constant(context, dims[k], &shape[k])) {
      gemel__lex_fail(at, error, GEMEL_BAD_TEXT, "a tensor's sizes are numbers");
      return NULL;
    }
  }
  for (int k = 0; k < rank; k++) {
    if (__builtin_mul_overflow(n, shape[k], &n)) {
      n = INT64_MAX;
    }
  }
  if (n / 2 > at->end - at->at) { /* an element takes two characters: don't allocate in vain */
    gemel__lex_fail(at, error, GEMEL_BAD_TEXT, "the text has fewer elements than the type");
    return NULL;
  }
  return gemel_tensor_new(gemel_type_dtype(context, type), rank, shape, error);
}

static gemel_status read_full(gemel_context *context, gemel__lex *lex, gemel_tensor **tensor,
                              gemel_error *error) {
  gemel_type type;
  gemel__lex_next(lex);
  gemel_status status = gemel__lex_expect(lex, '(', "'('", error);
  gemel__lex start = *lex;
  status = status ? status : gemel__type_read(context, lex, &type, error);
  status = status ? status : gemel__lex_expect(lex, ',', "','", error);
  if (status) {
    return status;
  }
  *tensor = tensor_of_type(context, type, &start, error);
  if (!*tensor) {
    return error ? error->status : GEMEL_BAD_TEXT;
  }
  status = read_elements(lex, *tensor, error);
  if (status) {
    gemel_tensor_unref(*tensor);
    *tensor = NULL;
  }
  return status;
}

gemel_status gemel__tensor_read(gemel_context *context, gemel__lex *lex, gemel_tensor **tensor,
                                gemel_error *error) {
  gemel__lex start = *lex;
  gemel__number number;
  gemel_dtype dtype;
  unsigned char element[8];
  gemel_status status;
  if (gemel__lex_is(lex, "tensor")) {
    return read_full(context, lex, tensor, error);
  }
  if (gemel__lex_is(lex, "true") || gemel__lex_is(lex, "false")) {
    dtype = GEMEL_BOOL;
    status = read_element(lex, dtype, element, error);
  } else {
    status = gemel__number_read(lex, &number, error);
    status = status ? status : gemel__lex_expect(lex, ':', "':' and a dtype", error);
    status = status ? status : gemel__dtype_read(lex, &dtype, error);
    if (!status && gemel__number_store(&number, dtype, element)) {
      status = bad_element(&start, dtype, error);
    }
  }
  if (status) {
    return status;
  }
  gemel_view view = {dtype, 0, NULL, NULL, element};
  *tensor = gemel_tensor_copy(&view, error);
  return *tensor ? GEMEL_OK : GEMEL_NO_MEMORY;
}
