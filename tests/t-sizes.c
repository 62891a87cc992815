/*
 * The executor's sizes: sizes known only at run time, sizes of inputs that are expressions over
 * symbols, and what the caller is told when a size or a type doesn't fit; and operands whose axes
 * are in another order than the result's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "run.h"
#include "support/operation.h"

/* ---- Sizes known at run time ---- */

/* y = sum(arange(n)) + arange(n) * m where n is computed from an input, and arange(2 * n) behind.
 */
static gemel_graph *sized_graph(gemel_context *c) {
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_value n = gemel_input(g, "n", gemel_type_new(c, GEMEL_I64, 0, NULL, GEMEL_SPACE_HOST)), m,
              a, sizes[1], y;
  gemel_dim dim;
  gemel_attr attr;
  m = gemel_add(n, gemel_scalar(g, GEMEL_I64, 1));
  dim = gemel_dim_of(m);
  attr = gemel_attr_dim("n", dim);
  sizes[0] = m;
  (void)sizes;
  a = gemel_apply(g, "arange", 0, NULL, 1, &attr);
  y = gemel_apply(g, "sum", 1, &a, 0, NULL);
  y = gemel_add(gemel_mul(a, m), y);
  gemel_output(y, "y");
  attr = gemel_attr_dim("n", gemel_dim_of(y.graph ? gemel_apply(g, "sum", 1, &y, 0, NULL) : y));
  gemel_output(gemel_apply(g, "arange", 0, NULL, 1, &attr), "z");
  return g;
}

static void run_time_sizes(const void *data) {
  gemel_context *c = context_new();
  gemel_graph *g = sized_graph(c);
  int plain = *(const int *)data, round;
  gemel_function *f = compile(g, 0, plain);
  CT_REQUIRE(f != NULL);
  for (round = 0; round < 60; round++) {
    int64_t n = round < 30 ? round % 4 : pick(12), k, size = n + 1, total = 0;
    gemel_tensor *in = gemel_tensor_new(GEMEL_I64, 0, NULL, &error), *out[2] = {NULL, NULL};
    *(int64_t *)gemel_tensor_data(in) = n;
    ct_context("n %d", (int)n);
    if (CT_EQ_INT(gemel_call(f, 1, &in, 2, out, &error), GEMEL_OK)) {
      CT_EQ_INT(gemel_tensor_elements(out[0]), size);
      for (k = 0; k < size; k++) {
        int64_t wanted = k * size + size * (size - 1) / 2;
        CT_EQ_INT(((int64_t *)gemel_tensor_data(out[0]))[k], wanted);
        total += wanted;
      }
      CT_EQ_INT(gemel_tensor_elements(out[1]), total);
    } else {
      CT_FAIL("%s", error.text);
    }
    gemel_tensor_unref(in);
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
  }
  ct_context(NULL);
  { /* a negative size */
    gemel_tensor *in = gemel_tensor_new(GEMEL_I64, 0, NULL, &error), *out[2] = {NULL, NULL};
    *(int64_t *)gemel_tensor_data(in) = -7;
    CT_EQ_INT(gemel_call(f, 1, &in, 2, out, &error), GEMEL_BAD_SHAPE);
    CT_HAS_STR(error.text, "arange");
    CT_HAS_STR(error.text, "t-sizes.c");
    CT_CHECK(out[0] == NULL && out[1] == NULL);
    gemel_tensor_unref(in);
  }
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(c);
}

/* ---- Errors ---- */

static gemel_status call_once(gemel_function *f, gemel_tensor *a, gemel_tensor *b,
                              gemel_tensor **out) {
  gemel_tensor *in[2] = {a, b};
  memset(&error, 0, sizeof error);
  return gemel_call(f, 2, in, gemel_function_output_count(f), out, &error);
}

/* Where a size is wrong that is a number, or follows from another one. */
static void fixed_sizes(gemel_context *c, gemel_tensor *t3, gemel_tensor *t4) {
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_output(gemel_sum(gemel_declare(g, "a: f32[3]")), "y");
  gemel_output(gemel_sum(gemel_declare(g, "b: f32[N]")), "z");
  gemel_output(gemel_sum(gemel_declare(g, "d: f32[N + 1]")), "r");
  gemel_function *f = compile(g, 0, 0);
  gemel_tensor *wrong[] = {t4, t3, t4}, *follows[] = {t3, t3, t3}, *outs[3] = {NULL, NULL, NULL};
  CT_EQ_INT(gemel_call(f, 3, wrong, 3, outs, &error), GEMEL_BAD_SHAPE);
  CT_EQ_STR(error.text, "axis 0 is 4, not 3: input a should be f32[3] and is f32[4]");
  CT_EQ_INT(gemel_call(f, 3, follows, 3, outs, &error), GEMEL_BAD_SHAPE);
  CT_EQ_STR(error.text, "axis 0 is 3, not N + 1 = 4: input d should be f32[N + 1] and is f32[3]");
  CT_CHECK(outs[0] == NULL);
  gemel_function_free(f);
  gemel_graph_unref(g);
}

static void messages(const void *data) {
  gemel_context *c = context_new();
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_value a = f32_input(g, "a", "N", 0), b = f32_input(g, "b", "M", 0);
  gemel_tensor *t3 = vector_of(GEMEL_F32, 3, 0), *t4 = vector_of(GEMEL_F32, 4, 0),
               *t1 = vector_of(GEMEL_F32, 1, 0), *i3 = vector_of(GEMEL_I64, 3, 0), *out = NULL,
               *wrong = t4;
  gemel_function *f;
  (void)data;
  gemel_output(gemel_add(a, b), "y");
  f = compile(g, 0, 0);
  CT_REQUIRE(f != NULL);
  CT_EQ_INT(call_once(f, t3, t3, &out), GEMEL_OK);
  gemel_tensor_unref(out);
  out = NULL;
  CT_EQ_INT(call_once(f, t3, t4, &out), GEMEL_BAD_SHAPE);
  CT_HAS_STR(error.text, "add");
  CT_HAS_STR(error.text, "M = 4");
  CT_HAS_STR(error.text, "N = 3");
  CT_HAS_STR(error.text, "t-sizes.c");
  /* sizes that happen to be 1 don't broadcast: only a literal 1 does */
  CT_EQ_INT(call_once(f, t3, t1, &out), GEMEL_BAD_SHAPE);
  CT_EQ_INT(call_once(f, t1, t3, &out), GEMEL_BAD_SHAPE);
  CT_EQ_INT(call_once(f, t3, i3, &out), GEMEL_BAD_TYPE);
  CT_HAS_STR(error.text, "input b should be f32[M] and is i64[3]");
  fixed_sizes(c, t3, t4);
  CT_EQ_INT(call_once(f, t3, NULL, &out), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "input b");
  CT_EQ_INT(call_once(f, t3, t3, &wrong), GEMEL_BAD_SHAPE);
  CT_HAS_STR(error.text, "output y is f32[3]");
  CT_CHECK(wrong == t4 && out == NULL);
  wrong = i3;
  CT_EQ_INT(call_once(f, t3, t3, &wrong), GEMEL_BAD_TYPE);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_tensor_unref(t1);
  gemel_tensor_unref(t3);
  gemel_tensor_unref(t4);
  gemel_tensor_unref(i3);
  gemel_context_unref(c);
}

/* Dims on inputs: one symbol twice, and expressions over symbols. */
static void input_dims(const void *data) {
  gemel_context *c = context_new();
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_dim n = gemel_dim_symbol(c, "N"), two = gemel_dim_constant(c, 2), dims[2], h;
  gemel_value a, b;
  gemel_tensor *t3 = vector_of(GEMEL_F32, 3, 0), *t4 = vector_of(GEMEL_F32, 4, 0),
               *t6 = vector_of(GEMEL_F32, 6, 0), *out = NULL;
  gemel_function *f;
  (void)data;
  dims[0] = gemel_dim_mul(c, two, n);
  a = gemel_input(g, "a", gemel_type_new(c, GEMEL_F32, 1, dims, 0));
  b = gemel_input(g, "b", gemel_type_new(c, GEMEL_F32, 1, &n, 0));
  gemel_output(gemel_neg(a), "y");
  f = compile(g, 0, 0);
  CT_REQUIRE(f != NULL);
  CT_EQ_INT(call_once(f, t6, t3, &out), GEMEL_OK);
  CT_EQ_INT(call_once(f, t6, t4, &out), GEMEL_BAD_SHAPE);
  CT_HAS_STR(error.text, "2*N");
  CT_HAS_STR(error.text, "input a");
  gemel_function_free(f);
  gemel_graph_unref(g);
  g = gemel_graph_new(c, &error);
  h = gemel_dim_mul(c, two, gemel_dim_symbol(c, "H"));
  a = gemel_input(g, "a", gemel_type_new(c, GEMEL_F32, 1, &h, 0));
  b = gemel_input(g, "b", gemel_type_new(c, GEMEL_F32, 1, &n, 0));
  gemel_output(gemel_neg(b), "y");
  f = compile(g, 0, 0);
  CT_REQUIRE(f != NULL);
  gemel_tensor_unref(out);
  out = NULL;
  CT_EQ_INT(call_once(f, t6, t3, &out), GEMEL_OK); /* H is 3 */
  CT_EQ_INT(call_once(f, t3, t3, &out), GEMEL_BAD_SHAPE);
  CT_HAS_STR(error.text, "no size H makes 2*H 3");
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_tensor_unref(out);
  gemel_tensor_unref(t3);
  gemel_tensor_unref(t4);
  gemel_tensor_unref(t6);
  gemel_context_unref(c);
}

/* ---- Operands in another order ---- */

/* Functions of X, f32, that read it along an axis that isn't the last: every order of axes,
 * elements of every width, next to rows that are the same everywhere, a value wider than the
 * operand, more than one result, and (the last) a result past the cache. */
static const struct {
  int rank;
  int64_t shape[3];
  const char *text;
} turned_cases[] = {
    {2, {310, 230}, "y = neg(dimshuffle(x, order = [1, 0])) return y"},
    {2, {230, 310}, "t = dimshuffle(x, order = [1, 0]) y = tanh(t) * t + sqr(t) return y"},
    {2, {210, 300}, "t = dimshuffle(x, order = [1, 0]) y = t * sum(x, axes = [1]) return y"},
    {2, {230, 310}, "y = 1.5 - dimshuffle(reverse(x, axes = [1]), order = [1, 0]) return y"},
    {2, {600, 400}, "y = neg(dimshuffle(cast(x, dtype = u8), order = [1, 0])) return y"},
    {2, {400, 300}, "y = exp(dimshuffle(cast(x, dtype = f16), order = [1, 0])) return y"},
    {3, {33, 65, 67}, "y = neg(dimshuffle(x, order = [2, 1, 0])) return y"},
    {3, {33, 65, 67}, "y = neg(dimshuffle(x, order = [1, 2, 0])) return y"},
    {3, {33, 65, 67}, "y = neg(dimshuffle(x, order = [2, 0, 1])) return y"},
    {3, {33, 65, 67}, "y = neg(dimshuffle(x, order = [0, 2, 1])) return y"},
    {3, {65, 33, 67}, "y = neg(dimshuffle(x, order = [1, 0, 2])) return y"},
    {3,
     {67, 65, 33},
     "t = dimshuffle(x, order = [2, 1, 0]) a = tanh(t) y = cast(a, dtype = f64) "
     "z = y * y + exp(y) w = abs(z) return z, w"},
    {2, {2300, 2100}, "y = neg(dimshuffle(x, order = [1, 0])) return y"},
};

static gemel_tensor *run_turned(gemel_context *c, size_t k, int threads, int plain,
                                gemel_tensor *x) {
  char text[512];
  gemel_tensor *out[2] = {NULL, NULL};
  const int64_t *s = turned_cases[k].shape;
  gemel_graph *g;
  gemel_function *f;
  if (turned_cases[k].rank == 2)
    snprintf(text, sizeof text, "graph f(x: f32[%d, %d]) { %s }", (int)s[0], (int)s[1],
             turned_cases[k].text);
  else
    snprintf(text, sizeof text, "graph f(x: f32[%d, %d, %d]) { %s }", (int)s[0], (int)s[1],
             (int)s[2], turned_cases[k].text);
  g = gemel_parse(c, text, strlen(text), "turned", NULL, &error);
  f = g != NULL ? compile(g, threads, plain) : NULL;
  if (f == NULL || gemel_call(f, 1, &x, gemel_function_output_count(f), out, &error) != GEMEL_OK)
    CT_FAIL("%s", error.text);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_tensor_unref(out[1]);
  return out[0];
}

static void turned(const void *data) {
  gemel_context *c = context_new();
  size_t k, cases = CT_COUNT(turned_cases) - (valgrind() ? 1 : 0);
  int64_t i;
  int threads;
  (void)data;
  for (k = 0; k < cases; k++) {
    gemel_tensor *x =
        gemel_tensor_new(GEMEL_F32, turned_cases[k].rank, turned_cases[k].shape, &error);
    gemel_tensor *wanted, *got;
    for (i = 0; i < gemel_tensor_elements(x); i++)
      ((float *)gemel_tensor_data(x))[i] = (float)(i * 7919 % 4096) / 16;
    wanted = run_turned(c, k, 1, 1, x);
    for (threads = 1; threads <= 3 && wanted != NULL; threads += 2) {
      ct_context("case %d, %d threads", (int)k, threads);
      got = run_turned(c, k, threads, 0, x);
      if (CT_CHECK(got != NULL))
        CT_EQ_MEM(gemel_tensor_data(got), gemel_tensor_data(wanted),
                  (size_t)gemel_tensor_elements(wanted) *
                      gemel_dtype_size(gemel_tensor_dtype(wanted)));
      gemel_tensor_unref(got);
    }
    CT_CHECK(wanted != NULL);
    gemel_tensor_unref(wanted);
    gemel_tensor_unref(x);
  }
  ct_context(NULL);
  gemel_context_unref(c);
}

/* ---- Many sizes, many operands ---- */

enum { PARTS = 300 };

/* A split into parts of n, n + 1, … elements: as many sizes known at run time as there are parts.
 */
static void many_sizes(const void *data) {
  gemel_context *c = context_new();
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_dim sizes[PARTS], length = gemel_dim_symbol(c, "L");
  gemel_value n = gemel_input(g, "n", gemel_type_new(c, GEMEL_I64, 0, NULL, GEMEL_SPACE_HOST));
  gemel_value x = gemel_input(g, "x", gemel_type_new(c, GEMEL_I32, 1, &length, GEMEL_SPACE_HOST));
  int64_t all = 0;
  (void)data;
  for (int k = 0; k < PARTS; k++) {
    sizes[k] = gemel_dim_of(gemel_add(n, gemel_scalar(g, GEMEL_I64, k % 5)));
    sizes[k] = k % 2 == 0 ? gemel_dim_of(gemel_mul(gemel_scalar(g, GEMEL_I64, k), n)) : sizes[k];
    all += k % 2 == 0 ? 2 * k : 2 + k % 5;
  }
  gemel_attr attr = {.name = "sizes", .kind = GEMEL_ATTR_LIST | GEMEL_ATTR_DIM, .count = PARTS};
  attr.u.dims = sizes;
  gemel_value parts = gemel_apply(g, "split", 1, &x, 1, &attr);
  CT_EQ_INT(gemel_output(gemel_sum(gemel_value_output(parts, PARTS - 1)), "y"), GEMEL_OK);
  CT_EQ_STR(gemel_graph_error(g)->text, "");
  /* x, PARTS / 2 products, and sums of n and 0 to 4 */
  CT_EQ_UINT(gemel_value_input_count(parts), 1 + PARTS / 2 + 5);
  gemel_function *f = compile(g, 1, 0);
  gemel_tensor *in[2] = {gemel_tensor_new(GEMEL_I64, 0, NULL, &error),
                         gemel_tensor_new(GEMEL_I32, 1, &all, &error)};
  gemel_tensor *out = NULL;
  *(int64_t *)gemel_tensor_data(in[0]) = 2;
  for (int64_t k = 0; k < all; k++) {
    ((int32_t *)gemel_tensor_data(in[1]))[k] = all - k <= 6;
  }
  CT_EQ_INT(gemel_call(f, 2, in, 1, &out, &error), GEMEL_OK);
  CT_CHECK(out != NULL && *(int64_t *)gemel_tensor_data(out) == 2 + (PARTS - 1) % 5);
  gemel_tensor_unref(out);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(c);
}

static gemel_status run_count(const gemel_kernel_call *call) {
  *(int64_t *)call->outputs[0].data = (int64_t)call->n_inputs * 1000 + call->attrs[0].u.i;
  return GEMEL_OK;
}

/* A size known at run time comes behind however many operands there are, and is none of its own if
 * it is one of them. */
static void many_operands(const void *data) {
  static const gemel_kernel kernels[] = {{"plain", NULL, run_count}, {NULL, NULL, NULL}};
  static const gemel_attr_spec schema[] = {{"n", GEMEL_ATTR_DIM, NULL}, {NULL, 0, NULL}};
  gemel_context *c = context_new();
  gemel_graph *g = gemel_graph_new(c, &error);
  gemel_operation op = {.size = sizeof op,
                        .name = "count",
                        .max_inputs = -1,
                        .version = 1,
                        .attrs = schema,
                        .infer = same_type,
                        .kernels = kernels};
  gemel_type scalar = gemel_type_new(c, GEMEL_I64, 0, NULL, GEMEL_SPACE_HOST);
  gemel_value n = gemel_input(g, "n", scalar), xs[PARTS];
  gemel_tensor *in = gemel_tensor_new(GEMEL_I64, 0, NULL, &error), *out[2] = {NULL, NULL};
  (void)data;
  CT_EQ_INT(gemel_register_operation(c, &op, &error), GEMEL_OK);
  gemel_attr attr = gemel_attr_dim("n", gemel_dim_of(n));
  for (int k = 0; k < PARTS; k++) {
    xs[k] = gemel_scalar(g, GEMEL_I64, k);
  }
  gemel_output(gemel_apply(g, "count", PARTS, xs, 1, &attr), "beside");
  xs[PARTS / 2] = n;
  gemel_output(gemel_apply(g, "count", PARTS, xs, 1, &attr), "among");
  CT_EQ_STR(gemel_graph_error(g)->text, "");
  *(int64_t *)gemel_tensor_data(in) = 7;
  CT_EQ_INT(gemel_evaluate(g, 1, &in, 2, out, &error), GEMEL_OK);
  CT_CHECK(out[0] != NULL && *(int64_t *)gemel_tensor_data(out[0]) == (PARTS + 1) * 1000 + 7);
  CT_CHECK(out[1] != NULL && *(int64_t *)gemel_tensor_data(out[1]) == PARTS * 1000 + 7);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
  gemel_tensor_unref(in);
  gemel_graph_unref(g);
  gemel_context_unref(c);
}

static int split_in_little_memory(void *data) {
  gemel_error problem = {0};
  gemel_context *c = gemel_context_new(&problem);
  static const char text[] = "graph g(x: i32[L], n: i64, m: i64) { "
                             "a, b = split(x, sizes = [n, m * m]) return y = a, z = b }";
  (void)data;
  if (c != NULL) {
    gemel_graph_unref(gemel_parse(c, text, strlen(text), "test", NULL, &problem));
  }
  gemel_context_unref(c);
  return problem.status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(split_in_little_memory, NULL) > 20);
}

static const int no = 0, yes = 1;

static const ct_test tests[] = {
    CT_TEST("run_time", run_time_sizes, &no), CT_TEST("run_time/plain", run_time_sizes, &yes),
    CT_TEST("messages", messages, NULL),      CT_TEST("input_dims", input_dims, NULL),
    CT_TEST("turned", turned, NULL),          CT_TEST("many_sizes", many_sizes, NULL),
    CT_TEST("memory", memory, NULL),          CT_TEST("many_operands", many_operands, NULL),
};

void ct_register(void) {
  ct_suite("sizes", tests, CT_COUNT(tests));
}
