/* SPDX-License-Identifier: MIT
 *
 * Reads regions, see region.h. The pattern of the left side is followed through the graph again;
 * the bindings say which operand matched what. An input of a matched operation that isn't itself
 * matched by an operation is a leaf. (A variable may be bound to a matched operation too; that is
 * no leaf.)
 *
 * The right side is taken as the template made it, before its parts were rewritten in turn: those
 * rewrites are applications of their own and checked by themselves. By then a part may have become
 * any value, even a leaf of the region. So the right side's operands are told by their place in the
 * template, not by their value.
 */
#include "certify/region.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/intern.h"
#include "rules/facts.h"

/* ---- Numbers of values ---- */

static int same_ref(gemel__ref a, gemel__ref b) {
  return a.node == b.node && a.output == b.output;
}

static uint64_t key_of(gemel__ref ref) {
  return (uint64_t)ref.node << 32 | ref.output;
}

/* The number of REF, from 1; 0 if it has none. */
static uint32_t find(const gemel__region *r, gemel__ref ref) {
  return gemel__map_find(&r->numbers, key_of(ref));
}

/* Appends a value. */
static int append(gemel__region *r, gemel__ref ref, int kind) {
  if (gemel__grow(&r->values, &r->capacity, r->n + 1, sizeof *r->values) != 0) {
    return -1;
  }
  r->values[r->n].ref = ref;
  r->values[r->n++].kind = kind;
  return 0;
}

/* Gives a number to REF, which has none. */
static int add(gemel__region *r, gemel__ref ref, int kind) {
  return append(r, ref, kind) != 0 ? -1 : gemel__map_put(&r->numbers, key_of(ref), (uint32_t)r->n);
}

static uint64_t hash(uint64_t key, uint64_t x) {
  return gemel__mix(key ^ x);
}

/* ---- Reading ---- */

/* Notes the values of the operands of left node INDEX. A variadic variable takes as many as it is
 * bound to. */
static void lay_operands(gemel__region *r, uint32_t index) {
  const gemel__application *a = r->a;
  const gemel__pattern *p = &a->rule->left.nodes[index];
  uint32_t count, at = 0;
  const gemel__ref *inputs = gemel__node_inputs(a->graph, r->at[index].node, &count);
  for (uint32_t k = 0; k < p->n_operands && at < count; k++) {
    uint32_t node = gemel__rule_operand(a->rule, a->order, index, k);
    const gemel__pattern *operand = &a->rule->left.nodes[node];
    if (operand->kind == GEMEL__PATTERN_VARIADIC) {
      at += a->terms[operand->variable].count;
    } else {
      r->at[node] = inputs[at++];
    }
  }
}

/* Numbers the operations of the left side, root first, then the constants that its literals
 * match. */
static int read_pattern(gemel__region *r) {
  const gemel__rule_side *left = &r->a->rule->left;
  int failed = 0;
  r->at[left->count - 1] = r->a->before;
  for (uint32_t k = left->count; k-- > 0 && !failed;) {
    if (left->nodes[k].kind == GEMEL__PATTERN_APPLY) {
      failed = find(r, r->at[k]) == 0 && add(r, r->at[k], GEMEL__REGION_INSIDE) != 0;
      lay_operands(r, k);
    }
  }
  for (uint32_t k = 0; k < left->count && !failed; k++) {
    if (left->nodes[k].kind == GEMEL__PATTERN_LITERAL) {
      failed = find(r, r->at[k]) == 0 && add(r, r->at[k], GEMEL__REGION_LITERAL) != 0;
    }
  }
  return failed;
}

static uint64_t hash_value(const gemel__region *r, gemel__ref ref, uint64_t key) {
  return hash(key, gemel__node_type(r->a->graph, ref.node, ref.output).id);
}

static void hash_node(const gemel__region *r, uint32_t node, uint64_t *key) {
  const gemel__node *record = gemel__node_at(r->a->graph, node);
  *key = hash(*key, (uint64_t)record->op << 32 | record->attrs);
}

/* What INPUT of NODE, which no pattern matched, is in the region: a known size that NODE's
 * attributes name is copied, as the rule has seen it; anything else is a leaf. */
static int kind_of_input(const gemel__region *r, uint32_t node, gemel__ref input) {
  const gemel_graph *graph = r->a->graph;
  int named = gemel__attrs_at(graph->context, gemel__node_at(graph, node)->attrs)->has_runtime;
  return named && gemel__node_at(graph, input.node)->op == GEMEL__OP_size ? GEMEL__REGION_CONSTANT
                                                                          : GEMEL__REGION_LEAF;
}

/* Numbers the inputs of matched operation NODE. Those without a number are leaves or known sizes.
 */
static int read_inputs(gemel__region *r, uint32_t node, uint64_t *key) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(r->a->graph, node, &count);
  hash_node(r, node, key);
  for (uint32_t k = 0; k < count; k++) {
    uint32_t number = find(r, inputs[k]);
    if (number == 0) {
      int kind = kind_of_input(r, node, inputs[k]);
      if (add(r, inputs[k], kind) != 0) {
        return -1;
      }
      number = (uint32_t)r->n;
      *key = hash_value(r, inputs[k], *key);
      if (kind == GEMEL__REGION_CONSTANT) {
        hash_node(r, inputs[k].node, key);
      }
    }
    *key = hash(*key, number);
  }
  return 0;
}

static int read_left(gemel__region *r, uint64_t *key) {
  if (read_pattern(r) != 0) {
    return -1;
  }
  size_t inside = r->n;
  for (size_t k = 0; k < inside; k++) {
    *key = hash_value(r, r->values[k].ref, hash(*key, r->values[k].ref.output));
    if (r->values[k].kind == GEMEL__REGION_INSIDE &&
        read_inputs(r, r->values[k].ref.node, key) != 0) {
      return -1;
    }
  }
  return 0;
}

/* What the template put at a place: a value and its number, 0 for a literal. */
struct placed {
  gemel__ref ref;
  uint32_t number;
};

static struct placed placed_value(gemel__region *r, gemel__ref ref) {
  struct placed placed = {ref, find(r, ref)};
  if (placed.number == 0) {
    r->open = 1; /* a variable that isn't an input of any matched operation */
  } else if (r->values[placed.number - 1].kind == GEMEL__REGION_INSIDE) {
    r->leftover = 1;
  }
  return placed;
}

/* What the template put at node NODE of the right side. */
static struct placed placed_node(gemel__region *r, uint32_t node) {
  const gemel__application *a = r->a;
  const gemel__pattern *p = &a->rule->right.nodes[node];
  struct placed literal = {a->before, 0};
  switch (p->kind) {
  case GEMEL__PATTERN_APPLY:
    return (struct placed){a->values[node], r->right[node]};
  case GEMEL__PATTERN_VARIABLE:
    return placed_value(r, a->terms[p->variable].u.tensor);
  default:
    return literal;
  }
}

static int is_constant(const gemel_graph *graph, gemel__ref ref) {
  return gemel__node_at(graph, ref.node)->op == GEMEL__OP_constant;
}

/* Adds INPUT, the next operand of a node of the right side, where the template put PLACED. NULL or
 * a literal: it is a constant or, for a size, a value of the left side. */
static int take_operand(gemel__region *r, gemel__ref input, const struct placed *placed,
                        uint64_t *key) {
  uint32_t number = placed != NULL ? placed->number : 0;
  if (number != 0) {
    r->open |= !same_ref(input, placed->ref); /* cast by promotion */
  } else {
    number = find(r, input);
  }
  if (number == 0) {
    r->open |= !is_constant(r->a->graph, input);
    if (add(r, input, GEMEL__REGION_CONSTANT) != 0) {
      return -1;
    }
    number = (uint32_t)r->n;
    *key = hash_value(r, input, hash(*key, gemel__node_at(r->a->graph, input.node)->attrs));
  }
  if (gemel__grow(&r->operands, &r->operand_capacity, r->n_operands + 1, sizeof *r->operands)) {
    return -1;
  }
  r->operands[r->n_operands++] = number;
  *key = hash(*key, number);
  return 0;
}

static int fits(const gemel__region *r, gemel__ref input, const struct placed *placed) {
  return placed->number != 0 ? same_ref(input, placed->ref) : is_constant(r->a->graph, input);
}

/* Adds the two operands of node INDEX of the right side, a commutative operation: the graph may
 * have them in either order. */
static int take_two(gemel__region *r, uint32_t index, const gemel__ref *inputs, uint64_t *key) {
  const gemel__pattern *p = &r->a->rule->right.nodes[index];
  struct placed placed[2] = {placed_node(r, p->operands[0]), placed_node(r, p->operands[1])};
  unsigned swap = !(fits(r, inputs[0], &placed[0]) && fits(r, inputs[1], &placed[1])) &&
                  fits(r, inputs[0], &placed[1]) && fits(r, inputs[1], &placed[0]);
  return take_operand(r, inputs[0], &placed[swap], key) != 0 ||
                 take_operand(r, inputs[1], &placed[1 - swap], key) != 0
             ? -1
             : 0;
}

/* Adds the operands of node INDEX of the right side, by place, then the sizes that it reads. */
static int take_all(gemel__region *r, uint32_t index, const gemel__ref *inputs, uint32_t count,
                    uint64_t *key) {
  const gemel__application *a = r->a;
  const gemel__pattern *p = &a->rule->right.nodes[index];
  uint32_t at = 0;
  int failed = 0;
  for (uint32_t k = 0; k < p->n_operands && !failed; k++) {
    const gemel__pattern *operand = &a->rule->right.nodes[p->operands[k]];
    if (operand->kind == GEMEL__PATTERN_VARIADIC) {
      const gemel__term *term = &a->terms[operand->variable];
      for (uint32_t j = 0; j < term->count && at < count && !failed; j++) {
        struct placed placed = placed_value(r, term->u.tensors[j]);
        failed = take_operand(r, inputs[at++], &placed, key);
      }
    } else if (at < count) {
      struct placed placed = placed_node(r, p->operands[k]);
      failed = take_operand(r, inputs[at++], &placed, key);
    }
  }
  for (; at < count && !failed; at++) {
    failed = take_operand(r, inputs[at], NULL, key);
  }
  return failed;
}

/* Adds node INDEX of the right side, an operation, as the template made it. */
static int read_made(gemel__region *r, uint32_t index, uint64_t *key) {
  const gemel__application *a = r->a;
  const gemel__pattern *p = &a->rule->right.nodes[index];
  gemel__ref made = a->made[index];
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(a->graph, made.node, &count);
  unsigned flags = gemel__node_op(a->graph, made.node)->record.flags;
  *key = hash(*key, made.output);
  hash_node(r, made.node, key);
  r->first[index] = (uint32_t)r->n_operands;
  if ((flags & GEMEL_OP_COMMUTATIVE && count == 2 && p->n_operands == 2
           ? take_two(r, index, inputs, key)
           : take_all(r, index, inputs, count, key)) != 0 ||
      append(r, made, GEMEL__REGION_RIGHT) != 0) {
    return -1;
  }
  r->right[index] = (uint32_t)r->n;
  return 0;
}

static int read_right(gemel__region *r, uint64_t *key) {
  const gemel__application *a = r->a;
  const gemel__rule_side *right = &a->rule->right;
  for (uint32_t k = 0; k < right->count; k++) {
    if (right->nodes[k].kind == GEMEL__PATTERN_APPLY && read_made(r, k, key) != 0) {
      return -1;
    }
  }
  if (right->nodes[right->count - 1].kind == GEMEL__PATTERN_VARIABLE) {
    const gemel__ref *bound = &a->terms[right->nodes[right->count - 1].variable].u.tensor;
    uint32_t number = find(r, *bound);
    r->leftover |= number != 0 && r->values[number - 1].kind == GEMEL__REGION_INSIDE;
    *key = hash(*key, number);
  }
  *key = hash(*key, a->broadcast.node != GEMEL__NO_BROADCAST);
  return 0;
}

int gemel__region_read(gemel__region *r, const gemel__application *a, uint64_t *key) {
  const char *name = a->rule->info.name;
  r->a = a;
  r->n = 0;
  r->n_operands = 0;
  r->leftover = 0;
  r->open = 0;
  gemel__map_empty(&r->numbers);
  *key = gemel__hash_bytes(a->order, name, strlen(name));
  return read_left(r, key) != 0 || read_right(r, key) != 0 ? -1 : 0;
}

void gemel__region_clear(gemel__region *r) {
  gemel__free(r->values, r->capacity * sizeof *r->values);
  gemel__map_clear(&r->numbers);
  gemel__free(r->operands, r->operand_capacity * sizeof *r->operands);
  memset(r, 0, sizeof *r);
}

/* ---- Facts ---- */

static const gemel_tensor *constant_of(const gemel_graph *graph, gemel__ref ref) {
  const gemel__node *node = gemel__node_at(graph, ref.node);
  return is_constant(graph, ref) ? gemel__attrs_at(graph->context, node->attrs)->values[0].u.tensor
                                 : NULL;
}

uint64_t gemel__region_facts_key(const gemel__region *r, uint64_t key) {
  key = hash(key, 1);
  for (size_t k = 0; k < r->n; k++) {
    const gemel_graph *graph = r->a->graph;
    gemel__ref ref = r->values[k].ref;
    const gemel_tensor *tensor;
    if (r->values[k].kind != GEMEL__REGION_LEAF) {
      continue;
    }
    key = hash(key, gemel__facts(graph, ref));
    if (gemel__uniform_constant(graph, ref, &tensor)) {
      size_t bytes = gemel_dtype_size(gemel_tensor_dtype(tensor));
      key = gemel__hash_bytes(key, gemel_tensor_data(tensor), bytes);
    } else if (constant_of(graph, ref) != NULL) {
      key = hash(key, graph->nodes[ref.node].attrs);
    }
  }
  return key;
}

gemel_range gemel__region_range(const gemel_graph *graph, gemel__ref ref) {
  unsigned facts = gemel__facts(graph, ref);
  return (facts & GEMEL__POSITIVE) == GEMEL__POSITIVE ? GEMEL_RANGE_POSITIVE
         : facts & GEMEL__NONNEGATIVE                 ? GEMEL_RANGE_NONNEGATIVE
         : facts & GEMEL__NONZERO                     ? GEMEL_RANGE_NONZERO
                                                      : GEMEL_RANGE_ANY;
}

/* ---- Building ---- */

struct building {
  const gemel__region *r;
  gemel_graph *into;
  gemel_value *made; /* by number of the value */
  int facts;
  gemel_range *ranges; /* by input; NULL: not wanted */
  size_t n_inputs;
};

/* ELEMENT broadcast to the shape of TYPE. */
static gemel_value uniform_value(struct building *b, const gemel_tensor *element, gemel_type type) {
  gemel_context *context = b->into->context;
  gemel_error error;
  gemel_tensor *one = gemel_tensor_new(gemel_tensor_dtype(element), 0, NULL, &error);
  if (one == NULL) {
    return gemel__graph_fail_at(b->into, (gemel_location){"", 0}, error.status, "%s", error.text);
  }
  memcpy(gemel_tensor_data(one), gemel_tensor_data(element),
         gemel_dtype_size(gemel_tensor_dtype(element)));
  gemel_value scalar = gemel_constant(b->into, one);
  gemel_tensor_unref(one);
  gemel_attr shape = gemel_attr_dims("shape", (size_t)gemel_type_rank(context, type),
                                     gemel_type_dims(context, type));
  return gemel_type_rank(context, type) == 0
             ? scalar
             : gemel_apply(b->into, "broadcast_to", 1, &scalar, 1, &shape);
}

/* A new input with the name of the variable that is bound to REF. */
static gemel_value new_input(struct building *b, gemel__ref ref, gemel_type type) {
  const gemel__application *a = b->r->a;
  char name[80];
  snprintf(name, sizeof name, "_%zu", b->n_inputs);
  for (uint32_t k = 0; k < a->rule->n_variables; k++) {
    if (a->rule->variables[k].kind == GEMEL__TERM_TENSOR && same_ref(a->terms[k].u.tensor, ref)) {
      snprintf(name, sizeof name, "%.70s", a->rule->variables[k].name);
      break;
    }
  }
  if (b->ranges != NULL) {
    b->ranges[b->n_inputs] = b->facts ? gemel__region_range(a->graph, ref) : GEMEL_RANGE_ANY;
  }
  b->n_inputs++;
  return gemel_input(b->into, name, type);
}

/* Copies NODE, applied to the values with these numbers or, if NUMBERS is NULL, to its own
 * inputs. */
static gemel_value copy_node(struct building *b, uint32_t node, const uint32_t *numbers) {
  const gemel_graph *graph = b->r->a->graph;
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, node, &count);
  gemel_value *operands = gemel__alloc_array(count + 1, sizeof *operands), made;
  if (operands == NULL) {
    return gemel__graph_fail_at(b->into, (gemel_location){"", 0}, GEMEL_NO_MEMORY,
                                "out of memory for a region");
  }
  for (uint32_t k = 0; k < count; k++) {
    operands[k] = b->made[(numbers != NULL ? numbers[k] : find(b->r, inputs[k])) - 1];
  }
  made = gemel__apply(b->into, graph->nodes[node].op, graph->nodes[node].attrs, count, operands,
                      (gemel_location){"", 0});
  gemel__free(operands, (count + 1) * sizeof *operands);
  return made;
}

/* Builds leaves, literals, and constants of the right side. */
static gemel_status build_leaves(struct building *b) {
  const gemel_graph *graph = b->r->a->graph;
  for (size_t k = 0; k < b->r->n; k++) {
    gemel__ref ref = b->r->values[k].ref;
    gemel_type type = gemel__node_type(graph, ref.node, ref.output);
    int kind = b->r->values[k].kind;
    const gemel_tensor *tensor;
    if (kind == GEMEL__REGION_INSIDE || kind == GEMEL__REGION_RIGHT) {
      continue;
    }
    if (gemel__type_at(graph->context, type)->has_runtime) {
      return GEMEL_DECLINED;
    }
    if ((kind == GEMEL__REGION_LITERAL || (b->facts && kind == GEMEL__REGION_LEAF)) &&
        gemel__uniform_constant(graph, ref, &tensor)) {
      b->made[k] = uniform_value(b, tensor, type);
    } else if (kind == GEMEL__REGION_CONSTANT || (b->facts && constant_of(graph, ref) != NULL)) {
      b->made[k] = copy_node(b, ref.node, NULL);
    } else {
      b->made[k] = new_input(b, ref, type);
    }
  }
  return gemel_graph_error(b->into)->status;
}

/* Builds matched operations in the order of their ids, which is a topological one. */
static gemel_status build_left(struct building *b) {
  uint32_t order[GEMEL__RULE_NODES], n = 0;
  for (uint32_t k = 0; k < b->r->n && n < GEMEL__RULE_NODES; k++) {
    uint32_t at = n;
    if (b->r->values[k].kind != GEMEL__REGION_INSIDE) {
      continue;
    }
    for (; at > 0 && b->r->values[order[at - 1]].ref.node > b->r->values[k].ref.node; at--) {
      order[at] = order[at - 1];
    }
    order[at] = k;
    n++;
  }
  for (uint32_t k = 0; k < n; k++) {
    gemel__ref ref = b->r->values[order[k]].ref;
    gemel_value made = copy_node(b, ref.node, NULL);
    b->made[order[k]] = gemel_is_null(made) ? made : gemel_value_output(made, ref.output);
    if (gemel_graph_error(b->into)->status != GEMEL_OK) {
      break;
    }
  }
  return gemel_graph_error(b->into)->status;
}

static gemel_status build_right(struct building *b, gemel_value *root) {
  const gemel__application *a = b->r->a;
  const gemel__rule_side *right = &a->rule->right;
  const gemel__pattern *last = &right->nodes[right->count - 1];
  gemel_type type = gemel__node_type(a->graph, a->before.node, a->before.output);
  for (uint32_t k = 0; k < right->count; k++) {
    if (right->nodes[k].kind != GEMEL__PATTERN_APPLY) {
      continue;
    }
    *root = copy_node(b, a->made[k].node, b->r->operands + b->r->first[k]);
    if (gemel_is_null(*root)) {
      return gemel_graph_error(b->into)->status;
    }
    *root = gemel_value_output(*root, a->made[k].output);
    b->made[b->r->right[k] - 1] = *root;
  }
  if (last->kind == GEMEL__PATTERN_VARIABLE) {
    *root = b->made[find(b->r, a->terms[last->variable].u.tensor) - 1];
  } else if (last->kind == GEMEL__PATTERN_LITERAL) {
    gemel__ref literal = a->broadcast.node != GEMEL__NO_BROADCAST ? a->bare : a->after;
    *root = gemel__apply(b->into, a->graph->nodes[literal.node].op,
                         a->graph->nodes[literal.node].attrs, 0, NULL, (gemel_location){"", 0});
  }
  if (a->broadcast.node != GEMEL__NO_BROADCAST && !gemel_is_null(*root)) {
    gemel_attr shape = gemel_attr_dims("shape", (size_t)gemel_type_rank(b->into->context, type),
                                       gemel_type_dims(b->into->context, type));
    *root = gemel_apply(b->into, "broadcast_to", 1, root, 1, &shape);
  }
  return gemel_graph_error(b->into)->status;
}

/* Builds one side as a new graph. */
static gemel_graph *build(const gemel__region *r, int facts, int is_right, gemel_range *ranges,
                          gemel_error *error) {
  struct building b = {r, NULL, NULL, facts, ranges, 0};
  gemel_value root = {NULL, 0, 0};
  gemel_status status = GEMEL_NO_MEMORY;
  b.into = gemel_graph_new(r->a->graph->context, error);
  b.made = gemel__alloc_array(r->n, sizeof *b.made);
  if (b.into != NULL && b.made != NULL) {
    status = build_leaves(&b);
    if (status == GEMEL_OK && (!is_right || r->leftover)) {
      status = build_left(&b);
      root = status == GEMEL_OK ? b.made[find(r, r->a->before) - 1] : root;
    }
    if (status == GEMEL_OK && is_right) {
      status = build_right(&b, &root);
    }
    status = status ? status : gemel_output(root, "y");
  }
  gemel__free(b.made, r->n * sizeof *b.made);
  if (status != GEMEL_OK) {
    gemel_graph_unref(b.into);
    gemel__fail(error, status == GEMEL_NO_MEMORY ? status : GEMEL_DECLINED, "a region");
    return NULL;
  }
  return b.into;
}

gemel_status gemel__region_build(const gemel__region *r, int facts, gemel_graph **left,
                                 gemel_graph **right, gemel_range *ranges, gemel_error *error) {
  *left = *right = NULL;
  if (r->open) {
    return GEMEL_DECLINED;
  }
  *left = build(r, facts, 0, ranges, error);
  *right = *left != NULL ? build(r, facts, 1, NULL, error) : NULL;
  if (*right == NULL) {
    gemel_graph_unref(*left);
    *left = NULL;
    return error->status;
  }
  return GEMEL_OK;
}
