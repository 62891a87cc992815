/*
 * The checker: every kind of damage that it says it finds is done to a good graph through the
 * internal header, and must be found, at the node where it was done; undone, the graph is good
 * again. Bodies among the attributes are damaged too.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/graph.h"
#include "shared.h"

static gemel_type vector(gemel_dtype dtype, int64_t n) {
  return gemel_type_of_shape(c, dtype, 1, &n);
}

/* 0 x, 1 y: inputs; 2 x + y; 3 its two parts; 4 first · second; 5 softmax; outputs r and s. */
static gemel_graph *good_graph(void) {
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 4));
  gemel_value y = gemel_input(g, "y", vector(GEMEL_F32, 4)), parts, product;
  gemel_dim two[2];
  two[0] = two[1] = gemel_dim_constant(c, 2);
  parts = gemel_split(gemel_add(x, y), 2, two);
  product = gemel_mul(parts, gemel_value_output(parts, 1));
  gemel_output(gemel_softmax(product, -1), "r");
  gemel_output(gemel_value_output(parts, 1), "s");
  CT_EQ_INT(gemel_graph_node_count(g), 6);
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  return g;
}

/* One kind of damage: writes over BYTES bytes at the address that WHERE finds. */
struct damage {
  const char *name;
  void *(*where)(gemel_graph *g);
  size_t bytes;
  uint64_t value;
  const char *found; /* in the message */
};

#define PLACE(name, expression)                                                                    \
  static void *name(gemel_graph *g) {                                                              \
    return &(expression);                                                                          \
  }
PLACE(add_op, g->nodes[2].op)
PLACE(add_attrs, g->nodes[2].attrs)
PLACE(softmax_attrs, g->nodes[5].attrs)
PLACE(add_file, g->nodes[2].file)
PLACE(add_begin, g->nodes[2].in_begin)
PLACE(split_begin, g->nodes[3].in_begin)
PLACE(last_begin, g->nodes[6].in_begin)
PLACE(first_begin, g->nodes[0].in_begin)
PLACE(split_outputs, g->nodes[3].n_outputs)
PLACE(add_outputs, g->nodes[2].n_outputs)
PLACE(add_first, g->pool[0])
PLACE(add_second_node, g->pool[1].node)
PLACE(mul_second_output, g->pool[4].output)
PLACE(add_type, g->node_types[2])
PLACE(split_type, g->node_types[3])
PLACE(split_second_type, g->types[1])
PLACE(split_types_end, g->n_types)
PLACE(input_0, g->inputs[0])
PLACE(input_count, g->n_inputs)
PLACE(output_0_node, g->outputs[0].node)
PLACE(output_1_output, g->outputs[1].output)

static const struct damage damages[] = {
    {"operation/none", add_op, 2, 0, "node 2"},
    {"operation/unknown", add_op, 2, 60000, "node 2"},
    {"attributes/unknown", add_attrs, 4, 4000000000u, "node 2"},
    {"attributes/missing", softmax_attrs, 4, 0, "node 5"},
    {"file", add_file, 4, 1000, "node 2"},
    {"slice/first", first_begin, 4, 1, "pool"},
    {"slice/begin", add_begin, 4, 100, "node 1"},
    {"slice/end", split_begin, 4, 0xfffffff0u, "node 2"},
    {"slice/last", last_begin, 4, 1, "pool"},
    {"input/itself", add_second_node, 4, 2, "node 2"},
    {"input/later", add_second_node, 4, 5, "node 2"},
    {"input/unknown", add_second_node, 4, 0xffffffffu, "node 2"},
    {"input/output", mul_second_output, 4, 2, "node 4"},
    {"input/swapped", add_first, 8, 1, "node 2"}, /* y + y, which the table doesn't know */
    {"outputs/too_few", split_outputs, 2, 1, "node 3"},
    {"outputs/none", split_outputs, 2, 0, "node 3"},
    {"outputs/too_many", split_outputs, 2, 3, "node 3"},
    {"outputs/two_of_one", add_outputs, 2, 2, "node 2"},
    {"type/none", add_type, 4, 0, "node 2"},
    {"type/unknown", add_type, 4, 0x7fffffff, "node 2"},
    {"type/list", add_type, 4, 0xffffffffu, "node 2"},
    {"type/of_several", split_type, 4, 1, "node 3"},
    {"type/second", split_second_type, 4, 1, "node 3"},
    {"type/cut_off", split_types_end, 8, 1, "node 3"},
    {"inputs/no_input", input_0, 8, 2, "input x"},
    {"inputs/other", input_0, 8, 1, "input x"},
    {"inputs/unknown", input_0, 8, 77, "input x"},
    {"inputs/unlisted", input_count, 8, 1, "inputs"},
    {"outputs/unknown", output_0_node, 4, 6, "output r"},
    {"outputs/no_such", output_1_output, 4, 2, "output s"},
};

static void planted(const void *data) {
  const struct damage *d = data;
  gemel_graph *g = good_graph();
  char *at = d->where(g);
  unsigned char before[8];
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  memcpy(before, at, d->bytes);
  memcpy(at, &d->value, d->bytes); /* little-endian, as everything that gemel runs on */
  CT_CHECK(memcmp(before, at, d->bytes) != 0);
  CT_EQ_INT(gemel_graph_check(g, &error), GEMEL_INTERNAL);
  CT_HAS_STR(error.text, d->found);
  memcpy(at, before, d->bytes);
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
}

static void names(const void *data) {
  gemel_graph *g = good_graph();
  const char *x = g->input_names[0], *r = g->output_names[0];
  gemel_error error;
  (void)data;
  g->input_names[0] = g->input_names[1];
  CT_EQ_INT(gemel_graph_check(g, &error), GEMEL_INTERNAL);
  CT_HAS_STR(error.text, "has the name of another");
  g->input_names[0] = r;
  CT_EQ_INT(gemel_graph_check(g, &error), GEMEL_INTERNAL);
  g->input_names[0] = x;
  g->output_names[0] = g->output_names[1];
  CT_EQ_INT(gemel_graph_check(g, &error), GEMEL_INTERNAL);
  CT_HAS_STR(error.text, "has the name of another");
  g->output_names[0] = NULL;
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_INTERNAL);
  g->output_names[0] = r;
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
}

/* Two equal nodes, which building can't make: exp(x) becomes a second tanh(x). */
static void doubled(const void *data) {
  gemel_graph *g = gemel_graph_new(c, NULL);
  gemel_value x = gemel_input(g, "x", vector(GEMEL_F32, 4));
  gemel_value a = gemel_tanh(x), b = gemel_exp(x);
  uint16_t was = g->nodes[b.node].op;
  gemel_error error;
  (void)data;
  g->nodes[b.node].op = g->nodes[a.node].op;
  CT_EQ_INT(gemel_graph_check(g, &error), GEMEL_INTERNAL);
  CT_HAS_STR(error.text, "node 2");
  CT_HAS_STR(error.text, "t-check.c"); /* where the program made it */
  g->nodes[b.node].op = was;
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(g);
}

/* A body inside a body: damage to the inner one is found through the outer graph. */
static void bodies(const void *data) {
  gemel_graph *inner = good_graph(), *outer = gemel_graph_new(c, NULL),
              *g = gemel_graph_new(c, NULL), *stored;
  gemel_value in[2];
  gemel_attr attr;
  gemel_error error;
  uint32_t was;
  (void)data;
  in[0] = gemel_input(outer, "a", vector(GEMEL_F32, 4));
  in[1] = gemel_input(outer, "b", vector(GEMEL_F32, 4));
  in[0] = gemel_invoke(2, in, inner);
  CT_REQUIRE(gemel_value_attr(in[0], "body", &attr) == GEMEL_OK && attr.kind == GEMEL_ATTR_GRAPH);
  stored = attr.u.graph;
  gemel_output(in[0], "r");
  in[0] = gemel_input(g, "a", vector(GEMEL_F32, 4));
  in[1] = gemel_input(g, "b", vector(GEMEL_F32, 4));
  gemel_output(gemel_invoke(2, in, outer), "r");
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  was = stored->node_types[2];
  stored->node_types[2] = vector(GEMEL_F64, 4).id;
  CT_EQ_INT(gemel_graph_check(g, &error), GEMEL_INTERNAL);
  CT_HAS_STR(error.text, "body");
  CT_HAS_STR(error.text, "node 2");
  stored->node_types[2] = was;
  CT_EQ_INT(gemel_graph_check(g, NULL), GEMEL_OK);
  gemel_graph_unref(inner);
  gemel_graph_unref(outer);
  gemel_graph_unref(g);
}

static int check_refused(void *user) {
  return gemel_graph_check(user, NULL);
}

static void out_of_memory(const void *data) {
  gemel_graph *g = good_graph(), *h = gemel_graph_new(c, NULL);
  gemel_value in[2];
  (void)data;
  in[0] = gemel_input(h, "a", vector(GEMEL_F32, 4));
  in[1] = gemel_input(h, "b", vector(GEMEL_F32, 4));
  gemel_output(gemel_invoke(2, in, g), "r");
  CT_CHECK(ct_oom(check_refused, h) > 5);
  gemel_graph_unref(g);
  gemel_graph_unref(h);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("names", names, NULL),
      CT_TEST("doubled", doubled, NULL),
      CT_TEST("bodies", bodies, NULL),
      CT_TEST("out_of_memory", out_of_memory, NULL),
  };
  size_t k;
  shared();
  for (k = 0; k < CT_COUNT(damages); k++) {
    CT_ADD_TO("check", "planted", damages[k].name, planted, &damages[k]);
  }
  ct_suite("check", tests, CT_COUNT(tests));
}
