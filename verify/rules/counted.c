/* SPDX-License-Identifier: MIT
 *
 * Indices beyond what a narrow dtype holds: f32 ends at 2^24, i32 at 2^31, and no instance has so
 * many elements. Where both sides compute each element from its index alone, an arange may be an
 * input that holds any indices: its elements are compared near the end of each dtype, beside other
 * integers near the same end, as the classes of a one-hot are. Only instances whose rule applies
 * with a symbol for the length are asked, so it holds at any.
 *
 * Sums of integers of one or two bytes, which f32 holds up to 2^24, need fewer elements: there are
 * instances for these.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/apply.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "instances/assumed.h"
#include "ops/ops.h"
#include "pairs/contrast.h"
#include "pairs/flips.h"
#include "rules/judge.h"
#include "rules/report.h"

enum { MOST_NODES = 128, MOST_INPUTS = 32, MOST_LENGTHS = 4 };

/* The lengths of all aranges of both sides; each gets an input. */
struct lengths {
  size_t n;
  gemel_dim dims[MOST_LENGTHS];
};

static gemel_dim length_of(const gemel_graph *graph, uint32_t k) {
  return gemel_type_dims(graph->context, gemel__node_type(graph, k, 0))[0];
}

static size_t find_length(const struct lengths *lengths, gemel_dim dim) {
  size_t k = 0;
  while (k < lengths->n && !gemel_dim_equal(lengths->dims[k], dim)) {
    k++;
  }
  return k;
}

/* 1 if each element of GRAPH's result comes from the elements at one place of each input and
 * arange; the lengths of aranges are added to LENGTHS. */
static int note_lengths(const gemel_graph *graph, struct lengths *lengths) {
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    const gemel__op *op = gemel__node_op(graph, k);
    switch (op->id) {
    case GEMEL__OP_input:
    case GEMEL__OP_constant:
    case GEMEL__OP_broadcast_to:
    case GEMEL__OP_dimshuffle:
    case GEMEL__OP_fill:
      break;
    case GEMEL__OP_arange:
      if (find_length(lengths, length_of(graph, k)) < lengths->n) {
        break;
      }
      if (lengths->n == MOST_LENGTHS) {
        return 0;
      }
      lengths->dims[lengths->n++] = length_of(graph, k);
      break;
    default:
      if (gemel__scalar_row_of(&op->record) == NULL) {
        return 0;
      }
    }
  }
  return graph->n_nodes <= MOST_NODES;
}

static const char *const names[MOST_LENGTHS] = {"index", "index_1", "index_2", "index_3"};

static gemel_value copy_node(const gemel_graph *from, uint32_t k, gemel_graph *into,
                             const struct lengths *lengths, const gemel_value *indices,
                             const gemel_value *map) {
  const gemel_location nowhere = {NULL, 0};
  const gemel__node *node = gemel__node_at(from, k);
  gemel_value inputs[MOST_INPUTS];
  uint32_t count;
  const gemel__ref *refs = gemel__node_inputs(from, k, &count);
  if (node->op == GEMEL__OP_arange) {
    gemel_dtype dtype = gemel_type_dtype(from->context, gemel__node_type(from, k, 0));
    gemel_attr to = gemel_attr_dtype("dtype", dtype);
    gemel_value index = indices[find_length(lengths, length_of(from, k))];
    return dtype == GEMEL_I64 ? index : gemel_apply_at(into, "cast", 1, &index, 1, &to, nowhere);
  }
  if (count > MOST_INPUTS) {
    return (gemel_value){NULL, 0, 0};
  }
  for (uint32_t j = 0; j < count; j++) {
    inputs[j] = map[refs[j].node];
  }
  return gemel__apply(into, node->op, node->attrs, count, inputs, nowhere);
}

/* GRAPH with an input for each of LENGTHS in the place of its aranges. NULL: there is none. */
static gemel_graph *with_indices(const gemel_graph *graph, const struct lengths *lengths,
                                 gemel_error *error) {
  gemel_value map[MOST_NODES], indices[MOST_LENGTHS];
  gemel_graph *into = gemel_graph_new(graph->context, error);
  for (size_t k = 0; into != NULL && k < gemel_graph_input_count(graph); k++) {
    gemel_value input = gemel_graph_input(graph, k);
    map[input.node] =
        gemel__input_like(into, gemel_graph_input_name(graph, k), gemel_value_type(input), input);
  }
  for (size_t k = 0; into != NULL && k < lengths->n; k++) {
    indices[k] = gemel_input(into, names[k],
                             gemel_type_new(graph->context, GEMEL_I64, 1, &lengths->dims[k], 0));
  }
  for (uint32_t k = 0; into != NULL && k < graph->n_nodes; k++) {
    if (gemel__node_at(graph, k)->op != GEMEL__OP_input) {
      map[k] = copy_node(graph, k, into, lengths, indices, map);
    }
  }
  for (size_t k = 0; into != NULL && k < gemel_graph_output_count(graph); k++) {
    gemel_output(map[gemel_graph_output(graph, k).node], gemel_graph_output_name(graph, k));
  }
  if (into != NULL && gemel_graph_error(into)->status != GEMEL_OK) {
    *error = *gemel_graph_error(into);
    gemel_graph_unref(into);
    into = NULL;
  }
  return into;
}

/* Makes PAIR of E's sides. GEMEL_DECLINED: they don't count, or not by each element's index. */
static gemel_status pair_of(const struct gemel__example *e, gemel__random *random,
                            gemel__pair *pair, gemel_error *error) {
  const gemel_graph *left = e->drawn.symbolic_left, *right = e->drawn.symbolic_right;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  struct lengths lengths = {.n = 0};
  if (left == NULL || right == NULL || e->drawn.special != 0 || !note_lengths(left, &lengths) ||
      !note_lengths(right, &lengths) || lengths.n == 0) {
    return GEMEL_DECLINED;
  }
  gemel_graph *a = with_indices(left, &lengths, &problem);
  gemel_graph *b = a != NULL ? with_indices(right, &lengths, &problem) : NULL;
  gemel_status status = b != NULL ? gemel__pair_draw(pair, a, b, random, &problem) : problem.status;
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "an instance")
         : status == GEMEL_OK      ? GEMEL_OK
                                   : GEMEL_DECLINED;
}

/* Puts numbers next to END into integer inputs: all indices, most elements of the others. */
static void plant(const gemel__instance *instance, int64_t end, gemel__random *random,
                  gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    int index = strncmp(gemel_graph_input_name(instance->graph, k), "index", 5) == 0;
    for (size_t i = 0; gemel__is_integer_leaf(leaf) && i < leaf->count; i++) {
      int64_t x = end + gemel__random_between(random, -3, 3);
      if (index || gemel__random_chance(random, 3, 4)) {
        gemel__leaf_put(leaf, gemel__leaf_at(leaf, values[k], i), (long double)x);
      }
    }
  }
}

/* 1 if the difference OUTCOME is of a result that no rounding explains. */
static int counts(const struct gemel__rule_subject *p, const gemel__pair *pair,
                  const gemel__outcome *outcome) {
  gemel_value result = gemel_graph_output(pair->a.graph, outcome->output);
  gemel_context *context = gemel_graph_context(pair->a.graph);
  return outcome->refuted &&
         (p->info->needs == 0 ||
          !gemel__is_float(gemel_type_dtype(context, gemel_value_type(result))));
}

/* Compares PAIR's results at VALUES; WHERE says what these are. */
static gemel_status compare_at(struct gemel__rule_subject *p, gemel__inquiry *q, gemel__pair *pair,
                               gemel_tensor **values, const char *where, gemel__random *random,
                               gemel_error *error) {
  gemel__trial trial = {NULL, random, &pair->b};
  gemel__outcome outcome;
  memset(&outcome, 0, sizeof outcome);
  GEMEL__TRY(gemel__check_contrast(&pair->a, values, &trial, &outcome, error));
  GEMEL__TRY(gemel__rule_excuse(p, pair, values, random, &outcome, error));
  if (counts(p, pair, &outcome)) {
    char place[160];
    q->record.how = GEMEL_EVIDENCE_BITS;
    q->record.detail = where;
    snprintf(place, sizeof place, "result, element %zu", outcome.element);
    gemel__rule_refuted(q, pair, outcome.output, values, place, outcome.expected, outcome.got,
                        q->record.seed);
  }
  return GEMEL_OK;
}

gemel_status gemel__rule_compare_beside(struct gemel__rule_subject *p, gemel__inquiry *q,
                                        gemel__pair *pair, int64_t end, gemel__random *random,
                                        gemel_error *error) {
  gemel_tensor **values;
  GEMEL__TRY(gemel__values_draw(&pair->a, GEMEL__FILL_INTEGERS, random, &values, error));
  plant(&pair->a, end, random, values);
  gemel_status status = compare_at(
      p, q, pair, values, "integers beside the largest that a dtype or an axis has", random, error);
  gemel__values_free(&pair->a, values);
  return status == GEMEL_BAD_VALUE ? GEMEL_OK : status;
}

/* Takes up to 3 from each integer. */
static void lessen(const gemel__instance *instance, gemel__random *random,
                   gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    for (size_t i = 0; gemel__is_integer_leaf(leaf) && i < leaf->count; i++) {
      void *at = gemel__leaf_at(leaf, values[k], i);
      gemel__leaf_put(leaf, at, gemel__leaf_get(leaf, at) - gemel__random_below(random, 4));
    }
  }
}

/* Compares PAIR's results where all integers are about the largest of their dtype, by turns a few
 * of them or all a bit less. */
static gemel_status compare_largest(struct gemel__rule_subject *p, gemel__inquiry *q,
                                    gemel__pair *pair, size_t turn, gemel__random *random,
                                    gemel_error *error) {
  gemel_tensor **values;
  GEMEL__TRY(gemel__values_draw(&pair->a, GEMEL__FILL_INTEGERS, random, &values, error));
  gemel__put_largest(&pair->a, 0, random, values);
  if (turn % 2 != 0) {
    lessen(&pair->a, random, values);
  }
  gemel_status status =
      compare_at(p, q, pair, values, "a sum of integers that 32 bits don't hold", random, error);
  gemel__values_free(&pair->a, values);
  return status == GEMEL_BAD_VALUE ? GEMEL_OK : status;
}

gemel_status gemel__rule_sums(struct gemel__rule_subject *p, gemel__inquiry *q,
                              gemel_error *error) {
  enum { TURNS = 6, POINTS = 2 };
  gemel_status status = GEMEL_OK;
  gemel__random random;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_INTEGER, gemel__aside(GEMEL__ASIDE_SUMS),
                    &random);
  for (size_t k = 0; k < TURNS && status == GEMEL_OK && !q->refuted; k++) {
    struct gemel__example e;
    status = gemel__rule_draw_sum(p, k, &random, &e, error);
    for (size_t j = 0; j < POINTS && status == GEMEL_OK && !q->refuted; j++) {
      status = compare_largest(p, q, &e.pair, j, &random, error);
    }
    gemel__example_clear(&e);
    status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  }
  return status;
}

gemel_status gemel__rule_counted(struct gemel__rule_subject *p, gemel__inquiry *q,
                                 gemel_error *error) {
  static const int64_t ends[] = {127,   255,     257,       2049,       32767,
                                 65535, 1 << 24, INT32_MAX, UINT32_MAX, (int64_t)1 << 33};
  enum { ENDS = sizeof ends / sizeof *ends, ASKED = 6, TIMES = 2 };
  gemel__random random;
  size_t asked = 0;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_INTEGER, gemel__aside(GEMEL__ASIDE_COUNTED),
                    &random);
  for (size_t k = 0; k < p->n && asked < ASKED && !q->refuted; k++) {
    gemel__pair pair;
    gemel_status status = pair_of(&p->examples[k], &random, &pair, error);
    if (status != GEMEL_OK) {
      GEMEL__TRY(status == GEMEL_DECLINED ? GEMEL_OK : status);
      continue;
    }
    asked++;
    for (size_t j = 0; j < TIMES * ENDS && status == GEMEL_OK && !q->refuted; j++) {
      status = gemel__rule_compare_beside(p, q, &pair, ends[j % ENDS], &random, error);
    }
    gemel__pair_clear(&pair);
    GEMEL__TRY(status);
  }
  return GEMEL_OK;
}
