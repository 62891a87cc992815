/* SPDX-License-Identifier: MIT
 *
 * Builds arrangements (arrange.h). Parts of operands begin at different elements, so that kernels
 * meet addresses of every alignment.
 */
#include "operations/arrange.h"

#include <stdio.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"

enum { MANY = 12, STARTS = 16 };

/* A graph that is being made of BASE. */
typedef struct arranged {
  gemel_graph *graph;
  const gemel__instance *base;
  const gemel__node *node; /* BASE's operation */
  gemel_value *in;         /* the new graph's inputs, like BASE's */
  gemel_value *operands;   /* of the node that is made next */
  size_t n_outputs;
} arranged;

/* ---- Pieces ---- */

/* Elements START to START + N of a vector X. */
static gemel_value part(const arranged *a, gemel_value x, int64_t start, int64_t n) {
  gemel_context *context = gemel_graph_context(a->graph);
  gemel_dim begin = gemel_dim_constant(context, start), size = gemel_dim_constant(context, n);
  gemel_attr attrs[2] = {gemel_attr_dims("start", 1, &begin), gemel_attr_dims("size", 1, &size)};
  if (gemel_dim_is_none(begin) || gemel_dim_is_none(size)) {
    return gemel__graph_fail(a->graph, GEMEL_NO_MEMORY, "memory is out: a size");
  }
  return gemel_apply(a->graph, "subtensor", 1, &x, 2, attrs);
}

static int is_long(const arranged *a, size_t k) {
  const gemel__leaf *leaf = &a->base->leaves[k];
  return leaf->rank == 1 && leaf->count > 1;
}

/* N elements of input K from START on; all of it if it is a scalar. */
static gemel_value operand(const arranged *a, size_t k, int64_t start, int64_t n) {
  return is_long(a, k) ? part(a, a->in[k], start, n) : a->in[k];
}

/* BASE's operation on `operands`. */
static gemel_value apply_base(const arranged *a) {
  return gemel__apply(a->graph, a->node->op, a->node->attrs, a->base->n_leaves, a->operands,
                      GEMEL_HERE);
}

static gemel_value apply_both(const arranged *a, const char *name, gemel_value x, gemel_value y) {
  gemel_value both[2] = {x, y};
  return gemel_apply(a->graph, name, 2, both, 0, NULL);
}

static void add_output(arranged *a, gemel_value x) {
  char label[32];
  snprintf(label, sizeof label, "y%zu", a->n_outputs++);
  gemel_output(x, label);
}

/* ---- The frame ---- */

static gemel_status begin(arranged *a, const gemel__instance *base, gemel_error *error) {
  size_t n = base->n_leaves;
  *a = (arranged){.base = base,
                  .graph = gemel_graph_new(gemel_graph_context(base->graph), error),
                  .in = gemel__alloc_array(2 * n, sizeof *a->in)};
  a->node = gemel__node_at(base->graph, gemel_graph_output(base->graph, 0).node);
  if (a->graph == NULL || a->in == NULL) {
    return gemel__no_memory(error, "an instance");
  }
  a->operands = a->in + n;
  for (size_t k = 0; k < n; k++) {
    gemel_value input = gemel_graph_input(base->graph, k);
    a->in[k] =
        gemel_input(a->graph, gemel_graph_input_name(base->graph, k), gemel_value_type(input));
  }
  return GEMEL_OK;
}

/* MADE = an instance of the graph, unless STATUS says that it failed. Its leaf K has the range of
 * BASE's leaf K modulo their number. */
static gemel_status end(arranged *a, gemel__instance *made, gemel_status status,
                        gemel_error *error) {
  size_t n = a->base->n_leaves;
  if (status == GEMEL_OK) {
    status = gemel_graph_error(a->graph)->status;
    if (status != GEMEL_OK && error != NULL) {
      *error = *gemel_graph_error(a->graph);
    }
  }
  status = status == GEMEL_OK ? gemel__instance_of_graph(made, a->graph, NULL, error) : status;
  for (size_t k = 0; status == GEMEL_OK && k < made->n_leaves; k++) {
    made->leaves[k] = a->base->leaves[k % n];
  }
  if (status == GEMEL_OK) {
    made->elementwise = a->base->elementwise;
  }
  gemel_graph_unref(a->graph);
  gemel__free(a->in, 2 * n * sizeof *a->in);
  return status;
}

/* ---- Lengths ---- */

static void add_length(arranged *a, gemel_value whole, int64_t length) {
  int64_t start = length % STARTS;
  for (size_t k = 0; k < a->base->n_leaves; k++) {
    a->operands[k] = operand(a, k, start, length);
  }
  add_output(a, apply_base(a));
  add_output(a, part(a, whole, start, length));
}

gemel_status gemel__arrange_lengths(gemel__instance *made, const gemel__instance *base,
                                    gemel__lengths lengths, gemel_error *error) {
  arranged a;
  gemel_status status = begin(&a, base, error);
  if (status == GEMEL_OK) {
    for (size_t k = 0; k < base->n_leaves; k++) {
      a.operands[k] = a.in[k];
    }
    gemel_value whole = apply_base(&a);
    for (size_t k = lengths.from; k < GEMEL__BLOCK; k += lengths.step) {
      add_length(&a, whole, (int64_t)(GEMEL__BLOCK + k));
    }
  }
  return end(&a, made, status, error);
}

/* ---- Chains ---- */

/* A number computed from X and Y, of one type, that stays in the range of input K. */
static gemel_value computed(const arranged *a, size_t k, gemel_value x, gemel_value y) {
  const gemel__leaf *leaf = &a->base->leaves[k];
  if (leaf->range == GEMEL_RANGE_INDEX) {
    return x;
  }
  if (leaf->dtype == GEMEL_BOOL) {
    return apply_both(a, "logical_or", x, y);
  }
  return leaf->range == GEMEL_RANGE_ANY && gemel_dtype_kind(leaf->dtype) != GEMEL_KIND_UNSIGNED
             ? gemel_apply(a->graph, "neg", 1, &x, 0, NULL)
             : apply_both(a, "maximum", x, y);
}

/* Y on the right of an operation, the K-th in turn. OTHER: a vector as long; it has Y's dtype, or Y
 * stays as it is. */
static gemel_value on_the_right(const arranged *a, size_t k, gemel_value other, gemel_value y) {
  static const char *const names[] = {"sub", "mul", "maximum", "add", "minimum"};
  gemel_dtype dtype = gemel__value_dtype(y);
  return dtype == GEMEL_BOOL || dtype != gemel__value_dtype(other)
             ? y
             : apply_both(a, names[k % (sizeof names / sizeof *names)], other, y);
}

/* Adds a chain over LENGTH elements in which operand CHOSEN is computed. The others are read, or
 * the same everywhere, in turn; or both operands are the one that is computed. */
static void add_chain(arranged *a, size_t k, size_t chosen, int64_t length) {
  enum { READ, FIXED, BOTH, TURNS };
  const gemel__leaf *leaves = a->base->leaves;
  size_t turn = k % TURNS, n = a->base->n_leaves;
  int64_t start = length % STARTS;
  for (size_t j = 0; j < n; j++) {
    gemel_value x = operand(a, j, start, j != chosen && turn == FIXED ? 1 : length);
    a->operands[j] = j != chosen ? x : computed(a, j, x, operand(a, j, start + 1, length));
  }
  if (turn == BOTH && n == 2 && leaves[0].dtype == leaves[1].dtype &&
      leaves[0].range == leaves[1].range) {
    a->operands[1 - chosen] = a->operands[chosen];
  }
  gemel_value y = apply_base(a), other = operand(a, a->base->n_leaves - 1, start + 2, length);
  add_output(a, on_the_right(a, k, other, y));
}

/* Adds x1 op (x2 op (x3 …)) and the other way round, of MANY parts of one operand, if results have
 * its dtype. */
static void add_many(arranged *a, int64_t length) {
  gemel_value y = operand(a, 0, 0, length);
  for (int k = 1; k < MANY && a->base->n_leaves == 2 && is_long(a, 0); k++) {
    gemel_value x = operand(a, 0, k, length);
    a->operands[0] = k % 3 == 0 ? y : x;
    a->operands[1] = k % 3 == 0 ? x : y;
    gemel_value next = apply_base(a);
    if (gemel_is_null(next) || gemel__value_dtype(next) != a->base->leaves[0].dtype) {
      return;
    }
    y = next;
  }
  add_output(a, y);
}

gemel_status gemel__arrange_chains(gemel__instance *made, const gemel__instance *base,
                                   gemel__lengths lengths, gemel_error *error) {
  enum { MORE = GEMEL__CHAIN_ROOM - GEMEL__LENGTHS_ROOM + GEMEL__BLOCK };
  arranged a;
  gemel_status status = begin(&a, base, error);
  if (status == GEMEL_OK) {
    size_t n = base->n_leaves;
    for (size_t k = lengths.from; k < GEMEL__BLOCK; k += lengths.step) {
      size_t round = k / lengths.step;
      add_chain(&a, round / n, n - 1 - round % n, (int64_t)(MORE + k));
    }
    if (base->leaves[0].range == GEMEL_RANGE_ANY &&
        base->leaves[0].dtype == base->leaves[n - 1].dtype) {
      add_many(&a, (int64_t)(MORE + lengths.from));
    }
  }
  return end(&a, made, status, error);
}

/* ---- Many operands ---- */

gemel_status gemel__arrange_many(gemel__instance *made, const gemel__instance *base, size_t count,
                                 gemel_error *error) {
  arranged a;
  char label[32];
  gemel_value *xs = gemel__alloc_array(count, sizeof *xs);
  gemel_status status = begin(&a, base, error);
  if (xs == NULL && status == GEMEL_OK) {
    status = gemel__no_memory(error, "an instance");
  }
  for (size_t k = 0; k < count && status == GEMEL_OK; k++) {
    size_t like = k % base->n_leaves;
    snprintf(label, sizeof label, "more%zu", k);
    xs[k] =
        k < base->n_leaves
            ? a.in[k]
            : gemel_input(a.graph, label, gemel_value_type(gemel_graph_input(base->graph, like)));
  }
  if (status == GEMEL_OK) {
    add_output(&a, gemel__apply(a.graph, a.node->op, a.node->attrs, count, xs, GEMEL_HERE));
    status = gemel_graph_error(a.graph)->status == GEMEL_NO_MEMORY ? GEMEL_OK
             : gemel_graph_error(a.graph)->status != GEMEL_OK      ? GEMEL_DECLINED
                                                                   : GEMEL_OK;
  }
  gemel__free(xs, count * sizeof *xs);
  return end(&a, made, status, error);
}
