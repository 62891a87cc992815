/* SPDX-License-Identifier: MIT
 *
 * Trees as lists of terms. A tree is made of the operations of one form (sums, or products) on one
 * dtype; each of its nodes but the root is used once, by the tree. Operands may have smaller shapes
 * that are broadcast, and terms of one type are put together before they meet larger ones. A tree
 * is looked at from its root and nowhere else, so a million nested additions are walked through
 * once, with a stack. The list takes the tree's place where it costs less, by the form's own count
 * of costs; else the tree stays as it is, and another look at it would decide the same. Terms keep
 * the order in which they are first met, from left to right.
 */
#include "passes/nary.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/intern.h"
#include "rules/term.h"

struct gemel__nary_entry { /* of the stack: a value and its factor */
  gemel__ref value;
  gemel__nary_factor factor;
};

static gemel_status no_memory(const gemel__nary *n) {
  return gemel__no_memory(n->error, "sums and products");
}

/* ---- Numbers ---- */

static gemel_dtype dtype_of(const gemel__nary *n, uint32_t node) {
  return gemel_type_dtype(n->from->context, gemel__node_type(n->from, node, 0));
}

int gemel__nary_number(const gemel__nary *n, gemel__ref value, gemel__nary_factor *number) {
  const gemel_tensor *tensor;
  if (!gemel__uniform_constant(n->from, value, &tensor)) {
    return 0;
  }
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  *number = (gemel__nary_factor){0, 0, 0};
  memcpy(&number->bits, gemel_tensor_data(tensor), gemel_dtype_size(dtype));
  number->real = gemel__dtype_load(dtype, gemel_tensor_data(tensor));
  return 1;
}

int gemel__nary_holds(const gemel__nary *n, double x) {
  uint64_t bits = 0;
  if (x == 0 || x == 1 || x == -1) { /* most are, and any float holds them */
    return 1;
  }
  return isfinite(x) && gemel__dtype_store(n->dtype, x, &bits) == GEMEL_OK &&
         gemel__dtype_load(n->dtype, &bits) == x;
}

gemel_value gemel__nary_constant(const gemel__nary *n, gemel_graph *to, gemel__nary_factor number,
                                 gemel_location where) {
  gemel_value value = {NULL, 0, 0};
  if (!n->form->integer) {
    return gemel_scalar_at(to, n->dtype, number.real, where);
  }
  gemel_tensor *tensor = gemel_tensor_new(n->dtype, 0, NULL, n->error);
  if (tensor != NULL) {
    memcpy(gemel_tensor_data(tensor), &number.bits, gemel_dtype_size(n->dtype));
    value = gemel_constant_at(to, tensor, where);
    gemel_tensor_unref(tensor);
  }
  return value;
}

gemel_value gemel__nary_apply(gemel_graph *to, const char *op, gemel_value x, gemel_value y,
                              gemel_location where) {
  gemel_value operands[2] = {x, y};
  return gemel_apply_at(to, op, gemel_is_null(y) ? 1 : 2, operands, 0, NULL, where);
}

/* ---- Sizes ---- */

gemel__extent gemel__nary_join(const gemel__nary *n, gemel__extent a, uint32_t g) {
  gemel_context *context = n->from->context;
  int rank = gemel_type_rank(context, n->groups[g]);
  const gemel_dim *dims = gemel_type_dims(context, n->groups[g]);
  for (int k = 0; k < rank; k++) {
    int64_t size = GEMEL__SIZE_GUESS;
    gemel_dim_is_constant(context, dims[rank - 1 - k], &size);
    if (k >= a.rank || (double)size > a.sizes[k]) {
      a.sizes[k] = size < 1 ? 1 : (double)size;
    }
  }
  a.rank = rank > a.rank ? rank : a.rank;
  return a;
}

double gemel__nary_elements(gemel__extent extent) {
  double count = extent.rank < 0 ? 0 : 1;
  for (int k = 0; k < extent.rank; k++) {
    count *= extent.sizes[k];
  }
  return count;
}

static double elements_of(const gemel__nary *n, gemel_type type) {
  gemel_context *context = n->from->context;
  int rank = gemel_type_rank(context, type);
  const gemel_dim *dims = gemel_type_dims(context, type);
  double count = 1;
  for (int k = 0; k < rank; k++) {
    int64_t size = GEMEL__SIZE_GUESS;
    gemel_dim_is_constant(context, dims[k], &size);
    count *= size < 1 ? 1 : (double)size;
  }
  return count;
}

double gemel__nary_weight(const gemel__nary *n, uint32_t node) {
  return elements_of(n, gemel__node_type(n->from, node, 0));
}

/* The group of TYPE; beyond those that there are, none. */
static uint32_t group_of(gemel__nary *n, gemel_type type) {
  uint32_t g = 0;
  while (g < n->n_groups && !gemel_type_equal(n->groups[g], type)) {
    g++;
  }
  if (g == GEMEL__NARY_GROUPS) {
    n->inexact = 1;
    return 0;
  }
  if (g == n->n_groups) {
    n->groups[g] = type;
    n->weights[g] = elements_of(n, type);
    n->n_groups++;
  }
  return g;
}

/* Groups by the number of their elements; of equal ones the first that was met. */
static void sort_groups(gemel__nary *n) {
  for (uint32_t g = 0; g < n->n_groups; g++) {
    uint32_t at = g;
    for (; at > 0 && n->weights[n->order[at - 1]] > n->weights[g]; at--) {
      n->order[at] = n->order[at - 1];
    }
    n->order[at] = g;
  }
}

/* ---- Terms ---- */

int gemel__nary_push(gemel__nary *n, gemel__ref value, gemel__nary_factor factor) {
  if (gemel__grow(&n->stack, &n->stack_capacity, n->depth + 1, sizeof *n->stack) != 0) {
    return -1;
  }
  n->stack[n->depth].value = value;
  n->stack[n->depth++].factor = factor;
  return 0;
}

int gemel__nary_term_add(gemel__nary *n, gemel__ref value, gemel__nary_factor factor) {
  uint32_t k = n->place[value.node];
  while (k != 0 && (n->terms[k - 1].value.output != value.output ||
                    !n->form->merge(n, &n->terms[k - 1], factor))) {
    k = n->terms[k - 1].same_node;
  }
  if (k != 0) {
    return 0;
  }
  if (gemel__grow(&n->terms, &n->term_capacity, n->n_terms + 1, sizeof *n->terms) != 0) {
    return -1;
  }
  n->terms[n->n_terms] = (gemel__nary_term){
      value, factor, group_of(n, gemel__node_type(n->from, value.node, value.output)),
      n->place[value.node]};
  n->place[value.node] = (uint32_t)++n->n_terms;
  return 0;
}

/* The terms of the tree at ROOT. */
static gemel_status collect(gemel__nary *n, uint32_t root) {
  for (size_t k = 0; k < n->n_terms; k++) { /* of the last one */
    n->place[n->terms[k].value.node] = 0;
  }
  n->dtype = dtype_of(n, root);
  size_t bytes = gemel_dtype_size(n->dtype);
  n->mask = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * bytes)) - 1;
  n->constant = n->form->nothing;
  n->n_terms = n->depth = 0;
  n->n_groups = 0;
  n->cost = 0;
  n->inexact = 0;
  int failed = n->form->open(n, root, n->form->one);
  while (n->depth > 0 && !failed) {
    struct gemel__nary_entry e = n->stack[--n->depth];
    failed = (n->inner[e.value.node] ? n->form->open(n, e.value.node, e.factor)
                                     : n->form->leaf(n, e.value, e.factor)) != 0;
  }
  sort_groups(n);
  return failed ? no_memory(n) : GEMEL_OK;
}

/* ---- Trees ---- */

/* 1 if NODE is one of the operations, on numbers that the form is for, and the form takes it. */
static int is_member(const gemel__nary *n, uint32_t node) {
  int listed = 0;
  for (int k = 0; k < GEMEL__NARY_OPS && n->ops[k] != 0; k++) {
    listed |= n->from->nodes[node].op == n->ops[k];
  }
  if (!listed) {
    return 0;
  }
  gemel_kind kind = gemel_dtype_kind(dtype_of(n, node));
  int integer = kind == GEMEL_KIND_SIGNED || kind == GEMEL_KIND_UNSIGNED;
  return (n->form->integer ? integer : kind == GEMEL_KIND_FLOAT) && n->form->takes(n, node);
}

/* Notes what NODE, a member of a tree, has inside: 1 if that makes the tree more than a node. */
static int note_member(gemel__nary *n, const uint32_t *uses, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(n->from, node, &count);
  int any = count > 1 && in[0].node == in[1].node;
  n->root[node] = 1;
  for (uint32_t j = 0; j < count; j++) {
    uint32_t below = in[j].node;
    n->inner[below] |= uses[below] == 1 && n->root[below];
    any |= n->inner[below];
  }
  return any;
}

/* Finds trees: what lies inside one is used once, by a member. 1 if there are any that are more
 * than a node. */
static int find_trees(gemel__nary *n, const uint32_t *uses) {
  int any = 0;
  for (uint32_t k = 0; k < n->from->n_nodes; k++) {
    any |= uses[k] > 0 && is_member(n, k) && note_member(n, uses, k);
  }
  return any;
}

static gemel_value build(gemel__nary *n, uint32_t root) {
  gemel_location where = gemel__node_where(n->from, root);
  gemel_graph *to = gemel__edit_target(n->edit);
  gemel_value *values = gemel__alloc_array(n->n_terms + 1, sizeof *values), made = {NULL, 0, 0};
  gemel_type type = gemel__node_type(n->from, root, 0);
  int whole = values != NULL && to != NULL;
  if (values == NULL) {
    no_memory(n);
  }
  for (size_t k = 0; k < n->n_terms && whole; k++) {
    values[k] = gemel__edit_value(n->edit, n->terms[k].value);
    whole = !gemel_is_null(values[k]);
  }
  if (whole) {
    made = n->form->build(n, values, to, where);
  }
  gemel__free(values, (n->n_terms + 1) * sizeof *values);
  if (gemel_is_null(made) || gemel_type_equal(gemel_value_type(made), type)) {
    return made;
  }
  gemel_attr shape = gemel_attr_dims("shape", (size_t)gemel_type_rank(n->from->context, type),
                                     gemel_type_dims(n->from->context, type));
  return gemel_apply_at(to, "broadcast_to", 1, &made, 1, &shape, where);
}

/* 1 if the tree at ROOT is that node alone, with operands that differ: nothing can be better. */
static int is_alone(const gemel__nary *n, uint32_t root) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(n->from, root, &count);
  return !n->inner[in[0].node] &&
         (count < 2 || (!n->inner[in[1].node] && in[0].node != in[1].node));
}

/* Puts the list in the place of the tree at ROOT if that is better. */
static gemel_status look_at(gemel__nary *n, uint32_t root) {
  gemel_status status = is_alone(n, root) ? GEMEL_DECLINED : collect(n, root);
  double cost = status == GEMEL_OK ? n->form->cost(n) : 0;
  if (status != GEMEL_OK || n->inexact || !(cost < n->cost)) {
    return status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  gemel_value made = build(n, root);
  return n->error->status ? n->error->status
                          : gemel__edit_replace(n->edit, (gemel__ref){root, 0}, made);
}

static gemel_status rewrite(gemel__nary *n, const uint32_t *uses) {
  if (!find_trees(n, uses)) {
    return GEMEL_OK;
  }
  n->place = gemel__alloc_array(n->from->n_nodes, sizeof *n->place);
  if (n->place == NULL) {
    return no_memory(n);
  }
  for (uint32_t k = 0; k < n->from->n_nodes; k++) {
    if (n->root[k] && !n->inner[k]) {
      GEMEL__TRY(look_at(n, k));
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__nary_run(const gemel__nary_form *form, gemel_edit *edit, gemel_error *error) {
  const gemel_graph *from = gemel_edit_graph(edit);
  size_t count = from->n_nodes;
  gemel__nary n = {.form = form, .edit = edit, .from = from, .error = error};
  for (int k = 0; k < GEMEL__NARY_OPS && form->ops[k] != NULL; k++) {
    n.ops[k] = gemel__op_find(from->context, form->ops[k]);
  }
  const uint32_t *uses = gemel__edit_uses(edit);
  n.inner = gemel__alloc_array(count, 1);
  n.root = gemel__alloc_array(count, 1);
  int ready = uses != NULL && n.inner != NULL && n.root != NULL;
  gemel_status status = ready ? rewrite(&n, uses) : no_memory(&n);
  gemel__free(n.inner, count);
  gemel__free(n.root, count);
  gemel__free(n.place, count * sizeof *n.place);
  gemel__free(n.stack, n.stack_capacity * sizeof *n.stack);
  gemel__free(n.terms, n.term_capacity * sizeof *n.terms);
  return status;
}
