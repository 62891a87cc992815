/* SPDX-License-Identifier: MIT
 *
 * An instance inside a graph. An operation by itself shows its kernels; how the executor joins
 * operations into loops, shares memory between values and takes views shows only where there are
 * several. So some instances are embedded: some inputs go through a cheap operation first, each
 * result y goes on to a = f(y), b = g(y, a) and sum(a), which makes y read after a is stored, and
 * one of those inputs may be read once more when y is there, so that y can't be made in its place.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "instances/instance.h"

enum { MAX_CONTINUED = 2 }; /* results that are gone on with; further ones are outputs */

static gemel_dtype dtype_of(gemel_value value) {
  return gemel_type_dtype(gemel_graph_context(value.graph), gemel_value_type(value));
}

static gemel_value apply(const char *name, gemel_value x, gemel_value y) {
  gemel_value both[2];
  both[0] = x;
  both[1] = y;
  return gemel_apply(x.graph, name, gemel_is_null(y) ? 1 : 2, both, 0, NULL);
}

static const gemel_value none = {NULL, 0, 0};

/* A leaf or what comes of it; its values stay where the operation's domain is. */
static gemel_value prologue(const gemel__leaf *leaf, gemel_value x, gemel__random *random) {
  if (leaf->domain != GEMEL_ANY || leaf->dtype == GEMEL_BOOL ||
      gemel__random_chance(random, 1, 2)) {
    return x;
  }
  return apply("neg", x, none);
}

/* f and g: no information about y is lost in g(y, f(y)). */
static const struct {
  const char *f, *g;
  int binary; /* f takes y twice */
} pairs[] = {{"neg", "sub", 0}, {"add", "mul", 1}, {"mul", "add", 1}, {"mul", "maximum", 1}};

/* What the graph says of its builders. */
static gemel_status refused(const gemel_graph *graph, gemel_error *error) {
  const gemel_error *problem = gemel_graph_error(graph);
  if (problem->status != GEMEL_OK && error != NULL) {
    *error = *problem;
  }
  return problem->status;
}

static gemel_status epilogue(gemel_value y, size_t k, gemel__random *random, gemel_error *error) {
  size_t which = gemel__random_below(random, sizeof pairs / sizeof *pairs);
  int boolean = dtype_of(y) == GEMEL_BOOL;
  char label[24];
  gemel_value a = boolean ? apply("logical_not", y, none)
                          : apply(pairs[which].f, y, pairs[which].binary ? y : none);
  gemel_value b = boolean ? apply("ne", a, y) : apply(pairs[which].g, y, a);
  if (boolean) {
    b = apply("logical_and", b, y);
  }
  snprintf(label, sizeof label, "b%zu", k);
  gemel_output(b, label);
  snprintf(label, sizeof label, "s%zu", k);
  gemel_output(apply("sum", a, none), label);
  return refused(y.graph, error);
}

/* The largest of X and the sum of Y, element by element. */
static gemel_status read_again(gemel_value x, gemel_value y, gemel_error *error) {
  int boolean = dtype_of(x) == GEMEL_BOOL || dtype_of(y) == GEMEL_BOOL;
  if (!boolean) {
    gemel_output(apply("maximum", x, apply("sum", y, none)), "again");
  }
  return refused(x.graph, error);
}

static gemel_status build(gemel_graph *graph, const gemel__instance *base, gemel_value *in,
                          gemel_value *out, gemel__random *random, gemel_error *error) {
  size_t n_out = gemel_graph_output_count(base->graph), k;
  char label[24];
  gemel_status status;
  gemel_value computed = none; /* an input that something was made of first */
  for (k = 0; k < base->n_leaves; k++) {
    gemel_value input = gemel_graph_input(base->graph, k);
    in[k] = gemel__input_like(graph, gemel_graph_input_name(base->graph, k),
                              gemel_value_type(input), input);
    if (gemel_is_null(in[k])) {
      return gemel__no_memory(error, "an instance");
    }
  }
  for (k = 0; k < base->n_leaves; k++) {
    gemel_value leaf = in[k];
    in[k] = prologue(&base->leaves[k], leaf, random);
    if (gemel_is_null(computed) && in[k].node != leaf.node && gemel__random_chance(random, 1, 2)) {
      computed = in[k];
    }
    if (gemel_is_null(in[k])) {
      return refused(graph, error);
    }
  }
  status = gemel__graph_inline(graph, base->graph, in, out, error);
  for (k = 0; k < n_out && status == GEMEL_OK; k++) {
    if (k < MAX_CONTINUED) {
      status = epilogue(out[k], k, random, error);
    } else {
      snprintf(label, sizeof label, "y%zu", k);
      status = gemel_output(out[k], label);
    }
  }
  return status == GEMEL_OK && !gemel_is_null(computed) ? read_again(computed, out[0], error)
                                                        : status;
}

gemel_status gemel__instance_embed(gemel__instance *embedded, const gemel__instance *base,
                                   gemel__random *random, gemel_error *error) {
  size_t n = base->n_leaves + gemel_graph_output_count(base->graph);
  gemel_graph *graph = gemel_graph_new(gemel_graph_context(base->graph), error);
  gemel_value *room = gemel__alloc_array(n, sizeof *room);
  gemel_status status;
  size_t k;
  memset(embedded, 0, sizeof *embedded);
  if (graph == NULL || room == NULL) {
    status = gemel__no_memory(error, "an instance");
  } else {
    status = build(graph, base, room, room + base->n_leaves, random, error);
  }
  if (status == GEMEL_OK) {
    status = gemel__instance_of_graph(embedded, graph, NULL, error);
  }
  for (k = 0; k < base->n_leaves && status == GEMEL_OK; k++) {
    embedded->leaves[k] = base->leaves[k];
  }
  gemel__free(room, n * sizeof *room);
  gemel_graph_unref(graph);
  return status;
}
