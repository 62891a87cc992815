/* SPDX-License-Identifier: MIT
 *
 * Makes two graphs comparable, see pair.h. A symbolic graph is instantiated by inlining it into a
 * new graph whose inputs have concrete types; that binds the symbols in its attributes too.
 */
#include "pairs/pair.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "instances/assumed.h"
#include "base/status.h"
#include "core/alloc.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/graph.h"
#include "ops/ops.h"

enum { DRAWS = 40 };

/* ---- Matching ---- */

/* Names are interned in the context, which both graphs share. */
static long find_input(const gemel_graph *graph, const char *name) {
  return gemel__name_find(&graph->input_table, graph->input_names, name);
}

static long find_output(const gemel_graph *graph, const char *name) {
  return gemel__name_find(&graph->output_table, graph->output_names, name);
}

static gemel_status types_differ(const char *what, const char *name, gemel_value x, gemel_value y,
                                 gemel_error *error) {
  gemel_context *context = gemel_graph_context(x.graph);
  char a[256], b[256];
  gemel_type_format(context, gemel_value_type(x), a, sizeof a);
  gemel_type_format(context, gemel_value_type(y), b, sizeof b);
  return gemel__fail(error, GEMEL_BAD_TYPE, "%s %s is %s in the first graph and %s in the second",
                     what, name, a, b);
}

/* Outputs must have the same dtype and rank. Their dims may be written differently. */
static int outputs_fit(gemel_value x, gemel_value y) {
  gemel_context *context = gemel_graph_context(x.graph);
  gemel_type a = gemel_value_type(x), b = gemel_value_type(y);
  return gemel_type_dtype(context, a) == gemel_type_dtype(context, b) &&
         gemel_type_rank(context, a) == gemel_type_rank(context, b);
}

static gemel_status check_inputs(const gemel_graph *a, const gemel_graph *b, gemel_error *error) {
  for (size_t k = 0; k < gemel_graph_input_count(a); k++) {
    const char *name = gemel_graph_input_name(a, k);
    long at = find_input(b, name);
    if (at < 0) {
      return gemel__fail(error, GEMEL_BAD_TYPE, "the second graph has no input called %s", name);
    }
    if (!gemel_type_equal(gemel_value_type(gemel_graph_input(a, k)),
                          gemel_value_type(gemel_graph_input(b, (size_t)at)))) {
      return types_differ("input", name, gemel_graph_input(a, k), gemel_graph_input(b, (size_t)at),
                          error);
    }
  }
  for (size_t k = 0; k < gemel_graph_input_count(b); k++) {
    if (find_input(a, gemel_graph_input_name(b, k)) < 0) {
      return gemel__fail(error, GEMEL_BAD_TYPE, "the first graph has no input called %s",
                         gemel_graph_input_name(b, k));
    }
  }
  return GEMEL_OK;
}

static gemel_status check_outputs(const gemel_graph *a, const gemel_graph *b, gemel_error *error) {
  for (size_t k = 0; k < gemel_graph_output_count(a); k++) {
    const char *name = gemel_graph_output_name(a, k);
    long at = find_output(b, name);
    if (at < 0) {
      return gemel__fail(error, GEMEL_BAD_TYPE, "the second graph has no output called %s", name);
    }
    if (!outputs_fit(gemel_graph_output(a, k), gemel_graph_output(b, (size_t)at))) {
      return types_differ("output", name, gemel_graph_output(a, k),
                          gemel_graph_output(b, (size_t)at), error);
    }
  }
  for (size_t k = 0; k < gemel_graph_output_count(b); k++) {
    if (find_output(a, gemel_graph_output_name(b, k)) < 0) {
      return gemel__fail(error, GEMEL_BAD_TYPE, "the first graph has no output called %s",
                         gemel_graph_output_name(b, k));
    }
  }
  if (gemel_graph_output_count(a) == 0) {
    return gemel__fail(error, GEMEL_BAD_TYPE, "the graphs have no outputs");
  }
  return GEMEL_OK;
}

gemel_status gemel__pair_check(const gemel_graph *a, const gemel_graph *b, gemel_error *error) {
  if (gemel_graph_context(a) != gemel_graph_context(b)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the graphs are of different contexts");
  }
  GEMEL__TRY(check_inputs(a, b, error));
  return check_outputs(a, b, error);
}

/* ---- Instantiating ---- */

struct pair_sizes {
  gemel_context *context;
  const gemel_graph *a, *b;
  gemel__random *random;
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t values[GEMEL__MOST_SYMBOLS];
  size_t n;
  int64_t all; /* the size of every symbol; 0: each is drawn */
  int small;   /* only sizes up to 3 */
  int large;   /* half of the sizes are above the usual ones, which were tried in vain */
};

/* The size of a symbol, one for each name. Sizes 0 and 1 are drawn less often than the others. */
static int size_of(void *user, const gemel__atom *atom, int64_t *value) {
  static const int64_t usual[] = {2, 3, 1, 4, 5, 6, 3, 0}, large[] = {7, 8, 9, 10, 12, 14, 16, 20};
  struct pair_sizes *s = user;
  if (atom->kind != GEMEL__ATOM_SYMBOL) {
    return -1;
  }
  for (size_t k = 0; k < s->n; k++) {
    if (strcmp(s->names[k], atom->name) == 0) {
      *value = s->values[k];
      return 0;
    }
  }
  if (s->n == GEMEL__MOST_SYMBOLS) {
    return -1;
  }
  s->names[s->n] = atom->name;
  const int64_t *sizes = s->large && gemel__random_chance(s->random, 1, 2) ? large : usual;
  s->values[s->n] =
      s->all > 0
          ? s->all
          : sizes[gemel__random_below(s->random, s->small ? 3 : sizeof usual / sizeof *usual)];
  *value = s->values[s->n++];
  return 0;
}

static gemel_type concrete(struct pair_sizes *s, gemel_type type, gemel_error *error) {
  const gemel_dim *dims = gemel_type_dims(s->context, type);
  int rank = gemel_type_rank(s->context, type), k;
  int64_t shape[GEMEL_MAX_RANK];
  for (k = 0; k < rank; k++) {
    if (gemel__dim_evaluate(s->context, dims[k], size_of, s, &shape[k], error) != GEMEL_OK ||
        shape[k] < 0) {
      return GEMEL_TYPE_NONE;
    }
  }
  return gemel_type_of_shape(s->context, gemel_type_dtype(s->context, type), rank, shape);
}

/* Gives sizes to symbols that are in no input's type but in that of another node: a value may be
 * broadcast to N although no input has an N. */
static void add_symbols(const gemel_graph *from, struct pair_sizes *s) {
  gemel_error ignored;
  for (size_t k = 0; k < from->n_nodes; k++) {
    if (gemel__has_output(from, (uint32_t)k, 0)) {
      concrete(s, gemel__node_type(from, (uint32_t)k, 0), &ignored);
    }
  }
}

/* Fills INTO with inputs and outputs in the order of ORDER's. */
static gemel_status fill_graph(gemel_graph *into, const gemel_graph *from, const gemel_graph *order,
                               struct pair_sizes *s, gemel_value *inputs, gemel_value *outputs,
                               gemel_error *error) {
  for (size_t k = 0; k < gemel_graph_input_count(order); k++) {
    const char *name = gemel_graph_input_name(order, k);
    long at = find_input(from, name);
    gemel_type type = concrete(s, gemel_value_type(gemel_graph_input(from, (size_t)at)), error);
    if (gemel_type_is_none(type)) {
      return gemel__fail(error, GEMEL_BAD_SHAPE, "input %s: its sizes can't be instantiated", name);
    }
    inputs[at] =
        gemel_input_at(into, name, type, gemel_value_where(gemel_graph_input(from, (size_t)at)));
    if (gemel__input_add_marks(into, k, gemel__facts_of_both(s->a, s->b, name)) != 0) {
      return gemel__no_memory(error, "an instance");
    }
  }
  add_symbols(from, s);
  GEMEL__TRY(gemel__graph_status(into, error));
  gemel_dim sizes[GEMEL__MOST_SYMBOLS];
  for (size_t k = 0; k < s->n; k++) {
    sizes[k] = gemel_dim_constant(s->context, s->values[k]);
  }
  GEMEL__TRY(gemel__graph_instantiate(into, from, inputs, outputs, s->n, s->names, sizes, error));
  for (size_t k = 0; k < gemel_graph_output_count(order); k++) {
    const char *name = gemel_graph_output_name(order, k);
    GEMEL__TRY(gemel_output(outputs[find_output(from, name)], name));
  }
  return GEMEL_OK;
}

static gemel_status instantiate(gemel__instance *instance, const gemel_graph *from,
                                const gemel_graph *order, struct pair_sizes *s,
                                gemel_error *error) {
  size_t n_in = gemel_graph_input_count(from), n_out = gemel_graph_output_count(from);
  gemel_value *room = gemel__alloc_array(n_in + n_out, sizeof *room);
  gemel_graph *graph = gemel_graph_new(s->context, error);
  gemel_status status;
  if (room == NULL || graph == NULL) {
    status = gemel__no_memory(error, "an instance");
  } else {
    status = fill_graph(graph, from, order, s, room, room + n_in, error);
  }
  status = status ? status : gemel__instance_of_graph(instance, graph, NULL, error);
  gemel__free(room, (n_in + n_out) * sizeof *room);
  gemel_graph_unref(graph);
  return status;
}

/* ---- Drawing ---- */

/* Both graphs at the sizes of S. */
static gemel_status draw_once(gemel__pair *pair, struct pair_sizes *s, gemel_error *error) {
  memset(pair, 0, sizeof *pair);
  gemel_status status = instantiate(&pair->a, s->a, s->a, s, error);
  status = status ? status : instantiate(&pair->b, s->b, s->a, s, error);
  pair->symbols = s->n;
  if (status != GEMEL_OK) {
    gemel__pair_clear(pair);
  }
  return status;
}

gemel_status gemel__pair_draw_at(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                                 size_t n, const char *const *names, const int64_t *values,
                                 gemel__random *random, gemel_error *error) {
  struct pair_sizes s = {.context = gemel_graph_context(a), .a = a, .b = b, .random = random};
  for (; s.n < n && s.n < GEMEL__MOST_SYMBOLS; s.n++) {
    s.names[s.n] = names[s.n];
    s.values[s.n] = values[s.n];
  }
  return draw_once(pair, &s, error);
}

gemel_status gemel__pair_draw_all(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                                  int64_t size, gemel__random *random, gemel_error *error) {
  struct pair_sizes s = {
      .context = gemel_graph_context(a), .a = a, .b = b, .random = random, .all = size};
  return draw_once(pair, &s, error);
}

static int take_symbol(void *user, const gemel__atom *atom, int64_t *value) {
  struct pair_sizes *s = user;
  size_t k = 0;
  *value = 2;
  if (atom->kind != GEMEL__ATOM_SYMBOL) {
    return -1;
  }
  while (k < s->n && strcmp(s->names[k], atom->name) != 0) {
    k++;
  }
  if (k == s->n && s->n < GEMEL__MOST_SYMBOLS) {
    s->names[s->n++] = atom->name;
  }
  return 0;
}

size_t gemel__pair_symbols(const gemel_graph *a, const char **names, size_t room) {
  size_t k;
  struct pair_sizes s;
  gemel_error ignored;
  memset(&s, 0, sizeof s);
  s.context = gemel_graph_context(a);
  for (k = 0; k < gemel_graph_input_count(a); k++) {
    gemel_type type = gemel_value_type(gemel_graph_input(a, k));
    int rank = gemel_type_rank(s.context, type), j;
    for (j = 0; j < rank; j++) {
      int64_t size;
      gemel__dim_evaluate(s.context, gemel_type_dims(s.context, type)[j], take_symbol, &s, &size,
                          &ignored);
    }
  }
  for (k = 0; k < s.n && k < room; k++) {
    names[k] = s.names[k];
  }
  return k;
}

gemel_status gemel__pair_draw(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                              gemel__random *random, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (int tries = 0; tries < DRAWS; tries++) {
    struct pair_sizes s = {.context = gemel_graph_context(a),
                           .a = a,
                           .b = b,
                           .random = random,
                           .small = gemel__random_below(random, 2) == 0,
                           .large = tries >= DRAWS / 2};
    status = draw_once(pair, &s, error);
    status = status
                 ? status
                 : gemel__pair_find_ranges(pair, gemel__random_bits(random), random, NULL, error);
    if (status == GEMEL_OK) {
      return status;
    }
    gemel__pair_clear(pair);
    if (status == GEMEL_NO_MEMORY || s.n == 0) {
      return status;
    }
  }
  return status;
}

double gemel__graph_elements(const gemel_graph *graph, int64_t unknown) {
  double sum = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    for (uint32_t i = 0; gemel__has_output(graph, k, i); i++) {
      sum +=
          gemel__type_elements(gemel_graph_context(graph), gemel__node_type(graph, k, i), unknown);
    }
  }
  return sum;
}

/* How many products GRAPH computes. [m, k] by [k, n] takes m k n, which is the square root of (m
 * k)(k n)(m n); of a convolution this is an estimate. */
static double products(const gemel_graph *graph, int64_t unknown) {
  gemel_context *context = gemel_graph_context(graph);
  double sum = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    const struct gemel__row *row = gemel__node_op(graph, k)->row;
    uint32_t n;
    const gemel__ref *in = gemel__node_inputs(graph, k, &n);
    if (row != NULL && n >= 2 &&
        (row->family == GEMEL__FAMILY_linalg || row->family == GEMEL__FAMILY_conv)) {
      sum += sqrt(gemel__type_elements(context, gemel__node_type(graph, in[0].node, in[0].output),
                                       unknown) *
                  gemel__type_elements(context, gemel__node_type(graph, in[1].node, in[1].output),
                                       unknown) *
                  gemel__type_elements(context, gemel__node_type(graph, k, 0), unknown));
    }
  }
  return sum;
}

double gemel__graphs_elements(const gemel_graph *a, const gemel_graph *b, int64_t unknown) {
  return gemel__graph_elements(a, unknown) + gemel__graph_elements(b, unknown);
}

double gemel__constant_elements(const gemel_graph *graph) {
  double sum = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    if (gemel__node_at(graph, k)->op == GEMEL__OP_constant) {
      sum += gemel__type_elements(graph->context, gemel__node_type(graph, k, 0), 1);
    }
  }
  return sum;
}

double gemel__pair_elements(const gemel__pair *pair) {
  return gemel__graph_elements(pair->a.graph, 1) + gemel__graph_elements(pair->b.graph, 1);
}

double gemel__graph_work(const gemel_graph *graph, int64_t unknown) {
  return gemel__graph_elements(graph, unknown) + products(graph, unknown) / 4;
}

double gemel__pair_work(const gemel__pair *pair) {
  return gemel__graph_work(pair->a.graph, 1) + gemel__graph_work(pair->b.graph, 1);
}

void gemel__pair_clear(gemel__pair *pair) {
  gemel__instance_clear(&pair->a);
  gemel__instance_clear(&pair->b);
}

/* ---- Deciding ---- */

gemel_status gemel__pair_decide(const gemel__pair *pair, const gemel__question *how,
                                gemel__answer *answer, gemel_error *error) {
  enum { CONSTANTS = 24 };
  gemel__model_side left = {gemel__side_graph, pair->a.graph},
                    right = {gemel__side_graph, pair->b.graph};
  gemel__question question = *how;
  double constants[CONSTANTS];
  question.leaves = &pair->a;
  question.left = &left;
  question.right = &right;
  question.n_outputs = gemel_graph_output_count(pair->a.graph);
  question.n_constants = 0;
  gemel__constants(pair->a.graph, constants, CONSTANTS, &question.n_constants);
  gemel__constants(pair->b.graph, constants, CONSTANTS, &question.n_constants);
  question.constants = constants;
  question.special = question.compare_domain != GEMEL__IEEE_DECIDES
                         ? 0
                         : gemel__has_special_constants(pair->a.graph) |
                               gemel__has_special_constants(pair->b.graph) << 1;
  return gemel__decide(&question, answer, error);
}
