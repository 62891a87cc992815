/*
 * References of a program's own operations, and operations without one. A graph as reference, for
 * some types; a function that reads attributes and signs; what can be wrong with a reference is an
 * ordinary error, memory that runs out too. An operation without a reference is an unknown
 * function: pairs of graphs that contain one are decided all the same, for GEMEL_CORPUS_SEEDS seeds
 * (default 2).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include "own.h"
#include "support/graph-text.h"
#include "support/heard.h"

/* ---- A graph as reference; attributes and signs in a function ---- */

static gemel_status give_graph(gemel_context *context, const char *name, const char *text,
                               gemel_error *error) {
  gemel_reference reference = {0};
  gemel_graph *graph = parse(context, text);
  gemel_status status;
  reference.size = sizeof reference;
  reference.graph = graph;
  status = gemel_verify_reference(context, name, &reference, error);
  gemel_graph_unref(graph);
  return status;
}

static heard verify_in(gemel_context *context, uint64_t seed) {
  return hear_operations(context, "own",
                         (gemel_verify_options){.seed = seed, .instances = 24, .ops = "own"});
}

/* Graphs for some types: the others are said to be left out. */
static void graphs(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  heard h;
  (void)data;
  CT_EQ_INT(register_as(context, &right[1], "own", &error), GEMEL_OK);
  CT_EQ_INT(
      give_graph(context, "own", "graph f(x: f64[N]) {\n  return y = x * sigmoid(x)\n}\n", &error),
      GEMEL_OK);
  CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N, M]) {\n  return y = x * sigmoid(x)\n}\n",
                       &error),
            GEMEL_OK);
  h = verify_in(context, 1);
  CT_EQ_UINT(h.records, 2 * GEMEL_TIER_COUNT);
  CT_EQ_UINT(h.good, h.records);
  CT_CHECK(h.passed >= 5);
  gemel_context_unref(context);
  context = gemel_context_new(NULL); /* another formula */
  CT_EQ_INT(register_as(context, &right[1], "own", &error), GEMEL_OK);
  CT_EQ_INT(
      give_graph(context, "own", "graph f(x: f64[N]) {\n  return y = x * tanh(x)\n}\n", &error),
      GEMEL_OK);
  CT_CHECK(verify_in(context, 1).refuted > 0);
  gemel_context_unref(context);
}

/* "leaky": x, or SLOPE times x where it is negative. */
static gemel_status leaky_run(const gemel_kernel_call *call) {
  int64_t n = elements(&call->outputs[0]), i;
  for (i = 0; i < n; i++) {
    double x = load(&call->inputs[0], i);
    store(&call->outputs[0], i, x < 0 ? x * call->attrs[0].u.f : x);
  }
  return GEMEL_OK;
}
static gemel_status leaky_sample(gemel_sample *call) {
  int64_t n = 1 + (int64_t)(call->random(call->user) % 5);
  if (call->dtype != GEMEL_F64 && call->dtype != GEMEL_F32) {
    return GEMEL_DECLINED;
  }
  call->n_inputs = 1;
  call->inputs[0] = gemel_type_of_shape(call->context, call->dtype, 1, &n);
  call->attrs[0] = gemel_attr_float("slope", (double)(call->random(call->user) % 4) * 0.25);
  call->n_attrs = 1;
  return GEMEL_OK;
}
static gemel_status leaky_function(gemel_reference_call *call) {
  const gemel_attr *slope = gemel_reference_attr(call, "slope");
  gemel_reference_shape x = gemel_reference_input(call, 0);
  gemel_element *e = gemel_element_new(call), *factor = gemel_element_new(call);
  size_t i;
  CT_CHECK(gemel_reference_attr(call, "none") == NULL);
  CT_EQ_UINT(gemel_reference_input_count(call), 1);
  CT_CHECK(gemel_reference_at(call, 0, x.count) == NULL);
  gemel_reference_output(call, 0, x.dtype, x.rank, x.sizes);
  gemel_reference_work_in(call, x.dtype);
  gemel_element_number(call, factor, slope->u.f + *(const double *)gemel_reference_data(call));
  for (i = 0; i < x.count; i++) {
    const gemel_element *a = gemel_reference_at(call, 0, i);
    int sign = gemel_element_sign(call, a);
    gemel_element_set(call, e, a);
    if (sign < 0) {
      gemel_element_mul(call, e, e, factor);
    }
    CT_CHECK(sign >= -1 && sign <= GEMEL_SIGN_UNKNOWN);
    gemel_reference_store(call, 0, i, e);
  }
  return GEMEL_OK;
}

static void attributes(const void *data) {
  static const gemel_attr_spec schema[] = {{"slope", GEMEL_ATTR_FLOAT, "0.5"}, {NULL, 0, NULL}};
  static const gemel_kernel leaky[] = {{"plain", NULL, leaky_run}, {NULL, NULL, NULL}};
  static const double off[] = {0, 0.25};
  int k;
  (void)data;
  for (k = 0; k < 2; k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    gemel_reference reference = {0};
    gemel_operation op = {0};
    heard h;
    op.size = sizeof op;
    op.name = "own";
    op.min_inputs = op.max_inputs = 1;
    op.flags = GEMEL_OP_ELEMENTWISE;
    op.version = 1;
    op.attrs = schema;
    op.infer = infer_first;
    op.sample = leaky_sample;
    op.kernels = leaky;
    reference.size = sizeof reference;
    reference.function = leaky_function;
    reference.data = &off[k];
    CT_EQ_INT(gemel_register_operation(context, &op, &error), GEMEL_OK);
    CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_OK);
    h = verify_in(context, 1);
    CT_EQ_INT(h.refuted > 0, k == 1);
    CT_CHECK(k == 1 || h.good == h.records);
    gemel_context_unref(context);
  }
}

/* ---- What can be wrong with a reference ---- */

static gemel_status two_outputs(gemel_reference_call *call) {
  gemel_reference_shape x = gemel_reference_input(call, 0);
  gemel_reference_output(call, 0, x.dtype, x.rank, x.sizes);
  return gemel_reference_output(call, 1, x.dtype, x.rank, x.sizes);
}
static gemel_status other_shape(gemel_reference_call *call) {
  return gemel_reference_output(call, 0, gemel_reference_input(call, 0).dtype, 0, NULL);
}
static gemel_status no_output(gemel_reference_call *call) {
  (void)call;
  return GEMEL_OK;
}
static gemel_status no_such_operation(gemel_reference_call *call) {
  gemel_element *e = gemel_element_new(call);
  const gemel_element *operands[1];
  operands[0] = e;
  gemel_element_apply(call, e, "gelu", 1, operands);
  return GEMEL_OK;
}
static gemel_status null_element(gemel_reference_call *call) {
  gemel_element *e = gemel_element_new(call);
  gemel_element_add(call, e, e, NULL);
  return GEMEL_OK;
}
static gemel_status fails(gemel_reference_call *call) {
  (void)call;
  return GEMEL_UNSUPPORTED;
}
static gemel_status build_nothing(gemel_reference_build *call) {
  (void)call;
  return GEMEL_OK;
}
static gemel_status build_itself(gemel_reference_build *call) {
  call->outputs[0] = gemel_apply(call->graph, "own", 1, call->inputs, 0, NULL);
  return GEMEL_OK;
}
static gemel_status build_other(gemel_reference_build *call) {
  call->outputs[0] = gemel_apply(call->graph, "other", 1, call->inputs, 0, NULL);
  return GEMEL_OK;
}

/* References that can be given, and whose evaluation fails with STATUS, or is refuted (GEMEL_OK).
 */
static void faulty(const void *data) {
  static const struct {
    gemel_status (*function)(gemel_reference_call *call);
    gemel_status (*build)(gemel_reference_build *call);
    gemel_status status;
    const char *says;
  } cases[] = {{two_outputs, NULL, GEMEL_OK, "more outputs"},
               {other_shape, NULL, GEMEL_OK, "the graph says"},
               {no_output, NULL, GEMEL_OK, "gives 0 outputs"},
               {no_such_operation, NULL, GEMEL_BAD_ARGUMENT, "no scalar operation gelu"},
               {null_element, NULL, GEMEL_BAD_ARGUMENT, "null element"},
               {fails, NULL, GEMEL_UNSUPPORTED, "the reference of own failed"},
               {NULL, build_nothing, GEMEL_BAD_ARGUMENT, "no value"},
               {NULL, build_itself, GEMEL_BAD_ARGUMENT, "defined through itself"},
               {NULL, build_other, GEMEL_BAD_ARGUMENT, "defined through itself"}};
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(cases); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_reference reference = {0};
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    heard h;
    gemel_verify_options options =
        heard_by(&h, (gemel_verify_options){.ops = "own", .instances = 4});
    reference.size = sizeof reference;
    reference.function = cases[k].function;
    reference.build = cases[k].build;
    CT_EQ_INT(register_as(context, &right[1], "own", &error), GEMEL_OK);
    CT_EQ_INT(register_as(context, &right[1], "other", &error), GEMEL_OK);
    CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_OK);
    reference.function = NULL;
    reference.build = build_itself;
    CT_EQ_INT(gemel_verify_reference(context, "other", &reference, &error), GEMEL_OK);
    CT_EQ_INT(gemel_verify_operations(context, &options, NULL, &error), cases[k].status);
    ct_context("case %zu: %s %s", k, h.bad, error.text);
    CT_EQ_INT(h.refuted > 0, cases[k].status == GEMEL_OK);
    CT_HAS_STR(cases[k].status == GEMEL_OK ? h.bad : error.text, cases[k].says);
    gemel_context_unref(context);
  }
}

/* References that can't be given. */
static void refused(const void *data) {
  gemel_context *context = gemel_context_new(NULL), *elsewhere = gemel_context_new(NULL);
  gemel_reference reference = {0};
  gemel_graph *graph = parse(elsewhere, "graph f(x: f64[N]) {\n  return y = x * x\n}\n");
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  (void)data;
  CT_EQ_INT(register_as(context, &right[1], "own", &error), GEMEL_OK);
  reference.size = sizeof reference;
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  reference.function = fails;
  CT_EQ_INT(gemel_verify_reference(NULL, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_verify_reference(context, NULL, &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_verify_reference(context, "own", NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_verify_reference(context, "nobody", &reference, &error), GEMEL_NOT_FOUND);
  CT_EQ_INT(gemel_verify_reference(context, "tanh", &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "gemel's own");
  /* a graph that the operation's type rule refuses: the place is the graph's, not the harness's */
  CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N], y: f64[N]) {\n  return z = x + y\n}\n",
                       &error),
            GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(strncmp(error.text, "test:2: own(", 12), 0);
  reference.graph = graph;
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  reference.function = NULL;
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "another context");
  CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N]) {\n  return y = sum(x)\n}\n", &error),
            GEMEL_BAD_TYPE);
  CT_HAS_STR(error.text, "f64[]");
  CT_EQ_INT(give_graph(context, "own", "graph f(x: i32[N]) {\n  return x\n}\n", &error),
            GEMEL_BAD_TYPE);
  CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N], y: f64[N]) {\n  return x\n}\n", &error),
            GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N]) {\n  return y = own(x)\n}\n", &error),
            GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "itself");
  CT_EQ_INT(
      give_graph(context, "own", "graph f(x: f64[N]) {\n  return a = x, b = x * x\n}\n", &error),
      GEMEL_BAD_TYPE);
  reference.graph = NULL;
  reference.function = fails;
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_OK);
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "already");
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  gemel_context_unref(elsewhere);
}

/* Allocation after allocation refused: while a reference is given, and while it is evaluated. */
static int give_and_verify(void *data) {
  const own *o = data;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_verify_options options = {0};
  gemel_status status = context != NULL ? register_as(context, o, "own", &error) : GEMEL_NO_MEMORY;
  options.size = sizeof options;
  options.instances = 1;
  options.tiers = 1u << GEMEL_TIER_SPECIAL;
  options.ops = "own";
  if (status == GEMEL_OK) {
    status = give_reference(context, o, "own", &error);
  }
  if (status == GEMEL_OK) {
    status = gemel_verify_operations(context, &options, NULL, &error);
  }
  gemel_context_unref(context);
  return status;
}

static void memory(const void *data) {
  own o = right[2];
  (void)data;
  o.slope[0] = NULL;
  CT_CHECK(ct_oom(give_and_verify, &o) > 0);
  o = right[1];
  o.slope[0] = NULL;
  CT_CHECK(ct_oom(give_and_verify, &o) > 0);
}

/* ---- Pairs of graphs ---- */

struct pair_case {
  int known; /* gelu has a reference; pairs differ in name too: "gelu", "norm", "both" are there */
  const char *inputs, *a, *b, *verdict;
};

static const struct pair_case pairs[] = {
    {1, "x: f32[N]", "gelu(x)",
     "x * 0.5 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))", "passed"},
    {1, "x: f64[N]", "gelu(x)",
     "x * 0.5 * (1 + tanh(0.7978845608028654 * (x + 0.0447 * x * x * x)))", "refuted"},
    {1, "x: f32[N], y: f32[N]", "gelu(x + y) + y", "y + gelu(y + x)", "passed"},
    {1, "x: f32[N], y: f32[N]", "gelu(x + y) + y", "x + gelu(y + x)", "refuted"},
    {1, "x: f64[N]", "gelu(x) - gelu(-x)", "x", "passed"},
    {1, "x: f64[N]", "gelu(x) + gelu(-x)", "x", "refuted"},
    {0, "x: f32[N]", "gelu(x) * 2", "gelu(x) + gelu(x)", "passed"},
    {0, "x: f64[N], y: f64[N]", "gelu(x * y) + 1", "1 + gelu(y * x)", "passed"},
    {0, "x: f32[N, M]", "norm(x) + norm(x)", "norm(x) * 2", "passed"},
    {0, "x: f64[N, M]", "norm(x + 0 * x)", "norm(x)", "passed"},
    {0, "x: f32[N], y: f32[N]", "both(x + y, y)", "both(y + x, y)", "passed"},
    {0, "x: f64[N], y: f64[N]", "(gelu(x) + y) * y", "gelu(x) * y + y * y", "passed"},
    {0, "x: f64[N, M]", "norm(x) * -1", "-norm(x)", "passed"},
    {0, "x: f32[N]", "gelu(x) + 1", "gelu(x) + 2", "refuted"},
    {0, "x: f64[N]", "gelu(x)", "gelu(x) * 1.000001", "refuted"},
    {0, "x: f64[N]", "gelu(x)", "gelu(-x)", "refuted"},
    {0, "x: f32[N], y: f32[N]", "both(x, y)", "both(x, x)", "refuted"},
    {0, "x: f64[N, M]", "norm(x)",
     "dimshuffle(norm(dimshuffle(x, order = [1, 0])), order = [1, 0])", "refuted"},
    {0, "x: f64[N, M]", "norm(x)", "norm(2 * x)", "refuted"}, /* but for epsilon the same */
    {0, "x: f32[N]", "gelu(x)", "norm(x)", "refuted"},
};

static void one_pair(const void *data) {
  const struct pair_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_graph *a, *b;
  uint64_t seed;
  CT_EQ_INT(register_as(context, &right[0], "gelu", &error), GEMEL_OK);
  CT_EQ_INT(register_as(context, &right[4], "norm", &error), GEMEL_OK);
  CT_EQ_INT(register_as(context, &right[3], "both", &error), GEMEL_OK);
  if (c->known) {
    CT_EQ_INT(give_reference(context, &right[0], "gelu", &error), GEMEL_OK);
  }
  a = graph_returning(context, c->inputs, c->a);
  b = graph_returning(context, c->inputs, c->b);
  for (seed = 1; a != NULL && b != NULL && seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    heard h = hear_pair(a, b, GEMEL_NEEDS_ALL, c->b,
                        (gemel_verify_options){.seed = seed, .instances = 40});
    CT_EQ_STR(gemel_verdict_name(h.result.verdict), c->verdict);
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
}

/* ---- Where a formula decides ---- */

/* x² beyond 100, else x: kernels and derivatives that decide elsewhere. */
static gemel_value step_formula(gemel_value x, gemel_value y) {
  (void)y;
  return gemel_where(gemel_gt(x, number(x, 100)), gemel_mul(x, x), x);
}
static gemel_status step_function(gemel_reference_call *call) {
  gemel_reference_shape x = gemel_reference_input(call, 0);
  gemel_element *e = gemel_element_new(call), *c = gemel_element_new(call);
  gemel_status status = gemel_reference_output(call, 0, x.dtype, x.rank, x.sizes);
  gemel_element_number(call, c, 100);
  for (size_t i = 0; i < x.count && status == GEMEL_OK; i++) {
    gemel_element_sub(call, e, gemel_reference_at(call, 0, i), c);
    int sign = gemel_element_sign(call, e);
    gemel_element_set(call, e, gemel_reference_at(call, 0, i));
    if (sign > 0) {
      gemel_element_mul(call, e, e, e);
    }
    gemel_reference_store(call, 0, i, e);
  }
  return status;
}
static gemel_value slope_beyond(gemel_value x, double c) {
  return gemel_where(gemel_gt(x, number(x, c)), times(x, 2), number(x, 1));
}
static gemel_value step_slope(gemel_value x, gemel_value y) {
  (void)y;
  return slope_beyond(x, 100);
}
static gemel_value no_step_slope(gemel_value x, gemel_value y) {
  (void)y;
  return gemel_add(gemel_mul(x, number(x, 0)), number(x, 1));
}
static double step(double x, double y) {
  (void)y;
  return x > 100 ? x * x : x;
}
static double step_at(double x, double y) {
  (void)y;
  return x >= 100 ? x * x : x;
}
static double step_beside(double x, double y) {
  (void)y;
  return x > 100.0625 ? x * x : x;
}
static double step_101(double x, double y) {
  (void)y;
  return x > 101 ? x * x : x;
}

static const struct step_case {
  const char *name;
  own own;
  int right;
} step_cases[] = {
    {"right", {"own", 1, step, NULL, {step_slope}, NULL, step_formula, NULL, GEMEL_RANGE_ANY}, 1},
    {"right/function",
     {"own", 1, step, NULL, {NULL}, NULL, NULL, step_function, GEMEL_RANGE_ANY},
     1},
    {"at", {"own", 1, step_at, NULL, {NULL}, NULL, step_formula, NULL, GEMEL_RANGE_ANY}, 0},
    {"beside", {"own", 1, step_beside, NULL, {NULL}, NULL, step_formula, NULL, GEMEL_RANGE_ANY}, 0},
    {"101", {"own", 1, step_101, NULL, {NULL}, NULL, step_formula, NULL, GEMEL_RANGE_ANY}, 0},
    {"at/function",
     {"own", 1, step_at, NULL, {NULL}, NULL, NULL, step_function, GEMEL_RANGE_ANY},
     0},
    {"slope",
     {"own", 1, step, NULL, {no_step_slope}, NULL, step_formula, NULL, GEMEL_RANGE_ANY},
     0}};

static void threshold(const void *data) {
  const struct step_case *c = data;
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    CT_EQ_INT(register_as(context, &c->own, "own", &error), GEMEL_OK);
    CT_EQ_INT(give_reference(context, &c->own, "own", &error), GEMEL_OK);
    heard h = verify_in(context, seed);
    CT_EQ_INT(h.refuted == 0, c->right);
    CT_EQ_INT(h.good == h.records, c->right);
    gemel_context_unref(context);
  }
}

static gemel_status decline(gemel_sample *call) {
  (void)call;
  return GEMEL_DECLINED;
}

/* ---- Operations that a text defines ---- */

#define SWISH_TEXT "operation swish(x) {\n  return x * sigmoid(x)\n}\n"
#define TWICE_TEXT "operation twice(x) { # by another one\n  y = swish(x)\n  return y + y\n}\n"

static gemel_status define(gemel_context *context, const char *text, gemel_error *error) {
  return gemel_define_operations(context, text, strlen(text), "test", error);
}

/* They are verified, with derivatives; a graph that needs them prints them, and reads back. */
static void defined(const void *data) {
  gemel_context *context = gemel_context_new(NULL), *fresh = gemel_context_new(NULL);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_graph *graph =
      parse(context, SWISH_TEXT TWICE_TEXT "graph f(x: f64[N]) {\n  return r = twice(x)\n}\n");
  gemel_graph *formula =
                  parse(context, "graph f(x: f64[N]) {\n  return r = x * sigmoid(x) * 2\n}\n"),
              *again;
  char *text = gemel_print_string(graph, "f", &error), *second;
  (void)data;
  CT_HAS_STR(text, SWISH_TEXT);
  CT_HAS_STR(text, "return r = ");
  again = parse(fresh, text);
  second = gemel_print_string(again, "f", &error);
  CT_EQ_STR(second, text);
  heard h = hear_operations(context, "defined",
                            (gemel_verify_options){.instances = 24, .ops = "[st]wi[sc][he]"});
  CT_EQ_UINT(h.records, 4 * GEMEL_TIER_COUNT);
  CT_EQ_UINT(h.good, h.records);
  h = hear_pair(graph, formula, GEMEL_NEEDS_ALL, "twice", (gemel_verify_options){.instances = 24});
  CT_EQ_INT(h.result.verdict, GEMEL_VERDICT_PASSED);
  gemel_text_free(text);
  gemel_text_free(second);
  gemel_graph_unref(graph);
  gemel_graph_unref(formula);
  gemel_graph_unref(again);
  gemel_context_unref(context);
  gemel_context_unref(fresh);
}

/* Formulas that decide: in their last node, within, in an operation that a definition uses. */
#define DECIDING_TEXT                                                                              \
  "operation d_where(x) { return where(x > 0, x, 0.125 * x) }\n"                                   \
  "operation d_relu(x) { return relu(x) }\n"                                                       \
  "operation d_abs(x) { return abs(x) }\n"                                                         \
  "operation d_max(x) { return max(x) }\n"                                                         \
  "operation d_clip(x) { return 2 * clip(x, -1, 1) + x }\n"                                        \
  "operation d_nested(x) { return d_relu(d_where(x) - 1) }\n"

static void deciding(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  (void)data;
  CT_EQ_INT(define(context, DECIDING_TEXT, &error), GEMEL_OK);
  heard h =
      hear_operations(context, "deciding", (gemel_verify_options){.instances = 24, .ops = "d_*"});
  CT_EQ_UINT(h.records, 12 * GEMEL_TIER_COUNT);
  CT_EQ_UINT(h.good, h.records);
  gemel_context_unref(context);
}

/* What is asked of graphs and rules that contain them. */
static const struct deciding_case {
  const char *a, *b;
  gemel_verdict verdict;
} deciding_cases[] = {
    {"d_where(x)", "where(x <= 0, 0.125 * x, x)", GEMEL_VERDICT_PASSED},
    {"d_nested(x)", "relu(where(x > 0, x, 0.125 * x) - 1)", GEMEL_VERDICT_PASSED},
    {"d_relu(x) - d_relu(-x)", "x", GEMEL_VERDICT_PASSED},
    {"d_max(x)", "max(abs(x))", GEMEL_VERDICT_REFUTED},
    {"d_where(x)", "where(x > 0, x, 0.25 * x)", GEMEL_VERDICT_REFUTED},
    {"d_nested(x)", "relu(x) - 1", GEMEL_VERDICT_REFUTED},
};

static void deciding_pair(const void *data) {
  const struct deciding_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_graph *a, *b;
  CT_EQ_INT(define(context, DECIDING_TEXT, &error), GEMEL_OK);
  a = graph_returning(context, "x: f64[N]", c->a);
  b = graph_returning(context, "x: f64[N]", c->b);
  heard h = hear_pair(a, b, GEMEL_NEEDS_ALL, c->b, (gemel_verify_options){.instances = 24});
  CT_EQ_INT(h.result.verdict, c->verdict);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  gemel_context_unref(context);
}

static void deciding_rules(const void *data) {
  static const char *const rule[] = {
      "rule right in canonicalize:\n    d_relu(d_where(x)) => d_relu(x)\n    where float(x)\n",
      "rule wrong in canonicalize:\n    d_where(d_relu(x)) => d_where(x)\n    where float(x)\n"};
  int k;
  (void)data;
  for (k = 0; k < 2; k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    gemel_verify_options options = {.size = sizeof options, .instances = 24};
    gemel_verify_summary summary = {.size = sizeof summary};
    const char *text = rule[k];
    gemel_rules *rules;
    CT_EQ_INT(define(context, DECIDING_TEXT, &error), GEMEL_OK);
    rules = gemel_rules_parse(context, text, strlen(text), "test", &error);
    CT_EQ_INT(gemel_verify_rules(context, rules, NULL, &options, &summary, &error), GEMEL_OK);
    ct_context("%s: %s", text, error.text);
    CT_EQ_INT(summary.verdicts[GEMEL_VERDICT_REFUTED] > 0, k == 1);
    CT_CHECK(k == 1 || summary.verdicts[GEMEL_VERDICT_PASSED] > 0);
    gemel_rules_unref(rules);
    gemel_context_unref(context);
  }
}

/* A definition is the reference of what the program registered under its name. */
static void defined_reference(const void *data) {
  size_t k;
  (void)data;
  for (k = 0; k < 2; k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    heard h;
    CT_EQ_INT(register_as(context, &right[1], "own", &error), GEMEL_OK);
    CT_EQ_INT(define(context,
                     k == 0 ? "operation own(x) { return x * sigmoid(x) }"
                            : "operation own(x) { return x * tanh(x) }",
                     &error),
              GEMEL_OK);
    h = verify_in(context, 1);
    CT_EQ_INT(h.refuted > 0, k == 1);
    CT_CHECK(k == 1 || h.good == h.records);
    gemel_context_unref(context);
  }
}

static void defined_wrongly(const void *data) {
  static const char *const wrong[][2] = {
      {"operation f(x) { return f(x) }", "no operation called 'f'"},
      {"operation f(x) { return g(x) }", "no operation called 'g'"},
      {"operation f() { return 1 }", "operands"},
      {"operation f(x: f32[N]) { return x }", "operands"},
      {"operation f(x) { y = x }", "returns one result"},
      {"operation f(x) { return a = x, b = x }", "returns one result"},
      {"operation f(x) { return x", "body"},
      {"operation f(x) return x", "body"},
      {"operation (x) { return x }", "name"},
      {"operation tanh(x) { return x }", "tanh already"},
      {"operation f(x) { return x } operation f(x) { return x + x }", "f already"},
      {"operation f(x, x) { return x }", "two inputs called x"},
      {"operation f(x) { return x * }", "expected"},
      {"function f(x) { return x }", "expected 'operation'"}};
  gemel_context *context;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_graph *graph;
  const char *text = "operation f(x) { return dot(x, x) }\n"
                     "graph g(x: f32[2, 3]) {\n  return r = f(x)\n}\n";
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(wrong); k++) {
    context = gemel_context_new(NULL);
    ct_context("%s", wrong[k][0]);
    CT_EQ_INT(define(context, wrong[k][0], &error), GEMEL_BAD_TEXT);
    CT_HAS_STR(error.text, wrong[k][1]);
    gemel_context_unref(context);
  }
  context = gemel_context_new(NULL);
  CT_EQ_INT(define(context, SWISH_TEXT SWISH_TEXT, &error), GEMEL_OK); /* the same once more */
  graph = gemel_parse(context, text, strlen(text), "test", NULL, &error);
  CT_CHECK(graph == NULL); /* its operands don't fit its formula */
  CT_EQ_INT(error.status, GEMEL_BAD_SHAPE);
  CT_EQ_INT(gemel_define_operations(NULL, "", 0, NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_define_operations(context, NULL, 1, NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_define_operations(context, NULL, 0, NULL, NULL), GEMEL_OK);
  gemel_context_unref(context);
}

/* What takes no operands at all is verified nowhere, and says so in every tier. */
static void without_instance(const void *data) {
  static const char *const texts[] = {"operation own(x) { return reshape(x, shape = [70, 3]) }",
                                      NULL};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(texts); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    heard h;
    if (texts[k] != NULL) {
      CT_EQ_INT(define(context, texts[k], &error), GEMEL_OK);
    } else {
      gemel_operation op = {.size = sizeof op, .name = "own", .version = 1};
      op.min_inputs = op.max_inputs = 1;
      op.infer = infer_first;
      op.sample = decline;
      op.kernels = kernels;
      CT_EQ_INT(gemel_register_operation(context, &op, &error), GEMEL_OK);
      CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N]) {\n  return y = x * x\n}\n", &error),
                GEMEL_OK);
    }
    h = verify_in(context, 1);
    CT_EQ_UINT(h.good, 0);
    CT_EQ_UINT(h.refuted, 0);
    CT_HAS_STR(h.bad, "no instance");
    if (texts[k] == NULL) {
      gemel_kernel kernel = {.name = "plain", .run = run_own};
      heard of_kernel =
          hear_kernel(context, "own", "own", &kernel, (gemel_verify_options){.instances = 4});
      CT_EQ_UINT(of_kernel.good, 0);
      CT_EQ_UINT(of_kernel.records, 3);
    }
    gemel_context_unref(context);
  }
}

/* An index that is an operand may be out of range: such an instance is no question, and the others
 * go on. */
static void out_of_range(const void *data) {
  static const char text[] = "operation at(x, i) { return subtensor(x, start = [i], size = [1]) }\n"
                             "operation own(x) { return x * x }\n";
  (void)data;
  for (uint64_t seed = 1; seed <= ct_seeds("GEMEL_CORPUS_SEEDS", SEEDS); seed++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    CT_EQ_INT(define(context, text, &error), GEMEL_OK);
    heard h = hear_operations(
        context, "at,own", (gemel_verify_options){.seed = seed, .instances = 24, .ops = "at,own"});
    CT_EQ_UINT(h.records, 4 * GEMEL_TIER_COUNT);
    CT_EQ_UINT(h.refuted, 0);
    CT_CHECK(h.passed >= 5);
    gemel_context_unref(context);
  }
}

static int define_and_run(void *data) {
  const char *text = SWISH_TEXT "graph f(x: f64[]) {\n  return r = swish(x)\n}\n";
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph =
      context != NULL ? gemel_parse(context, text, strlen(text), "test", NULL, &error) : NULL;
  gemel_tensor *x = graph != NULL ? gemel_tensor_new(GEMEL_F64, 0, NULL, &error) : NULL, *y = NULL;
  char *printed = x != NULL ? gemel_print_string(graph, "f", &error) : NULL;
  gemel_status status = GEMEL_NO_MEMORY;
  (void)data;
  if (printed != NULL) {
    *(double *)gemel_tensor_data(x) = 2;
    status = gemel_evaluate(graph, 1, &x, 1, &y, &error);
  }
  CT_CHECK(status != GEMEL_OK || fabs(*(double *)gemel_tensor_data(y) - 2 / (1 + exp(-2))) < 1e-15);
  gemel_text_free(printed);
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status != GEMEL_OK && error.status != GEMEL_OK ? error.status : status;
}

static void defined_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(define_and_run, NULL) > 0);
}

static const ct_test tests[] = {CT_TEST("graphs", graphs, NULL),
                                CT_TEST("attributes", attributes, NULL),
                                CT_TEST("faulty", faulty, NULL),
                                CT_TEST("refused", refused, NULL),
                                CT_TEST("defined", defined, NULL),
                                CT_TEST("defined/reference", defined_reference, NULL),
                                CT_TEST("defined/wrongly", defined_wrongly, NULL),
                                CT_TEST("defined/memory", defined_memory, NULL),
                                CT_TEST("without_instance", without_instance, NULL),
                                CT_TEST("out_of_range", out_of_range, NULL),
                                CT_TEST("deciding", deciding, NULL),
                                CT_TEST("deciding/rules", deciding_rules, NULL),
                                CT_TEST("memory", memory, NULL)};

void ct_register(void) {
  size_t k;
  ct_suite("own", tests, CT_COUNT(tests));
  for (k = 0; k < CT_COUNT(pairs); k++) {
    char name[20];
    snprintf(name, sizeof name, "%zu", k + 1);
    CT_ADD_TO("own", "pair", name, one_pair, &pairs[k]);
  }
  for (k = 0; k < CT_COUNT(step_cases); k++) {
    CT_ADD_TO("own", "threshold", step_cases[k].name, threshold, &step_cases[k]);
  }
  for (k = 0; k < CT_COUNT(deciding_cases); k++) {
    CT_ADD_TO("own", "deciding/pair", deciding_cases[k].a, deciding_pair, &deciding_cases[k]);
  }
}
