/* SPDX-License-Identifier: MIT
 *
 * Facts of elements: what a dtype, a constant and the caller's assumptions say, and from the facts
 * of operands what the row of their operation makes of them (ops/facts.h).
 */
#include "rules/facts.h"

#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "core/tensor.h"
#include "ops/ops.h"
#include "rules/term.h"

enum { MAX_DEPTH = 6, MAX_NODES = 64, MAX_UNIFORM = 64, MAX_STEPS = 16 };
static const int64_t max_elements = 4096; /* of all constants that one search looks at */
enum { N = GEMEL__NONNEGATIVE, Z = GEMEL__NONZERO, M = GEMEL__NOT_NAN, F = GEMEL__FINITE };
enum { EVERY = N | Z | M | F };

/* ---- Constants ---- */

static const gemel_tensor *constant_of(const gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  return record->op == GEMEL__OP_constant
             ? gemel__attrs_at(graph->context, record->attrs)->values[0].u.tensor
             : NULL;
}

/* 1 if all of at least one and at most 64 elements have the same bits. */
static int is_uniform(const gemel_tensor *tensor) {
  size_t bytes = gemel_dtype_size(gemel_tensor_dtype(tensor));
  int64_t count = gemel_tensor_elements(tensor);
  const char *data = gemel_tensor_data(tensor);
  int all = count >= 1 && count <= MAX_UNIFORM;
  for (int64_t k = 1; all && k < count; k++) {
    all = memcmp(data, data + (size_t)k * bytes, bytes) == 0;
  }
  return all;
}

/* Which operand the elements of OP's results are those of; -1 if it computes new ones. */
static int moved_operand(const gemel__op *op) {
  return op->row != NULL ? op->row->hooks->moves - 1 : -1;
}

int gemel__uniform_constant(const gemel_graph *graph, gemel__ref value,
                            const gemel_tensor **tensor) {
  for (int step = 0; step < MAX_STEPS; step++) {
    uint32_t n;
    const gemel__ref *inputs = gemel__node_inputs(graph, value.node, &n);
    *tensor = constant_of(graph, value.node);
    if (*tensor != NULL) {
      return is_uniform(*tensor);
    }
    int operand = moved_operand(gemel__node_op(graph, value.node));
    if (operand < 0) {
      return 0;
    }
    value = inputs[operand];
  }
  return 0;
}

/* ---- Looking ---- */

typedef struct facts_search {
  const gemel_graph *graph;
  int nodes;        /* looked at so far */
  int64_t elements; /* of constants */
} facts_search;

/* The facts that all elements of a constant share. */
static unsigned constant_facts(facts_search *s, const gemel_tensor *tensor) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  int64_t count = gemel_tensor_elements(tensor);
  const char *data = gemel_tensor_data(tensor);
  if (count > max_elements - s->elements) {
    return 0;
  }
  unsigned facts = EVERY;
  for (int64_t k = 0; k < count && facts != 0; k++) {
    double x = gemel__dtype_load(dtype, data + (size_t)k * gemel_dtype_size(dtype));
    facts &= (x < 0 ? 0u : N) | (x == 0 ? 0u : Z) | (x != x ? 0u : M) | (isfinite(x) ? F : 0u);
  }
  s->elements += count;
  return facts;
}

/* What DTYPE says by itself. */
static unsigned dtype_facts(gemel_dtype dtype) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  return gemel__facts_if(kind != GEMEL_KIND_FLOAT, M | F) |
         gemel__facts_if(kind == GEMEL_KIND_BOOL || kind == GEMEL_KIND_UNSIGNED, N);
}

static unsigned look(facts_search *s, gemel__ref value, int depth);

static void look_at_operands(facts_search *s, gemel__ref value, int depth, gemel__fact_call *f) {
  uint32_t n;
  const gemel__ref *inputs = gemel__node_inputs(s->graph, value.node, &n);
  f->all = n > 0 ? EVERY : 0;
  for (uint32_t k = 0; k < n && (k < 3 || f->all != 0); k++) {
    unsigned facts = s->nodes <= MAX_NODES ? look(s, inputs[k], depth + 1) : 0;
    f->all &= facts;
    if (k < 3) {
      f->of[k] = facts;
    }
  }
  f->from = n > 0 ? gemel__ref_dtype(s->graph, inputs[0]) : f->to;
  f->twice = n > 1 && inputs[0].node == inputs[1].node && inputs[0].output == inputs[1].output;
}

static gemel__fact_rule fact_rule(const gemel__op *op) {
  const gemel__scalar_row *scalar = gemel__scalar_row_of(&op->record);
  return scalar != NULL    ? gemel__scalar_facts[scalar->index]
         : op->row != NULL ? op->row->hooks->facts
                           : NULL;
}

/* Recurses to MAX_DEPTH at most, and looks at MAX_NODES nodes at most. */
static unsigned look(facts_search *s, gemel__ref value, int depth) {
  gemel_dtype dtype = gemel__ref_dtype(s->graph, value);
  unsigned facts = dtype_facts(dtype);
  const gemel_tensor *tensor = constant_of(s->graph, value.node);
  const gemel__op *op = gemel__node_op(s->graph, value.node);
  int operand = moved_operand(op);
  gemel__fact_rule rule = fact_rule(op);
  gemel__fact_call f = {.to = dtype, .is_float = gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT};
  uint32_t n;
  if (tensor != NULL) {
    return facts | constant_facts(s, tensor);
  }
  if (s->graph->input_mark_capacity > 0) {
    facts |= gemel_assumed(gemel__value(s->graph, value)) & EVERY;
  }
  if (depth == MAX_DEPTH || ++s->nodes > MAX_NODES) {
    return facts;
  }
  if (operand >= 0) {
    return facts | look(s, gemel__node_inputs(s->graph, value.node, &n)[operand], depth + 1);
  }
  if (rule != NULL) {
    look_at_operands(s, value, depth, &f);
    facts |= rule(&f);
  }
  return facts;
}

unsigned gemel__facts(const gemel_graph *graph, gemel__ref value) {
  facts_search s = {graph, 0, 0};
  return look(&s, value, 0);
}
