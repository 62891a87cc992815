/* SPDX-License-Identifier: MIT
 *
 * The joint graph, see joint.h. Both graphs are inlined into one, the first one first. Hash-consing
 * makes equal nodes one node, so nodes that only the second graph has come last. Equalities are
 * then propagated as in congruence closure. One sweep is enough, since ids are a topological order:
 * a node of the second graph whose operands are equal to those of an earlier node is equal to that
 * node.
 *
 * A region is found from its results towards the inputs, largest id first. When a node is taken,
 * everything that uses it has been taken before, so it is known whether both sides reach it. If
 * both do, it is a value in common and becomes an input. Otherwise its operands are visited next.
 */
#include "pairs/joint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "instances/assumed.h"
#include "base/status.h"
#include "core/alloc.h"
#include "core/cons.h"
#include "core/intern.h"

/* ---- Making ---- */

static gemel_status copy_side(gemel__joint *j, const gemel_graph *from, const gemel_graph *order,
                              gemel__ref *outputs, gemel_error *error) {
  size_t n_in = gemel_graph_input_count(from), n_out = gemel_graph_output_count(from), k;
  gemel_value *room = gemel__alloc_array(n_in + n_out, sizeof *room);
  if (room == NULL) {
    return gemel__no_memory(error, "a joint graph");
  }
  for (k = 0; k < n_in; k++) {
    const char *name = gemel_graph_input_name(from, k);
    long at = gemel__name_find(&j->graph->input_table, j->graph->input_names, name);
    room[k] = gemel_graph_input(j->graph, (size_t)at);
  }
  gemel_status status = gemel__graph_inline(j->graph, from, room, room + n_in, error);
  for (k = 0; k < n_out && status == GEMEL_OK; k++) {
    const char *name = gemel_graph_output_name(order, k);
    long at = gemel__name_find(&from->output_table, from->output_names, name);
    gemel_value value = room[n_in + (size_t)at];
    outputs[k] = (gemel__ref){value.node, value.output};
  }
  gemel__free(room, (n_in + n_out) * sizeof *room);
  return status;
}

static gemel_status fill_joint(gemel__joint *j, const gemel_graph *a, const gemel_graph *b,
                               gemel_error *error) {
  size_t k;
  for (k = 0; k < gemel_graph_input_count(a); k++) {
    const char *name = gemel_graph_input_name(a, k);
    gemel_value like = gemel_graph_input(a, k);
    gemel_input_at(j->graph, name, gemel_value_type(like), gemel_value_where(like));
    if (gemel__input_add_marks(j->graph, k, gemel__facts_of_both(a, b, name)) != 0) {
      return gemel__no_memory(error, "a joint graph");
    }
  }
  GEMEL__TRY(gemel__graph_status(j->graph, error));
  GEMEL__TRY(copy_side(j, a, a, j->left, error));
  k = gemel_graph_node_count(j->graph);
  GEMEL__TRY(copy_side(j, b, a, j->right, error));
  j->n_nodes = gemel_graph_node_count(j->graph);
  j->stands_for = gemel__alloc_array(j->n_nodes, sizeof *j->stands_for);
  j->second = gemel__alloc_array(j->n_nodes, 1);
  j->slot = gemel__alloc_array(j->n_nodes, sizeof *j->slot);
  if (j->stands_for == NULL || j->second == NULL || j->slot == NULL) {
    return gemel__no_memory(error, "a joint graph");
  }
  for (; k < j->n_nodes; k++) {
    j->second[k] = 1;
  }
  for (k = 0; k < j->n_nodes; k++) {
    j->stands_for[k] = (uint32_t)k;
  }
  return GEMEL_OK;
}

gemel_status gemel__joint_make(gemel__joint *joint, const gemel_graph *a, const gemel_graph *b,
                               gemel_error *error) {
  memset(joint, 0, sizeof *joint);
  joint->n_outputs = gemel_graph_output_count(a);
  joint->left = gemel__alloc_array(joint->n_outputs, sizeof *joint->left);
  joint->right = gemel__alloc_array(joint->n_outputs, sizeof *joint->right);
  joint->graph = gemel_graph_new(gemel_graph_context(a), error);
  gemel_status status = joint->left == NULL || joint->right == NULL || joint->graph == NULL
                            ? gemel__no_memory(error, "a joint graph")
                            : fill_joint(joint, a, b, error);
  if (status != GEMEL_OK) {
    gemel__joint_clear(joint);
  }
  return status;
}

void gemel__joint_clear(gemel__joint *j) {
  gemel__free(j->left, j->n_outputs * sizeof *j->left);
  gemel__free(j->right, j->n_outputs * sizeof *j->right);
  gemel__free(j->stands_for, j->n_nodes * sizeof *j->stands_for);
  gemel__free(j->second, j->n_nodes);
  gemel__free(j->slot, j->n_nodes * sizeof *j->slot);
  gemel__idtable_clear(&j->known);
  gemel_graph_unref(j->graph);
  memset(j, 0, sizeof *j);
}

/* ---- Equal nodes ---- */

gemel__ref gemel__joint_value(const gemel__joint *joint, gemel__ref ref) {
  return (gemel__ref){joint->stands_for[ref.node], ref.output};
}

int gemel__joint_same(const gemel__joint *joint, size_t k) {
  gemel__ref x = gemel__joint_value(joint, joint->left[k]);
  gemel__ref y = gemel__joint_value(joint, joint->right[k]);
  return x.node == y.node && x.output == y.output;
}

static gemel__ref operand(const gemel__joint *j, uint32_t node, uint32_t k) {
  uint32_t count;
  return gemel__joint_value(j, gemel__node_inputs(j->graph, node, &count)[k]);
}

static uint32_t operand_count(const gemel__joint *j, uint32_t node) {
  uint32_t count;
  gemel__node_inputs(j->graph, node, &count);
  return count;
}

static uint64_t key_of(gemel__ref ref) {
  return (uint64_t)ref.node << 32 | ref.output;
}

/* 1 if NODE has two operands that may be exchanged: they are hashed and compared in either
 * order. */
static int exchangeable(const gemel__joint *j, uint32_t node) {
  return (gemel__node_op(j->graph, node)->record.flags & GEMEL_OP_COMMUTATIVE) != 0 &&
         operand_count(j, node) == 2;
}

static uint64_t hash_of(const void *user, uint32_t node) {
  const gemel__joint *j = user;
  const gemel__node *record = gemel__node_at(j->graph, node);
  uint64_t hash = gemel__mix((uint64_t)record->op << 32 | record->attrs);
  uint32_t n = operand_count(j, node), k;
  if (exchangeable(j, node)) {
    return hash + gemel__mix(key_of(operand(j, node, 0))) + gemel__mix(key_of(operand(j, node, 1)));
  }
  for (k = 0; k < n; k++) {
    hash = gemel__mix(hash ^ key_of(operand(j, node, k)));
  }
  return hash;
}

struct alike {
  const gemel__joint *joint;
  uint32_t node;
};

static int is_alike(const void *user, uint32_t other) {
  const struct alike *q = user;
  const gemel__joint *j = q->joint;
  const gemel__node *x = gemel__node_at(j->graph, q->node), *y = gemel__node_at(j->graph, other);
  uint32_t n = operand_count(j, q->node), k = 0;
  if (x->op != y->op || x->attrs != y->attrs || n != operand_count(j, other) ||
      !gemel_type_equal(gemel__node_type(j->graph, q->node, 0),
                        gemel__node_type(j->graph, other, 0))) {
    return 0;
  }
  while (k < n && key_of(operand(j, q->node, k)) == key_of(operand(j, other, k))) {
    k++;
  }
  return k == n || (exchangeable(j, other) &&
                    key_of(operand(j, q->node, 0)) == key_of(operand(j, other, 1)) &&
                    key_of(operand(j, q->node, 1)) == key_of(operand(j, other, 0)));
}

/* The table takes id 0 for "none", so ids are stored plus 1. */
static uint64_t stored_hash(const void *user, uint32_t id) {
  return hash_of(user, id - 1);
}

static int stored_alike(const void *user, uint32_t id) {
  return is_alike(user, id - 1);
}

int gemel__joint_meet(gemel__joint *joint, uint32_t node) {
  struct alike query = {joint, node};
  uint64_t hash = hash_of(joint, node);
  /* each input differs from all others */
  uint32_t found = operand_count(joint, node) > 0
                       ? gemel__idtable_find(&joint->known, hash, stored_alike, &query)
                       : 0;
  if (found != 0 && gemel__has_output(joint->graph, found - 1, 0)) {
    joint->stands_for[node] = joint->stands_for[found - 1];
    return 1;
  }
  return operand_count(joint, node) > 0 &&
                 gemel__idtable_add(&joint->known, hash, node + 1, stored_hash, joint) != 0
             ? -1
             : 0;
}

void gemel__joint_merge(gemel__joint *joint, uint32_t u, uint32_t v) {
  joint->stands_for[v] = u;
}

/* ---- Regions ---- */

enum { LEFT = 1, RIGHT = 2, BOTH = 3, LEAF = 4 };

/* A node of a region; the heap has the largest id on top. */
struct reached {
  uint32_t node;
  unsigned flags;
  int level; /* how many values in common were opened up on the way here */
};

struct cone {
  gemel__joint *j;
  struct reached *nodes; /* all that were reached; node ID is at slot[ID] − 1 */
  size_t n, capacity;
  uint32_t *heap;
  size_t n_heap, heap_capacity;
  int failed;
};

static void sift_up(struct cone *c, size_t k) {
  while (k > 0 && c->heap[(k - 1) / 2] < c->heap[k]) {
    uint32_t swap = c->heap[k];
    c->heap[k] = c->heap[(k - 1) / 2];
    c->heap[(k - 1) / 2] = swap;
    k = (k - 1) / 2;
  }
}

static uint32_t pop(struct cone *c) {
  uint32_t top = c->heap[0];
  size_t k = 0;
  c->heap[0] = c->heap[--c->n_heap];
  for (;;) {
    size_t child = 2 * k + 1;
    uint32_t swap;
    child += child + 1 < c->n_heap && c->heap[child + 1] > c->heap[child];
    if (child >= c->n_heap || c->heap[child] <= c->heap[k]) {
      return top;
    }
    swap = c->heap[k];
    c->heap[k] = c->heap[child];
    c->heap[child] = swap;
    k = child;
  }
}

static void reach(struct cone *c, uint32_t node, unsigned flags, int level) {
  uint32_t *slot = &c->j->slot[node];
  if (*slot != 0) {
    struct reached *at = &c->nodes[*slot - 1];
    at->flags |= flags;
    at->level = level > at->level ? level : at->level;
    return;
  }
  if (gemel__grow(&c->nodes, &c->capacity, c->n + 1, sizeof *c->nodes) != 0 ||
      gemel__grow(&c->heap, &c->heap_capacity, c->n_heap + 1, sizeof *c->heap) != 0) {
    c->failed = 1;
    return;
  }
  c->nodes[c->n] = (struct reached){node, flags, level};
  *slot = (uint32_t)++c->n;
  c->heap[c->n_heap++] = node;
  sift_up(c, c->n_heap - 1);
}

static int is_closed(const gemel__joint *j, uint32_t node) {
  return operand_count(j, node) == 0 && gemel__node_at(j->graph, node)->op != GEMEL__OP_input;
}

/* 1 if a value in common may become an input: not a constant, and no run-time size in its type,
 * which inputs can't have. */
static int may_be_leaf(const gemel__joint *j, uint32_t node) {
  return gemel__node_at(j->graph, node)->n_outputs == 1 && !is_closed(j, node) &&
         !gemel__type_at(j->graph->context, gemel__node_type(j->graph, node, 0))->has_runtime;
}

/* Takes nodes until only values in common are left. On each path DEPTH of these are opened up. */
static gemel_status spread(struct cone *c, int depth, size_t most) {
  size_t inner = 0;
  while (c->n_heap > 0 && !c->failed) {
    uint32_t node = pop(c), n = operand_count(c->j, node), k;
    struct reached *at = &c->nodes[c->j->slot[node] - 1];
    unsigned flags = at->flags;
    int level = at->level;
    if ((flags & BOTH) == BOTH && may_be_leaf(c->j, node) && (level >= depth || n == 0)) {
      at->flags |= LEAF;
      continue;
    }
    if (n == 0 && !is_closed(c->j, node)) {
      at->flags |= LEAF; /* an input that one side alone reads */
      continue;
    }
    if (++inner > most) {
      return GEMEL_DECLINED;
    }
    level += (flags & BOTH) == BOTH;
    for (k = 0; k < n; k++) {
      gemel__ref ref = operand(c->j, node, k);
      reach(c, ref.node, flags & BOTH, level);
    }
  }
  return c->failed ? GEMEL_NO_MEMORY : GEMEL_OK;
}

/* ---- A region as graphs ---- */

static int by_id(const void *x, const void *y) {
  uint32_t a = ((const struct reached *)x)->node, b = ((const struct reached *)y)->node;
  return a < b ? -1 : a > b;
}

static gemel_status apply_node(struct cone *c, gemel_graph *into, uint32_t node, gemel_value *made,
                               gemel_error *error) {
  gemel__joint *j = c->j;
  const gemel__node *record = gemel__node_at(j->graph, node);
  gemel__ref self = {node, 0};
  uint32_t n = operand_count(j, node), k;
  gemel_value *inputs = gemel__alloc_array(n, sizeof *inputs);
  if (inputs == NULL) {
    return gemel__no_memory(error, "a region");
  }
  for (k = 0; k < n; k++) {
    gemel__ref ref = operand(j, node, k);
    inputs[k] = made[j->slot[ref.node] - 1];
    inputs[k].output += ref.output;
  }
  made[j->slot[node] - 1] = gemel__apply(into, record->op, record->attrs, n, inputs,
                                         gemel_value_where(gemel__value(j->graph, self)));
  gemel__free(inputs, n * sizeof *inputs);
  return GEMEL_OK;
}

/* The name of a leaf. Leaves are numbered, so that equal regions get equal names. In a graph for a
 * reader (NAMED) inputs keep their names. Inputs are the first nodes of the joint graph. */
static const char *leaf_name(const gemel__joint *j, uint32_t node, size_t number, int named,
                             char *label, size_t bytes) {
  if (named && node < gemel_graph_input_count(j->graph)) {
    return gemel_graph_input_name(j->graph, node);
  }
  snprintf(label, bytes, named ? "value_%zu" : "v%zu", number);
  return label;
}

/* Fills INTO with the nodes of SIDE, and inputs for all leaves; MADE has room for a value each. */
static gemel_status fill_side(struct cone *c, unsigned side, size_t n, const gemel__ref *refs,
                              const char *const *names, gemel_graph *into, gemel_value *made,
                              gemel_error *error) {
  gemel__joint *j = c->j;
  char label[32];
  size_t k, leaves = 0;
  for (k = 0; k < c->n; k++) {
    const struct reached *at = &c->nodes[k];
    if (at->flags & LEAF) {
      gemel__ref self = {at->node, 0};
      made[k] = gemel__input_like(
          into, leaf_name(j, at->node, leaves++, names != NULL, label, sizeof label),
          gemel__node_type(j->graph, at->node, 0), gemel__value(j->graph, self));
      if (j->facts != NULL && j->facts[at->node] != 0) {
        GEMEL__TRY(gemel_assume(made[k], j->facts[at->node]));
      }
    } else if (at->flags & side) {
      GEMEL__TRY(apply_node(c, into, at->node, made, error));
    }
  }
  for (k = 0; k < n; k++) {
    gemel__ref ref = gemel__joint_value(j, refs[k]);
    gemel_value value = made[j->slot[ref.node] - 1];
    value.output += ref.output;
    snprintf(label, sizeof label, "r%lu", (unsigned long)k);
    gemel_output(value, names != NULL ? names[k] : label);
  }
  return gemel__graph_status(into, error) != GEMEL_OK ? GEMEL_DECLINED : GEMEL_OK;
}

/* Builds the graph of SIDE, whose results are REFS. All leaves are inputs, those of the other side
 * too. */
static gemel_status build_side(struct cone *c, unsigned side, size_t n, const gemel__ref *refs,
                               const char *const *names, gemel_graph **result, gemel_error *error) {
  gemel_graph *into = gemel_graph_new(c->j->graph->context, error);
  gemel_value *made = gemel__alloc_array(c->n, sizeof *made);
  gemel_status status = into == NULL || made == NULL
                            ? gemel__no_memory(error, "a region")
                            : fill_side(c, side, n, refs, names, into, made, error);
  gemel__free(made, c->n * sizeof *made);
  if (status != GEMEL_OK) {
    gemel_graph_unref(into);
    into = NULL;
  }
  *result = into;
  return status;
}

static gemel_status build(struct cone *c, size_t n, const gemel__ref *u, const gemel__ref *v,
                          const char *const *names, gemel__part_graphs *region,
                          gemel_error *error) {
  qsort(c->nodes, c->n, sizeof *c->nodes, by_id);
  for (size_t k = 0; k < c->n; k++) {
    c->j->slot[c->nodes[k].node] = (uint32_t)k + 1;
    region->leaves += (c->nodes[k].flags & LEAF) != 0;
    region->nodes += (c->nodes[k].flags & LEAF) == 0;
  }
  GEMEL__TRY(build_side(c, LEFT, n, u, names, &region->a, error));
  return build_side(c, RIGHT, n, v, names, &region->b, error);
}

gemel_status gemel__joint_part(gemel__joint *joint, size_t n, const gemel__ref *u,
                               const gemel__ref *v, const char *const *names, int depth,
                               size_t most, gemel__part_graphs *region, gemel_error *error) {
  struct cone c = {joint, NULL, 0, 0, NULL, 0, 0, 0};
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  memset(region, 0, sizeof *region);
  for (size_t k = 0; k < n; k++) {
    reach(&c, gemel__joint_value(joint, u[k]).node, LEFT, 0);
    reach(&c, gemel__joint_value(joint, v[k]).node, RIGHT, 0);
  }
  gemel_status status = c.failed ? GEMEL_NO_MEMORY : spread(&c, depth, most);
  status = status ? status : build(&c, n, u, v, names, region, error != NULL ? error : &mine);
  for (size_t k = 0; k < c.n; k++) {
    joint->slot[c.nodes[k].node] = 0;
  }
  gemel__free(c.nodes, c.capacity * sizeof *c.nodes);
  gemel__free(c.heap, c.heap_capacity * sizeof *c.heap);
  if (status != GEMEL_OK) {
    gemel__part_clear(region);
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a region") : status;
}

void gemel__part_clear(gemel__part_graphs *region) {
  gemel_graph_unref(region->a);
  gemel_graph_unref(region->b);
  memset(region, 0, sizeof *region);
}
