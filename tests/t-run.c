/*
 * The executor. Random graphs are run fused, with memory reused, on one thread and on several, with
 * inputs and results in all kinds of layouts, and must agree bit for bit with the plain way: one
 * kernel a node, fresh poisoned memory for each. Further: results never alias, steady state
 * allocates nothing, every refused allocation is an error with everything as before. Sizes known
 * only at run time, and messages, are in t-sizes.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "run.h"
#include "support/small-stack.h"
#include "support/watched-memory.h"
#include "support/operation.h"

/* ---- Layouts ---- */

typedef enum layout { ROW_MAJOR, REVERSED, TRANSPOSED, GAPS, OFFSET, LAYOUTS } layout;

/* The elements of SOURCE in memory of their own in another layout. */
static gemel_tensor *relaid(const gemel_tensor *source, layout how) {
  gemel_view v = gemel_tensor_view(source);
  int64_t strides[GEMEL_MAX_RANK], index[GEMEL_MAX_RANK] = {0};
  int64_t bytes = (int64_t)gemel_dtype_size(v.dtype), step = bytes, start = 0, n = 1, i;
  int k;
  char *memory;
  for (k = 0; k < v.rank; k++) {
    int axis = how == TRANSPOSED ? k : v.rank - 1 - k;
    step *= how == GAPS ? 2 : 1;
    strides[axis] = how == REVERSED ? -step : step;
    start += how == REVERSED && v.shape[axis] > 0 ? step * (v.shape[axis] - 1) : 0;
    step *= v.shape[axis];
    n *= v.shape[axis];
  }
  start += how == OFFSET ? bytes : 0;
  memory = malloc((size_t)(step + 2 * bytes + 64));
  memset(memory, 0x77, (size_t)(step + 2 * bytes + 64));
  for (i = 0; i < n; i++) {
    int64_t from = 0, to = start;
    for (k = 0; k < v.rank; k++) {
      from += index[k] * v.strides[k];
      to += index[k] * strides[k];
    }
    memcpy(memory + to, (const char *)v.data + from, (size_t)bytes);
    for (k = v.rank - 1; k >= 0 && ++index[k] == v.shape[k]; k--)
      index[k] = 0;
  }
  return gemel_tensor_wrap(v.dtype, v.rank, v.shape, strides, memory + start, free, memory, &error);
}

/* Bit for bit, but for NaNs, whatever the layouts. */
static int same_elements(const gemel_tensor *a, const gemel_tensor *b) {
  gemel_view u = gemel_tensor_view(a), v = gemel_tensor_view(b);
  gemel_tensor *x = gemel_tensor_copy(&u, &error), *y = gemel_tensor_copy(&v, &error);
  size_t bytes = (size_t)gemel_tensor_elements(a) * gemel_dtype_size(u.dtype);
  int same = u.dtype == v.dtype && u.rank == v.rank &&
             (u.rank == 0 || memcmp(u.shape, v.shape, (size_t)u.rank * sizeof *u.shape) == 0);
  unify_nans(x);
  unify_nans(y);
  same = CT_CHECK(same) &&
         (bytes == 0 || CT_EQ_MEM(gemel_tensor_data(x), gemel_tensor_data(y), bytes));
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  return same;
}

/* ---- Random graphs ---- */

enum { INPUTS = 4, MAX_VALUES = 400, MAX_OUTPUTS = 12 };

typedef struct random_graph {
  gemel_context *context;
  gemel_graph *graph;
  gemel_value values[MAX_VALUES];
  int n_values, n_outputs;
  gemel_tensor *inputs[INPUTS];
} random_graph;

static const char *const scalar_ops[] = {
    "add",   "sub",     "mul",  "div",   "neg",     "abs",         "sign",       "sqr",
    "sqrt",  "exp",     "log",  "tanh",  "sigmoid", "relu",        "eq",         "lt",
    "where", "maximum", "clip", "log1p", "minimum", "logical_not", "logical_or", "mod"};
static const int scalar_arity[] = {2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1,
                                   1, 1, 2, 2, 3, 2, 3, 1, 2, 1, 2, 2};

static const gemel_dtype dtypes[] = {GEMEL_F32,  GEMEL_F32, GEMEL_F64, GEMEL_F16, GEMEL_BF16,
                                     GEMEL_BOOL, GEMEL_I8,  GEMEL_I32, GEMEL_I64, GEMEL_U16};

/* Small numbers, zeros of both signs, now and then an infinity or a NaN. */
static void fill(gemel_tensor *t) {
  static const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e30f, 1e-30f, 1e-41f};
  gemel_dtype dtype = gemel_tensor_dtype(t);
  int64_t n = gemel_tensor_elements(t), k;
  unsigned char *bytes = gemel_tensor_data(t);
  for (k = 0; k < n; k++) {
    double x = pick(20) == 0 ? odd[pick(8)] : (double)(pick(2001) - 1000) / 256;
    if (dtype == GEMEL_F32)
      ((float *)gemel_tensor_data(t))[k] = (float)x;
    else if (dtype == GEMEL_F64)
      ((double *)gemel_tensor_data(t))[k] = x;
    else if (dtype == GEMEL_BOOL)
      bytes[k] = (unsigned char)pick(2);
    else if (dtype == GEMEL_F16)
      ((uint16_t *)gemel_tensor_data(t))[k] = (uint16_t)(pick(2) << 15 | (0x3800 + pick(0x800)));
    else if (dtype == GEMEL_BF16)
      ((uint16_t *)gemel_tensor_data(t))[k] = (uint16_t)(pick(2) << 15 | (0x3f00 + pick(0x100)));
    else if (gemel_dtype_size(dtype) == 8)
      ((int64_t *)gemel_tensor_data(t))[k] = pick(200) - 100;
    else if (gemel_dtype_size(dtype) == 4)
      ((int32_t *)gemel_tensor_data(t))[k] = (int32_t)pick(200) - 100;
    else if (gemel_dtype_size(dtype) == 2)
      ((uint16_t *)gemel_tensor_data(t))[k] = (uint16_t)pick(65536);
    else
      bytes[k] = (unsigned char)pick(256);
  }
}

static int rank_of(gemel_value v) {
  return gemel_type_rank(gemel_graph_context(v.graph), gemel_value_type(v));
}

static int64_t size_of(gemel_value v, int axis) {
  gemel_context *c = gemel_graph_context(v.graph);
  int64_t size = 0;
  gemel_dim_is_constant(c, gemel_type_dims(c, gemel_value_type(v))[axis], &size);
  return size;
}

static gemel_value some(random_graph *r) {
  return r->values[pick(4) == 0 ? pick(r->n_values) : r->n_values - 1 - pick(r->n_values / 2 + 1)];
}

/* A value whose shape broadcasts with V's; V itself if none is found soon. */
static gemel_value partner(random_graph *r, gemel_value v) {
  int tries, k;
  for (tries = 0; tries < 20; tries++) {
    gemel_value w = some(r);
    int good = 1, a = rank_of(v), b = rank_of(w);
    for (k = 1; k <= a && k <= b; k++) {
      int64_t m = size_of(v, a - k), n = size_of(w, b - k);
      good &= m == n || m == 1 || n == 1;
    }
    if (good)
      return w;
  }
  return v;
}

static gemel_value random_scalar(random_graph *r) {
  int op = (int)pick(CT_COUNT(scalar_ops));
  gemel_value in[3];
  if (valgrind() && (strstr(scalar_ops[op], "imum") || strcmp(scalar_ops[op], "clip") == 0))
    op = 0;
  in[0] = some(r);
  in[1] = scalar_arity[op] > 1 ? partner(r, in[0]) : in[0];
  in[2] = scalar_arity[op] > 2 ? in[0] : in[0];
  if (scalar_arity[op] > 2 && pick(2))
    in[2] = in[1];
  return gemel_apply(r->graph, scalar_ops[op], (size_t)scalar_arity[op], in, 0, NULL);
}

/* A sum of floats depends on the order of its terms, and that on their layout, so only what is
 * exact is summed. */
static const char *reduction_for(random_graph *r, gemel_value x) {
  gemel_dtype dtype = gemel_type_dtype(r->context, gemel_value_type(x));
  int k, n = 1;
  for (k = 0; k < rank_of(x); k++)
    n *= size_of(x, k) > 0;
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT && n > 0 ? "max" : "sum";
}

static gemel_value random_shape(random_graph *r) {
  gemel_value x = some(r);
  int rank = rank_of(x), k;
  int64_t axis = rank > 0 ? pick(rank) : 0, order[GEMEL_MAX_RANK], n = 1;
  gemel_attr attrs[2];
  gemel_dim dim;
  switch (pick(6)) {
  case 0:
    for (k = 0; k < rank; k++)
      order[k] = rank - 1 - k;
    attrs[0] = gemel_attr_ints("order", (size_t)rank, order);
    return gemel_apply(r->graph, "dimshuffle", 1, &x, 1, attrs);
  case 1:
    attrs[0] = gemel_attr_ints("axes", rank > 0, &axis);
    return gemel_apply(r->graph, "reverse", 1, &x, 1, attrs);
  case 2:
    for (k = 0; k < rank; k++)
      n *= size_of(x, k);
    dim = gemel_dim_constant(r->context, n);
    attrs[0] = gemel_attr_dims("shape", 1, &dim);
    return gemel_apply(r->graph, "reshape", 1, &x, 1, attrs);
  case 3:
    attrs[0] = gemel_attr_ints("axes", rank > 0, &axis);
    attrs[1] = gemel_attr_int("keepdims", pick(2));
    return gemel_apply(r->graph, reduction_for(r, x), 1, &x, 2, attrs);
  case 4:
    attrs[0] = gemel_attr_dtype("dtype", dtypes[pick(CT_COUNT(dtypes))]);
    return gemel_apply(r->graph, "cast", 1, &x, 1, attrs);
  default: {
    gemel_value xs[2] = {x, x};
    attrs[0] = gemel_attr_int("axis", axis);
    return rank > 0 && size_of(x, (int)axis) < 200 ? gemel_apply(r->graph, "join", 2, xs, 1, attrs)
                                                   : x;
  }
  }
}

static void add_value(random_graph *r, gemel_value v) {
  if (gemel_is_null(v))
    gemel_graph_clear_error(r->graph);
  else
    r->values[r->n_values++] = v;
}

static void random_graph_make(random_graph *r, int n_nodes, const int64_t *shape) {
  static const unsigned char kept[INPUTS][2] = {{1, 1}, {1, 0}, {0, 1}, {1, 1}};
  int k, tries;
  memset(r, 0, sizeof *r);
  r->context = context_new();
  r->graph = gemel_graph_new(r->context, &error);
  for (k = 0; k < INPUTS; k++) {
    int64_t sizes[2] = {kept[k][0] ? shape[0] : 1, kept[k][1] ? shape[1] : 1};
    gemel_dtype dtype = dtypes[pick(CT_COUNT(dtypes))];
    char name[8];
    gemel_tensor *t = gemel_tensor_new(dtype, 2, sizes, &error);
    fill(t);
    r->inputs[k] = relaid(t, (layout)(k == 0 ? ROW_MAJOR : pick(LAYOUTS)));
    gemel_tensor_unref(t);
    snprintf(name, sizeof name, "x%d", k);
    add_value(r, gemel_input(r->graph, name, gemel_type_of_shape(r->context, dtype, 2, sizes)));
  }
  add_value(r, gemel_scalar(r->graph, GEMEL_F32, 0.75));
  for (tries = 0; r->n_values < n_nodes && tries < 3 * n_nodes; tries++)
    add_value(r, pick(4) > 0 ? random_scalar(r) : random_shape(r));
  for (k = 0; k < MAX_OUTPUTS; k++) {
    char name[8];
    gemel_value v = k == 0 ? r->values[r->n_values - 1] : k == 1 ? r->values[pick(5)] : some(r);
    snprintf(name, sizeof name, "y%d", k);
    CT_EQ_INT(gemel_output(v, name), GEMEL_OK);
  }
  r->n_outputs = MAX_OUTPUTS;
}

static void random_graph_free(random_graph *r) {
  int k;
  for (k = 0; k < INPUTS; k++)
    gemel_tensor_unref(r->inputs[k]);
  gemel_graph_unref(r->graph);
  gemel_context_unref(r->context);
}

static void free_outputs(gemel_tensor **outputs) {
  int k;
  for (k = 0; k < MAX_OUTPUTS; k++) {
    gemel_tensor_unref(outputs[k]);
    outputs[k] = NULL;
  }
}

/* Calls and compares with WANTED, or fills it in if it is empty. RELAY gives results' tensors in
 * random layouts, or all in layout OFFSET. Twice, since the second time
 * memory holds what the first left. */
static int run_and_compare(random_graph *r, int threads, int plain, int relay,
                           gemel_tensor **wanted) {
  gemel_function *f = compile(r->graph, threads, plain);
  gemel_tensor *outputs[MAX_OUTPUTS] = {NULL};
  int round, k, good = f != NULL;
  for (round = 0; good && round < 2; round++) {
    if (relay)
      for (k = 0; k < r->n_outputs; k++)
        outputs[k] = relaid(wanted[k], relay == OFFSET ? OFFSET : (layout)pick(LAYOUTS));
    good = CT_EQ_INT(gemel_call(f, gemel_graph_input_count(r->graph), r->inputs,
                                gemel_graph_output_count(r->graph), outputs, &error),
                     GEMEL_OK);
    if (!good)
      CT_FAIL("%s", error.text);
    for (k = 0; good && k < r->n_outputs; k++) {
      ct_context("seed %llu, threads %d, plain %d, output %d", (unsigned long long)state, threads,
                 plain, k);
      if (wanted[k] == NULL) {
        gemel_view v = gemel_tensor_view(outputs[k]);
        wanted[k] = gemel_tensor_copy(&v, &error);
      } else {
        good = same_elements(outputs[k], wanted[k]);
      }
    }
    free_outputs(outputs);
  }
  gemel_function_free(f);
  return good;
}

static const int64_t shapes[][2] = {{7, 5}, {1, 1}, {0, 3}, {33, 129}, {120, 300}};

/* Ways to run a graph that must all give the same bits. */
static void random_graphs(const void *data) {
  size_t which = (size_t)((const int64_t(*)[2])data - shapes);
  int rounds = which < 3 ? 150 : which == 3 ? 40 : 6, round, good = 1;
  rounds = valgrind() ? rounds / 6 : rounds;
  for (round = 0; round < rounds && good; round++) {
    random_graph r;
    gemel_tensor *wanted[MAX_OUTPUTS] = {NULL};
    state = (uint64_t)round * 1000 + which;
    random_graph_make(&r, round % 10 == 9 ? MAX_VALUES : 30, shapes[which]);
    good = run_and_compare(&r, 1, 1, 0, wanted) && run_and_compare(&r, 1, 0, 0, wanted) &&
           run_and_compare(&r, 3, 0, 0, wanted) && run_and_compare(&r, 2, 0, 1, wanted);
    free_outputs(wanted);
    random_graph_free(&r);
  }
  ct_context(NULL);
}

/* ---- Chains ---- */

/* Scalars: where a maximum needs more than a comparison there are zeros and NaN. */
static const double chain_scalars[] = {1.5, 0.0, -0.0, NAN};
enum { CHAIN_SCALARS = 4, NOT_A_NUMBER = 3 };

/* Arithmetic on big vectors, which stays in registers from node to node: both operand orders, an
 * operand twice, scalars, sizes with and without a rest, results past the cache and unaligned. */
static gemel_value chain_step(gemel_value y, gemel_value x, const gemel_value *scalars, int kinds) {
  gemel_value s = scalars[0], edge = scalars[pick(8) == 0 ? NOT_A_NUMBER : pick(NOT_A_NUMBER)];
  switch (pick(kinds)) {
  case 0:
    return gemel_add(y, x);
  case 1:
    return gemel_add(x, y);
  case 2:
    return gemel_sub(y, x);
  case 3:
    return gemel_sub(s, y);
  case 4:
    return gemel_mul(y, s);
  case 5:
    return gemel_mul(x, y);
  case 6:
    return gemel_div(y, x);
  case 7:
    return gemel_div(s, y);
  case 8:
    return gemel_neg(y);
  case 9:
    return gemel_sqr(y);
  case 10:
    return gemel_abs(y);
  case 11:
    return gemel_relu(y);
  case 12:
    return gemel_mul(y, y);
  case 13:
    return gemel_maximum(y, pick(2) ? x : edge);
  case 14:
    return gemel_minimum(edge, pick(2) ? x : y);
  case 15:
    return gemel_maximum(gemel_mul(s, gemel_relu(x)), gemel_neg(gemel_mul(s, gemel_relu(y))));
  default:
    return gemel_tanh(y);
  }
}

/* x: N numbers of DTYPE. */
static gemel_value chain_operand(random_graph *r, gemel_dtype dtype, int64_t n) {
  gemel_tensor *t = gemel_tensor_new(dtype, 1, &n, &error);
  memset(r, 0, sizeof *r);
  r->context = context_new();
  r->graph = gemel_graph_new(r->context, &error);
  fill(t);
  r->inputs[0] = t;
  return gemel_input(r->graph, "x", gemel_type_of_shape(r->context, dtype, 1, &n));
}

/* Maxima and minima of each scalar, on either side, in a chain of two. */
static void chain_edges(const void *data) {
  int k, good = 1;
  (void)data;
  for (k = 0; k < 8 * CHAIN_SCALARS && good; k++) {
    gemel_dtype dtype = k & 1 ? GEMEL_F64 : GEMEL_F32;
    gemel_value a, b;
    gemel_tensor *wanted[MAX_OUTPUTS] = {NULL};
    random_graph r;
    state = (uint64_t)k;
    a = chain_operand(&r, dtype, 1151);
    b = gemel_scalar(r.graph, dtype, chain_scalars[k / 8]);
    a = k & 2 ? gemel_maximum(k & 4 ? a : b, k & 4 ? b : a)
              : gemel_minimum(k & 4 ? a : b, k & 4 ? b : a);
    gemel_output(gemel_neg(a), "y");
    r.n_outputs = 1;
    good = run_and_compare(&r, 1, 1, 0, wanted) && run_and_compare(&r, 1, 0, 0, wanted);
    free_outputs(wanted);
    random_graph_free(&r);
  }
  ct_context(NULL);
}

/* A step both of whose operands are what the step before it made. */
static void chain_of_itself(const void *data) {
  static const char *const steps[] = {"add", "sub", "mul", "div", "maximum", "minimum"};
  (void)data;
  for (size_t k = 0; k < 2 * CT_COUNT(steps); k++) {
    gemel_tensor *wanted[MAX_OUTPUTS] = {NULL};
    random_graph r;
    ct_context("step %zu", k);
    gemel_value x = chain_operand(&r, k % 2 ? GEMEL_F64 : GEMEL_F32, 1151);
    gemel_value y = gemel_neg(x), both[] = {y, y};
    gemel_output(gemel_apply(r.graph, steps[k / 2], 2, both, 0, NULL), "y");
    r.n_outputs = 1;
    run_and_compare(&r, 1, 1, 0, wanted);
    run_and_compare(&r, 1, 0, 0, wanted);
    free_outputs(wanted);
    random_graph_free(&r);
  }
  ct_context(NULL);
}

static void chain_graph_make(random_graph *r, gemel_dtype dtype, int64_t n, int n_nodes) {
  gemel_value x = chain_operand(r, dtype, n), y = x, s[CHAIN_SCALARS];
  int k;
  for (k = 0; k < CHAIN_SCALARS; k++)
    s[k] = gemel_scalar(r->graph, dtype, chain_scalars[k]);
  for (k = 0; k < n_nodes; k++) {
    y = chain_step(y, x, s, n_nodes < 10 ? 15 : 17); /* few: all of them in one chain */
    if (k + 1 == n_nodes || pick(15) == 0) {
      char name[8];
      snprintf(name, sizeof name, "y%d", r->n_outputs++);
      gemel_output(y, name);
      if (r->n_outputs == MAX_OUTPUTS)
        break;
    }
  }
}

static void chains(const void *data) {
  static const int64_t some_sizes[] = {1024, 1025, 1151, 5000, 40961};
  int64_t big = *(const int *)data;
  int rounds = big ? 1 : valgrind() ? 10 : 60, round, good = 1;
  if (big && valgrind())
    CT_SKIP("slow under Valgrind");
  for (round = 0; round < rounds && good; round++) {
    random_graph r;
    gemel_tensor *wanted[MAX_OUTPUTS] = {NULL};
    state = (uint64_t)round;
    chain_graph_make(&r, pick(3) ? GEMEL_F32 : GEMEL_F64, big ? big : some_sizes[pick(5)],
                     big ? 9 : 40);
    good = run_and_compare(&r, 1, 1, 0, wanted) && run_and_compare(&r, 1, 0, 0, wanted) &&
           run_and_compare(&r, 3, 0, 0, wanted) &&
           run_and_compare(&r, 2, 0, big ? OFFSET : 1, wanted);
    free_outputs(wanted);
    random_graph_free(&r);
  }
  ct_context(NULL);
}

/* ---- Memory ---- */

/* A chain y = -(y + x) of N nodes. */
static gemel_graph *chain(gemel_context *c, int64_t size, int n) {
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_value x = f32_input(g, "x", size < 0 ? "N" : NULL, size), y = x;
  int k;
  for (k = 0; k < n; k++)
    y = k % 2 ? gemel_neg(y) : gemel_add(y, x);
  gemel_output(y, "y");
  return g;
}

/* Sums break groups, so that intermediates need memory: it must not grow with the depth. */
static void memory_is_reused(const void *data) {
  gemel_context *c = context_new();
  size_t bytes[2] = {0, 0};
  int deep, k;
  (void)data;
  for (deep = 0; deep < 2; deep++) {
    gemel_graph *g = gemel_graph_new(c, &error);
    int64_t shape[2] = {64, 64}, order[2] = {1, 0};
    gemel_value y = gemel_input(g, "x", gemel_type_of_shape(c, GEMEL_F32, 2, shape));
    gemel_tensor *x = gemel_tensor_new(GEMEL_F32, 2, shape, &error), *out = NULL;
    gemel_attr attr = gemel_attr_ints("order", 2, order);
    gemel_function *f;
    for (k = 0; k < (deep ? 40 : 8); k++) {
      y = gemel_exp(y);
      y = gemel_add(gemel_apply(g, "dimshuffle", 1, &y, 1, &attr), y);
    }
    gemel_output(y, "y");
    f = compile(g, 1, 0);
    CT_REQUIRE(f != NULL);
    CT_EQ_INT(gemel_call(f, 1, &x, 1, &out, &error), GEMEL_OK);
    bytes[deep] = gemel_function_bytes(f);
    CT_EQ_UINT(gemel_function_kernels(f), deep ? 41 : 9); /* each sum with the exp of it */
    gemel_function_free(f);
    gemel_tensor_unref(out);
    gemel_tensor_unref(x);
    gemel_graph_unref(g);
  }
  CT_CHECK(bytes[0] > 0);
  CT_EQ_UINT(bytes[1], bytes[0]);
  gemel_context_unref(c);
}

/* A call with known shapes and given results allocates nothing, whatever alternates. */
static void steady_state(const void *data) {
  gemel_context *c;
  gemel_graph *g;
  gemel_function *f;
  gemel_tensor *x[2], *y[2] = {NULL, NULL}, *odd;
  int64_t shape = 5, stride = 8;
  static float memory[10];
  long before;
  int k;
  (void)data;
  watch_memory(0);
  c = context_new();
  g = chain(c, -1, 5);
  f = compile(g, 1, 0);
  gemel_graph_unref(g);
  x[0] = vector_of(GEMEL_F32, 5, 1);
  x[1] = vector_of(GEMEL_F32, 700, 2);
  odd = gemel_tensor_wrap(GEMEL_F32, 1, &shape, &stride, memory, NULL, NULL, &error);
  for (k = 0; k < 2; k++)
    CT_EQ_INT(gemel_call(f, 1, &x[k], 1, &y[k], &error), GEMEL_OK);
  CT_EQ_INT(gemel_call(f, 1, &x[0], 1, &odd, &error), GEMEL_OK);
  before = atomic_load(&watched.asked);
  for (k = 0; k < 10; k++) {
    CT_EQ_INT(gemel_call(f, 1, &x[k % 2], 1, &y[k % 2], &error), GEMEL_OK);
    CT_EQ_INT(gemel_call(f, 1, &x[0], 1, &odd, &error), GEMEL_OK);
  }
  CT_EQ_INT(atomic_load(&watched.asked), before);
  CT_CHECK(memory[2] == float_at(y[0], 1));
  gemel_tensor_unref(odd);
  for (k = 0; k < 2; k++) {
    gemel_tensor_unref(x[k]);
    gemel_tensor_unref(y[k]);
  }
  gemel_function_free(f);
  gemel_context_unref(c);
  unwatch_memory();
}

/* ---- Results ---- */

/* Outputs that are an input, a constant, a view, or the same value twice are copies. */
static void results_never_alias(const void *data) {
  gemel_context *c = context_new();
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_value x = f32_input(g, "x", NULL, 4), s = gemel_scalar(g, GEMEL_F32, 3), y = gemel_neg(x);
  int64_t axis = 0;
  gemel_attr attr = gemel_attr_ints("axes", 1, &axis);
  gemel_tensor *in = vector_of(GEMEL_F32, 4, 1), *out[6] = {NULL};
  gemel_function *f;
  int k, j;
  (void)data;
  gemel_output(x, "x");
  gemel_output(s, "s");
  gemel_output(y, "y");
  gemel_output(y, "z");
  gemel_output(gemel_apply(g, "reverse", 1, &y, 1, &attr), "r");
  gemel_output(gemel_apply(g, "reverse", 1, &x, 1, &attr), "q");
  f = compile(g, 0, 0);
  CT_REQUIRE(f != NULL);
  CT_EQ_INT(gemel_call(f, 1, &in, 6, out, &error), GEMEL_OK);
  for (k = 0; k < 6; k++) {
    CT_CHECK(gemel_tensor_data(out[k]) != gemel_tensor_data(in));
    for (j = 0; j < k; j++)
      CT_CHECK(gemel_tensor_data(out[k]) != gemel_tensor_data(out[j]));
  }
  CT_CHECK(float_at(out[0], 2) == 3 && float_at(out[1], 0) == 3 && float_at(out[2], 2) == -3 &&
           float_at(out[3], 2) == -3 && float_at(out[4], 0) == -4 && float_at(out[5], 0) == 4);
  CT_CHECK(float_at(in, 0) == 1);
  for (k = 0; k < 6; k++)
    gemel_tensor_unref(out[k]);
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(c);
}

/* ---- Results in memory that the caller gives ---- */

static gemel_tensor *wrapped(float *data, int64_t n, int64_t step) {
  int64_t strides = step * (int64_t)sizeof *data;
  gemel_tensor *t = gemel_tensor_wrap(GEMEL_F32, 1, &n, &strides, data, NULL, NULL, &error);
  CT_CHECK(t != NULL);
  return t;
}

/* y = reverse(x) + 1 and z = y * 2 of four elements, results given. Where they lie in MEMORY: */
typedef struct overlap_case {
  const char *name;
  int x, x_step, y, y_step, z, z_step; /* first element and step */
  gemel_status status;
} overlap_case;

static const overlap_case overlap_cases[] = {
    {"apart", 0, 1, 4, 1, 8, 1, GEMEL_OK},
    {"touching", 4, 1, 8, -1, 0, 1, GEMEL_OK}, /* y is 8, 7, 6, 5: over x */
    {"the-input", 0, 1, 0, 1, 8, 1, GEMEL_OK},
    {"the-input-backwards", 3, -1, 0, 1, 8, 1, GEMEL_OK},
    {"half-of-the-input", 0, 1, 2, 1, 8, 1, GEMEL_OK},
    {"half-of-the-input-second", 2, 1, 8, 1, 0, 1, GEMEL_OK},
    {"both-over-the-input", 2, 1, 0, 1, 4, 1, GEMEL_OK},
    {"same-for-both", 0, 1, 8, 1, 8, 1, GEMEL_BAD_ARGUMENT},
    {"same-backwards", 0, 1, 11, -1, 8, 1, GEMEL_BAD_ARGUMENT},
    {"one-element", 0, 1, 8, 1, 11, 1, GEMEL_BAD_ARGUMENT},
    {"one-element-strided", 0, 1, 4, 2, 10, 1, GEMEL_BAD_ARGUMENT},
    {"columns", 0, 1, 4, 2, 5, 2, GEMEL_OK},
    {"columns-of-the-input", 4, 2, 4, 2, 5, 2, GEMEL_OK},
    {"all-in-one-place", 0, 1, 4, 0, 8, 1, GEMEL_BAD_ARGUMENT},
};

static void given_memory(const void *data) {
  const overlap_case *o = data;
  gemel_context *c = context_new();
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_value x = f32_input(g, "x", NULL, 4), y;
  int64_t axis = 0;
  float memory[16], before[16];
  gemel_tensor *in, *out[2];
  gemel_function *f;
  int k;
  for (k = 0; k < 16; k++)
    memory[k] = before[k] = (float)k * 10;
  y = gemel_add(gemel_reverse(x, 1, &axis), gemel_scalar(g, GEMEL_F32, 1));
  gemel_output(y, "y");
  gemel_output(gemel_mul(y, gemel_scalar(g, GEMEL_F32, 2)), "z");
  f = compile(g, 0, 0);
  in = wrapped(memory + o->x, 4, o->x_step);
  out[0] = wrapped(memory + o->y, 4, o->y_step);
  out[1] = wrapped(memory + o->z, 4, o->z_step);
  CT_REQUIRE(f != NULL);
  CT_EQ_INT(gemel_call(f, 1, &in, 2, out, &error), o->status);
  for (k = 0; k < 4 && o->status == GEMEL_OK; k++) {
    float want = before[o->x + (3 - k) * o->x_step] + 1;
    CT_CHECK(memory[o->y + k * o->y_step] == want);
    CT_CHECK(memory[o->z + k * o->z_step] == 2 * want);
  }
  if (o->status != GEMEL_OK) {
    CT_HAS_STR(error.text, "in the same memory");
    CT_EQ_MEM(memory, before, sizeof memory);
  }
  gemel_tensor_unref(in);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(c);
}

/* The function keeps what it needs: the graph may grow and go. One tensor may be several inputs. */
static void function_outlives_graph(const void *data) {
  gemel_context *c = context_new();
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_value a = f32_input(g, "a", "N", 0), b = f32_input(g, "b", "N", 0);
  gemel_function *f;
  gemel_tensor *in[2], *out = NULL;
  (void)data;
  gemel_output(gemel_sub(gemel_mul(a, b), b), "y");
  f = compile(g, 0, 0);
  CT_REQUIRE(f != NULL);
  gemel_output(gemel_add(a, b), "later");
  gemel_graph_unref(g);
  gemel_context_unref(c);
  in[0] = in[1] = vector_of(GEMEL_F32, 3, 2);
  CT_EQ_INT(gemel_call(f, 2, in, 1, &out, &error), GEMEL_OK);
  CT_CHECK(out && float_at(out, 0) == 2 && float_at(out, 2) == 12);
  gemel_tensor_unref(out);
  gemel_tensor_unref(in[0]);
  gemel_function_free(f);
}

/* More signatures than plans are kept. */
static void many_signatures(const void *data) {
  gemel_context *c = context_new();
  gemel_graph *g = chain(c, -1, 6);
  gemel_function *f = compile(g, 0, 0);
  int round;
  (void)data;
  CT_REQUIRE(f != NULL);
  for (round = 0; round < 60; round++) {
    int64_t n = round * 7 % 20;
    gemel_tensor *x = vector_of(GEMEL_F32, n, 1), *y = NULL;
    CT_EQ_INT(gemel_call(f, 1, &x, 1, &y, &error), GEMEL_OK);
    CT_EQ_INT(gemel_tensor_elements(y), n);
    if (n > 0)
      CT_CHECK(float_at(y, n - 1) == -2 * (float)n);
    gemel_tensor_unref(x);
    gemel_tensor_unref(y);
  }
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(c);
}

/* ---- Operations of a program's own ---- */

static gemel_status decline(gemel_kernel_call *call) {
  (void)call;
  return GEMEL_DECLINED;
}

static gemel_status prepare_twice(gemel_kernel_call *call) {
  call->scratch_bytes = 100;
  *(int *)call->prepared = 2;
  return GEMEL_OK;
}

static gemel_status never(const gemel_kernel_call *call) {
  (void)call;
  CT_FAIL("a kernel that declined is run");
  return GEMEL_INTERNAL;
}

static gemel_status run_twice(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *y = &call->outputs[0];
  int64_t k;
  if (*(const float *)x->data < 0) {
    snprintf(call->error->text, sizeof call->error->text, "below zero");
    return call->error->status = GEMEL_BAD_VALUE;
  }
  memset(call->scratch, 1, call->scratch_bytes);
  CT_EQ_INT(call->scratch_bytes, 100);
  CT_EQ_INT(y->strides[0], 4);
  for (k = 0; k < x->shape[0]; k++)
    ((float *)y->data)[k] =
        *(int *)call->prepared * *(const float *)((const char *)x->data + k * x->strides[0]);
  return GEMEL_OK;
}

static void own_operation(const void *data) {
  static const gemel_kernel kernels[] = {
      {"picky", decline, never}, {"good", prepare_twice, run_twice}, {NULL, NULL, NULL}};
  gemel_operation record = {.size = sizeof record,
                            .name = "twice",
                            .summary = "2 x",
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .version = 1,
                            .infer = same_type,
                            .kernels = kernels};
  gemel_context *c = context_new();
  gemel_graph *g;
  gemel_value x, y;
  gemel_function *f;
  gemel_tensor *in = vector_of(GEMEL_F32, 5, 1), *back = relaid(in, REVERSED), *out = NULL;
  (void)data;
  CT_EQ_INT(gemel_register_operation(c, &record, &error), GEMEL_OK);
  g = gemel_graph_new(c, &error);
  x = f32_input(g, "x", NULL, 5);
  y = gemel_exp(x);
  y = gemel_apply(g, "twice", 1, &x, 0, NULL);
  gemel_output(gemel_add(y, y), "y");
  f = compile(g, 0, 0);
  CT_REQUIRE(f != NULL);
  CT_EQ_INT(gemel_call(f, 1, &back, 1, &out, &error), GEMEL_OK);
  CT_CHECK(float_at(out, 0) == 4 && float_at(out, 4) == 20);
  *(float *)gemel_tensor_data(in) = -1;
  CT_EQ_INT(gemel_call(f, 1, &in, 1, &out, &error), GEMEL_BAD_VALUE);
  CT_HAS_STR(error.text, "twice(f32[5]): below zero");
  CT_HAS_STR(error.text, "t-run.c");
  gemel_tensor_unref(in);
  gemel_tensor_unref(back);
  gemel_tensor_unref(out);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(c);
}

/* ---- No memory ---- */

/* A file name that can't be kept for want of memory is no error, so none is given here. */
static const gemel_location nowhere = {NULL, 0};

static gemel_status use_everything(gemel_context *c, gemel_error *e) {
  gemel_graph *g = gemel_graph_new(c, e);
  gemel_function *f = NULL;
  gemel_tensor *n = NULL, *x = NULL, *out[3] = {NULL, NULL, NULL}, *in[2];
  gemel_status status = g != NULL ? GEMEL_OK : e->status;
  int64_t three = 3, order[1] = {0};
  gemel_attr attrs[1];
  int k;
  gemel_dim dim = gemel_dim_symbol(c, "N");
  gemel_type scalar = gemel_type_new(c, GEMEL_I64, 0, NULL, 0);
  gemel_type vector = gemel_type_new(c, GEMEL_F32, 1, &dim, 0);
  if (gemel_type_is_none(scalar) || gemel_type_is_none(vector))
    status = GEMEL_NO_MEMORY;
  if (status == GEMEL_OK) {
    gemel_value a = gemel_input_at(g, "n", scalar, nowhere);
    gemel_value b = gemel_input_at(g, "x", vector, nowhere), y, z;
    attrs[0] = gemel_attr_dim("n", gemel_dim_of(a));
    y = gemel_apply_at(g, "arange", 0, NULL, 1, attrs, nowhere);
    attrs[0] = gemel_attr_ints("axes", 1, order);
    z = gemel_apply_at(g, "reverse", 1, &b, 1, attrs, nowhere);
    z = gemel_add_at(gemel_mul_at(z, b, nowhere), gemel_apply_at(g, "sum", 1, &b, 0, NULL, nowhere),
                     nowhere);
    gemel_output(y, "y");
    gemel_output(z, "z");
    gemel_output(b, "b");
    *e = *gemel_graph_error(g);
    status = e->status;
  }
  if (status == GEMEL_OK) {
    /* where all is slow without the rules, whose parsing takes most of the allocations */
    gemel_options options = {.size = sizeof options, .as_written = sanitized || valgrind()};
    f = gemel_compile(g, &options, e);
    n = f != NULL ? gemel_tensor_new(GEMEL_I64, 0, NULL, e) : NULL;
    x = n != NULL ? gemel_tensor_new(GEMEL_F32, 1, &three, e) : NULL;
    status = x != NULL ? GEMEL_OK : e->status;
  }
  if (status == GEMEL_OK) {
    *(int64_t *)gemel_tensor_data(n) = 4;
    in[0] = n;
    in[1] = x;
    status = gemel_call(f, 2, in, 3, out, e);
    CT_CHECK((status == GEMEL_OK) == (out[0] != NULL && out[1] != NULL && out[2] != NULL));
    CT_CHECK((status == GEMEL_OK) == (out[0] != NULL || out[1] != NULL || out[2] != NULL));
  }
  for (k = 0; k < 3; k++)
    gemel_tensor_unref(out[k]);
  gemel_tensor_unref(n);
  gemel_tensor_unref(x);
  gemel_function_free(f);
  gemel_graph_unref(g);
  return status;
}

static int in_little_memory(void *data) {
  gemel_error e;
  gemel_context *c = gemel_context_new(&e);
  gemel_status status = c != NULL ? use_everything(c, &e) : e.status;
  (void)data;
  gemel_context_unref(c);
  return status;
}

static void out_of_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(in_little_memory, NULL) > 50);
}

/* ---- Depth ---- */

/* Runs on a stack of 256 KiB. */
static void *deep_chain(void *data) {
  int n = *(int *)data;
  gemel_context *c = context_new();
  gemel_graph *g = chain(c, 3, n);
  gemel_function *f = compile(g, 1, 0);
  gemel_tensor *x = vector_of(GEMEL_F32, 3, 1), *y = NULL;
  gemel_graph_unref(g);
  if (f != NULL && CT_EQ_INT(gemel_call(f, 1, &x, 1, &y, &error), GEMEL_OK)) {
    /* y -> y + x, y -> -y: after 4 nodes it is back */
    CT_CHECK(float_at(y, 2) == 3);
    CT_CHECK(gemel_function_bytes(f) < 1000);
  }
  gemel_tensor_unref(x);
  gemel_tensor_unref(y);
  gemel_function_free(f);
  gemel_context_unref(c);
  return NULL;
}

static void depth(const void *data) {
  int n = sanitized || valgrind() ? 100000 : *(const int *)data;
  on_small_stack(deep_chain, &n);
}

static const int no = 0, million = 1000000, four_million = 4200003;

static const ct_test tests[] = {
    CT_TEST("random/7x5", random_graphs, &shapes[0]),
    CT_TEST("random/1x1", random_graphs, &shapes[1]),
    CT_TEST("random/0x3", random_graphs, &shapes[2]),
    CT_TEST("random/33x129", random_graphs, &shapes[3]),
    CT_TEST("random/120x300", random_graphs, &shapes[4]),
    CT_TEST("chains", chains, &no),
    CT_TEST("chains/edges", chain_edges, NULL),
    CT_TEST("chains/itself", chain_of_itself, NULL),
    CT_TEST("chains/past_the_cache", chains, &four_million),
    CT_TEST("memory/reused", memory_is_reused, NULL),
    CT_TEST("memory/steady_state", steady_state, NULL),
    CT_TEST("memory/refused", out_of_memory, NULL),
    CT_TEST("results/never_alias", results_never_alias, NULL),
    CT_TEST("function/outlives_graph", function_outlives_graph, NULL),
    CT_TEST("function/many_signatures", many_signatures, NULL),
    CT_TEST("own_operation", own_operation, NULL),
    CT_TEST("depth", depth, &million),
};

void ct_register(void) {
  ct_suite("run", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(overlap_cases); k++) {
    CT_ADD_TO("run", "given", overlap_cases[k].name, given_memory, &overlap_cases[k]);
  }
}
