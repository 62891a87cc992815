/* SPDX-License-Identifier: MIT
 *
 * The order of computation. That of the graph's ids is one; but a node that could overwrite an
 * input which later nodes still read would have to copy it. So each such node in turn is moved
 * behind the last reader of that input, where views of a value read the value, and with it what
 * depends on it; if a reader depends on it, it stays and copies. From then on the readers count as
 * what it depends on. The same goes for a node that makes the next value of a state, which could
 * lie where the state's value does. What is in place then, and that it may be, is decided once more
 * when shapes and memory are planned.
 */
#include "run/schedule.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "ops/ops.h"

enum {
  TRIES = 16, /* nodes that are looked at to overwrite one input, where thousands may ask */
  EFFORT = 64 /* nodes that are passed over by all moves together, for each node of the graph: when
                 these are used up, what would have to be moved copies, so that time stays linear */
};

/* WRITER comes behind the node in whose list this is. */
typedef struct follower {
  uint32_t writer;
  uint32_t next; /* 1 + index; 0 ends the list */
} follower;

typedef struct scheduler {
  const gemel_graph *graph;
  const unsigned char *live;
  uint32_t n;           /* nodes of the graph */
  uint32_t *begin, *to; /* users of node K: TO[BEGIN[K]..BEGIN[K + 1]) */
  size_t n_edges;
  uint32_t *order, *place; /* all nodes, and where each stands among them */
  uint32_t *followers_of;  /* of each node: 1 + the first of FOLLOWERS */
  follower *followers;
  size_t n_followers, follower_capacity;
  uint32_t *mark; /* of each node: a number that belongs to one try */
  uint32_t stamp;
  uint32_t *readers; /* of the value that is tried, views among them */
  uint32_t *moved;
  unsigned char *is_output; /* of the function: its result is not to be overwritten */
  unsigned char *tried;     /* of a node: how many wanted its result; TRIES: no more */
  uint64_t effort;          /* left */
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
         gemel_type_equal(gemel__node_type(graph, node, 0),
                          gemel__node_type(graph, in[k - 1].node, in[k - 1].output));
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
  uint32_t *const arrays[] = {s->order, s->place, s->followers_of, s->mark, s->readers, s->moved};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
    gemel__free(arrays[k], s->n * sizeof *arrays[k]);
  }
  gemel__free(s->begin, ((size_t)s->n + 2) * sizeof *s->begin);
  gemel__free(s->to, s->n_edges * sizeof *s->to);
  gemel__free(s->followers, s->follower_capacity * sizeof *s->followers);
  gemel__free(s->is_output, s->n);
  gemel__free(s->tried, s->n);
}

static int allocate(scheduler *s) {
  uint32_t **const arrays[] = {&s->order, &s->place,   &s->followers_of,
                               &s->mark,  &s->readers, &s->moved};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
    *arrays[k] = gemel__alloc_array(s->n, sizeof **arrays[k]);
    if (*arrays[k] == NULL) {
      return 0;
    }
  }
  s->begin = gemel__alloc_array((size_t)s->n + 2, sizeof *s->begin);
  s->to = gemel__alloc_array(s->n_edges, sizeof *s->to);
  s->is_output = gemel__alloc_array(s->n, 1);
  s->tried = gemel__alloc_array(s->n, 1);
  return s->begin != NULL && s->to != NULL && s->is_output != NULL && s->tried != NULL;
}

/* Lists the users of each node, in the order of their ids. */
static void fill_users(scheduler *s) {
  uint32_t count;
  for (uint32_t node = 0; node < s->n; node++) {
    const gemel__ref *in = gemel__node_inputs(s->graph, node, &count);
    for (uint32_t k = 0; s->live[node] && k < count; k++) {
      s->begin[in[k].node + 2]++;
    }
  }
  for (uint32_t node = 0; node < s->n; node++) {
    s->begin[node + 2] += s->begin[node + 1];
  }
  for (uint32_t node = 0; node < s->n; node++) { /* begin[k + 1] goes from k's start to its end */
    const gemel__ref *in = gemel__node_inputs(s->graph, node, &count);
    for (uint32_t k = 0; s->live[node] && k < count; k++) {
      s->to[s->begin[in[k].node + 1]++] = node;
    }
  }
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
  fill_users(s);
  for (uint32_t node = 0; node < s->n; node++) {
    s->order[node] = s->place[node] = node;
  }
  for (size_t k = 0; k < s->graph->n_outputs; k++) {
    s->is_output[s->graph->outputs[k].node] = 1;
  }
  s->effort = (uint64_t)EFFORT * s->n;
  return GEMEL_OK;
}

/* ---- Moving ---- */

/* Appends the users of FROM but WRITER to READERS, N of them, and marks them. 0: the memory of
 * FROM, the value itself or a VIEW of it, is needed behind WRITER. */
static int add_readers(scheduler *s, uint32_t from, int view, uint32_t writer, uint32_t *n) {
  for (uint32_t e = s->begin[from]; e < s->begin[from + 1]; e++) {
    uint32_t reader = s->to[e];
    if (reader == writer && view) {
      return 0; /* it reads a view of what it would overwrite */
    }
    if (reader != writer && s->mark[reader] != s->stamp) {
      s->mark[reader] = s->stamp;
      s->readers[(*n)++] = reader;
    }
  }
  return !s->is_output[from];
}

/* Lists in READERS the nodes that read NODE and views of it, but for WRITER. 0: NODE's memory is
 * needed behind WRITER. */
static int find_readers(scheduler *s, uint32_t node, uint32_t writer, uint32_t *n) {
  s->stamp += 2;
  *n = 0;
  int free = add_readers(s, node, 0, writer, n);
  for (uint32_t k = 0; k < *n && free; k++) {
    free = gemel__node_op(s->graph, s->readers[k])->record.view == NULL ||
           add_readers(s, s->readers[k], 1, writer, n);
  }
  return free;
}

/* Marks NODE as one that depends on the writer; 0 if it is one of the readers. */
static int reach(scheduler *s, uint32_t node) {
  int is_reader = s->mark[node] == s->stamp;
  s->mark[node] = s->stamp + 1;
  return !is_reader;
}

/* Marks what depends on WRITER among the nodes up to place LAST. 0 if a reader does. */
static int mark_dependent(scheduler *s, uint32_t writer, uint32_t last) {
  int free = reach(s, writer);
  for (uint32_t at = s->place[writer]; at <= last && free; at++) {
    uint32_t node = s->order[at];
    if (s->mark[node] != s->stamp + 1) {
      continue;
    }
    for (uint32_t e = s->begin[node]; e < s->begin[node + 1]; e++) {
      free &= reach(s, s->to[e]);
    }
    for (uint32_t k = s->followers_of[node]; k != 0; k = s->followers[k - 1].next) {
      free &= reach(s, s->followers[k - 1].writer);
    }
  }
  return free;
}

/* Moves what was marked behind place LAST; in both parts the order stays. */
static void move_dependent(scheduler *s, uint32_t writer, uint32_t last) {
  uint32_t n = 0, to = s->place[writer];
  for (uint32_t at = to; at <= last; at++) {
    uint32_t node = s->order[at];
    if (s->mark[node] == s->stamp + 1) {
      s->moved[n++] = node;
    } else {
      s->order[to++] = node;
    }
  }
  memcpy(s->order + to, s->moved, n * sizeof *s->moved);
  for (uint32_t at = s->place[writer]; at <= last; at++) {
    s->place[s->order[at]] = at;
  }
}

/* From now on WRITER comes behind the first N of READERS. */
static gemel_status follow(scheduler *s, uint32_t writer, size_t n) {
  if (gemel__grow(&s->followers, &s->follower_capacity, s->n_followers + n, sizeof *s->followers) !=
      0) {
    return GEMEL_NO_MEMORY;
  }
  for (size_t k = 0; k < n; k++) {
    uint32_t *first = &s->followers_of[s->readers[k]];
    s->followers[s->n_followers++] = (follower){writer, *first};
    *first = (uint32_t)s->n_followers;
  }
  return GEMEL_OK;
}

/* Has WRITER come behind the other readers of NODE. GEMEL_DECLINED: it can't. */
static gemel_status readers_first(scheduler *s, uint32_t node, uint32_t writer) {
  uint32_t first = s->place[writer], last = first, n;
  if (!find_readers(s, node, writer, &n)) {
    return GEMEL_DECLINED;
  }
  for (uint32_t k = 0; k < n; k++) {
    last = s->place[s->readers[k]] > last ? s->place[s->readers[k]] : last;
  }
  if (last - first > s->effort) {
    return GEMEL_DECLINED;
  }
  s->effort -= last - first;
  if (last > first) {
    if (!mark_dependent(s, writer, last)) {
      return GEMEL_DECLINED;
    }
    move_dependent(s, writer, last);
  }
  return follow(s, writer, n);
}

/* ---- Candidates ---- */

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
  gemel_status status = s->tried[from] == TRIES ? GEMEL_DECLINED : readers_first(s, from, node);
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
    for (uint32_t k = 0, at = 0; k < s.n && status == GEMEL_OK; k++) {
      if (live[s.order[k]]) {
        order[at++] = s.order[k];
      }
    }
    release(&s);
  }
  if (in_place != NULL) {
    *in_place = s.in_place;
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a schedule") : status;
}
