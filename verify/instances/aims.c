/* SPDX-License-Identifier: MIT
 *
 * Finding aims, see aims.h. Each node has a list of numbers that its elements should take. A list
 * starts at an operand of an operation with a constant beside it: that number and its neighbours.
 * It passes from a result to the operands by inverting the operation (inverse.h), from the last
 * node to the first. Nothing here need be exact or complete: a wrong number is just one more
 * sample.
 */
#include "instances/aims.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/rows.h"
#include "reference/twin.h"
#include "rules/term.h"
#include "sample/keys.h"
#include "sample/ordinal.h"
#include "sample/points.h"

enum { MOST_NODES = 400, CONSTANTS = 4 };

struct aim_search {
  const gemel_graph *graph;
  gemel__aim_list *lists;
};

/* Adds X and its neighbours. */
static void add_around(gemel__aim_list *list, gemel_dtype dtype, const gemel__aim_number *x) {
  gemel__aim_add(list, dtype, x);
  if (gemel__is_float(dtype)) {
    double c = x->is_float ? x->real : (double)x->whole;
    if (!isfinite(c)) {
      return;
    }
    gemel__aim_add_real(list, dtype, gemel__ordinal_beside(dtype, c, -1));
    gemel__aim_add_real(list, dtype, gemel__ordinal_beside(dtype, c, 1));
    gemel__aim_add_real(list, dtype, c + 1);
    gemel__aim_add_real(list, dtype, c - 1);
  } else if (!x->is_float) {
    gemel__aim_add_whole(list, dtype, (int64_t)((uint64_t)x->whole + 1));
    gemel__aim_add_whole(list, dtype, (int64_t)((uint64_t)x->whole - 1));
  }
}

/* ---- Constants ---- */

static gemel__aim_number load(const gemel_tensor *tensor, size_t i) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  const char *data = (const char *)gemel_tensor_data(tensor) + i * gemel_dtype_size(dtype);
  gemel__aim_number n = {gemel__is_float(dtype), gemel__dtype_load(dtype, data), 0};
  if (dtype == GEMEL_I64 || dtype == GEMEL_U64) {
    memcpy(&n.whole, data, sizeof n.whole);
  } else if (!n.is_float) {
    n.whole = (int64_t)n.real;
  }
  return n;
}

/* If VALUE is a constant, its first numbers, CONSTANTS of them at most; returns how many, else
 * 0. */
static size_t constants_of(const gemel_graph *graph, gemel__ref value, gemel__aim_number *numbers) {
  size_t k;
  const gemel_tensor *tensor = NULL;
  if (gemel__uniform_constant(graph, value, &tensor)) {
    numbers[0] = load(tensor, 0);
    return 1;
  }
  if (gemel__node_at(graph, value.node)->op != GEMEL__OP_constant) {
    return 0;
  }
  tensor =
      gemel__attrs_at(graph->context, gemel__node_at(graph, value.node)->attrs)->values[0].u.tensor;
  size_t n = (size_t)gemel_tensor_elements(tensor);
  for (k = 0; k < n && k < CONSTANTS; k++) {
    numbers[k] = load(tensor, k);
  }
  return k;
}

/* ---- Through a node ---- */

static gemel__aim_number number_of(gemel_dtype dtype, gemel__aim aim) {
  gemel__aim_number n = {gemel__is_float(dtype), 0, 0};
  if (n.is_float) {
    n.real = aim.real;
  } else {
    n.whole = aim.whole;
  }
  return n;
}

static int is_random(const gemel_graph *graph, uint32_t node) {
  const struct gemel__row *row = gemel__node_op(graph, node)->row;
  return row != NULL && row->family == GEMEL__FAMILY_random;
}

/* The value that NODE, which draws random numbers, has its key of: through parts and other shapes,
 * and through the *DRAWS before this one, each of which adds 1 to the key's count. */
static gemel__ref key_of(const gemel_graph *graph, uint32_t node, uint64_t *draws) {
  uint32_t n;
  gemel__ref key = gemel__node_inputs(graph, node, &n)[0];
  *draws = 0;
  const gemel__ref *in = gemel__node_inputs(graph, key.node, &n);
  while (n > 0 && (!is_random(graph, key.node) || key.output == 1)) {
    *draws += (uint64_t)is_random(graph, key.node);
    key = in[0];
    in = gemel__node_inputs(graph, key.node, &n);
  }
  return key;
}

/* Adds the counts of keys with which NODE, which draws random numbers, draws T. */
static void invert_draw(struct aim_search *s, uint32_t node, const gemel__aim_number *t) {
  gemel__aim_list counts = {0};
  uint64_t draws;
  gemel__ref key = key_of(s->graph, node, &draws);
  gemel__twin_of(gemel__node_at(s->graph, node)->op)->invert(&counts, GEMEL_U64, t, NULL, 0);
  for (size_t k = 0; k < counts.count && gemel__ref_dtype(s->graph, key) == GEMEL_U64; k++) {
    gemel__aim_add_whole(&s->lists[key.node], GEMEL_U64,
                         (int64_t)((uint64_t)counts.at[k].whole - draws));
  }
}

/* Adds what operand K of N should be for NODE to be T. BESIDE is a constant among the other
 * operands. */
static void invert(struct aim_search *s, uint32_t node, const gemel__ref *inputs, uint32_t n,
                   uint32_t k, const gemel__aim_number *t, const gemel__aim_number *beside) {
  gemel__aim_list *list = &s->lists[inputs[k].node];
  gemel_dtype dtype = gemel__ref_dtype(s->graph, inputs[k]);
  gemel__inverse *inverse = gemel__twin_of(gemel__node_at(s->graph, node)->op)->invert;
  if (is_random(s->graph, node)) {
    invert_draw(s, node, t);
  } else if (inverse == gemel__invert_mul && beside == NULL && inputs[0].node == inputs[1].node) {
    gemel__invert_sqr(list, dtype, t, NULL, 0);
  } else if (inverse != NULL && (n == 1 || beside != NULL)) {
    inverse(list, dtype, t, beside, k == 1);
  } else {
    gemel__aim_add(list, dtype, t);
  }
}

static void through_node(struct aim_search *s, uint32_t node) {
  uint32_t n, k, j;
  const gemel__ref *inputs = gemel__node_inputs(s->graph, node, &n);
  const gemel__aim_list *own = &s->lists[node];
  gemel__ref self = {node, 0};
  gemel_dtype dtype =
      gemel__has_output(s->graph, node, 0) ? gemel__ref_dtype(s->graph, self) : GEMEL_DTYPE_COUNT;
  gemel__aim_number numbers[CONSTANTS];
  for (j = 0; j < n; j++) {
    size_t found = n > 1 ? constants_of(s->graph, inputs[j], numbers) : 0;
    for (k = 0; k < n; k++) {
      gemel__aim_list *list = &s->lists[inputs[k].node];
      gemel_dtype to = gemel__ref_dtype(s->graph, inputs[k]);
      for (size_t c = 0; c < found && k != j; c++) {
        add_around(list, to, &numbers[c]);
        for (size_t i = 0; i < own->count; i++) {
          gemel__aim_number t = number_of(dtype, own->at[i]);
          invert(s, node, inputs, n, k, &t, &numbers[c]);
        }
      }
    }
  }
  for (k = 0; k < n && k < 3; k++) {
    for (size_t i = 0; i < own->count; i++) {
      gemel__aim_number t = number_of(dtype, own->at[i]);
      invert(s, node, inputs, n, k, &t, NULL);
    }
  }
}

/* ---- The inputs ---- */

static void take(struct gemel__aims_of *into, const gemel__aim_list *list) {
  for (size_t k = 0; k < list->count && into->count < GEMEL__AIMS; k++) {
    size_t j = 0;
    while (j < into->count && into->at[j].whole != list->at[k].whole) {
      j++;
    }
    if (j == into->count) {
      into->at[into->count++] = list->at[k];
    }
  }
}

/* 1 if VALUE is the key of an operation of random numbers, or keys are parts of it. */
static int is_key(const gemel_graph *graph, gemel_value value) {
  int found = 0;
  uint64_t draws;
  for (uint32_t node = 0; node < graph->n_nodes && !found; node++) {
    found = is_random(graph, node) && key_of(graph, node, &draws).node == value.node;
  }
  return found;
}

static gemel_status aim(const gemel_graph *graph, gemel__aims *aims, gemel_error *error) {
  struct aim_search s = {graph, NULL};
  size_t bytes = graph->n_nodes * sizeof *s.lists;
  if (graph->n_nodes > MOST_NODES || graph->n_nodes == 0) {
    return GEMEL_OK;
  }
  s.lists = gemel__alloc_zeroed(bytes);
  if (s.lists == NULL) {
    return gemel__no_memory(error, "values");
  }
  for (uint32_t node = graph->n_nodes; node-- > 0;) {
    through_node(&s, node);
  }
  for (size_t k = 0; k < aims->n_inputs && k < gemel_graph_input_count(graph); k++) {
    take(&aims->inputs[k], &s.lists[gemel_graph_input(graph, k).node]);
    aims->inputs[k].keys |= aims->inputs[k].count > 0 && is_key(graph, gemel_graph_input(graph, k));
    aims->most = aims->inputs[k].count > aims->most ? aims->inputs[k].count : aims->most;
  }
  gemel__free(s.lists, bytes);
  return GEMEL_OK;
}

gemel_status gemel__aims_of_graphs(const gemel_graph *a, const gemel_graph *b, gemel__aims *aims,
                                   gemel_error *error) {
  memset(aims, 0, sizeof *aims);
  aims->n_inputs = gemel_graph_input_count(a);
  aims->inputs = gemel__alloc_array(aims->n_inputs, sizeof *aims->inputs);
  if (aims->inputs == NULL) {
    aims->n_inputs = 0;
    return gemel__no_memory(error, "values");
  }
  GEMEL__TRY(aim(a, aims, error));
  return b != NULL ? aim(b, aims, error) : GEMEL_OK;
}

void gemel__aims_clear(gemel__aims *aims) {
  gemel__free(aims->inputs, aims->n_inputs * sizeof *aims->inputs);
  memset(aims, 0, sizeof *aims);
}

void gemel__aims_plant(const gemel__aims *aims, size_t round, gemel__random *random,
                       gemel_tensor *const *values) {
  for (size_t k = 0; k < aims->n_inputs; k++) {
    const struct gemel__aims_of *of = &aims->inputs[k];
    gemel_dtype dtype = gemel_tensor_dtype(values[k]);
    size_t n = (size_t)gemel_tensor_elements(values[k]), size = gemel_dtype_size(dtype), next;
    if (of->count == 0) {
      continue;
    }
    next = round % of->count;
    for (size_t i = 0; of->keys && i + 1 < n; i += 2) {
      const int64_t key[2] = {GEMEL__KEY_SEED, of->at[next].whole};
      gemel__points_store(dtype, 2, NULL, key, (char *)gemel_tensor_data(values[k]) + i * size);
    }
    if (of->keys) {
      continue;
    }
    for (size_t i = 0; i < n; i++) {
      char *to = (char *)gemel_tensor_data(values[k]) + i * size;
      if (n > 1 && !gemel__random_chance(random, 1, 2)) {
        continue;
      }
      gemel__points_store(dtype, 1, gemel__is_float(dtype) ? &of->at[next].real : NULL,
                          gemel__is_float(dtype) ? NULL : &of->at[next].whole, to);
      next = (next + 1) % of->count;
    }
  }
}

size_t gemel__aims_rounds(const gemel__aims *aims, const gemel__instance *instance) {
  enum { MOST_ROUNDS = 24 };
  size_t fewest = SIZE_MAX, rounds;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    size_t count = instance->leaves[k].count;
    fewest = count > 0 && count < fewest && aims->inputs[k].count > 0 ? count : fewest;
  }
  rounds = fewest == SIZE_MAX ? 0 : 1 + 2 * aims->most / fewest;
  return rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS;
}
