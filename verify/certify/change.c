/* SPDX-License-Identifier: MIT
 *
 * Reads the region of a replacement, see change.h. Each side is copied from its root down, with a
 * stack, until the walk comes to values that the pass asked for, or to inputs of the graph. Inputs
 * of both sides are told by what they have become in the new graph: two old values that an earlier
 * replacement made one are one input, as their equality was checked then.
 *
 * If the pass asked for one output of a node, and the walk comes to the node through another
 * output, the replacement may rest on the relation between the two. Then the node is opened: its
 * operands become inputs, its outputs don't, and both sides are read again.
 *
 * A value that the pass asked for may also be one that it makes anew. For example, it asks for the
 * factors x and x * x of a product, and makes x * x from x. As an input, x * x would be any number.
 * If that makes the sides differ, they are read once more with such nodes opened.
 */
#include "certify/change.h"

#include <stdio.h>
#include <string.h>
#include "certify/region.h"
#include "core/alloc.h"
#include "core/intern.h"

/* A map from values to values. Output ALL of a node is the node itself. */
typedef struct made_table {
  gemel__map found; /* node and output -> index in VALUES, plus 1 */
  gemel_value *values;
  size_t count, capacity;
} made_table;

#define ALL UINT32_MAX

static uint64_t key_of(gemel__ref at) {
  return (uint64_t)at.node << 32 | at.output;
}

static int put(made_table *t, gemel__ref at, gemel_value made) {
  if (gemel__grow(&t->values, &t->capacity, t->count + 1, sizeof *t->values) != 0) {
    return -1;
  }
  t->values[t->count++] = made;
  return gemel__map_put(&t->found, key_of(at), (uint32_t)t->count);
}

/* The value of AT; null: none yet. */
static gemel_value get(const made_table *t, gemel__ref at) {
  uint32_t found = gemel__map_find(&t->found, key_of(at));
  return found != 0 ? t->values[found - 1] : (gemel_value){NULL, 0, 0};
}

static void clear(made_table *t) {
  gemel__map_clear(&t->found);
  gemel__free(t->values, t->capacity * sizeof *t->values);
  memset(t, 0, sizeof *t);
}

enum { MOST_OPENED = 64 };

/* What both sides share. */
typedef struct change_sides {
  gemel__change_region *region;
  const gemel__change *change;
  made_table numbers; /* the number of each input, by its value in the new graph */
  size_t most;
  uint32_t opened[MOST_OPENED]; /* nodes of the old graph that are opened */
  size_t n_opened;
  int again; /* another node was opened: read again */
} change_sides;

/* One side being copied. */
typedef struct change_walk {
  change_sides *sides;
  const gemel_graph *graph;
  const gemel__ref *asked; /* the values of GRAPH that the pass asked for, n_leaves of them */
  gemel_graph *into;
  made_table made;
  uint32_t *stack;
  size_t depth, stack_capacity;
} change_walk;

static gemel_value made_of(const change_walk *w, gemel__ref at) {
  gemel_value v = get(&w->made, at);
  if (gemel_is_null(v)) {
    v = get(&w->made, (gemel__ref){at.node, ALL});
    v = gemel_is_null(v) ? v : gemel_value_output(v, at.output);
  }
  return v;
}

static int push(change_walk *w, uint32_t node) {
  if (gemel__grow(&w->stack, &w->stack_capacity, w->depth + 1, sizeof *w->stack) != 0) {
    return -1;
  }
  w->stack[w->depth++] = node;
  return 0;
}

/* Pushes the operands of NODE that aren't copied yet. 1 if there are any, −1: memory is out. */
static int push_needed(change_walk *w, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(w->graph, node, &count);
  int any = 0;
  for (uint32_t k = 0; k < count; k++) {
    if (gemel_is_null(made_of(w, in[k]))) {
      if (push(w, in[k].node) != 0) {
        return -1;
      }
      any = 1;
    }
  }
  return any;
}

static int is_opened(const change_sides *s, uint32_t node) {
  size_t k = 0;
  while (k < s->n_opened && s->opened[k] != node) {
    k++;
  }
  return k < s->n_opened;
}

/* Opens nodes of the old graph which the pass asked for and which are, in the graph of W, other
 * outputs of NODE. 1 if there are any. */
static int open_asked(change_walk *w, uint32_t node) {
  change_sides *s = w->sides;
  int any = 0;
  s->region->visited += s->change->n_leaves;
  for (size_t k = 0; k < s->change->n_leaves; k++) {
    uint32_t old = s->change->leaves[k].node;
    if (w->asked[k].node == node && !is_opened(s, old)) {
      any = 1;
      s->again = s->n_opened < MOST_OPENED;
      if (s->again) {
        s->opened[s->n_opened++] = old;
      }
    }
  }
  return any;
}

static gemel_status copy_node(change_walk *w, uint32_t node) {
  const gemel__node *record = gemel__node_at(w->graph, node);
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(w->graph, node, &count);
  gemel_value *operands, made;
  uint64_t *key = &w->sides->region->key;
  if (record->n_outputs != 1 && open_asked(w, node)) {
    return GEMEL_DECLINED;
  }
  operands = gemel__alloc_array(count + 1, sizeof *operands);
  if (operands == NULL) {
    return GEMEL_NO_MEMORY;
  }
  *key = gemel__mix(*key ^ ((uint64_t)record->op << 32 | record->attrs));
  for (uint32_t k = 0; k < count; k++) {
    operands[k] = made_of(w, in[k]);
    *key = gemel__mix(*key ^ ((uint64_t)operands[k].node << 8 | operands[k].output));
  }
  made = gemel__apply(w->into, record->op, record->attrs, count, operands, (gemel_location){"", 0});
  gemel__free(operands, (count + 1) * sizeof *operands);
  if (gemel_is_null(made)) {
    return gemel_graph_error(w->into)->status == GEMEL_NO_MEMORY ? GEMEL_NO_MEMORY : GEMEL_DECLINED;
  }
  return put(&w->made, (gemel__ref){node, ALL}, made) ? GEMEL_NO_MEMORY : GEMEL_OK;
}

/* ---- Nodes that are opened ---- */

/* 1 if VALUE, of the new graph, can be computed from IMAGES and constants by up to DEPTH more
 * nodes. */
static int is_made_of(const made_table *images, const gemel_graph *to, gemel__ref value,
                      int depth) {
  const gemel__node *node = gemel__node_at(to, value.node);
  uint32_t count, k = 0;
  const gemel__ref *in = gemel__node_inputs(to, value.node, &count);
  if (node->op == GEMEL__OP_input || node->n_outputs != 1) {
    return 0;
  }
  while (k < count && (!gemel_is_null(get(images, in[k])) ||
                       (depth > 0 && is_made_of(images, to, in[k], depth - 1)))) {
    k++;
  }
  return k == count;
}

/* 1 if node U of FROM and node V of TO apply the same operation with the same attributes. */
static int is_copy(const gemel_graph *from, uint32_t u, const gemel_graph *to, uint32_t v) {
  const gemel__node *x = gemel__node_at(from, u), *y = gemel__node_at(to, v);
  return x->op == y->op && x->attrs == y->attrs;
}

/* Opens nodes that the pass asked for and may have made anew. */
static gemel_status open_made(change_sides *s) {
  enum { DEPTH = 2 };
  const gemel__change *c = s->change;
  made_table images = {.count = 0};
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < c->n_leaves && status == GEMEL_OK; k++) {
    status = put(&images, c->images[k], gemel__value(c->to, c->images[k])) == 0 ? GEMEL_OK
                                                                                : GEMEL_NO_MEMORY;
  }
  for (size_t k = 0; k < c->n_leaves && status == GEMEL_OK && s->n_opened < MOST_OPENED; k++) {
    uint32_t node = c->leaves[k].node;
    if (is_copy(c->from, node, c->to, c->images[k].node) &&
        is_made_of(&images, c->to, c->images[k], DEPTH)) {
      s->opened[s->n_opened++] = node;
    }
  }
  clear(&images);
  return status;
}

/* ---- Inputs ---- */

/* Adds an input for IMAGE, a value of the new graph, to both sides. */
static gemel_status new_input(change_sides *s, gemel__ref image, gemel_value *number) {
  gemel__change_region *r = s->region;
  const gemel_graph *to = s->change->to;
  gemel_type type = gemel__node_type(to, image.node, image.output);
  char name[32];
  if (gemel__type_at(to->context, type)->has_runtime) {
    return GEMEL_DECLINED;
  }
  if (gemel__grow(&r->ranges, &r->capacity, r->n + 1, sizeof *r->ranges) != 0 ||
      gemel__grow(&r->any, &r->any_capacity, r->n + 1, sizeof *r->any) != 0) {
    return GEMEL_NO_MEMORY;
  }
  snprintf(name, sizeof name, "_%zu", r->n);
  if (gemel_is_null(gemel_input(r->left, name, type)) ||
      gemel_is_null(gemel_input(r->right, name, type))) {
    return GEMEL_NO_MEMORY;
  }
  r->any[r->n] = GEMEL_RANGE_ANY;
  r->ranges[r->n] = gemel__region_range(to, image);
  r->facts_key = gemel__mix(r->facts_key ^ (uint64_t)r->ranges[r->n]);
  r->key = gemel__mix(r->key ^ type.id);
  *number = (gemel_value){r->left, (uint32_t)r->n++, 0};
  return put(&s->numbers, image, *number) != 0 ? GEMEL_NO_MEMORY : GEMEL_OK;
}

/* Makes AT, of W's graph, an input. IMAGE is what it became in the new graph. */
static gemel_status add_input(change_walk *w, gemel__ref at, gemel__ref image) {
  gemel_value number = get(&w->sides->numbers, image);
  gemel_status status = gemel_is_null(number) ? new_input(w->sides, image, &number) : GEMEL_OK;
  if (status != GEMEL_OK) {
    return status;
  }
  return put(&w->made, at, gemel_graph_input(w->into, number.node)) != 0 ? GEMEL_NO_MEMORY
                                                                         : GEMEL_OK;
}

/* Handles NODE, an input of W's graph. */
static gemel_status reach_input(change_walk *w, uint32_t node) {
  size_t k = 0;
  while (k < w->graph->n_inputs && w->graph->inputs[k].node != node) {
    k++;
  }
  w->sides->region->visited += k;
  return k < w->graph->n_inputs ? add_input(w, w->graph->inputs[k], w->sides->change->to->inputs[k])
                                : GEMEL_DECLINED;
}

/* Copies NODE, whose operands are copied already. An input of the graph becomes an input of the
 * region. */
static gemel_status visit(change_walk *w, uint32_t node) {
  if (++w->sides->region->visited > w->sides->most) {
    return GEMEL_DECLINED;
  }
  return w->graph->nodes[node].op == GEMEL__OP_input ? reach_input(w, node) : copy_node(w, node);
}

static gemel_status walk_from(change_walk *w, gemel__ref root) {
  gemel_status status = push(w, root.node) == 0 ? GEMEL_OK : GEMEL_NO_MEMORY;
  while (w->depth > 0 && status == GEMEL_OK) {
    uint32_t node = w->stack[w->depth - 1];
    int needed = gemel_is_null(get(&w->made, (gemel__ref){node, ALL})) ? push_needed(w, node) : 0;
    if (needed != 0) {
      status = needed < 0 ? GEMEL_NO_MEMORY : GEMEL_OK;
    } else {
      w->depth--;
      status = gemel_is_null(get(&w->made, (gemel__ref){node, ALL})) ? visit(w, node) : GEMEL_OK;
    }
  }
  return status;
}

/* ---- Entry ---- */

static gemel_status finish(change_walk *w, gemel__ref root) {
  gemel_status status = gemel_is_null(made_of(w, root)) ? walk_from(w, root) : GEMEL_OK;
  uint64_t *key = &w->sides->region->key;
  gemel_value y = made_of(w, root);
  *key = gemel__mix(*key ^ ((uint64_t)y.node << 8 | y.output));
  return status ? status : gemel_output(y, "y");
}

/* Makes AT, a value of the old graph, and its IMAGE an input of both sides, unless its node is
 * opened. */
static gemel_status add_leaf(change_walk *left, change_walk *right, gemel__ref at,
                             gemel__ref image) {
  gemel_status status = is_opened(left->sides, at.node) ? GEMEL_OK : add_input(left, at, image);
  return status || is_opened(left->sides, at.node) ? status : add_input(right, image, image);
}

/* Makes the operands of NODE, which is opened, inputs, if it has several outputs and became a copy
 * of itself. Otherwise what it became may rest on other values, and the walk goes on through it. */
static gemel_status add_operands(change_walk *left, change_walk *right, uint32_t node) {
  const gemel__change *c = left->sides->change;
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(c->from, node, &count);
  int copied = c->from->nodes[node].n_outputs != 1 && c->map[node].node != UINT32_MAX;
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 0; k < count && copied && status == GEMEL_OK; k++) {
    if (c->from->nodes[in[k].node].op != GEMEL__OP_constant) {
      status = add_leaf(left, right, in[k], c->map[gemel__value_number(c->from, in[k])]);
    }
  }
  return status;
}

/* Reads both sides, down to the values that the pass asked for. */
static gemel_status read_sides(change_walk *left, change_walk *right) {
  const gemel__change *c = left->sides->change;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < c->n_leaves && status == GEMEL_OK; k++) {
    status = add_leaf(left, right, c->leaves[k], c->images[k]);
  }
  for (size_t k = 0; k < left->sides->n_opened && status == GEMEL_OK; k++) {
    status = add_operands(left, right, left->sides->opened[k]);
  }
  status = status ? status : finish(left, c->before);
  return status ? status : finish(right, c->after);
}

static void clear_walk(change_walk *w) {
  clear(&w->made);
  gemel__free(w->stack, w->stack_capacity * sizeof *w->stack);
}

/* Reads both sides with the nodes that are opened so far. */
static gemel_status read_once(change_sides *s, gemel_error *error) {
  const gemel__change *c = s->change;
  gemel__change_region *r = s->region;
  change_walk left = {.sides = s, .graph = c->from, .asked = c->leaves},
              right = {.sides = s, .graph = c->to, .asked = c->images};
  gemel_status status = GEMEL_NO_MEMORY;
  left.into = r->left = gemel_graph_new(c->from->context, error);
  right.into = r->right = left.into != NULL ? gemel_graph_new(c->to->context, error) : NULL;
  if (right.into != NULL) {
    status = read_sides(&left, &right);
  }
  r->facts_key = gemel__mix(r->facts_key ^ r->key);
  clear_walk(&left);
  clear_walk(&right);
  clear(&s->numbers);
  return status;
}

gemel_status gemel__change_read(gemel__change_region *r, const gemel__change *change, int made,
                                size_t most, gemel_error *error) {
  change_sides s = {.region = r, .change = change, .most = most};
  gemel_status status = made && open_made(&s) != GEMEL_OK ? GEMEL_NO_MEMORY : GEMEL_DECLINED;
  memset(r, 0, sizeof *r);
  s.again = !made || s.n_opened > 0;
  while (status == GEMEL_DECLINED && s.again) {
    size_t visited = r->visited;
    gemel__change_clear(r);
    r->visited = visited;
    s.again = 0;
    status = read_once(&s, error);
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "certifying") : status;
}

void gemel__change_clear(gemel__change_region *r) {
  gemel_graph_unref(r->left);
  gemel_graph_unref(r->right);
  gemel__free(r->ranges, r->capacity * sizeof *r->ranges);
  gemel__free(r->any, r->any_capacity * sizeof *r->any);
  memset(r, 0, sizeof *r);
}
