/* SPDX-License-Identifier: MIT
 *
 * Hash-consing. A node is looked for near the id of its largest input: in the WINDOW slots from
 * SPREAD times that id on. A slot holds a node's id, and a byte beside it eight bits of the
 * content's hash (0: empty), so that a node which isn't there is told from the others without
 * looking at them. What was built together lies together: a chain of ten million nodes walks
 * through the table instead of jumping about it, and since the place doesn't depend on the size of
 * the table, growing it moves nothing. (In a random graph an early node is the largest input of two
 * others on average, so a spread of 3 keeps a third of the slots empty.) Where that window is full
 * (many nodes take a constant that was made late, say), the window of the next smaller input is
 * tried. Nodes without inputs, and those whose windows are full, go to an ordinary table, the
 * overflow.
 *
 * Nodes are never taken out, but for the last one (gemel__graph_pop): that empties the slot that
 * was filled last, which leaves the table as it was.
 */
#include "core/cons.h"

#include <string.h>
#include "core/alloc.h"
#include "core/intern.h"

#define WINDOW 16
#define SPREAD GEMEL__SPREAD
#define FIRST_NODES 64

/* One multiplication an input, and one thorough mixing at the end. */
static inline uint64_t node_hash(uint32_t op, uint32_t attrs, size_t n, const gemel__ref *inputs) {
  uint64_t hash = (uint64_t)op << 32 | attrs;
  size_t k;
  for (k = 0; k < n; k++) {
    hash = (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15u;
    hash ^= (uint64_t)inputs[k].node << 32 | inputs[k].output;
  }
  return gemel__mix(hash);
}

/* The two largest input nodes; the same one twice if there is no other. */
static inline void largest_inputs(size_t n, const gemel__ref *inputs, uint32_t largest[2]) {
  uint32_t first = inputs[0].node, second = first;
  size_t k;
  for (k = 1; k < n; k++) {
    uint32_t node = inputs[k].node;
    if (node > first) {
      second = first;
      first = node;
    } else if (node < first && (second == first || node > second)) {
      second = node;
    }
  }
  largest[0] = first;
  largest[1] = second;
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

/* 1 … 255 from the bits of a hash that don't choose the slot. */
static inline unsigned char tag_of(uint64_t hash) {
  unsigned tag = (unsigned)(hash >> 56);
  return (unsigned char)(tag + (tag == 0));
}

/* What is looked for. */
struct key {
  const gemel_graph *graph;
  uint32_t op, attrs;
  size_t n;
  const gemel__ref *inputs;
};

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

/* Looks through the window of input node NEAR: 1 if the node or an empty slot is there. */
static inline int search_window(const struct key *k, uint32_t near, gemel__place *p) {
  const gemel_graph *graph = k->graph;
  unsigned char tag = tag_of(p->hash);
  size_t slot = (size_t)near * SPREAD, end = slot + WINDOW;
  for (; slot < end; slot++) {
    unsigned char there = graph->tags[slot];
    if (there == 0 ||
        (there == tag && same_node(graph, graph->slots[slot], k->op, k->attrs, k->n, k->inputs))) {
      p->slot = slot;
      p->found = there != 0 ? graph->slots[slot] + 1 : 0;
      return 1;
    }
  }
  return 0;
}

static inline void find(const struct key *k, gemel__place *p) {
  uint32_t largest[2];
  p->hash = node_hash(k->op, k->attrs, k->n, k->inputs);
  p->slot = GEMEL__NO_SLOT;
  p->n_nodes = k->graph->n_nodes;
  if (k->n > 0) {
    largest_inputs(k->n, k->inputs, largest);
    if (search_window(k, largest[0], p) ||
        (largest[1] != largest[0] && search_window(k, largest[1], p))) {
      return;
    }
  }
  p->found = gemel__idtable_find(&k->graph->overflow, p->hash, same_key, k);
}

/* Room in the window table for a graph of N nodes. */
static inline int grow_slots(gemel_graph *graph, size_t n) {
  size_t need = n * SPREAD + WINDOW, old = graph->tag_capacity;
  if (need <= graph->tag_capacity && need <= graph->slot_capacity) {
    return 0;
  }
  if (gemel__grow(&graph->slots, &graph->slot_capacity, need, sizeof *graph->slots) != 0 ||
      gemel__grow(&graph->tags, &graph->tag_capacity, need, 1) != 0) {
    return -1;
  }
  memset(graph->tags + old, 0, graph->tag_capacity - old);
  return 0;
}

int gemel__graph_reserve(gemel_graph *graph) {
  if (gemel__grow(&graph->files, &graph->file_capacity, 1, sizeof *graph->files) != 0 ||
      gemel__grow(&graph->nodes, &graph->node_capacity, FIRST_NODES, sizeof *graph->nodes) != 0 ||
      grow_slots(graph, FIRST_NODES) != 0) {
    return -1;
  }
  graph->files[0] = "";
  graph->n_files = 1;
  memset(graph->nodes, 0, sizeof *graph->nodes);
  return 0;
}

int gemel__cons_find(const gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                     const gemel__ref *inputs, gemel__place *place, uint32_t *node) {
  struct key key = {graph, op, attrs, n_inputs, inputs};
  find(&key, place);
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

/* Number of the file in the graph's list, or -1 when memory is out. */
static inline long file_index(gemel_graph *graph, const char *file) {
  const char *interned;
  long found;
  const char *last = graph->files[graph->last_file];
  if (file == NULL || file == last || strcmp(last, file) == 0) {
    return file == NULL ? 0 : (long)graph->last_file;
  }
  interned = gemel__intern_string(graph->context, file);
  if (interned == NULL) {
    return -1;
  }
  found = gemel__name_find(&graph->file_table, graph->files, interned);
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

static inline int make_room(gemel_graph *graph, size_t n_inputs, size_t n_outputs) {
  if (gemel__grow(&graph->nodes, &graph->node_capacity, graph->n_nodes + 2, sizeof *graph->nodes) !=
          0 ||
      gemel__grow(&graph->node_types, &graph->node_type_capacity, graph->n_nodes + 1,
                  sizeof *graph->node_types) != 0 ||
      gemel__grow(&graph->pool, &graph->pool_capacity, graph->n_pool + n_inputs,
                  sizeof *graph->pool) != 0) {
    return -1;
  }
  if (n_outputs != 1 && gemel__grow(&graph->types, &graph->type_capacity,
                                    graph->n_types + n_outputs, sizeof *graph->types) != 0) {
    return -1;
  }
  return grow_slots(graph, graph->n_nodes + 1);
}

static inline void write_node(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_outputs,
                              const gemel_type *types, uint32_t file, int line) {
  gemel__node *node = &graph->nodes[graph->n_nodes];
  node->op = (uint16_t)op;
  node->n_outputs = (uint16_t)n_outputs;
  node->attrs = attrs;
  node->in_begin = (uint32_t)graph->n_pool;
  node->line = (uint32_t)line;
  node->file = file;
  if (n_outputs == 1) {
    graph->node_types[graph->n_nodes] = types[0];
  } else {
    graph->node_types[graph->n_nodes] = GEMEL__SEVERAL | (uint32_t)graph->n_types;
    memcpy(graph->types + graph->n_types, types, n_outputs * sizeof *types);
    graph->n_types += n_outputs;
  }
}

/* Puts the node that is about to be made into the overflow. */
static int add_to_overflow(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                           const gemel__ref *inputs, uint64_t hash) {
  struct key key = {graph, op, attrs, n_inputs, inputs};
  return gemel__idtable_add(&graph->overflow, hash, (uint32_t)graph->n_nodes + 1, key_hash, &key);
}

static inline int is_full(const gemel_graph *graph, size_t n_inputs, size_t n_outputs) {
  return graph->n_nodes >= UINT32_MAX / 2 - 1 || graph->n_pool + n_inputs >= UINT32_MAX ||
         graph->n_types + n_outputs >= GEMEL__SEVERAL || n_outputs > UINT16_MAX;
}

gemel_status gemel__cons_append(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                                const gemel__ref *inputs, const gemel__place *place,
                                size_t n_outputs, const gemel_type *types, gemel_location where,
                                uint32_t *node) {
  gemel__place again;
  size_t k;
  long file;
  if (is_full(graph, n_inputs, n_outputs)) {
    return GEMEL_UNSUPPORTED;
  }
  if (make_room(graph, n_inputs, n_outputs) != 0 || (file = file_index(graph, where.file)) < 0) {
    return GEMEL_NO_MEMORY;
  }
  if (place->n_nodes != graph->n_nodes) { /* a type rule has made nodes */
    gemel__cons_find(graph, op, attrs, n_inputs, inputs, &again, node);
    place = &again;
  }
  if (place->slot == GEMEL__NO_SLOT &&
      add_to_overflow(graph, op, attrs, n_inputs, inputs, place->hash) != 0) {
    return GEMEL_NO_MEMORY;
  }
  write_node(graph, op, attrs, n_outputs, types, (uint32_t)file, where.line);
  for (k = 0; k < n_inputs; k++) {
    graph->pool[graph->n_pool++] = inputs[k];
  }
  *node = (uint32_t)graph->n_nodes++;
  graph->nodes[graph->n_nodes].in_begin = (uint32_t)graph->n_pool;
  if (place->slot != GEMEL__NO_SLOT) {
    graph->slots[place->slot] = *node;
    graph->tags[place->slot] = tag_of(place->hash);
  }
  return GEMEL_OK;
}

void gemel__graph_pop(gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  struct key key = {graph, record->op, record->attrs, record[1].in_begin - record->in_begin,
                    graph->pool + record->in_begin};
  gemel__place p;
  if ((size_t)node + 1 != graph->n_nodes) {
    return;
  }
  find(&key, &p);
  if (p.slot != GEMEL__NO_SLOT) {
    graph->tags[p.slot] = 0;
  } else {
    gemel__idtable_remove_last(&graph->overflow, p.hash, node + 1);
  }
  graph->n_pool = record->in_begin;
  if (record->n_outputs != 1) {
    graph->n_types -= record->n_outputs;
  }
  graph->n_nodes--;
}
