/* SPDX-License-Identifier: MIT
 *
 * Finds inputs at which a comparison is just met, see targets.h. Random inputs practically never
 * make all of 64 truths hold, or exactly 40 of 1000 numbers positive.
 *
 * A graph is made that returns the difference of both operands of each comparison. The inputs then
 * go from one end to another: all elements LOW, the first K elements HIGH and the rest LOW, all
 * elements HIGH. If a difference has another sign at the two ends, bisection finds the K at which
 * it changes, and then the number at which the Kth element makes it change. The pair is run at both
 * ends, at the change, one step below and one step above.
 */
#include "pairs/targets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "instances/aims.h"
#include "instances/assumed.h"
#include "instances/crossing.h"
#include "ops/ops.h"
#include "tiers/tiers.h"

enum {
  MOST_WATCHED = 24,   /* comparisons of one graph */
  MOST_ELEMENTS = 256, /* elements of one comparison */
  EACH = 3,            /* elements of one comparison whose tie is sought between two ends */
  STYLES = 4,          /* ways to choose the ends */
  ALONE = 6,           /* inputs that are moved alone, besides all of them together */
  MOST_SEARCHES = 48   /* ties that are sought in all */
};

/* Of the elements that may be computed, the share for points that need no search. */
#define AIMS_SHARE 0.25

struct target_search {
  const gemel__targets *how;
  const gemel__instance instance; /* the pair's first one: its leaves */
  double cost, pair_cost, left; /* elements: of computing the differences once, of running the pair
                                   once, that may still be computed */
  gemel_function *function;     /* computes the differences */
  size_t n_watched, searches;
  gemel_tensor **low, **high, **at, **seen;
  double *ends;          /* differences: of each comparison MOST_ELEMENTS at LOW, then at HIGH */
  size_t first, n_moved; /* the inputs that are moved */
  size_t total;          /* elements of the inputs that are moved */
  int backwards, stopped, starved;
  gemel_error *error;
};

/* ---- What is compared ---- */

/* The operands, 1 or 2, from which NODE makes a truth, by a comparison or a cast to bool; 0 if it
 * is neither. */
static uint32_t compared(const gemel_graph *graph, uint32_t node, gemel__ref *operands) {
  uint32_t n, k;
  const gemel__ref *in = gemel__node_inputs(graph, node, &n);
  if (n == 0 || n > 2 || !gemel__has_output(graph, node, 0) ||
      gemel__scalar_row_of(&gemel__node_op(graph, node)->record) == NULL ||
      gemel_type_dtype(graph->context, gemel__node_type(graph, node, 0)) != GEMEL_BOOL) {
    return 0;
  }
  for (k = 0; k < n; k++) {
    gemel_type type = gemel__node_type(graph, in[k].node, in[k].output);
    if (gemel_type_dtype(graph->context, type) == GEMEL_BOOL) {
      return 0;
    }
    operands[k] = in[k];
  }
  return n;
}

/* The comparisons that depend on an input, those of the fewest elements first. */
static gemel_status find_compared(const gemel_graph *graph, uint32_t *nodes, size_t *n,
                                  gemel_error *error) {
  unsigned char *depends = gemel__alloc_zeroed(graph->n_nodes);
  double sizes[MOST_WATCHED];
  *n = 0;
  if (depends == NULL) {
    return gemel__no_memory(error, "what is compared");
  }
  for (uint32_t node = 0; node < graph->n_nodes; node++) {
    gemel__ref operands[2];
    uint32_t count, k;
    const gemel__ref *in = gemel__node_inputs(graph, node, &count);
    depends[node] = gemel__node_at(graph, node)->op == GEMEL__OP_input;
    for (k = 0; k < count; k++) {
      depends[node] |= depends[in[k].node];
    }
    if (!depends[node] || compared(graph, node, operands) == 0) {
      continue;
    }
    double size = gemel__type_elements(graph->context, gemel__node_type(graph, node, 0), 1);
    size_t at = *n;
    while (at > 0 && sizes[at - 1] > size) {
      at--;
    }
    if (size > MOST_ELEMENTS || at == MOST_WATCHED) {
      continue;
    }
    *n -= *n == MOST_WATCHED;
    memmove(&sizes[at + 1], &sizes[at], (*n - at) * sizeof *sizes);
    memmove(&nodes[at + 1], &nodes[at], (*n - at) * sizeof *nodes);
    sizes[at] = size;
    nodes[at] = node;
    ++*n;
  }
  gemel__free(depends, graph->n_nodes);
  return GEMEL_OK;
}

/* Adds outputs: the difference of each two operands in f64. If the second operand is null, the
 * first is the difference. */
static gemel_status add_differences(size_t n, const gemel_value *operands) {
  for (size_t k = 0; k < n; k++) {
    char label[32];
    gemel_value difference = gemel_cast(operands[2 * k], GEMEL_F64);
    if (!gemel_is_null(operands[2 * k + 1])) {
      difference = gemel_sub(difference, gemel_cast(operands[2 * k + 1], GEMEL_F64));
    }
    snprintf(label, sizeof label, "difference%zu", k);
    GEMEL__TRY(gemel_output(difference, label));
  }
  return GEMEL_OK;
}

/* Fills INTO with GRAPH's inputs and the differences at NODES as outputs, by inlining a GRAPH whose
 * outputs are the operands. */
static gemel_status differences_graph(const gemel_graph *graph, size_t n, const uint32_t *nodes,
                                      gemel_graph *into, gemel_error *error) {
  gemel_graph body = *graph;
  gemel__ref refs[2 * MOST_WATCHED], operands[2];
  gemel_value made[2 * MOST_WATCHED], pairs[2 * MOST_WATCHED] = {{0}};
  size_t n_inputs = gemel_graph_input_count(graph), used = 0, next = 0, k;
  gemel_value *inputs = gemel__alloc_array(n_inputs, sizeof *inputs);
  if (inputs == NULL) {
    return gemel__no_memory(error, "what is compared");
  }
  for (k = 0; k < n_inputs; k++) {
    gemel_value input = gemel_graph_input(graph, k);
    inputs[k] = gemel_input(into, gemel_graph_input_name(graph, k), gemel_value_type(input));
  }
  for (k = 0; k < n; k++) {
    uint32_t count = compared(graph, nodes[k], operands);
    memcpy(&refs[used], operands, count * sizeof *refs);
    used += count;
  }
  body.outputs = refs;
  body.n_outputs = used;
  gemel_status status = gemel__graph_inline(into, &body, inputs, made, error);
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    uint32_t count = compared(graph, nodes[k], operands);
    memcpy(&pairs[2 * k], &made[next], count * sizeof *made);
    next += count;
  }
  gemel__free(inputs, n_inputs * sizeof *inputs);
  return status == GEMEL_OK ? add_differences(n, pairs) : status;
}

/* Compiles a function that computes GRAPH's differences. If that can't be compiled, no tie is
 * sought. */
static gemel_status watch(struct target_search *s, const gemel_graph *graph, gemel_error *error) {
  gemel_options options = {
      .size = sizeof options, .threads = 1, .as_written = 1, .most_steps = GEMEL__MOST_STEPS};
  uint32_t nodes[MOST_WATCHED];
  gemel_status status = find_compared(graph, nodes, &s->n_watched, error);
  if (status != GEMEL_OK || s->n_watched == 0) {
    return status;
  }
  gemel_graph *into = gemel_graph_new(gemel_graph_context(graph), error);
  if (into == NULL) {
    return GEMEL_NO_MEMORY;
  }
  status = differences_graph(graph, s->n_watched, nodes, into, error);
  if (status == GEMEL_OK) {
    s->cost = gemel__graph_elements(into, 1);
    gemel_error problem = {GEMEL_OK, 0, 0, ""};
    s->function = gemel_compile(into, &options, &problem);
    status =
        problem.status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "what is compared") : status;
  }
  gemel_graph_unref(into);
  s->n_watched = s->function != NULL ? s->n_watched : 0;
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* ---- Ends ---- */

/* Draws both ends of one element of LEAF. They have few digits, so that sums are exact and ties can
 * be met. */
static void draw_ends(const gemel__leaf *leaf, int style, gemel__random *random, void *low,
                      void *high) {
  static const double reals[STYLES] = {1, 1, 16, 4096};
  static const int64_t wholes[STYLES] = {1, 255, 16, 1 << 20};
  gemel_kind kind = gemel_dtype_kind(leaf->dtype);
  if (kind == GEMEL_KIND_FLOAT) {
    double least = style == 0 ? 0 : -reals[style] / 8 * (double)gemel__random_between(random, 1, 8);
    double most = style == 0 ? 1 : reals[style] / 8 * (double)gemel__random_between(random, 1, 8);
    gemel__leaf_put(leaf, low, least);
    gemel__leaf_put(leaf, high, most);
    return;
  }
  int is_signed = kind == GEMEL_KIND_SIGNED;
  int64_t greatest = gemel__greatest_sought(leaf->dtype);
  int64_t most = wholes[style] < greatest && style + 1 < STYLES ? wholes[style] : greatest;
  int64_t least = is_signed && style > 0 ? -most : 0;
  if (greatest == INT32_MAX && style + 1 == STYLES) {
    most = wholes[style];
    least = is_signed ? -most : 0;
  }
  if (leaf->range == GEMEL_RANGE_INDEX) {
    least = leaf->low;
    most = leaf->high - 1;
  }
  gemel__leaf_put(leaf, low, least);
  gemel__leaf_put(leaf, high, most);
}

static void draw_way(struct target_search *s, int style) {
  s->total = 0;
  for (size_t k = s->first; k < s->first + s->n_moved; k++) {
    const gemel__leaf *leaf = &s->instance.leaves[k];
    for (size_t i = 0; i < leaf->count; i++) {
      draw_ends(leaf, style, s->how->random, gemel__leaf_at(leaf, s->low[k], i),
                gemel__leaf_at(leaf, s->high[k], i));
    }
    s->total += leaf->count;
  }
}

/* Sets the point with K elements HIGH: the first ones or, backwards, the last ones. */
static void go_to(struct target_search *s, size_t k) {
  size_t passed = 0, high_from = s->backwards ? s->total - k : 0,
         high_to = s->backwards ? s->total : k;
  for (size_t leaf = s->first; leaf < s->first + s->n_moved; leaf++) {
    size_t count = s->instance.leaves[leaf].count,
           bytes = gemel_dtype_size(s->instance.leaves[leaf].dtype);
    size_t from = high_from > passed ? high_from - passed : 0;
    size_t to = high_to > passed ? high_to - passed : 0;
    char *at = gemel_tensor_data(s->at[leaf]);
    to = to < count ? to : count;
    memcpy(at, gemel_tensor_data(s->low[leaf]), count * bytes);
    if (from < to) {
      memcpy(at + from * bytes, (const char *)gemel_tensor_data(s->high[leaf]) + from * bytes,
             (to - from) * bytes);
    }
    passed += count;
  }
}

/* ---- Looking and visiting ---- */

/* 1 if COST more elements may be computed. */
static int affords(struct target_search *s, double cost) {
  s->left -= cost;
  s->stopped |= s->left < 0 || gemel__tick(s->how->ticker) != GEMEL_OK;
  return !s->stopped;
}

/* Computes the differences at the point into SEEN. 0 if the function fails, such as for an index
 * out of range. */
static int look(struct target_search *s) {
  gemel__tensors_release(s->n_watched, s->seen);
  gemel_status status = affords(s, s->cost)
                            ? gemel_call(s->function, gemel_function_input_count(s->function),
                                         s->at, s->n_watched, s->seen, NULL)
                            : GEMEL_DECLINED;
  s->starved |= status == GEMEL_NO_MEMORY;
  s->stopped |= s->starved;
  return status == GEMEL_OK;
}

static double seen_at(const struct target_search *s, size_t watched, size_t element) {
  const gemel_tensor *t = s->seen[watched];
  return t != NULL && element < (size_t)gemel_tensor_elements(t)
             ? gemel__decode(GEMEL_F64, gemel__tensor_element(t, element))
             : NAN;
}

static gemel_status visit(struct target_search *s) {
  gemel_status status = GEMEL_OK;
  if (!affords(s, s->pair_cost)) {
    return GEMEL_OK;
  }
  gemel_tensor **values = gemel__values_copy(&s->instance, s->at, s->error);
  if (values == NULL) {
    return GEMEL_NO_MEMORY;
  }
  status = s->how->visit(s->how->user, &values, &s->stopped, s->error);
  gemel__values_free(&s->instance, values);
  return status;
}

static gemel_status visit_at(struct target_search *s, size_t k) {
  if (k > s->total) {
    return GEMEL_OK;
  }
  go_to(s, k);
  return visit(s);
}

/* ---- One tie ---- */

static int sign_of(double x) {
  return (x > 0) - (x < 0);
}

/* The difference that is sought to be 0. */
struct watched_element {
  struct target_search *s;
  size_t watched, element;
};

static double look_at(void *user) {
  const struct watched_element *w = user;
  return !w->s->stopped && look(w->s) ? seen_at(w->s, w->watched, w->element) : NAN;
}

/* The element in which the points with K − 1 and with K elements HIGH differ. *LOW, *HIGH: what it
 * is there. */
static gemel__crossing element_of(const struct target_search *s, size_t k, double *low,
                                  double *high) {
  size_t i = s->backwards ? s->total - k : k - 1, leaf = s->first;
  while (i >= s->instance.leaves[leaf].count) {
    i -= s->instance.leaves[leaf++].count;
  }
  const gemel__leaf *l = &s->instance.leaves[leaf];
  *low = gemel__decode(l->dtype, gemel__leaf_at(l, s->low[leaf], i));
  *high = gemel__decode(l->dtype, gemel__leaf_at(l, s->high[leaf], i));
  return (gemel__crossing){.leaf = l, .element = gemel__leaf_at(l, s->at[leaf], i)};
}

/* The sign, BEFORE at K − 1, changes at K, where the difference is MET: searches the number of that
 * one element at which it changes. */
static gemel_status cross_element(struct target_search *s, size_t watched, size_t element, size_t k,
                                  int before, double met) {
  struct watched_element w = {s, watched, element};
  double low, high;
  go_to(s, k);
  gemel__crossing c = element_of(s, k, &low, &high);
  c.look = look_at;
  c.user = &w;
  gemel__crossing_see(&c, low, before);
  gemel__crossing_see(&c, high, met);
  if (c.leaf->dtype == GEMEL_BOOL || !gemel__crossing_find(&c)) {
    return GEMEL_OK;
  }
  int zero = c.best.f == 0;
  long double x[] = {c.best.x, zero ? c.best.x - 1 : c.negative.x,
                     zero ? c.best.x + 1 : c.positive.x};
  for (int n = zero ? 0 : 1; n < 3 && !s->stopped; n++) {
    gemel__leaf_put(c.leaf, c.element, gemel__leaf_within(c.leaf, x[n]));
    GEMEL__TRY(visit(s));
  }
  return GEMEL_OK;
}

/* The sign of a difference is BEFORE at LOW and another at HIGH: runs the pair where it changes,
 * and beside that. */
static gemel_status meet(struct target_search *s, size_t watched, size_t element, int before) {
  size_t from = 0, to = s->total;
  double met = NAN;
  while (to - from > 1 && !s->stopped) {
    size_t middle = from + (to - from) / 2;
    go_to(s, middle);
    met = look(s) ? seen_at(s, watched, element) : NAN;
    if (isnan(met)) {
      return GEMEL_OK;
    }
    *(sign_of(met) == before ? &from : &to) = middle;
  }
  go_to(s, to);
  met = look(s) ? seen_at(s, watched, element) : NAN;
  for (size_t k = from > 0 ? from - 1 : 0; k <= to + 1 && !s->stopped; k++) {
    GEMEL__TRY(visit_at(s, k));
  }
  return met != 0 && !s->stopped ? cross_element(s, watched, element, to, before, met) : GEMEL_OK;
}

/* ---- All of them ---- */

static void note_ends(struct target_search *s, int high) {
  for (size_t k = 0; k < s->n_watched; k++) {
    for (size_t i = 0; i < MOST_ELEMENTS; i++) {
      s->ends[(2 * k + (size_t)high) * MOST_ELEMENTS + i] = seen_at(s, k, i);
    }
  }
}

/* The ties of one comparison between two ends, of a few elements whose sign changes. */
static gemel_status meet_some(struct target_search *s, size_t watched) {
  const double *low = &s->ends[2 * watched * MOST_ELEMENTS], *high = low + MOST_ELEMENTS;
  size_t changing[MOST_ELEMENTS], n = 0;
  for (size_t i = 0; i < MOST_ELEMENTS; i++) {
    if (!isnan(low[i]) && !isnan(high[i]) && sign_of(low[i]) != sign_of(high[i])) {
      changing[n++] = i;
    }
  }
  for (size_t k = 0; k < EACH && k < n && !s->stopped; k++) {
    size_t i = changing[n > 1 ? k * (n - 1) / (n < EACH ? n - 1 : EACH - 1) : 0];
    if (s->searches++ < MOST_SEARCHES) {
      GEMEL__TRY(meet(s, watched, i, sign_of(low[i])));
    }
  }
  return GEMEL_OK;
}

static gemel_status follow(struct target_search *s) {
  int known = s->n_watched > 0;
  for (int high = 0; high < 2 && !s->stopped; high++) {
    GEMEL__TRY(visit_at(s, high ? s->total : 0));
    if (known && !s->stopped) {
      known = look(s);
      note_ends(s, high);
    }
  }
  for (size_t k = 0; k < s->n_watched && known && !s->stopped; k++) {
    GEMEL__TRY(meet_some(s, k));
  }
  return GEMEL_OK;
}

/* Moves all inputs together, then some of them alone, while the others stay as they are. */
static gemel_status follow_all(struct target_search *s) {
  int styles = s->n_watched > 0 ? STYLES : STYLES / 2;
  size_t alone = s->n_watched > 0 && s->instance.n_leaves > 1 ? s->instance.n_leaves : 0;
  for (int style = 0; style < styles; style++) {
    for (size_t k = 0; k <= alone && k <= ALONE && !s->stopped; k++) {
      s->first = k == 0 ? 0 : alone <= ALONE ? k - 1 : gemel__random_below(s->how->random, alone);
      s->n_moved = k == 0 ? s->instance.n_leaves : 1;
      s->backwards = style % 2 != 0;
      draw_way(s, style);
      GEMEL__TRY(s->total > 0 ? follow(s) : GEMEL_OK);
    }
  }
  return GEMEL_OK;
}

/* Visits points among whose numbers are solutions of what the graphs compare with constants, such
 * as keys that give a random number which few keys give. */
static gemel_status visit_aims(struct target_search *s, const gemel__pair *pair) {
  gemel__aims aims;
  gemel_status status = gemel__aims_of_graphs(pair->a.graph, pair->b.graph, &aims, s->error);
  size_t rounds = status == GEMEL_OK ? gemel__aims_rounds(&aims, &s->instance) : 0;
  gemel__random random = *s->how->random; /* what is searched for later stays the same */
  double least = s->left * (1 - AIMS_SHARE);
  for (size_t round = 0; round < rounds && status == GEMEL_OK && !s->stopped && s->left > least;
       round++) {
    gemel__aims_plant(&aims, round, &random, s->at);
    for (size_t k = 0; k < s->instance.n_leaves; k++) {
      gemel__tensor_settle(&s->instance.leaves[k], s->at[k]);
    }
    status = visit(s);
  }
  gemel__aims_clear(&aims);
  return status;
}

static gemel_status begin(struct target_search *s, const gemel__pair *pair) {
  gemel_tensor ***const all[] = {&s->low, &s->high, &s->at};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    GEMEL__TRY(
        gemel__values_draw(&pair->a, GEMEL__FILL_INTEGERS, s->how->random, all[k], s->error));
  }
  s->seen = gemel__alloc_zeroed(MOST_WATCHED * sizeof *s->seen);
  s->ends = gemel__alloc_array(2 * MOST_WATCHED * MOST_ELEMENTS, sizeof *s->ends);
  return s->seen == NULL || s->ends == NULL ? gemel__no_memory(s->error, "what is compared")
                                            : GEMEL_OK;
}

static void end(struct target_search *s) {
  gemel_tensor **const all[] = {s->low, s->high, s->at};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    gemel__values_free(&s->instance, all[k]);
  }
  gemel__free(s->seen, MOST_WATCHED * sizeof *s->seen);
  gemel__free(s->ends, 2 * MOST_WATCHED * MOST_ELEMENTS * sizeof *s->ends);
}

gemel_status gemel__targets_find(const gemel__pair *pair, const gemel__targets *how,
                                 gemel_error *error) {
  struct target_search s = {.how = how,
                            .instance = pair->a,
                            .pair_cost = gemel__pair_elements(pair),
                            .left = how->elements,
                            .error = error};
  gemel_status status = begin(&s, pair);
  if (status == GEMEL_OK) {
    gemel_tensor **drawn = gemel__values_copy(&s.instance, s.at, error);
    status = drawn != NULL ? visit_aims(&s, pair) : GEMEL_NO_MEMORY;
    if (drawn != NULL) {
      gemel__values_free(&s.instance, s.at);
      s.at = drawn;
    }
  }
  for (int side = 0; side < 2 && status == GEMEL_OK && !s.stopped; side++) {
    status = watch(&s, side == 0 ? pair->a.graph : pair->b.graph, error);
    if (status == GEMEL_OK && (side == 0 || s.n_watched > 0)) {
      status = follow_all(&s);
    }
    if (s.seen != NULL) {
      gemel__tensors_release(s.n_watched, s.seen);
    }
    gemel_function_free(s.function);
    s.function = NULL;
    s.searches = s.n_watched = 0;
  }
  end(&s);
  return status == GEMEL_OK && s.starved ? gemel__no_memory(error, "a point") : status;
}
