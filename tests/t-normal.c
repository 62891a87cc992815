/*
 * Normal forms of attributes: a node with them has the same type and the same bits as the node as
 * it was written, for random instances of every operation, and what is normal stays. Ways of
 * writing the same thing have one normal form; ways of writing different things don't.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/attrs.h"
#include "core/graph.h"
#include "instances/instance.h"
#include "reference/twin.h"
#include "tiers/tiers.h"

enum { INSTANCES = 60 };

static gemel_error error;
static size_t compared; /* pairs of results */

/* The normal form of node NODE's attributes. */
static uint32_t normal_of(const gemel_graph *graph, uint32_t node) {
  gemel_type types[64];
  uint32_t count, normal = 0;
  const gemel__ref *inputs = gemel__node_inputs(graph, node, &count);
  for (uint32_t k = 0; k < count && k < 64; k++) {
    types[k] = gemel__node_type(graph, inputs[k].node, inputs[k].output);
  }
  CT_EQ_INT(gemel__normal_attrs(graph->context, gemel__node_op(graph, node),
                                graph->nodes[node].attrs, count, types, &normal, &error),
            GEMEL_OK);
  return normal;
}

/* ---- Random instances ---- */

/* The graph of INSTANCE with its node written in normal form, with the same outputs. */
static gemel_graph *rewritten(const gemel__instance *instance, uint32_t node, uint32_t normal) {
  const gemel_graph *from = instance->graph;
  gemel_graph *graph = gemel_graph_new(from->context, &error);
  gemel_value inputs[GEMEL_SAMPLE_MAX_INPUTS], result;
  uint32_t count;
  const gemel__ref *refs = gemel__node_inputs(from, node, &count);
  gemel_location nowhere = {NULL, 0};
  for (size_t k = 0; k < instance->n_leaves; k++) {
    inputs[k] = gemel_input(graph, gemel_graph_input_name(from, k),
                            gemel_value_type(gemel_graph_input(from, k)));
    CT_EQ_UINT(refs[k].node, gemel_graph_input(from, k).node);
  }
  CT_EQ_UINT(count, instance->n_leaves);
  result = gemel__apply(graph, from->nodes[node].op, normal, count, inputs, nowhere);
  for (size_t k = 0; k < gemel_graph_output_count(from); k++) {
    char name[24];
    gemel_value output = gemel_value_output(result, (uint32_t)k);
    snprintf(name, sizeof name, "y%zu", k);
    CT_CHECK(
        gemel_type_equal(gemel_value_type(output), gemel_value_type(gemel_graph_output(from, k))));
    gemel_output(output, name);
  }
  CT_EQ_STR(gemel_graph_error(graph)->text, "");
  return graph;
}

static void same_bits(size_t n, gemel_tensor *const *a, gemel_tensor *const *b) {
  for (size_t k = 0; k < n; k++) {
    CT_EQ_MEM(gemel_tensor_data(a[k]), gemel_tensor_data(b[k]),
              (size_t)gemel_tensor_elements(a[k]) * gemel_dtype_size(gemel_tensor_dtype(a[k])));
  }
}

static void run_both(const gemel__instance *a, const gemel__instance *b, gemel__random *random) {
  gemel_tensor *values[GEMEL_SAMPLE_MAX_INPUTS] = {0}, *x[16] = {0}, *y[16] = {0};
  gemel_error first = {0}, second = {0};
  size_t n = gemel_graph_output_count(a->graph);
  CT_EQ_INT(gemel__instance_values(a, GEMEL__FILL_FULL, random, values, &error), GEMEL_OK);
  gemel_status status = gemel__execute(a, &gemel__variants[0], values, random, x, &first);
  CT_EQ_INT(gemel__execute(b, &gemel__variants[0], values, random, y, &second), status);
  if (status == GEMEL_OK) {
    same_bits(n, x, y);
    compared++;
  }
  gemel__tensors_release(n, x);
  gemel__tensors_release(n, y);
  gemel__tensors_release(a->n_leaves, values);
}

/* One instance; returns 1 if its attributes weren't normal as they came. */
static int try_instance(const gemel__instance *instance, gemel__random *random) {
  const gemel_graph *graph = instance->graph;
  uint32_t node = gemel_graph_output(graph, 0).node, normal = normal_of(graph, node);
  gemel__instance other;
  int changed = normal != graph->nodes[node].attrs;
  if (gemel__node_op(graph, node)->record.normalize == NULL) {
    return changed;
  }
  gemel_graph *again = rewritten(instance, node, normal);
  node = gemel_graph_output(again, 0).node;
  CT_EQ_UINT(normal_of(again, node), normal);
  if (changed && CT_CHECK(gemel__instance_of_graph(&other, again, NULL, &error) == GEMEL_OK)) {
    run_both(instance, &other, random);
    gemel__instance_clear(&other);
  }
  gemel_graph_unref(again);
  return changed;
}

static void bits_stay(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  (void)data;
  for (size_t k = 0; k < gemel_operation_count(context); k++) {
    const gemel_operation *op = gemel_operation_at(context, k);
    size_t seen = 0, changed = 0;
    compared = 0;
    for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
      for (uint64_t i = 0; i < INSTANCES; i++) {
        gemel__instance instance;
        gemel__random random;
        gemel__random_split(&random, 7 + (uint64_t)dtype, i);
        ct_context("%s %s %d", op->name, gemel_dtype_name((gemel_dtype)dtype), (int)i);
        if (gemel__instance_draw(&instance, context, op, (gemel_dtype)dtype, i % 4 ? 64 : 4096,
                                 &random, &error) == GEMEL_OK) {
          seen++;
          changed += (size_t)try_instance(&instance, &random);
          gemel__instance_clear(&instance);
        }
      }
    }
    ct_context("%s: %zu instances, %zu changed", op->name, seen, changed);
    CT_CHECK(gemel__sampler_of(context, op) == NULL || seen >= 20);
    CT_CHECK((changed > 0) == (op->normalize != NULL)); /* so that the above is put to the test */
    CT_CHECK(2 * compared >= changed);
  }
  gemel_context_unref(context);
}

/* ---- Forms ---- */

typedef struct form {
  const char *written, *normal;
} form;

/* x: f32[2, 3, 4], y: f32[2, 4, 5], v: f32[4], m: f32[3, 4], i: i64[2, 3] */
static const form forms[] = {
    {"sum(x)", "sum(x, axes = [0, 1, 2], keepdims = 0)"},
    {"sum(x, axes = [-1, 0], keepdims = 7)", "sum(x, axes = [0, 2], keepdims = 1)"},
    {"prod(x, axes = [])", "prod(x, axes = [])"},
    {"max(x, axes = [2, 1])", "max(x, axes = [1, 2])"},
    {"sum(sum(v))", "sum(sum(v), axes = [])"},
    {"argmax(x, axis = -3)", "argmax(x, axis = 0)"},
    {"softmax(x)", "softmax(x, axis = 2)"},
    {"cross_entropy(x, i)", "cross_entropy(x, i, axis = 2)"},
    {"join(x, x, axis = -2)", "join(x, x, axis = 1)"},
    {"split(x, sizes = [4], axis = -1)", "split(x, sizes = [4], axis = 2)"},
    {"dot(x, y)", "dot(x, y, contract_x = [2], contract_y = [1], batch_x = [0], batch_y = [0])"},
    {"dot(m, v)", "dot(m, v, contract_x = [1], contract_y = [0], batch_x = [], batch_y = [])"},
    {"dot(v, v)", "dot(v, v, contract_x = [0], contract_y = [0], batch_x = [], batch_y = [])"},
    {"dot(v, m, contract_x = [])",
     "dot(v, m, contract_x = [], contract_y = [], batch_x = [], batch_y = [])"},
    {"dot(x, y, batch_x = [-3], batch_y = [0])",
     "dot(x, y, contract_x = [], contract_y = [], batch_x = [0], batch_y = [0])"},
    {"dot(m, m, contract_x = [1, 0], contract_y = [-1, -2])",
     "dot(m, m, contract_x = [1, 0], contract_y = [1, 0], batch_x = [], batch_y = [])"},
    {"subtensor(m, start = [1, 0], size = [2, 2])",
     "subtensor(m, start = [1, 0], size = [2, 2], step = [1, 1])"},
    {"set_subtensor(v, v, start = [0])", "set_subtensor(v, v, start = [0], step = [1])"},
    {"inc_subtensor(v, v, start = [0])", "inc_subtensor(v, v, start = [0], step = [1])"},
    {"inc_subtensor(v, v, start = [3], step = [-1])",
     "inc_subtensor(v, v, start = [3], step = [-1])"},
    {"pad(m, 0, low = [1, -1], high = [0, 2])",
     "pad(m, 0, low = [1, -1], high = [0, 2], interior = [0, 0])"},
    {"reverse(x, axes = [-1, 1, 0])", "reverse(x, axes = [0, 1, 2])"},
    {"dimshuffle(m, order = [1, -1, 0])", "dimshuffle(m, order = [1, -1, 0])"}};

static gemel_graph *parse_form(gemel_context *context, const form *f) {
  char text[512];
  snprintf(text, sizeof text,
           "graph g(x: f32[2, 3, 4], y: f32[2, 4, 5], v: f32[4], m: f32[3, 4], i: i64[2, 3]) {\n"
           "  a = %s\n  b = %s\n  return a, b\n}\n",
           f->written, f->normal);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), f->written, NULL, &error);
  ct_context("%s: %s", f->written, graph == NULL ? error.text : "");
  return graph;
}

static void one_form(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  (void)data;
  for (size_t k = 0; k < CT_COUNT(forms); k++) {
    gemel_graph *graph = parse_form(context, &forms[k]);
    if (CT_CHECK(graph != NULL)) {
      uint32_t a = gemel_graph_output(graph, 0).node, b = gemel_graph_output(graph, 1).node;
      CT_EQ_UINT(normal_of(graph, a), normal_of(graph, b));
      CT_EQ_UINT(normal_of(graph, b), graph->nodes[b].attrs);
    }
    gemel_graph_unref(graph);
  }
  gemel_context_unref(context);
}

/* Attributes that the type rule refuses stay as they are, and nothing is written outside. */
static void nonsense(const void *data) {
  static const int64_t axes[] = {5, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9};
  gemel_context *context = gemel_context_new(&error);
  const int64_t shape[] = {2, 3};
  gemel_type types[2] = {gemel_type_of_shape(context, GEMEL_F32, 2, shape),
                         gemel_type_of_shape(context, GEMEL_F32, 0, NULL)};
  static const struct {
    const char *op, *attr;
    size_t n_inputs, count;
  } cases[] = {{"sum", "axes", 1, 1},       {"sum", "axes", 1, 20}, {"reverse", "axes", 1, 20},
               {"reverse", "axes", 0, 20},  {"dot", NULL, 2, 0},    {"dot", NULL, 1, 0},
               {"dot", "contract_x", 0, 20}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    const gemel__op *op = gemel__op_at(context, gemel__op_find(context, cases[k].op));
    gemel_attr attr = gemel_attr_ints(cases[k].attr, cases[k].count, axes);
    uint32_t id = 0, normal = 0;
    ct_context("case %zu", k);
    CT_EQ_INT(gemel__attrs_intern(context, op, cases[k].attr != NULL, &attr, &id, &error),
              GEMEL_OK);
    CT_EQ_INT(gemel__normal_attrs(context, op, id, cases[k].n_inputs, types, &normal, &error),
              GEMEL_OK);
    CT_EQ_UINT(normal, id);
  }
  gemel_context_unref(context);
}

static int oom_body(void *data) {
  gemel_error local = {0};
  gemel_context *context = gemel_context_new(&local);
  const int64_t shape[] = {2, 3};
  uint32_t id = 0, normal = 0;
  gemel_status status = local.status;
  (void)data;
  if (context != NULL) {
    const gemel__op *op = gemel__op_at(context, gemel__op_find(context, "sum"));
    gemel_type type = gemel_type_of_shape(context, GEMEL_F32, 2, shape);
    status = gemel_type_is_none(type) ? GEMEL_NO_MEMORY
                                      : gemel__attrs_intern(context, op, 0, NULL, &id, &local);
    if (status == GEMEL_OK) {
      status = gemel__normal_attrs(context, op, id, 1, &type, &normal, &local);
      CT_CHECK(status != GEMEL_OK || normal != id);
    }
  }
  gemel_context_unref(context);
  return status;
}

static void out_of_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(oom_body, NULL) > 0);
}

static const ct_test tests[] = {
    CT_TEST("bits-stay", bits_stay, NULL), CT_TEST("one-form", one_form, NULL),
    CT_TEST("nonsense", nonsense, NULL), CT_TEST("out-of-memory", out_of_memory, NULL)};

void ct_register(void) {
  ct_suite("normal", tests, CT_COUNT(tests));
}
