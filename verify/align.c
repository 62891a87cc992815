/* SPDX-License-Identifier: MIT
 *
 * Alignment: both graphs are evaluated in domain O at the witness with every value kept; two values
 * match if they have the same shape and nothing tells their elements apart. A node whose inputs all
 * have a match but which itself has none is where its graph leaves the common ground; the pair of
 * sub-graphs between matched values and the differing output is the smallest that differs.
 */
#include "align.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/graph.h"
#include "domains/ordered.h"

enum { MAX_NODES = 400 };

struct traced {
  const gemel__instance *instance;
  gemel__instance all; /* the same graph with every value an output */
  gemel_value *values; /* node of the instance for each output of ALL */
  gemel__rtensor *results;
  size_t n;
  unsigned char *matched; /* a byte a value */
  unsigned char *closed;  /* a byte a value: depends on no input */
};

/* A copy of the graph in which every live node's output 0 is an output. */
static int trace_graph(struct traced *t, gemel_error *error) {
  gemel_graph *copy = gemel_graph_new(gemel_graph_context(t->instance->graph), error);
  size_t k, n_in = t->instance->n_leaves;
  size_t n_out = gemel_graph_output_count(t->instance->graph);
  gemel_value *room = gemel__alloc_array(n_in + n_out, sizeof *room);
  int good = copy != NULL && room != NULL;
  for (k = 0; k < n_in && good; k++) {
    room[k] = gemel_input(copy, gemel_graph_input_name(t->instance->graph, k),
                          gemel_value_type(gemel_graph_input(t->instance->graph, k)));
  }
  good =
      good && gemel__graph_inline(copy, t->instance->graph, room, room + n_in, error) == GEMEL_OK;
  t->n = good ? gemel_graph_node_count(copy) : 0;
  for (k = 0; k < t->n && good; k++) {
    char label[32];
    gemel__ref ref = {(uint32_t)k, 0};
    snprintf(label, sizeof label, "value_%zu", k);
    good = gemel_output(gemel__value(copy, ref), label) == GEMEL_OK;
  }
  good =
      good && t->n <= MAX_NODES && gemel__instance_of_graph(&t->all, copy, NULL, error) == GEMEL_OK;
  gemel__free(room, (n_in + n_out) * sizeof *room);
  gemel_graph_unref(copy);
  return good;
}

static int trace(struct traced *t, const gemel__instance *instance, gemel__domain *d,
                 gemel_tensor *const *values) {
  gemel_error error;
  memset(t, 0, sizeof *t);
  t->instance = instance;
  if (!trace_graph(t, &error)) {
    return 0;
  }
  t->results = gemel__alloc_array(t->n, sizeof *t->results);
  t->matched = gemel__alloc_array(t->n, 1);
  t->closed = gemel__alloc_array(t->n, 1);
  return t->results != NULL && t->matched != NULL && t->closed != NULL &&
         gemel__instance_reference(&t->all, d, values, t->results, &error) == GEMEL_OK;
}

static void clear_trace(struct traced *t) {
  if (t->results != NULL) {
    gemel__rtensors_clear(t->n, t->results);
  }
  gemel__free(t->results, t->n * sizeof *t->results);
  gemel__free(t->matched, t->n);
  gemel__free(t->closed, t->n);
  gemel__instance_clear(&t->all);
}

static int same_value(gemel__domain *d, const gemel__rtensor *x, const gemel__rtensor *y) {
  size_t i;
  if (x->dtype != y->dtype || x->rank != y->rank ||
      memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) != 0) {
    return 0;
  }
  for (i = 0; i < x->count; i++) {
    if (!gemel__ordered_overlap(d, gemel__rtensor_at(x, i), gemel__rtensor_at(y, i))) {
      return 0;
    }
  }
  return 1;
}

/* What depends on no input is common ground too: a constant that only one graph has isn't where
 * they part, but where it is used. */
static void ground_constants(struct traced *t) {
  const gemel_graph *graph = t->all.graph;
  uint32_t count, j;
  size_t k;
  for (k = 0; k < t->n; k++) {
    const gemel__ref *inputs = gemel__node_inputs(graph, (uint32_t)k, &count);
    int closed = strcmp(gemel__node_op(graph, (uint32_t)k)->record.name, "input") != 0;
    for (j = 0; j < count && closed; j++) {
      closed = t->closed[inputs[j].node];
    }
    t->closed[k] = (unsigned char)closed;
    t->matched[k] |= (unsigned char)closed;
  }
}

static void match(struct traced *a, struct traced *b, gemel__domain *d) {
  size_t i, j;
  for (i = 0; i < a->n; i++) {
    for (j = 0; j < b->n; j++) {
      if ((!a->matched[i] || !b->matched[j]) && same_value(d, &a->results[i], &b->results[j])) {
        a->matched[i] = b->matched[j] = 1;
      }
    }
  }
}

/* The first node without a match whose inputs have one: "op(type, …) at file:line". */
static int describe_parting(const struct traced *t, char *text, size_t bytes) {
  const gemel_graph *graph = t->all.graph;
  size_t k;
  uint32_t count, j;
  for (k = 0; k < t->n; k++) {
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
