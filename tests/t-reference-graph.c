/*
 * Tests of the evaluation of graphs by references: shared values, symbols and sizes known at run
 * time, bodies, references that are wrong or missing, depth, and memory that runs out.
 *
 * SPDX-License-Identifier: MIT
 */
#include "core/ids.h"
#include "plain.h"
#include "reference/twin.h"

#include <gemel/gemel.h>
#include "support/operation.h"

/* ---- Graphs ---- */

typedef struct world {
  gemel_context *context;
  gemel_graph *graph;
  gemel_error error;
} world;

static world world_new(void) {
  world w = {gemel_context_new(NULL), NULL, {0}};
  w.graph = w.context ? gemel_graph_new(w.context, NULL) : NULL;
  return w;
}

static void world_free(world *w) {
  gemel_graph_unref(w->graph);
  gemel_context_unref(w->context);
}

static gemel_value apply(gemel_graph *graph, const char *op, gemel_value x, gemel_value y) {
  const gemel_value operands[] = {x, y};
  return gemel_apply(graph, op, gemel_is_null(y) ? 1 : 2, operands, 0, NULL);
}

static const gemel_value none;

/* f32 input NAME of these dims, each a symbol. */
static gemel_value symbolic_input(world *w, const char *name, int rank,
                                  const char *const *symbols) {
  gemel_dim dims[GEMEL_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    dims[k] = gemel_dim_symbol(w->context, symbols[k]);
  }
  return gemel_input(w->graph, name, gemel_type_new(w->context, GEMEL_F32, rank, dims, 0));
}

/* Evaluates W's graph on text and compares its outputs with text; the status. */
static gemel_status evaluate(world *w, const char *const *inputs, const char *const *outputs,
                             gemel__reference_lookup extra) {
  gemel__domain d = plain;
  gemel__rtensor in[MAX_TENSORS] = {{0}}, out[MAX_TENSORS] = {{0}};
  size_t n_in = gemel_graph_input_count(w->graph), n_out = gemel_graph_output_count(w->graph);
  for (size_t k = 0; k < n_in; k++) {
    in[k] = read_tensor(&d, inputs[k]);
  }
  gemel_status status = gemel__reference_graph(w->graph, &d, in, out, extra, NULL, &w->error);
  for (size_t k = 0; k < n_out; k++) {
    if (status == GEMEL_OK) {
      gemel__rtensor wanted = read_tensor(&d, outputs[k]);
      same_tensor(&out[k], &wanted);
      gemel__rtensor_clear(&wanted);
    } else {
      CT_CHECK(out[k].domain == NULL);
    }
    gemel__rtensor_clear(&out[k]);
  }
  for (size_t k = 0; k < n_in; k++) {
    gemel__rtensor_clear(&in[k]);
  }
  return status;
}

/* y = x x + x, twice an output, and x itself */
static void graph_with_shared_values(const void *data) {
  (void)data;
  world w = world_new();
  gemel_value x = symbolic_input(&w, "x", 1, (const char *const[]){"N"});
  gemel_value y = apply(w.graph, "add", apply(w.graph, "mul", x, x), x);
  gemel_output(y, "y");
  gemel_output(x, "z");
  gemel_output(y, "again");
  CT_EQ_INT(evaluate(&w, (const char *const[]){"f32[3] 1~1 2 3"},
                     (const char *const[]){"f32[3] 2~3 6 12", "f32[3] 1~1 2 3", "f32[3] 2~3 6 12"},
                     NULL),
            GEMEL_OK);
  world_free(&w);
}

/* Symbols: a reshape to [M N], and inputs that contradict each other. */
static void graph_with_symbols(const void *data) {
  (void)data;
  world w = world_new();
  gemel_value x = symbolic_input(&w, "x", 2, (const char *const[]){"M", "N"});
  gemel_value y = symbolic_input(&w, "y", 1, (const char *const[]){"M"});
  gemel_dim size =
      gemel_dim_mul(w.context, gemel_dim_symbol(w.context, "M"), gemel_dim_symbol(w.context, "N"));
  gemel_attr shape = gemel_attr_dims("shape", 1, &size);
  gemel_output(gemel_apply(w.graph, "reshape", 1, &x, 1, &shape), "flat");
  gemel_output(y, "same");
  CT_REQUIRE(CT_EQ_INT(gemel_graph_error(w.graph)->status, GEMEL_OK));
  CT_EQ_INT(evaluate(&w, (const char *const[]){"f32[2,3] 1 2 3 4 5 6", "f32[2] 7 8"},
                     (const char *const[]){"f32[6] 1 2 3 4 5 6", "f32[2] 7 8"}, NULL),
            GEMEL_OK);
  CT_EQ_INT(evaluate(&w, (const char *const[]){"f32[2,3] 1 2 3 4 5 6", "f32[3] 7 8 9"}, NULL, NULL),
            GEMEL_BAD_SHAPE);
  CT_HAS_STR(w.error.text, "M");
  CT_EQ_INT(evaluate(&w, (const char *const[]){"f32[2] 1 2", "f32[2] 7 8"}, NULL, NULL),
            GEMEL_BAD_SHAPE);
  CT_EQ_INT(evaluate(&w, (const char *const[]){"f64[1,1] 1", "f32[1] 7"}, NULL, NULL),
            GEMEL_BAD_SHAPE);
  world_free(&w);
}

/* A window whose start and length are known at run time alone. */
static void graph_with_run_time_size(const void *data) {
  (void)data;
  world w = world_new();
  gemel_value x = symbolic_input(&w, "x", 1, (const char *const[]){"N"});
  gemel_value n = gemel_input(w.graph, "n", gemel_type_of_shape(w.context, GEMEL_I64, 0, NULL));
  gemel_dim size = gemel_dim_of(n), zero = gemel_dim_constant(w.context, 1);
  gemel_attr attrs[] = {gemel_attr_dims("start", 1, &zero), gemel_attr_dims("size", 1, &size)};
  gemel_value part = gemel_apply(w.graph, "subtensor", 1, &x, 2, attrs);
  gemel_output(apply(w.graph, "add", part, part), "twice");
  CT_REQUIRE(CT_EQ_INT(gemel_graph_error(w.graph)->status, GEMEL_OK));
  CT_EQ_INT(evaluate(&w, (const char *const[]){"f32[4] 1 2 3 4", "i64[] 2"},
                     (const char *const[]){"f32[2] 4 6"}, NULL),
            GEMEL_OK);
  CT_EQ_INT(evaluate(&w, (const char *const[]){"f32[4] 1 2 3 4", "i64[] 4"}, NULL, NULL),
            GEMEL_BAD_VALUE);
  CT_HAS_STR(w.error.text, "subtensor");
  CT_EQ_INT(evaluate(&w, (const char *const[]){"f32[4] 1 2 3 4", "i64[] ?"}, NULL, NULL),
            GEMEL_BAD_VALUE);
  world_free(&w);
}

/* A wrong dtype, and a wrong shape, from a reference that is asked first. */
static gemel_status wrong_reference(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  call->n_outputs = 1;
  return gemel__rtensor_init(&call->outputs[0], call->domain, GEMEL_F32, x->rank,
                             (const int64_t[]){x->shape[0] + 1}, call->error);
}

static gemel__reference instead_of_neg(void *user, uint32_t op) {
  (void)user;
  return op == GEMEL__OP_neg ? wrong_reference : NULL;
}

static void graph_with_wrong_reference(const void *data) {
  (void)data;
  world w = world_new();
  gemel_value x = symbolic_input(&w, "x", 1, (const char *const[]){"N"});
  gemel_value y = apply(w.graph, "neg", apply(w.graph, "add", x, x), none);
  gemel_output(apply(w.graph, "add", y, y), "y");
  const char *const in[] = {"f32[2] 1 2"}, *const out[] = {"f32[2] -4 -8"};
  CT_EQ_INT(evaluate(&w, in, NULL, instead_of_neg), GEMEL_INTERNAL);
  CT_HAS_STR(w.error.text, "neg (");
  CT_HAS_STR(w.error.text, "t-reference-graph.c:");
  CT_HAS_STR(w.error.text, "f32[3]");
  CT_EQ_INT(evaluate(&w, in, out, NULL), GEMEL_OK);
  world_free(&w);
}

/* An operation of the program's own without a reference; with one, it gets the record's data. */
static gemel_status run_zeros(const gemel_kernel_call *call) {
  const gemel_view *y = &call->outputs[0];
  for (int64_t i = 0; i < y->shape[0]; i++) {
    memset((char *)y->data + i * y->strides[0], 0, gemel_dtype_size(y->dtype));
  }
  return GEMEL_OK;
}

static gemel_status own_reference(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  gemel_status status = gemel__rtensor_init(&call->outputs[0], call->domain, x->dtype, x->rank,
                                            x->shape, call->error);
  call->n_outputs = 1;
  for (size_t i = 0; status == GEMEL_OK && i < x->count; i++) {
    d_from_double(call->domain, gemel__rtensor_at(&call->outputs[0], i),
                  *(const double *)call->data);
  }
  return status;
}

static gemel__reference find_own(void *user, uint32_t op) {
  (void)user;
  return op >= GEMEL__OP_COUNT ? own_reference : NULL;
}

static void graph_with_own_operation(const void *data) {
  (void)data;
  world w = world_new();
  const double seven = 7;
  const gemel_kernel kernels[] = {{"zeros", NULL, run_zeros}, {NULL, NULL, NULL}};
  gemel_operation own = {.size = sizeof own,
                         .name = "own",
                         .summary = "Seven.",
                         .min_inputs = 1,
                         .max_inputs = 1,
                         .version = 1,
                         .infer = same_type,
                         .kernels = kernels,
                         .data = &seven};
  CT_REQUIRE(CT_EQ_INT(gemel_register_operation(w.context, &own, NULL), GEMEL_OK));
  gemel_value x = symbolic_input(&w, "x", 1, (const char *const[]){"N"});
  gemel_output(apply(w.graph, "own", x, none), "y");
  const char *const in[] = {"f32[2] 1 2"}, *const out[] = {"f32[2] 7 7"};
  const char *const zeros[] = {"f32[2] 0 0"}; /* without a reference, what the kernel gives */
  CT_EQ_INT(evaluate(&w, in, zeros, NULL), GEMEL_OK);
  CT_EQ_INT(evaluate(&w, in, out, find_own), GEMEL_OK);
  world_free(&w);
}

/* LEVELS bodies, each of which applies the one below to x + 1; the lowest gives x + 1. */
static gemel_graph *nested(gemel_context *context, int levels) {
  gemel_graph *inner = NULL;
  for (int level = 0; level < levels; level++) {
    gemel_graph *graph = gemel_graph_new(context, NULL);
    gemel_value x = gemel_input(graph, "x", gemel_type_of_shape(context, GEMEL_F32, 0, NULL));
    gemel_value y = apply(graph, "add", x, gemel_scalar(graph, GEMEL_F32, 1));
    if (inner) {
      gemel_attr body = gemel_attr_graph("body", inner);
      y = gemel_apply(graph, "invoke", 1, &y, 1, &body);
      gemel_graph_unref(inner);
    }
    gemel_output(y, "y");
    CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_OK);
    inner = graph;
  }
  return inner;
}

static void graph_with_bodies(const void *data) {
  (void)data;
  const int levels[] = {1, 3, GEMEL_MAX_NESTING + 1, GEMEL_MAX_NESTING + 2};
  for (size_t i = 0; i < CT_COUNT(levels); i++) {
    world w = {gemel_context_new(NULL), NULL, {0}};
    char wanted[40];
    snprintf(wanted, sizeof wanted, "f32[] %d~1", 5 + levels[i]);
    w.graph = nested(w.context, levels[i]);
    CT_EQ_INT(evaluate(&w, (const char *const[]){"f32[] 5~1"}, (const char *const[]){wanted}, NULL),
              i < 3 ? GEMEL_OK : GEMEL_UNSUPPORTED);
    world_free(&w);
  }
}

/* A chain of a hundred thousand nodes, and one node that no output needs and that would fail. */
static void graph_that_is_deep(const void *data) {
  (void)data;
  world w = world_new();
  gemel_value x = gemel_input(w.graph, "x", gemel_type_of_shape(w.context, GEMEL_F64, 0, NULL)),
              y = x;
  for (int i = 0; i < 100000; i++) {
    y = apply(w.graph, "add", y, x);
  }
  gemel_output(y, "y");
  CT_EQ_INT(evaluate(&w, (const char *const[]){"f64[] 1~1"},
                     (const char *const[]){"f64[] 100001~100001"}, NULL),
            GEMEL_OK);
  world_free(&w);
}

/* ---- Every operation ---- */

static uint64_t random_bits(void *user) {
  uint64_t *x = user;
  *x = *x * 6364136223846793005u + 1442695040888963407u;
  return (*x >> 33) * 0x9e3779b97f4a7c15u;
}

/* Small numbers that the dtype and the range of input K allow. */
static void fill_sample(const gemel_sample *sample, size_t k, gemel__domain *d, gemel__rtensor *t,
                        uint64_t *seed) {
  gemel_context *context = sample->context;
  int64_t shape[GEMEL_MAX_RANK], low = 0, high = 3;
  gemel_kind kind = gemel_dtype_kind(gemel_type_dtype(context, sample->inputs[k]));
  int rank = gemel_type_rank(context, sample->inputs[k]);
  for (int axis = 0; axis < rank; axis++) {
    CT_CHECK(gemel_dim_is_constant(context, gemel_type_dims(context, sample->inputs[k])[axis],
                                   &shape[axis]));
  }
  if (sample->ranges[k] == GEMEL_RANGE_INDEX) {
    low = sample->low[k];
    high = sample->high[k];
  } else if (sample->ranges[k] != GEMEL_RANGE_ANY || kind == GEMEL_KIND_BOOL) {
    low = kind == GEMEL_KIND_BOOL ? 0 : 1;
    high = low + 2;
  } else if (kind != GEMEL_KIND_UNSIGNED) {
    low = -3;
  }
  CT_EQ_INT(
      gemel__rtensor_init(t, d, gemel_type_dtype(context, sample->inputs[k]), rank, shape, NULL),
      GEMEL_OK);
  for (size_t i = 0; i < t->count; i++) {
    d->from_integer(d, gemel__rtensor_at(t, i),
                    low + (int64_t)(random_bits(seed) % (uint64_t)(high - low)));
  }
}

/* Evaluates the sampled instance of OP; the references' shapes and dtypes must be the type rule's.
 */
static void run_sample(gemel_context *context, const gemel_operation *op,
                       const gemel_sample *sample, uint64_t *seed) {
  world w = {context, gemel_graph_new(context, NULL), {0}};
  gemel__domain d = plain;
  gemel_value inputs[GEMEL_SAMPLE_MAX_INPUTS];
  gemel__rtensor in[GEMEL_SAMPLE_MAX_INPUTS] = {{0}}, out[16] = {{0}};
  char name[20];
  for (size_t k = 0; k < sample->n_inputs; k++) {
    snprintf(name, sizeof name, "x%zu", k);
    inputs[k] = gemel_input(w.graph, name, sample->inputs[k]);
    fill_sample(sample, k, &d, &in[k], seed);
  }
  gemel_value value =
      gemel_apply(w.graph, op->name, sample->n_inputs, inputs, sample->n_attrs, sample->attrs);
  CT_EQ_INT(gemel_graph_error(w.graph)->status, GEMEL_OK);
  for (uint32_t k = 0; k < 16 && !gemel_is_null(gemel_value_output(value, k)); k++) {
    snprintf(name, sizeof name, "y%u", (unsigned)k);
    gemel_output(gemel_value_output(value, k), name);
  }
  if (!CT_EQ_INT(gemel__reference_graph(w.graph, &d, in, out, NULL, NULL, &w.error), GEMEL_OK)) {
    CT_FAIL("%s", w.error.text);
  }
  for (size_t k = 0; k < 16; k++) {
    gemel__rtensor_clear(&out[k]);
  }
  for (size_t k = 0; k < sample->n_inputs; k++) {
    gemel__rtensor_clear(&in[k]);
  }
  gemel_graph_unref(w.graph);
}

static void sampled_operations(const void *data) {
  (void)data;
  gemel_context *context = gemel_context_new(NULL);
  uint64_t seed = 1;
  size_t with_sampler = 0, instances = 0;
  for (size_t k = 0; k < gemel_operation_count(context); k++) {
    const gemel_operation *op = gemel_operation_at(context, k);
    gemel__sampler sampler = gemel__sampler_of(context, op);
    with_sampler += sampler != NULL;
    for (int i = 0; sampler != NULL && i < 20 * GEMEL_DTYPE_COUNT; i++) {
      static gemel_sample sample;
      sample = (gemel_sample){.size = sizeof sample,
                              .context = context,
                              .random = random_bits,
                              .user = &seed,
                              .dtype = (gemel_dtype)(i % GEMEL_DTYPE_COUNT),
                              .max_elements = 30,
                              .data = op->data};
      ct_context("%s, %s, instance %d", op->name, gemel_dtype_name(sample.dtype), i);
      if (sampler(&sample) == GEMEL_OK) {
        run_sample(context, op, &sample, &seed);
        instances++;
      }
    }
  }
  CT_CHECK(with_sampler > 40 && instances > 5000);
  ct_property("instances", (long long)instances);
  gemel_context_unref(context);
}

/* ---- No memory ---- */

static int evaluate_without_memory(void *data) {
  world *w = data;
  gemel__domain d = plain;
  gemel__rtensor in = {0}, out = {0};
  gemel_status status =
      gemel__rtensor_init(&in, &d, GEMEL_F32, 2, (const int64_t[]){2, 2}, &w->error);
  if (status == GEMEL_OK) {
    status = gemel__reference_graph(w->graph, &d, &in, &out, NULL, NULL, &w->error);
  }
  gemel__rtensor_clear(&in);
  gemel__rtensor_clear(&out);
  return status;
}

static void without_memory(const void *data) {
  (void)data;
  world w = world_new();
  gemel_value x = symbolic_input(&w, "x", 2, (const char *const[]){"M", "N"});
  gemel_attr axis = gemel_attr_int("axis", 0);
  gemel_value y =
      apply(w.graph, "dot", apply(w.graph, "softmax", x, none), apply(w.graph, "tanh", x, none));
  y = apply(w.graph, "mul", apply(w.graph, "max", y, none), apply(w.graph, "sum", x, none));
  y = apply(w.graph, "add", y, apply(w.graph, "cross_entropy", x, x));
  y = apply(w.graph, "mul", y, gemel_apply(w.graph, "argmax", 1, &x, 1, &axis));
  gemel_output(y, "y");
  if (CT_EQ_INT(gemel_graph_error(w.graph)->status, GEMEL_OK)) {
    CT_CHECK(ct_oom(evaluate_without_memory, &w) > 20);
  }
  world_free(&w);
}

static const ct_test tests[] = {
    CT_TEST("shared_values", graph_with_shared_values, NULL),
    CT_TEST("symbols", graph_with_symbols, NULL),
    CT_TEST("run_time_size", graph_with_run_time_size, NULL),
    CT_TEST("wrong_reference", graph_with_wrong_reference, NULL),
    CT_TEST("own_operation", graph_with_own_operation, NULL),
    CT_TEST("bodies", graph_with_bodies, NULL),
    CT_TEST("deep", graph_that_is_deep, NULL),
    CT_TEST("sampled_operations", sampled_operations, NULL),
    CT_TEST("without_memory", without_memory, NULL),
};

void ct_register(void) {
  ct_suite("reference-graph", tests, CT_COUNT(tests));
}
