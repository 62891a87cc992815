/* SPDX-License-Identifier: MIT
 *
 * Finds where two graphs part at a witness, an input at which their results differ.
 *
 * Both graphs are evaluated in domain O at the witness with every node an output. Two values match
 * if they have the same shape and dtype and domain O tells none of their elements apart. A graph
 * parts from the other at the first node that has no match although all its inputs have one:
 * gemel__align names that node.
 *
 * gemel__part makes a smaller pair of what differs. It starts at an output that differs. While both
 * graphs apply the same operation there, and exactly one pair of operands differs, it goes on to
 * those operands: they are what the smaller graphs return. Values that both graphs have become
 * inputs of the smaller graphs, with their values at the witness, rounded to their dtypes. The
 * smaller pair is kept if domain O refutes it at these inputs.
 */
#include "pairs/align.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/graph.h"
#include "domains/ordered.h"
#include "instances/rebuild.h"
#include "sample/points.h"
#include "tiers/tiers.h"

enum { MAX_NODES = 1000, ROUNDS = 16 };

struct traced {
  const gemel__instance *instance;
  gemel__instance all; /* the same graph with every value an output */
  gemel__rtensor *results;
  size_t n;
  gemel_value *outputs; /* the graph's outputs, as values of ALL */
  size_t n_outputs;
  size_t *same;           /* for each value 1 + the value of the first graph that it equals, or 0 */
  unsigned char *matched; /* a byte a value: it has a match */
  unsigned char *closed;  /* a byte a value: depends on no input */
};

/* A copy of the graph of INSTANCE in which every live node's output 0 is an output. ROOM has room
 * for its inputs and outputs, and gets them as values of the copy. NULL if there are too many. */
static gemel_graph *expose(const gemel__instance *instance, gemel_value *room, gemel_error *error) {
  gemel_graph *copy = gemel_graph_new(gemel_graph_context(instance->graph), error);
  size_t n_in = instance->n_leaves, k;
  int good = copy != NULL;
  for (k = 0; k < n_in && good; k++) {
    gemel_value input = gemel_graph_input(instance->graph, k);
    room[k] = gemel__input_like(copy, gemel_graph_input_name(instance->graph, k),
                                gemel_value_type(input), input);
  }
  good = good && gemel__graph_inline(copy, instance->graph, room, room + n_in, error) == GEMEL_OK &&
         gemel_graph_node_count(copy) <= MAX_NODES;
  for (k = 0; good && k < gemel_graph_node_count(copy); k++) {
    char label[32];
    gemel__ref ref = {(uint32_t)k, 0};
    snprintf(label, sizeof label, "value_%zu", k);
    good = gemel_output(gemel__value(copy, ref), label) == GEMEL_OK;
  }
  if (!good) {
    gemel_graph_unref(copy);
    return NULL;
  }
  return copy;
}

int gemel__expose(const gemel__instance *instance, gemel__instance *all, gemel_value **outputs) {
  size_t n_in = instance->n_leaves, n_out = gemel_graph_output_count(instance->graph);
  gemel_value *room = gemel__alloc_array(n_in + n_out, sizeof *room);
  gemel_error error;
  memset(all, 0, sizeof *all);
  *outputs = gemel__alloc_array(n_out, sizeof **outputs);
  gemel_graph *copy = room != NULL && *outputs != NULL ? expose(instance, room, &error) : NULL;
  int good = copy != NULL && gemel__instance_of_graph(all, copy, NULL, &error) == GEMEL_OK;
  if (good) {
    memcpy(*outputs, room + n_in, n_out * sizeof **outputs);
  } else {
    gemel__free(*outputs, n_out * sizeof **outputs);
    *outputs = NULL;
  }
  gemel__free(room, (n_in + n_out) * sizeof *room);
  gemel_graph_unref(copy);
  return good;
}

static int trace(struct traced *t, const gemel__instance *instance, gemel__domain *d,
                 gemel_tensor *const *values) {
  gemel_error error;
  memset(t, 0, sizeof *t);
  t->instance = instance;
  t->n_outputs = gemel_graph_output_count(instance->graph);
  if (!gemel__expose(instance, &t->all, &t->outputs)) {
    return 0;
  }
  t->n = gemel_graph_node_count(t->all.graph);
  t->results = gemel__alloc_array(t->n, sizeof *t->results);
  t->same = gemel__alloc_array(t->n, sizeof *t->same);
  t->matched = gemel__alloc_array(t->n, 1);
  t->closed = gemel__alloc_array(t->n, 1);
  return t->results != NULL && t->same != NULL && t->matched != NULL && t->closed != NULL &&
         gemel__instance_reference(&t->all, d, values, t->results, &error) == GEMEL_OK;
}

static void clear_trace(struct traced *t) {
  gemel__rtensors_free(t->n, t->results);
  gemel__free(t->outputs, t->n_outputs * sizeof *t->outputs);
  gemel__free(t->same, t->n * sizeof *t->same);
  gemel__free(t->matched, t->n);
  gemel__free(t->closed, t->n);
  gemel__instance_clear(&t->all);
}

static int same_value(gemel__domain *d, const gemel__rtensor *x, const gemel__rtensor *y) {
  if (x->dtype != y->dtype || x->rank != y->rank ||
      memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) != 0) {
    return 0;
  }
  for (size_t i = 0; i < x->count; i++) {
    if (!gemel__ordered_overlap(d, gemel__rtensor_at(x, i), gemel__rtensor_at(y, i))) {
      return 0;
    }
  }
  return 1;
}

/* Values that depend on no input count as matched: a constant that only one graph has isn't where
 * the graphs part. The node that uses it is. */
static void ground_constants(struct traced *t) {
  const gemel_graph *graph = t->all.graph;
  uint32_t count, j;
  for (size_t k = 0; k < t->n; k++) {
    const gemel__ref *inputs = gemel__node_inputs(graph, (uint32_t)k, &count);
    int closed = gemel__node_at(graph, (uint32_t)k)->op != GEMEL__OP_input;
    for (j = 0; j < count && closed; j++) {
      closed = t->closed[inputs[j].node];
    }
    t->closed[k] = (unsigned char)closed;
    t->matched[k] |= (unsigned char)closed;
  }
}

static void match(struct traced *a, struct traced *b, gemel__domain *d) {
  for (size_t i = 0; i < a->n; i++) {
    for (size_t j = 0; j < b->n; j++) {
      if ((!a->matched[i] || !b->matched[j]) && same_value(d, &a->results[i], &b->results[j])) {
        a->matched[i] = b->matched[j] = 1;
        a->same[i] = b->same[j] = a->same[i] ? a->same[i] : b->same[j] ? b->same[j] : i + 1;
      }
    }
  }
}

/* The first node without a match whose inputs have one: "op(type, …) at file:line". */
static int describe_parting(const struct traced *t, char *text, size_t bytes) {
  const gemel_graph *graph = t->all.graph;
  uint32_t count, j;
  for (size_t k = 0; k < t->n; k++) {
    const gemel__ref *inputs = gemel__node_inputs(graph, (uint32_t)k, &count);
    gemel__ref self = {(uint32_t)k, 0};
    gemel_location where = gemel_value_where(gemel__value(graph, self));
    int grounded = !t->matched[k] && count > 0;
    for (j = 0; j < count && grounded; j++) {
      grounded = t->matched[inputs[j].node];
    }
    if (grounded) {
      char type[120];
      gemel_type_format(gemel_graph_context(graph), gemel_value_type(gemel__value(graph, self)),
                        type, sizeof type);
      snprintf(text, bytes, "%s giving %s (%s:%d)", gemel__node_op(graph, (uint32_t)k)->record.name,
               type, where.file, where.line);
      return 1;
    }
  }
  return 0;
}

void gemel__align(const gemel__instance *a, const gemel__instance *b, gemel_tensor *const *values,
                  char *text, size_t bytes) {
  struct traced x, y;
  gemel__ordered *o = gemel__ordered_new(512);
  char left[240], right[240];
  text[0] = '\0';
  memset(&x, 0, sizeof x);
  memset(&y, 0, sizeof y);
  if (o != NULL && trace(&x, a, &o->domain, values) && trace(&y, b, &o->domain, values)) {
    int p, q;
    match(&x, &y, &o->domain);
    ground_constants(&x);
    ground_constants(&y);
    p = describe_parting(&x, left, sizeof left);
    q = describe_parting(&y, right, sizeof right);
    if (p || q) {
      snprintf(text, bytes, "up to here their values agree: first graph %s, second graph %s",
               p ? left : "ends", q ? right : "ends");
    }
  }
  clear_trace(&x);
  clear_trace(&y);
  gemel__ordered_free(o);
}

/* ---- The smallest pair that differs ---- */

struct parting {
  gemel__pair *pair;
  gemel_tensor *const *values;
  struct traced side[2];
  gemel__domain *d;
  size_t output;             /* number of the output that differs */
  gemel__ref differ[2];      /* the values that the smaller graphs return */
  unsigned char *live[2];    /* a byte a node: the smaller graph needs it */
  gemel__edit *edits[2];     /* an edit a node */
  unsigned char *used[2];    /* a byte a value of the first graph: it becomes an input */
  unsigned char *whole;      /* likewise: it doesn't, as only one side would use it */
  size_t n_leaves, n_values; /* cuts; inputs and cuts */
  gemel_type *types;         /* of each cut */
  size_t *leaf_of; /* for each value of the first graph that is cut the number of its cut */
  char (*names)[24];
  const char **labels;
  gemel_tensor **now; /* values of inputs and cuts */
  unsigned char *keep;
};

static const gemel__rtensor *result_at(const struct parting *p, int side, gemel__ref at) {
  return &p->side[side].results[at.node];
}

static int differs(const struct parting *p, gemel__ref a, gemel__ref b) {
  return !same_value(p->d, result_at(p, 0, a), result_at(p, 1, b));
}

static int find_output(struct parting *p) {
  for (size_t k = 0; k < p->side[0].n_outputs; k++) {
    gemel_value a = p->side[0].outputs[k], b = p->side[1].outputs[k];
    p->differ[0] = (gemel__ref){a.node, a.output};
    p->differ[1] = (gemel__ref){b.node, b.output};
    if (a.output == 0 && b.output == 0 && differs(p, p->differ[0], p->differ[1])) {
      p->output = k;
      return 1;
    }
  }
  return 0;
}

static int same_ref(gemel__ref a, gemel__ref b) {
  return a.node == b.node && a.output == b.output;
}

/* One step down: if both graphs apply the same operation and one pair of operands differs, these
 * operands are what differs. */
static int descend(struct parting *p) {
  const gemel_graph *a = p->side[0].all.graph, *b = p->side[1].all.graph;
  const gemel__node *x = gemel__node_at(a, p->differ[0].node);
  const gemel__node *y = gemel__node_at(b, p->differ[1].node);
  uint32_t n, m, j;
  const gemel__ref *in = gemel__node_inputs(a, p->differ[0].node, &n);
  const gemel__ref *to = gemel__node_inputs(b, p->differ[1].node, &m);
  gemel__ref next[2] = {{0, 0}, {0, 0}};
  int found = 0;
  if (x->op != y->op || x->attrs != y->attrs || n != m) {
    return 0;
  }
  for (j = 0; j < n; j++) {
    if (in[j].output != 0 || to[j].output != 0) {
      return 0;
    }
    if (differs(p, in[j], to[j])) {
      if (!gemel_type_equal(gemel_value_type(gemel__value(a, in[j])),
                            gemel_value_type(gemel__value(b, to[j]))) ||
          (found && !(same_ref(next[0], in[j]) && same_ref(next[1], to[j])))) {
        return 0;
      }
      found = 1;
      next[0] = in[j];
      next[1] = to[j];
    }
  }
  if (found) {
    p->differ[0] = next[0];
    p->differ[1] = next[1];
  }
  return found;
}

/* 1 + the value of the first graph that may replace node K, or 0. */
static size_t cut_at(const struct parting *p, int side, size_t k) {
  const struct traced *t = &p->side[side];
  const gemel_graph *graph = t->all.graph;
  size_t same = t->same[k];
  int plain = !t->closed[k] && !gemel__has_output(graph, (uint32_t)k, 1) &&
              gemel__node_at(graph, (uint32_t)k)->op != GEMEL__OP_input;
  return plain && same != 0 && !p->whole[same - 1] ? same : 0;
}

/* Marks what the differing value needs, back to values that the other graph has too. */
static void walk_back(struct parting *p, int side) {
  const struct traced *t = &p->side[side];
  size_t k = p->differ[side].node + (size_t)1;
  memset(p->live[side], 0, t->n);
  memset(p->used[side], 0, p->side[0].n);
  p->live[side][k - 1] = 1;
  while (k-- > 0) {
    size_t same = cut_at(p, side, k);
    uint32_t count, j;
    const gemel__ref *inputs = gemel__node_inputs(t->all.graph, (uint32_t)k, &count);
    if (p->live[side][k] && same != 0) {
      p->used[side][same - 1] = 1;
    }
    for (j = 0; p->live[side][k] && same == 0 && j < count; j++) {
      p->live[side][inputs[j].node] = 1;
    }
  }
}

/* Chooses values to cut that both sides use. A value that only one side would use is computed from
 * its own inputs instead; that may change the other cuts, so this is repeated, at most ROUNDS
 * times. */
static void choose_cuts(struct parting *p) {
  int round, changed = 1;
  for (round = 0; round < ROUNDS && changed; round++) {
    size_t k;
    walk_back(p, 0);
    walk_back(p, 1);
    changed = 0;
    for (k = 0; k < p->side[0].n && round + 1 < ROUNDS; k++) {
      if (p->used[0][k] != p->used[1][k]) {
        p->whole[k] = 1;
        changed = 1;
      }
    }
  }
}

/* R's values, rounded to its dtype, as a tensor; NULL if one is undefined. */
static gemel_tensor *tensor_of(gemel__domain *d, gemel__rtensor *r) {
  gemel_tensor *tensor = gemel_tensor_new(r->dtype, r->rank, r->shape, NULL);
  size_t size = gemel_dtype_size(r->dtype), i;
  int good = tensor != NULL;
  for (i = 0; i < r->count && good; i++) {
    const void *e = gemel__rtensor_at(r, i);
    char *at = (char *)gemel_tensor_data(tensor) + i * size;
    int64_t n;
    if (d->state(d, e) != GEMEL__DEFINED) {
      good = 0;
    } else if (gemel__is_float(r->dtype)) {
      double low, high, middle;
      gemel__ordered_bounds(d, e, &low, &high);
      middle = low / 2 + high / 2;
      gemel__points_store(r->dtype, 1, &middle, NULL, at);
    } else {
      good = d->to_integer(d, e, &n);
      gemel__points_store(r->dtype, good ? 1 : 0, NULL, &n, at);
    }
  }
  if (!good) {
    gemel_tensor_unref(tensor);
    return NULL;
  }
  return tensor;
}

/* One more input of the smaller pair: value K of the first graph. */
static int add_cut(struct parting *p, size_t k) {
  gemel__ref self = {(uint32_t)k, 0};
  snprintf(p->names[p->n_leaves], sizeof *p->names, "at%zu", k);
  p->labels[p->n_leaves] = p->names[p->n_leaves];
  p->types[p->n_leaves] = gemel_value_type(gemel__value(p->side[0].all.graph, self));
  p->now[p->n_values] = tensor_of(p->d, &p->side[0].results[k]);
  p->leaf_of[k] = p->n_leaves++;
  return p->now[p->n_values++] != NULL;
}

static void edit_side(struct parting *p, int side) {
  for (size_t k = 0; k < p->side[side].n; k++) {
    size_t same = cut_at(p, side, k);
    if (same != 0 && p->used[side][same - 1]) {
      p->edits[side][k].kind = GEMEL__EDIT_LEAF;
      p->edits[side][k].leaf = p->leaf_of[same - 1];
    }
  }
}

/* The inputs of the smaller pair: inputs of the graphs that are read, then the cuts. */
static int gather(struct parting *p) {
  const gemel_graph *a = p->side[0].all.graph, *b = p->side[1].all.graph;
  size_t k, n = gemel_graph_input_count(a);
  int good = 1;
  for (k = 0; k < n; k++) {
    p->keep[k] =
        p->live[0][gemel_graph_input(a, k).node] || p->live[1][gemel_graph_input(b, k).node];
    if (p->keep[k]) {
      p->now[p->n_values++] = gemel_tensor_ref(p->values[k]);
    }
  }
  for (k = 0; k < p->side[0].n && good; k++) {
    if (p->used[0][k] || p->used[1][k]) {
      good = add_cut(p, k);
    }
  }
  edit_side(p, 0);
  edit_side(p, 1);
  return good;
}

static int rebuild_side(struct parting *p, int side, gemel__instance *instance) {
  const char *name = gemel_graph_output_name(p->pair->a.graph, p->output);
  gemel_error error;
  gemel__rebuild r = {
      p->side[side].all.graph, p->edits[side], p->keep, p->n_leaves, p->labels, p->types, 1,
      &p->differ[side],        &name};
  gemel_graph *graph = gemel__rebuild_graph(&r, &error);
  int good = graph != NULL && gemel__instance_of_graph(instance, graph, NULL, &error) == GEMEL_OK;
  gemel_graph_unref(graph);
  return good;
}

/* Replaces the pair by the smaller one if domain O refutes that too. */
static int replace(struct parting *p, gemel_tensor ***values) {
  gemel__pair small;
  gemel__trial trial = {NULL, NULL, &small.b};
  gemel__outcome outcome;
  gemel_error error;
  size_t n = p->pair->a.n_leaves;
  gemel_tensor **fresh = gemel__alloc_array(p->n_values, sizeof *fresh);
  memset(&small, 0, sizeof small);
  memset(&outcome, 0, sizeof outcome);
  if (fresh == NULL || !rebuild_side(p, 0, &small.a) || !rebuild_side(p, 1, &small.b) ||
      gemel__check_equal(&small.a, p->now, &trial, &outcome, &error) != GEMEL_OK ||
      !outcome.refuted) {
    gemel__free(fresh, p->n_values * sizeof *fresh);
    gemel__pair_clear(&small);
    return 0;
  }
  memcpy(fresh, p->now, p->n_values * sizeof *fresh);
  memset(p->now, 0, p->n_values * sizeof *fresh);
  gemel__tensors_release(n, *values);
  gemel__free(*values, n * sizeof **values);
  gemel__pair_clear(p->pair);
  *p->pair = small;
  *values = fresh;
  return 1;
}

static int make_room(struct parting *p) {
  size_t n = p->side[0].n, k;
  for (k = 0; k < 2; k++) {
    p->live[k] = gemel__alloc_array(p->side[k].n, 1);
    p->edits[k] = gemel__alloc_array(p->side[k].n, sizeof *p->edits[k]);
    p->used[k] = gemel__alloc_array(n, 1);
  }
  p->whole = gemel__alloc_array(n, 1);
  p->types = gemel__alloc_array(n, sizeof *p->types);
  p->names = gemel__alloc_array(n, sizeof *p->names);
  p->leaf_of = gemel__alloc_array(n, sizeof *p->leaf_of);
  p->labels = gemel__alloc_array(n, sizeof *p->labels);
  p->now = gemel__alloc_array(2 * n, sizeof *p->now);
  p->keep = gemel__alloc_array(n, 1);
  return p->live[0] && p->live[1] && p->edits[0] && p->edits[1] && p->used[0] && p->used[1] &&
         p->whole && p->types && p->leaf_of && p->names && p->labels && p->now && p->keep;
}

static void clear_room(struct parting *p) {
  size_t n = p->side[0].n, k;
  if (p->now != NULL) {
    gemel__tensors_release(p->n_values, p->now);
  }
  for (k = 0; k < 2; k++) {
    gemel__free(p->live[k], p->side[k].n);
    gemel__free(p->edits[k], p->side[k].n * sizeof *p->edits[k]);
    gemel__free(p->used[k], n);
  }
  gemel__free(p->whole, n);
  gemel__free(p->types, n * sizeof *p->types);
  gemel__free(p->leaf_of, n * sizeof *p->leaf_of);
  gemel__free(p->names, n * sizeof *p->names);
  gemel__free(p->labels, n * sizeof *p->labels);
  gemel__free(p->now, 2 * n * sizeof *p->now);
  gemel__free(p->keep, n);
}

int gemel__part(gemel__pair *pair, gemel_tensor ***values) {
  struct parting p;
  gemel__ordered *o = gemel__ordered_new(512);
  int done = 0;
  memset(&p, 0, sizeof p);
  p.pair = pair;
  p.values = *values;
  p.d = o != NULL ? &o->domain : NULL;
  if (o != NULL && trace(&p.side[0], &pair->a, p.d, *values) &&
      trace(&p.side[1], &pair->b, p.d, *values) && make_room(&p) && find_output(&p)) {
    match(&p.side[0], &p.side[1], p.d);
    ground_constants(&p.side[0]);
    ground_constants(&p.side[1]);
    while (descend(&p)) {
    }
    choose_cuts(&p);
    done = gather(&p) && replace(&p, values);
  }
  clear_room(&p);
  clear_trace(&p.side[0]);
  clear_trace(&p.side[1]);
  gemel__ordered_free(o);
  return done;
}
