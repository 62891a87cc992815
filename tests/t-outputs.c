/*
 * Passes and nodes of several outputs: one output is replaced, or some, or all, by what is made of
 * the node's operands or of its other outputs; uses are counted by output; and certified, what is
 * right goes through and what is wrong is stopped.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>
#include <gemel/verify.h>
#include "certify/change.h"
#include "ct.h"
#include "support/graph-text.h"
#include "support/operation.h"

/* ---- A pass that a table describes ---- */

/* What OLD is replaced by; null: it stays. */
typedef gemel_value replacement(gemel_edit *edit, gemel_value old);

/* What OPERATION's outputs are replaced by, NULL: they stay; the graph AFTER (of a WRONG one: "",
 * it would be refused by certified compilation), and how often the pass replaces. */
typedef struct output_case {
  const char *name, *operation;
  replacement *make[2];
  const char *graph, *after;
  unsigned times;
  int wrong;
} output_case;

static gemel_value output_of(gemel_value old, uint32_t output) {
  old.output = output;
  return old;
}

static gemel_value first_operand(gemel_edit *edit, gemel_value old) {
  return gemel_edit_value(edit, gemel_value_input(old, 0));
}

/* x[0:2] and x[2:5] */
static gemel_value front(gemel_edit *edit, gemel_value old) {
  return gemel_slice(first_operand(edit, old), 0, 0, 2);
}

static gemel_value back(gemel_edit *edit, gemel_value old) {
  return gemel_slice(first_operand(edit, old), 0, 2, 5);
}

static gemel_value doubled(gemel_edit *edit, gemel_value old) {
  gemel_value x = first_operand(edit, old);
  return gemel_add(x, x);
}

static gemel_value squared(gemel_edit *edit, gemel_value old) {
  gemel_value x = first_operand(edit, old);
  return gemel_mul(x, x);
}

/* The other output of the same node, as it is, and with the other sign. */
static gemel_value sibling(gemel_edit *edit, gemel_value old) {
  return gemel_edit_value(edit, output_of(old, 1 - old.output));
}

static gemel_value negated_sibling(gemel_edit *edit, gemel_value old) {
  return gemel_neg(sibling(edit, old));
}

/* Of an operation on output 1 of a node: the node's output 0. */
static gemel_value sibling_below(gemel_edit *edit, gemel_value old) {
  gemel_value below = gemel_value_input(old, 0);
  return below.output == 1 ? gemel_edit_value(edit, output_of(below, 0)) : (gemel_value){0};
}

/* The same, where a node of the new graph is asked for its other output. */
static gemel_value negated_sibling_made(gemel_edit *edit, gemel_value old) {
  gemel_value other = gemel_edit_value(edit, gemel_value_input(old, 0));
  return gemel_neg(gemel_neg(output_of(other, 0)));
}

/* The key that comes after KEY. */
static gemel_value next_key(gemel_edit *edit, gemel_value old) {
  gemel_value key = first_operand(edit, old);
  gemel_dim two = gemel_dim_constant(gemel_graph_context(key.graph), 2);
  return gemel_add(key, gemel_arange_with(key.graph, two, .dtype = GEMEL_U64));
}

#define BOTH                                                                                       \
  "graph both(x: f32[N]) { return p = x + x, q = -(x + x) } "                                      \
  "graph sizes(x: f32[N]) { return p = x + x, q = x * x } graph g"
/* Too large to be looked at as they are; and a body that does another thing from place 20 on. */
#define LARGE                                                                                      \
  "graph large(x: f32[5000, 4000]) { s = dot(x, dimshuffle(x, order = [1, 0])) "                   \
  "return p = s, q = -s } "                                                                        \
  "graph late(x: f32[90]) { s = x + x "                                                            \
  "return p = s, q = where(arange(n = 90, dtype = i64) < 20:i64, -s, s) } graph g"
#define X5 "(x: f32[5]) { "

static const output_case output_cases[] = {
    {"split/one",
     "split",
     {NULL, back},
     "graph g" X5 "a, b = split(x, sizes = [2, 3]) return p = a, q = b * b }",
     "graph g" X5 "c = subtensor(x, start = [2], size = [3]) a, b = split(x, sizes = [2, 3]) "
     "return p = a, q = c * c }",
     1,
     0},
    {"split/all",
     "split",
     {front, back},
     "graph g" X5 "a, b = split(x, sizes = [2, 3]) return p = a, q = b * b, r = b }",
     "graph g" X5 "a = subtensor(x, start = [0], size = [2]) "
     "b = subtensor(x, start = [2], size = [3]) return p = a, q = b * b, r = b }",
     2,
     0},
    {"split/unread",
     "split",
     {front, back},
     "graph g" X5 "a, b = split(x, sizes = [2, 3]) return p = a }",
     "graph g" X5 "a = subtensor(x, start = [0], size = [2]) return p = a }",
     1,
     0},
    {"split/wrong",
     "split",
     {front, front},
     "graph g(x: f32[4]) { a, b = split(x, sizes = [2, 2]) return p = a, q = b * b }",
     "",
     2,
     1},
    {"random/key",
     "random_bits",
     {NULL, next_key},
     "graph g(k: u64[2]) { b, l = random_bits(k, shape = [3], dtype = u32) return r = b, n = l }",
     "graph g(k: u64[2]) { c = k + arange(n = 2, dtype = u64) "
     "b, l = random_bits(k, shape = [3], dtype = u32) return r = b, n = c }",
     1,
     0},
    {"body/all",
     "invoke",
     {doubled, squared},
     BOTH X5 "a, b = invoke(x, body = sizes) return p = a, q = b }",
     BOTH X5 "return p = x + x, q = x * x }",
     2,
     0},
    {"body/same_for_both",
     "invoke",
     {doubled, doubled},
     BOTH X5 "a, b = invoke(x, body = sizes) return p = a, q = b }",
     "",
     2,
     1},
    {"body/crossed",
     "invoke",
     {squared, doubled},
     BOTH X5 "a, b = invoke(x, body = sizes) return p = a, q = b }",
     "",
     2,
     1},
    {"sibling/negated",
     "invoke",
     {NULL, negated_sibling},
     BOTH X5 "a, b = invoke(x * x, body = both) return p = a, q = b + a, r = b }",
     BOTH X5 "a, b = invoke(x * x, body = both) c = -a return p = a, q = c + a, r = c }",
     1,
     0},
    {"sibling/as_it_is",
     "invoke",
     {NULL, sibling},
     BOTH X5 "a, b = invoke(x, body = both) return p = a, q = b }",
     "",
     1,
     1},
    {"sibling/of_others",
     "invoke",
     {NULL, negated_sibling},
     BOTH X5 "a, b = invoke(x, body = sizes) return p = a, q = b }",
     "",
     1,
     1},
    {"below/negated",
     "neg",
     {sibling_below, NULL},
     BOTH X5 "a, b = invoke(x * x, body = both) return r = exp(-b) }",
     BOTH X5 "a, b = invoke(x * x, body = both) return r = exp(a) }",
     1,
     0},
    {"below/made",
     "abs",
     {negated_sibling_made, NULL},
     BOTH X5 "a, b = invoke(x * x, body = both) return r = exp(abs(b)) }",
     BOTH X5 "a, b = invoke(x * x, body = both) return r = exp(-(-a)) }",
     1,
     0},
    {"below/wrong",
     "abs",
     {sibling_below, NULL},
     BOTH X5 "a, b = invoke(x, body = both) return r = exp(abs(b)) }",
     "",
     1,
     1},
    {"large/right",
     "invoke",
     {NULL, negated_sibling},
     LARGE "(x: f32[5000, 4000]) { a, b = invoke(x, body = large) return q = b }",
     LARGE "(x: f32[5000, 4000]) { a, b = invoke(x, body = large) return q = -a }",
     1,
     0},
    {"large/late",
     "invoke",
     {NULL, negated_sibling},
     LARGE "(x: f32[90]) { a, b = invoke(x, body = late) return q = b }",
     "",
     1,
     1},
    {"own/one",
     "twice_and_square",
     {NULL, squared},
     "graph g" X5 "a, b = twice_and_square(x) return p = a, q = b - a }",
     "graph g" X5 "c = x * x a, b = twice_and_square(x) return p = a, q = c - a }",
     1,
     0},
    {"own/all",
     "twice_and_square",
     {doubled, squared},
     "graph g" X5 "a, b = twice_and_square(x) return p = a, q = b - a }",
     "graph g" X5 "a = x + x return p = a, q = x * x - a }",
     2,
     0},
    {"own/wrong",
     "twice_and_square",
     {doubled, doubled},
     "graph g" X5 "a, b = twice_and_square(x) return p = a, q = b - a }",
     "",
     2,
     1},
};

/* An operation that only this program knows: x + x and x * x. It is never run. */
static void register_two(gemel_context *context) {
  static const gemel_kernel kernels[] = {{"none", NULL, no_run}, {NULL, NULL, NULL}};
  gemel_error problem = {0};
  gemel_operation op = {.size = sizeof op,
                        .name = "twice_and_square",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .version = 1,
                        .infer = same_type_twice,
                        .kernels = kernels};
  CT_EQ_INT(gemel_register_operation(context, &op, &problem), GEMEL_OK);
}

static gemel_status replace_outputs(gemel_edit *edit, const void *data, gemel_error *unused) {
  const output_case *c = data;
  const gemel_graph *graph = gemel_edit_graph(edit);
  (void)unused;
  for (uint32_t k = 0; k < 2 * gemel_graph_node_count(graph); k++) {
    gemel_value old = {(gemel_graph *)graph, k / 2, k % 2};
    if (c->make[k % 2] != NULL && strcmp(gemel_value_operation(old), c->operation) == 0 &&
        gemel_edit_uses(edit, old) > 0) {
      gemel_value by = c->make[k % 2](edit, old);
      if (!gemel_is_null(by) && gemel_edit_replace(edit, old, by) != GEMEL_OK) {
        return GEMEL_INTERNAL;
      }
    }
  }
  return GEMEL_OK;
}

static gemel_pass pass_of(const output_case *c) {
  return (gemel_pass){.size = sizeof(gemel_pass),
                      .name = "outputs",
                      .rewrite = replace_outputs,
                      .generate = no_instance,
                      .data = c};
}

/* Registers the pass of C, and the operation that some of the graphs have. */
static void register_output_pass(gemel_context *context, const output_case *c) {
  gemel_error problem = {0};
  gemel_pass pass = pass_of(c);
  register_two(context);
  CT_EQ_INT(gemel_register_pass(context, &pass, &problem), GEMEL_OK);
}

/* ---- Replacing ---- */

/* *APPLIED, unless it is NULL: how often what INCLUDE names has replaced something. */
static gemel_graph *rewrite(const gemel_graph *graph, const char *include, int certify,
                            uint64_t *applied, gemel_error *error) {
  gemel_rewrite_profile *profile = gemel_rewrite_profile_new();
  gemel_rewrite_options options = {
      .size = sizeof options, .include = include, .certify = certify, .profile = profile};
  gemel_graph *result = gemel_rewrite(graph, &options, error);
  for (size_t k = 0; k < gemel_rewrite_profile_count(profile) && applied != NULL; k++) {
    const gemel_rewrite_row *row = gemel_rewrite_profile_at(profile, k);
    *applied += row->name != NULL ? row->applied : 0;
  }
  gemel_rewrite_profile_free(profile);
  return result;
}

/* Outputs are replaced one by one: the others stay, and a node goes when none is left. */
static void outputs_are_replaced(const void *data) {
  const output_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  uint64_t applied = 0;
  register_output_pass(context, c);
  gemel_graph *graph = parse(context, c->graph), *after = parse(context, c->after);
  gemel_graph *result = rewrite(graph, "outputs", 0, &applied, &error);
  CT_EQ_STR(error.text, "");
  CT_EQ_UINT(applied, c->times);
  if (CT_CHECK(result != NULL)) {
    same_plain_text(result, after);
  }
  gemel_graph_unref(result);
  gemel_graph_unref(after);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Looks at the outputs of a split: used three times, once, and not at all. */
static gemel_status count_uses(gemel_edit *edit, const void *data, gemel_error *unused) {
  static const size_t uses[] = {3, 1, 0};
  const gemel_graph *graph = gemel_edit_graph(edit);
  unsigned *looked = (unsigned *)data;
  (void)unused;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_value old = {(gemel_graph *)graph, k, 0};
    for (; strcmp(gemel_value_operation(old), "split") == 0 && old.output < 3; old.output++) {
      CT_EQ_UINT(gemel_edit_uses(edit, old), uses[old.output]);
      ++*looked;
    }
    old.output = 7;
    CT_EQ_UINT(gemel_edit_uses(edit, old), 0);
  }
  return GEMEL_OK;
}

/* What a pass may not do with outputs; DATA says what. */
static gemel_status misuse_outputs(gemel_edit *edit, const void *data, gemel_error *unused) {
  const char *how = data;
  gemel_value old = gemel_value_input(gemel_graph_output(gemel_edit_graph(edit), 0), 0), by;
  (void)unused;
  by = gemel_edit_value(edit, output_of(old, 1));
  if (strcmp(how, "twice") == 0) {
    gemel_edit_replace(edit, output_of(old, 0), by);
    return gemel_edit_replace(edit, output_of(old, 0), by);
  }
  if (strcmp(how, "wide") == 0) {
    return gemel_edit_replace(edit, output_of(old, 2), by);
  }
  return gemel_edit_replace(edit, output_of(old, strcmp(how, "asked") == 0 ? 1 : 5), by);
}

static void outputs_are_refused(const void *data) {
  static const struct {
    const char *how, *says;
  } rows[] = {
      {"twice", "pass own: replaces output 0 of node 1, which is copied or replaced already"},
      {"asked", "pass own: replaces output 1 of node 1, which is copied or replaced already"},
      {"wide", "pass own: replaces f32[3] (node 1) by f32[2]"},
      {"none", "pass own: replaces a value of another graph"}};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(rows); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *graph =
        graph_of(context, "(x: f32[7]) { a, b, c = split(x, sizes = [2, 2, 3]) return r = -a, c }");
    gemel_error error = {0};
    gemel_pass pass = {.size = sizeof pass,
                       .name = "own",
                       .rewrite = misuse_outputs,
                       .generate = no_instance,
                       .data = rows[k].how};
    CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_OK);
    CT_CHECK(rewrite(graph, "own", 0, NULL, &error) == NULL);
    CT_HAS_STR(error.text, rows[k].says);
    gemel_graph_unref(graph);
    gemel_context_unref(context);
  }
}

static void uses_are_counted(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = graph_of(context, "(x: f32[6]) { a, b, c = split(x, sizes = [2, 2, 2]) "
                                         "dead = exp(c) return r = a * a, s = a, t = b }");
  gemel_error error = {0};
  unsigned looked = 0;
  gemel_pass pass = {.size = sizeof pass,
                     .name = "own",
                     .rewrite = count_uses,
                     .generate = no_instance,
                     .data = &looked};
  (void)data;
  CT_EQ_INT(gemel_register_pass(context, &pass, &error), GEMEL_OK);
  gemel_graph_unref(rewrite(graph, "own", 0, NULL, &error));
  CT_EQ_STR(error.text, "");
  CT_EQ_UINT(looked, 3);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Certified ---- */

/* What the operation with two outputs should compute. */
static gemel_status build_two(gemel_reference_build *call) {
  call->outputs[0] = gemel_add(call->inputs[0], call->inputs[0]);
  call->outputs[1] = gemel_mul(call->inputs[0], call->inputs[0]);
  return GEMEL_OK;
}

static void outputs_are_checked(const void *data) {
  const output_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_reference two = {.size = sizeof two, .build = build_two};
  gemel_certify_counts counts = {.size = sizeof counts};
  gemel_error error = {0};
  register_output_pass(context, c);
  CT_EQ_INT(gemel_verify_reference(context, "twice_and_square", &two, &error), GEMEL_OK);
  gemel_graph *graph = parse(context, c->graph);
  CT_EQ_INT(gemel_certify_enable(context, 1, &error), GEMEL_OK);
  gemel_graph *result = rewrite(graph, "outputs", 1, NULL, &error);
  CT_CHECK((result == NULL) == c->wrong);
  if (c->wrong) {
    CT_HAS_STR(error.text, "pass outputs doesn't hold");
  } else {
    CT_EQ_STR(error.text, "");
  }
  gemel_certify_counted(context, &counts);
  CT_EQ_UINT(counts.open, c->wrong);
  CT_CHECK(c->wrong || counts.applications == c->times);
  gemel_graph_unref(result);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Memory ---- */

/* Reads the region of CHANGE, and doesn't judge it. */
static gemel_status read_region(void *user, const gemel__change *change, gemel_error *error) {
  gemel__change_region region;
  gemel_status status = gemel__change_read(&region, change, 0, 1000, error);
  (void)user;
  gemel__change_clear(&region);
  return status;
}

static int read_in_little_memory(void *data) {
  const output_case *c = data;
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_pass pass = pass_of(c);
  gemel__pass_run run = {.witness = read_region};
  gemel_graph *graph = context != NULL
                           ? gemel_parse(context, c->graph, strlen(c->graph), "test", NULL, &error)
                           : NULL;
  if (graph != NULL) {
    gemel__pass_apply(&pass, &graph, &run, &error);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return error.status;
}

static void memory(const void *data) {
  static const output_case negated = {
      .name = "memory",
      .operation = "invoke",
      .make = {NULL, negated_sibling},
      .graph = "graph b(x: i8[]) { return p = x, q = -x } "
               "graph g(x: i8[]) { p, q = invoke(x, body = b) return r = q }"};
  (void)data;
  CT_CHECK(ct_oom(read_in_little_memory, (void *)&negated) > 50);
}

static const ct_test tests[] = {
    CT_TEST("uses", uses_are_counted, NULL),
    CT_TEST("refused", outputs_are_refused, NULL),
    CT_TEST("memory", memory, NULL),
};

void ct_register(void) {
  ct_suite("outputs", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(output_cases); k++) {
    if (!output_cases[k].wrong) {
      CT_ADD_TO("outputs", "replaced", output_cases[k].name, outputs_are_replaced,
                &output_cases[k]);
    }
    CT_ADD_TO("outputs", "certified", output_cases[k].name, outputs_are_checked, &output_cases[k]);
  }
}
