/* SPDX-License-Identifier: MIT
 *
 * Inside a graph. A node is a fixed-size record; its inputs are a slice of one pool, which ends
 * where the next node's slice begins. Node ids start at 0 and are a topological order, so a pass
 * over a graph is a loop over the array and needs no stack.
 */
#ifndef GEMEL__CORE_GRAPH_H
#define GEMEL__CORE_GRAPH_H

#include <stdint.h>
#include <gemel/graph.h>
#include "core/context.h"
#include "core/error.h"

typedef struct gemel__ref {
  uint32_t node;
  uint32_t output;
} gemel__ref;

typedef struct gemel__node {
  uint16_t op;
  uint16_t n_outputs;
  uint32_t attrs;    /* id in the context; 0: none */
  uint32_t in_begin; /* first input in the pool */
  uint32_t line;
  uint32_t file; /* index in graph->files */
} gemel__node;

/* A part of the table of nodes by content (cons.c): node ids, and a byte of the hash of each to
 * tell them apart by. */
#define GEMEL__BUCKET_SLOTS 12
typedef struct gemel__cons_bucket {
  unsigned char used; /* slots, from the first one on */
  unsigned char tags[GEMEL__BUCKET_SLOTS];
  uint32_t nodes[GEMEL__BUCKET_SLOTS];
} gemel__cons_bucket;

struct gemel_graph {
  gemel_context *context;
  long references;
  int frozen;
  uint32_t nesting;  /* of a frozen graph: 1, or 1 more than its most nested body */
  uint32_t expanded; /* of a frozen graph: bodies that run when it does, itself among them */
  gemel_error error;
  gemel__node *nodes; /* n_nodes + 1 records: the last is a sentinel whose in_begin ends the pool */
  size_t n_nodes, node_capacity;
  gemel__ref *pool;
  size_t n_pool, pool_capacity;
  uint32_t
      *node_types; /* a type id a node, or GEMEL__SEVERAL | where its ids begin in types: apart
                      from the nodes, since making a node reads its inputs' types and no more */
  size_t node_type_capacity;
  gemel_type *types; /* type lists of nodes whose outputs aren't exactly one */
  size_t n_types, type_capacity;
  gemel__cons_bucket *buckets; /* hash-consing (cons.c) */
  size_t bucket_capacity;
  gemel__idtable overflow; /* node ids + 1 */
  gemel__ref *inputs;      /* nodes of operation "input", in order */
  const char **input_names;
  size_t n_inputs, input_capacity, input_name_capacity;
  unsigned char *input_marks; /* marks.c; the inputs past its capacity have none */
  size_t input_mark_capacity;
  unsigned char *partial; /* marks.c: a byte a node; the nodes past its capacity aren't partial */
  size_t partial_capacity;
  gemel__ref *outputs;
  const char **output_names;
  size_t n_outputs, output_capacity, output_name_capacity;
  const char **files; /* interned; files[0] is "" */
  size_t n_files, file_capacity;
  uint32_t last_file;
  gemel__idtable input_table, output_table, file_table; /* by interned name; index + 1 */
  /* Of the body of a loop under construction (ops/loop.c) the graph around it, and of that graph
     the body (of one loop, if there are several): messages tell where a value comes from. */
  struct gemel_graph *around, *inside;
  /* apply.c: type rules' results and scalar constants seen lately */
  struct gemel__apply_memo *memo;
};

/* Beside the facts among an input's marks: the input is a state. */
#define GEMEL__STATE 0x80u

/* Number of FILE, which is added if need be, among those that nodes come from; NULL: of none. -1
 * when memory is out. */
long gemel__graph_file(gemel_graph *graph, const char *file);

/* The marks of input K, GEMEL_FACT_… and GEMEL__STATE; the facts alone. Adding marks: 0, or -1 when
 * memory is out. */
unsigned gemel__input_marks(const gemel_graph *graph, size_t k);
unsigned gemel__input_facts(const gemel_graph *graph, size_t k);
int gemel__input_add_marks(gemel_graph *graph, size_t k, unsigned marks);

/* A partial node: where it comes from, its operator has no result for some operands, for which
 * gemel's has one by convention. Marking NODE: 0, or -1 when memory is out. */
int gemel__mark_partial(gemel_graph *graph, uint32_t node);
static inline int gemel__is_partial(const gemel_graph *graph, uint32_t node) {
  return node < graph->partial_capacity && graph->partial[node];
}

/* 1 if MARKS are some, and no others than there are. */
int gemel__are_marks(unsigned marks);

/* The state that an output called NAME (interned) would be the update of; -1: none. */
long gemel__state_called(const gemel_graph *graph, const char *name);

/* As gemel_input, of an input of which as much is assumed as of LIKE, an input of any graph. */
gemel_value gemel__input_like(gemel_graph *graph, const char *name, gemel_type type,
                              gemel_value like);

/* Which input NODE of a graph that isn't frozen is; -1: none. */
long gemel__input_index(const gemel_graph *graph, uint32_t node);

static inline const gemel__node *gemel__node_at(const gemel_graph *graph, uint32_t node) {
  return &graph->nodes[node];
}

/* Inputs of NODE: a pointer into the pool (moves when the graph grows) and their number. */
static inline const gemel__ref *gemel__node_inputs(const gemel_graph *graph, uint32_t node,
                                                   uint32_t *count) {
  const gemel__node *record = &graph->nodes[node];
  *count = record[1].in_begin - record->in_begin;
  return graph->pool + record->in_begin;
}

#define GEMEL__SEVERAL 0x80000000u

/* Where NODE was made. */
static inline gemel_location gemel__node_where(const gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  return (gemel_location){graph->files[record->file], (int)record->line};
}

/* Type of output OUTPUT of NODE. */
static inline gemel_type gemel__node_type(const gemel_graph *graph, uint32_t node,
                                          uint32_t output) {
  uint32_t type = graph->node_types[node];
  return type & GEMEL__SEVERAL ? graph->types[(type & ~GEMEL__SEVERAL) + output]
                               : (gemel_type){type};
}

static inline const struct gemel__type *gemel__ref_type(const gemel_graph *graph, gemel__ref ref) {
  return gemel__type_at(graph->context, gemel__node_type(graph, ref.node, ref.output));
}
static inline gemel_dtype gemel__ref_dtype(const gemel_graph *graph, gemel__ref ref) {
  return (gemel_dtype)gemel__ref_type(graph, ref)->dtype;
}

/* 1 if NODE exists and has an output OUTPUT. */
static inline int gemel__has_output(const gemel_graph *graph, uint32_t node, uint32_t output) {
  if (node >= graph->n_nodes) {
    return 0;
  }
  return graph->node_types[node] & GEMEL__SEVERAL ? output < graph->nodes[node].n_outputs
                                                  : output == 0;
}

/* What is known of each value stands in an array of gemel__value_count, at the value's number: its
 * node's id, if that has one output, else one behind all ids, and the id's own place is for what is
 * known of the node. */
static inline size_t gemel__value_count(const gemel_graph *graph) {
  return graph->n_nodes + graph->n_types;
}

static inline size_t gemel__value_number(const gemel_graph *graph, gemel__ref ref) {
  uint32_t type = graph->node_types[ref.node];
  return type & GEMEL__SEVERAL ? graph->n_nodes + (type & ~GEMEL__SEVERAL) + ref.output : ref.node;
}

/* 1 if VALUE is a value of its graph. */
static inline int gemel__is_value(gemel_value value) {
  return value.graph != NULL && gemel__has_output(value.graph, value.node, value.output);
}

/* Operation of NODE. */
static inline const gemel__op *gemel__node_op(const gemel_graph *graph, uint32_t node) {
  return gemel__op_at(graph->context, graph->nodes[node].op);
}

static inline gemel_value gemel__value(const gemel_graph *graph, gemel__ref ref) {
  gemel_value value = {(gemel_graph *)graph, ref.node, ref.output};
  return value;
}

/* What VALUE is, which is no value of GRAPH, for a message: "null", "a value of another graph". Of
 * other graphs only the address is looked at. */
const char *gemel__stranger(const gemel_graph *graph, gemel_value value);

/* The funnel that every node goes through: applies operation OP with interned attributes ATTRS to
 * inputs that are known to be of this graph. Promotes, infers, hash-conses, appends. Returns the
 * null value and records the error on failure. */
gemel_value gemel__apply(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                         const gemel_value *inputs, gemel_location where);

/* Records an error on the graph if it has none; returns the null value. */
gemel_value gemel__graph_fail(gemel_graph *graph, gemel_status status, const char *format, ...)
    GEMEL__PRINTF(3, 4);

/* The same with "file:line: " before the message, where the place is known. */
gemel_value gemel__graph_fail_at(gemel_graph *graph, gemel_location where, gemel_status status,
                                 const char *format, ...) GEMEL__PRINTF(4, 5);

/* The same for a message that is there already. */
gemel_value gemel__graph_take_error(gemel_graph *graph, const gemel_error *error);

/* Appends the live nodes of BODY to INTO with INPUTS (types as the body's, its symbols matched with
 * theirs) in place of the body's inputs; OUTPUTS[k] is what the body's output k became. The value
 * for an input that no live node reads may be null; an output that is this input is null then. On
 * failure nodes appended so far stay (unused). */
gemel_status gemel__graph_inline(gemel_graph *into, const gemel_graph *body,
                                 const gemel_value *inputs, gemel_value *outputs,
                                 gemel_error *error);

/* The same, with sizes given for N symbols (interned names), which inputs alone may not tell: T in
 * f32[2*T]. */
gemel_status gemel__graph_instantiate(gemel_graph *into, const gemel_graph *body,
                                      const gemel_value *inputs, gemel_value *outputs, size_t n,
                                      const char *const *symbols, const gemel_dim *sizes,
                                      gemel_error *error);

/* In debug builds gemel_graph_check, else GEMEL_OK: whatever makes or extends a graph ends with it.
 */
static inline gemel_status gemel__debug_check(const gemel_graph *graph, gemel_error *error) {
#ifdef GEMEL_DEBUG
  return gemel_graph_check(graph, error);
#else
  (void)graph, (void)error;
  return GEMEL_OK;
#endif
}

/* Appends REF to the inputs, or outputs, under NAME, which is interned and none of theirs; 0, or -1
 * with nothing changed when memory is out. */
int gemel__add_named_input(gemel_graph *graph, gemel__ref ref, const char *name);
int gemel__add_named_output(gemel_graph *graph, gemel__ref ref, const char *name);

/* Marks in LIVE (n_nodes bytes, zeroed by the caller) every node that an output needs; inputs are
 * always live. */
void gemel__graph_live(const gemel_graph *graph, unsigned char *live);

/* A constant NUMBER of DTYPE to calculate with LIKE: in its memory space. The null value, with the
 * error on the graph, if that fails or LIKE is null. */
gemel_value gemel__scalar_with(gemel_value like, gemel_dtype dtype, double number,
                               gemel_location where);

/* VALUE in memory space SPACE: itself if it lies there. */
gemel_value gemel__in_space(gemel_value value, int space, gemel_location where);

/* A constant NUMBER of LIKE's dtype, broadcast to LIKE's shape. The null value, with the error on
 * the graph, if that fails. */
gemel_value gemel__filled_like(gemel_value like, double number, gemel_location where);

#endif
