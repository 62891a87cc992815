/* SPDX-License-Identifier: MIT
 *
 * Reading the binary form, strictly. A cursor never leaves its section, every count is held against
 * the bytes that are left before anything is allocated for it, and what is read goes through the
 * same checks of types and attributes as what a program builds: a damaged file gives an error,
 * never a damaged graph. The checksum is verified first.
 */
#include <stdio.h>
#include "core/alloc.h"
#include "core/cons.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/registry.h"
#include "text/binary.h"
#include "text/values.h"

/* What is left of a section. After a failure it stays at its end. */
typedef struct cursor {
  const unsigned char *start; /* of the file */
  const unsigned char *at, *end;
  gemel_status status;
  gemel_error *error;
} cursor;

typedef struct string {
  const char *text;
  uint32_t length;
} string;

typedef struct read_op {
  uint32_t op; /* 0: not known; only an error where it is used */
  uint32_t name;
  uint32_t version;
} read_op;

/* A kind of node: operation and interned attributes. */
typedef struct kind_row {
  uint32_t op, attrs;
} kind_row;

/* One array of each table; COUNT elements of BYTES bytes. */
typedef struct rows {
  void *data;
  size_t count, capacity, bytes;
} rows;

typedef struct deserializer {
  gemel_context *context;
  const char *file; /* interned */
  gemel_error *error;
  rows strings, ops, dims, types, tensors, kinds, graphs;
  gemel__attr_store store;
  uint32_t last_name;
} deserializer;

/* ---- Cursor ---- */

static gemel_status fail(cursor *c, const char *what) {
  if (!c->status) {
    c->status =
        gemel__fail(c->error, GEMEL_BAD_FILE, "%s at byte %zu", what, (size_t)(c->at - c->start));
  }
  c->at = c->end;
  return c->status;
}

static const void *take(cursor *c, uint64_t count) {
  const unsigned char *p = c->at;
  if (count > (uint64_t)(c->end - c->at)) {
    fail(c, "the section ends too early");
    return NULL;
  }
  c->at += count;
  return p;
}

static uint32_t get_u32(cursor *c) {
  uint32_t value = 0;
  const void *p = take(c, sizeof value);
  if (p) {
    memcpy(&value, p, sizeof value);
  }
  return value;
}

static uint64_t get_u64(cursor *c) {
  uint64_t value = 0;
  const void *p = take(c, sizeof value);
  if (p) {
    memcpy(&value, p, sizeof value);
  }
  return value;
}

static inline uint64_t get_varint(cursor *c) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 63 && c->at < c->end; shift += 7) {
    unsigned char byte = *c->at++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) {
      return value;
    }
  }
  fail(c, "a number is malformed");
  return 0;
}

/* The count of a table whose entries take at least EACH bytes; 0 after a failure. */
static size_t get_count(cursor *c, size_t each) {
  uint64_t n = get_u64(c);
  if (n > (uint64_t)(c->end - c->at) / each || n >= UINT32_MAX) {
    fail(c, "a count is larger than what follows");
    return 0;
  }
  return (size_t)n;
}

/* Only padding may be left. */
static gemel_status finish(cursor *c) {
  if (!c->status && c->end - c->at >= 8) {
    return fail(c, "the section is longer than what it says it holds");
  }
  while (!c->status && c->at < c->end) {
    if (*c->at++ != 0) {
      return fail(c, "padding is not zero");
    }
  }
  return c->status;
}

static gemel_status no_memory(cursor *c) {
  if (!c->status) {
    c->status = gemel__no_memory(c->error, "a graph from a file");
  }
  c->at = c->end;
  return c->status;
}

/* ---- Rows ---- */

/* Room for N more; the first of them, or NULL. */
static void *more_rows(cursor *c, rows *r, size_t n) {
  if (n == 0) {
    return NULL;
  }
  if (gemel__grow(&r->data, &r->capacity, r->count + n, r->bytes)) {
    no_memory(c);
    return NULL;
  }
  return (char *)r->data + r->count * r->bytes;
}

/* The row with an index that the file gives, or NULL. */
static const void *row(cursor *c, const rows *r, uint32_t index, const char *what) {
  if (index >= r->count) {
    fail(c, what);
    return NULL;
  }
  return (const char *)r->data + index * r->bytes;
}

/* String INDEX as a NUL-terminated text in BUFFER; 0, or -1. */
static int get_text(cursor *c, const deserializer *d, uint32_t index, char *buffer, size_t bytes) {
  const string *s = (const string *)row(c, &d->strings, index, "no such string");
  if (!s || s->length >= bytes || memchr(s->text, 0, s->length)) {
    fail(c, "a name is malformed");
    return -1;
  }
  memcpy(buffer, s->text, s->length);
  buffer[s->length] = 0;
  return 0;
}

static int get_dtype(cursor *c, const deserializer *d, gemel_dtype *dtype) {
  char name[32], text[160];
  if (get_text(c, d, get_u32(c), name, sizeof name)) {
    return -1;
  }
  if (gemel_dtype_find(name, dtype)) {
    snprintf(text, sizeof text, "there is no dtype '%s'; %s", name, gemel__dtype_names);
    fail(c, text);
    return -1;
  }
  return 0;
}

/* ---- Tables ---- */

static void read_strings(cursor *c, deserializer *d) {
  size_t n = get_count(c, 4);
  string *to = (string *)more_rows(c, &d->strings, n);
  for (size_t k = 0; k < n && !c->status; k++) {
    to[k].length = get_u32(c);
    to[k].text = (const char *)take(c, to[k].length);
    d->strings.count += !c->status;
  }
}

static void read_ops(cursor *c, deserializer *d) {
  size_t n = get_count(c, 8);
  read_op *to = (read_op *)more_rows(c, &d->ops, n);
  char name[1024];
  for (size_t k = 0; k < n && !c->status; k++) {
    to[k].name = get_u32(c);
    to[k].version = get_u32(c);
    if (!c->status && !get_text(c, d, to[k].name, name, sizeof name)) {
      to[k].op = gemel__op_find(d->context, name);
      d->ops.count++;
    }
  }
}

static void read_dims(cursor *c, deserializer *d) {
  size_t n = get_count(c, 4);
  gemel_dim *to = (gemel_dim *)more_rows(c, &d->dims, n);
  for (size_t k = 0; k < n && !c->status; k++) {
    gemel__lex lex;
    const string *s = (const string *)row(c, &d->strings, get_u32(c), "no such string");
    if (!s || c->status) {
      break;
    }
    gemel__lex_start(&lex, s->text, s->length, "");
    gemel_status status = gemel__dim_read(d->context, &lex, NULL, &to[k], c->error);
    if (status == GEMEL_NO_MEMORY) {
      no_memory(c);
      break;
    }
    if (status || lex.kind != GEMEL__TOKEN_END) {
      fail(c, "a size is malformed");
      break;
    }
    d->dims.count++;
  }
}

static void read_types(cursor *c, deserializer *d) {
  size_t n = get_count(c, 12);
  gemel_type *to = (gemel_type *)more_rows(c, &d->types, n);
  for (size_t k = 0; k < n && !c->status; k++) {
    gemel_dim dims[GEMEL_MAX_RANK];
    gemel_dtype dtype;
    int bad = get_dtype(c, d, &dtype);
    uint32_t space = get_u32(c), rank = get_u32(c);
    if (bad || rank > GEMEL_MAX_RANK || space > 255) {
      fail(c, "a type is malformed");
      break;
    }
    for (uint32_t i = 0; i < rank; i++) {
      const gemel_dim *dim = (const gemel_dim *)row(c, &d->dims, get_u32(c), "no such size");
      dims[i] = dim ? *dim : GEMEL_DIM_NONE;
    }
    to[k] = c->status ? GEMEL_TYPE_NONE
                      : gemel_type_new(d->context, dtype, (int)rank, dims, (int)space);
    if (gemel_type_is_none(to[k])) {
      fail(c, "a type is malformed");
      break;
    }
    d->types.count++;
  }
}

static gemel_tensor *read_tensor(cursor *c, const deserializer *d) {
  gemel_dtype dtype;
  int64_t shape[GEMEL_MAX_RANK];
  int bad = get_dtype(c, d, &dtype);
  uint32_t rank = get_u32(c);
  if (bad || rank > GEMEL_MAX_RANK) {
    fail(c, "a tensor is malformed");
    return NULL;
  }
  uint64_t left = (uint64_t)(c->end - c->at), bytes = gemel_dtype_size(dtype);
  for (uint32_t k = 0; k < rank; k++) {
    shape[k] = (int64_t)get_u64(c);
    if (shape[k] < 0 || __builtin_mul_overflow(bytes, (uint64_t)shape[k], &bytes)) {
      fail(c, "a tensor is malformed");
    }
  }
  const void *data = bytes <= left ? take(c, bytes) : NULL;
  if (c->status || !data) {
    fail(c, "a tensor has more elements than the section");
    return NULL;
  }
  take(c, (8 - (size_t)(c->at - c->start) % 8) % 8);
  for (uint64_t k = 0; dtype == GEMEL_BOOL && k < bytes; k++) {
    if (((const unsigned char *)data)[k] > 1) {
      fail(c, "a bool is neither 0 nor 1");
      return NULL;
    }
  }
  gemel_tensor *tensor = c->status ? NULL : gemel_tensor_new(dtype, (int)rank, shape, c->error);
  if (!tensor) {
    c->status = c->status ? c->status : GEMEL_NO_MEMORY;
    return NULL;
  }
  memcpy(gemel_tensor_data(tensor), data, bytes);
  return tensor;
}

static void read_tensors(cursor *c, deserializer *d) {
  size_t n = get_count(c, 8);
  gemel_tensor **to = (gemel_tensor **)more_rows(c, &d->tensors, n);
  for (size_t k = 0; k < n && !c->status; k++) {
    to[k] = read_tensor(c, d);
    d->tensors.count += to[k] != NULL;
  }
}

/* ---- Attributes ---- */

/* One element; of an integer or float its bits, of others what the index stands for. */
static uint64_t get_element(cursor *c, deserializer *d, int kind) {
  const void *found = NULL;
  gemel_dtype dtype = GEMEL_BOOL;
  char *text;
  switch (kind) {
  case GEMEL_ATTR_INT:
  case GEMEL_ATTR_FLOAT:
    return get_u64(c);
  case GEMEL_ATTR_DIM:
    found = row(c, &d->dims, get_u32(c), "no such size");
    return found ? ((const gemel_dim *)found)->id : 0;
  case GEMEL_ATTR_DTYPE:
    get_dtype(c, d, &dtype);
    return (uint64_t)dtype;
  case GEMEL_ATTR_TENSOR:
    found = row(c, &d->tensors, get_u32(c), "no such tensor");
    return found ? (uint64_t)(uintptr_t) * (gemel_tensor *const *)found : 0;
  case GEMEL_ATTR_GRAPH:
    found = row(c, &d->graphs, get_u32(c), "no such graph");
    return found ? (uint64_t)(uintptr_t) * (gemel_graph *const *)found : 0;
  case GEMEL_ATTR_STRING:
    found = row(c, &d->strings, get_u32(c), "no such string");
    text = found ? (char *)gemel__arena_alloc(&d->store.arena,
                                              (size_t)((const string *)found)->length + 1)
                 : NULL;
    if (!text) {
      no_memory(c);
      return 0;
    }
    memcpy(text, ((const string *)found)->text, ((const string *)found)->length);
    text[((const string *)found)->length] = 0;
    return (uint64_t)(uintptr_t)text;
  default:
    fail(c, "an attribute has an unknown kind");
    return 0;
  }
}

/* Stores element K of an attribute of this kind at DATA. */
static void set_element(int kind, void *data, size_t k, uint64_t value) {
  switch (kind) {
  case GEMEL_ATTR_INT:
  case GEMEL_ATTR_FLOAT:
    ((uint64_t *)data)[k] = value;
    break;
  case GEMEL_ATTR_DIM:
    ((gemel_dim *)data)[k].id = (uint32_t)value;
    break;
  case GEMEL_ATTR_DTYPE:
    ((gemel_dtype *)data)[k] = (gemel_dtype)value;
    break;
  default:
    ((void **)data)[k] = (void *)(uintptr_t)value;
  }
}

static void read_attr(cursor *c, deserializer *d, gemel_attr *a) {
  char name[1024];
  memset(a, 0, sizeof *a);
  if (get_text(c, d, get_u32(c), name, sizeof name)) {
    return;
  }
  uint32_t kind = get_u32(c);
  size_t n = get_count(c, 4);
  void *data = &a->u;
  a->name = gemel__arena_string(&d->store.arena, name);
  a->kind = (int)kind;
  if (kind > (GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH) || (!(kind & GEMEL_ATTR_LIST) && n != 1)) {
    fail(c, "an attribute is malformed");
    return;
  }
  if (kind & GEMEL_ATTR_LIST) {
    a->count = n;
    data = gemel__arena_alloc(&d->store.arena, n * sizeof(uint64_t) + 1);
    a->u.ints = (const int64_t *)data;
  }
  if (!data || !a->name) {
    no_memory(c);
    return;
  }
  for (size_t k = 0; k < n && !c->status; k++) {
    set_element(a->kind & ~GEMEL_ATTR_LIST, data, k, get_element(c, d, a->kind & ~GEMEL_ATTR_LIST));
  }
}

static const gemel__op *get_op(cursor *c, const deserializer *d) {
  const read_op *r = (const read_op *)row(c, &d->ops, get_u32(c), "no such operation");
  char name[1024];
  if (!r || get_text(c, d, r->name, name, sizeof name)) {
    return NULL;
  }
  const gemel__op *op = r->op ? gemel__op_at(d->context, r->op) : NULL;
  if (!op || r->version > (uint32_t)op->record.version) {
    c->status = gemel__fail(c->error, GEMEL_UNSUPPORTED, "operation %s, version %u, is not known",
                            name, r->version);
    return NULL;
  }
  return op;
}

static void read_kind(cursor *c, deserializer *d, kind_row *to) {
  enum { MAX = 32 };
  gemel_attr given[MAX];
  const gemel__op *op = get_op(c, d);
  uint32_t n = get_u32(c);
  if (!op || n > MAX) {
    fail(c, "a node has too many attributes");
    return;
  }
  for (uint32_t k = 0; k < n && !c->status; k++) {
    read_attr(c, d, &given[k]);
  }
  if (!c->status) {
    to->op = op->id;
    c->status = gemel__attrs_intern(d->context, op, n, given, &to->attrs, c->error);
    if (c->status && c->status != GEMEL_NO_MEMORY && c->error) {
      c->status = c->error->status = GEMEL_BAD_FILE;
    }
  }
  gemel__store_reset(&d->store);
}

static void read_kinds(cursor *c, deserializer *d) {
  size_t n = get_count(c, 8);
  kind_row *to = (kind_row *)more_rows(c, &d->kinds, n);
  for (size_t k = 0; k < n && !c->status; k++) {
    read_kind(c, d, &to[k]);
    d->kinds.count += !c->status;
  }
}

/* ---- Graphs ---- */

/* Values of the graph being read, in the order in which the file counts them. */
typedef struct values {
  gemel__ref *refs;
  size_t count, capacity;
} values;

static void push_value(cursor *c, values *v, gemel__ref ref) {
  if (gemel__grow(&v->refs, &v->capacity, v->count + 1, sizeof *v->refs)) {
    no_memory(c);
    return;
  }
  v->refs[v->count++] = ref;
}

static void graph_failed(cursor *c, const gemel_graph *graph) {
  c->status = graph->error.status;
  if (c->error) {
    *c->error = graph->error;
    if (c->status != GEMEL_NO_MEMORY) {
      c->status = c->error->status = GEMEL_BAD_FILE;
    }
  }
}

static void read_inputs(cursor *c, deserializer *d, gemel_graph *graph, uint32_t n, values *v) {
  gemel_location where = {d->file, 0};
  char name[1024];
  for (uint32_t k = 0; k < n && !c->status; k++) {
    int bad = get_text(c, d, get_u32(c), name, sizeof name);
    const gemel_type *type = (const gemel_type *)row(c, &d->types, get_u32(c), "no such type");
    if (bad || !type) {
      return;
    }
    gemel_value value = gemel_input_at(graph, name, *type, where);
    if (gemel_is_null(value)) {
      graph_failed(c, graph);
      return;
    }
    push_value(c, v, (gemel__ref){value.node, value.output});
  }
}

/* Reads N inputs of a node into INPUTS. */
static inline void get_inputs(cursor *c, gemel_graph *graph, const values *v, size_t n,
                              gemel_value *inputs) {
  for (size_t k = 0; k < n; k++) {
    uint64_t back = get_varint(c);
    if (back == 0 || back > v->count) {
      fail(c, "a node refers to a value that is not there");
      return;
    }
    inputs[k] = gemel__value(graph, v->refs[v->count - (size_t)back]);
  }
}

static void apply(cursor *c, deserializer *d, gemel_graph *graph, const kind_row *kind, size_t n,
                  const gemel_value *inputs, uint64_t outputs, values *v) {
  gemel_location where = {d->file, 0};
  gemel_value value = gemel__apply(graph, kind->op, kind->attrs, n, inputs, where);
  if (gemel_is_null(value)) {
    graph_failed(c, graph);
    return;
  }
  if (gemel__node_at(graph, value.node)->n_outputs != outputs) {
    fail(c, "a node has another number of outputs");
    return;
  }
  for (uint32_t k = 0; k < outputs; k++) {
    push_value(c, v, (gemel__ref){value.node, k});
  }
}

static void read_node(cursor *c, deserializer *d, gemel_graph *graph, values *v) {
  enum { LOCAL = 16 };
  gemel_value local[LOCAL], *inputs = local;
  uint64_t head = get_varint(c);
  uint64_t outputs = head & 1 ? get_varint(c) : 1, n = get_varint(c);
  const kind_row *kind = head / 2 < d->kinds.count ? (const kind_row *)d->kinds.data + head / 2
                                                   : (fail(c, "a node is of no known kind"), NULL);
  if (c->status || n > (uint64_t)(c->end - c->at)) {
    fail(c, "a node has more inputs than the section");
    return;
  }
  if (n > LOCAL) {
    inputs = (gemel_value *)gemel__alloc_array((size_t)n, sizeof *inputs);
    if (!inputs) {
      no_memory(c);
      return;
    }
  }
  get_inputs(c, graph, v, (size_t)n, inputs);
  if (!c->status) {
    apply(c, d, graph, kind, (size_t)n, inputs, outputs, v);
  }
  if (inputs != local) {
    gemel__free(inputs, (size_t)n * sizeof *inputs);
  }
}

/* Outputs stand before the nodes, so that they are read last from a cursor of their own. */
static void read_outputs(cursor *c, deserializer *d, gemel_graph *graph, uint32_t n,
                         const values *v) {
  char name[1024];
  for (uint32_t k = 0; k < n && !c->status; k++) {
    uint64_t index = get_u64(c);
    int bad = get_text(c, d, get_u32(c), name, sizeof name);
    if (bad || get_u32(c) != 0 || index >= v->count) {
      fail(c, "an output is malformed");
      return;
    }
    if (gemel_output(gemel__value(graph, v->refs[index]), name)) {
      graph_failed(c, graph);
    }
  }
}

/* N inputs that have marks, in their order: number, marks. */
static void read_marks(cursor *c, gemel_graph *graph, uint32_t n) {
  uint32_t next = 0;
  for (uint32_t k = 0; k < n && !c->status; k++) {
    uint32_t input = get_u32(c), marks = get_u32(c);
    if (c->status) {
      return;
    }
    if (input < next || input >= graph->n_inputs || !gemel__are_marks(marks)) {
      fail(c, "what is assumed of an input makes no sense");
    } else if (gemel__input_add_marks(graph, input, marks) != 0) {
      no_memory(c);
    }
    next = input + 1;
  }
}

static void read_body(cursor *c, deserializer *d, gemel_graph *graph, values *v) {
  d->last_name = get_u32(c);
  uint32_t n_inputs = get_u32(c), n_outputs = get_u32(c), n_marked = get_u32(c);
  uint64_t n_nodes = get_u64(c), left = (uint64_t)(c->end - c->at);
  if (n_marked > n_inputs || n_inputs > left / 8 || n_outputs > left / 16 || n_nodes > left / 2) {
    fail(c, "a count is larger than what follows");
    return;
  }
  read_inputs(c, d, graph, n_inputs, v);
  cursor outputs = *c;
  take(c, (uint64_t)n_outputs * 16);
  read_marks(c, graph, n_marked);
  for (uint64_t k = 0; k < n_nodes && !c->status; k++) {
    read_node(c, d, graph, v);
  }
  if (!c->status) {
    read_outputs(&outputs, d, graph, n_outputs, v);
    c->status = outputs.status;
  }
}

static void read_graph(cursor *c, deserializer *d) {
  values v = {NULL, 0, 0};
  gemel_graph **to = (gemel_graph **)more_rows(c, &d->graphs, 1);
  gemel_graph *graph = to ? gemel_graph_new(d->context, c->error) : NULL;
  if (!graph) {
    no_memory(c);
    return;
  }
  *to = graph;
  d->graphs.count++;
  read_body(c, d, graph, &v);
  gemel__free(v.refs, v.capacity * sizeof *v.refs);
}

/* ---- Sections ---- */

static void read_section(cursor *c, deserializer *d, uint32_t tag, uint32_t flags) {
  switch (tag) {
  case GEMEL__TAG_STRINGS:
    read_strings(c, d);
    break;
  case GEMEL__TAG_OPS:
    read_ops(c, d);
    break;
  case GEMEL__TAG_DIMS:
    read_dims(c, d);
    break;
  case GEMEL__TAG_TYPES:
    read_types(c, d);
    break;
  case GEMEL__TAG_TENSORS:
    read_tensors(c, d);
    break;
  case GEMEL__TAG_KINDS:
    read_kinds(c, d);
    break;
  case GEMEL__TAG_GRAPH:
    read_graph(c, d);
    break;
  default:
    if (flags & GEMEL__SECTION_REQUIRED) {
      fail(c, "a section is not known that can't be skipped");
    }
    c->at = c->end;
  }
  finish(c);
}

/* The head, and the checksum at the end; *BODY is what lies between. */
static gemel_status check_frame(const unsigned char *bytes, size_t length, cursor *body) {
  cursor c = {bytes, bytes, bytes + length, GEMEL_OK, body->error};
  uint32_t version;
  size_t tail = GEMEL__SECTION_BYTES + 8;
  uint64_t checksum;
  const uint32_t end[4] = {GEMEL__TAG_END, GEMEL__SECTION_REQUIRED, 8, 0};
  if (length < GEMEL__HEAD_BYTES + tail || length % 8 || memcmp(bytes, GEMEL__MAGIC, 8) != 0) {
    return fail(&c, "this is no graph in binary form, or it is cut off");
  }
  memcpy(&version, bytes + 8, sizeof version);
  if (version != GEMEL__BINARY_VERSION) {
    return gemel__fail(body->error, GEMEL_UNSUPPORTED, "version %u of the binary form is not known",
                       version);
  }
  body->start = bytes;
  body->at = bytes + GEMEL__HEAD_BYTES;
  body->end = bytes + length - tail;
  c.at = body->end;
  memcpy(&checksum, bytes + length - 8, sizeof checksum);
  if (memcmp(body->end, end, sizeof end) != 0 ||
      gemel__checksum(GEMEL__CHECKSUM_START, bytes, length - tail) != checksum) {
    return fail(&c, "the checksum does not fit: the file is damaged or cut off");
  }
  return GEMEL_OK;
}

static gemel_status read_sections(deserializer *d, cursor *file) {
  while (!file->status && file->at < file->end) {
    uint32_t tag = get_u32(file), flags = get_u32(file);
    uint64_t bytes = get_u64(file);
    if (bytes > (uint64_t)(file->end - file->at)) {
      return fail(file, "a section is longer than the file");
    }
    cursor section = *file;
    section.end = section.at + bytes + (8 - bytes % 8) % 8;
    if (section.end > file->end) {
      return fail(file, "a section is longer than the file");
    }
    file->at = section.end;
    read_section(&section, d, tag, flags);
    file->status = section.status;
  }
  if (!file->status && d->graphs.count == 0) {
    return fail(file, "the file holds no graph");
  }
  return file->status;
}

static void clear(deserializer *d) {
  rows *const all[] = {&d->strings, &d->ops,   &d->dims,  &d->types,
                       &d->tensors, &d->kinds, &d->graphs};
  for (size_t k = 0; k < d->tensors.count; k++) {
    gemel_tensor_unref(((gemel_tensor **)d->tensors.data)[k]);
  }
  for (size_t k = 0; k < d->graphs.count; k++) {
    gemel_graph_unref(((gemel_graph **)d->graphs.data)[k]);
  }
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    gemel__free(all[k]->data, all[k]->capacity * all[k]->bytes);
  }
  gemel__store_clear(&d->store);
}

/* The last graph with a reference for the caller, and its name. */
static gemel_graph *result(deserializer *d, cursor *c, char **name) {
  char text[1024];
  gemel_graph *graph = ((gemel_graph **)d->graphs.data)[d->graphs.count - 1];
  if (get_text(c, d, d->last_name, text, sizeof text) || !gemel__is_name(text)) {
    fail(c, "the graph's name is malformed");
    return NULL;
  }
  if (name && !(*name = gemel__copy_string(text))) {
    no_memory(c);
    return NULL;
  }
  return gemel_graph_ref(graph);
}

gemel_graph *gemel__binary_read(gemel_context *context, const void *bytes, size_t length,
                                const char *file, char **name, gemel_error *error) {
  gemel_graph *graph = NULL;
  gemel_error local;
  deserializer d;
  cursor c = {NULL, NULL, NULL, GEMEL_OK, error ? error : &local};
  if (check_frame((const unsigned char *)bytes, length, &c)) {
    return NULL;
  }
  memset(&d, 0, sizeof d);
  d.context = context;
  d.file = gemel__intern_string(context, file);
  d.strings.bytes = sizeof(string);
  d.ops.bytes = sizeof(read_op);
  d.dims.bytes = sizeof(gemel_dim);
  d.types.bytes = sizeof(gemel_type);
  d.tensors.bytes = sizeof(gemel_tensor *);
  d.kinds.bytes = sizeof(kind_row);
  d.graphs.bytes = sizeof(gemel_graph *);
  if (!d.file) {
    no_memory(&c);
  }
  if (!c.status && !read_sections(&d, &c)) {
    graph = result(&d, &c, name);
  }
  clear(&d);
  if (graph && gemel__debug_check(graph, c.error)) {
    gemel_graph_unref(graph);
    graph = NULL;
    if (name) {
      gemel__free_string(*name);
      *name = NULL;
    }
  }
  return graph;
}

gemel_graph *gemel_deserialize(gemel_context *context, const void *bytes, size_t length,
                               char **name, gemel_error *error) {
  if (!context || (!bytes && length > 0)) {
    gemel__null(error, !context ? "the context" : "the bytes");
    return NULL;
  }
  return gemel__binary_read(context, bytes, length, "", name, error);
}
