/* SPDX-License-Identifier: MIT
 *
 * What finding and appending a node is made of (cons.c says how the table works), to be compiled
 * into whoever makes most of the nodes: a node takes some two hundred instructions, and calls
 * between its parts would make that half as many again.
 */
#ifndef GEMEL__CORE_MAKE_H
#define GEMEL__CORE_MAKE_H

#include <string.h>
#include "core/cons.h"

/* One multiplication an input. What is used of it, for the tag and in the overflow, is mixed
 * there. */
static GEMEL__INLINE uint64_t gemel__node_hash(uint32_t op, uint32_t attrs, size_t n,
                                               const gemel__ref *inputs) {
  uint64_t hash = (uint64_t)op << 32 | attrs;
  size_t k;
  GEMEL__UNROLL
  for (k = 0; k < n; k++) {
    hash = (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15u;
    hash ^= (uint64_t)inputs[k].node << 32 | inputs[k].output;
  }
  return hash;
}

static GEMEL__INLINE uint32_t gemel__largest_input(size_t n, const gemel__ref *inputs) {
  uint32_t largest = inputs[0].node;
  size_t k;
  GEMEL__UNROLL
  for (k = 1; k < n; k++) {
    largest = inputs[k].node > largest ? inputs[k].node : largest;
  }
  return largest;
}

/* 1 … 255, of all bits of a hash. */
static GEMEL__INLINE unsigned char gemel__cons_tag(uint64_t hash) {
  unsigned tag = (unsigned)((hash * 0x9e3779b97f4a7c15u) >> 56);
  return (unsigned char)(tag + (tag == 0));
}

/* What is looked for. */
typedef struct gemel__key {
  const gemel_graph *graph;
  uint32_t op, attrs;
  size_t n;
  const gemel__ref *inputs;
} gemel__key;

static GEMEL__INLINE int gemel__has_zero_byte(uint64_t x) {
  return ((x - 0x0101010101010101u) & ~x & 0x8080808080808080u) != 0;
}

/* Of the slots that have this tag, repeated in TAGS, the one that holds the node: its id + 1; 0 if
 * none does. */
uint32_t gemel__cons_same(const gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n,
                          const gemel__ref *inputs, const gemel__cons_bucket *b, uint64_t tags);

/* The node's id + 1 if it is in the bucket; else 0. */
static GEMEL__INLINE uint32_t gemel__bucket_search(const gemel__key *k, const gemel__cons_bucket *b,
                                                   uint64_t hash) {
  uint64_t tags = gemel__cons_tag(hash) * 0x0101010101010101u;
  return gemel__has_zero_byte(b->tags ^ tags) ||
                 gemel__has_zero_byte((b->more_tags ^ (tags >> 32)) | (uint64_t)UINT32_MAX << 32)
             ? gemel__cons_same(k->graph, k->op, k->attrs, k->n, k->inputs, b, tags)
             : 0;
}

/* Puts NODE with this hash into the bucket, which has room. */
static GEMEL__INLINE void gemel__bucket_fill(gemel__cons_bucket *b, uint64_t hash, uint32_t node) {
  uint64_t tag = gemel__cons_tag(hash);
  b->nodes[b->used] = node;
  if (b->used < 8) {
    b->tags |= tag << 8 * b->used;
  } else {
    b->more_tags |= (uint32_t)tag << 8 * (b->used - 8);
  }
  b->used++;
}

static GEMEL__INLINE int gemel__is_last_file(const gemel_graph *graph, const char *file) {
  const char *last = graph->files[graph->last_file];
  return file == last || (file != NULL && strcmp(last, file) == 0);
}

static GEMEL__INLINE int gemel__has_room(const gemel_graph *graph, size_t n_inputs) {
  return graph->n_nodes < graph->node_room && graph->n_pool + n_inputs <= graph->pool_room;
}

/* Stores what node_types holds for the next node, and whether its block still has one type. */
static GEMEL__INLINE void gemel__write_type(gemel_graph *graph, uint32_t type) {
  gemel_type *common = &graph->common_types[graph->n_nodes / GEMEL__BLOCK];
  int like_all = graph->n_nodes % GEMEL__BLOCK == 0 ? !(type & GEMEL__SEVERAL) : *common == type;
  graph->node_types[graph->n_nodes] = type;
  *common = like_all ? type : GEMEL_TYPE_NONE;
}

static GEMEL__INLINE void gemel__write_node(gemel_graph *graph, uint32_t op, uint32_t attrs,
                                            size_t n_outputs, const gemel_type *types,
                                            uint32_t file, int line) {
  gemel__node *node = &graph->nodes[graph->n_nodes];
  node->op = (uint16_t)op;
  node->n_outputs = (uint16_t)n_outputs;
  node->attrs = attrs;
  node->in_begin = (uint32_t)graph->n_pool;
  node->line = (uint32_t)line;
  node->file = file;
  if (n_outputs == 1) {
    gemel__write_type(graph, types[0]);
  } else {
    gemel__write_type(graph, GEMEL__SEVERAL | (uint32_t)graph->n_types);
    memcpy(graph->types + graph->n_types, types, n_outputs * sizeof *types);
    graph->n_types += n_outputs;
  }
}

/* Has the memory fetched into which nodes will be written soon. It lies in as many places as there
 * are arrays, and where most of what is read is in no order at all, the processor doesn't notice
 * that these are. Addresses that aren't there do no harm. */
static GEMEL__INLINE void gemel__fetch_ahead(const gemel_graph *graph, uint32_t node) {
  enum { AHEAD = 96, LINE = 64 };
  const char *nodes = (const char *)&graph->nodes[node + AHEAD];
  const char *pool = (const char *)&graph->pool[graph->n_pool + AHEAD];
  __builtin_prefetch(nodes, 1);
  __builtin_prefetch(nodes + LINE, 1);
  __builtin_prefetch(nodes + 2 * LINE, 1);
  __builtin_prefetch(pool, 1);
  __builtin_prefetch(pool + LINE, 1);
  __builtin_prefetch(&graph->node_types[node + AHEAD], 1);
  __builtin_prefetch(&graph->buckets[(node + AHEAD) / GEMEL__BUCKET_NODES], 1);
  __builtin_prefetch(&graph->buckets[(node + AHEAD) / GEMEL__BUCKET_NODES + 1], 1);
}

/* Empties the two buckets that NODE is the first to have. Nobody looks into them before, so that
 * the table can grow without being cleared. */
static GEMEL__INLINE void gemel__buckets_open(gemel_graph *graph, uint32_t node) {
  gemel__cons_bucket *b = &graph->buckets[node / GEMEL__BUCKET_NODES], *end = b + 2;
  for (; b < end; b++) {
    b->tags = 0;
    b->more_tags = 0;
    b->used = 0;
  }
}

/* Appends the node, for which there is room, but for the table. */
static GEMEL__INLINE uint32_t gemel__node_append(gemel_graph *graph, const gemel__key *k,
                                                 size_t n_outputs, const gemel_type *types,
                                                 uint32_t file, int line) {
  uint32_t node = (uint32_t)graph->n_nodes;
  gemel__ref *pool = graph->pool + graph->n_pool;
  size_t j;
  gemel__write_node(graph, k->op, k->attrs, n_outputs, types, file, line);
  GEMEL__UNROLL
  for (j = 0; j < k->n; j++) {
    pool[j] = k->inputs[j];
  }
  graph->n_pool += k->n;
  graph->n_nodes = (size_t)node + 1;
  graph->nodes[graph->n_nodes].in_begin = (uint32_t)graph->n_pool;
  if (node % (2 * GEMEL__BUCKET_NODES) == 0) {
    gemel__buckets_open(graph, node);
    gemel__fetch_ahead(graph, node);
  }
  return node;
}

/* Finds or appends a node that is not in the bucket of its largest input: that is full, or the
 * graph needs more room. */
gemel_status gemel__cons_make_slowly(gemel_graph *graph, uint32_t op, uint32_t attrs,
                                     size_t n_inputs, const gemel__ref *inputs, gemel_type type,
                                     gemel_location where, uint64_t hash, uint32_t *node);

/* Finds a node with inputs and one output of a TYPE that is known, or appends it. Errors as of
 * gemel__cons_append. With N_INPUTS known where this is compiled, there are no loops over them. */
static GEMEL__INLINE gemel_status gemel__cons_make(gemel_graph *graph, uint32_t op, uint32_t attrs,
                                                   size_t n_inputs, const gemel__ref *inputs,
                                                   gemel_type type, gemel_location where,
                                                   uint32_t *node) {
  const gemel__key key = {graph, op, attrs, n_inputs, inputs};
  uint64_t hash = gemel__node_hash(op, attrs, n_inputs, inputs);
  gemel__cons_bucket *b =
      &graph->buckets[gemel__largest_input(n_inputs, inputs) / GEMEL__BUCKET_NODES];
  uint32_t found = gemel__bucket_search(&key, b, hash);
  if (found != 0) {
    *node = found - 1;
    return GEMEL_OK;
  }
  if (b->used == GEMEL__BUCKET_SLOTS || !gemel__has_room(graph, n_inputs) ||
      !gemel__is_last_file(graph, where.file)) {
    return gemel__cons_make_slowly(graph, op, attrs, n_inputs, inputs, type, where, hash, node);
  }
  *node = gemel__node_append(graph, &key, 1, &type, graph->last_file, where.line);
  gemel__bucket_fill(b, hash, *node);
  return GEMEL_OK;
}

#endif
