/* SPDX-License-Identifier: MIT
 *
 * Products that share an operand: dot(x, U) and dot(x, V) become slices of dot(x, join(U, V)), so x
 * is read once. It pays where U and V are narrow, a few columns each: then reading x is most of the
 * work, and joining U and V next to nothing. (One column is a product of a matrix and a vector,
 * which is best left alone.)
 *
 * V may depend on dot(x, U), and then they can't be joined; nor may two joint products depend on
 * parts of each other. Both are settled by levels: a product's level is the greatest number of such
 * products on a way from the inputs to it. On every way from one to another the level grows, so
 * products of one level never depend on each other, and a joint product has the level of its parts.
 * Where there are several such products, levels are found in one pass over the ids, and groups are
 * then built in the order of levels.
 */
#include <stdlib.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "passes/edit.h"
#include "passes/instances.h"
#include "passes/passes.h"

/* Measured on one thread in f32, for x from 64 x 256 and 256 x 64 to 4096 x 1024: with 2 to 16
 * columns each the joint product takes 0.4 to 1 of the time of two, with one column 1 to 3 times,
 * with more than 16 about as much. */
enum { FEWEST_COLUMNS = 2, MOST_COLUMNS = 16, LEAST_SIDE = 64, LEAST_ELEMENTS = 1 << 14 };
enum { MOST_TOGETHER = 32 }; /* each part of a joint product is certified with all of it */

/* A product that may be joined with others. */
typedef struct dot_candidate {
  uint32_t node, level;
  int shared; /* which operand is shared: 0 or 1 */
  int along;  /* the other one's axis that isn't contracted */
  int64_t columns;
  uint32_t next;        /* of its group, + 1 */
  uint32_t last, count; /* of a group's first one: the group's last, and how many there are */
  uint32_t rival;       /* of a group's first one: another group's of the same operand, + 1 */
} dot_candidate;

typedef struct dots {
  gemel_edit *edit;
  const gemel_graph *graph;
  gemel_error *error;
  dot_candidate *all; /* in the order of ids */
  size_t n, capacity;
  uint32_t *levels; /* by node */
  uint32_t *groups; /* by node that is shared: the last group's first candidate, + 1 */
  gemel_value *parts;
  size_t part_capacity;
} dots;

/* ---- Which products ---- */

static gemel_value value_at(const dots *d, uint32_t node) {
  return (gemel_value){(gemel_graph *)d->graph, node, 0};
}

/* How many axes the attribute NAME of V lists; *FIRST: the first one. */
static size_t axes_of(gemel_value v, const char *name, int64_t *first) {
  gemel_attr attr;
  if (gemel_value_attr(v, name, &attr) != GEMEL_OK ||
      attr.kind != (GEMEL_ATTR_LIST | GEMEL_ATTR_INT) || attr.count == 0) {
    return 0;
  }
  *first = attr.u.ints[0];
  return attr.count;
}

/* SIZE as a number, or what a symbol is taken for. */
static double guess(gemel_context *context, gemel_dim size) {
  int64_t number;
  return gemel_dim_is_constant(context, size, &number) ? (double)number : GEMEL__SIZE_GUESS;
}

/* The shared operand is large: its contracted axis, and the others together. */
static int is_large(gemel_context *context, gemel_type type, int64_t contracted) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  double length = guess(context, dims[contracted]), others = 1;
  for (int k = 0; k < gemel_type_rank(context, type); k++) {
    others *= k == contracted ? 1 : guess(context, dims[k]);
  }
  return length >= LEAST_SIDE && others >= LEAST_SIDE && length * others >= LEAST_ELEMENTS;
}

/* 1 if V may be joined with another product that has the same operand SHARED; fills C. */
static int may_share(gemel_value v, int shared, dot_candidate *c) {
  static const char *const lists[] = {"contract_x", "contract_y"};
  gemel_context *context = gemel_graph_context(v.graph);
  gemel_type large = gemel_value_type(gemel_value_input(v, (size_t)shared));
  gemel_type narrow = gemel_value_type(gemel_value_input(v, (size_t)!shared));
  int64_t contracted = 0, axis = 0;
  if (axes_of(v, lists[shared], &contracted) != 1 || axes_of(v, lists[!shared], &axis) != 1 ||
      gemel_type_rank(context, narrow) != 2) {
    return 0;
  }
  c->shared = shared;
  c->along = 1 - (int)axis;
  return gemel_dim_is_constant(context, gemel_type_dims(context, narrow)[c->along], &c->columns) &&
         c->columns >= FEWEST_COLUMNS && c->columns <= MOST_COLUMNS &&
         is_large(context, large, contracted);
}

/* 1 if the product NODE may be joined with others, as *C says. */
static int is_candidate(const dots *d, uint32_t node, dot_candidate *c) {
  gemel_value product = value_at(d, node);
  int64_t axis;
  *c = (dot_candidate){.node = node};
  return axes_of(product, "batch_x", &axis) == 0 &&
         (may_share(product, 0, c) || may_share(product, 1, c));
}

static gemel_status find_candidates(dots *d) {
  const uint32_t *uses = NULL;
  for (uint32_t k = 0; k < d->graph->n_nodes; k++) {
    if (d->graph->nodes[k].op != GEMEL__OP_dot) {
      continue;
    }
    if (uses == NULL && (uses = gemel__edit_uses(d->edit)) == NULL) {
      return GEMEL_NO_MEMORY;
    }
    dot_candidate c;
    if (uses[k] == 0 || !is_candidate(d, k, &c)) {
      continue;
    }
    if (gemel__grow(&d->all, &d->capacity, d->n + 1, sizeof *d->all) != 0) {
      return gemel__no_memory(d->error, "products");
    }
    d->all[d->n++] = c;
  }
  return GEMEL_OK;
}

static void find_levels(dots *d) {
  for (uint32_t k = 0, next = 0; k < d->graph->n_nodes; k++) {
    uint32_t n_inputs, level = 0;
    const gemel__ref *in = gemel__node_inputs(d->graph, k, &n_inputs);
    for (uint32_t j = 0; j < n_inputs; j++) {
      level = d->levels[in[j].node] > level ? d->levels[in[j].node] : level;
    }
    if (next < d->n && d->all[next].node == k) {
      d->all[next++].level = ++level;
    }
    d->levels[k] = level;
  }
}

/* ---- Which together ---- */

/* A and B differ in the narrow operand only, and don't depend on each other. */
static int belong_together(const dots *d, const dot_candidate *a, const dot_candidate *b) {
  gemel_value v = value_at(d, a->node), w = value_at(d, b->node);
  gemel_value x = gemel_value_input(v, (size_t)a->shared),
              y = gemel_value_input(w, (size_t)b->shared);
  gemel_context *context = gemel_graph_context(d->graph);
  return a->count < MOST_TOGETHER && a->level == b->level && a->shared == b->shared &&
         x.output == y.output && d->graph->nodes[v.node].attrs == d->graph->nodes[w.node].attrs &&
         gemel_type_dtype(context, gemel_value_type(gemel_value_input(v, (size_t)!a->shared))) ==
             gemel_type_dtype(context, gemel_value_type(gemel_value_input(w, (size_t)!a->shared)));
}

/* Puts candidate K into a group of its operand, or makes one. Groups of one operand that differ are
 * of other levels or attributes; the newest are looked at, so that the search has an end. */
static void join_group(dots *d, uint32_t k) {
  enum { MOST_RIVALS = 64 };
  dot_candidate *c = &d->all[k];
  uint32_t x = gemel_value_input(value_at(d, c->node), (size_t)c->shared).node;
  uint32_t first = d->groups[x];
  for (int rivals = 0; first != 0 && rivals < MOST_RIVALS; rivals++) {
    dot_candidate *head = &d->all[first - 1];
    if (belong_together(d, head, c)) {
      d->all[head->last].next = k + 1;
      head->last = k;
      head->count++;
      return;
    }
    first = head->rival;
  }
  c->last = k;
  c->count = 1;
  c->rival = d->groups[x];
  d->groups[x] = k + 1;
}

/* ---- Building ---- */

/* The large operand times all narrow ones of the group of HEAD. */
static gemel_value joint_product(dots *d, const dot_candidate *head) {
  const gemel_value none = {NULL, 0, 0};
  gemel_value v = value_at(d, head->node), operands[2];
  size_t n = 0;
  for (uint32_t k = (uint32_t)(head - d->all) + 1; k != 0; k = d->all[k - 1].next) {
    gemel_value part = gemel_value_input(value_at(d, d->all[k - 1].node), (size_t)!head->shared);
    if (gemel__grow(&d->parts, &d->part_capacity, n + 1, sizeof *d->parts) != 0) {
      gemel__no_memory(d->error, "products");
      return none;
    }
    d->parts[n++] = gemel_edit_value(d->edit, part);
  }
  operands[head->shared] = gemel_edit_value(d->edit, gemel_value_input(v, (size_t)head->shared));
  operands[!head->shared] = gemel_join_with(n, d->parts, .axis = head->along);
  return gemel_is_null(operands[0]) || gemel_is_null(operands[1])
             ? none
             : gemel__apply(operands[0].graph, d->graph->nodes[v.node].op,
                            d->graph->nodes[v.node].attrs, 2, operands, gemel_value_where(v));
}

/* Of PRODUCT, COUNT columns from START on. They are the last axis of the result, or the first one
 * if the right operand is shared. */
static gemel_value columns_of(dots *d, gemel_value product, int shared, int64_t start,
                              int64_t count) {
  gemel_context *context = gemel_graph_context(product.graph);
  gemel_type type = gemel_value_type(product);
  int rank = gemel_type_rank(context, type), axis = shared == 0 ? rank - 1 : 0;
  gemel_dim from[GEMEL_MAX_RANK], size[GEMEL_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    from[k] = gemel_dim_constant(context, k == axis ? start : 0);
    size[k] = k == axis ? gemel_dim_constant(context, count) : gemel_type_dims(context, type)[k];
    if (gemel_dim_is_none(from[k]) || gemel_dim_is_none(size[k])) {
      gemel__no_memory(d->error, "products");
      return (gemel_value){NULL, 0, 0};
    }
  }
  return gemel_subtensor(product, (size_t)rank, from, (size_t)rank, size);
}

static gemel_status replace_group(dots *d, const dot_candidate *head) {
  int64_t start = 0;
  gemel_status status = GEMEL_OK;
  for (uint32_t k = (uint32_t)(head - d->all) + 1; k != 0 && status == GEMEL_OK;
       k = d->all[k - 1].next) {
    const dot_candidate *c = &d->all[k - 1];
    gemel_value product = joint_product(d, head);
    if (!gemel_is_null(product)) {
      product = columns_of(d, product, head->shared, start, c->columns);
    }
    if (d->error->status != GEMEL_OK) {
      return d->error->status;
    }
    status = gemel_edit_replace(d->edit, value_at(d, c->node), product);
    start += c->columns;
  }
  return status;
}

static int by_level(const void *a, const void *b) {
  const dot_candidate *x = *(dot_candidate *const *)a, *y = *(dot_candidate *const *)b;
  return x->level != y->level ? (x->level > y->level) - (x->level < y->level) : (x > y) - (x < y);
}

/* Groups of more than one, those of lower levels first: what is copied for a group holds products
 * of lower levels only, and those are replaced by then. */
static gemel_status replace_groups(dots *d) {
  dot_candidate **heads = gemel__alloc_array(d->n, sizeof *heads);
  gemel_status status = heads != NULL ? GEMEL_OK : gemel__no_memory(d->error, "products");
  size_t n = 0;
  for (size_t k = 0; k < d->n && heads != NULL; k++) {
    heads[n] = &d->all[k];
    n += d->all[k].count > 1;
  }
  if (n > 0) {
    qsort(heads, n, sizeof *heads, by_level);
  }
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    status = replace_group(d, heads[k]);
  }
  gemel__free(heads, d->n * sizeof *heads);
  return status;
}

/* Joins what there is, in a graph of COUNT nodes with more than one candidate. */
static gemel_status merge(dots *d, size_t count) {
  gemel_status status = GEMEL_OK;
  d->levels = gemel__alloc_array(count, sizeof *d->levels);
  d->groups = gemel__alloc_array(count, sizeof *d->groups);
  if (d->levels != NULL && d->groups != NULL) {
    find_levels(d);
    for (uint32_t k = 0; k < d->n; k++) {
      join_group(d, k);
    }
    status = replace_groups(d);
  } else {
    status = gemel__no_memory(d->error, "products");
  }
  gemel__free(d->levels, count * sizeof *d->levels);
  gemel__free(d->groups, count * sizeof *d->groups);
  return status;
}

gemel_status gemel__pass_merge_dots(gemel_edit *edit, const void *data, gemel_error *error) {
  dots d = {.edit = edit, .graph = gemel_edit_graph(edit), .error = error};
  (void)data;
  gemel_status status = find_candidates(&d);
  if (status == GEMEL_OK && d.n > 1) {
    status = merge(&d, d.graph->n_nodes);
  }
  gemel__free(d.all, d.capacity * sizeof *d.all);
  gemel__free(d.parts, d.part_capacity * sizeof *d.parts);
  return status;
}

/* ---- Instances ---- */

/* The large operand, of three axes whose sizes are symbols, and how it is multiplied. */
typedef struct drawing {
  gemel__drawing by;
  gemel_value x;
  int shared;
  int64_t axis; /* of x that is contracted */
  int parts;
} drawing;

/* A new input for the other operand: COLUMNS along one axis, contracted along axis CONTRACTED. */
static gemel_value draw_part(drawing *d, int64_t contracted, int64_t columns) {
  gemel_context *context = gemel_graph_context(d->by.graph);
  const gemel_dim *x = gemel_type_dims(context, gemel_value_type(d->x));
  gemel_dim dims[2];
  char name[3] = {'u', (char)('0' + d->parts++), '\0'};
  dims[contracted] = x[d->axis];
  dims[1 - contracted] = gemel_dim_constant(context, columns);
  return gemel_input(d->by.graph, name, gemel_type_new(context, d->by.dtype, 2, dims, 0));
}

static gemel_value draw_product(const drawing *d, gemel_value part, int64_t contracted) {
  return d->shared == 0 ? gemel_dot_with(d->x, part, .contract_x = {1, &d->axis},
                                         .contract_y = {1, &contracted})
                        : gemel_dot_with(part, d->x, .contract_x = {1, &contracted},
                                         .contract_y = {1, &d->axis});
}

/* A product with COLUMNS columns that depends on the product BEFORE, which has as many. */
static gemel_value draw_dependent(drawing *d, gemel_value before, int64_t columns) {
  int64_t others[2] = {d->shared == 0 ? 0 : 1, d->shared == 0 ? 1 : 2};
  gemel_value total = gemel_sum_with(before, .axes = {2, others});
  gemel_value part = draw_part(d, 0, columns);
  return draw_product(d, gemel_add(part, gemel_cast(total, d->by.dtype)), 0);
}

/* Two to four products of X, and behind the first perhaps one that depends on it. */
static gemel_status draw_products(drawing *d) {
  static const char *const names[] = {"p", "q", "r", "s"};
  int64_t contracted = (int64_t)gemel__draw_below(&d->by, 2);
  gemel_status status = GEMEL_OK;
  for (uint64_t k = 0, n = gemel__draw_below(&d->by, 3) + 2; k < n; k++) {
    int64_t columns = (int64_t)gemel__draw_below(&d->by, 3) + FEWEST_COLUMNS;
    gemel_value product = draw_product(d, draw_part(d, contracted, columns), contracted);
    status = gemel_output(product, names[k]);
    if (k == 0 && gemel__draw_below(&d->by, 2)) {
      status = gemel_output(draw_dependent(d, product, columns), "t");
    }
  }
  return status;
}

/* Products of one operand of three axes whose sizes are symbols, on either side, contracted along
 * any of them. */
gemel_status gemel__generate_merge_dots(gemel_graph *graph, uint64_t (*random)(void *user),
                                        void *user, const void *data) {
  static const char *const sizes[] = {"A", "B", "C"};
  int integer = (random(user) >> 33) % 3 == 0;
  drawing d = {.by = gemel__draw_on(graph, random, user, integer)};
  gemel_context *context = gemel_graph_context(graph);
  gemel_dim dims[3];
  (void)data;
  for (int k = 0; k < 3; k++) {
    dims[k] = gemel_dim_symbol(context, sizes[k]);
  }
  d.x = gemel_input(graph, "x", gemel_type_new(context, d.by.dtype, 3, dims, 0));
  d.shared = (int)gemel__draw_below(&d.by, 2);
  d.axis = (int64_t)gemel__draw_below(&d.by, 3);
  return draw_products(&d);
}
