/* SPDX-License-Identifier: MIT
 *
 * Putting an instance into a graph. An operation by itself shows faults of its kernels. How the
 * executor joins operations into loops, shares memory between values and handles views shows only
 * with several operations. So some instances are embedded. Some inputs go through a cheap operation
 * or a view first. Each result y is used in a = f(y), b = g(y, a) and sum(a), so y is read after a
 * is stored. One of the changed inputs may be read again when y exists, so that y can't be made in
 * its memory.
 *
 * Some of these graphs have states: inputs x with update y, if the types are equal, whose old value
 * goes to another state; pairs of states that swap values; a state that accumulates y. Some outputs
 * need the old value of a state whose update is computed already.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "base/status.h"
#include "instances/instance.h"

enum { MAX_CONTINUED = 2 }; /* results that are used further; others are just outputs */
enum { CALLS = 2 };         /* number of calls, with states */

static gemel_value apply(const char *name, gemel_value x, gemel_value y) {
  gemel_value both[2];
  both[0] = x;
  both[1] = y;
  return gemel_apply(x.graph, name, gemel_is_null(y) ? 1 : 2, both, 0, NULL);
}

static const gemel_value none = {NULL, 0, 0};

/* A view of X with all axes reversed. */
static gemel_value reversed(gemel_value x) {
  int64_t axes[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(gemel_graph_context(x.graph), gemel_value_type(x));
  for (int k = 0; k < rank; k++) {
    axes[k] = k;
  }
  gemel_attr attr = gemel_attr_ints("axes", (size_t)rank, axes);
  return gemel_apply(x.graph, "reverse", 1, &x, 1, &attr);
}

/* X as a view: the second half of zeros joined with X. */
static gemel_value second_half(gemel_value x) {
  gemel_context *context = gemel_graph_context(x.graph);
  gemel_type type = gemel_value_type(x);
  const gemel_dim *shape = gemel_type_dims(context, type);
  gemel_dim start[GEMEL_MAX_RANK];
  size_t rank = (size_t)gemel_type_rank(context, type), k;
  gemel_value both =
      apply("join", apply("fill", x, gemel_scalar(x.graph, gemel__value_dtype(x), 0)), x);
  gemel_attr attrs[2];
  for (k = 0; k < rank; k++) {
    start[k] = k == 0 ? shape[0] : gemel_dim_constant(context, 0);
  }
  attrs[0] = gemel_attr_dims("start", rank, start);
  attrs[1] = gemel_attr_dims("size", rank, shape);
  return gemel_apply(x.graph, "subtensor", 1, &both, 2, attrs);
}

/* X, or its negative, or a view of it; the values stay in the operation's range. */
static gemel_value prologue(const gemel__leaf *leaf, gemel_value x, gemel__random *random) {
  int computes = leaf->range == GEMEL_RANGE_ANY && leaf->dtype != GEMEL_BOOL;
  if (computes && gemel__random_chance(random, 1, 2)) {
    x = apply("neg", x, none);
  }
  if (leaf->rank == 0 || leaf->count == 0 || gemel__random_chance(random, 3, 4)) {
    return x;
  }
  return gemel__random_chance(random, 1, 2) ? reversed(reversed(x)) : second_half(x);
}

/* f and g such that a wrong y shows in g(y, f(y)). */
static const struct {
  const char *f, *g;
  int binary; /* f takes y twice */
} pairs[] = {{"neg", "sub", 0}, {"add", "mul", 1}, {"mul", "add", 1}, {"mul", "maximum", 1}};

/* Makes A and B from a result Y by pair WHICH. Beyond the pairs, A reads Y in two orders. */
static void go_on(gemel_value y, size_t which, gemel_value *a, gemel_value *b) {
  if (gemel__value_dtype(y) == GEMEL_BOOL) {
    *a = apply("logical_not", y, none);
    *b = apply("logical_and", apply("ne", *a, y), y);
  } else if (which >= sizeof pairs / sizeof *pairs) {
    *a = apply("add", y, reversed(y));
    *b = apply("neg", *a, none);
  } else {
    *a = apply(pairs[which].f, y, pairs[which].binary ? y : none);
    *b = apply(pairs[which].g, y, *a);
  }
}

static gemel_status epilogue(gemel_value y, size_t k, gemel__random *random, gemel_error *error) {
  int is_scalar = gemel_type_rank(gemel_graph_context(y.graph), gemel_value_type(y)) == 0;
  /* reading in two orders matters only with several tiles, so it is tried more often */
  size_t which = gemel__random_below(random, sizeof pairs / sizeof *pairs + 2 * !is_scalar);
  gemel_value a, b;
  char label[24];
  go_on(y, which, &a, &b);
  snprintf(label, sizeof label, "b%zu", k);
  gemel_output(b, label);
  snprintf(label, sizeof label, "s%zu", k);
  gemel_output(apply("sum", a, none), label);
  return gemel__graph_status(y.graph, error);
}

/* Adds the output max(X, sum(Y)), element by element. */
static gemel_status read_again(gemel_value x, gemel_value y, gemel_error *error) {
  int boolean = gemel__value_dtype(x) == GEMEL_BOOL || gemel__value_dtype(y) == GEMEL_BOOL;
  if (!boolean) {
    gemel_output(apply("maximum", x, apply("sum", y, none)), "again");
  }
  return gemel__graph_status(x.graph, error);
}

/* ---- States ---- */

enum { MAX_STATES = 8 };

/* A graph under construction. */
struct embedding {
  gemel_graph *graph;
  const gemel__instance *base;
  gemel_value *in, *out;          /* the values that stand for BASE's inputs and outputs */
  gemel_value states[MAX_STATES]; /* the inputs of BASE that are states */
  size_t of[MAX_STATES];          /* their numbers in BASE */
  gemel_value others[MAX_STATES]; /* for each, another state of the same type, or null */
  size_t like[MAX_STATES + 1];    /* for each added input: which of BASE's inputs it gets values
                                   * like */
  size_t n_states, n_like;
};

/* Adds an input like BASE's input K; a state if STATE, and nothing is assumed of it, in two of
 * three cases. */
static gemel_value add_input(struct embedding *e, size_t k, int state, gemel__random *random) {
  gemel_value input = gemel_graph_input(e->base->graph, k);
  const char *name = gemel_graph_input_name(e->base->graph, k);
  gemel_type type = gemel_value_type(input);
  if (!state || e->n_states == MAX_STATES || gemel_assumed(input) != 0 ||
      gemel__random_chance(random, 1, 3)) {
    return gemel__input_like(e->graph, name, type, input);
  }
  e->of[e->n_states] = k;
  return e->states[e->n_states++] = gemel_state(e->graph, name, type);
}

/* Adds another state to some, for values that move from one to the other. */
static void add_others(struct embedding *e, gemel__random *random) {
  char name[32];
  for (size_t k = 0; k < e->n_states; k++) {
    if (gemel__random_chance(random, 2, 3)) {
      snprintf(name, sizeof name, "other%zu", k);
      e->others[k] = gemel_state(e->graph, name, gemel_value_type(e->states[k]));
      e->like[e->n_like++] = e->of[k];
    }
  }
}

/* Chooses the update of state K: a result Y of its type, if there is one and X may have any value,
 * else the value of its other state. The other state gets X's old value. */
static void update_from(struct embedding *e, size_t k, gemel__random *random) {
  gemel_value x = e->states[k], other = e->others[k], y = none;
  size_t n = gemel_graph_output_count(e->base->graph);
  for (size_t j = 0; j < n && e->base->leaves[e->of[k]].range == GEMEL_RANGE_ANY; j++) {
    y = gemel_type_equal(gemel_value_type(e->out[j]), gemel_value_type(x)) ? e->out[j] : y;
  }
  if (!gemel_is_null(other)) {
    gemel_update(other, x);
  }
  if (!gemel_is_null(y) && (gemel_is_null(other) || gemel__random_chance(random, 1, 2))) {
    gemel_update(x, y);
  } else if (!gemel_is_null(other)) {
    gemel_update(x, other);
  }
}

/* Adds a state that accumulates Y. Its old value may be needed before or after its update is
 * computed. */
static void gather(struct embedding *e, gemel_value y, gemel__random *random) {
  gemel_context *context = gemel_graph_context(e->graph);
  gemel_type type = gemel_value_type(y);
  int boolean = gemel__value_dtype(y) == GEMEL_BOOL;
  if (gemel__type_at(context, type)->has_runtime) {
    return;
  }
  gemel_value gathered = gemel_state(e->graph, "gathered", type);
  gemel_value next = apply(boolean                              ? "ne"
                           : gemel__random_chance(random, 1, 2) ? "sub"
                                                                : "maximum",
                           gathered, y);
  e->like[e->n_like++] = SIZE_MAX;
  gemel_update(gathered, next);
  if (!boolean && gemel__random_chance(random, 2, 3)) {
    int late = gemel__random_chance(random, 1, 2);
    gemel_value total = apply("sum", late ? next : gathered, none);
    gemel_output(late ? apply("maximum", gathered, total) : total, "before");
  }
}

static void add_updates(struct embedding *e, gemel__random *random) {
  for (size_t k = 0; k < e->n_states; k++) {
    update_from(e, k, random);
  }
  if (e->n_states == 0 || gemel__random_chance(random, 2, 3)) {
    gather(e, e->out[0], random);
  }
}

/* ---- The graph ---- */

/* Builds the inputs. *COMPUTED: a changed input, to be read once more, or null. */
static gemel_status build_inputs(struct embedding *e, int stateful, gemel__random *random,
                                 gemel_value *computed, gemel_error *error) {
  for (size_t k = 0; k < e->base->n_leaves; k++) {
    e->in[k] = add_input(e, k, stateful, random);
  }
  add_others(e, random);
  *computed = none;
  for (size_t k = 0; k < e->base->n_leaves && gemel__graph_status(e->graph, error) == GEMEL_OK;
       k++) {
    gemel_value leaf = e->in[k];
    e->in[k] = prologue(&e->base->leaves[k], leaf, random);
    if (gemel_is_null(*computed) && e->in[k].node != leaf.node &&
        gemel__random_chance(random, 1, 2)) {
      *computed = e->in[k];
    }
  }
  return gemel__graph_status(e->graph, error);
}

/* Uses the results. One of several may be left out, so that nothing needs it. */
static gemel_status build_outputs(struct embedding *e, gemel__random *random, gemel_error *error) {
  size_t n_out = gemel_graph_output_count(e->base->graph), k;
  size_t left_out =
      n_out > 1 && gemel__random_chance(random, 1, 3) ? gemel__random_below(random, n_out) : n_out;
  char label[24];
  for (k = 0; k < n_out; k++) {
    if (k != left_out && k < MAX_CONTINUED) {
      GEMEL__TRY(epilogue(e->out[k], k, random, error));
    } else if (k != left_out) {
      snprintf(label, sizeof label, "y%zu", k);
      gemel_output(e->out[k], label);
      GEMEL__TRY(gemel__graph_status(e->graph, error));
    }
  }
  return GEMEL_OK;
}

static gemel_status build(struct embedding *e, int stateful, gemel__random *random,
                          gemel_error *error) {
  gemel_value computed;
  GEMEL__TRY(build_inputs(e, stateful, random, &computed, error));
  GEMEL__TRY(gemel__graph_inline(e->graph, e->base->graph, e->in, e->out, error));
  GEMEL__TRY(build_outputs(e, random, error));
  if (stateful) {
    add_updates(e, random);
    GEMEL__TRY(gemel__graph_status(e->graph, error));
  }
  return gemel_is_null(computed) ? GEMEL_OK : read_again(computed, e->out[0], error);
}

/* Sets the leaves: as BASE's; the leaf of a state that accumulates results may have any value. */
static void describe_leaves(const struct embedding *e, gemel__instance *embedded) {
  size_t n = e->base->n_leaves;
  memcpy(embedded->leaves, e->base->leaves, n * sizeof *embedded->leaves);
  for (size_t k = 0; k < e->n_like; k++) {
    if (e->like[k] != SIZE_MAX) {
      embedded->leaves[n + k] = e->base->leaves[e->like[k]];
    }
  }
}

gemel_status gemel__instance_embed(gemel__instance *embedded, const gemel__instance *base,
                                   int stateful, gemel__random *random, gemel_error *error) {
  size_t n = base->n_leaves + gemel_graph_output_count(base->graph);
  struct embedding e = {.graph = gemel_graph_new(gemel_graph_context(base->graph), error),
                        .base = base,
                        .in = gemel__alloc_array(n, sizeof *e.in)};
  gemel_status status;
  memset(embedded, 0, sizeof *embedded);
  if (e.graph == NULL || e.in == NULL) {
    status = gemel__no_memory(error, "an instance");
  } else {
    e.out = e.in + base->n_leaves;
    status = build(&e, stateful, random, error);
  }
  status = status ? status : gemel__instance_of_graph(embedded, e.graph, NULL, error);
  if (status == GEMEL_OK) {
    describe_leaves(&e, embedded);
    embedded->calls = stateful ? CALLS : 0;
  }
  gemel__free(e.in, n * sizeof *e.in);
  gemel_graph_unref(e.graph);
  return status;
}
