/* SPDX-License-Identifier: MIT
 *
 * Sums of integers as linear combinations. Integers wrap, so any order of a sum gives the same
 * bits, and so do 3*x for x + x + x and nothing for x - x. A tree of add, sub, neg and products
 * with a constant, each used once, of one type, is looked at from its root, the node that isn't
 * used just so, and nowhere else: a million nested additions are walked through once. Its leaves
 * get coefficients; where the combination takes fewer operations than the tree, it is built
 * instead.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "passes/passes.h"
#include "passes/term.h"

typedef struct entry { /* of the stack: a value times a factor */
  gemel__ref value;
  uint64_t factor;
} entry;

typedef struct term {
  gemel__ref value;
  uint64_t factor;
  uint32_t same_node; /* the term before with the same node, + 1 */
} term;

typedef struct pass {
  const gemel_graph *from;
  gemel_graph *to;
  gemel_error *error;
  uint32_t add, sub, neg, mul; /* operations */
  unsigned char *live, *inner, *fired, *gone;
  uint32_t *place; /* by node: its last term, + 1 */
  gemel__ref *map;
  entry *stack;
  size_t depth, stack_capacity;
  term *terms;
  size_t n_terms, term_capacity;
  gemel_value *operands;
  size_t operand_capacity;
  uint64_t mask, constant; /* of the sum at hand: bits of its dtype; what is added */
  uint64_t tree;           /* operations in it */
  uint64_t applied;
} pass;

static gemel_status no_memory(const pass *p) {
  return gemel__no_memory(p->error, "sums");
}

/* ---- Trees ---- */

static gemel_dtype dtype_of(const pass *p, gemel__ref v) {
  return gemel_type_dtype(p->from->context, gemel__node_type(p->from, v.node, v.output));
}

static int is_integer(gemel_dtype dtype) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  return kind == GEMEL_KIND_SIGNED || kind == GEMEL_KIND_UNSIGNED;
}

/* 1 if V is one integer for all elements: *BITS, with zeros above its dtype's. */
static int constant_of(const pass *p, gemel__ref v, uint64_t *bits) {
  const gemel_tensor *tensor;
  if (!gemel__splat(p->from, v, &tensor)) {
    return 0;
  }
  *bits = 0;
  memcpy(bits, gemel_tensor_data(tensor), gemel_dtype_size(gemel_tensor_dtype(tensor)));
  return 1;
}

/* 1 if NODE adds, or multiplies with a constant. */
static int is_sum(const pass *p, uint32_t node) {
  uint32_t op = p->from->nodes[node].op, n;
  uint64_t bits;
  gemel__ref self = {node, 0};
  if ((op != p->add && op != p->sub && op != p->neg && op != p->mul) ||
      !is_integer(dtype_of(p, self))) {
    return 0;
  }
  const gemel__ref *inputs = gemel__node_inputs(p->from, node, &n);
  return op != p->mul || constant_of(p, inputs[0], &bits) || constant_of(p, inputs[1], &bits);
}

static int push(pass *p, gemel__ref value, uint64_t factor) {
  if (gemel__grow(&p->stack, &p->stack_capacity, p->depth + 1, sizeof *p->stack) != 0) {
    return -1;
  }
  p->stack[p->depth].value = value;
  p->stack[p->depth++].factor = factor & p->mask;
  return 0;
}

static int add_term(pass *p, gemel__ref value, uint64_t factor) {
  uint32_t k = p->place[value.node];
  while (k != 0 && p->terms[k - 1].value.output != value.output) {
    k = p->terms[k - 1].same_node;
  }
  if (k != 0) {
    p->terms[k - 1].factor = (p->terms[k - 1].factor + factor) & p->mask;
    return 0;
  }
  if (gemel__grow(&p->terms, &p->term_capacity, p->n_terms + 1, sizeof *p->terms) != 0) {
    return -1;
  }
  p->terms[p->n_terms] = (term){value, factor & p->mask, p->place[value.node]};
  p->place[value.node] = (uint32_t)++p->n_terms;
  return 0;
}

/* The operands of a sum node, times FACTOR. */
static int open(pass *p, uint32_t node, uint64_t factor) {
  uint32_t op = p->from->nodes[node].op, n;
  const gemel__ref *in = gemel__node_inputs(p->from, node, &n);
  uint64_t bits;
  p->tree++;
  if (op == p->neg) {
    return push(p, in[0], 0 - factor);
  }
  if (op == p->mul) {
    int second = constant_of(p, in[1], &bits) || !constant_of(p, in[0], &bits);
    return push(p, in[!second], factor * bits);
  }
  /* the left one is looked at first: it lies on top */
  return push(p, in[1], op == p->sub ? 0 - factor : factor) || push(p, in[0], factor) ? -1 : 0;
}

/* The linear combination at ROOT. With MARK the nodes of its tree are gone. */
static gemel_status collect(pass *p, uint32_t root, int mark) {
  gemel__ref self = {root, 0};
  size_t bytes = gemel_dtype_size(dtype_of(p, self));
  uint64_t bits;
  for (size_t k = 0; k < p->n_terms; k++) { /* of the last one */
    p->place[p->terms[k].value.node] = 0;
  }
  p->mask = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * bytes)) - 1;
  p->constant = p->tree = 0;
  p->n_terms = p->depth = 0;
  if (open(p, root, 1) != 0) {
    return no_memory(p);
  }
  while (p->depth > 0) {
    entry e = p->stack[--p->depth];
    int failed = 0;
    if (p->inner[e.value.node]) {
      p->gone[e.value.node] |= (unsigned char)mark;
      failed = open(p, e.value.node, e.factor);
    } else if (constant_of(p, e.value, &bits)) {
      p->constant = (p->constant + bits * e.factor) & p->mask;
    } else {
      failed = add_term(p, e.value, e.factor);
    }
    if (failed) {
      return no_memory(p);
    }
  }
  return GEMEL_OK;
}

/* How many operations the combination takes. */
static uint64_t cost(const pass *p) {
  uint64_t n = 0, products = 0;
  int plain = 0;
  for (size_t k = 0; k < p->n_terms; k++) {
    uint64_t f = p->terms[k].factor;
    n += f != 0;
    products += f != 0 && f != 1 && f != p->mask;
    plain |= f != 0 && f != p->mask;
  }
  n += p->constant != 0;
  return n == 0 ? 0 : n - 1 + products + (!plain && p->constant == 0);
}

/* Marks nodes that lie inside a tree: sums that one sum of their type uses, once. */
static gemel_status find_inner(pass *p) {
  size_t n = p->from->n_nodes;
  uint32_t *uses = gemel__alloc_array(n, sizeof *uses), count;
  if (uses == NULL) {
    return no_memory(p);
  }
  for (size_t k = 0; k < p->from->n_outputs; k++) {
    uses[p->from->outputs[k].node] += 2;
  }
  for (size_t k = 0; k < n; k++) {
    const gemel__ref *in = gemel__node_inputs(p->from, (uint32_t)k, &count);
    for (uint32_t j = 0; p->live[k] && j < count; j++) {
      uses[in[j].node]++;
    }
  }
  for (size_t k = 0; k < n; k++) {
    if (p->live[k] && is_sum(p, (uint32_t)k)) {
      const gemel__ref *in = gemel__node_inputs(p->from, (uint32_t)k, &count);
      p->fired[k] = 1; /* a candidate */
      for (uint32_t j = 0; j < count; j++) {
        p->inner[in[j].node] |= uses[in[j].node] == 1 && p->fired[in[j].node] &&
                                p->from->node_types[in[j].node] == p->from->node_types[k];
      }
    }
  }
  gemel__free(uses, n * sizeof *uses);
  return GEMEL_OK;
}

/* Decides which roots are built anew. */
static gemel_status decide(pass *p) {
  for (size_t k = 0; k < p->from->n_nodes; k++) {
    if (p->fired[k]) {
      gemel_status status = p->inner[k] ? GEMEL_OK : collect(p, (uint32_t)k, 0);
      p->fired[k] = status == GEMEL_OK && !p->inner[k] && cost(p) < p->tree;
      if (status == GEMEL_OK && p->fired[k]) {
        p->applied++;
        status = collect(p, (uint32_t)k, 1);
      }
      if (status != GEMEL_OK) {
        return status;
      }
    }
  }
  return GEMEL_OK;
}

/* ---- Building ---- */

static gemel_value mapped(const pass *p, gemel__ref old) {
  gemel__ref to = p->map[old.node];
  to.output = p->from->nodes[old.node].n_outputs == 1 ? to.output : old.output;
  return gemel__value(p->to, to);
}

static gemel_value number(const pass *p, gemel_dtype dtype, uint64_t bits, gemel_location where) {
  gemel_tensor *tensor = gemel_tensor_new(dtype, 0, NULL, p->error);
  gemel_value value = {NULL, 0, 0};
  if (tensor != NULL) {
    memcpy(gemel_tensor_data(tensor), &bits, gemel_dtype_size(dtype));
    value = gemel_constant_at(p->to, tensor, where);
    gemel_tensor_unref(tensor);
  }
  return value;
}

/* SUM (null: nothing yet) + FACTOR * X. */
static gemel_value plus(const pass *p, gemel_value sum, gemel_value x, uint64_t factor,
                        gemel_dtype dtype, gemel_location where) {
  gemel_value two[2] = {sum, x};
  int subtract = factor == p->mask && !gemel_is_null(sum);
  if (factor != 1 && !subtract) {
    gemel_value product[2] = {x, number(p, dtype, factor, where)};
    two[1] = gemel__apply(p->to, p->mul, 0, 2, product, where);
  }
  return gemel_is_null(sum) ? two[1]
                            : gemel__apply(p->to, subtract ? p->sub : p->add, 0, 2, two, where);
}

/* The combination at ROOT: terms that aren't subtracted first, so that there is something to
 * subtract from. */
static gemel_value build(pass *p, uint32_t root, gemel_location where) {
  gemel__ref self = {root, 0};
  gemel_dtype dtype = dtype_of(p, self);
  gemel_type want;
  gemel_value sum = {NULL, 0, 0};
  for (int late = 0; late < 2; late++) {
    for (size_t k = 0; k < p->n_terms; k++) {
      uint64_t factor = p->terms[k].factor;
      if (factor != 0 && (factor == p->mask) == late) {
        if (late && gemel_is_null(sum) && p->constant != 0) {
          sum = number(p, dtype, p->constant, where);
          p->constant = 0;
        }
        sum = plus(p, sum, mapped(p, p->terms[k].value), factor, dtype, where);
      }
    }
  }
  if (p->constant != 0 || gemel_is_null(sum)) {
    gemel_value c = number(p, dtype, p->constant, where);
    sum = gemel_is_null(sum) ? c : plus(p, sum, c, 1, dtype, where);
  }
  want = gemel__node_type(p->from, root, 0);
  if (gemel_value_type(sum) != want && !gemel_is_null(sum)) {
    gemel_attr shape = gemel_attr_dims("shape", (size_t)gemel_type_rank(p->from->context, want),
                                       gemel_type_dims(p->from->context, want));
    sum = gemel_apply_at(p->to, "broadcast_to", 1, &sum, 1, &shape, where);
  }
  return sum;
}

static gemel_status copy_node(pass *p, uint32_t k) {
  const gemel__node *node = gemel__node_at(p->from, k);
  gemel_location where = {p->from->files[node->file], (int)node->line};
  gemel_value made;
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(p->from, k, &count);
  if (p->fired[k]) {
    gemel_status status = collect(p, k, 0);
    if (status != GEMEL_OK) {
      return status;
    }
    made = build(p, k, where);
  } else {
    if (gemel__grow(&p->operands, &p->operand_capacity, count, sizeof *p->operands) != 0) {
      return no_memory(p);
    }
    for (uint32_t j = 0; j < count; j++) {
      p->operands[j] = mapped(p, in[j]);
    }
    made = gemel__apply(p->to, node->op, node->attrs, count, p->operands, where);
  }
  if (gemel_is_null(made)) {
    *p->error = *gemel_graph_error(p->to);
    return p->error->status != GEMEL_OK ? p->error->status : no_memory(p);
  }
  p->map[k].node = made.node;
  p->map[k].output = made.output;
  return GEMEL_OK;
}

static gemel_status copy(pass *p) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < p->from->n_inputs; k++) {
    uint32_t old = p->from->inputs[k].node;
    const gemel__node *node = gemel__node_at(p->from, old);
    gemel_location where = {p->from->files[node->file], (int)node->line};
    gemel_value made =
        gemel_input_at(p->to, p->from->input_names[k], gemel__node_type(p->from, old, 0), where);
    p->map[old].node = made.node;
    p->map[old].output = 0;
    p->gone[old] = 1;
  }
  for (size_t k = 0; k < p->from->n_nodes && status == GEMEL_OK; k++) {
    status = p->live[k] && !p->gone[k] ? copy_node(p, (uint32_t)k) : GEMEL_OK;
  }
  for (size_t k = 0; k < p->from->n_outputs && status == GEMEL_OK; k++) {
    gemel_output(mapped(p, p->from->outputs[k]), p->from->output_names[k]);
  }
  if (status == GEMEL_OK && gemel_graph_error(p->to)->status != GEMEL_OK) {
    *p->error = *gemel_graph_error(p->to);
    status = p->error->status;
  }
  return status;
}

/* ---- The pass ---- */

static gemel_status run(pass *p) {
  size_t n = p->from->n_nodes;
  gemel_context *context = p->from->context;
  p->live = gemel__alloc_array(n, 4);
  p->place = gemel__alloc_array(n, sizeof *p->place);
  p->map = gemel__alloc_array(n, sizeof *p->map);
  if (p->live == NULL || p->place == NULL || p->map == NULL) {
    return no_memory(p);
  }
  p->inner = p->live + n;
  p->fired = p->inner + n;
  p->gone = p->fired + n;
  p->add = gemel__op_find(context, "add");
  p->sub = gemel__op_find(context, "sub");
  p->neg = gemel__op_find(context, "neg");
  p->mul = gemel__op_find(context, "mul");
  gemel__graph_live(p->from, p->live);
  gemel_status status = find_inner(p);
  status = status ? status : decide(p);
  if (status != GEMEL_OK || p->applied == 0) {
    return status;
  }
  p->to = gemel_graph_new(context, p->error);
  return p->to != NULL ? copy(p) : p->error->status;
}

gemel_graph *gemel__pass_integer_sums(const gemel_graph *graph, const void *data, uint64_t *applied,
                                      gemel_error *error) {
  size_t n = graph->n_nodes;
  pass p;
  (void)data;
  memset(&p, 0, sizeof p);
  p.from = graph;
  p.error = error;
  gemel_status status = run(&p);
  gemel__free(p.live, n * 4);
  gemel__free(p.place, n * sizeof *p.place);
  gemel__free(p.map, n * sizeof *p.map);
  gemel__free(p.stack, p.stack_capacity * sizeof *p.stack);
  gemel__free(p.terms, p.term_capacity * sizeof *p.terms);
  gemel__free(p.operands, p.operand_capacity * sizeof *p.operands);
  if (status != GEMEL_OK) {
    gemel_graph_unref(p.to);
    return NULL;
  }
  *applied = p.applied;
  return p.to != NULL ? p.to : gemel_graph_ref((gemel_graph *)graph);
}

/* ---- Instances ---- */

/* Up to twelve of x and y, plus and minus, and one more that makes two terms equal. */
gemel_status gemel__generate_integer_sums(gemel_graph *graph, uint64_t (*random)(void *state),
                                          void *state, const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_I8, GEMEL_I16, GEMEL_I32, GEMEL_I64,
                                       GEMEL_U8, GEMEL_U16, GEMEL_U32, GEMEL_U64};
  gemel_dtype dtype = dtypes[random(state) % 8];
  int64_t shape[2] = {(int64_t)(random(state) % 3), 3};
  gemel_context *context = gemel_graph_context(graph);
  gemel_value in[3], sum;
  (void)data;
  in[0] = gemel_input(graph, "x", gemel_type_of_shape(context, dtype, 2, shape));
  in[1] = gemel_input(graph, "y", gemel_type_of_shape(context, dtype, 1, shape + 1));
  in[2] = gemel_scalar(graph, dtype, (double)(random(state) % 100));
  sum = in[0];
  for (uint64_t k = random(state) % 11 + 1; k > 0; k--) {
    gemel_value two[2] = {sum, in[random(state) % 3]};
    sum = gemel_apply(graph, random(state) % 2 ? "add" : "sub", 2, two, 0, NULL);
  }
  gemel_value last[2] = {sum, in[0]};
  return gemel_output(gemel_apply(graph, "sub", 2, last, 0, NULL), "z");
}
