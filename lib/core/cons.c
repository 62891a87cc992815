/* SPDX-License-Identifier: MIT
 *
 * Hash-consing. The table maps a node's content to its id: a slot holds the id, and a byte beside it
 * eight bits of the content's hash (0: empty), so that a node which isn't there is told from the
 * others without looking at them. A node's first
 * slots are near twice the id of its largest input: what was built together lies together, so a
 * chain of ten million nodes walks through the table instead of jumping about it. Only when the
 * WINDOW slots there are full (many nodes on one input) does a node go to a place given by its
 * hash.
 *
 * Nodes are never taken out, but for the last one (gemel__graph_pop): that clears the slot that was
 * filled last, which leaves the table as it was.
 */
#include "core/cons.h"

#include <string.h>
#include "core/alloc.h"
#include "core/intern.h"

#define WINDOW 8
#define SPREAD 3
#define FIRST_NODES 64

static uint64_t node_hash(uint32_t op, uint32_t attrs, size_t n, const gemel__ref *inputs) {
  uint64_t hash = gemel__mix((uint64_t)op << 32 | attrs);
  size_t k;
  for (k = 0; k < n; k++) {
    hash = gemel__mix(hash ^ ((uint64_t)inputs[k].node << 32 | inputs[k].output));
  }
  return hash;
}

static uint32_t largest_input(size_t n, const gemel__ref *inputs) {
  uint32_t largest = 0;
  size_t k;
  for (k = 0; k < n; k++) {
    largest = inputs[k].node > largest ? inputs[k].node : largest;
  }
  return largest;
}

static int same_node(const gemel_graph *graph, uint32_t id, uint32_t op, uint32_t attrs, size_t n,
                     const gemel__ref *inputs) {
  const gemel__node *node = gemel__node_at(graph, id);
  return node->op == op && node->attrs == attrs && node[1].in_begin - node->in_begin == n &&
         (n == 0 || memcmp(graph->pool + node->in_begin, inputs, n * sizeof *inputs) == 0);
}

/* 1 … 255 from the bits of a hash that don't choose the slot. */
static unsigned char tag_of(uint64_t hash) {
  return (unsigned char)((hash >> 56) % 255 + 1);
}

/* The slot where such a node is, or the empty one where it would go. */
static size_t find_slot(const gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n,
                        const gemel__ref *inputs, unsigned char *tag) {
  uint64_t hash = node_hash(op, attrs, n, inputs);
  size_t mask = graph->slot_count - 1;
  size_t slot = n > 0 ? (size_t)largest_input(n, inputs) * SPREAD : (size_t)hash;
  size_t k;
  *tag = tag_of(hash);
  for (k = 0;; k++, slot++) {
    slot = k == WINDOW ? (size_t)hash & mask : slot & mask;
    if (graph->tags[slot] == 0 ||
        (graph->tags[slot] == *tag &&
         same_node(graph, graph->slots[slot], op, attrs, n, inputs))) {
      return slot;
    }
  }
}

static size_t slot_of(const gemel_graph *graph, uint32_t id, unsigned char *tag) {
  const gemel__node *node = gemel__node_at(graph, id);
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, id, &count);
  return find_slot(graph, node->op, node->attrs, count, inputs, tag);
}

/* Doubles the table. Inserting in the order of ids gives each node the slots it would have got. */
static int grow_slots(gemel_graph *graph) {
  size_t count = graph->slot_count == 0 ? 4 * FIRST_NODES : graph->slot_count * 2;
  uint32_t *slots = gemel__alloc_array(count, sizeof *slots);
  unsigned char *tags = gemel__alloc_array(count, 1);
  size_t k;
  if (slots == NULL || tags == NULL) {
    gemel__free(slots, count * sizeof *slots);
    gemel__free(tags, count);
    return -1;
  }
  gemel__free(graph->slots, graph->slot_count * sizeof *slots);
  gemel__free(graph->tags, graph->slot_count);
  graph->slots = slots;
  graph->tags = tags;
  graph->slot_count = count;
  for (k = 0; k < graph->n_nodes; k++) {
    unsigned char tag;
    size_t slot = slot_of(graph, (uint32_t)k, &tag);
    slots[slot] = (uint32_t)k;
    tags[slot] = tag;
  }
  return 0;
}

int gemel__graph_reserve(gemel_graph *graph) {
  if (gemel__grow(&graph->files, &graph->file_capacity, 1, sizeof *graph->files) != 0 ||
      gemel__grow(&graph->nodes, &graph->node_capacity, FIRST_NODES, sizeof *graph->nodes) != 0 ||
      grow_slots(graph) != 0) {
    return -1;
  }
  graph->files[0] = "";
  graph->n_files = 1;
  memset(graph->nodes, 0, sizeof *graph->nodes);
  return 0;
}

int gemel__cons_find(const gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                     const gemel__ref *inputs, uint32_t *node) {
  unsigned char tag;
  size_t slot = find_slot(graph, op, attrs, n_inputs, inputs, &tag);
  *node = graph->slots[slot];
  return graph->tags[slot] != 0;
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

/* Number of the file in the graph's list; 0 ("unknown") when memory is out, which loses a file name
 * in messages and nothing else. */
static uint32_t file_index(gemel_graph *graph, const char *file) {
  const char *interned;
  long found;
  if (file == NULL || strcmp(graph->files[graph->last_file], file) == 0) {
    return file == NULL ? 0 : graph->last_file;
  }
  interned = gemel__intern_string(graph->context, file);
  if (interned == NULL) {
    return 0;
  }
  found = gemel__name_find(&graph->file_table, graph->files, interned);
  if (found < 0) {
    if (gemel__grow(&graph->files, &graph->file_capacity, graph->n_files + 1,
                    sizeof *graph->files) != 0) {
      return 0;
    }
    graph->files[graph->n_files] = interned;
    if (gemel__name_add(&graph->file_table, graph->files, graph->n_files) != 0) {
      return 0;
    }
    found = (long)graph->n_files++;
  }
  graph->last_file = (uint32_t)found;
  return graph->last_file;
}

/* ---- Appending ---- */

static int make_room(gemel_graph *graph, size_t n_inputs, size_t n_outputs) {
  if (gemel__grow(&graph->nodes, &graph->node_capacity, graph->n_nodes + 2, sizeof *graph->nodes) !=
          0 ||
      gemel__grow(&graph->pool, &graph->pool_capacity, graph->n_pool + n_inputs,
                  sizeof *graph->pool) != 0) {
    return -1;
  }
  if (n_outputs != 1 && gemel__grow(&graph->types, &graph->type_capacity,
                                    graph->n_types + n_outputs, sizeof *graph->types) != 0) {
    return -1;
  }
  if ((graph->n_nodes + 1) * SPREAD > graph->slot_count) {
    return grow_slots(graph);
  }
  return 0;
}

static void write_node(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_outputs,
                       const gemel_type *types, gemel_location where) {
  gemel__node *node = &graph->nodes[graph->n_nodes];
  node->op = (uint16_t)op;
  node->n_outputs = (uint16_t)n_outputs;
  node->attrs = attrs;
  node->in_begin = (uint32_t)graph->n_pool;
  node->line = (uint32_t)where.line;
  node->file = file_index(graph, where.file);
  if (n_outputs == 1) {
    node->type = types[0];
  } else {
    node->type = (uint32_t)graph->n_types;
    memcpy(graph->types + graph->n_types, types, n_outputs * sizeof *types);
    graph->n_types += n_outputs;
  }
}

gemel_status gemel__cons_append(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                                const gemel__ref *inputs, size_t n_outputs, const gemel_type *types,
                                gemel_location where, uint32_t *node) {
  unsigned char tag;
  size_t slot;
  if (graph->n_nodes >= UINT32_MAX / 2 - 1 || graph->n_pool + n_inputs >= UINT32_MAX ||
      n_outputs > UINT16_MAX) {
    return GEMEL_UNSUPPORTED;
  }
  if (make_room(graph, n_inputs, n_outputs) != 0) {
    return GEMEL_NO_MEMORY;
  }
  slot = find_slot(graph, op, attrs, n_inputs, inputs, &tag);
  write_node(graph, op, attrs, n_outputs, types, where);
  if (n_inputs > 0) {
    memcpy(graph->pool + graph->n_pool, inputs, n_inputs * sizeof *inputs);
  }
  graph->n_pool += n_inputs;
  *node = (uint32_t)graph->n_nodes++;
  graph->nodes[graph->n_nodes].in_begin = (uint32_t)graph->n_pool;
  graph->slots[slot] = *node;
  graph->tags[slot] = tag;
  return GEMEL_OK;
}

void gemel__graph_pop(gemel_graph *graph, uint32_t node) {
  unsigned char tag;
  const gemel__node *record = gemel__node_at(graph, node);
  if ((size_t)node + 1 != graph->n_nodes) {
    return;
  }
  graph->tags[slot_of(graph, node, &tag)] = 0;
  graph->n_pool = record->in_begin;
  if (record->n_outputs != 1) {
    graph->n_types -= record->n_outputs;
  }
  graph->n_nodes--;
}
