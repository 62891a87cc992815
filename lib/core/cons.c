/* SPDX-License-Identifier: MIT
 *
 * Hash-consing. A node is looked for near the id of its largest input: BUCKET_NODES nodes in a row
 * share a bucket, which holds the ids of nodes and beside each a byte of its content's hash, so
 * that a node which isn't there is told from the others without looking at them. What was built
 * together lies together: a chain of ten million nodes walks through the table instead of jumping
 * about it, and since the place doesn't depend on the size of the table, growing it moves nothing.
 * (In a random graph an early node is the largest input of two others on average, so a bucket has
 * three slots a node.) A bucket that is full spills into the one beside it; where both are full
 * (many nodes take a constant that was made late, say), those of the next smaller input are tried.
 * Nodes without inputs, and those whose buckets are full, go to an ordinary table, the overflow.
 *
 * Nodes are never taken out, but for the last one (gemel__graph_pop): that empties the slot that
 * was filled last, which leaves the table as it was.
 */
#include "core/cons.h"

#include <string.h>
#include "core/alloc.h"
#include "core/intern.h"

enum { FIRST_NODES = 64, BUCKET_NODES = 4, BUCKET_SLOTS = GEMEL__BUCKET_SLOTS };

/* What is looked for. */
struct key {
  const gemel_graph *graph;
  uint32_t op, attrs;
  size_t n;
  const gemel__ref *inputs;
};

static uint64_t node_hash(uint32_t op, uint32_t attrs, size_t n, const gemel__ref *inputs) {
  uint64_t hash = gemel__mix((uint64_t)op << 32 | attrs);
  for (size_t k = 0; k < n; k++) {
    hash = gemel__mix(hash ^ ((uint64_t)inputs[k].node << 32 | inputs[k].output));
  }
  return hash;
}

static uint32_t largest_input(size_t n, const gemel__ref *inputs) {
  uint32_t largest = inputs[0].node;
  for (size_t k = 1; k < n; k++) {
    largest = inputs[k].node > largest ? inputs[k].node : largest;
  }
  return largest;
}

/* The largest input node below LARGEST; LARGEST if there is none. */
static uint32_t next_input(size_t n, const gemel__ref *inputs, uint32_t largest) {
  uint32_t next = largest;
  for (size_t k = 0; k < n; k++) {
    uint32_t node = inputs[k].node;
    if (node < largest && (next == largest || node > next)) {
      next = node;
    }
  }
  return next;
}

static inline int same_node(const gemel_graph *graph, uint32_t id, uint32_t op, uint32_t attrs,
                            size_t n, const gemel__ref *inputs) {
  const gemel__node *node = gemel__node_at(graph, id);
  const gemel__ref *there = graph->pool + node->in_begin;
  size_t k;
  if (node->op != op || node->attrs != attrs || node[1].in_begin - node->in_begin != n) {
    return 0;
  }
  for (k = 0; k < n; k++) {
    if (there[k].node != inputs[k].node || there[k].output != inputs[k].output) {
      return 0;
    }
  }
  return 1;
}

static int same_key(const void *user, uint32_t id) {
  const struct key *k = user;
  return same_node(k->graph, id - 1, k->op, k->attrs, k->n, k->inputs);
}

static uint64_t key_hash(const void *user, uint32_t id) {
  const struct key *k = user;
  const gemel__node *node = gemel__node_at(k->graph, id - 1);
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(k->graph, id - 1, &count);
  return node_hash(node->op, node->attrs, count, inputs);
}

/* Looks into bucket INDEX: 1 if the node or an empty slot is there. */
static int try_bucket(const struct key *k, size_t index, gemel__cons_place *p) {
  const gemel__cons_bucket *b = &k->graph->buckets[index];
  unsigned char tag = (unsigned char)(p->hash >> 56);
  p->bucket = index;
  for (uint32_t slot = 0; slot < b->used; slot++) {
    if (b->tags[slot] == tag &&
        same_node(k->graph, b->nodes[slot], k->op, k->attrs, k->n, k->inputs)) {
      p->found = b->nodes[slot] + 1;
      return 1;
    }
  }
  return b->used < BUCKET_SLOTS;
}

/* Where the bucket of NEAR, the largest input, is full, or there are no inputs. */
static void find_far(const struct key *k, uint32_t near, gemel__cons_place *p) {
  if (k->n > 0) {
    size_t home = near / BUCKET_NODES;
    size_t next = next_input(k->n, k->inputs, near) / BUCKET_NODES;
    size_t others[3] = {home ^ 1, next, next ^ 1}, j;
    for (j = 0; j < 3; j++) {
      if (others[j] != home && try_bucket(k, others[j], p)) {
        return;
      }
    }
  }
  p->bucket = GEMEL__NO_BUCKET;
  p->found = gemel__idtable_find(&k->graph->overflow, p->hash, same_key, k);
}

int gemel__cons_find(const gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                     const gemel__ref *inputs, gemel__cons_place *place, uint32_t *node) {
  struct key key = {graph, op, attrs, n_inputs, inputs};
  uint32_t near = n_inputs > 0 ? largest_input(n_inputs, inputs) : 0;
  *place = (gemel__cons_place){node_hash(op, attrs, n_inputs, inputs), 0, graph->n_nodes, 0};
  if (n_inputs == 0 || !try_bucket(&key, near / BUCKET_NODES, place)) {
    find_far(&key, near, place);
  }
  *node = place->found - 1;
  return place->found != 0;
}

/* ---- Names and provenance ---- */

struct name_key {
  const char *const *names;
  const char *name;
};

static uint64_t pointer_hash(const char *name) {
  return gemel__mix((uint64_t)(uintptr_t)name);
}

static int same_name(const void *user, uint32_t id) {
  const struct name_key *key = user;
  return key->names[id - 1] == key->name;
}

static uint64_t name_hash(const void *user, uint32_t id) {
  const struct name_key *key = user;
  return pointer_hash(key->names[id - 1]);
}

long gemel__name_find(const gemel__idtable *table, const char *const *names, const char *name) {
  struct name_key key = {names, name};
  return (long)gemel__idtable_find(table, pointer_hash(name), same_name, &key) - 1;
}

int gemel__name_add(gemel__idtable *table, const char *const *names, size_t index) {
  struct name_key key = {names, names[index]};
  return gemel__idtable_add(table, pointer_hash(names[index]), (uint32_t)index + 1, name_hash,
                            &key);
}

static int is_last_file(const gemel_graph *graph, const char *file) {
  const char *last = graph->files[graph->last_file];
  return file == last || (file != NULL && strcmp(last, file) == 0);
}

long gemel__graph_file(gemel_graph *graph, const char *file) {
  if (file == NULL || is_last_file(graph, file)) {
    return file == NULL ? 0 : (long)graph->last_file;
  }
  const char *interned = gemel__intern_string(graph->context, file);
  if (interned == NULL) {
    return -1;
  }
  long found = gemel__name_find(&graph->file_table, graph->files, interned);
  if (found < 0) {
    if (gemel__grow(&graph->files, &graph->file_capacity, graph->n_files + 1,
                    sizeof *graph->files) != 0) {
      return -1;
    }
    graph->files[graph->n_files] = interned;
    if (gemel__name_add(&graph->file_table, graph->files, graph->n_files) != 0) {
      return -1;
    }
    found = (long)graph->n_files++;
  }
  graph->last_file = (uint32_t)found;
  return found;
}

/* ---- Appending ---- */

int gemel__cons_reserve(gemel_graph *graph, size_t n_nodes, size_t n_pool) {
  size_t old = graph->bucket_capacity;
  int failed =
      gemel__grow(&graph->nodes, &graph->node_capacity, n_nodes + 1, sizeof *graph->nodes) != 0 ||
      gemel__grow(&graph->node_types, &graph->node_type_capacity, n_nodes,
                  sizeof *graph->node_types) != 0 ||
      gemel__grow(&graph->pool, &graph->pool_capacity, n_pool, sizeof *graph->pool) != 0 ||
      gemel__grow(&graph->buckets, &graph->bucket_capacity, (n_nodes / (2 * BUCKET_NODES) + 1) * 2,
                  sizeof *graph->buckets) != 0;
  for (; old < graph->bucket_capacity; old++) {
    graph->buckets[old].used = 0;
  }
  return failed ? -1 : 0;
}

int gemel__graph_reserve(gemel_graph *graph) {
  if (gemel__grow(&graph->files, &graph->file_capacity, 1, sizeof *graph->files) != 0 ||
      gemel__cons_reserve(graph, FIRST_NODES, 0) != 0) {
    return -1;
  }
  graph->files[0] = "";
  graph->n_files = 1;
  memset(graph->nodes, 0, sizeof *graph->nodes);
  return 0;
}

/* Room for one more node. GEMEL_NO_MEMORY or GEMEL_UNSUPPORTED. */
static gemel_status room_for(gemel_graph *graph, size_t n_inputs, size_t n_outputs) {
  if (graph->n_nodes >= UINT32_MAX / 2 - 1 || graph->n_pool + n_inputs >= UINT32_MAX ||
      graph->n_types + n_outputs >= GEMEL__SEVERAL || n_outputs > UINT16_MAX) {
    return GEMEL_UNSUPPORTED;
  }
  if (n_outputs != 1 && gemel__grow(&graph->types, &graph->type_capacity,
                                    graph->n_types + n_outputs, sizeof *graph->types) != 0) {
    return GEMEL_NO_MEMORY;
  }
  return gemel__cons_reserve(graph, graph->n_nodes + 1, graph->n_pool + n_inputs) == 0
             ? GEMEL_OK
             : GEMEL_NO_MEMORY;
}

/* Writes the record and the types of the next node. */
static void write_node(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_outputs,
                       const gemel_type *types, long file, int line) {
  size_t at = graph->n_nodes;
  graph->nodes[at] = (gemel__node){.op = (uint16_t)op,
                                   .n_outputs = (uint16_t)n_outputs,
                                   .attrs = attrs,
                                   .in_begin = (uint32_t)graph->n_pool,
                                   .line = (uint32_t)line,
                                   .file = (uint32_t)file};
  if (n_outputs == 1) {
    graph->node_types[at] = types[0].id;
  } else {
    graph->node_types[at] = GEMEL__SEVERAL | (uint32_t)graph->n_types;
    memcpy(graph->types + graph->n_types, types, n_outputs * sizeof *types);
    graph->n_types += n_outputs;
  }
}

/* Puts NODE, whose content has this hash, into the bucket, which has room. */
static void fill_slot(gemel__cons_bucket *b, uint64_t hash, uint32_t node) {
  b->nodes[b->used] = node;
  b->tags[b->used++] = (unsigned char)(hash >> 56);
}

/* Puts the node that is about to be made into the overflow. */
static int add_to_overflow(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                           const gemel__ref *inputs, uint64_t hash) {
  struct key key = {graph, op, attrs, n_inputs, inputs};
  return gemel__idtable_add(&graph->overflow, hash, (uint32_t)graph->n_nodes + 1, key_hash, &key);
}

gemel_status gemel__cons_append(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                                const gemel__ref *inputs, const gemel__cons_place *place,
                                size_t n_outputs, const gemel_type *types, gemel_location where,
                                uint32_t *node) {
  gemel__cons_place again;
  long file;
  gemel_status status = room_for(graph, n_inputs, n_outputs);
  if (status != GEMEL_OK) {
    return status;
  }
  if ((file = gemel__graph_file(graph, where.file)) < 0) {
    return GEMEL_NO_MEMORY;
  }
  if (place->n_nodes != graph->n_nodes) { /* a type rule has made nodes */
    gemel__cons_find(graph, op, attrs, n_inputs, inputs, &again, node);
    place = &again;
  }
  if (place->bucket == GEMEL__NO_BUCKET &&
      add_to_overflow(graph, op, attrs, n_inputs, inputs, place->hash) != 0) {
    return GEMEL_NO_MEMORY;
  }
  *node = (uint32_t)graph->n_nodes;
  write_node(graph, op, attrs, n_outputs, types, file, where.line);
  for (size_t k = 0; k < n_inputs; k++) {
    graph->pool[graph->n_pool++] = inputs[k];
  }
  graph->n_nodes++;
  graph->nodes[graph->n_nodes].in_begin = (uint32_t)graph->n_pool;
  if (place->bucket != GEMEL__NO_BUCKET) {
    fill_slot(&graph->buckets[place->bucket], place->hash, *node);
  }
  return GEMEL_OK;
}

void gemel__graph_pop(gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  gemel__cons_place p;
  if ((size_t)node + 1 != graph->n_nodes) {
    return;
  }
  gemel__cons_find(graph, record->op, record->attrs, record[1].in_begin - record->in_begin,
                   graph->pool + record->in_begin, &p, &node);
  if (p.bucket != GEMEL__NO_BUCKET) {
    graph->buckets[p.bucket].used--;
  } else {
    gemel__idtable_remove_last(&graph->overflow, p.hash, node + 1);
  }
  graph->n_pool = record->in_begin;
  if (record->n_outputs != 1) {
    graph->n_types -= record->n_outputs;
  }
  graph->n_nodes--;
}
