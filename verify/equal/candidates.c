/* SPDX-License-Identifier: MIT
 *
 * Candidates for equality, see candidates.h. Every value of the joint graph becomes a result of one
 * function, which is called twice: at full significands, and at small integers, since different
 * values may agree at one kind of input. Each result is reduced to a weighted sum. Sums are
 * compared with a wide tolerance, since values that are equal over the reals may be rounded
 * differently. Where that shows in the graphs' own results, as many steps amplified it, all is
 * computed in f64 instead.
 */
#include "equal/candidates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/intern.h"
#include "equal/closed.h"
#include "equal/roots.h"
#include "pairs/pair.h"
#include "pairs/widen.h"
#include "tiers/tiers.h"

/* How many values are compared with one node's. */
enum { MOST_SEEN = 64 };
/* A symbol counts as about this size. */
enum { SYMBOL = 4 };
/* Values with more elements are large. */
enum { LARGE_VALUE = 4096 };
static const double golden = 0.6180339887498949;
/* If all values together have more elements, nothing is run. */
#define MOST_ELEMENTS 1e9
/* Two sums agree if they differ by at most this share of the sums of magnitudes. */
#define TOLERANCE 1e-3
/* By so much they may differ by rounding alone. */
#define ROUNDING 1e-5

/* ---- Digests ---- */

int gemel__digests_agree(const gemel__digest *x, const gemel__digest *y) {
  int agree = gemel_type_equal(x->type, y->type);
  if (x->scale[0] == 0 || y->scale[0] == 0) {
    return -1;
  }
  for (size_t k = 0; k < GEMEL__DIGEST_RUNS; k++) {
    agree &= fabs(x->sum[k] - y->sum[k]) <= TOLERANCE * fmin(x->scale[k], y->scale[k]);
  }
  return agree;
}

/* The larger of the distances in both runs, as a share of the digests' scale; 0 if that may be
 * rounding. */
static double distance(const gemel__digest *x, const gemel__digest *y) {
  double most = 0;
  for (size_t k = 0; k < GEMEL__DIGEST_RUNS; k++) {
    double scale = fmin(x->scale[k], y->scale[k]);
    most = fmax(most, scale > 0 ? fabs(x->sum[k] - y->sum[k]) / scale : x->sum[k] != y->sum[k]);
  }
  return most > ROUNDING ? most : 0;
}

/* ---- Running ---- */

static int has_digest(const gemel__joint *j, uint32_t node) {
  const gemel__node *record = gemel__node_at(j->graph, node);
  uint32_t count;
  gemel__node_inputs(j->graph, node, &count);
  return record->n_outputs == 1 && (count > 0 || node < gemel_graph_input_count(j->graph));
}

/* The elements of X as f64, where NaN and what is infinite or as large are numbers too. */
static gemel_value numbers(gemel_value x) {
  gemel_value zero = gemel_scalar(x.graph, GEMEL_F64, 0);
  gemel_value negative = gemel_where(gemel_lt(x, zero), gemel_scalar(x.graph, GEMEL_F64, -91.5),
                                     gemel_scalar(x.graph, GEMEL_F64, 3.7));
  gemel_value other =
      gemel_where(gemel_gt(x, zero), gemel_scalar(x.graph, GEMEL_F64, 91.5), negative);
  return gemel_where(gemel_le(gemel_abs(x), gemel_scalar(x.graph, GEMEL_F64, 1e100)), x, other);
}

static gemel_value weights_of(gemel_value flat, gemel_dtype dtype) {
  gemel_graph *graph = flat.graph;
  gemel_dim n = gemel_type_dims(graph->context, gemel_value_type(flat))[0];
  gemel_value place = gemel_arange_with(graph, n, .dtype = GEMEL_F64);
  gemel_value weight = gemel_add(gemel_mod(gemel_mul(place, gemel_scalar(graph, GEMEL_F64, golden)),
                                           gemel_scalar(graph, GEMEL_F64, 1)),
                                 gemel_scalar(graph, GEMEL_F64, 1));
  return gemel_cast(weight, dtype);
}

/* Outputs for X the sum of its elements with weights from 1 to 2, and that of their squares. Both
 * are part of the function, so that no value need be kept until the end. Large values aren't copied
 * for it: what is infinite or NaN there leaves them without a digest. */
static gemel_status output_digest(gemel_value x, size_t k) {
  char label[32];
  gemel_context *context = x.graph->context;
  gemel_type type = gemel_value_type(x);
  int large = gemel_type_dtype(context, type) == GEMEL_F32 &&
              gemel__type_elements(context, type, SYMBOL) > LARGE_VALUE;
  gemel_value flat = large ? gemel_flatten(x) : numbers(gemel_flatten(gemel_cast(x, GEMEL_F64)));
  gemel_value weights = weights_of(flat, large ? GEMEL_F32 : GEMEL_F64);
  snprintf(label, sizeof label, "sum%zu", k);
  gemel_status status = gemel_output(gemel_dot(flat, weights), label);
  snprintf(label, sizeof label, "squares%zu", k);
  return status ? status : gemel_output(gemel_dot(flat, flat), label);
}

static gemel_value copy_node(gemel_graph *into, const gemel_graph *from, uint32_t node,
                             const gemel_value *copies, gemel_value *operands) {
  const gemel__node *record = gemel__node_at(from, node);
  gemel_value self = gemel__value(from, (gemel__ref){node, 0});
  uint32_t n;
  const gemel__ref *inputs = gemel__node_inputs(from, node, &n);
  if (node < gemel_graph_input_count(from)) {
    return gemel__input_like(into, gemel_graph_input_name(from, node), gemel_value_type(self),
                             self);
  }
  for (uint32_t k = 0; k < n; k++) {
    operands[k] = copies[inputs[k].node];
    operands[k].output += inputs[k].output;
  }
  return gemel__apply(into, record->op, record->attrs, n, operands, gemel_value_where(self));
}

/* A node, and when it is due: right before the first node that takes it and depends on an input, if
 * it depends on none itself. Otherwise all weights that are computed would be there at once. */
struct due {
  uint32_t at, node;
};

static int by_due(const void *x, const void *y) {
  const struct due *a = x, *b = y;
  uint32_t left = a->at != b->at ? a->at : a->node, right = a->at != b->at ? b->at : b->node;
  return left < right ? -1 : left > right;
}

/* The joint graph's nodes in the order in which they run. */
static gemel_status order_nodes(const gemel__joint *j, struct due *order, gemel_error *error) {
  unsigned char *closed = gemel__alloc_zeroed(j->n_nodes + 1);
  if (closed == NULL) {
    return gemel__no_memory(error, "values");
  }
  gemel__closed_mark(j->graph, closed);
  for (uint32_t k = 0; k < j->n_nodes; k++) {
    order[k] = (struct due){closed[k] ? UINT32_MAX : k, k};
  }
  for (uint32_t k = (uint32_t)j->n_nodes; k-- > 0;) {
    uint32_t n;
    const gemel__ref *inputs = gemel__node_inputs(j->graph, k, &n);
    for (uint32_t i = 0; i < n; i++) {
      struct due *from = &order[inputs[i].node];
      from->at = closed[from->node] && order[k].at < from->at ? order[k].at : from->at;
    }
  }
  qsort(order, j->n_nodes, sizeof *order, by_due);
  gemel__free(closed, j->n_nodes + 1);
  return GEMEL_OK;
}

/* INTO becomes the joint graph with the digest of each value right behind it, as its outputs. */
static gemel_status fill_digests(gemel_graph *into, const gemel__joint *j, const struct due *order,
                                 gemel_error *error) {
  size_t most = 1;
  for (size_t k = 0; k < j->n_nodes; k++) {
    uint32_t n;
    gemel__node_inputs(j->graph, (uint32_t)k, &n);
    most = n > most ? n : most;
  }
  gemel_value *copies = gemel__alloc_array(j->n_nodes + most, sizeof *copies);
  gemel_status status = copies == NULL ? gemel__no_memory(error, "values") : GEMEL_OK;
  for (size_t i = 0; i < j->n_nodes && status == GEMEL_OK; i++) {
    uint32_t k = order[i].node;
    copies[k] = copy_node(into, j->graph, k, copies, copies + j->n_nodes);
    status = has_digest(j, k) ? output_digest(copies[k], k) : gemel_graph_error(into)->status;
  }
  gemel__free(copies, (j->n_nodes + most) * sizeof *copies);
  return status;
}

static double number(const gemel_tensor *scalar) {
  return gemel__decode(gemel_tensor_dtype(scalar), gemel__tensor_element(scalar, 0));
}

static gemel_status call(gemel__candidates *c, const gemel__joint *j, const struct due *order,
                         const gemel_graph *digests, gemel_function *function, size_t run,
                         gemel_tensor *const *values, gemel_error *error) {
  size_t n = gemel_graph_output_count(digests), at = 0;
  gemel_tensor **outputs = gemel__alloc_array(n, sizeof *outputs);
  gemel_status status = outputs == NULL ? gemel__no_memory(error, "values")
                                        : gemel_call(function, gemel_graph_input_count(j->graph),
                                                     values, n, outputs, error);
  for (size_t i = 0; i < j->n_nodes && status == GEMEL_OK; i++) {
    uint32_t k = order[i].node;
    if (has_digest(j, k)) {
      c->of[k].sum[run] = number(outputs[at]);
      c->of[k].scale[run] = sqrt(number(outputs[at + 1]));
      at += 2;
      if (!isfinite(c->of[k].sum[run]) || !isfinite(c->of[k].scale[run])) {
        c->of[k].scale[0] = 0;
      }
    }
  }
  if (outputs != NULL) {
    gemel__tensors_release(n, outputs);
  }
  gemel__free(outputs, n * sizeof *outputs);
  return status;
}

/* Computes the digests of the joint graph's values, at inputs of PAIR; WIDE: in f64. */
static gemel_status call_often(gemel__candidates *c, const gemel__joint *j, const struct due *order,
                               const gemel_graph *digests, int wide, const gemel__pair *pair,
                               gemel__random random, gemel_error *error) {
  static const gemel__fill fills[GEMEL__DIGEST_RUNS] = {GEMEL__FILL_FULL, GEMEL__FILL_INTEGERS};
  gemel_options options = {
      .size = sizeof options, .threads = 1, .as_written = 1, .most_steps = GEMEL__MOST_STEPS};
  gemel_function *function = gemel_compile(digests, &options, error);
  gemel_status status = function == NULL ? GEMEL_DECLINED : GEMEL_OK;
  for (size_t k = 0; k < GEMEL__DIGEST_RUNS && status == GEMEL_OK; k++) {
    gemel_tensor **values = NULL, **taken;
    status = gemel__values_draw(&pair->a, fills[k], &random, &values, error);
    taken =
        status == GEMEL_OK && wide ? gemel__tensors_widen(pair->a.n_leaves, values, error) : values;
    if (status == GEMEL_OK) {
      status = taken != NULL ? call(c, j, order, digests, function, k, taken, error)
                             : gemel__no_memory(error, "values");
    }
    if (taken != values) {
      gemel__values_free(&pair->a, taken);
    }
    gemel__values_free(&pair->a, values);
  }
  gemel_function_free(function);
  return status;
}

/* 1 if results of the two graphs agree, but for more than little rounding, or they are no numbers.
 */
static int has_drifted(const gemel__candidates *c, const gemel__joint *j) {
  for (size_t k = 0; k < j->n_outputs; k++) {
    const gemel__digest *x = &c->of[j->left[k].node], *y = &c->of[j->right[k].node];
    if (x->scale[0] == 0 || y->scale[0] == 0 || distance(x, y) > 0) {
      return 1;
    }
  }
  return 0;
}

/* Computes the digests, of DIGESTS' outputs, in the dtypes that the graphs have, or in f64. */
static gemel_status call_all(gemel__candidates *c, const gemel__joint *j, const struct due *order,
                             const gemel_graph *digests, const gemel__pair *pair,
                             const gemel__random *random, gemel_error *error) {
  gemel_error refused = {GEMEL_OK, 0, 0, ""};
  gemel_status status = call_often(c, j, order, digests, 0, pair, *random, error);
  if (status != GEMEL_OK || !has_drifted(c, j)) {
    return status;
  }
  gemel_graph *wide = gemel__graph_widen(digests, &refused);
  if (wide != NULL) {
    status = call_often(c, j, order, wide, 1, pair, *random, error);
  }
  gemel_graph_unref(wide);
  return refused.status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "values") : status;
}

/* Draws a pair whose symbols have sizes that differ and aren't 0, if the graphs take them. */
static gemel_status draw(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                         gemel__random *random, gemel_error *error) {
  static const int64_t usual[] = {3, 5, 2, 7, 4, 6};
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t sizes[GEMEL__MOST_SYMBOLS];
  size_t n = gemel__pair_symbols(a, names, GEMEL__MOST_SYMBOLS), k;
  for (k = 0; k < n; k++) {
    sizes[k] = usual[k % (sizeof usual / sizeof *usual)];
  }
  return gemel__pair_draw_at(pair, a, b, n, names, sizes, random, NULL) == GEMEL_OK
             ? gemel__pair_find_ranges(pair, gemel__random_bits(random), random, NULL, error)
             : gemel__pair_draw(pair, a, b, random, error);
}

static gemel_status run(gemel__candidates *c, gemel__joint *j, const gemel_graph *a,
                        const gemel_graph *b, gemel__random *random, gemel_error *error) {
  gemel__pair pair;
  gemel_status status = draw(&pair, a, b, random, error);
  status = status ? status : gemel__roots_make_positive(&pair, error);
  gemel_graph *digests = gemel_graph_new(j->graph->context, error);
  struct due *order = gemel__alloc_array(j->n_nodes + 1, sizeof *order);
  if (status == GEMEL_OK) {
    status = digests != NULL && order != NULL ? order_nodes(j, order, error)
                                              : gemel__no_memory(error, "values");
  }
  status = status == GEMEL_OK ? fill_digests(digests, j, order, error) : status;
  if (status == GEMEL_OK) {
    status = call_all(c, j, order, digests, &pair, random, error);
  }
  gemel__free(order, (j->n_nodes + 1) * sizeof *order);
  gemel_graph_unref(digests);
  gemel__pair_clear(&pair);
  return status;
}

/* ---- Looking up ---- */

static int by_sum(const void *x, const void *y) {
  const gemel__digest *a = x, *b = y;
  if (!gemel_type_equal(a->type, b->type)) {
    return a->type.id < b->type.id ? -1 : 1;
  }
  return a->sum[0] < b->sum[0] ? -1 : a->sum[0] > b->sum[0];
}

static void sort(gemel__candidates *c, const gemel__joint *j) {
  for (size_t k = 0; k < j->n_nodes; k++) {
    c->of[k].first = !j->second[k];
    if (c->of[k].scale[0] > 0 && !j->second[k]) {
      c->sorted[c->n_sorted++] = c->of[k];
    }
  }
  qsort(c->sorted, c->n_sorted, sizeof *c->sorted, by_sum);
}

gemel_status gemel__candidates_make(gemel__candidates *c, gemel__joint *joint, const gemel_graph *a,
                                    const gemel_graph *b, gemel__random *random,
                                    gemel_error *error) {
  gemel_status status;
  size_t k;
  memset(c, 0, sizeof *c);
  c->n = joint->n_nodes;
  c->of = gemel__alloc_array(c->n, sizeof *c->of);
  c->sorted = gemel__alloc_array(c->n, sizeof *c->sorted);
  if (c->of == NULL || c->sorted == NULL) {
    gemel__candidates_clear(c);
    return gemel__no_memory(error, "values");
  }
  for (k = 0; k < c->n; k++) {
    c->of[k].node = (uint32_t)k;
    c->of[k].type = has_digest(joint, (uint32_t)k) ? gemel__node_type(joint->graph, (uint32_t)k, 0)
                                                   : GEMEL_TYPE_NONE;
  }
  if (gemel__graph_elements(joint->graph, SYMBOL) > MOST_ELEMENTS) {
    return GEMEL_OK;
  }
  status = run(c, joint, a, b, random, error);
  if (status == GEMEL_NO_MEMORY) {
    gemel__candidates_clear(c);
    return status;
  }
  sort(c, joint);
  return GEMEL_OK;
}

void gemel__candidates_clear(gemel__candidates *c) {
  gemel__free(c->of, c->n * sizeof *c->of);
  gemel__free(c->sorted, c->n * sizeof *c->sorted);
  memset(c, 0, sizeof *c);
}

/* The index of the first digest in SORTED that isn't below LOW. */
static size_t first_from(const gemel__candidates *c, const gemel__digest *low) {
  size_t first = 0, end = c->n_sorted;
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    if (by_sum(&c->sorted[middle], low) < 0) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

/* Candidates for one node, the nearest first. */
struct nearest {
  const gemel__candidates *c;
  const gemel__digest *digest;
  uint32_t *nodes;
  double apart[MOST_SEEN];
  size_t n, room;
};

/* Takes NODE if it is among the nearest so far. Of equal distances the first stays first. */
static void consider(struct nearest *f, uint32_t node) {
  const gemel__digest *other = &f->c->of[node];
  size_t at = f->n, k;
  for (k = 0; k < f->n; k++) {
    if (f->nodes[k] == node) {
      return;
    }
  }
  if (!other->first || gemel__digests_agree(other, f->digest) != 1) {
    return;
  }
  double apart = distance(other, f->digest);
  while (at > 0 && f->apart[at - 1] > apart) {
    at--;
  }
  if (at == f->room) {
    return;
  }
  f->n += f->n < f->room;
  for (k = f->n - 1; k > at; k--) {
    f->apart[k] = f->apart[k - 1];
    f->nodes[k] = f->nodes[k - 1];
  }
  f->apart[at] = apart;
  f->nodes[at] = node;
}

size_t gemel__candidates_for(const gemel__candidates *c, uint32_t node, uint32_t anchor,
                             uint32_t *nodes, size_t room) {
  const gemel__digest *digest = &c->of[node];
  gemel__digest low = *digest;
  struct nearest f = {.c = c, .digest = digest, .nodes = nodes, .room = room};
  if (digest->scale[0] == 0) {
    return 0;
  }
  for (size_t k = anchor + 1; k < c->n && k <= anchor + MOST_SEEN; k++) {
    consider(&f, (uint32_t)k);
  }
  low.sum[0] -= TOLERANCE * low.scale[0];
  size_t first = first_from(c, &low);
  for (size_t k = first; k < c->n_sorted && k < first + MOST_SEEN; k++) {
    consider(&f, c->sorted[k].node);
  }
  return f.n;
}
