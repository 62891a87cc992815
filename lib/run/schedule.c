/* SPDX-License-Identifier: MIT
 *
 * The order of computation. That of the graph's ids is one; but a node that could overwrite an
 * input which later nodes still read would have to copy it. So for each such node in turn, "every
 * other reader first" is added to the order as constraints, where views of a value read the value;
 * if they would make a circle, the node copies. The same goes for a node that makes the next value
 * of a state, which could lie where the state's value does. What is in place then, and that it may
 * be, is decided once more when shapes and memory are planned.
 */
#include "run/schedule.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "ops/ops.h"
#include "run/order.h"

/* Nodes that are looked at to overwrite one input, so that the work stays linear where thousands
 * could and none may. */
enum { TRIES = 16 };

typedef struct scheduler {
  const gemel_graph *graph;
  const unsigned char *live;
  uint32_t n;         /* nodes of the graph */
  uint32_t *begin[2]; /* of the edges to users, and to inputs */
  uint32_t *to[2];
  size_t n_edges;
  unsigned char *is_output; /* of the function: its result is not to be overwritten */
  unsigned char *tried;     /* of a node: how many wanted its result; TRIES: no more */
  uint32_t *stack;          /* views of a value that are still to be looked at */
  gemel__order *dynamic;
  size_t in_place;
} scheduler;

/* 1 + the input that NODE may overwrite; 0: none. */
static int overwrites(const gemel_graph *graph, uint32_t node) {
  const gemel_operation *record = &gemel__node_op(graph, node)->record;
  return record->view == NULL ? record->overwrites : 0;
}

/* 1 if something could be gained for NODE: it may overwrite an input that is computed. */
static int is_candidate(const gemel_graph *graph, uint32_t node) {
  uint32_t count, k = (uint32_t)overwrites(graph, node);
  const gemel__ref *in = gemel__node_inputs(graph, node, &count);
  if (k == 0 || k > count) {
    return 0;
  }
  const gemel_operation *maker = &gemel__node_op(graph, in[k - 1].node)->record;
  return !(maker->flags & GEMEL_OP_SOURCE) && maker->view == NULL &&
         gemel__node_type(graph, node, 0) ==
             gemel__node_type(graph, in[k - 1].node, in[k - 1].output);
}

static int any_candidate(const gemel_graph *graph, const unsigned char *live) {
  for (size_t k = 0; k < graph->n_outputs; k++) {
    if (gemel__state_called(graph, graph->output_names[k]) >= 0) {
      return 1;
    }
  }
  for (uint32_t node = 0; node < graph->n_nodes; node++) {
    if (live[node] && overwrites(graph, node) && is_candidate(graph, node)) {
      return 1;
    }
  }
  return 0;
}

/* ---- Edges ---- */

static void release(scheduler *s) {
  for (int k = 0; k < 2; k++) {
    gemel__free(s->begin[k], ((size_t)s->n + 1) * sizeof *s->begin[k]);
    gemel__free(s->to[k], s->n_edges * sizeof *s->to[k]);
  }
  gemel__free(s->is_output, s->n);
  gemel__free(s->tried, s->n);
  gemel__free(s->stack, s->n * sizeof *s->stack);
  gemel__order_free(s->dynamic);
}

static int allocate(scheduler *s) {
  for (int k = 0; k < 2; k++) {
    s->begin[k] = gemel__alloc_array((size_t)s->n + 1, sizeof *s->begin[k]);
    s->to[k] = gemel__alloc_array(s->n_edges, sizeof *s->to[k]);
    if (s->begin[k] == NULL || s->to[k] == NULL) {
      return 0;
    }
  }
  s->is_output = gemel__alloc_array(s->n, 1);
  s->tried = gemel__alloc_array(s->n, 1);
  s->stack = gemel__alloc_array(s->n, sizeof *s->stack);
  return s->is_output != NULL && s->tried != NULL && s->stack != NULL;
}

/* Edges of live nodes, in both directions; users stand in the order of their ids. */
static void fill_edges(scheduler *s) {
  uint32_t count, at = 0;
  for (uint32_t node = 0; node < s->n; node++) {
    const gemel__ref *in = gemel__node_inputs(s->graph, node, &count);
    s->begin[1][node] = at;
    for (uint32_t k = 0; s->live[node] && k < count; k++) {
      s->to[1][at++] = in[k].node;
      s->begin[0][in[k].node + 1]++;
    }
  }
  s->begin[1][s->n] = at;
  for (uint32_t node = 0; node < s->n; node++) {
    s->begin[0][node + 1] += s->begin[0][node];
  }
  for (uint32_t node = s->n; node-- > 0;) { /* begin[0][k] goes from the end of k's to its start */
    for (uint32_t e = s->begin[1][node + 1]; e-- > s->begin[1][node];) {
      s->to[0][--s->begin[0][s->to[1][e] + 1]] = node;
    }
  }
}

/* Now begin[0][k + 1] is where k's edges start: one place too far. */
static void shift_begins(scheduler *s) {
  memmove(s->begin[0], s->begin[0] + 1, (size_t)s->n * sizeof *s->begin[0]);
  s->begin[0][s->n] = s->begin[1][s->n];
}

static gemel_status start(scheduler *s, gemel_error *error) {
  uint32_t count;
  for (uint32_t node = 0; node < s->n; node++) {
    (void)gemel__node_inputs(s->graph, node, &count);
    s->n_edges += s->live[node] ? count : 0;
  }
  if (!allocate(s)) {
    return gemel__no_memory(error, "a schedule");
  }
  fill_edges(s);
  shift_begins(s);
  for (size_t k = 0; k < s->graph->n_outputs; k++) {
    s->is_output[s->graph->outputs[k].node] = 1;
  }
  s->dynamic = gemel__order_new(s->n, (gemel__edges){s->begin[0], s->to[0]},
                                (gemel__edges){s->begin[1], s->to[1]});
  return s->dynamic != NULL ? GEMEL_OK : gemel__no_memory(error, "a schedule");
}

/* ---- Candidates ---- */

/* Adds "before WRITER" for each reader of NODE and of views of it, and counts them in *ADDED.
 * GEMEL_DECLINED: the node's memory is needed behind WRITER. */
static gemel_status readers_first(scheduler *s, uint32_t node, uint32_t writer, uint32_t *added) {
  gemel_status status = GEMEL_OK;
  uint32_t depth = 0;
  s->stack[depth++] = node;
  while (depth > 0 && status == GEMEL_OK) {
    uint32_t from = s->stack[--depth];
    if (s->is_output[from]) {
      return GEMEL_DECLINED;
    }
    /* those that were built last are the likeliest to need WRITER's result */
    for (uint32_t e = s->begin[0][from + 1]; e-- > s->begin[0][from] && status == GEMEL_OK;) {
      uint32_t reader = s->to[0][e];
      if (reader == writer && from != node) {
        return GEMEL_DECLINED; /* it reads a view of what it would overwrite */
      }
      if (reader == writer) {
        continue;
      }
      status = gemel__order_add(s->dynamic, reader, writer);
      *added += status == GEMEL_OK;
      if (gemel__node_op(s->graph, reader)->record.view != NULL) {
        s->stack[depth++] = reader;
      }
    }
  }
  return status;
}

/* 1 if the refs of WRITER name NODE more than once. */
static int reads_twice(const gemel_graph *graph, uint32_t writer, uint32_t node) {
  uint32_t count, times = 0;
  const gemel__ref *in = gemel__node_inputs(graph, writer, &count);
  for (uint32_t k = 0; k < count; k++) {
    times += in[k].node == node;
  }
  return times > 1;
}

/* Has NODE come behind the other readers of FROM, in whose memory it could be, if that goes. */
static gemel_status try_over(scheduler *s, uint32_t node, uint32_t from) {
  uint32_t added = 0;
  gemel_status status =
      s->tried[from] == TRIES ? GEMEL_DECLINED : readers_first(s, from, node, &added);
  if (status != GEMEL_OK) {
    gemel__order_drop(s->dynamic, added);
  }
  s->tried[from] = status == GEMEL_OK ? TRIES : s->tried[from] + (s->tried[from] < TRIES);
  s->in_place += status == GEMEL_OK;
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

static gemel_status try_candidate(scheduler *s, uint32_t node) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(s->graph, node, &count);
  uint32_t from = in[overwrites(s->graph, node) - 1].node;
  return s->is_output[node] || reads_twice(s->graph, node, from) ? GEMEL_OK
                                                                 : try_over(s, node, from);
}

/* Output K, if it is the update of a state. It may read the state where it overwrites it, element
 * by element or as its record says. */
static gemel_status try_update(scheduler *s, size_t k) {
  const gemel_graph *graph = s->graph;
  long state = gemel__state_called(graph, graph->output_names[k]);
  uint32_t node = graph->outputs[k].node, from, count, own;
  if (state < 0) {
    return GEMEL_OK;
  }
  const gemel_operation *record = &gemel__node_op(graph, node)->record;
  const gemel__ref *in = gemel__node_inputs(graph, node, &count);
  from = graph->inputs[state].node;
  own = (uint32_t)overwrites(graph, node);
  for (uint32_t j = 0; j < count; j++) {
    if (in[j].node == from && gemel__scalar_row_of(record) == NULL &&
        (own != j + 1 || reads_twice(graph, node, from))) {
      return GEMEL_OK;
    }
  }
  return node == from || record->view != NULL ? GEMEL_OK : try_over(s, node, from);
}

/* ---- The schedule ---- */

static void by_id(const gemel_graph *graph, const unsigned char *live, uint32_t *order) {
  for (uint32_t node = 0, at = 0; node < graph->n_nodes; node++) {
    if (live[node]) {
      order[at++] = node;
    }
  }
}

gemel_status gemel__schedule(const gemel_graph *graph, const unsigned char *live, uint32_t *order,
                             size_t *in_place, gemel_error *error) {
  scheduler s = {.graph = graph, .live = live, .n = (uint32_t)graph->n_nodes};
  gemel_status status = GEMEL_OK;
  if (!any_candidate(graph, live)) {
    by_id(graph, live, order);
  } else {
    status = start(&s, error);
    for (uint32_t node = 0; node < s.n && status == GEMEL_OK; node++) {
      if (live[node] && is_candidate(graph, node)) {
        status = try_candidate(&s, node);
      }
    }
    for (size_t k = 0; k < graph->n_outputs && status == GEMEL_OK; k++) {
      status = try_update(&s, k);
    }
    for (uint32_t node = status == GEMEL_OK ? gemel__order_first(s.dynamic) : s.n, at = 0;
         node != s.n; node = gemel__order_next(s.dynamic, node)) {
      if (live[node]) {
        order[at++] = node;
      }
    }
    release(&s);
  }
  if (in_place != NULL) {
    *in_place = s.in_place;
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a schedule") : status;
}
