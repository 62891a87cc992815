/*
 * Models of ONNX of one node, as rows of a table: a call of the operator in text, on numbers, with
 * what must come of it, in numbers too or by a function that computes it from the operator's
 * definition (its twin); or why it is refused.
 *
 *   Gemm<transB=1, alpha=0.5>(f 2N 3, f 4 3, =f 4: 1 2 3 4) => f 2 4
 *
 * A tensor is "f 2 3: 1 2 3 4 5 6", f32[2, 3]; onnx_dtypes lists the letters. Without numbers,
 * "f 2 3", it has random ones between -2 and 2 that all dtypes of floats have; "f 2 3 *100" has
 * 100 times those. A size with N behind it, "f 2N 3", is a symbol in the model; "=" before the
 * letter makes a constant of the model. Nothing between two commas is left out, and so is a result
 * "-". Of a result "?" nothing is said; where no results stand there is one of these. Attributes
 * are those of onnx-text.h. "Softmax-11" is an operator of opset 11. Nodes in braces may stand in
 * the place of an operator: inputs are called a, b, ..., results v, w, ...
 *
 *   {s = Shape(a) v = Gather<axis=0>(s, b)}(f 2 3, =i 1: 0) => i 1: 2
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_ONNX_NODE_H
#define GEMEL_TESTS_ONNX_NODE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/dtype.h"
#include "../ct.h"
#include "near.h"
#include "onnx-text.h"
#include "random.h"

enum { MOST_INPUTS = 12, MOST_OUTPUTS = 5, MOST_ELEMENTS = 256, USUAL_OPSET = 24 };

static int all_are_constants; /* inputs without "=", too */

typedef struct numbers {
  const char *type; /* ONNX's name of the dtype; NULL: not given */
  gemel_dtype dtype;
  int is_given, is_constant, rank, is_symbol[8];
  int64_t shape[8], elements;
  double error, values[MOST_ELEMENTS];
} numbers;

/* A call in text, as it is read. */
typedef struct node {
  char operator_[200], attributes[200];
  size_t n_inputs, n_outputs;
  const char *inputs[MOST_INPUTS], *outputs[MOST_OUTPUTS];
} node;

/* Fills OUT, whose shapes the case says, from the inputs IN. */
typedef void onnx_twin(const node *of, const numbers *in, numbers *out);

/* An operator, without a version, and its twin; the last one is NULL. */
typedef struct onnx_definition {
  const char *operator_;
  onnx_twin *twin;
} onnx_definition;

static const onnx_definition *onnx_definitions;

typedef struct node_case {
  const char *name, *text;
} node_case;

typedef struct refused_case {
  const char *name, *text, *reason;
} refused_case;

/* ---- Tensors ---- */

static inline void read_dtype(const char **at, numbers *t) {
  t->is_constant = **at == '=';
  *at += t->is_constant;
  for (size_t k = 0; k < CT_COUNT(onnx_dtypes); k++) {
    if (onnx_dtypes[k].letter == **at) {
      t->dtype = onnx_dtypes[k].dtype;
      t->type = onnx_dtypes[k].name;
      t->error = onnx_dtypes[k].error;
    }
  }
  CT_REQUIRE(t->type != NULL);
  ++*at;
}

/* The tensor before the next comma, if there is one. */
static inline void read_numbers(const char *text, numbers *t) {
  memset(t, 0, sizeof *t);
  if (text == NULL || strchr(",)", *text) != NULL) {
    return;
  }
  read_dtype(&text, t);
  char *at = (char *)text;
  t->is_given = 1;
  t->elements = 1;
  while (*at == ' ' && at[1] != '*') {
    CT_REQUIRE(t->rank < 8);
    t->shape[t->rank] = strtol(at, &at, 10);
    t->is_symbol[t->rank] = *at == 'N';
    at += t->is_symbol[t->rank];
    t->elements *= t->shape[t->rank++];
  }
  CT_REQUIRE(t->elements <= MOST_ELEMENTS);
  int is_random = *at != ':';
  double times = strncmp(at, " *", 2) == 0 ? strtod(at + 2, &at) : 1;
  at += !is_random;
  for (int64_t k = 0; k < t->elements; k++) {
    const char *before = at;
    t->values[k] = is_random ? ((double)rnd(256) - 128) / 64 * times : strtod(at, &at);
    CT_CHECK(is_random || at > before); /* there are as many numbers as the shape says */
  }
  CT_CHECK(strchr(",)", *at) != NULL);
}

static inline gemel_tensor *as_tensor(const numbers *t, gemel_error *error) {
  gemel_tensor *tensor = gemel_tensor_new(t->dtype, t->rank, t->shape, error);
  char *bytes = tensor != NULL ? gemel_tensor_data(tensor) : NULL;
  size_t width = gemel_dtype_size(t->dtype);
  CT_CHECK(bytes != NULL);
  for (int64_t k = 0; bytes != NULL && k < t->elements; k++) {
    CT_CHECK(gemel__dtype_store(t->dtype, t->values[k], bytes + (size_t)k * width) == GEMEL_OK);
  }
  return tensor;
}

/* NaN is never the same, and infinity is itself. */
static inline void same_numbers(const gemel_tensor *is, const numbers *should) {
  if (!CT_EQ_STR(gemel_dtype_name(gemel_tensor_dtype(is)), gemel_dtype_name(should->dtype))) {
    return;
  }
  CT_REQUIRE(gemel_tensor_rank(is) == should->rank);
  for (int k = 0; k < should->rank; k++) {
    CT_REQUIRE(gemel_tensor_shape(is)[k] == should->shape[k]);
  }
  size_t width = gemel_dtype_size(should->dtype);
  for (int64_t k = 0; k < should->elements; k++) {
    double b = should->values[k],
           a = gemel__dtype_load(should->dtype,
                                 (const char *)gemel_tensor_data(is) + (size_t)k * width);
    if (!is_near(a, b, should->error * (1 + fabs(b)))) {
      CT_FAIL("element %lld is %.17g, should be %.17g", (long long)k, a, b);
    }
  }
}

/* ---- Calls ---- */

/* Where each of some tensors begins, which end at END. */
static inline size_t read_list(const char *at, char end, size_t most, const char **list) {
  size_t n = 0;
  at += strspn(at, " ");
  while (*at != end && n < most) {
    list[n++] = at;
    at += strcspn(at, ",)");
    if (*at != ',') {
      break;
    }
    at += 1 + strspn(at + 1, " ");
  }
  CT_CHECK(*at == end);
  return n;
}

static inline void read_node(const char *text, node *of) {
  size_t length = *text == '{' ? strcspn(text, "}") + 1 : strcspn(text, "<(");
  const char *rest = text + length, *results = strstr(text, "=>");
  memset(of, 0, sizeof *of);
  CT_REQUIRE(length < sizeof of->operator_);
  memcpy(of->operator_, text, length);
  if (*rest == '<') {
    length = strcspn(++rest, ">");
    CT_REQUIRE(length < sizeof of->attributes && rest[length] == '>');
    memcpy(of->attributes, rest, length);
    rest += length + 1;
  }
  CT_REQUIRE(*rest == '(');
  of->n_inputs = read_list(rest + 1, ')', MOST_INPUTS, of->inputs);
  of->outputs[0] = "?";
  of->n_outputs = results == NULL ? 1 : read_list(results + 2, '\0', MOST_OUTPUTS, of->outputs);
}

/* The text of attribute NAME, of a list the text behind "[", or NULL. */
static inline const char *attribute_text(const node *of, const char *name) {
  size_t length = strlen(name);
  for (const char *at = of->attributes; *at != '\0'; at += strspn(at, ", ")) {
    if (strncmp(at, name, length) == 0 && at[length] == '=') {
      return at + length + 1 + (at[length + 1] == '[');
    }
    at += strcspn(at, ",");
  }
  return NULL;
}

/* Attribute NAME as a number, or FALLBACK. */
static inline double attribute_number(const node *of, const char *name, double fallback) {
  const char *text = attribute_text(of, name);
  return text != NULL ? strtod(text, NULL) : fallback;
}

/* Whether attribute NAME is this WORD. */
static inline int attribute_is(const node *of, const char *name, const char *word) {
  const char *text = attribute_text(of, name);
  size_t length = strlen(word);
  return text != NULL && strcspn(text, ",") == length && strncmp(text, word, length) == 0;
}

/* ---- The model ---- */

static inline int is_constant(const numbers *t) {
  return t->is_constant || all_are_constants;
}

/* "float[2, N] a" */
static inline void write_type(FILE *file, const numbers *t, char name) {
  fprintf(file, "%s[", t->type);
  for (int k = 0; k < t->rank; k++) {
    if (t->is_symbol[k] && !is_constant(t)) {
      fprintf(file, "N, ");
    } else {
      fprintf(file, "%lld, ", (long long)t->shape[k]);
    }
  }
  fprintf(file, "] %c", name);
}

/* Inputs called "a", "b", ...; results "v", "w", ...; constants. */
static inline void write_ends(FILE *file, const node *of, const numbers *in) {
  fprintf(file, "one (");
  for (size_t k = 0; k < of->n_inputs; k++) {
    if (in[k].is_given && !is_constant(&in[k])) {
      write_type(file, &in[k], (char)('a' + k));
      fprintf(file, ", ");
    }
  }
  fprintf(file, ") => (");
  for (size_t k = 0; k < of->n_outputs; k++) {
    if (*of->outputs[k] != '-') {
      fprintf(file, "float %c, ", (char)('v' + k));
    }
  }
  fprintf(file, ") <");
  for (size_t k = 0; k < of->n_inputs; k++) {
    if (in[k].is_given && is_constant(&in[k])) {
      write_type(file, &in[k], (char)('a' + k));
      fprintf(file, " = {");
      for (int64_t i = 0; i < in[k].elements; i++) {
        fprintf(file, "%.17g, ", in[k].values[i]);
      }
      fprintf(file, "}, ");
    }
  }
  fprintf(file, "> ");
}

/* "v, , x = Some<axis=0>(a, , c)" of the operator NAME. */
static inline void write_node(FILE *file, const node *of, const numbers *in, const char *name,
                              int length) {
  for (size_t k = 0; k < of->n_outputs; k++) {
    char result[2] = {*of->outputs[k] == '-' ? '\0' : (char)('v' + k), '\0'};
    fprintf(file, "%s%s", k == 0 ? "{" : ", ", result);
  }
  fprintf(file, " = %.*s<%s>(", length, name, of->attributes);
  for (size_t k = 0; k < of->n_inputs; k++) {
    char input[2] = {in[k].is_given ? (char)('a' + k) : '\0', '\0'};
    fprintf(file, "%s%s", k == 0 ? "" : ", ", input);
  }
  fprintf(file, ")}");
}

static inline message model_of(const node *of, const numbers *in) {
  const char *name = of->operator_, *point = strrchr(name, '.'), *dash = strchr(name, '-');
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  int is_one = *name != '{', has_domain = is_one && point != NULL;
  fprintf(file, "<ai.onnx: %d", is_one && dash != NULL ? atoi(dash + 1) : USUAL_OPSET);
  if (has_domain) {
    fprintf(file, ", %.*s: 1", (int)(point - name), name);
  }
  fprintf(file, "> ");
  write_ends(file, of, in);
  if (is_one) {
    write_node(file, of, in, name, (int)strcspn(name, "-"));
  } else {
    fprintf(file, "%s", name);
  }
  fclose(file);
  message model = onnx_model(text);
  free(text);
  return model;
}

/* ---- Judging ---- */

/* Runs GRAPH on the inputs IN, found by their names. */
static inline void run_node(const gemel_graph *graph, const numbers *in, size_t n_results,
                            gemel_tensor **results, gemel_error *error) {
  gemel_tensor *inputs[MOST_INPUTS];
  size_t n = gemel_graph_input_count(graph);
  CT_REQUIRE(n <= MOST_INPUTS && gemel_graph_output_count(graph) == n_results);
  for (size_t k = 0; k < n; k++) {
    inputs[k] = as_tensor(&in[gemel_graph_input_name(graph, k)[0] - 'a'], error);
  }
  gemel_evaluate(graph, n, inputs, n_results, results, error);
  for (size_t k = 0; k < n; k++) {
    gemel_tensor_unref(inputs[k]);
  }
}

/* The results of MODEL for the inputs IN; error->text says why there are none. */
static inline void run_model(const message *model, const numbers *in, size_t n_results,
                             gemel_tensor **results, gemel_error *error) {
  gemel_context *context = gemel_context_new(error);
  gemel_graph *graph = onnx_graph_of(model, context, NULL, NULL, error);
  if (graph != NULL) {
    run_node(graph, in, n_results, results, error);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A call as it is judged. */
typedef struct judged_node {
  node of;
  numbers in[MOST_INPUTS], out[MOST_OUTPUTS];
  size_t n; /* results */
  gemel_tensor *results[MOST_OUTPUTS];
  gemel_context *context;
  gemel_graph *graph;
  gemel_error error;
} judged_node;

/* Reads the call and makes its graph, which is NULL and the error otherwise. */
static inline void begin_node(judged_node *j, const char *text) {
  memset(j, 0, sizeof *j);
  state = 88172645463325252u;
  read_node(text, &j->of);
  for (size_t k = 0; k < MOST_INPUTS; k++) {
    read_numbers(j->of.inputs[k], &j->in[k]);
  }
  for (size_t k = 0; k < j->of.n_outputs; k++) {
    if (*j->of.outputs[k] != '-') {
      read_numbers(*j->of.outputs[k] == '?' ? NULL : j->of.outputs[k], &j->out[j->n++]);
    }
  }
  j->context = gemel_context_new(&j->error);
  message model = model_of(&j->of, j->in);
  j->graph = j->context != NULL ? onnx_graph_of(&model, j->context, NULL, NULL, &j->error) : NULL;
}

static inline void end_node(judged_node *j) {
  for (size_t k = 0; k < MOST_OUTPUTS; k++) {
    gemel_tensor_unref(j->results[k]);
  }
  gemel_graph_unref(j->graph);
  gemel_context_unref(j->context);
}

static inline onnx_twin *twin_of(const node *of) {
  size_t length = strcspn(of->operator_, "-");
  const onnx_definition *at = onnx_definitions;
  while (at->operator_ != NULL &&
         (strncmp(at->operator_, of->operator_, length) != 0 || at->operator_[length] != '\0')) {
    at++;
  }
  return at->twin;
}

static inline void judge_node(const char *text, int has_twin) {
  static judged_node j;
  begin_node(&j, text);
  if (j.graph != NULL) {
    run_node(j.graph, j.in, j.n, j.results, &j.error);
  }
  if (CT_EQ_STR(j.error.text, "")) {
    onnx_twin *twin = has_twin ? twin_of(&j.of) : NULL;
    if (has_twin && CT_CHECK(twin != NULL)) {
      twin(&j.of, j.in, j.out);
    }
    for (size_t k = 0; k < j.n; k++) {
      ct_context("result %zu", k);
      CT_CHECK(j.out[k].is_given);
      same_numbers(j.results[k], &j.out[k]);
    }
  }
  end_node(&j);
}

/* DATA, a node_case, gives the numbers of its outputs. */
static inline void node_gives(const void *data) {
  judge_node(((const node_case *)data)->text, 0);
}

/* DATA, a node_case, gives what the twin of its operator computes. */
static inline void node_is_as_twin(const void *data) {
  judge_node(((const node_case *)data)->text, 1);
}

/* DATA, a refused_case, is refused when it is read. */
static inline void node_is_refused(const void *data) {
  static judged_node j;
  const refused_case *of = data;
  begin_node(&j, of->text);
  CT_CHECK(j.graph == NULL);
  CT_HAS_STR(j.error.text, of->reason);
  end_node(&j);
}

/* DATA, a refused_case, is read, and an error of the call. */
static inline void node_fails(const void *data) {
  static judged_node j;
  const refused_case *of = data;
  begin_node(&j, of->text);
  if (CT_CHECK(j.graph != NULL)) {
    run_node(j.graph, j.in, j.n, j.results, &j.error);
  }
  CT_HAS_STR(j.error.text, of->reason);
  end_node(&j);
}

static inline int make_and_free(void *text) {
  static judged_node j;
  begin_node(&j, text);
  int status = (int)j.error.status;
  end_node(&j);
  return status;
}

/* The graph of DATA, a call in text, isn't made where any allocation is refused; then nothing is
 * left. */
static inline void node_without_memory(const void *data) {
  CT_CHECK(ct_oom(make_and_free, (char *)data) > 10);
}

/* Registers each of CASES, and of every so many that the graph isn't made without memory. */
#define NODE_SUITE(suite, cases, run)                                                              \
  for (size_t k = 0; k < CT_COUNT(cases); k++) {                                                   \
    CT_ADD((suite), (cases)[k].name, run, &(cases)[k]);                                            \
  }
#define NODE_MEMORY(suite, cases, first, step)                                                     \
  for (size_t k = (first); k < CT_COUNT(cases); k += (step)) {                                     \
    CT_ADD((suite), (cases)[k].name, node_without_memory, (cases)[k].text);                        \
  }

#endif
