/* SPDX-License-Identifier: MIT
 *
 * Writing the binary form. Graphs are written first, each into a buffer, which fills the tables of
 * strings, operations, dims, types, tensors and kinds of nodes; then the tables go out, then each
 * graph behind the kinds that it is the first to use. A node is a handful of variable-length
 * numbers: its kind (operation and attributes), and for each input how many values ago that was.
 */
#include "core/alloc.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/registry.h"
#include "text/binary.h"
#include "text/bodies.h"
#include "text/write.h"

/* What is told apart by a key has an index, in the order in which the keys came. */
typedef struct index_table {
  gemel__map indices; /* + 1 */
  uint32_t count;
  gemel__text_memory payload;
} index_table;

typedef struct serializer {
  gemel_context *context;
  gemel__text_bodies bodies;
  index_table strings, ops, dims, types, tensors, kinds;
  gemel__text_memory *graphs;   /* payloads; bodies in order, then the graph itself */
  gemel__text_memory *kinds_of; /* the kinds that each is the first to use */
  size_t n_graphs;
  uint32_t op_input;
  int failed; /* memory is out */
} serializer;

/* ---- Bytes ---- */

static void put(serializer *s, gemel__text_memory *to, const void *bytes, size_t count) {
  if (gemel__memory_write(to, bytes, count)) {
    s->failed = 1;
  }
}

static void put_u32(serializer *s, gemel__text_memory *to, uint64_t value) {
  uint32_t narrow = (uint32_t)value;
  put(s, to, &narrow, sizeof narrow);
}

static void put_u64(serializer *s, gemel__text_memory *to, uint64_t value) {
  put(s, to, &value, sizeof value);
}

static void pad(serializer *s, gemel__text_memory *to) {
  static const char zeros[8];
  put(s, to, zeros, (8 - to->count % 8) % 8);
}

/* Seven bits a byte, lowest first. */
static inline char *put_varint(char *to, uint64_t value) {
  while (value >= 128) {
    *to++ = (char)(value | 128);
    value >>= 7;
  }
  *to++ = (char)value;
  return to;
}

/* ---- Tables ---- */

/* Index of KEY; *NEW says that it was not there, and its payload is to be appended. */
static uint32_t lookup(serializer *s, index_table *t, uint64_t key, int *is_new) {
  uint32_t known = gemel__map_find(&t->indices, key);
  *is_new = known == 0 && gemel__map_put(&t->indices, key, t->count + 1) == 0;
  s->failed |= known == 0 && !*is_new;
  return known != 0 ? known - 1 : *is_new ? t->count++ : 0;
}

static void clear_table(index_table *t) {
  gemel__map_clear(&t->indices);
  gemel__free(t->payload.bytes, t->payload.capacity);
}

/* Strings are told apart by their interned address. */
static uint32_t string_index(serializer *s, const char *text) {
  int is_new;
  const char *interned = gemel__intern_string(s->context, text);
  if (!interned) {
    s->failed = 1;
    return 0;
  }
  uint32_t index = lookup(s, &s->strings, (uint64_t)(uintptr_t)interned, &is_new);
  if (is_new) {
    put_u32(s, &s->strings.payload, strlen(text));
    put(s, &s->strings.payload, text, strlen(text));
  }
  return index;
}

static uint32_t op_index(serializer *s, uint32_t op) {
  int is_new;
  uint32_t index = lookup(s, &s->ops, op, &is_new);
  const gemel_operation *record = &gemel__op_at(s->context, op)->record;
  if (is_new) {
    put_u32(s, &s->ops.payload, string_index(s, record->name));
    put_u32(s, &s->ops.payload, (uint64_t)record->version);
  }
  return index;
}

/* Dims are written as text, which is the same in every context. */
static uint32_t dim_index(serializer *s, gemel_dim dim) {
  int is_new;
  char text[4096];
  uint32_t index = lookup(s, &s->dims, dim.id, &is_new);
  if (is_new) {
    gemel_dim_format(s->context, dim, text, sizeof text);
    put_u32(s, &s->dims.payload, string_index(s, text));
  }
  return index;
}

static uint32_t type_index(serializer *s, gemel_type type) {
  int is_new, rank = gemel_type_rank(s->context, type);
  uint32_t index = lookup(s, &s->types, type.id, &is_new);
  gemel__text_memory *to = &s->types.payload;
  if (is_new) {
    const gemel_dim *dims = gemel_type_dims(s->context, type);
    put_u32(s, to, string_index(s, gemel_dtype_name(gemel_type_dtype(s->context, type))));
    put_u32(s, to, (uint64_t)gemel_type_space(s->context, type));
    put_u32(s, to, (uint64_t)rank);
    for (int k = 0; k < rank; k++) {
      put_u32(s, to, dim_index(s, dims[k]));
    }
  }
  return index;
}

/* Tensors of attributes are row-major copies. */
static uint32_t tensor_index(serializer *s, const gemel_tensor *tensor) {
  int is_new;
  uint32_t index = lookup(s, &s->tensors, (uint64_t)(uintptr_t)tensor, &is_new);
  gemel__text_memory *to = &s->tensors.payload;
  if (is_new) {
    gemel_view v = gemel_tensor_view(tensor);
    put_u32(s, to, string_index(s, gemel_dtype_name(v.dtype)));
    put_u32(s, to, (uint64_t)v.rank);
    for (int k = 0; k < v.rank; k++) {
      put_u64(s, to, (uint64_t)v.shape[k]);
    }
    put(s, to, v.data, (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(v.dtype));
    pad(s, to);
  }
  return index;
}

/* ---- Attributes ---- */

static void put_element(serializer *s, gemel__text_memory *to, int kind, const void *data,
                        size_t k) {
  switch (kind) {
  case GEMEL_ATTR_INT:
  case GEMEL_ATTR_FLOAT:
    put(s, to, (const uint64_t *)data + k, sizeof(uint64_t));
    break;
  case GEMEL_ATTR_DIM:
    put_u32(s, to, dim_index(s, ((const gemel_dim *)data)[k]));
    break;
  case GEMEL_ATTR_DTYPE:
    put_u32(s, to, string_index(s, gemel_dtype_name(((const gemel_dtype *)data)[k])));
    break;
  case GEMEL_ATTR_STRING:
    put_u32(s, to, string_index(s, ((const char *const *)data)[k]));
    break;
  case GEMEL_ATTR_TENSOR:
    put_u32(s, to, tensor_index(s, ((gemel_tensor *const *)data)[k]));
    break;
  default:
    put_u32(s, to, gemel__bodies_index(&s->bodies, ((gemel_graph *const *)data)[k]));
  }
}

static void put_attr(serializer *s, gemel__text_memory *to, const gemel_attr *a) {
  int list = a->kind & GEMEL_ATTR_LIST, kind = a->kind & ~GEMEL_ATTR_LIST;
  size_t n = list ? a->count : 1;
  put_u32(s, to, string_index(s, a->name));
  put_u32(s, to, (uint64_t)a->kind);
  put_u64(s, to, n);
  for (size_t k = 0; k < n; k++) {
    put_element(s, to, kind, list ? (const void *)a->u.ints : (const void *)&a->u, k);
  }
}

/* The kind of node: operation and attributes, absent ones left out. */
static uint32_t kind_index(serializer *s, uint32_t op, uint32_t attrs, gemel__text_memory *to) {
  int is_new;
  uint32_t index = lookup(s, &s->kinds, (uint64_t)op << 32 | attrs, &is_new), given = 0;
  if (is_new) {
    const struct gemel__attrs *stored = gemel__attrs_at(s->context, attrs);
    for (size_t k = 0; attrs && k < stored->count; k++) {
      given += stored->values[k].kind != GEMEL_ATTR_NONE;
    }
    put_u32(s, to, op_index(s, op));
    put_u32(s, to, given);
    for (size_t k = 0; attrs && k < stored->count; k++) {
      if (stored->values[k].kind != GEMEL_ATTR_NONE) {
        put_attr(s, to, &stored->values[k]);
      }
    }
  }
  return index;
}

/* ---- Graphs ---- */

/* Numbers the first value of each live node: inputs first, then the others in the order of ids. */
static uint64_t *number_values(const gemel_graph *graph, const unsigned char *live,
                               uint32_t op_input, uint64_t *n_nodes) {
  uint64_t *first = (uint64_t *)gemel__alloc(graph->n_nodes * sizeof *first);
  uint64_t next = graph->n_inputs;
  *n_nodes = 0;
  if (!first) {
    return NULL;
  }
  for (size_t k = 0; k < graph->n_inputs; k++) {
    first[graph->inputs[k].node] = k;
  }
  for (size_t k = 0; k < graph->n_nodes; k++) {
    if (live[k] && graph->nodes[k].op != op_input) {
      first[k] = next;
      next += graph->nodes[k].n_outputs;
      ++*n_nodes;
    }
  }
  return first;
}

/* One node: kind, number of outputs (only if it is not 1), number of inputs, inputs. */
static void put_node(serializer *s, const gemel_graph *graph, const gemel__node *node,
                     const uint64_t *first, gemel__text_memory *to, gemel__text_memory *kinds) {
  enum { CHUNK = 16 };
  char bytes[10 * (CHUNK + 3)], *p = bytes;
  uint32_t n = node[1].in_begin - node->in_begin;
  const gemel__ref *inputs = graph->pool + node->in_begin;
  uint64_t here = first[node - graph->nodes];
  uint64_t kind = kind_index(s, node->op, node->attrs, kinds);
  p = put_varint(p, kind * 2 + (node->n_outputs != 1));
  if (node->n_outputs != 1) {
    p = put_varint(p, node->n_outputs);
  }
  p = put_varint(p, n);
  for (uint32_t k = 0; k < n; k++) {
    p = put_varint(p, here - (first[inputs[k].node] + inputs[k].output));
    if (k % CHUNK == CHUNK - 1) {
      put(s, to, bytes, (size_t)(p - bytes));
      p = bytes;
    }
  }
  put(s, to, bytes, (size_t)(p - bytes));
}

/* Inputs that have marks. */
static uint32_t count_marked(const gemel_graph *graph) {
  uint32_t n = 0;
  for (size_t k = 0; k < graph->n_inputs; k++) {
    n += gemel__input_marks(graph, k) != 0;
  }
  return n;
}

static void put_ends(serializer *s, const gemel_graph *graph, const char *name,
                     const uint64_t *first, uint64_t n_nodes, gemel__text_memory *to) {
  put_u32(s, to, string_index(s, name));
  put_u32(s, to, graph->n_inputs);
  put_u32(s, to, graph->n_outputs);
  put_u32(s, to, count_marked(graph));
  put_u64(s, to, n_nodes);
  for (size_t k = 0; k < graph->n_inputs; k++) {
    put_u32(s, to, string_index(s, graph->input_names[k]));
    put_u32(s, to, type_index(s, gemel__node_type(graph, graph->inputs[k].node, 0)));
  }
  for (size_t k = 0; k < graph->n_outputs; k++) {
    put_u64(s, to, first[graph->outputs[k].node] + graph->outputs[k].output);
    put_u32(s, to, string_index(s, graph->output_names[k]));
    put_u32(s, to, 0);
  }
  for (size_t k = 0; k < graph->n_inputs; k++) {
    if (gemel__input_marks(graph, k) != 0) {
      put_u32(s, to, (uint32_t)k);
      put_u32(s, to, gemel__input_marks(graph, k));
    }
  }
}

static gemel_status put_graph(serializer *s, const gemel_graph *graph, const char *name,
                              gemel__text_memory *to, gemel__text_memory *kinds,
                              gemel_error *error) {
  uint64_t n_nodes;
  unsigned char *live = gemel__live_nodes(graph, error);
  uint64_t *first = live ? number_values(graph, live, s->op_input, &n_nodes) : NULL;
  if (first) {
    put_ends(s, graph, name, first, n_nodes, to);
    for (size_t k = 0; k < graph->n_nodes && !s->failed; k++) {
      if (live[k] && graph->nodes[k].op != s->op_input) {
        put_node(s, graph, &graph->nodes[k], first, to, kinds);
      }
    }
  }
  int missing = !first || s->failed;
  gemel__free(first, graph->n_nodes * sizeof *first);
  gemel__free(live, graph->n_nodes);
  return missing ? gemel__no_memory(error, "the binary form") : GEMEL_OK;
}

/* ---- The file ---- */

static void put_section(serializer *s, gemel__writer *out, uint64_t *checksum, uint32_t tag,
                        uint64_t count, gemel__text_memory *payload) {
  static const char zeros[8];
  uint64_t length = payload->count + (tag == GEMEL__TAG_GRAPH ? 0 : 8);
  uint32_t head[4] = {tag, GEMEL__SECTION_REQUIRED, (uint32_t)length, (uint32_t)(length >> 32)};
  size_t padding = (8 - payload->count % 8) % 8;
  put(s, payload, zeros, padding);
  if (s->failed) {
    return;
  }
  *checksum = gemel__checksum(*checksum, head, sizeof head);
  gemel__put(out, head, sizeof head);
  if (tag != GEMEL__TAG_GRAPH) {
    *checksum = gemel__checksum(*checksum, &count, sizeof count);
    gemel__put(out, &count, sizeof count);
  }
  *checksum = gemel__checksum(*checksum, payload->bytes, payload->count);
  gemel__put(out, payload->bytes, payload->count);
}

static void put_file(serializer *s, const uint32_t *n_kinds, gemel__writer *out) {
  uint64_t checksum = GEMEL__CHECKSUM_START;
  char head[GEMEL__HEAD_BYTES] = GEMEL__MAGIC;
  uint32_t version = GEMEL__BINARY_VERSION;
  memcpy(head + 8, &version, sizeof version);
  checksum = gemel__checksum(checksum, head, sizeof head);
  gemel__put(out, head, sizeof head);
  put_section(s, out, &checksum, GEMEL__TAG_STRINGS, s->strings.count, &s->strings.payload);
  put_section(s, out, &checksum, GEMEL__TAG_OPS, s->ops.count, &s->ops.payload);
  put_section(s, out, &checksum, GEMEL__TAG_DIMS, s->dims.count, &s->dims.payload);
  put_section(s, out, &checksum, GEMEL__TAG_TYPES, s->types.count, &s->types.payload);
  put_section(s, out, &checksum, GEMEL__TAG_TENSORS, s->tensors.count, &s->tensors.payload);
  for (size_t k = 0; k < s->n_graphs; k++) {
    put_section(s, out, &checksum, GEMEL__TAG_KINDS, n_kinds[k], &s->kinds_of[k]);
    put_section(s, out, &checksum, GEMEL__TAG_GRAPH, 0, &s->graphs[k]);
  }
  uint32_t end[4] = {GEMEL__TAG_END, GEMEL__SECTION_REQUIRED, 8, 0};
  gemel__put(out, end, sizeof end);
  gemel__put(out, &checksum, sizeof checksum);
}

static gemel_status put_graphs(serializer *s, const gemel_graph *graph, const char *name,
                               uint32_t *n_kinds, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < s->n_graphs && !status; k++) {
    size_t before = s->kinds.count;
    int is_last = k + 1 == s->n_graphs;
    status = put_graph(s, is_last ? graph : s->bodies.graphs[k], is_last ? name : "body",
                       &s->graphs[k], &s->kinds_of[k], error);
    n_kinds[k] = (uint32_t)(s->kinds.count - before);
  }
  return status;
}

static void clear(serializer *s, uint32_t *n_kinds) {
  index_table *const tables[] = {&s->strings, &s->ops, &s->dims, &s->types, &s->tensors, &s->kinds};
  for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
    clear_table(tables[k]);
  }
  for (size_t k = 0; k < s->n_graphs; k++) {
    gemel__free(s->graphs ? s->graphs[k].bytes : NULL, s->graphs ? s->graphs[k].capacity : 0);
    gemel__free(s->kinds_of ? s->kinds_of[k].bytes : NULL,
                s->kinds_of ? s->kinds_of[k].capacity : 0);
  }
  gemel__free(s->graphs, s->n_graphs * sizeof *s->graphs);
  gemel__free(s->kinds_of, s->n_graphs * sizeof *s->kinds_of);
  gemel__free(n_kinds, s->n_graphs * sizeof *n_kinds);
  gemel__bodies_clear(&s->bodies);
}

gemel_status gemel_serialize(const gemel_graph *graph, const char *name, gemel_write write,
                             void *user, gemel_error *error) {
  serializer s;
  gemel__writer out;
  memset(&s, 0, sizeof s);
  if (!graph || !write) {
    return gemel__null(error, !graph ? "the graph" : "the function that writes");
  }
  name = name ? name : "main";
  if (!gemel__is_name(name)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "malformed name of a graph: %s", name);
  }
  gemel_status status = gemel__bodies_collect(graph, &s.bodies, error);
  if (status) {
    return status;
  }
  s.context = graph->context;
  s.op_input = gemel__op_find(graph->context, "input");
  s.n_graphs = s.bodies.count + 1;
  s.graphs = (gemel__text_memory *)gemel__alloc_array(s.n_graphs, sizeof *s.graphs);
  s.kinds_of = (gemel__text_memory *)gemel__alloc_array(s.n_graphs, sizeof *s.kinds_of);
  uint32_t *n_kinds = (uint32_t *)gemel__alloc_array(s.n_graphs, sizeof *n_kinds);
  if (!s.graphs || !s.kinds_of || !n_kinds) {
    status = gemel__no_memory(error, "the binary form");
  }
  status = status ? status : put_graphs(&s, graph, name, n_kinds, error);
  if (!status && !(status = gemel__writer_open(&out, write, user, error))) {
    put_file(&s, n_kinds, &out);
    status = gemel__writer_close(&out, error);
    status = s.failed ? gemel__no_memory(error, "the binary form") : status;
  }
  clear(&s, n_kinds);
  return status;
}
