/*
 * Tests of operations as tables of text. A case is an expression over x, y, z, the inputs' types
 * and elements, and what comes out: "f32[2, 3] 1 2 3 4 5 6". A size may be given a name, "f32[N=2,
 * 3]": then the graph is built for the symbol. A case that must fail says the status and a part of
 * the message instead. Each case is run with inputs that lie row-major, reversed, transposed and
 * with gaps, by the preferred kernels, by the plain ones and deterministically; all must give
 * exactly the literal elements (a NaN stands for any NaN).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_OPTABLE_H
#define GEMEL_TESTS_OPTABLE_H

#include <ctype.h>
#include <gemel/gemel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "ct.h"
#include "text/expr.h"

enum { OPT_INPUTS = 3, OPT_OUTPUTS = 4, OPT_LAYOUTS = 4, OPT_MODES = 3 };

typedef struct op_case {
  const char *name;
  const char *expression;
  const char *inputs[OPT_INPUTS]; /* NULL: no more */
  const char *outputs[OPT_OUTPUTS];
  gemel_status status;
  const char *message;
  const char *seed;            /* for gradients: the cotangent of output 0 */
  const char *wrt[OPT_INPUTS]; /* and what must come back to each input; NULL: not asked */
  gemel_value (*build)(gemel_graph *graph, const gemel_value *in); /* in place of an expression */
} op_case;

/* A case whose graph the function FORM builds: what comes out, a gradient, an error. */
#define OK_FORM(form, name_, out, ...)                                                             \
  {                                                                                                \
    .name = #form "/" name_, .build = form, .inputs = {__VA_ARGS__}, .outputs = {(out) }           \
  }
#define GRAD_FORM(form, name_, out, seed_, wrt_x, wrt_y, ...)                                      \
  {                                                                                                \
    .name = #form "/" name_, .build = form, .inputs = {__VA_ARGS__}, .outputs = {(out)},           \
    .seed = (seed_), .wrt = {                                                                      \
      (wrt_x),                                                                                     \
      (wrt_y)                                                                                      \
    }                                                                                              \
  }
#define BAD_FORM(form, name_, status_, message_, ...)                                              \
  {                                                                                                \
    .name = #form "/" name_, .build = form, .inputs = {__VA_ARGS__}, .outputs = {"f32[] 0"},       \
    .status = (status_), .message = (message_)                                                     \
  }

typedef struct opt_tensor {
  gemel_dtype dtype;
  int rank;
  int64_t shape[GEMEL_MAX_RANK];
  char symbols[GEMEL_MAX_RANK][8];
  gemel_tensor *tensor;
} opt_tensor;

static int64_t opt_number(const char **text, gemel_dtype dtype, void *at) {
  char *end;
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    double value = strtod(*text, &end);
    if (value != value) {
      static const uint16_t half_nan = 0x7fff;
      if (gemel_dtype_size(dtype) == 2) {
        memcpy(at, &half_nan, 2);
      } else if (dtype == GEMEL_F32) {
        *(float *)at = NAN;
      } else {
        *(double *)at = NAN;
      }
    } else {
      CT_EQ_INT(gemel__dtype_store(dtype, value, at), GEMEL_OK);
    }
  } else {
    long long value =
        (*text)[0] == '-' ? strtoll(*text, &end, 10) : (long long)strtoull(*text, &end, 10);
    memcpy(at, &value, gemel_dtype_size(dtype)); /* little-endian */
  }
  if (end == *text) {
    CT_FAIL("malformed number: %s", *text);
    end += strlen(end);
  }
  *text = end + strspn(end, " ");
  return 0;
}

/* Reads "f32[N=2, 3] 1 2 …". */
static opt_tensor opt_read(const char *text) {
  opt_tensor t = {GEMEL_F32, 0, {0}, {{0}}, NULL};
  char name[8] = "";
  size_t n = strcspn(text, "[");
  memcpy(name, text, n < 7 ? n : 7);
  CT_EQ_INT(gemel_dtype_find(name, &t.dtype), GEMEL_OK);
  text += n + 1;
  while (*text != ']' && *text != '\0') {
    if (isalpha((unsigned char)*text)) {
      n = strcspn(text, "=");
      memcpy(t.symbols[t.rank], text, n < 7 ? n : 7);
      text += n + 1;
    }
    t.shape[t.rank++] = strtoll(text, (char **)&text, 10);
    text += strspn(text, ", ");
  }
  text += 1 + strspn(text + 1, " ");
  t.tensor = gemel_tensor_new(t.dtype, t.rank, t.shape, NULL);
  for (int64_t k = 0; k < gemel_tensor_elements(t.tensor); k++) {
    opt_number(&text, t.dtype,
               (char *)gemel_tensor_data(t.tensor) + k * (int64_t)gemel_dtype_size(t.dtype));
  }
  CT_CHECK(*text == '\0');
  return t;
}

static gemel_type opt_type(gemel_context *context, const opt_tensor *t) {
  gemel_dim dims[GEMEL_MAX_RANK];
  for (int k = 0; k < t->rank; k++) {
    dims[k] = t->symbols[k][0] != '\0' ? gemel_dim_symbol(context, t->symbols[k])
                                       : gemel_dim_constant(context, t->shape[k]);
  }
  return gemel_type_new(context, t->dtype, t->rank, dims, GEMEL_SPACE_HOST);
}

/* The same elements lying otherwise: 0 as they are, 1 reversed along all axes, 2 first axis
 * fastest, 3 every second place. The memory is the program's own. */
static gemel_tensor *opt_lay(const gemel_tensor *from, int layout) {
  gemel_view view = gemel_tensor_view(from);
  int64_t item = (int64_t)gemel_dtype_size(view.dtype), strides[GEMEL_MAX_RANK], offset = 0;
  int64_t step = item * (layout == 3 ? 2 : 1), count = gemel_tensor_elements(from);
  char *memory = calloc((size_t)(2 * count + 1), (size_t)item), *begin;
  for (int k = 0; k < view.rank; k++) {
    int axis = layout == 2 ? k : view.rank - 1 - k;
    strides[axis] = step;
    step *= view.shape[axis];
  }
  for (int k = 0; k < view.rank && layout == 1 && count > 0; k++) {
    offset += (view.shape[k] - 1) * strides[k];
    strides[k] = -strides[k];
  }
  begin = memory + offset;
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, to = 0, at = 0;
    for (int k = view.rank - 1; k >= 0; k--) {
      to += rest % view.shape[k] * strides[k];
      at += rest % view.shape[k] * view.strides[k];
      rest /= view.shape[k];
    }
    memcpy(begin + to, (const char *)view.data + at, (size_t)item);
  }
  return gemel_tensor_wrap(view.dtype, view.rank, view.shape, strides, begin, free, memory, NULL);
}

/* Exactly the same elements; a NaN is like any other. */
static void opt_compare(const gemel_tensor *got, const gemel_tensor *wanted) {
  gemel_view a = gemel_tensor_view(got), b = gemel_tensor_view(wanted);
  size_t item = gemel_dtype_size(b.dtype);
  CT_EQ_STR(gemel_dtype_name(a.dtype), gemel_dtype_name(b.dtype));
  CT_EQ_INT(a.rank, b.rank);
  if (a.dtype != b.dtype || a.rank != b.rank ||
      !CT_EQ_MEM(a.shape, b.shape, (size_t)a.rank * sizeof *a.shape)) {
    return;
  }
  for (int64_t i = 0; i < gemel_tensor_elements(wanted); i++) {
    const char *x = (const char *)a.data + i * (int64_t)item;
    const char *y = (const char *)b.data + i * (int64_t)item;
    if (memcmp(x, y, item) != 0) {
      double p = gemel__dtype_load(a.dtype, x), q = gemel__dtype_load(b.dtype, y);
      if (!(p != p && q != q)) {
        CT_FAIL("element %lld is %.17g, wanted %.17g", (long long)i, p, q);
      }
    }
  }
}

/* Builds the case's graph: the expression's outputs, then the gradients asked for. */
static gemel_graph *opt_build(gemel_context *context, const op_case *c, const opt_tensor *in,
                              size_t n, gemel_error *error) {
  static const char *const names[OPT_INPUTS] = {"x", "y", "z"};
  gemel_graph *graph = gemel_graph_new(context, error);
  gemel_value inputs[OPT_INPUTS + 1], result, from[OPT_INPUTS], back[OPT_INPUTS];
  gemel__expr *expr =
      c->build != NULL ? NULL : gemel__expr_compile(context, c->expression, n, names, error);
  size_t n_wrt = 0;
  error->status = expr == NULL && c->build == NULL ? error->status : GEMEL_OK;
  for (size_t k = 0; k < n; k++) {
    inputs[k] = gemel_input(graph, names[k], opt_type(context, &in[k]));
    if (c->wrt[k] != NULL) {
      from[n_wrt++] = inputs[k];
    }
  }
  if (error->status == GEMEL_OK) {
    result = c->build != NULL ? c->build(graph, inputs)
                              : gemel__expr_build(expr, graph, inputs, GEMEL_HERE);
    for (uint32_t k = 0; k < OPT_OUTPUTS && c->outputs[k] != NULL; k++) {
      char name[8] = "r0";
      name[1] = (char)('0' + k);
      gemel_output(gemel_value_output(result, k), name);
    }
    if (c->seed != NULL && !gemel_is_null(result)) {
      inputs[n] = gemel_input(graph, "seed", gemel_value_type(result));
      gemel_grad(1, &result, &inputs[n], n_wrt, from, back, error);
      for (size_t k = 0; k < n_wrt && error->status == GEMEL_OK; k++) {
        char name[8] = "d0";
        name[1] = (char)('0' + k);
        gemel_output(back[k], name);
      }
    }
    if (gemel_graph_error(graph)->status != GEMEL_OK) {
      *error = *gemel_graph_error(graph);
    }
  }
  gemel__expr_free(expr);
  return graph;
}

static void opt_call(const op_case *c, gemel_graph *graph, gemel_tensor *const *in,
                     gemel_tensor *const *wanted, int mode, gemel_error *error) {
  gemel_options options = {.size = sizeof options,
                           .threads = 2,
                           .plain = mode == 1,
                           .deterministic = mode == 2,
                           .as_written = 1};
  gemel_tensor *out[OPT_OUTPUTS + OPT_INPUTS] = {NULL};
  gemel_function *function = gemel_compile(graph, &options, error);
  if (function != NULL && gemel_call(function, gemel_graph_input_count(graph), in,
                                     gemel_graph_output_count(graph), out, error) == GEMEL_OK) {
    for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
      if (c->status == GEMEL_OK) {
        opt_compare(out[k], wanted[k]);
      }
      gemel_tensor_unref(out[k]);
    }
  }
  gemel_function_free(function);
}

/* ERROR is what the case should end with. */
static void opt_verdict(const op_case *c, const gemel_error *error) {
  if (error->status != c->status) {
    CT_FAIL("status %d (%s), wanted %d", error->status,
            error->status != GEMEL_OK ? error->text : "success", c->status);
  } else if (c->message != NULL) {
    CT_HAS_STR(error->text, c->message);
  }
}

static void opt_run(const void *data) {
  const op_case *c = data;
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  opt_tensor in[OPT_INPUTS + 1], out;
  gemel_tensor *wanted[OPT_OUTPUTS + OPT_INPUTS] = {NULL};
  size_t n = 0, n_in, n_wanted = 0;
  gemel_graph *graph;
  CT_REQUIRE(context != NULL);
  for (; n < OPT_INPUTS && c->inputs[n] != NULL; n++) {
    in[n] = opt_read(c->inputs[n]);
  }
  graph = opt_build(context, c, in, n, &error);
  n_in = n;
  if (c->seed != NULL) {
    in[n_in++] = opt_read(c->seed);
  }
  for (size_t k = 0; k < OPT_OUTPUTS && c->outputs[k] != NULL && c->status == GEMEL_OK; k++) {
    out = opt_read(c->outputs[k]);
    wanted[n_wanted++] = out.tensor;
  }
  for (size_t k = 0; k < OPT_INPUTS; k++) {
    if (c->wrt[k] != NULL) {
      out = opt_read(c->wrt[k]);
      wanted[n_wanted++] = out.tensor;
    }
  }
  int built = error.status == GEMEL_OK;
  for (int run = 0; run < OPT_LAYOUTS * OPT_MODES && built; run++) {
    gemel_tensor *lying[OPT_INPUTS + 1];
    error.status = GEMEL_OK;
    ct_context("layout %d, mode %d", run % OPT_LAYOUTS, run / OPT_LAYOUTS);
    for (size_t k = 0; k < n_in; k++) {
      lying[k] = opt_lay(in[k].tensor, run % OPT_LAYOUTS);
    }
    opt_call(c, graph, lying, wanted, run / OPT_LAYOUTS, &error);
    opt_verdict(c, &error);
    for (size_t k = 0; k < n_in; k++) {
      gemel_tensor_unref(lying[k]);
    }
  }
  if (!built) {
    opt_verdict(c, &error);
  }
  for (size_t k = 0; k < n_in; k++) {
    gemel_tensor_unref(in[k].tensor);
  }
  for (size_t k = 0; k < n_wanted; k++) {
    gemel_tensor_unref(wanted[k]);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Registers COUNT cases under SUITE; FILE and LINE are where the table stands. */
static inline void opt_suite(const char *suite, const op_case *cases, size_t count,
                             const char *file, int line) {
  for (size_t k = 0; k < count; k++) {
    ct_test test = {cases[k].name, opt_run, &cases[k], file, line};
    ct_add(suite, &test);
  }
}
#define OPT_SUITE(suite, cases) opt_suite((suite), (cases), CT_COUNT(cases), __FILE__, __LINE__)

/* How a table's rows are written. */
#define OK_CASE(name, expression, out, ...)                                                        \
  { (name), (expression), {__VA_ARGS__}, {(out)}, GEMEL_OK, NULL, NULL, {NULL}, NULL }
#define GRAD(name, expression, out, seed, wrt_x, wrt_y, ...)                                       \
  { (name), (expression), {__VA_ARGS__}, {(out)}, GEMEL_OK, NULL, (seed), {(wrt_x), (wrt_y)}, NULL }
#define BAD_CASE(name, expression, status, message, ...)                                           \
  { (name), (expression), {__VA_ARGS__}, {"f32[] 0"}, (status), (message), NULL, {NULL}, NULL }

#endif
