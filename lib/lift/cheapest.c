/* SPDX-License-Identifier: MIT
 *
 * The cheapest places, exactly: a minimum cut (cut.c). The device is the source's side, the host
 * the sink's; what is free is a point. A node's cost on the host is paid when its point is not on
 * the source's side, that on the device when it is. A value that several nodes read crosses once
 * each way: so it has two points more, "it is on the device", on the source's side as soon as one
 * reader is, which costs a transfer if the node that makes it isn't; and likewise "it is on the
 * host". (A backward sweep, from the outputs, that pulls in islands whose move pays, looks for the
 * same and can miss it where several islands pay only together.)
 */
#include "core/alloc.h"
#include "core/error.h"
#include "core/cut.h"
#include "lift/lift.h"

/* Of a cut. Graphs of training steps take up to 14, of a thousand nodes as of a million (`gemel
 * bench optimizer`, for batches of 16 to 256 rows and layers of 32 to 1024 columns). */
enum { MOST_PHASES = 64 };

/* In picoseconds: a day. */
#define MOST_SAVED INT64_C(86400000000000000)

enum { ON_HOST = 1, ON_DEVICE = 2 }; /* where readers that aren't free read a value */

/* A value that is made on the host or the device, or is free. */
typedef struct lift_value {
  uint32_t free;       /* free nodes that read it */
  uint32_t last;       /* of them, + 1 */
  uint32_t point;      /* where FREE > 1: "it is on the device"; the next: "it is on the host" */
  unsigned char fixed; /* ON_…: other readers */
} lift_value;

typedef struct cheapest {
  gemel__lifting *l;
  const gemel_graph *from;
  uint32_t *first;  /* by node: its first value */
  gemel__ref *root; /* by node: of transfers that are put in anew, and of views, what they stand
                      for, else itself */
  lift_value *values;
  size_t n_values;
  uint32_t *points;        /* by node that is free */
  gemel__lift_cost *costs; /* by node: to compute it */
  int64_t *saved;          /* by node that is free: what is saved if it is on the device */
  gemel__lift_meter meter;
  gemel__cut cut;
} cheapest;

/* ---- Values and their readers ---- */

static int is_on_a_side(gemel__lift_place place) {
  return place == GEMEL__LIFT_HOST || place == GEMEL__LIFT_DEVICE || place == GEMEL__LIFT_FREE;
}

static gemel__lift_place place_of(const cheapest *c, uint32_t node) {
  return (gemel__lift_place)c->l->places[node];
}

/* What REF stands for, itself if its node isn't looked through; NULL if its crossing costs nothing,
 * or it can't. */
static lift_value *value_of(const cheapest *c, gemel__ref ref, gemel__ref *root) {
  *root = c->root[ref.node];
  root->output = root->node == ref.node ? ref.output : root->output;
  return is_on_a_side(place_of(c, root->node)) ? &c->values[c->first[root->node] + root->output]
                                               : NULL;
}

static unsigned side_of(gemel__lift_place place) {
  return place == GEMEL__LIFT_HOST ? ON_HOST : place == GEMEL__LIFT_DEVICE ? ON_DEVICE : 0;
}

static void find_roots(cheapest *c) {
  for (uint32_t node = 0; node < c->from->n_nodes; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(c->from, node, &count);
    int same = place_of(c, node) == GEMEL__LIFT_SAME ||
               (place_of(c, node) == GEMEL__LIFT_BOTH && count > 0);
    c->root[node] = (gemel__ref){node, 0};
    if (same) {
      gemel__ref root;
      value_of(c, in[0], &root);
      c->root[node] = root;
    }
  }
}

/* Notes that NODE, which is on a side or free, reads REF, as a size or not. */
static void note_reader(const cheapest *c, uint32_t node, gemel__ref ref, int is_size) {
  gemel__ref root;
  lift_value *v = value_of(c, ref, &root);
  if (v == NULL) {
    return;
  }
  if (place_of(c, node) != GEMEL__LIFT_FREE || is_size) {
    v->fixed |= (unsigned char)(is_size ? ON_HOST : side_of(place_of(c, node)));
  } else if (v->last != node + 1) {
    v->free++;
    v->last = node + 1;
  }
}

static void find_readers(cheapest *c) {
  for (uint32_t node = 0; node < c->from->n_nodes; node++) {
    uint32_t count, n = gemel__lift_operands(c->from, node);
    const gemel__ref *in = gemel__node_inputs(c->from, node, &count);
    for (uint32_t k = 0; k < count && place_of(c, node) != GEMEL__LIFT_UNUSED; k++) {
      if (k >= n || is_on_a_side(place_of(c, node))) {
        note_reader(c, node, in[k], k >= n);
      }
    }
  }
  for (size_t k = 0; k < c->from->n_outputs; k++) {
    gemel__ref root, output = c->from->outputs[k];
    lift_value *v = value_of(c, output, &root);
    if (v != NULL) {
      v->fixed |= gemel__lift_output_there(c->l, k) ? ON_DEVICE : ON_HOST;
    }
  }
}

/* ---- Costs ---- */

static gemel_status find_costs(cheapest *c) {
  for (uint32_t node = 0; node < c->from->n_nodes; node++) {
    if (place_of(c, node) == GEMEL__LIFT_FREE || gemel__lift_is_told(c->l, node)) {
      GEMEL__TRY(gemel__lift_node_cost(&c->meter, c->from, node, &c->costs[node], c->l->error));
    }
  }
  return GEMEL_OK;
}

static int64_t crossing_of(const cheapest *c, gemel__ref value) {
  return gemel__lift_transfer_cost(c->from->context,
                                   gemel__node_type(c->from, value.node, value.output));
}

/* Where each value is read, in `last`, when all is placed. */
static void find_reads(cheapest *c) {
  for (size_t k = 0; k < c->n_values; k++) {
    c->values[k].last = c->values[k].fixed;
  }
  for (uint32_t node = 0; node < c->from->n_nodes; node++) {
    uint32_t count, n = gemel__lift_operands(c->from, node);
    const gemel__ref *in = gemel__node_inputs(c->from, node, &count);
    unsigned side = side_of(place_of(c, node));
    for (uint32_t k = 0; k < n && side != 0; k++) {
      gemel__ref root;
      lift_value *v = value_of(c, in[k], &root);
      if (v != NULL) {
        v->last |= side;
      }
    }
  }
}

/* What a call takes, when all is placed. */
static double total(cheapest *c) {
  double sum = 0;
  find_reads(c);
  for (uint32_t node = 0; node < c->from->n_nodes; node++) {
    unsigned side = side_of(place_of(c, node));
    sum += (double)(side == ON_DEVICE ? c->costs[node].device : c->costs[node].host);
    for (uint32_t k = c->first[node]; k < c->first[node + 1] && side != 0; k++) {
      sum += c->values[k].last & ~side
                 ? (double)crossing_of(c, (gemel__ref){node, k - c->first[node]})
                 : 0;
    }
  }
  return sum;
}

/* ---- The cut ---- */

/* Points of free nodes, and of values that several of them read. */
static uint32_t number_points(cheapest *c) {
  uint32_t n = GEMEL__CUT_POINTS;
  for (uint32_t node = 0; node < c->from->n_nodes; node++) {
    c->points[node] = place_of(c, node) == GEMEL__LIFT_FREE ? n++ : 0;
  }
  for (size_t k = 0; k < c->n_values; k++) {
    int shared = c->values[k].free > 1;
    c->values[k].point = shared ? n : 0;
    n += shared ? 2 : 0;
  }
  return n;
}

/* It costs PRICE if POINT is on the device and OTHER isn't. */
static gemel_status pay(cheapest *c, uint32_t point, uint32_t other, int64_t price) {
  return gemel__cut_add(&c->cut, point, other, price, 0, c->l->error);
}

/* AMOUNT more is saved if NODE is on the device; a day at most, so that nothing overflows. */
static void save(cheapest *c, uint32_t node, int64_t amount) {
  int64_t sum = c->saved[node] + amount;
  c->saved[node] = sum > MOST_SAVED ? MOST_SAVED : sum < -MOST_SAVED ? -MOST_SAVED : sum;
}

/* What it costs that VALUE crosses, apart from who reads it. Readers that aren't free are where
 * they are: then it depends on the node that makes it alone. */
static gemel_status add_value(cheapest *c, gemel__ref value, const lift_value *v) {
  gemel__lift_place place = place_of(c, value.node);
  uint32_t maker = place == GEMEL__LIFT_FREE     ? c->points[value.node]
                   : place == GEMEL__LIFT_DEVICE ? GEMEL__CUT_SOURCE
                                                 : GEMEL__CUT_SINK;
  if (v->free == 0 && v->fixed == 0) {
    return GEMEL_OK;
  }
  int64_t price = crossing_of(c, value);
  save(c, value.node, v->fixed & ON_DEVICE ? price : 0);
  save(c, value.node, v->fixed & ON_HOST ? -price : 0);
  if (v->point != 0 && !(v->fixed & ON_DEVICE)) {
    GEMEL__TRY(pay(c, v->point, maker, price));
  }
  if (v->point != 0 && !(v->fixed & ON_HOST)) {
    GEMEL__TRY(pay(c, maker, v->point + 1, price));
  }
  return GEMEL_OK;
}

/* What it costs that NODE, which is free, reads REF. */
static gemel_status add_reader(cheapest *c, uint32_t node, gemel__ref ref) {
  gemel__ref root;
  const lift_value *v = value_of(c, ref, &root);
  uint32_t reader = c->points[node];
  if (v == NULL) {
    return GEMEL_OK;
  }
  int up = !(v->fixed & ON_DEVICE), down = !(v->fixed & ON_HOST);
  if (v->point != 0) {
    gemel_status status = up ? pay(c, reader, v->point, GEMEL__CUT_NEVER) : GEMEL_OK;
    return status == GEMEL_OK && down ? pay(c, v->point + 1, reader, GEMEL__CUT_NEVER) : status;
  }
  int64_t price = crossing_of(c, root);
  gemel__lift_place place = place_of(c, root.node);
  if (place == GEMEL__LIFT_FREE) {
    return root.node == node ? GEMEL_OK
                             : gemel__cut_add(&c->cut, reader, c->points[root.node], up ? price : 0,
                                              down ? price : 0, c->l->error);
  }
  save(c, node, place == GEMEL__LIFT_HOST && up ? -price : 0);
  save(c, node, place == GEMEL__LIFT_DEVICE && down ? price : 0);
  return GEMEL_OK;
}

/* Edges of the operands of NODE, which is free; an operand that stands there twice is one. */
static gemel_status add_operands(cheapest *c, uint32_t node) {
  uint32_t count, n = gemel__lift_operands(c->from, node);
  const gemel__ref *in = gemel__node_inputs(c->from, node, &count);
  for (uint32_t k = 0; k < n; k++) {
    gemel__ref root;
    lift_value *v = value_of(c, in[k], &root);
    if (v != NULL && v->last != node + 1) {
      v->last = node + 1;
      GEMEL__TRY(add_reader(c, node, in[k]));
    }
  }
  return GEMEL_OK;
}

/* Edges of NODE's cost on the one side and the other, as far as they differ. */
static gemel_status add_ends(cheapest *c, uint32_t node) {
  save(c, node, c->costs[node].host - c->costs[node].device);
  int64_t saved = c->saved[node];
  return saved > 0   ? pay(c, GEMEL__CUT_SOURCE, c->points[node], saved)
         : saved < 0 ? pay(c, c->points[node], GEMEL__CUT_SINK, -saved)
                     : GEMEL_OK;
}

static gemel_status add_edges(cheapest *c) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < c->n_values; k++) {
    c->values[k].last = 0;
  }
  for (uint32_t node = 0; node < c->from->n_nodes && status == GEMEL_OK; node++) {
    for (uint32_t k = c->first[node]; k < c->first[node + 1] && status == GEMEL_OK; k++) {
      status = is_on_a_side(place_of(c, node))
                   ? add_value(c, (gemel__ref){node, k - c->first[node]}, &c->values[k])
                   : GEMEL_OK;
    }
    status = status == GEMEL_OK && c->points[node] != 0 ? add_operands(c, node) : status;
  }
  for (uint32_t node = 0; node < c->from->n_nodes && status == GEMEL_OK; node++) {
    status = c->points[node] != 0 ? add_ends(c, node) : GEMEL_OK;
  }
  return status;
}

/* ---- Places ---- */

static gemel_status allocate(cheapest *c) {
  size_t n = c->from->n_nodes;
  c->first = gemel__alloc_array(n + 1, sizeof *c->first);
  c->root = gemel__alloc_array(n, sizeof *c->root);
  c->points = gemel__alloc_array(n, sizeof *c->points);
  c->costs = gemel__alloc_array(n, sizeof *c->costs);
  c->saved = gemel__alloc_array(n, sizeof *c->saved);
  if (c->first == NULL || c->root == NULL || c->points == NULL || c->costs == NULL ||
      c->saved == NULL) {
    return gemel__no_memory(c->l->error, "a lift");
  }
  for (size_t k = 0; k < n; k++) {
    c->first[k + 1] = c->first[k] + c->from->nodes[k].n_outputs;
  }
  c->n_values = c->first[n];
  c->values = gemel__alloc_array(c->n_values, sizeof *c->values);
  return c->values != NULL ? GEMEL_OK : gemel__no_memory(c->l->error, "a lift");
}

static void clear(cheapest *c) {
  size_t n = c->from->n_nodes;
  gemel__free(c->first, (n + 1) * sizeof *c->first);
  gemel__free(c->root, n * sizeof *c->root);
  gemel__free(c->points, n * sizeof *c->points);
  gemel__free(c->costs, n * sizeof *c->costs);
  gemel__free(c->saved, n * sizeof *c->saved);
  gemel__free(c->values, c->n_values * sizeof *c->values);
  gemel__lift_meter_clear(&c->meter);
  gemel__cut_clear(&c->cut);
}

/* What is free goes where the cut has it. */
static void settle(cheapest *c) {
  for (uint32_t node = 0; node < c->from->n_nodes; node++) {
    if (c->points[node] != 0) {
      int there = gemel__cut_has(&c->cut, c->points[node]);
      c->l->places[node] = there ? GEMEL__LIFT_DEVICE : GEMEL__LIFT_HOST;
      c->l->reasons[node] = GEMEL_LIFT_CHEAPER;
    }
  }
}

static gemel_status place_all(cheapest *c) {
  GEMEL__TRY(gemel__cut_start(&c->cut, number_points(c), c->l->error));
  GEMEL__TRY(add_edges(c));
  c->l->counts.excess = 1e-12 * (double)gemel__cut_find(&c->cut, MOST_PHASES);
  settle(c);
  c->l->counts.seconds = 1e-12 * total(c);
  return GEMEL_OK;
}

gemel_status gemel__lift_cheaply(gemel__lifting *l) {
  cheapest c = {.l = l, .from = l->from};
  gemel_status status = allocate(&c);
  if (status == GEMEL_OK) {
    find_roots(&c);
    find_readers(&c);
    status = find_costs(&c);
  }
  status = status ? status : place_all(&c);
  clear(&c);
  return status;
}
