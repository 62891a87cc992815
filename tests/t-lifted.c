/*
 * What lifted graphs compute, on a device whose memory the host can't touch: lifted graphs, their
 * gradients and lifted gradients give what the host gives, bit for bit; random graphs by both
 * strategies do, too; what crosses, and what the cheapest places cost, is the least possible.
 * Planted faults turn these checks red.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/two-devices.h"

#include <fnmatch.h>
#include "core/graph.h"
#include "rules/fuzz-random-graph.h"
#include "instances/instance.h"
#include "core/cut.h"
#include "lift/lift.h"
#include "run.h"
#include "base/random.h"
#include "support/graph-text.h"
#include "support/lifted.h"

/* ---- Results ---- */

/* 1 if the number of values that cross by a call, or once, is not what the report says, or greater
 * than need be: no value is transferred twice to one side, and none that is transferred came from
 * there. */
static int crosses_too_often(const gemel_graph *lifted) {
  gemel_context *context = gemel_graph_context(lifted);
  size_t n = gemel_graph_node_count(lifted);
  int bad = 0;
  for (uint32_t k = 0; k < n; k++) {
    gemel_value v = {(gemel_graph *)lifted, k, 0}, in = gemel_value_input(v, 0);
    if (strcmp(gemel_value_operation(v), "transfer") == 0) {
      bad |= strcmp(gemel_value_operation(in), "transfer") == 0 &&
             gemel_type_space(context, gemel_value_type(gemel_value_input(in, 0))) ==
                 gemel_type_space(context, gemel_value_type(v));
    }
  }
  return bad;
}

/* 1 if an input or output of LIFTED, which is one of a graph of the host's, lies elsewhere than
 * OPTIONS say: lists of one word. */
static int is_misplaced(const gemel_graph *lifted, const gemel_lift_options *options) {
  gemel_context *context = gemel_graph_context(lifted);
  int bad = 0;
  for (size_t k = 0; k < gemel_graph_input_count(lifted); k++) {
    int there = options->inputs != NULL &&
                fnmatch(options->inputs, gemel_graph_input_name(lifted, k), 0) == 0;
    gemel_type type = gemel_value_type(gemel_graph_input(lifted, k));
    bad |= gemel_type_space(context, type) != there;
  }
  for (size_t k = 0; k < gemel_graph_output_count(lifted); k++) {
    int there = options->outputs != NULL &&
                fnmatch(options->outputs, gemel_graph_output_name(lifted, k), 0) == 0;
    gemel_type type = gemel_value_type(gemel_graph_output(lifted, k));
    bad |= gemel_type_space(context, type) != there;
  }
  return bad;
}

/* The reference for what is computed: each of the catalogue's kinds of nodes in one graph. */
static const char *const bodies[] = {
    "(x: f32[6], w: f32[6]) {\n"
    "  return y = sum(tanh(x * w) * 2 + 1 / (1 + exp(-x)) - where(x > 0.5, sqr(w), 3))\n"
    "}\n",
    "(x: f32[6], w: f32[6]) {\n"
    "  p = softmax(x) * prod(w)\n"
    "  return y = sum(p) + max(x) * 0.5, k = argmax(p, axis = 0)\n"
    "}\n",
    "(x: f32[6], w: f32[6]) {\n"
    "  m = reshape(x, shape = [2, 3])\n"
    "  n = dimshuffle(reshape(w, shape = [2, 3]), order = [1, 0])\n"
    "  return y = sum(pad(dot(m, n), 1:f32, low = [1, 1], high = [2, 0])) + sum(dot(n, m)), m2 = "
    "n\n"
    "}\n",
    "(x: f32[6], w: f32[6]) {\n"
    "  c = sum(x > 1.5)\n"
    "  head = subtensor(w, start = [0], size = [c])\n"
    "  return y = sum(sqr(head) + arange(n = c, dtype = f32)), h = head\n"
    "}\n",
    "(x: f32[6], w: f32[6]) {\n"
    "  s = set_subtensor(x, subtensor(w, start = [1], size = [3]), start = [2])\n"
    "  return y = sum(s * x), a = argmax(s, axis = 0), s = s + w\n"
    "}\n",
    "(x: f32[6], w: f32[6]) {\n"
    "  a, b = split(x * w, sizes = [2, 4])\n"
    "  return y = sum(sqr(b)), a = a, b = b\n"
    "}\n",
};

static gemel_graph *with_gradient(gemel_graph *graph) {
  gemel_value y = gemel_graph_output(graph, 0);
  gemel_value wrt[2] = {gemel_graph_input(graph, 0), gemel_graph_input(graph, 1)}, slopes[2];
  CT_EQ_INT(gemel_grad(1, &y, NULL, 2, wrt, slopes, &error), GEMEL_OK);
  gemel_output(gemel__in_space(slopes[0], 0, (gemel_location){"", 0}), "dx");
  gemel_output(gemel__in_space(slopes[1], 0, (gemel_location){"", 0}), "dw");
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_OK);
  return graph;
}

/* Lifted gradients, gradients of what is lifted, and these lifted once more: how many differ from
 * the host's. */
static int wrong_gradients(gemel_context *context, const char *body, gemel_lift_options options,
                           char *what, size_t bytes) {
  gemel_tensor *in[2] = {vector_of(GEMEL_F32, 6, -0.75), vector_of(GEMEL_F32, 6, -2.25)};
  gemel_graph *host = with_gradient(graph_of(context, body)), *plain = graph_of(context, body);
  gemel_graph *lifted[3] = {NULL, NULL, NULL};
  int wrong = 0;
  options.size = sizeof options;
  options.space = 1;
  lifted[0] = gemel_lift(host, &options, &error);
  lifted[1] = lifted[0] != NULL ? gemel_lift(plain, &options, &error) : NULL;
  if (lifted[1] != NULL && options.outputs == NULL && options.inputs == NULL) {
    with_gradient(lifted[1]);
    lifted[2] = gemel_lift(lifted[1], &options, &error);
  }
  snprintf(what, bytes, "%s", error.text);
  wrong += lifted[0] == NULL || lifted[1] == NULL;
  for (int k = 0; k < 3 && wrong == 0; k++) {
    const gemel_graph *against = k == 1 && lifted[2] == NULL ? plain : host;
    if (lifted[k] != NULL) {
      wrong += is_wrong(against, lifted[k], in, k % 2, 1, what, bytes) ||
               (k == 0 && (crosses_too_often(lifted[k]) || is_misplaced(lifted[k], &options)));
    }
  }
  for (int k = 0; k < 3; k++) {
    gemel_graph_unref(lifted[k]);
  }
  release(in, 2);
  gemel_graph_unref(host);
  gemel_graph_unref(plain);
  return wrong;
}

/* Over all bodies, strategies, and where inputs and outputs lie. */
static int wrong_bodies(char *what, size_t bytes) {
  static const char *const places[][2] = {{NULL, NULL}, {"x", "y"}, {"*", "*"}};
  gemel_context *context = context_with_devices();
  int wrong = 0;
  for (size_t k = 0; k < CT_COUNT(bodies) && wrong == 0; k++) {
    for (size_t p = 0; p < CT_COUNT(places) && wrong == 0; p++) {
      for (int s = 0; s < GEMEL_LIFT_STRATEGY_COUNT && wrong == 0; s++) {
        gemel_lift_options options = {
            .strategy = (gemel_lift_strategy)s, .inputs = places[p][0], .outputs = places[p][1]};
        wrong += wrong_gradients(context, bodies[k], options, what, bytes);
      }
    }
  }
  leave(context);
  return wrong;
}

static void gradients(const void *data) {
  char what[1200];
  (void)data;
  int wrong = wrong_bodies(what, sizeof what);
  ct_context("%s", what);
  CT_EQ_INT(wrong, 0);
}

/* ---- States ---- */

/* A recurrence of two states, each of which the other's update reads. */
static const char recurrence[] = "(state w: f32[4], state v: f32[4], x: f32[4]) {\n"
                                 "  update w = w + v * x\n"
                                 "  update v = v - w\n"
                                 "  return s = sum(w * v)\n"
                                 "}\n";

/* Calls of the recurrence, of which every third is by the host's function and the others by one
 * that is lifted: how many give something else than the host alone. */
static int wrong_states(char *what, size_t bytes) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, recurrence);
  gemel_tensor *x = vector_of(GEMEL_F32, 4, 0.25), *out[2] = {NULL, NULL};
  gemel_shared *mine[2] = {gemel_shared_new(x, &error), gemel_shared_new(x, &error)};
  gemel_shared *hosts[2] = {gemel_shared_new(x, &error), gemel_shared_new(x, &error)};
  gemel_lift_options lift = {.size = sizeof lift, .space = 1, .states = 1};
  gemel_options options = {
      .size = sizeof options, .threads = 1, .plain = 1, .states = hosts, .n_states = 2};
  gemel_function *alone = gemel_compile(graph, &options, &error), *here, *there;
  int wrong = 0;
  options.states = mine;
  here = gemel_compile(graph, &options, &error);
  options.lift = &lift;
  there = gemel_compile(graph, &options, &error);
  snprintf(what, bytes, "states: %s", error.text);
  wrong += there == NULL;
  for (int k = 0; k < 9 && wrong == 0; k++) {
    wrong += gemel_call(alone, 1, &x, 1, &out[0], &error) != GEMEL_OK;
    wrong += gemel_call(k % 3 == 2 ? here : there, 1, &x, 1, &out[1], &error) != GEMEL_OK;
    snprintf(what, bytes, "states, call %d: %s", k, error.text);
    wrong = wrong || differ(&out[0], &out[1], 1);
  }
  for (int k = 0; k < 2; k++) {
    gemel_shared_unref(mine[k]);
    gemel_shared_unref(hosts[k]);
    gemel_tensor_unref(out[k]);
  }
  gemel_tensor_unref(x);
  gemel_function_free(alone);
  gemel_function_free(here);
  gemel_function_free(there);
  gemel_graph_unref(graph);
  leave(context);
  return wrong;
}

static void states(const void *data) {
  char what[1200];
  (void)data;
  int wrong = wrong_states(what, sizeof what);
  ct_context("%s", what);
  CT_EQ_INT(wrong, 0);
}

/* ---- Random graphs ---- */

/* GRAPH lifted by STRATEGY, with some inputs and outputs on the device, gives what it gives on the
 * host; lifted again it is the same. */
static int is_wrong_lifted(const gemel_graph *graph, int strategy, gemel_tensor *const *values,
                           gemel__random *random, char *what, size_t bytes) {
  static const char *const lists[] = {NULL, "*", "*[02468]"};
  gemel_lift_options options = {
      .size = sizeof options, .space = 1, .strategy = (gemel_lift_strategy)strategy};
  options.inputs =
      gemel_graph_input_count(graph) > 0 ? lists[gemel__random_below(random, 3)] : NULL;
  options.outputs = lists[gemel__random_below(random, 3)];
  gemel_graph *lifted = gemel_lift(graph, &options, &error);
  snprintf(what, bytes, "%s", error.text);
  if (lifted == NULL) {
    return 1;
  }
  gemel_lift_options given = options;
  options.inputs = options.outputs = NULL;
  gemel_graph *again = gemel_lift(lifted, &options, &error);
  char *a = gemel_print_string(lifted, "g", NULL);
  char *b = again != NULL ? gemel_print_string(again, "g", NULL) : NULL;
  int wrong = b == NULL || (count_of(graph, "transfer") == 0 && strcmp(a, b) != 0);
  if (wrong) {
    snprintf(what, bytes, "lifted again is another:\n%.500s\n%.500s", a, b != NULL ? b : "");
  }
  wrong |= crosses_too_often(lifted) || gemel_graph_check(lifted, &error) != GEMEL_OK;
  wrong |= is_misplaced(lifted, &given);
  if (!wrong) {
    int plain = adds_up(graph) || gemel__random_chance(random, 1, 2);
    wrong = is_wrong(graph, lifted, values, plain, 1, what, bytes);
    size_t used = strlen(what);
    snprintf(what + used, bytes - used, "\nplain: %d\n%s", plain, wrong ? a : "");
  }
  gemel_text_free(a);
  gemel_text_free(b);
  gemel_graph_unref(lifted);
  gemel_graph_unref(again);
  return wrong;
}

/* Random graphs, both strategies; how many were compared, and in *WRONG how many differ. */
static int random_graphs(int n, int *wrong, char *what, size_t bytes) {
  gemel_context *context = context_with_devices();
  const gemel_rules *rules[1] = {gemel_rules_builtin(context, &error)};
  gemel__random random;
  int compared = 0;
  *wrong = 0;
  gemel__random_seed(&random, 11);
  for (int k = 0; k < n && *wrong == 0; k++) {
    gemel_graph *graph = gemel__random_graph(context, rules, 1, 2 + k % 8, 0, &random, &error);
    gemel__instance instance;
    gemel_tensor **values;
    if (graph == NULL || !all_on_host(graph) || graph->n_outputs > MOST_VALUES ||
        gemel__instance_of_graph(&instance, graph, NULL, &error) != GEMEL_OK) {
      gemel_graph_unref(graph);
      continue;
    }
    if (gemel__values_draw(&instance, GEMEL__FILL_FULL, &random, &values, &error) == GEMEL_OK) {
      for (int s = 0; s < GEMEL_LIFT_STRATEGY_COUNT && *wrong == 0; s++) {
        *wrong += is_wrong_lifted(graph, s, values, &random, what, bytes);
        compared++;
      }
      gemel__values_free(&instance, values);
    }
    gemel__instance_clear(&instance);
    gemel_graph_unref(graph);
  }
  gemel_rules_unref((gemel_rules *)rules[0]);
  leave(context);
  return compared;
}

static void random_lifts(const void *data) {
  char what[1200] = "";
  int wrong = 0, n = valgrind() ? 20 : 1000;
  (void)data;
  int compared = random_graphs(n, &wrong, what, sizeof what);
  ct_context("%s", what);
  CT_EQ_INT(wrong, 0);
  printf("  %d lifts compared\n", compared);
  CT_CHECK(compared > n);
}

/* ---- Least possible ---- */

enum { DRAWN_NODES = 14, MOST_FREE = 11, DRAWN_INPUTS = 3 };

/* A value of 256 to 16 million elements, square. */
static gemel_type drawn_type(gemel_context *context, gemel__random *random) {
  int64_t shape[2];
  shape[0] = shape[1] = 16 << gemel__random_below(random, 9);
  return gemel_type_of_shape(context, GEMEL_F32, 2, shape);
}

/* A node on VALUES of GRAPH: cheap, dear, one that stays on the host, a view, or one that makes its
 * operand small. */
static gemel_value drawn_node(gemel_graph *graph, gemel_value x, gemel_value y,
                              gemel__random *random) {
  static const int64_t swap[] = {1, 0};
  int same = gemel_type_equal(gemel_value_type(x), gemel_value_type(y));
  switch (gemel__random_below(random, 8)) {
  case 0:
    return gemel_exp(x);
  case 1:
    return gemel_dimshuffle(x, 2, swap);
  case 2:
    return gemel_add(x, gemel_cast(gemel_argmax(x, 0), GEMEL_F32));
  case 3:
    return gemel_add(x, gemel_sum(y));
  case 4:
  case 5:
    return same ? gemel_mul(x, y) : gemel_mul(x, gemel_scalar(graph, GEMEL_F32, 3));
  default:
    return same ? gemel_matmul(x, y) : gemel_matmul(x, x);
  }
}

static gemel_graph *drawn_graph(gemel_context *context, gemel__random *random) {
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_type types[2] = {drawn_type(context, random), drawn_type(context, random)};
  gemel_value values[DRAWN_NODES + DRAWN_INPUTS];
  char name[24];
  size_t n = 0;
  for (; n < DRAWN_INPUTS; n++) {
    snprintf(name, sizeof name, "x%zu", n);
    values[n] = gemel_input(graph, name, types[gemel__random_below(random, 2)]);
  }
  size_t most = DRAWN_INPUTS + 3 + gemel__random_below(random, 6);
  for (; n < most; n++) {
    gemel_value x = values[gemel__random_below(random, n)];
    values[n] = drawn_node(graph, x, values[n - 1 - gemel__random_below(random, 2)], random);
  }
  for (size_t k = DRAWN_INPUTS; k < n; k++) {
    if (k + 1 == n || gemel__random_below(random, 4) == 0) {
      snprintf(name, sizeof name, "y%zu", k);
      gemel_output(values[k], name);
    }
  }
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_OK);
  return graph;
}

static int is_op(const gemel_graph *graph, uint32_t node, const char *name) {
  return strcmp(gemel_value_operation((gemel_value){(gemel_graph *)graph, node, 0}), name) == 0;
}

static int is_view(const gemel_graph *graph, uint32_t node) {
  return (gemel__node_op(graph, node)->record.flags & GEMEL_OP_VIEW) != 0;
}

/* What is needed of a graph to try all places. */
typedef struct trial {
  const gemel_graph *graph;
  unsigned char live[200], there[200]; /* by node */
  uint32_t free[200];                  /* nodes */
  size_t n_free;
  gemel__lift_cost cost[200];
} trial;

static void trial_of(trial *t, const gemel_graph *graph, const gemel_lift_options *options) {
  gemel__lift_meter meter = {0};
  memset(t, 0, sizeof *t);
  t->graph = graph;
  gemel__graph_live(graph, t->live);
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    int input = is_op(graph, k, "input"), constant = is_op(graph, k, "constant");
    if (t->live[k] && !input && !constant) {
      CT_EQ_INT(gemel__lift_node_cost(&meter, graph, k, &t->cost[k], &error), GEMEL_OK);
    }
    if (t->live[k] && !input && !constant && !is_op(graph, k, "argmax") && !is_view(graph, k)) {
      t->free[t->n_free++] = k;
    }
  }
  for (size_t k = 0; k < graph->n_inputs; k++) {
    t->there[graph->inputs[k].node] =
        options->inputs != NULL && fnmatch(options->inputs, graph->input_names[k], 0) == 0;
  }
  gemel__lift_meter_clear(&meter);
}

/* 1 if NODE is read on side SIDE, maybe through views, which are made where they are read. */
static int read_on(const trial *t, uint32_t node, int side, const gemel_lift_options *options) {
  unsigned char shows[200] = {0}; /* by node: NODE, in another way */
  shows[node] = 1;
  for (uint32_t k = node + 1; k < t->graph->n_nodes; k++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(t->graph, k, &count);
    for (uint32_t j = 0; j < count && t->live[k]; j++) {
      shows[k] |= is_view(t->graph, k) && shows[in[j].node];
      if (!is_view(t->graph, k) && shows[in[j].node] && t->there[k] == side) {
        return 1;
      }
    }
  }
  for (size_t k = 0; k < t->graph->n_outputs; k++) {
    int there =
        options->outputs != NULL && fnmatch(options->outputs, t->graph->output_names[k], 0) == 0;
    if (shows[t->graph->outputs[k].node] && there == side) {
      return 1;
    }
  }
  return 0;
}

/* What the places THERE cost, and how many values cross. */
static int64_t cost_of(const trial *t, const gemel_lift_options *options, uint64_t *crossings) {
  int64_t total = 0;
  *crossings = 0;
  for (uint32_t k = 0; k < t->graph->n_nodes; k++) {
    if (t->live[k] && !is_op(t->graph, k, "constant") && !is_view(t->graph, k)) {
      int crosses = read_on(t, k, !t->there[k], options);
      total += t->there[k] ? t->cost[k].device : t->cost[k].host;
      total += crosses
                   ? gemel__lift_transfer_cost(t->graph->context, gemel__node_type(t->graph, k, 0))
                   : 0;
      *crossings += (uint64_t)crosses;
    }
  }
  return total;
}

/* The least that any places cost. */
static int64_t least_of(trial *t, const gemel_lift_options *options) {
  int64_t least = INT64_MAX;
  for (uint32_t set = 0; set < 1u << t->n_free; set++) {
    uint64_t crossings;
    for (size_t k = 0; k < t->n_free; k++) {
      t->there[t->free[k]] = set >> k & 1;
    }
    int64_t cost = cost_of(t, options, &crossings);
    least = cost < least ? cost : least;
  }
  return least;
}

/* What the transfers and nodes of LIFTED take; transfers of constants take nothing. */
static int64_t cost_of_lifted(const gemel_graph *lifted, uint64_t *crossings) {
  gemel__lift_meter meter = {0};
  int64_t total = 0;
  *crossings = 0;
  for (uint32_t k = 0; k < lifted->n_nodes; k++) {
    gemel_value v = {(gemel_graph *)lifted, k, 0};
    gemel__lift_cost cost = {0, 0};
    if (is_op(lifted, k, "transfer")) {
      if (!is_op(lifted, gemel_value_input(v, 0).node, "constant")) {
        total += gemel__lift_transfer_cost(lifted->context, gemel_value_type(v));
        ++*crossings;
      }
    } else if (!is_op(lifted, k, "input") && !is_op(lifted, k, "constant")) {
      CT_EQ_INT(gemel__lift_node_cost(&meter, lifted, k, &cost, &error), GEMEL_OK);
      total += gemel_type_space(lifted->context, gemel_value_type(v)) ? cost.device : cost.host;
    }
  }
  gemel__lift_meter_clear(&meter);
  return total;
}

/* Of N drawn graphs, by both strategies: how many are not the least possible. SPLIT: of how many
 * the cheapest places are on both sides. */
static int not_least(int n, int *split) {
  static const char *const lists[] = {NULL, "?[02468]", "?[02468]", "*"};
  gemel_context *context = context_with_devices();
  gemel_lift_report *report = gemel_lift_report_new();
  gemel__random random;
  int wrong = 0;
  *split = 0;
  gemel__random_seed(&random, 5);
  for (int done = 0; done < n;) {
    gemel_graph *graph = drawn_graph(context, &random);
    gemel_lift_options options = {.size = sizeof options, .space = 1, .report = report};
    trial t;
    options.inputs = lists[gemel__random_below(&random, 4)];
    trial_of(&t, graph, &options);
    if (t.n_free > MOST_FREE) {
      gemel_graph_unref(graph);
      continue;
    }
    gemel_graph *lifted = gemel_lift(graph, &options, &error);
    uint64_t made = 0, needed = 0;
    for (size_t k = 0; k < t.n_free; k++) {
      t.there[t.free[k]] = 1;
    }
    int64_t cost = cost_of(&t, &options, &needed);
    const gemel_lift_counts *counts = gemel_lift_report_counts(report);
    wrong += lifted == NULL || cost_of_lifted(lifted, &made) != cost || made != needed ||
             counts->uploads + counts->downloads != made || counts->lifted != t.n_free;
    gemel_graph_unref(lifted);
    options.strategy = GEMEL_LIFT_CHEAPEST;
    lifted = gemel_lift(graph, &options, &error);
    int64_t least = least_of(&t, &options);
    wrong += lifted == NULL || cost_of_lifted(lifted, &made) != least ||
             llround(counts->seconds * 1e12) != least || counts->excess != 0;
    *split += counts->lifted > 0 && counts->stayed > 0;
    gemel_graph_unref(lifted);
    gemel_graph_unref(graph);
    done++;
  }
  gemel_lift_report_free(report);
  leave(context);
  return wrong;
}

static void least(const void *data) {
  int split, n = valgrind() ? 100 : 500, wrong = not_least(n, &split);
  (void)data;
  CT_EQ_INT(wrong, 0);
  printf("  %d of %d graphs have nodes on both sides\n", split, n);
  CT_CHECK(split > n / 5);
}

/* ---- Cuts ---- */

enum { CUT_POINTS = 9 };

/* What a cut of the edges in FORWARD costs, of which POINTS are on the source's side. */
static int64_t cut_cost(int64_t forward[CUT_POINTS][CUT_POINTS], unsigned points) {
  int64_t cost = 0;
  for (int a = 0; a < CUT_POINTS; a++) {
    for (int b = 0; b < CUT_POINTS; b++) {
      cost += (points >> a & 1) && !(points >> b & 1) ? forward[a][b] : 0;
    }
  }
  return cost;
}

/* Random cuts, found by any number of phases, cost no more than they say above the least. */
static void cuts(const void *data) {
  gemel__random random;
  int given_up = 0, n = valgrind() ? 50 : 1000;
  (void)data;
  gemel__random_seed(&random, 3);
  for (int k = 0; k < n; k++) {
    int64_t forward[CUT_POINTS][CUT_POINTS] = {{0}}, least = INT64_MAX;
    gemel__cut cut;
    CT_EQ_INT(gemel__cut_start(&cut, CUT_POINTS, &error), GEMEL_OK);
    for (int e = 0; e < 20; e++) {
      uint32_t a = (uint32_t)gemel__random_below(&random, CUT_POINTS);
      uint32_t b = (uint32_t)gemel__random_below(&random, CUT_POINTS);
      int64_t there = (int64_t)gemel__random_below(&random, 9);
      int64_t back = (int64_t)gemel__random_below(&random, 9);
      if (a != b) {
        CT_EQ_INT(gemel__cut_add(&cut, a, b, there, back, &error), GEMEL_OK);
        forward[a][b] += there;
        forward[b][a] += back;
      }
    }
    for (unsigned points = 0; points < 1u << CUT_POINTS; points++) {
      int64_t cost = cut_cost(forward, points);
      int divides = (points >> GEMEL__CUT_SOURCE & 1) && !(points >> GEMEL__CUT_SINK & 1);
      least = divides && cost < least ? cost : least;
    }
    int phases = (int)gemel__random_below(&random, 4);
    int64_t excess = gemel__cut_find(&cut, k % 2 == 0 ? CUT_POINTS : phases);
    unsigned found = 0;
    for (uint32_t p = 0; p < CUT_POINTS; p++) {
      found |= (unsigned)gemel__cut_has(&cut, p) << p;
    }
    int64_t cost = cut_cost(forward, found);
    ct_context("cut %d, phases %d, excess %lld", k, phases, (long long)excess);
    CT_CHECK(gemel__cut_has(&cut, GEMEL__CUT_SOURCE) && !gemel__cut_has(&cut, GEMEL__CUT_SINK));
    CT_CHECK(cost >= least && cost <= least + excess);
    CT_CHECK(excess == 0 || k % 2 != 0);
    given_up += cost > least;
    gemel__cut_clear(&cut);
  }
  CT_CHECK(given_up > 0);
}

/* A chain of nodes that are a little faster on the device, from input to output: looking for the
 * least takes too long, and what is taken instead is that, or nearly so. */
static void long_chain(const void *data) {
  static const char *const lists[] = {NULL, "x"};
  gemel_context *context = context_with_devices();
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value x = f32_input(graph, "x", NULL, 4848);
  gemel_lift_report *report = gemel_lift_report_new();
  (void)data;
  enum { LINKS = 3000 };
  for (int k = 0; k < LINKS; k++) {
    x = gemel_exp(x);
  }
  gemel_output(x, "y");
  for (size_t k = 0; k < CT_COUNT(lists); k++) {
    gemel_graph *lifted =
        LIFT(graph, .strategy = GEMEL_LIFT_CHEAPEST, .inputs = lists[k], .report = report);
    const gemel_lift_counts *counts = gemel_lift_report_counts(report);
    CT_EQ_UINT(counts->lifted, k == 0 ? 0 : LINKS);
    CT_CHECK(counts->excess > 0 || k > 0);
    CT_CHECK(counts->excess < 0.01 * counts->seconds);
    gemel_graph_unref(lifted);
  }
  gemel_lift_report_free(report);
  gemel_graph_unref(graph);
  leave(context);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("gradients", gradients, NULL), CT_TEST("states", states, NULL),
      CT_TEST("random", random_lifts, NULL), CT_TEST("least", least, NULL),
      CT_TEST("cuts", cuts, NULL),           CT_TEST("long_chain", long_chain, NULL),
  };
  ct_suite("lifted", tests, CT_COUNT(tests));
}
