/*
 * invoke: bodies applied to values, their sizes matched, their errors, and derivatives of first and
 * second order through bodies within bodies.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"
#include "support/small-stack.h"

/* A body text(x: f64[N], y: f64[K]), which gives an expression's value and its sum. */
static gemel_graph *body_of(gemel_context *context, const char *text, gemel_dim n, gemel_dim m) {
  static const char *const names[2] = {"x", "y"};
  gemel_error error = {0};
  gemel_graph *body = gemel_graph_new(context, &error);
  gemel__expr *expr = gemel__expr_compile(context, text, 2, names, &error);
  gemel_value in[2], out;
  CT_EQ_STR(error.text, "");
  in[0] = gemel_input(body, "x", gemel_type_new(context, GEMEL_F64, 1, &n, 0));
  in[1] = gemel_input(body, "y", gemel_type_new(context, GEMEL_F64, 1, &m, 0));
  out = gemel__expr_build(expr, body, in, GEMEL_HERE);
  gemel_output(out, "z");
  gemel_output(gemel_sum(out), "total");
  CT_EQ_STR(gemel_graph_error(body)->text, "");
  gemel__expr_free(expr);
  return body;
}

typedef struct scene {
  gemel_context *context;
  gemel_graph *graph;
  gemel_value x, y; /* f64[3] each */
} scene;

static scene open_scene(void) {
  scene s;
  int64_t shape[1] = {3};
  gemel_type type;
  s.context = gemel_context_new(NULL);
  s.graph = gemel_graph_new(s.context, NULL);
  type = gemel_type_of_shape(s.context, GEMEL_F64, 1, shape);
  s.x = gemel_input(s.graph, "x", type);
  s.y = gemel_input(s.graph, "y", type);
  return s;
}

static void close_scene(scene *s) {
  gemel_graph_unref(s->graph);
  gemel_context_unref(s->context);
}

/* Evaluates the graph's outputs at x = 1 2 3, y = 4 5 6 and compares with WANTED, all in a row. */
static void expect(scene *s, size_t count, const double *wanted) {
  double x[3] = {1, 2, 3}, y[3] = {4, 5, 6};
  int64_t shape[1] = {3};
  gemel_tensor *in[2] = {gemel_tensor_wrap(GEMEL_F64, 1, shape, NULL, x, NULL, NULL, NULL),
                         gemel_tensor_wrap(GEMEL_F64, 1, shape, NULL, y, NULL, NULL, NULL)};
  gemel_tensor *out[4] = {NULL};
  gemel_error error = {0};
  size_t next = 0;
  CT_EQ_STR(gemel_graph_error(s->graph)->text, "");
  CT_EQ_INT(gemel_evaluate(s->graph, 2, in, gemel_graph_output_count(s->graph), out, &error),
            GEMEL_OK);
  CT_EQ_STR(error.text, "");
  for (size_t k = 0; k < 4 && out[k] != NULL; k++) {
    for (int64_t i = 0; i < gemel_tensor_elements(out[k]) && next < count; i++, next++) {
      ct_context("output %zu, element %lld", k, (long long)i);
      CT_CHECK(((double *)gemel_tensor_data(out[k]))[i] == wanted[next]);
    }
    gemel_tensor_unref(out[k]);
  }
  CT_EQ_UINT(next, count);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
}

static gemel_value apply(scene *s, gemel_graph *body) {
  gemel_value in[2] = {s->x, s->y};
  return gemel_invoke(2, in, body);
}

static void values(const void *data) {
  scene s = open_scene();
  gemel_dim n = gemel_dim_symbol(s.context, "N");
  gemel_graph *body = body_of(s.context, "x * y + x", n, n);
  gemel_value z = apply(&s, body);
  static const double wanted[] = {5, 12, 21, 38};
  (void)data;
  gemel_output(z, "z");
  gemel_output(gemel_value_output(z, 1), "total");
  CT_CHECK(gemel_type_equal(gemel_value_type(z), gemel_value_type(s.x)));
  expect(&s, 4, wanted);
  gemel_graph_unref(body);
  close_scene(&s);
}

/* Equal bodies are one attribute, so equal applications are one node. */
static void merging(const void *data) {
  scene s = open_scene();
  gemel_dim n = gemel_dim_symbol(s.context, "N");
  gemel_graph *a = body_of(s.context, "x * y", n, n), *b = body_of(s.context, "x * y", n, n);
  (void)data;
  CT_EQ_UINT(apply(&s, a).node, apply(&s, b).node);
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  close_scene(&s);
}

static void gradients(const void *data) {
  scene s = open_scene();
  gemel_dim n = gemel_dim_symbol(s.context, "N");
  gemel_graph *body = body_of(s.context, "x * x * y", n, n);
  gemel_value z = gemel_value_output(apply(&s, body), 1), wrt[2] = {s.x, s.y}, d[2], second[1];
  static const double wanted[] = {8, 20, 36, 1, 4, 9, 8, 10, 12};
  gemel_error error = {0};
  (void)data;
  CT_EQ_INT(gemel_grad(1, &z, NULL, 2, wrt, d, &error), GEMEL_OK); /* 2 x y, x x */
  CT_EQ_STR(error.text, "");
  gemel_output(d[0], "dx");
  gemel_output(d[1], "dy");
  z = gemel_sum(d[0]);
  CT_EQ_INT(gemel_grad(1, &z, NULL, 1, wrt, second, &error), GEMEL_OK); /* 2 y */
  CT_EQ_STR(error.text, "");
  gemel_output(second[0], "dxx");
  expect(&s, 9, wanted);
  gemel_graph_unref(body);
  close_scene(&s);
}

static void tangents(const void *data) {
  scene s = open_scene();
  gemel_dim n = gemel_dim_symbol(s.context, "N");
  gemel_graph *body = body_of(s.context, "x * x * y", n, n);
  gemel_value z = apply(&s, body), out[2] = {z, gemel_value_output(z, 1)}, d[2];
  static const double wanted[] = {32, 100, 216, 348}; /* 2 x y times y */
  gemel_error error = {0};
  (void)data;
  CT_EQ_INT(gemel_jvp(2, out, 1, &s.x, &s.y, d, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  gemel_output(d[0], "dz");
  gemel_output(d[1], "dtotal");
  expect(&s, 4, wanted);
  gemel_graph_unref(body);
  close_scene(&s);
}

static void nested(const void *data) {
  scene s = open_scene();
  gemel_dim n = gemel_dim_symbol(s.context, "N");
  gemel_graph *inner = body_of(s.context, "x * x * y", n, n);
  gemel_graph *outer = gemel_graph_new(s.context, NULL);
  gemel_type type = gemel_type_new(s.context, GEMEL_F64, 1, &n, 0);
  gemel_value in[2], z, d;
  static const double wanted[] = {16, 40, 72};
  gemel_error error = {0};
  (void)data;
  in[0] = gemel_input(outer, "a", type);
  in[1] = gemel_input(outer, "b", type);
  z = gemel_invoke(2, in, inner);
  gemel_output(gemel_add(z, z), "twice");
  z = gemel_sum(apply(&s, outer));
  CT_EQ_INT(gemel_grad(1, &z, NULL, 1, &s.x, &d, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  gemel_output(d, "dx");
  expect(&s, 3, wanted);
  gemel_graph_unref(inner);
  gemel_graph_unref(outer);
  close_scene(&s);
}

/* More tangents than outputs. */
static void all_tangents(const void *data) {
  scene s = open_scene();
  gemel_graph *body = gemel_graph_new(s.context, NULL);
  gemel_value in[3], z, d, wrt[2] = {s.x, s.y};
  static const double wanted[] = {12, 60, 162};
  gemel_error error = {0};
  (void)data;
  for (int k = 0; k < 3; k++) {
    in[k] = gemel_input(body, k == 0 ? "a" : k == 1 ? "b" : "c", gemel_value_type(s.x));
  }
  gemel_output(gemel_mul(gemel_mul(in[0], in[1]), in[2]), "z");
  in[0] = in[2] = s.x;
  in[1] = s.y;
  z = gemel_invoke(3, in, body);
  CT_EQ_INT(gemel_jvp(1, &z, 2, wrt, wrt, &d, &error), GEMEL_OK); /* 3 x y x */
  CT_EQ_STR(error.text, "");
  gemel_output(d, "dz");
  expect(&s, 3, wanted);
  gemel_graph_unref(body);
  close_scene(&s);
}

typedef struct refusal {
  const char *name;
  const char *n, *m; /* sizes of the body's x and y */
  size_t arguments;
  gemel_status status;
  const char *message;
} refusal;

static gemel_dim size_of(gemel_context *context, const char *text) {
  gemel_dim dim = gemel_dim_symbol(context, "N");
  if (strcmp(text, "N") == 0) {
    return dim;
  }
  return strcmp(text, "N + 1") == 0 ? gemel_dim_add(context, dim, gemel_dim_constant(context, 1))
                                    : gemel_dim_constant(context, atoi(text));
}

static void refused(const void *data) {
  const refusal *r = data;
  scene s = open_scene();
  gemel_graph *body =
      body_of(s.context, "sum(x) + sum(y)", size_of(s.context, r->n), size_of(s.context, r->m));
  gemel_value in[2] = {s.x, s.y}, z = gemel_invoke(r->arguments, in, body);
  CT_CHECK((r->status != GEMEL_OK) == gemel_is_null(z));
  CT_EQ_INT(gemel_graph_error(s.graph)->status, r->status);
  CT_CHECK(strstr(gemel_graph_error(s.graph)->text, r->message) != NULL);
  gemel_graph_unref(body);
  close_scene(&s);
}

static const refusal refusals[] = {
    {"refused/none", "N", "3", 2, GEMEL_OK, ""},
    {"refused/count", "N", "N", 1, GEMEL_BAD_ARGUMENT, "1 values for a body of 2 inputs"},
    {"refused/constant", "N", "4", 2, GEMEL_BAD_SHAPE, "axis 0 of the body's input y: f64[4]"},
    {"refused/relation", "N", "N + 1", 2, GEMEL_BAD_SHAPE, "the body's input y"},
    {"refused/unbound", "3", "N + 1", 2, GEMEL_BAD_TYPE,
     "the body's symbol N is the size of no axis"},
};

static void wrong_dtype(const void *data) {
  scene s = open_scene();
  gemel_dim n = gemel_dim_symbol(s.context, "N");
  gemel_graph *body = body_of(s.context, "x + y", n, n);
  gemel_value in[2] = {s.x, gemel_cast(s.y, GEMEL_F32)};
  (void)data;
  CT_CHECK(gemel_is_null(gemel_invoke(2, in, body)));
  CT_EQ_INT(gemel_graph_error(s.graph)->status, GEMEL_BAD_TYPE);
  CT_HAS_STR(gemel_graph_error(s.graph)->text, "the body's input y is f64[N]");
  gemel_graph_unref(body);
  close_scene(&s);
}

static gemel_status run_all(gemel_graph *graph, gemel_error *error) {
  static const double data[2] = {3, 4};
  int64_t shape[1] = {2};
  gemel_view view = {GEMEL_F64, 1, shape, NULL, (void *)data};
  int64_t strides[1] = {8};
  gemel_tensor *x, *out = NULL;
  gemel_status status;
  view.strides = strides;
  x = gemel_tensor_copy(&view, error);
  if (x == NULL) {
    return error->status;
  }
  status = gemel_evaluate(graph, 1, &x, 1, &out, error);
  if (status == GEMEL_OK) {
    CT_CHECK(((double *)gemel_tensor_data(out))[0] == 6);
    CT_CHECK(((double *)gemel_tensor_data(out))[1] == 8);
    gemel_tensor_unref(out);
  }
  gemel_tensor_unref(x);
  return status;
}

/* Builds a body, applies it, differentiates that and runs it. Without places: a name of a file that
 * there is no memory for is forgotten, which is no error. */
static gemel_status build_all(gemel_graph *graph, gemel_graph *body, gemel_error *error) {
  gemel_location nowhere = {NULL, 0};
  int64_t shape[1] = {2};
  gemel_type type = gemel_type_of_shape(gemel_graph_context(graph), GEMEL_F64, 1, shape);
  gemel_value x, y, d;
  if (gemel_type_is_none(type)) {
    return GEMEL_NO_MEMORY;
  }
  x = gemel_input_at(body, "x", type, nowhere);
  gemel_output(gemel_sum_at(gemel_mul_at(x, x, nowhere), NULL, nowhere), "z");
  if (gemel_graph_error(body)->status != GEMEL_OK) {
    return gemel_graph_error(body)->status;
  }
  x = gemel_input_at(graph, "x", type, nowhere);
  y = gemel_invoke_at(1, &x, body, nowhere);
  if (gemel_is_null(y) || gemel_grad(1, &y, NULL, 1, &x, &d, error) != GEMEL_OK ||
      gemel_output(d, "d") != GEMEL_OK) {
    return gemel_is_null(y) || error->status == GEMEL_OK ? gemel_graph_error(graph)->status
                                                         : error->status;
  }
  return run_all(graph, error);
}

static int out_of_memory(void *data) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = NULL, *body = NULL;
  gemel_status status;
  (void)data;
  if (context != NULL && (graph = gemel_graph_new(context, &error)) != NULL) {
    body = gemel_graph_new(context, &error);
  }
  status = body != NULL ? build_all(graph, body, &error) : error.status;
  gemel_graph_unref(body);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(out_of_memory, NULL) > 10);
}

/* ---- Nesting ---- */

/* The graph that N bodies are nested in, and what can be done with it. */
static gemel_graph *nest(gemel_context *context, int n) {
  char *text = malloc((size_t)n * 100 + 200), *p = text;
  gemel_error error = {0};
  p += sprintf(p, "graph b0(x: f32[2]) { return y = x * x }\n");
  for (int k = 1; k <= n; k++) {
    p += sprintf(p, "graph b%d(x: f32[2]) { return y = invoke(x, body = b%d) }\n", k, k - 1);
  }
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "nest", NULL, &error);
  CT_EQ_STR(error.text, "");
  free(text);
  return graph;
}

static void expect_nesting(int deep, gemel_status status, const gemel_error *error) {
  CT_EQ_INT(status, deep ? GEMEL_UNSUPPORTED : GEMEL_OK);
  if (deep) {
    CT_HAS_STR(error->text, "and no more than 32 can be differentiated or run");
  }
}

static void derive_and_run(gemel_graph *graph, int deep) {
  gemel_value x = gemel_graph_input(graph, 0), y = gemel_graph_output(graph, 0), d = {0}, t = {0};
  gemel_error error = {0};
  int64_t two = 2;
  gemel_tensor *in = gemel_tensor_new(GEMEL_F32, 1, &two, NULL), *out[2] = {NULL, NULL};
  expect_nesting(deep, gemel_evaluate(graph, 1, &in, 1, out, &error), &error);
  gemel_tensor_unref(out[0]);
  out[0] = NULL;
  expect_nesting(deep, gemel_jvp(1, &y, 1, &x, &x, &t, &error), &error);
  gemel_graph_clear_error(graph);
  expect_nesting(deep, gemel_grad(1, &y, &y, 1, &x, &d, &error), &error);
  gemel_graph_clear_error(graph);
  if (!deep) {
    ((float *)gemel_tensor_data(in))[0] = 3;
    CT_EQ_INT(gemel_output(d, "d"), GEMEL_OK);
    CT_EQ_INT(gemel_evaluate(graph, 1, &in, 2, out, &error), GEMEL_OK);
    CT_CHECK(((float *)gemel_tensor_data(out[1]))[0] == 2 * 3 * 9); /* 2 x times the seed, x² */
  }
  for (int k = 0; k < 2; k++) {
    gemel_tensor_unref(out[k]);
  }
  gemel_tensor_unref(in);
}

/* A file of some lines whose bodies run a billion times: it is read, and neither run nor
 * differentiated. */
static void many_bodies(const void *data) {
  char text[4000], *p = text;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_tensor *in = gemel_tensor_new(GEMEL_F32, 0, NULL, NULL), *out = NULL;
  (void)data;
  p += sprintf(p, "graph b0(x: f32[]) { return y = x * x }\n");
  for (int k = 1; k < 30; k++) {
    p += sprintf(p,
                 "graph b%d(x: f32[]) { return y = invoke(x, body = b%d) * invoke(x + %d, body = "
                 "b%d) }\n",
                 k, k - 1, k, k - 1);
  }
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "many", NULL, &error);
  CT_EQ_STR(error.text, "");
  gemel_value x = gemel_graph_input(graph, 0), y = gemel_graph_output(graph, 0), d = {0};
  CT_EQ_INT(gemel_evaluate(graph, 1, &in, 1, &out, &error), GEMEL_UNSUPPORTED);
  CT_HAS_STR(error.text, "invoke(f32[]): 536870911 bodies are invoked within one another");
  CT_EQ_INT(gemel_grad(1, &y, &y, 1, &x, &d, &error), GEMEL_UNSUPPORTED);
  gemel_tensor_unref(in);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static int count_bytes(void *user, const void *bytes, size_t count) {
  (void)bytes;
  *(size_t *)user += count;
  return 0;
}

/* What does not look inside has no bound. */
static void store(const gemel_graph *graph) {
  size_t text = 0, binary = 0;
  gemel_error error = {0};
  CT_EQ_INT(gemel_print(graph, NULL, count_bytes, &text, &error), GEMEL_OK);
  CT_EQ_INT(gemel_serialize(graph, NULL, count_bytes, &binary, &error), GEMEL_OK);
  CT_EQ_INT(gemel_graph_check(graph, &error), GEMEL_OK);
  CT_CHECK(text > 0 && binary > 0);
}

static void *nestings(void *data) {
  const int levels[] = {1, GEMEL_MAX_NESTING, GEMEL_MAX_NESTING + 1,
                        getenv("GEMEL_VALGRIND") ? 1000 : 40000};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(levels); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *graph = nest(context, levels[k]);
    ct_context("%d bodies", levels[k]);
    if (graph != NULL) {
      store(graph);
      derive_and_run(graph, levels[k] > GEMEL_MAX_NESTING);
    }
    gemel_graph_unref(graph);
    gemel_context_unref(context);
  }
  return NULL;
}

static void nesting(const void *data) {
  on_small_stack(nestings, data);
}

static const ct_test tests[] = {
    CT_TEST("nesting", nesting, NULL),      CT_TEST("values", values, NULL),
    CT_TEST("merging", merging, NULL),      CT_TEST("gradients", gradients, NULL),
    CT_TEST("tangents", tangents, NULL),    CT_TEST("tangents/all", all_tangents, NULL),
    CT_TEST("nested", nested, NULL),        CT_TEST("refused/dtype", wrong_dtype, NULL),
    CT_TEST("out_of_memory", memory, NULL), CT_TEST("many_bodies", many_bodies, NULL),
};

void ct_register(void) {
  ct_suite("invoke", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(refusals); k++) {
    CT_ADD("invoke", refusals[k].name, refused, &refusals[k]);
  }
}
